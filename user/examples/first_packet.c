// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * usage: first_packet MODE ADDRESS PORT [CONNECTIONS [WORKERS]]
 *
 * A server of rdma_cm whose QP is used by other processes. Its clients, rping
 * (rping -c -a ADDRESS -p PORT -C 3) and ucmatose, know nothing of that. rping
 * sends as soon as it is connected. Where is the receive? MODE:
 *
 *   gate      workers post before the server accepts
 *   shared    the server posts; a worker that comes later takes the messages
 *             where they are
 *   rnr       nobody does: the message is refused, and sent again
 *   ucmatose  as gate, for that client
 *
 * The QP is not made by rdma_create_qp() and never put into id->qp: to the CM
 * it is a number.
 */
#include <arpa/inet.h>
#include <libgen.h>
#include <netdb.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <rdma/rdma_cma.h>
#include "first_packet.h"

#define BACKLOG 8

static const char *const modes[] = { "gate", "shared", "rnr", "ucmatose" };

struct server {
	enum mode mode;
	unsigned int num_workers;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct ibv_share_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct board *board;
	pid_t workers[MAX_WORKERS];
	int socks[MAX_WORKERS];
	/* clients that came while another one was served, oldest first */
	struct rdma_cm_id *queue[BACKLOG];
	unsigned int num_queued;
};

static void check(int err, const char *what)
{
	if (!err)
		return;
	if (err > 0)
		errno = err;
	die("server", what);
}

static void listen_at(struct server *s, const char *address, const char *port)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *ai;

	if (getaddrinfo(address, port, &hints, &ai))
		die("server", "not an address and a port");
	s->channel = rdma_create_event_channel();
	if (!s->channel)
		die("server", "rdma_cm");
	check(rdma_create_id(s->channel, &s->listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_bind_addr(s->listener, ai->ai_addr), "rdma_bind_addr");
	check(rdma_listen(s->listener, BACKLOG), "rdma_listen");
	freeaddrinfo(ai);
	if (!s->listener->verbs)
		die("server", "the address belongs to no RDMA device");
}

static void make_objects(struct server *s)
{
	const int access = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_qp_init_attr init = { .cap = { 32, 32, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	int fd = memfd_create("first_packet", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, sizeof(*s->board)))
		die("server", "memfd");
	s->board = mmap(NULL, sizeof(*s->board), PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);
	s->ctx = ibv_share_open(s->listener->verbs, NULL);
	s->pd = s->ctx ? ibv_share_alloc_pd(s->ctx) : NULL;
	s->cq = s->pd ? ibv_share_create_cq(s->ctx, 128, NULL, NULL, 0) : NULL;
	init.send_cq = init.recv_cq = s->cq;
	s->qp = s->cq ? ibv_share_create_qp(s->pd, &init) : NULL;
	s->mr = s->qp ? ibv_reg_shared_mr(s->pd, 0, sizeof(*s->board), 0, fd, access) : NULL;
	if (s->board == MAP_FAILED || !s->mr)
		die("server", "making QP and region");
	check(ibv_share_export_mr(s->mr, fd, 0, access), "ibv_share_export_mr");
	close(fd);
}

static void start_worker(struct server *s, unsigned int i)
{
	const char *name = ibv_get_device_name(s->listener->verbs->device);
	char mode[16], sock[16], index[16], path[4096] = "";
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		die("server", "socketpair");
	s->workers[i] = fork();
	if (s->workers[i] < 0)
		die("server", "fork");
	if (!s->workers[i]) {
		snprintf(mode, sizeof(mode), "%d", s->mode);
		snprintf(sock, sizeof(sock), "%d", dup(sv[1]));
		snprintf(index, sizeof(index), "%u", i);
		if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 ||
		    chdir(dirname(path)))
			die("server", "/proc/self/exe");
		execl("./first_packet_worker", "first_packet_worker", mode,
		      sock, index, (char *)NULL);
		die("server", "exec of a worker");
	}
	close(sv[1]);
	s->socks[i] = sv[0];
	if (send(sv[0], name, strlen(name), MSG_NOSIGNAL) < 0)
		die("server", "a worker is gone");
	check(ibv_share_send(s->ctx, sv[0], IBV_SHARE_ALL_RIGHTS), "ibv_share_send");
}

