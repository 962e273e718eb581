// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A QP as one process has it, and the state that all processes go by.
 *
 * What rxe does with its indices at RESET, in Linux 6.1 and 6.12: it consumes
 * what is in the rings and leaves the producer indices where they are. So head
 * and tail go on, too, and the number of a request still tells its place.
 */
#include <errno.h>
#include <string.h>
#include <rdma/ib_uverbs_share.h>
#include "directory.h"
#include "doorbell.h"
#include "event.h"
#include "post.h"
#include "post_srq.h"
#include "provider.h"

static int attach_ring(struct share_ring *ring,
		       const struct share_provider *provider, void *base,
		       size_t bytes, size_t min_entry, uint32_t entries)
{
	int ret;

	if (!base)
		return 0;
	ret = share_ring_attach(ring, provider, base, bytes, min_entry);
	/* the number of a request is its place in both tables */
	if (!ret && share_ring_entries(ring) != entries)
		ret = EBADMSG;
	return ret;
}

int share_qp_path_init(struct share_qp_path *path,
		       struct share_control *control, uint32_t index,
		       struct share_cq_path *send_cq,
		       struct share_cq_path *recv_cq,
		       const struct share_provider *provider, void *sq,
		       size_t sq_bytes, void *rq, size_t rq_bytes)
{
	const struct share_qp_attr *attr = &path->view.attr;
	int ret;

	memset(path, 0, sizeof(*path));
	path->control = control;
	path->send_cq = send_cq;
	path->recv_cq = recv_cq;
	ret = share_control_qp(control, index, &path->view);
	if (!ret)
		ret = share_control_cq(control, attr->send_cq,
				       &path->send_cq_view);
	if (!ret)
		ret = share_control_cq(control, attr->recv_cq,
				       &path->recv_cq_view);
	if (ret)
		return ret;
	if ((send_cq && send_cq->view.index != attr->send_cq) ||
	    (recv_cq && recv_cq->view.index != attr->recv_cq) ||
	    attr->max_send_sge > 4096 || attr->max_recv_sge > 4096 ||
	    attr->max_inline > 65536)
		return EBADMSG;
	ret = attach_ring(&path->sq, provider, sq, sq_bytes,
			  provider->send_bytes(attr->max_send_sge,
					       attr->max_inline),
			  attr->sq_entries);
	if (!ret)
		ret = attach_ring(&path->rq, provider, rq, rq_bytes,
				  provider->recv_bytes(attr->max_recv_sge),
				  attr->rq_entries);
	return ret;
}

enum ibv_qp_state share_qp_state(const struct share_qp_path *path)
{
	uint32_t state = share_load_acquire(&path->view.body->state);

	return state <= IBV_QPS_ERR ? (enum ibv_qp_state)state : IBV_QPS_UNKNOWN;
}

/*
 * Takes the locks of both directions. What a dead poster left is repaired by
 * the next one.
 */
static int lock_both(struct share_qp_path *path)
{
	struct share_qp_body *body = path->view.body;
	const struct share_member *me = &path->control->me;
	int ret;

	ret = share_lock(&body->send.lock, me);
	if (ret && ret != EOWNERDEAD)
		return ret;
	ret = share_lock(&body->recv.lock, me);
	if (!ret || ret == EOWNERDEAD)
		return 0;
	share_unlock(&body->send.lock, me);
	return ret;
}

static void unlock_both(struct share_qp_path *path)
{
	share_unlock(&path->view.body->recv.lock, &path->control->me);
	share_unlock(&path->view.body->send.lock, &path->control->me);
}

int share_qp_begin_reset(struct share_qp_path *path)
{
	int ret = lock_both(path);

	if (ret)
		return ret;
	share_store_ordered(&path->view.body->resetting, 1);
	share_store(&path->view.body->state, IBV_QPS_RESET);
	unlock_both(path);
	return 0;
}

