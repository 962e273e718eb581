// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A process is killed after each single store of a post to an SRQ, and of the
 * polling of what was posted. What it had posted goes to the heir; nothing comes
 * twice, and in the end no credit is missing.
 */
#include <stdlib.h>
#include <string.h>
#include "../futex.h"
#include "../recover.h"
#include "srq_bed.h"
#include "step.h"
#include "tap.h"

#define FOREVER 100000000
#define PATIENCE_MS 2000

static struct srq_bed s;
static struct node victim;
static struct share_srq_path victims;
static uint32_t got[256];
/* what the victim's poll has returned */
static uint32_t *polled;

static int begin(void)
{
	memset(got, 0, sizeof(got));
	CHECK(srq_bed_make(&s));
	CHECK(bed_join(&s.bed, &victim, 1, 1));
	CHECK(srq_bed_open(&s, &victim, &victims));
	s.exporter.control.me.recheck_ms = 1;
	victim.control.me.recheck_ms = 1000000;
	victim.control.looked_ms = share_now_ms();
	*polled = 0;
	return 1;
}

static long kill_at(void (*act)(void), long n)
{
	const struct region regions[] = {
		{ victim.control.base, victim.control.bytes },
		{ s.bed.dev, sizeof(*s.bed.dev) },
		{ s.bed.dev->cqs[0].ring, s.bed.dev->cqs[0].bytes },
		{ s.ring, s.ring_bytes },
		{ NULL, 0 },
	};
	long ended = store_and_kill(act, regions, n);

	share_store(&s.bed.dev->generations[1], 0);
	return ended;
}

static int poll_all(void)
{
	struct ibv_wc wc[8];
	int i, n = share_poll(&s.exporter.cq, 8, wc);

	CHECK(n >= 0);
	for (i = 0; i < n; i++)
		CHECK(wc[i].wr_id < 256 && !got[wc[i].wr_id]++);
	return 1;
}

static uint32_t number_got(void)
{
	uint32_t all = 0, i;

	for (i = 0; i < 256; i++)
		all += got[i];
	return all;
}

/*
 * Whoever posted them: all complete, the newest first. Until these have come,
 * and @more: what is the heir's comes when it has looked who is alive.
 */
static int complete_all(uint32_t more)
{
	uint64_t taken[SRQ_PLACES];
	uint32_t start = share_now_ms(), want = number_got() + more, n = 0;

	while ((taken[n] = srq_take(&s)))
		n++;
	want += n;
	while (n)
		srq_complete(&s, taken[--n]);
	while (number_got() < want) {
		CHECK(poll_all());
		CHECK(share_now_ms() - start < PATIENCE_MS);
	}
	return 1;
}

static int until_no_credit(void)
{
	const struct share_cq_body *body = s.exporter.cq.view.body;
	uint32_t start = share_now_ms();

	while (share_load(&body->recount) || share_load(&body->credits)) {
		CHECK(poll_all());
		CHECK(share_now_ms() - start < PATIENCE_MS);
	}
	return 1;
}

/* The whole table once round, and no credit is missing. */
static int goes_on(void)
{
	const struct share_cq_body *body = s.exporter.cq.view.body;
	uint32_t i;

	for (i = 0; i < 3 * SRQ_ENTRIES; i++) {
		CHECK(!srq_post(&s.srq, 200 + i, 1));
		CHECK(complete_all(0) && got[200 + i] == 1);
	}
	CHECK(until_no_credit());
	for (i = 0; i < SHARE_MAX_SLOTS; i++)
		CHECK(i == 1 || !share_load(&body->mailboxes[i].quota));
	CHECK(srq_post(&s.srq, 0, SRQ_ENTRIES - 1) == 0);
	return 1;
}

static void act_post(void)
{
	if (srq_post(&victims, 10, 3))
		abort();
}

/* All of the call or nothing. */
static int post_at(long n, long *ended)
{
	uint32_t all;

	CHECK(begin());
	CHECK(!srq_post(&s.srq, 0, 2));
	*ended = kill_at(act_post, n);
	CHECK(!srq_post(&s.srq, 2, 2));
	CHECK(complete_all(0));
	CHECK(until_no_credit());
	all = got[10] + got[11] + got[12];
	CHECK(all == 0 || all == 3);
	CHECK(number_got() == 4 + all);
	CHECK(*ended < 0 || all == 3);
	CHECK(goes_on());
	bed_leave(&victim);
	return srq_bed_free(&s);
}

static void act_poll(void)
{
	struct ibv_wc wc[8];
	int n = share_poll(&victim.cq, 8, wc);

	if (n < 0)
		abort();
	*polled = (uint32_t)n;
}

/* Completions of both are in the ring; the victim has its own, or the heir. */
static int poll_at(long n, long *ended)
{
	uint64_t places[6];
	uint32_t i, taken;

	CHECK(begin());
	for (i = 0; i < 6; i++)
		CHECK(!srq_post(i % 2 ? &victims : &s.srq, i, 1));
	for (i = 0; i < 6; i++)
		CHECK(places[i] = srq_take(&s));
	for (i = 6; i--;)
		srq_complete(&s, places[i]);
	*ended = kill_at(act_poll, n);
	/* before it said that it had them they are the heir's */
	taken = share_load(&s.exporter.cq.view.body->mailboxes[1].consumer);
	CHECK(taken == 0 || taken == 3);
	CHECK(*ended < 0 || (taken == 3 && *polled == 3));
	CHECK(complete_all(6 - taken));
	CHECK(until_no_credit());
	for (i = 0; i < 6; i += 2)
		CHECK(got[i] == 1);
	CHECK(got[1] + got[3] + got[5] == 3 - taken);
	CHECK(goes_on());
	bed_leave(&victim);
	return srq_bed_free(&s);
}

static int each_store(int (*scene_at)(long n, long *ended))
{
	long all, ended, n;

	if (!polled)
		polled = fake_memory(sizeof(*polled));
	CHECK(scene_at(FOREVER, &all));
	if (all == -2)
		return 1;
	CHECK(all > 0);
	for (n = 0; n <= all; n++) {
		if (!scene_at(n, &ended)) {
			printf("# killed after %ld of %ld stores\n", n, all);
			return 0;
		}
	}
	printf("# killed after each of %ld stores\n", all);
	return 1;
}

static int post_kills(void)
{
	return each_store(post_at);
}

static int poll_kills(void)
{
	return each_store(poll_at);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(post_kills),
		TEST(poll_kills),
	};

	return RUN_TESTS(tests);
}
