// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * An SRQ completes in any order, and each receive belongs to who posted it.
 */
#include <errno.h>
#include <string.h>
#include "../directory.h"
#include "../provider.h"
#include "srq_bed.h"
#include "tap.h"

static struct srq_bed s;
static struct node other;
static struct share_srq_path others;
static struct ibv_wc wc[64];

static int setup(void)
{
	CHECK(srq_bed_make(&s));
	CHECK(bed_join(&s.bed, &other, 1, 1));
	return srq_bed_open(&s, &other, &others);
}

static int teardown(void)
{
	bed_leave(&other);
	return srq_bed_free(&s);
}

/* Even ones are the exporter's; the last comes first. */
static int any_order(void)
{
	uint64_t taken[10];
	int i;

	CHECK(setup());
	for (i = 0; i < 10; i++)
		CHECK(!srq_post(i % 2 ? &others : &s.srq, (uint64_t)i, 1));
	for (i = 0; i < 10; i++)
		CHECK(taken[i] = srq_take(&s));
	CHECK(!srq_take(&s));
	for (i = 10; i--;)
		srq_complete(&s, taken[i]);
	CHECK(share_poll(&s.exporter.cq, 64, wc) == 5);
	for (i = 0; i < 5; i++)
		CHECK(wc[i].wr_id == 8 - 2 * (uint64_t)i);
	CHECK(share_poll(&other.cq, 64, wc) == 5);
	for (i = 0; i < 5; i++)
		CHECK(wc[i].wr_id == 9 - 2 * (uint64_t)i);
	CHECK(!srq_credits(&s));
	/* the same completion once more */
	srq_complete(&s, taken[3]);
	CHECK(!share_poll(&s.exporter.cq, 64, wc));
	CHECK(!srq_credits(&s));
	return teardown();
}

/* One is held for long; all other places are used again and again. */
static int places(void)
{
	uint64_t held, old = 0, taken[SRQ_PLACES];
	uint32_t round, n, i;

	CHECK(setup());
	CHECK(!srq_post(&s.srq, 999, 1));
	CHECK(held = srq_take(&s));
	for (round = 0; round < 50; round++) {
		for (n = 0; n < SRQ_PLACES - 1;) {
			CHECK(!srq_post(&s.srq, n, 1));
			CHECK(taken[n++] = srq_take(&s));
		}
		CHECK(srq_post(&s.srq, n, 1) == ENOMEM);
		CHECK(srq_credits(&s) == SRQ_PLACES);
		/* one of the last round, whose place is somebody else's now */
		if (old)
			srq_complete(&s, old);
		old = taken[5];
		/* odd ones first */
		for (i = 0; i < n; i++)
			srq_complete(&s, taken[(2 * i + 1) % n]);
		CHECK(share_poll(&s.exporter.cq, 64, wc) == (int)n);
		for (i = 0; i < n; i++)
			CHECK(wc[i].wr_id == (2 * i + 1) % n);
	}
	srq_complete(&s, held);
	CHECK(share_poll(&s.exporter.cq, 64, wc) == 1 && wc[0].wr_id == 999);
	CHECK(!srq_credits(&s));
	/* the ring holds one less than it has entries */
	CHECK(srq_post(&s.srq, 0, SRQ_ENTRIES) == ENOMEM);
	CHECK(srq_credits(&s) == SRQ_ENTRIES - 1);
	return teardown();
}

/*
 * The first is with QP 1, which is reset, and lost; two are with QP 2. One of
 * those completes before its reset, one during it.
 */
static int given_up(void)
{
	uint64_t taken[3];
	int i;

	CHECK(setup());
	CHECK(!srq_post(&others, 0, 6));
	for (i = 0; i < 3; i++)
		CHECK(taken[i] = srq_take(&s));
	srq_complete(&s, taken[2]);
	CHECK(bed_reset(&s.bed, &s.qp[0]));
	CHECK(srq_credits(&s) == 5);
	CHECK(!share_qp_begin_reset(&s.qp[1]));
	/* another reset comes between: QP 2 may still receive */
	CHECK(bed_reset(&s.bed, &s.qp[0]));
	CHECK(srq_credits(&s) == 5);
	srq_complete(&s, taken[1]);
	CHECK(!share_qp_set_state(&s.qp[1], IBV_QPS_RESET));
	CHECK(srq_credits(&s) == 3);
	CHECK(share_poll(&other.cq, 64, wc) == 2);
	CHECK(wc[0].wr_id == 2 && wc[1].wr_id == 1);
	/* what was in the ring is still posted */
	for (i = 3; i < 6; i++)
		srq_complete(&s, srq_take(&s));
	CHECK(share_poll(&other.cq, 64, wc) == 3);
	CHECK(!srq_credits(&s));
	return teardown();
}

