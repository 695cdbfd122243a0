/* libmrc: work requests, and how they end. */
#include "mrcapi_rig.h"

#include <arpa/inet.h>

#define HALF (RIG_BYTES / 2)

static void fill(uint8_t *at, uint32_t len, uint8_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		at[i] = (uint8_t)(i * 7 + seed);
}

static void writes_arrive(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	for (uint32_t len = 0; len <= HALF; len = len * 3 + 1) {
		struct ibv_sge sge = piece(&p.rig, 0, len);
		struct ibv_send_wr wr = write_of(&p.rig, &sge), *bad = NULL;

		fill(p.rig.memory, len, (uint8_t)len);
		memset(p.rig.memory + HALF, 0, HALF);
		wr.wr_id = len;
		assert_int_equal(mrc_post_send(p.a.qp, &wr, &bad), 0);
		struct ibv_wc wc = wait_wc(p.a.send_cq);

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
		assert_int_equal(wc.wr_id, len);
		assert_int_equal(wc.qp_num, number_of(p.a.qp));
		assert_memory_equal(p.rig.memory, p.rig.memory + HALF, len);
	}
	pair_stop(&p);
}

static void immediate_data_consumes_a_receive(void **state)
{
	struct rig_pair p;
	struct ibv_recv_wr recv = {.wr_id = 77, .num_sge = 1}, *bad_recv = NULL;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge = piece(&p.rig, 0, 100), unused = piece(&p.rig, 4096, 64);
	struct ibv_send_wr wr = write_of(&p.rig, &sge), *bad = NULL;

	/* A piece is taken with it and not written to. */
	recv.sg_list = &unused;
	fill(p.rig.memory, 100, 3);
	assert_int_equal(mrc_post_recv(p.b.qp, &recv, &bad_recv), 0);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm_data = htonl(0x11223344);
	assert_int_equal(mrc_post_send(p.a.qp, &wr, &bad), 0);
	struct ibv_wc wc = wait_wc(p.b.recv_cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.byte_len, 100);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(ntohl(wc.imm_data), 0x11223344);
	assert_int_equal(wc.qp_num, number_of(p.b.qp));
	assert_int_equal(wc.src_qp, number_of(p.a.qp));
	assert_memory_equal(p.rig.memory, p.rig.memory + HALF, 100);
	assert_int_equal(p.rig.memory[4096], 0);
	assert_int_equal(wait_wc(p.a.send_cq).opcode, IBV_WC_RDMA_WRITE);
	pair_stop(&p);
}

/* Pieces of memory in a list, bytes in line that may change at once, and only the last told of. */
static void lists_pieces_and_inline(void **state)
{
	struct rig_pair p;
	uint8_t local[64];
	struct ibv_wc wc;

	(void)state;
	pair_start(&p);
	struct ibv_sge pieces[4] = {piece(&p.rig, 0, 10), piece(&p.rig, 100, 20),
				    piece(&p.rig, 200, 0), piece(&p.rig, 300, 30)};
	struct ibv_sge in_line = {(uintptr_t)local, sizeof local, 0};
	struct ibv_send_wr wr[3] = {write_of(&p.rig, pieces), write_of(&p.rig, &in_line),
				    write_of(&p.rig, pieces)};
	struct ibv_send_wr *bad = NULL;

	fill(p.rig.memory, 1000, 9);
	fill(local, sizeof local, 1);
	wr[0].num_sge = 4;
	wr[0].send_flags = IBV_SEND_FENCE;
	wr[0].next = &wr[1];
	wr[1].send_flags = IBV_SEND_INLINE;
	wr[1].wr.rdma.remote_addr += 1000;
	wr[1].next = &wr[2];
	wr[2].wr_id = 5;
	wr[2].wr.rdma.remote_addr += 2000;
	assert_int_equal(mrc_post_send(p.a.qp, wr, &bad), 0);
	memset(local, 0, sizeof local);
	wc = wait_wc(p.a.send_cq);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(mrc_poll_cq(p.a.send_cq, 1, &wc), 0);
	assert_memory_equal(p.rig.memory + HALF, p.rig.memory, 10);
	assert_memory_equal(p.rig.memory + HALF + 10, p.rig.memory + 100, 20);
	assert_memory_equal(p.rig.memory + HALF + 30, p.rig.memory + 300, 30);
	fill(local, sizeof local, 1);
	assert_memory_equal(p.rig.memory + HALF + 1000, local, sizeof local);
	pair_stop(&p);
}

