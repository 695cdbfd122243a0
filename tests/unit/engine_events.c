/* engine/events.h: what happened is told of once, and none is lost. */
#include "base/prng.h"
#include "check.h"
#include "engine/events.h"

#define MEMBERS 5u
#define KINDS   8u
#define OPS     200000u

static void each_kind_once_until_it_was_told(void **state)
{
	struct engine_events e[MEMBERS] = {0}, *of;
	bool has[MEMBERS][KINDS] = {0};
	struct list all = {0};
	struct prng rng;
	uint8_t kind;

	(void)state;
	prng_init(&rng, check_seed(3), 0);
	for (uint32_t op = 0; op < OPS; op++) {
		uint32_t i = (uint32_t)prng_below(&rng, MEMBERS);
		uint32_t what = (uint32_t)prng_below(&rng, 16);

		if (what < KINDS) {
			engine_event_raise(&all, &e[i], (uint8_t)what);
			has[i][what] = true;
		} else if (what == KINDS) {
			engine_event_forget(&all, &e[i]);
			for (uint32_t k = 0; k < KINDS; k++)
				has[i][k] = false;
		} else if ((of = engine_event_take(&all, &kind))) {
			assert_true(has[of - e][kind]);
			has[of - e][kind] = false;
		}
	}
	while ((of = engine_event_take(&all, &kind))) {
		assert_true(has[of - e][kind]);
		has[of - e][kind] = false;
	}
	for (uint32_t i = 0; i < MEMBERS * KINDS; i++)
		assert_false(has[i / KINDS][i % KINDS]);
}

static void the_first_with_any_tells_all_of_its_own(void **state)
{
	struct engine_events e[2] = {0};
	struct list all = {0};
	uint8_t kind;

	(void)state;
	engine_event_raise(&all, &e[1], 4);
	engine_event_raise(&all, &e[0], 0);
	engine_event_raise(&all, &e[1], 2);
	assert_ptr_equal(engine_event_take(&all, &kind), &e[1]);
	assert_int_equal(kind, 2);
	assert_ptr_equal(engine_event_take(&all, &kind), &e[1]);
	assert_int_equal(kind, 4);
	assert_ptr_equal(engine_event_take(&all, &kind), &e[0]);
	assert_int_equal(kind, 0);
	assert_null(engine_event_take(&all, &kind));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(each_kind_once_until_it_was_told),
	cmocka_unit_test(the_first_with_any_tells_all_of_its_own),
};

CHECK_MAIN(cases)
