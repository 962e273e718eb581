// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The library as an application uses it: one QP on rxe0, made here, posted to
 * and polled here and in another program image at the same time; its peer is
 * an ordinary QP on rxe1.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "share_library.h"

#define MESSAGES 200 /* of each process and in each direction */
#define SIZE 64
#define LIMIT_S 60

#define SEND_TAG 0x5e4d0000U
#define RECV_TAG 0x4ecf0000U

/* What both processes have: the QP, and memory to send from and receive to. */
struct side {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *buf;
	uint32_t id;
	int sent, received;
	int done_sends, done_recvs;
};

struct peer {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char buf[SIZE];
	int sent, done, received;
};

static int out_of_time(void)
{
	static time_t end;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!end)
		end = now.tv_sec + LIMIT_S;
	return now.tv_sec > end;
}

static int peer_post_recv(struct peer *p)
{
	struct ibv_sge sge = { (uintptr_t)p->buf, SIZE, p->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(p->qp, &wr, &bad);
}

static int peer_open(struct peer *p)
{
	struct ibv_qp_init_attr init = {
		.cap = { 32, 64, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	CHECK(p->context = lib_open("rxe1"));
	CHECK(p->pd = ibv_alloc_pd(p->context));
	CHECK(p->cq = ibv_create_cq(p->context, 128, NULL, NULL, 0));
	init.send_cq = init.recv_cq = p->cq;
	CHECK(p->qp = ibv_create_qp(p->pd, &init));
	CHECK(p->mr = ibv_reg_mr(p->pd, p->buf, SIZE, ACCESS));
	return 0;
}

/* The peer keeps its receive queue full and sends as long as there is room. */
static int peer_step(struct peer *p)
{
	struct ibv_sge sge = { (uintptr_t)p->buf, SIZE, p->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;
	struct ibv_wc wc[16];
	int i, n = ibv_poll_cq(p->cq, 16, wc);

	for (i = 0; i < n; i++) {
		CHECK(wc[i].status == IBV_WC_SUCCESS);
		if (wc[i].opcode == IBV_WC_RECV) {
			p->received++;
			CHECK(!peer_post_recv(p));
		} else {
			p->done++;
		}
	}
	while (p->sent < 2 * MESSAGES && p->sent - p->done < 16) {
		CHECK(!ibv_post_send(p->qp, &wr, &bad));
		p->sent++;
	}
	return n < 0;
}

/* As much as there is room for: ENOMEM is "poll first". */
static int side_post(struct side *s)
{
	struct ibv_sge sge = { (uintptr_t)s->mr->addr + s->id * SIZE, SIZE,
			       s->mr->lkey };
	struct ibv_send_wr send = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	int ret;

	while (s->received < MESSAGES) {
		recv.wr_id = RECV_TAG + s->id * 0x1000 + (uint32_t)s->received;
		ret = ibv_post_recv(s->qp, &recv, &bad_recv);
		if (ret == ENOMEM)
			break;
		CHECK(!ret);
		s->received++;
	}
	while (s->sent < MESSAGES) {
		send.wr_id = SEND_TAG + s->id * 0x1000 + (uint32_t)s->sent;
		ret = ibv_post_send(s->qp, &send, &bad);
		if (ret == ENOMEM)
			break;
		CHECK(!ret);
		s->sent++;
	}
	return 0;
}

/* Only requests of this process, each once, in the order they were posted. */
static int side_poll(struct side *s)
{
	struct ibv_wc wc[16];
	int i, n = ibv_poll_cq(s->cq, 16, wc);

	CHECK(n >= 0);
	for (i = 0; i < n; i++) {
		CHECK(wc[i].status == IBV_WC_SUCCESS);
		CHECK(wc[i].qp_num == s->qp->qp_num);
		if (wc[i].opcode == IBV_WC_RECV)
			CHECK(wc[i].wr_id == RECV_TAG + s->id * 0x1000 +
						     (uint32_t)s->done_recvs++);
		else
			CHECK(wc[i].wr_id == SEND_TAG + s->id * 0x1000 +
						     (uint32_t)s->done_sends++);
	}
	return 0;
}

static int side_is_done(const struct side *s)
{
	return s->done_sends == MESSAGES && s->done_recvs == MESSAGES;
}

static int side_run(struct side *s, struct peer *peer)
{
	while (!side_is_done(s) || (peer && peer->received < 2 * MESSAGES)) {
		if (out_of_time()) {
			printf("# %u: sent %d/%d received %d/%d\n", s->id,
			       s->done_sends, s->sent, s->done_recvs,
			       s->received);
			return 1;
		}
		CHECK(!side_post(s));
		CHECK(!side_poll(s));
		if (peer)
			CHECK(!peer_step(peer));
	}
	return 0;
}

static int worker(int sock)
{
	struct ibv_context *context = lib_open("rxe0");
	struct ibv_share_context *ctx;
	struct side s = { .id = 1 };

	CHECK(context);
	CHECK(ctx = ibv_share_recv(context, sock));
	CHECK(s.qp = ibv_share_get_qp(ctx, "qp0"));
	CHECK(s.cq = ibv_share_get_cq(ctx, "completions"));
	CHECK(s.mr = ibv_share_get_mr(ctx, "mr0"));
	CHECK(s.qp->send_cq == s.cq && s.qp->recv_cq == s.cq);
	CHECK(!side_run(&s, NULL));
	CHECK(ibv_share_alloc_pd(ctx) == NULL && errno == EOPNOTSUPP);
	CHECK(ibv_destroy_qp(s.qp) == EBADF);
	CHECK(!ibv_share_close(ctx));
	CHECK(!ibv_close_device(context));
	return 0;
}

struct server {
	struct ibv_context *context;
	struct ibv_share_context *ctx;
	struct ibv_pd *pd;
	struct side s;
};

static int server_open(struct server *v)
{
	struct ibv_qp_init_attr init = {
		.cap = { 32, 32, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};
	int fd = memfd_create("buffer", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	CHECK(v->context = lib_open("rxe0"));
	CHECK(v->ctx = ibv_share_open(v->context, NULL));
	CHECK(v->pd = ibv_share_alloc_pd(v->ctx));
	CHECK(v->s.cq = ibv_share_create_cq(v->ctx, 128, NULL, NULL, 0));
	CHECK(!ibv_share_name_cq(v->s.cq, "completions"));
	init.send_cq = init.recv_cq = v->s.cq;
	CHECK(v->s.qp = ibv_share_create_qp(v->pd, &init));
	CHECK(v->s.mr = ibv_reg_shared_mr(v->pd, 0, 4096, 0x10000, fd, ACCESS));
	CHECK(!ibv_share_export_mr(v->s.mr, fd, 0, ACCESS));
	close(fd);
	return 0;
}

static int server_connect(struct server *v, struct peer *p)
{
	union ibv_gid gid0, gid1;
	int i;

	CHECK(!peer_open(p));
	CHECK(!ibv_query_gid(v->context, 1, GID_INDEX, &gid0));
	CHECK(!ibv_query_gid(p->context, 1, GID_INDEX, &gid1));
	CHECK(!lib_connect(v->s.qp, 1, p->qp->qp_num, &gid1));
	CHECK(!lib_connect(p->qp, 0, v->s.qp->qp_num, &gid0));
	for (i = 0; i < 64; i++)
		CHECK(!peer_post_recv(p));
	return 0;
}

/* Verbs of libibverbs that are a mistake: EBADF, and the objects work on. */
static int mistakes(struct server *v)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_init_attr init;
	struct ibv_ah_attr ah = { .port_num = 1 };
	union ibv_gid gid = { .raw = { 0xff } };

	CHECK(ibv_destroy_qp(v->s.qp) == EBADF);
	CHECK(ibv_destroy_cq(v->s.cq) == EBADF);
	CHECK(ibv_dealloc_pd(v->pd) == EBADF);
	CHECK(ibv_modify_qp(v->s.qp, &attr, IBV_QP_STATE) == EBADF);
	CHECK(ibv_query_qp(v->s.qp, &attr, IBV_QP_STATE, &init) == EBADF);
	CHECK(ibv_resize_cq(v->s.cq, 256) == EBADF);
	CHECK(ibv_attach_mcast(v->s.qp, &gid, 1) == EBADF);
	CHECK(!ibv_create_ah(v->pd, &ah) && errno == EBADF);
	CHECK(!ibv_reg_mr(v->pd, v, 64, 0) && errno == EBADF);
	CHECK(!ibv_alloc_mw(v->pd, IBV_MW_TYPE_1));
	CHECK(!ibv_qp_to_qp_ex(v->s.qp));
	CHECK(ibv_dereg_mr(v->s.mr) == EBUSY);
	CHECK(!ibv_share_query_qp(v->s.qp, &attr, IBV_QP_STATE, &init));
	CHECK(attr.qp_state == IBV_QPS_RTS && init.send_cq == v->s.cq);
	return 0;
}

static int server_close(struct server *v, struct peer *p)
{
	CHECK(ibv_share_close(v->ctx) == EBUSY);
	CHECK(ibv_share_dealloc_pd(v->pd) == EBUSY);
	CHECK(ibv_share_destroy_cq(v->s.cq) == EBUSY);
	CHECK(!ibv_share_dereg_mr(v->s.mr));
	CHECK(!ibv_share_destroy_qp(v->s.qp));
	CHECK(!ibv_share_destroy_cq(v->s.cq));
	CHECK(!ibv_share_dealloc_pd(v->pd));
	CHECK(!ibv_share_close(v->ctx));
	CHECK(!ibv_close_device(v->context));
	CHECK(!ibv_destroy_qp(p->qp) && !ibv_destroy_cq(p->cq));
	CHECK(!ibv_dereg_mr(p->mr) && !ibv_dealloc_pd(p->pd));
	CHECK(!ibv_close_device(p->context));
	return 0;
}

static int forked_child(struct server *v)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_wc wc;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (ibv_post_send(v->s.qp, &wr, &bad) != EOWNERDEAD ||
		    bad != &wr ||
		    ibv_poll_cq(v->s.cq, 1, &wc) != -EOWNERDEAD ||
		    ibv_share_destroy_qp(v->s.qp) != EOWNERDEAD ||
		    ibv_share_close(v->ctx))
			_exit(1);
		_exit(0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	return 0;
}

static int traffic(struct server *v, struct peer *p, char *program)
{
	char number[16];
	int sv[2], status, ret;
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv));
	snprintf(number, sizeof(number), "%d", sv[1]);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", program, number, (char *)NULL);
		_exit(1);
	}
	close(sv[1]);
	CHECK(pid > 0);
	CHECK(!ibv_share_send(v->ctx, sv[0], IBV_SHARE_ALL_RIGHTS));
	ret = side_run(&v->s, p);
	while (waitpid(pid, &status, WNOHANG) == 0 && !out_of_time())
		if (ibv_poll_cq(v->s.cq, 0, NULL) < 0 || peer_step(p))
			break;
	close(sv[0]);
	CHECK(!ret && WIFEXITED(status) && !WEXITSTATUS(status));
	return 0;
}

static void result(const char *name, int failed, int *worst)
{
	static int number;

	*worst |= failed;
	printf("%sok %d %s\n", failed ? "not " : "", ++number, name);
}

int main(int argc, char **argv)
{
	static struct server v;
	static struct peer p;
	int worst = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		return worker(atoi(argv[1]));
	printf("TAP version 13\n1..5\n");
	result("make", server_open(&v) || server_connect(&v, &p), &worst);
	if (worst)
		return 1;
	result("mistakes", mistakes(&v), &worst);
	result("forked_child", forked_child(&v), &worst);
	result("traffic", traffic(&v, &p, argv[0]), &worst);
	result("destroy", server_close(&v, &p), &worst);
	return worst;
}
