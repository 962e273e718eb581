// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Two threads use shares for all they are worth while a third one ends them.
 * Every call ends, with success or with an errno that says why not, and in the
 * end nothing is left. SOAK_SECONDS makes it longer.
 */
#include <infiniband/verbs.h>
#include <sched.h>
#include <sys/eventfd.h>

#include "kselftest_harness.h"
#include "share_soak.h"

FIXTURE(soak)
{
	struct soak s;
};

FIXTURE_SETUP(soak)
{
}

/* nothing of all that is left */
FIXTURE_TEARDOWN(soak)
{
	EXPECT_EQ(0, self->s.wrong);
	EXPECT_LT(0, self->s.done);
	EXPECT_TRUE(wait_for(count_objects("rxe0", "ctx") == 0));
	EXPECT_TRUE(wait_for(count_objects("rxe0", "qp") <= 1));
	EXPECT_TRUE(wait_for(count_objects("rxe1", "ctx") == 0));
}

/* import against revoke, destroy, close and exit */

static void use_import(struct soak *soak, int fd)
{
	struct import import = IMPORT_OF(SOAK_GRANT);
	struct ib_uverbs_qp_attr attr;

	if (!soak_count(soak, "import", do_import(fd, &import)))
		return;
	soak_count(soak, "kick", do_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND));
	soak_count(soak, "query", do_query_qp(fd, import.handle, &attr));
	soak_count(soak, "release", do_release(fd, import.handle));
}

static const struct soak_race import_race = {
	.use = use_import,
	.refused = { ENOLINK, EBADF, EINVAL },
};

/* the exporter lives on in its grant, until the next one takes the number */
static void export_and_die(int sock, void *arg)
{
	struct soak soak = {};

	CHILD_CHECK(!endpoint_open(&soak.ep, "rxe0", IB_UVERBS_QPT_RC));
	CHILD_CHECK(!endpoint_connect(&soak.ep, &soak.ep));
	soak.export = EXPORT_OF(soak.ep.fd, soak.ep.qp.handle);
	CHILD_CHECK(!do_export(soak.ep.fd, &soak.export));
	CHILD_CHECK(!send_fd(sock, soak.export.grant));
	hear(sock);
}

static int other_exporter(bool kill_it)
{
	struct child child;
	int err = child_start(&child, export_and_die, NULL), grant;

	if (err)
		return err;
	grant = recv_fd(child.sock);
	if (grant < 0)
		return EPIPE;
	soak_publish(grant);
	if (kill_it)
		child_kill(&child);
	else if (child_end(&child))
		return ECHILD;
	sched_yield();
	close(SOAK_GRANT);
	return 0;
}

static int disturb_import(struct soak *soak, unsigned int round)
{
	int err = soak_export(soak, soak->ep.qp.handle);

	if (err)
		return err;
	switch (round % 8) {
	case 0:
		endpoint_close(&soak->ep);
		close(SOAK_GRANT);
		err = endpoint_open(&soak->ep, "rxe0", IB_UVERBS_QPT_RC);
		return err ?: endpoint_connect(&soak->ep, &soak->ep);
	case 1:
		return do_revoke(soak->ep.fd, soak->export.handle) ?: other_exporter(round & 8);
	case 2:
	case 3:
		if (destroy(soak->ep.fd, UVERBS_OBJECT_QP, soak->ep.qp.handle) != EBUSY)
			return EIO;
	}
	return do_revoke(soak->ep.fd, soak->export.handle);
}

TEST_F_TIMEOUT(soak, import_against_all_ends, NO_LIMIT)
{
	unsigned int round;

	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->s.ep, &self->s.ep));
	soak_start(&self->s, &import_race);
	for (round = 0; soak_goes_on(&self->s); round++)
		EXPECT_EQ(0, disturb_import(&self->s, round));
	soak_stop(&self->s);
	endpoint_close(&self->s.ep);
}

/* derive against revoke and close */

static void use_derive(struct soak *soak, int fd)
{
	struct import import = IMPORT_OF(-1);
	int again;

	if (!soak_count(soak, "derive", do_derive(fd, SOAK_GRANT, ABSENT, &import.grant)))
		return;
	if (soak_count(soak, "derive", do_derive(fd, import.grant, IB_UVERBS_SHARE_POLL, &again)))
		close(again);
	if (soak_count(soak, "import", do_import(fd, &import)))
		soak_count(soak, "release", do_release(fd, import.handle));
	is_hung_up(import.grant);
	fdinfo_has(import.grant, "");
	close(import.grant);
}

