/* Whole packets: every type in every encapsulation, every truncation, every drop reason. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "catalog.h"
#include "wire/icrc.h"

static struct wire_fault decode(const uint8_t *bytes, uint32_t len, struct wire_packet *pkt,
				struct wire_trail *trail)
{
	struct net_cfg cfg = catalog_cfg();

	return wire_packet_get((struct cspan){bytes, len}, NET_LINK_ETHERNET, &cfg, pkt, trail);
}

static uint8_t opcode_of(const struct wire_packet *pkt)
{
	return pkt->family == WIRE_MRC ? pkt->mrc.bth.opcode : pkt->roce.bth.opcode;
}

static void every_type_decodes(void **state)
{
	static struct sample s;

	(void)state;
	for (uint32_t i = 0; i < catalog_size(); i++) {
		struct wire_packet pkt;
		struct wire_trail trail;

		catalog_get(i, &s);
		struct wire_fault fault = decode(s.frame.bytes, s.frame.len, &pkt, &trail);

		if (fault.why != WIRE_DROP_NONE)
			fail_msg("%s: %s at byte %u", s.name, wire_drop_name(fault.why), fault.at);
		assert_int_equal(pkt.family, s.family);
		assert_int_equal(opcode_of(&pkt), s.opcode);
		assert_non_null(wire_packet_name(&pkt));
		assert_int_equal(pkt.has_crc, pkt.net.trim == NET_WHOLE);
		assert_int_equal(pkt.crc, pkt.crc_right);
		assert_false(trail.full);
	}
}

static bool carries_payload(const struct wire_packet *pkt)
{
	uint16_t stack = 0;

	if (pkt->family == WIRE_ROCE)
		return roce_opcode_stack(opcode_of(pkt), &stack) && stack & ROCE_PAYLOAD;
	return mrc_opcode_stack(opcode_of(pkt), &stack) && stack & MRC_PAYLOAD;
}

/* The payload of data, without padding; none of control packets and of what was trimmed. */
static void payload_is_offered(void **state)
{
	static struct sample s;

	(void)state;
	for (uint32_t i = 0; i < catalog_size(); i++) {
		struct wire_packet pkt;

		catalog_get(i, &s);
		decode(s.frame.bytes, s.frame.len, &pkt, NULL);
		struct cspan payload = wire_packet_payload(&pkt);

		if (pkt.net.trim != NET_WHOLE || !carries_payload(&pkt)) {
			assert_null(payload.at);
			continue;
		}
		if (strcmp(s.file, "endmt") == 0) {
			assert_int_equal(payload.len, 5);
			assert_memory_equal(payload.at, "hello", 5);
			continue;
		}
		assert_true(payload.len == 21 || payload.len == 256);
		assert_memory_equal(payload.at, "One warp thread", 15);
		assert_int_equal(payload.at[payload.len - 1] == 0, payload.len == 256);
	}
	struct wire_packet none = {.family = WIRE_NO_FAMILY};

	assert_null(wire_packet_payload(&none).at);
}

/* The trail covers the frame without a gap: link to transport, then payload and ICRC. */
static void trail_has_no_gap(void **state)
{
	static struct sample s;

	(void)state;
	for (uint32_t i = 0; i < catalog_size(); i++) {
		struct wire_packet pkt;
		struct wire_trail trail;
		uint32_t at = 0;

		catalog_get(i, &s);
		if (strstr(s.name, "HMAC"))
			continue; /* Pad1 has no header of its own: see srh tests */
		decode(s.frame.bytes, s.frame.len, &pkt, &trail);
		for (uint32_t k = 0; k < trail.n; k++) {
			assert_int_equal(trail.layer[k].at, at);
			at += trail.layer[k].len;
		}
		if (pkt.net.trim == NET_WHOLE)
			assert_int_equal((s.frame.len - icrc_bytes - at) % 4, 0);
		else
			assert_true(at <= s.frame.len);
	}
}

/* With and without a trail the verdict is the same. */
static void trail_is_optional(void **state)
{
	static struct sample s;

	(void)state;
	for (uint32_t i = 0; i < catalog_size(); i++) {
		struct wire_packet a, b;
		struct wire_trail trail;

		catalog_get(i, &s);
		decode(s.frame.bytes, s.frame.len, &a, &trail);
		decode(s.frame.bytes, s.frame.len, &b, NULL);
		assert_memory_equal(&a, &b, sizeof a);
	}
}

/* A frame cut at any byte is a fault (a trimmed one may lose what its switch could have cut), and
 * its bytes end where the buffer does, so that a sanitizer sees a read too far. */
static void every_truncation_is_a_fault(void **state)
{
	static struct sample s;

	(void)state;
	for (uint32_t i = 0; i < catalog_size(); i++) {
		catalog_get(i, &s);
		for (uint32_t len = 0; len < s.frame.len; len++) {
			uint8_t *copy = malloc(len ? len : 1);
			struct wire_packet pkt;
			struct wire_trail trail;

			memcpy(copy, s.frame.bytes, len);
			struct wire_fault fault = decode(copy, len, &pkt, &trail);

			free(copy);
			if (pkt.net.trim != NET_WHOLE && fault.why == WIRE_DROP_NONE)
				continue;
			assert_int_not_equal(fault.why, WIRE_DROP_NONE);
			assert_true(fault.at <= len);
			assert_non_null(wire_drop_text(fault.why));
		}
	}
}

