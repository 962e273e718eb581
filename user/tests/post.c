// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Posting, step by step against the fake device: rights, states, room.
 */
#include <errno.h>
#include <string.h>
#include "../provider.h"
#include "bed.h"
#include "tap.h"

static struct bed bed;
static struct node exporter, other;

static int rights(void)
{
	struct fake_qp *qp;
	struct node node;
	uint64_t buffer;

	CHECK(bed_make(&bed, &exporter, 8, 64, 0));
	CHECK(bed_join(&bed, &node, 1, 1));
	qp = &bed.dev->qps[0];
	CHECK(!share_qp_path_init(&node.qp, &node.control, 0, &node.cq,
				  &node.cq, &share_provider_rxe, NULL, 0,
				  qp->rq.ring, qp->rq.bytes));
	CHECK(bed_send(&node, 1, 1, 0) == EACCES);
	CHECK(!bed_recv(&node, 1, &buffer));
	CHECK(!share_qp_path_init(&node.qp, &node.control, 0, NULL, NULL,
				  &share_provider_rxe, qp->sq.ring,
				  qp->sq.bytes, NULL, 0));
	CHECK(!bed_send(&node, 1, 1, 0));
	CHECK(bed_recv(&node, 1, &buffer) == EACCES);
	/* a ring that is not that of the QP */
	CHECK(share_qp_path_init(&node.qp, &node.control, 0, NULL, NULL,
				 &share_provider_rxe, bed.dev->cqs[0].ring,
				 bed.dev->cqs[0].bytes, NULL, 0) == EBADMSG);
	CHECK(share_qp_path_init(&node.qp, &node.control, 1, NULL, NULL,
				 &share_provider_rxe, NULL, 0, NULL, 0) ==
	      ENOENT);
	bed_leave(&node);
	bed_free(&bed, &exporter);
	return 1;
}

static int states(void)
{
	static const struct {
		enum ibv_qp_state state;
		int send;
		int recv;
	} table[] = {
		{ IBV_QPS_RESET, EINVAL, EINVAL },
		{ IBV_QPS_INIT, EINVAL, 0 },
		{ IBV_QPS_RTR, EINVAL, 0 },
		{ IBV_QPS_RTS, 0, 0 },
		{ IBV_QPS_SQD, 0, 0 },
		{ IBV_QPS_ERR, 0, 0 },
	};
	uint32_t kicks, *state;
	uint64_t buffer;
	unsigned int i;

	CHECK(bed_make(&bed, &exporter, 64, 256, 0));
	state = &exporter.qp.view.body->state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		share_store(state, table[i].state);
		CHECK(share_qp_state(&exporter.qp) == table[i].state);
		kicks = bed.dev->qps[0].kicks;
		CHECK(bed_send(&exporter, 1, 1, 0) == table[i].send);
		CHECK(bed.dev->qps[0].kicks == kicks + !table[i].send);
		kicks = bed.dev->qps[0].kicks;
		CHECK(bed_recv(&exporter, 1, &buffer) == table[i].recv);
		CHECK(bed.dev->qps[0].kicks ==
		      kicks + (table[i].state == IBV_QPS_ERR));
	}
	/* ERR is not forgotten but by RESET */
	CHECK(!share_qp_set_state(&exporter.qp, IBV_QPS_RTS));
	CHECK(share_qp_state(&exporter.qp) == IBV_QPS_ERR);
	share_store(state, 77);
	CHECK(share_qp_state(&exporter.qp) == IBV_QPS_UNKNOWN);
	CHECK(bed_send(&exporter, 1, 1, 0) == EINVAL);
	bed_free(&bed, &exporter);
	return 1;
}

