/* What a queue pair has of its own beside the engine's, and what it tells of itself: its congestion
 * control, the states of its EVs and the event of their change, and its counts. */
#include "mrc_evs.h"

#define MOST 4u /* packets of the narrow window */

/* Nominal bytes of a packet (8.3.1). */
static const uint32_t one =
	mrc_bth_bytes + meth_bytes + tseth_bytes + reth_bytes + PMTU + UDP_MORE + 40;

static struct cc_cfg own;

static int set_cc(uint32_t qp, const struct cc_cfg *cc)
{
	struct mrc_attr attr = {.cc = cc};

	return mrc_qp_modify(w.end[0].e, w.now, w.end[0].qp[qp].number, &attr, MRC_SET_CC);
}

/* Queue pairs 0 and 1 in MRC_RTR; 0 has a congestion control of its own. */
static void begin_own(void)
{
	begin_evs(1);
	w.end[0].n_qps = 2;
	w.end[0].cfg.sack_every_bytes = MOST * one + 1;
	join_to(MRC_RTR);
	q = pair_of(0, 0);
	own = (struct cc_cfg){
		.kind = CC_NSCC,
		.window_bytes = UINT64_C(1) << 24,
		.line_rate_bps = UINT64_C(100000000000),
		.nscc = {.base_rtt_ns = RTT, .mtu_bytes = one, .max_wnd_bytes = MOST * one},
	};
	assert_int_equal(set_cc(0, &own), 0);
}

static void start_sending(uint32_t qp)
{
	assert_int_equal(end_set(&w.end[0], w.now, qp, MRC_RTS,
				 MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_TIMEOUT),
			 0);
}

static void post_to(uint32_t qp, uint32_t n_pkts)
{
	post((struct work){
		.qp = qp, .cookie = next_cookie(), .len = n_pkts * PMTU, .code = ENGINE_WRITE});
}

/* 8.3: the window is the pair's, and so is what makes a packet ask for an answer. */
static void a_congestion_control_of_its_own(void **state)
{
	struct mrc_attr attr;

	(void)state;
	begin_own();
	start_sending(0);
	start_sending(1);
	assert_int_equal(fare().window_bytes, (MOST - 1) * one + 1);
	post_to(0, 20);
	assert_int_equal(gather(), MOST);
	for (uint32_t i = 0; i < MOST; i++)
		assert_int_equal(gone[i].h.bth.ack_req, 1);
	post_to(1, 20);
	assert_int_equal(gather(), 20);
	assert_int_equal(gone[0].h.bth.ack_req, 0);
	assert_int_equal(mrc_qp_query(w.end[0].e, OURS, &attr, NULL, NULL), 0);
	assert_ptr_equal(attr.cc, &own);
	/* Not under packets that are on their way. */
	assert_int_equal(set_cc(0, NULL), -EINVAL);
	assert_int_equal(fare().window_bytes, (MOST - 1) * one + 1);
}

static void the_engines_is_back_by_name_and_with_reset(void **state)
{
	(void)state;
	begin_own();
	assert_int_equal(set_cc(0, NULL), 0);
	assert_int_equal(fare().window_bytes, UINT64_C(1) << 24);
	assert_int_equal(set_cc(0, &own), 0);
	assert_int_equal(fare().window_bytes, (MOST - 1) * one + 1);
	own.nscc.mtu_bytes = 1;
	assert_int_equal(set_cc(0, &own), -EINVAL);
	own.nscc.mtu_bytes = one;
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_RESET, 0), 0);
	assert_int_equal(fare().window_bytes, UINT64_C(1) << 24);
	own = (struct cc_cfg){0};
	assert_int_equal(fare().window_bytes, UINT64_C(1) << 24);
}

/* One event, however much changed; and nothing else is told. */
static void expect_news(bool has_news)
{
	if (has_news)
		expect_event(&w.end[0], OURS, ENGINE_EVENT_EV_STATE);
	expect_no_event(&w.end[0]);
}

static void expect_states(uint32_t ev, enum path_state its, enum path_state of_others)
{
	uint8_t states[END_EVS] = {0};
	uint32_t n = 0;

	assert_int_equal(mrc_qp_evs(w.end[0].e, OURS, states, END_EVS, &n), 0);
	assert_int_equal(n, END_EVS);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(states[i], i == ev ? its : of_others);
}

