// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Each right opens what it says and nothing else; rights are never gained.
 */
#include <infiniband/verbs.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define R(name) IB_UVERBS_SHARE_##name

FIXTURE(rights)
{
	struct endpoint ep;
	int fd;
	struct reg_mr mr;
	int qp, cq, context, mr_grant; /* grants with all rights */
};

static int grant_of(FIXTURE_DATA(rights) *self, uint32_t object)
{
	struct export_args export = EXPORT_OF(self->ep.fd, object);

	if (object == self->mr.handle && self->mr.lkey) {
		export.mem_fd = self->mr.fd;
		export.access = ACCESS_LOCAL;
	}
	return do_export(self->ep.fd, &export) ? -1 : export.grant;
}

FIXTURE_SETUP(rights)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->ep, &self->ep));
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
	self->qp = grant_of(self, self->ep.qp.handle);
	self->cq = grant_of(self, self->ep.cq.handle);
	self->context = grant_of(self, ABSENT);
	self->mr = (struct reg_mr){
		.pd = self->ep.pd,
		.fd = memfd(PAGE),
		.length = PAGE,
		.access = ACCESS_LOCAL,
	};
	test_reg_mr(self->ep.fd, &self->mr);
	self->mr_grant = grant_of(self, self->mr.handle);
	ASSERT_LE(0, self->qp);
	ASSERT_LE(0, self->cq);
	ASSERT_LE(0, self->context);
	ASSERT_LE(0, self->mr_grant);
}

FIXTURE_TEARDOWN(rights)
{
	close(self->fd);
	endpoint_close(&self->ep);
}

/* ways to use an import */
enum use {
	KICK_SEND,
	KICK_RECV,
	KICK_BOTH,
	QUERY_QP,
	MODIFY_PLAIN,
	MODIFY_ANY,
	ARM,
	QUERY_SLOT,
	WAKE_SLOT,
	USES,
};

static int use(int fd, uint32_t handle, enum use use)
{
	struct ib_uverbs_qp_attr attr = { .qp_attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_RTS };
	struct ib_uverbs_share_slot slot;

	switch (use) {
	case KICK_SEND:
		return do_kick(fd, handle, R(KICK_SEND));
	case KICK_RECV:
		return do_kick(fd, handle, R(KICK_RECV));
	case KICK_BOTH:
		return do_kick(fd, handle, R(KICK_SEND) | R(KICK_RECV));
	case QUERY_QP:
		return do_query_qp(fd, handle, &attr);
	case MODIFY_ANY:
		attr.qp_attr_mask |= IBV_QP_MIN_RNR_TIMER;
		attr.min_rnr_timer = 12;
		return do_modify(fd, handle, &attr);
	case MODIFY_PLAIN:
		return do_modify(fd, handle, &attr);
	case ARM:
		return do_arm(fd, handle, 0);
	case QUERY_SLOT:
		return do_query_slot(fd, handle, 0, &slot);
	case WAKE_SLOT:
		return do_wake_slot(fd, handle, 0);
	default:
		return ENOSYS;
	}
}

#define CAN(use_) (1U << (use_))
#define ON_QP                                                               \
	(CAN(KICK_SEND) | CAN(KICK_RECV) | CAN(KICK_BOTH) | CAN(QUERY_QP) | \
	 CAN(MODIFY_PLAIN) | CAN(MODIFY_ANY))
#define ON_CQ CAN(ARM)
#define ON_CONTEXT (CAN(QUERY_SLOT) | CAN(WAKE_SLOT))

/* which uses of the @all of an object a single right opens; the others say EACCES */
struct right_row {
	uint32_t rights;
	uint32_t can;
};

static void try_rights(struct __test_metadata *_metadata, FIXTURE_DATA(rights) *self, int grant,
		       uint32_t all, const struct right_row *row, unsigned int rows)
{
	struct import import = IMPORT_OF(grant);
	unsigned int u;

	for (; rows; rows--, row++) {
		import.rights = row->rights;
		test_import(self->fd, &import);
		EXPECT_EQ(row->rights, import.info.rights);
		for (u = 0; u < USES; u++) {
			if (!(all & CAN(u)))
				continue;
			EXPECT_EQ(row->can & CAN(u) ? 0 : EACCES,
				  use(self->fd, import.handle, u))
			{
				TH_LOG("rights %#x, use %u", row->rights, u);
			}
		}
		test_release(self->fd, import.handle);
	}
}

TEST_F(rights, of_a_qp)
{
	static const struct right_row rows[] = {
		{ 0, 0 },
		{ R(POST_SEND), CAN(KICK_SEND) },
		{ R(POST_RECV), CAN(KICK_RECV) },
		{ R(POST_SEND) | R(POST_RECV), CAN(KICK_SEND) | CAN(KICK_RECV) | CAN(KICK_BOTH) },
		{ R(READ), CAN(QUERY_QP) },
		{ R(MODIFY), CAN(MODIFY_PLAIN) },
		{ R(MANAGE), CAN(MODIFY_PLAIN) | CAN(MODIFY_ANY) },
		{ R(REGRANT), 0 },
	};

	try_rights(_metadata, self, self->qp, ON_QP, rows, ARRAY_SIZE(rows));
}

TEST_F(rights, of_a_cq)
{
	static const struct right_row rows[] = {
		{ 0, 0 },
		{ R(POLL), 0 },
		{ R(ARM), CAN(ARM) },
		{ R(REGRANT), 0 },
	};

	try_rights(_metadata, self, self->cq, ON_CQ, rows, ARRAY_SIZE(rows));
}

