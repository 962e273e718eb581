// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Extended polling: one completion at a time, which is kept beside the CQ.
 */
#include <errno.h>
#include "error.h"
#include "share_priv.h"

static struct share_cq *cq_of(struct ibv_cq_ex *ex)
{
	return share_container_of(ex, struct share_cq, ex);
}

static int poll_one(struct share_cq *cq)
{
	int n = share_poll(&cq->path, 1, &cq->wc);

	if (n < 0)
		return share_error_stopped(-n);
	if (!n)
		return ENOENT;
	cq->ex.status = cq->wc.status;
	cq->ex.wr_id = cq->wc.wr_id;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct share_cq *cq = cq_of(ex);
	int ret;

	if (cq->obj.ctx->forked)
		return share_context_check(cq->obj.ctx);
	if (attr && attr->comp_mask)
		return EINVAL;
	pthread_mutex_lock(&cq->polling);
	ret = poll_one(cq);
	/* then there is no ibv_end_poll() */
	if (ret)
		pthread_mutex_unlock(&cq->polling);
	return ret;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct share_cq *cq = cq_of(ex);

	if (cq->obj.ctx->forked)
		return share_context_check(cq->obj.ctx);
	return poll_one(cq);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct share_cq *cq = cq_of(ex);

	if (!cq->obj.ctx->forked)
		pthread_mutex_unlock(&cq->polling);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.dlid_path_bits;
}

/* The same values each time: threads may do it at once. */
struct ibv_cq_ex *ibv_share_cq_to_cq_ex(struct ibv_cq *ibv)
{
	struct share_cq *cq = share_cq_of(ibv);
	struct ibv_cq_ex *ex;

	if (!cq)
		return NULL;
	ex = &cq->ex;
	pthread_mutex_lock(&ibv->mutex);
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_dlid_path_bits;
	pthread_mutex_unlock(&ibv->mutex);
	return ex;
}
