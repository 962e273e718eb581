// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The ibv_context that shared objects point to.
 *
 * An ordinary verb on one of them goes to the provider, which casts and then
 * makes an ioctl on the context's file descriptor before it touches anything.
 * There is none: EBADF, and nothing has happened.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "error.h"
#include "share_priv.h"

/*
 * struct share_fake - context of our objects
 * @ibv: a copy of the real one with our fast calls
 * @block: where the allocation begins: libibverbs has the larger part of a
 *	context in front of what applications see
 * @ctx: whose it is
 */
struct share_fake {
	struct ibv_context ibv;
	void *block;
	struct ibv_share_context *ctx;
};

/*
 * Where the provider has its lock, only it knows: every word behind what
 * applications see is an unlocked one.
 */
void share_unlock_tail(int *words, size_t head, size_t bytes)
{
	pthread_spinlock_t unlocked;
	size_t i;

	pthread_spin_init(&unlocked, PTHREAD_PROCESS_PRIVATE);
	for (i = head / sizeof(*words); i < bytes / sizeof(*words); i++)
		words[i] = unlocked;
	pthread_spin_destroy(&unlocked);
}

struct ibv_share_context *share_context_of(struct ibv_context *context)
{
	if (!context || context->ops.poll_cq != share_op_poll_cq)
		return NULL;
	return share_container_of(context, struct share_fake, ibv)->ctx;
}

/* How large that part is only libibverbs knows. */
static size_t headroom(struct ibv_context *real)
{
	struct verbs_context *vctx = verbs_get_ctx(real);

	return vctx ? vctx->sz - sizeof(*real) : 0;
}

struct ibv_context *share_fake_new(struct ibv_share_context *ctx)
{
	const size_t room = headroom(ctx->real), align = _Alignof(max_align_t);
	const size_t front = (room + align - 1) / align * align;
	char *block = calloc(1, front + sizeof(struct share_fake));
	struct share_fake *fake;

	if (!block) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	fake = (void *)(block + front);
	memcpy((char *)fake - room, (char *)ctx->real - room,
	       room + sizeof(*ctx->real));
	fake->ctx = ctx;
	fake->block = block;
	fake->ibv.cmd_fd = -1;
	fake->ibv.async_fd = -1;
	fake->ibv.ops.post_send = share_op_post_send;
	fake->ibv.ops.post_recv = share_op_post_recv;
	fake->ibv.ops.post_srq_recv = share_op_post_srq_recv;
	fake->ibv.ops.poll_cq = share_op_poll_cq;
	fake->ibv.ops.req_notify_cq = share_op_req_notify_cq;
	pthread_mutex_init(&fake->ibv.mutex, NULL);
	return &fake->ibv;
}

void share_fake_free(struct ibv_context *context)
{
	struct share_fake *fake =
		share_container_of(context, struct share_fake, ibv);

	pthread_mutex_destroy(&fake->ibv.mutex);
	free(fake->block);
}
