// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * The control segment: made, mapped, checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "control.h"
#include "directory.h"

#define SLOTS_OFFSET sizeof(struct share_control_header)
#define CQS_OFFSET (SLOTS_OFFSET + SHARE_MAX_SLOTS * sizeof(struct share_slot))
#define QPS_OFFSET (CQS_OFFSET + SHARE_MAX_CQS * sizeof(struct share_entry))
#define SRQS_OFFSET (QPS_OFFSET + SHARE_MAX_QPS * sizeof(struct share_entry))
#define HEAP_OFFSET (SRQS_OFFSET + SHARE_MAX_SRQS * sizeof(struct share_entry))

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static_assert(HEAP_OFFSET % SHARE_LINE == 0, "bodies are aligned");

static void fill_header(struct share_control_header *header, uint64_t bytes)
{
	memset(header, 0, sizeof(*header));
	header->magic = SHARE_CONTROL_MAGIC;
	header->abi_version = SHARE_CONTROL_ABI;
	header->bytes = bytes;
	header->num_slots = SHARE_MAX_SLOTS;
	header->num_cqs = SHARE_MAX_CQS;
	header->num_qps = SHARE_MAX_QPS;
	header->num_srqs = SHARE_MAX_SRQS;
	header->slots_offset = SLOTS_OFFSET;
	header->cqs_offset = CQS_OFFSET;
	header->qps_offset = QPS_OFFSET;
	header->heap_offset = HEAP_OFFSET;
	header->heap_next = HEAP_OFFSET;
}

int share_control_create(size_t bytes, int *memfd)
{
	struct share_control_header header;
	int fd, err;

	if (!bytes)
		bytes = SHARE_CONTROL_BYTES;
	if (bytes <= HEAP_OFFSET || bytes % 4096)
		return EINVAL;
	fd = memfd_create("ibvshare", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return errno;
	fill_header(&header, bytes);
	if (!ftruncate(fd, (off_t)bytes) &&
	    pwrite(fd, &header, sizeof(header), 0) == sizeof(header) &&
	    !fcntl(fd, F_ADD_SEALS, SEALS)) {
		*memfd = fd;
		return 0;
	}
	err = errno;
	close(fd);
	return err;
}

/* Everything but what changes later has only one right value. */
static int check_header(const struct share_control_header *shared, size_t bytes)
{
	const size_t fixed = offsetof(struct share_control_header,
				      directory_lock);
	struct share_control_header header, want;

	share_copy_in(&header, shared, fixed);
	if (header.magic != SHARE_CONTROL_MAGIC)
		return EBADMSG;
	if (header.abi_version != SHARE_CONTROL_ABI)
		return EPROTONOSUPPORT;
	fill_header(&want, bytes);
	return memcmp(&header, &want, fixed) ? EBADMSG : 0;
}

/* Unless it is sealed, whoever truncates it kills us with SIGBUS. */
static int check_file(int memfd, size_t *bytes)
{
	struct stat st;
	int seals = fcntl(memfd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS)
		return EBADFD;
	if (fstat(memfd, &st))
		return errno;
	if (st.st_size <= (off_t)HEAP_OFFSET ||
	    (uint64_t)st.st_size > SIZE_MAX / 2)
		return EBADMSG;
	*bytes = (size_t)st.st_size;
	return 0;
}

int share_control_attach(struct share_control *control, int memfd,
			 uint32_t slot, uint32_t generation,
			 const struct share_env *env)
{
	size_t bytes = 0;
	void *base;
	int ret;

	if (slot >= SHARE_MAX_SLOTS || !generation)
		return EINVAL;
	ret = check_file(memfd, &bytes);
	if (ret)
		return ret;
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (base == MAP_FAILED)
		return errno;
	ret = check_header(base, bytes);
	if (ret) {
		munmap(base, bytes);
		return ret;
	}
	memset(control, 0, sizeof(*control));
	control->base = base;
	control->bytes = bytes;
	control->me.env = *env;
	control->me.slot = slot;
	control->me.generation = generation;
	control->me.timeout_ms = SHARE_LOCK_TIMEOUT_MS;
	control->me.recheck_ms = SHARE_LOCK_RECHECK_MS;
	return 0;
}

void share_control_detach(struct share_control *control)
{
	if (control->base)
		munmap(control->base, control->bytes);
	control->base = NULL;
}

struct share_control_header *
share_control_header(const struct share_control *control)
{
	return (struct share_control_header *)(void *)control->base;
}

struct share_slot *share_control_slot(const struct share_control *control,
				      uint32_t slot)
{
	struct share_slot *slots =
		(struct share_slot *)(void *)(control->base + SLOTS_OFFSET);

	return &slots[slot % SHARE_MAX_SLOTS];
}

struct share_entry *share_control_cqs(const struct share_control *control)
{
	return (struct share_entry *)(void *)(control->base + CQS_OFFSET);
}

struct share_entry *share_control_qps(const struct share_control *control)
{
	return (struct share_entry *)(void *)(control->base + QPS_OFFSET);
}

struct share_entry *share_control_srqs(const struct share_control *control)
{
	return (struct share_entry *)(void *)(control->base + SRQS_OFFSET);
}

uint64_t share_control_heap_offset(void)
{
	return HEAP_OFFSET;
}

/* One by one: each is one word, so there is nobody who was never named. */
void share_control_set_heirs(struct share_control *control,
			     const uint32_t *words, uint32_t num)
{
	struct share_control_header *header = share_control_header(control);
	uint32_t i;

	for (i = 0; i < SHARE_MAX_HEIRS; i++)
		share_store_release(&header->heirs[i], i < num ? words[i] : 0);
}

uint32_t share_control_new_cookie(const struct share_control *control)
{
	uint32_t *next = &share_control_header(control)->next_cookie;

	return __atomic_add_fetch(next, 1, __ATOMIC_RELAXED);
}

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

uint32_t share_control_used_cqs(const struct share_control *control)
{
	return at_most(share_load(&share_control_header(control)->used_cqs),
		       SHARE_MAX_CQS);
}

uint32_t share_control_used_qps(const struct share_control *control)
{
	return at_most(share_load(&share_control_header(control)->used_qps),
		       SHARE_MAX_QPS);
}

uint32_t share_control_used_srqs(const struct share_control *control)
{
	return at_most(share_load(&share_control_header(control)->used_srqs),
		       SHARE_MAX_SRQS);
}

void share_copy_in(void *dst, const void *shared, size_t bytes)
{
	const uint32_t *from = shared;
	uint32_t word;
	size_t i;

	for (i = 0; i < bytes / sizeof(word); i++) {
		word = share_load(&from[i]);
		memcpy((char *)dst + i * sizeof(word), &word, sizeof(word));
	}
}

void share_copy_out(void *shared, const void *src, size_t bytes)
{
	uint32_t *to = shared;
	uint32_t word;
	size_t i;

	for (i = 0; i < bytes / sizeof(word); i++) {
		memcpy(&word, (const char *)src + i * sizeof(word),
		       sizeof(word));
		share_store(&to[i], word);
	}
}

void share_clear(void *shared, size_t bytes)
{
	uint32_t *to = shared;
	size_t i;

	for (i = 0; i < bytes / sizeof(*to); i++)
		share_store(&to[i], 0);
}
