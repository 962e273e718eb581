// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Calls that are made up, from a seed, in rounds of 2,000. FUZZ_CALLS says how
 * many, FUZZ_SEED what the first round begins with. Each round has children
 * and objects of its own, so round N of seed S is the first one of seed S + N.
 * Three of four rounds have one thread and repeat exactly; in the fourth four
 * threads in two processes use the same descriptors.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "kselftest_harness.h"
#include "share_fuzz.h"

#define ROUND 2000
#define WARM_UP 100
#define CALLS 20000

/* what a round tells its parent */
struct report {
	unsigned int failures;
	uint64_t digest;
	unsigned long answers[FUZZ_METHODS][2];
};

/* seeds of rounds that once found something */
static const uint64_t corpus[] = { 1, 2, 3, 0x6b10f453 };

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}

static void step(struct fuzz *f)
{
	if (fuzz_one_in(f, 4))
		fuzz_file(f);
	if (fuzz_one_in(f, 24))
		fuzz_verbs(f);
	if (fuzz_one_in(f, 500))
		fuzz_reopen(f);
	fuzz_call(f);
}

static void finish(struct fuzz *f, struct report *report)
{
	unsigned int i;

	__atomic_add_fetch(&report->failures, f->failures, __ATOMIC_RELAXED);
	report->digest = f->digest;
	for (i = 0; i < FUZZ_METHODS; i++) {
		__atomic_add_fetch(&report->answers[i][0], f->answers[i][0], __ATOMIC_RELAXED);
		__atomic_add_fetch(&report->answers[i][1], f->answers[i][1], __ATOMIC_RELAXED);
	}
}

/* one thread, one process: the same seed gives the same answers */
static void run_alone(struct fuzz *f, struct report *report)
{
	unsigned int i;

	f->alone = true;
	CHILD_CHECK(!fuzz_open(f));
	CHILD_CHECK(!fuzz_open_own(f));
	for (i = 0; i < ROUND; i++)
		step(f);
	fuzz_close(f);
	finish(f, report);
}

struct helper {
	struct fuzz f;
	struct report *report;
};

static void *run_thread(void *arg)
{
	struct helper *helper = arg;
	unsigned int i;

	if (fuzz_open_own(&helper->f)) {
		helper->f.failures++;
		return NULL;
	}
	for (i = 0; i < ROUND / 4; i++)
		step(&helper->f);
	finish(&helper->f, helper->report);
	return NULL;
}

/*
 * Descriptors are closed and their numbers used again under the other threads,
 * so a call may meet a file that waits, such as one of events: end that.
 */
static void join(pthread_t thread)
{
	struct timespec until;

	do {
		pthread_kill(thread, SIGUSR1);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
	} while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
}

/* two threads, with copies of what @f knows */
static void run_threads(const struct fuzz *f, struct report *report, unsigned int process)
{
	struct helper *helper = calloc(2, sizeof(*helper));
	pthread_t thread[2];
	int i;

	CHILD_CHECK(helper);
	for (i = 0; i < 2; i++) {
		helper[i].f = *f;
		helper[i].report = report;
		fuzz_seed(&helper[i].f, f->state + 4 * process + i);
		CHILD_CHECK(!pthread_create(&thread[i], NULL, run_thread, &helper[i]));
	}
	for (i = 0; i < 2; i++)
		join(thread[i]);
	/* the rest is for exit to close */
	_exit(0);
}

