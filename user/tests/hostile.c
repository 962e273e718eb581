// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A peer that writes nonsense into every word of the control segment and the
 * rings while this process posts and polls. It may spoil what is shared; it
 * may not crash us, hang us, or make us write anywhere else: segment and rings
 * stand between pages that cannot be touched.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include "../async.h"
#include "../directory.h"
#include "../event.h"
#include "../gate.h"
#include "../provider.h"
#include "bed.h"
#include "tap.h"

#define SECONDS 3
/* locks are waited for 30 ms; the rest is for a slow machine */
#define LONGEST_CALL 5.0

#ifdef __SANITIZE_THREAD__
/* ring entries are plain memory, and broken locks let victims race for them */
#define VICTIMS 1
#define ATTACK_ENTRIES 0
#else
#define VICTIMS 2
#define ATTACK_ENTRIES 1
#endif

/*
 * struct target - memory that is attacked
 * @words: how many of its words
 * @good: what was there before
 */
struct target {
	uint32_t *at;
	uint32_t *good;
	size_t words;
};

static struct bed bed;
static struct node node;
static struct target targets[8];
static unsigned int num_targets;
static uint32_t stop;
static uint32_t calls, worked;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint32_t random_word(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 32);
}

static void add_target(void *at, size_t bytes)
{
	struct target *t = &targets[num_targets++];

	t->at = at;
	t->words = bytes / 4;
	t->good = malloc(bytes);
	if (!t->good)
		abort();
	share_copy_in(t->good, at, bytes);
}

static int either(void *arg, uint32_t slot, uint32_t generation)
{
	uint32_t *n = arg;

	return (__atomic_add_fetch(n, 1, __ATOMIC_RELAXED) + slot +
		generation) %
		       3 !=
	       0;
}

static int kick(void *arg, uint32_t qp, uint32_t flags)
{
	(void)arg;
	return (int)(qp + flags) % 7;
}

static int wake(void *arg, uint32_t slot)
{
	(void)arg;
	return slot > SHARE_MAX_SLOTS ? EINVAL : 0;
}

static int arm(void *arg, uint32_t cq, int solicited)
{
	(void)arg;
	return cq % 3 || solicited ? 0 : ENOENT;
}

static int open_paths(struct node *n)
{
	struct fake_cq *cq = &bed.dev->cqs[0];
	struct fake_qp *qp = &bed.dev->qps[0];
	int ret;

	ret = share_cq_path_init(&n->cq, &n->control, 0, &share_provider_rxe,
				 cq->ring, cq->bytes);
	if (!ret)
		ret = share_qp_path_init(&n->qp, &n->control, 0, &n->cq,
					 &n->cq, &share_provider_rxe,
					 qp->sq.ring, qp->sq.bytes,
					 qp->rq.ring, qp->rq.bytes);
	return ret;
}

static void add_body(uint64_t offset, size_t bytes)
{
	add_target(node.control.base + offset, bytes);
}

static int setup(void)
{
	static uint32_t asked;
	struct fake_cq *cq;
	struct fake_qp *qp;

	CHECK(bed_make(&bed, &node, 16, 32, 0));
	node.control.base = bed_between_guards(node.control.base,
					       node.control.bytes);
	node.control.me.env =
		(struct share_env){ either, kick, wake, arm, &asked };
	node.control.me.timeout_ms = 30;
	cq = &bed.dev->cqs[0];
	qp = &bed.dev->qps[0];
	cq->ring = bed_guard_ring(cq->ring, cq->bytes);
	qp->sq.ring = bed_guard_ring(qp->sq.ring, qp->sq.bytes);
	qp->rq.ring = bed_guard_ring(qp->rq.ring, qp->rq.bytes);
	CHECK(!open_paths(&node));

	add_target(node.control.base, sizeof(struct share_control_header));
	add_target(share_control_slot(&node.control, 0), 256);
	add_target(share_control_cqs(&node.control), 256);
	add_target(share_control_qps(&node.control), 256);
	add_body(share_control_cqs(&node.control)->offset, 1024);
	add_body(share_control_qps(&node.control)->offset,
		 sizeof(struct share_qp_body) + 32 * 32);
	add_target(cq->ring, cq->bytes);
	add_target(qp->sq.ring, ATTACK_ENTRIES ? qp->sq.bytes : 384);
	return 1;
}

static uint32_t bad_value(uint64_t *seed, uint32_t good)
{
	uint32_t r = random_word(seed);

	switch (r % 8) {
	case 0:
		return 0;
	case 1:
		return ~0u;
	case 2:
		return good + 1;
	case 3:
		return good - 1;
	case 4:
		return r >> 8 & 63;
	case 5:
		return 1u << (r >> 8 & 31);
	default:
		return random_word(seed);
	}
}

