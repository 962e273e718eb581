/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#ifndef IB_UVERBS_SHARE_H
#define IB_UVERBS_SHARE_H

#include <linux/types.h>

/**
 * DOC: uverbs-share ABI
 *
 * ib_uverbs_share.ko adds two objects to the ioctl interface of every uverbs
 * device that is registered after the module was loaded:
 *
 * * a *share* lives in the file of the exporter and says "this object is
 *   exported". It pins its target: destroying an exported object answers
 *   EBUSY until the share is revoked or the exporter's file is gone.
 * * an *import* lives in the file of the importer. It is made from a *grant*,
 *   a file descriptor that names a share and carries a set of rights.
 *
 * Calls are made with RDMA_VERBS_IOCTL on a uverbs file; object, method and
 * attribute ids are those below. Handles are IDR handles of that file.
 *
 * Lifetimes
 * ~~~~~~~~~
 *
 * * A grant holds the exporter's uverbs file. While a grant is open anywhere,
 *   also in a message that is in flight, the exporter's objects live on, also
 *   after the exporter exited.
 * * An import holds the share only. When the share dies (REVOKE, or the
 *   exporter's file goes away) every operation of every import answers
 *   ENOLINK, the rings vanish from the importers' address spaces (SIGBUS) and
 *   poll() on every grant reports POLLHUP.
 * * A share dies before its target, always.
 * * File descriptors in a reply belong to the caller and are close-on-exec.
 *
 * Extension rule
 * ~~~~~~~~~~~~~~
 *
 * Ids are appended and never reused. Structures grow at the end, an older
 * kernel fills the part that it knows. Fields named reserved are zero. An
 * attribute that the kernel does not know is refused with EPROTONOSUPPORT if
 * the caller marked it mandatory.
 *
 * Error numbers
 * ~~~~~~~~~~~~~
 *
 * The first three rows come from the uverbs core before a method runs.
 *
 * ================ =========================================================
 * EPROTONOSUPPORT  this device has no such method: the module is missing or
 *                  was loaded after the device was registered
 * EINVAL           attribute missing, twice, of a wrong length, or unknown
 *                  flag; handle of another type
 * ENOENT           no object with that handle in this file
 * EINVAL           a value that no caller may use, also an import or a grant
 *                  of another kind than the method works on
 * EOPNOTSUPP       known, but not for this device, kernel or kind of object
 * EBADF            not an open file descriptor
 * EBADFD           a file descriptor of the wrong kind: not a grant, not this
 *                  uverbs file, not a shmem, memfd or hugetlbfs file
 * EACCES           the right is missing, or wider access than was granted or
 *                  than the file descriptor was opened with
 * EPERM            a seal of the memfd forbids the mapping
 * EXDEV            the grant belongs to another device, or the region to
 *                  another PD
 * ENOLINK          the share is dead
 * EBUSY            the object is exported or in use; a memory window is bound
 *                  to a region
 * EOVERFLOW        offset + length wraps
 * ERANGE           beyond the end of the file, or outside of what was granted
 * E2BIG            too many ring segments or a segment that is too long
 * EFAULT           an address that is not mapped as the call requires
 * ENOSPC           all slots are taken
 * ENOMEM           out of memory, or over RLIMIT_MEMLOCK
 * EMFILE, ENFILE   no file descriptor is free for the grant
 * ETIMEDOUT,       MODIFY_QP: no way to the peer's address, as
 * ENETUNREACH      ibv_modify_qp() says it
 * ENODATA          MODIFY_QP: there is no GID with that index
 * EAGAIN           over a limit of the caller's rdma cgroup
 * EIO              the device is being removed
 * ================ =========================================================
 */

/** define IB_UVERBS_SHARE_ABI_VERSION - version of this contract */
#define IB_UVERBS_SHARE_ABI_VERSION 1

/** define IB_UVERBS_SHARE_MAX_SLOTS - processes per shared context */
#define IB_UVERBS_SHARE_MAX_SLOTS 64

/** define IB_UVERBS_SHARE_MAX_RING_BYTES - length of one ring segment */
#define IB_UVERBS_SHARE_MAX_RING_BYTES (64U << 20)

/**
 * enum ib_uverbs_share_objects - object ids
 * @IB_UVERBS_OBJECT_SHARE: an object of this file is exported
 * @IB_UVERBS_OBJECT_IMPORT: an object of another file is used here
 *
 * Ids 10 and 11 of the provider name space; no provider in the kernel tree
 * uses more than 0..9.
 */
