// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include "share.h"

static void cq_pin(struct share *share)
{
	struct ib_cq *cq = share->object;

	atomic_inc(&cq->usecnt);
}

static void cq_unpin(struct share *share)
{
	struct ib_cq *cq = share->object;

	atomic_dec(&cq->usecnt);
}

const struct share_kind share_kind_cq = {
	.kind = IB_UVERBS_SHARE_CQ,
	.name = "cq",
	.rights = IB_UVERBS_SHARE_POLL | IB_UVERBS_SHARE_ARM |
		  IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_REGRANT,
	.rings = BIT(IB_UVERBS_SHARE_RING_CQ),
	.pin = cq_pin,
	.unpin = cq_unpin,
};

static int cq_arm(struct share *share, enum ib_cq_notify_flags notify)
{
	int ret;

	if (!share_has_rings(share->ibdev))
		return share_refuse(share->ibdev, -EOPNOTSUPP,
				    "a CQ of this provider cannot be armed");
	ret = ib_req_notify_cq(share->object, notify);
	if (ret < 0)
		return share_refuse(share->ibdev, ret,
				    "provider does not arm the CQ");
	return 0;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_ARM)(
	struct uverbs_attr_bundle *attrs)
{
	enum ib_cq_notify_flags notify = IB_CQ_NEXT_COMP;
	struct share_import *import;
	u32 flags;
	int ret;

	ret = share_get_flags(&flags, attrs, IB_UVERBS_ATTR_IMPORT_ARM_FLAGS,
			      IB_UVERBS_SHARE_ARM_SOLICITED);
	if (ret)
		return ret;
	if (flags & IB_UVERBS_SHARE_ARM_SOLICITED)
		notify = IB_CQ_SOLICITED;

	import = share_import_lock(attrs, IB_UVERBS_ATTR_IMPORT_ARM_HANDLE,
				   IB_UVERBS_SHARE_CQ, IB_UVERBS_SHARE_ARM);
	if (IS_ERR(import))
		return PTR_ERR(import);

	ret = cq_arm(import->share, notify);
	share_import_unlock(import);
	return ret;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_QUERY_CQ)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uverbs_share_cq out = {};
	struct share_import *import;
	struct ib_cq *cq;

	import = share_import_lock(attrs, IB_UVERBS_ATTR_IMPORT_QUERY_CQ_HANDLE,
				   IB_UVERBS_SHARE_CQ, IB_UVERBS_SHARE_READ);
	if (IS_ERR(import))
		return PTR_ERR(import);
	cq = import->share->object;
	out.cqe = READ_ONCE(cq->cqe);
	out.ring_bytes = share_ring_bytes(import->share, IB_UVERBS_SHARE_RING_CQ);
	share_import_unlock(import);
	return share_reply(attrs, IB_UVERBS_ATTR_IMPORT_QUERY_CQ_RESP, &out,
			   sizeof(out));
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_ARM,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_ARM_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(IB_UVERBS_ATTR_IMPORT_ARM_FLAGS,
			     enum ib_uverbs_share_arm, UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_QUERY_CQ,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_QUERY_CQ_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_IMPORT_QUERY_CQ_RESP,
			    UVERBS_ATTR_STRUCT(struct ib_uverbs_share_cq,
					       ring_bytes),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(share_cq_methods, IB_UVERBS_OBJECT_IMPORT,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_ARM),
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_QUERY_CQ));

const struct uapi_definition share_uapi_cq[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_IMPORT, &share_cq_methods),
	{},
};
