// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Ring segments that EXPORT must refuse: only the exporter's own mapping of
 * its own uverbs file will do.
 */
#include "kselftest_harness.h"
#include "share_test.h"

#define KERNEL_END 0x7ffffffff000ULL

FIXTURE(uapi_ring)
{
	struct endpoint ep, other;
	struct ib_uverbs_share_segment cq, segs[5];
	struct export_args export;
};

FIXTURE_SETUP(uapi_ring)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_open(&self->other, "rxe0", IB_UVERBS_QPT_RC));
	self->cq = ring_segment(&self->ep.cq.ring, IB_UVERBS_SHARE_RING_CQ);
	self->export = EXPORT_OF(self->ep.fd, self->ep.cq.handle);
	self->export.segs = self->segs;
	self->export.nsegs = 1;
}

/* nothing is left: what was not exported can be destroyed, what was can be exported */
FIXTURE_TEARDOWN(uapi_ring)
{
	self->segs[0] = self->cq;
	self->export.nsegs = 1;
	self->export.object = self->ep.cq.handle;
	EXPECT_EQ(0, do_export(self->ep.fd, &self->export));
	EXPECT_EQ(1, count_handles(self->ep.fd, IB_UVERBS_OBJECT_SHARE));
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_QP, self->ep.qp.handle));
	endpoint_close(&self->ep);
	endpoint_close(&self->other);
}

struct segment_row {
	uint64_t addr_xor;
	uint64_t length;
	uint32_t ring;
	uint32_t reserved;
	int err;
};

static const struct segment_row rows[] = {
	{ 8, PAGE, IB_UVERBS_SHARE_RING_CQ, 0, EINVAL },
	{ 0, PAGE - 8, IB_UVERBS_SHARE_RING_CQ, 0, EINVAL },
	{ 0, 0, IB_UVERBS_SHARE_RING_CQ, 0, EINVAL },
	{ 0, PAGE, IB_UVERBS_SHARE_RING_CQ, 1, EINVAL },
	{ 0, PAGE, IB_UVERBS_SHARE_RING_COUNT, 0, EINVAL },
	{ 0, PAGE, ~0U, 0, EINVAL },
	{ 0, PAGE, IB_UVERBS_SHARE_RING_SEND, 0, EOPNOTSUPP },
	{ 0, PAGE, IB_UVERBS_SHARE_RING_RECV, 0, EOPNOTSUPP },
	{ 0, PAGE, IB_UVERBS_SHARE_RING_SRQ, 0, EOPNOTSUPP },
	{ 0, IB_UVERBS_SHARE_MAX_RING_BYTES + PAGE, IB_UVERBS_SHARE_RING_CQ, 0, E2BIG },
	{ 0, -PAGE, IB_UVERBS_SHARE_RING_CQ, 0, E2BIG },
	{ 0, IB_UVERBS_SHARE_MAX_RING_BYTES, IB_UVERBS_SHARE_RING_CQ, 0, EFAULT },
};

TEST_F(uapi_ring, values)
{
	const struct segment_row *row;

	for (row = rows; row < rows + ARRAY_SIZE(rows); row++) {
		self->segs[0] = (struct ib_uverbs_share_segment){
			.addr = self->cq.addr ^ row->addr_xor,
			.length = row->length,
			.ring = row->ring,
			.reserved = row->reserved,
		};
		EXPECT_EQ(row->err, do_export(self->ep.fd, &self->export))
		{
			TH_LOG("row %zd", row - rows);
		}
	}
}

static int export_at(FIXTURE_DATA(uapi_ring) *self, uint64_t addr, uint64_t length)
{
	self->segs[0] = self->cq;
	self->segs[0].addr = addr;
	self->segs[0].length = length;
	return do_export(self->ep.fd, &self->export);
}

TEST_F(uapi_ring, addresses)
{
	EXPECT_EQ(EFAULT, export_at(self, 0, PAGE));
	EXPECT_EQ(EFAULT, export_at(self, KERNEL_END, PAGE));
	EXPECT_EQ(EFAULT, export_at(self, KERNEL_END - PAGE, 2 * PAGE));
	EXPECT_EQ(EFAULT, export_at(self, 0xffffffff80000000ULL, PAGE));
	EXPECT_EQ(EOVERFLOW, export_at(self, -PAGE, PAGE));
	EXPECT_EQ(EOVERFLOW, export_at(self, -PAGE, 2 * PAGE));
}

