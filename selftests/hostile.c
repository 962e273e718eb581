// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * An importer with every right scribbles on the rings of a QP and its CQ, for
 * HOSTILE_SECONDS, while other objects of the exporter do verified traffic:
 * those must not notice, and the kernel must not warn.
 *
 * What rxe believes blindly, from the rings of any process, is left out here;
 * see rxe-faults.c.
 */
#include <infiniband/verbs.h>
#include <sys/utsname.h>
#include <time.h>

#include "kselftest_harness.h"
#include "share_fuzz.h"

#define SECONDS "5"
#define FOR_EVER 1000000
#define BYTES 2048
#define BURST 6

static time_t end_of_time(void)
{
	const char *seconds = getenv("HOSTILE_SECONDS");

	return time(NULL) + atoi(seconds && *seconds ? seconds : SECONDS);
}

/* what the importer has: the rings as it has them mapped */
struct hostile {
	struct fuzz f;
	int fd;
	struct endpoint *ep;
	struct import qp, cq;
	struct rxe_queue_buf *send, *recv, *done;
	uint32_t lkey, rkey;
	uint64_t memory;
	bool any_num_sge;
	unsigned long posted, kicks, resets;
};

/* 6.12 walks on through what lies behind the ring */
static bool rxe_bounds_num_sge(void)
{
	struct utsname name;

	return !uname(&name) && !strncmp(name.release, "6.1.", 4);
}

static void *entry(struct rxe_queue_buf *ring, uint32_t index)
{
	return ring->data + ((size_t)index << ring->log2_elem_size);
}

static uint32_t any_u32(struct hostile *h)
{
	return fuzz_one_in(&h->f, 2) ? fuzz_random(&h->f) : fuzz_below(&h->f, 3 * BYTES);
}

static uint32_t any_key(struct hostile *h)
{
	switch (fuzz_below(&h->f, 4)) {
	case 0:
		return fuzz_random(&h->f);
	case 1:
		return h->rkey;
	default:
		return h->lkey;
	}
}

static uint64_t any_addr(struct hostile *h)
{
	if (fuzz_one_in(&h->f, 4))
		return fuzz_random(&h->f);
	return h->memory + fuzz_below(&h->f, 2 * BYTES);
}

static void spoil_dma(struct hostile *h, struct rxe_dma_info *dma)
{
	dma->num_sge = h->any_num_sge && fuzz_one_in(&h->f, 3) ? any_u32(h) : 1;
	dma->sge_offset = fuzz_one_in(&h->f, 4) ? any_u32(h) : 0;
	dma->sge[0].addr = any_addr(h);
	dma->sge[0].lkey = any_key(h);
	dma->sge[0].length = any_u32(h);
	dma->length = fuzz_one_in(&h->f, 2) ? dma->sge[0].length : any_u32(h);
	dma->resid = fuzz_one_in(&h->f, 2) ? dma->length : any_u32(h);
}

/*
 * Before it is published. rxe looks up opcodes without a bound (the kernel's
 * own begin at 32), copies inline data from wherever sge_offset says, and takes
 * cur_sge as it is, here and in a receive.
 */
static void spoil_send(struct hostile *h, struct rxe_send_wqe *wqe)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr.wr_id = fuzz_random(&h->f);
	wqe->wr.opcode = fuzz_below(&h->f, fuzz_one_in(&h->f, 3) ? 32 : 7);
	wqe->wr.send_flags = fuzz_random(&h->f) & ~IBV_SEND_INLINE;
	wqe->wr.ex.imm_data = fuzz_random(&h->f);
	wqe->wr.wr.rdma.remote_addr = any_addr(h);
	wqe->wr.wr.rdma.rkey = any_key(h);
	wqe->iova = any_addr(h);
	wqe->ssn = fuzz_random(&h->f);
	wqe->first_psn = fuzz_random(&h->f);
	wqe->last_psn = fuzz_random(&h->f);
	wqe->has_rd_atomic = fuzz_one_in(&h->f, 8);
	spoil_dma(h, &wqe->dma);
	if (fuzz_one_in(&h->f, 6)) {
		wqe->wr.send_flags |= IBV_SEND_INLINE;
		wqe->dma.sge_offset = 0;
		wqe->dma.length = wqe->dma.resid = fuzz_below(&h->f, 17);
	}
}

