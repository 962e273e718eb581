// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_uverbs_share.h>
#include <rdma/rdma_user_rxe.h>
#include "../control.h"
#include "fake_rxe.h"

void *fake_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

struct fake_device *fake_create(void)
{
	struct fake_device *dev = fake_memory(sizeof(*dev));
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&dev->lock, &attr);
	fake_open_events(dev);
	return dev;
}

static void *make_ring(uint32_t entries, uint32_t entry_bytes, size_t *bytes)
{
	struct rxe_queue_buf *queue;
	uint32_t log2 = 6;

	while (1u << log2 < entry_bytes)
		log2++;
	*bytes = sizeof(*queue) + ((size_t)entries << log2);
	queue = fake_memory(*bytes);
	queue->log2_elem_size = log2;
	queue->index_mask = entries - 1;
	return queue;
}

uint32_t fake_add_cq(struct fake_device *dev, uint32_t entries)
{
	struct fake_cq *cq = &dev->cqs[dev->num_cqs];

	cq->entries = entries;
	cq->ring = make_ring(entries, 64, &cq->bytes);
	return dev->num_cqs++;
}

uint32_t fake_add_qp(struct fake_device *dev, uint32_t send_cq,
		     uint32_t recv_cq, uint32_t entries, uint32_t entry_bytes,
		     int sig_all)
{
	struct fake_qp *qp = &dev->qps[dev->num_qps];

	qp->sq.entries = entries;
	qp->rq.entries = entries;
	qp->sq.ring = make_ring(entries, entry_bytes, &qp->sq.bytes);
	qp->rq.ring = make_ring(entries, entry_bytes, &qp->rq.bytes);
	qp->number = 17 + dev->num_qps;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	qp->peer = dev->num_qps;
	qp->sig_all = (uint32_t)sig_all;
	return dev->num_qps++;
}

void fake_connect(struct fake_device *dev, uint32_t a, uint32_t b)
{
	dev->qps[a].peer = b;
	dev->qps[b].peer = a;
}

static void *entry_of(void *ring, uint32_t index)
{
	struct rxe_queue_buf *queue = ring;

	return queue->data + ((size_t)index << queue->log2_elem_size);
}

static void *wq_peek(struct fake_wq *wq)
{
	struct rxe_queue_buf *queue = wq->ring;
	uint32_t producer = share_load_acquire(&queue->producer_index);

	if ((producer & (wq->entries - 1)) == wq->consumer)
		return NULL;
	return entry_of(queue, wq->consumer);
}

static void wq_consume(struct fake_wq *wq)
{
	struct rxe_queue_buf *queue = wq->ring;

	wq->consumer = (wq->consumer + 1) & (wq->entries - 1);
	share_store_release(&queue->consumer_index, wq->consumer);
}

static void cq_post(struct fake_cq *cq, const struct ib_uverbs_wc *wc,
		    int solicited)
{
	struct rxe_queue_buf *queue = cq->ring;
	uint32_t mask = cq->entries - 1;

	if (((cq->producer + 1 - share_load_acquire(&queue->consumer_index)) &
	     mask) == 0) {
		cq->overflows++;
		return;
	}
	memcpy(entry_of(queue, cq->producer), wc, sizeof(*wc));
	cq->producer = (cq->producer + 1) & mask;
	cq->cqes++;
	__atomic_store_n(&queue->producer_index, cq->producer,
			 __ATOMIC_SEQ_CST);
	fake_notify(cq, solicited);
}

void fake_inject(struct fake_device *dev, uint32_t cq, uint64_t wr_id,
		 uint32_t status)
{
	struct ib_uverbs_wc wc = { .wr_id = wr_id, .status = status };

	pthread_mutex_lock(&dev->lock);
	cq_post(&dev->cqs[cq], &wc, 0);
	pthread_mutex_unlock(&dev->lock);
}

