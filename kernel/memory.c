// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Memory that can be shared: a range of a shmem, memfd or hugetlbfs file.
 * Files of other file systems are refused: a pin would outlast their leases.
 */
#include <linux/file.h>
#include <linux/magic.h>
#include <linux/overflow.h>

#include "share.h"

bool share_is_memory(struct file *file)
{
	struct inode *inode = file_inode(file);

	return S_ISREG(inode->i_mode) &&
	       (inode->i_sb->s_magic == TMPFS_MAGIC ||
		inode->i_sb->s_magic == HUGETLBFS_MAGIC);
}

/**
 * share_memory_check - may a region with this access be made of it, now
 * @ibdev: device of the caller
 * @memory: the range
 * @access: IB_ACCESS_*
 *
 * The size is looked at here; a file that shrinks later is found by the page
 * faults of the registration (EFAULT), a file that shrinks after it keeps its
 * pinned pages.
 */
int share_memory_check(struct ib_device *ibdev,
		       const struct share_memory *memory, u32 access)
{
	struct file *file = memory->file;
	u64 end;

	if (check_add_overflow(memory->offset, memory->length, &end))
		return share_refuse(ibdev, -EOVERFLOW,
				    "%#llx bytes at %#llx of the file wrap",
				    memory->length, memory->offset);
	if (!memory->length)
		return share_refuse(ibdev, -EINVAL, "no bytes");
	if (!(file->f_mode & FMODE_READ))
		return share_refuse(ibdev, -EACCES,
				    "the file is not open for reading");
	if (ib_access_writable(access) && !(file->f_mode & FMODE_WRITE))
		return share_refuse(ibdev, -EACCES,
				    "access %#x, and the file is not open for writing",
				    access);
	if (!SHARE_UMEM_READ_ONLY && !(file->f_mode & FMODE_WRITE))
		return share_refuse(ibdev, -EOPNOTSUPP,
				    "this kernel pins no file that is not open for writing");
	if (end > (u64)i_size_read(file_inode(file)))
		return share_refuse(ibdev, -ERANGE,
				    "byte %#llx is beyond the end of the file",
				    end - 1);
	return 0;
}

/* share is locked and live */
static int grant_memory_check(struct share_grant *grant, u64 offset, u64 length,
			      u32 access)
{
	struct share *share = grant->share;
	struct ib_device *ibdev = share->ibdev;
	u64 end;

	if (share->kind->kind != IB_UVERBS_SHARE_MR)
		return share_refuse(ibdev, -EINVAL, "grant of a %s, not of an mr",
				    share->kind->name);
	if (!(grant->rights & IB_UVERBS_SHARE_REGISTER))
		return share_refuse(ibdev, -EACCES,
				    "rights %#x of the grant lack REGISTER",
				    grant->rights);
	if (check_add_overflow(offset, length, &end))
		return share_refuse(ibdev, -EOVERFLOW,
				    "%#llx bytes at %#llx of the grant wrap",
				    length, offset);
	if (end > share->memory.length)
		return share_refuse(ibdev, -ERANGE,
				    "byte %#llx is beyond the %#llx of the grant",
				    end - 1, share->memory.length);
	return share_access_narrow(ibdev, share->memory.access, access);
}

/* what an MR grant stands for, narrowed to the range that is asked for */
static int memory_from_grant(struct share_memory *memory, struct file *file,
			     u64 offset, u64 length, u32 access)
{
	struct share_grant *grant = file->private_data;
	struct share *share = grant->share;
	int ret;

	ret = share_lock_live(share);
	if (ret)
		return ret;

	ret = grant_memory_check(grant, offset, length, access);
	if (!ret) {
		memory->file = get_file(share->memory.file);
		memory->offset = share->memory.offset + offset;
		memory->length = length;
		memory->access = access;
	}
	share_unlock(share);
	return ret;
}

/**
 * share_memory_from_fd - look up the memory that a region is to be made of
 * @memory: result, with a reference to its file; see share_memory_put()
 * @ibdev: device of the caller
 * @fd: shmem or hugetlbfs file, or an MR grant
 * @offset: in the file, or in the range that the grant names
 * @length: in bytes
 * @access: IB_ACCESS_* of the region
 */
