// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Every word of the control segment, as far as it was ever given out, and of
 * the rings gets wrong values, one after another, and the library is used with
 * it. Segment and rings stand between pages that cannot be touched.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include "../directory.h"
#include "../event.h"
#include "../futex.h"
#include "../provider.h"
#include "../recover.h"
#include "srq_bed.h"
#include "tap.h"

#define MAX_REGIONS 32
#define VALUES 6
/* words that belong to nothing that is there are tried so many at a time */
#define BATCH 64
/* a lock is waited for 10 ms */
#define LONGEST_MS 2000

/* struct range - words that are tried one by one */
struct range {
	uint32_t *at;
	size_t words;
};

static struct srq_bed s, before;
static struct fake_device *device_before;
static struct range ranges[MAX_REGIONS], all[5];
static uint32_t *good[5];
static unsigned int num_ranges, num_all;
static uint32_t rounds, reported, longest_ms;

static void add(void *at, size_t bytes)
{
	ranges[num_ranges++] = (struct range){ at, bytes / 4 };
}

static void add_all(void *at, size_t bytes)
{
	good[num_all] = malloc(bytes);
	if (!good[num_all])
		abort();
	all[num_all++] = (struct range){ at, bytes / 4 };
}

static void add_segment(void)
{
	const struct share_control *control = &s.exporter.control;
	const struct share_cq_view *cq = &s.exporter.cq.view;
	const struct share_qp_view *qp = &s.exporter.qp.view;
	const struct share_srq_view *srq = &s.srq.view;

	add(control->base, sizeof(struct share_control_header));
	add(share_control_slot(control, 0), 2 * sizeof(struct share_slot));
	add(share_control_cqs(control), sizeof(struct share_entry));
	add(share_control_qps(control), 3 * sizeof(struct share_entry));
	add(share_control_srqs(control), sizeof(struct share_entry));
	add(cq->body, offsetof(struct share_cq_body, mailboxes[2]));
	add(cq->mail, 4 * sizeof(struct share_completion));
	add(qp->body, sizeof(*qp->body) + 8 * sizeof(struct share_shadow));
	add(s.qp[0].view.body, sizeof(struct share_qp_body));
	add(srq->body, sizeof(*srq->body) + 8 * sizeof(struct share_shadow));
}

static int open_again(void)
{
	const struct fake_cq *cq = &s.bed.dev->cqs[0];
	const struct fake_qp *qp = &s.bed.dev->qps[0];
	struct share_srq_path srq;
	struct node node;
	int ret;

	node.control = s.exporter.control;
	ret = share_cq_path_init(&node.cq, &node.control, 0,
				 &share_provider_rxe, cq->ring, cq->bytes);
	if (!ret)
		ret = share_qp_path_init(&node.qp, &node.control, 0, &node.cq,
					 &node.cq, &share_provider_rxe,
					 qp->sq.ring, qp->sq.bytes, qp->rq.ring,
					 qp->rq.bytes);
	if (!ret)
		ret = share_srq_path_init(&srq, &node.control, 0, &node.cq,
					  &share_provider_rxe, s.ring,
					  s.ring_bytes);
	return ret;
}

/* Something is everywhere: posted, completed, in the mailbox. */
static int prepare(void)
{
	static uint64_t buffers[8];
	struct fake_device *dev;
	struct ibv_wc wc[4];
	uint64_t heap_next;
	uint32_t i;

	CHECK(srq_bed_make(&s));
	CHECK(srq_bed_guard(&s));
	s.exporter.control.me.timeout_ms = 10;
	dev = s.bed.dev;
	for (i = 0; i < 6; i++) {
		CHECK(!bed_recv(&s.exporter, i, &buffers[i]));
		if (i < 4)
			CHECK(!bed_send(&s.exporter, 10 + i, i, IBV_SEND_SIGNALED));
		if (i == 1) {
			fake_step(dev);
			CHECK(share_poll(&s.exporter.cq, 1, wc) == 1);
		}
	}
	CHECK(!srq_post(&s.srq, 20, 4));
	srq_complete(&s, srq_take(&s));
	fake_step(dev);
	CHECK(!bed_send(&s.exporter, 16, 0, 0));
	add_segment();
	add(dev->cqs[0].ring, 384 + 8 * 64);
	add(dev->qps[0].sq.ring, 384 + 512);
	add(dev->qps[0].rq.ring, 384 + 512);
	add(s.ring, 384 + 512);
	share_copy_in(&heap_next, &share_control_header(&s.exporter.control)->heap_next, 8);
	CHECK(heap_next < s.exporter.control.bytes);
	add_all(s.exporter.control.base, heap_next);
	add_all(dev->cqs[0].ring, dev->cqs[0].bytes);
	add_all(dev->qps[0].sq.ring, dev->qps[0].sq.bytes);
	add_all(dev->qps[0].rq.ring, dev->qps[0].rq.bytes);
	add_all(s.ring, s.ring_bytes);
	for (i = 0; i < num_all; i++)
		share_copy_in(good[i], all[i].at, all[i].words * 4);
	device_before = malloc(sizeof(*dev));
	if (!device_before)
		abort();
	memcpy(device_before, dev, sizeof(*dev));
	before = s;
	return 1;
}

static void restore(void)
{
	unsigned int i;

	for (i = 0; i < num_all; i++)
		share_copy_out(all[i].at, good[i], all[i].words * 4);
	s = before;
	memcpy(s.bed.dev, device_before, sizeof(*s.bed.dev));
}