static void a_lost_ev_is_news_and_so_is_its_return(void **state)
{
	(void)state;
	begin_evs(1);
	warm();
	expect_news(false);
	expect_states(0, PATH_GOOD, PATH_GOOD);
	uint32_t ev = lose_by_gap();

	expect_news(true);
	expect_states(ev, PATH_ASSUMED_BAD, PATH_GOOD);
	/* An EV that is to be skipped is still in use. */
	sack_marked(q->req.sent.una, MRC_MARK_SKIP, q->attr.evs->set.evs[(ev + 1) % 8].value);
	expect_news(false);
	for (uint32_t i = 0; i < 4 * TRAIN && state_of(ev) == PATH_ASSUMED_BAD; i++) {
		w.now += RTT;
		gather();
		expect_news(false);
		respond();
	}
	assert_int_equal(state_of(ev), PATH_GOOD);
	expect_news(true);
}

/* 9.3.2: ports that are down, ours or the peer's, take their EVs with them. */
static void ports_that_go_and_come_are_news(void **state)
{
	(void)state;
	begin_evs(2);
	warm();
	expect_news(false);
	mrc_ports_down(w.end[0].e, w.now, 2);
	expect_news(true);
	EXPECT_EVS(.good = 4, .bad = 4);
	mrc_ports_down(w.end[0].e, w.now, 2);
	expect_news(false);
	mrc_ports_down(w.end[0].e, w.now, 0);
	expect_news(true);
	EXPECT_EVS(.good = 8);
	/* One that begins behind such a port finds its EVs so. */
	mrc_ports_down(w.end[0].e, w.now, 1);
	expect_news(true);
	set_evs(q->attr.evs, 1);
	expect_news(true);
}

/* Denial is no failure, unless it ends one; and it is not for the EV that it is said of alone. */
static void denial_is_news_of_bad_evs_only(void **state)
{
	(void)state;
	begin_evs(1);
	warm();
	uint32_t ev = lose_by_gap();

	expect_news(true);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, (ev + 1) % 8, i == 0), 0);
		expect_news(false);
	}
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, ev, true), 0);
	expect_news(true);
	expect_states(ev, PATH_DENIED, PATH_GOOD);
	assert_int_equal(mrc_qp_deny(w.end[0].e, w.now, OURS, ev, false), 0);
	expect_news(false);
	expect_states(ev, PATH_GOOD, PATH_GOOD);
}

/* 9.3.2.1: a denied value is used for nothing, while there are others. */
static void answers_do_without_denied_evs(void **state)
{
	uint32_t evs = 0;

	(void)state;
	start(5);
	join();
	for (uint32_t ev = 1; ev < END_EVS; ev++)
		assert_int_equal(mrc_qp_deny(w.end[1].e, w.now, w.end[1].qp[0].number, ev, true),
				 0);
	for (uint32_t i = 0; i < 20; i++) {
		post((struct work){.cookie = i, .len = 5000, .code = ENGINE_WRITE});
		run();
	}
	for (uint32_t i = 0; i < w.n_log; i++)
		if (w.log[i].from == 1 && !is_endpoint(w.log[i].h.bth.opcode)) {
			assert_int_equal(w.log[i].ev, w.end[1].set.profile.set.evs[0].value);
			evs++;
		}
	assert_true(evs >= 20);
	/* All are: something must carry them. */
	assert_int_equal(mrc_qp_deny(w.end[1].e, w.now, w.end[1].qp[0].number, 0, true), 0);
	post((struct work){.cookie = 99, .len = 5000, .code = ENGINE_WRITE});
	run();
	assert_int_equal(counts(&w.end[0])->timeouts, 0);
}

static void evs_of_one_that_has_none(void **state)
{
	uint8_t states[4] = {99, 99, 99, 99};
	uint32_t n = 99;

	(void)state;
	begin_evs(1);
	connect();
	assert_int_equal(mrc_qp_evs(w.end[0].e, 0x999, states, 4, &n), -ENOENT);
	assert_int_equal(mrc_qp_evs(w.end[0].e, OURS, states, 3, &n), 0);
	assert_int_equal(n, END_EVS);
	assert_int_equal(states[2], PATH_GOOD);
	assert_int_equal(states[3], 99);
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_RESET, 0), 0);
	assert_int_equal(mrc_qp_evs(w.end[0].e, OURS, states, 4, &n), 0);
	assert_int_equal(n, 0);
}

