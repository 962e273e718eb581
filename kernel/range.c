// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What a region is made of, and where the provider finds it: providers take
 * an address of the calling process and nothing else.
 */
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>

#include "share.h"

static bool range_needs_write(const struct share_range *range)
{
	return ib_access_writable(range->memory.access) || !SHARE_UMEM_READ_ONLY;
}

static bool vma_maps(struct vm_area_struct *vma, u64 addr, u64 offset,
		     const struct share_range *range)
{
	u64 pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);
	vm_flags_t need = VM_SHARED | VM_READ;

	if (range_needs_write(range))
		need |= VM_WRITE;
	return vma->vm_file &&
	       file_inode(vma->vm_file) == file_inode(range->memory.file) &&
	       (vma->vm_flags & need) == need && pgoff == offset >> PAGE_SHIFT;
}

/*
 * Does the caller have the whole range mapped at its iova? What another
 * thread maps there afterwards is the caller's own memory as well, so a wrong
 * answer harms nobody else.
 */
static bool is_own_mapping(const struct share_range *range)
{
	u64 addr = range->iova, offset = range->memory.offset;
	struct vm_area_struct *vma;
	u64 end;

	if (check_add_overflow(addr, range->memory.length, &end) ||
	    end > TASK_SIZE)
		return false;

	mmap_read_lock(current->mm);
	while (addr < end) {
		vma = find_vma(current->mm, addr);
		if (!vma || vma->vm_start > addr ||
		    !vma_maps(vma, addr, offset, range))
			break;
		offset += vma->vm_end - addr;
		addr = vma->vm_end;
	}
	mmap_read_unlock(current->mm);
	return addr >= end;
}

/*
 * A read fault on a shared mapping maps what the page cache has around the
 * page, 16 pages by default, and does so writable. So touch one page in 16: it
 * is a fraction of what the registration would need for a fault of its own for
 * each, and of what MAP_POPULATE needs, which looks at every page. A hint:
 * what is not mapped afterwards the registration faults in.
 */
#define FAULT_AROUND 65536UL

static void range_fault_around(unsigned long va, unsigned long length, u64 step)
{
	unsigned long end = va + length;
	struct page *page;

	for (; va < end && !fatal_signal_pending(current); va += step) {
		if (get_user_pages_fast(va, 1, 0, &page) != 1)
			break;
		put_page(page);
		cond_resched();
	}
}

/*
 * The real file, mapped for the moment of the registration, so that truncation
 * and seals mean what they mean for every other mapping.
 */
static int range_map(struct share_range *range, struct ib_device *ibdev)
{
	const struct share_memory *memory = &range->memory;
	u64 align = file_inode(memory->file)->i_sb->s_blocksize;
	u64 start = round_down(memory->offset, align);
	u64 length = round_up(memory->offset + memory->length, align) - start;
	unsigned long prot = PROT_READ;
	unsigned long va;

	if (range_needs_write(range))
		prot |= PROT_WRITE;

	va = vm_mmap(memory->file, 0, length, prot, MAP_SHARED, start);
	if (IS_ERR_VALUE(va))
		return share_refuse(ibdev, (long)va,
				    "%#llx bytes of the file cannot be mapped",
				    length);
	range_fault_around(va, length, max_t(u64, align, FAULT_AROUND));

	range->addr = va + (memory->offset - start);
	range->map = va;
	range->map_length = length;
	return 0;
}

/* what does not depend on where the memory is */
static int range_parse(struct share_range *range, struct ib_device *ibdev,
		       const struct share_range_ids *ids,
		       struct uverbs_attr_bundle *attrs)
{
	struct share_memory *memory = &range->memory;
	u64 end;
	int ret;

	*range = (struct share_range){};
	ret = uverbs_copy_from(&memory->length, attrs, ids->length);
	if (!ret)
		ret = uverbs_copy_from(&range->iova, attrs, ids->iova);
	if (!ret)
		ret = share_get_flags(&memory->access, attrs, ids->access,
				      SHARE_MR_ACCESS);
	if (!ret)
		ret = share_access_check(ibdev, memory->access);
	if (ret)
		return ret;
	if (!memory->length)
		return share_refuse(ibdev, -EINVAL, "no bytes");
	if (check_add_overflow(range->iova, memory->length, &end))
		return share_refuse(ibdev, -EOVERFLOW,
				    "%#llx bytes at iova %#llx wrap",
				    memory->length, range->iova);
	return 0;
}

