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
/* a region that has to be on the PD with the import @pd, else EXDEV */
int share_import_mr(const struct share_file *file, int grant, uint32_t pd,
		    uint32_t *handle, struct ib_uverbs_share_info *info);

/*
 * struct share_reg_mr - what to register
 * @pd: handle, for SHARE_REG_MR
 * @fd: file or grant, or -1
 * @addr: without @fd: memory of this process
 * @offset: with @fd
 * @length: bytes
 * @iova: address that stands for the first byte
 * @access: enum ibv_access_flags
 */
struct share_reg_mr {
	uint32_t pd;
	int fd;
	uint64_t addr;
	uint64_t offset;
	uint64_t length;
	uint64_t iova;
	uint32_t access;
};

/* @pd: import; fills in the keys in @info */
int share_import_reg_mr(const struct share_file *file, uint32_t pd,
			const struct share_reg_mr *what, uint32_t *handle,
			struct ib_uverbs_share_info *info);
int share_release(const struct share_file *file, uint32_t handle);

int share_kick(const struct share_file *file, uint32_t qp, uint32_t flags);
int share_arm(const struct share_file *file, uint32_t cq, int solicited);
int share_modify_qp(const struct share_file *file, uint32_t qp,
		    const struct ib_uverbs_qp_attr *attr);
int share_query_qp(const struct share_file *file, uint32_t qp,
		   struct ib_uverbs_qp_attr *attr);
int share_query_cq(const struct share_file *file, uint32_t cq,
		   struct ib_uverbs_share_cq *answer);
int share_query_srq(const struct share_file *file, uint32_t srq,
		    struct ib_uverbs_share_srq *answer);
/* when the limit event is to come */
int share_limit_srq(const struct share_file *file, uint32_t srq,
		    uint32_t limit);
int share_query_mr(const struct share_file *file, uint32_t mr,
		   struct ib_uverbs_share_mr *answer);
int share_query_slot(const struct share_file *file, uint32_t context,
		     uint32_t slot, struct ib_uverbs_share_slot *answer);
int share_wake_slot(const struct share_file *file, uint32_t context,
		    uint32_t slot);

/* Maps a ring of a grant; NULL and errno. */
void *share_map_ring(int grant, enum ib_uverbs_share_ring ring, uint64_t bytes);

#endif /* SHARE_GRANT_H */
