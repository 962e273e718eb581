// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Exporters that die, grants on their way, two processes that import from each
 * other, and one that uses the QP of another through its rings.
 */
#include <infiniband/verbs.h>
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "share_test.h"

FIXTURE(processes)
{
	char before[256];
	long qps;
};

FIXTURE_SETUP(processes)
{
	ASSERT_TRUE(read_resources("rxe0", self->before, sizeof(self->before)));
	self->qps = count_objects("rxe0", "qp");
	ASSERT_LE(0, self->qps);
}

/* rxe destroys in its own time */
static bool is_again(const char *before)
{
	char now[256];
	int tries = 100;

	while (read_resources("rxe0", now, sizeof(now)) && strcmp(now, before) && --tries)
		usleep(10000);
	return !strcmp(now, before);
}

FIXTURE_TEARDOWN(processes)
{
	EXPECT_TRUE(is_again(self->before));
}

static int export_endpoint(struct endpoint *ep, struct export_args *export)
{
	int err = endpoint_open(ep, "rxe0", IB_UVERBS_QPT_RC);

	err = err ?: endpoint_connect(ep, ep);
	*export = EXPORT_OF(ep->fd, ep->qp.handle);
	return err ?: do_export(ep->fd, export);
}

TEST_F(processes, grant_in_flight)
{
	struct export_args export;
	struct import import;
	struct endpoint ep;
	int pair[2], fd;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	test_ok(export_endpoint(&ep, &export));
	test_ok(send_fd(pair[0], export.grant));
	close(export.grant);
	endpoint_close(&ep);
	EXPECT_EQ(self->qps + 1, count_objects("rxe0", "qp"));

	import = IMPORT_OF(recv_fd(pair[1]));
	ASSERT_LE(0, import.grant);
	fd = dev_open("rxe0");
	test_import(fd, &import);
	test_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND);
	close(import.grant);
	EXPECT_TRUE(wait_for(do_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND) == ENOLINK));
	close(fd);
}

TEST_F(processes, grant_in_flight_is_lost)
{
	struct export_args export;
	struct endpoint ep;
	int pair[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	test_ok(export_endpoint(&ep, &export));
	test_ok(send_fd(pair[0], export.grant));
	/* the grant holds the exporter's file, and is itself held by a message only */
	close(export.grant);
	endpoint_close(&ep);
	close(pair[0]);
	close(pair[1]);
}

static void export_and_wait(int sock, void *arg)
{
	struct export_args export;
	struct endpoint ep;

	CHILD_CHECK(!export_endpoint(&ep, &export));
	CHILD_CHECK(!send_fd(sock, export.grant));
	hear(sock);
}

/* whoever has the grant goes on; whoever closes it ends the rest */
TEST_F(processes, exporter_is_killed)
{
	struct child child;
	struct import import;
	int fd = dev_open("rxe0");

	test_ok(child_start(&child, export_and_wait, NULL));
	import = IMPORT_OF(recv_fd(child.sock));
	test_import(fd, &import);
	child_kill(&child);
	test_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND);
	test_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_RECV);
	EXPECT_FALSE(is_hung_up(import.grant));
	close(import.grant);
	EXPECT_TRUE(wait_for(do_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND) == ENOLINK));
	close(fd);
}

TEST_F(processes, exporter_is_killed_without_grants)
{
	struct child child;
	struct import import;
	int fd = dev_open("rxe0");

	test_ok(child_start(&child, export_and_wait, NULL));
	import = IMPORT_OF(recv_fd(child.sock));
	test_import(fd, &import);
	close(import.grant);
	test_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND);
	child_kill(&child);
	EXPECT_TRUE(wait_for(do_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND) == ENOLINK));
	test_release(fd, import.handle);
	close(fd);
}

/* one of two that export to each other; the grants of both stay open in both */
static void export_and_import(int sock, void *arg)
{
	struct export_args export;
	struct import import;
	struct endpoint ep;

	CHILD_CHECK(!export_endpoint(&ep, &export));
	CHILD_CHECK(!send_fd(sock, export.grant));
	import = IMPORT_OF(recv_fd(sock));
	CHILD_CHECK(import.grant >= 0);
	CHILD_CHECK(!do_import(ep.fd, &import));
	CHILD_CHECK(!do_kick(ep.fd, import.handle, IB_UVERBS_SHARE_KICK_SEND));
	CHILD_CHECK(!say(sock));
	hear(sock);
	pause();
}

/* an import holds no file, so that they do not keep each other alive */
TEST_F(processes, mutual)
{
	struct child a, b;
	int of_a, of_b;

	test_ok(child_start(&a, export_and_import, NULL));
	of_a = recv_fd(a.sock);
	test_ok(child_start(&b, export_and_import, NULL));
	of_b = recv_fd(b.sock);
	test_ok(send_fd(a.sock, of_b));
	test_ok(send_fd(b.sock, of_a));
	test_ok(hear(a.sock));
	test_ok(hear(b.sock));
	close(of_a);
	close(of_b);
	child_kill(&a);
	child_kill(&b);
}