static void complete_send(struct fake_device *dev, struct fake_qp *qp,
			  struct rxe_send_wqe *wqe, uint32_t status)
{
	struct ib_uverbs_wc wc = {
		.wr_id = wqe->wr.wr_id,
		.status = status,
		.qp_num = qp->number,
	};
	int post = qp->sig_all || status ||
		   wqe->wr.send_flags & IBV_SEND_SIGNALED;

	/* opcode and length are left out of failed ones, as rxe does */
	if (!status) {
		wc.byte_len = wqe->dma.length;
		wc.opcode = IBV_WC_SEND;
		if (wqe->wr.opcode <= IBV_WR_RDMA_WRITE_WITH_IMM)
			wc.opcode = IBV_WC_RDMA_WRITE;
	}
	wq_consume(&qp->sq);
	if (post)
		cq_post(&dev->cqs[qp->send_cq], &wc, 0);
}

static void complete_recv(struct fake_device *dev, struct fake_qp *qp,
			  struct rxe_recv_wqe *wqe, uint32_t status,
			  const struct rxe_send_wqe *from)
{
	struct ib_uverbs_wc wc = {
		.wr_id = wqe->wr_id,
		.status = status,
		.qp_num = qp->number,
	};

	if (!status) {
		wc.opcode = IBV_WC_RECV;
		wc.byte_len = from->dma.length;
		wc.wc_flags = IBV_WC_GRH;
		if (from->wr.opcode == IBV_WR_SEND_WITH_IMM) {
			wc.wc_flags |= IBV_WC_WITH_IMM;
			wc.ex.imm_data = from->wr.ex.imm_data;
		}
	}
	wq_consume(&qp->rq);
	/* Linux 6.12 does not take a flush for solicited */
	cq_post(&dev->cqs[qp->recv_cq], &wc,
		from && from->wr.send_flags & IBV_SEND_SOLICITED);
}

/* One SGE on either side is all that the tests use. */
static uint32_t copy_message(const struct rxe_send_wqe *wqe,
			     struct rxe_recv_wqe *recv)
{
	const void *from = wqe->dma.inline_data;

	if (wqe->dma.length > recv->dma.length)
		return IBV_WC_LOC_LEN_ERR;
	if (!wqe->dma.length)
		return 0;
	if (!(wqe->wr.send_flags & IBV_SEND_INLINE))
		from = (void *)(uintptr_t)wqe->dma.sge[0].addr;
	memcpy((void *)(uintptr_t)recv->dma.sge[0].addr, from,
	       wqe->dma.length);
	return 0;
}

static int is_bad(const struct rxe_send_wqe *wqe)
{
	return !(wqe->wr.send_flags & IBV_SEND_INLINE) && wqe->dma.num_sge &&
	       wqe->dma.sge[0].lkey == FAKE_BAD_LKEY;
}

static void flush(struct fake_device *dev, struct fake_qp *qp)
{
	struct rxe_send_wqe *send;
	struct rxe_recv_wqe *recv;

	qp->state = IBV_QPS_ERR;
	while ((send = wq_peek(&qp->sq)))
		complete_send(dev, qp, send, IBV_WC_WR_FLUSH_ERR);
	while ((recv = wq_peek(&qp->rq)))
		complete_recv(dev, qp, recv, IBV_WC_WR_FLUSH_ERR, NULL);
}

/* 1: done; 0: nothing there, or the peer has no receive yet. */
static int send_one(struct fake_device *dev, struct fake_qp *qp)
{
	struct rxe_send_wqe *wqe = wq_peek(&qp->sq);
	struct fake_qp *peer = &dev->qps[qp->peer];
	struct rxe_recv_wqe *recv;
	uint32_t status;

	if (!wqe)
		return 0;
	if (is_bad(wqe)) {
		complete_send(dev, qp, wqe, IBV_WC_LOC_PROT_ERR);
		flush(dev, qp);
		return 1;
	}
	if (wqe->wr.opcode == IBV_WR_SEND ||
	    wqe->wr.opcode == IBV_WR_SEND_WITH_IMM) {
		recv = wq_peek(&peer->rq);
		if (!recv || peer->state < IBV_QPS_RTR)
			return 0;
		status = copy_message(wqe, recv);
		complete_recv(dev, peer, recv, status, wqe);
		if (status) {
			complete_send(dev, qp, wqe, IBV_WC_REM_INV_REQ_ERR);
			flush(dev, qp);
			flush(dev, peer);
			return 1;
		}
	}
	complete_send(dev, qp, wqe, IBV_WC_SUCCESS);
	return 1;
}

