/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A bed with an SRQ. The test is its device: takes receives from the ring for
 * whatever QP, and completes them in any order.
 */
#ifndef TEST_SRQ_BED_H
#define TEST_SRQ_BED_H

#include "../post_srq.h"
#include "bed.h"

#define SRQ_ENTRIES 16
/* some are taken while the ring is full */
#define SRQ_PLACES (2 * SRQ_ENTRIES)

/*
 * struct srq_bed - SRQ 0 and two QPs of it, 1 and 2, both in RTS
 * @ring: of the SRQ
 * @consumer: of the device
 * @exporter, @paths: slot 0
 */
struct srq_bed {
	struct bed bed;
	void *ring;
	size_t ring_bytes;
	uint32_t consumer;
	struct node exporter;
	struct share_srq_path srq;
	struct share_qp_path qp[2];
};

int srq_bed_make(struct srq_bed *s);
int srq_bed_free(struct srq_bed *s);
/* Segment and rings between untouchable pages. */
int srq_bed_guard(struct srq_bed *s);
/* The SRQ as another member has it. */
int srq_bed_open(struct srq_bed *s, struct node *node,
		 struct share_srq_path *path);

/* @n receives, numbered from @wr_id */
int srq_post(struct share_srq_path *path, uint64_t wr_id, int n);
/* The cookie of the oldest receive in the ring, which is taken; 0: none. */
uint64_t srq_take(struct srq_bed *s);
void srq_complete(struct srq_bed *s, uint64_t cookie);
uint32_t srq_credits(const struct srq_bed *s);

#endif /* TEST_SRQ_BED_H */
