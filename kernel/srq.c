// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include "share.h"

static void srq_pin(struct share *share)
{
	struct ib_srq *srq = share->object;

	atomic_inc(&srq->usecnt);
}

static void srq_unpin(struct share *share)
{
	struct ib_srq *srq = share->object;

	atomic_dec(&srq->usecnt);
}

static int srq_check(struct ib_uobject *target)
{
	struct ib_srq *srq = target->object;

	if (srq->srq_type != IB_SRQT_BASIC)
		return share_refuse(srq->device, -EOPNOTSUPP,
				    "SRQ %d is of type %d", target->id,
				    srq->srq_type);
	return 0;
}

const struct share_kind share_kind_srq = {
	.kind = IB_UVERBS_SHARE_SRQ,
	.name = "srq",
	.rights = IB_UVERBS_SHARE_POST_RECV | IB_UVERBS_SHARE_REGRANT,
	.rings = BIT(IB_UVERBS_SHARE_RING_SRQ),
	.check = srq_check,
	.pin = srq_pin,
	.unpin = srq_unpin,
};
