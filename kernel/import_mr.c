// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Memory regions that an importer registers on an imported PD. The IMPORT
 * object belongs to the importer's file, the region to the share of the PD:
 * it has to be gone before the PD, whoever ends first.
 */
#include <linux/slab.h>

#include "trace.h"

/**
 * struct share_mr - a region on an exported PD that is not the exporter's own
 * @node: in share_mrs.list
 * @mr: the region
 */
struct share_mr {
	struct list_head node;
	struct ib_mr *mr;
};

void share_mrs_init(struct share_mrs *mrs)
{
	mutex_init(&mrs->lock);
	INIT_LIST_HEAD(&mrs->list);
	INIT_LIST_HEAD(&mrs->running);
}

/**
 * share_mrs_dereg - the PD is taken away from its importers
 * @share: locked for writing; no importer looks at its regions any more
 *
 * Return: 0, or -EBUSY if the provider refused for one of them
 */
int share_mrs_dereg(struct share *share)
{
	struct share_mr *smr, *next;
	int ret = 0;

	list_for_each_entry_safe(smr, next, &share->mrs.list, node) {
		if (ib_dereg_mr(smr->mr)) {
			ret = -EBUSY;
			continue;
		}
		list_del(&smr->node);
		kfree(smr);
	}
	return ret;
}

/**
 * share_import_mr_end - the importer lets go of a region
 * @import: of a region
 *
 * When the share is dead the region is gone, or waits for the exporter.
 *
 * Return: 0, or -EBUSY if the provider refused; the region then stays with
 * the share
 */
int share_import_mr_end(struct share_import *import)
{
	struct share *share = import->share;
	int ret;

	if (!share_trylock_live(share))
		return 0;
	ret = ib_dereg_mr(import->mr->mr) ? -EBUSY : 0;
	if (!ret) {
		mutex_lock(&share->mrs.lock);
		list_del(&import->mr->node);
		mutex_unlock(&share->mrs.lock);
		kfree(import->mr);
	}
	share_unlock(share);
	if (ret)
		return share_refuse(share->ibdev, ret,
				    "a memory window is bound to the region");
	return 0;
}

static const struct share_range_ids import_reg_mr_ids = {
	.fd = IB_UVERBS_ATTR_IMPORT_REG_MR_FD,
	.offset = IB_UVERBS_ATTR_IMPORT_REG_MR_OFFSET,
	.length = IB_UVERBS_ATTR_IMPORT_REG_MR_LENGTH,
	.iova = IB_UVERBS_ATTR_IMPORT_REG_MR_IOVA,
	.access = IB_UVERBS_ATTR_IMPORT_REG_MR_ACCESS,
};

/* either memory of the caller or of a file, and all of it there */
static int import_range_get(struct share_range *range, struct ib_device *ibdev,
			    struct uverbs_attr_bundle *attrs)
{
	const struct share_range_ids *ids = &import_reg_mr_ids;
	const u16 addr = IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR;
	bool has_fd = uverbs_attr_is_valid(attrs, ids->fd);
	int ret;

	if (uverbs_attr_is_valid(attrs, addr) == has_fd ||
	    uverbs_attr_is_valid(attrs, ids->offset) != has_fd)
		return share_refuse(ibdev, -EINVAL,
				    "either addr or fd and offset");
	if (has_fd)
		ret = share_range_get_file(range, ibdev, ids, attrs);
	else
		ret = share_range_get_addr(range, ibdev, ids, addr, attrs);
	if (ret)
		return ret;

	ret = share_range_fault_in(range);
	if (!ret)
		return 0;
	share_range_put(range);
	return share_refuse(ibdev, ret, "pages of the range cannot be had");
}

