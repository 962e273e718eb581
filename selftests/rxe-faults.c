// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * usage: rxe-faults FAULT private|shared
 *
 * What rxe believes blindly from a ring. "private": a process spoils the ring of
 * a QP of its own, with nothing of this project; "shared": an importer spoils
 * that of its exporter. Says what came of it, if there is still somebody to say
 * it: run it in a VM of its own (scripts/rxe-faults). Some are no faults of a ring:
 * create_qp, there is no memory for a QP; traffic, two send to one QP, for
 * FAULT_SECONDS; nothing is shared either way; reset, while somebody rings.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <time.h>

#include "share_fault.h"
#include "share_test.h"

#define BYTES 16
#define OPCODE_REG_MR 32
#define STATE_ERROR 4

static char buffer[PAGE] __attribute__((aligned(PAGE)));

struct rings {
	struct rxe_queue_buf *send, *recv;
};

static struct rxe_send_wqe *next_send(struct rings *rings)
{
	return (void *)(rings->send->data + ((size_t)rings->send->producer_index
					     << rings->send->log2_elem_size));
}

static void opcode(struct rings *rings, struct rxe_sge *sge)
{
	struct rxe_send_wqe *wqe = next_send(rings);

	post_send(rings->send, 1, sge);
	wqe->wr.opcode = 0x7fffffff;
}

static void reg_mr(struct rings *rings, struct rxe_sge *sge)
{
	struct rxe_send_wqe *wqe = next_send(rings);

	post_send(rings->send, 1, sge);
	wqe->wr.opcode = OPCODE_REG_MR;
	/* where a pointer to a region of the kernel is expected */
	wqe->wr.wr.rdma.remote_addr = 0xdead000000000000ULL;
}

static void inline_offset(struct rings *rings, struct rxe_sge *sge)
{
	struct rxe_send_wqe *wqe = next_send(rings);

	post_send(rings->send, 1, sge);
	wqe->wr.send_flags |= IBV_SEND_INLINE;
	wqe->dma.sge_offset = 0x7fffffff;
}

static void producer_index(struct rings *rings, struct rxe_sge *sge)
{
	post_send(rings->send, 1, sge);
	rings->send->producer_index = rings->send->index_mask + 5;
}

static void num_sge(struct rings *rings, struct rxe_sge *sge)
{
	struct rxe_send_wqe *wqe = next_send(rings);

	post_send(rings->send, 1, sge);
	wqe->dma.num_sge = 0x10000000;
	wqe->dma.sge[0].length = 0;
}

static void cur_sge(struct rings *rings, struct rxe_sge *sge)
{
	struct rxe_send_wqe *wqe = next_send(rings);

	post_send(rings->send, 1, sge);
	wqe->dma.cur_sge = 0x10000000;
}

static void recv_num_sge(struct rings *rings, struct rxe_sge *sge)
{
	struct rxe_recv_wqe *wqe = (void *)rings->recv->data;

	wqe->dma.num_sge = 0x10000000;
	wqe->dma.sge[0].length = 0;
	post_send(rings->send, 1, sge);
}

static void recv_cur_sge(struct rings *rings, struct rxe_sge *sge)
{
	((struct rxe_recv_wqe *)rings->recv->data)->dma.cur_sge = 0x10000000;
	post_send(rings->send, 1, sge);
}

/* the second one finds no receive, and is tried again and again */
static void two(struct rings *rings, struct rxe_sge *sge)
{
	post_send(rings->send, 1, sge);
	post_send(rings->send, 3, sge);
}

/* failed, says the request, and with success */
static void fail_second(struct rings *rings)
{
	struct rxe_send_wqe *wqe =
		(void *)(rings->send->data + (1UL << rings->send->log2_elem_size));
	int i;

	for (i = 0; i < 20000; i++) {
		wqe->status = 0;
		__atomic_store_n(&wqe->state, STATE_ERROR, __ATOMIC_RELEASE);
		usleep(100);
	}
}

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			printf("cannot try it: %s, errno %d\n", #cond, errno); \
			exit(2);                                               \
		}                                                              \
	} while (0)

