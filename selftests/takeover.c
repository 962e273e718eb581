// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The exporter has exited. A process that comes later has nothing but the
 * grants, and goes on with the connection.
 */
#include <infiniband/verbs.h>

#include "kselftest_harness.h"
#include "share_test.h"

enum { PD,
       CQ,
       QP,
       MR,
       GRANTS };

/* two processes write down here what the other needs to connect */
struct meeting {
	struct endpoint old, peer;
};

FIXTURE(takeover)
{
	struct meeting *meeting;
	int memory;
	struct child old;
	int grant[GRANTS];
	struct reg_mr peer_mr;
	char before[256];
};

static int reg_page(struct endpoint *ep, int fd, struct reg_mr *mr)
{
	*mr = (struct reg_mr){ .pd = ep->pd, .fd = fd, .length = PAGE, .access = ACCESS_LOCAL };
	return do_reg_mr(ep->fd, mr);
}

static int grant_of(int sock, struct export_args *export)
{
	return do_export(export->cmd_fd, export) ?: send_fd(sock, export->grant);
}

static void export_all(int sock, struct endpoint *ep, uint32_t mr)
{
	struct export_args of_pd = EXPORT_OF(ep->fd, ep->pd);
	struct export_args of_cq = EXPORT_OF(ep->fd, ep->cq.handle);
	struct export_args of_qp = EXPORT_OF(ep->fd, ep->qp.handle), of_mr = EXPORT_OF(ep->fd, mr);
	struct ib_uverbs_share_segment cq, qp[2];

	cq = ring_segment(&ep->cq.ring, IB_UVERBS_SHARE_RING_CQ);
	qp[0] = ring_segment(&ep->qp.send, IB_UVERBS_SHARE_RING_SEND);
	qp[1] = ring_segment(&ep->qp.recv, IB_UVERBS_SHARE_RING_RECV);
	of_cq.segs = &cq;
	of_cq.nsegs = 1;
	of_qp.segs = qp;
	of_qp.nsegs = 2;
	CHILD_CHECK(!grant_of(sock, &of_pd));
	CHILD_CHECK(!grant_of(sock, &of_cq));
	CHILD_CHECK(!grant_of(sock, &of_qp));
	CHILD_CHECK(!grant_of(sock, &of_mr));
}

/* makes all, connects, exports, and is gone */
static void old_main(int sock, void *arg)
{
	FIXTURE_DATA(takeover) *self = arg;
	struct endpoint *ep = &self->meeting->old;
	struct reg_mr mr;

	CHILD_CHECK(!endpoint_open(ep, "rxe0", IB_UVERBS_QPT_RC));
	CHILD_CHECK(!reg_page(ep, self->memory, &mr));
	CHILD_CHECK(!say(sock));
	CHILD_CHECK(!hear(sock));
	CHILD_CHECK(!endpoint_connect(ep, &self->meeting->peer));
	export_all(sock, ep, mr.handle);
}

