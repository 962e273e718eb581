// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The methods of the module: call_x() writes a call down, do_x() also makes it.
 */
#include "share_test.h"

void call_reg_mr(struct call *call, struct reg_mr *reg)
{
	call_init(call, IB_UVERBS_OBJECT_SHARE, IB_UVERBS_METHOD_SHARE_REG_MR);
	put_handle(call, IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE, 0);
	put_handle(call, IB_UVERBS_ATTR_SHARE_REG_MR_PD, reg->pd);
	put_fd(call, IB_UVERBS_ATTR_SHARE_REG_MR_FD, reg->fd);
	put_u64(call, IB_UVERBS_ATTR_SHARE_REG_MR_OFFSET, reg->offset);
	put_u64(call, IB_UVERBS_ATTR_SHARE_REG_MR_LENGTH, reg->length);
	put_u64(call, IB_UVERBS_ATTR_SHARE_REG_MR_IOVA, reg->iova);
	put_u64(call, IB_UVERBS_ATTR_SHARE_REG_MR_ACCESS, reg->access);
	put_out(call, IB_UVERBS_ATTR_SHARE_REG_MR_RESP_LKEY, &reg->lkey, sizeof(reg->lkey));
	put_out(call, IB_UVERBS_ATTR_SHARE_REG_MR_RESP_RKEY, &reg->rkey, sizeof(reg->rkey));
}

void call_export(struct call *call, struct export_args *export)
{
	call_init(call, IB_UVERBS_OBJECT_SHARE, IB_UVERBS_METHOD_SHARE_EXPORT);
	put_handle(call, IB_UVERBS_ATTR_SHARE_EXPORT_HANDLE, 0);
	if (export->object != ABSENT)
		put_handle(call, IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT, export->object);
	put_fd(call, IB_UVERBS_ATTR_SHARE_EXPORT_CMD_FD, export->cmd_fd);
	if (export->rights != ABSENT)
		put_u64(call, IB_UVERBS_ATTR_SHARE_EXPORT_RIGHTS, export->rights);
	if (export->segs)
		put_in(call, IB_UVERBS_ATTR_SHARE_EXPORT_RINGS, export->segs,
		       export->nsegs * sizeof(export->segs[0]));
	if (export->mem_fd != -1) {
		put_fd(call, IB_UVERBS_ATTR_SHARE_EXPORT_MEM_FD, export->mem_fd);
		put_u64(call, IB_UVERBS_ATTR_SHARE_EXPORT_MEM_OFFSET, export->mem_offset);
	}
	if (export->access != ABSENT)
		put_u64(call, IB_UVERBS_ATTR_SHARE_EXPORT_ACCESS, export->access);
	put_out(call, IB_UVERBS_ATTR_SHARE_EXPORT_RESP_FD, &export->grant, sizeof(export->grant));
}

void call_derive(struct call *call, int grant, uint32_t rights, int *new_grant)
{
	call_init(call, IB_UVERBS_OBJECT_SHARE, IB_UVERBS_METHOD_SHARE_DERIVE);
	put_fd(call, IB_UVERBS_ATTR_SHARE_DERIVE_GRANT, grant);
	if (rights != ABSENT)
		put_u64(call, IB_UVERBS_ATTR_SHARE_DERIVE_RIGHTS, rights);
	put_out(call, IB_UVERBS_ATTR_SHARE_DERIVE_RESP_FD, new_grant, sizeof(*new_grant));
}

void call_import(struct call *call, struct import *import)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_CREATE);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_CREATE_HANDLE, 0);
	put_fd(call, IB_UVERBS_ATTR_IMPORT_CREATE_GRANT, import->grant);
	if (import->rights != ABSENT)
		put_u64(call, IB_UVERBS_ATTR_IMPORT_CREATE_RIGHTS, import->rights);
	if (import->event != -1)
		put_fd(call, IB_UVERBS_ATTR_IMPORT_CREATE_EVENT_FD, import->event);
	put_out(call, IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO, &import->info, sizeof(import->info));
	if (import->pd != ABSENT)
		put_handle(call, IB_UVERBS_ATTR_IMPORT_CREATE_PD, import->pd);
}

