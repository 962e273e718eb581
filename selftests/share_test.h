/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What the tests of the module have in common. Nothing of libibverbs or
 * libibvshare is used: a test talks to the kernel and to nobody else.
 *
 * do_x() returns 0 or a positive errno; test_x() and test_err_x(errno, ...)
 * assert on it, so that the body of a test reads as a list of sentences.
 */
#ifndef SHARE_TEST_H
#define SHARE_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/rdma_user_rxe.h>
#include <rdma/ib_uverbs_share.h>

#include "share_limit.h"

#define PAGE 4096UL
#define HUGE_PAGE (2UL << 20)

/* bounds of everything that is waited for; TCG on a busy host is slow */
#define WAIT_MS 10000

#define ACCESS_LOCAL IB_UVERBS_ACCESS_LOCAL_WRITE
#define ACCESS_ALL                                                      \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | \
	 IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC)

/* share_call.c: one ioctl */

struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[24];
};

/* enum rdma_driver_id of the device; uverbs wants to be told */
extern uint32_t call_driver;

void call_init(struct call *call, uint16_t object, uint16_t method);
struct ib_uverbs_attr *put_in(struct call *call, uint16_t id, const void *data, uint16_t len);
struct ib_uverbs_attr *put_u32(struct call *call, uint16_t id, uint32_t value);
struct ib_uverbs_attr *put_u64(struct call *call, uint16_t id, uint64_t value);
struct ib_uverbs_attr *put_out(struct call *call, uint16_t id, void *data, uint16_t len);
struct ib_uverbs_attr *put_handle(struct call *call, uint16_t id, uint32_t handle);
struct ib_uverbs_attr *put_fd(struct call *call, uint16_t id, int fd);
struct ib_uverbs_attr *find_attr(struct call *call, uint16_t id);
int call_run(int fd, struct call *call);

/* share_methods.c: the methods of the module */

/* for the optional attributes: not given */
#define ABSENT 0xffffffffU

/* @pd: for IMPORT_REG_MR an import; @addr: there, if @fd is -1 */
struct reg_mr {
	uint32_t pd;
	int fd;
	uint64_t addr;
	uint64_t offset;
	uint64_t length;
	uint64_t iova;
	uint64_t access;
	uint32_t handle, lkey, rkey;
};

struct export_args {
	int cmd_fd;
	uint32_t object;
	uint32_t rights;
	const struct ib_uverbs_share_segment *segs;
	unsigned int nsegs;
	int mem_fd;
	uint64_t mem_offset;
	uint32_t access;
	uint32_t handle;
	int grant;
};

/* export @object_ of the file @fd_ with all rights and nothing else */
#define EXPORT_OF(fd_, object_)                     \
	((struct export_args){ .cmd_fd = (fd_),     \
			       .object = (object_), \
			       .rights = ABSENT,    \
			       .mem_fd = -1,        \
			       .access = ABSENT,    \
			       .grant = -1 })

struct import {
	int grant;
	uint32_t rights;
	int event;
	uint32_t pd;
	uint32_t handle;
	struct ib_uverbs_share_info info;
};

#define IMPORT_OF(grant_) \
	((struct import){ .grant = (grant_), .rights = ABSENT, .event = -1, .pd = ABSENT })

void call_reg_mr(struct call *call, struct reg_mr *reg);
void call_export(struct call *call, struct export_args *export);
void call_derive(struct call *call, int grant, uint32_t rights, int *new_grant);
void call_import(struct call *call, struct import *import);
void call_import_reg_mr(struct call *call, struct reg_mr *reg);
void call_kick(struct call *call, uint32_t handle, uint32_t flags);
void call_arm(struct call *call, uint32_t handle, uint32_t flags);
void call_modify(struct call *call, uint32_t handle, const struct ib_uverbs_qp_attr *attr);
void call_query_qp(struct call *call, uint32_t handle, struct ib_uverbs_qp_attr *attr);
void call_query_cq(struct call *call, uint32_t handle, struct ib_uverbs_share_cq *out);
void call_query_srq(struct call *call, uint32_t handle, struct ib_uverbs_share_srq *out);
void call_modify_srq(struct call *call, uint32_t handle, uint32_t limit);
void call_query_mr(struct call *call, uint32_t handle, struct ib_uverbs_share_mr *out);
void call_query_slot(struct call *call, uint32_t handle, uint32_t slot,
		     struct ib_uverbs_share_slot *out);
void call_wake_slot(struct call *call, uint32_t handle, uint32_t slot);

