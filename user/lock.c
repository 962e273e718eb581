// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include "control_layout.h"
#include "futex.h"
#include "lock.h"

#define SPINS 100

uint32_t share_owner_word(uint32_t slot, uint32_t generation)
{
	return (slot + 1) << 24 | (generation & SHARE_LOCK_GENERATION_MASK)
					  << 1;
}

static uint32_t word_of(const struct share_member *me)
{
	return share_owner_word(me->slot, me->generation);
}

int share_owner_is_alive(uint32_t word, const struct share_member *me)
{
	uint32_t slot = (word >> 24) - 1;
	uint32_t generation = word >> 1 & SHARE_LOCK_GENERATION_MASK;

	if ((word & ~SHARE_LOCK_WAITERS) == word_of(me))
		return 1;
	/* nobody can have written that: as if its holder were dead */
	if (slot >= SHARE_MAX_SLOTS)
		return 0;
	return me->env.slot_alive(me->env.arg, slot, generation);
}

static int change(uint32_t *word, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static int lock_slow(uint32_t *word, const struct share_member *me)
{
	/* others may sleep, too: whoever has slept has to wake the next */
	uint32_t mine = word_of(me) | SHARE_LOCK_WAITERS;
	uint32_t start = share_now_ms();
	uint32_t seen;

	do {
		seen = __atomic_load_n(word, __ATOMIC_RELAXED);
		if (!seen) {
			if (change(word, 0, mine))
				return 0;
			continue;
		}
		if (!(seen & SHARE_LOCK_WAITERS)) {
			if (!change(word, seen, seen | SHARE_LOCK_WAITERS))
				continue;
			seen |= SHARE_LOCK_WAITERS;
		}
		if (share_futex_wait(word, seen, me->recheck_ms) &&
		    !share_owner_is_alive(seen, me) &&
		    change(word, seen, mine))
			return EOWNERDEAD;
	} while (share_now_ms() - start < me->timeout_ms);
	return ETIMEDOUT;
}

int share_lock(uint32_t *word, const struct share_member *me)
{
	int saved = errno, i, ret;

	for (i = 0; i < SPINS; i++) {
		if (!__atomic_load_n(word, __ATOMIC_RELAXED) &&
		    change(word, 0, word_of(me)))
			return 0;
	}
	ret = lock_slow(word, me);
	errno = saved;
	return ret;
}

int share_trylock(uint32_t *word, const struct share_member *me,
		  struct share_lock_watch *watch)
{
	uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
	uint32_t now;

	if (!seen)
		return change(word, 0, word_of(me)) ? 0 : EBUSY;
	now = share_now_ms();
	if ((seen | SHARE_LOCK_WAITERS) !=
	    __atomic_load_n(&watch->word, __ATOMIC_RELAXED)) {
		__atomic_store_n(&watch->word, seen | SHARE_LOCK_WAITERS,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&watch->since_ms, now, __ATOMIC_RELAXED);
		return EBUSY;
	}
	if (now - __atomic_load_n(&watch->since_ms, __ATOMIC_RELAXED) <
	    me->recheck_ms)
		return EBUSY;
	__atomic_store_n(&watch->since_ms, now, __ATOMIC_RELAXED);
	if (share_owner_is_alive(seen, me) ||
	    !change(word, seen, word_of(me) | SHARE_LOCK_WAITERS))
		return EBUSY;
	return EOWNERDEAD;
}

void share_unlock(uint32_t *word, const struct share_member *me)
{
	uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
	int saved = errno;

	do {
		if ((seen & ~SHARE_LOCK_WAITERS) != word_of(me))
			return;
	} while (!__atomic_compare_exchange_n(word, &seen, 0, 0,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	if (seen & SHARE_LOCK_WAITERS)
		share_futex_wake(word, 1);
	errno = saved;
}
