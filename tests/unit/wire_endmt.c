/* The TLV of End.MT: what it says of the receivers of an edge, and what is malformed (draft 7.2).
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "wire/endmt.h"
#include "wire/srh.h"

#define TLVS_MAX (SRH_TLVS_MAX + 0u)

static const uint8_t node[16] = {0xfc, 0xbb, 0xbb, 0, 0xe0, 1, [15] = 1};
static const uint8_t sid[16] = {0xfc, 0xbb, 0xbb, 0, 0xe0, 1};
static const uint8_t other[16] = {0xfc, 0xbb, 0xbb, 0, 0xe0, 2, [15] = 1};
static const struct endmt_edge edge = {node, sid};

struct tlvs {
	uint32_t len;
	uint8_t bytes[TLVS_MAX + 256];
};

/* Appends a TLV of n receivers fd00::first, fd00::first+1 ..., their QPNs the same numbers. */
static uint8_t *add(struct tlvs *t, const uint8_t *of, uint32_t first, uint32_t n)
{
	uint8_t *start = t->bytes + t->len, *p = start + endmt_tlv_bytes;
	struct endmt_tlv head = {.type = ENDMT_TLV_TYPE,
				 .length = (uint8_t)(22 + 20 * n),
				 .n_receivers = (uint8_t)n};

	memcpy(head.edge, of, 16);
	endmt_tlv_put(&head, start);
	for (uint32_t i = first; i < first + n; i++, p += endmt_receiver_bytes) {
		struct endmt_receiver r = {
			.address = {0xfd, [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i}, .qpn = i};

		endmt_receiver_put(&r, p);
	}
	t->len += 24 + 20 * n;
	return start;
}

static struct wire_fault get(const struct tlvs *t, struct endmt_receivers *to)
{
	return endmt_receivers_get((struct cspan){t->bytes, t->len}, ENDMT_TLV_TYPE, &edge, to);
}

static void are(const struct endmt_receivers *r, uint32_t n, const uint32_t *numbers)
{
	assert_int_equal(r->n, n);
	for (uint32_t i = 0; i < n; i++) {
		struct endmt_receiver one = endmt_receiver_at(r, i);

		assert_int_equal(one.qpn, numbers[i]);
		assert_int_equal(one.address[0], 0xfd);
		assert_int_equal(one.address[14] << 8 | one.address[15], numbers[i]);
	}
}

/* The header that was worked out apart from the code: its TLV names one receiver. */
static void the_known_header(void **state)
{
	static struct sample s;
	struct wire_packet pkt;
	struct wire_trail trail;
	struct net_cfg cfg = catalog_cfg();
	struct endmt_receivers r;

	(void)state;
	catalog_find("End.MT request", &s);
	struct cspan frame = {s.frame.bytes, s.frame.len};

	assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, &trail).why,
			 WIRE_DROP_NONE);
	struct cspan tlvs = pkt.net.srh.tlvs;

	assert_int_equal(tlvs.len, 48);
	assert_int_equal(endmt_receivers_get(tlvs, ENDMT_TLV_TYPE, &edge, &r).why, WIRE_DROP_NONE);
	assert_int_equal(r.n, 1);
	struct endmt_receiver one = endmt_receiver_at(&r, 0);
	static const uint8_t address[16] = {0xfd, 0, 0, 0x0b, [15] = 1};

	assert_memory_equal(one.address, address, 16);
	assert_int_equal(one.qpn, 0x0b0001);
	/* Ethernet, IPv6, SRH and two segments, then: */
	static const struct {
		const char *name;
		uint32_t at, len;
	} want[] = {{"endmt_tlv", 94, 24},
		    {"endmt_receiver", 118, 20},
		    {"srh_tlv", 138, 4},
		    {"ipv6", 142, 40}};

	for (unsigned i = 0; i < 4; i++) {
		assert_string_equal(trail.layer[5 + i].layout->name, want[i].name);
		assert_int_equal(trail.layer[5 + i].at, want[i].at);
		assert_int_equal(trail.layer[5 + i].len, want[i].len);
	}
	assert_false(trail.full);
}

