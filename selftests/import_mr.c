// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Regions that an importer makes on the exporter's PD, and aliases. The
 * exporter is on rxe1, its file is one, the importer's another one; a writer
 * on rxe0 shows which region a key stands for.
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define AT 0x123
#define IOVA 0x600000000ULL
#define PAGES 8
#define BYTES (PAGES * PAGE)
#define MW_BIND IB_UVERBS_ACCESS_MW_BIND
#define ACCESS_WRITE (ACCESS_LOCAL | IB_UVERBS_ACCESS_REMOTE_WRITE)

FIXTURE(import_mr)
{
	struct endpoint a, b;
	struct writer writer;
	struct export_args of_pd;
	int fd;
	struct import pd;
	char *own;
	struct reg_mr mr;
	long pinned;
};

FIXTURE_SETUP(import_mr)
{
	test_ok(endpoint_open(&self->a, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_open(&self->b, "rxe1", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->b, &self->a));
	test_ok(endpoint_connect(&self->a, &self->b));
	test_ok(writer_open(&self->writer, &self->a));
	self->of_pd = EXPORT_OF(self->b.fd, self->b.pd);
	test_export(self->b.fd, &self->of_pd);
	self->fd = dev_open("rxe1");
	ASSERT_LE(0, self->fd);
	self->pd = IMPORT_OF(self->of_pd.grant);
	test_import(self->fd, &self->pd);
	/* an import needs no grant; a grant would keep the exporter's file */
	ASSERT_EQ(0, close(self->of_pd.grant));

	self->own = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->own);
	self->mr = (struct reg_mr){
		.pd = self->pd.handle,
		.fd = -1,
		.addr = (uintptr_t)self->own,
		.length = BYTES,
		.iova = IOVA,
		.access = ACCESS_ALL,
	};
	self->pinned = pinned_kb();
}

FIXTURE_TEARDOWN(import_mr)
{
	close(self->fd);
	endpoint_close(&self->a);
	endpoint_close(&self->b);
	EXPECT_EQ(0, count_objects("rxe1", "mr"));
}

TEST_F(import_mr, own_memory)
{
	test_import_reg_mr(self->fd, &self->mr);
	EXPECT_EQ(self->pinned + BYTES / 1024, pinned_kb());
	EXPECT_EQ(1, count_objects("rxe1", "mr"));
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA + AT, self->mr.rkey));
	EXPECT_TRUE(has_hello(self->own + AT));
	test_release(self->fd, self->mr.handle);
	EXPECT_EQ(self->pinned, pinned_kb());
	EXPECT_EQ(0, count_objects("rxe1", "mr"));
	EXPECT_NE(0, rdma_write(&self->writer, IOVA, self->mr.rkey));
}

/* the exporter's QP takes the local key as one of its own */
TEST_F(import_mr, local_key)
{
	struct rxe_sge sge = { .addr = IOVA + AT, .length = 5 };
	struct ib_uverbs_wc wc;

	test_import_reg_mr(self->fd, &self->mr);
	sge.lkey = self->mr.lkey;
	post_recv(self->b.qp.recv.buf, 7, &sge);
	sge = (struct rxe_sge){ .addr = 0, .length = 5, .lkey = self->writer.source.lkey };
	post_send(self->a.qp.send.buf, 8, &sge);
	test_kick(self->a.fd, self->writer.kick, IB_UVERBS_SHARE_KICK_SEND);
	ASSERT_TRUE(poll_cq(self->b.cq.ring.buf, &wc));
	EXPECT_EQ(0, wc.status);
	EXPECT_EQ(7, wc.wr_id);
	EXPECT_TRUE(has_hello(self->own + AT));
}

TEST_F(import_mr, file)
{
	char *bytes;

	self->mr.fd = memfd(BYTES);
	self->mr.offset = PAGE;
	self->mr.length = PAGE;
	test_import_reg_mr(self->fd, &self->mr);
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA + AT, self->mr.rkey));
	bytes = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, self->mr.fd, 0);
	ASSERT_NE(MAP_FAILED, bytes);
	EXPECT_TRUE(has_hello(bytes + PAGE + AT));
}

