/* libweft-verbs: memory windows in use, and work requests by calls (ibv_wr_*). */
#include "verbs_rig.h"

#include <arpa/inet.h>

#define THERE 32768u /* where the second end's memory begins */

/* Two pairs; the first has ibv_wr_*. */
struct ex_pair {
	struct rig_pair p;
	struct ibv_qp_ex *ex;
};

static void ex_start(struct ex_pair *e)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	pair_start(&e->p);
	assert_int_equal(ibv_destroy_qp(e->p.a.qp), 0);
	struct ibv_qp_init_attr plain = rig_init(&e->p.a);
	struct ibv_qp_init_attr_ex init = {
		.send_cq = plain.send_cq,
		.recv_cq = plain.recv_cq,
		.cap = plain.cap,
		.qp_type = IBV_QPT_RC,
		.pd = e->p.rig.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
				  IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV,
	};

	e->p.a.qp = ibv_create_qp_ex(e->p.rig.context, &init);
	assert_non_null(e->p.a.qp);
	e->ex = ibv_qp_to_qp_ex(e->p.a.qp);
	assert_non_null(e->ex);
	assert_int_equal(ibv_modify_qp(e->p.b.qp, &reset, IBV_QP_STATE), 0);
	connect_qp(e->p.a.qp, e->p.b.qp->qp_num);
	connect_qp(e->p.b.qp, e->p.a.qp->qp_num);
	for (uint32_t i = 0; i < THERE; i++)
		e->p.rig.memory[i] = (uint8_t)(i * 7 + 3);
}

static void ex_begin(struct ex_pair *e, uint64_t id)
{
	ibv_wr_start(e->ex);
	e->ex->wr_id = id;
	e->ex->wr_flags = IBV_SEND_SIGNALED;
}

static void expect(struct ibv_cq *cq, uint64_t id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = wait_wc(cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.opcode, opcode);
}

static void calls_do_what_lists_do(void **state)
{
	struct ex_pair e;
	struct rig *rig = &e.p.rig;
	struct ibv_cq *sent = NULL, *received = NULL;

	(void)state;
	ex_start(&e);
	sent = e.p.a.send_cq;
	received = e.p.b.recv_cq;
	uint64_t there = (uintptr_t)rig->memory + THERE;
	struct ibv_sge sge[2] = {piece(rig, 0, 100), piece(rig, 100, 200)};

	post_recv(rig, e.p.b.qp, 21, THERE + 8192);
	post_recv(rig, e.p.b.qp, 22, THERE + 8192);
	post_recv(rig, e.p.b.qp, 23, THERE + 8192);
	ex_begin(&e, 1);
	ibv_wr_rdma_write(e.ex, rig->mr->rkey, there);
	ibv_wr_set_sge_list(e.ex, 2, sge);
	e.ex->wr_id = 2;
	ibv_wr_rdma_write_imm(e.ex, rig->mr->rkey, there, htonl(5));
	ibv_wr_set_sge(e.ex, rig->mr->lkey, sge[0].addr, 100);
	e.ex->wr_id = 3;
	ibv_wr_send(e.ex);
	ibv_wr_set_sge(e.ex, rig->mr->lkey, sge[0].addr, 50);
	e.ex->wr_id = 4;
	ibv_wr_send_imm(e.ex, htonl(6));
	ibv_wr_set_sge(e.ex, rig->mr->lkey, sge[0].addr, 60);
	e.ex->wr_id = 5;
	ibv_wr_rdma_read(e.ex, rig->mr->rkey, there);
	ibv_wr_set_sge(e.ex, rig->mr->lkey, (uintptr_t)rig->memory + 9000, 300);
	assert_int_equal(ibv_wr_complete(e.ex), 0);
	expect(sent, 1, IBV_WC_RDMA_WRITE);
	expect(sent, 2, IBV_WC_RDMA_WRITE);
	expect(sent, 3, IBV_WC_SEND);
	expect(sent, 4, IBV_WC_SEND);
	expect(sent, 5, IBV_WC_RDMA_READ);
	expect(received, 21, IBV_WC_RECV_RDMA_WITH_IMM);
	expect(received, 22, IBV_WC_RECV);
	struct ibv_wc wc = wait_wc(received);

	assert_int_equal(wc.byte_len, 60);
	assert_int_equal(ntohl(wc.imm_data), 6);
	assert_memory_equal(rig->memory, rig->memory + THERE, 300);
	assert_memory_equal(rig->memory + 9000, rig->memory + THERE, 300);
	pair_stop(&e.p);
}

