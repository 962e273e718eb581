// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The maker of the QP, its peer, and the sum of all numbers in the end.
 */
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "share_crash.h"

#define QUEUE 255
#define PEER_BUFFERS 200
#define PEER_SENDS 16
/* so long nothing more may come when all has */
#define LINGER_MS 300

uint32_t crash_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/* twice, so that a message of two halves is seen */
void crash_text(char *text, uint32_t number)
{
	snprintf(text, CRASH_TEXT, "%012u .. %012u", number, number);
}

/* -1: it is no message */
static long number_in(const char *text)
{
	char want[CRASH_TEXT] = "", have[CRASH_TEXT];
	unsigned int number;

	memcpy(have, text, sizeof(have));
	have[CRASH_TEXT - 1] = 0;
	if (sscanf(have, "%12u", &number) != 1)
		return -1;
	crash_text(want, number);
	return memcmp(want, have, CRASH_TEXT) ? -1 : (long)number;
}

static int open_shared(struct crash_stage *stage, uint32_t flags, int with_srq)
{
	const struct ibv_share_cq_init_attr attr = { .flags = flags, .cqe = 2 * QUEUE };
	struct ibv_qp_init_attr init = { .cap = { QUEUE, QUEUE, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = QUEUE, .max_sge = 1 } };
	struct crash_side *side = &stage->side;

	stage->memory = memfd_create("crash", MFD_CLOEXEC);
	CHECK(stage->memory >= 0 && !ftruncate(stage->memory, sizeof(*side->table)));
	side->table = mmap(NULL, sizeof(*side->table), PROT_READ | PROT_WRITE, MAP_SHARED,
			   stage->memory, 0);
	CHECK(side->table != MAP_FAILED);
	CHECK(stage->context = lib_open("rxe0"));
	CHECK(stage->ctx = ibv_share_open(stage->context, NULL));
	CHECK(stage->pd = ibv_share_alloc_pd(stage->ctx));
	CHECK(side->cq = ibv_share_create_cq_ex(stage->ctx, &attr));
	init.send_cq = init.recv_cq = side->cq;
	if (with_srq)
		CHECK(side->srq = ibv_share_create_srq(stage->pd, side->cq, &srq));
	init.srq = side->srq;
	CHECK(side->qp = ibv_share_create_qp(stage->pd, &init));
	CHECK(stage->mr = ibv_reg_shared_mr(stage->pd, 0, sizeof(*side->table), 0, stage->memory,
					    ACCESS));
	side->lkey = stage->mr->lkey;
	stage->lives = 1;
	return 0;
}

static int peer_recv(struct crash_peer *peer, uint32_t buffer)
{
	struct ibv_sge sge = { (uintptr_t)peer->memory + buffer * CRASH_TEXT, CRASH_TEXT,
			       peer->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = buffer, .sg_list = &sge, .num_sge = 1 };

	CHECK(!ibv_post_recv(peer->qp, &wr, &bad));
	return 0;
}

