// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What a process can make of a grant of memory beside registering it: while
 * it does so the file is mapped, and another thread of it that looks for the
 * mapping finds it. No more may come of it than what was granted.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "share_test.h"

/* enough for the mapping to be met again and again */
#define ROUNDS 3000
#define HITS 20
#define IOVA 0x700000000ULL
#define FIRST 'f'
#define SECRET 's'

/*
 * The middle third of a file is granted; the others are marked SECRET. @hits:
 * how often @attack had the mapping; @gained: how often it got out of it what
 * it must not.
 */
FIXTURE(window)
{
	int fd, mem;
	uint64_t third;
	struct reg_mr mr;
	struct export_args export;
	bool (*attack)(FIXTURE_DATA(window) *self, char *at, uint64_t length);
	atomic_bool stop;
	atomic_int hits, gained;
};

FIXTURE_VARIANT(window)
{
	unsigned int flags;
	uint64_t third;
};

FIXTURE_VARIANT_ADD(window, shmem){
	.third = 256 * PAGE,
};

FIXTURE_VARIANT_ADD(window, huge){
	.flags = MFD_HUGETLB,
	.third = HUGE_PAGE,
};

static bool fill(int fd, uint64_t third)
{
	char *bytes;

	if (fd < 0 || ftruncate(fd, 3 * third))
		return false;
	bytes = mmap(NULL, 3 * third, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	memset(bytes, SECRET, 3 * third);
	memset(bytes + third, FIRST, third);
	return !munmap(bytes, 3 * third);
}

FIXTURE_SETUP(window)
{
	struct reg_mr whole;

	self->third = variant->third;
	self->mem = memfd_create("window", MFD_CLOEXEC | variant->flags);
	ASSERT_TRUE(fill(self->mem, self->third));
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
	self->mr = (struct reg_mr){
		.fd = self->mem,
		.offset = self->third,
		.length = self->third,
		.iova = IOVA,
		.access = ACCESS_ALL,
	};
	test_ok(pd_alloc(self->fd, &self->mr.pd));
	whole = self->mr;
	test_reg_mr(self->fd, &whole);
	self->export = EXPORT_OF(self->fd, whole.handle);
	self->export.mem_fd = self->mem;
	self->export.mem_offset = self->third;
	self->export.access = ACCESS_ALL;
	self->mr.offset = 0;
}

FIXTURE_TEARDOWN(window)
{
	EXPECT_EQ(0, close(self->fd));
}

/* without a signal if there is nothing */
static char peek(const char *at)
{
	struct iovec to, from = { (void *)(uintptr_t)at, 1 };
	char c = 0;

	to = (struct iovec){ &c, 1 };
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 ? c : 0;
}

static bool poke(char *at)
{
	struct iovec from = { "w", 1 }, to = { at, 1 };

	return process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 1;
}

static void *meddle(void *arg)
{
	FIXTURE_DATA(window) *self = arg;
	uint64_t length;
	char *at;

	while (!atomic_load(&self->stop)) {
		at = find_mapping("memfd:window", &length);
		if (!at || length != self->third)
			continue;
		self->hits++;
		if (self->attack(self, at, length))
			self->gained++;
	}
	return NULL;
}

/* Return: 0 or the first errno that is none of a mapping which was taken away */
static int register_under_attack(FIXTURE_DATA(window) *self)
{
	int i, err = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, meddle, self))
		return errno;
	for (i = 0; i < ROUNDS && self->hits < HITS && !err; i++) {
		err = do_reg_mr(self->fd, &self->mr);
		if (!err)
			err = destroy(self->fd, UVERBS_OBJECT_MR, self->mr.handle);
		else if (err == EFAULT)
			err = 0;
	}
	atomic_store(&self->stop, true);
	pthread_join(thread, NULL);
	return err;
}

/* turned to another part of the file */
static bool turn(FIXTURE_DATA(window) *self, char *at, uint64_t length)
{
	return !syscall(SYS_remap_file_pages, at, length, 0, 0, 0) && peek(at) == SECRET;
}

/* grown beyond its end, where it is or elsewhere */
static bool grow(FIXTURE_DATA(window) *self, char *at, uint64_t length)
{
	char *grown = mremap(at, length, 2 * length, MREMAP_MAYMOVE);
	bool gained;

	if (grown == MAP_FAILED)
		return false;
	gained = peek(grown + length) == SECRET;
	munmap(grown, 2 * length);
	return gained;
}

/* doubled for later */
static bool twice(FIXTURE_DATA(window) *self, char *at, uint64_t length)
{
	char *second = mremap(at, 0, length, MREMAP_MAYMOVE);

	if (second == MAP_FAILED)
		return false;
	munmap(second, length);
	return true;
}

/* taken along by a child; the rest of it comes and goes in the parent */
static bool inherit(FIXTURE_DATA(window) *self, char *at, uint64_t length)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(find_mapping("memfd:window", &length) ? 1 : 0);
	return waitpid(pid, &status, 0) == pid && status;
}

static bool become_writable(FIXTURE_DATA(window) *self, char *at, uint64_t length)
{
	return poke(at) || (!mprotect(at, length, PROT_READ | PROT_WRITE) && poke(at));
}

static int attack_with(FIXTURE_DATA(window) *self,
		       bool (*attack)(FIXTURE_DATA(window) *self, char *at, uint64_t length))
{
	int err = do_export(self->fd, &self->export);

	self->attack = attack;
	self->mr.fd = self->export.grant;
	return err ?: register_under_attack(self);
}

TEST_F(window, turned)
{
	EXPECT_EQ(0, attack_with(self, turn));
	EXPECT_LE(HITS, self->hits);
	EXPECT_EQ(0, self->gained);
}

TEST_F(window, grown)
{
	EXPECT_EQ(0, attack_with(self, grow));
	EXPECT_LE(HITS, self->hits);
	EXPECT_EQ(0, self->gained);
}

TEST_F(window, twice)
{
	EXPECT_EQ(0, attack_with(self, twice));
	EXPECT_LE(HITS, self->hits);
	EXPECT_EQ(0, self->gained);
}

TEST_F(window, inherited)
{
	EXPECT_EQ(0, attack_with(self, inherit));
	EXPECT_LE(HITS, self->hits);
	EXPECT_EQ(0, self->gained);
}

/* Linux 6.1 could pin it through a mapping that writes and in no other way */
TEST_F(window, read_only)
{
	bool possible = is_kernel_at_least(6, 2);

	self->export.access = self->mr.access = IB_UVERBS_ACCESS_REMOTE_READ;
	EXPECT_EQ(possible ? 0 : EOPNOTSUPP, attack_with(self, become_writable));
	EXPECT_LE(possible ? HITS : 0, self->hits);
	EXPECT_EQ(0, self->gained);
}

TEST_HARNESS_MAIN
