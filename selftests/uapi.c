// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Every attribute of every method against everything that can be wrong with an
 * attribute of its kind: one thing at a time, the exact errno of the header,
 * and nothing left behind. What is wrong with a value and not with an
 * attribute is in uapi_mr.c and uapi_ring.c.
 */
#include <sys/eventfd.h>

#include "kselftest_harness.h"
#include "share_sweep.h"

FIXTURE(uapi)
{
	struct endpoint ep;
	struct cq spare_cq;
	struct sweep sweep;
	int event;
	struct export_args of_qp, of_cq, of_context;
	struct import qp, cq, context;
	struct reg_mr mr;
	struct call call;
};

FIXTURE_SETUP(uapi)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(cq_create(self->ep.fd, 16, -1, &self->spare_cq));
	self->event = eventfd(0, EFD_CLOEXEC);
	ASSERT_LE(0, self->event);

	self->of_qp = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	test_export(self->ep.fd, &self->of_qp);
	self->of_cq = EXPORT_OF(self->ep.fd, self->ep.cq.handle);
	test_export(self->ep.fd, &self->of_cq);
	self->of_context = EXPORT_OF(self->ep.fd, ABSENT);
	test_export(self->ep.fd, &self->of_context);
	self->qp = IMPORT_OF(self->of_qp.grant);
	test_import(self->ep.fd, &self->qp);
	self->cq = IMPORT_OF(self->of_cq.grant);
	test_import(self->ep.fd, &self->cq);
	self->context = IMPORT_OF(self->of_context.grant);
	test_import(self->ep.fd, &self->context);

	self->sweep.fd = self->ep.fd;
	self->sweep.other_uverbs = dev_open("rxe0");
	ASSERT_LE(0, self->sweep.other_uverbs);
	self->sweep.grant = self->of_context.grant;
	self->sweep.memfd = memfd(PAGE);
	ASSERT_LE(0, self->sweep.memfd);
	test_ok(sweep_init(&self->sweep));

	self->mr = (struct reg_mr){
		.pd = self->ep.pd,
		.fd = self->sweep.memfd,
		.length = PAGE,
		.access = ACCESS_LOCAL,
	};
	test_reg_mr(self->ep.fd, &self->mr);
}

FIXTURE_TEARDOWN(uapi)
{
	sweep_exit();
}

TEST_F(uapi, query)
{
	const struct attr_row rows[] = {
		ATTR(IB_UVERBS_ATTR_SHARE_QUERY_CAPS, OUT_STRUCT),
		{ .kind = KINDS },
	};
	struct ib_uverbs_share_caps caps;

	call_init(&self->call, IB_UVERBS_OBJECT_SHARE, IB_UVERBS_METHOD_SHARE_QUERY);
	put_out(&self->call, IB_UVERBS_ATTR_SHARE_QUERY_CAPS, &caps, sizeof(caps));
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
}

TEST_F(uapi, reg_mr)
{
	const struct attr_row rows[] = {
		ATTR(IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE, NEW),
		OBJECT(IB_UVERBS_ATTR_SHARE_REG_MR_PD, self->ep.cq.handle),
		ATTR(IB_UVERBS_ATTR_SHARE_REG_MR_FD, MEMORY_OR_GRANT),
		ATTR(IB_UVERBS_ATTR_SHARE_REG_MR_OFFSET, VALUE),
		ATTR(IB_UVERBS_ATTR_SHARE_REG_MR_LENGTH, VALUE),
		ATTR(IB_UVERBS_ATTR_SHARE_REG_MR_IOVA, VALUE),
		ATTR(IB_UVERBS_ATTR_SHARE_REG_MR_ACCESS, FLAGS),
		ATTR(IB_UVERBS_ATTR_SHARE_REG_MR_RESP_LKEY, OUT),
		ATTR(IB_UVERBS_ATTR_SHARE_REG_MR_RESP_RKEY, OUT),
		{ .kind = KINDS },
	};
	struct reg_mr reg = self->mr;

	call_reg_mr(&self->call, &reg);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
}

