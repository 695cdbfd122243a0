/* base/ring.h: against a queue that moves its elements by hand, across the wrap of the indices, and
 * between two threads. */
#include "base/prng.h"
#include "base/ring.h"
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MAX 64u
#define ELEM_MAX     24u
#define GUARD        16u

_Static_assert(offsetof(struct ring, tail) / RING_LINE_BYTES !=
		       offsetof(struct ring, head) / RING_LINE_BYTES,
	       "producer and consumer must not share a line");
_Static_assert(offsetof(struct ring, mask) / RING_LINE_BYTES !=
		       offsetof(struct ring, tail) / RING_LINE_BYTES,
	       "what both read must not share a line with what one writes");

/* The naive queue: the oldest element always first in the array. */
struct model {
	uint8_t bytes[CAPACITY_MAX * ELEM_MAX];
	uint32_t count, pushed;
};

struct bench {
	struct ring_shape shape;
	struct ring ring;
	struct model model;
	uint8_t *block; /* guard, the ring's memory at an odd address, guard */
	struct prng rng;
};

static void bench_start(struct bench *b, const struct ring_shape *s)
{
	size_t bytes = ring_bytes(s);

	b->shape = *s;
	b->model = (struct model){.count = 0};
	b->block = malloc(bytes + 2 * GUARD + 1);
	assert_non_null(b->block);
	memset(b->block, 0xa5, bytes + 2 * GUARD + 1);
	ring_init(&b->ring, b->block + GUARD + 1, s);
}

static void bench_stop(struct bench *b)
{
	size_t end = GUARD + 1 + ring_bytes(&b->shape);

	for (size_t i = 0; i < GUARD; i++) {
		assert_int_equal(b->block[i], 0xa5);
		assert_int_equal(b->block[end + i], 0xa5);
	}
	free(b->block);
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void do_push(struct bench *b, bool one, uint32_t n)
{
	struct model *m = &b->model;
	size_t size = b->shape.elem_bytes;
	uint32_t fit = min_u32(n, b->shape.capacity - m->count);
	uint8_t elems[CAPACITY_MAX * ELEM_MAX];

	prng_fill(&b->rng, elems, b->shape.capacity * size);
	if (one)
		assert_int_equal(ring_push(&b->ring, elems), fit == 1);
	else
		assert_int_equal(ring_push_n(&b->ring, elems, n), fit);
	memcpy(m->bytes + m->count * size, elems, fit * size);
	m->count += fit;
	m->pushed += fit;
}

static void do_pop(struct bench *b, bool one, uint32_t n)
{
	struct model *m = &b->model;
	size_t size = b->shape.elem_bytes;
	uint32_t ready = min_u32(n, m->count);
	uint8_t elems[CAPACITY_MAX * ELEM_MAX + 1], untouched[sizeof elems];

	memset(elems, 0x5a, sizeof elems);
	memset(untouched, 0x5a, sizeof untouched);
	if (one)
		assert_int_equal(ring_pop(&b->ring, elems), ready == 1);
	else
		assert_int_equal(ring_pop_n(&b->ring, elems, n), ready);
	assert_memory_equal(elems, m->bytes, ready * size);
	assert_memory_equal(elems + ready * size, untouched, sizeof elems - ready * size);
	m->count -= ready;
	memmove(m->bytes, m->bytes + ready * size, m->count * size);
}

/* Mostly what could fit, sometimes far more. */
static uint32_t any_burst(struct bench *b)
{
	if (prng_chance(&b->rng, 1, 32))
		return (uint32_t)prng_range(&b->rng, UINT32_MAX - 3, UINT32_MAX);
	return (uint32_t)prng_below(&b->rng, b->shape.capacity + 3);
}

static void step(struct bench *b, bool fill)
{
	bool push = prng_chance(&b->rng, fill ? 6 : 4, 10);
	bool one = prng_chance(&b->rng, 1, 2);
	uint32_t n = one ? 1 : any_burst(b);

	if (push)
		do_push(b, one, n);
	else
		do_pop(b, one, n);
	assert_int_equal(ring_size(&b->ring), b->model.count);
	assert_int_equal(ring_free(&b->ring), b->shape.capacity - b->model.count);
}

static void matches_model_across_the_wrap(void **state)
{
	static const struct ring_shape shapes[] = {
		{1, 1, UINT32_MAX},
		{4, 2, UINT32_MAX - 2},
		{3, 8, 0},
		{8, 16, UINT32_MAX - 1000},
		{ELEM_MAX, CAPACITY_MAX, 0x7ffffff0},
		{ELEM_MAX, CAPACITY_MAX, UINT32_MAX - 100000},
		{5, 4, 0x80000000},
		{16, 32, UINT32_MAX - 31},
	};
	struct bench b;

	(void)state;
	prng_init(&b.rng, check_seed(2), 0);
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		bench_start(&b, &shapes[i]);
		for (uint32_t op = 0; op < 150000; op++)
			step(&b, op / 64 % 2);
		/* A start close below 2^32 is no test of the wrap unless it was passed. */
		if (shapes[i].first > UINT32_MAX - 200000)
			assert_true(b.model.pushed > UINT32_MAX - shapes[i].first);
		bench_stop(&b);
	}
}

