// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Four threads, then four processes, then both, on one QP and one CQ, while
 * the device runs beside them: 24000 numbered messages, none lost, none twice,
 * every completion at the poster with its wr_id, in the order of posting.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bed.h"
#include "tap.h"

#define WORKERS 4
#define MESSAGES 6000
#define RECEIVES 24
#define SENDS 16
#define BATCH 16
#define QUIET_SECONDS 20

/* struct world - shared by all; @seen: how often a message arrived */
struct world {
	uint32_t received;
	uint32_t failed;
	uint32_t polled;
	uint8_t seen[WORKERS][MESSAGES];
	uint64_t buffers[WORKERS][RECEIVES];
};

/*
 * struct worker
 * @sent, @confirmed: numbers of own messages
 * @recv_next: buffer whose completion is due
 * @last: newest number from each sender: they arrive in order
 * @silent: signals only its last message
 */
struct worker {
	struct node node;
	struct world *world;
	uint32_t id;
	uint32_t sent;
	uint32_t confirmed;
	uint32_t recv_posted;
	uint32_t recv_next;
	uint32_t last[WORKERS];
	int silent;
};

static struct bed bed;

static int is_signaled(const struct worker *w, uint32_t number)
{
	if (number + 1 == MESSAGES)
		return 1;
	return !w->silent && number % 3 == 0;
}

static int on_send(struct worker *w, const struct ibv_wc *wc)
{
	CHECK(wc->opcode == IBV_WC_SEND && wc->byte_len == 8);
	CHECK(wc->wr_id >> 32 == (0x50000000u | w->id));
	/* the next that is signaled: nothing left out, nothing twice */
	while (!is_signaled(w, w->confirmed))
		w->confirmed++;
	CHECK((uint32_t)wc->wr_id == w->confirmed);
	w->confirmed++;
	return 1;
}

static int on_recv(struct worker *w, const struct ibv_wc *wc)
{
	uint32_t buffer = w->recv_next % RECEIVES, from, number;
	uint64_t message;

	CHECK(wc->byte_len == 8 && wc->wc_flags & IBV_WC_GRH);
	CHECK(wc->wr_id == ((uint64_t)w->id << 40 | w->recv_next));
	message = w->world->buffers[w->id][buffer];
	from = (uint32_t)(message >> 32);
	number = (uint32_t)message;
	CHECK(from < WORKERS && number < MESSAGES);
	CHECK(number + 1 > w->last[from]);
	w->last[from] = number + 1;
	CHECK(__atomic_fetch_add(&w->world->seen[from][number], 1,
				 __ATOMIC_RELAXED) == 0);
	w->recv_next++;
	__atomic_fetch_add(&w->world->received, 1, __ATOMIC_RELAXED);
	return 1;
}

static int post_recv(struct worker *w)
{
	uint64_t *buffer =
		&w->world->buffers[w->id][w->recv_posted % RECEIVES];
	int ret;

	if (w->recv_posted - w->recv_next >= RECEIVES)
		return 1;
	ret = bed_recv(&w->node, (uint64_t)w->id << 40 | w->recv_posted,
		       buffer);
	CHECK(!ret || ret == ENOMEM);
	w->recv_posted += !ret;
	return 1;
}

static int post_send(struct worker *w)
{
	uint64_t message = (uint64_t)w->id << 32 | w->sent;
	int ret;

	if (w->sent == MESSAGES || w->sent - w->confirmed >=
					   (w->silent ? MESSAGES : SENDS))
		return 1;
	ret = bed_send(&w->node, 0x50000000ull << 32 | message, message,
		       is_signaled(w, w->sent) ? IBV_SEND_SIGNALED : 0);
	CHECK(!ret || ret == ENOMEM);
	w->sent += !ret;
	return 1;
}

