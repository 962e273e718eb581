// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <string.h>
#include <sys/mman.h>
#include <rdma/rdma_user_rxe.h>
#include "../provider.h"
#include "srq_bed.h"
#include "tap.h"

#define LOG2 8

static void make_ring(struct srq_bed *s)
{
	struct rxe_queue_buf *queue;

	s->ring_bytes = sizeof(*queue) + ((size_t)SRQ_ENTRIES << LOG2);
	queue = fake_memory(s->ring_bytes);
	queue->log2_elem_size = LOG2;
	queue->index_mask = SRQ_ENTRIES - 1;
	s->ring = queue;
}

static int add_qp(struct srq_bed *s, struct share_qp_path *path)
{
	struct share_qp_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_entries = 16,
		.max_send_sge = BED_SGE,
		.max_inline = BED_INLINE,
		.srq = 1,
		.cookie = share_control_new_cookie(&s->exporter.control),
	};
	struct fake_qp *fake;
	uint32_t index, n;

	n = fake_add_qp(s->bed.dev, 0, 0, 16,
			(uint32_t)share_provider_rxe.send_bytes(BED_SGE,
								BED_INLINE),
			0);
	fake = &s->bed.dev->qps[n];
	attr.qp_num = fake->number;
	CHECK(!share_control_add_qp(&s->exporter.control, &attr, &index));
	CHECK(index == n);
	CHECK(!share_qp_path_init(path, &s->exporter.control, index,
				  &s->exporter.cq, &s->exporter.cq,
				  &share_provider_rxe, fake->sq.ring,
				  fake->sq.bytes, NULL, 0));
	path->srq = &s->srq;
	return bed_rts(&s->bed, path);
}

int srq_bed_open(struct srq_bed *s, struct node *node,
		 struct share_srq_path *path)
{
	return !share_srq_path_init(path, &node->control, 0, &node->cq,
				    &share_provider_rxe, s->ring,
				    s->ring_bytes);
}

int srq_bed_make(struct srq_bed *s)
{
	struct share_srq_attr attr = { .entries = SRQ_ENTRIES,
				       .max_sge = BED_SGE };
	uint32_t index;

	memset(s, 0, sizeof(*s));
	CHECK(bed_make(&s->bed, &s->exporter, 16, 128, 0));
	make_ring(s);
	attr.cookie = share_control_new_cookie(&s->exporter.control);
	CHECK(!share_control_add_srq(&s->exporter.control, &attr, &index));
	CHECK(!index);
	CHECK(srq_bed_open(s, &s->exporter, &s->srq));
	return add_qp(s, &s->qp[0]) && add_qp(s, &s->qp[1]);
}

int srq_bed_guard(struct srq_bed *s)
{
	struct fake_cq *cq = &s->bed.dev->cqs[0];
	struct fake_qp *qp = &s->bed.dev->qps[0];
	struct node *node = &s->exporter;
	int i;

	node->control.base = bed_between_guards(node->control.base,
						node->control.bytes);
	cq->ring = bed_guard_ring(cq->ring, cq->bytes);
	qp->sq.ring = bed_guard_ring(qp->sq.ring, qp->sq.bytes);
	qp->rq.ring = bed_guard_ring(qp->rq.ring, qp->rq.bytes);
	s->ring = bed_guard_ring(s->ring, s->ring_bytes);
	CHECK(!share_cq_path_init(&node->cq, &node->control, 0,
				  &share_provider_rxe, cq->ring, cq->bytes));
	CHECK(!share_qp_path_init(&node->qp, &node->control, 0, &node->cq,
				  &node->cq, &share_provider_rxe, qp->sq.ring,
				  qp->sq.bytes, qp->rq.ring, qp->rq.bytes));
	CHECK(srq_bed_open(s, node, &s->srq));
	for (i = 0; i < 2; i++) {
		qp = &s->bed.dev->qps[i + 1];
		CHECK(!share_qp_path_init(&s->qp[i], &node->control, i + 1,
					  &node->cq, &node->cq,
					  &share_provider_rxe, qp->sq.ring,
					  qp->sq.bytes, NULL, 0));
		s->qp[i].srq = &s->srq;
	}
	return 1;
}

int srq_bed_free(struct srq_bed *s)
{
	const struct share_cq_counters *counters =
		&s->exporter.cq.view.body->counters;

	CHECK(!share_load(&counters->impossible));
	CHECK(!share_load(&counters->lost));
	CHECK(!s->bed.dev->cqs[0].overflows);
	munmap(s->ring, s->ring_bytes);
	bed_free(&s->bed, &s->exporter);
	return 1;
}

int srq_post(struct share_srq_path *path, uint64_t wr_id, int n)
{
	struct ibv_recv_wr wr[SRQ_PLACES], *bad;
	int i;

	memset(wr, 0, sizeof(wr));
	for (i = 0; i < n; i++) {
		wr[i].wr_id = wr_id + (uint64_t)i;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	return share_post_srq_recv(path, wr, &bad);
}

uint64_t srq_take(struct srq_bed *s)
{
	struct rxe_queue_buf *queue = s->ring;
	const struct rxe_recv_wqe *wqe;
	uint64_t cookie;

	if (share_load_acquire(&queue->producer_index) == s->consumer)
		return 0;
	wqe = (void *)(queue->data + ((size_t)s->consumer << LOG2));
	cookie = wqe->wr_id;
	s->consumer = (s->consumer + 1) % SRQ_ENTRIES;
	share_store_release(&queue->consumer_index, s->consumer);
	return cookie;
}

void srq_complete(struct srq_bed *s, uint64_t cookie)
{
	fake_inject(s->bed.dev, 0, cookie, IBV_WC_SUCCESS);
}

uint32_t srq_credits(const struct srq_bed *s)
{
	return share_load(&s->exporter.cq.view.body->credits);
}