int share_memory_from_fd(struct share_memory *memory, struct ib_device *ibdev,
			 int fd, u64 offset, u64 length, u32 access)
{
	struct file *file = fget(fd);
	int ret;

	if (!file)
		return share_refuse(ibdev, -EBADF, "descriptor %d is not open",
				    fd);

	if (share_is_grant(file)) {
		ret = memory_from_grant(memory, file, offset, length, access);
		fput(file);
		if (ret)
			return ret;
	} else if (share_is_memory(file)) {
		*memory = (struct share_memory){ file, offset, length, access };
	} else {
		fput(file);
		return share_refuse(ibdev, -EBADFD,
				    "descriptor %d is neither shared memory nor a grant",
				    fd);
	}

	ret = share_memory_check(ibdev, memory, access);
	if (ret)
		share_memory_put(memory);
	return ret;
}

void share_memory_put(struct share_memory *memory)
{
	if (memory->file)
		fput(memory->file);
	memory->file = NULL;
}

static struct file *memory_file(struct ib_device *ibdev, int fd)
{
	struct file *file = fget(fd);

	if (!file)
		return ERR_PTR(share_refuse(ibdev, -EBADF,
					    "mem_fd %d is not open", fd));
	if (!share_is_memory(file)) {
		fput(file);
		return ERR_PTR(share_refuse(ibdev, -EBADFD,
					    "mem_fd %d is no shared memory",
					    fd));
	}
	return file;
}

static int memory_parse(struct share_memory *memory,
			struct uverbs_attr_bundle *attrs)
{
	struct ib_device *ibdev = share_device(attrs);
	struct file *window;
	int fd, ret;

	ret = share_get_fd(&fd, attrs, IB_UVERBS_ATTR_SHARE_EXPORT_MEM_FD);
	if (ret)
		return ret;
	ret = uverbs_copy_from(&memory->offset, attrs,
			       IB_UVERBS_ATTR_SHARE_EXPORT_MEM_OFFSET);
	if (ret)
		return share_refuse(ibdev, ret == -ENOENT ? -EINVAL : ret,
				    "mem_fd without mem_offset");

	memory->file = memory_file(ibdev, fd);
	if (IS_ERR(memory->file)) {
		ret = PTR_ERR(memory->file);
		memory->file = NULL;
		return ret;
	}
	ret = share_memory_check(ibdev, memory, memory->access);
	if (ret)
		return ret;

	window = share_window_open(memory);
	if (IS_ERR(window))
		return share_refuse(ibdev, PTR_ERR(window),
				    "mem_fd %d cannot be opened again", fd);
	fput(memory->file);
	memory->file = window;
	return 0;
}

/**
 * share_memory_get - EXPORT of an MR: the memory that its grants name
 * @share: not visible yet; share_memory_put() when it is freed
 * @attrs: of EXPORT
 */
int share_memory_get(struct share *share, struct uverbs_attr_bundle *attrs)
{
	struct ib_mr *mr = share->object;
	bool has_fd = uverbs_attr_is_valid(attrs,
					   IB_UVERBS_ATTR_SHARE_EXPORT_MEM_FD);
	bool has_more =
		uverbs_attr_is_valid(attrs,
				     IB_UVERBS_ATTR_SHARE_EXPORT_MEM_OFFSET) ||
		uverbs_attr_is_valid(attrs, IB_UVERBS_ATTR_SHARE_EXPORT_ACCESS);
	int ret;

	if (!has_fd && !has_more)
		return 0;
	if (!has_fd || share->kind->kind != IB_UVERBS_SHARE_MR)
		return share_refuse(share->ibdev, -EINVAL,
				    "memory without mem_fd, or of a %s",
				    share->kind->name);

	ret = share_get_flags(&share->memory.access, attrs,
			      IB_UVERBS_ATTR_SHARE_EXPORT_ACCESS,
			      SHARE_MR_ACCESS);
	if (ret)
		return ret;
	ret = share_access_check(share->ibdev, share->memory.access);
	if (ret)
		return ret;

	share->memory.length = mr->length;
	return memory_parse(&share->memory, attrs);
}
