// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The shared context: an uverbs file of our own, a place among the processes
 * that share (the slot), and the control segment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "error.h"
#include "share_priv.h"

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_share_context *all_contexts;

int share_context_check(const struct ibv_share_context *ctx)
{
	if (!ctx->forked)
		return 0;
	return share_error(EOWNERDEAD, "this process was forked off after the"
				       " shared context was made: it has to"
				       " receive a bundle of its own");
}

int share_maker_check(const struct ibv_share_context *ctx)
{
	int ret = share_context_check(ctx);

	if (ret || ctx->is_maker)
		return ret;
	return share_error(EOPNOTSUPP, "only the process that made the shared"
				       " context can do that");
}

/* Nobody may have the list half changed at the moment of the fork. */
static void before_fork(void)
{
	pthread_mutex_lock(&all_lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&all_lock);
}

/*
 * The slot is the parent's. What the child would do in its name could not be
 * told from what the parent does, so the child may do nothing.
 */
static void after_fork_in_child(void)
{
	struct ibv_share_context *ctx;

	for (ctx = all_contexts; ctx; ctx = ctx->next) {
		ctx->forked = 1;
		/* another thread of the parent may have held it */
		pthread_mutex_init(&ctx->lock, NULL);
	}
	pthread_mutex_unlock(&all_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void list_add(struct ibv_share_context *ctx)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&all_lock);
	ctx->next = all_contexts;
	all_contexts = ctx;
	pthread_mutex_unlock(&all_lock);
}

static void list_del(struct ibv_share_context *ctx)
{
	struct ibv_share_context **p;

	pthread_mutex_lock(&all_lock);
	for (p = &all_contexts; *p && *p != ctx; p = &(*p)->next)
		;
	if (*p)
		*p = ctx->next;
	pthread_mutex_unlock(&all_lock);
}

static struct ibv_share_context *context_new(struct ibv_context *real)
{
	struct ibv_share_context *ctx = calloc(1, sizeof(*ctx));
	int ret;

	if (!ctx) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	share_object_init(&ctx->obj, ctx, IB_UVERBS_SHARE_CONTEXT);
	memset(ctx->qp_imports, 0xff, sizeof(ctx->qp_imports));
	memset(ctx->cq_imports, 0xff, sizeof(ctx->cq_imports));
	ctx->real = real;
	ctx->control_fd = -1;
	ctx->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ctx->event_fd < 0) {
		share_error_ioctl(errno, "making an eventfd");
		goto err_free;
	}
	ret = share_waiting_init(&ctx->events, ctx->event_fd);
	if (ret) {
		share_error_ioctl(ret, "making descriptors to sleep on");
		goto err_close;
	}
	ctx->fake = share_fake_new(ctx);
	if (!ctx->fake)
		goto err_close;
	pthread_mutex_init(&ctx->lock, NULL);
	return ctx;
err_close:
	share_waiting_free(&ctx->events);
	close(ctx->event_fd);
err_free:
	free(ctx);
	return NULL;
}

static void channels_free(struct ibv_share_context *ctx)
{
	struct share_channel *channel;

	while ((channel = ctx->channels)) {
		ctx->channels = channel->next;
		close(channel->ibv.fd);
		free(channel);
	}
}

/* The file descriptors of a bundle stay its own until it is imported whole. */
static void context_free(struct ibv_share_context *ctx)
{
	struct ibv_context *real = ctx->real;
	int saved = errno;

	if (ctx->control.base)
		share_control_detach(&ctx->control);
	share_object_drop(&ctx->obj);
	channels_free(ctx);
	share_users_free(ctx);
	if (ctx->control_fd >= 0)
		close(ctx->control_fd);
	/* the maker's is libibverbs's */
	if (!ctx->is_maker && ctx->events.async_fd >= 0)
		close(ctx->events.async_fd);
	share_waiting_free(&ctx->events);
	close(ctx->event_fd);
	pthread_mutex_destroy(&ctx->lock);
	share_fake_free(ctx->fake);
	free(ctx);
	ibv_close_device(real);
	errno = saved;
}

/* For the data path, also under its locks. */
static int slot_alive(void *arg, uint32_t slot, uint32_t generation)
{
	struct ibv_share_context *ctx = arg;
	struct ib_uverbs_share_slot answer;

	/*
	 * Who cannot ask waits until it times out: to take the lock of a
	 * process that lives is worse.
	 */
	if (share_query_slot(&ctx->file, ctx->obj.import, slot, &answer))
		return 1;
	return answer.state == IB_UVERBS_SHARE_SLOT_LIVE &&
	       !((answer.generation ^ generation) & SHARE_LOCK_GENERATION_MASK);
}

static int kick(void *arg, uint32_t qp_index, uint32_t flags)
{
	struct ibv_share_context *ctx = arg;
	uint32_t handle;

	if (qp_index >= SHARE_MAX_QPS)
		return ENOENT;
	handle = __atomic_load_n(&ctx->qp_imports[qp_index], __ATOMIC_RELAXED);
	if (handle == SHARE_NO_HANDLE)
		return ENOENT;
	return share_kick(&ctx->file, handle, flags);
}

static int wake(void *arg, uint32_t slot)
{
	struct ibv_share_context *ctx = arg;

	return share_wake_slot(&ctx->file, ctx->obj.import, slot);
}

