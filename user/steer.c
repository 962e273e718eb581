// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Each completion of a shared CQ carries a cookie; the shadow table of its QP
 * tells whose it is. Whoever holds the lock of the CQ empties the ring. A
 * completion goes into the mailbox of its owner, also if that is the one who
 * steers: there it stays until his poll is about to return, and if he dies
 * before, his heir finds it.
 *
 * For each: say what is intended, into the mailbox, publish, mark the shadow
 * entry, move the tail, move the consumer index of the ring, give back credits.
 * Who takes over from a steerer that died in between ends its intention; behind
 * the tail a completion is dropped.
 */
#include <errno.h>
#include <string.h>
#include "doorbell.h"
#include "event.h"
#include "futex.h"
#include "glance.h"
#include "heir.h"
#include "intent.h"
#include "mailbox.h"
#include "provider.h"
#include "recover.h"
#include "shadow.h"
#include "steer.h"

/*
 * struct batch - one turn of steering
 * @wanted: that many completions of our own are enough; 0: all that there are
 * @leave: not those that anybody may have: they are for who polls
 * @request: the last one
 * @kicks: QPs that were found to have failed
 */
struct batch {
	uint32_t wanted;
	int leave;
	struct share_request request;
	struct share_kicks *kicks;
};

int share_cq_path_init(struct share_cq_path *path,
		       struct share_control *control, uint32_t index,
		       const struct share_provider *provider, void *base,
		       size_t bytes)
{
	int ret;

	memset(path, 0, sizeof(*path));
	path->control = control;
	ret = share_control_cq(control, index, &path->view);
	if (ret || !base)
		return ret;
	ret = share_ring_attach(&path->ring, provider, base, bytes,
				provider->cqe_bytes);
	/* with more credits than room completions would get lost */
	if (!ret && path->ring.mask < path->view.capacity)
		ret = EBADMSG;
	return ret;
}

int share_cq_reserve(const struct share_cq_view *cq, uint32_t slot, int *low)
{
	uint32_t used, quota;

	if (share_credit_take(&cq->body->credits, cq->capacity, &used))
		return ENOMEM;
	if (share_credit_take(&share_mailbox_of(cq, slot)->quota, cq->capacity,
			      &quota)) {
		share_credit_give(&cq->body->credits, 1);
		return ENOMEM;
	}
	*low = used * 2 >= cq->capacity;
	return 0;
}

void share_cq_unreserve(const struct share_cq_view *cq, uint32_t slot)
{
	share_credit_give(&share_mailbox_of(cq, slot)->quota, 1);
	share_credit_give(&cq->body->credits, 1);
}

static void post_box(struct share_cq_path *path, struct batch *batch,
		     uint32_t slot, uint32_t generation,
		     const struct ibv_wc *wc, uint64_t cookie)
{
	struct share_cq_counters *counters = &path->view.body->counters;
	const uint64_t bit = 1ull << slot % SHARE_MAX_SLOTS;

	batch->kicks->mail |= bit;
	if (wc->status != IBV_WC_SUCCESS)
		batch->kicks->failed |= bit;
	if (share_mailbox_put(&path->view, slot, generation, wc, cookie))
		share_count(&counters->lost);
	else
		share_count(&counters->steered);
}

static int is_for_any(const struct share_cq_path *path)
{
	return (path->view.flags & SHARE_CQ_ANY) != 0;
}

static int deliver(struct share_cq_path *path, struct batch *batch,
		   const struct share_request *r, struct ibv_wc *wc)
{
	struct share_shadow *shared = r->shadow;
	uint32_t slot, generation;
	struct share_shadow shadow;
	int ret;

	share_copy_in(&shadow, shared, sizeof(shadow));
	if (shadow.state != SHARE_SHADOW_POSTED ||
	    shadow.sequence != r->sequence)
		return 0;
	slot = share_shadow_slot(&shadow);
	generation = shadow.slot_generation;
	if (wc->status == IBV_WC_SUCCESS &&
	    !(shadow.slot_flags >> 8 & SHARE_SHADOW_SIGNALED)) {
		share_count(&path->view.body->counters.hidden);
		share_shadow_retire(path->control, &path->view, shared);
		return 0;
	}
	wc->wr_id = (uint64_t)shadow.wr_id_high << 32 | shadow.wr_id_low;
	/* of an SRQ only the device knows which QP it was */
	if (!share_request_is_srq(r))
		wc->qp_num = r->qp.attr.qp_num;
	/* the device leaves it out of failed completions */
	if (wc->status != IBV_WC_SUCCESS || r->cookie >> 62 == SHARE_COOKIE_SEND)
		wc->opcode = (enum ibv_wc_opcode)shadow.opcode;
	if (batch->leave)
		return ECANCELED;
	ret = share_find_owner(path->control, &path->view, &slot, &generation);
	if (ret)
		return ret;
	post_box(path, batch, slot, generation, wc, r->cookie);
	share_store_ordered(&shared->state, SHARE_SHADOW_DELIVERED);
	share_intent_end(&path->view);
	/* somebody else has it: the poster's place in its mailbox is free */
	if (slot != share_shadow_slot(&shadow) || generation != shadow.slot_generation)
		share_quota_give(path->control, &path->view, share_shadow_slot(&shadow),
				 shadow.slot_generation);
	return 0;
}

