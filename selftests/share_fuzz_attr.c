// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * One attribute of a call: mostly what the method wants, as nothing else gets far.
 */
#include <infiniband/verbs.h>

#include "share_fuzz.h"

/* no reply of ours is longer */
#define BUFFER 512

#define KERNEL_ADDR 0xffffffff81000000ULL

static void *new_buffer(struct fuzz *f)
{
	char *buffer = f->scratch + f->used;

	f->used += BUFFER;
	/* the last ones are used by too many attributes */
	if (f->used > FUZZ_SCRATCH_BYTES - BUFFER)
		f->used = 0;
	return buffer;
}

/* where a structure is, or is not */
static uint64_t any_address(struct fuzz *f, void *good, unsigned int size)
{
	if (!fuzz_one_in(f, 24))
		return (uintptr_t)good;
	switch (fuzz_below(f, 5)) {
	case 0:
		return 0;
	case 1:
		return KERNEL_ADDR;
	case 2:
		return (uintptr_t)f->map;
	case 3:
		/* the last byte is the last of the page, or is not there */
		return (uintptr_t)f->scratch + FUZZ_SCRATCH_BYTES - size + fuzz_below(f, 2);
	default:
		return fuzz_random(f);
	}
}

static uint64_t any_number(struct fuzz *f)
{
	switch (fuzz_below(f, 5)) {
	case 0:
		return fuzz_below(f, 4);
	case 1:
		return -(uint64_t)fuzz_below(f, 3 * PAGE);
	case 2:
		return 1ULL << fuzz_below(f, 64);
	case 3:
		return (1ULL << fuzz_below(f, 64)) - 1;
	default:
		return fuzz_random(f);
	}
}

static uint64_t any_value(struct fuzz *f, enum table_value what)
{
	if (what == VALUE_ANY || fuzz_one_in(f, 16))
		return any_number(f);
	switch (what) {
	case VALUE_BYTES:
		if (fuzz_one_in(f, 16))
			return fuzz_below(f, 10 * PAGE);
		return PAGE * fuzz_below(f, 5);
	case VALUE_IOVA:
		return PAGE * fuzz_below(f, 1000);
	case VALUE_ADDRESS:
		return (uintptr_t)f->scratch + PAGE * fuzz_below(f, 17);
	default:
		return fuzz_one_in(f, 8) ? IB_UVERBS_SHARE_ALL_SLOTS : fuzz_below(f, 4);
	}
}

static uint64_t any_flags(struct fuzz *f, uint32_t known)
{
	if (fuzz_one_in(f, 24))
		return fuzz_random(f) & fuzz_random(f);
	/* nothing remote without it */
	if (known == ACCESS_ALL && !fuzz_one_in(f, 8))
		return ACCESS_LOCAL | (known & fuzz_random(f));
	/* sparse, dense or all */
	switch (fuzz_below(f, 3)) {
	case 0:
		return known & fuzz_random(f) & fuzz_random(f);
	case 1:
		return known & (fuzz_random(f) | fuzz_random(f));
	default:
		return known;
	}
}

static int any_fd(struct fuzz *f, enum kind kind)
{
	unsigned int classes;

	switch (kind) {
	case GRANT:
		classes = 1U << FUZZ_FD_GRANT;
		break;
	case MEMORY:
		classes = 1U << FUZZ_FD_MEMORY;
		break;
	case MEMORY_OR_GRANT:
		classes = 1U << (fuzz_one_in(f, 2) ? FUZZ_FD_MEMORY : FUZZ_FD_GRANT);
		break;
	case EVENT:
		classes = 1U << FUZZ_FD_EVENT;
		break;
	default:
		if (!fuzz_one_in(f, 16))
			return f->ep[f->file].fd;
		classes = 1U << FUZZ_FD_UVERBS;
	}
	if (fuzz_one_in(f, 24))
		classes = ~0U;
	return fuzz_any_fd(f, classes)->fd;
}

static uint64_t any_handle(struct fuzz *f, const struct table_attr *row)
{
	static const uint16_t objects[] = {
		UVERBS_OBJECT_PD, UVERBS_OBJECT_CQ, UVERBS_OBJECT_QP,
		UVERBS_OBJECT_SRQ, UVERBS_OBJECT_MR, IB_UVERBS_OBJECT_SHARE,
		UVERBS_OBJECT_QP, IB_UVERBS_OBJECT_IMPORT
	};
	uint16_t type = row->what;

	if (row->kind == ANY_OBJECT)
		type = objects[fuzz_below(f, sizeof(objects) / sizeof(objects[0]))];
	if (fuzz_one_in(f, 32))
		return any_number(f);
	if (fuzz_one_in(f, 16))
		return f->handle[fuzz_below(f, f->nhandles)].handle;
	return fuzz_any_handle(f, f->file, type, row->size)->handle;
}

