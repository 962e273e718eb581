// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A share is revoked while others import and use it: every call ends, with
 * success or with the errno that says that the share is dead.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define ROUNDS 300
#define USERS 2

FIXTURE(race)
{
	struct endpoint ep;
	pthread_t thread[USERS];
	int started;
	/* the grant of this round; its number stays the same */
	int grant;
	bool stop;
	unsigned int lived, died, wrong;
};

static bool is_stopped(FIXTURE_DATA(race) *self)
{
	return __atomic_load_n(&self->stop, __ATOMIC_ACQUIRE);
}

static void count(FIXTURE_DATA(race) *self, int err)
{
	unsigned int *what = &self->wrong;

	if (!err)
		what = &self->lived;
	/* EBADF: between two rounds there is no grant */
	else if (err == ENOLINK || err == EBADF)
		what = &self->died;
	else
		fprintf(stderr, "# errno %d\n", err);
	__atomic_add_fetch(what, 1, __ATOMIC_RELAXED);
}

/* the reply of an import cannot be written: all must be undone, in a live or a dying share */
static int import_without_reply(int fd, int grant)
{
	struct import import = IMPORT_OF(grant);
	struct call call;
	int err;

	call_import(&call, &import);
	find_attr(&call, IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO)->data = 0;
	err = call_run(fd, &call);
	return err == EFAULT ? 0 : err;
}

static void use_once(FIXTURE_DATA(race) *self, int fd)
{
	struct import import = IMPORT_OF(self->grant);
	struct ib_uverbs_qp_attr attr;
	int err = do_import(fd, &import);

	count(self, err);
	count(self, import_without_reply(fd, self->grant));
	if (err)
		return;
	count(self, do_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND));
	count(self, do_query_qp(fd, import.handle, &attr));
	if (do_release(fd, import.handle))
		count(self, EIO);
}

static void *use(void *arg)
{
	FIXTURE_DATA(race) *self = arg;
	int fd = dev_open("rxe0");

	while (fd >= 0 && !is_stopped(self))
		use_once(self, fd);
	/* nothing of all that is left */
	if (fd < 0 || count_handles(fd, IB_UVERBS_OBJECT_IMPORT))
		count(self, EIO);
	close(fd);
	return NULL;
}

FIXTURE_SETUP(race)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->ep, &self->ep));
	self->grant = 200;
	while (self->started < USERS)
		test_ok(pthread_create(&self->thread[self->started++], NULL, use, self));
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_QP, self->ep.qp.handle));
	endpoint_close(&self->ep);
}

static void stop(FIXTURE_DATA(race) *self)
{
	int i;

	__atomic_store_n(&self->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < self->started; i++)
		pthread_join(self->thread[i], NULL);
}

static int export_as_200(FIXTURE_DATA(race) *self, struct export_args *export)
{
	int err;

	*export = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	err = do_export(self->ep.fd, export);
	if (err)
		return err;
	err = dup2(export->grant, self->grant) < 0 ? errno : 0;
	close(export->grant);
	return err;
}

TEST_F(race, revoke)
{
	struct export_args export;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		test_ok(export_as_200(self, &export));
		if (round % 2)
			sched_yield();
		test_revoke(self->ep.fd, export.handle);
	}
	/* and at the end they have one to live with */
	test_ok(export_as_200(self, &export));
	EXPECT_TRUE(wait_for(__atomic_load_n(&self->lived, __ATOMIC_RELAXED) > 20));
	stop(self);
	EXPECT_EQ(0, self->wrong);
	EXPECT_LT(0, self->died);
	test_revoke(self->ep.fd, export.handle);
}

TEST_HARNESS_MAIN
