/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A device, a control segment and members of a shared context, all in one
 * process or in several.
 */
#ifndef TEST_BED_H
#define TEST_BED_H

#include "../post.h"
#include "fake_rxe.h"

#define BED_SGE 4
#define BED_INLINE 64

/*
 * struct bed - CQ 0 for both directions of QP 0, which talks to itself
 * @memfd: control segment
 */
struct bed {
	struct fake_device *dev;
	int memfd;
	uint32_t num_qps;
};

/* of CQ 0 of the next bed: SHARE_CQ_ANY */
extern uint32_t bed_cq_flags;

/* struct node - one member */
struct node {
	struct share_control control;
	struct share_cq_path cq;
	struct share_qp_path qp;
};

/*
 * @qp_entries, @cq_entries: powers of two; the rings hold one less
 * The exporter is slot 0, generation 1, also the heir. The QP is in RTS.
 */
int bed_make(struct bed *bed, struct node *exporter, uint32_t qp_entries,
	     uint32_t cq_entries, int sig_all);
/* Another QP of the same kind on CQ 0. */
int bed_add_qp(struct bed *bed, struct node *exporter,
	       struct share_qp_path *path, uint32_t qp_entries);
int bed_join(struct bed *bed, struct node *node, uint32_t slot,
	     uint32_t generation);
/*
 * Through the mapping of @exporter, for threads: the thread sanitizer knows a
 * word by its address. No bed_leave().
 */
int bed_join_mapped(struct bed *bed, struct node *node,
		    const struct node *exporter, uint32_t slot);
void bed_leave(struct node *node);
void bed_free(struct bed *bed, struct node *exporter);

/* Through all states to RTS. */
int bed_rts(struct bed *bed, struct share_qp_path *path);
int bed_reset(struct bed *bed, struct share_qp_path *path);

/* Moves @bytes of a mapping to where both ends meet an untouchable page. */
void *bed_between_guards(void *old, size_t bytes);
/* A ring need not end with a page: its end is what matters more. */
void *bed_guard_ring(void *old, size_t bytes);

/* One inline message of 8 bytes, resp. one buffer for it. */
int bed_send(struct node *node, uint64_t wr_id, uint64_t payload,
	     unsigned int flags);
int bed_recv(struct node *node, uint64_t wr_id, uint64_t *buffer);

#endif /* TEST_BED_H */
