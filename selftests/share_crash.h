/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Processes that are killed while they use one QP and one CQ. Every message has
 * a number and stands in memory of its own, every request has that number as its
 * wr_id, and whoever polls a completion counts it in memory of all: so in the
 * end each can be accounted for.
 */
#ifndef SHARE_CRASH_H
#define SHARE_CRASH_H

#include <stdatomic.h>
#include <sys/types.h>
#include "share_library.h"

#define CRASH_WORKERS 3
#define CRASH_LIVES 80 /* of workers, one after the other; 0 is the maker */
#define CRASH_EACH 1024 /* requests of a life in each direction */
#define CRASH_NUMBERS (CRASH_LIVES * CRASH_EACH)
#define CRASH_TEXT 32 /* bytes of a message */
#define CRASH_BATCH 4
#define CRASH_WAIT_MS 20000

enum crash_kind {
	CRASH_SEND,
	CRASH_RECV,
	CRASH_KINDS
};

/*
 * struct crash_life - what a process says of itself, before and after each call
 * @tried, @posted: requests; between the two nobody can tell
 * @polled: where its poll puts completions: one that the process has died with
 *	is counted here only. wr_id 0: none
 * @aim: it is to stop before its next post or poll, see enum crash_aim
 */
struct crash_life {
	atomic_uint slot, ready, error, aim;
	atomic_uint tried[CRASH_KINDS], posted[CRASH_KINDS];
	struct ibv_wc polled[CRASH_BATCH];
	pid_t pid;
};

enum crash_aim {
	CRASH_ANYWHERE,
	CRASH_AT_SEND,
	CRASH_AT_RECV,
	CRASH_AT_POLL
};

/*
 * struct crash_table - memory of all processes
 * @ended: completions that were counted, for each number
 * @flushed: how many of them were flushes
 * @arrived: messages that the peer has got
 * @sent_to: memory for messages of ours; @received: of the peer's
 */
struct crash_table {
	struct crash_life lives[CRASH_LIVES];
	atomic_uchar ended[CRASH_KINDS][CRASH_NUMBERS];
	atomic_uchar flushed[CRASH_KINDS][CRASH_NUMBERS];
	unsigned char arrived[CRASH_NUMBERS];
	char text[CRASH_KINDS][CRASH_NUMBERS][CRASH_TEXT];
};

/* struct crash_side - a QP as one process has it; @srq: of the QP, or NULL; @me:
 * its life; @oldest: the first that is outstanding */
struct crash_side {
	struct crash_table *table;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	uint32_t lkey;
	uint32_t me;
	uint32_t oldest[CRASH_KINDS];
};

/* struct crash_peer - an ordinary QP, whose messages have numbers, too */
struct crash_peer {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *memory;
	uint32_t sent, done, quiet;
};

struct crash_stage {
	struct ibv_context *context;
	struct ibv_share_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int memory;
	struct crash_side side;
	struct crash_peer peer;
	uint32_t lives;
};

/* share_crash_worker.c */

/* Up to @n messages, in one call, or receives; an errno value. */
int crash_post(struct crash_side *side, enum crash_kind kind, uint32_t n);
/* Counts what is there; -1: a completion that cannot be, with a sentence */
int crash_poll(struct crash_side *side);
uint32_t crash_outstanding(struct crash_side *side, enum crash_kind kind);
/* Starts the next worker; waits until it works. 1 and says why, or 0. */
int crash_start(struct crash_stage *stage, uint32_t *life);

/* share_crash.c: these return 1 and say why, or 0. */

/* @flags: of the CQ, enum ibv_share_cq_flag; @with_srq: receives go to an SRQ */
int crash_open(struct crash_stage *stage, uint32_t flags, int with_srq);
int crash_close(struct crash_stage *stage);
/* One turn of the maker and of the peer. */
int crash_turn(struct crash_stage *stage);
/* Has each message that this process had posted got its completion? */
int crash_is_settled(const struct crash_stage *stage, uint32_t life);
/* All workers are dead. Ends the traffic, and looks at each number. */
int crash_account(struct crash_stage *stage);

uint32_t crash_now_ms(void);
/* What a message says, for a number. */
void crash_text(char *text, uint32_t number);

#endif /* SHARE_CRASH_H */
