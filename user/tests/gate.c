// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The gate: its rounds, who waits for what, and what ends the waiting.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include "../gate.h"
#include "../provider.h"
#include "bed.h"
#include "tap.h"

#define SOON 50
#define LONG 10000

static struct bed bed;
static struct node server, worker;

/* A QP in INIT with its gate in POST, a server and a worker. */
static int setup(void)
{
	CHECK(bed_make(&bed, &server, 16, 64, 0));
	CHECK(bed_join(&bed, &worker, 1, 1));
	CHECK(bed_reset(&bed, &server.qp));
	share_gate_end(&server.qp, SHARE_GATE_SHUT);
	return 1;
}

static int teardown(void)
{
	bed_leave(&worker);
	bed_free(&bed, &server);
	return 1;
}

static int to(enum ibv_qp_state state)
{
	fake_modify(bed.dev, 0, state);
	CHECK(!share_qp_set_state(&server.qp, state));
	if (state == IBV_QPS_INIT)
		share_gate_begin(&server.qp);
	if (state == IBV_QPS_ERR)
		share_gate_end(&server.qp, SHARE_GATE_OVER);
	return 1;
}

static int reset(void)
{
	CHECK(bed_reset(&bed, &server.qp));
	share_gate_end(&server.qp, SHARE_GATE_SHUT);
	return 1;
}

static int connected(void)
{
	return to(IBV_QPS_RTR) && to(IBV_QPS_RTS) && !share_gate_open(&server.qp);
}

static int is(uint32_t round, uint32_t phase)
{
	struct share_gate_count count;

	share_gate_peek(&server.qp, &count);
	CHECK(count.round == round && count.phase == phase);
	return 1;
}

static int rounds(void)
{
	CHECK(setup());
	CHECK(is(0, SHARE_GATE_SHUT));
	CHECK(share_gate_open(&server.qp) == EINVAL);
	CHECK(to(IBV_QPS_INIT) && is(1, SHARE_GATE_POST));
	/* INIT to INIT: with what the CM says of the connection */
	CHECK(to(IBV_QPS_INIT) && is(1, SHARE_GATE_POST));
	CHECK(share_gate_open(&server.qp) == EINVAL);
	CHECK(connected() && is(1, SHARE_GATE_OPEN));
	CHECK(!share_gate_open(&server.qp));
	CHECK(to(IBV_QPS_ERR) && is(1, SHARE_GATE_OVER));
	CHECK(share_gate_open(&server.qp) == ECONNRESET);
	CHECK(reset() && is(1, SHARE_GATE_SHUT));
	CHECK(to(IBV_QPS_INIT) && is(2, SHARE_GATE_POST));
	CHECK(to(IBV_QPS_ERR) && is(2, SHARE_GATE_OVER));
	return teardown();
}

static int collect(void)
{
	struct share_gate_count count;
	uint64_t buffer;

	CHECK(setup() && to(IBV_QPS_INIT));
	CHECK(share_gate_collect(&server.qp, 0, 1, SOON) == ETIMEDOUT);
	/* what is only said is not there */
	CHECK(!share_gate_report(&worker.qp, 1));
	CHECK(share_gate_collect(&server.qp, 1, 1, SOON) == ETIMEDOUT);
	CHECK(!bed_recv(&worker, 1, &buffer));
	CHECK(!share_gate_collect(&server.qp, 1, 1, 0));
	/* the server's own count, too */
	CHECK(!bed_recv(&server, 2, &buffer));
	CHECK(!share_gate_collect(&server.qp, 1, 2, 0));
	CHECK(share_gate_collect(&server.qp, 2, 2, 0) == ETIMEDOUT);
	share_gate_count(&server.qp, &count);
	CHECK(count.workers == 1 && count.dead == 0 && count.reported == 1);
	CHECK(count.receives == 2);
	CHECK(!share_gate_collect(&server.qp, 0, 0, 0));
	CHECK(share_gate_collect(&server.qp, 0, 16, 0) == EINVAL);
	CHECK(share_gate_collect(&server.qp, 0, 15, 0) == ETIMEDOUT);
	CHECK(share_gate_collect(&server.qp, SHARE_MAX_SLOTS + 1, 0, 0) == EINVAL);
	CHECK(connected());
	CHECK(share_gate_collect(&server.qp, 0, 0, 0) == EINVAL);
	CHECK(to(IBV_QPS_ERR));
	CHECK(share_gate_collect(&server.qp, 0, 0, 0) == ECONNRESET);
	return teardown();
}

