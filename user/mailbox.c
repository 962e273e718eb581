// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <string.h>
#include "event.h"
#include "mailbox.h"

struct share_mailbox *share_mailbox_of(const struct share_cq_view *cq,
				       uint32_t slot)
{
	return &cq->body->mailboxes[slot % SHARE_MAX_SLOTS];
}

static struct share_completion *entry_of(const struct share_cq_view *cq,
					 uint32_t slot, uint32_t index)
{
	return cq->mail +
	       (size_t)(slot % SHARE_MAX_SLOTS) * cq->mailbox_entries +
	       (index & (cq->mailbox_entries - 1));
}

int share_mailbox_empty(const struct share_cq_view *cq, uint32_t slot)
{
	const struct share_mailbox *box = share_mailbox_of(cq, slot);

	return share_load(&box->producer) == share_load(&box->consumer);
}

static void pack(struct share_completion *c, const struct ibv_wc *wc,
		 uint64_t cookie, uint32_t slot_generation)
{
	memset(c, 0, sizeof(*c));
	c->wr_id_low = (uint32_t)wc->wr_id;
	c->wr_id_high = (uint32_t)(wc->wr_id >> 32);
	c->status = wc->status;
	c->opcode = wc->opcode;
	c->vendor_err = wc->vendor_err;
	c->byte_len = wc->byte_len;
	c->imm_data = wc->imm_data;
	c->qp_num = wc->qp_num;
	c->src_qp = wc->src_qp;
	c->wc_flags = wc->wc_flags;
	c->pkey_slid = (uint32_t)wc->pkey_index << 16 | wc->slid;
	c->sl_path = (uint32_t)wc->sl << 8 | wc->dlid_path_bits;
	c->cookie_low = (uint32_t)cookie;
	c->cookie_high = (uint32_t)(cookie >> 32);
	c->slot_generation = slot_generation;
}

static void unpack(struct ibv_wc *wc, const struct share_completion *c)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = (uint64_t)c->wr_id_high << 32 | c->wr_id_low;
	wc->status = (enum ibv_wc_status)c->status;
	wc->opcode = (enum ibv_wc_opcode)c->opcode;
	wc->vendor_err = c->vendor_err;
	wc->byte_len = c->byte_len;
	wc->imm_data = c->imm_data;
	wc->qp_num = c->qp_num;
	wc->src_qp = c->src_qp;
	wc->wc_flags = c->wc_flags;
	wc->pkey_index = (uint16_t)(c->pkey_slid >> 16);
	wc->slid = (uint16_t)c->pkey_slid;
	wc->sl = (uint8_t)(c->sl_path >> 8);
	wc->dlid_path_bits = (uint8_t)c->sl_path;
}

int share_mailbox_has(const struct share_cq_view *cq, uint32_t slot,
		      uint64_t cookie)
{
	uint32_t producer = share_load(&share_mailbox_of(cq, slot)->producer);
	const struct share_completion *last = entry_of(cq, slot, producer - 1);

	return share_load(&last->cookie_low) == (uint32_t)cookie &&
	       share_load(&last->cookie_high) == (uint32_t)(cookie >> 32);
}

int share_mailbox_put(const struct share_cq_view *cq, uint32_t slot,
		      uint32_t slot_generation, const struct ibv_wc *wc,
		      uint64_t cookie)
{
	struct share_mailbox *box = share_mailbox_of(cq, slot);
	uint32_t producer = share_load(&box->producer);
	struct share_completion c;

	if (share_mailbox_has(cq, slot, cookie))
		return 0;
	/* pairs with the release in take: that entry was copied out */
	if (producer - share_load_acquire(&box->consumer) >=
	    cq->mailbox_entries)
		return ENOSPC;
	pack(&c, wc, cookie, slot_generation);
	share_copy_out(entry_of(cq, slot, producer), &c, sizeof(c));
	/* pairs with the acquire in take */
	share_store_release(&box->producer, producer + 1);
	return 0;
}

int share_mailbox_take(const struct share_cq_view *cq,
		       const struct share_member *me,
		       struct share_lock_watch *watch, int num_entries,
		       struct ibv_wc *wc)
{
	struct share_mailbox *box = share_mailbox_of(cq, me->slot);
	struct share_completion c;
	uint32_t consumer, available;
	int n, ret;

