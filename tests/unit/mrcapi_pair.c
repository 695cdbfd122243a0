/* libmrc: queue pairs, how they are made and asked. */
#include "mrcapi_rig.h"

static void pairs_are_granted(void **state)
{
	struct lone l;
	struct ibv_qp_attr attr;
	struct mrc_qp_init_attr asked;
	uint32_t number[2] = {0, 0};

	(void)state;
	lone_start(&l);
	struct mrc_qp_init_attr init = rig_init(&l.rig, &l.end);

	init.qp_context = &l;
	init.sq_sig_all = 1;
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	init.protocol_version = MRC_PROTOCOL_VERSION_1;
	struct mrc_qp *qp = mrc_create_qp(l.rig.mrc, &init);

	assert_non_null(qp);
	assert_int_equal(mrc_query_qp(qp, &attr, IBV_QP_CAP, NULL, 0, &asked), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RESET);
	assert_memory_equal(&attr.cap, &init.cap, sizeof init.cap);
	assert_memory_equal(&asked.cap, &init.cap, sizeof init.cap);
	assert_ptr_equal(asked.qp_context, &l);
	assert_ptr_equal(asked.pd, l.rig.pd);
	assert_ptr_equal(asked.send_cq, l.end.send_cq);
	assert_int_equal(asked.sq_sig_all, 1);
	assert_true(init.cap.max_send_wr >= RIG_DEPTH && init.cap.max_recv_wr >= RIG_DEPTH);
	/* A pair without any wish still sends. */
	struct mrc_qp_init_attr bare = {.send_cq = l.end.send_cq, .recv_cq = l.end.recv_cq};

	bare.pd = l.rig.pd;
	struct mrc_qp *other = mrc_create_qp(l.rig.mrc, &bare);

	assert_non_null(other);
	assert_true(bare.cap.max_send_wr >= 1 && bare.cap.max_send_sge >= 1);
	assert_int_equal(mrc_get_qpn(qp, &number[0]), 0);
	assert_int_equal(mrc_get_qpn(other, &number[1]), 0);
	assert_true(number[0] > 2 && number[1] > 2 && number[0] != number[1]);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	assert_int_equal(mrc_destroy_qp(other), 0);
	lone_stop(&l);
}

/* Each mistake alone. */
static void nonsense_is_refused(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	struct mrc_context *other = mrc_create_context(l.rig.verbs, NULL);
	struct ibv_context *rc = rig_device("weft_rc0");
	struct ibv_pd *rc_pd = ibv_alloc_pd(rc);
	struct mrc_cq *other_cq = mrc_create_cq(other, 8, NULL, NULL, 0);
	const struct mrc_qp_init_attr good = rig_init(&l.rig, &l.end);
	struct mrc_qp_init_attr bad[13];
	const int errors[13] = {EINVAL,     EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, EOPNOTSUPP,
				EOPNOTSUPP, EINVAL, EINVAL, EINVAL, EINVAL, EINVAL};

	for (int i = 0; i < 13; i++)
		bad[i] = good;
	bad[0].send_cq = NULL;
	bad[1].recv_cq = NULL;
	bad[2].pd = NULL;
	bad[3].send_cq = other_cq;
	bad[4].recv_cq = other_cq;
	bad[5].pd = rc_pd;
	bad[6].send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
	bad[7].protocol_version = (enum mrc_protocol_version)2;
	bad[8].cap.max_send_wr = 1u << 20;
	bad[9].cap.max_recv_wr = 1u << 20;
	bad[10].cap.max_send_sge = 17;
	bad[11].cap.max_recv_sge = 17;
	bad[12].cap.max_inline_data = 1u << 20;
	for (int i = 0; i < 13; i++)
		assert_no_pointer(mrc_create_qp(l.rig.mrc, &bad[i]), errors[i]);
	assert_no_pointer(mrc_create_qp(NULL, &bad[0]), EINVAL);
	assert_no_pointer(mrc_create_qp(l.rig.mrc, NULL), EINVAL);
	assert_errno(mrc_destroy_qp(NULL), EINVAL);
	assert_minus_one(mrc_get_qpn(NULL, &(uint32_t){0}), EINVAL);
	assert_int_equal(ibv_dealloc_pd(rc_pd), 0);
	assert_int_equal(ibv_close_device(rc), 0);
	assert_int_equal(mrc_destroy_context(other), 0);
	lone_stop(&l);
}

