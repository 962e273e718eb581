// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What can be wrong with an attribute, by its kind, and what the kernel answers.
 */
#include <fcntl.h>
#include <limits.h>

#include "share_sweep.h"

#define DISK_FILE "/tmp/share-uapi"

/* what there is to be wrong */
enum wrong {
	MISSING,
	TWICE,
	RESERVED,
	SHORT,
	LONG,
	UNKNOWN_FLAG,
	UNKNOWN_HIGH_FLAG,
	NO_SUCH_HANDLE,
	NEGATIVE_HANDLE,
	OTHER_HANDLE,
	FD_MINUS_1,
	FD_CLOSED,
	FD_TOO_BIG,
	FD_PIPE,
	FD_NULL,
	FD_DIR,
	FD_DISK,
	FD_OTHER_UVERBS,
	FD_GRANT,
	FD_MEMFD,
	PTR_NULL,
	PTR_UNMAPPED,
	PTR_READ_ONLY,
	WRONGS,
};

#define ANY_ATTR [TWICE] = EINVAL, [RESERVED] = EINVAL
#define ANY_HANDLE                                            \
	ANY_ATTR, [LONG] = EINVAL, [NO_SUCH_HANDLE] = ENOENT, \
		  [NEGATIVE_HANDLE] = EINVAL
#define ANY_FD                                                               \
	ANY_ATTR, [LONG] = EINVAL, [FD_MINUS_1] = EBADF,                     \
		  [FD_CLOSED] = EBADF, [FD_TOO_BIG] = EINVAL,                \
		  [FD_PIPE] = EBADFD, [FD_NULL] = EBADFD, [FD_DIR] = EBADFD, \
		  [FD_DISK] = EBADFD, [FD_OTHER_UVERBS] = EBADFD
#define ANY_OUT [PTR_NULL] = EFAULT, [PTR_UNMAPPED] = EFAULT, [PTR_READ_ONLY] = EFAULT

/* 0: does not apply */
static const int expected[KINDS][WRONGS] = {
	[NEW] = { ANY_ATTR, [LONG] = EINVAL },
	[HANDLE] = { ANY_HANDLE, [OTHER_HANDLE] = EINVAL },
	[ANY_OBJECT] = { ANY_HANDLE, [OTHER_HANDLE] = EOPNOTSUPP },
	[GRANT] = { ANY_FD, [FD_MEMFD] = EBADFD },
	[CMD_FD] = { ANY_FD, [FD_GRANT] = EBADFD, [FD_MEMFD] = EBADFD },
	[MEMORY] = { ANY_FD, [FD_GRANT] = EBADFD },
	[MEMORY_OR_GRANT] = { ANY_FD, [FD_GRANT] = EINVAL },
	[EVENT] = { ANY_FD, [FD_GRANT] = EBADFD, [FD_MEMFD] = EBADFD },
	[VALUE] = { ANY_ATTR, [SHORT] = EINVAL, [LONG] = EINVAL },
	[FLAGS] = { ANY_ATTR, [SHORT] = EINVAL, [LONG] = EINVAL,
		    [UNKNOWN_FLAG] = EINVAL, [UNKNOWN_HIGH_FLAG] = EINVAL },
	[STRUCT] = { ANY_ATTR, [SHORT] = EINVAL, [LONG] = EINVAL,
		     [PTR_NULL] = EFAULT, [PTR_UNMAPPED] = EFAULT },
	[SEGMENTS] = { ANY_ATTR, [SHORT] = EINVAL, [LONG] = EINVAL,
		       [PTR_NULL] = EFAULT, [PTR_UNMAPPED] = EFAULT },
	[OUT] = { ANY_ATTR, ANY_OUT, [SHORT] = EINVAL, [LONG] = EINVAL },
	[OUT_STRUCT] = { ANY_ATTR, ANY_OUT, [SHORT] = EINVAL },
};