TEST_F(rights, of_a_context)
{
	static const struct right_row rows[] = {
		{ 0, 0 },
		{ R(READ), CAN(QUERY_SLOT) },
		{ R(WAKE), CAN(WAKE_SLOT) },
		{ R(MANAGE), 0 },
		{ R(REGRANT), 0 },
	};

	try_rights(_metadata, self, self->context, ON_CONTEXT, rows, ARRAY_SIZE(rows));
}

/* of a region: register anew, which reads the grant and not an import */
TEST_F(rights, of_a_region)
{
	struct reg_mr reg = { .pd = self->ep.pd, .length = PAGE, .access = ACCESS_LOCAL };

	test_derive(self->fd, self->mr_grant, R(REGISTER), &reg.fd);
	test_reg_mr(self->ep.fd, &reg);
	test_derive(self->fd, self->mr_grant, R(READ) | R(REGRANT), &reg.fd);
	test_err_reg_mr(EACCES, self->ep.fd, &reg);
}

TEST_F(rights, derive_narrows)
{
	struct import import;
	int send, none, same;

	test_derive(self->fd, self->qp, ABSENT, &same);
	test_derive(self->fd, same, R(POST_SEND) | R(REGRANT), &send);
	test_err_derive(EACCES, self->fd, send, R(POST_SEND) | R(POST_RECV), &none);
	test_err_derive(EACCES, self->fd, send, R(POST_RECV), &none);
	test_derive(self->fd, send, R(POST_SEND), &none);
	/* no further */
	test_err_derive(EACCES, self->fd, none, R(POST_SEND), &none);
	test_err_derive(EACCES, self->fd, none, 0, &none);
	test_err_derive(EACCES, self->fd, none, ABSENT, &none);

	import = IMPORT_OF(none);
	import.rights = R(POST_SEND) | R(READ);
	test_err_import(EACCES, self->fd, &import);
	import.rights = ABSENT;
	test_import(self->fd, &import);
	EXPECT_EQ(R(POST_SEND), import.info.rights);
}

/* rights that make no sense for the object are not there to be had */
TEST_F(rights, derive_of_foreign_rights)
{
	int fd;

	test_err_derive(EACCES, self->fd, self->cq, R(POST_SEND), &fd);
	test_err_derive(EACCES, self->fd, self->qp, R(POLL), &fd);
	test_err_derive(EACCES, self->fd, self->context, R(REGISTER), &fd);
	test_err_derive(EINVAL, self->fd, self->qp, R(ALL_RIGHTS) + 1, &fd);
}

TEST_F(rights, export_narrows)
{
	struct export_args export = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	struct import import;
	int fd;

	export.rights = R(POST_RECV);
	test_export(self->ep.fd, &export);
	import = IMPORT_OF(export.grant);
	test_import(self->fd, &import);
	EXPECT_EQ(R(POST_RECV), import.info.rights);
	test_err_derive(EACCES, self->fd, export.grant, R(POST_RECV), &fd);

	export.rights = R(POLL);
	test_err_export(EOPNOTSUPP, self->ep.fd, &export);
}

/* a right of the grant is none of the import that did not ask for it, and the other way round */
TEST_F(rights, grant_and_import_are_apart)
{
	struct import import = IMPORT_OF(self->qp);
	int narrow;

	import.rights = R(READ);
	test_import(self->fd, &import);
	EXPECT_EQ(EACCES, use(self->fd, import.handle, KICK_SEND));
	test_derive(self->fd, self->qp, R(READ), &narrow);
	close(self->qp);
	EXPECT_EQ(0, use(self->fd, import.handle, QUERY_QP));
	import = IMPORT_OF(narrow);
	import.rights = R(POST_SEND);
	test_err_import(EACCES, self->fd, &import);
}

/* the access of a region is a right as well */
TEST_F(rights, access_narrows)
{
	struct reg_mr reg = { .pd = self->ep.pd, .fd = self->mr_grant, .length = PAGE };

	reg.access = ACCESS_LOCAL;
	test_reg_mr(self->ep.fd, &reg);
	reg.access = IB_UVERBS_ACCESS_REMOTE_READ;
	test_err_reg_mr(EACCES, self->ep.fd, &reg);
	reg.access = ACCESS_LOCAL | IB_UVERBS_ACCESS_REMOTE_WRITE;
	test_err_reg_mr(EACCES, self->ep.fd, &reg);
	reg.access = 0;
	test_reg_mr(self->ep.fd, &reg);
}

/* a grant without write access: no region that writes, whatever the exporter has open */
TEST_F(rights, read_only_grant)
{
	struct export_args export = EXPORT_OF(self->ep.fd, self->mr.handle);
	struct reg_mr reg = { .pd = self->ep.pd, .length = PAGE };

	export.mem_fd = self->mr.fd;
	export.access = IB_UVERBS_ACCESS_REMOTE_READ;
	test_export(self->ep.fd, &export);
	reg.fd = export.grant;
	reg.access = IB_UVERBS_ACCESS_REMOTE_READ;
	/* Linux 6.1 pins for writing only, and so through a mapping that writes */
	test_err_reg_mr(is_kernel_at_least(6, 2) ? 0 : EOPNOTSUPP, self->ep.fd, &reg);
	reg.access = ACCESS_LOCAL;
	test_err_reg_mr(EACCES, self->ep.fd, &reg);
}

TEST_HARNESS_MAIN