/* both grants of one process in the other's file, and both files closed at once */
TEST_F(processes, mutual_in_one_process)
{
	struct export_args of_a, of_b;
	struct import in_a, in_b;
	struct endpoint a, b;

	test_ok(export_endpoint(&a, &of_a));
	test_ok(export_endpoint(&b, &of_b));
	in_a = IMPORT_OF(of_b.grant);
	in_b = IMPORT_OF(of_a.grant);
	test_import(a.fd, &in_a);
	test_import(b.fd, &in_b);
	endpoint_close(&a);
	test_kick(b.fd, in_b.handle, IB_UVERBS_SHARE_KICK_SEND);
	endpoint_close(&b);
	close(of_a.grant);
	close(of_b.grant);
}

struct peer {
	int qp_grant, cq_grant;
	uint32_t lkey;
};

static struct rxe_queue_buf *map_ring(int grant, uint32_t ring, const struct import *import)
{
	return mmap(NULL, import->info.ring_bytes[ring], PROT_READ | PROT_WRITE, MAP_SHARED, grant,
		    (off_t)ring << IB_UVERBS_SHARE_RING_SHIFT);
}

/* what the prototype proved: post, kick and poll from an address space of one's own */
static void use_the_rings(int sock, void *arg)
{
	struct peer *peer = arg;
	struct import qp = IMPORT_OF(peer->qp_grant), cq = IMPORT_OF(peer->cq_grant);
	struct rxe_sge from = { .addr = 0, .length = 5, .lkey = peer->lkey };
	struct rxe_sge to = { .addr = PAGE, .length = PAGE, .lkey = peer->lkey };
	struct rxe_queue_buf *send, *recv, *done;
	struct ib_uverbs_wc wc[2];
	int fd = dev_open("rxe0");

	CHILD_CHECK(fd >= 0 && !do_import(fd, &qp) && !do_import(fd, &cq));
	send = map_ring(qp.grant, IB_UVERBS_SHARE_RING_SEND, &qp);
	recv = map_ring(qp.grant, IB_UVERBS_SHARE_RING_RECV, &qp);
	done = map_ring(cq.grant, IB_UVERBS_SHARE_RING_CQ, &cq);
	CHILD_CHECK(send != MAP_FAILED && recv != MAP_FAILED && done != MAP_FAILED);

	post_recv(recv, 1, &to);
	post_send(send, 2, &from);
	CHILD_CHECK(!do_kick(fd, qp.handle, IB_UVERBS_SHARE_KICK_SEND));
	CHILD_CHECK(poll_cq(done, &wc[0]) && poll_cq(done, &wc[1]));
	CHILD_CHECK(wc[0].status == IBV_WC_SUCCESS && wc[1].status == IBV_WC_SUCCESS);
	CHILD_CHECK(wc[0].wr_id + wc[1].wr_id == 3);
	CHILD_CHECK(wc[wc[0].wr_id == 1 ? 0 : 1].byte_len == 5);
}

TEST_F(processes, traffic)
{
	struct ib_uverbs_share_segment segs[2], cq_seg;
	struct export_args of_qp, of_cq;
	struct reg_mr mr = { .length = 2 * PAGE, .access = ACCESS_LOCAL };
	struct child child;
	struct endpoint ep;
	struct peer peer;
	char got[5];

	test_ok(endpoint_open(&ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&ep, &ep));
	segs[0] = ring_segment(&ep.qp.send, IB_UVERBS_SHARE_RING_SEND);
	segs[1] = ring_segment(&ep.qp.recv, IB_UVERBS_SHARE_RING_RECV);
	cq_seg = ring_segment(&ep.cq.ring, IB_UVERBS_SHARE_RING_CQ);
	of_qp = EXPORT_OF(ep.fd, ep.qp.handle);
	of_qp.segs = segs;
	of_qp.nsegs = 2;
	test_export(ep.fd, &of_qp);
	of_cq = EXPORT_OF(ep.fd, ep.cq.handle);
	of_cq.segs = &cq_seg;
	of_cq.nsegs = 1;
	test_export(ep.fd, &of_cq);
	mr.pd = ep.pd;
	mr.fd = memfd(2 * PAGE);
	test_reg_mr(ep.fd, &mr);
	ASSERT_EQ(5, pwrite(mr.fd, "hello", 5, 0));

	peer = (struct peer){ of_qp.grant, of_cq.grant, mr.lkey };
	test_ok(child_start(&child, use_the_rings, &peer));
	EXPECT_EQ(0, child_end(&child));
	ASSERT_EQ(5, pread(mr.fd, got, 5, PAGE));
	EXPECT_EQ(0, memcmp(got, "hello", 5));
	close(of_qp.grant);
	close(of_cq.grant);
	endpoint_close(&ep);
}

TEST_HARNESS_MAIN