enum ib_uverbs_share_objects {
	IB_UVERBS_OBJECT_SHARE = (1U << 12) + 10,
	IB_UVERBS_OBJECT_IMPORT
};

/**
 * enum ib_uverbs_methods_share - methods of IB_UVERBS_OBJECT_SHARE
 * @IB_UVERBS_METHOD_SHARE_QUERY: what this kernel can do
 * @IB_UVERBS_METHOD_SHARE_REG_MR: register shared memory as a memory region
 * @IB_UVERBS_METHOD_SHARE_EXPORT: export an object, get its first grant
 * @IB_UVERBS_METHOD_SHARE_REVOKE: end a share, for everybody
 * @IB_UVERBS_METHOD_SHARE_DERIVE: make a grant with fewer rights from a grant
 */
enum ib_uverbs_methods_share {
	IB_UVERBS_METHOD_SHARE_QUERY,
	IB_UVERBS_METHOD_SHARE_REG_MR,
	IB_UVERBS_METHOD_SHARE_EXPORT,
	IB_UVERBS_METHOD_SHARE_REVOKE,
	IB_UVERBS_METHOD_SHARE_DERIVE
};

/**
 * enum ib_uverbs_methods_import - methods of IB_UVERBS_OBJECT_IMPORT
 * @IB_UVERBS_METHOD_IMPORT_CREATE: import what a grant names
 * @IB_UVERBS_METHOD_IMPORT_RELEASE: let go of an import
 * @IB_UVERBS_METHOD_IMPORT_KICK: tell the device that work was posted on a QP
 * @IB_UVERBS_METHOD_IMPORT_ARM: request a completion event of a CQ
 * @IB_UVERBS_METHOD_IMPORT_MODIFY_QP: change the state or attributes of a QP
 * @IB_UVERBS_METHOD_IMPORT_QUERY_QP: read the state and attributes of a QP
 * @IB_UVERBS_METHOD_IMPORT_QUERY_SLOT: is the process of a slot alive
 * @IB_UVERBS_METHOD_IMPORT_WAKE_SLOT: signal the eventfd of a slot
 * @IB_UVERBS_METHOD_IMPORT_REG_MR: register memory on an imported PD
 * @IB_UVERBS_METHOD_IMPORT_QUERY_CQ: read the properties of a CQ
 * @IB_UVERBS_METHOD_IMPORT_QUERY_SRQ: read the attributes of an SRQ
 * @IB_UVERBS_METHOD_IMPORT_QUERY_MR: read the properties of a memory region
 * @IB_UVERBS_METHOD_IMPORT_MODIFY_SRQ: arm the limit event of an SRQ
 */
enum ib_uverbs_methods_import {
	IB_UVERBS_METHOD_IMPORT_CREATE,
	IB_UVERBS_METHOD_IMPORT_RELEASE,
	IB_UVERBS_METHOD_IMPORT_KICK,
	IB_UVERBS_METHOD_IMPORT_ARM,
	IB_UVERBS_METHOD_IMPORT_MODIFY_QP,
	IB_UVERBS_METHOD_IMPORT_QUERY_QP,
	IB_UVERBS_METHOD_IMPORT_QUERY_SLOT,
	IB_UVERBS_METHOD_IMPORT_WAKE_SLOT,
	IB_UVERBS_METHOD_IMPORT_REG_MR,
	IB_UVERBS_METHOD_IMPORT_QUERY_CQ,
	IB_UVERBS_METHOD_IMPORT_QUERY_SRQ,
	IB_UVERBS_METHOD_IMPORT_QUERY_MR,
	IB_UVERBS_METHOD_IMPORT_MODIFY_SRQ
};

/**
 * enum ib_uverbs_share_kind - what a share exports
 * @IB_UVERBS_SHARE_CONTEXT: membership: each import of it is a slot
 * @IB_UVERBS_SHARE_PD: protection domain
 * @IB_UVERBS_SHARE_CQ: completion queue
 * @IB_UVERBS_SHARE_QP: queue pair of type RC, UC or UD
 * @IB_UVERBS_SHARE_SRQ: shared receive queue
 * @IB_UVERBS_SHARE_MR: memory region
 */
enum ib_uverbs_share_kind {
	IB_UVERBS_SHARE_CONTEXT,
	IB_UVERBS_SHARE_PD,
	IB_UVERBS_SHARE_CQ,
	IB_UVERBS_SHARE_QP,
	IB_UVERBS_SHARE_SRQ,
	IB_UVERBS_SHARE_MR
};

