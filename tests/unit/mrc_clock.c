/* A requestor's clocks: what starts them, what sets them back, and what does not. */
#include "mrc_peer.h"

#define TIMEOUT 10u

static void begin_here(uint8_t flags)
{
	begin();
	w.end[0].qp[0].caps.max_send_sge = 1;
	w.end[0].qp[0].attr.timeout = TIMEOUT;
	w.end[0].qp[0].attr.linear_retries = 1;
	w.end[0].qp[0].attr.exp_retries = 2;
	w.end[0].qp[0].attr.flags = flags;
	w.end[0].is_virtual = w.end[1].is_virtual = true;
	connect();
}

/* The time is that of the first packet out: it begins anew when that arrives, when it is to are
 * retransmitted, and when it does, and with nothing else. */
static void only_the_first_packet_moves_the_clock(void **state)
{
	(void)state;
	begin_here(0);
	for (uint32_t i = 0; i < 10; i++)
		post_packets(1);
	pull_all();
	nsec base = TIMEOUT_NS(TIMEOUT), due = w.now + base;

	assert_int_equal(q->req.due, due);
	w.now += 1000;
	ack(-1);
	SACK(.cack = -1, .from = -1, .acked = -1);
	SACK(.cack = 12, .from = -1, .acked = -1);
	assert_int_equal(q->req.due, due);
	/* Of packet 0, which is first, these say nothing. */
	SACK(.cack = -1, .from = -1, .acked = 4);
	nack(6, MRC_NACK_TRIMMED);
	assert_int_equal(q->req.due, due);
	nack(0, MRC_NACK_TRIMMED);
	assert_int_equal(q->req.due, due + 1000);
	w.now += 1000;
	nack(0, MRC_NACK_TRIMMED);
	assert_int_equal(q->req.due, due + 1000);
	pull_all();
	assert_int_equal(q->req.due, due + 2000);
	/* After timeouts it is the first time again, not a longer one (MRC-7.4.4-15), but their
	 * number stands until the packet has arrived (M-59). */
	while (q->req.tries < 3) {
		w.now = q->req.due;
		pull_all();
	}
	assert_true(q->req.due > w.now + base);
	nack(0, MRC_NACK_TRIMMED);
	assert_int_equal(q->req.due, w.now + base);
	w.now += 1000;
	pull_all();
	assert_int_equal(q->req.due, w.now + base);
	assert_int_equal(q->req.tries, 3);
	w.now += 1000;
	sack_all(0);
	assert_int_equal(q->req.tries, 0);
	assert_int_equal(q->req.due, w.now + base);
	ack(9);
	assert_int_equal(q->req.due, NSEC_NEVER);
}

/* What is to be retransmitted and cannot, as its port is busy, is not silent while others arrive.
 */
static void who_is_held_up_is_not_silent(void **state)
{
	(void)state;
	for (uint32_t has_news = 0; has_news < 2; has_news++) {
		begin_here(0);
		for (uint32_t i = 0; i < 10; i++)
			post_packets(1);
		pull_all();
		nack(0, MRC_NACK_TRIMMED);
		w.now += TIMEOUT_NS(TIMEOUT) - 1000;
		if (has_news)
			SACK(.cack = -1, .from = 5, .acked = 5, .ooo = 1);
		w.now += 2000;
		pull_all();
		assert_int_equal(COUNT(timeouts), !has_news);
		assert_int_equal(COUNT(tx_retx), has_news ? 1 : 10);
	}
}

/* Four packets of a message are out and arrived, its others wait for a turn: the peer owes nothing,
 * so that nothing of it is retransmitted, however long that takes. */
static void half_a_message_waits_in_peace(void **state)
{
	(void)state;
	begin_here(0);
	post_packets(8);
	assert_int_equal(end_pull(&w.end[0], w.now, wide, 4), 4);
	w.now += 10000;
	sack_all(3);
	assert_int_equal(q->req.sent.una, q->req.sent.next);
	assert_int_equal(q->req.due, NSEC_NEVER);
	assert_int_equal(q->req.probe_due, NSEC_NEVER);
	w.now += 20 * TIMEOUT_NS(TIMEOUT);
	assert_int_equal(pull_all(), 4);
	assert_int_equal(COUNT(tx_retx), 0);
	assert_int_equal(COUNT(timeouts), 0);
	/* The rest asks, and has a clock again. */
	assert_int_equal(q->req.due, w.now + TIMEOUT_NS(TIMEOUT));
	sack_all(7);
	assert_int_equal(q->req.due, w.now + TIMEOUT_NS(TIMEOUT));
	ack(7);
	assert_int_equal(q->req.due, NSEC_NEVER);
}

