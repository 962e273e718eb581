// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Arming and waking, step by step. Each test is one order of events in which a
 * wake-up could get lost, or be one too many.
 */
#include <errno.h>
#include <string.h>
#include "../event.h"
#include "../mailbox.h"
#include "bed.h"
#include "tap.h"

static struct bed bed;
static struct node a, b;
static uint64_t buffer[16];

static int begin(void)
{
	CHECK(bed_make(&bed, &a, 32, 64, 0));
	CHECK(bed_join(&bed, &b, 1, 1));
	return 1;
}

static int end(void)
{
	bed_leave(&b);
	bed_free(&bed, &a);
	return 1;
}

/* a process receives what it sends to itself: two completions */
static int exchange(struct node *node, unsigned int flags)
{
	CHECK(!bed_recv(node, 2, buffer));
	CHECK(!bed_send(node, 1, 0, flags | IBV_SEND_SIGNALED));
	fake_step(bed.dev);
	return 1;
}

static int poll_all(struct node *node)
{
	struct ibv_wc wc[16];
	int n = share_poll(&node->cq, 16, wc);

	return n;
}

static int raw(void)
{
	return (int)fake_read(bed.dev->cqs[0].events);
}

static int woken(uint32_t slot)
{
	return (int)fake_read(bed.dev->wakes[slot]);
}

/* by the device, to who has the completion and to nobody else */
static int device_wakes(void)
{
	CHECK(begin());
	CHECK(!share_event_arm(&a.cq, 0) && !share_event_arm(&b.cq, 0));
	CHECK(exchange(&b, 0));
	CHECK(raw() == 1);
	share_event_dispatch(&a.cq);
	CHECK(woken(1) == 1 && !woken(0));
	CHECK(!share_event_take(&a.cq));
	CHECK(share_event_take(&b.cq) && !share_event_take(&b.cq));
	CHECK(poll_all(&b) == 2);
	/* a still is armed, and so is the device */
	CHECK(bed.dev->cqs[0].notify);
	CHECK(exchange(&a, 0));
	CHECK(raw() == 1);
	share_event_dispatch(&b.cq);
	CHECK(woken(0) == 1 && share_event_take(&a.cq));
	CHECK(poll_all(&a) == 2);
	/* nobody is armed: neither is the device */
	CHECK(!bed.dev->cqs[0].notify);
	return end();
}

/* by another process that polls */
static int poller_wakes(void)
{
	CHECK(begin());
	CHECK(exchange(&b, 0));
	CHECK(!share_event_arm(&b.cq, 0));
	CHECK(!poll_all(&a));
	CHECK(woken(1) == 1 && share_event_take(&b.cq));
	CHECK(exchange(&b, 0));
	/* not armed: no event, no signal */
	CHECK(!poll_all(&a));
	CHECK(!woken(1) && !share_event_take(&b.cq));
	CHECK(poll_all(&b) == 4);
	return end();
}

/* once for each time that it arms */
static int one_event(void)
{
	int i;

	CHECK(begin());
	CHECK(!share_event_arm(&b.cq, 0));
	for (i = 0; i < 5; i++) {
		CHECK(exchange(&b, 0));
		CHECK(!poll_all(&a));
	}
	CHECK(woken(1) == 1);
	CHECK(share_load(&share_control_slot(&a.control, 1)->signals) == 1);
	CHECK(!share_event_arm(&b.cq, 0));
	/* the event of before is there yet, and it is armed anew */
	CHECK(share_event_is_pending(&b.cq));
	CHECK(exchange(&b, 0));
	CHECK(!poll_all(&a) && woken(1) == 1);
	CHECK(share_event_take(&b.cq) && !share_event_take(&b.cq));
	return end();
}

/* b polls while a has the lock, and what a leaves in the ring is b's */
static int refused(void)
{
	const struct share_kicks none = { .num = 0 };
	uint32_t *lock = &a.cq.view.body->lock;

	CHECK(begin());
	lock = &a.cq.view.body->lock;
	CHECK(exchange(&b, 0));
	CHECK(!share_event_arm(&b.cq, 0));
	CHECK(!share_lock(lock, &a.control.me));
	CHECK(!poll_all(&b));
	share_unlock(lock, &a.control.me);
	CHECK(!woken(1));
	share_steer_kick(&a.cq, &none);
	CHECK(woken(1) == 1 && share_event_take(&b.cq));
	CHECK(poll_all(&b) == 2);
	/* and when nothing was left, or nobody was refused, nobody is woken */
	CHECK(!share_event_arm(&b.cq, 0));
	share_steer_kick(&a.cq, &none);
	CHECK(!woken(1));
	return end();
}

