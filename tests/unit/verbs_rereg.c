/* libweft-verbs: ibv_rereg_mr changes a region in place, under the keys that its users have. */
#include "verbs_rig.h"

#define BYTES 4096u
#define ALL   (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define MOVE  IBV_REREG_MR_CHANGE_TRANSLATION

/* Two pairs, and a region of the second end's that is changed. */
struct stage {
	struct rig_pair p;
	uint8_t *first, *second; /* BYTES each */
	struct ibv_mr *mr;
	uint32_t key;
};

static void start(struct stage *s)
{
	pair_start(&s->p);
	s->first = aligned_alloc(4096, BYTES);
	s->second = aligned_alloc(4096, BYTES);
	assert_non_null(s->first);
	assert_non_null(s->second);
	memset(s->first, 0, BYTES);
	memset(s->second, 0, BYTES);
	memset(s->p.rig.memory, 'x', BYTES);
	s->mr = ibv_reg_mr(s->p.rig.pd, s->first, BYTES, ALL);
	assert_non_null(s->mr);
	s->key = s->mr->rkey;
}

static void stop(struct stage *s)
{
	assert_int_equal(s->mr->lkey, s->key);
	assert_int_equal(s->mr->rkey, s->key);
	assert_int_equal(ibv_dereg_mr(s->mr), 0);
	pair_stop(&s->p);
	free(s->first);
	free(s->second);
}

/* Both pairs as new, after one of them failed. */
static void connect_again(struct stage *s)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_wc wc;

	assert_int_equal(ibv_modify_qp(s->p.a.qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(ibv_modify_qp(s->p.b.qp, &reset, IBV_QP_STATE), 0);
	while (ibv_poll_cq(s->p.b.recv_cq, 1, &wc) > 0)
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	connect_qp(s->p.a.qp, s->p.b.qp->qp_num);
	connect_qp(s->p.b.qp, s->p.a.qp->qp_num);
}

/* The first end writes, or reads, by the key that it was told in the beginning. */
static enum ibv_wc_status reach(struct stage *s, enum ibv_wr_opcode opcode, const void *there)
{
	struct ibv_sge sge = piece(&s->p.rig, 0, 64);
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)there, s->key}},
			   *bad;

	assert_int_equal(ibv_post_send(s->p.a.qp, &wr, &bad), 0);
	enum ibv_wc_status status = wait_wc(s->p.a.send_cq).status;

	if (status != IBV_WC_SUCCESS)
		connect_again(s);
	return status;
}

static enum ibv_wc_status write_to(struct stage *s, const void *there)
{
	return reach(s, IBV_WR_RDMA_WRITE, there);
}

