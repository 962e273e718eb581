// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * rxe: the only file that knows its rings, which are uAPI. Indices lie in
 * 0..mask. The device masks what it reads, too, but Linux 6.12 trusts what a
 * request says about itself: write nothing that was not checked.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include "ah.h"
#include "control.h"
#include "provider.h"
#include "ring.h"

/* of queue pair numbers */
#define MAX_QPN 0xffffffu
#define MAX_MESSAGE (1u << 31)
#define SEND_FLAGS                                                 \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | \
	 IBV_SEND_INLINE)
/* enum ib_wc_flags of the kernel; libibverbs has another value for it */
#define KERNEL_WC_WITH_INVALIDATE (1u << 2)

static struct rxe_queue_buf *queue_of(const struct share_ring *ring)
{
	return ring->base;
}

static void *entry_of(const struct share_ring *ring, uint32_t index)
{
	return queue_of(ring)->data +
	       ((size_t)(index & ring->mask) << ring->log2);
}

static int rxe_geometry(const void *base, size_t bytes, uint32_t *log2,
			uint32_t *mask)
{
	const struct rxe_queue_buf *queue = base;
	const size_t header = offsetof(struct rxe_queue_buf, data);
	uint64_t entries;

	if ((uintptr_t)base % 64 || bytes < header)
		return EBADMSG;
	*log2 = share_load(&queue->log2_elem_size);
	*mask = share_load(&queue->index_mask);
	entries = (uint64_t)*mask + 1;
	if (*log2 < 6 || *log2 > 20 || !*mask || entries & *mask ||
	    entries << *log2 > bytes - header)
		return EBADMSG;
	return 0;
}

static size_t rxe_send_bytes(uint32_t max_sge, uint32_t max_inline)
{
	size_t sge = max_sge * sizeof(struct rxe_sge);

	return sizeof(struct rxe_send_wqe) +
	       (sge > max_inline ? sge : max_inline);
}

static size_t rxe_recv_bytes(uint32_t max_sge)
{
	return sizeof(struct rxe_recv_wqe) + max_sge * sizeof(struct rxe_sge);
}

static int check_opcode(const struct ibv_send_wr *wr, uint32_t qp_type,
			uint64_t length)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		if (length < 8 || wr->wr.atomic.remote_addr & 7)
			return EINVAL;
		/* fall through */
	case IBV_WR_RDMA_READ:
		return qp_type == IBV_QPT_RC &&
				       !(wr->send_flags & IBV_SEND_INLINE)
			       ? 0
			       : EINVAL;
	default:
		return EOPNOTSUPP;
	}
}

static int rxe_check_send(const struct ibv_send_wr *wr, uint32_t qp_type,
			  uint64_t length)
{
	if (wr->send_flags & ~SEND_FLAGS || length > MAX_MESSAGE)
		return EINVAL;
	if (qp_type == IBV_QPT_UD) {
		if (wr->wr.ud.remote_qpn > MAX_QPN)
			return EINVAL;
		return wr->opcode == IBV_WR_SEND ||
				       wr->opcode == IBV_WR_SEND_WITH_IMM
			       ? 0
			       : EINVAL;
	}
	return check_opcode(wr, qp_type, length);
}

_Static_assert(sizeof(struct rxe_av) <= sizeof(struct share_av), "it fits");

static int is_v4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* The device looks at family and address only. */
static void fill_ip(struct sockaddr_in6 *to, const union ibv_gid *gid)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;

	if (is_v4(gid)) {
		v4->sin_family = AF_INET;
		memcpy(&v4->sin_addr, gid->raw + 12, sizeof(v4->sin_addr));
	} else {
		to->sin6_family = AF_INET6;
		memcpy(&to->sin6_addr, gid->raw, sizeof(to->sin6_addr));
	}
}

static int rxe_fill_av(struct share_av *result, const struct ibv_ah_attr *attr,
		       const struct ibv_gid_entry *sgid, const uint8_t *dmac)
{
	struct rxe_av av = { .port_num = attr->port_num };

	if (sgid->gid_type != IBV_GID_TYPE_ROCE_V2)
		return EOPNOTSUPP;
	av.network_type = is_v4(&sgid->gid) ? RXE_NETWORK_TYPE_IPV4 : RXE_NETWORK_TYPE_IPV6;
	memcpy(av.grh.dgid.raw, attr->grh.dgid.raw, sizeof(av.grh.dgid.raw));
	av.grh.flow_label = attr->grh.flow_label;
	av.grh.sgid_index = attr->grh.sgid_index;
	av.grh.hop_limit = attr->grh.hop_limit;
	av.grh.traffic_class = attr->grh.traffic_class;
	fill_ip(&av.sgid_addr._sockaddr_in6, &sgid->gid);
	fill_ip(&av.dgid_addr._sockaddr_in6, &attr->grh.dgid);
	/* by which rxe knows what is for itself */
	memcpy(av.dmac, dmac, sizeof(av.dmac));
	memcpy(result, &av, sizeof(av));
	return 0;
}

/* No number of a handle: the device takes the address from here. */
static void fill_ud(struct rxe_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	wqe->wr.wr.ud.remote_qpn = wr->wr.ud.remote_qpn;
	wqe->wr.wr.ud.remote_qkey = wr->wr.ud.remote_qkey;
	memcpy(&wqe->wr.wr.ud.av, share_av_of(wr->wr.ud.ah),
	       sizeof(wqe->wr.wr.ud.av));
}

