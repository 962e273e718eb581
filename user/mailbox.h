/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Mailboxes: completions of a CQ that another process found. Credits of the CQ
 * and quotas of the slots, which see to it that there is room.
 */
#ifndef SHARE_MAILBOX_H
#define SHARE_MAILBOX_H

#include <infiniband/verbs.h>
#include "control.h"

struct share_mailbox *share_mailbox_of(const struct share_cq_view *cq,
				       uint32_t slot);
int share_mailbox_empty(const struct share_cq_view *cq, uint32_t slot);

uint32_t share_mailbox_count(const struct share_cq_view *cq, uint32_t slot);

/*
 * Under the lock of the CQ. The caller marks the request, then calls
 * share_intent_end(). ENOSPC: no room, which only tampering can bring about.
 */
int share_mailbox_put(const struct share_cq_view *cq, uint32_t slot,
		      uint32_t slot_generation, const struct ibv_wc *wc,
		      uint64_t cookie);

/* The oldest of @from to @to, under the locks of the CQ and of @from. */
int share_mailbox_move(const struct share_cq_view *cq, uint32_t from,
		       uint32_t to, uint32_t to_generation);

/* The caller's own. Never waits. */
int share_mailbox_take(const struct share_cq_view *cq,
		       const struct share_member *me,
		       struct share_lock_watch *watch, int num_entries,
		       struct ibv_wc *wc);

/* ENOMEM: all are in use. @used: how many are now. */
int share_credit_take(uint32_t *word, uint32_t limit, uint32_t *used);
/* Never below 0, whatever others have written there. */
void share_credit_give(uint32_t *word, uint32_t count);

#endif /* SHARE_MAILBOX_H */