int do_query(int fd, struct ib_uverbs_share_caps *caps);
int do_reg_mr(int fd, struct reg_mr *reg);
int do_export(int fd, struct export_args *export);
int do_revoke(int fd, uint32_t handle);
int do_derive(int fd, int grant, uint32_t rights, int *new_grant);
int do_import(int fd, struct import *import);
int do_release(int fd, uint32_t handle);
int do_import_reg_mr(int fd, struct reg_mr *reg);
int do_kick(int fd, uint32_t handle, uint32_t flags);
int do_arm(int fd, uint32_t handle, uint32_t flags);
int do_modify(int fd, uint32_t handle, const struct ib_uverbs_qp_attr *attr);
int do_query_qp(int fd, uint32_t handle, struct ib_uverbs_qp_attr *attr);
int do_query_cq(int fd, uint32_t handle, struct ib_uverbs_share_cq *out);
int do_query_srq(int fd, uint32_t handle, struct ib_uverbs_share_srq *out);
int do_modify_srq(int fd, uint32_t handle, uint32_t limit);
int do_query_mr(int fd, uint32_t handle, struct ib_uverbs_share_mr *out);
int do_query_slot(int fd, uint32_t handle, uint32_t slot, struct ib_uverbs_share_slot *out);
int do_wake_slot(int fd, uint32_t handle, uint32_t slot);

#define test_ok(call_) ASSERT_EQ(0, call_)
#define test_err(errno_, call_) ASSERT_EQ(errno_, call_)

#define test_query(...) test_ok(do_query(__VA_ARGS__))
#define test_reg_mr(...) test_ok(do_reg_mr(__VA_ARGS__))
#define test_err_reg_mr(e, ...) test_err(e, do_reg_mr(__VA_ARGS__))
#define test_export(...) test_ok(do_export(__VA_ARGS__))
#define test_err_export(e, ...) test_err(e, do_export(__VA_ARGS__))
#define test_revoke(...) test_ok(do_revoke(__VA_ARGS__))
#define test_err_revoke(e, ...) test_err(e, do_revoke(__VA_ARGS__))
#define test_derive(...) test_ok(do_derive(__VA_ARGS__))
#define test_err_derive(e, ...) test_err(e, do_derive(__VA_ARGS__))
#define test_import(...) test_ok(do_import(__VA_ARGS__))
#define test_err_import(e, ...) test_err(e, do_import(__VA_ARGS__))
#define test_import_reg_mr(...) test_ok(do_import_reg_mr(__VA_ARGS__))
#define test_err_import_reg_mr(e, ...) test_err(e, do_import_reg_mr(__VA_ARGS__))
#define test_release(...) test_ok(do_release(__VA_ARGS__))
#define test_err_release(e, ...) test_err(e, do_release(__VA_ARGS__))
#define test_kick(...) test_ok(do_kick(__VA_ARGS__))
#define test_err_kick(e, ...) test_err(e, do_kick(__VA_ARGS__))
#define test_arm(...) test_ok(do_arm(__VA_ARGS__))
#define test_err_arm(e, ...) test_err(e, do_arm(__VA_ARGS__))
#define test_modify(...) test_ok(do_modify(__VA_ARGS__))
#define test_err_modify(e, ...) test_err(e, do_modify(__VA_ARGS__))
#define test_query_qp(...) test_ok(do_query_qp(__VA_ARGS__))
#define test_err_query_qp(e, ...) test_err(e, do_query_qp(__VA_ARGS__))
#define test_query_cq(...) test_ok(do_query_cq(__VA_ARGS__))
#define test_err_query_cq(e, ...) test_err(e, do_query_cq(__VA_ARGS__))
#define test_query_srq(...) test_ok(do_query_srq(__VA_ARGS__))
#define test_err_query_srq(e, ...) test_err(e, do_query_srq(__VA_ARGS__))
#define test_modify_srq(...) test_ok(do_modify_srq(__VA_ARGS__))
#define test_err_modify_srq(e, ...) test_err(e, do_modify_srq(__VA_ARGS__))
#define test_query_mr(...) test_ok(do_query_mr(__VA_ARGS__))
#define test_err_query_mr(e, ...) test_err(e, do_query_mr(__VA_ARGS__))
#define test_query_slot(...) test_ok(do_query_slot(__VA_ARGS__))
#define test_err_query_slot(e, ...) test_err(e, do_query_slot(__VA_ARGS__))
#define test_wake_slot(...) test_ok(do_wake_slot(__VA_ARGS__))
#define test_err_wake_slot(e, ...) test_err(e, do_wake_slot(__VA_ARGS__))

/* share_verbs.c: the verbs that everybody has, and the rings of rxe */

struct ring {
	struct mminfo mi;
	struct rxe_queue_buf *buf;
};

struct cq {
	uint32_t handle;
	struct ring ring;
};

struct qp {
	uint32_t handle;
	uint32_t num;
	struct ring send, recv;
};

