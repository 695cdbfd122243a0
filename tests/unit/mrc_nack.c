/* What a requestor makes of NACKs, all made by hand. */
#include "mrc_word.h"

/* Table 7-3: all but one want the packet again. */
static void nacks_ask_for_packets(void **state)
{
	static const uint8_t reasons[] = {
		MRC_NACK_TRIMMED,       MRC_NACK_TRIMMED_LASTHOP, MRC_NACK_NO_BITMAP,
		MRC_NACK_NO_PKT_BUFFER, MRC_NACK_NO_RESOURCE,     MRC_NACK_PSN_OOR_WINDOW,
	};

	(void)state;
	begin_sent(10);
	for (uint32_t i = 0; i < sizeof reasons; i++) {
		nack(i + 1, reasons[i]);
		assert_int_equal(COUNT(lost_nack), i + 1);
		/* One that is to be sent is not counted twice. */
		nack(i + 1, reasons[i]);
		assert_int_equal(COUNT(lost_nack), i + 1);
		pass_pause();
		expect_retx(i + 1);
	}
	assert_int_equal(COUNT(rx_nack), 2 * sizeof reasons);
	/* What arrived is not wanted. */
	SACK(.cack = -1, .from = 7, .acked = 7);
	nack(7, MRC_NACK_TRIMMED);
	assert_int_equal(pull_all(), 0);
	assert_int_equal(COUNT(rx_nack), 2 * sizeof reasons + 1);
	/* Never sent. */
	nack(10, MRC_NACK_UNEXP_EVENT);
	nack(-1, MRC_NACK_UNEXP_EVENT);
	assert_int_equal(COUNT(drop_stale), 2);
	assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
}

/* M-58: one that is about a copy which was retransmitted meanwhile asks for nothing. */
static void nacks_of_older_copies_ask_for_nothing(void **state)
{
	(void)state;
	begin_timed(0);
	post_packets(1);
	pull_all();
	uint16_t first = stamp_of(1);

	/* Four copies of one NACK, where three tries would end the queue pair. */
	for (uint32_t i = 0; i < 4; i++) {
		nack_copy(1, MRC_NACK_NO_BITMAP, false, first);
		pass_pause();
		assert_int_equal(pull_all(), i == 0);
	}
	assert_int_equal(COUNT(lost_nack), 1);
	assert_int_equal(COUNT(rx_nack), 4);
	/* Retransmitted twice, the stamp tells which time it is about. */
	uint16_t second = stamp_of(1);

	w.now += 40000;
	nack_copy(1, MRC_NACK_NO_BITMAP, true, second);
	pass_pause();
	expect_retx(1);
	nack_copy(1, MRC_NACK_NO_BITMAP, true, second);
	nack_copy(1, MRC_NACK_NO_BITMAP, false, first);
	assert_int_equal(COUNT(lost_nack), 2);
	nack_copy(1, MRC_NACK_NO_BITMAP, true, stamp_of(1));
	assert_int_equal(COUNT(lost_nack), 3);
	/* One without a timestamp goes by the mark alone: the packet was cut in front of it. */
	for (uint32_t k = 0; k < 2; k++) {
		begin_timed(k ? MRC_PEER_SERVICE_TIME : 0);
		post_packets(1);
		pull_all();
		for (uint32_t i = 0; i < 20; i++) {
			w.now += 40000;
			nack_copy(1, MRC_NACK_TRIMMED, i > 0, k ? 3 : 0);
			expect_retx(1);
		}
		assert_in_range(q->req.srtt, 39000, 41000);
	}
	/* Nor does one of a copy that was not sent yet. */
	begin_timed(0);
	post_packets(1);
	pull_all();
	nack_copy(1, MRC_NACK_NO_BITMAP, true, stamp_of(1));
	assert_int_equal(COUNT(lost_nack), 0);
}

/* As often as there are retries. */
static void refuse(int64_t count, uint8_t reason)
{
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t retx = COUNT(tx_retx);

		nack(count, reason);
		pass_pause();
		pull_all();
		assert_int_equal(COUNT(tx_retx), retx + 1);
	}
}

/* M-59: one NACK too many for any packet ends the queue pair. Each has a count of its own, and all
 * begin anew when the first that is out arrives; not when another does. */
static void expect_end_by_nacks(uint8_t reason)
{
	begin_sent(6);
	ack(0);
	expect_end(1, ENGINE_OK);
	refuse(3, reason);
	refuse(4, reason);
	assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
	ack(1);
	expect_end(2, ENGINE_OK);
	refuse(3, reason);
	SACK(.cack = 1, .from = 5, .acked = 5);
	assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
	nack(3, reason);
	expect_end(3, ENGINE_FLUSHED);
	expect_end(4, ENGINE_RETRY_EXCEEDED);
	expect_end(5, ENGINE_FLUSHED);
	expect_end(6, ENGINE_FLUSHED);
	expect_nothing(0);
	assert_int_equal(end_state(&w.end[0], 0), MRC_ERROR);
	assert_int_equal(COUNT(failed), 1);
	check_idle(&w.end[0]);
}

