// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The process that made the objects has been killed. What may who has its
 * bundle create, modify and destroy? As it stands in share(7), "Take-over".
 */
#include <sys/socket.h>
#include <kselftest_harness.h>
#include "share_library.h"
#include "share_test.h"

/* what a process has */
struct estate {
	struct ibv_context *context;
	struct ibv_share_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
};

FIXTURE(inheritance)
{
	struct child maker, third;
	struct estate ours;
	char before[256];
};

static int make(struct estate *e)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	int fd = memfd(PAGE);

	CHECK(e->context = lib_open("rxe0"));
	CHECK(e->ctx = ibv_share_open(e->context, NULL));
	CHECK(e->pd = ibv_share_alloc_pd(e->ctx));
	CHECK(e->cq = ibv_share_create_cq(e->ctx, 16, NULL, NULL, 0));
	init.send_cq = init.recv_cq = e->cq;
	CHECK(e->qp = ibv_share_create_qp(e->pd, &init));
	CHECK(e->mr = ibv_reg_shared_mr(e->pd, 0, PAGE, 0, fd, ACCESS));
	CHECK(!ibv_share_export_mr(e->mr, fd, 0, ACCESS));
	return 0;
}

static int receive(struct estate *e, int sock)
{
	CHECK(e->context = lib_open("rxe0"));
	CHECK(e->ctx = ibv_share_recv(e->context, sock));
	CHECK(e->pd = ibv_share_get_pd(e->ctx, NULL));
	CHECK(e->cq = ibv_share_get_cq(e->ctx, NULL));
	CHECK(e->qp = ibv_share_get_qp(e->ctx, NULL));
	CHECK(e->mr = ibv_share_get_mr(e->ctx, NULL));
	return 0;
}

static void make_and_wait(int sock, void *arg)
{
	struct estate e;

	CHILD_CHECK(!make(&e));
	CHILD_CHECK(!ibv_share_send(e.ctx, sock, IBV_SHARE_ALL_RIGHTS));
	hear(sock);
	pause();
}

/* The QP is connected to itself. */
static int send_and_receive(const struct estate *e)
{
	struct ibv_sge sge = { (uintptr_t)e->mr->addr, 64, e->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.wr_id = 2,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	uint64_t sum = 0;
	int i;

	CHECK(!ibv_post_recv(e->qp, &recv, &bad_recv));
	CHECK(!ibv_post_send(e->qp, &send, &bad));
	for (i = 0; i < 2; i++) {
		CHECK(wait_for(ibv_poll_cq(e->cq, 1, &wc)));
		CHECK(wc.status == IBV_WC_SUCCESS);
		sum += wc.wr_id;
	}
	CHECK(sum == 3);
	return 0;
}

/* gets the bundle from who is not its maker; works on when that has let go */
static void work_on(int sock, void *arg)
{
	struct estate e;

	CHILD_CHECK(!receive(&e, sock));
	CHILD_CHECK(!say(sock));
	CHILD_CHECK(!hear(sock));
	CHILD_CHECK(!send_and_receive(&e));
	CHILD_CHECK(!say(sock));
	CHILD_CHECK(!hear(sock));
	CHILD_CHECK(!ibv_share_close(e.ctx));
}

FIXTURE_SETUP(inheritance)
{
	uint32_t me;

	ASSERT_TRUE(read_resources("rxe0", self->before, sizeof(self->before)));
	ASSERT_EQ(0, child_start(&self->third, work_on, NULL));
	ASSERT_EQ(0, child_start(&self->maker, make_and_wait, NULL));
	ASSERT_EQ(0, receive(&self->ours, self->maker.sock));
	child_kill(&self->maker);
	me = ibv_share_get_slot(self->ours.ctx);
	ASSERT_EQ(0, ibv_share_set_heirs(self->ours.ctx, &me, 1));
}

/* rxe destroys in its own time */
static bool is_left_as(const char *before)
{
	char now[256];
	int tries = 100;

	while (read_resources("rxe0", now, sizeof(now)) && strcmp(now, before) && --tries)
		usleep(10000);
	return !strcmp(now, before);
}

FIXTURE_TEARDOWN(inheritance)
{
	EXPECT_EQ(0, ibv_share_close(self->ours.ctx));
	ibv_close_device(self->ours.context);
	if (self->third.pid)
		child_kill(&self->third);
	EXPECT_TRUE(is_left_as(self->before));
}

#define REFUSED "only the process that made the shared context can do that"

/* Nothing that lives in the maker's file; all that lives in one's own. */
TEST_F(inheritance, create)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1 };
	struct estate own, *e = &self->ours;
	char *mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	struct ibv_ah *ah;

	EXPECT_EQ(NULL, ibv_share_alloc_pd(e->ctx));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_STREQ(REFUSED, ibv_share_last_error());
	EXPECT_EQ(NULL, ibv_share_create_comp_channel(e->ctx));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(NULL, ibv_share_create_cq(e->ctx, 16, NULL, NULL, 0));
	EXPECT_EQ(EOPNOTSUPP, errno);
	init.send_cq = init.recv_cq = e->cq;
	EXPECT_EQ(NULL, ibv_share_create_qp(e->pd, &init));
	EXPECT_EQ(EOPNOTSUPP, errno);

	mr = ibv_share_reg_mr(e->pd, mem, PAGE, ACCESS);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(0, ibv_share_dereg_mr(mr));
	mr = ibv_reg_shared_mr(e->pd, 0, PAGE, 0, memfd(PAGE), ACCESS);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(EOPNOTSUPP, ibv_share_export_mr(mr, -1, 0, ACCESS));
	EXPECT_EQ(0, ibv_share_dereg_mr(mr));
	ASSERT_EQ(0, ibv_query_gid(e->context, 1, GID_INDEX, &to.grh.dgid));
	to.grh.sgid_index = GID_INDEX;
	ah = ibv_share_create_ah(e->pd, &to);
	ASSERT_NE(NULL, ah);
	EXPECT_EQ(0, ibv_share_destroy_ah(ah));

	/* what is missing it makes in a shared context of its own */
	ASSERT_EQ(0, make(&own));
	EXPECT_EQ(0, ibv_share_destroy_qp(own.qp));
	EXPECT_EQ(0, ibv_share_destroy_cq(own.cq));
	EXPECT_EQ(0, ibv_share_dereg_mr(own.mr));
	EXPECT_EQ(0, ibv_share_dealloc_pd(own.pd));
	EXPECT_EQ(0, ibv_share_close(own.ctx));
	EXPECT_EQ(0, ibv_close_device(own.context));
}

