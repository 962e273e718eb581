// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Users of a grant in threads of their own, for a time.
 */
#include <pthread.h>
#include <time.h>

#include "share_soak.h"

#define SECONDS 6
#define RACES 6
#define PATIENCE 60

static bool is_stopped(const struct soak *soak)
{
	return __atomic_load_n(&soak->stop, __ATOMIC_ACQUIRE);
}

/* On a slow machine until the users have got something once. */
bool soak_goes_on(const struct soak *soak)
{
	const time_t now = time(NULL);

	return now < soak->end || (now < soak->end + PATIENCE &&
				   !__atomic_load_n(&soak->done, __ATOMIC_RELAXED));
}

/* Return: whether the call did what it should */
bool soak_count(struct soak *soak, const char *what, int err)
{
	const int *refused = soak->race->refused;
	unsigned long *counter = &soak->done;

	if (err) {
		while (*refused && *refused != err)
			refused++;
		counter = *refused ? &soak->refused : &soak->wrong;
		if (!*refused)
			fprintf(stderr, "# %s: errno %d\n", what, err);
	}
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	return !err;
}

static void *user(void *arg)
{
	struct soak *soak = arg;
	int fd = dev_open("rxe0");

	if (fd < 0)
		soak_count(soak, "open", EIO);
	while (fd >= 0 && !is_stopped(soak))
		soak->race->use(soak, fd);
	if (count_handles(fd, IB_UVERBS_OBJECT_IMPORT))
		soak_count(soak, "imports are left", EIO);
	close(fd);
	return NULL;
}

void soak_start(struct soak *soak, const struct soak_race *race)
{
	const char *seconds = getenv("SOAK_SECONDS");
	int i;

	soak->race = race;
	soak->end = time(NULL) + (seconds ? atoi(seconds) : SECONDS) / RACES + 1;
	for (i = 0; i < SOAK_USERS; i++)
		if (pthread_create(&soak->thread[i], NULL, user, soak))
			abort();
}

void soak_stop(struct soak *soak)
{
	int i;

	__atomic_store_n(&soak->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < SOAK_USERS; i++)
		pthread_join(soak->thread[i], NULL);
	close(SOAK_GRANT);
	fprintf(stderr, "# %lu done, %lu refused\n", soak->done, soak->refused);
}

void soak_publish(int grant)
{
	if (dup2(grant, SOAK_GRANT) < 0)
		abort();
	close(grant);
}

int soak_export(struct soak *soak, uint32_t object)
{
	struct ib_uverbs_share_segment seg =
		ring_segment(&soak->ep.cq.ring, IB_UVERBS_SHARE_RING_CQ);
	int err;

	soak->export = EXPORT_OF(soak->ep.fd, object);
	if (object == soak->ep.cq.handle) {
		soak->export.segs = &seg;
		soak->export.nsegs = 1;
	}
	err = do_export(soak->ep.fd, &soak->export);
	if (!err)
		soak_publish(soak->export.grant);
	return err;
}
