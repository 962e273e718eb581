// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * An importer with every right scribbles on the rings of a QP and its CQ, for
 * HOSTILE_SECONDS, while other objects of the exporter do verified traffic:
 * those must not notice, and the kernel must not warn. A process that does so
 * with a QP of its own shows what rxe does without us.
 */
#include <infiniband/verbs.h>
#include <time.h>

#include "kselftest_harness.h"
#include "share_hostile.h"

#define SECONDS "5"
#define BYTES HOSTILE_BYTES

static time_t end_of_time(void)
{
	const char *seconds = getenv("HOSTILE_SECONDS");

	return time(NULL) + atoi(seconds && *seconds ? seconds : SECONDS);
}

static int modify_import(struct hostile *h, uint8_t state)
{
	struct ib_uverbs_qp_attr attr = qp_attr_to(h->ep, state);

	return do_modify(h->fd, h->qp, &attr);
}

static int kick_import(struct hostile *h, uint32_t flags)
{
	return do_kick(h->fd, h->qp, flags);
}

static int arm_import(struct hostile *h, uint32_t flags)
{
	return do_arm(h->fd, h->cq, flags);
}

static const struct hostile_ops of_import = { modify_import, kick_import, arm_import };

static int modify_own(struct hostile *h, uint8_t state)
{
	struct ib_uverbs_qp_attr attr = qp_attr_to(h->ep, state);

	return qp_modify(h->fd, h->qp, &attr);
}

/* who has posted receives has nothing to ring */
static int kick_own(struct hostile *h, uint32_t flags)
{
	return qp_doorbell(h->fd, h->qp);
}

static int arm_own(struct hostile *h, uint32_t flags)
{
	return cq_arm(h->fd, h->cq, flags & IB_UVERBS_SHARE_ARM_SOLICITED);
}

static const struct hostile_ops of_own = { modify_own, kick_own, arm_own };

static void *map_ring(int grant, uint32_t ring, uint64_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, grant,
		    (off_t)ring << IB_UVERBS_SHARE_RING_SHIFT);
}

FIXTURE(hostile)
{
	struct endpoint shared, a, b;
	struct export_args of_qp, of_cq;
	char *buffer;
	struct ib_uverbs_reg_mr_resp mr, mr_a, mr_b;
};

FIXTURE_VARIANT(hostile)
{
	bool shared;
};

FIXTURE_VARIANT_ADD(hostile, shared){
	.shared = true,
};

/* the same without anything of ours: what is seen here is not our doing */
FIXTURE_VARIANT_ADD(hostile, private){
	.shared = false,
};

static void open_import(struct hostile *h, FIXTURE_DATA(hostile) *self)
{
	struct import qp = IMPORT_OF(self->of_qp.grant), cq = IMPORT_OF(self->of_cq.grant);
	const __u64 *bytes = qp.info.ring_bytes;

	h->fd = dev_open("rxe0");
	CHILD_CHECK(h->fd >= 0);
	CHILD_CHECK(!do_import(h->fd, &qp));
	CHILD_CHECK(!do_import(h->fd, &cq));
	h->ep = &self->shared;
	h->qp = qp.handle;
	h->cq = cq.handle;
	h->send = map_ring(qp.grant, IB_UVERBS_SHARE_RING_SEND, bytes[0]);
	h->recv = map_ring(qp.grant, IB_UVERBS_SHARE_RING_RECV, bytes[1]);
	h->done = map_ring(cq.grant, IB_UVERBS_SHARE_RING_CQ,
			   cq.info.ring_bytes[IB_UVERBS_SHARE_RING_CQ]);
	CHILD_CHECK(h->send != MAP_FAILED && h->recv != MAP_FAILED && h->done != MAP_FAILED);
	hostile_init(h, &of_import, self->buffer, &self->mr);
}

static void open_own(struct hostile *h, FIXTURE_DATA(hostile) *self)
{
	struct endpoint *ep = &self->shared;

	CHILD_CHECK(!endpoint_open(ep, "rxe0", IB_UVERBS_QPT_RC));
	CHILD_CHECK(!mr_reg(ep->fd, ep->pd, self->buffer, 2 * BYTES, ACCESS_ALL, &self->mr));
	h->fd = ep->fd;
	h->ep = ep;
	h->qp = ep->qp.handle;
	h->cq = ep->cq.handle;
	h->send = ep->qp.send.buf;
	h->recv = ep->qp.recv.buf;
	h->done = ep->cq.ring.buf;
	hostile_init(h, &of_own, self->buffer, &self->mr);
}

