// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * usage: bench [DEVICE]
 *
 * What sharing costs against what one does without it. Both sides of a ratio
 * run in turn in one process; the figure is the median of the ratios. Nothing
 * here passes or fails: this is "make bench", not a test.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/share.h>

#define ROUNDS 7
#define LENGTH (32UL << 20)
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define BATCH 2000
#define DEPTH 64
#define MESSAGES 100

struct bench {
	struct ibv_context *context;
	struct ibv_pd *pd;
	int memfd;
	char *mem;
	struct ibv_share_context *ctx;
	struct ibv_qp *shared_qp;
	struct ibv_qp *private_qp;
};

static void fail(const char *what)
{
	fprintf(stderr, "bench: %s: %s. %s\n", what, strerror(errno),
		ibv_share_last_error());
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void use(struct ibv_mr *mr)
{
	if (!mr)
		fail("registration");
	errno = ibv_dereg_mr(mr);
	if (errno)
		fail("ibv_dereg_mr");
}

/* each returns microseconds */
static double reg_by_mmap(struct bench *b)
{
	double t = now();
	char *p = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED,
		       b->memfd, 0);
	struct ibv_mr *mr;

	if (p == MAP_FAILED)
		fail("mmap");
	mr = ibv_reg_mr(b->pd, p, LENGTH, ACCESS);
	t = now() - t;
	use(mr);
	munmap(p, LENGTH);
	return t;
}

static double reg_by_fd(struct bench *b)
{
	double t = now();
	struct ibv_mr *mr =
		ibv_reg_shared_mr(b->pd, 0, LENGTH, 0, b->memfd, ACCESS);

	t = now() - t;
	use(mr);
	return t;
}

static double reg_mapped(struct bench *b)
{
	double t = now();
	struct ibv_mr *mr = ibv_reg_mr(b->pd, b->mem, LENGTH, ACCESS);

	t = now() - t;
	use(mr);
	return t;
}

static double reg_mapped_by_fd(struct bench *b)
{
	double t = now();
	struct ibv_mr *mr = ibv_reg_shared_mr(
		b->pd, 0, LENGTH, (uintptr_t)b->mem, b->memfd, ACCESS);

	t = now() - t;
	use(mr);
	return t;
}

static double send_and_poll(struct ibv_qp *qp)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_wc wc[16];
	int posted = 0, done = 0, n, i;
	double t = now();

	/* writes of no bytes: the cost is that of posting and polling */
	while (done < BATCH) {
		while (posted < BATCH && posted - done < DEPTH / 2) {
			errno = ibv_post_send(qp, &wr, &bad);
			if (errno)
				fail("ibv_post_send");
			posted++;
		}
		n = ibv_poll_cq(qp->send_cq, 16, wc);
		for (i = 0; i < n; i++)
			if (wc[i].status != IBV_WC_SUCCESS)
				fail(ibv_wc_status_str(wc[i].status));
		done += n > 0 ? n : 0;
	}
	return now() - t;
}

static double send_private(struct bench *b)
{
	return send_and_poll(b->private_qp);
}

static double send_shared(struct bench *b)
{
	return send_and_poll(b->shared_qp);
}

/* Messages of the QP to itself, one at a time. */
static double talk(struct ibv_qp *qp, int late)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	double t = now();
	int i, done, n;

	for (i = 0; i < MESSAGES; i++) {
		if (!late && ibv_post_recv(qp, &recv, &bad_recv))
			fail("ibv_post_recv");
		if (ibv_post_send(qp, &send, &bad))
			fail("ibv_post_send");
		/* the kick has delivered it, if it could be */
		if (late && ibv_post_recv(qp, &recv, &bad_recv))
			fail("ibv_post_recv");
		for (done = 0; done < 2; done += n) {
			n = ibv_poll_cq(qp->send_cq, 1, &wc);
			if (n < 0 || (n && wc.status != IBV_WC_SUCCESS))
				fail("a message");
		}
	}
	return now() - t;
}

