/* libmrc: completion channels and queues, asynchronous events. */
#include "mrcapi_rig.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

static bool is_readable(struct mrc_comp_channel *channel, int timeout_ms)
{
	struct pollfd p = {.events = POLLIN};

	assert_int_equal(mrc_get_comp_channel_fd(channel, &p.fd), 0);
	return poll(&p, 1, timeout_ms) == 1;
}

static void channels_are_refused_without_sense(void **state)
{
	struct rig rig;
	struct mrc_comp_channel *channel = NULL;
	struct mrc_cq *cq;
	void *context;
	int fd;

	(void)state;
	rig_start(&rig);
	assert_minus_one(mrc_create_comp_channel(NULL, &channel), EINVAL);
	assert_minus_one(mrc_create_comp_channel(rig.mrc, NULL), EINVAL);
	assert_int_equal(mrc_create_comp_channel(rig.mrc, &channel), 0);
	assert_minus_one(mrc_get_comp_channel_fd(NULL, &fd), EINVAL);
	assert_minus_one(mrc_get_comp_channel_fd(channel, NULL), EINVAL);
	assert_int_equal(mrc_get_comp_channel_fd(channel, &fd), 0);
	assert_true(fd >= 0);
	assert_minus_one(mrc_get_cq_event(NULL, &cq, &context), EINVAL);
	assert_minus_one(mrc_get_cq_event(channel, NULL, &context), EINVAL);
	assert_minus_one(mrc_get_cq_event(channel, &cq, NULL), EINVAL);
	assert_errno(mrc_destroy_comp_channel(NULL), EINVAL);
	cq = mrc_create_cq(rig.mrc, 8, NULL, channel, 0);
	assert_non_null(cq);
	assert_errno(mrc_destroy_comp_channel(channel), EBUSY);
	assert_int_equal(mrc_destroy_cq(cq), 0);
	assert_int_equal(mrc_destroy_comp_channel(channel), 0);
	rig_stop(&rig);
}

static void queues_are_refused_without_sense(void **state)
{
	struct rig rig;
	struct mrc_comp_channel *channel = NULL;
	struct ibv_wc wc;

	(void)state;
	rig_start(&rig);
	struct mrc_context *other = mrc_create_context(rig.verbs, NULL);

	assert_int_equal(mrc_create_comp_channel(other, &channel), 0);
	assert_no_pointer(mrc_create_cq(NULL, 8, NULL, NULL, 0), EINVAL);
	assert_no_pointer(mrc_create_cq(rig.mrc, 0, NULL, NULL, 0), EINVAL);
	assert_no_pointer(mrc_create_cq(rig.mrc, -1, NULL, NULL, 0), EINVAL);
	assert_no_pointer(mrc_create_cq(rig.mrc, 1 << 30, NULL, NULL, 0), EINVAL);
	assert_no_pointer(mrc_create_cq(rig.mrc, 8, NULL, NULL, 1), EINVAL);
	assert_no_pointer(mrc_create_cq(rig.mrc, 8, NULL, NULL, -1), EINVAL);
	assert_no_pointer(mrc_create_cq(rig.mrc, 8, NULL, channel, 0), EINVAL);
	struct mrc_cq *cq = mrc_create_cq(rig.mrc, 8, NULL, NULL, 0);

	assert_non_null(cq);
	assert_minus_one(mrc_poll_cq(NULL, 1, &wc), EINVAL);
	assert_minus_one(mrc_poll_cq(cq, -1, &wc), EINVAL);
	assert_minus_one(mrc_poll_cq(cq, 1, NULL), EINVAL);
	assert_int_equal(mrc_poll_cq(cq, 0, NULL), 0);
	assert_int_equal(mrc_poll_cq(cq, 1, &wc), 0);
	assert_errno(mrc_req_notify_cq(NULL, 0), EINVAL);
	assert_errno(mrc_destroy_cq(NULL), EINVAL);
	mrc_ack_cq_events(NULL, 1);
	mrc_ack_cq_events(cq, 0);
	mrc_ack_cq_events(cq, 7);
	assert_int_equal(mrc_destroy_cq(cq), 0);
	assert_int_equal(mrc_destroy_context(other), 0);
	rig_stop(&rig);
}

