// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Every allocation and every user copy of every method fails once. Each
 * failure has its errno, nothing is left behind, the same call works
 * afterwards, and all objects can be destroyed in the end.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include "kselftest_harness.h"
#include "share_fault_env.h"

/* --- the exporter's side */

static int query(void *data)
{
	struct fault_env *env = data;
	struct ib_uverbs_share_caps caps;

	return do_query(env->ep.fd, &caps);
}

static int reg(struct fault_env *env, int fd, uint64_t iova, int memory)
{
	env->new_mr = (struct reg_mr){
		.pd = fd == env->ep.fd ? env->ep.pd : env->importer_pd,
		.fd = memory,
		.length = LENGTH,
		.iova = iova,
		.access = ACCESS_LOCAL,
	};
	return do_reg_mr(fd, &env->new_mr);
}

static int reg_mr(void *data)
{
	struct fault_env *env = data;

	return reg(env, env->ep.fd, 0, env->memfd);
}

static int reg_mr_mapped(void *data)
{
	struct fault_env *env = data;

	return reg(env, env->ep.fd, (uintptr_t)env->mem, env->memfd);
}

static int dereg_mr(void *data)
{
	struct fault_env *env = data;

	return destroy(env->ep.fd, UVERBS_OBJECT_MR, env->new_mr.handle);
}

static int export(void *data)
{
	struct fault_env *env = data;

	return do_export(env->ep.fd, &env->export[env->what]);
}

static int revoke_share(void *data)
{
	struct fault_env *env = data;

	return do_revoke(env->ep.fd, env->export[env->what].handle);
}

static int unexport(void *data)
{
	struct fault_env *env = data;

	close(env->export[env->what].grant);
	return revoke_share(data);
}

/* after revoke() */
static int export_again(void *data)
{
	struct fault_env *env = data;

	close(env->export[env->what].grant);
	return export(data);
}

static int derive(void *data)
{
	struct fault_env *env = data;

	return do_derive(env->ep.fd, env->export[env->what].grant, ABSENT, &env->new_fd);
}

static int close_new(void *data)
{
	struct fault_env *env = data;

	return result(!close(env->new_fd));
}

/* --- the importer's side */

static int reg_mr_granted(void *data)
{
	struct fault_env *env = data;

	return reg(env, env->importer, 0, env->export[MR].grant);
}

static int dereg_mr_granted(void *data)
{
	struct fault_env *env = data;

	return destroy(env->importer, UVERBS_OBJECT_MR, env->new_mr.handle);
}

static int import(void *data)
{
	struct fault_env *env = data;
	struct import *imp = &env->import[env->what];

	*imp = IMPORT_OF(env->export[env->what].grant);
	if (env->what == CONTEXT)
		imp->event = env->event;
	return do_import(env->importer, imp);
}

static int release(void *data)
{
	struct fault_env *env = data;

	return do_release(env->importer, env->import[env->what].handle);
}

static int export_import(void *data)
{
	return export(data) ?: import(data);
}

static int import_reg(struct fault_env *env, int memory)
{
	env->new_mr = (struct reg_mr){
		.pd = env->import[PD].handle,
		.fd = memory,
		.addr = (uintptr_t)env->mem,
		.length = LENGTH,
		.access = ACCESS_LOCAL,
	};
	return do_import_reg_mr(env->importer, &env->new_mr);
}

static int import_reg_mr(void *data)
{
	return import_reg(data, -1);
}

static int import_reg_mr_file(void *data)
{
	struct fault_env *env = data;

	return import_reg(env, env->memfd);
}

static int release_mr(void *data)
{
	struct fault_env *env = data;

	return do_release(env->importer, env->new_mr.handle);
}

static int kick(void *data)
{
	struct fault_env *env = data;

	return do_kick(env->importer, env->import[QP].handle,
		       IB_UVERBS_SHARE_KICK_SEND | IB_UVERBS_SHARE_KICK_RECV);
}

static int arm_cq(void *data)
{
	struct fault_env *env = data;

	return do_arm(env->importer, env->import[CQ].handle, 0);
}

static int query_import(void *data)
{
	return fault_env_query(data);
}

/* from RTS to RTS */
static int modify_qp(void *data)
{
	struct fault_env *env = data;
	struct ib_uverbs_qp_attr attr = {
		.qp_attr_mask = IBV_QP_STATE,
		.qp_state = IBV_QPS_RTS,
	};

	return do_modify(env->importer, env->import[QP].handle, &attr);
}

static int modify_srq(void *data)
{
	struct fault_env *env = data;

	return do_modify_srq(env->importer, env->import[SRQ].handle, 1);
}

static int wake_slot(void *data)
{
	struct fault_env *env = data;

	return do_wake_slot(env->importer, env->import[CONTEXT].handle, 0);
}

/* its imports go with it */
static int close_importer(void *data)
{
	struct fault_env *env = data;

	return result(!close(env->importer));
}

static int open_importer(void *data)
{
	struct fault_env *env = data;

	env->importer = dev_open("rxe0");
	if (env->importer < 0)
		return -env->importer;
	return pd_alloc(env->importer, &env->importer_pd) ?: import(data);
}

/* --- files */

static int map_ring(void *data)
{
	struct fault_env *env = data;
	const struct ib_uverbs_share_segment *seg = &env->segs[env->what][0];
	void *map = mmap((void *)env->at, seg->length, PROT_READ | PROT_WRITE, MAP_SHARED,
			 env->export[env->what].grant,
			 (off_t)seg->ring << IB_UVERBS_SHARE_RING_SHIFT);

	env->map = map == MAP_FAILED ? NULL : map;
	return result(env->map);
}