static int to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_share_modify_qp(qp, &attr, IBV_QP_STATE);
}

/* A whole life of the QP: with the right MANAGE, as the maker's. */
TEST_F(inheritance, modify)
{
	struct ibv_share_posted_attr posted;
	struct estate *e = &self->ours;
	union ibv_gid gid;
	uint32_t i;

	ASSERT_EQ(0, ibv_query_gid(e->context, 1, GID_INDEX, &gid));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, ibv_share_query_posted(e->qp, &posted));
		EXPECT_EQ(i, posted.sends);
		EXPECT_EQ(i, posted.receives);
		ASSERT_EQ(0, lib_connect(e->qp, 1, e->qp->qp_num, &gid));
		ASSERT_EQ(0, send_and_receive(e));
		ASSERT_EQ(0, to_state(e->qp, IBV_QPS_ERR));
		ASSERT_EQ(0, to_state(e->qp, IBV_QPS_RESET));
	}
}

/* It lets go of them; they are destroyed when the last member has left. */
TEST_F(inheritance, destroy)
{
	const long qps = count_objects("rxe0", "qp");
	struct estate again, *e = &self->ours;
	union ibv_gid gid;
	int sv[2];

	ASSERT_EQ(0, ibv_query_gid(e->context, 1, GID_INDEX, &gid));
	ASSERT_EQ(0, lib_connect(e->qp, 1, e->qp->qp_num, &gid));
	ASSERT_EQ(0, ibv_share_send(e->ctx, self->third.sock, IBV_SHARE_ALL_RIGHTS));
	ASSERT_EQ(0, hear(self->third.sock));
	EXPECT_EQ(EBUSY, ibv_share_destroy_cq(e->cq));
	ASSERT_EQ(0, ibv_share_destroy_qp(e->qp));
	ASSERT_EQ(0, ibv_share_destroy_cq(e->cq));
	EXPECT_EQ(EBUSY, ibv_share_dealloc_pd(e->pd));
	ASSERT_EQ(0, ibv_share_dereg_mr(e->mr));
	ASSERT_EQ(0, ibv_share_dealloc_pd(e->pd));
	EXPECT_EQ(qps, count_objects("rxe0", "qp"));

	/* they are no part of what it sends from now on */
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv));
	ASSERT_EQ(0, ibv_share_send(e->ctx, sv[0], IBV_SHARE_ALL_RIGHTS));
	again.ctx = ibv_share_recv(e->context, sv[1]);
	ASSERT_NE(NULL, again.ctx);
	EXPECT_EQ(NULL, ibv_share_get_qp(again.ctx, NULL));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(0, ibv_share_close(again.ctx));

	ASSERT_EQ(0, say(self->third.sock));
	ASSERT_EQ(0, hear(self->third.sock));
	ASSERT_EQ(0, say(self->third.sock));
	EXPECT_EQ(0, child_end(&self->third));
	self->third.pid = 0;
	/* the last member of the context takes them along, see the teardown */
	EXPECT_EQ(qps, count_objects("rxe0", "qp"));
}

/* Who may not post cannot look whether somebody else is in the middle of it. */
TEST_F(inheritance, posted_wants_both_rights)
{
	const unsigned int lacking[] = { IBV_SHARE_POST_SEND, IBV_SHARE_POST_RECV };
	struct ibv_share_posted_attr posted;
	struct estate *e = &self->ours;
	struct ibv_share_context *got;
	int sv[2];
	size_t i;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, ibv_share_send(e->ctx, sv[0], IBV_SHARE_ALL_RIGHTS & ~lacking[i]));
		got = ibv_share_recv(e->context, sv[1]);
		ASSERT_NE(NULL, got);
		EXPECT_EQ(EACCES, ibv_share_query_posted(ibv_share_get_qp(got, NULL), &posted));
		EXPECT_EQ(0, ibv_share_close(got));
	}
}

TEST_HARNESS_MAIN
