// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * ibv_wr_start() and ibv_start_poll() and what belongs to them, on two shared
 * queue pairs that are connected to one another, in maker and importer.
 */
#include <arpa/inet.h>
#include <string.h>
#include <kselftest_harness.h>
#include "share_extended.h"

FIXTURE(extended)
{
	struct extended bed;
};

FIXTURE_VARIANT(extended)
{
	int who;
};

FIXTURE_VARIANT_ADD(extended, maker){
	.who = 0,
};

FIXTURE_VARIANT_ADD(extended, importer){
	.who = 1,
};

FIXTURE_SETUP(extended)
{
	ASSERT_EQ(extended_open(&self->bed), 0);
}

FIXTURE_TEARDOWN(extended)
{
	EXPECT_EQ(extended_close(&self->bed), 0);
}

/* Everything that can be posted, in one go. */
static int post_each(struct extended *self, struct ibv_qp_ex *qp)
{
	const struct ibv_sge sges[2] = { { IOVA + FROM, 8, self->mr->lkey },
					 { IOVA + FROM + 8, 8, self->mr->lkey } };
	const struct ibv_data_buf bufs[2] = { { (void *)"in", 2 }, { (void *)"line", 5 } };
	const uint32_t rkey = self->mr->rkey;

	ibv_wr_start(qp);
	extended_request(qp, 1);
	ibv_wr_rdma_write(qp, rkey, IOVA + TO);
	ibv_wr_set_inline_data_list(qp, 2, bufs);
	extended_request(qp, 2);
	ibv_wr_rdma_write_imm(qp, rkey, IOVA + TO + 64, htonl(22));
	ibv_wr_set_sge_list(qp, 2, sges);
	extended_request(qp, 3);
	ibv_wr_rdma_read(qp, rkey, IOVA + FROM);
	ibv_wr_set_sge(qp, self->mr->lkey, IOVA + TO + 128, 16);
	extended_request(qp, 4);
	ibv_wr_atomic_fetch_add(qp, rkey, IOVA + WORD, 5);
	ibv_wr_set_sge(qp, self->mr->lkey, IOVA + WORD + 8, 8);
	extended_request(qp, 5);
	ibv_wr_atomic_cmp_swp(qp, rkey, IOVA + WORD, 105, 7);
	ibv_wr_set_sge(qp, self->mr->lkey, IOVA + WORD + 16, 8);
	extended_request(qp, 6);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, self->mr->lkey, IOVA + FROM, 16);
	extended_request(qp, 7);
	ibv_wr_send_imm(qp, htonl(77));
	ibv_wr_set_inline_data(qp, (void *)"seven", 6);
	CHECK(!ibv_wr_complete(qp));
	return 0;
}

