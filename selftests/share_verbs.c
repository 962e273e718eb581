// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 *
 * What a test needs to share something: a device, objects made by the ioctls
 * of uverbs, which say where the rings of rxe are.
 */
#include <dirent.h>
#include <fcntl.h>
#include <infiniband/verbs.h>

#include "share_test.h"

#define QUEUE_DEPTH 16

/* the first line of a file in sysfs */
static bool read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(line, size, f);

	if (f)
		fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = 0;
	return ok;
}

/* Return: a uverbs file of the device with a context, or a negative errno */
int dev_open(const char *name)
{
	char path[300], line[64];
	struct call call;
	int i, fd, err;

	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/uverbs%d/ibdev", i);
		if (read_line(path, line, sizeof(line)) && !strcmp(line, name))
			break;
	}
	snprintf(path, sizeof(path), "/dev/infiniband/uverbs%d", i);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;

	call_init(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	err = call_run(fd, &call);
	if (err)
		close(fd);
	return err ? -err : fd;
}

/* a command of the first ABI, which has no ioctl of its own */
static int write_cmd(int fd, uint32_t cmd, const void *in, uint16_t in_len, void *out,
		     uint16_t out_len)
{
	struct call call;

	call_init(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	put_in(&call, UVERBS_ATTR_CORE_IN, in, in_len);
	if (out)
		put_out(&call, UVERBS_ATTR_CORE_OUT, out, out_len);
	put_u64(&call, UVERBS_ATTR_WRITE_CMD, cmd);
	return call_run(fd, &call);
}

int pd_alloc(int fd, uint32_t *pd)
{
	struct ib_uverbs_alloc_pd in = {};

	return write_cmd(fd, IB_USER_VERBS_CMD_ALLOC_PD, &in, sizeof(in), pd, sizeof(*pd));
}

int channel_create(int fd, int *channel)
{
	struct ib_uverbs_create_comp_channel in = {};

	return write_cmd(fd, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &in, sizeof(in), channel,
			 sizeof(*channel));
}

/* of type 2; there is no ioctl to destroy it, close() does */
int mw_alloc(int fd, uint32_t pd, uint32_t *rkey)
{
	struct ib_uverbs_alloc_mw in = { .pd_handle = pd, .mw_type = IBV_MW_TYPE_2 };
	struct ib_uverbs_alloc_mw_resp out;
	int err;

	err = write_cmd(fd, IB_USER_VERBS_CMD_ALLOC_MW, &in, sizeof(in), &out, sizeof(out));
	*rkey = out.rkey;
	return err;
}

/* what ibv_reg_mr() does */
int mr_reg(int fd, uint32_t pd, const void *addr, uint64_t length, uint32_t access,
	   struct ib_uverbs_reg_mr_resp *mr)
{
	struct ib_uverbs_reg_mr in = {
		.start = (uintptr_t)addr,
		.length = length,
		.hca_va = (uintptr_t)addr,
		.pd_handle = pd,
		.access_flags = access,
	};

	return write_cmd(fd, IB_USER_VERBS_CMD_REG_MR, &in, sizeof(in), mr, sizeof(*mr));
}

int mr_rereg_access(int fd, uint32_t handle, uint32_t access)
{
	struct ib_uverbs_rereg_mr in = {
		.mr_handle = handle,
		.flags = IB_UVERBS_ACCESS_REMOTE_READ, /* IB_MR_REREG_ACCESS */
		.access_flags = access,
	};
	struct ib_uverbs_rereg_mr_resp out;

	return write_cmd(fd, IB_USER_VERBS_CMD_REREG_MR, &in, sizeof(in), &out, sizeof(out));
}

static struct ib_uverbs_qp_dest qp_dest(const struct ib_uverbs_ah_attr *ah)
{
	struct ib_uverbs_qp_dest dest = {
		.flow_label = ah->grh.flow_label,
		.sgid_index = ah->grh.sgid_index,
		.hop_limit = ah->grh.hop_limit,
		.is_global = ah->is_global,
		.port_num = ah->port_num,
	};

	memcpy(dest.dgid, ah->grh.dgid, sizeof(dest.dgid));
	return dest;
}

/* what ibv_modify_qp() does */
int qp_modify(int fd, uint32_t handle, const struct ib_uverbs_qp_attr *attr)
{
	struct ib_uverbs_modify_qp in = {
		.dest = qp_dest(&attr->ah_attr),
		.qp_handle = handle,
		.attr_mask = attr->qp_attr_mask,
		.qkey = attr->qkey,
		.dest_qp_num = attr->dest_qp_num,
		.qp_access_flags = attr->qp_access_flags,
		.qp_state = attr->qp_state,
		.path_mtu = attr->path_mtu,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.port_num = attr->port_num,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
	};

	return write_cmd(fd, IB_USER_VERBS_CMD_MODIFY_QP, &in, sizeof(in), NULL, 0);
}

/* what ibv_post_send() of rxe does once the ring is filled */
int qp_doorbell(int fd, uint32_t handle)
{
	struct ib_uverbs_post_send in = {
		.qp_handle = handle,
		.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};
	struct ib_uverbs_post_send_resp out;

	return write_cmd(fd, IB_USER_VERBS_CMD_POST_SEND, &in, sizeof(in), &out, sizeof(out));
}

/* what ibv_req_notify_cq() does */
int cq_arm(int fd, uint32_t handle, bool solicited_only)
{
	struct ib_uverbs_req_notify_cq in = {
		.cq_handle = handle,
		.solicited_only = solicited_only,
	};

	return write_cmd(fd, IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, &in, sizeof(in), NULL, 0);
}

/* what ibv_query_qp() does */
int qp_query(int fd, uint32_t handle, struct ib_uverbs_query_qp_resp *resp)
{
	struct ib_uverbs_query_qp in = { .qp_handle = handle, .attr_mask = 0x1ffff };

	return write_cmd(fd, IB_USER_VERBS_CMD_QUERY_QP, &in, sizeof(in), resp, sizeof(*resp));
}

static int ring_map(int fd, struct ring *ring)
{
	ring->buf = NULL;
	if (!ring->mi.size)
		return 0;
	ring->buf = mmap(NULL, ring->mi.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 ring->mi.offset);
	return ring->buf == MAP_FAILED ? errno : 0;
}

int cq_create(int fd, uint32_t cqe, int channel, struct cq *cq)
{
	struct rxe_create_cq_resp resp = {};
	struct call call;
	uint32_t got;
	int err;

	call_init(&call, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	put_handle(&call, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	put_u32(&call, UVERBS_ATTR_CREATE_CQ_CQE, cqe);
	put_u64(&call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 0xc0ffee);
	put_u32(&call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
	if (channel != -1)
		put_fd(&call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, channel);
	put_out(&call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &got, sizeof(got));
	put_out(&call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	err = call_run(fd, &call);
	cq->handle = call.attr[0].data;
	cq->ring.mi = resp.mi;
	return err ?: ring_map(fd, &cq->ring);
}

int srq_create(int fd, uint32_t pd, struct srq *srq)
{
	struct rxe_create_srq_resp resp = {};
	uint32_t max_wr, max_sge;
	struct call call;
	int err;

	call_init(&call, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	put_handle(&call, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	put_handle(&call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd);
	put_u64(&call, UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_BASIC);
	put_u64(&call, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 0);
	put_u32(&call, UVERBS_ATTR_CREATE_SRQ_MAX_WR, QUEUE_DEPTH);
	put_u32(&call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 1);
	put_u32(&call, UVERBS_ATTR_CREATE_SRQ_LIMIT, 0);
	put_out(&call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &max_wr, sizeof(max_wr));
	put_out(&call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &max_sge, sizeof(max_sge));
	put_out(&call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	err = call_run(fd, &call);
	srq->handle = call.attr[0].data;
	srq->ring.mi = resp.mi;
	return err ?: ring_map(fd, &srq->ring);
}

/* what ibv_query_srq() and ibv_modify_srq() do */
int srq_query(int fd, uint32_t srq, struct ib_uverbs_query_srq_resp *resp)
{
	struct ib_uverbs_query_srq in = { .srq_handle = srq };

	return write_cmd(fd, IB_USER_VERBS_CMD_QUERY_SRQ, &in, sizeof(in), resp, sizeof(*resp));
}

int srq_set_limit(int fd, uint32_t srq, uint32_t limit)
{
	struct ib_uverbs_modify_srq in = {
		.srq_handle = srq,
		.attr_mask = 1 << 1, /* IB_SRQ_LIMIT */
		.srq_limit = limit,
	};
	struct rxe_modify_srq_cmd rxe = {};
	struct call call;

	call_init(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	put_in(&call, UVERBS_ATTR_CORE_IN, &in, sizeof(in));
	put_in(&call, UVERBS_ATTR_UHW_IN, &rxe, sizeof(rxe));
	put_u64(&call, UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_MODIFY_SRQ);
	return call_run(fd, &call);
}

int qp_create(struct endpoint *ep, uint32_t type, const struct srq *srq, struct qp *qp)
{
	struct ib_uverbs_qp_cap cap = {
		.max_send_wr = QUEUE_DEPTH,
		.max_recv_wr = srq ? 0 : QUEUE_DEPTH,
		.max_send_sge = 1,
		.max_recv_sge = srq ? 0 : 1,
	};
	struct rxe_create_qp_resp resp = {};
	struct call call;
	int err;

	call_init(&call, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	put_handle(&call, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	put_handle(&call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, ep->pd);
	put_handle(&call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, ep->cq.handle);
	put_handle(&call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, ep->cq.handle);
	if (srq)
		put_handle(&call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, srq->handle);
	put_u64(&call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 0);
	put_in(&call, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	put_u64(&call, UVERBS_ATTR_CREATE_QP_TYPE, type);
	put_out(&call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));
	put_out(&call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->num, sizeof(qp->num));
	put_out(&call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	err = call_run(ep->fd, &call);
	qp->handle = call.attr[0].data;
	qp->send.mi = resp.sq_mi;
	qp->recv.mi = resp.rq_mi;
	if (!err)
		err = ring_map(ep->fd, &qp->send);
	return err ?: ring_map(ep->fd, &qp->recv);
}

/* of every object the destroy method is number 1 with the handle first, but for PD: 0 */
int destroy(int fd, uint16_t object, uint32_t handle)
{
	uint64_t events[2];
	struct call call;

	call_init(&call, object, object == UVERBS_OBJECT_PD ? 0 : 1);
	put_handle(&call, 0, handle);
	if (object == UVERBS_OBJECT_CQ)
		put_out(&call, 1, events, sizeof(struct ib_uverbs_destroy_cq_resp));
	else if (object == UVERBS_OBJECT_QP || object == UVERBS_OBJECT_SRQ)
		put_out(&call, 1, events, sizeof(uint32_t));
	return call_run(fd, &call);
}

/* objects of a type in this uverbs file, -1 if unknown */
long count_handles(int fd, uint16_t object)
{
	uint32_t total = 0, list[128];
	struct call call;

	call_init(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
	put_u64(&call, UVERBS_ATTR_INFO_OBJECT_ID, object);
	put_out(&call, UVERBS_ATTR_INFO_TOTAL_HANDLES, &total, sizeof(total));
	put_out(&call, UVERBS_ATTR_INFO_HANDLES_LIST, list, sizeof(list));
	return call_run(fd, &call) ? -1 : (long)total;
}

/* GID 1 is the one of the IPv4 address */
static bool read_gid(const char *dev, uint8_t *gid)
{
	unsigned int i, word[8];
	char path[128], line[64];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/1", dev);
	if (!read_line(path, line, sizeof(line)) ||
	    sscanf(line, "%x:%x:%x:%x:%x:%x:%x:%x", &word[0], &word[1], &word[2], &word[3],
		   &word[4], &word[5], &word[6], &word[7]) != 8)
		return false;
	for (i = 0; i < 8; i++) {
		gid[2 * i] = word[i] >> 8;
		gid[2 * i + 1] = word[i];
	}
	return true;
}

int endpoint_open(struct endpoint *ep, const char *dev, uint32_t type)
{
	int err;

	memset(ep, 0, sizeof(*ep));
	ep->fd = dev_open(dev);
	if (ep->fd < 0)
		return -ep->fd;
	if (!read_gid(dev, ep->gid))
		return ENODEV;
	err = pd_alloc(ep->fd, &ep->pd) ?: channel_create(ep->fd, &ep->channel);
	err = err ?: cq_create(ep->fd, 4 * QUEUE_DEPTH, ep->channel, &ep->cq);
	return err ?: qp_create(ep, type, NULL, &ep->qp);
}

static void ring_unmap(struct ring *ring)
{
	if (ring->buf)
		munmap(ring->buf, ring->mi.size);
	ring->buf = NULL;
}

/* what a process that ends does */
void endpoint_close(struct endpoint *ep)
{
	ring_unmap(&ep->cq.ring);
	ring_unmap(&ep->qp.send);
	ring_unmap(&ep->qp.recv);
	close(ep->channel);
	close(ep->fd);
}
