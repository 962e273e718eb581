// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A receive that an importer posts to the exporter's SRQ takes a message.
 */
#include <infiniband/verbs.h>

#include "kselftest_harness.h"
#include "share_test.h"

FIXTURE(srq)
{
	struct endpoint ep;
	struct srq srq;
	int fd;
	struct export_args export, of_qp;
	struct ib_uverbs_share_segment seg;
	uint32_t kick;
	struct reg_mr mr;
};

FIXTURE_SETUP(srq)
{
	struct import import;

	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(srq_create(self->ep.fd, self->ep.pd, &self->srq));
	test_ok(qp_create(&self->ep, IB_UVERBS_QPT_RC, &self->srq, &self->ep.qp));
	test_ok(endpoint_connect(&self->ep, &self->ep));
	self->seg = ring_segment(&self->srq.ring, IB_UVERBS_SHARE_RING_SRQ);
	self->export = EXPORT_OF(self->ep.fd, self->srq.handle);
	self->export.segs = &self->seg;
	self->export.nsegs = 1;
	test_export(self->ep.fd, &self->export);

	self->of_qp = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	test_export(self->ep.fd, &self->of_qp);
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
	import = IMPORT_OF(self->of_qp.grant);
	test_import(self->fd, &import);
	self->kick = import.handle;

	self->mr = (struct reg_mr){
		.pd = self->ep.pd,
		.fd = memfd(2 * PAGE),
		.length = 2 * PAGE,
		.access = ACCESS_LOCAL,
	};
	test_reg_mr(self->ep.fd, &self->mr);
}

FIXTURE_TEARDOWN(srq)
{
	close(self->fd);
	endpoint_close(&self->ep);
}

TEST_F(srq, receive)
{
	struct rxe_sge from = { .addr = 0, .length = 5, .lkey = self->mr.lkey };
	struct rxe_sge to = { .addr = PAGE, .length = PAGE, .lkey = self->mr.lkey };
	off_t offset = (off_t)IB_UVERBS_SHARE_RING_SRQ << IB_UVERBS_SHARE_RING_SHIFT;
	struct ib_uverbs_wc wc;
	uint64_t ids = 0;
	char got[5];
	void *ring;
	int i;

	ring = mmap(NULL, self->seg.length, PROT_READ | PROT_WRITE, MAP_SHARED, self->export.grant,
		    offset);
	ASSERT_NE(MAP_FAILED, ring);
	ASSERT_EQ(5, pwrite(self->mr.fd, "hello", 5, 0));
	post_recv(ring, 1, &to);
	post_send(self->ep.qp.send.buf, 2, &from);
	test_kick(self->fd, self->kick, IB_UVERBS_SHARE_KICK_SEND);
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(poll_cq(self->ep.cq.ring.buf, &wc));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		ids |= wc.wr_id;
	}
	EXPECT_EQ(3, ids);
	ASSERT_EQ(5, pread(self->mr.fd, got, 5, PAGE));
	EXPECT_EQ(0, memcmp(got, "hello", 5));
}

/* such a QP has no receive queue of its own */
TEST_F(srq, no_kick_for_receives)
{
	test_err_kick(EINVAL, self->fd, self->kick, IB_UVERBS_SHARE_KICK_RECV);
	EXPECT_EQ(NULL, self->ep.qp.recv.buf);
}

TEST_HARNESS_MAIN
