// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Objects of the application's own, which travel with the bundle.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bundle.h"
#include "error.h"
#include "share_priv.h"

static struct share_user **find(struct ibv_share_context *ctx, const char *name)
{
	struct share_user **p;

	for (p = &ctx->users; *p; p = &(*p)->next)
		if (!strcmp((*p)->name, name))
			break;
	return p;
}

static void user_free(struct share_user *user)
{
	if (user->fd >= 0)
		close(user->fd);
	free(user);
}

void share_users_free(struct ibv_share_context *ctx)
{
	struct share_user *user;

	while ((user = ctx->users)) {
		ctx->users = user->next;
		user_free(user);
	}
}

static struct share_user *user_new(const char *name, const void *data,
				   uint32_t length, int fd)
{
	struct share_user *user = calloc(1, sizeof(*user) + length);

	if (!user) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	strcpy(user->name, name);
	user->fd = fd;
	user->length = length;
	if (length)
		memcpy(user->data, data, length);
	return user;
}

/* Of all but the one of that name, which will be replaced. */
static size_t bytes_but(const struct ibv_share_context *ctx, const char *name)
{
	const struct share_user *user;
	size_t bytes = 0;

	for (user = ctx->users; user; user = user->next)
		if (strcmp(user->name, name))
			bytes += user->length;
	return bytes;
}

static int remove_locked(struct ibv_share_context *ctx, const char *name)
{
	struct share_user **p = find(ctx, name), *user = *p;

	if (!user)
		return ENOENT;
	*p = user->next;
	user_free(user);
	return 0;
}

static int add_locked(struct ibv_share_context *ctx, const char *name,
		      const void *data, uint32_t length, int fd)
{
	struct share_user *user;

	if (bytes_but(ctx, name) + length > SHARE_BUNDLE_MAX_DATA)
		return share_error(EMSGSIZE,
				   "user objects have at most %d bytes together",
				   SHARE_BUNDLE_MAX_DATA);
	user = user_new(name, data, length, fd);
	if (!user)
		return ENOMEM;
	remove_locked(ctx, name);
	user->next = ctx->users;
	ctx->users = user;
	return 0;
}

int share_user_add(struct ibv_share_context *ctx, const char *name,
		   const void *data, uint32_t length, int fd)
{
	int ret;

	pthread_mutex_lock(&ctx->lock);
	ret = add_locked(ctx, name, data, length, fd);
	pthread_mutex_unlock(&ctx->lock);
	return ret;
}

static int no_such(const char *name)
{
	return share_error(ENOENT, "no user object is called %s", name);
}

static int remove_user(struct ibv_share_context *ctx, const char *name)
{
	int ret;

	pthread_mutex_lock(&ctx->lock);
	ret = remove_locked(ctx, name);
	pthread_mutex_unlock(&ctx->lock);
	return ret ? no_such(name) : 0;
}

int ibv_share_put_user(struct ibv_share_context *ctx, const char *name,
		       const void *data, size_t length, int fd)
{
	int own = -1, ret;

	ret = share_context_check(ctx);
	if (ret)
		return ret;
	if (!name || !share_bundle_name_ok(name))
		return share_error(EINVAL, "a name has 1 to %d printable"
					   " characters and no blanks",
				   IBV_SHARE_NAME_MAX - 1);
	if (!data && length)
		return share_error(EINVAL, "a length without data");
	if (length > SHARE_BUNDLE_MAX_DATA)
		return share_error(EMSGSIZE, "a user object has at most %d bytes",
				   SHARE_BUNDLE_MAX_DATA);
	if (!data && fd == -1)
		return remove_user(ctx, name);
	if (fd != -1) {
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (own < 0)
			return share_error_ioctl(errno, "adding a user object");
	}
	ret = share_user_add(ctx, name, data, (uint32_t)length, own);
	if (ret && own >= 0)
		close(own);
	return ret;
}

static int copy_user(const struct share_user *user, void *data, size_t *length,
		     int *fd)
{
	size_t room = length ? *length : 0;

	if (fd)
		*fd = user->fd;
	if (length)
		*length = user->length;
	if (!data)
		return 0;
	if (room < user->length)
		return share_error(ENOBUFS, "the user object %s has %u bytes",
				   user->name, user->length);
	memcpy(data, user->data, user->length);
	return 0;
}

int ibv_share_get_user(struct ibv_share_context *ctx, const char *name,
		       void *data, size_t *length, int *fd)
{
	const struct share_user *user;
	int ret;

	if (!name)
		return share_error(EINVAL, "a user object is looked up by name");
	pthread_mutex_lock(&ctx->lock);
	user = *find(ctx, name);
	ret = user ? copy_user(user, data, length, fd) : no_such(name);
	pthread_mutex_unlock(&ctx->lock);
	return ret;
}
