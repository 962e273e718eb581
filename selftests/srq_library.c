// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * An SRQ of two queue pairs on rxe0, to which maker and importer post, against
 * ordinary queue pairs on rxe1. Processes that die while they use one: crash.c.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_library.h"

#define QPS 2
#define DEPTH 15
#define LONG 300000 /* more packets than rxe has under way at a time */
#define MANY 20000 /* some packets */
#define PLACES (2 * DEPTH)
#define WAIT_MS 5000

FIXTURE(srq_library)
{
	struct ibv_context *context, *peer_context;
	struct ibv_share_context *ctx[2]; /* maker, importer */
	struct ibv_srq *srq[2];
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[QPS], *peer_qp[QPS];
	struct ibv_pd *pd, *peer_pd;
	struct ibv_cq *peer_cq;
	struct ibv_mr *mr, *peer_mr;
	char *memory, *peer_memory;
	int sv[2];
};

static int open_shared(FIXTURE_DATA(srq_library) *self)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .cap = { 4, 0, 1, 0, 0 }, .qp_type = IBV_QPT_RC };
	int fd = memfd_create("srq", MFD_CLOEXEC), i;

	CHECK(fd >= 0 && !ftruncate(fd, PLACES * LONG));
	self->memory = mmap(NULL, PLACES * LONG, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(self->memory != MAP_FAILED);
	CHECK(self->context = lib_open("rxe0"));
	CHECK(self->ctx[0] = ibv_share_open(self->context, NULL));
	CHECK(self->pd = ibv_share_alloc_pd(self->ctx[0]));
	CHECK(self->cq[0] = ibv_share_create_cq(self->ctx[0], 64, NULL, NULL, 0));
	CHECK(self->srq[0] = ibv_share_create_srq(self->pd, self->cq[0], &srq));
	CHECK(srq.attr.max_wr >= DEPTH && srq.attr.max_sge >= 1);
	init.send_cq = init.recv_cq = self->cq[0];
	init.srq = self->srq[0];
	for (i = 0; i < QPS; i++)
		CHECK(self->qp[i] = ibv_share_create_qp(self->pd, &init));
	CHECK(self->mr = ibv_reg_shared_mr(self->pd, 0, PLACES * LONG, 0, fd, ACCESS));
	close(fd);
	return 0;
}

static int import_all(FIXTURE_DATA(srq_library) *self)
{
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sv));
	CHECK(!ibv_share_send(self->ctx[0], self->sv[0], IBV_SHARE_ALL_RIGHTS));
	CHECK(self->ctx[1] = ibv_share_recv(self->context, self->sv[1]));
	CHECK(self->srq[1] = ibv_share_get_srq(self->ctx[1], "srq0"));
	CHECK(self->cq[1] = ibv_share_get_cq(self->ctx[1], NULL));
	CHECK(ibv_share_get_qp(self->ctx[1], "qp1")->srq == self->srq[1]);
	return 0;
}

