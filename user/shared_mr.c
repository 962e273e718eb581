// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * New memory regions.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "error.h"
#include "share_priv.h"

static int reg_mr(const struct share_file *file, const struct share_reg_mr *what,
		  struct ibv_mr *mr)
{
	struct share_cmd cmd;
	int ret;

	share_cmd_init(&cmd, IB_UVERBS_OBJECT_SHARE,
		       IB_UVERBS_METHOD_SHARE_REG_MR);
	share_cmd_object(&cmd, IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE, 0);
	share_cmd_object(&cmd, IB_UVERBS_ATTR_SHARE_REG_MR_PD, what->pd);
	share_cmd_fd(&cmd, IB_UVERBS_ATTR_SHARE_REG_MR_FD, what->fd);
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_SHARE_REG_MR_OFFSET, what->offset);
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_SHARE_REG_MR_LENGTH, what->length);
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_SHARE_REG_MR_IOVA, what->iova);
	share_cmd_u64(&cmd, IB_UVERBS_ATTR_SHARE_REG_MR_ACCESS, what->access);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_SHARE_REG_MR_RESP_LKEY, &mr->lkey,
		      sizeof(mr->lkey));
	share_cmd_out(&cmd, IB_UVERBS_ATTR_SHARE_REG_MR_RESP_RKEY, &mr->rkey,
		      sizeof(mr->rkey));
	ret = share_cmd_run(file, &cmd);
	if (!ret)
		mr->handle = share_cmd_handle(&cmd);
	return ret;
}

int share_reg_mr_error(int err, const struct share_reg_mr *what)
{
	struct rlimit limit;

	if (err == ENOMEM && !getrlimit(RLIMIT_MEMLOCK, &limit) &&
	    limit.rlim_cur < what->length)
		return share_error(ENOMEM,
				   "registering %llu bytes needs them locked,"
				   " RLIMIT_MEMLOCK allows %llu: raise it with"
				   " ulimit -l (limits.conf memlock, systemd"
				   " LimitMEMLOCK)",
				   (unsigned long long)what->length,
				   (unsigned long long)limit.rlim_cur);
	if (err == EFAULT)
		return share_error(EFAULT,
				   "registering memory: part of it is not"
				   " mapped, or is not mapped for writing, or"
				   " the file shrank");
	if (err == EINVAL)
		return share_error(EINVAL,
				   "registering memory: length is not 0,"
				   " iova has the offset within a page that the"
				   " memory has, remote write and atomic access"
				   " need local write");
	return share_error_ioctl(err, "registering memory");
}

/* On a PD of an uverbs file of this process: a region like any other. */
static struct ibv_mr *reg_new(struct ibv_context *context,
			      const struct share_reg_mr *what)
{
	struct ib_uverbs_share_caps caps;
	struct share_verbs_mr *mr;
	struct share_file file;
	int ret;

	if (share_file_probe(&file, context->cmd_fd, &caps))
		return NULL;
	if (!(caps.features & IB_UVERBS_SHARE_F_REG_MR)) {
		share_error_ioctl(EOPNOTSUPP, "registering memory");
		return NULL;
	}
	/* ibv_dereg_mr() of the provider frees it */
	mr = calloc(1, SHARE_OBJECT_BYTES);
	if (!mr) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	ret = reg_mr(&file, what, &mr->ibv);
	if (ret) {
		free(mr);
		share_reg_mr_error(ret, what);
		return NULL;
	}
	mr->type = SHARE_MR_TYPE_DMABUF;
	mr->access = (int)what->access;
	mr->ibv.context = context;
	mr->ibv.addr = (void *)(uintptr_t)what->iova;
	mr->ibv.length = what->length;
	return &mr->ibv;
}

struct ibv_mr *ibv_reg_shared_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access)
{
	struct ibv_share_context *ctx = share_context_of(pd->context);
	struct share_reg_mr what = {
		.pd = pd->handle,
		.fd = fd,
		.offset = offset,
		.length = length,
		.iova = iova,
		.access = (uint32_t)access,
	};
	struct ibv_mr *mr;

	if (ctx && share_context_check(ctx))
		return NULL;
	if (ctx && !ctx->is_maker)
		return share_mr_import(share_pd_of(pd), &what);
	mr = reg_new(ctx ? ctx->real : pd->context, &what);
	if (mr)
		mr->pd = pd;
	return mr;
}

struct ibv_mr *ibv_share_reg_mr(struct ibv_pd *ibv, void *addr, size_t length,
				int access)
{
	struct share_pd *pd = share_pd_of(ibv);
	struct share_reg_mr what = {
		.fd = -1,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = (uintptr_t)addr,
		.access = (uint32_t)access,
	};
	struct ibv_mr *mr;

	if (!pd || share_context_check(pd->obj.ctx))
		return NULL;
	if (!pd->obj.ctx->is_maker)
		return share_mr_import(pd, &what);
	mr = ibv_reg_mr(pd->real, addr, length, access);
	if (!mr) {
		share_reg_mr_error(errno, &what);
		return NULL;
	}
	mr->pd = ibv;
	return mr;
}