/**
 * enum ib_uverbs_share_rights - what the holder of a grant or import may do
 * @IB_UVERBS_SHARE_POST_SEND: map the send ring of a QP, KICK it for sends
 * @IB_UVERBS_SHARE_POST_RECV: map the receive ring of a QP or SRQ, KICK it
 * @IB_UVERBS_SHARE_POLL: map the ring of a CQ
 * @IB_UVERBS_SHARE_ARM: ARM a CQ
 * @IB_UVERBS_SHARE_READ: QUERY_QP, QUERY_CQ, QUERY_SRQ, QUERY_MR, QUERY_SLOT;
 *	opens no ring, also not for reading: the data of inline sends is in it
 * @IB_UVERBS_SHARE_MODIFY: MODIFY_QP without an address vector, between
 *	states that the QP was in before (to SQD, RTS and ERR); MODIFY_SRQ
 * @IB_UVERBS_SHARE_MANAGE: every MODIFY_QP
 * @IB_UVERBS_SHARE_REGISTER: use the memory behind an MR grant for a region
 *	of one's own; register memory on an imported PD
 * @IB_UVERBS_SHARE_WAKE: WAKE_SLOT
 * @IB_UVERBS_SHARE_REGRANT: DERIVE further grants
 * @IB_UVERBS_SHARE_ALL_RIGHTS: all of them
 *
 * Each kind of object has those that make sense for it, see &struct
 * ib_uverbs_share_info. EXPORT, DERIVE and IMPORT take a subset; the result
 * is never wider than what it was made from.
 */
enum ib_uverbs_share_rights {
	IB_UVERBS_SHARE_POST_SEND = 1 << 0,
	IB_UVERBS_SHARE_POST_RECV = 1 << 1,
	IB_UVERBS_SHARE_POLL = 1 << 2,
	IB_UVERBS_SHARE_ARM = 1 << 3,
	IB_UVERBS_SHARE_READ = 1 << 4,
	IB_UVERBS_SHARE_MODIFY = 1 << 5,
	IB_UVERBS_SHARE_MANAGE = 1 << 6,
	IB_UVERBS_SHARE_REGISTER = 1 << 7,
	IB_UVERBS_SHARE_WAKE = 1 << 8,
	IB_UVERBS_SHARE_REGRANT = 1 << 9,
	IB_UVERBS_SHARE_ALL_RIGHTS = (1 << 10) - 1
};

/**
 * enum ib_uverbs_share_ring - rings that can be exported with an object
 * @IB_UVERBS_SHARE_RING_SEND: send queue of a QP, needs POST_SEND
 * @IB_UVERBS_SHARE_RING_RECV: receive queue of a QP, needs POST_RECV
 * @IB_UVERBS_SHARE_RING_CQ: completion queue, needs POLL
 * @IB_UVERBS_SHARE_RING_SRQ: shared receive queue, needs POST_RECV
 * @IB_UVERBS_SHARE_RING_COUNT: number of rings
 *
 * The layout of a ring is that of the provider (for rxe: struct
 * rxe_queue_buf in <rdma/rdma_user_rxe.h>).
 */
enum ib_uverbs_share_ring {
	IB_UVERBS_SHARE_RING_SEND,
	IB_UVERBS_SHARE_RING_RECV,
	IB_UVERBS_SHARE_RING_CQ,
	IB_UVERBS_SHARE_RING_SRQ,
	IB_UVERBS_SHARE_RING_COUNT
};

/**
 * define IB_UVERBS_SHARE_RING_SHIFT - mmap() offset of a ring in a grant
 *
 * Ring r starts at (__u64)r << IB_UVERBS_SHARE_RING_SHIFT. mmap() of a grant
 * answers EINVAL outside of a ring or for a private mapping, EACCES without
 * the right, ENOLINK when the share is dead.
 */
#define IB_UVERBS_SHARE_RING_SHIFT 32

/**
 * struct ib_uverbs_share_segment - a ring as the exporter has it mapped
 * @addr: start of the exporter's own mapping of its uverbs file, page aligned
 * @length: bytes, a multiple of the page size
 * @ring: enum ib_uverbs_share_ring
 * @reserved: zero
 */
struct ib_uverbs_share_segment {
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 ring;
	__u32 reserved;
};