/* The same with the lengths in the headers following the cut: now the transport headers are what
 * is short, and the reason names the header. */
static void every_short_transport_is_a_fault(void **state)
{
	static struct sample s;
	static struct frame f;

	(void)state;
	for (uint32_t i = 0; i < catalog_size(); i++) {
		struct wire_packet whole, pkt;
		struct wire_trail trail;

		catalog_get(i, &s);
		decode(s.frame.bytes, s.frame.len, &whole, &trail);
		if (whole.net.trim != NET_WHOLE || whole.net.ip[0].version != 6)
			continue;
		uint32_t head_end = trail.layer[trail.n - 1].at + trail.layer[trail.n - 1].len;

		for (uint32_t end = whole.net.udp_at; end < head_end + icrc_bytes; end++) {
			f = s.frame;
			f.len = end;
			for (unsigned k = 0; k < whole.net.n_ip; k++)
				put_be16(f.bytes + whole.net.ip[k].at + 4,
					 (uint16_t)(end - whole.net.ip[k].at - ipv6_bytes));
			if (end >= whole.net.udp_at + udp_bytes)
				put_be16(f.bytes + whole.net.udp_at + 4,
					 (uint16_t)(end - whole.net.udp_at));
			struct wire_fault fault = decode(f.bytes, f.len, &pkt, &trail);

			/* BTH whole, but too little behind it for any ICRC */
			bool no_icrc = end >= whole.net.transport + bth_bytes &&
				       end < whole.net.transport + bth_bytes + icrc_bytes;

			assert_int_equal(fault.why,
					 no_icrc ? WIRE_DROP_NO_ICRC : WIRE_DROP_TRUNCATED);
		}
	}
}

static void every_reason_is_reached(void **state)
{
	static struct sample s;

	(void)state;
	for (enum wire_drop why = WIRE_DROP_NONE + 1; why < WIRE_DROP_COUNT; why++) {
		struct wire_packet pkt;
		struct wire_trail trail;

		catalog_damaged(why, &s);
		struct wire_fault fault = decode(s.frame.bytes, s.frame.len, &pkt, &trail);

		if (fault.why != why)
			fail_msg("%s: got %s at byte %u", s.name, wire_drop_name(fault.why),
				 fault.at);
		assert_int_equal(wire_drop_is_foreign(why), why <= WIRE_DROP_OTHER_SERVICE);
	}
}

/* A number from elsewhere, a log perhaps, has a text too. */
static void unknown_reasons_have_a_text(void **state)
{
	(void)state;
	assert_string_equal(wire_drop_name(WIRE_DROP_COUNT), "UNKNOWN");
	assert_string_equal(wire_drop_text((enum wire_drop) - 1), "unknown reason");
	assert_string_equal(wire_drop_name(WIRE_DROP_NONE), "NONE");
}

/* Where the fault is said to be: the byte a person would point at. */
static void faults_name_their_byte(void **state)
{
	static const struct {
		enum wire_drop why;
		uint32_t at;
		const char *in;
	} want[] = {
		{WIRE_DROP_NOT_IP, 14, NULL},
		{WIRE_DROP_TRUNCATED, 54, "aeth"},
		{WIRE_DROP_IP_LENGTH, 16, "ipv4"},
		{WIRE_DROP_IP4_CHECKSUM, 24, "ipv4"},
		{WIRE_DROP_SRH_TYPE, 56, "srh"},
		{WIRE_DROP_SRH_TLV, 81, "srh_tlv"},
		{WIRE_DROP_ENDMT_LENGTH, 95, "endmt_tlv"},
		{WIRE_DROP_ENDMT_COUNT, 114, "endmt_tlv"},
		{WIRE_DROP_UDP_LENGTH, 38, "udp"},
		{WIRE_DROP_BTH_VERSION, 43, "bth"},
		{WIRE_DROP_NO_ICRC, 54, NULL},
		{WIRE_DROP_IP6_EXTENSION, 20, "ipv6"},
		{WIRE_DROP_OPCODE, 42, "bth"},
		{WIRE_DROP_EXCESS, 58, NULL},
		{WIRE_DROP_PAYLOAD_LENGTH, 54, NULL},
		{WIRE_DROP_ICRC, 78, NULL},
	};
	static struct sample s;

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		struct wire_packet pkt;

		catalog_damaged(want[i].why, &s);
		struct wire_fault fault = decode(s.frame.bytes, s.frame.len, &pkt, NULL);

		if (fault.at != want[i].at)
			fail_msg("%s: at byte %u, expected %u", s.name, fault.at, want[i].at);
		if (want[i].in)
			assert_string_equal(fault.in->name, want[i].in);
		else
			assert_null(fault.in);
	}
}

