// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <stdlib.h>
#include "bundle.h"
#include "error.h"
#include "share_priv.h"

struct share_cq *share_cq_of(struct ibv_cq *cq)
{
	if (!cq || !share_context_of(cq->context)) {
		share_error(EINVAL, "not a shared CQ");
		return NULL;
	}
	return share_container_of(cq, struct share_cq, ibv);
}

static struct share_cq *share_cq_new(struct ibv_share_context *ctx)
{
	struct share_cq *cq = calloc(1, sizeof(*cq));

	if (!cq) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	cq->ibv.context = ctx->fake;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	pthread_mutex_init(&cq->polling, NULL);
	share_unlock_tail(cq->words, sizeof(struct ibv_cq_ex),
			  sizeof(cq->words));
	cq->handle = SHARE_NO_HANDLE;
	share_object_init(&cq->obj, ctx, IB_UVERBS_SHARE_CQ);
	return cq;
}

/* Memory of this process only; the ring is unmapped last. */
static void share_cq_delete(struct share_cq *cq)
{
	share_unmap(&cq->ring);
	share_cq_channel_use(cq, -1);
	pthread_mutex_destroy(&cq->polling);
	pthread_cond_destroy(&cq->ibv.cond);
	pthread_mutex_destroy(&cq->ibv.mutex);
	free(cq);
}

/* Data path over a mapped ring; the entry in the control segment exists. */
static int cq_attach(struct share_cq *cq)
{
	struct ibv_share_context *ctx = cq->obj.ctx;
	int ret = share_cq_path_init(&cq->path, &ctx->control, cq->index,
				     ctx->provider, cq->ring.addr,
				     cq->ring.bytes);

	if (ret)
		return share_error_control(ret, "a CQ and its ring");
	cq->ibv.cqe = (int)cq->path.view.capacity;
	return 0;
}

static int cq_export(struct share_cq *cq)
{
	const struct ib_uverbs_share_segment segment = {
		.addr = (uintptr_t)cq->ring.addr,
		.length = cq->ring.bytes,
		.ring = IB_UVERBS_SHARE_RING_CQ,
	};
	const struct share_export what = {
		.object = cq->handle,
		.segments = &segment,
		.num_segments = 1,
		.mem_fd = -1,
	};
	struct ib_uverbs_share_info info;

	return share_object_export(&cq->obj, &what, -1, &info);
}

/* Where the data path finds what to arm. */
static void cq_set_import(struct share_cq *cq, uint32_t handle)
{
	__atomic_store_n(&cq->obj.ctx->cq_imports[cq->index], handle,
			 __ATOMIC_RELAXED);
}

static int cq_publish(struct share_cq *cq, struct ibv_comp_channel *channel)
{
	int ret;

	if (channel) {
		ret = share_waiter_add(&cq->obj.ctx->events.completion,
				       channel->fd);
		if (ret)
			return share_error_ioctl(ret, "watching a channel");
	}
	cq->ibv.channel = channel;
	share_cq_channel_use(cq, 1);
	cq->ibv.handle = cq->obj.import;
	cq_set_import(cq, cq->obj.import);
	return 0;
}

static int cq_register(struct share_cq *cq, uint32_t cookie, uint32_t flags)
{
	struct ibv_share_context *ctx = cq->obj.ctx;
	struct share_cq_attr attr;
	uint32_t entries;
	int ret = share_ring_probe(ctx->provider, cq->ring.addr, cq->ring.bytes,
				   &entries);

	if (ret)
		return share_error(EOPNOTSUPP, "this kernel's ring layout is not"
					       " the one that is known");
	attr.capacity = entries - 1;
	attr.cookie = cookie;
	attr.flags = flags & IBV_SHARE_CQ_ANY ? SHARE_CQ_ANY : 0;
	ret = share_control_add_cq(&ctx->control, &attr, &cq->index);
	if (ret)
		return share_error_control(ret, "making a CQ");
	return 0;
}