/* a transition of a QP, mostly one that somebody would ask for */
static void fill_qp_attr(struct fuzz *f, struct ib_uverbs_qp_attr *attr)
{
	unsigned char *bytes = (unsigned char *)attr;
	uint8_t gid[sizeof(attr->ah_attr.grh.dgid)];

	*attr = qp_attr_to(&f->ep[fuzz_below(f, 2)], fuzz_below(f, IBV_QPS_ERR + 1));
	memcpy(gid, attr->ah_attr.grh.dgid, sizeof(gid));
	if (fuzz_one_in(f, 8))
		attr->qp_attr_mask ^= 1U << fuzz_below(f, 26);
	if (fuzz_one_in(f, 8))
		bytes[fuzz_below(f, sizeof(*attr))] ^= 1U << fuzz_below(f, 8);
	if (fuzz_one_in(f, 16))
		bytes[fuzz_below(f, sizeof(*attr))] = fuzz_random(f);
	/* the core looks for an unknown address for a second */
	if (!fuzz_one_in(f, 100))
		memcpy(attr->ah_attr.grh.dgid, gid, sizeof(gid));
}

/* rings of an object, mostly of the one that is exported */
static unsigned int fill_segments(struct fuzz *f, struct call *call,
				  struct ib_uverbs_share_segment *seg)
{
	struct ib_uverbs_attr *object = find_attr(call, IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT);
	struct fuzz_handle *handle = &f->handle[fuzz_below(f, f->nhandles)];
	unsigned int i, n;

	for (i = 0; object && i < f->nhandles; i++)
		if (f->handle[i].file == f->file && f->handle[i].nsegs &&
		    f->handle[i].handle == object->data)
			handle = &f->handle[i];
	n = handle->nsegs;
	memcpy(seg, handle->seg, sizeof(handle->seg));
	if (!n || fuzz_one_in(f, 12)) {
		n = fuzz_below(f, 6);
		for (i = 0; i < n; i++)
			seg[i] = handle->seg[fuzz_below(f, 2)];
	}
	if (n && fuzz_one_in(f, 12)) {
		seg[fuzz_below(f, n)].addr += any_number(f) & -PAGE;
		seg[fuzz_below(f, n)].length ^= 1ULL << fuzz_below(f, 64);
		seg[fuzz_below(f, n)].ring = fuzz_below(f, 6);
	}
	return n * sizeof(*seg);
}

static void put_number(struct fuzz *f, struct call *call, const struct table_attr *row,
		       uint64_t value)
{
	if (row->size == sizeof(uint32_t) || (row->kind == FLAGS && fuzz_one_in(f, 8)))
		put_u32(call, row->id, value);
	else
		put_u64(call, row->id, value);
}

void fuzz_attr(struct fuzz *f, struct call *call, const struct table_attr *row)
{
	void *buffer = new_buffer(f);
	struct ib_uverbs_attr *attr;
	unsigned int n = row->size;

	switch (row->kind) {
	case NEW:
		put_handle(call, row->id, fuzz_one_in(f, 64) ? any_number(f) : 0);
		break;
	case HANDLE:
	case ANY_OBJECT:
		put_handle(call, row->id, 0)->data = any_handle(f, row);
		break;
	case VALUE:
		put_number(f, call, row, any_value(f, row->what));
		break;
	case FLAGS:
		put_number(f, call, row, any_flags(f, row->what));
		break;
	case STRUCT:
		fill_qp_attr(f, buffer);
		put_in(call, row->id, buffer, n)->data = any_address(f, buffer, n);
		break;
	case SEGMENTS:
		n = fill_segments(f, call, buffer);
		attr = put_in(call, row->id, buffer, n);
		if (n)
			attr->data = any_address(f, buffer, n);
		break;
	case OUT_STRUCT:
		n = fuzz_one_in(f, 8) ? fuzz_below(f, BUFFER) : n;
		/* fall through */
	case OUT:
	case OUT_FD:
		put_out(call, row->id, buffer, n)->data = any_address(f, buffer, n);
		break;
	default:
		put_fd(call, row->id, any_fd(f, row->kind));
	}
}
