// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * RDMA writes: that a region is what it says is proven by bytes that appear.
 */
#include "share_test.h"

#define MESSAGE "hello"
#define LENGTH 5

int writer_open(struct writer *writer, struct endpoint *ep)
{
	struct export_args export = EXPORT_OF(ep->fd, ep->qp.handle);
	struct import import;
	int err;

	writer->ep = ep;
	err = do_export(ep->fd, &export);
	if (err)
		return err;
	import = IMPORT_OF(export.grant);
	err = do_import(ep->fd, &import);
	writer->kick = import.handle;

	writer->source = (struct reg_mr){
		.pd = ep->pd,
		.fd = memfd(PAGE),
		.length = PAGE,
		.access = ACCESS_LOCAL,
	};
	err = err ?: do_reg_mr(ep->fd, &writer->source);
	if (err)
		return err;
	return pwrite(writer->source.fd, MESSAGE, LENGTH, 0) == LENGTH ? 0 : EIO;
}

/* Return: status of the completion; one that is not 0 is the last of the QP */
int rdma_write(struct writer *writer, uint64_t addr, uint32_t rkey)
{
	struct rxe_sge sge = { .addr = 0, .length = LENGTH, .lkey = writer->source.lkey };
	struct endpoint *ep = writer->ep;
	struct ib_uverbs_wc wc;
	int err;

	post_write(ep->qp.send.buf, 1, &sge, addr, rkey);
	err = do_kick(ep->fd, writer->kick, IB_UVERBS_SHARE_KICK_SEND);
	return err || !poll_cq(ep->cq.ring.buf, &wc) ? -1 : (int)wc.status;
}

bool has_hello(const char *at)
{
	return !memcmp(at, MESSAGE, LENGTH);
}
