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

FIXTURE(cq) {
	struct endpoint ep;
	int fd;
	struct export export;
	struct import import;
};

FIXTURE_SETUP(cq) {
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->ep, &self->ep));
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
	self->export = EXPORT_OF(self->ep.fd, self->ep.cq.handle);
	test_export(self->ep.fd, &self->export);
	self->import = IMPORT_OF(self->export.grant);
	test_import(self->fd, &self->import);
}

FIXTURE_TEARDOWN(cq) {
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

TEST_F(cq, not_armed) {
	test_ok(complete_one(self));
	EXPECT_FALSE(has_event(self->ep.channel, 0));
}

TEST_F(cq, armed) {
	test_arm(self->fd, self->import.handle, 0);
	test_ok(complete_one(self));
	EXPECT_TRUE(has_event(self->ep.channel, WAIT_MS));
	EXPECT_FALSE(has_event(self->ep.channel, 0));
}

/* an error is a solicited event as well, so this only shows that it is delivered */
TEST_F(cq, armed_solicited) {
	test_arm(self->fd, self->import.handle, IB_UVERBS_SHARE_ARM_SOLICITED);
	test_ok(complete_one(self));
	EXPECT_TRUE(has_event(self->ep.channel, WAIT_MS));
}

static int send_to_itself(FIXTURE_DATA(cq) *self, uint32_t kick)
{
	struct ib_uverbs_wc wc;
	struct rxe_sge sge = {};

	post_recv(self->ep.qp.recv.buf, 1, &sge);
	post_send(self->ep.qp.send.buf, 2, &sge);
	if (do_kick(self->fd, kick, IB_UVERBS_SHARE_KICK_SEND))
		return EIO;
	return poll_cq(self->ep.cq.ring.buf, &wc) && poll_cq(self->ep.cq.ring.buf, &wc) ? 0 :
											  ETIMEDOUT;
}

/* nobody asked for solicited events of these */
TEST_F(cq, unsolicited) {
	struct export of_qp = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	struct import qp;

	test_export(self->ep.fd, &of_qp);
	qp = IMPORT_OF(of_qp.grant);
	test_import(self->fd, &qp);
	test_arm(self->fd, self->import.handle, IB_UVERBS_SHARE_ARM_SOLICITED);
	test_ok(send_to_itself(self, qp.handle));
	EXPECT_FALSE(has_event(self->ep.channel, 0));
	/* the stronger request counts */
	test_arm(self->fd, self->import.handle, 0);
	test_ok(send_to_itself(self, qp.handle));
	EXPECT_TRUE(has_event(self->ep.channel, WAIT_MS));
}

TEST_F(cq, dead) {
	test_revoke(self->ep.fd, self->export.handle);
	test_err_arm(ENOLINK, self->fd, self->import.handle, 0);
}

TEST_HARNESS_MAIN
