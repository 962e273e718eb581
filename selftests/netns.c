// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Importers in another net name space. Which of them may open a device is a
 * matter of ib_core ("rdma system set netns"); who has it open may import.
 */
#include <infiniband/verbs.h>
#include <sched.h>

#include "kselftest_harness.h"
#include "share_test.h"

FIXTURE(netns)
{
	struct endpoint ep;
	struct export_args export;
};

FIXTURE_VARIANT(netns)
{
	const char *set;
	/* may a device be opened in another name space */
	bool is_visible;
};

FIXTURE_VARIANT_ADD(netns, shared){
	.set = "rdma system set netns shared",
	.is_visible = true,
};

FIXTURE_VARIANT_ADD(netns, exclusive){
	.set = "rdma system set netns exclusive",
	.is_visible = false,
};

/* name spaces of former tests have to be gone; they go in their own time */
static bool set_mode(const char *command)
{
	int tries = 100;

	while (system(command) && --tries)
		usleep(100000);
	return tries;
}

FIXTURE_SETUP(netns)
{
	ASSERT_TRUE(set_mode(variant->set));
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->ep, &self->ep));
	self->export = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	test_export(self->ep.fd, &self->export);
}

FIXTURE_TEARDOWN(netns)
{
	close(self->export.grant);
	endpoint_close(&self->ep);
	EXPECT_TRUE(set_mode("rdma system set netns shared"));
}

/* Return: 1 if the device cannot be opened, 2 if what it imports works */
static int import_anew(int grant)
{
	struct import import = IMPORT_OF(grant);
	int fd = dev_open("rxe0");

	if (fd < 0)
		return 1;
	CHILD_CHECK(!do_import(fd, &import));
	CHILD_CHECK(!do_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND));
	return 2;
}

struct emigrant {
	int grant;
	bool is_visible;
};

static void emigrate(int sock, void *arg)
{
	struct emigrant *self = arg;
	struct import before = IMPORT_OF(self->grant), after = IMPORT_OF(self->grant);
	struct ib_uverbs_qp_attr attr;
	int fd = dev_open("rxe0");

	CHILD_CHECK(fd >= 0 && !do_import(fd, &before));
	CHILD_CHECK(!unshare(CLONE_NEWNET));
	CHILD_CHECK(import_anew(self->grant) == (self->is_visible ? 2 : 1));
	/* who had it open goes on */
	CHILD_CHECK(!do_query_qp(fd, before.handle, &attr));
	CHILD_CHECK(!do_import(fd, &after));
	CHILD_CHECK(!do_kick(fd, after.handle, IB_UVERBS_SHARE_KICK_SEND));
	CHILD_CHECK(!say(sock));
	CHILD_CHECK(!hear(sock));
	CHILD_CHECK(do_query_qp(fd, before.handle, &attr) == ENOLINK);
	CHILD_CHECK(do_kick(fd, after.handle, IB_UVERBS_SHARE_KICK_SEND) == ENOLINK);
	CHILD_CHECK(is_hung_up(self->grant));
}

TEST_F(netns, import)
{
	struct emigrant emigrant = { self->export.grant, variant->is_visible };
	struct child child;

	test_ok(child_start(&child, emigrate, &emigrant));
	EXPECT_EQ(0, hear(child.sock));
	test_revoke(self->ep.fd, self->export.handle);
	say(child.sock);
	EXPECT_EQ(0, child_end(&child));
}

TEST_HARNESS_MAIN
