/* Segment routing headers: segments, TLVs, and what does not fit. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "wire/endmt.h"
#include "wire/srh.h"

/* Builds a header of n_segments segments and the given TLV bytes; returns its length. */
static uint32_t build(uint8_t *out, uint8_t n_segments, const uint8_t *tlvs, uint32_t n_tlvs)
{
	struct srh srh = {
		.next_header = 41,
		.ext_len = (uint8_t)(n_segments * 2 + n_tlvs / 8),
		.routing_type = SRH_ROUTING_TYPE,
		.segments_left = n_segments,
		.last_entry = (uint8_t)(n_segments - 1),
	};
	uint32_t n = srh_bytes;

	srh_put(&srh, out);
	for (unsigned i = 0; i < n_segments; i++, n += srh_segment_bytes)
		memset(out + n, 0xa0 + (int)i, srh_segment_bytes);
	if (n_tlvs)
		memcpy(out + n, tlvs, n_tlvs);
	return n + n_tlvs;
}

static enum wire_drop parse(const uint8_t *bytes, uint32_t len, struct srh_view *v,
			    struct wire_trail *trail)
{
	struct cursor c = cursor_of((struct cspan){bytes, len});

	if (trail)
		memset(trail, 0, sizeof *trail);
	return srh_view_get(&c, ENDMT_TLV_TYPE, v, trail).why;
}

static void segments_and_no_tlv(void **state)
{
	uint8_t bytes[2048];
	struct srh_view v;
	struct wire_trail trail;

	(void)state;
	for (uint8_t n = 1; n < WIRE_TRAIL_MAX - WIRE_TRAIL_HEADERS; n++) {
		uint32_t len = build(bytes, n, NULL, 0);

		assert_int_equal(parse(bytes, len, &v, &trail), WIRE_DROP_NONE);
		assert_int_equal(srh_n_segments(&v), n);
		assert_int_equal(v.segments.at[0], 0xa0);
		assert_int_equal(v.tlvs.len, 0);
		assert_false(v.has_hmac);
		assert_int_equal(trail.n, n + 1);
	}
}

/* More segments than the trail shows: still read whole, the trail says it is cut, and it has room
 * for the headers behind. */
static void the_longest_header(void **state)
{
	uint8_t bytes[2048 + 8];
	struct srh_view v;
	struct wire_trail trail;

	(void)state;
	uint32_t len = build(bytes, 127, NULL, 0);

	assert_int_equal(parse(bytes, len, &v, &trail), WIRE_DROP_NONE);
	assert_int_equal(srh_n_segments(&v), 127);
	assert_int_equal(trail.n, WIRE_TRAIL_MAX - WIRE_TRAIL_HEADERS);
	assert_true(trail.full);
}

static void hmac_and_padding(void **state)
{
	/* Pad1 twice, PadN of 4, an unknown TLV of 2, pad to 8n, then HMAC of 32 */
	uint8_t tlvs[56] = {0, 0, 4, 2, 0, 0, 99, 0, 5, 38, 0x80, 0, 0, 0, 0xca, 0xfe};
	uint8_t bytes[256];
	struct srh_view v;
	struct wire_trail trail;

	(void)state;
	memset(tlvs + 16, 0x5a, 32);
	uint32_t len = build(bytes, 1, tlvs, 48);

	assert_int_equal(parse(bytes, len, &v, &trail), WIRE_DROP_NONE);
	assert_true(v.has_hmac);
	assert_int_equal(v.hmac.d, 1);
	assert_int_equal(v.hmac.key_id, 0xcafe);
	assert_int_equal(v.hmac_value.len, 32);
	assert_int_equal(v.hmac_value.at[31], 0x5a);
	/* header, segment, PadN, the unknown one, HMAC */
	assert_int_equal(trail.n, 5);
	assert_string_equal(trail.layer[4].layout->name, "srh_hmac");
	assert_int_equal(trail.layer[4].len, 40);
	assert_int_equal(trail.layer[2].at, 24 + 2);
}

