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
#include "grant.h"

#define share_container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/*
 * Providers cast what they get to larger structs of their own. Our objects
 * have this many bytes in all, beyond what any provider looks at before its
 * ioctl has failed; see ibv_context.cmd_fd in context.c.
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
	char name[IBV_SHARE_NAME_MAX];
};

/*
 * struct ibv_share_context - one process's part of a shared context
 * @fake: context of our objects: a copy of @real's with our fast calls, and
 *	without file descriptors. Stands in front because the rest of struct
 *	verbs_context is before it in memory.
 * @file: how ioctls reach @real
 * @real: an uverbs file of our own, never given to anybody
 * @obj: the membership
 * @slot: of this process
 * @generation: of the slot
 * @event_fd: what the kernel signals
 * @control_fd: the control segment
 * @control: the same, mapped
 * @is_maker: of ibv_share_open()
 * @forked: this is a child of the process that has the slot
 * @lock: guards @objects and their names and users
 * @objects: list
 * @counters: for default names, per kind
 * @next: in the list of all contexts, for fork
 */
struct ibv_share_context {
	struct ibv_context fake;
	struct share_file file;
	struct ibv_context *real;
	struct share_object obj;
	uint32_t slot;
	uint32_t generation;
	int event_fd;
	int control_fd;
	struct share_control *control;
	int is_maker;
	int forked;
	pthread_mutex_t lock;
	struct share_object *objects;
	uint32_t counters[IB_UVERBS_SHARE_MR + 1];
	struct ibv_share_context *next;
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
 * @access: what may be made from it
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
	uint32_t access;
};

/* Ours, or an ordinary one? NULL in the second case. */
struct ibv_share_context *share_context_of(struct ibv_context *context);

/* ENOLINK and EOWNERDEAD with a message if @ctx cannot be used any more. */
int share_context_check(const struct ibv_share_context *ctx);

/* object.c */
void share_object_init(struct share_object *obj, struct ibv_share_context *ctx,
		       uint32_t kind);
/* Imports obj->grant; @event_fd -1 but for a context. */
int share_object_import(struct share_object *obj, int event_fd,
			struct ib_uverbs_share_info *info);
int share_object_export(struct share_object *obj,
			const struct share_export *what,
			struct ib_uverbs_share_info *info);
/* Release and revoke, unconditionally. */
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

/* Each object's own file: what a bundle says about it, and back. */
struct share_bundle_object;
struct share_pd *share_pd_of(struct ibv_pd *pd);
void share_mr_free(struct share_mr *mr);

#endif /* SHARE_PRIV_H */