static void a_query_needs_somewhere_to_write(void **state)
{
	struct lone l;
	struct ibv_qp_attr attr;
	struct mrc_qp_attr mrc;

	(void)state;
	lone_start(&l);
	struct mrc_qp *qp = rig_qp(&l.rig, &l.end);

	assert_errno(mrc_query_qp(NULL, &attr, 0, &mrc, 0, NULL), EINVAL);
	assert_errno(mrc_query_qp(qp, NULL, IBV_QP_STATE, &mrc, 0, NULL), EINVAL);
	assert_errno(mrc_query_qp(qp, &attr, 0, NULL, MRC_QP_MPR, NULL), EINVAL);
	assert_int_equal(mrc_query_qp(qp, NULL, 0, NULL, 0, NULL), 0);
	assert_errno(mrc_modify_qp(NULL, &attr, 0, &mrc, 0), EINVAL);
	assert_errno(mrc_modify_qp(qp, NULL, IBV_QP_STATE, &mrc, 0), EINVAL);
	assert_errno(mrc_modify_qp(qp, &attr, 0, NULL, MRC_QP_MPR), EINVAL);
	assert_minus_one(mrc_get_qpn(qp, NULL), EINVAL);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	lone_stop(&l);
}

static void what_was_set_is_told(void **state)
{
	struct lone l;
	struct ibv_qp_attr is;
	struct mrc_qp_attr mrc = {0};

	(void)state;
	lone_start(&l);
	struct mrc_qp *qp = rig_qp(&l.rig, &l.end);

	assert_int_equal(mrc_query_qp(qp, NULL, 0, &mrc, MRC_QP_MPR, NULL), 0);
	assert_int_equal(mrc.mpr.mpr, 32);
	assert_int_equal(mrc.wimm.max_wimm, 512);
	assert_int_equal(mrc.timeout, 16);
	assert_int_equal(mrc.retry.linear_cnt, 4);
	assert_int_equal(mrc.retry.exp_cnt, 5);
	struct ibv_qp_attr attr = good_attr(&l.rig, qp, 0x1234);

	bring_to(&l.rig, qp, 0x1234, IBV_QPS_RTR);
	mrc = (struct mrc_qp_attr){.mpr = {7, 0}, .timeout = 20, .retry = {3, 25}};
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(mrc_modify_qp(qp, &attr, RTS_MASK | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT,
				       &mrc, MRC_QP_MPR | MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT),
			 0);
	memset(&mrc, 0, sizeof mrc);
	assert_int_equal(mrc_query_qp(qp, &is, IBV_QP_STATE, &mrc, MRC_QP_MPR, NULL), 0);
	assert_int_equal(is.qp_state, IBV_QPS_RTS);
	assert_int_equal(is.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(is.path_mtu, IBV_MTU_1024);
	assert_int_equal(is.dest_qp_num, 0x1234);
	assert_int_equal(is.rq_psn, attr.rq_psn);
	assert_int_equal(is.sq_psn, attr.sq_psn);
	assert_int_equal(is.qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
	assert_memory_equal(&is.ah_attr.grh.dgid, &attr.ah_attr.grh.dgid, 16);
	assert_int_equal(is.timeout, 14);
	assert_int_equal(is.retry_cnt, 7);
	assert_int_equal(mrc.mpr.mpr, 7);
	assert_int_equal(mrc.mpr.mpr_dest, 32);
	assert_int_equal(mrc.timeout, 20);
	assert_int_equal(mrc.retry.linear_cnt, 3);
	assert_int_equal(mrc.retry.exp_cnt, 25);
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(mrc_modify_qp(qp, &attr, IBV_QP_STATE, NULL, 0), 0);
	assert_int_equal(mrc_query_qp(qp, &is, IBV_QP_STATE, &mrc, MRC_QP_MPR, NULL), 0);
	assert_int_equal(is.dest_qp_num, 0);
	assert_int_equal(mrc.mpr.mpr, 32);
	assert_int_equal(mrc.timeout, 16);
	assert_int_equal(mrc_destroy_qp(qp), 0);
	lone_stop(&l);
}

#define MANY 1024u

static void many_pairs_are_cheap(void **state)
{
	static struct mrc_qp *qps[MANY];
	struct lone l;

	(void)state;
	lone_start(&l);
	for (uint32_t i = 0; i < MANY; i++) {
		qps[i] = rig_qp(&l.rig, &l.end);
		bring_to(&l.rig, qps[i], 0x100, IBV_QPS_RTS);
	}
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(mrc_destroy_qp(qps[i]), 0);
	lone_stop(&l);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(pairs_are_granted),
	cmocka_unit_test(nonsense_is_refused),
	cmocka_unit_test(a_query_needs_somewhere_to_write),
	cmocka_unit_test(what_was_set_is_told),
	cmocka_unit_test(many_pairs_are_cheap),
};

ISOLATED_MAIN(cases)
