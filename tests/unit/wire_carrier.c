/* Carriers: that the tables are sound, and that rules, seals and lengths read from them are what
 * specifications and the parsers say. */
#include "check.h"

#include <string.h>

#include "base/prng.h"
#include "carriers.h"
#include "catalog.h"
#include "engine/engine.h"
#include "wire/net.h"
#include "wire/packet.h"

enum { ROUNDS = 200000 };

static const struct carrier *const all[] = {&carrier_roce, &carriers_uet, &carriers_uet_native,
					    &carriers_falcon, &carriers_toy};
#define N_ALL (sizeof all / sizeof all[0])

static void check_word(const struct carrier *c, uint32_t at)
{
	if (at + 4 > c->head_least)
		fail_msg("%s: a word at %u ends behind the least header", c->name, at);
}

static void check_match(const struct carrier *c, const struct carrier_match *m)
{
	check_word(c, m->at);
	assert_int_equal(m->value & ~m->mask, 0);
}

static void check_bits(const struct carrier *c, const struct carrier_bits *b)
{
	check_word(c, b->at);
	assert_in_range(b->width, 1, 32);
	assert_true(b->shift + b->width <= 32);
}

static void check_rules(const struct carrier *c)
{
	assert_in_range(c->n_rules, 1, CARRIER_RULES);
	for (uint32_t i = 0; i < c->n_rules; i++) {
		const struct carrier_rule *rule = &c->rules[i];

		assert_true(rule->n_match <= CARRIER_MATCHES);
		for (uint32_t k = 0; k < rule->n_match; k++)
			check_match(c, &rule->match[k]);
		/* A rule that always holds hides those behind it. */
		assert_true(rule->n_match > 0 || i + 1 == c->n_rules);
		if (rule->owner == CARRIER_NUMBER || rule->owner == CARRIER_NAME)
			check_bits(c, &rule->bits);
		if (rule->owner == CARRIER_NUMBER)
			assert_in_range(c->tag_bits, 1, rule->bits.width);
	}
}

static void check_seals(const struct carrier *c)
{
	assert_in_range(c->n_seals, 1, CARRIER_SEALS);
	assert_int_equal(c->seals[c->n_seals - 1].match.mask, 0);
	for (uint32_t i = 0; i < c->n_seals; i++) {
		const struct seal *s = c->seals[i].seal;

		check_match(c, &c->seals[i].match);
		assert_true(s->head_bytes < c->head_least || s->head_bytes == 0);
		/* What masks reach of a CRC is in every packet. */
		for (uint32_t v = 0; v < 2 && seal_is_crc(s); v++)
			assert_true(seal_least(s, v == 0) <= (v == 0 ? ipv4_bytes : ipv6_bytes) +
								     carrier_front_bytes(c) +
								     c->head_least);
	}
}

static void tables_are_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ALL; i++) {
		const struct carrier *c = all[i];

		check_rules(c);
		check_seals(c);
		check_match(c, &c->other_length);
		check_bits(c, &c->number);
		assert_in_range(c->tag_bits, 1, 8);
		assert_in_range(c->n_fields, 1, CARRIER_FIELDS);
		for (uint32_t k = 0; k < c->n_fields; k++)
			assert_true(c->fields[k].bytes > 0 &&
				    c->fields[k].at + c->fields[k].bytes <= c->head_least);
		assert_int_equal(c->port == 0, carrier_is_native(c));
		assert_in_range(c->payload_max, 1, CARRIER_PAYLOAD_MAX);
		assert_in_range(c->pieces_max, 1, ENGINE_BODY);
		assert_true(c->pad_max <= CARRIER_PAD_MAX);
		assert_in_range(c->head_most, c->head_least, UINT8_MAX);
	}
}

/* The largest, which need not be a power of two, then those below it that are. */
static void payloads_by_room(void **state)
{
	static const struct {
		const struct carrier *c;
		uint32_t room, want;
	} rows[] = {
		{&carrier_roce, 9000, 4096},    {&carrier_roce, 4096, 4096},
		{&carrier_roce, 4095, 2048},    {&carrier_roce, 256, 256},
		{&carrier_roce, 255, 0},        {&carriers_uet, 70000, 8192},
		{&carriers_uet, 8191, 4096},    {&carriers_falcon, 4224, 4224},
		{&carriers_falcon, 4223, 4096}, {&carriers_falcon, 0, 0},
		{&carriers_toy, 1023, 512},
	};
	struct carrier small = carriers_toy;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(carrier_payload(rows[i].c, rows[i].room), rows[i].want);
		assert_int_equal(carrier_payload_least(rows[i].c), CARRIER_PAYLOAD_LEAST);
	}
	small.payload_max = 100;
	assert_int_equal(carrier_payload(&small, 100), 100);
	assert_int_equal(carrier_payload(&small, 99), 0);
	assert_int_equal(carrier_payload_least(&small), 100);
	/* Base header, atomic request and ICRC. */
	assert_int_equal(carrier_around_bytes(&carrier_roce), 12 + 28 + 4);
}

