// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What the module says while it works: a trace event for each thing that was
 * done, a line of dynamic debug for each that was refused, and nothing else.
 */
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <sys/eventfd.h>

#include "kselftest_harness.h"
#include "share_observe.h"

#define R(name) IB_UVERBS_SHARE_##name
#define QP_RIGHTS                                                        \
	(R(POST_SEND) | R(POST_RECV) | R(READ) | R(MODIFY) | R(MANAGE) | \
	 R(REGRANT))
#define MR_RIGHTS (R(READ) | R(REGISTER) | R(REGRANT))

FIXTURE(observe)
{
	struct endpoint ep;
	int fd, event, memory;
	struct export_args qp, cq, pd, mr, context;
	struct import qp_import, cq_import, pd_import, context_import;
	struct reg_mr region, on_pd;
	int narrow;
};

static bool qp_share(FIXTURE_DATA(observe) *self)
{
	self->qp = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	if (do_export(self->ep.fd, &self->qp))
		return false;
	self->qp_import = IMPORT_OF(self->qp.grant);
	return !do_import(self->fd, &self->qp_import);
}

FIXTURE_SETUP(observe)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->ep, &self->ep));
	self->fd = dev_open("rxe0");
	self->event = eventfd(0, EFD_CLOEXEC);
	self->memory = memfd(PAGE);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->memory);
}

FIXTURE_TEARDOWN(observe)
{
	trace_close();
	log_close();
	close(self->fd);
	endpoint_close(&self->ep);
}

static bool qp_story(FIXTURE_DATA(observe) *self)
{
	struct ib_uverbs_qp_attr attr = { .qp_attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_RTS };

	return qp_share(self) && !do_derive(self->fd, self->qp.grant, R(READ), &self->narrow) &&
	       !do_kick(self->fd, self->qp_import.handle, R(KICK_SEND) | R(KICK_RECV)) &&
	       !do_modify(self->fd, self->qp_import.handle, &attr) &&
	       !do_query_qp(self->fd, self->qp_import.handle, &attr) &&
	       !do_release(self->fd, self->qp_import.handle) &&
	       !do_import(self->fd, &self->qp_import) &&
	       !do_revoke(self->ep.fd, self->qp.handle) &&
	       !do_release(self->fd, self->qp_import.handle);
}

static bool region_story(FIXTURE_DATA(observe) *self)
{
	self->region = (struct reg_mr){
		.pd = self->ep.pd, .fd = self->memory, .length = PAGE, .access = ACCESS_LOCAL
	};
	if (do_reg_mr(self->ep.fd, &self->region))
		return false;
	self->mr = EXPORT_OF(self->ep.fd, self->region.handle);
	self->mr.mem_fd = self->memory;
	self->mr.access = ACCESS_LOCAL;
	self->pd = EXPORT_OF(self->ep.fd, self->ep.pd);
	if (do_export(self->ep.fd, &self->mr) || do_export(self->ep.fd, &self->pd))
		return false;
	self->pd_import = IMPORT_OF(self->pd.grant);
	self->pd_import.rights = R(REGISTER);
	if (do_import(self->fd, &self->pd_import))
		return false;
	self->on_pd = (struct reg_mr){
		.pd = self->pd_import.handle, .fd = self->mr.grant, .length = 8, .iova = 0x10000
	};
	return !do_import_reg_mr(self->fd, &self->on_pd);
}

static bool other_story(FIXTURE_DATA(observe) *self)
{
	struct ib_uverbs_share_slot slot;
	struct ib_uverbs_share_caps caps;

	self->cq = EXPORT_OF(self->ep.fd, self->ep.cq.handle);
	self->context = EXPORT_OF(self->ep.fd, ABSENT);
	self->context.rights = R(READ) | R(WAKE);
	if (do_export(self->ep.fd, &self->cq) || do_export(self->ep.fd, &self->context))
		return false;
	self->cq_import = IMPORT_OF(self->cq.grant);
	self->context_import = IMPORT_OF(self->context.grant);
	self->context_import.event = self->event;
	return !do_import(self->fd, &self->cq_import) &&
	       !do_arm(self->fd, self->cq_import.handle, 0) &&
	       !do_import(self->fd, &self->context_import) && !do_query(self->fd, &caps) &&
	       !do_query_slot(self->fd, self->context_import.handle, 0, &slot) &&
	       !do_wake_slot(self->fd, self->context_import.handle, 0);
}

