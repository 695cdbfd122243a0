/* What a requester receives: acknowledgements, responses and NAKs, and silence. */
#include "rc_requester.h"

/* One acknowledgement is for everything up to its PSN. */
static void acknowledgements_coalesce(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_SEND, .len = 3 * PMTU);
	POST(.code = ENGINE_WRITE);
	expect_counts(5, 0);
	ack(1);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	expect_nothing();
	ack(4);
	expect_sent(2, ENGINE_SEND, ENGINE_OK);
	expect_sent(3, ENGINE_WRITE, ENGINE_OK);
	EXPECT_COUNT(rx_response, 2);
	check_end();
}

/* What is outside of what is out changes nothing. */
static void acknowledgements_out_of_place(void **state)
{
	static const uint32_t counts_of[] = {0xfffffe, 0, 3, 4, 0x7fffff, 0x800001, 0x800002};

	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_WRITE, .len = 2 * PMTU);
	expect_counts(3, 0);
	ack(0);
	for (uint32_t i = 0; i < sizeof counts_of / sizeof counts_of[0]; i++) {
		ack(counts_of[i]);
		nak(counts_of[i], AETH_NAK_SEQUENCE);
		nak(counts_of[i], AETH_NAK_REMOTE_ACCESS);
		say_aeth(counts_of[i], AETH_RNR_NAK, 1);
		read_response(ROCE_OP_READ_RESPONSE_ONLY, counts_of[i], 0, 8);
		EXPECT_COUNT(drop_response, 5 * (i + 1));
	}
	/* In place, but to no read; or with a syndrome that means nothing. */
	read_response(ROCE_OP_READ_RESPONSE_ONLY, 1, 0, 8);
	say_aeth(1, AETH_RESERVED, 0);
	nak(1, AETH_NAK_INVALID_RD);
	say_aeth(1, AETH_NAK, 31);
	EXPECT_COUNT(drop_response, 5 * 7 + 4);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	expect_nothing();
	assert_int_equal(pull(), 0);
	ack(2);
	expect_sent(2, ENGINE_WRITE, ENGINE_OK);
	check_end();
}

/* After going back, what was on its way may still be acknowledged: it is not retransmitted. */
static void acknowledgements_beyond_next(void **state)
{
	static const uint16_t one[ENGINE_PORTS] = {1};

	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE, .len = 3 * PMTU);
	POST(.code = ENGINE_WRITE, .len = 3 * PMTU);
	expect_counts(6, 0);
	nak(0, AETH_NAK_SEQUENCE);
	assert_int_equal(end_pull(&s, now, one, 1), 1);
	expect_packet(0, ROCE_OP_WRITE_FIRST, 0, true);
	ack(3);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	expect_counts(2, 4);
	ack(5);
	expect_sent(2, ENGINE_WRITE, ENGINE_OK);
	EXPECT_COUNT(tx_request, 6);
	EXPECT_COUNT(tx_retx, 3);
	EXPECT_COUNT(drop_response, 0);
}

/* Goes back to what is missing, once, however often it is told. */
static void sequence_nak(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_WRITE, .len = 4 * PMTU);
	expect_counts(5, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		nak(2, AETH_NAK_SEQUENCE);
		if (i % 10 == 0)
			assert_int_equal(pull(), i == 0 ? 3 : 0);
		if (i == 0) {
			expect_packet(0, ROCE_OP_WRITE_MIDDLE, 2, true);
			expect_packet(1, ROCE_OP_WRITE_MIDDLE, 3, false);
			expect_packet(2, ROCE_OP_WRITE_LAST, 4, true);
		}
	}
	EXPECT_COUNT(rx_nak, 1);
	EXPECT_COUNT(drop_response, 999);
	EXPECT_COUNT(tx_retx, 3);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	/* What was acknowledged is progress: the next one is told anew. */
	nak(3, AETH_NAK_SEQUENCE);
	expect_counts(2, 3);
	ack(4);
	expect_sent(2, ENGINE_WRITE, ENGINE_OK);
	check_end();
}

static void sequence_nak_costs_a_try(void **state)
{
	(void)state;
	begin();
	s.qp[0].attr.retries = 0;
	connect();
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_WRITE);
	expect_counts(3, 0);
	nak(1, AETH_NAK_SEQUENCE);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	expect_sent(2, ENGINE_WRITE, ENGINE_RETRY_EXCEEDED);
	expect_sent(3, ENGINE_WRITE, ENGINE_FLUSHED);
	assert_int_equal(pull(), 0);
}

