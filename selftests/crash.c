// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Workers are killed while they post and poll: nothing is lost, nothing comes
 * twice, no half of a request is seen, and the others go on.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_crash.h"

#define ROUNDS 60
#define STEPPED_ROUNDS 30

FIXTURE(crash)
{
	struct crash_stage stage;
	uint32_t workers[CRASH_WORKERS];
	uint32_t took[ROUNDS];
};

FIXTURE_VARIANT(crash)
{
	int workers_inherit;
	uint32_t flags;
	int with_srq;
};

/* the maker gets what the dead leave, as it is without ibv_share_set_heirs() */
FIXTURE_VARIANT_ADD(crash, maker){
	.workers_inherit = 0,
};

/* others of the victims get it, so that it is inherited over and over */
FIXTURE_VARIANT_ADD(crash, workers){
	.workers_inherit = 1,
};

/* whoever polls gets a completion, so that all take what each has posted */
FIXTURE_VARIANT_ADD(crash, any){
	.workers_inherit = 1,
	.flags = IBV_SHARE_CQ_ANY,
};

/* receives go to an SRQ */
FIXTURE_VARIANT_ADD(crash, srq){
	.workers_inherit = 1,
	.with_srq = 1,
};

static struct crash_life *life_of(FIXTURE_DATA(crash) *self, uint32_t worker)
{
	return &self->stage.side.table->lives[self->workers[worker]];
}

static int name_heirs(FIXTURE_DATA(crash) *self, int workers)
{
	uint32_t i, slots[CRASH_WORKERS + 1];

	if (!workers)
		return 0;
	for (i = 0; i < CRASH_WORKERS; i++)
		slots[i] = atomic_load(&life_of(self, i)->slot);
	slots[i] = ibv_share_get_slot(self->stage.ctx);
	CHECK(!ibv_share_set_heirs(self->stage.ctx, slots, CRASH_WORKERS + 1));
	return 0;
}

FIXTURE_SETUP(crash)
{
	uint32_t i;

	srandom((unsigned int)time(NULL));
	ASSERT_EQ(crash_open(&self->stage, variant->flags, variant->with_srq), 0);
	for (i = 0; i < CRASH_WORKERS; i++)
		ASSERT_EQ(crash_start(&self->stage, &self->workers[i]), 0);
	ASSERT_EQ(name_heirs(self, variant->workers_inherit), 0);
}

FIXTURE_TEARDOWN(crash)
{
	EXPECT_EQ(crash_close(&self->stage), 0);
}

static int turn_for(FIXTURE_DATA(crash) *self, uint32_t ms)
{
	uint32_t i, start = crash_now_ms();

	do {
		CHECK(!crash_turn(&self->stage));
		for (i = 0; i < CRASH_WORKERS; i++)
			CHECK(!atomic_load(&life_of(self, i)->error));
	} while (crash_now_ms() - start < ms);
	return 0;
}

static int end(FIXTURE_DATA(crash) *self, uint32_t worker)
{
	const struct crash_life *life = life_of(self, worker);
	int status;

	CHECK(!kill(life->pid, SIGKILL));
	CHECK(waitpid(life->pid, &status, 0) == life->pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return 0;
}

/* What it had sent has ended, and a message of our own as well. */
static int wait_for_repair(FIXTURE_DATA(crash) *self, uint32_t life, uint32_t *took)
{
	uint32_t start = crash_now_ms();
	struct crash_stage *stage = &self->stage;
	int ret;

	while ((ret = crash_post(&stage->side, CRASH_SEND, 1)) == ENOMEM)
		CHECK(!turn_for(self, 0) && crash_now_ms() - start < CRASH_WAIT_MS);
	CHECK(!ret);
	while (!crash_is_settled(stage, 0) || !crash_is_settled(stage, life)) {
		if (crash_now_ms() - start >= CRASH_WAIT_MS)
			printf("# ours %d, its %d\n", crash_is_settled(stage, 0),
			       crash_is_settled(stage, life));
		CHECK(crash_now_ms() - start < CRASH_WAIT_MS);
		CHECK(!turn_for(self, 0));
	}
	*took = crash_now_ms() - start;
	return 0;
}

static int replace(FIXTURE_DATA(crash) *self, uint32_t worker, int inherit, uint32_t *took)
{
	CHECK(!wait_for_repair(self, self->workers[worker], took));
	CHECK(!crash_start(&self->stage, &self->workers[worker]));
	return name_heirs(self, inherit);
}

static int by_size(const void *a, const void *b)
{
	return (int)*(const uint32_t *)a - (int)*(const uint32_t *)b;
}

static int finish(FIXTURE_DATA(crash) *self, uint32_t rounds)
{
	uint32_t i;

	for (i = 0; i < CRASH_WORKERS; i++)
		CHECK(!end(self, i));
	CHECK(!crash_account(&self->stage));
	qsort(self->took, rounds, sizeof(self->took[0]), by_size);
	printf("# %u killed; repaired after %u ms (median), %u ms (of 90 %%), %u ms (all)\n",
	       rounds, self->took[rounds / 2], self->took[rounds * 9 / 10],
	       self->took[rounds - 1]);
	return 0;
}

TEST_F_TIMEOUT(crash, killed, NO_LIMIT)
{
	uint32_t i, worker;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(turn_for(self, (uint32_t)random() % 20), 0);
		worker = (uint32_t)random() % CRASH_WORKERS;
		ASSERT_EQ(end(self, worker), 0);
		ASSERT_EQ(replace(self, worker, variant->workers_inherit, &self->took[i]), 0);
	}
	ASSERT_EQ(finish(self, ROUNDS), 0);
}

/* It stops before a call; then so many instructions, and no more. */
static int step(FIXTURE_DATA(crash) *self, uint32_t worker, enum crash_aim aim, long steps)
{
	struct crash_life *life = life_of(self, worker);
	uint32_t start = crash_now_ms();
	int status;
	pid_t pid;

	atomic_store(&life->aim, aim);
	while (!(pid = waitpid(life->pid, &status, WNOHANG | WUNTRACED))) {
		/* it has done all that it may */
		if (atomic_load(&life->posted[CRASH_SEND]) + CRASH_BATCH > CRASH_EACH ||
		    atomic_load(&life->posted[CRASH_RECV]) + CRASH_BATCH > CRASH_EACH)
			return 0;
		CHECK(!turn_for(self, 0) && crash_now_ms() - start < CRASH_WAIT_MS);
	}
	CHECK(pid == life->pid && WIFSTOPPED(status));
	while (steps--) {
		CHECK(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	}
	return 0;
}

TEST_F_TIMEOUT(crash, single_stepped, NO_LIMIT)
{
	/* what a call takes, about */
	static const long length[] = {
		[CRASH_AT_SEND] = 1200,
		[CRASH_AT_RECV] = 1000,
		[CRASH_AT_POLL] = 1200,
	};
	enum crash_aim aim;
	uint32_t i, worker;

	for (i = 0; i < STEPPED_ROUNDS; i++) {
		aim = CRASH_AT_SEND + (int)(i % 3);
		worker = (uint32_t)random() % CRASH_WORKERS;
		ASSERT_EQ(turn_for(self, 2), 0);
		ASSERT_EQ(step(self, worker, aim, random() % length[aim]), 0);
		ASSERT_EQ(end(self, worker), 0);
		ASSERT_EQ(replace(self, worker, variant->workers_inherit, &self->took[i]), 0);
	}
	ASSERT_EQ(finish(self, STEPPED_ROUNDS), 0);
}

TEST_HARNESS_MAIN
