// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A connection whose processes exit, or are killed, one after another, first
 * of all that which has made the objects. The peer is an unmodified
 * ibv_rc_pingpong: it notices nothing.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <kselftest_harness.h>
#include "share_program.h"
#include "share_succession.h"

#define PORT 18515
#define PORT_TEXT "18515"
#define TEXT "0000:000000:000000:00000000000000000000000000000000"

/* Every word is the number; but the peer wants the first byte of a page zero. */
static void fill(char *message, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < MESSAGE; i += sizeof(n))
		memcpy(message + i, &n, sizeof(n));
	message[0] = 0;
}

static int send_number(struct player *p, uint32_t n)
{
	char *out = p->all->board->out[n % BUFFERS];
	struct ibv_sge sge = { player_place(p, out), MESSAGE, p->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = player_send_id(n),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	fill(out, n);
	CHECK(!ibv_post_send(p->qp, &wr, &bad));
	return 0;
}

/* The peer sends back what it got last. If it begins, that is nothing. */
static int is_echo(struct player *p, uint32_t n)
{
	const uint32_t before = 1 - p->all->lead;
	char want[MESSAGE];

	if (n < before)
		return 0;
	fill(want, n - before);
	CHECK(!memcmp(p->all->board->in[n % BUFFERS], want, MESSAGE));
	return 0;
}

static int send_address(int sock, const struct player *p)
{
	char text[sizeof(TEXT)];
	union ibv_gid gid;
	int i, n;

	CHECK(!ibv_query_gid(p->context, 1, GID_INDEX, &gid));
	n = snprintf(text, sizeof(text), "0000:%06x:000000:", p->qp->qp_num);
	for (i = 0; i < 16; i++)
		n += snprintf(text + n, sizeof(text) - n, "%02x", gid.raw[i]);
	CHECK(send(sock, text, sizeof(text), MSG_NOSIGNAL) == sizeof(text));
	return 0;
}

static int connect_to_address(int sock, struct player *p)
{
	unsigned int lid, qpn, psn, word[4], i;
	char text[sizeof(TEXT)];
	union ibv_gid gid;
	uint32_t big;

	CHECK(recv(sock, text, sizeof(text), MSG_WAITALL) == sizeof(text));
	CHECK(sscanf(text, "%x:%x:%x:%8x%8x%8x%8x", &lid, &qpn, &psn, &word[0], &word[1],
		     &word[2], &word[3]) == 7);
	for (i = 0; i < 4; i++) {
		big = htonl(word[i]);
		memcpy(gid.raw + 4 * i, &big, 4);
	}
	CHECK(!lib_connect_psn(p->qp, qpn, &gid, psn));
	return 0;
}

/* Receives are there before the peer can know where to send to. */
static int serve_peer(struct player *p)
{
	char done[sizeof("done")];
	int sock = accept(p->all->listener, NULL, NULL);

	CHECK(sock >= 0);
	CHECK(!connect_to_address(sock, p));
	CHECK(!player_post(p));
	CHECK(!send_address(sock, p));
	CHECK(recv(sock, done, sizeof(done), MSG_WAITALL) == sizeof(done));
	close(sock);
	return 0;
}

static struct sockaddr_in loopback(void)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int call_peer(struct player *p)
{
	const struct sockaddr_in sa = loopback();
	int tries, sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (tries = 0; connect(sock, (const struct sockaddr *)&sa, sizeof(sa)); tries++) {
		CHECK(tries < PATIENCE_MS);
		usleep(1000);
	}
	CHECK(!send_address(sock, p));
	CHECK(!connect_to_address(sock, p));
	CHECK(!player_post(p));
	CHECK(send(sock, "done", sizeof("done"), MSG_NOSIGNAL) == sizeof("done"));
	close(sock);
	return 0;
}

FIXTURE(successor)
{
	struct succession all;
	struct program peer;
};

/* @lead: we call the peer, and send first */
FIXTURE_VARIANT(successor)
{
	int lead;
	int kill;
};

FIXTURE_VARIANT_ADD(successor, of_server_that_exits){
	.lead = 0,
	.kill = 0,
};

FIXTURE_VARIANT_ADD(successor, of_server_that_is_killed){
	.lead = 0,
	.kill = 1,
};

FIXTURE_VARIANT_ADD(successor, of_client_that_exits){
	.lead = 1,
	.kill = 0,
};

FIXTURE_VARIANT_ADD(successor, of_client_that_is_killed){
	.lead = 1,
	.kill = 1,
};

FIXTURE_SETUP(successor)
{
	const struct sockaddr_in sa = loopback();
	const int yes = 1;

	self->all = (struct succession){
		.lead = variant->lead,
		.sends = 1,
		.bytes = MESSAGE,
		.connect = variant->lead ? call_peer : serve_peer,
		.check = is_echo,
		.answer = send_number,
		.listener = -1,
		.keeper = -1,
	};
	if (!variant->lead) {
		self->all.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(self->all.listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		ASSERT_EQ(bind(self->all.listener, (const struct sockaddr *)&sa, sizeof(sa)), 0);
		ASSERT_EQ(listen(self->all.listener, 1), 0);
	}
	ASSERT_EQ(succession_start(&self->all), 0);
}

FIXTURE_TEARDOWN(successor)
{
	if (self->all.listener >= 0)
		close(self->all.listener);
}

static int start_peer(struct program *p, int is_client)
{
	char host[] = "127.0.0.1", count[16];
	char *argv[] = { "ibv_rc_pingpong", "-d", "rxe1", "-g", "1", "-c", "-p", PORT_TEXT,
			 "-n", count, is_client ? host : NULL, NULL };

	snprintf(count, sizeof(count), "%u", MESSAGES);
	return program_start(p, argv);
}

/* Eleven times another process goes on; each message comes once, and in order. */
TEST_F_TIMEOUT(successor, goes_on, NO_LIMIT)
{
	srandom(1);
	ASSERT_EQ(start_peer(&self->peer, !variant->lead), 0);
	ASSERT_EQ(succession_begin(&self->all), 0);
	ASSERT_EQ(succession_replace_all(&self->all, variant->kill), 0);
	ASSERT_EQ(succession_ends_well(&self->all), 0);
	EXPECT_EQ(program_ends_well(&self->peer, "ibv_rc_pingpong"), 0);
}

TEST_HARNESS_MAIN
