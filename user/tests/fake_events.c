// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Events of the device, and wake-ups by the module: all of them eventfds.
 */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/ib_uverbs_share.h>
#include "../control.h"
#include "fake_rxe.h"

void fake_open_events(struct fake_device *dev)
{
	uint32_t i;

	for (i = 0; i < FAKE_SLOTS; i++)
		dev->wakes[i] = eventfd(0, EFD_NONBLOCK);
	for (i = 0; i < FAKE_MAX; i++)
		dev->cqs[i].events = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
}

void fake_close_events(struct fake_device *dev)
{
	uint32_t i;

	for (i = 0; i < FAKE_SLOTS; i++)
		close(dev->wakes[i]);
	for (i = 0; i < FAKE_MAX; i++)
		close(dev->cqs[i].events);
}

static void signal_fd(int event_fd)
{
	const uint64_t one = 1;

	if (write(event_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

void fake_notify(struct fake_cq *cq, int solicited)
{
	uint32_t armed = __atomic_load_n(&cq->notify, __ATOMIC_SEQ_CST);

	/* whoever arms meanwhile is not lost */
	if (armed & (SHARE_ARMED_NEXT |
		     (solicited ? (uint32_t)SHARE_ARMED_SOLICITED : 0)) &&
	    __atomic_exchange_n(&cq->notify, 0, __ATOMIC_SEQ_CST))
		signal_fd(cq->events);
}

/* Full barriers in both, as in the kernel. */
int fake_wake(void *arg, uint32_t slot)
{
	struct fake_device *dev = arg;
	uint32_t i;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < FAKE_SLOTS; i++)
		if (i == slot || slot == IB_UVERBS_SHARE_ALL_SLOTS)
			signal_fd(dev->wakes[i]);
	return 0;
}

int fake_arm(void *arg, uint32_t cq, int solicited)
{
	struct fake_device *dev = arg;

	__atomic_fetch_add(&dev->arms, 1, __ATOMIC_RELAXED);
	__atomic_fetch_or(&dev->cqs[cq % FAKE_MAX].notify,
			  solicited ? SHARE_ARMED_SOLICITED : SHARE_ARMED_NEXT,
			  __ATOMIC_SEQ_CST);
	return 0;
}

uint64_t fake_read(int event_fd)
{
	uint64_t count;

	return read(event_fd, &count, sizeof(count)) > 0 ? count : 0;
}

void fake_die(struct fake_device *dev, uint32_t slot)
{
	__atomic_store_n(&dev->generations[slot], 0, __ATOMIC_SEQ_CST);
	fake_wake(dev, IB_UVERBS_SHARE_ALL_SLOTS);
}
