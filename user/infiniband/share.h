/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#ifndef INFINIBAND_SHARE_H
#define INFINIBAND_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

/**
 * DOC: libibvshare
 *
 * Verbs objects that several processes use. A *server* opens a shared context
 * beside its ordinary one, makes a PD, CQs, QPs and memory regions on it, and
 * sends all of them over a unix socket in one message. A *client* receives
 * that message in one call and looks the objects up by name. From then on
 * ibv_post_send(), ibv_post_recv(), ibv_poll_cq() and ibv_req_notify_cq() work
 * in every process as always: they work on rings that all of them have mapped,
 * and a process polls the completions of its own requests.
 *
 * Which call for what
 * ~~~~~~~~~~~~~~~~~~~
 *
 * The four calls above and ibv_dereg_mr() on a region that is not exported are
 * those of libibverbs. Everything else on a shared object has its twin here:
 * ibv_share_modify_qp(), ibv_share_destroy_cq() and so on. The twin of
 * libibverbs, used by mistake, answers EBADF (or NULL with that errno) and
 * harms nothing. Do not hand a shared object's ->context to
 * ibv_close_device(), a shared QP to ibv_bind_mw(), and do not call
 * ibv_get_cq_event() on a channel of a shared CQ: ibv_share_get_cq_event().
 *
 * Errors
 * ~~~~~~
 *
 * Functions that return int return 0 or a positive errno value; functions that
 * return a pointer return NULL and set errno. ibv_share_last_error() has a
 * sentence for the failure. Values that several functions share:
 *
 * ============ ============================================================
 * EINVAL       an argument that is never right
 * ENOSYS       module ib_uverbs_share is not loaded
 * EPROTONOSUPPORT  it was loaded after this device had been registered
 * EOPNOTSUPP   the module or this library cannot do that with this device or
 *              kind of object
 * EACCES       the grant does not include the right
 * ENOLINK      the share is dead: its exporter revoked it or is gone
 * EOWNERDEAD   this process was forked off after the shared context was made;
 *              it has to receive a bundle of its own
 * ECONNRESET   the connection that a gate was for is over
 * ESRCH        the process that was to open a gate is dead
 * ETIMEDOUT    not within the time that was given
 * EXDEV        the grant belongs to another device
 * ENOSPC       all slots of the shared context are taken
 * ENOMEM       out of memory, or over RLIMIT_MEMLOCK
 * ============ ============================================================
 *
 * The first packet
 * ~~~~~~~~~~~~~~~~
 *
 * The active side of a connection usually sends first, so receives have to be
 * posted before the passive side accepts, by processes that do not see the
 * connection request. Each shared QP has a *gate* for that. A round of it goes
 * with the states of the QP::
 *
 *   phase   begins with
 *   POST    ibv_share_modify_qp() to INIT: workers may post receives
 *   OPEN    ibv_share_gate_open(): connected
 *   OVER    ibv_share_modify_qp() to ERR: what was posted is being flushed
 *   SHUT    ibv_share_modify_qp() to RESET: nothing to be done
 *
 * Server: INIT, ibv_share_gate_collect(), RTR, RTS, rdma_accept(),
 * ibv_share_gate_open(); after the disconnect ERR, ibv_share_gate_drain(),
 * RESET. Worker: ibv_share_gate_wait() for POST, post,
 * ibv_share_gate_report(), ibv_share_gate_wait() for OPEN; when its requests
 * have been flushed, ibv_share_gate_leave(). A QP whose server calls none of
 * these works as always.
 *
 * With rdma_cm the server has to keep time while it waits for
 * RDMA_CM_EVENT_ESTABLISHED: a client that has gone since its request, or does
 * not fetch its events, is asked again by the CM for a minute or longer, and
 * nothing is reported meanwhile. Give up after some seconds: ERR, drain, RESET,
 * and only then destroy the id.
 *
 * Threads
 * ~~~~~~~
 *
 * All functions may be called from several threads at once, except that an
 * object must not be destroyed or its context closed while another thread uses
 * it.
 */

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** define IBV_SHARE_NAME_MAX - longest name of an object, with its final 0 */
#define IBV_SHARE_NAME_MAX 32

/** define IBV_SHARE_MAX_FDS - file descriptors in a bundle, at most */
#define IBV_SHARE_MAX_FDS 250

/** define IBV_SHARE_MAX_BYTES - bytes of a bundle, at most */
#define IBV_SHARE_MAX_BYTES 65536

/** define IBV_SHARE_MAX_USER_BYTES - data of all user objects together */
#define IBV_SHARE_MAX_USER_BYTES 32768

/** define IBV_SHARE_ALL_SLOTS - for ibv_share_wake(): everybody else */
#define IBV_SHARE_ALL_SLOTS 0xffffffffU

struct ibv_share_context;

/**
 * enum ibv_share_right - what a receiver of a bundle may do
 * @IBV_SHARE_POST_SEND: post to the send queues
 * @IBV_SHARE_POST_RECV: post to the receive queues
 * @IBV_SHARE_POLL: poll the completion queues
 * @IBV_SHARE_ARM: ibv_req_notify_cq()
 * @IBV_SHARE_READ: ibv_share_query_qp(), ibv_share_query_cq(),
 *	ibv_share_query_mr(), ibv_share_query_slot()
 * @IBV_SHARE_MODIFY: move a QP between SQD, RTS and ERR
 * @IBV_SHARE_MANAGE: every ibv_share_modify_qp()
 * @IBV_SHARE_REGISTER: make memory regions of its own from a shared region
 * @IBV_SHARE_WAKE: ibv_share_wake()
 * @IBV_SHARE_REGRANT: send the bundle on
 * @IBV_SHARE_ALL_RIGHTS: all of them
 *
 * The kernel enforces them; a right that a kind of object does not know is
 * ignored for it.
 */
enum ibv_share_right {
	IBV_SHARE_POST_SEND = 1 << 0,
	IBV_SHARE_POST_RECV = 1 << 1,
	IBV_SHARE_POLL = 1 << 2,
	IBV_SHARE_ARM = 1 << 3,
	IBV_SHARE_READ = 1 << 4,
	IBV_SHARE_MODIFY = 1 << 5,
	IBV_SHARE_MANAGE = 1 << 6,
	IBV_SHARE_REGISTER = 1 << 7,
	IBV_SHARE_WAKE = 1 << 8,
	IBV_SHARE_REGRANT = 1 << 9,
	IBV_SHARE_ALL_RIGHTS = (1 << 10) - 1
};