void call_import_reg_mr(struct call *call, struct reg_mr *reg)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_REG_MR);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_REG_MR_HANDLE, 0);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_REG_MR_PD, reg->pd);
	if (reg->fd == -1) {
		put_u64(call, IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR, reg->addr);
	} else {
		put_fd(call, IB_UVERBS_ATTR_IMPORT_REG_MR_FD, reg->fd);
		put_u64(call, IB_UVERBS_ATTR_IMPORT_REG_MR_OFFSET, reg->offset);
	}
	put_u64(call, IB_UVERBS_ATTR_IMPORT_REG_MR_LENGTH, reg->length);
	put_u64(call, IB_UVERBS_ATTR_IMPORT_REG_MR_IOVA, reg->iova);
	put_u64(call, IB_UVERBS_ATTR_IMPORT_REG_MR_ACCESS, reg->access);
	put_out(call, IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_LKEY, &reg->lkey, sizeof(reg->lkey));
	put_out(call, IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_RKEY, &reg->rkey, sizeof(reg->rkey));
}

void call_kick(struct call *call, uint32_t handle, uint32_t flags)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_KICK);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_KICK_HANDLE, handle);
	put_u64(call, IB_UVERBS_ATTR_IMPORT_KICK_FLAGS, flags);
}

void call_arm(struct call *call, uint32_t handle, uint32_t flags)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_ARM);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_ARM_HANDLE, handle);
	put_u64(call, IB_UVERBS_ATTR_IMPORT_ARM_FLAGS, flags);
}

void call_modify(struct call *call, uint32_t handle, const struct ib_uverbs_qp_attr *attr)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_MODIFY_QP);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_MODIFY_QP_HANDLE, handle);
	put_in(call, IB_UVERBS_ATTR_IMPORT_MODIFY_QP_ATTR, attr, sizeof(*attr));
}

void call_query_qp(struct call *call, uint32_t handle, struct ib_uverbs_qp_attr *attr)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_QUERY_QP);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_QUERY_QP_HANDLE, handle);
	put_out(call, IB_UVERBS_ATTR_IMPORT_QUERY_QP_RESP_ATTR, attr, sizeof(*attr));
}

void call_query_cq(struct call *call, uint32_t handle, struct ib_uverbs_share_cq *out)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_QUERY_CQ);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_QUERY_CQ_HANDLE, handle);
	put_out(call, IB_UVERBS_ATTR_IMPORT_QUERY_CQ_RESP, out, sizeof(*out));
}

void call_query_srq(struct call *call, uint32_t handle, struct ib_uverbs_share_srq *out)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_QUERY_SRQ);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_HANDLE, handle);
	put_out(call, IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_RESP, out, sizeof(*out));
}

void call_modify_srq(struct call *call, uint32_t handle, uint32_t limit)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_MODIFY_SRQ);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_HANDLE, handle);
	put_u32(call, IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_LIMIT, limit);
}

void call_query_mr(struct call *call, uint32_t handle, struct ib_uverbs_share_mr *out)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_QUERY_MR);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_QUERY_MR_HANDLE, handle);
	put_out(call, IB_UVERBS_ATTR_IMPORT_QUERY_MR_RESP, out, sizeof(*out));
}

void call_query_slot(struct call *call, uint32_t handle, uint32_t slot,
		     struct ib_uverbs_share_slot *out)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_QUERY_SLOT);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_HANDLE, handle);
	put_u32(call, IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_SLOT, slot);
	put_out(call, IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_RESP, out, sizeof(*out));
}

void call_wake_slot(struct call *call, uint32_t handle, uint32_t slot)
{
	call_init(call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_WAKE_SLOT);
	put_handle(call, IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_HANDLE, handle);
	put_u32(call, IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_SLOT, slot);
}