static void end_worker(struct server *s, unsigned int i)
{
	int status;

	close(s->socks[i]);
	if (waitpid(s->workers[i], &status, 0) != s->workers[i] || status)
		die("server", "a worker has failed");
	s->workers[i] = 0;
}

/* What the CM wants, but for what no server wants. */
static int to_state(struct server *s, struct rdma_cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask = IBV_QP_STATE;

	if (state != IBV_QPS_ERR && state != IBV_QPS_RESET) {
		if (rdma_init_qp_attr(id, &attr, &mask))
			return errno;
		ibv_share_fix_cm_attr(&attr, mask);
	}
	return ibv_share_modify_qp(s->qp, &attr, mask);
}

static int receives_first(struct server *s)
{
	uint32_t i;

	switch (s->mode) {
	case GATE:
		return ibv_share_gate_collect(s->qp, s->num_workers,
					      s->num_workers * RECEIVES, PATIENCE_MS);
	case UCMATOSE:
		return ibv_share_gate_collect(s->qp, 1, UCMATOSE_MESSAGES, PATIENCE_MS);
	case SHARED:
		for (i = 0; i < RECEIVES; i++)
			check(post_buffer(s->qp, s->mr, i), "ibv_post_recv");
		return 0;
	default:
		return 0;
	}
}

static int accept_it(struct server *s, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		/*
		 * How often the client repeats what finds no receive: for ever
		 * (7), or not at all, where the gate sees to it that there is one.
		 */
		.rnr_retry_count = s->mode == RNR ? 7 : 0,
		.qp_num = s->qp->qp_num,
	};
	int err;

	s->board->messages = 0;
	err = to_state(s, id, IBV_QPS_INIT);
	if (!err)
		err = receives_first(s);
	if (!err)
		err = to_state(s, id, IBV_QPS_RTR);
	if (!err)
		err = to_state(s, id, IBV_QPS_RTS);
	if (!err && rdma_accept(id, &param))
		err = errno;
	return err;
}

/* Polls in SHARED mode: what comes is for a worker, which comes, too. */
static void hand_over(struct server *s)
{
	struct note note;
	struct ibv_wc wc;

	while (ibv_poll_cq(s->cq, 1, &wc) == 1) {
		if (wc.status != IBV_WC_SUCCESS)
			continue;
		if (!s->workers[0])
			start_worker(s, 0);
		note = (struct note){ (uint32_t)wc.wr_id, wc.byte_len };
		if (send(s->socks[0], &note, sizeof(note), MSG_NOSIGNAL) < 0)
			die("server", "a worker is gone");
	}
}

/* 1: of the CM; 0: nothing new; the rest is done here. */
static int wait_for_something(struct server *s, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = s->channel->fd, .events = POLLIN },
				{ .fd = s->workers[0] ? s->socks[0] : -1,
				  .events = POLLIN } };
	struct note note;

	if (poll(fds, 2, s->mode == SHARED ? 1 : timeout_ms) < 0)
		die("server", "poll");
	if (s->mode == SHARED)
		hand_over(s);
	if (fds[1].revents && recv(s->socks[0], &note, sizeof(note), 0) <= 0)
		die("server", "a worker is gone");
	if (fds[1].revents && s->mode == SHARED)
		check(post_buffer(s->qp, s->mr, note.buffer % BUFFERS), "ibv_post_recv");
	if (fds[1].revents && s->mode == UCMATOSE)
		return -1;
	return fds[0].revents & POLLIN;
}

/* The next event of @id; who else comes meanwhile has to wait. */
static int next_event(struct server *s, const struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;
	int what;

	if (rdma_get_cm_event(s->channel, &event))
		die("server", "rdma_get_cm_event");
	what = event->id == id ? (int)event->event : -1;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (s->num_queued < BACKLOG)
			s->queue[s->num_queued++] = event->id;
		else
			rdma_reject(event->id, NULL, 0);
	}
	rdma_ack_cm_event(event);
	return what;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * Until the connection is over; nonzero if there was none. A client that goes
 * while it is accepted may not be able to say so. The CM asks it again and
 * again, for more than a minute: the others are not kept waiting for that.
 */
