/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Completion events: each process wants to hear of its own completions, but
 * the CQ has one event for all. See Documentation/ring.rst.
 */
#ifndef SHARE_EVENT_H
#define SHARE_EVENT_H

#include "steer.h"

/*
 * The caller wants an event for its next completion. Flag first, then the
 * device is armed; the caller polls once more before it sleeps. 0 or what ARM
 * answers.
 */
int share_event_arm(struct share_cq_path *path, int solicited);

int share_event_is_armed(const struct share_cq_view *cq, uint32_t slot);

/* 1 if there was an event for the caller; now it has it. */
int share_event_take(struct share_cq_path *path);
int share_event_is_pending(const struct share_cq_path *path);

/*
 * The caller was woken and cannot know why: perhaps by the death of a process
 * that had taken the device's event, or had not come to wake anybody. If there
 * is something to poll, that is an event; if not, the device is armed anew.
 */
void share_event_recheck(struct share_cq_path *path);

/*
 * For who has read an event of the device, or is about to: steers what is in
 * the ring, so that the processes wake that it belongs to, and arms the device
 * again for those that it does not.
 */
void share_event_dispatch(struct share_cq_path *path);
/* The same if all that is known is the CQ's entry. */
void share_event_wake_all(const struct share_control *control,
			  const struct share_cq_view *cq);

/*
 * Who is armed for solicited completions wants to hear of failures as well,
 * and rxe raises no event for these. So the device is armed for every
 * completion while sends are outstanding or a QP is in ERR. These two are for
 * who has posted a send, and for who has seen a QP fail or made it.
 */
void share_event_posted(struct share_cq_path *path);
void share_event_failed(const struct share_control *control,
			const struct share_qp_view *qp);

/*
 * For steer.c. @mail, @failed: slots that got completions, and failed ones.
 * Without locks, after the lock of the CQ was given back.
 */
void share_event_mailed(const struct share_control *control,
			const struct share_cq_view *cq, uint64_t mail,
			uint64_t failed);
/* Both, for who has no path to the CQ. */
void share_event_released(const struct share_control *control,
			  const struct share_cq_view *cq, uint64_t mail);
/* Looks for those who were refused meanwhile. */
void share_event_unlocked(const struct share_cq_path *path);
/*
 * The caller's poll found the lock taken; is it to try once more? Pairs with
 * share_event_unlocked(): one of the two sees the other.
 */
int share_event_refused(const struct share_cq_path *path);

#endif /* SHARE_EVENT_H */
