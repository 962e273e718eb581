/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A stage for victims: an exporter, and a process in slot 1 that is killed.
 */
#ifndef TEST_CRASH_H
#define TEST_CRASH_H

#include "bed.h"

#define MANY 64

/* struct common - memory of all processes; @polled: what the victim's poll said */
struct common {
	uint64_t buffers[MANY];
	struct ibv_wc wc[MANY];
	uint32_t polled;
};

/*
 * struct scene
 * @prepare: before the victim starts
 * @act: in the victim, slot 1
 * @verify: after its death
 */
struct scene {
	int (*prepare)(void);
	void (*act)(void);
	int (*verify)(int ended);
};

extern struct bed bed;
extern struct node exporter, victim;
extern struct common *common;
/* how often the exporter got a completion with that wr_id, a message */
extern uint32_t got[1024], arrived[1024];

uint32_t sum(const uint32_t *counters, uint32_t from, uint32_t to);
/* One turn of the device and one poll of the exporter. */
int poll_once(void);
/* Until the exporter has @want completions in all, each once; and no more. */
int poll_for(uint32_t want);
/* A signaled message, a buffer for one; the number is the wr_id. */
int send_number(struct node *node, uint32_t number);
int recv_number(struct node *node, uint32_t number);

/* Kills the victim of that scene again and again. */
int run(const struct scene *scene);

#endif /* TEST_CRASH_H */