/* T-08: by the node's address or by the SID, not by anything else. */
static void an_edge_finds_its_own(void **state)
{
	struct tlvs t = {.len = 0};
	struct endmt_receivers r;

	(void)state;
	add(&t, other, 1, 2);
	add(&t, sid, 3, 1);
	add(&t, node, 4, 3);
	assert_int_equal(get(&t, &r).why, WIRE_DROP_NONE);
	are(&r, 4, (uint32_t[]){3, 4, 5, 6});
	t.len = 0;
	add(&t, other, 1, 2);
	assert_int_equal(get(&t, &r).why, WIRE_DROP_NONE);
	assert_int_equal(r.n, 0);
	t.len = 0;
	assert_int_equal(get(&t, &r).why, WIRE_DROP_NONE);
	assert_int_equal(r.n, 0);
}

/* T-01: several TLVs of an edge are one list; an address that comes again is served once, by its
 * first entry. */
static void tlvs_unite_and_addresses_count_once(void **state)
{
	struct tlvs t = {.len = 0};
	struct endmt_receivers r;

	(void)state;
	add(&t, node, 1, 11);
	add(&t, other, 40, 1);
	uint8_t *again = add(&t, node, 10, 4);

	/* receiver 10 once more, under another number */
	again[endmt_tlv_bytes + 18] = 99;
	assert_int_equal(get(&t, &r).why, WIRE_DROP_NONE);
	are(&r, 13, (uint32_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
	t.len = 0;
	again = add(&t, node, 5, 2);
	memcpy(again + 44, again + 24, 16);
	assert_int_equal(get(&t, &r).why, WIRE_DROP_NONE);
	are(&r, 1, (uint32_t[]){5});
}

/* MT-7.2-01: ignored, whatever stands in them. */
static void reserved_bits_say_nothing(void **state)
{
	struct tlvs t = {.len = 0};
	struct endmt_receivers r;
	uint8_t *tlv = add(&t, node, 1, 2);

	(void)state;
	memset(tlv + 2, 0xff, 2);
	memset(tlv + 21, 0xff, 3);
	tlv[43] = tlv[63] = 0xff;
	assert_int_equal(get(&t, &r).why, WIRE_DROP_NONE);
	are(&r, 2, (uint32_t[]){1, 2});
}

/* T-01: of all lengths and numbers, those of 1 to 11 receivers that agree. */
static void only_lengths_and_numbers_that_agree(void **state)
{
	struct endmt_receivers r;

	(void)state;
	for (uint32_t length = 0; length < 256; length++)
		for (uint32_t count = 0; count < 256; count++) {
			struct tlvs t = {.len = 0};
			bool is_whole = length > 22 && (length - 22) % 20 == 0;
			enum wire_drop why = !is_whole                     ? WIRE_DROP_ENDMT_LENGTH
					     : count != (length - 22) / 20 ? WIRE_DROP_ENDMT_COUNT
									   : WIRE_DROP_NONE;

			add(&t, node, 1, 12);
			t.len = 2 + length;
			t.bytes[1] = (uint8_t)length;
			t.bytes[20] = (uint8_t)count;
			assert_int_equal(get(&t, &r).why, why);
			assert_int_equal(r.n, why == WIRE_DROP_NONE ? count : 0);
		}
}

/* Nobody is served when any of them is malformed, be it another edge's or the last. */
static void one_malformed_spoils_all(void **state)
{
	struct tlvs t = {.len = 0};
	struct endmt_receivers r;

	(void)state;
	add(&t, node, 1, 3);
	uint32_t at = t.len;

	add(&t, other, 4, 2)[20] = 1;
	struct wire_fault fault = get(&t, &r);

	assert_int_equal(fault.why, WIRE_DROP_ENDMT_COUNT);
	assert_int_equal(fault.at, at + 20);
	assert_string_equal(fault.in->name, "endmt_tlv");
	assert_int_equal(r.n, 0);
}

/* T-03: the type is a setting; of another type, and with none, the bytes mean nothing. */
static void the_type_is_a_setting(void **state)
{
	struct tlvs t = {.len = 0};
	struct endmt_receivers r;

	(void)state;
	add(&t, node, 1, 2)[0] = 0x7d;
	add(&t, node, 3, 1)[20] = 9;
	struct cspan tlvs = {t.bytes, t.len};

	assert_int_equal(endmt_receivers_get(tlvs, 0x7d, &edge, &r).why, WIRE_DROP_NONE);
	are(&r, 2, (uint32_t[]){1, 2});
	assert_int_equal(get(&t, &r).why, WIRE_DROP_ENDMT_COUNT);
	assert_int_equal(endmt_receivers_get(tlvs, 0, &edge, &r).why, WIRE_DROP_NONE);
	assert_int_equal(r.n, 0);
}

static void the_type_of_a_deployment(void **state)
{
	static struct sample s;
	struct net_cfg cfg = catalog_cfg();
	struct wire_packet pkt;

	(void)state;
	catalog_damaged(WIRE_DROP_ENDMT_COUNT, &s);
	struct cspan frame = {s.frame.bytes, s.frame.len};

	assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL).why,
			 WIRE_DROP_ENDMT_COUNT);
	cfg.endmt_type = 0x7d;
	assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL).why,
			 WIRE_DROP_NONE);
}

