/* What the engine asks of its own: probes of EVs, and the one that measures an idle path. How many
 * there are, who sees them, when they go and how they end. */
#include "mrc_evs.h"

#define MANY   32u
#define BAD    8u /* of them out of use: as many as may be on suspicion */
#define PLACES 8u /* for requests: half of them are the engine's */

/* Many EVs, some of which the peer calls bad. */
static void begin_bad(uint32_t n)
{
	static struct path_ev list[MANY];
	static struct evs set;

	begin_evs(1);
	for (uint32_t i = 0; i < MANY; i++)
		list[i] = (struct path_ev){0xc0000000 + i, 0};
	evs_make(&set, list, MANY);
	w.end[0].qp[0].attr.evs = &set.profile;
	w.end[0].cfg.max_probes = PLACES;
	warm();
	for (uint32_t i = 0; i < n; i++)
		post_packets(1);
	assert_int_equal(gather(), n);
	for (uint64_t i = 1; i < n; i++)
		sack_marked(i + 1, MRC_MARK_ALWAYS_SKIP, 0);
	sack_marked(1, MRC_MARK_ALWAYS_SKIP, 0);
	EXPECT_EVS(.good = MANY - n, .bad = n);
	/* The Transport ACK is missing: there is work. */
	assert_int_equal(q->req.sent.una, q->req.sent.next);
	assert_true(q->req.executed < q->req.end);
}

static uint32_t probes_used(void)
{
	return mrc_usage(w.end[0].e).probes;
}

static int post_probe(uint64_t number)
{
	struct mrc_endpoint r = {.peer = PEER,
				 .local = LOCAL,
				 .ev = {.value = 0xd0000000 + (uint32_t)number},
				 .op = MRC_ENDPOINT_EV_PROBE,
				 .cookie = number};

	return mrc_endpoint_post(w.end[0].e, w.now, &r);
}

static void half_of_the_places_are_the_callers(void **state)
{
	struct mrc_endpoint_done done;

	(void)state;
	begin_bad(BAD);
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), PLACES / 2);
	assert_int_equal(probes_used(), PLACES / 2);
	for (uint32_t i = 0; i < PLACES / 2; i++)
		assert_int_equal(post_probe(i), 0);
	assert_int_equal(post_probe(9), -ENOMEM);
	/* However often they are answered. */
	for (uint32_t i = 0; i < 50; i++) {
		respond();
		w.now += 1000;
		gather();
		assert_true(probes_used() <= PLACES);
	}
	assert_true(COUNT(tx_fault_probe) > 2 * PLACES);
	assert_int_equal(COUNT(rx_endpoint_re), PLACES / 2);
	/* And only the caller's are told of, to the caller. */
	for (uint32_t i = 0; i < PLACES / 2; i++) {
		assert_int_equal(mrc_endpoint_poll(w.end[0].e, &done, 1), 1);
		assert_int_equal(done.cookie, i);
		assert_int_equal(done.news, MRC_ENDPOINT_ANSWERED);
	}
	assert_int_equal(mrc_endpoint_poll(w.end[0].e, &done, 1), 0);
}

/* The caller gives up what it asked for, sent or not; not what the engine did. */
static void own_probes_are_not_expired(void **state)
{
	struct mrc_endpoint_done done;

	(void)state;
	begin_bad(2);
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 2);
	mrc_endpoint_expire(w.end[0].e, w.now + 1);
	assert_int_equal(mrc_endpoint_poll(w.end[0].e, &done, 1), 0);
	assert_int_equal(probes_used(), 2);
	respond();
	assert_int_equal(probes_used(), 0);
	assert_int_equal(COUNT(drop_unasked), 0);
}

