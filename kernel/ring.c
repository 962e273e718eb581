// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Rings of QPs, CQs and SRQs in other address spaces. The exporter has them
 * mapped through its uverbs file. Those pages are ordinary ones with a
 * reference count: EXPORT takes a reference each, page faults on a mapping of
 * a grant hand them out, without a reference. They outlive the object;
 * revocation takes the mappings away.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "share.h"

#define RING_PGSHIFT (IB_UVERBS_SHARE_RING_SHIFT - PAGE_SHIFT)

static int segment_check(struct share *share,
			 const struct ib_uverbs_share_segment *seg)
{
	struct ib_device *ibdev = share->ibdev;
	u64 end;

	if (seg->ring >= IB_UVERBS_SHARE_RING_COUNT || seg->reserved)
		return share_refuse(ibdev, -EINVAL,
				    "no ring %u, or reserved is not zero",
				    seg->ring);
	if (!(share->kind->rings & BIT(seg->ring)))
		return share_refuse(ibdev, -EOPNOTSUPP, "a %s has no ring %u",
				    share->kind->name, seg->ring);
	if (!seg->length || (seg->addr | seg->length) & ~PAGE_MASK)
		return share_refuse(ibdev, -EINVAL,
				    "ring %u: %#llx bytes at %#llx are not pages",
				    seg->ring, seg->length, seg->addr);
	if (seg->length > IB_UVERBS_SHARE_MAX_RING_BYTES)
		return share_refuse(ibdev, -E2BIG, "ring %u: %#llx bytes",
				    seg->ring, seg->length);
	if (check_add_overflow(seg->addr, seg->length, &end))
		return share_refuse(ibdev, -EOVERFLOW,
				    "ring %u: %#llx bytes at %#llx wrap",
				    seg->ring, seg->length, seg->addr);
	if (end > TASK_SIZE)
		return share_refuse(ibdev, -EFAULT,
				    "ring %u: %#llx is no user address",
				    seg->ring, seg->addr);
	if (share->rings.ring[seg->ring].pages)
		return share_refuse(ibdev, -EINVAL, "ring %u: twice",
				    seg->ring);
	return 0;
}

/*
 * A page of anything else, of tmpfs say, would be corrupted by a second
 * mapping that its owner knows nothing of.
 */
static bool is_ring_page(struct page *page)
{
	return !page->mapping && !PageCompound(page) && !PageReserved(page);
}

/* one mapping of the exporter's own uverbs file must cover the segment */
static bool is_ring_vma(struct file *cmd_file,
			const struct ib_uverbs_share_segment *seg)
{
	struct vm_area_struct *vma = find_vma(current->mm, seg->addr);

	return vma && vma->vm_start <= seg->addr &&
	       vma->vm_end - seg->addr >= seg->length &&
	       vma->vm_file == cmd_file && vma->vm_flags & VM_SHARED &&
	       !(vma->vm_flags & (VM_IO | VM_PFNMAP));
}

/* Return: false if one of them is no page of a ring; all have a reference */
static bool ring_add_pages(struct share_ring *ring, long n)
{
	bool ok = true;

	for (; n; n--, ring->npages++)
		ok = ok && is_ring_page(ring->pages[ring->npages]);
	return ok;
}

static int ring_get_pages(struct share_ring *ring, u64 addr, unsigned long n)
{
	int ret = 0;
	long got;

	while (!ret && ring->npages < n) {
		got = share_get_user_pages(addr + (ring->npages << PAGE_SHIFT),
					   n - ring->npages, FOLL_WRITE,
					   ring->pages + ring->npages);
		if (got < 0)
			ret = got;
		else if (!got || !ring_add_pages(ring, got))
			ret = -EFAULT;
	}
	return ret;
}

static int ring_get(struct share *share, struct file *cmd_file,
		    const struct ib_uverbs_share_segment *seg)
{
	struct share_ring *ring = &share->rings.ring[seg->ring];
	unsigned long n = seg->length >> PAGE_SHIFT;
	int ret;

	ring->pages = kvcalloc(n, sizeof(*ring->pages), GFP_KERNEL_ACCOUNT);
	if (!ring->pages)
		return -ENOMEM;

	mmap_read_lock(current->mm);
	if (is_ring_vma(cmd_file, seg))
		ret = ring_get_pages(ring, seg->addr, n);
	else
		ret = -EFAULT;
	mmap_read_unlock(current->mm);
	if (ret)
		return share_refuse(share->ibdev, ret,
				    "ring %u: %#llx is no mapping of a ring by cmd_fd",
				    seg->ring, seg->addr);
	return 0;
}

