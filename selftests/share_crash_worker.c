// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A process that posts and polls until it is killed, and says before and after
 * each call what it does.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>
#include "share_crash.h"

#define DEPTH 6 /* outstanding requests of a process, in each direction */

static struct crash_life *life_of(const struct crash_side *side)
{
	return &side->table->lives[side->me];
}

/* 0 is no number: it stands for "nothing" */
static uint64_t id_of(enum crash_kind kind, uint32_t number)
{
	return (uint64_t)(kind + 1) << 32 | number;
}

static uint32_t number_of(const struct crash_side *side, uint32_t i)
{
	return side->me * CRASH_EACH + i;
}

/* The tracer goes on from here, instruction by instruction. */
static void stop_if(const struct crash_side *side, enum crash_aim aim)
{
	if (atomic_load(&life_of(side)->aim) != (unsigned int)aim)
		return;
	atomic_store(&life_of(side)->aim, CRASH_ANYWHERE);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		abort();
	raise(SIGSTOP);
}

/* @n: how many; then, how many of them were posted */
static int post_sends(struct crash_side *side, struct ibv_sge *sge, uint32_t first, uint32_t *n)
{
	struct ibv_send_wr wr[CRASH_BATCH] = {}, *bad = NULL;
	uint32_t i;
	int ret;

	for (i = 0; i < *n; i++) {
		crash_text(side->table->text[CRASH_SEND][first + i], first + i);
		wr[i].wr_id = id_of(CRASH_SEND, first + i);
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].next = i + 1 < *n ? &wr[i + 1] : NULL;
	}
	stop_if(side, CRASH_AT_SEND);
	ret = ibv_post_send(side->qp, wr, &bad);
	if (ret)
		*n = (uint32_t)(bad - wr);
	return ret;
}

static int post_recvs(struct crash_side *side, struct ibv_sge *sge, uint32_t first, uint32_t *n)
{
	struct ibv_recv_wr wr[CRASH_BATCH] = {}, *bad = NULL;
	uint32_t i;
	int ret;

	for (i = 0; i < *n; i++) {
		wr[i].wr_id = id_of(CRASH_RECV, first + i);
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].next = i + 1 < *n ? &wr[i + 1] : NULL;
	}
	stop_if(side, CRASH_AT_RECV);
	if (side->srq)
		ret = ibv_post_srq_recv(side->srq, wr, &bad);
	else
		ret = ibv_post_recv(side->qp, wr, &bad);
	if (ret)
		*n = (uint32_t)(bad - wr);
	return ret;
}

static struct ibv_sge place_of(const struct crash_side *side, enum crash_kind kind, uint32_t number)
{
	const char *text = side->table->text[kind][number];

	return (struct ibv_sge){ (uintptr_t)text - (uintptr_t)side->table, CRASH_TEXT, side->lkey };
}

int crash_post(struct crash_side *side, enum crash_kind kind, uint32_t n)
{
	struct crash_life *life = life_of(side);
	uint32_t i, posted = atomic_load(&life->posted[kind]);
	uint32_t first = number_of(side, posted);
	struct ibv_sge sge[CRASH_BATCH];
	int ret;

	if (posted + n > CRASH_EACH)
		return 0;
	for (i = 0; i < n; i++)
		sge[i] = place_of(side, kind, first + i);
	atomic_store(&life->tried[kind], posted + n);
	if (kind == CRASH_SEND)
		ret = post_sends(side, sge, first, &n);
	else
		ret = post_recvs(side, sge, first, &n);
	atomic_store(&life->posted[kind], posted + n);
	atomic_store(&life->tried[kind], posted + n);
	return ret;
}

