/* Requests to a responder of MRC that are well formed and still not to be executed, one case each,
 * and floods of them: dropped, refused, or answered without being executed (6.3, 7.5.3). */
#include "mrc_twins.h"

#define OTHER_KEY 0x9999u
#define FLOOD     5000u

static const size_t as_dup[] = {COUNTER(rx_duplicate), COUNTER(tx_sack), COUNTER(tx_ack), 0};
static const size_t as_trim[] = {COUNTER(rx_trimmed), COUNTER(tx_nack), COUNTER(tx_sack),
				 COUNTER(drop_busy), 0};

/* The packet would do harm if it were executed. */
static struct crafted *harmful(int64_t n)
{
	struct crafted *c = data(n);

	c->h.reth.va += 4000;
	craft(c, 8);
	memset(c->bytes + c->len - 8, 0xaa, 8);
	return c;
}

/* What came before is acknowledged both ways, and not executed again (6.3.1 rule 5). */
static void duplicate(void **state)
{
	static const int64_t again[] = {0, 1, 3};

	(void)state;
	born();
	for (uint32_t i = 0; i < 3; i++) {
		feed(SUBJECT, harmful(again[i]));
		answers(2);
		expect_sack(0, again[i]);
		expect_ack(1, EXPECTED, 2);
		check_same(as_dup);
	}
	assert_int_equal(counts(&d.end[SUBJECT])->rx_duplicate, 3);
	live_on(as_dup);
}

/* Of immediate data too: kept once, one receive. */
static void duplicate_of_immediate(void **state)
{
	(void)state;
	born();
	for (uint32_t i = 0; i < 5; i++) {
		feed(SUBJECT, packet(MRC_OP_WRITE_ONLY_IMM, 5, 8));
		answers(2);
		expect_sack(0, 5);
		check_same(as_dup);
	}
	live_on(as_dup);
}

/* As many answers as there is room for. */
static void duplicate_flood(void **state)
{
	uint32_t n = 0;

	(void)state;
	born();
	for (uint32_t i = 0; i < FLOOD; i++)
		feed(SUBJECT, harmful(i % 2));
	assert_int_equal(counts(&d.end[SUBJECT])->rx_duplicate, FLOOD);
	while (end_pull(&d.end[SUBJECT], d.now, wide, END_BATCH) > 0)
		n += d.end[SUBJECT].n_out;
	assert_int_equal(n, 512 + 1);
	check_same(as_dup);
	live_on(as_dup);
}

/* Beyond what was promised, and where PSNs come round (6.3.1 rule 6, M-21). */
static void psn_beyond_mpr(void **state)
{
	static const int64_t far[] = {EXPECTED + 8 * 128, EXPECTED + 8 * 128 + 1, EXPECTED + 32768,
				      EXPECTED + (1 << 23) - 1, EXPECTED - (1 << 23)};
	static const size_t but[] = {COUNTER(drop_range), 0};

	(void)state;
	born();
	for (uint32_t i = 0; i < sizeof far / sizeof far[0]; i++) {
		struct crafted *c = harmful(far[i]);

		check_dropped(c, COUNTER(drop_range));
		c->rx.trimmed = NET_TRIMMED;
		check_dropped(c, COUNTER(drop_range));
	}
	live_on(but);
}

static struct crafted *touching(uint64_t va, uint32_t key, int64_t n)
{
	struct crafted *c = data(n);

	c->h.reth.va = va;
	c->h.reth.rkey = key;
	craft(c, 8);
	return c;
}

/* Refused if it is expected; ahead of a gap nothing comes of it (M-63). */
static void refuse_access(uint64_t va, uint32_t key)
{
	born();
	refuse(touching(va, key, EXPECTED), AETH_NAK_REMOTE_ACCESS);
	born();
	check_dropped(touching(va, key, EXPECTED + 2), COUNTER(drop_early));
}

/* An entry that only the subject has; it is the same memory. */
static void add_entry(uint64_t iova, uint32_t pd, uint8_t access)
{
	struct mem_entry entry = {.at = area_at(&d.end[SUBJECT], TARGET, 0),
				  .iova = iova,
				  .len = 4096,
				  .key = OTHER_KEY,
				  .pd = pd,
				  .qp = MEM_ANY_QP,
				  .access = access};

	assert_int_equal(mem_add(d.end[SUBJECT].mem, &entry), 0);
}