TEST_F(uapi, export_cq)
{
	struct ib_uverbs_share_segment seg =
		ring_segment(&self->spare_cq.ring, IB_UVERBS_SHARE_RING_CQ);
	const struct attr_row rows[] = {
		ATTR(IB_UVERBS_ATTR_SHARE_EXPORT_HANDLE, NEW),
		{ .id = IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT,
		  .kind = ANY_OBJECT,
		  .optional = true,
		  .other = self->qp.handle },
		ATTR(IB_UVERBS_ATTR_SHARE_EXPORT_CMD_FD, CMD_FD),
		OPTIONAL(IB_UVERBS_ATTR_SHARE_EXPORT_RIGHTS, FLAGS),
		OPTIONAL(IB_UVERBS_ATTR_SHARE_EXPORT_RINGS, SEGMENTS),
		ATTR(IB_UVERBS_ATTR_SHARE_EXPORT_RESP_FD, OUT),
		{ .kind = KINDS },
	};
	struct export_args export = EXPORT_OF(self->ep.fd, self->spare_cq.handle);

	export.rights = IB_UVERBS_SHARE_POLL;
	export.segs = &seg;
	export.nsegs = 1;
	call_export(&self->call, &export);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
}

TEST_F(uapi, export_mr)
{
	const struct attr_row rows[] = {
		{ .id = IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT,
		  .kind = ANY_OBJECT,
		  .optional = true,
		  .other = self->of_qp.handle },
		ATTR(IB_UVERBS_ATTR_SHARE_EXPORT_MEM_FD, MEMORY),
		ATTR(IB_UVERBS_ATTR_SHARE_EXPORT_MEM_OFFSET, VALUE),
		OPTIONAL(IB_UVERBS_ATTR_SHARE_EXPORT_ACCESS, FLAGS),
		ATTR(IB_UVERBS_ATTR_SHARE_EXPORT_RESP_FD, OUT),
		{ .kind = KINDS },
	};
	struct export_args export = EXPORT_OF(self->ep.fd, self->mr.handle);

	export.mem_fd = self->sweep.memfd;
	export.access = ACCESS_LOCAL;
	call_export(&self->call, &export);
	/* without an object it is an export of the context, which has no memory */
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows + 1));
	find_attr(&self->call, IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT)->attr_id = 29;
	EXPECT_EQ(EPROTONOSUPPORT, call_run(self->ep.fd, &self->call));
	self->call.attr[1].flags = 0;
	EXPECT_EQ(EINVAL, call_run(self->ep.fd, &self->call));
}

TEST_F(uapi, derive)
{
	const struct attr_row rows[] = {
		ATTR(IB_UVERBS_ATTR_SHARE_DERIVE_GRANT, GRANT),
		OPTIONAL(IB_UVERBS_ATTR_SHARE_DERIVE_RIGHTS, FLAGS),
		ATTR(IB_UVERBS_ATTR_SHARE_DERIVE_RESP_FD, OUT),
		{ .kind = KINDS },
	};
	int fd;

	call_derive(&self->call, self->of_qp.grant, IB_UVERBS_SHARE_READ, &fd);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
}

TEST_F(uapi, revoke)
{
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_SHARE_REVOKE_HANDLE, self->qp.handle),
		{ .kind = KINDS },
	};

	call_init(&self->call, IB_UVERBS_OBJECT_SHARE, IB_UVERBS_METHOD_SHARE_REVOKE);
	put_handle(&self->call, IB_UVERBS_ATTR_SHARE_REVOKE_HANDLE, self->of_qp.handle);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	EXPECT_EQ(ENOENT, do_revoke(self->ep.fd, self->of_qp.handle));
}

