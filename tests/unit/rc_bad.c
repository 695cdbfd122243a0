/* Bad requests to a responder of RC, one case each, and the reaction to each: dropped without a
 * trace (IBTA 9.6), refused with a NAK (IBTA 9.9.3, table 57), or answered again (IBTA 9.7.5.1). */
#include "rc_twins.h"

static const size_t as_dup[] = {COUNTER(rx_duplicate), COUNTER(tx_ack), COUNTER(tx_response), 0};

static void empty(void **state)
{
	struct crafted *c;

	(void)state;
	born(4);
	c = request(ROCE_OP_SEND_ONLY, 8);
	c->len = 0;
	drop(c, COUNTER(drop_malformed));
}

/* Every packet of RC, cut after each of its bytes where that leaves no packet. */
static void every_truncation(void **state)
{
	static const size_t but[] = {COUNTER(drop_malformed), 0};
	uint32_t n = 0;

	(void)state;
	born(4);
	for (uint32_t opcode = 0; opcode <= ROCE_OP_CNP; opcode++) {
		uint16_t stack;

		if (!roce_opcode_stack((uint8_t)opcode, &stack))
			continue;
		struct crafted *c = request((uint8_t)opcode, stack & ROCE_PAYLOAD ? 7 : 0);
		uint32_t whole = c->len, head = whole - (stack & ROCE_PAYLOAD ? 8 : 0);

		for (c->len = 0; c->len < whole; c->len++)
			if (c->len < head || c->len % 4 != 0) {
				check_dropped(c, COUNTER(drop_malformed));
				n++;
			}
	}
	assert_true(n > 500);
	live_on(but);
}

/* Bytes behind a packet that has no payload. */
static void trailing_bytes(void **state)
{
	static const uint8_t opcodes[] = {ROCE_OP_READ_REQUEST,       ROCE_OP_ACKNOWLEDGE,
					  ROCE_OP_ATOMIC_ACKNOWLEDGE, ROCE_OP_COMPARE_SWAP,
					  ROCE_OP_FETCH_ADD,          ROCE_OP_CNP};
	static const size_t but[] = {COUNTER(drop_malformed), 0};

	(void)state;
	born(4);
	for (uint32_t i = 0; i < sizeof opcodes; i++)
		for (uint32_t more = 1; more <= 8; more++) {
			struct crafted *c = request(opcodes[i], 0);

			memset(c->bytes + c->len, 0, more);
			c->len += more;
			check_dropped(c, COUNTER(drop_malformed));
		}
	live_on(but);
}

/* A packet that is not whole words, and one with more padding than bytes. */
static void wrong_length(void **state)
{
	static const size_t but[] = {COUNTER(drop_malformed), 0};

	(void)state;
	born(4);
	for (uint32_t more = 1; more < 4; more++) {
		struct crafted *c = request(ROCE_OP_SEND_ONLY, 8);

		c->len += more;
		check_dropped(c, COUNTER(drop_malformed));
	}
	for (uint8_t pad = 1; pad < 4; pad++) {
		struct crafted *c = request(ROCE_OP_SEND_ONLY, 0);

		c->bytes[1] = (uint8_t)(pad << 4);
		check_dropped(c, COUNTER(drop_malformed));
	}
	live_on(but);
}

static void wrong_pkey(void **state)
{
	struct crafted *c;

	(void)state;
	born(4);
	c = request(ROCE_OP_SEND_ONLY, 8);
	c->h.bth.pkey = 0x8001;
	craft(c, 8);
	drop(c, COUNTER(drop_pkey));
}

static void wrong_version(void **state)
{
	struct crafted *c;

	(void)state;
	born(4);
	c = request(ROCE_OP_SEND_ONLY, 8);
	c->h.bth.tver = 1;
	craft(c, 8);
	drop(c, COUNTER(drop_malformed));
}

static void qp_zero(void **state)
{
	struct crafted *c;

	(void)state;
	born(4);
	c = request(ROCE_OP_SEND_ONLY, 8);
	c->h.bth.dest_qp = 0;
	craft(c, 8);
	drop(c, COUNTER(drop_qp));
}