static void nacks_have_an_end(void **state)
{
	static const uint8_t reasons[] = {MRC_NACK_NO_BITMAP, MRC_NACK_NO_PKT_BUFFER,
					  MRC_NACK_NO_RESOURCE, MRC_NACK_PSN_OOR_WINDOW};

	(void)state;
	for (uint32_t i = 0; i < sizeof reasons; i++)
		expect_end_by_nacks(reasons[i]);
	/* Without end. */
	begin_here();
	w.end[0].qp[0].attr.exp_retries = MRC_EXP_MAX;
	connect();
	post_packets(1);
	pull_all();
	for (uint32_t i = 0; i < 300; i++) {
		nack(0, MRC_NACK_NO_BITMAP);
		expect_retx(0);
	}
	ack(0);
	expect_end(1, ENGINE_OK);
}

static void an_unexpected_event_ends_the_queue_pair(void **state)
{
	(void)state;
	begin_sent(4);
	ack(0);
	nack(2, MRC_NACK_UNEXP_EVENT);
	expect_end(1, ENGINE_OK);
	expect_end(2, ENGINE_FLUSHED);
	assert_int_equal(expect_end(3, ENGINE_REMOTE_OPERATION).peer_code,
			 MRC_CODE_NACK + MRC_NACK_UNEXP_EVENT);
	expect_end(4, ENGINE_FLUSHED);
	expect_nothing(0);
	assert_int_equal(end_state(&w.end[0], 0), MRC_ERROR);
	assert_int_equal(COUNT(rx_nack), 1);
	/* Whatever is known of the packet. */
	begin_sent(3);
	SACK(.cack = -1, .from = 1, .acked = 1);
	nack(1, MRC_NACK_UNEXP_EVENT);
	expect_end(1, ENGINE_FLUSHED);
	expect_end(2, ENGINE_REMOTE_OPERATION);
	expect_end(3, ENGINE_FLUSHED);
	begin_sent(3);
	ack(0);
	nack(0, MRC_NACK_UNEXP_EVENT);
	expect_end(1, ENGINE_OK);
	expect_end(2, ENGINE_REMOTE_OPERATION);
	expect_end(3, ENGINE_FLUSHED);
}

/* While the peer has no room only una goes, which needs none; the rest waits, ever longer. */
static void a_peer_without_room_is_given_time(void **state)
{
	static const uint8_t reasons[] = {MRC_NACK_NO_BITMAP, MRC_NACK_NO_PKT_BUFFER,
					  MRC_NACK_NO_RESOURCE, MRC_NACK_PSN_OOR_WINDOW};

	(void)state;
	for (uint32_t i = 0; i < sizeof reasons; i++) {
		begin_timed(0);
		for (uint32_t k = 0; k < 4; k++)
			post_packets(1);
		pull_all();
		nack(3, reasons[i]);
		for (uint32_t k = 1; k < 3; k++) {
			nsec until = w.now + (q->req.srtt << k);

			post_packets(1);
			assert_int_equal(pull_all(), 0);
			w.now = until - WIDTH;
			assert_int_equal(pull_all(), 0);
			w.now = until;
			assert_int_equal(pull_all(), 2);
			nack(3, reasons[i]);
		}
		nsec until = q->req.pause_until;

		nack(1, reasons[i]);
		assert_int_equal(q->req.pause_until, until);
		expect_retx(1);
		/* What is new would need room too, and might push out the first that is missing. */
		begin_timed(0);
		post_packets(1);
		pull_all();
		nack(1, reasons[i]);
		post_packets(1);
		expect_retx(1);
		pass_pause();
		assert_int_equal(pull_all(), 0);
		ack(1);
		assert_int_equal(pull_all(), 1);
	}
	/* A switch that trims is another matter. */
	begin_timed(0);
	for (uint32_t k = 0; k < 3; k++)
		post_packets(1);
	pull_all();
	nack(3, MRC_NACK_TRIMMED);
	assert_int_equal(pull_all(), 1);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(nacks_ask_for_packets),
	cmocka_unit_test(nacks_of_older_copies_ask_for_nothing),
	cmocka_unit_test(nacks_have_an_end),
	cmocka_unit_test(an_unexpected_event_ends_the_queue_pair),
	cmocka_unit_test(a_peer_without_room_is_given_time),
};

CHECK_MAIN(cases)
