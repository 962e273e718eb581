// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * From a shared context to a bundle.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bundle.h"
#include "error.h"
#include "share_priv.h"

/*
 * struct packing - a bundle in the making
 * @ctx: whose, locked
 * @rights: that the receiver gets at most
 * @bundle: the description
 * @fds: duplicates, all owned by the bundle
 */
struct packing {
	struct ibv_share_context *ctx;
	uint32_t rights;
	struct share_bundle *bundle;
	int *fds;
};

/* Appends @fd, which becomes the bundle's. */
static int add_fd(struct packing *p, int fd, uint32_t *place)
{
	if (fd < 0)
		return share_error_ioctl(errno, "packing a bundle");
	if (p->bundle->num_fds == IBV_SHARE_MAX_FDS) {
		close(fd);
		return share_error(EMSGSIZE,
				   "a bundle carries at most %d file"
				   " descriptors: share fewer objects",
				   IBV_SHARE_MAX_FDS);
	}
	*place = p->bundle->num_fds;
	p->fds[p->bundle->num_fds++] = fd;
	return 0;
}

static int add_grant(struct packing *p, const struct share_object *obj,
		     uint32_t *place)
{
	uint32_t rights = p->rights;
	int fd, ret;

	/* who is alive is not a secret: locks would not survive their holders */
	if (obj->kind == IB_UVERBS_SHARE_CONTEXT)
		rights |= IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_WAKE;
	ret = share_derive(&p->ctx->file, obj->grant, rights & obj->rights,
			   &fd);
	if (ret)
		return share_error_ioctl(ret, "making a grant for the bundle");
	return add_fd(p, fd, place);
}

/* A channel that several CQs have travels once. */
static int add_extra(struct packing *p, struct share_bundle_object *o,
		     const struct share_object *obj, int fd)
{
	struct share_object *other;

	if (fd < 0)
		return 0;
	for (other = p->ctx->objects; other != obj; other = other->next) {
		if (obj->kind != IB_UVERBS_SHARE_CQ ||
		    other->kind != IB_UVERBS_SHARE_CQ ||
		    !share_is_packable(other) || share_cq_channel(other) != fd)
			continue;
		o->extra = p->bundle->objects[other->position].extra;
		return 0;
	}
	return add_fd(p, fcntl(fd, F_DUPFD_CLOEXEC, 0), &o->extra);
}

/* An object that refers to nothing, NULL and a message if there is no room. */
static struct share_bundle_object *new_object(struct packing *p, uint32_t kind,
					      const char *name)
{
	struct share_bundle_object *o;

	if (p->bundle->num_objects == SHARE_BUNDLE_MAX_OBJECTS) {
		share_error(EMSGSIZE, "too many objects for a bundle");
		return NULL;
	}
	o = &p->bundle->objects[p->bundle->num_objects++];
	memset(o, 0, sizeof(*o));
	o->kind = kind;
	o->grant = o->extra = SHARE_BUNDLE_NONE;
	o->pd = o->send_cq = o->recv_cq = SHARE_BUNDLE_NONE;
	memcpy(o->name, name, sizeof(o->name));
	return o;
}

static int add_user(struct packing *p, const struct share_user *user)
{
	struct share_bundle *bundle = p->bundle;
	struct share_bundle_object *o =
		new_object(p, SHARE_BUNDLE_USER, user->name);

	if (!o)
		return EMSGSIZE;
	/* put has seen to it that all of them fit */
	o->offset = bundle->data_bytes;
	o->length = user->length;
	memcpy(bundle->data + bundle->data_bytes, user->data, user->length);
	bundle->data_bytes += user->length;
	if (user->fd < 0)
		return 0;
	return add_fd(p, fcntl(user->fd, F_DUPFD_CLOEXEC, 0), &o->grant);
}

