// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Steering, step by step against the fake device: every completion goes to its
 * owner, whoever polls.
 */
#include <errno.h>
#include <string.h>
#include "../directory.h"
#include "../mailbox.h"
#include "bed.h"
#include "tap.h"

static struct bed bed;
static struct node exporter, other;
static uint64_t buffers[64];
static struct ibv_wc wc[64];

static int setup(uint32_t entries)
{
	return bed_make(&bed, &exporter, entries, 256, 0) &&
	       bed_join(&bed, &other, 1, 1);
}

static int teardown(void)
{
	CHECK(!bed.dev->cqs[0].overflows);
	CHECK(!share_load(&exporter.cq.view.body->counters.lost));
	CHECK(!share_load(&exporter.cq.view.body->counters.impossible));
	bed_leave(&other);
	bed_free(&bed, &exporter);
	return 1;
}

static int drained(void)
{
	struct share_cq_body *body = exporter.cq.view.body;

	CHECK(!share_load(&body->credits));
	CHECK(!share_load(&body->mailboxes[0].quota));
	CHECK(!share_load(&body->mailboxes[1].quota));
	return 1;
}

static int to_their_owners(void)
{
	int i, n;

	CHECK(setup(16));
	for (i = 0; i < 10; i++) {
		CHECK(!bed_recv(i % 2 ? &other : &exporter, 100 + i,
				&buffers[i]));
		CHECK(!bed_send(i % 3 ? &other : &exporter, 200 + i, 1000 + i,
				IBV_SEND_SIGNALED));
	}
	fake_step(bed.dev);
	n = share_poll(&exporter.cq, 64, wc);
	CHECK(n == 5 + 4);
	for (i = 0; i < n; i++) {
		CHECK(wc[i].wr_id >= 200 ? (wc[i].wr_id - 200) % 3 == 0 : wc[i].wr_id % 2 == 0);
		CHECK(wc[i].qp_num == 17 && wc[i].byte_len == 8);
		CHECK(wc[i].opcode ==
		      (wc[i].wr_id >= 200 ? IBV_WC_SEND : IBV_WC_RECV));
	}
	n = share_poll(&other.cq, 64, wc);
	CHECK(n == 5 + 6);
	for (i = 0; i < n; i++)
		CHECK(wc[i].wr_id >= 200 ? (wc[i].wr_id - 200) % 3 != 0 : wc[i].wr_id % 2 == 1);
	for (i = 0; i < 10; i++)
		CHECK(buffers[i] == 1000u + i);
	CHECK(drained());
	return teardown();
}

/* One at a time, from the mailbox and then from the ring: oldest first. */
static int order(void)
{
	int i;

	CHECK(setup(32));
	for (i = 0; i < 20; i++)
		CHECK(!bed_recv(&exporter, 0, &buffers[i]));
	for (i = 0; i < 20; i++) {
		CHECK(!bed_send(&other, i, 1, IBV_SEND_SIGNALED));
		fake_step(bed.dev);
		if (i % 7 == 3)
			CHECK(share_poll(&exporter.cq, 64, wc) > 0);
	}
	for (i = 0; i < 20; i++)
		CHECK(share_poll(&other.cq, 1, wc) == 1 &&
		      wc[0].wr_id == (uint64_t)i);
	CHECK(share_poll(&other.cq, 1, wc) == 0);
	return teardown();
}

static int unsignaled_are_silent(void)
{
	struct share_cq_body *body;
	int i;

	CHECK(setup(64));
	body = exporter.cq.view.body;
	for (i = 0; i < 60; i++) {
		CHECK(!bed_recv(&exporter, 1, &buffers[i]));
		CHECK(!bed_send(&other, i, 1, i == 59 ? IBV_SEND_SIGNALED : 0));
		fake_step(bed.dev);
		CHECK(share_poll(&exporter.cq, 64, wc) == 1);
		CHECK(wc[0].opcode == IBV_WC_RECV);
	}
	CHECK(share_load(&body->counters.hidden) == 1);
	CHECK(share_poll(&other.cq, 64, wc) == 1 && wc[0].wr_id == 59);
	CHECK(drained());
	return teardown();
}

