// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * usage: demo DEVICE GID-INDEX PORT
 *
 * Process E makes a QP and does the TCP handshake of ibv_rc_pingpong with a
 * server of that name at 127.0.0.1:PORT. Process W, which is demo_worker, posts
 * the receives and the sends on E's QP and polls E's CQ. The server sends back
 * what it got, so W can check every byte.
 */
#include <arpa/inet.h>
#include <libgen.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "demo.h"

struct address {
	unsigned int lid, qpn, psn;
	union ibv_gid gid;
};

/* one line of "name: text" of /proc/PID/status */
static void print_status(const char *who, pid_t pid, const char *field)
{
	char path[64], line[256];
	size_t len = strlen(field);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, len) && line[len] == ':')
			printf("  %s (pid %d) %s", who, pid, line);
	if (f)
		fclose(f);
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	errno = ibv_share_modify_qp(qp, attr, mask | IBV_QP_STATE);
	if (errno)
		die("E: ibv_share_modify_qp to state %d", attr->qp_state);
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	modify(qp, &attr,
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static void connect_qp(struct ibv_qp *qp, int gid_index,
		       const struct address *mine, const struct address *peer)
{
	const int for_rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER;
	const int for_rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			    IBV_QP_MAX_QP_RD_ATOMIC;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = peer->gid,
				.sgid_index = gid_index,
				.hop_limit = 1,
			},
		},
	};

	modify(qp, &attr, for_rtr);

	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.sq_psn = mine->psn;
	attr.max_rd_atomic = 1;
	modify(qp, &attr, for_rts);
}

/* the handshake of ibv_rc_pingpong: addresses as text, then "done" */
static struct address exchange(int port, const struct address *mine)
{
	char msg[sizeof("0000:000000:000000:") + 32];
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct address peer = { 0 };
	const uint32_t *in = (const uint32_t *)mine->gid.raw;
	uint32_t *out = (uint32_t *)peer.gid.raw;
	int sock = socket(AF_INET, SOCK_STREAM, 0), i, n;

	if (sock < 0 || connect(sock, (struct sockaddr *)&sa, sizeof(sa)))
		die("E: nobody listens at port %d", port);
	snprintf(msg, sizeof(msg), "%04x:%06x:%06x:%08x%08x%08x%08x", mine->lid,
		 mine->qpn, mine->psn, ntohl(in[0]), ntohl(in[1]), ntohl(in[2]),
		 ntohl(in[3]));
	if (write(sock, msg, sizeof(msg)) != sizeof(msg) ||
	    recv(sock, msg, sizeof(msg), MSG_WAITALL) != sizeof(msg) ||
	    write(sock, "done", sizeof("done")) != sizeof("done"))
		die("E: handshake");
	close(sock);

	n = sscanf(msg, "%x:%x:%x:%8x%8x%8x%8x", &peer.lid, &peer.qpn,
		   &peer.psn, &out[0], &out[1], &out[2], &out[3]);
	if (n != 7)
		die("E: handshake: %s", msg);
	for (i = 0; i < 4; i++)
		out[i] = htonl(out[i]);
	return peer;
}

/* takes over @sock, which is close-on-exec in E */
static pid_t start_worker(const char *device, int sock)
{
	char fd[16], path[4096] = "";
	pid_t pid = fork();

	if (pid < 0)
		die("E: fork");
	if (pid) {
		close(sock);
		return pid;
	}
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		die("W: /proc/self/exe");
	if (chdir(dirname(path)))
		die("W: chdir");
	snprintf(fd, sizeof(fd), "%d", dup(sock));
	execl("./demo_worker", "demo_worker", device, fd, NULL);
	die("W: exec");
}

