// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * SRQs in the directory of the control segment.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include "control.h"
#include "directory.h"

static uint64_t srq_bytes(const struct share_entry *e)
{
	return sizeof(struct share_srq_body) +
	       (uint64_t)e->sq_entries * sizeof(struct share_shadow);
}

static int is_power_of_two(uint32_t n)
{
	return n >= 2 && n <= SHARE_MAX_ENTRIES && !(n & (n - 1));
}

static int srq_is_sane(const struct share_entry *e)
{
	return is_power_of_two(e->sq_entries) &&
	       is_power_of_two(e->rq_entries) &&
	       e->sq_entries >= e->rq_entries && e->recv_cq < SHARE_MAX_CQS;
}

int share_control_srq(const struct share_control *control, uint32_t index,
		      struct share_srq_view *view)
{
	struct share_entry e;
	int ret;

	if (index >= SHARE_MAX_SRQS)
		return ENOENT;
	ret = share_directory_load(control, &share_control_srqs(control)[index],
				   &e);
	if (ret)
		return ret;
	if (!srq_is_sane(&e) || srq_bytes(&e) > e.bytes)
		return EBADMSG;
	view->body = (void *)(control->base + e.offset);
	view->shadow = (void *)(view->body + 1);
	view->index = index;
	view->generation = e.generation;
	view->places = e.sq_entries;
	view->attr = (struct share_srq_attr){
		.entries = e.rq_entries,
		.max_sge = e.max_recv_sge,
		.cq = e.recv_cq,
		.cookie = e.cookie,
	};
	return 0;
}

int share_control_srq_live(const struct share_control *control,
			   const struct share_srq_view *view)
{
	return share_directory_live(&share_control_srqs(control)[view->index],
				    view->generation);
}

/*
 * The state is RESET already while the kernel is asked to reset it, and the
 * entry LOST while it is being destroyed.
 */
static int may_receive(const struct share_control *control, uint32_t index)
{
	const struct share_entry *entry = &share_control_qps(control)[index];
	struct share_qp_view qp;

	if (share_load_acquire(&entry->state) == SHARE_ENTRY_LOST)
		return 1;
	return !share_control_qp(control, index, &qp) &&
	       (share_load_acquire(&qp.body->state) != IBV_QPS_RESET ||
		share_load(&qp.body->resetting));
}

int share_control_srq_used(const struct share_control *control, uint32_t srq)
{
	const struct share_entry *qps = share_control_qps(control);
	uint32_t i;

	for (i = 0; i < share_control_used_qps(control); i++) {
		if (share_load(&qps[i].state) != SHARE_ENTRY_FREE &&
		    share_load(&qps[i].srq) == srq + 1 &&
		    may_receive(control, i))
			return 1;
	}
	return 0;
}

/*
 * Its ring begins with entry 0, and no number is used twice: a completion of a
 * former SRQ of the same index finds nothing.
 */
static void clear_srq(struct share_srq_body *body, uint64_t bytes)
{
	const size_t rest = offsetof(struct share_srq_body, takeovers);
	uint32_t *head = &body->post.head;

	share_store(head, (share_load(head) | (SHARE_MAX_ENTRIES - 1)) + 1);
	share_store(&body->post.lock, 0);
	share_clear((char *)body + rest, bytes - rest);
}

int share_control_add_srq(struct share_control *control,
			  const struct share_srq_attr *attr, uint32_t *index)
{
	struct share_entry *table = share_control_srqs(control);
	struct share_entry e = {
		/* some may be in the hands of QPs while the ring is full */
		.sq_entries = attr->entries < SHARE_MAX_ENTRIES ? attr->entries * 2 : attr->entries,
		.rq_entries = attr->entries,
		.max_recv_sge = attr->max_sge,
		.recv_cq = attr->cq,
		.cookie = attr->cookie,
	};
	int ret;

	if (!srq_is_sane(&e))
		return EINVAL;
	ret = share_directory_lock(control);
	if (ret)
		return ret;
	ret = share_directory_place(control, table, SHARE_MAX_SRQS,
				    srq_bytes(&e), &e, index);
	if (!ret) {
		clear_srq((void *)(control->base + e.offset), srq_bytes(&e));
		share_directory_publish(
			table, *index,
			&share_control_header(control)->used_srqs, &e);
	}
	share_directory_unlock(control);
	return ret;
}

int share_control_del_srq(struct share_control *control, uint32_t index,
			  int reusable)
{
	if (index >= SHARE_MAX_SRQS)
		return EINVAL;
	share_store_release(&share_control_srqs(control)[index].state,
			    reusable ? SHARE_ENTRY_FREE : SHARE_ENTRY_LOST);
	return 0;
}
