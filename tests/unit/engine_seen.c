/* engine/seen.h: packets come in any order, and expected, end, the count of early ones, marks and
 * maps follow, with chunks taken and given back. */
#include <stdalign.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "engine/seen.h"

#define CHUNKS   256u
#define MOST     ((CHUNKS - 1) * ENGINE_SEEN_PKTS) /* packets that may be tracked */
#define POOL_MAX (CHUNKS + 8)
#define MODEL    65536u /* packets of the longest run here */

static struct {
	struct engine_seen s;
	struct pool pool;
	alignas(max_align_t) uint8_t memory[65536];
	uint32_t chunks[CHUNKS];
	uint32_t n_marked;
	/* What a naive receiver knows. */
	bool has[MODEL + 64], marks[MODEL + 64];
	uint32_t order[MODEL];
} w;

/* A record that begins at count `first`, with a pool of so many chunks. */
static void start(uint64_t first, uint32_t n_chunks)
{
	struct pool_shape shape = {sizeof(struct engine_seen_chunk),
				   alignof(struct engine_seen_chunk), n_chunks};

	assert_in_range(pool_bytes(&shape), 1, sizeof w.memory);
	if (w.pool.slots)
		pool_fini(&w.pool);
	pool_init(&w.pool, w.memory, &shape);
	memset(w.chunks, 0xa5, sizeof w.chunks);
	engine_seen_init(&w.s, &w.pool, w.chunks, CHUNKS);
	w.s.expected = w.s.end = first;
	w.n_marked = 0;
}

static void add(uint64_t n, bool is_marked)
{
	assert_false(n != w.s.expected && engine_seen_has(&w.s, n));
	assert_true(engine_seen_reserve(&w.s, n));
	w.n_marked += engine_seen_add(&w.s, n, is_marked);
}

static void run(void)
{
	w.n_marked += engine_seen_run(&w.s, UINT64_MAX);
}

static void expect(uint64_t expected, uint64_t end, uint32_t n_early, uint32_t held)
{
	assert_int_equal(w.s.expected, expected);
	assert_int_equal(w.s.end, end);
	assert_int_equal(w.s.n_early, n_early);
	assert_int_equal(w.s.n_held, held);
	assert_int_equal(pool_in_use(&w.pool), held);
}

static void in_order_needs_no_chunk(void **state)
{
	(void)state;
	start(0, 1);
	for (uint64_t n = 0; n < 1000; n++) {
		pool_fail_at(&w.pool, 1);
		add(n, n % 10 == 9);
		run();
		expect(n + 1, n + 1, 0, 0);
	}
	assert_int_equal(w.n_marked, 100);
	assert_int_equal(pool_high_water(&w.pool), 0);
}

/* A chunk is held from the first packet ahead of a gap until nothing is ahead. */
static void gap_is_filled(void **state)
{
	(void)state;
	start(0, 4);
	add(2, false);
	expect(0, 3, 1, 1);
	assert_true(engine_seen_has(&w.s, 2));
	assert_false(engine_seen_has(&w.s, 1));
	assert_false(engine_seen_has(&w.s, 3));
	add(1, true);
	expect(0, 3, 2, 1);
	add(0, false);
	expect(1, 3, 2, 1);
	run();
	expect(3, 3, 0, 0);
	assert_int_equal(w.n_marked, 1);
}

/* expected passes the end of a chunk, by a packet in order and by early ones. */
static void chunk_goes_back_when_passed(void **state)
{
	(void)state;
	start(126, 4);
	add(127, false);
	add(129, false);
	add(300, false);
	expect(126, 301, 3, 3);
	add(126, false);
	run();
	expect(128, 301, 2, 2);
	add(128, false);
	run();
	expect(130, 301, 1, 2);
	/* In order up to the boundary, though nothing of this chunk is early any more. */
	for (uint64_t n = 130; n < 256; n++) {
		expect(n, 301, 1, 2);
		add(n, false);
		run();
	}
	expect(256, 301, 1, 1);
	for (uint64_t n = 256; n < 300; n++) {
		add(n, false);
		run();
	}
	expect(301, 301, 0, 0);
}