/* A whole message arrived, and its Transport ACK is owed though no packet of it asked. */
static void a_whole_message_is_to_be_executed(void **state)
{
	(void)state;
	begin_here(0);
	post_packets(2);
	post_packets(8);
	assert_int_equal(end_pull(&w.end[0], w.now, wide, 4), 4);
	assert_int_equal(q->req.asked, MRC_NONE);
	sack_all(3);
	assert_int_equal(q->req.due, w.now + TIMEOUT_NS(TIMEOUT));
	ack(1);
	assert_int_equal(q->req.due, NSEC_NEVER);
}

/* Packet 0 is lost without a word, no round trip was ever measured, and the peer refuses all that
 * is ahead of it, as often as it comes: after a timeout packet 0 is retransmitted. */
static void refusals_do_not_hold_back_the_first(void **state)
{
	nsec begun;

	(void)state;
	begin_here(MRC_NO_TIMESTAMPS);
	q->attr.exp_retries = MRC_EXP_MAX;
	for (uint32_t i = 0; i < 4; i++)
		post_packets(1);
	begun = w.now;
	assert_int_equal(pull_all(), 4);
	while (w.now < begun + TIMEOUT_NS(TIMEOUT)) {
		for (uint32_t i = 1; i < 4; i++)
			nack(i, MRC_NACK_NO_BITMAP);
		w.now += TIMEOUT_NS(TIMEOUT) / 16;
		for (uint32_t n = pull(); n > 0; n = pull())
			assert_true(w.now >= begun + TIMEOUT_NS(TIMEOUT) ||
				    w.end[0].out[0].h.bth.psn != psn_of(0));
	}
	assert_int_equal(COUNT(timeouts), 1);
	assert_true(engine_sent_is_retx(&q->req.sent, 0));
}

/* The same with NACKs that come faster than the wheel turns: each looks at the clock, and none
 * moves it. */
static void a_storm_of_nacks_does_not_stop_the_clock(void **state)
{
	nsec begun;

	(void)state;
	begin_here(0);
	for (uint32_t i = 0; i < 4; i++)
		post_packets(1);
	begun = w.now;
	assert_int_equal(pull_all(), 4);
	for (uint32_t i = 0; w.now < begun + TIMEOUT_NS(TIMEOUT) + 4 * WIDTH; i++) {
		w.now += WIDTH / 4;
		nack(1 + i % 3, MRC_NACK_TRIMMED);
		pull();
	}
	assert_int_equal(COUNT(timeouts), 1);
}

/* Where no round trip is known, what was refused does not come back at once either. */
static void a_refusal_is_a_pause(void **state)
{
	(void)state;
	begin_here(MRC_NO_TIMESTAMPS);
	for (uint32_t i = 0; i < 2; i++)
		post_packets(1);
	pull_all();
	/* Of the second one, which is retransmitted, no time is known. */
	for (uint32_t i = 0; i < 2; i++) {
		nack(1, MRC_NACK_NO_BITMAP);
		assert_true(q->req.pause_until > w.now);
		assert_int_equal(pull_all(), 0);
		w.now = q->req.pause_until;
		assert_int_equal(pull_all(), 1);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(only_the_first_packet_moves_the_clock),
	cmocka_unit_test(who_is_held_up_is_not_silent),
	cmocka_unit_test(half_a_message_waits_in_peace),
	cmocka_unit_test(a_whole_message_is_to_be_executed),
	cmocka_unit_test(refusals_do_not_hold_back_the_first),
	cmocka_unit_test(a_storm_of_nacks_does_not_stop_the_clock),
	cmocka_unit_test(a_refusal_is_a_pause),
};

CHECK_MAIN(cases)
