// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What holds for each kind of object that can be exported.
 */
#include "kselftest_harness.h"
#include "share_test.h"

FIXTURE(objects)
{
	struct endpoint ep;
	struct qp qp;
	struct srq srq;
	struct reg_mr mr;
	int importer;
	uint32_t object;
	struct export_args export;
	struct import import;
};

FIXTURE_VARIANT(objects)
{
	enum ib_uverbs_share_kind kind;
	const char *name;
	uint32_t qp_type;
	uint32_t rights;
	uint16_t object_id;
};

#define QP_RIGHTS                                                \
	(IB_UVERBS_SHARE_POST_SEND | IB_UVERBS_SHARE_POST_RECV | \
	 IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_MODIFY |         \
	 IB_UVERBS_SHARE_MANAGE | IB_UVERBS_SHARE_REGRANT)

FIXTURE_VARIANT_ADD(objects, context){
	.kind = IB_UVERBS_SHARE_CONTEXT,
	.name = "share-kind:\tcontext",
	.rights = IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_WAKE | IB_UVERBS_SHARE_MANAGE |
		  IB_UVERBS_SHARE_REGRANT,
};

FIXTURE_VARIANT_ADD(objects, pd){
	.kind = IB_UVERBS_SHARE_PD,
	.name = "share-kind:\tpd",
	.rights = IB_UVERBS_SHARE_REGISTER | IB_UVERBS_SHARE_REGRANT,
	.object_id = UVERBS_OBJECT_PD,
};

FIXTURE_VARIANT_ADD(objects, cq){
	.kind = IB_UVERBS_SHARE_CQ,
	.name = "share-kind:\tcq",
	.rights = IB_UVERBS_SHARE_POLL | IB_UVERBS_SHARE_ARM | IB_UVERBS_SHARE_READ |
		  IB_UVERBS_SHARE_REGRANT,
	.object_id = UVERBS_OBJECT_CQ,
};

FIXTURE_VARIANT_ADD(objects, rc){
	.kind = IB_UVERBS_SHARE_QP,
	.name = "share-kind:\tqp",
	.qp_type = IB_UVERBS_QPT_RC,
	.rights = QP_RIGHTS,
	.object_id = UVERBS_OBJECT_QP,
};

FIXTURE_VARIANT_ADD(objects, uc){
	.kind = IB_UVERBS_SHARE_QP,
	.name = "share-kind:\tqp",
	.qp_type = IB_UVERBS_QPT_UC,
	.rights = QP_RIGHTS,
	.object_id = UVERBS_OBJECT_QP,
};

FIXTURE_VARIANT_ADD(objects, ud){
	.kind = IB_UVERBS_SHARE_QP,
	.name = "share-kind:\tqp",
	.qp_type = IB_UVERBS_QPT_UD,
	.rights = QP_RIGHTS,
	.object_id = UVERBS_OBJECT_QP,
};

FIXTURE_VARIANT_ADD(objects, srq){
	.kind = IB_UVERBS_SHARE_SRQ,
	.name = "share-kind:\tsrq",
	.rights = IB_UVERBS_SHARE_POST_RECV | IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_MODIFY |
		  IB_UVERBS_SHARE_REGRANT,
	.object_id = UVERBS_OBJECT_SRQ,
};

FIXTURE_VARIANT_ADD(objects, mr){
	.kind = IB_UVERBS_SHARE_MR,
	.name = "share-kind:\tmr",
	.rights = IB_UVERBS_SHARE_READ | IB_UVERBS_SHARE_REGISTER | IB_UVERBS_SHARE_REGRANT,
	.object_id = UVERBS_OBJECT_MR,
};

/* @self->object: the object of this variant, which nothing else uses */
static int create(FIXTURE_DATA(objects) *self, enum ib_uverbs_share_kind kind,
		  uint32_t qp_type)
{
	struct cq cq;
	int err = 0;

	switch (kind) {
	case IB_UVERBS_SHARE_CONTEXT:
		self->object = ABSENT;
		break;
	case IB_UVERBS_SHARE_PD:
		err = pd_alloc(self->ep.fd, &self->object);
		break;
	case IB_UVERBS_SHARE_CQ:
		err = cq_create(self->ep.fd, 16, -1, &cq);
		self->object = cq.handle;
		break;
	case IB_UVERBS_SHARE_QP:
		err = qp_create(&self->ep, qp_type, NULL, &self->qp);
		self->object = self->qp.handle;
		break;
	case IB_UVERBS_SHARE_SRQ:
		err = srq_create(self->ep.fd, self->ep.pd, &self->srq);
		self->object = self->srq.handle;
		break;
	case IB_UVERBS_SHARE_MR:
		self->mr = (struct reg_mr){
			.pd = self->ep.pd,
			.fd = memfd(3 * PAGE),
			.offset = PAGE + 8,
			.length = PAGE,
			.iova = 8,
			.access = ACCESS_ALL,
		};
		err = do_reg_mr(self->ep.fd, &self->mr);
		self->object = self->mr.handle;
		break;
	}
	return err;
}

FIXTURE_SETUP(objects)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	self->importer = dev_open("rxe0");
	ASSERT_LE(0, self->importer);
	test_ok(create(self, variant->kind, variant->qp_type));
	self->export = EXPORT_OF(self->ep.fd, self->object);
	if (variant->kind == IB_UVERBS_SHARE_MR) {
		self->export.mem_fd = self->mr.fd;
		self->export.mem_offset = self->mr.offset;
		self->export.access = ACCESS_LOCAL;
	}
	test_export(self->ep.fd, &self->export);
	self->import = IMPORT_OF(self->export.grant);
}