static int unmap_ring(void *data)
{
	struct fault_env *env = data;

	return result(!munmap((void *)env->map, env->segs[env->what][0].length));
}

/* far from all else, so that a page fault needs page tables */
static int export_map(void *data)
{
	struct fault_env *env = data;

	env->at = 0x600000000000;
	return export(data) ?: map_ring(data);
}

/* A page fault without memory is repeated. */
static int touch_ring(void *data)
{
	struct fault_env *env = data;

	(void)env->map[0];
	return 0;
}

static int map_again(void *data)
{
	return unmap_ring(data) ?: map_ring(data);
}

static int poll_grant(void *data)
{
	struct fault_env *env = data;
	struct pollfd pfd = { .fd = env->export[env->what].grant, .events = POLLIN };

	return result(poll(&pfd, 1, 0) >= 0);
}

static int read_fdinfo(void *data)
{
	struct fault_env *env = data;
	char path[64], text[1024];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", env->export[env->what].grant);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	err = result(read(fd, text, sizeof(text)) >= 0);
	close(fd);
	return err;
}

FIXTURE(fault)
{
	struct fault_env env;
	long mrs, qps, cqs, pds;
};

FIXTURE_VARIANT(fault)
{
	enum what what;
	struct fault_call call;
};

/* FAULT(name, what, prepare, run, undo): a call and what it works on */
#define FAULT_CALL(name_, what_, ...)                            \
	FIXTURE_VARIANT_ADD(fault, name_)                        \
	{                                                        \
		.what = (what_),                                 \
		.call = { __VA_ARGS__, .used = fault_env_used }, \
	}

#define FAULT(name_, what_, prepare_, run_, undo_) \
	FAULT_CALL(name_, what_, .prepare = (prepare_), .run = (run_), .undo = (undo_))

FAULT(query, CONTEXT, NULL, query, NULL);
FAULT(reg_mr, MR, NULL, reg_mr, dereg_mr);
FAULT(reg_mr_mapped, MR, NULL, reg_mr_mapped, dereg_mr);
FAULT(reg_mr_granted, MR, export, reg_mr_granted, dereg_mr_granted);
FAULT(export_context, CONTEXT, NULL, export, unexport);
FAULT(export_pd, PD, NULL, export, unexport);
FAULT(export_cq, CQ, NULL, export, unexport);
FAULT(export_qp, QP, NULL, export, unexport);
FAULT(export_srq, SRQ, NULL, export, unexport);
FAULT(export_mr, MR, NULL, export, unexport);
FAULT(revoke, QP, export, revoke_share, export_again);
FAULT(derive, QP, export, derive, close_new);
FAULT(import_context, CONTEXT, export, import, release);
FAULT(import_pd, PD, export, import, release);
FAULT(import_cq, CQ, export, import, release);
FAULT(import_qp, QP, export, import, release);
FAULT(import_srq, SRQ, export, import, release);
FAULT(import_mr, MR, export, import, release);
FAULT(release, QP, export_import, release, import);
FAULT(release_slot, CONTEXT, export_import, release, import);
FAULT(import_reg_mr, PD, export_import, import_reg_mr, release_mr);
FAULT(import_reg_mr_file, PD, export_import, import_reg_mr_file, release_mr);
FAULT(kick, QP, export_import, kick, NULL);
FAULT(arm, CQ, export_import, arm_cq, NULL);
FAULT(query_qp, QP, export_import, query_import, NULL);
FAULT(query_cq, CQ, export_import, query_import, NULL);
FAULT(query_srq, SRQ, export_import, query_import, NULL);
FAULT(query_mr, MR, export_import, query_import, NULL);
FAULT(modify_qp, QP, export_import, modify_qp, NULL);
FAULT(modify_srq, SRQ, export_import, modify_srq, NULL);
FAULT(query_slot, CONTEXT, export_import, query_import, NULL);
FAULT(wake_slot, CONTEXT, export_import, wake_slot, NULL);
FAULT(mmap, QP, export, map_ring, unmap_ring);
FAULT(poll, QP, export, poll_grant, NULL);
FAULT(fdinfo, MR, export, read_fdinfo, NULL);
FAULT_CALL(close, QP, .prepare = export_import, .run = close_importer, .undo = open_importer,
	   .never_fails = true);
FAULT_CALL(page_fault, QP, .prepare = export_map, .run = touch_ring, .undo = map_again,
	   .never_fails = true);

FIXTURE_SETUP(fault)
{
	struct fault_env *env = &self->env;

	env->what = variant->what;
	test_ok(fault_env_open(env));
}

FIXTURE_TEARDOWN(fault)
{
}

TEST_F_TIMEOUT(fault, each, NO_LIMIT)
{
	struct fault_env *env = &self->env;
	struct fault_count count;

	EXPECT_EQ(0, fault_sweep(&variant->call, env, &count));
	TH_LOG("%u faults, %u errors", count.injected, count.errors);

	/* a reference too many, and this is EBUSY */
	if (count_handles(env->ep.fd, IB_UVERBS_OBJECT_SHARE))
		EXPECT_EQ(0, unexport(env));
	EXPECT_EQ(0, fault_env_destroy(env));
}

static void __attribute__((constructor)) before_all(void)
{
	fault_require();
}

TEST_HARNESS_MAIN
