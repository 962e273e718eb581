// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Connections of rdma_cm: the server is user/examples/first_packet.c, with
 * worker processes; the clients are unmodified programs of rdmacm-utils, which
 * know nothing of all this, and one here that sends in its handler of
 * ESTABLISHED. Client and server are both on rxe0: so the CM wants it for an
 * address of this machine.
 *
 * With a gate the server allows no repetition: a message that finds no receive
 * ends the connection. The counter of the device is no witness for that: rxe of
 * 6.12 counts, and says to the client, RNR also for a message that has been
 * delivered when the *client's* QP has gone to ERR before it is answered.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <kselftest_harness.h>
#include "share_program.h"

#define ADDRESS "10.8.0.1"
#define PORT 7174
#define PORT_TEXT "7174"
#define IN_A_ROW 200
#define IN_A_ROW_TEXT "200"
#define WAITS_S 40 /* for the server, which waits 10 s for a silent client */
#define GONE_S 400 /* and for many that have gone */
#define RNR "send_rnr_err"

/* what rping sends */
struct info {
	uint64_t address;
	uint32_t key;
	uint32_t size;
};

static int server(struct program *p, char *mode, char *connections, char *workers)
{
	char program[] = EXAMPLES "/first_packet", address[] = ADDRESS, port[] = PORT_TEXT;
	char *argv[] = { program, mode, address, port, connections, workers, NULL };
	char text[7] = "";
	ssize_t n;

	CHECK(!program_start(p, argv));
	n = read(p->out, text, 6);
	CHECK(n == 6 && !strcmp(text, "ready\n"));
	return 0;
}

/*
 * Its thread for events may still be there when it closes its channel at the
 * end: then this rping (rdma-core 44) exits with -1, whatever the server is.
 */
static int rping(char *count)
{
	char *argv[] = { "rping", "-c", "-a", ADDRESS, "-p", PORT_TEXT, "-V", "-C", count, NULL };
	struct program p;

	CHECK(!program_start(&p, argv));
	return program_ends(&p, "rping",
			    "client DISCONNECT EVENT...\n"
			    "rdma_get_cm_event: Bad file descriptor\n");
}

static int ucmatose(void)
{
	char *argv[] = { "ucmatose", "-s", ADDRESS, "-p", PORT_TEXT, NULL };
	struct program p;

	CHECK(!program_start(&p, argv));
	return program_ends_well(&p, "ucmatose");
}

FIXTURE(first_packet)
{
	struct program server;
};

FIXTURE_SETUP(first_packet)
{
}

FIXTURE_TEARDOWN(first_packet)
{
}

/* 200 programs one after another, two workers: no message without a receive. */
TEST_F_TIMEOUT(first_packet, gate_rping, NO_LIMIT)
{
	int i;

	ASSERT_EQ(server(&self->server, "gate", IN_A_ROW_TEXT, "2"), 0);
	for (i = 0; i < IN_A_ROW; i++)
		ASSERT_EQ(rping("1"), 0);
	EXPECT_EQ(program_ends_well(&self->server, "server"), 0);
}

/* The negative control: they are refused, sent again, and none is lost. */
TEST_F_TIMEOUT(first_packet, without_gate, NO_LIMIT)
{
	const long before = lib_counter("rxe0", RNR);
	int i;

	ASSERT_EQ(server(&self->server, "rnr", "10", "1"), 0);
	for (i = 0; i < 10; i++)
		ASSERT_EQ(rping("2"), 0);
	EXPECT_EQ(program_ends_well(&self->server, "server"), 0);
	EXPECT_GE(before, 0);
	EXPECT_GT(lib_counter("rxe0", RNR), before);
}

/* The server posts, a worker that is started later takes it from there. */
TEST_F_TIMEOUT(first_packet, shared_memory, NO_LIMIT)
{
	int i;

	ASSERT_EQ(server(&self->server, "shared", "3", "1"), 0);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(rping("5"), 0);
	EXPECT_EQ(program_ends_well(&self->server, "server"), 0);
}

/* Here the server sends first. */
TEST_F_TIMEOUT(first_packet, gate_ucmatose, NO_LIMIT)
{
	int i;

	ASSERT_EQ(server(&self->server, "ucmatose", "5", "1"), 0);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(ucmatose(), 0);
	EXPECT_EQ(program_ends_well(&self->server, "server"), 0);
}

/*
 * struct client - one connection
 * @text: is what the server reads
 * @info: says where it is
 */
struct client {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct memory {
		char text[64];
		struct info info;
		struct info answer;
	} memory;
};

