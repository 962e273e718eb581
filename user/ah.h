/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Address handles. The address travels in each request of a UD queue pair, so
 * a handle is memory of this process only: nothing in the kernel, nothing to
 * share.
 */
#ifndef SHARE_AH_H
#define SHARE_AH_H

#include <infiniband/verbs.h>

/* An address as the provider writes it into a request. */
struct share_av {
	_Alignas(8) unsigned char bytes[128];
};

struct share_ah {
	struct ibv_ah ibv;
	struct share_av av;
};

/* @ah is ours: its context was looked at */
static inline const struct share_av *share_av_of(const struct ibv_ah *ah)
{
	return &((const struct share_ah *)(const void *)ah)->av;
}

#endif /* SHARE_AH_H */