static void no_chunk_is_free(void **state)
{
	(void)state;
	start(0, 1);
	add(5, false);
	assert_true(engine_seen_reserve(&w.s, 127));
	assert_false(engine_seen_reserve(&w.s, 128));
	expect(0, 6, 1, 1);
	assert_true(engine_seen_reserve(&w.s, 0));
	for (uint64_t n = 0; n < 5; n++)
		add(n, false);
	run();
	expect(6, 6, 0, 0);
	add(128, false);
	expect(6, 129, 1, 1);
}

/* A run stops where it is told to, with the messages up to there. */
static void run_stops_at_limit(void **state)
{
	static const uint64_t limits[] = {1, 2, 63, 64, 65, 127, 128, 129, 191, 199};

	(void)state;
	start(0, 4);
	for (uint64_t n = 1; n < 200; n++)
		add(n, true);
	add(0, true);
	for (uint32_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		w.n_marked += engine_seen_run(&w.s, limits[i]);
		expect(limits[i], 200, 200 - (uint32_t)limits[i], limits[i] < 128 ? 2 : 1);
		assert_int_equal(w.n_marked, limits[i]);
		w.n_marked += engine_seen_run(&w.s, limits[i]);
		assert_int_equal(w.s.expected, limits[i]);
	}
	run();
	expect(200, 200, 0, 0);
	assert_int_equal(w.n_marked, 200);
}

/* Room that is not used goes back, if nobody else of its chunk came. */
static void reserved_and_not_used(void **state)
{
	(void)state;
	start(0, 4);
	assert_true(engine_seen_reserve(&w.s, 5));
	engine_seen_cancel(&w.s, 5);
	expect(0, 0, 0, 0);
	add(6, false);
	assert_true(engine_seen_reserve(&w.s, 5));
	engine_seen_cancel(&w.s, 5);
	expect(0, 7, 1, 1);
	engine_seen_cancel(&w.s, 0);
	expect(0, 7, 1, 1);
}

/* What is acknowledged counts as here, also before the first packet. */
static void map_from_acknowledged(void **state)
{
	(void)state;
	start(0, 4);
	assert_int_equal(engine_seen_map(&w.s, UINT64_MAX), 1);
	add(2, false);
	assert_int_equal(engine_seen_map(&w.s, UINT64_MAX), 0x9);
	assert_int_equal(engine_seen_map(&w.s, 0), 0x4);
	start(1000, 4);
	assert_int_equal(engine_seen_map(&w.s, 999), 1);
	assert_int_equal(engine_seen_map(&w.s, 1000), 0);
	add(1062, false);
	add(1063, false);
	assert_true(engine_seen_map(&w.s, 999) == (UINT64_C(1) << 63 | 1));
	assert_true(engine_seen_map(&w.s, 1000) == UINT64_C(3) << 62);
	assert_int_equal(engine_seen_map(&w.s, 1063), 1);
	assert_int_equal(engine_seen_map(&w.s, 1064), 0);
}

/* Words, chunks and what lies beyond the newest packet, from every start. */
static void map_across_chunks(void **state)
{
	(void)state;
	start(10, 8);
	for (uint64_t n = 11; n < 400; n++)
		if (n % 7 == 0 || n % 11 == 3)
			add(n, false);
	for (uint64_t from = 10; from < 450; from++) {
		uint64_t map = engine_seen_map(&w.s, from);

		for (uint32_t i = 0; i < 64; i++) {
			uint64_t n = from + i;
			bool is_here = n > 10 && n < 400 && (n % 7 == 0 || n % 11 == 3);

			assert_int_equal(map >> i & 1, is_here);
		}
	}
}

/* The largest range there is, last packet first: all chunks are held, and all go back. */
static void whole_range_backwards(void **state)
{
	const uint32_t range = MOST;

	(void)state;
	for (uint64_t first = 0; first < 3; first++) {
		uint64_t at = first * 1000 + 77;

		start(at, POOL_MAX);
		for (uint64_t n = at + range - 1; n > at; n--)
			add(n, true);
		expect(at, at + range, range - 1, CHUNKS);
		for (uint64_t n = at + 1; n < at + range; n++)
			assert_true(engine_seen_has(&w.s, n));
		add(at, true);
		run();
		expect(at + range, at + range, 0, 0);
		assert_int_equal(w.n_marked, range);
	}
}