TEST_F(uapi, import_context)
{
	const struct attr_row rows[] = {
		ATTR(IB_UVERBS_ATTR_IMPORT_CREATE_HANDLE, NEW),
		ATTR(IB_UVERBS_ATTR_IMPORT_CREATE_GRANT, GRANT),
		OPTIONAL(IB_UVERBS_ATTR_IMPORT_CREATE_RIGHTS, FLAGS),
		OPTIONAL(IB_UVERBS_ATTR_IMPORT_CREATE_EVENT_FD, EVENT),
		ATTR(IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO, OUT_STRUCT),
		{ .kind = KINDS },
	};
	struct import import = IMPORT_OF(self->of_context.grant);

	import.rights = IB_UVERBS_SHARE_READ;
	import.event = self->event;
	call_import(&self->call, &import);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
}

/* the slots of the imports that failed are free again */
TEST_F(uapi, failed_import_has_no_slot)
{
	struct import import = IMPORT_OF(self->of_context.grant);
	int i;

	call_import(&self->call, &import);
	find_attr(&self->call, IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO)->data = 0;
	for (i = 0; i < 2 * IB_UVERBS_SHARE_MAX_SLOTS; i++)
		ASSERT_EQ(EFAULT, call_run(self->ep.fd, &self->call));
	test_import(self->ep.fd, &import);
	EXPECT_EQ(1, import.info.slot);
}

TEST_F(uapi, release)
{
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_IMPORT_RELEASE_HANDLE, self->of_qp.handle),
		{ .kind = KINDS },
	};

	call_init(&self->call, IB_UVERBS_OBJECT_IMPORT, IB_UVERBS_METHOD_IMPORT_RELEASE);
	put_handle(&self->call, IB_UVERBS_ATTR_IMPORT_RELEASE_HANDLE, self->qp.handle);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	EXPECT_EQ(ENOENT, do_release(self->ep.fd, self->qp.handle));
}

TEST_F(uapi, kick)
{
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_IMPORT_KICK_HANDLE, self->of_qp.handle),
		ATTR(IB_UVERBS_ATTR_IMPORT_KICK_FLAGS, FLAGS),
		{ .kind = KINDS },
	};

	test_ok(endpoint_connect(&self->ep, &self->ep));
	call_kick(&self->call, self->qp.handle, IB_UVERBS_SHARE_KICK_SEND);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	test_err_kick(EINVAL, self->ep.fd, self->qp.handle, 0);
	test_err_kick(EINVAL, self->ep.fd, self->cq.handle, IB_UVERBS_SHARE_KICK_SEND);
	test_err_kick(EINVAL, self->ep.fd, self->context.handle, IB_UVERBS_SHARE_KICK_SEND);
}

TEST_F(uapi, arm)
{
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_IMPORT_ARM_HANDLE, self->of_qp.handle),
		OPTIONAL(IB_UVERBS_ATTR_IMPORT_ARM_FLAGS, FLAGS),
		{ .kind = KINDS },
	};

	call_arm(&self->call, self->cq.handle, IB_UVERBS_SHARE_ARM_SOLICITED);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	test_err_arm(EINVAL, self->ep.fd, self->qp.handle, 0);
}

TEST_F(uapi, modify_qp)
{
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_IMPORT_MODIFY_QP_HANDLE, self->of_qp.handle),
		ATTR(IB_UVERBS_ATTR_IMPORT_MODIFY_QP_ATTR, STRUCT),
		{ .kind = KINDS },
	};
	struct ib_uverbs_qp_attr attr = qp_attr_to(&self->ep, 1);

	call_modify(&self->call, self->qp.handle, &attr);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	test_err_modify(EINVAL, self->ep.fd, self->cq.handle, &attr);
}

TEST_F(uapi, query_qp)
{
	struct ib_uverbs_qp_attr attr;
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_IMPORT_QUERY_QP_HANDLE, self->of_qp.handle),
		ATTR(IB_UVERBS_ATTR_IMPORT_QUERY_QP_RESP_ATTR, OUT),
		{ .kind = KINDS },
	};

	call_query_qp(&self->call, self->qp.handle, &attr);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	test_err_query_qp(EINVAL, self->ep.fd, self->cq.handle, &attr);
}

