// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The bundle as bytes: header, objects, data of user objects. Sender and
 * receiver are on one host and may differ in word size and in the age of their
 * library, so fields have fixed width, and:
 *
 *   - version grows with each change. A sender puts the lowest version that the
 *     receiver has to know to use this very bundle into min_version.
 *   - header and objects only grow at their ends. Who reads a longer one than
 *     it knows skips the rest: min_version says that it may. Who reads a
 *     shorter one takes zero for the rest.
 *   - whatever else is not known is refused, with a sentence.
 */
#include <errno.h>
#include <string.h>
#include <rdma/ib_uverbs_share.h>
#include "bundle.h"
#include "error.h"

#define BUNDLE_MAGIC 0x48534249U /* "IBSH" */
#define BUNDLE_VERSION 1

struct wire_header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint32_t total_bytes;
	uint16_t object_bytes;
	uint16_t num_objects;
	uint32_t num_fds;
	uint16_t min_version;
	uint16_t reserved;
	uint32_t data_bytes;
	uint32_t reserved2;
};

_Static_assert(sizeof(struct wire_header) == 32, "the header is an ABI");
_Static_assert(sizeof(struct share_bundle_object) == 96, "so is an object");
_Static_assert(sizeof(struct wire_header) +
			       SHARE_BUNDLE_MAX_OBJECTS *
				       sizeof(struct share_bundle_object) +
			       SHARE_BUNDLE_MAX_DATA <=
		       IBV_SHARE_MAX_BYTES,
	       "a full bundle fits");

