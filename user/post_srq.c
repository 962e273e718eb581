// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * As post.c, for a queue whose requests complete in any order: each takes an
 * entry of the shadow table that is free, wherever that is. The cookie names
 * entry and number.
 */
#include <errno.h>
#include "post.h"
#include "post_srq.h"
#include "provider.h"
#include "recover.h"

/*
 * struct posting - one call
 * @head: of the next request; the shared one moves at the end
 * @first: of this call
 * @tried: the CQ was looked at for room
 * @kicks: of that look
 */
struct posting {
	struct share_srq_path *path;
	struct share_wq *wq;
	uint32_t head;
	uint32_t first;
	int tried;
	struct share_kicks kicks;
};

void share_srq_sweep(const struct share_srq_view *view)
{
	const uint32_t head = share_load(&view->body->post.head);
	struct share_shadow *shadow;
	uint32_t i;

	for (i = 0; i < view->places; i++) {
		shadow = &view->shadow[i];
		if (share_load(&shadow->state) == SHARE_SHADOW_POSTED &&
		    share_load(&shadow->sequence) - head <= UINT32_MAX / 2)
			share_store(&shadow->state, SHARE_SHADOW_FREE);
	}
}

/*
 * A poster that died has perhaps moved the head, but not the producer index:
 * then its call has not happened.
 */
static int roll_back(struct posting *p, int died)
{
	const struct share_ring *ring = &p->path->ring;
	uint32_t head = share_load(&p->wq->head);
	uint32_t ahead = (head - ring->provider->published(ring)) & ring->mask;

	/* more than there can be: somebody tampered with the ring */
	if (ahead > ring->provider->used(ring, head))
		return EBADMSG;
	if (!ahead && !died)
		return 0;
	share_store(&p->path->cq_view.body->recount, 1);
	if (ahead)
		share_store_ordered(&p->wq->head, head - ahead);
	share_srq_sweep(&p->path->view);
	return 0;
}

static int begin(struct posting *p)
{
	const struct share_control *control = p->path->control;
	int ret;

	if (share_load(&p->path->corrupt))
		return EBADMSG;
	ret = share_lock(&p->wq->lock, &control->me);
	if (ret && ret != EOWNERDEAD)
		return ret;
	/* before anything looks at the ring, which may have been taken away */
	if (share_control_srq_live(control, &p->path->view)) {
		share_unlock(&p->wq->lock, &control->me);
		return ENOLINK;
	}
	if (ret)
		__atomic_fetch_add(&p->path->view.body->takeovers, 1,
				   __ATOMIC_RELAXED);
	ret = roll_back(p, ret != 0);
	p->head = share_load(&p->wq->head);
	p->first = p->head;
	if (ret) {
		share_store(&p->path->corrupt, 1);
		share_unlock(&p->wq->lock, &control->me);
	}
	return ret;
}

/* Pairs with the acquires of steerer and device, as in post.c. */
static void end(struct posting *p)
{
	const struct share_ring *ring = &p->path->ring;

	if (p->head != p->first) {
		share_store_ordered(&p->wq->head, p->head);
		ring->provider->publish(ring, p->head);
	}
	share_unlock(&p->wq->lock, &p->path->control->me);
	if (p->tried)
		share_steer_kick(p->path->cq, &p->kicks);
}

/* Most often the first that is looked at: those before it are older. */
static struct share_shadow *free_place(struct posting *p, uint32_t *entry)
{
	const struct share_srq_view *view = &p->path->view;
	uint32_t i;

	for (i = 0; i < view->places; i++) {
		*entry = (p->head + i) & (view->places - 1);
		/* pairs with the release of who steers */
		if (share_load_acquire(&view->shadow[*entry].state) !=
		    SHARE_SHADOW_POSTED)
			return &view->shadow[*entry];
	}
	return NULL;
}

static int try_room(struct posting *p, struct share_shadow **shadow,
		    uint32_t *entry)
{
	const struct share_ring *ring = &p->path->ring;
	int low;

	if (ring->provider->used(ring, p->head) >= ring->mask)
		return ENOMEM;
	*shadow = free_place(p, entry);
	if (!*shadow)
		return ENOMEM;
	return share_cq_reserve(&p->path->cq_view, p->path->control->me.slot,
				&low);
}

static int room(struct posting *p, struct share_shadow **shadow,
		uint32_t *entry)
{
	int ret = try_room(p, shadow, entry);

	if (!ret || p->tried || !p->path->cq)
		return ret;
	p->tried = 1;
	share_steer(p->path->cq, &p->kicks);
	return try_room(p, shadow, entry);
}

static void write_shadow(const struct posting *p, struct share_shadow *shared,
			 uint64_t wr_id, uint32_t length)
{
	const struct share_member *me = &p->path->control->me;
	const struct share_shadow shadow = {
		.wr_id_low = (uint32_t)wr_id,
		.wr_id_high = (uint32_t)(wr_id >> 32),
		.sequence = p->head,
		.state = SHARE_SHADOW_FREE,
		.slot_flags = me->slot | SHARE_SHADOW_SIGNALED << 8,
		.slot_generation = me->generation,
		.opcode = IBV_WC_RECV,
		.bytes = length,
	};

	share_copy_out(shared, &shadow, sizeof(shadow));
	/* pairs with the acquire in share_request_find() */
	share_store_ordered(&shared->state, SHARE_SHADOW_POSTED);
}

static int post_one(struct posting *p, const struct ibv_recv_wr *wr)
{
	const struct share_ring *ring = &p->path->ring;
	struct share_shadow *shadow;
	uint64_t length;
	uint32_t entry;
	int ret = share_sum_sges(wr->sg_list, wr->num_sge,
				 p->path->view.attr.max_sge, &length);

	if (!ret)
		ret = room(p, &shadow, &entry);
	if (ret)
		return ret;
	write_shadow(p, shadow, wr->wr_id, (uint32_t)length);
	ring->provider->write_recv(ring, p->head, wr,
				   share_srq_cookie(p->path->view.index, entry,
						    p->head),
				   (uint32_t)length);
	p->head++;
	return 0;
}

int share_post_srq_recv(struct share_srq_path *path, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad)
{
	struct posting p = { .path = path, .wq = &path->view.body->post };
	int ret = EACCES;

	/* before any lock: who only posts has to notice deaths, too */
	share_recover_sometimes(path->control);
	if (path->cq)
		share_recount_if_needed(path->cq);
	if (path->ring.base)
		ret = begin(&p);
	if (ret) {
		*bad = wr;
		return ret;
	}
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = post_one(&p, wr);
	if (ret)
		*bad = wr;
	end(&p);
	return ret;
}
