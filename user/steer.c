// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Each completion of a shared CQ carries a cookie; the shadow table of its QP
 * tells whose it is. Whoever holds the lock of the CQ takes completions out of
 * the ring, keeps its own and puts the others into mailboxes.
 *
 * For each: into the mailbox, publish, mark the shadow entry, move the tail,
 * move the consumer index of the ring, give back credits. Who takes over from
 * a steerer that died in between finds what was done: behind the tail a
 * completion is dropped, in front of it the mailbox knows its last cookie.
 */
#include <errno.h>
#include <string.h>
#include <rdma/ib_uverbs_share.h>
#include "mailbox.h"
#include "provider.h"
#include "steer.h"

/*
 * struct batch - one turn of steering
 * @wc, @num, @max: completions of our own; @max 0: they go to our mailbox
 * @qp, @qp_known: of the last completion
 * @kicks: QPs that were found to have failed
 */
struct batch {
	struct ibv_wc *wc;
	int num;
	int max;
	struct share_qp_view qp;
	int qp_known;
	struct share_kicks *kicks;
};

/*
 * struct found - a request and its place
 * @dir: of its QP
 * @sequence, @tail: its number, and that of the oldest that is not retired
 */
struct found {
	uint64_t cookie;
	struct share_direction dir;
	uint32_t sequence;
	uint32_t tail;
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

static int load_qp(const struct share_cq_path *path, struct batch *batch,
		   uint32_t index)
{
	int ret;

	if (batch->qp_known && batch->qp.index == index)
		return 0;
	ret = share_control_qp(path->control, index, &batch->qp);
	batch->qp_known = !ret;
	return ret;
}

/* 0; ENOENT: the QP or the request is no more; EBADMSG: never was. */
static int find(const struct share_cq_path *path, struct batch *batch,
		uint64_t cookie, struct found *f)
{
	uint32_t direction = (uint32_t)(cookie >> 62);
	uint32_t epoch = (uint32_t)(cookie >> 32) & SHARE_EPOCH_MASK;
	uint32_t pending;
	int ret;

	if (direction != SHARE_COOKIE_SEND && direction != SHARE_COOKIE_RECV)
		return EBADMSG;
	ret = load_qp(path, batch,
		      (uint32_t)(cookie >> 52) & (SHARE_MAX_QPS - 1));
	if (ret)
		return ret;
	if ((share_load(&batch->qp.body->epoch) & SHARE_EPOCH_MASK) != epoch)
		return ENOENT;
	f->cookie = cookie;
	f->dir = share_direction_of(&batch->qp, direction);
	if (f->dir.cq != path->view.index || !f->dir.entries)
		return EBADMSG;
	f->sequence = (uint32_t)cookie;
	f->tail = share_load(&f->dir.wq->tail);
	/* pairs with the release in post.c, before the device got it */
	pending = share_load_acquire(&f->dir.wq->head) - f->tail;
	if (pending <= f->dir.entries && f->sequence - f->tail < pending)
		return 0;
	return f->tail - 1 - f->sequence < f->dir.entries ? ENOENT : EBADMSG;
}

static int is_mine(const struct share_cq_path *path, uint32_t slot,
		   uint32_t generation)
{
	return slot == path->control->me.slot &&
	       generation == path->control->me.generation;
}

static void give_quota(const struct share_cq_path *path, uint32_t slot,
		       uint32_t generation)
{
	if (share_slot_is(path->control, slot, generation))
		share_credit_give(&share_mailbox_of(&path->view, slot)->quota,
				  1);
}

static uint32_t slot_of(const struct share_shadow *shadow)
{
	return (shadow->slot_flags & 0xff) % SHARE_MAX_SLOTS;
}

/*
 * Marked first: if we die in between, quota leaks until it is counted again,
 * which is better than a mailbox that is too small.
 */
static void retire_silently(const struct share_cq_path *path,
			    struct share_shadow *shared)
{
	struct share_shadow shadow;