/**
 * enum ib_uverbs_share_features - bits of &ib_uverbs_share_caps.features
 * @IB_UVERBS_SHARE_F_REG_MR: REG_MR works on this device
 * @IB_UVERBS_SHARE_F_RINGS: rings can be exported, KICK and ARM work: a
 *	software provider whose ring layout is uAPI
 * @IB_UVERBS_SHARE_F_READ_ONLY_MR: memory of which only a read-only file
 *	descriptor or a grant without write access is held can be registered
 *	for reading (Linux 6.2 and later)
 * @IB_UVERBS_SHARE_F_IMPORT_REG_MR: IMPORT_REG_MR works: a provider that
 *	registers memory on a PD of another uverbs file
 */
enum ib_uverbs_share_features {
	IB_UVERBS_SHARE_F_REG_MR = 1 << 0,
	IB_UVERBS_SHARE_F_RINGS = 1 << 1,
	IB_UVERBS_SHARE_F_READ_ONLY_MR = 1 << 2,
	IB_UVERBS_SHARE_F_IMPORT_REG_MR = 1 << 3
};

/**
 * struct ib_uverbs_share_caps - answer of QUERY
 * @abi_version: IB_UVERBS_SHARE_ABI_VERSION of the module
 * @driver_id: enum rdma_driver_id of the device
 * @features: enum ib_uverbs_share_features
 * @rights: rights that this module knows
 * @max_slots: processes per shared context
 * @max_ring_bytes: longest ring segment
 */
struct ib_uverbs_share_caps {
	__u32 abi_version;
	__u32 driver_id;
	__aligned_u64 features;
	__u32 rights;
	__u32 max_slots;
	__aligned_u64 max_ring_bytes;
};

/**
 * struct ib_uverbs_share_info - what an import stands for
 * @kind: enum ib_uverbs_share_kind
 * @rights: rights of this import
 * @slot: CONTEXT: slot of this process
 * @generation: CONTEXT: how often that slot was given away, never 0
 * @qp_num: QP: its number
 * @qp_type: QP: enum ib_uverbs_qp_type
 * @lkey: MR: local key
 * @rkey: MR: remote key
 * @iova: MR: address in the region that stands for its first byte
 * @length: MR: bytes
 * @access: MR: enum ib_access_flags that a region made from the grant may have
 * @reserved: zero
 * @ring_bytes: length of each ring that was exported and that the rights open,
 *	else 0
 */
struct ib_uverbs_share_info {
	__u32 kind;
	__u32 rights;
	__u32 slot;
	__u32 generation;
	__u32 qp_num;
	__u32 qp_type;
	__u32 lkey;
	__u32 rkey;
	__aligned_u64 iova;
	__aligned_u64 length;
	__u32 access;
	__u32 reserved;
	__aligned_u64 ring_bytes[IB_UVERBS_SHARE_RING_COUNT];
};

/**
 * struct ib_uverbs_share_cq - answer of QUERY_CQ
 * @cqe: entries that it has, as CREATE_CQ or RESIZE_CQ answered
 * @reserved: zero
 * @ring_bytes: length of its ring, 0 if that was not exported
 */
struct ib_uverbs_share_cq {
	__u32 cqe;
	__u32 reserved;
	__aligned_u64 ring_bytes;
};

/**
 * struct ib_uverbs_share_srq - answer of QUERY_SRQ
 * @max_wr: requests that it takes
 * @max_sge: scatter/gather elements of a request
 * @limit: fewer requests than that raise the limit event, 0: none does
 * @reserved: zero
 * @ring_bytes: length of its ring, 0 if that was not exported
 */
struct ib_uverbs_share_srq {
	__u32 max_wr;
	__u32 max_sge;
	__u32 limit;
	__u32 reserved;
	__aligned_u64 ring_bytes;
};

/**
 * struct ib_uverbs_share_mr - answer of QUERY_MR
 * @lkey: local key
 * @rkey: remote key
 * @iova: address in the region that stands for its first byte
 * @length: bytes
 * @access: enum ib_access_flags that a region made from a grant may have; 0 if
 *	none can be made
 * @reserved: zero
 */
struct ib_uverbs_share_mr {
	__u32 lkey;
	__u32 rkey;
	__aligned_u64 iova;
	__aligned_u64 length;
	__u32 access;
	__u32 reserved;
};

/**
 * enum ib_uverbs_share_slot_state - states of a slot
 * @IB_UVERBS_SHARE_SLOT_FREE: nobody has it, or its import is released
 * @IB_UVERBS_SHARE_SLOT_LIVE: the process that imported it is alive
 * @IB_UVERBS_SHARE_SLOT_DEAD: that process is dead (or has called exec), while
 *	a child still holds its uverbs file
 *
 * From LIVE to DEAD, and from either to FREE, the eventfds of all other slots
 * are signaled.
 */