static void key_unknown(void **state)
{
	static const uint32_t keys[] = {0, 1, 0xdead, UINT32_MAX};

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		refuse_access(area_va(TARGET), keys[i]);
}

/* Before the region, behind it, and half inside. */
static void range_outside(void **state)
{
	uint32_t key = OURS << 8 | TARGET;

	(void)state;
	refuse_access(area_va(TARGET) - 8, key);
	refuse_access(area_va(TARGET) - 1, key);
	refuse_access(area_va(TARGET) + AREA - 7, key);
	refuse_access(area_va(TARGET) + AREA, key);
	refuse_access(0, key);
}

/* An end beyond 2^64. */
static void address_wrap(void **state)
{
	static const uint64_t vas[] = {UINT64_MAX - 6, UINT64_MAX};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		born();
		add_entry(UINT64_MAX - 4095, PD, ALL_ACCESS);
		refuse(touching(vas[i], OTHER_KEY, EXPECTED), AETH_NAK_REMOTE_ACCESS);
	}
	born();
	add_entry(UINT64_MAX - 4095, PD, ALL_ACCESS);
	feed(SUBJECT, touching(UINT64_MAX - 7, OTHER_KEY, EXPECTED));
	assert_int_equal(counts(&d.end[SUBJECT])->rx_data, 5);
}

static void key_of_another_domain(void **state)
{
	(void)state;
	born();
	add_entry(area_va(TARGET), PD + 1, ALL_ACCESS);
	refuse(touching(area_va(TARGET), OTHER_KEY, EXPECTED), AETH_NAK_REMOTE_ACCESS);
}

/* A region that does not let a peer write; a queue pair that does not. */
static void no_permission(void **state)
{
	(void)state;
	born();
	add_entry(area_va(TARGET), PD, MEM_LOCAL_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC);
	refuse(touching(area_va(TARGET), OTHER_KEY, EXPECTED), AETH_NAK_REMOTE_ACCESS);
	born();
	refuse(touching(area_va(SOURCE), OURS << 8 | SOURCE, EXPECTED), AETH_NAK_REMOTE_ACCESS);
	born();
	for (uint32_t i = 0; i < 2; i++) {
		d.end[i].qp[0].attr.access = MEM_REMOTE_READ;
		assert_int_equal(end_set(&d.end[i], d.now, 0, MRC_RTS, MRC_SET_ACCESS), 0);
	}
	refuse(data(EXPECTED), AETH_NAK_INVALID_REQUEST);
}

/* More or fewer bytes than the operation's length allows this part of it (6.3.5, M-06). */
static void length_mismatch(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t payload, dmalen;
	} table[] = {
		{MRC_OP_WRITE_ONLY, 8, 9},
		{MRC_OP_WRITE_ONLY, 8, 0},
		{MRC_OP_WRITE_ONLY, PMTU + 4, PMTU + 4},
		{MRC_OP_WRITE_ONLY_IMM, 8, 7},
		{MRC_OP_WRITE_FIRST, PMTU, PMTU},
		{MRC_OP_WRITE_FIRST, PMTU - 4, 3 * PMTU},
		{MRC_OP_WRITE_FIRST, PMTU, 0x80000001},
		{MRC_OP_WRITE_MIDDLE, PMTU, 2 * PMTU},
		{MRC_OP_WRITE_MIDDLE, PMTU + 4, 8 * PMTU},
		{MRC_OP_WRITE_LAST, 0, 2 * PMTU},
		{MRC_OP_WRITE_LAST, 8, 2 * PMTU + 9},
		{MRC_OP_WRITE_LAST, 8, 8},
		{MRC_OP_WRITE_LAST_IMM, PMTU, PMTU},
	};

	(void)state;
	for (uint32_t i = 0; i < 2 * sizeof table / sizeof table[0]; i++) {
		struct crafted *c;

		born();
		c = packet(table[i / 2].opcode, EXPECTED + 2 * (i % 2), table[i / 2].payload);
		c->h.reth.dmalen = table[i / 2].dmalen;
		craft(c, table[i / 2].payload);
		if (i % 2)
			check_dropped(c, COUNTER(drop_early));
		else
			refuse(c, AETH_NAK_INVALID_REQUEST);
	}
}

