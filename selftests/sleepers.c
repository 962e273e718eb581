// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Four processes post on one QP, sleep in epoll for each completion and kill
 * each other at random; what was killed is started again. A wake-up is lost
 * when one sleeps for BOUND_MS while its completion is there. Runs for 5 s, or
 * as many as SLEEPERS_SECONDS says.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_events.h"

#define WORKERS 4
#define SECONDS 5
#define KILL_MS 150
#define MIN_KILLS 10
#define MIN_MESSAGES 100
#define BOUND_MS 10000

/* struct board - seen by all */
struct board {
	pid_t pids[WORKERS];
	uint32_t lkey, rkey;
	uint64_t from, to;
	uint32_t stop, kills;
	uint32_t messages, sleeps, in_vain, lost, stuck, wrong;
	uint64_t next_kill;
};

struct worker {
	struct board *board;
	struct ibv_share_context *ctx;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	unsigned int number, seed;
	int epoll;
};

static void add(uint32_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* one of the others, once in KILL_MS for all of us */
static void kill_another(struct worker *w)
{
	uint64_t due = __atomic_load_n(&w->board->next_kill, __ATOMIC_RELAXED);
	uint64_t now = now_ms();
	unsigned int victim = rand_r(&w->seed) % WORKERS;
	pid_t pid = __atomic_load_n(&w->board->pids[victim], __ATOMIC_RELAXED);

	if (now < due || pid == getpid() || pid <= 0)
		return;
	if (!__atomic_compare_exchange_n(&w->board->next_kill, &due,
					 now + KILL_MS / 2 + rand_r(&w->seed) % KILL_MS, 0,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&w->board->pids[victim], 0, __ATOMIC_RELAXED);
	add(&w->board->kills);
	kill(pid, SIGKILL);
}

/* 1: it was ours; 0: nothing there; -1: something else */
static int take(struct worker *w, uint64_t number)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(w->cq, 1, &wc);

	if (n <= 0)
		return n;
	if (wc.status == IBV_WC_SUCCESS && wc.wr_id == number)
		return 1;
	printf("# %d: status %d, message %llu for %llu\n", getpid(), wc.status,
	       (unsigned long long)wc.wr_id, (unsigned long long)number);
	return -1;
}

/* 0: an event; 1: none came */
static int sleep_once(struct worker *w)
{
	struct epoll_event event;
	struct ibv_cq *cq;
	void *cq_context;
	int ret;

	do {
		add(&w->board->sleeps);
		if (epoll_wait(w->epoll, &event, 1, BOUND_MS) != 1)
			return 1;
		ret = ibv_share_get_cq_event(w->ctx, &cq, &cq_context, 0);
	} while (ret == EAGAIN);
	if (!ret)
		ibv_share_ack_cq_events(cq, 1);
	return ret;
}

static int post(struct worker *w, uint64_t number)
{
	struct ibv_sge sge = { w->board->from, 8, w->board->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = number,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	uint64_t limit = now_ms() + BOUND_MS;
	int ret;

	wr.wr.rdma.remote_addr = w->board->to;
	wr.wr.rdma.rkey = w->board->rkey;
	while ((ret = ibv_post_send(w->qp, &wr, &bad)) == ENOMEM && now_ms() < limit)
		usleep(100);
	return ret;
}

/*
 * A message, from the post to its completion: armed before, and not looked for
 * before there is an event, so that each depends on one.
 */
static int message(struct worker *w, uint64_t number)
{
	int ret, first = 1;

	do {
		CHECK(!ibv_req_notify_cq(w->cq, 0));
		ret = take(w, number);
		if (ret)
			break;
		if (first)
			CHECK(!post(w, number));
		else
			add(&w->board->in_vain);
		first = 0;
		if (sleep_once(w)) {
			ret = take(w, number);
			add(ret ? &w->board->lost : &w->board->stuck);
			return 1;
		}
		ret = take(w, number);
	} while (!ret);
	add(ret == 1 ? &w->board->messages : &w->board->wrong);
	return ret != 1;
}

static int worker_open(struct worker *w, int sock, int board)
{
	struct ibv_context *context = lib_open("rxe0");
	struct epoll_event in = { .events = EPOLLIN };

	w->board = mmap(NULL, sizeof(*w->board), PROT_READ | PROT_WRITE, MAP_SHARED, board, 0);
	CHECK(w->board != MAP_FAILED);
	CHECK(w->ctx = ibv_share_recv(context, sock));
	CHECK(w->qp = ibv_share_get_qp(w->ctx, NULL));
	CHECK(w->cq = ibv_share_get_cq(w->ctx, NULL));
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	CHECK(!epoll_ctl(w->epoll, EPOLL_CTL_ADD, ibv_share_get_fd(w->ctx), &in));
	return 0;
}

static int worker(int sock, int board, unsigned int number)
{
	struct worker w = { .number = number };
	uint64_t n = (uint64_t)getpid() << 32;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(!worker_open(&w, sock, board));
	w.seed = getpid();
	while (!__atomic_load_n(&w.board->stop, __ATOMIC_RELAXED)) {
		CHECK(!message(&w, n++));
		kill_another(&w);
	}
	return 0;
}

FIXTURE(sleepers)
{
	struct event_bed bed;
	struct board *board;
	int board_fd;
};

FIXTURE_SETUP(sleepers)
{
	ASSERT_EQ(event_bed_open(&self->bed, 0), 0);
	self->board_fd = memfd_create("board", 0);
	ASSERT_EQ(ftruncate(self->board_fd, sizeof(*self->board)), 0);
	self->board = mmap(NULL, sizeof(*self->board), PROT_READ | PROT_WRITE, MAP_SHARED,
			   self->board_fd, 0);
	ASSERT_NE(self->board, MAP_FAILED);
	self->board->lkey = self->bed.mr->lkey;
	self->board->rkey = self->bed.peer_mr->rkey;
	self->board->from = (uintptr_t)self->bed.memory;
	self->board->to = self->board->from + 8;
}

FIXTURE_TEARDOWN(sleepers)
{
	munmap(self->board, sizeof(*self->board));
	close(self->board_fd);
	EXPECT_EQ(event_bed_close(&self->bed), 0);
}

static int start(FIXTURE_DATA(sleepers) *self, unsigned int number)
{
	char words[3][16];
	int sv[2];
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv));
	snprintf(words[0], 16, "%d", sv[1]);
	snprintf(words[1], 16, "%d", self->board_fd);
	snprintf(words[2], 16, "%u", number);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "sleepers", "worker", words[0], words[1], words[2], NULL);
		_exit(1);
	}
	close(sv[1]);
	CHECK(pid > 0);
	CHECK(!ibv_share_send(self->bed.ctx, sv[0], IBV_SHARE_ALL_RIGHTS));
	close(sv[0]);
	__atomic_store_n(&self->board->pids[number], pid, __ATOMIC_RELAXED);
	return 0;
}

