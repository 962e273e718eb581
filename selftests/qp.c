// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * MODIFY_QP, QUERY_QP and KICK of an imported QP, in every state of it.
 */
#include <infiniband/verbs.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define SEND IB_UVERBS_SHARE_KICK_SEND
#define RECV IB_UVERBS_SHARE_KICK_RECV

FIXTURE(imported_qp)
{
	struct endpoint ep;
	int fd;
	struct export_args export;
	uint32_t manager, modifier;
};

static uint32_t import_with(int fd, int grant, uint32_t rights)
{
	struct import import = IMPORT_OF(grant);

	import.rights = rights;
	return do_import(fd, &import) ? ABSENT : import.handle;
}

FIXTURE_SETUP(imported_qp)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
	self->export = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	test_export(self->ep.fd, &self->export);
	self->manager = import_with(self->fd, self->export.grant, ABSENT);
	self->modifier = import_with(self->fd, self->export.grant,
				     IB_UVERBS_SHARE_MODIFY | IB_UVERBS_SHARE_READ);
	ASSERT_NE(ABSENT, self->manager);
	ASSERT_NE(ABSENT, self->modifier);
}

FIXTURE_TEARDOWN(imported_qp)
{
	close(self->fd);
	endpoint_close(&self->ep);
}

/* the QP sends to itself */
static int move(FIXTURE_DATA(imported_qp) *self, uint32_t import, uint8_t state)
{
	struct ib_uverbs_qp_attr attr = qp_attr_to(&self->ep, state);

	return do_modify(self->fd, import, &attr);
}

/* only the state, as it is from RTS on */
static int change_state(FIXTURE_DATA(imported_qp) *self, uint32_t import, uint8_t state)
{
	struct ib_uverbs_qp_attr attr = { .qp_attr_mask = IBV_QP_STATE, .qp_state = state };

	return do_modify(self->fd, import, &attr);
}

/* rxe of 6.1 first drains the send queue, in its own time */
static bool leave_sqd(FIXTURE_DATA(imported_qp) *self, uint32_t import)
{
	return wait_for(change_state(self, import, IBV_QPS_RTS) == 0);
}

static int state_of(FIXTURE_DATA(imported_qp) *self)
{
	struct ib_uverbs_query_qp_resp resp;

	return qp_query(self->ep.fd, self->ep.qp.handle, &resp) ? -1 : resp.qp_state;
}

TEST_F(imported_qp, all_the_way)
{
	EXPECT_EQ(0, move(self, self->manager, IBV_QPS_INIT));
	EXPECT_EQ(IBV_QPS_INIT, state_of(self));
	EXPECT_EQ(0, move(self, self->manager, IBV_QPS_RTR));
	EXPECT_EQ(IBV_QPS_RTR, state_of(self));
	EXPECT_EQ(0, move(self, self->manager, IBV_QPS_RTS));
	EXPECT_EQ(IBV_QPS_RTS, state_of(self));
	EXPECT_EQ(0, change_state(self, self->manager, IBV_QPS_SQD));
	EXPECT_TRUE(leave_sqd(self, self->manager));
	EXPECT_EQ(IBV_QPS_RTS, state_of(self));
	EXPECT_EQ(0, change_state(self, self->manager, IBV_QPS_ERR));
	EXPECT_EQ(IBV_QPS_ERR, state_of(self));
	EXPECT_EQ(0, change_state(self, self->manager, IBV_QPS_RESET));
	EXPECT_EQ(IBV_QPS_RESET, state_of(self));
	EXPECT_EQ(0, move(self, self->manager, IBV_QPS_INIT));
}

TEST_F(imported_qp, bad_transitions)
{
	EXPECT_EQ(EINVAL, move(self, self->manager, IBV_QPS_RTR));
	EXPECT_EQ(EINVAL, move(self, self->manager, IBV_QPS_RTS));
	EXPECT_EQ(EINVAL, change_state(self, self->manager, IBV_QPS_INIT));
	EXPECT_EQ(EINVAL, change_state(self, self->manager, IBV_QPS_SQD));
	EXPECT_EQ(EINVAL, change_state(self, self->manager, IBV_QPS_ERR + 1));
	EXPECT_EQ(IBV_QPS_RESET, state_of(self));
}

