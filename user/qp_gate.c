// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The gate of a QP, for applications.
 */
#include <errno.h>
#include <string.h>
#include "error.h"
#include "gate.h"
#include "share_priv.h"

#define SAME(name)                                                           \
	_Static_assert((int)IBV_SHARE_GATE_##name == (int)SHARE_GATE_##name, \
		       "the library's phases are the control segment's")
SAME(SHUT);
SAME(POST);
SAME(OPEN);
SAME(OVER);

/* NULL and a message if nothing can be done with it. */
static struct share_qp *usable(struct ibv_qp *ibv)
{
	struct share_qp *qp = share_qp_of(ibv);

	return qp && !share_context_check(qp->obj.ctx) ? qp : NULL;
}

static int gate_error(int err, const char *what)
{
	switch (err) {
	case 0:
		return 0;
	case EINVAL:
		return share_error(err, "%s: the queue pair is not in a state"
					" for it, or a number is too large",
				   what);
	case ECONNRESET:
		return share_error(err, "%s: the connection is over: poll what"
					" has completed, then wait for the next",
				   what);
	case ESRCH:
		return share_error(err, "%s: the process that was to connect"
					" the queue pair is dead",
				   what);
	case ETIMEDOUT:
		return share_error(err, "%s: it has not happened in time", what);
	default:
		return share_error_ioctl(err, what);
	}
}

int ibv_share_query_gate(struct ibv_qp *ibv, struct ibv_share_gate_attr *attr)
{
	struct share_qp *qp = usable(ibv);
	struct share_gate_count count;

	if (!qp)
		return errno;
	if (share_control_qp_live(qp->path.control, &qp->path.view))
		return gate_error(ENOLINK, "asking for a gate");
	share_gate_count(&qp->path, &count);
	attr->phase = (enum ibv_share_gate_phase)count.phase;
	attr->round = count.round;
	attr->workers = count.workers;
	attr->dead = count.dead;
	attr->receives = count.receives;
	attr->reported = count.reported;
	return 0;
}

int ibv_share_gate_collect(struct ibv_qp *ibv, unsigned int workers,
			   unsigned int receives, int timeout_ms)
{
	struct share_qp *qp = usable(ibv);
	struct share_gate_count count;
	int ret;

	if (!qp)
		return errno;
	ret = share_gate_collect(&qp->path, workers, receives, timeout_ms);
	if (ret != ETIMEDOUT)
		return gate_error(ret, "collecting workers");
	share_gate_peek(&qp->path, &count);
	return share_error(ret, "collecting workers: %u of %u have reported, %u"
				" of %u receives are posted",
			   count.workers, workers, count.receives, receives);
}

int ibv_share_gate_open(struct ibv_qp *ibv)
{
	struct share_qp *qp = usable(ibv);

	if (!qp)
		return errno;
	return gate_error(share_gate_open(&qp->path), "opening a gate");
}

int ibv_share_gate_drain(struct ibv_qp *ibv, int timeout_ms)
{
	struct share_qp *qp = usable(ibv);
	struct share_gate_count count;
	int ret;

	if (!qp)
		return errno;
	ret = share_gate_drain(&qp->path, timeout_ms);
	if (ret != ETIMEDOUT)
		return gate_error(ret, "draining a queue pair");
	share_gate_peek(&qp->path, &count);
	return share_error(ret, "draining a queue pair: %u workers have not"
				" left, %u receives have not been flushed",
			   count.workers, count.receives);
}

int ibv_share_gate_wait(struct ibv_qp *ibv, enum ibv_share_gate_phase phase,
			int timeout_ms)
{
	struct share_qp *qp = usable(ibv);

	if (!qp)
		return errno;
	return gate_error(share_gate_wait(&qp->path,
					  (enum share_gate_phase)phase,
					  timeout_ms),
			  "waiting at a gate");
}

int ibv_share_gate_report(struct ibv_qp *ibv, unsigned int receives)
{
	struct share_qp *qp = usable(ibv);

	if (!qp)
		return errno;
	return gate_error(share_gate_report(&qp->path, receives),
			  "reporting at a gate");
}

int ibv_share_gate_leave(struct ibv_qp *ibv)
{
	struct share_qp *qp = usable(ibv);

	if (!qp)
		return errno;
	share_gate_leave(&qp->path);
	return 0;
}
