/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * All methods and attributes of the module as one table, for programs that make up calls.
 */
#ifndef SHARE_TABLE_H
#define SHARE_TABLE_H

#include "share_sweep.h"

#define TABLE_ATTRS 12

/* what the number in an attribute of kind VALUE stands for */
enum table_value {
	VALUE_ANY,
	VALUE_BYTES, /* offset or length */
	VALUE_IOVA,
	VALUE_ADDRESS, /* of memory of the caller */
	VALUE_SLOT,
};

/**
 * struct table_attr - an attribute
 * @id: its number
 * @kind: what it is
 * @optional: the call may succeed without it
 * @size: bytes, where the kind leaves that open; HANDLE of an import: enum
 *	ib_uverbs_share_kind
 * @what: HANDLE, NEW: type of object; FLAGS: all that are known;
 *	VALUE: enum table_value
 */
struct table_attr {
	uint16_t id;
	enum kind kind;
	bool optional;
	uint16_t size;
	uint32_t what;
};

/**
 * struct table_method - a method
 * @name: for people; NULL ends the table
 * @object: IB_UVERBS_OBJECT_SHARE or IB_UVERBS_OBJECT_IMPORT
 * @method: its number
 * @weight: how often it is called by programs that choose at random
 * @nattrs: number of attributes
 * @attr: in the order of their numbers
 */
struct table_method {
	const char *name;
	uint16_t object;
	uint16_t method;
	unsigned int weight;
	unsigned int nattrs;
	struct table_attr attr[TABLE_ATTRS];
};

extern const struct table_method table_methods[];
unsigned int table_count(void);
const struct table_method *table_find(uint16_t object, uint16_t method);
const struct table_attr *table_find_attr(const struct table_method *method, uint16_t id);

#endif /* SHARE_TABLE_H */
