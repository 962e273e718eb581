// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The bundle on a socket whose other side is hostile: no file descriptor may
 * stay open.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sample.h"

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* A message as a hostile peer sends it, without the checks of the library. */
static int raw_send(int sock, size_t length, unsigned int num_fds, int fd)
{
	static union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(253 * sizeof(int))];
	} control;
	struct iovec iov = { message, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	unsigned int i;

	if (num_fds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(num_fds * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(num_fds * sizeof(int));
		for (i = 0; i < num_fds; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd,
			       sizeof(fd));
	}
	return sendmsg(sock, &msg, 0) < 0 ? errno : 0;
}

static int receive(int sock, int *fds, unsigned int *num_fds)
{
	static unsigned char got[IBV_SHARE_MAX_BYTES];
	size_t length;
	int ret = share_bundle_recv(sock, got, &length, fds, num_fds);

	if (ret)
		return ret;
	ret = share_bundle_parse(&parsed, got, length, *num_fds);
	if (ret)
		share_close_fds(fds, *num_fds);
	return ret;
}

static int over_socket(void)
{
	int sv[2], fds[IBV_SHARE_MAX_FDS], before, on = 1;
	unsigned int i, num_fds;
	size_t length = make_sample();

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv));
	/* the kernel then adds a control message of its own */
	CHECK(!setsockopt(sv[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	before = open_fds();
	for (i = 0; i <= 253; i++) {
		CHECK(!raw_send(sv[0], length, i, sv[0]));
		if (i != sample.num_fds) {
			CHECK(receive(sv[1], fds, &num_fds) == EBADMSG);
			CHECK(open_fds() == before);
			continue;
		}
		CHECK(!receive(sv[1], fds, &num_fds));
		CHECK(num_fds == i && open_fds() == before + (int)i);
		CHECK(fcntl(fds[0], F_GETFD) == FD_CLOEXEC);
		share_close_fds(fds, num_fds);
	}
	CHECK(!raw_send(sv[0], sizeof(message), sample.num_fds, sv[0]));
	CHECK(receive(sv[1], fds, &num_fds) == EBADMSG);
	CHECK(open_fds() == before);
	close(sv[0]);
	CHECK(receive(sv[1], fds, &num_fds) == ECONNRESET);
	close(sv[1]);
	return 1;
}

/* The receiver may not open as many files: the kernel drops some of them. */
static int over_limit(void)
{
	int sv[2], fds[IBV_SHARE_MAX_FDS], before;
	struct rlimit old, few;
	unsigned int i, num_fds;
	size_t length = make_sample();

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv));
	CHECK(!getrlimit(RLIMIT_NOFILE, &old));
	before = open_fds();
	for (i = 0; i < sample.num_fds; i++) {
		CHECK(!raw_send(sv[0], length, sample.num_fds, sv[0]));
		few = old;
		few.rlim_cur = (rlim_t)sv[1] + 1 + i;
		CHECK(!setrlimit(RLIMIT_NOFILE, &few));
		CHECK(receive(sv[1], fds, &num_fds) == EBADMSG);
		CHECK(!setrlimit(RLIMIT_NOFILE, &old));
		CHECK(open_fds() == before);
	}
	share_close_fds(sv, 2);
	return 1;
}

static int wrong_socket(void)
{
	int sv[2], fds[IBV_SHARE_MAX_FDS];
	unsigned int num_fds;
	size_t length = make_sample();

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	CHECK(share_bundle_send(sv[0], message, length, fds, 0) == EPROTOTYPE);
	CHECK(receive(sv[1], fds, &num_fds) == EPROTOTYPE);
	share_close_fds(sv, 2);
	CHECK(receive(sv[1], fds, &num_fds) == EBADF);
	CHECK(strstr(ibv_share_last_error(), "socket"));
	return 1;
}

int main(void)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} tests[] = {
		{ "over_socket", over_socket },
		{ "over_limit", over_limit },
		{ "wrong_socket", wrong_socket },
	};
	const int count = sizeof(tests) / sizeof(tests[0]);
	int i, ok, failed = 0;

	printf("TAP version 13\n1..%d\n", count);
	for (i = 0; i < count; i++) {
		ok = tests[i].run();
		failed += !ok;
		printf("%sok %d %s\n", ok ? "" : "not ", i + 1, tests[i].name);
	}
	return failed != 0;
}
