/* libweft-verbs: work requests as lists, and how they end. */
#include "verbs_rig.h"

#include <arpa/inet.h>
#include <poll.h>

#define THERE 32768u /* where the second end's memory begins */

static int post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int error = ibv_post_send(qp, wr, &bad);

	assert_true(!error || bad);
	return error;
}

static struct ibv_send_wr make_wr(enum ibv_wr_opcode opcode, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){.wr_id = 77,
				    .sg_list = sge,
				    .num_sge = 1,
				    .opcode = opcode,
				    .send_flags = IBV_SEND_SIGNALED};
}

static struct ibv_send_wr make_rdma(const struct rig *rig, enum ibv_wr_opcode opcode,
				    struct ibv_sge *sge)
{
	struct ibv_send_wr wr = make_wr(opcode, sge);

	wr.wr.rdma.remote_addr = (uintptr_t)rig->memory + THERE;
	wr.wr.rdma.rkey = rig->mr->rkey;
	return wr;
}

static void fill_memory(struct rig *rig)
{
	for (uint32_t i = 0; i < THERE; i++)
		rig->memory[i] = (uint8_t)(i * 7 + 3);
}

static void expect_sent(const struct rig_pair *p, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = wait_wc(p->a.send_cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.qp_num, p->a.qp->qp_num);
	assert_int_equal(wc.vendor_err, 0);
}

static void messages_arrive(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	fill_memory(&p.rig);
	/* In three pieces, with immediate data, and longer than a packet. */
	struct ibv_sge sge[3] = {piece(&p.rig, 0, 1), piece(&p.rig, 1, 2047),
				 piece(&p.rig, 2048, 1000)};
	struct ibv_send_wr wr = make_wr(IBV_WR_SEND_WITH_IMM, sge);

	wr.num_sge = 3;
	wr.imm_data = htonl(0xcafe1234);
	post_recv(&p.rig, p.b.qp, 5, THERE);
	assert_int_equal(post(p.a.qp, &wr), 0);
	struct ibv_wc wc = wait_wc(p.b.recv_cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 3048);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(ntohl(wc.imm_data), 0xcafe1234);
	assert_int_equal(wc.qp_num, p.b.qp->qp_num);
	assert_int_equal(wc.src_qp, p.a.qp->qp_num);
	assert_memory_equal(p.rig.memory, p.rig.memory + THERE, 3048);
	expect_sent(&p, IBV_WC_SEND);
	pair_stop(&p);
}

static void memory_is_written_and_read(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	fill_memory(&p.rig);
	struct ibv_sge sge = piece(&p.rig, 0, 5000);
	struct ibv_send_wr wr = make_rdma(&p.rig, IBV_WR_RDMA_WRITE, &sge);

	assert_int_equal(post(p.a.qp, &wr), 0);
	expect_sent(&p, IBV_WC_RDMA_WRITE);
	assert_memory_equal(p.rig.memory, p.rig.memory + THERE, 5000);

	wr = make_rdma(&p.rig, IBV_WR_RDMA_WRITE_WITH_IMM, &sge);
	wr.imm_data = htonl(42);
	post_recv(&p.rig, p.b.qp, 6, THERE);
	assert_int_equal(post(p.a.qp, &wr), 0);
	struct ibv_wc wc = wait_wc(p.b.recv_cq);

	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 5000);
	assert_int_equal(ntohl(wc.imm_data), 42);
	expect_sent(&p, IBV_WC_RDMA_WRITE);

	sge = piece(&p.rig, 10000, 5000);
	wr = make_rdma(&p.rig, IBV_WR_RDMA_READ, &sge);
	wr.send_flags |= IBV_SEND_FENCE;
	assert_int_equal(post(p.a.qp, &wr), 0);
	wc = wait_wc(p.a.send_cq);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc.byte_len, 5000);
	assert_memory_equal(p.rig.memory + 10000, p.rig.memory + THERE, 5000);
	pair_stop(&p);
}

static void atomics_are_done(void **state)
{
	struct rig_pair p;
	uint64_t value = 100, found;

	(void)state;
	pair_start(&p);
	memcpy(p.rig.memory + THERE, &value, 8);
	struct ibv_sge sge = piece(&p.rig, 0, 8);
	struct ibv_send_wr wr = make_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);

	wr.wr.atomic.remote_addr = (uintptr_t)p.rig.memory + THERE;
	wr.wr.atomic.rkey = p.rig.mr->rkey;
	wr.wr.atomic.compare_add = 11;
	assert_int_equal(post(p.a.qp, &wr), 0);
	struct ibv_wc wc = wait_wc(p.a.send_cq);

	assert_int_equal(wc.opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(wc.byte_len, 8);
	memcpy(&found, p.rig.memory, 8);
	memcpy(&value, p.rig.memory + THERE, 8);
	assert_int_equal(found, 100);
	assert_int_equal(value, 111);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 111;
	wr.wr.atomic.swap = UINT64_C(0x1122334455667788);
	assert_int_equal(post(p.a.qp, &wr), 0);
	expect_sent(&p, IBV_WC_COMP_SWAP);
	memcpy(&found, p.rig.memory, 8);
	memcpy(&value, p.rig.memory + THERE, 8);
	assert_int_equal(found, 111);
	assert_int_equal(value, UINT64_C(0x1122334455667788));
	pair_stop(&p);
}

