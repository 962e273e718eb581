// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Rings in the address space of an importer: mapped through a grant, and taken
 * away when the share dies.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/uio.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define RW (PROT_READ | PROT_WRITE)

FIXTURE(rings)
{
	struct endpoint ep;
	struct srq srq;
	struct export_args of_qp, of_cq, of_srq;
	struct ib_uverbs_share_segment segs[2], cq_seg, srq_seg;
};

FIXTURE_SETUP(rings)
{
	test_ok(endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC));
	test_ok(srq_create(self->ep.fd, self->ep.pd, &self->srq));
	self->segs[0] = ring_segment(&self->ep.qp.send, IB_UVERBS_SHARE_RING_SEND);
	self->segs[1] = ring_segment(&self->ep.qp.recv, IB_UVERBS_SHARE_RING_RECV);
	self->cq_seg = ring_segment(&self->ep.cq.ring, IB_UVERBS_SHARE_RING_CQ);
	self->srq_seg = ring_segment(&self->srq.ring, IB_UVERBS_SHARE_RING_SRQ);

	self->of_qp = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	self->of_qp.segs = self->segs;
	self->of_qp.nsegs = 2;
	test_export(self->ep.fd, &self->of_qp);
	self->of_cq = EXPORT_OF(self->ep.fd, self->ep.cq.handle);
	self->of_cq.segs = &self->cq_seg;
	self->of_cq.nsegs = 1;
	test_export(self->ep.fd, &self->of_cq);
	self->of_srq = EXPORT_OF(self->ep.fd, self->srq.handle);
	self->of_srq.segs = &self->srq_seg;
	self->of_srq.nsegs = 1;
	test_export(self->ep.fd, &self->of_srq);
}

FIXTURE_TEARDOWN(rings)
{
	endpoint_close(&self->ep);
}

static off_t ring_start(uint32_t ring)
{
	return (off_t)ring << IB_UVERBS_SHARE_RING_SHIFT;
}

static void *map(int grant, uint32_t ring, uint64_t length)
{
	return mmap(NULL, length, RW, MAP_SHARED, grant, ring_start(ring));
}

static int map_err(int grant, off_t offset, uint64_t length, int prot, int flags)
{
	void *at = mmap(NULL, length, prot, flags, grant, offset);

	if (at == MAP_FAILED)
		return errno;
	munmap(at, length);
	return 0;
}

/* what one side writes the other side reads */
static bool are_same_bytes(const struct ring *ring, uint32_t *theirs)
{
	uint32_t *ours = (uint32_t *)ring->buf, last = ring->mi.size / sizeof(*ours) - 1;

	if (memcmp(ours, theirs, ring->mi.size))
		return false;
	/* the last entry is not in use */
	theirs[last] = 0x12345678;
	return ours[last] == 0x12345678;
}

TEST_F(rings, same_bytes)
{
	void *send = map(self->of_qp.grant, IB_UVERBS_SHARE_RING_SEND, self->segs[0].length);
	void *recv = map(self->of_qp.grant, IB_UVERBS_SHARE_RING_RECV, self->segs[1].length);
	void *cq = map(self->of_cq.grant, IB_UVERBS_SHARE_RING_CQ, self->cq_seg.length);
	void *srq = map(self->of_srq.grant, IB_UVERBS_SHARE_RING_SRQ, self->srq_seg.length);

	ASSERT_NE(MAP_FAILED, send);
	ASSERT_NE(MAP_FAILED, recv);
	ASSERT_NE(MAP_FAILED, cq);
	ASSERT_NE(MAP_FAILED, srq);
	EXPECT_TRUE(are_same_bytes(&self->ep.qp.send, send));
	EXPECT_TRUE(are_same_bytes(&self->ep.qp.recv, recv));
	EXPECT_TRUE(are_same_bytes(&self->ep.cq.ring, cq));
	EXPECT_TRUE(are_same_bytes(&self->srq.ring, srq));
}

