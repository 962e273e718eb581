// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "step.h"

/* SIGSTOP marks where the act begins and ends; it cannot come from elsewhere. */
static void child(void (*act)(void))
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	act();
	raise(SIGSTOP);
	_exit(0);
}

static void wait_for(pid_t pid, int *status)
{
	if (waitpid(pid, status, 0) != pid)
		abort();
}

long step_and_kill(void (*act)(void), long steps)
{
	pid_t pid = fork();
	long i, end = -1;
	int status;

	if (!pid)
		child(act);
	wait_for(pid, &status);
	if (pid < 0 || !WIFSTOPPED(status))
		abort();
	for (i = 0; i < steps; i++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
			abort();
		wait_for(pid, &status);
		if (!WIFSTOPPED(status))
			abort();
		if (WSTOPSIG(status) == SIGSTOP) {
			end = i;
			break;
		}
	}
	kill(pid, SIGKILL);
	wait_for(pid, &status);
	return end;
}