/**
 * enum ibv_share_feature - bits of &ibv_share_device_attr.features
 * @IBV_SHARE_FEATURE_REG_MR: ibv_reg_shared_mr() works on this device
 * @IBV_SHARE_FEATURE_RINGS: queues of this device can be shared
 * @IBV_SHARE_FEATURE_IMPORT_REG_MR: a receiver can register memory on a
 *	received PD
 * @IBV_SHARE_FEATURE_READ_ONLY_MR: memory of which only a read-only file
 *	descriptor is held can be registered
 */
enum ibv_share_feature {
	IBV_SHARE_FEATURE_REG_MR = 1 << 0,
	IBV_SHARE_FEATURE_RINGS = 1 << 1,
	IBV_SHARE_FEATURE_READ_ONLY_MR = 1 << 2,
	IBV_SHARE_FEATURE_IMPORT_REG_MR = 1 << 3
};

/**
 * struct ibv_share_device_attr - answer of ibv_share_query_device()
 * @abi_version: version of the module's interface
 * @driver_id: enum rdma_driver_id of the device
 * @features: enum ibv_share_feature
 * @rights: enum ibv_share_right that the module knows
 * @max_slots: processes per shared context
 * @max_ring_bytes: longest queue ring that can be shared, in bytes
 */
struct ibv_share_device_attr {
	uint32_t abi_version;
	uint32_t driver_id;
	uint64_t features;
	uint32_t rights;
	uint32_t max_slots;
	uint64_t max_ring_bytes;
};

/**
 * struct ibv_share_open_attr - parameters of ibv_share_open()
 * @comp_mask: 0; fields that are added later get a bit each
 * @reserved: 0
 * @control_bytes: size of the memory that all processes have mapped for
 *	mailboxes and the like, 0 for the default of 64 MiB. It is taken from
 *	the system when it is used; a CQ of n completions needs up to 4096 * n
 *	bytes of it, a QP 32 bytes per request.
 */
struct ibv_share_open_attr {
	uint32_t comp_mask;
	uint32_t reserved;
	uint64_t control_bytes;
};

/**
 * enum ibv_share_slot_state - a process of a shared context
 * @IBV_SHARE_SLOT_FREE: there is none in this slot
 * @IBV_SHARE_SLOT_LIVE: it is alive
 * @IBV_SHARE_SLOT_DEAD: it died or called exec, a child keeps its files open
 */
enum ibv_share_slot_state {
	IBV_SHARE_SLOT_FREE,
	IBV_SHARE_SLOT_LIVE,
	IBV_SHARE_SLOT_DEAD
};

/**
 * struct ibv_share_cq_attr - answer of ibv_share_query_cq()
 * @cqe: completions that it holds
 * @ring_bytes: length of its ring in bytes
 */
struct ibv_share_cq_attr {
	uint32_t cqe;
	uint64_t ring_bytes;
};

/**
 * struct ibv_share_mr_attr - answer of ibv_share_query_mr()
 * @lkey: local key
 * @rkey: remote key
 * @iova: address that stands for its first byte
 * @length: bytes
 * @access: enum ibv_access_flags that a region made from its grant may have; 0
 *	if none can be made
 */
struct ibv_share_mr_attr {
	uint32_t lkey;
	uint32_t rkey;
	uint64_t iova;
	uint64_t length;
	uint32_t access;
};

/**
 * struct ibv_share_posted_attr - answer of ibv_share_query_posted()
 * @sends: requests that were ever posted to the send queue of this QP, by all
 *	processes; RESET does not clear it; wraps around
 * @receives: the same of the receive queue
 */
struct ibv_share_posted_attr {
	uint32_t sends;
	uint32_t receives;
};

/**
 * struct ibv_share_slot_attr - answer of ibv_share_query_slot()
 * @state: of the process
 * @generation: how often the slot was given away
 * @pid: in the caller's pid name space, 0 if it has none there
 */
struct ibv_share_slot_attr {
	enum ibv_share_slot_state state;
	uint32_t generation;
	uint32_t pid;
};

/**
 * enum ibv_share_gate_phase - how far a connection is, see "The first packet"
 * @IBV_SHARE_GATE_SHUT: not begun, or reset
 * @IBV_SHARE_GATE_POST: receives may be posted, nothing is connected
 * @IBV_SHARE_GATE_OPEN: connected
 * @IBV_SHARE_GATE_OVER: it has ended, or will not come into being
 */
enum ibv_share_gate_phase {
	IBV_SHARE_GATE_SHUT,
	IBV_SHARE_GATE_POST,
	IBV_SHARE_GATE_OPEN,
	IBV_SHARE_GATE_OVER
};

/**
 * struct ibv_share_gate_attr - answer of ibv_share_query_gate()
 * @phase: now
 * @round: how often the gate has begun
 * @workers: processes that have reported in this round and have not left
 * @dead: how many of them have died; what they had posted is there yet, and
 *	completes to the maker of the context
 * @receives: receives in the queue, posted by whomever
 * @reported: sum of what was reported in this round
 */
struct ibv_share_gate_attr {
	enum ibv_share_gate_phase phase;
	uint32_t round;
	uint32_t workers;
	uint32_t dead;
	uint32_t receives;
	uint32_t reported;
};

/**
 * struct ibv_share_peer_attr - answer of ibv_share_query_peer()
 * @pid: in the caller's pid name space, 0 if it has none there
 * @uid: effective user, in the caller's user name space
 * @gid: effective group
 */
struct ibv_share_peer_attr {
	uint32_t pid;
	uint32_t uid;
	uint32_t gid;
};

/**
 * struct ibv_share_event_attr - answer of ibv_share_query_events()
 * @signals: how often others have woken the process of the slot for a
 *	completion event; never more than it has armed CQs
 * @wakeups: how often it was woken, for whatever reason
 * @superfluous: how often ibv_share_get_cq_event() had nothing for it then
 * @reserved: zero
 *
 * The counts go on when the slot gets another process, and wrap around.
 */
