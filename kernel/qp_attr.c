// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Attributes of a QP between struct ib_uverbs_qp_attr and the core.
 */
#include <linux/capability.h>
#include <linux/slab.h>
#include <rdma/ib_marshall.h>

#include "share.h"

static void ah_attr_from_user(struct ib_device *ibdev, struct rdma_ah_attr *dst,
			      struct ib_uverbs_ah_attr *src)
{
	dst->type = rdma_ah_find_type(ibdev, src->port_num);
	if (src->is_global) {
		rdma_ah_set_grh(dst, NULL, src->grh.flow_label,
				src->grh.sgid_index, src->grh.hop_limit,
				src->grh.traffic_class);
		rdma_ah_set_dgid_raw(dst, src->grh.dgid);
	}
	rdma_ah_set_dlid(dst, src->dlid);
	rdma_ah_set_sl(dst, src->sl);
	rdma_ah_set_path_bits(dst, src->src_path_bits);
	rdma_ah_set_static_rate(dst, src->static_rate);
	rdma_ah_set_port_num(dst, src->port_num);
}

static void qp_attr_from_user(struct ib_device *ibdev, struct ib_qp_attr *dst,
			      struct ib_uverbs_qp_attr *src)
{
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
	dst->max_rd_atomic = src->max_rd_atomic;
	dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
	dst->min_rnr_timer = src->min_rnr_timer;
	dst->port_num = src->port_num;
	dst->timeout = src->timeout;
	dst->retry_cnt = src->retry_cnt;
	dst->rnr_retry = src->rnr_retry;
	dst->alt_port_num = src->alt_port_num;
	dst->alt_timeout = src->alt_timeout;

	if (src->qp_attr_mask & IB_QP_AV)
		ah_attr_from_user(ibdev, &dst->ah_attr, &src->ah_attr);
	if (src->qp_attr_mask & IB_QP_ALT_PATH)
		ah_attr_from_user(ibdev, &dst->alt_ah_attr, &src->alt_ah_attr);
}

static int port_check(struct ib_qp *qp, struct ib_uverbs_qp_attr *attr)
{
	struct ib_device *ibdev = qp->device;
	u32 mask = attr->qp_attr_mask;

	if (mask & IB_QP_PORT && !rdma_is_port_valid(ibdev, attr->port_num))
		return share_refuse(ibdev, -EINVAL, "no port %u",
				    attr->port_num);
	if (mask & IB_QP_AV &&
	    !rdma_is_port_valid(ibdev, attr->ah_attr.port_num))
		return share_refuse(ibdev, -EINVAL, "no port %u of a path",
				    attr->ah_attr.port_num);
	/* on the way to RTR the port is the one that was set for INIT */
	if (mask & IB_QP_AV && mask & IB_QP_STATE &&
	    attr->qp_state == IB_QPS_RTR && attr->ah_attr.port_num != qp->port)
		return share_refuse(ibdev, -EINVAL,
				    "path of port %u, INIT was for %u",
				    attr->ah_attr.port_num, qp->port);
	if (mask & IB_QP_ALT_PATH &&
	    (!rdma_is_port_valid(ibdev, attr->alt_port_num) ||
	     attr->alt_port_num != attr->alt_ah_attr.port_num))
		return share_refuse(ibdev, -EINVAL,
				    "alternate path of ports %u and %u",
				    attr->alt_port_num,
				    attr->alt_ah_attr.port_num);
	return 0;
}

/* the checks that uverbs makes before it calls the core */
static int qp_attr_check(struct ib_qp *qp, struct ib_uverbs_qp_attr *attr)
{
	struct ib_device *ibdev = qp->device;
	u32 mask = attr->qp_attr_mask;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return share_refuse(ibdev, -EOPNOTSUPP,
				    "mask %#x has unknown bits", mask);
	if (memchr_inv(attr->reserved, 0, sizeof(attr->reserved)))
		return share_refuse(ibdev, -EINVAL, "reserved is not zero");
	if (mask & IB_QP_STATE && attr->qp_state > IB_QPS_ERR)
		return share_refuse(ibdev, -EINVAL, "no QP state %u",
				    attr->qp_state);
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state > IB_QPS_ERR)
		return share_refuse(ibdev, -EINVAL, "no current QP state %u",
				    attr->cur_qp_state);
	/* a controlled Q_Key */
	if (mask & IB_QP_QKEY && attr->qkey & IB_QP_SET_QKEY &&
	    !capable(CAP_NET_RAW))
		return share_refuse(ibdev, -EPERM, "Q_Key %#x is controlled",
				    attr->qkey);
	return port_check(qp, attr);
}

int share_qp_modify(struct ib_qp *qp, struct ib_uverbs_qp_attr *uattr,
		    struct ib_udata *udata)
{
	struct ib_qp_attr *attr;
	int ret;

	ret = qp_attr_check(qp, uattr);
	if (ret)
		return ret;

	/* in SQD: a new path may use another port, the core wants to be told */
	if (uattr->qp_attr_mask & IB_QP_AV &&
	    !(uattr->qp_attr_mask & (IB_QP_STATE | IB_QP_PORT))) {
		uattr->qp_attr_mask |= IB_QP_PORT;
		uattr->port_num = uattr->ah_attr.port_num;
	}

	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	if (!attr)
		return -ENOMEM;
	qp_attr_from_user(qp->device, attr, uattr);
	ret = ib_modify_qp_with_udata(qp, attr, uattr->qp_attr_mask, udata);
	kfree(attr);
	if (ret)
		return share_refuse(qp->device, ret,
				    "core refuses state %u, mask %#x for QP %#x",
				    uattr->qp_state, uattr->qp_attr_mask,
				    qp->qp_num);
	return 0;
}

int share_qp_query(struct ib_qp *qp, struct ib_uverbs_qp_attr *uattr)
{
	struct {
		struct ib_qp_attr attr;
		struct ib_qp_init_attr init;
	} *q = kzalloc(sizeof(*q), GFP_KERNEL);
	int ret;

	if (!q)
		return -ENOMEM;
	ret = ib_query_qp(qp, &q->attr, IB_QP_ATTR_STANDARD_BITS, &q->init);
	if (!ret)
		ib_copy_qp_attr_to_user(qp->device, uattr, &q->attr);
	kfree(q);
	if (ret)
		return share_refuse(qp->device, ret,
				    "provider refuses to query QP %#x",
				    qp->qp_num);
	return 0;
}
