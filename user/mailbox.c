// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <string.h>
#include "intent.h"
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

/*
 * Whoever polls into shared memory leaves it to others when it dies: the status
 * comes last, by one store. Where it has not changed, there is no completion.
 */
static void unpack(struct ibv_wc *wc, const struct share_completion *c)
{
	wc->wr_id = (uint64_t)c->wr_id_high << 32 | c->wr_id_low;
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
	__atomic_store_n(&wc->status, (enum ibv_wc_status)c->status, __ATOMIC_RELEASE);
}

static int put(const struct share_cq_view *cq, uint32_t slot,
	       const struct share_completion *c, uint32_t source,
	       uint32_t source_position)
{
	struct share_mailbox *box = share_mailbox_of(cq, slot);
	uint32_t producer = share_load(&box->producer);

	/* pairs with the release in take: that entry was copied out */
	if (producer - share_load_acquire(&box->consumer) >=
	    cq->mailbox_entries)
		return ENOSPC;
	share_intent_begin(cq, (uint64_t)c->cookie_high << 32 | c->cookie_low,
			   slot, source, source_position);
	share_copy_out(entry_of(cq, slot, producer), c, sizeof(*c));
	/* pairs with the acquire in take */
	share_store_ordered(&box->producer, producer + 1);
	return 0;
}

int share_mailbox_put(const struct share_cq_view *cq, uint32_t slot,
		      uint32_t slot_generation, const struct ibv_wc *wc,
		      uint64_t cookie)
{
	struct share_completion c;

	pack(&c, wc, cookie, slot_generation);
	return put(cq, slot, &c, 0, 0);
}

int share_mailbox_move(const struct share_cq_view *cq, uint32_t from,
		       uint32_t to, uint32_t to_generation)
{
	struct share_mailbox *source = share_mailbox_of(cq, from);
	uint32_t consumer = share_load(&source->consumer);
	struct share_completion c;
	int ret;

	share_copy_in(&c, entry_of(cq, from, consumer), sizeof(c));
	c.slot_generation = to_generation;
	ret = put(cq, to, &c, from % SHARE_MAX_SLOTS + 1, consumer + 1);
	share_store_ordered(&source->consumer, consumer + 1);
	share_intent_end(cq);
	return ret;
}

uint32_t share_mailbox_count(const struct share_cq_view *cq, uint32_t slot)
{
	const struct share_mailbox *box = share_mailbox_of(cq, slot);
	uint32_t count = share_load_acquire(&box->producer) -
			 share_load(&box->consumer);

	/* more than there can be: somebody tampered with it */
	return count > cq->mailbox_entries ? 0 : count;
}

/*
 * The consumer index moves once, at the end. What a process that dies before
 * has copied is still here, for its heir.
 */
static int take(const struct share_cq_view *cq, uint32_t slot,
		uint32_t wanted, struct ibv_wc *wc)
{
	struct share_mailbox *box = share_mailbox_of(cq, slot);
	uint32_t consumer = share_load(&box->consumer);
	uint32_t n, available = share_load_acquire(&box->producer) - consumer;
	struct share_completion c;

	if (available > cq->mailbox_entries) {
		/* somebody tampered with it; start anew, empty */
		share_store_release(&box->consumer, consumer + available);
		return -EBADMSG;
	}
	for (n = 0; n < wanted && n < available; n++) {
		share_copy_in(&c, entry_of(cq, slot, consumer + n), sizeof(c));
		unpack(&wc[n], &c);
	}
	share_store_ordered(&box->consumer, consumer + n);
	return (int)n;
}

int share_mailbox_take(const struct share_cq_view *cq,
		       const struct share_member *me,
		       struct share_lock_watch *watch, int num_entries,
		       struct ibv_wc *wc)
{
	struct share_mailbox *box = share_mailbox_of(cq, me->slot);
	int ret, n;

	if (share_mailbox_empty(cq, me->slot))
		return 0;
	ret = share_trylock(&box->lock, me, watch);
	/* of a dead holder nothing is left to repair */
	if (ret && ret != EOWNERDEAD)
		return 0;
	n = take(cq, me->slot, (uint32_t)num_entries, wc);
	/* with the lock: see recount.c */
	if (n > 0)
		share_credit_give(&box->quota, (uint32_t)n);
	share_unlock(&box->lock, me);
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