static void qp_unknown(void **state)
{
	static const uint32_t numbers[] = {1, OURS - 1, OURS + 1, OURS + 0x10000, RC_NUMBERS - 1};
	static const size_t but[] = {COUNTER(drop_qp), 0};

	(void)state;
	born(4);
	for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		struct crafted *c = request(ROCE_OP_SEND_ONLY, 8);

		c->h.bth.dest_qp = numbers[i];
		craft(c, 8);
		check_dropped(c, COUNTER(drop_qp));
	}
	live_on(but);
}

/* Whatever the state says it cannot take, every opcode, leaves a queue pair as it was. */
static void check_state(uint8_t to)
{
	struct crafted *c;

	born(4);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(end_set(&d.end[i], d.now, 0, ENGINE_RESET, 0), 0);
		end_rise(&d.end[i], d.now, 0, to);
	}
	for (uint32_t opcode = 0; opcode <= ROCE_OP_SEND_ONLY_INV; opcode++) {
		if (!roce_opcode_name((uint8_t)opcode) ||
		    (to == ENGINE_RTR && !is_answer((uint8_t)opcode)))
			continue;
		check_dropped(request((uint8_t)opcode, 0), COUNTER(drop_state));
	}
	c = request(ROCE_OP_CNP, 0);
	check_dropped(c, COUNTER(drop_state));
}

static void qp_in_reset(void **state)
{
	(void)state;
	check_state(ENGINE_RESET);
}

static void qp_in_init(void **state)
{
	(void)state;
	check_state(ENGINE_INIT);
}

/* In ENGINE_RTR only requests are taken. */
static void response_in_rtr(void **state)
{
	(void)state;
	check_state(ENGINE_RTR);
}

static void qp_just_destroyed(void **state)
{
	(void)state;
	born(4);
	for (uint32_t i = 0; i < 2; i++)
		assert_non_null(rc_qp_free(d.end[i].e, OURS));
	end_spoil_qp(&d.end[SUBJECT], 0);
	feed(SUBJECT, request(ROCE_OP_SEND_ONLY, 8));
	feed(SUBJECT, response(ROCE_OP_ACKNOWLEDGE, 0, 0));
	assert_int_equal(counts(&d.end[SUBJECT])->drop_qp, 2);
	pull_both();
	check_same_packets();
	check_same_completions();
	assert_int_equal(rc_ops.deadline(d.end[SUBJECT].e, ALL_FREE), NSEC_NEVER);
	check_balance(&d.end[SUBJECT]);
}

/* From somebody else's address, or to another of ours. */
static void stranger(void **state)
{
	static const size_t but[] = {COUNTER(drop_stranger), 0};
	struct crafted *c;

	(void)state;
	born(4);
	c = request(ROCE_OP_SEND_ONLY, 8);
	c->rx.peer++;
	check_dropped(c, COUNTER(drop_stranger));
	c = response(ROCE_OP_ACKNOWLEDGE, 0, 0);
	c->rx.peer++;
	check_dropped(c, COUNTER(drop_stranger));
	c = request(ROCE_OP_WRITE_ONLY, 8);
	c->rx.local++;
	check_dropped(c, COUNTER(drop_stranger));
	c = request(ROCE_OP_CNP, 0);
	c->rx.peer++;
	check_dropped(c, COUNTER(drop_stranger));
	/* Whatever the kind: requests, responses, notices. */
	for (uint32_t opcode = 0; opcode <= ROCE_OP_CNP; opcode++)
		for (uint32_t i = 0; i < 2; i++) {
			uint16_t stack;

			if (!roce_opcode_stack((uint8_t)opcode, &stack))
				continue;
			c = request((uint8_t)opcode, stack & ROCE_PAYLOAD ? 8 : 0);
			*(i ? &c->rx.local : &c->rx.peer) += 1;
			check_dropped(c, COUNTER(drop_stranger));
		}
	live_on(but);
}

static void trimmed(void **state)
{
	struct crafted *c;

	(void)state;
	born(4);
	c = request(ROCE_OP_SEND_ONLY, 8);
	c->rx.trimmed = 1;
	drop(c, COUNTER(drop_trimmed));
}

