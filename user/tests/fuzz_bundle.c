// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * libFuzzer: the bundle parser. The first byte is the number of file
 * descriptors that came along, the rest is the message. What is accepted has to
 * be sound, and to be the same after a round trip.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/ib_uverbs_share.h>
#include "../bundle.h"

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct share_bundle first, second;
static unsigned char packed[IBV_SHARE_MAX_BYTES];

static void check_object(const struct share_bundle *bundle, uint32_t self)
{
	const struct share_bundle_object *o = &bundle->objects[self];
	const int user = o->kind == SHARE_BUNDLE_USER;

	MUST(share_bundle_name_ok(o->name));
	MUST(user ? o->grant == SHARE_BUNDLE_NONE ||
			     o->grant < bundle->num_fds
		  : o->grant < bundle->num_fds);
	MUST(o->extra == SHARE_BUNDLE_NONE || o->extra < bundle->num_fds);
	MUST(o->pd == SHARE_BUNDLE_NONE || o->pd < self);
	MUST(o->send_cq == SHARE_BUNDLE_NONE || o->send_cq < self);
	MUST(o->recv_cq == SHARE_BUNDLE_NONE || o->recv_cq < self);
	MUST(!user || (o->offset <= bundle->data_bytes &&
		       o->length <= bundle->data_bytes - o->offset));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t length;
	uint32_t i;

	if (!size || share_bundle_parse(&first, data + 1, size - 1, data[0]))
		return 0;
	MUST(first.num_fds == data[0]);
	for (i = 0; i < first.num_objects; i++)
		check_object(&first, i);
	length = share_bundle_bytes(&first);
	MUST(length <= sizeof(packed));
	share_bundle_pack(&first, packed);
	MUST(!share_bundle_parse(&second, packed, length, first.num_fds));
	MUST(second.num_objects == first.num_objects);
	MUST(!memcmp(second.objects, first.objects,
		     first.num_objects * sizeof(first.objects[0])));
	return 0;
}