/* Answered in time once, they are not there any more; too late, they never were. */
static void probes_end_with_their_queue_pair(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < 6; k++) {
		uint8_t to = k / 2 == 1 ? MRC_ERROR : MRC_RESET;
		struct mrc_attr attr = {.state = to};
		bool is_waiting = k % 2;

		begin_bad(3);
		w.now += 2 * WIDTH;
		/* Sent, or not yet. */
		if (is_waiting) {
			static const uint16_t none[ENGINE_PORTS];

			assert_int_equal(end_pull(&w.end[0], w.now, none, 1), 0);
			n_gone = 0;
		} else {
			gather();
		}
		assert_int_equal(n_probes(), is_waiting ? 0 : 3);
		assert_int_equal(probes_used(), 3);
		if (k / 2 == 2)
			assert_ptr_equal(mrc_qp_free(w.end[0].e, OURS), w.end[0].qp[0].memory);
		else
			assert_int_equal(
				mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_STATE), 0);
		assert_int_equal(probes_used(), 0);
		/* What is known of EVs goes when they do. */
		assert_int_equal(pool_in_use(&engine_of(0)->ev_faults), to == MRC_RESET ? 0 : 3);
		w.end[0].n_qps = k / 2 == 2 ? 0 : 1;
		respond();
		assert_int_equal(k / 2 == 2 ? COUNT(drop_qp) : COUNT(drop_state),
				 is_waiting ? 0 : 3);
		w.now += TIMEOUT_NS(20);
		n_gone = end_pull(&w.end[0], w.now, wide, END_BATCH);
		assert_int_equal(n_gone, 0);
		assert_int_equal(mrc_ops.deadline(w.end[0].e, ALL_FREE), NSEC_NEVER);
	}
}

/* One that waits behind the caller's is withdrawn, and another of the caller's comes. */
static void those_that_wait_close_ranks(void **state)
{
	static const uint16_t none[ENGINE_PORTS];
	struct mrc_attr attr = {.state = MRC_ERROR};

	(void)state;
	begin_bad(1);
	assert_int_equal(post_probe(1), 0);
	w.now += 2 * WIDTH;
	assert_int_equal(end_pull(&w.end[0], w.now, none, 1), 0);
	assert_int_equal(probes_used(), 2);
	assert_int_equal(mrc_qp_modify(w.end[0].e, w.now, OURS, &attr, MRC_SET_STATE), 0);
	assert_int_equal(post_probe(2), 0);
	gather();
	assert_int_equal(n_requests(MRC_ENDPOINT_EV_PROBE), 2);
	assert_int_equal(gone[0].ev, 0xd0000001);
	assert_int_equal(gone[1].ev, 0xd0000002);
}

/* Given up, what its answer says of the EV does not count; of packets it does. */
static void late_answers_bring_no_ev_back(void **state)
{
	(void)state;
	begin_bad(1);
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 1);
	const struct gone probe = gone[0];
	uint32_t steps = 0;

	while (probes_used() > 0 && ++steps < 1000) {
		w.now += 1000;
		gather();
	}
	assert_in_range(steps, 2, 999);
	answer_probe(&probe, MRC_MARK_NONE);
	assert_int_equal(COUNT(drop_unasked), 0);
	EXPECT_EVS(.good = MANY - 1, .bad = 1);
}

/* One that was asked for before the round trip was known waits long; those behind it do not. */
static void a_slow_request_holds_up_no_other(void **state)
{
	(void)state;
	begin_evs(2);
	connect();
	mrc_ports_down(w.end[0].e, w.now, 2);
	gather();
	assert_int_equal(n_requests(MRC_ENDPOINT_PORT_STATUS), 1);
	post_packets(1);
	assert_int_equal(gather(), 1);
	w.now += RTT;
	sack_marked(0, MRC_MARK_ALWAYS_SKIP, 0);
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 1);
	/* Two back-offs, and the probe timeout of a round trip. */
	w.now += 10 * RTT;
	gather();
	w.now += 10 * RTT;
	gather();
	assert_true(n_probes() >= 1);
}

/* While the peer is silent it may be gone: few probes a timeout. */
static void silence_is_probed_a_few_times(void **state)
{
	const nsec timeout = TIMEOUT_NS(12);
	uint32_t n = 0, total = 0;
	nsec last = 0;

	(void)state;
	begin_evs(1);
	w.end[0].qp[0].attr.timeout = 12;
	w.end[0].qp[0].attr.linear_retries = 7;
	connect();
	post_packets(1);
	assert_int_equal(gather(), 1);
	w.now += timeout + WIDTH;
	gather();
	assert_int_equal(COUNT(timeouts), 1);
	nsec end = w.now + 5 * timeout, next = w.now + timeout;

	for (uint32_t i = 0; w.now < end; i++) {
		assert_true(i < 10000);
		w.now += 5000;
		gather();
		if (n_probes() > 0) {
			assert_true(last == 0 || w.now - last >= timeout / 4 - 2 * 5000);
			last = w.now;
			n++;
			total++;
		}
		if (w.now >= next) {
			assert_true(n <= 5);
			next += timeout;
			n = 0;
		}
	}
	assert_in_range(total, 10, 21);
}