static void queue_in_use_stays(void **state)
{
	struct rig_pair p;

	(void)state;
	pair_start(&p);
	assert_errno(mrc_destroy_cq(p.a.send_cq), EBUSY);
	pair_stop(&p);
}

static void post_write(struct rig_pair *p, unsigned flags, bool has_imm)
{
	struct ibv_sge sge = piece(&p->rig, 0, 32);
	struct ibv_send_wr wr = write_of(&p->rig, &sge), *bad = NULL;

	wr.send_flags = flags;
	if (has_imm)
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	assert_int_equal(mrc_post_send(p->a.qp, &wr, &bad), 0);
}

static void notification_wakes_once(void **state)
{
	struct rig_pair p;
	struct mrc_cq *cq = NULL;
	void *context = NULL;

	(void)state;
	pair_start(&p);
	assert_false(is_readable(p.a.channel, 0));
	assert_int_equal(mrc_req_notify_cq(p.a.send_cq, 0), 0);
	post_write(&p, IBV_SEND_SIGNALED, false);
	assert_true(is_readable(p.a.channel, WAIT_MS));
	assert_int_equal(mrc_get_cq_event(p.a.channel, &cq, &context), 0);
	assert_ptr_equal(cq, p.a.send_cq);
	assert_ptr_equal(context, &p.a);
	assert_int_equal(wait_wc(cq).status, IBV_WC_SUCCESS);
	post_write(&p, IBV_SEND_SIGNALED, false);
	assert_int_equal(wait_wc(cq).status, IBV_WC_SUCCESS);
	assert_false(is_readable(p.a.channel, 0));
	mrc_ack_cq_events(cq, 1);
	pair_stop(&p);
}

static void solicited_only_waits_for_those(void **state)
{
	struct rig_pair p;
	struct mrc_cq *cq = NULL;
	void *context = NULL;

	(void)state;
	pair_start(&p);
	post_recv(p.b.qp, 1);
	post_recv(p.b.qp, 2);
	assert_int_equal(mrc_req_notify_cq(p.b.recv_cq, 1), 0);
	post_write(&p, 0, true);
	assert_int_equal(wait_wc(p.b.recv_cq).wr_id, 1);
	assert_false(is_readable(p.b.channel, 0));
	post_write(&p, IBV_SEND_SOLICITED, true);
	assert_true(is_readable(p.b.channel, WAIT_MS));
	assert_int_equal(mrc_get_cq_event(p.b.channel, &cq, &context), 0);
	assert_ptr_equal(cq, p.b.recv_cq);
	mrc_ack_cq_events(cq, 1);
	assert_int_equal(wait_wc(cq).wr_id, 2);
	pair_stop(&p);
}

