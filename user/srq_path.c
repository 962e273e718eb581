// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * An SRQ as one process has it, and the end of its receives without
 * completions.
 */
#include <errno.h>
#include <string.h>
#include "directory.h"
#include "mailbox.h"
#include "post_srq.h"
#include "provider.h"
#include "shadow.h"

int share_srq_path_init(struct share_srq_path *path,
			struct share_control *control, uint32_t index,
			struct share_cq_path *cq,
			const struct share_provider *provider, void *base,
			size_t bytes)
{
	const struct share_srq_attr *attr = &path->view.attr;
	int ret;

	memset(path, 0, sizeof(*path));
	path->control = control;
	path->cq = cq;
	ret = share_control_srq(control, index, &path->view);
	if (!ret)
		ret = share_control_cq(control, attr->cq, &path->cq_view);
	if (ret)
		return ret;
	if ((cq && cq->view.index != attr->cq) || attr->max_sge > 4096)
		return EBADMSG;
	if (!base)
		return 0;
	ret = share_ring_attach(&path->ring, provider, base, bytes,
				provider->recv_bytes(attr->max_sge));
	if (!ret && share_ring_entries(&path->ring) != attr->entries)
		ret = EBADMSG;
	return ret;
}

static int lock_srq(struct share_srq_path *path)
{
	int ret = share_lock(&path->view.body->post.lock, &path->control->me);

	if (ret != EOWNERDEAD)
		return ret;
	share_srq_sweep(&path->view);
	share_store(&path->cq_view.body->recount, 1);
	return 0;
}

static void unlock_srq(struct share_srq_path *path)
{
	share_unlock(&path->view.body->post.lock, &path->control->me);
}

/*
 * Under both locks: ends those that are not among the newest @kept. Credits
 * last: given twice they would make the CQ overflow.
 */
static void retire(struct share_srq_path *path, uint32_t kept)
{
	const struct share_srq_view *view = &path->view;
	const uint32_t head = share_load(&view->body->post.head);
	struct share_shadow *shadow;
	uint32_t i, num = 0;

	for (i = 0; i < view->places; i++) {
		shadow = &view->shadow[i];
		if (share_load(&shadow->state) != SHARE_SHADOW_POSTED ||
		    head - share_load(&shadow->sequence) <= kept)
			continue;
		share_shadow_retire(path->control, &path->cq_view, shadow);
		num++;
	}
	share_credit_give(&path->cq_view.body->credits, num);
}

/*
 * Those that the device has taken from the ring, or all. The order matters: who
 * took one before the first look was reset before the second, and whatever
 * completed until then is handed out by the third step.
 */
static int give_up(struct share_srq_path *path, int all)
{
	const struct share_member *me = &path->control->me;
	const struct share_ring *ring = &path->ring;
	struct share_kicks kicks = { .num = 0 };
	int ret = lock_srq(path), unused;
	uint32_t kept = 0;

	if (ret)
		return ret;
	if (!all)
		kept = ring->provider->used(
			ring, share_load(&path->view.body->post.head));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	unused = all ||
		 !share_control_srq_used(path->control, path->view.index);
	if (unused)
		ret = share_steer_locked(path->cq, me, 0, &kicks);
	if (unused && !ret) {
		retire(path, kept);
		share_unlock(&path->cq_view.body->lock, me);
	}
	unlock_srq(path);
	share_steer_kick(path->cq, &kicks);
	return ret;
}

void share_srq_reclaim(struct share_srq_path *path)
{
	if (path->ring.base && path->cq &&
	    !share_control_srq_used(path->control, path->view.index) &&
	    !share_control_srq_live(path->control, &path->view))
		give_up(path, 0);
}

int share_srq_begin_delete(struct share_srq_path *path)
{
	int ret = share_lock(&path->view.body->post.lock, &path->control->me);

	share_control_del_srq(path->control, path->view.index, 0);
	if (ret && ret != EOWNERDEAD)
		return ret;
	unlock_srq(path);
	return 0;
}

int share_srq_path_delete(struct share_srq_path *path)
{
	int ret = give_up(path, 1);

	if (!ret)
		share_control_del_srq(path->control, path->view.index, 1);
	return ret;
}