static void what_was_sent_is_counted(void **state)
{
	(void)state;
	begin_evs(1);
	connect();
	/* 2.5 packets, and 3. */
	post((struct work){.cookie = next_cookie(), .len = 5 * PMTU / 2, .code = ENGINE_WRITE});
	post_packets(3);
	assert_int_equal(gather(), 6);
	assert_int_equal(fare().sent_packets, 6);
	assert_int_equal(fare().sent_bytes, 0);
	/* What arrived counts before all of its message did. */
	sack_all(1);
	assert_int_equal(fare().sent_bytes, 2 * PMTU);
	sack_all(2);
	assert_int_equal(fare().sent_bytes, 5 * PMTU / 2);
	ack(2);
	assert_int_equal(fare().sent_bytes, 5 * PMTU / 2);
	nack(3, MRC_NACK_TRIMMED);
	assert_int_equal(gather(), 1);
	assert_int_equal(fare().retx_packets, 1);
	assert_int_equal(fare().sent_packets, 6);
	sack_all(5);
	/* All is there, but nobody said that it was executed. */
	assert_int_equal(fare().timeouts, 0);
	w.now += TIMEOUT_NS(LONG_TIMEOUT) + WIDTH;
	gather();
	assert_int_equal(fare().timeouts, 1);
	assert_int_equal(fare().retx_packets, 2);
	ack(5);
	assert_int_equal(fare().sent_bytes, 11 * PMTU / 2);
	assert_int_equal(fare().got_bytes, 0);
}

/* What was never sent, or not acknowledged, does not count when it is given up; what was, stays. */
static void flushed_work_is_not_counted(void **state)
{
	(void)state;
	begin_evs(1);
	w.end[0].cfg.cc.window_bytes = 4 * one;
	connect();
	post_packets(20);
	post_packets(5);
	assert_int_equal(gather(), 4);
	sack_all(2);
	assert_int_equal(fare().sent_bytes, 3 * PMTU);
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_ERROR, 0), 0);
	assert_int_equal(fare().sent_packets, 4);
	assert_int_equal(fare().sent_bytes, 3 * PMTU);
	post_packets(1);
	assert_int_equal(fare().sent_packets, 4);
	assert_int_equal(fare().sent_bytes, 3 * PMTU);
	assert_int_equal(end_set(&w.end[0], w.now, 0, MRC_RESET, 0), 0);
	assert_int_equal(fare().sent_packets + fare().sent_bytes, 0);
}

static void what_is_placed_is_counted_by_its_queue_pair(void **state)
{
	struct mrc_progress p;

	(void)state;
	start(3);
	w.end[0].n_qps = 2;
	w.twice = 300;
	join();
	for (uint32_t i = 0; i < 2; i++)
		post((struct work){.qp = i, .cookie = i, .len = 5000 + i, .code = ENGINE_WRITE});
	run();
	assert_true(counts(&w.end[1])->rx_duplicate > 0);
	for (uint32_t i = 0; i < 2; i++) {
		mrc_qp_progress(w.end[1].e, w.end[1].qp[i].number, &p);
		assert_int_equal(p.got_bytes, 5000 + i);
		assert_int_equal(p.sent_bytes, 0);
		mrc_qp_progress(w.end[0].e, w.end[0].qp[i].number, &p);
		assert_int_equal(p.sent_bytes, 5000 + i);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_congestion_control_of_its_own),
	cmocka_unit_test(the_engines_is_back_by_name_and_with_reset),
	cmocka_unit_test(a_lost_ev_is_news_and_so_is_its_return),
	cmocka_unit_test(ports_that_go_and_come_are_news),
	cmocka_unit_test(denial_is_news_of_bad_evs_only),
	cmocka_unit_test(answers_do_without_denied_evs),
	cmocka_unit_test(evs_of_one_that_has_none),
	cmocka_unit_test(what_was_sent_is_counted),
	cmocka_unit_test(flushed_work_is_not_counted),
	cmocka_unit_test(what_is_placed_is_counted_by_its_queue_pair),
};

CHECK_MAIN(cases)
