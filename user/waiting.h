/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What a process sleeps on. It has two descriptors, one for completion and one
 * for asynchronous events, so that two threads can wait for one kind each.
 * Both watch the eventfd of the slot; which thread ever empties that one tells
 * the other.
 */
#ifndef SHARE_WAITING_H
#define SHARE_WAITING_H

#include <stdint.h>

struct ibv_share_context;

/*
 * struct share_waiter - one of the two
 * @epoll: what the application sleeps on
 * @more: eventfd of this process only: there is more, or the other one has
 *	emptied the eventfd of the slot
 */
struct share_waiter {
	int epoll;
	int more;
};

/*
 * struct share_waiting - both
 * @async_fd: asynchronous events of the maker's context, for all
 * @types, @ports: events of the device that are not yet given out; under the
 *	lock of the context
 */
struct share_waiting {
	struct share_waiter completion;
	struct share_waiter async;
	int async_fd;
	uint32_t types;
	uint32_t ports;
	uint32_t ports_left;
};

/* What is ready. */
struct share_ready {
	int woken;
	int num;
	int fds[16];
};

/* 0 or an errno value without a message; share_waiting_free() in either case */
int share_waiting_init(struct share_waiting *w, int event_fd);
void share_waiting_free(struct share_waiting *w);

int share_waiter_add(struct share_waiter *waiter, int fd);
void share_waiter_del(struct share_waiter *waiter, int fd);
void share_waiter_more(struct share_waiter *waiter);

/*
 * Does not sleep. Empties eventfds; descriptors of events that are ready are in
 * @ready, which is 0 if nothing was.
 */
int share_waiter_ready(struct share_waiter *waiter,
		       struct share_waiter *other, int event_fd,
		       struct share_ready *ready);

/* One step of a wait: 0, ETIMEDOUT or EINTR. @deadline: of share_deadline(). */
int share_waiter_sleep(struct share_waiter *waiter, int64_t deadline);
/* @timeout_ms: negative: for ever */
int64_t share_deadline(int timeout_ms);

/* Counts in the control segment. */
void share_count_wakeup(struct ibv_share_context *ctx, int superfluous);

#endif /* SHARE_WAITING_H */
