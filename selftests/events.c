// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Completion events of a shared CQ, for the exporter and for an importer, each
 * on its own descriptor. That processes sleep, hammer and die is the matter of
 * sleepers.c.
 */
#include <poll.h>
#include <time.h>
#include <kselftest_harness.h>
#include "share_events.h"

FIXTURE(events)
{
	struct event_bed bed;
};

FIXTURE_VARIANT(events)
{
	int importer;
};

FIXTURE_VARIANT_ADD(events, exporter){
	.importer = 0,
};

FIXTURE_VARIANT_ADD(events, importer){
	.importer = 1,
};

FIXTURE_SETUP(events)
{
	ASSERT_EQ(event_bed_open(&self->bed, variant->importer), 0);
}

FIXTURE_TEARDOWN(events)
{
	EXPECT_EQ(event_bed_close(&self->bed), 0);
}

TEST_F(events, arm_sleep_poll)
{
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 0), 0);
		ASSERT_EQ(event_none(self->bed.us), 0);
		ASSERT_EQ(event_write(&self->bed, self->bed.qp, 0), 0);
		ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
		ASSERT_EQ(event_poll_now(self->bed.cq), 0);
	}
	ASSERT_EQ(event_none(self->bed.us), 0);
}

/* blocking, as ibv_get_cq_event() does; and with a limit */
TEST_F(events, wait)
{
	struct ibv_cq *cq;
	void *cq_context;

	EXPECT_EQ(ibv_share_get_cq_event(self->bed.us, &cq, &cq_context, 1), ETIMEDOUT);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 0), 0);
	ASSERT_EQ(event_write(&self->bed, self->bed.qp, 0), 0);
	ASSERT_EQ(ibv_share_get_cq_event(self->bed.us, &cq, &cq_context, -1), 0);
	EXPECT_EQ(cq, self->bed.cq);
	ibv_share_ack_cq_events(cq, 1);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
}

/* both are armed: each hears of its own completion only */
TEST_F(events, to_whom_it_belongs)
{
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 0), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.other_cq, 0), 0);
	ASSERT_EQ(event_write(&self->bed, self->bed.qp, 0), 0);
	ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
	EXPECT_EQ(event_none(self->bed.other), 0);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
	/* it still is armed */
	ASSERT_EQ(event_write(&self->bed, self->bed.other_qp, 0), 0);
	ASSERT_EQ(event_sleep(self->bed.other, self->bed.other_cq), 0);
	EXPECT_EQ(event_none(self->bed.us), 0);
	EXPECT_EQ(event_poll_now(self->bed.other_cq), 0);
}

/* the other one takes the device's event: we are woken through our own fd */
TEST_F(events, other_handles)
{
	time_t limit = time(NULL) + EVENT_WAIT_MS / 1000;
	uint32_t slot = ibv_share_get_slot(self->bed.us);
	struct ibv_share_event_attr attr;
	struct ibv_wc wc;

	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 0), 0);
	ASSERT_EQ(event_write(&self->bed, self->bed.qp, 0), 0);
	do {
		ASSERT_EQ(event_none(self->bed.other), 0);
		ASSERT_EQ(ibv_poll_cq(self->bed.other_cq, 1, &wc), 0);
		ASSERT_EQ(ibv_share_query_events(self->bed.us, slot, &attr), 0);
		ASSERT_LE(time(NULL), limit);
	} while (!attr.signals);
	EXPECT_EQ(attr.signals, 1U);
	ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
}

/* it comes before we arm: the poll after that finds it, and no event is due */
TEST_F(events, before_arm)
{
	ASSERT_EQ(event_recv(self->bed.qp), 0);
	ASSERT_EQ(event_peer_sends(&self->bed, 0), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 0), 0);
	EXPECT_EQ(event_none(self->bed.us), 0);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
}

/* it comes between: the poll finds it, and the event is there as well */
TEST_F(events, between_arm_and_poll)
{
	ASSERT_EQ(event_recv(self->bed.qp), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 0), 0);
	ASSERT_EQ(event_peer_sends(&self->bed, 0), 0);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
	/* a wake-up for nothing is what this costs; the next one is not lost */
	ASSERT_EQ(event_recv(self->bed.qp), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 0), 0);
	ASSERT_EQ(event_peer_sends(&self->bed, 0), 0);
	ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
}

TEST_F(events, solicited_only)
{
	ASSERT_EQ(event_recv(self->bed.qp), 0);
	ASSERT_EQ(event_recv(self->bed.qp), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 1), 0);
	ASSERT_EQ(event_peer_sends(&self->bed, 0), 0);
	EXPECT_EQ(event_none(self->bed.us), 0);
	ASSERT_EQ(event_peer_sends(&self->bed, IBV_SEND_SOLICITED), 0);
	ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
}

