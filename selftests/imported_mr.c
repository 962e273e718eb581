// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The library's regions on a received PD. One process is maker and receiver;
 * the QP is connected to itself, so that a write of the receiver shows what
 * both of the keys that it uses stand for.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_library.h"
#include "share_test.h"

#define LENGTH (8 * PAGE)
#define IOVA 0x500000000ULL
#define ALL (ACCESS | IBV_ACCESS_REMOTE_WRITE)

FIXTURE(imported_mr)
{
	struct ibv_context *context;
	struct ibv_share_context *ctx, *got;
	struct ibv_pd *pd, *got_pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp, *got_qp;
	struct ibv_mr *mr, *source;
	int memfd, grant;
	char *mem, *own;
	long pinned, regions;
};

static int make(FIXTURE_DATA(imported_mr) *self)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	union ibv_gid gid;

	CHECK(self->context = lib_open("rxe0"));
	CHECK(self->ctx = ibv_share_open(self->context, NULL));
	CHECK(self->pd = ibv_share_alloc_pd(self->ctx));
	CHECK(self->cq = ibv_share_create_cq(self->ctx, 16, NULL, NULL, 0));
	init.send_cq = init.recv_cq = self->cq;
	CHECK(self->qp = ibv_share_create_qp(self->pd, &init));
	CHECK(!ibv_query_gid(self->context, 1, GID_INDEX, &gid));
	CHECK(!lib_connect(self->qp, 1, self->qp->qp_num, &gid));
	CHECK((self->memfd = memfd(LENGTH)) >= 0);
	CHECK(self->mr = ibv_reg_shared_mr(self->pd, 0, LENGTH, IOVA, self->memfd, ALL));
	CHECK(!ibv_share_export_mr(self->mr, self->memfd, 0, ALL));
	return 0;
}

static int receive(FIXTURE_DATA(imported_mr) *self)
{
	int sv[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv));
	CHECK(!ibv_share_send(self->ctx, sv[0], IBV_SHARE_ALL_RIGHTS));
	CHECK(self->got = ibv_share_recv(self->context, sv[1]));
	close(sv[0]);
	close(sv[1]);
	CHECK(self->got_pd = ibv_share_get_pd(self->got, NULL));
	CHECK(self->got_qp = ibv_share_get_qp(self->got, NULL));
	CHECK((self->grant = ibv_share_mr_grant(ibv_share_get_mr(self->got, NULL))) >= 0);
	self->mem = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, self->memfd, 0);
	self->own = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(self->mem != MAP_FAILED && self->own != MAP_FAILED);
	memcpy(self->own, "hello", 5);
	CHECK(self->source = ibv_share_reg_mr(self->got_pd, self->own, PAGE, ALL));
	return 0;
}

FIXTURE_SETUP(imported_mr)
{
	ASSERT_EQ(make(self), 0);
	ASSERT_EQ(receive(self), 0);
	self->pinned = pinned_kb();
	self->regions = count_objects("rxe0", "mr");
}

FIXTURE_TEARDOWN(imported_mr)
{
	EXPECT_EQ(ibv_share_dereg_mr(self->source), 0);
	EXPECT_EQ(ibv_share_close(self->got), 0);
	if (self->qp)
		EXPECT_EQ(ibv_share_destroy_qp(self->qp), 0);
	EXPECT_EQ(ibv_share_destroy_cq(self->cq), 0);
	EXPECT_EQ(ibv_share_dereg_mr(self->mr), 0);
	EXPECT_EQ(ibv_share_dealloc_pd(self->pd), 0);
	EXPECT_EQ(ibv_share_close(self->ctx), 0);
	EXPECT_EQ(count_objects("rxe0", "mr"), 0);
}

/* Return: status of an RDMA write of "hello", -1 if there is none */
static int write_hello(FIXTURE_DATA(imported_mr) *self, uint64_t to, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)self->own, 5, self->source->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int n = 0;

	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = rkey;
	if (ibv_post_send(self->got_qp, &wr, &bad) ||
	    !wait_for((n = ibv_poll_cq(self->got_qp->send_cq, 1, &wc))))
		return -1;
	return n == 1 ? (int)wc.status : -1;
}

TEST_F(imported_mr, own_memory)
{
	struct ibv_mr *mr;

	mr = ibv_share_reg_mr(self->got_pd, self->own + PAGE, PAGE, ALL);
	ASSERT_NE(mr, NULL);
	EXPECT_EQ(mr->pd, self->got_pd);
	EXPECT_EQ(mr->addr, self->own + PAGE);
	EXPECT_EQ(mr->length, PAGE);
	EXPECT_EQ(pinned_kb(), self->pinned + 4);
	EXPECT_EQ(write_hello(self, (uintptr_t)mr->addr + 7, mr->rkey), 0);
	EXPECT_EQ(memcmp(self->own + PAGE + 7, "hello", 5), 0);
	/* not the verb of libibverbs, which harms nothing */
	EXPECT_EQ(ibv_dereg_mr(mr), EBADF);
	EXPECT_EQ(ibv_share_dereg_mr(mr), 0);
	EXPECT_EQ(pinned_kb(), self->pinned);
}

