// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Who gets a completion, if not the process that posted the request: the first
 * to poll, where that was wished for; the heir of a dead process, and the heir
 * of the heir. And that slots of processes that come and go are never used up.
 */
#include <errno.h>
#include "../futex.h"
#include "../mailbox.h"
#include "../recover.h"
#include "bed.h"
#include "tap.h"

#define ATTACHMENTS 10000

static struct bed bed;
static struct node exporter, second, third;
static uint64_t buffers[64];
static struct ibv_wc wc[64];

static int setup(uint32_t flags)
{
	bed_cq_flags = flags;
	CHECK(bed_make(&bed, &exporter, 16, 64, 0));
	bed_cq_flags = 0;
	return bed_join(&bed, &second, 1, 1) && bed_join(&bed, &third, 2, 1);
}

static int teardown(void)
{
	CHECK(!bed.dev->cqs[0].overflows);
	CHECK(!share_load(&exporter.cq.view.body->counters.lost));
	CHECK(!share_load(&exporter.cq.view.body->counters.impossible));
	bed_leave(&third);
	bed_leave(&second);
	bed_free(&bed, &exporter);
	return 1;
}

static int drained(uint32_t slots)
{
	struct share_cq_body *body = exporter.cq.view.body;
	uint32_t i;

	CHECK(!share_load(&body->credits));
	for (i = 0; i < slots; i++)
		CHECK(!share_load(&body->mailboxes[i].quota));
	return 1;
}

static void die(struct node *node)
{
	share_store(&bed.dev->generations[node->control.me.slot], 0);
}

/* All receives are of one process; two others take the messages. */
static int whoever_polls(void)
{
	uint32_t i, seen = 0;
	int n;

	CHECK(setup(SHARE_CQ_ANY));
	for (i = 0; i < 6; i++) {
		CHECK(!bed_recv(&exporter, i, &buffers[i]));
		CHECK(!bed_send(&exporter, 6 + i, 1000 + i, IBV_SEND_SIGNALED));
	}
	fake_step(bed.dev);
	for (i = 0; i < 12; i++) {
		n = share_poll(i % 2 ? &second.cq : &third.cq, 1, wc);
		CHECK(n == 1 && wc[0].wr_id < 12);
		CHECK(wc[0].wr_id >= 6 || buffers[wc[0].wr_id] == 1000 + wc[0].wr_id);
		seen |= 1u << wc[0].wr_id;
	}
	CHECK(seen == 0xfff);
	CHECK(!share_poll(&exporter.cq, 64, wc) && !share_poll(&second.cq, 64, wc));
	CHECK(drained(3));
	return teardown();
}

/* Who does not poll takes nothing, though it looks into the ring for room. */
static int posters_leave_it(void)
{
	struct share_kicks kicks = { .num = 0 };
	int i;

	CHECK(setup(SHARE_CQ_ANY));
	for (i = 0; i < 15; i++)
		CHECK(!bed_recv(&exporter, (uint64_t)i, &buffers[i]));
	for (i = 0; i < 15; i++)
		CHECK(!bed_send(&second, 100, 1, IBV_SEND_SIGNALED));
	fake_step(bed.dev);
	CHECK(!share_steer(&second.cq, &kicks));
	share_steer_kick(&second.cq, &kicks);
	CHECK(share_mailbox_empty(&second.cq.view, 1));
	CHECK(share_poll(&third.cq, 64, wc) == 30);
	CHECK(drained(3));
	return teardown();
}

/* Taken from the ring, but the process was dead before its poll returned. */
static int taken_and_dead(void)
{
	struct share_kicks kicks = { .num = 0 };
	int i;

	CHECK(setup(SHARE_CQ_ANY));
	for (i = 0; i < 4; i++) {
		CHECK(!bed_recv(&third, (uint64_t)i, &buffers[i]));
		CHECK(!bed_send(&third, 100, 1, IBV_SEND_SIGNALED));
	}
	fake_step(bed.dev);
	/* as RESET does: what has completed is the caller's */
	CHECK(!share_steer_locked(&second.cq, &second.control.me, 0, &kicks));
	share_unlock(&second.cq.view.body->lock, &second.control.me);
	CHECK(share_mailbox_count(&second.cq.view, 1) == 8);
	die(&second);
	CHECK(!share_recover(&third.control));
	CHECK(!share_poll(&third.cq, 64, wc));
	CHECK(share_poll(&exporter.cq, 64, wc) == 8);
	share_recount_if_needed(&exporter.cq);
	CHECK(drained(1));
	return teardown();
}

