// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Regions of shared memory: that they are what they say is proven by RDMA
 * writes from rxe0 to rxe1, whose bytes must appear in the file.
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define AT 0x123 /* where the data is, in the region */
#define IOVA 0x700000000ULL

FIXTURE(mr)
{
	struct endpoint a, b;
	struct writer writer;
	int mem;
	char *bytes;
	struct reg_mr target;
};

FIXTURE_VARIANT(mr)
{
	unsigned int memfd_flags;
	const char *path;
	uint64_t length;
};

FIXTURE_VARIANT_ADD(mr, memfd){
	.length = 8 * PAGE,
};

FIXTURE_VARIANT_ADD(mr, tmpfs){
	.path = "/dev/shm",
	.length = 8 * PAGE,
};

FIXTURE_VARIANT_ADD(mr, huge){
	.memfd_flags = MFD_HUGETLB,
	.length = 2 * HUGE_PAGE,
};

static int make_file(unsigned int flags, const char *path, uint64_t length)
{
	int fd;

	if (path)
		fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	else
		fd = memfd_create("mr", flags | MFD_CLOEXEC);
	return fd < 0 || ftruncate(fd, length) ? -1 : fd;
}

FIXTURE_SETUP(mr)
{
	test_ok(endpoint_open(&self->a, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_open(&self->b, "rxe1", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->b, &self->a));
	test_ok(endpoint_connect(&self->a, &self->b));
	test_ok(writer_open(&self->writer, &self->a));

	self->mem = make_file(variant->memfd_flags, variant->path, variant->length);
	ASSERT_LE(0, self->mem);
	self->bytes = mmap(NULL, variant->length, PROT_READ | PROT_WRITE, MAP_SHARED, self->mem, 0);
	ASSERT_NE(MAP_FAILED, self->bytes);

	/* all of the file */
	self->target = (struct reg_mr){
		.pd = self->b.pd,
		.fd = self->mem,
		.length = variant->length,
		.iova = IOVA,
		.access = ACCESS_ALL,
	};
}

FIXTURE_TEARDOWN(mr)
{
	endpoint_close(&self->a);
	endpoint_close(&self->b);
}

TEST_F(mr, write_into_the_file)
{
	test_reg_mr(self->b.fd, &self->target);
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA + AT, self->target.rkey));
	EXPECT_TRUE(has_hello(self->bytes + AT));
	EXPECT_EQ(0, destroy(self->b.fd, UVERBS_OBJECT_MR, self->target.handle));
}

TEST_F(mr, own_mapping)
{
	self->target.iova = (uintptr_t)self->bytes;
	test_reg_mr(self->b.fd, &self->target);
	/* the region outlives the mapping and the descriptor */
	ASSERT_EQ(0, munmap(self->bytes, variant->length));
	EXPECT_EQ(0, rdma_write(&self->writer, self->target.iova + AT, self->target.rkey));
	self->bytes = mmap(NULL, variant->length, PROT_READ, MAP_SHARED, self->mem, 0);
	EXPECT_TRUE(has_hello(self->bytes + AT));
}

/* what is mapped at that address is another part of the file: must not be used */
TEST_F(mr, mapping_of_another_part)
{
	uint64_t half = variant->length / 2;

	self->target.iova = (uintptr_t)self->bytes;
	self->target.offset = half;
	self->target.length = half;
	test_reg_mr(self->b.fd, &self->target);
	EXPECT_EQ(0, rdma_write(&self->writer, self->target.iova + AT, self->target.rkey));
	EXPECT_TRUE(has_hello(self->bytes + half + AT));
	EXPECT_FALSE(has_hello(self->bytes + AT));
}

TEST_F(mr, offset_in_the_page)
{
	self->target.offset = PAGE + 0x10;
	self->target.length = PAGE;
	self->target.iova = IOVA + 0x10;
	test_reg_mr(self->b.fd, &self->target);
	EXPECT_EQ(0, rdma_write(&self->writer, self->target.iova + AT, self->target.rkey));
	EXPECT_TRUE(has_hello(self->bytes + PAGE + 0x10 + AT));
}

static int export_target(FIXTURE_DATA(mr) *self, struct export_args *export)
{
	*export = EXPORT_OF(self->b.fd, self->target.handle);
	export->mem_fd = self->mem;
	export->access = ACCESS_ALL;
	return do_export(self->b.fd, export);
}

/* a region of a grant is one of its own: the original may go first */
TEST_F(mr, from_a_grant)
{
	struct export_args export;
	struct reg_mr reg;

	test_reg_mr(self->b.fd, &self->target);
	test_ok(export_target(self, &export));
	reg = (struct reg_mr){
		.pd = self->b.pd,
		.fd = export.grant,
		.offset = PAGE,
		.length = PAGE,
		.iova = IOVA,
		.access = ACCESS_LOCAL | IB_UVERBS_ACCESS_REMOTE_WRITE,
	};
	test_reg_mr(self->b.fd, &reg);
	EXPECT_NE(reg.rkey, self->target.rkey);
	test_revoke(self->b.fd, export.handle);
	EXPECT_EQ(0, destroy(self->b.fd, UVERBS_OBJECT_MR, self->target.handle));
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA + AT, reg.rkey));
	EXPECT_TRUE(has_hello(self->bytes + PAGE + AT));
	/* it ends where it ends */
	EXPECT_NE(0, rdma_write(&self->writer, IOVA + PAGE, reg.rkey));
}

TEST_F(mr, from_a_grant_on_another_device)
{
	struct export_args export;
	struct reg_mr reg;

	test_reg_mr(self->b.fd, &self->target);
	test_ok(export_target(self, &export));
	reg = (struct reg_mr){
		.pd = self->a.pd,
		.fd = export.grant,
		.length = PAGE,
		.access = ACCESS_LOCAL,
	};
	test_reg_mr(self->a.fd, &reg);
	EXPECT_EQ(0, destroy(self->a.fd, UVERBS_OBJECT_MR, reg.handle));
}

/* the pages are pinned: whoever shrinks the file does not take them away */
TEST_F(mr, truncate_afterwards)
{
	test_reg_mr(self->b.fd, &self->target);
	ASSERT_EQ(0, ftruncate(self->mem, 0));
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA + AT, self->target.rkey));
	ASSERT_EQ(0, ftruncate(self->mem, variant->length));
	EXPECT_FALSE(has_hello(self->bytes + AT));
	EXPECT_EQ(0, destroy(self->b.fd, UVERBS_OBJECT_MR, self->target.handle));
}

TEST_F(mr, is_listed)
{
	char line[512], want[32];
	bool found = false;
	FILE *f;

	test_reg_mr(self->b.fd, &self->target);
	snprintf(want, sizeof(want), " pid %d ", getpid());
	f = popen("rdma resource show mr dev rxe1", "re");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, "rxe1") && strstr(line, want);
	pclose(f);
	EXPECT_TRUE(found);
}

static void register_as_nobody(int sock, void *arg)
{
	struct rlimit limit = { .rlim_cur = 4 * PAGE, .rlim_max = 4 * PAGE };
	FIXTURE_DATA(mr) *self = arg;

	CHILD_CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	CHILD_CHECK(!setresuid(65534, 65534, 65534));
	CHILD_CHECK(do_reg_mr(self->b.fd, &self->target) == ENOMEM);
	self->target.length = PAGE;
	CHILD_CHECK(do_reg_mr(self->b.fd, &self->target) == 0);
}

TEST_F(mr, memlock_limit)
{
	struct child child;

	test_ok(child_start(&child, register_as_nobody, self));
	EXPECT_EQ(0, child_end(&child));
}

TEST_HARNESS_MAIN