/**
 * share_rings_get - take the rings of an object that is being exported
 * @share: not visible yet
 * @cmd_file: the exporter's uverbs file
 * @segs: where the exporter has them mapped
 * @n: number of segments
 *
 * Return: 0 or an errno; what was taken is given back by share_rings_put()
 */
int share_rings_get(struct share *share, struct file *cmd_file,
		    const struct ib_uverbs_share_segment *segs, int n)
{
	int i, ret;

	for (i = 0; i < n; i++) {
		ret = segment_check(share, &segs[i]);
		if (!ret)
			ret = ring_get(share, cmd_file, &segs[i]);
		if (ret)
			return ret;
	}
	return 0;
}

void share_rings_put(struct share_rings *rings)
{
	struct share_ring *ring = rings->ring;
	unsigned long p;

	for (; ring < rings->ring + IB_UVERBS_SHARE_RING_COUNT; ring++) {
		for (p = 0; p < ring->npages; p++)
			put_page(ring->pages[p]);
		kvfree(ring->pages);
	}
}

/* no fault hands out a page after @gone is set, and then all are taken away */
void share_rings_revoke(struct share *share)
{
	mutex_lock(&share->rings.lock);
	share->rings.gone = true;
	mutex_unlock(&share->rings.lock);

	unmap_mapping_range(share->inode->i_mapping, 0, 0, 1);
}

u64 share_ring_bytes(const struct share *share, u32 ring)
{
	return (u64)share->rings.ring[ring].npages << PAGE_SHIFT;
}

void share_rings_info(struct share *share, u32 rights, u64 *bytes)
{
	u32 r;

	for (r = 0; r < IB_UVERBS_SHARE_RING_COUNT; r++)
		if (rights & share_ring_right(r))
			bytes[r] = share_ring_bytes(share, r);
}

static vm_fault_t share_ring_fault(struct vm_fault *vmf)
{
	struct share_grant *grant = vmf->vma->vm_file->private_data;
	struct share_rings *rings = &grant->share->rings;
	struct share_ring *ring = &rings->ring[vmf->pgoff >> RING_PGSHIFT];
	unsigned long p = vmf->pgoff & (BIT(RING_PGSHIFT) - 1);
	vm_fault_t ret = VM_FAULT_SIGBUS;

	/* mmap() let only whole rings through and VM_DONTEXPAND keeps it so */
	mutex_lock(&rings->lock);
	if (!rings->gone && p < ring->npages)
		ret = vmf_insert_pfn(vmf->vma, vmf->address & PAGE_MASK,
				     page_to_pfn(ring->pages[p]));
	mutex_unlock(&rings->lock);
	return ret;
}

static const struct vm_operations_struct share_ring_vm_ops = {
	.fault = share_ring_fault,
};

/* mmap() of a grant */
int share_ring_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct share_grant *grant = file->private_data;
	struct ib_device *ibdev = grant->share->ibdev;
	struct share_rings *rings = &grant->share->rings;
	unsigned long r = vma->vm_pgoff >> RING_PGSHIFT;
	unsigned long p = vma->vm_pgoff & (BIT(RING_PGSHIFT) - 1);

	if (!(vma->vm_flags & VM_SHARED) || r >= IB_UVERBS_SHARE_RING_COUNT ||
	    p >= rings->ring[r].npages ||
	    vma_pages(vma) > rings->ring[r].npages - p)
		return share_refuse(ibdev, -EINVAL,
				    "mmap: %lu pages at %#lx are private or outside of a ring",
				    vma_pages(vma), vma->vm_pgoff);
	if (!(grant->rights & share_ring_right(r)))
		return share_refuse(ibdev, -EACCES,
				    "mmap: rights %#x of the grant lack %#x",
				    grant->rights, share_ring_right(r));
	if (vma->vm_flags & VM_EXEC)
		return share_refuse(ibdev, -EACCES,
				    "mmap: a ring is not executable");
	/* under mmap_lock, so not share->sem; a fault looks again */
	if (READ_ONCE(rings->gone))
		return share_refuse(ibdev, -ENOLINK,
				    "mmap: the %s is not shared any more",
				    grant->share->kind->name);

	/*
	 * Nothing may pin the pages (a region, direct I/O, a pipe): who had
	 * them that way would write to the ring after revocation. The grant,
	 * which the mapping holds, keeps them.
	 */
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_PFNMAP | VM_IO,
		     VM_MAYEXEC);
	vma->vm_ops = &share_ring_vm_ops;
	return 0;
}
