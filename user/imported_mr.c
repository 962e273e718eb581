// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * Memory regions on a received PD: aliases, and new ones.
 */
#include <errno.h>
#include <stdlib.h>
#include "error.h"
#include "share_priv.h"

/* Is the region that was exported what the caller wants, as it is? */
static int is_whole(const struct share_reg_mr *what,
		    const struct ib_uverbs_share_info *info)
{
	return !what->offset &&
	       (!what->length || what->length == info->length) &&
	       (!what->iova || what->iova == info->iova);
}

static void alias_drop(struct share_mr *mr, const char *why, int err)
{
	share_release(&mr->obj.ctx->file, mr->obj.import);
	free(mr);
	if (err)
		share_error_ioctl(err, why);
	errno = err;
}

/*
 * NULL and errno; 0 if there is nothing to be an alias of: @what is a file, or
 * part of a region, or a region of another PD.
 */
static struct share_mr *alias(struct share_pd *pd, const struct share_reg_mr *what)
{
	struct ib_uverbs_share_info info;
	struct share_mr *mr = share_mr_new(pd);
	int ret;

	if (!mr)
		return NULL;
	ret = share_import_mr(&pd->obj.ctx->file, what->fd, pd->obj.import,
			      &mr->obj.import, &info);
	if (ret) {
		free(mr);
		if (ret == EBADFD || ret == EXDEV)
			ret = 0;
		else
			share_error_ioctl(ret, "importing a grant");
		errno = ret;
		return NULL;
	}
	if (!is_whole(what, &info)) {
		alias_drop(mr, NULL, 0);
		return NULL;
	}
	if (what->access & ~(info.access | IBV_ACCESS_OPTIONAL_RANGE)) {
		alias_drop(mr, "access to a shared region", EACCES);
		return NULL;
	}
	mr->obj.rights = info.rights;
	share_mr_fill_own(mr, &info);
	return mr;
}

static struct share_mr *reg_new(struct share_pd *pd, const struct share_reg_mr *what)
{
	struct ib_uverbs_share_info info = {
		.iova = what->iova,
		.length = what->length,
	};
	struct share_mr *mr = share_mr_new(pd);
	int ret;

	if (!mr)
		return NULL;
	ret = share_import_reg_mr(&pd->obj.ctx->file, pd->obj.import, what,
				  &mr->obj.import, &info);
	if (ret) {
		free(mr);
		share_reg_mr_error(ret, what);
		return NULL;
	}
	share_mr_fill_own(mr, &info);
	return mr;
}

struct ibv_mr *share_mr_import(struct share_pd *pd, const struct share_reg_mr *what)
{
	struct share_mr *mr = NULL;

	errno = 0;
	if (what->fd >= 0)
		mr = alias(pd, what);
	if (!mr && !errno)
		mr = reg_new(pd, what);
	if (!mr)
		return NULL;
	/* without a grant of its own, so no bundle carries it */
	share_mr_publish(mr);
	return mr->mr;
}