/* what uverbs itself refuses for ibv_modify_qp() */
TEST_F(imported_qp, bad_attributes)
{
	struct ib_uverbs_qp_attr attr = qp_attr_to(&self->ep, IBV_QPS_INIT);

	attr.port_num = 2;
	test_err_modify(EINVAL, self->fd, self->manager, &attr);
	attr.port_num = 0;
	test_err_modify(EINVAL, self->fd, self->manager, &attr);
	attr.port_num = 1;
	attr.reserved[0] = 1;
	test_err_modify(EINVAL, self->fd, self->manager, &attr);
	attr.reserved[0] = 0;
	attr.qp_attr_mask |= 1U << 30;
	test_err_modify(EOPNOTSUPP, self->fd, self->manager, &attr);
	EXPECT_EQ(0, move(self, self->manager, IBV_QPS_INIT));

	attr = qp_attr_to(&self->ep, IBV_QPS_RTR);
	attr.ah_attr.port_num = 2;
	test_err_modify(EINVAL, self->fd, self->manager, &attr);
	attr = qp_attr_to(&self->ep, IBV_QPS_RTR);
	attr.ah_attr.grh.sgid_index = 255;
	EXPECT_NE(0, do_modify(self->fd, self->manager, &attr));
	EXPECT_EQ(IBV_QPS_INIT, state_of(self));
}

TEST_F(imported_qp, modify_only)
{
	struct ib_uverbs_qp_attr attr = { .qp_attr_mask = IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER,
					  .qp_state = IBV_QPS_RTS };
	uint8_t state;

	for (state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		EXPECT_EQ(EACCES, move(self, self->modifier, state));
		EXPECT_EQ(0, move(self, self->manager, state));
	}
	test_err_modify(EACCES, self->fd, self->modifier, &attr);
	EXPECT_EQ(EACCES, change_state(self, self->modifier, IBV_QPS_RESET));
	EXPECT_EQ(0, change_state(self, self->modifier, IBV_QPS_SQD));
	EXPECT_TRUE(leave_sqd(self, self->modifier));
	EXPECT_EQ(0, change_state(self, self->modifier, IBV_QPS_ERR));
	EXPECT_EQ(EACCES, change_state(self, self->modifier, IBV_QPS_RESET));
	/* to a state that it cannot reach from here */
	EXPECT_EQ(EINVAL, change_state(self, self->modifier, IBV_QPS_RTS));
	/* no state at all is no change of state */
	attr.qp_attr_mask = 0;
	test_err_modify(EACCES, self->fd,
			import_with(self->fd, self->export.grant, IB_UVERBS_SHARE_READ), &attr);
}

/* MODIFY is for a change of state with nothing beside it, an address least of all */
TEST_F(imported_qp, modify_with_more)
{
	const uint32_t allowed = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY;
	struct ib_uverbs_qp_attr attr = qp_attr_to(&self->ep, IBV_QPS_RTR);
	uint32_t bit;

	test_ok(endpoint_connect(&self->ep, &self->ep));
	attr.qp_state = attr.cur_qp_state = IBV_QPS_RTS;
	for (bit = 1; bit; bit <<= 1) {
		attr.qp_attr_mask = IBV_QP_STATE | bit;
		EXPECT_EQ(!(bit & allowed), do_modify(self->fd, self->modifier, &attr) == EACCES)
		{
			TH_LOG("mask %#x", attr.qp_attr_mask);
		}
		attr.qp_attr_mask = bit & ~IBV_QP_STATE;
		test_err_modify(EACCES, self->fd, self->modifier, &attr);
	}
	EXPECT_EQ(IBV_QPS_RTS, state_of(self));

	attr.qp_attr_mask = IBV_QP_STATE;
	for (attr.qp_state = 0; attr.qp_state <= IBV_QPS_ERR + 1; attr.qp_state++) {
		if (attr.qp_state == IBV_QPS_RTS || attr.qp_state == IBV_QPS_SQD ||
		    attr.qp_state == IBV_QPS_ERR)
			continue;
		test_err_modify(EACCES, self->fd, self->modifier, &attr);
	}
	EXPECT_EQ(IBV_QPS_RTS, state_of(self));
	EXPECT_EQ(0, change_state(self, self->modifier, IBV_QPS_RTS));
}

TEST_F(imported_qp, query)
{
	struct ib_uverbs_query_qp_resp want = {};
	struct ib_uverbs_qp_attr got;

	test_ok(endpoint_connect(&self->ep, &self->ep));
	test_ok(qp_query(self->ep.fd, self->ep.qp.handle, &want));
	memset(&got, 0xff, sizeof(got));
	test_query_qp(self->fd, self->modifier, &got);
	EXPECT_EQ(want.qp_state, got.qp_state);
	EXPECT_EQ(want.path_mtu, got.path_mtu);
	EXPECT_EQ(want.qkey, got.qkey);
	EXPECT_EQ(want.rq_psn, got.rq_psn);
	EXPECT_EQ(want.sq_psn, got.sq_psn);
	EXPECT_EQ(want.dest_qp_num, got.dest_qp_num);
	EXPECT_EQ(want.qp_access_flags, got.qp_access_flags);
	EXPECT_EQ(want.max_send_wr, got.max_send_wr);
	EXPECT_EQ(want.max_recv_wr, got.max_recv_wr);
	EXPECT_EQ(want.max_send_sge, got.max_send_sge);
	EXPECT_EQ(want.max_recv_sge, got.max_recv_sge);
	EXPECT_EQ(want.max_inline_data, got.max_inline_data);
	EXPECT_EQ(want.max_rd_atomic, got.max_rd_atomic);
	EXPECT_EQ(want.max_dest_rd_atomic, got.max_dest_rd_atomic);
	EXPECT_EQ(want.min_rnr_timer, got.min_rnr_timer);
	EXPECT_EQ(want.port_num, got.port_num);
	EXPECT_EQ(want.timeout, got.timeout);
	EXPECT_EQ(want.retry_cnt, got.retry_cnt);
	EXPECT_EQ(want.rnr_retry, got.rnr_retry);
	EXPECT_EQ(0, memcmp(want.dest.dgid, got.ah_attr.grh.dgid, sizeof(want.dest.dgid)));
	EXPECT_EQ(want.dest.sgid_index, got.ah_attr.grh.sgid_index);
	EXPECT_EQ(want.dest.hop_limit, got.ah_attr.grh.hop_limit);
}

