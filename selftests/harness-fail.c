// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Fails on purpose. scripts/vm/selfcheck wants to see exactly this from the
 * runner: one test that passed, one that failed, one that was skipped.
 */
#include "kselftest_harness.h"

TEST(passes)
{
	ASSERT_EQ(4, 2 + 2);
}

TEST(fails)
{
	ASSERT_EQ(5, 2 + 2)
	TH_LOG("this failure is deliberate");
}

TEST(skips)
{
	SKIP(return, "this skip is deliberate");
}

TEST_HARNESS_MAIN