static void inline_data_needs_no_key(void **state)
{
	struct rig_pair p;
	uint8_t bytes[65] = "inline";

	(void)state;
	pair_start(&p);
	struct ibv_sge sge = {(uintptr_t)bytes, 64, 0};
	struct ibv_send_wr wr = make_rdma(&p.rig, IBV_WR_RDMA_WRITE, &sge);

	wr.send_flags |= IBV_SEND_INLINE;
	assert_int_equal(post(p.a.qp, &wr), 0);
	memset(bytes, 0, sizeof bytes);
	expect_sent(&p, IBV_WC_RDMA_WRITE);
	assert_string_equal((char *)p.rig.memory + THERE, "inline");
	sge.length = 65;
	assert_int_equal(post(p.a.qp, &wr), EINVAL);
	sge.length = 8;
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(post(p.a.qp, &wr), EINVAL);
	pair_stop(&p);
}

static void silence_is_kept(void **state)
{
	struct rig_pair p;
	struct ibv_wc wc;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge = piece(&p.rig, 0, 10);
	struct ibv_send_wr last = make_rdma(&p.rig, IBV_WR_RDMA_WRITE, &sge), first = last;

	first.next = &last;
	first.wr_id = 1;
	first.send_flags = 0;
	assert_int_equal(post(p.a.qp, &first), 0);
	expect_sent(&p, IBV_WC_RDMA_WRITE);
	assert_int_equal(ibv_poll_cq(p.a.send_cq, 1, &wc), 0);
	pair_stop(&p);
}

/* sq_sig_all: every work request is reported. */
static void a_pair_may_report_everything(void **state)
{
	struct rig_pair p;
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	(void)state;
	pair_start(&p);
	assert_int_equal(ibv_destroy_qp(p.a.qp), 0);
	struct ibv_qp_init_attr init = rig_init(&p.a);

	init.sq_sig_all = 1;
	p.a.qp = ibv_create_qp(p.rig.pd, &init);
	assert_int_equal(ibv_modify_qp(p.b.qp, &reset, IBV_QP_STATE), 0);
	connect_qp(p.a.qp, p.b.qp->qp_num);
	connect_qp(p.b.qp, p.a.qp->qp_num);
	struct ibv_sge sge = piece(&p.rig, 0, 10);
	struct ibv_send_wr wr = make_rdma(&p.rig, IBV_WR_RDMA_WRITE, &sge);

	wr.send_flags = 0;
	assert_int_equal(post(p.a.qp, &wr), 0);
	expect_sent(&p, IBV_WC_RDMA_WRITE);
	pair_stop(&p);
}

