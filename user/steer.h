/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Completions: from the ring to whoever posted the request.
 */
#ifndef SHARE_STEER_H
#define SHARE_STEER_H

#include <infiniband/verbs.h>
#include "control.h"
#include "ring.h"

/*
 * struct share_cq_path - a CQ, as one process has it; threads may share it
 * @control: must outlive it
 * @ring: base is NULL without the right POLL: then only what others put into
 *	our mailbox is found
 * @watch: of the lock
 * @recount_ms: when that failed last
 * @oldest: cookie of the completion that the holder of the lock left in the
 *	ring, and since when
 * @corrupt: ring or mailbox hold what nobody can have put there; this process
 *	uses it no more
 */
struct share_cq_path {
	struct share_control *control;
	struct share_cq_view view;
	struct share_ring ring;
	struct share_lock_watch watch;
	struct share_lock_watch mail_watch;
	uint32_t recount_ms;
	uint32_t oldest_ms;
	uint64_t oldest;
	uint32_t corrupt;
};

/*
 * struct share_kicks - what is to be done when the locks are given back
 * @num, @index: QPs that turned out to have failed: what was posted meanwhile
 *	is flushed by a kick
 * @mail: slots that got completions
 * @failed: those that got completions of failed requests
 */
struct share_kicks {
	uint32_t num;
	uint32_t index[8];
	uint64_t mail;
	uint64_t failed;
};

/* @base: the mapped ring, or NULL; nothing to undo. */
int share_cq_path_init(struct share_cq_path *path,
		       struct share_control *control, uint32_t index,
		       const struct share_provider *provider, void *base,
		       size_t bytes);

/*
 * As ibv_poll_cq(): number of completions, or a negative errno value: -ENOLINK
 * when the CQ is gone, -ETIMEDOUT when a stopped process is in the way. Waits
 * for a lock only after a death.
 */
int share_poll(struct share_cq_path *path, int num_entries, struct ibv_wc *wc);

/*
 * Empties the ring into mailboxes, the caller's too. EBUSY: somebody else is
 * at it; EAGAIN: nobody has room for a completion of a dead process. The kicks
 * are left to the caller, who always has to call share_steer_kick() for them.
 */
int share_steer(struct share_cq_path *path, struct share_kicks *kicks);
void share_steer_kick(struct share_cq_path *path,
		      const struct share_kicks *kicks);

/*
 * For post.c. Room for one more completion of this process; ENOMEM. @low:
 * at least half of the credits are in use now.
 */
int share_cq_reserve(const struct share_cq_view *cq, uint32_t slot, int *low);
void share_cq_unreserve(const struct share_cq_view *cq, uint32_t slot);

/*
 * The same, but waits for the lock as long as @me says, and keeps it if the
 * result is 0. @leave: completions that are for anybody stay in the ring, as
 * with share_steer(); if not, they are the caller's.
 */
int share_steer_locked(struct share_cq_path *path,
		       const struct share_member *me, int leave,
		       struct share_kicks *kicks);

/*
 * Empties the ring as share_steer() does, but waits for the lock, then retires
 * what is left of one direction of a QP, without completions. The caller holds
 * the lock of the direction; @path is the CQ of it.
 */
int share_steer_retire_all(struct share_cq_path *path,
			   const struct share_qp_view *qp, uint32_t direction,
			   struct share_kicks *kicks);

#endif /* SHARE_STEER_H */
