/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * For tests of the first packet: a server that has a QP on rxe0, workers that
 * post receives on it, and an ordinary QP on rxe1 that sends as soon as it can.
 * Functions return 1 and say why if something is wrong.
 */
#ifndef SHARE_GATE_TEST_H
#define SHARE_GATE_TEST_H

#include <sys/types.h>
#include "share_library.h"

#define SIZE 64 /* of a message */
#define BUFFERS 64
#define LONG 20000
#define SHORT 100

/* what a process has */
struct side {
	struct ibv_share_context *ctx;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *mem;
};

struct worker {
	pid_t pid;
	int sock;
};

/* @sent: messages, which are numbered */
struct gate_bed {
	struct ibv_context *context, *peer_context;
	struct ibv_pd *pd, *peer_pd;
	struct side us;
	struct ibv_qp *peer;
	struct ibv_cq *peer_cq;
	struct ibv_mr *peer_mr;
	char *peer_mem;
	uint64_t sent;
	struct worker workers[2];
};

int gate_bed_open(struct gate_bed *bed);
int gate_bed_close(struct gate_bed *bed);

/* @run in a process of its own, with all objects; @i is 0 or 1 */
int gate_start(struct gate_bed *bed, unsigned int i,
	       int (*run)(struct side *side, int sock, unsigned int i));
/* what another process has sent */
int gate_receive(struct side *side, int sock);
int gate_ends_well(struct worker *w);
void gate_kill(struct worker *w);
int gate_say(int sock);
int gate_hear(int sock);

/* receives into the buffers @first, @first + 1 and so on; wr_id is the buffer */
int gate_post(const struct side *side, unsigned int first, unsigned int n);
int gate_next(const struct side *side, struct ibv_wc *wc);
/* the next completion is that of @buffer, with message @number in it */
int gate_got(const struct side *side, unsigned int buffer, uint64_t number);
int gate_flushed(const struct side *side, unsigned int buffer);

int gate_to(struct ibv_qp *qp, enum ibv_qp_state state);
/* both sides to RTS, the shared one, which is in INIT, first */
int gate_connect(struct gate_bed *bed);
int gate_peer_sends(struct gate_bed *bed, unsigned int n);
int gate_peer_completes(struct gate_bed *bed, unsigned int n);

#endif /* SHARE_GATE_TEST_H */