FIXTURE_SETUP(takeover)
{
	struct endpoint *peer;
	int i;

	ASSERT_TRUE(read_resources("rxe0", self->before, sizeof(self->before)));
	self->meeting = mmap(NULL, sizeof(*self->meeting), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	peer = &self->meeting->peer;
	self->memory = memfd(PAGE);
	test_ok(child_start(&self->old, old_main, self));
	test_ok(endpoint_open(peer, "rxe1", IB_UVERBS_QPT_RC));
	test_ok(reg_page(peer, memfd(PAGE), &self->peer_mr));
	test_ok(hear(self->old.sock));
	test_ok(endpoint_connect(peer, &self->meeting->old));
	test_ok(say(self->old.sock));
	for (i = 0; i < GRANTS; i++) {
		self->grant[i] = recv_fd(self->old.sock);
		ASSERT_LE(0, self->grant[i]);
	}
	ASSERT_EQ(0, child_end(&self->old));
}

static bool is_left_as(const char *before)
{
	char now[256];

	return read_resources("rxe0", now, sizeof(now)) && !strcmp(now, before);
}

FIXTURE_TEARDOWN(takeover)
{
	int i;

	for (i = 0; i < GRANTS; i++)
		close(self->grant[i]);
	EXPECT_TRUE(wait_for(is_left_as(self->before)));
	endpoint_close(&self->meeting->peer);
}

/* what the successor makes of the grants */
struct successor {
	int fd;
	struct import in[GRANTS];
	struct rxe_queue_buf *send, *recv, *cq;
};

static void *map_ring(const struct import *import, uint32_t ring)
{
	void *at = mmap(NULL, import->info.ring_bytes[ring], PROT_READ | PROT_WRITE, MAP_SHARED,
			import->grant, (off_t)ring << IB_UVERBS_SHARE_RING_SHIFT);

	CHILD_CHECK(at != MAP_FAILED);
	return at;
}

static void successor_open(struct successor *s, const int *grant)
{
	int i;

	s->fd = dev_open("rxe0");
	CHILD_CHECK(s->fd >= 0);
	for (i = 0; i < GRANTS; i++) {
		s->in[i] = IMPORT_OF(grant[i]);
		CHILD_CHECK(!do_import(s->fd, &s->in[i]));
	}
	s->send = map_ring(&s->in[QP], IB_UVERBS_SHARE_RING_SEND);
	s->recv = map_ring(&s->in[QP], IB_UVERBS_SHARE_RING_RECV);
	s->cq = map_ring(&s->in[CQ], IB_UVERBS_SHARE_RING_CQ);
}

static void go_on(int sock, void *arg)
{
	FIXTURE_DATA(takeover) *self = arg;
	struct ib_uverbs_qp_attr attr;
	struct successor s;
	struct rxe_sge sge;
	struct ib_uverbs_wc wc;

	/* the peer's file is its parent's matter */
	close(self->meeting->peer.fd);
	close(self->meeting->peer.channel);
	successor_open(&s, self->grant);
	sge = (struct rxe_sge){ .addr = 0, .length = 5, .lkey = s.in[MR].info.lkey };
	post_recv(s.recv, 1, &sge);
	post_send(s.send, 2, &sge);
	CHILD_CHECK(!do_kick(s.fd, s.in[QP].handle, IB_UVERBS_SHARE_KICK_SEND));
	CHILD_CHECK(poll_cq(s.cq, &wc) && wc.wr_id == 2 && wc.status == IBV_WC_SUCCESS);
	CHILD_CHECK(!do_query_qp(s.fd, s.in[QP].handle, &attr) && attr.qp_state == IBV_QPS_RTS);
	CHILD_CHECK(!say(sock));
	CHILD_CHECK(poll_cq(s.cq, &wc) && wc.wr_id == 1 && wc.status == IBV_WC_SUCCESS);

	attr = (struct ib_uverbs_qp_attr){
		.qp_attr_mask = IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER,
		.qp_state = IBV_QPS_RTS,
		.min_rnr_timer = 5,
	};
	CHILD_CHECK(!do_modify(s.fd, s.in[QP].handle, &attr));
	CHILD_CHECK(!do_query_qp(s.fd, s.in[QP].handle, &attr) && attr.min_rnr_timer == 5);
	CHILD_CHECK(!do_arm(s.fd, s.in[CQ].handle, 0));
	attr = (struct ib_uverbs_qp_attr){ .qp_attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_ERR };
	CHILD_CHECK(!do_modify(s.fd, s.in[QP].handle, &attr));
}

/* each way a message, and all that the rights allow */
TEST_F(takeover, with_nothing_but_grants)
{
	struct rxe_sge to = { .addr = 0, .length = PAGE, .lkey = self->peer_mr.lkey };
	struct rxe_sge from = { .addr = 0, .length = 5, .lkey = self->peer_mr.lkey };
	struct endpoint *peer = &self->meeting->peer;
	struct child successor;
	struct ib_uverbs_wc wc;
	struct writer writer;
	char got[5];

	ASSERT_EQ(5, pwrite(self->memory, "hello", 5, 0));
	post_recv(peer->qp.recv.buf, 1, &to);
	test_ok(child_start(&successor, go_on, self));
	ASSERT_EQ(0, hear(successor.sock));
	ASSERT_TRUE(poll_cq(peer->cq.ring.buf, &wc));
	EXPECT_EQ(5, wc.byte_len);
	ASSERT_EQ(5, pread(self->peer_mr.fd, got, 5, 0));
	EXPECT_EQ(0, memcmp(got, "hello", 5));

	/* the peer answers */
	ASSERT_EQ(5, pwrite(self->peer_mr.fd, "world", 5, 0));
	test_ok(writer_open(&writer, peer));
	post_send(peer->qp.send.buf, 3, &from);
	test_kick(peer->fd, writer.kick, IB_UVERBS_SHARE_KICK_SEND);
	EXPECT_EQ(0, child_end(&successor));
	ASSERT_EQ(5, pread(self->memory, got, 5, 0));
	EXPECT_EQ(0, memcmp(got, "world", 5));
}

TEST_HARNESS_MAIN
