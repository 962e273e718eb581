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
#include <rdma/ib_uverbs_share.h>

enum { EXIT_OK,
       EXIT_NONE,
       EXIT_USAGE,
       EXIT_TROUBLE };

static const char *const usage_text =
	"usage: ibv-share devices   which RDMA devices can share objects\n"
	"       ibv-share list      who holds grants, open or mapped (others need root)\n"
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
	printf("%s\tabi %u driver %u slots %u%s%s%s%s\n", name, attr.abi_version,
	       attr.driver_id, attr.max_slots,
	       attr.features & IBV_SHARE_FEATURE_REG_MR ? " reg_mr" : "",
	       attr.features & IBV_SHARE_FEATURE_RINGS ? " rings" : "",
	       attr.features & IBV_SHARE_FEATURE_READ_ONLY_MR ? " read_only_mr" : "",
	       attr.features & IBV_SHARE_FEATURE_IMPORT_REG_MR ? " import_reg_mr" : "");
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

/*
 * Lines "share-KEY:\tVALUE" of one fdinfo become "KEY VALUE" in one line. "share"
 * is the number of the inode, which all grants of one share have.
 */
static int show_fd(const char *pid, const char *fd)
{
	char path[64], line[256], name[32], inode[32] = "?";
	FILE *file;
	int fields = 0;

	snprintf(path, sizeof(path), "/proc/%.16s/fdinfo/%.16s", pid, fd);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		char *value = strchr(line, '\t');

		sscanf(line, "ino: %31[0-9]", inode);
		if (strncmp(line, "share-", 6) || !value)
			continue;
		line[strcspn(line, "\n")] = 0;
		line[strcspn(line, ":")] = 0;
		if (!fields++) {
			process_name(pid, name, sizeof(name));
			printf("pid %s (%s) fd %s share %s", pid, name, fd,
			       inode);
		}
		printf(" %s %s", line + 6, value + 1);
	}
	fclose(file);
	if (fields)
		printf("\n");
	return fields > 0;
}

static const char *ring_name(unsigned long long offset)
{
	switch (offset >> IB_UVERBS_SHARE_RING_SHIFT) {
	case IB_UVERBS_SHARE_RING_SEND:
		return "send";
	case IB_UVERBS_SHARE_RING_RECV:
		return "recv";
	case IB_UVERBS_SHARE_RING_CQ:
		return "cq";
	default:
		return "srq";
	}
}

/* A mapping of a ring is a grant as well, also when its descriptor is closed. */
static int list_mappings(const char *pid)
{
	char path[64], line[512], name[32], range[40], inode[32];
	unsigned long long offset;
	int found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.16s/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	process_name(pid, name, sizeof(name));
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, "/[ib_uverbs_share]") ||
		    sscanf(line, "%39s %*s %llx %*s %31s", range, &offset,
			   inode) != 3)
			continue;
		printf("pid %s (%s) map %s share %s ring %s\n", pid, name,
		       range, inode, ring_name(offset));
		found++;
	}
	fclose(file);
	return found;
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
	return found + list_mappings(pid);
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