static void an_idle_queue_pair_probes_nothing(void **state)
{
	(void)state;
	begin_bad(2);
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 2);
	ack((int64_t)q->req.sent.next - 1);
	for (uint32_t i = 0; i < 1000; i++) {
		w.now += 10000;
		gather();
		assert_int_equal(n_gone, 0);
	}
	assert_int_equal(probes_used(), 0);
	assert_int_equal(mrc_ops.deadline(w.end[0].e, ALL_FREE), NSEC_NEVER);
	EXPECT_EVS(.good = MANY - 2, .bad = 2);
	post_packets(1);
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 2);
	assert_int_equal(n_data(), 1);
}

/* A peer need not answer endpoint requests (7.4.7). What it was told of our ports is waited for,
 * longer and longer; EVs are probed as soon as there is work again all the same. */
static void an_update_without_an_answer_holds_up_no_probe(void **state)
{
	(void)state;
	begin_evs(2);
	warm();
	mrc_ports_down(w.end[0].e, w.now, 2);
	post_packets(1);
	gather();
	assert_int_equal(n_requests(MRC_ENDPOINT_PORT_STATUS), 1);
	w.now += RTT;
	sack_marked(1, MRC_MARK_ALWAYS_SKIP, 0);
	ack(1);
	EXPECT_EVS(.good = 3, .bad = 5);
	for (uint32_t i = 0; i < 1000; i++) {
		w.now += 10000;
		gather();
		assert_int_equal(n_probes(), 0);
	}
	assert_int_equal(probes_used(), 1);
	post_packets(1);
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_data(), 1);
	assert_int_equal(n_probes(), 1);
}

/* The controller, as a spy sees it. */
static struct cc_ack reported;
static uint32_t n_reported;
static struct cc_ops spy;

static void spy_on_ack(struct cc *c, const struct cc_ack *ack)
{
	(void)c;
	reported = *ack;
	n_reported++;
}

/* Room for two packets at a time: more is to be sent when the first answer comes. */
static void begin_base(uint32_t n_pkts, bool has_base_probe)
{
	begin_evs(1);
	w.end[0].cfg.has_base_probe = has_base_probe;
	w.end[0].cfg.cc.window_bytes = 2 * PMTU;
	connect();
	spy = *q->req.cc.ops;
	spy.on_ack = spy_on_ack;
	q->req.cc.ops = &spy;
	post_packets(n_pkts);
	gather();
	assert_int_equal(n_gone, n_pkts < 2 ? n_pkts : 2);
	w.now += RTT;
}

/* UE 3.6.13.7: a probe in the class of control packets, after the first answer, and one only. */
static void the_idle_path_is_measured_once(void **state)
{
	(void)state;
	for (uint32_t is_nack = 0; is_nack < 2; is_nack++) {
		begin_base(6, true);
		assert_int_equal(n_requests(MRC_ENDPOINT_EV_PROBE), 0);
		if (is_nack)
			nack(0, MRC_NACK_TRIMMED);
		else
			sack_all(0);
		gather();
		assert_int_equal(n_requests(MRC_ENDPOINT_EV_PROBE), 1);
		struct gone probe = {0};

		for (uint32_t i = 0; i < n_gone; i++)
			if (is_request(&gone[i], MRC_ENDPOINT_EV_PROBE))
				probe = gone[i];
		assert_int_equal(probe.tclass, ENGINE_CONTROL);
		assert_int_equal(probe.h.bth.dest_qp, MRC_ENDPOINT_QP);
		w.now += 9000;
		n_reported = 0;
		respond_to(&probe);
		assert_int_equal(n_reported, 1);
		assert_int_equal(reported.rtt_ns, 9000);
		assert_int_equal(reported.bytes, 0);
		assert_int_equal(reported.pkts, 0);
		assert_int_equal(reported.out_bytes, mrc_inflight(&q->req));
		sack_all(1);
		gather();
		assert_int_equal(n_requests(MRC_ENDPOINT_EV_PROBE), 0);
		EXPECT_EVS(.good = 7 + !is_nack, .skip = is_nack);
	}
}