TEST_F(rings, info_follows_rights)
{
	struct import import = IMPORT_OF(self->of_qp.grant);
	__u64 *bytes = import.info.ring_bytes;

	test_import(self->ep.fd, &import);
	EXPECT_EQ(self->segs[0].length, bytes[IB_UVERBS_SHARE_RING_SEND]);
	EXPECT_EQ(self->segs[1].length, bytes[IB_UVERBS_SHARE_RING_RECV]);
	EXPECT_EQ(0, bytes[IB_UVERBS_SHARE_RING_CQ]);

	import.rights = IB_UVERBS_SHARE_POST_RECV;
	test_import(self->ep.fd, &import);
	EXPECT_EQ(0, bytes[IB_UVERBS_SHARE_RING_SEND]);
	EXPECT_EQ(self->segs[1].length, bytes[IB_UVERBS_SHARE_RING_RECV]);
}

TEST_F(rings, mmap_wants_the_right)
{
	uint64_t length = self->segs[0].length;
	int sender, nobody;

	test_derive(self->ep.fd, self->of_qp.grant, IB_UVERBS_SHARE_POST_SEND, &sender);
	test_derive(self->ep.fd, self->of_qp.grant, IB_UVERBS_SHARE_READ, &nobody);
	EXPECT_EQ(0, map_err(sender, 0, length, RW, MAP_SHARED));
	EXPECT_EQ(EACCES, map_err(sender, ring_start(1), PAGE, RW, MAP_SHARED));
	EXPECT_EQ(EACCES, map_err(nobody, 0, length, RW, MAP_SHARED));
	EXPECT_EQ(EACCES, map_err(nobody, 0, length, PROT_READ, MAP_SHARED));
}

TEST_F(rings, mmap_outside)
{
	uint64_t length = self->cq_seg.length;
	off_t start = ring_start(IB_UVERBS_SHARE_RING_CQ);
	int grant = self->of_cq.grant;

	EXPECT_EQ(0, map_err(grant, start, length, RW, MAP_SHARED));
	EXPECT_EQ(0, map_err(grant, start, PAGE, RW, MAP_SHARED));
	EXPECT_EQ(0, map_err(grant, start + PAGE, length - PAGE, RW, MAP_SHARED));
	EXPECT_EQ(0, map_err(grant, start, length, PROT_READ, MAP_SHARED));
	EXPECT_EQ(EINVAL, map_err(grant, start, length + PAGE, RW, MAP_SHARED));
	EXPECT_EQ(EINVAL, map_err(grant, start + PAGE, length, RW, MAP_SHARED));
	EXPECT_EQ(EINVAL, map_err(grant, start + length, PAGE, RW, MAP_SHARED));
	EXPECT_EQ(EINVAL, map_err(grant, start - PAGE, PAGE, RW, MAP_SHARED));
	EXPECT_EQ(EINVAL, map_err(grant, 0, PAGE, RW, MAP_SHARED));
	EXPECT_EQ(EINVAL, map_err(grant, ring_start(4), PAGE, RW, MAP_SHARED));
	EXPECT_EQ(EINVAL, map_err(grant, ring_start(1000000), PAGE, RW, MAP_SHARED));
	EXPECT_EQ(EINVAL, map_err(grant, start, length, RW, MAP_PRIVATE));
	EXPECT_EQ(EACCES, map_err(grant, start, length, RW | PROT_EXEC, MAP_SHARED));
}

