// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Documentation/fault-injection of the kernel: what is written to
 * /proc/self/task/TID/fail-nth counts down at each place of this thread where
 * something can fail, and at 0 it does.
 */
#include <fcntl.h>

#include "share_fault.h"

#define DEBUGFS "/sys/kernel/debug/"
/* more places than any call has */
#define MAX_FAULTS 3000

/* by default most allocations are spared, as a system does not survive random faults in them */
static const struct {
	const char *file;
	const char *value;
} settings[] = {
	{ "failslab/ignore-gfp-wait", "N" },
	{ "failslab/verbose", "0" },
	{ "fail_page_alloc/ignore-gfp-wait", "N" },
	{ "fail_page_alloc/ignore-gfp-highmem", "N" },
	{ "fail_page_alloc/min-order", "0" },
	{ "fail_page_alloc/verbose", "0" },
	{ "fail_usercopy/verbose", "0" },
};

static int fail_nth;

static bool write_setting(const char *file, const char *value)
{
	char path[128];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, value, strlen(value)) > 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

static const char *fault_missing(void)
{
	static char why[128];
	unsigned int i;

	if (access("/proc/thread-self/fail-nth", W_OK))
		return "this kernel has no fault injection; \"make check-debug\" has one";
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (write_setting(settings[i].file, settings[i].value))
			continue;
		snprintf(why, sizeof(why), "this kernel has no " DEBUGFS "%s", settings[i].file);
		return why;
	}
	return NULL;
}

void fault_require(void)
{
	const char *missing = fault_missing();

	if (!missing)
		return;
	printf("%s\n", missing);
	exit(4);
}

static void arm(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	if (pwrite(fail_nth, text, len, 0) != len)
		abort();
}

/*
 * Return: true if a fault was injected since arm(). Reading and writing the
 * file count as well, and may be what fails now.
 */
static bool disarm(void)
{
	char text[16] = "";
	bool injected;

	injected = pread(fail_nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
	while (pwrite(fail_nth, "0", 1, 0) != 1)
		;
	return injected;
}

static bool is_expected(const struct fault_call *call, int err)
{
	unsigned int i;

	if (call->never_fails)
		return false;
	for (i = 0; i < sizeof(call->also) / sizeof(call->also[0]) && call->also[i]; i++)
		if (err == call->also[i])
			return true;
	return err == ENOMEM || err == EFAULT;
}

static unsigned int wrong(unsigned int nth, const char *what, long value)
{
	printf("# fault %u: %s %ld\n", nth, what, value);
	return 1;
}

/* one call with its nth fault; @injected: whether it has so many */
static unsigned int sweep_one(const struct fault_call *call, void *env, unsigned int nth,
			      bool *injected, struct fault_count *count)
{
	int err, fd = lowest_fd();
	long used = call->used ? call->used(env) : 0, now;
	unsigned int bad = 0;

	arm(nth);
	err = call->run(env);
	*injected = disarm();

	count->injected += *injected;
	count->errors += !!err;
	if (err && (!*injected || !is_expected(call, err)))
		bad += wrong(nth, "answered errno", err);
	if (!err && call->undo) {
		err = call->undo(env);
		if (err)
			bad += wrong(nth, "cannot be undone, errno", err);
	}
	now = call->used ? call->used(env) : 0;
	if (now != used)
		bad += wrong(nth, "has left objects:", now - used);
	if (lowest_fd() != fd)
		bad += wrong(nth, "has left a descriptor,", fd);
	return bad;
}

/* and it works afterwards */
static unsigned int sweep_next(const struct fault_call *call, void *env, unsigned int nth)
{
	int err = call->run(env);

	if (err)
		return wrong(nth, "spoilt the next call, errno", err);
	err = call->undo ? call->undo(env) : 0;
	return err ? wrong(nth, "spoilt what undoes the next call, errno", err) : 0;
}

unsigned int fault_sweep(const struct fault_call *call, void *env, struct fault_count *count)
{
	unsigned int nth, bad = 0;
	bool injected = true;
	int err;

	memset(count, 0, sizeof(*count));
	/* this thread's for good */
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0)
		return wrong(0, "cannot be armed, errno", errno);
	err = call->prepare ? call->prepare(env) : 0;
	if (err)
		return wrong(0, "cannot be prepared, errno", err);
	/* allocates what stays: of the C library, of caches */
	bad += sweep_next(call, env, 0);

	for (nth = 1; injected && bad < 10; nth++) {
		if (nth > MAX_FAULTS)
			return bad + wrong(nth, "and no end of them;", nth);
		bad += sweep_one(call, env, nth, &injected, count);
		if (injected)
			bad += sweep_next(call, env, nth);
	}
	if (!(call->never_fails ? count->injected : count->errors))
		bad += wrong(0, "none that was noticed;", count->injected);
	return bad;
}
