// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The world of the fuzzer: files, descriptors and objects of all kinds.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "share_fuzz.h"

#define MEMORY_BYTES (8 * PAGE)

void fuzz_seed(struct fuzz *f, uint64_t seed)
{
	f->state = seed;
}

/* splitmix64 */
uint64_t fuzz_random(struct fuzz *f)
{
	uint64_t z = f->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

unsigned int fuzz_below(struct fuzz *f, unsigned int n)
{
	return fuzz_random(f) % n;
}

bool fuzz_one_in(struct fuzz *f, unsigned int n)
{
	return !fuzz_below(f, n);
}

/* when there is no room another one has to go */
struct fuzz_fd *fuzz_put_fd(struct fuzz *f, int fd, enum fuzz_fd_class class)
{
	struct fuzz_fd *slot = &f->fd[f->nfds];

	if (f->nfds < FUZZ_FDS) {
		f->nfds++;
	} else {
		do
			slot = &f->fd[fuzz_below(f, FUZZ_FDS)];
		while (slot->keep);
		close(slot->fd);
	}
	*slot = (struct fuzz_fd){ .fd = fd, .class = class };
	return slot;
}

/* @classes: bit mask; one of another class when there is none */
struct fuzz_fd *fuzz_any_fd(struct fuzz *f, unsigned int classes)
{
	struct fuzz_fd *fd = NULL;
	int tries;

	for (tries = 0; tries < 32; tries++) {
		fd = &f->fd[fuzz_below(f, f->nfds)];
		if (classes & (1U << fd->class))
			break;
	}
	return fd;
}

struct fuzz_handle *fuzz_put_handle(struct fuzz *f, unsigned int file, uint16_t type,
				    uint32_t handle)
{
	unsigned int at = f->nhandles < FUZZ_HANDLES ? f->nhandles++ : fuzz_below(f, FUZZ_HANDLES);
	struct fuzz_handle *slot = &f->handle[at];

	*slot = (struct fuzz_handle){ .file = file, .type = type, .handle = handle };
	return slot;
}

static bool is_match(const struct fuzz_handle *handle, unsigned int file, uint16_t type,
		     uint32_t kind)
{
	return handle->file == file && handle->type == type &&
	       (type != IB_UVERBS_OBJECT_IMPORT || handle->kind == kind);
}

/* another one when there is none */
struct fuzz_handle *fuzz_any_handle(struct fuzz *f, unsigned int file, uint16_t type,
				    uint32_t kind)
{
	unsigned int start = fuzz_below(f, f->nhandles), i;
	struct fuzz_handle *handle;

	for (i = 0; i < f->nhandles; i++) {
		handle = &f->handle[(start + i) % f->nhandles];
		if (is_match(handle, file, type, kind))
			return handle;
	}
	return &f->handle[start];
}

static void put_endpoint(struct fuzz *f, unsigned int file)
{
	struct endpoint *ep = &f->ep[file];
	struct fuzz_handle *handle;

	fuzz_put_handle(f, file, UVERBS_OBJECT_PD, ep->pd);
	handle = fuzz_put_handle(f, file, UVERBS_OBJECT_CQ, ep->cq.handle);
	handle->seg[0] = ring_segment(&ep->cq.ring, IB_UVERBS_SHARE_RING_CQ);
	handle->nsegs = 1;
	handle = fuzz_put_handle(f, file, UVERBS_OBJECT_QP, ep->qp.handle);
	handle->seg[0] = ring_segment(&ep->qp.send, IB_UVERBS_SHARE_RING_SEND);
	handle->seg[1] = ring_segment(&ep->qp.recv, IB_UVERBS_SHARE_RING_RECV);
	handle->nsegs = 2;
}

static int open_endpoint(struct fuzz *f, unsigned int file)
{
	int err = endpoint_open(&f->ep[file], file == 1 ? "rxe1" : "rxe0", IB_UVERBS_QPT_RC);

	if (err)
		return err;
	put_endpoint(f, file);
	/* with itself, so that nobody else is needed */
	return fuzz_one_in(f, 2) ? endpoint_connect(&f->ep[file], &f->ep[file]) : 0;
}

static void put_base_fd(struct fuzz *f, int fd, enum fuzz_fd_class class)
{
	fuzz_put_fd(f, fd, class)->keep = true;
}

static int read_only(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_memory(struct fuzz *f)
{
	int plain = memfd(MEMORY_BYTES), sealed = memfd(MEMORY_BYTES);
	int huge = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);

	if (plain < 0 || sealed < 0 || fcntl(sealed, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		return errno;
	put_base_fd(f, plain, FUZZ_FD_MEMORY);
	put_base_fd(f, sealed, FUZZ_FD_MEMORY);
	put_base_fd(f, read_only(plain), FUZZ_FD_MEMORY);
	/* there may be no huge pages: then it is a closed one */
	if (huge >= 0 && ftruncate(huge, HUGE_PAGE))
		return errno;
	put_base_fd(f, huge, FUZZ_FD_MEMORY);
	return 0;
}

/* whatever is open and is not ours */
static void open_others(struct fuzz *f)
{
	int pipefd[2];

	put_base_fd(f, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), FUZZ_FD_EVENT);
	put_base_fd(f, open("/dev/null", O_RDWR | O_CLOEXEC), FUZZ_FD_OTHER);
	put_base_fd(f, open("/dev/shm", O_RDONLY | O_CLOEXEC), FUZZ_FD_OTHER);
	put_base_fd(f, epoll_create1(EPOLL_CLOEXEC), FUZZ_FD_OTHER);
	if (!pipe2(pipefd, O_CLOEXEC | O_NONBLOCK)) {
		put_base_fd(f, pipefd[0], FUZZ_FD_OTHER);
		put_base_fd(f, pipefd[1], FUZZ_FD_OTHER);
	}
	put_base_fd(f, f->ep[0].channel, FUZZ_FD_OTHER);
	put_base_fd(f, FUZZ_CLOSED_FD, FUZZ_FD_OTHER);
	put_base_fd(f, INT_MAX, FUZZ_FD_OTHER);
	put_base_fd(f, -1, FUZZ_FD_OTHER);
}

/* all but what each thread has for itself */
int fuzz_open(struct fuzz *f)
{
	int err, i;

	for (i = 0; i < FUZZ_FILES - 1; i++) {
		err = open_endpoint(f, i);
		if (err)
			return err;
		put_base_fd(f, f->ep[i].fd, FUZZ_FD_UVERBS);
	}
	open_others(f);
	return open_memory(f);
}

/* what each thread has for itself */
int fuzz_open_own(struct fuzz *f)
{
	size_t maps = FUZZ_MAPS * FUZZ_MAP_BYTES;

	f->map = mmap(NULL, maps, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->scratch = mmap(NULL, FUZZ_SCRATCH_BYTES + PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->map == MAP_FAILED || f->scratch == MAP_FAILED ||
	    mprotect(f->scratch + FUZZ_SCRATCH_BYTES, PAGE, PROT_NONE))
		return errno;
	return open_endpoint(f, FUZZ_FILES - 1);
}

/* the own file ends, with all that it exported and imported, and there is a new one */
void fuzz_reopen(struct fuzz *f)
{
	endpoint_close(&f->ep[FUZZ_FILES - 1]);
	if (open_endpoint(f, FUZZ_FILES - 1)) {
		/* another thread may have closed what had this number before */
		f->failures += f->alone;
		f->ep[FUZZ_FILES - 1].fd = -1;
	}
}

/* nothing is destroyed: that is for the kernel to do */
void fuzz_close(struct fuzz *f)
{
	unsigned int i;

	munmap(f->map, FUZZ_MAPS * FUZZ_MAP_BYTES);
	munmap(f->scratch, FUZZ_SCRATCH_BYTES + PAGE);
	for (i = 0; i < FUZZ_FILES; i++)
		endpoint_close(&f->ep[i]);
	for (i = 0; i < f->nfds; i++)
		close(f->fd[i].fd);
}

static void unmap(struct ring *ring)
{
	if (ring->buf && ring->buf != MAP_FAILED)
		munmap(ring->buf, ring->mi.size);
}

static void create_qp(struct fuzz *f, unsigned int file)
{
	static const uint32_t types[] = { IB_UVERBS_QPT_RC, IB_UVERBS_QPT_UC, IB_UVERBS_QPT_UD };
	struct qp qp = {};

	if (!qp_create(&f->ep[file], types[fuzz_below(f, 3)], NULL, &qp))
		fuzz_put_handle(f, file, UVERBS_OBJECT_QP, qp.handle);
	unmap(&qp.send);
	unmap(&qp.recv);
}

static void verbs_create(struct fuzz *f, unsigned int file)
{
	struct endpoint *ep = &f->ep[file];
	struct srq srq = {};
	struct cq cq = {};
	uint32_t pd;

	switch (fuzz_below(f, 4)) {
	case 0:
		if (!pd_alloc(ep->fd, &pd))
			fuzz_put_handle(f, file, UVERBS_OBJECT_PD, pd);
		break;
	case 1:
		if (!cq_create(ep->fd, 16, -1, &cq))
			fuzz_put_handle(f, file, UVERBS_OBJECT_CQ, cq.handle);
		unmap(&cq.ring);
		break;
	case 2:
		if (!srq_create(ep->fd, ep->pd, &srq))
			fuzz_put_handle(f, file, UVERBS_OBJECT_SRQ, srq.handle);
		unmap(&srq.ring);
		break;
	case 3:
		create_qp(f, file);
		break;
	}
}

/* what the owner of objects does with them meanwhile */
void fuzz_verbs(struct fuzz *f)
{
	struct fuzz_handle *handle = &f->handle[fuzz_below(f, f->nhandles)];
	struct endpoint *ep = &f->ep[fuzz_below(f, FUZZ_FILES)];
	struct ib_uverbs_qp_attr attr;

	switch (fuzz_below(f, 8)) {
	case 0:
	case 1:
	case 2:
		verbs_create(f, fuzz_below(f, FUZZ_FILES));
		break;
	case 3:
		attr = qp_attr_to(&f->ep[1], fuzz_below(f, IBV_QPS_ERR + 1));
		qp_modify(ep->fd, ep->qp.handle, &attr);
		break;
	case 4:
		endpoint_connect(ep, &f->ep[fuzz_below(f, 2)]);
		break;
	default:
		/* ours have methods for that */
		if (handle->type < IB_UVERBS_OBJECT_SHARE)
			destroy(f->ep[handle->file].fd, handle->type, handle->handle);
	}
}
