/* Bad acknowledgements, responses and notifications to a requester of RC, one case each (IBTA
 * 9.7.5, 9.9.2). What is out when they come: a WRITE of three packets, numbers 0 to 2, a READ of
 * two, 3 and 4, and a FETCH_ADD, 5. */
#include "rc_twins.h"

#define N_OUT 6

static const size_t as_drop[] = {COUNTER(drop_response), 0};

static void expect_done(uint64_t cookie, enum engine_status status)
{
	struct done done;

	assert_true(end_poll(&d.end[SUBJECT], &done));
	assert_int_equal(done.cookie, cookie);
	assert_int_equal(done.code, ENGINE_DONE_SENT);
	assert_int_equal(done.status, status);
}

static struct crafted *nak(int32_t n, enum aeth_type type, uint8_t value)
{
	struct crafted *c = response(ROCE_OP_ACKNOWLEDGE, n, 0);

	c->h.aeth.type = (uint8_t)type;
	c->h.aeth.value = value;
	craft(c, 0);
	return c;
}

/* For packets that were never sent: the next one, and any beyond. */
static void ack_of_never_sent(void **state)
{
	static const int32_t ahead[] = {N_OUT, N_OUT + 1, 1000, 1 << 22, (1 << 23) - 1};

	(void)state;
	born(4);
	for (uint32_t i = 0; i < sizeof ahead / sizeof ahead[0]; i++) {
		check_dropped(response(ROCE_OP_ACKNOWLEDGE, ahead[i], 0), COUNTER(drop_response));
		check_dropped(nak(ahead[i], AETH_NAK, AETH_NAK_SEQUENCE), COUNTER(drop_response));
		check_dropped(nak(ahead[i], AETH_NAK, AETH_NAK_REMOTE_ACCESS),
			      COUNTER(drop_response));
		check_dropped(nak(ahead[i], AETH_RNR_NAK, 1), COUNTER(drop_response));
		check_dropped(response(ROCE_OP_READ_RESPONSE_ONLY, ahead[i], 8),
			      COUNTER(drop_response));
		check_dropped(response(ROCE_OP_ATOMIC_ACKNOWLEDGE, ahead[i], 0),
			      COUNTER(drop_response));
	}
	live_on(as_drop);
}

/* For packets that were acknowledged before, whatever it says of them. */
static void ack_going_back(void **state)
{
	static const int32_t back[] = {0, -1, -2, -1000, -(1 << 22)};
	static const size_t nothing[] = {0};

	(void)state;
	born(4);
	feed_both(response(ROCE_OP_ACKNOWLEDGE, 1, 0), nothing);
	for (uint32_t i = 0; i < sizeof back / sizeof back[0]; i++) {
		struct crafted *c = response(ROCE_OP_ACKNOWLEDGE, back[i], 0);

		c->h.aeth.value = 3;
		craft(c, 0);
		check_dropped(c, COUNTER(drop_response));
		check_dropped(nak(back[i], AETH_NAK, AETH_NAK_SEQUENCE), COUNTER(drop_response));
		check_dropped(nak(back[i], AETH_NAK, AETH_NAK_INVALID_REQUEST),
			      COUNTER(drop_response));
		check_dropped(nak(back[i], AETH_RNR_NAK, 1), COUNTER(drop_response));
		check_dropped(response(ROCE_OP_READ_RESPONSE_FIRST, back[i], PMTU),
			      COUNTER(drop_response));
		check_dropped(response(ROCE_OP_ATOMIC_ACKNOWLEDGE, back[i], 0),
			      COUNTER(drop_response));
	}
	live_on(as_drop);
}