/* Link padding behind a short packet is nothing to complain about. */
static void link_padding_is_ignored(void **state)
{
	static struct sample s;
	struct wire_packet pkt;

	(void)state;
	catalog_find("RoCE Acknowledge, IPv4", &s);
	memset(s.frame.bytes + s.frame.len, 0xee, 6);
	assert_int_equal(decode(s.frame.bytes, s.frame.len + 6, &pkt, NULL).why, WIRE_DROP_NONE);
}

static void ip_link_starts_at_ip(void **state)
{
	static struct sample s;
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	for (uint32_t i = 0; i < catalog_size(); i++) {
		struct wire_packet pkt;
		struct cspan ip;

		catalog_get(i, &s);
		ip = (struct cspan){s.frame.bytes + s.frame.ip_at, s.frame.len - s.frame.ip_at};
		assert_int_equal(wire_packet_get(ip, NET_LINK_IP, &cfg, &pkt, NULL).why,
				 WIRE_DROP_NONE);
		assert_false(pkt.net.has_eth);
	}
	struct wire_packet pkt;
	uint8_t junk[] = {0x99, 1, 2};

	assert_int_equal(
		wire_packet_get((struct cspan){junk, 3}, NET_LINK_IP, &cfg, &pkt, NULL).why,
		WIRE_DROP_NOT_IP);
	assert_int_equal(
		wire_packet_get((struct cspan){junk, 0}, NET_LINK_IP, &cfg, &pkt, NULL).why,
		WIRE_DROP_TRUNCATED);
	assert_null(wire_packet_name(&pkt));
}

/* MRC-7.5.5.2-01: the destination port is configurable. */
static void port_is_configurable(void **state)
{
	static struct sample s;
	struct net_cfg cfg = catalog_cfg();
	struct wire_packet pkt;

	(void)state;
	assert_int_equal(*net_cfg_port(&cfg), 4791);
	catalog_find("MRC SACK, IPv6", &s);
	*net_cfg_port(&cfg) = 4971;
	struct cspan frame = {s.frame.bytes, s.frame.len};

	assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL).why,
			 WIRE_DROP_NOT_ROCE);
	put_be16(s.frame.bytes + pkt.net.udp_at + 2, 4971);
	frame_fix_icrc(&s.frame, s.frame.ip_at);
	assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL).why,
			 WIRE_DROP_NONE);
}

/* A non-zero UDP checksum is ignored, and not covered by the ICRC (MRC-7.5.5.2-02). */
static void udp_checksum_is_ignored(void **state)
{
	static struct sample s;
	struct wire_packet pkt;

	(void)state;
	catalog_find("MRC SACK, IPv6", &s);
	put_be16(s.frame.bytes + s.frame.ip_at + ipv6_bytes + 6, 0xbeef);
	assert_int_equal(decode(s.frame.bytes, s.frame.len, &pkt, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(pkt.net.udp.checksum, 0xbeef);
}

/* A million damaged frames: a verdict for each, never a read beyond the frame (sanitizers watch),
 * and a fault that points into it. */
static void random_damage_gets_a_verdict(void **state)
{
	static struct sample s;
	struct prng rnd;
	unsigned accepted = 0;

	(void)state;
	prng_init(&rnd, check_seed(0x776566), 9);
	for (uint32_t round = 0; round < 1000000; round++) {
		struct wire_packet pkt;

		if (round % 64 == 0)
			catalog_get((uint32_t)prng_below(&rnd, catalog_size()), &s);
		uint32_t at = (uint32_t)prng_below(&rnd, s.frame.len);
		uint8_t was = s.frame.bytes[at];

		s.frame.bytes[at] ^= (uint8_t)(1 + prng_below(&rnd, 255));
		struct wire_fault fault = decode(s.frame.bytes, s.frame.len, &pkt, NULL);

		s.frame.bytes[at] = was;
		accepted += fault.why == WIRE_DROP_NONE;
		assert_true(fault.why < WIRE_DROP_COUNT);
		assert_true(fault.at <= s.frame.len);
	}
	/* Only fields that no check covers let a change pass: link addresses, DSCP and such. */
	assert_true(accepted < 500000);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_type_decodes),
	cmocka_unit_test(payload_is_offered),
	cmocka_unit_test(trail_has_no_gap),
	cmocka_unit_test(trail_is_optional),
	cmocka_unit_test(every_truncation_is_a_fault),
	cmocka_unit_test(every_short_transport_is_a_fault),
	cmocka_unit_test(every_reason_is_reached),
	cmocka_unit_test(unknown_reasons_have_a_text),
	cmocka_unit_test(faults_name_their_byte),
	cmocka_unit_test(link_padding_is_ignored),
	cmocka_unit_test(ip_link_starts_at_ip),
	cmocka_unit_test(port_is_configurable),
	cmocka_unit_test(udp_checksum_is_ignored),
	cmocka_unit_test(random_damage_gets_a_verdict),
};
CHECK_MAIN(cases)
