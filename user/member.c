// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What the module and the device can do, and who else is there.
 */
#include <errno.h>
#include "error.h"
#include "share_priv.h"

#define SAME(name)                                                           \
	_Static_assert((int)IBV_SHARE_##name == (int)IB_UVERBS_SHARE_##name, \
		       "the library's rights are the kernel's")
SAME(POST_SEND);
SAME(POST_RECV);
SAME(POLL);
SAME(ARM);
SAME(READ);
SAME(MODIFY);
SAME(MANAGE);
SAME(REGISTER);
SAME(WAKE);
SAME(REGRANT);
SAME(ALL_RIGHTS);
SAME(SLOT_FREE);
SAME(SLOT_LIVE);
SAME(SLOT_DEAD);

int ibv_share_query_device(struct ibv_context *context,
			   struct ibv_share_device_attr *attr)
{
	struct ib_uverbs_share_caps caps;
	struct share_file file;
	int ret = share_file_probe(&file, context->cmd_fd, &caps);

	if (ret)
		return ret;
	attr->abi_version = caps.abi_version;
	attr->driver_id = caps.driver_id;
	attr->features = caps.features;
	attr->rights = caps.rights;
	attr->max_slots = caps.max_slots;
	attr->max_ring_bytes = caps.max_ring_bytes;
	return 0;
}

uint32_t ibv_share_get_slot(const struct ibv_share_context *ctx)
{
	return ctx->slot;
}

int ibv_share_query_slot(struct ibv_share_context *ctx, uint32_t slot,
			 struct ibv_share_slot_attr *attr)
{
	struct ib_uverbs_share_slot answer;
	int ret = share_context_check(ctx);

	if (ret)
		return ret;
	ret = share_query_slot(&ctx->file, ctx->obj.import, slot, &answer);
	if (ret)
		return share_error_ioctl(ret, "asking for a slot");
	attr->state = (enum ibv_share_slot_state)answer.state;
	attr->generation = answer.generation;
	attr->pid = answer.pid;
	return 0;
}

int ibv_share_wake(struct ibv_share_context *ctx, uint32_t slot)
{
	int ret = share_context_check(ctx);

	if (ret)
		return ret;
	ret = share_wake_slot(&ctx->file, ctx->obj.import, slot);
	return ret ? share_error_ioctl(ret, "waking a slot") : 0;
}

/* A slot without a process is nobody's heir. */
static int heir_word(struct ibv_share_context *ctx, uint32_t slot,
		     uint32_t *word)
{
	struct ibv_share_slot_attr attr = { .state = IBV_SHARE_SLOT_FREE };
	int ret;

	if (slot >= SHARE_MAX_SLOTS)
		return share_error(EINVAL, "there is no such slot");
	ret = ibv_share_query_slot(ctx, slot, &attr);
	if (ret)
		return ret;
	if (attr.state != IBV_SHARE_SLOT_LIVE)
		return share_error(ESRCH, "the process of that slot is not"
					  " alive");
	*word = share_owner_word(slot, attr.generation);
	return 0;
}

int ibv_share_set_heirs(struct ibv_share_context *ctx, const uint32_t *slots,
			int num_slots)
{
	uint32_t words[SHARE_MAX_HEIRS];
	int i, ret = share_context_check(ctx);

	if (ret)
		return ret;
	if (num_slots < 0 || num_slots > (int)SHARE_MAX_HEIRS)
		return share_error(EINVAL, "up to 16 heirs can be named");
	for (i = 0; i < num_slots; i++) {
		ret = heir_word(ctx, slots[i], &words[i]);
		if (ret)
			return ret;
	}
	share_control_set_heirs(&ctx->control, words, (uint32_t)num_slots);
	return 0;
}
