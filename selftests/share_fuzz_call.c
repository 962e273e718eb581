// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A call: made up, made, and its answer judged.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/ioctl.h>

#include "share_fuzz.h"

/* the table of the header, and what the first three rows stand for */
static const int documented[] = {
	EPROTONOSUPPORT,
	EINVAL,
	ENOENT,
	EOPNOTSUPP,
	EBADF,
	EBADFD,
	EACCES,
	EPERM,
	EXDEV,
	ENOLINK,
	ENODATA,
	EBUSY,
	E2BIG,
	ERANGE,
	EOVERFLOW,
	EFAULT,
	ENOSPC,
	ENOMEM,
	EMFILE,
	ENFILE,
	EIO,
	ETIMEDOUT,
	ENETUNREACH,
};

static bool is_documented(int err)
{
	unsigned int i;

	for (i = 0; i < sizeof(documented) / sizeof(documented[0]); i++)
		if (err == documented[i])
			return true;
	return false;
}

static void fail(struct fuzz *f, const struct table_method *method, const char *why, long value)
{
	fprintf(stderr, "# %s: %s (%ld)\n", method->name, why, value);
	f->failures++;
}

/* one thing about the call as a whole */
static void spoil(struct fuzz *f, struct call *call)
{
	struct ib_uverbs_attr *one = &call->attr[fuzz_below(f, call->hdr.num_attrs)];
	struct ib_uverbs_attr *other = &call->attr[fuzz_below(f, call->hdr.num_attrs)];
	struct ib_uverbs_attr last = call->attr[call->hdr.num_attrs - 1], tmp = *one;

	switch (fuzz_below(f, 8)) {
	case 0: /* missing */
		*one = last;
		call->hdr.num_attrs--;
		break;
	case 1: /* twice, or another's value */
		call->attr[call->hdr.num_attrs++] = *one;
		one->attr_id = other->attr_id;
		break;
	case 2:
		one->len += fuzz_one_in(f, 2) ? 1 : fuzz_random(f);
		break;
	case 3:
		one->flags = fuzz_one_in(f, 2) ? 0U : fuzz_below(f, 0x10000);
		break;
	case 4:
		one->attr_id = fuzz_below(f, fuzz_one_in(f, 2) ? 32 : 0x10000);
		break;
	case 5:
		one->attr_data.reserved = fuzz_random(f);
		break;
	case 6:
		one->data = fuzz_random(f);
		break;
	default: /* in another order */
		*one = *other;
		*other = tmp;
	}
}

static void spoil_header(struct fuzz *f, struct ib_uverbs_ioctl_hdr *hdr)
{
	switch (fuzz_below(f, 6)) {
	case 0:
		hdr->length = fuzz_random(f);
		break;
	case 1:
		hdr->num_attrs = fuzz_below(f, 64);
		break;
	case 2:
		hdr->object_id = IB_UVERBS_OBJECT_SHARE + fuzz_below(f, 4);
		break;
	case 3:
		hdr->method_id = fuzz_below(f, 64);
		break;
	case 4:
		hdr->driver_id = fuzz_below(f, 32);
		break;
	default:
		hdr->reserved1 = fuzz_random(f);
	}
}

/* only an MR has memory, only some have rings: mostly do as the object wants */
static bool is_wanted_by_export(struct fuzz *f, struct call *call, uint16_t id)
{
	struct ib_uverbs_attr *object = find_attr(call, IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT);
	const struct fuzz_handle *handle = NULL;
	unsigned int i;

	for (i = 0; object && !handle && i < f->nhandles; i++)
		if (f->handle[i].handle == object->data && f->handle[i].file == f->file)
			handle = &f->handle[i];
	switch (id) {
	case IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT:
		return !fuzz_one_in(f, 6);
	case IB_UVERBS_ATTR_SHARE_EXPORT_RINGS:
		return handle && handle->nsegs;
	case IB_UVERBS_ATTR_SHARE_EXPORT_RIGHTS:
		return fuzz_one_in(f, 6);
	default:
		return handle && handle->type == UVERBS_OBJECT_MR;
	}
}

/* memory by its address or by a descriptor */
static bool is_wanted_by_reg_mr(struct fuzz *f, struct call *call, uint16_t id)
{
	if (id == IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR)
		return fuzz_one_in(f, 2);
	return !find_attr(call, IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR);
}

static bool is_wanted(struct fuzz *f, struct call *call, uint16_t id)
{
	uint16_t object = call->hdr.object_id, method = call->hdr.method_id;

	if (fuzz_one_in(f, 16))
		return fuzz_one_in(f, 3);
	if (object == IB_UVERBS_OBJECT_SHARE && method == IB_UVERBS_METHOD_SHARE_EXPORT)
		return is_wanted_by_export(f, call, id);
	if (object == IB_UVERBS_OBJECT_IMPORT && method == IB_UVERBS_METHOD_IMPORT_REG_MR)
		return is_wanted_by_reg_mr(f, call, id);
	return fuzz_one_in(f, 4);
}

static void make_up(struct fuzz *f, struct call *call, const struct table_method *method)
{
	const struct table_attr *row;

	call_init(call, method->object, method->method);
	for (row = method->attr; row < method->attr + method->nattrs; row++)
		if (!row->optional || is_wanted(f, call, row->id))
			fuzz_attr(f, call, row);
	while (fuzz_one_in(f, 8) && call->hdr.num_attrs && call->hdr.num_attrs < 20)
		spoil(f, call);
	call->hdr.length = sizeof(call->hdr) + call->hdr.num_attrs * sizeof(call->attr[0]);
	if (fuzz_one_in(f, 64))
		spoil_header(f, &call->hdr);
}

