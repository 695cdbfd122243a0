/* Bad SACKs, NACKs and Transport ACKs to a requestor of MRC, one case each: they speak of packets
 * that were never sent, or settled long ago, or ask for what arrived. */
#include "mrc_twins.h"

#define FLOOD 5000u

/* Ends that do not read timestamps: a round trip measured once more is no harm, but can be seen. */
static void born_with(uint8_t flags)
{
	defaults();
	for (uint32_t i = 0; i < 2; i++)
		d.end[i].qp[0].attr.flags = flags;
	rear();
}

/* Far from what is out. */
static const int64_t beyond[] = {NEXT, NEXT + 1, NEXT + 1000, NEXT + 32767, 1 << 22};

static void ack_for_what_was_never_sent(void **state)
{
	static const size_t but[] = {COUNTER(drop_stale), 0};

	(void)state;
	born();
	for (uint32_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++)
		check_dropped(ack(beyond[i]), COUNTER(drop_stale));
	live_on(but);
}

/* What it says was said before: known, or of before the first packet. */
static void ack_going_back(void **state)
{
	static const size_t but[] = {COUNTER(rx_ack), COUNTER(drop_stale), COUNTER(rx_sack), 0};
	uint64_t acks;

	(void)state;
	born_with(MRC_NO_TIMESTAMPS);
	acks = counts(&d.end[SUBJECT])->rx_ack;
	for (int64_t n = -1; n < UNA; n++) {
		keep_past();
		feed(SUBJECT, ack(n));
		check_past(COUNTER(rx_ack));
		check_same(but);
	}
	assert_int_equal(counts(&d.end[SUBJECT])->rx_ack, acks + 4);
	for (int64_t n = -2; n > -100000; n = n * 2 - 1) {
		keep_past();
		feed(SUBJECT, ack(n));
		check_past(COUNTER(drop_stale));
		check_same(but);
	}
	/* SACKs of before, with what they knew then. */
	for (int64_t to = 0; to <= UNA; to++) {
		feed(SUBJECT, sack(to, 1));
		check_same(but);
	}
	feed(SUBJECT, sack(UNA, 0x5));
	check_same(but);
	live_on(but);
}

/* cack_psn, a bit of the map, or ack_psn at or beyond what was sent. */
static void sack_beyond_the_window(void **state)
{
	static const size_t but[] = {COUNTER(drop_stale), 0};
	struct crafted *c;

	(void)state;
	born();
	for (uint32_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
		check_dropped(sack(beyond[i] + 1, 1), COUNTER(drop_stale));
		c = sack(beyond[i] + 1, 0);
		c->h.seth.ack_psn_offset = (uint16_t)(NEXT - 1 - beyond[i]);
		craft(c, 0);
		check_dropped(c, COUNTER(drop_stale));
		if (beyond[i] > NEXT + 32000)
			continue;
		c = sack(UNA, 1);
		c->h.seth.ack_psn_offset = (uint16_t)(beyond[i] - (UNA - 1));
		craft(c, 0);
		check_dropped(c, COUNTER(drop_stale));
		c = sack(UNA, 1);
		c->h.seth.sack_offset = (uint16_t)(beyond[i] - (UNA - 1));
		craft(c, 0);
		check_dropped(c, COUNTER(drop_stale));
	}
	for (uint32_t bit = NEXT - UNA + 1; bit < 64; bit++)
		check_dropped(sack(UNA, UINT64_C(1) << bit | 1), COUNTER(drop_stale));
	live_on(but);
}

/* Everything it could say has arrived, also what was never sent. */
static void sack_all_ones(void **state)
{
	static const size_t but[] = {COUNTER(drop_stale), 0};

	(void)state;
	born();
	for (uint32_t offset = 0; offset < 0x8000; offset += 31) {
		struct crafted *c = sack(UNA, UINT64_MAX);

		c->h.seth.sack_offset = (uint16_t)offset;
		craft(c, 0);
		check_dropped(c, COUNTER(drop_stale));
	}
	live_on(but);
}

/* The ends of both offsets: before the first packet there is nothing to speak of, and nothing is
 * done; ahead they are dropped. */
static void offset_overflow(void **state)
{
	static const uint16_t offsets[] = {0x7fff, 0x8000, 0x8001, 0x7ffe};
	static const size_t but[] = {COUNTER(drop_stale), COUNTER(rx_sack), 0};

	(void)state;
	born_with(MRC_NO_TIMESTAMPS);
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t k = 0; k < 2; k++) {
			struct crafted *c = sack(UNA, 1);
			uint64_t sacks = counts(&d.end[SUBJECT])->rx_sack;

			if (k)
				c->h.seth.ack_psn_offset = offsets[i];
			else
				c->h.seth.sack_offset = offsets[i];
			craft(c, 0);
			feed(SUBJECT, c);
			assert_int_equal(counts(&d.end[SUBJECT])->rx_sack,
					 sacks + (offsets[i] >= 0x8000));
			check_same(but);
		}
	/* With the PSN of one end and the offset of the other, round the whole circle. */
	for (int64_t to = -40000; to < 40000; to += 997) {
		struct crafted *c = sack(to, 1);

		c->h.seth.sack_offset = (uint16_t)(UNA - to);
		c->h.seth.ack_psn_offset = (uint16_t)(UNA - to);
		c->h.seth.sack_bitmap = UINT64_C(1) << 63;
		craft(c, 0);
		feed(SUBJECT, c);
		check_same(but);
	}
	live_on(but);
}

