// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Memory regions of shared memory. The region is an ordinary one of the
 * provider: pinned and charged by ib_umem_get(), destroyed by MR_DESTROY.
 */
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/overflow.h>

#include "share.h"

/*
 * An MR has no usecnt of its own: the shared lock of its uobject makes
 * MR_DESTROY answer EBUSY. The caller of pin holds that lock, too.
 */
static void mr_pin(struct share *share)
{
	atomic_inc(&share->target->usecnt);
}

static void mr_unpin(struct share *share)
{
	atomic_dec(&share->target->usecnt);
}

static void mr_info(struct share *share, struct ib_uverbs_share_info *info)
{
	struct ib_mr *mr = share->object;

	info->lkey = mr->lkey;
	info->rkey = mr->rkey;
	info->iova = mr->iova;
	info->length = mr->length;
	info->access = share->memory.access;
}

const struct share_kind share_kind_mr = {
	.kind = IB_UVERBS_SHARE_MR,
	.name = "mr",
	.rights = IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_REGISTER |
		  IB_UVERBS_SHARE_REGRANT,
	.pin = mr_pin,
	.unpin = mr_unpin,
	.info = mr_info,
};

/*
 * struct mr_range - memory as the provider gets it
 * @memory: what it is made of
 * @iova: address that stands for its first byte
 */
struct mr_range {
	struct share_memory memory;
	u64 iova;
};

static bool vma_maps(struct vm_area_struct *vma, u64 addr,
		     const struct share_memory *memory)
{
	u64 pgoff = vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);
	vm_flags_t need = VM_SHARED | VM_READ;

	if (ib_access_writable(memory->access) || !SHARE_UMEM_READ_ONLY)
		need |= VM_WRITE;
	return vma->vm_file &&
	       file_inode(vma->vm_file) == file_inode(memory->file) &&
	       (vma->vm_flags & need) == need &&
	       pgoff == memory->offset >> PAGE_SHIFT;
}

/*
 * Does the caller have the whole range mapped at this address? What another
 * thread maps there afterwards is the caller's own memory as well, so a wrong
 * answer harms nobody else.
 */
static bool is_own_mapping(u64 addr, struct share_memory memory)
{
	struct vm_area_struct *vma;
	bool found = false;
	u64 end, n;

	if (check_add_overflow(addr, memory.length, &end) || end > TASK_SIZE)
		return false;

	mmap_read_lock(current->mm);
	while (memory.length) {
		vma = find_vma(current->mm, addr);
		if (!vma || vma->vm_start > addr || !vma_maps(vma, addr, &memory))
			break;
		n = min(vma->vm_end - addr, memory.length);
		addr += n;
		memory.offset += n;
		memory.length -= n;
	}
	found = !memory.length;
	mmap_read_unlock(current->mm);
	return found;
}

static struct ib_mr *mr_reg_at(struct ib_pd *pd, const struct mr_range *range,
			       u64 addr, struct ib_udata *udata)
{
	return pd->device->ops.reg_user_mr(pd, addr, range->memory.length,
					   range->iova, range->memory.access,
					   udata);
}

/*
 * The real file, mapped for the moment of the registration, so that truncation
 * and seals mean what they mean for every other mapping. Populated, since a
 * fault around is 16 pages and a fault of its own for each page is slow.
 */
static struct ib_mr *mr_reg_mapped(struct ib_pd *pd,
				   const struct mr_range *range,
				   struct ib_udata *udata)
{
	const struct share_memory *memory = &range->memory;
	u64 align = file_inode(memory->file)->i_sb->s_blocksize;
	u64 start = round_down(memory->offset, align);
	u64 length = round_up(memory->offset + memory->length, align) - start;
	unsigned long prot = PROT_READ;
	struct ib_mr *mr;
	unsigned long va;

	if (ib_access_writable(memory->access) || !SHARE_UMEM_READ_ONLY)
		prot |= PROT_WRITE;

	va = vm_mmap(memory->file, 0, length, prot, MAP_SHARED | MAP_POPULATE,
		     start);
	if (IS_ERR_VALUE(va))
		return ERR_PTR((long)va);

	mr = mr_reg_at(pd, range, va + (memory->offset - start), udata);
	vm_munmap(va, length);
	return mr;
}

static int mr_range_parse(struct mr_range *range, u32 *access, int *fd,
			  struct uverbs_attr_bundle *attrs)
{
	struct share_memory *memory = &range->memory;
	int ret;

