/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The harness stops a test after 30 seconds, or what TEST_F_TIMEOUT() says, on
 * whatever kernel. A test that may take longer on a slow one says NO_LIMIT: how
 * long its program may run stands in settings, and is multiplied for a debug
 * kernel.
 */
#ifndef SHARE_LIMIT_H
#define SHARE_LIMIT_H

#define NO_LIMIT 1000000

#endif /* SHARE_LIMIT_H */
