// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Four things hold on to an object that is shared with its ring: the exporter's
 * uverbs file, the grant, the importer's uverbs file and a mapping of the ring.
 * They are closed in each of the 24 orders, for each kind of object that has
 * rings. The object lives as long as the exporter's file, the grant or the
 * mapping, and then nothing of it is left.
 */
#include "kselftest_harness.h"
#include "share_test.h"

enum part {
	EXPORTER,
	GRANT,
	IMPORTER,
	MAPPING,
	PARTS,
};

FIXTURE(closing)
{
	struct endpoint ep;
	struct srq srq;
	struct export_args export;
	struct import import;
	int fd;
	struct rxe_queue_buf *map;
	uint64_t length;
	bool open[PARTS];
};

FIXTURE_VARIANT(closing)
{
	uint32_t ring;
};

FIXTURE_VARIANT_ADD(closing, qp){
	.ring = IB_UVERBS_SHARE_RING_SEND,
};

FIXTURE_VARIANT_ADD(closing, qp_recv){
	.ring = IB_UVERBS_SHARE_RING_RECV,
};

FIXTURE_VARIANT_ADD(closing, cq){
	.ring = IB_UVERBS_SHARE_RING_CQ,
};

FIXTURE_VARIANT_ADD(closing, srq){
	.ring = IB_UVERBS_SHARE_RING_SRQ,
};

FIXTURE_SETUP(closing)
{
}

FIXTURE_TEARDOWN(closing)
{
}

static const struct ring *ring_of(FIXTURE_DATA(closing) *self, uint32_t ring)
{
	switch (ring) {
	case IB_UVERBS_SHARE_RING_SEND:
		return &self->ep.qp.send;
	case IB_UVERBS_SHARE_RING_RECV:
		return &self->ep.qp.recv;
	case IB_UVERBS_SHARE_RING_CQ:
		return &self->ep.cq.ring;
	default:
		return &self->srq.ring;
	}
}

static uint32_t object_of(FIXTURE_DATA(closing) *self, uint32_t ring)
{
	switch (ring) {
	case IB_UVERBS_SHARE_RING_CQ:
		return self->ep.cq.handle;
	case IB_UVERBS_SHARE_RING_SRQ:
		return self->srq.handle;
	default:
		return self->ep.qp.handle;
	}
}

static int open_all(FIXTURE_DATA(closing) *self, uint32_t ring)
{
	struct ib_uverbs_share_segment seg;
	int err, part;

	err = endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC);
	err = err ?: srq_create(self->ep.fd, self->ep.pd, &self->srq);
	if (err)
		return err;
	seg = ring_segment(ring_of(self, ring), ring);
	self->length = seg.length;
	self->export = EXPORT_OF(self->ep.fd, object_of(self, ring));
	self->export.segs = &seg;
	self->export.nsegs = 1;
	err = do_export(self->ep.fd, &self->export);
	self->fd = dev_open("rxe0");
	self->import = IMPORT_OF(self->export.grant);
	err = err ?: do_import(self->fd, &self->import);
	if (err)
		return err;
	self->map = mmap(NULL, self->length, PROT_READ | PROT_WRITE, MAP_SHARED, self->export.grant,
			 (off_t)ring << IB_UVERBS_SHARE_RING_SHIFT);
	for (part = 0; part < PARTS; part++)
		self->open[part] = true;
	return self->map == MAP_FAILED ? errno : 0;
}

static void close_part(FIXTURE_DATA(closing) *self, enum part part)
{
	switch (part) {
	case EXPORTER:
		if (self->srq.ring.buf)
			munmap(self->srq.ring.buf, self->srq.ring.mi.size);
		endpoint_close(&self->ep);
		break;
	case GRANT:
		close(self->export.grant);
		break;
	case IMPORTER:
		close(self->fd);
		break;
	default:
		munmap(self->map, self->length);
	}
	self->open[part] = false;
}

/* a query of something that is no QP is EINVAL, once the share is found alive */
static bool import_is_live(FIXTURE_DATA(closing) *self)
{
	struct ib_uverbs_qp_attr attr;

	return do_query_qp(self->fd, self->import.handle, &attr) != ENOLINK;
}

static bool is_as_it_should_be(FIXTURE_DATA(closing) *self)
{
	bool live = self->open[EXPORTER] || self->open[GRANT] || self->open[MAPPING];

	if (self->open[MAPPING] && !self->map->index_mask)
		return false;
	if (self->open[GRANT] && is_hung_up(self->export.grant))
		return false;
	/* a file is let go when the system call returns, or soon after */
	return !self->open[IMPORTER] || wait_for(import_is_live(self) == live);
}

/* the @n-th of the orders; Return: how many parts were closed before it went wrong */
static int close_in_order(FIXTURE_DATA(closing) *self, unsigned int n)
{
	enum part left[PARTS] = { EXPORTER, GRANT, IMPORTER, MAPPING };
	unsigned int count, pick;

	for (count = PARTS; count; n /= count, count--) {
		pick = n % count;
		close_part(self, left[pick]);
		left[pick] = left[count - 1];
		if (!is_as_it_should_be(self))
			break;
	}
	return PARTS - count;
}

static bool is_left_as(const char *before)
{
	char now[256];

	return read_resources("rxe0", now, sizeof(now)) && !strcmp(now, before);
}

TEST_F_TIMEOUT(closing, all_orders, NO_LIMIT)
{
	char before[256];
	unsigned int n;
	long refs;

	ASSERT_TRUE(read_resources("rxe0", before, sizeof(before)));
	refs = module_refs();
	ASSERT_LT(0, refs);
	for (n = 0; n < 24; n++) {
		test_ok(open_all(self, variant->ring));
		ASSERT_LT(refs, module_refs());
		ASSERT_EQ(PARTS, close_in_order(self, n))
		{
			TH_LOG("order %u", n);
		}
		ASSERT_TRUE(wait_for(module_refs() == refs))
		{
			TH_LOG("order %u leaves a share", n);
		}
		/* what takes longest, not each time */
		if (n % 6 == 5)
			ASSERT_TRUE(wait_for(is_left_as(before)))
			{
				TH_LOG("one of the last 6 orders leaves an object, at %u", n);
			}
	}
}

TEST_HARNESS_MAIN
