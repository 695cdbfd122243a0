/* libweft-verbs: completion queues and channels, shared receive queues, asynchronous events. */
#include "verbs_rig.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

static void wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
}

static void set_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static void queue_has_limits(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_cq *cq;

	(void)state;
	assert_null(ibv_create_cq(context, 0, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(context, -1, NULL, NULL, 0));
	assert_null(ibv_create_cq(context, (1 << 20) + 1, NULL, NULL, 0));
	assert_null(ibv_create_cq(context, 10, NULL, NULL, 1));
	assert_null(ibv_create_cq(context, 10, NULL, NULL, -1));
	cq = ibv_create_cq(context, 10, &cq, NULL, 0);
	assert_non_null(cq);
	assert_true(cq->cqe >= 10);
	assert_ptr_equal(cq->cq_context, &cq);
	assert_int_equal(ibv_resize_cq(cq, 100), 0);
	assert_true(cq->cqe >= 100);
	assert_int_equal(ibv_resize_cq(cq, 0), EINVAL);
	assert_int_equal(ibv_resize_cq(cq, (1 << 20) + 1), EINVAL);
	struct ibv_wc wc;
	struct ibv_modify_cq_attr moderate = {.attr_mask = IBV_CQ_ATTR_MODERATE};

	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
	assert_int_equal(ibv_poll_cq(cq, 0, &wc), 0);
	assert_int_equal(ibv_modify_cq(cq, &moderate), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_close_device(context), 0);
}

static void what_is_in_use_stays(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	assert_int_equal(ibv_destroy_cq(p.a.send_cq), EBUSY);
	assert_int_equal(ibv_destroy_comp_channel(p.a.channel), EBUSY);
	pair_stop(&p);
}

static int send_bytes(struct rig_pair *p, unsigned flags, uint64_t id)
{
	struct ibv_sge sge = piece(&p->rig, 0, 100);
	struct ibv_send_wr wr = {.wr_id = id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = flags},
			   *bad;

	return ibv_post_send(p->a.qp, &wr, &bad);
}

static void channel_tells_of_completions(void **state)
{
	struct rig_pair p;
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	(void)state;
	pair_start(&p);
	set_nonblocking(p.b.channel->fd);
	assert_int_equal(ibv_get_cq_event(p.b.channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
	post_recv(&p.rig, p.b.qp, 1, 32768);
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 0), 0);
	assert_int_equal(send_bytes(&p, IBV_SEND_SIGNALED, 1), 0);
	wait_readable(p.b.channel->fd);
	assert_int_equal(ibv_get_cq_event(p.b.channel, &cq, &context), 0);
	assert_ptr_equal(cq, p.b.recv_cq);
	assert_ptr_equal(context, &p.b);
	ibv_ack_cq_events(cq, 1);
	struct ibv_wc wc = wait_wc(p.b.recv_cq);

	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.byte_len, 100);
	wait_wc(p.a.send_cq);
	pair_stop(&p);
}

