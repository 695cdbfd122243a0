/* The plain walk: it is even over all its EVs; and what free ports do to it. */
#include "path/walk.h"

#include "base/prng.h"
#include "check.h"

#define EVS 12u

static struct path_ev evs[PATH_EVS_MAX];

/* n EVs over n_ports ports, each with an entropy of its own. */
static void make_evs(uint32_t n, uint32_t n_ports)
{
	for (uint32_t i = 0; i < n; i++)
		evs[i] = (struct path_ev){0xc0000000 + i, i % n_ports};
}

static uint32_t index_of(const struct path_ev *ev)
{
	assert_non_null(ev);
	return ev->value - 0xc0000000;
}

static struct path_set set_of(uint32_t n)
{
	struct path_set s = {evs, n, 0};

	for (uint32_t i = 0; i < n; i++)
		s.ports |= UINT32_C(1) << evs[i].port;
	return s;
}

/* Every EV once in each round, in their order, from wherever the walk starts. */
static void even_walk(void **state)
{
	struct path_set s;
	struct path_walk p;

	(void)state;
	make_evs(EVS, 4);
	s = set_of(EVS);
	assert_int_equal(s.ports, 0xf);
	for (uint32_t salt = 0; salt < 100; salt++) {
		path_walk_start(&p, &s, salt);
		uint32_t at = index_of(path_walk_next(&p, UINT32_MAX));

		for (uint32_t i = 1; i < 3 * EVS; i++)
			assert_int_equal(index_of(path_walk_next(&p, UINT32_MAX)), (at + i) % EVS);
	}
}

/* Senders that share a set do not all begin at one EV: a thousand neighbours load each of ten as
 * evenly as they can, within a few. */
static void spread_starts(void **state)
{
	struct path_set s;
	struct path_walk p;
	uint32_t n[10] = {0};

	(void)state;
	make_evs(10, 1);
	s = set_of(10);
	for (uint32_t salt = 0; salt < 1000; salt++) {
		path_walk_start(&p, &s, salt);
		n[index_of(path_walk_next(&p, 1))]++;
	}
	for (uint32_t i = 0; i < 10; i++)
		assert_in_range(n[i], 90, 110);
	/* Every salt, the largest too, starts inside. */
	for (uint32_t i = 0; i < 32; i++) {
		path_walk_start(&p, &s, UINT32_MAX >> i);
		assert_true(index_of(path_walk_next(&p, 1)) < 10);
	}
}

/* Only free ports are used, none of their EVs is left out, and a walk that finds none free does
 * not move. */
static void free_ports_only(void **state)
{
	struct path_set s;
	struct path_walk p;

	(void)state;
	make_evs(EVS, 4);
	s = set_of(EVS);
	for (uint32_t free_ports = 1; free_ports < 16; free_ports++) {
		uint32_t seen = 0, n = 0;

		for (uint32_t i = 0; i < EVS; i++)
			n += free_ports >> evs[i].port & 1;
		path_walk_start(&p, &s, 7);
		for (uint32_t i = 0; i < n; i++) {
			const struct path_ev *ev = path_walk_next(&p, free_ports);

			assert_true(free_ports >> evs[index_of(ev)].port & 1);
			assert_false(seen >> index_of(ev) & 1);
			seen |= UINT32_C(1) << index_of(ev);
			assert_null(path_walk_next(&p, 0));
			assert_null(path_walk_next(&p, 0xf0));
		}
	}
}

/* Against a naive walk, with ports that open and shut at random. */
static void like_a_naive_walk(void **state)
{
	struct prng rng;
	struct path_set s;
	struct path_walk p;

	(void)state;
	prng_init(&rng, check_seed(1), 0);
	for (uint32_t round = 0; round < 200; round++) {
		uint32_t n = 1 + (uint32_t)prng_below(&rng, 40);
		uint32_t n_ports = 1 + (uint32_t)prng_below(&rng, 8);

		make_evs(n, 1);
		for (uint32_t i = 0; i < n; i++)
			evs[i].port = (uint32_t)prng_below(&rng, n_ports);
		s = set_of(n);
		path_walk_start(&p, &s, prng_u32(&rng));
		uint32_t at = p.at;

		for (uint32_t step = 0; step < 100; step++) {
			uint32_t free_ports = prng_u32(&rng) & 0xff, tried = 0;

			while (tried < n && !(free_ports >> evs[(at + tried) % n].port & 1))
				tried++;
			const struct path_ev *ev = path_walk_next(&p, free_ports);

			if (tried == n) {
				assert_null(ev);
				continue;
			}
			assert_int_equal(index_of(ev), (at + tried) % n);
			at = (at + tried + 1) % n;
		}
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(even_walk),
	cmocka_unit_test(spread_starts),
	cmocka_unit_test(free_ports_only),
	cmocka_unit_test(like_a_naive_walk),
};
CHECK_MAIN(cases)