/* memory of a region of another PD: through its grant, and no wider than that */
TEST_F(import_mr, grant_of_another_pd)
{
	struct reg_mr other = { .fd = memfd(BYTES), .length = BYTES, .access = ACCESS_ALL };
	struct export_args export;

	test_ok(pd_alloc(self->b.fd, &other.pd));
	test_reg_mr(self->b.fd, &other);
	export = EXPORT_OF(self->b.fd, other.handle);
	export.mem_fd = other.fd;
	export.access = ACCESS_WRITE;
	test_export(self->b.fd, &export);
	self->mr.fd = export.grant;
	test_err_import_reg_mr(EACCES, self->fd, &self->mr);
	self->mr.access = ACCESS_WRITE;
	test_import_reg_mr(self->fd, &self->mr);
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA, self->mr.rkey));
	close(export.grant);
}

TEST_F(import_mr, read_only_memory)
{
	ASSERT_EQ(0, mprotect(self->own, BYTES, PROT_READ));
	test_err_import_reg_mr(EFAULT, self->fd, &self->mr);
	self->mr.access = IB_UVERBS_ACCESS_REMOTE_READ;
	test_import_reg_mr(self->fd, &self->mr);
}

TEST_F(import_mr, values)
{
	struct reg_mr mr = self->mr;

	ASSERT_EQ(0, munmap(self->own + BYTES - PAGE, PAGE));
	test_err_import_reg_mr(EFAULT, self->fd, &mr);
	mr.length = 0;
	test_err_import_reg_mr(EINVAL, self->fd, &mr);
	mr.length = PAGE;
	mr.iova++;
	test_err_import_reg_mr(EINVAL, self->fd, &mr);
	mr.iova = -PAGE;
	mr.length = 2 * PAGE;
	test_err_import_reg_mr(EOVERFLOW, self->fd, &mr);
	mr.iova = IOVA;
	mr.addr = -PAGE;
	test_err_import_reg_mr(EOVERFLOW, self->fd, &mr);
	mr.addr = (uintptr_t)self->own;
	mr.access = IB_UVERBS_ACCESS_REMOTE_WRITE;
	test_err_import_reg_mr(EINVAL, self->fd, &mr);
	EXPECT_EQ(1, count_handles(self->fd, IB_UVERBS_OBJECT_IMPORT));
	EXPECT_EQ(self->pinned, pinned_kb());
}

TEST_F(import_mr, right)
{
	struct export_args of_pd = EXPORT_OF(self->b.fd, self->b.pd);
	struct import import;

	test_export(self->b.fd, &of_pd);
	import = IMPORT_OF(of_pd.grant);
	import.rights = 0;
	test_import(self->fd, &import);
	self->mr.pd = import.handle;
	test_err_import_reg_mr(EACCES, self->fd, &self->mr);
	EXPECT_EQ(self->pinned, pinned_kb());
	close(of_pd.grant);
}

/* the handle of a region is good for RELEASE and for nothing else */
TEST_F(import_mr, handle)
{
	struct reg_mr mr = self->mr;

	test_import_reg_mr(self->fd, &self->mr);
	mr.pd = self->mr.handle;
	test_err_import_reg_mr(EINVAL, self->fd, &mr);
	test_err_kick(EINVAL, self->fd, self->mr.handle, IB_UVERBS_SHARE_KICK_SEND);
	test_err_arm(EINVAL, self->fd, self->mr.handle, 0);
	EXPECT_EQ(EINVAL, destroy(self->fd, UVERBS_OBJECT_MR, self->mr.handle));
	test_err_revoke(EINVAL, self->fd, self->mr.handle);
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA, self->mr.rkey));
}

TEST_F(import_mr, survives_the_import)
{
	test_import_reg_mr(self->fd, &self->mr);
	test_release(self->fd, self->pd.handle);
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA, self->mr.rkey));
	test_release(self->fd, self->mr.handle);
}