static int arm(void *arg, uint32_t cq_index, int solicited)
{
	struct ibv_share_context *ctx = arg;
	uint32_t handle;

	if (cq_index >= SHARE_MAX_CQS)
		return ENOENT;
	handle = __atomic_load_n(&ctx->cq_imports[cq_index], __ATOMIC_RELAXED);
	if (handle == SHARE_NO_HANDLE)
		return ENOENT;
	return share_arm(&ctx->file, handle, solicited);
}

/* The slot is known: become a user of the control segment. */
static int join(struct ibv_share_context *ctx,
		const struct ib_uverbs_share_info *info)
{
	const struct share_env env = {
		.slot_alive = slot_alive,
		.kick = kick,
		.wake = wake,
		.arm = arm,
		.arg = ctx,
	};
	uint32_t me;
	int ret;

	ctx->slot = info->slot;
	ctx->generation = info->generation;
	ret = share_control_attach(&ctx->control, ctx->control_fd, ctx->slot,
				   ctx->generation, &env);
	if (ret)
		return share_error_control(ret, "joining a shared context");
	me = share_owner_word(ctx->slot, ctx->generation);
	if (ctx->is_maker)
		share_control_set_heirs(&ctx->control, &me, 1);
	ret = share_control_slot_reset(&ctx->control);
	if (ret)
		return share_error_control(ret, "taking a slot");
	list_add(ctx);
	return 0;
}

/* A second uverbs file beside the application's. */
static struct ibv_share_context *context_open(struct ibv_context *context)
{
	struct ib_uverbs_share_caps caps;
	struct ibv_share_context *ctx;
	struct share_file file;
	struct ibv_context *real;

	if (share_file_probe(&file, context->cmd_fd, &caps))
		return NULL;
	real = ibv_open_device(context->device);
	if (!real) {
		share_error_ioctl(errno, "opening the device once more");
		return NULL;
	}
	ctx = context_new(real);
	if (!ctx) {
		ibv_close_device(real);
		return NULL;
	}
	ctx->file.fd = real->cmd_fd;
	ctx->file.driver_id = file.driver_id;
	if (caps.features & IB_UVERBS_SHARE_F_RINGS)
		ctx->provider = share_provider_find(file.driver_id);
	return ctx;
}

struct ibv_share_context *ibv_share_open(struct ibv_context *context,
					 const struct ibv_share_open_attr *attr)
{
	const struct share_export what = { .object = SHARE_NO_HANDLE,
					   .mem_fd = -1 };
	struct ib_uverbs_share_info info;
	struct ibv_share_context *ctx;
	int ret;

	if (attr && (attr->comp_mask || attr->reserved)) {
		share_error(EINVAL, "a parameter that this library does not"
				    " know");
		return NULL;
	}
	ctx = context_open(context);
	if (!ctx)
		return NULL;
	ctx->is_maker = 1;
	ret = share_control_create(attr ? attr->control_bytes : 0,
				   &ctx->control_fd);
	if (ret) {
		share_error_ioctl(ret, "making the control segment");
		goto err;
	}
	if (share_object_export(&ctx->obj, &what, ctx->event_fd, &info) ||
	    share_async_watch(ctx, ctx->real->async_fd) || join(ctx, &info))
		goto err;
	return ctx;
err:
	context_free(ctx);
	return NULL;
}

struct ibv_share_context *share_context_receive(struct ibv_context *context,
						int grant, int control_fd,
						int async_fd)
{
	struct ibv_share_context *ctx = context_open(context);
	struct ib_uverbs_share_info info;

	if (!ctx)
		return NULL;
	ctx->obj.grant = grant;
	ctx->control_fd = control_fd;
	if (!share_object_import(&ctx->obj, ctx->event_fd, &info) &&
	    !share_async_watch(ctx, async_fd) && !join(ctx, &info))
		return ctx;
	ctx->events.async_fd = -1;
	ctx->obj.grant = -1;
	ctx->control_fd = -1;
	context_free(ctx);
	return NULL;
}

static void free_all(struct ibv_share_context *ctx, uint32_t kind,
		     void (*free_one)(struct share_object *obj))
{
	struct share_object *obj, *next;

	for (obj = ctx->objects; obj; obj = next) {
		next = obj->next;
		if (obj->kind == kind)
			free_one(obj);
	}
}

void share_context_close(struct ibv_share_context *ctx)
{
	int saved = errno;

	list_del(ctx);
	free_all(ctx, IB_UVERBS_SHARE_QP, share_qp_free);
	free_all(ctx, IB_UVERBS_SHARE_SRQ, share_srq_free);
	free_all(ctx, IB_UVERBS_SHARE_CQ, share_cq_free);
	free_all(ctx, IB_UVERBS_SHARE_MR, share_mr_free);
	free_all(ctx, IB_UVERBS_SHARE_PD, share_pd_free);
	errno = saved;
	context_free(ctx);
}

int ibv_share_close(struct ibv_share_context *ctx)
{
	/* a forked child frees memory; the objects are its parent's */
	if (ctx->is_maker && !ctx->forked && ctx->objects)
		return share_error(EBUSY, "the shared context has objects yet:"
					  " destroy them before");
	share_context_close(ctx);
	return 0;
}
