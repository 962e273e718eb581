/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The object model. Lock order, outermost first:
 *
 *	hw_destroy_rwsem of a uverbs file	(the uverbs core)
 *	share->sem				never two of them
 *	mmap_lock
 *	share->rings.lock			leaf, also taken in a page fault
 *	share->mrs.lock				leaf
 *	slots->lock				leaf, spin lock
 */
#ifndef SHARE_H
#define SHARE_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include <rdma/uverbs_types.h>
#include <rdma/ib_uverbs_share.h>

#include "compat.h"

#define UVERBS_MODULE_NAME uverbs_share
#include <rdma/uverbs_named_ioctl.h>

struct share;
struct share_import;
struct share_mr;
struct share_slots;
struct share_watch;

/**
 * struct share_kind - what is special about sharing one kind of object
 * @kind: its number in the ABI
 * @name: for people
 * @rights: the rights that make sense
 * @rings: bit mask of the rings that it may have
 * @check: may this object be exported, 0 or an errno
 * @pin: keep the target from being destroyed; cannot fail, the caller holds
 *	the target's uobject for reading
 * @unpin: let it go; share->sem is held for writing
 * @info: fill in what an importer must know; share->sem is held, share is live
 * @prepare: before an import is made, may fail; no lock held, the share may be
 *	dead
 * @cancel: it was prepared and will not be made
 * @import: more to do for an import, may fail; sem held, live
 * @release: an import goes away; no lock held, the share may be dead
 */
struct share_kind {
	enum ib_uverbs_share_kind kind;
	const char *name;
	u32 rights;
	u32 rings;
	int (*check)(struct ib_uobject *target);
	void (*pin)(struct share *share);
	void (*unpin)(struct share *share);
	void (*info)(struct share *share, struct ib_uverbs_share_info *info);
	int (*prepare)(struct share_import *import, struct share *share);
	void (*cancel)(struct share_import *import);
	int (*import)(struct share_import *import,
		      struct uverbs_attr_bundle *attrs);
	void (*release)(struct share_import *import);
};

/**
 * struct share_memory - a range of a shmem or hugetlbfs file
 * @file: the file; of a grant a window on it, with the access that is granted
 * @offset: where the range starts
 * @length: its length
 * @access: IB_ACCESS_* that a region of it may have
 */
struct share_memory {
	struct file *file;
	u64 offset;
	u64 length;
	u32 access;
};

/**
 * struct share_ring - the pages of a ring, each with a reference
 * @pages: NULL if the ring is not exported
 * @npages: their number
 */
struct share_ring {
	struct page **pages;
	unsigned long npages;
};

/**
 * struct share_rings - the rings that are exported with an object
 * @lock: guards @gone against page faults
 * @gone: the share is dead, no page may be handed out any more
 * @ring: fixed from before the share is visible until it is freed
 */
struct share_rings {
	struct mutex lock; /* guards gone */
	bool gone;
	struct share_ring ring[IB_UVERBS_SHARE_RING_COUNT];
};

/**
 * struct share_mrs - regions of importers on an exported PD
 * @lock: guards the rest
 * @closed: no registration may begin
 * @list: of struct share_mr; the PD is not let go while there is one
 * @running: registrations that run, see registrar.c
 */
struct share_mrs {
	struct mutex lock; /* guards the rest */
	bool closed;
	struct list_head list;
	struct list_head running;
};

/**
 * struct share - an exported object
 * @ref: held by its uobject, by each grant file and each import
 * @kind: constant
 * @sem: held for reading by every operation, for writing by share_kill();
 *	guards the fields down to @memory
 * @dead: set once, then nothing else below may be looked at
 * @ibdev: device of the target; a reference to its struct device, so that its
 *	name can be told also when the share is dead
 * @target: the target's uobject, NULL for a context
 * @object: struct ib_qp and so on, pinned
 * @memory: MR: what is behind it
 * @mrs: PD: regions of importers
 * @slots: CONTEXT: the members; valid until the share is freed
 * @imports: number of imports, for people
 * @wait: poll() on grants
 * @inode: one for all grants, so that all mappings of rings can be found
 * @rings: see there
 */