TEST_F(import_mr, revoke)
{
	struct reg_mr again = self->mr;

	test_import_reg_mr(self->fd, &self->mr);
	EXPECT_EQ(EBUSY, destroy(self->b.fd, UVERBS_OBJECT_PD, self->b.pd));
	test_revoke(self->b.fd, self->of_pd.handle);
	EXPECT_EQ(0, count_objects("rxe1", "mr"));
	EXPECT_EQ(self->pinned, pinned_kb());
	test_err_import_reg_mr(ENOLINK, self->fd, &again);
	EXPECT_NE(0, rdma_write(&self->writer, IOVA, self->mr.rkey));
	test_release(self->fd, self->mr.handle);
	test_release(self->fd, self->pd.handle);
}

TEST_F(import_mr, exporter_dies_first)
{
	test_import_reg_mr(self->fd, &self->mr);
	endpoint_close(&self->b);
	EXPECT_EQ(0, count_objects("rxe1", "mr"));
	EXPECT_EQ(self->pinned, pinned_kb());
	test_release(self->fd, self->mr.handle);
	self->b.fd = self->b.channel = -1;
}

TEST_F(import_mr, importer_dies_first)
{
	test_import_reg_mr(self->fd, &self->mr);
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
	EXPECT_EQ(0, count_objects("rxe1", "mr"));
	EXPECT_EQ(self->pinned, pinned_kb());
	test_revoke(self->b.fd, self->of_pd.handle);
}

TEST_F(import_mr, many)
{
	struct reg_mr mr[32];
	int i;

	for (i = 0; i < 32; i++) {
		mr[i] = self->mr;
		test_import_reg_mr(self->fd, &mr[i]);
	}
	for (i = 0; i < 32; i += 2)
		test_release(self->fd, mr[i].handle);
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA, mr[31].rkey));
	test_revoke(self->b.fd, self->of_pd.handle);
	EXPECT_EQ(self->pinned, pinned_kb());
}

static int bind_window(FIXTURE_DATA(import_mr) *self)
{
	struct export_args of_qp = EXPORT_OF(self->b.fd, self->b.qp.handle);
	struct ib_uverbs_wc wc;
	struct import qp;
	uint32_t rkey;
	int err;

	err = mw_alloc(self->b.fd, self->b.pd, &rkey) ?: do_export(self->b.fd, &of_qp);
	if (err)
		return err;
	qp = IMPORT_OF(of_qp.grant);
	err = do_import(self->b.fd, &qp);
	close(of_qp.grant);
	if (err)
		return err;
	post_bind(self->b.qp.send.buf, 1, rkey, &self->mr);
	err = do_kick(self->b.fd, qp.handle, IB_UVERBS_SHARE_KICK_SEND);
	if (err || !poll_cq(self->b.cq.ring.buf, &wc))
		return err ?: ETIMEDOUT;
	return (int)wc.status;
}

/* while a window is bound rxe refuses, as it refuses ibv_dereg_mr() */
TEST_F(import_mr, bound_window_release)
{
	self->mr.access |= MW_BIND;
	test_import_reg_mr(self->fd, &self->mr);
	test_ok(bind_window(self));
	test_err_release(EBUSY, self->fd, self->mr.handle);
	EXPECT_EQ(0, rdma_write(&self->writer, IOVA, self->mr.rkey));
	test_err_release(EBUSY, self->fd, self->mr.handle);
	/* what only the exporter can end does not keep the importer's file */
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
	EXPECT_EQ(self->pinned + BYTES / 1024, pinned_kb());
	endpoint_close(&self->b);
	self->b.fd = self->b.channel = -1;
	EXPECT_EQ(self->pinned, pinned_kb());
}

TEST_F(import_mr, bound_window_revoke)
{
	struct reg_mr again = self->mr;

	self->mr.access |= MW_BIND;
	test_import_reg_mr(self->fd, &self->mr);
	test_ok(bind_window(self));
	test_err_revoke(EBUSY, self->b.fd, self->of_pd.handle);
	test_err_import_reg_mr(ENOLINK, self->fd, &again);
	test_err_revoke(EBUSY, self->b.fd, self->of_pd.handle);
	test_release(self->fd, self->mr.handle);
	/* the core destroys the newest first, and tries what is left again */
	endpoint_close(&self->b);
	self->b.fd = self->b.channel = -1;
	EXPECT_EQ(self->pinned, pinned_kb());
}

TEST_HARNESS_MAIN
