// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A request that is written has room everywhere: in the ring, in the shadow
 * table, in the CQ (a credit, also if it is not signaled: it may fail) and in
 * the mailbox of its poster.
 *
 * For each: credit and quota, shadow entry, ring entry. For all of a call: head,
 * then the producer index, each with release; then the doorbell.
 */
#include <errno.h>
#include <rdma/ib_uverbs_share.h>
#include "doorbell.h"
#include "post.h"
#include "provider.h"
#include "recover.h"

/*
 * struct posting - one call
 * @direction: SHARE_COOKIE_SEND or _RECV
 * @head: of the next request; the shared one moves at the end
 * @first: of this call
 * @repaired: a poster has died; it may not have rung the doorbell
 * @tried: the CQ was looked at for room
 * @kicks: of that look
 */
struct posting {
	struct share_qp_path *path;
	uint32_t direction;
	struct share_direction dir;
	const struct share_ring *ring;
	const struct share_cq_view *cq_view;
	struct share_cq_path *cq;
	uint32_t head;
	uint32_t first;
	int repaired;
	int tried;
	struct share_kicks kicks;
};

/* struct request - what the shadow table says of a request */
struct request {
	uint64_t wr_id;
	uint32_t opcode;
	uint32_t length;
	uint32_t flags;
};

static void init_posting(struct posting *p, struct share_qp_path *path, uint32_t direction)
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

/* Before any lock: who only posts has to notice deaths, too. */
static void look_around(struct posting *p)
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

/* Whatever the state of the QP. */
static int begin_any(struct posting *p)
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

static int begin(struct posting *p)
{
	int ret = begin_any(p);

	if (ret || state_allows(share_load(&p->path->view.body->state), p->direction))
		return ret;
	share_unlock(&p->dir.wq->lock, &p->path->control->me);
	return EINVAL;
}

/*
 * The device's load-acquire of the producer index pairs with publish(); a
 * steerer's of the head with the release here.
 */
static int end(struct posting *p)
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
static int room(struct posting *p, int *low)
{
	int ret = try_room(p, low);

	if (!ret || p->tried || !p->cq)
		return ret;
	p->tried = 1;
	share_steer(p->cq, &p->kicks);
	return try_room(p, low);
}

static uint64_t write_shadow(struct posting *p, const struct request *request)
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

int share_sum_sges(const struct ibv_sge *sges, int num_sge, uint32_t max,
		   uint64_t *length)
{
	int i;

	if (num_sge < 0 || (uint32_t)num_sge > max)
		return EINVAL;
	*length = 0;
	for (i = 0; i < num_sge; i++)
		*length += sges[i].length;
	return *length > UINT32_MAX ? EINVAL : 0;
}

static uint32_t wc_opcode(const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	default:
		return IBV_WC_SEND;
	}
}

/*
 * Whose completions nobody wants, must yet be retired some time: one of each
 * half of the send queue is signaled, and all while half of the credits are in
 * use. So the last request that got a credit always gives it back, and with it
 * those before it.
 */
static uint32_t shadow_flags(struct posting *p, const struct ibv_send_wr *wr, int low)
{
	uint32_t *unsignaled = &p->dir.wq->unsignaled;
	uint32_t flags = 0;

	if (p->path->view.attr.sq_sig_all || wr->send_flags & IBV_SEND_SIGNALED)
		flags = SHARE_SHADOW_SIGNALED;
	else if (low || share_load(unsignaled) + 1 >= p->dir.entries / 2)
		flags = SHARE_SHADOW_HIDDEN;
	share_store(unsignaled, flags ? 0 : share_load(unsignaled) + 1);
	return flags;
}

/* What others call an address handle has another shape. */
static int ah_is_ours(const struct share_qp_path *path, const struct ibv_ah *ah)
{
	return ah && path->verbs && ah->context == path->verbs;
}

