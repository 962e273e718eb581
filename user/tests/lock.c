// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The lock word: threads, processes, dead and stopped holders.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../control.h"
#include "fake_rxe.h"
#include "tap.h"

#define ROUNDS 20000
#define WORKERS 4

/* struct shared - @a, @b: guarded by @word, always equal without it */
struct shared {
	uint32_t word;
	uint32_t a;
	uint32_t b;
	uint32_t torn;
	uint32_t ready;
	uint32_t asked;
	uint32_t generations[64];
};

static struct shared *shared;

static int alive(void *arg, uint32_t slot, uint32_t generation)
{
	struct shared *s = arg;

	__atomic_fetch_add(&s->asked, 1, __ATOMIC_RELAXED);
	return share_load(&s->generations[slot]) == generation;
}

static struct share_member member(uint32_t slot, uint32_t generation)
{
	struct share_member me = {
		.env = { .slot_alive = alive, .arg = shared },
		.slot = slot,
		.generation = generation,
		.timeout_ms = SHARE_LOCK_TIMEOUT_MS,
		.recheck_ms = SHARE_LOCK_RECHECK_MS,
	};

	share_store(&shared->generations[slot], generation);
	return me;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void setup(void)
{
	shared = fake_memory(sizeof(*shared));
}

/* The plain increments are what the thread sanitizer looks at, too. */
static void *work(void *arg)
{
	struct share_member *me = arg;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (share_lock(&shared->word, me))
			abort();
		if (shared->a != shared->b)
			shared->torn++;
		shared->a++;
		if (i % 512 == 0)
			sched_yield();
		shared->b++;
		share_unlock(&shared->word, me);
	}
	return NULL;
}

static int threads(void)
{
	pthread_t t[WORKERS];
	struct share_member me;
	int i;

	setup();
	me = member(3, 7);
	for (i = 0; i < WORKERS; i++)
		CHECK(!pthread_create(&t[i], NULL, work, &me));
	for (i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	CHECK(shared->a == WORKERS * ROUNDS && !shared->torn);
	CHECK(shared->word == 0);
	return 1;
}

static int processes(void)
{
	struct share_member me;
	pid_t pids[WORKERS];
	int i, status;

	setup();
	for (i = 0; i < WORKERS; i++) {
		me = member((uint32_t)i, 1);
		pids[i] = fork();
		if (!pids[i]) {
			work(&me);
			_exit(0);
		}
	}
	for (i = 0; i < WORKERS; i++) {
		waitpid(pids[i], &status, 0);
		CHECK(!status);
	}
	CHECK(shared->a == WORKERS * ROUNDS && !shared->torn);
	return 1;
}

/* A child that takes the lock and keeps it. */
static pid_t holder(uint32_t slot, uint32_t generation)
{
	struct share_member me = member(slot, generation);
	pid_t pid = fork();

	if (!pid) {
		if (share_lock(&shared->word, &me))
			_exit(1);
		share_store_release(&shared->ready, 1);
		for (;;)
			pause();
	}
	while (!share_load_acquire(&shared->ready))
		usleep(100);
	return pid;
}

static void end_holder(pid_t pid, uint32_t slot)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	share_store(&shared->generations[slot], 0);
}

static int killed_holder(void)
{
	struct share_member me;
	double start;
	pid_t pid;

	setup();
	me = member(0, 1);
	pid = holder(5, 9);
	end_holder(pid, 5);
	start = seconds();
	CHECK(share_lock(&shared->word, &me) == EOWNERDEAD);
	CHECK(seconds() - start < 5);
	share_unlock(&shared->word, &me);
	CHECK(!share_lock(&shared->word, &me));
	share_unlock(&shared->word, &me);
	CHECK(shared->word == 0);
	return 1;
}

static int killed_while_waiting(void)
{
	struct share_member me, other;
	pid_t waiter;
	pid_t pid;
	int status;

	setup();
	me = member(0, 1);
	other = member(1, 1);
	pid = holder(5, 9);
	waiter = fork();
	if (!waiter) {
		if (share_lock(&shared->word, &other) != EOWNERDEAD)
			_exit(1);
		share_unlock(&shared->word, &other);
		_exit(0);
	}
	while (!(share_load(&shared->word) & SHARE_LOCK_WAITERS))
		sched_yield();
	end_holder(pid, 5);
	waitpid(waiter, &status, 0);
	CHECK(!status);
	CHECK(!share_lock(&shared->word, &me));
	share_unlock(&shared->word, &me);
	return 1;
}

