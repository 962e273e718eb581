// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "share_program.h"

int program_start(struct program *p, char *const argv[])
{
	int out[2];

	CHECK(!pipe2(out, O_CLOEXEC));
	fflush(stdout);
	p->pid = fork();
	CHECK(p->pid >= 0);
	if (!p->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		dup2(out[1], 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(out[1]);
	p->out = out[0];
	return 0;
}

int program_ends(struct program *p, const char *name, const char *excused)
{
	char text[4096];
	int status, n, length = 0;

	while ((n = read(p->out, text + length, sizeof(text) - 1 - length)) > 0)
		length += n;
	text[length] = 0;
	close(p->out);
	CHECK(waitpid(p->pid, &status, 0) == p->pid);
	if (excused && !strcmp(text, excused))
		return 0;
	/* the data check of ibv_rc_pingpong does not change its exit status */
	if (!status && strstr(text, "invalid data"))
		status = -1;
	if (status)
		printf("# %s: status 0x%x: %s\n", name, status, text);
	return status;
}

int program_ends_well(struct program *p, const char *name)
{
	return program_ends(p, name, NULL);
}