/* a takes one completion out of three and goes away */
static int batch_is_full(void)
{
	struct ibv_wc wc;

	CHECK(begin());
	CHECK(!share_event_arm(&b.cq, 0));
	CHECK(exchange(&a, 0) && exchange(&b, 0));
	CHECK(share_poll(&a.cq, 1, &wc) == 1);
	CHECK(!woken(1) && raw() == 1);
	/* the device's event is there: whoever sees it first */
	share_event_dispatch(&b.cq);
	CHECK(share_event_take(&b.cq) && poll_all(&b) == 2);
	return end();
}

/* somebody has read the device's event, and died */
static int reader_dies(void)
{
	CHECK(begin());
	CHECK(!share_event_arm(&b.cq, 0));
	CHECK(exchange(&b, 0));
	CHECK(raw() == 1);
	fake_die(bed.dev, 0);
	CHECK(woken(1) == 1 && !share_event_take(&b.cq));
	share_event_recheck(&b.cq);
	CHECK(share_event_take(&b.cq) && poll_all(&b) == 2);
	/* nothing there yet: the device is armed anew, no event */
	CHECK(!share_event_arm(&b.cq, 0));
	bed.dev->cqs[0].notify = 0;
	share_event_recheck(&b.cq);
	CHECK(!share_event_take(&b.cq) && bed.dev->cqs[0].notify);
	CHECK(exchange(&b, 0));
	CHECK(raw() == 1);
	return end();
}

/* the same after it had put the completion into the mailbox */
static int steerer_dies(void)
{
	struct share_kicks kicks = { .num = 0 };

	CHECK(begin());
	CHECK(exchange(&b, 0));
	CHECK(!share_event_arm(&b.cq, 0));
	CHECK(!share_steer(&a.cq, &kicks));
	CHECK(!woken(1));
	fake_die(bed.dev, 0);
	CHECK(woken(1) == 1);
	share_event_recheck(&b.cq);
	CHECK(share_event_take(&b.cq) && poll_all(&b) == 2);
	return end();
}

static int solicited(void)
{
	CHECK(begin());
	CHECK(!share_event_arm(&b.cq, 1));
	CHECK(bed.dev->cqs[0].notify == SHARE_ARMED_SOLICITED);
	/* b's receive, a's send */
	CHECK(!bed_recv(&b, 2, buffer));
	CHECK(!bed_send(&a, 1, 0, 0));
	fake_step(bed.dev);
	CHECK(!raw());
	CHECK(!poll_all(&a));
	CHECK(!woken(1) && !share_event_is_pending(&b.cq));
	CHECK(!bed_recv(&b, 2, buffer));
	CHECK(!bed_send(&a, 1, 0, IBV_SEND_SOLICITED));
	fake_step(bed.dev);
	CHECK(raw() == 1);
	share_event_dispatch(&a.cq);
	CHECK(woken(1) == 1 && share_event_take(&b.cq));
	CHECK(poll_all(&b) == 2);
	return end();
}

/* armed for every one and for solicited ones: each as it wants */
static int both_kinds(void)
{
	CHECK(begin());
	CHECK(!share_event_arm(&b.cq, 1) && !share_event_arm(&a.cq, 0));
	CHECK(!bed_recv(&a, 2, buffer));
	CHECK(!bed_send(&a, 1, 0, IBV_SEND_SIGNALED));
	fake_step(bed.dev);
	CHECK(raw() == 1);
	share_event_dispatch(&b.cq);
	CHECK(woken(0) == 1 && !woken(1));
	CHECK(share_event_take(&a.cq) && poll_all(&a) == 2);
	CHECK(!share_event_is_pending(&b.cq));
	return end();
}

static int bad_send(struct node *node)
{
	struct ibv_sge sge = { (uintptr_t)buffer, 8, FAKE_BAD_LKEY };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 3,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	};

	CHECK(!share_post_send(&node->qp, &wr, &bad));
	return 1;
}

