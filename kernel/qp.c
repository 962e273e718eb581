// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <linux/capability.h>
#include <linux/slab.h>
#include <rdma/ib_marshall.h>

#include "share.h"

static int qp_check(struct ib_uobject *target)
{
	struct ib_qp *qp = target->object;

	if (qp->real_qp != qp)
		return -EOPNOTSUPP;
	switch (qp->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static void qp_pin(struct share *share)
{
	struct ib_qp *qp = share->object;

	atomic_inc(&qp->usecnt);
}

static void qp_unpin(struct share *share)
{
	struct ib_qp *qp = share->object;

	atomic_dec(&qp->usecnt);
}

static void qp_info(struct share *share, struct ib_uverbs_share_info *info)
{
	struct ib_qp *qp = share->object;

	info->qp_num = qp->qp_num;
	info->qp_type = qp->qp_type;
}

static bool qp_can_send(struct ib_qp *qp)
{
	struct {
		struct ib_qp_attr attr;
		struct ib_qp_init_attr init;
	} *q = kzalloc(sizeof(*q), GFP_KERNEL);
	bool can = false;

	if (q && !ib_query_qp(qp, &q->attr, IB_QP_STATE, &q->init))
		can = q->attr.qp_state >= IB_QPS_RTS;
	kfree(q);
	return can;
}

/*
 * A process that dies may have published requests without telling the device,
 * and other posters rely on whoever rings first. One kick drains them all.
 */
static void qp_release(struct share_import *import)
{
	struct share *share = import->share;

	if (!(import->rights & IB_UVERBS_SHARE_POST_SEND) ||
	    share_lock_live(share))
		return;
	if (share_has_rings(share->ibdev) && qp_can_send(share->object))
		ib_post_send(share->object, NULL, NULL);
	share_unlock(share);
}

const struct share_kind share_kind_qp = {
	.kind = IB_UVERBS_SHARE_QP,
	.name = "qp",
	.rights = IB_UVERBS_SHARE_POST_SEND | IB_UVERBS_SHARE_POST_RECV |
		  IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_MODIFY |
		  IB_UVERBS_SHARE_MANAGE | IB_UVERBS_SHARE_REGRANT,
	.rings = BIT(IB_UVERBS_SHARE_RING_SEND) | BIT(IB_UVERBS_SHARE_RING_RECV),
	.check = qp_check,
	.pin = qp_pin,
	.unpin = qp_unpin,
	.info = qp_info,
	.release = qp_release,
};

static int qp_kick(struct share *share, u32 flags)
{
	int ret = 0;

	if (!share_has_rings(share->ibdev))
		return -EOPNOTSUPP;
	/* an empty list: the provider looks at the ring */
	if (flags & IB_UVERBS_SHARE_KICK_SEND)
		ret = ib_post_send(share->object, NULL, NULL);
	if (!ret && flags & IB_UVERBS_SHARE_KICK_RECV)
		ret = ib_post_recv(share->object, NULL, NULL);
	return ret;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_KICK)(
	struct uverbs_attr_bundle *attrs)
{
	struct share_import *import;
	u32 flags, rights = 0;
	int ret;

	ret = uverbs_get_flags32(&flags, attrs, IB_UVERBS_ATTR_IMPORT_KICK_FLAGS,
				 IB_UVERBS_SHARE_KICK_SEND |
					 IB_UVERBS_SHARE_KICK_RECV);
	if (ret)
		return ret;
	if (flags & IB_UVERBS_SHARE_KICK_SEND)
		rights |= IB_UVERBS_SHARE_POST_SEND;
	if (flags & IB_UVERBS_SHARE_KICK_RECV)
		rights |= IB_UVERBS_SHARE_POST_RECV;

	import = share_import_lock(attrs, IB_UVERBS_ATTR_IMPORT_KICK_HANDLE,
				   IB_UVERBS_SHARE_QP, rights);
	if (IS_ERR(import))
		return PTR_ERR(import);

	ret = flags ? qp_kick(import->share, flags) : -EINVAL;
	share_import_unlock(import);
	return ret;
}

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

/* the checks that uverbs makes before it calls the core */
static int qp_attr_check(struct ib_qp *qp, struct ib_uverbs_qp_attr *attr)
{
	struct ib_device *ibdev = qp->device;
	u32 mask = attr->qp_attr_mask;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (memchr_inv(attr->reserved, 0, sizeof(attr->reserved)))
		return -EINVAL;
	if (mask & IB_QP_STATE && attr->qp_state > IB_QPS_ERR)
		return -EINVAL;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state > IB_QPS_ERR)
		return -EINVAL;
	if (mask & IB_QP_PORT && !rdma_is_port_valid(ibdev, attr->port_num))
		return -EINVAL;
	if (mask & IB_QP_AV &&
	    !rdma_is_port_valid(ibdev, attr->ah_attr.port_num))
		return -EINVAL;
	/* on the way to RTR the port is the one that was set for INIT */
	if (mask & IB_QP_AV && mask & IB_QP_STATE &&
	    attr->qp_state == IB_QPS_RTR && attr->ah_attr.port_num != qp->port)
		return -EINVAL;
	if (mask & IB_QP_ALT_PATH &&
	    (!rdma_is_port_valid(ibdev, attr->alt_port_num) ||
	     attr->alt_port_num != attr->alt_ah_attr.port_num))
		return -EINVAL;
	/* a controlled Q_Key */
	if (mask & IB_QP_QKEY && attr->qkey & IB_QP_SET_QKEY &&
	    !capable(CAP_NET_RAW))
		return -EPERM;
	return 0;
}

/* with MODIFY only: to SQD, RTS or ERR, nothing else on the way */
static bool is_plain_state_change(const struct ib_uverbs_qp_attr *attr)
{
	if (attr->qp_attr_mask & ~(IB_QP_STATE | IB_QP_CUR_STATE |
				   IB_QP_EN_SQD_ASYNC_NOTIFY))
		return false;
	return attr->qp_state == IB_QPS_RTS || attr->qp_state == IB_QPS_SQD ||
	       attr->qp_state == IB_QPS_ERR;
}

static int qp_modify(struct ib_qp *qp, struct ib_uverbs_qp_attr *uattr,
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
	return ret;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_MODIFY_QP)(
	struct uverbs_attr_bundle *attrs)
{
	struct share_import *import;
	struct ib_uverbs_qp_attr uattr;
	int ret;

	ret = uverbs_copy_from(&uattr, attrs,
			       IB_UVERBS_ATTR_IMPORT_MODIFY_QP_ATTR);
	if (ret)
		return ret;

	import = share_import_lock(attrs, IB_UVERBS_ATTR_IMPORT_MODIFY_QP_HANDLE,
				   IB_UVERBS_SHARE_QP, 0);
	if (IS_ERR(import))
		return PTR_ERR(import);

	if (!(import->rights & IB_UVERBS_SHARE_MANAGE) &&
	    !(import->rights & IB_UVERBS_SHARE_MODIFY &&
	      is_plain_state_change(&uattr)))
		ret = -EACCES;
	else
		ret = qp_modify(import->share->object, &uattr,
				&attrs->driver_udata);
	share_import_unlock(import);
	return ret;
}

static int qp_query(struct ib_qp *qp, struct ib_uverbs_qp_attr *uattr)
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
	return ret;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_QUERY_QP)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uverbs_qp_attr uattr = {};
	struct share_import *import;
	int ret;

	import = share_import_lock(attrs, IB_UVERBS_ATTR_IMPORT_QUERY_QP_HANDLE,
				   IB_UVERBS_SHARE_QP, IB_UVERBS_SHARE_READ);
	if (IS_ERR(import))
		return PTR_ERR(import);
	ret = qp_query(import->share->object, &uattr);
	share_import_unlock(import);
	if (ret)
		return ret;
	return uverbs_copy_to(attrs, IB_UVERBS_ATTR_IMPORT_QUERY_QP_RESP_ATTR,
			      &uattr, sizeof(uattr));
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_KICK,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_KICK_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(IB_UVERBS_ATTR_IMPORT_KICK_FLAGS,
			     enum ib_uverbs_share_kick, UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_MODIFY_QP,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_MODIFY_QP_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_IMPORT_MODIFY_QP_ATTR,
			   UVERBS_ATTR_TYPE(struct ib_uverbs_qp_attr),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_QUERY_QP,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_QUERY_QP_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_IMPORT_QUERY_QP_RESP_ATTR,
			    UVERBS_ATTR_TYPE(struct ib_uverbs_qp_attr),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(share_qp_methods, IB_UVERBS_OBJECT_IMPORT,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_KICK),
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_MODIFY_QP),
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_QUERY_QP));

const struct uapi_definition share_uapi_qp[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_IMPORT, &share_qp_methods),
	{},
};