static void spoil_recv(struct hostile *h, struct rxe_recv_wqe *wqe)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = fuzz_random(&h->f);
	spoil_dma(h, &wqe->dma);
}

/* while rxe works on it: all that it does not look at twice */
static void scribble(struct hostile *h)
{
	struct rxe_send_wqe *send = entry(h->send, fuzz_below(&h->f, h->send->index_mask + 1));
	struct rxe_recv_wqe *recv = entry(h->recv, fuzz_below(&h->f, h->recv->index_mask + 1));
	uint64_t *cqe = entry(h->done, fuzz_below(&h->f, h->done->index_mask + 1));

	send->wr.wr_id = fuzz_random(&h->f);
	send->wr.wr.rdma.rkey = any_key(h);
	send->dma.sge[0].addr = any_addr(h);
	send->dma.sge[0].lkey = any_key(h);
	send->ssn = fuzz_random(&h->f);
	recv->wr_id = fuzz_random(&h->f);
	recv->dma.sge[0].addr = any_addr(h);
	recv->dma.sge[0].lkey = any_key(h);
	cqe[fuzz_below(&h->f, sizeof(struct ib_uverbs_wc) / 8)] = fuzz_random(&h->f);
	/* its own copies of these are what rxe uses; ours would be spoiled, too */
	h->send->pad_1[fuzz_below(&h->f, 30)] = fuzz_random(&h->f);
	h->send->consumer_index = fuzz_random(&h->f);
	h->recv->consumer_index = fuzz_random(&h->f);
	h->done->producer_index = fuzz_random(&h->f);
	h->done->consumer_index = fuzz_random(&h->f);
}

static void publish(struct hostile *h, struct rxe_queue_buf *ring)
{
	uint32_t next = ring->producer_index + 1;

	/* a jump: what was there before is posted again; never outside of the mask */
	if (fuzz_one_in(&h->f, 8))
		next = fuzz_random(&h->f);
	__atomic_store_n(&ring->producer_index, next & ring->index_mask, __ATOMIC_RELEASE);
}

/*
 * Requests are written while the QP is in RESET: what they say must not change
 * between rxe's look at it and its use.
 */
static void fill(struct hostile *h)
{
	unsigned int i;

	for (i = 0; i < BURST; i++) {
		spoil_recv(h, entry(h->recv, h->recv->producer_index & h->recv->index_mask));
		publish(h, h->recv);
		spoil_send(h, entry(h->send, h->send->producer_index & h->send->index_mask));
		publish(h, h->send);
		h->posted++;
	}
}

/* the QP is in ERR soon, so it begins anew each time */
static void attack(struct hostile *h)
{
	struct ib_uverbs_qp_attr attr = qp_attr_to(h->ep, IBV_QPS_RESET);
	unsigned int i;
	uint8_t state;

	if (do_modify(h->fd, h->qp.handle, &attr))
		return;
	fill(h);
	for (state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attr = qp_attr_to(h->ep, state);
		if (do_modify(h->fd, h->qp.handle, &attr))
			return;
	}
	h->resets++;
	do_arm(h->fd, h->cq.handle, fuzz_below(&h->f, 2));
	for (i = 0; i < 8; i++) {
		h->kicks += !do_kick(h->fd, h->qp.handle, 1 + fuzz_below(&h->f, 3));
		scribble(h);
		scribble(h);
	}
}

static void *map_ring(int grant, uint32_t ring, uint64_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, grant,
		    (off_t)ring << IB_UVERBS_SHARE_RING_SHIFT);
}

