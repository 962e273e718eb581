// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The gate with processes that post receives before the QP is connected.
 * first_packet.c has the same with rdma_cm.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_gate.h"

FIXTURE(gate)
{
	struct gate_bed bed;
};

FIXTURE_SETUP(gate)
{
	ASSERT_EQ(gate_bed_open(&self->bed), 0);
}

FIXTURE_TEARDOWN(gate)
{
	EXPECT_EQ(gate_bed_close(&self->bed), 0);
}

/* Two receives, in the order that the parent says; messages 2i and 2i + 1. */
static int take_two(struct side *side, int sock, unsigned int i)
{
	CHECK(!ibv_share_gate_wait(side->qp, IBV_SHARE_GATE_POST, LONG));
	CHECK(!gate_hear(sock));
	CHECK(!gate_post(side, 2 * i, 2));
	CHECK(!ibv_share_gate_report(side->qp, 2));
	CHECK(!ibv_share_gate_wait(side->qp, IBV_SHARE_GATE_OPEN, LONG));
	CHECK(!gate_got(side, 2 * i, 2 * i));
	CHECK(!gate_got(side, 2 * i + 1, 2 * i + 1));
	return 0;
}

static int start_two(struct gate_bed *bed,
		     int (*run)(struct side *side, int sock, unsigned int i))
{
	CHECK(!gate_to(bed->us.qp, IBV_QPS_INIT));
	CHECK(!gate_start(bed, 0, run));
	CHECK(!gate_start(bed, 1, run));
	return 0;
}

TEST_F(gate, first_packet)
{
	const long before = lib_counter("rxe0", "send_rnr_err");
	unsigned int i;

	ASSERT_EQ(start_two(&self->bed, take_two), 0);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(gate_say(self->bed.workers[i].sock), 0);
		ASSERT_EQ(ibv_share_gate_collect(self->bed.us.qp, i + 1, 2 * i + 2, LONG), 0);
	}
	ASSERT_EQ(gate_connect(&self->bed), 0);
	ASSERT_EQ(gate_peer_sends(&self->bed, 4), 0);
	ASSERT_EQ(gate_peer_completes(&self->bed, 4), 0);
	ASSERT_EQ(ibv_share_gate_open(self->bed.us.qp), 0);
	EXPECT_EQ(gate_ends_well(&self->bed.workers[0]), 0);
	EXPECT_EQ(gate_ends_well(&self->bed.workers[1]), 0);
	EXPECT_GE(before, 0);
	EXPECT_EQ(lib_counter("rxe0", "send_rnr_err"), before);
}

/* Without it the same messages run into RNR NAKs; nothing is lost all the same. */
TEST_F(gate, without_gate)
{
	const long before = lib_counter("rxe0", "send_rnr_err");
	long tries;

	ASSERT_EQ(start_two(&self->bed, take_two), 0);
	ASSERT_EQ(gate_connect(&self->bed), 0);
	ASSERT_EQ(gate_peer_sends(&self->bed, 4), 0);
	for (tries = 0; lib_counter("rxe0", "send_rnr_err") == before; tries++) {
		ASSERT_LT(tries, LONG);
		usleep(1000);
	}
	ASSERT_EQ(gate_say(self->bed.workers[0].sock), 0);
	ASSERT_EQ(gate_peer_completes(&self->bed, 2), 0);
	ASSERT_EQ(gate_say(self->bed.workers[1].sock), 0);
	ASSERT_EQ(gate_peer_completes(&self->bed, 2), 0);
	ASSERT_EQ(ibv_share_gate_open(self->bed.us.qp), 0);
	EXPECT_EQ(gate_ends_well(&self->bed.workers[0]), 0);
	EXPECT_EQ(gate_ends_well(&self->bed.workers[1]), 0);
}

