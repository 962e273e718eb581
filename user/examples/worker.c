// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * One queue pair, two processes: the server makes it, the worker, which is
 * another program image, posts to it and polls its own completion.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/share.h>

#define LENGTH 4096
#define GID_INDEX 1 /* RoCE v2 with an IPv4 address, on rxe */

#define MUST(x)                                                        \
	do {                                                           \
		if (!(x))                                              \
			errx(1, "%s: %s", #x, ibv_share_last_error()); \
	} while (0)

/* The QP sends to itself: enough to see who posts and who polls. */
static void connect_to_self(struct ibv_context *context, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1 },
	};

	attr.ah_attr.grh.sgid_index = GID_INDEX;
	attr.ah_attr.grh.hop_limit = 1;
	MUST(!ibv_query_gid(context, 1, GID_INDEX, &attr.ah_attr.grh.dgid));
	MUST(!ibv_share_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	MUST(!ibv_share_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					  IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	MUST(!ibv_share_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_TIMEOUT |
					  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					  IBV_QP_SQ_PSN |
					  IBV_QP_MAX_QP_RD_ATOMIC));
}

static void server(struct ibv_context *context, int sock)
{
	struct ibv_share_context *ctx = ibv_share_open(context, NULL);
	int access = IBV_ACCESS_LOCAL_WRITE;
	int fd = memfd_create("buffer", MFD_CLOEXEC);
	struct ibv_qp_init_attr init = {
		.cap = { 16, 16, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	int status;

	MUST(ctx && fd >= 0 && !ftruncate(fd, LENGTH));
	MUST(pd = ibv_share_alloc_pd(ctx));
	MUST(init.send_cq = ibv_share_create_cq(ctx, 64, NULL, NULL, 0));
	init.recv_cq = init.send_cq;
	MUST(qp = ibv_share_create_qp(pd, &init));
	MUST(mr = ibv_reg_shared_mr(pd, 0, LENGTH, 0, fd, access));
	MUST(!ibv_share_export_mr(mr, fd, 0, access));
	connect_to_self(context, qp);

	MUST(!ibv_share_send(ctx, sock, IBV_SHARE_ALL_RIGHTS));

	wait(&status);
	MUST(!ibv_share_dereg_mr(mr));
	MUST(!ibv_share_destroy_qp(qp));
	MUST(!ibv_share_destroy_cq(init.send_cq));
	MUST(!ibv_share_dealloc_pd(pd));
	MUST(!ibv_share_close(ctx));
	exit(status != 0);
}

static void worker(struct ibv_context *context, int sock)
{
	struct ibv_share_context *ctx = ibv_share_recv(context, sock);
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_send_wr *bad_send, send = { .wr_id = 2, .num_sge = 1 };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 1, .num_sge = 1 };
	struct ibv_sge from, to;
	struct ibv_wc wc;
	char *buf;
	int i, n;

	MUST(ctx);
	MUST(qp = ibv_share_get_qp(ctx, "qp0"));
	MUST(mr = ibv_share_get_mr(ctx, "mr0"));
	buf = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED,
		   ibv_share_mr_fd(mr, NULL), 0);
	MUST(buf != MAP_FAILED);

	strcpy(buf, "posted by the worker");
	from = (struct ibv_sge){ (uintptr_t)mr->addr, 64, mr->lkey };
	to = (struct ibv_sge){ (uintptr_t)mr->addr + 2048, 64, mr->lkey };
	recv.sg_list = &to;
	send.sg_list = &from;
	send.opcode = IBV_WR_SEND;
	send.send_flags = IBV_SEND_SIGNALED;
	MUST(!ibv_post_recv(qp, &recv, &bad_recv));
	MUST(!ibv_post_send(qp, &send, &bad_send));
	for (i = 0; i < 2; i += n) {
		n = ibv_poll_cq(qp->send_cq, 1, &wc);
		MUST(n >= 0 && (!n || wc.status == IBV_WC_SUCCESS));
		if (n)
			printf("completion %d\n", (int)wc.wr_id);
	}
	printf("received: %s\n", buf + 2048);
	ibv_share_close(ctx);
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context =
		list && list[0] ? ibv_open_device(list[0]) : NULL;
	char number[16];
	int sv[2];

	if (!context)
		errx(1, "no RDMA device");
	if (argc > 1) {
		worker(context, atoi(argv[1]));
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv))
		err(1, "socketpair");
	snprintf(number, sizeof(number), "%d", sv[1]);
	if (fork())
		server(context, sv[0]);
	execl("/proc/self/exe", argv[0], number, (char *)NULL);
	err(1, "exec");
}
