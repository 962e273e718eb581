// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "share_succession.h"

#define SEND_ID (1ull << 32)
#define PART 40 /* of its share, after which one may go */

uint64_t player_send_id(uint32_t n)
{
	return SEND_ID | n;
}

uint64_t player_place(const struct player *p, const void *at)
{
	return (uintptr_t)p->mr->addr + ((uintptr_t)at - (uintptr_t)p->all->board);
}

int succession_say(int sock)
{
	CHECK(send(sock, "x", 1, MSG_NOSIGNAL) == 1);
	return 0;
}

int succession_hear(int sock)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	char c;

	CHECK(poll(&pfd, 1, PATIENCE_MS) == 1);
	CHECK(recv(sock, &c, 1, 0) == 1);
	return 0;
}

int player_post(struct player *p)
{
	const uint32_t received = p->all->board->received;
	struct ibv_sge sge = { .length = MESSAGE, .lkey = p->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (p->posted < MESSAGES && p->posted < received + BUFFERS) {
		wr.wr_id = p->posted;
		sge.addr = player_place(p, p->all->board->in[p->posted % BUFFERS]);
		CHECK(!ibv_post_recv(p->qp, &wr, &bad));
		p->posted++;
	}
	return 0;
}

static int answer_all(struct player *p)
{
	const uint32_t share = (p->generation + 1) * SHARE;
	struct succession *s = p->all;

	while (p->sent < share && p->sent < s->board->received + s->lead) {
		CHECK(!s->answer(p, p->sent));
		p->sent++;
	}
	return 0;
}

/* It had been polled, and the process died before its consumer index moved. */
static int again(struct player *p)
{
	CHECK(p->generation && !p->repeated++);
	p->all->board->repeated++;
	return 0;
}

/* What stands in board->wc. */
static int note(struct player *p)
{
	struct board *board = p->all->board;
	const struct ibv_wc *wc = &board->wc;
	const uint32_t n = (uint32_t)wc->wr_id;

	if (wc->status == NOT_POLLED)
		return 0;
	CHECK(wc->status == IBV_WC_SUCCESS);
	if (wc->wr_id & SEND_ID) {
		if (n + 1 == board->completed)
			return again(p);
		CHECK(n == board->completed);
		board->completed = n + 1;
	} else {
		if (n + 1 == board->received)
			return again(p);
		CHECK(n == board->received && wc->byte_len == p->all->bytes);
		CHECK(!p->all->check(p, n));
		board->received = n + 1;
	}
	board->wc.status = NOT_POLLED;
	return 0;
}

static int play(struct player *p)
{
	struct board *board = p->all->board;
	int n, idle = 0;

	while (board->received < MESSAGES || board->completed < MESSAGES) {
		if (__atomic_load_n(&board->leave, __ATOMIC_RELAXED) > p->generation)
			return 0;
		CHECK(!player_post(p));
		CHECK(!answer_all(p));
		n = ibv_poll_cq(p->cq, 1, &board->wc);
		CHECK(n >= 0);
		if (n)
			CHECK(!note(p));
		idle = n ? 0 : idle + 1;
		if (idle > 10)
			usleep(100);
		CHECK(idle < PATIENCE_MS * 10);
	}
	return 0;
}

static int make(struct player *p)
{
	struct ibv_qp_init_attr init = { .cap = { 16, 16, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	CHECK(p->ctx = ibv_share_open(p->context, NULL));
	CHECK(p->pd = ibv_share_alloc_pd(p->ctx));
	CHECK(p->cq = ibv_share_create_cq(p->ctx, 64, NULL, NULL, 0));
	init.send_cq = init.recv_cq = p->cq;
	CHECK(p->qp = ibv_share_create_qp(p->pd, &init));
	CHECK(p->mr = ibv_reg_shared_mr(p->pd, 0, sizeof(struct board), 0, p->all->memory,
					ACCESS | IBV_ACCESS_REMOTE_WRITE));
	CHECK(!ibv_share_export_mr(p->mr, p->all->memory, 0, IBV_ACCESS_LOCAL_WRITE));
	p->all->board->wc.status = NOT_POLLED;
	if (p->all->keeper >= 0)
		CHECK(!ibv_share_send(p->ctx, p->all->keeper, IBV_SHARE_ALL_RIGHTS));
	return 0;
}

static int join(struct player *p)
{
	CHECK(p->ctx = ibv_share_recv(p->context, p->all->pairs[p->generation - 1][1]));
	CHECK(p->qp = ibv_share_get_qp(p->ctx, NULL));
	CHECK(p->mr = ibv_share_get_mr(p->ctx, NULL));
	p->cq = p->qp->recv_cq;
	p->pd = p->qp->pd;
	return 0;
}

/* The former one is dead, or has gone. Where was it? */
static int inherit(struct player *p)
{
	const uint32_t me = ibv_share_get_slot(p->ctx);
	struct ibv_share_posted_attr posted;

	CHECK(!ibv_share_set_heirs(p->ctx, &me, 1));
	CHECK(!note(p));
	CHECK(!ibv_share_query_posted(p->qp, &posted));
	CHECK(posted.sends % p->all->sends == 0);
	p->sent = posted.sends / p->all->sends;
	p->posted = posted.receives;
	return 0;
}

static int live(struct player *p)
{
	struct succession *s = p->all;

	CHECK(p->context = lib_open("rxe0"));
	if (p->generation) {
		CHECK(!join(p));
		CHECK(!succession_say(p->sock));
	} else {
		CHECK(!make(p));
	}
	CHECK(!succession_hear(p->sock));
	if (p->generation)
		CHECK(!inherit(p));
	else
		CHECK(!s->connect(p));
	if (p->generation + 1 < GENERATIONS)
		CHECK(!ibv_share_send(p->ctx, s->pairs[p->generation][0], IBV_SHARE_ALL_RIGHTS));
	CHECK(!play(p));
	/* who has made the objects just exits: they are there for the others */
	return p->generation ? ibv_share_close(p->ctx) : 0;
}

static void run(struct succession *s, uint32_t generation, int sock)
{
	struct player p = { .all = s, .generation = generation, .sock = sock };
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ret = live(&p);
	fflush(stdout);
	_exit(ret);
}

int succession_start(struct succession *s)
{
	int sv[2];
	uint32_t i;

	s->memory = memfd_create("board", MFD_CLOEXEC);
	CHECK(s->memory >= 0 && !ftruncate(s->memory, sizeof(*s->board)));
	s->board = mmap(NULL, sizeof(*s->board), PROT_READ | PROT_WRITE, MAP_SHARED, s->memory, 0);
	CHECK(s->board != MAP_FAILED);
	for (i = 0; i < GENERATIONS; i++)
		CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->pairs[i]));
	fflush(stdout);
	for (i = 0; i < GENERATIONS; i++) {
		CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv));
		s->pids[i] = fork();
		CHECK(s->pids[i] >= 0);
		if (!s->pids[i])
			run(s, i, sv[1]);
		close(sv[1]);
		s->ends[i] = sv[0];
	}
	return 0;
}