static int cq_check(struct ibv_share_context *ctx,
		    const struct ibv_share_cq_init_attr *attr)
{
	int ret = share_maker_check(ctx);

	if (ret)
		return ret;
	if (attr->cqe < 1 || attr->comp_vector < 0)
		return share_error(EINVAL, "cqe is at least 1, comp_vector not"
					   " negative");
	if (attr->comp_mask || attr->flags & ~IBV_SHARE_CQ_ANY)
		return share_error(EINVAL, "comp_mask is 0, and there is no flag"
					   " but IBV_SHARE_CQ_ANY");
	if (attr->channel && attr->channel->context != ctx->real)
		return share_error(EINVAL,
				   "the channel has to come from"
				   " ibv_share_create_comp_channel() of the"
				   " same context");
	if (!ctx->provider)
		return share_error_ioctl(EOPNOTSUPP, "sharing a CQ");
	return 0;
}

struct ibv_cq *ibv_share_create_cq(struct ibv_share_context *ctx, int cqe,
				   void *cq_context,
				   struct ibv_comp_channel *channel,
				   int comp_vector)
{
	const struct ibv_share_cq_init_attr attr = {
		.cqe = cqe,
		.comp_vector = comp_vector,
		.cq_context = cq_context,
		.channel = channel,
	};

	return ibv_share_create_cq_ex(ctx, &attr);
}

struct ibv_cq *ibv_share_create_cq_ex(struct ibv_share_context *ctx,
				      const struct ibv_share_cq_init_attr *attr)
{
	struct share_new_cq new_cq = {
		.cqe = (uint32_t)attr->cqe,
		.comp_vector = (uint32_t)attr->comp_vector,
		.channel = attr->channel ? attr->channel->fd : -1,
	};
	struct share_cq *cq;

	if (cq_check(ctx, attr))
		return NULL;
	cq = share_cq_new(ctx);
	if (!cq)
		return NULL;
	new_cq.cookie = share_control_new_cookie(&ctx->control);
	if (share_create_cq(&ctx->file, &new_cq))
		goto err_free;
	cq->handle = new_cq.handle;
	cq->ring = new_cq.ring;
	if (cq_register(cq, new_cq.cookie, attr->flags))
		goto err_destroy;
	if (cq_attach(cq) || cq_export(cq) || cq_publish(cq, attr->channel))
		goto err_drop;
	cq->ibv.cq_context = attr->cq_context;
	share_object_publish(&cq->obj);
	return &cq->ibv;

err_drop:
	share_object_drop(&cq->obj);
	share_control_del_cq(&ctx->control, cq->index);
err_destroy:
	share_destroy_cq(&ctx->file, cq->handle);
err_free:
	share_cq_delete(cq);
	return NULL;
}

/* Without the right POLL there is no ring: completions come by mailbox. */
static int cq_map(struct share_cq *cq, const struct ib_uverbs_share_info *info)
{
	const uint64_t bytes = info->ring_bytes[IB_UVERBS_SHARE_RING_CQ];

	if (!bytes)
		return 0;
	cq->ring.addr =
		share_map_ring(cq->obj.grant, IB_UVERBS_SHARE_RING_CQ, bytes);
	cq->ring.bytes = bytes;
	return cq->ring.addr ? 0 : share_error_ioctl(errno, "mapping a ring");
}

struct share_object *share_cq_receive(struct ibv_share_context *ctx, int grant,
				      const struct share_bundle_object *o,
				      struct ibv_comp_channel *channel)
{
	struct share_cq *cq = share_cq_new(ctx);
	struct ib_uverbs_share_info info;

	if (!cq)
		return NULL;
	cq->index = o->index;
	cq->obj.grant = grant;
	if (!share_object_import(&cq->obj, -1, &info) && !cq_map(cq, &info) &&
	    !cq_attach(cq) && !cq_publish(cq, channel))
		return &cq->obj;
	cq->obj.grant = -1;
	share_object_drop(&cq->obj);
	share_cq_delete(cq);
	return NULL;
}

