// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Every right, of every kind of object, against every way to use one: with the
 * right alone, with all but it. The exporter gives its grant to a second
 * process, which narrows it for a third, which tries everything.
 */
#include <infiniband/verbs.h>
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define R(name) IB_UVERBS_SHARE_##name
#define RIGHTS 10
#define RINGS R(RING_COUNT)

/* ways to use a grant, and an import that was made from it */
enum use {
	DERIVE,
	REG_MR,
	MAP_SEND,
	MAP_RECV,
	MAP_CQ,
	MAP_SRQ,
	IMPORT_REG_MR,
	KICK_SEND,
	KICK_RECV,
	MODIFY_PLAIN,
	MODIFY_ANY,
	QUERY_QP,
	ARM,
	QUERY_CQ,
	QUERY_SRQ,
	MODIFY_SRQ,
	QUERY_MR,
	QUERY_SLOT,
	WAKE_SLOT,
	USES,
};

#define ON(kind) (1U << R(kind))
#define ON_ALL (ON(CONTEXT) | ON(PD) | ON(CQ) | ON(QP) | ON(SRQ) | ON(MR))

/* one of @rights opens it, on objects of @kinds; others say EINVAL */
static const struct {
	const char *name;
	bool of_grant;
	uint32_t kinds;
	uint32_t rights;
} uses[USES] = {
	[DERIVE] = { "DERIVE", true, ON_ALL, R(REGRANT) },
	[REG_MR] = { "REG_MR", true, ON(MR), R(REGISTER) },
	[MAP_SEND] = { "mmap of the send ring", true, ON(QP), R(POST_SEND) },
	[MAP_RECV] = { "mmap of the receive ring", true, ON(QP), R(POST_RECV) },
	[MAP_CQ] = { "mmap of a CQ", true, ON(CQ), R(POLL) },
	[MAP_SRQ] = { "mmap of an SRQ", true, ON(SRQ), R(POST_RECV) },
	[IMPORT_REG_MR] = { "IMPORT_REG_MR", false, ON(PD), R(REGISTER) },
	[KICK_SEND] = { "KICK send", false, ON(QP), R(POST_SEND) },
	[KICK_RECV] = { "KICK recv", false, ON(QP), R(POST_RECV) },
	[MODIFY_PLAIN] = { "MODIFY_QP", false, ON(QP), R(MODIFY) | R(MANAGE) },
	[MODIFY_ANY] = { "MODIFY_QP of an attribute", false, ON(QP), R(MANAGE) },
	[QUERY_QP] = { "QUERY_QP", false, ON(QP), R(READ) },
	[ARM] = { "ARM", false, ON(CQ), R(ARM) },
	[QUERY_CQ] = { "QUERY_CQ", false, ON(CQ), R(READ) },
	[QUERY_SRQ] = { "QUERY_SRQ", false, ON(SRQ), R(READ) },
	[MODIFY_SRQ] = { "MODIFY_SRQ", false, ON(SRQ), R(MODIFY) },
	[QUERY_MR] = { "QUERY_MR", false, ON(MR), R(READ) },
	[QUERY_SLOT] = { "QUERY_SLOT", false, ON(CONTEXT), R(READ) },
	[WAKE_SLOT] = { "WAKE_SLOT", false, ON(CONTEXT), R(WAKE) },
};

static int expected(enum use use, uint32_t kind, uint32_t grant, uint32_t import)
{
	if (!(uses[use].kinds & 1U << kind))
		return EINVAL;
	return (uses[use].of_grant ? grant : import) & uses[use].rights ? 0 : EACCES;
}

/* --- the other processes: a loop of orders and answers */

/* with a grant: derive one with @rights of it, or import with @rights and try all */
struct order {
	char what; /* 'd' or 't' */
	uint32_t rights;
};

struct answer {
	int err;
	int use[USES];
	int wider; /* rights that were to be had although they had not been granted */
	struct ib_uverbs_share_info info;
};