/* An acknowledgement to somebody who has nothing out. */
static void ack_of_nothing(void **state)
{
	static const size_t nothing[] = {0};

	(void)state;
	born(4);
	feed_both(response(ROCE_OP_ACKNOWLEDGE, 2, 0), nothing);
	feed_both(response(ROCE_OP_READ_RESPONSE_FIRST, 3, PMTU), nothing);
	feed_both(response(ROCE_OP_READ_RESPONSE_LAST, 4, PMTU), nothing);
	feed_both(response(ROCE_OP_ATOMIC_ACKNOWLEDGE, 5, 0), nothing);
	for (int32_t n = -2; n < N_OUT + 2; n++) {
		check_dropped(response(ROCE_OP_ACKNOWLEDGE, n, 0), COUNTER(drop_response));
		check_dropped(nak(n, AETH_NAK, AETH_NAK_SEQUENCE), COUNTER(drop_response));
	}
}

/* Syndromes that are reserved (IBTA 9.7.5.2.1). */
static void syndrome_reserved(void **state)
{
	(void)state;
	born(4);
	for (uint8_t value = 0; value < 32; value++) {
		check_dropped(nak(0, AETH_RESERVED, value), COUNTER(drop_response));
		if (value > AETH_NAK_INVALID_RD)
			check_dropped(nak(0, AETH_NAK, value), COUNTER(drop_response));
	}
	live_on(as_drop);
}

/* The same NAK again and again, with time to react in between: what it tells of goes once more, not
 * a hundred times, and the queue pair lives. */
static void nak_flood(void **state)
{
	struct end *s = &d.end[SUBJECT];
	uint32_t again = 0;

	(void)state;
	born(4);
	for (uint32_t i = 0; i < 1000; i++) {
		feed(SUBJECT, nak(0, AETH_NAK, AETH_NAK_SEQUENCE));
		again += end_pull(s, d.now, wide, END_BATCH);
		assert_int_equal(end_state(s, 0), ENGINE_RTS);
	}
	assert_int_equal(again, 5);
	assert_int_equal(counts(s)->rx_nak, 1);
	assert_int_equal(counts(s)->drop_response, 999);
	feed(SUBJECT, response(ROCE_OP_ACKNOWLEDGE, 2, 0));
	expect_done(1, ENGINE_OK);
	feed(SUBJECT, response(ROCE_OP_READ_RESPONSE_FIRST, 3, PMTU));
	feed(SUBJECT, response(ROCE_OP_READ_RESPONSE_LAST, 4, PMTU));
	expect_done(2, ENGINE_OK);
	feed(SUBJECT, response(ROCE_OP_ATOMIC_ACKNOWLEDGE, 5, 0));
	expect_done(3, ENGINE_OK);
	check_balance(s);
}

/* The peer has no receive, it says a thousand times at once: one wait, then one more try. */
static void rnr_flood(void **state)
{
	struct end *s = &d.end[SUBJECT];

	(void)state;
	born(4);
	for (uint32_t i = 0; i < 1000; i++)
		feed(SUBJECT, nak(0, AETH_RNR_NAK, 1));
	assert_int_equal(counts(s)->rx_rnr, 1);
	assert_int_equal(counts(s)->drop_response, 999);
	assert_int_equal(end_pull(s, d.now + 9999, wide, END_BATCH), 0);
	assert_int_equal(end_pull(s, d.now + 12000, wide, END_BATCH), 5);
	check_balance(s);
}

/* Notifications to a queue pair whose controller heeds none: counted, and nothing else. */
static void cnp_flood(void **state)
{
	static const size_t but[] = {COUNTER(rx_cnp), 0};

	(void)state;
	born(4);
	for (uint32_t i = 0; i < 1000; i++)
		feed(SUBJECT, request(ROCE_OP_CNP, 0));
	assert_int_equal(counts(&d.end[SUBJECT])->rx_cnp, 1000);
	check_same(but);
	live_on(but);
}

