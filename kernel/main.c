// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <linux/module.h>

#include "share.h"

static int __init share_init(void)
{
	return share_attach_init();
}

static void __exit share_exit(void)
{
	share_attach_exit();
}

module_init(share_init);
module_exit(share_exit);

MODULE_DESCRIPTION("Sharing of InfiniBand verbs objects between processes");
MODULE_AUTHOR("The uverbs-share authors");
MODULE_LICENSE("Dual BSD/GPL");
