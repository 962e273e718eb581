// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A process that calls one method again and again is killed somewhere in it.
 * All that it had is gone then, and what it used works on.
 */
#include <infiniband/verbs.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define KILLS 12

/* what the children share: imports of a context, a PD, a CQ and a QP; and a file */
struct victim {
	struct export_args context, pd, cq, qp;
	int memory;
	int fd;
	uint32_t own_pd;
	struct import in_context, in_pd, in_cq, in_qp;
	struct export_args export;
	void *map;
};

FIXTURE(killed)
{
	struct endpoint ep;
	struct victim v;
	long refs, refs_unshared;
	char before[256];
};

FIXTURE_VARIANT(killed)
{
	int (*loop)(struct victim * v);
};

static int loop_query(struct victim *v)
{
	struct ib_uverbs_share_caps caps;

	return do_query(v->fd, &caps);
}

static int loop_reg_mr(struct victim *v)
{
	struct reg_mr mr = { .pd = v->own_pd, .fd = v->memory, .length = 64 * PAGE };

	mr.access = ACCESS_LOCAL;
	return do_reg_mr(v->fd, &mr) ?: destroy(v->fd, UVERBS_OBJECT_MR, mr.handle);
}

static int loop_export(struct victim *v)
{
	struct export_args export = EXPORT_OF(v->fd, v->own_pd);
	int err = do_export(v->fd, &export);

	close(export.grant);
	return err ?: do_revoke(v->fd, export.handle);
}

static int loop_derive(struct victim *v)
{
	int grant, err = do_derive(v->fd, v->qp.grant, ABSENT, &grant);

	return err ?: close(grant);
}

static int loop_import(struct victim *v)
{
	struct import import = IMPORT_OF(v->qp.grant);

	return do_import(v->fd, &import) ?: do_release(v->fd, import.handle);
}

static int loop_import_context(struct victim *v)
{
	struct import import = IMPORT_OF(v->context.grant);
	int err;

	import.event = eventfd(0, EFD_CLOEXEC);
	err = do_import(v->fd, &import) ?: do_release(v->fd, import.handle);
	close(import.event);
	return err;
}

static int loop_import_reg_mr(struct victim *v)
{
	struct reg_mr mr = {
		.pd = v->in_pd.handle,
		.fd = -1,
		.addr = (uintptr_t)v->map,
		.iova = (uintptr_t)v->map,
		.length = 64 * PAGE,
		.access = ACCESS_LOCAL,
	};

	return do_import_reg_mr(v->fd, &mr) ?: do_release(v->fd, mr.handle);
}

static int loop_kick(struct victim *v)
{
	return do_kick(v->fd, v->in_qp.handle,
		       IB_UVERBS_SHARE_KICK_SEND | IB_UVERBS_SHARE_KICK_RECV);
}

static int loop_arm(struct victim *v)
{
	return do_arm(v->fd, v->in_cq.handle, 0);
}

static int loop_modify(struct victim *v)
{
	struct ib_uverbs_qp_attr attr = { .qp_attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_RTS };

	return do_modify(v->fd, v->in_qp.handle, &attr);
}

static int loop_query_qp(struct victim *v)
{
	struct ib_uverbs_qp_attr attr;

	return do_query_qp(v->fd, v->in_qp.handle, &attr);
}

static int loop_query_slot(struct victim *v)
{
	struct ib_uverbs_share_slot slot;

	return do_query_slot(v->fd, v->in_context.handle, v->in_context.info.slot, &slot);
}

static int loop_wake_slot(struct victim *v)
{
	return do_wake_slot(v->fd, v->in_context.handle, v->in_context.info.slot);
}

/* a page of a ring, faulted in and taken away again */
static int loop_map(struct victim *v)
{
	char *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, v->cq.grant,
			(off_t)IB_UVERBS_SHARE_RING_CQ << IB_UVERBS_SHARE_RING_SHIFT);

	return at == MAP_FAILED || *(volatile char *)at < 0 || munmap(at, PAGE);
}

#define VARIANT(name)                     \
	FIXTURE_VARIANT_ADD(killed, name) \
	{                                 \
		.loop = loop_##name,      \
	}

VARIANT(query);
VARIANT(reg_mr);
VARIANT(export);
VARIANT(derive);
VARIANT(import);
VARIANT(import_context);
VARIANT(import_reg_mr);
VARIANT(kick);
VARIANT(arm);
VARIANT(modify);
VARIANT(query_qp);
VARIANT(query_slot);
VARIANT(wake_slot);
VARIANT(map);

static int export_ring(struct export_args *export, int fd, uint32_t object,
		       const struct ib_uverbs_share_segment *seg)
{
	*export = EXPORT_OF(fd, object);
	export->segs = seg;
	export->nsegs = !!seg;
	return do_export(fd, export);
}