/* Only what was kicked is looked at: a kick that is forgotten hangs the test. */
static int step_qp(struct fake_device *dev, struct fake_qp *qp)
{
	int done = 0;

	if (qp->state == IBV_QPS_ERR) {
		if (__atomic_exchange_n(&qp->kick_send, 0, __ATOMIC_ACQ_REL) +
		    __atomic_exchange_n(&qp->kick_recv, 0, __ATOMIC_ACQ_REL))
			flush(dev, qp);
		return 0;
	}
	if (qp->state != IBV_QPS_RTS ||
	    !__atomic_exchange_n(&qp->kick_send, 0, __ATOMIC_ACQ_REL))
		return 0;
	while (send_one(dev, qp))
		done = 1;
	/* waits for a receive: rxe's timer starts it again by itself */
	if (qp->state == IBV_QPS_RTS && wq_peek(&qp->sq))
		share_store(&qp->kick_send, 1);
	return done;
}

int fake_step(struct fake_device *dev)
{
	uint32_t i;
	int done = 0;

	pthread_mutex_lock(&dev->lock);
	for (i = 0; i < dev->num_qps; i++)
		done |= step_qp(dev, &dev->qps[i]);
	pthread_mutex_unlock(&dev->lock);
	return done;
}

void *fake_run(void *arg)
{
	struct fake_device *dev = arg;
	int idle = 0;

	while (!share_load_acquire(&dev->stop)) {
		idle = fake_step(dev) ? 0 : idle + 1;
		if (idle > 20)
			usleep(50);
		else if (idle)
			sched_yield();
	}
	return NULL;
}

static void reset_wq(struct fake_wq *wq)
{
	struct rxe_queue_buf *queue = wq->ring;

	/* the producer index stays where it is: see rxe_qp_reset() */
	while (wq_peek(wq))
		wq_consume(wq);
	memset(queue->data, 0, wq->bytes - sizeof(*queue));
}

void fake_modify(struct fake_device *dev, uint32_t index, uint32_t state)
{
	struct fake_qp *qp = &dev->qps[index];

	pthread_mutex_lock(&dev->lock);
	if (state == IBV_QPS_RESET) {
		reset_wq(&qp->sq);
		reset_wq(&qp->rq);
	}
	qp->state = state;
	if (state == IBV_QPS_ERR)
		flush(dev, qp);
	pthread_mutex_unlock(&dev->lock);
}

int fake_slot_alive(void *arg, uint32_t slot, uint32_t generation)
{
	struct fake_device *dev = arg;
	uint32_t now = share_load(&dev->generations[slot % 64]);

	return now && (now & SHARE_LOCK_GENERATION_MASK) == generation;
}

int fake_kick(void *arg, uint32_t index, uint32_t flags)
{
	struct fake_device *dev = arg;
	struct fake_qp *qp = &dev->qps[index % FAKE_MAX];

	__atomic_fetch_add(&qp->kicks, 1, __ATOMIC_RELAXED);
	/* full barriers: the kernel takes locks on its way */
	if (flags & IB_UVERBS_SHARE_KICK_SEND)
		__atomic_exchange_n(&qp->kick_send, 1, __ATOMIC_SEQ_CST);
	if (flags & IB_UVERBS_SHARE_KICK_RECV)
		__atomic_exchange_n(&qp->kick_recv, 1, __ATOMIC_SEQ_CST);
	return 0;
}
