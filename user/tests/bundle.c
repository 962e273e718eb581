// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The bundle against malformed messages: none may be taken for a good one, and
 * none may leave a file descriptor open. Runs anywhere, best under a sanitizer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/ib_uverbs_share.h>
#include "../bundle.h"

#define NONE SHARE_BUNDLE_NONE
#define CHECK(cond)                                                         \
	do {                                                                \
		if (!(cond)) {                                              \
			printf("# %s:%d: %s\n", __func__, __LINE__, #cond); \
			return 0;                                           \
		}                                                           \
	} while (0)

static struct share_bundle sample, parsed;
static unsigned char message[IBV_SHARE_MAX_BYTES + 1];

static struct share_bundle_object *add(uint32_t kind, const char *name)
{
	struct share_bundle_object *o = &sample.objects[sample.num_objects++];

	memset(o, 0, sizeof(*o));
	o->kind = kind;
	strcpy(o->name, name);
	o->grant = sample.num_fds++;
	o->extra = o->pd = o->send_cq = o->recv_cq = NONE;
	return o;
}

/* A PD, two CQs on one channel, two QPs and two MRs, one with a file. */
static size_t make_sample(void)
{
	struct share_bundle_object *o;
	uint32_t i;

	memset(&sample, 0, sizeof(sample));
	sample.num_fds = SHARE_BUNDLE_FDS;
	add(IB_UVERBS_SHARE_PD, "pd0");
	for (i = 0; i < 2; i++) {
		o = add(IB_UVERBS_SHARE_CQ, i ? "replies" : "requests");
		o->index = i;
		o->extra = i ? o[-1].extra : sample.num_fds++;
	}
	for (i = 0; i < 2; i++) {
		o = add(IB_UVERBS_SHARE_QP, i ? "qp1" : "qp0");
		o->index = i;
		o->pd = 0;
		o->send_cq = 1;
		o->recv_cq = 2;
	}
	for (i = 0; i < 2; i++) {
		o = add(IB_UVERBS_SHARE_MR,
			i ? "a-name-of-thirty-one-characters" : "mr0");
		o->pd = 0;
		if (!i)
			continue;
		o->extra = sample.num_fds++;
		o->offset = 4096;
	}
	share_bundle_pack(&sample, message);
	return share_bundle_bytes(&sample);
}

static int parse(size_t length, unsigned int num_fds)
{
	/* a copy of exactly that size, so that a sanitizer sees any overrun */
	void *copy = malloc(length ? length : 1);
	int ret;

	if (!copy)
		abort();
	memcpy(copy, message, length);
	ret = share_bundle_parse(&parsed, copy, length, num_fds);
	free(copy);
	return ret;
}

static int round_trip(void)
{
	size_t length = make_sample();

	CHECK(!parse(length, sample.num_fds));
	CHECK(parsed.num_objects == sample.num_objects);
	CHECK(parsed.num_fds == sample.num_fds);
	CHECK(!memcmp(parsed.objects, sample.objects,
		      sample.num_objects * sizeof(sample.objects[0])));
	return 1;
}

static int every_length(void)
{
	size_t length = make_sample(), i;

	for (i = 0; i < length; i++)
		CHECK(parse(i, sample.num_fds) == EBADMSG);
	CHECK(parse(length + 1, sample.num_fds) == EBADMSG);
	CHECK(parse(IBV_SHARE_MAX_BYTES, sample.num_fds) == EBADMSG);
	return 1;
}

static int every_fd_count(void)
{
	size_t length = make_sample();
	unsigned int i;

	for (i = 0; i < 2 * IBV_SHARE_MAX_FDS; i++)
		CHECK(parse(length, i) ==
		      (i == sample.num_fds ? 0 : EBADMSG));
	return 1;
}

/* Whatever is accepted has every reference in range and every name ended. */
static int is_sound(void)
{
	uint32_t i;

	for (i = 0; i < parsed.num_objects; i++) {
		const struct share_bundle_object *o = &parsed.objects[i];

		CHECK(memchr(o->name, 0, sizeof(o->name)));
		CHECK(o->grant >= SHARE_BUNDLE_FDS &&
		      o->grant < parsed.num_fds);
		CHECK(o->extra == NONE || o->extra < parsed.num_fds);
		CHECK(o->pd == NONE || o->pd < i);
		CHECK(o->send_cq == NONE || o->send_cq < i);
		CHECK(o->recv_cq == NONE || o->recv_cq < i);
	}
	return 1;
}

static int every_byte(void)
{
	size_t length = make_sample(), i;
	unsigned int bit, accepted = 0;
	unsigned char old;

	for (i = 0; i < length; i++) {
		for (bit = 0; bit <= 8; bit++) {
			old = message[i];
			message[i] ^= bit < 8 ? 1U << bit : 0xff;
			if (!parse(length, sample.num_fds)) {
				accepted++;
				CHECK(i >= 32);
				CHECK(is_sound());
			}
			message[i] = old;
		}
	}
	/* capacities, names, offsets: there are flips that are no errors */
	CHECK(accepted > 0);
	return 1;
}

static int every_word(void)
{
	static const uint32_t values[] = { 0, 1, 2, 3, 5, 247, 248, 249, 250,
					   0x7fffffff, 0x80000000, NONE };
	size_t length = make_sample(), i;
	unsigned int v;
	uint32_t old;

	for (i = 0; i + 4 <= length; i += 4) {
		for (v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			memcpy(&old, message + i, sizeof(old));
			memcpy(message + i, &values[v], sizeof(old));
			if (!parse(length, sample.num_fds))
				CHECK(is_sound());
			memcpy(message + i, &old, sizeof(old));
		}
	}
	return 1;
}

static int random_bytes(void)
{
	size_t length = make_sample();
	int i, n;

	srandom(1);
	for (i = 0; i < 20000; i++) {
		make_sample();
		for (n = 0; n < 1 + i % 8; n++)
			message[32 + random() % (length - 32)] =
				(unsigned char)random();
		if (!parse(length, sample.num_fds))
			CHECK(is_sound());
	}
	return 1;
}

static int full_bundle(void)
{
	char name[IBV_SHARE_NAME_MAX];
	int i;

	memset(&sample, 0, sizeof(sample));
	sample.num_fds = SHARE_BUNDLE_FDS;
	for (i = 0; i < SHARE_BUNDLE_MAX_OBJECTS; i++) {
		snprintf(name, sizeof(name), "pd%d", i);
		add(IB_UVERBS_SHARE_PD, name);
	}
	share_bundle_pack(&sample, message);
	CHECK(share_bundle_bytes(&sample) <= IBV_SHARE_MAX_BYTES);
	CHECK(!parse(share_bundle_bytes(&sample), sample.num_fds));
	return 1;
}

static int empty_bundle(void)
{
	memset(&sample, 0, sizeof(sample));
	sample.num_fds = SHARE_BUNDLE_FDS;
	share_bundle_pack(&sample, message);
	CHECK(!parse(share_bundle_bytes(&sample), SHARE_BUNDLE_FDS));
	return 1;
}

static int names(void)
{
	CHECK(share_bundle_name_ok("a"));
	CHECK(share_bundle_name_ok("1234567890123456789012345678901"));
	CHECK(!share_bundle_name_ok("12345678901234567890123456789012"));
	CHECK(!share_bundle_name_ok(""));
	CHECK(!share_bundle_name_ok("a b"));
	CHECK(!share_bundle_name_ok("a\n"));
	CHECK(!share_bundle_name_ok("\xff"));
	return 1;
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
		{ "round_trip", round_trip },
		{ "every_length", every_length },
		{ "every_fd_count", every_fd_count },
		{ "every_byte", every_byte },
		{ "every_word", every_word },
		{ "random_bytes", random_bytes },
		{ "full_bundle", full_bundle },
		{ "empty_bundle", empty_bundle },
		{ "names", names },
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