FIXTURE_SETUP(killed)
{
	struct endpoint *ep = &self->ep;
	struct ib_uverbs_share_segment send, cq;
	struct victim *v = &self->v;

	test_ok(endpoint_open(ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(ep, ep));
	send = ring_segment(&ep->qp.send, IB_UVERBS_SHARE_RING_SEND);
	cq = ring_segment(&ep->cq.ring, IB_UVERBS_SHARE_RING_CQ);
	self->refs_unshared = module_refs();
	test_ok(export_ring(&v->context, ep->fd, ABSENT, NULL));
	test_ok(export_ring(&v->pd, ep->fd, ep->pd, NULL));
	test_ok(export_ring(&v->cq, ep->fd, ep->cq.handle, &cq));
	test_ok(export_ring(&v->qp, ep->fd, ep->qp.handle, &send));
	v->memory = memfd(64 * PAGE);
	ASSERT_LE(0, v->memory);
	self->refs = module_refs();
	ASSERT_TRUE(read_resources("rxe0", self->before, sizeof(self->before)));
}

FIXTURE_TEARDOWN(killed)
{
	const struct victim *v = &self->v;

	close(v->qp.grant);
	close(v->cq.grant);
	close(v->pd.grant);
	close(v->context.grant);
	close(v->memory);
	endpoint_close(&self->ep);
	/* a share that somebody holds yet has a reference to the module */
	EXPECT_TRUE(wait_for(module_refs() == self->refs_unshared));
}

static int victim_open(struct victim *v)
{
	int err;

	v->fd = dev_open("rxe0");
	if (v->fd < 0)
		return -v->fd;
	v->in_context = IMPORT_OF(v->context.grant);
	v->in_cq = IMPORT_OF(v->cq.grant);
	v->in_qp = IMPORT_OF(v->qp.grant);
	v->in_pd = IMPORT_OF(v->pd.grant);
	v->map = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, v->memory, 0);
	err = pd_alloc(v->fd, &v->own_pd);
	err = err ?: do_import(v->fd, &v->in_context);
	err = err ?: do_import(v->fd, &v->in_pd);
	err = err ?: do_import(v->fd, &v->in_cq);
	return err ?: do_import(v->fd, &v->in_qp);
}

struct job {
	struct victim *v;
	int (*loop)(struct victim *v);
};

static void run_victim(int sock, void *arg)
{
	struct job *job = arg;

	CHILD_CHECK(!victim_open(job->v));
	CHILD_CHECK(!job->loop(job->v));
	CHILD_CHECK(!say(sock));
	for (;;)
		CHILD_CHECK(!job->loop(job->v));
}

/* not a multiple of what the method takes, so that each is killed elsewhere */
static void wait_a_moment(int i)
{
	struct timespec t = { .tv_nsec = 37000L * i + 1 };

	nanosleep(&t, NULL);
}

static bool has_no_imports(const struct victim *v)
{
	const int grants[] = { v->context.grant, v->pd.grant, v->cq.grant, v->qp.grant };
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (!fdinfo_has(grants[i], "share-imports:\t0"))
			return false;
	return true;
}

static bool is_as_before(FIXTURE_DATA(killed) *self)
{
	char now[256];

	return has_no_imports(&self->v) && module_refs() == self->refs &&
	       read_resources("rxe0", now, sizeof(now)) && !strcmp(now, self->before);
}

/* all slots but those of the living can be had */
static long free_slots(FIXTURE_DATA(killed) *self)
{
	struct ib_uverbs_share_slot slot;
	struct import import = IMPORT_OF(self->v.context.grant);
	long i, n = 0;

	if (do_import(self->ep.fd, &import))
		return -1;
	for (i = 0; i < IB_UVERBS_SHARE_MAX_SLOTS; i++)
		if (!do_query_slot(self->ep.fd, import.handle, i, &slot))
			n += slot.state == IB_UVERBS_SHARE_SLOT_FREE;
	return do_release(self->ep.fd, import.handle) ? -1 : n;
}

static int is_usable(FIXTURE_DATA(killed) *self)
{
	struct import import = IMPORT_OF(self->v.qp.grant);
	struct ib_uverbs_qp_attr attr;
	int err = do_import(self->ep.fd, &import);

	err = err ?: do_kick(self->ep.fd, import.handle, IB_UVERBS_SHARE_KICK_SEND);
	err = err ?: do_query_qp(self->ep.fd, import.handle, &attr);
	err = err ?: do_release(self->ep.fd, import.handle);
	return err ?: attr.qp_state != IBV_QPS_RTS;
}

TEST_F_TIMEOUT(killed, in_the_middle, NO_LIMIT)
{
	struct job job = { &self->v, variant->loop };
	struct child child;
	int i;

	for (i = 0; i < KILLS; i++) {
		test_ok(child_start(&child, run_victim, &job));
		ASSERT_EQ(0, hear(child.sock));
		wait_a_moment(i);
		/* it must not have ended by itself */
		ASSERT_EQ(0, kill(child.pid, 0));
		child_kill(&child);
		ASSERT_EQ(0, is_usable(self));
	}
	EXPECT_TRUE(wait_for(is_as_before(self)));
	EXPECT_EQ(IB_UVERBS_SHARE_MAX_SLOTS - 1, free_slots(self));
	test_revoke(self->ep.fd, self->v.qp.handle);
	test_revoke(self->ep.fd, self->v.cq.handle);
	test_revoke(self->ep.fd, self->v.pd.handle);
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_QP, self->ep.qp.handle));
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_CQ, self->ep.cq.handle));
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_PD, self->ep.pd));
}

TEST_HARNESS_MAIN
