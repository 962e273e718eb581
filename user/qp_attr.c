// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Attributes of a QP as applications, the kernel and the CM know them.
 */
#include <string.h>
#include <infiniband/share.h>
#include "qp_attr.h"

static void ah_attr_to_kern(struct ib_uverbs_ah_attr *dst,
			    const struct ibv_ah_attr *src)
{
	memcpy(dst->grh.dgid, src->grh.dgid.raw, sizeof(dst->grh.dgid));
	dst->grh.flow_label = src->grh.flow_label;
	dst->grh.sgid_index = src->grh.sgid_index;
	dst->grh.hop_limit = src->grh.hop_limit;
	dst->grh.traffic_class = src->grh.traffic_class;
	dst->dlid = src->dlid;
	dst->sl = src->sl;
	dst->src_path_bits = src->src_path_bits;
	dst->static_rate = src->static_rate;
	dst->is_global = src->is_global;
	dst->port_num = src->port_num;
}

void share_qp_attr_to_kern(struct ib_uverbs_qp_attr *dst,
			   const struct ibv_qp_attr *src, int mask)
{
	memset(dst, 0, sizeof(*dst));
	dst->qp_attr_mask = (uint32_t)mask;
	dst->qp_state = src->qp_state;
	dst->cur_qp_state = src->cur_qp_state;
	dst->path_mtu = src->path_mtu;
	dst->path_mig_state = src->path_mig_state;
	dst->qkey = src->qkey;
	dst->rq_psn = src->rq_psn;
	dst->sq_psn = src->sq_psn;
	dst->dest_qp_num = src->dest_qp_num;
	dst->qp_access_flags = src->qp_access_flags;
	dst->pkey_index = src->pkey_index;
	dst->alt_pkey_index = src->alt_pkey_index;
	dst->en_sqd_async_notify = src->en_sqd_async_notify;
	dst->sq_draining = src->sq_draining;
	dst->max_rd_atomic = src->max_rd_atomic;
	dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
	dst->min_rnr_timer = src->min_rnr_timer;
	dst->port_num = src->port_num;
	dst->timeout = src->timeout;
	dst->retry_cnt = src->retry_cnt;
	dst->rnr_retry = src->rnr_retry;
	dst->alt_port_num = src->alt_port_num;
	dst->alt_timeout = src->alt_timeout;
	/* applications leave what they do not change uninitialised */
	if (mask & IBV_QP_AV)
		ah_attr_to_kern(&dst->ah_attr, &src->ah_attr);
	if (mask & IBV_QP_ALT_PATH)
		ah_attr_to_kern(&dst->alt_ah_attr, &src->alt_ah_attr);
	if (mask & IBV_QP_CAP) {
		dst->max_send_wr = src->cap.max_send_wr;
		dst->max_recv_wr = src->cap.max_recv_wr;
		dst->max_send_sge = src->cap.max_send_sge;
		dst->max_recv_sge = src->cap.max_recv_sge;
		dst->max_inline_data = src->cap.max_inline_data;
	}
}

static void ah_attr_from_kern(struct ibv_ah_attr *dst,
			      const struct ib_uverbs_ah_attr *src)
{
	memcpy(dst->grh.dgid.raw, src->grh.dgid, sizeof(src->grh.dgid));
	dst->grh.flow_label = src->grh.flow_label;
	dst->grh.sgid_index = src->grh.sgid_index;
	dst->grh.hop_limit = src->grh.hop_limit;
	dst->grh.traffic_class = src->grh.traffic_class;
	dst->dlid = src->dlid;
	dst->sl = src->sl;
	dst->src_path_bits = src->src_path_bits;
	dst->static_rate = src->static_rate;
	dst->is_global = src->is_global;
	dst->port_num = src->port_num;
}

void share_qp_attr_from_kern(struct ibv_qp_attr *dst,
			     const struct ib_uverbs_qp_attr *src)
{
	memset(dst, 0, sizeof(*dst));
	dst->qp_state = src->qp_state;
	dst->cur_qp_state = src->cur_qp_state;
	dst->path_mtu = src->path_mtu;
	dst->path_mig_state = src->path_mig_state;
	dst->qkey = src->qkey;
	dst->rq_psn = src->rq_psn;
	dst->sq_psn = src->sq_psn;
	dst->dest_qp_num = src->dest_qp_num;
	dst->qp_access_flags = src->qp_access_flags;
	dst->pkey_index = src->pkey_index;
	dst->alt_pkey_index = src->alt_pkey_index;
	dst->en_sqd_async_notify = src->en_sqd_async_notify;
	dst->sq_draining = src->sq_draining;
	dst->max_rd_atomic = src->max_rd_atomic;
	dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
	dst->min_rnr_timer = src->min_rnr_timer;
	dst->port_num = src->port_num;
	dst->timeout = src->timeout;
	dst->retry_cnt = src->retry_cnt;
	dst->rnr_retry = src->rnr_retry;
	dst->alt_port_num = src->alt_port_num;
	dst->alt_timeout = src->alt_timeout;
	ah_attr_from_kern(&dst->ah_attr, &src->ah_attr);
	ah_attr_from_kern(&dst->alt_ah_attr, &src->alt_ah_attr);
	dst->cap.max_send_wr = src->max_send_wr;
	dst->cap.max_recv_wr = src->max_recv_wr;
	dst->cap.max_send_sge = src->max_send_sge;
	dst->cap.max_recv_sge = src->max_recv_sge;
	dst->cap.max_inline_data = src->max_inline_data;
}

/* 0.64 ms; 0 stands for 655 ms */
#define RNR_TIMER 12
/* of 3 bits; for RNR it means for ever */
#define RETRIES 7
/* 4.096 us << 14 = 67 ms; 0 waits for ever */
#define TIMEOUT 14

void ibv_share_fix_cm_attr(struct ibv_qp_attr *attr, int attr_mask)
{
	if (attr_mask & IBV_QP_MIN_RNR_TIMER && !attr->min_rnr_timer)
		attr->min_rnr_timer = RNR_TIMER;
	if (attr_mask & IBV_QP_RNR_RETRY)
		attr->rnr_retry = RETRIES;
	if (attr_mask & IBV_QP_RETRY_CNT && !attr->retry_cnt)
		attr->retry_cnt = RETRIES;
	if (attr_mask & IBV_QP_TIMEOUT && !attr->timeout)
		attr->timeout = TIMEOUT;
}
