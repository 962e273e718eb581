/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The control segment: an ABI between all processes of a shared context.
 *
 *   header | slots[] | directories of CQs[], QPs[], SRQs[] | heap
 *
 * The heap holds a share_cq_body, share_qp_body or share_srq_body for each
 * directory entry that was ever used. Only fixed-width types, the same on 32 and 64 bit. Words
 * with different writers are in different lines of 64 bytes. Words are read
 * and written as atomics of 32 bits; 64 bits are two of them.
 *
 * Whatever is in here can have been written by a hostile process. A reader
 * copies, then checks the copy; it masks every index when it uses it.
 *
 * Where a word is said to be stored first or last, a process may die in
 * between: see recover.c.
 */
#ifndef SHARE_CONTROL_LAYOUT_H
#define SHARE_CONTROL_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/ib_uverbs_share.h>

#define SHARE_CONTROL_MAGIC 0x69627673u /* "ibvs" */
#define SHARE_CONTROL_ABI 1u
#define SHARE_LINE 64u

#define SHARE_MAX_SLOTS IB_UVERBS_SHARE_MAX_SLOTS
#define SHARE_MAX_HEIRS 16u
#define SHARE_MAX_CQS 256u
#define SHARE_MAX_QPS 1024u
#define SHARE_MAX_SRQS 256u
#define SHARE_MAX_ENTRIES (1u << 20) /* of one ring */

#define SHARE_ALIGNED __attribute__((aligned(64)))

/*
 * struct share_control_header
 * @bytes: of the whole segment
 * @qps_offset: the directory of SRQs follows that of QPs
 * @next_cookie: of the next object, see share_entry.cookie
 * @heap_next: offset of the first byte that was never given out; guarded by
 *	@directory_lock
 * @used_cqs, @used_qps, @used_srqs: of the directory, that were ever used
 * @heirs: who gets the completions of dead processes: the first that is alive.
 *	share_owner_word() of each; 0: none
 * @async_lock: who reads asynchronous events of the device
 * @async_count, @async_unknown: events that were read; and whose object is no
 *	more, or of a type that is not known
 * @async_landing: struct ib_uverbs_async_event_desc, where the kernel puts
 *	them: an event is here before its reader can die. Zero: none.
 * @device_events: of each slot: bits as in share_qp_body.events, and a bit for
 *	each port << SHARE_EVENT_PORT_SHIFT
 */
struct share_control_header {
	uint32_t magic;
	uint32_t abi_version;
	uint64_t bytes;
	uint32_t num_slots;
	uint32_t num_cqs;
	uint32_t num_qps;
	uint32_t num_srqs;
	uint64_t slots_offset;
	uint64_t cqs_offset;
	uint64_t qps_offset;
	uint64_t heap_offset;

	uint32_t directory_lock SHARE_ALIGNED;
	uint32_t next_cookie;
	uint64_t heap_next;
	uint32_t used_cqs;
	uint32_t used_qps;
	uint32_t used_srqs;

	uint32_t heirs[SHARE_MAX_HEIRS] SHARE_ALIGNED;

	uint32_t async_lock SHARE_ALIGNED;
	uint32_t async_count;
	uint32_t async_unknown;
	uint32_t reserved1;
	uint64_t async_landing[2];
	uint32_t device_events[SHARE_MAX_SLOTS] SHARE_ALIGNED;

	uint32_t reserved2[8 * 16] SHARE_ALIGNED;
};

/*
 * struct share_slot
 * @generation: of the process that has it now; 0: never used. Set by that
 *	process before it posts anything.
 * @orphaned: newest generation that was found dead: what belongs to it goes to
 *	the heir from now on. Stored first.
 * @recovered: newest generation all of whose mail was handed to the heir.
 *	Stored last.
 * @wakeups: how often it found an event or a wake-up; written by itself
 * @superfluous: how often there was nothing for it then
 * @signals: how often others woke it for a completion
 */
struct share_slot {
	uint32_t generation SHARE_ALIGNED;
	uint32_t orphaned;
	uint32_t recovered;
	uint32_t wakeups SHARE_ALIGNED;
	uint32_t superfluous;
	uint32_t signals;
};

/* States of a directory entry. */
enum share_entry_state {
	SHARE_ENTRY_FREE,
	SHARE_ENTRY_LIVE,
	/* not to be reused: a process that was stopped may yet come back */
	SHARE_ENTRY_LOST,
};

/* Flags of a CQ. */
#define SHARE_CQ_ANY (1u << 0) /* whoever polls gets a completion */

/*
 * struct share_entry - directory entry of an object; written by the exporter
 * @state: enum share_entry_state; stored last, with release, and loaded
 *	first, with acquire
 * @generation: how often it was given away, never 0 when live
 * @offset: of the body; stays when the entry is reused
 * @bytes: of the body
 * @capacity: CQ: completions that the ring holds: its credits
 * @mailbox_entries: CQ: of each mailbox, a power of two above @capacity
 * @sq_entries, @rq_entries: QP: entries of ring and shadow table, powers of
 *	two; a ring holds one less. 0 for @rq_entries: no receive queue. SRQ:
 *	@sq_entries of the shadow table, @rq_entries of the ring
 * @recv_cq: of an SRQ, too: all its QPs have this one
 * @cookie: what events of the device call it; never twice, never 0
 * @flags: CQ: SHARE_CQ_ANY
 * @srq: QP: index of its SRQ + 1; 0: none
 */
struct share_entry {
	uint32_t state SHARE_ALIGNED;
	uint32_t generation;
	uint64_t offset;
	uint64_t bytes;
	uint32_t capacity;
	uint32_t mailbox_entries;
	uint32_t sq_entries;
	uint32_t rq_entries;
	uint32_t qp_num;
	uint32_t qp_type;
	uint32_t send_cq;
	uint32_t recv_cq;

	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline;
	uint32_t sq_sig_all;
	uint32_t cookie;
	uint32_t flags;
	uint32_t srq;
	uint32_t reserved[9];
};

