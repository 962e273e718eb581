// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <errno.h>
#include <stdlib.h>
#include "ah.h"
#include "error.h"
#include "share_priv.h"

static int ah_fill(const struct share_pd *pd, struct ibv_ah_attr *attr,
		   struct share_av *av)
{
	const struct ibv_share_context *ctx = pd->obj.ctx;
	struct ibv_gid_entry sgid;
	uint8_t dmac[6];
	int ret;

	if (!ctx->provider)
		return share_error(EOPNOTSUPP, "address handles of this"
					       " provider are not known");
	if (!attr->is_global)
		return share_error(EINVAL, "an address handle needs is_global and"
					   " grh: the address is a GID");
	ret = ibv_query_gid_ex(ctx->real, attr->port_num, attr->grh.sgid_index,
			       &sgid, 0);
	if (ret)
		return share_error(EINVAL, "there is no GID %u on port %u",
				   attr->grh.sgid_index, attr->port_num);
	if (ibv_resolve_eth_l2_from_gid(ctx->real, attr, dmac, NULL))
		return share_error(EHOSTUNREACH, "there is no way to this GID, or"
						 " nobody there answers");
	ret = ctx->provider->fill_av(av, attr, &sgid, dmac);
	return ret ? share_error(ret, "the source GID is not one of RoCE v2") : 0;
}

struct ibv_ah *ibv_share_create_ah(struct ibv_pd *ibv_pd,
				   struct ibv_ah_attr *attr)
{
	struct share_pd *pd = share_pd_of(ibv_pd);
	struct share_av av = { { 0 } };
	struct share_ah *ah;

	if (!pd || share_context_check(pd->obj.ctx))
		return NULL;
	if (ah_fill(pd, attr, &av))
		return NULL;
	ah = calloc(1, sizeof(*ah));
	if (!ah) {
		share_error(ENOMEM, "out of memory");
		return NULL;
	}
	ah->av = av;
	ah->ibv.context = pd->obj.ctx->fake;
	ah->ibv.pd = ibv_pd;
	ah->ibv.handle = SHARE_NO_HANDLE;
	/* its first member */
	return (struct ibv_ah *)(void *)ah;
}

int ibv_share_destroy_ah(struct ibv_ah *ah)
{
	if (!ah || !share_context_of(ah->context))
		return share_error(EINVAL, "not a handle of"
					   " ibv_share_create_ah()");
	free(share_container_of(ah, struct share_ah, ibv));
	return 0;
}