/* Padding makes a middle packet shorter than the PMTU. */
static void pad_mismatch(void **state)
{
	(void)state;
	for (uint8_t pad = 1; pad < 4; pad++) {
		struct crafted *c;

		born();
		c = packet(MRC_OP_WRITE_FIRST, EXPECTED, PMTU);
		c->h.reth.dmalen = 3 * PMTU;
		craft(c, PMTU);
		c->bytes[1] = (uint8_t)(pad << 4);
		refuse(c, AETH_NAK_INVALID_REQUEST);
	}
}

/* One more than can be kept ahead of a gap (Table 6-15). */
static void immediate_over_the_limit(void **state)
{
	static const size_t nothing[] = {0};

	(void)state;
	born();
	feed_both(packet(MRC_OP_WRITE_ONLY_IMM, 7, 8), nothing);
	refuse(packet(MRC_OP_WRITE_ONLY_IMM, 9, 8), AETH_NAK_INVALID_REQUEST);
}

/* In its turn, when all receives are used up (6.3.3). */
static void immediate_without_a_receive(void **state)
{
	static const size_t nothing[] = {0};

	(void)state;
	born();
	feed_both(data(2), nothing);
	feed_both(data(4), nothing);
	for (int64_t n = 6; n < 9; n++)
		feed_both(packet(MRC_OP_WRITE_ONLY_IMM, n, 8), nothing);
	refuse_with(packet(MRC_OP_WRITE_ONLY_IMM, 9, 8), AETH_NAK_REMOTE_OPERATION, 9, 0);
}

static struct crafted *trimmed(int64_t n)
{
	struct crafted *c = harmful(n);

	c->rx.trimmed = NET_TRIMMED;
	c->rx.udp_len = 300;
	return c;
}

/* Nothing is missing, so nothing is asked for; what has come is said. */
static void trim_of_the_already_received(void **state)
{
	static const int64_t again[] = {0, 1, 3, 5};

	(void)state;
	born();
	for (uint32_t i = 0; i < 4; i++) {
		feed(SUBJECT, trimmed(again[i]));
		answers(1);
		/* The SACK is not for a packet (M-41). */
		expect_sack(0, EXPECTED - 1);
		check_same(as_trim);
	}
	assert_int_equal(counts(&d.end[SUBJECT])->tx_nack, 0);
	live_on(as_trim);
}

/* As many NACKs as there is room for, and nothing else. */
static void trim_flood(void **state)
{
	struct end *s = &d.end[SUBJECT];

	(void)state;
	born();
	for (uint32_t i = 0; i < FLOOD; i++)
		feed(SUBJECT, trimmed(EXPECTED + 2 * (i % 100)));
	assert_true(counts(s)->drop_busy > FLOOD / 2);
	assert_int_equal(counts(s)->drop_busy + counts(s)->rx_trimmed, FLOOD);
	while (end_pull(s, d.now, wide, END_BATCH) > 0)
		continue;
	assert_int_equal(counts(s)->tx_nack, 512);
	check_same(as_trim);
	live_on(as_trim);
}

/* A trimmed packet has no ICRC, so anybody may have made it, with any bytes. It is answered, with a
 * NACK that costs its sender a packet, and placed nowhere. */
static void forged_trim(void **state)
{
	static const uint8_t opcodes[] = {MRC_OP_WRITE_FIRST, MRC_OP_WRITE_MIDDLE,
					  MRC_OP_WRITE_LAST,  MRC_OP_WRITE_LAST_IMM,
					  MRC_OP_WRITE_ONLY,  MRC_OP_WRITE_ONLY_IMM};
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(1), 0);
	born();
	for (uint32_t i = 0; i < 300; i++) {
		int64_t n = EXPECTED + 2 * (int64_t)prng_below(&rng, 100);
		struct crafted *c = packet(opcodes[i % 6], n, 8);
		uint8_t reason = i % 2 ? MRC_NACK_TRIMMED : MRC_NACK_TRIMMED_LASTHOP;

		/* All but what makes it a packet of this queue pair and this number. */
		prng_fill(&rng, c->bytes + mrc_bth_bytes, c->len - mrc_bth_bytes);
		c->rx.trimmed = i % 2 ? NET_TRIMMED : NET_TRIMMED_LASTHOP;
		c->rx.udp_len = (uint16_t)prng_below(&rng, 65536);
		if (c->rx.udp_len == 0)
			c->rx.udp_len = 1;
		c->len = mrc_bth_bytes + meth_bytes + (uint32_t)prng_below(&rng, c->len - 15);
		feed(SUBJECT, c);
		answers(1);
		/* 4 is not there, 3 and 5 are: odd numbers are never forged here. */
		expect_nack(0, n, reason);
		assert_int_equal(d.end[SUBJECT].out[0].tx.udp_len, c->rx.udp_len);
		check_same(as_trim);
	}
	live_on(as_trim);
}