static double receive_first(struct bench *b)
{
	return talk(b->shared_qp, 0);
}

static double receive_late(struct bench *b)
{
	return talk(b->shared_qp, 1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void ratio(struct bench *b, const char *what,
		  double (*measure)(struct bench *),
		  double (*against)(struct bench *))
{
	double r[ROUNDS], m = 0, a = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		a = against(b);
		m = measure(b);
		r[i] = m / a;
	}
	qsort(r, ROUNDS, sizeof(r[0]), compare);
	printf("%-58s %5.2f  (%.2f to %.2f; last: %.0f / %.0f us)\n", what,
	       r[ROUNDS / 2], r[0], r[ROUNDS - 1], m, a);
}

/* connects a QP to itself */
static void loop(struct bench *b, struct ibv_qp *qp,
		 int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int))
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = 1, .hop_limit = 1 } },
	};
	int masks[] = {
		IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	};
	int i;

	if (ibv_query_gid(b->context, 1, 1, &attr.ah_attr.grh.dgid))
		fail("ibv_query_gid");
	for (i = 0; i < 3; i++) {
		attr.qp_state = IBV_QPS_INIT + i;
		errno = modify(qp, &attr, masks[i] | IBV_QP_STATE);
		if (errno)
			fail("modify");
	}
}

static void open_all(struct bench *b, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **dev = list;
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { DEPTH, 1, 1, 1, 0 } };
	struct ibv_pd *pd;

	while (dev && *dev && strcmp(ibv_get_device_name(*dev), name))
		dev++;
	b->context = dev && *dev ? ibv_open_device(*dev) : NULL;
	b->pd = b->context ? ibv_alloc_pd(b->context) : NULL;
	b->memfd = memfd_create("bench", MFD_CLOEXEC);
	if (!b->pd || b->memfd < 0 || ftruncate(b->memfd, LENGTH))
		fail("device and memory");
	b->mem = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED,
		      b->memfd, 0);
	if (b->mem == MAP_FAILED)
		fail("mmap");
	memset(b->mem, 1, LENGTH);

	init.send_cq = ibv_create_cq(b->context, DEPTH, NULL, NULL, 0);
	init.recv_cq = init.send_cq;
	b->private_qp = init.send_cq ? ibv_create_qp(b->pd, &init) : NULL;
	b->ctx = ibv_share_open(b->context, NULL);
	pd = b->ctx ? ibv_share_alloc_pd(b->ctx) : NULL;
	init.send_cq = pd ? ibv_share_create_cq(b->ctx, DEPTH, NULL, NULL, 0) : NULL;
	init.recv_cq = init.send_cq;
	b->shared_qp = init.send_cq ? ibv_share_create_qp(pd, &init) : NULL;
	if (!b->private_qp || !b->shared_qp)
		fail("queue pairs");
	loop(b, b->private_qp, ibv_modify_qp);
	loop(b, b->shared_qp, ibv_share_modify_qp);
	ibv_free_device_list(list);
}

int main(int argc, char **argv)
{
	struct bench b;

	memset(&b, 0, sizeof(b));
	open_all(&b, argc > 1 ? argv[1] : "rxe0");
	printf("median ratio of %d rounds (range); memory %lu MiB, batches of %d\n",
	       ROUNDS, LENGTH >> 20, BATCH);
	ratio(&b, "ibv_reg_shared_mr(fd) / mmap + ibv_reg_mr", reg_by_fd,
	      reg_by_mmap);
	ratio(&b, "ibv_reg_shared_mr(own mapping) / ibv_reg_mr",
	      reg_mapped_by_fd, reg_mapped);
	ratio(&b, "send before the receive (RNR NAK) / after it", receive_late,
	      receive_first);
	ratio(&b, "post + poll on a shared QP / on a private QP", send_shared,
	      send_private);
	return 0;
}
