/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What whoever has the lock of a CQ is about to put into which mailbox, so that
 * after its death somebody else can tell whether it did. All of it under that
 * lock.
 */
#ifndef SHARE_INTENT_H
#define SHARE_INTENT_H

#include "control.h"

/* @source, @source_position: see struct share_intent. */
void share_intent_begin(const struct share_cq_view *cq, uint64_t cookie,
			uint32_t slot, uint32_t source,
			uint32_t source_position);
void share_intent_end(const struct share_cq_view *cq);

/* After the lock was taken: ends what another has begun. */
void share_intent_settle(const struct share_control *control,
			 const struct share_cq_view *cq);

#endif /* SHARE_INTENT_H */
