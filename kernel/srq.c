// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include "share.h"

static void srq_pin(struct share *share)
{
	struct ib_srq *srq = share->object;

	atomic_inc(&srq->usecnt);
}

static void srq_unpin(struct share *share)
{
	struct ib_srq *srq = share->object;

	atomic_dec(&srq->usecnt);
}

static int srq_check(struct ib_uobject *target)
{
	struct ib_srq *srq = target->object;

	if (srq->srq_type != IB_SRQT_BASIC)
		return share_refuse(srq->device, -EOPNOTSUPP,
				    "SRQ %d is of type %d", target->id,
				    srq->srq_type);
	return 0;
}

const struct share_kind share_kind_srq = {
	.kind = IB_UVERBS_SHARE_SRQ,
	.name = "srq",
	.rights = IB_UVERBS_SHARE_POST_RECV | IB_UVERBS_SHARE_READ |
		  IB_UVERBS_SHARE_MODIFY | IB_UVERBS_SHARE_REGRANT,
	.rings = BIT(IB_UVERBS_SHARE_RING_SRQ),
	.check = srq_check,
	.pin = srq_pin,
	.unpin = srq_unpin,
};

static int srq_query(struct share *share, struct ib_uverbs_share_srq *out)
{
	struct ib_srq_attr attr = {};
	int ret;

	ret = ib_query_srq(share->object, &attr);
	if (ret)
		return share_refuse(share->ibdev, ret,
				    "provider refuses to query the SRQ");
	out->max_wr = attr.max_wr;
	out->max_sge = attr.max_sge;
	out->limit = attr.srq_limit;
	out->ring_bytes = share_ring_bytes(share, IB_UVERBS_SHARE_RING_SRQ);
	return 0;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_QUERY_SRQ)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uverbs_share_srq out = {};
	struct share_import *import;
	int ret;

	import = share_import_lock(attrs,
				   IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_HANDLE,
				   IB_UVERBS_SHARE_SRQ, IB_UVERBS_SHARE_READ);
	if (IS_ERR(import))
		return PTR_ERR(import);
	ret = srq_query(import->share, &out);
	share_import_unlock(import);
	if (ret)
		return ret;
	return share_reply(attrs, IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_RESP, &out,
			   sizeof(out));
}

static int srq_modify(struct share *share, u32 limit)
{
	struct ib_srq_attr attr = {};
	int ret;

	ret = ib_query_srq(share->object, &attr);
	if (!ret && limit > attr.max_wr)
		return share_refuse(share->ibdev, -EINVAL,
				    "limit %u of an SRQ of %u", limit,
				    attr.max_wr);
	attr.srq_limit = limit;
	if (!ret)
		ret = ib_modify_srq(share->object, &attr, IB_SRQ_LIMIT);
	if (ret)
		return share_refuse(share->ibdev, ret,
				    "provider refuses to change the SRQ");
	return 0;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_MODIFY_SRQ)(
	struct uverbs_attr_bundle *attrs)
{
	struct share_import *import;
	u32 limit;
	int ret;

	ret = uverbs_copy_from(&limit, attrs,
			       IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_LIMIT);
	if (ret)
		return share_refuse(share_device(attrs), ret,
				    "limit of the SRQ cannot be read");

	import = share_import_lock(attrs,
				   IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_HANDLE,
				   IB_UVERBS_SHARE_SRQ, IB_UVERBS_SHARE_MODIFY);
	if (IS_ERR(import))
		return PTR_ERR(import);
	ret = srq_modify(import->share, limit);
	share_import_unlock(import);
	return ret;
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_QUERY_SRQ,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_RESP,
			    UVERBS_ATTR_STRUCT(struct ib_uverbs_share_srq,
					       ring_bytes),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_MODIFY_SRQ,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_LIMIT,
			   UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

ADD_UVERBS_METHODS(share_srq_methods, IB_UVERBS_OBJECT_IMPORT,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_QUERY_SRQ),
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_MODIFY_SRQ));

const struct uapi_definition share_uapi_srq[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_IMPORT, &share_srq_methods),
	{},
};