static int refused(void)
{
	struct ibv_sge sge[BED_SGE + 1] = { { 0, 0, 0 } };
	struct ibv_send_wr *bad, wr[3];
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = sge };
	uint32_t producer;
	int i;

	CHECK(bed_make(&bed, &exporter, 8, 64, 0));
	memset(wr, 0, sizeof(wr));
	for (i = 0; i < 3; i++) {
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].sg_list = sge;
	}
	/* what stands before the bad one is posted, with one doorbell */
	wr[1].num_sge = BED_SGE + 1;
	CHECK(share_post_send(&exporter.qp, wr, &bad) == EINVAL);
	CHECK(bad == &wr[1]);
	CHECK(share_load(&exporter.qp.view.body->send.head) == 1);
	CHECK(bed.dev->qps[0].kicks == 1);
	producer = share_load(&exporter.qp.view.body->send.head);
	wr[1].num_sge = -1;
	CHECK(share_post_send(&exporter.qp, &wr[1], &bad) == EINVAL);
	wr[1].num_sge = 2;
	sge[0].length = sge[1].length = 0x80000000;
	CHECK(share_post_send(&exporter.qp, &wr[1], &bad) == EINVAL);
	sge[0].length = BED_INLINE;
	sge[1].length = 1;
	wr[1].send_flags = IBV_SEND_INLINE;
	CHECK(share_post_send(&exporter.qp, &wr[1], &bad) == EINVAL);
	wr[1].send_flags = 0;
	wr[1].opcode = IBV_WR_BIND_MW;
	CHECK(share_post_send(&exporter.qp, &wr[1], &bad) == EOPNOTSUPP);
	recv.num_sge = BED_SGE + 1;
	CHECK(share_post_recv(&exporter.qp, &recv, &bad_recv) == EINVAL);
	CHECK(bad_recv == &recv);
	CHECK(share_load(&exporter.qp.view.body->send.head) == producer);
	CHECK(bed.dev->qps[0].kicks == 1);
	CHECK(share_load(&exporter.cq.view.body->credits) == 1);
	bed_free(&bed, &exporter);
	return 1;
}

static int ring_is_full(void)
{
	uint64_t buffer;
	struct ibv_wc wc[16];
	int i;

	CHECK(bed_make(&bed, &exporter, 8, 64, 0));
	for (i = 0; i < 7; i++)
		CHECK(!bed_recv(&exporter, 100 + i, &buffer));
	CHECK(bed_recv(&exporter, 0, &buffer) == ENOMEM);
	for (i = 0; i < 7; i++)
		CHECK(!bed_send(&exporter, i, 1, IBV_SEND_SIGNALED));
	CHECK(bed_send(&exporter, 0, 1, 0) == ENOMEM);
	fake_step(bed.dev);
	/* the ring has room, the shadow table for one more, then not */
	CHECK(!bed_recv(&exporter, 0, &buffer));
	CHECK(share_poll(&exporter.cq, 16, wc) == 14);
	for (i = 0; i < 6; i++)
		CHECK(!bed_recv(&exporter, 0, &buffer));
	CHECK(bed_recv(&exporter, 0, &buffer) == ENOMEM);
	bed_free(&bed, &exporter);
	return 1;
}

/* The CQ is the bottleneck: ENOMEM, and no completion is lost. */
static int credits(void)
{
	struct share_qp_path second;
	struct node on_second;
	struct ibv_wc wc[64];
	uint64_t buffer;
	int i, n = 0;

	CHECK(bed_make(&bed, &exporter, 64, 32, 0));
	CHECK(bed_add_qp(&bed, &exporter, &second, 64));
	on_second = exporter;
	on_second.qp = second;
	for (i = 0; i < 31; i++)
		CHECK(!bed_recv(i % 2 ? &exporter : &on_second, i, &buffer));
	CHECK(bed_recv(&exporter, 0, &buffer) == ENOMEM);
	CHECK(bed_send(&on_second, 0, 1, 0) == ENOMEM);
	fake_modify(bed.dev, 0, IBV_QPS_ERR);
	fake_modify(bed.dev, 1, IBV_QPS_ERR);
	CHECK(bed.dev->cqs[0].cqes == 31 && !bed.dev->cqs[0].overflows);
	for (i = 0; i < 10; i++)
		n += share_poll(&exporter.cq, 5, wc);
	CHECK(n == 31);
	CHECK(!share_load(&exporter.cq.view.body->credits));
	CHECK(!share_load(&exporter.cq.view.body->mailboxes[0].quota));
	bed_free(&bed, &exporter);
	return 1;
}