struct ibv_share_event_attr {
	uint32_t signals;
	uint32_t wakeups;
	uint32_t superfluous;
	uint32_t reserved;
};

/**
 * ibv_share_last_error - a sentence for the last failure
 *
 * Return: text for the last function of this library that failed in this
 * thread, with what to do about it; an empty string if none did. It stays
 * valid until the next failure in this thread and is not to be freed.
 */
const char *ibv_share_last_error(void);

/**
 * ibv_share_query_device - what module and device can do
 * @context: an open device
 * @attr: filled in
 *
 * Return: 0; ENOSYS if the module is not loaded, EPROTONOSUPPORT if it was
 * loaded too late for this device, or another errno value.
 */
int ibv_share_query_device(struct ibv_context *context,
			   struct ibv_share_device_attr *attr);

/**
 * ibv_share_open - make a shared context
 * @context: an open device; used during the call only
 * @attr: parameters, or NULL for the defaults
 *
 * Opens the device anew, so that what lives on with the shared objects when
 * this process exits is what was meant to be shared and nothing else.
 *
 * Return: the context, to be closed with ibv_share_close(); NULL and errno.
 */
struct ibv_share_context *ibv_share_open(struct ibv_context *context,
					 const struct ibv_share_open_attr *attr);

/**
 * ibv_share_close - leave a shared context
 * @ctx: a context of ibv_share_open() or ibv_share_recv()
 *
 * In a receiver, frees the context and all of its objects; the others go on.
 * In the maker, all objects have to be destroyed before. Regions of
 * ibv_reg_shared_mr() and ibv_share_reg_mr() have to be deregistered, channels
 * of ibv_share_create_comp_channel() destroyed before in either.
 *
 * Return: 0, or EBUSY if there are objects left.
 */
int ibv_share_close(struct ibv_share_context *ctx);

/**
 * ibv_share_get_fd - the file descriptor to sleep on for completion events
 * @ctx: a shared context
 *
 * For epoll(7), poll(2) and select(2): it is readable when
 * ibv_share_get_cq_event() with a timeout of 0 should be called, which may
 * find that there is nothing for this process. ibv_share_wake() and the death
 * of another process make it readable, too. Each process has its own. It
 * belongs to the context: neither read nor close it.
 *
 * Return: the file descriptor.
 */
int ibv_share_get_fd(const struct ibv_share_context *ctx);

/**
 * ibv_share_get_cq_event - get a completion event of this process
 * @ctx: a shared context
 * @cq: filled in with the CQ that has it
 * @cq_context: filled in with ->cq_context of the CQ
 * @timeout_ms: how long to wait at most, in milliseconds; 0: do not wait,
 *	negative: for ever
 *
 * What ibv_get_cq_event() is for an ordinary channel, for all shared CQs that
 * have one. After ibv_req_notify_cq() a process gets one event when one of its
 * own completions comes: poll once more after that call, then wait. As always
 * there may be an event and nothing to poll. The events of all processes come
 * through one channel: an application must not read that itself, and one that
 * sleeps in epoll(7) has to call this function whenever the descriptor of
 * ibv_share_get_fd() is readable, also for the others' sake.
 *
 * Return: 0 and an event, to be acknowledged with ibv_share_ack_cq_events();
 * EAGAIN if there is none and @timeout_ms is 0, ETIMEDOUT, EINTR, or another
 * errno value.
 */
int ibv_share_get_cq_event(struct ibv_share_context *ctx, struct ibv_cq **cq,
			   void **cq_context, int timeout_ms);

/**
 * ibv_share_ack_cq_events - acknowledge completion events
 * @cq: of ibv_share_get_cq_event()
 * @nevents: how many
 *
 * ibv_share_destroy_cq() answers EBUSY before.
 */
void ibv_share_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

/**
 * ibv_share_get_async_fd - the file descriptor to sleep on for asynchronous
 *	events
 * @ctx: a shared context
 *
 * As ibv_share_get_fd(), for ibv_share_get_async_event().
 *
 * Return: the file descriptor.
 */
int ibv_share_get_async_fd(const struct ibv_share_context *ctx);

/**
 * ibv_share_get_async_event - get an asynchronous event
 * @ctx: a shared context
 * @event: filled in; the element is an object of this process, or a port
 * @timeout_ms: as for ibv_share_get_cq_event()
 *
 * What ibv_get_async_event() is for an ordinary context. Every process of a
 * shared context gets the events of all shared objects that it has, and of
 * the device; those since it joined. An event that comes again before it was
 * taken is one event.
 *
 * Return: 0 and an event, to be acknowledged with ibv_share_ack_async_event();
 * EAGAIN if there is none and @timeout_ms is 0, ETIMEDOUT, EINTR, or another
 * errno value.
 */
int ibv_share_get_async_event(struct ibv_share_context *ctx,
			      struct ibv_async_event *event, int timeout_ms);

/**
 * ibv_share_ack_async_event - acknowledge an asynchronous event
 * @event: of ibv_share_get_async_event()
 *
 * ibv_share_destroy_cq() and ibv_share_destroy_qp() answer EBUSY before.
 */
void ibv_share_ack_async_event(struct ibv_async_event *event);

/**
 * ibv_share_query_events - count wake-ups
 * @ctx: a shared context
 * @slot: smaller than max_slots
 * @attr: filled in
 *
 * Return: 0 or an errno value.
 */
int ibv_share_query_events(struct ibv_share_context *ctx, uint32_t slot,
			   struct ibv_share_event_attr *attr);

/**
 * ibv_share_get_slot - the number of this process in the shared context
 * @ctx: a shared context
 *
 * Return: the slot, smaller than max_slots.
 */
uint32_t ibv_share_get_slot(const struct ibv_share_context *ctx);