static int post_one_send(struct posting *p, const struct ibv_send_wr *wr)
{
	const struct share_qp_attr *attr = &p->path->view.attr;
	struct request request = { .wr_id = wr->wr_id };
	uint64_t length, cookie;
	int low, ret;

	ret = share_sum_sges(wr->sg_list, wr->num_sge, attr->max_send_sge, &length);
	if (!ret)
		ret = p->ring->provider->check_send(wr, attr->qp_type, length);
	if (ret)
		return ret;
	if (wr->send_flags & IBV_SEND_INLINE && length > attr->max_inline)
		return EINVAL;
	if (attr->qp_type == IBV_QPT_UD && !ah_is_ours(p->path, wr->wr.ud.ah))
		return EINVAL;
	ret = room(p, &low);
	if (ret)
		return ret;
	request.opcode = wc_opcode(wr);
	request.length = (uint32_t)length;
	request.flags = shadow_flags(p, wr, low);
	cookie = write_shadow(p, &request);
	p->ring->provider->write_send(p->ring, p->head, wr, attr->qp_type, cookie,
				      request.flags != 0, request.length);
	p->head++;
	return 0;
}

static int post_one_recv(struct posting *p, const struct ibv_recv_wr *wr)
{
	struct request request = {
		.wr_id = wr->wr_id,
		.opcode = IBV_WC_RECV,
		.flags = SHARE_SHADOW_SIGNALED,
	};
	uint64_t length, cookie;
	int low, ret;

	ret = share_sum_sges(wr->sg_list, wr->num_sge,
			     p->path->view.attr.max_recv_sge, &length);
	if (!ret)
		ret = room(p, &low);
	if (ret)
		return ret;
	request.length = (uint32_t)length;
	cookie = write_shadow(p, &request);
	p->ring->provider->write_recv(p->ring, p->head, wr, cookie,
				      request.length);
	p->head++;
	return 0;
}

/* Nobody has seen what was written. */
static void take_back(struct posting *p)
{
	for (; p->head != p->first; p->head--)
		share_cq_unreserve(p->cq_view, p->path->control->me.slot);
	/* it may have been the one that was signaled for our sake */
	share_store(&p->dir.wq->unsignaled, p->dir.entries);
}

/* @whole: all of them or none */
static int post_sends(struct share_qp_path *path, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad, int whole)
{
	struct posting p;
	int ret = EACCES;

	init_posting(&p, path, SHARE_COOKIE_SEND);
	look_around(&p);
	if (p.ring->base)
		ret = begin(&p);
	if (ret) {
		*bad = wr;
		return ret;
	}
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = post_one_send(&p, wr);
	if (ret)
		*bad = wr;
	if (ret && whole)
		take_back(&p);
	if (end(&p))
		share_doorbell_ring(path->control, &path->view);
	return ret;
}

int share_post_send(struct share_qp_path *path, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad)
{
	return post_sends(path, wr, bad, 0);
}

int share_post_send_whole(struct share_qp_path *path, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return post_sends(path, wr, &bad, 1);
}

/*
 * Receives wait for no kick, but in ERR they are flushed by one. The QP may
 * have become ERR just now: publish, fence, look at the state here; set it,
 * kick (a full barrier) in steer.c. One of the two sees the other.
 */
static void flush_if_failed(struct share_qp_path *path)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (share_load(&path->view.body->state) == IBV_QPS_ERR)
		share_doorbell_kick(path->control, &path->view, IB_UVERBS_SHARE_KICK_RECV);
}

int share_post_recv(struct share_qp_path *path, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad)
{
	struct posting p;
	int ret = path->view.attr.srq ? EINVAL : EACCES;

	init_posting(&p, path, SHARE_COOKIE_RECV);
	look_around(&p);
	if (p.ring->base)
		ret = begin(&p);
	if (ret) {
		*bad = wr;
		return ret;
	}
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = post_one_recv(&p, wr);
	if (ret)
		*bad = wr;
	if (end(&p))
		flush_if_failed(path);
	return ret;
}

int share_posted(struct share_qp_path *path, uint32_t direction, uint32_t *count)
{
	struct posting p;
	int ret;

	init_posting(&p, path, direction);
	*count = 0;
	if (!p.ring->base)
		return p.dir.entries ? EACCES : 0;
	ret = begin_any(&p);
	if (ret)
		return ret;
	*count = p.head;
	if (!end(&p))
		return 0;
	/* who has died may not have come to that */
	if (direction == SHARE_COOKIE_RECV)
		flush_if_failed(path);
	else
		share_doorbell_ring(path->control, &path->view);
	return 0;
}