/* Who does not poll fills its own quota, and nobody else's. */
static int quota(void)
{
	struct ibv_wc wc[64];
	int i, sent = 0;

	CHECK(bed_make(&bed, &exporter, 8, 16, 0));
	CHECK(bed_join(&bed, &other, 1, 1));
	share_store(&exporter.qp.view.body->state, IBV_QPS_ERR);
	bed.dev->qps[0].state = IBV_QPS_ERR;
	for (i = 0; i < 100; i++) {
		sent += !bed_send(&other, i, 1, IBV_SEND_SIGNALED);
		fake_step(bed.dev);
		CHECK(share_poll(&exporter.cq, 64, wc) == 0);
	}
	CHECK(sent == 15);
	CHECK(bed_send(&other, 0, 1, 0) == ENOMEM);
	CHECK(!bed_send(&exporter, 7, 1, 0));
	fake_step(bed.dev);
	CHECK(share_poll(&exporter.cq, 64, wc) == 1 && wc[0].wr_id == 7);
	CHECK(share_poll(&other.cq, 64, wc) == 15);
	CHECK(!bed_send(&other, 0, 1, 0));
	CHECK(!share_load(&exporter.cq.view.body->counters.lost));
	bed_leave(&other);
	bed_free(&bed, &exporter);
	return 1;
}

/* Neither signals nor polls, on a CQ smaller than the send queues together. */
static int never_signals(void)
{
	struct share_qp_path paths[3];
	struct node nodes[4];
	struct ibv_wc wc;
	int i, j;

	CHECK(bed_make(&bed, &exporter, 64, 64, 0));
	nodes[0] = exporter;
	for (j = 0; j < 3; j++) {
		CHECK(bed_add_qp(&bed, &exporter, &paths[j], 64));
		nodes[j + 1] = exporter;
		nodes[j + 1].qp = paths[j];
	}
	for (i = 0; i < 2000; i++) {
		struct ibv_send_wr *bad, wr = {
			.opcode = IBV_WR_RDMA_WRITE,
		};
		CHECK(!share_post_send(&nodes[i / 100 % 4].qp, &wr, &bad));
		fake_step(bed.dev);
	}
	CHECK(share_poll(&exporter.cq, 1, &wc) == 0);
	CHECK(bed.dev->cqs[0].cqes > 20 && !bed.dev->cqs[0].overflows);
	bed_free(&bed, &exporter);
	return 1;
}

static int all_signaled(void)
{
	struct ibv_wc wc[16];
	uint64_t buffer;
	int i;

	CHECK(bed_make(&bed, &exporter, 16, 64, 1));
	for (i = 0; i < 5; i++) {
		CHECK(!bed_recv(&exporter, 10, &buffer));
		CHECK(!bed_send(&exporter, 11, 1, 0));
	}
	fake_step(bed.dev);
	CHECK(share_poll(&exporter.cq, 16, wc) == 10);
	bed_free(&bed, &exporter);
	return 1;
}

/* Died with head moved, but not the producer index: it has not posted. */
static int dead_poster(void)
{
	struct share_qp_body *body;
	struct ibv_wc wc[4];
	uint64_t buffer;

	CHECK(bed_make(&bed, &exporter, 8, 64, 0));
	CHECK(bed_join(&bed, &other, 1, 1));
	body = exporter.qp.view.body;
	CHECK(!bed_recv(&exporter, 1, &buffer));
	CHECK(!bed_recv(&exporter, 2, &buffer));
	CHECK(!bed_send(&other, 10, 1, IBV_SEND_SIGNALED));
	share_provider_rxe.publish(&exporter.qp.sq, 0);
	CHECK(!share_lock(&body->send.lock, &other.control.me));
	share_store(&bed.dev->generations[1], 0);
	fake_step(bed.dev);
	CHECK(!bed_send(&exporter, 11, 1, IBV_SEND_SIGNALED));
	CHECK(share_load(&body->takeovers) == 1);
	fake_step(bed.dev);
	CHECK(share_poll(&exporter.cq, 4, wc) == 2);
	CHECK(wc[1].wr_id == 11 && share_poll(&other.cq, 4, wc) == 0);
	CHECK(share_load(&exporter.cq.view.body->credits) == 1);
	bed_leave(&other);
	bed_free(&bed, &exporter);
	return 1;
}

int main(void)
{
	static const struct test tests[] = {
		TEST(rights),
		TEST(states),
		TEST(refused),
		TEST(ring_is_full),
		TEST(credits),
		TEST(quota),
		TEST(never_signals),
		TEST(all_signaled),
		TEST(dead_poster),
	};

	return RUN_TESTS(tests);
}
