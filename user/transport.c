// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The bundle on a unix socket: one record, all of its file descriptors.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bundle.h"
#include "error.h"

#ifndef SCM_PIDFD
#define SCM_PIDFD 4
#endif

/*
 * Room for what the kernel adds if the application switched it on
 * (credentials, security label, pidfd, time stamps).
 */
#define OTHER_CONTROL 512

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(IBV_SHARE_MAX_FDS * sizeof(int)) + OTHER_CONTROL];
};

void share_close_fds(const int *fds, unsigned int num_fds)
{
	unsigned int i;
	int saved = errno;

	for (i = 0; i < num_fds; i++)
		close(fds[i]);
	errno = saved;
}

/* A stream would tear the file descriptors from their bytes. */
static int check_socket(int socket)
{
	int type = 0;
	socklen_t size = sizeof(type);

	if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size))
		return share_error(errno, "not a socket: %s", strerror(errno));
	if (type != SOCK_SEQPACKET)
		return share_error(EPROTOTYPE, "bundles need a unix socket of"
					       " type SOCK_SEQPACKET");
	return 0;
}

int share_bundle_send(int socket, const void *buf, size_t length,
		      const int *fds, unsigned int num_fds)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = length };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(num_fds * sizeof(int)),
	};
	struct cmsghdr *cmsg;
	ssize_t done;
	int ret = check_socket(socket);

	if (ret)
		return ret;
	memset(&control, 0, sizeof(control));
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg)
		return share_error(EINVAL, "a bundle without file descriptors");
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(num_fds * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, num_fds * sizeof(int));
	do
		done = sendmsg(socket, &msg, MSG_NOSIGNAL);
	while (done < 0 && errno == EINTR);
	if (done < 0)
		return share_error(errno, "sending the bundle: %s",
				   strerror(errno));
	return 0;
}

/* Takes the file descriptors of one control message; counts all, keeps some. */
static void take_fds(struct cmsghdr *cmsg, int *fds, unsigned int *num_fds)
{
	size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	size_t i;

	for (i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
		if (*num_fds < IBV_SHARE_MAX_FDS)
			fds[*num_fds] = fd;
		else
			close(fd);
		++*num_fds;
	}
}

static void take_control(struct msghdr *msg, int *fds, unsigned int *num_fds)
{
	struct cmsghdr *cmsg;
	int pidfd;

	*num_fds = 0;
	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET)
			continue;
		if (cmsg->cmsg_type == SCM_RIGHTS)
			take_fds(cmsg, fds, num_fds);
		if (cmsg->cmsg_type == SCM_PIDFD &&
		    cmsg->cmsg_len == CMSG_LEN(sizeof(pidfd))) {
			memcpy(&pidfd, CMSG_DATA(cmsg), sizeof(pidfd));
			close(pidfd);
		}
	}
}

int share_bundle_recv(int socket, void *buf, size_t *length, int *fds,
		      unsigned int *num_fds)
{
	struct iovec iov = { .iov_base = buf, .iov_len = IBV_SHARE_MAX_BYTES };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t done;
	int ret = check_socket(socket);

	if (ret)
		return ret;
	do
		done = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (done < 0 && errno == EINTR);
	if (done < 0)
		return share_error(errno, "receiving the bundle: %s",
				   strerror(errno));
	take_control(&msg, fds, num_fds);
	if (*num_fds > IBV_SHARE_MAX_FDS || (msg.msg_flags & MSG_TRUNC)) {
		share_close_fds(fds, *num_fds < IBV_SHARE_MAX_FDS ? *num_fds : IBV_SHARE_MAX_FDS);
		return share_error(EBADMSG, "the bundle is too long");
	}
	if (msg.msg_flags & MSG_CTRUNC) {
		share_close_fds(fds, *num_fds);

		return share_error(EBADMSG, "file descriptors of the bundle got"
					    " lost: raise the limit on open"
					    " files (ulimit -n)");
	}
	if (!done) {
		share_close_fds(fds, *num_fds);
		return share_error(ECONNRESET, "the sender closed the socket");
	}
	*length = (size_t)done;
	return 0;
}

int ibv_share_query_peer(int socket, struct ibv_share_peer_attr *attr)
{
	struct ucred cred = { 0 };
	socklen_t size = sizeof(cred);
	int domain = 0;

	if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size))
		return share_error(errno, "not a socket: %s", strerror(errno));
	if (domain != AF_UNIX)
		return share_error(EPROTOTYPE, "only a unix socket tells who its"
					       " peer is");
	size = sizeof(cred);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &size))
		return share_error(errno, "asking for the peer: %s",
				   strerror(errno));
	/* what a socket says that was never connected */
	if (cred.uid == (uid_t)-1)
		return share_error(ENOTCONN, "the socket is not connected");
	attr->pid = (uint32_t)cred.pid;
	attr->uid = cred.uid;
	attr->gid = cred.gid;
	return 0;
}