static int wait_for_post(void)
{
	CHECK(setup());
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_POST, SOON) == ETIMEDOUT);
	CHECK(share_gate_report(&worker.qp, 1) == ECONNRESET);
	CHECK(to(IBV_QPS_INIT));
	CHECK(!share_gate_wait(&worker.qp, SHARE_GATE_POST, 0));
	/* once in a round */
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_POST, SOON) == ETIMEDOUT);
	CHECK(to(IBV_QPS_ERR) && reset() && to(IBV_QPS_INIT));
	/* not taken for one of the round before */
	CHECK(share_gate_report(&worker.qp, 1) == ECONNRESET);
	CHECK(!share_gate_wait(&worker.qp, SHARE_GATE_POST, 0));
	CHECK(!share_gate_report(&worker.qp, 1));
	CHECK(to(IBV_QPS_ERR) && reset() && to(IBV_QPS_INIT) && connected());
	/* who is late takes part, too */
	CHECK(!share_gate_wait(&worker.qp, SHARE_GATE_POST, 0));
	CHECK(!share_gate_report(&worker.qp, 1));
	CHECK(!share_gate_wait(&worker.qp, SHARE_GATE_OPEN, 0));
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OVER, 0) == EINVAL);
	return teardown();
}

static int wait_for_open(void)
{
	CHECK(setup());
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, 0) == ETIMEDOUT);
	CHECK(to(IBV_QPS_INIT));
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, SOON) == ETIMEDOUT);
	CHECK(connected());
	CHECK(!share_gate_wait(&worker.qp, SHARE_GATE_OPEN, 0));
	CHECK(to(IBV_QPS_ERR));
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, LONG) == ECONNRESET);
	CHECK(reset());
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, LONG) == ECONNRESET);
	CHECK(to(IBV_QPS_INIT));
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, LONG) == ECONNRESET);
	CHECK(!share_gate_wait(&worker.qp, SHARE_GATE_POST, 0));
	/* a completion with an error was seen, the server knows nothing yet */
	share_store(&server.qp.view.body->state, IBV_QPS_ERR);
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, LONG) == ECONNRESET);
	CHECK(share_gate_open(&server.qp) == ECONNRESET);
	return teardown();
}

static int dead_server(void)
{
	CHECK(setup());
	/* the maker is who was to begin */
	share_store(&bed.dev->generations[0], 0);
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_POST, LONG) == ESRCH);
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, LONG) == ESRCH);
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, 0) == ESRCH);
	share_store(&bed.dev->generations[0], 1);
	CHECK(to(IBV_QPS_INIT));
	CHECK(!share_gate_wait(&worker.qp, SHARE_GATE_POST, 0));
	share_store(&bed.dev->generations[0], 2);
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, LONG) == ESRCH);
	/* another one takes over */
	CHECK(!share_gate_collect(&worker.qp, 0, 0, 0));
	CHECK(share_gate_wait(&worker.qp, SHARE_GATE_OPEN, SOON) == ETIMEDOUT);
	return teardown();
}

static int dead_worker(void)
{
	struct share_gate_count count;
	uint64_t buffer;

	CHECK(setup() && to(IBV_QPS_INIT));
	CHECK(!bed_recv(&worker, 1, &buffer));
	CHECK(!share_gate_report(&worker.qp, 1));
	share_store(&bed.dev->generations[1], 0);
	CHECK(!share_gate_collect(&server.qp, 1, 1, LONG));
	share_gate_count(&server.qp, &count);
	CHECK(count.workers == 1 && count.dead == 1 && count.receives == 1);
	/* another process has got the slot */
	share_store(&bed.dev->generations[1], 2);
	share_gate_count(&server.qp, &count);
	CHECK(count.dead == 1);
	CHECK(connected());
	return teardown();
}

/* The dead one counts on when a new process has got its slot. */
static int slot_given_away(void)
{
	struct share_gate_count count;
	struct node heir;
	uint64_t buffer;

	CHECK(setup() && to(IBV_QPS_INIT));
	CHECK(!bed_recv(&worker, 1, &buffer));
	CHECK(!share_gate_report(&worker.qp, 1));
	CHECK(bed_join(&bed, &heir, 1, 2));
	CHECK(!share_gate_collect(&server.qp, 1, 1, LONG));
	CHECK(!bed_recv(&heir, 2, &buffer));
	CHECK(!share_gate_report(&heir.qp, 1) && !share_gate_report(&heir.qp, 1));
	CHECK(!share_gate_collect(&server.qp, 2, 2, LONG));
	share_gate_count(&server.qp, &count);
	CHECK(count.workers == 2 && count.dead == 1 && count.reported == 3);
	bed_leave(&heir);
	CHECK(to(IBV_QPS_ERR) && reset() && to(IBV_QPS_INIT));
	share_gate_count(&server.qp, &count);
	CHECK(count.workers == 0 && count.dead == 0 && count.reported == 0);
	return teardown();
}