static void refusals(void **state)
{
	static const struct {
		enum aeth_nak why;
		enum engine_status status;
	} cases[] = {
		{AETH_NAK_INVALID_REQUEST, ENGINE_REMOTE_INVALID},
		{AETH_NAK_REMOTE_ACCESS, ENGINE_REMOTE_ACCESS},
		{AETH_NAK_REMOTE_OPERATION, ENGINE_REMOTE_OPERATION},
	};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		begin_connected();
		POST(.code = ENGINE_WRITE);
		POST(.code = ENGINE_WRITE, .len = 2 * PMTU, .flags = ENGINE_SILENT);
		POST(.code = ENGINE_WRITE, .flags = ENGINE_SILENT);
		expect_counts(4, 0);
		nak(2, cases[i].why);
		expect_sent(1, ENGINE_WRITE, ENGINE_OK);
		assert_int_equal(expect_sent(2, ENGINE_WRITE, cases[i].status).peer_code,
				 0x60 | cases[i].why);
		assert_int_equal(expect_sent(3, ENGINE_WRITE, ENGINE_FLUSHED).peer_code, 0);
		expect_nothing();
		assert_int_equal(end_state(&s, 0), ENGINE_ERROR);
		assert_int_equal(pull(), 0);
		assert_int_equal(rc_ops.deadline(s.e, ALL_FREE), NSEC_NEVER);
		EXPECT_COUNT(rx_nak, 1);
		EXPECT_COUNT(failed, 1);
		ack(3);
		EXPECT_COUNT(drop_state, 1);
		check_end();
	}
}

/* The peer says when to try again; it is not tried earlier, and only so often. */
static void not_ready(void **state)
{
	static const uint8_t codes[] = {1, 14, 0, 31};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		nsec wait = (const nsec[]){10000, 1280000, 655360000, 491520000}[i];

		begin_connected();
		POST(.code = ENGINE_WRITE);
		POST(.code = ENGINE_SEND, .len = 2 * PMTU);
		expect_counts(3, 0);
		for (uint32_t try = 0; try < 3; try++) {
			say_aeth(1, AETH_RNR_NAK, codes[i]);
			assert_int_equal(pull(), 0);
			say_aeth(1, AETH_RNR_NAK, codes[i]);
			nak(1, AETH_NAK_SEQUENCE);
			expect_quiet_until(now + wait);
			expect_counts(2, 1);
		}
		EXPECT_COUNT(rx_rnr, 3);
		EXPECT_COUNT(drop_response, 6);
		EXPECT_COUNT(timeouts, 0);
		expect_sent(1, ENGINE_WRITE, ENGINE_OK);
		say_aeth(1, AETH_RNR_NAK, codes[i]);
		assert_int_equal(expect_sent(2, ENGINE_SEND, ENGINE_RNR_EXCEEDED).peer_code,
				 0x20 | codes[i]);
		check_end();
	}
}

static void not_ready_without_end(void **state)
{
	(void)state;
	begin();
	s.qp[0].attr.rnr_retries = 7;
	connect();
	POST(.code = ENGINE_SEND);
	expect_counts(1, 0);
	for (uint32_t try = 0; try < 50; try++) {
		say_aeth(0, AETH_RNR_NAK, 1);
		expect_quiet_until(now + 10000);
		expect_counts(1, 0);
	}
	/* It was taken while we waited. */
	say_aeth(0, AETH_RNR_NAK, 1);
	POST(.code = ENGINE_WRITE);
	assert_int_equal(pull(), 0);
	ack(0);
	expect_sent(1, ENGINE_SEND, ENGINE_OK);
	expect_counts(1, 1);
}

/* Told before it was retransmitted for another reason: it waits, and that is no try. */
static void not_ready_while_going_back(void **state)
{
	(void)state;
	begin();
	s.qp[0].attr.rnr_retries = 0;
	connect();
	POST(.code = ENGINE_SEND);
	expect_counts(1, 0);
	nak(0, AETH_NAK_SEQUENCE);
	say_aeth(0, AETH_RNR_NAK, 1);
	EXPECT_COUNT(rx_rnr, 1);
	expect_quiet_until(now + 10000);
	expect_counts(1, 0);
	say_aeth(0, AETH_RNR_NAK, 1);
	expect_sent(1, ENGINE_SEND, ENGINE_RNR_EXCEEDED);
}

