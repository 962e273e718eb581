// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "share_priv.h"

static int waiter_init(struct share_waiter *waiter, int event_fd)
{
	int ret;

	waiter->epoll = epoll_create1(EPOLL_CLOEXEC);
	waiter->more = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (waiter->epoll < 0 || waiter->more < 0)
		return errno;
	ret = share_waiter_add(waiter, waiter->more);
	return ret ? ret : share_waiter_add(waiter, event_fd);
}

int share_waiting_init(struct share_waiting *w, int event_fd)
{
	int ret;

	memset(w, 0, sizeof(*w));
	w->async.epoll = -1;
	w->async.more = -1;
	w->async_fd = -1;
	ret = waiter_init(&w->completion, event_fd);
	return ret ? ret : waiter_init(&w->async, event_fd);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void share_waiting_free(struct share_waiting *w)
{
	close_fd(w->completion.epoll);
	close_fd(w->completion.more);
	close_fd(w->async.epoll);
	close_fd(w->async.more);
}

int share_waiter_add(struct share_waiter *waiter, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	/* several CQs may have one channel */
	if (epoll_ctl(waiter->epoll, EPOLL_CTL_ADD, fd, &event) &&
	    errno != EEXIST)
		return errno;
	return 0;
}

void share_waiter_del(struct share_waiter *waiter, int fd)
{
	int saved = errno;

	epoll_ctl(waiter->epoll, EPOLL_CTL_DEL, fd, NULL);
	errno = saved;
}

/* That it is full already is just as well. */
void share_waiter_more(struct share_waiter *waiter)
{
	const uint64_t one = 1;

	if (write(waiter->more, &one, sizeof(one)) < 0)
		return;
}

static int empty(int event_fd)
{
	uint64_t count;

	return read(event_fd, &count, sizeof(count)) > 0;
}

int share_waiter_ready(struct share_waiter *waiter, struct share_waiter *other,
		       int event_fd, struct share_ready *ready)
{
	struct epoll_event events[sizeof(ready->fds) / sizeof(ready->fds[0])];
	int i, fd, n;

	n = epoll_wait(waiter->epoll, events,
		       (int)(sizeof(events) / sizeof(events[0])), 0);
	ready->woken = 0;
	ready->num = 0;
	for (i = 0; i < n; i++) {
		fd = events[i].data.fd;
		if (fd != waiter->more && fd != event_fd) {
			ready->fds[ready->num++] = fd;
			continue;
		}
		ready->woken = 1;
		if (empty(fd) && fd == event_fd)
			share_waiter_more(other);
	}
	return n > 0;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t share_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;
}

int share_waiter_sleep(struct share_waiter *waiter, int64_t deadline)
{
	struct epoll_event event;
	int64_t left = -1;

	if (deadline != INT64_MAX) {
		left = deadline - now_ms();
		if (left <= 0)
			return ETIMEDOUT;
	}
	if (epoll_wait(waiter->epoll, &event, 1, (int)left) < 0)
		return errno;
	return 0;
}

/* Threads of this process may count at the same time. */
void share_count_wakeup(struct ibv_share_context *ctx, int superfluous)
{
	struct share_slot *slot = share_control_slot(&ctx->control, ctx->slot);

	__atomic_fetch_add(&slot->wakeups, 1, __ATOMIC_RELAXED);
	if (superfluous)
		__atomic_fetch_add(&slot->superfluous, 1, __ATOMIC_RELAXED);
}
