// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * One function per method of the two objects that the module adds.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "grant.h"

int share_export(const struct share_file *file,
		 const struct share_export *what, uint32_t *handle, int *grant)
{
	struct share_cmd cmd;
	int32_t fd = -1;
	int ret;

	share_cmd_init(&cmd, IB_UVERBS_OBJECT_SHARE,
		       IB_UVERBS_METHOD_SHARE_EXPORT);
	share_cmd_object(&cmd, IB_UVERBS_ATTR_SHARE_EXPORT_HANDLE, 0);
	if (what->object != SHARE_NO_HANDLE)
		share_cmd_object(&cmd, IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT,
				 what->object);
	share_cmd_fd(&cmd, IB_UVERBS_ATTR_SHARE_EXPORT_CMD_FD, file->fd);
	if (what->num_segments)
		share_cmd_in(&cmd, IB_UVERBS_ATTR_SHARE_EXPORT_RINGS,
			     what->segments,
			     (uint16_t)(what->num_segments *
					sizeof(what->segments[0])));
	if (what->mem_fd >= 0) {
		share_cmd_fd(&cmd, IB_UVERBS_ATTR_SHARE_EXPORT_MEM_FD,
			     what->mem_fd);
		share_cmd_u64(&cmd, IB_UVERBS_ATTR_SHARE_EXPORT_MEM_OFFSET,
			      what->mem_offset);
	}
	if (what->access)
		share_cmd_u64(&cmd, IB_UVERBS_ATTR_SHARE_EXPORT_ACCESS,
			      what->access);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_SHARE_EXPORT_RESP_FD, &fd,
		      sizeof(fd));
	ret = share_cmd_run(file, &cmd);
	if (ret)
		return ret;
	*handle = share_cmd_handle(&cmd);
	*grant = fd;
	return 0;
}

int share_revoke(const struct share_file *file, uint32_t handle)
{
	struct share_cmd cmd;

	share_cmd_init(&cmd, IB_UVERBS_OBJECT_SHARE,
		       IB_UVERBS_METHOD_SHARE_REVOKE);
	share_cmd_object(&cmd, IB_UVERBS_ATTR_SHARE_REVOKE_HANDLE, handle);
	return share_cmd_run(file, &cmd);
}

int share_derive(const struct share_file *file, int grant, uint32_t rights,
		 int *derived)
{
	struct share_cmd cmd;
	int32_t fd = -1;
	int ret;

	share_cmd_init(&cmd, IB_UVERBS_OBJECT_SHARE,
		       IB_UVERBS_METHOD_SHARE_DERIVE);
	share_cmd_fd(&cmd, IB_UVERBS_ATTR_SHARE_DERIVE_GRANT, grant);
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_SHARE_DERIVE_RIGHTS, rights);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_SHARE_DERIVE_RESP_FD, &fd,
		      sizeof(fd));
	ret = share_cmd_run(file, &cmd);
	if (!ret)
		*derived = fd;
	return ret;
}

static void import_begin(struct share_cmd *cmd, int grant,
			 struct ib_uverbs_share_info *info)
{
	memset(info, 0, sizeof(*info));
	share_cmd_init(cmd, IB_UVERBS_OBJECT_IMPORT,
		       IB_UVERBS_METHOD_IMPORT_CREATE);
	share_cmd_object(cmd, IB_UVERBS_ATTR_IMPORT_CREATE_HANDLE, 0);
	share_cmd_fd(cmd, IB_UVERBS_ATTR_IMPORT_CREATE_GRANT, grant);
	share_cmd_out(cmd, IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO, info,
		      sizeof(*info));
}

/* The first attribute is what is made. */
static int run_new(const struct share_file *file, struct share_cmd *cmd,
		   uint32_t *handle)
{
	int ret = share_cmd_run(file, cmd);

	if (!ret)
		*handle = share_cmd_handle(cmd);
	return ret;
}

int share_import(const struct share_file *file, int grant, int event_fd,
		 uint32_t *handle, struct ib_uverbs_share_info *info)
{
	struct share_cmd cmd;

	import_begin(&cmd, grant, info);
	if (event_fd >= 0)
		share_cmd_fd(&cmd, IB_UVERBS_ATTR_IMPORT_CREATE_EVENT_FD,
			     event_fd);
	return run_new(file, &cmd, handle);
}

int share_import_mr(const struct share_file *file, int grant, uint32_t pd,
		    uint32_t *handle, struct ib_uverbs_share_info *info)
{
	struct share_cmd cmd;

	import_begin(&cmd, grant, info);
	share_cmd_object(&cmd, IB_UVERBS_ATTR_IMPORT_CREATE_PD, pd);
	return run_new(file, &cmd, handle);
}

int share_import_reg_mr(const struct share_file *file, uint32_t pd,
			const struct share_reg_mr *what, uint32_t *handle,
			struct ib_uverbs_share_info *info)
{
	struct share_cmd cmd;

	share_cmd_init(&cmd, IB_UVERBS_OBJECT_IMPORT,
		       IB_UVERBS_METHOD_IMPORT_REG_MR);
	share_cmd_object(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_HANDLE, 0);
	share_cmd_object(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_PD, pd);
	if (what->fd < 0) {
		share_cmd_u64(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR,
			      what->addr);
	} else {
		share_cmd_fd(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_FD, what->fd);
		share_cmd_u64(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_OFFSET,
			      what->offset);
	}
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_LENGTH, what->length);
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_IOVA, what->iova);
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_ACCESS, what->access);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_LKEY, &info->lkey,
		      sizeof(info->lkey));
	share_cmd_out(&cmd, IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_RKEY, &info->rkey,
		      sizeof(info->rkey));
	return run_new(file, &cmd, handle);
}

