/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A shared QP on rxe0 with a CQ that has a channel, its maker and an importer
 * in one process, and an ordinary QP on rxe1 as its peer.
 */
#ifndef SHARE_EVENTS_H
#define SHARE_EVENTS_H

#include "share_library.h"

#define EVENT_WAIT_MS 10000

/*
 * struct event_bed
 * @ctx, @imported: the maker's, an importer's
 * @us, @other: that of the two which is tested, and the other one; @qp and @cq
 *	are ours
 * @memory: of both ends
 */
struct event_bed {
	struct ibv_context *context, *peer_context;
	struct ibv_share_context *ctx, *imported, *us, *other;
	struct ibv_comp_channel *channel;
	struct ibv_pd *pd, *peer_pd;
	struct ibv_qp *made_qp, *qp, *other_qp, *peer_qp;
	struct ibv_cq *made_cq, *cq, *other_cq, *peer_cq;
	struct ibv_mr *mr, *peer_mr;
	char *memory;
};

/* These return 1 and say why, or 0. */
int event_bed_open(struct event_bed *bed, int importer);
int event_bed_close(struct event_bed *bed);
/* Another member of the context; NULL */
struct ibv_share_context *event_import(struct event_bed *bed, unsigned int rights);
/* The QPs of bed->made_cq; NULL */
struct ibv_qp *event_make_qp(struct event_bed *bed);

/* A write needs nothing of the peer; with @bad_key it fails. An errno value. */
int event_write(struct event_bed *bed, struct ibv_qp *qp, int bad_key);
int event_recv(struct ibv_qp *qp);
/* The peer sends; when it has its completion, the receiver's is there, too. */
int event_peer_sends(struct event_bed *bed, unsigned int flags);

/* The process sleeps in epoll on its descriptor; one event comes, in time. */
int event_sleep(struct ibv_share_context *ctx, struct ibv_cq *want);
int event_none(struct ibv_share_context *ctx);

/* One completion, in time; resp. at once */
int event_poll(struct ibv_cq *cq, enum ibv_wc_status status);
int event_poll_now(struct ibv_cq *cq);

#endif /* SHARE_EVENTS_H */