/* The slot has a new process: the holder of before is dead. */
static int slot_given_away(void)
{
	struct share_member me;
	pid_t pid;

	setup();
	me = member(0, 1);
	pid = holder(5, 9);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	share_store(&shared->generations[5], 10);
	CHECK(share_lock(&shared->word, &me) == EOWNERDEAD);
	share_unlock(&shared->word, &me);
	return 1;
}

static int stopped_holder(void)
{
	struct share_member me;
	double start;
	pid_t pid;

	setup();
	me = member(0, 1);
	me.timeout_ms = 300;
	pid = holder(5, 9);
	kill(pid, SIGSTOP);
	start = seconds();
	CHECK(share_lock(&shared->word, &me) == ETIMEDOUT);
	CHECK(seconds() - start >= 0.25 && seconds() - start < 5);
	CHECK(shared->asked > 3);
	kill(pid, SIGCONT);
	end_holder(pid, 5);
	return 1;
}

static int try(void)
{
	struct share_lock_watch watch = { 0, 0 };
	struct share_member me, other;
	pid_t pid;
	int i;

	setup();
	me = member(0, 1);
	other = member(1, 1);
	CHECK(!share_trylock(&shared->word, &me, &watch));
	CHECK(share_trylock(&shared->word, &other, &watch) == EBUSY);
	CHECK(share_trylock(&shared->word, &me, &watch) == EBUSY);
	share_unlock(&shared->word, &other);
	CHECK(shared->word);
	share_unlock(&shared->word, &me);
	CHECK(!shared->word);

	pid = holder(5, 9);
	for (i = 0; i < 30; i++) {
		CHECK(share_trylock(&shared->word, &me, &watch) == EBUSY);
		usleep(2000);
	}
	end_holder(pid, 5);
	for (i = 0; i < 1000; i++) {
		if (share_trylock(&shared->word, &me, &watch) == EOWNERDEAD)
			break;
		usleep(1000);
	}
	CHECK(i < 1000);
	share_unlock(&shared->word, &me);
	return 1;
}

/* The word of generation g + 2^23 is that of g: who asks compares 23 bits. */
static int wide_generation(void)
{
	struct share_member me;

	setup();
	me = member(63, 0xffffffff);
	share_store(&shared->generations[63], 0x7fffff);
	CHECK(!share_lock(&shared->word, &me));
	CHECK(shared->word == (64u << 24 | 0x7fffff << 1));
	me.timeout_ms = 50;
	CHECK(share_lock(&shared->word, &me) == ETIMEDOUT);
	share_unlock(&shared->word, &me);
	CHECK(!shared->word);
	return 1;
}

static void *wait_for_it(void *arg)
{
	static double waited;
	double start = seconds();

	if (share_lock(&shared->word, arg))
		return NULL;
	waited = seconds() - start;
	share_unlock(&shared->word, arg);
	return &waited;
}

/* 20 sleepers in a row: without wake-ups each would sleep 20 ms more. */
static int sleepers_are_woken(void)
{
	struct share_member me;
	double start, total = 0;
	pthread_t thread;
	void *waited;
	int i;

	setup();
	me = member(0, 1);
	for (i = 0; i < 20; i++) {
		CHECK(!share_lock(&shared->word, &me));
		pthread_create(&thread, NULL, wait_for_it, &me);
		while (!(share_load(&shared->word) & SHARE_LOCK_WAITERS))
			sched_yield();
		usleep(1000);
		start = seconds();
		share_unlock(&shared->word, &me);
		pthread_join(thread, &waited);
		CHECK(waited);
		total += seconds() - start;
	}
	CHECK(total < 0.2);
	return 1;
}

static int garbage_word(void)
{
	struct share_member me;

	setup();
	me = member(0, 1);
	shared->word = 0xfffffffe;
	CHECK(share_lock(&shared->word, &me) == EOWNERDEAD);
	share_unlock(&shared->word, &me);
	/* only the bit of the sleepers: no holder at all */
	shared->word = 1;
	CHECK(share_lock(&shared->word, &me) == EOWNERDEAD);
	share_unlock(&shared->word, &me);
	CHECK(!shared->word);
	return 1;
}

int main(void)
{
	static const struct test tests[] = {
		TEST(threads),
		TEST(processes),
		TEST(killed_holder),
		TEST(killed_while_waiting),
		TEST(slot_given_away),
		TEST(stopped_holder),
		TEST(try),
		TEST(wide_generation),
		TEST(sleepers_are_woken),
		TEST(garbage_word),
	};

	return RUN_TESTS(tests);
}
