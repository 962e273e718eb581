// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A grant is a file: passed on with SCM_RIGHTS, fork or exec, gone with its
 * last descriptor. All grants of one share have the same inode, so that all
 * mappings of its rings can be found and taken away.
 */
#include <linux/file.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/poll.h>
#include <linux/pseudo_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "trace.h"

static struct vfsmount *share_mnt;
static int share_mnt_count;

static int share_fs_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, 0x53485645) ? 0 : -ENOMEM;
}

static struct file_system_type share_fs_type = {
	.name = "ib_uverbs_share",
	.owner = THIS_MODULE,
	.init_fs_context = share_fs_init_context,
	.kill_sb = kill_anon_super,
};

struct inode *share_inode_new(void)
{
	struct inode *inode;
	int ret;

	ret = simple_pin_fs(&share_fs_type, &share_mnt, &share_mnt_count);
	if (ret)
		return ERR_PTR(ret);

	inode = alloc_anon_inode(share_mnt->mnt_sb);
	if (IS_ERR(inode))
		simple_release_fs(&share_mnt, &share_mnt_count);
	return inode;
}

void share_inode_put(struct inode *inode)
{
	iput(inode);
	simple_release_fs(&share_mnt, &share_mnt_count);
}

static int share_grant_release(struct inode *inode, struct file *file)
{
	struct share_grant *grant = file->private_data;

	share_put(grant->share);
	fput(grant->exporter);
	kfree(grant);
	return 0;
}

static __poll_t share_grant_poll(struct file *file, poll_table *wait)
{
	struct share_grant *grant = file->private_data;
	struct share *share = grant->share;

	poll_wait(file, &share->wait, wait);
	if (!share_trylock_live(share))
		return EPOLLHUP;
	share_unlock(share);
	return 0;
}

static void show_object(struct seq_file *m, struct share *share)
{
	struct ib_uverbs_share_info info = {};

	if (share->kind->info)
		share->kind->info(share, &info);

	if (share->target)
		seq_printf(m, "share-handle:\t%d\n", share->target->id);
	if (share->kind->kind == IB_UVERBS_SHARE_QP)
		seq_printf(m, "share-qpn:\t%u\n", info.qp_num);
	if (share->kind->kind == IB_UVERBS_SHARE_MR)
		seq_printf(m, "share-lkey:\t0x%x\nshare-rkey:\t0x%x\n",
			   info.lkey, info.rkey);
}

static void share_grant_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct share_grant *grant = file->private_data;
	struct share *share = grant->share;
	bool live = share_trylock_live(share);

	seq_printf(m, "share-device:\t%s\n", dev_name(&share->ibdev->dev));
	seq_printf(m, "share-kind:\t%s\n", share->kind->name);
	seq_printf(m, "share-rights:\t0x%x\n", grant->rights);
	seq_printf(m, "share-state:\t%s\n", live ? "live" : "dead");
	seq_printf(m, "share-imports:\t%d\n", atomic_read(&share->imports));
	if (!live)
		return;
	show_object(m, share);
	share_unlock(share);
}

static const struct file_operations share_grant_fops = {
	.owner = THIS_MODULE,
	.release = share_grant_release,
	.mmap = share_ring_mmap,
	.poll = share_grant_poll,
	.show_fdinfo = share_grant_show_fdinfo,
	.llseek = noop_llseek,
};

bool share_is_grant(struct file *file)
{
	return file->f_op == &share_grant_fops;
}

/**
 * share_grant_file - make a grant
 * @share: what it grants; a reference is taken
 * @exporter: the exporter's uverbs file; a reference is taken
 * @rights: what its holder may do
 *
 * Return: a file that is not installed yet, or an error
 */
