// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Tells the members of a shared context that the process of one is dead, also
 * when its uverbs file is not closed, because a child holds it. A member is its
 * address space: what ends with exit and with exec.
 */
#include <linux/mmu_notifier.h>
#include <linux/slab.h>

#include "share.h"

/**
 * struct share_watch - a member that is watched
 * @notifier: holds the mm_struct
 * @slots: of the shared context; the owner of the watch keeps them
 * @slot: of the member; IB_UVERBS_SHARE_ALL_SLOTS before it has one and after
 */
struct share_watch {
	struct mmu_notifier notifier;
	struct share_slots *slots;
	u32 slot;
};

/*
 * The address space is about to be torn down, and mm_users is 0. Called by
 * share_watch_end() as well, when the slot is none any more.
 */
static void watch_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct share_watch *watch =
		container_of(notifier, struct share_watch, notifier);
	u32 slot = READ_ONCE(watch->slot);

	if (slot != IB_UVERBS_SHARE_ALL_SLOTS)
		share_slots_wake_all(watch->slots, slot);
}

static const struct mmu_notifier_ops watch_ops = {
	.release = watch_release,
};

/**
 * share_watch_begin - watch the calling process
 * @ibdev: device of the caller
 * @slots: of the context that it wants to be a member of
 *
 * Waits for the caller's mmap_lock, which a page fault may hold for ever: call
 * it without share->sem.
 *
 * Return: a watch that is silent until share_watch_slot(), or an error. A
 * signal ends the wait for locks, then the call is made again.
 */
struct share_watch *share_watch_begin(struct ib_device *ibdev,
				      struct share_slots *slots)
{
	struct share_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!watch)
		return ERR_PTR(-ENOMEM);
	watch->notifier.ops = &watch_ops;
	watch->slots = slots;
	watch->slot = IB_UVERBS_SHARE_ALL_SLOTS;
	ret = mmu_notifier_register(&watch->notifier, current->mm);
	if (!ret)
		return watch;
	kfree(watch);
	if (ret == -EINTR)
		ret = -ERESTARTNOINTR;
	return ERR_PTR(share_refuse(ibdev, ret, "the process cannot be watched"));
}

/* from now on the end of the process wakes all other slots */
void share_watch_slot(struct share_watch *watch, u32 slot)
{
	WRITE_ONCE(watch->slot, slot);
}

struct mm_struct *share_watch_mm(struct share_watch *watch)
{
	return watch->notifier.mm;
}

/* nobody may look at its mm any more; waits for watch_release() */
void share_watch_end(struct share_watch *watch)
{
	share_watch_slot(watch, IB_UVERBS_SHARE_ALL_SLOTS);
	mmu_notifier_unregister(&watch->notifier, watch->notifier.mm);
	kfree(watch);
}
