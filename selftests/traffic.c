// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Every opcode through a shared QP on rxe0, by its exporter and by an importer,
 * against an ordinary QP on rxe1; all bytes are compared. That several
 * processes post at the same time is the matter of smoke.c.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_library.h"

#define BYTES 16384
#define HALF (BYTES / 2)
#define ALL_ACCESS                                         \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define IOVA 0x7000000000ULL

struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint64_t iova;
	unsigned char *mem;
};

FIXTURE(traffic)
{
	struct ibv_context *context, *peer_context;
	struct ibv_share_context *ctx, *imported;
	struct ibv_comp_channel *channel;
	struct ibv_pd *pd, *peer_pd;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct end us, peer;
};

FIXTURE_VARIANT(traffic)
{
	int importer;
};

FIXTURE_VARIANT_ADD(traffic, exporter){
	.importer = 0,
};

FIXTURE_VARIANT_ADD(traffic, importer){
	.importer = 1,
};

static const struct ibv_qp_cap cap = { 16, 16, 3, 3, 128 };

/* the importer's view, in this process: a membership, a mapping of its own */
static int import_all(FIXTURE_DATA(traffic) *self)
{
	int sv[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv));
	CHECK(!ibv_share_send(self->ctx, sv[0], IBV_SHARE_ALL_RIGHTS));
	CHECK(self->imported = ibv_share_recv(self->context, sv[1]));
	CHECK(self->us.qp = ibv_share_get_qp(self->imported, NULL));
	CHECK(self->us.cq = ibv_share_get_cq(self->imported, NULL));
	CHECK(self->us.mr = ibv_share_get_mr(self->imported, NULL));
	CHECK(self->us.qp != self->qp && self->us.mr->lkey == self->mr->lkey);
	close(sv[0]);
	close(sv[1]);
	return 0;
}

static int open_shared(FIXTURE_DATA(traffic) *self)
{
	struct ibv_qp_init_attr init = { .cap = cap, .qp_type = IBV_QPT_RC };
	int fd = memfd_create("traffic", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, BYTES));
	CHECK(self->context = lib_open("rxe0"));
	CHECK(self->ctx = ibv_share_open(self->context, NULL));
	CHECK(self->pd = ibv_share_alloc_pd(self->ctx));
	CHECK(self->channel = ibv_share_create_comp_channel(self->ctx));
	CHECK(self->cq = ibv_share_create_cq(self->ctx, 64, NULL, self->channel, 0));
	init.send_cq = init.recv_cq = self->cq;
	CHECK(self->qp = ibv_share_create_qp(self->pd, &init));
	CHECK(self->mr = ibv_reg_shared_mr(self->pd, 0, BYTES, IOVA, fd, ALL_ACCESS));
	CHECK(!ibv_share_export_mr(self->mr, fd, 0, ALL_ACCESS));
	self->us = (struct end){ self->qp, self->cq, self->mr, IOVA, NULL };
	self->us.mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(self->us.mem != MAP_FAILED);
	close(fd);
	return 0;
}

static int open_peer(FIXTURE_DATA(traffic) *self)
{
	struct ibv_qp_init_attr init = { .cap = cap, .qp_type = IBV_QPT_RC };
	struct end *peer = &self->peer;

	CHECK(self->peer_context = lib_open("rxe1"));
	CHECK(self->peer_pd = ibv_alloc_pd(self->peer_context));
	CHECK(peer->cq = ibv_create_cq(self->peer_context, 64, NULL, NULL, 0));
	init.send_cq = init.recv_cq = peer->cq;
	CHECK(peer->qp = ibv_create_qp(self->peer_pd, &init));
	peer->mem = aligned_alloc(4096, BYTES);
	CHECK(peer->mem);
	CHECK(peer->mr = ibv_reg_mr(self->peer_pd, peer->mem, BYTES, ALL_ACCESS));
	peer->iova = (uintptr_t)peer->mem;
	return 0;
}

static void fill(unsigned char *mem, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < BYTES; i++)
		mem[i] = seed * 37 + i * 11 + (i >> 8);
}