static int drain(void)
{
	uint64_t buffer;
	struct ibv_wc wc[4];

	CHECK(setup() && to(IBV_QPS_INIT));
	CHECK(!bed_recv(&worker, 1, &buffer) && !share_gate_report(&worker.qp, 1));
	CHECK(share_gate_drain(&server.qp, 0) == EINVAL);
	CHECK(connected());
	CHECK(share_gate_drain(&server.qp, 0) == EINVAL);
	CHECK(to(IBV_QPS_ERR));
	CHECK(share_gate_drain(&server.qp, SOON) == ETIMEDOUT);
	share_gate_leave(&worker.qp);
	/* posted late, flushed by the kick that goes with it */
	CHECK(!bed_recv(&server, 2, &buffer));
	CHECK(share_gate_drain(&server.qp, SOON) == ETIMEDOUT);
	fake_step(bed.dev);
	CHECK(!share_gate_drain(&server.qp, LONG));
	CHECK(share_poll(&server.cq, 4, wc) == 1 && wc[0].wr_id == 2);
	CHECK(share_poll(&worker.cq, 4, wc) == 1 && wc[0].wr_id == 1);
	CHECK(wc[0].status == IBV_WC_WR_FLUSH_ERR);
	return teardown();
}

static int drain_dead_worker(void)
{
	uint64_t buffer;

	CHECK(setup() && to(IBV_QPS_INIT));
	CHECK(!bed_recv(&worker, 1, &buffer) && !share_gate_report(&worker.qp, 1));
	CHECK(connected() && to(IBV_QPS_ERR));
	fake_step(bed.dev);
	CHECK(share_gate_drain(&server.qp, SOON) == ETIMEDOUT);
	share_store(&bed.dev->generations[1], 0);
	CHECK(!share_gate_drain(&server.qp, LONG));
	return teardown();
}

static void *run_worker(void *arg)
{
	struct node *node = arg;
	uint64_t buffer;
	long i;

	for (i = 0; i < 20; i++) {
		if (share_gate_wait(&node->qp, SHARE_GATE_POST, LONG) ||
		    bed_recv(node, (uint64_t)i, &buffer) ||
		    share_gate_report(&node->qp, 1) ||
		    share_gate_wait(&node->qp, SHARE_GATE_OPEN, LONG) == ESRCH)
			break;
		while (!share_gate_wait(&node->qp, SHARE_GATE_OPEN, 0))
			sched_yield();
		share_gate_leave(&node->qp);
	}
	return (void *)i;
}

/* Without a sleep that lasts until its end a round takes no time. */
static int threads(void)
{
	struct node nodes[3];
	pthread_t threads[3];
	void *done;
	int i;

	CHECK(setup());
	for (i = 0; i < 3; i++) {
		CHECK(bed_join_mapped(&bed, &nodes[i], &server, 2 + (uint32_t)i));
		CHECK(!pthread_create(&threads[i], NULL, run_worker, &nodes[i]));
	}
	for (i = 0; i < 20; i++) {
		CHECK(to(IBV_QPS_INIT));
		CHECK(!share_gate_collect(&server.qp, 3, 3, LONG));
		CHECK(connected() && to(IBV_QPS_ERR));
		fake_step(bed.dev);
		CHECK(!share_gate_drain(&server.qp, LONG));
		CHECK(reset());
	}
	for (i = 0; i < 3; i++) {
		CHECK(!pthread_join(threads[i], &done));
		CHECK((long)done == 20);
	}
	return teardown();
}

static int garbage(void)
{
	struct share_gate *gate;
	uint32_t i, bit;

	CHECK(setup() && to(IBV_QPS_INIT));
	gate = share_gate_of(&server.qp);
	for (bit = 0; bit < 32; bit++) {
		for (i = 0; i < sizeof(*gate) / 4; i++)
			share_store((uint32_t *)gate + i, 1u << bit);
		share_store(&server.qp.view.body->recv.head, 1u << bit);
		share_gate_collect(&server.qp, 64, 15, 1);
		share_gate_wait(&worker.qp, SHARE_GATE_POST, 1);
		share_gate_wait(&worker.qp, SHARE_GATE_OPEN, 1);
		share_gate_report(&worker.qp, ~0u);
		share_gate_leave(&worker.qp);
		share_gate_begin(&server.qp);
	}
	share_store(&server.qp.view.body->recv.head, 0);
	return teardown();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(rounds),
		TEST(collect),
		TEST(wait_for_post),
		TEST(wait_for_open),
		TEST(dead_server),
		TEST(dead_worker),
		TEST(slot_given_away),
		TEST(drain),
		TEST(drain_dead_worker),
		TEST(threads),
		TEST(garbage),
	};

	return RUN_TESTS(tests);
}
