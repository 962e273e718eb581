// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Extended posting. Requests are gathered in memory of this process, and
 * posted as a list in the end: no lock that other processes need is held while
 * the application makes up its mind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "error.h"
#include "event.h"
#include "share_priv.h"

/*
 * struct share_build - between ibv_wr_start() and ibv_wr_complete()
 * @lock: held meanwhile
 * @ret: the first error
 * @num: requests so far
 * @room: for how many
 * @stride: from one to the next
 * @requests: each a struct request with its SGEs and inline data
 */
struct share_build {
	pthread_mutex_t lock;
	int ret;
	uint32_t num;
	uint32_t room;
	size_t stride;
	char *requests;
};

struct request {
	struct ibv_send_wr wr;
	struct ibv_sge sges[];
};

static struct share_qp *qp_of(struct ibv_qp_ex *ex)
{
	return share_container_of(ex, struct share_qp, ex);
}

static struct request *request_at(const struct share_build *build, uint32_t i)
{
	return (void *)(build->requests + i * build->stride);
}

static void fail(struct share_qp *qp, int ret)
{
	if (!qp->build->ret)
		qp->build->ret = ret;
}

static char *inline_of(const struct share_qp *qp, struct request *r)
{
	return (char *)&r->sges[qp->path.view.attr.max_send_sge];
}

/* Another request, or NULL. A child of fork() does not touch the lock. */
static struct ibv_send_wr *add(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct share_qp *qp = qp_of(ex);
	struct share_build *build = qp->build;
	struct request *r;

	if (qp->obj.ctx->forked)
		return NULL;
	if (build->num == build->room)
		fail(qp, ENOMEM);
	if (build->ret)
		return NULL;
	r = request_at(build, build->num++);
	memset(&r->wr, 0, sizeof(r->wr));
	r->wr.wr_id = ex->wr_id;
	r->wr.sg_list = r->sges;
	r->wr.opcode = opcode;
	r->wr.send_flags = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE;
	return &r->wr;
}

/* The last request, which gets its data, or NULL. */
static struct request *last(struct share_qp *qp)
{
	struct share_build *build = qp->build;

	if (qp->obj.ctx->forked)
		return NULL;
	if (!build->num)
		fail(qp, EINVAL);
	return build->ret ? NULL : request_at(build, build->num - 1);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	add(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct ibv_send_wr *wr = add(ex, IBV_WR_SEND_WITH_IMM);

	if (wr)
		wr->imm_data = imm_data;
}

static struct ibv_send_wr *add_rdma(struct ibv_qp_ex *ex,
				    enum ibv_wr_opcode opcode, uint32_t rkey,
				    uint64_t remote_addr)
{
	struct ibv_send_wr *wr = add(ex, opcode);

	if (wr) {
		wr->wr.rdma.rkey = rkey;
		wr->wr.rdma.remote_addr = remote_addr;
	}
	return wr;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey,
			 uint64_t remote_addr)
{
	add_rdma(ex, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey,
			  uint64_t remote_addr)
{
	add_rdma(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	struct ibv_send_wr *wr = add_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey,
					  remote_addr);

	if (wr)
		wr->imm_data = imm_data;
}

static void add_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode,
		       uint32_t rkey, uint64_t remote_addr, uint64_t operand,
		       uint64_t swap)
{
	struct ibv_send_wr *wr = add(ex, opcode);

	if (!wr)
		return;
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.compare_add = operand;
	wr->wr.atomic.swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	add_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare,
		   swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey,
				uint64_t remote_addr, uint64_t operand)
{
	add_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, operand,
		   0);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct request *r = last(qp_of(ex));

