/* Seals against packets computed elsewhere, against their definition bit by bit, and their change
 * along with bytes of the packet against computing them again. */
#include "check.h"

#include <string.h>

#include "base/crc32.h"
#include "base/prng.h"
#include "vectors.h"
#include "wire/icrc.h"
#include "wire/net.h"
#include "wire/seal.h"

enum { MOST = 600, PIECES = 6, ROUNDS = 20000 };

static const uint8_t cnp[] = {VECTOR_CNP}, sack[] = {VECTOR_SACK}, write[] = {VECTOR_WRITE};
static const struct cspan vectors[] = {
	{cnp, sizeof cnp}, {sack, sizeof sack}, {write, sizeof write}};

static const struct seal *const sums[] = {&seal_icrc, &seal_uet, &seal_uet_native};

/* A packet of End.MT before and after a node made its copy for one receiver: destination, queue
 * pair, hop limit. */
static const uint8_t inner[] = {VECTOR_COPIED}, copied[] = {VECTOR_COPY};

static uint32_t sum_of(const struct seal *s, const uint8_t *at, uint32_t len)
{
	return seal_sum(s, &(struct cspan){at, len}, 1);
}

static void known_packets(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct cspan v = vectors[i];
		uint32_t end = v.len - seal_icrc.tail_bytes, crc = sum_of(&seal_icrc, v.at, end);
		uint8_t tail[4];

		assert_int_equal(crc, seal_get(&seal_icrc, v.at + end));
		assert_int_equal(crc, icrc_of((struct cspan){v.at, end}));
		seal_put(&seal_icrc, tail, crc);
		assert_memory_equal(tail, v.at + end, 4);
	}
}

/* U-28: 32 zeros have 8a9136aa, which stands in the packet so. */
static void crc32c_as_uet_sends_it(void **state)
{
	static const uint8_t zeros[32], want[4] = {0x8a, 0x91, 0x36, 0xaa};
	uint8_t tail[4];

	(void)state;
	seal_put(&seal_uet, tail, crc32c_update(0, zeros, sizeof zeros));
	assert_memory_equal(tail, want, 4);
	assert_int_equal(seal_get(&seal_uet, tail), 0x8a9136aa);
}

static bool is_listed(const uint8_t *list, uint32_t byte)
{
	for (; *list; list++)
		if (*list == byte)
			return true;
	return false;
}

/* What changes the CRC is exactly what the rule covers. Byte 0 says how to read the rest. */
static void covers(const struct seal *s, uint8_t *packet, uint32_t len, uint32_t from,
		   const uint8_t *masked)
{
	uint32_t right = sum_of(s, packet, len);

	for (uint32_t bit = 8; bit < 8 * len; bit++) {
		bool is_covered = bit / 8 >= from && !is_listed(masked, bit / 8);

		packet[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		if ((sum_of(s, packet, len) != right) != is_covered)
			fail_msg("%s, version %u: bit %u of byte %u", s->name, packet[0] >> 4,
				 bit % 8, bit / 8);
		packet[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
	}
}

static void covers_what_its_rule_says(void **state)
{
	static const struct {
		const struct seal *seal;
		uint8_t first, from, masked[9];
	} table[] = {
		{&seal_icrc, 0x45, 0, {1, 8, 10, 11, 26, 27, 32}},
		{&seal_icrc, 0x60, 0, {1, 2, 3, 7, 46, 47, 52}},
		{&seal_uet, 0x45, 12, {26, 27}},
		{&seal_uet, 0x60, 8, {46, 47}},
		{&seal_uet_native, 0x45, 12, {0}},
		{&seal_uet_native, 0x60, 8, {0}},
	};
	struct prng rng;
	uint8_t packet[100];

	(void)state;
	prng_init(&rng, check_seed(1), 0);
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		for (uint32_t k = 0; k < sizeof packet; k++)
			packet[k] = (uint8_t)prng_u32(&rng);
		packet[0] = table[i].first;
		covers(table[i].seal, packet, sizeof packet, table[i].from, table[i].masked);
	}
}

/* The rule of UE 3.5.25 written down again: nothing but the UDP checksum is left out. */
static void uet_by_its_words(void **state)
{
	uint8_t packet[90] = {0x60}, covered[82];

	(void)state;
	for (uint32_t i = 1; i < sizeof packet; i++)
		packet[i] = (uint8_t)i;
	memcpy(covered, packet + 8, sizeof covered);
	assert_int_equal(sum_of(&seal_uet_native, packet, sizeof packet),
			 crc32c_update(0, covered, sizeof covered));
	memset(covered + ipv6_bytes - 8 + 6, 0, 2);
	assert_int_equal(sum_of(&seal_uet, packet, sizeof packet),
			 crc32c_update(0, covered, sizeof covered));
}

static void draw_packet(struct prng *rng, uint8_t packet[MOST], uint32_t *len)
{
	*len = (uint32_t)prng_range(rng, SEAL_FRONT_MAX, MOST);
	for (uint32_t i = 0; i < *len; i++)
		packet[i] = (uint8_t)prng_u32(rng);
	packet[0] = prng_chance(rng, 1, 2) ? 0x45 : 0x60;
}

/* Cuts a packet anywhere; a piece of nothing but zeros is virtual. */
static uint32_t cut(struct prng *rng, const uint8_t *packet, uint32_t len,
		    struct cspan pieces[PIECES])
{
	uint32_t n = 0, at = 0;

	while (at < len) {
		uint32_t left = len - at, here = (uint32_t)prng_range(rng, n > 0 ? 0 : 1, left);
		const uint8_t *from = packet + at;
		bool is_zero = n > 0;

		here = n + 1 == PIECES ? left : here;
		for (uint32_t i = 0; i < here; i++)
			is_zero &= from[i] == 0;
		pieces[n++] = (struct cspan){is_zero ? NULL : from, here};
		at += here;
	}
	return n;
}

static void pieces_and_zeros_nobody_stores(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(2), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		const struct seal *s = sums[prng_below(&rng, 3)];
		struct cspan pieces[PIECES];
		uint8_t packet[MOST];
		uint32_t len, zeros;

		draw_packet(&rng, packet, &len);
		zeros = (uint32_t)prng_range(&rng, 1, len - 1);
		memset(packet + zeros, 0, (uint32_t)prng_range(&rng, 0, len - zeros));
		uint32_t n = cut(&rng, packet, len, pieces);

		assert_int_equal(seal_sum(s, pieces, n), sum_of(s, packet, len));
	}
}

