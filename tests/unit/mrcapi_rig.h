/* What the tests of libmrc stand on: the loopback device of MRC, a context on it, and two queue
 * pairs that talk to each other. Every wait ends after WAIT_MS. A test that fails leaves its
 * objects: the process ends soon after. Include this first: isolate.h asks for what is not in
 * POSIX. */
#ifndef WEFT_TESTS_UNIT_MRCAPI_RIG_H
#define WEFT_TESTS_UNIT_MRCAPI_RIG_H

#include "isolate.h"

#include "check.h"

#include <errno.h>
#include <mrc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_MS   5000
#define RIG_BYTES 65536u
#define RIG_DEPTH 16u
#define RIG_GID   3u /* RoCE version 2 over IPv4, as on NICs */

struct rig {
	struct ibv_context *verbs;
	struct mrc_context *mrc;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *memory; /* RIG_BYTES; the second half is the second end's */
};

struct end {
	struct mrc_comp_channel *channel;
	struct mrc_cq *send_cq, *recv_cq;
	struct mrc_qp *qp;
};

struct rig_pair {
	struct rig rig;
	struct end a, b;
};

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
	rig->pd = ibv_alloc_pd(rig->verbs);
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
	assert_int_equal(mrc_destroy_context(rig->mrc), 0);
	assert_int_equal(ibv_close_device(rig->verbs), 0);
	free(rig->memory);
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
	struct ibv_qp_attr attr = {
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
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.hop_limit = 64, .sgid_index = RIG_GID}},
	};

	assert_int_equal(ibv_query_gid(rig->verbs, 1, RIG_GID, &attr.ah_attr.grh.dgid), 0);
	return attr;
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

static inline void end_stop(struct end *end)
{
	assert_int_equal(mrc_destroy_qp(end->qp), 0);
	assert_int_equal(mrc_destroy_cq(end->send_cq), 0);
	assert_int_equal(mrc_destroy_cq(end->recv_cq), 0);
	assert_int_equal(mrc_destroy_comp_channel(end->channel), 0);
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
static inline struct ibv_wc wait_wc(struct mrc_cq *cq)
{
	struct ibv_wc wc = {0};
	int64_t end = now_ms() + WAIT_MS;

	while (now_ms() < end) {
		int n = mrc_poll_cq(cq, 1, &wc);

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