/* the completions of the dead are ours, and have to be taken */
static int take_orphans(FIXTURE_DATA(sleepers) *self)
{
	struct ibv_wc wc[16];
	int i, n = ibv_poll_cq(self->bed.made_cq, 16, wc);

	CHECK(n >= 0);
	for (i = 0; i < n; i++)
		CHECK(wc[i].status == IBV_WC_SUCCESS);
	return 0;
}

static int reap(FIXTURE_DATA(sleepers) *self, pid_t *pids, unsigned int *alive, int again)
{
	unsigned int i;
	int status;

	for (i = 0; i < WORKERS; i++) {
		if (!pids[i] || waitpid(pids[i], &status, WNOHANG) != pids[i])
			continue;
		pids[i] = 0;
		--*alive;
		CHECK(!status || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
		if (!again)
			continue;
		CHECK(!start(self, i));
		pids[i] = self->board->pids[i];
		++*alive;
	}
	return 0;
}

static int enough(const struct board *board)
{
	return __atomic_load_n(&board->kills, __ATOMIC_RELAXED) >= MIN_KILLS &&
	       __atomic_load_n(&board->messages, __ATOMIC_RELAXED) >= MIN_MESSAGES;
}

static int hammer(FIXTURE_DATA(sleepers) *self, unsigned int seconds)
{
	uint64_t end = now_ms() + seconds * 1000ULL, limit = end + 6 * BOUND_MS;
	unsigned int i, alive = WORKERS;
	pid_t pids[WORKERS];
	int failed = 0;

	self->board->next_kill = now_ms() + 2 * KILL_MS;
	for (i = 0; i < WORKERS; i++) {
		CHECK(!start(self, i));
		pids[i] = self->board->pids[i];
	}
	/* on a slow machine it takes longer until enough has happened */
	while (!failed && (now_ms() < end || !enough(self->board)) && now_ms() < limit) {
		failed = reap(self, pids, &alive, 1) || take_orphans(self);
		usleep(1000);
	}
	__atomic_store_n(&self->board->stop, 1, __ATOMIC_RELAXED);
	limit = now_ms() + 3 * BOUND_MS;
	while (alive && now_ms() < limit) {
		failed |= reap(self, pids, &alive, 0) || take_orphans(self);
		usleep(1000);
	}
	CHECK(!failed && !alive);
	return 0;
}

TEST_F_TIMEOUT(sleepers, no_wakeup_is_lost, NO_LIMIT)
{
	const char *text = getenv("SLEEPERS_SECONDS");
	unsigned int seconds = text ? atoi(text) : SECONDS, slot;
	uint32_t signals = 0, wakeups = 0, superfluous = 0;
	struct board *b = self->board;
	struct ibv_share_event_attr attr;
	int failed = hammer(self, seconds);

	for (slot = 0; slot < 64; slot++) {
		ASSERT_EQ(ibv_share_query_events(self->bed.ctx, slot, &attr), 0);
		signals += attr.signals;
		wakeups += attr.wakeups;
		superfluous += attr.superfluous;
	}
	TH_LOG("%u s: %u messages, %u killed; %u sleeps, %u wake-ups, %u by others", seconds,
	       b->messages, b->kills, b->sleeps, wakeups, signals);
	TH_LOG("%u wake-ups without an event, %u events without a completion; %u lost, %u stuck",
	       superfluous, b->in_vain, b->lost, b->stuck);
	EXPECT_EQ(failed, 0);
	EXPECT_EQ(b->lost, 0U);
	EXPECT_EQ(b->stuck, 0U);
	EXPECT_EQ(b->wrong, 0U);
	EXPECT_TRUE(enough(b));
	/* a signal is for one arming, of which there is one for each look */
	EXPECT_LE(signals, b->messages + b->in_vain + b->kills);
	/* each event of the device or wake-up of another, and each death, once */
	EXPECT_LE(superfluous, WORKERS * (b->messages + b->in_vain + 2 * b->kills + 10));
}

static int run_worker(char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	return worker(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "worker"))
		return run_worker(argv);
	return test_harness_run(argc, argv);
}