/* Opcodes of other services are not ours to answer. */
static void opcode_of_other_service(void **state)
{
	static const size_t but[] = {COUNTER(drop_opcode), 0};

	(void)state;
	born(4);
	for (uint32_t opcode = 0x20; opcode < 256; opcode++) {
		struct crafted *c = request(ROCE_OP_SEND_ONLY, 8);

		c->bytes[0] = (uint8_t)opcode;
		if (opcode != ROCE_OP_CNP)
			check_dropped(c, COUNTER(drop_opcode));
	}
	live_on(but);
}

/* Those of RC that mean nothing are invalid requests (IBTA table 57), if it is their turn. */
static void opcode_reserved(void **state)
{
	static const uint8_t opcodes[] = {0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f};

	(void)state;
	for (uint32_t i = 0; i < sizeof opcodes; i++) {
		struct crafted *c;

		born(4);
		c = request(ROCE_OP_SEND_ONLY, 8);
		c->bytes[0] = opcodes[i];
		refuse(c, AETH_NAK_INVALID_REQUEST);
	}
}

/* A gap is told of once, whatever comes behind it; then all goes on as if it had not been. */
static void psn_ahead(void **state)
{
	static const size_t but[] = {COUNTER(rx_nak_sent), COUNTER(tx_nak), COUNTER(drop_ahead), 0};
	struct end *s = &d.end[SUBJECT];

	(void)state;
	born(4);
	for (uint32_t i = 1; i <= 50; i++) {
		struct crafted *c = request(ROCE_OP_WRITE_ONLY, 8);

		c->h.bth.psn = psn_plus(d.rq_psn, (int32_t)(i * 1000));
		craft(c, 8);
		feed(SUBJECT, c);
		if (i == 1)
			expect_aeth(AETH_NAK, AETH_NAK_SEQUENCE, d.rq_psn);
		check_same(but);
	}
	assert_int_equal(counts(s)->rx_nak_sent, 1);
	assert_int_equal(counts(s)->tx_nak, 1);
	assert_int_equal(counts(s)->drop_ahead, 49);
	live_on(but);
}

/* A new gap after the old one was filled is told of again. */
static void psn_ahead_again(void **state)
{
	(void)state;
	born(4);
	for (uint32_t i = 0; i < 3; i++) {
		struct crafted *c = request(ROCE_OP_WRITE_ONLY, 8);

		c->h.bth.psn = psn_plus(d.rq_psn, 1);
		craft(c, 8);
		feed(SUBJECT, c);
		expect_aeth(AETH_NAK, AETH_NAK_SEQUENCE, d.rq_psn);
		feed(SUBJECT, request(ROCE_OP_WRITE_ONLY, 8));
		d.msn++;
		expect_aeth(AETH_ACK, 4, d.rq_psn);
		d.rq_psn = psn_plus(d.rq_psn, 1);
	}
	assert_int_equal(counts(&d.end[SUBJECT])->rx_nak_sent, 3);
}

/* A write that came before is acknowledged again, up to what came last, and not executed again: its
 * bytes may be other ones by now, and its key gone. */
static void psn_behind_write(void **state)
{
	struct crafted *c;

	(void)state;
	born(4);
	accepted(request(ROCE_OP_WRITE_ONLY, 8));
	accepted(request(ROCE_OP_WRITE_ONLY, 8));
	d.msn = 2;
	c = request(ROCE_OP_WRITE_ONLY, 8);
	c->h.bth.psn = psn_plus(d.rq_psn, -2);
	c->h.reth.rkey = 0xdead;
	craft(c, 8);
	memset(c->bytes + c->len - 8, 0xaa, 8);
	feed(SUBJECT, c);
	assert_int_equal(counts(&d.end[SUBJECT])->rx_duplicate, 1);
	expect_aeth(AETH_ACK, 4, psn_plus(d.rq_psn, -1));
	check_same(as_dup);
	live_on(as_dup);
}

/* The same for a send: it takes no receive. */
static void psn_behind_send(void **state)
{
	struct crafted *c;

	(void)state;
	born(4);
	accepted(request(ROCE_OP_SEND_ONLY, 8));
	d.msn = 1;
	c = request(ROCE_OP_SEND_ONLY, 8);
	c->h.bth.psn = psn_plus(d.rq_psn, -1);
	craft(c, 8);
	feed(SUBJECT, c);
	expect_aeth(AETH_ACK, 3, psn_plus(d.rq_psn, -1));
	check_same(as_dup);
	live_on(as_dup);
}