/* Progress gives all tries back. */
static void not_ready_after_progress(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_SEND, .len = 4 * PMTU);
	expect_counts(4, 0);
	for (uint32_t at = 0; at < 4; at++) {
		for (uint32_t try = 0; try < 3; try++) {
			say_aeth(at, AETH_RNR_NAK, 1);
			expect_quiet_until(now + 10000);
			expect_counts(4 - at, at);
		}
		ack(at);
	}
	expect_sent(1, ENGINE_SEND, ENGINE_OK);
}

static void silence(void **state)
{
	const nsec timeout = TIMEOUT_NS(TIMEOUT);

	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE, .len = 3 * PMTU);
	expect_counts(3, 0);
	now += timeout / 2;
	ack(0);
	/* From the last progress on, not from the first packet; one packet at a time. */
	for (uint32_t try = 0; try < 3; try++) {
		expect_quiet_until(now + timeout);
		expect_one(ROCE_OP_WRITE_MIDDLE, 1, true);
	}
	now += timeout - WIDTH;
	ack(1);
	expect_one(ROCE_OP_WRITE_LAST, 2, true);
	for (uint32_t try = 0; try < 3; try++) {
		expect_quiet_until(now + timeout);
		expect_one(ROCE_OP_WRITE_LAST, 2, true);
		/* Old NAKs say nothing that is not known. */
		nak(2, AETH_NAK_SEQUENCE);
		assert_int_equal(pull(), 0);
	}
	EXPECT_COUNT(timeouts, 6);
	expect_quiet_until(now + timeout);
	assert_int_equal(pull(), 0);
	expect_sent(1, ENGINE_WRITE, ENGINE_RETRY_EXCEEDED);
	EXPECT_COUNT(timeouts, 7);
	EXPECT_COUNT(tx_retx, 7);
	assert_int_equal(end_state(&s, 0), ENGINE_ERROR);
}

/* A peer that was asked for nothing yet owes nothing. */
static void silence_counts_from_the_question(void **state)
{
	static const uint16_t one[ENGINE_PORTS] = {1};

	(void)state;
	begin();
	s.cfg.ack_every_pkts = 100;
	connect();
	POST(.code = ENGINE_WRITE, .len = 8 * PMTU);
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(end_pull(&s, now, one, 1), 1);
		expect_packet(0, i == 0 ? ROCE_OP_WRITE_FIRST : ROCE_OP_WRITE_MIDDLE, i, false);
		now += TIMEOUT_NS(TIMEOUT) / 2;
	}
	EXPECT_COUNT(timeouts, 0);
	expect_one(ROCE_OP_WRITE_LAST, 7, true);
	/* From then on it does, whatever else goes. */
	for (uint32_t i = 0; i < 2; i++) {
		now += TIMEOUT_NS(TIMEOUT) / 2;
		POST(.code = ENGINE_WRITE);
		pull();
	}
	EXPECT_COUNT(timeouts, 1);
}

/* A port that stays shut does not keep a queue pair for ever. */
static void silence_of_ourselves(void **state)
{
	static const uint16_t shut[ENGINE_PORTS] = {0};

	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE);
	expect_counts(1, 0);
	for (uint32_t try = 0; try < 4; try++) {
		now += TIMEOUT_NS(TIMEOUT) + WIDTH;
		assert_int_equal(end_pull(&s, now, shut, 0), 0);
	}
	expect_sent(1, ENGINE_WRITE, ENGINE_RETRY_EXCEEDED);
}

static void silence_without_end(void **state)
{
	(void)state;
	begin();
	s.qp[0].attr.timeout = 0;
	connect();
	POST(.code = ENGINE_WRITE);
	expect_counts(1, 0);
	assert_int_equal(rc_ops.deadline(s.e, ALL_FREE), NSEC_NEVER);
}