/* one wants all, the other one the solicited ones */
TEST_F(events, solicited_and_not)
{
	ASSERT_EQ(event_recv(self->bed.qp), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 1), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.other_cq, 0), 0);
	ASSERT_EQ(event_write(&self->bed, self->bed.other_qp, 0), 0);
	ASSERT_EQ(event_sleep(self->bed.other, self->bed.other_cq), 0);
	EXPECT_EQ(event_none(self->bed.us), 0);
	ASSERT_EQ(event_peer_sends(&self->bed, IBV_SEND_SOLICITED), 0);
	ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
	EXPECT_EQ(event_poll_now(self->bed.other_cq), 0);
}

/* a failure is an event for who waits for solicited ones: posted before */
TEST_F(events, solicited_failure)
{
	ASSERT_EQ(event_write(&self->bed, self->bed.qp, 1), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 1), 0);
	ASSERT_EQ(event_write(&self->bed, self->bed.qp, 1), 0);
	ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
	EXPECT_EQ(event_poll(self->bed.cq, IBV_WC_REM_ACCESS_ERR), 0);
	EXPECT_EQ(event_poll(self->bed.cq, IBV_WC_WR_FLUSH_ERR), 0);
}

/* posted after */
TEST_F(events, solicited_failure_later)
{
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 1), 0);
	ASSERT_EQ(event_write(&self->bed, self->bed.qp, 1), 0);
	ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
	EXPECT_EQ(event_poll(self->bed.cq, IBV_WC_REM_ACCESS_ERR), 0);
}

/* the other one makes the QP fail: our receives are flushed */
TEST_F(events, solicited_flush)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };

	ASSERT_EQ(event_recv(self->bed.qp), 0);
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 1), 0);
	ASSERT_EQ(ibv_share_modify_qp(self->bed.other_qp, &attr, IBV_QP_STATE), 0);
	/* the event may come before the flush */
	do {
		ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
		ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 1), 0);
	} while (!ibv_poll_cq(self->bed.cq, 1, &wc));
	EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(wc.wr_id, 2U);
}

/* an importer without the right is told so; nothing is armed */
TEST_F(events, no_right)
{
	struct ibv_share_context *weak = event_import(&self->bed, IBV_SHARE_POLL);

	ASSERT_NE(weak, NULL);
	EXPECT_EQ(ibv_req_notify_cq(ibv_share_get_cq(weak, NULL), 0), EACCES);
	EXPECT_EQ(ibv_share_close(weak), 0);
}

/* a wake-up makes the descriptor readable, and is no event */
TEST_F(events, wake)
{
	struct pollfd fd = { .fd = ibv_share_get_fd(self->bed.us), .events = POLLIN };
	struct ibv_share_event_attr before, after;
	uint32_t slot = ibv_share_get_slot(self->bed.us);

	ASSERT_EQ(event_none(self->bed.us), 0);
	ASSERT_EQ(ibv_share_query_events(self->bed.us, slot, &before), 0);
	ASSERT_EQ(poll(&fd, 1, 0), 0);
	ASSERT_EQ(ibv_share_wake(self->bed.other, slot), 0);
	EXPECT_EQ(poll(&fd, 1, EVENT_WAIT_MS), 1);
	EXPECT_EQ(event_none(self->bed.us), 0);
	EXPECT_EQ(poll(&fd, 1, 0), 0);
	ASSERT_EQ(ibv_share_query_events(self->bed.us, slot, &after), 0);
	EXPECT_EQ(after.superfluous, before.superfluous + 1);
	EXPECT_EQ(after.signals, before.signals);
	EXPECT_EQ(ibv_share_query_events(self->bed.us, 64, &after), EINVAL);
}

/* an event that is not acknowledged keeps its CQ */
TEST_F(events, acknowledge)
{
	struct ibv_cq *cq;
	void *cq_context;

	ASSERT_EQ(ibv_req_notify_cq(self->bed.made_cq, 0), 0);
	ASSERT_EQ(event_write(&self->bed, self->bed.made_qp, 0), 0);
	ASSERT_EQ(ibv_share_get_cq_event(self->bed.ctx, &cq, &cq_context, EVENT_WAIT_MS), 0);
	EXPECT_EQ(cq_context, &self->bed);
	ASSERT_EQ(ibv_share_destroy_qp(self->bed.made_qp), 0);
	EXPECT_EQ(ibv_share_destroy_cq(cq), EBUSY);
	/* libibverbs's own does as well */
	ibv_ack_cq_events(cq, 1);
	ASSERT_EQ(ibv_share_destroy_cq(cq), 0);
	self->bed.made_cq =
		ibv_share_create_cq(self->bed.ctx, 64, &self->bed, self->bed.channel, 0);
	ASSERT_NE(self->bed.made_cq, NULL);
	self->bed.made_qp = event_make_qp(&self->bed);
	ASSERT_NE(self->bed.made_qp, NULL);
}

TEST_HARNESS_MAIN
