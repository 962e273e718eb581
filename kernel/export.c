// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * EXPORT: from an object of the caller's file to a share and its first grant.
 */
#include <linux/file.h>

#include "trace.h"

static const struct share_kind *const share_kinds[] = {
	&share_kind_pd, &share_kind_cq,	 &share_kind_qp,
	&share_kind_mr, &share_kind_srq,
};

static u32 kind_object_id(enum ib_uverbs_share_kind kind)
{
	switch (kind) {
	case IB_UVERBS_SHARE_PD:
		return UVERBS_OBJECT_PD;
	case IB_UVERBS_SHARE_CQ:
		return UVERBS_OBJECT_CQ;
	case IB_UVERBS_SHARE_QP:
		return UVERBS_OBJECT_QP;
	case IB_UVERBS_SHARE_SRQ:
		return UVERBS_OBJECT_SRQ;
	case IB_UVERBS_SHARE_MR:
		return UVERBS_OBJECT_MR;
	default:
		return UVERBS_OBJECT_DEVICE;
	}
}

/* a white list: "any object" of an attribute includes our own */
static const struct share_kind *kind_of(struct ib_uobject *target)
{
	u32 id = uobj_get_object_id(target);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(share_kinds); i++)
		if (kind_object_id(share_kinds[i]->kind) == id)
			return share_kinds[i];
	return NULL;
}

/* the caller's own uverbs file; the grant will hold it */
static struct file *export_cmd_file(struct uverbs_attr_bundle *attrs)
{
	struct file *file;
	int fd, ret;

	ret = share_get_fd(&fd, attrs, IB_UVERBS_ATTR_SHARE_EXPORT_CMD_FD);
	if (ret)
		return ERR_PTR(ret);

	file = fget(fd);
	if (!file)
		return ERR_PTR(share_refuse(share_device(attrs), -EBADF,
					    "cmd_fd %d is not open", fd));
	if (file->private_data != attrs->ufile) {
		fput(file);
		return ERR_PTR(share_refuse(share_device(attrs), -EBADFD,
					    "cmd_fd %d is not this uverbs file",
					    fd));
	}
	return file;
}

static int export_rings(struct share *share, struct file *cmd_file,
			struct uverbs_attr_bundle *attrs)
{
	const u16 id = IB_UVERBS_ATTR_SHARE_EXPORT_RINGS;
	const struct ib_uverbs_share_segment *segs;
	int n;

	if (!uverbs_attr_is_valid(attrs, id))
		return 0;
	n = uverbs_attr_ptr_get_array_size(attrs, id, sizeof(*segs));
	if (n < 0)
		return share_refuse(share->ibdev, n, "part of a ring segment");
	if (n > IB_UVERBS_SHARE_RING_COUNT)
		return share_refuse(share->ibdev, -E2BIG, "%d ring segments",
				    n);
	if (n && !share_has_rings(share->ibdev))
		return share_refuse(share->ibdev, -EOPNOTSUPP,
				    "rings of this provider cannot be shared");

	segs = uverbs_attr_get_alloced_ptr(attrs, id);
	if (IS_ERR(segs))
		return PTR_ERR(segs);
	return share_rings_get(share, cmd_file, segs, n);
}

/* everything that a share of this kind carries; nothing is visible yet */
static int export_fill(struct share *share, struct file *cmd_file,
		       struct uverbs_attr_bundle *attrs)
{
	int ret;

	ret = export_rings(share, cmd_file, attrs);
	if (ret)
		return ret;

	if (share->kind->kind == IB_UVERBS_SHARE_CONTEXT) {
		share->slots = share_slots_new();
		if (!share->slots)
			return -ENOMEM;
	}
	return share_memory_get(share, attrs);
}

static struct share *export_share(struct uverbs_attr_bundle *attrs,
				  struct file *cmd_file)
{
	const struct share_kind *kind = &share_kind_context;
	struct ib_uobject *target = NULL;
	struct share *share;
	int ret;

	if (uverbs_attr_is_valid(attrs, IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT)) {
		target = uverbs_attr_get_uobject(
			attrs, IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT);
		kind = kind_of(target);
		if (!kind)
			return ERR_PTR(share_refuse(
				share_device(attrs), -EOPNOTSUPP,
				"object %d is of a type that cannot be shared",
				target->id));
		ret = kind->check ? kind->check(target) : 0;
		if (ret)
			return ERR_PTR(ret);
	}

