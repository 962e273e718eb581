/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What has to be known about a provider's rings. One file for each provider,
 * and nobody else includes its uAPI header.
 */
#ifndef SHARE_PROVIDER_H
#define SHARE_PROVIDER_H

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

struct share_av;
struct share_ring;

/*
 * struct share_provider
 * @driver_id: enum rdma_driver_id
 * @geometry: reads and checks the header of a mapped ring; EBADMSG
 * @send_bytes, @recv_bytes: of an entry with that many SGEs or inline bytes
 * @cqe_bytes: of a completion
 * @check_send: would write_send() take it? EINVAL, EOPNOTSUPP. @length: sum of
 *	its SGEs
 * @fill_av: what a UD request says of its address; EOPNOTSUPP. @sgid: that of
 *	@attr
 *	@dmac: of the next hop
 * @write_send, @write_recv: fill entry number @index; not published yet
 * @used: entries between @head and the device, masked
 * @publish: hand everything before @head to the device (store-release; the
 *	device's load-acquire pairs with it)
 * @published: as publish() left it: what it was given, masked
 * @cq_empty: hint, without lock
 * @cq_peek: 1 and the oldest completion (load-acquire of the device's index,
 *	pairs with its store-release), 0 if there is none; copied out of the
 *	ring, wr_id is the cookie
 * @cq_consume: give that entry back to the device (store-release)
 */
struct share_provider {
	uint32_t driver_id;
	int (*geometry)(const void *base, size_t bytes, uint32_t *log2,
			uint32_t *mask);
	size_t (*send_bytes)(uint32_t max_sge, uint32_t max_inline);
	size_t (*recv_bytes)(uint32_t max_sge);
	size_t cqe_bytes;
	int (*check_send)(const struct ibv_send_wr *wr, uint32_t qp_type,
			  uint64_t length);
	int (*fill_av)(struct share_av *av, const struct ibv_ah_attr *attr,
		       const struct ibv_gid_entry *sgid, const uint8_t *dmac);
	void (*write_send)(const struct share_ring *ring, uint32_t index,
			   const struct ibv_send_wr *wr, uint32_t qp_type,
			   uint64_t cookie, int signaled, uint32_t length);
	void (*write_recv)(const struct share_ring *ring, uint32_t index,
			   const struct ibv_recv_wr *wr, uint64_t cookie,
			   uint32_t length);
	uint32_t (*used)(const struct share_ring *ring, uint32_t head);
	void (*publish)(const struct share_ring *ring, uint32_t head);
	uint32_t (*published)(const struct share_ring *ring);
	int (*cq_empty)(const struct share_ring *ring);
	int (*cq_peek)(const struct share_ring *ring, struct ibv_wc *wc);
	void (*cq_consume)(const struct share_ring *ring);
};

extern const struct share_provider share_provider_rxe;

/* NULL if the rings of that driver are not known. */
const struct share_provider *share_provider_find(uint32_t driver_id);

#endif /* SHARE_PROVIDER_H */