static const struct soak_race derive_race = {
	.use = use_derive,
	.refused = { ENOLINK, EBADF },
};

TEST_F_TIMEOUT(soak, derive_against_revoke, NO_LIMIT)
{
	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	soak_start(&self->s, &derive_race);
	while (soak_goes_on(&self->s)) {
		EXPECT_EQ(0, soak_export(&self->s, self->s.ep.cq.handle));
		sched_yield();
		EXPECT_EQ(0, do_revoke(self->s.ep.fd, self->s.export.handle));
	}
	soak_stop(&self->s);
	endpoint_close(&self->s.ep);
}

/* wake and query of slots against their members' exit */

static void use_slots(struct soak *soak, int fd)
{
	struct ib_uverbs_share_slot slot;
	struct import import = IMPORT_OF(SOAK_GRANT);
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), i;

	import.event = event;
	if (soak_count(soak, "import", do_import(fd, &import))) {
		for (i = 0; i < 8; i++) {
			soak_count(soak, "query", do_query_slot(fd, import.handle, i, &slot));
			soak_count(soak, "wake", do_wake_slot(fd, import.handle, i));
		}
		soak_count(soak, "wake all",
			   do_wake_slot(fd, import.handle, IB_UVERBS_SHARE_ALL_SLOTS));
		soak_count(soak, "release", do_release(fd, import.handle));
	}
	close(event);
}

static const struct soak_race slot_race = {
	.use = use_slots,
	.refused = { ENOLINK, EBADF },
};

static void be_member(int sock, void *arg)
{
	struct import import = IMPORT_OF(SOAK_GRANT);
	int fd = dev_open("rxe0");

	CHILD_CHECK(fd >= 0);
	import.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHILD_CHECK(!do_import(fd, &import));
	CHILD_CHECK(!say(sock));
	while (!do_wake_slot(fd, import.handle, IB_UVERBS_SHARE_ALL_SLOTS))
		;
}

static int disturb_slots(struct soak *soak, bool also_revoke)
{
	struct child child;
	int err = child_start(&child, be_member, NULL);

	if (err)
		return err;
	err = hear(child.sock);
	sched_yield();
	child_kill(&child);
	if (err || !also_revoke)
		return err;
	err = do_revoke(soak->ep.fd, soak->export.handle);
	return err ?: soak_export(soak, ABSENT);
}

TEST_F_TIMEOUT(soak, wake_against_exit, NO_LIMIT)
{
	unsigned int round;

	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(soak_export(&self->s, ABSENT));
	soak_start(&self->s, &slot_race);
	for (round = 0; soak_goes_on(&self->s); round++)
		EXPECT_EQ(0, disturb_slots(&self->s, round % 4 == 0));
	soak_stop(&self->s);
	endpoint_close(&self->s.ep);
}

/* everything against the removal of the device */

static void use_device(struct soak *soak, int fd)
{
	struct soak own = { .race = soak->race };
	struct import import;
	int err = endpoint_open(&own.ep, "rxe1", IB_UVERBS_QPT_RC);

	if (!err) {
		own.export = EXPORT_OF(own.ep.fd, own.ep.qp.handle);
		err = do_export(own.ep.fd, &own.export);
		import = IMPORT_OF(own.export.grant);
		err = err ?: do_import(own.ep.fd, &import);
		/* the QP is in RESET */
		if (!err && do_kick(own.ep.fd, import.handle, IB_UVERBS_SHARE_KICK_RECV) != EINVAL)
			err = ENOEXEC;
		if (own.export.grant >= 0)
			close(own.export.grant);
	}
	soak_count(soak, "device", err);
	if (own.ep.fd >= 0)
		endpoint_close(&own.ep);
}

static const struct soak_race device_race = {
	.use = use_device,
	.refused = { ENOENT, ENODEV, ENXIO, EIO },
};

static int shell(const char *command)
{
	return system(command) ? EIO : 0;
}

TEST_F_TIMEOUT(soak, all_against_link_delete, NO_LIMIT)
{
	if (access("/sys/class/net/v1", F_OK))
		SKIP(return, "rxe1 is not on v1, so that it cannot be made anew");
	soak_start(&self->s, &device_race);
	while (soak_goes_on(&self->s)) {
		EXPECT_EQ(0, shell("rdma link del rxe1"));
		EXPECT_TRUE(wait_for(!shell(
			"rdma link add rxe1 type rxe netdev v1 2>/dev/null")));
	}
	soak_stop(&self->s);
}

TEST_HARNESS_MAIN
