// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Regions on an imported PD: every attribute against everything that can be
 * wrong with it, as in uapi.c.
 */
#include "kselftest_harness.h"
#include "share_sweep.h"

FIXTURE(uapi_import_mr)
{
	struct endpoint ep;
	struct sweep sweep;
	struct export_args of_qp, of_pd;
	struct import qp, pd;
	struct reg_mr mr;
	struct call call;
};

FIXTURE_SETUP(uapi_import_mr)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	self->of_qp = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	test_export(self->ep.fd, &self->of_qp);
	self->qp = IMPORT_OF(self->of_qp.grant);
	test_import(self->ep.fd, &self->qp);
	self->of_pd = EXPORT_OF(self->ep.fd, self->ep.pd);
	test_export(self->ep.fd, &self->of_pd);
	self->pd = IMPORT_OF(self->of_pd.grant);
	test_import(self->ep.fd, &self->pd);

	self->sweep.fd = self->ep.fd;
	self->sweep.other_uverbs = dev_open("rxe0");
	ASSERT_LE(0, self->sweep.other_uverbs);
	self->sweep.grant = self->of_qp.grant;
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

FIXTURE_TEARDOWN(uapi_import_mr)
{
	sweep_exit();
}

/* a region may be imported with the condition that it is on a certain PD */
TEST_F(uapi_import_mr, import)
{
	struct attr_row rows[] = {
		{ .id = IB_UVERBS_ATTR_IMPORT_CREATE_PD,
		  .kind = HANDLE,
		  .optional = true,
		  .other = self->of_qp.handle },
		{ .kind = KINDS },
	};
	struct export_args export = EXPORT_OF(self->ep.fd, self->mr.handle);
	struct export_args other = EXPORT_OF(self->ep.fd, 0);
	struct import import, other_pd;

	test_export(self->ep.fd, &export);
	import = IMPORT_OF(export.grant);
	import.pd = self->pd.handle;
	call_import(&self->call, &import);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));

	import.pd = self->qp.handle;
	test_err_import(EINVAL, self->ep.fd, &import);
	test_ok(pd_alloc(self->ep.fd, &other.object));
	test_export(self->ep.fd, &other);
	other_pd = IMPORT_OF(other.grant);
	test_import(self->ep.fd, &other_pd);
	import.pd = other_pd.handle;
	test_err_import(EXDEV, self->ep.fd, &import);
	test_revoke(self->ep.fd, other.handle);
	test_err_import(ENOLINK, self->ep.fd, &import);
	import = IMPORT_OF(self->of_qp.grant);
	import.pd = self->pd.handle;
	test_err_import(EINVAL, self->ep.fd, &import);
}

TEST_F(uapi_import_mr, register)
{
	const struct attr_row rows[] = {
		ATTR(IB_UVERBS_ATTR_IMPORT_REG_MR_HANDLE, NEW),
		OBJECT(IB_UVERBS_ATTR_IMPORT_REG_MR_PD, self->of_qp.handle),
		ATTR(IB_UVERBS_ATTR_IMPORT_REG_MR_FD, MEMORY_OR_GRANT),
		ATTR(IB_UVERBS_ATTR_IMPORT_REG_MR_OFFSET, VALUE),
		ATTR(IB_UVERBS_ATTR_IMPORT_REG_MR_LENGTH, VALUE),
		ATTR(IB_UVERBS_ATTR_IMPORT_REG_MR_IOVA, VALUE),
		ATTR(IB_UVERBS_ATTR_IMPORT_REG_MR_ACCESS, FLAGS),
		ATTR(IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_LKEY, OUT),
		ATTR(IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_RKEY, OUT),
		{ .kind = KINDS },
	};
	const struct attr_row of_memory[] = {
		ATTR(IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR, VALUE),
		{ .kind = KINDS },
	};
	struct reg_mr reg = self->mr;

	reg.pd = self->pd.handle;
	call_import_reg_mr(&self->call, &reg);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, rows));
	/* memory of a file or of the caller, not both */
	put_u64(&self->call, IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR, 0);
	EXPECT_EQ(EINVAL, call_run(self->ep.fd, &self->call));

	reg.fd = -1;
	reg.addr = (uintptr_t)self->sweep.read_only;
	reg.access = IB_UVERBS_ACCESS_REMOTE_READ;
	call_import_reg_mr(&self->call, &reg);
	EXPECT_EQ(0, sweep_run(&self->sweep, &self->call, of_memory));
	put_u64(&self->call, IB_UVERBS_ATTR_IMPORT_REG_MR_OFFSET, 0);
	EXPECT_EQ(EINVAL, call_run(self->ep.fd, &self->call));
	reg.pd = self->qp.handle;
	test_err_import_reg_mr(EINVAL, self->ep.fd, &reg);
}

TEST_HARNESS_MAIN