enum ib_uverbs_share_slot_state {
	IB_UVERBS_SHARE_SLOT_FREE,
	IB_UVERBS_SHARE_SLOT_LIVE,
	IB_UVERBS_SHARE_SLOT_DEAD
};

/**
 * struct ib_uverbs_share_slot - answer of QUERY_SLOT
 * @state: enum ib_uverbs_share_slot_state
 * @generation: how often the slot was given away, 0 if never
 * @pid: process id in the caller's pid name space, 0 if it has none there
 * @reserved: zero
 */
struct ib_uverbs_share_slot {
	__u32 state;
	__u32 generation;
	__u32 pid;
	__u32 reserved;
};

/**
 * enum ib_uverbs_share_kick - direction of a KICK
 * @IB_UVERBS_SHARE_KICK_SEND: process the send ring; needs POST_SEND; EINVAL
 *	before the QP is in RTS
 * @IB_UVERBS_SHARE_KICK_RECV: flush the receive ring of a QP that is in ERR;
 *	needs POST_RECV; EINVAL in RESET or when the QP has an SRQ
 */
enum ib_uverbs_share_kick {
	IB_UVERBS_SHARE_KICK_SEND = 1 << 0,
	IB_UVERBS_SHARE_KICK_RECV = 1 << 1
};

/**
 * enum ib_uverbs_share_arm - flags of ARM
 * @IB_UVERBS_SHARE_ARM_SOLICITED: solicited completions only
 */
enum ib_uverbs_share_arm {
	IB_UVERBS_SHARE_ARM_SOLICITED = 1 << 0
};

/**
 * define IB_UVERBS_SHARE_ALL_SLOTS - for WAKE_SLOT, all but the caller's own
 */
#define IB_UVERBS_SHARE_ALL_SLOTS 0xffffffffU

/**
 * enum uverbs_attrs_share_query - attributes of SHARE_QUERY
 * @IB_UVERBS_ATTR_SHARE_QUERY_CAPS: out, struct ib_uverbs_share_caps
 */
enum uverbs_attrs_share_query {
	IB_UVERBS_ATTR_SHARE_QUERY_CAPS
};

/**
 * enum uverbs_attrs_share_reg_mr - attributes of SHARE_REG_MR
 * @IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE: new UVERBS_OBJECT_MR
 * @IB_UVERBS_ATTR_SHARE_REG_MR_PD: UVERBS_OBJECT_PD of this file
 * @IB_UVERBS_ATTR_SHARE_REG_MR_FD: shmem, memfd or hugetlbfs file, or an MR
 *	grant with the right REGISTER
 * @IB_UVERBS_ATTR_SHARE_REG_MR_OFFSET: u64, first byte in the file, or in the
 *	range that the grant names
 * @IB_UVERBS_ATTR_SHARE_REG_MR_LENGTH: u64, bytes, not 0
 * @IB_UVERBS_ATTR_SHARE_REG_MR_IOVA: u64, address that stands for the first
 *	byte; its offset in the page is that of the memory. When the caller has
 *	the range mapped at this address, that mapping is used.
 * @IB_UVERBS_ATTR_SHARE_REG_MR_ACCESS: flags, enum ib_access_flags
 * @IB_UVERBS_ATTR_SHARE_REG_MR_RESP_LKEY: out, u32
 * @IB_UVERBS_ATTR_SHARE_REG_MR_RESP_RKEY: out, u32
 *
 * The result is an ordinary memory region: it is destroyed with MR_DESTROY
 * (ibv_dereg_mr()), depends on no grant and no other region, and is charged
 * as ibv_reg_mr() charges.
 */
enum uverbs_attrs_share_reg_mr {
	IB_UVERBS_ATTR_SHARE_REG_MR_HANDLE,
	IB_UVERBS_ATTR_SHARE_REG_MR_PD,
	IB_UVERBS_ATTR_SHARE_REG_MR_FD,
	IB_UVERBS_ATTR_SHARE_REG_MR_OFFSET,
	IB_UVERBS_ATTR_SHARE_REG_MR_LENGTH,
	IB_UVERBS_ATTR_SHARE_REG_MR_IOVA,
	IB_UVERBS_ATTR_SHARE_REG_MR_ACCESS,
	IB_UVERBS_ATTR_SHARE_REG_MR_RESP_LKEY,
	IB_UVERBS_ATTR_SHARE_REG_MR_RESP_RKEY
};

