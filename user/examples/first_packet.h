/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What server and workers of first_packet have in common.
 */
#ifndef FIRST_PACKET_H
#define FIRST_PACKET_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/share.h>

#define MAX_WORKERS 4
#define RECEIVES 4 /* of each worker, or of the server */
#define BUFFERS (MAX_WORKERS * RECEIVES)
#define UCMATOSE_MESSAGES 10
#define UCMATOSE_SIZE 100
#define DATA_SIZE 65536 /* the longest that rping can be asked for */
#define PATIENCE_MS 10000

/* what an rping client sends: where to read from, or to write to */
struct rping_info {
	uint64_t address;
	uint32_t key;
	uint32_t size;
};

/* in a memfd that is a memory region: the same bytes for everybody */
struct board {
	uint32_t messages; /* of this connection, so far */
	char answer[sizeof(struct rping_info)];
	char buffers[BUFFERS][128];
	char data[DATA_SIZE];
};

enum mode {
	GATE, /* workers post before the server accepts */
	SHARED, /* the server posts, a worker comes later */
	RNR, /* nobody posts before the connection is there */
	UCMATOSE /* as GATE, for a client that wants to be sent to first */
};

/* in SHARED mode: a message is there, or has been dealt with */
struct note {
	uint32_t buffer;
	uint32_t length;
};

static inline void die(const char *who, const char *what)
{
	fprintf(stderr, "%s: %s: %s. %s\n", who, what, strerror(errno),
		ibv_share_last_error());
	exit(1);
}

/* address of a member of the board, for scatter/gather entries */
static inline uint64_t place(const struct ibv_mr *mr, size_t offset)
{
	return (uintptr_t)mr->addr + offset;
}

static inline int post_buffer(struct ibv_qp *qp, const struct ibv_mr *mr,
			      uint32_t buffer)
{
	struct ibv_sge sge = {
		place(mr, offsetof(struct board, buffers[0]) + buffer * 128),
		128, mr->lkey
	};
	struct ibv_recv_wr wr = { .wr_id = buffer, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

#endif /* FIRST_PACKET_H */