static void channel_obeys_nonblocking(void **state)
{
	struct rig_pair p;
	struct mrc_cq *cq;
	void *context;
	int fd;

	(void)state;
	pair_start(&p);
	assert_int_equal(mrc_get_comp_channel_fd(p.a.channel, &fd), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_minus_one(mrc_get_cq_event(p.a.channel, &cq, &context), EAGAIN);
	pair_stop(&p);
}

/* Events that nobody acknowledged do not keep a context from its end. */
static void context_ends_with_events_taken(void **state)
{
	struct rig_pair p;
	struct mrc_cq *cq;
	void *context;

	(void)state;
	pair_start(&p);
	assert_int_equal(mrc_req_notify_cq(p.a.send_cq, 0), 0);
	post_write(&p, IBV_SEND_SIGNALED, false);
	assert_int_equal(mrc_get_cq_event(p.a.channel, &cq, &context), 0);
	assert_int_equal(mrc_destroy_context(p.rig.mrc), 0);
	p.rig.mrc = mrc_create_context(p.rig.verbs, NULL);
	rig_stop(&p.rig);
}

static void async_is_refused_without_sense(void **state)
{
	struct rig rig;
	struct mrc_async_event event;

	(void)state;
	rig_start(&rig);
	assert_minus_one(mrc_get_async_event(NULL, &event), EINVAL);
	assert_minus_one(mrc_get_async_event(rig.mrc, NULL), EINVAL);
	mrc_ack_async_event(NULL);
	rig_stop(&rig);
}

struct waiting {
	struct mrc_context *context;
	struct mrc_async_event event;
	int result;
};

static void *wait_event(void *arg)
{
	struct waiting *w = arg;

	w->result = mrc_get_async_event(w->context, &w->event);
	return NULL;
}

/* The peer's request meets memory that it has no right to. */
static void pair_tells_of_a_protection_fault(void **state)
{
	struct rig_pair p;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad = NULL;
	pthread_t thread;

	(void)state;
	pair_start(&p);
	struct waiting w = {.context = p.rig.mrc};

	assert_int_equal(pthread_create(&thread, NULL, wait_event, &w), 0);
	sge = piece(&p.rig, 0, 8);
	wr = write_of(&p.rig, &sge);
	wr.wr.rdma.rkey ^= 0x100;
	assert_int_equal(mrc_post_send(p.a.qp, &wr, &bad), 0);
	assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_REM_ACCESS_ERR);
	pthread_join(thread, NULL);
	assert_int_equal(w.result, 0);
	assert_int_equal(w.event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(w.event.element.qp, p.b.qp);
	mrc_ack_async_event(&w.event);
	assert_int_equal(state_of(p.a.qp), IBV_QPS_ERR);
	pair_stop(&p);
}

/* A completion that finds no place. */
static void overrun_queue_is_an_error(void **state)
{
	struct rig_pair p;
	struct mrc_async_event event;
	struct ibv_wc wc;
	int n = 0, n_events = 0;

	(void)state;
	rig_start(&p.rig);
	end_queues(&p.rig, &p.a);
	end_queues(&p.rig, &p.b);
	assert_int_equal(mrc_destroy_cq(p.a.send_cq), 0);
	p.a.send_cq = mrc_create_cq(p.rig.mrc, 1, &p.a, NULL, 0);
	p.a.qp = rig_qp(&p.rig, &p.a);
	p.b.qp = rig_qp(&p.rig, &p.b);
	bring_to(&p.rig, p.a.qp, number_of(p.b.qp), IBV_QPS_RTS);
	bring_to(&p.rig, p.b.qp, number_of(p.a.qp), IBV_QPS_RTS);
	for (int i = 0; i < 8; i++)
		post_write(&p, IBV_SEND_SIGNALED, false);
	while (n_events < 2) {
		assert_int_equal(mrc_get_async_event(p.rig.mrc, &event), 0);
		if (event.event_type == IBV_EVENT_CQ_ERR)
			assert_ptr_equal(event.element.cq, p.a.send_cq);
		else
			assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
		mrc_ack_async_event(&event);
		n_events++;
	}
	while ((n = mrc_poll_cq(p.a.send_cq, 1, &wc)) > 0)
		;
	assert_int_equal(n, -1);
	assert_int_equal(errno, EOVERFLOW);
	end_stop(&p.a);
	end_stop(&p.b);
	rig_stop(&p.rig);
}

/* 7.5.4: an end that agreed to Dynamic MPR and learns of no range is told of it, and goes on; one
 * that did not never looks (M-46). */
static void a_range_that_is_not_told(void **state)
{
	const struct ibv_qp_attr drain = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	(void)state;
	for (uint32_t is_agreed = 0; is_agreed < 2; is_agreed++) {
		struct mrc_qp_attr mrc = {.cap = is_agreed ? MRC_QP_CAP_DYNAMIC_MPR : 0};
		struct ibv_qp_attr sqd = drain;
		struct mrc_async_event event;
		struct rig_pair p = {.rig = {.verbs = NULL}};

		rig_start(&p.rig);
		end_queues(&p.rig, &p.a);
		end_queues(&p.rig, &p.b);
		p.a.qp = rig_qp(&p.rig, &p.a);
		p.b.qp = rig_qp(&p.rig, &p.b);
		struct ibv_qp_attr attr = good_attr(&p.rig, p.a.qp, number_of(p.b.qp));

		bring_to(&p.rig, p.b.qp, number_of(p.a.qp), IBV_QPS_RTS);
		bring_to(&p.rig, p.a.qp, number_of(p.b.qp), IBV_QPS_INIT);
		attr.qp_state = IBV_QPS_RTR;
		assert_int_equal(mrc_modify_qp(p.a.qp, &attr, RTR_MASK, &mrc, MRC_QP_CAP), 0);
		attr.qp_state = IBV_QPS_RTS;
		assert_int_equal(mrc_modify_qp(p.a.qp, &attr, RTS_MASK, NULL, 0), 0);
		post_write(&p, IBV_SEND_SIGNALED, false);
		assert_int_equal(wait_wc(p.a.send_cq).status, IBV_WC_SUCCESS);
		/* Whatever there was to tell comes before this. */
		assert_int_equal(mrc_modify_qp(p.a.qp, &sqd,
					       IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, NULL, 0),
				 0);
		uint32_t n_reported = 0;

		do {
			assert_int_equal(mrc_get_async_event(p.rig.mrc, &event), 0);
			assert_ptr_equal(event.element.qp, p.a.qp);
			n_reported += event.event_type == IBV_EVENT_PATH_MIG_ERR;
			assert_int_not_equal(event.event_type, IBV_EVENT_QP_REQ_ERR);
			mrc_ack_async_event(&event);
		} while (event.event_type != IBV_EVENT_SQ_DRAINED);
		assert_int_equal(n_reported, is_agreed);
		assert_int_equal(state_of(p.a.qp), IBV_QPS_SQD);
		pair_stop(&p);
	}
}

static void port_tells_of_its_state(void **state)
{
	struct rig rig;
	struct mrc_async_event event;
	struct ibv_port_attr port;

	(void)state;
	rig_start(&rig);
	if (!isolate_set_up(false)) {
		print_message("the interface cannot be taken down here: not tried\n");
		rig_stop(&rig);
		skip();
		return;
	}
	assert_int_equal(mrc_get_async_event(rig.mrc, &event), 0);
	while (event.event_type == IBV_EVENT_GID_CHANGE) {
		mrc_ack_async_event(&event);
		assert_int_equal(mrc_get_async_event(rig.mrc, &event), 0);
	}
	assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
	assert_int_equal(event.element.port_num, 1);
	mrc_ack_async_event(&event);
	assert_int_equal(ibv_query_port(rig.verbs, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	assert_true(isolate_set_up(true));
	do {
		assert_int_equal(mrc_get_async_event(rig.mrc, &event), 0);
		mrc_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_GID_CHANGE);
	assert_int_equal(event.event_type, IBV_EVENT_PORT_ACTIVE);
	rig_stop(&rig);
}

/* The end of a drain is told to those who asked. */
static void drained_is_told_on_request(void **state)
{
	struct rig_pair p;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD};
	struct mrc_async_event event;

	(void)state;
	pair_start(&p);
	assert_int_equal(mrc_modify_qp(p.a.qp, &attr, IBV_QP_STATE, NULL, 0), 0);
	attr.en_sqd_async_notify = 1;
	assert_int_equal(
		mrc_modify_qp(p.b.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, NULL, 0),
		0);
	assert_int_equal(mrc_get_async_event(p.rig.mrc, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(event.element.qp, p.b.qp);
	mrc_ack_async_event(&event);
	pair_stop(&p);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(channels_are_refused_without_sense),
	cmocka_unit_test(queues_are_refused_without_sense),
	cmocka_unit_test(queue_in_use_stays),
	cmocka_unit_test(notification_wakes_once),
	cmocka_unit_test(solicited_only_waits_for_those),
	cmocka_unit_test(channel_obeys_nonblocking),
	cmocka_unit_test(context_ends_with_events_taken),
	cmocka_unit_test(async_is_refused_without_sense),
	cmocka_unit_test(pair_tells_of_a_protection_fault),
	cmocka_unit_test(overrun_queue_is_an_error),
	cmocka_unit_test(a_range_that_is_not_told),
	cmocka_unit_test(port_tells_of_its_state),
	cmocka_unit_test(drained_is_told_on_request),
};

ISOLATED_MAIN(cases)