/* A QP that is being destroyed may still receive. */
static int deleted(void)
{
	uint64_t taken;

	CHECK(setup());
	CHECK(!srq_post(&s.srq, 0, 2));
	CHECK(taken = srq_take(&s));
	CHECK(!share_qp_begin_delete(&s.qp[1]));
	CHECK(bed_reset(&s.bed, &s.qp[0]));
	CHECK(srq_credits(&s) == 2);
	srq_complete(&s, taken);
	CHECK(srq_take(&s));
	CHECK(!share_qp_path_delete(&s.qp[1]));
	CHECK(share_poll(&s.exporter.cq, 64, wc) == 1 && wc[0].wr_id == 0);
	CHECK(!srq_credits(&s));
	return teardown();
}

/* Its index is used again: what was posted before is nobody's. */
static int made_again(void)
{
	struct share_srq_attr attr = s.srq.view.attr;
	uint64_t taken;
	uint32_t index;

	CHECK(setup());
	attr = s.srq.view.attr;
	CHECK(!srq_post(&others, 0, 3));
	CHECK(taken = srq_take(&s));
	CHECK(!share_srq_begin_delete(&s.srq));
	CHECK(srq_post(&others, 3, 1) == ENOLINK);
	CHECK(!share_srq_path_delete(&s.srq));
	CHECK(!srq_credits(&s));
	CHECK(!share_control_add_srq(&s.exporter.control, &attr, &index));
	CHECK(!index);
	CHECK(srq_post(&others, 3, 1) == ENOLINK);
	srq_complete(&s, taken);
	CHECK(!share_poll(&other.cq, 64, wc));
	CHECK(!srq_credits(&s));
	return teardown();
}

static int refused(void)
{
	struct share_srq_attr attr = { .entries = 12, .max_sge = 1 };
	struct share_srq_path path;
	struct ibv_sge sges[BED_SGE + 1] = {};
	struct ibv_recv_wr *bad, wr = { .sg_list = sges,
					.num_sge = BED_SGE + 1 };
	uint32_t index;

	CHECK(setup());
	CHECK(share_post_srq_recv(&s.srq, &wr, &bad) == EINVAL && bad == &wr);
	wr.num_sge = -1;
	CHECK(share_post_srq_recv(&s.srq, &wr, &bad) == EINVAL);
	CHECK(!srq_credits(&s));
	CHECK(share_post_recv(&s.qp[0], &wr, &bad) == EINVAL);
	CHECK(!share_srq_path_init(&path, &other.control, 0, &other.cq,
				   &share_provider_rxe, NULL, 0));
	CHECK(srq_post(&path, 0, 1) == EACCES);
	CHECK(share_control_add_srq(&s.exporter.control, &attr, &index) ==
	      EINVAL);
	attr.entries = 16;
	attr.cq = SHARE_MAX_CQS;
	CHECK(share_control_add_srq(&s.exporter.control, &attr, &index) ==
	      EINVAL);
	CHECK(share_control_del_cq(&s.exporter.control, 0) == EBUSY);
	return teardown();
}

/* A completion of a place that the SRQ does not have: nothing is looked at there. */
static int no_such_place(void)
{
	static const uint32_t entries[] = { SRQ_PLACES, SRQ_PLACES + 1, 0xfffff };
	uint32_t *impossible;
	unsigned int i;

	for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		CHECK(setup());
		CHECK(!srq_post(&s.srq, 1, 1));
		CHECK(srq_take(&s));
		srq_complete(&s, share_srq_cookie(0, entries[i], 0));
		CHECK(share_poll(&s.exporter.cq, 64, wc) == -EBADMSG);
		impossible = &s.exporter.cq.view.body->counters.impossible;
		CHECK(share_load(impossible) == 1);
		/* for the end, where there must be none */
		share_store(impossible, 0);
		CHECK(teardown());
	}
	return 1;
}

int main(void)
{
	static const struct test tests[] = {
		TEST(any_order),
		TEST(places),
		TEST(given_up),
		TEST(deleted),
		TEST(made_again),
		TEST(refused),
		TEST(no_such_place),
	};

	return RUN_TESTS(tests);
}