static void fill_remote(struct rxe_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		wqe->wr.wr.rdma.remote_addr = wr->wr.rdma.remote_addr;
		wqe->wr.wr.rdma.rkey = wr->wr.rdma.rkey;
		wqe->iova = wr->wr.rdma.remote_addr;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->wr.wr.atomic.remote_addr = wr->wr.atomic.remote_addr;
		wqe->wr.wr.atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->wr.wr.atomic.swap = wr->wr.atomic.swap;
		wqe->wr.wr.atomic.rkey = wr->wr.atomic.rkey;
		wqe->iova = wr->wr.atomic.remote_addr;
		break;
	default:
		break;
	}
}

static void fill_sges(struct rxe_dma_info *dma, const struct ibv_sge *sges,
		      int num_sge, uint32_t length)
{
	int i;

	dma->length = length;
	dma->resid = length;
	dma->num_sge = (uint32_t)num_sge;
	for (i = 0; i < num_sge; i++) {
		dma->sge[i].addr = sges[i].addr;
		dma->sge[i].length = sges[i].length;
		dma->sge[i].lkey = sges[i].lkey;
	}
}

static void fill_inline(struct rxe_dma_info *dma, const struct ibv_send_wr *wr,
			uint32_t length)
{
	uint8_t *to = dma->inline_data;
	int i;

	dma->length = length;
	dma->resid = length;
	dma->num_sge = (uint32_t)wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		if (!wr->sg_list[i].length)
			continue;
		memcpy(to, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
}

static void rxe_write_send(const struct share_ring *ring, uint32_t index,
			   const struct ibv_send_wr *wr, uint32_t qp_type,
			   uint64_t cookie, int signaled, uint32_t length)
{
	struct rxe_send_wqe *wqe = entry_of(ring, index);

	/* the device keeps its own state in here: all of it starts as zero */
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr.wr_id = cookie;
	wqe->wr.opcode = wr->opcode;
	wqe->wr.send_flags = (wr->send_flags & ~(uint32_t)IBV_SEND_SIGNALED) |
			     (signaled ? IBV_SEND_SIGNALED : 0);
	if (wr->opcode == IBV_WR_SEND_WITH_IMM ||
	    wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wqe->wr.ex.imm_data = wr->imm_data;
	if (qp_type == IBV_QPT_UD)
		fill_ud(wqe, wr);
	else
		fill_remote(wqe, wr);
	if (wr->send_flags & IBV_SEND_INLINE)
		fill_inline(&wqe->dma, wr, length);
	else
		fill_sges(&wqe->dma, wr->sg_list, wr->num_sge, length);
}

static void rxe_write_recv(const struct share_ring *ring, uint32_t index,
			   const struct ibv_recv_wr *wr, uint64_t cookie,
			   uint32_t length)
{
	struct rxe_recv_wqe *wqe = entry_of(ring, index);

	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = cookie;
	fill_sges(&wqe->dma, wr->sg_list, wr->num_sge, length);
}

static uint32_t rxe_used(const struct share_ring *ring, uint32_t head)
{
	/* acquire: the device has read an entry before we write it anew */
	return (head - share_load_acquire(&queue_of(ring)->consumer_index)) &
	       ring->mask;
}

static void rxe_publish(const struct share_ring *ring, uint32_t head)
{
	/* pairs with the acquire in the device's look at the producer index */
	share_store_release(&queue_of(ring)->producer_index,
			    head & ring->mask);
}

static uint32_t rxe_published(const struct share_ring *ring)
{
	return share_load(&queue_of(ring)->producer_index) & ring->mask;
}

static int rxe_cq_empty(const struct share_ring *ring)
{
	const struct rxe_queue_buf *queue = queue_of(ring);

	return !((share_load(&queue->producer_index) -
		  share_load(&queue->consumer_index)) &
		 ring->mask);
}

static void fill_wc(struct ibv_wc *wc, const struct ib_uverbs_wc *cqe)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = IBV_WC_GENERAL_ERR;
	if (cqe->status <= IBV_WC_TM_RNDV_INCOMPLETE)
		wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = (enum ibv_wc_opcode)cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->ex.imm_data;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags & ~KERNEL_WC_WITH_INVALIDATE;
	if (cqe->wc_flags & KERNEL_WC_WITH_INVALIDATE)
		wc->wc_flags |= IBV_WC_WITH_INV;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
}

static int rxe_cq_peek(const struct share_ring *ring, struct ibv_wc *wc)
{
	struct rxe_queue_buf *queue = queue_of(ring);
	uint32_t consumer = share_load(&queue->consumer_index) & ring->mask;
	struct ib_uverbs_wc cqe;

	/* pairs with the device's release of the producer index */
	if ((share_load_acquire(&queue->producer_index) & ring->mask) ==
	    consumer)
		return 0;
	share_copy_in(&cqe, entry_of(ring, consumer), sizeof(cqe));
	fill_wc(wc, &cqe);
	return 1;
}

static void rxe_cq_consume(const struct share_ring *ring)
{
	struct rxe_queue_buf *queue = queue_of(ring);

	/* release: the device overwrites the entry after we have copied it */
	share_store_release(&queue->consumer_index,
			    (share_load(&queue->consumer_index) + 1) &
				    ring->mask);
}

const struct share_provider share_provider_rxe = {
	.driver_id = RDMA_DRIVER_RXE,
	.geometry = rxe_geometry,
	.send_bytes = rxe_send_bytes,
	.recv_bytes = rxe_recv_bytes,
	.cqe_bytes = sizeof(struct ib_uverbs_wc),
	.check_send = rxe_check_send,
	.fill_av = rxe_fill_av,
	.write_send = rxe_write_send,
	.write_recv = rxe_write_recv,
	.used = rxe_used,
	.publish = rxe_publish,
	.published = rxe_published,
	.cq_empty = rxe_cq_empty,
	.cq_peek = rxe_cq_peek,
	.cq_consume = rxe_cq_consume,
};