static int add_object(struct packing *p, struct share_object *obj)
{
	struct share_bundle_object *o = new_object(p, obj->kind, obj->name);
	int extra = -1, ret;

	if (!o)
		return EMSGSIZE;
	obj->position = (uint32_t)(o - p->bundle->objects);
	if (obj->kind == IB_UVERBS_SHARE_CQ)
		extra = share_cq_describe(obj, o);
	else if (obj->kind == IB_UVERBS_SHARE_QP)
		share_qp_describe(obj, o);
	else if (obj->kind == IB_UVERBS_SHARE_SRQ)
		share_srq_describe(obj, o);
	else if (obj->kind == IB_UVERBS_SHARE_MR)
		extra = share_mr_describe(obj, o);
	ret = add_grant(p, obj, &o->grant);
	return ret ? ret : add_extra(p, o, obj, extra);
}

static int add_all(struct packing *p)
{
	const struct share_user *user;
	struct share_object *obj;
	uint32_t place;
	int ret;

	ret = add_grant(p, &p->ctx->obj, &place);
	if (!ret)
		ret = add_fd(p, fcntl(p->ctx->control_fd, F_DUPFD_CLOEXEC, 0),
			     &place);
	if (!ret)
		ret = add_fd(p,
			     fcntl(p->ctx->events.async_fd, F_DUPFD_CLOEXEC, 0),
			     &place);
	for (obj = p->ctx->objects; !ret && obj; obj = obj->next)
		if (share_is_packable(obj))
			ret = add_object(p, obj);
	for (user = p->ctx->users; !ret && user; user = user->next)
		ret = add_user(p, user);
	return ret;
}

/* On success @bundle's file descriptors are in @fds. */
static int describe(struct ibv_share_context *ctx, unsigned int rights,
		    struct share_bundle *bundle, int *fds)
{
	struct packing p = { .ctx = ctx,
			     .rights = rights,
			     .bundle = bundle,
			     .fds = fds };
	int ret;

	if (rights & ~(unsigned int)IBV_SHARE_ALL_RIGHTS)
		return share_error(EINVAL, "unknown rights");
	ret = share_context_check(ctx);
	if (ret)
		return ret;
	bundle->num_objects = 0;
	bundle->num_fds = 0;
	bundle->data_bytes = 0;
	pthread_mutex_lock(&ctx->lock);
	ret = add_all(&p);
	pthread_mutex_unlock(&ctx->lock);
	if (ret)
		share_close_fds(fds, bundle->num_fds);
	return ret;
}

int ibv_share_pack(struct ibv_share_context *ctx, unsigned int rights,
		   void *buf, size_t *length, int *fds, unsigned int *num_fds)
{
	struct share_bundle *bundle = calloc(1, sizeof(*bundle));
	size_t need;
	int ret;

	*num_fds = 0;
	if (!bundle)
		return share_error(ENOMEM, "out of memory");
	ret = describe(ctx, rights, bundle, fds);
	if (ret)
		goto out;
	need = share_bundle_bytes(bundle);
	*num_fds = bundle->num_fds;
	if (*length < need) {
		share_close_fds(fds, bundle->num_fds);
		*num_fds = 0;
		ret = share_error(ENOBUFS, "the bundle has %zu bytes", need);
	} else {
		share_bundle_pack(bundle, buf);
	}
	*length = need;
out:
	free(bundle);
	return ret;
}

int ibv_share_send(struct ibv_share_context *ctx, int socket,
		   unsigned int rights)
{
	int fds[IBV_SHARE_MAX_FDS];
	unsigned int num_fds = 0;
	size_t length = IBV_SHARE_MAX_BYTES;
	void *buf = malloc(length);
	int ret;

	if (!buf)
		return share_error(ENOMEM, "out of memory");
	ret = ibv_share_pack(ctx, rights, buf, &length, fds, &num_fds);
	if (!ret) {
		ret = share_bundle_send(socket, buf, length, fds, num_fds);
		share_close_fds(fds, num_fds);
	}
	free(buf);
	return ret;
}
