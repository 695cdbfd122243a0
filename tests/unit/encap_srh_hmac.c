/* The HMAC of segment routing headers: the known one, what it covers and what it does not. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "catalog.h"
#include "encap/srh_hmac.h"
#include "wire/srh_plan.h"

static const uint8_t headend[16] = {0xfd, 0, 0, 0x0e, [15] = 1};
static const struct cspan key = {(const uint8_t *)"weft", 4};
static const struct srh_segment segments[2] = {{{0xfd, 0, 0, 9, [15] = 1}},
					       {{0xfc, 0xbb, 0xbb, 0, 0xe0, 1}}};
static const struct endmt_receiver receiver = {{0xfd, 0, 0, 0x0b, [15] = 1}, 0x0b0001, 0};
static const struct srh_edge edge = {{0xfc, 0xbb, 0xbb, 0, 0xe0, 1, [15] = 1}, &receiver, 1};
/* Computed apart from the code. */
static const uint8_t known[32] = {0xf9, 0x24, 0x9a, 0x58, 0xfb, 0x47, 0xe4, 0xb4, 0xbe, 0x99, 0x16,
				  0x35, 0xe9, 0x5b, 0xc7, 0x37, 0x71, 0x50, 0xaf, 0x2f, 0xfa, 0x29,
				  0x33, 0x6e, 0xe0, 0x8b, 0x90, 0xe1, 0x5b, 0x2e, 0x25, 0x2a};

static uint8_t bytes[SRH_MAX];

/* One receiver, padded, and an HMAC still to be made: 128 bytes. */
static struct span unsigned_header(void)
{
	const struct srh_plan plan = {
		.next_header = 41,
		.segments_left = 1,
		.flags = SRH_FLAG_HMAC,
		.segments = segments,
		.n_segments = 2,
		.endmt_type = ENDMT_TLV_TYPE,
		.edges = &edge,
		.n_edges = 1,
		.has_hmac = true,
		.key_id = 7,
	};

	assert_int_equal(srh_plan_put(&plan, (struct span){bytes, sizeof bytes}), 128);
	return (struct span){bytes, 128};
}

static struct srh_view view_of(struct span header)
{
	struct cursor c = cursor_of((struct cspan){header.at, header.len});
	struct srh_view v;

	assert_int_equal(srh_view_get(&c, ENDMT_TLV_TYPE, &v, NULL).why, WIRE_DROP_NONE);
	return v;
}

/* T-12, byte for byte: in the last 32 of the header, where Linux looks for it. */
static void the_known_hmac(void **state)
{
	uint8_t before[96];
	struct span header = unsigned_header();

	(void)state;
	memcpy(before, bytes, sizeof before);
	assert_int_equal(srh_hmac_sign(header, headend, key), 0);
	assert_memory_equal(bytes + 96, known, 32);
	assert_memory_equal(bytes, before, sizeof before);
	struct srh_view v = view_of(header);

	assert_true(srh_hmac_is_right(&v, headend, key));
}

/* The same, of a header that stands in a packet. */
static void of_a_packet(void **state)
{
	static struct sample s;
	struct wire_packet pkt;
	struct net_cfg cfg = catalog_cfg();

	(void)state;
	catalog_find("End.MT request, two edges, HMAC", &s);
	struct cspan frame = {s.frame.bytes, s.frame.len};

	assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &pkt, NULL).why,
			 WIRE_DROP_NONE);
	assert_true(srh_hmac_is_right(&pkt.net.srh, pkt.net.ip[0].v6.src, key));
}

