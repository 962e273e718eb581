/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What stands behind the handles that applications see.
 */
#ifndef SHARE_PRIV_H
#define SHARE_PRIV_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/share.h>
#include <rdma/ib_uverbs_share.h>
#include "cmd.h"
#include "control.h"
#include "create.h"
#include "grant.h"
#include "post.h"
#include "post_srq.h"
#include "provider.h"
#include "steer.h"
#include "waiting.h"

#define share_container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/*
 * Providers cast what they get to larger structs of their own. Our objects
 * have this many bytes in all, beyond what any provider looks at before its
 * ioctl has failed; see fake.c.
 */
#define SHARE_OBJECT_BYTES 2048

/*
 * struct share_object - head of everything that can be sent
 * @ctx: whose it is
 * @next: in ibv_share_context.objects, oldest first
 * @kind: enum ib_uverbs_share_kind
 * @rights: that this process has
 * @share: SHARE handle in the maker, SHARE_NO_HANDLE in a receiver
 * @import: IMPORT handle: every operation goes through it, in the maker, too
 * @grant: file descriptor; -1 for an alias, which cannot be sent
 * @users: objects of this process that refer to it
 * @position: in the bundle that is being packed
 * @name: empty for an alias
 */
struct share_object {
	struct ibv_share_context *ctx;
	struct share_object *next;
	uint32_t kind;
	uint32_t rights;
	uint32_t share;
	uint32_t import;
	int grant;
	uint32_t users;
	uint32_t position;
	char name[IBV_SHARE_NAME_MAX];
};

/*
 * struct ibv_share_context - one process's part of a shared context
 * @fake: the context that objects point to, see fake.c
 * @file: how ioctls reach @real
 * @real: an uverbs file of our own, never given to anybody
 * @obj: the membership
 * @slot: of this process
 * @generation: of the slot
 * @event_fd: what the kernel signals
 * @events: how this process sleeps, see waiting.h
 * @control_fd: the control segment
 * @control: the same, mapped
 * @provider: who knows the rings; NULL if nobody does
 * @is_maker: of ibv_share_open()
 * @forked: this is a child of the process that has the slot
 * @lock: guards the members that follow
 * @objects: list
 * @channels: of a receiver
 * @users: objects of the application's own, list
 * @counters: for default names, per kind
 * @qp_imports: IMPORT handle of the QP with that index in the control segment;
 *	read without @lock when the data path kicks
 * @cq_imports: the same for CQs, and when it arms
 * @next: in the list of all contexts, for fork
 */
struct ibv_share_context {
	struct ibv_context *fake;
	struct share_file file;
	struct ibv_context *real;
	struct share_object obj;
	uint32_t slot;
	uint32_t generation;
	int event_fd;
	struct share_waiting events;
	int control_fd;
	struct share_control control;
	const struct share_provider *provider;
	int is_maker;
	int forked;
	pthread_mutex_t lock;
	struct share_object *objects;
	struct share_channel *channels;
	struct share_user *users;
	uint32_t counters[IB_UVERBS_SHARE_MR + 1];
	uint32_t qp_imports[SHARE_MAX_QPS];
	uint32_t cq_imports[SHARE_MAX_CQS];
	struct ibv_share_context *next;
};

/* A completion channel that came with a bundle, for one or more CQs. */
struct share_channel {
	struct ibv_comp_channel ibv;
	uint32_t place;
	struct share_channel *next;
};

/*
 * struct share_user - an object of the application's own
 * @next: in ibv_share_context.users
 * @name: of it
 * @fd: that goes along, or -1
 * @length: of @data
 * @data: what it says
 */
struct share_user {
	struct share_user *next;
	char name[IBV_SHARE_NAME_MAX];
	int fd;
	uint32_t length;
	unsigned char data[];
};

struct share_pd {
	union {
		struct ibv_pd ibv;
		char tail[SHARE_OBJECT_BYTES];
	};
	struct share_object obj;
	/* the maker's PD in the real context */
	struct ibv_pd *real;
};

/*
 * struct share_cq - a shared CQ
 * @ibv: what applications see
 * @words: see share_unlock_tail()
 * @obj: head
 * @path: data path
 * @handle: in the real context, in the maker
 * @ring: as mapped here
 * @index: in the control segment
 * @comp_events, @async_events: given to the application; it acknowledges them
 *	in @ibv. Under the mutex of that.
 * @polling: one thread of this process polls
 * @wc: of ibv_start_poll(), under @polling
 */
