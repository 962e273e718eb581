// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * An import references the share only, never a file: two processes that import
 * from each other cannot keep each other alive.
 */
#include <linux/file.h>

#include "trace.h"

static int import_check(struct share_import *import,
			enum ib_uverbs_share_kind kind, u32 rights)
{
	struct share *share = import->share;

	if (import->mr)
		return share_refuse(share->ibdev, -EINVAL,
				    "import %d is a region and can only be released",
				    import->uobject.id);
	if (share->kind->kind != kind)
		return share_refuse(share->ibdev, -EINVAL,
				    "import %d is of a %s and not of kind %d",
				    import->uobject.id, share->kind->name,
				    kind);
	if ((import->rights & rights) != rights)
		return share_refuse(share->ibdev, -EACCES,
				    "rights %#x of import %d lack %#x",
				    import->rights, import->uobject.id,
				    rights & ~import->rights);
	return 0;
}

/**
 * share_import_lock - begin an operation of a method of IMPORT
 * @attrs: of the call
 * @id: handle attribute
 * @kind: kind of object that the method works on
 * @rights: all of these are needed
 *
 * Return: the import with its share live and locked for reading, or an error
 */
struct share_import *share_import_lock(struct uverbs_attr_bundle *attrs, u16 id,
				       enum ib_uverbs_share_kind kind,
				       u32 rights)
{
	struct share_import *import = container_of(
		uverbs_attr_get_uobject(attrs, id), struct share_import, uobject);
	int ret;

	ret = share_lock_live(import->share);
	if (ret)
		return ERR_PTR(ret);

	ret = import_check(import, kind, rights);
	if (ret) {
		share_unlock(import->share);
		return ERR_PTR(ret);
	}
	return import;
}

void share_import_unlock(struct share_import *import)
{
	share_unlock(import->share);
}

static int import_end(struct share_import *import)
{
	if (import->mr)
		return share_import_mr_end(import);
	if (import->share->kind->release)
		import->share->kind->release(import);
	return 0;
}

static void import_put(struct share_import *import)
{
	atomic_dec(&import->share->imports);
	share_put(import->share);
}

/* no lock is held, the share may be dead or alive */
void share_import_drop(struct share_import *import)
{
	import_end(import);
	import_put(import);
}

/* fails only if the importer itself asks for it, never when its file closes */
static int share_import_destroy(struct ib_uobject *uobject,
				enum rdma_remove_reason why,
				struct uverbs_attr_bundle *attrs)
{
	struct share_import *import =
		container_of(uobject, struct share_import, uobject);
	int ret;

	ret = import_end(import);
	if (ret && why == RDMA_REMOVE_DESTROY)
		return ret;
	trace_share_release(import->share, import->rights);
	import_put(import);
	return 0;
}

static void import_info(struct share_import *import,
			struct ib_uverbs_share_info *info)
{
	struct share *share = import->share;

	info->kind = share->kind->kind;
	info->rights = import->rights;
	if (share->kind->info)
		share->kind->info(share, info);
	share_rings_info(share, import->rights, info->ring_bytes);
}

/* the PD that the region has to be on; only to be compared with */
static struct ib_pd *import_pd(struct uverbs_attr_bundle *attrs)
{
	const u16 id = IB_UVERBS_ATTR_IMPORT_CREATE_PD;
	struct share_import *import;
	struct ib_pd *pd;

	if (!uverbs_attr_is_valid(attrs, id))
		return NULL;
	import = share_import_lock(attrs, id, IB_UVERBS_SHARE_PD, 0);
	if (IS_ERR(import))
		return ERR_CAST(import);
	pd = import->share->object;
	share_import_unlock(import);
	return pd;
}

static int import_check_pd(struct share *share, const struct ib_pd *pd)
{
	struct ib_mr *mr = share->object;

	if (!pd)
		return 0;
	if (share->kind->kind != IB_UVERBS_SHARE_MR)
		return share_refuse(share->ibdev, -EINVAL,
				    "a %s is on no PD of the caller",
				    share->kind->name);
	if (mr->pd != pd)
		return share_refuse(share->ibdev, -EXDEV,
				    "the region is on another PD");
	return 0;
}

