// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Asynchronous events reach the exporter and every importer. What rxe raises
 * without an SRQ is tried here; user/tests/async.c has all types.
 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_events.h"

#define MEMBERS 3
#define TO_SQD (IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY)

static int get_event(struct ibv_share_context *ctx, struct ibv_async_event *event)
{
	struct pollfd fd = { .fd = ibv_share_get_async_fd(ctx), .events = POLLIN };
	int ret;

	do {
		CHECK(poll(&fd, 1, EVENT_WAIT_MS) == 1);
		ret = ibv_share_get_async_event(ctx, event, 0);
	} while (ret == EAGAIN);
	CHECK(!ret);
	return 0;
}

static int no_more(struct ibv_share_context *ctx)
{
	struct pollfd fd = { .fd = ibv_share_get_async_fd(ctx), .events = POLLIN };
	struct ibv_async_event event;

	CHECK(ibv_share_get_async_event(ctx, &event, 0) == EAGAIN);
	CHECK(ibv_share_get_async_event(ctx, &event, 1) == ETIMEDOUT);
	CHECK(!poll(&fd, 1, 0));
	return 0;
}

FIXTURE(qp_events)
{
	struct event_bed bed;
	struct ibv_share_context *members[MEMBERS];
};

FIXTURE_SETUP(qp_events)
{
	ASSERT_EQ(event_bed_open(&self->bed, 1), 0);
	self->members[0] = self->bed.ctx;
	self->members[1] = self->bed.imported;
	self->members[2] = event_import(&self->bed, IBV_SHARE_ALL_RIGHTS);
	ASSERT_NE(self->members[2], NULL);
}

FIXTURE_TEARDOWN(qp_events)
{
	EXPECT_EQ(ibv_share_close(self->members[2]), 0);
	EXPECT_EQ(event_bed_close(&self->bed), 0);
}

static int drain(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	return ibv_share_modify_qp(qp, &attr, TO_SQD);
}

static int is_drained(struct ibv_share_context *ctx)
{
	struct ibv_async_event event;

	CHECK(!get_event(ctx, &event));
	CHECK(event.event_type == IBV_EVENT_SQ_DRAINED);
	CHECK(event.element.qp == ibv_share_get_qp(ctx, NULL));
	ibv_share_ack_async_event(&event);
	return 0;
}

/* whoever looks first reads it for all */
TEST_F(qp_events, to_every_process)
{
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	int i, round;

	for (round = 0; round < MEMBERS; round++) {
		ASSERT_EQ(drain(self->bed.made_qp), 0);
		for (i = 0; i < MEMBERS; i++)
			EXPECT_EQ(is_drained(self->members[(round + i) % MEMBERS]), 0);
		for (i = 0; i < MEMBERS; i++)
			EXPECT_EQ(no_more(self->members[i]), 0);
		ASSERT_EQ(ibv_share_modify_qp(self->bed.made_qp, &rts, IBV_QP_STATE), 0);
	}
}

/* a completion event in between takes nothing away, and the other way round */
TEST_F(qp_events, beside_completions)
{
	ASSERT_EQ(ibv_req_notify_cq(self->bed.cq, 0), 0);
	ASSERT_EQ(event_write(&self->bed, self->bed.qp, 0), 0);
	ASSERT_EQ(event_sleep(self->bed.us, self->bed.cq), 0);
	EXPECT_EQ(event_poll_now(self->bed.cq), 0);
	ASSERT_EQ(drain(self->bed.made_qp), 0);
	EXPECT_EQ(is_drained(self->bed.ctx), 0);
	/* its wake-up for the asynchronous event comes through the same eventfd */
	EXPECT_EQ(event_none(self->bed.us), 0);
	EXPECT_EQ(is_drained(self->bed.us), 0);
	EXPECT_EQ(is_drained(self->members[2]), 0);
}

/* who comes later does not hear of what was before */
TEST_F(qp_events, joins_later)
{
	struct ibv_share_context *late;

	ASSERT_EQ(drain(self->bed.made_qp), 0);
	EXPECT_EQ(is_drained(self->bed.ctx), 0);
	late = event_import(&self->bed, IBV_SHARE_ALL_RIGHTS);
	ASSERT_NE(late, NULL);
	EXPECT_EQ(no_more(late), 0);
	EXPECT_EQ(ibv_share_close(late), 0);
	EXPECT_EQ(is_drained(self->bed.us), 0);
}

TEST_F(qp_events, acknowledge)
{
	struct ibv_async_event event;

	ASSERT_EQ(drain(self->bed.made_qp), 0);
	ASSERT_EQ(get_event(self->bed.ctx, &event), 0);
	EXPECT_EQ(ibv_share_destroy_qp(event.element.qp), EBUSY);
	ibv_share_ack_async_event(&event);
	ASSERT_EQ(ibv_share_destroy_qp(event.element.qp), 0);
	self->bed.made_qp = event_make_qp(&self->bed);
	ASSERT_NE(self->bed.made_qp, NULL);
	/* the new one, in the same place, has no event of the old one */
	EXPECT_EQ(no_more(self->bed.ctx), 0);
}

#define LINK "rxe_events"

FIXTURE(port_events)
{
	struct ibv_context *context;
	struct ibv_share_context *members[2];
};

static int device_exists(void)
{
	return !access("/sys/class/infiniband/" LINK, F_OK);
}

static int run(const char *command)
{
	CHECK(!system(command));
	return 0;
}

FIXTURE_SETUP(port_events)
{
	struct event_bed bed = {};

	ASSERT_EQ(run("ip link add ev0 type veth peer name ev1 && ip link set ev1 up &&"
		      " ip link set ev0 up && rdma link add " LINK " type rxe netdev ev0"),
		  0);
	self->context = lib_open(LINK);
	ASSERT_NE(self->context, NULL);
	bed.context = self->context;
	bed.ctx = self->members[0] = ibv_share_open(self->context, NULL);
	ASSERT_NE(self->members[0], NULL);
	self->members[1] = event_import(&bed, IBV_SHARE_ALL_RIGHTS);
	ASSERT_NE(self->members[1], NULL);
}

FIXTURE_TEARDOWN(port_events)
{
	int tries = EVENT_WAIT_MS;

	EXPECT_EQ(ibv_share_close(self->members[1]), 0);
	EXPECT_EQ(ibv_share_close(self->members[0]), 0);
	EXPECT_EQ(ibv_close_device(self->context), 0);
	EXPECT_EQ(run("rdma link del " LINK " && ip link del ev0"), 0);
	while (device_exists() && --tries)
		usleep(1000);
	EXPECT_NE(tries, 0);
}

/* other events of a port (GID_CHANGE) may come with it */
static int wait_port(struct ibv_share_context *ctx, enum ibv_event_type type)
{
	struct ibv_async_event event;

	do {
		CHECK(!get_event(ctx, &event));
		CHECK(event.element.port_num == 1);
		ibv_share_ack_async_event(&event);
	} while (event.event_type != type);
	return 0;
}

TEST_F(port_events, down_and_up)
{
	int i;

	ASSERT_EQ(run("ip link set ev0 down"), 0);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(wait_port(self->members[i], IBV_EVENT_PORT_ERR), 0);
	ASSERT_EQ(run("ip link set ev0 up"), 0);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(wait_port(self->members[!i], IBV_EVENT_PORT_ACTIVE), 0);
}

TEST_HARNESS_MAIN
