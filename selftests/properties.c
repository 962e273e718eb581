// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * QUERY_CQ, QUERY_SRQ and QUERY_MR: an importer reads what the exporter has.
 * QUERY_QP is in qp.c.
 */
#include <infiniband/verbs.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define R(name) IB_UVERBS_SHARE_##name

FIXTURE(properties)
{
	struct endpoint ep;
	struct srq srq;
	struct reg_mr mr;
	int fd;
	struct export_args export;
	struct import import;
};

FIXTURE_SETUP(properties)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(srq_create(self->ep.fd, self->ep.pd, &self->srq));
	self->mr = (struct reg_mr){
		.pd = self->ep.pd,
		.fd = memfd(3 * PAGE),
		.length = 2 * PAGE,
		.offset = PAGE,
		.iova = 0x7000000,
		.access = ACCESS_LOCAL | IB_UVERBS_ACCESS_REMOTE_READ,
	};
	test_reg_mr(self->ep.fd, &self->mr);
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(properties)
{
	close(self->fd);
	endpoint_close(&self->ep);
}

/* with this ring, if there is one; READ, and of the SRQ MODIFY */
static int share(FIXTURE_DATA(properties) *self, uint32_t object,
		 const struct ib_uverbs_share_segment *seg)
{
	int err;

	self->export = EXPORT_OF(self->ep.fd, object);
	self->export.segs = seg;
	self->export.nsegs = !!seg;
	if (object == self->mr.handle) {
		self->export.mem_fd = self->mr.fd;
		self->export.mem_offset = self->mr.offset;
		self->export.access = IB_UVERBS_ACCESS_REMOTE_READ;
	}
	err = do_export(self->ep.fd, &self->export);
	self->import = IMPORT_OF(self->export.grant);
	self->import.rights = R(READ);
	if (object == self->srq.handle)
		self->import.rights |= R(MODIFY);
	return err ?: do_import(self->fd, &self->import);
}

TEST_F(properties, of_a_cq)
{
	struct ib_uverbs_share_segment seg =
		ring_segment(&self->ep.cq.ring, IB_UVERBS_SHARE_RING_CQ);
	struct ib_uverbs_share_cq out;
	struct cq larger;

	memset(&out, 0xff, sizeof(out));
	test_ok(share(self, self->ep.cq.handle, &seg));
	test_query_cq(self->fd, self->import.handle, &out);
	EXPECT_EQ(self->ep.cq.ring.buf->index_mask, out.cqe);
	EXPECT_EQ(0, out.reserved);
	EXPECT_EQ(seg.length, out.ring_bytes);

	/* another one, without its ring */
	test_ok(cq_create(self->ep.fd, 1000, -1, &larger));
	test_ok(share(self, larger.handle, NULL));
	test_query_cq(self->fd, self->import.handle, &out);
	EXPECT_EQ(1023, out.cqe);
	EXPECT_EQ(0, out.ring_bytes);

	test_revoke(self->ep.fd, self->export.handle);
	test_err_query_cq(ENOLINK, self->fd, self->import.handle, &out);
}

TEST_F(properties, of_an_srq)
{
	struct ib_uverbs_share_segment seg =
		ring_segment(&self->srq.ring, IB_UVERBS_SHARE_RING_SRQ);
	struct ib_uverbs_query_srq_resp want;
	struct ib_uverbs_share_srq out;

	memset(&out, 0xff, sizeof(out));
	test_ok(srq_query(self->ep.fd, self->srq.handle, &want));
	test_ok(share(self, self->srq.handle, &seg));
	test_query_srq(self->fd, self->import.handle, &out);
	EXPECT_LT(0, out.max_wr);
	EXPECT_EQ(want.max_wr, out.max_wr);
	EXPECT_EQ(want.max_sge, out.max_sge);
	EXPECT_EQ(0, out.limit);
	EXPECT_EQ(0, out.reserved);
	EXPECT_EQ(seg.length, out.ring_bytes);

	/* it is asked anew each time */
	test_ok(srq_set_limit(self->ep.fd, self->srq.handle, 7));
	test_query_srq(self->fd, self->import.handle, &out);
	EXPECT_EQ(7, out.limit);

	/* and any importer with the right may change it */
	test_modify_srq(self->fd, self->import.handle, 5);
	test_ok(srq_query(self->ep.fd, self->srq.handle, &want));
	EXPECT_EQ(5, want.srq_limit);

	test_ok(share(self, self->srq.handle, NULL));
	test_query_srq(self->fd, self->import.handle, &out);
	EXPECT_EQ(0, out.ring_bytes);
	test_revoke(self->ep.fd, self->export.handle);
	test_err_query_srq(ENOLINK, self->fd, self->import.handle, &out);
	test_err_modify_srq(ENOLINK, self->fd, self->import.handle, 1);
}

TEST_F(properties, of_a_region)
{
	struct ib_uverbs_share_mr out;
	struct ib_uverbs_reg_mr_resp plain;
	struct export_args export;
	struct import import;

	memset(&out, 0xff, sizeof(out));
	test_ok(share(self, self->mr.handle, NULL));
	test_query_mr(self->fd, self->import.handle, &out);
	EXPECT_EQ(self->mr.lkey, out.lkey);
	EXPECT_EQ(self->mr.rkey, out.rkey);
	EXPECT_NE(0, out.rkey);
	EXPECT_EQ(0x7000000, out.iova);
	EXPECT_EQ(2 * PAGE, out.length);
	EXPECT_EQ(IB_UVERBS_ACCESS_REMOTE_READ, out.access);
	EXPECT_EQ(0, out.reserved);

	/* one of ibv_reg_mr(), of which no further region can be made */
	test_ok(mr_reg(self->ep.fd, self->ep.pd, self->ep.cq.ring.buf, 64, ACCESS_LOCAL, &plain));
	export = EXPORT_OF(self->ep.fd, plain.mr_handle);
	test_export(self->ep.fd, &export);
	import = IMPORT_OF(export.grant);
	test_import(self->fd, &import);
	test_query_mr(self->fd, import.handle, &out);
	EXPECT_EQ(plain.lkey, out.lkey);
	EXPECT_EQ((uintptr_t)self->ep.cq.ring.buf, out.iova);
	EXPECT_EQ(64, out.length);
	EXPECT_EQ(0, out.access);

	test_revoke(self->ep.fd, self->export.handle);
	test_err_query_mr(ENOLINK, self->fd, self->import.handle, &out);
}

TEST_HARNESS_MAIN
