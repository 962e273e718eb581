// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <stdlib.h>
#include "bundle.h"
#include "error.h"
#include "share_priv.h"

struct share_srq *share_srq_of(struct ibv_srq *srq)
{
	if (!srq || !share_context_of(srq->context)) {
		share_error(EINVAL, "not a shared SRQ");
		return NULL;
	}
	return share_container_of(srq, struct share_srq, ibv);
}

static struct share_srq *srq_new(struct share_pd *pd, struct share_cq *cq)
{
	struct share_srq *srq = calloc(1, sizeof(*srq));

	if (!srq) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	srq->ibv.context = pd->obj.ctx->fake;
	srq->ibv.pd = &pd->ibv;
	srq->cq = cq;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	share_unlock_tail(srq->words, sizeof(srq->ibv), sizeof(srq->words));
	srq->handle = SHARE_NO_HANDLE;
	share_object_init(&srq->obj, pd->obj.ctx, IB_UVERBS_SHARE_SRQ);
	return srq;
}

/* Memory of this process only. */
static void srq_delete(struct share_srq *srq)
{
	share_unmap(&srq->ring);
	pthread_cond_destroy(&srq->ibv.cond);
	pthread_mutex_destroy(&srq->ibv.mutex);
	free(srq);
}

static void srq_use(struct share_srq *srq, int change)
{
	share_object_use(&share_pd_of(srq->ibv.pd)->obj, change);
	share_object_use(&srq->cq->obj, change);
}

/* Data path over a mapped ring; the entry in the control segment exists. */
static int srq_attach(struct share_srq *srq)
{
	struct ibv_share_context *ctx = srq->obj.ctx;
	int ret = share_srq_path_init(&srq->path, &ctx->control, srq->index,
				      &srq->cq->path, ctx->provider,
				      srq->ring.addr, srq->ring.bytes);

	return ret ? share_error_control(ret, "an SRQ and its ring") : 0;
}

static int srq_export(struct share_srq *srq)
{
	const struct ib_uverbs_share_segment segment = {
		.addr = (uintptr_t)srq->ring.addr,
		.length = srq->ring.bytes,
		.ring = IB_UVERBS_SHARE_RING_SRQ,
	};
	const struct share_export what = {
		.object = srq->handle,
		.segments = &segment,
		.num_segments = 1,
		.mem_fd = -1,
	};
	struct ib_uverbs_share_info info;

	return share_object_export(&srq->obj, &what, -1, &info);
}

static int srq_register(struct share_srq *srq, const struct share_new_srq *new)
{
	struct ibv_share_context *ctx = srq->obj.ctx;
	struct share_srq_attr attr = {
		.max_sge = new->attr.max_sge,
		.cq = srq->cq->index,
		.cookie = new->cookie,
	};
	int ret = share_ring_probe(ctx->provider, srq->ring.addr,
				   srq->ring.bytes, &attr.entries);

	if (ret)
		return share_error(EOPNOTSUPP, "this kernel's ring layout is not"
					       " the one that is known");
	ret = share_control_add_srq(&ctx->control, &attr, &srq->index);
	return ret ? share_error_control(ret, "making an SRQ") : 0;
}

static int srq_check(struct share_pd *pd, struct ibv_cq *cq,
		     const struct ibv_srq_init_attr *init)
{
	struct ibv_share_context *ctx = pd->obj.ctx;
	int ret = share_maker_check(ctx);

	if (ret)
		return ret;
	if (!cq || share_context_of(cq->context) != ctx)
		return share_error(EINVAL, "the CQ has to come from"
					   " ibv_share_create_cq() of the PD's"
					   " context");
	if (!init->attr.max_wr || !init->attr.max_sge)
		return share_error(EINVAL, "max_wr and max_sge are at least 1");
	return 0;
}

static void srq_publish(struct share_srq *srq)
{
	srq->ibv.handle = srq->obj.import;
	srq_use(srq, 1);
}

struct ibv_srq *ibv_share_create_srq(struct ibv_pd *ibv_pd, struct ibv_cq *cq,
				     struct ibv_srq_init_attr *init)
{
	struct share_pd *pd = share_pd_of(ibv_pd);
	struct share_new_srq new;
	struct share_srq *srq;