/* To one whose controller slows down: never below its least rate, and what is out completes. */
static void cnp_flood_dcqcn(void **state)
{
	struct end *s = &d.end[SUBJECT];
	struct sge sg;

	(void)state;
	d.now = 5000;
	end_defaults(s, OURS, THEIRS);
	s->cfg.cc = (struct cc_cfg){
		.kind = CC_DCQCN, .window_bytes = 65536, .line_rate_bps = UINT64_C(100000000000)};
	s->qp[0].attr.pmtu = PMTU;
	s->qp[0].attr.timeout = 0;
	end_open(s, d.now, 1);
	end_connect(s, d.now, ENGINE_RTS);
	d.sq_psn = s->qp[0].attr.sq_psn;
	for (uint32_t i = 0; i < 100000; i++) {
		d.now += 100;
		feed(SUBJECT, request(ROCE_OP_CNP, 0));
	}
	sg = area_piece(s, SOURCE, 0, 100 * PMTU);
	struct op op = {.qp = OURS, .code = ENGINE_WRITE, .sg = &sg, .n_sg = 1, .cookie = 1};
	uint32_t n = 0, turns = 0;
	nsec first = d.now;

	assert_int_equal(end_post(s, d.now, op), 0);
	while (n < 100) {
		assert_true(++turns < 100000);
		nsec next = rc_ops.deadline(s->e, ALL_FREE);

		assert_true(next != NSEC_NEVER);
		d.now = next > d.now ? next : d.now;
		n += end_pull(s, d.now, wide, END_BATCH);
	}
	/* 100 packets of fewer than 300 bytes at 100 Mb/s, the least rate, and not at line rate. */
	assert_in_range(d.now - first, 100 * 100, 100 * 300 * 80);
	feed(SUBJECT, response(ROCE_OP_ACKNOWLEDGE, 99, 0));
	expect_done(1, ENGINE_OK);
}

/* Refusals: what comes before is done, the work in question fails, what is behind is flushed. */
static void check_refusal(uint8_t value, enum engine_status status)
{
	for (int32_t n = 0; n < N_OUT; n++) {
		/* A response that did not come is behind this: the read, or the atomic, is asked
		 * for again first. */
		bool is_early = n == 5;
		struct end *s = &d.end[SUBJECT];

		born(4);
		feed(SUBJECT, nak(n, AETH_NAK, value));
		assert_int_equal(counts(s)->rx_nak, 1);
		if (n >= 3)
			expect_done(1, ENGINE_OK);
		assert_int_equal(end_state(s, 0), is_early ? ENGINE_RTS : ENGINE_ERROR);
		if (!is_early) {
			expect_done(n < 3 ? 1 : 2, status);
			if (n < 3)
				expect_done(2, ENGINE_FLUSHED);
			expect_done(3, ENGINE_FLUSHED);
		}
		check_balance(s);
	}
}

static void nak_invalid_request(void **state)
{
	(void)state;
	check_refusal(AETH_NAK_INVALID_REQUEST, ENGINE_REMOTE_INVALID);
}

static void nak_remote_access(void **state)
{
	(void)state;
	check_refusal(AETH_NAK_REMOTE_ACCESS, ENGINE_REMOTE_ACCESS);
}

static void nak_remote_operation(void **state)
{
	(void)state;
	check_refusal(AETH_NAK_REMOTE_OPERATION, ENGINE_REMOTE_OPERATION);
}

/* A response where none is due: to a write, or beyond one that did not come, which is asked for
 * again, once (IBTA 9.7.5.1.1). */
static void response_out_of_turn(void **state)
{
	struct end *s = &d.end[SUBJECT];

	(void)state;
	born(4);
	check_dropped(response(ROCE_OP_READ_RESPONSE_FIRST, 0, PMTU), COUNTER(drop_response));
	check_dropped(response(ROCE_OP_ATOMIC_ACKNOWLEDGE, 2, 0), COUNTER(drop_response));
	live_on(as_drop);
	born(4);
	for (uint32_t i = 0; i < 10; i++)
		feed(SUBJECT, response(ROCE_OP_READ_RESPONSE_LAST, 4, PMTU));
	expect_done(1, ENGINE_OK);
	assert_int_equal(counts(s)->implied_naks, 1);
	assert_int_equal(end_pull(s, d.now, wide, END_BATCH), 2);
	assert_int_equal(s->out[0].h.bth.opcode, ROCE_OP_READ_REQUEST);
	assert_int_equal(s->out[0].h.bth.psn, psn_plus(d.sq_psn, 3));
	assert_int_equal(s->out[1].h.bth.opcode, ROCE_OP_FETCH_ADD);
	assert_memory_equal(s->area, d.end[TWIN].area, sizeof s->area);
}

