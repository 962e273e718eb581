// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Asynchronous events as applications see them.
 */
#include <errno.h>
#include <fcntl.h>
#include "async.h"
#include "error.h"
#include "share_priv.h"

int share_async_watch(struct ibv_share_context *ctx, int fd)
{
	int ret;

	/* all processes have it: whoever reads must not wait for others */
	if (ctx->is_maker && fcntl(fd, F_SETFL, O_NONBLOCK))
		return share_error_ioctl(errno, "reading asynchronous events");
	ret = share_waiter_add(&ctx->events.async, fd);
	if (ret)
		return share_error_ioctl(ret, "watching asynchronous events");
	ctx->events.async_fd = fd;
	return 0;
}

static uint32_t *device_word(struct ibv_share_context *ctx)
{
	return &share_control_header(&ctx->control)->device_events[ctx->slot];
}

/*
 * Types and ports are gathered apart from each other: with several ports an
 * event may be reported for one that it is not from.
 */
static int take_device(struct ibv_share_context *ctx,
		       struct ibv_async_event *event)
{
	struct share_waiting *w = &ctx->events;
	uint32_t word;

	if (!w->types) {
		word = __atomic_exchange_n(device_word(ctx), 0,
					   __ATOMIC_ACQUIRE);
		w->types = word & ((1u << SHARE_EVENT_PORT_SHIFT) - 1);
		w->ports = word >> SHARE_EVENT_PORT_SHIFT;
		w->ports_left = w->ports;
	}
	if (!w->types)
		return 0;
	event->event_type = (enum ibv_event_type)__builtin_ctz(w->types);
	event->element.port_num = 0;
	if (w->ports_left) {
		event->element.port_num = __builtin_ctz(w->ports_left) + 1;
		w->ports_left &= w->ports_left - 1;
	}
	if (!w->ports_left) {
		w->types &= w->types - 1;
		w->ports_left = w->ports;
	}
	return 1;
}

static int take_cq(struct share_object *obj, struct ibv_async_event *event)
{
	struct share_cq *cq = share_container_of(obj, struct share_cq, obj);
	int type = share_async_take(
		&cq->path.view.body->mailboxes[obj->ctx->slot].async);

	if (type < 0)
		return 0;
	event->event_type = (enum ibv_event_type)type;
	event->element.cq = &cq->ibv;
	pthread_mutex_lock(&cq->ibv.mutex);
	cq->async_events++;
	pthread_mutex_unlock(&cq->ibv.mutex);
	return 1;
}

static int take_qp(struct share_object *obj, struct ibv_async_event *event)
{
	struct share_qp *qp = share_container_of(obj, struct share_qp, obj);
	int type = share_async_take(
		&qp->path.view.body->events[obj->ctx->slot]);

	if (type < 0)
		return 0;
	event->event_type = (enum ibv_event_type)type;
	event->element.qp = &qp->ibv;
	pthread_mutex_lock(&qp->ibv.mutex);
	qp->async_events++;
	pthread_mutex_unlock(&qp->ibv.mutex);
	return 1;
}

static int take_srq(struct share_object *obj, struct ibv_async_event *event)
{
	struct share_srq *srq = share_container_of(obj, struct share_srq, obj);
	int type = share_async_take(
		&srq->path.view.body->events[obj->ctx->slot]);

	if (type < 0)
		return 0;
	event->event_type = (enum ibv_event_type)type;
	event->element.srq = &srq->ibv;
	pthread_mutex_lock(&srq->ibv.mutex);
	srq->async_events++;
	pthread_mutex_unlock(&srq->ibv.mutex);
	return 1;
}

static int take(struct ibv_share_context *ctx, struct ibv_async_event *event)
{
	struct share_object *obj;

	for (obj = ctx->objects; obj; obj = obj->next) {
		if (obj->kind == IB_UVERBS_SHARE_CQ && take_cq(obj, event))
			return 1;
		if (obj->kind == IB_UVERBS_SHARE_QP && take_qp(obj, event))
			return 1;
		if (obj->kind == IB_UVERBS_SHARE_SRQ && take_srq(obj, event))
			return 1;
	}
	return take_device(ctx, event);
}

/*
 * 1 and an event, or 0. The descriptor stays readable until the answer was 0
 * once: there may be more.
 */
static int next_event(struct ibv_share_context *ctx,
		      struct ibv_async_event *event)
{
	struct share_waiting *w = &ctx->events;
	struct share_ready ready;
	int found;

	pthread_mutex_lock(&ctx->lock);
	share_waiter_ready(&w->async, &w->completion, ctx->event_fd, &ready);
	if ((ready.num || share_async_landed(&ctx->control)) &&
	    w->async_fd >= 0 &&
	    share_async_pump(&ctx->control, w->async_fd) == EIO)
		share_waiter_del(&w->async, w->async_fd);
	found = take(ctx, event);
	if (found)
		share_waiter_more(&w->async);
	pthread_mutex_unlock(&ctx->lock);
	return found;
}

int ibv_share_get_async_event(struct ibv_share_context *ctx,
			      struct ibv_async_event *event, int timeout_ms)
{
	const int64_t deadline = share_deadline(timeout_ms);
	int ret = share_context_check(ctx);

	while (!ret) {
		if (next_event(ctx, event))
			return 0;
		if (!timeout_ms)
			return EAGAIN;
		ret = share_waiter_sleep(&ctx->events.async, deadline);
	}
	return ret;
}

int ibv_share_get_async_fd(const struct ibv_share_context *ctx)
{
	return ctx->events.async.epoll;
}

static void ack(pthread_mutex_t *mutex, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	++*completed;
	pthread_mutex_unlock(mutex);
}

void ibv_share_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		ack(&cq->mutex, &cq->async_events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		ack(&srq->mutex, &srq->events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		ack(&qp->mutex, &qp->events_completed);
		break;
	default:
		break;
	}
}

int share_qp_acked(struct share_qp *qp)
{
	int acked;

	pthread_mutex_lock(&qp->ibv.mutex);
	acked = qp->ibv.events_completed >= qp->async_events;
	pthread_mutex_unlock(&qp->ibv.mutex);
	if (acked)
		return 0;
	return share_error(EBUSY, "events of this QP are not acknowledged:"
				  " ibv_share_ack_async_event()");
}

int share_srq_acked(struct share_srq *srq)
{
	int acked;

	pthread_mutex_lock(&srq->ibv.mutex);
	acked = srq->ibv.events_completed >= srq->async_events;
	pthread_mutex_unlock(&srq->ibv.mutex);
	if (acked)
		return 0;
	return share_error(EBUSY, "events of this SRQ are not acknowledged:"
				  " ibv_share_ack_async_event()");
}
