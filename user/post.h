/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Requests: from the application into the ring.
 */
#ifndef SHARE_POST_H
#define SHARE_POST_H

#include <infiniband/verbs.h>
#include "control.h"
#include "ring.h"
#include "steer.h"

struct share_srq_path;

/*
 * struct share_qp_path - a QP, as one process has it; threads may share it
 * @control: must outlive it
 * @verbs: context of address handles that requests may name, or NULL
 * @sq, @rq: base is NULL without the right POST_SEND or POST_RECV
 * @send_cq, @recv_cq: must outlive it
 * @srq: of the QP, or NULL: then what it has in hand at RESET is given up when
 *	another process sees to it
 * @corrupt: ring or queue are in a state that no process leaves them in; this
 *	one uses it no more
 * @gate_round: of the gate, that this process takes part in; 0: none yet
 */
struct share_qp_path {
	struct share_control *control;
	const struct ibv_context *verbs;
	struct share_qp_view view;
	struct share_ring sq;
	struct share_ring rq;
	struct share_cq_path *send_cq;
	struct share_cq_path *recv_cq;
	struct share_cq_view send_cq_view;
	struct share_cq_view recv_cq_view;
	struct share_srq_path *srq;
	uint32_t corrupt;
	uint32_t gate_round;
};

/*
 * @send_cq, @recv_cq: may be NULL in a process that never polls them and never
 * resets or deletes the QP.
 * @sq, @rq: the mapped rings, or NULL: then posting answers EACCES.
 * Nothing to undo.
 */
int share_qp_path_init(struct share_qp_path *path,
		       struct share_control *control, uint32_t index,
		       struct share_cq_path *send_cq,
		       struct share_cq_path *recv_cq,
		       const struct share_provider *provider, void *sq,
		       size_t sq_bytes, void *rq, size_t rq_bytes);

/*
 * As ibv_post_send() and ibv_post_recv(): 0, or an errno value with *@bad set:
 * EINVAL: malformed, or the QP is not in the state for it; EOPNOTSUPP: an
 * opcode that is not shared; ENOMEM: no room in ring, CQ or mailbox; EACCES:
 * no right; ENOLINK: the QP is gone; EBADMSG: what is shared was tampered with;
 * ETIMEDOUT: a stopped process is in the way. What stands before *@bad is posted.
 */
int share_post_send(struct share_qp_path *path, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad);
/* All of them, or on error none. */
int share_post_send_whole(struct share_qp_path *path, struct ibv_send_wr *wr);
int share_post_recv(struct share_qp_path *path, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad);

/*
 * How many requests were ever posted, by whomever; wraps around. What a dead
 * process had posted by halves is put back before. EACCES, ENOLINK, ETIMEDOUT
 * as above.
 */
int share_posted(struct share_qp_path *path, uint32_t direction, uint32_t *count);

enum ibv_qp_state share_qp_state(const struct share_qp_path *path);

/*
 * Call it after the kernel's modify has succeeded. ERR also flushes what is
 * posted. RESET hands out the completions that are in the rings, drops the
 * rest, gives back its credits; ETIMEDOUT: call it again, nothing can be
 * posted meanwhile. The other states never replace ERR.
 */
int share_qp_set_state(struct share_qp_path *path, enum ibv_qp_state state);

/*
 * Before the kernel's modify to RESET, so that nobody writes into the rings
 * while it empties them. Who dies before share_qp_set_state() leaves the QP
 * closed for posting, until somebody changes its state to RESET, or to INIT.
 * If the kernel refuses, cancel it, with the former state.
 */
int share_qp_begin_reset(struct share_qp_path *path);
void share_qp_cancel_reset(struct share_qp_path *path,
			   enum ibv_qp_state state);

/*
 * The exporter only, before the kernel's QP is revoked: from now on nobody
 * touches the rings, whoever posts gets ENOLINK. ETIMEDOUT: but for a stopped
 * process that is in the middle of a post.
 */
int share_qp_begin_delete(struct share_qp_path *path);

/*
 * The exporter only, after the kernel's QP was destroyed (or revoked): as RESET,
 * then frees the directory entry. Always succeeds in that nobody can post any
 * more; ETIMEDOUT: the entry cannot be used again.
 */
int share_qp_path_delete(struct share_qp_path *path);

/* For post_srq.c, too. EINVAL */
int share_sum_sges(const struct ibv_sge *sges, int num_sge, uint32_t max,
		   uint64_t *length);

#endif /* SHARE_POST_H */