static void a_peer_keeps_its_key_when_memory_moves(void **state)
{
	struct stage s;

	(void)state;
	start(&s);
	assert_int_equal(write_to(&s, s.first), IBV_WC_SUCCESS);
	assert_int_equal(ibv_rereg_mr(s.mr, MOVE, NULL, s.second, BYTES / 2, 0), 0);
	assert_ptr_equal(s.mr->addr, s.second);
	assert_int_equal(s.mr->length, BYTES / 2);
	assert_int_equal(s.mr->lkey, s.key);
	assert_int_equal(s.mr->rkey, s.key);
	assert_int_equal(write_to(&s, s.second), IBV_WC_SUCCESS);
	assert_memory_equal(s.second, s.p.rig.memory, 64);
	/* What it was is nobody's now, and it ends where it ends. */
	assert_int_equal(write_to(&s, s.first), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(write_to(&s, s.second + BYTES / 2), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(write_to(&s, s.second), IBV_WC_SUCCESS);
	stop(&s);
}

static void rights_change_in_place(void **state)
{
	const int change = IBV_REREG_MR_CHANGE_ACCESS;
	struct stage s;

	(void)state;
	start(&s);
	assert_int_equal(ibv_rereg_mr(s.mr, change, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ), 0);
	assert_int_equal(write_to(&s, s.first), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(s.first[0], 0);
	assert_int_equal(reach(&s, IBV_WR_RDMA_READ, s.first), IBV_WC_SUCCESS);
	assert_int_equal(ibv_rereg_mr(s.mr, change, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
			 0);
	assert_int_equal(reach(&s, IBV_WR_RDMA_READ, s.first), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(write_to(&s, s.first), IBV_WC_SUCCESS);
	assert_ptr_equal(s.mr->addr, s.first);
	stop(&s);
}

static void domain_changes_in_place(void **state)
{
	struct stage s;

	(void)state;
	start(&s);
	struct ibv_pd *other = ibv_alloc_pd(s.p.rig.context);

	assert_int_equal(ibv_rereg_mr(s.mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	assert_ptr_equal(s.mr->pd, other);
	assert_int_equal(ibv_dealloc_pd(other), EBUSY);
	assert_int_equal(write_to(&s, s.first), IBV_WC_REM_ACCESS_ERR);
	/* All three at once, and back. */
	assert_int_equal(ibv_rereg_mr(s.mr, IBV_REREG_MR_FLAGS_SUPPORTED, s.p.rig.pd, s.second,
				      BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
			 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	assert_int_equal(write_to(&s, s.second), IBV_WC_SUCCESS);
	stop(&s);
}

/* The region whole after each mistake: same keys, place, domain and rights. */
static void mistakes_leave_the_region(void **state)
{
	struct stage s;

	(void)state;
	start(&s);
	struct ibv_context *elsewhere = rig_open();
	struct ibv_pd *foreign = ibv_alloc_pd(elsewhere);
	void *nowhere = (void *)(uintptr_t)4096;
	const struct {
		int flags;
		struct ibv_pd *pd;
		void *addr;
		size_t length;
		int access, error;
	} wrong[] = {
		{0, NULL, NULL, 0, 0, EINVAL},
		{IBV_REREG_MR_FLAGS_SUPPORTED + 1, NULL, s.second, BYTES, 0, EINVAL},
		{MOVE, NULL, NULL, BYTES, 0, EINVAL},
		{MOVE, NULL, s.second, 0, 0, EINVAL},
		{MOVE, NULL, s.second, BYTES, IBV_ACCESS_LOCAL_WRITE, EINVAL},
		{MOVE, NULL, nowhere, BYTES, 0, EFAULT},
		{MOVE, NULL, s.second, SIZE_MAX, 0, EINVAL},
		{IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0, EINVAL},
		{IBV_REREG_MR_CHANGE_PD, foreign, NULL, 0, 0, EINVAL},
		{IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE, EINVAL},
		{IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_ATOMIC, EINVAL},
		{IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_ON_DEMAND, EOPNOTSUPP},
		{MOVE | IBV_REREG_MR_CHANGE_ACCESS, NULL, s.second, BYTES, 1 << 18, EINVAL},
	};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		errno = 0;
		int got = ibv_rereg_mr(s.mr, wrong[i].flags, wrong[i].pd, wrong[i].addr,
				       wrong[i].length, wrong[i].access);

		if (got != IBV_REREG_MR_ERR_INPUT || errno != wrong[i].error)
			fail_msg("row %zu: %d, errno %d", i, got, errno);
		assert_ptr_equal(s.mr->addr, s.first);
		assert_ptr_equal(s.mr->pd, s.p.rig.pd);
		assert_int_equal(s.mr->length, BYTES);
		assert_int_equal(write_to(&s, s.first + BYTES - 64), IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_dealloc_pd(foreign), 0);
	assert_int_equal(ibv_close_device(elsewhere), 0);
	stop(&s);
}

/* As the kernel's Soft-RoCE answers; the window goes on. */
static void a_bound_window_keeps_its_region(void **state)
{
	struct stage s;
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED};

	(void)state;
	start(&s);
	assert_int_equal(ibv_rereg_mr(s.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      ALL | IBV_ACCESS_MW_BIND),
			 0);
	struct ibv_mw *mw = ibv_alloc_mw(s.p.rig.pd, IBV_MW_TYPE_1);

	bind.bind_info =
		(struct ibv_mw_bind_info){s.mr, (uintptr_t)s.first, 64, IBV_ACCESS_REMOTE_WRITE};
	assert_int_equal(ibv_bind_mw(s.p.b.qp, mw, &bind), 0);
	assert_int_equal(wait_wc(s.p.b.send_cq).status, IBV_WC_SUCCESS);
	errno = 0;
	assert_int_equal(ibv_rereg_mr(s.mr, MOVE, NULL, s.second, BYTES, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EBUSY);
	uint32_t key = s.key;

	s.key = mw->rkey;
	assert_int_equal(write_to(&s, s.first), IBV_WC_SUCCESS);
	s.key = key;
	assert_int_equal(write_to(&s, s.first), IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_rereg_mr(s.mr, MOVE, NULL, s.second, BYTES, 0), 0);
	stop(&s);
}

/* A receive that waits names memory that the region no longer is: the message fails at both ends,
 * as one does whose receiver cannot place it (IBTA 9.7.4.1.6), and not a byte is placed. */
static void a_receive_into_what_it_was_fails_both_ends(void **state)
{
	struct stage s;

	(void)state;
	start(&s);
	struct ibv_sge there = {(uintptr_t)s.first, 64, s.mr->lkey}, here = piece(&s.p.rig, 0, 64);
	struct ibv_recv_wr recv = {.wr_id = 7, .sg_list = &there, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.wr_id = 8,
				   .sg_list = &here,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	for (int round = 0; round < 2; round++) {
		there.addr = (uintptr_t)s.first;
		assert_int_equal(ibv_post_recv(s.p.b.qp, &recv, &bad_recv), 0);
		assert_int_equal(ibv_rereg_mr(s.mr, MOVE, NULL, s.second, BYTES, 0), 0);
		assert_int_equal(ibv_post_send(s.p.a.qp, &send, &bad), 0);
		struct ibv_wc sent = wait_wc(s.p.a.send_cq), got = wait_wc(s.p.b.recv_cq);

		assert_int_equal(sent.status, IBV_WC_REM_OP_ERR);
		assert_int_equal(got.status, IBV_WC_LOC_PROT_ERR);
		assert_int_equal(got.wr_id, 7);
		assert_int_equal(s.first[0], 0);
		connect_again(&s);
		/* The same pairs, the same keys, and a receive that names what there is. */
		there.addr = (uintptr_t)s.second;
		assert_int_equal(ibv_post_recv(s.p.b.qp, &recv, &bad_recv), 0);
		assert_int_equal(ibv_post_send(s.p.a.qp, &send, &bad), 0);
		assert_int_equal(wait_wc(s.p.a.send_cq).status, IBV_WC_SUCCESS);
		assert_int_equal(wait_wc(s.p.b.recv_cq).status, IBV_WC_SUCCESS);
		assert_int_equal(s.second[63], 'x');
		assert_int_equal(ibv_rereg_mr(s.mr, MOVE, NULL, s.first, BYTES, 0), 0);
		memset(s.second, 0, BYTES);
	}
	stop(&s);
}

/* Work of our own that was posted before: it waits in a queue that is held back, and is looked at
 * when it is sent. */
static void a_send_from_what_it_was_fails(void **state)
{
	struct ibv_qp_attr wait = {.qp_state = IBV_QPS_SQD}, go = {.qp_state = IBV_QPS_RTS};
	struct stage s;

	(void)state;
	start(&s);
	struct ibv_sge sge = {(uintptr_t)s.first, 64, s.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .wr.rdma = {(uintptr_t)s.p.rig.memory, s.p.rig.mr->rkey}},
			   *bad;

	assert_int_equal(ibv_modify_qp(s.p.b.qp, &wait, IBV_QP_STATE), 0);
	assert_int_equal(ibv_post_send(s.p.b.qp, &wr, &bad), 0);
	assert_int_equal(ibv_rereg_mr(s.mr, MOVE, NULL, s.second, BYTES, 0), 0);
	assert_int_equal(ibv_modify_qp(s.p.b.qp, &go, IBV_QP_STATE), 0);
	assert_int_equal(wait_wc(s.p.b.send_cq).status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(s.p.rig.memory[0], 'x');
	stop(&s);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_peer_keeps_its_key_when_memory_moves),
	cmocka_unit_test(rights_change_in_place),
	cmocka_unit_test(domain_changes_in_place),
	cmocka_unit_test(mistakes_leave_the_region),
	cmocka_unit_test(a_bound_window_keeps_its_region),
	cmocka_unit_test(a_receive_into_what_it_was_fails_both_ends),
	cmocka_unit_test(a_send_from_what_it_was_fails),
};

ISOLATED_MAIN(cases)
