/* What the tests of libweft-verbs stand on: the loopback device, and two queue pairs on it that
 * talk to each other. Every wait ends after WAIT_MS. A test that fails leaves its objects: the
 * process ends soon after. Include this first: isolate.h asks for what is not in POSIX. */
#ifndef WEFT_TESTS_UNIT_VERBS_RIG_H
#define WEFT_TESTS_UNIT_VERBS_RIG_H

#include "isolate.h"

#include "check.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_MS   5000
#define RIG_BYTES 65536u
#define RIG_DEPTH 16u
#define RIG_GID   3u /* RoCE version 2 over IPv4, as on NICs */

struct rig {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *memory; /* RIG_BYTES; the second half is the second end's */
};

struct end {
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
};

struct rig_pair {
	struct rig rig;
	struct end a, b;
};

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
	rig->pd = ibv_alloc_pd(rig->context);
	assert_non_null(rig->pd);
	rig->memory = aligned_alloc(4096, RIG_BYTES);
	assert_non_null(rig->memory);
	memset(rig->memory, 0, RIG_BYTES);
	rig->mr = ibv_reg_mr(rig->pd, rig->memory, RIG_BYTES, rights);
	assert_non_null(rig->mr);
}

static inline void rig_stop(struct rig *rig)
{
	assert_int_equal(ibv_dereg_mr(rig->mr), 0);
	assert_int_equal(ibv_dealloc_pd(rig->pd), 0);
	assert_int_equal(ibv_close_device(rig->context), 0);
	free(rig->memory);
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
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = peer & 0xffffff,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.hop_limit = 64, .sgid_index = RIG_GID}},
	};

	assert_int_equal(ibv_query_gid(qp->context, 1, RIG_GID, &attr.ah_attr.grh.dgid), 0);
	return attr;
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

static inline void end_stop(struct end *end)
{
	assert_int_equal(ibv_destroy_qp(end->qp), 0);
	assert_int_equal(ibv_destroy_cq(end->send_cq), 0);
	assert_int_equal(ibv_destroy_cq(end->recv_cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(end->channel), 0);
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

static inline void pair_stop(struct rig_pair *p)
{
	end_stop(&p->a);
	end_stop(&p->b);
	rig_stop(&p->rig);
}

static inline int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The next completion of the queue. */
static inline struct ibv_wc wait_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc = {0};
	int64_t end = now_ms() + WAIT_MS;

	while (now_ms() < end) {
		int n = ibv_poll_cq(cq, 1, &wc);

		assert_true(n >= 0);
		if (n == 1)
			return wc;
	}
	fail_msg("no completion after %d ms", WAIT_MS);
	return wc;
}

/* A piece of the rig's memory. */
static inline struct ibv_sge piece(const struct rig *rig, uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){(uintptr_t)rig->memory + offset, length, rig->mr->lkey};
}

static inline void post_recv(const struct rig *rig, struct ibv_qp *qp, uint64_t id, uint32_t offset)
{
	struct ibv_sge sge = piece(rig, offset, 4096);
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

#endif
