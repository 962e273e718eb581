/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The module's methods, one function each. All return 0 or a positive errno
 * value without a message: share_error_ioctl() where it is known what for.
 */
#ifndef SHARE_GRANT_H
#define SHARE_GRANT_H

#include <stdint.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_uverbs_share.h>
#include "cmd.h"

#define SHARE_NO_HANDLE 0xffffffffU

/*
 * struct share_export - what to export
 * @object: handle, or SHARE_NO_HANDLE for the context
 * @segments: rings
 * @num_segments: of them
 * @mem_fd: file behind an MR, or -1
 * @mem_offset: where the MR starts in it
 * @access: of an MR
 */
struct share_export {
	uint32_t object;
	const struct ib_uverbs_share_segment *segments;
	unsigned int num_segments;
	int mem_fd;
	uint64_t mem_offset;
	uint32_t access;
};

int share_export(const struct share_file *file,
		 const struct share_export *what, uint32_t *handle, int *grant);
int share_revoke(const struct share_file *file, uint32_t handle);
int share_derive(const struct share_file *file, int grant, uint32_t rights,
		 int *derived);

/* @event_fd: of a CONTEXT, else -1 */
int share_import(const struct share_file *file, int grant, int event_fd,
		 uint32_t *handle, struct ib_uverbs_share_info *info);
int share_release(const struct share_file *file, uint32_t handle);

int share_kick(const struct share_file *file, uint32_t qp, uint32_t flags);
int share_arm(const struct share_file *file, uint32_t cq, int solicited);
int share_modify_qp(const struct share_file *file, uint32_t qp,
		    const struct ib_uverbs_qp_attr *attr);
int share_query_qp(const struct share_file *file, uint32_t qp,
		   struct ib_uverbs_qp_attr *attr);
int share_query_cq(const struct share_file *file, uint32_t cq,
		   struct ib_uverbs_share_cq *answer);
int share_query_mr(const struct share_file *file, uint32_t mr,
		   struct ib_uverbs_share_mr *answer);
int share_query_slot(const struct share_file *file, uint32_t context,
		     uint32_t slot, struct ib_uverbs_share_slot *answer);
int share_wake_slot(const struct share_file *file, uint32_t context,
		    uint32_t slot);

/* Maps a ring of a grant; NULL and errno. */
void *share_map_ring(int grant, enum ib_uverbs_share_ring ring, uint64_t bytes);

#endif /* SHARE_GRANT_H */
