// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The extended calls in threads, in a child, without rights, and what is not for
 * shared objects.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_extended.h"

#define THREADS 4
#define ROUNDS 50

FIXTURE(extended_calls)
{
	struct extended bed;
};

FIXTURE_VARIANT(extended_calls)
{
	int who;
};

FIXTURE_VARIANT_ADD(extended_calls, maker){
	.who = 0,
};

FIXTURE_VARIANT_ADD(extended_calls, importer){
	.who = 1,
};

FIXTURE_SETUP(extended_calls)
{
	ASSERT_EQ(extended_open(&self->bed), 0);
}

FIXTURE_TEARDOWN(extended_calls)
{
	EXPECT_EQ(extended_close(&self->bed), 0);
}

struct thread {
	struct extended *self;
	int who;
	uint64_t number;
};

/* two writes at a time: nobody else's may come between */
static void *write_pairs(void *arg)
{
	struct thread *t = arg;
	struct ibv_qp_ex *qp = t->self->qp[t->who];
	int i, ret;

	for (i = 0; i < ROUNDS; i++) {
		do {
			ibv_wr_start(qp);
			extended_write(t->self, qp, t->number);
			extended_write(t->self, qp, t->number + 1);
			ret = ibv_wr_complete(qp);
		} while (ret == ENOMEM);
		if (ret)
			return (void *)(intptr_t)ret;
	}
	return NULL;
}

TEST_F(extended_calls, threads)
{
	struct ibv_cq_ex *cq = self->bed.cq[variant->who];
	struct thread threads[THREADS];
	pthread_t ids[THREADS];
	uint64_t first;
	void *ret;
	int i;

	for (i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ &self->bed, variant->who, 2 * (uint64_t)i };
		ASSERT_EQ(pthread_create(&ids[i], NULL, write_pairs, &threads[i]), 0);
	}
	for (i = 0; i < THREADS * ROUNDS; i++) {
		ASSERT_EQ(extended_poll(cq), 0);
		first = cq->wr_id;
		ibv_end_poll(cq);
		ASSERT_EQ(extended_poll(cq), 0);
		ASSERT_EQ(first % 2, 0);
		ASSERT_EQ(cq->wr_id, first + 1);
		ibv_end_poll(cq);
	}
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(pthread_join(ids[i], &ret), 0);
		ASSERT_EQ(ret, NULL);
	}
}

/* What libibverbs has for this does not know shared objects; it says so. */
TEST_F(extended_calls, refused)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->bed.context);
	struct ibv_cq *cq = ibv_create_cq(self->bed.context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };
	struct ibv_cq_ex *ex = self->bed.cq[variant->who];
	struct ibv_qp *qp;
	struct ibv_wc wc;

	init.send_cq = init.recv_cq = cq;
	ASSERT_NE(qp = ibv_create_qp(pd, &init), NULL);
	ASSERT_EQ(ibv_share_qp_to_qp_ex(qp), NULL);
	ASSERT_EQ(errno, EINVAL);
	ASSERT_EQ(ibv_share_cq_to_cq_ex(cq), NULL);
	ASSERT_EQ(errno, EINVAL);
	ASSERT_EQ(ibv_qp_to_qp_ex(&self->bed.qp[variant->who]->qp_base), NULL);
	ASSERT_EQ(ibv_share_qp_to_qp_ex(&self->bed.qp[variant->who]->qp_base),
		  self->bed.qp[variant->who]);
	ASSERT_EQ(ibv_start_poll(ex, &attr), EINVAL);
	attr.comp_mask = 0;
	ASSERT_EQ(ibv_start_poll(ex, &attr), ENOENT);
	/* no lock is left */
	ASSERT_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(ex), 1, &wc), 0);
	ASSERT_EQ(ibv_destroy_qp(qp), 0);
	ASSERT_EQ(ibv_destroy_cq(cq), 0);
	ASSERT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(extended_calls, without_right)
{
	struct ibv_share_context *reader;
	struct ibv_qp_ex *qp;

	ASSERT_EQ(ibv_share_send(self->bed.ctx[0], self->bed.sv[0], IBV_SHARE_READ), 0);
	ASSERT_NE(reader = ibv_share_recv(self->bed.context, self->bed.sv[1]), NULL);
	ASSERT_NE(qp = ibv_share_qp_to_qp_ex(ibv_share_get_qp(reader, "qp0")), NULL);
	ibv_wr_start(qp);
	extended_write(&self->bed, qp, 1);
	ASSERT_EQ(ibv_wr_complete(qp), EACCES);
	ASSERT_EQ(ibv_share_close(reader), 0);
}

/* A child of fork() is told to receive a bundle, also if a thread was in the middle. */
TEST_F(extended_calls, forked)
{
	struct ibv_qp_ex *qp = self->bed.qp[variant->who];
	struct ibv_cq_ex *cq = self->bed.cq[variant->who];
	int status;
	pid_t pid;

	ibv_wr_start(qp);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		ibv_wr_start(qp);
		extended_write(&self->bed, qp, 1);
		status = ibv_wr_complete(qp);
		_exit(!(status && status == ibv_start_poll(cq, &(struct ibv_poll_cq_attr){})));
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	extended_write(&self->bed, qp, 1);
	ASSERT_EQ(ibv_wr_complete(qp), 0);
	ASSERT_EQ(extended_poll(cq), 0);
	ibv_end_poll(cq);
}

/* The address handle is one of the library's, as for ibv_post_send(). */
TEST_F(extended_calls, datagrams)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 32 }, .qp_type = IBV_QPT_UD };
	struct ibv_ah_attr address = { .is_global = 1, .port_num = 1 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11 };
	struct ibv_cq_ex *cq = self->bed.cq[0];
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	init.send_cq = init.recv_cq = self->bed.made_cq;
	ASSERT_NE(qp = ibv_share_create_qp(self->bed.pd, &init), NULL);
	ASSERT_EQ(ibv_share_modify_qp(qp, &attr,
				      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		  0);
	attr.qp_state = IBV_QPS_RTR;
	ASSERT_EQ(ibv_share_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	ASSERT_EQ(ibv_share_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	ASSERT_EQ(ibv_query_gid(self->bed.context, 1, GID_INDEX, &address.grh.dgid), 0);
	address.grh.sgid_index = GID_INDEX;
	address.grh.hop_limit = 1;
	ASSERT_NE(ah = ibv_share_create_ah(self->bed.pd, &address), NULL);
	ASSERT_NE(ex = ibv_share_qp_to_qp_ex(qp), NULL);
	ibv_wr_start(ex);
	extended_request(ex, 8);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, (void *)"datagram", 9);
	ASSERT_EQ(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	extended_request(ex, 8);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, qp->qp_num, 0x11);
	ibv_wr_set_inline_data(ex, (void *)"datagram", 9);
	ASSERT_EQ(ibv_wr_complete(ex), 0);
	ASSERT_EQ(extended_poll(cq), 0);
	ASSERT_EQ(extended_is(cq, 8, IBV_WC_SEND, qp->qp_num), 0);
	ibv_end_poll(cq);
	ASSERT_EQ(ibv_share_destroy_ah(ah), 0);
	ASSERT_EQ(ibv_share_destroy_qp(qp), 0);
}

TEST_HARNESS_MAIN