	if (share_mailbox_empty(cq, me->slot))
		return 0;
	ret = share_trylock(&box->lock, me, watch);
	/* the consumer index moves last: nothing to repair */
	if (ret && ret != EOWNERDEAD)
		return 0;
	consumer = share_load(&box->consumer);
	available = share_load_acquire(&box->producer) - consumer;
	if (available > cq->mailbox_entries) {
		/* somebody tampered with it; start anew, empty */
		consumer += available;
		available = 0;
		share_store_release(&box->consumer, consumer);
	}
	for (n = 0; n < num_entries && (uint32_t)n < available; n++) {
		share_copy_in(&c, entry_of(cq, me->slot, consumer++),
			      sizeof(c));
		unpack(&wc[n], &c);
		share_store_release(&box->consumer, consumer);
	}
	share_unlock(&box->lock, me);
	share_credit_give(&box->quota, (uint32_t)n);
	return n;
}

int share_credit_take(uint32_t *word, uint32_t limit, uint32_t *used)
{
	uint32_t now = share_load(word);

	do {
		if (now >= limit)
			return ENOMEM;
	} while (!__atomic_compare_exchange_n(word, &now, now + 1, 1,
					      __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	*used = now + 1;
	return 0;
}

void share_credit_give(uint32_t *word, uint32_t count)
{
	uint32_t now = share_load(word);

	if (!count)
		return;
	while (!__atomic_compare_exchange_n(word, &now,
					    now > count ? now - count : 0, 1,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

int share_slot_is(const struct share_control *control, uint32_t slot,
		  uint32_t generation)
{
	return share_load_acquire(
		       &share_control_slot(control, slot)->generation) ==
	       generation;
}

int share_heir(const struct share_control *control, uint32_t *slot,
	       uint32_t *generation)
{
	const struct share_control_header *header =
		share_control_header(control);

	*generation = share_load_acquire(&header->heir_generation);
	*slot = share_load(&header->heir) % SHARE_MAX_SLOTS;
	if (!*generation || !share_slot_is(control, *slot, *generation))
		return ENOENT;
	return 0;
}

/* Under the lock of the CQ. */
static int hand_over(const struct share_control *control,
		     const struct share_cq_view *cq, uint64_t *mail)
{
	const struct share_member *me = &control->me;
	struct share_mailbox *box = share_mailbox_of(cq, me->slot);
	uint32_t consumer = share_load(&box->consumer);
	uint32_t left = share_load_acquire(&box->producer) - consumer;
	uint32_t heir, generation, used;
	struct share_completion c;
	struct ibv_wc wc;

	if (left > cq->mailbox_entries)
		left = 0;
	if (share_heir(control, &heir, &generation) || heir == me->slot) {
		/* nobody else is there: they are ours */
		share_store(&box->quota, left);
		return 0;
	}
	for (; left; left--) {
		if (share_credit_take(&share_mailbox_of(cq, heir)->quota,
				      cq->capacity, &used))
			return EBUSY;
		*mail |= 1ull << heir;
		share_copy_in(&c, entry_of(cq, me->slot, consumer++),
			      sizeof(c));
		unpack(&wc, &c);
		share_mailbox_put(cq, heir, generation, &wc,
				  (uint64_t)c.cookie_high << 32 | c.cookie_low);
		share_store_release(&box->consumer, consumer);
	}
	share_store(&box->consumer, share_load(&box->producer));
	share_store(&box->quota, 0);
	return 0;
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
	ret = share_lock(&box->lock, me);
	if (!ret || ret == EOWNERDEAD) {
		ret = hand_over(control, cq, &mail);
		/* of the slot's former process, if it was killed there */
		share_store(&box->looking, 0);
		share_unlock(&box->lock, me);
	}
	share_unlock(&cq->body->lock, me);
	share_event_mailed(control, cq, mail, mail);
	return ret;
}

/* Those were for the former process. */
static void reset_events(struct share_control *control)
{
	const uint32_t slot = control->me.slot;
	struct share_qp_view qp;
	uint32_t i;

	share_store(&share_control_header(control)->device_events[slot], 0);
	for (i = 0; i < SHARE_MAX_QPS; i++)
		if (!share_control_qp(control, i, &qp))
			share_store(&qp.body->events[slot], 0);
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
	for (i = 0; i < SHARE_MAX_CQS; i++) {
		if (share_control_cq(control, i, &cq))
			continue;
		ret = reset_mailbox(control, &cq);
		if (ret)
			return ret;
	}
	return 0;
}
