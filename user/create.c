// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The only provider that tells the place of its rings in uAPI is rxe.
 */
#include <errno.h>
#include <sys/mman.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include "create.h"
#include "error.h"

static int rings_check(const struct share_file *file)
{
	if (file->driver_id == RDMA_DRIVER_RXE)
		return 0;
	return share_error(EOPNOTSUPP, "queues can be shared on rdma_rxe only:"
				       " the ring layout of this provider is"
				       " not a kernel interface");
}

static int map(const struct share_file *file, const struct mminfo *info,
	       struct share_map *result)
{
	void *addr;

	if (!info->size)
		return 0;
	addr = mmap(NULL, info->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    file->fd, (off_t)info->offset);
	if (addr == MAP_FAILED)
		return share_error(errno, "a ring cannot be mapped");
	result->addr = addr;
	result->bytes = info->size;
	return 0;
}

void share_unmap(struct share_map *ring)
{
	if (ring->addr)
		munmap(ring->addr, ring->bytes);
	ring->addr = NULL;
}

int share_create_cq(const struct share_file *file, struct share_new_cq *cq)
{
	struct rxe_create_cq_resp resp = { { 0, 0, 0 } };
	struct share_cmd cmd;
	int ret = rings_check(file);

	if (ret)
		return ret;
	cq->ring = (struct share_map){ NULL, 0 };
	share_cmd_init(&cmd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	share_cmd_object(&cmd, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	share_cmd_u32(&cmd, UVERBS_ATTR_CREATE_CQ_CQE, cq->cqe);
	share_cmd_u64(&cmd, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, cq->cookie);
	share_cmd_u32(&cmd, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, cq->comp_vector);
	if (cq->channel >= 0)
		share_cmd_fd(&cmd, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL,
			     cq->channel);
	share_cmd_out(&cmd, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cq->cqe,
		      sizeof(cq->cqe));
	share_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	ret = share_cmd_run(file, &cmd);
	if (ret)
		return share_error_ioctl(ret, "making a CQ");
	cq->handle = share_cmd_handle(&cmd);
	ret = map(file, &resp.mi, &cq->ring);
	if (ret)
		share_destroy_cq(file, cq->handle);
	return ret;
}

static void fill_qp(struct share_cmd *cmd, const struct share_new_qp *qp,
		    struct ib_uverbs_qp_cap *cap)
{
	*cap = (struct ib_uverbs_qp_cap){
		.max_send_wr = qp->cap.max_send_wr,
		.max_recv_wr = qp->cap.max_recv_wr,
		.max_send_sge = qp->cap.max_send_sge,
		.max_recv_sge = qp->cap.max_recv_sge,
		.max_inline_data = qp->cap.max_inline_data,
	};
	share_cmd_init(cmd, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	share_cmd_object(cmd, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	share_cmd_object(cmd, UVERBS_ATTR_CREATE_QP_PD_HANDLE, qp->pd);
	share_cmd_object(cmd, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE,
			 qp->send_cq);
	share_cmd_object(cmd, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE,
			 qp->recv_cq);
	if (qp->srq != SHARE_NO_SRQ)
		share_cmd_object(cmd, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE,
				 qp->srq);
	share_cmd_u64(cmd, UVERBS_ATTR_CREATE_QP_USER_HANDLE, qp->cookie);
	share_cmd_in(cmd, UVERBS_ATTR_CREATE_QP_CAP, cap, sizeof(*cap));
	/* the kernel's numbers are those of libibverbs */
	share_cmd_u64(cmd, UVERBS_ATTR_CREATE_QP_TYPE, qp->type);
	share_cmd_out(cmd, UVERBS_ATTR_CREATE_QP_RESP_CAP, cap, sizeof(*cap));
}

int share_create_qp(const struct share_file *file, struct share_new_qp *qp)
{
	struct rxe_create_qp_resp resp = { { 0, 0, 0 }, { 0, 0, 0 } };
	struct ib_uverbs_qp_cap cap;
	struct share_cmd cmd;
	int ret = rings_check(file);

	if (ret)
		return ret;
	qp->sq = qp->rq = (struct share_map){ NULL, 0 };
	fill_qp(&cmd, qp, &cap);
	share_cmd_out(&cmd, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->qp_num,
		      sizeof(qp->qp_num));
	share_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	ret = share_cmd_run(file, &cmd);
	if (ret)
		return share_error_ioctl(ret, "making a QP");
	qp->handle = share_cmd_handle(&cmd);
	ret = map(file, &resp.sq_mi, &qp->sq);
	if (!ret)
		ret = map(file, &resp.rq_mi, &qp->rq);
	if (ret) {
		share_unmap(&qp->sq);
		share_destroy_qp(file, qp->handle);
		return ret;
	}
	qp->cap = (struct ibv_qp_cap){
		.max_send_wr = cap.max_send_wr,
		.max_recv_wr = cap.max_recv_wr,
		.max_send_sge = cap.max_send_sge,
		.max_recv_sge = cap.max_recv_sge,
		.max_inline_data = cap.max_inline_data,
	};
	return 0;
}

int share_create_srq(const struct share_file *file, struct share_new_srq *srq)
{
	struct rxe_create_srq_resp resp = { .srq_num = 0 };
	struct share_cmd cmd;
	int ret = rings_check(file);

	if (ret)
		return ret;
	srq->ring = (struct share_map){ NULL, 0 };
	share_cmd_init(&cmd, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	share_cmd_object(&cmd, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	share_cmd_object(&cmd, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, srq->pd);
	share_cmd_u64(&cmd, UVERBS_ATTR_CREATE_SRQ_TYPE, IBV_SRQT_BASIC);
	share_cmd_u64(&cmd, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, srq->cookie);
	share_cmd_u32(&cmd, UVERBS_ATTR_CREATE_SRQ_MAX_WR, srq->attr.max_wr);
	share_cmd_u32(&cmd, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, srq->attr.max_sge);
	share_cmd_u32(&cmd, UVERBS_ATTR_CREATE_SRQ_LIMIT, srq->attr.srq_limit);
	share_cmd_out(&cmd, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR,
		      &srq->attr.max_wr, sizeof(srq->attr.max_wr));
	share_cmd_out(&cmd, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE,
		      &srq->attr.max_sge, sizeof(srq->attr.max_sge));
	share_cmd_out(&cmd, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	ret = share_cmd_run(file, &cmd);
	if (ret)
		return share_error_ioctl(ret, "making an SRQ");
	srq->handle = share_cmd_handle(&cmd);
	ret = map(file, &resp.mi, &srq->ring);
	if (ret)
		share_destroy_srq(file, srq->handle);
	return ret;
}

int share_destroy_cq(const struct share_file *file, uint32_t handle)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct share_cmd cmd;

	/*
	 * Nobody waits for the events that the answer counts: their cookies
	 * are indices, which dangle nowhere.
	 */
	share_cmd_init(&cmd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	share_cmd_object(&cmd, UVERBS_ATTR_DESTROY_CQ_HANDLE, handle);
	share_cmd_out(&cmd, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
	return share_cmd_run(file, &cmd);
}

int share_destroy_qp(const struct share_file *file, uint32_t handle)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct share_cmd cmd;

	share_cmd_init(&cmd, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	share_cmd_object(&cmd, UVERBS_ATTR_DESTROY_QP_HANDLE, handle);
	share_cmd_out(&cmd, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
	return share_cmd_run(file, &cmd);
}

int share_destroy_srq(const struct share_file *file, uint32_t handle)
{
	struct ib_uverbs_destroy_srq_resp resp;
	struct share_cmd cmd;

	share_cmd_init(&cmd, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY);
	share_cmd_object(&cmd, UVERBS_ATTR_DESTROY_SRQ_HANDLE, handle);
	share_cmd_out(&cmd, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
	return share_cmd_run(file, &cmd);
}
