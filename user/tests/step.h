/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Runs a child up to some instruction, and ends it there.
 */
#ifndef TEST_STEP_H
#define TEST_STEP_H

#include <stddef.h>

/*
 * Forks. The child runs @act, and is killed after @steps instructions of it.
 * Returns the number of instructions if @act came to its end before, else -1.
 */
long step_and_kill(void (*act)(void), long steps);

struct region {
	void *base;
	size_t bytes;
};

/*
 * The same, but counts only instructions that write into shared memory: what
 * others can see of the child changes with no other. @regions: whole pages,
 * the last one has no bytes. -2: not on this machine.
 */
long store_and_kill(void (*act)(void), const struct region *regions,
		    long stores);

#endif /* TEST_STEP_H */