/**
 * enum uverbs_attrs_share_export - attributes of SHARE_EXPORT
 * @IB_UVERBS_ATTR_SHARE_EXPORT_HANDLE: new IB_UVERBS_OBJECT_SHARE
 * @IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT: PD, CQ, QP, SRQ or MR of this file;
 *	absent: the context itself
 * @IB_UVERBS_ATTR_SHARE_EXPORT_CMD_FD: this uverbs file
 * @IB_UVERBS_ATTR_SHARE_EXPORT_RIGHTS: flags, rights of the first grant;
 *	absent: all that the kind of object has
 * @IB_UVERBS_ATTR_SHARE_EXPORT_RINGS: optional, array of struct
 *	ib_uverbs_share_segment, each ring once
 * @IB_UVERBS_ATTR_SHARE_EXPORT_MEM_FD: MR, optional: the file behind the
 *	region. Without it the region can be used through the grant, but not
 *	be registered anew, and the right REGISTER is not there.
 * @IB_UVERBS_ATTR_SHARE_EXPORT_MEM_OFFSET: MR: u64, where the region starts in
 *	that file; needed with MEM_FD
 * @IB_UVERBS_ATTR_SHARE_EXPORT_ACCESS: MR: flags, widest access of a region
 *	that is made from the grant; one that does not write is for devices
 *	with %IB_UVERBS_SHARE_F_READ_ONLY_MR
 * @IB_UVERBS_ATTR_SHARE_EXPORT_RESP_FD: out, s32, the grant
 */
enum uverbs_attrs_share_export {
	IB_UVERBS_ATTR_SHARE_EXPORT_HANDLE,
	IB_UVERBS_ATTR_SHARE_EXPORT_OBJECT,
	IB_UVERBS_ATTR_SHARE_EXPORT_CMD_FD,
	IB_UVERBS_ATTR_SHARE_EXPORT_RIGHTS,
	IB_UVERBS_ATTR_SHARE_EXPORT_RINGS,
	IB_UVERBS_ATTR_SHARE_EXPORT_MEM_FD,
	IB_UVERBS_ATTR_SHARE_EXPORT_MEM_OFFSET,
	IB_UVERBS_ATTR_SHARE_EXPORT_ACCESS,
	IB_UVERBS_ATTR_SHARE_EXPORT_RESP_FD
};

/**
 * enum uverbs_attrs_share_revoke - attributes of SHARE_REVOKE
 * @IB_UVERBS_ATTR_SHARE_REVOKE_HANDLE: the share, destroyed
 *
 * EBUSY, if a memory window is bound to a region that an importer made on the
 * PD: the share is dead all the same, the handle stays, and REVOKE is to be
 * called again when the window is gone.
 */
enum uverbs_attrs_share_revoke {
	IB_UVERBS_ATTR_SHARE_REVOKE_HANDLE
};

/**
 * enum uverbs_attrs_share_derive - attributes of SHARE_DERIVE
 * @IB_UVERBS_ATTR_SHARE_DERIVE_GRANT: grant with the right REGRANT
 * @IB_UVERBS_ATTR_SHARE_DERIVE_RIGHTS: flags, subset of its rights; absent:
 *	the same
 * @IB_UVERBS_ATTR_SHARE_DERIVE_RESP_FD: out, s32, the new grant
 */
enum uverbs_attrs_share_derive {
	IB_UVERBS_ATTR_SHARE_DERIVE_GRANT,
	IB_UVERBS_ATTR_SHARE_DERIVE_RIGHTS,
	IB_UVERBS_ATTR_SHARE_DERIVE_RESP_FD
};

/**
 * enum uverbs_attrs_import_create - attributes of IMPORT_CREATE
 * @IB_UVERBS_ATTR_IMPORT_CREATE_HANDLE: new IB_UVERBS_OBJECT_IMPORT
 * @IB_UVERBS_ATTR_IMPORT_CREATE_GRANT: the grant; may be closed afterwards
 * @IB_UVERBS_ATTR_IMPORT_CREATE_RIGHTS: flags, subset of the grant's; absent:
 *	the same
 * @IB_UVERBS_ATTR_IMPORT_CREATE_EVENT_FD: CONTEXT, optional: eventfd that
 *	WAKE_SLOT and the death of another slot signal
 * @IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO: out, struct ib_uverbs_share_info
 * @IB_UVERBS_ATTR_IMPORT_CREATE_PD: MR, optional: import of the PD that the
 *	region is on; EXDEV if it is on another one
 *
 * An import of an MR is an alias: keys that the kernel vouches for, and a
 * reference. It pins nothing, and it ends with the share.
 */