static void first_wrong_work_is_named(void **state)
{
	struct rig_pair p;
	struct ibv_send_wr wr[3], *bad = NULL;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge[5] = {piece(&p.rig, 0, 10)};

	for (int i = 0; i < 3; i++) {
		wr[i] = make_rdma(&p.rig, IBV_WR_RDMA_WRITE, sge);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	wr[1].num_sge = 5;
	assert_int_equal(ibv_post_send(p.a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	expect_sent(&p, IBV_WC_RDMA_WRITE);
	wr[1].num_sge = 65536 + 1;
	assert_int_equal(ibv_post_send(p.a.qp, &wr[1], &bad), EINVAL);
	wr[1].num_sge = -1;
	assert_int_equal(ibv_post_send(p.a.qp, &wr[1], &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[1].num_sge = 1;
	wr[1].opcode = IBV_WR_TSO;
	assert_int_equal(ibv_post_send(p.a.qp, &wr[1], &bad), EINVAL);
	wr[1].opcode = (enum ibv_wr_opcode)99;
	assert_int_equal(ibv_post_send(p.a.qp, &wr[1], &bad), EINVAL);
	wr[1].opcode = IBV_WR_SEND;
	wr[1].send_flags = IBV_SEND_IP_CSUM;
	assert_int_equal(ibv_post_send(p.a.qp, &wr[1], &bad), EINVAL);
	pair_stop(&p);
}

/* More than fits: as many as fit are taken, then it is full. Nothing answers, so they stay. */
static void full_queue_says_so(void **state)
{
	struct rig_pair p;
	struct ibv_send_wr wr[40], *bad = NULL;
	struct ibv_recv_wr recv[40], *bad_recv = NULL;
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR}, attr;
	struct ibv_qp_init_attr init;

	(void)state;
	pair_start(&p);
	assert_int_equal(ibv_query_qp(p.a.qp, &attr, 0, &init), 0);
	assert_in_range(attr.cap.max_send_wr, 1, 39);
	assert_in_range(attr.cap.max_recv_wr, 1, 39);
	assert_int_equal(ibv_modify_qp(p.b.qp, &error, IBV_QP_STATE), 0);
	struct ibv_sge sge = piece(&p.rig, 0, 10);

	for (int i = 0; i < 40; i++) {
		wr[i] = make_rdma(&p.rig, IBV_WR_RDMA_WRITE, &sge);
		wr[i].next = i < 39 ? &wr[i + 1] : NULL;
		recv[i] = (struct ibv_recv_wr){.sg_list = &sge, .num_sge = 1};
		recv[i].next = i < 39 ? &recv[i + 1] : NULL;
	}
	assert_int_equal(ibv_post_send(p.a.qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[attr.cap.max_send_wr]);
	assert_int_equal(ibv_post_recv(p.a.qp, recv, &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, &recv[attr.cap.max_recv_wr]);
	pair_stop(&p);
}

static void states_that_cannot_send_refuse(void **state)
{
	struct rig rig;
	struct end end;

	(void)state;
	rig_start(&rig);
	end_queues(&rig, &end);
	struct ibv_qp_init_attr init = rig_init(&end);

	end.qp = ibv_create_qp(rig.pd, &init);
	struct ibv_sge sge = piece(&rig, 0, 10);
	struct ibv_send_wr wr = make_wr(IBV_WR_SEND, &sge);
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad = NULL;

	assert_int_equal(post(end.qp, &wr), EINVAL);
	assert_int_equal(ibv_post_recv(end.qp, &recv, &bad), EINVAL);
	assert_ptr_equal(bad, &recv);
	assert_int_equal(to_init(end.qp), 0);
	assert_int_equal(post(end.qp, &wr), EINVAL);
	assert_int_equal(ibv_post_recv(end.qp, &recv, &bad), 0);
	recv.num_sge = 5;
	assert_int_equal(ibv_post_recv(end.qp, &recv, &bad), EINVAL);
	/* In error all comes back. */
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};

	assert_int_equal(ibv_modify_qp(end.qp, &error, IBV_QP_STATE), 0);
	assert_int_equal(wait_wc(end.recv_cq).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(post(end.qp, &wr), 0);
	struct ibv_wc wc = wait_wc(end.send_cq);

	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.wr_id, 77);
	end_stop(&end);
	rig_stop(&rig);
}

static struct ibv_wc failed(struct rig_pair *p, struct ibv_send_wr *wr)
{
	assert_int_equal(post(p->a.qp, wr), 0);
	struct ibv_wc wc = wait_wc(p->a.send_cq);
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_query_qp(p->a.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(p->a.qp->state, IBV_QPS_ERR);
	return wc;
}

static void wrong_key_of_the_peer(void **state)
{
	struct rig_pair p;
	struct ibv_async_event event;
	struct pollfd fd;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge = piece(&p.rig, 0, 10);
	struct ibv_send_wr wr = make_rdma(&p.rig, IBV_WR_RDMA_WRITE, &sge);

	wr.wr.rdma.rkey ^= 0x5500;
	struct ibv_wc wc = failed(&p, &wr);

	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.vendor_err, 0x62);
	/* The other end learns of it, too. */
	fd = (struct pollfd){.fd = p.rig.context->async_fd, .events = POLLIN};
	assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(ibv_get_async_event(p.rig.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, p.b.qp);
	ibv_ack_async_event(&event);
	pair_stop(&p);
}

static void wrong_key_of_our_own(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge = piece(&p.rig, 0, 10);
	struct ibv_send_wr wr = make_rdma(&p.rig, IBV_WR_RDMA_WRITE, &sge);

	sge.lkey ^= 0x5500;
	assert_int_equal(failed(&p, &wr).status, IBV_WC_LOC_PROT_ERR);
	pair_stop(&p);
}

static void receiver_that_is_not_ready(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge = piece(&p.rig, 0, 10);
	struct ibv_send_wr wr = make_wr(IBV_WR_SEND, &sge);

	assert_int_equal(failed(&p, &wr).status, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_stop(&p);
}

static void message_that_does_not_fit(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	struct ibv_sge sge = piece(&p.rig, 0, 5000);
	struct ibv_send_wr wr = make_wr(IBV_WR_SEND, &sge);

	post_recv(&p.rig, p.b.qp, 9, THERE);
	assert_int_equal(failed(&p, &wr).status, IBV_WC_REM_INV_REQ_ERR);
	struct ibv_wc wc = wait_wc(p.b.recv_cq);

	assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(wc.wr_id, 9);
	pair_stop(&p);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(messages_arrive),
	cmocka_unit_test(memory_is_written_and_read),
	cmocka_unit_test(atomics_are_done),
	cmocka_unit_test(inline_data_needs_no_key),
	cmocka_unit_test(silence_is_kept),
	cmocka_unit_test(a_pair_may_report_everything),
	cmocka_unit_test(first_wrong_work_is_named),
	cmocka_unit_test(full_queue_says_so),
	cmocka_unit_test(states_that_cannot_send_refuse),
	cmocka_unit_test(wrong_key_of_the_peer),
	cmocka_unit_test(wrong_key_of_our_own),
	cmocka_unit_test(receiver_that_is_not_ready),
	cmocka_unit_test(message_that_does_not_fit),
};

ISOLATED_MAIN(cases)