/* Cut before the end of the one header that an answer needs (M-49). */
static void trim_too_short(void **state)
{
	static const size_t but[] = {COUNTER(drop_malformed), 0};

	(void)state;
	born();
	for (uint32_t i = 0; i < 2; i++) {
		struct crafted *c = trimmed(EXPECTED);

		c->h.bth.ts = i > 0;
		craft(c, 8);
		for (c->len = 0; c->len < mrc_bth_bytes; c->len++)
			check_dropped(c, COUNTER(drop_malformed));
	}
	live_on(but);
}

static void probe_flood(void **state)
{
	static const size_t but[] = {COUNTER(rx_probe), COUNTER(drop_busy), COUNTER(tx_sack), 0};
	struct end *s = &d.end[SUBJECT];
	uint32_t n = 0;

	(void)state;
	born();
	for (uint32_t i = 0; i < FLOOD; i++)
		feed(SUBJECT, probe((uint16_t)i));
	assert_int_equal(counts(s)->rx_probe, 512);
	assert_int_equal(counts(s)->drop_busy, FLOOD - 512);
	while (end_pull(s, d.now, wide, END_BATCH) > 0)
		for (uint32_t i = 0; i < s->n_out; i++) {
			assert_int_equal(answer(i)->seth.pr, 1);
			assert_int_equal(answer(i)->seth.ack_psn_offset, n++);
		}
	assert_int_equal(n, 512);
	check_same(but);
	live_on(but);
}

/* The EV that a packet says it came by is told back as it is, and means nothing here. */
static void entropy_nobody_sent(void **state)
{
	static const uint32_t evs[] = {0, 1, 0xffff, 0x10000, 0x80000000, UINT32_MAX};
	static const size_t nothing[] = {0};

	(void)state;
	born();
	for (uint32_t i = 0; i < sizeof evs / sizeof evs[0]; i++) {
		struct crafted *c = asking(10 + i);

		feed(TWIN, c);
		c->rx.ev = evs[i];
		feed(SUBJECT, c);
		pull_both();
		assert_int_equal(d.end[SUBJECT].n_out, 2);
		assert_int_equal(d.end[TWIN].n_out, 2);
		assert_int_equal(answer(0)->seth.entropy, evs[i]);
		memset(d.end[SUBJECT].out[0].bytes + 16, 0, 4);
		memset(d.end[TWIN].out[0].bytes + 16, 0, 4);
		check_same_packets();
	}
	check_same(nothing);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(duplicate),
	cmocka_unit_test(duplicate_of_immediate),
	cmocka_unit_test(duplicate_flood),
	cmocka_unit_test(psn_beyond_mpr),
	cmocka_unit_test(key_unknown),
	cmocka_unit_test(range_outside),
	cmocka_unit_test(address_wrap),
	cmocka_unit_test(key_of_another_domain),
	cmocka_unit_test(no_permission),
	cmocka_unit_test(length_mismatch),
	cmocka_unit_test(pad_mismatch),
	cmocka_unit_test(immediate_over_the_limit),
	cmocka_unit_test(immediate_without_a_receive),
	cmocka_unit_test(trim_of_the_already_received),
	cmocka_unit_test(trim_flood),
	cmocka_unit_test(forged_trim),
	cmocka_unit_test(trim_too_short),
	cmocka_unit_test(probe_flood),
	cmocka_unit_test(entropy_nobody_sent),
};
CHECK_MAIN(cases)
