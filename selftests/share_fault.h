/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Fault injection: a call is made again and again, and each time the next one
 * of its allocations and user copies fails.
 */
#ifndef SHARE_FAULT_H
#define SHARE_FAULT_H

#include "share_test.h"

/**
 * struct fault_call - something that may fail half way
 * @prepare: once before, or NULL
 * @run: the call
 * @undo: what takes its success back, or NULL; for a call that destroys
 *	something: makes it anew
 * @used: how much there is of what it must not leave behind, or NULL
 * @never_fails: gets by without what it cannot have
 * @also: what else other parts of the kernel call it when there is no memory
 *
 * All but @used return 0 or a positive errno. What comes of a fault is ENOMEM
 * or EFAULT.
 */
struct fault_call {
	int (*prepare)(void *env);
	int (*run)(void *env);
	int (*undo)(void *env);
	long (*used)(void *env);
	bool never_fails;
	int also[4];
};

/* what was done, for people */
struct fault_count {
	unsigned int injected;
	unsigned int errors;
};

static inline int result(bool ok)
{
	return ok ? 0 : errno;
}

/* Ends the program as one that is skipped if this kernel cannot do it. */
void fault_require(void);

/*
 * Return: how many things were wrong; each was printed. It is wrong also if
 * there was nothing to fail.
 */
unsigned int fault_sweep(const struct fault_call *call, void *env, struct fault_count *count);

#endif /* SHARE_FAULT_H */
