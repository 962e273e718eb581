// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "share_extended.h"

#define WAIT_MS 5000

static int open_shared(struct extended *self)
{
	struct ibv_qp_init_attr init = { .cap = { DEPTH - 1, DEPTH - 1, 2, 1, 64 },
					 .qp_type = IBV_QPT_RC };
	int fd = memfd_create("extended", MFD_CLOEXEC), i;
	union ibv_gid gid;

	CHECK(fd >= 0 && !ftruncate(fd, BYTES));
	CHECK(self->context = lib_open("rxe0"));
	CHECK(self->ctx[0] = ibv_share_open(self->context, NULL));
	CHECK(self->pd = ibv_share_alloc_pd(self->ctx[0]));
	CHECK(self->made_cq = ibv_share_create_cq(self->ctx[0], 8 * DEPTH, NULL, NULL, 0));
	init.send_cq = init.recv_cq = self->made_cq;
	for (i = 0; i < 2; i++)
		CHECK(self->made[i] = ibv_share_create_qp(self->pd, &init));
	CHECK(self->mr = ibv_reg_shared_mr(self->pd, 0, BYTES, IOVA, fd, RIGHTS));
	self->mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(self->mem != MAP_FAILED);
	close(fd);
	CHECK(!ibv_query_gid(self->context, 1, GID_INDEX, &gid));
	CHECK(!lib_connect(self->made[0], 1, self->made[1]->qp_num, &gid));
	CHECK(!lib_connect(self->made[1], 1, self->made[0]->qp_num, &gid));
	return 0;
}

static int import_all(struct extended *self)
{
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sv));
	CHECK(!ibv_share_send(self->ctx[0], self->sv[0], IBV_SHARE_ALL_RIGHTS));
	CHECK(self->ctx[1] = ibv_share_recv(self->context, self->sv[1]));
	CHECK(self->qp[0] = ibv_share_qp_to_qp_ex(self->made[0]));
	CHECK(self->cq[0] = ibv_share_cq_to_cq_ex(self->made_cq));
	CHECK(self->qp[1] = ibv_share_qp_to_qp_ex(ibv_share_get_qp(self->ctx[1], "qp0")));
	CHECK(self->cq[1] = ibv_share_cq_to_cq_ex(ibv_share_get_cq(self->ctx[1], NULL)));
	return 0;
}

int extended_open(struct extended *self)
{
	return open_shared(self) || import_all(self);
}

int extended_close(struct extended *self)
{
	int i;

	CHECK(!ibv_share_close(self->ctx[1]));
	CHECK(!ibv_dereg_mr(self->mr));
	for (i = 0; i < 2; i++)
		CHECK(!ibv_share_destroy_qp(self->made[i]));
	CHECK(!ibv_share_destroy_cq(self->made_cq));
	CHECK(!ibv_share_dealloc_pd(self->pd));
	CHECK(!ibv_share_close(self->ctx[0]));
	munmap(self->mem, BYTES);
	return 0;
}

int extended_recv(struct extended *self, int who, uint64_t wr_id)
{
	struct ibv_sge sge = { IOVA + RECV, 256, self->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_qp *qp = ibv_share_get_qp(self->ctx[who], "qp1");

	return ibv_post_recv(qp, &wr, &bad);
}

int extended_poll(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {};
	uint32_t start = lib_now_ms();
	int ret;

	do {
		ret = ibv_start_poll(cq, &attr);
	} while (ret == ENOENT && lib_now_ms() - start < WAIT_MS);
	return ret;
}

int extended_is(struct ibv_cq_ex *cq, uint64_t wr_id, enum ibv_wc_opcode opcode, uint32_t qp_num)
{
	CHECK(cq->status == IBV_WC_SUCCESS && cq->wr_id == wr_id);
	CHECK(ibv_wc_read_opcode(cq) == opcode && ibv_wc_read_qp_num(cq) == qp_num);
	return 0;
}

void extended_request(struct ibv_qp_ex *qp, uint64_t wr_id)
{
	qp->wr_id = wr_id;
	qp->wr_flags = IBV_SEND_SIGNALED;
}

void extended_write(struct extended *self, struct ibv_qp_ex *qp, uint64_t wr_id)
{
	extended_request(qp, wr_id);
	ibv_wr_rdma_write(qp, self->mr->rkey, IOVA + TO);
	ibv_wr_set_sge(qp, self->mr->lkey, IOVA + FROM, 8);
}
