/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The gate of a QP: receives first, then the connection.
 */
#ifndef SHARE_GATE_H
#define SHARE_GATE_H

#include "post.h"

/*
 * struct share_gate_count - a gate at a moment
 * @round: how often it was begun
 * @phase: enum share_gate_phase
 * @workers: processes that have reported and not left
 * @dead: how many of them are not alive
 * @receives: posted, by whomever, and not completed yet
 * @reported: sum of what was reported
 */
struct share_gate_count {
	uint32_t round;
	uint32_t phase;
	uint32_t workers;
	uint32_t dead;
	uint32_t receives;
	uint32_t reported;
};

/*
 * The server, for the states of its QP. INIT: begin, a new round unless the
 * last has come no further; ERR: end with OVER; RESET: with SHUT.
 */
void share_gate_begin(struct share_qp_path *path);
void share_gate_end(struct share_qp_path *path, enum share_gate_phase phase);

/*
 * The server. Timeouts are in milliseconds, negative for none; ETIMEDOUT.
 * ENOLINK: the QP is gone. ECONNRESET: the round is over. EINVAL: the QP is
 * not in a state for it.
 */
int share_gate_collect(struct share_qp_path *path, uint32_t workers,
		       uint32_t receives, int timeout_ms);
int share_gate_open(struct share_qp_path *path);
int share_gate_drain(struct share_qp_path *path, int timeout_ms);

/*
 * Workers. The same errors, and ESRCH: the server is dead. share_gate_wait()
 * for SHARE_GATE_POST: a round that this process has not taken part in yet;
 * for SHARE_GATE_OPEN: the one that it takes part in.
 */
int share_gate_wait(struct share_qp_path *path, enum share_gate_phase phase,
		    int timeout_ms);
int share_gate_report(struct share_qp_path *path, uint32_t receives);
void share_gate_leave(struct share_qp_path *path);

/* The second makes no system call and does not know of all @dead. */
void share_gate_count(const struct share_qp_path *path,
		      struct share_gate_count *count);
void share_gate_peek(const struct share_qp_path *path,
		     struct share_gate_count *count);

/* For gate_wait.c. */
int share_gate_is_alive(const struct share_qp_path *path, uint32_t slot,
			uint32_t generation);
void share_gate_set_server(struct share_qp_path *path);

static inline struct share_gate *share_gate_of(const struct share_qp_path *path)
{
	return &path->view.body->gate;
}

static inline uint32_t share_gate_phase(uint32_t state)
{
	return state & ((1u << SHARE_GATE_PHASE_BITS) - 1);
}

static inline uint32_t share_gate_round(uint32_t state)
{
	return state >> SHARE_GATE_PHASE_BITS;
}

static inline uint32_t share_gate_state(uint32_t round, uint32_t phase)
{
	return round << SHARE_GATE_PHASE_BITS | phase;
}

/* Who comes when it is open already takes part, too. */
static inline int share_gate_takes_part(uint32_t state)
{
	return share_gate_phase(state) == SHARE_GATE_POST ||
	       share_gate_phase(state) == SHARE_GATE_OPEN;
}

/* Requests of one direction that have not been retired. */
static inline uint32_t share_gate_outstanding(const struct share_wq *wq,
					      uint32_t entries)
{
	uint32_t tail = share_load_acquire(&wq->tail);
	uint32_t n = share_load_acquire(&wq->head) - tail;

	return n < entries ? n : entries;
}

#endif /* SHARE_GATE_H */
