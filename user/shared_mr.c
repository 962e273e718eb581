// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "bundle.h"
#include "error.h"
#include "share_priv.h"

/* What REG_MR is asked for. */
struct reg_mr {
	uint32_t pd;
	int fd;
	uint64_t offset;
	uint64_t length;
	uint64_t iova;
	uint32_t access;
};

static int reg_mr(const struct share_file *file, const struct reg_mr *what,
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

static int reg_mr_error(int err, const struct reg_mr *what)
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
	if (err == EINVAL)
		return share_error(EINVAL,
				   "registering shared memory: length is not 0,"
				   " iova has the offset within a page that the"
				   " memory has, remote write and atomic access"
				   " need local write");
	return share_error_ioctl(err, "registering shared memory");
}

/* On a PD of an uverbs file of this process: a region like any other. */
static struct ibv_mr *reg_new(struct ibv_context *context,
			      const struct reg_mr *what)
{
	struct ib_uverbs_share_caps caps;
	struct share_verbs_mr *mr;
	struct share_file file;
	int ret;

	if (share_file_probe(&file, context->cmd_fd, &caps))
		return NULL;
	if (!(caps.features & IB_UVERBS_SHARE_F_REG_MR)) {
		share_error_ioctl(EOPNOTSUPP, "registering shared memory");
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
		reg_mr_error(ret, what);
		return NULL;
	}
	mr->type = SHARE_MR_TYPE_DMABUF;
	mr->access = (int)what->access;
	mr->ibv.context = context;
	mr->ibv.addr = (void *)(uintptr_t)what->iova;
	mr->ibv.length = what->length;
	return &mr->ibv;
}

static struct share_mr *mr_new(struct share_pd *pd)
{
	struct share_mr *mr = calloc(1, sizeof(*mr));

	if (!mr) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	share_object_init(&mr->obj, pd->obj.ctx, IB_UVERBS_SHARE_MR);
	mr->pd = pd;
	mr->mem_fd = -1;
	return mr;
}

/* The region of a receiver: keys that the kernel vouches for. */
static void mr_fill_own(struct share_mr *mr,
			const struct ib_uverbs_share_info *info)
{
	mr->mr = &mr->own.ibv;
	mr->own.type = SHARE_MR_TYPE_DMABUF;
	mr->own.ibv.context = mr->pd->ibv.context;
	mr->own.ibv.pd = &mr->pd->ibv;
	mr->own.ibv.addr = (void *)(uintptr_t)info->iova;
	mr->own.ibv.length = info->length;
	mr->own.ibv.handle = mr->obj.import;
	mr->own.ibv.lkey = info->lkey;
	mr->own.ibv.rkey = info->rkey;
}

static void mr_publish(struct share_mr *mr)
{
	share_object_use(&mr->pd->obj, 1);
	share_object_publish(&mr->obj);
}

static int alias_matches(const struct reg_mr *what,
			 const struct ib_uverbs_share_info *info)
{
	if (what->offset || (what->length && what->length != info->length) ||
	    (what->iova && what->iova != info->iova))
		return share_error(EINVAL, "on a received PD the region is what"
					   " was exported: offset 0, length and"
					   " iova 0 or those of the region");
	if (what->access & ~info->access)
		return share_error_ioctl(EACCES, "access to a shared region");
	return 0;
}

static struct ibv_mr *reg_alias(struct share_pd *pd, const struct reg_mr *what)
{
	struct ib_uverbs_share_info info;
	struct share_mr *mr = mr_new(pd);

	if (!mr)
		return NULL;
	mr->obj.grant = what->fd;
	if (share_object_import(&mr->obj, -1, &info) ||
	    alias_matches(what, &info)) {
		mr->obj.grant = -1;
		share_object_drop(&mr->obj);
		free(mr);
		return NULL;
	}
	/* the caller's file descriptor; a bundle carries the original */
	mr->obj.grant = -1;
	mr_fill_own(mr, &info);
	mr_publish(mr);
	return mr->mr;
}

struct ibv_mr *ibv_reg_shared_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access)
{
	struct ibv_share_context *ctx = share_context_of(pd->context);
	struct reg_mr what = {
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
		return reg_alias(share_pd_of(pd), &what);
	mr = reg_new(ctx ? ctx->real : pd->context, &what);
	if (mr)
		mr->pd = pd;
	return mr;
}

struct ibv_mr *ibv_share_reg_mr(struct ibv_pd *ibv, void *addr, size_t length,
				int access)
{
	struct share_pd *pd = share_pd_of(ibv);
	struct ibv_mr *mr;

	if (!pd || share_maker_check(pd->obj.ctx))
		return NULL;
	mr = ibv_reg_mr(pd->real, addr, length, access);
	if (!mr) {
		share_error_ioctl(errno, "registering memory");
		return NULL;
	}
	mr->pd = ibv;
	return mr;
}

static struct share_mr *mr_find(const struct ibv_mr *ibv)
{
	struct share_pd *pd = share_pd_of(ibv->pd);
	struct share_object *obj;
	struct share_mr *mr;

