/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * For tests of the extended calls.
 */
#ifndef SHARE_EXTENDED_H
#define SHARE_EXTENDED_H

#include "share_library.h"

#define DEPTH 16
#define BYTES 4096
#define IOVA 0x7200000000ULL
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | \
		IBV_ACCESS_REMOTE_ATOMIC)

/* where in the memory */
enum place {
	FROM = 0,
	TO = 1024,
	RECV = 2048,
	WORD = 3072,
};

/* struct extended - two queue pairs that are connected to one another */
struct extended {
	struct ibv_context *context;
	struct ibv_share_context *ctx[2]; /* maker, importer */
	struct ibv_qp_ex *qp[2];
	struct ibv_cq_ex *cq[2];
	struct ibv_qp *made[2]; /* the second one receives */
	struct ibv_cq *made_cq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *mem;
	int sv[2];
};

/* These return 1 and say why, or 0. */
int extended_open(struct extended *self);
int extended_close(struct extended *self);
/* One receive on the second queue pair. */
int extended_recv(struct extended *self, int who, uint64_t wr_id);
/* ibv_start_poll() until there is one, for some time */
int extended_poll(struct ibv_cq_ex *cq);
/* Is it the completion that is read now? */
int extended_is(struct ibv_cq_ex *cq, uint64_t wr_id, enum ibv_wc_opcode opcode, uint32_t qp_num);
/* The next request is signaled, and has that wr_id. */
void extended_request(struct ibv_qp_ex *qp, uint64_t wr_id);
/* One of 8 bytes. */
void extended_write(struct extended *self, struct ibv_qp_ex *qp, uint64_t wr_id);

#endif /* SHARE_EXTENDED_H */
