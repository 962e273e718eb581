// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The directory of the control segment: which CQs and QPs there are. Written
 * by the exporter, read and checked by all.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include "control.h"
#include "directory.h"
#include "glance.h"

static int is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static uint64_t cq_bytes(const struct share_entry *e)
{
	return sizeof(struct share_cq_body) +
	       (uint64_t)SHARE_MAX_SLOTS * e->mailbox_entries *
		       sizeof(struct share_completion);
}

static uint64_t qp_bytes(const struct share_entry *e)
{
	return sizeof(struct share_qp_body) +
	       ((uint64_t)e->sq_entries + e->rq_entries) *
		       sizeof(struct share_shadow);
}

/*
 * The state is loaded first and again last: a copy of an entry that is given
 * away meanwhile is not taken for the new object.
 */
int share_directory_load(const struct share_control *control,
			 const struct share_entry *shared, struct share_entry *e)
{
	if (share_load_acquire(&shared->state) != SHARE_ENTRY_LIVE)
		return ENOENT;
	share_copy_in(e, shared, sizeof(*e));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (share_load(&shared->state) != SHARE_ENTRY_LIVE ||
	    share_load(&shared->generation) != e->generation)
		return ENOENT;
	return share_directory_check_place(control, e);
}

int share_control_cq(const struct share_control *control, uint32_t index,
		     struct share_cq_view *view)
{
	struct share_entry e;
	int ret;

	if (index >= SHARE_MAX_CQS)
		return ENOENT;
	ret = share_directory_load(control, &share_control_cqs(control)[index], &e);
	if (ret)
		return ret;
	if (!e.capacity || e.capacity >= SHARE_MAX_ENTRIES ||
	    e.mailbox_entries > SHARE_MAX_ENTRIES ||
	    !is_power_of_two(e.mailbox_entries) ||
	    e.mailbox_entries < e.capacity || cq_bytes(&e) > e.bytes ||
	    e.flags & ~SHARE_CQ_ANY)
		return EBADMSG;
	view->body = (void *)(control->base + e.offset);
	view->mail = (void *)(view->body + 1);
	view->index = index;
	view->generation = e.generation;
	view->capacity = e.capacity;
	view->mailbox_entries = e.mailbox_entries;
	view->cookie = e.cookie;
	view->flags = e.flags;
	return 0;
}

static int qp_is_sane(const struct share_entry *e)
{
	return e->sq_entries >= 2 && e->sq_entries <= SHARE_MAX_ENTRIES &&
	       is_power_of_two(e->sq_entries) &&
	       (!e->rq_entries ||
		(is_power_of_two(e->rq_entries) && e->rq_entries >= 2 &&
		 e->rq_entries <= SHARE_MAX_ENTRIES)) &&
	       (e->qp_type == IBV_QPT_RC || e->qp_type == IBV_QPT_UC ||
		e->qp_type == IBV_QPT_UD) &&
	       e->send_cq < SHARE_MAX_CQS && e->recv_cq < SHARE_MAX_CQS &&
	       e->srq <= SHARE_MAX_SRQS && !(e->srq && e->rq_entries);
}

static void copy_attr(struct share_qp_attr *attr, const struct share_entry *e)
{
	attr->qp_num = e->qp_num;
	attr->qp_type = e->qp_type;
	attr->sq_entries = e->sq_entries;
	attr->rq_entries = e->rq_entries;
	attr->max_send_sge = e->max_send_sge;
	attr->max_recv_sge = e->max_recv_sge;
	attr->max_inline = e->max_inline;
	attr->sq_sig_all = e->sq_sig_all;
	attr->send_cq = e->send_cq;
	attr->recv_cq = e->recv_cq;
	attr->cookie = e->cookie;
	attr->srq = e->srq;
}

int share_control_qp(const struct share_control *control, uint32_t index,
		     struct share_qp_view *view)
{
	struct share_entry e;
	int ret;

	if (index >= SHARE_MAX_QPS)
		return ENOENT;
	ret = share_directory_load(control, &share_control_qps(control)[index], &e);
	if (ret)
		return ret;
	if (!qp_is_sane(&e) || qp_bytes(&e) > e.bytes)
		return EBADMSG;
	view->body = (void *)(control->base + e.offset);
	view->send_shadow = (void *)(view->body + 1);
	view->recv_shadow = view->send_shadow + e.sq_entries;
	view->index = index;
	view->generation = e.generation;
	copy_attr(&view->attr, &e);
	return 0;
}

int share_control_find_qp(const struct share_control *control, uint32_t qp_num,
			  struct share_qp_view *view)
{
	uint32_t i;

	for (i = 0; i < share_control_used_qps(control); i++)
		if (!share_control_qp(control, i, view) &&
		    view->attr.qp_num == qp_num)
			return 0;
	return ENOENT;
}

int share_directory_live(const struct share_entry *shared, uint32_t generation)
{
	return share_load_acquire(&shared->state) == SHARE_ENTRY_LIVE &&
			       share_load(&shared->generation) == generation
		       ? 0
		       : ENOLINK;
}

int share_control_cq_live(const struct share_control *control,
			  const struct share_cq_view *view)
{
	return share_directory_live(&share_control_cqs(control)[view->index],
				    view->generation);
}

