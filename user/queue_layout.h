/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The other half of control_layout.h: what QPs and SRQs have in the control
 * segment.
 */
#ifndef SHARE_QUEUE_LAYOUT_H
#define SHARE_QUEUE_LAYOUT_H

#include "control_layout.h"

enum share_shadow_state {
	SHARE_SHADOW_FREE,
	SHARE_SHADOW_POSTED,
	SHARE_SHADOW_DELIVERED,
};

enum share_shadow_flags {
	SHARE_SHADOW_SIGNALED = 1 << 0, /* the application asked for it */
	SHARE_SHADOW_HIDDEN = 1 << 1, /* signaled for our own sake */
};

/*
 * struct share_shadow - who posted a request, and with which wr_id
 * @sequence: number of the request
 * @state: enum share_shadow_state
 * @slot_flags: slot, and enum share_shadow_flags << 8
 * @opcode: enum ibv_wc_opcode of its completion
 */
struct share_shadow {
	uint32_t wr_id_low;
	uint32_t wr_id_high;
	uint32_t sequence;
	uint32_t state;
	uint32_t slot_flags;
	uint32_t slot_generation;
	uint32_t opcode;
	uint32_t bytes;
};

/*
 * struct share_wq - one direction of a QP
 * @lock: who posts
 * @head: sequence number of the next request; its entry in the ring and in the
 *	shadow table is @head modulo the number of entries. Under @lock. Moves
 *	before the producer index of the ring: who finds it ahead puts it back.
 * @unsignaled: requests since the last that was signaled. Under @lock.
 * @tail: oldest request that was not retired. Under the lock of the CQ.
 */
struct share_wq {
	uint32_t lock SHARE_ALIGNED;
	uint32_t head SHARE_ALIGNED;
	uint32_t unsignaled;
	uint32_t tail SHARE_ALIGNED;
};

/* The two low bits of share_gate.state. */
enum share_gate_phase {
	SHARE_GATE_SHUT,
	SHARE_GATE_POST,
	SHARE_GATE_OPEN,
	SHARE_GATE_OVER,
};

#define SHARE_GATE_PHASE_BITS 2

/*
 * struct share_gate - see gate.c
 * @state: round << SHARE_GATE_PHASE_BITS | enum share_gate_phase; a futex of
 *	the workers
 * @server: slot of the process that is to open it
 * @server_generation: of that slot; stored last
 * @changes: count of reports and leavings; a futex of the server
 * @reported: sum of the receives that were reported in this round
 * @replaced: workers that have died after they had reported in this round, and
 *	whose slot another worker has got since
 * @arrived: for each slot the generation of the process that reported in this
 *	round and has not left; 0: none
 */
struct share_gate {
	uint32_t state SHARE_ALIGNED;
	uint32_t server;
	uint32_t server_generation;
	uint32_t changes SHARE_ALIGNED;
	uint32_t reported;
	uint32_t replaced;
	uint32_t arrived[SHARE_MAX_SLOTS] SHARE_ALIGNED;
};

/*
 * struct share_qp_body
 * @state: enum ibv_qp_state
 * @epoch: 20 bits, in every cookie; new after RESET and for each new QP
 * @resetting: a RESET has begun and is not complete
 * @doorbell: see doorbell.c
 * @failed_kicks: count
 * @gate: who has posted before the connection is there
 * @events: of each slot: asynchronous events that its process has not taken, a
 *	bit for each enum ibv_event_type
 *
 * The shadow tables follow, that of the send queue first.
 */
struct share_qp_body {
	uint32_t state SHARE_ALIGNED;
	uint32_t epoch;
	uint32_t resetting;
	struct share_wq send;
	struct share_wq recv;
	uint32_t doorbell SHARE_ALIGNED;
	uint32_t failed_kicks SHARE_ALIGNED;
	uint32_t takeovers;
	struct share_gate gate;
	uint32_t events[SHARE_MAX_SLOTS] SHARE_ALIGNED;
	uint32_t reserved[16] SHARE_ALIGNED;
};

#define SHARE_EVENT_PORT_SHIFT 20

/*
 * struct share_srq_body
 * @post: as of a QP, but that @tail and @unsignaled are not used: completions
 *	come in any order. @head goes on when the entry is used again.
 * @takeovers: the lock was taken from a dead holder
 * @events: as in share_qp_body
 *
 * The shadow table follows. Any entry that is not POSTED may be taken, under
 * the lock; the number of the request tells its place in the ring only.
 */
struct share_srq_body {
	struct share_wq post;
	uint32_t takeovers SHARE_ALIGNED;
	uint32_t events[SHARE_MAX_SLOTS] SHARE_ALIGNED;
};

/* Cookie: the wr_id of a request in a ring. */
#define SHARE_COOKIE_SEND 1u
#define SHARE_COOKIE_RECV 2u
#define SHARE_COOKIE_SRQ 3u
#define SHARE_EPOCH_MASK 0xfffffu

static inline uint64_t share_cookie(uint32_t direction, uint32_t qp_index,
				    uint32_t epoch, uint32_t sequence)
{
	return (uint64_t)direction << 62 | (uint64_t)qp_index << 52 |
	       (uint64_t)(epoch & SHARE_EPOCH_MASK) << 32 | sequence;
}

/* In place of the epoch: which entry of the shadow table. */
static inline uint64_t share_srq_cookie(uint32_t srq_index, uint32_t entry,
					uint32_t sequence)
{
	return share_cookie(SHARE_COOKIE_SRQ, srq_index, entry, sequence);
}

static_assert(SHARE_MAX_SRQS <= SHARE_MAX_QPS, "the same bits are for both");
static_assert(SHARE_MAX_ENTRIES == SHARE_EPOCH_MASK + 1, "an entry fits");
static_assert(sizeof(struct share_srq_body) == 512, "ABI");
static_assert(SHARE_MAX_QPS == 1u << 10, "cookie has 10 bits for it");
static_assert(sizeof(struct share_shadow) == 32, "ABI");
static_assert(sizeof(struct share_wq) == 192, "ABI");
static_assert(sizeof(struct share_qp_body) == 1280, "ABI");
static_assert(offsetof(struct share_qp_body, doorbell) == 448, "ABI");
static_assert(offsetof(struct share_qp_body, gate) == 576, "ABI");
static_assert(sizeof(struct share_gate) == 384, "ABI");
static_assert(offsetof(struct share_gate, arrived) == 128, "ABI");

#endif /* SHARE_QUEUE_LAYOUT_H */
