// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What an importer writes to a ring after it was revoked reaches neither the
 * ring nor the peer.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "kselftest_harness.h"
#include "share_test.h"

FIXTURE(revoked)
{
	struct endpoint ep, peer;
	struct export_args export;
	struct ib_uverbs_share_segment seg;
	struct reg_mr mr, peer_mr;
	struct rxe_queue_buf *ring, *second;
	uint32_t round;
};

static int reg_page(struct endpoint *ep, struct reg_mr *mr)
{
	*mr = (struct reg_mr){ .pd = ep->pd, .fd = memfd(PAGE), .length = PAGE };
	mr->access = ACCESS_LOCAL;
	return do_reg_mr(ep->fd, mr);
}

static struct rxe_queue_buf *map_send(int grant, uint64_t length)
{
	return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, grant, 0);
}

FIXTURE_SETUP(revoked)
{
	struct endpoint *ep = &self->ep, *peer = &self->peer;

	test_ok(endpoint_open(ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_open(peer, "rxe1", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(ep, peer));
	test_ok(endpoint_connect(peer, ep));
	test_ok(reg_page(ep, &self->mr));
	test_ok(reg_page(peer, &self->peer_mr));
	self->seg = ring_segment(&ep->qp.send, IB_UVERBS_SHARE_RING_SEND);
	self->export = EXPORT_OF(ep->fd, ep->qp.handle);
	self->export.segs = &self->seg;
	self->export.nsegs = 1;
	test_export(ep->fd, &self->export);
	self->ring = map_send(self->export.grant, self->seg.length);
	self->second = map_send(self->export.grant, self->seg.length);
	ASSERT_NE(MAP_FAILED, self->ring);
	ASSERT_NE(MAP_FAILED, self->second);
}

FIXTURE_TEARDOWN(revoked)
{
	endpoint_close(&self->ep);
	endpoint_close(&self->peer);
}

static __thread sigjmp_buf fault;

static void on_fault(int sig)
{
	siglongjmp(fault, sig);
}

/* Return: the signal that ended @run, or 0 */
static int run_until_fault(void (*run)(void *arg), void *arg)
{
	struct sigaction act = { .sa_handler = on_fault };
	int sig;

	sigaction(SIGBUS, &act, NULL);
	sig = sigsetjmp(fault, 1);
	if (!sig)
		run(arg);
	return sig;
}

static void write_index(void *arg)
{
	struct rxe_queue_buf *ring = arg;

	__atomic_store_n(&ring->producer_index, 1, __ATOMIC_RELEASE);
}

static void write_last(void *arg)
{
	((volatile char *)arg)[PAGE - 1] = 1;
}

/* the exporter rings the doorbell of its QP */
static int kick(struct endpoint *ep)
{
	struct export_args export = EXPORT_OF(ep->fd, ep->qp.handle);
	struct import import;
	int err;

	err = do_export(ep->fd, &export);
	import = IMPORT_OF(export.grant);
	err = err ?: do_import(ep->fd, &import);
	err = err ?: do_kick(ep->fd, import.handle, IB_UVERBS_SHARE_KICK_SEND);
	close(export.grant);
	return err ?: do_revoke(ep->fd, export.handle);
}

/*
 * All of a request was in the ring, but for the producer index, when the ring
 * was taken away. The first message that the peer gets is the exporter's.
 */
TEST_F(revoked, request_is_not_executed)
{
	struct rxe_sge bad = { .addr = 0, .length = 66, .lkey = self->mr.lkey };
	struct rxe_sge good = { .addr = 0, .length = 7, .lkey = self->mr.lkey };
	struct rxe_sge to = { .addr = 0, .length = PAGE, .lkey = self->peer_mr.lkey };
	struct ib_uverbs_wc wc;
	int i;

	for (i = 0; i < 3; i++)
		post_recv(self->peer.qp.recv.buf, i, &to);
	/* written, and the index put back: nobody was told of it yet */
	post_send(self->ring, 66, &bad);
	__atomic_store_n(&self->ring->producer_index, 0, __ATOMIC_RELEASE);
	test_revoke(self->ep.fd, self->export.handle);

	EXPECT_EQ(SIGBUS, run_until_fault(write_index, self->ring));
	EXPECT_EQ(SIGBUS, run_until_fault(write_index, self->second));
	EXPECT_EQ(0, self->ep.qp.send.buf->producer_index);
	test_ok(kick(&self->ep));

	post_send(self->ep.qp.send.buf, 7, &good);
	test_ok(kick(&self->ep));
	ASSERT_TRUE(poll_cq(self->peer.cq.ring.buf, &wc));
	EXPECT_EQ(7, wc.byte_len);
	ASSERT_TRUE(poll_cq(self->ep.cq.ring.buf, &wc));
	EXPECT_EQ(7, wc.wr_id);
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
}

static void write_for_ever(void *arg)
{
	FIXTURE_DATA(revoked) *self = arg;
	volatile uint32_t *word = (void *)((char *)self->ring + self->seg.length - 8);

	for (;;) {
		*word = *word + 1;
		__atomic_store_n(&self->round, self->round + 1, __ATOMIC_RELAXED);
	}
}

static void *writer_main(void *arg)
{
	return (void *)(intptr_t)run_until_fault(write_for_ever, arg);
}

static uint32_t rounds(FIXTURE_DATA(revoked) *self)
{
	return __atomic_load_n(&self->round, __ATOMIC_RELAXED);
}

/* from when the revoke returns nothing changes in the ring, whoever is at it */
TEST_F(revoked, writer_is_stopped)
{
	char *mine = (char *)self->ep.qp.send.buf, *copy = malloc(self->seg.length);
	pthread_t writer;
	void *sig;

	test_ok(pthread_create(&writer, NULL, writer_main, self));
	ASSERT_TRUE(wait_for(rounds(self) > 1000));
	test_revoke(self->ep.fd, self->export.handle);
	memcpy(copy, mine, self->seg.length);
	pthread_join(writer, &sig);
	EXPECT_EQ(SIGBUS, (intptr_t)sig);
	EXPECT_EQ(0, memcmp(copy, mine, self->seg.length));
	EXPECT_NE(0, mine[self->seg.length - 8] | mine[self->seg.length - 7]);
	free(copy);
}

struct both {
	struct rxe_queue_buf *ring, *second;
};

static void write_both(int sock, void *arg)
{
	struct both *both = arg;

	CHILD_CHECK(!run_until_fault(write_last, both->ring));
	CHILD_CHECK(!say(sock));
	CHILD_CHECK(!hear(sock));
	CHILD_CHECK(run_until_fault(write_last, both->ring) == SIGBUS);
	CHILD_CHECK(run_until_fault(write_last, both->second) == SIGBUS);
	CHILD_CHECK(run_until_fault(write_index, both->ring) == SIGBUS);
	CHILD_CHECK(run_until_fault(write_index, both->second) == SIGBUS);
}

/* the child has touched one of the two only */
TEST_F(revoked, child_cannot_write)
{
	struct both both = { self->ring, self->second };
	struct child child;

	test_ok(child_start(&child, write_both, &both));
	test_ok(hear(child.sock));
	test_revoke(self->ep.fd, self->export.handle);
	test_ok(say(child.sock));
	EXPECT_EQ(0, child_end(&child));
	EXPECT_EQ(0, self->ep.qp.send.buf->producer_index);
	EXPECT_EQ(SIGBUS, run_until_fault(write_last, self->ring));
}

TEST_HARNESS_MAIN