/* Idle, the clock stands still. */
static void no_silence_when_nothing_is_out(void **state)
{
	(void)state;
	begin_connected();
	for (uint32_t i = 0; i < 10; i++) {
		POST(.code = ENGINE_WRITE);
		expect_counts(1, i);
		ack(i);
		now += 10 * TIMEOUT_NS(TIMEOUT);
		assert_int_equal(pull(), 0);
		assert_int_equal(rc_ops.deadline(s.e, ALL_FREE), NSEC_NEVER);
	}
	EXPECT_COUNT(timeouts, 0);
}

/* A response of three packets, in pieces that do not match them. */
static void read_is_placed(void **state)
{
	(void)state;
	begin_connected();
	struct sge sg[3] = {area_piece(&s, INBOX, 0, 100), area_piece(&s, INBOX, 1000, 300),
			    area_piece(&s, INBOX, 2000, 2 * PMTU + 7 - 400)};
	struct op op = {.code = ENGINE_READ, .qp = OURS, .cookie = 9, .n_sg = 3, .sg = sg};

	POST(.code = ENGINE_WRITE);
	assert_int_equal(end_post(&s, now, op), 0);
	assert_int_equal(pull(), 2);
	read_response(ROCE_OP_READ_RESPONSE_FIRST, 1, 0, PMTU);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	read_response(ROCE_OP_READ_RESPONSE_MIDDLE, 2, PMTU, PMTU);
	/* Twice: the first time counts. */
	read_response(ROCE_OP_READ_RESPONSE_MIDDLE, 2, 0, PMTU);
	EXPECT_COUNT(drop_response, 1);
	expect_nothing();
	read_response(ROCE_OP_READ_RESPONSE_LAST, 3, 2 * PMTU, 7);
	imagine_read(0, 0, 100);
	imagine_read(1000, 100, 300);
	imagine_read(2000, 400, 2 * PMTU + 7 - 400);
	expect_sent(9, ENGINE_READ, ENGINE_OK);
	EXPECT_COUNT(rx_bytes, 2 * PMTU + 7);
	EXPECT_COUNT(rx_response, 3);
	check_end();
}

static void read_of_nothing(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_READ);
	expect_counts(1, 0);
	read_response(ROCE_OP_READ_RESPONSE_ONLY, 0, 0, 0);
	expect_sent(1, ENGINE_READ, ENGINE_OK);
	check_end();
}

/* Responses that make no sense in their place end the queue pair, and place nothing. */
static void senseless_responses(void **state)
{
	static const struct {
		uint8_t before, opcode; /* good ones that came before it */
		uint32_t len;
		enum aeth_type type;
	} cases[] = {
		{0, ROCE_OP_READ_RESPONSE_MIDDLE, PMTU, AETH_ACK},
		{0, ROCE_OP_READ_RESPONSE_LAST, PMTU, AETH_ACK},
		{0, ROCE_OP_READ_RESPONSE_ONLY, PMTU, AETH_ACK},
		{0, ROCE_OP_READ_RESPONSE_FIRST, PMTU - 1, AETH_ACK},
		{0, ROCE_OP_READ_RESPONSE_FIRST, PMTU + 4, AETH_ACK},
		{0, ROCE_OP_READ_RESPONSE_FIRST, 0, AETH_ACK},
		{0, ROCE_OP_READ_RESPONSE_FIRST, PMTU, AETH_NAK},
		{0, ROCE_OP_READ_RESPONSE_FIRST, PMTU, AETH_RNR_NAK},
		{0, ROCE_OP_ATOMIC_ACKNOWLEDGE, 0, AETH_ACK},
		{1, ROCE_OP_READ_RESPONSE_FIRST, PMTU, AETH_ACK},
		{1, ROCE_OP_READ_RESPONSE_LAST, PMTU, AETH_ACK},
		{1, ROCE_OP_READ_RESPONSE_MIDDLE, PMTU - 4, AETH_ACK},
		{2, ROCE_OP_READ_RESPONSE_MIDDLE, 9, AETH_ACK},
		{2, ROCE_OP_READ_RESPONSE_ONLY, 9, AETH_ACK},
		{2, ROCE_OP_READ_RESPONSE_LAST, 8, AETH_ACK},
		{2, ROCE_OP_READ_RESPONSE_LAST, 10, AETH_ACK},
		{2, ROCE_OP_READ_RESPONSE_LAST, 9, AETH_RESERVED},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint32_t before = cases[i].before;

		begin_connected();
		POST(.code = ENGINE_WRITE);
		POST(.code = ENGINE_READ, .len = 2 * PMTU + 9);
		POST(.code = ENGINE_WRITE);
		assert_int_equal(pull(), 3);
		if (before > 0)
			read_response(ROCE_OP_READ_RESPONSE_FIRST, 1, 0, PMTU);
		if (before > 1)
			read_response(ROCE_OP_READ_RESPONSE_MIDDLE, 2, PMTU, PMTU);
		imagine_read(0, 0, before * PMTU);
		say((struct roce_pkt){.bth = {.opcode = cases[i].opcode, .psn = psn_of(1 + before)},
				      .aeth = {.type = (uint8_t)cases[i].type}},
		    0, cases[i].len);
		expect_sent(1, ENGINE_WRITE, ENGINE_OK);
		expect_sent(2, ENGINE_READ, ENGINE_BAD_RESPONSE);
		expect_sent(3, ENGINE_WRITE, ENGINE_FLUSHED);
		check_end();
	}
}

