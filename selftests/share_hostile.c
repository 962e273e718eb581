// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Who scribbles on rings.
 *
 * What rxe believes blindly, from the rings of any process, is left out here;
 * see rxe-faults.c.
 */
#include <infiniband/verbs.h>

#include "share_hostile.h"

#define BURST 6

static void *entry(struct rxe_queue_buf *ring, uint32_t index)
{
	return ring->data + ((size_t)index << ring->log2_elem_size);
}

static uint32_t any_u32(struct hostile *h)
{
	return fuzz_one_in(&h->f, 2) ? fuzz_random(&h->f) : fuzz_below(&h->f, 3 * HOSTILE_BYTES);
}

static uint32_t any_key(struct hostile *h)
{
	switch (fuzz_below(&h->f, 4)) {
	case 0:
		return fuzz_random(&h->f);
	case 1:
		return h->rkey;
	default:
		return h->lkey;
	}
}

static uint64_t any_addr(struct hostile *h)
{
	if (fuzz_one_in(&h->f, 4))
		return fuzz_random(&h->f);
	return h->memory + fuzz_below(&h->f, 2 * HOSTILE_BYTES);
}

static void spoil_dma(struct hostile *h, struct rxe_dma_info *dma)
{
	dma->num_sge = h->any_num_sge && fuzz_one_in(&h->f, 3) ? any_u32(h) : 1;
	dma->sge_offset = fuzz_one_in(&h->f, 4) ? any_u32(h) : 0;
	dma->sge[0].addr = any_addr(h);
	dma->sge[0].lkey = any_key(h);
	dma->sge[0].length = any_u32(h);
	dma->length = fuzz_one_in(&h->f, 2) ? dma->sge[0].length : any_u32(h);
	dma->resid = fuzz_one_in(&h->f, 2) ? dma->length : any_u32(h);
}

/*
 * Before it is published. rxe looks up opcodes without a bound (the kernel's
 * own begin at 32), copies inline data from wherever sge_offset says, and takes
 * cur_sge as it is, here and in a receive.
 */
static void spoil_send(struct hostile *h, struct rxe_send_wqe *wqe)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr.wr_id = fuzz_random(&h->f);
	wqe->wr.opcode = fuzz_below(&h->f, fuzz_one_in(&h->f, 3) ? 32 : 7);
	wqe->wr.send_flags = fuzz_random(&h->f) & ~IBV_SEND_INLINE;
	wqe->wr.ex.imm_data = fuzz_random(&h->f);
	wqe->wr.wr.rdma.remote_addr = any_addr(h);
	wqe->wr.wr.rdma.rkey = any_key(h);
	wqe->iova = any_addr(h);
	wqe->ssn = fuzz_random(&h->f);
	wqe->first_psn = fuzz_random(&h->f);
	wqe->last_psn = fuzz_random(&h->f);
	wqe->has_rd_atomic = fuzz_one_in(&h->f, 8);
	spoil_dma(h, &wqe->dma);
	if (fuzz_one_in(&h->f, 6)) {
		wqe->wr.send_flags |= IBV_SEND_INLINE;
		wqe->dma.sge_offset = 0;
		wqe->dma.length = wqe->dma.resid = fuzz_below(&h->f, 17);
	}
}

static void spoil_recv(struct hostile *h, struct rxe_recv_wqe *wqe)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = fuzz_random(&h->f);
	spoil_dma(h, &wqe->dma);
}

/* while rxe works on it: all that it does not look at twice */
static void scribble(struct hostile *h)
{
	struct rxe_send_wqe *send = entry(h->send, fuzz_below(&h->f, h->send->index_mask + 1));
	struct rxe_recv_wqe *recv = entry(h->recv, fuzz_below(&h->f, h->recv->index_mask + 1));
	uint64_t *cqe = entry(h->done, fuzz_below(&h->f, h->done->index_mask + 1));

	send->wr.wr_id = fuzz_random(&h->f);
	send->wr.wr.rdma.rkey = any_key(h);
	send->dma.sge[0].addr = any_addr(h);
	send->dma.sge[0].lkey = any_key(h);
	send->ssn = fuzz_random(&h->f);
	recv->wr_id = fuzz_random(&h->f);
	recv->dma.sge[0].addr = any_addr(h);
	recv->dma.sge[0].lkey = any_key(h);
	cqe[fuzz_below(&h->f, sizeof(struct ib_uverbs_wc) / 8)] = fuzz_random(&h->f);
	/* its own copies of these are what rxe uses; ours would be spoiled, too */
	h->send->pad_1[fuzz_below(&h->f, 30)] = fuzz_random(&h->f);
	h->send->consumer_index = fuzz_random(&h->f);
	h->recv->consumer_index = fuzz_random(&h->f);
	h->done->producer_index = fuzz_random(&h->f);
	h->done->consumer_index = fuzz_random(&h->f);
}

static void publish(struct hostile *h, struct rxe_queue_buf *ring)
{
	uint32_t next = ring->producer_index + 1;

	/* a jump: what was there before is posted again; never outside of the mask */
	if (fuzz_one_in(&h->f, 8))
		next = fuzz_random(&h->f);
	__atomic_store_n(&ring->producer_index, next & ring->index_mask, __ATOMIC_RELEASE);
}

/*
 * Requests are written while the QP is in RESET: what they say must not change
 * between rxe's look at it and its use.
 */
static void fill(struct hostile *h)
{
	unsigned int i;

	for (i = 0; i < BURST; i++) {
		spoil_recv(h, entry(h->recv, h->recv->producer_index & h->recv->index_mask));
		publish(h, h->recv);
		spoil_send(h, entry(h->send, h->send->producer_index & h->send->index_mask));
		publish(h, h->send);
		h->posted++;
	}
}

/* the QP is in ERR soon, so it begins anew each time */
void hostile_attack(struct hostile *h)
{
	unsigned int i;
	uint8_t state;

	if (h->ops->modify(h, IBV_QPS_RESET))
		return;
	fill(h);
	for (state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		if (h->ops->modify(h, state))
			return;
	h->resets++;
	h->ops->arm(h, fuzz_below(&h->f, 2));
	for (i = 0; i < 8; i++) {
		h->kicks += !h->ops->kick(h, 1 + fuzz_below(&h->f, 3));
		scribble(h);
		scribble(h);
	}
}

void hostile_init(struct hostile *h, const struct hostile_ops *ops, void *memory,
		  const struct ib_uverbs_reg_mr_resp *mr)
{
	h->ops = ops;
	h->memory = (uintptr_t)memory;
	h->lkey = mr->lkey;
	h->rkey = mr->rkey;
	/* newer ones walk on through what lies behind the ring */
	h->any_num_sge = !is_kernel_at_least(6, 2);
}
