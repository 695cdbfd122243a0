/* base/keystream.h: the block function against RFC 8439, the generator against a naive one that
 * makes a byte at a time, frozen outputs, and that nothing handed out stays behind. */
#include "base/keystream.h"
#include "base/prng.h"
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define STEP_BYTES (KEYSTREAM_BLOCKS * CHACHA20_BLOCK_BYTES - CHACHA20_KEY_BYTES)

static void from_hex(uint8_t *out, const char *hex)
{
	for (size_t i = 0; hex[2 * i]; i++) {
		unsigned v;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
		out[i] = (uint8_t)v;
	}
}

static void assert_hex(const uint8_t *got, const char *hex)
{
	uint8_t want[64];

	from_hex(want, hex);
	assert_memory_equal(got, want, strlen(hex) / 2);
}

#define ZERO_KEY "0000000000000000000000000000000000000000000000000000000000000000"

static void block_matches_rfc8439(void **state)
{
	static const struct {
		const char *key, *nonce, *out; /* section 2.3.2, then appendix A.1, 1 to 5 */
		uint32_t counter;
	} cases[] = {
		{"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		 "000000090000004a00000000",
		 "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
		 "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
		 1},
		{ZERO_KEY, "000000000000000000000000",
		 "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
		 "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
		 0},
		{ZERO_KEY, "000000000000000000000000",
		 "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
		 "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
		 1},
		{"0000000000000000000000000000000000000000000000000000000000000001",
		 "000000000000000000000000",
		 "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
		 "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
		 1},
		{"00ff000000000000000000000000000000000000000000000000000000000000",
		 "000000000000000000000000",
		 "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
		 "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
		 2},
		{ZERO_KEY, "000000000000000000000002",
		 "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
		 "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
		 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t key[32], nonce[12], out[64];

		from_hex(key, cases[i].key);
		from_hex(nonce, cases[i].nonce);
		chacha20_block(out, key, cases[i].counter, nonce);
		assert_hex(out, cases[i].out);
	}
}

/* Frozen, from a second implementation: a change here changes every recorded simulation. The bytes
 * from 220 on cross the first refill. */
struct golden {
	const char *first, *at_220, *before_100000;
};

static void assert_golden(struct keystream *k, const struct golden *want)
{
	static uint8_t out[100000];

	keystream_fill(k, out, sizeof out);
	assert_hex(out, want->first);
	assert_hex(out + 220, want->at_220);
	assert_hex(out + sizeof out - 32, want->before_100000);
}

static void stream_of_a_key_never_changes(void **state)
{
	static const struct golden want = {
		"2b23cce7a26023ab3f0eef693ac87f64258235eab1f7a32dc22762a0485b410c",
		"e4ae3b2c2d41a59c90e41a8e7a4dccaa1c46069983b1a333ce25719ec3437768",
		"787ea2037258a27a2987e4780c02b37bf389d95276733e46e4e8e45b56b9eeef",
	};
	struct keystream k;
	uint8_t key[32];

	(void)state;
	for (int i = 0; i < 32; i++)
		key[i] = (uint8_t)i;
	keystream_init(&k, key);
	assert_golden(&k, &want);
}

static void stream_of_a_seed_never_changes(void **state)
{
	static const struct {
		uint64_t seed;
		struct golden want;
	} cases[] = {
		{0,
		 {"ef2c3e06b98ca29cb033095e12e8f0c9a072a863f2518d4e53df3d7a6909e9cf",
		  "55cb2def6548b8b32705eb4e56c37dc047d8682839e690d23bdc449a03e7cf43",
		  "16f9784efdbd4428021152348a999e1f889a0d03283bb772da9662b35cf11b78"}},
		{1,
		 {"26d56a94b7e2a830581db548511c32bf9155470a5ef82f824f54a87859ce4206",
		  "c1ff05b1bb6af1ce1cf7916a1fb229104d12028e3f02271d3e1065ce0dfc9055",
		  "122439948b5ccb071776b50cc21736b61c3765d7a61a03308bf6357091826193"}},
		{0x123456789abcdef0,
		 {"e65fc96891cfeafac03354278f4760755794a15df9b8906c06c474adf04b6f18",
		  "387f3da755bda13db4abb958d3198eadea5db5d1cb6d663e4bba8fea1ab6eb79",
		  "090f70f7dd698f6a4964c396c2c0ccb519dafe7f0e2d5128f6e6dc064396f73b"}},
		{UINT64_MAX,
		 {"4d5eec2f183e122e66dbcca370f66ec4bcb0091906068008cc7f9b973fd8fcd8",
		  "97c9b889f06c4f40df769136e192a1652fbb9bfb878de2b44f1cefa7f00747fd",
		  "4ae907ed47b27d5b3b8dcbfd184d7eb438842dcbf2ece21df6b5fa9d146dc939"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct keystream k;

		keystream_from_seed(&k, cases[i].seed);
		assert_golden(&k, &cases[i].want);
	}
}

/* The naive generator: one byte at a time, from whole steps of four blocks. */
struct model {
	uint8_t key[32], step[256];
	uint32_t at;
};

static uint8_t model_byte(struct model *m)
{
	static const uint8_t nonce[12];

	if (m->at == 256) {
		for (uint32_t i = 0; i < 4; i++)
			chacha20_block(m->step + 64 * i, m->key, i, nonce);
		memcpy(m->key, m->step, 32);
		m->at = 32;
	}
	return m->step[m->at++];
}

static uint64_t model_number(struct model *m, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)model_byte(m) << 8 * i;
	return v;
}

static uint32_t model_below(struct model *m, uint32_t bound)
{
	uint64_t unfair = (UINT64_C(1) << 32) % bound;

	for (;;) {
		uint64_t product = model_number(m, 4) * bound;

		if ((uint32_t)product >= unfair)
			return (uint32_t)(product >> 32);
	}
}

static void model_fill(struct keystream *k, struct model *m, size_t n)
{
	uint8_t got[700], want[700];

	memset(got, 0xa5, sizeof got);
	memset(want, 0xa5, sizeof want);
	keystream_fill(k, got + 8, n);
	for (size_t i = 0; i < n; i++)
		want[8 + i] = model_byte(m);
	assert_memory_equal(got, want, sizeof got);
}

/* Mostly short fills; some longer than a whole step. */
static size_t any_length(struct prng *pick)
{
	return (size_t)prng_below(pick, prng_chance(pick, 1, 32) ? 3 * STEP_BYTES : 24);
}

static void one_draw(struct keystream *k, struct model *m, struct prng *pick)
{
	uint32_t bound = prng_u32(pick) >> prng_below(pick, 32);

	switch (prng_below(pick, 4)) {
	case 0: assert_true(keystream_u32(k) == model_number(m, 4)); break;
	case 1: assert_true(keystream_u64(k) == model_number(m, 8)); break;
	case 2:
		bound = bound ? bound : 1;
		assert_true(keystream_below(k, bound) == model_below(m, bound));
		break;
	default: model_fill(k, m, any_length(pick));
	}
}

static void every_draw_matches_a_naive_one(void **state)
{
	struct keystream k;
	struct model m = {.at = 256};
	struct prng pick;

	(void)state;
	prng_init(&pick, check_seed(5), 0);
	prng_fill(&pick, m.key, sizeof m.key);
	keystream_init(&k, m.key);
	for (int op = 0; op < 1000000; op++)
		one_draw(&k, &m, &pick);
}

static void filling_nothing_changes_nothing(void **state)
{
	struct keystream k, before;

	(void)state;
	keystream_from_seed(&k, 1);
	memcpy(&before, &k, sizeof k);
	keystream_fill(&k, NULL, 0);
	assert_memory_equal(&k, &before, sizeof k);
}

static bool holds(const struct keystream *k, const uint8_t *needle, size_t n)
{
	const uint8_t *hay = (const uint8_t *)k;

	for (size_t i = 0; i + n <= sizeof *k; i++)
		if (memcmp(hay + i, needle, n) == 0)
			return true;
	return false;
}

/* Whoever reads the state after a draw finds neither the output nor the key that made it. */
static void nothing_handed_out_stays_behind(void **state)
{
	uint8_t key[32];
	struct keystream k;

	(void)state;
	for (int i = 0; i < 32; i++)
		key[i] = (uint8_t)(7 * i + 1);
	keystream_init(&k, key);
	for (size_t drawn = 0; drawn < 3 * STEP_BYTES; drawn += 8) {
		uint8_t out[8], before[32];

		memcpy(before, k.key, sizeof before);
		keystream_fill(&k, out, sizeof out);
		assert_false(holds(&k, out, sizeof out));
		for (uint32_t i = 0; i < k.used; i++)
			assert_int_equal(k.pool[i], 0);
		if (drawn % STEP_BYTES == 0)
			assert_false(holds(&k, before, 8));
		else
			assert_memory_equal(k.key, before, sizeof before);
	}
	keystream_u32(&k);
	keystream_fini(&k);
	for (size_t i = 0; i < sizeof k; i++)
		assert_int_equal(((const uint8_t *)&k)[i], 0);
}

static void one_bit_of_key_changes_half_the_stream(void **state)
{
	(void)state;
	for (int bit = 0; bit < 256; bit++) {
		uint8_t key[32] = {0};
		struct keystream a, b;
		int differ = 0;

		keystream_init(&a, key);
		key[bit / 8] ^= (uint8_t)(1 << bit % 8);
		keystream_init(&b, key);
		for (int i = 0; i < 64; i++)
			differ += __builtin_popcountll(keystream_u64(&a) ^ keystream_u64(&b));
		/* Of 4096 bits; the deviation is 32. */
		assert_in_range(differ, 2048 - 160, 2048 + 160);
	}
}

static double chi_square(const uint32_t *count, size_t cells, double total)
{
	double sum = 0, want = total / (double)cells;

	for (size_t i = 0; i < cells; i++)
		sum += ((double)count[i] - want) * ((double)count[i] - want) / want;
	return sum;
}

static void numbers_are_even(void **state)
{
	const int n = 300000;
	uint32_t byte[256] = {0}, residue[3] = {0}, die[6] = {0};
	struct keystream k;

	(void)state;
	keystream_from_seed(&k, 6);
	for (int i = 0; i < n; i++) {
		uint8_t b;

		keystream_fill(&k, &b, 1);
		byte[b]++;
		residue[keystream_below(&k, UINT32_C(3) << 30) % 3]++;
		die[keystream_below(&k, 6)]++;
	}
	/* Five deviations, as fixed seeds allow; then one chance in a million for 2 and 5 degrees.
	 */
	assert_true(chi_square(byte, 256, n) > 142 && chi_square(byte, 256, n) < 368);
	assert_true(chi_square(residue, 3, n) < 28);
	assert_true(chi_square(die, 6, n) < 36);
}

static void draw_from_zeros(void *context)
{
	struct keystream *k = context;

	memset(k, 0, sizeof *k);
	keystream_u32(k);
}

static void draw_after_fini(void *context)
{
	struct keystream *k = context;

	keystream_from_seed(k, 1);
	keystream_u32(k);
	keystream_fini(k);
	keystream_u64(k);
}

static void draw_below_zero(void *context)
{
	struct keystream *k = context;

	keystream_from_seed(k, 1);
	keystream_below(k, 0);
}

static void draw_properly(void *context)
{
	struct keystream *k = context;

	keystream_from_seed(k, 1);
	keystream_u32(k);
}

/* A state without a key would give the same "random" numbers everywhere. */
static void drawing_without_a_key_aborts(void **state)
{
	struct keystream k;

	(void)state;
	assert_false(check_aborts(draw_properly, &k));
	assert_true(check_aborts(draw_from_zeros, &k));
	assert_true(check_aborts(draw_after_fini, &k));
	assert_true(check_aborts(draw_below_zero, &k));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(block_matches_rfc8439),
	cmocka_unit_test(stream_of_a_key_never_changes),
	cmocka_unit_test(stream_of_a_seed_never_changes),
	cmocka_unit_test(every_draw_matches_a_naive_one),
	cmocka_unit_test(filling_nothing_changes_nothing),
	cmocka_unit_test(nothing_handed_out_stays_behind),
	cmocka_unit_test(one_bit_of_key_changes_half_the_stream),
	cmocka_unit_test(numbers_are_even),
	cmocka_unit_test(drawing_without_a_key_aborts),
};

CHECK_MAIN(cases)
