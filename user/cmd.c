// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The only caller of ioctl(2).
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include "cmd.h"
#include "error.h"

/* Ids beyond the newest that our headers know; unknown ones cost an ioctl each. */
#define MAX_DRIVER_ID 64

void share_cmd_init(struct share_cmd *cmd, uint16_t object, uint16_t method)
{
	cmd->object = object;
	cmd->method = method;
	cmd->count = 0;
}

static struct ib_uverbs_attr *add_attr(struct share_cmd *cmd, uint16_t id,
				       uint16_t length)
{
	struct ib_uverbs_attr *attr = &cmd->attrs[cmd->count++];

	memset(attr, 0, sizeof(*attr));
	attr->attr_id = id;
	attr->len = length;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

void share_cmd_in(struct share_cmd *cmd, uint16_t id, const void *data,
		  uint16_t length)
{
	struct ib_uverbs_attr *attr = add_attr(cmd, id, length);

	if (length <= sizeof(attr->data))
		memcpy(&attr->data, data, length);
	else
		attr->data = (uintptr_t)data;
}

void share_cmd_out(struct share_cmd *cmd, uint16_t id, void *data,
		   uint16_t length)
{
	add_attr(cmd, id, length)->data = (uintptr_t)data;
}

void share_cmd_u64(struct share_cmd *cmd, uint16_t id, uint64_t value)
{
	share_cmd_in(cmd, id, &value, sizeof(value));
}

void share_cmd_u32(struct share_cmd *cmd, uint16_t id, uint32_t value)
{
	share_cmd_in(cmd, id, &value, sizeof(value));
}

void share_cmd_fd(struct share_cmd *cmd, uint16_t id, int fd)
{
	add_attr(cmd, id, 0)->data_s64 = fd;
}

void share_cmd_object(struct share_cmd *cmd, uint16_t id, uint32_t handle)
{
	add_attr(cmd, id, 0)->data = handle;
}

int share_cmd_run(const struct share_file *file, struct share_cmd *cmd)
{
	struct {
		/* its flexible array ends where attrs begins */
		_Alignas(8) unsigned char hdr[sizeof(struct ib_uverbs_ioctl_hdr)];
		struct ib_uverbs_attr attrs[SHARE_CMD_MAX_ATTRS];
	} buf;
	const size_t bytes = cmd->count * sizeof(cmd->attrs[0]);
	struct ib_uverbs_ioctl_hdr hdr = {
		.length = (uint16_t)(sizeof(hdr) + bytes),
		.object_id = cmd->object,
		.method_id = cmd->method,
		.num_attrs = cmd->count,
		.driver_id = file->driver_id,
	};

	memcpy(buf.hdr, &hdr, sizeof(hdr));
	memcpy(buf.attrs, cmd->attrs, bytes);
	if (ioctl(file->fd, RDMA_VERBS_IOCTL, &buf))
		return errno;
	memcpy(cmd->attrs, buf.attrs, bytes);
	return 0;
}

static int query(const struct share_file *file,
		 struct ib_uverbs_share_caps *caps)
{
	struct share_cmd cmd;

	memset(caps, 0, sizeof(*caps));
	share_cmd_init(&cmd, IB_UVERBS_OBJECT_SHARE,
		       IB_UVERBS_METHOD_SHARE_QUERY);
	share_cmd_out(&cmd, IB_UVERBS_ATTR_SHARE_QUERY_CAPS, caps,
		      sizeof(*caps));
	return share_cmd_run(file, &cmd);
}

int share_file_probe(struct share_file *file, int fd,
		     struct ib_uverbs_share_caps *caps)
{
	/*
	 * libibverbs keeps the id to itself, and uverbs answers EINVAL to any
	 * other before it looks further. Almost always there is one driver.
	 */
	static _Atomic uint32_t hint = RDMA_DRIVER_RXE;
	uint32_t first = atomic_load_explicit(&hint, memory_order_relaxed);
	uint32_t id;
	int ret;

	file->fd = fd;
	file->driver_id = first;
	ret = query(file, caps);
	for (id = 0; ret == EINVAL && id < MAX_DRIVER_ID; id++) {
		if (id == first)
			continue;
		file->driver_id = id;
		ret = query(file, caps);
	}
	if (ret == ENOTTY)
		return share_error(EOPNOTSUPP, "this kernel has no ioctl"
					       " interface for RDMA verbs");
	if (ret)
		return share_error_ioctl(ret, "asking the module");
	atomic_store_explicit(&hint, file->driver_id, memory_order_relaxed);
	return 0;
}
