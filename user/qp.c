// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <stdlib.h>
#include "bundle.h"
#include "error.h"
#include "share_priv.h"

struct share_qp *share_qp_of(struct ibv_qp *qp)
{
	if (!qp || !share_context_of(qp->context)) {
		share_error(EINVAL, "not a shared QP");
		return NULL;
	}
	return share_container_of(qp, struct share_qp, ibv);
}

static struct share_qp *share_qp_new(struct share_pd *pd,
				     struct share_cq *send_cq,
				     struct share_cq *recv_cq)
{
	struct share_qp *qp = calloc(1, sizeof(*qp));

	if (!qp) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	qp->ibv.context = pd->obj.ctx->fake;
	qp->ibv.pd = &pd->ibv;
	qp->ibv.send_cq = &send_cq->ibv;
	qp->ibv.recv_cq = &recv_cq->ibv;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	qp->handle = SHARE_NO_HANDLE;
	share_object_init(&qp->obj, pd->obj.ctx, IB_UVERBS_SHARE_QP);
	return qp;
}

/* Memory of this process only. */
static void share_qp_delete(struct share_qp *qp)
{
	share_build_free(qp->build);
	share_unmap(&qp->sq);
	share_unmap(&qp->rq);
	pthread_cond_destroy(&qp->ibv.cond);
	pthread_mutex_destroy(&qp->ibv.mutex);
	free(qp);
}

static void qp_use(struct share_qp *qp, int change)
{
	share_object_use(&share_pd_of(qp->ibv.pd)->obj, change);
	share_object_use(&share_cq_of(qp->ibv.send_cq)->obj, change);
	share_object_use(&share_cq_of(qp->ibv.recv_cq)->obj, change);
	if (qp->ibv.srq)
		share_object_use(&share_srq_of(qp->ibv.srq)->obj, change);
}

/* Where the data path finds what to kick. */
static void qp_set_import(struct share_qp *qp, uint32_t handle)
{
	__atomic_store_n(&qp->obj.ctx->qp_imports[qp->index], handle,
			 __ATOMIC_RELAXED);
}

/* Data path over mapped rings; the entry in the control segment exists. */
static int qp_attach(struct share_qp *qp)
{
	struct ibv_share_context *ctx = qp->obj.ctx;
	const struct share_qp_attr *attr = &qp->path.view.attr;
	int ret;

	ret = share_qp_path_init(&qp->path, &ctx->control, qp->index,
				 &share_cq_of(qp->ibv.send_cq)->path,
				 &share_cq_of(qp->ibv.recv_cq)->path,
				 ctx->provider, qp->sq.addr, qp->sq.bytes,
				 qp->rq.addr, qp->rq.bytes);
	if (ret)
		return share_error_control(ret, "a QP and its rings");
	qp->path.verbs = ctx->fake;
	if (qp->ibv.srq)
		qp->path.srq = &share_srq_of(qp->ibv.srq)->path;
	qp->ibv.state = share_qp_state(&qp->path);
	qp->cap = (struct ibv_qp_cap){
		.max_send_wr = attr->sq_entries ? attr->sq_entries - 1 : 0,
		.max_recv_wr = attr->rq_entries ? attr->rq_entries - 1 : 0,
		.max_send_sge = attr->max_send_sge,
		.max_recv_sge = attr->max_recv_sge,
		.max_inline_data = attr->max_inline,
	};
	return 0;
}

static int qp_export(struct share_qp *qp)
{
	const struct ib_uverbs_share_segment segments[] = {
		{ .addr = (uintptr_t)qp->sq.addr,
		  .length = qp->sq.bytes,
		  .ring = IB_UVERBS_SHARE_RING_SEND },
		{ .addr = (uintptr_t)qp->rq.addr,
		  .length = qp->rq.bytes,
		  .ring = IB_UVERBS_SHARE_RING_RECV },
	};
	const struct share_export what = {
		.object = qp->handle,
		.segments = segments,
		.num_segments = qp->rq.addr ? 2 : 1,
		.mem_fd = -1,
	};
	struct ib_uverbs_share_info info;

	return share_object_export(&qp->obj, &what, -1, &info);
}

