/* The responder's books alone: packets come in any order, and expected, seen, the count of early
 * ones, messages and maps follow, with chunks taken and given back. */
#include <stdalign.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "mrc/state.h"

#define CHUNKS   256u
#define MAX_MPR  255u
#define POOL_MAX (CHUNKS + 8)
#define MODEL    65536u /* packets of the longest run here */

static struct {
	struct mrc m;
	struct mrc_qp q;
	alignas(max_align_t) uint8_t pool[65536];
	uint32_t chunks[CHUNKS];
	/* What a naive responder knows. */
	bool has[MODEL + 64], ends[MODEL + 64];
	uint32_t order[MODEL];
} w;

/* Books that begin at count `first`, with a pool of so many chunks. */
static void start(uint64_t first, uint32_t n_tracks)
{
	struct pool_shape shape = {sizeof(struct mrc_track), alignof(struct mrc_track), n_tracks};

	assert_in_range(pool_bytes(&shape), 1, sizeof w.pool);
	if (w.m.tracks.slots)
		pool_fini(&w.m.tracks);
	pool_init(&w.m.tracks, w.pool, &shape);
	w.q = (struct mrc_qp){
		.caps.max_mpr = MAX_MPR,
		.resp = {.expected = first, .seen = first, .chunks = w.chunks, .n_chunks = CHUNKS},
	};
	for (uint32_t i = 0; i < CHUNKS; i++)
		w.chunks[i] = MRC_NO_CHUNK;
}

static void add(uint64_t n, bool is_end)
{
	assert_false(n != w.q.resp.expected && mrc_track_has(&w.m, &w.q, n));
	assert_true(mrc_track_reserve(&w.m, &w.q, n));
	mrc_track_add(&w.m, &w.q, n, is_end);
}

static void run(void)
{
	mrc_track_run(&w.m, &w.q, MRC_NONE);
}

static void expect(uint64_t expected, uint64_t seen, uint32_t n_early, uint32_t held)
{
	assert_int_equal(w.q.resp.expected, expected);
	assert_int_equal(w.q.resp.seen, seen);
	assert_int_equal(w.q.resp.n_early, n_early);
	assert_int_equal(w.q.resp.n_held, held);
	assert_int_equal(pool_in_use(&w.m.tracks), held);
}

static void in_order_needs_no_chunk(void **state)
{
	(void)state;
	start(0, 1);
	for (uint64_t n = 0; n < 1000; n++) {
		pool_fail_at(&w.m.tracks, 1);
		add(n, n % 10 == 9);
		run();
		expect(n + 1, n + 1, 0, 0);
	}
	assert_int_equal(w.q.resp.msn, 100);
	assert_int_equal(pool_high_water(&w.m.tracks), 0);
}

/* A chunk is held from the first packet ahead of a gap until nothing is ahead. */
static void gap_is_filled(void **state)
{
	(void)state;
	start(0, 4);
	add(2, false);
	expect(0, 3, 1, 1);
	assert_true(mrc_track_has(&w.m, &w.q, 2));
	assert_false(mrc_track_has(&w.m, &w.q, 1));
	assert_false(mrc_track_has(&w.m, &w.q, 3));
	add(1, true);
	expect(0, 3, 2, 1);
	add(0, false);
	expect(1, 3, 2, 1);
	run();
	expect(3, 3, 0, 0);
	assert_int_equal(w.q.resp.msn, 1);
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
	assert_true(mrc_track_reserve(&w.m, &w.q, 127));
	assert_false(mrc_track_reserve(&w.m, &w.q, 128));
	expect(0, 6, 1, 1);
	assert_true(mrc_track_reserve(&w.m, &w.q, 0));
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
		mrc_track_run(&w.m, &w.q, limits[i]);
		expect(limits[i], 200, 200 - (uint32_t)limits[i], limits[i] < 128 ? 2 : 1);
		assert_int_equal(w.q.resp.msn, limits[i]);
		mrc_track_run(&w.m, &w.q, limits[i]);
		assert_int_equal(w.q.resp.expected, limits[i]);
	}
	run();
	expect(200, 200, 0, 0);
	assert_int_equal(w.q.resp.msn, 200);
}

/* Message numbers have 24 bits (AETH), in order and by runs. */
static void msn_wraps(void **state)
{
	(void)state;
	start(0, 4);
	w.q.resp.msn = 0xffffff;
	add(0, true);
	assert_int_equal(w.q.resp.msn, 0);
	w.q.resp.msn = 0xfffffe;
	for (uint64_t n = 2; n < 6; n++)
		add(n, n % 2 == 1);
	add(1, true);
	run();
	assert_int_equal(w.q.resp.msn, 1);
}

