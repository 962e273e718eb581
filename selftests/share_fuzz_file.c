// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What can be done with a grant as a file: map its rings and look at them, poll
 * it, pass it on, close it, and all that a file like this has no answer to.
 * Rings are read only: what is written there rxe believes.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "share_fuzz.h"

static __thread sigjmp_buf fault;
static __thread bool is_touching;

static void on_fault(int sig)
{
	if (!is_touching) {
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	siglongjmp(fault, sig);
}

static void on_interrupt(int sig)
{
}

/* a page of a ring goes away when its share is revoked: look on */
void fuzz_files_init(void)
{
	struct sigaction act = { .sa_handler = on_fault };
	struct sigaction interrupt = { .sa_handler = on_interrupt };

	sigaction(SIGUSR1, &interrupt, NULL);
	sigaction(SIGBUS, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
	/* what O_ASYNC and pipes may bring */
	signal(SIGIO, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static void touch(const volatile char *at)
{
	is_touching = true;
	if (!sigsetjmp(fault, 1))
		(void)*at;
	is_touching = false;
}

static char *any_map(struct fuzz *f)
{
	return f->map + fuzz_below(f, FUZZ_MAPS) * FUZZ_MAP_BYTES;
}

static off_t any_offset(struct fuzz *f)
{
	off_t ring = fuzz_below(f, IB_UVERBS_SHARE_RING_COUNT + 1);

	if (fuzz_one_in(f, 16))
		return fuzz_random(f) & -PAGE;
	return (ring << IB_UVERBS_SHARE_RING_SHIFT) +
	       (fuzz_one_in(f, 4) ? PAGE * fuzz_below(f, 8) : 0);
}

/* not there at once: what a file refuses to map leaves a hole */
static void map(struct fuzz *f, int fd)
{
	static const size_t pages[] = { 1, 1, 2, 3, 4, 16 };
	int flags = fuzz_one_in(f, 16) ? MAP_PRIVATE : MAP_SHARED;
	size_t length = PAGE * pages[fuzz_below(f, 6)];
	int prot = fuzz_below(f, 8);
	char *to = any_map(f);
	void *at;

	if (fuzz_one_in(f, 8))
		flags |= MAP_POPULATE;
	at = mmap(NULL, length, prot, flags, fd, any_offset(f));
	if (at != MAP_FAILED &&
	    mremap(at, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
		munmap(at, length);
}

static void reserve(char *at)
{
	mmap(at, FUZZ_MAP_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/*
 * A hole is for nobody else, and with other threads there might be something
 * of theirs in it before it is reserved again.
 */
static void move_map(struct fuzz *f, char *at, size_t length, char *to)
{
	size_t new_length = PAGE * (1 + fuzz_below(f, 4));

	if (!f->alone)
		return;
	mremap(at, length, new_length, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	reserve(at);
}

/* never anything but address space of our own */
static void change_map(struct fuzz *f)
{
	char *at = any_map(f), *to = any_map(f);
	size_t length = PAGE * (1 + fuzz_below(f, 4));

	switch (fuzz_below(f, 6)) {
	case 0:
		mprotect(at, length, fuzz_below(f, 8));
		break;
	case 1:
		madvise(at, length, fuzz_below(f, 24));
		break;
	case 2:
		if (at != to)
			move_map(f, at, length, to);
		break;
	case 3:
		msync(at, length, MS_SYNC);
		break;
	default:
		reserve(at);
	}
}

static void read_proc(const char *dir, int fd)
{
	char path[64], text[512];
	ssize_t got;
	int proc;

	snprintf(path, sizeof(path), "/proc/self/%s/%d", dir, fd);
	proc = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (proc < 0)
		return;
	do
		got = read(proc, text, sizeof(text));
	while (got > 0 && !strcmp(dir, "fdinfo"));
	close(proc);
}

static void watch(struct fuzz *f, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLHUP };
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	poll(&pfd, 1, 0);
	if (!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		epoll_wait(epoll, &event, 1, 0);
	close(epoll);
}

/* through a socket, read or left there */
static void pass_on(struct fuzz *f, struct fuzz_fd grant)
{
	int pair[2], fd;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return;
	if (!send_fd(pair[0], grant.fd) && fuzz_one_in(f, 2)) {
		fd = recv_fd(pair[1]);
		if (fd >= 0)
			fuzz_put_fd(f, fd, grant.class)->rights = grant.rights;
	}
	close(pair[0]);
	close(pair[1]);
}

/* a grant knows none of these */
static void misuse(struct fuzz *f, int fd)
{
	char bytes[16] = {};
	struct stat st;

	switch (fuzz_below(f, 8)) {
	case 0:
		if (!fstat(fd, &st))
			fchmod(fd, 0777);
		break;
	case 1:
		read(fd, bytes, sizeof(bytes)) < 0 ? 0 : write(fd, bytes, sizeof(bytes));
		break;
	case 2:
		(void)!ftruncate(fd, PAGE * fuzz_below(f, 3));
		break;
	case 3:
		(void)!fallocate(fd, fuzz_below(f, 8), 0, PAGE);
		break;
	case 4:
		fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
		fcntl(fd, F_SETLEASE, F_RDLCK);
		break;
	case 5:
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
		lseek(fd, 0, SEEK_END);
		break;
	case 6:
		(void)!splice(fd, NULL, f->fd[fuzz_below(f, f->nfds)].fd, NULL, PAGE,
			      SPLICE_F_NONBLOCK);
		break;
	default:
		fsync(fd);
	}
}

/* descriptors of the kinds that a mistake with does not hurt the fuzzer */
void fuzz_file(struct fuzz *f)
{
	struct fuzz_fd *grant = fuzz_any_fd(f, 1U << FUZZ_FD_GRANT);

	if (grant->class != FUZZ_FD_GRANT)
		return;
	switch (fuzz_below(f, 12)) {
	case 0:
	case 1:
	case 2:
		map(f, grant->fd);
		break;
	case 3:
	case 4:
		touch(any_map(f) + fuzz_below(f, 4 * PAGE));
		break;
	case 5:
		change_map(f);
		break;
	case 6:
		read_proc("fdinfo", grant->fd);
		break;
	case 7:
		read_proc("fd", grant->fd);
		break;
	case 8:
		watch(f, grant->fd);
		break;
	case 9:
		pass_on(f, *grant);
		break;
	case 10:
		misuse(f, grant->fd);
		break;
	default:
		/* its number may soon be another's */
		close(grant->fd);
		*grant = (struct fuzz_fd){ .fd = FUZZ_CLOSED_FD, .class = FUZZ_FD_OTHER };
	}
}
