/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Between control.c and directory.c.
 */
#ifndef SHARE_DIRECTORY_H
#define SHARE_DIRECTORY_H

#include "control.h"

struct share_entry *share_control_cqs(const struct share_control *control);
struct share_entry *share_control_qps(const struct share_control *control);
struct share_entry *share_control_srqs(const struct share_control *control);
/* How many entries have to be looked at to see all that are live. */
uint32_t share_control_used_cqs(const struct share_control *control);
uint32_t share_control_used_qps(const struct share_control *control);
uint32_t share_control_used_srqs(const struct share_control *control);
uint64_t share_control_heap_offset(void);

/* Is there a QP of that SRQ that may have a receive in hand? */
int share_control_srq_used(const struct share_control *control,
			   uint32_t srq);

/* Is the body of that entry within the segment? EBADMSG */
int share_directory_check_place(const struct share_control *control,
				const struct share_entry *e);

/* directory.c and directory_place.c, for each kind of object */
int share_directory_load(const struct share_control *control,
			 const struct share_entry *shared,
			 struct share_entry *e);
int share_directory_live(const struct share_entry *shared, uint32_t generation);
/*
 * A place for an object of @bytes in @table, which has @count entries: fills
 * in offset, bytes and generation of @e. Under the lock; ENOSPC, EBADMSG.
 */
int share_directory_place(struct share_control *control,
			  const struct share_entry *table, uint32_t count,
			  uint64_t bytes, struct share_entry *e,
			  uint32_t *index);
void share_directory_publish(struct share_entry *table, uint32_t index,
			     uint32_t *used, struct share_entry *e);
int share_directory_lock(struct share_control *control);
void share_directory_unlock(struct share_control *control);

#endif /* SHARE_DIRECTORY_H */
