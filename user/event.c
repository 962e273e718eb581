// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Who sleeps and who wakes. The two halves of each pair are ordered by full
 * fences, so that at least one of them sees what the other has done:
 *
 *   sleeper: armed = NEXT;  fence; arm the device; look at mailbox and ring
 *   steerer: mailbox;       fence; armed = PENDING?; wake
 *   poller:  refused = 1;   fence; try the lock again
 *   holder:  unlock;        fence; refused?; ring not empty?; wake
 *
 * A waker changes armed to PENDING before it wakes: that happens once for each
 * time a slot arms, which bounds the wake-ups. If it dies in between, the
 * module wakes all slots, and these look for themselves.
 */
#include <errno.h>
#include <rdma/ib_uverbs_share.h>
#include "directory.h"
#include "event.h"
#include "glance.h"
#include "mailbox.h"
#include "provider.h"

/* Others fill the ring as fast as it is emptied. */
#define DISPATCH_TURNS 8

static uint32_t *armed_of(const struct share_cq_view *cq, uint32_t slot)
{
	return &share_mailbox_of(cq, slot)->armed;
}

int share_event_is_armed(const struct share_cq_view *cq, uint32_t slot)
{
	return !!(share_load(armed_of(cq, slot)) & SHARE_ARMED_ANY);
}

int share_event_is_pending(const struct share_cq_path *path)
{
	const uint32_t slot = path->control->me.slot;

	return !!(share_load(armed_of(&path->view, slot)) &
		  SHARE_EVENT_PENDING);
}

int share_event_take(struct share_cq_path *path)
{
	uint32_t *word = armed_of(&path->view, path->control->me.slot);

	return !!(__atomic_fetch_and(word, ~(uint32_t)SHARE_EVENT_PENDING,
				     __ATOMIC_ACQUIRE) &
		  SHARE_EVENT_PENDING);
}

/* 1 if @slot was armed: then it has an event now, and wants to be woken. */
static int set_pending(const struct share_cq_view *cq, uint32_t slot)
{
	uint32_t *word = armed_of(cq, slot);
	uint32_t now = share_load(word);

	do {
		if (!(now & SHARE_ARMED_ANY))
			return 0;
	} while (!__atomic_compare_exchange_n(word, &now, SHARE_EVENT_PENDING,
					      0, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	return 1;
}

static void fire(const struct share_control *control,
		 const struct share_cq_view *cq, uint32_t slot)
{
	const struct share_env *env = &control->me.env;

	if (!set_pending(cq, slot))
		return;
	__atomic_fetch_add(&share_control_slot(control, slot)->signals, 1,
			   __ATOMIC_RELAXED);
	env->wake(env->arg, slot);
}

void share_event_wake_all(const struct share_control *control,
			  const struct share_cq_view *cq)
{
	uint32_t slot;

	for (slot = 0; slot < SHARE_MAX_SLOTS; slot++)
		fire(control, cq, slot);
}

void share_event_mailed(const struct share_control *control,
			const struct share_cq_view *cq, uint64_t mail,
			uint64_t failed)
{
	uint32_t slot;

	if (!mail)
		return;
	/* pairs with the fence in share_event_arm() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (slot = 0; mail; slot++, mail >>= 1, failed >>= 1) {
		if (!(mail & 1))
			continue;
		/* whether it was solicited only the device knows */
		if (failed & 1 ||
		    share_load(armed_of(cq, slot)) & SHARE_ARMED_NEXT)
			fire(control, cq, slot);
	}
}

/* Pairs with the fence in share_event_unlocked(). */
static void refuse(const struct share_cq_path *path)
{
	share_store(&path->view.body->refused, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

int share_event_refused(const struct share_cq_path *path)
{
	if (!share_event_is_armed(&path->view, path->control->me.slot))
		return 0;
	refuse(path);
	return 1;
}

void share_event_unlocked(const struct share_cq_path *path)
{
	uint32_t *refused = &path->view.body->refused;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!share_load(refused) ||
	    !__atomic_exchange_n(refused, 0, __ATOMIC_SEQ_CST))
		return;
	if (!path->ring.base || !share_glance_empty(path))
		share_event_wake_all(path->control, &path->view);
}

void share_event_released(const struct share_control *control,
			  const struct share_cq_view *cq, uint64_t mail)
{
	share_event_mailed(control, cq, mail, mail);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (share_load(&cq->body->refused) &&
	    __atomic_exchange_n(&cq->body->refused, 0, __ATOMIC_SEQ_CST))
		share_event_wake_all(control, cq);
}

/* Can there be a completion that fails and is not solicited? */
static int may_fail(const struct share_control *control, uint32_t cq)
{
	const struct share_entry *qps = share_control_qps(control);
	struct share_qp_view qp;
	uint32_t i;

	for (i = 0; i < SHARE_MAX_QPS; i++) {
		if (share_load(&qps[i].state) != SHARE_ENTRY_LIVE ||
		    (share_load(&qps[i].send_cq) != cq &&
		     share_load(&qps[i].recv_cq) != cq) ||
		    share_control_qp(control, i, &qp))
			continue;
		if (share_load(&qp.body->state) == IBV_QPS_ERR)
			return 1;
		if (qp.attr.send_cq == cq &&
		    share_load(&qp.body->send.head) !=
			    share_load(&qp.body->send.tail))
			return 1;
	}
	return 0;
}

/* What all who are armed need together; 0: nobody is. */
static uint32_t wanted(const struct share_cq_path *path)
{
	uint32_t slot = path->control->me.slot;
	uint32_t all = share_load(armed_of(&path->view, slot));

	if (all & SHARE_ARMED_NEXT)
		return SHARE_ARMED_NEXT;
	for (slot = 0; slot < SHARE_MAX_SLOTS; slot++)
		all |= share_load(armed_of(&path->view, slot));
	if (all & SHARE_ARMED_NEXT)
		return SHARE_ARMED_NEXT;
	all &= SHARE_ARMED_ANY;
	return all && may_fail(path->control, path->view.index)
		       ? SHARE_ARMED_NEXT
		       : all;
}

/* 1: the device is armed; 0: nobody wants it; or a negative errno value. */
static int arm_device(struct share_cq_path *path)
{
	const struct share_env *env = &path->control->me.env;
	uint32_t mode = wanted(path);
	int ret;

	if (!mode)
		return 0;
	ret = env->arm(env->arg, path->view.index,
		       mode == SHARE_ARMED_SOLICITED);
	return ret ? -ret : 1;
}

int share_event_arm(struct share_cq_path *path, int solicited)
{
	uint32_t *word = armed_of(&path->view, path->control->me.slot);
	uint32_t bit = solicited ? SHARE_ARMED_SOLICITED : SHARE_ARMED_NEXT;
	int ret;

	if (share_control_cq_live(path->control, &path->view))
		return ENOLINK;
	__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	ret = arm_device(path);
	if (ret >= 0)
		return 0;
	__atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED);
	return -ret;
}

/* Who got something while the device's event was on its way? */
static void wake_solicited(const struct share_cq_path *path)
{
	uint32_t slot;

	/* pairs with the fence in share_event_arm() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (slot = 0; slot < SHARE_MAX_SLOTS; slot++)
		if (share_load(armed_of(&path->view, slot)) &
			    SHARE_ARMED_SOLICITED &&
		    !share_mailbox_empty(&path->view, slot))
			fire(path->control, &path->view, slot);
}

static int steer(struct share_cq_path *path)
{
	struct share_kicks kicks = { .num = 0 };
	int ret = share_steer(path, &kicks);

	if (ret == EBUSY) {
		/* whoever has the lock wakes all if it leaves anything there */
		refuse(path);
		ret = share_steer(path, &kicks);
	}
	share_steer_kick(path, &kicks);
	return ret;
}

