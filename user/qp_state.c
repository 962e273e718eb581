// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * State of a shared QP, and posting, which depends on it.
 */
#include <errno.h>
#include <string.h>
#include "error.h"
#include "event.h"
#include "gate.h"
#include "qp_attr.h"
#include "share_priv.h"

/* The rings are emptied by the kernel: nobody may be writing to them. */
static int modify_to_reset(struct share_qp *qp,
			   const struct ib_uverbs_qp_attr *attr)
{
	const enum ibv_qp_state before = share_qp_state(&qp->path);
	int ret = share_qp_begin_reset(&qp->path);

	if (ret)
		return ret;
	ret = share_modify_qp(&qp->obj.ctx->file, qp->obj.import, attr);
	if (ret)
		share_qp_cancel_reset(&qp->path, before);
	else
		ret = share_qp_set_state(&qp->path, IBV_QPS_RESET);
	return ret;
}

/* Last: who is woken by it finds the state that it is for. */
static void move_gate(struct share_qp *qp, uint32_t state)
{
	switch (state) {
	case IBV_QPS_INIT:
		share_gate_begin(&qp->path);
		break;
	case IBV_QPS_ERR:
		share_gate_end(&qp->path, SHARE_GATE_OVER);
		break;
	case IBV_QPS_RESET:
		share_gate_end(&qp->path, SHARE_GATE_SHUT);
		break;
	default:
		break;
	}
}

static int modify(struct share_qp *qp, const struct ib_uverbs_qp_attr *attr,
		  int to_state)
{
	int ret;

	if (to_state && attr->qp_state == IBV_QPS_RESET)
		return modify_to_reset(qp, attr);
	ret = share_modify_qp(&qp->obj.ctx->file, qp->obj.import, attr);
	if (!ret && to_state)
		ret = share_qp_set_state(&qp->path,
					 (enum ibv_qp_state)attr->qp_state);
	return ret;
}

int ibv_share_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr,
			int attr_mask)
{
	struct share_qp *qp = share_qp_of(ibv);
	struct ib_uverbs_qp_attr kern;
	int ret;

	if (!qp)
		return errno;
	ret = share_context_check(qp->obj.ctx);
	if (ret)
		return ret;
	share_qp_attr_to_kern(&kern, attr, attr_mask);
	ret = modify(qp, &kern, attr_mask & IBV_QP_STATE);
	if (ret)
		return share_error_ioctl(ret, "changing a QP");
	if (attr_mask & IBV_QP_STATE) {
		ibv->state = attr->qp_state;
		move_gate(qp, attr->qp_state);
	}
	return 0;
}

int ibv_share_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr,
		       int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct share_qp *qp = share_qp_of(ibv);
	struct ib_uverbs_qp_attr kern;
	int ret;

	(void)attr_mask; /* the kernel always tells all */
	if (!qp)
		return errno;
	ret = share_context_check(qp->obj.ctx);
	if (ret)
		return ret;
	ret = share_query_qp(&qp->obj.ctx->file, qp->obj.import, &kern);
	if (ret)
		return share_error_ioctl(ret, "querying a QP");
	share_qp_attr_from_kern(attr, &kern);
	attr->cap = qp->cap;
	memset(init_attr, 0, sizeof(*init_attr));
	init_attr->qp_context = ibv->qp_context;
	init_attr->send_cq = ibv->send_cq;
	init_attr->recv_cq = ibv->recv_cq;
	init_attr->srq = ibv->srq;
	init_attr->cap = qp->cap;
	init_attr->qp_type = ibv->qp_type;
	init_attr->sq_sig_all = (int)qp->path.view.attr.sq_sig_all;
	ibv->state = attr->qp_state;
	return 0;
}

int ibv_share_query_posted(struct ibv_qp *ibv, struct ibv_share_posted_attr *attr)
{
	struct share_qp *qp = share_qp_of(ibv);
	int ret;

	if (!qp)
		return errno;
	ret = share_context_check(qp->obj.ctx);
	if (ret)
		return ret;
	ret = share_posted(&qp->path, SHARE_COOKIE_SEND, &attr->sends);
	if (!ret)
		ret = share_posted(&qp->path, SHARE_COOKIE_RECV, &attr->receives);
	return ret ? share_error_ioctl(ret, "counting what was posted") : 0;
}

int share_op_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr,
		       struct ibv_send_wr **bad)
{
	struct share_qp *qp = share_container_of(ibv, struct share_qp, ibv);
	int ret;

	if (qp->obj.ctx->forked) {
		*bad = wr;
		return share_context_check(qp->obj.ctx);
	}
	ret = share_post_send(&qp->path, wr, bad);
	share_event_posted(qp->path.send_cq);
	return share_error_stopped(ret);
}

int share_op_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad)
{
	struct share_qp *qp = share_container_of(ibv, struct share_qp, ibv);

	if (qp->obj.ctx->forked) {
		*bad = wr;
		return share_context_check(qp->obj.ctx);
	}
	return share_error_stopped(share_post_recv(&qp->path, wr, bad));
}