static void asked_by_port_and_protocol(void **state)
{
	struct carriers some = {.n = 0};

	(void)state;
	assert_null(carrier_of_udp(&some, 0));
	for (size_t i = 0; i < 4; i++)
		carriers_add(&some, all[i], 0);
	assert_ptr_equal(carrier_of_udp(&some, 4791)->is, &carrier_roce);
	assert_ptr_equal(carrier_of_udp(&some, CARRIERS_UET_PORT)->is, &carriers_uet);
	assert_ptr_equal(carrier_of_udp(&some, CARRIERS_PSP_PORT)->is, &carriers_falcon);
	assert_ptr_equal(carrier_of_ip(&some, CARRIERS_UET_PROTOCOL)->is, &carriers_uet_native);
	/* The port of what has none is nobody's, and UDP alone says nothing. */
	assert_null(carrier_of_udp(&some, 0));
	assert_null(carrier_of_ip(&some, CARRIER_UDP));
	assert_null(carrier_of_ip(&some, 0));
	assert_null(carrier_of_udp(&some, CARRIERS_UET_PROTOCOL));
}

static void numbers_are_a_deployments_choice(void **state)
{
	struct carriers some = {.n = 0};

	(void)state;
	carriers_add(&some, &carrier_roce, 4971);
	carriers_add(&some, &carriers_uet_native, 254);
	assert_null(carrier_of_udp(&some, 4791));
	assert_null(carrier_of_ip(&some, CARRIERS_UET_PROTOCOL));
	assert_ptr_equal(carrier_of_udp(&some, 4971), &some.use[0]);
	assert_ptr_equal(carrier_of_ip(&some, 254), &some.use[1]);
}

/* Whose a RoCE packet is, in words of its own. */
static uint8_t roce_owner(const uint8_t *bth, uint32_t *tag)
{
	uint32_t qp = get_be24(bth + 5);

	*tag = qp >> 16;
	if (qp > 2)
		return CARRIER_NUMBER;
	if (qp == 2 && bth[0] == 0xd8)
		return CARRIER_ANYONE;
	if (qp < 2 || bth[0] != 0xd9)
		return CARRIER_UNKNOWN;
	*tag = bth[10];
	return CARRIER_NUMBER;
}

static void whose_a_roce_packet_is(void **state)
{
	static const uint8_t opcodes[] = {0x04, 0xca, 0xd8, 0xd9, 0xdc, 0xdd, 0x81};
	struct prng rng;
	uint32_t seen[4] = {0};

	(void)state;
	prng_init(&rng, check_seed(1), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint8_t bth[12];
		uint32_t tag;

		for (uint32_t i = 0; i < sizeof bth; i++)
			bth[i] = (uint8_t)prng_u32(&rng);
		bth[0] = opcodes[prng_below(&rng, sizeof opcodes)];
		if (prng_chance(&rng, 1, 2)) {
			bth[5] = bth[6] = 0;
			bth[7] = (uint8_t)prng_below(&rng, 5);
		}
		const struct carrier_rule *rule = carrier_rule_of(&carrier_roce, bth);
		uint8_t owner = roce_owner(bth, &tag);

		assert_non_null(rule);
		assert_int_equal(rule->owner, owner);
		if (owner == CARRIER_NUMBER)
			assert_int_equal(carrier_tag(&carrier_roce, rule, bth), tag);
		assert_int_equal(carrier_bits_get(&carrier_roce.number, bth), get_be24(bth + 5));
		seen[owner]++;
	}
	assert_true(seen[CARRIER_UNKNOWN] && seen[CARRIER_NUMBER] && seen[CARRIER_ANYONE]);
}

/* A name, a number of four bits of tag, a number in clear where all else is not; and a connection
 * whose place another bit tells. */