/* A completion that looks good, so that more than the first check is tried. */
static void forge(uint64_t *seed)
{
	struct rxe_queue_buf *queue = bed.dev->cqs[0].ring;
	uint32_t at = share_load(&queue->producer_index) & 31, r, tail;
	struct share_qp_body *body = node.qp.view.body;
	struct ib_uverbs_wc wc = { .status = 0 };

	r = random_word(seed);
	tail = share_load(r & 1 ? &body->send.tail : &body->recv.tail);
	wc.wr_id = share_cookie(r & 1 ? 1 : 2, 0, share_load(&body->epoch),
				tail + (r >> 1) % 4);
	wc.status = r & 64 ? 0 : r >> 8 & 31;
	share_copy_out(queue->data + ((size_t)at << queue->log2_elem_size), &wc,
		       sizeof(wc));
	share_store_release(&queue->producer_index, (at + 1) & 31);
}

static void restore(struct target *t)
{
	size_t i;

	for (i = 0; i < t->words; i++)
		share_store(&t->at[i], t->good[i]);
}

static void *attack(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	struct target *t;
	uint32_t i, round = 0;
	size_t at;

	while (!share_load(&stop)) {
		t = &targets[random_word(&seed) % num_targets];
		at = random_word(&seed) % t->words;
		/* its geometry is read by nobody but forge() and open_paths() */
		if (t->at != bed.dev->cqs[0].ring || at > 1)
			share_store(&t->at[at], bad_value(&seed, t->good[at]));
		if (round % 2)
			forge(&seed);
		if (round++ % 16 == 0) {
			for (i = 0; i < num_targets; i++)
				restore(&targets[i]);
		}
		if (round % 64 == 0)
			usleep(50);
	}
	return NULL;
}

static int other_calls(struct node *n, uint32_t r)
{
	const struct share_cq_attr cq = { .capacity = 31 };
	struct share_qp_attr qp = n->qp.view.attr;
	struct share_control control = n->control;
	uint32_t index;

	switch (r % 18) {
	case 13:
		return share_event_arm(&n->cq, r >> 8 & 1);
	case 14:
		share_event_recheck(&n->cq);
		return !share_event_take(&n->cq);
	case 15:
		share_event_dispatch(&n->cq);
		return 0;
	case 16:
		share_event_posted(&n->cq);
		return 0;
	case 17:
		return share_async_pump(&n->control, bed.dev->cqs[0].events);
	case 8:
		return share_gate_wait(&n->qp, r & 256 ? SHARE_GATE_POST : SHARE_GATE_OPEN, 30);
	case 9:
		return share_gate_collect(&n->qp, r >> 8 & 3, r >> 10 & 7, 30);
	case 10:
		return share_gate_drain(&n->qp, 30);
	case 11:
		return share_gate_report(&n->qp, 1);
	case 12:
		share_gate_begin(&n->qp);
		return share_gate_open(&n->qp);
	case 0:
		return share_qp_begin_reset(&n->qp);
	case 1:
		return share_qp_set_state(&n->qp, IBV_QPS_RESET);
	case 2:
		return share_qp_set_state(&n->qp, IBV_QPS_ERR);
	case 3:
		return share_control_slot_reset(&control);
	case 4:
		qp.send_cq = 1;
		return share_control_add_qp(&control, &qp, &index);
	case 5:
		return share_control_add_cq(&control, &cq, &index);
	case 6:
		return share_control_del_cq(&control, r >> 8 & 7);
	default:
		return open_paths(&(struct node){ .control = control });
	}
}

static void *victim(void *arg)
{
	static double longest[VICTIMS];
	uint64_t id = (uintptr_t)arg, seed = id;
	struct node mine = node;
	struct ibv_wc wc[8];
	uint64_t buffer;
	double start;
	uint32_t r;
	int n;

	while (!share_load(&stop)) {
		start = seconds();
		/* as another process would */
		mine.cq.corrupt = 0;
		mine.qp.corrupt = 0;
		r = random_word(&seed);
		if (r % 8 < 3)
			n = bed_send(&mine, 1, r, r & 64 ? 0 : IBV_SEND_SIGNALED);
		else if (r % 8 < 5)
			n = bed_recv(&mine, 2, &buffer);
		else if (r % 256 == 7)
			n = other_calls(&mine, r >> 8);
		else
			n = share_poll(&mine.cq, 8, wc) < 1;
		if (seconds() - start > longest[id])
			longest[id] = seconds() - start;
		__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
		if (!n)
			__atomic_fetch_add(&worked, 1, __ATOMIC_RELAXED);
	}
	return &longest[id];
}

static int every_word(void)
{
	pthread_t attacker, victims[VICTIMS];
	void *longest;
	uintptr_t i;

	CHECK(setup());
	CHECK(!pthread_create(&attacker, NULL, attack, (void *)1));
	for (i = 0; i < VICTIMS; i++)
		CHECK(!pthread_create(&victims[i], NULL, victim, (void *)i));
	sleep(SECONDS);
	share_store(&stop, 1);
	pthread_join(attacker, NULL);
	for (i = 0; i < VICTIMS; i++) {
		pthread_join(victims[i], &longest);
		printf("# longest call %.3f s\n", *(double *)longest);
		CHECK(*(double *)longest < LONGEST_CALL);
	}
	printf("# %u calls, %u did something\n", calls, worked);
	CHECK(calls > 100 && worked > 10);
	return 1;
}

int main(void)
{
	static const struct test tests[] = {
		TEST(every_word),
	};

	return RUN_TESTS(tests);
}
