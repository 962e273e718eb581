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
#include "posting.h"

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
	ret = share_posting_room(p, &low);
	if (ret)
		return ret;
	request.opcode = wc_opcode(wr);
	request.length = (uint32_t)length;
	request.flags = shadow_flags(p, wr, low);
	cookie = share_posting_write_shadow(p, &request);
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
		ret = share_posting_room(p, &low);
	if (ret)
		return ret;
	request.length = (uint32_t)length;
	cookie = share_posting_write_shadow(p, &request);
	p->ring->provider->write_recv(p->ring, p->head, wr, cookie,
				      request.length);
	p->head++;
	return 0;
}

/* @whole: all of them or none */
static int post_sends(struct share_qp_path *path, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad, int whole)
{
	struct posting p;
	int ret = EACCES;

	share_posting_init(&p, path, SHARE_COOKIE_SEND);
	share_posting_look_around(&p);
	if (p.ring->base)
		ret = share_posting_begin(&p);
	if (ret) {
		*bad = wr;
		return ret;
	}
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = post_one_send(&p, wr);
	if (ret)
		*bad = wr;
	if (ret && whole)
		share_posting_take_back(&p);
	if (share_posting_end(&p))
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

	share_posting_init(&p, path, SHARE_COOKIE_RECV);
	share_posting_look_around(&p);
	if (p.ring->base)
		ret = share_posting_begin(&p);
	if (ret) {
		*bad = wr;
		return ret;
	}
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = post_one_recv(&p, wr);
	if (ret)
		*bad = wr;
	if (share_posting_end(&p))
		flush_if_failed(path);
	return ret;
}

int share_posted(struct share_qp_path *path, uint32_t direction, uint32_t *count)
{
	struct posting p;
	int ret;

	share_posting_init(&p, path, direction);
	*count = 0;
	if (!p.ring->base)
		return p.dir.entries ? EACCES : 0;
	ret = share_posting_begin_any(&p);
	if (ret)
		return ret;
	*count = p.head;
	if (!share_posting_end(&p))
		return 0;
	/* who has died may not have come to that */
	if (direction == SHARE_COOKIE_RECV)
		flush_if_failed(path);
	else
		share_doorbell_ring(path->control, &path->view);
	return 0;
}
