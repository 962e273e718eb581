// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Files that change while they are registered and afterwards, and threads that
 * meddle with the mappings that a registration goes through.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "share_test.h"

/* at least, and at most until the other thread has been there */
#define ROUNDS 40
#define MAX_ROUNDS 3000
#define HITS 5
#define IOVA 0x700000000ULL

FIXTURE(memory)
{
	int fd, mem;
	uint32_t pd;
	uint64_t length;
	struct reg_mr mr;
	atomic_bool stop;
	atomic_int hits;
	char *own;
	long pinned;
};

FIXTURE_VARIANT(memory)
{
	unsigned int flags;
	uint64_t length;
};

FIXTURE_VARIANT_ADD(memory, shmem){
	.length = 256 * PAGE,
};

FIXTURE_VARIANT_ADD(memory, huge){
	.flags = MFD_HUGETLB,
	.length = 2 * HUGE_PAGE,
};

FIXTURE_SETUP(memory)
{
	self->fd = dev_open("rxe0");
	ASSERT_LE(0, self->fd);
	test_ok(pd_alloc(self->fd, &self->pd));
	self->length = variant->length;
	self->mem = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING | variant->flags);
	ASSERT_EQ(0, ftruncate(self->mem, self->length));
	self->mr = (struct reg_mr){
		.pd = self->pd,
		.fd = self->mem,
		.length = self->length,
		.iova = IOVA,
		.access = ACCESS_ALL,
	};
	self->pinned = pinned_kb();
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_EQ(self->pinned, pinned_kb());
	EXPECT_EQ(0, count_handles(self->fd, UVERBS_OBJECT_MR));
	EXPECT_EQ(0, close(self->fd));
}

static int dereg(FIXTURE_DATA(memory) *self)
{
	return destroy(self->fd, UVERBS_OBJECT_MR, self->mr.handle);
}

static int seal(FIXTURE_DATA(memory) *self, int seals)
{
	return fcntl(self->mem, F_ADD_SEALS, seals) ? errno : 0;
}

TEST_F(memory, seal_while_registered)
{
	test_reg_mr(self->fd, &self->mr);
	EXPECT_EQ(EBUSY, seal(self, F_SEAL_WRITE));
	EXPECT_EQ(0, dereg(self));
	EXPECT_EQ(0, seal(self, F_SEAL_WRITE));
	test_err_reg_mr(EPERM, self->fd, &self->mr);
}

/* what is there already may be written to further on, as the seal has it */
TEST_F(memory, seal_of_the_future)
{
	test_reg_mr(self->fd, &self->mr);
	EXPECT_EQ(0, seal(self, F_SEAL_FUTURE_WRITE));
	EXPECT_EQ(0, dereg(self));
	test_err_reg_mr(EPERM, self->fd, &self->mr);
}

TEST_F(memory, hole_afterwards)
{
	char *bytes = mmap(NULL, self->length, PROT_READ | PROT_WRITE, MAP_SHARED, self->mem, 0);

	ASSERT_NE(MAP_FAILED, bytes);
	bytes[0] = 'x';
	test_reg_mr(self->fd, &self->mr);
	ASSERT_EQ(0, fallocate(self->mem, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			       self->length));
	/* the region has the old pages, the file new ones */
	EXPECT_EQ(0, bytes[0]);
	EXPECT_EQ(self->pinned + (long)self->length / 1024, pinned_kb());
	EXPECT_EQ(0, dereg(self));
}

static bool is_one_of(int err, const int *errs)
{
	for (; *errs >= 0; errs++)
		if (err == *errs)
			return true;
	return false;
}

/*
 * Registers again and again while @meddle runs. Return: how often the result
 * was none of @errs
 */
static int meddled(FIXTURE_DATA(memory) *self, void *(*meddle)(void *), const int *errs)
{
	int i, err, wrong = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, meddle, self))
		return -1;
	for (i = 0; i < ROUNDS || (self->hits < HITS && i < MAX_ROUNDS); i++) {
		err = do_reg_mr(self->fd, &self->mr);
		if (!err && dereg(self))
			wrong++;
		if (!is_one_of(err, errs)) {
			fprintf(stderr, "# round %d: errno %d\n", i, err);
			wrong++;
		}
	}
	atomic_store(&self->stop, true);
	pthread_join(thread, NULL);
	return wrong;
}