int share_control_qp_live(const struct share_control *control,
			  const struct share_qp_view *view)
{
	return share_directory_live(&share_control_qps(control)[view->index],
				    view->generation);
}

int share_control_qp_deleted(const struct share_control *control,
			     const struct share_qp_view *view)
{
	const struct share_entry *entry =
		&share_control_qps(control)[view->index];

	return share_load_acquire(&entry->state) == SHARE_ENTRY_FREE ||
	       share_load(&entry->generation) != view->generation;
}

int share_control_add_cq(struct share_control *control,
			 const struct share_cq_attr *attr, uint32_t *index)
{
	struct share_entry *table = share_control_cqs(control);
	struct share_entry e = { .capacity = attr->capacity,
				 .cookie = attr->cookie,
				 .flags = attr->flags };
	int ret;

	if (!attr->capacity || attr->capacity >= SHARE_MAX_ENTRIES)
		return EINVAL;
	for (e.mailbox_entries = 1; e.mailbox_entries <= attr->capacity;)
		e.mailbox_entries *= 2;
	ret = share_directory_lock(control);
	if (ret)
		return ret;
	ret = share_directory_place(control, table, SHARE_MAX_CQS, cq_bytes(&e), &e,
				    index);
	if (!ret) {
		share_clear(control->base + e.offset,
			    sizeof(struct share_cq_body));
		share_directory_publish(table, *index,
					&share_control_header(control)->used_cqs, &e);
	}
	share_directory_unlock(control);
	return ret;
}

static int cq_is_used(const struct share_control *control, uint32_t index)
{
	const struct share_entry *qps = share_control_qps(control);
	const struct share_entry *srqs = share_control_srqs(control);
	uint32_t i;

	for (i = 0; i < SHARE_MAX_SRQS; i++) {
		if (share_load(&srqs[i].state) == SHARE_ENTRY_LIVE &&
		    share_load(&srqs[i].recv_cq) == index)
			return 1;
	}
	for (i = 0; i < SHARE_MAX_QPS; i++) {
		if (share_load(&qps[i].state) == SHARE_ENTRY_LIVE &&
		    (share_load(&qps[i].send_cq) == index ||
		     share_load(&qps[i].recv_cq) == index))
			return 1;
	}
	return 0;
}

/* Who gets the lock of the CQ after us finds that it is not live any more. */
static void end_cq(struct share_control *control,
		   const struct share_cq_view *view)
{
	uint32_t *state = &share_control_cqs(control)[view->index].state;
	int ret = share_lock(&view->body->lock, &control->me);

	if (ret && ret != EOWNERDEAD) {
		share_store_release(state, SHARE_ENTRY_LOST);
		return;
	}
	/* not given away again while somebody looks at the ring */
	share_store(state, SHARE_ENTRY_LOST);
	if (!share_glance_wait(control, view))
		share_store_release(state, SHARE_ENTRY_FREE);
	share_unlock(&view->body->lock, &control->me);
}

int share_control_del_cq(struct share_control *control, uint32_t index)
{
	struct share_cq_view view;
	int ret = share_directory_lock(control);

	if (ret)
		return ret;
	ret = share_control_cq(control, index, &view);
	if (!ret && cq_is_used(control, index))
		ret = EBUSY;
	if (!ret)
		end_cq(control, &view);
	share_directory_unlock(control);
	return ret;
}

static void clear_qp(struct share_qp_body *body, const struct share_member *me)
{
	uint32_t epoch = share_load(&body->epoch);

	share_clear(body, sizeof(*body));
	share_store(&body->state, IBV_QPS_RESET);
	share_store(&body->epoch, (epoch + 1) & SHARE_EPOCH_MASK);
	share_store(&body->gate.server, me->slot);
	share_store(&body->gate.server_generation, me->generation);
}

int share_control_add_qp(struct share_control *control,
			 const struct share_qp_attr *attr, uint32_t *index)
{
	struct share_entry *table = share_control_qps(control);
	struct share_entry e = {
		.sq_entries = attr->sq_entries,
		.rq_entries = attr->rq_entries,
		.qp_num = attr->qp_num,
		.qp_type = attr->qp_type,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.max_send_sge = attr->max_send_sge,
		.max_recv_sge = attr->max_recv_sge,
		.max_inline = attr->max_inline,
		.sq_sig_all = attr->sq_sig_all,
		.cookie = attr->cookie,
		.srq = attr->srq,
	};
	int ret;

	if (!qp_is_sane(&e))
		return EINVAL;
	ret = share_directory_lock(control);
	if (ret)
		return ret;
	ret = share_directory_place(control, table, SHARE_MAX_QPS, qp_bytes(&e), &e,
				    index);
	if (!ret) {
		clear_qp((void *)(control->base + e.offset), &control->me);
		share_directory_publish(table, *index,
					&share_control_header(control)->used_qps, &e);
	}
	share_directory_unlock(control);
	return ret;
}

int share_control_del_qp(struct share_control *control, uint32_t index,
			 int reusable)
{
	if (index >= SHARE_MAX_QPS)
		return EINVAL;
	share_store_release(&share_control_qps(control)[index].state,
			    reusable ? SHARE_ENTRY_FREE : SHARE_ENTRY_LOST);
	return 0;
}
