// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <string.h>
#include <rdma/ib_uverbs_share.h>
#include "sample.h"

struct share_bundle sample, parsed;
unsigned char message[IBV_SHARE_MAX_BYTES + 1];

struct share_bundle_object *add(uint32_t kind, const char *name)
{
	struct share_bundle_object *o = &sample.objects[sample.num_objects++];

	memset(o, 0, sizeof(*o));
	o->kind = kind;
	strcpy(o->name, name);
	o->grant = sample.num_fds++;
	o->extra = o->pd = o->send_cq = o->recv_cq = NONE;
	return o;
}

static void add_user(const char *name, const char *data, int with_fd)
{
	struct share_bundle_object *o = add(SHARE_BUNDLE_USER, name);

	o->offset = sample.data_bytes;
	o->length = (uint32_t)strlen(data);
	memcpy(sample.data + o->offset, data, o->length);
	sample.data_bytes += o->length;
	if (!with_fd) {
		o->grant = NONE;
		sample.num_fds--;
	}
}

size_t make_sample(void)
{
	struct share_bundle_object *o;
	uint32_t i;

	memset(&sample, 0, sizeof(sample));
	sample.num_fds = SHARE_BUNDLE_FDS;
	add(IB_UVERBS_SHARE_PD, "pd0");
	for (i = 0; i < 2; i++) {
		o = add(IB_UVERBS_SHARE_CQ, i ? "replies" : "requests");
		o->index = i;
		o->extra = i ? o[-1].extra : sample.num_fds++;
	}
	for (i = 0; i < 2; i++) {
		o = add(IB_UVERBS_SHARE_QP, i ? "qp1" : "qp0");
		o->index = i;
		o->pd = 0;
		o->send_cq = 1;
		o->recv_cq = 2;
	}
	for (i = 0; i < 2; i++) {
		o = add(IB_UVERBS_SHARE_MR,
			i ? "a-name-of-thirty-one-characters" : "mr0");
		o->pd = 0;
		if (!i)
			continue;
		o->extra = sample.num_fds++;
		o->offset = 4096;
	}
	add_user("configuration", "seven characters or more", 0);
	add_user("listener", "", 1);
	share_bundle_pack(&sample, message);
	return share_bundle_bytes(&sample);
}
