// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The table of methods. The test "fuzz" compares it with what the kernel knows.
 */
#include "share_table.h"

#define METHOD(object_, name_, weight_, ...)                             \
	{                                                                \
		.name = #object_ "_" #name_,                             \
		.object = IB_UVERBS_OBJECT_##object_,                    \
		.method = IB_UVERBS_METHOD_##object_##_##name_,          \
		.weight = (weight_),                                     \
		.nattrs = sizeof((struct table_attr[]){ __VA_ARGS__ }) / \
			  sizeof(struct table_attr),                     \
		.attr = { __VA_ARGS__ },                                 \
	}

#define ID(name_) IB_UVERBS_ATTR_##name_

#define ROW(id_, kind_, optional_, size_, what_)                                          \
	{                                                                                 \
		.id = ID(id_), .kind = (kind_), .optional = (optional_), .size = (size_), \
		.what = (what_)                                                           \
	}
#define MUST(id_, kind_, size_, what_) ROW(id_, kind_, false, size_, what_)
#define MAY(id_, kind_, size_, what_) ROW(id_, kind_, true, size_, what_)

/* the handle of an import of that kind */
#define IMPORT_OF_A(id_, kind_, optional_) \
	ROW(IMPORT_##id_, HANDLE, optional_, IB_UVERBS_SHARE_##kind_, IB_UVERBS_OBJECT_IMPORT)
#define MUST_IMPORT_OF_A(id_, kind_) IMPORT_OF_A(id_, kind_, false)
#define MAY_IMPORT_OF_A(id_, kind_) IMPORT_OF_A(id_, kind_, true)

const struct table_method table_methods[] = {
	METHOD(SHARE, QUERY, 1,
	       MUST(SHARE_QUERY_CAPS, OUT_STRUCT, sizeof(struct ib_uverbs_share_caps), 0)),
	METHOD(SHARE, REG_MR, 4,
	       MUST(SHARE_REG_MR_HANDLE, NEW, 0, UVERBS_OBJECT_MR),
	       MUST(SHARE_REG_MR_PD, HANDLE, 0, UVERBS_OBJECT_PD),
	       MUST(SHARE_REG_MR_FD, MEMORY_OR_GRANT, 0, 0),
	       MUST(SHARE_REG_MR_OFFSET, VALUE, 8, VALUE_BYTES),
	       MUST(SHARE_REG_MR_LENGTH, VALUE, 8, VALUE_BYTES),
	       MUST(SHARE_REG_MR_IOVA, VALUE, 8, VALUE_IOVA),
	       MUST(SHARE_REG_MR_ACCESS, FLAGS, 8, ACCESS_ALL),
	       MUST(SHARE_REG_MR_RESP_LKEY, OUT, 4, 0),
	       MUST(SHARE_REG_MR_RESP_RKEY, OUT, 4, 0)),
	METHOD(SHARE, EXPORT, 6,
	       MUST(SHARE_EXPORT_HANDLE, NEW, 0, IB_UVERBS_OBJECT_SHARE),
	       MAY(SHARE_EXPORT_OBJECT, ANY_OBJECT, 0, 0),
	       MUST(SHARE_EXPORT_CMD_FD, CMD_FD, 0, 0),
	       MAY(SHARE_EXPORT_RIGHTS, FLAGS, 8, IB_UVERBS_SHARE_ALL_RIGHTS),
	       MAY(SHARE_EXPORT_RINGS, SEGMENTS, sizeof(struct ib_uverbs_share_segment),
		   0),
	       MAY(SHARE_EXPORT_MEM_FD, MEMORY, 0, 0),
	       MAY(SHARE_EXPORT_MEM_OFFSET, VALUE, 8, VALUE_BYTES),
	       MAY(SHARE_EXPORT_ACCESS, FLAGS, 8, ACCESS_ALL),
	       MUST(SHARE_EXPORT_RESP_FD, OUT_FD, 4, 0)),
	METHOD(SHARE, REVOKE, 2,
	       MUST(SHARE_REVOKE_HANDLE, HANDLE, 0, IB_UVERBS_OBJECT_SHARE)),
	METHOD(SHARE, DERIVE, 4,
	       MUST(SHARE_DERIVE_GRANT, GRANT, 0, 0),
	       MAY(SHARE_DERIVE_RIGHTS, FLAGS, 8, IB_UVERBS_SHARE_ALL_RIGHTS),
	       MUST(SHARE_DERIVE_RESP_FD, OUT_FD, 4, 0)),
	METHOD(IMPORT, CREATE, 6,
	       MUST(IMPORT_CREATE_HANDLE, NEW, 0, IB_UVERBS_OBJECT_IMPORT),
	       MUST(IMPORT_CREATE_GRANT, GRANT, 0, 0),
	       MAY(IMPORT_CREATE_RIGHTS, FLAGS, 8, IB_UVERBS_SHARE_ALL_RIGHTS),
	       MAY(IMPORT_CREATE_EVENT_FD, EVENT, 0, 0),
	       MUST(IMPORT_CREATE_RESP_INFO, OUT_STRUCT, sizeof(struct ib_uverbs_share_info), 0),
	       MAY_IMPORT_OF_A(CREATE_PD, PD)),
	METHOD(IMPORT, RELEASE, 2,
	       MUST(IMPORT_RELEASE_HANDLE, HANDLE, 0, IB_UVERBS_OBJECT_IMPORT)),
	METHOD(IMPORT, KICK, 4,
	       MUST_IMPORT_OF_A(KICK_HANDLE, QP),
	       MUST(IMPORT_KICK_FLAGS, FLAGS, 8,
		    IB_UVERBS_SHARE_KICK_SEND | IB_UVERBS_SHARE_KICK_RECV)),
	METHOD(IMPORT, ARM, 3,
	       MUST_IMPORT_OF_A(ARM_HANDLE, CQ),
	       MAY(IMPORT_ARM_FLAGS, FLAGS, 8, IB_UVERBS_SHARE_ARM_SOLICITED)),
	METHOD(IMPORT, MODIFY_QP, 4,
	       MUST_IMPORT_OF_A(MODIFY_QP_HANDLE, QP),
	       MUST(IMPORT_MODIFY_QP_ATTR, STRUCT, sizeof(struct ib_uverbs_qp_attr), 0)),
	METHOD(IMPORT, QUERY_QP, 2,
	       MUST_IMPORT_OF_A(QUERY_QP_HANDLE, QP),
	       MUST(IMPORT_QUERY_QP_RESP_ATTR, OUT, sizeof(struct ib_uverbs_qp_attr), 0)),
	METHOD(IMPORT, QUERY_SLOT, 2,
	       MUST_IMPORT_OF_A(QUERY_SLOT_HANDLE, CONTEXT),
	       MUST(IMPORT_QUERY_SLOT_SLOT, VALUE, 4, VALUE_SLOT),
	       MUST(IMPORT_QUERY_SLOT_RESP, OUT_STRUCT, sizeof(struct ib_uverbs_share_slot), 0)),
	METHOD(IMPORT, WAKE_SLOT, 2,
	       MUST_IMPORT_OF_A(WAKE_SLOT_HANDLE, CONTEXT),
	       MUST(IMPORT_WAKE_SLOT_SLOT, VALUE, 4, VALUE_SLOT)),
	METHOD(IMPORT, REG_MR, 4,
	       MUST(IMPORT_REG_MR_HANDLE, NEW, 0, IB_UVERBS_OBJECT_IMPORT),
	       MUST_IMPORT_OF_A(REG_MR_PD, PD),
	       MAY(IMPORT_REG_MR_ADDR, VALUE, 8, VALUE_ADDRESS),
	       MAY(IMPORT_REG_MR_FD, MEMORY_OR_GRANT, 0, 0),
	       MAY(IMPORT_REG_MR_OFFSET, VALUE, 8, VALUE_BYTES),
	       MUST(IMPORT_REG_MR_LENGTH, VALUE, 8, VALUE_BYTES),
	       MUST(IMPORT_REG_MR_IOVA, VALUE, 8, VALUE_IOVA),
	       MUST(IMPORT_REG_MR_ACCESS, FLAGS, 8, ACCESS_ALL),
	       MUST(IMPORT_REG_MR_RESP_LKEY, OUT, 4, 0),
	       MUST(IMPORT_REG_MR_RESP_RKEY, OUT, 4, 0)),
	METHOD(IMPORT, QUERY_CQ, 1,
	       MUST_IMPORT_OF_A(QUERY_CQ_HANDLE, CQ),
	       MUST(IMPORT_QUERY_CQ_RESP, OUT_STRUCT, sizeof(struct ib_uverbs_share_cq), 0)),
	METHOD(IMPORT, QUERY_SRQ, 1,
	       MUST_IMPORT_OF_A(QUERY_SRQ_HANDLE, SRQ),
	       MUST(IMPORT_QUERY_SRQ_RESP, OUT_STRUCT, sizeof(struct ib_uverbs_share_srq), 0)),
	METHOD(IMPORT, MODIFY_SRQ, 2,
	       MUST_IMPORT_OF_A(MODIFY_SRQ_HANDLE, SRQ),
	       MUST(IMPORT_MODIFY_SRQ_LIMIT, VALUE, 4, VALUE_SLOT)),
	METHOD(IMPORT, QUERY_MR, 1,
	       MUST_IMPORT_OF_A(QUERY_MR_HANDLE, MR),
	       MUST(IMPORT_QUERY_MR_RESP, OUT_STRUCT, sizeof(struct ib_uverbs_share_mr), 0)),
	{},
};

unsigned int table_count(void)
{
	unsigned int n = 0;

	while (table_methods[n].name)
		n++;
	return n;
}

const struct table_method *table_find(uint16_t object, uint16_t method)
{
	const struct table_method *m;

	for (m = table_methods; m->name; m++)
		if (m->object == object && m->method == method)
			return m;
	return NULL;
}

const struct table_attr *table_find_attr(const struct table_method *method, uint16_t id)
{
	unsigned int i;

	for (i = 0; i < method->nattrs; i++)
		if (method->attr[i].id == id)
			return &method->attr[i];
	return NULL;
}