int share_bundle_name_ok(const char *name)
{
	size_t i;

	for (i = 0; i < IBV_SHARE_NAME_MAX && name[i]; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return 0;
	return i > 0 && i < IBV_SHARE_NAME_MAX;
}

size_t share_bundle_bytes(const struct share_bundle *bundle)
{
	return sizeof(struct wire_header) +
	       bundle->num_objects * sizeof(bundle->objects[0]) +
	       bundle->data_bytes;
}

void share_bundle_pack(const struct share_bundle *bundle, void *buf)
{
	struct wire_header header = {
		.magic = BUNDLE_MAGIC,
		.version = BUNDLE_VERSION,
		.header_bytes = sizeof(header),
		.total_bytes = (uint32_t)share_bundle_bytes(bundle),
		.object_bytes = sizeof(bundle->objects[0]),
		.num_objects = (uint16_t)bundle->num_objects,
		.num_fds = bundle->num_fds,
		.min_version = BUNDLE_VERSION,
		.data_bytes = bundle->data_bytes,
	};
	size_t objects = bundle->num_objects * sizeof(bundle->objects[0]);
	char *p = buf;

	memcpy(p, &header, sizeof(header));
	memcpy(p + sizeof(header), bundle->objects, objects);
	memcpy(p + sizeof(header) + objects, bundle->data, bundle->data_bytes);
}

static int malformed(const char *what)
{
	return share_error(EBADMSG, "the bundle is malformed: %s", what);
}

static int check_version(const struct wire_header *header)
{
	if (header->magic != BUNDLE_MAGIC)
		return malformed("it is something else");
	if (!header->min_version || header->min_version > header->version)
		return malformed("its version is wrong");
	if (header->min_version > BUNDLE_VERSION)
		return share_error(EBADMSG,
				   "the bundle needs version %u of its format,"
				   " this library knows %u: use a libibvshare as"
				   " new as the sender's",
				   header->min_version, BUNDLE_VERSION);
	return 0;
}

/* Later versions may have longer ones, this version has not. */
static int sizes_ok(const struct wire_header *header)
{
	const size_t header_bytes = sizeof(*header);
	const size_t object_bytes = sizeof(struct share_bundle_object);

	if (header->version == BUNDLE_VERSION)
		return header->header_bytes == header_bytes &&
		       header->object_bytes == object_bytes &&
		       !header->reserved && !header->reserved2;
	return header->header_bytes >= header_bytes &&
	       header->object_bytes >= object_bytes;
}

static int parse_header(struct wire_header *header, const void *buf,
			size_t length, unsigned int num_fds)
{
	int ret;

	if (length < sizeof(*header))
		return malformed("it is too short");
	memcpy(header, buf, sizeof(*header));
	ret = check_version(header);
	if (ret)
		return ret;
	if (!sizes_ok(header))
		return malformed("its header is not that of its version");
	if (header->num_objects > SHARE_BUNDLE_MAX_OBJECTS)
		return malformed("too many objects");
	if (header->data_bytes > SHARE_BUNDLE_MAX_DATA)
		return malformed("too much data");
	if (header->total_bytes != length ||
	    (size_t)header->header_bytes +
			    (size_t)header->num_objects * header->object_bytes +
			    header->data_bytes !=
		    length)
		return malformed("its length is wrong");
	if (header->num_fds != num_fds || num_fds < SHARE_BUNDLE_FDS ||
	    num_fds > IBV_SHARE_MAX_FDS)
		return malformed("file descriptors are missing or in excess");
	return 0;
}

/* Sizes have been checked. */
static void copy_body(struct share_bundle *bundle,
		      const struct wire_header *header, const void *buf)
{
	const char *p = (const char *)buf + header->header_bytes;
	uint32_t i;

	bundle->num_objects = header->num_objects;
	bundle->num_fds = header->num_fds;
	bundle->data_bytes = header->data_bytes;
	for (i = 0; i < header->num_objects; i++, p += header->object_bytes)
		memcpy(&bundle->objects[i], p, sizeof(bundle->objects[i]));
	memcpy(bundle->data, p, header->data_bytes);
}

/* Is @ref an earlier object of that kind? */
static int ref_ok(const struct share_bundle *bundle, uint32_t self,
		  uint32_t ref, uint32_t kind)
{
	return ref < self && bundle->objects[ref].kind == kind;
}

/* Has it an entry in the control segment? */
static int has_index(const struct share_bundle_object *o)
{
	return o->kind == IB_UVERBS_SHARE_CQ || o->kind == IB_UVERBS_SHARE_QP ||
	       o->kind == IB_UVERBS_SHARE_SRQ;
}

/* Fields that an object of this kind does not have are zero. */
static int fields_ok(const struct share_bundle *bundle,
		     const struct share_bundle_object *o)
{
	if (o->reserved1 || o->reserved2[0] || o->reserved2[1] ||
	    (o->srq && o->kind != IB_UVERBS_SHARE_QP))
		return 0;
	if (o->index && !has_index(o))
		return 0;
	if (o->kind == SHARE_BUNDLE_USER)
		return o->offset <= bundle->data_bytes &&
		       o->length <= bundle->data_bytes - o->offset;
	return !o->length && (!o->offset || o->kind == IB_UVERBS_SHARE_MR);
}

/* Is it an earlier object of that kind if @wanted, else none? */
static int has_ref(const struct share_bundle *bundle, uint32_t self,
		   uint32_t ref, uint32_t kind, int wanted)
{
	return wanted ? ref_ok(bundle, self, ref, kind) : ref == SHARE_BUNDLE_NONE;
}

static int refs_ok(const struct share_bundle *bundle, uint32_t self)
{
	const struct share_bundle_object *o = &bundle->objects[self];
	const int qp = o->kind == IB_UVERBS_SHARE_QP;
	const int srq = o->kind == IB_UVERBS_SHARE_SRQ;
	const int mr = o->kind == IB_UVERBS_SHARE_MR;

	return has_ref(bundle, self, o->pd, IB_UVERBS_SHARE_PD,
		       qp || srq || mr) &&
	       has_ref(bundle, self, o->send_cq, IB_UVERBS_SHARE_CQ, qp) &&
	       has_ref(bundle, self, o->recv_cq, IB_UVERBS_SHARE_CQ,
		       qp || srq) &&
	       (!o->srq ||
		ref_ok(bundle, self, o->srq - 1, IB_UVERBS_SHARE_SRQ));
}

static int name_ok(const struct share_bundle *bundle, uint32_t self)
{
	const struct share_bundle_object *o = &bundle->objects[self];
	char padded[IBV_SHARE_NAME_MAX] = "";
	uint32_t i;

	if (!share_bundle_name_ok(o->name))
		return 0;
	memcpy(padded, o->name, strlen(o->name));
	if (memcmp(padded, o->name, sizeof(padded)))
		return 0;
	for (i = 0; i < self; i++)
		if (bundle->objects[i].kind == o->kind &&
		    !strcmp(bundle->objects[i].name, o->name))
			return 0;
	return 1;
}

/* The tables of the control segment have each entry once. */
static int index_ok(const struct share_bundle *bundle, uint32_t self)
{
	const struct share_bundle_object *o = &bundle->objects[self];
	uint32_t i;

	if (!has_index(o))
		return 1;
	for (i = 0; i < self; i++)
		if (bundle->objects[i].kind == o->kind &&
		    bundle->objects[i].index == o->index)
			return 0;
	return 1;
}

/*
 * What each file descriptor is for: exactly one grant, or channel, or file.
 * Only a channel may serve several.
 */
static int claim_fds(const struct share_bundle_object *o, uint8_t *use,
		     uint32_t num_fds)
{
	enum { FREE,
	       TAKEN,
	       CHANNEL };
	const int cq = o->kind == IB_UVERBS_SHARE_CQ;

	if (o->kind == SHARE_BUNDLE_USER && o->grant == SHARE_BUNDLE_NONE)
		return o->extra == SHARE_BUNDLE_NONE;
	if (o->grant >= num_fds || use[o->grant] != FREE)
		return 0;
	use[o->grant] = TAKEN;
	if (o->extra == SHARE_BUNDLE_NONE)
		return o->kind != IB_UVERBS_SHARE_MR || !o->offset;
	if (!cq && o->kind != IB_UVERBS_SHARE_MR)
		return 0;
	if (o->extra >= num_fds)
		return 0;
	if (use[o->extra] != FREE && !(cq && use[o->extra] == CHANNEL))
		return 0;
	use[o->extra] = cq ? CHANNEL : TAKEN;
	return 1;
}

static int kind_ok(uint32_t kind)
{
	return kind == IB_UVERBS_SHARE_PD || kind == IB_UVERBS_SHARE_CQ ||
	       kind == IB_UVERBS_SHARE_QP || kind == IB_UVERBS_SHARE_SRQ ||
	       kind == IB_UVERBS_SHARE_MR || kind == SHARE_BUNDLE_USER;
}

int share_bundle_parse(struct share_bundle *bundle, const void *buf,
		       size_t length, unsigned int num_fds)
{
	/* the first ones are those of the context */
	uint8_t use[IBV_SHARE_MAX_FDS] = { 1, 1, 1 };
	struct wire_header header = { 0 };
	uint32_t i;
	int ret;

	ret = parse_header(&header, buf, length, num_fds);
	if (ret)
		return ret;
	copy_body(bundle, &header, buf);
	for (i = 0; i < bundle->num_objects; i++) {
		if (!kind_ok(bundle->objects[i].kind))
			return malformed("an object of an unknown kind");
		if (!fields_ok(bundle, &bundle->objects[i]))
			return malformed("a field has no valid value");
		if (!refs_ok(bundle, i))
			return malformed("an object refers to a wrong one");
		if (!name_ok(bundle, i) || !index_ok(bundle, i))
			return malformed("a name or an index is wrong");
		if (!claim_fds(&bundle->objects[i], use, num_fds))
			return malformed("a file descriptor is used wrongly");
	}
	for (i = 0; i < num_fds; i++)
		if (!use[i])
			return malformed("a file descriptor is not used");
	return 0;
}