static void whose_packets_to_come_are(void **state)
{
	uint8_t head[40] = {0};
	const struct carrier_rule *rule;

	(void)state;
	head[0] = 2 << 3;
	head[1] = 0x04;
	head[20] = 0x0a, head[21] = 0xbc;
	rule = carrier_rule_of(&carriers_uet, head);
	assert_int_equal(rule->owner, CARRIER_NAME);
	assert_int_equal(carrier_bits_get(&rule->bits, head), 0xabc);
	head[1] = 0;
	head[10] = 0x9f, head[11] = 0x01;
	rule = carrier_rule_of(&carriers_uet, head);
	assert_int_equal(rule->owner, CARRIER_NUMBER);
	assert_int_equal(carrier_tag(&carriers_uet, rule, head), 9);
	head[0] = 1 << 3;
	head[1] = 0x70;
	rule = carrier_rule_of(&carriers_uet, head);
	assert_int_equal(carrier_tag(&carriers_uet, rule, head), 7);
	head[0] = 6 << 3;
	assert_int_equal(carrier_rule_of(&carriers_uet, head)->owner, CARRIER_UNKNOWN);
	memset(head, 0, sizeof head);
	head[17] = 0x11, head[25] = 0x22;
	rule = carrier_rule_of(&carriers_falcon, head);
	assert_int_equal(carrier_tag(&carriers_falcon, rule, head), 0x11);
	head[3] = 2;
	rule = carrier_rule_of(&carriers_falcon, head);
	assert_int_equal(carrier_tag(&carriers_falcon, rule, head), 0x22);
}

static void sealed_by_the_first_bytes(void **state)
{
	uint8_t head[40] = {0};

	(void)state;
	assert_ptr_equal(carrier_seal_of(&carrier_roce, head), &seal_icrc);
	head[0] = 2 << 3;
	assert_ptr_equal(carrier_seal_of(&carriers_uet, head), &seal_uet);
	assert_ptr_equal(carrier_seal_of(&carriers_uet_native, head), &seal_uet_native);
	head[0] = 1 << 3;
	assert_ptr_equal(carrier_seal_of(&carriers_uet, head), &seal_tss);
	head[0] = 1 << 3 | 4;
	assert_ptr_equal(carrier_seal_of(&carriers_uet, head), &seal_tss_ssi);
	assert_ptr_equal(carrier_seal_of(&carriers_falcon, head), &seal_psp);
	head[3] = 2;
	assert_ptr_equal(carrier_seal_of(&carriers_falcon, head), &seal_psp_cookie);
	assert_ptr_equal(carrier_plain_seal(&carriers_uet), &seal_uet);
	assert_ptr_equal(carrier_plain_seal(&carrier_roce), &seal_icrc);
}

/* M-13: only of a NACK, among all opcodes. */
static void whose_length_may_differ(void **state)
{
	(void)state;
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		const uint8_t bth[12] = {(uint8_t)opcode};

		assert_int_equal(carrier_has_other_length(&carrier_roce, bth), opcode == 0xdd);
		assert_false(carrier_has_other_length(&carriers_toy, bth));
	}
}

/* Every good sample is of the carrier, not of a word that it never begins with, and fits it. */
static void samples_are_as_their_carrier_says(void **state)
{
	static struct sample s;
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	for (uint32_t i = 0; i < catalog_size(); i++) {
		struct wire_packet pkt;

		catalog_get(i, &s);
		assert_int_equal(wire_packet_get((struct cspan){s.frame.bytes, s.frame.len},
						 NET_LINK_ETHERNET, &cfg, &pkt, NULL)
					 .why,
				 WIRE_DROP_NONE);
		assert_ptr_equal(pkt.net.carrier, &carrier_roce);
		assert_ptr_equal(pkt.seal, &seal_icrc);
		assert_true(s.frame.bytes[pkt.net.transport] != carrier_roce.spare);
		assert_true(pkt.net.end - pkt.net.transport >= carrier_roce.head_least);
	}
}

enum { TRANSPORT = 40, LABEL = 0x54321, FRONT = 0xc123 };

/* A packet of native IP with its seal. */
static void build_native(struct frame *f, bool is_v4)
{
	uint32_t ip_bytes = is_v4 ? ipv4_bytes : ipv6_bytes;
	uint8_t *ip = f->bytes + eth_bytes, *at = ip + ip_bytes;

	*f = (struct frame){.len = eth_bytes + ip_bytes + 4 + TRANSPORT + 4, .ip_at = eth_bytes};
	put_be16(ip - 2, (uint16_t)(is_v4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6));
	if (is_v4)
		ipv4_put(&(struct ipv4){.version = 4,
					.ihl = 5,
					.ttl = 9,
					.src = 1,
					.dst = 2,
					.length = (uint16_t)(f->len - eth_bytes),
					.protocol = CARRIERS_UET_PROTOCOL},
			 ip);
	else
		ipv6_put(&(struct ipv6){.version = 6,
					.flow_label = LABEL,
					.hop_limit = 9,
					.length = 4 + TRANSPORT + 4,
					.next_header = CARRIERS_UET_PROTOCOL},
			 ip);
	if (is_v4)
		frame_fix_ipv4(f, eth_bytes);
	put_be16(at, FRONT);
	memset(at + 4, 0x5a, TRANSPORT);
	at[4] = 2 << 3;
	uint32_t end = f->len - 4;

	seal_put(&seal_uet_native, f->bytes + end,
		 seal_sum(&seal_uet_native, &(struct cspan){ip, end - eth_bytes}, 1));
}

