// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Shared queue pairs of type UC and UD on rxe0, several on one CQ, by exporter
 * and importer at once, against ordinary ones on rxe1. Messages are numbered.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_library.h"

#define QPS 3
#define SLOT 128
#define GRH 40
#define QKEY 0x1234
#define UC_TO_RTR \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
/* of each side, for each queue pair */
#define MESSAGES 8
#define BYTES (QPS * 4 * MESSAGES * SLOT)
#define IOVA 0x7100000000ULL

/* who posts, and where in the memory */
enum part {
	EXPORTER_SEND,
	EXPORTER_RECV,
	IMPORTER_SEND,
	IMPORTER_RECV,
};

FIXTURE(datagram)
{
	struct ibv_context *context, *peer_context;
	struct ibv_share_context *ctx, *imported;
	struct ibv_pd *pd, *peer_pd;
	struct ibv_cq *cq, *peer_cq;
	struct ibv_qp *qp[QPS], *imported_qp[QPS], *peer_qp[QPS];
	struct ibv_ah *ah, *imported_ah, *peer_ah;
	struct ibv_mr *mr, *peer_mr;
	unsigned char *mem, *peer_mem;
	union ibv_gid gid, peer_gid;
	int sv[2];
};

FIXTURE_VARIANT(datagram)
{
	enum ibv_qp_type type;
};

FIXTURE_VARIANT_ADD(datagram, uc){
	.type = IBV_QPT_UC,
};

FIXTURE_VARIANT_ADD(datagram, ud){
	.type = IBV_QPT_UD,
};

static struct ibv_ah_attr address(const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	attr.grh.dgid = *gid;
	attr.grh.sgid_index = GID_INDEX;
	attr.grh.hop_limit = 1;
	return attr;
}