enum uverbs_attrs_import_create {
	IB_UVERBS_ATTR_IMPORT_CREATE_HANDLE,
	IB_UVERBS_ATTR_IMPORT_CREATE_GRANT,
	IB_UVERBS_ATTR_IMPORT_CREATE_RIGHTS,
	IB_UVERBS_ATTR_IMPORT_CREATE_EVENT_FD,
	IB_UVERBS_ATTR_IMPORT_CREATE_RESP_INFO,
	IB_UVERBS_ATTR_IMPORT_CREATE_PD
};

/**
 * enum uverbs_attrs_import_release - attributes of IMPORT_RELEASE
 * @IB_UVERBS_ATTR_IMPORT_RELEASE_HANDLE: the import, or the region of
 *	IMPORT_REG_MR, destroyed; EBUSY while a memory window is bound to it
 */
enum uverbs_attrs_import_release {
	IB_UVERBS_ATTR_IMPORT_RELEASE_HANDLE
};

/**
 * enum uverbs_attrs_import_kick - attributes of IMPORT_KICK
 * @IB_UVERBS_ATTR_IMPORT_KICK_HANDLE: import of a QP
 * @IB_UVERBS_ATTR_IMPORT_KICK_FLAGS: flags, enum ib_uverbs_share_kick, not 0
 */
enum uverbs_attrs_import_kick {
	IB_UVERBS_ATTR_IMPORT_KICK_HANDLE,
	IB_UVERBS_ATTR_IMPORT_KICK_FLAGS
};

/**
 * enum uverbs_attrs_import_arm - attributes of IMPORT_ARM
 * @IB_UVERBS_ATTR_IMPORT_ARM_HANDLE: import of a CQ with the right ARM
 * @IB_UVERBS_ATTR_IMPORT_ARM_FLAGS: optional flags, enum ib_uverbs_share_arm
 */
enum uverbs_attrs_import_arm {
	IB_UVERBS_ATTR_IMPORT_ARM_HANDLE,
	IB_UVERBS_ATTR_IMPORT_ARM_FLAGS
};

/**
 * enum uverbs_attrs_import_modify_qp - attributes of IMPORT_MODIFY_QP
 * @IB_UVERBS_ATTR_IMPORT_MODIFY_QP_HANDLE: import of a QP
 * @IB_UVERBS_ATTR_IMPORT_MODIFY_QP_ATTR: in, struct ib_uverbs_qp_attr of
 *	<rdma/ib_user_verbs.h>; qp_attr_mask says which fields count, in the
 *	bits of enum ib_qp_attr_mask
 *
 * With MANAGE every transition is allowed, with MODIFY only a change of state
 * to SQD, RTS or ERR, with no other attribute but the current state and
 * en_sqd_async_notify. All else is EACCES; what the state machine does not
 * allow is EINVAL.
 */
enum uverbs_attrs_import_modify_qp {
	IB_UVERBS_ATTR_IMPORT_MODIFY_QP_HANDLE,
	IB_UVERBS_ATTR_IMPORT_MODIFY_QP_ATTR
};

/**
 * enum uverbs_attrs_import_query_qp - attributes of IMPORT_QUERY_QP
 * @IB_UVERBS_ATTR_IMPORT_QUERY_QP_HANDLE: import of a QP with the right READ
 * @IB_UVERBS_ATTR_IMPORT_QUERY_QP_RESP_ATTR: out, struct ib_uverbs_qp_attr
 */
enum uverbs_attrs_import_query_qp {
	IB_UVERBS_ATTR_IMPORT_QUERY_QP_HANDLE,
	IB_UVERBS_ATTR_IMPORT_QUERY_QP_RESP_ATTR
};

/**
 * enum uverbs_attrs_import_query_slot - attributes of IMPORT_QUERY_SLOT
 * @IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_HANDLE: import of a CONTEXT with READ
 * @IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_SLOT: u32, the slot
 * @IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_RESP: out, struct ib_uverbs_share_slot
 */
enum uverbs_attrs_import_query_slot {
	IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_HANDLE,
	IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_SLOT,
	IB_UVERBS_ATTR_IMPORT_QUERY_SLOT_RESP
};

/**
 * enum uverbs_attrs_import_wake_slot - attributes of IMPORT_WAKE_SLOT
 * @IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_HANDLE: import of a CONTEXT with WAKE
 * @IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_SLOT: u32, the slot, or
 *	IB_UVERBS_SHARE_ALL_SLOTS; a slot that is free or has no eventfd is no
 *	error
 */