struct share {
	struct kref ref;
	const struct share_kind *kind;
	struct rw_semaphore sem;
	bool dead;
	struct ib_device *ibdev;
	struct ib_uobject *target;
	void *object;
	struct share_memory memory;
	struct share_mrs mrs;
	struct share_slots *slots;
	atomic_t imports;
	wait_queue_head_t wait;
	struct inode *inode;
	struct share_rings rings;
};

/**
 * struct share_import - IB_UVERBS_OBJECT_IMPORT
 * @uobject: must be the first
 * @share: what is imported
 * @rights: constant
 * @slot: CONTEXT: slot of the importer
 * @generation: CONTEXT: generation of that slot
 * @watch: CONTEXT: on the importer
 * @mr: this is no import of the PD, but a region on it; valid while the share
 *	is live
 */
struct share_import {
	struct ib_uobject uobject;
	struct share *share;
	u32 rights;
	u32 slot;
	u32 generation;
	struct share_watch *watch;
	struct share_mr *mr;
};

/**
 * struct share_grant - private data of a grant file
 * @share: what it grants
 * @rights: constant
 * @exporter: the exporter's uverbs file, kept open
 */
struct share_grant {
	struct share *share;
	u32 rights;
	struct file *exporter;
};

/**
 * share_refuse - refuse a request, and say why to who has switched that on
 * @ibdev: device of the caller, NULL if its file has none yet
 * @error: negative errno
 * @fmt: the reason, as for printf(), in one line without its end
 *
 * The only way in which anything is refused. Nothing is printed unless dynamic
 * debug is on for the line ("module ib_uverbs_share +p").
 *
 * Return: the errno
 */
#define share_refuse(ibdev, error, fmt, ...)                                   \
({                                                                             \
	const struct ib_device *ibdev__ = (ibdev);                             \
	int error__ = (error);                                                 \
									       \
	dev_dbg(ibdev__ ? &ibdev__->dev : NULL, "refused (%d): " fmt "\n",     \
		error__, ##__VA_ARGS__);                                       \
	error__;                                                               \
})

/* exported by ib_core for uverbs, in no public header */
void rdma_restrack_new(struct rdma_restrack_entry *res,
		       enum rdma_restrack_type type);
void rdma_restrack_set_name(struct rdma_restrack_entry *res,
			    const char *caller);
void rdma_restrack_add(struct rdma_restrack_entry *res);

/* attach.c */
int share_attach_init(void);
void share_attach_exit(void);

/* attr.c */
struct ib_device *share_device(struct uverbs_attr_bundle *attrs);
int share_get_fd(int *fd, struct uverbs_attr_bundle *attrs, u16 id);
int share_get_flags(u32 *flags, struct uverbs_attr_bundle *attrs, u16 id,
		    u32 known);
int share_reply(struct uverbs_attr_bundle *attrs, u16 id, const void *from,
		size_t size);

/* share.c */
struct share *share_alloc(const struct share_kind *kind, struct ib_device *ibdev,
			  struct ib_uobject *target);
void share_get(struct share *share);
void share_put(struct share *share);
bool share_trylock_live(struct share *share);
int share_lock_live(struct share *share);
void share_unlock(struct share *share);
bool share_has_rings(struct ib_device *ibdev);
bool share_can_lend_pd(struct ib_device *ibdev);
extern const struct uapi_definition share_uapi_share[];

/* export.c */
extern const struct uapi_definition share_uapi_export[];

/* grant.c */
struct inode *share_inode_new(void);
void share_inode_put(struct inode *inode);
struct file *share_grant_file(struct share *share, struct file *exporter,
			      u32 rights);
bool share_is_grant(struct file *file);
struct file *share_grant_fget(struct ib_device *ibdev, int fd);
extern const struct uapi_definition share_uapi_grant[];

/* ring.c */
int share_rings_get(struct share *share, struct file *cmd_file,
		    const struct ib_uverbs_share_segment *segs, int n);
void share_rings_put(struct share_rings *rings);
void share_rings_revoke(struct share *share);
u64 share_ring_bytes(const struct share *share, u32 ring);
void share_rings_info(struct share *share, u32 rights, u64 *bytes);
int share_ring_mmap(struct file *file, struct vm_area_struct *vma);

/* import.c */
struct share_import *share_import_lock(struct uverbs_attr_bundle *attrs, u16 id,
				       enum ib_uverbs_share_kind kind,
				       u32 rights);
void share_import_unlock(struct share_import *import);
void share_import_drop(struct share_import *import);
extern const struct uapi_definition share_uapi_import[];

/* import_mr.c */
void share_mrs_init(struct share_mrs *mrs);
int share_mrs_dereg(struct share *share);
int share_import_mr_end(struct share_import *import);
extern const struct uapi_definition share_uapi_import_mr[];

/* rights.c */
u32 share_ring_right(u32 ring);
int share_rights_narrow(u32 *rights, struct uverbs_attr_bundle *attrs, u16 id,
			u32 have, int wider);
int share_access_check(struct ib_device *ibdev, u32 access);
int share_access_narrow(struct ib_device *ibdev, u32 granted, u32 wanted);

/* access that a region of shared memory may have */
#define SHARE_MR_ACCESS                                                        \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |                      \
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND | \
	 IB_ACCESS_RELAXED_ORDERING)

