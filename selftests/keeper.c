// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A connection of rdma_cm ends with the process that has its event channel. So
 * one keeps that and does nothing else but to accept: the test. Those that have
 * made the QP, posted the receives and answered exit, or are killed, one after
 * another. The client is an unmodified rping, with its data check on.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <kselftest_harness.h>
#include "share_program.h"
#include "share_succession.h"

#define ADDRESS "10.8.0.1"
#define PORT 7175
#define PORT_TEXT "7175"

/* what rping sends: where to read from, then where to write to, and so on */
struct info {
	uint64_t address;
	uint32_t key;
	uint32_t size;
};

/* Its data has a number: with the second message of each round we have read it. */
static int is_info(struct player *p, uint32_t n)
{
	struct board *board = p->all->board;
	struct info info;
	char text[32];

	memcpy(&info, board->in[n % BUFFERS], sizeof(info));
	CHECK(info.key && be32toh(info.size) && be32toh(info.size) <= sizeof(board->data));
	snprintf(text, sizeof(text), "rdma-ping-%u: ", n / 2);
	CHECK(n % 2 == 0 || !strncmp(board->data, text, strlen(text)));
	return 0;
}

/* Both requests in one call: either both have been posted or none. */
static int read_or_write(struct player *p, uint32_t n)
{
	struct board *board = p->all->board;
	struct ibv_sge data = { player_place(p, board->data), 0, p->mr->lkey };
	struct ibv_sge text = { player_place(p, board->out[0]), sizeof(struct info), p->mr->lkey };
	struct ibv_send_wr go = {
		.wr_id = player_send_id(n),
		.sg_list = &text,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
	};
	struct ibv_send_wr move = {
		.next = &go,
		.sg_list = &data,
		.num_sge = 1,
		.opcode = n % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
	};
	struct ibv_send_wr *bad;
	struct info info;

	memcpy(&info, board->in[n % BUFFERS], sizeof(info));
	data.length = be32toh(info.size);
	move.wr.rdma.remote_addr = be64toh(info.address);
	move.wr.rdma.rkey = be32toh(info.key);
	CHECK(!ibv_post_send(p->qp, &move, &bad));
	return 0;
}

/* The keeper connects; before that the receives have to be there. */
static int post_at_gate(struct player *p)
{
	CHECK(!ibv_share_gate_wait(p->qp, IBV_SHARE_GATE_POST, PATIENCE_MS));
	CHECK(!player_post(p));
	CHECK(!ibv_share_gate_report(p->qp, p->posted));
	return 0;
}

FIXTURE(keeper)
{
	struct succession all;
	struct program rping;
	int sv[2];
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *id;
	struct ibv_share_context *ctx;
	struct ibv_qp *qp;
};

FIXTURE_VARIANT(keeper)
{
	int kill;
};

FIXTURE_VARIANT_ADD(keeper, of_those_that_exit){
	.kill = 0,
};

FIXTURE_VARIANT_ADD(keeper, of_those_that_are_killed){
	.kill = 1,
};

static int listen_at(FIXTURE_DATA(keeper) *self)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	CHECK(inet_pton(AF_INET, ADDRESS, &sa.sin_addr) == 1);
	CHECK(self->channel = rdma_create_event_channel());
	CHECK(!rdma_create_id(self->channel, &self->listener, NULL, RDMA_PS_TCP));
	CHECK(!rdma_bind_addr(self->listener, (struct sockaddr *)&sa));
	CHECK(!rdma_listen(self->listener, 1));
	return 0;
}

FIXTURE_SETUP(keeper)
{
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, self->sv), 0);
	self->all = (struct succession){
		.sends = 2,
		.bytes = sizeof(struct info),
		.connect = post_at_gate,
		.check = is_info,
		.answer = read_or_write,
		.listener = -1,
		.keeper = self->sv[0],
	};
	ASSERT_EQ(succession_start(&self->all), 0);
	ASSERT_EQ(listen_at(self), 0);
	self->ctx = ibv_share_recv(self->listener->verbs, self->sv[1]);
	ASSERT_NE(self->ctx, NULL);
	self->qp = ibv_share_get_qp(self->ctx, NULL);
	ASSERT_NE(self->qp, NULL);
}