void share_event_dispatch(struct share_cq_path *path)
{
	int turns, ret;

	for (turns = 0; turns < DISPATCH_TURNS; turns++) {
		ret = steer(path);
		if (ret && ret != EBUSY)
			break;
		/* what came before it was armed the holder of the lock sees */
		if (ret == EBUSY && turns)
			return;
		if (arm_device(path) < 0)
			break;
		if (share_glance_empty(path)) {
			wake_solicited(path);
			return;
		}
	}
	share_event_wake_all(path->control, &path->view);
}

void share_event_posted(struct share_cq_path *path)
{
	const uint32_t slot = path->control->me.slot;

	/* pairs with the fence in share_event_arm() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!(share_load(armed_of(&path->view, slot)) & SHARE_ARMED_SOLICITED))
		return;
	if (arm_device(path) && path->ring.base && !share_glance_empty(path))
		share_event_dispatch(path);
}

static void qp_failed(const struct share_control *control, uint32_t index)
{
	struct share_cq_view cq;
	uint32_t slot;

	if (share_control_cq(control, index, &cq))
		return;
	for (slot = 0; slot < SHARE_MAX_SLOTS; slot++)
		if (share_load(armed_of(&cq, slot)) & SHARE_ARMED_SOLICITED)
			fire(control, &cq, slot);
}

void share_event_failed(const struct share_control *control,
			const struct share_qp_view *qp)
{
	/* pairs with the fence in share_event_arm() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	qp_failed(control, qp->attr.send_cq);
	if (qp->attr.recv_cq != qp->attr.send_cq)
		qp_failed(control, qp->attr.recv_cq);
}

void share_event_recheck(struct share_cq_path *path)
{
	const uint32_t slot = path->control->me.slot;
	int i;

	/* once more after the device is armed */
	for (i = 0; i < 2; i++) {
		if (!share_event_is_armed(&path->view, slot))
			return;
		if (!share_mailbox_empty(&path->view, slot) ||
		    (path->ring.base && !share_glance_empty(path)) ||
		    (!i && arm_device(path) < 0)) {
			set_pending(&path->view, slot);
			return;
		}
	}
}
