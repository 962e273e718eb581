/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A bundle to be damaged.
 */
#ifndef SHARE_TESTS_SAMPLE_H
#define SHARE_TESTS_SAMPLE_H

#include "../bundle.h"

#define NONE SHARE_BUNDLE_NONE
#define CHECK(cond)                                                         \
	do {                                                                \
		if (!(cond)) {                                              \
			printf("# %s:%d: %s\n", __func__, __LINE__, #cond); \
			return 0;                                           \
		}                                                           \
	} while (0)

extern struct share_bundle sample, parsed;
extern unsigned char message[IBV_SHARE_MAX_BYTES + 1];

/* Appends an object that refers to nothing but its grant to the sample. */
struct share_bundle_object *add(uint32_t kind, const char *name);

/*
 * Packs into the message: a PD, two CQs on one channel, two QPs, two MRs, one
 * with a file, and two user objects, one with a file descriptor. Returns its
 * length.
 */
size_t make_sample(void);

#endif /* SHARE_TESTS_SAMPLE_H */
