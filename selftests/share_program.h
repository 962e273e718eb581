/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Programs that know nothing of this project, as peers.
 */
#ifndef SHARE_PROGRAM_H
#define SHARE_PROGRAM_H

#include <sys/types.h>
#include "share_library.h"

struct program {
	pid_t pid;
	int out; /* what it says */
};

/* 0, or 1 and a reason */
int program_start(struct program *p, char *const argv[]);

/*
 * The end of it: its status, and if that is a bad one, what it has said; 0 if
 * that is @excused.
 */
int program_ends(struct program *p, const char *name, const char *excused);
int program_ends_well(struct program *p, const char *name);

#endif /* SHARE_PROGRAM_H */