/* the rule of the core: one offset within the page */
static int range_check_iova(const struct share_range *range, u64 start,
			    struct ib_device *ibdev)
{
	if ((start ^ range->iova) & ~PAGE_MASK)
		return share_refuse(ibdev, -EINVAL,
				    "iova %#llx and start %#llx differ within the page",
				    range->iova, start);
	return 0;
}

/**
 * share_range_get_file - a range of a file or of what an MR grant names
 * @range: result; share_range_put() when it is registered
 * @ibdev: device of the region
 * @ids: attributes
 * @attrs: of the call
 *
 * No lock of ours may be held: the memory is mapped and may have to be read
 * in.
 */
int share_range_get_file(struct share_range *range, struct ib_device *ibdev,
			 const struct share_range_ids *ids,
			 struct uverbs_attr_bundle *attrs)
{
	struct share_memory *memory = &range->memory;
	u64 offset;
	int fd, ret;

	ret = range_parse(range, ibdev, ids, attrs);
	if (!ret)
		ret = uverbs_copy_from(&offset, attrs, ids->offset);
	if (!ret)
		ret = share_get_fd(&fd, attrs, ids->fd);
	if (ret)
		return ret;

	ret = share_memory_from_fd(memory, ibdev, fd, offset, memory->length,
				   memory->access);
	if (ret)
		return ret;

	range->addr = range->iova;
	ret = range_check_iova(range, memory->offset, ibdev);
	if (!ret && !is_own_mapping(range))
		ret = range_map(range, ibdev);
	if (ret)
		share_range_put(range);
	return ret;
}

/**
 * share_range_get_addr - a range of the caller's own memory
 * @range: result; share_range_put() when it is registered
 * @ibdev: device of the region
 * @ids: attributes
 * @id: attribute of the address
 * @attrs: of the call
 */
int share_range_get_addr(struct share_range *range, struct ib_device *ibdev,
			 const struct share_range_ids *ids, u16 id,
			 struct uverbs_attr_bundle *attrs)
{
	u64 end;
	int ret;

	ret = range_parse(range, ibdev, ids, attrs);
	if (!ret)
		ret = uverbs_copy_from(&range->addr, attrs, id);
	if (ret)
		return ret;
	if (check_add_overflow(range->addr, range->memory.length, &end))
		return share_refuse(ibdev, -EOVERFLOW, "%#llx bytes at %#llx wrap",
				    range->memory.length, range->addr);
	return range_check_iova(range, range->addr, ibdev);
}

/* whatever stands there is not ours if another thread has replaced it */
void share_range_put(struct share_range *range)
{
	if (range->map_length)
		vm_munmap(range->map, range->map_length);
	range->map_length = 0;
	share_memory_put(&range->memory);
}

/**
 * share_range_fault_in - wait for pages that are not there
 * @range: the range
 *
 * Takes as long as the caller's page faults take, with a userfaultfd that
 * nobody serves for ever, until a signal kills the caller. So no lock may be
 * held that anybody else waits for. Not FOLL_LONGTERM: with that Linux 6.1
 * does not wait for a userfaultfd.
 */
int share_range_fault_in(const struct share_range *range)
{
	unsigned long addr = range->addr & PAGE_MASK;
	unsigned long n = (PAGE_ALIGN(range->addr + range->memory.length) -
			   addr) >> PAGE_SHIFT;
	unsigned int flags = range_needs_write(range) ? FOLL_WRITE : 0;
	const unsigned long max = PAGE_SIZE / sizeof(struct page *);
	struct page **pages;
	long pinned = 0;

	if (flags && !ib_access_writable(range->memory.access))
		flags |= FOLL_FORCE; /* as ib_umem_get() of Linux 6.1 has it */

	pages = (struct page **)__get_free_page(GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	while (n) {
		if (fatal_signal_pending(current)) {
			pinned = -EINTR;
			break;
		}
		pinned = pin_user_pages_fast(addr, min(n, max), flags, pages);
		if (pinned <= 0)
			break;
		unpin_user_pages(pages, pinned);
		addr += pinned << PAGE_SHIFT;
		n -= pinned;
		cond_resched();
	}
	free_page((unsigned long)pages);
	return n ? pinned ?: -EFAULT : 0;
}
