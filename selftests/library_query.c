// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * ibv_share_query_cq() and ibv_share_query_mr() in the maker, in a receiver
 * that may read and in one that may not.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_library.h"

#define LENGTH 8192
#define IOVA 0x40000

FIXTURE(library_query)
{
	struct ibv_context *context;
	struct ibv_share_context *ctx, *receiver;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	int memfd;
	int sv[2];
};

FIXTURE_SETUP(library_query)
{
	self->context = lib_open("rxe0");
	ASSERT_NE(self->context, NULL);
	self->ctx = ibv_share_open(self->context, NULL);
	self->pd = ibv_share_alloc_pd(self->ctx);
	self->cq = ibv_share_create_cq(self->ctx, 16, NULL, NULL, 0);
	self->memfd = memfd_create("query", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(self->memfd, LENGTH), 0);
	self->mr = ibv_reg_shared_mr(self->pd, 0, LENGTH, IOVA, self->memfd, ACCESS);
	ASSERT_NE(self->mr, NULL);
	ASSERT_EQ(ibv_share_export_mr(self->mr, self->memfd, 0, IBV_ACCESS_REMOTE_READ), 0);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sv), 0);
}

FIXTURE_TEARDOWN(library_query)
{
	if (self->receiver)
		EXPECT_EQ(ibv_share_close(self->receiver), 0);
	EXPECT_EQ(ibv_share_dereg_mr(self->mr), 0);
	EXPECT_EQ(ibv_share_destroy_cq(self->cq), 0);
	EXPECT_EQ(ibv_share_dealloc_pd(self->pd), 0);
	EXPECT_EQ(ibv_share_close(self->ctx), 0);
}

static bool receive(FIXTURE_DATA(library_query) *self, unsigned int rights)
{
	if (ibv_share_send(self->ctx, self->sv[0], rights))
		return false;
	self->receiver = ibv_share_recv(self->context, self->sv[1]);
	return self->receiver;
}

static void cq_is_known(struct __test_metadata *_metadata, struct ibv_cq *cq)
{
	struct ibv_share_cq_attr attr = { 0, 0 };

	ASSERT_EQ(ibv_share_query_cq(cq, &attr), 0);
	EXPECT_LE(16, attr.cqe);
	EXPECT_EQ(cq->cqe, (int)attr.cqe);
	EXPECT_LE(4096, attr.ring_bytes);
}

static void mr_is_known(struct __test_metadata *_metadata, struct ibv_mr *mr)
{
	struct ibv_share_mr_attr attr = { 0, 0, 0, 0, 0 };

	ASSERT_EQ(ibv_share_query_mr(mr, &attr), 0);
	EXPECT_EQ(mr->lkey, attr.lkey);
	EXPECT_EQ(mr->rkey, attr.rkey);
	EXPECT_EQ(IOVA, attr.iova);
	EXPECT_EQ(LENGTH, attr.length);
	EXPECT_EQ(IBV_ACCESS_REMOTE_READ, attr.access);
}

TEST_F(library_query, in_the_maker)
{
	cq_is_known(_metadata, self->cq);
	mr_is_known(_metadata, self->mr);
}

TEST_F(library_query, in_a_receiver)
{
	ASSERT_TRUE(receive(self, IBV_SHARE_ALL_RIGHTS));
	cq_is_known(_metadata, ibv_share_get_cq(self->receiver, NULL));
	mr_is_known(_metadata, ibv_share_get_mr(self->receiver, NULL));
}

TEST_F(library_query, without_the_right)
{
	struct ibv_share_cq_attr cq;
	struct ibv_share_mr_attr mr;

	ASSERT_TRUE(receive(self, IBV_SHARE_ALL_RIGHTS & ~IBV_SHARE_READ));
	EXPECT_EQ(ibv_share_query_cq(ibv_share_get_cq(self->receiver, NULL), &cq), EACCES);
	EXPECT_NE(strstr(ibv_share_last_error(), "ask for more rights"), NULL);
	EXPECT_EQ(ibv_share_query_mr(ibv_share_get_mr(self->receiver, NULL), &mr), EACCES);
}

/* objects of libibverbs */
TEST_F(library_query, of_others)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->context);
	struct ibv_mr *mr = ibv_reg_mr(pd, self, sizeof(*self), 0);
	struct ibv_cq *cq = ibv_create_cq(self->context, 4, NULL, NULL, 0);
	struct ibv_share_cq_attr cq_attr;
	struct ibv_share_mr_attr mr_attr;

	ASSERT_NE(mr, NULL);
	EXPECT_EQ(ibv_share_query_cq(cq, &cq_attr), EINVAL);
	EXPECT_EQ(ibv_share_query_mr(mr, &mr_attr), EINVAL);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	EXPECT_EQ(ibv_dereg_mr(mr), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(library_query, after_revocation)
{
	struct ibv_share_mr_attr attr;
	struct ibv_mr *received, *mr = self->mr;

	ASSERT_TRUE(receive(self, IBV_SHARE_ALL_RIGHTS));
	received = ibv_share_get_mr(self->receiver, NULL);
	EXPECT_EQ(ibv_share_dereg_mr(mr), 0);
	EXPECT_EQ(ibv_share_query_mr(received, &attr), ENOLINK);
	self->mr = ibv_reg_shared_mr(self->pd, 0, LENGTH, IOVA, self->memfd, ACCESS);
	EXPECT_EQ(ibv_share_export_mr(self->mr, -1, 0, 0), 0);
	EXPECT_EQ(ibv_share_query_mr(self->mr, &attr), 0);
	EXPECT_EQ(0, attr.access);
}

TEST_HARNESS_MAIN
