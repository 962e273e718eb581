// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Registers the memory of an importer on the PD of an exporter. The provider
 * works on the PD meanwhile, so the share must not die under it, and it waits
 * for page faults of the importer, which may arrange for them never to end
 * (userfaultfd, a file system of its own, another thread that unmaps what was
 * there a moment ago). The exporter must be able to end it nevertheless, and
 * what ends a page fault is a signal that kills. So a thread of ours does it,
 * in the importer's address space, with its credentials and its limit.
 */
#include <linux/cred.h>
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "share.h"

/*
 * struct registrar - one registration
 * @share: of the PD, locked for reading by the importer
 * @range: what to register
 * @mm: of the importer
 * @cred: of the importer
 * @memlock: RLIMIT_MEMLOCK of the importer
 * @node: in share_mrs.running while it may be interrupted
 * @task: our thread
 * @cancelled: do not begin; guarded by share_mrs.lock
 * @done: the thread has nothing more to do
 * @mr: result
 */
struct registrar {
	struct share *share;
	const struct share_range *range;
	struct mm_struct *mm;
	const struct cred *cred;
	unsigned long memlock;
	struct list_head node;
	struct task_struct *task;
	bool cancelled;
	struct completion done;
	struct ib_mr *mr;
};

static bool registrar_begin(struct registrar *reg)
{
	struct share_mrs *mrs = &reg->share->mrs;
	bool go;

	allow_signal(SIGKILL);
	mutex_lock(&mrs->lock);
	go = !mrs->closed && !reg->cancelled;
	if (go)
		list_add(&reg->node, &mrs->running);
	mutex_unlock(&mrs->lock);
	return go;
}

static void registrar_end(struct registrar *reg)
{
	struct share_mrs *mrs = &reg->share->mrs;

	mutex_lock(&mrs->lock);
	list_del(&reg->node);
	mutex_unlock(&mrs->lock);
}

/* ib_umem_get() asks the current process for these */
static struct ib_mr *register_as_importer(struct registrar *reg)
{
	struct ib_pd *pd = reg->share->object;
	const struct share_memory *memory = &reg->range->memory;
	const struct cred *old = override_creds(reg->cred);
	struct ib_mr *mr;

	task_lock(current);
	current->signal->rlim[RLIMIT_MEMLOCK].rlim_cur = reg->memlock;
	task_unlock(current);
	kthread_use_mm(reg->mm);
	mr = pd->device->ops.reg_user_mr(pd, reg->range->addr, memory->length,
					 reg->range->iova, memory->access, NULL);
	kthread_unuse_mm(reg->mm);
	revert_creds(old);
	return mr;
}

static int registrar_run(void *arg)
{
	struct registrar *reg = arg;

	if (registrar_begin(reg)) {
		reg->mr = register_as_importer(reg);
		registrar_end(reg);
	}
	complete(&reg->done);
	return 0;
}

static void registrar_cancel(struct registrar *reg)
{
	struct share_mrs *mrs = &reg->share->mrs;

	mutex_lock(&mrs->lock);
	reg->cancelled = true;
	if (!list_empty(&reg->node))
		send_sig(SIGKILL, reg->task, 1);
	mutex_unlock(&mrs->lock);
}

/**
 * share_register - register memory of the caller on the PD of a share
 * @share: locked for reading and live
 * @range: what to register
 *
 * Return: what the provider returned; -EINTR if the caller was killed or
 * share_mrs_close() was called
 */
struct ib_mr *share_register(struct share *share, const struct share_range *range)
{
	struct registrar reg = {
		.share = share,
		.range = range,
		.mm = current->mm,
		.cred = current_cred(),
		.memlock = rlimit(RLIMIT_MEMLOCK),
		.node = LIST_HEAD_INIT(reg.node),
		.done = COMPLETION_INITIALIZER_ONSTACK(reg.done),
		.mr = ERR_PTR(-EINTR),
	};

	reg.task = kthread_create(registrar_run, &reg, "ib_share_reg");
	if (IS_ERR(reg.task))
		return ERR_CAST(reg.task);
	get_task_struct(reg.task);
	wake_up_process(reg.task);

	if (wait_for_completion_killable(&reg.done))
		registrar_cancel(&reg);
	/* when it is gone it runs no code of the module any more */
	kthread_stop(reg.task);
	put_task_struct(reg.task);
	return reg.mr;
}

/**
 * share_mrs_close - end the registrations that run, let none begin
 * @share: share->sem is not held; may be called again
 */
void share_mrs_close(struct share *share)
{
	struct registrar *reg;

	mutex_lock(&share->mrs.lock);
	WRITE_ONCE(share->mrs.closed, true);
	list_for_each_entry(reg, &share->mrs.running, node)
		send_sig(SIGKILL, reg->task, 1);
	mutex_unlock(&share->mrs.lock);
}
