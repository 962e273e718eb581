/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#ifndef SHARE_ERROR_H
#define SHARE_ERROR_H

/* Each stores a sentence for ibv_share_last_error() and returns @err, as errno. */
int share_error(int err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The same for the answer of an ioctl: @what was tried, the sentence comes
 * from @err. EPROTONOSUPPORT becomes ENOSYS if the module is not loaded.
 */
int share_error_ioctl(int err, const char *what);

/* The same for an answer of the control segment, see control.h and directory.h. */
int share_error_control(int err, const char *what);

/* The sentence for ETIMEDOUT of a lock; anything else is returned as it is. */
int share_error_stopped(int ret);

#endif /* SHARE_ERROR_H */
