// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include "share.h"

static void pd_pin(struct share *share)
{
	struct ib_pd *pd = share->object;

	atomic_inc(&pd->usecnt);
}

static void pd_unpin(struct share *share)
{
	struct ib_pd *pd = share->object;

	atomic_dec(&pd->usecnt);
}

const struct share_kind share_kind_pd = {
	.kind = IB_UVERBS_SHARE_PD,
	.name = "pd",
	.rights = IB_UVERBS_SHARE_REGISTER | IB_UVERBS_SHARE_REGRANT,
	.pin = pd_pin,
	.unpin = pd_unpin,
};