FIXTURE_TEARDOWN(keeper)
{
	EXPECT_EQ(ibv_share_close(self->ctx), 0);
	rdma_destroy_id(self->listener);
	rdma_destroy_event_channel(self->channel);
}

/* @id: filled in with whose event it is, unless NULL */
static int expect_event(FIXTURE_DATA(keeper) *self, enum rdma_cm_event_type type,
			struct rdma_cm_id **id)
{
	struct pollfd pfd = { .fd = self->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	CHECK(poll(&pfd, 1, PATIENCE_MS) == 1);
	CHECK(!rdma_get_cm_event(self->channel, &event));
	if (event->event != type)
		printf("# %s, not %s\n", rdma_event_str(event->event), rdma_event_str(type));
	CHECK(event->event == type);
	if (id)
		*id = event->id;
	CHECK(!rdma_ack_cm_event(event));
	return 0;
}

static int to_state(FIXTURE_DATA(keeper) *self, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask = IBV_QP_STATE;

	if (state != IBV_QPS_ERR && state != IBV_QPS_RESET) {
		CHECK(!rdma_init_qp_attr(self->id, &attr, &mask));
		ibv_share_fix_cm_attr(&attr, mask);
	}
	CHECK(!ibv_share_modify_qp(self->qp, &attr, mask));
	return 0;
}

static int accept_client(FIXTURE_DATA(keeper) *self)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.rnr_retry_count = 7,
		.qp_num = self->qp->qp_num,
	};

	CHECK(!expect_event(self, RDMA_CM_EVENT_CONNECT_REQUEST, &self->id));
	CHECK(!to_state(self, IBV_QPS_INIT));
	CHECK(!ibv_share_gate_collect(self->qp, 1, BUFFERS, PATIENCE_MS));
	CHECK(!to_state(self, IBV_QPS_RTR));
	CHECK(!to_state(self, IBV_QPS_RTS));
	CHECK(!rdma_accept(self->id, &param));
	CHECK(!expect_event(self, RDMA_CM_EVENT_ESTABLISHED, NULL));
	return ibv_share_gate_open(self->qp);
}

static int end_connection(FIXTURE_DATA(keeper) *self)
{
	CHECK(!expect_event(self, RDMA_CM_EVENT_DISCONNECTED, NULL));
	CHECK(!to_state(self, IBV_QPS_ERR));
	CHECK(!ibv_share_gate_drain(self->qp, PATIENCE_MS));
	CHECK(!to_state(self, IBV_QPS_RESET));
	rdma_disconnect(self->id);
	CHECK(!rdma_destroy_id(self->id));
	return 0;
}

TEST_F_TIMEOUT(keeper, connection_goes_on, NO_LIMIT)
{
	char count[16];
	char *argv[] = { "rping", "-c", "-a", ADDRESS, "-p", PORT_TEXT, "-V", "-S", "1000",
			 "-C", count, NULL };

	/* two for each round */
	snprintf(count, sizeof(count), "%u", MESSAGES / 2);
	srandom(2);
	ASSERT_EQ(program_start(&self->rping, argv), 0);
	ASSERT_EQ(succession_begin(&self->all), 0);
	ASSERT_EQ(accept_client(self), 0);
	ASSERT_EQ(succession_replace_all(&self->all, variant->kill), 0);
	ASSERT_EQ(succession_ends_well(&self->all), 0);
	ASSERT_EQ(end_connection(self), 0);
	/* of which the second is its own fault, see first_packet.c */
	EXPECT_EQ(program_ends(&self->rping, "rping",
			       "client DISCONNECT EVENT...\n"
			       "rdma_get_cm_event: Bad file descriptor\n"),
		  0);
}

TEST_HARNESS_MAIN