/* An acknowledgement beyond a read without its response does not end the read. */
static void ack_over_read(void **state)
{
	struct end *s = &d.end[SUBJECT];
	struct done done;

	(void)state;
	born(4);
	feed(SUBJECT, response(ROCE_OP_ACKNOWLEDGE, 5, 0));
	expect_done(1, ENGINE_OK);
	assert_false(end_poll(s, &done));
	assert_int_equal(counts(s)->implied_naks, 1);
	assert_int_equal(end_pull(s, d.now, wide, END_BATCH), 2);
	assert_int_equal(s->out[0].h.bth.psn, psn_plus(d.sq_psn, 3));
}

/* The response that is due, but not as it must be (IBTA 9.9.2.3: class A bad response). */
static void response_senseless(void **state)
{
	static const struct {
		uint8_t opcode, type;
		uint32_t payload;
	} bad[] = {
		{ROCE_OP_READ_RESPONSE_FIRST, AETH_ACK, PMTU - 4},
		{ROCE_OP_READ_RESPONSE_FIRST, AETH_ACK, PMTU + 4},
		{ROCE_OP_READ_RESPONSE_FIRST, AETH_ACK, 0},
		{ROCE_OP_READ_RESPONSE_FIRST, AETH_NAK, PMTU},
		{ROCE_OP_READ_RESPONSE_MIDDLE, AETH_ACK, PMTU},
		{ROCE_OP_READ_RESPONSE_LAST, AETH_ACK, PMTU},
		{ROCE_OP_READ_RESPONSE_ONLY, AETH_ACK, PMTU},
		{ROCE_OP_READ_RESPONSE_ONLY, AETH_ACK, 2 * PMTU},
		{ROCE_OP_ATOMIC_ACKNOWLEDGE, AETH_ACK, 0},
	};
	struct end *s = &d.end[SUBJECT];

	(void)state;
	for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct crafted *c;

		born(4);
		c = response(bad[i].opcode, 3, bad[i].payload);
		c->h.aeth.type = bad[i].type;
		craft(c, bad[i].payload);
		feed(SUBJECT, c);
		expect_done(1, ENGINE_OK);
		expect_done(2, ENGINE_BAD_RESPONSE);
		expect_done(3, ENGINE_FLUSHED);
		assert_int_equal(end_state(s, 0), ENGINE_ERROR);
		assert_memory_equal(s->area, d.end[TWIN].area, sizeof s->area);
		check_balance(s);
	}
}

/* The region that a read's response belongs into is gone. */
static void response_without_place(void **state)
{
	struct end *s = &d.end[SUBJECT];

	(void)state;
	born(4);
	assert_int_equal(mem_remove(s->mem, area_key(s, INBOX)), 0);
	feed(SUBJECT, response(ROCE_OP_READ_RESPONSE_FIRST, 3, PMTU));
	expect_done(1, ENGINE_OK);
	expect_done(2, ENGINE_LOCAL_PROTECTION);
	expect_done(3, ENGINE_FLUSHED);
	assert_memory_equal(s->area, d.end[TWIN].area, sizeof s->area);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(ack_of_never_sent),
	cmocka_unit_test(ack_going_back),
	cmocka_unit_test(ack_of_nothing),
	cmocka_unit_test(syndrome_reserved),
	cmocka_unit_test(nak_flood),
	cmocka_unit_test(rnr_flood),
	cmocka_unit_test(cnp_flood),
	cmocka_unit_test(cnp_flood_dcqcn),
	cmocka_unit_test(nak_invalid_request),
	cmocka_unit_test(nak_remote_access),
	cmocka_unit_test(nak_remote_operation),
	cmocka_unit_test(response_out_of_turn),
	cmocka_unit_test(ack_over_read),
	cmocka_unit_test(response_senseless),
	cmocka_unit_test(response_without_place),
};
CHECK_MAIN(cases)