/* The place of a response has to be ours to write. */
static void response_without_a_place(void **state)
{
	(void)state;
	for (unsigned code = ENGINE_READ; code <= ENGINE_ATOMIC; code++) {
		begin_connected();
		struct sge sg = area_piece(&s, SOURCE, 0, 8);
		struct op op = {
			.code = (uint8_t)code, .qp = OURS, .cookie = 1, .n_sg = 1, .sg = &sg};

		assert_int_equal(end_post(&s, now, op), 0);
		assert_int_equal(pull(), 1);
		if (code == ENGINE_READ)
			read_response(ROCE_OP_READ_RESPONSE_ONLY, 0, 0, 8);
		else
			say((struct roce_pkt){.bth = {.opcode = ROCE_OP_ATOMIC_ACKNOWLEDGE,
						      .psn = psn_of(0)}},
			    0, 0);
		expect_sent(1, (uint8_t)code, ENGINE_LOCAL_PROTECTION);
		check_end();
	}
}

/* A response that acknowledges works of which one has failed here by now: that ends the queue pair,
 * and nothing is placed for what was flushed. */
static void response_beyond_a_failure(void **state)
{
	(void)state;
	begin_connected();
	struct mem_entry gone = {.at = area_at(&s, SOURCE, 0),
				 .iova = area_va(SOURCE),
				 .len = PMTU,
				 .key = 0x777,
				 .pd = PD,
				 .access = MEM_LOCAL_WRITE};
	struct sge sg = area_piece(&s, SOURCE, 0, PMTU);
	struct op op = {.code = ENGINE_WRITE, .qp = OURS, .cookie = 2, .n_sg = 1, .sg = &sg};

	assert_int_equal(mem_add(s.mem, &gone), 0);
	sg.lkey = gone.key;
	POST(.code = ENGINE_WRITE);
	assert_int_equal(end_post(&s, now, op), 0);
	POST(.code = ENGINE_READ, .len = PMTU);
	expect_counts(3, 0);
	nak(0, AETH_NAK_SEQUENCE);
	assert_int_equal(mem_remove(s.mem, gone.key), 0);
	expect_counts(1, 0);
	read_response(ROCE_OP_READ_RESPONSE_ONLY, 2, 0, PMTU);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	expect_sent(2, ENGINE_WRITE, ENGINE_LOCAL_PROTECTION);
	expect_sent(2, ENGINE_READ, ENGINE_FLUSHED);
	check_end();
}

static void atomic_is_placed(void **state)
{
	const uint64_t original = UINT64_C(0x1122334455667788);

	(void)state;
	begin_connected();
	POST(.code = ENGINE_ATOMIC, .len = 8, .at = 64);
	POST(.code = ENGINE_ATOMIC, .len = 8, .at = 72);
	assert_int_equal(pull(), 2);
	say((struct roce_pkt){.bth = {.opcode = ROCE_OP_ATOMIC_ACKNOWLEDGE, .psn = psn_of(0)},
			      .atomic_ack = {original}},
	    0, 0);
	memcpy(s.image[INBOX] + 64, &original, 8);
	expect_sent(1, ENGINE_ATOMIC, ENGINE_OK);
	EXPECT_COUNT(rx_bytes, 8);
	read_response(ROCE_OP_READ_RESPONSE_ONLY, 1, 0, 8);
	expect_sent(2, ENGINE_ATOMIC, ENGINE_BAD_RESPONSE);
	check_end();
}

