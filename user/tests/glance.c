// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Nobody is near a ring when it is taken away.
 */
#include <errno.h>
#include "../directory.h"
#include "../glance.h"
#include "../mailbox.h"
#include "bed.h"
#include "tap.h"

static struct bed bed;
static struct node exporter, other;
static uint64_t buffers[64];

static int setup(uint32_t entries)
{
	return bed_make(&bed, &exporter, entries, 256, 0) &&
	       bed_join(&bed, &other, 1, 1);
}

static int teardown(void)
{
	bed_leave(&other);
	bed_free(&bed, &exporter);
	return 1;
}

/* From before the ring of a QP is taken away nobody may look at it. */
static int begin_delete(void)
{
	CHECK(setup(16));
	CHECK(!share_qp_begin_delete(&exporter.qp));
	CHECK(bed_send(&exporter, 0, 1, 0) == ENOLINK);
	CHECK(bed_recv(&other, 0, buffers) == ENOLINK);
	CHECK(!share_qp_path_delete(&exporter.qp));
	CHECK(share_qp_path_delete(&exporter.qp) == ENOLINK);
	return teardown();
}

/* Whoever looks at the ring of a CQ keeps it, unless it is dead or stopped. */
static int look_at_ring(void)
{
	struct share_mailbox *box;
	uint32_t *state;

	CHECK(setup(16));
	state = &share_control_cqs(&exporter.control)[0].state;
	box = share_mailbox_of(&exporter.cq.view, other.control.me.slot);
	CHECK(!share_control_del_qp(&exporter.control, 0, 1));
	exporter.control.me.timeout_ms = 50;
	share_store(&box->looking, 1);
	CHECK(!share_control_del_cq(&exporter.control, 0));
	CHECK(share_load(state) == SHARE_ENTRY_LOST);
	CHECK(share_glance_empty(&other.cq) == 1);
	CHECK(share_load(&box->looking) == 1);
	CHECK(share_glance_wait(&exporter.control, &exporter.cq.view) == ETIMEDOUT);
	share_store(&bed.dev->generations[other.control.me.slot], 0);
	CHECK(!share_glance_wait(&exporter.control, &exporter.cq.view));
	return teardown();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(begin_delete),
		TEST(look_at_ring),
	};

	return RUN_TESTS(tests);
}
