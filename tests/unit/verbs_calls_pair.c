/* The calls of libweft-verbs about queue pairs and what is posted to them, one by one: see
 * verbs_calls.h. What each change of state needs is in verbs_pair.c. */
#include "verbs_calls.h"

/* A pair that is not connected. */
struct lone {
	struct rig rig;
	struct end end;
};

static void lone_start(struct lone *l)
{
	rig_start(&l->rig);
	end_queues(&l->rig, &l->end);
	struct ibv_qp_init_attr init = rig_init(&l->end);

	l->end.qp = ibv_create_qp(l->rig.pd, &init);
	assert_non_null(l->end.qp);
}

static void lone_stop(struct lone *l)
{
	end_stop(&l->end);
	rig_stop(&l->rig);
}

/* One member of the struct at a time is wrong. */
static void create_qp(void **state)
{
	struct lone l;
	struct ibv_device_attr limits;

	(void)state;
	lone_start(&l);
	struct ibv_context *other = rig_open();
	struct ibv_cq *elsewhere = ibv_create_cq(other, 4, NULL, NULL, 0);

	FINE(ibv_query_device(l.rig.context, &limits));
#define REFUSED(error, change)                                   \
	do {                                                     \
		struct ibv_qp_init_attr attr = rig_init(&l.end); \
		change;                                          \
		NOTHING(error, ibv_create_qp(l.rig.pd, &attr));  \
	} while (0)
	REFUSED(EOPNOTSUPP, attr.qp_type = IBV_QPT_UD);
	REFUSED(EOPNOTSUPP, attr.qp_type = IBV_QPT_UC);
	REFUSED(EOPNOTSUPP, attr.qp_type = IBV_QPT_XRC_SEND);
	REFUSED(EOPNOTSUPP, attr.qp_type = IBV_QPT_RAW_PACKET);
	REFUSED(EINVAL, attr.send_cq = NULL);
	REFUSED(EINVAL, attr.recv_cq = NULL);
	REFUSED(EINVAL, attr.send_cq = elsewhere);
	REFUSED(EINVAL, attr.recv_cq = elsewhere);
	REFUSED(EINVAL, attr.cap.max_send_wr = (uint32_t)limits.max_qp_wr + 1);
	REFUSED(EINVAL, attr.cap.max_recv_wr = (uint32_t)limits.max_qp_wr + 1);
	REFUSED(EINVAL, attr.cap.max_send_sge = (uint32_t)limits.max_sge + 1);
	REFUSED(EINVAL, attr.cap.max_recv_sge = (uint32_t)limits.max_sge + 1);
	REFUSED(EINVAL, attr.cap.max_inline_data = 1u << 20);
	SAYS(EBUSY, ibv_destroy_cq(l.end.send_cq));
	FINE(ibv_destroy_cq(elsewhere));
	FINE(ibv_close_device(other));
	lone_stop(&l);
}

static void create_qp_ex(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	struct ibv_qp_init_attr_ex good = {.send_cq = l.end.send_cq,
					   .recv_cq = l.end.recv_cq,
					   .cap = {4, 4, 1, 1, 0},
					   .qp_type = IBV_QPT_RC,
					   .pd = l.rig.pd,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .send_ops_flags = IBV_QP_EX_WITH_SEND};
#define REFUSED_EX(error, change)                                       \
	do {                                                            \
		struct ibv_qp_init_attr_ex attr = good;                 \
		change;                                                 \
		NOTHING(error, ibv_create_qp_ex(l.rig.context, &attr)); \
	} while (0)
	REFUSED_EX(EINVAL, attr.comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_PD);
	REFUSED_EX(EINVAL, attr.pd = NULL);
	REFUSED_EX(EOPNOTSUPP, attr.send_ops_flags = IBV_QP_EX_WITH_TSO);
	REFUSED_EX(EOPNOTSUPP, attr.comp_mask |= IBV_QP_INIT_ATTR_XRCD);
	REFUSED_EX(EOPNOTSUPP, {
		attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	});
	struct ibv_qp *qp = ibv_create_qp_ex(l.rig.context, &good);

	assert_non_null(qp);
	assert_non_null(ibv_qp_to_qp_ex(qp));
	/* One that was made without those calls has none. */
	assert_null(ibv_qp_to_qp_ex(l.end.qp));
	assert_int_equal(ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0), 0);
	FINE(ibv_destroy_qp(qp));
	lone_stop(&l);
}

static void create_qp_of_mrc(void **state)
{
	struct ibv_context *context = open_mrc();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};

	(void)state;
	NOTHING(EOPNOTSUPP, ibv_create_qp(pd, &attr));
	FINE(ibv_destroy_cq(cq));
	FINE(ibv_dealloc_pd(pd));
	FINE(ibv_close_device(context));
}

static void modify_and_query_qp(void **state)
{
	struct lone l;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	struct ibv_qp_init_attr init;

	(void)state;
	lone_start(&l);
	SAYS(EINVAL, ibv_modify_qp(l.end.qp, &attr, IBV_QP_STATE));
	attr.qp_state = (enum ibv_qp_state)42;
	SAYS(EINVAL, ibv_modify_qp(l.end.qp, &attr, IBV_QP_STATE));
	FINE(to_init(l.end.qp));
	attr = rtr_attr(l.end.qp, 5);
	SAYS(EINVAL, ibv_modify_qp(l.end.qp, &attr, RTR_MASK | IBV_QP_QKEY));
	SAYS(EINVAL, ibv_modify_qp(l.end.qp, &attr, RTR_MASK & ~IBV_QP_AV));
	attr.ah_attr.grh.sgid_index = RIG_GID - 1;
	SAYS(EOPNOTSUPP, ibv_modify_qp(l.end.qp, &attr, RTR_MASK));
	attr.ah_attr.grh.sgid_index = 127;
	SAYS(EINVAL, ibv_modify_qp(l.end.qp, &attr, RTR_MASK));
	FINE(ibv_query_qp(l.end.qp, &attr, IBV_QP_STATE, &init));
	assert_int_equal(attr.qp_state, IBV_QPS_INIT);
	assert_int_equal(init.cap.max_send_wr, RIG_DEPTH);
	lone_stop(&l);
}

