// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include "heir.h"
#include "mailbox.h"
#include "shadow.h"

static int load_qp(const struct share_control *control, uint32_t index,
		   struct share_request *request)
{
	int ret;

	if (request->qp_known && request->qp.index == index)
		return 0;
	ret = share_control_qp(control, index, &request->qp);
	request->qp_known = !ret;
	return ret;
}

static int load_srq(const struct share_control *control, uint32_t index,
		    struct share_request *request)
{
	int ret;

	if (request->srq_known && request->srq.index == index)
		return 0;
	if (index >= SHARE_MAX_SRQS)
		return EBADMSG;
	ret = share_control_srq(control, index, &request->srq);
	request->srq_known = !ret;
	return ret;
}

/* In any order, so each entry says for itself whether it is that request. */
static int find_in_srq(const struct share_control *control,
		       const struct share_cq_view *cq,
		       struct share_request *request)
{
	const struct share_srq_view *srq = &request->srq;
	const uint64_t cookie = request->cookie;
	uint32_t entry = (uint32_t)(cookie >> 32) & SHARE_EPOCH_MASK;
	uint32_t index = (uint32_t)(cookie >> 52) & (SHARE_MAX_QPS - 1);
	int ret = load_srq(control, index, request);

	if (ret)
		return ret;
	if (srq->attr.cq != cq->index || entry >= srq->places)
		return EBADMSG;
	request->sequence = (uint32_t)cookie;
	request->tail = request->sequence;
	request->shadow = &srq->shadow[entry];
	/* pairs with the release in post_srq.c, before the device got it */
	if (share_load_acquire(&srq->body->post.head) - request->sequence - 1 >=
	    UINT32_MAX / 2)
		return EBADMSG;
	/* pairs with its release of the state */
	if (share_load_acquire(&request->shadow->state) != SHARE_SHADOW_POSTED ||
	    share_load(&request->shadow->sequence) != request->sequence)
		return ENOENT;
	return 0;
}

int share_request_find(const struct share_control *control,
		       const struct share_cq_view *cq, uint64_t cookie,
		       struct share_request *request)
{
	uint32_t direction = (uint32_t)(cookie >> 62);
	uint32_t index = (uint32_t)(cookie >> 52) & (SHARE_MAX_QPS - 1);
	uint32_t epoch = (uint32_t)(cookie >> 32) & SHARE_EPOCH_MASK;
	struct share_direction *dir = &request->dir;
	uint32_t pending;
	int ret;

	request->cookie = cookie;
	if (direction == SHARE_COOKIE_SRQ)
		return find_in_srq(control, cq, request);
	if (direction != SHARE_COOKIE_SEND && direction != SHARE_COOKIE_RECV)
		return EBADMSG;
	ret = load_qp(control, index, request);
	if (ret)
		return ret;
	if ((share_load(&request->qp.body->epoch) & SHARE_EPOCH_MASK) != epoch)
		return ENOENT;
	*dir = share_direction_of(&request->qp, direction);
	if (dir->cq != cq->index || !dir->entries)
		return EBADMSG;
	request->sequence = (uint32_t)cookie;
	request->shadow = share_shadow_of(dir, request->sequence);
	request->tail = share_load(&dir->wq->tail);
	/* pairs with the release in post.c, before the device got it */
	pending = share_load_acquire(&dir->wq->head) - request->tail;
	if (pending <= dir->entries &&
	    request->sequence - request->tail < pending)
		return 0;
	return request->tail - 1 - request->sequence < dir->entries ? ENOENT : EBADMSG;
}

uint32_t share_shadow_slot(const struct share_shadow *shadow)
{
	return (shadow->slot_flags & 0xff) % SHARE_MAX_SLOTS;
}

void share_quota_give(const struct share_control *control,
		      const struct share_cq_view *cq, uint32_t slot,
		      uint32_t generation)
{
	if (share_slot_is(control, slot, generation))
		share_credit_give(&share_mailbox_of(cq, slot)->quota, 1);
}

/*
 * Marked first: if we die in between, quota leaks until it is counted again,
 * which is better than a mailbox that is too small.
 */
void share_shadow_retire(const struct share_control *control,
			 const struct share_cq_view *cq,
			 struct share_shadow *shared)
{
	struct share_shadow shadow;

	share_copy_in(&shadow, shared, sizeof(shadow));
	if (shadow.state == SHARE_SHADOW_DELIVERED)
		return;
	share_store(&shared->state, SHARE_SHADOW_DELIVERED);
	share_quota_give(control, cq, share_shadow_slot(&shadow),
			 shadow.slot_generation);
}

void share_shadow_retire_range(const struct share_control *control,
			       const struct share_cq_view *cq,
			       const struct share_direction *dir, uint32_t from,
			       uint32_t to)
{
	for (; from != to; from++)
		share_shadow_retire(control, cq, share_shadow_of(dir, from));
}
