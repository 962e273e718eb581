// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What a process leaves that dies at any instruction, and who repairs it:
 *
 *   lock word             who wants the lock takes it over, see lock.c
 *   posted by halves      head ahead of the ring's producer index: the next
 *                         poster puts it back, nobody has seen the request
 *   steered by halves     share_cq_body.intent: the next holder of the lock
 *   mail of the dead      here: to the heir
 *   requests in flight    share_slot.orphaned: whoever steers them, to the heir
 *   doorbell word         here: kicked once more
 *   QP failed, no kick    here
 *   credits and quotas    never too low; recount.c, when it has all locks
 *
 * Any number of processes may do this at a time, and die in it.
 */
#include <errno.h>
#include "directory.h"
#include "doorbell.h"
#include "event.h"
#include "futex.h"
#include "heir.h"
#include "intent.h"
#include "recover.h"

struct share_member share_impatient(const struct share_member *me)
{
	struct share_member copy = *me;

	/* that is one look at whether the holder is alive */
	copy.timeout_ms = 1;
	return copy;
}

static int bury_on_cq(struct share_control *control,
		      const struct share_cq_view *cq, uint32_t slot,
		      uint32_t generation)
{
	struct share_control hurried = *control;
	uint64_t mail = 0;
	int ret;

	hurried.me = share_impatient(&control->me);
	ret = share_lock(&cq->body->lock, &hurried.me);
	if (ret && ret != EOWNERDEAD)
		return ret;
	share_intent_settle(control, cq);
	/* whoever has the slot now has done this, and has mail of its own */
	ret = 0;
	if (share_load_acquire(&share_control_slot(control, slot)->generation) ==
	    generation)
		ret = share_hand_over(&hurried, cq, slot, &mail);
	share_store(&cq->body->recount, 1);
	share_unlock(&cq->body->lock, &control->me);
	share_event_released(control, cq, mail);
	return ret;
}

/* From the first store on, what belongs to it goes to the heir. */
static int bury(struct share_control *control, uint32_t slot,
		uint32_t generation)
{
	struct share_slot *s = share_control_slot(control, slot);
	struct share_cq_view cq;
	uint32_t i;

	if (share_load_acquire(&s->recovered) == generation)
		return 0;
	share_store_ordered(&s->orphaned, generation);
	for (i = 0; i < share_control_used_cqs(control); i++) {
		if (share_control_cq(control, i, &cq))
			continue;
		if (bury_on_cq(control, &cq, slot, generation))
			return EAGAIN;
	}
	share_store_ordered(&s->recovered, generation);
	return 0;
}

/* 1: @slot had a process that is dead now. -1: and not all is done for it. */
static int look_at(struct share_control *control, uint32_t slot)
{
	const struct share_env *env = &control->me.env;
	uint32_t before = share_load(&control->alive[slot]);
	uint32_t now = share_load_acquire(
		&share_control_slot(control, slot)->generation);

	if (!now || share_load(&control->buried[slot]) == now)
		return 0;
	if (env->slot_alive(env->arg, slot, now & SHARE_LOCK_GENERATION_MASK)) {
		share_store(&control->alive[slot], now);
		return before && before != now;
	}
	if (bury(control, slot, now))
		return -1;
	share_store(&control->buried[slot], now);
	return 1;
}

static void repair_qp(struct share_control *control, uint32_t index)
{
	struct share_qp_view qp;

	if (share_control_qp(control, index, &qp))
		return;
	share_doorbell_recover(control, &qp);
	/* who saw it fail may have died before its kick */
	if (share_load(&qp.body->state) == IBV_QPS_ERR)
		share_doorbell_flush(control, &qp);
}

int share_recover(struct share_control *control)
{
	int dead = 0, missed = 0, ret;
	uint32_t i;

	share_store(&control->looked_ms, share_now_ms());
	for (i = 0; i < SHARE_MAX_SLOTS; i++) {
		if (i == control->me.slot)
			continue;
		ret = look_at(control, i);
		dead |= ret != 0;
		missed |= ret < 0;
	}
	for (i = 0; dead && i < share_control_used_qps(control); i++)
		repair_qp(control, i);
	return missed ? EAGAIN : 0;
}

void share_recover_sometimes(struct share_control *control)
{
	uint32_t now = share_now_ms();
	uint32_t then = __atomic_load_n(&control->looked_ms, __ATOMIC_RELAXED);

	/* one thread of those that come at the same time */
	if (now - then >= control->me.recheck_ms &&
	    __atomic_compare_exchange_n(&control->looked_ms, &then, now, 0,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		share_recover(control);
}
