// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "share_events.h"

#define BYTES 4096

static const struct ibv_qp_cap cap = { 16, 16, 1, 1, 64 };

struct ibv_share_context *event_import(struct event_bed *bed, unsigned int rights)
{
	struct ibv_share_context *imported = NULL;
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv))
		return NULL;
	if (!ibv_share_send(bed->ctx, sv[0], rights))
		imported = ibv_share_recv(bed->context, sv[1]);
	close(sv[0]);
	close(sv[1]);
	return imported;
}

struct ibv_qp *event_make_qp(struct event_bed *bed)
{
	struct ibv_qp_init_attr init = {
		.cap = cap,
		.qp_type = IBV_QPT_RC,
		.send_cq = bed->made_cq,
		.recv_cq = bed->made_cq,
	};

	return ibv_share_create_qp(bed->pd, &init);
}

static int open_shared(struct event_bed *bed)
{
	CHECK(bed->context = lib_open("rxe0"));
	CHECK(bed->ctx = ibv_share_open(bed->context, NULL));
	CHECK(bed->pd = ibv_share_alloc_pd(bed->ctx));
	CHECK(bed->channel = ibv_share_create_comp_channel(bed->ctx));
	CHECK(bed->made_cq = ibv_share_create_cq(bed->ctx, 64, bed, bed->channel, 0));
	CHECK(bed->made_qp = event_make_qp(bed));
	CHECK(bed->memory = aligned_alloc(BYTES, BYTES));
	CHECK(bed->mr = ibv_share_reg_mr(bed->pd, bed->memory, BYTES, ACCESS));
	CHECK(bed->imported = event_import(bed, IBV_SHARE_ALL_RIGHTS));
	return 0;
}

static int choose(struct event_bed *bed, int importer)
{
	bed->us = importer ? bed->imported : bed->ctx;
	bed->other = importer ? bed->ctx : bed->imported;
	CHECK(bed->qp = ibv_share_get_qp(bed->us, NULL));
	CHECK(bed->cq = ibv_share_get_cq(bed->us, NULL));
	CHECK(bed->other_qp = ibv_share_get_qp(bed->other, NULL));
	CHECK(bed->other_cq = ibv_share_get_cq(bed->other, NULL));
	CHECK(bed->other_cq != bed->cq && bed->other_qp != bed->qp);
	return 0;
}

static int open_peer(struct event_bed *bed)
{
	struct ibv_qp_init_attr init = { .cap = cap, .qp_type = IBV_QPT_RC };

	CHECK(bed->peer_context = lib_open("rxe1"));
	CHECK(bed->peer_pd = ibv_alloc_pd(bed->peer_context));
	CHECK(bed->peer_cq = ibv_create_cq(bed->peer_context, 64, NULL, NULL, 0));
	init.send_cq = init.recv_cq = bed->peer_cq;
	CHECK(bed->peer_qp = ibv_create_qp(bed->peer_pd, &init));
	CHECK(bed->peer_mr = ibv_reg_mr(bed->peer_pd, bed->memory, BYTES,
					ACCESS | IBV_ACCESS_REMOTE_WRITE));
	return 0;
}

int event_bed_open(struct event_bed *bed, int importer)
{
	union ibv_gid gid0, gid1;

	CHECK(!open_shared(bed) && !choose(bed, importer) && !open_peer(bed));
	CHECK(!ibv_query_gid(bed->context, 1, GID_INDEX, &gid0));
	CHECK(!ibv_query_gid(bed->peer_context, 1, GID_INDEX, &gid1));
	CHECK(!lib_connect(bed->made_qp, 1, bed->peer_qp->qp_num, &gid1));
	CHECK(!lib_connect(bed->peer_qp, 0, bed->made_qp->qp_num, &gid0));
	return 0;
}

int event_bed_close(struct event_bed *bed)
{
	CHECK(!ibv_share_close(bed->imported));
	CHECK(!ibv_share_destroy_qp(bed->made_qp));
	CHECK(!ibv_share_destroy_cq(bed->made_cq));
	CHECK(!ibv_destroy_comp_channel(bed->channel));
	CHECK(!ibv_dereg_mr(bed->mr));
	CHECK(!ibv_share_dealloc_pd(bed->pd));
	CHECK(!ibv_share_close(bed->ctx));
	CHECK(!ibv_close_device(bed->context));
	CHECK(!ibv_destroy_qp(bed->peer_qp));
	CHECK(!ibv_destroy_cq(bed->peer_cq));
	CHECK(!ibv_dereg_mr(bed->peer_mr));
	CHECK(!ibv_dealloc_pd(bed->peer_pd));
	CHECK(!ibv_close_device(bed->peer_context));
	free(bed->memory);
	return 0;
}

/* a write needs nothing of the peer; with @bad_key it fails */
int event_write(struct event_bed *bed, struct ibv_qp *qp, int bad_key)
{
	struct ibv_sge sge = { (uintptr_t)bed->memory, 8, bed->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	wr.wr.rdma.remote_addr = (uintptr_t)bed->memory + 8;
	wr.wr.rdma.rkey = bed->peer_mr->rkey ^ (bad_key ? 0xff00 : 0);
	return ibv_post_send(qp, &wr, &bad);
}

int event_recv(struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = { .wr_id = 2 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* The peer sends; when it has its completion, the receiver's is there, too. */
int event_peer_sends(struct event_bed *bed, unsigned int flags)
{
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags,
	};
	time_t limit = time(NULL) + EVENT_WAIT_MS / 1000;
	struct ibv_wc wc;

	CHECK(!ibv_post_send(bed->peer_qp, &wr, &bad));
	while (!ibv_poll_cq(bed->peer_cq, 1, &wc))
		CHECK(time(NULL) <= limit);
	CHECK(wc.status == IBV_WC_SUCCESS);
	return 0;
}

/* The process sleeps in epoll on its descriptor; one event comes, in time. */
int event_sleep(struct ibv_share_context *ctx, struct ibv_cq *want)
{
	struct epoll_event event, in = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct ibv_cq *cq = NULL;
	void *cq_context;
	int ret;

	CHECK(epoll >= 0);
	CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, ibv_share_get_fd(ctx), &in));
	do {
		CHECK(epoll_wait(epoll, &event, 1, EVENT_WAIT_MS) == 1);
		ret = ibv_share_get_cq_event(ctx, &cq, &cq_context, 0);
	} while (ret == EAGAIN);
	close(epoll);
	CHECK(!ret);
	CHECK(cq == want && cq_context == want->cq_context);
	ibv_share_ack_cq_events(cq, 1);
	return 0;
}

int event_none(struct ibv_share_context *ctx)
{
	struct ibv_cq *cq;
	void *cq_context;

	CHECK(ibv_share_get_cq_event(ctx, &cq, &cq_context, 0) == EAGAIN);
	return 0;
}

int event_poll(struct ibv_cq *cq, enum ibv_wc_status status)
{
	time_t limit = time(NULL) + EVENT_WAIT_MS / 1000;
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		CHECK(time(NULL) <= limit);
	CHECK(wc.status == status);
	return 0;
}

/* what a poll that another process has to have steered to us finds at once */
int event_poll_now(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	CHECK(ibv_poll_cq(cq, 1, &wc) == 1);
	CHECK(wc.status == IBV_WC_SUCCESS);
	return 0;
}
