#include "base/window.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

/* The window under test beside a plain array of booleans. */
struct pair {
	struct window w;
	struct prng p;
	uint32_t size, capacity;
	bool bit[WINDOW_BITS_MAX];
	uint64_t words[WINDOW_WORDS(WINDOW_BITS_MAX)];
};

static struct pair pair;

static void start(uint32_t size, uint32_t capacity, uint64_t seed)
{
	memset(&pair, 0, sizeof pair);
	/* Memory comes dirty; init must not trust it. */
	memset(pair.words, 0xa5, sizeof pair.words);
	pair.size = size;
	pair.capacity = 64 * WINDOW_WORDS(capacity);
	window_init(&pair.w, size, pair.words, WINDOW_WORDS(capacity));
	prng_init(&pair.p, seed, capacity);
}

static uint32_t model_next(uint32_t from, bool want)
{
	while (from < pair.size && pair.bit[from] != want)
		from++;
	return from < pair.size ? from : pair.size;
}

static int32_t model_last(void)
{
	int32_t i = (int32_t)pair.size - 1;

	while (i >= 0 && !pair.bit[i])
		i--;
	return i;
}

static uint32_t model_count(uint32_t from, uint32_t end)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < end && i < pair.size; i++)
		n += pair.bit[i];
	return n;
}

static uint64_t model_get64(uint32_t from)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < 64; i++)
		if (from < pair.size && from + i < pair.size)
			bits |= (uint64_t)pair.bit[from + i] << i;
	return bits;
}

static void put(uint32_t i, bool on)
{
	pair.bit[i] = on;
	if (on)
		window_set(&pair.w, i);
	else
		window_unset(&pair.w, i);
}

static void slide(uint32_t n)
{
	uint32_t gone = n < pair.size ? n : pair.size;

	window_shift(&pair.w, n);
	memmove(pair.bit, pair.bit + gone, pair.size - gone);
	memset(pair.bit + pair.size - gone, 0, gone);
}

static void resize(uint32_t size)
{
	bool fits = size > 0 && size <= pair.capacity;

	assert_int_equal(window_resize(&pair.w, size), fits);
	if (!fits)
		return;
	if (size < pair.size)
		memset(pair.bit + size, 0, pair.size - size);
	pair.size = size;
}

/* Sets almost every bit, so that long runs exist. */
static void flood(void)
{
	for (uint32_t i = 0; i < pair.size; i++)
		put(i, true);
	for (uint64_t holes = prng_below(&pair.p, 3); holes > 0; holes--)
		put((uint32_t)prng_below(&pair.p, pair.size), false);
}

/* An index a little before, at or beyond the window's end, or anywhere. */
static uint32_t any_index(void)
{
	switch (prng_below(&pair.p, 8)) {
	case 0: return pair.size - 1 + (uint32_t)prng_below(&pair.p, 3);
	case 1: return UINT32_MAX - (uint32_t)prng_below(&pair.p, 200);
	default: return (uint32_t)prng_below(&pair.p, pair.size);
	}
}

static void check_answers(void)
{
	const struct window *w = &pair.w;
	uint32_t i = any_index(), end = any_index();
	struct window_pair got = window_get128(w, i);

	assert_int_equal(window_get64(w, i), model_get64(i));
	assert_int_equal(got.lo, model_get64(i));
	assert_int_equal(got.hi, i < pair.size ? model_get64(i + 64) : 0);
	assert_int_equal(window_first_hole(w), model_next(0, false));
	assert_int_equal(window_next_hole(w, i), model_next(i, false));
	assert_int_equal(window_next_set(w, i), model_next(i, true));
	assert_int_equal(window_last(w), model_last());
	assert_int_equal(window_count(w), model_count(0, pair.size));
	assert_int_equal(window_count_range(w, (struct window_range){i, end}), model_count(i, end));
}

static void check_every_bit(void)
{
	for (uint32_t i = 0; i < pair.size; i++)
		assert_int_equal(window_test(&pair.w, i), pair.bit[i]);
	for (uint32_t from = 0; from < pair.size + 2; from += 1 + pair.size / 256)
		assert_int_equal(window_get64(&pair.w, from), model_get64(from));
}

/* One random change; then what the window answers is held against the model. */
static void step(void)
{
	struct prng *p = &pair.p;
	uint32_t i = (uint32_t)prng_below(p, pair.size);

	switch (prng_below(p, 16)) {
	case 0 ... 5: put(i, true); break;
	case 6 ... 8: put(i, false); break;
	case 9 ... 10:
		/* As an acknowledgement does: fill the first hole, or move past the run. */
		i = model_next(0, false);
		if (i < pair.size)
			put(i, true);
		break;
	case 11: slide(window_first_hole(&pair.w)); break;
	case 12 ... 13: slide((uint32_t)prng_below(p, 70)); break;
	case 14: slide((uint32_t)prng_below(p, 1 + pair.size / 4)); break;
	default:
		if (prng_chance(p, 1, 16))
			slide(prng_chance(p, 1, 2) ? UINT32_MAX
						   : pair.size + (uint32_t)prng_below(p, 2));
		else if (prng_chance(p, 1, 2))
			flood();
		break;
	}
	check_answers();
}

static uint32_t steps_for(uint32_t size)
{
	return size <= 256 ? 100000 : size <= 4096 ? 40000 : 4000;
}