/* the rings as an importer has them */
static void import_rings(struct endpoint *ep, struct rings *rings, struct import *import)
{
	struct ib_uverbs_share_segment segs[] = {
		ring_segment(&ep->qp.send, IB_UVERBS_SHARE_RING_SEND),
		ring_segment(&ep->qp.recv, IB_UVERBS_SHARE_RING_RECV),
	};
	struct export_args export = EXPORT_OF(ep->fd, ep->qp.handle);

	export.segs = segs;
	export.nsegs = 2;
	CHECK(!do_export(ep->fd, &export));
	*import = IMPORT_OF(export.grant);
	CHECK(!do_import(ep->fd, import));
	rings->send = mmap(NULL, segs[0].length, PROT_READ | PROT_WRITE, MAP_SHARED, export.grant,
			   0);
	rings->recv = mmap(NULL, segs[1].length, PROT_READ | PROT_WRITE, MAP_SHARED, export.grant,
			   1LL << IB_UVERBS_SHARE_RING_SHIFT);
	CHECK(rings->send != MAP_FAILED && rings->recv != MAP_FAILED);
}

static int create(void *data)
{
	struct endpoint *ep = data;

	return qp_create(ep, IB_UVERBS_QPT_RC, NULL, &ep->qp);
}

static int undo(void *data)
{
	struct endpoint *ep = data;

	return destroy(ep->fd, UVERBS_OBJECT_QP, ep->qp.handle);
}

/* no memory at each place of a creation: what is there to be undone? */
static void create_qp(struct endpoint *ep, bool shared)
{
	struct fault_call call = { .run = create, .undo = undo, .also = { ENFILE } };
	struct fault_count count;

	if (access("/proc/thread-self/fail-nth", W_OK)) {
		printf("this kernel has no fault injection\n");
		return;
	}
	fault_require();
	if (!fault_sweep(&call, ep, &count))
		printf("refused each time\n");
}

static time_t end_of_time(void)
{
	const char *seconds = getenv("FAULT_SECONDS");

	return time(NULL) + (seconds ? atoi(seconds) : 60);
}

/* who rings */
struct ringer {
	int fd;
	uint32_t handle;
	bool shared;
	bool stop;
};

static void *ring_on(void *arg)
{
	struct ringer *r = arg;
	unsigned int i;

	for (i = 0; !__atomic_load_n(&r->stop, __ATOMIC_RELAXED); i++)
		r->shared ? do_kick(r->fd, r->handle, 1 + i % 3) : qp_doorbell(r->fd, r->handle);
	return NULL;
}

static int to_state(struct endpoint *ep, uint8_t state)
{
	struct ib_uverbs_qp_attr attr = qp_attr_to(ep, state);

	return qp_modify(ep->fd, ep->qp.handle, &attr);
}

/* with work that fails, so that the QP goes to ERR by itself as well */
static void reset(struct endpoint *ep, bool shared)
{
	struct rxe_sge sge = { .addr = (uintptr_t)buffer, .length = BYTES };
	struct ringer ringer = { ep->fd, ep->qp.handle, shared, false };
	time_t end = end_of_time();
	struct import import;
	struct rings rings;
	pthread_t thread;
	unsigned int i;

	if (shared) {
		import_rings(ep, &rings, &import);
		ringer.handle = import.handle;
	}
	CHECK(!pthread_create(&thread, NULL, ring_on, &ringer));
	for (i = 0; time(NULL) < end; i++) {
		if (!endpoint_connect(ep, ep)) {
			post_recv(ep->qp.recv.buf, i, &sge);
			post_send(ep->qp.send.buf, i, &sge);
			if (i % 2)
				to_state(ep, IBV_QPS_ERR);
		}
		CHECK(!to_state(ep, IBV_QPS_RESET));
	}
	__atomic_store_n(&ringer.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("reset many times\n");
}

#define RC_ONLY                                                                                 \
	(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
	 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

/* two senders to one QP, which does not ask from whom a packet is */
struct sender {
	struct endpoint ep;
	pthread_t thread;
	time_t end;
};

static void connect_uc(struct endpoint *ep, const struct endpoint *peer)
{
	struct ib_uverbs_qp_attr attr;
	uint8_t state;

	for (state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attr = qp_attr_to(peer, state);
		attr.qp_attr_mask &= ~RC_ONLY;
		CHECK(!qp_modify(ep->fd, ep->qp.handle, &attr));
	}
}

static void *send_on(void *arg)
{
	struct rxe_sge sge = { .addr = (uintptr_t)buffer };
	struct sender *s = arg;
	struct ib_uverbs_wc wc;
	unsigned int i;

	for (i = 0; time(NULL) < s->end; i++) {
		post_send(s->ep.qp.send.buf, i, &sge);
		CHECK(!qp_doorbell(s->ep.fd, s->ep.qp.handle));
		CHECK(poll_cq(s->ep.cq.ring.buf, &wc) && !wc.status);
	}
	return NULL;
}

/* on two CPUs: one queues the packet that the other takes and frees */
static void traffic(struct endpoint *unused, bool shared)
{
	struct sender sender[2];
	struct endpoint to;
	int i;

	CHECK(!endpoint_open(&to, "rxe0", IB_UVERBS_QPT_UC));
	for (i = 0; i < 2; i++) {
		CHECK(!endpoint_open(&sender[i].ep, "rxe1", IB_UVERBS_QPT_UC));
		connect_uc(&sender[i].ep, &to);
		sender[i].end = end_of_time();
	}
	connect_uc(&to, &sender[0].ep);
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&sender[i].thread, NULL, send_on, &sender[i]));
	for (i = 0; i < 2; i++)
		pthread_join(sender[i].thread, NULL);
	printf("sent many times\n");
}