struct hand {
	int fd;
	uint32_t pd;
	char *memory;
};

static int try_map(int grant, uint32_t ring)
{
	static const int prots[] = { PROT_READ, PROT_READ | PROT_WRITE };
	int i, err[2];
	void *map;

	for (i = 0; i < 2; i++) {
		map = mmap(NULL, PAGE, prots[i], MAP_SHARED, grant,
			   (off_t)ring << IB_UVERBS_SHARE_RING_SHIFT);
		err[i] = map == MAP_FAILED ? errno : 0;
		if (!err[i])
			munmap(map, PAGE);
	}
	/* there is no right to look only */
	return err[0] == err[1] ? err[0] : ENOTRECOVERABLE;
}

static int use_grant(struct hand *hand, int grant, enum use use)
{
	struct reg_mr reg = { .pd = hand->pd, .fd = grant, .length = PAGE };
	int fd;

	switch (use) {
	case DERIVE:
		return do_derive(hand->fd, grant, 0, &fd) ?: close(fd);
	case REG_MR:
		return do_reg_mr(hand->fd, &reg) ?: destroy(hand->fd, UVERBS_OBJECT_MR, reg.handle);
	default:
		return try_map(grant, use - MAP_SEND);
	}
}

static int use_import(struct hand *hand, uint32_t handle, enum use use)
{
	struct ib_uverbs_qp_attr qp = { .qp_attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_RTS };
	struct reg_mr reg = {
		.pd = handle, .fd = -1, .addr = (uintptr_t)hand->memory, .length = PAGE
	};
	union {
		struct ib_uverbs_share_cq cq;
		struct ib_uverbs_share_srq srq;
		struct ib_uverbs_share_mr mr;
		struct ib_uverbs_share_slot slot;
	} out;
	int fd = hand->fd;

	switch (use) {
	case IMPORT_REG_MR:
		return do_import_reg_mr(fd, &reg) ?: do_release(fd, reg.handle);
	case KICK_SEND:
		return do_kick(fd, handle, R(KICK_SEND));
	case KICK_RECV:
		return do_kick(fd, handle, R(KICK_RECV));
	case MODIFY_ANY:
		qp.qp_attr_mask |= IBV_QP_MIN_RNR_TIMER;
		qp.min_rnr_timer = 12;
		return do_modify(fd, handle, &qp);
	case MODIFY_PLAIN:
		return do_modify(fd, handle, &qp);
	case QUERY_QP:
		return do_query_qp(fd, handle, &qp);
	case ARM:
		return do_arm(fd, handle, 0);
	case QUERY_CQ:
		return do_query_cq(fd, handle, &out.cq);
	case QUERY_SRQ:
		return do_query_srq(fd, handle, &out.srq);
	case MODIFY_SRQ:
		return do_modify_srq(fd, handle, 1);
	case QUERY_MR:
		return do_query_mr(fd, handle, &out.mr);
	case QUERY_SLOT:
		return do_query_slot(fd, handle, 0, &out.slot);
	default:
		return do_wake_slot(fd, handle, 0);
	}
}

/* none of the rights that are missing can be added, by DERIVE or by IMPORT */
static int count_wider(struct hand *hand, int grant, uint32_t rights)
{
	struct import import = IMPORT_OF(grant);
	int n = 0, fd;
	uint32_t r;

	for (r = 1; r <= R(ALL_RIGHTS); r <<= 1) {
		if (rights & r)
			continue;
		import.rights = rights | r;
		n += do_derive(hand->fd, grant, rights | r, &fd) != EACCES;
		n += do_derive(hand->fd, grant, r, &fd) != EACCES;
		n += do_import(hand->fd, &import) != EACCES;
	}
	return n;
}

