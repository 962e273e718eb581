// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Where the objects of the directory have their bodies.
 */
#include <errno.h>
#include "control.h"
#include "directory.h"

int share_directory_check_place(const struct share_control *control,
				const struct share_entry *e)
{
	if (e->offset < share_control_heap_offset() ||
	    e->offset % SHARE_LINE || e->offset > control->bytes ||
	    e->bytes > control->bytes - e->offset)
		return EBADMSG;
	return 0;
}

static uint64_t round_up(uint64_t n)
{
	return (n + SHARE_LINE - 1) / SHARE_LINE * SHARE_LINE;
}

/* The free entry with the smallest body that is large enough, or @count. */
static uint32_t find_used(const struct share_entry *table, uint32_t count,
			  uint64_t bytes, struct share_entry *place)
{
	struct share_entry e;
	uint32_t i, best = count;

	for (i = 0; i < count; i++) {
		share_copy_in(&e, &table[i], sizeof(e));
		if (e.state != SHARE_ENTRY_FREE || e.bytes < bytes ||
		    (best < count && e.bytes >= place->bytes))
			continue;
		best = i;
		*place = e;
	}
	return best;
}

/* One that never had a body gets one from the heap, and keeps it. */
static uint32_t find_fresh(struct share_control *control,
			   const struct share_entry *table, uint32_t count,
			   uint64_t bytes, struct share_entry *place)
{
	struct share_control_header *header = share_control_header(control);
	uint32_t i;

	for (i = 0; i < count; i++) {
		share_copy_in(place, &table[i], sizeof(*place));
		if (place->state == SHARE_ENTRY_FREE && !place->bytes)
			break;
	}
	share_copy_in(&place->offset, &header->heap_next, sizeof(uint64_t));
	place->bytes = round_up(bytes);
	if (i == count || share_directory_check_place(control, place))
		return count;
	bytes = place->offset + place->bytes;
	share_copy_out(&header->heap_next, &bytes, sizeof(uint64_t));
	return i;
}

/*
 * A body stays with its index for ever: that is why a cookie of a former
 * object of the same index can be told by its epoch.
 */
int share_directory_place(struct share_control *control,
			  const struct share_entry *table, uint32_t count,
			  uint64_t bytes, struct share_entry *e, uint32_t *index)
{
	struct share_entry place = { .state = SHARE_ENTRY_FREE };
	uint32_t i;

	i = find_used(table, count, bytes, &place);
	if (i == count)
		i = find_fresh(control, table, count, bytes, &place);
	if (i == count)
		return ENOSPC;
	if (share_directory_check_place(control, &place))
		return EBADMSG;
	e->offset = place.offset;
	e->bytes = place.bytes;
	e->generation = place.generation + 1 ? place.generation + 1 : 1;
	*index = i;
	return 0;
}

int share_directory_lock(struct share_control *control)
{
	int ret = share_lock(&share_control_header(control)->directory_lock,
			     &control->me);

	/* entries become live last, so there is nothing to repair */
	return ret == EOWNERDEAD ? 0 : ret;
}

void share_directory_unlock(struct share_control *control)
{
	share_unlock(&share_control_header(control)->directory_lock,
		     &control->me);
}

void share_directory_publish(struct share_entry *table, uint32_t index,
			     uint32_t *used, struct share_entry *e)
{
	struct share_entry *shared = &table[index];

	if (share_load(used) <= index)
		share_store(used, index + 1);
	e->state = SHARE_ENTRY_FREE;
	share_copy_out(shared, e, sizeof(*e));
	share_store_release(&shared->state, SHARE_ENTRY_LIVE);
}
