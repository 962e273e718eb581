// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * An importer's memory whose pages never come: a userfaultfd that nobody
 * serves. The importer waits, and nobody else does: not the exporter that
 * revokes, closes or exits, not the removal of the link once the importer is
 * gone.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "share_test.h"

#define BYTES (8 * PAGE)
#define DEV "rxe1"
#define NETDEV "v1"

enum trap {
	NEVER_THERE, /* the pages are missing from the beginning */
	TAKEN_AWAY, /* they come, and go when the importer itself has seen them */
	ANSWER, /* of an import: the page for the answer is missing */
	ANSWER_SLOT,
};

FIXTURE(userfault)
{
	struct endpoint ep;
	struct export_args of_pd, of_context;
	struct child importer;
	enum trap trap;
};

FIXTURE_VARIANT(userfault)
{
	enum trap trap;
};

FIXTURE_VARIANT_ADD(userfault, never_there){
	.trap = NEVER_THERE,
};

FIXTURE_VARIANT_ADD(userfault, taken_away){
	.trap = TAKEN_AWAY,
};

FIXTURE_VARIANT_ADD(userfault, answer){
	.trap = ANSWER,
};

FIXTURE_VARIANT_ADD(userfault, answer_slot){
	.trap = ANSWER_SLOT,
};

/* in the importer; @tid: its first thread */
struct trapper {
	enum trap trap;
	int uffd, sock;
	pid_t tid;
	char *mem;
};

static int uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_THREAD_ID };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	return fd < 0 || ioctl(fd, UFFDIO_API, &api) ? -1 : fd;
}

/* memory whose missing pages are a matter of the descriptor */
static char *trap_map(int uffd)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *mem = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return NULL;
	reg.range.start = (uintptr_t)mem;
	reg.range.len = BYTES;
	return ioctl(uffd, UFFDIO_REGISTER, &reg) ? NULL : mem;
}

/* says so when somebody waits for a page that never comes */
static void *serve(void *arg)
{
	struct trapper *t = arg;
	struct uffdio_zeropage zero = { .range.len = PAGE };
	struct uffd_msg msg;

	while (read(t->uffd, &msg, sizeof(msg)) == sizeof(msg)) {
		if (t->trap != TAKEN_AWAY || msg.arg.pagefault.feat.ptid != (__u32)t->tid)
			break;
		zero.range.start = msg.arg.pagefault.address & ~(PAGE - 1);
		ioctl(t->uffd, UFFDIO_ZEROPAGE, &zero);
	}
	say(t->sock);
	return NULL;
}

static void *take_away(void *arg)
{
	struct trapper *t = arg;

	while (!madvise(t->mem + BYTES - PAGE, PAGE, MADV_DONTNEED))
		;
	return NULL;
}

/* until the share is dead; or for ever */
static int register_again_and_again(int fd, struct trapper *t, uint32_t pd)
{
	/* not if another thread faults, as the kernel's own that pins does there */
	bool waits = is_kernel_at_least(6, 2);
	struct reg_mr mr = {
		.fd = -1,
		.pd = pd,
		.addr = (uintptr_t)t->mem,
		.length = BYTES,
		.access = ACCESS_LOCAL,
	};
	int err;

	do {
		err = do_import_reg_mr(fd, &mr);
		if (!err)
			CHILD_CHECK(!do_release(fd, mr.handle));
		if (err == EFAULT && !waits)
			say(t->sock);
	} while (!err || (err == EFAULT && !waits));
	return err;
}

static int be_trapped(FIXTURE_DATA(userfault) *self, struct trapper *t)
{
	struct import pd = IMPORT_OF(self->of_pd.grant);
	struct import context = IMPORT_OF(self->of_context.grant);
	struct call call;
	int fd = dev_open(DEV);

	CHILD_CHECK(fd >= 0);
	if (t->trap == ANSWER) {
		call_import(&call, &pd);
		find_attr(&call, IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO)->data = (uintptr_t)t->mem;
		return call_run(fd, &call);
	}
	CHILD_CHECK(!do_import(fd, &context));
	CHILD_CHECK(!do_import(fd, &pd));
	/* no grant keeps the exporter's file */
	close(self->of_pd.grant);
	close(self->of_context.grant);
	if (t->trap != ANSWER_SLOT)
		return register_again_and_again(fd, t, pd.handle);
	call_query_slot(&call, context.handle, 0, (void *)t->mem);
	return call_run(fd, &call);
}