/* The first heir dies with what it had, and with what it has inherited. */
static int heir_of_the_heir(void)
{
	const uint32_t heirs[] = { share_owner_word(2, 1), share_owner_word(0, 1) };
	struct node fourth;
	int i;

	CHECK(setup(0));
	CHECK(bed_join(&bed, &fourth, 3, 1));
	share_control_set_heirs(&exporter.control, heirs, 2);
	for (i = 0; i < 3; i++)
		CHECK(!bed_recv(&second, (uint64_t)i, &buffers[i]));
	CHECK(!bed_send(&third, 10, 1, IBV_SEND_SIGNALED));
	CHECK(!bed_send(&second, 11, 1, IBV_SEND_SIGNALED));
	fake_step(bed.dev);
	CHECK(!share_poll(&exporter.cq, 64, wc));
	CHECK(share_mailbox_count(&exporter.cq.view, 1) == 3);
	die(&second);
	CHECK(!share_recover(&exporter.control));
	/* two messages, their receives: 1 of its own, 3 inherited */
	CHECK(share_mailbox_count(&exporter.cq.view, 2) == 4);
	CHECK(!share_mailbox_count(&exporter.cq.view, 0));
	die(&third);
	/* by somebody who is no heir */
	CHECK(!share_recover(&fourth.control));
	CHECK(!share_poll(&fourth.cq, 64, wc));
	CHECK(share_poll(&exporter.cq, 64, wc) == 4);
	/* what was outstanding when both were dead */
	CHECK(!bed_send(&exporter, 12, 1, IBV_SEND_SIGNALED));
	fake_step(bed.dev);
	CHECK(share_poll(&exporter.cq, 64, wc) == 2);
	bed_leave(&fourth);
	return teardown();
}

/* Nobody of the list is there: whoever finds it, keeps it. */
static int no_heir(void)
{
	CHECK(setup(0));
	share_control_set_heirs(&exporter.control, NULL, 0);
	CHECK(!bed_recv(&second, 7, buffers));
	CHECK(!bed_send(&third, 8, 1, IBV_SEND_SIGNALED));
	die(&second);
	CHECK(!share_recover(&third.control));
	fake_step(bed.dev);
	CHECK(share_poll(&third.cq, 64, wc) == 2);
	return teardown();
}

/* Some leave, some die with a lock, with mail or with what they had posted. */
static int come_and_go(void)
{
	uint32_t i, generation = 1;
	struct node node;
	int got = 0;

	CHECK(setup(0));
	for (i = 0; i < ATTACHMENTS; i++) {
		CHECK(bed_join(&bed, &node, 3, ++generation));
		CHECK(!bed_recv(i % 3 ? &node : &exporter, i, buffers));
		CHECK(!bed_send(i % 2 ? &node : &exporter, i, 1, IBV_SEND_SIGNALED));
		if (i % 5)
			fake_step(bed.dev);
		if (i % 7 == 0)
			got += share_poll(&node.cq, 64, wc);
		if (i % 11 == 0)
			CHECK(share_lock(&node.cq.view.body->lock, &node.control.me) != ETIMEDOUT);
		die(&node);
		bed_leave(&node);
		got += share_poll(&exporter.cq, 64, wc);
	}
	CHECK(bed_join(&bed, &node, 3, ++generation));
	fake_step(bed.dev);
	for (i = 0; i < 1000 && (got < 2 * ATTACHMENTS ||
				 share_load(&exporter.cq.view.body->recount));
	     i++) {
		share_futex_wait(&exporter.cq.view.body->lock, ~0u, 1);
		got += share_poll(&exporter.cq, 64, wc) + share_poll(&node.cq, 64, wc);
	}
	printf("# %d of %d\n", got, 2 * ATTACHMENTS);
	CHECK(got == 2 * ATTACHMENTS);
	share_recount_if_needed(&exporter.cq);
	CHECK(drained(4));
	bed_leave(&node);
	return teardown();
}

int main(void)
{
	static const struct test tests[] = {
		TEST(whoever_polls),
		TEST(posters_leave_it),
		TEST(taken_and_dead),
		TEST(heir_of_the_heir),
		TEST(no_heir),
		TEST(come_and_go),
	};

	return RUN_TESTS(tests);
}