/*
 * struct share_completion - struct ibv_wc at rest, in a mailbox
 * @slot_generation: of the process that it is for
 * @cookie_low, @cookie_high: of the request, for recovery: a steerer that died
 *	after publishing and before marking is recognised by it
 */
struct share_completion {
	uint32_t wr_id_low;
	uint32_t wr_id_high;
	uint32_t status;
	uint32_t opcode;
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t imm_data;
	uint32_t qp_num;
	uint32_t src_qp;
	uint32_t wc_flags;
	uint32_t pkey_slid;
	uint32_t sl_path;
	uint32_t cookie_low;
	uint32_t cookie_high;
	uint32_t slot_generation;
	uint32_t reserved;
};

/*
 * struct share_mailbox - completions of one slot on one CQ
 * @producer: free running; written under the lock of the CQ
 * @lock: serializes the threads of the slot's process
 * @consumer: free running; written under @lock
 * @looking: threads of the slot's process that look at the ring without the
 *	lock of the CQ, see glance.c
 * @quota: requests of the slot that are outstanding or in the mailbox, at most
 *	as many as the CQ has credits, so that the mailbox always has room
 * @armed: enum share_armed
 * @async: as share_qp_body.events, for asynchronous events of the CQ
 */
struct share_mailbox {
	uint32_t producer SHARE_ALIGNED;
	uint32_t lock SHARE_ALIGNED;
	uint32_t consumer;
	uint32_t looking;
	uint32_t quota SHARE_ALIGNED;
	uint32_t armed SHARE_ALIGNED;
	uint32_t async;
};

/*
 * Who arms sets NEXT or SOLICITED. Whoever has something for the slot turns
 * that into PENDING, and then wakes it: once for each time that it arms.
 */
enum share_armed {
	SHARE_ARMED_NEXT = 1 << 0,
	SHARE_ARMED_SOLICITED = 1 << 1,
	SHARE_ARMED_ANY = SHARE_ARMED_NEXT | SHARE_ARMED_SOLICITED,
	SHARE_EVENT_PENDING = 1 << 2,
};

/*
 * struct share_intent - a completion on its way into a mailbox
 * @valid: the rest says something. 1 is stored after the rest, 0 when all of
 *	it is done
 * @slot, @position: the mailbox, and its producer index before. Has it moved,
 *	then the completion is there.
 * @source: 0: the ring, and the request is to be marked next. Else the slot of
 *	a dead process + 1, whose mailbox is to move on to @source_position.
 */
struct share_intent {
	uint32_t valid SHARE_ALIGNED;
	uint32_t cookie_low;
	uint32_t cookie_high;
	uint32_t slot;
	uint32_t position;
	uint32_t source;
	uint32_t source_position;
};

/* Counters of a CQ, written under its lock, for ibv-share and tests. */
struct share_cq_counters {
	uint32_t steered; /* put into somebody's mailbox */
	uint32_t hidden; /* completions that no application asked for */
	uint32_t stale; /* of a QP that was reset or destroyed since */
	uint32_t impossible; /* cookies that nobody can have made */
	uint32_t lost; /* no room in a mailbox: only after tampering */
	uint32_t orphans; /* of a dead process, given to the heir or poller */
	uint32_t takeovers; /* the lock was taken from a dead holder */
	uint32_t reserved[9];
};

/*
 * struct share_cq_body
 * @lock: who polls the ring and steers
 * @credits: requests that may yet produce a completion, or have it in the ring
 * @refused: a process that is armed found completions, but the lock taken: who
 *	unlocks looks whether there are any left
 * @recount: a process died: @credits and quotas may be too high
 * @intent: under @lock
 * @mailboxes: one for each slot; their entries follow the body, all those of
 *	slot 0 first
 */
struct share_cq_body {
	uint32_t lock SHARE_ALIGNED;
	uint32_t credits SHARE_ALIGNED;
	struct share_cq_counters counters SHARE_ALIGNED;
	uint32_t refused SHARE_ALIGNED;
	uint32_t recount;
	struct share_intent intent;
	struct share_mailbox mailboxes[SHARE_MAX_SLOTS];
};

static_assert(SHARE_MAX_SLOTS <= 254, "lock word has 8 bits for it");
static_assert(sizeof(struct share_control_header) == 1024, "ABI");
static_assert(offsetof(struct share_control_header, heap_offset) == 56, "ABI");
static_assert(offsetof(struct share_control_header, heap_next) == 72, "ABI");
static_assert(offsetof(struct share_control_header, heirs) == 128, "ABI");
static_assert(offsetof(struct share_control_header, async_landing) == 208, "ABI");
static_assert(offsetof(struct share_control_header, reserved2) == 512, "ABI");
static_assert(sizeof(struct share_slot) == 128, "ABI");
static_assert(sizeof(struct share_entry) == 128, "ABI");
static_assert(offsetof(struct share_entry, capacity) == 24, "ABI");
static_assert(offsetof(struct share_entry, sq_sig_all) == 68, "ABI");
static_assert(sizeof(struct share_completion) == 64, "ABI");
static_assert(offsetof(struct share_completion, cookie_low) == 48, "ABI");
static_assert(sizeof(struct share_mailbox) == 256, "ABI");
static_assert(sizeof(struct share_cq_body) == 320 + 64 * 256, "ABI");
static_assert(offsetof(struct share_cq_body, intent) == 256, "ABI");

#endif /* SHARE_CONTROL_LAYOUT_H */
