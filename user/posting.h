/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * One call that posts requests, from its lock to the producer index.
 */
#ifndef SHARE_POSTING_H
#define SHARE_POSTING_H

#include "post.h"
#include "provider.h"

/*
 * struct posting - one call
 * @direction: SHARE_COOKIE_SEND or _RECV
 * @head: of the next request; the shared one moves at the end
 * @first: of this call
 * @repaired: a poster has died; it may not have rung the doorbell
 * @tried: the CQ was looked at for room
 * @kicks: of that look
 */
struct posting {
	struct share_qp_path *path;
	uint32_t direction;
	struct share_direction dir;
	const struct share_ring *ring;
	const struct share_cq_view *cq_view;
	struct share_cq_path *cq;
	uint32_t head;
	uint32_t first;
	int repaired;
	int tried;
	struct share_kicks kicks;
};

/* struct request - what the shadow table says of a request */
struct request {
	uint64_t wr_id;
	uint32_t opcode;
	uint32_t length;
	uint32_t flags;
};

void share_posting_init(struct posting *p, struct share_qp_path *path, uint32_t direction);

/* Before any lock: who only posts has to notice deaths, too. */
void share_posting_look_around(struct posting *p);

/**
 * share_posting_begin - take the lock, if the state of the QP allows it
 * @p: a call
 *
 * Return: 0, then share_posting_end() is due; or an errno
 */
int share_posting_begin(struct posting *p);

/* Whatever the state of the QP. */
int share_posting_begin_any(struct posting *p);

/**
 * share_posting_room - for one more request
 * @p: a call
 * @low: there is little left
 *
 * Return: 0, or ENOMEM
 */
int share_posting_room(struct posting *p, int *low);

/**
 * share_posting_write_shadow - what the next request was
 * @p: a call
 * @request: what to say of it
 *
 * Return: its cookie
 */
uint64_t share_posting_write_shadow(struct posting *p, const struct request *request);

/* Nobody has seen what was written. */
void share_posting_take_back(struct posting *p);

/**
 * share_posting_end - publish, give the lock back
 * @p: a call
 *
 * Return: true if the device has to be told
 */
int share_posting_end(struct posting *p);

#endif