static int poll(struct worker *w)
{
	struct ibv_wc wc[BATCH];
	int i, n;

	n = share_poll(&w->node.cq, 1 + (int)(w->sent % BATCH), wc);
	CHECK(n >= 0 || n == -ETIMEDOUT);
	for (i = 0; i < n; i++) {
		CHECK(wc[i].status == IBV_WC_SUCCESS && wc[i].qp_num == 17);
		CHECK(wc[i].opcode & IBV_WC_RECV ? on_recv(w, &wc[i]) : on_send(w, &wc[i]));
	}
	if (!n)
		sched_yield();
	return 1;
}

static int is_done(const struct worker *w)
{
	return w->confirmed == MESSAGES &&
	       share_load(&w->world->received) == WORKERS * MESSAGES;
}

static int work(struct worker *w)
{
	uint32_t before = 0;
	time_t since = time(NULL);

	while (!is_done(w)) {
		CHECK(!share_load(&w->world->failed));
		CHECK(post_recv(w) && post_recv(w) && post_send(w) && poll(w));
		if (w->sent + w->recv_next + w->confirmed != before) {
			before = w->sent + w->recv_next + w->confirmed;
			since = time(NULL);
		}
		CHECK(is_done(w) || time(NULL) - since < QUIET_SECONDS);
	}
	return 1;
}