/*
 * A request that fails takes its QP to ERR. Sequentially consistent with the
 * kick that follows: post.c publishes, then looks at the state; see there.
 */
static void note_failure(struct share_cq_path *path, struct batch *batch,
			 const struct ibv_wc *wc)
{
	const struct share_request *r = &batch->request;
	struct share_kicks *kicks = batch->kicks;
	struct share_qp_view qp = r->qp;
	uint32_t *word, state;

	if (share_request_is_srq(r) &&
	    share_control_find_qp(path->control, wc->qp_num, &qp))
		return;
	word = &qp.body->state;
	state = share_load(word);

	if (state == IBV_QPS_RESET || state >= IBV_QPS_ERR ||
	    kicks->num == sizeof(kicks->index) / sizeof(kicks->index[0]))
		return;
	if (__atomic_compare_exchange_n(word, &state, IBV_QPS_ERR, 0,
					__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		kicks->index[kicks->num++] = qp.index;
}

static int steer_one(struct share_cq_path *path, struct batch *batch,
		     struct ibv_wc *wc)
{
	struct share_cq_counters *counters = &path->view.body->counters;
	struct share_request *r = &batch->request;
	int ret;

	ret = share_request_find(path->control, &path->view, wc->wr_id, r);
	if (ret) {
		share_count(ret == ENOENT ? &counters->stale : &counters->impossible);
		if (ret != ENOENT)
			share_store(&path->corrupt, 1);
		path->ring.provider->cq_consume(&path->ring);
		return 0;
	}
	if (wc->status != IBV_WC_SUCCESS)
		note_failure(path, batch, wc);
	/* an unsignaled request that succeeded leaves no completion */
	if (!share_request_is_srq(r))
		share_shadow_retire_range(path->control, &path->view, &r->dir,
					  r->tail, r->sequence);
	ret = deliver(path, batch, r, wc);
	if (ret)
		return ret;
	if (!share_request_is_srq(r))
		share_store_release(&r->dir.wq->tail, r->sequence + 1);
	path->ring.provider->cq_consume(&path->ring);
	share_credit_give(&path->view.body->credits, r->sequence + 1 - r->tail);
	return 0;
}

static int is_enough(const struct share_cq_path *path,
		     const struct batch *batch)
{
	return batch->wanted &&
	       share_mailbox_count(&path->view, path->control->me.slot) >=
		       batch->wanted;
}

/* Under the lock of the CQ. Bounded, whatever others write into the ring. */
static int steer_ring(struct share_cq_path *path, struct batch *batch)
{
	uint32_t left = share_ring_entries(&path->ring);
	struct ibv_wc wc;
	int ret = 0;

	for (; !ret && left && !is_enough(path, batch); left--) {
		if (!path->ring.provider->cq_peek(&path->ring, &wc))
			break;
		ret = steer_one(path, batch, &wc);
	}
	return ret == ECANCELED ? 0 : ret;
}

void share_steer_kick(struct share_cq_path *path,
		      const struct share_kicks *kicks)
{
	const struct share_control *control = path->control;
	struct share_qp_view qp;
	uint32_t i;

	for (i = 0; i < kicks->num; i++) {
		if (share_control_qp(control, kicks->index[i], &qp))
			continue;
		share_doorbell_flush(control, &qp);
		share_event_failed(control, &qp);
	}
	share_event_mailed(control, &path->view, kicks->mail, kicks->failed);
	share_event_unlocked(path);
}

/* What the lock said; and the CQ may have gone while it was not ours. */
static int after_lock(struct share_cq_path *path, int ret)
{
	if (ret && ret != EOWNERDEAD)
		return ret;
	if (share_control_cq_live(path->control, &path->view)) {
		share_unlock(&path->view.body->lock, &path->control->me);
		return ENOLINK;
	}
	share_intent_settle(path->control, &path->view);
	if (ret) {
		share_count(&path->view.body->counters.takeovers);
		share_store(&path->view.body->recount, 1);
	}
	return 0;
}

static int take_mail(struct share_cq_path *path, int num_entries,
		     struct ibv_wc *wc)
{
	return share_mailbox_take(&path->view, &path->control->me,
				  &path->mail_watch, num_entries, wc);
}

/* Whoever is to be woken has to have been seen by the holder of the lock. */
static int lock_ring(struct share_cq_path *path)
{
	const struct share_member *me = &path->control->me;
	uint32_t *lock = &path->view.body->lock;
	int ret = share_trylock(lock, me, &path->watch);

	if (ret == EBUSY && share_event_refused(path))
		ret = share_trylock(lock, me, &path->watch);
	return after_lock(path, ret);
}

/* Does the same completion wait for the holder of the lock for too long? */
static int is_stuck(struct share_cq_path *path)
{
	uint32_t now = share_now_ms();
	struct ibv_wc wc;

	if (!share_glance_peek(path, &wc))
		return 0;
	if (__atomic_exchange_n(&path->oldest, wc.wr_id, __ATOMIC_RELAXED) !=
	    wc.wr_id)
		__atomic_store_n(&path->oldest_ms, now, __ATOMIC_RELAXED);
	return now - __atomic_load_n(&path->oldest_ms, __ATOMIC_RELAXED) >=
	       path->control->me.timeout_ms;
}

static int nothing_there(const struct share_cq_path *path)
{
	return share_mailbox_empty(&path->view, path->control->me.slot) &&
	       (!path->ring.base || share_glance_empty(path));
}

int share_poll(struct share_cq_path *path, int num_entries, struct ibv_wc *wc)
{
	const struct share_member *me = &path->control->me;
	uint32_t *lock = &path->view.body->lock;
	struct share_kicks kicks = { .num = 0 };
	struct batch batch = { .wanted = (uint32_t)num_entries,
			       .kicks = &kicks };
	int n, ret = 0;

	if (num_entries <= 0)
		return num_entries ? -EINVAL : 0;
	if (share_load(&path->corrupt))
		return -EBADMSG;
	if (share_control_cq_live(path->control, &path->view))
		return -ENOLINK;
	share_recover_sometimes(path->control);
	share_recount_if_needed(path);
	if (nothing_there(path))
		return 0;
	if (path->ring.base) {
		ret = lock_ring(path);
		if (!ret) {
			steer_ring(path, &batch);
			share_unlock(lock, me);
			share_steer_kick(path, &kicks);
		}
	}
	n = take_mail(path, num_entries, wc);
	if (n < 0)
		share_store(&path->corrupt, 1);
	if (n <= 0 && share_load(&path->corrupt))
		return -EBADMSG;
	return n || ret != EBUSY || !is_stuck(path) ? n : -ETIMEDOUT;
}

int share_steer(struct share_cq_path *path, struct share_kicks *kicks)
{
	const struct share_member *me = &path->control->me;
	struct batch batch = { .kicks = kicks, .leave = is_for_any(path) };
	int ret;

	if (!path->ring.base)
		return EACCES;
	ret = after_lock(path, share_trylock(&path->view.body->lock, me,
					     &path->watch));
	if (ret)
		return ret;
	ret = steer_ring(path, &batch);
	share_unlock(&path->view.body->lock, me);
	return ret;
}

int share_steer_locked(struct share_cq_path *path,
		       const struct share_member *me, int leave,
		       struct share_kicks *kicks)
{
	struct batch batch = { .kicks = kicks, .leave = leave && is_for_any(path) };
	int ret = after_lock(path, share_lock(&path->view.body->lock, me));

	if (ret)
		return ret;
	if (path->ring.base)
		ret = steer_ring(path, &batch);
	if (ret)
		share_unlock(&path->view.body->lock, me);
	return ret;
}

int share_steer_retire_all(struct share_cq_path *path,
			   const struct share_qp_view *qp, uint32_t direction,
			   struct share_kicks *kicks)
{
	const struct share_direction dir = share_direction_of(qp, direction);
	const struct share_member *me = &path->control->me;
	uint32_t head, tail;
	int ret;

	ret = share_steer_locked(path, me, 0, kicks);
	if (ret)
		return ret;
	head = share_load(&dir.wq->head);
	tail = share_load(&dir.wq->tail);
	if (head - tail <= dir.entries)
		share_shadow_retire_range(path->control, &path->view, &dir,
					  tail, head);
	share_store_ordered(&dir.wq->tail, head);
	/* last: credits that are given twice would make it overflow */
	if (share_control_qp_live(path->control, qp))
		share_store(&path->view.body->recount, 1);
	else if (head - tail <= dir.entries)
		share_credit_give(&path->view.body->credits, head - tail);
	share_unlock(&path->view.body->lock, me);
	return 0;
}
