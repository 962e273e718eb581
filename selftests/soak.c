// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Two threads use shares for all they are worth while a third one takes them
 * away, each pair of the two for SOAK_SECONDS in all. Every call ends, with
 * success or with an errno that says why not, and in the end nothing is left.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define USERS 2
#define RACES 6
#define SECONDS 6
#define FOR_EVER 1000000

/* the grant of the moment has always the same number */
#define GRANT 200

#define RING_OFFSET ((off_t)IB_UVERBS_SHARE_RING_CQ << IB_UVERBS_SHARE_RING_SHIFT)

struct soak;

/**
 * struct race - who runs against whom
 * @use: what a user does, again and again; @fd is its own file of rxe0
 * @refused: errnos that are no surprise, ends with 0
 */
struct race {
	void (*use)(struct soak *soak, int fd);
	int refused[8];
};

struct soak {
	const struct race *race;
	struct endpoint ep;
	struct export_args export;
	pthread_t thread[USERS];
	time_t end;
	bool stop;
	unsigned long done, refused, wrong;
};

static bool is_stopped(const struct soak *soak)
{
	return __atomic_load_n(&soak->stop, __ATOMIC_ACQUIRE);
}

static bool is_time(const struct soak *soak)
{
	return time(NULL) < soak->end;
}

/* Return: whether the call did what it should */
static bool count(struct soak *soak, const char *what, int err)
{
	const int *refused = soak->race->refused;
	unsigned long *counter = &soak->done;

	if (err) {
		while (*refused && *refused != err)
			refused++;
		counter = *refused ? &soak->refused : &soak->wrong;
		if (!*refused)
			fprintf(stderr, "# %s: errno %d\n", what, err);
	}
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	return !err;
}

static void *user(void *arg)
{
	struct soak *soak = arg;
	int fd = dev_open("rxe0");

	if (fd < 0)
		count(soak, "open", EIO);
	while (fd >= 0 && !is_stopped(soak))
		soak->race->use(soak, fd);
	if (count_handles(fd, IB_UVERBS_OBJECT_IMPORT))
		count(soak, "imports are left", EIO);
	close(fd);
	return NULL;
}

static void start(struct soak *soak, const struct race *race)
{
	const char *seconds = getenv("SOAK_SECONDS");
	int i;

	soak->race = race;
	soak->end = time(NULL) + (seconds ? atoi(seconds) : SECONDS) / RACES + 1;
	for (i = 0; i < USERS; i++)
		if (pthread_create(&soak->thread[i], NULL, user, soak))
			abort();
}

static void stop(struct soak *soak)
{
	int i;

	__atomic_store_n(&soak->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < USERS; i++)
		pthread_join(soak->thread[i], NULL);
	close(GRANT);
	fprintf(stderr, "# %lu done, %lu refused\n", soak->done, soak->refused);
}

static void publish(int grant)
{
	if (dup2(grant, GRANT) < 0)
		abort();
	close(grant);
}

static int export_object(struct soak *soak, uint32_t object)
{
	struct ib_uverbs_share_segment seg =
		ring_segment(&soak->ep.cq.ring, IB_UVERBS_SHARE_RING_CQ);
	int err;

	soak->export = EXPORT_OF(soak->ep.fd, object);
	if (object == soak->ep.cq.handle) {
		soak->export.segs = &seg;
		soak->export.nsegs = 1;
	}
	err = do_export(soak->ep.fd, &soak->export);
	if (!err)
		publish(soak->export.grant);
	return err;
}

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
	struct import import = IMPORT_OF(GRANT);
	struct ib_uverbs_qp_attr attr;

	if (!count(soak, "import", do_import(fd, &import)))
		return;
	count(soak, "kick", do_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND));
	count(soak, "query", do_query_qp(fd, import.handle, &attr));
	count(soak, "release", do_release(fd, import.handle));
}

static const struct race import_race = {
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
	publish(grant);
	if (kill_it)
		child_kill(&child);
	else if (child_end(&child))
		return ECHILD;
	sched_yield();
	close(GRANT);
	return 0;
}

