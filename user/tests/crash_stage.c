// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/ib_uverbs_share.h>
#include "../futex.h"
#include "../mailbox.h"
#include "crash_stage.h"
#include "step.h"
#include "tap.h"

#define ENTRIES 32
/* single steps in all of a scene, unless CRASH_STEPS says another number */
#define STEPS 4000
#define PATIENCE_MS 2000

struct bed bed;
struct node exporter, victim;
struct common *common;
uint32_t got[1024], arrived[1024];
static uint32_t slowest_ms;

static int on_completion(const struct ibv_wc *wc)
{
	CHECK(wc->wr_id < 1024 && wc->qp_num == 17);
	got[wc->wr_id]++;
	if (wc->status == IBV_WC_SUCCESS && wc->opcode == IBV_WC_RECV) {
		CHECK(common->buffers[wc->wr_id % MANY] < 1024);
		arrived[common->buffers[wc->wr_id % MANY]]++;
	}
	return 1;
}

int poll_once(void)
{
	struct ibv_wc wc[4];
	int i, n;

	fake_step(bed.dev);
	n = share_poll(&exporter.cq, 4, wc);
	CHECK(n >= 0);
	for (i = 0; i < n; i++)
		CHECK(on_completion(&wc[i]));
	return 1;
}

uint32_t sum(const uint32_t *counters, uint32_t from, uint32_t to)
{
	uint32_t i, all = 0;

	for (i = from; i < to; i++)
		all += counters[i];
	return all;
}

static int at_most_once(void)
{
	int i;

	for (i = 0; i < 1024; i++)
		CHECK(got[i] <= 1 && arrived[i] <= 1);
	return 1;
}

/* Until the exporter has @want completions in all, and some turns longer. */
int poll_for(uint32_t want)
{
	uint32_t start = share_now_ms(), took;
	int i;

	while (sum(got, 0, 1024) < want) {
		CHECK(poll_once());
		took = share_now_ms() - start;
		if (took > PATIENCE_MS)
			printf("# %u of %u\n", sum(got, 0, 1024), want);
		CHECK(took <= PATIENCE_MS);
		if (took > slowest_ms)
			slowest_ms = took;
	}
	for (i = 0; i < 4; i++)
		CHECK(poll_once());
	CHECK(sum(got, 0, 1024) == want);
	return at_most_once();
}

int send_number(struct node *node, uint32_t number)
{
	int ret = bed_send(node, number, number, IBV_SEND_SIGNALED);

	if (ret)
		printf("# send: %d\n", ret);
	return !ret;
}

int recv_number(struct node *node, uint32_t number)
{
	return !bed_recv(node, number, &common->buffers[number % MANY]);
}

/* What the module does when the process is gone. */
static void bury_victim(uint32_t generation)
{
	if (share_load(&bed.dev->generations[1]) == generation)
		share_store(&bed.dev->generations[1], 0);
	fake_kick(bed.dev, 0, IB_UVERBS_SHARE_KICK_SEND);
	/* now: nobody can rely on it afterwards */
	fake_step(bed.dev);
}

/* Nothing is outstanding: no credit may be missing. */
static int is_clean(void)
{
	struct share_cq_body *body = exporter.cq.view.body;
	uint32_t start = share_now_ms();
	int i;

	while (share_load(&body->recount) || share_load(&body->credits)) {
		CHECK(poll_once());
		CHECK(share_now_ms() - start <= PATIENCE_MS);
	}
	for (i = 0; i < SHARE_MAX_SLOTS; i++) {
		CHECK(!share_mailbox_count(&exporter.cq.view, i) ||
		      share_load(&body->mailboxes[i].quota));
		if (i != 1)
			CHECK(!share_load(&body->mailboxes[i].quota));
	}
	CHECK(!share_load(&body->counters.lost));
	CHECK(!share_load(&body->counters.impossible));
	CHECK(!bed.dev->cqs[0].overflows);
	return 1;
}

/* The whole ring once round: every entry, every credit. */
static int goes_on(void)
{
	const uint32_t before = sum(got, 0, 1024);
	uint32_t i;

	for (i = 0; i < ENTRIES + 8; i++) {
		CHECK(recv_number(&exporter, 700 + i));
		CHECK(send_number(&exporter, 800 + i));
		CHECK(poll_for(before + 2 * (i + 1)));
		CHECK(arrived[800 + i] == 1);
	}
	return is_clean();
}

static int begin(void)
{
	memset(got, 0, sizeof(got));
	memset(arrived, 0, sizeof(arrived));
	memset(common, 0, sizeof(*common));
	CHECK(bed_make(&bed, &exporter, ENTRIES, 256, 0));
	CHECK(bed_join(&bed, &victim, 1, 1));
	exporter.control.me.recheck_ms = 1;
	/* that it looks around has scenes of its own */
	victim.control.looked_ms = share_now_ms();
	victim.control.me.recheck_ms = 1000000;
	victim.control.looked_ms = share_now_ms();
	return 1;
}

/* What others see of the victim. */
static long kill_at_store(void (*act)(void), long n)
{
	const struct fake_qp *qp = &bed.dev->qps[0];
	const struct region regions[] = {
		{ victim.control.base, victim.control.bytes },
		{ bed.dev, sizeof(*bed.dev) },
		{ bed.dev->cqs[0].ring, bed.dev->cqs[0].bytes },
		{ qp->sq.ring, qp->sq.bytes },
		{ qp->rq.ring, qp->rq.bytes },
		{ common, sizeof(*common) },
		{ NULL, 0 },
	};

	return store_and_kill(act, regions, n);
}

typedef long (*kill_at)(void (*act)(void), long n);

static int run_at(const struct scene *scene, kill_at kill_victim, long n,
		  long *ended)
{
	CHECK(begin());
	CHECK(scene->prepare());
	*ended = kill_victim(scene->act, n);
	bury_victim(1);
	if (!scene->verify(*ended >= 0) || !goes_on()) {
		printf("# killed after %ld %s\n", n,
		       kill_victim == step_and_kill ? "instructions" : "stores");
		return 0;
	}
	bed_leave(&victim);
	bed_free(&bed, &exporter);
	return 1;
}

/* Before the first store, after each, and not at all. */
static int run_stores(const struct scene *scene)
{
	long all, ended, k;

	CHECK(run_at(scene, kill_at_store, 100000000, &all));
	if (all == -2)
		return 1;
	CHECK(all > 0);
	for (k = 0; k <= all; k++)
		CHECK(run_at(scene, kill_at_store, k, &ended));
	printf("# killed after each of %ld stores; all there after %u ms at most\n",
	       all, slowest_ms);
	return 1;
}

/* Some of the instructions in between, a random one of each part. */
static int run_steps(const struct scene *scene)
{
	const char *text = getenv("CRASH_STEPS");
	long steps = text ? atol(text) : STEPS;
	long all, ended, stride, k, samples;

	CHECK(run_at(scene, step_and_kill, 100000000, &all));
	CHECK(all > 0);
	samples = steps * 2 / all;
	if (samples < 3)
		samples = 3;
	stride = samples < all ? all / samples : 1;
	for (k = 0; k <= all; k += stride)
		CHECK(run_at(scene, step_and_kill, k + random() % stride,
			     &ended));
	printf("# killed at %ld of %ld instructions\n", all / stride, all);
	return 1;
}

int run(const struct scene *scene)
{
	slowest_ms = 0;
	if (!common)
		common = fake_memory(sizeof(*common));
	return run_stores(scene) && run_steps(scene);
}
