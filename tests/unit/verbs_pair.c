/* libweft-verbs: queue pairs and their states. */
#include "verbs_rig.h"

struct wrong_init {
	const char *what;
	int error;
	void (*change)(struct ibv_qp_init_attr *init);
};

static void change_type_ud(struct ibv_qp_init_attr *init)
{
	init->qp_type = IBV_QPT_UD;
}

static void change_type_uc(struct ibv_qp_init_attr *init)
{
	init->qp_type = IBV_QPT_UC;
}

static void change_no_send_cq(struct ibv_qp_init_attr *init)
{
	init->send_cq = NULL;
}

static void change_no_recv_cq(struct ibv_qp_init_attr *init)
{
	init->recv_cq = NULL;
}

static void change_sends(struct ibv_qp_init_attr *init)
{
	init->cap.max_send_wr = 32769;
}

static void change_recvs(struct ibv_qp_init_attr *init)
{
	init->cap.max_recv_wr = 32769;
}

static void change_send_sge(struct ibv_qp_init_attr *init)
{
	init->cap.max_send_sge = 17;
}

static void change_recv_sge(struct ibv_qp_init_attr *init)
{
	init->cap.max_recv_sge = 17;
}

static void change_inline(struct ibv_qp_init_attr *init)
{
	init->cap.max_inline_data = 513;
}

static const struct wrong_init wrong_inits[] = {
	{"a datagram pair", EOPNOTSUPP, change_type_ud},
	{"an unreliable pair", EOPNOTSUPP, change_type_uc},
	{"no send queue", EINVAL, change_no_send_cq},
	{"no receive queue", EINVAL, change_no_recv_cq},
	{"too many sends", EINVAL, change_sends},
	{"too many receives", EINVAL, change_recvs},
	{"too many pieces", EINVAL, change_send_sge},
	{"too many pieces of receives", EINVAL, change_recv_sge},
	{"too much inline data", EINVAL, change_inline},
};

static void pair_has_limits(void **state)
{
	struct rig rig;
	struct end end;

	(void)state;
	rig_start(&rig);
	end_queues(&rig, &end);
	for (size_t i = 0; i < sizeof wrong_inits / sizeof wrong_inits[0]; i++) {
		struct ibv_qp_init_attr init = rig_init(&end);

		wrong_inits[i].change(&init);
		errno = 0;
		if (ibv_create_qp(rig.pd, &init) || errno != wrong_inits[i].error)
			fail_msg("%s: errno %d, not %d", wrong_inits[i].what, errno,
				 wrong_inits[i].error);
	}
	struct ibv_qp_init_attr init = rig_init(&end);

	init.cap = (struct ibv_qp_cap){0};
	init.qp_context = &rig;
	end.qp = ibv_create_qp(rig.pd, &init);
	assert_non_null(end.qp);
	assert_ptr_equal(end.qp->qp_context, &rig);
	assert_int_equal(end.qp->state, IBV_QPS_RESET);
	assert_int_equal(end.qp->qp_type, IBV_QPT_RC);
	assert_true(end.qp->qp_num > 1 && end.qp->qp_num < 1u << 24);
	end_stop(&end);
	rig_stop(&rig);
}