	share = share_alloc(kind, attrs->context->device, target);
	if (IS_ERR(share))
		return share;

	ret = export_fill(share, cmd_file, attrs);
	if (ret) {
		share_put(share);
		return ERR_PTR(ret);
	}
	return share;
}

/* an MR without a file behind it cannot be registered anew */
static u32 share_max_rights(struct share *share)
{
	u32 rights = share->kind->rights;

	if (share->kind->kind == IB_UVERBS_SHARE_MR && !share->memory.file)
		rights &= ~IB_UVERBS_SHARE_REGISTER;
	return rights;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_SHARE_EXPORT)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject = uverbs_attr_get_uobject(
		attrs, IB_UVERBS_ATTR_SHARE_EXPORT_HANDLE);
	struct file *cmd_file, *file;
	struct share *share;
	u32 rights;
	int fd, ret;

	cmd_file = export_cmd_file(attrs);
	if (IS_ERR(cmd_file))
		return PTR_ERR(cmd_file);

	share = export_share(attrs, cmd_file);
	if (IS_ERR(share)) {
		ret = PTR_ERR(share);
		goto err_cmd_file;
	}

	ret = share_rights_narrow(&rights, attrs,
				  IB_UVERBS_ATTR_SHARE_EXPORT_RIGHTS,
				  share_max_rights(share), -EOPNOTSUPP);
	if (ret)
		goto err_share;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		ret = share_refuse(share->ibdev, fd, "no free descriptor");
		goto err_share;
	}

	file = share_grant_file(share, cmd_file, rights);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto err_fd;
	}

	ret = share_reply(attrs, IB_UVERBS_ATTR_SHARE_EXPORT_RESP_FD, &fd,
			  sizeof(fd));
	if (ret)
		goto err_file;

	/* cannot fail any more: publish */
	if (share->kind->pin)
		share->kind->pin(share);
	uobject->object = share;
	uverbs_finalize_uobj_create(attrs, IB_UVERBS_ATTR_SHARE_EXPORT_HANDLE);
	trace_share_export(share, rights);
	fd_install(fd, file);
	fput(cmd_file);
	return 0;

err_file:
	fput(file);
err_fd:
	put_unused_fd(fd);
err_share:
	share_put(share);
err_cmd_file:
	fput(cmd_file);
	return ret;
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_SHARE_EXPORT,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_SHARE_EXPORT_HANDLE,
			IB_UVERBS_OBJECT_SHARE, UVERBS_ACCESS_NEW,
			UA_MANDATORY),
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT,
			UVERBS_IDR_ANY_OBJECT, UVERBS_ACCESS_READ, UA_OPTIONAL),
	UVERBS_ATTR_RAW_FD(IB_UVERBS_ATTR_SHARE_EXPORT_CMD_FD, UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(IB_UVERBS_ATTR_SHARE_EXPORT_RIGHTS,
			     enum ib_uverbs_share_rights, UA_OPTIONAL),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_SHARE_EXPORT_RINGS,
			   UVERBS_ATTR_MIN_SIZE(0), UA_OPTIONAL,
			   UA_ALLOC_AND_COPY),
	UVERBS_ATTR_RAW_FD(IB_UVERBS_ATTR_SHARE_EXPORT_MEM_FD, UA_OPTIONAL),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_SHARE_EXPORT_MEM_OFFSET,
			   UVERBS_ATTR_TYPE(u64), UA_OPTIONAL),
	UVERBS_ATTR_FLAGS_IN(IB_UVERBS_ATTR_SHARE_EXPORT_ACCESS,
			     enum ib_access_flags, UA_OPTIONAL),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_SHARE_EXPORT_RESP_FD,
			    UVERBS_ATTR_TYPE(s32), UA_MANDATORY));

ADD_UVERBS_METHODS(share_export_methods, IB_UVERBS_OBJECT_SHARE,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_SHARE_EXPORT));

const struct uapi_definition share_uapi_export[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_SHARE, &share_export_methods),
	{},
};
