/* base/list.h: lists of one set of things against a model that keeps them in arrays. */
#include "base/list.h"
#include "base/prng.h"
#include "check.h"

#include <string.h>

#define THINGS 12u
#define LISTS  3u
#define STEPS  200000u

/* Its link is not its first member, nor its only one. */
struct thing {
	uint32_t number;
	struct list_link other, link;
};

/* What the lists should be: the things of each, the first one first. */
struct model {
	uint32_t n[LISTS], at[LISTS][THINGS];
	uint32_t in[THINGS]; /* which list has it; LISTS: none */
};

static struct thing things[THINGS];
static struct list lists[LISTS];
static struct model model;

static void start(void)
{
	memset(things, 0, sizeof things);
	memset(lists, 0, sizeof lists);
	memset(&model, 0, sizeof model);
	for (uint32_t i = 0; i < THINGS; i++) {
		things[i].number = i;
		model.in[i] = LISTS;
	}
}

static void insert(uint32_t l, uint32_t at, uint32_t thing)
{
	memmove(&model.at[l][at + 1], &model.at[l][at], (model.n[l] - at) * sizeof(uint32_t));
	model.at[l][at] = thing;
	model.n[l]++;
	model.in[thing] = l;
}

static void take(uint32_t l, uint32_t at)
{
	model.in[model.at[l][at]] = LISTS;
	model.n[l]--;
	memmove(&model.at[l][at], &model.at[l][at + 1], (model.n[l] - at) * sizeof(uint32_t));
}

static void pop(uint32_t l)
{
	const struct list_link *link = list_pop(&lists[l]);

	if (model.n[l] == 0) {
		assert_null(link);
		return;
	}
	assert_ptr_equal(link, &things[model.at[l][0]].link);
	take(l, 0);
}

static void remove_one(uint32_t thing)
{
	uint32_t l = model.in[thing], at = 0;

	while (model.at[l][at] != thing)
		at++;
	if (thing % 2)
		list_leave(&lists[l], &things[thing].link);
	else
		list_remove(&lists[l], &things[thing].link);
	take(l, at);
}

static void check_list(uint32_t l)
{
	struct list_link *link = list_first(&lists[l]);

	assert_int_equal(list_is_empty(&lists[l]), model.n[l] == 0);
	for (uint32_t i = 0; i < model.n[l]; i++) {
		assert_non_null(link);
		assert_int_equal(LIST_OWNER(link, thing, link)->number, model.at[l][i]);
		link = list_after(&lists[l], link);
	}
	assert_null(link);
}

static void one_step(struct prng *pick)
{
	uint32_t thing = (uint32_t)prng_below(pick, THINGS), l = (uint32_t)prng_below(pick, LISTS);

	if (prng_below(pick, 4) == 0) {
		pop(l);
	} else if (model.in[thing] != LISTS) {
		remove_one(thing);
	} else if (prng_below(pick, 3) == 0) {
		list_push_front(&lists[l], &things[thing].link);
		insert(l, 0, thing);
	} else {
		if (thing % 2)
			list_join(&lists[l], &things[thing].link);
		else
			list_push(&lists[l], &things[thing].link);
		insert(l, model.n[l], thing);
	}
}

static void like_the_model(void **state)
{
	struct prng pick;

	(void)state;
	prng_init(&pick, check_seed(7), 0);
	start();
	for (uint32_t step = 0; step < STEPS; step++) {
		one_step(&pick);
		for (uint32_t l = 0; l < LISTS; l++)
			check_list(l);
		for (uint32_t i = 0; i < THINGS; i++) {
			assert_int_equal(list_is_linked(&things[i].link), model.in[i] != LISTS);
			assert_false(list_is_linked(&things[i].other));
		}
	}
}

/* A thing is in several lists, by a link for each. */
static void several_links(void **state)
{
	(void)state;
	start();
	for (uint32_t i = 0; i < 2; i++) {
		list_push(&lists[0], &things[i].link);
		list_push_front(&lists[1], &things[i].other);
	}
	assert_ptr_equal(LIST_OWNER(list_pop(&lists[0]), thing, link), &things[0]);
	assert_ptr_equal(LIST_OWNER(list_pop(&lists[1]), thing, other), &things[1]);
	assert_true(list_is_linked(&things[0].other));
	assert_true(list_is_linked(&things[1].link));
}

/* What is in its list may join it, and what is in none may leave it. */
static void join_and_leave(void **state)
{
	(void)state;
	start();
	for (uint32_t time = 0; time < 2; time++)
		for (uint32_t i = 0; i < 2; i++)
			list_join(&lists[0], &things[i].link);
	assert_ptr_equal(list_first(&lists[0]), &things[0].link);
	assert_ptr_equal(list_after(&lists[0], &things[0].link), &things[1].link);
	for (uint32_t time = 0; time < 2; time++)
		list_leave(&lists[0], &things[0].link);
	assert_ptr_equal(list_pop(&lists[0]), &things[1].link);
	assert_true(list_is_empty(&lists[0]));
}

static void push_twice(void *context)
{
	(void)context;
	list_push(&lists[1], &things[0].link);
}

static void remove_a_stranger(void *context)
{
	list_remove(context, &things[0].link);
}

static void misuse(void **state)
{
	(void)state;
	start();
	list_push(&lists[0], &things[0].link);
	assert_true(check_aborts(push_twice, NULL));
	assert_true(check_aborts(remove_a_stranger, &lists[1]));
	list_push(&lists[1], &things[1].link);
	list_push(&lists[1], &things[2].link);
	assert_true(check_aborts(remove_a_stranger, &lists[1]));
	list_pop(&lists[0]);
	assert_true(check_aborts(remove_a_stranger, &lists[1]));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(like_the_model),
	cmocka_unit_test(several_links),
	cmocka_unit_test(join_and_leave),
	cmocka_unit_test(misuse),
};

CHECK_MAIN(cases)
