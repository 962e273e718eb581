// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The file that an MR grant holds. Who registers a range of the grant has it
 * mapped for that moment, and another thread that finds the mapping could make
 * more of it: mremap() lets it grow, remap_file_pages() turns it to any part
 * of the file. So the grant does not hold the exporter's file, but another
 * opening of the same inode: the same pages, and so the same truncation and
 * seals, with no more access than granted and a mmap() that gives out the
 * granted range, in whole pages, and nothing else.
 */
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "share.h"

/**
 * struct share_window - private data of such a file
 * @file: the exporter's
 * @start: first page that may be mapped
 * @end: the page after the last one
 */
struct share_window {
	struct file *file;
	unsigned long start;
	unsigned long end;
};

static int window_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct share_window *window = file->private_data;
	unsigned long start = vma->vm_pgoff;

	if (start < window->start || start > window->end ||
	    vma_pages(vma) > window->end - start)
		return share_refuse(NULL, -EACCES,
				    "a mapping beyond what is granted");

	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTCOPY, 0);
	return window->file->f_op->mmap(file, vma);
}

/* shmem wants to see a file with its own operations */
static unsigned long window_unmapped_area(struct file *file, unsigned long addr,
					  unsigned long len,
					  unsigned long pgoff,
					  unsigned long flags)
{
	const struct share_window *window = file->private_data;
	struct file *real = window->file;

	return real->f_op->get_unmapped_area(real, addr, len, pgoff, flags);
}

static int window_release(struct inode *inode, struct file *file)
{
	struct share_window *window = file->private_data;

	fput(window->file);
	kfree(window);
	return 0;
}

static const struct file_operations window_fops = {
	.owner = THIS_MODULE,
	.mmap = window_mmap,
	.get_unmapped_area = window_unmapped_area,
	.release = window_release,
};

static const struct file_operations window_huge_fops = {
	.owner = THIS_MODULE,
	.mmap = window_mmap,
	.get_unmapped_area = window_unmapped_area,
	.release = window_release,
	SHARE_FOPS_HUGE_PAGES
};

static struct share_window *window_new(const struct share_memory *memory)
{
	u64 align = file_inode(memory->file)->i_sb->s_blocksize;
	struct share_window *window = kzalloc(sizeof(*window), GFP_KERNEL);

	if (!window)
		return NULL;
	window->file = get_file(memory->file);
	window->start = round_down(memory->offset, align) >> PAGE_SHIFT;
	window->end = round_up(memory->offset + memory->length, align) >>
		      PAGE_SHIFT;
	return window;
}

/**
 * share_window_open - what a grant of a range holds
 * @memory: checked: a range of a file of the exporter, and the access to it
 *
 * Return: a file, opened for writing only if the access writes
 */
struct file *share_window_open(const struct share_memory *memory)
{
	bool writable = ib_access_writable(memory->access);
	const struct file_operations *fops = &window_fops;
	struct file *real = memory->file, *file;
	struct share_window *window;

	if (!real->f_op->mmap || !real->f_op->get_unmapped_area)
		return ERR_PTR(share_refuse(NULL, -ENODEV,
					    "a file that cannot be mapped"));
	if (file_inode(real)->i_sb->s_magic == HUGETLBFS_MAGIC)
		fops = &window_huge_fops;
	if (!fops_get(fops))
		return ERR_PTR(share_refuse(NULL, -ENODEV,
					    "the module is being removed"));
	window = window_new(memory);
	if (!window) {
		file = ERR_PTR(-ENOMEM);
		goto err_fops;
	}

	file = dentry_open(&real->f_path,
			   (writable ? O_RDWR : O_RDONLY) | O_LARGEFILE,
			   current_cred());
	if (IS_ERR(file))
		goto err_window;
	file->private_data = window;
	replace_fops(file, fops);
	return file;

err_window:
	fput(window->file);
	kfree(window);
err_fops:
	fops_put(fops);
	return file;
}