FIXTURE_SETUP(traffic)
{
	union ibv_gid gid0, gid1;

	ASSERT_EQ(open_shared(self), 0);
	if (variant->importer)
		ASSERT_EQ(import_all(self), 0);
	ASSERT_EQ(open_peer(self), 0);
	ASSERT_EQ(ibv_query_gid(self->context, 1, GID_INDEX, &gid0), 0);
	ASSERT_EQ(ibv_query_gid(self->peer_context, 1, GID_INDEX, &gid1), 0);
	ASSERT_EQ(lib_connect(self->qp, 1, self->peer.qp->qp_num, &gid1), 0);
	ASSERT_EQ(lib_connect(self->peer.qp, 0, self->qp->qp_num, &gid0), 0);
	fill(self->us.mem, 1);
	fill(self->peer.mem, 2);
}

FIXTURE_TEARDOWN(traffic)
{
	if (self->imported)
		EXPECT_EQ(ibv_share_close(self->imported), 0);
	EXPECT_EQ(ibv_share_destroy_qp(self->qp), 0);
	EXPECT_EQ(ibv_share_destroy_cq(self->cq), 0);
	EXPECT_EQ(ibv_destroy_comp_channel(self->channel), 0);
	EXPECT_EQ(ibv_share_dereg_mr(self->mr), 0);
	EXPECT_EQ(ibv_share_dealloc_pd(self->pd), 0);
	EXPECT_EQ(ibv_share_close(self->ctx), 0);
	EXPECT_EQ(ibv_destroy_qp(self->peer.qp), 0);
	EXPECT_EQ(ibv_dereg_mr(self->peer.mr), 0);
	free(self->peer.mem);
}

static struct ibv_sge sge(const struct end *end, unsigned int offset, unsigned int length)
{
	return (struct ibv_sge){ end->iova + offset, length, end->mr->lkey };
}

static struct ibv_send_wr request(const struct end *to, enum ibv_wr_opcode opcode,
				  struct ibv_sge *list, int n)
{
	struct ibv_send_wr wr = {
		.wr_id = 0x1234567890abcdefULL,
		.sg_list = list,
		.num_sge = n,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0xcafe),
	};

	wr.wr.rdma.remote_addr = to->iova + HALF;
	wr.wr.rdma.rkey = to->mr->rkey;
	return wr;
}

static int send_on(const struct end *end, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(end->qp, &wr, &bad);
}

static int recv_on(const struct end *end, struct ibv_sge *list, int n)
{
	struct ibv_recv_wr wr = { .wr_id = 77, .sg_list = list, .num_sge = n }, *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}

/* the next completion, within 5 s */
static struct ibv_wc completion(const struct end *end)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	time_t limit = time(NULL) + 5;

	while (!ibv_poll_cq(end->cq, 1, &wc))
		if (time(NULL) > limit)
			break;
	return wc;
}

static int done(const struct end *end, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = completion(end);

	CHECK(wc.status == IBV_WC_SUCCESS);
	CHECK(wc.opcode == opcode);
	CHECK(wc.wr_id == (opcode & IBV_WC_RECV ? 77 : 0x1234567890abcdefULL));
	CHECK(wc.qp_num == end->qp->qp_num);
	return 0;
}

TEST_F(traffic, send_many_elements)
{
	struct ibv_sge from[] = { sge(&self->us, 0, 100), sge(&self->us, 1000, 3000),
				  sge(&self->us, 5000, 1) };
	struct ibv_sge to[] = { sge(&self->peer, HALF, 3000), sge(&self->peer, HALF + 4000, 50),
				sge(&self->peer, HALF + 5000, 51) };
	unsigned char sent[3101], got[3101];

	memcpy(sent, self->us.mem, 100);
	memcpy(sent + 100, self->us.mem + 1000, 3000);
	memcpy(sent + 3100, self->us.mem + 5000, 1);
	ASSERT_EQ(recv_on(&self->peer, to, 3), 0);
	ASSERT_EQ(send_on(&self->us, request(&self->peer, IBV_WR_SEND, from, 3)), 0);
	ASSERT_EQ(done(&self->us, IBV_WC_SEND), 0);
	ASSERT_EQ(done(&self->peer, IBV_WC_RECV), 0);
	memcpy(got, self->peer.mem + HALF, 3000);
	memcpy(got + 3000, self->peer.mem + HALF + 4000, 50);
	memcpy(got + 3050, self->peer.mem + HALF + 5000, 51);
	EXPECT_EQ(memcmp(sent, got, sizeof(sent)), 0);
}