static void extended_pair_has_limits(void **state)
{
	struct rig rig;
	struct end end;

	(void)state;
	rig_start(&rig);
	end_queues(&rig, &end);
	struct ibv_qp_init_attr plain = rig_init(&end);
	struct ibv_qp_init_attr_ex init = {.send_cq = plain.send_cq,
					   .recv_cq = plain.recv_cq,
					   .cap = plain.cap,
					   .qp_type = IBV_QPT_RC,
					   .pd = rig.pd,
					   .comp_mask = IBV_QP_INIT_ATTR_PD};

	end.qp = ibv_create_qp_ex(rig.context, &init);
	assert_non_null(end.qp);
	assert_null(ibv_qp_to_qp_ex(end.qp));
	assert_int_equal(ibv_destroy_qp(end.qp), 0);
	init.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	end.qp = ibv_create_qp_ex(rig.context, &init);
	assert_non_null(end.qp);
	assert_int_equal(ibv_destroy_qp(end.qp), 0);
	init.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	assert_null(ibv_create_qp_ex(rig.context, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	init.create_flags = 0;
	init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_TSO;
	assert_null(ibv_create_qp_ex(rig.context, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD;
	assert_null(ibv_create_qp_ex(rig.context, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	init.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS;
	assert_null(ibv_create_qp_ex(rig.context, &init));
	assert_int_equal(errno, EINVAL);
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_SEND;
	end.qp = ibv_create_qp_ex(rig.context, &init);
	assert_non_null(end.qp);
	assert_non_null(ibv_qp_to_qp_ex(end.qp));
	end_stop(&end);
	rig_stop(&rig);
}

/* IBTA table 91, written down once more and otherwise: for each pair of states the attributes that
 * must be there, and those that may. */
struct change {
	enum ibv_qp_state from, to;
	int required, optional;
};

#define SOME (IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE | IBV_QP_CUR_STATE)

static const struct change changes[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
	{IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
	{IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK & ~IBV_QP_STATE,
	 IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
	{IBV_QPS_RTR, IBV_QPS_RTS, RTS_MASK & ~IBV_QP_STATE, SOME},
	{IBV_QPS_RTS, IBV_QPS_RTS, 0, SOME},
	{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
	{IBV_QPS_SQD, IBV_QPS_RTS, 0, SOME},
	{IBV_QPS_SQD, IBV_QPS_SQD, 0,
	 (SOME & ~IBV_QP_CUR_STATE) | IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
		 IBV_QP_PKEY_INDEX},
};

static const struct change *find_change(enum ibv_qp_state from, enum ibv_qp_state to)
{
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
		if (changes[i].from == from && changes[i].to == to)
			return &changes[i];
	return NULL;
}

/* Values that are right for every attribute. */
static struct ibv_qp_attr all_attr(struct ibv_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = rtr_attr(qp, 0x1234), rts = rts_attr(qp);

	attr.qp_state = to;
	attr.cur_qp_state = from;
	attr.port_num = 1;
	attr.path_mig_state = IBV_MIG_MIGRATED;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	attr.sq_psn = rts.sq_psn;
	attr.timeout = rts.timeout;
	attr.retry_cnt = rts.retry_cnt;
	attr.rnr_retry = rts.rnr_retry;
	attr.max_rd_atomic = rts.max_rd_atomic;
	return attr;
}

static int change_state(struct ibv_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = all_attr(qp, from, to);

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask);
}

static void go_to(struct ibv_qp *qp, enum ibv_qp_state to)
{
	static const enum ibv_qp_state ev[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
					       IBV_QPS_RTS, IBV_QPS_SQD};

	assert_int_equal(change_state(qp, IBV_QPS_RESET, IBV_QPS_RESET, 0), 0);
	if (to == IBV_QPS_ERR) {
		assert_int_equal(change_state(qp, IBV_QPS_RESET, to, 0), 0);
		return;
	}
	for (int i = 0; ev[i] != to; i++)
		assert_int_equal(
			change_state(qp, ev[i], ev[i + 1], find_change(ev[i], ev[i + 1])->required),
			0);
	assert_int_equal(qp->state, to);
}

#define ATTRIBUTES 26

static void check_change(struct ibv_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to)
{
	static const struct change leave = {0};
	const struct change *change = find_change(from, to);
	bool is_always = to == IBV_QPS_RESET || to == IBV_QPS_ERR;

	if (is_always)
		change = &leave;
	for (int bit = 1; bit < ATTRIBUTES; bit++) {
		int one = 1 << bit, required = change ? change->required : 0;
		int optional = change ? change->optional : 0;
		bool may = change &&
			   (one & (required | optional) || (is_always && one == IBV_QP_CUR_STATE));

		go_to(qp, from);
		int with = change_state(qp, from, to, required | one);

		if (with != (may ? 0 : EINVAL))
			fail_msg("%d to %d with attribute %d: %d", from, to, bit, with);
		if (!(one & required))
			continue;
		go_to(qp, from);
		if (change_state(qp, from, to, required & ~one) != EINVAL)
			fail_msg("%d to %d without attribute %d", from, to, bit);
		assert_int_equal(qp->state, from);
	}
	go_to(qp, from);
	assert_int_equal(change_state(qp, from, to, change ? change->required : 0),
			 change ? 0 : EINVAL);
}

static void states_change_as_the_table_says(void **state)
{
	static const enum ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						   IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		for (size_t j = 0; j < sizeof states / sizeof states[0]; j++)
			check_change(p.a.qp, states[i], states[j]);
	go_to(p.a.qp, IBV_QPS_RTS);
	assert_int_equal(change_state(p.a.qp, IBV_QPS_RTS, IBV_QPS_SQE, 0), EINVAL);
	assert_int_equal(change_state(p.a.qp, IBV_QPS_RTS, (enum ibv_qp_state)99, 0), EINVAL);
	pair_stop(&p);
}

/* One attribute at a time out of its range, on the way to a state. */
static void values_have_ranges(void **state)
{
	struct rig_pair p;
	struct ibv_qp *qp;

	(void)state;
	pair_start(&p);
	qp = p.a.qp;
#define REFUSES(before, to, mask, change)                                 \
	do {                                                              \
		go_to(qp, before);                                        \
		struct ibv_qp_attr attr = all_attr(qp, before, to);       \
		change;                                                   \
		assert_int_equal(ibv_modify_qp(qp, &attr, mask), EINVAL); \
		assert_int_equal(qp->state, before);                      \
	} while (0)
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

	REFUSES(IBV_QPS_RESET, IBV_QPS_INIT, init, attr.port_num = 2);
	REFUSES(IBV_QPS_RESET, IBV_QPS_INIT, init, attr.pkey_index = 1);
	REFUSES(IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK, attr.path_mtu = (enum ibv_mtu)0);
	REFUSES(IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK, attr.path_mtu = (enum ibv_mtu)6);
	REFUSES(IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK, attr.ah_attr.is_global = 0);
	REFUSES(IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK, attr.ah_attr.port_num = 0);
	REFUSES(IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK, attr.ah_attr.grh.sgid_index = 63);
	REFUSES(IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK, attr.ah_attr.grh.sgid_index = 255);
	go_to(qp, IBV_QPS_INIT);
	struct ibv_qp_attr v1 = all_attr(qp, IBV_QPS_INIT, IBV_QPS_RTR);

	v1.ah_attr.grh.sgid_index = RIG_GID - 1;
	assert_int_equal(ibv_modify_qp(qp, &v1, RTR_MASK), EOPNOTSUPP);
	assert_int_equal(qp->state, IBV_QPS_INIT);
	REFUSES(IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK, attr.max_dest_rd_atomic = 17);
	REFUSES(IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK, attr.min_rnr_timer = 32);
	REFUSES(IBV_QPS_INIT, IBV_QPS_RTR, RTR_MASK, attr.dest_qp_num = 1u << 24);
	REFUSES(IBV_QPS_RTR, IBV_QPS_RTS, RTS_MASK, attr.timeout = 32);
	REFUSES(IBV_QPS_RTR, IBV_QPS_RTS, RTS_MASK, attr.retry_cnt = 8);
	REFUSES(IBV_QPS_RTR, IBV_QPS_RTS, RTS_MASK, attr.rnr_retry = 8);
	REFUSES(IBV_QPS_RTR, IBV_QPS_RTS, RTS_MASK, attr.max_rd_atomic = 17);
	REFUSES(IBV_QPS_RTR, IBV_QPS_RTS, RTS_MASK | IBV_QP_CUR_STATE,
		attr.cur_qp_state = IBV_QPS_INIT);
	REFUSES(IBV_QPS_RTR, IBV_QPS_RTS, RTS_MASK | IBV_QP_PATH_MIG_STATE,
		attr.path_mig_state = IBV_MIG_REARM);
	pair_stop(&p);
}

static void query_tells_what_was_set(void **state)
{
	struct rig_pair p;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	(void)state;
	pair_start(&p);
	assert_int_equal(ibv_query_qp(p.a.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.dest_qp_num, p.b.qp->qp_num);
	assert_int_equal(attr.rq_psn, p.b.qp->qp_num);
	assert_int_equal(attr.sq_psn, p.a.qp->qp_num);
	assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.retry_cnt, 7);
	assert_int_equal(attr.rnr_retry, 1);
	assert_int_equal(attr.min_rnr_timer, 1);
	assert_int_equal(attr.max_rd_atomic, 4);
	assert_int_equal(attr.max_dest_rd_atomic, 4);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 64);
	assert_int_equal(attr.ah_attr.grh.dgid.raw[12], 127);
	assert_int_equal(attr.sq_draining, 0);
	assert_ptr_equal(init.send_cq, p.a.send_cq);
	assert_ptr_equal(init.recv_cq, p.a.recv_cq);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
	assert_true(init.cap.max_send_wr >= RIG_DEPTH && init.cap.max_inline_data >= 64);
	pair_stop(&p);
}

static void what_a_pair_has_not_is_refused(void **state)
{
	struct rig_pair p;
	union ibv_gid gid = {{0xff}};
	struct ibv_ece ece = {0};
	struct ibv_flow_attr flow = {0};
	struct ibv_qp_rate_limit_attr rate = {0};

	(void)state;
	pair_start(&p);
	assert_int_equal(ibv_attach_mcast(p.a.qp, &gid, 0), EOPNOTSUPP);
	assert_int_equal(ibv_detach_mcast(p.a.qp, &gid, 0), EOPNOTSUPP);
	assert_int_equal(ibv_set_ece(p.a.qp, &ece), EOPNOTSUPP);
	assert_int_equal(ibv_query_ece(p.a.qp, &ece), EOPNOTSUPP);
	assert_int_equal(ibv_query_qp_data_in_order(p.a.qp, IBV_WR_RDMA_WRITE, 0), 0);
	assert_int_equal(ibv_modify_qp_rate_limit(p.a.qp, &rate), EOPNOTSUPP);
	assert_null(ibv_create_flow(p.a.qp, &flow));
	assert_int_equal(errno, EOPNOTSUPP);
	pair_stop(&p);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(pair_has_limits),
	cmocka_unit_test(extended_pair_has_limits),
	cmocka_unit_test(states_change_as_the_table_says),
	cmocka_unit_test(values_have_ranges),
	cmocka_unit_test(query_tells_what_was_set),
	cmocka_unit_test(what_a_pair_has_not_is_refused),
};

ISOLATED_MAIN(cases)
