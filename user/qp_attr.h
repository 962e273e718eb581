/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#ifndef SHARE_QP_ATTR_H
#define SHARE_QP_ATTR_H

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

void share_qp_attr_to_kern(struct ib_uverbs_qp_attr *dst,
			   const struct ibv_qp_attr *src, int mask);
void share_qp_attr_from_kern(struct ibv_qp_attr *dst,
			     const struct ib_uverbs_qp_attr *src);

#endif /* SHARE_QP_ATTR_H */
