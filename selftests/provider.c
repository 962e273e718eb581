// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Beside a provider that has objects of its own (see provider/): its objects
 * work, and ours work beside them. A device whose provider uses our ids stays
 * as it is. This one also goes while it is in use, which rxe cannot.
 */
#include <fcntl.h>
#include <infiniband/share.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define DEV "shareprov0"
#define MODULE "share_test_provider"
#define OWN_OBJECTS 10
#define PROVIDER_ID(n) ((1U << 12) + (n))
/* of our module: the file, and the file system of its inode */
#define GRANT_REFS 2
#define ANSWER 0x0b9ec7

FIXTURE(provider)
{
	long refs, notices;
	int fd;
	uint32_t pd;
};

/* built beside our own module */
static bool module_path(char *path, size_t size)
{
	const char *ko = getenv("UVERBS_SHARE_KO");
	const char *end = ko ? strstr(ko, "/kernel/ib_uverbs_share.ko") : NULL;

	if (!end)
		return false;
	snprintf(path, size, "%.*s/selftests/provider/" MODULE ".ko", (int)(end - ko), ko);
	return !access(path, R_OK);
}

static int provider_load(const char *parameters)
{
	char path[512];
	int fd, err;

	fd = module_path(path, sizeof(path)) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	err = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
	close(fd);
	return err;
}

static int module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

/* lines of the kernel's log that say that the device is left alone */
static long count_notices(void)
{
	long n = 0;
	char line[512];
	FILE *f = popen("dmesg", "re");

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, "ib_uverbs_share: " DEV " is not served");
	if (f)
		pclose(f);
	return n;
}

static bool device_is_there(int *fd)
{
	*fd = dev_open(DEV);
	return *fd >= 0;
}

FIXTURE_SETUP(provider)
{
	char path[512];

	if (!module_path(path, sizeof(path)))
		SKIP(return, "no " MODULE ".ko beside the module");
	call_driver = RDMA_DRIVER_SIW;
	self->refs = module_refs();
	self->notices = count_notices();
	self->fd = -1;
}

FIXTURE_TEARDOWN(provider)
{
	if (call_driver != RDMA_DRIVER_SIW)
		return;
	close(self->fd);
	EXPECT_TRUE(wait_for(module_unload(MODULE) != EWOULDBLOCK));
	EXPECT_TRUE(wait_for(module_refs() == self->refs));
}

static int ask_object(int fd, uint32_t n, uint32_t *answer)
{
	struct call call;

	call_init(&call, PROVIDER_ID(n), PROVIDER_ID(0));
	put_out(&call, 0, answer, sizeof(*answer));
	return call_run(fd, &call);
}

static int count_own(int fd)
{
	uint32_t n, answer, good = 0;

	for (n = 0; n < OWN_OBJECTS; n++) {
		answer = 0;
		good += !ask_object(fd, n, &answer) && answer == ANSWER;
	}
	return good;
}

TEST_F(provider, has_objects_of_its_own)
{
	struct ib_uverbs_share_caps caps;
	struct export_args export;
	struct import import;
	int fd;

	test_ok(provider_load(""));
	ASSERT_TRUE(wait_for(device_is_there(&self->fd)));
	EXPECT_EQ(self->refs + 1, module_refs());
	EXPECT_EQ(OWN_OBJECTS, count_own(self->fd));

	test_query(self->fd, &caps);
	EXPECT_EQ(RDMA_DRIVER_SIW, caps.driver_id);
	EXPECT_EQ(0, caps.features & (IB_UVERBS_SHARE_F_RINGS | IB_UVERBS_SHARE_F_REG_MR));
	test_ok(pd_alloc(self->fd, &self->pd));
	export = EXPORT_OF(self->fd, self->pd);
	test_export(self->fd, &export);
	fd = dev_open(DEV);
	import = IMPORT_OF(export.grant);
	test_import(fd, &import);
	EXPECT_EQ(IB_UVERBS_SHARE_PD, import.info.kind);
	EXPECT_EQ(EBUSY, destroy(self->fd, UVERBS_OBJECT_PD, self->pd));
	test_err_kick(EINVAL, fd, import.handle, IB_UVERBS_SHARE_KICK_SEND);
	EXPECT_EQ(OWN_OBJECTS, count_own(fd));
	test_revoke(self->fd, export.handle);
	EXPECT_EQ(0, destroy(self->fd, UVERBS_OBJECT_PD, self->pd));
	close(export.grant);
	close(fd);
	EXPECT_EQ(self->notices, count_notices());
}

