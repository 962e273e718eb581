/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The control segment of a shared context, as one process has it mapped.
 */
#ifndef SHARE_CONTROL_H
#define SHARE_CONTROL_H

#include <stddef.h>
#include <stdint.h>
#include "queue_layout.h"
#include "lock.h"

/* Sparse: pages come into being when they are used. */
#define SHARE_CONTROL_BYTES (64u << 20)

/*
 * struct share_control - private view; nothing in it is read again from the
 *	segment
 * @base: start of the mapping
 * @bytes: of the segment
 * @me: slot of this process
 * @alive: for each slot the generation that was alive when last looked at
 * @buried: for each slot the generation whose death was dealt with
 * @looked_ms: when that was
 */
struct share_control {
	char *base;
	size_t bytes;
	struct share_member me;
	uint32_t alive[SHARE_MAX_SLOTS];
	uint32_t buried[SHARE_MAX_SLOTS];
	uint32_t looked_ms;
};

/*
 * struct share_cq_attr - parameters of a CQ
 * @capacity: completions that its ring holds (entries of the ring - 1)
 * @cookie: of share_control_new_cookie()
 * @flags: SHARE_CQ_ANY
 */
struct share_cq_attr {
	uint32_t capacity;
	uint32_t cookie;
	uint32_t flags;
};

/*
 * struct share_qp_attr - parameters of a QP
 * @qp_type: enum ibv_qp_type: RC or UC
 * @sq_entries, @rq_entries: share_ring.mask + 1; 0 for @rq_entries if there is
 *	no receive queue
 * @max_inline: what the provider really has room for
 * @send_cq, @recv_cq: index of share_control_add_cq()
 * @cookie: of share_control_new_cookie()
 * @srq: index of share_control_add_srq() + 1; 0: none
 */
struct share_qp_attr {
	uint32_t qp_num;
	uint32_t qp_type;
	uint32_t sq_entries;
	uint32_t rq_entries;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline;
	uint32_t sq_sig_all;
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t cookie;
	uint32_t srq;
};

/*
 * struct share_srq_attr - parameters of an SRQ
 * @entries: share_ring.mask + 1
 * @max_sge: of a request
 * @cq: index of share_control_add_cq(); its QPs have no other for receives
 * @cookie: of share_control_new_cookie()
 */
struct share_srq_attr {
	uint32_t entries;
	uint32_t max_sge;
	uint32_t cq;
	uint32_t cookie;
};

/* Private, checked copies of directory entries. */
struct share_cq_view {
	struct share_cq_body *body;
	struct share_completion *mail;
	uint32_t index;
	uint32_t generation;
	uint32_t capacity;
	uint32_t mailbox_entries;
	uint32_t cookie;
	uint32_t flags;
};

struct share_qp_view {
	struct share_qp_body *body;
	struct share_shadow *send_shadow;
	struct share_shadow *recv_shadow;
	uint32_t index;
	uint32_t generation;
	struct share_qp_attr attr;
};

struct share_srq_view {
	struct share_srq_body *body;
	struct share_shadow *shadow;
	uint32_t index;
	uint32_t generation;
	uint32_t places;
	struct share_srq_attr attr;
};

/*
 * Makes a segment in a memfd (close-on-exec) that can neither grow nor shrink.
 * @bytes: 0 for SHARE_CONTROL_BYTES.
 */
int share_control_create(size_t bytes, int *memfd);

/*
 * Maps and checks it. EBADFD: no sealed memfd; EBADMSG: not a control segment;
 * EPROTONOSUPPORT: of another version. @env is copied.
 */
int share_control_attach(struct share_control *control, int memfd,
			 uint32_t slot, uint32_t generation,
			 const struct share_env *env);
void share_control_detach(struct share_control *control);

/*
 * The process that got a slot calls this once, after share_control_attach()
 * and before anything else. Completions that the former process of the slot
 * left in its mailboxes go to the heir. EBUSY: the heir has no room, it has to
 * poll first; ETIMEDOUT: a process that is stopped holds a lock.
 */
