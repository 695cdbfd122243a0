/* The calls of libweft-verbs about channels, completion queues and shared receive queues, one by
 * one: see verbs_calls.h. */
#include "verbs_calls.h"

#include <fcntl.h>

static void channels(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, channel, 0), *got;
	void *about;

	(void)state;
	assert_non_null(channel);
	assert_non_null(cq);
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	MINUS_ONE(EAGAIN, ibv_get_cq_event(channel, &got, &about));
	SAYS(EBUSY, ibv_destroy_comp_channel(channel));
	ibv_ack_cq_events(cq, 0);
	FINE(ibv_destroy_cq(cq));
	FINE(ibv_destroy_comp_channel(channel));
	FINE(ibv_close_device(context));
}

static void queues(void **state)
{
	struct ibv_context *context = rig_open(), *other = rig_open();
	struct ibv_comp_channel *elsewhere = ibv_create_comp_channel(other);
	struct ibv_device_attr attr;
	struct ibv_wc wc;

	(void)state;
	FINE(ibv_query_device(context, &attr));
	NOTHING(EINVAL, ibv_create_cq(context, 0, NULL, NULL, 0));
	NOTHING(EINVAL, ibv_create_cq(context, -1, NULL, NULL, 0));
	NOTHING(EINVAL, ibv_create_cq(context, attr.max_cqe + 1, NULL, NULL, 0));
	NOTHING(EINVAL, ibv_create_cq(context, 4, NULL, NULL, -1));
	NOTHING(EINVAL, ibv_create_cq(context, 4, NULL, NULL, context->num_comp_vectors));
	NOTHING(EINVAL, ibv_create_cq(context, 4, NULL, elsewhere, 0));
	struct ibv_cq *cq = ibv_create_cq(context, 4, &wc, NULL, 0);

	assert_non_null(cq);
	assert_ptr_equal(cq->cq_context, &wc);
	assert_true(cq->cqe >= 4);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
	FINE(ibv_req_notify_cq(cq, 0));
	FINE(ibv_req_notify_cq(cq, 1));
	SAYS(EINVAL, ibv_resize_cq(cq, 0));
	SAYS(EINVAL, ibv_resize_cq(cq, -5));
	SAYS(EINVAL, ibv_resize_cq(cq, attr.max_cqe + 1));
	FINE(ibv_resize_cq(cq, 100));
	assert_true(cq->cqe >= 100);
	FINE(ibv_destroy_cq(cq));
	FINE(ibv_destroy_comp_channel(elsewhere));
	FINE(ibv_close_device(other));
	FINE(ibv_close_device(context));
}

static void extended_queues(void **state)
{
	struct ibv_context *context = rig_open();
	struct ibv_cq_init_attr_ex good = {.cqe = 4, .wc_flags = IBV_WC_STANDARD_FLAGS},
				   attr = good;
	struct ibv_poll_cq_attr poll = {0};

	(void)state;
	attr.cqe = 0;
	NOTHING(EINVAL, ibv_create_cq_ex(context, &attr));
	attr = good;
	attr.comp_vector = 7;
	NOTHING(EINVAL, ibv_create_cq_ex(context, &attr));
	attr = good;
	attr.wc_flags = IBV_WC_EX_WITH_TM_INFO;
	NOTHING(EOPNOTSUPP, ibv_create_cq_ex(context, &attr));
	attr = good;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	NOTHING(EOPNOTSUPP, ibv_create_cq_ex(context, &attr));
	attr = good;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	NOTHING(EOPNOTSUPP, ibv_create_cq_ex(context, &attr));
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &good);

	assert_non_null(cq);
	assert_int_equal(ibv_start_poll(cq, &poll), ENOENT);
	poll.comp_mask = 1;
	assert_int_equal(ibv_start_poll(cq, &poll), EINVAL);
	struct ibv_modify_cq_attr moderate = {.attr_mask = IBV_CQ_ATTR_MODERATE};

	assert_int_equal(ibv_modify_cq(ibv_cq_ex_to_cq(cq), &moderate), EOPNOTSUPP);
	FINE(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	FINE(ibv_close_device(context));
}

/* A queue of this size and with so many pieces, by either call. */
static struct ibv_srq *shared_by(bool is_ex, struct ibv_pd *pd, struct ibv_srq_attr attr)
{
	struct ibv_srq_init_attr plain = {.attr = attr};
	struct ibv_srq_init_attr_ex ex = {
		.attr = attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};