static const struct fault {
	const char *name;
	void (*spoil)(struct rings *rings, struct rxe_sge *sge);
	void (*meanwhile)(struct rings *rings);
	void (*instead)(struct endpoint *ep, bool shared);
} faults[] = {
	{ .name = "opcode", .spoil = opcode },
	{ .name = "reg_mr", .spoil = reg_mr },
	{ .name = "inline_offset", .spoil = inline_offset },
	{ .name = "producer_index", .spoil = producer_index },
	{ .name = "num_sge", .spoil = num_sge },
	{ .name = "cur_sge", .spoil = cur_sge },
	{ .name = "recv_num_sge", .spoil = recv_num_sge },
	{ .name = "recv_cur_sge", .spoil = recv_cur_sge },
	{ .name = "state", .spoil = two, .meanwhile = fail_second },
	{ .name = "create_qp", .instead = create_qp },
	{ .name = "reset", .instead = reset },
	{ .name = "traffic", .instead = traffic },
};

static void run(const struct fault *fault, bool shared)
{
	struct rxe_sge sge = { .addr = (uintptr_t)buffer, .length = BYTES };
	struct ib_uverbs_reg_mr_resp mr;
	struct ib_uverbs_wc wc = {};
	struct import import;
	struct endpoint ep;
	struct rings rings;

	CHECK(!endpoint_open(&ep, "rxe0", IB_UVERBS_QPT_RC));
	if (fault->instead) {
		fault->instead(&ep, shared);
		return;
	}
	CHECK(!endpoint_connect(&ep, &ep));
	CHECK(!mr_reg(ep.fd, ep.pd, buffer, PAGE, ACCESS_ALL, &mr));
	rings = (struct rings){ ep.qp.send.buf, ep.qp.recv.buf };
	if (shared)
		import_rings(&ep, &rings, &import);
	sge.lkey = mr.lkey;
	post_recv(rings.recv, 2, &sge);
	fault->spoil(&rings, &sge);
	if (shared)
		CHECK(!do_kick(ep.fd, import.handle, IB_UVERBS_SHARE_KICK_SEND));
	else
		CHECK(!qp_doorbell(ep.fd, ep.qp.handle));
	if (fault->meanwhile)
		fault->meanwhile(&rings);
	if (poll_cq(ep.cq.ring.buf, &wc))
		printf("refused or done: status %u\n", wc.status);
	else
		printf("no completion\n");
}

int main(int argc, char *argv[])
{
	unsigned int i;

	for (i = 0; argc == 3 && i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (strcmp(argv[1], faults[i].name))
			continue;
		run(&faults[i], !strcmp(argv[2], "shared"));
		return 0;
	}
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		printf("%s\n", faults[i].name);
	return argc == 1 ? 0 : 2;
}
