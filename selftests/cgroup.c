// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What the module makes is charged to the rdma cgroup of who made it.
 */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define ROOT "/tmp/share-cgroup"
#define GROUP ROOT "/test"
#define LIMIT 8

static bool put_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool has_controller(void)
{
	char line[256] = "";
	FILE *f = fopen(ROOT "/cgroup.controllers", "re");

	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	return strstr(line, "rdma");
}

static bool has_line(const char *path, const char *want)
{
	char line[256];
	bool found = false;
	FILE *f = fopen(path, "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, want, strlen(want));
	if (f)
		fclose(f);
	return found;
}

/* the PD, the share, the import; then regions up to the limit */
static void limited(int sock, void *arg)
{
	struct reg_mr mr = { .length = PAGE, .access = ACCESS_LOCAL }, made[LIMIT], on_own;
	struct export_args of_pd;
	struct import pd;
	int fd, grant, n, err = 0;

	CHILD_CHECK(put_line(GROUP "/cgroup.procs", "0"));
	CHILD_CHECK((fd = dev_open("rxe0")) >= 0);
	CHILD_CHECK(!pd_alloc(fd, &mr.pd));
	on_own = mr;
	on_own.fd = mr.fd = memfd(PAGE);
	of_pd = EXPORT_OF(fd, mr.pd);
	CHILD_CHECK(!do_export(fd, &of_pd));
	pd = IMPORT_OF(of_pd.grant);
	CHILD_CHECK(!do_import(fd, &pd));
	mr.pd = pd.handle;
	for (n = 0; n < LIMIT && !err; n++) {
		made[n] = mr;
		err = do_import_reg_mr(fd, &made[n]);
	}
	CHILD_CHECK(err == EAGAIN);
	CHILD_CHECK(n == LIMIT - 3 + 1);
	/* all that makes an object */
	CHILD_CHECK(do_import(fd, &pd) == EAGAIN);
	CHILD_CHECK(do_export(fd, &of_pd) == EAGAIN);
	CHILD_CHECK(do_reg_mr(fd, &on_own) == EAGAIN);
	/* a grant is a descriptor, and no object */
	CHILD_CHECK(!do_derive(fd, of_pd.grant, ABSENT, &grant));
	/* what goes makes room */
	CHILD_CHECK(!do_release(fd, made[0].handle));
	CHILD_CHECK(!do_reg_mr(fd, &on_own));
	CHILD_CHECK(has_line(GROUP "/rdma.current", "rxe0 hca_handle=1 hca_object=8"));
}

/*
 * Without the limits set to max rdmacg of 6.1 and 6.12 keeps a pool in the list of
 * the group that is freed, and the removal of the device stumbles over it.
 */
static bool remove_group(void)
{
	return put_line(GROUP "/rdma.max", "rxe0 hca_handle=max hca_object=max") && !rmdir(GROUP);
}

TEST(limit)
{
	struct child child;

	mkdir(ROOT, 0755);
	ASSERT_EQ(0, mount("none", ROOT, "cgroup2", 0, NULL));
	if (!has_controller()) {
		umount(ROOT);
		SKIP(return, "this kernel has no rdma controller in its cgroup2 hierarchy");
	}
	EXPECT_TRUE(put_line(ROOT "/cgroup.subtree_control", "+rdma"));
	EXPECT_EQ(0, mkdir(GROUP, 0755));
	EXPECT_TRUE(put_line(GROUP "/rdma.max", "rxe0 hca_object=8"));
	EXPECT_EQ(0, child_start(&child, limited, NULL));
	EXPECT_EQ(0, child_end(&child));
	EXPECT_TRUE(wait_for(has_line(GROUP "/rdma.current", "rxe0 hca_handle=0 hca_object=0")));
	EXPECT_TRUE(remove_group());
	umount(ROOT);
}

TEST_HARNESS_MAIN