/* The peer's own time is not of the path. */
static void the_peers_time_is_not_measured(void **state)
{
	(void)state;
	begin_evs(1);
	w.end[0].cfg.has_base_probe = true;
	w.end[1].cfg.has_service_time = true;
	w.end[0].cfg.cc.window_bytes = 2 * PMTU;
	connect();
	spy = *q->req.cc.ops;
	spy.on_ack = spy_on_ack;
	q->req.cc.ops = &spy;
	post_packets(6);
	gather();
	w.now += RTT;
	sack_all(0);
	gather();
	assert_int_equal(n_requests(MRC_ENDPOINT_EV_PROBE), 1);
	for (uint32_t i = 0; i < n_gone; i++)
		gone[i].h.erth.tx_timestamp = (uint16_t)(gone[i].h.erth.tx_timestamp + 10);
	w.now += 9000;
	respond();
	assert_int_equal(reported.rtt_ns, 9000 - 1280);
}

/* A short packet is sooner through than data: its round trip would be taken for that of an idle
 * path. What the answer says of bytes counts. */
static void the_controller_is_not_told_how_long_a_probe_took(void **state)
{
	(void)state;
	begin_bad(1);
	spy = *q->req.cc.ops;
	spy.on_ack = spy_on_ack;
	q->req.cc.ops = &spy;
	w.now += 2 * WIDTH;
	gather();
	assert_int_equal(n_probes(), 1);
	w.now += 9000;
	n_reported = 0;
	nsec srtt = q->req.srtt;

	respond();
	assert_int_equal(n_reported, 1);
	assert_int_equal(reported.rtt_ns, 0);
	assert_int_equal(q->req.srtt, srtt);
	/* Nor of one that asks what arrived, though that is a round trip to us. */
	begin_evs(1);
	warm();
	spy = *q->req.cc.ops;
	spy.on_ack = spy_on_ack;
	q->req.cc.ops = &spy;
	post_packets(1);
	gather();
	w.now += 5 * RTT;
	assert_int_equal(gather(), 1);
	assert_int_equal(COUNT(tx_probe), 1);
	w.now += 9000;
	n_reported = 0;
	srtt = q->req.srtt;
	SACK(.cack = 1, .from = 1, .is_probed = true, .probe_id = gone[0].h.peth.probe_id);
	assert_int_equal(n_reported, 1);
	assert_int_equal(reported.rtt_ns, 0);
	assert_true(q->req.srtt < srtt);
}

/* A probe that waits for its port is a packet on its way all the same (9.3.2.1). */
static void no_probe_leaves_on_an_ev_that_was_denied(void **state)
{
	static const uint16_t none[ENGINE_PORTS];

	(void)state;
	begin_bad(1);
	uint32_t bad = 0;

	while (state_of(bad) != PATH_ASSUMED_BAD)
		bad++;
	w.now += 2 * WIDTH;
	assert_int_equal(end_pull(&w.end[0], w.now, none, 1), 0);
	assert_int_equal(probes_used(), 1);
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, bad, true), 0);
	assert_int_equal(probes_used(), 0);
	gather();
	assert_int_equal(n_probes(), 0);
	/* Nor by a port. */
	begin_bad(1);
	w.now += 2 * WIDTH;
	assert_int_equal(end_pull(&w.end[0], w.now, none, 1), 0);
	assert_int_equal(probes_used(), 1);
	deny_ports(1);
	assert_int_equal(probes_used(), 0);
}

static void what_needs_no_window_measures_nothing(void **state)
{
	(void)state;
	begin_base(2, true);
	sack_all(0);
	post_packets(4);
	gather();
	sack_all(1);
	gather();
	assert_int_equal(COUNT(tx_endpoint), 0);
	/* Nor who was not asked to. */
	begin_base(6, false);
	sack_all(0);
	gather();
	assert_int_equal(COUNT(tx_endpoint), 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(half_of_the_places_are_the_callers),
	cmocka_unit_test(own_probes_are_not_expired),
	cmocka_unit_test(probes_end_with_their_queue_pair),
	cmocka_unit_test(those_that_wait_close_ranks),
	cmocka_unit_test(late_answers_bring_no_ev_back),
	cmocka_unit_test(a_slow_request_holds_up_no_other),
	cmocka_unit_test(silence_is_probed_a_few_times),
	cmocka_unit_test(an_idle_queue_pair_probes_nothing),
	cmocka_unit_test(an_update_without_an_answer_holds_up_no_probe),
	cmocka_unit_test(the_idle_path_is_measured_once),
	cmocka_unit_test(the_peers_time_is_not_measured),
	cmocka_unit_test(the_controller_is_not_told_how_long_a_probe_took),
	cmocka_unit_test(no_probe_leaves_on_an_ev_that_was_denied),
	cmocka_unit_test(what_needs_no_window_measures_nothing),
};

CHECK_MAIN(cases)