static int disturb_import(struct soak *soak, unsigned int round)
{
	int err = export_object(soak, soak->ep.qp.handle);

	if (err)
		return err;
	switch (round % 8) {
	case 0:
		endpoint_close(&soak->ep);
		close(GRANT);
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

TEST_F_TIMEOUT(soak, import_against_all_ends, FOR_EVER)
{
	unsigned int round;

	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(endpoint_connect(&self->s.ep, &self->s.ep));
	start(&self->s, &import_race);
	for (round = 0; is_time(&self->s); round++)
		EXPECT_EQ(0, disturb_import(&self->s, round));
	stop(&self->s);
	endpoint_close(&self->s.ep);
}

/* mappings and page faults against revoke and close */

static __thread sigjmp_buf fault;

static void on_fault(int sig)
{
	siglongjmp(fault, sig);
}

/* rxe does not use the padding of the head */
static int touch(struct rxe_queue_buf *ring)
{
	if (sigsetjmp(fault, 1))
		return ENOLINK;
	__atomic_add_fetch(&ring->pad_1[0], 1, __ATOMIC_RELAXED);
	return 0;
}

static void use_ring(struct soak *soak, int fd)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, GRANT, RING_OFFSET);
	struct rxe_queue_buf *ring = at;
	int i;

	if (!count(soak, "mmap", ring == MAP_FAILED ? errno : 0))
		return;
	for (i = 0; i < 10; i++) {
		if (!count(soak, "touch", touch(ring)))
			break;
		ring = mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, GRANT,
			    RING_OFFSET);
		if (!count(soak, "mmap", ring == MAP_FAILED ? errno : 0))
			break;
	}
	munmap(at, PAGE);
}

static const struct race ring_race = {
	.use = use_ring,
	.refused = { ENOLINK, EBADF },
};

TEST_F_TIMEOUT(soak, ring_faults_against_revoke, FOR_EVER)
{
	struct sigaction act = { .sa_handler = on_fault };
	unsigned int round;

	sigaction(SIGBUS, &act, NULL);
	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	start(&self->s, &ring_race);
	for (round = 1; is_time(&self->s); round++) {
		EXPECT_EQ(0, export_object(&self->s, self->s.ep.cq.handle));
		if (round % 4)
			sched_yield();
		if (round % 64) {
			EXPECT_EQ(0, do_revoke(self->s.ep.fd, self->s.export.handle));
			continue;
		}
		endpoint_close(&self->s.ep);
		close(GRANT);
		EXPECT_EQ(0, endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	}
	stop(&self->s);
	endpoint_close(&self->s.ep);
}

/* kick against ERR, RESET and destroy */

static void use_kick(struct soak *soak, int fd)
{
	struct import import = IMPORT_OF(GRANT);
	int i;

	if (!count(soak, "import", do_import(fd, &import)))
		return;
	for (i = 0; i < 50; i++)
		if (do_kick(fd, import.handle, 1 + i % 3) == ENOLINK)
			break;
	count(soak, "kick", do_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND));
	count(soak, "release", do_release(fd, import.handle));
}

/* a kick is EINVAL in all states below RTS */
static const struct race kick_race = {
	.use = use_kick,
	.refused = { ENOLINK, EBADF, EINVAL },
};

static int modify(struct soak *soak, uint8_t state)
{
	struct ib_uverbs_qp_attr attr = qp_attr_to(&soak->ep, state);

	return qp_modify(soak->ep.fd, soak->ep.qp.handle, &attr);
}

static int disturb_kick(struct soak *soak, unsigned int round)
{
	static char buffer[64];
	struct rxe_sge sge = { .addr = (uintptr_t)buffer, .length = sizeof(buffer) };
	int err = endpoint_connect(&soak->ep, &soak->ep);

	/* an error of the round before came late */
	if (err == EINVAL)
		return modify(soak, IBV_QPS_RESET);
	/* with the wrong key: work that is flushed */
	post_recv(soak->ep.qp.recv.buf, round, &sge);
	post_send(soak->ep.qp.send.buf, round, &sge);
	if (!err && round % 2)
		err = modify(soak, IBV_QPS_ERR);
	if (!err && round % 8)
		return modify(soak, IBV_QPS_RESET);
	if (!err)
		err = do_revoke(soak->ep.fd, soak->export.handle);
	if (!err)
		err = destroy(soak->ep.fd, UVERBS_OBJECT_QP, soak->ep.qp.handle);
	endpoint_close(&soak->ep);
	close(GRANT);
	err = err ?: endpoint_open(&soak->ep, "rxe0", IB_UVERBS_QPT_RC);
	return err ?: export_object(soak, soak->ep.qp.handle);
}