static void changes_as_if_computed_again(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(3), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		const struct seal *s = sums[prng_below(&rng, 3)];
		uint8_t was[MOST], is[MOST];
		uint32_t end, crc;

		draw_packet(&rng, was, &end);
		memcpy(is, was, end);
		crc = sum_of(s, was, end);
		for (uint64_t k = prng_below(&rng, 4); k > 0; k--) {
			struct seal_change c = {.end = end, .is_v4 = was[0] >> 4 == 4};
			uint8_t before[MOST];

			c.at = (uint32_t)prng_range(&rng, 1, end);
			c.len = (uint32_t)prng_range(&rng, 0, end - c.at);
			memcpy(before, is, end);
			for (uint32_t i = 0; i < c.len; i++)
				is[c.at + i] = (uint8_t)prng_u32(&rng);
			c.was = before + c.at;
			c.is = is + c.at;
			crc ^= seal_difference(s, &c);
		}
		assert_int_equal(crc, sum_of(s, is, end));
	}
}

/* The packets of WIRE.md's End.MT vectors; a damaged original stays damaged (T-13). */
static void a_copy_of_end_mt(void **state)
{
	uint32_t end = sizeof inner - 4;
	struct seal_change c = {inner + 7, copied + 7, 7, end - 7, end, false};
	uint32_t difference = seal_difference(&seal_icrc, &c);
	uint8_t bad[sizeof copied];

	(void)state;
	assert_int_equal(sizeof inner, sizeof copied);
	assert_int_equal(sum_of(&seal_icrc, inner, end), seal_get(&seal_icrc, inner + end));
	assert_int_equal(seal_get(&seal_icrc, inner + end) ^ difference,
			 seal_get(&seal_icrc, copied + end));
	memcpy(bad, copied, sizeof bad);
	bad[end - 1] ^= 4;
	assert_true((seal_get(&seal_icrc, inner + end) ^ difference) !=
		    sum_of(&seal_icrc, bad, end));
}

/* WIRE.md 2.1, 3.1 and 3.5. */
static void shapes_fit_the_room_that_is_left(void **state)
{
	static const struct {
		const struct seal *seal;
		uint8_t head, tail;
	} table[] = {
		{&seal_none, 0, 0},      {&seal_icrc, 0, 4},         {&seal_uet, 0, 4},
		{&seal_psp, 16, 16},     {&seal_psp_cookie, 24, 16}, {&seal_tss, 12, 16},
		{&seal_tss_ssi, 16, 16}, {&seal_uet_native, 0, 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		const struct seal *s = table[i].seal;

		assert_int_equal(s->head_bytes, table[i].head);
		assert_int_equal(s->tail_bytes, table[i].tail);
		assert_true(s->head_bytes <= SEAL_HEAD_MAX && s->tail_bytes <= SEAL_TAIL_MAX);
		assert_true(s->front[0].to <= SEAL_FRONT_MAX && s->front[1].to <= SEAL_FRONT_MAX);
		assert_true(s->front[0].from <= s->front[0].to);
		assert_true(s->front[1].from <= s->front[1].to);
		assert_true(!seal_is_crc(s) || s->tail_bytes == 4);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(known_packets),
	cmocka_unit_test(crc32c_as_uet_sends_it),
	cmocka_unit_test(covers_what_its_rule_says),
	cmocka_unit_test(uet_by_its_words),
	cmocka_unit_test(pieces_and_zeros_nobody_stores),
	cmocka_unit_test(changes_as_if_computed_again),
	cmocka_unit_test(a_copy_of_end_mt),
	cmocka_unit_test(shapes_fit_the_room_that_is_left),
};
CHECK_MAIN(cases)