	if (!pd)
		return NULL;
	pthread_mutex_lock(&pd->obj.ctx->lock);
	for (obj = pd->obj.ctx->objects; obj; obj = obj->next) {
		mr = share_container_of(obj, struct share_mr, obj);
		if (obj->kind == IB_UVERBS_SHARE_MR && mr->mr == ibv)
			break;
	}
	pthread_mutex_unlock(&pd->obj.ctx->lock);
	if (obj)
		return mr;
	share_error(EINVAL, "the region is neither exported nor received: use"
			    " ibv_dereg_mr()");
	return NULL;
}

/*
 * What receivers get. Without local write they must not be able to write
 * through the file either.
 */
static int mem_fd_for(int fd, int access)
{
	char path[32];

	if (access & IBV_ACCESS_LOCAL_WRITE)
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int mr_export(struct share_mr *mr, int fd, uint64_t offset, int access)
{
	struct share_export what = {
		.object = mr->mr->handle,
		.mem_fd = fd,
		.mem_offset = offset,
		.access = (uint32_t)access,
	};
	struct ib_uverbs_share_info info;

	if (fd >= 0) {
		mr->mem_fd = mem_fd_for(fd, access);
		if (mr->mem_fd < 0)
			return share_error_ioctl(errno, "the file of a region");
	}
	mr->mem_offset = fd >= 0 ? offset : 0;
	return share_object_export(&mr->obj, &what, -1, &info);
}

int ibv_share_export_mr(struct ibv_mr *ibv, int fd, uint64_t offset, int access)
{
	struct share_pd *pd = share_pd_of(ibv->pd);
	struct share_mr *mr;
	int ret;

	if (!pd)
		return errno;
	ret = share_maker_check(pd->obj.ctx);
	if (ret)
		return ret;
	mr = mr_new(pd);
	if (!mr)
		return errno;
	mr->mr = ibv;
	ret = mr_export(mr, fd, offset, access);
	if (ret) {
		share_object_drop(&mr->obj);
		if (mr->mem_fd >= 0)
			close(mr->mem_fd);
		free(mr);
		return ret;
	}
	mr_publish(mr);
	return 0;
}

struct share_object *share_mr_receive(int grant, struct share_object *pd,
				      int mem_fd, uint64_t mem_offset)
{
	struct ib_uverbs_share_info info;
	struct share_mr *mr =
		mr_new(share_container_of(pd, struct share_pd, obj));

	if (!mr)
		return NULL;
	mr->obj.grant = grant;
	if (share_object_import(&mr->obj, -1, &info)) {
		free(mr);
		return NULL;
	}
	mr_fill_own(mr, &info);
	mr->mem_fd = mem_fd;
	mr->mem_offset = mem_offset;
	share_object_use(pd, 1);
	return &mr->obj;
}

int share_mr_describe(const struct share_object *obj,
		      struct share_bundle_object *o)
{
	const struct share_mr *mr =
		share_container_of(obj, struct share_mr, obj);

	o->pd = mr->pd->obj.position;
	o->offset = mr->mem_offset;
	return mr->mem_fd;
}

void share_mr_free(struct share_object *obj)
{
	struct share_mr *mr = share_container_of(obj, struct share_mr, obj);

	share_object_unpublish(obj);
	share_object_drop(obj);
	share_object_use(&mr->pd->obj, -1);
	if (mr->mem_fd >= 0)
		close(mr->mem_fd);
	free(mr);
}

int ibv_share_dereg_mr(struct ibv_mr *ibv)
{
	struct share_mr *mr = mr_find(ibv);
	int ret, own;

	if (!mr)
		return errno;
	ret = share_context_check(mr->obj.ctx);
	if (ret)
		return ret;
	own = ibv == &mr->own.ibv;
	share_mr_free(&mr->obj);
	if (own)
		return 0;
	ret = ibv_dereg_mr(ibv);
	return ret ? share_error_ioctl(ret, "deregistering a region") : 0;
}

int ibv_share_mr_fd(const struct ibv_mr *ibv, uint64_t *offset)
{
	struct share_mr *mr = mr_find(ibv);

	if (!mr)
		return -1;
	if (mr->mem_fd < 0) {
		share_error(ENODATA, "the region was exported without a file");
		return -1;
	}
	if (offset)
		*offset = mr->mem_offset;
	return mr->mem_fd;
}

int ibv_share_mr_grant(const struct ibv_mr *ibv)
{
	struct share_mr *mr = mr_find(ibv);

	if (!mr)
		return -1;
	if (mr->obj.grant < 0)
		share_error(ENODATA, "an alias has no grant of its own");
	return mr->obj.grant;
}

int ibv_share_name_mr(struct ibv_mr *ibv, const char *name)
{
	struct share_mr *mr = mr_find(ibv);

	return mr ? share_object_rename(&mr->obj, name) : errno;
}

struct ibv_mr *ibv_share_get_mr(struct ibv_share_context *ctx,
				const char *name)
{
	struct share_object *obj =
		share_object_find(ctx, IB_UVERBS_SHARE_MR, name);

	return obj ? share_container_of(obj, struct share_mr, obj)->mr : NULL;
}
