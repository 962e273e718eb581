/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The only file with version tests. The rest is written for the newest
 * supported kernel (6.12); what an older one lacks is made up for here.
 */
#ifndef SHARE_COMPAT_H
#define SHARE_COMPAT_H

#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/version.h>

struct rdma_restrack_entry;

/* 6.2: ib_umem_get() stopped to ask for write access to memory that is read */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define SHARE_UMEM_READ_ONLY false
#else
#define SHARE_UMEM_READ_ONLY true
#endif

/* 6.3: vm_flags may only be changed through a function */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
				vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* 6.4: the callbacks of struct class_interface lost their second argument */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define DEFINE_SHARE_CLASS_INTERFACE(name, add, remove)                        \
	static int name##_add(struct device *dev, struct class_interface *i)   \
	{                                                                      \
		return add(dev);                                               \
	}                                                                      \
	static void name##_remove(struct device *dev,                          \
				  struct class_interface *i)                   \
	{                                                                      \
		remove(dev);                                                   \
	}                                                                      \
	static struct class_interface name = {                                 \
		.add_dev = name##_add,                                         \
		.remove_dev = name##_remove,                                   \
	}
#define share_class_cast(cls) ((struct class *)(cls))
#else
#define DEFINE_SHARE_CLASS_INTERFACE(name, add, remove)                        \
	static struct class_interface name = {                                 \
		.add_dev = add,                                                \
		.remove_dev = remove,                                          \
	}
#define share_class_cast(cls) (cls)
#endif

/* 6.5: get_user_pages() lost its last argument */
static inline long share_get_user_pages(unsigned long start, unsigned long n,
					unsigned int flags, struct page **pages)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return get_user_pages(start, n, flags, pages, NULL);
#else
	return get_user_pages(start, n, flags, pages);
#endif
}

/* 6.8: eventfd_signal() lost its second argument */
static inline void share_eventfd_signal(struct eventfd_ctx *ctx)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	eventfd_signal(ctx, 1);
#else
	eventfd_signal(ctx);
#endif
}

/* 6.10: a flag tells that a file has huge pages, and not its operations */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define SHARE_FOPS_HUGE_PAGES
#else
#define SHARE_FOPS_HUGE_PAGES .fop_flags = FOP_HUGE_PAGES,
#endif

#endif /* SHARE_COMPAT_H */
