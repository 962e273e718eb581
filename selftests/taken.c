// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The exporter destroys shared queues while another process posts to them and
 * polls them: that one sees ENOLINK, and never SIGBUS.
 */
#include <signal.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_library.h"

#define PAIRS 20
#define ROUNDS 50

/* one CQ and one QP on it; in ERR, so that each receive completes at once */
struct pair {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

FIXTURE(taken)
{
	struct ibv_context *context;
	struct ibv_share_context *ctx;
	struct ibv_pd *pd;
	struct pair pairs[PAIRS];
	int sv[2];
	pid_t worker;
};

static int make_pair(FIXTURE_DATA(taken) *self, struct pair *pair)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	pair->cq = ibv_share_create_cq(self->ctx, 16, NULL, NULL, 0);
	CHECK(pair->cq);
	init.send_cq = init.recv_cq = pair->cq;
	pair->qp = ibv_share_create_qp(self->pd, &init);
	CHECK(pair->qp);
	CHECK(!ibv_share_modify_qp(pair->qp, &attr,
				   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					   IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_ERR;
	CHECK(!ibv_share_modify_qp(pair->qp, &attr, IBV_QP_STATE));
	return 0;
}

static int make_pairs(FIXTURE_DATA(taken) *self)
{
	int i, err = 0;

	for (i = 0; !err && i < PAIRS; i++)
		err = make_pair(self, &self->pairs[i]);
	return err;
}

/* Return: 1 if that pair is dead, 0 if it is in use, -1 for what must not be */
static int use_pair(struct pair *pair)
{
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct ibv_wc wc[4];
	int err = ibv_post_recv(pair->qp, &recv, &bad);
	int n = ibv_poll_cq(pair->cq, 4, wc);

	if (err == ENOLINK && n == -ENOLINK)
		return 1;
	if ((err && err != ENOLINK && err != ENOMEM) || (n < 0 && n != -ENOLINK)) {
		fprintf(stderr, "# post %d, poll %d\n", err, n);
		return -1;
	}
	return 0;
}

/* until all of a bundle are dead, newest first, as the exporter goes up */
static int use_bundle(FIXTURE_DATA(taken) *self)
{
	struct ibv_share_context *ctx = ibv_share_recv(self->context, self->sv[1]);
	struct pair pairs[PAIRS];
	char name[16];
	int i, dead, ret;

	CHECK(ctx);
	for (i = 0; i < PAIRS; i++) {
		snprintf(name, sizeof(name), "cq-%d", i);
		pairs[i].cq = ibv_share_get_cq(ctx, name);
		snprintf(name, sizeof(name), "qp-%d", i);
		pairs[i].qp = ibv_share_get_qp(ctx, name);
		CHECK(pairs[i].cq && pairs[i].qp);
	}
	CHECK(send(self->sv[1], "go", 2, MSG_NOSIGNAL) == 2);
	do {
		for (i = dead = 0; i < PAIRS; i++) {
			ret = use_pair(&pairs[i]);
			CHECK(ret >= 0);
			dead += ret;
		}
	} while (dead < PAIRS);
	CHECK(!ibv_share_close(ctx));
	return 0;
}

static void work(FIXTURE_DATA(taken) *self)
{
	int round;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(self->sv[0]);
	self->context = lib_open("rxe0");
	for (round = 0; round < ROUNDS; round++)
		if (!self->context || use_bundle(self))
			_exit(1);
	_exit(0);
}

FIXTURE_SETUP(taken)
{
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, self->sv), 0);
	fflush(NULL);
	/* before there is a context that must not be used after fork */
	self->worker = fork();
	if (!self->worker)
		work(self);
	close(self->sv[1]);
	self->context = lib_open("rxe0");
	ASSERT_NE(self->context, NULL);
	self->ctx = ibv_share_open(self->context, NULL);
	ASSERT_NE(self->ctx, NULL);
	self->pd = ibv_share_alloc_pd(self->ctx);
	ASSERT_NE(self->pd, NULL);
}

FIXTURE_TEARDOWN(taken)
{
	EXPECT_EQ(ibv_share_dealloc_pd(self->pd), 0);
	EXPECT_EQ(ibv_share_close(self->ctx), 0);
	EXPECT_EQ(ibv_close_device(self->context), 0);
}

static int name_pairs(FIXTURE_DATA(taken) *self)
{
	char name[16];
	int i;

	for (i = 0; i < PAIRS; i++) {
		snprintf(name, sizeof(name), "cq-%d", i);
		CHECK(!ibv_share_name_cq(self->pairs[i].cq, name));
		snprintf(name, sizeof(name), "qp-%d", i);
		CHECK(!ibv_share_name_qp(self->pairs[i].qp, name));
	}
	return 0;
}

/* 1000 QPs and 1000 CQs in all */
TEST_F_TIMEOUT(taken, while_in_use, NO_LIMIT)
{
	int i, round, status;
	char go[2];

	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(make_pairs(self), 0);
		ASSERT_EQ(name_pairs(self), 0);
		ASSERT_EQ(ibv_share_send(self->ctx, self->sv[0], IBV_SHARE_ALL_RIGHTS), 0);
		ASSERT_EQ(recv(self->sv[0], go, 2, 0), 2)
		{
			TH_LOG("the worker is gone in round %d", round);
		}
		for (i = 0; i < PAIRS; i++) {
			if (i % 2)
				sched_yield();
			ASSERT_EQ(ibv_share_destroy_qp(self->pairs[i].qp), 0);
			ASSERT_EQ(ibv_share_destroy_cq(self->pairs[i].cq), 0);
		}
	}
	ASSERT_EQ(waitpid(self->worker, &status, 0), self->worker);
	EXPECT_EQ(status, 0);
}

TEST_HARNESS_MAIN
