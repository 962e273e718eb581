// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What "rdma resource" and "ibv-share list" show of shared objects: each
 * object once, with the process that made it; each grant with its holder.
 */
#include <infiniband/verbs.h>

#include "kselftest_harness.h"
#include "share_observe.h"

#define DEV "rxe0"

/* numbers of objects of all processes, as "rdma resource show" has them */
struct counts {
	long pd, cq, qp, mr, srq, ctx;
};

static bool count_all(struct counts *n)
{
	char line[256];

	return read_resources(DEV, line, sizeof(line)) &&
	       sscanf(line, "%*d: %*[^:]: pd %ld cq %ld qp %ld cm_id %*d mr %ld ctx %ld srq %ld",
		      &n->pd, &n->cq, &n->qp, &n->mr, &n->ctx, &n->srq) == 6;
}

static bool is_same(const struct counts *a, const struct counts *b)
{
	return a->pd == b->pd && a->cq == b->cq && a->qp == b->qp && a->mr == b->mr &&
	       a->srq == b->srq;
}

FIXTURE(resources)
{
	struct endpoint ep;
	struct reg_mr mr;
	struct export_args pd, cq, qp, of_mr;
	struct counts before;
};

FIXTURE_SETUP(resources)
{
	test_ok(endpoint_open(&self->ep, DEV, IB_UVERBS_QPT_RC));
	/* a QP has a port from INIT on */
	test_ok(endpoint_connect(&self->ep, &self->ep));
	self->mr = (struct reg_mr){
		.pd = self->ep.pd,
		.fd = memfd(PAGE),
		.length = PAGE,
		.access = ACCESS_LOCAL,
	};
	test_reg_mr(self->ep.fd, &self->mr);
	self->pd = EXPORT_OF(self->ep.fd, self->ep.pd);
	self->cq = EXPORT_OF(self->ep.fd, self->ep.cq.handle);
	self->qp = EXPORT_OF(self->ep.fd, self->ep.qp.handle);
	self->of_mr = EXPORT_OF(self->ep.fd, self->mr.handle);
	self->of_mr.mem_fd = self->mr.fd;
	self->of_mr.access = ACCESS_LOCAL;
	ASSERT_TRUE(count_all(&self->before));
}

FIXTURE_TEARDOWN(resources)
{
	endpoint_close(&self->ep);
}

/* the line of an object ends with who made it */
static bool is_shown(const char *type, const char *object, pid_t pid, const char *comm)
{
	char command[64], line[512], maker[64];

	snprintf(command, sizeof(command), "rdma resource show %s", type);
	snprintf(maker, sizeof(maker), " pid %d comm %s", pid, comm);
	if (!tool_line(command, object, line, sizeof(line)))
		return false;
	if (strstr(line, maker))
		return true;
	fprintf(stderr, "# no \"%s\" in: %s\n", maker, line);
	return false;
}

static bool qp_is_shown(FIXTURE_DATA(resources) *self, pid_t pid)
{
	char object[64];

	snprintf(object, sizeof(object), "link " DEV "/1 lqpn %u ", self->ep.qp.num);
	return is_shown("qp", object, pid, "resources");
}

static bool mr_is_shown(uint64_t length, pid_t pid, const char *comm)
{
	char object[64];

	snprintf(object, sizeof(object), "mrlen %lu ", length);
	return is_shown("mr", object, pid, comm);
}

/* with its exporter, and no further object for shares, grants and imports */
TEST_F_TIMEOUT(resources, are_the_exporters, NO_LIMIT)
{
	struct export_args *all[] = { &self->pd, &self->cq, &self->qp, &self->of_mr };
	struct import import;
	struct counts after;
	unsigned int i;
	int fd;

	EXPECT_TRUE(qp_is_shown(self, getpid()));
	EXPECT_TRUE(mr_is_shown(PAGE, getpid(), "resources"));
	fd = dev_open(DEV);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		test_export(self->ep.fd, all[i]);
		import = IMPORT_OF(all[i]->grant);
		test_import(fd, &import);
	}
	ASSERT_TRUE(count_all(&after));
	EXPECT_TRUE(is_same(&self->before, &after));
	EXPECT_EQ(self->before.ctx + 1, after.ctx);
	EXPECT_TRUE(qp_is_shown(self, getpid()));
	EXPECT_TRUE(mr_is_shown(PAGE, getpid(), "resources"));
	close(fd);
}

/* "users" of a PD, which an export raises by one */
static long pd_users(FIXTURE_DATA(resources) *self)
{
	char line[512], word[64], *at;

	snprintf(word, sizeof(word), " pid %d comm resources", getpid());
	if (!tool_line("rdma resource show pd", word, line, sizeof(line)))
		return -1;
	at = strstr(line, " users ");
	return at ? strtol(at + 7, NULL, 10) : -1;
}

TEST_F_TIMEOUT(resources, users_count_exports, NO_LIMIT)
{
	long users = pd_users(self);

	ASSERT_LT(0, users);
	test_export(self->ep.fd, &self->pd);
	EXPECT_EQ(users + 1, pd_users(self));
	test_revoke(self->ep.fd, self->pd.handle);
	EXPECT_EQ(users, pd_users(self));
}

struct registrant {
	int pd_grant, mr_grant;
};

/* another name, as a program of its own has one */
static void set_name(const char *name)
{
	FILE *f = fopen("/proc/self/comm", "we");

	CHILD_CHECK(f && fputs(name, f) >= 0 && !fclose(f));
}