/* a failure counts as solicited; the device does not think so */
static int failure(void)
{
	CHECK(begin());
	CHECK(bad_send(&b));
	CHECK(!share_event_arm(&b.cq, 1));
	fake_step(bed.dev);
	CHECK(raw() == 1);
	share_event_dispatch(&a.cq);
	CHECK(woken(1) && share_event_take(&b.cq));
	CHECK(poll_all(&b) == 1);
	return end();
}

/* posted after it was armed, by another thread */
static int failure_later(void)
{
	CHECK(begin());
	CHECK(!share_event_arm(&b.cq, 1));
	CHECK(bad_send(&b));
	share_event_posted(&b.cq);
	fake_step(bed.dev);
	CHECK(raw() == 1);
	share_event_dispatch(&a.cq);
	CHECK(share_event_take(&b.cq) && poll_all(&b) == 1);
	return end();
}

/* the QP fails by somebody else's doing: receives are flushed */
static int flush(void)
{
	CHECK(begin());
	CHECK(!bed_recv(&b, 2, buffer));
	CHECK(!share_event_arm(&b.cq, 1));
	CHECK(bad_send(&a));
	fake_step(bed.dev);
	CHECK(!raw());
	/* who finds that out tells all */
	CHECK(poll_all(&a) == 1);
	CHECK(woken(1) >= 1 && share_event_take(&b.cq));
	fake_step(bed.dev);
	CHECK(poll_all(&b) == 1);
	/* from now on every completion counts */
	CHECK(!bed_recv(&b, 2, buffer));
	CHECK(!share_event_arm(&b.cq, 1));
	CHECK(bed.dev->cqs[0].notify & SHARE_ARMED_NEXT);
	return end();
}

/* somebody makes it fail */
static int modify_to_err(void)
{
	CHECK(begin());
	CHECK(!bed_recv(&b, 2, buffer));
	CHECK(!share_event_arm(&b.cq, 1));
	fake_modify(bed.dev, 0, IBV_QPS_ERR);
	CHECK(!raw());
	CHECK(!share_qp_set_state(&a.qp, IBV_QPS_ERR));
	CHECK(woken(1) == 1 && share_event_take(&b.cq));
	CHECK(poll_all(&b) == 1);
	return end();
}

/* what a dead process left: the heir hears of it */
static int orphans(void)
{
	struct node c;

	CHECK(begin());
	CHECK(bed_join(&bed, &c, 2, 1));
	CHECK(exchange(&c, 0));
	CHECK(!poll_all(&b));
	bed_leave(&c);
	fake_die(bed.dev, 2);
	CHECK(!share_event_arm(&a.cq, 0));
	woken(0);
	CHECK(bed_join(&bed, &c, 2, 2));
	CHECK(woken(0) == 1 && share_event_take(&a.cq));
	CHECK(poll_all(&a) == 2);
	bed_leave(&c);
	return end();
}

/* a new process does not inherit what the former one was armed for */
static int new_process(void)
{
	CHECK(begin());
	CHECK(!share_event_arm(&b.cq, 0));
	bed_leave(&b);
	CHECK(bed_join(&bed, &b, 1, 2));
	CHECK(!share_event_is_armed(&b.cq.view, 1));
	return end();
}

/* without the right to poll it is armed, and others steer */
static int no_ring(void)
{
	CHECK(begin());
	b.cq.ring.base = NULL;
	CHECK(!share_event_arm(&b.cq, 0));
	CHECK(exchange(&b, 0));
	CHECK(raw() == 1);
	/* it cannot: all who are armed are woken */
	CHECK(!share_event_arm(&a.cq, 0));
	share_event_dispatch(&b.cq);
	CHECK(woken(0) == 1 && share_event_take(&a.cq));
	CHECK(share_event_take(&b.cq));
	CHECK(!poll_all(&a) && poll_all(&b) == 2);
	return end();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(device_wakes),
		TEST(poller_wakes),
		TEST(one_event),
		TEST(refused),
		TEST(batch_is_full),
		TEST(reader_dies),
		TEST(steerer_dies),
		TEST(solicited),
		TEST(both_kinds),
		TEST(failure),
		TEST(failure_later),
		TEST(flush),
		TEST(modify_to_err),
		TEST(orphans),
		TEST(new_process),
		TEST(no_ring),
	};

	return RUN_TESTS(tests);
}
