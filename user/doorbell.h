/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#ifndef SHARE_DOORBELL_H
#define SHARE_DOORBELL_H

#include "control.h"

/* Tell the device of requests that were published, once for many posters. */
void share_doorbell_ring(const struct share_control *control,
			 const struct share_qp_view *qp);

/* KICK, errors are counted: the request is published, it has not failed. */
void share_doorbell_kick(const struct share_control *control,
			 const struct share_qp_view *qp, uint32_t flags);

/* Both directions of a QP that has failed: what is posted is flushed. */
void share_doorbell_flush(const struct share_control *control,
			  const struct share_qp_view *qp);

/* Whoever relied on a kicker that died has left already: kick for them. */
void share_doorbell_recover(const struct share_control *control,
			    const struct share_qp_view *qp);

#endif /* SHARE_DOORBELL_H */