/* the next event is this one, by this process */
static void event_is(struct __test_metadata *_metadata, const char *format, ...)
{
	char want[256], got[256] = "none";
	va_list args;
	int n;

	n = snprintf(want, sizeof(want), "%d ", getpid());
	va_start(args, format);
	vsnprintf(want + n, sizeof(want) - n, format, args);
	va_end(args);
	trace_next(got, sizeof(got));
	EXPECT_STREQ(want, got);
}
#define EVENT(...) event_is(_metadata, __VA_ARGS__)

#define NO_EVENT()                                               \
	do {                                                     \
		char event_[256] = "";                           \
		EXPECT_FALSE(trace_next(event_, sizeof(event_))) \
		{                                                \
			TH_LOG("%s", event_);                    \
		}                                                \
	} while (0)

TEST_F(observe, events_of_a_qp)
{
	const int handle = self->ep.qp.handle;
	unsigned long share;

	test_ok(trace_open());
	ASSERT_TRUE(qp_story(self));
	share = inode_of(self->qp.grant);
	EXPECT_NE(0, share);
	EXPECT_EQ(share, inode_of(self->narrow));
	EVENT("share_export: rxe0 share=%lu kind=qp handle=%d rights=%#x", share, handle,
	      QP_RIGHTS);
	EVENT("share_import: rxe0 share=%lu kind=qp handle=%d rights=%#x", share, handle,
	      QP_RIGHTS);
	EVENT("share_derive: rxe0 share=%lu kind=qp handle=%d rights=%#x", share, handle, R(READ));
	EVENT("share_kick: rxe0 share=%lu qpn=%u flags=0x3", share, self->ep.qp.num);
	EVENT("share_release: rxe0 share=%lu kind=qp handle=%d rights=%#x", share, handle,
	      QP_RIGHTS);
	EVENT("share_import: rxe0 share=%lu kind=qp handle=%d rights=%#x", share, handle,
	      QP_RIGHTS);
	EVENT("share_revoke: rxe0 share=%lu kind=qp handle=%d imports=1 by=revoke", share, handle);
	EVENT("share_release: rxe0 share=%lu kind=qp handle=%d rights=%#x", share, handle,
	      QP_RIGHTS);
	NO_EVENT();
}

TEST_F(observe, events_of_a_region)
{
	unsigned long pd, mr;

	test_ok(trace_open());
	ASSERT_TRUE(region_story(self));
	pd = inode_of(self->pd.grant);
	mr = inode_of(self->mr.grant);
	EXPECT_NE(pd, mr);
	EVENT("share_register: rxe0 lkey=0x%x rkey=0x%x iova=0x0 length=4096 access=0x1",
	      self->region.lkey, self->region.rkey);
	EVENT("share_export: rxe0 share=%lu kind=mr handle=%d rights=%#x", mr,
	      self->region.handle, MR_RIGHTS);
	EVENT("share_export: rxe0 share=%lu kind=pd handle=%d rights=%#x", pd, self->ep.pd,
	      R(REGISTER) | R(REGRANT));
	EVENT("share_import: rxe0 share=%lu kind=pd handle=%d rights=%#x", pd, self->ep.pd,
	      R(REGISTER));
	EVENT("share_register: rxe0 lkey=0x%x rkey=0x%x iova=0x10000 length=8 access=0x0",
	      self->on_pd.lkey, self->on_pd.rkey);
	NO_EVENT();
	test_release(self->fd, self->on_pd.handle);
	EVENT("share_release: rxe0 share=%lu kind=pd handle=%d rights=0x0", pd, self->ep.pd);
	NO_EVENT();
}

