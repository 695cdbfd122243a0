/* base/prng.h: published answers, our own answers frozen, each draw against a naive one, and enough
 * statistics to notice a broken mixer or two streams that follow each other. */
#include "base/prng.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

/* The numbers published with the reference code, from seed 1234567. */
static void splitmix64_gives_published_numbers(void **state)
{
	static const uint64_t want[] = {
		UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
		UINT64_C(16408922859458223821),
	};
	uint64_t s = 1234567;

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
		assert_true(prng_splitmix64(&s) == want[i]);
}

/* The numbers other implementations of xoshiro256** publish for the state 1, 2, 3, 4. */
static void xoshiro_gives_published_numbers(void **state)
{
	static const uint64_t want[] = {
		UINT64_C(11520),
		UINT64_C(0),
		UINT64_C(1509978240),
		UINT64_C(1215971899390074240),
		UINT64_C(1216172134540287360),
		UINT64_C(607988272756665600),
		UINT64_C(16172922978634559625),
		UINT64_C(8476171486693032832),
		UINT64_C(10595114339597558777),
		UINT64_C(2904607092377533576),
	};
	struct prng p = {{1, 2, 3, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
		assert_true(prng_u64(&p) == want[i]);
}

/* Frozen: a change here changes every recorded simulation. Computed by a second implementation. */
static void streams_never_change(void **state)
{
	static const struct {
		uint64_t seed, stream, first[4], thousandth;
	} want[] = {
		{0,
		 0,
		 {0xb1d87104d7a15709, 0xd9edbc9b47ce4cd3, 0xd72c7b4f1a834460, 0xb427763823dc0769},
		 0x361a8ce00bba4cc6},
		{0,
		 1,
		 {0x7679a0fb9e8248c6, 0xc91d5055965b4e07, 0x84dd600192f796bb, 0x4c9d184f5606248a},
		 0xb42f2ab99c99f88e},
		{1,
		 0,
		 {0xdc3642ff5de5321d, 0xed50de1820a72d88, 0xc02a5bca554f2d13, 0x879158b2e6ea06af},
		 0x17fe2e940d47f8dd},
		{42,
		 7,
		 {0xe521ec163cabb9ba, 0x324947f046da569f, 0x57f70d812e1aa87b, 0x81f475a3c15fab52},
		 0xd6dd0b28f38b7c3c},
		{UINT64_MAX,
		 UINT64_MAX,
		 {0x03fbfb124ccb31a0, 0x66e1134277a0d8d0, 0xefd73a2004ed29d0, 0xc1e15a44fba9b1f6},
		 0x5a2818ae57ae5837},
	};

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		struct prng p;
		uint64_t v = 0;

		prng_init(&p, want[i].seed, want[i].stream);
		for (int k = 0; k < 1000; k++) {
			v = prng_u64(&p);
			if (k < 4)
				assert_true(v == want[i].first[k]);
		}
		assert_true(v == want[i].thousandth);
	}
}

static void children_never_change_and_leave_the_parent_alone(void **state)
{
	static const uint64_t want[2][2] = {
		{0x0f1356eda4efc758, 0x33167e2193bc185f},
		{0x6b4bcf572f807cd5, 0xaedddc70789699a2},
	};
	struct prng parent, before, child;

	(void)state;
	prng_init(&parent, 42, 7);
	before = parent;
	for (uint64_t id = 2; id-- > 0;) {
		prng_split(&child, &parent, id);
		assert_true(prng_u64(&child) == want[id][0]);
		assert_true(prng_u64(&child) == want[id][1]);
	}
	assert_memory_equal(&parent, &before, sizeof parent);

	/* A parent that moved on has other children. */
	prng_u64(&parent);
	prng_split(&child, &parent, 0);
	assert_true(prng_u64(&child) != want[0][0]);
}

/* What each call must return, from the same numbers, without a shortcut. */
static uint64_t naive_below(struct prng *p, uint64_t bound)
{
	uint64_t unfair = (uint64_t)(((u128)1 << 64) % bound);

	for (;;) {
		u128 product = (u128)prng_u64(p) * bound;

		if ((uint64_t)product >= unfair)
			return (uint64_t)(product >> 64);
	}
}

static void naive_fill(struct prng *p, uint8_t *out, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		if (i % 8 == 0)
			v = prng_u64(p);
		out[i] = (uint8_t)(v >> 8 * (i % 8));
	}
}