static struct crafted *read_of(uint32_t skip, uint32_t len)
{
	struct crafted *c = request(ROCE_OP_READ_REQUEST, 0);

	c->h.reth.va += skip;
	c->h.reth.dmalen = len;
	craft(c, 0);
	return c;
}

/* A read is executed again, whole or from any of its packets on. */
static void psn_behind_read(void **state)
{
	struct end *s = &d.end[SUBJECT];

	(void)state;
	born(4);
	accepted(read_of(0, 4 * PMTU - 9));
	d.rq_psn = psn_plus(d.rq_psn, 3);
	for (uint32_t from = 0; from < 4; from++) {
		struct crafted *c = read_of(from * PMTU, (4 - from) * PMTU - 9);

		c->h.bth.psn = psn_plus(d.rq_psn, (int32_t)from - 4);
		craft(c, 0);
		feed(SUBJECT, c);
		assert_int_equal(counts(s)->rx_duplicate, from + 1);
		assert_int_equal(end_pull(s, d.now, wide, END_BATCH), 4 - from);
		for (uint32_t i = 0; i < 4 - from; i++) {
			const struct roce_pkt *h = &s->out[i].h;

			assert_int_equal(h->bth.psn, psn_plus(c->h.bth.psn, (int32_t)i));
			assert_memory_equal(h->payload.at, area_at(s, TARGET, (from + i) * PMTU),
					    h->payload.len);
		}
		check_same(as_dup);
	}
	live_on(as_dup);
}

/* An atomic is answered with what it found the first time, and not executed again. */
static void psn_behind_atomic(void **state)
{
	struct end *s = &d.end[SUBJECT];
	uint64_t found;

	(void)state;
	born(4);
	memcpy(&found, area_at(s, TARGET, 8), 8);
	accepted(request(ROCE_OP_FETCH_ADD, 0));
	accepted(request(ROCE_OP_FETCH_ADD, 0));
	for (uint32_t i = 0; i < 2; i++) {
		struct crafted *c = request(ROCE_OP_FETCH_ADD, 0);
		const struct roce_pkt *h;

		c->h.bth.psn = psn_plus(d.rq_psn, (int32_t)i - 2);
		craft(c, 0);
		feed(SUBJECT, c);
		h = only_answer();
		assert_int_equal(h->bth.opcode, ROCE_OP_ATOMIC_ACKNOWLEDGE);
		assert_int_equal(h->bth.psn, c->h.bth.psn);
		assert_int_equal(h->atomic_ack.original, found + 5 * i);
		assert_int_equal(h->aeth.msn, i + 1);
		check_same(as_dup);
	}
	live_on(as_dup);
}

