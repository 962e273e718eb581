/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#ifndef SHARE_CMD_H
#define SHARE_CMD_H

#include <stdint.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/ib_uverbs_share.h>

#define SHARE_CMD_MAX_ATTRS 16

/* An open uverbs file; its core wants the number of the driver in each call. */
struct share_file {
	int fd;
	uint32_t driver_id;
};

/*
 * One ioctl in the making: share_cmd_init(), then an attribute per call, then
 * share_cmd_run(). Pointers have to stay valid until then; values of up to
 * eight bytes travel in the attribute itself.
 */
struct share_cmd {
	uint16_t object;
	uint16_t method;
	uint16_t count;
	struct ib_uverbs_attr attrs[SHARE_CMD_MAX_ATTRS];
};

void share_cmd_init(struct share_cmd *cmd, uint16_t object, uint16_t method);
void share_cmd_in(struct share_cmd *cmd, uint16_t id, const void *data,
		  uint16_t length);
void share_cmd_out(struct share_cmd *cmd, uint16_t id, void *data,
		   uint16_t length);
/* also for constants and flags */
void share_cmd_u64(struct share_cmd *cmd, uint16_t id, uint64_t value);
void share_cmd_u32(struct share_cmd *cmd, uint16_t id, uint32_t value);
void share_cmd_fd(struct share_cmd *cmd, uint16_t id, int fd);
/* an object of this file; with handle 0 one that is to be made */
void share_cmd_object(struct share_cmd *cmd, uint16_t id, uint32_t handle);

/* 0 or a positive errno value. No message: the caller knows what it tried. */
int share_cmd_run(const struct share_file *file, struct share_cmd *cmd);

/* The handle in the first attribute, which is where new objects stand. */
static inline uint32_t share_cmd_handle(const struct share_cmd *cmd)
{
	return cmd->attrs[0].data;
}

/*
 * Finds the driver id of an uverbs file and asks the module. 0, or a positive
 * errno value with a message.
 */
int share_file_probe(struct share_file *file, int fd,
		     struct ib_uverbs_share_caps *caps);

#endif /* SHARE_CMD_H */
