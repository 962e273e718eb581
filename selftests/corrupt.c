// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * An importer writes nonsense into one word of the control segment after
 * another, while the exporter has traffic. The rings of the device are left alone. The
 * exporter goes on or is told so, in time; a new context works.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_extended.h"

#define ROUND_MS 3000
/* a lock is waited for 10 s */
#define LONGEST_MS 15000

/* The largest shared mapping of a memfd is the segment; @end: behind it. */
static uint32_t *find_segment(uint32_t **end)
{
	unsigned long from, to, best = 0;
	uint32_t *found = NULL;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "memfd:") || sscanf(line, "%lx-%lx", &from, &to) != 2 ||
		    to - from <= best)
			continue;
		best = to - from;
		found = (uint32_t *)from;
		*end = (uint32_t *)to;
	}
	if (maps)
		fclose(maps);
	return found;
}

static uint32_t wrong(uint32_t was)
{
	const uint32_t values[] = { 0, ~0u, was ^ 1u << random() % 32, (uint32_t)random(), was + 1,
				    was - 1 };

	return values[random() % 6];
}

/* In a process of its own, until it is killed: of each pass only words in use. */
static void scribble(struct ibv_context *context, int sock, unsigned int seed)
{
	uint32_t *at, *end, *start, was;

	srandom(seed);
	if (!ibv_share_recv(context, sock) || !(start = find_segment(&end)))
		_exit(1);
	for (;;) {
		for (at = start; at < end; at += 1 + random() % 8) {
			was = __atomic_load_n(at, __ATOMIC_RELAXED);
			if (!was && random() % 64)
				continue;
			__atomic_store_n(at, wrong(was), __ATOMIC_RELAXED);
		}
	}
}

FIXTURE(corrupt)
{
	struct extended bed;
	int sv[2];
	pid_t child;
};

FIXTURE_SETUP(corrupt)
{
	ASSERT_EQ(extended_open(&self->bed), 0);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sv), 0);
}

FIXTURE_TEARDOWN(corrupt)
{
}

/* One call of each kind; the worst errno. */
static int use(struct extended *bed, uint32_t *longest)
{
	struct ibv_sge sge = { IOVA + FROM, 8, bed->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };
	uint32_t start = lib_now_ms(), took;
	struct ibv_wc wc[8];
	int ret, n;

	ret = extended_recv(bed, 0, 1);
	n = ibv_post_send(bed->made[0], &wr, &bad);
	ret = n == EBADMSG ? n : ret;
	n = ibv_poll_cq(bed->made_cq, 8, wc);
	ret = n == -EBADMSG ? EBADMSG : ret;
	took = lib_now_ms() - start;
	if (took > *longest)
		*longest = took;
	return ret;
}

TEST_F_TIMEOUT(corrupt, while_traffic_runs, NO_LIMIT)
{
	const uint32_t start = lib_now_ms();
	uint32_t longest = 0, calls = 0, reports = 0, i;
	struct extended again;
	int ret;

	ASSERT_EQ(ibv_share_send(self->bed.ctx[0], self->sv[0], IBV_SHARE_ALL_RIGHTS), 0);
	for (i = 0; i < 100; i++)
		ASSERT_NE(use(&self->bed, &longest), EBADMSG);
	self->child = fork();
	ASSERT_LE(0, self->child);
	if (!self->child)
		scribble(lib_open("rxe0"), self->sv[1], 1);
	while (lib_now_ms() - start < ROUND_MS || (!reports && lib_now_ms() - start < 30000)) {
		ret = use(&self->bed, &longest);
		calls++;
		if (ret != EBADMSG)
			continue;
		reports++;
		ASSERT_NE(strstr(ibv_share_last_error(), "uses it no more"), NULL);
	}
	ASSERT_EQ(waitpid(self->child, NULL, WNOHANG), 0);
	kill(self->child, SIGKILL);
	ASSERT_EQ(waitpid(self->child, NULL, 0), self->child);
	printf("# %u calls, %u reports, longest %u ms\n", calls, reports, longest);
	ASSERT_LT(0, reports);
	ASSERT_LT(longest, LONGEST_MS);
	ASSERT_EQ(extended_open(&again), 0);
	for (i = 0; i < 100; i++)
		ASSERT_NE(use(&again, &longest), EBADMSG);
	ASSERT_EQ(extended_close(&again), 0);
}

TEST_HARNESS_MAIN
