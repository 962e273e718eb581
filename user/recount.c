// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Credits and quotas are taken before a request is written and given back
 * after it has ended, so a death in between leaves them too high: safe, but
 * some day nobody could post. They are what can be counted in the queues when
 * nobody posts, steers or takes, that is, with all locks.
 */
#include <errno.h>
#include <string.h>
#include "directory.h"
#include "event.h"
#include "futex.h"
#include "heir.h"
#include "mailbox.h"
#include "post_srq.h"
#include "recover.h"
#include "shadow.h"

/*
 * struct count
 * @me: who waits for no lock long
 * @locked: the locks that were taken
 * @queues: what they guard, as far as it is on this CQ
 * @quota: requests of each slot
 */
struct count {
	struct share_cq_path *path;
	struct share_member me;
	uint32_t num;
	uint32_t *locked[2 * SHARE_MAX_QPS + SHARE_MAX_SRQS];
	uint32_t credits;
	uint32_t quota[SHARE_MAX_SLOTS];
};

static int lock_queue(struct count *c, const struct share_qp_view *qp,
		      uint32_t direction)
{
	const struct share_direction dir = share_direction_of(qp, direction);
	int ret;

	if (dir.cq != c->path->view.index || !dir.entries)
		return 0;
	/* of a dead poster its successor repairs the rest: it has the ring */
	ret = share_lock(&dir.wq->lock, &c->me);
	if (ret && ret != EOWNERDEAD)
		return ret;
	c->locked[c->num++] = &dir.wq->lock;
	return 0;
}

static int lock_srq(struct count *c, const struct share_srq_view *srq)
{
	uint32_t *lock = &srq->body->post.lock;
	int ret;

	if (srq->attr.cq != c->path->view.index)
		return 0;
	ret = share_lock(lock, &c->me);
	if (ret && ret != EOWNERDEAD)
		return ret;
	c->locked[c->num++] = lock;
	/* its successor would not know that anybody had died */
	if (ret)
		share_srq_sweep(srq);
	return 0;
}

static int lock_queues(struct count *c)
{
	const struct share_control *control = c->path->control;
	struct share_srq_view srq;
	struct share_qp_view qp;
	int ret = 0;
	uint32_t i;

	for (i = 0; !ret && i < share_control_used_qps(control); i++) {
		if (share_control_qp(control, i, &qp))
			continue;
		ret = lock_queue(c, &qp, SHARE_COOKIE_SEND);
		if (!ret)
			ret = lock_queue(c, &qp, SHARE_COOKIE_RECV);
	}
	for (i = 0; !ret && i < share_control_used_srqs(control); i++)
		if (!share_control_srq(control, i, &srq))
			ret = lock_srq(c, &srq);
	return ret;
}

static void unlock_queues(struct count *c)
{
	while (c->num)
		share_unlock(c->locked[--c->num], &c->me);
}

static void count_queue(struct count *c, const struct share_qp_view *qp,
			uint32_t direction)
{
	const struct share_direction dir = share_direction_of(qp, direction);
	const struct share_control *control = c->path->control;
	struct share_shadow shadow;
	uint32_t tail, left, slot;

	if (dir.cq != c->path->view.index || !dir.entries)
		return;
	tail = share_load(&dir.wq->tail);
	left = share_load(&dir.wq->head) - tail;
	if (left > dir.entries)
		return;
	c->credits += left;
	for (; left; left--, tail++) {
		share_copy_in(&shadow, share_shadow_of(&dir, tail),
			      sizeof(shadow));
		slot = share_shadow_slot(&shadow);
		if (shadow.state == SHARE_SHADOW_POSTED &&
		    shadow.sequence == tail &&
		    share_slot_is(control, slot, shadow.slot_generation))
			c->quota[slot]++;
	}
}

static void count_srq(struct count *c, const struct share_srq_view *srq)
{
	const struct share_control *control = c->path->control;
	struct share_shadow shadow;
	uint32_t i, slot;

	if (srq->attr.cq != c->path->view.index)
		return;
	for (i = 0; i < srq->places; i++) {
		share_copy_in(&shadow, &srq->shadow[i], sizeof(shadow));
		if (shadow.state != SHARE_SHADOW_POSTED)
			continue;
		c->credits++;
		slot = share_shadow_slot(&shadow);
		if (share_slot_is(control, slot, shadow.slot_generation))
			c->quota[slot]++;
	}
}

static void count_queues(struct count *c)
{
	const struct share_control *control = c->path->control;
	struct share_srq_view srq;
	struct share_qp_view qp;
	uint32_t i;

	for (i = 0; i < share_control_used_qps(control); i++) {
		if (share_control_qp(control, i, &qp))
			continue;
		count_queue(c, &qp, SHARE_COOKIE_SEND);
		count_queue(c, &qp, SHARE_COOKIE_RECV);
	}
	for (i = 0; i < share_control_used_srqs(control); i++)
		if (!share_control_srq(control, i, &srq))
			count_srq(c, &srq);
}

static int set_quota(struct count *c, uint32_t slot)
{
	const struct share_cq_view *cq = &c->path->view;
	struct share_mailbox *box = share_mailbox_of(cq, slot);
	int ret;

	if (!share_load(&box->quota) && !c->quota[slot])
		return 0;
	ret = share_lock(&box->lock, &c->me);
	if (ret && ret != EOWNERDEAD)
		return ret;
	share_store(&box->quota,
		    c->quota[slot] + share_mailbox_count(cq, slot));
	share_unlock(&box->lock, &c->me);
	return 0;
}

/* Under all locks; the ring is empty, or at least nothing in it is retired. */
static int count_all(struct count *c)
{
	struct share_cq_body *body = c->path->view.body;
	uint32_t slot;
	int ret = 0;

	share_store_ordered(&body->recount, 0);
	count_queues(c);
	share_store(&body->credits, c->credits);
	for (slot = 0; slot < SHARE_MAX_SLOTS; slot++)
		ret |= set_quota(c, slot);
	if (ret)
		share_store(&body->recount, 1);
	return ret;
}

static int recount(struct share_cq_path *path)
{
	struct share_kicks kicks = { .num = 0 };
	struct count c = { .path = path, .me = share_impatient(&path->control->me) };
	int ret = lock_queues(&c);

	if (!ret)
		/* what anybody may have stays there */
		ret = share_steer_locked(path, &c.me, 1, &kicks);
	if (!ret) {
		ret = count_all(&c);
		share_unlock(&path->view.body->lock, &c.me);
	}
	unlock_queues(&c);
	share_steer_kick(path, &kicks);
	return ret;
}

void share_recount_if_needed(struct share_cq_path *path)
{
	uint32_t *last = &path->recount_ms;

	if (!share_load(&path->view.body->recount) || !path->ring.base ||
	    share_now_ms() - __atomic_load_n(last, __ATOMIC_RELAXED) <
		    path->control->me.recheck_ms)
		return;
	if (recount(path))
		__atomic_store_n(last, share_now_ms(), __ATOMIC_RELAXED);
}