int sweep_init(struct sweep *sweep)
{
	int pipefd[2];

	if (pipe2(pipefd, O_CLOEXEC))
		return errno;
	sweep->pipe = pipefd[0];
	sweep->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sweep->dir = open("/dev/shm", O_RDONLY | O_CLOEXEC);
	sweep->disk = open(DISK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	sweep->unmapped = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sweep->read_only = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return sweep->null < 0 || sweep->dir < 0 || sweep->disk < 0 ? errno : 0;
}

void sweep_exit(void)
{
	unlink(DISK_FILE);
}

static int wrong_fd(const struct sweep *sweep, enum wrong wrong)
{
	switch (wrong) {
	case FD_CLOSED:
		return 1000;
	case FD_PIPE:
		return sweep->pipe;
	case FD_NULL:
		return sweep->null;
	case FD_DIR:
		return sweep->dir;
	case FD_DISK:
		return sweep->disk;
	case FD_OTHER_UVERBS:
		return sweep->other_uverbs;
	case FD_GRANT:
		return sweep->grant;
	case FD_MEMFD:
		return sweep->memfd;
	default:
		return -1;
	}
}

static void make_wrong(const struct sweep *sweep, struct call *call,
		       const struct attr_row *row, enum wrong wrong)
{
	struct ib_uverbs_attr *attr = find_attr(call, row->id);
	unsigned int last = call->hdr.num_attrs - 1;

	switch (wrong) {
	case MISSING:
		*attr = call->attr[last];
		call->hdr.num_attrs--;
		break;
	case TWICE:
		call->attr[call->hdr.num_attrs++] = *attr;
		break;
	case RESERVED:
		attr->attr_data.reserved = 1;
		break;
	case SHORT:
		/* flags are 4 or 8 bytes long */
		attr->len = row->kind == FLAGS ? 3 : attr->len - 1;
		break;
	case LONG:
		attr->len++;
		break;
	case UNKNOWN_FLAG:
		attr->data |= 1U << 31;
		break;
	case UNKNOWN_HIGH_FLAG:
		attr->data |= 1ULL << 40;
		break;
	case NO_SUCH_HANDLE:
		attr->data = 0xdead;
		break;
	case NEGATIVE_HANDLE:
		attr->data_s64 = -1;
		break;
	case OTHER_HANDLE:
		attr->data = row->other;
		break;
	case FD_TOO_BIG:
		attr->data_s64 = (int64_t)INT_MAX + 1;
		break;
	case PTR_NULL:
		attr->data = 0;
		break;
	case PTR_UNMAPPED:
		attr->data = (uintptr_t)sweep->unmapped;
		break;
	case PTR_READ_ONLY:
		attr->data = (uintptr_t)sweep->read_only;
		break;
	default:
		attr->data_s64 = wrong_fd(sweep, wrong);
	}
}

/* all that a method of ours can leave behind */
static long count_all(const struct sweep *sweep)
{
	return count_handles(sweep->fd, IB_UVERBS_OBJECT_SHARE) +
	       count_handles(sweep->fd, IB_UVERBS_OBJECT_IMPORT) +
	       count_handles(sweep->fd, UVERBS_OBJECT_MR) + 1000 * lowest_fd();
}

static bool check(const struct sweep *sweep, struct call *call, int want, int id, int wrong)
{
	long before = count_all(sweep), after;
	int err = call_run(sweep->fd, call);

	after = count_all(sweep);
	if (err == want && (before == after || !want))
		return true;
	fprintf(stderr, "# method %#x %d, attribute %d, wrong %d: want %d, got %d, left %ld\n",
		call->hdr.object_id, call->hdr.method_id, id, wrong, want, err, after - before);
	return false;
}

/**
 * sweep_run - everything that can be wrong, one thing at a time
 * @sweep: what to use
 * @good: a call that succeeds; it is made last
 * @rows: its attributes
 *
 * Return: number of answers that were not as expected
 */
unsigned int sweep_run(const struct sweep *sweep, const struct call *good,
		       const struct attr_row *rows)
{
	const struct attr_row *row;
	unsigned int failed = 0;
	struct call call;
	enum wrong w;
	int want;

	for (row = rows; row->kind != KINDS; row++) {
		for (w = MISSING; w < WRONGS; w++) {
			want = expected[row->kind][w];
			if (w == MISSING && !row->optional)
				want = EINVAL;
			if (!want)
				continue;
			call = *good;
			make_wrong(sweep, &call, row, w);
			failed += !check(sweep, &call, want, row->id, w);
		}
	}

	/* an attribute of the future: mandatory, then not */
	call = *good;
	put_u64(&call, 30, 0);
	failed += !check(sweep, &call, EPROTONOSUPPORT, 30, 0);
	call.attr[call.hdr.num_attrs - 1].flags = 0;
	return failed + !check(sweep, &call, 0, 30, 0);
}
