// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Waiting at the gate. Nobody sleeps for long: after a sleep in which nothing
 * happened the other side may be dead.
 */
#include <errno.h>
#include "futex.h"
#include "gate.h"

#define FIRST_SLEEP_MS 1

static int server_is_alive(const struct share_qp_path *path)
{
	struct share_gate *gate = share_gate_of(path);
	uint32_t generation = share_load_acquire(&gate->server_generation);

	return share_gate_is_alive(path, share_load(&gate->server),
				   generation);
}

/*
 * struct waiting - for what
 * @judge: 0 or an errno value ends it, EAGAIN goes on. @ask: it is time to ask
 *	who is alive
 * @workers, @receives: the server's
 */
struct waiting {
	int (*judge)(struct share_qp_path *path, const struct waiting *w,
		     int ask);
	uint32_t workers;
	uint32_t receives;
};

/* What is left of @timeout_ms, but not more than a sleep may last. */
static uint32_t time_left(uint32_t start, int timeout_ms)
{
	const uint32_t gone = share_now_ms() - start;

	if (timeout_ms < 0 ||
	    (gone < (uint32_t)timeout_ms &&
	     (uint32_t)timeout_ms - gone > SHARE_LOCK_RECHECK_MS))
		return SHARE_LOCK_RECHECK_MS;
	return gone < (uint32_t)timeout_ms ? (uint32_t)timeout_ms - gone : 0;
}

/* Looks for the last time when there is no time left. */
static int wait_until(struct share_qp_path *path, const struct waiting *w,
		      uint32_t *word, int timeout_ms)
{
	uint32_t start = share_now_ms(), asked = start;
	uint32_t step = FIRST_SLEEP_MS, left, seen;
	int saved = errno, ask, ret;

	for (;;) {
		seen = share_load_acquire(word);
		left = time_left(start, timeout_ms);
		ask = !left || share_now_ms() - asked >= SHARE_LOCK_RECHECK_MS;
		if (ask)
			asked = share_now_ms();
		if (share_control_qp_live(path->control, &path->view))
			ret = ENOLINK;
		else
			ret = w->judge(path, w, ask);
		if (ret != EAGAIN || !left)
			break;
		share_futex_wait(word, seen, left < step ? left : step);
		step *= 2;
		if (step > SHARE_LOCK_RECHECK_MS)
			step = SHARE_LOCK_RECHECK_MS;
	}
	errno = saved;
	return ret == EAGAIN ? ETIMEDOUT : ret;
}

static int enough(struct share_qp_path *path, const struct waiting *w, int ask)
{
	struct share_gate_count count;

	(void)ask;
	share_gate_peek(path, &count);
	if (count.phase != SHARE_GATE_POST ||
	    share_qp_state(path) == IBV_QPS_ERR)
		return ECONNRESET;
	return count.workers >= w->workers && count.receives >= w->receives ? 0 : EAGAIN;
}

int share_gate_collect(struct share_qp_path *path, uint32_t workers,
		       uint32_t receives, int timeout_ms)
{
	const struct waiting w = { .judge = enough,
				   .workers = workers,
				   .receives = receives };
	const uint32_t entries = path->view.attr.rq_entries;
	enum ibv_qp_state state = share_qp_state(path);

	/* a ring holds one less than it has entries */
	if (workers > SHARE_MAX_SLOTS || (receives && receives >= entries))
		return EINVAL;
	if (state >= IBV_QPS_RTR && state < IBV_QPS_ERR)
		return EINVAL;
	share_gate_set_server(path);
	return wait_until(path, &w, &share_gate_of(path)->changes, timeout_ms);
}

/*
 * Completions are steered to who they are for, so that the queues come to
 * their end also when nobody polls.
 */
static void steer(struct share_cq_path *cq)
{
	struct share_kicks kicks = { .num = 0 };

	if (cq && !share_steer(cq, &kicks) && kicks.num)
		share_steer_kick(cq, &kicks);
}

static int is_drained(struct share_qp_path *path, const struct waiting *w,
		      int ask)
{
	struct share_qp_body *body = path->view.body;
	struct share_gate *gate = share_gate_of(path);
	uint32_t i, generation;

	(void)w;
	steer(path->send_cq);
	if (path->recv_cq != path->send_cq)
		steer(path->recv_cq);
	for (i = 0; i < SHARE_MAX_SLOTS; i++) {
		generation = share_load_acquire(&gate->arrived[i]);
		if (generation &&
		    (!ask || share_gate_is_alive(path, i, generation)))
			return EAGAIN;
	}
	if (share_gate_outstanding(&body->send, path->view.attr.sq_entries) ||
	    share_gate_outstanding(&body->recv, path->view.attr.rq_entries))
		return EAGAIN;
	return 0;
}

int share_gate_drain(struct share_qp_path *path, int timeout_ms)
{
	const struct waiting w = { .judge = is_drained };
	enum ibv_qp_state state = share_qp_state(path);

	if (state != IBV_QPS_ERR && state != IBV_QPS_RESET)
		return EINVAL;
	return wait_until(path, &w, &share_gate_of(path)->changes, timeout_ms);
}

static int server_or_again(const struct share_qp_path *path, int ask)
{
	return !ask || server_is_alive(path) ? EAGAIN : ESRCH;
}

static int may_post(struct share_qp_path *path, const struct waiting *w,
		    int ask)
{
	uint32_t state = share_load_acquire(&share_gate_of(path)->state);

	(void)w;
	if (share_gate_takes_part(state) &&
	    share_gate_round(state) != share_load(&path->gate_round)) {
		share_store(&path->gate_round, share_gate_round(state));
		return 0;
	}
	return server_or_again(path, ask);
}

static int is_open(struct share_qp_path *path, const struct waiting *w, int ask)
{
	uint32_t state = share_load_acquire(&share_gate_of(path)->state);
	uint32_t phase = share_gate_phase(state);
	uint32_t mine = share_load(&path->gate_round);

	(void)w;
	if (mine && mine != share_gate_round(state))
		return ECONNRESET;
	if (phase == SHARE_GATE_OVER || (mine && phase == SHARE_GATE_SHUT))
		return ECONNRESET;
	/* a completion with an error may have told before the server does */
	if (phase != SHARE_GATE_SHUT && share_qp_state(path) == IBV_QPS_ERR)
		return ECONNRESET;
	if (phase != SHARE_GATE_OPEN)
		return server_or_again(path, ask);
	share_store(&path->gate_round, share_gate_round(state));
	return 0;
}

int share_gate_wait(struct share_qp_path *path, enum share_gate_phase phase,
		    int timeout_ms)
{
	const struct waiting w = {
		.judge = phase == SHARE_GATE_POST ? may_post : is_open,
	};

	if (phase != SHARE_GATE_POST && phase != SHARE_GATE_OPEN)
		return EINVAL;
	return wait_until(path, &w, &share_gate_of(path)->state, timeout_ms);
}
