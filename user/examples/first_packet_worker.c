// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * usage: first_packet_worker MODE SOCKET INDEX
 *
 * A worker of first_packet, which starts it: knows the QP and nothing of
 * connections. Serves rping: a message names memory of the client. That of
 * the first, third and so on is read, that of the others gets what was read,
 * which may have been another worker's doing. Each is answered.
 */
#include <endian.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "first_packet.h"

/*
 * struct worker
 * @outstanding: requests whose completion is still to come
 * @over: one of them has failed: the connection is gone
 */
struct worker {
	enum mode mode;
	int sock;
	uint32_t index;
	struct ibv_share_context *ctx;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct board *board;
	unsigned int outstanding;
	int over;
};

static void check(int err, const char *what)
{
	if (!err)
		return;
	errno = err;
	die("worker", what);
}

static void open_all(struct worker *w)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **dev = list;
	char name[IBV_SYSFS_NAME_MAX] = "";
	struct ibv_context *context;

	/* the server says on which device it is */
	if (recv(w->sock, name, sizeof(name) - 1, 0) <= 0)
		die("worker", "the server is gone");
	while (dev && *dev && strcmp(ibv_get_device_name(*dev), name))
		dev++;
	context = dev && *dev ? ibv_open_device(*dev) : NULL;
	if (!context)
		die("worker", "no device");
	w->ctx = ibv_share_recv(context, w->sock);
	w->qp = w->ctx ? ibv_share_get_qp(w->ctx, NULL) : NULL;
	w->mr = w->qp ? ibv_share_get_mr(w->ctx, NULL) : NULL;
	if (!w->mr)
		die("worker", "no bundle");
	w->cq = w->qp->recv_cq;
	w->board = mmap(NULL, sizeof(*w->board), PROT_READ | PROT_WRITE,
			MAP_SHARED, ibv_share_mr_fd(w->mr, NULL), 0);
	if (w->board == MAP_FAILED)
		die("worker", "mmap");
	ibv_free_device_list(list);
}

static void post_receive(struct worker *w, uint32_t buffer)
{
	check(post_buffer(w->qp, w->mr, buffer), "ibv_post_recv");
	w->outstanding++;
}

/* Reads or writes as rping wants it, and answers when that is done. */
static void answer_rping(struct worker *w, uint32_t buffer)
{
	struct rping_info info;
	struct ibv_sge data = { .lkey = w->mr->lkey };
	struct ibv_sge text = { place(w->mr, offsetof(struct board, answer)),
				sizeof(struct rping_info), w->mr->lkey };
	struct ibv_send_wr go = { .opcode = IBV_WR_SEND,
				  .sg_list = &text,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED |
						IBV_SEND_FENCE };
	struct ibv_send_wr move = { .next = &go,
				    .sg_list = &data,
				    .num_sge = 1,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	uint32_t n = __atomic_fetch_add(&w->board->messages, 1, __ATOMIC_ACQ_REL);

	/* in place: the receive wrote it where we look */
	memcpy(&info, w->board->buffers[buffer], sizeof(info));
	move.opcode = n % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
	move.wr.rdma.remote_addr = be64toh(info.address);
	move.wr.rdma.rkey = be32toh(info.key);
	data.addr = place(w->mr, offsetof(struct board, data));
	data.length = be32toh(info.size);
	if (data.length > DATA_SIZE)
		die("worker", "the client wants too much");
	check(ibv_post_send(w->qp, &move, &bad), "ibv_post_send");
	w->outstanding += 2;
}

static void completed(struct worker *w, const struct ibv_wc *wc)
{
	w->outstanding--;
	if (wc->status != IBV_WC_SUCCESS) {
		w->over = 1;
		return;
	}
	if (wc->opcode != IBV_WC_RECV || w->mode == UCMATOSE)
		return;
	if (wc->byte_len != sizeof(struct rping_info))
		die("worker", "not a message of rping");
	answer_rping(w, (uint32_t)wc->wr_id);
	if (!w->over)
		post_receive(w, (uint32_t)wc->wr_id);
}

static int poll_once(struct worker *w)
{
	struct ibv_wc wc[8];
	int i, n = ibv_poll_cq(w->cq, 8, wc);

	if (n < 0)
		return n;
	for (i = 0; i < n; i++)
		completed(w, &wc[i]);
	if (!n)
		usleep(1000);
	return 0;
}

static void send_to_ucmatose(struct worker *w)
{
	struct ibv_sge sge = { place(w->mr, offsetof(struct board, data)),
			       UCMATOSE_SIZE, w->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	int i;

	for (i = 0; i < UCMATOSE_MESSAGES; i++) {
		check(ibv_post_send(w->qp, &wr, &bad), "ibv_post_send");
		w->outstanding++;
	}
}

static void post_receives(struct worker *w)
{
	const uint32_t n = w->mode == UCMATOSE ? UCMATOSE_MESSAGES : RECEIVES;
	uint32_t i;

	for (i = 0; i < n; i++)
		post_receive(w, w->index * RECEIVES + i);
}

/* One connection. Returns 0 when there will be no more. */
static int serve(struct worker *w)
{
	int err = ibv_share_gate_wait(w->qp, IBV_SHARE_GATE_POST, -1);

	if (err == ENOLINK)
		return 0;
	check(err, "waiting for a connection to begin");
	w->over = 0;
	if (w->mode != RNR)
		post_receives(w);
	check(ibv_share_gate_report(w->qp, w->outstanding), "reporting");
	err = ibv_share_gate_wait(w->qp, IBV_SHARE_GATE_OPEN, -1);
	if (err && err != ECONNRESET)
		check(err, "waiting for the connection");
	if (!err && w->mode == UCMATOSE)
		send_to_ucmatose(w);
	if (!err && w->mode == RNR) {
		/* late: what the client has sent is refused, and sent again */
		usleep(20000);
		post_receives(w);
	}
	while (w->outstanding)
		check(-poll_once(w), "ibv_poll_cq");
	/* this client waits for the server to disconnect */
	if (!err && !w->over && w->mode == UCMATOSE &&
	    send(w->sock, "d", 1, MSG_NOSIGNAL) != 1)
		die("worker", "the server is gone");
	check(ibv_share_gate_leave(w->qp), "leaving");
	return 1;
}

/* The server has received the messages; they are taken where they are. */
static void serve_later(struct worker *w)
{
	struct note note;

	while (recv(w->sock, &note, sizeof(note), 0) == sizeof(note)) {
		if (note.length != sizeof(struct rping_info))
			die("worker", "not a message of rping");
		answer_rping(w, note.buffer % BUFFERS);
		while (w->outstanding)
			check(-poll_once(w), "ibv_poll_cq");
		if (send(w->sock, &note, sizeof(note), MSG_NOSIGNAL) < 0)
			break;
	}
}

int main(int argc, char **argv)
{
	struct worker w = { .outstanding = 0 };

	if (argc != 4)
		die("worker", "is started by first_packet only");
	w.mode = (enum mode)strtol(argv[1], NULL, 10);
	w.sock = (int)strtol(argv[2], NULL, 10);
	w.index = (uint32_t)strtol(argv[3], NULL, 10) % MAX_WORKERS;
	open_all(&w);
	if (w.mode == SHARED)
		serve_later(&w);
	else
		while (serve(&w))
			;
	return ibv_share_close(w.ctx);
}
