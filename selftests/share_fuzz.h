/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A fuzzer that knows the methods of the module. All that it does follows from
 * a seed and from what the kernel answers.
 */
#ifndef SHARE_FUZZ_H
#define SHARE_FUZZ_H

#include "share_table.h"

#define FUZZ_FILES 3
#define FUZZ_FDS 48
#define FUZZ_HANDLES 96
#define FUZZ_METHODS 48

/* longer than the longest ring */
#define FUZZ_MAPS 8
#define FUZZ_MAP_BYTES (16 * PAGE)

#define FUZZ_SCRATCH_BYTES (16 * PAGE)

/* nobody has so many */
#define FUZZ_CLOSED_FD 1000

enum fuzz_fd_class {
	FUZZ_FD_UVERBS,
	FUZZ_FD_GRANT,
	FUZZ_FD_MEMORY,
	FUZZ_FD_EVENT,
	FUZZ_FD_OTHER,
};

/**
 * struct fuzz_fd - a descriptor, open or closed
 * @fd: its number
 * @class: what it was when it was put here
 * @keep: not closed before the end
 * @rights: FUZZ_FD_GRANT: its rights
 */
struct fuzz_fd {
	int fd;
	enum fuzz_fd_class class;
	bool keep;
	uint32_t rights;
};

/**
 * struct fuzz_handle - an object, alive or destroyed
 * @file: index of its file
 * @type: type of object
 * @handle: its number
 * @kind: IMPORT: enum ib_uverbs_share_kind
 * @nsegs: number of its rings
 * @seg: its rings
 */
struct fuzz_handle {
	unsigned int file;
	uint16_t type;
	uint32_t handle;
	uint32_t kind;
	unsigned int nsegs;
	struct ib_uverbs_share_segment seg[2];
};

/**
 * struct fuzz - one thread of a fuzzer
 * @state: of the random numbers
 * @alone: no other thread uses its descriptors, so more can be asserted
 * @ep: files: two of rxe0 and one of rxe1; the last is this thread's own
 * @fd: descriptors to use
 * @handle: objects to use
 * @file: file of the call at hand
 * @map: where rings are mapped: address space of this thread's own
 * @scratch: what calls point to, with nothing mapped behind it
 * @used: bytes of it that the call at hand uses
 * @failures: answers that should not be
 * @digest: of all answers
 * @answers: calls per method: refused, done
 */
struct fuzz {
	uint64_t state;
	bool alone;
	struct endpoint ep[FUZZ_FILES];
	struct fuzz_fd fd[FUZZ_FDS];
	unsigned int nfds;
	struct fuzz_handle handle[FUZZ_HANDLES];
	unsigned int nhandles;
	unsigned int file;
	char *map;
	char *scratch;
	unsigned int used;
	unsigned int failures;
	uint64_t digest;
	unsigned long answers[FUZZ_METHODS][2];
};

/* share_fuzz.c: random numbers and what there is to use */
void fuzz_seed(struct fuzz *f, uint64_t seed);
uint64_t fuzz_random(struct fuzz *f);
unsigned int fuzz_below(struct fuzz *f, unsigned int n);
bool fuzz_one_in(struct fuzz *f, unsigned int n);

struct fuzz_fd *fuzz_put_fd(struct fuzz *f, int fd, enum fuzz_fd_class class);
struct fuzz_fd *fuzz_any_fd(struct fuzz *f, unsigned int classes);
struct fuzz_handle *fuzz_put_handle(struct fuzz *f, unsigned int file, uint16_t type,
				    uint32_t handle);
struct fuzz_handle *fuzz_any_handle(struct fuzz *f, unsigned int file, uint16_t type,
				    uint32_t kind);
int fuzz_open(struct fuzz *f);
int fuzz_open_own(struct fuzz *f);
void fuzz_reopen(struct fuzz *f);
void fuzz_close(struct fuzz *f);
void fuzz_verbs(struct fuzz *f);

/* share_fuzz_attr.c: attributes */
void fuzz_attr(struct fuzz *f, struct call *call, const struct table_attr *row);

/* share_fuzz_call.c: calls */
void fuzz_call(struct fuzz *f);

/* share_fuzz_file.c: what else can be done with a grant */
void fuzz_files_init(void);
void fuzz_file(struct fuzz *f);

#endif /* SHARE_FUZZ_H */
