// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "share_holder.h"

#define PAGE 4096ul

/* @held: it is in the handler; @go: it may leave it */
struct holder_flags {
	uint32_t held;
	uint32_t go;
};

struct request {
	enum holder_task task;
	uint32_t number;
};

/* of the process itself */
static struct {
	struct holder_flags *flags;
	char *guarded;
	size_t bytes;
} self;

static struct ibv_context *context;
static struct ibv_share_context *ctx;
static struct ibv_qp *qp;

static uint32_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

static void stay(int sig, siginfo_t *info, void *where)
{
	const char *at = info->si_addr;

	if (!self.guarded || at < self.guarded || at >= self.guarded + self.bytes)
		_exit(99);
	__atomic_store_n(&self.flags->held, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&self.flags->go, __ATOMIC_ACQUIRE))
		usleep(1000);
	mprotect(self.guarded, self.bytes, PROT_READ | PROT_WRITE);
}

static int guard(char *at, size_t bytes, int prot)
{
	struct sigaction act = { .sa_sigaction = stay, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGSEGV, &act, NULL));
	self.guarded = at;
	self.bytes = bytes;
	CHECK(!mprotect(at, bytes, prot));
	return 0;
}

static void make_send(struct ibv_send_wr *wr, struct ibv_sge *sge, uint64_t *number)
{
	*sge = (struct ibv_sge){ (uintptr_t)number, sizeof(*number), 0 };
	*wr = (struct ibv_send_wr){
		.wr_id = *number,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
	};
}

static int post(uint32_t number)
{
	uint64_t payload = number;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	make_send(&wr, &sge, &payload);
	return ibv_post_send(qp, &wr, &bad);
}

/* The second request is where it cannot be read, the first has been written. */
static int stay_in_post(uint32_t number)
{
	uint64_t payload[2] = { number, number + 1 };
	struct ibv_send_wr first, *second, *bad;
	struct ibv_sge sge[2];

	second = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(second != MAP_FAILED);
	make_send(&first, &sge[0], &payload[0]);
	make_send(second, &sge[1], &payload[1]);
	first.next = second;
	CHECK(!guard((char *)second, PAGE, PROT_NONE));
	return ibv_post_send(qp, &first, &bad);
}

/* the mapping of a ring that is as long as that of the CQ, and no other */
static char *find_ring(size_t bytes)
{
	unsigned long start, end;
	char line[256], *at = NULL;
	int found = 0;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "[ib_uverbs_share]") ||
		    sscanf(line, "%lx-%lx", &start, &end) != 2 || end - start != bytes)
			continue;
		found++;
		at = (char *)start;
	}
	if (f)
		fclose(f);
	return found == 1 ? at : NULL;
}

/* What is steered stays in the ring until its consumer index moves. */
static int stay_in_poll(void)
{
	struct ibv_share_cq_attr attr;
	struct ibv_wc wc;
	char *ring;

	CHECK(!ibv_share_query_cq(qp->recv_cq, &attr));
	attr.ring_bytes = (attr.ring_bytes + PAGE - 1) & ~(PAGE - 1);
	ring = find_ring(attr.ring_bytes);
	CHECK(ring);
	CHECK(!guard(ring, attr.ring_bytes, PROT_READ));
	CHECK(!ibv_poll_cq(qp->recv_cq, 1, &wc));
	return 0;
}

static int poll_for(uint32_t number, struct holder_answer *answer)
{
	const uint32_t start = now_ms();
	struct ibv_wc wc;
	int n;

	while (answer->num < number && now_ms() - start < HOLDER_WAIT_MS) {
		n = ibv_poll_cq(qp->recv_cq, 1, &wc);
		if (n < 0)
			return -n;
		if (n && (wc.status != IBV_WC_SUCCESS || answer->num == HOLDER_MANY))
			return EIO;
		if (n)
			answer->ids[answer->num++] = wc.wr_id;
		else
			usleep(100);
	}
	return answer->num == number ? 0 : EAGAIN;
}

static int do_task(const struct request *request, struct holder_answer *answer)
{
	switch (request->task) {
	case HOLDER_POST:
		return post(request->number);
	case HOLDER_POLL:
		return poll_for(request->number, answer);
	case HOLDER_STAY_IN_POST:
		return stay_in_post(request->number);
	default:
		return stay_in_poll();
	}
}

static int live(int sock)
{
	struct holder_answer answer = { .pid = getpid() };
	struct request request;

	CHECK(context = lib_open("rxe0"));
	CHECK(ctx = ibv_share_recv(context, sock));
	CHECK(qp = ibv_share_get_qp(ctx, NULL));
	answer.slot = ibv_share_get_slot(ctx);
	CHECK(send(sock, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer));
	while (recv(sock, &request, sizeof(request), 0) == sizeof(request)) {
		answer.num = 0;
		answer.ret = do_task(&request, &answer);
		snprintf(answer.sentence, sizeof(answer.sentence), "%s",
			 answer.ret ? ibv_share_last_error() : "");
		CHECK(send(sock, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer));
	}
	return 0;
}

int holder_start(struct holder *h, int own_pids)
{
	const long flags = SIGCHLD | (own_pids ? CLONE_NEWPID : 0);
	int sv[2];

	h->flags = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(h->flags != MAP_FAILED);
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv));
	fflush(stdout);
	/* as fork(), which has no flags */
	h->pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0);
	CHECK(h->pid >= 0);
	if (!h->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sv[0]);
		self.flags = h->flags;
		if (live(sv[1]))
			fflush(stdout);
		_exit(0);
	}
	close(sv[1]);
	h->sock = sv[0];
	return 0;
}

int holder_join(struct holder *h, struct ibv_share_context *shared)
{
	CHECK(!ibv_share_send(shared, h->sock, IBV_SHARE_ALL_RIGHTS));
	return holder_answers(h, &h->hello);
}

int holder_ask(struct holder *h, enum holder_task task, uint32_t number)
{
	const struct request request = { task, number };

	CHECK(send(h->sock, &request, sizeof(request), MSG_NOSIGNAL) == sizeof(request));
	return 0;
}

int holder_answers(struct holder *h, struct holder_answer *answer)
{
	struct pollfd pfd = { .fd = h->sock, .events = POLLIN };

	CHECK(poll(&pfd, 1, 2 * HOLDER_WAIT_MS) == 1);
	CHECK(recv(h->sock, answer, sizeof(*answer), 0) == sizeof(*answer));
	return 0;
}

int holder_wait(struct holder *h)
{
	struct pollfd pfd = { .fd = h->sock, .events = POLLIN };
	const uint32_t start = now_ms();

	while (!__atomic_load_n(&h->flags->held, __ATOMIC_ACQUIRE)) {
		/* it does not answer from there */
		CHECK(poll(&pfd, 1, 1) == 0 && now_ms() - start < HOLDER_WAIT_MS);
	}
	return 0;
}

int holder_stop(struct holder *h)
{
	int status;

	CHECK(!kill(h->pid, SIGSTOP));
	CHECK(waitpid(h->pid, &status, WUNTRACED) == h->pid && WIFSTOPPED(status));
	return 0;
}

int holder_go_on(struct holder *h)
{
	__atomic_store_n(&h->flags->go, 1, __ATOMIC_RELEASE);
	CHECK(!kill(h->pid, SIGCONT));
	return 0;
}

int holder_kill(struct holder *h)
{
	int status;

	CHECK(!kill(h->pid, SIGKILL));
	CHECK(waitpid(h->pid, &status, 0) == h->pid && WIFSIGNALED(status));
	close(h->sock);
	return 0;
}