/* exporter and importer end without a word; newest first is how uverbs does it */
TEST_F(observe, events_of_an_end)
{
	unsigned long cq, context;

	ASSERT_TRUE(other_story(self));
	cq = inode_of(self->cq.grant);
	context = inode_of(self->context.grant);
	test_ok(trace_open());
	close(self->cq.grant);
	close(self->context.grant);
	endpoint_close(&self->ep);
	EVENT("share_revoke: rxe0 share=%lu kind=context handle=-1 imports=1 by=close", context);
	EVENT("share_revoke: rxe0 share=%lu kind=cq handle=%d imports=1 by=close", cq,
	      self->ep.cq.handle);
	NO_EVENT();
	close(self->fd);
	EVENT("share_release: rxe0 share=%lu kind=context handle=-1 rights=%#x", context,
	      R(READ) | R(WAKE));
	EVENT("share_release: rxe0 share=%lu kind=cq handle=%d rights=%#x", cq,
	      self->ep.cq.handle, R(POLL) | R(ARM) | R(READ) | R(REGRANT));
	NO_EVENT();
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	self->fd = -1;
}

TEST_F(observe, no_event_of_what_was_refused)
{
	struct export_args export = EXPORT_OF(self->fd, self->ep.qp.handle);
	struct reg_mr reg = { .pd = self->ep.pd, .fd = self->event, .length = PAGE };
	struct import import;
	int fd;

	ASSERT_TRUE(qp_share(self));
	test_ok(trace_open());
	test_err_export(EBADFD, self->ep.fd, &export);
	test_err_derive(EACCES, self->fd, self->qp.grant, R(POLL), &fd);
	import = IMPORT_OF(self->qp.grant);
	import.rights = R(POLL);
	test_err_import(EACCES, self->fd, &import);
	test_err_kick(EINVAL, self->fd, self->qp_import.handle, 0);
	test_err_reg_mr(EBADFD, self->ep.fd, &reg);
	test_err_revoke(ENOENT, self->fd, self->qp.handle);
	test_err_release(ENOENT, self->ep.fd, 4711);
	NO_EVENT();
}

#define NO_LINE()                                            \
	do {                                                 \
		char text_[512] = "";                        \
		EXPECT_FALSE(log_next(text_, sizeof(text_))) \
		{                                            \
			TH_LOG("%s", text_);                 \
		}                                            \
	} while (0)

/* a call is refused, and this and nothing else is said about it */
static void line_is(struct __test_metadata *_metadata, int err, int got_err, const char *format,
		    ...)
{
	char want[512], got[512] = "none";
	va_list args;
	int n;

	EXPECT_EQ(err, got_err);
	n = snprintf(want, sizeof(want), "infiniband rxe0: refused (%d): ", -err);
	va_start(args, format);
	vsnprintf(want + n, sizeof(want) - n, format, args);
	va_end(args);
	log_next(got, sizeof(got));
	EXPECT_STREQ(want, got);
	NO_LINE();
}
#define REFUSED(err, call, ...) line_is(_metadata, err, call, __VA_ARGS__)

/* with the debug messages on, as they are part of nothing that succeeds either */
TEST_F(observe, success_is_silent)
{
	ASSERT_EQ(0, log_open(true));
	ASSERT_TRUE(qp_story(self));
	ASSERT_TRUE(region_story(self));
	ASSERT_TRUE(other_story(self));
	close(self->fd);
	endpoint_close(&self->ep);
	NO_LINE();
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	self->fd = -1;
}

TEST_F(observe, refusal_is_silent_by_default)
{
	ASSERT_EQ(0, log_open(false));
	ASSERT_TRUE(qp_share(self));
	test_err_kick(EINVAL, self->fd, self->qp_import.handle, 0);
	test_revoke(self->ep.fd, self->qp.handle);
	test_err_kick(ENOLINK, self->fd, self->qp_import.handle, R(KICK_SEND));
	NO_LINE();
}