int share_qp_begin_delete(struct share_qp_path *path)
{
	int ret = lock_both(path);

	share_store(&path->view.body->state, IBV_QPS_RESET);
	share_control_del_qp(path->control, path->view.index, 0);
	if (!ret)
		unlock_both(path);
	return ret;
}

/* @kicks: of the send CQ, of the receive CQ */
static int retire_both(struct share_qp_path *path, struct share_kicks *kicks)
{
	struct share_qp_body *body = path->view.body;
	int ret;

	if (!path->send_cq || !path->recv_cq)
		return EINVAL;
	ret = share_steer_retire_all(path->send_cq, &path->view,
				     SHARE_COOKIE_SEND, &kicks[0]);
	if (!ret)
		ret = share_steer_retire_all(path->recv_cq, &path->view,
					     SHARE_COOKIE_RECV, &kicks[1]);
	if (ret)
		return ret;
	share_store(&body->send.unsignaled, 0);
	share_store_ordered(&body->epoch,
			    (share_load(&body->epoch) + 1) & SHARE_EPOCH_MASK);
	share_store_ordered(&body->resetting, 0);
	return 0;
}

static void kick_both(struct share_qp_path *path,
		      const struct share_kicks *kicks)
{
	if (!path->send_cq || !path->recv_cq)
		return;
	share_steer_kick(path->send_cq, &kicks[0]);
	share_steer_kick(path->recv_cq, &kicks[1]);
}

static int reset(struct share_qp_path *path)
{
	struct share_kicks kicks[2] = { { .num = 0 }, { .num = 0 } };
	int ret = lock_both(path);

	if (ret)
		return ret;
	ret = retire_both(path, kicks);
	/* last: a completion of before may have made it ERR */
	share_store(&path->view.body->state, IBV_QPS_RESET);
	unlock_both(path);
	kick_both(path, kicks);
	if (path->srq)
		share_srq_reclaim(path->srq);
	return ret;
}

void share_qp_cancel_reset(struct share_qp_path *path,
			   enum ibv_qp_state state)
{
	share_store_ordered(&path->view.body->resetting, 0);
	share_qp_set_state(path, state);
}

int share_qp_set_state(struct share_qp_path *path, enum ibv_qp_state state)
{
	uint32_t *word = &path->view.body->state;
	uint32_t now = share_load(word);
	int ret;

	if (share_control_qp_live(path->control, &path->view))
		return ENOLINK;
	if (state == IBV_QPS_RESET)
		return reset(path);
	/* who began it has died; the kernel's part is done: it allowed INIT */
	if (state == IBV_QPS_INIT && share_load(&path->view.body->resetting)) {
		ret = reset(path);
		if (ret)
			return ret;
		now = IBV_QPS_RESET;
	}
	do {
		/* a steerer has seen it fail since the caller's modify */
		if (now == IBV_QPS_ERR && state != IBV_QPS_ERR)
			return 0;
	} while (!__atomic_compare_exchange_n(word, &now, state, 0,
					      __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	if (state == IBV_QPS_ERR) {
		share_doorbell_kick(path->control, &path->view,
				    IB_UVERBS_SHARE_KICK_SEND);
		if (path->view.attr.rq_entries)
			share_doorbell_kick(path->control, &path->view,
					    IB_UVERBS_SHARE_KICK_RECV);
		share_event_failed(path->control, &path->view);
	}
	return 0;
}

int share_qp_path_delete(struct share_qp_path *path)
{
	struct share_kicks kicks[2] = { { .num = 0 }, { .num = 0 } };
	int ret;

	if (share_control_qp_deleted(path->control, &path->view))
		return ENOLINK;
	share_control_del_qp(path->control, path->view.index, 0);
	ret = lock_both(path);
	if (ret)
		return ret;
	ret = retire_both(path, kicks);
	share_store(&path->view.body->state, IBV_QPS_RESET);
	unlock_both(path);
	if (!ret)
		share_control_del_qp(path->control, path->view.index, 1);
	kick_both(path, kicks);
	if (path->srq)
		share_srq_reclaim(path->srq);
	return ret;
}