/* An acknowledgement beyond a read without its response: what is before the read is done, and it is
 * asked for again, once. */
static void implied_nak_by_acknowledgement(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_READ, .len = 2 * PMTU);
	POST(.code = ENGINE_WRITE);
	POST(.code = ENGINE_WRITE);
	assert_int_equal(pull(), 4);
	ack(3);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	EXPECT_COUNT(implied_naks, 1);
	assert_int_equal(pull(), 3);
	expect_packet(0, ROCE_OP_READ_REQUEST, 1, true);
	expect_packet(1, ROCE_OP_WRITE_ONLY, 3, true);
	ack(4);
	ack(2);
	nak(4, AETH_NAK_REMOTE_ACCESS);
	nak(3, AETH_NAK_SEQUENCE);
	say_aeth(3, AETH_RNR_NAK, 1);
	EXPECT_COUNT(implied_naks, 1);
	EXPECT_COUNT(drop_response, 5);
	assert_int_equal(pull(), 0);
	expect_nothing();
	read_response(ROCE_OP_READ_RESPONSE_FIRST, 1, 0, PMTU);
	read_response(ROCE_OP_READ_RESPONSE_LAST, 2, PMTU, PMTU);
	imagine_read(0, 0, 2 * PMTU);
	expect_sent(2, ENGINE_READ, ENGINE_OK);
	ack(4);
	expect_sent(3, ENGINE_WRITE, ENGINE_OK);
	expect_sent(4, ENGINE_WRITE, ENGINE_OK);
	check_end();
}

/* A gap in a response: the rest is asked for again, and what then comes begins anew. */
static void read_goes_on_from_the_middle(void **state)
{
	(void)state;
	for (uint32_t late = 0; late < 2; late++) {
		begin_connected();
		POST(.code = ENGINE_READ, .len = 4 * PMTU + 20);
		POST(.code = ENGINE_WRITE);
		assert_int_equal(pull(), 2);
		read_response(ROCE_OP_READ_RESPONSE_FIRST, 0, 0, PMTU);
		read_response(ROCE_OP_READ_RESPONSE_MIDDLE, 2, 2 * PMTU, PMTU);
		read_response(ROCE_OP_READ_RESPONSE_LAST, 4, 4 * PMTU, 20);
		EXPECT_COUNT(implied_naks, 1);
		assert_int_equal(pull(), 2);
		const struct roce_pkt *h = expect_packet(0, ROCE_OP_READ_REQUEST, 1, true);

		assert_int_equal(h->reth.va, REMOTE + PMTU);
		assert_int_equal(h->reth.dmalen, 3 * PMTU + 20);
		expect_packet(1, ROCE_OP_WRITE_ONLY, 5, true);
		/* The lost one may have been late only. */
		read_response(late ? ROCE_OP_READ_RESPONSE_MIDDLE : ROCE_OP_READ_RESPONSE_FIRST, 1,
			      PMTU, PMTU);
		read_response(ROCE_OP_READ_RESPONSE_MIDDLE, 2, 2 * PMTU, PMTU);
		read_response(ROCE_OP_READ_RESPONSE_MIDDLE, 3, 3 * PMTU, PMTU);
		now += TIMEOUT_NS(TIMEOUT) + WIDTH;
		h = expect_one(ROCE_OP_READ_REQUEST, 4, true);
		assert_int_equal(h->reth.dmalen, 20);
		read_response(late ? ROCE_OP_READ_RESPONSE_LAST : ROCE_OP_READ_RESPONSE_ONLY, 4,
			      4 * PMTU, 20);
		imagine_read(0, 0, 4 * PMTU + 20);
		expect_sent(1, ENGINE_READ, ENGINE_OK);
		EXPECT_COUNT(rx_bytes, 4 * PMTU + 20);
		expect_one(ROCE_OP_WRITE_ONLY, 5, true);
		ack(5);
		expect_sent(2, ENGINE_WRITE, ENGINE_OK);
		check_end();
	}
}

/* A window that is retransmitted after silence goes one packet at a time until something is
 * received: what the peer has not read yet does not multiply. */