static struct wire_fault get(const struct frame *f, const struct net_cfg *cfg,
			     struct wire_packet *pkt)
{
	static struct wire_trail trail;

	return wire_packet_get((struct cspan){f->bytes, f->len}, NET_LINK_ETHERNET, cfg, pkt,
			       &trail);
}

static void native_ip(void **state)
{
	struct net_cfg cfg = catalog_cfg(), with = cfg;
	struct wire_packet pkt;
	struct frame f;

	(void)state;
	carriers_add(&with.carriers, &carriers_uet_native, 0);
	for (uint32_t is_v4 = 0; is_v4 < 2; is_v4++) {
		build_native(&f, is_v4);
		assert_int_equal(get(&f, &cfg, &pkt).why, WIRE_DROP_NOT_UDP);
		assert_int_equal(get(&f, &with, &pkt).why, WIRE_DROP_NONE);
		assert_ptr_equal(pkt.net.carrier, &carriers_uet_native);
		assert_int_equal(pkt.net.transport - pkt.net.udp_at, 4);
		assert_int_equal(net_entropy(&pkt.net),
				 (uint32_t)FRONT << 16 | (is_v4 ? 0 : LABEL & 0xffff));
		assert_true(pkt.has_crc && pkt.crc == pkt.crc_right);
		assert_int_equal(pkt.seal_at, f.len - 4);
		f.bytes[f.len - 1] ^= 1;
		assert_int_equal(get(&f, &with, &pkt).why, WIRE_DROP_ICRC);
		/* One that is as long as it was cannot be told from one that was cut. */
		f.bytes[f.len - 1] ^= 1;
		frame_trim(&f, CATALOG_DSCP_TRIMMED, 4 + TRANSPORT + 4);
		assert_int_equal(get(&f, &with, &pkt).why, WIRE_DROP_NONE);
		assert_true(net_is_cut(&pkt.net) && !pkt.has_crc);
	}
}

static void native_ip_too_short(void **state)
{
	struct net_cfg with = catalog_cfg();
	struct wire_packet pkt;
	struct frame f;

	(void)state;
	carriers_add(&with.carriers, &carriers_uet_native, 0);
	for (uint32_t left = 0; left < 4 + 24 + 4; left++) {
		build_native(&f, false);
		f.len = eth_bytes + ipv6_bytes + left;
		frame_fix_length(&f);
		struct wire_fault fault = get(&f, &with, &pkt);

		assert_int_equal(fault.why,
				 left < 4 + 24 ? WIRE_DROP_TRUNCATED : WIRE_DROP_NO_ICRC);
		assert_ptr_equal(fault.in, left < 4 ? entropy_layout() : NULL);
	}
}

/* A cipher's tail is cut off and not judged. */
static void a_cipher_is_passed_by(void **state)
{
	struct net_cfg with = catalog_cfg();
	struct wire_packet pkt;
	struct frame f;

	(void)state;
	carriers_add(&with.carriers, &carriers_uet_native, 0);
	build_native(&f, false);
	f.bytes[eth_bytes + ipv6_bytes + 4] = 1 << 3;
	assert_int_equal(get(&f, &with, &pkt).why, WIRE_DROP_NONE);
	assert_ptr_equal(pkt.seal, &seal_tss);
	assert_false(pkt.has_crc);
	assert_int_equal(pkt.seal_at, f.len - 16);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(tables_are_sound),
	cmocka_unit_test(payloads_by_room),
	cmocka_unit_test(asked_by_port_and_protocol),
	cmocka_unit_test(numbers_are_a_deployments_choice),
	cmocka_unit_test(whose_a_roce_packet_is),
	cmocka_unit_test(whose_packets_to_come_are),
	cmocka_unit_test(sealed_by_the_first_bytes),
	cmocka_unit_test(whose_length_may_differ),
	cmocka_unit_test(samples_are_as_their_carrier_says),
	cmocka_unit_test(native_ip),
	cmocka_unit_test(native_ip_too_short),
	cmocka_unit_test(a_cipher_is_passed_by),
};
CHECK_MAIN(cases)