/* A failed request, and those behind it, signaled or not, of both owners. */
static int failures(void)
{
	struct ibv_sge sge = { (uintptr_t)buffers, 8, FAKE_BAD_LKEY };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 50,
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
	};
	uint32_t kicks;
	int i;

	CHECK(setup(16));
	CHECK(!bed_recv(&exporter, 10, buffers));
	CHECK(!share_post_send(&other.qp, &wr, &bad));
	CHECK(!bed_send(&exporter, 51, 1, 0));
	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr_id = 52;
	CHECK(!share_post_send(&other.qp, &wr, &bad));
	fake_step(bed.dev);
	kicks = bed.dev->qps[0].kicks;
	CHECK(share_poll(&exporter.cq, 64, wc) == 2);
	/* who finds out kicks once in each direction */
	CHECK(bed.dev->qps[0].kicks == kicks + 2);
	CHECK(share_qp_state(&other.qp) == IBV_QPS_ERR);
	for (i = 0; i < 2; i++) {
		CHECK(wc[i].status == IBV_WC_WR_FLUSH_ERR);
		CHECK(wc[i].wr_id == (wc[i].opcode == IBV_WC_RECV ? 10 : 51));
	}
	CHECK(share_poll(&other.cq, 64, wc) == 2);
	CHECK(wc[0].wr_id == 50 && wc[0].status == IBV_WC_LOC_PROT_ERR &&
	      wc[0].opcode == IBV_WC_RDMA_WRITE);
	CHECK(wc[1].wr_id == 52 && wc[1].status == IBV_WC_WR_FLUSH_ERR &&
	      wc[1].opcode == IBV_WC_RDMA_READ);
	/* what is posted now is flushed, too */
	CHECK(!bed_recv(&other, 60, buffers));
	CHECK(!bed_send(&other, 61, 1, 0));
	fake_step(bed.dev);
	CHECK(share_poll(&other.cq, 64, wc) == 2);
	CHECK(wc[0].status == IBV_WC_WR_FLUSH_ERR);
	CHECK(drained());
	return teardown();
}

static int reset_and_again(void)
{
	uint32_t epoch;
	int i, round;

	CHECK(setup(16));
	for (round = 0; round < 10; round++) {
		epoch = share_load(&exporter.qp.view.body->epoch);
		for (i = 0; i < 7; i++) {
			CHECK(!bed_send(&other, i, 1, IBV_SEND_SIGNALED));
			if (i < 3)
				CHECK(!bed_recv(&exporter, i, &buffers[i]));
		}
		/* 3 of 7 arrive */
		fake_step(bed.dev);
		CHECK(bed_reset(&bed, &exporter.qp));
		CHECK(share_load(&exporter.qp.view.body->epoch) == epoch + 1);
		CHECK(bed_send(&other, 0, 1, 0) == EINVAL);
		CHECK(share_poll(&exporter.cq, 64, wc) == 3);
		CHECK(share_poll(&other.cq, 64, wc) == 3);
		CHECK(drained());
		CHECK(bed_rts(&bed, &exporter.qp));
	}
	return teardown();
}

/* rxe never purges a CQ: completions of another life of the QP. */
static int stale_and_impossible(void)
{
	struct share_qp_view *qp;
	struct share_cq_counters *counters;
	uint32_t epoch;

	CHECK(setup(16));
	qp = &exporter.qp.view;
	counters = &exporter.cq.view.body->counters;
	CHECK(!bed_recv(&exporter, 1, buffers));
	epoch = share_load(&qp->body->epoch);
	fake_inject(bed.dev, 0, share_cookie(2, 0, epoch - 1, 0), 0);
	fake_inject(bed.dev, 0, share_cookie(2, 1, epoch, 0), 0);
	fake_inject(bed.dev, 0, share_srq_cookie(0, 0, 0), 0);
	CHECK(share_poll(&exporter.cq, 64, wc) == 0);
	CHECK(share_load(&counters->stale) == 3);
	fake_inject(bed.dev, 0, share_cookie(0, 0, epoch, 0), 0);
	fake_inject(bed.dev, 0, share_srq_cookie(SHARE_MAX_SRQS, 0, 0), 0);
	fake_inject(bed.dev, 0, share_cookie(2, 0, epoch, 1), 0);
	fake_inject(bed.dev, 0, share_cookie(1, 0, epoch, 0), 0);
	fake_inject(bed.dev, 0, share_cookie(2, 0, epoch, 0x80000000), 0);
	CHECK(share_poll(&exporter.cq, 64, wc) == -EBADMSG);
	CHECK(share_load(&counters->impossible) == 5);
	/* that process uses it no more */
	CHECK(!bed_send(&other, 2, 1, 0));
	fake_step(bed.dev);
	CHECK(share_poll(&exporter.cq, 64, wc) == -EBADMSG);
	exporter.cq.corrupt = 0;
	CHECK(share_poll(&exporter.cq, 64, wc) == 1 && wc[0].wr_id == 1);
	/* the same once more */
	fake_inject(bed.dev, 0, share_cookie(2, 0, epoch, 0), 0);
	CHECK(share_poll(&exporter.cq, 64, wc) == 0);
	CHECK(share_load(&counters->stale) == 4);
	share_store(&counters->impossible, 0);
	return teardown();
}

/* Polls with no right to the ring: what others steered is there. */
static int without_ring(void)
{
	struct node node;

	CHECK(setup(16));
	CHECK(bed_join(&bed, &node, 2, 1));
	CHECK(!share_cq_path_init(&node.cq, &node.control, 0, NULL, NULL, 0));
	CHECK(!bed_recv(&node, 5, buffers));
	CHECK(!bed_send(&other, 6, 1, IBV_SEND_SIGNALED));
	fake_step(bed.dev);
	CHECK(share_poll(&node.cq, 64, wc) == 0);
	CHECK(share_poll(&other.cq, 64, wc) == 1);
	CHECK(share_poll(&node.cq, 64, wc) == 1 && wc[0].wr_id == 5);
	bed_leave(&node);
	return teardown();
}

