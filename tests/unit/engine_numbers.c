/* engine/numbers.h: against an array of all that are there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "engine/numbers.h"

#define MOST  40u
#define RANGE 60u
#define OPS   200000u

struct world {
	struct engine_numbers table;
	struct engine_number link[RANGE];
	bool is_there[RANGE];
	uint32_t number[RANGE]; /* what each is called */
	uint32_t n;
	void *memory;
};

static void start(struct world *w, uint32_t most)
{
	*w = (struct world){.memory = malloc(engine_numbers_bytes(most))};
	assert_non_null(w->memory);
	memset(w->memory, 0xa5, engine_numbers_bytes(most));
	engine_numbers_init(&w->table, w->memory, most);
}

static void toggle(struct world *w, uint32_t i)
{
	int problem = engine_numbers_problem(&w->table, w->number[i]);

	if (w->is_there[i]) {
		assert_int_equal(problem, -EEXIST);
		engine_number_remove(&w->table, &w->link[i]);
		w->n--;
	} else if (w->n == MOST) {
		assert_int_equal(problem, -ENOSPC);
		return;
	} else {
		assert_int_equal(problem, 0);
		engine_number_add(&w->table, &w->link[i], w->number[i]);
		assert_int_equal(w->link[i].number, w->number[i]);
		w->n++;
	}
	w->is_there[i] = !w->is_there[i];
}

static void check_walk(const struct world *w)
{
	const struct engine_number *at = NULL;
	bool is_seen[RANGE] = {false};
	uint32_t n = 0;

	while ((at = engine_number_next(&w->table, at))) {
		size_t i = (size_t)(at - w->link);

		assert_true(i < RANGE && w->is_there[i] && !is_seen[i]);
		is_seen[i] = true;
		n++;
	}
	assert_int_equal(n, w->n);
}

static void as_an_array_does(void **state)
{
	struct prng rng;
	struct world w;

	(void)state;
	prng_init(&rng, check_seed(1), 0);
	start(&w, MOST);
	/* Some in a row, the others anywhere. */
	for (uint32_t i = 0; i < RANGE; i++)
		w.number[i] = i < RANGE / 2 ? i : (uint32_t)prng_u64(&rng) | RANGE;
	for (uint32_t op = 0; op < OPS; op++) {
		uint32_t i = (uint32_t)prng_below(&rng, RANGE);
		const struct engine_number *found = engine_number_find(&w.table, w.number[i]);

		assert_ptr_equal(found, w.is_there[i] ? &w.link[i] : NULL);
		toggle(&w, i);
		if (op % 64 == 0)
			check_walk(&w);
	}
	free(w.memory);
}

static void a_table_of_one(void **state)
{
	struct world w;

	(void)state;
	start(&w, 1);
	assert_null(engine_number_next(&w.table, NULL));
	engine_number_add(&w.table, &w.link[0], 7);
	assert_int_equal(engine_numbers_problem(&w.table, 7), -EEXIST);
	assert_int_equal(engine_numbers_problem(&w.table, 8), -ENOSPC);
	assert_ptr_equal(engine_number_next(&w.table, NULL), &w.link[0]);
	assert_null(engine_number_next(&w.table, &w.link[0]));
	engine_number_remove(&w.table, &w.link[0]);
	assert_null(engine_number_find(&w.table, 7));
	free(w.memory);
}

static void add_twice(void *table)
{
	struct engine_number link;

	engine_number_add(table, &link, 7);
}

static void one_that_is_there_is_not_added(void **state)
{
	struct world w;

	(void)state;
	start(&w, 2);
	engine_number_add(&w.table, &w.link[0], 7);
	assert_true(check_aborts(add_twice, &w.table));
	free(w.memory);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(as_an_array_does),
	cmocka_unit_test(a_table_of_one),
	cmocka_unit_test(one_that_is_there_is_not_added),
};

CHECK_MAIN(cases)
