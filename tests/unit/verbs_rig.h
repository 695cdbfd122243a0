/* What the tests of libweft-verbs stand on: rig.h, on the loopback device. Include this first:
 * isolate.h asks for what is not in POSIX. */
#ifndef WEFT_TESTS_UNIT_VERBS_RIG_H
#define WEFT_TESTS_UNIT_VERBS_RIG_H

#include "isolate.h"

#include "check.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct rig {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *memory;
};

#define RIG_OF(name) ibv_##name
#include "rig.h"

static inline struct ibv_context *rig_open(void)
{
	int n = 0;

	setenv("WEFT_INTERFACES", "lo", 1);
	struct ibv_device **list = ibv_get_device_list(&n);

	assert_non_null(list);
	assert_true(n >= 1);
	assert_string_equal(ibv_get_device_name(list[0]), "weft_rc0");
	struct ibv_context *context = ibv_open_device(list[0]);

	assert_non_null(context);
	ibv_free_device_list(list);
	return context;
}

static inline void rig_start(struct rig *rig)
{
	unsigned rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

	rig->context = rig_open();
	rig_map(rig, rig->context, rights);
}

static inline void rig_stop(struct rig *rig)
{
	rig_unmap(rig);
	assert_int_equal(ibv_close_device(rig->context), 0);
}

static inline struct ibv_qp_init_attr rig_init(const struct end *end)
{
	return (struct ibv_qp_init_attr){
		.send_cq = end->send_cq,
		.recv_cq = end->recv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = RIG_DEPTH,
			.max_recv_wr = RIG_DEPTH,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = 64},
	};
}

static inline void end_queues(struct rig *rig, struct end *end)
{
	end->channel = ibv_create_comp_channel(rig->context);
	assert_non_null(end->channel);
	end->send_cq = ibv_create_cq(rig->context, 64, end, end->channel, 0);
	end->recv_cq = ibv_create_cq(rig->context, 64, end, end->channel, 0);
	assert_non_null(end->send_cq);
	assert_non_null(end->recv_cq);
}

static inline int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static inline struct ibv_qp_attr rtr_attr(struct ibv_qp *qp, uint32_t peer)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = peer & 0xffffff,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = rig_address(qp->context),
	};
}

#define RTR_MASK                                                                        \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                                               \
	(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_MAX_QP_RD_ATOMIC)

static inline struct ibv_qp_attr rts_attr(const struct ibv_qp *qp)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = qp->qp_num & 0xffffff,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 1,
		.max_rd_atomic = 4,
	};
}

static inline void connect_qp(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr rtr = rtr_attr(qp, peer), rts = rts_attr(qp);

	assert_int_equal(to_init(qp), 0);
	assert_int_equal(ibv_modify_qp(qp, &rtr, RTR_MASK), 0);
	assert_int_equal(ibv_modify_qp(qp, &rts, RTS_MASK), 0);
	assert_int_equal(qp->state, IBV_QPS_RTS);
}

static inline void pair_start(struct rig_pair *p)
{
	rig_start(&p->rig);
	for (int i = 0; i < 2; i++) {
		struct end *end = i ? &p->b : &p->a;

		end_queues(&p->rig, end);
		struct ibv_qp_init_attr init = rig_init(end);

		end->qp = ibv_create_qp(p->rig.pd, &init);
		assert_non_null(end->qp);
	}
	connect_qp(p->a.qp, p->b.qp->qp_num);
	connect_qp(p->b.qp, p->a.qp->qp_num);
}

static inline void post_recv(const struct rig *rig, struct ibv_qp *qp, uint64_t id, uint32_t offset)
{
	struct ibv_sge sge = piece(rig, offset, 4096);
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

#endif
