/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Receives of an SRQ.
 */
#ifndef SHARE_POST_SRQ_H
#define SHARE_POST_SRQ_H

#include <infiniband/verbs.h>
#include "control.h"
#include "ring.h"
#include "steer.h"

/*
 * struct share_srq_path - an SRQ, as one process has it; threads may share it
 * @control: must outlive it
 * @ring: base is NULL without the right POST_RECV
 * @cq: must outlive it
 * @corrupt: as in share_qp_path
 */
struct share_srq_path {
	struct share_control *control;
	struct share_srq_view view;
	struct share_ring ring;
	struct share_cq_path *cq;
	struct share_cq_view cq_view;
	uint32_t corrupt;
};

/* @base: the mapped ring, or NULL; nothing to undo. */
int share_srq_path_init(struct share_srq_path *path,
			struct share_control *control, uint32_t index,
			struct share_cq_path *cq,
			const struct share_provider *provider, void *base,
			size_t bytes);

/*
 * As ibv_post_srq_recv(): 0, or an errno value with *@bad set: EINVAL:
 * malformed; ENOMEM: no room in ring, CQ or mailbox; EACCES: no right; ENOLINK:
 * the SRQ is gone; ETIMEDOUT: a stopped process is in the way. What stands
 * before *@bad is posted.
 */
int share_post_srq_recv(struct share_srq_path *path, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad);

/*
 * Under the lock of the SRQ, when its holder has died: what it had not
 * published was never posted. Its credits and quotas are counted anew.
 */
void share_srq_sweep(const struct share_srq_view *view);

/*
 * A QP that is reset or destroyed may take a receive with it that the device
 * had given to it: nobody is told which. When no QP of the SRQ is in use, none
 * has any, and what is neither in the ring nor completed is given up.
 */
void share_srq_reclaim(struct share_srq_path *path);

/*
 * The exporter only, before the kernel's SRQ is revoked, resp. after it was
 * destroyed: as share_qp_begin_delete() and share_qp_path_delete().
 */
int share_srq_begin_delete(struct share_srq_path *path);
int share_srq_path_delete(struct share_srq_path *path);

#endif /* SHARE_POST_SRQ_H */