TEST_F(observe, refusals_of_the_exporter)
{
	struct export_args export = EXPORT_OF(self->fd, self->ep.qp.handle);
	struct reg_mr reg = { .pd = self->ep.pd, .fd = self->event, .length = PAGE };
	int fd = self->ep.fd, new_fd;

	ASSERT_TRUE(qp_share(self));
	ASSERT_EQ(0, log_open(true));
	REFUSED(EBADFD, do_export(fd, &export), "cmd_fd %d is not this uverbs file", self->fd);
	export = EXPORT_OF(fd, self->ep.qp.handle);
	export.rights = R(POLL);
	REFUSED(EOPNOTSUPP, do_export(fd, &export), "rights 0x4 are more than %#x", QP_RIGHTS);
	export.rights = 1U << 20;
	REFUSED(EINVAL, do_export(fd, &export), "attribute %d: flags outside of %#x",
		IB_UVERBS_ATTR_SHARE_EXPORT_RIGHTS, R(ALL_RIGHTS));

	REFUSED(EBADFD, do_reg_mr(fd, &reg), "descriptor %d is neither shared memory nor a grant",
		self->event);
	reg.fd = self->memory;
	reg.length = 2 * PAGE;
	REFUSED(ERANGE, do_reg_mr(fd, &reg), "byte 0x1fff is beyond the end of the file");

	REFUSED(EBADFD, do_derive(fd, self->memory, ABSENT, &new_fd), "descriptor %d is no grant",
		self->memory);
	test_derive(fd, self->qp.grant, R(READ), &self->narrow);
	REFUSED(EACCES, do_derive(fd, self->narrow, R(READ), &new_fd),
		"rights 0x10 of the grant lack REGRANT");
}

TEST_F(observe, refusals_of_an_importer)
{
	struct ib_uverbs_qp_attr attr = { .qp_attr_mask = IBV_QP_STATE };
	int fd = self->fd, qp, context;
	struct ib_uverbs_share_slot slot;
	struct import import;
	struct reg_mr reg;

	ASSERT_TRUE(qp_share(self) && other_story(self) && region_story(self));
	context = self->context_import.handle;
	import = IMPORT_OF(self->qp.grant);
	import.rights = R(POST_SEND);
	test_import(fd, &import);
	qp = import.handle;
	ASSERT_EQ(0, log_open(true));
	REFUSED(EACCES, do_kick(fd, qp, R(KICK_RECV)), "rights 0x1 of import %d lack 0x2", qp);
	REFUSED(EACCES, do_query_qp(fd, qp, &attr), "rights 0x1 of import %d lack 0x10", qp);
	REFUSED(EACCES, do_modify(fd, qp, &attr), "rights 0x1 do not allow state 0, mask 0x1");
	REFUSED(EINVAL, do_arm(fd, qp, 0), "import %d is of a qp and not of kind 2", qp);
	REFUSED(EINVAL, do_query_slot(fd, context, 64, &slot), "no slot 64");
	REFUSED(EINVAL, do_wake_slot(fd, context, 64), "no slot 64");
	import.rights = R(POLL);
	REFUSED(EACCES, do_import(fd, &import), "rights 0x4 are more than %#x", QP_RIGHTS);
	import = IMPORT_OF(self->context.grant);
	import.event = self->memory;
	REFUSED(EBADFD, do_import(fd, &import), "descriptor %d is no eventfd", self->memory);
	reg = self->on_pd;
	reg.access = ACCESS_LOCAL | IB_UVERBS_ACCESS_REMOTE_READ;
	REFUSED(EACCES, do_import_reg_mr(fd, &reg), "access 0x5 is more than 0x1 of the grant");
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->qp.grant, 0));
	REFUSED(EINVAL, errno, "mmap: 1 pages at 0x0 are private or outside of a ring");
	test_revoke(self->ep.fd, self->qp.handle);
	REFUSED(ENOLINK, do_kick(fd, qp, R(KICK_SEND)), "the qp is not shared any more");
}

TEST_F(observe, refusal_of_another_device)
{
	char text[512] = "none";
	struct import import;
	int fd = dev_open("rxe1");

	ASSERT_TRUE(qp_share(self));
	ASSERT_EQ(0, log_open(true));
	import = IMPORT_OF(self->qp.grant);
	test_err_import(EXDEV, fd, &import);
	log_next(text, sizeof(text));
	EXPECT_STREQ("infiniband rxe1: refused (-18): grant is of device rxe0", text);
	NO_LINE();
	close(fd);
}

TEST_HARNESS_MAIN
