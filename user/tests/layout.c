// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The control segment: what is refused at attach, and its directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include "../directory.h"
#include "tap.h"

static const struct share_env env;

static int attach(int fd)
{
	struct share_control control;
	int ret = share_control_attach(&control, fd, 0, 1, &env);

	if (!ret)
		share_control_detach(&control);
	return ret;
}

static int sealed(void)
{
	const int want = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int fd;

	CHECK(!share_control_create(0, &fd));
	CHECK(fcntl(fd, F_GET_SEALS) == want);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK(ftruncate(fd, 0) == -1 && errno == EPERM);
	CHECK(!attach(fd));
	close(fd);
	CHECK(share_control_create(4096, &fd) == EINVAL);
	CHECK(share_control_create(SHARE_CONTROL_BYTES + 1, &fd) == EINVAL);
	return 1;
}

static int other_files(void)
{
	char page[4096] = "";
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	CHECK(!ftruncate(fd, SHARE_CONTROL_BYTES));
	CHECK(attach(fd) == EBADFD);
	CHECK(!fcntl(fd, F_ADD_SEALS,
		     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	CHECK(attach(fd) == EBADMSG);
	close(fd);
	fd = memfd_create("test", MFD_ALLOW_SEALING);
	CHECK(write(fd, page, sizeof(page)) == sizeof(page));
	CHECK(!fcntl(fd, F_ADD_SEALS,
		     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	CHECK(attach(fd) == EBADMSG);
	close(fd);
	fd = open("/dev/null", O_RDWR);
	CHECK(attach(fd) == EBADFD);
	close(fd);
	CHECK(attach(-1) == EBADFD);
	return 1;
}

static int every_header_word(void)
{
	const size_t fixed =
		offsetof(struct share_control_header, directory_lock);
	uint32_t word, other;
	size_t at;
	int fd, ret;

	CHECK(!share_control_create(0, &fd));
	for (at = 0; at < fixed; at += sizeof(word)) {
		CHECK(pread(fd, &word, 4, (off_t)at) == 4);
		other = word + 1;
		CHECK(pwrite(fd, &other, 4, (off_t)at) == 4);
		ret = attach(fd);
		CHECK(ret == (at == 4 ? EPROTONOSUPPORT : EBADMSG));
		CHECK(pwrite(fd, &word, 4, (off_t)at) == 4);
	}
	CHECK(!attach(fd));
	close(fd);
	return 1;
}

static const struct share_cq_attr cq_attr = { .capacity = 63 };
static const struct share_qp_attr qp_attr = {
	.qp_num = 17,
	.qp_type = IBV_QPT_RC,
	.sq_entries = 64,
	.rq_entries = 32,
};

static int setup(struct share_control *control, size_t bytes)
{
	int fd;

	CHECK(!share_control_create(bytes, &fd));
	CHECK(!share_control_attach(control, fd, 0, 1, &env));
	close(fd);
	return 1;
}

static int bad_parameters(void)
{
	struct share_cq_attr cq = cq_attr;
	struct share_qp_attr qp = qp_attr;
	struct share_control control;
	uint32_t index;

	CHECK(setup(&control, 0));
	cq.capacity = 0;
	CHECK(share_control_add_cq(&control, &cq, &index) == EINVAL);
	cq.capacity = SHARE_MAX_ENTRIES;
	CHECK(share_control_add_cq(&control, &cq, &index) == EINVAL);
	qp.sq_entries = 48;
	CHECK(share_control_add_qp(&control, &qp, &index) == EINVAL);
	qp.sq_entries = 64;
	qp.rq_entries = 1;
	CHECK(share_control_add_qp(&control, &qp, &index) == EINVAL);
	qp.rq_entries = 0;
	CHECK(!share_control_add_qp(&control, &qp, &index));
	qp.qp_type = IBV_QPT_RAW_PACKET;
	CHECK(share_control_add_qp(&control, &qp, &index) == EINVAL);
	share_control_detach(&control);
	return 1;
}

static int reuse(void)
{
	struct share_control control;
	struct share_cq_view cq, cq2;
	struct share_qp_view qp, qp2;
	uint32_t a, b;

	CHECK(setup(&control, 0));
	CHECK(!share_control_add_cq(&control, &cq_attr, &a));
	CHECK(!share_control_cq(&control, a, &cq));
	CHECK(cq.capacity == 63 && cq.mailbox_entries == 64);
	CHECK(!share_control_add_qp(&control, &qp_attr, &b));
	CHECK(!share_control_qp(&control, b, &qp));
	CHECK(!memcmp(&qp.attr, &qp_attr, sizeof(qp_attr)));
	CHECK(share_control_del_cq(&control, a) == EBUSY);
	CHECK(!share_control_del_qp(&control, b, 1));
	CHECK(share_control_qp(&control, b, &qp2) == ENOENT);
	CHECK(share_control_qp_live(&control, &qp) == ENOLINK);
	CHECK(!share_control_del_cq(&control, a));
	CHECK(share_control_cq_live(&control, &cq) == ENOLINK);

	CHECK(!share_control_add_cq(&control, &cq_attr, &a));
	CHECK(!share_control_cq(&control, a, &cq2));
	CHECK(cq2.body == cq.body && cq2.generation != cq.generation);
	CHECK(share_control_cq_live(&control, &cq) == ENOLINK);
	CHECK(!share_control_add_qp(&control, &qp_attr, &b));
	CHECK(!share_control_qp(&control, b, &qp2));
	CHECK(qp2.body == qp.body && share_load(&qp2.body->epoch) == 2);
	CHECK(!share_control_del_qp(&control, b, 0));
	CHECK(!share_control_add_qp(&control, &qp_attr, &a) && a != b);
	share_control_detach(&control);
	return 1;
}

static int until_full(void)
{
	struct share_cq_attr big = { .capacity = 4095 };
	struct share_control control;
	struct share_qp_view qp;
	uint32_t index, n;

	CHECK(setup(&control, 1 << 20));
	CHECK(share_control_add_cq(&control, &big, &index) == ENOSPC);
	for (n = 0; !share_control_add_qp(&control, &qp_attr, &index); n++)
		CHECK(!share_control_qp(&control, index, &qp) && index == n);
	CHECK(n > 100 && n < SHARE_MAX_QPS);
	share_control_detach(&control);
	CHECK(setup(&control, 0));
	for (n = 0; !share_control_add_qp(&control, &qp_attr, &index); n++)
		;
	CHECK(n == SHARE_MAX_QPS);
	CHECK(share_control_qp(&control, n, &qp) == ENOENT);
	share_control_detach(&control);
	return 1;
}

/* Whatever stands in an entry, what it names lies within the segment. */
static int every_entry_word(void)
{
	static const uint32_t values[] = { 0, 1, 3, 64, 65, 1u << 20, 1u << 26,
					   1u << 31, ~0u };
	struct share_control control;
	struct share_entry *entry;
	struct share_cq_view cq;
	struct share_qp_view qp;
	uint32_t index, word, *words;
	unsigned int i, v;
	char *end;

	CHECK(setup(&control, 0));
	end = control.base + control.bytes;
	CHECK(!share_control_add_cq(&control, &cq_attr, &index));
	CHECK(!share_control_add_qp(&control, &qp_attr, &index));
	for (i = 0; i < 2 * sizeof(*entry) / 4; i++) {
		entry = i % 2 ? share_control_cqs(&control) : share_control_qps(&control);
		words = (uint32_t *)(void *)entry;
		word = words[i / 2];
		for (v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			words[i / 2] = values[v];
			if (!share_control_cq(&control, 0, &cq))
				CHECK((char *)(cq.mail +
					       (size_t)64 *
						       cq.mailbox_entries) <=
				      end);
			if (!share_control_qp(&control, 0, &qp))
				CHECK((char *)(qp.recv_shadow +
					       qp.attr.rq_entries) <= end);
		}
		words[i / 2] = word;
	}
	share_control_detach(&control);
	return 1;
}

int main(void)
{
	static const struct test tests[] = {
		TEST(sealed),
		TEST(other_files),
		TEST(every_header_word),
		TEST(bad_parameters),
		TEST(reuse),
		TEST(until_full),
		TEST(every_entry_word),
	};

	return RUN_TESTS(tests);
}