static void try_all(struct hand *hand, int grant, uint32_t rights, struct answer *answer)
{
	struct import import = IMPORT_OF(grant), all = IMPORT_OF(grant);
	enum use u;

	import.rights = rights;
	answer->err = do_import(hand->fd, &import) ?: do_import(hand->fd, &all);
	if (answer->err)
		return;
	answer->info = import.info;
	for (u = 0; u < USES; u++) {
		if (uses[u].of_grant)
			answer->use[u] = use_grant(hand, grant, u);
		else
			answer->use[u] = use_import(hand, import.handle, u);
	}
	answer->wider = count_wider(hand, grant, all.info.rights);
	answer->err = do_release(hand->fd, import.handle) ?: do_release(hand->fd, all.handle);
}

static void hand_main(int sock, void *arg)
{
	struct hand hand = { .fd = dev_open("rxe0") };
	struct order order;
	int grant, narrow;

	CHILD_CHECK(hand.fd >= 0 && !pd_alloc(hand.fd, &hand.pd));
	hand.memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHILD_CHECK(hand.memory != MAP_FAILED);
	while (recv(sock, &order, sizeof(order), MSG_WAITALL) == sizeof(order)) {
		struct answer answer = {};

		grant = recv_fd(sock);
		CHILD_CHECK(grant >= 0);
		if (order.what == 'd')
			answer.err = do_derive(hand.fd, grant, order.rights, &narrow);
		else
			try_all(&hand, grant, order.rights, &answer);
		close(grant);
		CHILD_CHECK(send(sock, &answer, sizeof(answer), 0) == sizeof(answer));
		if (order.what == 'd' && !answer.err) {
			CHILD_CHECK(!send_fd(sock, narrow));
			close(narrow);
		}
	}
}

/* --- the exporter */

FIXTURE(matrix)
{
	struct endpoint ep;
	struct srq srq;
	struct reg_mr mr;
	struct ib_uverbs_share_segment segs[2];
	struct export_args export;
	struct child second, third;
	uint32_t all;
};

FIXTURE_VARIANT(matrix)
{
	uint32_t kind;
	uint32_t rings;
};

#define VARIANT(name_, kind_, rings_)                \
	FIXTURE_VARIANT_ADD(matrix, name_)           \
	{                                            \
		.kind = R(kind_), .rings = (rings_), \
	}
VARIANT(context, CONTEXT, 0);
VARIANT(pd, PD, 0);
VARIANT(cq, CQ, 1);
VARIANT(qp, QP, 2);
VARIANT(srq, SRQ, 1);
VARIANT(mr, MR, 0);

static void fill_export(FIXTURE_DATA(matrix) *self, uint32_t kind)
{
	const uint32_t objects[] = { ABSENT, self->ep.pd, self->ep.cq.handle,
				     self->ep.qp.handle, self->srq.handle, self->mr.handle };

	self->export = EXPORT_OF(self->ep.fd, objects[kind]);
	if (kind == R(CQ)) {
		self->segs[0] = ring_segment(&self->ep.cq.ring, R(RING_CQ));
	} else if (kind == R(QP)) {
		self->segs[0] = ring_segment(&self->ep.qp.send, R(RING_SEND));
		self->segs[1] = ring_segment(&self->ep.qp.recv, R(RING_RECV));
	} else if (kind == R(SRQ)) {
		self->segs[0] = ring_segment(&self->srq.ring, R(RING_SRQ));
	} else if (kind == R(MR)) {
		self->export.mem_fd = self->mr.fd;
		self->export.access = ACCESS_LOCAL;
	}
}

FIXTURE_SETUP(matrix)
{
	struct import import;

	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->ep, &self->ep));
	test_ok(srq_create(self->ep.fd, self->ep.pd, &self->srq));
	self->mr = (struct reg_mr){
		.pd = self->ep.pd, .fd = memfd(PAGE), .length = PAGE, .access = ACCESS_LOCAL
	};
	test_reg_mr(self->ep.fd, &self->mr);
	fill_export(self, variant->kind);
	self->export.segs = variant->rings ? self->segs : NULL;
	self->export.nsegs = variant->rings;
	test_export(self->ep.fd, &self->export);
	import = IMPORT_OF(self->export.grant);
	test_import(self->ep.fd, &import);
	self->all = import.info.rights;
	test_ok(child_start(&self->second, hand_main, NULL));
	test_ok(child_start(&self->third, hand_main, NULL));
}