static void calls_do_atomics(void **state)
{
	struct ex_pair e;
	uint64_t value = 7, found;

	(void)state;
	ex_start(&e);
	struct rig *rig = &e.p.rig;
	uint64_t here = (uintptr_t)rig->memory, there = here + THERE;

	memcpy(rig->memory + THERE, &value, 8);
	ex_begin(&e, 6);
	ibv_wr_atomic_fetch_add(e.ex, rig->mr->rkey, there, 3);
	ibv_wr_set_sge(e.ex, rig->mr->lkey, here, 8);
	e.ex->wr_id = 7;
	ibv_wr_atomic_cmp_swp(e.ex, rig->mr->rkey, there, 10, 99);
	ibv_wr_set_sge(e.ex, rig->mr->lkey, here + 8, 8);
	assert_int_equal(ibv_wr_complete(e.ex), 0);
	expect(e.p.a.send_cq, 6, IBV_WC_FETCH_ADD);
	expect(e.p.a.send_cq, 7, IBV_WC_COMP_SWAP);
	memcpy(&value, rig->memory + THERE, 8);
	assert_int_equal(value, 99);
	memcpy(&found, rig->memory + 8, 8);
	assert_int_equal(found, 10);
	pair_stop(&e.p);
}

static void inline_data_is_copied_at_once(void **state)
{
	struct ex_pair e;
	char bytes[80] = "first";

	(void)state;
	ex_start(&e);
	char *there = (char *)e.p.rig.memory + THERE;

	ex_begin(&e, 1);
	ibv_wr_rdma_write(e.ex, e.p.rig.mr->rkey, (uintptr_t)there);
	ibv_wr_set_inline_data(e.ex, bytes, 6);
	memcpy(bytes, "other", 6);
	struct ibv_data_buf parts[2] = {{bytes, 3}, {bytes + 3, 3}};

	ibv_wr_rdma_write(e.ex, e.p.rig.mr->rkey, (uintptr_t)there + 100);
	ibv_wr_set_inline_data_list(e.ex, 2, parts);
	memcpy(bytes, "wrong", 6);
	assert_int_equal(ibv_wr_complete(e.ex), 0);
	expect(e.p.a.send_cq, 1, IBV_WC_RDMA_WRITE);
	expect(e.p.a.send_cq, 1, IBV_WC_RDMA_WRITE);
	assert_string_equal(there, "first");
	assert_string_equal(there + 100, "other");
	pair_stop(&e.p);
}