/* A duplicate of what is not answered yet: the answer that waits is the answer to both. */
static void psn_behind_unanswered(void **state)
{
	static const size_t but[] = {COUNTER(drop_repeat), COUNTER(rx_duplicate),
				     COUNTER(tx_response), 0};
	struct end *s = &d.end[SUBJECT];
	struct crafted *c;

	(void)state;
	born(4);
	for (uint32_t i = 0; i < 2; i++) {
		c = i ? request(ROCE_OP_FETCH_ADD, 0) : read_of(0, 4 * PMTU);
		feed(TWIN, c);
		for (uint32_t k = 0; k < 5; k++)
			feed(SUBJECT, c);
		assert_int_equal(counts(s)->drop_repeat, 4 * (i + 1));
		check_same(but);
		d.rq_psn = psn_plus(d.rq_psn, i ? 1 : 4);
	}
	/* Half of the answer has gone: it begins anew, and the rest of the first one is not sent.
	 */
	c = read_of(0, 4 * PMTU);
	feed_both(c, but);
	feed(SUBJECT, c);
	assert_int_equal(end_pull(s, d.now, wide, 2), 2);
	feed(SUBJECT, c);
	assert_int_equal(end_pull(s, d.now, wide, END_BATCH), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(s->out[i].h.bth.psn, psn_plus(d.rq_psn, (int32_t)i));
	d.rq_psn = psn_plus(d.rq_psn, 4);
	check_same(but);
	live_on(but);
}

/* An atomic or read from so long ago that nobody remembers it, or that was none: no answer. */
static void psn_behind_forgotten(void **state)
{
	static const size_t but[] = {COUNTER(drop_repeat), 0};
	struct crafted *c;

	(void)state;
	born(4);
	accepted(request(ROCE_OP_WRITE_ONLY, 8));
	for (uint32_t i = 0; i < RC_RD_ATOMIC_MAX + 1; i++)
		accepted(request(ROCE_OP_FETCH_ADD, 0));
	for (int32_t back = RC_RD_ATOMIC_MAX + 1; back < (int32_t)RC_RD_ATOMIC_MAX + 5; back++) {
		c = request(ROCE_OP_FETCH_ADD, 0);
		c->h.bth.psn = psn_plus(d.rq_psn, -back);
		craft(c, 0);
		check_dropped(c, COUNTER(drop_repeat));
		c = read_of(0, 8);
		c->h.bth.psn = psn_plus(d.rq_psn, -back);
		craft(c, 0);
		check_dropped(c, COUNTER(drop_repeat));
	}
	live_on(but);
}

static void middle_without_first(void **state)
{
	static const uint8_t opcodes[] = {ROCE_OP_SEND_MIDDLE,   ROCE_OP_SEND_LAST,
					  ROCE_OP_SEND_LAST_IMM, ROCE_OP_SEND_LAST_INV,
					  ROCE_OP_WRITE_MIDDLE,  ROCE_OP_WRITE_LAST,
					  ROCE_OP_WRITE_LAST_IMM};

	(void)state;
	for (uint32_t i = 0; i < sizeof opcodes; i++) {
		born(4);
		refuse(request(opcodes[i], PMTU), AETH_NAK_INVALID_REQUEST);
	}
}

/* After the first packet of a message only its own middle or last may come. */
static void first_after_first(void **state)
{
	static const uint8_t of_send[] = {
		ROCE_OP_SEND_FIRST, ROCE_OP_SEND_ONLY,    ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE,
		ROCE_OP_WRITE_LAST, ROCE_OP_READ_REQUEST, ROCE_OP_FETCH_ADD};
	static const uint8_t of_write[] = {
		ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_ONLY,   ROCE_OP_SEND_FIRST,  ROCE_OP_SEND_MIDDLE,
		ROCE_OP_SEND_LAST,   ROCE_OP_READ_REQUEST, ROCE_OP_COMPARE_SWAP};

	(void)state;
	for (uint32_t i = 0; i < 2 * sizeof of_send; i++) {
		bool is_send = i < sizeof of_send;
		uint8_t opcode = is_send ? of_send[i] : of_write[i - sizeof of_send];
		struct crafted *c;
		uint16_t stack;

		born(4);
		c = request(is_send ? ROCE_OP_SEND_FIRST : ROCE_OP_WRITE_FIRST, PMTU);
		c->h.reth.dmalen = 3 * PMTU;
		craft(c, PMTU);
		accepted(c);
		assert_true(roce_opcode_stack(opcode, &stack));
		c = request(opcode, stack & ROCE_PAYLOAD ? PMTU : 0);
		c->h.reth.dmalen = 2 * PMTU;
		craft(c, stack & ROCE_PAYLOAD ? PMTU : 0);
		refuse(c, AETH_NAK_INVALID_REQUEST);
	}
}

static void only_larger_than_pmtu(void **state)
{
	static const uint8_t opcodes[] = {ROCE_OP_SEND_ONLY, ROCE_OP_SEND_ONLY_IMM,
					  ROCE_OP_WRITE_ONLY, ROCE_OP_WRITE_ONLY_IMM};

	(void)state;
	for (uint32_t i = 0; i < sizeof opcodes; i++)
		for (uint32_t more = 1; more <= PMTU; more += PMTU / 4) {
			born(4);
			refuse(request(opcodes[i], PMTU + more), AETH_NAK_INVALID_REQUEST);
		}
}

/* Where more is to come a packet is exactly as long as the PMTU; the last has a byte at least. */
static void middle_not_pmtu(void **state)
{
	static const uint32_t lengths[] = {0, 1, PMTU - 1, PMTU + 1, 2 * PMTU};

	(void)state;
	for (uint32_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		struct crafted *c;

		born(4);
		refuse(request(ROCE_OP_SEND_FIRST, lengths[i]), AETH_NAK_INVALID_REQUEST);
		born(4);
		c = request(ROCE_OP_WRITE_FIRST, lengths[i]);
		c->h.reth.dmalen = 8 * PMTU;
		craft(c, lengths[i]);
		refuse(c, AETH_NAK_INVALID_REQUEST);
		born(4);
		accepted(request(ROCE_OP_SEND_FIRST, PMTU));
		refuse(request(ROCE_OP_SEND_MIDDLE, lengths[i]), AETH_NAK_INVALID_REQUEST);
	}
	born(4);
	accepted(request(ROCE_OP_SEND_FIRST, PMTU));
	refuse(request(ROCE_OP_SEND_LAST, 0), AETH_NAK_INVALID_REQUEST);
}

/* Padding makes a middle packet shorter than the PMTU. */
static void pad_mismatch(void **state)
{
	(void)state;
	for (uint8_t pad = 1; pad < 4; pad++) {
		struct crafted *c;

		born(4);
		c = request(ROCE_OP_SEND_FIRST, PMTU);
		c->bytes[1] = (uint8_t)(pad << 4);
		refuse(c, AETH_NAK_INVALID_REQUEST);
		born(4);
		c = request(ROCE_OP_WRITE_ONLY, 8);
		c->bytes[1] = (uint8_t)(pad << 4);
		refuse(c, AETH_NAK_INVALID_REQUEST);
	}
}

/* A write whose bytes are not as many as it said. */
static void write_length_mismatch(void **state)
{
	static const uint32_t said[] = {0, 99, 101, 1000};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct crafted *c;

		born(4);
		c = request(ROCE_OP_WRITE_ONLY, 100);
		c->h.reth.dmalen = said[i];
		craft(c, 100);
		refuse(c, AETH_NAK_INVALID_REQUEST);
	}
	for (uint32_t i = 0; i < 3; i++) {
		static const uint8_t next[] = {ROCE_OP_WRITE_LAST, ROCE_OP_WRITE_LAST,
					       ROCE_OP_WRITE_MIDDLE};
		static const uint32_t len[] = {9, 11, PMTU};
		struct crafted *c;

		born(4);
		c = request(ROCE_OP_WRITE_FIRST, PMTU);
		c->h.reth.dmalen = PMTU + 10;
		craft(c, PMTU);
		accepted(c);
		refuse(request(next[i], len[i]), AETH_NAK_INVALID_REQUEST);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(empty),
	cmocka_unit_test(every_truncation),
	cmocka_unit_test(trailing_bytes),
	cmocka_unit_test(wrong_length),
	cmocka_unit_test(wrong_pkey),
	cmocka_unit_test(wrong_version),
	cmocka_unit_test(qp_zero),
	cmocka_unit_test(qp_unknown),
	cmocka_unit_test(qp_in_reset),
	cmocka_unit_test(qp_in_init),
	cmocka_unit_test(response_in_rtr),
	cmocka_unit_test(qp_just_destroyed),
	cmocka_unit_test(stranger),
	cmocka_unit_test(trimmed),
	cmocka_unit_test(opcode_of_other_service),
	cmocka_unit_test(opcode_reserved),
	cmocka_unit_test(psn_ahead),
	cmocka_unit_test(psn_ahead_again),
	cmocka_unit_test(psn_behind_write),
	cmocka_unit_test(psn_behind_send),
	cmocka_unit_test(psn_behind_read),
	cmocka_unit_test(psn_behind_atomic),
	cmocka_unit_test(psn_behind_unanswered),
	cmocka_unit_test(psn_behind_forgotten),
	cmocka_unit_test(middle_without_first),
	cmocka_unit_test(first_after_first),
	cmocka_unit_test(only_larger_than_pmtu),
	cmocka_unit_test(middle_not_pmtu),
	cmocka_unit_test(pad_mismatch),
	cmocka_unit_test(write_length_mismatch),
};
CHECK_MAIN(cases)
