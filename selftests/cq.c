// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * ARM of an imported CQ: the event comes out of the exporter's channel.
 */
#include <infiniband/verbs.h>
#include <poll.h>

#include "kselftest_harness.h"
#include "share_test.h"

FIXTURE(cq)
{
	struct endpoint ep;
	int fd;
	struct export_args export, of_qp;
	struct import import, qp;
};

FIXTURE_SETUP(cq)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->ep, &self->ep));
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
	self->export = EXPORT_OF(self->ep.fd, self->ep.cq.handle);
	test_export(self->ep.fd, &self->export);
	self->import = IMPORT_OF(self->export.grant);
	test_import(self->fd, &self->import);
	self->of_qp = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	test_export(self->ep.fd, &self->of_qp);
	self->qp = IMPORT_OF(self->of_qp.grant);
	test_import(self->fd, &self->qp);
}

FIXTURE_TEARDOWN(cq)
{
	close(self->fd);
	endpoint_close(&self->ep);
}

/* a receive that is flushed at once, as the QP is in ERR: one completion */
static int complete_one(FIXTURE_DATA(cq) *self)
{
	struct ib_uverbs_qp_attr attr = { .qp_attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_ERR };
	struct rxe_sge sge = {};
	struct ib_uverbs_wc wc;

	post_recv(self->ep.qp.recv.buf, 1, &sge);
	if (qp_modify(self->ep.fd, self->ep.qp.handle, &attr))
		return EIO;
	return poll_cq(self->ep.cq.ring.buf, &wc) ? 0 : ETIMEDOUT;
}

static bool has_event(int channel, int timeout)
{
	struct pollfd pfd = { .fd = channel, .events = POLLIN };
	struct ib_uverbs_comp_event_desc desc;

	return poll(&pfd, 1, timeout) == 1 && read(channel, &desc, sizeof(desc)) == sizeof(desc) &&
	       desc.cq_handle == 0xc0ffee;
}

TEST_F(cq, not_armed)
{
	test_ok(complete_one(self));
	EXPECT_FALSE(has_event(self->ep.channel, 0));
}

TEST_F(cq, armed)
{
	test_arm(self->fd, self->import.handle, 0);
	test_ok(complete_one(self));
	EXPECT_TRUE(has_event(self->ep.channel, WAIT_MS));
	EXPECT_FALSE(has_event(self->ep.channel, 0));
}

/* Return: 0 when both completions of a message to itself are there */
static int send_to_itself(FIXTURE_DATA(cq) *self, bool solicited)
{
	struct rxe_queue_buf *cq = self->ep.cq.ring.buf;
	struct rxe_sge sge = {};
	struct ib_uverbs_wc wc;

	post_recv(self->ep.qp.recv.buf, 1, &sge);
	if (solicited)
		post_send_solicited(self->ep.qp.send.buf, 2, &sge);
	else
		post_send(self->ep.qp.send.buf, 2, &sge);
	if (do_kick(self->fd, self->qp.handle, IB_UVERBS_SHARE_KICK_SEND))
		return EIO;
	return poll_cq(cq, &wc) && poll_cq(cq, &wc) ? 0 : ETIMEDOUT;
}

TEST_F(cq, armed_for_solicited)
{
	test_arm(self->fd, self->import.handle, IB_UVERBS_SHARE_ARM_SOLICITED);
	test_ok(send_to_itself(self, false));
	EXPECT_FALSE(has_event(self->ep.channel, 0));
	test_ok(send_to_itself(self, true));
	EXPECT_TRUE(has_event(self->ep.channel, WAIT_MS));
}

/* the stronger request counts */
TEST_F(cq, armed_for_both)
{
	test_arm(self->fd, self->import.handle, IB_UVERBS_SHARE_ARM_SOLICITED);
	test_arm(self->fd, self->import.handle, 0);
	test_ok(send_to_itself(self, false));
	EXPECT_TRUE(has_event(self->ep.channel, WAIT_MS));
}

TEST_F(cq, dead)
{
	test_revoke(self->ep.fd, self->export.handle);
	test_err_arm(ENOLINK, self->fd, self->import.handle, 0);
}

TEST_HARNESS_MAIN
