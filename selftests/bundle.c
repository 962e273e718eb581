// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Bundles with real grants. The parser alone is tested without a device, see
 * user/tests/bundle.c.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_library.h"

#define LENGTH (1UL << 16)

FIXTURE(bundle)
{
	struct ibv_context *context;
	struct ibv_share_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	int memfd;
	int sv[2];
};

FIXTURE_SETUP(bundle)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	self->context = lib_open("rxe0");
	ASSERT_NE(self->context, NULL);
	self->ctx = ibv_share_open(self->context, NULL);
	self->pd = ibv_share_alloc_pd(self->ctx);
	self->cq = ibv_share_create_cq(self->ctx, 16, NULL, NULL, 0);
	init.send_cq = init.recv_cq = self->cq;
	self->qp = ibv_share_create_qp(self->pd, &init);
	ASSERT_NE(self->qp, NULL);
	self->memfd = memfd_create("bundle", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(self->memfd, LENGTH), 0);
	self->mr = ibv_reg_shared_mr(self->pd, 0, LENGTH, 0, self->memfd, ACCESS);
	ASSERT_NE(self->mr, NULL);
	ASSERT_EQ(ibv_share_export_mr(self->mr, self->memfd, 0, ACCESS), 0);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sv), 0);
}

FIXTURE_TEARDOWN(bundle)
{
	EXPECT_EQ(ibv_share_dereg_mr(self->mr), 0);
	EXPECT_EQ(ibv_share_destroy_qp(self->qp), 0);
	EXPECT_EQ(ibv_share_destroy_cq(self->cq), 0);
	EXPECT_EQ(ibv_share_dealloc_pd(self->pd), 0);
	EXPECT_EQ(ibv_share_close(self->ctx), 0);
	EXPECT_EQ(ibv_close_device(self->context), 0);
}

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static struct ibv_share_context *through_socket(struct ibv_share_context *from,
						struct ibv_context *context, const int *sv)
{
	if (ibv_share_send(from, sv[0], IBV_SHARE_ALL_RIGHTS))
		return NULL;
	return ibv_share_recv(context, sv[1]);
}

/* Data and a file descriptor of the application, over two hands. */
TEST_F(bundle, user_objects)
{
	struct ibv_share_context *second, *third;
	char text[16];
	size_t length = sizeof(text);
	int fd, pipes[2];

	ASSERT_EQ(pipe(pipes), 0);
	ASSERT_EQ(ibv_share_put_user(self->ctx, "text", "hello", 6, -1), 0);
	ASSERT_EQ(ibv_share_put_user(self->ctx, "pipe", NULL, 0, pipes[1]), 0);
	close(pipes[1]);
	second = through_socket(self->ctx, self->context, self->sv);
	ASSERT_NE(second, NULL);
	third = through_socket(second, self->context, self->sv);
	ASSERT_NE(third, NULL);

	ASSERT_EQ(ibv_share_get_user(third, "text", text, &length, &fd), 0);
	EXPECT_EQ(length, 6);
	EXPECT_STREQ(text, "hello");
	EXPECT_EQ(fd, -1);
	ASSERT_EQ(ibv_share_get_user(third, "pipe", text, &length, &fd), 0);
	EXPECT_EQ(length, 0);
	EXPECT_EQ(write(fd, "x", 1), 1);
	EXPECT_EQ(read(pipes[0], text, 1), 1);

	/* the last who has the file descriptor closes the pipe */
	EXPECT_EQ(ibv_share_close(third), 0);
	EXPECT_EQ(ibv_share_close(second), 0);
	EXPECT_EQ(ibv_share_put_user(self->ctx, "pipe", NULL, 0, -1), 0);
	EXPECT_EQ(read(pipes[0], text, 1), 0);
	close(pipes[0]);
}

TEST_F(bundle, user_objects_in_bounds)
{
	static const char big[IBV_SHARE_MAX_USER_BYTES + 1];
	struct ibv_share_context *ctx;
	size_t length = 3;
	char text[3];

	EXPECT_EQ(ibv_share_put_user(self->ctx, "a b", big, 1, -1), EINVAL);
	EXPECT_EQ(ibv_share_put_user(self->ctx, "a", NULL, 1, -1), EINVAL);
	EXPECT_EQ(ibv_share_put_user(self->ctx, "a", big, sizeof(big), -1), EMSGSIZE);
	EXPECT_EQ(ibv_share_put_user(self->ctx, "a", big, 1, 12345), EBADF);
	EXPECT_EQ(ibv_share_put_user(self->ctx, "a", NULL, 0, -1), ENOENT);
	EXPECT_EQ(ibv_share_put_user(self->ctx, "a", big, sizeof(big) - 1, -1), 0);
	EXPECT_EQ(ibv_share_put_user(self->ctx, "b", big, 1, -1), EMSGSIZE);
	/* replaced, not added */
	EXPECT_EQ(ibv_share_put_user(self->ctx, "a", big, sizeof(big) - 1, -1), 0);
	ctx = through_socket(self->ctx, self->context, self->sv);
	ASSERT_NE(ctx, NULL);
	EXPECT_EQ(ibv_share_get_user(ctx, "a", text, &length, NULL), ENOBUFS);
	EXPECT_EQ(length, IBV_SHARE_MAX_USER_BYTES);
	EXPECT_EQ(ibv_share_get_user(ctx, "b", text, &length, NULL), ENOENT);
	EXPECT_EQ(ibv_share_close(ctx), 0);
}

