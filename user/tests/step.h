/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Runs a child instruction by instruction, and ends it where one likes.
 */
#ifndef TEST_STEP_H
#define TEST_STEP_H

/*
 * Forks. The child runs @act, and is killed after @steps instructions of it.
 * Returns the number of instructions if @act came to its end before, else -1.
 */
long step_and_kill(void (*act)(void), long steps);

#endif /* TEST_STEP_H */