static void importer(int sock, void *arg)
{
	FIXTURE_DATA(userfault) *self = arg;
	struct trapper t = { .trap = self->trap, .sock = sock, .tid = gettid() };
	pthread_t thread;

	endpoint_close(&self->ep);
	t.uffd = uffd_open();
	CHILD_CHECK(t.uffd >= 0);
	t.mem = trap_map(t.uffd);
	CHILD_CHECK(t.mem);
	CHILD_CHECK(!pthread_create(&thread, NULL, serve, &t));
	if (t.trap == TAKEN_AWAY)
		CHILD_CHECK(!pthread_create(&thread, NULL, take_away, &t));
	_exit(be_trapped(self, &t));
}

FIXTURE_SETUP(userfault)
{
	struct import own;
	int fd = uffd_open();

	if (fd < 0)
		SKIP(return, "this kernel has no userfaultfd");
	close(fd);
	self->trap = variant->trap;
	test_ok(endpoint_open(&self->ep, DEV, IB_UVERBS_QPT_RC));
	self->of_pd = EXPORT_OF(self->ep.fd, self->ep.pd);
	test_export(self->ep.fd, &self->of_pd);
	self->of_context = EXPORT_OF(self->ep.fd, ABSENT);
	test_export(self->ep.fd, &self->of_context);
	own = IMPORT_OF(self->of_context.grant);
	test_import(self->ep.fd, &own);
	test_ok(child_start(&self->importer, importer, self));
	test_ok(hear(self->importer.sock));
	close(self->of_pd.grant);
	close(self->of_context.grant);
}

FIXTURE_TEARDOWN(userfault)
{
	child_kill(&self->importer);
	EXPECT_TRUE(wait_for(!count_objects(DEV, "ctx")));
	EXPECT_EQ(0, count_objects(DEV, "mr"));
}

/* nothing of the exporter is left, unless the importer's call has the grant open */
static bool is_exporter_gone(FIXTURE_DATA(userfault) *self)
{
	long n = count_objects(DEV, "ctx");

	return n >= 0 && n <= (self->trap == ANSWER ? 2 : 1);
}

static bool has_ended(pid_t pid, int status)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid &&
	       info.si_code == CLD_EXITED && info.si_status == status;
}

TEST_F(userfault, revoke)
{
	test_revoke(self->ep.fd, self->of_pd.handle);
	test_revoke(self->ep.fd, self->of_context.handle);
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_QP, self->ep.qp.handle));
	EXPECT_EQ(0, destroy(self->ep.fd, UVERBS_OBJECT_PD, self->ep.pd));
	endpoint_close(&self->ep);
	EXPECT_TRUE(wait_for(is_exporter_gone(self)));
	/* who waits under the lock of the share is told */
	if (self->trap == TAKEN_AWAY)
		EXPECT_TRUE(wait_for(has_ended(self->importer.pid, ENOLINK)));
}

static void wait_to_be_killed(int sock, void *arg)
{
	say(sock);
	pause();
}

/* the exporter is killed in another process, the last one that has its file */
TEST_F(userfault, exporter_is_killed)
{
	struct child exporter;
	int status;

	test_ok(child_start(&exporter, wait_to_be_killed, NULL));
	test_ok(hear(exporter.sock));
	endpoint_close(&self->ep);
	kill(exporter.pid, SIGKILL);
	EXPECT_TRUE(wait_for(waitpid(exporter.pid, &status, WNOHANG) == exporter.pid));
	EXPECT_TRUE(wait_for(is_exporter_gone(self)));
}

static void delete_link(int sock, void *arg)
{
	execlp("rdma", "rdma", "link", "del", DEV, NULL);
	_exit(127);
}

static bool is_open_to_anybody(void)
{
	int fd = dev_open(DEV);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool make_link(void)
{
	int tries = 200;

	while (system("rdma link add " DEV " type rxe netdev " NETDEV " 2>/dev/null") && --tries)
		usleep(50000);
	return tries && wait_for(is_open_to_anybody());
}

/* the link goes as soon as the contexts are closed, one of them by a kill */
TEST_F(userfault, link_delete)
{
	struct child del;
	int status;

	if (access("/sys/class/net/" NETDEV, F_OK))
		SKIP(return, DEV " is not on " NETDEV ", so that it cannot be made anew");
	test_ok(child_start(&del, delete_link, NULL));
	EXPECT_TRUE(wait_for(!is_open_to_anybody()));
	endpoint_close(&self->ep);
	kill(self->importer.pid, SIGKILL);
	EXPECT_TRUE(wait_for(waitpid(del.pid, &status, WNOHANG) == del.pid));
	EXPECT_EQ(0, status);
	ASSERT_TRUE(make_link());
}

TEST_HARNESS_MAIN
