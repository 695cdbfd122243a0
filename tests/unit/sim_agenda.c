/* The event queue against a naive one: a list searched for the smallest (time, number). */
#include "sim/agenda.h"

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

#define EVENTS 300u

struct model {
	psec at[EVENTS];
	bool is_noted[EVENTS];
	uint64_t n_armed, n_fired;
	psec now;
};

static void model_init(struct model *m)
{
	*m = (struct model){0};
	for (uint32_t i = 0; i < EVENTS; i++)
		m->at[i] = PSEC_NEVER;
}

static void model_set(struct model *m, uint32_t id, psec at, bool is_noted)
{
	m->n_armed -= m->at[id] != PSEC_NEVER;
	m->n_armed += at != PSEC_NEVER;
	m->at[id] = at;
	m->is_noted[id] = is_noted;
}

static uint32_t model_next(struct model *m, psec until)
{
	uint32_t best = AGENDA_NONE;

	for (uint32_t i = 0; i < EVENTS; i++) {
		if (m->at[i] > until || m->at[i] == PSEC_NEVER || m->is_noted[i])
			continue;
		/* Of equal times the first found has the lowest number. */
		if (best == AGENDA_NONE || m->at[i] < m->at[best])
			best = i;
	}
	if (best == AGENDA_NONE) {
		if (until != PSEC_NEVER)
			m->now = until;
		return best;
	}
	m->now = m->at[best];
	m->n_fired++;
	model_set(m, best, PSEC_NEVER, false);
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

/* Arms, notes, moves or cancels an event in both. */
static void change_one(struct agenda *a, struct model *m, struct prng *p, uint32_t id)
{
	uint64_t what = prng_below(p, 8);
	psec at = what == 0 || prng_chance(p, 1, 30) ? PSEC_NEVER : a->now + distance(p);

	if (what == 0)
		agenda_cancel(a, id);
	else if (what == 1)
		agenda_note(a, id, at);
	else
		agenda_arm(a, id, at);
	model_set(m, id, at, what == 1);
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

		if (prng_chance(&p, 6, 10)) {
			change_one(&a, &m, &p, id);
		} else {
			psec until = prng_chance(&p, 1, 50) ? PSEC_NEVER : a.now + distance(&p);

			assert_int_equal(agenda_next(&a, until), model_next(&m, until));
			assert_int_equal(a.now, m.now);
		}
		assert_int_equal(agenda_at(&a, id), m.at[id]);
		assert_int_equal(a.n_armed, m.n_armed);
		assert_int_equal(a.n_fired, m.n_fired);
	}
	for (uint32_t i = 0, id = 0; i <= EVENTS && id != AGENDA_NONE; i++) {
		id = agenda_next(&a, PSEC_NEVER);
		assert_int_equal(id, model_next(&m, PSEC_NEVER));
	}
	/* What is left was only noted. */
	for (uint32_t id = 0; id < EVENTS; id++) {
		assert_int_equal(agenda_at(&a, id), m.at[id]);
		agenda_cancel(&a, id);
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

static void equal_times_come_by_number(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 100), 0);
	agenda_add(&a, 100);
	for (uint32_t i = 0; i < 100; i++)
		agenda_arm(&a, 99 - i, i % 2 ? 5000 : 5001);
	/* Arming again changes nothing. */
	agenda_arm(&a, 98, 5000);
	agenda_arm(&a, 2, 5000);
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(agenda_next(&a, PSEC_NEVER), 2 * i);
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(agenda_next(&a, PSEC_NEVER), 2 * i + 1);
	assert_int_equal(a.now, 5001);
	agenda_fini(&a);
}

/* An event armed for the moment at hand takes its place among those still to come. */
static void a_low_number_comes_before_those_waiting(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 10), 0);
	agenda_add(&a, 10);
	for (uint32_t i = 4; i < 8; i++)
		agenda_arm(&a, i, 700);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 4);
	agenda_arm(&a, 9, 700);
	agenda_arm(&a, 4, 700);
	agenda_arm(&a, 6, 701);
	agenda_arm(&a, 3, 700);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 3);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 4);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 5);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 7);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 9);
	assert_int_equal(a.now, 700);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 6);
	agenda_fini(&a);
}

/* Armed at every distance ahead, in turn from either end: where an event waited does not show. */
static void the_way_an_event_waited_does_not_count(void **state)
{
	enum { N = 64 };
	static const psec moments[] = {PSEC_US, 20 * PSEC_US, 50 * PSEC_MS, 300 * PSEC_S};
	struct agenda a;

	(void)state;
	for (uint32_t m = 0; m < sizeof moments / sizeof moments[0]; m++) {
		assert_int_equal(agenda_init(&a, N), 0);
		agenda_add(&a, N + 1);
		for (uint32_t step = 0; step < 4; step++) {
			psec now = moments[m] / 4 * step;

			assert_int_equal(agenda_next(&a, now), AGENDA_NONE);
			for (uint32_t i = step; i < N; i += 4)
				agenda_arm(&a, step % 2 ? i : N - 4 + 2 * step - i, moments[m]);
		}
		for (uint32_t i = 0; i < N; i++) {
			assert_int_equal(agenda_next(&a, PSEC_NEVER), i);
			assert_int_equal(a.now, moments[m]);
		}
		assert_int_equal(agenda_next(&a, PSEC_NEVER), AGENDA_NONE);
		agenda_fini(&a);
	}
}

