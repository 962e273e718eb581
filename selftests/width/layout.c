// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Of each struct its size, and where the members are that have others before
 * them: a member that is longer for one width moves one of these.
 */
#include "control.h"
#include "peer.h"

#define SIZE(s) printf("%s %zu\n", #s, sizeof(struct s))
#define PLACE(s, member)                                                   \
	printf("%s.%s %zu %zu\n", #s, #member, offsetof(struct s, member), \
	       sizeof(((struct s *)NULL)->member))

static void header(void)
{
	SIZE(share_control_header);
	PLACE(share_control_header, bytes);
	PLACE(share_control_header, num_srqs);
	PLACE(share_control_header, slots_offset);
	PLACE(share_control_header, heap_offset);
	PLACE(share_control_header, directory_lock);
	PLACE(share_control_header, next_cookie);
	PLACE(share_control_header, heap_next);
	PLACE(share_control_header, used_srqs);
	PLACE(share_control_header, heirs);
	PLACE(share_control_header, async_lock);
	PLACE(share_control_header, reserved1);
	PLACE(share_control_header, async_landing);
	PLACE(share_control_header, device_events);
	PLACE(share_control_header, reserved2);
}

static void directory(void)
{
	SIZE(share_slot);
	PLACE(share_slot, recovered);
	PLACE(share_slot, wakeups);
	PLACE(share_slot, signals);
	SIZE(share_entry);
	PLACE(share_entry, offset);
	PLACE(share_entry, bytes);
	PLACE(share_entry, capacity);
	PLACE(share_entry, recv_cq);
	PLACE(share_entry, max_send_sge);
	PLACE(share_entry, srq);
	PLACE(share_entry, reserved);
}

static void cq(void)
{
	SIZE(share_completion);
	PLACE(share_completion, reserved);
	SIZE(share_mailbox);
	PLACE(share_mailbox, producer);
	PLACE(share_mailbox, lock);
	PLACE(share_mailbox, looking);
	PLACE(share_mailbox, quota);
	PLACE(share_mailbox, armed);
	PLACE(share_mailbox, async);
	SIZE(share_intent);
	PLACE(share_intent, source_position);
	SIZE(share_cq_counters);
	PLACE(share_cq_counters, reserved);
	SIZE(share_cq_body);
	PLACE(share_cq_body, lock);
	PLACE(share_cq_body, credits);
	PLACE(share_cq_body, counters);
	PLACE(share_cq_body, refused);
	PLACE(share_cq_body, recount);
	PLACE(share_cq_body, intent);
	PLACE(share_cq_body, mailboxes);
}

static void queues(void)
{
	SIZE(share_shadow);
	PLACE(share_shadow, bytes);
	SIZE(share_wq);
	PLACE(share_wq, lock);
	PLACE(share_wq, head);
	PLACE(share_wq, unsignaled);
	PLACE(share_wq, tail);
	SIZE(share_gate);
	PLACE(share_gate, server_generation);
	PLACE(share_gate, changes);
	PLACE(share_gate, replaced);
	PLACE(share_gate, arrived);
	SIZE(share_qp_body);
	PLACE(share_qp_body, resetting);
	PLACE(share_qp_body, send);
	PLACE(share_qp_body, recv);
	PLACE(share_qp_body, doorbell);
	PLACE(share_qp_body, takeovers);
	PLACE(share_qp_body, gate);
	PLACE(share_qp_body, events);
	PLACE(share_qp_body, reserved);
	SIZE(share_srq_body);
	PLACE(share_srq_body, post);
	PLACE(share_srq_body, takeovers);
	PLACE(share_srq_body, events);
}

void print_layout(void)
{
	header();
	directory();
	cq();
	queues();
}
