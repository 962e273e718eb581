// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Memory regions of shared memory. The region is an ordinary one of the
 * provider: pinned and charged by ib_umem_get(), destroyed by MR_DESTROY.
 */
#include "trace.h"

/*
 * An MR has no usecnt of its own: the shared lock of its uobject makes
 * MR_DESTROY answer EBUSY. The caller of pin holds that lock, too.
 */
static void mr_pin(struct share *share)
{
	atomic_inc(&share->target->usecnt);
}

static void mr_unpin(struct share *share)
{
	atomic_dec(&share->target->usecnt);
}

static void mr_info(struct share *share, struct ib_uverbs_share_info *info)
{
	struct ib_mr *mr = share->object;

	info->lkey = mr->lkey;
	info->rkey = mr->rkey;
	info->iova = mr->iova;
	info->length = mr->length;
	info->access = share->memory.access;
}

const struct share_kind share_kind_mr = {
	.kind = IB_UVERBS_SHARE_MR,
	.name = "mr",
	.rights = IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_REGISTER |
		  IB_UVERBS_SHARE_REGRANT,
	.pin = mr_pin,
	.unpin = mr_unpin,
	.info = mr_info,
};

/**
 * share_mr_init - what the core does for the regions that it makes itself
 * @mr: as the provider returned it
 * @pd: its PD
 * @uobject: its uobject, or NULL if it belongs to a share
 * @range: what it was made of
 */
void share_mr_init(struct ib_mr *mr, struct ib_pd *pd,
		   struct ib_uobject *uobject, const struct share_range *range)
{
	mr->device = pd->device;
	mr->pd = pd;
	mr->type = IB_MR_TYPE_USER;
	mr->dm = NULL;
	mr->sig_attrs = NULL;
	mr->uobject = uobject;
	mr->iova = range->iova;
	mr->length = range->memory.length;
	atomic_inc(&pd->usecnt);

	rdma_restrack_new(&mr->res, RDMA_RESTRACK_MR);
	rdma_restrack_set_name(&mr->res, NULL);
	rdma_restrack_add(&mr->res);
}

static const struct share_range_ids reg_mr_ids = {
	.fd = IB_UVERBS_ATTR_SHARE_REG_MR_FD,
	.offset = IB_UVERBS_ATTR_SHARE_REG_MR_OFFSET,
	.length = IB_UVERBS_ATTR_SHARE_REG_MR_LENGTH,
	.iova = IB_UVERBS_ATTR_SHARE_REG_MR_IOVA,
	.access = IB_UVERBS_ATTR_SHARE_REG_MR_ACCESS,
};

static int UVERBS_HANDLER(IB_UVERBS_METHOD_SHARE_REG_MR)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject = uverbs_attr_get_uobject(
		attrs, IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE);
	struct ib_pd *pd =
		uverbs_attr_get_obj(attrs, IB_UVERBS_ATTR_SHARE_REG_MR_PD);
	struct share_range range;
	struct ib_mr *mr;
	int ret;

	if (!pd->device->ops.reg_user_mr)
		return share_refuse(pd->device, -EOPNOTSUPP,
				    "this provider registers no memory");
	ret = share_range_get_file(&range, pd->device, &reg_mr_ids, attrs);
	if (ret)
		return ret;

	mr = pd->device->ops.reg_user_mr(pd, range.addr, range.memory.length,
					 range.iova, range.memory.access,
					 &attrs->driver_udata);
	share_range_put(&range);
	if (IS_ERR(mr))
		return share_refuse(pd->device, PTR_ERR(mr),
				    "%#llx bytes cannot be pinned",
				    range.memory.length);

	share_mr_init(mr, pd, uobject, &range);
	uobject->object = mr;
	/* from here on a failure destroys the region */
	uverbs_finalize_uobj_create(attrs, IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE);

	ret = share_reply(attrs, IB_UVERBS_ATTR_SHARE_REG_MR_RESP_LKEY,
			  &mr->lkey, sizeof(mr->lkey));
	if (ret)
		return ret;
	ret = share_reply(attrs, IB_UVERBS_ATTR_SHARE_REG_MR_RESP_RKEY,
			  &mr->rkey, sizeof(mr->rkey));
	if (ret)
		return ret;
	trace_share_register(pd->device, mr->lkey, mr->rkey, &range);
	return 0;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_QUERY_MR)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uverbs_share_mr out = {};
	struct share_import *import;
	struct ib_mr *mr;

	import = share_import_lock(attrs, IB_UVERBS_ATTR_IMPORT_QUERY_MR_HANDLE,
				   IB_UVERBS_SHARE_MR, IB_UVERBS_SHARE_READ);
	if (IS_ERR(import))
		return PTR_ERR(import);
	mr = import->share->object;
	out.lkey = mr->lkey;
	out.rkey = mr->rkey;
	out.iova = mr->iova;
	out.length = mr->length;
	out.access = import->share->memory.access;
	share_import_unlock(import);
	return share_reply(attrs, IB_UVERBS_ATTR_IMPORT_QUERY_MR_RESP, &out,
			   sizeof(out));
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_SHARE_REG_MR,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE, UVERBS_OBJECT_MR,
			UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_SHARE_REG_MR_PD, UVERBS_OBJECT_PD,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_RAW_FD(IB_UVERBS_ATTR_SHARE_REG_MR_FD, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_SHARE_REG_MR_OFFSET,
			   UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_SHARE_REG_MR_LENGTH,
			   UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_SHARE_REG_MR_IOVA,
			   UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(IB_UVERBS_ATTR_SHARE_REG_MR_ACCESS,
			     enum ib_access_flags, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_SHARE_REG_MR_RESP_LKEY,
			    UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_SHARE_REG_MR_RESP_RKEY,
			    UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_QUERY_MR,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_QUERY_MR_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_IMPORT_QUERY_MR_RESP,
			    UVERBS_ATTR_STRUCT(struct ib_uverbs_share_mr,
					       reserved),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(share_mr_methods, IB_UVERBS_OBJECT_SHARE,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_SHARE_REG_MR));

ADD_UVERBS_METHODS(share_mr_import_methods, IB_UVERBS_OBJECT_IMPORT,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_QUERY_MR));

const struct uapi_definition share_uapi_mr[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_SHARE, &share_mr_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_IMPORT,
				&share_mr_import_methods),
	{},
};
