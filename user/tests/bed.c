// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include "../provider.h"
#include "bed.h"
#include "tap.h"

#define GUARD (1u << 20)

uint32_t bed_cq_flags;

int bed_rts(struct bed *bed, struct share_qp_path *path)
{
	uint32_t state;

	for (state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		fake_modify(bed->dev, path->view.index, state);
		CHECK(!share_qp_set_state(path, (enum ibv_qp_state)state));
	}
	return 1;
}

int bed_reset(struct bed *bed, struct share_qp_path *path)
{
	CHECK(!share_qp_begin_reset(path));
	fake_modify(bed->dev, path->view.index, IBV_QPS_RESET);
	CHECK(!share_qp_set_state(path, IBV_QPS_RESET));
	return 1;
}

static int attach(struct bed *bed, struct node *node, uint32_t slot,
		  uint32_t generation)
{
	const struct share_env env = { fake_slot_alive, fake_kick, fake_wake,
				       fake_arm, bed->dev };

	memset(node, 0, sizeof(*node));
	share_store(&bed->dev->generations[slot], generation);
	CHECK(!share_control_attach(&node->control, bed->memfd, slot,
				    generation, &env));
	CHECK(!share_control_slot_reset(&node->control));
	return 1;
}

static int open_paths(struct bed *bed, struct node *node)
{
	struct fake_cq *cq = &bed->dev->cqs[0];
	struct fake_qp *qp = &bed->dev->qps[0];

	CHECK(!share_cq_path_init(&node->cq, &node->control, 0,
				  &share_provider_rxe, cq->ring, cq->bytes));
	CHECK(!share_qp_path_init(&node->qp, &node->control, 0, &node->cq,
				  &node->cq, &share_provider_rxe, qp->sq.ring,
				  qp->sq.bytes, qp->rq.ring, qp->rq.bytes));
	return 1;
}

static int add_qp(struct bed *bed, struct node *exporter, uint32_t qp_entries,
		  int sig_all)
{
	struct share_qp_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_entries = qp_entries,
		.rq_entries = qp_entries,
		.max_send_sge = BED_SGE,
		.max_recv_sge = BED_SGE,
		.max_inline = BED_INLINE,
		.sq_sig_all = (uint32_t)sig_all,
		.cookie = share_control_new_cookie(&exporter->control),
	};
	uint32_t index, fake;

	fake = fake_add_qp(bed->dev, 0, 0, qp_entries,
			   (uint32_t)share_provider_rxe.send_bytes(BED_SGE,
								   BED_INLINE),
			   sig_all);
	attr.qp_num = bed->dev->qps[fake].number;
	CHECK(!share_control_add_qp(&exporter->control, &attr, &index));
	CHECK(index == fake);
	return 1;
}

int bed_make(struct bed *bed, struct node *exporter, uint32_t qp_entries,
	     uint32_t cq_entries, int sig_all)
{
	const uint32_t heir = share_owner_word(0, 1);
	struct share_cq_attr attr = { .capacity = cq_entries - 1,
				      .flags = bed_cq_flags };
	uint32_t index;

	memset(bed, 0, sizeof(*bed));
	bed->dev = fake_create();
	CHECK(!share_control_create(0, &bed->memfd));
	CHECK(attach(bed, exporter, 0, 1));
	share_control_set_heirs(&exporter->control, &heir, 1);
	fake_add_cq(bed->dev, cq_entries);
	attr.cookie = share_control_new_cookie(&exporter->control);
	CHECK(!share_control_add_cq(&exporter->control, &attr, &index));
	CHECK(index == 0);
	CHECK(add_qp(bed, exporter, qp_entries, sig_all));
	CHECK(open_paths(bed, exporter));
	return bed_rts(bed, &exporter->qp);
}

int bed_add_qp(struct bed *bed, struct node *exporter,
	       struct share_qp_path *path, uint32_t qp_entries)
{
	uint32_t index = bed->dev->num_qps;
	struct fake_qp *qp = &bed->dev->qps[index];

	CHECK(add_qp(bed, exporter, qp_entries, 0));
	CHECK(!share_qp_path_init(path, &exporter->control, index,
				  &exporter->cq, &exporter->cq,
				  &share_provider_rxe, qp->sq.ring,
				  qp->sq.bytes, qp->rq.ring, qp->rq.bytes));
	return bed_rts(bed, path);
}

int bed_join(struct bed *bed, struct node *node, uint32_t slot,
	     uint32_t generation)
{
	return attach(bed, node, slot, generation) && open_paths(bed, node);
}

int bed_join_mapped(struct bed *bed, struct node *node,
		    const struct node *exporter, uint32_t slot)
{
	memset(node, 0, sizeof(*node));
	share_store(&bed->dev->generations[slot], 1);
	node->control = exporter->control;
	node->control.me.slot = slot;
	CHECK(!share_control_slot_reset(&node->control));
	return open_paths(bed, node);
}

void bed_leave(struct node *node)
{
	share_control_detach(&node->control);
}

void bed_free(struct bed *bed, struct node *exporter)
{
	struct fake_device *dev = bed->dev;
	uint32_t i;

	for (i = 0; i < dev->num_cqs; i++)
		munmap(dev->cqs[i].ring, dev->cqs[i].bytes);
	for (i = 0; i < dev->num_qps; i++) {
		munmap(dev->qps[i].sq.ring, dev->qps[i].sq.bytes);
		munmap(dev->qps[i].rq.ring, dev->qps[i].rq.bytes);
	}
	fake_close_events(dev);
	munmap(dev, sizeof(*dev));
	bed_leave(exporter);
	close(bed->memfd);
}

void *bed_between_guards(void *old, size_t bytes)
{
	char *room = mmap(NULL, bytes + 2 * GUARD, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *new;

	if (room == MAP_FAILED)
		abort();
	new = mremap(old, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		     room + GUARD);
	if (new == MAP_FAILED)
		abort();
	return new;
}

void *bed_guard_ring(void *old, size_t bytes)
{
	size_t pages = (bytes + 4095) / 4096 * 4096;
	char *new = bed_between_guards(fake_memory(pages), pages);

	memcpy(new + pages - bytes, old, bytes);
	return new + pages - bytes;
}

int bed_send(struct node *node, uint64_t wr_id, uint64_t payload,
	     unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)&payload, sizeof(payload), 0 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags | IBV_SEND_INLINE,
	};

	return share_post_send(&node->qp, &wr, &bad);
}

int bed_recv(struct node *node, uint64_t wr_id, uint64_t *buffer)
{
	struct ibv_sge sge = { (uintptr_t)buffer, sizeof(*buffer), 0 };
	struct ibv_recv_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return share_post_recv(&node->qp, &wr, &bad);
}
