// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * States of an RC QP and work on the rings of rxe.
 */
#include <infiniband/verbs.h>

#include "share_test.h"

static struct ib_uverbs_ah_attr path_to(const struct endpoint *peer)
{
	struct ib_uverbs_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = 1, .hop_limit = 1 },
	};

	memcpy(ah.grh.dgid, peer->gid, sizeof(ah.grh.dgid));
	return ah;
}

/* what brings an RC QP from the state before into @state */
struct ib_uverbs_qp_attr qp_attr_to(const struct endpoint *peer, uint8_t state)
{
	struct ib_uverbs_qp_attr attr = { .qp_attr_mask = IBV_QP_STATE, .qp_state = state };

	switch (state) {
	case IBV_QPS_INIT:
		attr.qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
		attr.port_num = 1;
		attr.qp_access_flags = ACCESS_ALL;
		break;
	case IBV_QPS_RTR:
		attr.qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER;
		attr.ah_attr = path_to(peer);
		attr.path_mtu = IBV_MTU_1024;
		attr.dest_qp_num = peer->qp.num;
		attr.max_dest_rd_atomic = 1;
		attr.min_rnr_timer = 12;
		break;
	case IBV_QPS_RTS:
		attr.qp_attr_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
		attr.timeout = 14;
		attr.retry_cnt = 7;
		attr.rnr_retry = 7;
		attr.max_rd_atomic = 1;
		break;
	}
	return attr;
}

/* from RESET to RTS */
int endpoint_connect(struct endpoint *ep, const struct endpoint *peer)
{
	struct ib_uverbs_qp_attr attr;
	int err = 0;
	uint8_t state;

	for (state = IBV_QPS_INIT; !err && state <= IBV_QPS_RTS; state++) {
		attr = qp_attr_to(peer, state);
		err = qp_modify(ep->fd, ep->qp.handle, &attr);
	}
	return err;
}

struct ib_uverbs_share_segment ring_segment(const struct ring *ring, uint32_t which)
{
	return (struct ib_uverbs_share_segment){
		.addr = (uintptr_t)ring->buf,
		.length = ring->mi.size,
		.ring = which,
	};
}

static void *ring_entry(struct rxe_queue_buf *ring, uint32_t index)
{
	return ring->data + ((uint64_t)(index & ring->index_mask) << ring->log2_elem_size);
}

static void ring_publish(struct rxe_queue_buf *ring)
{
	uint32_t next = (ring->producer_index + 1) & ring->index_mask;

	__atomic_store_n(&ring->producer_index, next, __ATOMIC_RELEASE);
}

static void dma_init(struct rxe_dma_info *dma, const struct rxe_sge *sge)
{
	dma->num_sge = 1;
	dma->length = sge->length;
	dma->resid = sge->length;
	dma->sge[0] = *sge;
}

void post_recv(struct rxe_queue_buf *ring, uint64_t id, const struct rxe_sge *sge)
{
	struct rxe_recv_wqe *wqe = ring_entry(ring, ring->producer_index);

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = id;
	dma_init(&wqe->dma, sge);
	ring_publish(ring);
}

static void post(struct rxe_queue_buf *ring, const struct rxe_send_wr *wr,
		 const struct rxe_sge *sge, uint64_t iova)
{
	struct rxe_send_wqe *wqe = ring_entry(ring, ring->producer_index);

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr = *wr;
	wqe->iova = iova;
	/* rxe numbers messages from 1; the ring is long enough for a test */
	wqe->ssn = ring->producer_index + 1;
	dma_init(&wqe->dma, sge);
	ring_publish(ring);
}

static void post_message(struct rxe_queue_buf *ring, uint64_t id, const struct rxe_sge *sge,
			 uint32_t flags)
{
	struct rxe_send_wr wr = {
		.wr_id = id,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	};

	post(ring, &wr, sge, 0);
}

void post_send(struct rxe_queue_buf *ring, uint64_t id, const struct rxe_sge *sge)
{
	post_message(ring, id, sge, IBV_SEND_SIGNALED);
}

void post_send_solicited(struct rxe_queue_buf *ring, uint64_t id, const struct rxe_sge *sge)
{
	post_message(ring, id, sge, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
}

void post_write(struct rxe_queue_buf *ring, uint64_t id, const struct rxe_sge *sge,
		uint64_t remote_addr, uint32_t rkey)
{
	struct rxe_send_wr wr = {
		.wr_id = id,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote_addr, .rkey = rkey },
	};

	post(ring, &wr, sge, remote_addr);
}

/* binds a window of type 2 to all of a region, for remote writes */
void post_bind(struct rxe_queue_buf *ring, uint64_t id, uint32_t mw_rkey, const struct reg_mr *mr)
{
	struct rxe_sge none = {};
	struct rxe_send_wr wr = {
		.wr_id = id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.mw = {
			.addr = mr->iova,
			.length = mr->length,
			.mr_lkey = mr->lkey,
			.mw_rkey = mw_rkey,
			.rkey = ibv_inc_rkey(mw_rkey),
			.access = IBV_ACCESS_REMOTE_WRITE,
		},
	};

	post(ring, &wr, &none, 0);
}

static bool is_empty(const struct rxe_queue_buf *ring)
{
	return __atomic_load_n(&ring->producer_index, __ATOMIC_ACQUIRE) == ring->consumer_index;
}

/* the next completion; false if there is none within WAIT_MS */
bool poll_cq(struct rxe_queue_buf *ring, struct ib_uverbs_wc *wc)
{
	uint32_t next;

	if (!wait_for(!is_empty(ring)))
		return false;
	memcpy(wc, ring_entry(ring, ring->consumer_index), sizeof(*wc));
	next = (ring->consumer_index + 1) & ring->index_mask;
	__atomic_store_n(&ring->consumer_index, next, __ATOMIC_RELEASE);
	return true;
}
