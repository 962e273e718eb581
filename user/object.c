// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What all kinds of objects have in common: share, import, grant and name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "bundle.h"
#include "error.h"
#include "share_priv.h"

void share_object_init(struct share_object *obj, struct ibv_share_context *ctx,
		       uint32_t kind)
{
	memset(obj, 0, sizeof(*obj));
	obj->ctx = ctx;
	obj->kind = kind;
	obj->share = SHARE_NO_HANDLE;
	obj->import = SHARE_NO_HANDLE;
	obj->grant = -1;
}

int share_object_import(struct share_object *obj, int event_fd,
			struct ib_uverbs_share_info *info)
{
	int ret = share_import(&obj->ctx->file, obj->grant, event_fd,
			       &obj->import, info);

	if (ret)
		return share_error_ioctl(ret, "importing a grant");
	if (info->kind != obj->kind) {
		share_release(&obj->ctx->file, obj->import);
		obj->import = SHARE_NO_HANDLE;
		return share_error(EBADMSG, "a grant is not what the sender"
					    " said that it is");
	}
	obj->rights = info->rights;
	return 0;
}

int share_object_export(struct share_object *obj,
			const struct share_export *what, int event_fd,
			struct ib_uverbs_share_info *info)
{
	int ret = share_export(&obj->ctx->file, what, &obj->share, &obj->grant);

	if (ret)
		return share_error_ioctl(ret, "exporting an object");
	return share_object_import(obj, event_fd, info);
}

void share_object_drop(struct share_object *obj)
{
	int saved = errno;

	/* a forked child has the file of its parent: what it has not made */
	if (obj->ctx->forked) {
		obj->share = SHARE_NO_HANDLE;
		obj->import = SHARE_NO_HANDLE;
	}
	/*
	 * The share first: from then on nobody can begin anything new. A
	 * provider that refuses (a bound memory window) has it dead all the
	 * same and is asked again when the file is closed.
	 */
	if (obj->share != SHARE_NO_HANDLE)
		share_revoke(&obj->ctx->file, obj->share);
	if (obj->import != SHARE_NO_HANDLE)
		share_release(&obj->ctx->file, obj->import);
	if (obj->grant >= 0)
		close(obj->grant);
	obj->share = SHARE_NO_HANDLE;
	obj->import = SHARE_NO_HANDLE;
	obj->grant = -1;
	errno = saved;
}

static struct share_object *find(struct ibv_share_context *ctx, uint32_t kind,
				 const char *name)
{
	struct share_object *obj;

	for (obj = ctx->objects; obj; obj = obj->next)
		if (obj->kind == kind && obj->name[0] &&
		    (!name || !strcmp(obj->name, name)))
			return obj;
	return NULL;
}

static void name_by_default(struct share_object *obj)
{
	static const char *const prefix[] = {
		[IB_UVERBS_SHARE_PD] = "pd",
		[IB_UVERBS_SHARE_CQ] = "cq",
		[IB_UVERBS_SHARE_QP] = "qp",
		[IB_UVERBS_SHARE_SRQ] = "srq",
		[IB_UVERBS_SHARE_MR] = "mr",
	};
	struct ibv_share_context *ctx = obj->ctx;
	char name[IBV_SHARE_NAME_MAX];

	/* somebody may have given the name to another one */
	do
		snprintf(name, sizeof(name), "%s%u", prefix[obj->kind],
			 ctx->counters[obj->kind]++);
	while (find(ctx, obj->kind, name));
	/* zero to the end: it is sent as it is */
	memset(obj->name, 0, sizeof(obj->name));
	strcpy(obj->name, name);
}

void share_object_publish(struct share_object *obj)
{
	struct ibv_share_context *ctx = obj->ctx;
	struct share_object **end;

	pthread_mutex_lock(&ctx->lock);
	if (!obj->name[0] && obj->grant >= 0)
		name_by_default(obj);
	for (end = &ctx->objects; *end; end = &(*end)->next)
		;
	obj->next = NULL;
	*end = obj;
	pthread_mutex_unlock(&ctx->lock);
}

void share_object_unpublish(struct share_object *obj)
{
	struct ibv_share_context *ctx = obj->ctx;
	struct share_object **p;

	pthread_mutex_lock(&ctx->lock);
	for (p = &ctx->objects; *p && *p != obj; p = &(*p)->next)
		;
	if (*p)
		*p = obj->next;
	pthread_mutex_unlock(&ctx->lock);
}

int share_object_unused(struct share_object *obj)
{
	uint32_t users;

	pthread_mutex_lock(&obj->ctx->lock);
	users = obj->users;
	pthread_mutex_unlock(&obj->ctx->lock);
	if (!users)
		return 0;
	return share_error(EBUSY, "%u objects of this process still use %s:"
				  " destroy them before",
			   users, obj->name);
}

void share_object_use(struct share_object *obj, int change)
{
	pthread_mutex_lock(&obj->ctx->lock);
	obj->users = (uint32_t)((int)obj->users + change);
	pthread_mutex_unlock(&obj->ctx->lock);
}

int share_object_rename(struct share_object *obj, const char *name)
{
	struct ibv_share_context *ctx = obj->ctx;
	struct share_object *other;
	int ret = 0;

	if (!name || !share_bundle_name_ok(name))
		return share_error(EINVAL, "a name has 1 to %d printable"
					   " characters and no blanks",
				   IBV_SHARE_NAME_MAX - 1);
	pthread_mutex_lock(&ctx->lock);
	other = find(ctx, obj->kind, name);
	if (other && other != obj) {
		ret = share_error(EEXIST, "another object is called %s", name);
	} else {
		memset(obj->name, 0, sizeof(obj->name));
		strcpy(obj->name, name);
	}
	pthread_mutex_unlock(&ctx->lock);
	return ret;
}

struct share_object *share_object_find(struct ibv_share_context *ctx,
				       uint32_t kind, const char *name)
{
	struct share_object *obj;

	pthread_mutex_lock(&ctx->lock);
	obj = find(ctx, kind, name);
	pthread_mutex_unlock(&ctx->lock);
	if (!obj)
		share_error(ENOENT, "the bundle has no object of this kind%s%s",
			    name ? " that is called " : "", name ? name : "");
	return obj;
}