/* pd is locked; on success the import holds its share and the region */
static int import_reg_mr(struct share_import *import, struct share_import *pd,
			 const struct share_range *range)
{
	struct share *share = pd->share;
	struct share_mr *smr = kzalloc(sizeof(*smr), GFP_KERNEL);

	if (!smr)
		return -ENOMEM;
	smr->mr = share_register(share, range);
	if (IS_ERR(smr->mr)) {
		int ret = PTR_ERR(smr->mr);

		kfree(smr);
		if (READ_ONCE(share->mrs.closed))
			ret = -ENOLINK;
		return share_refuse(share->ibdev, ret,
				    "%#llx bytes cannot be pinned on the PD",
				    range->memory.length);
	}

	share_mr_init(smr->mr, share->object, NULL, range);
	mutex_lock(&share->mrs.lock);
	list_add(&smr->node, &share->mrs.list);
	mutex_unlock(&share->mrs.lock);
	import->mr = smr;
	import->share = share;
	share_get(share);
	atomic_inc(&share->imports);
	return 0;
}

static int reply(struct uverbs_attr_bundle *attrs, u32 lkey, u32 rkey)
{
	int ret;

	ret = share_reply(attrs, IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_LKEY, &lkey,
			  sizeof(lkey));
	if (ret)
		return ret;
	return share_reply(attrs, IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_RKEY, &rkey,
			   sizeof(rkey));
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_REG_MR)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject = uverbs_attr_get_uobject(
		attrs, IB_UVERBS_ATTR_IMPORT_REG_MR_HANDLE);
	struct share_import *import =
		container_of(uobject, struct share_import, uobject);
	struct ib_device *ibdev = attrs->context->device;
	struct share_import *pd;
	struct share_range range;
	u32 lkey, rkey;
	int ret;

	if (!share_can_lend_pd(ibdev))
		return share_refuse(ibdev, -EOPNOTSUPP,
				    "this provider registers no memory on a PD of others");
	ret = import_range_get(&range, ibdev, attrs);
	if (ret)
		return ret;

	pd = share_import_lock(attrs, IB_UVERBS_ATTR_IMPORT_REG_MR_PD,
			       IB_UVERBS_SHARE_PD, IB_UVERBS_SHARE_REGISTER);
	if (IS_ERR(pd)) {
		ret = PTR_ERR(pd);
		goto out_range;
	}
	ret = import_reg_mr(import, pd, &range);
	if (!ret) {
		lkey = import->mr->mr->lkey;
		rkey = import->mr->mr->rkey;
	}
	share_import_unlock(pd);
	if (ret)
		goto out_range;

	/* not under the lock: a page of the caller may never come */
	ret = reply(attrs, lkey, rkey);
	if (ret) {
		share_import_drop(import);
		goto out_range;
	}
	uobject->object = import->share;
	trace_share_register(import->share->ibdev, lkey, rkey, &range);
	uverbs_finalize_uobj_create(attrs, IB_UVERBS_ATTR_IMPORT_REG_MR_HANDLE);
out_range:
	share_range_put(&range);
	return ret;
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_REG_MR,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_REG_MR_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_NEW,
			UA_MANDATORY),
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_REG_MR_PD,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR,
			   UVERBS_ATTR_TYPE(u64), UA_OPTIONAL),
	UVERBS_ATTR_RAW_FD(IB_UVERBS_ATTR_IMPORT_REG_MR_FD, UA_OPTIONAL),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_IMPORT_REG_MR_OFFSET,
			   UVERBS_ATTR_TYPE(u64), UA_OPTIONAL),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_IMPORT_REG_MR_LENGTH,
			   UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_IMPORT_REG_MR_IOVA,
			   UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(IB_UVERBS_ATTR_IMPORT_REG_MR_ACCESS,
			     enum ib_access_flags, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_LKEY,
			    UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_RKEY,
			    UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

ADD_UVERBS_METHODS(share_import_mr_methods, IB_UVERBS_OBJECT_IMPORT,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_REG_MR));

const struct uapi_definition share_uapi_import_mr[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_IMPORT,
				&share_import_mr_methods),
	{},
};
