// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copyright (c) 2026 The uverbs-share authors
 */
#include <string.h>
#include <time.h>
#include "share_library.h"

#define TO_INIT (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define TO_RTR                                                          \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | \
	 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define TO_RTS                                                                 \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)

struct ibv_context *lib_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i;

	for (i = 0; list && list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

static int connect_qp(struct ibv_qp *qp, int shared, uint32_t to, const union ibv_gid *gid,
		      uint32_t psn)
{
	int (*modify)(struct ibv_qp * qp, struct ibv_qp_attr * attr, int mask) =
		shared ? ibv_share_modify_qp : ibv_modify_qp;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ACCESS | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to,
		.rq_psn = psn,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1 },
	};

	attr.ah_attr.grh.dgid = *gid;
	attr.ah_attr.grh.sgid_index = GID_INDEX;
	attr.ah_attr.grh.hop_limit = 1;
	CHECK(!modify(qp, &attr, TO_INIT));
	attr.qp_state = IBV_QPS_RTR;
	CHECK(!modify(qp, &attr, TO_RTR));
	attr.qp_state = IBV_QPS_RTS;
	CHECK(!modify(qp, &attr, TO_RTS));
	return 0;
}

uint32_t lib_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

int lib_connect(struct ibv_qp *qp, int shared, uint32_t to, const union ibv_gid *gid)
{
	return connect_qp(qp, shared, to, gid, 0);
}

int lib_connect_psn(struct ibv_qp *qp, uint32_t to, const union ibv_gid *gid, uint32_t psn)
{
	return connect_qp(qp, 1, to, gid, psn);
}

long lib_counter(const char *dev, const char *name)
{
	char path[128];
	long value;
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s", dev, name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fscanf(f, "%ld", &value);
	fclose(f);
	return n == 1 ? value : -1;
}