TEST_F_TIMEOUT(soak, kick_against_state_and_destroy, FOR_EVER)
{
	unsigned int round;

	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(export_object(&self->s, self->s.ep.qp.handle));
	start(&self->s, &kick_race);
	for (round = 1; is_time(&self->s); round++)
		EXPECT_EQ(0, disturb_kick(&self->s, round));
	stop(&self->s);
	endpoint_close(&self->s.ep);
}

/* derive against revoke and close */

static void use_derive(struct soak *soak, int fd)
{
	struct import import = IMPORT_OF(-1);
	int again;

	if (!count(soak, "derive", do_derive(fd, GRANT, ABSENT, &import.grant)))
		return;
	if (count(soak, "derive", do_derive(fd, import.grant, IB_UVERBS_SHARE_POLL, &again)))
		close(again);
	if (count(soak, "import", do_import(fd, &import)))
		count(soak, "release", do_release(fd, import.handle));
	is_hung_up(import.grant);
	fdinfo_has(import.grant, "");
	close(import.grant);
}

static const struct race derive_race = {
	.use = use_derive,
	.refused = { ENOLINK, EBADF },
};

TEST_F_TIMEOUT(soak, derive_against_revoke, FOR_EVER)
{
	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	start(&self->s, &derive_race);
	while (is_time(&self->s)) {
		EXPECT_EQ(0, export_object(&self->s, self->s.ep.cq.handle));
		sched_yield();
		EXPECT_EQ(0, do_revoke(self->s.ep.fd, self->s.export.handle));
	}
	stop(&self->s);
	endpoint_close(&self->s.ep);
}

/* wake and query of slots against their members' exit */

static void use_slots(struct soak *soak, int fd)
{
	struct ib_uverbs_share_slot slot;
	struct import import = IMPORT_OF(GRANT);
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), i;

	import.event = event;
	if (count(soak, "import", do_import(fd, &import))) {
		for (i = 0; i < 8; i++) {
			count(soak, "query", do_query_slot(fd, import.handle, i, &slot));
			count(soak, "wake", do_wake_slot(fd, import.handle, i));
		}
		count(soak, "wake", do_wake_slot(fd, import.handle, IB_UVERBS_SHARE_ALL_SLOTS));
		count(soak, "release", do_release(fd, import.handle));
	}
	close(event);
}

static const struct race slot_race = {
	.use = use_slots,
	.refused = { ENOLINK, EBADF },
};

static void be_member(int sock, void *arg)
{
	struct import import = IMPORT_OF(GRANT);
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
	return err ?: export_object(soak, ABSENT);
}

TEST_F_TIMEOUT(soak, wake_against_exit, FOR_EVER)
{
	unsigned int round;

	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(export_object(&self->s, ABSENT));
	start(&self->s, &slot_race);
	for (round = 0; is_time(&self->s); round++)
		EXPECT_EQ(0, disturb_slots(&self->s, round % 4 == 0));
	stop(&self->s);
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
	count(soak, "device", err);
	if (own.ep.fd >= 0)
		endpoint_close(&own.ep);
}

static const struct race device_race = {
	.use = use_device,
	.refused = { ENOENT, ENODEV, ENXIO, EIO },
};

static int shell(const char *command)
{
	return system(command) ? EIO : 0;
}

TEST_F_TIMEOUT(soak, all_against_link_delete, FOR_EVER)
{
	if (access("/sys/class/net/v1", F_OK))
		SKIP(return, "rxe1 is not on v1, so that it cannot be made anew");
	start(&self->s, &device_race);
	while (is_time(&self->s)) {
		EXPECT_EQ(0, shell("rdma link del rxe1"));
		EXPECT_TRUE(wait_for(!shell(
			"rdma link add rxe1 type rxe netdev v1 2>/dev/null")));
	}
	stop(&self->s);
}

TEST_HARNESS_MAIN