/* Every start around the wrap, every fill level: full holds exactly the capacity, then drains. */
static void fills_and_drains_at_every_start_near_the_wrap(void **state)
{
	(void)state;
	for (uint32_t back = 0; back <= 16; back++) {
		struct ring_shape s = {sizeof(uint32_t), 8, (uint32_t)0 - back};
		uint32_t memory[8];
		struct ring r;
		uint32_t v;

		ring_init(&r, memory, &s);
		for (uint32_t level = 0; level <= 8; level++) {
			for (v = 0; v < level; v++)
				assert_true(ring_push(&r, &v));
			assert_int_equal(ring_size(&r), level);
			assert_int_equal(ring_push(&r, &v), level < 8);
			for (uint32_t want = 0; want < min_u32(level + 1, 8); want++) {
				assert_true(ring_pop(&r, &v));
				assert_int_equal(v, want);
			}
			assert_false(ring_pop(&r, &v));
			assert_int_equal(ring_free(&r), 8);
		}
	}
}

static void size_is_exact_and_bad_shapes_have_none(void **state)
{
	static const struct {
		struct ring_shape shape;
		size_t bytes;
	} cases[] = {
		{{1, 1, 0}, 1},
		{{24, 64, 7}, 1536},
		{{2, RING_CAPACITY_MAX, 0}, (size_t)1 << 32},
		{{0, 8, 0}, 0},
		{{8, 0, 0}, 0},
		{{8, 3, 0}, 0},
		{{8, 12, 0}, 0},
		{{8, UINT32_MAX, 0}, 0},
		{{8, RING_CAPACITY_MAX + 1, 0}, 0},
		{{SIZE_MAX, 2, 0}, 0},
		{{SIZE_MAX / RING_CAPACITY_MAX + 1, RING_CAPACITY_MAX, 0}, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(ring_bytes(&cases[i].shape), cases[i].bytes);
}

#define RACE_ELEMS 2000000u
#define RACE_BURST 48u
/* Fruitless tries after which a side gives up; far beyond what a slow machine needs. */
#define RACE_TRIES 50000000u

struct race_elem {
	uint32_t number, pad;
	uint64_t proof;
};

struct race {
	struct ring ring;
	uint32_t produced;
};

static uint64_t proof_of(uint32_t number)
{
	uint64_t state = number;

	return prng_splitmix64(&state);
}

static uint32_t produce_some(struct race *race, uint32_t next, uint32_t n)
{
	struct race_elem burst[RACE_BURST];

	for (uint32_t i = 0; i < n; i++)
		burst[i] = (struct race_elem){next + i, 0, proof_of(next + i)};
	if (n == 1)
		return ring_push(&race->ring, burst);
	return ring_push_n(&race->ring, burst, n);
}

static void *produce(void *arg)
{
	struct race *race = arg;
	struct prng rng;
	uint32_t next = 0;

	prng_init(&rng, 3, 1);
	for (uint32_t tries = 0; next < RACE_ELEMS && tries < RACE_TRIES; tries++) {
		uint32_t n = min_u32((uint32_t)prng_range(&rng, 1, RACE_BURST), RACE_ELEMS - next);
		uint32_t done = produce_some(race, next, n);

		next += done;
		if (done == 0)
			sched_yield();
	}
	race->produced = next;
	return NULL;
}

/* The number of elements that arrived in order and whole, up to the first that did not. */
static uint32_t consume(struct race *race)
{
	struct race_elem burst[RACE_BURST];
	struct prng rng;
	uint32_t next = 0;

	prng_init(&rng, 3, 2);
	for (uint32_t tries = 0; next < RACE_ELEMS && tries < RACE_TRIES; tries++) {
		uint32_t n = (uint32_t)prng_range(&rng, 1, RACE_BURST);
		uint32_t got =
			n == 1 ? ring_pop(&race->ring, burst) : ring_pop_n(&race->ring, burst, n);

		for (uint32_t i = 0; i < got; i++, next++)
			if (burst[i].number != next || burst[i].proof != proof_of(next))
				return next;
		if (got == 0)
			sched_yield();
	}
	return next;
}

static void two_threads_pass_elements_in_order(void **state)
{
	/* A small ring is full and empty often; the start lets the indices wrap halfway. */
	static const uint32_t capacities[] = {2, 64};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ring_shape s = {sizeof(struct race_elem), capacities[i],
				       UINT32_MAX - RACE_ELEMS / 2};
		struct race_elem memory[64];
		struct race race;
		pthread_t producer;

		ring_init(&race.ring, memory, &s);
		assert_int_equal(pthread_create(&producer, NULL, produce, &race), 0);
		uint32_t consumed = consume(&race);

		assert_int_equal(pthread_join(producer, NULL), 0);
		assert_int_equal(consumed, RACE_ELEMS);
		assert_int_equal(race.produced, RACE_ELEMS);
		assert_int_equal(ring_size(&race.ring), 0);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(matches_model_across_the_wrap),
	cmocka_unit_test(fills_and_drains_at_every_start_near_the_wrap),
	cmocka_unit_test(size_is_exact_and_bad_shapes_have_none),
	cmocka_unit_test(two_threads_pass_elements_in_order),
};

CHECK_MAIN(cases)