static void solicited_is_what_was_asked_for(void **state)
{
	struct rig_pair p;
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	(void)state;
	pair_start(&p);
	set_nonblocking(p.b.channel->fd);
	post_recv(&p.rig, p.b.qp, 1, 32768);
	post_recv(&p.rig, p.b.qp, 2, 32768);
	assert_int_equal(ibv_req_notify_cq(p.b.recv_cq, 1), 0);
	assert_int_equal(send_bytes(&p, IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(wait_wc(p.b.recv_cq).wr_id, 1);
	assert_int_equal(ibv_get_cq_event(p.b.channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(send_bytes(&p, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED, 2), 0);
	wait_readable(p.b.channel->fd);
	assert_int_equal(ibv_get_cq_event(p.b.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(wait_wc(p.b.recv_cq).wr_id, 2);
	pair_stop(&p);
}

static struct ibv_cq_ex *make_cq_ex(struct ibv_context *context, uint64_t wc_flags, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = wc_flags,
		.comp_mask = flags ? (uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS : 0,
		.flags = flags,
	};

	return ibv_create_cq_ex(context, &attr);
}

static void extended_queue_has_limits(void **state)
{
	struct ibv_context *context = rig_open();

	(void)state;
	assert_null(make_cq_ex(context, IBV_WC_EX_WITH_CVLAN, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(make_cq_ex(context, IBV_WC_EX_WITH_TM_INFO, 0));
	assert_null(make_cq_ex(context, 0, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN));
	struct ibv_cq_ex *cq = make_cq_ex(context, 0, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	struct ibv_poll_cq_attr attr = {.comp_mask = 1};
	struct ibv_wc_tm_info tm;

	assert_non_null(cq);
	assert_int_equal(ibv_start_poll(cq, &attr), EINVAL);
	attr.comp_mask = 0;
	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	assert_int_equal(ibv_wc_read_slid(cq) | ibv_wc_read_sl(cq) |
				 ibv_wc_read_dlid_path_bits(cq) | ibv_wc_read_cvlan(cq) |
				 ibv_wc_read_flow_tag(cq),
			 0);
	ibv_wc_read_tm_info(cq, &tm);
	assert_int_equal(tm.tag, 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	/* One that is locked while it is polled is not left locked in vain. */
	cq = make_cq_ex(context, 0, 0);
	assert_non_null(cq);
	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(ibv_close_device(context), 0);
}

static void wait_start(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {0};
	int64_t end = now_ms() + WAIT_MS;
	int error = ENOENT;

	while (error == ENOENT && now_ms() < end)
		error = ibv_start_poll(cq, &attr);
	assert_int_equal(error, 0);
}

static void completions_are_read_field_by_field(void **state)
{
	struct rig_pair p;
	struct ibv_cq_ex *cq;

	(void)state;
	pair_start(&p);
	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	assert_int_equal(ibv_destroy_cq(p.b.recv_cq), 0);
	cq = make_cq_ex(p.rig.context,
			IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
			0);
	assert_non_null(cq);
	p.b.recv_cq = ibv_cq_ex_to_cq(cq);
	struct ibv_qp_init_attr init = rig_init(&p.b);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	p.b.qp = ibv_create_qp(p.rig.pd, &init);
	assert_int_equal(ibv_modify_qp(p.a.qp, &reset, IBV_QP_STATE), 0);
	connect_qp(p.a.qp, p.b.qp->qp_num);
	connect_qp(p.b.qp, p.a.qp->qp_num);
	post_recv(&p.rig, p.b.qp, 7, 32768);
	post_recv(&p.rig, p.b.qp, 8, 32768);
	struct ibv_sge sge = piece(&p.rig, 0, 100);
	struct ibv_send_wr second = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_send_wr wr = {.next = &second,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .imm_data = htonl(0x12345678)};

	assert_int_equal(ibv_post_send(p.a.qp, &wr, &bad), 0);
	wait_start(cq);
	assert_int_equal(cq->wr_id, 7);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(cq), 100);
	assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	assert_int_equal(ntohl(ibv_wc_read_imm_data(cq)), 0x12345678);
	assert_int_equal(ibv_wc_read_qp_num(cq), p.b.qp->qp_num);
	assert_int_equal(ibv_wc_read_src_qp(cq), p.a.qp->qp_num);
	uint64_t at = ibv_wc_read_completion_ts(cq);

	assert_int_not_equal(at, 0);
	assert_true(ibv_wc_read_completion_wallclock_ns(cq) > UINT64_C(1500000000000000000));
	int error = ENOENT;

	for (int64_t end = now_ms() + WAIT_MS; error == ENOENT && now_ms() < end;)
		error = ibv_next_poll(cq);
	assert_int_equal(error, 0);
	assert_int_equal(cq->wr_id, 8);
	assert_true(ibv_wc_read_completion_ts(cq) >= at);
	assert_int_equal(ibv_wc_read_wc_flags(cq), 0);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	pair_stop(&p);
}

static void shared_queue_has_limits(void **state)
{
	struct rig rig;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 10, .max_sge = 2}};
	struct ibv_srq_attr attr = {0};
	uint32_t number = UINT32_MAX;

	(void)state;
	rig_start(&rig);
	init.attr.max_wr = 0;
	assert_null(ibv_create_srq(rig.pd, &init));
	init.attr.max_wr = 1u << 20;
	assert_null(ibv_create_srq(rig.pd, &init));
	init.attr.max_wr = 10;
	init.srq_context = &rig;
	struct ibv_srq *srq = ibv_create_srq(rig.pd, &init);

	assert_non_null(srq);
	assert_ptr_equal(srq->srq_context, &rig);
	assert_true(init.attr.max_wr >= 10);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, init.attr.max_wr);
	assert_int_equal(attr.srq_limit, 0);
	attr.srq_limit = 3;
	attr.max_wr = 20;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EOPNOTSUPP);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, init.attr.max_wr);
	assert_int_equal(attr.srq_limit, 0);
	assert_int_equal(ibv_modify_srq(srq, &attr, 4), EINVAL);
	assert_int_equal(ibv_modify_srq(srq, &attr, 0), 0);
	attr.srq_limit = 1000;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(ibv_get_srq_num(srq, &number), 0);
	struct ibv_recv_wr wr = {.num_sge = 3}, *bad = NULL;
	struct ibv_ops_wr op = {0}, *bad_op = NULL;

	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(ibv_post_srq_ops(srq, &op, &bad_op), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	struct ibv_srq_init_attr_ex ex = {.attr = {.max_wr = 10, .max_sge = 1},
					  .comp_mask =
						  IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					  .srq_type = IBV_SRQT_BASIC,
					  .pd = rig.pd};

	srq = ibv_create_srq_ex(rig.context, &ex);
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	ex.srq_type = IBV_SRQT_XRC;
	assert_null(ibv_create_srq_ex(rig.context, &ex));
	assert_int_equal(errno, EOPNOTSUPP);
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	ex.srq_type = IBV_SRQT_BASIC;
	assert_null(ibv_create_srq_ex(rig.context, &ex));
	assert_int_equal(errno, EINVAL);
	rig_stop(&rig);
}

/* Receives on a shared queue; at its limit it tells. */
static void shared_queue_tells_of_its_limit(void **state)
{
	struct rig_pair p;
	struct ibv_srq_init_attr shared = {.attr = {.max_wr = 10, .max_sge = 1}};
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_recv_wr *bad;

	(void)state;
	pair_start(&p);
	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	struct ibv_qp_init_attr init = rig_init(&p.b);
	struct ibv_srq *srq = init.srq = ibv_create_srq(p.rig.pd, &shared);

	p.b.qp = ibv_create_qp(p.rig.pd, &init);
	assert_non_null(p.b.qp);
	assert_int_equal(init.cap.max_recv_wr, 0);
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	assert_int_equal(ibv_modify_qp(p.a.qp, &reset, IBV_QP_STATE), 0);
	connect_qp(p.a.qp, p.b.qp->qp_num);
	connect_qp(p.b.qp, p.a.qp->qp_num);
	struct ibv_sge sge = piece(&p.rig, 32768, 4096);
	struct ibv_recv_wr two = {.wr_id = 2, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr one = {.wr_id = 1, .next = &two, .sg_list = &sge, .num_sge = 1};

	assert_int_equal(ibv_post_recv(p.b.qp, &one, &bad), EINVAL);
	assert_ptr_equal(bad, &one);
	assert_int_equal(ibv_post_srq_recv(srq, &one, &bad), 0);
	struct ibv_srq_attr attr = {.srq_limit = 2};

	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(send_bytes(&p, IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(wait_wc(p.b.recv_cq).wr_id, 1);
	wait_readable(p.rig.context->async_fd);
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(p.rig.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, srq);
	ibv_ack_async_event(&event);
	end_stop(&p.a);
	end_stop(&p.b);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	rig_stop(&p.rig);
}

/* The next event; its object is the caller's to look at. */
static struct ibv_async_event expect_event(struct ibv_context *context, enum ibv_event_type type)
{
	struct ibv_async_event event = {0};

	wait_readable(context->async_fd);
	assert_int_equal(ibv_get_async_event(context, &event), 0);
	assert_int_equal(event.event_type, type);
	ibv_ack_async_event(&event);
	return event;
}

static bool has_event(const struct ibv_context *context)
{
	struct pollfd p = {.fd = context->async_fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Both pairs complete their sends there, and end with it. */
static void overrun_queue_takes_its_pairs_along(void **state)
{
	struct rig_pair p;
	struct ibv_qp_attr attr, reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_qp_init_attr init;
	struct ibv_wc wc;

	(void)state;
	pair_start(&p);
	assert_int_equal(ibv_destroy_qp(p.b.qp), 0);
	init = rig_init(&p.b);
	init.send_cq = p.a.send_cq;
	p.b.qp = ibv_create_qp(p.rig.pd, &init);
	assert_int_equal(ibv_modify_qp(p.a.qp, &reset, IBV_QP_STATE), 0);
	connect_qp(p.a.qp, p.b.qp->qp_num);
	connect_qp(p.b.qp, p.a.qp->qp_num);
	assert_int_equal(ibv_resize_cq(p.a.send_cq, 2), 0);
	for (uint64_t i = 0; i < 4; i++)
		post_recv(&p.rig, p.b.qp, i, 32768);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(send_bytes(&p, IBV_SEND_SIGNALED, i), 0);
	struct ibv_async_event event = expect_event(p.rig.context, IBV_EVENT_CQ_ERR);

	assert_ptr_equal(event.element.cq, p.a.send_cq);
	struct ibv_qp *first = expect_event(p.rig.context, IBV_EVENT_QP_FATAL).element.qp;
	struct ibv_qp *second = expect_event(p.rig.context, IBV_EVENT_QP_FATAL).element.qp;

	assert_ptr_not_equal(first, second);
	assert_true(first == p.a.qp || first == p.b.qp);
	assert_true(second == p.a.qp || second == p.b.qp);
	assert_false(has_event(p.rig.context));
	for (int i = 0; i < 3; i++)
		assert_int_equal(ibv_poll_cq(p.a.send_cq, 1, &wc), -1);
	assert_int_equal(errno, EOVERFLOW);
	assert_int_equal(ibv_query_qp(p.a.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	/* What the peer has received, or had ready, it is told. */
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(wait_wc(p.b.recv_cq).wr_id, i);
	end_stop(&p.b);
	end_stop(&p.a);
	rig_stop(&p.rig);
}

static int to_sqd(struct ibv_qp *qp, uint8_t notify, int mask)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = notify};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask);
}

/* A pair that waits for a receive without end. */
static void connect_patient(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_qp_attr rtr = rtr_attr(qp, peer), rts = rts_attr(qp);

	rts.rnr_retry = 7;
	assert_int_equal(ibv_modify_qp(qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(to_init(qp), 0);
	assert_int_equal(ibv_modify_qp(qp, &rtr, RTR_MASK), 0);
	assert_int_equal(ibv_modify_qp(qp, &rts, RTS_MASK), 0);
}

static void drained_is_told_to_who_asks(void **state)
{
	struct rig_pair p;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS}, is;
	struct ibv_qp_init_attr init;

	(void)state;
	pair_start(&p);
	connect_patient(p.a.qp, p.b.qp->qp_num);
	assert_int_equal(to_sqd(p.a.qp, 1, 0), 0);
	assert_int_equal(ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(to_sqd(p.a.qp, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE), 0);
	assert_false(has_event(p.rig.context));
	/* A message that nobody has a receive for is out: it is waited for. */
	assert_int_equal(send_bytes(&p, IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(to_sqd(p.a.qp, 1, IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(ibv_query_qp(p.a.qp, &is, IBV_QP_STATE, &init), 0);
	assert_int_equal(is.en_sqd_async_notify, 1);
	assert_int_equal(is.sq_draining, 1);
	assert_false(has_event(p.rig.context));
	post_recv(&p.rig, p.b.qp, 2, 32768);
	assert_ptr_equal(expect_event(p.rig.context, IBV_EVENT_SQ_DRAINED).element.qp, p.a.qp);
	assert_int_equal(wait_wc(p.a.send_cq).wr_id, 1);
	/* Once, and each time anew. */
	assert_int_equal(ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(to_sqd(p.a.qp, 1, 0), 0);
	assert_false(has_event(p.rig.context));
	pair_stop(&p);
}

static void event_of_a_port_is_acknowledged(void **state)
{
	struct ibv_async_event event = {.element = {.port_num = 1},
					.event_type = IBV_EVENT_PORT_ACTIVE};

	(void)state;
	ibv_ack_async_event(&event);
	event.event_type = IBV_EVENT_GID_CHANGE;
	ibv_ack_async_event(&event);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(queue_has_limits),
	cmocka_unit_test(what_is_in_use_stays),
	cmocka_unit_test(channel_tells_of_completions),
	cmocka_unit_test(solicited_is_what_was_asked_for),
	cmocka_unit_test(extended_queue_has_limits),
	cmocka_unit_test(completions_are_read_field_by_field),
	cmocka_unit_test(shared_queue_has_limits),
	cmocka_unit_test(shared_queue_tells_of_its_limit),
	cmocka_unit_test(overrun_queue_takes_its_pairs_along),
	cmocka_unit_test(drained_is_told_to_who_asks),
	cmocka_unit_test(event_of_a_port_is_acknowledged),
};

ISOLATED_MAIN(cases)
