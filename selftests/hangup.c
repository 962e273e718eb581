// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A grant hangs up when its share dies, for who asks and for who sleeps.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "share_test.h"

FIXTURE(hangup)
{
	int fd;
	struct export_args export;
	int derived, copy;
	pid_t sleeper;
	bool (*sleep)(int grant);
	bool saw_it, returned;
};

FIXTURE_SETUP(hangup)
{
	uint32_t pd;

	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
	test_ok(pd_alloc(self->fd, &pd));
	self->export = EXPORT_OF(self->fd, pd);
	test_export(self->fd, &self->export);
	test_derive(self->fd, self->export.grant, 0, &self->derived);
	self->copy = dup(self->export.grant);
}

FIXTURE_TEARDOWN(hangup)
{
	close(self->copy);
	close(self->derived);
	close(self->export.grant);
	close(self->fd);
}

static bool sleep_in_poll(int grant)
{
	struct pollfd pfd = { .fd = grant };

	return poll(&pfd, 1, -1) == 1 && pfd.revents == POLLHUP;
}

static bool sleep_in_select(int grant)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(grant, &set);
	return select(grant + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(grant, &set);
}

static bool sleep_in_epoll_with(int grant, uint32_t events)
{
	struct epoll_event event = { .events = events }, got;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	bool ok;

	ok = !epoll_ctl(fd, EPOLL_CTL_ADD, grant, &event) &&
	     epoll_wait(fd, &got, 1, -1) == 1 && got.events == EPOLLHUP;
	close(fd);
	return ok;
}

static bool sleep_in_epoll(int grant)
{
	return sleep_in_epoll_with(grant, 0);
}

static bool sleep_in_edge_epoll(int grant)
{
	return sleep_in_epoll_with(grant, EPOLLIN | EPOLLET);
}

static void *sleeper_main(void *arg)
{
	FIXTURE_DATA(hangup) *self = arg;

	__atomic_store_n(&self->sleeper, syscall(SYS_gettid), __ATOMIC_RELEASE);
	self->saw_it = self->sleep(self->derived);
	__atomic_store_n(&self->returned, true, __ATOMIC_RELEASE);
	return NULL;
}

/* "S" behind the name, which is in brackets */
static bool is_asleep(FIXTURE_DATA(hangup) *self)
{
	pid_t tid = __atomic_load_n(&self->sleeper, __ATOMIC_ACQUIRE);
	char path[64], line[256], *at = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = tid ? fopen(path, "re") : NULL;
	if (f && fgets(line, sizeof(line), f))
		at = strrchr(line, ')');
	if (f)
		fclose(f);
	return at && at[2] == 'S';
}

static bool has_returned(FIXTURE_DATA(hangup) *self)
{
	return __atomic_load_n(&self->returned, __ATOMIC_ACQUIRE);
}

/* It sleeps without a limit: one that looks again by itself would pass for woken. */
static bool is_woken(FIXTURE_DATA(hangup) *self, bool (*sleep)(int grant), bool *slept)
{
	pthread_t thread;

	self->sleep = sleep;
	if (pthread_create(&thread, NULL, sleeper_main, self))
		return false;
	*slept = wait_for(is_asleep(self));
	if (do_revoke(self->fd, self->export.handle))
		return false;
	/* one that sleeps on ends with the test */
	if (!wait_for(has_returned(self)))
		return false;
	pthread_join(thread, NULL);
	return self->saw_it;
}

#define TEST_SLEEPER(name, sleep)                            \
	TEST_F(hangup, wakes_##name)                         \
	{                                                    \
		bool slept = false;                          \
                                                             \
		EXPECT_FALSE(is_hung_up(self->derived));     \
		EXPECT_TRUE(is_woken(self, sleep, &slept));  \
		EXPECT_TRUE(slept);                          \
		EXPECT_TRUE(is_hung_up(self->derived));      \
		EXPECT_TRUE(is_hung_up(self->export.grant)); \
		EXPECT_TRUE(is_hung_up(self->copy));         \
	}

TEST_SLEEPER(poll, sleep_in_poll)
TEST_SLEEPER(select, sleep_in_select)
TEST_SLEEPER(epoll, sleep_in_epoll)
TEST_SLEEPER(edge_epoll, sleep_in_edge_epoll)

static bool is_silent(int grant)
{
	struct pollfd pfd = { .fd = grant, .events = ~0 };

	return poll(&pfd, 1, 0) == 0;
}

/* nothing else is ever reported */
TEST_F(hangup, is_all)
{
	struct import import = IMPORT_OF(self->export.grant);

	EXPECT_TRUE(is_silent(self->export.grant));
	test_import(self->fd, &import);
	EXPECT_TRUE(is_silent(self->export.grant));
	test_release(self->fd, import.handle);
	EXPECT_TRUE(is_silent(self->export.grant));
	/* the grants hold the exporter's file */
	close(self->fd);
	EXPECT_TRUE(is_silent(self->export.grant));
	EXPECT_TRUE(is_silent(self->derived));
}

TEST_HARNESS_MAIN
