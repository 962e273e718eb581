// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include "control_layout.h"
#include "provider.h"
#include "ring.h"

int share_ring_attach(struct share_ring *ring,
		      const struct share_provider *provider, void *base,
		      size_t bytes, size_t min_entry)
{
	uint32_t log2, mask;
	int ret;

	ret = provider->geometry(base, bytes, &log2, &mask);
	if (ret)
		return ret;
	if (mask >= SHARE_MAX_ENTRIES || min_entry > (size_t)1 << log2)
		return EBADMSG;
	ring->provider = provider;
	ring->base = base;
	ring->bytes = bytes;
	ring->mask = mask;
	ring->log2 = log2;
	return 0;
}

int share_ring_probe(const struct share_provider *provider, void *base,
		     size_t bytes, uint32_t *entries)
{
	struct share_ring ring;
	int ret = share_ring_attach(&ring, provider, base, bytes, 0);

	if (!ret)
		*entries = share_ring_entries(&ring);
	return ret;
}

const struct share_provider *share_provider_find(uint32_t driver_id)
{
	if (driver_id == share_provider_rxe.driver_id)
		return &share_provider_rxe;
	return NULL;
}
