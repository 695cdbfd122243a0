/* What the tests of libmrc stand on: rig.h, on the loopback device of MRC and a context of it.
 * Include this first: isolate.h asks for what is not in POSIX. */
#ifndef WEFT_TESTS_UNIT_MRCAPI_RIG_H
#define WEFT_TESTS_UNIT_MRCAPI_RIG_H

#include "isolate.h"

#include "check.h"

#include <errno.h>
#include <mrc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct rig {
	struct ibv_context *verbs;
	struct mrc_context *mrc;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *memory;
};

#define RIG_OF(name) mrc_##name
#include "rig.h"

/* Fails as libibverbs does where it answers -1, or an errno value. */
#define assert_minus_one(call, error)           \
	do {                                    \
		errno = 0;                      \
		assert_int_equal((call), -1);   \
		assert_int_equal(errno, error); \
	} while (0)
#define assert_errno(call, error)                \
	do {                                     \
		errno = 0;                       \
		assert_int_equal((call), error); \
		assert_int_equal(errno, error);  \
	} while (0)
#define assert_no_pointer(call, error)          \
	do {                                    \
		errno = 0;                      \
		assert_null(call);              \
		assert_int_equal(errno, error); \
	} while (0)

/* NULL: it cannot be opened. */
static inline struct ibv_context *rig_try(const char *name)
{
	struct ibv_context *context = NULL;
	int n = 0;

	const char *config = getenv("WEFT_CONFIG");

	/* No file counts beside the interfaces, but one that a test wrote. */
	if (config && strcmp(config, "/dev/null") != 0)
		unsetenv("WEFT_INTERFACES");
	else
		setenv("WEFT_INTERFACES", "lo", 1);
	struct ibv_device **list = ibv_get_device_list(&n);

	assert_non_null(list);
	for (int i = 0; i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return context;
}

static inline struct ibv_context *rig_device(const char *name)
{
	struct ibv_context *context = rig_try(name);

	assert_non_null(context);
	return context;
}

static inline void rig_start(struct rig *rig)
{
	unsigned rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	rig->verbs = rig_device("weft_mrc0");
	rig->mrc = mrc_create_context(rig->verbs, NULL);
	assert_non_null(rig->mrc);
	rig_map(rig, rig->verbs, rights);
}

static inline void rig_stop(struct rig *rig)
{
	rig_unmap(rig);
	assert_int_equal(mrc_destroy_context(rig->mrc), 0);
	assert_int_equal(ibv_close_device(rig->verbs), 0);
}

static inline void end_queues(struct rig *rig, struct end *end)
{
	assert_int_equal(mrc_create_comp_channel(rig->mrc, &end->channel), 0);
	end->send_cq = mrc_create_cq(rig->mrc, 64, end, end->channel, 0);
	end->recv_cq = mrc_create_cq(rig->mrc, 64, end, end->channel, 0);
	assert_non_null(end->send_cq);
	assert_non_null(end->recv_cq);
}

/* One end, whose pairs talk to nobody. */
struct lone {
	struct rig rig;
	struct end end;
};

static inline void lone_start(struct lone *l)
{
	rig_start(&l->rig);
	end_queues(&l->rig, &l->end);
}

static inline void lone_stop(struct lone *l)
{
	assert_int_equal(mrc_destroy_cq(l->end.send_cq), 0);
	assert_int_equal(mrc_destroy_cq(l->end.recv_cq), 0);
	assert_int_equal(mrc_destroy_comp_channel(l->end.channel), 0);
	rig_stop(&l->rig);
}

/* The same with pairs that are still there: they end with their context. */
static inline void lone_drop(struct lone *l)
{
	assert_int_equal(mrc_destroy_context(l->rig.mrc), 0);
	l->rig.mrc = mrc_create_context(l->rig.verbs, NULL);
	rig_stop(&l->rig);
}

static inline struct mrc_qp_init_attr rig_init(const struct rig *rig, const struct end *end)
{
	return (struct mrc_qp_init_attr){
		.send_cq = end->send_cq,
		.recv_cq = end->recv_cq,
		.pd = rig->pd,
		.cap = {.max_send_wr = RIG_DEPTH,
			.max_recv_wr = RIG_DEPTH,
			.max_send_sge = 4,
			.max_recv_sge = 1,
			.max_inline_data = 64},
	};
}

static inline struct mrc_qp *rig_qp(struct rig *rig, struct end *end)
{
	struct mrc_qp_init_attr init = rig_init(rig, end);
	struct mrc_qp *qp = mrc_create_qp(rig->mrc, &init);

	assert_non_null(qp);
	return qp;
}

static inline uint32_t number_of(struct mrc_qp *qp)
{
	uint32_t number = 0;

	assert_int_equal(mrc_get_qpn(qp, &number), 0);
	return number;
}

#define RTR_MASK (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTS_MASK (IBV_QP_STATE | IBV_QP_SQ_PSN)

/* Every attribute with a value that is good in any step, for a peer of that number. */
static inline struct ibv_qp_attr good_attr(struct rig *rig, struct mrc_qp *qp, uint32_t peer)
{
	return (struct ibv_qp_attr){
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.rq_psn = peer & 0xffffff,
		.sq_psn = number_of(qp) & 0xffffff,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = rig_address(rig->verbs),
	};
}

/* Takes a queue pair as far as a state, by the shortest masks. */
static inline void bring_to(struct rig *rig, struct mrc_qp *qp, uint32_t peer,
			    enum ibv_qp_state state)
{
	static const int masks[] = {[IBV_QPS_INIT] = IBV_QP_STATE,
				    [IBV_QPS_RTR] = RTR_MASK,
				    [IBV_QPS_RTS] = RTS_MASK,
				    [IBV_QPS_SQD] = IBV_QP_STATE};
	struct ibv_qp_attr attr = good_attr(rig, qp, peer);

	if (state == IBV_QPS_ERR) {
		attr.qp_state = state;
		assert_int_equal(mrc_modify_qp(qp, &attr, IBV_QP_STATE, NULL, 0), 0);
		return;
	}
	for (int next = IBV_QPS_INIT; next <= (int)state; next++) {
		attr.qp_state = (enum ibv_qp_state)next;
		assert_int_equal(mrc_modify_qp(qp, &attr, masks[next], NULL, 0), 0);
	}
}

static inline enum ibv_qp_state state_of(struct mrc_qp *qp)
{
	struct ibv_qp_attr attr;

	assert_int_equal(mrc_query_qp(qp, &attr, IBV_QP_STATE, NULL, 0, NULL), 0);
	return attr.qp_state;
}

static inline void pair_start(struct rig_pair *p)
{
	rig_start(&p->rig);
	end_queues(&p->rig, &p->a);
	end_queues(&p->rig, &p->b);
	p->a.qp = rig_qp(&p->rig, &p->a);
	p->b.qp = rig_qp(&p->rig, &p->b);
	bring_to(&p->rig, p->a.qp, number_of(p->b.qp), IBV_QPS_RTS);
	bring_to(&p->rig, p->b.qp, number_of(p->a.qp), IBV_QPS_RTS);
}

/* A write of that piece to the second half of the memory. */
static inline struct ibv_send_wr write_of(const struct rig *rig, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)rig->memory + RIG_BYTES / 2, rig->mr->rkey},
	};
}

static inline void post_recv(struct mrc_qp *qp, uint64_t id)
{
	struct ibv_recv_wr wr = {.wr_id = id}, *bad = NULL;

	assert_int_equal(mrc_post_recv(qp, &wr, &bad), 0);
}

#endif
