/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The message that carries a shared context to another process. Nothing here
 * knows of devices: it is a description, bytes and file descriptors.
 */
#ifndef SHARE_BUNDLE_H
#define SHARE_BUNDLE_H

#include <stddef.h>
#include <stdint.h>
#include <infiniband/share.h>

#define SHARE_BUNDLE_MAX_OBJECTS (IBV_SHARE_MAX_FDS - 3)
/* of all user objects together */
#define SHARE_BUNDLE_MAX_DATA IBV_SHARE_MAX_USER_BYTES

/* What is not the kernel's has a number beyond those of the kernel. */
#define SHARE_BUNDLE_USER 64

/* "there is none", for references and file descriptors */
#define SHARE_BUNDLE_NONE 0xffffffffU

/* Places of the file descriptors that every bundle has. */
enum share_bundle_fd {
	SHARE_BUNDLE_FD_CONTEXT,
	SHARE_BUNDLE_FD_CONTROL,
	SHARE_BUNDLE_FD_ASYNC,
	SHARE_BUNDLE_FDS
};

/*
 * struct share_bundle_object - one object, as it travels
 * @kind: PD, CQ, QP, SRQ or MR of enum ib_uverbs_share_kind, or SHARE_BUNDLE_USER
 * @index: CQ, QP, SRQ: its entry in the control segment
 * @grant: which file descriptor is its grant; user object: its file
 *	descriptor, or NONE
 * @extra: CQ: that of the completion channel, also of several CQs; MR: that of
 *	the file behind it; or NONE
 * @pd: QP, SRQ, MR: which object is its PD; an earlier one, like the next two
 * @send_cq: QP
 * @recv_cq: QP, SRQ
 * @length: user object: bytes of data
 * @offset: MR: where it starts in its file; user object: where its data starts
 *	in those of the bundle
 * @name: zero-padded
 * @srq: QP: which object is its SRQ, an earlier one, + 1; 0: none
 * @reserved1: zero
 * @reserved2: zero
 */
struct share_bundle_object {
	uint32_t kind;
	uint32_t index;
	uint32_t grant;
	uint32_t extra;
	uint32_t pd;
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t length;
	uint64_t offset;
	char name[IBV_SHARE_NAME_MAX];
	uint32_t srq;
	uint32_t reserved1;
	uint64_t reserved2[2];
};

struct share_bundle {
	uint32_t num_objects;
	uint32_t num_fds;
	uint32_t data_bytes;
	struct share_bundle_object objects[SHARE_BUNDLE_MAX_OBJECTS];
	unsigned char data[SHARE_BUNDLE_MAX_DATA];
};

/* 1 to 31 printable characters without blanks? */
int share_bundle_name_ok(const char *name);

size_t share_bundle_bytes(const struct share_bundle *bundle);
/* @buf has room for share_bundle_bytes() */
void share_bundle_pack(const struct share_bundle *bundle, void *buf);
/*
 * Fills @bundle from a message that came with @num_fds file descriptors. 0, or
 * EBADMSG with a message; then @bundle is undefined.
 */
int share_bundle_parse(struct share_bundle *bundle, const void *buf,
		       size_t length, unsigned int num_fds);

int share_bundle_send(int socket, const void *buf, size_t length,
		      const int *fds, unsigned int num_fds);
/*
 * Receives one message into IBV_SHARE_MAX_BYTES at @buf and
 * IBV_SHARE_MAX_FDS at @fds. On error no file descriptor stays open.
 */
int share_bundle_recv(int socket, void *buf, size_t *length, int *fds,
		      unsigned int *num_fds);

void share_close_fds(const int *fds, unsigned int num_fds);

#endif /* SHARE_BUNDLE_H */
