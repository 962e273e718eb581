// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Slots of a shared context: who is in it, alive or dead, and being woken.
 */
#include <sys/eventfd.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define SLOTS IB_UVERBS_SHARE_MAX_SLOTS

FIXTURE(slots)
{
	int exporter, fd;
	struct export_args export;
	struct import first;
	int event;
};

FIXTURE_SETUP(slots)
{
	self->exporter = dev_open("rxe0");
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->exporter);
	ASSERT_LE(0, self->fd);
	self->export = EXPORT_OF(self->exporter, ABSENT);
	test_export(self->exporter, &self->export);
	self->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	self->first = IMPORT_OF(self->export.grant);
	self->first.event = self->event;
	test_import(self->fd, &self->first);
}

FIXTURE_TEARDOWN(slots)
{
	close(self->fd);
	close(self->exporter);
}

static int state_of(FIXTURE_DATA(slots) *self, uint32_t slot)
{
	struct ib_uverbs_share_slot out;

	return do_query_slot(self->fd, self->first.handle, slot, &out) ? -1 : (int)out.state;
}

TEST_F(slots, own)
{
	struct ib_uverbs_share_slot slot;

	memset(&slot, 0xff, sizeof(slot));
	EXPECT_EQ(0, self->first.info.slot);
	test_query_slot(self->fd, self->first.handle, 0, &slot);
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_LIVE, slot.state);
	EXPECT_EQ(1, slot.generation);
	EXPECT_EQ(getpid(), slot.pid);
	EXPECT_EQ(0, slot.reserved);

	test_query_slot(self->fd, self->first.handle, SLOTS - 1, &slot);
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_FREE, slot.state);
	EXPECT_EQ(0, slot.generation);
	EXPECT_EQ(0, slot.pid);
}

TEST_F(slots, all_taken)
{
	struct import import[SLOTS];
	uint32_t i;

	for (i = 1; i < SLOTS; i++) {
		import[i] = IMPORT_OF(self->export.grant);
		test_import(self->fd, &import[i]);
		EXPECT_EQ(i, import[i].info.slot);
	}
	import[0] = IMPORT_OF(self->export.grant);
	test_err_import(ENOSPC, self->fd, &import[0]);

	/* one that is given back is given away again, in the next generation */
	test_release(self->fd, import[17].handle);
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_FREE, state_of(self, 17));
	test_import(self->fd, &import[0]);
	EXPECT_EQ(17, import[0].info.slot);
	EXPECT_EQ(2, import[0].info.generation);
	test_err_import(ENOSPC, self->fd, &import[17]);
}

TEST_F(slots, wake)
{
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct import second = IMPORT_OF(self->export.grant);

	second.event = event;
	test_import(self->fd, &second);
	EXPECT_EQ(0, event_count(event));
	EXPECT_EQ(0, event_count(self->event));

	test_wake_slot(self->fd, self->first.handle, 1);
	EXPECT_EQ(1, event_count(event));
	EXPECT_EQ(0, event_count(self->event));
	/* also oneself, if asked for by number */
	test_wake_slot(self->fd, self->first.handle, 0);
	EXPECT_EQ(1, event_count(self->event));
	/* all means all others */
	test_wake_slot(self->fd, self->first.handle, IB_UVERBS_SHARE_ALL_SLOTS);
	EXPECT_EQ(1, event_count(event));
	EXPECT_EQ(0, event_count(self->event));
	/* nobody there */
	test_wake_slot(self->fd, self->first.handle, 63);

	test_release(self->fd, second.handle);
	EXPECT_EQ(1, event_count(self->event));
	EXPECT_EQ(0, event_count(event));
	test_wake_slot(self->fd, self->first.handle, 1);
	EXPECT_EQ(0, event_count(event));
}

TEST_F(slots, revoke_wakes)
{
	test_revoke(self->exporter, self->export.handle);
	EXPECT_EQ(1, event_count(self->event));
	test_err_wake_slot(ENOLINK, self->fd, self->first.handle, 0);
	test_err_query_slot(ENOLINK, self->fd, self->first.handle, 0,
			    &(struct ib_uverbs_share_slot){});
	test_release(self->fd, self->first.handle);
}

static void join(int sock, void *arg)
{
	struct import import = IMPORT_OF(*(int *)arg);
	int fd = dev_open("rxe0");

	CHILD_CHECK(fd >= 0);
	CHILD_CHECK(!do_import(fd, &import));
	CHILD_CHECK(import.info.slot == 1);
	CHILD_CHECK(!say(sock));
	hear(sock);
}

TEST_F(slots, other_process)
{
	struct ib_uverbs_share_slot slot;
	struct child child;

	test_ok(child_start(&child, join, &self->export.grant));
	test_ok(hear(child.sock));
	test_query_slot(self->fd, self->first.handle, 1, &slot);
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_LIVE, slot.state);
	EXPECT_EQ(child.pid, slot.pid);
	EXPECT_EQ(0, event_count(self->event));
	child_kill(&child);
	/* the others are told */
	EXPECT_TRUE(wait_for(event_count(self->event)));
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_FREE, state_of(self, 1));
}

struct family {
	int grant;
	int keep[2]; /* the grandchild lives until its writer is closed */
};

/* dies and leaves a child that holds its uverbs file */
static void join_and_fork(int sock, void *arg)
{
	struct family *family = arg;
	struct import import = IMPORT_OF(family->grant);
	int fd = dev_open("rxe0");
	char c;

	CHILD_CHECK(fd >= 0);
	CHILD_CHECK(!do_import(fd, &import));
	if (!fork()) {
		close(family->keep[1]);
		close(sock);
		CHILD_CHECK(read(family->keep[0], &c, 1) == 0);
		_exit(0);
	}
	CHILD_CHECK(!say(sock));
	hear(sock);
}

TEST_F(slots, dead_while_a_child_holds_the_file)
{
	struct family family = { .grant = self->export.grant };
	struct child child;

	ASSERT_EQ(0, pipe(family.keep));
	test_ok(child_start(&child, join_and_fork, &family));
	test_ok(hear(child.sock));
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_LIVE, state_of(self, 1));
	child_kill(&child);
	EXPECT_TRUE(wait_for(state_of(self, 1) == IB_UVERBS_SHARE_SLOT_DEAD));
	EXPECT_EQ(0, event_count(self->event));
	/* and then it is free */
	close(family.keep[1]);
	EXPECT_TRUE(wait_for(state_of(self, 1) == IB_UVERBS_SHARE_SLOT_FREE));
	EXPECT_EQ(1, event_count(self->event));
}

TEST_HARNESS_MAIN