FIXTURE_TEARDOWN(matrix)
{
	/* the third one has inherited the socket of the second */
	EXPECT_EQ(0, child_end(&self->third));
	EXPECT_EQ(0, child_end(&self->second));
	endpoint_close(&self->ep);
}

static bool give(struct child *to, char what, int grant, uint32_t rights, struct answer *answer)
{
	struct order order = { .what = what, .rights = rights };

	return send(to->sock, &order, sizeof(order), 0) == sizeof(order) &&
	       !send_fd(to->sock, grant) &&
	       recv(to->sock, answer, sizeof(*answer), MSG_WAITALL) == sizeof(*answer);
}

static void judge(struct __test_metadata *_metadata, const struct answer *answer, uint32_t kind,
		  uint32_t grant, uint32_t import)
{
	static const uint32_t opens[RINGS] = { R(POST_SEND), R(POST_RECV), R(POLL), R(POST_RECV) };
	static const uint32_t has[RINGS] = { ON(QP), ON(QP), ON(CQ), ON(SRQ) };
	uint32_t r;
	enum use u;

	EXPECT_EQ(0, answer->err);
	EXPECT_EQ(0, answer->wider);
	EXPECT_EQ(kind, answer->info.kind);
	EXPECT_EQ(import, answer->info.rights);
	for (u = 0; u < USES; u++)
		EXPECT_EQ(expected(u, kind, grant, import), answer->use[u])
		{
			TH_LOG("%s, grant %#x, import %#x", uses[u].name, grant, import);
		}
	for (r = 0; r < RINGS; r++)
		EXPECT_EQ(has[r] & 1U << kind && import & opens[r], !!answer->info.ring_bytes[r])
		{
			TH_LOG("length of ring %u, import %#x", r, import);
		}
}

/* the second process narrows the grant to @rights, the third one uses it */
static void try_rights(struct __test_metadata *_metadata, FIXTURE_DATA(matrix) *self,
		       uint32_t kind, uint32_t rights)
{
	struct answer answer;
	int grant;

	ASSERT_TRUE(give(&self->second, 'd', self->export.grant, rights, &answer));
	ASSERT_EQ(0, answer.err);
	grant = recv_fd(self->second.sock);
	ASSERT_LE(0, grant);
	ASSERT_TRUE(give(&self->third, 't', grant, rights, &answer));
	judge(_metadata, &answer, kind, rights, rights);
	close(grant);
	/* a wide grant, and an import that asks for less */
	ASSERT_TRUE(give(&self->third, 't', self->export.grant, rights, &answer));
	judge(_metadata, &answer, kind, self->all, rights);
}

TEST_F_TIMEOUT(matrix, each_right, NO_LIMIT)
{
	struct export_args export = self->export;
	struct answer answer;
	uint32_t i, right;

	try_rights(_metadata, self, variant->kind, 0);
	try_rights(_metadata, self, variant->kind, self->all);
	for (i = 0; i < RIGHTS; i++) {
		right = 1U << i;
		if (self->all & right) {
			try_rights(_metadata, self, variant->kind, right);
			try_rights(_metadata, self, variant->kind, self->all & ~right);
			continue;
		}
		/* none that this kind of object has */
		export.rights = right;
		test_err_export(EOPNOTSUPP, self->ep.fd, &export);
		ASSERT_TRUE(give(&self->second, 'd', self->export.grant, right, &answer));
		EXPECT_EQ(EACCES, answer.err);
	}
}

TEST_HARNESS_MAIN