static void noted_events_are_seen_but_do_not_come(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 10), 0);
	agenda_add(&a, 3);
	agenda_note(&a, 0, 100);
	agenda_arm(&a, 1, 100);
	assert_int_equal(agenda_at(&a, 0), 100);
	assert_int_equal(a.n_armed, 2);
	assert_int_equal(agenda_next(&a, 200), 1);
	assert_int_equal(agenda_next(&a, 200), AGENDA_NONE);
	/* Its time may pass. */
	assert_int_equal(agenda_at(&a, 0), 100);
	assert_int_equal(a.n_armed, 1);
	agenda_note(&a, 0, 300);
	assert_int_equal(agenda_at(&a, 0), 300);
	assert_int_equal(a.n_armed, 1);
	agenda_cancel(&a, 0);
	assert_int_equal(agenda_at(&a, 0), PSEC_NEVER);
	assert_int_equal(a.n_armed, 0);
	agenda_note(&a, 0, 200);
	agenda_note(&a, 0, PSEC_NEVER);
	agenda_note(&a, 0, PSEC_NEVER);
	assert_int_equal(agenda_at(&a, 0), PSEC_NEVER);
	assert_int_equal(a.n_armed, 0);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), AGENDA_NONE);
	assert_int_equal(a.n_fired, 1);
	agenda_fini(&a);
}

/* To and fro for one and the same moment, in a slot that is open and in one that is not. */
static void events_are_armed_and_noted_in_turn(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 10), 0);
	agenda_add(&a, 4);
	for (uint32_t i = 0; i < 4; i++)
		agenda_arm(&a, i, 500);
	agenda_note(&a, 3, 500);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 0);
	agenda_note(&a, 1, 500);
	assert_int_equal(a.n_armed, 3);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 2);
	assert_int_equal(agenda_next(&a, 500), AGENDA_NONE);
	agenda_arm(&a, 3, 500);
	agenda_arm(&a, 1, 500);
	assert_int_equal(a.n_armed, 2);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 1);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), 3);
	assert_int_equal(agenda_next(&a, PSEC_NEVER), AGENDA_NONE);
	assert_int_equal(a.n_armed, 0);
	assert_int_equal(a.n_fired, 4);
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

static void note_in_the_past(void *context)
{
	struct agenda *a = context;

	agenda_note(a, 0, a->now - 1);
}

/* An event given up leaves a ticket far ahead: looking for it moves nothing but itself. */
static void given_up_events_lead_nowhere(void **state)
{
	static const psec far[] = {PSEC_US, 50 * PSEC_MS, 3600 * PSEC_S};
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 2), 0);
	agenda_add(&a, 2);
	for (uint32_t i = 0; i < sizeof far / sizeof far[0]; i++) {
		psec now = a.now;

		agenda_arm(&a, 0, now + far[i]);
		agenda_cancel(&a, 0);
		assert_int_equal(agenda_next(&a, PSEC_NEVER), AGENDA_NONE);
		assert_int_equal(a.now, now);
		agenda_arm(&a, 1, now + 1000);
		agenda_arm(&a, 0, now + far[i]);
		assert_int_equal(agenda_next(&a, PSEC_NEVER), 1);
		assert_int_equal(agenda_next(&a, PSEC_NEVER), 0);
		assert_int_equal(a.now, now + far[i]);
	}
	agenda_fini(&a);
}

static void nothing_is_scheduled_in_the_past(void **state)
{
	struct agenda a;

	(void)state;
	assert_int_equal(agenda_init(&a, 1), 0);
	agenda_add(&a, 1);
	agenda_next(&a, PSEC_US);
	assert_true(check_aborts(arm_in_the_past, &a));
	assert_true(check_aborts(note_in_the_past, &a));
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
	cmocka_unit_test(equal_times_come_by_number),
	cmocka_unit_test(a_low_number_comes_before_those_waiting),
	cmocka_unit_test(the_way_an_event_waited_does_not_count),
	cmocka_unit_test(noted_events_are_seen_but_do_not_come),
	cmocka_unit_test(events_are_armed_and_noted_in_turn),
	cmocka_unit_test(time_may_stop_between_events),
	cmocka_unit_test(given_up_events_lead_nowhere),
	cmocka_unit_test(nothing_is_scheduled_in_the_past),
	cmocka_unit_test(a_slot_may_be_refilled_while_it_is_open),
	cmocka_unit_test(events_can_be_added_later),
};

CHECK_MAIN(cases)