/* rights that were asked for must not be wider than those that there were */
static uint32_t rights_of(struct fuzz *f, const struct table_method *method, struct call *call,
			  uint16_t grant_id, uint16_t rights_id)
{
	struct ib_uverbs_attr *grant = find_attr(call, grant_id);
	struct ib_uverbs_attr *wanted = find_attr(call, rights_id);
	uint32_t have = 0, rights;
	unsigned int i;

	/* several, if closed ones had the same number */
	for (i = 0; i < f->nfds; i++)
		if (f->fd[i].fd == grant->data_s64 && f->fd[i].class == FUZZ_FD_GRANT)
			have |= f->fd[i].rights;
	rights = wanted ? wanted->data : have;
	if (f->alone && rights & ~have)
		fail(f, method, "rights became wider", rights & ~have);
	return rights;
}

/* it may be in a map of rings, and gone: see how the kernel sees it */
static bool read_reply(void *reply, const struct ib_uverbs_attr *out, size_t bytes)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	bool ok = pread(mem, reply, bytes, (off_t)out->data) == (ssize_t)bytes;

	close(mem);
	return ok;
}

static void keep_grant(struct fuzz *f, const struct table_method *method, struct call *call,
		       const struct ib_uverbs_attr *out)
{
	uint32_t rights = IB_UVERBS_SHARE_ALL_RIGHTS;
	int fd;

	if (method->method == IB_UVERBS_METHOD_SHARE_DERIVE)
		rights = rights_of(f, method, call, IB_UVERBS_ATTR_SHARE_DERIVE_GRANT,
				   IB_UVERBS_ATTR_SHARE_DERIVE_RIGHTS);
	if (read_reply(&fd, out, sizeof(fd)))
		fuzz_put_fd(f, fd, FUZZ_FD_GRANT)->rights = rights;
}

static void keep_handle(struct fuzz *f, const struct table_method *method, struct call *call,
			uint16_t type, uint32_t number)
{
	struct fuzz_handle *handle = fuzz_put_handle(f, f->file, type, number);
	struct ib_uverbs_attr *out;
	struct ib_uverbs_share_info info = {};
	uint32_t rights;

	if (type != IB_UVERBS_OBJECT_IMPORT ||
	    method->method != IB_UVERBS_METHOD_IMPORT_CREATE)
		return;
	out = find_attr(call, IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO);
	if (!read_reply(&info, out, out->len < sizeof(info) ? out->len : sizeof(info)))
		return;
	handle->kind = info.kind;
	rights = rights_of(f, method, call, IB_UVERBS_ATTR_IMPORT_CREATE_GRANT,
			   IB_UVERBS_ATTR_IMPORT_CREATE_RIGHTS);
	if (f->alone && info.rights & ~rights)
		fail(f, method, "an import has more than its grant", info.rights & ~rights);
}

/* the objects that a call has made */
static void keep(struct fuzz *f, const struct table_method *method, struct call *call)
{
	const struct table_attr *row;
	unsigned int i;

	for (i = 0; i < call->hdr.num_attrs; i++) {
		row = table_find_attr(method, call->attr[i].attr_id);
		if (!row)
			continue;
		if (row->kind == NEW)
			keep_handle(f, method, call, row->what, call->attr[i].data);
		else if (row->kind == OUT_FD)
			keep_grant(f, method, call, &call->attr[i]);
	}
}

/* all that a call can leave behind */
static long count_all(struct fuzz *f, int fd)
{
	return count_handles(fd, IB_UVERBS_OBJECT_SHARE) +
	       count_handles(fd, IB_UVERBS_OBJECT_IMPORT) + count_handles(fd, UVERBS_OBJECT_MR) +
	       1000L * lowest_fd();
}

static int run(struct fuzz *f, const struct table_method *method, struct call *call, int fd)
{
	bool counted = f->alone && fuzz_one_in(f, 32);
	long before = counted ? count_all(f, fd) : 0, after;
	int err = ioctl(fd, RDMA_VERBS_IOCTL, &call->hdr) ? errno : 0;

	/* without a lock on numbers of descriptors it may be any file */
	if (err && !is_documented(err) && (f->alone || err != ENOTTY))
		fail(f, method, strerror(err), err);
	if (err && counted) {
		after = count_all(f, fd);
		if (after != before)
			fail(f, method, "left something behind", after - before);
	}
	return err;
}

static unsigned int any_method(struct fuzz *f)
{
	unsigned int i, at, sum = 0;

	for (i = 0; table_methods[i].name; i++)
		sum += table_methods[i].weight;
	at = fuzz_below(f, sum);
	for (i = 0; at >= table_methods[i].weight; i++)
		at -= table_methods[i].weight;
	return i;
}

void fuzz_call(struct fuzz *f)
{
	unsigned int index = any_method(f);
	const struct table_method *method = &table_methods[index];
	struct call call;
	int err;

	f->used = 0;
	/* rarely the one of another device */
	f->file = fuzz_one_in(f, 8) ? 1 : 2 * fuzz_below(f, 2);
	make_up(f, &call, method);
	err = run(f, method, &call, f->ep[f->file].fd);
	f->digest = (f->digest ^ (index << 8 | err)) * 0x100000001b3ULL;
	f->answers[index][!err]++;
	/* if the header was spoiled it may have been another method */
	if (!err && call.hdr.object_id == method->object &&
	    call.hdr.method_id == method->method)
		keep(f, method, &call);
}
