/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * From a cookie to the request, and the end of requests.
 */
#ifndef SHARE_SHADOW_H
#define SHARE_SHADOW_H

#include "control.h"

/*
 * struct share_request - a request that was posted and is not retired
 * @qp: view of its QP, kept for the next request if @qp_known
 * @srq: of its SRQ, if it is one of those; kept if @srq_known
 * @shadow: its entry
 * @dir: direction of the QP
 * @sequence: its number
 * @tail: that of the oldest that is not retired: those before @sequence end
 *	with it. Of an SRQ: itself.
 */
struct share_request {
	struct share_qp_view qp;
	int qp_known;
	struct share_srq_view srq;
	int srq_known;
	uint64_t cookie;
	struct share_shadow *shadow;
	struct share_direction dir;
	uint32_t sequence;
	uint32_t tail;
};

/*
 * Under the lock of CQ @cq, where the cookie was found. ENOENT: the QP or the
 * request is no more; EBADMSG: never was.
 */
int share_request_find(const struct share_control *control,
		       const struct share_cq_view *cq, uint64_t cookie,
		       struct share_request *request);

static inline int share_request_is_srq(const struct share_request *request)
{
	return request->cookie >> 62 == SHARE_COOKIE_SRQ;
}

uint32_t share_shadow_slot(const struct share_shadow *shadow);

/* Its owner has one request or completion less, if it still has the slot. */
void share_quota_give(const struct share_control *control,
		      const struct share_cq_view *cq, uint32_t slot,
		      uint32_t generation);

/* Ends request @shared without a completion. */
void share_shadow_retire(const struct share_control *control,
			 const struct share_cq_view *cq,
			 struct share_shadow *shared);

/* The same for all from @from to before @to. */
void share_shadow_retire_range(const struct share_control *control,
			       const struct share_cq_view *cq,
			       const struct share_direction *dir, uint32_t from,
			       uint32_t to);

#endif /* SHARE_SHADOW_H */
