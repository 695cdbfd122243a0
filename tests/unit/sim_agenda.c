/* The event queue against a naive one: a list searched for the smallest (time, order of arming). */
#include "sim/agenda.h"

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

#define EVENTS 300u

struct model {
	psec at[EVENTS];
	uint64_t order[EVENTS];
	uint64_t next_order;
	psec now;
};

static void model_init(struct model *m)
{
	*m = (struct model){0};
	for (uint32_t i = 0; i < EVENTS; i++)
		m->at[i] = PSEC_NEVER;
}

static void model_arm(struct model *m, uint32_t id, psec at)
{
	m->at[id] = at;
	m->order[id] = m->next_order++;
}

static uint32_t model_next(struct model *m, psec until)
{
	uint32_t best = AGENDA_NONE;

	for (uint32_t i = 0; i < EVENTS; i++) {
		if (m->at[i] > until || m->at[i] == PSEC_NEVER)
			continue;
		if (best == AGENDA_NONE || m->at[i] < m->at[best] ||
		    (m->at[i] == m->at[best] && m->order[i] < m->order[best]))
			best = i;
	}
	if (best == AGENDA_NONE) {
		if (until != PSEC_NEVER)
			m->now = until;
		return best;
	}
	m->now = m->at[best];
	m->at[best] = PSEC_NEVER;
	return best;
}

/* Distances of every scale, many of them equal: neighbours in a slot, the next stretch, far beyond.
 */
static psec distance(struct prng *p)
{
	static const psec scales[] = {
		1,       3,      100,          1000, 83200, PSEC_US, 8 * PSEC_US, 70 * PSEC_US,
		PSEC_MS, PSEC_S, 100 * PSEC_S,
	};
	psec scale = scales[prng_below(p, sizeof scales / sizeof scales[0])];

	return prng_below(p, 4) * scale + (prng_chance(p, 1, 3) ? prng_below(p, scale) : 0);
}

static void run_against_model(uint64_t seed, uint32_t n_expected)
{
	struct agenda a;
	struct model m;
	struct prng p;

	prng_init(&p, seed, 0);
	model_init(&m);
	assert_int_equal(agenda_init(&a, n_expected), 0);
	assert_int_equal(agenda_add(&a, EVENTS), 0);
	for (uint32_t step = 0; step < 4000; step++) {
		uint32_t id = (uint32_t)prng_below(&p, EVENTS);
		uint64_t what = prng_below(&p, 10);

		if (what < 5) {
			psec at = a.now + distance(&p);

			agenda_arm(&a, id, at);
			model_arm(&m, id, at);
		} else if (what < 6) {
			agenda_cancel(&a, id);
			m.at[id] = PSEC_NEVER;
		} else {
			psec until = prng_chance(&p, 1, 50) ? PSEC_NEVER : a.now + distance(&p);

			assert_int_equal(agenda_next(&a, until), model_next(&m, until));
			assert_int_equal(a.now, m.now);
		}
		assert_int_equal(agenda_at(&a, id), m.at[id]);
	}
	for (uint32_t id = 0; id != AGENDA_NONE;) {
		id = agenda_next(&a, PSEC_NEVER);
		assert_int_equal(id, model_next(&m, PSEC_NEVER));
	}
	assert_int_equal(a.n_armed, 0);
	agenda_fini(&a);
}

static void agrees_with_a_sorted_list(void **state)
{
	uint64_t seed = check_seed(0x5eed);

	(void)state;
	for (uint32_t i = 0; i < 150; i++)
		run_against_model(seed + i, i % 3 ? 100 : 1000000);
}

static void equal_times_come_in_the_order_armed(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 100), 0);
	agenda_add(&a, 100);
	for (uint32_t i = 0; i < 100; i++)
		agenda_arm(&a, 99 - i, i % 2 ? 5000 : 5001);
	/* Arming again counts anew. */
	agenda_arm(&a, 98, 5000);
	for (uint32_t i = 0; i < 49; i++)
		assert_int_equal(agenda_next(&a, PSEC_NEVER), 96 - 2 * i);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 98);
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(agenda_next(&a, PSEC_NEVER), 99 - 2 * i);
	agenda_fini(&a);
}

/* The caller moves time on without an event, then arms one before the next known event. */
static void time_may_stop_between_events(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 10), 0);
	agenda_add(&a, 4);
	agenda_arm(&a, 0, 90 * PSEC_MS);
	assert_int_equal(agenda_next(&a, 50 * PSEC_MS), AGENDA_NONE);
	assert_int_equal(a.now, 50 * PSEC_MS);
	agenda_arm(&a, 1, 50 * PSEC_MS);
	agenda_arm(&a, 2, 60 * PSEC_MS);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 1);
	assert_int_equal(agenda_next(&a, 89 * PSEC_MS), 2);
	assert_int_equal(agenda_next(&a, 89 * PSEC_MS), AGENDA_NONE);
	agenda_arm(&a, 3, 89 * PSEC_MS + 1);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 3);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 0);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), AGENDA_NONE);
	assert_int_equal(a.now, 90 * PSEC_MS);
	agenda_fini(&a);
}

static void arm_in_the_past(void *context)
{
	struct agenda *a = context;

	agenda_arm(a, 0, a->now - 1);
}

static void nothing_is_scheduled_in_the_past(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 1), 0);
	agenda_add(&a, 1);
	agenda_next(&a, PSEC_US);
	assert_true(check_aborts(arm_in_the_past, &a));
	agenda_fini(&a);
}

/* Re-arming inside the slot at hand, many times: the list of what is due must not grow. */
static void a_slot_may_be_refilled_while_it_is_open(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 10), 0);
	agenda_add(&a, 3);
	for (uint32_t i = 0; i < 3; i++)
		agenda_arm(&a, i, 1024);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(agenda_next(&a, PSEC_NEVER), i % 3);
		assert_int_equal(a.now, 1024 + i / 3);
		agenda_arm(&a, i % 3, 1024 + i / 3 + 1);
	}
	agenda_fini(&a);
}

static void events_can_be_added_later(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 1), 0);
	assert_int_equal(agenda_add(&a, 2), 0);
	agenda_arm(&a, 1, 10);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t id = agenda_add(&a, 1);

		assert_int_equal(id, 2 + i);
		agenda_arm(&a, id, 10);
	}
	for (uint32_t i = 0; i < 101; i++)
		assert_int_equal(agenda_next(&a, PSEC_NEVER), 1 + i);
	agenda_fini(&a);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(agrees_with_a_sorted_list),
	cmocka_unit_test(equal_times_come_in_the_order_armed),
	cmocka_unit_test(time_may_stop_between_events),
	cmocka_unit_test(nothing_is_scheduled_in_the_past),
	cmocka_unit_test(a_slot_may_be_refilled_while_it_is_open),
	cmocka_unit_test(events_can_be_added_later),
};

CHECK_MAIN(cases)
