/* What a requestor makes of Transport ACKs and NAKs, right ones and others, all made by hand. */
#include "mrc_word.h"

/* MRC-7.2.1-02: a SACK says that packets arrived, the Transport ACK that they were executed. */
static void works_end_with_the_transport_ack_alone(void **state)
{
	(void)state;
	begin_sent(5);
	sack_all(2);
	assert_int_equal(q->req.sent.una, 3);
	expect_nothing(0);
	ack(1);
	expect_end(1, ENGINE_OK);
	expect_end(2, ENGINE_OK);
	expect_nothing(0);
	/* And it says that they arrived (MRC-7.2.1-03). */
	ack(4);
	assert_int_equal(q->req.sent.una, 5);
	for (uint64_t i = 3; i <= 5; i++)
		expect_end(i, ENGINE_OK);
	check_idle(&w.end[0]);
	assert_int_equal(COUNT(rx_sack), 1);
	assert_int_equal(COUNT(rx_ack), 2);
}

static void a_work_of_many_packets_ends_with_its_last(void **state)
{
	(void)state;
	begin_here();
	connect();
	post_packets(4);
	post_packets(1);
	pull_all();
	ack(2);
	expect_nothing(0);
	ack(3);
	struct done done;

	assert_true(end_poll(&w.end[0], &done));
	assert_int_equal(done.len, 4 * PMTU);
	expect_nothing(0);
}

static void odd_acks_are_harmless(void **state)
{
	(void)state;
	begin_sent(10);
	/* Nothing yet. */
	ack(-1);
	/* Never sent. */
	ack(10);
	ack(1 << 22);
	assert_int_equal(COUNT(drop_stale), 2);
	assert_int_equal(q->req.sent.una, 0);
	ack(5);
	/* Back, and again. */
	ack(3);
	ack(5);
	ack(-1);
	assert_int_equal(q->req.executed, 6);
	assert_int_equal(COUNT(rx_ack), 5);
	ack(-2);
	assert_int_equal(COUNT(drop_stale), 3);
	/* Neither ACK nor NAK of MRC. */
	aeth(7, AETH_RNR_NAK, 3);
	aeth(7, AETH_RESERVED, 3);
	aeth(7, AETH_NAK, AETH_NAK_SEQUENCE);
	aeth(7, AETH_NAK, AETH_NAK_INVALID_RD);
	aeth(7, AETH_NAK, 31);
	assert_int_equal(COUNT(drop_malformed), 5);
	assert_int_equal(q->req.sent.una, 6);
	assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
}

/* M-40: a NAK names the packet; nothing before it is thereby done. */
static void naks_end_the_queue_pair(void **state)
{
	static const uint8_t codes[][2] = {
		{AETH_NAK_INVALID_REQUEST, ENGINE_REMOTE_INVALID},
		{AETH_NAK_REMOTE_ACCESS, ENGINE_REMOTE_ACCESS},
		{AETH_NAK_REMOTE_OPERATION, ENGINE_REMOTE_OPERATION},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		begin_sent(5);
		ack(0);
		SACK(.cack = 1, .from = 2, .map = 2, .acked = 1);
		aeth(5, AETH_NAK, codes[i][0]);
		assert_int_equal(COUNT(drop_stale), 1);
		/* Received long ago, and refused all the same. */
		aeth(3 - (int64_t)i, AETH_NAK, codes[i][0]);
		assert_int_equal(COUNT(rx_nak), 1);
		expect_end(1, ENGINE_OK);
		for (uint64_t k = 2; k <= 5; k++)
			assert_int_equal(
				expect_end(k, k == 4 - i ? codes[i][1] : ENGINE_FLUSHED).peer_code,
				k == 4 - i ? 0x60 | codes[i][0] : 0);
		expect_nothing(0);
		assert_int_equal(COUNT(failed), 1);
		check_idle(&w.end[0]);
	}
}