/* Behind the last packet of the largest range is nothing, though the places of chunks begin anew
 * there, and the first one still holds what was passed. */
static void map_does_not_come_round(void **state)
{
	const uint64_t last = 126 + MOST - 1;

	(void)state;
	start(0, POOL_MAX);
	for (uint64_t n = 1; n < 128; n++)
		if (n != 126)
			add(n, false);
	add(0, false);
	run();
	add(last, false);
	expect(126, last + 1, 2, 2);
	for (uint64_t i = 0; i < 64; i++)
		assert_true(engine_seen_map(&w.s, last - i) == UINT64_C(1) << i);
}

/* Also what was reserved and never used. */
static void clear_gives_all_back(void **state)
{
	(void)state;
	start(0, 8);
	add(5, false);
	add(200, false);
	assert_true(engine_seen_reserve(&w.s, 600));
	expect(0, 201, 2, 3);
	engine_seen_clear(&w.s);
	expect(0, 201, 0, 0);
	engine_seen_clear(&w.s);
	add(9, true);
	expect(0, 201, 1, 1);
	engine_seen_reset(&w.s);
	expect(0, 0, 0, 0);
}

/* One more packet, the chunk full or not, of `base` on, as the model has it. */
static void check_model(uint64_t base, uint64_t limit)
{
	const struct engine_seen *s = &w.s;
	uint32_t at = (uint32_t)(s->expected - base), end = (uint32_t)(s->end - base);
	uint32_t n_early = 0, n_marked = 0;

	for (uint32_t i = 0; i < at; i++) {
		assert_true(w.has[i]);
		n_marked += w.marks[i];
	}
	assert_false(w.has[at]);
	for (uint32_t i = at; i < limit; i++) {
		n_early += w.has[i];
		assert_int_equal(engine_seen_has(&w.s, base + i), w.has[i]);
		assert_true(i < end || !w.has[i]);
	}
	assert_int_equal(s->n_early, n_early);
	assert_int_equal(w.n_marked, n_marked);
	assert_int_equal(s->n_held, pool_in_use(&w.pool));
	assert_true(n_early > 0 || s->n_held == 0);
	assert_true(s->n_held <= (s->end + 127) / 128 - s->expected / 128 + 1);
	for (uint32_t i = at; i < limit; i += 37) {
		uint64_t map = engine_seen_map(&w.s, base + i);

		for (uint32_t k = 0; k < 64; k++)
			assert_int_equal(map >> k & 1, w.has[i + k]);
	}
}

/* Packets in random order within random windows, against a naive model, from random counts on. */
static void random_orders(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(1), 0);
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t n = 1 + (uint32_t)prng_below(&rng, 900);
		uint32_t window = 1 + (uint32_t)prng_below(&rng, 400), every = n / 8 + 1;
		uint64_t base = prng_below(&rng, 3) << 40 | prng_below(&rng, 1000);

		start(base, POOL_MAX);
		memset(w.has, 0, sizeof w.has);
		for (uint32_t i = 0; i < n; i++) {
			w.order[i] = i;
			w.marks[i] = prng_below(&rng, 3) == 0;
		}
		for (uint32_t i = 0; i < n; i++) {
			uint32_t reach = n - i < window ? n - i : window;
			uint32_t k = i + (uint32_t)prng_below(&rng, reach), pick = w.order[k];

			w.order[k] = w.order[i];
			if (w.has[pick])
				continue;
			w.has[pick] = true;
			add(base + pick, w.marks[pick]);
			run();
			if (i % every == 0 || i + 1 == n)
				check_model(base, n);
		}
		expect(base + n, base + n, 0, 0);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(in_order_needs_no_chunk),     cmocka_unit_test(gap_is_filled),
	cmocka_unit_test(chunk_goes_back_when_passed), cmocka_unit_test(no_chunk_is_free),
	cmocka_unit_test(run_stops_at_limit),          cmocka_unit_test(reserved_and_not_used),
	cmocka_unit_test(map_from_acknowledged),       cmocka_unit_test(map_across_chunks),
	cmocka_unit_test(whole_range_backwards),       cmocka_unit_test(map_does_not_come_round),
	cmocka_unit_test(clear_gives_all_back),        cmocka_unit_test(random_orders),
};
CHECK_MAIN(cases)
