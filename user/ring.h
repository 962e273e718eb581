/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A ring between us and the device, as one process has it mapped.
 */
#ifndef SHARE_RING_H
#define SHARE_RING_H

#include <stddef.h>
#include <stdint.h>

struct share_provider;

/*
 * struct share_ring - private view, checked when it was made
 * @provider: knows the layout
 * @base: start of the mapping, NULL if this process has no right to it
 * @bytes: of the mapping
 * @mask: entries - 1; a ring holds @mask of them, one stays free
 * @log2: bytes of an entry
 */
struct share_ring {
	const struct share_provider *provider;
	void *base;
	size_t bytes;
	uint32_t mask;
	uint32_t log2;
};

/*
 * @min_entry: bytes that the caller is going to use of each entry.
 * EBADMSG: the header of the ring does not fit its size.
 */
int share_ring_attach(struct share_ring *ring,
		      const struct share_provider *provider, void *base,
		      size_t bytes, size_t min_entry);

static inline uint32_t share_ring_entries(const struct share_ring *ring)
{
	return ring->mask + 1;
}

/* How many entries has a ring that was just mapped, share_qp_attr needs it. */
int share_ring_probe(const struct share_provider *provider, void *base,
		     size_t bytes, uint32_t *entries);

#endif /* SHARE_RING_H */