/* A SACK that knows nothing new, over and over. */
static void sack_flood(void **state)
{
	static const size_t but[] = {COUNTER(rx_sack), 0};

	(void)state;
	born_with(MRC_NO_TIMESTAMPS);
	for (uint32_t i = 0; i < FLOOD; i++)
		feed(SUBJECT, sack(UNA, 0x5));
	check_same(but);
	live_on(but);
}

/* Packet 4 has arrived, and those before UNA have; the others were never sent. */
static void nack_for_the_acknowledged(void **state)
{
	static const uint8_t reasons[] = {MRC_NACK_TRIMMED, MRC_NACK_TRIMMED_LASTHOP,
					  MRC_NACK_NO_BITMAP, MRC_NACK_NO_RESOURCE,
					  MRC_NACK_PSN_OOR_WINDOW};
	static const size_t but[] = {COUNTER(rx_nack), COUNTER(drop_stale), 0};

	(void)state;
	/* Of its EV a trim may tell all the same: see mrc_evs. */
	born_with(MRC_OBLIVIOUS);
	for (uint32_t i = 0; i < sizeof reasons; i++) {
		keep_past();
		feed(SUBJECT, nack(4, reasons[i]));
		check_past(COUNTER(rx_nack));
		check_same(but);
		for (int64_t n = -1; n < UNA; n++) {
			keep_past();
			feed(SUBJECT, nack(n, reasons[i]));
			check_past(n < 0 ? COUNTER(drop_stale) : COUNTER(rx_nack));
			check_same(but);
		}
		for (uint32_t k = 0; k < sizeof beyond / sizeof beyond[0]; k++) {
			keep_past();
			feed(SUBJECT, nack(beyond[k], reasons[i]));
			check_past(COUNTER(drop_stale));
			check_same(but);
		}
	}
	assert_int_equal(counts(&d.end[SUBJECT])->rx_nack, (1 + UNA) * sizeof reasons);
	live_on(but);
}

/* For a reason that Table 7-17 reserves: it asks for nothing, and costs no packet a try. */
static void nack_for_a_reserved_reason(void **state)
{
	static const size_t but[] = {COUNTER(drop_malformed), 0};
	uint32_t n = 0;

	(void)state;
	born();
	for (uint32_t reason = 0; reason < 256; reason++)
		if (!mrc_nack_name((uint8_t)reason)) {
			check_dropped(nack(UNA, (uint8_t)reason), COUNTER(drop_malformed));
			n++;
		}
	assert_int_equal(n, 256 - 7);
	live_on(but);
}

/* However often it is asked for, a packet is retransmitted once. Trimmed, it costs no try if others
 * came since it was sent. */
static void nack_flood(void **state)
{
	struct end *s = &d.end[SUBJECT];
	struct done done;

	(void)state;
	born();
	for (uint32_t i = 0; i < FLOOD; i++)
		feed(SUBJECT, nack(UNA, MRC_NACK_TRIMMED));
	assert_int_equal(counts(s)->rx_nack, FLOOD);
	assert_int_equal(counts(s)->lost_nack, 1);
	answers(1);
	assert_int_equal(answer(0)->bth.opcode, MRC_OP_WRITE_FIRST);
	assert_int_equal(answer(0)->bth.psn, sq_psn(UNA));
	assert_int_equal(answer(0)->bth.rtx, 1);
	/* Asked for again each time it was sent: its tries are counted, and then it is enough. */
	for (uint32_t i = 0; i < 3 + 4; i++) {
		feed(SUBJECT, nack(UNA, MRC_NACK_NO_BITMAP));
		answers(1);
		assert_int_equal(end_state(s, 0), MRC_RTS);
	}
	feed(SUBJECT, nack(UNA, MRC_NACK_NO_BITMAP));
	assert_true(end_poll(s, &done));
	assert_int_equal(done.cookie, 2);
	assert_int_equal(done.status, ENGINE_RETRY_EXCEEDED);
	expect_flushed(1, RECEIVES);
	expect_ended();
}

/* A packet that is trimmed each time, and nothing else comes: one try for the time of each timeout,
 * and then it is enough. */
static void trimmed_without_end(void **state)
{
	struct end *s = &d.end[SUBJECT];
	struct done done;

	(void)state;
	born();
	/* The time of the first try begins with the last news. */
	feed(SUBJECT, nack(UNA, MRC_NACK_TRIMMED));
	answers(1);
	for (uint32_t i = 0; i <= 3 + 4; i++) {
		for (uint32_t k = 0; k < 100; k++) {
			feed(SUBJECT, nack(UNA, MRC_NACK_TRIMMED));
			answers(1);
		}
		assert_int_equal(end_state(s, 0), MRC_RTS);
		d.now += mrc_timeout_ns(&s->qp[0].attr, i);
	}
	feed(SUBJECT, nack(UNA, MRC_NACK_TRIMMED));
	assert_true(end_poll(s, &done));
	assert_int_equal(done.status, ENGINE_RETRY_EXCEEDED);
	expect_flushed(1, RECEIVES);
	expect_ended();
}

