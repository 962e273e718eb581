/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Use of shares against their end, for SOAK_SECONDS in all.
 */
#ifndef SHARE_SOAK_H
#define SHARE_SOAK_H

#include <pthread.h>
#include <time.h>

#include "share_test.h"

#define SOAK_USERS 2

/* the grant of the moment has always the same number */
#define SOAK_GRANT 200

#define SOAK_CQ_OFFSET ((off_t)IB_UVERBS_SHARE_RING_CQ << IB_UVERBS_SHARE_RING_SHIFT)

struct soak;

/**
 * struct soak_race - who runs against whom
 * @use: what a user does, again and again; @fd is its own file of rxe0
 * @refused: errnos that are no surprise, ends with 0
 */
struct soak_race {
	void (*use)(struct soak *soak, int fd);
	int refused[8];
};

/**
 * struct soak - a race
 * @race: what it is
 * @ep: the exporter
 * @export: of an object of @ep
 * @thread: the users
 * @end: when it is over
 * @stop: tells the users
 * @done: calls that did what they should
 * @refused: calls that were refused as they should
 * @wrong: the others
 */
struct soak {
	const struct soak_race *race;
	struct endpoint ep;
	struct export_args export;
	pthread_t thread[SOAK_USERS];
	time_t end;
	bool stop;
	unsigned long done, refused, wrong;
};

bool soak_goes_on(const struct soak *soak);
bool soak_count(struct soak *soak, const char *what, int err);
void soak_start(struct soak *soak, const struct soak_race *race);
void soak_stop(struct soak *soak);
void soak_publish(int grant);
int soak_export(struct soak *soak, uint32_t object);

#endif /* SHARE_SOAK_H */
