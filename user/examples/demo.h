/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What both processes of the demo have to know.
 */
#ifndef DEMO_H
#define DEMO_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/share.h>

#define ITERS 1000
#define SIZE ((size_t)4096)
#define DEPTH 32 /* receives that are posted in advance */
#define BYTES ((1 + DEPTH) * SIZE)

/* what W tells E at the end */
struct result {
	double seconds;
	unsigned int sent, received, wrong;
};

static inline void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(errno));
	if (*ibv_share_last_error())
		fprintf(stderr, "%s\n", ibv_share_last_error());
	exit(1);
}

static inline struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **dev = list;
	struct ibv_context *context = NULL;

	while (dev && *dev && strcmp(ibv_get_device_name(*dev), name))
		dev++;
	if (dev && *dev)
		context = ibv_open_device(*dev);
	if (!context)
		die("cannot open device %s", name);
	ibv_free_device_list(list);
	return context;
}

#endif /* DEMO_H */
