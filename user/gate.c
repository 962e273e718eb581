// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Workers post receives while the QP is in INIT and report; the server waits
 * for that, connects, and opens; the workers wait for it. A round is one
 * connection:
 *
 *   SHUT -> POST -> OPEN -> OVER -> SHUT
 *           INIT            ERR     RESET
 *
 * What the server waits for is what is in the receive queue, not what somebody
 * says that he has posted: receives of a worker that died are there, too.
 *
 * The state is stored with release when a round begins, and loaded with
 * acquire: who sees the round sees the counters cleared.
 */
#include <errno.h>
#include <limits.h>
#include "futex.h"
#include "gate.h"

static void wake(uint32_t *word)
{
	int saved = errno;

	share_futex_wake(word, INT_MAX);
	errno = saved;
}

/* What the server waits for may have come. */
static void tell_server(struct share_gate *gate)
{
	__atomic_fetch_add(&gate->changes, 1, __ATOMIC_RELEASE);
	wake(&gate->changes);
}

int share_gate_is_alive(const struct share_qp_path *path, uint32_t slot,
			uint32_t generation)
{
	const struct share_member *me = &path->control->me;

	if (slot == me->slot && generation == me->generation)
		return 1;
	return slot < SHARE_MAX_SLOTS &&
	       me->env.slot_alive(me->env.arg, slot,
				  generation & SHARE_LOCK_GENERATION_MASK);
}

void share_gate_set_server(struct share_qp_path *path)
{
	const struct share_member *me = &path->control->me;
	struct share_gate *gate = share_gate_of(path);

	share_store(&gate->server, me->slot);
	share_store_release(&gate->server_generation, me->generation);
}

void share_gate_begin(struct share_qp_path *path)
{
	struct share_gate *gate = share_gate_of(path);
	uint32_t state = share_load(&gate->state);
	uint32_t round = share_gate_round(state) + 1;
	uint32_t i;

	share_gate_set_server(path);
	if (share_gate_phase(state) == SHARE_GATE_POST)
		return;
	for (i = 0; i < SHARE_MAX_SLOTS; i++)
		share_store(&gate->arrived[i], 0);
	share_store(&gate->reported, 0);
	share_store(&gate->replaced, 0);
	share_store_release(&gate->state,
			    share_gate_state(round, SHARE_GATE_POST));
	wake(&gate->state);
}

/* 0, or ECONNRESET if the phase is neither of the two */
static int move(struct share_gate *gate, uint32_t from, uint32_t or_from,
		uint32_t to)
{
	uint32_t state = share_load(&gate->state);
	uint32_t phase, next;

	do {
		phase = share_gate_phase(state);
		if (phase != from && phase != or_from)
			return ECONNRESET;
		next = share_gate_state(share_gate_round(state), to);
	} while (!__atomic_compare_exchange_n(&gate->state, &state, next, 0,
					      __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	wake(&gate->state);
	return 0;
}

void share_gate_end(struct share_qp_path *path, enum share_gate_phase phase)
{
	struct share_gate *gate = share_gate_of(path);

	if (move(gate, SHARE_GATE_POST, SHARE_GATE_OPEN, phase) &&
	    phase == SHARE_GATE_SHUT)
		move(gate, SHARE_GATE_OVER, SHARE_GATE_SHUT, phase);
	/* another thread may be waiting for workers */
	tell_server(gate);
}

int share_gate_open(struct share_qp_path *path)
{
	if (share_control_qp_live(path->control, &path->view))
		return ENOLINK;
	switch (share_qp_state(path)) {
	case IBV_QPS_RTR:
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
		return move(share_gate_of(path), SHARE_GATE_POST, SHARE_GATE_OPEN,
			    SHARE_GATE_OPEN);
	case IBV_QPS_ERR:
		return ECONNRESET;
	default:
		return EINVAL;
	}
}

void share_gate_peek(const struct share_qp_path *path,
		     struct share_gate_count *count)
{
	struct share_gate *gate = share_gate_of(path);
	uint32_t state = share_load_acquire(&gate->state);
	uint32_t i;

	count->round = share_gate_round(state);
	count->phase = share_gate_phase(state);
	count->dead = share_load(&gate->replaced);
	count->workers = count->dead;
	for (i = 0; i < SHARE_MAX_SLOTS; i++)
		count->workers += !!share_load(&gate->arrived[i]);
	count->reported = share_load(&gate->reported);
	count->receives = share_gate_outstanding(&path->view.body->recv,
						 path->view.attr.rq_entries);
}

void share_gate_count(const struct share_qp_path *path,
		      struct share_gate_count *count)
{
	struct share_gate *gate = share_gate_of(path);
	uint32_t i, generation;

	share_gate_peek(path, count);
	for (i = 0; i < SHARE_MAX_SLOTS; i++) {
		generation = share_load(&gate->arrived[i]);
		if (generation && !share_gate_is_alive(path, i, generation))
			count->dead++;
	}
}

int share_gate_report(struct share_qp_path *path, uint32_t receives)
{
	const struct share_member *me = &path->control->me;
	struct share_gate *gate = share_gate_of(path);
	uint32_t state = share_load_acquire(&gate->state);
	uint32_t mine = share_load(&path->gate_round);
	uint32_t before;

	if (share_control_qp_live(path->control, &path->view))
		return ENOLINK;
	if (!share_gate_takes_part(state) ||
	    (mine && mine != share_gate_round(state)))
		return ECONNRESET;
	share_store(&path->gate_round, share_gate_round(state));
	__atomic_fetch_add(&gate->reported, receives, __ATOMIC_RELAXED);
	before = __atomic_exchange_n(&gate->arrived[me->slot], me->generation,
				     __ATOMIC_ACQ_REL);
	if (before && before != me->generation)
		__atomic_fetch_add(&gate->replaced, 1, __ATOMIC_RELAXED);
	tell_server(gate);
	return 0;
}

void share_gate_leave(struct share_qp_path *path)
{
	struct share_gate *gate = share_gate_of(path);

	share_store_release(&gate->arrived[path->control->me.slot], 0);
	tell_server(gate);
}
