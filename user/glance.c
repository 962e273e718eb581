// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Most polls find nothing, so they look at the ring before they take the lock.
 * The ring of a CQ that is destroyed must not be taken away under them, that
 * would be SIGBUS. Who looks counts itself in, in a line of its own, and looks
 * at the entry of the CQ; who destroys changes the entry and looks at the
 * counts. Both are sequentially consistent: one of the two sees the other.
 */
#include <errno.h>
#include <time.h>
#include "futex.h"
#include "glance.h"
#include "mailbox.h"
#include "provider.h"

static int enter(const struct share_cq_path *path)
{
	struct share_mailbox *box =
		share_mailbox_of(&path->view, path->control->me.slot);

	__atomic_fetch_add(&box->looking, 1, __ATOMIC_SEQ_CST);
	return share_control_cq_live(path->control, &path->view);
}

static void leave(const struct share_cq_path *path)
{
	struct share_mailbox *box =
		share_mailbox_of(&path->view, path->control->me.slot);

	__atomic_fetch_sub(&box->looking, 1, __ATOMIC_RELEASE);
}

int share_glance_empty(const struct share_cq_path *path)
{
	int empty = enter(path) || path->ring.provider->cq_empty(&path->ring);

	leave(path);
	return empty;
}

int share_glance_peek(const struct share_cq_path *path, struct ibv_wc *wc)
{
	int there = !enter(path) && path->ring.provider->cq_peek(&path->ring, wc);

	leave(path);
	return there;
}

/* A process that was killed there looks no more. */
static int is_looking(const struct share_control *control,
		      const struct share_cq_view *view, uint32_t slot)
{
	const struct share_member *me = &control->me;
	uint32_t generation;

	if (!share_load_acquire(&share_mailbox_of(view, slot)->looking))
		return 0;
	generation = share_load(&share_control_slot(control, slot)->generation);
	return me->env.slot_alive(me->env.arg, slot,
				  generation & SHARE_LOCK_GENERATION_MASK);
}

int share_glance_wait(const struct share_control *control,
		      const struct share_cq_view *view)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	uint32_t start = share_now_ms(), slot;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (slot = 0; slot < SHARE_MAX_SLOTS; slot++) {
		while (is_looking(control, view, slot)) {
			if (share_now_ms() - start >= control->me.timeout_ms)
				return ETIMEDOUT;
			nanosleep(&pause, NULL);
		}
	}
	return 0;
}