/* Nothing of these is for reliable connections, or for us. */
static void what_pairs_do_not_have(void **state)
{
	struct lone l;
	struct ibv_ece ece = {0};
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1};
	struct ibv_wc wc = {0};
	union ibv_gid gid = {.raw = {0xff, 0x0e}};
	uint8_t mac[6];
	uint16_t vid;

	(void)state;
	lone_start(&l);
	SAYS(EOPNOTSUPP, ibv_set_ece(l.end.qp, &ece));
	SAYS(EOPNOTSUPP, ibv_query_ece(l.end.qp, &ece));
	SAYS(EOPNOTSUPP, ibv_attach_mcast(l.end.qp, &gid, 0));
	SAYS(EOPNOTSUPP, ibv_detach_mcast(l.end.qp, &gid, 0));
	NOTHING(EOPNOTSUPP, ibv_create_ah(l.rig.pd, &ah));
	NOTHING(EOPNOTSUPP, ibv_create_ah_from_wc(l.rig.pd, &wc, NULL, 1));
	SAYS(EOPNOTSUPP, ibv_init_ah_from_wc(l.rig.context, 1, &wc, NULL, &ah));
	SAYS(EOPNOTSUPP, ibv_resolve_eth_l2_from_gid(l.rig.context, &ah, mac, &vid));
	struct ibv_ah none = {.context = l.rig.context};

	SAYS(EOPNOTSUPP, ibv_destroy_ah(&none));
	lone_stop(&l);
}

static void post_send(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge[5] = {piece(&p.rig, 0, 64)};
	struct ibv_send_wr good = {.sg_list = sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_RDMA_WRITE,
				   .send_flags = IBV_SEND_SIGNALED,
				   .wr.rdma = {(uintptr_t)p.rig.memory + 4096, p.rig.mr->rkey}},
			   wr, *bad = NULL;
#define BAD(error, change)                                     \
	do {                                                   \
		wr = good;                                     \
		change;                                        \
		bad = NULL;                                    \
		SAYS(error, ibv_post_send(p.a.qp, &wr, &bad)); \
		assert_ptr_equal(bad, &wr);                    \
	} while (0)
	BAD(EINVAL, wr.num_sge = 5);
	BAD(EINVAL, wr.num_sge = -1);
	BAD(EINVAL, wr.opcode = (enum ibv_wr_opcode)99);
	BAD(EINVAL, wr.send_flags |= IBV_SEND_IP_CSUM);
	BAD(EINVAL, {
		wr.send_flags |= IBV_SEND_INLINE;
		sge[0].length = 65;
	});
	sge[0].length = 64;
	BAD(EINVAL, {
		wr.opcode = IBV_WR_RDMA_READ;
		wr.send_flags |= IBV_SEND_INLINE;
	});
	/* The first that is wrong is told; what stands before it was posted. */
	struct ibv_send_wr second = good, first = good;

	first.next = &second;
	second.num_sge = 5;
	SAYS(EINVAL, ibv_post_send(p.a.qp, &first, &bad));
	assert_ptr_equal(bad, &second);
	assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
	/* A key that is wrong is not a mistake of the call. */
	sge[0].lkey ^= 0x5500;
	FINE(ibv_post_send(p.a.qp, &good, &bad));
	assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_LOC_PROT_ERR);
	pair_stop(&p);
}

static void post_recv_call(void **state)
{
	struct lone l;

	(void)state;
	lone_start(&l);
	struct ibv_sge sge = piece(&l.rig, 0, 64);
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad = NULL;
	struct ibv_send_wr send = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;

	/* Queues of a pair in RESET take nothing; from INIT on they take receives. */
	SAYS(EINVAL, ibv_post_recv(l.end.qp, &wr, &bad));
	assert_ptr_equal(bad, &wr);
	SAYS(EINVAL, ibv_post_send(l.end.qp, &send, &bad_send));
	FINE(to_init(l.end.qp));
	SAYS(EINVAL, ibv_post_send(l.end.qp, &send, &bad_send));
	wr.num_sge = 5;
	SAYS(EINVAL, ibv_post_recv(l.end.qp, &wr, &bad));
	wr.num_sge = -1;
	SAYS(EINVAL, ibv_post_recv(l.end.qp, &wr, &bad));
	wr.num_sge = 1;
	for (uint32_t i = 0; i < RIG_DEPTH; i++)
		FINE(ibv_post_recv(l.end.qp, &wr, &bad));
	SAYS(ENOMEM, ibv_post_recv(l.end.qp, &wr, &bad));
	assert_ptr_equal(bad, &wr);
	lone_stop(&l);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(create_qp),
	cmocka_unit_test(create_qp_ex),
	cmocka_unit_test(create_qp_of_mrc),
	cmocka_unit_test(modify_and_query_qp),
	cmocka_unit_test(what_pairs_do_not_have),
	cmocka_unit_test(post_send),
	cmocka_unit_test(post_recv_call),
};

ISOLATED_MAIN(cases)