	ret = uverbs_copy_from(&memory->offset, attrs,
			       IB_UVERBS_ATTR_SHARE_REG_MR_OFFSET);
	if (!ret)
		ret = uverbs_copy_from(&memory->length, attrs,
				       IB_UVERBS_ATTR_SHARE_REG_MR_LENGTH);
	if (!ret)
		ret = uverbs_copy_from(&range->iova, attrs,
				       IB_UVERBS_ATTR_SHARE_REG_MR_IOVA);
	if (!ret)
		ret = uverbs_get_flags32(access, attrs,
					 IB_UVERBS_ATTR_SHARE_REG_MR_ACCESS,
					 SHARE_MR_ACCESS);
	if (!ret)
		ret = uverbs_get_raw_fd(fd, attrs,
					IB_UVERBS_ATTR_SHARE_REG_MR_FD);
	return ret;
}

/* on success the range has a reference to its file */
static int mr_range_get(struct mr_range *range, struct ib_device *ibdev,
			struct uverbs_attr_bundle *attrs)
{
	struct share_memory *memory = &range->memory;
	u64 end;
	u32 access;
	int fd, ret;

	ret = mr_range_parse(range, &access, &fd, attrs);
	if (ret)
		return ret;
	ret = ib_check_mr_access(ibdev, access);
	if (ret)
		return ret;
	if (!memory->length)
		return -EINVAL;
	if (check_add_overflow(range->iova, memory->length, &end))
		return -EOVERFLOW;

	ret = share_memory_from_fd(memory, fd, memory->offset, memory->length,
				   access);
	if (ret)
		return ret;
	/* the rule of the core, for the place in the file */
	if ((memory->offset ^ range->iova) & ~PAGE_MASK) {
		share_memory_put(memory);
		return -EINVAL;
	}
	return 0;
}

/* as the core does for the regions that it makes itself */
static void mr_init(struct ib_mr *mr, struct ib_pd *pd,
		    struct ib_uobject *uobject, const struct mr_range *range)
{
	mr->device = pd->device;
	mr->pd = pd;
	mr->type = IB_MR_TYPE_USER;
	mr->dm = NULL;
	mr->sig_attrs = NULL;
	mr->uobject = uobject;
	mr->iova = range->iova;
	mr->length = range->memory.length;
	atomic_inc(&pd->usecnt);

	rdma_restrack_new(&mr->res, RDMA_RESTRACK_MR);
	rdma_restrack_set_name(&mr->res, NULL);
	rdma_restrack_add(&mr->res);
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_SHARE_REG_MR)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject = uverbs_attr_get_uobject(
		attrs, IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE);
	struct ib_pd *pd =
		uverbs_attr_get_obj(attrs, IB_UVERBS_ATTR_SHARE_REG_MR_PD);
	struct mr_range range;
	struct ib_mr *mr;
	int ret;

	if (!pd->device->ops.reg_user_mr)
		return -EOPNOTSUPP;
	ret = mr_range_get(&range, pd->device, attrs);
	if (ret)
		return ret;

	if (is_own_mapping(range.iova, range.memory))
		mr = mr_reg_at(pd, &range, range.iova, &attrs->driver_udata);
	else
		mr = mr_reg_mapped(pd, &range, &attrs->driver_udata);
	share_memory_put(&range.memory);
	if (IS_ERR(mr))
		return PTR_ERR(mr);

	mr_init(mr, pd, uobject, &range);
	uobject->object = mr;
	/* from here on a failure destroys the region */
	uverbs_finalize_uobj_create(attrs, IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE);

	ret = uverbs_copy_to(attrs, IB_UVERBS_ATTR_SHARE_REG_MR_RESP_LKEY,
			     &mr->lkey, sizeof(mr->lkey));
	if (ret)
		return ret;
	return uverbs_copy_to(attrs, IB_UVERBS_ATTR_SHARE_REG_MR_RESP_RKEY,
			      &mr->rkey, sizeof(mr->rkey));
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_SHARE_REG_MR,
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE, UVERBS_OBJECT_MR,
			UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_IDR(IB_UVERBS_ATTR_SHARE_REG_MR_PD, UVERBS_OBJECT_PD,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_RAW_FD(IB_UVERBS_ATTR_SHARE_REG_MR_FD, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_SHARE_REG_MR_OFFSET,
			   UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_SHARE_REG_MR_LENGTH,
			   UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(IB_UVERBS_ATTR_SHARE_REG_MR_IOVA,
			   UVERBS_ATTR_TYPE(u64), UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(IB_UVERBS_ATTR_SHARE_REG_MR_ACCESS,
			     enum ib_access_flags, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_SHARE_REG_MR_RESP_LKEY,
			    UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_SHARE_REG_MR_RESP_RKEY,
			    UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

ADD_UVERBS_METHODS(share_mr_methods, IB_UVERBS_OBJECT_SHARE,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_SHARE_REG_MR));

const struct uapi_definition share_uapi_mr[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_SHARE, &share_mr_methods),
	{},
};
