// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Life cycle of a share: EXPORT makes it, REVOKE or the end of the exporter's
 * file kills it, the last reference frees it. Between kill and free it is an
 * empty shell that answers ENOLINK.
 */
#include <linux/poll.h>
#include <linux/slab.h>

#include "trace.h"

/* software providers whose rings are uAPI and that can be told of new work */
bool share_has_rings(struct ib_device *ibdev)
{
	return ibdev->ops.driver_id == RDMA_DRIVER_RXE;
}

/* reg_user_mr() has no use for udata, and may run in another process's file */
bool share_can_lend_pd(struct ib_device *ibdev)
{
	return ibdev->ops.driver_id == RDMA_DRIVER_RXE &&
	       ibdev->ops.reg_user_mr && ibdev->ops.dereg_mr;
}

struct share *share_alloc(const struct share_kind *kind, struct ib_device *ibdev,
			  struct ib_uobject *target)
{
	struct share *share = kzalloc(sizeof(*share), GFP_KERNEL);
	struct inode *inode;

	if (!share)
		return ERR_PTR(-ENOMEM);

	inode = share_inode_new();
	if (IS_ERR(inode)) {
		kfree(share);
		return ERR_CAST(inode);
	}

	kref_init(&share->ref);
	init_rwsem(&share->sem);
	init_waitqueue_head(&share->wait);
	mutex_init(&share->rings.lock);
	share_mrs_init(&share->mrs);
	share->inode = inode;
	share->kind = kind;
	share->ibdev = ibdev;
	get_device(&ibdev->dev);
	share->target = target;
	if (target) {
		share->object = target->object;
		uverbs_uobject_get(target);
	}
	return share;
}

static void share_free(struct kref *ref)
{
	struct share *share = container_of(ref, struct share, ref);

	share_memory_put(&share->memory);
	share_rings_put(&share->rings);
	share_slots_free(share->slots);
	if (share->target)
		uverbs_uobject_put(share->target);
	share_inode_put(share->inode);
	put_device(&share->ibdev->dev);
	kfree(share);
}

void share_get(struct share *share)
{
	kref_get(&share->ref);
}

void share_put(struct share *share)
{
	kref_put(&share->ref, share_free);
}

/* Return: true with share->sem held for reading, false if the share is dead */
bool share_trylock_live(struct share *share)
{
	down_read(&share->sem);
	if (!share->dead)
		return true;
	up_read(&share->sem);
	return false;
}

/**
 * share_lock_live - begin an operation that somebody has asked for
 * @share: the share
 *
 * Return: 0 with share->sem held for reading, or -ENOLINK
 */
int share_lock_live(struct share *share)
{
	if (share_trylock_live(share))
		return 0;
	return share_refuse(share->ibdev, -ENOLINK, "the %s is not shared any more",
			    share->kind->name);
}

void share_unlock(struct share *share)
{
	up_read(&share->sem);
}

/*
 * From here on every operation answers ENOLINK and the target may be
 * destroyed. Waits for the operations that run. May be called again.
 *
 * Return: 0, or -EBUSY if a region of an importer is left on the PD; the share
 * is dead all the same
 */
static int share_kill(struct share *share)
{
	struct share_memory memory;
	int ret;

	share_mrs_close(share);
	down_write(&share->sem);
	if (!share->dead && share->kind->unpin)
		share->kind->unpin(share);
	share->dead = true;
	share->object = NULL;
	memory = share->memory;
	share->memory.file = NULL;
	ret = share_mrs_dereg(share);
	up_write(&share->sem);

	share_memory_put(&memory);
	share_rings_revoke(share);
	if (share->slots)
		share_slots_wake_all(share->slots, IB_UVERBS_SHARE_ALL_SLOTS);
	wake_up_interruptible_poll(&share->wait, EPOLLHUP);
	return ret;
}

/*
 * Any reason: REVOKE, close of the file, removal of the device. What a provider
 * refuses because of an object of the same file (a bound memory window) uverbs
 * tries again when that one is gone.
 */
static int share_destroy(struct ib_uobject *uobject,
			 enum rdma_remove_reason why,
			 struct uverbs_attr_bundle *attrs)
{
	struct share *share = uobject->object;
	int ret;

	ret = share_kill(share);
	if (ret)
		return share_refuse(share->ibdev, ret,
				    "a memory window is bound to a region on the PD");
	trace_share_revoke(share, why == RDMA_REMOVE_DESTROY);
	share_put(share);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD_DESTROY(
	IB_UVERBS_METHOD_SHARE_REVOKE,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_SHARE_REVOKE_HANDLE,
			IB_UVERBS_OBJECT_SHARE, UVERBS_ACCESS_DESTROY,
			UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(IB_UVERBS_OBJECT_SHARE,
			    UVERBS_TYPE_ALLOC_IDR(share_destroy),
			    &UVERBS_METHOD(IB_UVERBS_METHOD_SHARE_REVOKE));

const struct uapi_definition share_uapi_share[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(IB_UVERBS_OBJECT_SHARE),
	{},
};