/* Posts, reports, and is told that nothing comes of it; then once more. */
static int take_flushed(struct side *side, int sock, unsigned int i)
{
	CHECK(!ibv_share_gate_wait(side->qp, IBV_SHARE_GATE_POST, LONG));
	CHECK(!gate_post(side, 8 * i, 4));
	CHECK(!ibv_share_gate_report(side->qp, 4));
	CHECK(ibv_share_gate_wait(side->qp, IBV_SHARE_GATE_OPEN, LONG) == ECONNRESET);
	for (unsigned int n = 0; n < 4; n++)
		CHECK(!gate_flushed(side, 8 * i + n));
	CHECK(!ibv_share_gate_leave(side->qp));
	CHECK(!ibv_share_gate_wait(side->qp, IBV_SHARE_GATE_POST, LONG));
	CHECK(!gate_post(side, 8 * i + 4, 1));
	CHECK(!ibv_share_gate_report(side->qp, 1));
	CHECK(!ibv_share_gate_wait(side->qp, IBV_SHARE_GATE_OPEN, LONG));
	CHECK(!gate_got(side, 8 * i + 4, 0));
	return 0;
}

/* One worker too few; the connection is given up, the next one works. */
TEST_F(gate, time_out)
{
	struct ibv_share_gate_attr attr;

	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_INIT), 0);
	ASSERT_EQ(gate_start(&self->bed, 0, take_flushed), 0);
	ASSERT_EQ(ibv_share_gate_collect(self->bed.us.qp, 1, 4, LONG), 0);
	EXPECT_EQ(ibv_share_gate_collect(self->bed.us.qp, 2, 4, SHORT), ETIMEDOUT);
	EXPECT_STREQ(ibv_share_last_error(), "collecting workers: 1 of 2 have reported, 4 of 4"
					     " receives are posted");
	EXPECT_EQ(ibv_share_gate_collect(self->bed.us.qp, 1, 5, SHORT), ETIMEDOUT);
	ASSERT_EQ(ibv_share_query_gate(self->bed.us.qp, &attr), 0);
	EXPECT_EQ(attr.phase, IBV_SHARE_GATE_POST);
	EXPECT_EQ(attr.workers, 1U);
	EXPECT_EQ(attr.dead, 0U);
	EXPECT_EQ(attr.receives, 4U);
	EXPECT_EQ(attr.reported, 4U);

	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_ERR), 0);
	ASSERT_EQ(ibv_share_gate_drain(self->bed.us.qp, LONG), 0);
	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_RESET), 0);
	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_INIT), 0);
	ASSERT_EQ(ibv_share_gate_collect(self->bed.us.qp, 1, 1, LONG), 0);
	ASSERT_EQ(gate_connect(&self->bed), 0);
	ASSERT_EQ(ibv_share_gate_open(self->bed.us.qp), 0);
	ASSERT_EQ(gate_peer_sends(&self->bed, 1), 0);
	EXPECT_EQ(gate_ends_well(&self->bed.workers[0]), 0);
}

/* Posts, reports, and is told that it may go on as if it were alive. */
static int post_and_sleep(struct side *side, int sock, unsigned int i)
{
	CHECK(!ibv_share_gate_wait(side->qp, IBV_SHARE_GATE_POST, LONG));
	CHECK(!gate_post(side, 0, 2));
	CHECK(!ibv_share_gate_report(side->qp, 2));
	CHECK(!gate_hear(sock));
	return 1;
}

static int take_third(struct side *side, int sock, unsigned int i)
{
	CHECK(!gate_say(sock));
	CHECK(!gate_hear(sock));
	CHECK(!gate_post(side, 8, 1));
	CHECK(!ibv_share_gate_report(side->qp, 1));
	CHECK(!ibv_share_gate_wait(side->qp, IBV_SHARE_GATE_OPEN, LONG));
	CHECK(!gate_got(side, 8, 2));
	return 0;
}

/*
 * A worker that dies between "posted" and "established": its receives are
 * there, the server does not wait, is told, and gets what they receive.
 */
