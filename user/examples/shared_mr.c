// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Registers a memfd: any process that has the file descriptor can do the same,
 * with a protection domain of its own, and needs no address for it.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/share.h>

int main(void)
{
	const size_t length = 1 << 20;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int fd;

	if (!list || !list[0])
		errx(1, "no RDMA device");
	context = ibv_open_device(list[0]);
	pd = context ? ibv_alloc_pd(context) : NULL;
	fd = memfd_create("buffer", MFD_CLOEXEC);
	if (!pd || fd < 0 || ftruncate(fd, (off_t)length))
		err(1, "PD and buffer");

	mr = ibv_reg_shared_mr(pd, 0, length, 0, fd,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!mr)
		errx(1, "ibv_reg_shared_mr: %s", ibv_share_last_error());
	printf("%zu bytes, lkey 0x%x, rkey 0x%x\n", mr->length, mr->lkey,
	       mr->rkey);

	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	ibv_free_device_list(list);
	return 0;
}
