// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <stdlib.h>
#include "error.h"
#include "share_priv.h"

struct share_pd *share_pd_of(struct ibv_pd *pd)
{
	if (!pd || !share_context_of(pd->context)) {
		share_error(EINVAL, "not a shared PD");
		return NULL;
	}
	return share_container_of(pd, struct share_pd, ibv);
}

static struct share_pd *pd_new(struct ibv_share_context *ctx)
{
	struct share_pd *pd = calloc(1, sizeof(*pd));

	if (!pd) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	pd->ibv.context = ctx->fake;
	share_object_init(&pd->obj, ctx, IB_UVERBS_SHARE_PD);
	return pd;
}

struct ibv_pd *ibv_share_alloc_pd(struct ibv_share_context *ctx)
{
	struct ib_uverbs_share_info info;
	struct share_export what = { .mem_fd = -1 };
	struct share_pd *pd;
	int saved;

	if (share_maker_check(ctx))
		return NULL;
	pd = pd_new(ctx);
	if (!pd)
		return NULL;
	pd->real = ibv_alloc_pd(ctx->real);
	if (!pd->real) {
		share_error_ioctl(errno, "making a PD");
		goto err_free;
	}
	pd->ibv.handle = pd->real->handle;
	what.object = pd->real->handle;
	if (share_object_export(&pd->obj, &what, -1, &info))
		goto err_drop;
	share_object_publish(&pd->obj);
	return &pd->ibv;

err_drop:
	saved = errno;
	share_object_drop(&pd->obj);
	ibv_dealloc_pd(pd->real);
	errno = saved;
err_free:
	free(pd);
	return NULL;
}

struct share_object *share_pd_receive(struct ibv_share_context *ctx, int grant)
{
	struct ib_uverbs_share_info info;
	struct share_pd *pd = pd_new(ctx);

	if (!pd)
		return NULL;
	pd->obj.grant = grant;
	if (share_object_import(&pd->obj, -1, &info)) {
		/* the bundle's, still */
		free(pd);
		return NULL;
	}
	pd->ibv.handle = pd->obj.import;
	return &pd->obj;
}

void share_pd_free(struct share_object *obj)
{
	struct share_pd *pd = share_container_of(obj, struct share_pd, obj);

	share_object_unpublish(obj);
	share_object_drop(obj);
	free(pd);
}

int ibv_share_dealloc_pd(struct ibv_pd *ibv)
{
	struct share_pd *pd = share_pd_of(ibv);
	int ret;

	if (!pd)
		return errno;
	ret = share_context_check(pd->obj.ctx);
	if (!ret)
		ret = share_object_unused(&pd->obj);
	if (ret)
		return ret;
	if (pd->real) {
		share_object_drop(&pd->obj);
		/* regions that the library does not count may be left */
		ret = ibv_dealloc_pd(pd->real);
		if (ret)
			return share_error_ioctl(ret, "destroying a PD");
		pd->real = NULL;
	}
	share_pd_free(&pd->obj);
	return 0;
}

int ibv_share_name_pd(struct ibv_pd *ibv, const char *name)
{
	struct share_pd *pd = share_pd_of(ibv);

	return pd ? share_object_rename(&pd->obj, name) : errno;
}

struct ibv_pd *ibv_share_get_pd(struct ibv_share_context *ctx,
				const char *name)
{
	struct share_object *obj =
		share_object_find(ctx, IB_UVERBS_SHARE_PD, name);

	if (!obj)
		return NULL;
	return &share_container_of(obj, struct share_pd, obj)->ibv;
}