FIXTURE_TEARDOWN(objects)
{
	EXPECT_EQ(0, close(self->importer));
	endpoint_close(&self->ep);
}

TEST_F(objects, info)
{
	struct ib_uverbs_share_info *info = &self->import.info, want = {};

	memset(info, 0xff, sizeof(*info));
	test_import(self->importer, &self->import);
	want.kind = variant->kind;
	want.rights = variant->rights;
	if (variant->kind == IB_UVERBS_SHARE_CONTEXT)
		want.generation = 1;
	if (variant->kind == IB_UVERBS_SHARE_QP) {
		want.qp_num = self->qp.num;
		want.qp_type = variant->qp_type;
	}
	if (variant->kind == IB_UVERBS_SHARE_MR) {
		want.lkey = self->mr.lkey;
		want.rkey = self->mr.rkey;
		want.iova = 8;
		want.length = PAGE;
		want.access = ACCESS_LOCAL;
	}
	EXPECT_EQ(0, memcmp(&want, info, sizeof(want)));
	test_release(self->importer, self->import.handle);
}

TEST_F(objects, busy_while_exported)
{
	struct export_args again = self->export;

	if (variant->kind == IB_UVERBS_SHARE_CONTEXT)
		SKIP(return, "a context is not destroyed but closed");
	EXPECT_EQ(EBUSY, destroy(self->ep.fd, variant->object_id, self->object));
	/* each export counts */
	test_export(self->ep.fd, &again);
	test_revoke(self->ep.fd, self->export.handle);
	EXPECT_EQ(EBUSY, destroy(self->ep.fd, variant->object_id, self->object));
	/* an import does not */
	self->import.grant = again.grant;
	test_import(self->importer, &self->import);
	test_revoke(self->ep.fd, again.handle);
	EXPECT_EQ(0, destroy(self->ep.fd, variant->object_id, self->object));
	test_release(self->importer, self->import.handle);
}

TEST_F(objects, rereg_while_exported)
{
	if (variant->kind != IB_UVERBS_SHARE_MR || !is_kernel_at_least(6, 3))
		SKIP(return, "rxe has no reregistration before 6.3, and only of regions");
	EXPECT_EQ(EBUSY, mr_rereg_access(self->ep.fd, self->object, ACCESS_LOCAL));
	test_revoke(self->ep.fd, self->export.handle);
	EXPECT_EQ(0, mr_rereg_access(self->ep.fd, self->object, ACCESS_LOCAL));
}

TEST_F(objects, fdinfo)
{
	char line[64];

	EXPECT_TRUE(fdinfo_has(self->export.grant, variant->name));
	EXPECT_TRUE(fdinfo_has(self->export.grant, "share-state:\tlive"));
	EXPECT_TRUE(fdinfo_has(self->export.grant, "share-device:\trxe0"));
	EXPECT_TRUE(fdinfo_has(self->export.grant, "share-imports:\t0"));
	snprintf(line, sizeof(line), "share-rights:\t0x%x", variant->rights);
	EXPECT_TRUE(fdinfo_has(self->export.grant, line));
	snprintf(line, sizeof(line), "share-handle:\t%d", self->object);
	EXPECT_EQ(self->object != ABSENT, fdinfo_has(self->export.grant, line));
	snprintf(line, sizeof(line), "share-qpn:\t%u", self->qp.num);
	EXPECT_EQ(variant->kind == IB_UVERBS_SHARE_QP, fdinfo_has(self->export.grant, line));
	snprintf(line, sizeof(line), "share-rkey:\t0x%x", self->mr.rkey);
	EXPECT_EQ(variant->kind == IB_UVERBS_SHARE_MR, fdinfo_has(self->export.grant, line));

	test_import(self->importer, &self->import);
	EXPECT_TRUE(fdinfo_has(self->export.grant, "share-imports:\t1"));
	test_release(self->importer, self->import.handle);
	EXPECT_TRUE(fdinfo_has(self->export.grant, "share-imports:\t0"));
	test_revoke(self->ep.fd, self->export.handle);
	EXPECT_TRUE(fdinfo_has(self->export.grant, "share-state:\tdead"));
	EXPECT_TRUE(fdinfo_has(self->export.grant, variant->name));
	EXPECT_TRUE(fdinfo_has(self->export.grant, "share-device:\trxe0"));
	snprintf(line, sizeof(line), "share-handle:\t%d", self->object);
	EXPECT_FALSE(fdinfo_has(self->export.grant, line));
}

TEST_F(objects, revoke_is_told)
{
	struct import again;
	int derived;

	test_derive(self->importer, self->export.grant, ABSENT, &derived);
	EXPECT_FALSE(is_hung_up(derived));
	EXPECT_FALSE(is_hung_up(self->export.grant));
	test_revoke(self->ep.fd, self->export.handle);
	EXPECT_TRUE(is_hung_up(derived));
	EXPECT_TRUE(is_hung_up(self->export.grant));

	again = IMPORT_OF(derived);
	test_err_import(ENOLINK, self->importer, &again);
	test_err_derive(ENOLINK, self->importer, derived, ABSENT, &derived);
	test_err_revoke(ENOENT, self->ep.fd, self->export.handle);
}

TEST_F(objects, other_device)
{
	int fd = dev_open("rxe1");

	ASSERT_LE(0, fd);
	test_err_import(EXDEV, fd, &self->import);
	/* a dead share has no device any more */
	test_revoke(self->ep.fd, self->export.handle);
	test_err_import(ENOLINK, fd, &self->import);
}

/* nothing of it survives the exporter */
TEST_F(objects, close_with_everything_open)
{
	test_import(self->importer, &self->import);
}

TEST_HARNESS_MAIN
