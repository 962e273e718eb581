/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Trace events, each after something was done and never for a refusal. "share"
 * is the inode of the grants, which fdinfo shows as "ino": it tells which
 * imports belong to which export, over processes.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ib_uverbs_share

#if !defined(SHARE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SHARE_TRACE_H

#include <linux/tracepoint.h>

#include "share.h"

DECLARE_EVENT_CLASS(share_class,
	TP_PROTO(const struct share *share, u32 rights),
	TP_ARGS(share, rights),
	TP_STRUCT__entry(
		__array(char, device, IB_DEVICE_NAME_MAX)
		__array(char, kind, 8)
		__field(unsigned long, share)
		__field(int, handle)
		__field(u32, rights)
	),
	TP_fast_assign(
		strscpy(__entry->device, dev_name(&share->ibdev->dev),
			sizeof(__entry->device));
		strscpy(__entry->kind, share->kind->name,
			sizeof(__entry->kind));
		__entry->share = share->inode->i_ino;
		__entry->handle = share->target ? share->target->id : -1;
		__entry->rights = rights;
	),
	TP_printk("%s share=%lu kind=%s handle=%d rights=%#x", __entry->device,
		  __entry->share, __entry->kind, __entry->handle,
		  __entry->rights)
);

#define DEFINE_SHARE_EVENT(name)                            \
	DEFINE_EVENT(share_class, name,                     \
		TP_PROTO(const struct share *share, u32 rights), \
		TP_ARGS(share, rights))

DEFINE_SHARE_EVENT(share_export);
DEFINE_SHARE_EVENT(share_derive);
DEFINE_SHARE_EVENT(share_import);
DEFINE_SHARE_EVENT(share_release);

/* the share died, by REVOKE or with its file */
TRACE_EVENT(share_revoke,
	TP_PROTO(const struct share *share, bool asked),
	TP_ARGS(share, asked),
	TP_STRUCT__entry(
		__array(char, device, IB_DEVICE_NAME_MAX)
		__array(char, kind, 8)
		__field(unsigned long, share)
		__field(int, handle)
		__field(int, imports)
		__field(bool, asked)
	),
	TP_fast_assign(
		strscpy(__entry->device, dev_name(&share->ibdev->dev),
			sizeof(__entry->device));
		strscpy(__entry->kind, share->kind->name,
			sizeof(__entry->kind));
		__entry->share = share->inode->i_ino;
		__entry->handle = share->target ? share->target->id : -1;
		__entry->imports = atomic_read(&share->imports);
		__entry->asked = asked;
	),
	TP_printk("%s share=%lu kind=%s handle=%d imports=%d by=%s",
		  __entry->device, __entry->share, __entry->kind,
		  __entry->handle, __entry->imports,
		  __entry->asked ? "revoke" : "close")
);

TRACE_EVENT(share_kick,
	TP_PROTO(const struct share *share, u32 qp_num, u32 flags),
	TP_ARGS(share, qp_num, flags),
	TP_STRUCT__entry(
		__array(char, device, IB_DEVICE_NAME_MAX)
		__field(unsigned long, share)
		__field(u32, qp_num)
		__field(u32, flags)
	),
	TP_fast_assign(
		strscpy(__entry->device, dev_name(&share->ibdev->dev),
			sizeof(__entry->device));
		__entry->share = share->inode->i_ino;
		__entry->qp_num = qp_num;
		__entry->flags = flags;
	),
	TP_printk("%s share=%lu qpn=%u flags=%#x", __entry->device,
		  __entry->share, __entry->qp_num, __entry->flags)
);

TRACE_EVENT(share_register,
	TP_PROTO(const struct ib_device *ibdev, u32 lkey, u32 rkey,
		 const struct share_range *range),
	TP_ARGS(ibdev, lkey, rkey, range),
	TP_STRUCT__entry(
		__array(char, device, IB_DEVICE_NAME_MAX)
		__field(u32, lkey)
		__field(u32, rkey)
		__field(u64, iova)
		__field(u64, length)
		__field(u32, access)
	),
	TP_fast_assign(
		strscpy(__entry->device, dev_name(&ibdev->dev),
			sizeof(__entry->device));
		__entry->lkey = lkey;
		__entry->rkey = rkey;
		__entry->iova = range->iova;
		__entry->length = range->memory.length;
		__entry->access = range->memory.access;
	),
	TP_printk("%s lkey=%#x rkey=%#x iova=%#llx length=%llu access=%#x",
		  __entry->device, __entry->lkey, __entry->rkey, __entry->iova,
		  __entry->length, __entry->access)
);

#endif /* SHARE_TRACE_H */

/* not through TRACE_INCLUDE_PATH of the kernel's own tree: see Kbuild */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
