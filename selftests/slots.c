// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Slots of a shared context: who is in it, alive or dead, and being woken.
 */
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/time.h>

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

/* sleeps until it is signaled, and is so exactly once */
static bool wakes(int event)
{
	struct pollfd pfd = { .fd = event, .events = POLLIN };

	return poll(&pfd, 1, WAIT_MS) == 1 && event_count(event) == 1;
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

struct two_grants {
	struct family family;
	int second;
};

static void join_two_and_fork(int sock, void *arg)
{
	struct two_grants *grants = arg;
	struct import import = IMPORT_OF(grants->second);
	int fd = dev_open("rxe0");

	CHILD_CHECK(fd >= 0 && !do_import(fd, &import));
	join_and_fork(sock, &grants->family);
}

TEST_F(slots, dead_while_a_child_holds_the_file)
{
	struct family family = { .grant = self->export.grant };
	struct child child;

	ASSERT_EQ(0, pipe(family.keep));
	test_ok(child_start(&child, join_and_fork, &family));
	test_ok(hear(child.sock));
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_LIVE, state_of(self, 1));
	EXPECT_EQ(0, event_count(self->event));
	child_kill(&child);
	/* who is woken finds it dead, and is woken once */
	EXPECT_TRUE(wakes(self->event));
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_DEAD, state_of(self, 1));
	EXPECT_EQ(0, event_count(self->event));
	/* and then it is free */
	close(family.keep[1]);
	EXPECT_TRUE(wakes(self->event));
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_FREE, state_of(self, 1));
	EXPECT_EQ(0, event_count(self->event));
}

/* calls exec; a child holds the uverbs file, which is close-on-exec */
static void join_and_exec(int sock, void *arg)
{
	struct family *family = arg;
	char c;

	join_and_fork(sock, arg);
	close(family->keep[1]);
	dup2(family->keep[0], 0);
	/* until the writer is closed */
	execl("/bin/cat", "cat", NULL);
	CHILD_CHECK(read(family->keep[0], &c, 1) == 0);
}

TEST_F(slots, dead_by_exec)
{
	struct family family = { .grant = self->export.grant };
	struct ib_uverbs_share_slot slot;
	struct child child;

	ASSERT_EQ(0, pipe(family.keep));
	test_ok(child_start(&child, join_and_exec, &family));
	test_ok(hear(child.sock));
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_LIVE, state_of(self, 1));
	EXPECT_EQ(0, event_count(self->event));
	say(child.sock);
	EXPECT_TRUE(wakes(self->event));
	test_query_slot(self->fd, self->first.handle, 1, &slot);
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_DEAD, slot.state);
	/* the process is there, under another program */
	EXPECT_EQ(child.pid, slot.pid);
	close(family.keep[1]);
	EXPECT_EQ(0, child_end(&child));
	EXPECT_TRUE(wait_for(state_of(self, 1) == IB_UVERBS_SHARE_SLOT_FREE));
}

/* a process with several slots dies once in each; its own are not told */
TEST_F(slots, dead_in_two_contexts)
{
	struct export_args other = EXPORT_OF(self->exporter, ABSENT);
	struct import in_other;
	struct two_grants grants;
	struct child child;
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	test_export(self->exporter, &other);
	in_other = IMPORT_OF(other.grant);
	in_other.event = event;
	test_import(self->fd, &in_other);
	ASSERT_EQ(0, pipe(grants.family.keep));
	grants.family.grant = self->export.grant;
	grants.second = other.grant;
	test_ok(child_start(&child, join_two_and_fork, &grants));
	test_ok(hear(child.sock));
	child_kill(&child);
	EXPECT_TRUE(wakes(self->event));
	EXPECT_TRUE(wakes(event));
	EXPECT_EQ(IB_UVERBS_SHARE_SLOT_DEAD, state_of(self, 1));
	close(grants.family.keep[1]);
	EXPECT_TRUE(wait_for(state_of(self, 1) == IB_UVERBS_SHARE_SLOT_FREE));
}

/* any holder of the right, whoever gave it to him; and nobody else */
static void wake_by_derived(int sock, void *arg)
{
	struct import import = IMPORT_OF(-1);
	int fd = dev_open("rxe0"), i;

	for (i = 0; i < 2; i++) {
		import.grant = recv_fd(sock);
		CHILD_CHECK(fd >= 0 && import.grant >= 0);
		CHILD_CHECK(!do_import(fd, &import));
		/* the first grant is for WAKE, the second for all else */
		CHILD_CHECK(do_wake_slot(fd, import.handle, 0) == (i ? EACCES : 0));
		CHILD_CHECK(do_wake_slot(fd, import.handle, IB_UVERBS_SHARE_ALL_SLOTS) ==
			    (i ? EACCES : 0));
		CHILD_CHECK(!say(sock));
	}
	CHILD_CHECK(!hear(sock));
}

TEST_F(slots, woken_by_any_holder)
{
	struct child child;
	int only_wake, all_else;

	test_derive(self->fd, self->export.grant, IB_UVERBS_SHARE_WAKE, &only_wake);
	test_derive(self->fd, self->export.grant,
		    IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_MANAGE | IB_UVERBS_SHARE_REGRANT,
		    &all_else);
	test_ok(child_start(&child, wake_by_derived, NULL));
	test_ok(send_fd(child.sock, only_wake));
	test_ok(hear(child.sock));
	EXPECT_EQ(2, event_count(self->event));
	test_ok(send_fd(child.sock, all_else));
	test_ok(hear(child.sock));
	EXPECT_EQ(0, event_count(self->event));
	say(child.sock);
	EXPECT_EQ(0, child_end(&child));
}

/* importers come and go while others wake them: no slot and no watch is lost */
TEST_F(slots, come_and_go)
{
	struct import import = IMPORT_OF(self->export.grant);
	int i;

	import.event = self->event;
	for (i = 0; i < 500; i++) {
		test_import(self->fd, &import);
		ASSERT_EQ(1, import.info.slot);
		ASSERT_EQ(i + 1, import.info.generation);
		test_release(self->fd, import.handle);
	}
	/* the release of each told the first one */
	EXPECT_EQ(500, event_count(self->event));
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	signals++;
}

/* mappings that cannot be merged: the import takes the locks of all */
static bool map_many(unsigned int n)
{
	const int prot[] = { PROT_READ, PROT_READ | PROT_WRITE };
	char *area = mmap(NULL, n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	for (i = 0; area != MAP_FAILED && i < n; i++)
		if (mprotect(area + i * PAGE, PAGE, prot[i % 2]))
			return false;
	return area != MAP_FAILED;
}

/* a signal that comes in the middle is delivered, and the import goes on */
TEST_F(slots, import_under_signals)
{
	struct sigaction action = { .sa_handler = count_signal };
	struct import import = IMPORT_OF(self->export.grant);
	struct itimerval timer = {};
	int i;

	ASSERT_TRUE(map_many(3000));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	for (i = 1; i <= 100; i++) {
		timer.it_value.tv_usec = 20 * i;
		setitimer(ITIMER_REAL, &timer, NULL);
		test_import(self->fd, &import);
		test_release(self->fd, import.handle);
		EXPECT_TRUE(wait_for(signals == i));
	}
}

TEST_HARNESS_MAIN