TEST_F(imported_mr, file)
{
	struct ibv_mr *mr;

	mr = ibv_reg_shared_mr(self->got_pd, PAGE, PAGE, IOVA, self->memfd, ALL);
	ASSERT_NE(mr, NULL);
	EXPECT_EQ(write_hello(self, IOVA, mr->rkey), 0);
	EXPECT_EQ(memcmp(self->mem + PAGE, "hello", 5), 0);
	EXPECT_EQ(count_objects("rxe0", "mr"), self->regions + 1);
	EXPECT_EQ(ibv_share_dereg_mr(mr), 0);
}

/* the same keys, no second pin, no second region */
TEST_F(imported_mr, alias)
{
	struct ibv_mr *mr, *again;

	mr = ibv_reg_shared_mr(self->got_pd, 0, 0, 0, self->grant, IBV_ACCESS_LOCAL_WRITE);
	again = ibv_reg_shared_mr(self->got_pd, 0, LENGTH, IOVA, self->grant, ALL);
	ASSERT_NE(mr, NULL);
	ASSERT_NE(again, NULL);
	EXPECT_EQ(mr->rkey, self->mr->rkey);
	EXPECT_EQ(again->lkey, self->mr->lkey);
	EXPECT_EQ(mr->length, LENGTH);
	EXPECT_EQ((uintptr_t)mr->addr, IOVA);
	EXPECT_EQ(pinned_kb(), self->pinned);
	EXPECT_EQ(count_objects("rxe0", "mr"), self->regions);
	EXPECT_TRUE(fdinfo_has(self->grant, "share-imports:\t4"));
	EXPECT_EQ(ibv_share_dereg_mr(mr), 0);
	EXPECT_TRUE(fdinfo_has(self->grant, "share-imports:\t3"));
	EXPECT_EQ(write_hello(self, IOVA, again->rkey), 0);
	EXPECT_EQ(memcmp(self->mem, "hello", 5), 0);
	EXPECT_EQ(ibv_share_dereg_mr(again), 0);
}

/* with another address or less of it, it is a region of its own */
TEST_F(imported_mr, part_of_a_grant)
{
	struct ibv_mr *mr;

	mr = ibv_reg_shared_mr(self->got_pd, PAGE, PAGE, 0, self->grant, ALL);
	ASSERT_NE(mr, NULL);
	EXPECT_NE(mr->rkey, self->mr->rkey);
	EXPECT_EQ(pinned_kb(), self->pinned + 4);
	EXPECT_EQ(write_hello(self, 0, mr->rkey), 0);
	EXPECT_EQ(memcmp(self->mem + PAGE, "hello", 5), 0);
	EXPECT_EQ(ibv_share_dereg_mr(mr), 0);
}

/* an alias of a region of another PD would have keys that do not work */
TEST_F(imported_mr, grant_of_another_pd)
{
	struct ibv_pd *pd = ibv_share_alloc_pd(self->ctx);
	int fd = memfd(PAGE);
	struct ibv_mr *other, *mr;

	other = ibv_reg_shared_mr(pd, 0, PAGE, 0, fd, ALL);
	ASSERT_NE(other, NULL);
	ASSERT_EQ(ibv_share_export_mr(other, fd, 0, ALL), 0);
	mr = ibv_reg_shared_mr(self->got_pd, 0, PAGE, 0, ibv_share_mr_grant(other), ALL);
	ASSERT_NE(mr, NULL);
	EXPECT_NE(mr->rkey, other->rkey);
	EXPECT_EQ(write_hello(self, 0, mr->rkey), 0);
	EXPECT_EQ(ibv_share_dereg_mr(mr), 0);
	EXPECT_EQ(ibv_share_dereg_mr(other), 0);
	EXPECT_EQ(ibv_share_dealloc_pd(pd), 0);
}

TEST_F(imported_mr, wider_than_granted)
{
	int access = ALL | IBV_ACCESS_REMOTE_ATOMIC;

	EXPECT_EQ(ibv_reg_shared_mr(self->got_pd, 0, 0, 0, self->grant, access), NULL);
	EXPECT_EQ(errno, EACCES);
	EXPECT_EQ(ibv_reg_shared_mr(self->got_pd, 0, PAGE, 0, self->grant, access), NULL);
	EXPECT_EQ(errno, EACCES);
}

TEST_F(imported_mr, not_mapped)
{
	EXPECT_EQ(ibv_share_reg_mr(self->got_pd, NULL, PAGE, ALL), NULL);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_NE(strstr(ibv_share_last_error(), "not mapped"), NULL);
}

/* not in a child: that could not use the context */
TEST_F(imported_mr, memlock)
{
	const struct rlimit limit = { 4096, RLIM_INFINITY };

	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	ASSERT_EQ(seteuid(65534), 0);
	EXPECT_EQ(ibv_share_reg_mr(self->got_pd, self->own, LENGTH, ALL), NULL);
	EXPECT_EQ(errno, ENOMEM);
	EXPECT_NE(strstr(ibv_share_last_error(), "ulimit -l"), NULL);
	ASSERT_EQ(seteuid(0), 0);
	EXPECT_EQ(pinned_kb(), self->pinned);
}

TEST_HARNESS_MAIN
