/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Objects of every kind, an exporter and an importer of them.
 */
#ifndef SHARE_FAULT_ENV_H
#define SHARE_FAULT_ENV_H

#include "share_fault.h"

#define LENGTH (4 * PAGE)

/* objects that can be exported; the context has no handle */
enum what {
	CONTEXT,
	PD,
	CQ,
	QP,
	SRQ,
	MR,
	WHAT_COUNT,
};

/**
 * struct fault_env - what the calls work on
 * @ep: the exporter
 * @peer: what its QP is connected to
 * @importer: another uverbs file of the device
 * @export: of each kind of object; handle ABSENT: not exported now
 * @segs: rings of each kind
 * @import: of those
 * @what: kind that the call is about
 */
struct fault_env {
	struct endpoint ep, peer;
	struct srq srq;
	int importer;
	uint32_t importer_pd;
	int memfd, event;
	char *mem;
	struct reg_mr mr;
	struct export_args export[WHAT_COUNT];
	struct ib_uverbs_share_segment segs[WHAT_COUNT][2];
	struct import import[WHAT_COUNT];
	enum what what;
	struct reg_mr new_mr;
	int new_fd;
	volatile char *map;
	uintptr_t at;
};

int fault_env_open(struct fault_env *env);
long fault_env_used(void *env);
/* the query that there is for what is imported */
int fault_env_query(struct fault_env *env);
/* EBUSY if anything has been left that uses an object */
int fault_env_destroy(struct fault_env *env);

#endif /* SHARE_FAULT_ENV_H */
