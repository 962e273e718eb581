// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Every allocation and user copy that the kernel does for a call of the library
 * fails once: the call says so, leaves no descriptor and no pinned page behind,
 * and works the next time.
 */
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "share_fault.h"
#include "share_library.h"

#define LENGTH (4 * PAGE)

struct env {
	struct ibv_context *context;
	struct ibv_share_context *ctx, *other;
	struct ibv_pd *pd, *new_pd;
	struct ibv_cq *cq, *new_cq;
	struct ibv_qp *new_qp;
	struct ibv_mr *mr;
	int memfd;
	int sv[2];
};

static long used(void *data)
{
	return pinned_kb();
}

static int open_context(void *data)
{
	struct env *env = data;

	env->other = ibv_share_open(env->context, NULL);
	return result(env->other);
}

static int close_context(void *data)
{
	struct env *env = data;

	return ibv_share_close(env->other);
}

static int alloc_pd(void *data)
{
	struct env *env = data;

	env->new_pd = ibv_share_alloc_pd(env->ctx);
	return result(env->new_pd);
}

static int dealloc_pd(void *data)
{
	struct env *env = data;

	return ibv_share_dealloc_pd(env->new_pd);
}

static int create_cq(void *data)
{
	struct env *env = data;

	env->new_cq = ibv_share_create_cq(env->ctx, 16, NULL, NULL, 0);
	return result(env->new_cq);
}

static int destroy_cq(void *data)
{
	struct env *env = data;

	return ibv_share_destroy_cq(env->new_cq);
}

static int create_qp(void *data)
{
	struct env *env = data;
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	init.send_cq = init.recv_cq = env->cq;
	env->new_qp = ibv_share_create_qp(env->pd, &init);
	return result(env->new_qp);
}

static int destroy_qp(void *data)
{
	struct env *env = data;

	return ibv_share_destroy_qp(env->new_qp);
}

static int reg_mr(void *data)
{
	struct env *env = data;

	env->mr = ibv_reg_shared_mr(env->pd, 0, LENGTH, 0, env->memfd, ACCESS);
	return result(env->mr);
}

static int dereg_mr(void *data)
{
	struct env *env = data;

	return ibv_dereg_mr(env->mr);
}

static int export_mr(void *data)
{
	struct env *env = data;

	return ibv_share_export_mr(env->mr, env->memfd, 0, ACCESS);
}

/* an MR is exported once */
static int reg_again(void *data)
{
	struct env *env = data;

	return ibv_share_dereg_mr(env->mr) ?: reg_mr(data);
}

/* a bundle of everything; one that was not taken must not be found by the next call */
static int send_bundle(void *data)
{
	struct env *env = data;

	return ibv_share_send(env->ctx, env->sv[0], IBV_SHARE_ALL_RIGHTS);
}

static int drop_bundle(void *data)
{
	struct env *env = data;

	close(env->sv[0]);
	close(env->sv[1]);
	return result(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, env->sv));
}

FIXTURE(fault_library)
{
	struct env env;
	long objects;
};

FIXTURE_VARIANT(fault_library)
{
	struct fault_call call;
};

/* FAULT(name, prepare, run, undo, also) */
#define FAULT(name_, prepare_, run_, undo_, ...)  \
	FIXTURE_VARIANT_ADD(fault_library, name_) \
	{                                         \
		.call = {                         \
			.prepare = (prepare_),    \
			.run = (run_),            \
			.undo = (undo_),          \
			.used = used,             \
			.also = { __VA_ARGS__ },  \
		},                                \
	}

/* inodes: of proc, of a memfd; a socket for each QP of rxe; a message's buffer */
FAULT(open, NULL, open_context, close_context, ENOENT, ENOSPC);
FAULT(alloc_pd, NULL, alloc_pd, dealloc_pd);
FAULT(create_cq, NULL, create_cq, destroy_cq);
FAULT(create_qp, NULL, create_qp, destroy_qp, ENFILE);
FAULT(reg_mr, NULL, reg_mr, dereg_mr);
FAULT(export_mr, reg_mr, export_mr, reg_again, ENOENT);
FAULT(send, create_qp, send_bundle, drop_bundle, ENOBUFS);

static long count_all(void)
{
	return count_objects("rxe0", "pd") + count_objects("rxe0", "cq") +
	       count_objects("rxe0", "qp") + count_objects("rxe0", "mr") +
	       count_objects("rxe0", "ctx");
}

FIXTURE_SETUP(fault_library)
{
	struct env *env = &self->env;

	self->objects = count_all();
	env->context = lib_open("rxe0");
	ASSERT_NE(NULL, env->context);
	env->ctx = ibv_share_open(env->context, NULL);
	ASSERT_NE(NULL, env->ctx);
	env->pd = ibv_share_alloc_pd(env->ctx);
	env->cq = ibv_share_create_cq(env->ctx, 16, NULL, NULL, 0);
	ASSERT_NE(NULL, env->cq);
	env->memfd = memfd(LENGTH);
	ASSERT_LE(0, env->memfd);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, env->sv));
}

FIXTURE_TEARDOWN(fault_library)
{
}

/* The library's own reasons stand in its message; the errno is the kernel's. */
TEST_F_TIMEOUT(fault_library, each, NO_LIMIT)
{
	struct env *env = &self->env;
	struct fault_count count;

	EXPECT_EQ(0, fault_sweep(&variant->call, env, &count))
	TH_LOG("%s", ibv_share_last_error());
	TH_LOG("%u faults, %u errors", count.injected, count.errors);

	if (variant->call.run == export_mr)
		EXPECT_EQ(0, dereg_mr(env));
	if (variant->call.run == send_bundle)
		EXPECT_EQ(0, destroy_qp(env));
	EXPECT_EQ(0, ibv_share_destroy_cq(env->cq));
	EXPECT_EQ(0, ibv_share_dealloc_pd(env->pd));
	EXPECT_EQ(0, ibv_share_close(env->ctx));
	EXPECT_EQ(0, ibv_close_device(env->context));
	EXPECT_EQ(self->objects, count_all());
}

static void __attribute__((constructor)) before_all(void)
{
	fault_require();
}

TEST_HARNESS_MAIN
