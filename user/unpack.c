// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * From a bundle to a shared context. Everything in it was written by another
 * process: share_bundle_parse() has checked the references, the kernel says
 * what a grant stands for, the control segment is checked when it is attached.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bundle.h"
#include "error.h"
#include "share_priv.h"

/*
 * struct unpacking - a bundle that is being imported
 * @ctx: the new context
 * @bundle: its description
 * @fds: of the bundle; -1 when an object has taken it
 * @objects: made so far, by position
 */
struct unpacking {
	struct ibv_share_context *ctx;
	const struct share_bundle *bundle;
	int fds[IBV_SHARE_MAX_FDS];
	struct share_object *objects[SHARE_BUNDLE_MAX_OBJECTS];
};

static void took(struct unpacking *u, uint32_t place)
{
	if (place != SHARE_BUNDLE_NONE)
		u->fds[place] = -1;
}

static struct share_object *receive(struct unpacking *u, uint32_t self)
{
	const struct share_bundle_object *o = &u->bundle->objects[self];
	struct ibv_share_context *ctx = u->ctx;
	const int grant = u->fds[o->grant];
	struct ibv_comp_channel *channel = NULL;
	struct share_object *obj;
	int mem_fd;

	switch (o->kind) {
	case IB_UVERBS_SHARE_PD:
		return share_pd_receive(ctx, grant);
	case IB_UVERBS_SHARE_CQ:
		if (o->extra != SHARE_BUNDLE_NONE) {
			/* several CQs may have the same one */
			channel = share_channel_receive(ctx, u->fds[o->extra],
							o->extra);
			if (!channel)
				return NULL;
			took(u, o->extra);
		}
		return share_cq_receive(ctx, grant, o, channel);
	case IB_UVERBS_SHARE_QP:
		return share_qp_receive(grant, o, u->objects[o->pd],
					u->objects[o->send_cq],
					u->objects[o->recv_cq],
					o->srq ? u->objects[o->srq - 1] : NULL);
	case IB_UVERBS_SHARE_SRQ:
		return share_srq_receive(grant, o, u->objects[o->pd],
					 u->objects[o->recv_cq]);
	default:
		mem_fd = o->extra == SHARE_BUNDLE_NONE ? -1 : u->fds[o->extra];
		obj = share_mr_receive(grant, u->objects[o->pd], mem_fd,
				       o->offset);
		if (obj)
			took(u, o->extra);
		return obj;
	}
}

static int receive_user(struct unpacking *u,
			const struct share_bundle_object *o)
{
	int fd = o->grant == SHARE_BUNDLE_NONE ? -1 : u->fds[o->grant];
	int ret = share_user_add(u->ctx, o->name, u->bundle->data + o->offset,
				 o->length, fd);

	if (!ret)
		took(u, o->grant);
	return ret;
}

static int receive_all(struct unpacking *u)
{
	const struct share_bundle_object *o;
	struct share_object *obj;
	uint32_t i;
	int ret;

	for (i = 0; i < u->bundle->num_objects; i++) {
		o = &u->bundle->objects[i];
		if (o->kind == SHARE_BUNDLE_USER) {
			ret = receive_user(u, o);
			if (ret)
				return ret;
			continue;
		}
		obj = receive(u, i);
		if (!obj)
			return errno;
		took(u, o->grant);
		u->objects[i] = obj;
		memcpy(obj->name, o->name, sizeof(obj->name));
		share_object_publish(obj);
	}
	return 0;
}

static struct ibv_share_context *import(struct ibv_context *context,
					const struct share_bundle *bundle,
					struct unpacking *u)
{
	u->bundle = bundle;
	u->ctx = share_context_receive(context,
				       u->fds[SHARE_BUNDLE_FD_CONTEXT],
				       u->fds[SHARE_BUNDLE_FD_CONTROL],
				       u->fds[SHARE_BUNDLE_FD_ASYNC]);
	if (!u->ctx)
		return NULL;
	took(u, SHARE_BUNDLE_FD_CONTEXT);
	took(u, SHARE_BUNDLE_FD_CONTROL);
	took(u, SHARE_BUNDLE_FD_ASYNC);
	if (receive_all(u)) {
		share_context_close(u->ctx);
		return NULL;
	}
	return u->ctx;
}

struct ibv_share_context *ibv_share_unpack(struct ibv_context *context,
					   const void *buf, size_t length,
					   const int *fds, unsigned int num_fds)
{
	struct share_bundle *bundle = malloc(sizeof(*bundle));
	struct unpacking *u = calloc(1, sizeof(*u));
	struct ibv_share_context *ctx = NULL;
	unsigned int i;
	int saved;

	if (!bundle || !u) {
		share_error(ENOMEM, "out of memory");
		share_close_fds(fds, num_fds);
	} else if (share_bundle_parse(bundle, buf, length, num_fds)) {
		share_close_fds(fds, num_fds);
	} else {
		memcpy(u->fds, fds, num_fds * sizeof(fds[0]));
		ctx = import(context, bundle, u);
		for (i = 0; i < num_fds; i++)
			if (u->fds[i] >= 0)
				share_close_fds(&u->fds[i], 1);
	}
	saved = errno;
	free(bundle);
	free(u);
	errno = saved;
	return ctx;
}

struct ibv_share_context *ibv_share_recv(struct ibv_context *context,
					 int socket)
{
	struct ibv_share_context *ctx = NULL;
	int fds[IBV_SHARE_MAX_FDS], saved;
	unsigned int num_fds;
	size_t length;
	void *buf = malloc(IBV_SHARE_MAX_BYTES);

	if (!buf) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	if (!share_bundle_recv(socket, buf, &length, fds, &num_fds))
		ctx = ibv_share_unpack(context, buf, length, fds, num_fds);
	saved = errno;
	free(buf);
	errno = saved;
	return ctx;
}