static int qp_register(struct share_qp *qp, const struct share_new_qp *new_qp,
		       int sq_sig_all)
{
	struct ibv_share_context *ctx = qp->obj.ctx;
	struct share_qp_attr attr = {
		.qp_num = new_qp->qp_num,
		.qp_type = new_qp->type,
		.max_send_sge = new_qp->cap.max_send_sge,
		.max_recv_sge = new_qp->cap.max_recv_sge,
		.max_inline = new_qp->cap.max_inline_data,
		.sq_sig_all = !!sq_sig_all,
		.send_cq = share_cq_of(qp->ibv.send_cq)->index,
		.recv_cq = share_cq_of(qp->ibv.recv_cq)->index,
		.cookie = new_qp->cookie,
	};
	int ret;

	if (qp->ibv.srq)
		attr.srq = share_srq_of(qp->ibv.srq)->index + 1;

	ret = share_ring_probe(ctx->provider, qp->sq.addr, qp->sq.bytes,
			       &attr.sq_entries);
	if (!ret && qp->rq.addr)
		ret = share_ring_probe(ctx->provider, qp->rq.addr, qp->rq.bytes,
				       &attr.rq_entries);
	if (ret)
		return share_error(EOPNOTSUPP, "this kernel's ring layout is not"
					       " the one that is known");
	ret = share_control_add_qp(&ctx->control, &attr, &qp->index);
	if (ret)
		return share_error_control(ret, "making a QP");
	return 0;
}

static int qp_check(struct share_pd *pd, const struct ibv_qp_init_attr *init)
{
	struct ibv_share_context *ctx = pd->obj.ctx;
	int ret = share_maker_check(ctx);

	if (ret)
		return ret;
	if (init->qp_type != IBV_QPT_RC && init->qp_type != IBV_QPT_UC &&
	    init->qp_type != IBV_QPT_UD)
		return share_error(EOPNOTSUPP, "queue pairs of type RC, UC and"
					       " UD can be shared");
	if (!init->send_cq || !init->recv_cq ||
	    share_context_of(init->send_cq->context) != ctx ||
	    share_context_of(init->recv_cq->context) != ctx)
		return share_error(EINVAL, "both CQs have to come from"
					   " ibv_share_create_cq() of the PD's"
					   " context");
	if (!init->srq)
		return 0;
	if (share_context_of(init->srq->context) != ctx)
		return share_error(EINVAL, "the SRQ has to come from"
					   " ibv_share_create_srq() of the PD's"
					   " context");
	if (&share_srq_of(init->srq)->cq->ibv != init->recv_cq)
		return share_error(EINVAL, "recv_cq has to be the CQ that the"
					   " SRQ was made with");
	return 0;
}

static struct share_new_qp new_qp_from(struct share_pd *pd,
				       const struct ibv_qp_init_attr *init)
{
	return (struct share_new_qp){
		.pd = pd->real->handle,
		.send_cq = share_cq_of(init->send_cq)->handle,
		.recv_cq = share_cq_of(init->recv_cq)->handle,
		.srq = init->srq ? share_srq_of(init->srq)->handle : SHARE_NO_SRQ,
		.type = init->qp_type,
		.cap = init->cap,
	};
}

static void qp_publish(struct share_qp *qp)
{
	qp->ibv.handle = qp->obj.import;
	qp->ibv.qp_num = qp->path.view.attr.qp_num;
	qp->ibv.qp_type = (enum ibv_qp_type)qp->path.view.attr.qp_type;
	qp_set_import(qp, qp->obj.import);
	qp_use(qp, 1);
}

struct ibv_qp *ibv_share_create_qp(struct ibv_pd *ibv_pd,
				   struct ibv_qp_init_attr *init)
{
	struct share_pd *pd = share_pd_of(ibv_pd);
	struct share_new_qp new_qp;
	struct share_qp *qp;

	if (!pd || qp_check(pd, init))
		return NULL;
	qp = share_qp_new(pd, share_cq_of(init->send_cq),
			  share_cq_of(init->recv_cq));
	if (!qp)
		return NULL;
	qp->ibv.srq = init->srq;
	new_qp = new_qp_from(pd, init);
	new_qp.cookie = share_control_new_cookie(&qp->obj.ctx->control);
	if (share_create_qp(&qp->obj.ctx->file, &new_qp))
		goto err_free;
	qp->handle = new_qp.handle;
	qp->sq = new_qp.sq;
	qp->rq = new_qp.rq;
	if (qp_register(qp, &new_qp, init->sq_sig_all))
		goto err_destroy;
	if (qp_attach(qp) || qp_export(qp))
		goto err_drop;
	qp->ibv.qp_context = init->qp_context;
	init->cap = qp->cap;
	qp_publish(qp);
	share_object_publish(&qp->obj);
	return &qp->ibv;

err_drop:
	share_object_drop(&qp->obj);
	share_control_del_qp(&qp->obj.ctx->control, qp->index, 1);
err_destroy:
	share_destroy_qp(&qp->obj.ctx->file, qp->handle);
err_free:
	share_qp_delete(qp);
	return NULL;
}

/* What the rights do not open stays unmapped: posting there answers EACCES. */
static int map_ring(struct share_qp *qp, const struct ib_uverbs_share_info *info,
		    enum ib_uverbs_share_ring ring, struct share_map *result)
{
	if (!info->ring_bytes[ring])
		return 0;
	result->bytes = info->ring_bytes[ring];
	result->addr = share_map_ring(qp->obj.grant, ring, result->bytes);
	return result->addr ? 0 : share_error_ioctl(errno, "mapping a ring");
}

