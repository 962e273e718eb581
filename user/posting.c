// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What all calls that post to a QP do before and after they write requests.
 */
#include <errno.h>
#include "posting.h"
#include "recover.h"

void share_posting_init(struct posting *p, struct share_qp_path *path, uint32_t direction)
{
	int send = direction == SHARE_COOKIE_SEND;

	p->path = path;
	p->direction = direction;
	p->dir = share_direction_of(&path->view, direction);
	p->ring = send ? &path->sq : &path->rq;
	p->cq_view = send ? &path->send_cq_view : &path->recv_cq_view;
	p->cq = send ? path->send_cq : path->recv_cq;
	p->repaired = 0;
	p->tried = 0;
	p->kicks.num = 0;
	p->kicks.mail = 0;
	p->kicks.failed = 0;
}

void share_posting_look_around(struct posting *p)
{
	share_recover_sometimes(p->path->control);
	if (p->cq)
		share_recount_if_needed(p->cq);
}

static int state_allows(uint32_t state, uint32_t direction)
{
	if (direction == SHARE_COOKIE_RECV)
		return state >= IBV_QPS_INIT && state <= IBV_QPS_ERR;
	return state >= IBV_QPS_RTS && state <= IBV_QPS_ERR;
}

/*
 * A poster that died has perhaps moved the head, but not the producer index:
 * then its call has not happened. If the QP was reset since, the tail has
 * followed the head. Whatever it had reserved is counted anew.
 */
static int roll_back(struct posting *p)
{
	const struct share_ring *ring = p->ring;
	struct share_wq *wq = p->dir.wq;
	uint32_t head = share_load(&wq->head);
	uint32_t pending = head - share_load_acquire(&wq->tail);
	uint32_t ahead = (head - ring->provider->published(ring)) & ring->mask;

	/* more than there can be: somebody tampered with it */
	if (pending > p->dir.entries || (pending && ahead > pending))
		return EBADMSG;
	if (!ahead)
		return 0;
	share_store(&p->cq_view->body->recount, 1);
	if (!pending)
		share_store_ordered(&wq->tail, head - ahead);
	share_store_ordered(&wq->head, head - ahead);
	/* it may have been the one that was signaled for our sake */
	share_store(&wq->unsignaled, p->dir.entries);
	return 0;
}

static void note_death(struct posting *p)
{
	__atomic_fetch_add(&p->path->view.body->takeovers, 1, __ATOMIC_RELAXED);
	share_store(&p->cq_view->body->recount, 1);
	p->repaired = 1;
}

int share_posting_begin_any(struct posting *p)
{
	const struct share_control *control = p->path->control;
	struct share_wq *wq = p->dir.wq;
	int ret;

	if (share_load(&p->path->corrupt))
		return EBADMSG;
	ret = share_lock(&wq->lock, &control->me);
	if (ret && ret != EOWNERDEAD)
		return ret;
	/* before anything looks at the ring, which may have been taken away */
	if (share_control_qp_live(control, &p->path->view)) {
		share_unlock(&wq->lock, &control->me);
		return ENOLINK;
	}
	if (ret == EOWNERDEAD)
		note_death(p);
	ret = roll_back(p);
	if (ret)
		share_store(&p->path->corrupt, 1);
	p->head = share_load(&wq->head);
	p->first = p->head;
	if (ret)
		share_unlock(&wq->lock, &control->me);
	return ret;
}

int share_posting_begin(struct posting *p)
{
	int ret = share_posting_begin_any(p);

	if (ret || state_allows(share_load(&p->path->view.body->state), p->direction))
		return ret;
	share_unlock(&p->dir.wq->lock, &p->path->control->me);
	return EINVAL;
}

/*
 * The device's load-acquire of the producer index pairs with publish(); a
 * steerer's of the head with the release here.
 */
int share_posting_end(struct posting *p)
{
	const struct share_control *control = p->path->control;

	if (p->head != p->first) {
		share_store_ordered(&p->dir.wq->head, p->head);
		p->ring->provider->publish(p->ring, p->head);
	}
	share_unlock(&p->dir.wq->lock, &control->me);
	if (p->tried)
		share_steer_kick(p->cq, &p->kicks);
	return p->head != p->first || p->repaired;
}

static int try_room(struct posting *p, int *low)
{
	const struct share_control *control = p->path->control;

	if (p->ring->provider->used(p->ring, p->head) >= p->ring->mask ||
	    p->head - share_load_acquire(&p->dir.wq->tail) >= p->dir.entries)
		return ENOMEM;
	return share_cq_reserve(p->cq_view, control->me.slot, low);
}

/*
 * Nobody may be polling just now: what never signals need not poll. So look
 * for completions ourselves, once in a call.
 */
int share_posting_room(struct posting *p, int *low)
{
	int ret = try_room(p, low);

	if (!ret || p->tried || !p->cq)
		return ret;
	p->tried = 1;
	share_steer(p->cq, &p->kicks);
	return try_room(p, low);
}

uint64_t share_posting_write_shadow(struct posting *p, const struct request *request)
{
	const struct share_member *me = &p->path->control->me;
	const struct share_shadow shadow = {
		.wr_id_low = (uint32_t)request->wr_id,
		.wr_id_high = (uint32_t)(request->wr_id >> 32),
		.sequence = p->head,
		.state = SHARE_SHADOW_POSTED,
		.slot_flags = me->slot | request->flags << 8,
		.slot_generation = me->generation,
		.opcode = request->opcode,
		.bytes = request->length,
	};

	share_copy_out(share_shadow_of(&p->dir, p->head), &shadow, sizeof(shadow));
	return share_cookie(p->direction, p->path->view.index,
			    share_load(&p->path->view.body->epoch), p->head);
}

void share_posting_take_back(struct posting *p)
{
	for (; p->head != p->first; p->head--)
		share_cq_unreserve(p->cq_view, p->path->control->me.slot);
	/* it may have been the one that was signaled for our sake */
	share_store(&p->dir.wq->unsignaled, p->dir.entries);
}