static void be_hostile(int sock, void *arg)
{
	struct hostile *h = arg;
	const __u64 *bytes = h->qp.info.ring_bytes;
	time_t end = end_of_time();

	h->fd = dev_open("rxe0");
	CHILD_CHECK(h->fd >= 0);
	CHILD_CHECK(!do_import(h->fd, &h->qp));
	CHILD_CHECK(!do_import(h->fd, &h->cq));
	h->send = map_ring(h->qp.grant, IB_UVERBS_SHARE_RING_SEND, bytes[0]);
	h->recv = map_ring(h->qp.grant, IB_UVERBS_SHARE_RING_RECV, bytes[1]);
	h->done = map_ring(h->cq.grant, IB_UVERBS_SHARE_RING_CQ,
			   h->cq.info.ring_bytes[IB_UVERBS_SHARE_RING_CQ]);
	CHILD_CHECK(h->send != MAP_FAILED && h->recv != MAP_FAILED && h->done != MAP_FAILED);
	CHILD_CHECK(!say(sock));
	while (time(NULL) < end)
		attack(h);
	fprintf(stderr, "# seed %#llx: %lu posted, %lu kicks, %lu times from RESET to RTS\n",
		(unsigned long long)h->f.digest, h->posted, h->kicks, h->resets);
	CHILD_CHECK(h->kicks && h->resets);
}

FIXTURE(hostile)
{
	struct hostile h;
	struct endpoint shared, a, b;
	struct export_args of_qp, of_cq;
	char *buffer;
	struct ib_uverbs_reg_mr_resp mr, mr_a, mr_b;
};

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
	struct hostile *h = &self->h;

	self->buffer = mmap(NULL, 8 * BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	ASSERT_NE(MAP_FAILED, self->buffer);
	test_ok(endpoint_open(&self->shared, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_open(&self->a, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_open(&self->b, "rxe1", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->a, &self->b));
	test_ok(endpoint_connect(&self->b, &self->a));
	/* what the hostile one may use, and what it may not */
	test_ok(mr_reg(self->shared.fd, self->shared.pd, self->buffer, 2 * BYTES, ACCESS_ALL,
		       &self->mr));
	test_ok(mr_reg(self->a.fd, self->a.pd, self->buffer + 4 * BYTES, BYTES, ACCESS_ALL,
		       &self->mr_a));
	test_ok(mr_reg(self->b.fd, self->b.pd, self->buffer + 6 * BYTES, BYTES, ACCESS_ALL,
		       &self->mr_b));
	test_ok(export_all(&self->shared, &self->of_qp, &self->of_cq));
	h->ep = &self->shared;
	h->qp = IMPORT_OF(self->of_qp.grant);
	h->cq = IMPORT_OF(self->of_cq.grant);
	h->lkey = self->mr.lkey;
	h->rkey = self->mr.rkey;
	h->memory = (uintptr_t)self->buffer;
	h->any_num_sge = rxe_bounds_num_sge();
	h->f.digest = time(NULL);
	fuzz_seed(&h->f, h->f.digest);
}

FIXTURE_TEARDOWN(hostile)
{
	close(self->of_qp.grant);
	close(self->of_cq.grant);
	endpoint_close(&self->shared);
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

TEST_F_TIMEOUT(hostile, scribbles, FOR_EVER)
{
	struct child child;
	unsigned int round = 0;
	time_t end;

	ASSERT_TRUE(transfer(self, ++round));
	test_ok(child_start(&child, be_hostile, &self->h));
	test_ok(hear(child.sock));
	for (end = end_of_time(); time(NULL) < end;)
		ASSERT_TRUE(transfer(self, ++round));
	EXPECT_EQ(0, child_end(&child));
	EXPECT_TRUE(transfer(self, ++round));
	TH_LOG("%u transfers beside it", round);
	test_revoke(self->shared.fd, self->of_qp.handle);
	EXPECT_EQ(0, destroy(self->shared.fd, UVERBS_OBJECT_QP, self->shared.qp.handle));
}

TEST_HARNESS_MAIN