/* Somebody is in the middle of polling: take what is ours, do not wait. */
static int busy_lock(void)
{
	uint32_t *lock;

	CHECK(setup(16));
	lock = &exporter.cq.view.body->lock;
	CHECK(!bed_recv(&other, 5, buffers));
	CHECK(!bed_send(&exporter, 6, 1, IBV_SEND_SIGNALED));
	fake_step(bed.dev);
	CHECK(share_poll(&exporter.cq, 64, wc) == 1);
	CHECK(!bed_recv(&other, 7, buffers));
	CHECK(!bed_send(&exporter, 8, 1, IBV_SEND_SIGNALED));
	fake_step(bed.dev);
	CHECK(!share_lock(lock, &exporter.control.me));
	CHECK(share_poll(&other.cq, 64, wc) == 1 && wc[0].wr_id == 5);
	CHECK(share_poll(&other.cq, 64, wc) == 0);
	share_unlock(lock, &exporter.control.me);
	CHECK(share_poll(&other.cq, 64, wc) == 1 && wc[0].wr_id == 7);
	CHECK(share_poll(&exporter.cq, 64, wc) == 1 && wc[0].wr_id == 8);
	return teardown();
}

/* What the dead process of a slot left goes to the heir, not to the next. */
static int slot_is_reused(void)
{
	struct node next;
	int i;

	CHECK(setup(16));
	for (i = 0; i < 6; i++) {
		CHECK(!bed_recv(&other, i, buffers));
		CHECK(!bed_send(&exporter, 10 + i, 1, 0));
		if (i != 2)
			continue;
		fake_step(bed.dev);
		CHECK(share_poll(&exporter.cq, 64, wc) == 0);
	}
	/* three in the mailbox, three outstanding */
	CHECK(bed_join(&bed, &next, 1, 2));
	CHECK(!share_load(&exporter.cq.view.body->mailboxes[1].quota));
	CHECK(!bed_recv(&next, 99, buffers));
	CHECK(!bed_send(&exporter, 10 + i, 1, 0));
	fake_step(bed.dev);
	CHECK(share_poll(&next.cq, 64, wc) == 1 && wc[0].wr_id == 99);
	CHECK(share_poll(&exporter.cq, 64, wc) == 6);
	for (i = 0; i < 6; i++)
		CHECK(wc[i].wr_id == (uint64_t)i);
	CHECK(share_load(&exporter.cq.view.body->counters.orphans) == 3);
	/* its own sends: nobody has signaled yet */
	CHECK(share_load(&exporter.cq.view.body->mailboxes[0].quota) == 7);
	bed_leave(&next);
	return teardown();
}

/* The QP is destroyed with requests outstanding; another gets its place. */
static int delete_and_reuse(void)
{
	struct share_qp_path path;
	uint32_t fake, index;
	struct share_qp_attr attr;

	CHECK(setup(16));
	attr = exporter.qp.view.attr;
	CHECK(!bed_recv(&other, 1, buffers));
	CHECK(!bed_recv(&other, 2, buffers));
	CHECK(!bed_send(&exporter, 3, 1, IBV_SEND_SIGNALED));
	fake_step(bed.dev);
	fake_modify(bed.dev, 0, IBV_QPS_RESET);
	CHECK(!share_qp_path_delete(&exporter.qp));
	CHECK(bed_send(&exporter, 0, 1, 0) == ENOLINK);
	CHECK(bed_recv(&other, 0, buffers) == ENOLINK);
	CHECK(share_qp_path_delete(&exporter.qp) == ENOLINK);
	CHECK(share_poll(&other.cq, 64, wc) == 0);
	CHECK(drained());
	CHECK(!share_control_add_qp(&exporter.control, &attr, &index));
	CHECK(!index);
	fake = fake_add_qp(bed.dev, 0, 0, 16, 512, 0);
	CHECK(!share_qp_path_init(&path, &exporter.control, 0, &exporter.cq,
				  &exporter.cq, exporter.qp.sq.provider,
				  bed.dev->qps[fake].sq.ring,
				  bed.dev->qps[fake].sq.bytes, NULL, 0));
	CHECK(share_load(&path.view.body->epoch) == 3);
	CHECK(bed_send(&other, 0, 1, 0) == ENOLINK);
	CHECK(!share_control_del_qp(&exporter.control, 0, 1));
	CHECK(!share_control_del_cq(&exporter.control, 0));
	CHECK(share_poll(&other.cq, 64, wc) == -ENOLINK);
	return teardown();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(to_their_owners),
		TEST(order),
		TEST(unsignaled_are_silent),
		TEST(failures),
		TEST(reset_and_again),
		TEST(stale_and_impossible),
		TEST(without_ring),
		TEST(busy_lock),
		TEST(slot_is_reused),
		TEST(delete_and_reuse),
	};

	return RUN_TESTS(tests);
}
