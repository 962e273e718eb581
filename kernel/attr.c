// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Attributes of a call, taken and given. What is wrong with one is said here
 * once for all methods.
 */
#include "share.h"

/* Return: the caller's device, NULL if its file has no context yet */
struct ib_device *share_device(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = attrs->context;

	if (!context)
		context = ib_uverbs_get_ucontext(attrs);
	return IS_ERR(context) ? NULL : context->device;
}

/* a file descriptor that the caller has to give; it need not be open */
int share_get_fd(int *fd, struct uverbs_attr_bundle *attrs, u16 id)
{
	int ret = uverbs_get_raw_fd(fd, attrs, id);

	if (ret)
		return share_refuse(share_device(attrs), ret,
				    "attribute %u: no file descriptor", id);
	return 0;
}

/* flags; an attribute that is absent is 0 */
int share_get_flags(u32 *flags, struct uverbs_attr_bundle *attrs, u16 id,
		    u32 known)
{
	int ret = uverbs_get_flags32(flags, attrs, id, known);

	if (ret)
		return share_refuse(share_device(attrs), ret,
				    "attribute %u: flags outside of %#x", id,
				    known);
	return 0;
}

/* a caller with a longer structure gets zeros for what this kernel lacks */
int share_reply(struct uverbs_attr_bundle *attrs, u16 id, const void *from,
		size_t size)
{
	int ret = uverbs_copy_to_struct_or_zero(attrs, id, from, size);

	if (ret)
		return share_refuse(share_device(attrs), ret,
				    "attribute %u: reply cannot be written",
				    id);
	return 0;
}
