/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Looking at the ring of a CQ without its lock.
 */
#ifndef SHARE_GLANCE_H
#define SHARE_GLANCE_H

#include "steer.h"

/* Is there nothing in the ring, or no ring any more? A hint. */
int share_glance_empty(const struct share_cq_path *path);
/* The first one, as it is in the ring; 1 if there is one. */
int share_glance_peek(const struct share_cq_path *path, struct ibv_wc *wc);

/*
 * The exporter, after it has marked the CQ as not live and before the ring is
 * taken away: until nobody looks at it any more. ETIMEDOUT: a stopped process
 * may, and gets SIGBUS when it goes on.
 */
int share_glance_wait(const struct share_control *control,
		      const struct share_cq_view *view);

#endif /* SHARE_GLANCE_H */
