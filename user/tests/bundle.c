// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The bundle against malformed messages: none may be taken for a good one. Runs
 * anywhere, best under a sanitizer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/ib_uverbs_share.h>
#include "sample.h"

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
	CHECK(parsed.data_bytes == sample.data_bytes);
	CHECK(!memcmp(parsed.data, sample.data, sample.data_bytes));
	return 1;
}

/* The header as it is on the wire. */
struct header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint32_t total_bytes;
	uint16_t object_bytes;
	uint16_t num_objects;
	uint32_t num_fds;
	uint16_t min_version;
	uint16_t reserved;
	uint32_t data_bytes;
	uint32_t reserved2;
};

/*
 * The sample as a later version might send it: its header has @more bytes more
 * and each object as well, all of them not zero.
 */
static size_t make_later(uint16_t version, uint16_t min_version, uint16_t more)
{
	struct header header;
	unsigned char *p = message;
	uint32_t i;

	make_sample();
	memcpy(&header, message, sizeof(header));
	header.version = version;
	header.min_version = min_version;
	header.header_bytes += more;
	header.object_bytes += more;
	header.reserved2 = 7;
	header.total_bytes += more * (1U + sample.num_objects);
	memset(message, 0xa5, header.total_bytes);
	memcpy(p, &header, sizeof(header));
	p += header.header_bytes;
	for (i = 0; i < sample.num_objects; i++, p += header.object_bytes)
		memcpy(p, &sample.objects[i], sizeof(sample.objects[i]));
	memcpy(p, sample.data, sample.data_bytes);
	return header.total_bytes;
}

static int later_versions(void)
{
	size_t length = make_later(2, 1, 24);

	CHECK(!parse(length, sample.num_fds));
	CHECK(parsed.num_objects == sample.num_objects);
	CHECK(!memcmp(parsed.objects, sample.objects,
		      sample.num_objects * sizeof(sample.objects[0])));
	CHECK(!memcmp(parsed.data, sample.data, sample.data_bytes));
	CHECK(!parse(make_later(9, 1, 0), sample.num_fds));
	/* one that cannot do without what it added: it says so */
	CHECK(parse(make_later(2, 2, 24), sample.num_fds) == EBADMSG);
	CHECK(strstr(ibv_share_last_error(), "needs version 2"));
	CHECK(parse(make_later(1, 1, 24), sample.num_fds) == EBADMSG);
	CHECK(parse(make_later(2, 0, 0), sample.num_fds) == EBADMSG);
	CHECK(parse(make_later(0, 0, 0), sample.num_fds) == EBADMSG);
	CHECK(parse(make_later(2, 3, 0), sample.num_fds) == EBADMSG);
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
		CHECK((o->grant == NONE && o->kind == SHARE_BUNDLE_USER) ||
		      (o->grant >= SHARE_BUNDLE_FDS &&
		       o->grant < parsed.num_fds));
		CHECK(o->kind != SHARE_BUNDLE_USER ||
		      o->offset + o->length <= parsed.data_bytes);
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
				/* a later version that says the same */
				CHECK(i >= 32 || i == 4 || i == 5);
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

int main(void)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} tests[] = {
		{ "round_trip", round_trip },
		{ "later_versions", later_versions },
		{ "every_length", every_length },
		{ "every_fd_count", every_fd_count },
		{ "every_byte", every_byte },
		{ "every_word", every_word },
		{ "random_bytes", random_bytes },
		{ "full_bundle", full_bundle },
		{ "empty_bundle", empty_bundle },
		{ "names", names },
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
