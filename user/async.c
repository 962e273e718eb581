// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The kernel copies an event right into the control segment. So a reader that
 * is killed leaves it either in the device's queue or here, and the next one
 * finds it. Marking an event twice is the same as once: each slot has a bit
 * for each type and object, so nobody who is slow can be in others' way.
 */
#include <errno.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include "async.h"
#include "directory.h"
#include "mailbox.h"

/* A stopped process keeps the lock: its peers try again and again. */
#define PATIENCE_MS 100
#define MAX_READS 256
#define MAX_PORTS (32 - SHARE_EVENT_PORT_SHIFT)

#define BIT(type) (1u << (type))
#define CQ_TYPES BIT(IBV_EVENT_CQ_ERR)
#define QP_TYPES                                                  \
	(BIT(IBV_EVENT_QP_FATAL) | BIT(IBV_EVENT_QP_REQ_ERR) |    \
	 BIT(IBV_EVENT_QP_ACCESS_ERR) | BIT(IBV_EVENT_COMM_EST) | \
	 BIT(IBV_EVENT_SQ_DRAINED) | BIT(IBV_EVENT_PATH_MIG) |    \
	 BIT(IBV_EVENT_PATH_MIG_ERR) | BIT(IBV_EVENT_QP_LAST_WQE_REACHED))
#define SRQ_TYPES \
	(BIT(IBV_EVENT_SRQ_ERR) | BIT(IBV_EVENT_SRQ_LIMIT_REACHED))
#define DEVICE_TYPES                                                \
	(BIT(IBV_EVENT_DEVICE_FATAL) | BIT(IBV_EVENT_PORT_ACTIVE) | \
	 BIT(IBV_EVENT_PORT_ERR) | BIT(IBV_EVENT_LID_CHANGE) |      \
	 BIT(IBV_EVENT_PKEY_CHANGE) | BIT(IBV_EVENT_SM_CHANGE) |    \
	 BIT(IBV_EVENT_CLIENT_REREGISTER) | BIT(IBV_EVENT_GID_CHANGE))

static_assert(IBV_EVENT_GID_CHANGE < SHARE_EVENT_PORT_SHIFT, "ports are above");
static_assert(sizeof(struct ib_uverbs_async_event_desc) ==
		      sizeof(((struct share_control_header *)0)->async_landing),
	      "the kernel writes there");

static void set(uint32_t *word, uint32_t bits)
{
	/* pairs with the acquire in share_async_take() */
	__atomic_fetch_or(word, bits, __ATOMIC_RELEASE);
}

static int mark_cq(const struct share_control *control, uint32_t cookie,
		   uint32_t bit)
{
	struct share_cq_view cq;
	uint32_t i, slot;

	for (i = 0; i < SHARE_MAX_CQS; i++) {
		if (share_control_cq(control, i, &cq) || cq.cookie != cookie)
			continue;
		for (slot = 0; slot < SHARE_MAX_SLOTS; slot++)
			set(&share_mailbox_of(&cq, slot)->async, bit);
		return 0;
	}
	return ENOENT;
}

static int mark_qp(const struct share_control *control, uint32_t cookie,
		   uint32_t bit)
{
	struct share_qp_view qp;
	uint32_t i, slot;

	for (i = 0; i < SHARE_MAX_QPS; i++) {
		if (share_control_qp(control, i, &qp) ||
		    qp.attr.cookie != cookie)
			continue;
		for (slot = 0; slot < SHARE_MAX_SLOTS; slot++)
			set(&qp.body->events[slot], bit);
		return 0;
	}
	return ENOENT;
}

static int mark_srq(const struct share_control *control, uint32_t cookie,
		    uint32_t bit)
{
	struct share_srq_view srq;
	uint32_t i, slot;

	for (i = 0; i < SHARE_MAX_SRQS; i++) {
		if (share_control_srq(control, i, &srq) ||
		    srq.attr.cookie != cookie)
			continue;
		for (slot = 0; slot < SHARE_MAX_SLOTS; slot++)
			set(&srq.body->events[slot], bit);
		return 0;
	}
	return ENOENT;
}

static void mark_device(const struct share_control *control, uint32_t port,
			uint32_t bit)
{
	struct share_control_header *header = share_control_header(control);
	uint32_t slot;

	if (port - 1 < MAX_PORTS)
		bit |= 1u << (SHARE_EVENT_PORT_SHIFT + port - 1);
	for (slot = 0; slot < SHARE_MAX_SLOTS; slot++)
		set(&header->device_events[slot], bit);
}

static int mark(const struct share_control *control, uint32_t element,
		uint32_t type)
{
	const uint32_t bit = type < 32 ? BIT(type) : 0;

	if (bit & CQ_TYPES)
		return mark_cq(control, element, bit);
	if (bit & QP_TYPES)
		return mark_qp(control, element, bit);
	if (bit & SRQ_TYPES)
		return mark_srq(control, element, bit);
	if (!(bit & DEVICE_TYPES))
		return ENOENT;
	mark_device(control, element, bit);
	return 0;
}

static uint32_t *landing(const struct share_control *control)
{
	return (uint32_t *)(void *)share_control_header(control)->async_landing;
}

int share_async_landed(const struct share_control *control)
{
	uint32_t *words = landing(control);

	/* an event has an object, or a port, which has a number from 1 */
	return share_load(&words[0]) || share_load(&words[1]) ||
	       share_load(&words[2]);
}

/* Under the lock. 1 if there was an event. */
static int publish(const struct share_control *control)
{
	struct share_control_header *header = share_control_header(control);
	struct ib_uverbs_async_event_desc desc;

	if (!share_async_landed(control))
		return 0;
	share_copy_in(&desc, header->async_landing, sizeof(desc));
	share_count(&header->async_count);
	/* our cookies have 32 bits */
	if (desc.element >> 32 ||
	    mark(control, (uint32_t)desc.element, desc.event_type))
		share_count(&header->async_unknown);
	share_clear(header->async_landing, sizeof(header->async_landing));
	return 1;
}

static int read_all(const struct share_control *control, int fd, int *any)
{
	struct share_control_header *header = share_control_header(control);
	ssize_t got;
	int i;

	*any = publish(control);
	for (i = 0; i < MAX_READS; i++) {
		got = read(fd, header->async_landing,
			   sizeof(header->async_landing));
		if (got < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : errno;
		if (got != sizeof(header->async_landing))
			return EIO;
		*any |= publish(control);
	}
	return 0;
}

int share_async_pump(const struct share_control *control, int fd)
{
	uint32_t *lock = &share_control_header(control)->async_lock;
	const struct share_env *env = &control->me.env;
	struct share_member me = control->me;
	int ret, any, saved = errno;

	if (me.timeout_ms > PATIENCE_MS)
		me.timeout_ms = PATIENCE_MS;
	ret = share_lock(lock, &me);
	if (ret && ret != EOWNERDEAD)
		return ret;
	ret = read_all(control, fd, &any);
	share_unlock(lock, &me);
	if (any)
		env->wake(env->arg, IB_UVERBS_SHARE_ALL_SLOTS);
	errno = saved;
	return ret;
}

int share_async_take(uint32_t *word)
{
	uint32_t now = share_load(word) & (BIT(SHARE_EVENT_PORT_SHIFT) - 1);
	uint32_t bit;

	while (now) {
		bit = now & -now;
		now = __atomic_fetch_and(word, ~bit, __ATOMIC_ACQUIRE);
		/* another thread may have taken it */
		if (now & bit)
			return __builtin_ctz(bit);
		now &= BIT(SHARE_EVENT_PORT_SHIFT) - 1;
	}
	return -1;
}