	if (!r)
		return;
	r->wr.wr.ud.ah = ah;
	r->wr.wr.ud.remote_qpn = remote_qpn;
	r->wr.wr.ud.remote_qkey = remote_qkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge,
			    const struct ibv_sge *sges)
{
	struct share_qp *qp = qp_of(ex);
	struct request *r = last(qp);

	if (!r)
		return;
	if (num_sge > qp->path.view.attr.max_send_sge) {
		fail(qp, EINVAL);
		return;
	}
	memcpy(r->sges, sges, num_sge * sizeof(*sges));
	r->wr.num_sge = (int)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	const struct ibv_sge sge = { addr, length, lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num,
				    const struct ibv_data_buf *bufs)
{
	struct share_qp *qp = qp_of(ex);
	const uint32_t max = qp->path.view.attr.max_inline;
	struct request *r = last(qp);
	uint32_t length = 0;
	char *data;
	size_t i;

	if (!r)
		return;
	data = inline_of(qp, r);
	for (i = 0; i < num; i++) {
		if (bufs[i].length > max - length) {
			fail(qp, EINVAL);
			return;
		}
		memcpy(data + length, bufs[i].addr, bufs[i].length);
		length += (uint32_t)bufs[i].length;
	}
	r->wr.send_flags |= IBV_SEND_INLINE;
	r->wr.num_sge = length ? 1 : 0;
	if (length)
		r->sges[0] = (struct ibv_sge){ (uintptr_t)data, length, 0 };
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { addr, length };

	wr_set_inline_data_list(ex, 1, &buf);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct share_qp *qp = qp_of(ex);

	if (qp->obj.ctx->forked)
		return;
	pthread_mutex_lock(&qp->build->lock);
	qp->build->ret = 0;
	qp->build->num = 0;
}

static int post(struct share_qp *qp)
{
	const struct share_build *build = qp->build;
	uint32_t i;

	if (build->ret || !build->num)
		return build->ret;
	for (i = 0; i + 1 < build->num; i++)
		request_at(build, i)->wr.next = &request_at(build, i + 1)->wr;
	return share_post_send_whole(&qp->path, &request_at(build, 0)->wr);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct share_qp *qp = qp_of(ex);
	int ret;

	if (qp->obj.ctx->forked)
		return share_context_check(qp->obj.ctx);
	ret = post(qp);
	pthread_mutex_unlock(&qp->build->lock);
	share_event_posted(qp->path.send_cq);
	if (ret == EOPNOTSUPP)
		return share_error(ret, "this operation of ibv_wr_*() is not"
					" for shared QPs, see"
					" ibv_share_qp_to_qp_ex(3)");
	return share_error_stopped(ret);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct share_qp *qp = qp_of(ex);

	if (!qp->obj.ctx->forked)
		pthread_mutex_unlock(&qp->build->lock);
}

static void not_supported(struct ibv_qp_ex *ex)
{
	struct share_qp *qp = qp_of(ex);

	if (!qp->obj.ctx->forked)
		fail(qp, EOPNOTSUPP);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	(void)mw;
	(void)rkey;
	(void)info;
	not_supported(ex);
}

/* also ibv_wr_local_inv(), ibv_wr_set_xrc_srqn() */
static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	(void)rkey;
	not_supported(ex);
}

static void wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz,
			uint16_t mss)
{
	(void)hdr;
	(void)hdr_sz;
	(void)mss;
	not_supported(ex);
}

static void fill(struct ibv_qp_ex *ex)
{
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_send_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_send_tso = wr_send_tso;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_send_inv;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}

static struct share_build *build_new(const struct share_qp *qp)
{
	const struct share_qp_attr *attr = &qp->path.view.attr;
	const size_t word = sizeof(uint64_t);
	struct share_build *build = calloc(1, sizeof(*build));

	if (!build)
		return NULL;
	build->room = attr->sq_entries;
	build->stride = sizeof(struct request) +
			attr->max_send_sge * sizeof(struct ibv_sge) +
			(attr->max_inline + word - 1) / word * word;
	/* of memory that is not used the kernel gives none */
	build->requests = calloc(build->room, build->stride);
	if (!build->requests) {
		free(build);
		return NULL;
	}
	pthread_mutex_init(&build->lock, NULL);
	return build;
}

void share_build_free(struct share_build *build)
{
	if (!build)
		return;
	pthread_mutex_destroy(&build->lock);
	free(build->requests);
	free(build);
}

struct ibv_qp_ex *ibv_share_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct share_qp *qp = share_qp_of(ibv);

	if (!qp)
		return NULL;
	pthread_mutex_lock(&ibv->mutex);
	if (!qp->build)
		qp->build = build_new(qp);
	if (qp->build)
		fill(&qp->ex);
	else
		share_error(ENOMEM, "out of memory");
	pthread_mutex_unlock(&ibv->mutex);
	return qp->build ? &qp->ex : NULL;
}
