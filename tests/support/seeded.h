/* The cases of a test that has two ends do anything by a seed, over a wire that does everything
 * wrong. Include it behind two_ends.h; the program defines SEEDS before, and behind it what is only
 * declared here. */
#ifndef WEFT_TESTS_SUPPORT_SEEDED_H
#define WEFT_TESTS_SUPPORT_SEEDED_H

#include <inttypes.h>
#include <stdio.h>

/* A life that goes well, and the hash of all that came out; and one that ends at some moment. */
static uint64_t run_seed(uint64_t seed);
static void run_ended(uint64_t seed);

/* So that a failure names its seed. */
static int say_seed(void **state)
{
	(void)state;
	printf("last seed: %" PRIu64 "\n", w.seed);
	return 0;
}

static void everything_completes(void **state)
{
	uint64_t first = check_seed(1);

	(void)state;
	for (uint64_t seed = first; seed < first + SEEDS; seed++)
		run_seed(seed);
}

static void ended_at_any_time(void **state)
{
	uint64_t first = check_seed(1);

	(void)state;
	for (uint64_t seed = first; seed < first + SEEDS / 2; seed++)
		run_ended(seed);
}

static void same_seed_same_trace(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		uint64_t hash = run_seed(seed);

		assert_int_equal(run_seed(seed), hash);
		assert_int_not_equal(hash, last);
		last = hash;
	}
}

#endif