/**
 * ibv_share_query_slot - is the process of a slot alive
 * @ctx: a shared context
 * @slot: smaller than max_slots
 * @attr: filled in
 *
 * Needs the right READ.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_query_slot(struct ibv_share_context *ctx, uint32_t slot,
			 struct ibv_share_slot_attr *attr);

/**
 * ibv_share_wake - make the file descriptor of another process readable
 * @ctx: a shared context
 * @slot: which, or IBV_SHARE_ALL_SLOTS for all but the caller
 *
 * Needs the right WAKE. A slot without process is no error.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_wake(struct ibv_share_context *ctx, uint32_t slot);

/**
 * ibv_share_set_heirs - name who gets the completions of dead processes
 * @ctx: a shared context
 * @slots: of processes that are alive, the first heir first; copied
 * @num_slots: at most 16; 0: whoever finds a completion keeps it
 *
 * When a process dies, completions that it has not polled, and those of its
 * requests that are still outstanding, go to the first heir that is alive. At
 * first that is the process that made the context. Replaces the list for all
 * processes; what was handed over stays where it is.
 *
 * Return: 0; EINVAL: no such slot, or too many; ESRCH: one of them has no
 * process that is alive, and the list is as before.
 */
int ibv_share_set_heirs(struct ibv_share_context *ctx, const uint32_t *slots,
			int num_slots);

/**
 * ibv_share_alloc_pd - make a shared protection domain
 * @ctx: a context of ibv_share_open()
 *
 * Return: the PD, exported as "pd0", "pd1" and so on, to be destroyed with
 * ibv_share_dealloc_pd(); NULL and errno.
 */
struct ibv_pd *ibv_share_alloc_pd(struct ibv_share_context *ctx);

/**
 * ibv_share_dealloc_pd - destroy a shared protection domain
 * @pd: a shared PD
 *
 * In a receiver: let go of it. In the maker the share is revoked at once, for
 * everybody, even when EBUSY tells that queue pairs or regions use the PD yet.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_dealloc_pd(struct ibv_pd *pd);

/**
 * ibv_share_create_comp_channel - make a completion channel for shared CQs
 * @ctx: a context of ibv_share_open()
 *
 * Return: a channel for ibv_share_create_cq(), to be destroyed with
 * ibv_destroy_comp_channel(); NULL and errno.
 */
struct ibv_comp_channel *
ibv_share_create_comp_channel(struct ibv_share_context *ctx);

/**
 * ibv_share_create_cq - make a shared completion queue
 * @ctx: a context of ibv_share_open()
 * @cqe: least number of completions that it holds
 * @cq_context: for the caller, in ->cq_context
 * @channel: of ibv_share_create_comp_channel(), or NULL
 * @comp_vector: completion vector, smaller than ->num_comp_vectors
 *
 * Requests reserve room in the queue when they are posted, also those that
 * are not signaled: @cqe limits what can be outstanding on the QPs of this CQ.
 * With a channel, every process that has the CQ gets events for its own
 * completions from ibv_share_get_cq_event().
 *
 * Return: the CQ, exported as "cq0", "cq1" and so on, to be destroyed with
 * ibv_share_destroy_cq(); NULL and errno.
 */
struct ibv_cq *ibv_share_create_cq(struct ibv_share_context *ctx, int cqe,
				   void *cq_context,
				   struct ibv_comp_channel *channel,
				   int comp_vector);

/**
 * ibv_share_query_cq - ask the kernel for the properties of a shared CQ
 * @cq: a shared CQ
 * @attr: filled in
 *
 * Needs the right READ.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_query_cq(struct ibv_cq *cq, struct ibv_share_cq_attr *attr);

/**
 * enum ibv_share_cq_flag - bits of &ibv_share_cq_init_attr.flags
 * @IBV_SHARE_CQ_ANY: a completion goes to whoever polls first, instead of who
 *	posted the request: for work queues
 */
enum ibv_share_cq_flag {
	IBV_SHARE_CQ_ANY = 1 << 0
};

/**
 * struct ibv_share_cq_init_attr - parameters of ibv_share_create_cq_ex()
 * @comp_mask: 0; fields that are added later get a bit each
 * @flags: enum ibv_share_cq_flag
 * @cqe: as for ibv_share_create_cq(), like the others
 * @comp_vector: completion vector
 * @cq_context: for the caller
 * @channel: of ibv_share_create_comp_channel(), or NULL
 */
struct ibv_share_cq_init_attr {
	uint32_t comp_mask;
	uint32_t flags;
	int cqe;
	int comp_vector;
	void *cq_context;
	struct ibv_comp_channel *channel;
};

/**
 * ibv_share_create_cq_ex - make a shared completion queue, with flags
 * @ctx: a context of ibv_share_open()
 * @attr: parameters
 *
 * With IBV_SHARE_CQ_ANY each completion goes to one process, the first that
 * polls, with the wr_id that the poster gave: a number that all understand,
 * not an address. So several workers can take messages from the receives that
 * one of them posted. A completion event goes to all processes that are armed;
 * some of them will find that others have been faster. A process that has no
 * right to poll gets no completions. Who resets a QP gets what had completed
 * before.
 *
 * Return: as ibv_share_create_cq().
 */
struct ibv_cq *ibv_share_create_cq_ex(struct ibv_share_context *ctx,
				      const struct ibv_share_cq_init_attr *attr);

/**
 * ibv_share_destroy_cq - destroy a shared completion queue
 * @cq: a shared CQ
 *
 * In a receiver: let go of it, after the QPs that complete to it. In the
 * maker: revoke it for everybody, then destroy it.
 *
 * Return: 0, EBUSY while a QP of this process uses it, or another errno value.
 */
int ibv_share_destroy_cq(struct ibv_cq *cq);

/**
 * ibv_share_create_qp - make a shared queue pair
 * @pd: a PD of ibv_share_alloc_pd()
 * @init_attr: as for ibv_create_qp(): shared CQs, type RC, UC or UD, a shared
 *	SRQ or none; cap is updated
 *
 * With an SRQ recv_cq is the CQ that the SRQ was made with. ibv_post_recv() on
 * such a QP answers EINVAL.
 *
 * Return: the QP, exported as "qp0", "qp1" and so on, to be destroyed with
 * ibv_share_destroy_qp(); NULL and errno.
 */
struct ibv_qp *ibv_share_create_qp(struct ibv_pd *pd,
				   struct ibv_qp_init_attr *init_attr);

