// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A server, workers, and a peer that sends.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "share_gate.h"

static int open_server(struct gate_bed *bed)
{
	struct ibv_qp_init_attr init = { .cap = { 16, 32, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	int fd = memfd_create("gate", MFD_CLOEXEC);
	struct side *us = &bed->us;

	CHECK(fd >= 0 && !ftruncate(fd, SIZE * BUFFERS));
	CHECK(bed->context = lib_open("rxe0"));
	CHECK(us->ctx = ibv_share_open(bed->context, NULL));
	CHECK(bed->pd = ibv_share_alloc_pd(us->ctx));
	CHECK(us->cq = ibv_share_create_cq(us->ctx, 128, NULL, NULL, 0));
	init.send_cq = init.recv_cq = us->cq;
	CHECK(us->qp = ibv_share_create_qp(bed->pd, &init));
	CHECK(us->mr = ibv_reg_shared_mr(bed->pd, 0, SIZE * BUFFERS, 0, fd, ACCESS));
	CHECK(!ibv_share_export_mr(us->mr, fd, 0, ACCESS));
	us->mem = mmap(NULL, SIZE * BUFFERS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(us->mem != MAP_FAILED);
	close(fd);
	return 0;
}

static int open_peer(struct gate_bed *bed)
{
	struct ibv_qp_init_attr init = { .cap = { 32, 32, 1, 1, 64 }, .qp_type = IBV_QPT_RC };

	CHECK(bed->peer_context = lib_open("rxe1"));
	CHECK(bed->peer_pd = ibv_alloc_pd(bed->peer_context));
	CHECK(bed->peer_cq = ibv_create_cq(bed->peer_context, 64, NULL, NULL, 0));
	init.send_cq = init.recv_cq = bed->peer_cq;
	CHECK(bed->peer = ibv_create_qp(bed->peer_pd, &init));
	/* a page of its own: ibv_fork_init() keeps children from what is registered */
	bed->peer_mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	CHECK(bed->peer_mem != MAP_FAILED);
	CHECK(bed->peer_mr = ibv_reg_mr(bed->peer_pd, bed->peer_mem, SIZE, ACCESS));
	return 0;
}

void gate_kill(struct worker *w)
{
	int status;

	if (!w->pid)
		return;
	kill(w->pid, SIGKILL);
	waitpid(w->pid, &status, 0);
	close(w->sock);
	w->pid = 0;
}

/* A worker gets a copy of everything, in a process of its own. */
int gate_receive(struct side *side, int sock)
{
	struct ibv_context *context = lib_open("rxe0");
	int fd;

	CHECK(context);
	CHECK(side->ctx = ibv_share_recv(context, sock));
	CHECK(side->qp = ibv_share_get_qp(side->ctx, NULL));
	CHECK(side->cq = ibv_share_get_cq(side->ctx, NULL));
	CHECK(side->mr = ibv_share_get_mr(side->ctx, NULL));
	CHECK((fd = ibv_share_mr_fd(side->mr, NULL)) >= 0);
	side->mem = mmap(NULL, SIZE * BUFFERS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(side->mem != MAP_FAILED);
	return 0;
}

/* Receives into the buffers @first, @first + 1 and so on; wr_id is the buffer. */
int gate_post(const struct side *side, unsigned int first, unsigned int n)
{
	struct ibv_sge sge = { .length = SIZE, .lkey = side->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	for (wr.wr_id = first; wr.wr_id < first + n; wr.wr_id++) {
		sge.addr = (uintptr_t)side->mr->addr + wr.wr_id * SIZE;
		CHECK(!ibv_post_recv(side->qp, &wr, &bad));
	}
	return 0;
}

int gate_next(const struct side *side, struct ibv_wc *wc)
{
	int tries, n = 0;

	for (tries = 0; tries < LONG && !n; tries++) {
		n = ibv_poll_cq(side->cq, 1, wc);
		if (!n)
			usleep(1000);
	}
	CHECK(n == 1);
	return 0;
}

/* The completion of buffer @buffer, with message @number in it. */
int gate_got(const struct side *side, unsigned int buffer, uint64_t number)
{
	struct ibv_wc wc;

	CHECK(!gate_next(side, &wc));
	CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
	CHECK(wc.wr_id == buffer && wc.byte_len == SIZE);
	CHECK(!memcmp(side->mem + buffer * SIZE, &number, sizeof(number)));
	return 0;
}

int gate_flushed(const struct side *side, unsigned int buffer)
{
	struct ibv_wc wc;

	CHECK(!gate_next(side, &wc));
	CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
	CHECK(wc.wr_id == buffer);
	return 0;
}

int gate_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	CHECK(!ibv_share_modify_qp(qp, &attr,
				   state == IBV_QPS_INIT ? IBV_QP_STATE | IBV_QP_PKEY_INDEX |
								   IBV_QP_PORT | IBV_QP_ACCESS_FLAGS
							 : IBV_QP_STATE));
	return 0;
}

/* Both sides, the one that is shared first, from INIT to RTS. */
int gate_connect(struct gate_bed *bed)
{
	union ibv_gid gid0, gid1;
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	CHECK(!ibv_query_gid(bed->context, 1, GID_INDEX, &gid0));
	CHECK(!ibv_query_gid(bed->peer_context, 1, GID_INDEX, &gid1));
	CHECK(!lib_connect(bed->us.qp, 1, bed->peer->qp_num, &gid1));
	CHECK(!ibv_modify_qp(bed->peer, &reset, IBV_QP_STATE));
	CHECK(!lib_connect(bed->peer, 0, bed->us.qp->qp_num, &gid0));
	return 0;
}

/* One more numbered message. */
int gate_peer_sends(struct gate_bed *bed, unsigned int n)
{
	struct ibv_sge sge = { (uintptr_t)bed->peer_mem, SIZE, bed->peer_mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };
	struct ibv_send_wr *bad;

	for (; n; n--, bed->sent++) {
		memcpy(bed->peer_mem, &bed->sent, sizeof(bed->sent));
		CHECK(!ibv_post_send(bed->peer, &wr, &bad));
	}
	return 0;
}

int gate_peer_completes(struct gate_bed *bed, unsigned int n)
{
	const struct side peer = { .cq = bed->peer_cq };
	struct ibv_wc wc;

	for (; n; n--) {
		CHECK(!gate_next(&peer, &wc));
		CHECK(wc.status == IBV_WC_SUCCESS);
	}
	return 0;
}

/* The parent ends it, by a signal or by closing the socket. */
int gate_start(struct gate_bed *bed, unsigned int i,
	       int (*run)(struct side *side, int sock, unsigned int i))
{
	struct side side;
	int sv[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv));
	CHECK(!ibv_share_send(bed->us.ctx, sv[0], IBV_SHARE_ALL_RIGHTS));
	fflush(stdout);
	bed->workers[i].pid = fork();
	CHECK(bed->workers[i].pid >= 0);
	if (!bed->workers[i].pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sv[0]);
		i = gate_receive(&side, sv[1]) || run(&side, sv[1], i);
		fflush(stdout);
		_exit(i);
	}
	close(sv[1]);
	bed->workers[i].sock = sv[0];
	return 0;
}

int gate_ends_well(struct worker *w)
{
	int status;

	CHECK(waitpid(w->pid, &status, 0) == w->pid);
	close(w->sock);
	w->pid = 0;
	CHECK(!status);
	return 0;
}

int gate_say(int sock)
{
	CHECK(send(sock, "x", 1, MSG_NOSIGNAL) == 1);
	return 0;
}

int gate_hear(int sock)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	char c;

	CHECK(poll(&pfd, 1, LONG) == 1);
	CHECK(recv(sock, &c, 1, 0) == 1);
	return 0;
}

int gate_bed_open(struct gate_bed *bed)
{
	memset(bed, 0, sizeof(*bed));
	CHECK(!open_server(bed));
	CHECK(!open_peer(bed));
	return 0;
}

int gate_bed_close(struct gate_bed *bed)
{
	gate_kill(&bed->workers[0]);
	gate_kill(&bed->workers[1]);
	CHECK(!ibv_share_dereg_mr(bed->us.mr));
	if (bed->us.qp)
		CHECK(!ibv_share_destroy_qp(bed->us.qp));
	CHECK(!ibv_share_destroy_cq(bed->us.cq));
	CHECK(!ibv_share_dealloc_pd(bed->pd));
	CHECK(!ibv_share_close(bed->us.ctx));
	CHECK(!ibv_destroy_qp(bed->peer));
	return 0;
}