/* share is locked and live; on success the import holds the share */
static int import_create(struct share_import *import, struct share_grant *grant,
			 const struct ib_pd *pd,
			 struct ib_uverbs_share_info *info,
			 struct uverbs_attr_bundle *attrs)
{
	struct share *share = grant->share;
	int ret;

	if (share->ibdev != attrs->context->device)
		return share_refuse(attrs->context->device, -EXDEV,
				    "grant is of device %s",
				    dev_name(&share->ibdev->dev));
	ret = import_check_pd(share, pd);
	if (ret)
		return ret;

	ret = share_rights_narrow(&import->rights, attrs,
				  IB_UVERBS_ATTR_IMPORT_CREATE_RIGHTS,
				  grant->rights, -EACCES);
	if (ret)
		return ret;

	import->share = share;
	import_info(import, info);
	if (share->kind->import) {
		ret = share->kind->import(import, attrs);
		if (ret)
			return ret;
		info->slot = import->slot;
		info->generation = import->generation;
	} else if (uverbs_attr_is_valid(
			   attrs, IB_UVERBS_ATTR_IMPORT_CREATE_EVENT_FD)) {
		return share_refuse(share->ibdev, -EINVAL,
				    "a %s has no use for an eventfd",
				    share->kind->name);
	}

	share_get(share);
	atomic_inc(&share->imports);
	return 0;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_CREATE)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject = uverbs_attr_get_uobject(
		attrs, IB_UVERBS_ATTR_IMPORT_CREATE_HANDLE);
	struct share_import *import =
		container_of(uobject, struct share_import, uobject);
	struct ib_uverbs_share_info info = {};
	const struct share_kind *kind;
	struct share_grant *grant;
	struct file *file;
	struct ib_pd *pd;
	int fd, ret;

	ret = share_get_fd(&fd, attrs, IB_UVERBS_ATTR_IMPORT_CREATE_GRANT);
	if (ret)
		return ret;
	/* never the locks of two shares */
	pd = import_pd(attrs);
	if (IS_ERR(pd))
		return PTR_ERR(pd);

	file = share_grant_fget(attrs->context->device, fd);
	if (IS_ERR(file))
		return PTR_ERR(file);
	grant = file->private_data;
	kind = grant->share->kind;

	ret = kind->prepare ? kind->prepare(import, grant->share) : 0;
	if (ret)
		goto out_file;
	ret = share_lock_live(grant->share);
	if (ret)
		goto err_prepare;
	ret = import_create(import, grant, pd, &info, attrs);
	share_unlock(grant->share);
	if (ret)
		goto err_prepare;

	/* not under the lock: a page of the caller may never come */
	ret = share_reply(attrs, IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO, &info,
			  sizeof(info));
	if (ret) {
		share_import_drop(import);
		goto out_file;
	}

	uobject->object = import->share;
	trace_share_import(import->share, import->rights);
	uverbs_finalize_uobj_create(attrs, IB_UVERBS_ATTR_IMPORT_CREATE_HANDLE);
	goto out_file;

err_prepare:
	if (kind->cancel)
		kind->cancel(import);
out_file:
	fput(file);
	return ret;
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_CREATE,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_CREATE_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_NEW,
			UA_MANDATORY),
	UVERBS_ATTR_RAW_FD(IB_UVERBS_ATTR_IMPORT_CREATE_GRANT, UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(IB_UVERBS_ATTR_IMPORT_CREATE_RIGHTS,
			     enum ib_uverbs_share_rights, UA_OPTIONAL),
	UVERBS_ATTR_RAW_FD(IB_UVERBS_ATTR_IMPORT_CREATE_EVENT_FD, UA_OPTIONAL),
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_CREATE_PD,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_OPTIONAL),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO,
			    UVERBS_ATTR_STRUCT(struct ib_uverbs_share_info,
					       ring_bytes),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(
	IB_UVERBS_METHOD_IMPORT_RELEASE,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_RELEASE_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_DESTROY,
			UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(
	IB_UVERBS_OBJECT_IMPORT,
	UVERBS_TYPE_ALLOC_IDR_SZ(sizeof(struct share_import),
				 share_import_destroy),
	&UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_CREATE),
	&UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_RELEASE));

const struct uapi_definition share_uapi_import[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(IB_UVERBS_OBJECT_IMPORT),
	{},
};
