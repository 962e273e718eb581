// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * peer layout: print it.
 * peer first PROGRAM: make a control segment, start PROGRAM as the second, and
 *	use it together. Status 0, or a reason.
 * peer second FD: started by the first, which kills it.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "control.h"
#include "futex.h"
#include "peer.h"

#define COUNT 100000U /* of each */
#define TURNS 100U
#define LIMIT_MS 60000

enum { FIRST,
       SECOND };

/* uses all bits of the lock word */
#define GENERATION(slot) (SHARE_LOCK_GENERATION_MASK - (slot))

/* at the end of the segment, where no object is; under the directory's lock */
struct counted {
	uint32_t a, b; /* always the same */
	uint32_t last; /* whose turn it was */
	uint32_t held; /* by the second, for ever */
};

struct peer {
	struct share_control control;
	struct counted *counted;
	uint32_t *lock;
	uint32_t slot;
	pid_t other;
	int fd;
};

static const struct share_cq_attr cq_attr = { .capacity = 1000, .cookie = 11 };
static const struct share_srq_attr srq_attr = { .entries = 256, .max_sge = 3, .cookie = 12 };
static const struct share_qp_attr qp_attr = {
	.qp_num = 17,
	.qp_type = IBV_QPT_RC,
	.sq_entries = 64,
	.rq_entries = 32,
	.max_send_sge = 4,
	.max_recv_sge = 5,
	.max_inline = 96,
	.sq_sig_all = 1,
	.cookie = 13,
};

/* As the module does: it asks the process itself. */
static int is_alive(void *arg, uint32_t slot, uint32_t generation)
{
	struct peer *p = arg;
	siginfo_t info = { .si_pid = 0 };

	if (slot > SECOND || slot == p->slot || generation != GENERATION(slot))
		return 0;
	if (slot == FIRST)
		return getppid() == p->other;
	return !waitid(P_PID, (id_t)p->other, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid;
}

static int join(struct peer *p, uint32_t slot)
{
	struct share_env env = { .slot_alive = is_alive, .arg = p };

	p->slot = slot;
	CHECK(!share_control_attach(&p->control, p->fd, slot, GENERATION(slot), &env));
	p->lock = &share_control_header(&p->control)->directory_lock;
	p->counted = (struct counted *)(void *)(p->control.base + p->control.bytes);
	p->counted--;
	return 0;
}

/* Each has the lock after the other, again and again: from here both run. */
static int take_turns(struct peer *p)
{
	uint32_t start = share_now_ms(), turns = 0;

	while (turns < TURNS) {
		CHECK(!share_lock(p->lock, &p->control.me));
		if (p->counted->last != p->slot + 1) {
			p->counted->last = p->slot + 1;
			turns++;
		}
		share_unlock(p->lock, &p->control.me);
		CHECK(share_now_ms() - start < LIMIT_MS);
		sched_yield();
	}
	return 0;
}

static int count(struct peer *p)
{
	struct counted *c = p->counted;
	uint32_t i;

	for (i = 0; i < COUNT; i++) {
		CHECK(!share_lock(p->lock, &p->control.me));
		CHECK(c->a == c->b);
		c->a++;
		c->b++;
		share_unlock(p->lock, &p->control.me);
	}
	return 0;
}

static int make_objects(struct peer *p)
{
	uint32_t index;

	CHECK(!share_control_add_cq(&p->control, &cq_attr, &index) && !index);
	CHECK(!share_control_add_srq(&p->control, &srq_attr, &index) && !index);
	CHECK(!share_control_add_qp(&p->control, &qp_attr, &index) && !index);
	return 0;
}

/* What the first has made, with the words of the other width. */
static int find_objects(struct peer *p)
{
	struct share_cq_view cq;
	struct share_srq_view srq;
	struct share_qp_view qp;

	CHECK(!share_control_cq(&p->control, 0, &cq));
	CHECK(cq.capacity == cq_attr.capacity && cq.cookie == cq_attr.cookie);
	CHECK(!share_control_srq(&p->control, 0, &srq));
	CHECK(!memcmp(&srq.attr, &srq_attr, sizeof(srq_attr)));
	CHECK(!share_control_find_qp(&p->control, qp_attr.qp_num, &qp));
	CHECK(!memcmp(&qp.attr, &qp_attr, sizeof(qp_attr)));
	return 0;
}

static int second(const char *fd)
{
	struct peer p = { .fd = atoi(fd), .other = getppid() };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(!join(&p, SECOND));
	CHECK(!find_objects(&p));
	CHECK(!take_turns(&p));
	CHECK(!count(&p));
	/* not as long as the first wants it */
	while (share_load(&p.counted->a) < 2 * COUNT && getppid() == p.other)
		usleep(1000);
	CHECK(!share_lock(p.lock, &p.control.me));
	share_store_release(&p.counted->held, 1);
	while (getppid() == p.other)
		pause();
	return 1;
}

static int start_second(struct peer *p, const char *program)
{
	char fd[16];

	CHECK(!fcntl(p->fd, F_SETFD, 0));
	snprintf(fd, sizeof(fd), "%d", p->fd);
	p->other = fork();
	CHECK(p->other >= 0);
	if (!p->other) {
		execl(program, program, "second", fd, (char *)NULL);
		_exit(127);
	}
	return 0;
}

/* Nothing is taken from a holder that is alive, and all from a dead one. */
static int take_over(struct peer *p)
{
	uint32_t start = share_now_ms();
	int status;

	while (!share_load_acquire(&p->counted->held)) {
		CHECK(is_alive(p, SECOND, GENERATION(SECOND)));
		CHECK(share_now_ms() - start < LIMIT_MS);
		usleep(1000);
	}
	p->control.me.timeout_ms = 100;
	CHECK(share_lock(p->lock, &p->control.me) == ETIMEDOUT);
	p->control.me.timeout_ms = SHARE_LOCK_TIMEOUT_MS;
	CHECK(!kill(p->other, SIGKILL));
	CHECK(share_lock(p->lock, &p->control.me) == EOWNERDEAD);
	share_unlock(p->lock, &p->control.me);
	CHECK(!share_lock(p->lock, &p->control.me));
	share_unlock(p->lock, &p->control.me);
	CHECK(waitpid(p->other, &status, 0) == p->other && WTERMSIG(status) == SIGKILL);
	return 0;
}

static int first(const char *program)
{
	struct peer p = { .fd = -1 };

	CHECK(!share_control_create(0, &p.fd));
	CHECK(!join(&p, FIRST));
	CHECK(!make_objects(&p));
	CHECK(!start_second(&p, program));
	CHECK(!take_turns(&p));
	CHECK(!count(&p));
	CHECK(!take_over(&p));
	CHECK(p.counted->a == 2 * COUNT && p.counted->b == 2 * COUNT);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "layout")) {
		print_layout();
		return 0;
	}
	CHECK(argc == 3);
	return strcmp(argv[1], "first") ? second(argv[2]) : first(argv[2]);
}
