// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The example of README.md; "make lint" compares what stands below the line. */
#include <errno.h>
#include <infiniband/share.h>

struct ibv_qp *serve(struct ibv_context *context, int memfd, size_t length, int worker_socket);
int work(struct ibv_context *context, int server_socket, struct ibv_recv_wr *wr);

/* ------ */
/* The server makes a QP and memory for all workers, then connects the QP as always. */
struct ibv_qp *serve(struct ibv_context *context, int memfd, size_t length, int worker_socket)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 64, 64, 1, 1, 0 } };
	struct ibv_share_context *ctx = ibv_share_open(context, NULL);
	struct ibv_pd *pd = ctx ? ibv_share_alloc_pd(ctx) : NULL;
	struct ibv_mr *mr;
	struct ibv_qp *qp;

	if (!pd || !(init.send_cq = ibv_share_create_cq(ctx, 256, NULL, NULL, 0)))
		return NULL; /* ibv_share_last_error() says why and what to do */
	init.recv_cq = init.send_cq;
	qp = ibv_share_create_qp(pd, &init);
	mr = ibv_reg_shared_mr(pd, 0, length, 0, memfd, IBV_ACCESS_LOCAL_WRITE);
	if (!qp || !mr || ibv_share_export_mr(mr, memfd, 0, IBV_ACCESS_LOCAL_WRITE) ||
	    ibv_share_send(ctx, worker_socket, IBV_SHARE_ALL_RIGHTS))
		return NULL;
	return qp;
}

/* A worker, another process, gets everything in one call and uses the ordinary verbs. */
int work(struct ibv_context *context, int server_socket, struct ibv_recv_wr *wr)
{
	struct ibv_share_context *ctx = ibv_share_recv(context, server_socket);
	struct ibv_qp *qp = ctx ? ibv_share_get_qp(ctx, NULL) : NULL;
	struct ibv_recv_wr *bad;

	return qp ? ibv_post_recv(qp, wr, &bad) : errno; /* completes to this process */
}