/* a mapping cannot become more than it was */
TEST_F(rings, stays_as_it_is)
{
	uint64_t length = self->cq_seg.length;
	char *at = map(self->of_cq.grant, IB_UVERBS_SHARE_RING_CQ, length);

	ASSERT_NE(MAP_FAILED, at);
	EXPECT_EQ(-1, mprotect(at, length, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, mremap(at, length, length + PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	/* smaller it may be, and elsewhere */
	at = mremap(at, length, PAGE, 0);
	ASSERT_NE(MAP_FAILED, at);
	EXPECT_EQ(0, memcmp(at, self->ep.cq.ring.buf, PAGE));
}

static sigjmp_buf fault;

static void on_fault(int sig)
{
	siglongjmp(fault, sig);
}

/* Return: the signal that an access gives, or 0 */
static int touch(volatile char *at)
{
	struct sigaction act = { .sa_handler = on_fault };
	int sig;

	sigaction(SIGBUS, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
	sig = sigsetjmp(fault, 1);
	if (!sig)
		*at = *at;
	return sig;
}

TEST_F(rings, revoke_takes_away)
{
	uint64_t length = self->cq_seg.length;
	char *at = map(self->of_cq.grant, IB_UVERBS_SHARE_RING_CQ, length);
	char *untouched = map(self->of_cq.grant, IB_UVERBS_SHARE_RING_CQ, length);

	ASSERT_NE(MAP_FAILED, at);
	ASSERT_NE(MAP_FAILED, untouched);
	EXPECT_EQ(0, touch(at));
	EXPECT_EQ(0, touch(at + length - 1));
	test_revoke(self->ep.fd, self->of_cq.handle);
	EXPECT_EQ(SIGBUS, touch(at));
	EXPECT_EQ(SIGBUS, touch(at + length - 1));
	EXPECT_EQ(SIGBUS, touch(untouched));
	EXPECT_EQ(ENOLINK, map_err(self->of_cq.grant, ring_start(IB_UVERBS_SHARE_RING_CQ), length,
				   RW, MAP_SHARED));
	/* the exporter still has its own, and the others have theirs */
	EXPECT_EQ(0, touch((char *)self->ep.cq.ring.buf));
	EXPECT_EQ(0, map_err(self->of_qp.grant, 0, self->segs[0].length, RW, MAP_SHARED));
}

/* what is pinned cannot be taken away, so nobody may pin it */
TEST_F(rings, cannot_be_pinned)
{
	uint64_t length = self->cq_seg.length;
	char *at = map(self->of_cq.grant, IB_UVERBS_SHARE_RING_CQ, length);
	struct iovec iov = { .iov_base = at, .iov_len = PAGE };
	struct ib_uverbs_reg_mr_resp mr;
	int pipefd[2];

	ASSERT_NE(MAP_FAILED, at);
	EXPECT_EQ(0, touch(at));
	EXPECT_EQ(EFAULT, mr_reg(self->ep.fd, self->ep.pd, at, PAGE, ACCESS_ALL, &mr));
	EXPECT_EQ(EFAULT, mr_reg(self->ep.fd, self->ep.pd, at, PAGE, 0, &mr));
	ASSERT_EQ(0, pipe(pipefd));
	EXPECT_EQ(-1, vmsplice(pipefd[1], &iov, 1, SPLICE_F_NONBLOCK));
	EXPECT_EQ(EFAULT, errno);
	/* bytes may be copied */
	EXPECT_EQ(PAGE, write(pipefd[1], at, PAGE));
	close(pipefd[0]);
	close(pipefd[1]);
}

static void touch_again(int sock, void *arg)
{
	CHILD_CHECK(touch(arg) == 0);
	CHILD_CHECK(!say(sock));
	CHILD_CHECK(!hear(sock));
	CHILD_CHECK(touch(arg) == SIGBUS);
}

/* a child inherits the mapping, and loses it as well */
TEST_F(rings, revoke_takes_away_from_children)
{
	char *at = map(self->of_cq.grant, IB_UVERBS_SHARE_RING_CQ, self->cq_seg.length);
	struct child child;

	ASSERT_NE(MAP_FAILED, at);
	test_ok(child_start(&child, touch_again, at));
	test_ok(hear(child.sock));
	test_revoke(self->ep.fd, self->of_cq.handle);
	test_ok(say(child.sock));
	EXPECT_EQ(0, child_end(&child));
}

/* the pages outlive the object: no importer sees memory of somebody else */
TEST_F(rings, destroyed_below_a_mapping)
{
	char *at = map(self->of_qp.grant, IB_UVERBS_SHARE_RING_SEND, self->segs[0].length);

	ASSERT_NE(MAP_FAILED, at);
	EXPECT_EQ(0, touch(at));
	test_revoke(self->ep.fd, self->of_qp.handle);
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_QP, self->ep.qp.handle));
	endpoint_close(&self->ep);
	EXPECT_EQ(SIGBUS, touch(at));
	self->ep.fd = -1;
}

TEST_HARNESS_MAIN