static void random_steps_agree_with_model(void **state)
{
	static const uint32_t sizes[] = {1,   2,   63,  64,   65,   127,   128,  129,
					 191, 192, 193, 1000, 1024, 16385, 32640};
	uint64_t seed = check_seed(0x31d0);

	(void)state;
	for (uint32_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
		start(sizes[n], sizes[n], seed);
		for (uint32_t i = 0; i < steps_for(sizes[n]); i++) {
			step();
			if (i % 128 == 0)
				check_every_bit();
		}
	}
}

static void random_steps_with_resizes_agree_with_model(void **state)
{
	static const uint32_t capacities[] = {64, 128, 192, 640, 32640};
	uint64_t seed = check_seed(0x31d1);

	(void)state;
	for (uint32_t n = 0; n < sizeof capacities / sizeof capacities[0]; n++) {
		start(1, capacities[n], seed);
		for (uint32_t i = 0; i < steps_for(capacities[n]); i++) {
			step();
			if (prng_chance(&pair.p, 1, 8))
				resize((uint32_t)prng_below(&pair.p, pair.capacity + 2));
			if (prng_chance(&pair.p, 1, 500)) {
				window_clear(&pair.w);
				memset(pair.bit, 0, sizeof pair.bit);
			}
			if (i % 64 == 0)
				check_every_bit();
		}
	}
}

/* One bit, seen from every base: the head passes every place of the ring several times. */
static void a_bit_slides_down_through_every_place(void **state)
{
	static const uint32_t sizes[] = {1, 63, 64, 65, 128, 129, 1024};

	(void)state;
	for (uint32_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
		start(sizes[n], sizes[n], 0);
		for (uint32_t round = 0; round < 3 * pair.capacity; round++) {
			uint32_t top = pair.size - 1, down = round % pair.size;

			window_set(&pair.w, top);
			window_shift(&pair.w, down);
			assert_int_equal(window_last(&pair.w), top - down);
			assert_int_equal(window_next_set(&pair.w, 0), top - down);
			assert_int_equal(window_count(&pair.w), 1);
			window_shift(&pair.w, top - down + 1);
			assert_int_equal(window_last(&pair.w), -1);
		}
	}
}

static void a_full_window_has_no_hole(void **state)
{
	static const uint32_t sizes[] = {1, 64, 65, 32640};

	(void)state;
	for (uint32_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
		start(sizes[n], sizes[n], 0);
		window_shift(&pair.w, sizes[n] / 2);
		assert_int_equal(window_first_hole(&pair.w), 0);
		for (uint32_t i = 0; i < sizes[n]; i++)
			window_set(&pair.w, i);
		assert_int_equal(window_first_hole(&pair.w), sizes[n]);
		assert_int_equal(window_count(&pair.w), sizes[n]);
		assert_int_equal(window_last(&pair.w), sizes[n] - 1);
		window_shift(&pair.w, sizes[n]);
		assert_int_equal(window_next_set(&pair.w, 0), sizes[n]);
	}
}

/* A window that shrinks and grows again must not bring old bits back. */
static void dropped_bits_stay_dropped(void **state)
{
	(void)state;
	start(200, 256, 0);
	window_shift(&pair.w, 150);
	for (uint32_t i = 0; i < 200; i++)
		window_set(&pair.w, i);
	assert_true(window_resize(&pair.w, 70));
	assert_true(window_resize(&pair.w, 256));
	assert_int_equal(window_count(&pair.w), 70);
	assert_int_equal(window_first_hole(&pair.w), 70);
	assert_false(window_resize(&pair.w, 257));
	assert_false(window_resize(&pair.w, 0));
	assert_int_equal(pair.w.size, 256);
}

static void set_beyond(void *context)
{
	(void)context;
	window_set(&pair.w, pair.size);
}

static void unset_beyond(void *context)
{
	(void)context;
	window_unset(&pair.w, pair.size);
}

static void test_beyond(void *context)
{
	(void)context;
	window_test(&pair.w, pair.size);
}

static void init_empty(void *context)
{
	(void)context;
	window_init(&pair.w, 0, pair.words, 1);
}

static void init_beyond_memory(void *context)
{
	(void)context;
	window_init(&pair.w, 65, pair.words, 1);
}

static void init_beyond_limit(void *context)
{
	(void)context;
	window_init(&pair.w, 1, pair.words, WINDOW_WORDS(WINDOW_BITS_MAX) + 1);
}

static void init_without_memory(void *context)
{
	(void)context;
	window_init(&pair.w, 0, pair.words, 0);
}

static void mistakes_abort(void **state)
{
	static void (*const mistakes[])(void *) = {
		set_beyond,         unset_beyond,      test_beyond,         init_empty,
		init_beyond_memory, init_beyond_limit, init_without_memory,
	};

	(void)state;
	start(64, 128, 0);
	for (uint32_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
		assert_true(check_aborts(mistakes[i], NULL));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(random_steps_agree_with_model),
	cmocka_unit_test(random_steps_with_resizes_agree_with_model),
	cmocka_unit_test(a_bit_slides_down_through_every_place),
	cmocka_unit_test(a_full_window_has_no_hole),
	cmocka_unit_test(dropped_bits_stay_dropped),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
