// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Mapped rings and kicks while a third thread takes the rings and the QP away.
 * Every call ends, with success or with an errno that says why not, and in the
 * end nothing is left. SOAK_SECONDS makes it longer.
 */
#include <infiniband/verbs.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>

#include "kselftest_harness.h"
#include "share_soak.h"

FIXTURE(soak_rings)
{
	struct soak s;
};

FIXTURE_SETUP(soak_rings)
{
}

/* nothing of all that is left */
FIXTURE_TEARDOWN(soak_rings)
{
	EXPECT_EQ(0, self->s.wrong);
	EXPECT_LT(0, self->s.done);
	EXPECT_TRUE(wait_for(count_objects("rxe0", "ctx") == 0));
	EXPECT_TRUE(wait_for(count_objects("rxe0", "qp") <= 1));
	EXPECT_TRUE(wait_for(count_objects("rxe1", "ctx") == 0));
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
	void *ring;
	int i, touched;

	/* no MAP_FIXED: when it fails, somebody else's mapping may take the place */
	for (i = 0; i < 10; i++) {
		ring = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, SOAK_GRANT,
			    SOAK_CQ_OFFSET);
		if (!soak_count(soak, "mmap", ring == MAP_FAILED ? errno : 0))
			return;
		touched = soak_count(soak, "touch", touch(ring));
		munmap(ring, PAGE);
		if (!touched)
			return;
	}
}

static const struct soak_race ring_race = {
	.use = use_ring,
	.refused = { ENOLINK, EBADF },
};

TEST_F_TIMEOUT(soak_rings, ring_faults_against_revoke, NO_LIMIT)
{
	struct sigaction act = { .sa_handler = on_fault };
	unsigned int round;

	sigaction(SIGBUS, &act, NULL);
	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	soak_start(&self->s, &ring_race);
	for (round = 1; soak_goes_on(&self->s); round++) {
		EXPECT_EQ(0, soak_export(&self->s, self->s.ep.cq.handle));
		if (round % 4)
			sched_yield();
		if (round % 64) {
			EXPECT_EQ(0, do_revoke(self->s.ep.fd, self->s.export.handle));
			continue;
		}
		endpoint_close(&self->s.ep);
		close(SOAK_GRANT);
		EXPECT_EQ(0, endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	}
	soak_stop(&self->s);
	endpoint_close(&self->s.ep);
}

/* kick against ERR, RESET and destroy */

static void use_kick(struct soak *soak, int fd)
{
	struct import import = IMPORT_OF(SOAK_GRANT);
	int i;

	if (!soak_count(soak, "import", do_import(fd, &import)))
		return;
	for (i = 0; i < 50; i++)
		if (do_kick(fd, import.handle, 1 + i % 3) == ENOLINK)
			break;
	soak_count(soak, "kick", do_kick(fd, import.handle, IB_UVERBS_SHARE_KICK_SEND));
	soak_count(soak, "release", do_release(fd, import.handle));
}

/* a kick is EINVAL in all states below RTS */
static const struct soak_race kick_race = {
	.use = use_kick,
	.refused = { ENOLINK, EBADF, EINVAL },
};

static int modify(struct soak *soak, uint8_t state)
{
	struct ib_uverbs_qp_attr attr = qp_attr_to(&soak->ep, state);

	return qp_modify(soak->ep.fd, soak->ep.qp.handle, &attr);
}

static int begin_anew(struct soak *soak)
{
	int err = do_revoke(soak->ep.fd, soak->export.handle);

	err = err ?: destroy(soak->ep.fd, UVERBS_OBJECT_QP, soak->ep.qp.handle);
	endpoint_close(&soak->ep);
	close(SOAK_GRANT);
	err = err ?: endpoint_open(&soak->ep, "rxe0", IB_UVERBS_QPT_RC);
	return err ?: soak_export(soak, soak->ep.qp.handle);
}

/* rxe of 6.1 crashes when a QP is reset while it is rung for: see rxe-faults.c */
static int reset(struct soak *soak)
{
	return is_kernel_at_least(6, 2) ? modify(soak, IBV_QPS_RESET) : begin_anew(soak);
}

static int disturb_kick(struct soak *soak, unsigned int round)
{
	static char buffer[64];
	struct rxe_sge sge = { .addr = (uintptr_t)buffer, .length = sizeof(buffer) };
	int err = endpoint_connect(&soak->ep, &soak->ep);

	/* an error of the round before came late */
	if (err == EINVAL)
		return reset(soak);
	/* with the wrong key: work that is flushed */
	post_recv(soak->ep.qp.recv.buf, round, &sge);
	post_send(soak->ep.qp.send.buf, round, &sge);
	if (!err && round % 2)
		err = modify(soak, IBV_QPS_ERR);
	if (err)
		return err;
	return round % 8 ? reset(soak) : begin_anew(soak);
}

TEST_F_TIMEOUT(soak_rings, kick_against_state_and_destroy, NO_LIMIT)
{
	unsigned int round;

	test_ok(endpoint_open(&self->s.ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(soak_export(&self->s, self->s.ep.qp.handle));
	soak_start(&self->s, &kick_race);
	for (round = 1; soak_goes_on(&self->s); round++)
		EXPECT_EQ(0, disturb_kick(&self->s, round));
	soak_stop(&self->s);
	endpoint_close(&self->s.ep);
}

TEST_HARNESS_MAIN