/* registers 2 bytes on the imported PD, and 3 on one of its own */
static void register_two(int sock, void *arg)
{
	struct registrant *r = arg;
	struct import pd = IMPORT_OF(r->pd_grant);
	struct reg_mr on_pd = { .fd = r->mr_grant, .length = 2 };
	struct reg_mr own = { .fd = r->mr_grant, .length = 3 };
	int fd;

	set_name("registrant");
	fd = dev_open(DEV);
	CHILD_CHECK(fd >= 0 && !do_import(fd, &pd) && !pd_alloc(fd, &own.pd));
	on_pd.pd = pd.handle;
	CHILD_CHECK(!do_import_reg_mr(fd, &on_pd));
	CHILD_CHECK(!do_reg_mr(fd, &own));
	CHILD_CHECK(!say(sock));
	CHILD_CHECK(!hear(sock));
}

TEST_F_TIMEOUT(resources, region_of_an_importer, NO_LIMIT)
{
	struct registrant registrant;
	struct child child;

	test_export(self->ep.fd, &self->pd);
	test_export(self->ep.fd, &self->of_mr);
	registrant = (struct registrant){ self->pd.grant, self->of_mr.grant };
	test_ok(child_start(&child, register_two, &registrant));
	test_ok(hear(child.sock));
	EXPECT_EQ(self->before.mr + 2, count_objects(DEV, "mr"));
	EXPECT_TRUE(mr_is_shown(2, child.pid, "registrant"));
	EXPECT_TRUE(mr_is_shown(3, child.pid, "registrant"));
	EXPECT_TRUE(mr_is_shown(PAGE, getpid(), "resources"));
	/* what hangs on the share goes with it */
	test_revoke(self->ep.fd, self->pd.handle);
	EXPECT_EQ(self->before.mr + 1, count_objects(DEV, "mr"));
	EXPECT_EQ(0, tool_count("rdma resource show mr", "mrlen 2 "));
	EXPECT_TRUE(mr_is_shown(3, child.pid, "registrant"));
	say(child.sock);
	EXPECT_EQ(0, child_end(&child));
	EXPECT_EQ(self->before.mr, count_objects(DEV, "mr"));
}

/* makes a QP, gives a grant of it with its ring away, and waits for the end */
static void export_qp(int sock, void *arg)
{
	struct ib_uverbs_share_segment seg;
	struct export_args export;
	struct endpoint ep;

	CHILD_CHECK(!endpoint_open(&ep, DEV, IB_UVERBS_QPT_RC));
	CHILD_CHECK(!endpoint_connect(&ep, &ep));
	export = EXPORT_OF(ep.fd, ep.qp.handle);
	seg = ring_segment(&ep.qp.send, IB_UVERBS_SHARE_RING_SEND);
	export.segs = &seg;
	export.nsegs = 1;
	CHILD_CHECK(!do_export(ep.fd, &export) && !send_fd(sock, export.grant));
	CHILD_CHECK(write(sock, &ep.qp.num, sizeof(ep.qp.num)) == sizeof(ep.qp.num));
	CHILD_CHECK(!hear(sock));
}

/* lines of "ibv-share list" of this process with that word */
static unsigned int listed(const char *word)
{
	char tool[300], command[400];

	if (!tool_path(tool, sizeof(tool), "ibv-share"))
		return 9999;
	snprintf(command, sizeof(command), "%s list | grep '^pid %d (resources) '", tool, getpid());
	return tool_count(command, word);
}

/*
 * An exporter exits and a grant is left: its objects stay, without a pid, since
 * there is no process any more; the tool says who holds them.
 */
TEST_F_TIMEOUT(resources, of_an_exporter_that_is_gone, NO_LIMIT)
{
	char object[64], line[512], word[64];
	struct child child;
	uint32_t qp_num;
	void *ring;
	int grant;

	test_ok(child_start(&child, export_qp, NULL));
	grant = recv_fd(child.sock);
	ASSERT_LE(0, grant);
	ASSERT_EQ((ssize_t)sizeof(qp_num), read(child.sock, &qp_num, sizeof(qp_num)));
	say(child.sock);
	ASSERT_EQ(0, child_end(&child));

	snprintf(object, sizeof(object), "link " DEV "/1 lqpn %u ", qp_num);
	ASSERT_TRUE(tool_line("rdma resource show qp", object, line, sizeof(line)));
	EXPECT_EQ(NULL, strstr(line, " pid "));
	snprintf(word, sizeof(word), " qpn %u", qp_num);
	EXPECT_EQ(1, listed(word));
	snprintf(word, sizeof(word), " fd %d share %lu device " DEV " kind qp ", grant,
		 inode_of(grant));
	EXPECT_EQ(1, listed(word));

	/* a mapping keeps them as well as a descriptor does */
	ring = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, grant, 0);
	ASSERT_NE(MAP_FAILED, ring);
	snprintf(word, sizeof(word), " share %lu ring send", inode_of(grant));
	close(grant);
	EXPECT_EQ(1, listed(word));
	EXPECT_EQ(0, listed(" fd "));
	EXPECT_TRUE(tool_line("rdma resource show qp", object, line, sizeof(line)));
	munmap(ring, PAGE);
	EXPECT_EQ(0, listed("share"));
	EXPECT_FALSE(tool_line("rdma resource show qp", object, line, sizeof(line)));
}

TEST_HARNESS_MAIN