static uint32_t bad_value(uint32_t which, uint32_t was)
{
	switch (which) {
	case 0:
		return 0;
	case 1:
		return ~0u;
	case 2:
		return was ^ 1u << random() % 32;
	case 3:
		return (uint32_t)random() << 1;
	case 4:
		return was + 1;
	default:
		return was - 1;
	}
}

/* What the headers say may come. */
static int is_documented(int ret)
{
	reported += ret == EBADMSG;
	return !ret || ret == EINVAL || ret == ENOMEM || ret == ENOENT ||
	       ret == ENOLINK || ret == EBADMSG || ret == ETIMEDOUT ||
	       ret == EBUSY || ret == EAGAIN || ret == ENOSPC;
}

static int poll_ret(void)
{
	struct ibv_wc wc[8];
	int n = share_poll(&s.exporter.cq, 8, wc);

	return n < 0 ? -n : n <= 8 ? 0
				   : ERANGE;
}

static int use(void)
{
	static uint64_t buffer;
	struct share_control *control = &s.exporter.control;

	CHECK(is_documented(bed_recv(&s.exporter, 1, &buffer)));
	CHECK(is_documented(bed_send(&s.exporter, 2, 3, IBV_SEND_SIGNALED)));
	CHECK(is_documented(srq_post(&s.srq, 4, 1)));
	CHECK(is_documented(poll_ret()));
	CHECK(is_documented(share_recover(control)));
	CHECK(is_documented(share_event_arm(&s.exporter.cq, rounds & 1)));
	share_event_recheck(&s.exporter.cq);
	CHECK(is_documented(poll_ret()));
	CHECK(is_documented(open_again()));
	CHECK(is_documented(share_qp_begin_reset(&s.qp[0])));
	CHECK(is_documented(share_qp_set_state(&s.qp[0], IBV_QPS_RESET)));
	CHECK(is_documented(share_control_del_cq(control, 0)));
	CHECK(is_documented(share_control_slot_reset(control)));
	return 1;
}

static int try_words(uint32_t *at, size_t words, uint32_t which)
{
	const uint32_t start = share_now_ms();
	uint32_t took;
	size_t i;

	for (i = 0; i < words; i++)
		share_store(&at[i], bad_value(which, share_load(&at[i])));
	rounds++;
	if (!use()) {
		printf("# %zu words at %p, value %u\n", words, (void *)at, which);
		return 0;
	}
	took = share_now_ms() - start;
	if (took > longest_ms)
		longest_ms = took;
	CHECK(took < LONGEST_MS);
	restore();
	return 1;
}

static int each_word(void)
{
	uint32_t r, which;
	size_t i, n;

	CHECK(prepare());
	for (r = 0; r < num_ranges; r++)
		for (i = 0; i < ranges[r].words; i++)
			for (which = 0; which < VALUES; which++)
				CHECK(try_words(&ranges[r].at[i], 1, which));
	printf("# %u rounds with one word, %u reports\n", rounds, reported);
	for (r = 0; r < num_all; r++)
		for (i = 0; i < all[r].words; i += BATCH)
			for (which = 0; which < VALUES; which++) {
				n = all[r].words - i;
				CHECK(try_words(&all[r].at[i], n < BATCH ? n : BATCH, which));
			}
	printf("# %u rounds, %u reports, longest %u ms\n", rounds, reported, longest_ms);
	CHECK(reported > 300);
	return 1;
}

static int post_send(void)
{
	return bed_send(&s.exporter, 2, 3, IBV_SEND_SIGNALED);
}

static int post_srq(void)
{
	return srq_post(&s.srq, 4, 1);
}

/* Now and from now on, also when the word is right again; not by others. */
static int is_reported(uint32_t *word, uint32_t value, int (*call)(void), int sticky)
{
	const uint32_t was = share_load(word);
	int i;

	share_store(word, value);
	/* what was in the mailbox before comes first */
	for (i = 0; i < 4 && !call(); i++)
		;
	CHECK(call() == EBADMSG);
	share_store(word, was);
	CHECK(call() == (sticky ? EBADMSG : 0));
	restore();
	CHECK(!call());
	restore();
	return 1;
}

static int reports(void)
{
	struct share_cq_body *cq = s.exporter.cq.view.body;
	struct share_qp_body *qp = s.exporter.qp.view.body;
	struct rxe_queue_buf *sq = s.bed.dev->qps[0].sq.ring, *srq = s.ring;
	struct rxe_queue_buf *cq_ring = s.bed.dev->cqs[0].ring;
	struct share_entry *entry = share_control_cqs(&s.exporter.control);
	uint32_t *cookie;

	cookie = (void *)(cq_ring->data + (share_load(&cq_ring->consumer_index) << 6));
	CHECK(is_reported(&cookie[1], 0, poll_ret, 1));
	CHECK(is_reported(&cq->mailboxes[0].producer, 100000, poll_ret, 1));
	CHECK(is_reported(&qp->send.tail, share_load(&qp->send.head) + 1, post_send, 1));
	CHECK(is_reported(&qp->send.head, 77, post_send, 1));
	CHECK(is_reported(&sq->producer_index, (share_load(&sq->producer_index) + 3) & 15,
			  post_send, 1));
	CHECK(is_reported(&srq->producer_index, (share_load(&srq->producer_index) + 5) & 15,
			  post_srq, 1));
	CHECK(is_reported(&entry->capacity, 0, open_again, 0));
	CHECK(is_reported(&entry->mailbox_entries, 3, open_again, 0));
	return srq_bed_free(&s);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(each_word),
		TEST(reports),
	};

	return RUN_TESTS(tests);
}
