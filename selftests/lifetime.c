// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Exporter and importer end in every order, and the grant reaches the importer
 * in every way that there is.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "share_test.h"

/* what an importer is asked to do; the answer is an errno */
enum ask {
	IMPORT = 'i',
	QUERY = 'q',
	KICK = 'k',
	RELEASE = 'r',
	MAP = 'm',
	TOUCH = 't',
	UNMAP = 'u',
	CLOSE_GRANT = 'g',
	CLOSE_DEVICE = 'd',
};

struct importer {
	int fd;
	int grant;
	struct import import;
	char *map;
	uint64_t length;
};

static int importer_map(struct importer *i)
{
	i->length = i->import.info.ring_bytes[IB_UVERBS_SHARE_RING_SEND];
	i->map = mmap(NULL, i->length, PROT_READ | PROT_WRITE, MAP_SHARED, i->grant, 0);
	return i->map == MAP_FAILED ? errno : 0;
}

static int importer_do(struct importer *i, enum ask ask)
{
	struct ib_uverbs_qp_attr attr;

	switch (ask) {
	case IMPORT:
		i->fd = dev_open("rxe0");
		i->import = IMPORT_OF(i->grant);
		return i->fd < 0 ? -i->fd : do_import(i->fd, &i->import);
	case QUERY:
		return do_query_qp(i->fd, i->import.handle, &attr);
	case KICK:
		return do_kick(i->fd, i->import.handle, IB_UVERBS_SHARE_KICK_SEND);
	case RELEASE:
		return do_release(i->fd, i->import.handle);
	case MAP:
		return importer_map(i);
	case TOUCH:
		/* not published, so the device does not look at it */
		memset(i->map + i->length - 8, 0x5a, 8);
		return 0;
	case UNMAP:
		return munmap(i->map, i->length) ? errno : 0;
	case CLOSE_GRANT:
		return close(i->grant) ? errno : 0;
	case CLOSE_DEVICE:
		return close(i->fd) ? errno : 0;
	}
	return ENOSYS;
}

/* the importer in a process of its own */
static void serve(int sock, int grant)
{
	struct importer importer = { .grant = grant };
	int err;
	char c;

	while (read(sock, &c, 1) == 1) {
		err = importer_do(&importer, c);
		if (write(sock, &err, sizeof(err)) != sizeof(err))
			break;
	}
	_exit(0);
}

enum way {
	SAME_PROCESS,
	FORK,
	EXEC,
	SCM_RIGHTS_WAY,
};

FIXTURE(lifetime)
{
	struct endpoint ep;
	struct export_args export;
	struct ib_uverbs_share_segment segs[2];
	enum way way;
	struct importer local;
	struct child child;
	long qps;
};

FIXTURE_VARIANT(lifetime)
{
	enum way way;
};

FIXTURE_VARIANT_ADD(lifetime, same_process){
	.way = SAME_PROCESS,
};

FIXTURE_VARIANT_ADD(lifetime, fork){
	.way = FORK,
};

FIXTURE_VARIANT_ADD(lifetime, exec){
	.way = EXEC,
};

FIXTURE_VARIANT_ADD(lifetime, scm_rights){
	.way = SCM_RIGHTS_WAY,
};

/* a child has copies of all that the exporter has; none of them may be left open */
static void importer_main(int sock, void *arg)
{
	FIXTURE_DATA(lifetime) *self = arg;
	char grant[16], fd[16];

	endpoint_close(&self->ep);
	if (self->way == SCM_RIGHTS_WAY) {
		close(self->export.grant);
		serve(sock, recv_fd(sock));
	}
	if (self->way == FORK)
		serve(sock, self->export.grant);
	fcntl(sock, F_SETFD, 0);
	fcntl(self->export.grant, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "%d", sock);
	snprintf(grant, sizeof(grant), "%d", self->export.grant);
	execl("/proc/self/exe", "lifetime", "--importer", fd, grant, NULL);
	_exit(127);
}

static int export_qp(struct endpoint *ep, struct ib_uverbs_share_segment *segs,
		     struct export_args *export)
{
	segs[0] = ring_segment(&ep->qp.send, IB_UVERBS_SHARE_RING_SEND);
	segs[1] = ring_segment(&ep->qp.recv, IB_UVERBS_SHARE_RING_RECV);
	*export = EXPORT_OF(ep->fd, ep->qp.handle);
	export->segs = segs;
	export->nsegs = 2;
	return do_export(ep->fd, export);
}

/* an exporter with a connected QP, an importer with the grant, which the exporter closes */
static int pair_start(FIXTURE_DATA(lifetime) *self)
{
	int err;

	err = endpoint_open(&self->ep, "rxe0", IB_UVERBS_QPT_RC);
	if (!err)
		err = endpoint_connect(&self->ep, &self->ep);
	if (!err)
		err = export_qp(&self->ep, self->segs, &self->export);
	if (err)
		return err;
	if (self->way == SAME_PROCESS) {
		self->local = (struct importer){ .grant = self->export.grant };
		return 0;
	}
	err = child_start(&self->child, importer_main, self);
	if (!err && self->way == SCM_RIGHTS_WAY)
		err = send_fd(self->child.sock, self->export.grant);
	close(self->export.grant);
	return err;
}

static int ask(FIXTURE_DATA(lifetime) *self, enum ask what)
{
	char c = what;
	int err;

	if (self->way == SAME_PROCESS)
		return importer_do(&self->local, what);
	if (write(self->child.sock, &c, 1) != 1 ||
	    read(self->child.sock, &err, sizeof(err)) != sizeof(err))
		return EPIPE;
	return err;
}

