/* tools/stats.h: ranks by hand, and against counting. */
#include "base/prng.h"
#include "check.h"
#include "tools/stats.h"

enum { VALUES = 300, ROUNDS = 200 };

/* With the values 1 to n a percentile is its own rank. */
static void percentiles_have_the_nearest_rank(void **state)
{
	static const struct {
		uint32_t n, which;
		uint64_t rank;
	} cases[] = {{1, 1, 1},        {1, 5000, 1},     {1, 10000, 1},    {2, 5000, 1},
		     {2, 5001, 2},     {3, 5000, 2},     {10, 9000, 9},    {10, 9001, 10},
		     {100, 9900, 99},  {100, 9990, 100}, {101, 9900, 100}, {101, 5000, 51},
		     {128, 5000, 64},  {128, 9900, 127}, {200, 9999, 200}, {300, 1, 1},
		     {300, 10000, 300}};
	uint64_t values[VALUES];

	(void)state;
	for (uint32_t i = 0; i < VALUES; i++)
		values[i] = i + 1;
	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(stats_percentile(values, cases[i].n, cases[i].which),
				 cases[i].rank);
	assert_int_equal(stats_percentile(values, 0, 5000), 0);
}

/* The smallest value that `which` of ten thousand do not exceed, by counting. */
static uint64_t naive(const uint64_t *values, uint32_t n, uint32_t which)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t below = 0;

		for (uint32_t k = 0; k < n; k++)
			below += values[k] <= values[i];
		if (UINT64_C(10000) * below >= (uint64_t)which * n && values[i] < best)
			best = values[i];
	}
	return best;
}

static void percentiles_agree_with_counting(void **state)
{
	struct prng p;
	uint64_t values[VALUES];

	(void)state;
	prng_init(&p, check_seed(1), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t n = (uint32_t)prng_range(&p, 1, VALUES);
		uint32_t which = (uint32_t)prng_range(&p, 1, 10000);
		uint64_t span = prng_range(&p, 1, 2 * VALUES);

		/* Few different values, then many. */
		for (uint32_t i = 0; i < n; i++)
			values[i] = prng_below(&p, span);
		uint64_t want = naive(values, n, which), p50 = naive(values, n, 5000);
		uint64_t p99 = naive(values, n, 9900);
		struct stats s = stats_of(values, n);

		assert_int_equal(stats_percentile(values, n, which), want);
		assert_int_equal(s.p50, p50);
		assert_int_equal(s.p99, p99);
	}
}

static void sums_of_everything(void **state)
{
	uint64_t values[] = {9, 2, 2, 30, 1};
	uint64_t large[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX};

	(void)state;
	struct stats s = stats_of(values, 5);

	assert_int_equal(s.n, 5);
	assert_int_equal(s.min, 1);
	assert_int_equal(s.mean, 8); /* 44 / 5, cut */
	assert_int_equal(s.p50, 2);
	assert_int_equal(s.p99, 30);
	assert_int_equal(s.max, 30);
	assert_true(values[0] == 1 && values[3] == 9 && values[4] == 30);
	assert_int_equal(stats_of(large, 3).mean, UINT64_MAX - 1);
	s = stats_of(values, 0);
	assert_true(s.n == 0 && s.min == 0 && s.mean == 0 && s.p50 == 0 && s.p99 == 0 &&
		    s.max == 0);
}

/* Buckets are values of which there may be many. */
static void buckets_agree_with_values(void **state)
{
	struct prng p;
	uint64_t counts[8], values[VALUES];

	(void)state;
	prng_init(&p, check_seed(2), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t n = 0, which = (uint32_t)prng_range(&p, 1, 10000);

		for (uint32_t i = 0; i < 8; i++) {
			counts[i] = prng_below(&p, 3) ? prng_below(&p, VALUES / 8) : 0;
			for (uint64_t k = 0; k < counts[i]; k++)
				values[n++] = i;
		}
		assert_int_equal(stats_bucket(counts, 8, which),
				 stats_percentile(values, n, which));
	}
	/* More than fits 64 bits when multiplied. */
	assert_int_equal(stats_bucket((uint64_t[]){UINT64_MAX / 2, UINT64_MAX / 2}, 2, 5000), 0);
	assert_int_equal(stats_bucket((uint64_t[]){UINT64_MAX / 2, UINT64_MAX / 2}, 2, 5001), 1);
	assert_int_equal(stats_bucket((uint64_t[]){0, 0}, 2, 9900), 0);
}

static void scales_are_cut_and_bounded(void **state)
{
	(void)state;
	assert_int_equal(stats_scale(7, 10, 4), 17);
	assert_int_equal(stats_scale(UINT64_MAX, UINT64_MAX, UINT64_MAX), UINT64_MAX);
	assert_int_equal(stats_scale(UINT64_MAX, 2, 1), UINT64_MAX);
	assert_int_equal(stats_scale(1, 1, 0), 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(percentiles_have_the_nearest_rank),
	cmocka_unit_test(percentiles_agree_with_counting),
	cmocka_unit_test(sums_of_everything),
	cmocka_unit_test(buckets_agree_with_values),
	cmocka_unit_test(scales_are_cut_and_bounded),
};

CHECK_MAIN(cases)