/* An answer of the peer that has executed so many messages. */
static void answer(int64_t count, uint8_t type, uint32_t msn)
{
	say((struct mrc_pkt){
		.bth = {.opcode = MRC_OP_ACKNOWLEDGE, .psn = psn_of(count)},
		.aeth = {.type = type,
			 .value = type == AETH_ACK ? MRC_AETH_NO_CREDIT : AETH_NAK_REMOTE_ACCESS,
			 .msn = msn & 0xffffff},
	});
}

static void expect_failed(uint64_t n_ok, uint64_t failed, uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		expect_end(i, i <= n_ok     ? ENGINE_OK
			      : i == failed ? ENGINE_REMOTE_ACCESS
					    : ENGINE_FLUSHED);
	expect_nothing(0);
	assert_int_equal(end_state(&w.end[0], 0), MRC_ERROR);
	assert_int_equal(COUNT(failed), 1);
	check_idle(&w.end[0]);
}

/* M-52: a NAK that overtakes the ACK of what was executed says so by its message number. */
static void a_nak_tells_what_was_executed(void **state)
{
	(void)state;
	begin_sent(6);
	answer(3, AETH_NAK, 3);
	expect_failed(3, 4, 6);
	/* And with an ACK before it. */
	begin_sent(6);
	answer(0, AETH_ACK, 1);
	answer(4, AETH_NAK, 3);
	expect_failed(3, 5, 6);
	/* Where the peer counts from is its own affair (M-07), and its count wraps. */
	begin_sent(6);
	answer(0, AETH_ACK, 0xffffff);
	answer(4, AETH_NAK, 2);
	expect_failed(4, 5, 6);
}

/* What is not all out was not executed: such a number is not believed. */
static void a_nak_of_a_senseless_number_completes_nothing(void **state)
{
	static const uint32_t numbers[] = {3, 100, 0x800000, 0xffffff};

	(void)state;
	for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		begin_here();
		w.end[0].cfg.cc.window_bytes = 1;
		connect();
		post_packets(1);
		pull_all();
		answer(0, AETH_ACK, 1);
		post_packets(1);
		post_packets(1);
		assert_int_equal(pull_all(), 1);
		answer(1, AETH_NAK, numbers[i]);
		expect_failed(1, 2, 3);
	}
}

/* M-52: some name the packet that is acknowledged last, and not the one that they refuse. */
static void a_nak_about_what_is_acknowledged_ends_the_queue_pair(void **state)
{
	(void)state;
	begin_sent(4);
	answer(1, AETH_ACK, 2);
	answer(1, AETH_NAK, 2);
	assert_int_equal(COUNT(rx_nak), 1);
	expect_failed(2, 3, 4);
	/* Nothing was acknowledged. */
	begin_sent(2);
	answer(-1, AETH_NAK, 0);
	expect_failed(0, 1, 2);
	/* All was, and there is no work to fail: an event tells. */
	begin_sent(2);
	answer(1, AETH_ACK, 2);
	answer(1, AETH_NAK, 2);
	struct engine_event event;

	assert_int_equal(w.end[0].e->ops->events(w.end[0].e, &event, 1), 1);
	assert_int_equal(event.kind, ENGINE_EVENT_FATAL);
	expect_failed(2, 0, 2);
	/* Before all times. */
	begin_sent(2);
	answer(-2, AETH_NAK, 0);
	assert_int_equal(COUNT(drop_stale), 1);
	assert_int_equal(end_state(&w.end[0], 0), MRC_RTS);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(works_end_with_the_transport_ack_alone),
	cmocka_unit_test(a_work_of_many_packets_ends_with_its_last),
	cmocka_unit_test(odd_acks_are_harmless),
	cmocka_unit_test(naks_end_the_queue_pair),
	cmocka_unit_test(a_nak_tells_what_was_executed),
	cmocka_unit_test(a_nak_of_a_senseless_number_completes_nothing),
	cmocka_unit_test(a_nak_about_what_is_acknowledged_ends_the_queue_pair),
};

CHECK_MAIN(cases)
