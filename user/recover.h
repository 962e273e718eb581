/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#ifndef SHARE_RECOVER_H
#define SHARE_RECOVER_H

#include "steer.h"

/*
 * Asks which processes have died since the last time, and repairs what they
 * left. Takes locks, for 20 ms at most each when their holders are stopped, and
 * kicks: never called under a lock. EAGAIN: not all could be done, call again.
 */
int share_recover(struct share_control *control);

/* The same, every share_member.recheck_ms. For every post and every poll. */
void share_recover_sometimes(struct share_control *control);

/*
 * Counts credits and quotas of the CQ anew, if it needs that and everybody's
 * locks can be had. Without locks.
 */
void share_recount_if_needed(struct share_cq_path *path);

/* How long to wait for a lock where it is not essential to get it. */
struct share_member share_impatient(const struct share_member *me);

#endif /* SHARE_RECOVER_H */
