// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * A provider for selftests/provider.c: it has a device, shareprov0, with PDs and
 * with objects 0 to 9 of the provider name space, as many as any provider in the
 * kernel tree, and one more if it is told so. Each has one method that answers.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#define OWN_OBJECTS 10
#define PROVIDER_ID(n) ((1U << UVERBS_ID_NS_SHIFT) + (n))
#define ANSWER 0x0b9ec7

static int more = -1;
module_param(more, int, 0444);
MODULE_PARM_DESC(more, "number of one more object, for instance 10");

struct provider_device {
	struct ib_device ibdev;
};

struct provider_pd {
	struct ib_pd ibpd;
};

struct provider_context {
	struct ib_ucontext ibcontext;
};

static int answer_handler(struct uverbs_attr_bundle *attrs)
{
	u32 answer = ANSWER;

	return uverbs_copy_to(attrs, 0, &answer, sizeof(answer));
}

static const struct uverbs_attr_def answer_attr = {
	.id = 0,
	.attr = { .type = UVERBS_ATTR_TYPE_PTR_OUT,
		  .mandatory = 1,
		  .u.ptr = { .len = sizeof(u32), .min_len = sizeof(u32) } },
};

static const struct uverbs_attr_def *const answer_attrs[] = { &answer_attr };

static const struct uverbs_method_def answer_method = {
	.id = PROVIDER_ID(0),
	.num_attrs = ARRAY_SIZE(answer_attrs),
	.attrs = &answer_attrs,
	.handler = answer_handler,
};

static const struct uverbs_method_def *const methods[] = { &answer_method };

/* the last of the definitions is the end */
static struct uverbs_object_def objects[OWN_OBJECTS + 1];
static struct uapi_definition defs[OWN_OBJECTS + 2];

static void add_object(unsigned int place, u16 id)
{
	objects[place] = (struct uverbs_object_def){
		.id = id,
		.num_methods = ARRAY_SIZE(methods),
		.methods = &methods,
	};
	defs[place] = (struct uapi_definition){
		.kind = UAPI_DEF_CHAIN_OBJ_TREE,
		.object_start = { .object_id = id },
		.chain_obj_tree = &objects[place],
	};
}

static int provider_query_device(struct ib_device *ibdev,
				 struct ib_device_attr *attr,
				 struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->max_pd = 16;
	return 0;
}

static int provider_query_port(struct ib_device *ibdev, u32 port,
			       struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_1X;
	return 0;
}

static int provider_port_immutable(struct ib_device *ibdev, u32 port,
				   struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	return 0;
}

static int provider_query_gid(struct ib_device *ibdev, u32 port, int index,
			      union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	return 0;
}

static int provider_query_pkey(struct ib_device *ibdev, u32 port, u16 index,
			       u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static enum rdma_link_layer provider_link_layer(struct ib_device *ibdev,
						u32 port)
{
	return IB_LINK_LAYER_UNSPECIFIED;
}

static int provider_alloc_context(struct ib_ucontext *context,
				  struct ib_udata *udata)
{
	return 0;
}

static void provider_dealloc_context(struct ib_ucontext *context)
{
}

/* there is nothing that could touch the device: it may go below its users */
static void provider_disassociate(struct ib_ucontext *context)
{
}

static int provider_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int provider_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static const struct ib_device_ops provider_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_SIW,
	.uverbs_abi_ver = 1,

	.alloc_pd = provider_alloc_pd,
	.alloc_ucontext = provider_alloc_context,
	.dealloc_pd = provider_dealloc_pd,
	.dealloc_ucontext = provider_dealloc_context,
	.disassociate_ucontext = provider_disassociate,
	.get_link_layer = provider_link_layer,
	.get_port_immutable = provider_port_immutable,
	.query_device = provider_query_device,
	.query_gid = provider_query_gid,
	.query_pkey = provider_query_pkey,
	.query_port = provider_query_port,

	INIT_RDMA_OBJ_SIZE(ib_pd, provider_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, provider_context, ibcontext),
};

static struct provider_device *device;

static int __init provider_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < OWN_OBJECTS; i++)
		add_object(i, PROVIDER_ID(i));
	if (more >= 0)
		add_object(OWN_OBJECTS, PROVIDER_ID(more));

	device = ib_alloc_device(provider_device, ibdev);
	if (!device)
		return -ENOMEM;
	device->ibdev.node_type = RDMA_NODE_UNSPECIFIED;
	device->ibdev.phys_port_cnt = 1;
	device->ibdev.num_comp_vectors = 1;
	device->ibdev.driver_def = defs;
	ib_set_device_ops(&device->ibdev, &provider_ops);

	ret = ib_register_device(&device->ibdev, "shareprov%d", NULL);
	if (ret)
		ib_dealloc_device(&device->ibdev);
	return ret;
}

static void __exit provider_exit(void)
{
	ib_unregister_device(&device->ibdev);
	ib_dealloc_device(&device->ibdev);
}

module_init(provider_init);
module_exit(provider_exit);

MODULE_DESCRIPTION("Provider for the tests of ib_uverbs_share");
MODULE_AUTHOR("The uverbs-share authors");
MODULE_LICENSE("Dual BSD/GPL");
