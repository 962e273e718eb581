// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Failures as an application sees them: one errno each, and a sentence that
 * says what to do. A missing or late module is the matter of module.sh.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_library.h"

#define LENGTH (1UL << 20)

FIXTURE(errors)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_share_context *ctx;
	struct ibv_pd *shared_pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int memfd;
	int sv[2];
};

FIXTURE_SETUP(errors)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	self->context = lib_open("rxe0");
	ASSERT_NE(self->context, NULL);
	self->pd = ibv_alloc_pd(self->context);
	self->ctx = ibv_share_open(self->context, NULL);
	self->shared_pd = ibv_share_alloc_pd(self->ctx);
	self->cq = ibv_share_create_cq(self->ctx, 16, NULL, NULL, 0);
	init.send_cq = init.recv_cq = self->cq;
	self->qp = ibv_share_create_qp(self->shared_pd, &init);
	ASSERT_NE(self->qp, NULL);
	self->memfd = memfd_create("errors", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(self->memfd, LENGTH), 0);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sv), 0);
}

FIXTURE_TEARDOWN(errors)
{
	if (self->qp)
		EXPECT_EQ(ibv_share_destroy_qp(self->qp), 0);
	EXPECT_EQ(ibv_share_destroy_cq(self->cq), 0);
	EXPECT_EQ(ibv_share_dealloc_pd(self->shared_pd), 0);
	EXPECT_EQ(ibv_share_close(self->ctx), 0);
	EXPECT_EQ(ibv_dealloc_pd(self->pd), 0);
}

/* the last failure had this errno and its sentence this word */
#define EXPECT_ERROR(err, got, word)                                    \
	do {                                                            \
		EXPECT_EQ((got), (err));                                \
		EXPECT_NE(strstr(ibv_share_last_error(), (word)), NULL) \
		TH_LOG("the sentence was: %s", ibv_share_last_error()); \
	} while (0)

static int reg_errno(struct ibv_pd *pd, uint64_t offset, size_t length, int fd, int access)
{
	errno = 0;
	return ibv_reg_shared_mr(pd, offset, length, 0, fd, access) ? 0 : errno;
}

TEST_F(errors, memlock_too_low)
{
	const struct rlimit limit = { 4096, 4096 };
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		/* the limit does not hold for root */
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || setuid(65534))
			_exit(2);
		if (reg_errno(self->pd, 0, LENGTH, self->memfd, ACCESS) != ENOMEM)
			_exit(3);
		_exit(strstr(ibv_share_last_error(), "RLIMIT_MEMLOCK") ? 0 : 4);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

TEST_F(errors, registration)
{
	int null = open("/dev/null", O_RDWR);
	int sealed = memfd_create("sealed", MFD_ALLOW_SEALING);

	ASSERT_EQ(ftruncate(sealed, LENGTH), 0);
	ASSERT_EQ(fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE), 0);
	EXPECT_ERROR(EBADFD, reg_errno(self->pd, 0, 4096, null, ACCESS), "wrong kind");
	EXPECT_ERROR(EBADF, reg_errno(self->pd, 0, 4096, -1, ACCESS), "not an open");
	EXPECT_ERROR(ERANGE, reg_errno(self->pd, 4096, LENGTH, self->memfd, ACCESS), "end of");
	EXPECT_ERROR(EOVERFLOW, reg_errno(self->pd, -4096ULL, 8192, self->memfd, ACCESS), "wraps");
	EXPECT_ERROR(EPERM, reg_errno(self->pd, 0, 4096, sealed, ACCESS), "seal");
	EXPECT_ERROR(EINVAL, reg_errno(self->pd, 0, 4096, self->memfd, IBV_ACCESS_REMOTE_WRITE),
		     "remote write");
	close(null);
	close(sealed);
}

TEST_F(errors, not_permitted)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;
	struct ibv_share_context *ctx;
	struct ibv_qp *qp;

	ASSERT_EQ(ibv_share_send(self->ctx, self->sv[0], IBV_SHARE_READ), 0);
	ctx = ibv_share_recv(self->context, self->sv[1]);
	ASSERT_NE(ctx, NULL);
	qp = ibv_share_get_qp(ctx, NULL);
	ASSERT_NE(qp, NULL);
	EXPECT_EQ(ibv_post_send(qp, &send, &bad_send), EACCES);
	EXPECT_EQ(bad_send, &send);
	EXPECT_EQ(ibv_post_recv(qp, &recv, &bad_recv), EACCES);
	EXPECT_EQ(bad_recv, &recv);
	EXPECT_ERROR(EACCES, ibv_req_notify_cq(qp->send_cq, 0), "more rights");
	EXPECT_ERROR(EACCES,
		     ibv_share_modify_qp(qp, &attr,
					 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						 IBV_QP_ACCESS_FLAGS),
		     "more rights");
	EXPECT_ERROR(EACCES, ibv_share_send(ctx, self->sv[0], IBV_SHARE_READ), "more rights");
	EXPECT_EQ(ibv_share_close(ctx), 0);
}

TEST_F(errors, dead_share)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_share_context *ctx;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	ASSERT_EQ(ibv_share_send(self->ctx, self->sv[0], IBV_SHARE_ALL_RIGHTS), 0);
	ctx = ibv_share_recv(self->context, self->sv[1]);
	ASSERT_NE(ctx, NULL);
	qp = ibv_share_get_qp(ctx, NULL);
	ASSERT_EQ(ibv_share_destroy_qp(self->qp), 0);
	self->qp = NULL;
	/* an error, before anything touches the ring that is gone */
	EXPECT_EQ(ibv_post_send(qp, &send, &bad), ENOLINK);
	EXPECT_ERROR(ENOLINK, ibv_share_query_qp(qp, &attr, IBV_QP_STATE, &init), "is dead");
	EXPECT_EQ(ibv_share_close(ctx), 0);
}

TEST_F(errors, other_device)
{
	struct ibv_context *other = lib_open("rxe1");

	ASSERT_NE(other, NULL);
	ASSERT_EQ(ibv_share_send(self->ctx, self->sv[0], IBV_SHARE_ALL_RIGHTS), 0);
	errno = 0;
	EXPECT_EQ(ibv_share_recv(other, self->sv[1]), NULL);
	EXPECT_ERROR(EXDEV, errno, "another device");
	ibv_close_device(other);
}

/* what the control segment answers, in its own words */
TEST_F(errors, control_segment_full)
{
	const struct ibv_share_open_attr attr = { .control_bytes = 1 << 20 };
	struct ibv_share_context *ctx = ibv_share_open(self->context, &attr);
	struct ibv_cq *cq[64];
	int n;

	ASSERT_NE(ctx, NULL);
	for (n = 0; n < 64; n++) {
		cq[n] = ibv_share_create_cq(ctx, 1024, NULL, NULL, 0);
		if (!cq[n])
			break;
	}
	EXPECT_ERROR(ENOSPC, errno, "control_bytes");
	ASSERT_LT(n, 64);
	while (n--)
		EXPECT_EQ(ibv_share_destroy_cq(cq[n]), 0);
	EXPECT_EQ(ibv_share_close(ctx), 0);
}

TEST_F(errors, malformed_bundle)
{
	ASSERT_EQ(send(self->sv[0], "rubbish", 7, 0), 7);
	errno = 0;
	EXPECT_EQ(ibv_share_recv(self->context, self->sv[1]), NULL);
	EXPECT_ERROR(EBADMSG, errno, "malformed");
}

TEST_HARNESS_MAIN