static int client_receives(struct client *c)
{
	struct ibv_sge sge = { (uintptr_t)&c->memory.answer, sizeof(struct info), c->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(c->id->qp, &wr, &bad);
}

static int client_sends(struct client *c)
{
	struct ibv_sge sge = { (uintptr_t)&c->memory.info, sizeof(struct info), c->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	c->memory.info = (struct info){ htobe64((uintptr_t)c->memory.text), htobe32(c->mr->rkey),
					htobe32(sizeof(c->memory.text)) };
	return ibv_post_send(c->id->qp, &wr, &bad);
}

static int client_makes_qp(struct client *c)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	CHECK(!rdma_create_qp(c->id, NULL, &init));
	c->cq = c->id->send_cq;
	c->mr = ibv_reg_mr(c->id->pd, &c->memory, sizeof(c->memory), ACCESS);
	CHECK(c->mr);
	return client_receives(c);
}

/* The next event has to be that; what is done with it comes before the ack. */
static int expect_event(struct client *c, enum rdma_cm_event_type type,
			int (*handle)(struct client *))
{
	struct pollfd pfd = { .fd = c->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	enum rdma_cm_event_type got;
	int ret = 0;

	CHECK(poll(&pfd, 1, 10000) == 1);
	CHECK(!rdma_get_cm_event(c->channel, &event));
	got = event->event;
	if (got == type && handle)
		ret = handle(c);
	rdma_ack_cm_event(event);
	if (got != type)
		printf("# event %s\n", rdma_event_str(got));
	CHECK(got == type);
	return ret;
}

static int client_opens(struct client *c)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7 };

	memset(c, 0, sizeof(*c));
	inet_pton(AF_INET, ADDRESS, &to.sin_addr);
	CHECK(c->channel = rdma_create_event_channel());
	CHECK(!rdma_create_id(c->channel, &c->id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&to, 2000));
	CHECK(!expect_event(c, RDMA_CM_EVENT_ADDR_RESOLVED, NULL));
	CHECK(!rdma_resolve_route(c->id, 2000));
	CHECK(!expect_event(c, RDMA_CM_EVENT_ROUTE_RESOLVED, client_makes_qp));
	CHECK(!rdma_connect(c->id, &param));
	return 0;
}

static void client_closes(struct client *c)
{
	rdma_destroy_qp(c->id);
	ibv_dereg_mr(c->mr);
	rdma_destroy_id(c->id);
	rdma_destroy_event_channel(c->channel);
}

/* Sent in the handler, read and answered. */
static int client_talks(struct client *c)
{
	struct ibv_wc wc;
	int tries, n;

	CHECK(!expect_event(c, RDMA_CM_EVENT_ESTABLISHED, client_sends));
	for (tries = 0; tries < 20000; tries++) {
		n = ibv_poll_cq(c->id->recv_cq, 1, &wc);
		if (n)
			break;
		usleep(500);
	}
	CHECK(n == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(wc.byte_len == sizeof(struct info));
	CHECK(!rdma_disconnect(c->id));
	return 0;
}

TEST_F_TIMEOUT(first_packet, gate_own_client, NO_LIMIT)
{
	struct client c;
	int i;

	ASSERT_EQ(server(&self->server, "gate", IN_A_ROW_TEXT, "2"), 0);
	for (i = 0; i < IN_A_ROW; i++) {
		ASSERT_EQ(client_opens(&c), 0);
		ASSERT_EQ(client_talks(&c), 0);
		client_closes(&c);
	}
	EXPECT_EQ(program_ends_well(&self->server, "server"), 0);
}

/* They go at all times between the request and the first message. */
TEST_F_TIMEOUT(first_packet, peer_goes_meanwhile, NO_LIMIT)
{
	struct client c;
	const time_t start = time(NULL);
	int i, status, served;

	ASSERT_EQ(server(&self->server, "gate", "1000", "2"), 0);
	for (i = 0; i < 30; i++) {
		ASSERT_EQ(client_opens(&c), 0);
		usleep(i % 10 * 2000);
		client_closes(&c);
	}
	/*
	 * And the server is there yet, when it has got through those that went.
	 * It waits up to 10 s for each.
	 */
	do
		served = !rping("2");
	while (!served && !usleep(100000) && time(NULL) - start < GONE_S);
	EXPECT_TRUE(served);
	EXPECT_EQ(waitpid(self->server.pid, &status, WNOHANG), 0);
	kill(self->server.pid, SIGTERM);
	EXPECT_EQ(program_ends_well(&self->server, "server"), SIGTERM);
}

/* It never answers the server's reply: nobody fetches its events. */
TEST_F_TIMEOUT(first_packet, silent_peer, NO_LIMIT)
{
	struct client c;
	time_t start;

	ASSERT_EQ(server(&self->server, "gate", "2", "1"), 0);
	start = time(NULL);
	ASSERT_EQ(client_opens(&c), 0);
	EXPECT_EQ(rping("2"), 0);
	EXPECT_LT(time(NULL) - start, WAITS_S);
	client_closes(&c);
	EXPECT_EQ(program_ends_well(&self->server, "server"), 0);
}

TEST_HARNESS_MAIN
