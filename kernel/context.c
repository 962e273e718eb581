// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The shared context: membership of processes, and what this kernel can do.
 */
#include <linux/eventfd.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include "share.h"

/* generations fit into the lock words of user space */
#define SLOT_GENERATION_MASK ((1U << 23) - 1)

/**
 * struct share_slot - a member
 * @mm: its address space, which the import's watch holds, but not the memory.
 *	Empty (mm_users 0) from when the process is dead or has called exec.
 * @pid: its process
 * @event: signaled to wake it, or NULL
 * @generation: how often the slot was given away
 */
struct share_slot {
	struct mm_struct *mm;
	struct pid *pid;
	struct eventfd_ctx *event;
	u32 generation;
};

/**
 * struct share_slots - the members of a shared context
 * @lock: guards all slots
 * @slot: free if it has no mm
 */
struct share_slots {
	spinlock_t lock; /* guards slot */
	struct share_slot slot[IB_UVERBS_SHARE_MAX_SLOTS];
};

struct share_slots *share_slots_new(void)
{
	struct share_slots *slots = kzalloc(sizeof(*slots), GFP_KERNEL_ACCOUNT);

	if (slots)
		spin_lock_init(&slots->lock);
	return slots;
}

void share_slots_free(struct share_slots *slots)
{
	kfree(slots);
}

static void slot_signal(struct share_slot *slot)
{
	if (slot->event)
		share_eventfd_signal(slot->event);
}

/* IB_UVERBS_SHARE_ALL_SLOTS is nobody's slot: wakes all */
void share_slots_wake_all(struct share_slots *slots, u32 but)
{
	u32 i;

	spin_lock(&slots->lock);
	for (i = 0; i < IB_UVERBS_SHARE_MAX_SLOTS; i++)
		if (i != but)
			slot_signal(&slots->slot[i]);
	spin_unlock(&slots->lock);
}

static struct share_slot *slot_find_free(struct share_slots *slots)
{
	u32 i;

	for (i = 0; i < IB_UVERBS_SHARE_MAX_SLOTS; i++)
		if (!slots->slot[i].mm)
			return &slots->slot[i];
	return NULL;
}

/* the caller becomes a member; the slot owns @event from here on */
static int slot_take(struct share_import *import, struct eventfd_ctx *event)
{
	struct share_slots *slots = import->share->slots;
	struct share_slot *slot;

	spin_lock(&slots->lock);
	slot = slot_find_free(slots);
	if (!slot) {
		spin_unlock(&slots->lock);
		return share_refuse(import->share->ibdev, -ENOSPC,
				    "all %d slots are taken",
				    IB_UVERBS_SHARE_MAX_SLOTS);
	}

	slot->mm = share_watch_mm(import->watch);
	slot->pid = get_pid(task_tgid(current));
	slot->event = event;
	slot->generation = (slot->generation + 1) & SLOT_GENERATION_MASK;
	if (!slot->generation)
		slot->generation = 1;
	import->slot = slot - slots->slot;
	import->generation = slot->generation;
	spin_unlock(&slots->lock);
	share_watch_slot(import->watch, import->slot);
	return 0;
}

static struct eventfd_ctx *import_event(struct uverbs_attr_bundle *attrs)
{
	struct eventfd_ctx *event;
	int fd, ret;

	if (!uverbs_attr_is_valid(attrs, IB_UVERBS_ATTR_IMPORT_CREATE_EVENT_FD))
		return NULL;
	ret = share_get_fd(&fd, attrs, IB_UVERBS_ATTR_IMPORT_CREATE_EVENT_FD);
	if (ret)
		return ERR_PTR(ret);

	event = eventfd_ctx_fdget(fd);
	/* an open file that is no eventfd */
	if (event == ERR_PTR(-EINVAL))
		event = ERR_PTR(-EBADFD);
	if (IS_ERR(event))
		share_refuse(share_device(attrs), PTR_ERR(event),
			     "descriptor %d is no eventfd", fd);
	return event;
}

static int context_prepare(struct share_import *import, struct share *share)
{
	struct share_watch *watch = share_watch_begin(share->ibdev, share->slots);

	if (IS_ERR(watch))
		return PTR_ERR(watch);
	import->watch = watch;
	return 0;
}

static void context_cancel(struct share_import *import)
{
	share_watch_end(import->watch);
}

static int context_import(struct share_import *import,
			  struct uverbs_attr_bundle *attrs)
{
	struct eventfd_ctx *event = import_event(attrs);
	int ret;

	if (IS_ERR(event))
		return PTR_ERR(event);
	ret = slot_take(import, event);
	if (ret && event)
		eventfd_ctx_put(event);
	return ret;
}

/* the member is gone: the others may have to finish what it began */
static void context_release(struct share_import *import)
{
	struct share_slots *slots = import->share->slots;
	struct share_slot *slot = &slots->slot[import->slot];
	struct share_slot old;

	spin_lock(&slots->lock);
	old = *slot;
	slot->mm = NULL;
	slot->pid = NULL;
	slot->event = NULL;
	spin_unlock(&slots->lock);

	share_slots_wake_all(slots, import->slot);
	if (old.event)
		eventfd_ctx_put(old.event);
	put_pid(old.pid);
	share_watch_end(import->watch);
}