/* An AETH that is neither ACK nor a NAK of MRC: RNR NAK, sequence error, and the rest. */
static void nak_of_no_kind(void **state)
{
	static const size_t but[] = {COUNTER(drop_malformed), 0};

	(void)state;
	born();
	for (uint32_t syndrome = 0x20; syndrome < 0x80; syndrome++) {
		struct crafted *c = ack(UNA);

		c->h.aeth.type = (uint8_t)(syndrome >> 5);
		c->h.aeth.value = syndrome & 0x1f;
		craft(c, 0);
		if (syndrome < 0x61 || syndrome > 0x63)
			check_dropped(c, COUNTER(drop_malformed));
	}
	live_on(but);
}

static void nak_for_what_was_never_sent(void **state)
{
	static const size_t but[] = {COUNTER(drop_stale), 0};

	(void)state;
	born();
	for (uint32_t why = AETH_NAK_INVALID_REQUEST; why <= AETH_NAK_REMOTE_OPERATION; why++)
		for (uint32_t i = 0; i < 1 + sizeof beyond / sizeof beyond[0]; i++) {
			struct crafted *c = ack(i < 1 ? -2 : beyond[i - 1]);

			c->h.aeth.type = AETH_NAK;
			c->h.aeth.value = why & 0x1f;
			craft(c, 0);
			check_dropped(c, COUNTER(drop_stale));
		}
	live_on(but);
}

/* The answer to a probe that nobody sent, or that is another's. */
static void unsolicited_probe_answer(void **state)
{
	static const size_t but[] = {COUNTER(drop_unasked), 0};
	uint16_t id = 0;
	bool is_probing = false;

	(void)state;
	born();
	for (uint32_t i = 0; i < 65536; i += 257) {
		struct crafted *c = sack(UNA, 1);

		c->h.seth.pr = 1;
		c->h.seth.ack_psn_offset = (uint16_t)i;
		craft(c, 0);
		check_dropped(c, COUNTER(drop_unasked));
	}
	/* Both ends probe in silence: any other number is still nobody's. */
	for (uint32_t i = 0; i < 1000 && !is_probing; i++) {
		d.now += 1000;
		check_same(but);
		for (uint32_t k = 0; k < d.end[SUBJECT].n_out; k++)
			if (answer(k)->bth.opcode == MRC_OP_PROBE_REQUEST) {
				id = (uint16_t)answer(k)->peth.probe_id;
				is_probing = true;
			}
	}
	assert_true(is_probing);
	for (uint32_t i = 1; i < 65536; i += 257) {
		struct crafted *c = sack(UNA, 1);

		c->h.seth.pr = 1;
		c->h.seth.ack_psn_offset = (uint16_t)(id + i);
		craft(c, 0);
		check_dropped(c, COUNTER(drop_unasked));
	}
	live_on(but);
}

/* An EV that none of our packets took, or a mark that means nothing: what the SACK and the NACK say
 * of packets counts all the same. */
static void entropy_nobody_sent(void **state)
{
	static const uint32_t evs[] = {0, 1, 0xffff, 0x80000000, UINT32_MAX};
	static const size_t nothing[] = {0};

	(void)state;
	for (uint32_t i = 0; i < sizeof evs / sizeof evs[0]; i++) {
		struct crafted *c;

		/* With timestamps, one of an EV of its own is timed by its own (M-51). */
		born_with(MRC_NO_TIMESTAMPS);
		c = sack(UNA + 1, 0x1);
		feed(TWIN, c);
		c->h.seth.entropy = evs[i];
		c->h.seth.m = MRC_MARK_RESERVED;
		craft(c, 0);
		feed(SUBJECT, c);
		check_same(nothing);
		c = nack(UNA + 2, MRC_NACK_TRIMMED);
		feed(TWIN, c);
		c->h.neth.entropy = evs[i];
		craft(c, 0);
		feed(SUBJECT, c);
		check_same(nothing);
		live_on(nothing);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(ack_for_what_was_never_sent),
	cmocka_unit_test(ack_going_back),
	cmocka_unit_test(sack_beyond_the_window),
	cmocka_unit_test(sack_all_ones),
	cmocka_unit_test(offset_overflow),
	cmocka_unit_test(sack_flood),
	cmocka_unit_test(nack_for_the_acknowledged),
	cmocka_unit_test(nack_for_a_reserved_reason),
	cmocka_unit_test(nack_flood),
	cmocka_unit_test(trimmed_without_end),
	cmocka_unit_test(nak_of_no_kind),
	cmocka_unit_test(nak_for_what_was_never_sent),
	cmocka_unit_test(unsolicited_probe_answer),
	cmocka_unit_test(entropy_nobody_sent),
};
CHECK_MAIN(cases)
