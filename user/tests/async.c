// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Asynchronous events: each once to every process, whoever reads them and
 * whenever that one dies. The device is a socket that keeps messages apart, as
 * the kernel's queue does.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include "../async.h"
#include "../mailbox.h"
#include "bed.h"
#include "tap.h"

static struct bed bed;
static struct node a, b;
static int device[2];

static int begin(void)
{
	CHECK(bed_make(&bed, &a, 32, 64, 0));
	CHECK(bed_join(&bed, &b, 1, 1));
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, device));
	return 1;
}

static int end(void)
{
	close(device[0]);
	close(device[1]);
	bed_leave(&b);
	bed_free(&bed, &a);
	return 1;
}

static int raise_event(uint64_t element, uint32_t type)
{
	const struct ib_uverbs_async_event_desc desc = {
		.element = element,
		.event_type = type,
	};

	return write(device[1], &desc, sizeof(desc)) == sizeof(desc);
}

static uint32_t *qp_word(struct node *node)
{
	return &node->qp.view.body->events[node->control.me.slot];
}

static uint32_t *cq_word(struct node *node)
{
	return &share_mailbox_of(&node->cq.view, node->control.me.slot)->async;
}

static uint32_t *device_word(struct node *node)
{
	return &share_control_header(&node->control)
			->device_events[node->control.me.slot];
}

static uint32_t qp_cookie(void)
{
	return a.qp.view.attr.cookie;
}

static int woken(uint32_t slot)
{
	return (int)fake_read(bed.dev->wakes[slot]);
}

static int every_qp_type(void)
{
	static const enum ibv_event_type types[] = {
		IBV_EVENT_QP_FATAL,
		IBV_EVENT_QP_REQ_ERR,
		IBV_EVENT_QP_ACCESS_ERR,
		IBV_EVENT_COMM_EST,
		IBV_EVENT_SQ_DRAINED,
		IBV_EVENT_PATH_MIG,
		IBV_EVENT_PATH_MIG_ERR,
		IBV_EVENT_QP_LAST_WQE_REACHED,
	};
	size_t i;

	CHECK(begin());
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		CHECK(raise_event(qp_cookie(), types[i]));
		CHECK(!share_async_pump(&b.control, device[0]));
		CHECK(woken(0) && share_async_take(qp_word(&a)) == (int)types[i]);
		CHECK(share_async_take(qp_word(&b)) == (int)types[i]);
		CHECK(share_async_take(qp_word(&a)) == -1);
	}
	return end();
}

static int cq_and_device(void)
{
	CHECK(begin());
	CHECK(raise_event(a.cq.view.cookie, IBV_EVENT_CQ_ERR));
	CHECK(raise_event(1, IBV_EVENT_PORT_ERR));
	CHECK(raise_event(2, IBV_EVENT_PORT_ACTIVE));
	CHECK(!share_async_pump(&a.control, device[0]));
	CHECK(share_async_take(cq_word(&a)) == IBV_EVENT_CQ_ERR);
	CHECK(share_async_take(cq_word(&b)) == IBV_EVENT_CQ_ERR);
	CHECK(*device_word(&b) >> SHARE_EVENT_PORT_SHIFT == 3);
	CHECK(share_async_take(device_word(&b)) == IBV_EVENT_PORT_ACTIVE);
	CHECK(share_async_take(device_word(&b)) == IBV_EVENT_PORT_ERR);
	CHECK(share_async_take(device_word(&b)) == -1);
	CHECK(share_async_take(device_word(&a)) == IBV_EVENT_PORT_ACTIVE);
	return end();
}

/* of an object that is no more, or of a type that nobody knows: counted */
static int unknown(void)
{
	struct share_control_header *header;

	CHECK(begin());
	header = share_control_header(&a.control);
	CHECK(raise_event(4711, IBV_EVENT_COMM_EST));
	CHECK(raise_event(1ull << 32 | qp_cookie(), IBV_EVENT_COMM_EST));
	CHECK(raise_event(qp_cookie(), 31) && raise_event(qp_cookie(), 99));
	CHECK(!share_async_pump(&a.control, device[0]));
	CHECK(header->async_count == 4 && header->async_unknown == 4);
	CHECK(!*qp_word(&a) && !*device_word(&a));
	return end();
}