/* memory.c */
bool share_is_memory(struct file *file);
int share_memory_check(struct ib_device *ibdev,
		       const struct share_memory *memory, u32 access);
int share_memory_get(struct share *share, struct uverbs_attr_bundle *attrs);
void share_memory_put(struct share_memory *memory);
int share_memory_from_fd(struct share_memory *memory, struct ib_device *ibdev,
			 int fd, u64 offset, u64 length, u32 access);

/* window.c */
struct file *share_window_open(const struct share_memory *memory);

/**
 * struct share_range - memory that is to become a region
 * @memory: the range of a file; only length and access if it is the caller's
 *	own memory
 * @iova: address that stands for its first byte
 * @addr: where it is in the caller's address space
 * @map: mapping of ours, for as long as the registration takes
 * @map_length: of it, or 0
 */
struct share_range {
	struct share_memory memory;
	u64 iova;
	u64 addr;
	unsigned long map;
	unsigned long map_length;
};

/* the attributes of a method that say what to register */
struct share_range_ids {
	u16 fd;
	u16 offset;
	u16 length;
	u16 iova;
	u16 access;
};

/* range.c */
int share_range_get_file(struct share_range *range, struct ib_device *ibdev,
			 const struct share_range_ids *ids,
			 struct uverbs_attr_bundle *attrs);
int share_range_get_addr(struct share_range *range, struct ib_device *ibdev,
			 const struct share_range_ids *ids, u16 id,
			 struct uverbs_attr_bundle *attrs);
int share_range_fault_in(const struct share_range *range);
void share_range_put(struct share_range *range);

/* registrar.c */
struct ib_mr *share_register(struct share *share,
			     const struct share_range *range);
void share_mrs_close(struct share *share);

/* qp_attr.c */
int share_qp_modify(struct ib_qp *qp, struct ib_uverbs_qp_attr *uattr,
		    struct ib_udata *udata);
int share_qp_query(struct ib_qp *qp, struct ib_uverbs_qp_attr *uattr);

/* watch.c */
struct share_watch *share_watch_begin(struct ib_device *ibdev,
				      struct share_slots *slots);
void share_watch_slot(struct share_watch *watch, u32 slot);
struct mm_struct *share_watch_mm(struct share_watch *watch);
void share_watch_end(struct share_watch *watch);

/* context.c, mr.c, pd.c, cq.c, qp.c, srq.c */
void share_mr_init(struct ib_mr *mr, struct ib_pd *pd,
		   struct ib_uobject *uobject, const struct share_range *range);
struct share_slots *share_slots_new(void);
void share_slots_free(struct share_slots *slots);
void share_slots_wake_all(struct share_slots *slots, u32 but);
extern const struct uapi_definition share_uapi_context[];
extern const struct uapi_definition share_uapi_mr[];
extern const struct uapi_definition share_uapi_cq[];
extern const struct uapi_definition share_uapi_qp[];
extern const struct uapi_definition share_uapi_srq[];
extern const struct share_kind share_kind_context;
extern const struct share_kind share_kind_pd;
extern const struct share_kind share_kind_cq;
extern const struct share_kind share_kind_qp;
extern const struct share_kind share_kind_srq;
extern const struct share_kind share_kind_mr;

#endif /* SHARE_H */