static int connect_qp(struct ibv_qp *qp, int shared, uint32_t to, const union ibv_gid *gid)
{
	int (*modify)(struct ibv_qp * qp, struct ibv_qp_attr * attr, int mask) =
		shared ? ibv_share_modify_qp : ibv_modify_qp;
	const int ud = qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to,
		.ah_attr = address(gid),
	};

	CHECK(!modify(qp, &attr,
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
	attr.qp_state = IBV_QPS_RTR;
	CHECK(!modify(qp, &attr, ud ? IBV_QP_STATE : UC_TO_RTR));
	attr.qp_state = IBV_QPS_RTS;
	CHECK(!modify(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	return 0;
}

static int open_shared(FIXTURE_DATA(datagram) *self, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = { .cap = { 2 * MESSAGES, 2 * MESSAGES, 1, 1, 0 },
					 .qp_type = type };
	int fd = memfd_create("datagram", MFD_CLOEXEC), i;

	CHECK(fd >= 0 && !ftruncate(fd, BYTES));
	CHECK(self->context = lib_open("rxe0"));
	CHECK(self->ctx = ibv_share_open(self->context, NULL));
	CHECK(self->pd = ibv_share_alloc_pd(self->ctx));
	CHECK(self->cq = ibv_share_create_cq(self->ctx, QPS * 4 * MESSAGES, NULL, NULL, 0));
	init.send_cq = init.recv_cq = self->cq;
	for (i = 0; i < QPS; i++)
		CHECK(self->qp[i] = ibv_share_create_qp(self->pd, &init));
	CHECK(self->mr = ibv_reg_shared_mr(self->pd, 0, BYTES, IOVA, fd, ACCESS));
	self->mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(self->mem != MAP_FAILED);
	close(fd);
	return 0;
}

static int open_peer(FIXTURE_DATA(datagram) *self, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = { .cap = { 4 * MESSAGES, 4 * MESSAGES, 1, 1, 0 },
					 .qp_type = type };
	int i;

	CHECK(self->peer_context = lib_open("rxe1"));
	CHECK(self->peer_pd = ibv_alloc_pd(self->peer_context));
	CHECK(self->peer_cq = ibv_create_cq(self->peer_context, QPS * 8 * MESSAGES, NULL, NULL, 0));
	init.send_cq = init.recv_cq = self->peer_cq;
	for (i = 0; i < QPS; i++)
		CHECK(self->peer_qp[i] = ibv_create_qp(self->peer_pd, &init));
	self->peer_mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	CHECK(self->peer_mr = ibv_reg_mr(self->peer_pd, self->peer_mem, BYTES, ACCESS));
	return 0;
}

static int import_all(FIXTURE_DATA(datagram) *self)
{
	const char *const names[QPS] = { "qp0", "qp1", "qp2" };
	int i;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sv));
	CHECK(!ibv_share_send(self->ctx, self->sv[0], IBV_SHARE_ALL_RIGHTS));
	CHECK(self->imported = ibv_share_recv(self->context, self->sv[1]));
	for (i = 0; i < QPS; i++)
		CHECK(self->imported_qp[i] = ibv_share_get_qp(self->imported, names[i]));
	return 0;
}

static int make_handles(FIXTURE_DATA(datagram) *self)
{
	struct ibv_ah_attr to_peer = address(&self->peer_gid), to_us = address(&self->gid);

	CHECK(self->ah = ibv_share_create_ah(self->pd, &to_peer));
	CHECK(self->imported_ah = ibv_share_create_ah(self->imported_qp[0]->pd, &to_peer));
	CHECK(self->peer_ah = ibv_create_ah(self->peer_pd, &to_us));
	return 0;
}

FIXTURE_SETUP(datagram)
{
	int i;

	ASSERT_EQ(open_shared(self, variant->type), 0);
	ASSERT_EQ(open_peer(self, variant->type), 0);
	ASSERT_EQ(ibv_query_gid(self->context, 1, GID_INDEX, &self->gid), 0);
	ASSERT_EQ(ibv_query_gid(self->peer_context, 1, GID_INDEX, &self->peer_gid), 0);
	ASSERT_EQ(import_all(self), 0);
	ASSERT_EQ(make_handles(self), 0);
	for (i = 0; i < QPS; i++) {
		ASSERT_EQ(connect_qp(self->qp[i], 1, self->peer_qp[i]->qp_num, &self->peer_gid), 0);
		ASSERT_EQ(connect_qp(self->peer_qp[i], 0, self->qp[i]->qp_num, &self->gid), 0);
	}
}

FIXTURE_TEARDOWN(datagram)
{
	int i;

	EXPECT_EQ(ibv_share_destroy_ah(self->ah), 0);
	EXPECT_EQ(ibv_share_destroy_ah(self->imported_ah), 0);
	EXPECT_EQ(ibv_share_close(self->imported), 0);
	EXPECT_EQ(ibv_dereg_mr(self->mr), 0);
	for (i = 0; i < QPS; i++)
		EXPECT_EQ(ibv_share_destroy_qp(self->qp[i]), 0);
	EXPECT_EQ(ibv_share_destroy_cq(self->cq), 0);
	EXPECT_EQ(ibv_share_dealloc_pd(self->pd), 0);
	EXPECT_EQ(ibv_share_close(self->ctx), 0);
}

static size_t place(int part, int qp, int number)
{
	return ((size_t)(part * QPS + qp) * MESSAGES + (size_t)number) * SLOT;
}

/* of a message and of its completion */
static uint32_t id_of(int part, int qp, int number)
{
	return (uint32_t)(part << 16 | qp << 8 | number);
}

static int post_recvs(struct ibv_qp *qp, const struct ibv_mr *mr, uint64_t base, int part, int at)
{
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge = { .length = SLOT, .lkey = mr->lkey };
	int i;

	wr.sg_list = &sge;
	for (i = 0; i < MESSAGES; i++) {
		wr.wr_id = id_of(part, at, i);
		sge.addr = base + place(part, at, i);
		CHECK(!ibv_post_recv(qp, &wr, &bad));
	}
	return 0;
}

static int post_sends(struct ibv_qp *qp, const struct ibv_mr *mr, uint64_t base, int part, int at,
		      struct ibv_ah *ah, uint32_t to, unsigned char *mem)
{
	struct ibv_send_wr wr = { .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_sge sge = { .length = SLOT - GRH, .lkey = mr->lkey };
	int i;

	wr.sg_list = &sge;
	if (qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = to;
		wr.wr.ud.remote_qkey = QKEY;
	}
	for (i = 0; i < MESSAGES; i++) {
		wr.wr_id = id_of(part, at, i);
		wr.imm_data = id_of(part, at, i);
		sge.addr = base + place(part, at, i);
		memset(mem + place(part, at, i), part * 64 + at * 16 + i, SLOT - GRH);
		CHECK(!ibv_post_send(qp, &wr, &bad));
	}
	return 0;
}

/* bit mask of the messages that were seen, for each part and queue pair */
struct seen {
	unsigned int of[4][QPS];
	int total;
};

static int poll_for(struct ibv_cq *cq, struct seen *seen, int want, struct ibv_wc *last)
{
	struct timespec start, now;
	struct ibv_wc wc;
	int n, part, qp;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (seen->total < want) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		CHECK(now.tv_sec - start.tv_sec < 20);
		n = ibv_poll_cq(cq, 1, &wc);
		CHECK(n >= 0);
		if (!n)
			continue;
		CHECK(wc.status == IBV_WC_SUCCESS);
		part = (int)(wc.wr_id >> 16);
		qp = (int)(wc.wr_id >> 8) & 0xff;
		CHECK(part < 4 && qp < QPS);
		CHECK(!(seen->of[part][qp] & 1U << (wc.wr_id & 0xff)));
		seen->of[part][qp] |= 1U << (wc.wr_id & 0xff);
		seen->total++;
		*last = wc;
	}
	CHECK(!ibv_poll_cq(cq, 1, &wc));
	return 0;
}

/* Exporter and importer send on each queue pair; all arrives once. */
TEST_F(datagram, sends)
{
	const uint64_t peer_base = (uintptr_t)self->peer_mem;
	struct seen exporter = {}, importer = {}, peer = {};
	struct ibv_wc wc = {};
	int i, q;

	for (q = 0; q < QPS; q++) {
		ASSERT_EQ(post_recvs(self->peer_qp[q], self->peer_mr, peer_base, 0, q), 0);
		ASSERT_EQ(post_recvs(self->peer_qp[q], self->peer_mr, peer_base, 1, q), 0);
	}
	for (q = 0; q < QPS; q++) {
		ASSERT_EQ(post_sends(self->qp[q], self->mr, IOVA, EXPORTER_SEND, q, self->ah,
				     self->peer_qp[q]->qp_num, self->mem),
			  0);
		ASSERT_EQ(post_sends(self->imported_qp[q], self->mr, IOVA, IMPORTER_SEND, q,
				     self->imported_ah, self->peer_qp[q]->qp_num, self->mem),
			  0);
	}
	ASSERT_EQ(poll_for(self->cq, &exporter, QPS * MESSAGES, &wc), 0);
	ASSERT_EQ(poll_for(self->imported_qp[0]->send_cq, &importer, QPS * MESSAGES, &wc), 0);
	ASSERT_EQ(poll_for(self->peer_cq, &peer, QPS * 2 * MESSAGES, &wc), 0);
	for (i = 0; i < QPS; i++) {
		EXPECT_EQ(exporter.of[EXPORTER_SEND][i], (1U << MESSAGES) - 1);
		EXPECT_EQ(importer.of[IMPORTER_SEND][i], (1U << MESSAGES) - 1);
		EXPECT_EQ(peer.of[0][i] & peer.of[1][i], (1U << MESSAGES) - 1);
	}
	if (variant->type == IBV_QPT_UD) {
		EXPECT_TRUE(wc.wc_flags & IBV_WC_GRH);
		EXPECT_EQ(wc.byte_len, SLOT);
	} else {
		EXPECT_EQ(wc.byte_len, SLOT - GRH);
	}
}

/* Both post receives on each queue pair; each gets what came into its own. */
TEST_F(datagram, receives)
{
	const int offset = variant->type == IBV_QPT_UD ? GRH : 0;
	const uint64_t peer_base = (uintptr_t)self->peer_mem;
	struct seen exporter = {}, importer = {}, peer = {};
	struct ibv_wc wc = {};
	int i, q;

	for (q = 0; q < QPS; q++) {
		ASSERT_EQ(post_recvs(self->qp[q], self->mr, IOVA, EXPORTER_RECV, q), 0);
		ASSERT_EQ(post_recvs(self->imported_qp[q], self->mr, IOVA, IMPORTER_RECV, q), 0);
	}
	for (q = 0; q < QPS; q++) {
		for (i = 0; i < 2; i++)
			ASSERT_EQ(post_sends(self->peer_qp[q], self->peer_mr, peer_base, i, q,
					     self->peer_ah, self->qp[q]->qp_num, self->peer_mem),
				  0);
	}
	ASSERT_EQ(poll_for(self->cq, &exporter, QPS * MESSAGES, &wc), 0);
	if (variant->type == IBV_QPT_UD)
		EXPECT_EQ(wc.src_qp, self->peer_qp[wc.wr_id >> 8 & 0xff]->qp_num);
	ASSERT_EQ(poll_for(self->imported_qp[0]->recv_cq, &importer, QPS * MESSAGES, &wc), 0);
	ASSERT_EQ(poll_for(self->peer_cq, &peer, QPS * 2 * MESSAGES, &wc), 0);
	for (q = 0; q < QPS; q++) {
		EXPECT_EQ(exporter.of[EXPORTER_RECV][q], (1U << MESSAGES) - 1);
		EXPECT_EQ(importer.of[IMPORTER_RECV][q], (1U << MESSAGES) - 1);
		for (i = 0; i < MESSAGES; i++) {
			EXPECT_EQ(self->mem[place(EXPORTER_RECV, q, i) + offset], q * 16 + i);
			EXPECT_EQ(self->mem[place(IMPORTER_RECV, q, i) + offset], 64 + q * 16 + i);
		}
	}
}

/* What goes to the device that it comes from does not leave the machine. */
TEST_F(datagram, to_oneself)
{
	struct ibv_ah_attr to_us = address(&self->gid);
	struct seen exporter = {}, importer = {};
	struct ibv_ah *ah;
	struct ibv_wc wc;

	if (variant->type != IBV_QPT_UD)
		SKIP(return, "a connected queue pair has one peer");
	ASSERT_TRUE(ah = ibv_share_create_ah(self->pd, &to_us));
	ASSERT_EQ(post_recvs(self->imported_qp[1], self->mr, IOVA, IMPORTER_RECV, 1), 0);
	ASSERT_EQ(post_sends(self->qp[0], self->mr, IOVA, EXPORTER_SEND, 0, ah,
			     self->qp[1]->qp_num, self->mem),
		  0);
	ASSERT_EQ(poll_for(self->cq, &exporter, MESSAGES, &wc), 0);
	ASSERT_EQ(poll_for(self->imported_qp[0]->recv_cq, &importer, MESSAGES, &wc), 0);
	EXPECT_EQ(importer.of[IMPORTER_RECV][1], (1U << MESSAGES) - 1);
	EXPECT_EQ(ibv_share_destroy_ah(ah), 0);
}

/* An address handle that is not of this context is refused, and nothing sent. */
TEST_F(datagram, foreign_handles)
{
	struct ibv_ah_attr attr = address(&self->peer_gid);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_pd *pd = ibv_alloc_pd(self->context);
	struct ibv_ah *ordinary = ibv_create_ah(pd, &attr);

	ASSERT_NE(ordinary, NULL);
	if (variant->type == IBV_QPT_UD) {
		wr.wr.ud.remote_qpn = self->peer_qp[0]->qp_num;
		wr.wr.ud.ah = ordinary;
		EXPECT_EQ(ibv_post_send(self->qp[0], &wr, &bad), EINVAL);
		wr.wr.ud.ah = NULL;
		EXPECT_EQ(ibv_post_send(self->qp[0], &wr, &bad), EINVAL);
		wr.wr.ud.ah = self->imported_ah;
		EXPECT_EQ(ibv_post_send(self->qp[0], &wr, &bad), EINVAL);
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.ud.ah = self->ah;
		EXPECT_EQ(ibv_post_send(self->qp[0], &wr, &bad), EINVAL);
	}
	EXPECT_EQ(ibv_destroy_ah(self->ah), EBADF);
	EXPECT_EQ(ibv_share_destroy_ah(ordinary), EINVAL);
	attr.is_global = 0;
	EXPECT_EQ(ibv_share_create_ah(self->pd, &attr), NULL);
	EXPECT_EQ(errno, EINVAL);
	attr.is_global = 1;
	attr.grh.sgid_index = 200;
	EXPECT_EQ(ibv_share_create_ah(self->pd, &attr), NULL);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(ibv_destroy_ah(ordinary), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_HARNESS_MAIN
