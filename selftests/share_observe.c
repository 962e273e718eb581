// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Reads tracefs, /dev/kmsg and the output of tools.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "share_observe.h"

#define INSTANCE "/sys/kernel/tracing/instances/uverbs-share-test"
#define CONTROL "/proc/dynamic_debug/control"

static FILE *trace;
static int kmsg = -1;

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err = errno;
	close(fd);
	return err;
}

/* Return: 0 or an errno; what a former test has left there is gone */
int trace_open(void)
{
	int err;

	trace_close();
	if (mkdir(INSTANCE, 0700))
		return errno;
	err = write_to(INSTANCE "/events/ib_uverbs_share/enable", "1");
	trace = fopen(INSTANCE "/trace", "re");
	return err ?: trace ? 0
			    : errno;
}

void trace_close(void)
{
	if (trace)
		fclose(trace);
	trace = NULL;
	rmdir(INSTANCE);
}

/* "COMM-PID  [CPU] FLAGS  TIME: EVENT: ..."; @event: the pid, and all from EVENT on */
bool trace_next(char *event, size_t size)
{
	char line[512], *at;
	int pid;

	clearerr(trace);
	while (fgets(line, sizeof(line), trace)) {
		at = strstr(line, ": share_");
		if (!at)
			continue;
		line[strcspn(line, "\n")] = 0;
		/* the name of the program has no dash */
		if (sscanf(line, "%*[^-]-%d", &pid) != 1)
			return false;
		snprintf(event, size, "%d %s", pid, at + 2);
		return true;
	}
	return false;
}

/* from now on; Return: 0 or an errno, ENOENT if this kernel has no dynamic debug */
int log_open(bool debug)
{
	const char *command = debug ? "module ib_uverbs_share +p" : "module ib_uverbs_share -p";
	int err = write_to(CONTROL, command);

	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		return errno;
	return err;
}

void log_close(void)
{
	write_to(CONTROL, "module ib_uverbs_share -p");
	close(kmsg);
	kmsg = -1;
}

/* all that the module says has its name or that of a device */
static bool is_ours(const char *text)
{
	return strstr(text, "ib_uverbs_share") || strstr(text, "rxe") || strstr(text, "refused");
}

/* a record is "PRIORITY,NUMBER,TIME,FLAGS;TEXT\n" and more lines */
bool log_next(char *text, size_t size)
{
	char record[2048], *at;
	ssize_t n;

	while ((n = read(kmsg, record, sizeof(record) - 1)) > 0) {
		record[n] = 0;
		at = strchr(record, ';');
		if (!at)
			continue;
		at[1 + strcspn(at + 1, "\n")] = 0;
		if (!is_ours(at + 1))
			continue;
		snprintf(text, size, "%s", at + 1);
		return true;
	}
	return false;
}

/* the first line of what a command prints that has @word in it, without blanks at its end */
bool tool_line(const char *command, const char *word, char *line, size_t size)
{
	FILE *f = popen(command, "re");
	bool found = false;
	char have[512];

	while (f && fgets(have, sizeof(have), f)) {
		if (found || !strstr(have, word))
			continue;
		have[strcspn(have, "\n")] = 0;
		while (have[0] && have[strlen(have) - 1] == ' ')
			have[strlen(have) - 1] = 0;
		snprintf(line, size, "%s", have);
		found = true;
	}
	if (f)
		pclose(f);
	return found;
}

/* lines with @word; a command that fails prints none */
unsigned int tool_count(const char *command, const char *word)
{
	FILE *f = popen(command, "re");
	unsigned int n = 0;
	char have[512];

	while (f && fgets(have, sizeof(have), f))
		n += !!strstr(have, word);
	if (f)
		pclose(f);
	return n;
}

/* a program of the library, which is built beside this one */
bool tool_path(char *path, size_t size, const char *name)
{
	char self[256], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return false;
	self[n] = 0;
	slash = strrchr(self, '/');
	*slash = 0;
	snprintf(path, size, "%s/../user/%s", self, name);
	return !access(path, X_OK);
}

/* of a grant: the same for all grants of a share */
unsigned long inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}
