/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Processes that stay where they hold a lock of the library, until they are told
 * to go on: what the library touches there is protected, and they wait in the
 * handler of the signal.
 *
 * Functions return 1 and say why if something is wrong.
 */
#ifndef SHARE_HOLDER_H
#define SHARE_HOLDER_H

#include <sys/types.h>
#include "share_library.h"

#define HOLDER_MANY 16
/* longer than the library waits for a lock */
#define HOLDER_WAIT_MS 60000

/*
 * enum holder_task - what a process is asked to do
 * @HOLDER_POST: sends message @number
 * @HOLDER_POLL: polls for @number completions
 * @HOLDER_STAY_IN_POST: sends @number and @number + 1 by one call; stays in it
 * @HOLDER_STAY_IN_POLL: polls once, and stays there if the ring is not empty
 */
enum holder_task {
	HOLDER_POST,
	HOLDER_POLL,
	HOLDER_STAY_IN_POST,
	HOLDER_STAY_IN_POLL,
};

/*
 * struct holder_answer
 * @ret: 0 or an errno value
 * @pid, @slot: how it sees itself
 * @sentence: ibv_share_last_error(), if @ret is not 0
 * @num, @ids: completions
 */
struct holder_answer {
	int ret;
	int pid;
	uint32_t slot;
	uint32_t num;
	uint64_t ids[HOLDER_MANY];
	char sentence[200];
};

/*
 * struct holder
 * @flags: shared with it
 */
struct holder {
	pid_t pid;
	int sock;
	struct holder_flags *flags;
	struct holder_answer hello;
};

/*
 * Has to come before the test opens a shared context. @own_pids: the process is
 * number 1 of a pid name space of its own.
 */
int holder_start(struct holder *h, int own_pids);
/* It joins; fills in @h->hello. */
int holder_join(struct holder *h, struct ibv_share_context *ctx);
int holder_ask(struct holder *h, enum holder_task task, uint32_t number);
int holder_answers(struct holder *h, struct holder_answer *answer);
/* until it holds the lock */
int holder_wait(struct holder *h);
int holder_stop(struct holder *h);
int holder_go_on(struct holder *h);
int holder_kill(struct holder *h);

#endif /* SHARE_HOLDER_H */
