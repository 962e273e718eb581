// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "futex.h"

/* That of 32 bit, which a kernel need not have any more, takes other times. */
#ifdef SYS_futex_time64
#define FUTEX SYS_futex_time64
#else
#define FUTEX SYS_futex
#endif

/* What that takes, whatever time_t is. */
struct futex_timeout {
	int64_t seconds;
	int64_t nanoseconds;
};

uint32_t share_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint32_t)ts.tv_sec * 1000 + (uint32_t)(ts.tv_nsec / 1000000);
}

int share_futex_wait(uint32_t *word, uint32_t seen, uint32_t ms)
{
	struct futex_timeout timeout = { ms / 1000, ms % 1000 * INT64_C(1000000) };

	return syscall(FUTEX, word, FUTEX_WAIT, seen, &timeout, NULL, 0) &&
	       errno == ETIMEDOUT;
}

void share_futex_wake(uint32_t *word, int max)
{
	syscall(FUTEX, word, FUTEX_WAKE, max, NULL, NULL, 0);
}
