// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Policy: who may have how much of what. No state, no locks.
 */
#include "share.h"

/* the right that opens a ring */
u32 share_ring_right(u32 ring)
{
	switch (ring) {
	case IB_UVERBS_SHARE_RING_SEND:
		return IB_UVERBS_SHARE_POST_SEND;
	case IB_UVERBS_SHARE_RING_RECV:
	case IB_UVERBS_SHARE_RING_SRQ:
		return IB_UVERBS_SHARE_POST_RECV;
	default:
		return IB_UVERBS_SHARE_POLL;
	}
}

/**
 * share_rights_narrow - the rights that a caller asks for
 * @rights: result
 * @attrs: of the call
 * @id: flags attribute; absent means all of @have
 * @have: what there is to give
 * @wider: errno if more is asked for
 */
int share_rights_narrow(u32 *rights, struct uverbs_attr_bundle *attrs, u16 id,
			u32 have, int wider)
{
	int ret;

	*rights = have;
	if (!uverbs_attr_is_valid(attrs, id))
		return 0;

	ret = uverbs_get_flags32(rights, attrs, id, IB_UVERBS_SHARE_ALL_RIGHTS);
	if (ret)
		return ret;
	return *rights & ~have ? wider : 0;
}

/**
 * share_access_narrow - access that is asked for against access that is granted
 * @granted: IB_ACCESS_*
 * @wanted: IB_ACCESS_*; the optional ones are hints, nobody has to grant them
 */
int share_access_narrow(u32 granted, u32 wanted)
{
	return wanted & ~(granted | IB_ACCESS_OPTIONAL) ? -EACCES : 0;
}
