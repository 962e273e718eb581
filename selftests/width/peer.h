/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A program that is built for 32 and for 64 bit from the library's sources;
 * ../width.c has one of each use one control segment.
 */
#ifndef WIDTH_PEER_H
#define WIDTH_PEER_H

#include <errno.h>
#include <stdio.h>

#define BITS ((int)(8 * sizeof(void *)))

/* The function returns 1 and says why. */
#define CHECK(cond)                                                                              \
	do {                                                                                     \
		if (!(cond)) {                                                                   \
			printf("%d bit: %s:%d: %s, errno %d\n", BITS, __func__, __LINE__, #cond, \
			       errno);                                                           \
			return 1;                                                                \
		}                                                                                \
	} while (0)

/* Sizes and offsets of all that is in the control segment, a line each. */
void print_layout(void);

#endif /* WIDTH_PEER_H */
