/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Sleeping on a word of shared memory. Nobody sleeps for long: who was to wake
 * the sleeper may have died.
 */
#ifndef SHARE_FUTEX_H
#define SHARE_FUTEX_H

#include <stdint.h>

/* Milliseconds of the monotonic clock; wraps around. */
uint32_t share_now_ms(void);

/*
 * Sleeps while @word is @seen, @ms at most. 1: nothing happened for the whole
 * time. Changes errno.
 */
int share_futex_wait(uint32_t *word, uint32_t seen, uint32_t ms);

/* @max: how many to wake. Changes errno. */
void share_futex_wake(uint32_t *word, int max);

#endif /* SHARE_FUTEX_H */
