// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A process holds a lock of a QP or CQ. If it is stopped, others are told so,
 * and nothing is taken away from it; if it is killed, they go on at once. It is
 * the same when each is in a pid name space of its own, where the holder and
 * the one that wants the lock have the same number.
 */
#include <string.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_holder.h"

FIXTURE(stopped)
{
	struct holder holder, other;
	struct ibv_context *context;
	struct ibv_share_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint64_t *messages;
	uint32_t arrived[HOLDER_MANY];
};

FIXTURE_VARIANT(stopped)
{
	int own_pids;
};

FIXTURE_VARIANT_ADD(stopped, same_pids){
	.own_pids = 0,
};

FIXTURE_VARIANT_ADD(stopped, pid_namespaces){
	.own_pids = 1,
};

/* A QP that is connected to itself, with buffers for all messages. */
static int make(FIXTURE_DATA(stopped) *self)
{
	struct ibv_qp_init_attr init = { .cap = { 8, HOLDER_MANY, 1, 1, 16 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_sge sge = { .length = sizeof(*self->messages) };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	union ibv_gid gid;

	CHECK(self->context = lib_open("rxe0"));
	CHECK(self->ctx = ibv_share_open(self->context, NULL));
	CHECK(self->pd = ibv_share_alloc_pd(self->ctx));
	/* its ring is longer than those of the QP */
	CHECK(self->cq = ibv_share_create_cq(self->ctx, 1000, NULL, NULL, 0));
	init.send_cq = init.recv_cq = self->cq;
	CHECK(self->qp = ibv_share_create_qp(self->pd, &init));
	CHECK(self->messages = calloc(HOLDER_MANY, sizeof(*self->messages)));
	CHECK(self->mr = ibv_share_reg_mr(self->pd, self->messages,
					  HOLDER_MANY * sizeof(*self->messages),
					  IBV_ACCESS_LOCAL_WRITE));
	CHECK(!ibv_query_gid(self->context, 1, GID_INDEX, &gid));
	CHECK(!lib_connect(self->qp, 1, self->qp->qp_num, &gid));
	sge.lkey = self->mr->lkey;
	for (wr.wr_id = 0; wr.wr_id < HOLDER_MANY - 1; wr.wr_id++) {
		sge.addr = (uintptr_t)&self->messages[wr.wr_id];
		CHECK(!ibv_post_recv(self->qp, &wr, &bad));
	}
	return 0;
}

FIXTURE_SETUP(stopped)
{
	ASSERT_EQ(0, holder_start(&self->holder, variant->own_pids));
	ASSERT_EQ(0, holder_start(&self->other, variant->own_pids));
	ASSERT_EQ(0, make(self));
	ASSERT_EQ(0, holder_join(&self->holder, self->ctx));
	ASSERT_EQ(0, holder_join(&self->other, self->ctx));
	if (variant->own_pids)
		ASSERT_EQ(self->holder.hello.pid, self->other.hello.pid);
}

FIXTURE_TEARDOWN(stopped)
{
	EXPECT_EQ(0, holder_kill(&self->other));
	EXPECT_EQ(0, ibv_share_destroy_qp(self->qp));
	EXPECT_EQ(0, ibv_share_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_share_dereg_mr(self->mr));
	EXPECT_EQ(0, ibv_share_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_share_close(self->ctx));
	EXPECT_EQ(0, ibv_close_device(self->context));
}

/* @num messages have come, of which @self->arrived has the numbers. */
static int collect(FIXTURE_DATA(stopped) *self, uint32_t num)
{
	int tries = HOLDER_WAIT_MS * 10;
	struct ibv_wc wc;
	uint64_t number;

	while (num && tries--) {
		if (ibv_poll_cq(self->cq, 1, &wc) != 1) {
			usleep(100);
			continue;
		}
		CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
		number = self->messages[wc.wr_id];
		CHECK(number < HOLDER_MANY && !self->arrived[number]++);
		num--;
	}
	CHECK(!num);
	return 0;
}

/* After what has been posted before, whatever that was. */
static int send_last(FIXTURE_DATA(stopped) *self, uint32_t number)
{
	struct holder_answer answer;

	CHECK(!holder_ask(&self->other, HOLDER_POST, number));
	CHECK(!holder_answers(&self->other, &answer) && !answer.ret);
	return 0;
}

static int is_alive(FIXTURE_DATA(stopped) *self, const struct holder *h)
{
	struct ibv_share_slot_attr attr;

	if (ibv_share_query_slot(self->ctx, h->hello.slot, &attr))
		return 0;
	return attr.state == IBV_SHARE_SLOT_LIVE && (pid_t)attr.pid == h->pid;
}

/* Somebody else is told, and nothing else happens. */
static int is_reported(FIXTURE_DATA(stopped) *self, enum holder_task task, uint32_t number,
		       struct holder_answer *answer)
{
	CHECK(!holder_ask(&self->other, task, number));
	CHECK(!holder_answers(&self->other, answer));
	if (answer->ret != ETIMEDOUT)
		printf("# %d: %s\n", answer->ret, answer->sentence);
	CHECK(answer->ret == ETIMEDOUT && strstr(answer->sentence, "stopped"));
	CHECK(is_alive(self, &self->holder));
	return 0;
}

static int stay(FIXTURE_DATA(stopped) *self, enum holder_task task, uint32_t number)
{
	CHECK(!holder_ask(&self->holder, task, number));
	return holder_wait(&self->holder);
}

static int completes(struct holder *h, uint32_t num, uint64_t sum)
{
	struct holder_answer answer;

	CHECK(!holder_ask(h, HOLDER_POLL, num));
	CHECK(!holder_answers(h, &answer) && !answer.ret && answer.num == num);
	while (num)
		sum -= answer.ids[--num];
	CHECK(!sum);
	return 0;
}

TEST_F_TIMEOUT(stopped, in_post, NO_LIMIT)
{
	struct holder_answer answer;

	ASSERT_EQ(0, stay(self, HOLDER_STAY_IN_POST, 1));
	ASSERT_EQ(0, holder_stop(&self->holder));
	ASSERT_EQ(0, is_reported(self, HOLDER_POST, 3, &answer));
	ASSERT_EQ(0, holder_go_on(&self->holder));
	ASSERT_EQ(0, holder_answers(&self->holder, &answer));
	ASSERT_EQ(0, answer.ret);
	ASSERT_EQ(0, send_last(self, 4));
	ASSERT_EQ(0, collect(self, 3));
	EXPECT_EQ(3, self->arrived[1] + self->arrived[2] + self->arrived[4]);
	EXPECT_EQ(0, completes(&self->holder, 2, 1 + 2));
	EXPECT_EQ(0, completes(&self->other, 1, 4));
	EXPECT_EQ(0, holder_kill(&self->holder));
}

TEST_F_TIMEOUT(stopped, killed_in_post, NO_LIMIT)
{
	ASSERT_EQ(0, stay(self, HOLDER_STAY_IN_POST, 1));
	ASSERT_EQ(0, holder_kill(&self->holder));
	ASSERT_EQ(0, send_last(self, 3));
	ASSERT_EQ(0, send_last(self, 4));
	ASSERT_EQ(0, collect(self, 2));
	EXPECT_EQ(2, self->arrived[3] + self->arrived[4]);
	EXPECT_EQ(0, completes(&self->other, 2, 3 + 4));
}

TEST_F_TIMEOUT(stopped, in_poll, NO_LIMIT)
{
	struct holder_answer answer;
	uint32_t got;

	ASSERT_EQ(0, send_last(self, 5));
	ASSERT_EQ(0, stay(self, HOLDER_STAY_IN_POLL, 0));
	ASSERT_EQ(0, holder_stop(&self->holder));
	/* more than there are: its own may have been steered already */
	ASSERT_EQ(0, is_reported(self, HOLDER_POLL, 2, &answer));
	got = answer.num;
	ASSERT_LE(got, 1);
	ASSERT_EQ(0, holder_go_on(&self->holder));
	ASSERT_EQ(0, holder_answers(&self->holder, &answer));
	ASSERT_EQ(0, answer.ret);
	ASSERT_EQ(0, completes(&self->other, 1 - got, got ? 0 : 5));
	ASSERT_EQ(0, send_last(self, 6));
	ASSERT_EQ(0, collect(self, 2));
	EXPECT_EQ(2, self->arrived[5] + self->arrived[6]);
	EXPECT_EQ(0, completes(&self->other, 1, 6));
	EXPECT_EQ(0, holder_kill(&self->holder));
}

TEST_F_TIMEOUT(stopped, killed_in_poll, NO_LIMIT)
{
	ASSERT_EQ(0, send_last(self, 5));
	ASSERT_EQ(0, stay(self, HOLDER_STAY_IN_POLL, 0));
	ASSERT_EQ(0, holder_kill(&self->holder));
	ASSERT_EQ(0, completes(&self->other, 1, 5));
	ASSERT_EQ(0, send_last(self, 6));
	ASSERT_EQ(0, collect(self, 2));
	EXPECT_EQ(2, self->arrived[5] + self->arrived[6]);
	EXPECT_EQ(0, completes(&self->other, 1, 6));
}

TEST_HARNESS_MAIN
