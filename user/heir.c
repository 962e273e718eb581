// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include "directory.h"
#include "event.h"
#include "heir.h"
#include "intent.h"
#include "mailbox.h"

int share_slot_is(const struct share_control *control, uint32_t slot,
		  uint32_t generation)
{
	const struct share_slot *s = share_control_slot(control, slot);

	return share_load_acquire(&s->generation) == generation &&
	       share_load_acquire(&s->orphaned) != generation;
}

static int is_there(const struct share_control *control, uint32_t word,
		    uint32_t *slot, uint32_t *generation)
{
	*slot = (word >> 24) - 1;
	if (*slot >= SHARE_MAX_SLOTS)
		return 0;
	*generation = share_load_acquire(
		&share_control_slot(control, *slot)->generation);
	return share_owner_word(*slot, *generation) == word &&
	       share_slot_is(control, *slot, *generation);
}

int share_heir(const struct share_control *control, uint32_t *slot,
	       uint32_t *generation)
{
	const struct share_control_header *header =
		share_control_header(control);
	uint32_t i;

	for (i = 0; i < SHARE_MAX_HEIRS; i++) {
		if (is_there(control, share_load_acquire(&header->heirs[i]),
			     slot, generation))
			return 0;
	}
	return ENOENT;
}

static int take_place(const struct share_cq_view *cq, uint32_t slot)
{
	uint32_t used;

	return share_credit_take(&share_mailbox_of(cq, slot)->quota,
				 cq->capacity, &used)
		       ? EAGAIN
		       : 0;
}

int share_find_owner(const struct share_control *control,
		     const struct share_cq_view *cq, uint32_t *slot,
		     uint32_t *generation)
{
	const struct share_member *me = &control->me;
	const int is_mine = *slot == me->slot && *generation == me->generation;

	if (is_mine || (!(cq->flags & SHARE_CQ_ANY) &&
			share_slot_is(control, *slot, *generation)))
		return 0;
	if (!(cq->flags & SHARE_CQ_ANY)) {
		share_count(&cq->body->counters.orphans);
		if (!share_heir(control, slot, generation) &&
		    !take_place(cq, *slot))
			return 0;
	}
	*slot = me->slot;
	*generation = me->generation;
	return take_place(cq, me->slot);
}

static int move_all(const struct share_control *control,
		    const struct share_cq_view *cq, uint32_t slot,
		    uint64_t *mail)
{
	const struct share_member *me = &control->me;
	struct share_mailbox *box = share_mailbox_of(cq, slot);
	uint32_t left = share_mailbox_count(cq, slot);
	uint32_t heir, generation, used;

	if (share_heir(control, &heir, &generation)) {
		heir = me->slot;
		generation = me->generation;
	}
	if (heir == slot) {
		/* a new process has it, and nobody else is there */
		share_store(&box->quota, left);
		return 0;
	}
	for (; left; left--) {
		if (share_credit_take(&share_mailbox_of(cq, heir)->quota,
				      cq->capacity, &used))
			return EBUSY;
		share_mailbox_move(cq, slot, heir, generation);
		*mail |= 1ull << heir;
	}
	share_store_release(&box->consumer, share_load(&box->producer));
	share_store(&box->quota, 0);
	return 0;
}

int share_hand_over(const struct share_control *control,
		    const struct share_cq_view *cq, uint32_t slot,
		    uint64_t *mail)
{
	struct share_mailbox *box = share_mailbox_of(cq, slot);
	int ret = share_lock(&box->lock, &control->me);

	if (ret && ret != EOWNERDEAD)
		return ret;
	ret = move_all(control, cq, slot, mail);
	share_unlock(&box->lock, &control->me);
	return ret;
}

static int reset_mailbox(struct share_control *control,
			 const struct share_cq_view *cq)
{
	const struct share_member *me = &control->me;
	struct share_mailbox *box = share_mailbox_of(cq, me->slot);
	uint64_t mail = 0;
	int ret;

	share_store(&box->armed, 0);
	share_store(&box->async, 0);
	ret = share_lock(&cq->body->lock, me);
	if (ret && ret != EOWNERDEAD)
		return ret;
	share_intent_settle(control, cq);
	ret = share_hand_over(control, cq, me->slot, &mail);
	/* of the slot's former process, if it was killed there */
	share_store(&box->looking, 0);
	/* what the former process had reserved */
	share_store(&cq->body->recount, 1);
	share_unlock(&cq->body->lock, me);
	share_event_released(control, cq, mail);
	return ret;
}

/* Those were for the former process. */
static void reset_events(struct share_control *control)
{
	const uint32_t slot = control->me.slot;
	struct share_srq_view srq;
	struct share_qp_view qp;
	uint32_t i;

	share_store(&share_control_header(control)->device_events[slot], 0);
	for (i = 0; i < share_control_used_qps(control); i++)
		if (!share_control_qp(control, i, &qp))
			share_store(&qp.body->events[slot], 0);
	for (i = 0; i < share_control_used_srqs(control); i++)
		if (!share_control_srq(control, i, &srq))
			share_store(&srq.body->events[slot], 0);
}

int share_control_slot_reset(struct share_control *control)
{
	struct share_cq_view cq;
	uint32_t i;
	int ret;

	/*
	 * First of all: from now on completions of the former process are
	 * orphans. Who is steering one holds the lock that is taken next.
	 */
	share_store_release(&share_control_slot(control, control->me.slot)
				     ->generation,
			    control->me.generation);
	reset_events(control);
	for (i = 0; i < share_control_used_cqs(control); i++) {
		if (share_control_cq(control, i, &cq))
			continue;
		ret = reset_mailbox(control, &cq);
		if (ret)
			return ret;
	}
	return 0;
}