	if (!pd || srq_check(pd, cq, init))
		return NULL;
	srq = srq_new(pd, share_cq_of(cq));
	if (!srq)
		return NULL;
	new = (struct share_new_srq){
		.pd = pd->real->handle,
		.attr = init->attr,
		.cookie = share_control_new_cookie(&srq->obj.ctx->control),
	};
	if (share_create_srq(&srq->obj.ctx->file, &new))
		goto err_free;
	srq->handle = new.handle;
	srq->ring = new.ring;
	if (srq_register(srq, &new))
		goto err_destroy;
	if (srq_attach(srq) || srq_export(srq))
		goto err_drop;
	srq->ibv.srq_context = init->srq_context;
	init->attr.max_wr = srq->path.view.attr.entries - 1;
	init->attr.max_sge = new.attr.max_sge;
	srq_publish(srq);
	share_object_publish(&srq->obj);
	return &srq->ibv;

err_drop:
	share_object_drop(&srq->obj);
	share_control_del_srq(&srq->obj.ctx->control, srq->index, 1);
err_destroy:
	share_destroy_srq(&srq->obj.ctx->file, srq->handle);
err_free:
	srq_delete(srq);
	return NULL;
}

/* Without the right POST_RECV there is no ring: posting answers EACCES. */
static int srq_import(struct share_srq *srq)
{
	struct ib_uverbs_share_info info;
	int ret = share_object_import(&srq->obj, -1, &info);

	if (ret)
		return ret;
	srq->ring.bytes = info.ring_bytes[IB_UVERBS_SHARE_RING_SRQ];
	if (srq->ring.bytes) {
		srq->ring.addr = share_map_ring(srq->obj.grant,
						IB_UVERBS_SHARE_RING_SRQ,
						srq->ring.bytes);
		if (!srq->ring.addr)
			return share_error_ioctl(errno, "mapping a ring");
	}
	return srq_attach(srq);
}

struct share_object *share_srq_receive(int grant,
				       const struct share_bundle_object *o,
				       struct share_object *pd,
				       struct share_object *cq)
{
	struct share_srq *srq =
		srq_new(share_container_of(pd, struct share_pd, obj),
			share_container_of(cq, struct share_cq, obj));

	if (!srq)
		return NULL;
	srq->index = o->index;
	srq->obj.grant = grant;
	if (srq_import(srq)) {
		srq->obj.grant = -1;
		share_object_drop(&srq->obj);
		srq_delete(srq);
		return NULL;
	}
	srq_publish(srq);
	return &srq->obj;
}

void share_srq_describe(const struct share_object *obj,
			struct share_bundle_object *o)
{
	const struct share_srq *srq =
		share_container_of(obj, struct share_srq, obj);

	o->index = srq->index;
	o->pd = share_pd_of(srq->ibv.pd)->obj.position;
	o->recv_cq = srq->cq->obj.position;
}

void share_srq_free(struct share_object *obj)
{
	struct share_srq *srq = share_container_of(obj, struct share_srq, obj);

	share_object_unpublish(obj);
	share_object_drop(obj);
	srq_use(srq, -1);
	srq_delete(srq);
}

/* As a QP: first nobody posts any more. */
static int srq_destroy(struct share_srq *srq)
{
	struct ibv_share_context *ctx = srq->obj.ctx;
	int ret;

	share_srq_begin_delete(&srq->path);
	share_object_drop(&srq->obj);
	ret = share_destroy_srq(&ctx->file, srq->handle);
	if (ret)
		return share_error_ioctl(ret, "destroying an SRQ");
	share_srq_path_delete(&srq->path);
	return 0;
}

int ibv_share_destroy_srq(struct ibv_srq *ibv)
{
	struct share_srq *srq = share_srq_of(ibv);
	int ret;

	if (!srq)
		return errno;
	ret = share_context_check(srq->obj.ctx);
	if (!ret)
		ret = share_object_unused(&srq->obj);
	if (!ret)
		ret = share_srq_acked(srq);
	if (!ret && srq->obj.ctx->is_maker)
		ret = srq_destroy(srq);
	if (!ret)
		share_srq_free(&srq->obj);
	return ret;
}

int ibv_share_name_srq(struct ibv_srq *ibv, const char *name)
{
	struct share_srq *srq = share_srq_of(ibv);

	return srq ? share_object_rename(&srq->obj, name) : errno;
}

struct ibv_srq *ibv_share_get_srq(struct ibv_share_context *ctx,
				  const char *name)
{
	struct share_object *obj =
		share_object_find(ctx, IB_UVERBS_SHARE_SRQ, name);

	return obj ? &share_container_of(obj, struct share_srq, obj)->ibv : NULL;
}
