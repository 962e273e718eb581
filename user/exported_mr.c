// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Memory regions that travel: exported and received.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "bundle.h"
#include "error.h"
#include "share_priv.h"

struct share_mr *share_mr_new(struct share_pd *pd)
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
void share_mr_fill_own(struct share_mr *mr,
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

void share_mr_publish(struct share_mr *mr)
{
	share_object_use(&mr->pd->obj, 1);
	share_object_publish(&mr->obj);
}

static struct share_mr *lookup(struct ibv_share_context *ctx,
			       const struct ibv_mr *ibv)
{
	struct share_mr *mr = NULL;
	struct share_object *obj;

	pthread_mutex_lock(&ctx->lock);
	for (obj = ctx->objects; obj; obj = obj->next) {
		mr = share_container_of(obj, struct share_mr, obj);
		if (obj->kind == IB_UVERBS_SHARE_MR && mr->mr == ibv)
			break;
	}
	pthread_mutex_unlock(&ctx->lock);
	return obj ? mr : NULL;
}

static struct share_mr *mr_find(const struct ibv_mr *ibv)
{
	struct share_pd *pd = share_pd_of(ibv->pd);
	struct share_mr *mr;

	if (!pd)
		return NULL;
	mr = lookup(pd->obj.ctx, ibv);
	if (mr)
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
	if (lookup(pd->obj.ctx, ibv))
		return share_error(EEXIST, "the region is exported already");
	mr = share_mr_new(pd);
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
	share_mr_publish(mr);
	return 0;
}

struct share_object *share_mr_receive(int grant, struct share_object *pd,
				      int mem_fd, uint64_t mem_offset)
{
	struct ib_uverbs_share_info info;
	struct share_mr *mr =
		share_mr_new(share_container_of(pd, struct share_pd, obj));

	if (!mr)
		return NULL;
	mr->obj.grant = grant;
	if (share_object_import(&mr->obj, -1, &info)) {
		free(mr);
		return NULL;
	}
	share_mr_fill_own(mr, &info);
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

/* of a receiver: only the kernel knows whether it may go */
static int release_own(struct share_mr *mr)
{
	int ret = share_release(&mr->obj.ctx->file, mr->obj.import);

	if (ret == EBUSY)
		return share_error(EBUSY, "a memory window is bound to the"
					  " region: invalidate it before");
	/* whatever else it says, the handle is not ours any more */
	mr->obj.import = SHARE_NO_HANDLE;
	return 0;
}

int ibv_share_dereg_mr(struct ibv_mr *ibv)
{
	struct share_pd *pd = share_pd_of(ibv->pd);
	struct share_mr *mr;
	int ret;

	if (!pd)
		return errno;
	ret = share_context_check(pd->obj.ctx);
	if (ret)
		return ret;
	mr = lookup(pd->obj.ctx, ibv);
	if (mr && ibv == &mr->own.ibv) {
		ret = release_own(mr);
		if (!ret)
			share_mr_free(&mr->obj);
		return ret;
	}
	if (mr)
		share_mr_free(&mr->obj);
	ret = ibv_dereg_mr(ibv);
	return ret ? share_error_ioctl(ret, "deregistering a region") : 0;
}

int ibv_share_query_mr(const struct ibv_mr *ibv, struct ibv_share_mr_attr *attr)
{
	struct share_mr *mr = mr_find(ibv);
	struct ib_uverbs_share_mr answer;
	int ret;

	if (!mr)
		return errno;
	ret = share_context_check(mr->obj.ctx);
	if (ret)
		return ret;
	ret = share_query_mr(&mr->obj.ctx->file, mr->obj.import, &answer);
	if (ret)
		return share_error_ioctl(ret, "querying a region");
	attr->lkey = answer.lkey;
	attr->rkey = answer.rkey;
	attr->iova = answer.iova;
	attr->length = answer.length;
	attr->access = answer.access;
	return 0;
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
