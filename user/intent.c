// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include "intent.h"
#include "mailbox.h"
#include "shadow.h"

void share_intent_begin(const struct share_cq_view *cq, uint64_t cookie,
			uint32_t slot, uint32_t source,
			uint32_t source_position)
{
	struct share_intent *intent = &cq->body->intent;

	share_store(&intent->cookie_low, (uint32_t)cookie);
	share_store(&intent->cookie_high, (uint32_t)(cookie >> 32));
	share_store(&intent->slot, slot);
	share_store(&intent->position,
		    share_load(&share_mailbox_of(cq, slot)->producer));
	share_store(&intent->source, source);
	share_store(&intent->source_position, source_position);
	share_store_ordered(&intent->valid, 1);
}

void share_intent_end(const struct share_cq_view *cq)
{
	share_store_ordered(&cq->body->intent.valid, 0);
}

/* It is in the mailbox: end what leads there. */
static void finish(const struct share_control *control,
		   const struct share_cq_view *cq,
		   const struct share_intent *intent)
{
	struct share_request request = { .qp_known = 0, .srq_known = 0 };
	uint64_t cookie = (uint64_t)intent->cookie_high << 32 |
			  intent->cookie_low;

	if (intent->source)
		share_store_release(&share_mailbox_of(cq, intent->source - 1)
					     ->consumer,
				    intent->source_position);
	else if (!share_request_find(control, cq, cookie, &request))
		share_store_release(&request.shadow->state,
				    SHARE_SHADOW_DELIVERED);
}

void share_intent_settle(const struct share_control *control,
			 const struct share_cq_view *cq)
{
	struct share_intent intent;

	share_copy_in(&intent, &cq->body->intent, sizeof(intent));
	if (!intent.valid)
		return;
	if (share_load(&share_mailbox_of(cq, intent.slot)->producer) !=
	    intent.position)
		finish(control, cq, &intent);
	share_intent_end(cq);
}