TEST_F(traffic, send_with_imm)
{
	struct ibv_sge from = sge(&self->us, 0, 512), to = sge(&self->peer, HALF, 512);
	struct ibv_wc wc;

	ASSERT_EQ(recv_on(&self->peer, &to, 1), 0);
	ASSERT_EQ(send_on(&self->us, request(&self->peer, IBV_WR_SEND_WITH_IMM, &from, 1)), 0);
	ASSERT_EQ(done(&self->us, IBV_WC_SEND), 0);
	wc = completion(&self->peer);
	EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
	EXPECT_TRUE(wc.wc_flags & IBV_WC_WITH_IMM);
	EXPECT_EQ(be32toh(wc.imm_data), 0xcafeU);
	EXPECT_EQ(memcmp(self->us.mem, self->peer.mem + HALF, 512), 0);
}

/* the memory of an inline request may be reused at once */
TEST_F(traffic, send_inline)
{
	unsigned char buf[100], want[100];
	struct ibv_sge from = { (uintptr_t)buf, sizeof(buf), 0 }, to = sge(&self->peer, HALF, 100);
	struct ibv_send_wr wr = request(&self->peer, IBV_WR_SEND, &from, 1);

	memset(want, 0x5a, sizeof(want));
	memcpy(buf, want, sizeof(buf));
	wr.send_flags |= IBV_SEND_INLINE;
	ASSERT_EQ(recv_on(&self->peer, &to, 1), 0);
	ASSERT_EQ(send_on(&self->us, wr), 0);
	memset(buf, 0, sizeof(buf));
	ASSERT_EQ(done(&self->us, IBV_WC_SEND), 0);
	ASSERT_EQ(done(&self->peer, IBV_WC_RECV), 0);
	EXPECT_EQ(memcmp(want, self->peer.mem + HALF, sizeof(want)), 0);
}

TEST_F(traffic, rdma_write)
{
	struct ibv_sge from = sge(&self->us, 0, HALF);

	ASSERT_EQ(send_on(&self->us, request(&self->peer, IBV_WR_RDMA_WRITE, &from, 1)), 0);
	ASSERT_EQ(done(&self->us, IBV_WC_RDMA_WRITE), 0);
	EXPECT_EQ(memcmp(self->us.mem, self->peer.mem + HALF, HALF), 0);
}

TEST_F(traffic, rdma_write_with_imm)
{
	struct ibv_sge from = sge(&self->us, 0, 600);
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	ASSERT_EQ(recv_on(&self->peer, NULL, 0), 0);
	wr = request(&self->peer, IBV_WR_RDMA_WRITE_WITH_IMM, &from, 1);
	ASSERT_EQ(send_on(&self->us, wr), 0);
	ASSERT_EQ(done(&self->us, IBV_WC_RDMA_WRITE), 0);
	wc = completion(&self->peer);
	EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(be32toh(wc.imm_data), 0xcafeU);
	EXPECT_EQ(memcmp(self->us.mem, self->peer.mem + HALF, 600), 0);
}

TEST_F(traffic, rdma_read)
{
	struct ibv_sge to = sge(&self->us, 0, HALF);

	ASSERT_EQ(send_on(&self->us, request(&self->peer, IBV_WR_RDMA_READ, &to, 1)), 0);
	ASSERT_EQ(done(&self->us, IBV_WC_RDMA_READ), 0);
	EXPECT_EQ(memcmp(self->us.mem, self->peer.mem + HALF, HALF), 0);
}

