/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Who scribbles on rings: its own or those of an import.
 */
#ifndef SHARE_HOSTILE_H
#define SHARE_HOSTILE_H

#include "share_fuzz.h"

#define HOSTILE_BYTES 2048

struct hostile;

/**
 * struct hostile_ops - calls about a QP and its CQ, by who has them and by who has them imported
 * @modify: QP to a state
 * @kick: IB_UVERBS_SHARE_KICK_*
 * @arm: CQ
 */
struct hostile_ops {
	int (*modify)(struct hostile *h, uint8_t state);
	int (*kick)(struct hostile *h, uint32_t flags);
	int (*arm)(struct hostile *h, uint32_t flags);
};

/**
 * struct hostile - what it has
 * @f: its random numbers
 * @fd: its file
 * @ops: what to do with @qp and @cq
 * @ep: theirs
 * @qp: handle in @fd
 * @cq: handle in @fd
 * @send: ring as it has it mapped
 * @recv: the same
 * @done: ring of the CQ
 * @lkey: of memory of 2 * HOSTILE_BYTES
 * @rkey: of the same
 * @memory: where that is
 * @any_num_sge: rxe can take it
 * @posted: requests so far
 * @kicks: calls of ops->kick that did something
 * @resets: times from RESET to RTS
 */
struct hostile {
	struct fuzz f;
	int fd;
	const struct hostile_ops *ops;
	struct endpoint *ep;
	uint32_t qp, cq;
	struct rxe_queue_buf *send, *recv, *done;
	uint32_t lkey, rkey;
	uint64_t memory;
	bool any_num_sge;
	unsigned long posted, kicks, resets;
};

/* @memory: of 2 * HOSTILE_BYTES; @mr: of it */
void hostile_init(struct hostile *h, const struct hostile_ops *ops, void *memory,
		  const struct ib_uverbs_reg_mr_resp *mr);

/* one round */
void hostile_attack(struct hostile *h);

#endif