static void all_signaled_tells_of_each(void **state)
{
	struct rig_pair p;

	(void)state;
	rig_start(&p.rig);
	end_queues(&p.rig, &p.a);
	struct mrc_qp_init_attr init = rig_init(&p.rig, &p.a);

	init.sq_sig_all = 1;
	p.a.qp = mrc_create_qp(p.rig.mrc, &init);
	/* It is its own peer. */
	bring_to(&p.rig, p.a.qp, number_of(p.a.qp), IBV_QPS_RTS);
	struct ibv_sge sge = piece(&p.rig, 0, 8);
	struct ibv_send_wr wr = write_of(&p.rig, &sge), *bad = NULL;

	wr.send_flags = 0;
	assert_int_equal(mrc_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
	end_stop(&p.a);
	rig_stop(&p.rig);
}

/* The second of three is wrong: the first was taken, and the bad one is named. */
static void mistakes_name_the_request(void **state)
{
	static const enum ibv_wr_opcode others[] = {IBV_WR_SEND,
						    IBV_WR_SEND_WITH_IMM,
						    IBV_WR_RDMA_READ,
						    IBV_WR_ATOMIC_CMP_AND_SWP,
						    IBV_WR_ATOMIC_FETCH_AND_ADD,
						    IBV_WR_LOCAL_INV,
						    IBV_WR_BIND_MW,
						    IBV_WR_SEND_WITH_INV};
	struct rig_pair p;
	struct ibv_send_wr *bad;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge[5] = {piece(&p.rig, 0, 8)};

	for (size_t i = 0; i < sizeof others / sizeof others[0] + 5; i++) {
		struct ibv_send_wr wr[3] = {write_of(&p.rig, sge), write_of(&p.rig, sge),
					    write_of(&p.rig, sge)};
		size_t n_others = sizeof others / sizeof others[0];

		wr[0].next = &wr[1];
		wr[1].next = &wr[2];
		if (i < n_others)
			wr[1].opcode = others[i];
		else if (i == n_others)
			wr[1].num_sge = 5;
		else if (i == n_others + 1)
			wr[1].num_sge = -1;
		else if (i == n_others + 2)
			wr[1].sg_list = NULL;
		else if (i == n_others + 3)
			wr[1].send_flags |= IBV_SEND_IP_CSUM;
		else
			wr[1].opcode = (enum ibv_wr_opcode)99;
		bad = NULL;
		assert_errno(mrc_post_send(p.a.qp, wr, &bad), EINVAL);
		assert_ptr_equal(bad, &wr[1]);
		assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
	}
	pair_stop(&p);
}

static void nothing_is_posted_without_sense(void **state)
{
	struct rig_pair p;
	struct ibv_recv_wr recv = {.num_sge = 2}, *bad_recv = NULL;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge = piece(&p.rig, 0, 8);
	struct ibv_send_wr wr = write_of(&p.rig, &sge), *bad = NULL;

	assert_errno(mrc_post_send(NULL, &wr, &bad), EINVAL);
	assert_errno(mrc_post_send(p.a.qp, NULL, &bad), EINVAL);
	assert_errno(mrc_post_send(p.a.qp, &wr, NULL), EINVAL);
	assert_minus_one(mrc_post_recv(NULL, &recv, &bad_recv), EINVAL);
	assert_minus_one(mrc_post_recv(p.a.qp, NULL, &bad_recv), EINVAL);
	assert_minus_one(mrc_post_recv(p.a.qp, &recv, NULL), EINVAL);
	assert_minus_one(mrc_post_recv(p.a.qp, &recv, &bad_recv), EINVAL);
	assert_ptr_equal(bad_recv, &recv);
	/* More bytes in line than there is room for. */
	sge.length = 65;
	wr.send_flags |= IBV_SEND_INLINE;
	assert_errno(mrc_post_send(p.a.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	pair_stop(&p);
}

static void full_queues_say_so(void **state)
{
	struct rig_pair p;
	struct ibv_recv_wr recv[RIG_DEPTH + 1], *bad_recv = NULL;

	(void)state;
	pair_start(&p);
	for (uint32_t i = 0; i <= RIG_DEPTH; i++)
		recv[i] = (struct ibv_recv_wr){.wr_id = i,
					       .next = i < RIG_DEPTH ? &recv[i + 1] : NULL};
	assert_minus_one(mrc_post_recv(p.b.qp, recv, &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, &recv[RIG_DEPTH]);
	pair_stop(&p);
}

static void states_decide_what_is_taken(void **state)
{
	static const struct {
		enum ibv_qp_state state;
		bool sends, receives;
	} cases[] = {
		{IBV_QPS_RESET, false, false}, {IBV_QPS_INIT, false, true},
		{IBV_QPS_RTR, false, true},    {IBV_QPS_RTS, true, true},
		{IBV_QPS_SQD, true, true},     {IBV_QPS_ERR, true, true},
	};
	struct rig_pair p;

	(void)state;
	rig_start(&p.rig);
	end_queues(&p.rig, &p.a);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct ibv_sge sge = piece(&p.rig, 0, 8);
		struct ibv_send_wr wr = write_of(&p.rig, &sge), *bad = NULL;
		struct ibv_recv_wr recv = {.wr_id = 1}, *bad_recv = NULL;

		p.a.qp = rig_qp(&p.rig, &p.a);
		bring_to(&p.rig, p.a.qp, number_of(p.a.qp), cases[i].state);
		assert_int_equal(mrc_post_send(p.a.qp, &wr, &bad), cases[i].sends ? 0 : EINVAL);
		assert_int_equal(mrc_post_recv(p.a.qp, &recv, &bad_recv),
				 cases[i].receives ? 0 : -1);
		if (cases[i].state == IBV_QPS_ERR) {
			assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_WR_FLUSH_ERR);
			assert_int_equal(wait_wc(p.a.recv_cq).status, IBV_WC_WR_FLUSH_ERR);
		}
		if (cases[i].state == IBV_QPS_RTS)
			assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
		assert_int_equal(mrc_destroy_qp(p.a.qp), 0);
	}
	p.a.qp = rig_qp(&p.rig, &p.a);
	end_stop(&p.a);
	rig_stop(&p.rig);
}

/* Without a receive for it immediate data fails at both ends: there is no RNR (10.2.1). */
static void immediate_data_without_a_receive_fails(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge = piece(&p.rig, 0, 8);
	struct ibv_send_wr wr = write_of(&p.rig, &sge), *bad = NULL;

	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	assert_int_equal(mrc_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_not_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
	assert_int_equal(state_of(p.a.qp), IBV_QPS_ERR);
	pair_stop(&p);
}

/* A peer without the right to write, which IBV_QP_ACCESS_FLAGS takes away. */
static void rights_are_those_of_the_peer(void **state)
{
	struct rig_pair p;
	struct ibv_qp_attr attr = {.qp_access_flags = 0};

	(void)state;
	pair_start(&p);
	assert_int_equal(mrc_modify_qp(p.b.qp, &attr, IBV_QP_ACCESS_FLAGS, NULL, 0), 0);
	struct ibv_sge sge = piece(&p.rig, 0, 8);
	struct ibv_send_wr wr = write_of(&p.rig, &sge), *bad = NULL;

	assert_int_equal(mrc_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_not_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
	pair_stop(&p);
}

/* Each end says as a responder what it takes (Table 10-1), the other keeps to it as a requester,
 * and everything arrives; 0 is not said. */
static void what_each_end_takes_is_kept_to(void **state)
{
	static const struct {
		uint8_t mpr;
		uint16_t wimm;
	} ends[] = {{0, 0}, {1, 0}, {8, 4}, {32, 1}, {255, 512}};

	(void)state;
	for (size_t i = 0; i < 25; i++) {
		struct rig_pair p = {.rig = {.verbs = NULL}};
		struct mrc_qp_attr mrc;

		rig_start(&p.rig);
		for (int side = 0; side < 2; side++) {
			struct end *end = side ? &p.b : &p.a;

			end_queues(&p.rig, end);
			end->qp = rig_qp(&p.rig, end);
		}
		for (int side = 0; side < 2; side++) {
			struct mrc_qp *qp = side ? p.b.qp : p.a.qp, *peer = side ? p.a.qp : p.b.qp;
			size_t k = side ? i / 5 : i % 5, other = side ? i % 5 : i / 5;
			int rtr = ends[k].mpr ? MRC_QP_MPR_DEST | MRC_QP_MAX_WIMM_DEST : 0;
			int rts = ends[other].mpr ? MRC_QP_MPR | MRC_QP_MAX_WIMM : 0;
			struct ibv_qp_attr attr = good_attr(&p.rig, qp, number_of(peer));

			mrc = (struct mrc_qp_attr){.mpr = {ends[other].mpr, ends[k].mpr},
						   .wimm = {ends[other].wimm, ends[k].wimm}};
			bring_to(&p.rig, qp, number_of(peer), IBV_QPS_INIT);
			attr.qp_state = IBV_QPS_RTR;
			attr.path_mtu = IBV_MTU_256;
			assert_int_equal(mrc_modify_qp(qp, &attr, RTR_MASK, &mrc, rtr), 0);
			attr.qp_state = IBV_QPS_RTS;
			assert_int_equal(mrc_modify_qp(qp, &attr, RTS_MASK, &mrc, rts), 0);
		}
		for (uint32_t n = 0; n < RIG_DEPTH; n++)
			post_recv(p.b.qp, n);
		for (uint32_t n = 0; n < RIG_DEPTH; n++) {
			struct ibv_sge sge = piece(&p.rig, 0, HALF);
			struct ibv_send_wr wr = write_of(&p.rig, &sge), *bad = NULL;

			wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			assert_int_equal(mrc_post_send(p.a.qp, &wr, &bad), 0);
		}
		for (uint32_t n = 0; n < RIG_DEPTH; n++) {
			assert_int_equal(wait_wc(p.b.recv_cq).wr_id, n);
			assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
		}
		pair_stop(&p);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(writes_arrive),
	cmocka_unit_test(immediate_data_consumes_a_receive),
	cmocka_unit_test(lists_pieces_and_inline),
	cmocka_unit_test(all_signaled_tells_of_each),
	cmocka_unit_test(mistakes_name_the_request),
	cmocka_unit_test(nothing_is_posted_without_sense),
	cmocka_unit_test(full_queues_say_so),
	cmocka_unit_test(states_decide_what_is_taken),
	cmocka_unit_test(immediate_data_without_a_receive_fails),
	cmocka_unit_test(rights_are_those_of_the_peer),
	cmocka_unit_test(what_each_end_takes_is_kept_to),
};

ISOLATED_MAIN(cases)