static void on_import(struct share_cmd *cmd, uint16_t method, uint16_t id,
		      uint32_t handle)
{
	share_cmd_init(cmd, IB_UVERBS_OBJECT_IMPORT, method);
	share_cmd_object(cmd, id, handle);
}

int share_release(const struct share_file *file, uint32_t handle)
{
	struct share_cmd cmd;

	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_RELEASE,
		  IB_UVERBS_ATTR_IMPORT_RELEASE_HANDLE, handle);
	return share_cmd_run(file, &cmd);
}

int share_kick(const struct share_file *file, uint32_t qp, uint32_t flags)
{
	struct share_cmd cmd;

	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_KICK,
		  IB_UVERBS_ATTR_IMPORT_KICK_HANDLE, qp);
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_IMPORT_KICK_FLAGS, flags);
	return share_cmd_run(file, &cmd);
}

int share_arm(const struct share_file *file, uint32_t cq, int solicited)
{
	struct share_cmd cmd;

	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_ARM,
		  IB_UVERBS_ATTR_IMPORT_ARM_HANDLE, cq);
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_IMPORT_ARM_FLAGS,
		      solicited ? IB_UVERBS_SHARE_ARM_SOLICITED : 0);
	return share_cmd_run(file, &cmd);
}

int share_modify_qp(const struct share_file *file, uint32_t qp,
		    const struct ib_uverbs_qp_attr *attr)
{
	struct share_cmd cmd;

	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_MODIFY_QP,
		  IB_UVERBS_ATTR_IMPORT_MODIFY_QP_HANDLE, qp);
	share_cmd_in(&cmd, IB_UVERBS_ATTR_IMPORT_MODIFY_QP_ATTR, attr,
		     sizeof(*attr));
	return share_cmd_run(file, &cmd);
}

int share_query_qp(const struct share_file *file, uint32_t qp,
		   struct ib_uverbs_qp_attr *attr)
{
	struct share_cmd cmd;

	memset(attr, 0, sizeof(*attr));
	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_QUERY_QP,
		  IB_UVERBS_ATTR_IMPORT_QUERY_QP_HANDLE, qp);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_IMPORT_QUERY_QP_RESP_ATTR, attr,
		      sizeof(*attr));
	return share_cmd_run(file, &cmd);
}

int share_query_cq(const struct share_file *file, uint32_t cq,
		   struct ib_uverbs_share_cq *answer)
{
	struct share_cmd cmd;

	memset(answer, 0, sizeof(*answer));
	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_QUERY_CQ,
		  IB_UVERBS_ATTR_IMPORT_QUERY_CQ_HANDLE, cq);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_IMPORT_QUERY_CQ_RESP, answer,
		      sizeof(*answer));
	return share_cmd_run(file, &cmd);
}

int share_query_srq(const struct share_file *file, uint32_t srq,
		    struct ib_uverbs_share_srq *answer)
{
	struct share_cmd cmd;

	memset(answer, 0, sizeof(*answer));
	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_QUERY_SRQ,
		  IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_HANDLE, srq);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_RESP, answer,
		      sizeof(*answer));
	return share_cmd_run(file, &cmd);
}

int share_limit_srq(const struct share_file *file, uint32_t srq,
		    uint32_t limit)
{
	struct share_cmd cmd;

	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_MODIFY_SRQ,
		  IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_HANDLE, srq);
	share_cmd_u32(&cmd, IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_LIMIT, limit);
	return share_cmd_run(file, &cmd);
}

int share_query_mr(const struct share_file *file, uint32_t mr,
		   struct ib_uverbs_share_mr *answer)
{
	struct share_cmd cmd;

	memset(answer, 0, sizeof(*answer));
	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_QUERY_MR,
		  IB_UVERBS_ATTR_IMPORT_QUERY_MR_HANDLE, mr);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_IMPORT_QUERY_MR_RESP, answer,
		      sizeof(*answer));
	return share_cmd_run(file, &cmd);
}

int share_query_slot(const struct share_file *file, uint32_t context,
		     uint32_t slot, struct ib_uverbs_share_slot *answer)
{
	struct share_cmd cmd;

	memset(answer, 0, sizeof(*answer));
	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_QUERY_SLOT,
		  IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_HANDLE, context);
	share_cmd_u32(&cmd, IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_SLOT, slot);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_RESP, answer,
		      sizeof(*answer));
	return share_cmd_run(file, &cmd);
}

int share_wake_slot(const struct share_file *file, uint32_t context,
		    uint32_t slot)
{
	struct share_cmd cmd;

	on_import(&cmd, IB_UVERBS_METHOD_IMPORT_WAKE_SLOT,
		  IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_HANDLE, context);
	share_cmd_u32(&cmd, IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_SLOT, slot);
	return share_cmd_run(file, &cmd);
}

void *share_map_ring(int grant, enum ib_uverbs_share_ring ring, uint64_t bytes)
{
	void *map;

	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, grant,
		   (off_t)((uint64_t)ring << IB_UVERBS_SHARE_RING_SHIFT));
	return map == MAP_FAILED ? NULL : map;
}