/* one byte of each would be in the wrong hands */
TEST_F(uapi_ring, partial_overlap)
{
	EXPECT_EQ(EFAULT, export_at(self, self->cq.addr, self->cq.length + PAGE));
	EXPECT_EQ(EFAULT, export_at(self, self->cq.addr - PAGE, 2 * PAGE));
	EXPECT_EQ(EFAULT, export_at(self, self->cq.addr + self->cq.length, PAGE));
}

TEST_F(uapi_ring, hole_in_the_mapping)
{
	ASSERT_LE(2 * PAGE, self->cq.length);
	ASSERT_EQ(0, munmap((char *)self->ep.cq.ring.buf + PAGE, PAGE));
	EXPECT_EQ(EFAULT, export_at(self, self->cq.addr, self->cq.length));
	EXPECT_EQ(EFAULT, export_at(self, self->cq.addr + PAGE, PAGE));
	/* for the teardown */
	self->cq.length = PAGE;
}

TEST_F(uapi_ring, memory_that_is_no_ring)
{
	int mem = memfd(PAGE), flags = MAP_ANONYMOUS, huge;
	void *map;

	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, -1, 0);
	EXPECT_EQ(EFAULT, export_at(self, (uintptr_t)map, PAGE));
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | flags, -1, 0);
	EXPECT_EQ(EFAULT, export_at(self, (uintptr_t)map, PAGE));
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, mem, 0);
	EXPECT_EQ(EFAULT, export_at(self, (uintptr_t)map, PAGE));

	huge = memfd_create("huge", MFD_HUGETLB);
	ASSERT_LE(0, huge);
	ASSERT_EQ(0, ftruncate(huge, HUGE_PAGE));
	map = mmap(NULL, HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, huge, 0);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(EFAULT, export_at(self, (uintptr_t)map, PAGE));
}

TEST_F(uapi_ring, rings_of_others)
{
	uint32_t ring = IB_UVERBS_SHARE_RING_CQ;
	uint64_t offset = (uint64_t)ring << IB_UVERBS_SHARE_RING_SHIFT;
	void *map;

	EXPECT_EQ(EFAULT, export_at(self, (uintptr_t)self->other.cq.ring.buf, PAGE));

	/* a mapping of a grant of our own ring is not a mapping of our uverbs file */
	ASSERT_EQ(0, export_at(self, self->cq.addr, self->cq.length));
	map = mmap(NULL, self->cq.length, PROT_READ | PROT_WRITE, MAP_SHARED, self->export.grant,
		   offset);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(EFAULT, export_at(self, (uintptr_t)map, self->cq.length));
	test_revoke(self->ep.fd, self->export.handle);
}

TEST_F(uapi_ring, several)
{
	struct ib_uverbs_share_segment send =
		ring_segment(&self->ep.qp.send, IB_UVERBS_SHARE_RING_SEND);
	struct ib_uverbs_share_segment recv =
		ring_segment(&self->ep.qp.recv, IB_UVERBS_SHARE_RING_RECV);

	self->segs[0] = self->cq;
	self->segs[1] = self->cq;
	self->export.nsegs = 2;
	test_err_export(EINVAL, self->ep.fd, &self->export);
	self->export.nsegs = 5;
	test_err_export(E2BIG, self->ep.fd, &self->export);

	/* the first is good and must be given back */
	self->export.object = self->ep.qp.handle;
	self->segs[0] = send;
	self->segs[1] = recv;
	self->segs[1].addr = 0;
	self->export.nsegs = 2;
	test_err_export(EFAULT, self->ep.fd, &self->export);
	self->segs[1] = send;
	test_err_export(EINVAL, self->ep.fd, &self->export);
	self->segs[1] = recv;
	test_export(self->ep.fd, &self->export);
	test_revoke(self->ep.fd, self->export.handle);
}

TEST_F(uapi_ring, objects_without_rings)
{
	self->segs[0] = self->cq;
	self->export.object = self->ep.pd;
	test_err_export(EOPNOTSUPP, self->ep.fd, &self->export);
	self->export.object = ABSENT;
	test_err_export(EOPNOTSUPP, self->ep.fd, &self->export);
	self->export.object = self->ep.qp.handle;
	test_err_export(EOPNOTSUPP, self->ep.fd, &self->export);
}

TEST_F(uapi_ring, no_segments)
{
	self->export.nsegs = 0;
	test_export(self->ep.fd, &self->export);
	test_revoke(self->ep.fd, self->export.handle);
}

TEST_HARNESS_MAIN