static int report(pid_t w, struct ibv_qp *qp, const struct result *result)
{
	double mbit = 2.0 * ITERS * SIZE * 8 / result->seconds / 1e6;

	printf("\nWho did what\n");
	printf("  E (pid %d) created PD, CQ, QP 0x%06x and the region, and connected\n",
	       getpid(), qp->qp_num);
	printf("  W (pid %d) posted %u receives and %u sends, polled %u completions\n",
	       w, result->received, result->sent,
	       result->sent + result->received);
	printf("Figures\n");
	printf("  %u round trips of %zu bytes in %.2f s: %.1f Mbit/s, latency %.0f us\n",
	       ITERS, SIZE, result->seconds, mbit,
	       result->seconds / ITERS / 2 * 1e6);
	printf("Pinned memory\n");
	print_status("E", getpid(), "VmPin");
	print_status("W", w, "VmPin");
	printf("As the kernel sees it (rdma resource)\n");
	fflush(stdout);
	if (system("rdma resource show qp link rxe0/1 | grep -v 'type GSI' | sed 's/^/  /';"
		   "rdma resource show mr dev rxe0 | sed 's/^/  /';"
		   "rdma resource show cq dev rxe0 | sed 's/^/  /'"))
		die("rdma resource");
	printf("Verdict\n  %s: %u of %u messages came back as they were sent\n",
	       result->wrong ? "FAILED" : "OK", result->received - result->wrong,
	       ITERS);
	return result->wrong || result->received != ITERS;
}

static int exporter(const char *device, int gid_index, int port)
{
	struct ibv_context *context = open_device(device);
	struct ibv_share_context *ctx = ibv_share_open(context, NULL);
	struct ibv_pd *pd = ctx ? ibv_share_alloc_pd(ctx) : NULL;
	struct ibv_cq *cq =
		pd ? ibv_share_create_cq(ctx, 4 * DEPTH, NULL, NULL, 0) : NULL;
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
	};
	struct ibv_qp *qp = cq ? ibv_share_create_qp(pd, &init) : NULL;
	int memfd = memfd_create("demo", MFD_CLOEXEC), sv[2], status, ret;
	struct address mine = { .psn = 0x123456 }, peer;
	struct result result;
	struct ibv_mr *mr;
	pid_t w;
	char c;

	if (!qp)
		die("E: cannot make a shared QP");
	if (memfd < 0 || ftruncate(memfd, BYTES) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		die("E: memfd, socketpair");
	mr = ibv_reg_shared_mr(pd, 0, BYTES, 0, memfd, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("E: ibv_reg_shared_mr");
	errno = ibv_share_export_mr(mr, memfd, 0, IBV_ACCESS_LOCAL_WRITE);
	if (errno)
		die("E: ibv_share_export_mr");
	to_init(qp);

	w = start_worker(device, sv[1]);
	errno = ibv_share_send(ctx, sv[0], IBV_SHARE_ALL_RIGHTS);
	if (errno)
		die("E: ibv_share_send");
	/* W has posted its receives: the peer may send as soon as it likes */
	if (recv(sv[0], &c, 1, 0) != 1)
		die("E: W is gone");

	mine.qpn = qp->qp_num;
	if (ibv_query_gid(context, 1, gid_index, &mine.gid))
		die("E: ibv_query_gid");
	peer = exchange(port, &mine);
	connect_qp(qp, gid_index, &mine, &peer);
	if (send(sv[0], "g", 1, 0) != 1 ||
	    recv(sv[0], &result, sizeof(result), 0) != sizeof(result))
		die("E: W is gone");

	ret = report(w, qp, &result);
	if (send(sv[0], "q", 1, 0) != 1 || waitpid(w, &status, 0) != w)
		die("E: W is gone");
	if (status) {
		printf("W ended with status 0x%x\n", status);
		ret = 1;
	}
	if (ibv_share_destroy_qp(qp) || ibv_share_destroy_cq(cq) ||
	    ibv_share_dereg_mr(mr) || ibv_share_dealloc_pd(pd) ||
	    ibv_share_close(ctx) || ibv_close_device(context))
		die("E: cannot clean up");
	return ret;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: demo DEVICE GID-INDEX PORT\n");
		return 2;
	}
	return exporter(argv[1], (int)strtol(argv[2], NULL, 10),
			(int)strtol(argv[3], NULL, 10));
}