static int pair_end(FIXTURE_DATA(lifetime) *self)
{
	return self->way == SAME_PROCESS ? 0 : child_end(&self->child);
}

/* rxe destroys in its own time */
static bool qps_are(long want)
{
	int tries = 100;

	while (count_objects("rxe0", "qp") != want && --tries)
		usleep(10000);
	return tries;
}

FIXTURE_SETUP(lifetime)
{
	self->qps = count_objects("rxe0", "qp");
	ASSERT_LE(0, self->qps);
	self->way = variant->way;
	test_ok(pair_start(self));
	test_ok(ask(self, IMPORT));
}

FIXTURE_TEARDOWN(lifetime)
{
}

TEST_F(lifetime, use)
{
	EXPECT_EQ(0, ask(self, QUERY));
	EXPECT_EQ(0, ask(self, KICK));
	EXPECT_EQ(0, ask(self, MAP));
	EXPECT_EQ(0, ask(self, TOUCH));
	EXPECT_EQ(0, self->ep.qp.send.buf->producer_index);
	EXPECT_EQ(0x5a, ((char *)self->ep.qp.send.buf)[self->segs[0].length - 1]);
	EXPECT_EQ(0, ask(self, RELEASE));
	EXPECT_EQ(ENOENT, ask(self, QUERY));
	EXPECT_EQ(0, pair_end(self));
}

TEST_F(lifetime, grant_outlives_exporter)
{
	endpoint_close(&self->ep);
	EXPECT_EQ(0, ask(self, QUERY));
	EXPECT_EQ(0, ask(self, KICK));
	/* also for what is imported only now */
	EXPECT_EQ(0, ask(self, IMPORT));
	EXPECT_EQ(0, ask(self, QUERY));
	EXPECT_EQ(0, ask(self, CLOSE_GRANT));
	EXPECT_TRUE(wait_for(ask(self, QUERY) == ENOLINK));
	EXPECT_EQ(ENOLINK, ask(self, KICK));
	EXPECT_EQ(0, ask(self, RELEASE));
	EXPECT_TRUE(qps_are(self->qps));
}

TEST_F(lifetime, import_does_not_outlive_exporter)
{
	EXPECT_EQ(0, ask(self, CLOSE_GRANT));
	EXPECT_EQ(0, ask(self, QUERY));
	endpoint_close(&self->ep);
	EXPECT_TRUE(wait_for(ask(self, QUERY) == ENOLINK));
	EXPECT_TRUE(qps_are(self->qps));
	EXPECT_EQ(ENOLINK, ask(self, KICK));
	EXPECT_EQ(0, ask(self, RELEASE));
	EXPECT_EQ(0, ask(self, CLOSE_DEVICE));
}

/* a mapping holds the grant that it was made through */
TEST_F(lifetime, mapping_outlives_exporter)
{
	EXPECT_EQ(0, ask(self, MAP));
	EXPECT_EQ(0, ask(self, CLOSE_GRANT));
	endpoint_close(&self->ep);
	EXPECT_EQ(0, ask(self, TOUCH));
	EXPECT_EQ(0, ask(self, QUERY));
	EXPECT_EQ(0, ask(self, UNMAP));
	EXPECT_TRUE(wait_for(ask(self, QUERY) == ENOLINK));
	EXPECT_TRUE(qps_are(self->qps));
}

TEST_F(lifetime, importer_exits_first)
{
	if (self->way == SAME_PROCESS)
		SKIP(return, "the importer is no process of its own");
	EXPECT_EQ(0, ask(self, MAP));
	EXPECT_EQ(EBUSY, destroy(self->ep.fd, UVERBS_OBJECT_QP, self->ep.qp.handle));
	EXPECT_EQ(0, pair_end(self));
	test_revoke(self->ep.fd, self->export.handle);
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_QP, self->ep.qp.handle));
}

TEST_F(lifetime, importer_is_killed)
{
	if (self->way == SAME_PROCESS)
		SKIP(return, "the importer is no process of its own");
	EXPECT_EQ(0, ask(self, MAP));
	child_kill(&self->child);
	test_revoke(self->ep.fd, self->export.handle);
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_QP, self->ep.qp.handle));
}

/* the @n-th permutation of the four things that can be closed */
static void close_in_order(FIXTURE_DATA(lifetime) *self, unsigned int n)
{
	char left[] = { 'e', CLOSE_GRANT, CLOSE_DEVICE, UNMAP };
	unsigned int count, pick;

	for (count = 4; count; n /= count, count--) {
		pick = n % count;
		if (left[pick] == 'e')
			endpoint_close(&self->ep);
		else
			ask(self, left[pick]);
		left[pick] = left[count - 1];
	}
}

TEST_F_TIMEOUT(lifetime, close_orders, NO_LIMIT)
{
	unsigned int n;

	for (n = 0; n < 24; n++) {
		if (n) {
			test_ok(pair_start(self));
			test_ok(ask(self, IMPORT));
		}
		test_ok(ask(self, MAP));
		test_ok(ask(self, TOUCH));
		close_in_order(self, n);
		EXPECT_EQ(0, pair_end(self));
	}
	EXPECT_TRUE(qps_are(self->qps));
}

#define main run_tests
TEST_HARNESS_MAIN
#undef main

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--importer"))
		serve(atoi(argv[2]), atoi(argv[3]));
	return run_tests(argc, argv);
}