enum uverbs_attrs_import_wake_slot {
	IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_HANDLE,
	IB_UVERBS_ATTR_IMPORT_WAKE_SLOT_SLOT
};

/**
 * enum uverbs_attrs_import_reg_mr - attributes of IMPORT_REG_MR
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_HANDLE: new IB_UVERBS_OBJECT_IMPORT, which
 *	stands for the region and can be used for RELEASE only
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_PD: import of a PD with the right REGISTER
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR: u64, start of memory of the calling
 *	process; this or FD
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_FD: as in SHARE_REG_MR
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_OFFSET: u64, as in SHARE_REG_MR; with FD only
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_LENGTH: u64, bytes, not 0
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_IOVA: u64, address that stands for the first
 *	byte, with the same offset in its page
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_ACCESS: flags, enum ib_access_flags
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_LKEY: out, u32
 * @IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_RKEY: out, u32
 *
 * The region belongs to the caller's file and is charged to the calling
 * process as ibv_reg_mr() charges. It ends with RELEASE, with the caller's
 * file, or with the share of the PD: whatever is first. When the share dies
 * the keys are invalid at once, and the handle is an empty one for RELEASE.
 *
 * The pages are waited for before the share is locked, and if it dies during
 * the registration that ends with ENOLINK: memory whose pages never come
 * (userfaultfd) holds up nobody but the caller, who has to be killed.
 */
enum uverbs_attrs_import_reg_mr {
	IB_UVERBS_ATTR_IMPORT_REG_MR_HANDLE,
	IB_UVERBS_ATTR_IMPORT_REG_MR_PD,
	IB_UVERBS_ATTR_IMPORT_REG_MR_ADDR,
	IB_UVERBS_ATTR_IMPORT_REG_MR_FD,
	IB_UVERBS_ATTR_IMPORT_REG_MR_OFFSET,
	IB_UVERBS_ATTR_IMPORT_REG_MR_LENGTH,
	IB_UVERBS_ATTR_IMPORT_REG_MR_IOVA,
	IB_UVERBS_ATTR_IMPORT_REG_MR_ACCESS,
	IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_LKEY,
	IB_UVERBS_ATTR_IMPORT_REG_MR_RESP_RKEY
};

/**
 * enum uverbs_attrs_import_query_cq - attributes of IMPORT_QUERY_CQ
 * @IB_UVERBS_ATTR_IMPORT_QUERY_CQ_HANDLE: import of a CQ with the right READ
 * @IB_UVERBS_ATTR_IMPORT_QUERY_CQ_RESP: out, struct ib_uverbs_share_cq
 */
enum uverbs_attrs_import_query_cq {
	IB_UVERBS_ATTR_IMPORT_QUERY_CQ_HANDLE,
	IB_UVERBS_ATTR_IMPORT_QUERY_CQ_RESP
};

/**
 * enum uverbs_attrs_import_query_srq - attributes of IMPORT_QUERY_SRQ
 * @IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_HANDLE: import of an SRQ with the right READ
 * @IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_RESP: out, struct ib_uverbs_share_srq
 */
enum uverbs_attrs_import_query_srq {
	IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_HANDLE,
	IB_UVERBS_ATTR_IMPORT_QUERY_SRQ_RESP
};

/**
 * enum uverbs_attrs_import_query_mr - attributes of IMPORT_QUERY_MR
 * @IB_UVERBS_ATTR_IMPORT_QUERY_MR_HANDLE: import of an MR with the right READ
 * @IB_UVERBS_ATTR_IMPORT_QUERY_MR_RESP: out, struct ib_uverbs_share_mr
 */
enum uverbs_attrs_import_query_mr {
	IB_UVERBS_ATTR_IMPORT_QUERY_MR_HANDLE,
	IB_UVERBS_ATTR_IMPORT_QUERY_MR_RESP
};

/**
 * enum uverbs_attrs_import_modify_srq - attributes of IMPORT_MODIFY_SRQ
 * @IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_HANDLE: import of an SRQ with the right
 *	MODIFY
 * @IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_LIMIT: u32, the limit event comes once,
 *	when fewer requests than that are left; 0: never. EINVAL beyond what
 *	the SRQ takes.
 *
 * The event goes to the exporter's asynchronous channel. The size of an SRQ
 * that is shared cannot be changed: others have its ring mapped.
 */
enum uverbs_attrs_import_modify_srq {
	IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_HANDLE,
	IB_UVERBS_ATTR_IMPORT_MODIFY_SRQ_LIMIT
};

#endif /* IB_UVERBS_SHARE_H */