/* the library has no device of its own here, it looks at the descriptor only */
static bool library_says(int fd, int err, const char *words)
{
	struct ibv_context context = { .cmd_fd = fd };
	struct ibv_share_device_attr attr;

	return ibv_share_query_device(&context, &attr) == err &&
	       strstr(ibv_share_last_error(), words);
}

static void is_left_alone(struct __test_metadata *_metadata, FIXTURE_DATA(provider) *self,
			  const char *parameters, uint32_t more)
{
	struct ib_uverbs_share_caps caps;
	uint32_t answer = 0;

	test_ok(provider_load(parameters));
	ASSERT_TRUE(wait_for(device_is_there(&self->fd)));
	EXPECT_EQ(OWN_OBJECTS, count_own(self->fd));
	EXPECT_EQ(0, ask_object(self->fd, more, &answer));
	EXPECT_EQ(ANSWER, answer);
	test_ok(pd_alloc(self->fd, &self->pd));
	EXPECT_EQ(0, destroy(self->fd, UVERBS_OBJECT_PD, self->pd));

	EXPECT_EQ(EPROTONOSUPPORT, do_query(self->fd, &caps));
	EXPECT_TRUE(library_says(self->fd, EPROTONOSUPPORT, "same object ids"));
	EXPECT_EQ(self->refs, module_refs());
	EXPECT_EQ(self->notices + 1, count_notices());
}

TEST_F(provider, uses_the_id_of_shares)
{
	is_left_alone(_metadata, self, "more=10", 10);
}

TEST_F(provider, uses_the_id_of_imports)
{
	is_left_alone(_metadata, self, "more=11", 11);
}

/* its device goes below a share, an import and a grant; the grant keeps our module */
TEST_F(provider, goes_below_a_grant)
{
	struct import import, again;
	struct export_args export;
	int fd;

	test_ok(provider_load(""));
	ASSERT_TRUE(wait_for(device_is_there(&self->fd)));
	test_ok(pd_alloc(self->fd, &self->pd));
	export = EXPORT_OF(self->fd, self->pd);
	test_export(self->fd, &export);
	fd = dev_open(DEV);
	import = again = IMPORT_OF(export.grant);
	test_import(fd, &import);
	EXPECT_EQ(self->refs + 1 + GRANT_REFS, module_refs());

	test_ok(module_unload(MODULE));
	EXPECT_TRUE(is_hung_up(export.grant));
	EXPECT_TRUE(fdinfo_has(export.grant, "share-state:\tdead"));
	/* what destroys works to the end, it is how uverbs is; there is nothing left */
	test_err_import(EIO, fd, &again);
	test_err_kick(EIO, fd, import.handle, IB_UVERBS_SHARE_KICK_SEND);
	test_release(fd, import.handle);
	test_revoke(self->fd, export.handle);
	EXPECT_EQ(self->refs + GRANT_REFS, module_refs());
	EXPECT_EQ(EWOULDBLOCK, module_unload("ib_uverbs_share"));
	close(self->fd);
	close(fd);
	/* a grant of a dead share, nothing else is there */
	EXPECT_EQ(self->refs + GRANT_REFS, module_refs());
	call_driver = RDMA_DRIVER_RXE;
	fd = dev_open("rxe0");
	import = IMPORT_OF(export.grant);
	test_err_import(ENOLINK, fd, &import);
	close(fd);
	close(export.grant);
	EXPECT_EQ(self->refs, module_refs());
}

TEST_HARNESS_MAIN
