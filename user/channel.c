// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include "error.h"
#include "share_priv.h"

/* A real one, of the real context: ibv_destroy_comp_channel() works. */
struct ibv_comp_channel *
ibv_share_create_comp_channel(struct ibv_share_context *ctx)
{
	struct ibv_comp_channel *channel;

	if (share_maker_check(ctx))
		return NULL;
	channel = ibv_create_comp_channel(ctx->real);
	if (!channel) {
		share_error_ioctl(errno, "making a completion channel");
		return NULL;
	}
	/* all processes have it: whoever reads must not wait for others */
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	return channel;
}

static struct share_channel *find(struct ibv_share_context *ctx, uint32_t place)
{
	struct share_channel *channel;

	for (channel = ctx->channels; channel; channel = channel->next)
		if (channel->place == place)
			break;
	return channel;
}

struct ibv_comp_channel *share_channel_receive(struct ibv_share_context *ctx,
					       int fd, uint32_t place)
{
	struct share_channel *channel = find(ctx, place);

	if (channel)
		return &channel->ibv;
	channel = calloc(1, sizeof(*channel));
	if (!channel) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	channel->ibv.context = ctx->fake;
	channel->ibv.fd = fd;
	channel->place = place;
	channel->next = ctx->channels;
	ctx->channels = channel;
	return &channel->ibv;
}