const struct share_kind share_kind_context = {
	.kind = IB_UVERBS_SHARE_CONTEXT,
	.name = "context",
	.rights = IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_WAKE |
		  IB_UVERBS_SHARE_MANAGE | IB_UVERBS_SHARE_REGRANT,
	.prepare = context_prepare,
	.cancel = context_cancel,
	.import = context_import,
	.release = context_release,
};

static void slot_query(struct share_slot *slot, struct ib_uverbs_share_slot *out)
{
	out->generation = slot->generation;
	if (!slot->mm)
		return;
	out->state = atomic_read(&slot->mm->mm_users) ?
			     IB_UVERBS_SHARE_SLOT_LIVE :
			     IB_UVERBS_SHARE_SLOT_DEAD;
	out->pid = pid_vnr(slot->pid);
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_QUERY_SLOT)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uverbs_share_slot out = {};
	struct share_import *import;
	struct share_slots *slots;
	u32 slot;
	int ret;

	ret = uverbs_copy_from(&slot, attrs,
			       IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_SLOT);
	if (ret)
		return ret;

	import = share_import_lock(attrs,
				   IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_HANDLE,
				   IB_UVERBS_SHARE_CONTEXT,
				   IB_UVERBS_SHARE_READ);
	if (IS_ERR(import))
		return PTR_ERR(import);

	slots = import->share->slots;
	if (slot < IB_UVERBS_SHARE_MAX_SLOTS) {
		spin_lock(&slots->lock);
		slot_query(&slots->slot[slot], &out);
		spin_unlock(&slots->lock);
	} else {
		ret = share_refuse(import->share->ibdev, -EINVAL, "no slot %u",
				   slot);
	}
	share_import_unlock(import);
	if (ret)
		return ret;
	/* not under the lock: a page of the caller may never come */
	return share_reply(attrs, IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_RESP, &out,
			   sizeof(out));
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_IMPORT_WAKE_SLOT)(
	struct uverbs_attr_bundle *attrs)
{
	struct share_import *import;
	struct share_slots *slots;
	u32 slot;
	int ret;

	ret = uverbs_copy_from(&slot, attrs,
			       IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_SLOT);
	if (ret)
		return ret;

	import = share_import_lock(attrs,
				   IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_HANDLE,
				   IB_UVERBS_SHARE_CONTEXT,
				   IB_UVERBS_SHARE_WAKE);
	if (IS_ERR(import))
		return PTR_ERR(import);

	slots = import->share->slots;
	if (slot == IB_UVERBS_SHARE_ALL_SLOTS) {
		share_slots_wake_all(slots, import->slot);
	} else if (slot < IB_UVERBS_SHARE_MAX_SLOTS) {
		spin_lock(&slots->lock);
		slot_signal(&slots->slot[slot]);
		spin_unlock(&slots->lock);
	} else {
		ret = share_refuse(import->share->ibdev, -EINVAL, "no slot %u",
				   slot);
	}
	share_import_unlock(import);
	return ret;
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_SHARE_QUERY)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);
	struct ib_uverbs_share_caps caps = {
		.abi_version = IB_UVERBS_SHARE_ABI_VERSION,
		.rights = IB_UVERBS_SHARE_ALL_RIGHTS,
		.max_slots = IB_UVERBS_SHARE_MAX_SLOTS,
		.max_ring_bytes = IB_UVERBS_SHARE_MAX_RING_BYTES,
	};

	if (IS_ERR(context))
		return share_refuse(NULL, PTR_ERR(context),
				    "the uverbs file has no context");

	caps.driver_id = context->device->ops.driver_id;
	if (context->device->ops.reg_user_mr)
		caps.features |= IB_UVERBS_SHARE_F_REG_MR;
	if (share_has_rings(context->device))
		caps.features |= IB_UVERBS_SHARE_F_RINGS;
	if (SHARE_UMEM_READ_ONLY)
		caps.features |= IB_UVERBS_SHARE_F_READ_ONLY_MR;
	if (share_can_lend_pd(context->device))
		caps.features |= IB_UVERBS_SHARE_F_IMPORT_REG_MR;

	return share_reply(attrs, IB_UVERBS_ATTR_SHARE_QUERY_CAPS, &caps,
			   sizeof(caps));
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_QUERY_SLOT,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_SLOT,
			   UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_RESP,
			    UVERBS_ATTR_STRUCT(struct ib_uverbs_share_slot,
					       reserved),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_IMPORT_WAKE_SLOT,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_HANDLE,
			IB_UVERBS_OBJECT_IMPORT, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_SLOT,
			   UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_SHARE_QUERY,
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_SHARE_QUERY_CAPS,
			    UVERBS_ATTR_STRUCT(struct ib_uverbs_share_caps,
					       max_ring_bytes),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(share_context_methods, IB_UVERBS_OBJECT_IMPORT,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_QUERY_SLOT),
		   &UVERBS_METHOD(IB_UVERBS_METHOD_IMPORT_WAKE_SLOT));

ADD_UVERBS_METHODS(share_query_methods, IB_UVERBS_OBJECT_SHARE,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_SHARE_QUERY));

const struct uapi_definition share_uapi_context[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_IMPORT, &share_context_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_SHARE, &share_query_methods),
	{},
};