struct share_cq {
	union {
		struct ibv_cq ibv;
		struct ibv_cq_ex ex;
		int words[SHARE_OBJECT_BYTES / sizeof(int)];
	};
	struct share_object obj;
	struct share_cq_path path;
	uint32_t handle;
	struct share_map ring;
	uint32_t index;
	uint32_t comp_events;
	uint32_t async_events;
	pthread_mutex_t polling;
	struct ibv_wc wc;
};

/*
 * struct share_qp - a shared QP
 * @ibv: what applications see
 * @obj: head
 * @path: data path
 * @handle: in the real context, in the maker; SHARE_NO_HANDLE when destroyed
 * @sq: send ring as mapped here
 * @rq: receive ring as mapped here
 * @index: in the control segment
 * @async_events: as of a CQ
 * @cap: what it has
 * @build: of ibv_wr_start(), or NULL: qp_ex.c
 */
struct share_qp {
	union {
		struct ibv_qp ibv;
		struct ibv_qp_ex ex;
		char tail[SHARE_OBJECT_BYTES];
	};
	struct share_object obj;
	struct share_qp_path path;
	uint32_t handle;
	struct share_map sq;
	struct share_map rq;
	uint32_t index;
	uint32_t async_events;
	struct ibv_qp_cap cap;
	struct share_build *build;
};

/*
 * struct share_srq - a shared SRQ
 * @ibv: what applications see
 * @obj: head
 * @path: data path
 * @handle: in the real context, in the maker
 * @cq: where its receives complete
 * @ring: as mapped here
 * @index: in the control segment
 * @async_events: as of a CQ
 */
struct share_srq {
	union {
		struct ibv_srq ibv;
		int words[SHARE_OBJECT_BYTES / sizeof(int)];
	};
	struct share_object obj;
	struct share_srq_path path;
	uint32_t handle;
	struct share_cq *cq;
	struct share_map ring;
	uint32_t index;
	uint32_t async_events;
};

/*
 * libibverbs's own head of a region, in the memory that the provider frees in
 * ibv_dereg_mr(). The type is one that makes it touch no madvise() state.
 */
#define SHARE_MR_TYPE_DMABUF 3
struct share_verbs_mr {
	struct ibv_mr ibv;
	int type;
	int access;
};

/*
 * struct share_mr - an exported or received region or an alias
 * @obj: head
 * @mr: the region; in the maker in memory of the provider, else @own
 * @own: region of a receiver
 * @pd: its PD
 * @mem_fd: file behind it, or -1
 * @mem_offset: where it starts there
 */
struct share_mr {
	struct share_object obj;
	struct ibv_mr *mr;
	union {
		struct share_verbs_mr own;
		char tail[SHARE_OBJECT_BYTES];
	};
	struct share_pd *pd;
	int mem_fd;
	uint64_t mem_offset;
};

struct ibv_context *share_fake_new(struct ibv_share_context *ctx);
void share_fake_free(struct ibv_context *fake);
/*
 * ibv_resize_cq() and ibv_modify_srq() of a provider take a lock of its own
 * behind the first @head bytes of the object before they fail for want of a
 * file descriptor.
 */
void share_unlock_tail(int *words, size_t head, size_t bytes);

/* Ours, or an ordinary one? NULL in the second case. */
struct ibv_share_context *share_context_of(struct ibv_context *context);

/* 0; or EOWNERDEAD with a message in a forked child */
int share_context_check(const struct ibv_share_context *ctx);
/* the same, and EOPNOTSUPP in a receiver */
int share_maker_check(const struct ibv_share_context *ctx);

/* Takes the file descriptors if it succeeds. */
struct ibv_share_context *share_context_receive(struct ibv_context *context,
						int grant, int control_fd,
						int async_fd);
void share_context_close(struct ibv_share_context *ctx);

/* user.c; takes @fd if it succeeds */
int share_user_add(struct ibv_share_context *ctx, const char *name,
		   const void *data, uint32_t length, int fd);
void share_users_free(struct ibv_share_context *ctx);

/* object.c */
void share_object_init(struct share_object *obj, struct ibv_share_context *ctx,
		       uint32_t kind);
/* Imports obj->grant; @event_fd -1 but for a context. */
int share_object_import(struct share_object *obj, int event_fd,
			struct ib_uverbs_share_info *info);