/* Each bit of the header, one at a time: those that are covered spoil it, no other does. */
static void what_it_covers(void **state)
{
	struct span header = unsigned_header();

	(void)state;
	assert_int_equal(srh_hmac_sign(header, headend, key), 0);
	for (uint32_t bit = 0; bit < 128 * 8; bit++) {
		uint32_t at = bit / 8;
		/* Flags, segments, key id, HMAC; a changed Last Entry moves all that follows. */
		bool is_covered = at == 5 || (at >= 8 && at < 40) || at >= 92;
		/* next header, segments left, tag, receivers, padding's bytes, D */
		bool is_free = at == 0 || at == 3 || at == 6 || at == 7 || (at >= 44 && at < 60) ||
			       (at >= 61 && at < 84) || at == 86 || at == 87 || at == 90 ||
			       at == 91;
		struct srh_view v;

		if (!is_covered && !is_free)
			continue;
		bytes[at] ^= (uint8_t)(0x80 >> bit % 8);
		struct cursor c = cursor_of((struct cspan){bytes, 128});

		/* segments left may point past the list */
		if (srh_view_get(&c, 0, &v, NULL).why == WIRE_DROP_NONE)
			assert_int_equal(srh_hmac_is_right(&v, headend, key), !is_covered);
		bytes[at] ^= (uint8_t)(0x80 >> bit % 8);
	}
	struct srh_view v = view_of(header);

	v.head.last_entry++;
	assert_false(srh_hmac_is_right(&v, headend, key));
	for (uint32_t bit = 0; bit < 128; bit++) {
		uint8_t src[16];

		memcpy(src, headend, sizeof src);
		src[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		v = view_of(header);
		assert_false(srh_hmac_is_right(&v, src, key));
	}
	assert_false(srh_hmac_is_right(&v, headend, (struct cspan){(const uint8_t *)"wefu", 4}));
	assert_false(srh_hmac_is_right(&v, headend, (struct cspan){(const uint8_t *)"weft", 3}));
	assert_true(srh_hmac_is_right(&v, headend, key));
}

/* An empty key and one longer than a block of the hash are keys too. */
static void keys_of_any_length(void **state)
{
	static const uint8_t letters[201] = {[0] = 'a', [199] = 'z'};
	struct span header = unsigned_header();

	(void)state;
	for (uint32_t len = 0; len < sizeof letters; len++) {
		struct cspan one = {len ? letters : NULL, len};
		struct cspan other = {letters + 1, len};
		struct srh_view v;

		assert_int_equal(srh_hmac_sign(header, headend, one), 0);
		v = view_of(header);
		assert_true(srh_hmac_is_right(&v, headend, one));
		assert_false(srh_hmac_is_right(&v, headend, key));
		/* zeros behind a key that fits a block are no other key */
		if (len > 64)
			assert_false(srh_hmac_is_right(&v, headend, other));
	}
}

/* The longest list of segments, and headers that cannot be signed. */
static void headers_of_any_kind(void **state)
{
	static struct srh_segment many[124];
	struct srh_plan plan = {
		.segments = many, .n_segments = 124, .segments_left = 1, .has_hmac = true};
	struct span header = {bytes, 8 + 124 * 16 + 40};
	uint8_t copy[SRH_MAX];

	(void)state;
	assert_int_equal(srh_plan_put(&plan, (struct span){bytes, sizeof bytes}), header.len);
	assert_int_equal(srh_hmac_sign(header, headend, key), 0);
	struct srh_view v = view_of(header);

	assert_true(srh_hmac_is_right(&v, headend, key));
	bytes[8 + 124 * 16 - 1] ^= 1;
	assert_false(srh_hmac_is_right(&v, headend, key));
	header.len--;
	assert_int_equal(srh_hmac_sign(header, headend, key), -EINVAL);
	plan.has_hmac = false;
	header.len = 8 + 124 * 16;
	assert_int_equal(srh_plan_put(&plan, (struct span){bytes, sizeof bytes}), header.len);
	memcpy(copy, bytes, sizeof copy);
	assert_int_equal(srh_hmac_sign(header, headend, key), -EINVAL);
	assert_memory_equal(copy, bytes, sizeof copy);
	v = view_of(header);
	assert_false(srh_hmac_is_right(&v, headend, key));
}

/* RFC 8754 allows 8 bytes of an HMAC: here they are no proof. */
static void a_short_hmac_is_not_right(void **state)
{
	struct span header = unsigned_header();

	(void)state;
	assert_int_equal(srh_hmac_sign(header, headend, key), 0);
	bytes[1] -= 3;
	bytes[89] -= 24;
	header.len -= 24;
	struct srh_view v = view_of(header);

	assert_int_equal(v.hmac_value.len, 8);
	assert_memory_equal(v.hmac_value.at, known, 8);
	assert_false(srh_hmac_is_right(&v, headend, key));
	assert_int_equal(srh_hmac_sign(header, headend, key), -EINVAL);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(the_known_hmac),      cmocka_unit_test(of_a_packet),
	cmocka_unit_test(what_it_covers),      cmocka_unit_test(keys_of_any_length),
	cmocka_unit_test(headers_of_any_kind), cmocka_unit_test(a_short_hmac_is_not_right),
};
CHECK_MAIN(cases)