static void silence_is_sounded(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_WRITE, .len = 8 * PMTU);
	expect_counts(8, 0);
	expect_quiet_until(now + TIMEOUT_NS(TIMEOUT));
	expect_one(ROCE_OP_WRITE_FIRST, 0, true);
	ack(0);
	expect_counts(7, 1);
	ack(7);
	expect_sent(1, ENGINE_WRITE, ENGINE_OK);
	EXPECT_COUNT(tx_retx, 8);
	check_end();
}

/* Responses that were late, not lost, end a read that was about to be asked for again. */
static void late_responses_count(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_READ, .len = 2 * PMTU);
	POST(.code = ENGINE_READ, .len = 8, .at = 2 * PMTU);
	POST(.code = ENGINE_WRITE, .flags = ENGINE_FENCE);
	assert_int_equal(pull(), 2);
	/* The second one's comes first. */
	read_response(ROCE_OP_READ_RESPONSE_ONLY, 2, 0, 8);
	EXPECT_COUNT(implied_naks, 1);
	read_response(ROCE_OP_READ_RESPONSE_FIRST, 0, 0, PMTU);
	read_response(ROCE_OP_READ_RESPONSE_LAST, 1, PMTU, PMTU);
	imagine_read(0, 0, 2 * PMTU);
	expect_sent(1, ENGINE_READ, ENGINE_OK);
	expect_one(ROCE_OP_READ_REQUEST, 2, true);
	read_response(ROCE_OP_READ_RESPONSE_ONLY, 2, 0, 8);
	imagine_read(2 * PMTU, 0, 8);
	expect_sent(2, ENGINE_READ, ENGINE_OK);
	expect_one(ROCE_OP_WRITE_ONLY, 3, true);
	ack(3);
	expect_sent(3, ENGINE_WRITE, ENGINE_OK);
	check_end();
}

/* A read refused in its middle, after responses that were lost: it is that read all the same. */
static void read_is_refused(void **state)
{
	(void)state;
	begin_connected();
	POST(.code = ENGINE_READ, .len = 4 * PMTU);
	POST(.code = ENGINE_WRITE);
	assert_int_equal(pull(), 2);
	read_response(ROCE_OP_READ_RESPONSE_FIRST, 0, 0, PMTU);
	imagine_read(0, 0, PMTU);
	nak(2, AETH_NAK_REMOTE_ACCESS);
	expect_sent(1, ENGINE_READ, ENGINE_REMOTE_ACCESS);
	expect_sent(2, ENGINE_WRITE, ENGINE_FLUSHED);
	check_end();
}

static void any_work(struct prng *rng, uint64_t *given)
{
	static const uint8_t codes[] = {ENGINE_WRITE,    ENGINE_WRITE_IMM, ENGINE_SEND,
					ENGINE_SEND_INV, ENGINE_READ,      ENGINE_READ,
					ENGINE_ATOMIC};
	struct work k = {.code = codes[prng_below(rng, sizeof codes)],
			 .len = (uint32_t)prng_below(rng, 5 * PMTU),
			 .flags = prng_chance(rng, 1, 4) ? ENGINE_FENCE : 0};
	struct sge sg;

	k.len = k.code == ENGINE_ATOMIC ? 8 : k.len;
	struct op op = op_of(&k, &sg);

	if (end_post(&s, now, op) == 0)
		++*given;
	else
		cookie--;
}

static void any_response(struct prng *rng, uint32_t una)
{
	static const uint8_t opcodes[] = {
		ROCE_OP_ACKNOWLEDGE,          ROCE_OP_ACKNOWLEDGE,
		ROCE_OP_ACKNOWLEDGE,          ROCE_OP_READ_RESPONSE_FIRST,
		ROCE_OP_READ_RESPONSE_ONLY,   ROCE_OP_READ_RESPONSE_LAST,
		ROCE_OP_READ_RESPONSE_MIDDLE, ROCE_OP_ATOMIC_ACKNOWLEDGE,
	};
	struct roce_pkt h = {.bth = {.opcode = opcodes[prng_below(rng, sizeof opcodes)],
				     .psn = psn_of(una + (uint32_t)prng_below(rng, 12) - 2)}};

	if (prng_chance(rng, 2, 3))
		h.aeth = (struct aeth){.type = AETH_ACK, .value = prng_below(rng, 32) & 31};
	else
		h.aeth = (struct aeth){.type = prng_below(rng, 4) & 3,
				       .value = prng_chance(rng, 3, 4) ? 0 : 1};
	bool has_payload =
		h.bth.opcode != ROCE_OP_ACKNOWLEDGE && h.bth.opcode != ROCE_OP_ATOMIC_ACKNOWLEDGE;

	say(h, 0,
	    !has_payload             ? 0
	    : prng_chance(rng, 1, 2) ? PMTU
				     : (uint32_t)prng_below(rng, PMTU));
}

