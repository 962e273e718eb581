// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What is there while faults are injected.
 */
#include <sys/eventfd.h>

#include "share_fault_env.h"

long fault_env_used(void *data)
{
	static const uint16_t objects[] = { UVERBS_OBJECT_MR, IB_UVERBS_OBJECT_SHARE,
					    IB_UVERBS_OBJECT_IMPORT };
	struct fault_env *env = data;
	unsigned int i;
	long n = pinned_kb();

	for (i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		n += count_handles(env->ep.fd, objects[i]) +
		     count_handles(env->importer, objects[i]);
	return n;
}

static int open_objects(struct fault_env *env)
{
	int err;

	err = endpoint_open(&env->ep, "rxe0", IB_UVERBS_QPT_RC);
	err = err ?: endpoint_open(&env->peer, "rxe1", IB_UVERBS_QPT_RC);
	err = err ?: endpoint_connect(&env->ep, &env->peer);
	err = err ?: srq_create(env->ep.fd, env->ep.pd, &env->srq);
	env->importer = dev_open("rxe0");
	if (env->importer < 0)
		return -env->importer;
	return err ?: pd_alloc(env->importer, &env->importer_pd);
}

static int open_memory(struct fault_env *env)
{
	env->memfd = memfd(LENGTH);
	env->mem = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			env->memfd, 0);
	env->event = eventfd(0, EFD_CLOEXEC);
	if (env->memfd < 0 || env->mem == MAP_FAILED || env->event < 0)
		return errno;
	env->mr = (struct reg_mr){
		.pd = env->ep.pd,
		.fd = env->memfd,
		.length = LENGTH,
		.access = ACCESS_LOCAL,
	};
	return do_reg_mr(env->ep.fd, &env->mr);
}

/* what an export of each kind says */
static void describe_exports(struct fault_env *env)
{
	const uint32_t handle[WHAT_COUNT] = {
		[CONTEXT] = ABSENT,
		[PD] = env->ep.pd,
		[CQ] = env->ep.cq.handle,
		[QP] = env->ep.qp.handle,
		[SRQ] = env->srq.handle,
		[MR] = env->mr.handle,
	};
	enum what what;

	for (what = 0; what < WHAT_COUNT; what++) {
		env->export[what] = EXPORT_OF(env->ep.fd, handle[what]);
		env->export[what].segs = env->segs[what];
	}
	env->segs[CQ][0] = ring_segment(&env->ep.cq.ring, IB_UVERBS_SHARE_RING_CQ);
	env->segs[QP][0] = ring_segment(&env->ep.qp.send, IB_UVERBS_SHARE_RING_SEND);
	env->segs[QP][1] = ring_segment(&env->ep.qp.recv, IB_UVERBS_SHARE_RING_RECV);
	env->segs[SRQ][0] = ring_segment(&env->srq.ring, IB_UVERBS_SHARE_RING_SRQ);
	env->export[CQ].nsegs = 1;
	env->export[QP].nsegs = 2;
	env->export[SRQ].nsegs = 1;
	env->export[MR].mem_fd = env->memfd;
	env->export[MR].access = ACCESS_LOCAL;
}

int fault_env_open(struct fault_env *env)
{
	int err = open_objects(env) ?: open_memory(env);

	if (!err)
		describe_exports(env);
	return err;
}

int fault_env_destroy(struct fault_env *env)
{
	int err;

	err = destroy(env->ep.fd, UVERBS_OBJECT_QP, env->ep.qp.handle);
	err = err ?: destroy(env->ep.fd, UVERBS_OBJECT_CQ, env->ep.cq.handle);
	err = err ?: destroy(env->ep.fd, UVERBS_OBJECT_SRQ, env->srq.handle);
	err = err ?: destroy(env->ep.fd, UVERBS_OBJECT_MR, env->mr.handle);
	return err ?: destroy(env->ep.fd, UVERBS_OBJECT_PD, env->ep.pd);
}

/* of what is imported: the query that there is for its kind */
int fault_env_query(struct fault_env *env)
{
	union {
		struct ib_uverbs_qp_attr qp;
		struct ib_uverbs_share_cq cq;
		struct ib_uverbs_share_srq srq;
		struct ib_uverbs_share_mr mr;
		struct ib_uverbs_share_slot slot;
	} out;
	uint32_t handle = env->import[env->what].handle;

	switch (env->what) {
	case QP:
		return do_query_qp(env->importer, handle, &out.qp);
	case CQ:
		return do_query_cq(env->importer, handle, &out.cq);
	case SRQ:
		return do_query_srq(env->importer, handle, &out.srq);
	case MR:
		return do_query_mr(env->importer, handle, &out.mr);
	case CONTEXT:
		return do_query_slot(env->importer, handle, 0, &out.slot);
	default:
		return ENOSYS;
	}
}
