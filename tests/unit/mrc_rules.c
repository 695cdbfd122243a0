/* Rules for a requestor that packets in order, without faults, keep by themselves: here something
 * stands in their way. */
#include "mrc_evs.h"

static uint64_t *window_of(void)
{
	return &engine_of(0)->cfg.cc.window_bytes;
}

/* MRC-7.4.4-X04: there was room for it, but the window shrank meanwhile. */
static void retransmissions_wait_for_the_window(void **state)
{
	(void)state;
	begin();
	connect();
	post_packets(8);
	assert_int_equal(pull_all(), 8);
	nack(2, MRC_NACK_TRIMMED);
	*window_of() = mrc_inflight(&q->req);
	assert_int_equal(pull_all(), 0);
	SACK(.cack = 0, .from = 0, .acked = 0);
	assert_int_equal(pull(), 1);
	assert_int_equal(w.end[0].out[0].h.bth.psn, psn_of(2));
	assert_int_equal(w.end[0].out[0].h.bth.rtx, 1);
	assert_int_equal(pull_all(), 0);
}

/* MRC-8.3-X18: what waits has no EV yet. All EVs of a port are denied while it waits for the
 * window, and it does not leave by one of them. */
static void what_waits_has_no_ev(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 8; k++) {
		begin_evs(2);
		connect();
		/* So many before it that the next EV is by either port. */
		*window_of() = 1 + k * PMTU;
		for (uint32_t i = 0; i < 16; i++)
			post_packets(1);
		gather();
		assert_int_equal(gather(), 0);
		deny_ports(1);
		*window_of() = UINT64_C(1) << 24;
		assert_true(gather() > 0);
		for (uint32_t i = 0; i < n_gone; i++)
			assert_int_equal(gone[i].port, 1);
	}
}

static uint64_t window_at(uint32_t qp)
{
	struct mrc_progress p;

	assert_int_equal(mrc_qp_progress(w.end[0].e, w.end[0].qp[qp].number, &p), 0);
	return p.window_bytes;
}

/* Two queue pairs under NSCC, each with as much on its way as its window lets go. */
static void begin_full(void)
{
	begin_evs(1);
	w.end[0].n_qps = 2;
	w.end[0].cfg.cc = (struct cc_cfg){
		.kind = CC_NSCC,
		.window_bytes = UINT64_C(1) << 24,
		.line_rate_bps = UINT64_C(100000000000),
		.nscc = {.base_rtt_ns = RTT, .mtu_bytes = 2 * PMTU, .max_wnd_bytes = 16 * PMTU},
	};
	connect();
	for (uint32_t i = 0; i < 2; i++)
		post((struct work){
			.qp = i, .cookie = next_cookie(), .len = 64 * PMTU, .code = ENGINE_WRITE});
	gather();
	assert_int_equal(window_at(0), window_at(1));
	w.now += RTT;
}

/* The first packet arrived, and the peer holds the flow back as much as it can. */
static struct mrc_pkt held_back(uint8_t cc_type)
{
	return (struct mrc_pkt){
		.bth = {.opcode = MRC_OP_SACK},
		.seth = {.cc_type = cc_type, .cack_psn = psn_of(0)},
		.cc = {.rcv_cwnd_pen = 127},
	};
}

/* MRC-8.1-X01, MRC-8.3-X06: what the peer says of one queue pair is no news for the window of
 * another to the same peer. */
static void windows_are_apart(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		begin_full();
		uint64_t before = window_at(k);

		say_to(k, held_back(MRC_CC_TYPE_NSCC));
		assert_true(window_at(k) < before);
		assert_int_equal(window_at(1 - k), before);
	}
}

/* MRC-7.5.5.4-X01: behind another cc_type is something else, whatever its bits look like. */
static void state_of_another_kind_is_not_read(void **state)
{
	(void)state;
	for (uint8_t type = 1; type < 16; type++) {
		begin_full();
		uint64_t before = window_at(0);

		say_to(0, held_back(type));
		assert_int_equal(q->req.sent.una, 1);
		assert_true(window_at(0) >= before);
	}
}

/* MRC-8.3-X11: of several that may send, each has its turn, however much another has to say. */
static void queue_pairs_send_in_turn(void **state)
{
	uint32_t row = 0, last = UINT32_MAX, sent[3] = {0};

	(void)state;
	begin_evs(1);
	w.end[0].n_qps = 3;
	connect();
	for (uint32_t i = 0; i < 3; i++)
		post((struct work){
			.qp = i, .cookie = next_cookie(), .len = 100 * PMTU, .code = ENGINE_WRITE});
	assert_int_equal(gather(), 300);
	for (uint32_t i = 0; i < n_gone; i++) {
		uint32_t qp = gone[i].h.bth.dest_qp - w.end[0].qp[0].attr.remote_qp;

		assert_true(qp < 3);
		row = qp == last ? row + 1 : 1;
		last = qp;
		sent[qp]++;
		/* The last one has nobody to wait for. */
		if (sent[0] < 100 || sent[1] < 100)
			assert_true(row <= MRC_BURST);
		if (i == 3 * MRC_BURST - 1)
			assert_true(sent[0] > 0 && sent[1] > 0 && sent[2] > 0);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(retransmissions_wait_for_the_window),
	cmocka_unit_test(what_waits_has_no_ev),
	cmocka_unit_test(windows_are_apart),
	cmocka_unit_test(queue_pairs_send_in_turn),
	cmocka_unit_test(state_of_another_kind_is_not_read),
};

CHECK_MAIN(cases)