	share_copy_in(&shadow, shared, sizeof(shadow));
	if (shadow.state == SHARE_SHADOW_DELIVERED)
		return;
	share_store(&shared->state, SHARE_SHADOW_DELIVERED);
	give_quota(path, slot_of(&shadow), shadow.slot_generation);
}

static void retire_before(const struct share_cq_path *path,
			  const struct share_direction *dir, uint32_t from,
			  uint32_t to)
{
	for (; from != to; from++)
		retire_silently(path, share_shadow_of(dir, from));
}

static void post_box(struct share_cq_path *path, uint32_t slot,
		     uint32_t generation, const struct ibv_wc *wc,
		     uint64_t cookie)
{
	struct share_cq_counters *counters = &path->view.body->counters;

	if (share_mailbox_put(&path->view, slot, generation, wc, cookie))
		share_count(&counters->lost);
	else
		share_count(&counters->steered);
}

/* To the caller, unless a steerer that died has put it into our mailbox. */
static int keep(const struct share_cq_path *path, struct batch *batch,
		const struct ibv_wc *wc, uint64_t cookie)
{
	if (share_mailbox_has(&path->view, path->control->me.slot, cookie))
		return 0;
	batch->wc[batch->num++] = *wc;
	return 1;
}

/* Its owner is dead: to the heir, or to us if the heir does not poll. */
static int give_orphan(struct share_cq_path *path, struct batch *batch,
		       const struct ibv_wc *wc, uint64_t cookie)
{
	const struct share_member *me = &path->control->me;
	uint32_t slot, generation, used;

	if (share_heir(path->control, &slot, &generation) ||
	    is_mine(path, slot, generation) ||
	    share_credit_take(&share_mailbox_of(&path->view, slot)->quota,
			      path->view.capacity, &used)) {
		slot = me->slot;
		generation = me->generation;
		if (!batch->max &&
		    share_credit_take(
			    &share_mailbox_of(&path->view, slot)->quota,
			    path->view.capacity, &used))
			return EAGAIN;
	}
	if (batch->max && slot == me->slot)
		keep(path, batch, wc, cookie);
	else
		post_box(path, slot, generation, wc, cookie);
	share_count(&path->view.body->counters.orphans);
	return 0;
}

static int deliver(struct share_cq_path *path, struct batch *batch,
		   const struct found *f, struct ibv_wc *wc)
{
	struct share_shadow *shared = share_shadow_of(&f->dir, f->sequence);
	uint32_t slot, generation;
	struct share_shadow shadow;

	share_copy_in(&shadow, shared, sizeof(shadow));
	if (shadow.state != SHARE_SHADOW_POSTED ||
	    shadow.sequence != f->sequence)
		return 0;
	slot = slot_of(&shadow);
	generation = shadow.slot_generation;
	if (wc->status == IBV_WC_SUCCESS &&
	    !(shadow.slot_flags >> 8 & SHARE_SHADOW_SIGNALED)) {
		share_count(&path->view.body->counters.hidden);
		retire_silently(path, shared);
		return 0;
	}
	wc->wr_id = (uint64_t)shadow.wr_id_high << 32 | shadow.wr_id_low;
	wc->qp_num = batch->qp.attr.qp_num;
	/* the device leaves it out of failed completions */
	if (wc->status != IBV_WC_SUCCESS || f->cookie >> 62 == SHARE_COOKIE_SEND)
		wc->opcode = (enum ibv_wc_opcode)shadow.opcode;
	if (is_mine(path, slot, generation) && batch->max) {
		if (keep(path, batch, wc, f->cookie))
			give_quota(path, slot, generation);
	} else if (share_slot_is(path->control, slot, generation)) {
		post_box(path, slot, generation, wc, f->cookie);
	} else if (give_orphan(path, batch, wc, f->cookie)) {
		return EAGAIN;
	}
	share_store(&shared->state, SHARE_SHADOW_DELIVERED);
	return 0;
}

/*
 * A request that fails takes its QP to ERR. Sequentially consistent with the
 * kick that follows: post.c publishes, then looks at the state; see there.
 */
static void note_failure(struct batch *batch)
{
	uint32_t *word = &batch->qp.body->state;
	struct share_kicks *kicks = batch->kicks;
	uint32_t state = share_load(word);

	if (state == IBV_QPS_RESET || state >= IBV_QPS_ERR ||
	    kicks->num == sizeof(kicks->index) / sizeof(kicks->index[0]))
		return;
	if (__atomic_compare_exchange_n(word, &state, IBV_QPS_ERR, 0,
					__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		kicks->index[kicks->num++] = batch->qp.index;
}

static int steer_one(struct share_cq_path *path, struct batch *batch,
		     struct ibv_wc *wc)
{
	struct share_cq_counters *counters = &path->view.body->counters;
	struct found f;
	int ret;

	ret = find(path, batch, wc->wr_id, &f);
	if (ret) {
		share_count(ret == ENOENT ? &counters->stale : &counters->impossible);
		path->ring.provider->cq_consume(&path->ring);
		return 0;
	}
	if (wc->status != IBV_WC_SUCCESS)
		note_failure(batch);
	/* an unsignaled request that succeeded leaves no completion */
	retire_before(path, &f.dir, f.tail, f.sequence);
	if (deliver(path, batch, &f, wc))
		return EAGAIN;
	share_store_release(&f.dir.wq->tail, f.sequence + 1);
	path->ring.provider->cq_consume(&path->ring);
	share_credit_give(&path->view.body->credits,
			  f.sequence + 1 - f.tail);
	return 0;
}

/* Under the lock of the CQ. Bounded, whatever others write into the ring. */
static int steer_ring(struct share_cq_path *path, struct batch *batch)
{
	uint32_t left = share_ring_entries(&path->ring);
	struct ibv_wc wc;

	for (; left && (!batch->max || batch->num < batch->max); left--) {
		if (!path->ring.provider->cq_peek(&path->ring, &wc))
			break;
		if (steer_one(path, batch, &wc))
			return EAGAIN;
	}
	return 0;
}

void share_steer_kick(struct share_cq_path *path,
		      const struct share_kicks *kicks)
{
	const struct share_env *env = &path->control->me.env;
	uint32_t i;

	for (i = 0; i < kicks->num; i++) {
		env->kick(env->arg, kicks->index[i], IB_UVERBS_SHARE_KICK_SEND);
		env->kick(env->arg, kicks->index[i], IB_UVERBS_SHARE_KICK_RECV);
	}
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
	if (ret)
		share_count(&path->view.body->counters.takeovers);
	return 0;
}

static int take_mail(struct share_cq_path *path, int num_entries,
		     struct ibv_wc *wc)
{
	return share_mailbox_take(&path->view, &path->control->me,
				  &path->mail_watch, num_entries, wc);
}

static int nothing_there(const struct share_cq_path *path)
{
	return share_mailbox_empty(&path->view, path->control->me.slot) &&
	       (!path->ring.base ||
		path->ring.provider->cq_empty(&path->ring));
}

int share_poll(struct share_cq_path *path, int num_entries, struct ibv_wc *wc)
{
	const struct share_member *me = &path->control->me;
	uint32_t *lock = &path->view.body->lock;
	struct share_kicks kicks = { .num = 0 };
	struct batch batch = { .wc = wc, .max = num_entries, .kicks = &kicks };

	if (num_entries <= 0)
		return num_entries ? -EINVAL : 0;
	if (share_control_cq_live(path->control, &path->view))
		return -ENOLINK;
	if (nothing_there(path))
		return 0;
	if (!path->ring.base ||
	    after_lock(path, share_trylock(lock, me, &path->watch)))
		return take_mail(path, num_entries, wc);
	/*
	 * Own mailbox before ring: what others have steered to us is older.
	 * Nobody can add to it now.
	 */
	batch.num = take_mail(path, num_entries, wc);
	steer_ring(path, &batch);
	share_unlock(lock, me);
	share_steer_kick(path, &kicks);
	return batch.num;
}

int share_steer(struct share_cq_path *path, struct share_kicks *kicks)
{
	const struct share_member *me = &path->control->me;
	struct batch batch = { .max = 0, .kicks = kicks };
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

int share_steer_retire_all(struct share_cq_path *path,
			   const struct share_qp_view *qp, uint32_t direction,
			   struct share_kicks *kicks)
{
	const struct share_direction dir = share_direction_of(qp, direction);
	const struct share_member *me = &path->control->me;
	struct batch batch = { .max = 0, .kicks = kicks };
	uint32_t head, tail;
	int ret;

	ret = after_lock(path, share_lock(&path->view.body->lock, me));
	if (ret)
		return ret;
	if (path->ring.base)
		ret = steer_ring(path, &batch);
	head = share_load(&dir.wq->head);
	tail = share_load(&dir.wq->tail);
	if (!ret && head - tail <= dir.entries) {
		retire_before(path, &dir, tail, head);
		share_credit_give(&path->view.body->credits, head - tail);
	}
	if (!ret)
		share_store_release(&dir.wq->tail, head);
	share_unlock(&path->view.body->lock, me);
	return ret;
}