static int attend(struct server *s, struct rdma_cm_id *id)
{
	const long start = now_ms();
	int what, was_there = 0;

	while (was_there || now_ms() - start < PATIENCE_MS) {
		what = wait_for_something(s, was_there ? -1 : 100);
		if (what < 0)
			rdma_disconnect(id);
		if (what > 0)
			what = next_event(s, id);
		else
			what = -1;
		if (what == RDMA_CM_EVENT_ESTABLISHED) {
			was_there = 1;
			ibv_share_gate_open(s->qp);
		} else if (what >= 0) {
			return !was_there;
		}
	}
	return 1;
}

/* The CM does not know the QP: what was posted is flushed by ourselves. */
static void flush(struct server *s, struct rdma_cm_id *id)
{
	struct ibv_wc wc[8];

	check(to_state(s, id, IBV_QPS_ERR), "to ERR");
	if (s->mode == SHARED && s->workers[0])
		end_worker(s, 0);
	check(ibv_share_gate_drain(s->qp, PATIENCE_MS), "ibv_share_gate_drain");
	/* of our own, and of workers that have died */
	while (ibv_poll_cq(s->cq, 8, wc) > 0)
		;
	check(to_state(s, id, IBV_QPS_RESET), "to RESET");
}

static void end_connection(struct server *s, struct rdma_cm_id *id)
{
	/* a client that went early has not brought it so far */
	if (s->qp->state != IBV_QPS_RESET)
		flush(s, id);
	rdma_disconnect(id);
	rdma_destroy_id(id);
}

static struct rdma_cm_id *next_client(struct server *s)
{
	struct rdma_cm_id *id;
	unsigned int i;

	while (!s->num_queued)
		next_event(s, NULL);
	id = s->queue[0];
	s->num_queued--;
	for (i = 0; i < s->num_queued; i++)
		s->queue[i] = s->queue[i + 1];
	return id;
}

static void serve(struct server *s)
{
	struct rdma_cm_id *id = next_client(s);
	int err = accept_it(s, id);

	if (err) {
		fprintf(stderr, "server: not accepted: %s. %s\n", strerror(err),
			ibv_share_last_error());
		rdma_reject(id, NULL, 0);
	} else if (attend(s, id)) {
		fprintf(stderr, "server: the client has gone before it was there\n");
	}
	end_connection(s, id);
}

int main(int argc, char **argv)
{
	struct server s = { .num_workers = 1 };
	unsigned int i, n;

	if (argc < 4)
		die("usage", "first_packet gate|shared|rnr|ucmatose ADDRESS PORT"
			     " [CONNECTIONS [WORKERS]]");
	while (s.mode < UCMATOSE && strcmp(argv[1], modes[s.mode]))
		s.mode++;
	n = argc > 4 ? (unsigned int)strtoul(argv[4], NULL, 10) : 1;
	if (argc > 5)
		s.num_workers = (unsigned int)strtoul(argv[5], NULL, 10);
	if (s.num_workers < 1 || s.num_workers > MAX_WORKERS)
		s.num_workers = MAX_WORKERS;
	listen_at(&s, argv[2], argv[3]);
	make_objects(&s);
	for (i = 0; s.mode != SHARED && i < s.num_workers; i++)
		start_worker(&s, i);
	printf("ready\n");
	fflush(stdout);
	for (i = 0; i < n; i++)
		serve(&s);
	check(ibv_share_destroy_qp(s.qp), "ibv_share_destroy_qp");
	for (i = 0; i < MAX_WORKERS; i++)
		if (s.workers[i])
			end_worker(&s, i);
	check(ibv_share_destroy_cq(s.cq), "ibv_share_destroy_cq");
	check(ibv_share_dereg_mr(s.mr), "ibv_share_dereg_mr");
	check(ibv_share_dealloc_pd(s.pd), "ibv_share_dealloc_pd");
	check(ibv_share_close(s.ctx), "ibv_share_close");
	rdma_destroy_id(s.listener);
	rdma_destroy_event_channel(s.channel);
	return 0;
}