int share_control_slot_reset(struct share_control *control);

/*
 * Who gets the completions of dead processes: the first that is alive. The
 * exporter names itself. @num is at most SHARE_MAX_HEIRS.
 */
void share_control_set_heirs(struct share_control *control,
			     const uint32_t *words, uint32_t num);

/*
 * The exporter only. ENOSPC: directory or heap is full. A QP starts in RESET.
 * share_control_del_cq() answers EBUSY while a QP or SRQ uses it. To delete a
 * QP see share_qp_path_delete() in post.h, an SRQ share_srq_path_delete().
 */
int share_control_add_cq(struct share_control *control,
			 const struct share_cq_attr *attr, uint32_t *index);
int share_control_del_cq(struct share_control *control, uint32_t index);
int share_control_add_qp(struct share_control *control,
			 const struct share_qp_attr *attr, uint32_t *index);
int share_control_del_qp(struct share_control *control, uint32_t index,
			 int reusable);

int share_control_add_srq(struct share_control *control,
			  const struct share_srq_attr *attr, uint32_t *index);
int share_control_del_srq(struct share_control *control, uint32_t index,
			  int reusable);

/* What the kernel is to call an object in its events; before it is made. */
uint32_t share_control_new_cookie(const struct share_control *control);

/* Copy, then check. ENOENT: no such object; EBADMSG: nonsense. */
int share_control_cq(const struct share_control *control, uint32_t index,
		     struct share_cq_view *view);
int share_control_qp(const struct share_control *control, uint32_t index,
		     struct share_qp_view *view);

/* The QP of that number; ENOENT. */
int share_control_find_qp(const struct share_control *control, uint32_t qp_num,
			  struct share_qp_view *view);
int share_control_srq(const struct share_control *control, uint32_t index,
		      struct share_srq_view *view);

/* Is what the view was made from still there? ENOLINK if not. */
int share_control_cq_live(const struct share_control *control,
			  const struct share_cq_view *view);
int share_control_qp_live(const struct share_control *control,
			  const struct share_qp_view *view);
int share_control_srq_live(const struct share_control *control,
			   const struct share_srq_view *view);
/* Is its entry free, or somebody else's by now? */
int share_control_qp_deleted(const struct share_control *control,
			     const struct share_qp_view *view);

struct share_control_header *
share_control_header(const struct share_control *control);
struct share_slot *share_control_slot(const struct share_control *control,
				      uint32_t slot);

/* One direction of a QP. */
struct share_direction {
	struct share_wq *wq;
	struct share_shadow *shadow;
	uint32_t entries;
	uint32_t cq;
};

static inline struct share_direction
share_direction_of(const struct share_qp_view *qp, uint32_t direction)
{
	struct share_direction send = { &qp->body->send, qp->send_shadow,
					qp->attr.sq_entries, qp->attr.send_cq };
	struct share_direction recv = { &qp->body->recv, qp->recv_shadow,
					qp->attr.rq_entries, qp->attr.recv_cq };

	return direction == SHARE_COOKIE_SEND ? send : recv;
}

static inline struct share_shadow *
share_shadow_of(const struct share_direction *dir, uint32_t sequence)
{
	return &dir->shadow[sequence & (dir->entries - 1)];
}

/* Every word of the segment is read and written by these. */
static inline uint32_t share_load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void share_store(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline uint32_t share_load_acquire(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void share_store_release(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void share_count(uint32_t *word)
{
	share_store(word, share_load(word) + 1);
}

/*
 * What is stored before is stored before a death in between: the kernel orders
 * that of a process, this is for the compiler.
 */
static inline void share_store_ordered(uint32_t *word, uint32_t value)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	share_store_release(word, value);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* @bytes: multiple of 4 */
void share_copy_in(void *dst, const void *shared, size_t bytes);
void share_copy_out(void *shared, const void *src, size_t bytes);
void share_clear(void *shared, size_t bytes);

#endif /* SHARE_CONTROL_H */
