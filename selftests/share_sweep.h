/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A call that succeeds, made again and again with one thing wrong.
 */
#ifndef SHARE_SWEEP_H
#define SHARE_SWEEP_H

#include "share_test.h"

/* kinds of attributes */
enum kind {
	NEW, /* handle that is returned */
	HANDLE,
	ANY_OBJECT, /* handle of several types */
	GRANT,
	CMD_FD,
	MEMORY,
	MEMORY_OR_GRANT,
	EVENT,
	VALUE,
	FLAGS,
	STRUCT,
	SEGMENTS, /* array of structs */
	OUT,
	OUT_STRUCT, /* may be longer */
	OUT_FD, /* descriptor of a new grant */
	KINDS, /* end of a table */
};

/**
 * struct attr_row - an attribute of a method
 * @id: its number
 * @kind: what can be wrong with it
 * @optional: nothing is wrong when it is missing
 * @other: ANY_OBJECT, HANDLE: handle of an object of another type
 */
struct attr_row {
	uint16_t id;
	enum kind kind;
	bool optional;
	uint32_t other;
};

#define ATTR(id_, kind_)                     \
	{                                    \
		.id = (id_), .kind = (kind_) \
	}
#define OPTIONAL(id_, kind_)                                   \
	{                                                      \
		.id = (id_), .kind = (kind_), .optional = true \
	}
/* a handle, and one of another type */
#define OBJECT(id_, other_)                                    \
	{                                                      \
		.id = (id_), .kind = HANDLE, .other = (other_) \
	}

/**
 * struct sweep - what is used to make calls wrong
 * @fd: uverbs file
 * @other_uverbs: another one
 * @grant: of a context
 * @memfd: of the length of a page
 */
struct sweep {
	int fd;
	int other_uverbs;
	int grant;
	int memfd;
	int pipe, null, dir, disk;
	char *unmapped, *read_only;
};

int sweep_init(struct sweep *sweep);
void sweep_exit(void);
unsigned int sweep_run(const struct sweep *sweep, const struct call *good,
		       const struct attr_row *rows);

#endif /* SHARE_SWEEP_H */
