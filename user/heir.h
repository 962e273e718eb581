/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Who is there, and who gets what belonged to those who are not.
 */
#ifndef SHARE_HEIR_H
#define SHARE_HEIR_H

#include "control.h"

/*
 * Does this process still have that slot, and has nobody found it dead? Under
 * the lock of a CQ the answer holds for the mailboxes of that CQ.
 */
int share_slot_is(const struct share_control *control, uint32_t slot,
		  uint32_t generation);

/* The first named heir that is there. ENOENT: none. */
int share_heir(const struct share_control *control, uint32_t *slot,
	       uint32_t *generation);

/*
 * Under the lock of the CQ: who gets a completion of what @slot and @generation
 * had posted. If it is somebody else: the heir, the caller if the heir does not
 * poll, or the caller if completions of this CQ are for whoever polls; a place
 * in that mailbox is taken. EAGAIN: there is none.
 */
int share_find_owner(const struct share_control *control,
		     const struct share_cq_view *cq, uint32_t *slot,
		     uint32_t *generation);

/*
 * Under the lock of the CQ: takes all mail of @slot, whose process
 * @generation is dead, to the heir, and if there is none to the caller.
 * EBUSY: no room there; ETIMEDOUT: a stopped process is in the way. @mail:
 * slots that got something.
 */
int share_hand_over(const struct share_control *control,
		    const struct share_cq_view *cq, uint32_t slot,
		    uint64_t *mail);

#endif /* SHARE_HEIR_H */