static void be_hostile(FIXTURE_DATA(hostile) *self, bool shared, int sock)
{
	struct hostile *h = calloc(1, sizeof(*h));
	uint64_t seed = time(NULL);
	time_t end = end_of_time();

	CHILD_CHECK(h);
	fuzz_seed(&h->f, seed);
	if (shared)
		open_import(h, self);
	else
		open_own(h, self);
	CHILD_CHECK(!say(sock));
	while (time(NULL) < end)
		hostile_attack(h);
	fprintf(stderr, "# seed %#llx: %lu posted, %lu kicks, %lu times from RESET to RTS\n",
		(unsigned long long)seed, h->posted, h->kicks, h->resets);
	CHILD_CHECK(h->kicks && h->resets);
}

static void be_hostile_to_import(int sock, void *arg)
{
	be_hostile(arg, true, sock);
}

static void be_hostile_to_own(int sock, void *arg)
{
	be_hostile(arg, false, sock);
}

static int export_all(struct endpoint *ep, struct export_args *qp, struct export_args *cq)
{
	struct ib_uverbs_share_segment segs[] = {
		ring_segment(&ep->qp.send, IB_UVERBS_SHARE_RING_SEND),
		ring_segment(&ep->qp.recv, IB_UVERBS_SHARE_RING_RECV),
	};
	struct ib_uverbs_share_segment seg = ring_segment(&ep->cq.ring, IB_UVERBS_SHARE_RING_CQ);

	*qp = EXPORT_OF(ep->fd, ep->qp.handle);
	qp->segs = segs;
	qp->nsegs = 2;
	*cq = EXPORT_OF(ep->fd, ep->cq.handle);
	cq->segs = &seg;
	cq->nsegs = 1;
	return do_export(ep->fd, qp) ?: do_export(ep->fd, cq);
}

FIXTURE_SETUP(hostile)
{
	self->buffer = mmap(NULL, 8 * BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	ASSERT_NE(MAP_FAILED, self->buffer);
	test_ok(endpoint_open(&self->a, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_open(&self->b, "rxe1", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->a, &self->b));
	test_ok(endpoint_connect(&self->b, &self->a));
	test_ok(mr_reg(self->a.fd, self->a.pd, self->buffer + 4 * BYTES, BYTES, ACCESS_ALL,
		       &self->mr_a));
	test_ok(mr_reg(self->b.fd, self->b.pd, self->buffer + 6 * BYTES, BYTES, ACCESS_ALL,
		       &self->mr_b));
	if (!variant->shared)
		return;
	test_ok(endpoint_open(&self->shared, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(mr_reg(self->shared.fd, self->shared.pd, self->buffer, 2 * BYTES, ACCESS_ALL,
		       &self->mr));
	test_ok(export_all(&self->shared, &self->of_qp, &self->of_cq));
}

FIXTURE_TEARDOWN(hostile)
{
	if (variant->shared) {
		close(self->of_qp.grant);
		close(self->of_cq.grant);
		endpoint_close(&self->shared);
	}
	endpoint_close(&self->a);
	endpoint_close(&self->b);
	EXPECT_TRUE(wait_for(count_objects("rxe0", "ctx") == 0));
}

/* one RDMA write from a to b, compared byte by byte */
static bool transfer(FIXTURE_DATA(hostile) *self, unsigned int round)
{
	char *from = self->buffer + 4 * BYTES, *to = self->buffer + 6 * BYTES;
	struct rxe_sge sge = { .addr = (uintptr_t)from, .length = BYTES, .lkey = self->mr_a.lkey };
	struct ib_uverbs_wc wc = { .status = ~0U };

	memset(from, round, BYTES);
	memset(to, ~round, BYTES);
	post_write(self->a.qp.send.buf, round, &sge, (uintptr_t)to, self->mr_b.rkey);
	if (qp_doorbell(self->a.fd, self->a.qp.handle) ||
	    !poll_cq(self->a.cq.ring.buf, &wc))
		return false;
	return wc.status == IBV_WC_SUCCESS && wc.wr_id == round && !memcmp(from, to, BYTES);
}

TEST_F_TIMEOUT(hostile, scribbles, NO_LIMIT)
{
	struct child child;
	unsigned int round = 0;
	time_t end;

	ASSERT_TRUE(transfer(self, ++round));
	test_ok(child_start(&child, variant->shared ? be_hostile_to_import : be_hostile_to_own,
			    self));
	test_ok(hear(child.sock));
	for (end = end_of_time(); time(NULL) < end;)
		ASSERT_TRUE(transfer(self, ++round));
	EXPECT_EQ(0, child_end(&child));
	EXPECT_TRUE(transfer(self, ++round));
	TH_LOG("%u transfers beside it", round);
	if (!variant->shared)
		return;
	test_revoke(self->shared.fd, self->of_qp.handle);
	EXPECT_EQ(0, destroy(self->shared.fd, UVERBS_OBJECT_QP, self->shared.qp.handle));
}

TEST_HARNESS_MAIN
