// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Threads, then processes, then processes that are killed, all of which sleep
 * for each of their completions on one CQ. A wake-up is lost when somebody
 * sleeps for BOUND_MS while there is something for him.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../event.h"
#include "bed.h"
#include "tap.h"

#define SLEEPERS 4
#define ROUNDS 1500
#define KILL_SECONDS 4
#define BOUND_MS 15000

/* struct world - shared by all */
struct world {
	uint32_t lost;
	uint32_t stuck;
	uint32_t failed;
	uint32_t stop;
	uint32_t rounds;
	uint32_t sleeps;
	uint32_t superfluous;
	uint64_t buffers[SLEEPERS + 1];
};

struct sleeper {
	struct node node;
	struct world *world;
	uint32_t slot;
	uint32_t sends;
	int endless;
};

static struct bed bed;

static void add(uint32_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* how many completions there were, or -1 */
static int take_all(struct sleeper *s)
{
	struct ibv_wc wc[4];
	int i, n, all = 0;

	while ((n = share_poll(&s->node.cq, 4, wc)) > 0) {
		for (i = 0; i < n; i++)
			if (!(wc[i].opcode & IBV_WC_RECV))
				s->sends--;
		all += n;
	}
	return n < 0 ? n : all;
}

/* What cq_event.c does, with the descriptors of the device. */
static void handle(struct sleeper *s, const struct pollfd *fds)
{
	if (fds[1].revents) {
		share_event_dispatch(&s->node.cq);
		while (fake_read(fds[1].fd))
			share_event_dispatch(&s->node.cq);
	}
	if (fds[0].revents && fake_read(fds[0].fd))
		share_event_recheck(&s->node.cq);
}

/* 0: there is an event; 1: none came */
static int wait_event(struct sleeper *s)
{
	struct pollfd fds[] = {
		{ .fd = bed.dev->wakes[s->slot], .events = POLLIN },
		{ .fd = bed.dev->cqs[0].events, .events = POLLIN },
	};

	while (!share_event_take(&s->node.cq)) {
		add(&s->world->sleeps);
		if (poll(fds, 2, BOUND_MS) <= 0)
			return 1;
		handle(s, fds);
	}
	return 0;
}

static int post(struct sleeper *s)
{
	uint64_t *buffer = &s->world->buffers[s->slot];
	int ret;

	/* so that there are never fewer receives than sends */
	ret = bed_recv(&s->node, 2, buffer);
	CHECK(!ret || ret == ENOMEM);
	ret = bed_send(&s->node, 1, s->slot, IBV_SEND_SIGNALED);
	CHECK(!ret || ret == ENOMEM);
	s->sends += !ret;
	return 1;
}

static int one_round(struct sleeper *s)
{
	int n;

	CHECK(post(s));
	while (s->sends) {
		CHECK(!share_event_arm(&s->node.cq, 0));
		n = take_all(s);
		CHECK(n >= 0);
		if (!s->sends)
			break;
		if (wait_event(s)) {
			n = take_all(s);
			add(n ? &s->world->lost : &s->world->stuck);
			return 0;
		}
		n = take_all(s);
		CHECK(n >= 0);
		if (!n)
			add(&s->world->superfluous);
	}
	add(&s->world->rounds);
	return 1;
}

static void *run(void *arg)
{
	struct sleeper *s = arg;
	int i;

	for (i = 0; i < ROUNDS || s->endless; i++) {
		if (share_load(&s->world->stop))
			break;
		if (!one_round(s)) {
			add(&s->world->failed);
			break;
		}
	}
	return NULL;
}

static pid_t start(struct world *world, uint32_t slot, uint32_t generation,
		   int endless)
{
	static struct sleeper s;
	pid_t pid = fork();

	if (pid)
		return pid;
	s = (struct sleeper){
		.world = world,
		.slot = slot,
		.endless = endless,
	};
	if (!bed_join(&bed, &s.node, slot, generation))
		_exit(1);
	run(&s);
	fflush(stdout);
	_exit(0);
}

static int report(struct world *world)
{
	printf("# %u rounds, %u sleeps, %u events with nothing to poll;"
	       " %u wake-ups lost, %u stuck\n",
	       world->rounds, world->sleeps, world->superfluous, world->lost,
	       world->stuck);
	CHECK(!world->lost && !world->stuck && !world->failed);
	/* the two completions of a message wake each of the others at most once */
	CHECK(world->superfluous <= 2 * (SLEEPERS - 1) * world->rounds + 100);
	return 1;
}

static int threads(void)
{
	static struct sleeper s[SLEEPERS];
	struct world *world = fake_memory(sizeof(*world));
	pthread_t device, t[SLEEPERS];
	struct node exporter;
	uint32_t i;

	memset(s, 0, sizeof(s));
	CHECK(bed_make(&bed, &exporter, 64, 256, 0));
	for (i = 0; i < SLEEPERS; i++) {
		CHECK(bed_join_mapped(&bed, &s[i].node, &exporter, i + 1));
		s[i].world = world;
		s[i].slot = i + 1;
	}
	CHECK(!pthread_create(&device, NULL, fake_run, bed.dev));
	for (i = 0; i < SLEEPERS; i++)
		CHECK(!pthread_create(&t[i], NULL, run, &s[i]));
	for (i = 0; i < SLEEPERS; i++)
		pthread_join(t[i], NULL);
	share_store_release(&bed.dev->stop, 1);
	pthread_join(device, NULL);
	CHECK(report(world));
	munmap(world, sizeof(*world));
	bed_free(&bed, &exporter);
	return 1;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

struct killed {
	pid_t pids[SLEEPERS + 1];
	uint32_t generations[SLEEPERS + 1];
	uint32_t kills;
};

static int kill_one(struct world *world, struct killed *k, uint32_t slot)
{
	int status;

	kill(k->pids[slot], SIGKILL);
	CHECK(waitpid(k->pids[slot], &status, 0) == k->pids[slot]);
	fake_die(bed.dev, slot);
	k->kills++;
	k->pids[slot] = start(world, slot, ++k->generations[slot], 1);
	return 1;
}

/* Completions of the dead are the exporter's, which has to take them. */
static int kill_them(struct world *world, struct killed *k,
		     struct node *exporter)
{
	int64_t end = now_ms() + KILL_SECONDS * 1000, next = now_ms() + 20;
	unsigned int seed = 1;
	struct ibv_wc wc[16];

	while (now_ms() < end && !share_load(&world->failed)) {
		CHECK(share_poll(&exporter->cq, 16, wc) >= 0);
		if (now_ms() < next) {
			usleep(500);
			continue;
		}
		CHECK(kill_one(world, k, 1 + (uint32_t)rand_r(&seed) % SLEEPERS));
		next = now_ms() + 1 + rand_r(&seed) % 40;
	}
	return 1;
}

static int finish(struct world *world, struct killed *k, struct node *exporter)
{
	uint32_t slot, left = SLEEPERS;
	struct ibv_wc wc[16];
	int status;

	share_store(&world->stop, 1);
	while (left) {
		share_poll(&exporter->cq, 16, wc);
		for (slot = 1; slot <= SLEEPERS; slot++) {
			if (!k->pids[slot] ||
			    waitpid(k->pids[slot], &status, WNOHANG) <= 0)
				continue;
			CHECK(!status);
			k->pids[slot] = 0;
			left--;
		}
	}
	return 1;
}

static int in_processes(int with_kills)
{
	struct world *world = fake_memory(sizeof(*world));
	struct killed k = { .kills = 0 };
	struct node exporter;
	pid_t device;
	uint32_t slot;

	CHECK(bed_make(&bed, &exporter, 64, 256, 0));
	device = fork();
	if (!device) {
		fake_run(bed.dev);
		_exit(0);
	}
	for (slot = 1; slot <= SLEEPERS; slot++) {
		k.generations[slot] = 1;
		k.pids[slot] = start(world, slot, 1, with_kills);
	}
	if (with_kills) {
		CHECK(kill_them(world, &k, &exporter));
		printf("# %u killed\n", k.kills);
		CHECK(k.kills > 10);
		CHECK(finish(world, &k, &exporter));
	}
	for (slot = 1; slot <= SLEEPERS; slot++)
		if (k.pids[slot])
			waitpid(k.pids[slot], NULL, 0);
	share_store_release(&bed.dev->stop, 1);
	waitpid(device, NULL, 0);
	CHECK(report(world));
	munmap(world, sizeof(*world));
	bed_free(&bed, &exporter);
	return 1;
}

static int processes(void)
{
	return in_processes(0);
}

static int killed_processes(void)
{
	return in_processes(1);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(threads),
		TEST(processes),
		TEST(killed_processes),
	};

	return RUN_TESTS(tests);
}