struct file *share_grant_file(struct share *share, struct file *exporter,
			      u32 rights)
{
	struct share_grant *grant = kzalloc(sizeof(*grant), GFP_KERNEL);
	struct file *file;

	if (!grant)
		return ERR_PTR(-ENOMEM);

	ihold(share->inode);
	file = alloc_file_pseudo(share->inode, share_mnt, "[ib_uverbs_share]",
				 O_RDWR, &share_grant_fops);
	if (IS_ERR(file)) {
		iput(share->inode);
		kfree(grant);
		return file;
	}

	/* alloc_file_pseudo() takes no reference, the last fput() drops one */
	__module_get(THIS_MODULE);
	share_get(share);
	grant->share = share;
	grant->exporter = get_file(exporter);
	grant->rights = rights;
	file->private_data = grant;
	return file;
}

/* Return: the grant file with a reference, or an error */
struct file *share_grant_fget(struct ib_device *ibdev, int fd)
{
	struct file *file = fget(fd);

	if (!file)
		return ERR_PTR(share_refuse(ibdev, -EBADF,
					    "grant %d is not open", fd));
	if (!share_is_grant(file)) {
		fput(file);
		return ERR_PTR(share_refuse(ibdev, -EBADFD,
					    "descriptor %d is no grant", fd));
	}
	return file;
}

static int derive_rights(struct share_grant *grant, u32 *rights,
			 struct uverbs_attr_bundle *attrs)
{
	int ret;

	ret = share_lock_live(grant->share);
	if (ret)
		return ret;
	share_unlock(grant->share);

	if (!(grant->rights & IB_UVERBS_SHARE_REGRANT))
		return share_refuse(grant->share->ibdev, -EACCES,
				    "rights %#x of the grant lack REGRANT",
				    grant->rights);
	return share_rights_narrow(rights, attrs,
				   IB_UVERBS_ATTR_SHARE_DERIVE_RIGHTS,
				   grant->rights, -EACCES);
}

static int UVERBS_HANDLER(IB_UVERBS_METHOD_SHARE_DERIVE)(
	struct uverbs_attr_bundle *attrs)
{
	struct share_grant *grant;
	struct file *from, *file;
	int grant_fd, fd, ret;
	u32 rights;

	ret = share_get_fd(&grant_fd, attrs, IB_UVERBS_ATTR_SHARE_DERIVE_GRANT);
	if (ret)
		return ret;

	from = share_grant_fget(share_device(attrs), grant_fd);
	if (IS_ERR(from))
		return PTR_ERR(from);
	grant = from->private_data;

	ret = derive_rights(grant, &rights, attrs);
	if (ret)
		goto out_from;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		ret = share_refuse(grant->share->ibdev, fd,
				   "no free descriptor");
		goto out_from;
	}

	file = share_grant_file(grant->share, grant->exporter, rights);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto err_fd;
	}

	ret = share_reply(attrs, IB_UVERBS_ATTR_SHARE_DERIVE_RESP_FD, &fd,
			  sizeof(fd));
	if (ret)
		goto err_file;

	trace_share_derive(grant->share, rights);
	fd_install(fd, file);
	goto out_from;

err_file:
	fput(file);
err_fd:
	put_unused_fd(fd);
out_from:
	fput(from);
	return ret;
}

DECLARE_UVERBS_NAMED_METHOD(
	IB_UVERBS_METHOD_SHARE_DERIVE,
	UVERBS_ATTR_RAW_FD(IB_UVERBS_ATTR_SHARE_DERIVE_GRANT, UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(IB_UVERBS_ATTR_SHARE_DERIVE_RIGHTS,
			     enum ib_uverbs_share_rights, UA_OPTIONAL),
	UVERBS_ATTR_PTR_OUT(IB_UVERBS_ATTR_SHARE_DERIVE_RESP_FD,
			    UVERBS_ATTR_TYPE(s32), UA_MANDATORY));

ADD_UVERBS_METHODS(share_grant_methods, IB_UVERBS_OBJECT_SHARE,
		   &UVERBS_METHOD(IB_UVERBS_METHOD_SHARE_DERIVE));

const struct uapi_definition share_uapi_grant[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(IB_UVERBS_OBJECT_SHARE, &share_grant_methods),
	{},
};