/* After each mistake the same pair still works, and nothing was posted. */
static void mistakes_are_told_at_the_end(void **state)
{
	struct ex_pair e;
	char bytes[80] = {0};
	struct ibv_sge sge[5] = {{0}};
	struct ibv_wc wc;

	(void)state;
	ex_start(&e);
	uint32_t key = e.p.rig.mr->rkey;
	uint64_t there = (uintptr_t)e.p.rig.memory + THERE;

#define MISTAKE(error, calls)                                   \
	do {                                                    \
		ex_begin(&e, 1);                                \
		ibv_wr_rdma_write(e.ex, key, there);            \
		ibv_wr_set_sge(e.ex, key, there - 100, 10);     \
		calls;                                          \
		assert_int_equal(ibv_wr_complete(e.ex), error); \
	} while (0)
	MISTAKE(EINVAL, ibv_wr_set_inline_data(e.ex, bytes, 65));
	MISTAKE(EINVAL, ibv_wr_set_sge_list(e.ex, 5, sge));
	MISTAKE(EINVAL, {
		ibv_wr_rdma_read(e.ex, key, there);
		ibv_wr_set_inline_data(e.ex, bytes, 8);
	});
	MISTAKE(EINVAL, {
		ibv_wr_local_inv(e.ex, key);
		ibv_wr_set_sge(e.ex, key, there, 8);
	});
	MISTAKE(EINVAL, {
		e.ex->wr_flags = IBV_SEND_IP_CSUM;
		ibv_wr_send(e.ex);
	});
	MISTAKE(EOPNOTSUPP, ibv_wr_send_tso(e.ex, bytes, 1, 1));
	MISTAKE(EOPNOTSUPP, ibv_wr_atomic_write(e.ex, key, there, bytes));
	MISTAKE(EOPNOTSUPP, ibv_wr_set_ud_addr(e.ex, NULL, 1, 1));
	MISTAKE(EOPNOTSUPP, ibv_wr_set_xrc_srqn(e.ex, 1));
	MISTAKE(ENOMEM, {
		for (int i = 0; i < 64; i++)
			ibv_wr_send(e.ex);
	});
	ibv_wr_start(e.ex);
	ibv_wr_set_sge(e.ex, key, there, 8);
	assert_int_equal(ibv_wr_complete(e.ex), EINVAL);
	ex_begin(&e, 1);
	ibv_wr_rdma_write(e.ex, key, there);
	ibv_wr_abort(e.ex);
	ibv_wr_start(e.ex);
	assert_int_equal(ibv_wr_complete(e.ex), 0);
	assert_int_equal(ibv_poll_cq(e.p.a.send_cq, 1, &wc), 0);
	MISTAKE(0, (void)0);
	expect(e.p.a.send_cq, 1, IBV_WC_RDMA_WRITE);
	pair_stop(&e.p);
}

/* No call of these is wrong by itself: the whole is looked at before any of it is posted. */
static void mistakes_of_the_whole_are_told(void **state)
{
	struct ex_pair e;
	struct ibv_wc wc;

	(void)state;
	ex_start(&e);
	uint32_t key = e.p.rig.mr->rkey;
	uint64_t there = (uintptr_t)e.p.rig.memory + THERE;

	MISTAKE(EINVAL, ibv_wr_atomic_fetch_add(e.ex, key, there, 1));
	MISTAKE(EINVAL, {
		ibv_wr_rdma_write(e.ex, key, UINT64_MAX);
		ibv_wr_set_sge(e.ex, key, there, 8);
	});
	MISTAKE(EINVAL, {
		ibv_wr_rdma_write(e.ex, key, there);
		ibv_wr_set_sge(e.ex, key, there, UINT32_MAX);
	});
	assert_int_equal(ibv_poll_cq(e.p.a.send_cq, 1, &wc), 0);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(e.p.rig.memory[THERE + i], 0);
	pair_stop(&e.p);
}

/* A batch of n sends, numbered from first on. */
static int send_batch(struct ex_pair *e, uint64_t first, uint32_t n)
{
	ex_begin(e, first);
	for (uint32_t i = 0; i < n; i++) {
		e->ex->wr_id = first + i;
		ibv_wr_send(e->ex);
		ibv_wr_set_sge(e->ex, e->p.rig.mr->lkey, (uintptr_t)e->p.rig.memory, 8);
	}
	return ibv_wr_complete(e->ex);
}

