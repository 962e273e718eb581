/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The other side of the rings: what the kernel's rxe does, as far as a process
 * can see it. Lives in memory that is shared by fork, so that it can be driven
 * by a thread, by another process, or step by step. QPs talk to one another
 * in the same device.
 */
#ifndef TEST_FAKE_RXE_H
#define TEST_FAKE_RXE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include "../lock.h"

#define FAKE_MAX 8
#define FAKE_SLOTS 8
/* a local key with which every request fails */
#define FAKE_BAD_LKEY 0xbadu

/*
 * @notify: armed: enum share_armed
 * @events: eventfd, one for each event of its channel
 */
struct fake_cq {
	uint32_t notify;
	int events;
	void *ring;
	size_t bytes;
	uint32_t entries;
	uint32_t producer;
	uint32_t overflows;
	uint32_t cqes;
};

struct fake_wq {
	void *ring;
	size_t bytes;
	uint32_t entries;
	uint32_t consumer;
};

/* @kick_send, @kick_recv: set by KICK, cleared by the device */
struct fake_qp {
	struct fake_wq sq;
	struct fake_wq rq;
	uint32_t number;
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t peer;
	uint32_t sig_all;
	uint32_t state;
	uint32_t kick_send;
	uint32_t kick_recv;
	uint32_t kicks;
};

/*
 * @generations: of the process that has the slot; 0: it is dead
 * @wakes: eventfd of each slot
 * @arms: how often a CQ was armed
 */
struct fake_device {
	pthread_mutex_t lock;
	uint32_t stop;
	uint32_t num_cqs;
	uint32_t num_qps;
	uint32_t generations[64];
	int wakes[FAKE_SLOTS];
	uint32_t arms;
	struct fake_cq cqs[FAKE_MAX];
	struct fake_qp qps[FAKE_MAX];
};

void *fake_memory(size_t bytes);
struct fake_device *fake_create(void);
uint32_t fake_add_cq(struct fake_device *dev, uint32_t entries);
/* Connected to itself until fake_connect(). */
uint32_t fake_add_qp(struct fake_device *dev, uint32_t send_cq,
		     uint32_t recv_cq, uint32_t entries, uint32_t entry_bytes,
		     int sig_all);
void fake_connect(struct fake_device *dev, uint32_t a, uint32_t b);
void fake_modify(struct fake_device *dev, uint32_t qp, uint32_t state);

/* All that can be done now; returns 1 if anything was. */
int fake_step(struct fake_device *dev);
/* fake_step() until dev->stop */
void *fake_run(void *dev);

/* A completion that the device would not make. */
void fake_inject(struct fake_device *dev, uint32_t cq, uint64_t wr_id,
		 uint32_t status);

/* struct share_env; the index of a QP is that in the device */
int fake_slot_alive(void *dev, uint32_t slot, uint32_t generation);
int fake_kick(void *dev, uint32_t qp, uint32_t flags);
int fake_wake(void *dev, uint32_t slot);
int fake_arm(void *dev, uint32_t cq, int solicited);

/* Reads an eventfd: how often it was signaled; 0 if it was not. */
uint64_t fake_read(int event_fd);
/* A process dies: as the module does, wakes all others. */
void fake_die(struct fake_device *dev, uint32_t slot);
/* For fake_rxe.c and the bed. */
void fake_open_events(struct fake_device *dev);
void fake_close_events(struct fake_device *dev);
void fake_notify(struct fake_cq *cq, int solicited);

#endif /* TEST_FAKE_RXE_H */