static int open_peer(struct crash_peer *peer)
{
	struct ibv_qp_init_attr init = { .cap = { PEER_SENDS, PEER_BUFFERS, 1, 1, CRASH_TEXT },
					 .qp_type = IBV_QPT_RC };

	CHECK(peer->context = lib_open("rxe1"));
	CHECK(peer->pd = ibv_alloc_pd(peer->context));
	CHECK(peer->cq = ibv_create_cq(peer->context, 2 * PEER_BUFFERS, NULL, NULL, 0));
	init.send_cq = init.recv_cq = peer->cq;
	CHECK(peer->qp = ibv_create_qp(peer->pd, &init));
	peer->memory = mmap(NULL, PEER_BUFFERS * CRASH_TEXT, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(peer->memory != MAP_FAILED);
	CHECK(peer->mr = ibv_reg_mr(peer->pd, peer->memory, PEER_BUFFERS * CRASH_TEXT, ACCESS));
	return 0;
}

int crash_open(struct crash_stage *stage, uint32_t flags, int with_srq)
{
	union ibv_gid gid0, gid1;
	uint32_t i;

	memset(stage, 0, sizeof(*stage));
	CHECK(!open_shared(stage, flags, with_srq) && !open_peer(&stage->peer));
	CHECK(!ibv_query_gid(stage->context, 1, GID_INDEX, &gid0));
	CHECK(!ibv_query_gid(stage->peer.context, 1, GID_INDEX, &gid1));
	CHECK(!lib_connect(stage->side.qp, 1, stage->peer.qp->qp_num, &gid1));
	CHECK(!lib_connect(stage->peer.qp, 0, stage->side.qp->qp_num, &gid0));
	for (i = 0; i < PEER_BUFFERS; i++)
		CHECK(!peer_recv(&stage->peer, i));
	return 0;
}

int crash_close(struct crash_stage *stage)
{
	CHECK(!ibv_share_destroy_qp(stage->side.qp));
	CHECK(!stage->side.srq || !ibv_share_destroy_srq(stage->side.srq));
	CHECK(!ibv_share_destroy_cq(stage->side.cq));
	CHECK(!ibv_dereg_mr(stage->mr));
	CHECK(!ibv_share_dealloc_pd(stage->pd));
	CHECK(!ibv_share_close(stage->ctx));
	CHECK(!ibv_close_device(stage->context));
	CHECK(!ibv_destroy_qp(stage->peer.qp));
	CHECK(!ibv_destroy_cq(stage->peer.cq));
	CHECK(!ibv_dereg_mr(stage->peer.mr));
	CHECK(!ibv_dealloc_pd(stage->peer.pd));
	CHECK(!ibv_close_device(stage->peer.context));
	munmap(stage->side.table, sizeof(*stage->side.table));
	munmap(stage->peer.memory, PEER_BUFFERS * CRASH_TEXT);
	close(stage->memory);
	return 0;
}

static int peer_got(struct crash_stage *stage, const struct ibv_wc *wc)
{
	long number = number_in(stage->peer.memory + wc->wr_id * CRASH_TEXT);

	CHECK(wc->byte_len == CRASH_TEXT && number >= 0 && number < CRASH_NUMBERS);
	CHECK(!stage->side.table->arrived[number]++);
	return peer_recv(&stage->peer, (uint32_t)wc->wr_id);
}

static int peer_send(struct crash_peer *peer)
{
	char text[CRASH_TEXT] = "";
	struct ibv_sge sge = { (uintptr_t)text, CRASH_TEXT, 0 };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};

	/* 0 is what memory looks like that no message came to */
	crash_text(text, ++peer->sent);
	CHECK(!ibv_post_send(peer->qp, &wr, &bad));
	return 0;
}

int crash_turn(struct crash_stage *stage)
{
	struct crash_peer *peer = &stage->peer;
	struct ibv_wc wc[8];
	int i, n;

	CHECK(crash_poll(&stage->side) >= 0);
	n = ibv_poll_cq(peer->cq, 8, wc);
	for (i = 0; i < n; i++) {
		CHECK(wc[i].status == IBV_WC_SUCCESS);
		if (wc[i].opcode == IBV_WC_RECV)
			CHECK(!peer_got(stage, &wc[i]));
		else
			peer->done++;
	}
	while (!peer->quiet && peer->sent - peer->done < PEER_SENDS && peer->sent < CRASH_NUMBERS)
		CHECK(!peer_send(peer));
	return 0;
}

static int is_polled(const struct crash_life *life, uint64_t id, enum ibv_wc_status status)
{
	int i;

	for (i = 0; i < CRASH_BATCH; i++)
		if (life->polled[i].wr_id == id && life->polled[i].status == status)
			return 1;
	return 0;
}

/* Its process, or its heir, may have died in the moment when it had got it. */
static int died_with(const struct crash_stage *stage, enum crash_kind kind, uint32_t number,
		     enum ibv_wc_status status)
{
	uint64_t id = (uint64_t)(kind + 1) << 32 | number;
	uint32_t i;

	for (i = 0; i < stage->lives; i++)
		if (is_polled(&stage->side.table->lives[i], id, status))
			return 1;
	return 0;
}

static int is_over(const struct crash_stage *stage, enum crash_kind kind, uint32_t number)
{
	return atomic_load(&stage->side.table->ended[kind][number]) ||
	       died_with(stage, kind, number, IBV_WC_SUCCESS) ||
	       died_with(stage, kind, number, IBV_WC_WR_FLUSH_ERR);
}

static int is_settled(const struct crash_stage *stage, uint32_t life, enum crash_kind kind)
{
	uint32_t i, posted = atomic_load(&stage->side.table->lives[life].posted[kind]);

	for (i = 0; i < posted; i++)
		if (!is_over(stage, kind, life * CRASH_EACH + i))
			return 0;
	return 1;
}

int crash_is_settled(const struct crash_stage *stage, uint32_t life)
{
	return is_settled(stage, life, CRASH_SEND);
}

static int all_settled(const struct crash_stage *stage, enum crash_kind kind)
{
	uint32_t i;

	for (i = 0; i < stage->lives; i++)
		if (!is_settled(stage, i, kind))
			return 0;
	return 1;
}