/* Small, large, powers of two and their neighbours; never 0. */
static uint64_t any_bound(struct prng *pick)
{
	uint64_t v = prng_u64(pick) >> prng_u64(pick) % 64;

	switch (prng_u64(pick) % 4) {
	case 0: v = UINT64_C(1) << prng_u64(pick) % 64; break;
	case 1: v = (UINT64_C(1) << prng_u64(pick) % 64) + 1; break;
	case 2: v = UINT64_MAX - v % 4; break;
	}
	return v ? v : 1;
}

static void check_fill(struct prng *p, struct prng *model, size_t n)
{
	uint8_t got[80], want[80];

	memset(got, 0xa5, sizeof got);
	memset(want, 0xa5, sizeof want);
	prng_fill(p, got + 8, n);
	naive_fill(model, want + 8, n);
	assert_memory_equal(got, want, sizeof got);
}

static void one_draw(struct prng *p, struct prng *model, struct prng *pick)
{
	uint64_t bound = any_bound(pick), low = prng_u64(pick), num = prng_u64(pick) % bound;

	switch (prng_u64(pick) % 6) {
	case 0: assert_true(prng_u32(p) == (uint32_t)(prng_u64(model) >> 32)); break;
	case 1: assert_true(prng_below(p, bound) == naive_below(model, bound)); break;
	case 2:
		if (low > UINT64_MAX - (bound - 1))
			low = UINT64_MAX - (bound - 1);
		assert_true(prng_range(p, low, low + (bound - 1)) ==
			    low + naive_below(model, bound));
		break;
	case 3: assert_true(prng_chance(p, num, bound) == (naive_below(model, bound) < num)); break;
	case 4:
		assert_true(prng_f64(p) == (double)(prng_u64(model) / 2048) / 9007199254740992.0);
		break;
	default: check_fill(p, model, (size_t)(num % 64));
	}
	assert_memory_equal(p, model, sizeof *p);
}

static void every_draw_matches_a_naive_one(void **state)
{
	struct prng p, model, pick;
	uint64_t seed = check_seed(4);

	(void)state;
	prng_init(&p, seed, 0);
	model = p;
	prng_init(&pick, seed, 1);
	for (int op = 0; op < 1200000; op++)
		one_draw(&p, &model, &pick);
}

