// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * QUERY, the first call that anybody makes.
 *
 * "query DEVICE ERRNO" is no test of its own but a question that module.sh has:
 * is the answer this one?
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "share_test.h"

FIXTURE(query)
{
	int fd;
};

FIXTURE_VARIANT(query)
{
	const char *dev;
};

FIXTURE_VARIANT_ADD(query, rxe0){
	.dev = "rxe0",
};

FIXTURE_VARIANT_ADD(query, rxe1){
	.dev = "rxe1",
};

FIXTURE_SETUP(query)
{
	self->fd = dev_open(variant->dev);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(query)
{
	close(self->fd);
}

TEST_F(query, caps)
{
	struct ib_uverbs_share_caps caps;
	uint64_t features = IB_UVERBS_SHARE_F_REG_MR | IB_UVERBS_SHARE_F_RINGS |
			    IB_UVERBS_SHARE_F_IMPORT_REG_MR;

	if (is_kernel_at_least(6, 2))
		features |= IB_UVERBS_SHARE_F_READ_ONLY_MR;
	memset(&caps, 0xff, sizeof(caps));
	test_query(self->fd, &caps);
	EXPECT_EQ(IB_UVERBS_SHARE_ABI_VERSION, caps.abi_version);
	EXPECT_EQ(RDMA_DRIVER_RXE, caps.driver_id);
	EXPECT_EQ(features, caps.features);
	EXPECT_EQ(IB_UVERBS_SHARE_ALL_RIGHTS, caps.rights);
	EXPECT_EQ(IB_UVERBS_SHARE_MAX_SLOTS, caps.max_slots);
	EXPECT_EQ(IB_UVERBS_SHARE_MAX_RING_BYTES, caps.max_ring_bytes);
}

/* a caller of the future gets zeros for what this kernel does not know */
TEST_F(query, longer_struct)
{
	struct {
		struct ib_uverbs_share_caps caps;
		uint64_t future[4];
	} out;
	struct call call;
	unsigned int i;

	memset(&out, 0xff, sizeof(out));
	call_init(&call, IB_UVERBS_OBJECT_SHARE, IB_UVERBS_METHOD_SHARE_QUERY);
	put_out(&call, IB_UVERBS_ATTR_SHARE_QUERY_CAPS, &out, sizeof(out));
	ASSERT_EQ(0, call_run(self->fd, &call));
	EXPECT_EQ(IB_UVERBS_SHARE_ABI_VERSION, out.caps.abi_version);
	for (i = 0; i < ARRAY_SIZE(out.future); i++)
		EXPECT_EQ(0, out.future[i]);
}

TEST_F(query, no_such_method)
{
	struct call call;
	uint16_t method;

	for (method = IB_UVERBS_METHOD_SHARE_DERIVE + 1; method < 22; method++) {
		call_init(&call, IB_UVERBS_OBJECT_SHARE, method);
		EXPECT_EQ(EPROTONOSUPPORT, call_run(self->fd, &call));
	}
	for (method = IB_UVERBS_METHOD_IMPORT_MODIFY_SRQ + 1; method < 22; method++) {
		call_init(&call, IB_UVERBS_OBJECT_IMPORT, method);
		EXPECT_EQ(EPROTONOSUPPORT, call_run(self->fd, &call));
	}
}

/* the same file again, as it is before GET_CONTEXT */
static int open_without_context(int fd)
{
	char path[64], dev[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, dev, sizeof(dev) - 1);
	if (len < 0)
		return -1;
	dev[len] = 0;
	return open(dev, O_RDWR | O_CLOEXEC);
}

TEST_F(query, file_without_context)
{
	struct export_args export = EXPORT_OF(self->fd, ABSENT);
	struct ib_uverbs_share_caps caps;
	int fd = open_without_context(self->fd), narrow;
	struct import import;

	ASSERT_LE(0, fd);
	test_export(self->fd, &export);
	EXPECT_EQ(EINVAL, do_query(fd, &caps));
	import = IMPORT_OF(export.grant);
	test_err_import(EINVAL, fd, &import);
	test_derive(fd, export.grant, ABSENT, &narrow);
	export.cmd_fd = fd;
	test_err_export(EINVAL, fd, &export);
	test_err_revoke(ENOENT, fd, export.handle);
	close(fd);
}

#define main run_tests
TEST_HARNESS_MAIN
#undef main

static int ask(const char *dev, int want)
{
	struct ib_uverbs_share_caps caps;
	int fd = dev_open(dev), err;

	err = fd < 0 ? -fd : do_query(fd, &caps);
	if (err != want)
		printf("# %s: %s\n", dev, strerror(err));
	return err != want;
}

int main(int argc, char **argv)
{
	return argc == 3 ? ask(argv[1], atoi(argv[2])) : run_tests(argc, argv);
}