/**
 * ibv_share_destroy_qp - destroy a shared queue pair
 * @qp: a shared QP
 *
 * In a receiver: let go of it; what it posted goes on. In the maker: revoke it
 * for everybody, then destroy it.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_destroy_qp(struct ibv_qp *qp);

/**
 * ibv_share_qp_to_qp_ex - post by ibv_wr_start() and the like on a shared QP
 * @qp: a shared QP
 *
 * For ibv_wr_start(), ibv_wr_complete() and ibv_wr_abort() with ibv_wr_send(),
 * ibv_wr_send_imm(), ibv_wr_rdma_write(), ibv_wr_rdma_write_imm(),
 * ibv_wr_rdma_read(), ibv_wr_atomic_cmp_swp(), ibv_wr_atomic_fetch_add(), and
 * what sets address and data. After anything else ibv_wr_complete() answers
 * EOPNOTSUPP. It posts all or nothing; until then other processes see nothing
 * and need not wait. Other threads of this process wait in ibv_wr_start().
 *
 * ibv_qp_to_qp_ex() looks behind struct ibv_qp_ex for a mark whose place is
 * private to libibverbs; for a shared QP it returns NULL.
 *
 * Return: the QP once more, always the same, nothing to free; NULL and errno:
 * EINVAL, ENOMEM.
 */
struct ibv_qp_ex *ibv_share_qp_to_qp_ex(struct ibv_qp *qp);

/**
 * ibv_share_cq_to_cq_ex - poll a shared CQ by ibv_start_poll()
 * @cq: a shared CQ
 *
 * For ibv_start_poll(), ibv_next_poll() and ibv_end_poll(), and ibv_wc_read_*()
 * of all that IBV_WC_STANDARD_FLAGS names; there is nothing else to read.
 * Between the first and the last other threads of this process wait, also in
 * ibv_poll_cq(); other processes do not. A completion that was read is this
 * process's, also if it dies before ibv_end_poll().
 *
 * ibv_create_cq_ex() cannot make a shared CQ; ibv_cq_ex_to_cq() works.
 *
 * Return: the CQ once more, always the same, nothing to free; NULL and errno
 * EINVAL.
 */
struct ibv_cq_ex *ibv_share_cq_to_cq_ex(struct ibv_cq *cq);

/**
 * ibv_share_create_srq - make a shared receive queue for several processes
 * @pd: a PD of ibv_share_alloc_pd()
 * @cq: a shared CQ, to which all of its receives complete
 * @init_attr: as for ibv_create_srq(); attr.max_wr and attr.max_sge are updated
 *
 * Each process posts to it with ibv_post_srq_recv(), and gets the completions
 * of what it has posted, whatever QP has used it, with IBV_SHARE_CQ_ANY whoever
 * polls. Each request takes a place in @cq. What a process that died had posted
 * stays there; its completions go to the heir.
 *
 * A QP that is reset or destroyed, or fails on Linux 6.12, while it receives a
 * message takes that receive with it, without a completion. Its place is free
 * again when all QPs of the SRQ are in RESET or destroyed.
 *
 * Return: the SRQ, exported as "srq0", "srq1" and so on, to be destroyed with
 * ibv_share_destroy_srq(); NULL and errno.
 */
struct ibv_srq *ibv_share_create_srq(struct ibv_pd *pd, struct ibv_cq *cq,
				     struct ibv_srq_init_attr *init_attr);

/**
 * ibv_share_destroy_srq - destroy a shared SRQ
 * @srq: a shared SRQ
 *
 * In a receiver: let go of it. In the maker: revoke it for everybody, then
 * destroy it; what is posted ends without completions.
 *
 * Return: 0, EBUSY while a QP of this process uses it or an event is not
 * acknowledged, or another errno value.
 */
int ibv_share_destroy_srq(struct ibv_srq *srq);

/**
 * ibv_share_modify_srq - arm the limit event of a shared SRQ
 * @srq: a shared SRQ
 * @attr: srq_limit: the event comes when fewer receives than that are left
 * @attr_mask: IBV_SRQ_LIMIT
 *
 * Any process may, with the right MODIFY. IBV_EVENT_SRQ_LIMIT_REACHED comes
 * once and to all processes, by ibv_share_get_async_event().
 *
 * Return: 0, EINVAL if the limit is larger than the SRQ, EOPNOTSUPP for
 * IBV_SRQ_MAX_WR: a shared SRQ cannot be resized; or another errno value.
 */
int ibv_share_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
			 int attr_mask);

/**
 * ibv_share_query_srq - read the attributes of a shared SRQ
 * @srq: a shared SRQ
 * @attr: filled in; srq_limit is 0 when the event has come
 *
 * Needs the right READ.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);

/**
 * ibv_share_create_ah - make an address handle for shared UD queue pairs
 * @pd: a shared PD
 * @attr: as for ibv_create_ah(); is_global has to be set
 *
 * For requests of this process, which carry the address themselves: each
 * process makes its own. A handle of ibv_create_ah() is refused with EINVAL by
 * ibv_post_send(). As ever, rxe drops a datagram that is longer than the MTU.
 *
 * Return: the handle, to be destroyed with ibv_share_destroy_ah() when no
 * request that names it is posted any more; NULL and errno: EINVAL if @attr has
 * no GRH or there is no such port or GID; EHOSTUNREACH if the Ethernet address of
 * the next hop cannot be found out (that may take a second).
 */
struct ibv_ah *ibv_share_create_ah(struct ibv_pd *pd,
				   struct ibv_ah_attr *attr);

/**
 * ibv_share_destroy_ah - free an address handle
 * @ah: of ibv_share_create_ah()
 *
 * What was posted with it goes on.
 *
 * Return: 0, or EINVAL if it is another one's.
 */
int ibv_share_destroy_ah(struct ibv_ah *ah);

