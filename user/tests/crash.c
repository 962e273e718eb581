// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A process is killed after each single store of what it does with a shared
 * QP, and between them; another one carries on. All messages and completions have numbers:
 * each is seen exactly once, and in the end no credit is missing.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../mailbox.h"
#include "../provider.h"
#include "../recover.h"
#include "crash_stage.h"
#include "tap.h"

/* no status of a completion */
#define NOTHING ((enum ibv_wc_status)0xffff)

static struct node third;

/* 3 of the exporter's messages are on their way, then 3 of the victim's. */
static int prepare_send(void)
{
	uint32_t i;

	for (i = 0; i < 12; i++)
		CHECK(recv_number(&exporter, 100 + i));
	for (i = 0; i < 3; i++)
		CHECK(send_number(&exporter, 200 + i));
	return 1;
}

static void act_send(void)
{
	uint64_t payload[3] = { 300, 301, 302 };
	struct ibv_send_wr wr[3], *bad;
	struct ibv_sge sge[3];
	int i;

	memset(wr, 0, sizeof(wr));
	for (i = 0; i < 3; i++) {
		sge[i] = (struct ibv_sge){ (uintptr_t)&payload[i], 8, 0 };
		wr[i].wr_id = payload[i];
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	if (share_post_send(&victim.qp, wr, &bad))
		abort();
}

/* All of the victim's call, or nothing; all of the others. */
static int verify_send(int ended)
{
	const struct share_wq *wq = &exporter.qp.view.body->send;
	uint32_t published = exporter.qp.sq.provider->published(&exporter.qp.sq);
	uint32_t i, posted;

	CHECK(published == 3 || published == 6);
	CHECK(!ended || published == 6);
	CHECK(!share_posted(&exporter.qp, SHARE_COOKIE_SEND, &posted) && posted == published);
	for (i = 0; i < 3; i++)
		CHECK(send_number(&exporter, 203 + i));
	CHECK(share_load(&wq->head) == published + 3);
	CHECK(poll_for(2 * (published + 3)));
	CHECK(sum(arrived, 200, 206) == 6 && sum(got, 200, 206) == 6);
	CHECK(sum(arrived, 300, 303) == published - 3);
	CHECK(sum(got, 300, 303) == published - 3);
	/* use up the other receives */
	for (i = published + 3; i < 12; i++)
		CHECK(send_number(&exporter, 400 + i));
	return poll_for(24);
}

static int send_kills(void)
{
	static const struct scene scene = { prepare_send, act_send, verify_send };

	return run(&scene);
}

static int prepare_recv(void)
{
	return recv_number(&exporter, 100);
}

static void act_recv(void)
{
	struct ibv_recv_wr wr[3], *bad;
	struct ibv_sge sge[3];
	int i;

	memset(wr, 0, sizeof(wr));
	for (i = 0; i < 3; i++) {
		sge[i] = (struct ibv_sge){
			(uintptr_t)&common->buffers[110 % MANY + i], 8, 0
		};
		wr[i].wr_id = 110 + i;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	if (share_post_recv(&victim.qp, wr, &bad))
		abort();
}

static int verify_recv(int ended)
{
	uint32_t published = exporter.qp.rq.provider->published(&exporter.qp.rq);
	uint32_t i, posted;

	CHECK(published == 1 || published == 4);
	CHECK(!ended || published == 4);
	CHECK(!share_posted(&exporter.qp, SHARE_COOKIE_RECV, &posted) && posted == published);
	for (i = 0; i < 2; i++)
		CHECK(recv_number(&exporter, 120 + i));
	for (i = 0; i < published + 2; i++)
		CHECK(send_number(&exporter, 200 + i));
	CHECK(poll_for(2 * (published + 2)));
	CHECK(sum(got, 110, 113) == published - 1);
	CHECK(sum(arrived, 200, 210) == published + 2);
	return 1;
}

static int recv_kills(void)
{
	static const struct scene scene = { prepare_recv, act_recv, verify_recv };

	return run(&scene);
}

/* 4 completions of each are in the ring, in turns. */
static int prepare_poll(void)
{
	uint32_t i;

	for (i = 0; i < 4; i++)
		CHECK(recv_number(i % 2 ? &exporter : &victim, 100 + i));
	for (i = 0; i < 4; i++)
		CHECK(send_number(i / 2 ? &exporter : &victim, 200 + i));
	fake_step(bed.dev);
	for (i = 0; i < MANY; i++)
		common->wc[i].status = NOTHING;
	return 1;
}

static void act_poll(void)
{
	int n = share_poll(&victim.cq, 8, common->wc);

	if (n < 0)
		abort();
	common->polled = (uint32_t)n;
}

/*
 * Bits of the completions that the victim's poll has returned, or would have: of
 * receive 100 + i bit i, of send 200 + i bit 4 + i. No half of one is among them.
 */
static int left_by_victim(uint32_t *seen)
{
	const struct ibv_wc *wc = common->wc;
	uint32_t bit;

	*seen = 0;
	for (; wc->status != NOTHING; wc++) {
		CHECK(wc->wr_id >= 100 && wc->wr_id < 204 && wc->qp_num == 17);
		CHECK(wc->opcode == (wc->wr_id < 200 ? IBV_WC_RECV : IBV_WC_SEND));
		CHECK(wc->byte_len == 8 && wc->status == IBV_WC_SUCCESS);
		bit = (uint32_t)wc->wr_id % 100 + (wc->wr_id < 200 ? 0 : 4);
		CHECK(!(*seen & 1u << bit));
		*seen |= 1u << bit;
	}
	return 1;
}

/*
 * Either the victim has all of its own, or the heir gets them; then some may be
 * in memory as well.
 */
static int verify_poll(int ended)
{
	const struct share_mailbox *box =
		share_mailbox_of(&exporter.cq.view, 1);
	const uint32_t taken = share_load(&box->consumer);
	uint32_t seen;

	CHECK(taken == 0 || taken == 4);
	CHECK(!ended || (taken == 4 && common->polled == 4));
	CHECK(left_by_victim(&seen));
	CHECK(taken ? seen == 0x35 : !(seen & ~0x35u));
	CHECK(poll_for(8 - taken));
	CHECK(got[101] == 1 && got[103] == 1);
	CHECK(got[202] == 1 && got[203] == 1);
	return 1;
}

static int poll_kills(void)
{
	static const struct scene scene = { prepare_poll, act_poll, verify_poll };

	return run(&scene);
}

/* The same, but the exporter has filled the victim's mailbox before. */
static int prepare_mail(void)
{
	CHECK(prepare_poll());
	CHECK(poll_once() && poll_once());
	CHECK(sum(got, 0, 1024) == 4);
	return 1;
}

static int verify_mail(int ended)
{
	const uint32_t taken = share_load(
		&share_mailbox_of(&exporter.cq.view, 1)->consumer);

	CHECK(taken == 0 || taken == 4);
	CHECK(!ended || (taken == 4 && common->polled == 4));
	return poll_for(8 - taken);
}

static int mailbox_kills(void)
{
	static const struct scene scene = { prepare_mail, act_poll, verify_mail };

	return run(&scene);
}

/*
 * Slot 2 has died with mail and requests; the victim cleans up after it, or is
 * the next process in that slot.
 */
static int prepare_death(void)
{
	uint32_t i;

	CHECK(bed_join(&bed, &third, 2, 1));
	for (i = 0; i < 6; i++) {
		CHECK(recv_number(&third, 100 + i));
		if (i < 3)
			CHECK(send_number(&exporter, 200 + i));
	}
	CHECK(poll_once());
	CHECK(sum(got, 0, 1024) == 3);
	share_store(&bed.dev->generations[2], 0);
	bed_leave(&third);
	return 1;
}

static void act_recover(void)
{
	victim.control.me.recheck_ms = 1;
	if (share_recover(&victim.control))
		abort();
}

static int verify_death(int ended)
{
	uint32_t i;

	(void)ended;
	for (i = 3; i < 6; i++)
		CHECK(send_number(&exporter, 200 + i));
	CHECK(poll_for(12));
	CHECK(sum(got, 100, 106) == 6 && sum(arrived, 200, 206) == 6);
	return 1;
}

static int recovery_kills(void)
{
	static const struct scene scene = { prepare_death, act_recover, verify_death };

	return run(&scene);
}

static void act_join(void)
{
	victim.control.me.recheck_ms = 1;
	victim.control.me.slot = 2;
	victim.control.me.generation = 2;
	share_store(&bed.dev->generations[2], 2);
	if (share_control_slot_reset(&victim.control))
		abort();
}

static int verify_join(int ended)
{
	struct node next;

	share_store(&bed.dev->generations[2], 0);
	CHECK(verify_death(ended));
	CHECK(bed_join(&bed, &next, 2, 3));
	bed_leave(&next);
	return 1;
}

static int join_kills(void)
{
	static const struct scene scene = { prepare_death, act_join, verify_join };

	return run(&scene);
}

/* Two are through, two are not, when the QP is reset. */
static int prepare_reset(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++)
		CHECK(recv_number(&victim, 100 + i));
	for (i = 0; i < 4; i++)
		CHECK(send_number(&exporter, 200 + i));
	fake_step(bed.dev);
	return 1;
}

static void act_begin_reset(void)
{
	if (share_qp_begin_reset(&victim.qp))
		abort();
}

/* Somebody else finishes it, in the usual way or from INIT on. */
static int finish_reset(void)
{
	CHECK(bed_reset(&bed, &exporter.qp));
	CHECK(bed_rts(&bed, &exporter.qp));
	/* what has come, and nothing of what has not */
	return poll_for(4) && sum(got, 100, 102) == 2 &&
	       sum(got, 200, 202) == 2;
}

static int verify_begin_reset(int ended)
{
	(void)ended;
	return finish_reset();
}

static int begin_reset_kills(void)
{
	static const struct scene scene = { prepare_reset, act_begin_reset,
					    verify_begin_reset };

	return run(&scene);
}

static int prepare_end_reset(void)
{
	CHECK(prepare_reset());
	CHECK(!share_qp_begin_reset(&exporter.qp));
	fake_modify(bed.dev, 0, IBV_QPS_RESET);
	return 1;
}

static void act_end_reset(void)
{
	if (share_qp_set_state(&victim.qp, IBV_QPS_RESET))
		abort();
}

static int verify_end_reset(int ended)
{
	(void)ended;
	CHECK(bed_rts(&bed, &exporter.qp));
	return poll_for(4);
}

static int end_reset_kills(void)
{
	static const struct scene scene = { prepare_end_reset, act_end_reset,
					    verify_end_reset };

	return run(&scene);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(send_kills),
		TEST(recv_kills),
		TEST(poll_kills),
		TEST(mailbox_kills),
		TEST(recovery_kills),
		TEST(join_kills),
		TEST(begin_reset_kills),
		TEST(end_reset_kills),
	};

	srandom((unsigned int)time(NULL));
	return RUN_TESTS(tests);
}