/* the reader is killed with the event half way */
static int reader_dies(void)
{
	struct share_control_header *header;
	int status;
	pid_t pid;

	CHECK(begin());
	header = share_control_header(&a.control);
	CHECK(raise_event(qp_cookie(), IBV_EVENT_COMM_EST));
	pid = fork();
	if (!pid) {
		if (share_lock(&header->async_lock, &b.control.me) ||
		    read(device[0], header->async_landing, 16) != 16)
			_exit(1);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(!*qp_word(&a) && share_async_landed(&a.control));
	fake_die(bed.dev, 1);
	CHECK(!share_async_pump(&a.control, device[0]));
	CHECK(share_async_take(qp_word(&a)) == IBV_EVENT_COMM_EST);
	CHECK(!share_async_landed(&a.control));
	return end();
}

/* it had told some already: these do not get it twice while they have it yet */
static int reader_dies_later(void)
{
	const struct ib_uverbs_async_event_desc desc = {
		.element = 2,
		.event_type = IBV_EVENT_COMM_EST,
	};
	struct share_control_header *header;

	CHECK(begin());
	header = share_control_header(&a.control);
	CHECK(qp_cookie() == 2);
	share_copy_out(header->async_landing, &desc, sizeof(desc));
	*qp_word(&a) = 1u << IBV_EVENT_COMM_EST;
	CHECK(!share_async_pump(&a.control, device[0]));
	CHECK(share_async_take(qp_word(&a)) == IBV_EVENT_COMM_EST);
	CHECK(share_async_take(qp_word(&a)) == -1);
	CHECK(share_async_take(qp_word(&b)) == IBV_EVENT_COMM_EST);
	return end();
}

/* a process that is stopped does not hang the others, and loses nothing */
static int reader_is_stopped(void)
{
	uint32_t *lock;

	CHECK(begin());
	lock = &share_control_header(&a.control)->async_lock;
	CHECK(raise_event(qp_cookie(), IBV_EVENT_COMM_EST));
	CHECK(!share_lock(lock, &b.control.me));
	CHECK(share_async_pump(&a.control, device[0]) == ETIMEDOUT);
	share_unlock(lock, &b.control.me);
	CHECK(!share_async_pump(&a.control, device[0]));
	CHECK(share_async_take(qp_word(&a)) == IBV_EVENT_COMM_EST);
	return end();
}

/* who joins later does not get what was before */
static int joins_later(void)
{
	CHECK(begin());
	CHECK(raise_event(qp_cookie(), IBV_EVENT_COMM_EST));
	CHECK(raise_event(1, IBV_EVENT_PORT_ERR));
	CHECK(raise_event(a.cq.view.cookie, IBV_EVENT_CQ_ERR));
	CHECK(!share_async_pump(&a.control, device[0]));
	bed_leave(&b);
	CHECK(bed_join(&bed, &b, 1, 2));
	CHECK(!*qp_word(&b) && !*device_word(&b) && !*cq_word(&b));
	CHECK(*qp_word(&a) && *device_word(&a) && *cq_word(&a));
	return end();
}

static int device_goes(void)
{
	CHECK(begin());
	close(device[1]);
	CHECK(share_async_pump(&a.control, device[0]) == EIO);
	return end();
}

#define READERS 4
#define EVENTS 2000

/* Four processes read; each has to see every type that was raised last. */
static int read_many(struct node *node, int go)
{
	int i, ret;
	char c;

	if (read(go, &c, 1) != 1)
		return 1;
	for (i = 0; i < EVENTS; i++) {
		ret = share_async_pump(&node->control, device[0]);
		/* on a busy machine the one with the lock may be stopped */
		if (ret && ret != ETIMEDOUT)
			return 1;
	}
	return !*qp_word(node);
}

static int many_readers(void)
{
	struct node nodes[READERS];
	int i, status, go[2];
	pid_t pids[READERS];

	CHECK(begin());
	CHECK(!pipe(go));
	for (i = 0; i < READERS; i++) {
		CHECK(bed_join(&bed, &nodes[i], (uint32_t)i + 2, 1));
		pids[i] = fork();
		if (!pids[i])
			_exit(read_many(&nodes[i], go[0]));
	}
	for (i = 0; i < 100; i++)
		CHECK(raise_event(qp_cookie(), IBV_EVENT_COMM_EST));
	CHECK(write(go[1], "12345678", READERS) == READERS);
	for (i = 0; i < READERS; i++)
		CHECK(waitpid(pids[i], &status, 0) == pids[i] && !status);
	CHECK(share_control_header(&a.control)->async_count == 100);
	for (i = 0; i < READERS; i++) {
		CHECK(*qp_word(&nodes[i]) == 1u << IBV_EVENT_COMM_EST);
		bed_leave(&nodes[i]);
	}
	close(go[0]);
	close(go[1]);
	return end();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(every_qp_type),
		TEST(cq_and_device),
		TEST(unknown),
		TEST(reader_dies),
		TEST(reader_dies_later),
		TEST(reader_is_stopped),
		TEST(joins_later),
		TEST(device_goes),
		TEST(many_readers),
	};

	return RUN_TESTS(tests);
}
