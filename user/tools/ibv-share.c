// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Which devices the module serves, and who holds grants.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/share.h>

enum { EXIT_OK,
       EXIT_NONE,
       EXIT_USAGE,
       EXIT_TROUBLE };

static const char *const usage_text =
	"usage: ibv-share devices   which RDMA devices can share objects\n"
	"       ibv-share list      who holds grants (all processes need root)\n"
	"       ibv-share --help\n"
	"\n"
	"Exit status: 0 there is something to show, 1 there is nothing,\n"
	"2 wrong usage, 3 trouble.\n";

static int show_device(struct ibv_device *device)
{
	const char *name = ibv_get_device_name(device);
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_share_device_attr attr;
	int ret;

	if (!context) {
		printf("%s\tcannot be opened: %s\n", name, strerror(errno));
		return 0;
	}
	ret = ibv_share_query_device(context, &attr);
	ibv_close_device(context);
	if (ret) {
		printf("%s\tno: %s\n", name, ibv_share_last_error());
		return 0;
	}
	printf("%s\tabi %u driver %u slots %u%s%s%s\n", name, attr.abi_version,
	       attr.driver_id, attr.max_slots,
	       attr.features & IBV_SHARE_FEATURE_REG_MR ? " reg_mr" : "",
	       attr.features & IBV_SHARE_FEATURE_RINGS ? " rings" : "",
	       attr.features & IBV_SHARE_FEATURE_READ_ONLY_MR ? " read_only_mr" : "");
	return 1;
}

static int devices(void)
{
	struct ibv_device **list;
	int count, i, served = 0;

	list = ibv_get_device_list(&count);
	if (!list) {
		fprintf(stderr, "ibv-share: no RDMA devices: %s\n",
			strerror(errno));
		return EXIT_TROUBLE;
	}
	for (i = 0; i < count; i++)
		served += show_device(list[i]);
	ibv_free_device_list(list);
	return served ? EXIT_OK : EXIT_NONE;
}

static int is_number(const char *s)
{
	size_t i;

	for (i = 0; s[i]; i++)
		if (!isdigit((unsigned char)s[i]))
			return 0;
	return i > 0;
}

static void process_name(const char *pid, char *name, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	snprintf(name, size, "?");
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(name, (int)size, file))
		name[strcspn(name, "\n")] = 0;
	fclose(file);
}

/* Lines "share-KEY:\tVALUE" of one fdinfo become "KEY VALUE" in one line. */
static int show_fd(const char *pid, const char *fd)
{
	char path[64], line[256], name[32];
	FILE *file;
	int fields = 0;

	snprintf(path, sizeof(path), "/proc/%.16s/fdinfo/%.16s", pid, fd);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		char *value = strchr(line, '\t');

		if (strncmp(line, "share-", 6) || !value)
			continue;
		line[strcspn(line, "\n")] = 0;
		line[strcspn(line, ":")] = 0;
		if (!fields++) {
			process_name(pid, name, sizeof(name));
			printf("pid %s (%s) fd %s", pid, name, fd);
		}
		printf(" %s %s", line + 6, value + 1);
	}
	fclose(file);
	if (fields)
		printf("\n");
	return fields > 0;
}

static int list_process(const char *pid, int *hidden)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%.16s/fdinfo", pid);
	dir = opendir(path);
	if (!dir) {
		*hidden += errno == EACCES || errno == EPERM;
		return 0;
	}
	while ((entry = readdir(dir)))
		if (is_number(entry->d_name))
			found += show_fd(pid, entry->d_name);
	closedir(dir);
	return found;
}

static int list(void)
{
	struct dirent *entry;
	int found = 0, hidden = 0;
	DIR *dir = opendir("/proc");

	if (!dir) {
		fprintf(stderr, "ibv-share: /proc: %s\n", strerror(errno));
		return EXIT_TROUBLE;
	}
	while ((entry = readdir(dir)))
		if (is_number(entry->d_name))
			found += list_process(entry->d_name, &hidden);
	closedir(dir);
	if (hidden)
		fprintf(stderr, "ibv-share: %d processes could not be looked"
				" at: run it as root\n",
			hidden);
	return found ? EXIT_OK : EXIT_NONE;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "devices"))
		return devices();
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(usage_text, stdout);
		return EXIT_OK;
	}
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}
