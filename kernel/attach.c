// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The door: how our methods get into the ioctl interface of a uverbs device.
 *
 * ib_uverbs builds the method tree of a device once, from its own definitions
 * and from ib_device->driver_def, when its client adds the device. A
 * class_interface of the infiniband class is called before that, inside
 * device_add(). There our definitions are chained behind the provider's. As
 * driver methods they are covered by the disassociation of uverbs: it clears
 * the handlers and waits for those that run before it destroys any object.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "share.h"

/**
 * struct attached - a device that has our methods
 * @list: in attached_list
 * @ibdev: the device
 * @driver_def: the provider's own definitions
 * @chain: what replaces them: the provider's if any, ours, end
 */
struct attached {
	struct list_head list;
	struct ib_device *ibdev;
	const struct uapi_definition *driver_def;
	struct uapi_definition chain[3];
};

static LIST_HEAD(attached_list);
/* guards attached_list */
static DEFINE_MUTEX(attached_lock);

/* the task inside class_interface_register(), NULL afterwards */
static struct task_struct *registering;

static const struct uapi_definition share_uapi[] = {
	UAPI_DEF_CHAIN(share_uapi_share),
	UAPI_DEF_CHAIN(share_uapi_export),
	UAPI_DEF_CHAIN(share_uapi_grant),
	UAPI_DEF_CHAIN(share_uapi_import),
	UAPI_DEF_CHAIN(share_uapi_import_mr),
	UAPI_DEF_CHAIN(share_uapi_context),
	UAPI_DEF_CHAIN(share_uapi_mr),
	UAPI_DEF_CHAIN(share_uapi_cq),
	UAPI_DEF_CHAIN(share_uapi_qp),
	UAPI_DEF_CHAIN(share_uapi_srq),
	{},
};

static bool is_our_id(u16 id)
{
	return id == IB_UVERBS_OBJECT_SHARE || id == IB_UVERBS_OBJECT_IMPORT;
}

/* uverbs refuses a device whose definitions collide, so look first */
static bool ids_taken(const struct uapi_definition *def)
{
	if (!def)
		return false;
	for (; def->kind != UAPI_DEF_END; def++) {
		switch (def->kind) {
		case UAPI_DEF_CHAIN:
			if (ids_taken(def->chain))
				return true;
			break;
		case UAPI_DEF_CHAIN_OBJ_TREE:
			if (def->chain_obj_tree &&
			    is_our_id(def->chain_obj_tree->id))
				return true;
			break;
		case UAPI_DEF_OBJECT_START:
			if (is_our_id(def->object_start.object_id))
				return true;
			break;
		default:
			break;
		}
	}
	return false;
}

static void attached_chain(struct attached *att)
{
	struct uapi_definition *def = att->chain;

	if (att->driver_def)
		*def++ = (struct uapi_definition)UAPI_DEF_CHAIN(att->driver_def);
	*def = (struct uapi_definition)UAPI_DEF_CHAIN(share_uapi);
}

static int attach(struct ib_device *ibdev)
{
	struct attached *att;

	att = kzalloc(sizeof(*att), GFP_KERNEL);
	if (!att)
		return -ENOMEM;

	/* given back by detach(): no unloading while a device has our methods */
	if (!try_module_get(THIS_MODULE)) {
		kfree(att);
		return -ENODEV;
	}

	att->ibdev = ibdev;
	att->driver_def = ibdev->driver_def;
	attached_chain(att);
	ibdev->driver_def = att->chain;

	mutex_lock(&attached_lock);
	list_add(&att->list, &attached_list);
	mutex_unlock(&attached_lock);
	return 0;
}

static struct attached *attached_remove(struct ib_device *ibdev)
{
	struct attached *att;

	mutex_lock(&attached_lock);
	list_for_each_entry(att, &attached_list, list) {
		if (att->ibdev == ibdev) {
			list_del(&att->list);
			mutex_unlock(&attached_lock);
			return att;
		}
	}
	mutex_unlock(&attached_lock);
	return NULL;
}

/*
 * Called inside device_add(), for compat devices of other net namespaces under
 * the locks of ib_core: takes none of them.
 */
static int share_add_dev(struct device *dev)
{
	struct ib_device *ibdev = rdma_device_to_ibdev(dev);

	if (&ibdev->coredev.dev != dev)
		return 0;

	if (READ_ONCE(registering) == current) {
		pr_notice("%s was registered before this module: make it anew to share it\n",
			  dev_name(dev));
		return 0;
	}
	if (ids_taken(ibdev->driver_def)) {
		pr_notice("%s is not served: its provider uses our object ids\n",
			  dev_name(dev));
		return 0;
	}
	return attach(ibdev);
}

/* runs after uverbs has let go of the device, or never had it */
static void share_remove_dev(struct device *dev)
{
	struct ib_device *ibdev = rdma_device_to_ibdev(dev);
	struct attached *att;

	if (&ibdev->coredev.dev != dev)
		return;

	att = attached_remove(ibdev);
	if (!att)
		return;

	ibdev->driver_def = att->driver_def;
	kfree(att);
	module_put(THIS_MODULE);
}

DEFINE_SHARE_CLASS_INTERFACE(share_interface, share_add_dev, share_remove_dev);

struct share_probe {
	struct ib_device ibdev;
};

/* ib_core does not export its class, but every device points to it */
static int find_class(void)
{
	struct share_probe *probe = ib_alloc_device(share_probe, ibdev);

	if (!probe)
		return -ENOMEM;
	share_interface.class = share_class_cast(probe->ibdev.dev.class);
	ib_dealloc_device(&probe->ibdev);
	return 0;
}

int share_attach_init(void)
{
	int ret;

	ret = find_class();
	if (ret)
		return ret;

	WRITE_ONCE(registering, current);
	ret = class_interface_register(&share_interface);
	WRITE_ONCE(registering, NULL);
	return ret;
}

void share_attach_exit(void)
{
	class_interface_unregister(&share_interface);
}