/* What is acknowledged counts as here, also before the first packet. */
static void map_from_acknowledged(void **state)
{
	(void)state;
	start(0, 4);
	assert_int_equal(mrc_track_map(&w.m, &w.q, UINT64_MAX), 1);
	add(2, false);
	assert_int_equal(mrc_track_map(&w.m, &w.q, UINT64_MAX), 0x9);
	assert_int_equal(mrc_track_map(&w.m, &w.q, 0), 0x4);
	start(1000, 4);
	assert_int_equal(mrc_track_map(&w.m, &w.q, 999), 1);
	assert_int_equal(mrc_track_map(&w.m, &w.q, 1000), 0);
	add(1062, false);
	add(1063, false);
	assert_true(mrc_track_map(&w.m, &w.q, 999) == (UINT64_C(1) << 63 | 1));
	assert_true(mrc_track_map(&w.m, &w.q, 1000) == UINT64_C(3) << 62);
	assert_int_equal(mrc_track_map(&w.m, &w.q, 1063), 1);
	assert_int_equal(mrc_track_map(&w.m, &w.q, 1064), 0);
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
		uint64_t map = mrc_track_map(&w.m, &w.q, from);

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
	const uint32_t range = MAX_MPR * MRC_MPR_UNIT;

	(void)state;
	for (uint64_t first = 0; first < 3; first++) {
		uint64_t at = first * 1000 + 77;

		start(at, POOL_MAX);
		for (uint64_t n = at + range - 1; n > at; n--)
			add(n, true);
		expect(at, at + range, range - 1, MAX_MPR + 1);
		for (uint64_t n = at + 1; n < at + range; n++)
			assert_true(mrc_track_has(&w.m, &w.q, n));
		add(at, true);
		run();
		expect(at + range, at + range, 0, 0);
		assert_int_equal(w.q.resp.msn, range);
	}
}

/* Behind the last packet of the largest range is nothing, though the places of chunks begin anew
 * there, and the first one still holds what was passed. */
static void map_does_not_come_round(void **state)
{
	const uint64_t last = 126 + MAX_MPR * MRC_MPR_UNIT - 1;

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
		assert_true(mrc_track_map(&w.m, &w.q, last - i) == UINT64_C(1) << i);
}

/* Also what was reserved and never used. */
static void clear_gives_all_back(void **state)
{
	(void)state;
	start(0, 8);
	add(5, false);
	add(200, false);
	assert_true(mrc_track_reserve(&w.m, &w.q, 600));
	expect(0, 201, 2, 3);
	mrc_track_clear(&w.m, &w.q);
	expect(0, 201, 0, 0);
	mrc_track_clear(&w.m, &w.q);
	for (uint32_t i = 0; i < CHUNKS; i++)
		assert_int_equal(w.chunks[i], MRC_NO_CHUNK);
}

/* One more packet, the chunk full or not, of `base` on, as the model has it. */
static void check_model(uint64_t base, uint64_t limit)
{
	const struct mrc_responder *p = &w.q.resp;
	uint32_t at = (uint32_t)(p->expected - base), seen = (uint32_t)(p->seen - base);
	uint32_t n_early = 0, msn = 0;

	for (uint32_t i = 0; i < at; i++) {
		assert_true(w.has[i]);
		msn += w.ends[i];
	}
	assert_false(w.has[at]);
	for (uint32_t i = at; i < limit; i++) {
		n_early += w.has[i];
		assert_int_equal(mrc_track_has(&w.m, &w.q, base + i), w.has[i]);
		assert_true(i < seen || !w.has[i]);
	}
	assert_int_equal(p->n_early, n_early);
	assert_int_equal(p->msn, msn);
	assert_int_equal(p->n_held, pool_in_use(&w.m.tracks));
	assert_true(n_early > 0 || p->n_held == 0);
	assert_true(p->n_held <= (p->seen + 127) / 128 - p->expected / 128 + 1);
	for (uint32_t i = at; i < limit; i += 37) {
		uint64_t map = mrc_track_map(&w.m, &w.q, base + i);

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
			w.ends[i] = prng_below(&rng, 3) == 0;
		}
		for (uint32_t i = 0; i < n; i++) {
			uint32_t reach = n - i < window ? n - i : window;
			uint32_t k = i + (uint32_t)prng_below(&rng, reach), pick = w.order[k];

			w.order[k] = w.order[i];
			if (w.has[pick])
				continue;
			w.has[pick] = true;
			add(base + pick, w.ends[pick]);
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
	cmocka_unit_test(run_stops_at_limit),          cmocka_unit_test(msn_wraps),
	cmocka_unit_test(map_from_acknowledged),       cmocka_unit_test(map_across_chunks),
	cmocka_unit_test(whole_range_backwards),       cmocka_unit_test(map_does_not_come_round),
	cmocka_unit_test(clear_gives_all_back),        cmocka_unit_test(random_orders),
};
CHECK_MAIN(cases)
