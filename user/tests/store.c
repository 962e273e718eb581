// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Shared memory is read-only for the child. A store faults; then that one
 * instruction is let through, with the trap flag set, and counted.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "fake_rxe.h"
#include "step.h"

#if defined(__x86_64__)

#define TRAP_FLAG 0x100
#define PAGE 4096ul

static const struct region *guarded;
/* shared with the parent, which wants to know how many there were */
static long *count;
static long limit;

static void protect(int prot)
{
	const struct region *r;

	for (r = guarded; r->bytes; r++)
		if (mprotect(r->base, (r->bytes + PAGE - 1) & ~(PAGE - 1), prot))
			_exit(2);
}

static int is_guarded(const char *at)
{
	const struct region *r;

	for (r = guarded; r->bytes; r++)
		if (at >= (char *)r->base && at < (char *)r->base + r->bytes)
			return 1;
	return 0;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	if (!is_guarded(info->si_addr))
		_exit(3);
	protect(PROT_READ | PROT_WRITE);
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	if (++*count >= limit)
		kill(getpid(), SIGKILL);
	protect(PROT_READ);
	uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void child(void (*act)(void))
{
	struct sigaction fault = { .sa_sigaction = on_fault,
				   .sa_flags = SA_SIGINFO };
	struct sigaction trap = { .sa_sigaction = on_trap,
				  .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGTRAP, &trap, NULL);
	if (limit)
		protect(PROT_READ);
	else
		kill(getpid(), SIGKILL);
	act();
	_exit(0);
}

long store_and_kill(void (*act)(void), const struct region *regions,
		    long stores)
{
	int status;
	pid_t pid;

	if (!count)
		count = fake_memory(PAGE);
	*count = 0;
	guarded = regions;
	limit = stores;
	pid = fork();
	if (!pid)
		child(act);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return -1;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		abort();
	return *count;
}

#else

long store_and_kill(void (*act)(void), const struct region *regions,
		    long stores)
{
	(void)act;
	(void)regions;
	(void)stores;
	return -2;
}

#endif