/* Nothing is on its way any more, in either direction. */
static int drain(struct crash_stage *stage)
{
	uint32_t start = crash_now_ms();

	stage->peer.quiet = 1;
	/* behind all that the dead have posted, and perhaps not said */
	CHECK(!crash_post(&stage->side, CRASH_SEND, 1));
	while (stage->peer.done != stage->peer.sent || !all_settled(stage, CRASH_SEND)) {
		CHECK(!crash_turn(stage) && crash_now_ms() - start < CRASH_WAIT_MS);
		/* for want of receives it might wait for ever */
		if (crash_outstanding(&stage->side, CRASH_RECV) < 4)
			crash_post(&stage->side, CRASH_RECV, 1);
	}
	return 0;
}

/* What is left is flushed, which ends with what was posted last; in an SRQ it stays. */
static int flush(struct crash_stage *stage)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	uint32_t start = crash_now_ms();

	if (!stage->side.srq) {
		CHECK(!ibv_share_modify_qp(stage->side.qp, &attr, IBV_QP_STATE));
		CHECK(!crash_post(&stage->side, CRASH_RECV, 1));
	}
	while (!stage->side.srq && !all_settled(stage, CRASH_RECV))
		CHECK(!crash_turn(stage) && crash_now_ms() - start < CRASH_WAIT_MS);
	start = crash_now_ms();
	while (crash_now_ms() - start < LINGER_MS)
		CHECK(!crash_turn(stage));
	return 0;
}

/* struct sum - @between: killed while nobody could tell; @last: see died_with() */
struct sum {
	uint32_t posted, between, last;
};

static void describe(const struct crash_stage *stage, enum crash_kind kind, uint32_t life,
		     uint32_t i)
{
	const struct crash_table *table = stage->side.table;
	const uint32_t number = life * CRASH_EACH + i;

	printf("# life %u, %s %u of %u, %u tried: %u completions, %u arrived, died with %d\n", life,
	       kind == CRASH_SEND ? "message" : "receive", i,
	       atomic_load(&table->lives[life].posted[kind]),
	       atomic_load(&table->lives[life].tried[kind]),
	       atomic_load(&table->ended[kind][number]), table->arrived[number],
	       died_with(stage, kind, number, IBV_WC_SUCCESS));
}

static int account_one(const struct crash_stage *stage, enum crash_kind kind, uint32_t life,
		       uint32_t i, struct sum *sum)
{
	const struct crash_table *table = stage->side.table;
	const uint32_t number = life * CRASH_EACH + i;
	unsigned int ended = atomic_load(&table->ended[kind][number]);
	int arrived = kind == CRASH_SEND && table->arrived[number];
	int is_posted = i < atomic_load(&table->lives[life].posted[kind]);
	int is_tried = i < atomic_load(&table->lives[life].tried[kind]);

	CHECK(ended <= 1);
	CHECK(is_tried || (!ended && !arrived));
	if (!ended && is_over(stage, kind, number)) {
		sum->last++;
		ended = 1;
	}
	sum->posted += ended;
	sum->between += is_tried && !is_posted;
	CHECK(!is_posted || ended || (kind == CRASH_RECV && stage->side.srq));
	/* whole or not at all */
	CHECK(kind == CRASH_RECV || !ended == !arrived);
	return 0;
}

/* Each message of the peer in one buffer, and that one was completed once. */
static int account_peer(struct crash_stage *stage)
{
	static unsigned char got[CRASH_NUMBERS + 1];
	struct crash_table *table = stage->side.table;
	uint32_t i, sum = 0;
	long number;

	memset(got, 0, sizeof(got));
	for (i = 0; i < CRASH_NUMBERS; i++) {
		if (!table->text[CRASH_RECV][i][0]) {
			CHECK(!stage->side.srq || !is_over(stage, CRASH_RECV, i));
			continue;
		}
		number = number_in(table->text[CRASH_RECV][i]);
		CHECK(number > 0 && number <= (long)stage->peer.sent);
		CHECK(!got[number]++ && is_over(stage, CRASH_RECV, i));
		CHECK(!atomic_load(&table->flushed[CRASH_RECV][i]));
		sum++;
	}
	CHECK(sum == stage->peer.sent);
	return 0;
}

int crash_account(struct crash_stage *stage)
{
	struct sum sum[CRASH_KINDS] = {};
	uint32_t n;
	int kind;

	CHECK(!drain(stage) && !flush(stage) && !account_peer(stage));
	for (kind = 0; kind < CRASH_KINDS; kind++) {
		for (n = 0; n < CRASH_NUMBERS; n++) {
			if (!account_one(stage, kind, n / CRASH_EACH, n % CRASH_EACH, &sum[kind]))
				continue;
			describe(stage, kind, n / CRASH_EACH, n % CRASH_EACH);
			return 1;
		}
	}
	for (kind = 0; kind < CRASH_KINDS; kind++)
		printf("# %s: %u, each once; %u in a call without end, %u died with\n",
		       kind == CRASH_SEND ? "messages" : "receives", sum[kind].posted,
		       sum[kind].between, sum[kind].last);
	return 0;
}