static int open_peer(FIXTURE_DATA(srq_library) *self)
{
	struct ibv_qp_init_attr init = { .cap = { 32, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	int i;

	CHECK(self->peer_context = lib_open("rxe1"));
	CHECK(self->peer_pd = ibv_alloc_pd(self->peer_context));
	CHECK(self->peer_cq = ibv_create_cq(self->peer_context, 128, NULL, NULL, 0));
	init.send_cq = init.recv_cq = self->peer_cq;
	for (i = 0; i < QPS; i++)
		CHECK(self->peer_qp[i] = ibv_create_qp(self->peer_pd, &init));
	self->peer_memory = mmap(NULL, PLACES * LONG, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(self->peer_memory != MAP_FAILED);
	CHECK(self->peer_mr = ibv_reg_mr(self->peer_pd, self->peer_memory, PLACES * LONG, ACCESS));
	return 0;
}

FIXTURE_SETUP(srq_library)
{
	union ibv_gid gid, peer_gid;
	int i;

	ASSERT_EQ(open_shared(self), 0);
	ASSERT_EQ(import_all(self), 0);
	ASSERT_EQ(open_peer(self), 0);
	ASSERT_EQ(ibv_query_gid(self->context, 1, GID_INDEX, &gid), 0);
	ASSERT_EQ(ibv_query_gid(self->peer_context, 1, GID_INDEX, &peer_gid), 0);
	for (i = 0; i < QPS; i++) {
		ASSERT_EQ(lib_connect(self->qp[i], 1, self->peer_qp[i]->qp_num, &peer_gid), 0);
		ASSERT_EQ(lib_connect(self->peer_qp[i], 0, self->qp[i]->qp_num, &gid), 0);
	}
}

FIXTURE_TEARDOWN(srq_library)
{
	int i;

	if (self->ctx[1])
		EXPECT_EQ(ibv_share_close(self->ctx[1]), 0);
	EXPECT_EQ(ibv_dereg_mr(self->mr), 0);
	for (i = 0; i < QPS; i++)
		EXPECT_EQ(ibv_share_destroy_qp(self->qp[i]), 0);
	EXPECT_EQ(ibv_share_destroy_srq(self->srq[0]), 0);
	EXPECT_EQ(ibv_share_destroy_cq(self->cq[0]), 0);
	EXPECT_EQ(ibv_share_dealloc_pd(self->pd), 0);
	EXPECT_EQ(ibv_share_close(self->ctx[0]), 0);
}

/* Each place has a number, which is the wr_id as well; @who: 0 or 1. */
static int post(FIXTURE_DATA(srq_library) *self, int who, uint32_t place)
{
	struct ibv_sge sge = { (uint64_t)place * LONG, LONG, self->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = place, .sg_list = &sge, .num_sge = 1 };

	return ibv_post_srq_recv(self->srq[who], &wr, &bad);
}

/* A message that is full of its number. */
static int send_to(FIXTURE_DATA(srq_library) *self, int qp, uint32_t number, uint32_t length)
{
	char *from = self->peer_memory + number * LONG;
	struct ibv_sge sge = { (uintptr_t)from, length, self->peer_mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = number,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	memset(from, (int)number + 1, length);
	CHECK(!ibv_post_send(self->peer_qp[qp], &wr, &bad));
	return 0;
}

/*
 * Takes @n completions of @who. @by: for each place, which message came there + 1;
 * @order: places as they completed.
 */
static int take(FIXTURE_DATA(srq_library) *self, int who, int n, uint32_t *by, uint32_t *order)
{
	uint32_t start = lib_now_ms(), number, i;
	struct ibv_wc wc;
	char *text;
	int got;

	while (n) {
		got = ibv_poll_cq(self->cq[who], 1, &wc);
		CHECK(got >= 0 && lib_now_ms() - start < WAIT_MS);
		if (!got)
			continue;
		CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
		CHECK(wc.wr_id < PLACES && !by[wc.wr_id]);
		CHECK(wc.qp_num == self->qp[0]->qp_num || wc.qp_num == self->qp[1]->qp_num);
		text = self->memory + wc.wr_id * LONG;
		number = (unsigned char)text[0];
		for (i = 0; i < wc.byte_len; i++)
			CHECK((unsigned char)text[i] == number);
		by[wc.wr_id] = number;
		if (order)
			*order++ = (uint32_t)wc.wr_id;
		n--;
	}
	return 0;
}

/* Whoever posted a receive gets it, whichever queue pair used it: each once. */
TEST_F(srq_library, to_the_poster)
{
	uint32_t by[PLACES], seen[PLACES + 1];
	int round, i;

	for (round = 0; round < 20; round++) {
		memset(by, 0, sizeof(by));
		memset(seen, 0, sizeof(seen));
		/* even places are the maker's */
		for (i = 0; i < DEPTH; i++)
			ASSERT_EQ(post(self, i % 2, (uint32_t)i), 0);
		for (i = 0; i < DEPTH; i++)
			ASSERT_EQ(send_to(self, i % QPS, (uint32_t)i, i % 3 ? 8 : MANY), 0);
		ASSERT_EQ(take(self, 0, DEPTH - DEPTH / 2, by, NULL), 0);
		ASSERT_EQ(take(self, 1, DEPTH / 2, by, NULL), 0);
		for (i = 0; i < DEPTH; i++) {
			ASSERT_TRUE(by[i] && by[i] <= DEPTH);
			ASSERT_EQ(seen[by[i]]++, 0);
		}
	}
	ASSERT_EQ(ibv_poll_cq(self->cq[0], 1, &(struct ibv_wc){}), 0);
	ASSERT_EQ(ibv_poll_cq(self->cq[1], 1, &(struct ibv_wc){}), 0);
}

/* When the first one is coming in, the second one. */
static void *overtake(void *arg)
{
	FIXTURE_DATA(srq_library) *self = arg;
	volatile char *first = self->memory;

	while (!*first)
		sched_yield();
	return (void *)(intptr_t)send_to(self, 1, 1, 8);
}

/* What is first in the queue need not be complete first. */
TEST_F(srq_library, out_of_order)
{
	uint32_t by[PLACES], order[2], start = lib_now_ms();
	pthread_t thread;
	int turns, swapped = 0;
	void *failed;

	for (turns = 0; !swapped && lib_now_ms() - start < 2 * WAIT_MS; turns++) {
		memset(by, 0, sizeof(by));
		self->memory[0] = 0;
		ASSERT_EQ(post(self, 0, 0), 0);
		ASSERT_EQ(post(self, 0, 1), 0);
		ASSERT_EQ(pthread_create(&thread, NULL, overtake, self), 0);
		ASSERT_EQ(send_to(self, 0, 0, LONG), 0);
		ASSERT_EQ(pthread_join(thread, &failed), 0);
		ASSERT_EQ(failed, NULL);
		ASSERT_EQ(take(self, 0, 2, by, order), 0);
		swapped = order[0] == 1;
	}
	ASSERT_TRUE(swapped)
	TH_LOG("never in another order, in %d turns", turns);
}

/* All places come back: many more requests than there are. */
TEST_F(srq_library, no_place_is_lost)
{
	uint32_t by[PLACES], i, n;
	int who;

	for (n = 0; n < 40; n++) {
		who = (int)n % 2;
		for (i = 0; !post(self, who, i % PLACES); i++)
			ASSERT_LT(i, 64);
		ASSERT_LE(DEPTH, i);
		ASSERT_EQ(post(self, !who, 0), ENOMEM);
		while (i) {
			memset(by, 0, sizeof(by));
			ASSERT_EQ(send_to(self, (int)i % QPS, i % PLACES, 8), 0);
			ASSERT_EQ(take(self, who, 1, by, NULL), 0);
			i--;
		}
	}
}

static int wait_for_limit(FIXTURE_DATA(srq_library) *self, int who)
{
	struct ibv_async_event event;

	CHECK(!ibv_share_get_async_event(self->ctx[who], &event, WAIT_MS));
	CHECK(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
	CHECK(event.element.srq == self->srq[who]);
	if (!who)
		CHECK(ibv_share_destroy_srq(self->srq[0]) == EBUSY);
	ibv_share_ack_async_event(&event);
	return 0;
}

/* An importer arms the event; all hear of it, once. */
TEST_F(srq_library, limit)
{
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	struct ibv_async_event event;
	uint32_t by[PLACES] = { 0 }, i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(post(self, 0, i), 0);
	ASSERT_EQ(ibv_share_modify_srq(self->srq[1], &attr, IBV_SRQ_LIMIT), 0);
	ASSERT_EQ(ibv_share_query_srq(self->srq[0], &attr), 0);
	ASSERT_EQ(attr.srq_limit, 3);
	ASSERT_LE(DEPTH, attr.max_wr);
	ASSERT_EQ(send_to(self, 0, 0, 8), 0);
	ASSERT_EQ(take(self, 0, 1, by, NULL), 0);
	ASSERT_EQ(ibv_share_get_async_event(self->ctx[0], &event, 0), EAGAIN);
	ASSERT_EQ(send_to(self, 1, 1, 8), 0);
	ASSERT_EQ(take(self, 0, 1, by, NULL), 0);
	ASSERT_EQ(wait_for_limit(self, 0), 0);
	ASSERT_EQ(wait_for_limit(self, 1), 0);
	ASSERT_EQ(ibv_share_query_srq(self->srq[1], &attr), 0);
	ASSERT_EQ(attr.srq_limit, 0);
	ASSERT_EQ(send_to(self, 1, 2, 8), 0);
	ASSERT_EQ(take(self, 0, 1, by, NULL), 0);
	ASSERT_EQ(ibv_share_get_async_event(self->ctx[0], &event, 0), EAGAIN);
}

/* A queue pair that fails says when it takes no more. */
TEST_F(srq_library, last_wqe)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_async_event event;
	int ret;

	ASSERT_EQ(ibv_share_modify_qp(self->qp[0], &attr, IBV_QP_STATE), 0);
	ret = ibv_share_get_async_event(self->ctx[1], &event, 1000);
	if (ret == ETIMEDOUT)
		SKIP(return, "rxe of Linux 6.1 does not raise IBV_EVENT_QP_LAST_WQE_REACHED");
	ASSERT_EQ(ret, 0);
	ASSERT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	ASSERT_EQ(event.element.qp->qp_num, self->qp[0]->qp_num);
	ibv_share_ack_async_event(&event);
	/* the maker's */
	if (!ibv_share_get_async_event(self->ctx[0], &event, WAIT_MS))
		ibv_share_ack_async_event(&event);
}

/* What no sentence says cannot be done is refused with one. */
TEST_F(srq_library, refused)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 0, 1, 0, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_srq_attr attr = { .max_wr = 64, .srq_limit = 1 };
	struct ibv_sge sges[5] = {};
	struct ibv_recv_wr *bad, wr = { .sg_list = sges, .num_sge = 5 };

	ASSERT_EQ(ibv_share_modify_srq(self->srq[0], &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	ASSERT_NE(strstr(ibv_share_last_error(), "resized"), NULL);
	ASSERT_EQ(ibv_share_modify_srq(self->srq[1], &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		  EOPNOTSUPP);
	ASSERT_EQ(ibv_share_modify_srq(self->srq[0], &attr, 0), EINVAL);
	attr.srq_limit = 10000;
	ASSERT_EQ(ibv_share_modify_srq(self->srq[1], &attr, IBV_SRQ_LIMIT), EINVAL);
	ASSERT_NE(ibv_modify_srq(self->srq[0], &attr, IBV_SRQ_MAX_WR), 0);
	ASSERT_NE(ibv_resize_cq(self->cq[0], 200), 0);
	ASSERT_EQ(ibv_post_recv(self->qp[0], &wr, &bad), EINVAL);
	ASSERT_TRUE(ibv_post_srq_recv(self->srq[0], &wr, &bad) == EINVAL && bad == &wr);
	init.send_cq = self->cq[0];
	ASSERT_NE(init.recv_cq = ibv_share_create_cq(self->ctx[0], 4, NULL, NULL, 0), NULL);
	init.srq = self->srq[0];
	ASSERT_EQ(ibv_share_create_qp(self->pd, &init), NULL);
	ASSERT_EQ(errno, EINVAL);
	ASSERT_EQ(ibv_share_destroy_cq(init.recv_cq), 0);
	ASSERT_EQ(ibv_share_destroy_srq(self->srq[0]), EBUSY);
	ASSERT_EQ(ibv_share_destroy_srq(self->srq[1]), EBUSY);
	ASSERT_EQ(ibv_share_destroy_cq(self->cq[0]), EBUSY);
}

/* Without a right the importer can look at most. */
TEST_F(srq_library, rights)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_recv_wr *bad, wr = {};
	struct ibv_share_context *reader;
	struct ibv_srq *srq;

	ASSERT_EQ(ibv_share_send(self->ctx[0], self->sv[0], IBV_SHARE_READ), 0);
	ASSERT_NE(reader = ibv_share_recv(self->context, self->sv[1]), NULL);
	ASSERT_NE(srq = ibv_share_get_srq(reader, NULL), NULL);
	ASSERT_EQ(ibv_post_srq_recv(srq, &wr, &bad), EACCES);
	ASSERT_EQ(ibv_share_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EACCES);
	ASSERT_EQ(ibv_share_query_srq(srq, &attr), 0);
	ASSERT_EQ(ibv_share_close(reader), 0);
}

/* The maker takes it away: the importer is told so and reads no ring. */
TEST_F(srq_library, revoked)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	uint32_t i;
	int q;

	for (i = 0; i < 6; i++)
		ASSERT_EQ(post(self, 1, i), 0);
	for (q = 0; q < QPS; q++) {
		ASSERT_EQ(ibv_share_modify_qp(self->qp[q], &reset, IBV_QP_STATE), 0);
		ASSERT_EQ(ibv_share_destroy_qp(self->qp[q]), 0);
	}
	ASSERT_EQ(ibv_share_destroy_srq(self->srq[0]), 0);
	ASSERT_EQ(post(self, 1, 7), ENOLINK);
	/* its place is used again, and what was posted then is forgotten */
	ASSERT_NE(self->srq[0] = ibv_share_create_srq(self->pd, self->cq[0], &init), NULL);
	for (i = 0; !post(self, 0, i % PLACES); i++)
		ASSERT_LT(i, 64);
	ASSERT_LE(DEPTH, i);
	for (q = 0; q < QPS; q++) {
		struct ibv_qp_init_attr again = { .cap = { 4, 0, 1, 0, 0 },
						  .qp_type = IBV_QPT_RC,
						  .send_cq = self->cq[0],
						  .recv_cq = self->cq[0],
						  .srq = self->srq[0] };

		ASSERT_NE(self->qp[q] = ibv_share_create_qp(self->pd, &again), NULL);
	}
}

TEST_HARNESS_MAIN