int share_cq_channel(const struct share_object *obj)
{
	const struct share_cq *cq =
		share_container_of(obj, struct share_cq, obj);

	return cq->ibv.channel ? cq->ibv.channel->fd : -1;
}

int share_cq_describe(const struct share_object *obj,
		      struct share_bundle_object *o)
{
	o->index = share_container_of(obj, struct share_cq, obj)->index;
	return share_cq_channel(obj);
}

void share_cq_free(struct share_object *obj)
{
	struct share_cq *cq = share_container_of(obj, struct share_cq, obj);

	cq_set_import(cq, SHARE_NO_HANDLE);
	share_object_unpublish(obj);
	share_object_drop(obj);
	share_cq_delete(cq);
}

/* For everybody: nobody polls the ring any more when it is taken away. */
static int cq_destroy(struct share_cq *cq)
{
	struct ibv_share_context *ctx = cq->obj.ctx;
	int ret;

	ret = share_control_del_cq(&ctx->control, cq->index);
	if (ret && ret != ENOENT)
		return share_error_ioctl(ret, "destroying a CQ");
	share_object_drop(&cq->obj);
	ret = share_destroy_cq(&ctx->file, cq->handle);
	return ret ? share_error_ioctl(ret, "destroying a CQ") : 0;
}

int ibv_share_destroy_cq(struct ibv_cq *ibv)
{
	struct share_cq *cq = share_cq_of(ibv);
	int ret;

	if (!cq)
		return errno;
	ret = share_context_check(cq->obj.ctx);
	if (!ret)
		ret = share_object_unused(&cq->obj);
	if (!ret)
		ret = share_cq_acked(cq);
	if (!ret && cq->obj.ctx->is_maker)
		ret = cq_destroy(cq);
	if (!ret)
		share_cq_free(&cq->obj);
	return ret;
}

int ibv_share_query_cq(struct ibv_cq *ibv, struct ibv_share_cq_attr *attr)
{
	struct share_cq *cq = share_cq_of(ibv);
	struct ib_uverbs_share_cq answer;
	int ret;

	if (!cq)
		return errno;
	ret = share_context_check(cq->obj.ctx);
	if (ret)
		return ret;
	ret = share_query_cq(&cq->obj.ctx->file, cq->obj.import, &answer);
	if (ret)
		return share_error_ioctl(ret, "querying a CQ");
	attr->cqe = answer.cqe;
	attr->ring_bytes = answer.ring_bytes;
	return 0;
}

int ibv_share_name_cq(struct ibv_cq *ibv, const char *name)
{
	struct share_cq *cq = share_cq_of(ibv);

	return cq ? share_object_rename(&cq->obj, name) : errno;
}

struct ibv_cq *ibv_share_get_cq(struct ibv_share_context *ctx,
				const char *name)
{
	struct share_object *obj =
		share_object_find(ctx, IB_UVERBS_SHARE_CQ, name);

	return obj ? &share_container_of(obj, struct share_cq, obj)->ibv : NULL;
}

int share_op_poll_cq(struct ibv_cq *ibv, int num_entries, struct ibv_wc *wc)
{
	struct share_cq *cq = share_container_of(ibv, struct share_cq, ibv);
	int ret;

	if (cq->obj.ctx->forked)
		return -share_context_check(cq->obj.ctx);
	/*
	 * Locks in shared memory are only tried: who does not get one is served
	 * by its holder, or woken. That is for processes.
	 */
	pthread_mutex_lock(&cq->polling);
	ret = share_poll(&cq->path, num_entries, wc);
	pthread_mutex_unlock(&cq->polling);
	return ret < 0 ? -share_error_stopped(-ret) : ret;
}
