/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * For tests of the library, which are applications of libibverbs.
 */
#ifndef SHARE_LIBRARY_H
#define SHARE_LIBRARY_H

#include <errno.h>
#include <stdio.h>
#include <infiniband/share.h>
#include "share_limit.h"

#define GID_INDEX 1
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)

/* The function returns 1 and says why. */
#define CHECK(cond)                                                     \
	do {                                                            \
		if (!(cond)) {                                          \
			printf("# %s:%d: %s: errno %d, %s\n", __func__, \
			       __LINE__, #cond, errno,                  \
			       ibv_share_last_error());                 \
			return 1;                                       \
		}                                                       \
	} while (0)

/* NULL if there is no such device */
struct ibv_context *lib_open(const char *name);

/* From RESET to RTS. @shared: the QP is one of libibvshare. */
int lib_connect(struct ibv_qp *qp, int shared, uint32_t to, const union ibv_gid *gid);
/* The same for a shared QP whose peer begins with @psn; it begins with 0 itself. */
int lib_connect_psn(struct ibv_qp *qp, uint32_t to, const union ibv_gid *gid, uint32_t psn);

/* of the monotonic clock */
uint32_t lib_now_ms(void);

/* a hardware counter of port 1; -1 if there is none of that name */
long lib_counter(const char *dev, const char *name);

#endif /* SHARE_LIBRARY_H */