/* one of two processes may be killed in the middle of something */
static void run_together(struct fuzz *f, struct report *report)
{
	pid_t pid[2];
	int status, i;

	CHILD_CHECK(!fuzz_open(f));
	CHILD_CHECK(!fuzz_open_own(f));
	for (i = 0; i < WARM_UP; i++)
		step(f);
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		CHILD_CHECK(pid[i] >= 0);
		if (!pid[i])
			run_threads(f, report, i);
	}
	if (fuzz_one_in(f, 2)) {
		usleep(fuzz_below(f, 300000));
		kill(pid[0], SIGKILL);
	}
	for (i = 0; i < 2; i++) {
		CHILD_CHECK(waitpid(pid[i], &status, 0) == pid[i]);
		if (!status || (i == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
			continue;
		fprintf(stderr, "# process %d of 2: status %#x\n", i, status);
		report->failures++;
	}
}

static void run_round(int sock, void *arg)
{
	struct report *report = arg;
	struct fuzz *f = calloc(1, sizeof(*f));

	CHILD_CHECK(f);
	fuzz_files_init();
	fuzz_seed(f, report->digest);
	if (report->digest % 4 == 3)
		run_together(f, report);
	else
		run_alone(f, report);
}

FIXTURE(fuzz)
{
	struct report *report;
	unsigned long answers[FUZZ_METHODS][2];
};

FIXTURE_SETUP(fuzz)
{
	self->report = mmap(NULL, sizeof(*self->report), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->report);
}

FIXTURE_TEARDOWN(fuzz)
{
	EXPECT_TRUE(wait_for(count_objects("rxe0", "ctx") == 0));
	EXPECT_TRUE(wait_for(count_objects("rxe1", "ctx") == 0));
}

/* Return: false if something was wrong, which has been said */
static bool round_of(FIXTURE_DATA(fuzz) *self, uint64_t seed)
{
	struct child child;
	unsigned int i;
	int status;

	memset(self->report, 0, sizeof(*self->report));
	self->report->digest = seed;
	if (child_start(&child, run_round, self->report))
		return false;
	status = child_end(&child);
	for (i = 0; i < FUZZ_METHODS; i++) {
		self->answers[i][0] += self->report->answers[i][0];
		self->answers[i][1] += self->report->answers[i][1];
	}
	if (!status && !self->report->failures)
		return true;
	fprintf(stderr, "# round with seed %#llx: status %d, %u failures\n",
		(unsigned long long)seed, status, self->report->failures);
	return false;
}

static bool is_known(int fd, uint16_t object, uint16_t method, int attr)
{
	struct call call;

	call_init(&call, object, method);
	if (attr >= 0)
		put_u64(&call, attr, 0);
	return call_run(fd, &call) != EPROTONOSUPPORT;
}

/* whoever adds a method to the module adds it to the table */
TEST_F(fuzz, table_is_complete)
{
	const struct table_method *m;
	uint16_t object, method;
	int fd = dev_open("rxe0"), attr;

	ASSERT_LE(0, fd);
	for (object = IB_UVERBS_OBJECT_SHARE; object <= IB_UVERBS_OBJECT_IMPORT; object++) {
		for (method = 0; method < 64; method++) {
			m = table_find(object, method);
			EXPECT_EQ(!!m, is_known(fd, object, method, -1))
			{
				TH_LOG("object %#x method %u", object, method);
			}
			for (attr = 0; m && attr < 32; attr++)
				EXPECT_EQ(!!table_find_attr(m, attr),
					  is_known(fd, object, method, attr))
				{
					TH_LOG("%s attribute %d", m->name, attr);
				}
		}
	}
	close(fd);
}

TEST_F_TIMEOUT(fuzz, same_again, NO_LIMIT)
{
	uint64_t digest;

	ASSERT_TRUE(round_of(self, 0x1000));
	digest = self->report->digest;
	ASSERT_TRUE(round_of(self, 0x1000));
	EXPECT_EQ(digest, self->report->digest);
	ASSERT_TRUE(round_of(self, 0x1001));
	EXPECT_NE(digest, self->report->digest);
}

TEST_F_TIMEOUT(fuzz, corpus, NO_LIMIT)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(corpus); i++)
		EXPECT_TRUE(round_of(self, corpus[i]));
}

TEST_F_TIMEOUT(fuzz, calls, NO_LIMIT)
{
	uint64_t calls = number_from("FUZZ_CALLS", CALLS), n;
	uint64_t seed = number_from("FUZZ_SEED", time(NULL));
	unsigned int i;

	TH_LOG("FUZZ_SEED=%#llx FUZZ_CALLS=%llu", (unsigned long long)seed,
	       (unsigned long long)calls);
	for (n = 0; n < (calls + ROUND - 1) / ROUND; n++) {
		EXPECT_TRUE(round_of(self, seed + n));
		if (n % 50 == 49)
			TH_LOG("%llu calls", (unsigned long long)(n + 1) * ROUND);
	}
	/* a fuzzer that never gets anywhere finds nothing */
	for (i = 0; i < table_count(); i++) {
		TH_LOG("%-20s %8lu done %8lu refused", table_methods[i].name,
		       self->answers[i][1], self->answers[i][0]);
		EXPECT_NE(0, self->answers[i][1]);
	}
}

TEST_HARNESS_MAIN