static void *work_thread(void *arg)
{
	struct worker *w = arg;

	if (!work(w))
		__atomic_store_n(&w->world->failed, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void init_worker(struct worker *w, struct world *world, uint32_t id)
{
	w->world = world;
	w->id = id;
	w->silent = id == 1;
}

static int check_world(struct world *world, struct node *exporter)
{
	struct share_cq_counters *counters = &exporter->cq.view.body->counters;
	int i, j;

	CHECK(!world->failed);
	for (i = 0; i < WORKERS; i++)
		for (j = 0; j < MESSAGES; j++)
			CHECK(world->seen[i][j] == 1);
	CHECK(!bed.dev->cqs[0].overflows);
	CHECK(!share_load(&counters->lost) && !share_load(&counters->stale));
	CHECK(!share_load(&counters->impossible));
	CHECK(!share_load(&counters->takeovers));
	printf("# %u kicks, %u CQEs, %u steered, %u hidden\n",
	       bed.dev->qps[0].kicks, bed.dev->cqs[0].cqes,
	       share_load(&counters->steered), share_load(&counters->hidden));
	return 1;
}

/* All in one process and one slot: any thread may get any completion. */
static int run(int in_processes)
{
	static struct worker workers[WORKERS];
	struct world *world = fake_memory(sizeof(*world));
	pthread_t device, threads[WORKERS];
	pid_t pids[WORKERS], device_pid = 0;
	struct node exporter;
	int i, status;

	memset(workers, 0, sizeof(workers));
	CHECK(bed_make(&bed, &exporter, 128, 256, 0));
	for (i = 0; in_processes && i < WORKERS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		init_worker(&workers[i], world, (uint32_t)i);
		if (!bed_join(&bed, &workers[i].node, (uint32_t)i + 1, 1))
			_exit(1);
		work_thread(&workers[i]);
		fflush(stdout);
		_exit(0);
	}
	if (in_processes) {
		device_pid = fork();
		if (!device_pid) {
			fake_run(bed.dev);
			_exit(0);
		}
	} else {
		CHECK(!pthread_create(&device, NULL, fake_run, bed.dev));
	}
	for (i = 0; !in_processes && i < WORKERS; i++) {
		init_worker(&workers[i], world, (uint32_t)i);
		CHECK(bed_join_mapped(&bed, &workers[i].node, &exporter,
				      (uint32_t)i + 1));
		CHECK(!pthread_create(&threads[i], NULL, work_thread,
				      &workers[i]));
	}
	for (i = 0; i < WORKERS; i++) {
		if (!in_processes) {
			pthread_join(threads[i], NULL);
		} else {
			waitpid(pids[i], &status, 0);
			CHECK(!status);
		}
	}
	share_store_release(&bed.dev->stop, 1);
	if (in_processes)
		waitpid(device_pid, NULL, 0);
	else
		pthread_join(device, NULL);
	CHECK(check_world(world, &exporter));
	munmap(world, sizeof(*world));
	bed_free(&bed, &exporter);
	return 1;
}

static int threads(void)
{
	return run(0);
}

static int processes(void)
{
	return run(1);
}

/* struct crowd - threads of one process: one slot, one path */
struct crowd {
	struct node node;
	uint32_t sends;
	uint32_t recvs;
	uint32_t failed;
	uint64_t buffer[WORKERS];
};

#define CROWD_MESSAGES 6000

static void count_one(struct crowd *crowd, const struct ibv_wc *wc)
{
	uint32_t *counter =
		wc->opcode & IBV_WC_RECV ? &crowd->recvs : &crowd->sends;

	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* On a busy machine a holder that waits for a processor may be taken for stopped. */
static int crowd_turn(struct crowd *crowd, uint32_t id, int *posted)
{
	struct ibv_wc wc[4];
	int i, n, ret;

	ret = bed_recv(&crowd->node, id, &crowd->buffer[id]);
	if (!ret) {
		ret = bed_send(&crowd->node, id, id, IBV_SEND_SIGNALED);
		while (ret == ENOMEM) {
			sched_yield();
			n = share_poll(&crowd->node.cq, 4, wc);
			CHECK(n >= 0 || n == -ETIMEDOUT);
			for (i = 0; i < n; i++)
				count_one(crowd, &wc[i]);
			ret = bed_send(&crowd->node, id, id,
				       IBV_SEND_SIGNALED);
		}
		(*posted)++;
	}
	CHECK(!ret || ret == ENOMEM);
	n = share_poll(&crowd->node.cq, 4, wc);
	CHECK(n >= 0 || n == -ETIMEDOUT);
	for (i = 0; i < n; i++) {
		CHECK(!wc[i].status && wc[i].wr_id < WORKERS);
		count_one(crowd, &wc[i]);
	}
	return 1;
}

static struct crowd crowd;

static void *crowd_thread(void *arg)
{
	uint32_t id = (uint32_t)(uintptr_t)arg;
	int posted = 0;

	while (posted < CROWD_MESSAGES / WORKERS) {
		if (!crowd_turn(&crowd, id, &posted)) {
			__atomic_store_n(&crowd.failed, 1, __ATOMIC_RELAXED);
			break;
		}
	}
	return NULL;
}

static int threads_of_one_slot(void)
{
	pthread_t device, t[WORKERS];
	struct ibv_wc wc[4];
	time_t start;
	int i, n;

	memset(&crowd, 0, sizeof(crowd));
	CHECK(bed_make(&bed, &crowd.node, 64, 128, 0));
	CHECK(!pthread_create(&device, NULL, fake_run, bed.dev));
	for (i = 0; i < WORKERS; i++)
		CHECK(!pthread_create(&t[i], NULL, crowd_thread,
				      (void *)(uintptr_t)i));
	for (i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	start = time(NULL);
	while (crowd.sends + crowd.recvs < 2 * CROWD_MESSAGES &&
	       time(NULL) - start < QUIET_SECONDS) {
		n = share_poll(&crowd.node.cq, 4, wc);
		for (i = 0; i < n; i++)
			*(wc[i].opcode & IBV_WC_RECV ? &crowd.recvs : &crowd.sends) += 1;
	}
	share_store_release(&bed.dev->stop, 1);
	pthread_join(device, NULL);
	CHECK(!crowd.failed);
	CHECK(crowd.sends == CROWD_MESSAGES && crowd.recvs == CROWD_MESSAGES);
	CHECK(!bed.dev->cqs[0].overflows);
	CHECK(!share_load(&crowd.node.cq.view.body->credits));
	bed_free(&bed, &crowd.node);
	return 1;
}

int main(void)
{
	static const struct test tests[] = {
		TEST(threads),
		TEST(processes),
		TEST(threads_of_one_slot),
	};

	return RUN_TESTS(tests);
}
