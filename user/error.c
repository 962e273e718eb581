// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * One sentence per failure, kept per thread.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/share.h>
#include "error.h"

static __thread char message[320];

static const struct {
	int err;
	const char *sentence;
} sentences[] = {
	{ ENOSYS, "the kernel module is not loaded: run modprobe ib_uverbs_share,"
		  " then make the RDMA device anew (rdma link delete and add, or"
		  " unbind and bind its driver)" },
	{ EPROTONOSUPPORT, "module ib_uverbs_share was loaded after this device"
			   " had been registered, or is older than this library:"
			   " make the device anew (rdma link delete and add, or"
			   " unbind and bind its driver); or its provider uses"
			   " the same object ids, see dmesg: it cannot share" },
	{ EOPNOTSUPP, "not possible with this kind of device, object or kernel;"
		      " see ibv-share devices" },
	{ EACCES, "the grant or the file descriptor does not allow it: ask for"
		  " more rights where the bundle is sent" },
	{ EPERM, "a seal of the memfd forbids the mapping" },
	{ ENOLINK, "the share is dead, its exporter has revoked it or is gone:"
		   " receive a new bundle" },
	{ EXDEV, "the grant belongs to another device: open the device that the"
		 " sender uses" },
	{ EBADFD, "the file descriptor is of the wrong kind: neither a grant nor"
		  " a shmem, memfd or hugetlbfs file" },
	{ EBADF, "not an open file descriptor" },
	{ EBUSY, "the object is exported or in use: destroy what uses it before" },
	{ ERANGE, "beyond the end of the file or of what was granted" },
	{ EOVERFLOW, "offset plus length wraps around" },
	{ ENOSPC, "all slots of the shared context are taken" },
	{ ENOMEM, "out of memory, or over RLIMIT_MEMLOCK: raise it with ulimit -l"
		  " (limits.conf memlock, systemd LimitMEMLOCK)" },
	{ EAGAIN, "over a limit of this process's rdma cgroup: raise rdma.max" },
	{ EFAULT, "part of the address range is not mapped" },
	{ ENOENT, "no such object" },
	{ EIO, "the device is being removed" },
	{ EINVAL, "an argument is not valid for this device or object" },
	{ ETIMEDOUT, "a process that is stopped holds a lock: let it go on, or"
		     " kill it, and call again" },
	{ EMFILE, "too many open files: raise it with ulimit -n" },
};

/* The same numbers, when they come from the control segment. */
static const struct {
	int err;
	const char *sentence;
} control_sentences[] = {
	{ EBADMSG, "the control segment is damaged, or of another version of the"
		   " library: make a new context" },
	{ EPROTONOSUPPORT, "the control segment is of another version of the"
			   " library: use one version in all processes" },
	{ EBADFD, "the control segment is not a sealed memfd" },
	{ ENOSPC, "the control segment is full: see control_bytes of"
		  " ibv_share_open()" },
	{ EBUSY, "the slot has completions of a process that died, and no room"
		 " for them: the process that made the context has to poll its"
		 " CQs" },
};

const char *ibv_share_last_error(void)
{
	return message;
}

int share_error(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	errno = err;
	return err;
}

static const char *sentence(int err)
{
	size_t i;

	for (i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (sentences[i].err == err)
			return sentences[i].sentence;
	return NULL;
}

int share_error_ioctl(int err, const char *what)
{
	const char *text;

	/*
	 * uverbs answers the same to a method that it never had and to one
	 * that came too late for this device.
	 */
	if (err == EPROTONOSUPPORT &&
	    access("/sys/module/ib_uverbs_share", F_OK))
		err = ENOSYS;
	text = sentence(err);
	if (!text)
		return share_error(err, "%s: %s", what, strerror(err));
	return share_error(err, "%s: %s", what, text);
}

int share_error_control(int err, const char *what)
{
	size_t i;

	for (i = 0; i < sizeof(control_sentences) / sizeof(control_sentences[0]); i++)
		if (control_sentences[i].err == err)
			return share_error(err, "%s: %s", what, control_sentences[i].sentence);
	return share_error_ioctl(err, what);
}

int share_error_stopped(int ret)
{
	if (ret == EBADMSG)
		return share_error(ret, "using a queue: what is shared holds what"
					" no process of this library writes, so"
					" this process uses it no more; revoke"
					" it, and make another one");
	return ret == ETIMEDOUT ? share_error_ioctl(ret, "using a queue") : ret;
}
