/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Queues made by ioctls of our own, so that the library knows their rings: the
 * provider maps them once and tells nobody where.
 */
#ifndef SHARE_CREATE_H
#define SHARE_CREATE_H

#include <stdint.h>
#include <infiniband/verbs.h>
#include "cmd.h"

/* A ring as this process has it mapped; addr NULL if there is none. */
struct share_map {
	void *addr;
	uint64_t bytes;
};

/*
 * struct share_new_cq - a CQ in the making
 * @cqe: wanted, then what it holds
 * @comp_vector: wanted
 * @channel: file descriptor, or -1
 * @cookie: of its events
 * @handle: result
 * @ring: result
 */
struct share_new_cq {
	uint32_t cqe;
	uint32_t comp_vector;
	int channel;
	uint32_t cookie;
	uint32_t handle;
	struct share_map ring;
};

/*
 * struct share_new_qp - a QP in the making
 * @pd: handle, like the next two
 * @send_cq: of the send side
 * @recv_cq: of the receive side
 * @type: RC, UC or UD
 * @cap: wanted, then what it has
 * @srq: handle, or SHARE_NO_SRQ
 * @cookie: of its events
 * @handle: result, like all that follow
 * @qp_num: its number
 * @sq: send ring
 * @rq: receive ring
 */
struct share_new_qp {
	uint32_t pd;
	uint32_t send_cq;
	uint32_t recv_cq;
	enum ibv_qp_type type;
	struct ibv_qp_cap cap;
	uint32_t srq;
	uint32_t cookie;
	uint32_t handle;
	uint32_t qp_num;
	struct share_map sq;
	struct share_map rq;
};

#define SHARE_NO_SRQ 0xffffffffU

/*
 * struct share_new_srq - an SRQ in the making
 * @pd: handle
 * @attr: wanted, then what it has
 * @cookie: of its events
 * @handle: result
 * @ring: result
 */
struct share_new_srq {
	uint32_t pd;
	struct ibv_srq_attr attr;
	uint32_t cookie;
	uint32_t handle;
	struct share_map ring;
};

/* 0 or a positive errno value with a message; on error nothing is left. */
int share_create_cq(const struct share_file *file, struct share_new_cq *cq);
int share_create_qp(const struct share_file *file, struct share_new_qp *qp);
int share_create_srq(const struct share_file *file, struct share_new_srq *srq);

/* 0 or a positive errno value without a message */
int share_destroy_cq(const struct share_file *file, uint32_t handle);
int share_destroy_qp(const struct share_file *file, uint32_t handle);
int share_destroy_srq(const struct share_file *file, uint32_t handle);

void share_unmap(struct share_map *map);

#endif /* SHARE_CREATE_H */
