/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What the module tells an administrator: trace events, lines of the log, and
 * what tools print.
 */
#ifndef SHARE_OBSERVE_H
#define SHARE_OBSERVE_H

#include "share_test.h"

/* trace events of the module, in a buffer of their own */

int trace_open(void);
void trace_close(void);
bool trace_next(char *event, size_t size);

/* lines that the module writes into the kernel's log */

int log_open(bool debug);
void log_close(void);
bool log_next(char *text, size_t size);

/* tools */

bool tool_line(const char *command, const char *word, char *line, size_t size);
unsigned int tool_count(const char *command, const char *word);
bool tool_path(char *path, size_t size, const char *name);
unsigned long inode_of(int fd);

#endif /* SHARE_OBSERVE_H */