struct srq {
	uint32_t handle;
	struct ring ring;
};

/* one side of a connection: a uverbs file with a PD, a CQ and a QP */
struct endpoint {
	int fd;
	int channel;
	uint32_t pd;
	struct cq cq;
	struct qp qp;
	uint8_t gid[16];
};

int dev_open(const char *name);
int pd_alloc(int fd, uint32_t *pd);
int cq_create(int fd, uint32_t cqe, int channel, struct cq *cq);
int srq_create(int fd, uint32_t pd, struct srq *srq);
int srq_query(int fd, uint32_t srq, struct ib_uverbs_query_srq_resp *resp);
int srq_set_limit(int fd, uint32_t srq, uint32_t limit);
int qp_create(struct endpoint *ep, uint32_t type, const struct srq *srq, struct qp *qp);
int channel_create(int fd, int *channel);
int mw_alloc(int fd, uint32_t pd, uint32_t *rkey);
int destroy(int fd, uint16_t object, uint32_t handle);
long count_handles(int fd, uint16_t object);
int mr_reg(int fd, uint32_t pd, const void *addr, uint64_t length, uint32_t access,
	   struct ib_uverbs_reg_mr_resp *mr);
int mr_rereg_access(int fd, uint32_t handle, uint32_t access);
int qp_modify(int fd, uint32_t handle, const struct ib_uverbs_qp_attr *attr);
int qp_doorbell(int fd, uint32_t handle);
int cq_arm(int fd, uint32_t handle, bool solicited_only);
int qp_query(int fd, uint32_t handle, struct ib_uverbs_query_qp_resp *resp);

int endpoint_open(struct endpoint *ep, const char *dev, uint32_t type);
void endpoint_close(struct endpoint *ep);
struct ib_uverbs_qp_attr qp_attr_to(const struct endpoint *peer, uint8_t state);
int endpoint_connect(struct endpoint *ep, const struct endpoint *peer);

struct ib_uverbs_share_segment ring_segment(const struct ring *ring, uint32_t which);
void post_recv(struct rxe_queue_buf *ring, uint64_t id, const struct rxe_sge *sge);
void post_send(struct rxe_queue_buf *ring, uint64_t id, const struct rxe_sge *sge);
void post_send_solicited(struct rxe_queue_buf *ring, uint64_t id, const struct rxe_sge *sge);
void post_write(struct rxe_queue_buf *ring, uint64_t id, const struct rxe_sge *sge,
		uint64_t remote_addr, uint32_t rkey);
void post_bind(struct rxe_queue_buf *ring, uint64_t id, uint32_t mw_rkey, const struct reg_mr *mr);
bool poll_cq(struct rxe_queue_buf *ring, struct ib_uverbs_wc *wc);

/* share_writer.c: writes five bytes by RDMA, to see where they appear */

struct writer {
	struct endpoint *ep;
	uint32_t kick;
	struct reg_mr source;
};

int writer_open(struct writer *writer, struct endpoint *ep);
int rdma_write(struct writer *writer, uint64_t addr, uint32_t rkey);
bool has_hello(const char *at);

/* share_env.c: processes, files and what is left of them */

/* true as soon as @cond is, false if it is not within WAIT_MS */
#define wait_for(cond)                      \
	({                                  \
		int tries_ = WAIT_MS;       \
		while (!(cond) && --tries_) \
			usleep(1000);       \
		tries_ != 0;                \
	})

/* a child; @sock is its or our end of a socket pair */
struct child {
	pid_t pid;
	int sock;
};

#define CHILD_CHECK(cond)                                                 \
	do {                                                              \
		if (!(cond)) {                                            \
			fprintf(stderr, "# %s:%d: child: %s, errno %d\n", \
				__FILE__, __LINE__, #cond, errno);        \
			_exit(1);                                         \
		}                                                         \
	} while (0)

int child_start(struct child *child, void (*run)(int sock, void *arg), void *arg);
int child_end(struct child *child);
void child_kill(struct child *child);
int say(int sock);
int hear(int sock);

int send_fd(int sock, int fd);
int recv_fd(int sock);
int memfd(uint64_t length);
int lowest_fd(void);
/* where this process has it mapped, as the kernel does for a registration; or NULL */
char *find_mapping(const char *name, uint64_t *length);
bool fdinfo_has(int fd, const char *line);
bool is_hung_up(int fd);
unsigned int event_count(int fd);
bool read_resources(const char *dev, char *line, int size);
long count_objects(const char *dev, const char *type);
long pinned_kb(void);
long module_refs(void);
bool is_kernel_at_least(unsigned int major, unsigned int minor);

#endif /* SHARE_TEST_H */
