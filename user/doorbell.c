// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Doorbell combining. A kick is a system call, and one kick drains whatever is
 * published. Word of a QP, changed by compare and exchange only:
 *
 *   IDLE     0
 *   KICKING  kicker's slot + 1 in bits 31..24, generation in 23..2, 1
 *   AGAIN    the same, 2: somebody has published since
 *
 * Who finds KICKING makes it AGAIN and leaves: the kicker will kick once more.
 * Every change is acquire and release: who published before making it AGAIN is
 * seen by the kicker that finds AGAIN. The slot is for recovery: when a kicker
 * dies, its followers have left already.
 */
#include <rdma/ib_uverbs_share.h>
#include "doorbell.h"

#define IDLE 0u
#define KICKING 1u
#define AGAIN 2u
#define STATE_MASK 3u
/* Others must not be able to keep us here. */
#define MAX_ROUNDS 16
#define MAX_TRIES 1000

void share_doorbell_kick(const struct share_control *control,
			 const struct share_qp_view *qp, uint32_t flags)
{
	const struct share_env *env = &control->me.env;

	if (env->kick(env->arg, qp->index, flags))
		__atomic_fetch_add(&qp->body->failed_kicks, 1,
				   __ATOMIC_RELAXED);
}

static uint32_t kicking_word(const struct share_member *me)
{
	return (me->slot + 1) << 24 | (me->generation & 0x3fffff) << 2 |
	       KICKING;
}

static int change(uint32_t *word, uint32_t *from, uint32_t to)
{
	return __atomic_compare_exchange_n(word, from, to, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* 1: the caller has to kick; 0: the one who is at it will do it. */
static int enter(uint32_t *word, uint32_t mine)
{
	uint32_t seen = share_load(word);
	int i;

	for (i = 0; i < MAX_TRIES; i++) {
		switch (seen & STATE_MASK) {
		case IDLE:
			if (change(word, &seen, mine))
				return 1;
			break;
		case KICKING:
			if (change(word, &seen, seen ^ KICKING ^ AGAIN))
				return 0;
			break;
		default:
			/* written, too: orders our store before its look */
			if (change(word, &seen, seen))
				return 0;
		}
	}
	return 1;
}

void share_doorbell_ring(const struct share_control *control,
			 const struct share_qp_view *qp)
{
	uint32_t mine = kicking_word(&control->me);
	uint32_t *word = &qp->body->doorbell;
	uint32_t seen;
	int i;

	if (!enter(word, mine))
		return;
	for (i = 0; i < MAX_ROUNDS; i++) {
		share_doorbell_kick(control, qp,
				    IB_UVERBS_SHARE_KICK_SEND);
		seen = mine;
		if (change(word, &seen, IDLE))
			return;
		change(word, &seen, mine);
	}
	/* who comes from now on kicks for itself, this is for those before */
	__atomic_exchange_n(word, IDLE, __ATOMIC_ACQ_REL);
	share_doorbell_kick(control, qp, IB_UVERBS_SHARE_KICK_SEND);
}

void share_doorbell_flush(const struct share_control *control,
			  const struct share_qp_view *qp)
{
	const struct share_env *env = &control->me.env;

	/* whoever has not imported it cannot have posted either */
	env->kick(env->arg, qp->index, IB_UVERBS_SHARE_KICK_SEND);
	if (qp->attr.rq_entries)
		env->kick(env->arg, qp->index, IB_UVERBS_SHARE_KICK_RECV);
}

/*
 * Every poster has imported the QP, so at least the followers can do this. The
 * second kick is for those who came after the first.
 */
void share_doorbell_recover(const struct share_control *control,
			    const struct share_qp_view *qp)
{
	const struct share_env *env = &control->me.env;
	uint32_t *word = &qp->body->doorbell;
	uint32_t seen = share_load(word);
	uint32_t owner = share_owner_word((seen >> 24) - 1,
					  seen >> 2 & 0x3fffff);
	uint32_t dead;

	if (!(seen & STATE_MASK) ||
	    share_owner_is_alive(owner, &control->me) ||
	    env->kick(env->arg, qp->index, IB_UVERBS_SHARE_KICK_SEND))
		return;
	dead = seen & ~STATE_MASK;
	while ((seen & ~STATE_MASK) == dead) {
		if (!change(word, &seen, IDLE))
			continue;
		share_doorbell_kick(control, qp, IB_UVERBS_SHARE_KICK_SEND);
		return;
	}
}
