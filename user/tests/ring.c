// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * rxe's rings: geometry, wrap, full, what stands in an entry.
 */
#include <errno.h>
#include <string.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include "../provider.h"
#include "../ring.h"
#include "fake_rxe.h"
#include "tap.h"

#define ENTRIES 16
#define LOG2 8

static const struct share_provider *rxe = &share_provider_rxe;
static struct rxe_queue_buf *queue;
static size_t bytes;

static void setup(void)
{
	bytes = sizeof(*queue) + (ENTRIES << LOG2);
	queue = fake_memory(bytes);
	queue->log2_elem_size = LOG2;
	queue->index_mask = ENTRIES - 1;
}

static int attach(size_t length, size_t min_entry)
{
	struct share_ring ring;

	return share_ring_attach(&ring, rxe, queue, length, min_entry);
}

static int geometry(void)
{
	static const uint32_t bad_log2[] = { 0, 1, 5, 9, 21, 31, 32, 63, ~0u };
	static const uint32_t bad_mask[] = { 0, 2, 14, 16, 31,
					     33, 0x7fffffff, ~0u };
	unsigned int i;
	uint32_t n;

	setup();
	CHECK(!attach(bytes, 256));
	CHECK(!attach(bytes + 1000, 0));
	CHECK(attach(bytes, 257) == EBADMSG);
	CHECK(attach(bytes - 1, 0) == EBADMSG);
	CHECK(attach(sizeof(*queue), 0) == EBADMSG);
	CHECK(attach(10, 0) == EBADMSG);
	for (i = 0; i < sizeof(bad_log2) / 4; i++) {
		queue->log2_elem_size = bad_log2[i];
		CHECK(attach(bytes, 0) == EBADMSG);
	}
	queue->log2_elem_size = LOG2;
	for (i = 0; i < sizeof(bad_mask) / 4; i++) {
		queue->index_mask = bad_mask[i];
		CHECK(attach(bytes, 0) == EBADMSG);
	}
	queue->index_mask = ENTRIES - 1;
	CHECK(!share_ring_probe(rxe, queue, bytes, &n) && n == ENTRIES);
	CHECK(share_provider_find(RDMA_DRIVER_RXE) == rxe);
	CHECK(!share_provider_find(RDMA_DRIVER_MLX5));
	return 1;
}

static int wrap_and_full(void)
{
	struct share_ring ring;
	uint32_t head = 0, device = 0, i;

	setup();
	CHECK(!share_ring_attach(&ring, rxe, queue, bytes, 0));
	for (i = 0; i < 1000; i++) {
		while (rxe->used(&ring, head) < ring.mask)
			rxe->publish(&ring, ++head);
		CHECK(queue->producer_index == head % ENTRIES);
		CHECK(rxe->used(&ring, head) == ENTRIES - 1);
		device += 1 + i % (ENTRIES - 1);
		queue->consumer_index = device % ENTRIES;
		CHECK(rxe->used(&ring, head) == head - device);
	}
	/* a peer's nonsense is masked */
	queue->consumer_index = 0xfffffff0 + device % ENTRIES;
	CHECK(rxe->used(&ring, head) == head - device);
	return 1;
}

static struct rxe_send_wqe *entry(uint32_t i)
{
	return (void *)(queue->data + ((size_t)(i % ENTRIES) << LOG2));
}

