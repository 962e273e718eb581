// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <linux/slab.h>

#include "trace.h"

static int qp_check(struct ib_uobject *target)
{
	struct ib_qp *qp = target->object;

	if (qp->real_qp != qp)
		return share_refuse(qp->device, -EOPNOTSUPP,
				    "QP %d is opened and not made here",
				    target->id);
	switch (qp->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		return 0;
	default:
		return share_refuse(qp->device, -EOPNOTSUPP,
				    "QP %d is of type %d", target->id,
				    qp->qp_type);
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

/* cannot fail: others wait for what the kick that depends on it would send */
static bool qp_can_send(struct ib_qp *qp)
{
	struct {
		struct ib_qp_attr attr;
		struct ib_qp_init_attr init;
	} *q = kzalloc(sizeof(*q), GFP_KERNEL | __GFP_NOFAIL);
	bool can = false;

	if (!ib_query_qp(qp, &q->attr, IB_QP_STATE, &q->init))
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
	    !share_trylock_live(share))
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
	struct ib_qp *qp = share->object;
	int ret = 0;

	if (!flags)
		return share_refuse(share->ibdev, -EINVAL, "kick of nothing");
	if (!share_has_rings(share->ibdev))
		return share_refuse(share->ibdev, -EOPNOTSUPP,
				    "a QP of this provider cannot be kicked");
	/* an empty list: the provider looks at the ring */
	if (flags & IB_UVERBS_SHARE_KICK_SEND)
		ret = ib_post_send(share->object, NULL, NULL);
	if (!ret && flags & IB_UVERBS_SHARE_KICK_RECV)
		ret = ib_post_recv(share->object, NULL, NULL);
	if (ret)
		return share_refuse(share->ibdev, ret,
				    "provider refuses kick %#x of QP %#x in its state",
				    flags, qp->qp_num);
	trace_share_kick(share, qp->qp_num, flags);
	return 0;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_KICK)(
	struct uverbs_attr_bundle *attrs)
{
	struct share_import *import;
	u32 flags, rights = 0;
	int ret;

	ret = share_get_flags(&flags, attrs, IB_UVERBS_ATTR_IMPORT_KICK_FLAGS,
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

	ret = qp_kick(import->share, flags);
	share_import_unlock(import);
	return ret;
}

/* with MODIFY only: to SQD, RTS or ERR, nothing else on the way */
static bool is_plain_state_change(const struct ib_uverbs_qp_attr *attr)
{
	if (!(attr->qp_attr_mask & IB_QP_STATE) ||
	    attr->qp_attr_mask & ~(IB_QP_STATE | IB_QP_CUR_STATE |
				   IB_QP_EN_SQD_ASYNC_NOTIFY))
		return false;
	return attr->qp_state == IB_QPS_RTS || attr->qp_state == IB_QPS_SQD ||
	       attr->qp_state == IB_QPS_ERR;
}

static int modify_check(struct share_import *import,
			const struct ib_uverbs_qp_attr *attr)
{
	if (import->rights & IB_UVERBS_SHARE_MANAGE)
		return 0;
	if (import->rights & IB_UVERBS_SHARE_MODIFY &&
	    is_plain_state_change(attr))
		return 0;
	return share_refuse(import->share->ibdev, -EACCES,
			    "rights %#x do not allow state %u, mask %#x",
			    import->rights, attr->qp_state, attr->qp_attr_mask);
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
		return share_refuse(share_device(attrs), ret,
				    "attributes of the QP cannot be read");

	import = share_import_lock(attrs, IB_UVERBS_ATTR_IMPORT_MODIFY_QP_HANDLE,
				   IB_UVERBS_SHARE_QP, 0);
	if (IS_ERR(import))
		return PTR_ERR(import);

	ret = modify_check(import, &uattr);
	if (!ret)
		ret = share_qp_modify(import->share->object, &uattr,
				      &attrs->driver_udata);
	share_import_unlock(import);
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
	ret = share_qp_query(import->share->object, &uattr);
	share_import_unlock(import);
	if (ret)
		return ret;
	return share_reply(attrs, IB_UVERBS_ATTR_IMPORT_QUERY_QP_RESP_ATTR,
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