static void a_batch_fits_or_is_not_posted(void **state)
{
	struct ibv_qp_attr wait = {.qp_state = IBV_QPS_SQD}, error = {.qp_state = IBV_QPS_ERR};
	struct ex_pair e;

	(void)state;
	ex_start(&e);
	/* What is posted stays in the queue. */
	assert_int_equal(ibv_modify_qp(e.p.a.qp, &wait, IBV_QP_STATE), 0);
	assert_int_equal(send_batch(&e, 0, 10), 0);
	assert_int_equal(send_batch(&e, 90, RIG_DEPTH - 9), ENOMEM);
	assert_int_equal(send_batch(&e, 10, RIG_DEPTH - 10), 0);
	assert_int_equal(send_batch(&e, 90, 1), ENOMEM);
	assert_int_equal(ibv_modify_qp(e.p.a.qp, &error, IBV_QP_STATE), 0);
	for (uint64_t i = 0; i < RIG_DEPTH; i++)
		assert_int_equal(wait_wc(e.p.a.send_cq).wr_id, i);
	pair_stop(&e.p);
}

static void write_with(struct ex_pair *e, uint32_t key, uint64_t to, enum ibv_wc_status status)
{
	ex_begin(e, 50);
	ibv_wr_rdma_write(e->ex, key, to);
	ibv_wr_set_sge(e->ex, e->p.rig.mr->lkey, (uintptr_t)e->p.rig.memory, 16);
	assert_int_equal(ibv_wr_complete(e->ex), 0);
	struct ibv_wc wc = wait_wc(e->p.a.send_cq);

	assert_int_equal(wc.wr_id, 50);
	assert_int_equal(wc.status, status);
}