/**
 * ibv_share_modify_qp - change state or attributes of a shared queue pair
 * @qp: a shared QP
 * @attr: as for ibv_modify_qp()
 * @attr_mask: enum ibv_qp_attr_mask
 *
 * Needs the right MANAGE, or MODIFY for a change of state to SQD, RTS or ERR.
 * A change to RESET drops what everybody had posted, without completions.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			int attr_mask);

/**
 * ibv_share_query_qp - read state and attributes of a shared queue pair
 * @qp: a shared QP
 * @attr: filled in
 * @attr_mask: enum ibv_qp_attr_mask: what the caller needs, at least
 * @init_attr: filled in
 *
 * Needs the right READ.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
		       int attr_mask, struct ibv_qp_init_attr *init_attr);

/**
 * ibv_share_query_posted - count what was posted to a shared queue pair
 * @qp: a shared QP
 * @attr: filled in
 *
 * For a process that takes over from another one that died in
 * ibv_post_send() or ibv_post_recv(): has that been posted or not? A request
 * counts from when the device can see it, and the requests of one call count
 * together or not at all. So the counts tell what is left to be done to who
 * knows the order of what has to be posted. Nobody else may post meanwhile, of
 * course. Needs the rights POST_SEND and, if it has a receive queue of its own,
 * POST_RECV.
 *
 * Return: 0 or an errno value; ETIMEDOUT: a stopped process is in the middle of
 * a post.
 */
int ibv_share_query_posted(struct ibv_qp *qp, struct ibv_share_posted_attr *attr);

/**
 * ibv_share_fix_cm_attr - correct what rdma_init_qp_attr() returns
 * @attr: of rdma_init_qp_attr()
 * @attr_mask: of rdma_init_qp_attr()
 *
 * Between rdma_init_qp_attr() and ibv_share_modify_qp(), for RTR and RTS. The
 * CM leaves min_rnr_timer 0, which stands for 655 ms, and takes rnr_retry from
 * the peer, who may have asked for none: they become 12 (0.64 ms) and 7 (for
 * ever). A retry_cnt of 0 becomes 7, a timeout of 0 (for ever) 14 (67 ms).
 */
void ibv_share_fix_cm_attr(struct ibv_qp_attr *attr, int attr_mask);

/**
 * ibv_share_query_gate - how far is the gate of a queue pair
 * @qp: a shared QP
 * @attr: filled in
 *
 * Return: 0 or an errno value.
 */
int ibv_share_query_gate(struct ibv_qp *qp, struct ibv_share_gate_attr *attr);

/**
 * ibv_share_gate_collect - wait until receives are posted
 * @qp: a shared QP in INIT
 * @workers: how many processes have to have reported, 0 for any number
 * @receives: how many receives have to be in the queue, at least
 * @timeout_ms: milliseconds, 0 to look only, negative to wait without limit
 *
 * For the server, before it goes to RTR. The caller becomes the process whose
 * death ends the waiting of the workers. What counts is what is in the queue:
 * receives of a worker that has died since count, it does too if it had
 * reported, and so do those of the caller.
 *
 * Return: 0; ETIMEDOUT; ECONNRESET if another thread has given the connection
 * up; EINVAL if the QP is beyond INIT or its queue does not hold as many;
 * ENOLINK; or another errno value.
 */
int ibv_share_gate_collect(struct ibv_qp *qp, unsigned int workers,
			   unsigned int receives, int timeout_ms);

/**
 * ibv_share_gate_open - tell the workers that the connection is there
 * @qp: a shared QP in RTR or RTS
 *
 * For the server, after rdma_accept() or RDMA_CM_EVENT_ESTABLISHED. If there
 * will be no connection, bring the QP to ERR instead.
 *
 * Return: 0; ECONNRESET if the QP has failed meanwhile; EINVAL if it is in
 * another state; or another errno value.
 */
int ibv_share_gate_open(struct ibv_qp *qp);

/**
 * ibv_share_gate_drain - wait until nobody uses the queue pair any more
 * @qp: a shared QP in ERR
 * @timeout_ms: as for ibv_share_gate_collect()
 *
 * For the server, before it brings the QP to RESET, which would drop what is
 * posted without completions: all workers that have reported have left or are
 * dead, and all requests have completed. Completions of dead workers come to
 * the maker of the context: poll them.
 *
 * Return: 0; ETIMEDOUT; EINVAL if the QP is in another state; or another
 * errno value.
 */
int ibv_share_gate_drain(struct ibv_qp *qp, int timeout_ms);

/**
 * ibv_share_gate_wait - wait for a phase of the connection
 * @qp: a shared QP
 * @phase: IBV_SHARE_GATE_POST: for a round in which this process takes no part
 *	yet; it is in one then. That may be OPEN already. IBV_SHARE_GATE_OPEN:
 *	for the connection of the round in which this process takes part, or of
 *	the next if it is in none.
 * @timeout_ms: as for ibv_share_gate_collect()
 *
 * For workers. With ECONNRESET there may be completions all the same: a peer
 * can connect, send and disconnect before anybody looks.
 *
 * Return: 0; ETIMEDOUT; ECONNRESET if that round is over; ESRCH if the server
 * is dead; ENOLINK if the QP was destroyed; or another errno value.
 */
int ibv_share_gate_wait(struct ibv_qp *qp, enum ibv_share_gate_phase phase,
			int timeout_ms);

/**
 * ibv_share_gate_report - tell the server that receives are posted
 * @qp: a shared QP
 * @receives: how many were posted, for ibv_share_query_gate()
 *
 * For workers, also when the connection is there already.
 *
 * Return: 0; ECONNRESET if the round is over; or another errno value.
 */
int ibv_share_gate_report(struct ibv_qp *qp, unsigned int receives);

/**
 * ibv_share_gate_leave - do no more in this round
 * @qp: a shared QP
 *
 * For workers, when the requests of this process have completed: it posts
 * nothing until ibv_share_gate_wait() tells of the next round. A process that
 * closes its context, or dies, has left too.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_gate_leave(struct ibv_qp *qp);

/**
 * ibv_reg_shared_mr - register shared memory
 * @pd: any protection domain: an ordinary one, a shared one, or a received one
 * @offset: first byte in the file, or in what the grant names
 * @length: bytes
 * @iova: address that stands for the first byte; its offset in the page is
 *	that of @offset. If the caller has the range mapped there, that mapping
 *	is used, which is faster.
 * @fd: a memfd, shm or hugetlbfs file, or an MR grant; may be closed afterwards
 * @access: enum ibv_access_flags
 *
 * On an ordinary or a shared PD: a new region with keys of its own, charged as
 * ibv_reg_mr() charges, which depends on no file descriptor and no other
 * region. Deregister it with ibv_dereg_mr().
 *
 * On a received PD (right REGISTER) the same, and the region ends with the
 * share of the PD as well. If @fd is a grant of a region of that PD, and
 * @offset is 0, @length and @iova those of the region, or 0 for "whatever it
 * has", the result is an alias: the keys of the original, without a further
 * pin or table; @access has to be included in that of the grant. Let go of
 * either with ibv_share_dereg_mr(): ibv_dereg_mr() answers EBADF.
 *
 * The pages are pinned. Who shrinks the file afterwards, or punches a hole,
 * takes them out of the file but not out of the region: what is written there
 * is seen by nobody else. A file that shrinks during the call: EFAULT, or a
 * region as if it had shrunk afterwards. F_SEAL_WRITE cannot be set while there
 * is a region that may be written.
 *
 * Return: the region; NULL and errno: ENOMEM if RLIMIT_MEMLOCK is too low,
 * EBADFD if @fd is a file of another kind, EACCES if it was opened or granted
 * with less than @access, ERANGE if the range is not within it, EPERM if a
 * seal forbids it.
 */