TEST_F(extended, each_operation)
{
	static const enum ibv_wc_opcode want[] = {
		[1] = IBV_WC_RDMA_WRITE,
		[2] = IBV_WC_RDMA_WRITE,
		[3] = IBV_WC_RDMA_READ,
		[4] = IBV_WC_FETCH_ADD,
		[5] = IBV_WC_COMP_SWAP,
		[6] = IBV_WC_SEND,
		[7] = IBV_WC_SEND,
	};
	struct ibv_cq_ex *cq = self->bed.cq[variant->who];
	struct ibv_qp_ex *qp = self->bed.qp[variant->who];
	uint64_t *word = (uint64_t *)(void *)(self->bed.mem + WORD);
	uint64_t i;

	memcpy(self->bed.mem + FROM, "what is written", 16);
	word[0] = 100;
	/* of the other one, that it be seen who gets what */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(extended_recv(&self->bed, !variant->who, 100 + i), 0);
	ASSERT_EQ(post_each(&self->bed, qp), 0);
	ASSERT_EQ(extended_poll(cq), 0);
	for (i = 1; i <= 7; i++) {
		ASSERT_EQ(extended_is(cq, i, want[i], self->bed.made[0]->qp_num), 0);
		if (i == 7)
			break;
		ibv_end_poll(cq);
		ASSERT_EQ(extended_poll(cq), 0);
	}
	ASSERT_EQ(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	ASSERT_STREQ(self->bed.mem + TO, "inline");
	ASSERT_STREQ(self->bed.mem + TO + 64, "what is written");
	ASSERT_STREQ(self->bed.mem + TO + 128, "what is written");
	ASSERT_EQ(word[0], 7);
	ASSERT_EQ(word[1], 100);
	ASSERT_EQ(word[2], 105);
	ASSERT_STREQ(self->bed.mem + RECV, "seven");
}

TEST_F(extended, receives_are_read)
{
	struct ibv_cq_ex *cq = self->bed.cq[variant->who];
	struct ibv_qp_ex *qp = self->bed.qp[!variant->who];
	uint64_t i;

	memset(self->bed.mem + FROM, 'x', 16);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(extended_recv(&self->bed, variant->who, 100 + i), 0);
	ASSERT_EQ(post_each(&self->bed, qp), 0);
	/* when the last send is complete so are the receives */
	for (i = 1; i <= 7; i++) {
		ASSERT_EQ(extended_poll(self->bed.cq[!variant->who]), 0);
		ibv_end_poll(self->bed.cq[!variant->who]);
	}
	ASSERT_EQ(extended_poll(cq), 0);
	ASSERT_EQ(extended_is(cq, 100, IBV_WC_RECV_RDMA_WITH_IMM, self->bed.made[1]->qp_num), 0);
	ASSERT_EQ(ntohl(ibv_wc_read_imm_data(cq)), 22);
	ASSERT_EQ(ibv_next_poll(cq), 0);
	ASSERT_EQ(extended_is(cq, 101, IBV_WC_RECV, self->bed.made[1]->qp_num), 0);
	ASSERT_EQ(ibv_wc_read_byte_len(cq), 16);
	ASSERT_EQ(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, 0);
	ASSERT_EQ(ibv_next_poll(cq), 0);
	ASSERT_EQ(extended_is(cq, 102, IBV_WC_RECV, self->bed.made[1]->qp_num), 0);
	ASSERT_EQ(ntohl(ibv_wc_read_imm_data(cq)), 77);
	ASSERT_EQ(ibv_wc_read_byte_len(cq), 6);
	ASSERT_EQ(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
}

/* What fails the call, in each part of it. */
static int fail(struct extended *self, struct ibv_qp_ex *qp, int how)
{
	static const struct ibv_sge sges[64];
	static char large[4096];
	int i;

	switch (how) {
	case 0:
		ibv_wr_send(qp);
		ibv_wr_set_sge_list(qp, 64, sges);
		return EINVAL;
	case 1:
		ibv_wr_send(qp);
		ibv_wr_set_inline_data(qp, large, sizeof(large));
		return EINVAL;
	case 2:
		/* it has a word for this, but not there */
		ibv_wr_atomic_fetch_add(qp, self->mr->rkey, IOVA + WORD + 1, 1);
		ibv_wr_set_sge(qp, self->mr->lkey, IOVA + TO, 8);
		return EINVAL;
	case 3:
		for (i = 0; i < 4 * DEPTH; i++)
			extended_write(self, qp, 1000);
		return ENOMEM;
	case 4:
		ibv_wr_send_inv(qp, 1);
		return EOPNOTSUPP;
	case 5:
		ibv_wr_send_tso(qp, large, 8, 1000);
		return EOPNOTSUPP;
	case 6:
		ibv_wr_local_inv(qp, 1);
		return EOPNOTSUPP;
	default:
		return 0;
	}
}

/* A call that fails posts nothing of what stands before either, and loses no place. */
TEST_F(extended, all_or_nothing)
{
	struct ibv_qp_ex *qp = self->bed.qp[variant->who];
	struct ibv_cq_ex *cq = self->bed.cq[variant->who];
	int how, want, i, ret;

	memcpy(self->bed.mem + FROM, "written", 8);
	for (i = 0; i < 20; i++) {
		for (how = 0, want = 1; want; how++) {
			ibv_wr_start(qp);
			extended_write(&self->bed, qp, 500);
			want = fail(&self->bed, qp, how);
			if (!want)
				ibv_wr_abort(qp);
			else
				ASSERT_EQ(ibv_wr_complete(qp), want);
			if (want == EOPNOTSUPP)
				ASSERT_NE(strstr(ibv_share_last_error(), "ibv_wr_"), NULL);
		}
	}
	ASSERT_EQ(how, 8);
	/* data without a request, and a call without requests */
	ibv_wr_start(qp);
	ibv_wr_set_sge(qp, self->bed.mr->lkey, IOVA + FROM, 8);
	ASSERT_EQ(ibv_wr_complete(qp), EINVAL);
	ibv_wr_start(qp);
	ASSERT_EQ(ibv_wr_complete(qp), 0);
	ASSERT_EQ(self->bed.mem[TO], 0);
	for (i = 0, ret = 0; !ret && i < 4 * DEPTH; i++) {
		ibv_wr_start(qp);
		extended_write(&self->bed, qp, (uint64_t)i);
		ret = ibv_wr_complete(qp);
		if (!ret) {
			ASSERT_EQ(extended_poll(cq), 0);
			ASSERT_EQ(extended_is(cq, (uint64_t)i, IBV_WC_RDMA_WRITE,
					      qp->qp_base.qp_num),
				  0);
			ibv_end_poll(cq);
		}
	}
	ASSERT_EQ(ret, 0);
	ASSERT_STREQ(self->bed.mem + TO, "written");
	ASSERT_EQ(ibv_start_poll(cq, &(struct ibv_poll_cq_attr){}), ENOENT);
}

TEST_HARNESS_MAIN