static void *shrink_and_grow(void *arg)
{
	FIXTURE_DATA(memory) *self = arg;

	while (!atomic_load(&self->stop)) {
		if (ftruncate(self->mem, self->length / 2) || ftruncate(self->mem, self->length))
			break;
		self->hits++;
	}
	return NULL;
}

TEST_F_TIMEOUT(memory, truncate_meanwhile, NO_LIMIT)
{
	static const int errs[] = { 0, EFAULT, ERANGE, -1 };

	EXPECT_EQ(0, meddled(self, shrink_and_grow, errs));
	EXPECT_LE(HITS, self->hits);
}

static void *punch(void *arg)
{
	FIXTURE_DATA(memory) *self = arg;

	while (!atomic_load(&self->stop)) {
		if (fallocate(self->mem, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			      self->length))
			break;
		self->hits++;
	}
	return NULL;
}

TEST_F_TIMEOUT(memory, punch_meanwhile, NO_LIMIT)
{
	/* hugetlbfs may find no free page for the hole that it is to fill */
	static const int errs[] = { 0, EFAULT, ENOMEM, -1 };

	EXPECT_EQ(0, meddled(self, punch, errs));
	EXPECT_LE(HITS, self->hits);
}

static void *seal_once(void *arg)
{
	FIXTURE_DATA(memory) *self = arg;

	self->hits = !seal(self, F_SEAL_WRITE);
	return NULL;
}

/* sealed or registered, but never both */
TEST_F(memory, seal_meanwhile)
{
	pthread_t thread;
	int i, err;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, pthread_create(&thread, NULL, seal_once, self));
		err = do_reg_mr(self->fd, &self->mr);
		EXPECT_TRUE(err == 0 || err == EPERM);
		pthread_join(thread, NULL);
		EXPECT_FALSE(self->hits && !err);
		if (!err)
			EXPECT_EQ(0, dereg(self));
		close(self->mem);
		self->mem = memfd_create("memory",
					 MFD_CLOEXEC | MFD_ALLOW_SEALING | variant->flags);
		ASSERT_EQ(0, ftruncate(self->mem, self->length));
		self->mr.fd = self->mem;
	}
}

/* takes it away, forbids to write to it, puts something else there */
static void *meddle_with_mapping(void *arg)
{
	FIXTURE_DATA(memory) *self = arg;
	uint64_t length;
	unsigned int i;
	char *at;

	for (i = 0; !atomic_load(&self->stop); i++) {
		at = find_mapping("memfd:memory", &length);
		if (!at)
			continue;
		self->hits++;
		if (i % 3 == 0)
			munmap(at, length);
		else if (i % 3 == 1)
			mprotect(at, length, PROT_READ);
		else if (mmap(at, length, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
	}
	return NULL;
}

TEST_F_TIMEOUT(memory, meddle_with_our_mapping, NO_LIMIT)
{
	static const int errs[] = { 0, EFAULT, -1 };
	uint64_t length;

	EXPECT_EQ(0, meddled(self, meddle_with_mapping, errs));
	EXPECT_LE(HITS, self->hits);
	/* nothing of ours is left mapped */
	EXPECT_EQ(NULL, find_mapping("memfd:memory", &length));
}

/*
 * The same with the caller's own mapping, which comes and goes: half of it, or
 * all of it where it is of huge pages (the kernel of Debian, 6.1.192, splits
 * such a mapping without the lock that lockdep asks for, with any munmap()).
 */
static void *map_and_unmap(void *arg)
{
	FIXTURE_DATA(memory) *self = arg;
	uint64_t kept = self->length % HUGE_PAGE ? self->length / 2 : 0;

	while (!atomic_load(&self->stop)) {
		munmap(self->own + kept, self->length - kept);
		if (mmap(self->own, self->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 self->mem, 0) == MAP_FAILED)
			break;
		self->hits++;
	}
	return NULL;
}

TEST_F_TIMEOUT(memory, meddle_with_own_mapping, NO_LIMIT)
{
	static const int errs[] = { 0, EFAULT, -1 };

	self->own = mmap(NULL, self->length, PROT_READ | PROT_WRITE, MAP_SHARED, self->mem, 0);
	ASSERT_NE(MAP_FAILED, self->own);
	self->mr.iova = (uintptr_t)self->own;
	EXPECT_EQ(0, meddled(self, map_and_unmap, errs));
	EXPECT_LE(HITS, self->hits);
}

TEST_HARNESS_MAIN
