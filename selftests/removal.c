// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Removal of the device below shares. rxe waits for the last context to be
 * closed, and a grant, an import or a mapping is as good as an open context:
 * it must wait for them, and must not wait any longer.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define DEV "rxe1"
#define NETDEV "v1"

FIXTURE(removal)
{
	struct endpoint ep;
	struct ib_uverbs_share_segment seg;
	struct export_args export;
	struct import import;
	int fd;
	struct child del;
};

static void delete_link(int sock, void *arg)
{
	execlp("rdma", "rdma", "link", "del", DEV, NULL);
	_exit(127);
}

static bool is_deleted(FIXTURE_DATA(removal) *self)
{
	int status;

	return waitpid(self->del.pid, &status, WNOHANG) == self->del.pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/* whoever keeps the device keeps our module; rxe0 does so, too */
static bool module_is_held(void)
{
	return syscall(SYS_delete_module, "ib_uverbs_share", O_NONBLOCK) && errno == EWOULDBLOCK;
}

/* uverbs has taken the device away and waits for those who have it open */
static bool is_waiting(void)
{
	int fd = dev_open(DEV);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static bool make_link(void)
{
	int tries = 200;

	while (system("rdma link add " DEV " type rxe netdev " NETDEV " 2>/dev/null") && --tries)
		usleep(50000);
	return tries && wait_for(!is_waiting());
}

FIXTURE_SETUP(removal)
{
	if (access("/sys/class/net/" NETDEV, F_OK))
		SKIP(return, DEV " is not on " NETDEV ", so that it cannot be made anew");
	test_ok(endpoint_open(&self->ep, DEV, IB_UVERBS_QPT_RC));
	self->seg = ring_segment(&self->ep.cq.ring, IB_UVERBS_SHARE_RING_CQ);
	self->export = EXPORT_OF(self->ep.fd, self->ep.cq.handle);
	self->export.segs = &self->seg;
	self->export.nsegs = 1;
	test_export(self->ep.fd, &self->export);
	self->fd = dev_open(DEV);
	ASSERT_LE(0, self->fd);
	self->import = IMPORT_OF(self->export.grant);
	test_import(self->fd, &self->import);
	/* the child must not hold what is under test */
	test_ok(child_start(&self->del, delete_link, NULL));
	ASSERT_TRUE(wait_for(is_waiting()));
}

FIXTURE_TEARDOWN(removal)
{
	EXPECT_TRUE(make_link());
}

/* all works as long as somebody is there */
TEST_F(removal, waits_for_the_importer)
{
	test_arm(self->fd, self->import.handle, 0);
	close(self->export.grant);
	endpoint_close(&self->ep);
	EXPECT_TRUE(wait_for(do_arm(self->fd, self->import.handle, 0) == ENOLINK));
	EXPECT_FALSE(is_deleted(self));
	EXPECT_TRUE(module_is_held());
	close(self->fd);
	EXPECT_TRUE(wait_for(is_deleted(self)));
}

TEST_F(removal, waits_for_the_grant)
{
	endpoint_close(&self->ep);
	test_arm(self->fd, self->import.handle, 0);
	close(self->fd);
	EXPECT_FALSE(is_deleted(self));
	EXPECT_TRUE(module_is_held());
	EXPECT_TRUE(fdinfo_has(self->export.grant, "share-state:\tlive"));
	close(self->export.grant);
	EXPECT_TRUE(wait_for(is_deleted(self)));
}

TEST_F(removal, waits_for_the_mapping)
{
	off_t offset = (off_t)IB_UVERBS_SHARE_RING_CQ << IB_UVERBS_SHARE_RING_SHIFT;
	char *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->export.grant, offset);

	ASSERT_NE(MAP_FAILED, map);
	close(self->export.grant);
	endpoint_close(&self->ep);
	close(self->fd);
	EXPECT_FALSE(is_deleted(self));
	EXPECT_TRUE(module_is_held());
	EXPECT_NE(0, ((struct rxe_queue_buf *)map)->index_mask);
	munmap(map, PAGE);
	EXPECT_TRUE(wait_for(is_deleted(self)));
}

/* also a dead share: its grant holds the exporter's file all the same */
TEST_F(removal, waits_for_the_grant_of_a_dead_share)
{
	int other = dev_open("rxe0");
	struct import import;

	test_revoke(self->ep.fd, self->export.handle);
	endpoint_close(&self->ep);
	close(self->fd);
	EXPECT_FALSE(is_deleted(self));
	EXPECT_TRUE(module_is_held());
	EXPECT_TRUE(is_hung_up(self->export.grant));
	import = IMPORT_OF(self->export.grant);
	test_err_import(ENOLINK, other, &import);
	close(self->export.grant);
	EXPECT_TRUE(wait_for(is_deleted(self)));
	close(other);
}

TEST_HARNESS_MAIN
