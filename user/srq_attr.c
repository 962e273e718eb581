// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Attributes of a shared SRQ, and posting.
 */
#include <errno.h>
#include "error.h"
#include "share_priv.h"

int ibv_share_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr,
			 int attr_mask)
{
	struct share_srq *srq = share_srq_of(ibv);
	int ret;

	if (!srq)
		return errno;
	ret = share_context_check(srq->obj.ctx);
	if (ret)
		return ret;
	if (attr_mask & IBV_SRQ_MAX_WR)
		return share_error(EOPNOTSUPP, "a shared SRQ cannot be resized:"
					       " that would take the ring from"
					       " under the other processes."
					       " Make a larger one");
	if (attr_mask != IBV_SRQ_LIMIT)
		return share_error(EINVAL, "IBV_SRQ_LIMIT is the only attribute"
					   " that can be changed");
	ret = share_limit_srq(&srq->obj.ctx->file, srq->obj.import,
			      attr->srq_limit);
	return ret ? share_error_ioctl(ret, "changing an SRQ") : 0;
}

int ibv_share_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct share_srq *srq = share_srq_of(ibv);
	struct ib_uverbs_share_srq answer;
	int ret;

	if (!srq)
		return errno;
	ret = share_context_check(srq->obj.ctx);
	if (ret)
		return ret;
	ret = share_query_srq(&srq->obj.ctx->file, srq->obj.import, &answer);
	if (ret)
		return share_error_ioctl(ret, "querying an SRQ");
	*attr = (struct ibv_srq_attr){
		.max_wr = answer.max_wr,
		.max_sge = answer.max_sge,
		.srq_limit = answer.limit,
	};
	return 0;
}

int share_op_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **bad)
{
	struct share_srq *srq = share_container_of(ibv, struct share_srq, ibv);

	if (srq->obj.ctx->forked) {
		*bad = wr;
		return share_context_check(srq->obj.ctx);
	}
	return share_error_stopped(share_post_srq_recv(&srq->path, wr, bad));
}
