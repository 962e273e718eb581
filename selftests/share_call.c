// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * One ioctl of uverbs, attribute by attribute.
 */
#include <sys/ioctl.h>

#include "share_test.h"

uint32_t call_driver = RDMA_DRIVER_RXE;

void call_init(struct call *call, uint16_t object, uint16_t method)
{
	memset(call, 0, sizeof(*call));
	call->hdr.object_id = object;
	call->hdr.method_id = method;
	call->hdr.driver_id = call_driver;
}

static struct ib_uverbs_attr *put(struct call *call, uint16_t id)
{
	struct ib_uverbs_attr *attr = &call->attr[call->hdr.num_attrs++];

	attr->attr_id = id;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

/* what is not longer than the field is passed in it */
struct ib_uverbs_attr *put_in(struct call *call, uint16_t id, const void *data, uint16_t len)
{
	struct ib_uverbs_attr *attr = put(call, id);

	attr->len = len;
	if (len <= sizeof(attr->data))
		memcpy(&attr->data, data, len);
	else
		attr->data = (uintptr_t)data;
	return attr;
}

struct ib_uverbs_attr *put_u32(struct call *call, uint16_t id, uint32_t value)
{
	return put_in(call, id, &value, sizeof(value));
}

struct ib_uverbs_attr *put_u64(struct call *call, uint16_t id, uint64_t value)
{
	return put_in(call, id, &value, sizeof(value));
}

struct ib_uverbs_attr *put_out(struct call *call, uint16_t id, void *data, uint16_t len)
{
	struct ib_uverbs_attr *attr = put(call, id);

	attr->len = len;
	attr->data = (uintptr_t)data;
	return attr;
}

struct ib_uverbs_attr *put_handle(struct call *call, uint16_t id, uint32_t handle)
{
	struct ib_uverbs_attr *attr = put(call, id);

	attr->data = handle;
	return attr;
}

struct ib_uverbs_attr *put_fd(struct call *call, uint16_t id, int fd)
{
	struct ib_uverbs_attr *attr = put(call, id);

	attr->data_s64 = fd;
	return attr;
}

struct ib_uverbs_attr *find_attr(struct call *call, uint16_t id)
{
	unsigned int i;

	for (i = 0; i < call->hdr.num_attrs; i++)
		if (call->attr[i].attr_id == id)
			return &call->attr[i];
	return NULL;
}

/* Return: 0 or a positive errno */
int call_run(int fd, struct call *call)
{
	call->hdr.length = sizeof(call->hdr) + call->hdr.num_attrs * sizeof(call->attr[0]);
	return ioctl(fd, RDMA_VERBS_IOCTL, &call->hdr) ? errno : 0;
}