struct ibv_mr *ibv_reg_shared_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access);

/**
 * ibv_share_reg_mr - register the caller's memory on a shared PD
 * @pd: a PD of ibv_share_alloc_pd(), or a received one with the right REGISTER
 * @addr: start
 * @length: bytes
 * @access: enum ibv_access_flags
 *
 * What ibv_reg_mr() is for an ordinary PD. On a received PD the region belongs
 * to this process and is charged to it; it ends also when the share of the PD
 * ends, whoever has died.
 *
 * Return: the region, to be deregistered with ibv_share_dereg_mr(); NULL and
 * errno: EFAULT if it is not all mapped (for writing, if @access says so),
 * ENOMEM if RLIMIT_MEMLOCK is too low, EACCES without the right, ENOLINK if
 * the share is dead, EOPNOTSUPP without IBV_SHARE_FEATURE_IMPORT_REG_MR.
 */
struct ibv_mr *ibv_share_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				int access);

/**
 * ibv_share_export_mr - make a region part of the bundle
 * @mr: region on a PD of ibv_share_alloc_pd(), of ibv_reg_shared_mr() or
 *	ibv_share_reg_mr()
 * @fd: the file behind it, which receivers get too; -1: they can use its keys
 *	only, neither map nor register the memory
 * @offset: where the region starts in that file
 * @access: widest access of a region that a receiver makes from it
 *
 * It is called "mr0", "mr1" and so on. From now on ibv_dereg_mr() answers
 * EBUSY: use ibv_share_dereg_mr().
 *
 * Return: 0, EEXIST if it is exported already, or another errno value.
 */
int ibv_share_export_mr(struct ibv_mr *mr, int fd, uint64_t offset,
			int access);

/**
 * ibv_share_dereg_mr - let go of any region on a shared PD
 * @mr: of ibv_share_reg_mr() or ibv_reg_shared_mr(), exported or not, or of
 *	ibv_share_get_mr()
 *
 * An exported region is revoked for everybody, then deregistered. Regions that
 * others made from its memory live on.
 *
 * Return: 0 or an errno value: EBUSY while a memory window is bound to it.
 */
int ibv_share_dereg_mr(struct ibv_mr *mr);

/**
 * ibv_share_query_mr - ask the kernel for the properties of a region
 * @mr: of ibv_share_export_mr(), ibv_share_get_mr() or of ibv_reg_shared_mr()
 *	on a received PD
 * @attr: filled in
 *
 * Needs the right READ.
 *
 * Return: 0 or an errno value.
 */
int ibv_share_query_mr(const struct ibv_mr *mr, struct ibv_share_mr_attr *attr);

/**
 * ibv_share_mr_fd - the file behind an exported or received region
 * @mr: of ibv_share_export_mr() or ibv_share_get_mr()
 * @offset: filled in with where the region starts in the file, unless NULL
 *
 * Return: file descriptor for mmap(), which belongs to the region; -1 and
 * errno ENODATA if there is none.
 */
int ibv_share_mr_fd(const struct ibv_mr *mr, uint64_t *offset);

/**
 * ibv_share_mr_grant - the grant of an exported or received region
 * @mr: of ibv_share_export_mr() or ibv_share_get_mr()
 *
 * For ibv_reg_shared_mr(): on an ordinary PD it makes a region of one's own
 * from the same memory (right REGISTER).
 *
 * Return: file descriptor, which belongs to the region; -1 and errno.
 */
int ibv_share_mr_grant(const struct ibv_mr *mr);

/**
 * ibv_share_name_pd - give a shared PD another name
 * @pd: of ibv_share_alloc_pd()
 * @name: 1 to IBV_SHARE_NAME_MAX - 1 printable ASCII characters, no blanks
 *
 * Bundles that are sent from now on carry the name.
 *
 * Return: 0, EEXIST if another PD of the context has it, or an errno value.
 */
int ibv_share_name_pd(struct ibv_pd *pd, const char *name);

/**
 * ibv_share_name_cq - give a shared CQ another name, see ibv_share_name_pd()
 * @cq: of ibv_share_create_cq()
 * @name: the name
 *
 * Return: 0 or an errno value.
 */
int ibv_share_name_cq(struct ibv_cq *cq, const char *name);

/**
 * ibv_share_name_qp - give a shared QP another name, see ibv_share_name_pd()
 * @qp: of ibv_share_create_qp()
 * @name: the name
 *
 * Return: 0 or an errno value.
 */
int ibv_share_name_qp(struct ibv_qp *qp, const char *name);

/**
 * ibv_share_name_srq - give a shared SRQ another name, see ibv_share_name_pd()
 * @srq: of ibv_share_create_srq()
 * @name: the name
 *
 * Return: 0 or an errno value.
 */
int ibv_share_name_srq(struct ibv_srq *srq, const char *name);

/**
 * ibv_share_name_mr - give a region another name, see ibv_share_name_pd()
 * @mr: of ibv_share_export_mr()
 * @name: the name
 *
 * Return: 0 or an errno value.
 */
int ibv_share_name_mr(struct ibv_mr *mr, const char *name);

/**
 * ibv_share_get_pd - look a shared PD up
 * @ctx: a shared context
 * @name: its name, NULL for the first
 *
 * Return: the PD, which belongs to the context; NULL and errno ENOENT.
 */