int succession_begin(struct succession *s)
{
	return succession_say(s->ends[0]);
}

static int is_there(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid;
}

/* @pid: whose share they are of */
static int wait_for_messages(struct succession *s, pid_t pid, uint32_t n)
{
	int tries;

	for (tries = 0; __atomic_load_n(&s->board->received, __ATOMIC_RELAXED) < n; tries++) {
		CHECK(is_there(pid));
		if (tries == PATIENCE_MS)
			printf("# %u received, %u sent, waiting for %u\n", s->board->received,
			       s->board->completed, n);
		CHECK(tries < PATIENCE_MS);
		usleep(1000);
	}
	return 0;
}

/* in the middle of something, and of something else each time */
static void wait_a_moment(void)
{
	struct timespec t = { .tv_nsec = random() % 2000000 };

	nanosleep(&t, NULL);
}

static int replace(struct succession *s, uint32_t i, int by_kill)
{
	int status;

	/* its successor has joined; the messages go on */
	CHECK(!succession_hear(s->ends[i + 1]));
	CHECK(!wait_for_messages(s, s->pids[i], i * SHARE + PART));
	if (by_kill) {
		wait_a_moment();
		kill(s->pids[i], SIGKILL);
	} else {
		__atomic_store_n(&s->board->leave, i + 1, __ATOMIC_RELAXED);
	}
	CHECK(waitpid(s->pids[i], &status, 0) == s->pids[i]);
	s->pids[i] = 0;
	s->amid += s->board->received < (i + 1) * SHARE;
	CHECK(by_kill ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : !status);
	return succession_say(s->ends[i + 1]);
}

int succession_replace_all(struct succession *s, int by_kill)
{
	uint32_t i;

	for (i = 0; i + 1 < GENERATIONS; i++)
		CHECK(!replace(s, i, by_kill));
	return 0;
}

int succession_ends_well(struct succession *s)
{
	const uint32_t last = GENERATIONS - 1;
	int status;

	CHECK(waitpid(s->pids[last], &status, 0) == s->pids[last]);
	s->pids[last] = 0;
	CHECK(!status);
	CHECK(s->board->received == MESSAGES && s->board->completed == MESSAGES);
	printf("# %u messages; %u of %u processes were gone amid theirs;"
	       " %u completions came again\n",
	       MESSAGES, s->amid, last, s->board->repeated);
	return 0;
}