static void certain_answers_are_certain_and_still_draw(void **state)
{
	struct prng p, model;

	(void)state;
	prng_init(&p, 5, 0);
	model = p;
	for (int i = 0; i < 1000; i++) {
		assert_true(prng_below(&p, 1) == 0);
		assert_false(prng_chance(&p, 0, 8));
		assert_true(prng_chance(&p, 8, 8));
		assert_true(prng_range(&p, 77, 77) == 77);
		assert_true(prng_range(&p, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
		for (int k = 0; k < 5; k++)
			prng_u64(&model);
		assert_true(prng_range(&p, 0, UINT64_MAX) == prng_u64(&model));
	}
	assert_memory_equal(&p, &model, sizeof p);
}

/* Chi-square of counts against equal chances. */
static double chi_square(const uint32_t *count, size_t cells, double total)
{
	double sum = 0, want = total / (double)cells;

	for (size_t i = 0; i < cells; i++)
		sum += ((double)count[i] - want) * ((double)count[i] - want) / want;
	return sum;
}

/* 255 degrees of freedom: mean 255, deviation 22.6. Five deviations on either side; the seeds are
 * fixed, so this cannot fail by chance. */
static void assert_even(const uint32_t count[256], double total)
{
	double x = chi_square(count, 256, total);

	assert_true(x > 142 && x < 368);
}

static void bytes_are_even_in_every_position(void **state)
{
	uint32_t count[8][256];

	(void)state;
	for (uint64_t stream = 0; stream < 8; stream++) {
		struct prng p;

		memset(count, 0, sizeof count);
		prng_init(&p, 6, stream);
		for (int i = 0; i < 200000; i++) {
			uint64_t v = prng_u64(&p);

			for (int k = 0; k < 8; k++)
				count[k][v >> 8 * k & 255]++;
		}
		for (int k = 0; k < 8; k++)
			assert_even(count[k], 200000);
	}
}

/* The first numbers of neighbouring streams, and of neighbouring seeds, look drawn at random too.
 */
static void neighbouring_streams_and_seeds_start_apart(void **state)
{
	uint32_t count[2][8][256] = {{{0}}};

	(void)state;
	for (uint64_t i = 0; i < 200000; i++)
		for (int by_seed = 0; by_seed < 2; by_seed++) {
			struct prng p;

			prng_init(&p, by_seed ? i : 7, by_seed ? 7 : i);
			uint64_t v = prng_u64(&p);

			for (int k = 0; k < 8; k++)
				count[by_seed][k][v >> 8 * k & 255]++;
		}
	for (int k = 0; k < 8; k++) {
		assert_even(count[0][k], 200000);
		assert_even(count[1][k], 200000);
	}
}

/* Two unrelated numbers differ in 32 of 64 bits, deviation 4; the mean of n in 4 / sqrt(n). */
static void neighbouring_streams_do_not_follow_each_other(void **state)
{
	const int n = 40000;
	const double five_deviations = 5 * 4.0 / 200;

	(void)state;
	for (uint64_t stream = 0; stream < 32; stream++) {
		struct prng a, b, child;
		uint64_t ab = 0, ac = 0;

		prng_init(&a, 8, stream);
		prng_init(&b, 8, stream + 1);
		prng_split(&child, &a, stream);
		for (int i = 0; i < n; i++) {
			uint64_t v = prng_u64(&a);

			ab += (uint64_t)__builtin_popcountll(v ^ prng_u64(&b));
			ac += (uint64_t)__builtin_popcountll(v ^ prng_u64(&child));
		}
		assert_true((double)ab / n > 32 - five_deviations);
		assert_true((double)ab / n < 32 + five_deviations);
		assert_true((double)ac / n > 32 - five_deviations);
		assert_true((double)ac / n < 32 + five_deviations);
	}
}

static int order_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void streams_differ_in_every_word(void **state)
{
	enum { n = 65536 };
	uint64_t *word = malloc(n * sizeof *word);

	(void)state;
	assert_non_null(word);
	for (int k = 0; k < 4; k++) {
		for (uint64_t i = 0; i < n; i++) {
			struct prng p;

			prng_init(&p, 9, i);
			word[i] = p.s[k];
		}
		qsort(word, n, sizeof *word, order_u64);
		for (int i = 1; i < n; i++)
			assert_true(word[i] != word[i - 1]);
	}
	free(word);
}

/* Three quarters of 2^64 values: without the redraw a third of the results would come twice as
 * often as the others. */
static void below_is_fair_where_a_remainder_would_not_be(void **state)
{
	const uint64_t bound = UINT64_C(3) << 62;
	const int n = 300000;
	uint32_t third[3] = {0}, residue[3] = {0};
	struct prng p;

	(void)state;
	prng_init(&p, 10, 0);
	for (int i = 0; i < n; i++) {
		uint64_t v = prng_below(&p, bound);

		assert_true(v < bound);
		third[v >> 62]++;
		residue[v % 3]++;
	}
	/* Two degrees of freedom: above 28 once in a million. */
	assert_true(chi_square(third, 3, n) < 28);
	assert_true(chi_square(residue, 3, n) < 28);
}

static void fractions_fill_the_unit_interval(void **state)
{
	const int n = 400000;
	uint32_t count[256] = {0};
	double sum = 0;
	struct prng p;

	(void)state;
	prng_init(&p, 11, 0);
	for (int i = 0; i < n; i++) {
		double v = prng_f64(&p);

		assert_true(v >= 0 && v < 1);
		count[(int)(v * 256)]++;
		sum += v;
	}
	assert_even(count, n);
	/* Deviation of the mean: sqrt(1 / 12 / n), below 0.0005. */
	assert_true(sum / n > 0.4975 && sum / n < 0.5025);

	/* The state whose next number is UINT64_MAX, found by undoing the multiplications by 9 and
	 * 5 and the rotation: the largest fraction is still below 1. */
	uint64_t v = UINT64_MAX * UINT64_C(0x8e38e38e38e38e39);

	p = (struct prng){{0, (v >> 7 | v << 57) * UINT64_C(0xcccccccccccccccd), 0, 0}};
	assert_true(prng_f64(&p) == 1 - 0x1p-53);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(splitmix64_gives_published_numbers),
	cmocka_unit_test(xoshiro_gives_published_numbers),
	cmocka_unit_test(streams_never_change),
	cmocka_unit_test(children_never_change_and_leave_the_parent_alone),
	cmocka_unit_test(every_draw_matches_a_naive_one),
	cmocka_unit_test(certain_answers_are_certain_and_still_draw),
	cmocka_unit_test(bytes_are_even_in_every_position),
	cmocka_unit_test(neighbouring_streams_and_seeds_start_apart),
	cmocka_unit_test(neighbouring_streams_do_not_follow_each_other),
	cmocka_unit_test(streams_differ_in_every_word),
	cmocka_unit_test(below_is_fair_where_a_remainder_would_not_be),
	cmocka_unit_test(fractions_fill_the_unit_interval),
};

CHECK_MAIN(cases)
