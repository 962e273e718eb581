// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Processes that fork while they share: the child is told, receives a bundle of
 * its own, and disturbs nobody. With and without ibv_fork_init().
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_gate.h"

FIXTURE(fork)
{
	struct gate_bed bed;
};

FIXTURE_VARIANT(fork)
{
	int init;
};

FIXTURE_VARIANT_ADD(fork, plain){
	.init = 0,
};

FIXTURE_VARIANT_ADD(fork, fork_init){
	.init = 1,
};

FIXTURE_SETUP(fork)
{
	/* each test is a process of its own, that has registered nothing yet */
	if (variant->init)
		ASSERT_EQ(ibv_fork_init(), 0);
	ASSERT_EQ(gate_bed_open(&self->bed), 0);
	ASSERT_EQ(gate_to(self->bed.us.qp, IBV_QPS_INIT), 0);
	ASSERT_EQ(gate_connect(&self->bed), 0);
}

FIXTURE_TEARDOWN(fork)
{
	EXPECT_EQ(gate_bed_close(&self->bed), 0);
}

/* The wait status of a child that does @run. */
static int in_child(int (*run)(struct gate_bed *bed), struct gate_bed *bed)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = run(bed);
		fflush(stdout);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	return status;
}

#define TOLD(call) CHECK((call) == EOWNERDEAD && is_told())

/* Takes the sentence away, so that the next call has to say it anew. */
static int is_told(void)
{
	int told = !!strstr(ibv_share_last_error(), "receive a bundle of its own");

	return ibv_share_destroy_qp(NULL) == EINVAL && told;
}

static int uses_inherited(struct gate_bed *bed)
{
	struct ibv_share_slot_attr slot;
	struct ibv_send_wr send = { .num_sge = 0, .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct side *us = &bed->us;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	TOLD(ibv_post_send(us->qp, &send, &bad_send));
	CHECK(bad_send == &send);
	TOLD(ibv_post_recv(us->qp, &recv, &bad_recv));
	CHECK(bad_recv == &recv);
	TOLD(-ibv_poll_cq(us->cq, 1, &wc));
	TOLD(ibv_req_notify_cq(us->cq, 0));
	TOLD(ibv_share_get_cq_event(us->ctx, &cq, &context, 0));
	TOLD(ibv_share_modify_qp(us->qp, &attr, IBV_QP_STATE));
	TOLD(ibv_share_query_slot(us->ctx, 0, &slot));
	TOLD(ibv_share_wake(us->ctx, 0));
	TOLD(ibv_share_destroy_qp(us->qp));
	TOLD(ibv_share_gate_wait(us->qp, IBV_SHARE_GATE_POST, 0));
	TOLD(ibv_share_send(us->ctx, 0, IBV_SHARE_ALL_RIGHTS));
	CHECK(!ibv_share_alloc_pd(us->ctx) && errno == EOWNERDEAD);
	CHECK(!ibv_reg_shared_mr(bed->pd, 0, SIZE, 0, 0, ACCESS) && errno == EOWNERDEAD);
	CHECK(!ibv_share_close(us->ctx));
	return 0;
}

/* The objects are its parent's, who goes on. */
TEST_F(fork, child_is_told)
{
	struct gate_bed *bed = &self->bed;

	EXPECT_EQ(in_child(uses_inherited, bed), 0);
	ASSERT_EQ(gate_post(&bed->us, 0, 2), 0);
	ASSERT_EQ(gate_peer_sends(bed, 2), 0);
	EXPECT_EQ(gate_got(&bed->us, 0, 0), 0);
	EXPECT_EQ(gate_got(&bed->us, 1, 1), 0);
}

static int takes_two(struct side *side, int sock, unsigned int i)
{
	CHECK(!gate_post(side, 8, 2));
	CHECK(!gate_say(sock));
	CHECK(!gate_got(side, 8, 0));
	CHECK(!gate_got(side, 9, 1));
	return 0;
}

TEST_F(fork, child_imports_again)
{
	struct gate_bed *bed = &self->bed;

	ASSERT_EQ(gate_start(bed, 0, takes_two), 0);
	ASSERT_EQ(gate_hear(bed->workers[0].sock), 0);
	ASSERT_EQ(gate_post(&bed->us, 0, 1), 0);
	ASSERT_EQ(gate_peer_sends(bed, 3), 0);
	EXPECT_EQ(gate_got(&bed->us, 0, 2), 0);
	EXPECT_EQ(gate_ends_well(&bed->workers[0]), 0);
}

/* Only its parent's mappings are gone with a child that just ends. */
static int just_ends(struct gate_bed *bed)
{
	return 0;
}

TEST_F(fork, child_ends)
{
	struct gate_bed *bed = &self->bed;
	int i;

	for (i = 0; i < 20; i++) {
		EXPECT_EQ(in_child(just_ends, bed), 0);
		ASSERT_EQ(gate_post(&bed->us, 0, 1), 0);
		ASSERT_EQ(gate_peer_sends(bed, 1), 0);
		EXPECT_EQ(gate_got(&bed->us, 0, i), 0);
	}
}

static char *private_page;

static int reads_private(struct gate_bed *bed)
{
	return *(volatile char *)private_page != 'x';
}

static int reads_shared(struct gate_bed *bed)
{
	return *(volatile char *)bed->us.mem != 'x';
}

/* Shared memory stays; private memory under a region goes if ibv_fork_init() says so. */
TEST_F(fork, memory)
{
	struct gate_bed *bed = &self->bed;
	struct ibv_mr *mr;
	int status;

	private_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(private_page, MAP_FAILED);
	private_page[0] = bed->us.mem[0] = 'x';
	mr = ibv_share_reg_mr(bed->pd, private_page, 4096, ACCESS);
	ASSERT_NE(mr, NULL);
	EXPECT_EQ(in_child(reads_shared, bed), 0);
	status = in_child(reads_private, bed);
	if (variant->init) {
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	} else {
		EXPECT_EQ(status, 0);
	}
	EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_HARNESS_MAIN
