// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * An exported object cannot be destroyed, each time, whatever importers do
 * meanwhile; and its importers do not see the attempt.
 */
#include <infiniband/verbs.h>
#include <pthread.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define TRIES 1000
#define USERS 2

enum { PD,
       CQ,
       QP,
       SRQ,
       MR,
       OBJECTS };

/* one of each kind, that nothing but its share keeps */
struct object {
	uint16_t type;
	uint32_t handle;
	struct export_args export;
};

FIXTURE(busy)
{
	struct endpoint ep;
	struct object object[OBJECTS];
	pthread_t user[USERS];
	bool stop;
	unsigned int done, failed;
};

static int use_qp(int fd, uint32_t handle)
{
	struct ib_uverbs_qp_attr attr;

	return do_kick(fd, handle, IB_UVERBS_SHARE_KICK_SEND) ?: do_query_qp(fd, handle, &attr);
}

static int use(FIXTURE_DATA(busy) *self, int fd, int i)
{
	struct import import = IMPORT_OF(self->object[i].export.grant);
	int err = do_import(fd, &import);

	if (i == QP)
		err = err ?: use_qp(fd, import.handle);
	if (i == CQ)
		err = err ?: do_arm(fd, import.handle, 0);
	return err ?: do_release(fd, import.handle);
}

static void *user_main(void *arg)
{
	FIXTURE_DATA(busy) *self = arg;
	int i, err, fd = dev_open("rxe0");

	while (!__atomic_load_n(&self->stop, __ATOMIC_ACQUIRE)) {
		for (i = 0; i < OBJECTS; i++) {
			err = use(self, fd, i);
			if (err)
				fprintf(stderr, "# object %d: errno %d\n", i, err);
			__atomic_add_fetch(err ? &self->failed : &self->done, 1, __ATOMIC_RELAXED);
		}
	}
	close(fd);
	return NULL;
}

static int make_objects(FIXTURE_DATA(busy) *self)
{
	struct reg_mr mr = { .fd = memfd(PAGE), .length = PAGE, .access = ACCESS_LOCAL };
	struct endpoint *ep = &self->ep;
	struct srq srq;
	struct cq cq;
	uint32_t pd;
	int err;

	err = endpoint_open(ep, "rxe0", IB_UVERBS_QPT_RC);
	err = err ?: endpoint_connect(ep, ep);
	err = err ?: pd_alloc(ep->fd, &pd);
	err = err ?: cq_create(ep->fd, 16, -1, &cq);
	err = err ?: srq_create(ep->fd, ep->pd, &srq);
	mr.pd = ep->pd;
	err = err ?: do_reg_mr(ep->fd, &mr);
	self->object[PD] = (struct object){ .type = UVERBS_OBJECT_PD, .handle = pd };
	self->object[CQ] = (struct object){ .type = UVERBS_OBJECT_CQ, .handle = cq.handle };
	self->object[QP] = (struct object){ .type = UVERBS_OBJECT_QP, .handle = ep->qp.handle };
	self->object[SRQ] = (struct object){ .type = UVERBS_OBJECT_SRQ, .handle = srq.handle };
	self->object[MR] = (struct object){ .type = UVERBS_OBJECT_MR, .handle = mr.handle };
	return err;
}

FIXTURE_SETUP(busy)
{
	int i;

	test_ok(make_objects(self));
	for (i = 0; i < OBJECTS; i++) {
		self->object[i].export = EXPORT_OF(self->ep.fd, self->object[i].handle);
		test_export(self->ep.fd, &self->object[i].export);
	}
	for (i = 0; i < USERS; i++)
		test_ok(pthread_create(&self->user[i], NULL, user_main, self));
	ASSERT_TRUE(wait_for(__atomic_load_n(&self->done, __ATOMIC_RELAXED) > 2 * OBJECTS));
}

FIXTURE_TEARDOWN(busy)
{
	endpoint_close(&self->ep);
}

static int destroy_object(FIXTURE_DATA(busy) *self, int i)
{
	return destroy(self->ep.fd, self->object[i].type, self->object[i].handle);
}

TEST_F_TIMEOUT(busy, each_time, NO_LIMIT)
{
	int i, n, used;

	used = __atomic_load_n(&self->done, __ATOMIC_RELAXED);
	for (n = 0; n < TRIES; n++)
		for (i = 0; i < OBJECTS; i++)
			ASSERT_EQ(EBUSY, destroy_object(self, i))
			{
				TH_LOG("object %d, try %d", i, n);
			}
	EXPECT_LT(used, __atomic_load_n(&self->done, __ATOMIC_RELAXED));
	__atomic_store_n(&self->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < USERS; i++)
		pthread_join(self->user[i], NULL);
	EXPECT_EQ(0, self->failed);
	for (i = 0; i < OBJECTS; i++) {
		test_revoke(self->ep.fd, self->object[i].export.handle);
		EXPECT_EQ(0, destroy_object(self, i));
	}
}

TEST_HARNESS_MAIN