int share_object_export(struct share_object *obj,
			const struct share_export *what, int event_fd,
			struct ib_uverbs_share_info *info);
/* Revoke and release, unconditionally; may be called again. */
void share_object_drop(struct share_object *obj);
/* Visible for lookups and bundles; with a default name if it has none. */
void share_object_publish(struct share_object *obj);
void share_object_unpublish(struct share_object *obj);
/* 0, or EBUSY with a message while others of this process refer to it */
int share_object_unused(struct share_object *obj);
void share_object_use(struct share_object *obj, int change);
int share_object_rename(struct share_object *obj, const char *name);
struct share_object *share_object_find(struct ibv_share_context *ctx,
				       uint32_t kind, const char *name);
/* Neither an alias nor half destroyed? */
static inline int share_is_packable(const struct share_object *obj)
{
	return obj->grant >= 0 && obj->name[0];
}

/*
 * For each kind: the object behind what applications see, or NULL and a
 * message; what a bundle says about it (the result is a file descriptor that
 * goes along, or -1); an object from a grant, which it takes if it succeeds;
 * and its end in this process only.
 */
struct share_bundle_object;

struct share_pd *share_pd_of(struct ibv_pd *pd);
struct share_object *share_pd_receive(struct ibv_share_context *ctx, int grant);
void share_pd_free(struct share_object *obj);

struct share_cq *share_cq_of(struct ibv_cq *cq);
int share_cq_channel(const struct share_object *obj);
int share_cq_describe(const struct share_object *obj,
		      struct share_bundle_object *o);
struct ibv_comp_channel *share_channel_receive(struct ibv_share_context *ctx,
					       int fd, uint32_t place);
struct share_object *share_cq_receive(struct ibv_share_context *ctx, int grant,
				      const struct share_bundle_object *o,
				      struct ibv_comp_channel *channel);
void share_cq_free(struct share_object *obj);
/* cq_event.c: 0, or EBUSY with a message while the application has events */
int share_cq_acked(struct share_cq *cq);
void share_cq_channel_use(struct share_cq *cq, int change);

struct share_qp *share_qp_of(struct ibv_qp *qp);
void share_qp_describe(const struct share_object *obj,
		       struct share_bundle_object *o);
struct share_object *share_qp_receive(int grant,
				      const struct share_bundle_object *o,
				      struct share_object *pd,
				      struct share_object *send_cq,
				      struct share_object *recv_cq,
				      struct share_object *srq);
void share_qp_free(struct share_object *obj);
/* qp_ex.c: what ibv_share_qp_to_qp_ex() has made */
void share_build_free(struct share_build *build);
/* async_event.c: as share_cq_acked() */
int share_qp_acked(struct share_qp *qp);

struct share_srq *share_srq_of(struct ibv_srq *srq);
void share_srq_describe(const struct share_object *obj,
			struct share_bundle_object *o);
struct share_object *share_srq_receive(int grant,
				       const struct share_bundle_object *o,
				       struct share_object *pd,
				       struct share_object *cq);
void share_srq_free(struct share_object *obj);
int share_srq_acked(struct share_srq *srq);
/* @fd: where the device tells the maker of its events */
int share_async_watch(struct ibv_share_context *ctx, int fd);

struct share_mr *share_mr_new(struct share_pd *pd);
void share_mr_fill_own(struct share_mr *mr,
		       const struct ib_uverbs_share_info *info);
void share_mr_publish(struct share_mr *mr);
/* An alias, or a new region on a received PD. */
struct ibv_mr *share_mr_import(struct share_pd *pd,
			       const struct share_reg_mr *what);
/* Says why; returns @err. */
int share_reg_mr_error(int err, const struct share_reg_mr *what);
int share_mr_describe(const struct share_object *obj,
		      struct share_bundle_object *o);
struct share_object *share_mr_receive(int grant, struct share_object *pd,
				      int mem_fd, uint64_t mem_offset);
void share_mr_free(struct share_object *obj);

/* The calls that applications make on our objects through ->context->ops. */
int share_op_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		       struct ibv_send_wr **bad);
int share_op_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad);
int share_op_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **bad);
int share_op_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int share_op_req_notify_cq(struct ibv_cq *cq, int solicited_only);

#endif /* SHARE_PRIV_H */