/* handle and answer are all that there is to the queries of properties */
static unsigned int sweep_query(FIXTURE_DATA(uapi) *self)
{
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_IMPORT_QUERY_CQ_HANDLE, self->of_qp.handle),
		ATTR(IB_UVERBS_ATTR_IMPORT_QUERY_CQ_RESP, OUT_STRUCT),
		{ .kind = KINDS },
	};

	return sweep_run(&self->sweep, &self->call, rows);
}

TEST_F(uapi, query_cq)
{
	struct ib_uverbs_share_cq out;

	call_query_cq(&self->call, self->cq.handle, &out);
	EXPECT_EQ(0, sweep_query(self));
	test_err_query_cq(EINVAL, self->ep.fd, self->qp.handle, &out);
}

TEST_F(uapi, query_srq)
{
	struct export_args export = EXPORT_OF(self->ep.fd, 0);
	struct ib_uverbs_share_srq out;
	struct import import;
	struct srq srq;

	test_ok(srq_create(self->ep.fd, self->ep.pd, &srq));
	export.object = srq.handle;
	test_export(self->ep.fd, &export);
	import = IMPORT_OF(export.grant);
	test_import(self->ep.fd, &import);
	call_query_srq(&self->call, import.handle, &out);
	EXPECT_EQ(0, sweep_query(self));
	test_err_query_srq(EINVAL, self->ep.fd, self->cq.handle, &out);
}

TEST_F(uapi, modify_srq)
{
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_HANDLE, self->of_qp.handle),
		ATTR(IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_LIMIT, VALUE),
		{ .kind = KINDS },
	};
	struct export_args export = EXPORT_OF(self->ep.fd, 0);
	struct ib_uverbs_share_srq out;
	struct import import;
	struct srq srq;

	test_ok(srq_create(self->ep.fd, self->ep.pd, &srq));
	export.object = srq.handle;
	test_export(self->ep.fd, &export);
	import = IMPORT_OF(export.grant);
	test_import(self->ep.fd, &import);
	call_modify_srq(&self->call, import.handle, 1);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	test_err_modify_srq(EINVAL, self->ep.fd, self->cq.handle, 1);
	test_query_srq(self->ep.fd, import.handle, &out);
	test_modify_srq(self->ep.fd, import.handle, out.max_wr);
	test_err_modify_srq(EINVAL, self->ep.fd, import.handle, out.max_wr + 1);
}

TEST_F(uapi, query_mr)
{
	struct export_args export = EXPORT_OF(self->ep.fd, self->mr.handle);
	struct ib_uverbs_share_mr out;
	struct import import;

	test_export(self->ep.fd, &export);
	import = IMPORT_OF(export.grant);
	test_import(self->ep.fd, &import);
	call_query_mr(&self->call, import.handle, &out);
	EXPECT_EQ(0, sweep_query(self));
	test_err_query_mr(EINVAL, self->ep.fd, self->cq.handle, &out);
}

TEST_F(uapi, query_slot)
{
	struct ib_uverbs_share_slot slot;
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_HANDLE, self->of_qp.handle),
		ATTR(IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_SLOT, VALUE),
		ATTR(IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_RESP, OUT_STRUCT),
		{ .kind = KINDS },
	};

	call_query_slot(&self->call, self->context.handle, 0, &slot);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	test_err_query_slot(EINVAL, self->ep.fd, self->qp.handle, 0, &slot);
	test_err_query_slot(EINVAL, self->ep.fd, self->context.handle,
			    IB_UVERBS_SHARE_MAX_SLOTS, &slot);
}

TEST_F(uapi, wake_slot)
{
	const struct attr_row rows[] = {
		OBJECT(IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_HANDLE, self->of_qp.handle),
		ATTR(IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_SLOT, VALUE),
		{ .kind = KINDS },
	};

	call_wake_slot(&self->call, self->context.handle, 0);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	test_err_wake_slot(EINVAL, self->ep.fd, self->qp.handle, 0);
	test_err_wake_slot(EINVAL, self->ep.fd, self->context.handle, IB_UVERBS_SHARE_MAX_SLOTS);
	test_wake_slot(self->ep.fd, self->context.handle, IB_UVERBS_SHARE_ALL_SLOTS);
}

TEST_HARNESS_MAIN
