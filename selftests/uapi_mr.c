// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * REG_MR and the export of regions: values that are no good.
 */
#include <fcntl.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define PAGES 4
#define FILE_BYTES (PAGES * PAGE)
#define LAST_PAGE (-PAGE)

FIXTURE(uapi_mr)
{
	int fd;
	uint32_t pd;
	struct cq cq;
	int mem, read_only, write_only;
	struct reg_mr mr;
	struct export_args export;
};

static int reopen(int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

FIXTURE_SETUP(uapi_mr)
{
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
	test_ok(pd_alloc(self->fd, &self->pd));
	test_ok(cq_create(self->fd, 16, -1, &self->cq));
	self->mem = memfd(FILE_BYTES);
	self->read_only = reopen(self->mem, O_RDONLY);
	self->write_only = reopen(self->mem, O_WRONLY);
	ASSERT_LE(0, self->read_only);
	ASSERT_LE(0, self->write_only);
	self->mr = (struct reg_mr){
		.pd = self->pd,
		.fd = self->mem,
		.offset = PAGE,
		.length = PAGE,
		.access = ACCESS_LOCAL,
	};
	test_reg_mr(self->fd, &self->mr);
	self->export = EXPORT_OF(self->fd, self->mr.handle);
	self->export.mem_fd = self->mem;
	self->export.mem_offset = PAGE;
	self->export.access = ACCESS_LOCAL | IB_UVERBS_ACCESS_REMOTE_READ;
}

FIXTURE_TEARDOWN(uapi_mr)
{
	EXPECT_EQ(0, close(self->fd));
}

struct range_row {
	uint64_t offset, length, iova, access;
	int err;
};

static const struct range_row ranges[] = {
	{ 0, 0, 0, ACCESS_LOCAL, EINVAL },
	{ 0, FILE_BYTES + 1, 0, ACCESS_LOCAL, ERANGE },
	{ FILE_BYTES, PAGE, 0, ACCESS_LOCAL, ERANGE },
	{ FILE_BYTES - PAGE, 2 * PAGE, 0, ACCESS_LOCAL, ERANGE },
	{ 1ULL << 62, PAGE, 0, ACCESS_LOCAL, ERANGE },
	{ LAST_PAGE, 2 * PAGE, 0, ACCESS_LOCAL, EOVERFLOW },
	{ PAGE, -PAGE, 0, ACCESS_LOCAL, EOVERFLOW },
	{ 0, 2 * PAGE, LAST_PAGE, ACCESS_LOCAL, EOVERFLOW },
	{ 0, PAGE, 16, ACCESS_LOCAL, EINVAL },
	{ 16, PAGE, 0, ACCESS_LOCAL, EINVAL },
	{ 16, PAGE, 3 * PAGE + 16, ACCESS_LOCAL, 0 },
	{ 1, 1, 1, ACCESS_LOCAL, 0 },
	{ 0, FILE_BYTES, 0, ACCESS_ALL, 0 },
	{ 0, PAGE, 0, IB_UVERBS_ACCESS_REMOTE_WRITE, EINVAL },
	{ 0, PAGE, 0, IB_UVERBS_ACCESS_REMOTE_ATOMIC, EINVAL },
	{ 0, PAGE, 0, ACCESS_LOCAL | IB_UVERBS_ACCESS_ZERO_BASED, EINVAL },
	{ 0, PAGE, 0, ACCESS_LOCAL | IB_UVERBS_ACCESS_HUGETLB, EINVAL },
};

TEST_F(uapi_mr, ranges)
{
	const struct range_row *row;
	struct reg_mr reg;

	for (row = ranges; row < ranges + ARRAY_SIZE(ranges); row++) {
		reg = (struct reg_mr){
			.pd = self->pd,
			.fd = self->mem,
			.offset = row->offset,
			.length = row->length,
			.iova = row->iova,
			.access = row->access,
		};
		EXPECT_EQ(row->err, do_reg_mr(self->fd, &reg))
		{
			TH_LOG("row %zd", row - ranges);
		}
	}
	EXPECT_EQ(4, count_handles(self->fd, UVERBS_OBJECT_MR));
}

/* the range is that of the grant: one page from the second on */
static const struct range_row grant_ranges[] = {
	{ 0, 0, 0, ACCESS_LOCAL, EINVAL },
	{ 0, PAGE + 1, 0, ACCESS_LOCAL, ERANGE },
	{ PAGE, PAGE, 0, ACCESS_LOCAL, ERANGE },
	{ LAST_PAGE, 2 * PAGE, 0, ACCESS_LOCAL, EOVERFLOW },
	{ 0, PAGE, 0, ACCESS_ALL, EACCES },
	{ 16, 16, 0, ACCESS_LOCAL, EINVAL },
	{ 16, 16, 16, ACCESS_LOCAL, 0 },
	{ 0, PAGE, 0, ACCESS_LOCAL | IB_UVERBS_ACCESS_RELAXED_ORDERING, 0 },
};

TEST_F(uapi_mr, grant_ranges)
{
	const struct range_row *row;
	struct reg_mr reg;

	test_export(self->fd, &self->export);
	for (row = grant_ranges; row < grant_ranges + ARRAY_SIZE(grant_ranges); row++) {
		reg = (struct reg_mr){
			.pd = self->pd,
			.fd = self->export.grant,
			.offset = row->offset,
			.length = row->length,
			.iova = row->iova,
			.access = row->access,
		};
		EXPECT_EQ(row->err, do_reg_mr(self->fd, &reg))
		{
			TH_LOG("row %zd", row - grant_ranges);
		}
	}
	EXPECT_EQ(3, count_handles(self->fd, UVERBS_OBJECT_MR));
}

TEST_F(uapi_mr, grants_that_are_no_good)
{
	struct export_args of_cq = EXPORT_OF(self->fd, self->cq.handle);
	int narrow;

	test_export(self->fd, &of_cq);
	test_export(self->fd, &self->export);
	self->mr.offset = 0;

	self->mr.fd = of_cq.grant;
	test_err_reg_mr(EINVAL, self->fd, &self->mr);

	test_derive(self->fd, self->export.grant, IB_UVERBS_SHARE_READ, &narrow);
	self->mr.fd = narrow;
	test_err_reg_mr(EACCES, self->fd, &self->mr);

	test_revoke(self->fd, self->export.handle);
	test_err_reg_mr(ENOLINK, self->fd, &self->mr);
	self->mr.fd = self->export.grant;
	test_err_reg_mr(ENOLINK, self->fd, &self->mr);
}

TEST_F(uapi_mr, mode_of_the_file)
{
	bool can_read_only = is_kernel_at_least(6, 2);

	self->mr.fd = self->write_only;
	test_err_reg_mr(EACCES, self->fd, &self->mr);
	self->mr.fd = self->read_only;
	test_err_reg_mr(EACCES, self->fd, &self->mr);

	self->mr.access = IB_UVERBS_ACCESS_REMOTE_READ;
	test_err_reg_mr(can_read_only ? 0 : EOPNOTSUPP, self->fd, &self->mr);
	self->mr.fd = self->write_only;
	test_err_reg_mr(EACCES, self->fd, &self->mr);
}

static int register_sealed(FIXTURE_DATA(uapi_mr) *self, int seal, uint64_t access)
{
	struct reg_mr reg = { .pd = self->pd, .length = PAGE, .access = access };
	int err;

	reg.fd = memfd(PAGE);
	if (fcntl(reg.fd, F_ADD_SEALS, seal))
		return errno;
	err = do_reg_mr(self->fd, &reg);
	close(reg.fd);
	return err;
}

TEST_F(uapi_mr, seals)
{
	/* 6.1 wants to write to all that it registers; 6.7 lets sealed memory be mapped shared */
	int read = is_kernel_at_least(6, 7) ? 0 : EPERM;

	EXPECT_EQ(0, register_sealed(self, F_SEAL_SHRINK, ACCESS_LOCAL));
	EXPECT_EQ(EPERM, register_sealed(self, F_SEAL_WRITE, ACCESS_LOCAL));
	EXPECT_EQ(EPERM, register_sealed(self, F_SEAL_FUTURE_WRITE, ACCESS_LOCAL));
	EXPECT_EQ(read, register_sealed(self, F_SEAL_WRITE, 0));
	EXPECT_EQ(read, register_sealed(self, F_SEAL_FUTURE_WRITE, 0));
}

/* a region of sealed memory cannot be made of a grant either */
TEST_F(uapi_mr, seal_after_export)
{
	struct reg_mr reg = self->mr;

	test_export(self->fd, &self->export);
	ASSERT_EQ(0, fcntl(self->mem, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
	reg.fd = self->export.grant;
	reg.offset = 0;
	test_err_reg_mr(EPERM, self->fd, &reg);
}

TEST_F(uapi_mr, export_values)
{
	struct export_args export = self->export;

	export.object = self->pd;
	test_err_export(EINVAL, self->fd, &export);
	export.object = ABSENT;
	test_err_export(EINVAL, self->fd, &export);

	export = self->export;
	export.mem_fd = -1;
	test_err_export(EINVAL, self->fd, &export);
	export.access = ABSENT;
	export.rights = IB_UVERBS_SHARE_REGISTER;
	test_err_export(EOPNOTSUPP, self->fd, &export);
	export.rights = IB_UVERBS_SHARE_POLL;
	test_err_export(EOPNOTSUPP, self->fd, &export);

	export = self->export;
	export.access = IB_UVERBS_ACCESS_REMOTE_WRITE;
	test_err_export(EINVAL, self->fd, &export);
	export.access = ACCESS_LOCAL;
	export.mem_offset = FILE_BYTES;
	test_err_export(ERANGE, self->fd, &export);
	export.mem_offset = -1;
	test_err_export(EOVERFLOW, self->fd, &export);

	export = self->export;
	export.mem_fd = self->read_only;
	test_err_export(EACCES, self->fd, &export);
	export.mem_fd = self->write_only;
	test_err_export(EACCES, self->fd, &export);

	EXPECT_EQ(0, count_handles(self->fd, IB_UVERBS_OBJECT_SHARE));
	EXPECT_EQ(0, destroy(self->fd, UVERBS_OBJECT_MR, self->mr.handle));
}

/* a share is an object of the file as well */
TEST_F(uapi_mr, export_of_a_share)
{
	struct export_args export = self->export, again;

	test_export(self->fd, &export);
	again = EXPORT_OF(self->fd, export.handle);
	test_err_export(EOPNOTSUPP, self->fd, &again);
}

TEST_HARNESS_MAIN
