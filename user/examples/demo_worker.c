// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * usage: demo_worker DEVICE SOCKET	(by demo)
 *
 * Process W of the demo: posts and polls on a QP that another process made.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "demo.h"

static void post_recv(struct ibv_qp *qp, struct ibv_mr *mr, unsigned int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr + (1 + i) * SIZE,
		.length = SIZE,
		.lkey = mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	errno = ibv_post_recv(qp, &wr, &bad);
	if (errno)
		die("W: ibv_post_recv");
}

static void post_send(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr,
		.length = SIZE,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = DEPTH,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	errno = ibv_post_send(qp, &wr, &bad);
	if (errno)
		die("W: ibv_post_send");
}

/* byte 0 of the message is 0, which is what ibv_rc_pingpong -c looks at */
static void fill(unsigned char *buf, unsigned int iter)
{
	unsigned int i;

	for (i = 1; i < SIZE; i++)
		buf[i] = (unsigned char)(iter * 31 + i * 7);
}

/* one message there and back; returns the receive that got it */
static unsigned int round_trip(struct ibv_qp *qp, struct ibv_mr *mr)
{
	unsigned int sends = 0, recvs = 0, slot = 0;
	struct ibv_wc wc;

	post_send(qp, mr);
	while (!sends || !recvs) {
		int n = ibv_poll_cq(qp->send_cq, 1, &wc);

		if (n < 0)
			die("W: ibv_poll_cq");
		if (n && wc.status != IBV_WC_SUCCESS)
			die("W: completion: %s", ibv_wc_status_str(wc.status));
		if (n && wc.wr_id == DEPTH) {
			sends++;
		} else if (n) {
			slot = (unsigned int)wc.wr_id;
			recvs++;
		}
	}
	return slot;
}

static struct result ping_pong(struct ibv_qp *qp, struct ibv_mr *mr,
			       unsigned char *mem)
{
	struct result result = { 0 };
	struct timespec a, b;
	unsigned int i, slot;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (i = 0; i < ITERS; i++) {
		fill(mem, i);
		slot = round_trip(qp, mr);
		result.sent++;
		result.received++;
		if (memcmp(mem, mem + (1 + slot) * SIZE, SIZE))
			result.wrong++;
		if (i + DEPTH < ITERS)
			post_recv(qp, mr, slot);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	result.seconds = (double)(b.tv_sec - a.tv_sec) +
			 (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	return result;
}

static int worker(const char *device, int sock)
{
	struct ibv_context *context = open_device(device);
	struct ibv_share_context *ctx = ibv_share_recv(context, sock);
	struct result result;
	unsigned char *mem;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned int i;
	char go;

	if (!ctx)
		die("W: ibv_share_recv");
	qp = ibv_share_get_qp(ctx, NULL);
	mr = ibv_share_get_mr(ctx, NULL);
	if (!qp || !mr)
		die("W: the bundle lacks a QP or a region");
	mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		   ibv_share_mr_fd(mr, NULL), 0);
	if (mem == MAP_FAILED)
		die("W: mmap");

	for (i = 0; i < DEPTH; i++)
		post_recv(qp, mr, i);
	/* "the receives are there": E may connect */
	if (send(sock, "r", 1, 0) != 1 || recv(sock, &go, 1, 0) != 1)
		die("W: socket");

	result = ping_pong(qp, mr, mem);
	/* stay until E has looked at /proc and rdma resource */
	if (send(sock, &result, sizeof(result), 0) < 0 ||
	    recv(sock, &go, 1, 0) != 1)
		die("W: socket");
	return ibv_share_close(ctx) || ibv_close_device(context);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: demo_worker DEVICE SOCKET\n");
		return 2;
	}
	return worker(argv[1], (int)strtol(argv[2], NULL, 10));
}