/* Type 1: of a domain. The second end binds, the first one writes through it. */
static void window_of_type_1_is_bound(void **state)
{
	struct ex_pair e;

	(void)state;
	ex_start(&e);
	struct rig *rig = &e.p.rig;
	uint64_t there = (uintptr_t)rig->memory + THERE;
	struct ibv_mw *mw = ibv_alloc_mw(rig->pd, IBV_MW_TYPE_1);
	uint32_t old = mw->rkey;
	struct ibv_mw_bind bind = {.wr_id = 31,
				   .send_flags = IBV_SEND_SIGNALED,
				   .bind_info = {rig->mr, there, 64, IBV_ACCESS_REMOTE_WRITE}};

	assert_int_equal(ibv_bind_mw(e.p.b.qp, mw, &bind), 0);
	assert_int_not_equal(mw->rkey, old);
	expect(e.p.b.send_cq, 31, IBV_WC_BIND_MW);
	assert_int_equal(ibv_dereg_mr(rig->mr), EBUSY);
	write_with(&e, mw->rkey, there, IBV_WC_SUCCESS);
	write_with(&e, mw->rkey, there + 48, IBV_WC_SUCCESS);
	bind.bind_info.addr += 100;
	assert_int_equal(ibv_bind_mw(e.p.b.qp, mw, &bind), 0);
	expect(e.p.b.send_cq, 31, IBV_WC_BIND_MW);
	write_with(&e, mw->rkey, there + 100, IBV_WC_SUCCESS);
	bind.bind_info.mw_access_flags = IBV_ACCESS_MW_BIND;
	assert_int_equal(ibv_bind_mw(e.p.b.qp, mw, &bind), EINVAL);
	bind.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
	assert_int_equal(ibv_bind_mw(e.p.b.qp, mw, &bind), EOPNOTSUPP);
	write_with(&e, mw->rkey, there + 49, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_stop(&e.p);
}

/* Type 2: of a pair. The second end binds with a list; the peer invalidates it with a message. */
static void window_of_type_2_is_bound_and_invalidated(void **state)
{
	struct ex_pair e;
	struct ibv_send_wr *bad;

	(void)state;
	ex_start(&e);
	struct rig *rig = &e.p.rig;
	uint64_t there = (uintptr_t)rig->memory + THERE;
	struct ibv_mw *mw = ibv_alloc_mw(rig->pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = {rig->mr, there, 64, IBV_ACCESS_REMOTE_WRITE};
	struct ibv_send_wr wr = {.wr_id = 32,
				 .opcode = IBV_WR_BIND_MW,
				 .send_flags = IBV_SEND_SIGNALED,
				 .bind_mw = {mw, ibv_inc_rkey(mw->rkey), info}};

	wr.bind_mw.rkey ^= 0x100;
	assert_int_equal(ibv_post_send(e.p.b.qp, &wr, &bad), EINVAL);
	wr.bind_mw.rkey ^= 0x100;
	assert_int_equal(ibv_post_send(e.p.b.qp, &wr, &bad), 0);
	assert_int_equal(mw->rkey, wr.bind_mw.rkey);
	expect(e.p.b.send_cq, 32, IBV_WC_BIND_MW);
	write_with(&e, mw->rkey, there, IBV_WC_SUCCESS);
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info.addr += 100;
	assert_int_equal(ibv_post_send(e.p.b.qp, &wr, &bad), 0);
	expect(e.p.b.send_cq, 32, IBV_WC_BIND_MW);
	there += 100;
	write_with(&e, mw->rkey, there, IBV_WC_SUCCESS);

	post_recv(rig, e.p.b.qp, 33, THERE + 8192);
	ex_begin(&e, 34);
	ibv_wr_send_inv(e.ex, mw->rkey);
	ibv_wr_set_sge(e.ex, rig->mr->lkey, (uintptr_t)rig->memory, 10);
	assert_int_equal(ibv_wr_complete(e.ex), 0);
	struct ibv_wc wc = wait_wc(e.p.b.recv_cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, mw->rkey);
	expect(e.p.a.send_cq, 34, IBV_WC_SEND);
	write_with(&e, mw->rkey, there, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_stop(&e.p);
}

/* One more pair, connected to itself, to fail with. */
static struct ibv_qp *spare_pair(struct ex_pair *e)
{
	struct ibv_qp_init_attr init = rig_init(&e->p.b);
	struct ibv_qp *qp = ibv_create_qp(e->p.rig.pd, &init);

	assert_non_null(qp);
	connect_qp(qp, qp->qp_num);
	return qp;
}

/* A binding that cannot be leaves the window bound as before, with the key it had; and the next one
 * works, whether the application puts the old key back, as the manual wants, or not. */
static void failed_bind_of_type_1_leaves_the_window(void **state)
{
	struct ex_pair e;

	(void)state;
	ex_start(&e);
	struct rig *rig = &e.p.rig;
	uint64_t there = (uintptr_t)rig->memory + THERE;
	struct ibv_mw *mw = ibv_alloc_mw(rig->pd, IBV_MW_TYPE_1);
	struct ibv_mr *no_bind =
		ibv_reg_mr(rig->pd, rig->memory, RIG_BYTES, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mw_bind bind = {.wr_id = 31,
				   .send_flags = IBV_SEND_SIGNALED,
				   .bind_info = {rig->mr, there, 64, IBV_ACCESS_REMOTE_WRITE}};

	assert_int_equal(ibv_bind_mw(e.p.b.qp, mw, &bind), 0);
	expect(e.p.b.send_cq, 31, IBV_WC_BIND_MW);
	for (int i = 0; i < 2; i++) {
		uint32_t old = mw->rkey;
		struct ibv_qp *spare = spare_pair(&e);

		bind.bind_info.mr = no_bind;
		assert_int_equal(ibv_bind_mw(spare, mw, &bind), 0);
		assert_int_equal(wait_wc(e.p.b.send_cq).status, IBV_WC_MW_BIND_ERR);
		if (i == 0)
			mw->rkey = old;
		write_with(&e, old, bind.bind_info.addr, IBV_WC_SUCCESS);
		assert_int_equal(ibv_destroy_qp(spare), 0);
		bind.bind_info.mr = rig->mr;
		bind.bind_info.addr += 64;
		assert_int_equal(ibv_bind_mw(e.p.b.qp, mw, &bind), 0);
		expect(e.p.b.send_cq, 31, IBV_WC_BIND_MW);
		assert_int_not_equal(mw->rkey, old);
		write_with(&e, mw->rkey, bind.bind_info.addr, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_dereg_mr(no_bind), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_stop(&e.p);
}

/* The same by work requests. The second of two in a list is flushed. */
static void failed_bind_of_type_2_leaves_the_window(void **state)
{
	struct ex_pair e;
	struct ibv_send_wr *bad;

	(void)state;
	ex_start(&e);
	struct rig *rig = &e.p.rig;
	struct ibv_mw *mw = ibv_alloc_mw(rig->pd, IBV_MW_TYPE_2);
	uint32_t old = mw->rkey;
	uint64_t there = (uintptr_t)rig->memory + THERE;
	struct ibv_mw_bind_info info = {rig->mr, there, 64, IBV_ACCESS_REMOTE_WRITE};
	struct ibv_mw_bind_info outside = {rig->mr, there, RIG_BYTES, IBV_ACCESS_REMOTE_WRITE};
	struct ibv_send_wr second = {.wr_id = 2,
				     .opcode = IBV_WR_BIND_MW,
				     .send_flags = IBV_SEND_SIGNALED,
				     .bind_mw = {mw, old ^ 2, info}};
	struct ibv_send_wr first = {.wr_id = 1,
				    .next = &second,
				    .opcode = IBV_WR_BIND_MW,
				    .bind_mw = {mw, old ^ 1, outside}};
	struct ibv_qp *spare = spare_pair(&e);

	assert_int_equal(ibv_post_send(spare, &first, &bad), 0);
	assert_int_equal(wait_wc(e.p.b.send_cq).status, IBV_WC_MW_BIND_ERR);
	assert_int_equal(wait_wc(e.p.b.send_cq).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(mw->rkey, old);
	assert_int_equal(ibv_destroy_qp(spare), 0);
	/* Now both can be, one after the other. */
	first.bind_mw.bind_info = info;
	second.bind_mw.bind_info.addr += 64;
	assert_int_equal(ibv_post_send(e.p.b.qp, &first, &bad), 0);
	expect(e.p.b.send_cq, 2, IBV_WC_BIND_MW);
	assert_int_equal(mw->rkey, old ^ 2);
	write_with(&e, mw->rkey, there + 64, IBV_WC_SUCCESS);
	write_with(&e, old ^ 1, there, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	pair_stop(&e.p);
}

/* The calls: bound twice in one go, invalidated, and gone. */
static void window_is_bound_by_calls(void **state)
{
	struct ex_pair e;

	(void)state;
	ex_start(&e);
	struct rig *rig = &e.p.rig;
	struct ibv_mw *mw = ibv_alloc_mw(rig->pd, IBV_MW_TYPE_2);
	struct ibv_mw *other = ibv_alloc_mw(rig->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind_info info = {rig->mr, (uintptr_t)rig->memory, 64,
					IBV_ACCESS_REMOTE_WRITE};
	uint32_t first = ibv_inc_rkey(mw->rkey), second = ibv_inc_rkey(first);

	ex_begin(&e, 40);
	ibv_wr_bind_mw(e.ex, mw, first, &info);
	e.ex->wr_id = 41;
	ibv_wr_local_inv(e.ex, first);
	e.ex->wr_id = 42;
	ibv_wr_bind_mw(e.ex, mw, second, &info);
	assert_int_equal(ibv_wr_complete(e.ex), 0);
	expect(e.p.a.send_cq, 40, IBV_WC_BIND_MW);
	expect(e.p.a.send_cq, 41, IBV_WC_LOCAL_INV);
	expect(e.p.a.send_cq, 42, IBV_WC_BIND_MW);
	assert_int_equal(mw->rkey, second);
	ex_begin(&e, 43);
	ibv_wr_bind_mw(e.ex, other, ibv_inc_rkey(other->rkey), &info);
	assert_int_equal(ibv_wr_complete(e.ex), EINVAL);
	ex_begin(&e, 44);
	ibv_wr_bind_mw(e.ex, mw, second ^ 0x10000, &info);
	assert_int_equal(ibv_wr_complete(e.ex), EINVAL);
	struct ibv_send_wr wr = {.wr_id = 45,
				 .opcode = IBV_WR_LOCAL_INV,
				 .send_flags = IBV_SEND_SIGNALED,
				 .invalidate_rkey = second},
			   *bad;

	assert_int_equal(ibv_post_send(e.p.a.qp, &wr, &bad), 0);
	expect(e.p.a.send_cq, 45, IBV_WC_LOCAL_INV);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dealloc_mw(other), 0);
	pair_stop(&e.p);
}

/* As every driver of the kernel takes it: by each of the ways there are to bind. It gives a peer no
 * right that the others do not. */
static void local_write_adds_nothing_to_a_window(void **state)
{
	struct ex_pair e;

	(void)state;
	ex_start(&e);
	struct rig *rig = &e.p.rig;
	uint64_t there = (uintptr_t)rig->memory + THERE;
	struct ibv_mw *one = ibv_alloc_mw(rig->pd, IBV_MW_TYPE_1);
	struct ibv_mw *two = ibv_alloc_mw(rig->pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = {rig->mr, there, 64,
					IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
	struct ibv_mw_bind bind = {.wr_id = 51, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};

	assert_int_equal(ibv_bind_mw(e.p.b.qp, one, &bind), 0);
	expect(e.p.b.send_cq, 51, IBV_WC_BIND_MW);
	write_with(&e, one->rkey, there, IBV_WC_SUCCESS);
	ex_begin(&e, 52);
	ibv_wr_bind_mw(e.ex, two, ibv_inc_rkey(two->rkey), &info);
	assert_int_equal(ibv_wr_complete(e.ex), 0);
	expect(e.p.a.send_cq, 52, IBV_WC_BIND_MW);
	struct ibv_send_wr wr = {.wr_id = 53,
				 .opcode = IBV_WR_BIND_MW,
				 .send_flags = IBV_SEND_SIGNALED,
				 .bind_mw = {two, ibv_inc_rkey(two->rkey), info}},
			   *bad;

	assert_int_equal(ibv_post_send(e.p.b.qp, &wr, &bad), 0);
	expect(e.p.b.send_cq, 53, IBV_WC_BIND_MW);
	write_with(&e, two->rkey, there, IBV_WC_SUCCESS);
	/* Alone it is a window that grants nothing. */
	wr.bind_mw.rkey = ibv_inc_rkey(two->rkey);
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_LOCAL_WRITE;
	assert_int_equal(ibv_post_send(e.p.b.qp, &wr, &bad), 0);
	expect(e.p.b.send_cq, 53, IBV_WC_BIND_MW);
	write_with(&e, two->rkey, there, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(one), 0);
	assert_int_equal(ibv_dealloc_mw(two), 0);
	pair_stop(&e.p);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(calls_do_what_lists_do),
	cmocka_unit_test(calls_do_atomics),
	cmocka_unit_test(inline_data_is_copied_at_once),
	cmocka_unit_test(mistakes_are_told_at_the_end),
	cmocka_unit_test(mistakes_of_the_whole_are_told),
	cmocka_unit_test(a_batch_fits_or_is_not_posted),
	cmocka_unit_test(window_of_type_1_is_bound),
	cmocka_unit_test(window_of_type_2_is_bound_and_invalidated),
	cmocka_unit_test(failed_bind_of_type_1_leaves_the_window),
	cmocka_unit_test(failed_bind_of_type_2_leaves_the_window),
	cmocka_unit_test(window_is_bound_by_calls),
	cmocka_unit_test(local_write_adds_nothing_to_a_window),
};

ISOLATED_MAIN(cases)
