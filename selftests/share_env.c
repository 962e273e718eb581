// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Children, descriptors, and the question what is left.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "share_test.h"

/* a child that runs @run and dies with its parent */
int child_start(struct child *child, void (*run)(int sock, void *arg), void *arg)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return errno;
	child->pid = fork();
	if (child->pid < 0)
		return errno;
	if (!child->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		run(pair[1], arg);
		_exit(0);
	}
	close(pair[1]);
	child->sock = pair[0];
	return 0;
}

/* Return: its exit status, -1 if a signal ended it */
int child_end(struct child *child)
{
	int status;

	close(child->sock);
	if (waitpid(child->pid, &status, 0) != child->pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	child_end(child);
}

/* "go on"; Return: 0 or an errno */
int say(int sock)
{
	return send(sock, "x", 1, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

/* wait for say(); Return: 0, or EPIPE when there is nobody any more */
int hear(int sock)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	char c;

	if (poll(&pfd, 1, WAIT_MS) != 1)
		return ETIMEDOUT;
	return read(sock, &c, 1) == 1 ? 0 : EPIPE;
}

union fd_msg {
	struct cmsghdr hdr;
	char buf[CMSG_SPACE(sizeof(int))];
};

int send_fd(int sock, int fd)
{
	union fd_msg cmsg = { .hdr = { .cmsg_len = CMSG_LEN(sizeof(fd)),
				       .cmsg_level = SOL_SOCKET,
				       .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = "f", .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &cmsg,
			      .msg_controllen = sizeof(cmsg) };

	memcpy(CMSG_DATA(&cmsg.hdr), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

/* Return: a descriptor or -1 */
int recv_fd(int sock)
{
	union fd_msg cmsg;
	char c;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &cmsg,
			      .msg_controllen = sizeof(cmsg) };
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 || msg.msg_controllen < sizeof(cmsg.hdr))
		return -1;
	memcpy(&fd, CMSG_DATA(&cmsg.hdr), sizeof(fd));
	return fd;
}

int memfd(uint64_t length)
{
	int fd = memfd_create("share-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && ftruncate(fd, length)) {
		close(fd);
		return -1;
	}
	return fd;
}

char *find_mapping(const char *name, uint64_t *length)
{
	unsigned long start, end;
	char line[256];
	char *at = NULL;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && !at && fgets(line, sizeof(line), f))
		if (strstr(line, name) && sscanf(line, "%lx-%lx", &start, &end) == 2) {
			at = (char *)start;
			*length = end - start;
		}
	if (f)
		fclose(f);
	return at;
}

/* changes when a descriptor is left behind */
int lowest_fd(void)
{
	int fd = fcntl(0, F_DUPFD, 0);

	close(fd);
	return fd;
}

bool fdinfo_has(int fd, const char *line)
{
	char path[64], have[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && !found && fgets(have, sizeof(have), f)) {
		have[strcspn(have, "\n")] = 0;
		found = !strcmp(have, line);
	}
	if (f)
		fclose(f);
	return found;
}

bool is_hung_up(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && pfd.revents & POLLHUP;
}

/* how often an eventfd was signaled since the last time */
unsigned int event_count(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint64_t count = 0;

	if (poll(&pfd, 1, 0) == 1 && read(fd, &count, sizeof(count)) < 0)
		return 0;
	return count;
}

/*
 * What the device has, for everybody, as one line:
 * "0: rxe0: pd 2 cq 1 qp 2 cm_id 0 mr 0 ctx 1 srq 0"
 */
bool read_resources(const char *dev, char *line, int size)
{
	char cmd[64];
	bool ok;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "rdma resource show %s", dev);
	f = popen(cmd, "re");
	if (!f)
		return false;
	ok = fgets(line, size, f);
	pclose(f);
	return ok;
}

/* how many objects of a type that is, -1 if unknown */
long count_objects(const char *dev, const char *type)
{
	char line[256], word[32], *at;

	if (!read_resources(dev, line, sizeof(line)))
		return -1;
	snprintf(word, sizeof(word), " %s ", type);
	at = strstr(line, word);
	return at ? strtol(at + strlen(word), NULL, 10) : -1;
}

/* of this process; the memory that regions pin */
long pinned_kb(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long kb = -1;

	while (f && kb < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

/* who holds our module, -1 if it is not loaded */
long module_refs(void)
{
	FILE *f = fopen("/sys/module/ib_uverbs_share/refcnt", "re");
	long refs = -1;

	if (f && fscanf(f, "%ld", &refs) != 1)
		refs = -1;
	if (f)
		fclose(f);
	return refs;
}

bool is_kernel_at_least(unsigned int major, unsigned int minor)
{
	unsigned int have_major = 0, have_minor = 0;
	struct utsname name;

	uname(&name);
	if (sscanf(name.release, "%u.%u", &have_major, &have_minor) != 2)
		return false;
	return have_major > major || (have_major == major && have_minor >= minor);
}