static int send_entries(void)
{
	uint64_t data[2] = { 1, 2 };
	struct ibv_sge sge[2] = { { (uintptr_t)&data[0], 8, 5 },
				  { (uintptr_t)&data[1], 8, 6 } };
	struct ibv_send_wr wr = {
		.wr_id = 99,
		.sg_list = sge,
		.num_sge = 2,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.imm_data = 0x1234,
		.wr.rdma = { 0x1000, 77 },
	};
	struct share_ring ring;
	struct rxe_send_wqe *wqe;

	setup();
	memset(queue->data, 0xff, ENTRIES << LOG2);
	CHECK(!share_ring_attach(&ring, rxe, queue, bytes,
				 rxe->send_bytes(2, 16)));
	rxe->write_send(&ring, 3 + ENTRIES, &wr, IBV_QPT_RC, 42, 0, 16);
	wqe = entry(3);
	CHECK(wqe->wr.wr_id == 42 && wqe->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
	CHECK(wqe->wr.send_flags == IBV_SEND_FENCE);
	CHECK(wqe->wr.ex.imm_data == 0x1234 && wqe->iova == 0x1000);
	CHECK(wqe->wr.wr.rdma.rkey == 77 && !wqe->state && !wqe->status);
	CHECK(wqe->dma.length == 16 && wqe->dma.resid == 16);
	CHECK(wqe->dma.num_sge == 2 && wqe->dma.sge[1].lkey == 6);
	CHECK(!wqe->mask && !wqe->first_psn && !wqe->has_rd_atomic);
	wr.send_flags = IBV_SEND_INLINE;
	wr.opcode = IBV_WR_SEND;
	rxe->write_send(&ring, 4, &wr, IBV_QPT_RC, 43, 1, 16);
	wqe = entry(4);
	CHECK(wqe->wr.send_flags == (IBV_SEND_INLINE | IBV_SEND_SIGNALED));
	CHECK(!memcmp(wqe->dma.inline_data, data, 16) && !wqe->wr.ex.imm_data);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = 8;
	wr.wr.atomic.compare_add = 9;
	wr.wr.atomic.swap = 10;
	wr.wr.atomic.rkey = 11;
	wr.send_flags = 0;
	wr.num_sge = 1;
	rxe->write_send(&ring, 5, &wr, IBV_QPT_RC, 44, 1, 8);
	wqe = entry(5);
	CHECK(wqe->wr.wr.atomic.compare_add == 9 &&
	      wqe->wr.wr.atomic.swap == 10 && wqe->wr.wr.atomic.rkey == 11 &&
	      wqe->iova == 8);
	return 1;
}

static int check(enum ibv_wr_opcode opcode, unsigned int flags, uint32_t type,
		 uint64_t length)
{
	struct ibv_send_wr wr = { .opcode = opcode, .send_flags = flags };

	return rxe->check_send(&wr, type, length);
}

static int refused_requests(void)
{
	const uint32_t rc = IBV_QPT_RC, uc = IBV_QPT_UC;

	CHECK(!check(IBV_WR_SEND, IBV_SEND_FENCE | IBV_SEND_SOLICITED, rc, 0));
	CHECK(!check(IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_INLINE, uc, 9));
	CHECK(!check(IBV_WR_SEND, 0, rc, 1ull << 31));
	CHECK(check(IBV_WR_SEND, 0, rc, (1ull << 31) + 1) == EINVAL);
	CHECK(check(IBV_WR_SEND, IBV_SEND_IP_CSUM, rc, 0) == EINVAL);
	CHECK(!check(IBV_WR_RDMA_READ, 0, rc, 100));
	CHECK(check(IBV_WR_RDMA_READ, 0, uc, 100) == EINVAL);
	CHECK(check(IBV_WR_RDMA_READ, IBV_SEND_INLINE, rc, 10) == EINVAL);
	CHECK(!check(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, rc, 8));
	CHECK(check(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, rc, 7) == EINVAL);
	CHECK(check(IBV_WR_ATOMIC_CMP_AND_SWP, 0, uc, 8) == EINVAL);
	CHECK(check(IBV_WR_SEND_WITH_INV, 0, rc, 0) == EOPNOTSUPP);
	CHECK(check(IBV_WR_LOCAL_INV, 0, rc, 0) == EOPNOTSUPP);
	CHECK(check(IBV_WR_BIND_MW, 0, rc, 0) == EOPNOTSUPP);
	CHECK(check((enum ibv_wr_opcode)1000, 0, rc, 0) == EOPNOTSUPP);
	return 1;
}

static int completions(void)
{
	struct ib_uverbs_wc cqe = {
		.wr_id = 1,
		.status = 2,
		.opcode = 3,
		.vendor_err = 4,
		.byte_len = 5,
		.ex.imm_data = 6,
		.qp_num = 7,
		.src_qp = 8,
		.wc_flags = 1 << 2 | IBV_WC_WITH_IMM,
		.pkey_index = 10,
		.slid = 11,
		.sl = 12,
		.dlid_path_bits = 13,
	};
	struct share_ring ring;
	struct ibv_wc wc;
	uint32_t i;

	setup();
	CHECK(!share_ring_attach(&ring, rxe, queue, bytes, rxe->cqe_bytes));
	CHECK(rxe->cq_empty(&ring) && !rxe->cq_peek(&ring, &wc));
	for (i = 0; i < 3 * ENTRIES; i++) {
		cqe.wr_id = i;
		memcpy(entry(i), &cqe, sizeof(cqe));
		queue->producer_index = (i + 1) % ENTRIES;
		CHECK(!rxe->cq_empty(&ring));
		CHECK(rxe->cq_peek(&ring, &wc) && wc.wr_id == i);
		rxe->cq_consume(&ring);
		CHECK(rxe->cq_empty(&ring) && !rxe->cq_peek(&ring, &wc));
		CHECK(queue->consumer_index == (i + 1) % ENTRIES);
	}
	CHECK(wc.status == 2 && wc.opcode == 3 && wc.vendor_err == 4);
	CHECK(wc.byte_len == 5 && wc.imm_data == 6 && wc.qp_num == 7);
	CHECK(wc.src_qp == 8 && wc.pkey_index == 10 && wc.slid == 11);
	CHECK(wc.wc_flags == (IBV_WC_WITH_IMM | IBV_WC_WITH_INV));
	CHECK(wc.sl == 12 && wc.dlid_path_bits == 13);
	entry(0)->wr.wr_id = 0;
	((struct ib_uverbs_wc *)entry(i))->status = 1000;
	queue->producer_index = (i + 1) % ENTRIES;
	CHECK(rxe->cq_peek(&ring, &wc) && wc.status == IBV_WC_GENERAL_ERR);
	return 1;
}

int main(void)
{
	static const struct test tests[] = {
		TEST(geometry),
		TEST(wrap_and_full),
		TEST(send_entries),
		TEST(refused_requests),
		TEST(completions),
	};

	return RUN_TESTS(tests);
}