TEST_F(traffic, atomics)
{
	struct ibv_sge to = sge(&self->us, 64, 8);
	struct ibv_send_wr wr = request(&self->peer, IBV_WR_ATOMIC_FETCH_AND_ADD, &to, 1);
	uint64_t *there = (uint64_t *)(self->peer.mem + HALF);
	uint64_t *here = (uint64_t *)(self->us.mem + 64);

	*there = 40;
	wr.wr.atomic.remote_addr = self->peer.iova + HALF;
	wr.wr.atomic.rkey = self->peer.mr->rkey;
	wr.wr.atomic.compare_add = 2;
	ASSERT_EQ(send_on(&self->us, wr), 0);
	ASSERT_EQ(done(&self->us, IBV_WC_FETCH_ADD), 0);
	EXPECT_EQ(*here, 40U);
	EXPECT_EQ(*there, 42U);

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 42;
	wr.wr.atomic.swap = 7;
	ASSERT_EQ(send_on(&self->us, wr), 0);
	ASSERT_EQ(done(&self->us, IBV_WC_COMP_SWAP), 0);
	EXPECT_EQ(*here, 42U);
	EXPECT_EQ(*there, 7U);
}

/* more unsignaled requests than the queue has room for; none is reported */
TEST_F(traffic, unsignaled)
{
	struct ibv_sge from = sge(&self->us, 0, 8);
	struct ibv_send_wr wr = request(&self->peer, IBV_WR_RDMA_WRITE, &from, 1);
	time_t limit = time(NULL) + 20;
	struct ibv_wc wc;
	int i, ret;

	wr.send_flags = 0;
	for (i = 0; i < 1000; i++) {
		while ((ret = send_on(&self->us, wr)) == ENOMEM && time(NULL) < limit)
			ASSERT_EQ(ibv_poll_cq(self->us.cq, 1, &wc), 0);
		ASSERT_EQ(ret, 0);
	}
	wr.send_flags = IBV_SEND_SIGNALED;
	while ((ret = send_on(&self->us, wr)) == ENOMEM && time(NULL) < limit)
		ASSERT_EQ(ibv_poll_cq(self->us.cq, 1, &wc), 0);
	ASSERT_EQ(ret, 0);
	EXPECT_EQ(done(&self->us, IBV_WC_RDMA_WRITE), 0);
	EXPECT_EQ(ibv_poll_cq(self->us.cq, 1, &wc), 0);
}

TEST_F(traffic, receive)
{
	struct ibv_sge from = sge(&self->peer, 0, 4000), to[] = { sge(&self->us, HALF, 4000) };
	struct ibv_wc wc;

	ASSERT_EQ(recv_on(&self->us, to, 1), 0);
	ASSERT_EQ(send_on(&self->peer, request(&self->us, IBV_WR_SEND_WITH_IMM, &from, 1)), 0);
	wc = completion(&self->us);
	ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc.opcode, IBV_WC_RECV);
	EXPECT_EQ(wc.wr_id, 77U);
	EXPECT_EQ(wc.byte_len, 4000U);
	EXPECT_EQ(be32toh(wc.imm_data), 0xcafeU);
	EXPECT_EQ(memcmp(self->peer.mem, self->us.mem + HALF, 4000), 0);
}

/* armed: the channel's file descriptor becomes readable */
TEST_F(traffic, req_notify)
{
	struct ibv_sge from = sge(&self->us, 0, 8);
	struct pollfd channel = { .fd = self->channel->fd, .events = POLLIN };

	ASSERT_EQ(poll(&channel, 1, 0), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->us.cq, 0), 0);
	ASSERT_EQ(send_on(&self->us, request(&self->peer, IBV_WR_RDMA_WRITE, &from, 1)), 0);
	EXPECT_EQ(poll(&channel, 1, 5000), 1);
	EXPECT_EQ(done(&self->us, IBV_WC_RDMA_WRITE), 0);
}

/* a wrong key: the error comes to who posted, with its wr_id, then flushes */
TEST_F(traffic, error_and_flush)
{
	struct ibv_sge from = sge(&self->us, 0, 8);
	struct ibv_send_wr wr = request(&self->peer, IBV_WR_RDMA_WRITE, &from, 1);
	struct ibv_wc wc;

	wr.wr.rdma.rkey ^= 0xff00;
	wr.send_flags = 0;
	ASSERT_EQ(send_on(&self->us, wr), 0);
	wc = completion(&self->us);
	EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
	EXPECT_EQ(wc.wr_id, wr.wr_id);
	ASSERT_EQ(recv_on(&self->us, NULL, 0), 0);
	wc = completion(&self->us);
	EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(wc.wr_id, 77U);
}

TEST_HARNESS_MAIN
