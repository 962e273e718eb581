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
/* How many entries have to be looked at to see all that are live. */
uint32_t share_control_used_cqs(const struct share_control *control);
uint32_t share_control_used_qps(const struct share_control *control);
uint64_t share_control_heap_offset(void);

#endif /* SHARE_DIRECTORY_H */
