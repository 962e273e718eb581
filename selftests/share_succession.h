/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Processes that take over from each other while a peer, who knows nothing of
 * it, sends and is answered. The first one makes the objects. Each has a
 * successor, which joins while it works, and goes on when it is dead. None
 * answers more than its share of the messages, or there would be nothing left
 * to take over for the last ones. What they have to know of each other's
 * progress is on a board in shared memory:
 *
 *   completions are polled into the board, so one that a dead process had taken
 *   and not looked at is there; it may come again
 *   what has been posted is asked of the library
 *
 * Functions return 1 and say why if something is wrong.
 */
#ifndef SHARE_SUCCESSION_H
#define SHARE_SUCCESSION_H

#include <sys/types.h>
#include "share_library.h"

#define GENERATIONS 12
#define SHARE 70 /* messages that each may answer */
#define MESSAGES (GENERATIONS * SHARE)
#define BUFFERS 8
#define MESSAGE 4096
#define PATIENCE_MS 20000
/* no status of a completion: what ibv_poll_cq() writes last has not been written */
#define NOT_POLLED ((enum ibv_wc_status)0xffff)

/*
 * struct board - in the memory region of all
 * @wc: polled last; its status is NOT_POLLED when it has been dealt with
 * @received, @completed: receives and sends that have completed, in order
 * @repeated: completions that came twice, for a process had died in between
 * @leave: generation that is to exit in good order
 */
struct board {
	struct ibv_wc wc;
	uint32_t received;
	uint32_t completed;
	uint32_t repeated;
	uint32_t leave;
	char in[BUFFERS][MESSAGE];
	char out[BUFFERS][MESSAGE];
	char data[65536];
};

struct player;

/*
 * struct succession
 * @lead: messages that we send without having got one: 0 or 1
 * @sends: requests that one message is answered with
 * @bytes: of a message of the peer
 * @connect: in the first process; the QP has been made
 * @check, @answer: message @n of the peer
 * @listener: of the test, for @connect
 * @keeper: who gets the first bundle beside the first successor; -1: nobody
 * @pids, @ends: processes, and the test's sockets to them
 * @pairs: by which each sends the bundle to the next
 * @amid: processes that have gone before they had all of their share
 */
struct succession {
	uint32_t lead;
	uint32_t sends;
	uint32_t bytes;
	int (*connect)(struct player *p);
	int (*check)(struct player *p, uint32_t n);
	int (*answer)(struct player *p, uint32_t n);
	int listener;
	int keeper;
	struct board *board;
	int memory;
	pid_t pids[GENERATIONS];
	int ends[GENERATIONS];
	int pairs[GENERATIONS][2];
	uint32_t amid;
};

/*
 * struct player - one of the processes
 * @sent, @posted: messages answered, receives posted, by all
 */
struct player {
	struct succession *all;
	uint32_t generation;
	int sock;
	struct ibv_context *context;
	struct ibv_share_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint32_t sent;
	uint32_t posted;
	uint32_t repeated;
};

/* Starts all processes; has to come before the test opens a device. */
int succession_start(struct succession *s);
/* The first begins, from then on one replaces the other. @kill: by SIGKILL */
int succession_begin(struct succession *s);
int succession_replace_all(struct succession *s, int kill);
/* The last one has got all messages. */
int succession_ends_well(struct succession *s);

/* Receives in advance, as many as are to be outstanding. */
int player_post(struct player *p);
/* address of a member of the board, for scatter/gather entries */
uint64_t player_place(const struct player *p, const void *at);
/* wr_id of the signaled request, the last that message @n is answered with */
uint64_t player_send_id(uint32_t n);

int succession_say(int sock);
int succession_hear(int sock);

#endif /* SHARE_SUCCESSION_H */