static int worker_dies(struct gate_bed *bed, int next_gets_its_slot)
{
	struct ibv_share_gate_attr attr;

	CHECK(!gate_to(bed->us.qp, IBV_QPS_INIT));
	CHECK(!gate_start(bed, 0, post_and_sleep));
	CHECK(!ibv_share_gate_collect(bed->us.qp, 1, 2, LONG));
	if (!next_gets_its_slot) {
		CHECK(!gate_start(bed, 1, take_third));
		CHECK(!gate_hear(bed->workers[1].sock));
	}
	gate_kill(&bed->workers[0]);
	if (next_gets_its_slot) {
		CHECK(!gate_start(bed, 1, take_third));
		CHECK(!gate_hear(bed->workers[1].sock));
	}
	CHECK(!gate_say(bed->workers[1].sock));
	CHECK(!ibv_share_gate_collect(bed->us.qp, 2, 3, LONG));
	CHECK(!ibv_share_query_gate(bed->us.qp, &attr));
	CHECK(attr.workers == 2 && attr.dead == 1 && attr.receives == 3);
	CHECK(!gate_connect(bed));
	CHECK(!ibv_share_gate_open(bed->us.qp));
	CHECK(!gate_peer_sends(bed, 3));
	CHECK(!gate_got(&bed->us, 0, 0));
	CHECK(!gate_got(&bed->us, 1, 1));
	return gate_ends_well(&bed->workers[1]);
}

TEST_F(gate, worker_dies)
{
	EXPECT_EQ(worker_dies(&self->bed, 0), 0);
}

TEST_F(gate, worker_dies_and_next_gets_its_slot)
{
	EXPECT_EQ(worker_dies(&self->bed, 1), 0);
}

/* The same, and then the connection ends: nobody waits for the dead. */
TEST_F(gate, drain_of_dead_worker)
{
	struct ibv_share_gate_attr attr;

	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_INIT), 0);
	ASSERT_EQ(gate_start(&self->bed, 0, post_and_sleep), 0);
	ASSERT_EQ(ibv_share_gate_collect(self->bed.us.qp, 1, 2, LONG), 0);
	ASSERT_EQ(gate_connect(&self->bed), 0);
	ASSERT_EQ(ibv_share_gate_open(self->bed.us.qp), 0);
	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_ERR), 0);
	EXPECT_EQ(ibv_share_gate_drain(self->bed.us.qp, SHORT), ETIMEDOUT);
	gate_kill(&self->bed.workers[0]);
	EXPECT_EQ(ibv_share_gate_drain(self->bed.us.qp, LONG), 0);
	/* nor is it counted in the next round */
	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_RESET), 0);
	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_INIT), 0);
	EXPECT_EQ(ibv_share_gate_collect(self->bed.us.qp, 1, 0, SHORT), ETIMEDOUT);
	ASSERT_EQ(ibv_share_query_gate(self->bed.us.qp, &attr), 0);
	EXPECT_EQ(attr.round, 2);
	EXPECT_EQ(attr.workers, 0);
	EXPECT_EQ(attr.dead, 0);
}

/* The server, in a child; the worker is the test. */
static void serve_and_sleep(int sock)
{
	struct gate_bed bed;

	if (gate_bed_open(&bed) || gate_to(bed.us.qp, IBV_QPS_INIT) ||
	    ibv_share_send(bed.us.ctx, sock, IBV_SHARE_ALL_RIGHTS) ||
	    ibv_share_gate_collect(bed.us.qp, 1, 1, LONG) || gate_say(sock))
		_exit(1);
	gate_hear(sock);
	_exit(1);
}

