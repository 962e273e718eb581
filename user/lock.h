/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A lock in shared memory that survives its holder.
 *
 * Word: slot + 1 in bits 31..24, slot generation in bits 23..1, "somebody
 * sleeps" in bit 0; 0 is free. No pointers, the same for 32 and 64 bit, and it
 * means the same in every pid name space. Threads of one process contend like
 * processes. Not recursive, not for signal handlers.
 *
 * Taking the lock is an acquire operation on the word and releasing it a
 * release operation: they pair with each other. What a dead holder wrote is
 * seen by who takes over, since the kernel ordered its death before.
 *
 * Lock order, outermost first; a later one is taken with the earlier held:
 *
 *   share_control_header.directory_lock
 *   share_qp_body.send.lock     of several QPs only in recount.c, in the order
 *   share_qp_body.recv.lock     of their index, each send before recv
 *   share_srq_body.post.lock    the same, after those of all QPs
 *   share_cq_body.lock          one CQ at a time
 *   share_mailbox.lock          one mailbox at a time
 *
 * Nothing is called under any of them but the two futex operations and
 * share_env.slot_alive(); kicks are given without.
 */
#ifndef SHARE_LOCK_H
#define SHARE_LOCK_H

#include <stdint.h>

#define SHARE_LOCK_WAITERS 1u
#define SHARE_LOCK_GENERATION_MASK 0x7fffffu
#define SHARE_LOCK_RECHECK_MS 20
#define SHARE_LOCK_TIMEOUT_MS 10000

/*
 * struct share_env - what the data path needs from the rest of the library
 * @slot_alive: 1 if the process that has @slot is alive and the low 23 bits of
 *	the slot's generation are @generation; 0 if not; may be called under
 *	locks
 * @kick: KICK, @flags are enum ib_uverbs_share_kick. 0 or an errno value, for
 *	instance ENOENT if this process has not imported that QP. Never called
 *	under a lock.
 * @wake: WAKE_SLOT; never called under a lock
 * @arm: ARM of a CQ. 0 or an errno value, ENOENT if this process has not
 *	imported it; never called under a lock
 * @arg: first argument of all
 */
struct share_env {
	int (*slot_alive)(void *arg, uint32_t slot, uint32_t generation);
	int (*kick)(void *arg, uint32_t qp_index, uint32_t flags);
	int (*wake)(void *arg, uint32_t slot);
	int (*arm)(void *arg, uint32_t cq_index, int solicited);
	void *arg;
};

/*
 * struct share_member - who takes a lock
 * @env: see there
 * @slot: of this process
 * @generation: of the slot
 * @timeout_ms: longest wait for a holder that is alive; SHARE_LOCK_TIMEOUT_MS
 * @recheck_ms: how often to ask whether it, and everybody, is alive;
 *	SHARE_LOCK_RECHECK_MS
 */
struct share_member {
	struct share_env env;
	uint32_t slot;
	uint32_t generation;
	uint32_t timeout_ms;
	uint32_t recheck_ms;
};

/*
 * struct share_lock_watch - private memory of share_trylock() for one lock
 * @word: what was found last; atomic, threads may share a watch
 * @since_ms: when that was found first
 */
struct share_lock_watch {
	uint32_t word;
	uint32_t since_ms;
};

/*
 * 0: taken. EOWNERDEAD: taken from a dead holder, what it guards wants repair.
 * ETIMEDOUT: not taken; its holder is alive, but stopped.
 */
int share_lock(uint32_t *word, const struct share_member *me);

/*
 * Never waits. 0 and EOWNERDEAD as above; EBUSY: not taken. Asks whether the
 * holder is alive when it found the same one for @me->recheck_ms.
 */
int share_trylock(uint32_t *word, const struct share_member *me,
		  struct share_lock_watch *watch);

/* Slot and generation as lock words, and others, have them. */
uint32_t share_owner_word(uint32_t slot, uint32_t generation);

/* Is a process that has written such a word, or the caller, alive? */
int share_owner_is_alive(uint32_t word, const struct share_member *me);

/* Leaves the word alone if the caller does not hold it. */
void share_unlock(uint32_t *word, const struct share_member *me);

#endif /* SHARE_LOCK_H */
