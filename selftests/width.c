// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Processes of 32 and of 64 bit have one control segment: layout, directory,
 * mutual exclusion by its locks, and taking one from a killed process. See
 * width/peer.c for what they do.
 */
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <kselftest_harness.h>
#include "share_program.h"

/* 0, or why the kernel does not start the program of 32 bit */
static int try_32(void)
{
	char *const argv[] = { WIDTH_PEER "32", "layout", NULL };
	posix_spawn_file_actions_t quiet;
	int ret, status;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	ret = posix_spawn(&pid, argv[0], &quiet, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&quiet);
	if (ret)
		return ret;
	return waitpid(pid, &status, 0) == pid && !status ? 0 : EIO;
}

#define NEED_32()                                                                    \
	do {                                                                         \
		int ret = try_32();                                                  \
		if (ret == ENOEXEC)                                                  \
			SKIP(return, "this kernel does not run programs of 32 bit"); \
		ASSERT_EQ(0, ret);                                                   \
	} while (0)

FIXTURE(width)
{
	struct program first;
};

FIXTURE_VARIANT(width)
{
	char *first, *second;
};

FIXTURE_VARIANT_ADD(width, first_64_second_32){
	.first = WIDTH_PEER "64",
	.second = WIDTH_PEER "32",
};

FIXTURE_VARIANT_ADD(width, first_32_second_64){
	.first = WIDTH_PEER "32",
	.second = WIDTH_PEER "64",
};

FIXTURE_SETUP(width)
{
	NEED_32();
}

FIXTURE_TEARDOWN(width)
{
}

TEST_F_TIMEOUT(width, one_segment, NO_LIMIT)
{
	char *const argv[] = { variant->first, "first", variant->second, NULL };

	ASSERT_EQ(0, program_start(&self->first, argv));
	ASSERT_EQ(0, program_ends_well(&self->first, variant->first));
}

TEST(same_layout)
{
	char line[2][128];
	FILE *out[2];
	int lines = 0;

	NEED_32();
	ASSERT_TRUE(out[0] = popen(WIDTH_PEER "64 layout", "r"));
	ASSERT_TRUE(out[1] = popen(WIDTH_PEER "32 layout", "r"));
	while (fgets(line[0], sizeof(line[0]), out[0])) {
		ASSERT_TRUE(fgets(line[1], sizeof(line[1]), out[1]));
		EXPECT_STREQ(line[0], line[1]);
		lines++;
	}
	EXPECT_FALSE(fgets(line[1], sizeof(line[1]), out[1]));
	EXPECT_LT(50, lines);
	EXPECT_EQ(0, pclose(out[0]));
	EXPECT_EQ(0, pclose(out[1]));
}

TEST_HARNESS_MAIN