TEST(server_dies)
{
	struct side side;
	int sv[2], status;
	pid_t server;

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	server = fork();
	ASSERT_GE(server, 0);
	if (!server)
		serve_and_sleep(sv[1]);
	close(sv[1]);
	ASSERT_EQ(gate_receive(&side, sv[0]), 0);
	ASSERT_EQ(ibv_share_gate_wait(side.qp, IBV_SHARE_GATE_POST, LONG), 0);
	ASSERT_EQ(gate_post(&side, 0, 1), 0);
	ASSERT_EQ(ibv_share_gate_report(side.qp, 1), 0);
	ASSERT_EQ(gate_hear(sv[0]), 0);
	EXPECT_EQ(ibv_share_gate_wait(side.qp, IBV_SHARE_GATE_OPEN, SHORT), ETIMEDOUT);
	kill(server, SIGKILL);
	ASSERT_EQ(waitpid(server, &status, 0), server);
	EXPECT_EQ(ibv_share_gate_wait(side.qp, IBV_SHARE_GATE_OPEN, LONG), ESRCH);
	EXPECT_EQ(ibv_share_gate_wait(side.qp, IBV_SHARE_GATE_POST, -1), ESRCH);
	EXPECT_EQ(ibv_share_close(side.ctx), 0);
}

static int outlives_qp(struct side *side, int sock, unsigned int i)
{
	CHECK(!gate_say(sock));
	CHECK(ibv_share_gate_wait(side->qp, IBV_SHARE_GATE_POST, -1) == ENOLINK);
	CHECK(ibv_share_gate_report(side->qp, 1) == ENOLINK);
	return 0;
}

TEST_F(gate, destroyed)
{
	ASSERT_EQ(gate_start(&self->bed, 0, outlives_qp), 0);
	ASSERT_EQ(gate_hear(self->bed.workers[0].sock), 0);
	ASSERT_EQ(ibv_share_destroy_qp(self->bed.us.qp), 0);
	self->bed.us.qp = NULL;
	EXPECT_EQ(gate_ends_well(&self->bed.workers[0]), 0);
}

TEST_F(gate, refused)
{
	struct ibv_qp *qp = self->bed.us.qp;

	EXPECT_EQ(ibv_share_gate_open(self->bed.peer), EINVAL);
	EXPECT_EQ(ibv_share_gate_open(qp), EINVAL);
	EXPECT_EQ(ibv_share_gate_report(qp, 1), ECONNRESET);
	EXPECT_EQ(ibv_share_gate_collect(qp, 0, 0, 0), ECONNRESET);
	ASSERT_EQ(gate_to(qp, IBV_QPS_INIT), 0);
	EXPECT_EQ(ibv_share_gate_open(qp), EINVAL);
	EXPECT_EQ(ibv_share_gate_drain(qp, 0), EINVAL);
	EXPECT_EQ(ibv_share_gate_collect(qp, 1000, 0, 0), EINVAL);
	EXPECT_EQ(ibv_share_gate_collect(qp, 0, 1000, 0), EINVAL);
	EXPECT_EQ(ibv_share_gate_wait(qp, IBV_SHARE_GATE_OVER, 0), EINVAL);
	EXPECT_EQ(ibv_share_gate_wait(qp, IBV_SHARE_GATE_OPEN, 0), ETIMEDOUT);
}

TEST(cm_attr)
{
	struct ibv_qp_attr attr = { .rnr_retry = 0 };

	ibv_share_fix_cm_attr(&attr, IBV_QP_STATE);
	EXPECT_EQ(attr.rnr_retry, 0);
	ibv_share_fix_cm_attr(&attr, IBV_QP_MIN_RNR_TIMER | IBV_QP_RNR_RETRY | IBV_QP_RETRY_CNT |
					     IBV_QP_TIMEOUT);
	EXPECT_EQ(attr.min_rnr_timer, 12);
	EXPECT_EQ(attr.rnr_retry, 7);
	EXPECT_EQ(attr.retry_cnt, 7);
	EXPECT_EQ(attr.timeout, 14);
	attr = (struct ibv_qp_attr){ .min_rnr_timer = 5, .retry_cnt = 3, .timeout = 18 };
	ibv_share_fix_cm_attr(&attr, IBV_QP_MIN_RNR_TIMER | IBV_QP_RNR_RETRY | IBV_QP_RETRY_CNT |
					     IBV_QP_TIMEOUT);
	EXPECT_EQ(attr.min_rnr_timer, 5);
	EXPECT_EQ(attr.retry_cnt, 3);
	EXPECT_EQ(attr.timeout, 18);
}

TEST_HARNESS_MAIN
