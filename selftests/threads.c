// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Threads of one process use one QP and one CQ, as libibverbs allows: each
 * request is posted once, each completion is polled once, and who is told that
 * there is nothing may rely on it.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_gate.h"

#define POSTERS 2
#define POLLERS 3
#define ROUNDS 40
#define BATCH 8 /* of each poster, in each round */
#define TOTAL (POSTERS * BATCH * ROUNDS)

FIXTURE(threads)
{
	struct gate_bed bed;
};

FIXTURE_SETUP(threads)
{
	ASSERT_EQ(gate_bed_open(&self->bed), 0);
	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_INIT), 0);
	ASSERT_EQ(gate_connect(&self->bed), 0);
}

FIXTURE_TEARDOWN(threads)
{
	EXPECT_EQ(gate_bed_close(&self->bed), 0);
}

/* what the threads share; @wrong is said by whoever sees it */
static struct {
	struct side *us;
	pthread_barrier_t start;
	unsigned int posted, polled, wrong;
	unsigned char seen[TOTAL];
} all;

static void wrong(const char *what, long value)
{
	printf("# %s %ld\n", what, value);
	__atomic_fetch_add(&all.wrong, 1, __ATOMIC_RELAXED);
}

/* wr_id is the request's number, the buffer is its poster's */
static void *post(void *arg)
{
	const unsigned long poster = (unsigned long)arg;
	struct ibv_sge sge = { (uintptr_t)all.us->mr->addr + poster * SIZE, SIZE,
			       all.us->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int i, ret;

	pthread_barrier_wait(&all.start);
	for (i = 0; i < BATCH; i++) {
		wr.wr_id = __atomic_fetch_add(&all.posted, 1, __ATOMIC_RELAXED);
		ret = ibv_post_recv(all.us->qp, &wr, &bad);
		if (ret)
			wrong("post", ret);
	}
	return NULL;
}

static void count(const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS || wc->wr_id >= TOTAL)
		wrong("completion", wc->status);
	else if (__atomic_exchange_n(&all.seen[wc->wr_id], 1, __ATOMIC_RELAXED))
		wrong("twice", wc->wr_id);
	__atomic_fetch_add(&all.polled, 1, __ATOMIC_RELAXED);
}

static void *poll_until(void *arg)
{
	const unsigned int end = (unsigned long)arg;
	struct ibv_wc wc[3];
	int i, n, tries;

	pthread_barrier_wait(&all.start);
	for (tries = 0; tries < LONG; tries++) {
		n = ibv_poll_cq(all.us->cq, 3, wc);
		for (i = 0; i < n; i++)
			count(&wc[i]);
		if (__atomic_load_n(&all.polled, __ATOMIC_RELAXED) >= end)
			return NULL;
		if (n <= 0)
			usleep(1000);
	}
	wrong("never polled", end);
	return NULL;
}

static int all_of(void *(*run)(void *), int n, unsigned long same, pthread_t *threads)
{
	unsigned long i;

	for (i = 0; i < (unsigned long)n; i++)
		CHECK(!pthread_create(&threads[i], NULL, run, (void *)(same ? same : i)));
	return 0;
}

static int one_round(struct gate_bed *bed, unsigned int round)
{
	const unsigned long end = (round + 1) * POSTERS * BATCH;
	pthread_t threads[POSTERS + POLLERS];
	int i;

	CHECK(!pthread_barrier_init(&all.start, NULL, POSTERS + POLLERS));
	CHECK(!all_of(post, POSTERS, 0, threads));
	CHECK(!all_of(poll_until, POLLERS, end, threads + POSTERS));
	for (i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	CHECK(!gate_peer_sends(bed, POSTERS * BATCH));
	CHECK(!gate_peer_completes(bed, POSTERS * BATCH));
	for (; i < POSTERS + POLLERS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all.start);
	return 0;
}

TEST_F_TIMEOUT(threads, one_qp, NO_LIMIT)
{
	unsigned int round;

	memset(&all, 0, sizeof(all));
	all.us = &self->bed.us;
	for (round = 0; round < ROUNDS; round++)
		ASSERT_EQ(one_round(&self->bed, round), 0);
	EXPECT_EQ(all.wrong, 0U);
	EXPECT_EQ(all.polled, (unsigned int)TOTAL);
	EXPECT_EQ(memchr(all.seen, 0, TOTAL), NULL);
}

/*
 * All completions have come, in mail for this process as well as in the ring.
 * Three threads poll at the same time until they are told that there is nothing.
 */
static void *poll_to_the_end(void *arg)
{
	struct ibv_wc wc;
	int n;

	pthread_barrier_wait(&all.start);
	while ((n = ibv_poll_cq(all.us->cq, 1, &wc)) > 0)
		count(&wc);
	if (__atomic_load_n(&all.polled, __ATOMIC_RELAXED) < BATCH * POSTERS - POLLERS + 1)
		wrong("told that there is nothing after", all.polled);
	return NULL;
}

static int steer(struct side *side, int sock, unsigned int i)
{
	struct ibv_wc wc;

	CHECK(!gate_say(sock));
	CHECK(!gate_hear(sock));
	/* puts all into the mailbox of its parent */
	CHECK(ibv_poll_cq(side->cq, 1, &wc) == 0);
	return 0;
}

TEST_F_TIMEOUT(threads, nothing_means_nothing, NO_LIMIT)
{
	struct gate_bed *bed = &self->bed;
	pthread_t threads[POLLERS];
	unsigned int round;
	int i;

	ASSERT_EQ(gate_start(bed, 0, steer), 0);
	ASSERT_EQ(gate_hear(bed->workers[0].sock), 0);
	all.us = &bed->us;
	for (round = 0; round < 20; round++) {
		memset(all.seen, 0, sizeof(all.seen));
		all.polled = 0;
		ASSERT_EQ(gate_post(all.us, 0, BATCH * POSTERS), 0);
		ASSERT_EQ(gate_peer_sends(bed, BATCH * POSTERS), 0);
		ASSERT_EQ(gate_peer_completes(bed, BATCH * POSTERS), 0);
		if (!round) {
			ASSERT_EQ(gate_say(bed->workers[0].sock), 0);
			ASSERT_EQ(gate_ends_well(&bed->workers[0]), 0);
		}
		ASSERT_EQ(pthread_barrier_init(&all.start, NULL, POLLERS), 0);
		ASSERT_EQ(all_of(poll_to_the_end, POLLERS, 1, threads), 0);
		for (i = 0; i < POLLERS; i++)
			pthread_join(threads[i], NULL);
		pthread_barrier_destroy(&all.start);
		EXPECT_EQ(all.polled, (unsigned int)(BATCH * POSTERS));
	}
	EXPECT_EQ(all.wrong, 0U);
}

TEST_HARNESS_MAIN