struct ibv_pd *ibv_share_get_pd(struct ibv_share_context *ctx,
				const char *name);

/**
 * ibv_share_get_cq - look a shared CQ up
 * @ctx: a shared context
 * @name: its name, NULL for the first
 *
 * Return: the CQ, which belongs to the context; NULL and errno ENOENT.
 */
struct ibv_cq *ibv_share_get_cq(struct ibv_share_context *ctx,
				const char *name);

/**
 * ibv_share_get_qp - look a shared QP up
 * @ctx: a shared context
 * @name: its name, NULL for the first
 *
 * Return: the QP, which belongs to the context; NULL and errno ENOENT.
 */
struct ibv_qp *ibv_share_get_qp(struct ibv_share_context *ctx,
				const char *name);

/**
 * ibv_share_get_srq - look a shared SRQ up
 * @ctx: a shared context
 * @name: its name, NULL for the first
 *
 * Return: the SRQ, which belongs to the context; NULL and errno ENOENT.
 */
struct ibv_srq *ibv_share_get_srq(struct ibv_share_context *ctx,
				  const char *name);

/**
 * ibv_share_get_mr - look an exported region up
 * @ctx: a shared context
 * @name: its name, NULL for the first
 *
 * In a receiver ->addr is the address that stands for its first byte in
 * scatter/gather entries, not one of this process: map the file of
 * ibv_share_mr_fd() to reach the memory.
 *
 * Return: the region, which belongs to the context; NULL and errno ENOENT.
 */
struct ibv_mr *ibv_share_get_mr(struct ibv_share_context *ctx,
				const char *name);

/**
 * ibv_share_put_user - add an object of the application's own to the bundle
 * @ctx: a shared context
 * @name: 1 to 31 printable characters without blanks
 * @data: what it says
 * @length: bytes of @data, 0 to IBV_SHARE_MAX_USER_BYTES
 * @fd: a file descriptor that goes along, which is duplicated, or -1
 *
 * For whatever else a worker has to know: a listening socket, the address of a
 * peer, a configuration. Travels in every bundle that this process sends from
 * now on. One of the same name is replaced; no @data and no @fd: removed.
 *
 * Return: 0, EMSGSIZE if all of them have more than IBV_SHARE_MAX_USER_BYTES,
 * or another errno value.
 */
int ibv_share_put_user(struct ibv_share_context *ctx, const char *name,
		       const void *data, size_t length, int fd);

/**
 * ibv_share_get_user - look an object of the application's own up
 * @ctx: a shared context
 * @name: its name
 * @data: room for what it says, or NULL
 * @length: room in bytes; updated to the bytes that it has
 * @fd: filled in with its file descriptor, or -1; or NULL. It belongs to the
 *	context and stays until ibv_share_put_user() or ibv_share_close().
 *
 * Whoever sent the bundle wrote it: check what it says.
 *
 * Return: 0; ENOENT; ENOBUFS if there is no room for all of @data, of which
 * then nothing is written.
 */
int ibv_share_get_user(struct ibv_share_context *ctx, const char *name,
		       void *data, size_t *length, int *fd);

/**
 * ibv_share_query_peer - who is on the other side of a socket
 * @socket: connected unix socket
 * @attr: filled in
 *
 * The credentials are those of the moment of connect() or socketpair(). Call it
 * before ibv_share_send(), and before trust in what ibv_share_recv() got.
 *
 * Return: 0, ENOTCONN if the socket is not connected, EPROTOTYPE if it is not
 * a unix socket, or another errno value.
 */
int ibv_share_query_peer(int socket, struct ibv_share_peer_attr *attr);

/**
 * ibv_share_send - send everything that is shared to another process
 * @ctx: a shared context; in a receiver with the right REGRANT
 * @socket: connected SOCK_SEQPACKET unix socket
 * @rights: enum ibv_share_right that the peer gets, at most; every member of a
 *	shared context has READ and WAKE on the context itself
 *
 * Whoever gets the message can use the objects: judge the peer with
 * ibv_share_query_peer() before. What is made later needs another message. On a
 * blocking socket it waits for room.
 *
 * Return: 0, EAGAIN if the socket does not block and is full, EPIPE if the
 * peer is gone, EMSGSIZE if there are more than IBV_SHARE_MAX_FDS file
 * descriptors to send, or another errno value.
 */
int ibv_share_send(struct ibv_share_context *ctx, int socket,
		   unsigned int rights);

/**
 * ibv_share_recv - receive and import what ibv_share_send() sent
 * @context: an open device, the same as the sender's; used during the call
 *	only
 * @socket: connected SOCK_SEQPACKET unix socket
 *
 * Return: a shared context, to be closed with ibv_share_close(); NULL and
 * errno: EAGAIN, ECONNRESET if the peer closed the socket, EBADMSG if the
 * message is malformed or incomplete, EXDEV if the device is another one.
 */
struct ibv_share_context *ibv_share_recv(struct ibv_context *context,
					 int socket);

/**
 * ibv_share_pack - the message of ibv_share_send(), for a transport of one's
 *	own
 * @ctx: a shared context
 * @rights: enum ibv_share_right that the receiver gets, at most
 * @buf: room for the message
 * @length: room in bytes, at most IBV_SHARE_MAX_BYTES are needed; updated
 * @fds: room for IBV_SHARE_MAX_FDS file descriptors, which the caller has to
 *	close
 * @num_fds: filled in
 *
 * Return: 0, ENOBUFS with *@length set to what is needed, or an errno value.
 */
int ibv_share_pack(struct ibv_share_context *ctx, unsigned int rights,
		   void *buf, size_t *length, int *fds, unsigned int *num_fds);

/**
 * ibv_share_unpack - import what ibv_share_pack() made
 * @context: an open device, used during the call only
 * @buf: the message
 * @length: its bytes
 * @fds: its file descriptors; the library owns and closes them, also on error
 * @num_fds: how many
 *
 * Return: a shared context; NULL and errno as for ibv_share_recv().
 */
struct ibv_share_context *ibv_share_unpack(struct ibv_context *context,
					   const void *buf, size_t length,
					   const int *fds,
					   unsigned int num_fds);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* INFINIBAND_SHARE_H */