static void tlvs_that_do_not_fit(void **state)
{
	static const uint8_t bad[][8] = {
		{4, 7},                   /* one byte beyond the end */
		{4, 255},                 /* far beyond */
		{0, 0, 0, 0, 0, 0, 0, 4}, /* a type without a length */
		{99, 1, 0, 7, 5},         /* the second one too long */
		{5, 6},                   /* an HMAC TLV without an HMAC */
		{5, 5},                   /* shorter than its fixed part */
	};
	uint8_t bytes[256];
	struct srh_view v;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		uint32_t len = build(bytes, 1, bad[i], 8);

		assert_int_equal(parse(bytes, len, &v, NULL), WIRE_DROP_SRH_TLV);
	}
	uint8_t two[96] = {5, 38, [40] = 5, [41] = 38};
	uint8_t odd[24] = {5, 17}, big[64] = {5, 46};

	/* of two HMACs the first counts */
	two[7] = 1, two[47] = 2;
	assert_int_equal(parse(bytes, build(bytes, 1, two, 80), &v, NULL), WIRE_DROP_NONE);
	assert_int_equal(v.hmac.key_id, 1);
	assert_int_equal(parse(bytes, build(bytes, 1, odd, 24), &v, NULL), WIRE_DROP_SRH_TLV);
	assert_int_equal(parse(bytes, build(bytes, 1, big, 48), &v, NULL), WIRE_DROP_SRH_TLV);
	/* a short HMAC is allowed by the format */
	uint8_t small[16] = {5, 14};

	assert_int_equal(parse(bytes, build(bytes, 1, small, 16), &v, NULL), WIRE_DROP_NONE);
	assert_int_equal(v.hmac_value.len, 8);
}

static void lists_that_do_not_fit(void **state)
{
	uint8_t bytes[256];
	struct srh_view v;
	uint32_t len = build(bytes, 2, NULL, 0);

	(void)state;
	bytes[4] = 2;
	assert_int_equal(parse(bytes, len, &v, NULL), WIRE_DROP_SRH_LENGTH);
	build(bytes, 1, NULL, 0);
	bytes[1] =
		0; /* no segment at all: TLVs could not be told from segments (RFC erratum 7081) */
	assert_int_equal(parse(bytes, len, &v, NULL), WIRE_DROP_SRH_LENGTH);
	build(bytes, 2, NULL, 0);
	bytes[2] = 3;
	assert_int_equal(parse(bytes, len, &v, NULL), WIRE_DROP_SRH_TYPE);
}

/* RFC 8754 4.1.1: one past the list is a reduced header, two past is an error. */
static void segments_left_bounds(void **state)
{
	uint8_t bytes[256];
	struct srh_view v;
	uint32_t len = build(bytes, 2, NULL, 0);

	(void)state;
	for (uint8_t left = 0; left < 6; left++) {
		bytes[3] = left;
		assert_int_equal(parse(bytes, len, &v, NULL),
				 left <= 2 ? WIRE_DROP_NONE : WIRE_DROP_SRH_LEFT);
	}
}

static void every_truncation(void **state)
{
	uint8_t tlvs[48] = {4, 6, [8] = 5, 38};
	uint8_t bytes[256];
	struct srh_view v;
	uint32_t whole = build(bytes, 3, tlvs, 48);

	(void)state;
	for (uint32_t len = 0; len < whole; len++) {
		uint8_t *copy = malloc(len ? len : 1);

		memcpy(copy, bytes, len);
		assert_int_equal(parse(copy, len, &v, NULL),
				 len < srh_bytes ? WIRE_DROP_TRUNCATED : WIRE_DROP_SRH_LENGTH);
		free(copy);
	}
	assert_int_equal(parse(bytes, whole, &v, NULL), WIRE_DROP_NONE);
}

/* MRC 11.4: the two container formats name the same bytes. */
static void usid_containers(void **state)
{
	static const uint8_t da[16] = {0xfc, 0x00, 0x00, 0x01, 0x01, 0x02, 0x03, 0x04,
				       0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c};
	struct usid_f3216 a;
	struct usid_f1616 b;

	(void)state;
	usid_f3216_get(da, &a);
	assert_int_equal(a.block, 0xfc000001);
	assert_int_equal(a.usid0, 0x0102);
	assert_int_equal(a.usid5, 0x0b0c);
	usid_f1616_get(da, &b);
	assert_int_equal(b.block, 0xfc00);
	assert_int_equal(b.usid0, 0x0001);
	assert_int_equal(b.usid6, 0x0b0c);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(segments_and_no_tlv),   cmocka_unit_test(the_longest_header),
	cmocka_unit_test(hmac_and_padding),      cmocka_unit_test(tlvs_that_do_not_fit),
	cmocka_unit_test(lists_that_do_not_fit), cmocka_unit_test(segments_left_bounds),
	cmocka_unit_test(every_truncation),      cmocka_unit_test(usid_containers),
};
CHECK_MAIN(cases)