static int count(struct crash_side *side, const struct ibv_wc *wc)
{
	uint32_t kind = (uint32_t)(wc->wr_id >> 32) - 1, number = (uint32_t)wc->wr_id;

	CHECK(kind < CRASH_KINDS && number < CRASH_NUMBERS);
	CHECK(wc->status == IBV_WC_SUCCESS || wc->status == IBV_WC_WR_FLUSH_ERR);
	CHECK(wc->qp_num == side->qp->qp_num);
	if (wc->status != IBV_WC_SUCCESS)
		atomic_fetch_add(&side->table->flushed[kind][number], 1);
	atomic_fetch_add(&side->table->ended[kind][number], 1);
	return 0;
}

int crash_poll(struct crash_side *side)
{
	struct ibv_wc *wc = life_of(side)->polled;
	int i, n;

	stop_if(side, CRASH_AT_POLL);
	n = ibv_poll_cq(side->cq, CRASH_BATCH, wc);
	for (i = 0; i < n; i++)
		if (count(side, &wc[i]))
			return -1;
	/* counted first: who dies here has said it twice, not never */
	for (i = 0; i < n; i++)
		wc[i].wr_id = 0;
	return n;
}

uint32_t crash_outstanding(struct crash_side *side, enum crash_kind kind)
{
	uint32_t i, n = 0, posted = atomic_load(&life_of(side)->posted[kind]);
	const atomic_uchar *ended = &side->table->ended[kind][number_of(side, 0)];

	for (i = side->oldest[kind]; i < posted; i++) {
		if (!atomic_load(&ended[i]))
			n++;
		else if (!n)
			side->oldest[kind] = i + 1;
	}
	return n;
}

static int work(struct crash_side *side, enum crash_kind kind)
{
	uint32_t room = DEPTH - crash_outstanding(side, kind);
	int ret;

	if (!room)
		return 0;
	ret = crash_post(side, kind, 1 + (uint32_t)random() % (room < 3 ? room : 3));
	CHECK(!ret || ret == ENOMEM);
	return 0;
}

static int join(struct crash_side *side, int sock)
{
	struct ibv_context *context = lib_open("rxe0");
	struct ibv_share_context *ctx;

	CHECK(context);
	CHECK(ctx = ibv_share_recv(context, sock));
	CHECK(side->qp = ibv_share_get_qp(ctx, NULL));
	CHECK(side->cq = ibv_share_get_cq(ctx, NULL));
	/* the maker's until now */
	CHECK(!side->srq || (side->srq = ibv_share_get_srq(ctx, NULL)));
	atomic_store(&life_of(side)->slot, ibv_share_get_slot(ctx));
	return 0;
}

static void run(struct crash_side *side, int sock)
{
	int n;

	srandom((unsigned int)getpid());
	if (!join(side, sock)) {
		atomic_store(&life_of(side)->ready, 1);
		while (!work(side, CRASH_RECV) && !work(side, CRASH_SEND)) {
			n = crash_poll(side);
			if (n < 0)
				break;
			/* there are fewer processors than of us */
			if (!n)
				usleep(200);
		}
	}
	atomic_store(&life_of(side)->error, 1);
	pause();
}

int crash_start(struct crash_stage *stage, uint32_t *life)
{
	struct crash_side side = stage->side;
	uint32_t start = crash_now_ms();
	struct crash_life *it;
	pid_t pid;
	int sv[2];

	CHECK(stage->lives < CRASH_LIVES);
	side.me = stage->lives++;
	memset(side.oldest, 0, sizeof(side.oldest));
	it = &side.table->lives[side.me];
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(&side, sv[1]);
		_exit(1);
	}
	CHECK(pid > 0);
	it->pid = pid;
	CHECK(!ibv_share_send(stage->ctx, sv[0], IBV_SHARE_ALL_RIGHTS));
	while (!atomic_load(&it->ready)) {
		CHECK(!atomic_load(&it->error) && crash_now_ms() - start < CRASH_WAIT_MS);
		CHECK(!crash_turn(stage));
	}
	close(sv[0]);
	close(sv[1]);
	*life = side.me;
	return 0;
}
