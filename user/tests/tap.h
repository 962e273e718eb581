/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A test is a function that returns 1 if all is well.
 */
#ifndef TEST_TAP_H
#define TEST_TAP_H

#include <stdio.h>

struct test {
	const char *name;
	int (*run)(void);
};

#define CHECK(cond)                                                         \
	do {                                                                \
		if (!(cond)) {                                              \
			printf("# %s:%d: %s\n", __func__, __LINE__, #cond); \
			fflush(stdout);                                     \
			return 0;                                           \
		}                                                           \
	} while (0)

#define TEST(name)          \
	{                   \
#name, name \
	}

static inline int run_tests(const struct test *tests, int count)
{
	int i, ok, failed = 0;

	printf("TAP version 13\n1..%d\n", count);
	for (i = 0; i < count; i++) {
		fflush(stdout);
		ok = tests[i].run();
		failed += !ok;
		printf("%sok %d %s\n", ok ? "" : "not ", i + 1, tests[i].name);
	}
	return failed != 0;
}

#define RUN_TESTS(tests) run_tests(tests, sizeof(tests) / sizeof((tests)[0]))

#endif /* TEST_TAP_H */