/* The most receivers that the longest header can hold, and the most that the trail shows. */
static void the_fullest_header(void **state)
{
	static struct tlvs t;
	struct endmt_receivers r;
	struct srh srh = {41, 255, SRH_ROUTING_TYPE, 1, 0, 0, 0};
	uint8_t bytes[SRH_MAX];
	struct srh_view v;
	struct wire_trail trail = {.n = 0};

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		add(&t, node, 1 + 11 * i, 11);
	add(&t, node, 89, 2);
	t.bytes[t.len] = SRH_TLV_PADN;
	t.bytes[t.len + 1] = 6;
	t.len += 8;
	assert_int_equal(t.len, SRH_TLVS_MAX);
	assert_int_equal(get(&t, &r).why, WIRE_DROP_NONE);
	assert_int_equal(r.n, ENDMT_RECEIVERS_MAX);
	assert_int_equal(endmt_receiver_at(&r, 89).qpn, 90);
	srh_put(&srh, bytes);
	memset(bytes + srh_bytes, 0, srh_segment_bytes);
	memcpy(bytes + srh_bytes + srh_segment_bytes, t.bytes, t.len);
	struct cursor c = cursor_of((struct cspan){bytes, SRH_MAX});

	assert_int_equal(srh_view_get(&c, ENDMT_TLV_TYPE, &v, &trail).why, WIRE_DROP_NONE);
	assert_int_equal(trail.n, 1 + 1 + 9 + 90 + 1);
	assert_false(trail.full);
}

/* Each prefix of a TLV is looked at where it ends with the memory that it lies in. */
static void every_truncation(void **state)
{
	struct tlvs t = {.len = 0};
	struct endmt_receivers r;

	(void)state;
	add(&t, node, 1, 3);
	for (uint32_t len = 2; len < t.len; len++) {
		uint8_t *copy = malloc(len);

		memcpy(copy, t.bytes, len);
		copy[1] = (uint8_t)(len - 2);
		struct cspan tlv = {copy, len};
		bool is_whole = len == 44 || len == 64;

		assert_int_equal(endmt_tlv_check(tlv, 0, NULL).why,
				 is_whole ? WIRE_DROP_ENDMT_COUNT : WIRE_DROP_ENDMT_LENGTH);
		assert_int_equal(endmt_receivers_get(tlv, ENDMT_TLV_TYPE, &edge, &r).why,
				 is_whole ? WIRE_DROP_ENDMT_COUNT : WIRE_DROP_ENDMT_LENGTH);
		free(copy);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(the_known_header),
	cmocka_unit_test(an_edge_finds_its_own),
	cmocka_unit_test(tlvs_unite_and_addresses_count_once),
	cmocka_unit_test(reserved_bits_say_nothing),
	cmocka_unit_test(only_lengths_and_numbers_that_agree),
	cmocka_unit_test(one_malformed_spoils_all),
	cmocka_unit_test(the_type_is_a_setting),
	cmocka_unit_test(the_type_of_a_deployment),
	cmocka_unit_test(the_fullest_header),
	cmocka_unit_test(every_truncation),
};
CHECK_MAIN(cases)