/* the table of enum ib_uverbs_share_kick */
TEST_F(imported_qp, kick_in_every_state)
{
	test_err_kick(EINVAL, self->fd, self->manager, SEND);
	test_err_kick(EINVAL, self->fd, self->manager, RECV);
	test_err_kick(EINVAL, self->fd, self->manager, SEND | RECV);
	EXPECT_EQ(0, move(self, self->manager, IBV_QPS_INIT));
	test_err_kick(EINVAL, self->fd, self->manager, SEND);
	test_kick(self->fd, self->manager, RECV);
	EXPECT_EQ(0, move(self, self->manager, IBV_QPS_RTR));
	test_err_kick(EINVAL, self->fd, self->manager, SEND);
	test_kick(self->fd, self->manager, RECV);
	EXPECT_EQ(0, move(self, self->manager, IBV_QPS_RTS));
	test_kick(self->fd, self->manager, SEND);
	test_kick(self->fd, self->manager, RECV);
	test_kick(self->fd, self->manager, SEND | RECV);
	EXPECT_EQ(0, change_state(self, self->manager, IBV_QPS_SQD));
	test_kick(self->fd, self->manager, SEND | RECV);
	EXPECT_EQ(0, change_state(self, self->manager, IBV_QPS_ERR));
	test_kick(self->fd, self->manager, SEND | RECV);
	EXPECT_EQ(0, change_state(self, self->manager, IBV_QPS_RESET));
	test_err_kick(EINVAL, self->fd, self->manager, SEND | RECV);
}

/* what is posted to a QP in ERR comes back when it is kicked */
TEST_F(imported_qp, kick_flushes)
{
	struct rxe_sge sge = { .length = 1 };
	struct ib_uverbs_wc wc;

	test_ok(endpoint_connect(&self->ep, &self->ep));
	EXPECT_EQ(0, change_state(self, self->modifier, IBV_QPS_ERR));
	post_recv(self->ep.qp.recv.buf, 11, &sge);
	test_kick(self->fd, self->manager, RECV);
	ASSERT_TRUE(poll_cq(self->ep.cq.ring.buf, &wc));
	EXPECT_EQ(11, wc.wr_id);
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
	post_send(self->ep.qp.send.buf, 12, &sge);
	test_kick(self->fd, self->manager, SEND);
	ASSERT_TRUE(poll_cq(self->ep.cq.ring.buf, &wc));
	EXPECT_EQ(12, wc.wr_id);
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
}

/* published and not kicked: whoever goes kicks */
TEST_F(imported_qp, release_kicks)
{
	struct rxe_sge sge = {};
	struct ib_uverbs_wc wc;

	test_ok(endpoint_connect(&self->ep, &self->ep));
	post_recv(self->ep.qp.recv.buf, 1, &sge);
	post_send(self->ep.qp.send.buf, 2, &sge);
	test_release(self->fd, self->manager);
	ASSERT_TRUE(poll_cq(self->ep.cq.ring.buf, &wc));
	ASSERT_TRUE(poll_cq(self->ep.cq.ring.buf, &wc));
}

TEST_F(imported_qp, dead)
{
	struct ib_uverbs_qp_attr attr = qp_attr_to(&self->ep, IBV_QPS_INIT);

	test_revoke(self->ep.fd, self->export.handle);
	test_err_kick(ENOLINK, self->fd, self->manager, SEND);
	test_err_modify(ENOLINK, self->fd, self->manager, &attr);
	test_err_query_qp(ENOLINK, self->fd, self->manager, &attr);
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_QP, self->ep.qp.handle));
	test_err_kick(ENOLINK, self->fd, self->manager, SEND);
	test_release(self->fd, self->manager);
}

TEST_HARNESS_MAIN
