/* Questions, answers and events between the control interface and the soft device. */
#include "mrcapi/ctl/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "wire/mrc.h"

static const struct ctl_batch probes = {MRC_CTL_EP_OP_EV_PROBE, 26, 2};

/* The wire counts the operations the other way round, and ports from another number (M-29). */
static void questions(void **state)
{
	struct mrc_ctl_ep_req req = {
		.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV,
		.req_ev = {{1, 2, 3, 4}, 2},
	};
	struct ctl_batch status = probes;
	struct nic_mrc_question q;

	(void)state;
	memset(req.sgid.raw, 0x11, 16);
	memset(req.dgid.raw, 0x22, 16);
	req.op.port_status_update.port_status = 1 << 1 | 1 << 2;
	assert_int_equal(ctl_fill_question(&probes, &req, &q), 0);
	assert_int_equal(q.op, MRC_ENDPOINT_EV_PROBE);
	assert_int_equal(q.op, 1);
	assert_int_equal(q.port, 1);
	assert_int_equal(q.dscp, 26);
	assert_int_equal(q.port_status, 0);
	assert_int_equal(q.wide, CONTROL_STRUCTURED);
	assert_memory_equal(q.val, req.req_ev.val, 32);
	assert_memory_equal(q.sgid, req.sgid.raw, 16);
	assert_memory_equal(q.dgid, req.dgid.raw, 16);
	status.type = MRC_CTL_EP_OP_PORT_STATUS_UPDATE;
	req.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_UDP;
	assert_int_equal(ctl_fill_question(&status, &req, &q), 0);
	assert_int_equal(q.op, MRC_ENDPOINT_PORT_STATUS);
	assert_int_equal(q.port_status, 1 << 0 | 1 << 1);
	assert_int_equal(q.wide, CONTROL_UDP);
	req.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_SRV6;
	assert_int_equal(ctl_fill_question(&status, &req, &q), 0);
	assert_int_equal(q.wide, CONTROL_SRV6);
}

static void questions_that_cannot_be(void **state)
{
	struct mrc_ctl_ep_req req = {
		.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV,
		.req_ev = {{0}, 1},
	};
	struct ctl_batch b = probes;
	struct nic_mrc_question q;

	(void)state;
	for (uint32_t port = 0; port < 256; port++) {
		req.req_ev.port = (uint8_t)port;
		assert_int_equal(ctl_fill_question(&b, &req, &q),
				 port == 1 || port == 2 ? 0 : -EINVAL);
	}
	req.req_ev.port = 1;
	b.dscp = 64;
	assert_int_equal(ctl_fill_question(&b, &req, &q), -EINVAL);
	b.dscp = 63;
	b.type = (enum mrc_ctl_ep_op_type)2;
	assert_int_equal(ctl_fill_question(&b, &req, &q), -EINVAL);
	req.ev_fmt_mode = (enum mrc_ctl_ev_fmt_mode)0;
	assert_int_equal(ctl_fill_question(&probes, &req, &q), -EINVAL);
}

/* An answer could not be told from another's. */
static void ids_are_different(void **state)
{
	struct mrc_ctl_ep_req *req = calloc(CTL_REQ_IDS, sizeof *req);
	struct nic_mrc_question *q = calloc(CTL_REQ_IDS, sizeof *q);

	(void)state;
	assert_true(req && q);
	for (uint32_t i = 0; i < CTL_REQ_IDS; i++)
		req[i] = (struct mrc_ctl_ep_req){
			.req_id = (uint16_t)(i * 7),
			.ev_fmt_mode = MRC_CTL_EV_FMT_MODE_STEV,
			.req_ev = {{(uint8_t)i}, 1},
		};
	assert_int_equal(ctl_fill_batch(&probes, req, CTL_REQ_IDS, q), 0);
	assert_int_equal(q[77].val[0], 77);
	req[CTL_REQ_IDS - 1].req_id = 0;
	assert_int_equal(ctl_fill_batch(&probes, req, CTL_REQ_IDS, q), -EINVAL);
	req[CTL_REQ_IDS - 1].req_id = (uint16_t)((CTL_REQ_IDS - 1) * 7);
	req[500].req_ev.port = 0;
	assert_int_equal(ctl_fill_batch(&probes, req, CTL_REQ_IDS, q), -EINVAL);
	free(req);
	free(q);
}

static void answers(void **state)
{
	const struct mrc_ctl_ep_req req[] = {{.req_id = 5}, {.req_id = 900}};
	struct nic_mrc_answer a = {.question = 1, .port = 1, .is_adjusted = true, .rtt_ns = 1234};
	struct mrc_ctl_ep_rsp rsp;

	(void)state;
	ctl_fill_answer(&a, req, &rsp);
	assert_int_equal(rsp.req_id, 900);
	assert_int_equal(rsp.port, 2);
	assert_int_equal(rsp.rtt, 1234);
	assert_int_equal(rsp.adj_svc_time, 1);
	a = (struct nic_mrc_answer){.rtt_ns = UINT64_C(1) << 32};
	ctl_fill_answer(&a, req, &rsp);
	assert_int_equal(rsp.req_id, 5);
	assert_int_equal(rsp.port, 1);
	assert_int_equal(rsp.rtt, UINT32_MAX);
	assert_int_equal(rsp.adj_svc_time, 0);
}

/* Programs of two versions poll arrays of two strides. */
static void events_of_two_versions(void **state)
{
	struct control_event e = {
		.profile_id = 0x1122334455667788,
		.ev = {.val = {9, 8}, .port = 2},
		.state = CONTROL_REPORT_BAD,
		.n_lost = 77,
	};
	uint8_t old[2 * 48 + 8];
	struct mrc_ctl_ev_event now;

	(void)state;
	assert_int_equal(ctl_event_bytes(MRC_CTL_API_VER(0, 0, 0)), 48);
	assert_int_equal(ctl_event_bytes(MRC_CTL_API_VER(1, 0, 0)), 48);
	assert_int_equal(ctl_event_bytes(MRC_CTL_API_VER(1, 0, 1)), 56);
	assert_int_equal(ctl_event_bytes(MRC_CTL_API_VER_LATEST), 56);
	memset(old, 0xee, sizeof old);
	ctl_fill_event(old, 48, &e);
	ctl_fill_event(old + 48, 48, &e);
	assert_memory_equal(old, old + 48, 48);
	assert_int_equal(old[96], 0xee);
	assert_memory_equal(old, &e.profile_id, 8);
	assert_int_equal(old[8], 9);
	assert_int_equal(old[40], 2);
	assert_int_equal(old[44], 77);
	memset(&now, 0xee, sizeof now);
	ctl_fill_event(&now, sizeof now, &e);
	assert_int_equal(now.profile_id, e.profile_id);
	assert_int_equal(now.ev.val[1], 8);
	assert_int_equal(now.ev.port, 2);
	assert_int_equal(now.drop_count, 77);
	assert_int_equal(now.state, MRC_CTL_EV_ASSUMED_BAD);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(questions),
	cmocka_unit_test(questions_that_cannot_be),
	cmocka_unit_test(ids_are_different),
	cmocka_unit_test(answers),
	cmocka_unit_test(events_of_two_versions),
};
CHECK_MAIN(cases)
