// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Completion events as applications see them. All processes watch the channel
 * of the device; whichever comes first handles its event for all. The event is
 * taken away after that, so that a process that dies or is stopped on the way
 * leaves it to the others.
 */
#include <errno.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include "error.h"
#include "event.h"
#include "glance.h"
#include "recover.h"
#include "share_priv.h"

/* A hostile process can make more as fast as we read. */
#define MAX_RAW 64

static struct share_cq *next_cq(struct ibv_share_context *ctx,
				struct share_cq *cq)
{
	struct share_object *obj = cq ? cq->obj.next : ctx->objects;

	while (obj && obj->kind != IB_UVERBS_SHARE_CQ)
		obj = obj->next;
	return obj ? share_container_of(obj, struct share_cq, obj) : NULL;
}

#define for_each_cq(ctx, cq) \
	for ((cq) = next_cq(ctx, NULL); (cq); (cq) = next_cq(ctx, cq))

static int has_work(const struct share_cq *cq, int channel)
{
	return cq->ibv.channel && cq->ibv.channel->fd == channel &&
	       cq->path.ring.base && !share_glance_empty(&cq->path);
}

/* A CQ that was made after our bundle had been sent. */
static void dispatch_foreign(struct ibv_share_context *ctx, uint32_t cookie)
{
	struct share_cq_view view;
	uint32_t i;

	for (i = 0; i < SHARE_MAX_CQS; i++)
		if (!share_control_cq(&ctx->control, i, &view) &&
		    view.cookie == cookie)
			share_event_wake_all(&ctx->control, &view);
}

static void dispatch(struct ibv_share_context *ctx, uint64_t cookie)
{
	struct share_cq *cq;

	for_each_cq(ctx, cq)
	{
		if (cq->path.view.cookie == cookie) {
			share_event_dispatch(&cq->path);
			return;
		}
	}
	dispatch_foreign(ctx, (uint32_t)cookie);
}

static void read_channel(struct ibv_share_context *ctx, int channel)
{
	struct ib_uverbs_comp_event_desc desc;
	struct share_cq *cq;
	ssize_t got;
	int i;

	for_each_cq(ctx, cq) if (has_work(cq, channel))
		share_event_dispatch(&cq->path);
	for (i = 0; i < MAX_RAW; i++) {
		got = read(channel, &desc, sizeof(desc));
		if (got != sizeof(desc))
			break;
		dispatch(ctx, desc.cq_handle);
	}
	/* the device is gone: it would be ready for ever */
	if (i < MAX_RAW && got < 0 && errno != EAGAIN && errno != EINTR)
		share_waiter_del(&ctx->events.completion, channel);
}

/* Whatever there is for anybody; 0 if nothing was ready. */
static int handle_ready(struct ibv_share_context *ctx)
{
	struct share_ready ready;
	struct share_cq *cq;
	int i;

	if (!share_waiter_ready(&ctx->events.completion, &ctx->events.async,
				ctx->event_fd, &ready))
		return 0;
	for (i = 0; i < ready.num; i++)
		read_channel(ctx, ready.fds[i]);
	if (ready.woken) {
		/* perhaps somebody has died: its mail may be ours now */
		share_recover(&ctx->control);
		for_each_cq(ctx, cq)
			share_event_recheck(&cq->path);
	}
	return 1;
}

/* One event for the caller; what else there is keeps the descriptor readable. */
static struct share_cq *take(struct ibv_share_context *ctx)
{
	struct share_cq *cq, *found = NULL;

	for_each_cq(ctx, cq)
	{
		if (!found && share_event_take(&cq->path))
			found = cq;
		else if (found && share_event_is_pending(&cq->path))
			break;
	}
	if (cq)
		share_waiter_more(&ctx->events.completion);
	return found;
}

static struct share_cq *next_event(struct ibv_share_context *ctx)
{
	struct share_cq *cq;
	int ready;

	pthread_mutex_lock(&ctx->lock);
	ready = handle_ready(ctx);
	cq = take(ctx);
	if (ready)
		share_count_wakeup(ctx, !cq);
	if (cq) {
		pthread_mutex_lock(&cq->ibv.mutex);
		cq->comp_events++;
		pthread_mutex_unlock(&cq->ibv.mutex);
	}
	pthread_mutex_unlock(&ctx->lock);
	return cq;
}

int ibv_share_get_cq_event(struct ibv_share_context *ctx, struct ibv_cq **cq,
			   void **cq_context, int timeout_ms)
{
	const int64_t deadline = share_deadline(timeout_ms);
	struct share_cq *found;
	int ret = share_context_check(ctx);

	while (!ret) {
		found = next_event(ctx);
		if (found) {
			*cq = &found->ibv;
			*cq_context = found->ibv.cq_context;
			return 0;
		}
		if (!timeout_ms)
			return EAGAIN;
		ret = share_waiter_sleep(&ctx->events.completion, deadline);
	}
	return ret;
}

void ibv_share_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_mutex_unlock(&cq->mutex);
}

int share_cq_acked(struct share_cq *cq)
{
	int acked;

	pthread_mutex_lock(&cq->ibv.mutex);
	acked = cq->ibv.comp_events_completed >= cq->comp_events &&
		cq->ibv.async_events_completed >= cq->async_events;
	pthread_mutex_unlock(&cq->ibv.mutex);
	if (acked)
		return 0;
	return share_error(EBUSY, "events of this CQ are not acknowledged:"
				  " ibv_share_ack_cq_events(),"
				  " ibv_share_ack_async_event()");
}

int ibv_share_get_fd(const struct ibv_share_context *ctx)
{
	return ctx->events.completion.epoll;
}

int ibv_share_query_events(struct ibv_share_context *ctx, uint32_t slot,
			   struct ibv_share_event_attr *attr)
{
	const struct share_slot *shared;
	int ret = share_context_check(ctx);

	if (ret)
		return ret;
	if (slot >= SHARE_MAX_SLOTS)
		return share_error(EINVAL, "there are %u slots",
				   SHARE_MAX_SLOTS);
	shared = share_control_slot(&ctx->control, slot);
	attr->signals = share_load(&shared->signals);
	attr->wakeups = share_load(&shared->wakeups);
	attr->superfluous = share_load(&shared->superfluous);
	attr->reserved = 0;
	return 0;
}

int share_op_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct share_cq *cq = share_container_of(ibv, struct share_cq, ibv);
	int ret = share_context_check(cq->obj.ctx);

	if (ret)
		return ret;
	ret = share_event_arm(&cq->path, solicited_only);
	return ret ? share_error_ioctl(ret, "ibv_req_notify_cq()") : 0;
}

/* A channel serves several CQs; the last one takes it away. */
void share_cq_channel_use(struct share_cq *cq, int change)
{
	struct ibv_comp_channel *channel = cq->ibv.channel;
	struct ibv_share_context *ctx = cq->obj.ctx;
	int users;

	if (!channel)
		return;
	pthread_mutex_lock(&channel->context->mutex);
	users = channel->refcnt += change;
	pthread_mutex_unlock(&channel->context->mutex);
	/* the descriptor may stay open in others: then closing is not enough */
	if (!users && !ctx->forked)
		share_waiter_del(&ctx->events.completion, channel->fd);
}