int do_query(int fd, struct ib_uverbs_share_caps *caps)
{
	struct call call;

	call_init(&call, IB_UVERBS_OBJECT_SHARE, IB_UVERBS_METHOD_SHARE_QUERY);
	put_out(&call, IB_UVERBS_ATTR_SHARE_QUERY_CAPS, caps, sizeof(*caps));
	return call_run(fd, &call);
}

/* the first attribute is the new handle */
static int run_new(int fd, struct call *call, uint32_t *handle)
{
	int err = call_run(fd, call);

	if (!err)
		*handle = call->attr[0].data;
	return err;
}

int do_reg_mr(int fd, struct reg_mr *reg)
{
	struct call call;

	call_reg_mr(&call, reg);
	return run_new(fd, &call, &reg->handle);
}

int do_export(int fd, struct export_args *export)
{
	struct call call;

	call_export(&call, export);
	return run_new(fd, &call, &export->handle);
}

int do_revoke(int fd, uint32_t handle)
{
	struct call call;

	call_init(&call, IB_UVERBS_OBJECT_SHARE, IB_UVERBS_METHOD_SHARE_REVOKE);
	put_handle(&call, IB_UVERBS_ATTR_SHARE_REVOKE_HANDLE, handle);
	return call_run(fd, &call);
}

int do_derive(int fd, int grant, uint32_t rights, int *new_grant)
{
	struct call call;

	call_derive(&call, grant, rights, new_grant);
	return call_run(fd, &call);
}

int do_import(int fd, struct import *import)
{
	struct call call;

	call_import(&call, import);
	return run_new(fd, &call, &import->handle);
}

int do_import_reg_mr(int fd, struct reg_mr *reg)
{
	struct call call;

	call_import_reg_mr(&call, reg);
	return run_new(fd, &call, &reg->handle);
}

int do_release(int fd, uint32_t handle)
{
	struct call call;

	call_init(&call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_RELEASE);
	put_handle(&call, IB_UVERBS_ATTR_IMPORT_RELEASE_HANDLE, handle);
	return call_run(fd, &call);
}

int do_kick(int fd, uint32_t handle, uint32_t flags)
{
	struct call call;

	call_kick(&call, handle, flags);
	return call_run(fd, &call);
}

int do_arm(int fd, uint32_t handle, uint32_t flags)
{
	struct call call;

	call_arm(&call, handle, flags);
	return call_run(fd, &call);
}

int do_modify(int fd, uint32_t handle, const struct ib_uverbs_qp_attr *attr)
{
	struct call call;

	call_modify(&call, handle, attr);
	return call_run(fd, &call);
}

int do_query_qp(int fd, uint32_t handle, struct ib_uverbs_qp_attr *attr)
{
	struct call call;

	call_query_qp(&call, handle, attr);
	return call_run(fd, &call);
}

int do_query_cq(int fd, uint32_t handle, struct ib_uverbs_share_cq *out)
{
	struct call call;

	call_query_cq(&call, handle, out);
	return call_run(fd, &call);
}

int do_query_srq(int fd, uint32_t handle, struct ib_uverbs_share_srq *out)
{
	struct call call;

	call_query_srq(&call, handle, out);
	return call_run(fd, &call);
}

int do_modify_srq(int fd, uint32_t handle, uint32_t limit)
{
	struct call call;

	call_modify_srq(&call, handle, limit);
	return call_run(fd, &call);
}

int do_query_mr(int fd, uint32_t handle, struct ib_uverbs_share_mr *out)
{
	struct call call;

	call_query_mr(&call, handle, out);
	return call_run(fd, &call);
}

int do_query_slot(int fd, uint32_t handle, uint32_t slot, struct ib_uverbs_share_slot *out)
{
	struct call call;

	call_query_slot(&call, handle, slot, out);
	return call_run(fd, &call);
}

int do_wake_slot(int fd, uint32_t handle, uint32_t slot)
{
	struct call call;

	call_wake_slot(&call, handle, slot);
	return call_run(fd, &call);
}