/* Who connects as nobody is known before anything is sent. */
TEST_F(bundle, peer)
{
	struct ibv_share_peer_attr peer;
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), fd, status;
	struct sockaddr_un {
		sa_family_t family;
		char path[108];
	} addr = { AF_UNIX, "\0uverbs-share-peer" };
	char byte;
	pid_t pid;

	ASSERT_EQ(bind(listener, (void *)&addr, sizeof(addr)), 0);
	ASSERT_EQ(listen(listener, 1), 0);
	EXPECT_EQ(ibv_share_query_peer(listener, &peer), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (setgid(65533) || setuid(65534) || connect(fd, (void *)&addr, sizeof(addr)))
			_exit(1);
		/* the other side closes, and has sent nothing */
		_exit(read(fd, &byte, 1) ? 2 : 0);
	}
	fd = accept(listener, NULL, NULL);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(ibv_share_query_peer(fd, &peer), 0);
	EXPECT_EQ(peer.pid, (uint32_t)pid);
	EXPECT_EQ(peer.uid, 65534);
	EXPECT_EQ(peer.gid, 65533);
	close(fd);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);

	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	EXPECT_EQ(ibv_share_query_peer(fd, &peer), ENOTCONN);
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	EXPECT_EQ(ibv_share_query_peer(fd, &peer), EPROTOTYPE);
	close(fd);
	EXPECT_EQ(ibv_share_query_peer(-1, &peer), EBADF);
	close(listener);
}

/* Any two file descriptors swapped: an error, and none of them stays open. */
TEST_F(bundle, swapped_grants)
{
	static unsigned char buf[IBV_SHARE_MAX_BYTES];
	int fds[IBV_SHARE_MAX_FDS], swap, before = open_fds();
	unsigned int i, j, num = 2;
	struct ibv_share_context *ctx;
	size_t length;

	for (i = 0; i < num; i++) {
		for (j = i + 1; j < num || j == 1; j++) {
			length = sizeof(buf);
			ASSERT_EQ(ibv_share_pack(self->ctx, IBV_SHARE_ALL_RIGHTS, buf, &length, fds,
						 &num),
				  0);
			swap = fds[i];
			fds[i] = fds[j];
			fds[j] = swap;
			errno = 0;
			ctx = ibv_share_unpack(self->context, buf, length, fds, num);
			EXPECT_EQ(ctx, NULL);
			EXPECT_NE(errno, 0);
			EXPECT_EQ(open_fds(), before)
			TH_LOG("%u and %u swapped: %s", i, j, ibv_share_last_error());
		}
	}
	EXPECT_GT(num, 5);
}

/* However few files may be open: an error and a sentence, and none stays. */
TEST_F(bundle, few_open_files)
{
	struct ibv_share_context *ctx = NULL;
	int before = open_fds(), room;
	struct rlimit old, few;

	ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (room = 0; !ctx && room < 64; room++) {
		ASSERT_EQ(ibv_share_send(self->ctx, self->sv[0], IBV_SHARE_ALL_RIGHTS), 0);
		few = old;
		few.rlim_cur = (rlim_t)before + room;
		ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
		errno = 0;
		ctx = ibv_share_recv(self->context, self->sv[1]);
		ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
		if (ctx)
			break;
		EXPECT_TRUE(errno == EMFILE || errno == EBADMSG);
		EXPECT_NE(strstr(ibv_share_last_error(), "open files"), NULL)
		TH_LOG("room %d: %s", room, ibv_share_last_error());
		EXPECT_EQ(open_fds(), before);
	}
	ASSERT_NE(ctx, NULL);
	EXPECT_GT(room, 4);
	EXPECT_EQ(ibv_share_close(ctx), 0);
	EXPECT_EQ(open_fds(), before);
}

TEST_HARNESS_MAIN
