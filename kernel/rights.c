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

	ret = share_get_flags(rights, attrs, id, IB_UVERBS_SHARE_ALL_RIGHTS);
	if (ret)
		return ret;
	if (*rights & ~have)
		return share_refuse(share_device(attrs), wider,
				    "rights %#x are more than %#x", *rights,
				    have);
	return 0;
}

/* access that no region of this device may have */
int share_access_check(struct ib_device *ibdev, u32 access)
{
	int ret = ib_check_mr_access(ibdev, access);

	if (ret)
		return share_refuse(ibdev, ret,
				    "access %#x not for this device, or remote without local",
				    access);
	return 0;
}

/**
 * share_access_narrow - access that is asked for against access that is granted
 * @ibdev: device of the caller
 * @granted: IB_ACCESS_*
 * @wanted: IB_ACCESS_*; the optional ones are hints, nobody has to grant them
 */
int share_access_narrow(struct ib_device *ibdev, u32 granted, u32 wanted)
{
	if (wanted & ~(granted | IB_ACCESS_OPTIONAL))
		return share_refuse(ibdev, -EACCES,
				    "access %#x is more than %#x of the grant",
				    wanted, granted);
	return 0;
}