/* What the bundle says and what the control segment says. */
static int srq_fits(const struct share_qp *qp)
{
	const uint32_t srq = qp->path.view.attr.srq;

	if (!qp->ibv.srq)
		return !srq;
	return srq == share_srq_of(qp->ibv.srq)->index + 1 &&
	       qp->path.view.attr.recv_cq == qp->path.srq->view.attr.cq;
}

static int qp_import(struct share_qp *qp)
{
	struct ib_uverbs_share_info info;
	int ret = share_object_import(&qp->obj, -1, &info);

	if (!ret)
		ret = map_ring(qp, &info, IB_UVERBS_SHARE_RING_SEND, &qp->sq);
	if (!ret)
		ret = map_ring(qp, &info, IB_UVERBS_SHARE_RING_RECV, &qp->rq);
	if (!ret)
		ret = qp_attach(qp);
	/* the kernel knows better which QP that grant is */
	if (!ret && (qp->path.view.attr.qp_num != info.qp_num || !srq_fits(qp)))
		ret = share_error(EBADMSG, "the bundle confuses two QPs");
	return ret;
}

struct share_object *share_qp_receive(int grant,
				      const struct share_bundle_object *o,
				      struct share_object *pd,
				      struct share_object *send_cq,
				      struct share_object *recv_cq,
				      struct share_object *srq)
{
	struct share_qp *qp = share_qp_new(
		share_container_of(pd, struct share_pd, obj),
		share_container_of(send_cq, struct share_cq, obj),
		share_container_of(recv_cq, struct share_cq, obj));

	if (!qp)
		return NULL;
	if (srq)
		qp->ibv.srq =
			&share_container_of(srq, struct share_srq, obj)->ibv;
	qp->index = o->index;
	qp->obj.grant = grant;
	if (qp_import(qp)) {
		qp->obj.grant = -1;
		share_object_drop(&qp->obj);
		share_qp_delete(qp);
		return NULL;
	}
	qp_publish(qp);
	return &qp->obj;
}

void share_qp_describe(const struct share_object *obj,
		       struct share_bundle_object *o)
{
	const struct share_qp *qp =
		share_container_of(obj, struct share_qp, obj);

	o->index = qp->index;
	o->pd = share_pd_of(qp->ibv.pd)->obj.position;
	o->send_cq = share_cq_of(qp->ibv.send_cq)->obj.position;
	o->recv_cq = share_cq_of(qp->ibv.recv_cq)->obj.position;
	if (qp->ibv.srq)
		o->srq = share_srq_of(qp->ibv.srq)->obj.position + 1;
}

void share_qp_free(struct share_object *obj)
{
	struct share_qp *qp = share_container_of(obj, struct share_qp, obj);

	qp_set_import(qp, SHARE_NO_HANDLE);
	share_object_unpublish(obj);
	share_object_drop(obj);
	qp_use(qp, -1);
	share_qp_delete(qp);
}

/*
 * For everybody. First nobody posts any more, so that nobody is writing to a
 * ring when it is taken away; a stopped process that holds a lock does not
 * stop this. The rings of this process stay mapped to the end.
 */
static int qp_destroy(struct share_qp *qp)
{
	struct ibv_share_context *ctx = qp->obj.ctx;
	int ret;

	share_qp_begin_delete(&qp->path);
	share_object_drop(&qp->obj);
	ret = share_destroy_qp(&ctx->file, qp->handle);
	if (ret)
		return share_error_ioctl(ret, "destroying a QP");
	share_qp_path_delete(&qp->path);
	return 0;
}

int ibv_share_destroy_qp(struct ibv_qp *ibv)
{
	struct share_qp *qp = share_qp_of(ibv);
	int ret;

	if (!qp)
		return errno;
	ret = share_context_check(qp->obj.ctx);
	if (!ret)
		ret = share_qp_acked(qp);
	if (!ret && qp->obj.ctx->is_maker)
		ret = qp_destroy(qp);
	if (!ret)
		share_qp_free(&qp->obj);
	return ret;
}

int ibv_share_name_qp(struct ibv_qp *ibv, const char *name)
{
	struct share_qp *qp = share_qp_of(ibv);

	return qp ? share_object_rename(&qp->obj, name) : errno;
}

struct ibv_qp *ibv_share_get_qp(struct ibv_share_context *ctx,
				const char *name)
{
	struct share_object *obj =
		share_object_find(ctx, IB_UVERBS_SHARE_QP, name);

	return obj ? &share_container_of(obj, struct share_qp, obj)->ibv : NULL;
}
