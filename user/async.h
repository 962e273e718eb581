/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Asynchronous events: the device tells each once, to whoever reads first;
 * here they are handed to all processes. See Documentation/ring.rst.
 */
#ifndef SHARE_ASYNC_H
#define SHARE_ASYNC_H

#include "control.h"

/*
 * Reads what the device has to tell from @fd, which does not block, and marks
 * it for every slot; wakes all others if there was anything. Also finishes
 * what a reader that died had begun. 0; EIO: nothing will come any more;
 * ETIMEDOUT: a process that is stopped is about to do it; or an errno value.
 */
int share_async_pump(const struct share_control *control, int fd);

/* Has a reader died with an event that it had not marked? */
int share_async_landed(const struct share_control *control);

/* Takes the lowest event type out of @word; -1 if there is none. */
int share_async_take(uint32_t *word);

#endif /* SHARE_ASYNC_H */