	return is_ex ? ibv_create_srq_ex(pd->context, &ex) : ibv_create_srq(pd, &plain);
}

static void shared_queues(void **state)
{
	struct rig rig;
	struct ibv_device_attr limits;
	struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	uint32_t number = 0;

	(void)state;
	rig_start(&rig);
	FINE(ibv_query_device(rig.context, &limits));
	for (int is_ex = 0; is_ex < 2; is_ex++) {
		uint32_t many = (uint32_t)limits.max_srq_wr + 1;
		uint32_t wide = (uint32_t)limits.max_srq_sge + 1;

		NOTHING(EINVAL, shared_by(is_ex, rig.pd, (struct ibv_srq_attr){0, 1, 0}));
		NOTHING(EINVAL, shared_by(is_ex, rig.pd, (struct ibv_srq_attr){many, 1, 0}));
		NOTHING(EINVAL, shared_by(is_ex, rig.pd, (struct ibv_srq_attr){4, wide, 0}));
		struct ibv_srq *srq = shared_by(is_ex, rig.pd, attr);

		assert_non_null(srq);
		FINE(ibv_query_srq(srq, &attr));
		assert_true(attr.max_wr >= 4 && attr.max_sge >= 1 && attr.srq_limit == 0);
		FINE(ibv_get_srq_num(srq, &number));
		attr.srq_limit = 2;
		FINE(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
		attr.srq_limit = attr.max_wr + 1;
		SAYS(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
		SAYS(EINVAL, ibv_modify_srq(srq, &attr, 64));
		SAYS(EOPNOTSUPP, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
		FINE(ibv_query_srq(srq, &attr));
		assert_int_equal(attr.srq_limit, 2);
		FINE(ibv_destroy_srq(srq));
	}
	rig_stop(&rig);
}

static void extended_shared_queues(void **state)
{
	struct rig rig;
	struct ibv_srq_init_attr_ex good = {.attr = {.max_wr = 4, .max_sge = 1},
					    .comp_mask = IBV_SRQ_INIT_ATTR_PD},
				    attr;

	(void)state;
	rig_start(&rig);
	good.pd = rig.pd;
	attr = good;
	attr.comp_mask = 0;
	NOTHING(EINVAL, ibv_create_srq_ex(rig.context, &attr));
	attr = good;
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
	attr.srq_type = IBV_SRQT_XRC;
	NOTHING(EOPNOTSUPP, ibv_create_srq_ex(rig.context, &attr));
	rig_stop(&rig);
}

/* max_srq of these is 0. */
static void shared_queues_of_mrc(void **state)
{
	struct ibv_context *context = open_mrc();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};

	(void)state;
	NOTHING(EOPNOTSUPP, shared_by(false, pd, attr));
	NOTHING(EOPNOTSUPP, shared_by(true, pd, attr));
	FINE(ibv_dealloc_pd(pd));
	FINE(ibv_close_device(context));
}

static void receives_of_shared_queues(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	struct ibv_srq *srq = shared_by(false, rig.pd, (struct ibv_srq_attr){2, 1, 0});
	struct ibv_sge sge[2] = {piece(&rig, 0, 64), piece(&rig, 64, 64)};
	struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = 1}, second = wr, *bad = NULL;

	wr.next = &second;
	FINE(ibv_post_srq_recv(srq, &wr, &bad));
	SAYS(ENOMEM, ibv_post_srq_recv(srq, &second, &bad));
	assert_ptr_equal(bad, &second);
	second.num_sge = -1;
	SAYS(EINVAL, ibv_post_srq_recv(srq, &second, &bad));
	second.num_sge = 100;
	SAYS(EINVAL, ibv_post_srq_recv(srq, &second, &bad));
	FINE(ibv_destroy_srq(srq));
	rig_stop(&rig);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(channels),
	cmocka_unit_test(queues),
	cmocka_unit_test(extended_queues),
	cmocka_unit_test(shared_queues),
	cmocka_unit_test(extended_shared_queues),
	cmocka_unit_test(shared_queues_of_mrc),
	cmocka_unit_test(receives_of_shared_queues),
};

ISOLATED_MAIN(cases)