/* Whatever a peer answers: each work ends once, in order, and nothing outside of INBOX is touched;
 * end_pull holds the laws against every step. */
static void live_through(uint64_t number)
{
	struct prng rng;
	struct done done;
	uint64_t given = 0, taken = 0;
	struct engine_attr attr;

	prng_init(&rng, number, 0);
	begin();
	s.cfg.ack_every_pkts = 1 + (uint32_t)prng_below(&rng, 6);
	s.cfg.cc.window_bytes = 1 + prng_below(&rng, 8 * PMTU);
	s.cfg.total_window_bytes = prng_chance(&rng, 1, 2) ? 0 : 1 + prng_below(&rng, 8 * PMTU);
	s.qp[0].caps.max_send = 1 + (uint32_t)prng_below(&rng, 9);
	connect();
	for (uint32_t step = 0; step < 300; step++) {
		if (prng_chance(&rng, 1, 2))
			any_work(&rng, &given);
		assert_int_equal(rc_qp_query(s.e, OURS, &attr, NULL, NULL), 0);
		any_response(&rng, psn24_dist(psn24_of(SQ_PSN), psn24_of(attr.sq_psn)) - 4);
		end_pull(&s, now, wide, (uint32_t)prng_below(&rng, 4));
		now += prng_below(&rng, 2000);
		while (prng_chance(&rng, 1, 2) && end_poll(&s, &done))
			assert_int_equal(done.cookie, ++taken);
	}
	/* Then there is nobody any more. */
	for (uint32_t step = 0; step < 1000 && rc_ops.deadline(s.e, ALL_FREE) != NSEC_NEVER;
	     step++) {
		nsec due = rc_ops.deadline(s.e, ALL_FREE);

		now = due > now ? due : now;
		pull();
	}
	while (end_poll(&s, &done))
		assert_int_equal(done.cookie, ++taken);
	assert_int_equal(taken, given);
	memcpy(s.image[INBOX], area_at(&s, INBOX, 0), 5 * PMTU);
	check_end();
}

static uint64_t seed;

static int say_seed(void **state)
{
	(void)state;
	print_message("last seed: %llu\n", (unsigned long long)seed);
	return 0;
}

static void any_peer(void **state)
{
	uint64_t last = check_seed(1) + 199;

	(void)state;
	for (seed = last - 199; seed <= last; seed++)
		live_through(seed);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(acknowledgements_coalesce),
	cmocka_unit_test(acknowledgements_out_of_place),
	cmocka_unit_test(acknowledgements_beyond_next),
	cmocka_unit_test(sequence_nak),
	cmocka_unit_test(sequence_nak_costs_a_try),
	cmocka_unit_test(refusals),
	cmocka_unit_test(not_ready),
	cmocka_unit_test(not_ready_without_end),
	cmocka_unit_test(not_ready_while_going_back),
	cmocka_unit_test(not_ready_after_progress),
	cmocka_unit_test(silence),
	cmocka_unit_test(silence_counts_from_the_question),
	cmocka_unit_test(silence_of_ourselves),
	cmocka_unit_test(silence_without_end),
	cmocka_unit_test(no_silence_when_nothing_is_out),
	cmocka_unit_test(read_is_placed),
	cmocka_unit_test(read_of_nothing),
	cmocka_unit_test(senseless_responses),
	cmocka_unit_test(response_without_a_place),
	cmocka_unit_test(response_beyond_a_failure),
	cmocka_unit_test(atomic_is_placed),
	cmocka_unit_test(implied_nak_by_acknowledgement),
	cmocka_unit_test(read_goes_on_from_the_middle),
	cmocka_unit_test(silence_is_sounded),
	cmocka_unit_test(late_responses_count),
	cmocka_unit_test(read_is_refused),
	cmocka_unit_test_teardown(any_peer, say_seed),
};
CHECK_MAIN(cases)
