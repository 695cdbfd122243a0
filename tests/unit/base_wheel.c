#include "base/wheel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

enum { TIMERS = 64, CROWD = 100000 };

#define LATEST (NSEC_NEVER - 1)

/* The wheel under test beside an array that is searched from end to end. */
struct pair {
	struct wheel w;
	struct prng p;
	nsec now;
	uint64_t tick, seq;
	struct wheel_timer timer[TIMERS];
	struct {
		bool armed;
		uint64_t due, seq; /* the slot it comes out in; when it was armed */
	} model[TIMERS];
	struct wheel_timer *slots[WHEEL_SLOTS(WHEEL_LEVELS_MAX)];
};

static struct pair pair;

static void start(struct wheel_cfg cfg, uint64_t seed)
{
	memset(&pair, 0, sizeof pair);
	/* Memory comes dirty; init must not trust it. */
	memset(pair.slots, 0xa5, sizeof pair.slots);
	pair.now = cfg.now;
	pair.tick = cfg.now >> cfg.shift;
	wheel_init(&pair.w, cfg, pair.slots);
	prng_init(&pair.p, seed, cfg.now ^ cfg.shift << 8 ^ cfg.levels);
}

static int model_first(void)
{
	int first = -1;

	for (int i = 0; i < TIMERS; i++) {
		if (!pair.model[i].armed)
			continue;
		if (first < 0 || pair.model[i].due < pair.model[first].due ||
		    (pair.model[i].due == pair.model[first].due &&
		     pair.model[i].seq < pair.model[first].seq))
			first = i;
	}
	return first;
}

static void arm(uint32_t i, nsec deadline)
{
	uint64_t due = deadline >> pair.w.shift;

	wheel_arm(&pair.w, &pair.timer[i], deadline);
	assert_int_equal(pair.timer[i].deadline, deadline);
	pair.model[i].armed = deadline != NSEC_NEVER;
	pair.model[i].due = due > pair.tick ? due : pair.tick;
	pair.model[i].seq = pair.seq++;
}

static void cancel(uint32_t i)
{
	wheel_cancel(&pair.w, &pair.timer[i]);
	pair.model[i].armed = false;
}

static uint32_t any_timer(void)
{
	return (uint32_t)prng_below(&pair.p, TIMERS);
}

/* A length of time of any order of magnitude up to 2^62. */
static nsec any_span(void)
{
	return prng_u64(&pair.p) >> (2 + prng_below(&pair.p, 62));
}

static nsec after(nsec t, nsec span)
{
	return span < LATEST - t ? t + span : LATEST;
}

static nsec any_deadline(void)
{
	nsec width = wheel_width(&pair.w), t;

	switch (prng_below(&pair.p, 8)) {
	case 0: return prng_below(&pair.p, pair.now + 1);
	case 1: return after(pair.now, prng_below(&pair.p, 2 * width));
	case 2:
		/* Around a border where a higher digit turns over. */
		t = after(pair.now, any_span()) >> pair.w.shift >> 6 << 6 << pair.w.shift;
		t = after(t, prng_below(&pair.p, 3) * width);
		return t > width ? t - width : 0;
	case 3: return prng_chance(&pair.p, 1, 4) ? NSEC_NEVER : after(pair.now, any_span());
	case 4 ... 5: return after(pair.now, prng_below(&pair.p, 200 * width));
	default: return after(pair.now, any_span());
	}
}

static void check_next(void)
{
	int first = model_first();
	nsec next = wheel_next(&pair.w);

	if (first < 0) {
		assert_true(next == NSEC_NEVER);
		return;
	}
	assert_true(next <= pair.model[first].due << pair.w.shift);
	assert_true(next >= pair.tick << pair.w.shift);
}

/* Takes one timer from both; false when nothing is due. */
static bool expire_one(void)
{
	struct wheel_timer *t = wheel_expire(&pair.w, pair.now);
	int first = model_first();

	if (first < 0 || pair.model[first].due > pair.now >> pair.w.shift) {
		assert_null(t);
		pair.tick = pair.now >> pair.w.shift;
		assert_true(wheel_next(&pair.w) > pair.now);
		return false;
	}
	assert_ptr_equal(t, &pair.timer[first]);
	assert_false(wheel_is_armed(t));
	/* Early by less than a slot. */
	assert_true(t->deadline <= pair.now || t->deadline - pair.now < wheel_width(&pair.w));
	pair.model[first].armed = false;
	pair.tick = pair.model[first].due;
	return true;
}

/* Takes timers until none is due, or breaks off; meanwhile arms and cancels. */
static void expire(void)
{
	while (expire_one()) {
		uint64_t what = prng_below(&pair.p, 32);

		if (what < 4)
			cancel(any_timer());
		else if (what < 6)
			arm(any_timer(), after(pair.now, any_span()));
		else if (what < 8)
			arm(any_timer(), prng_below(&pair.p, pair.now + 1));
		else if (what == 8)
			return;
	}
}

static void step(void)
{
	uint64_t what = prng_below(&pair.p, 16);
	nsec span;

	if (what < 9) {
		arm(any_timer(), any_deadline());
	} else if (what < 11) {
		cancel(any_timer());
	} else {
		/* Huge steps are rare, so that time lasts for the run. */
		span = what < 15 ? prng_below(&pair.p, 100 * wheel_width(&pair.w)) : any_span();
		if (span < (LATEST - pair.now) / 16)
			pair.now += span;
		if (what == 14 && wheel_next(&pair.w) >= pair.now && model_first() >= 0)
			pair.now = wheel_next(&pair.w);
		expire();
	}
	check_next();
}

static void random_steps_agree_with_model(void **state)
{
	static const uint8_t shifts[] = {0, 3, 10, 20, 32}, levels[] = {1, 2, 4, 9, 10};
	static const nsec epochs[] = {0, 1234567890123, (nsec)INT64_MAX - 5000, (nsec)1 << 63,
				      LATEST - ((nsec)1 << 48)};
	uint64_t seed = check_seed(0x3ee1);

	(void)state;
	for (uint32_t run = 0; run < 125; run++) {
		start((struct wheel_cfg){epochs[run / 25], shifts[run / 5 % 5], levels[run % 5]},
		      seed);
		for (uint32_t i = 0; i < 12000; i++)
			step();
	}
}

/* 100,000 timers: what came out must be what sorting says, one for one. */
struct guest {
	struct wheel_timer timer;
	uint64_t due;
	uint32_t seq;
	bool armed;
};

static struct guest guests[CROWD];
static struct guest *sorted[CROWD];

static int by_due(const void *a, const void *b)
{
	const struct guest *x = *(struct guest *const *)a, *y = *(struct guest *const *)b;

	if (x->due != y->due)
		return x->due < y->due ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static uint32_t seat_guests(nsec within)
{
	uint32_t seq = 0, n = 0;

	memset(guests, 0, sizeof guests);
	for (uint32_t i = 0; i < 2 * CROWD; i++) {
		struct guest *g = &guests[i < CROWD ? i : prng_below(&pair.p, CROWD)];
		nsec deadline = after(pair.now, 1024 + prng_below(&pair.p, within));

		g->armed = i < CROWD || prng_chance(&pair.p, 3, 4);
		if (g->armed)
			wheel_arm(&pair.w, &g->timer, deadline);
		else
			wheel_cancel(&pair.w, &g->timer);
		g->due = deadline >> pair.w.shift;
		g->seq = seq++;
	}
	for (uint32_t i = 0; i < CROWD; i++)
		if (guests[i].armed)
			sorted[n++] = &guests[i];
	qsort(sorted, n, sizeof sorted[0], by_due);
	return n;
}

static void a_hundred_thousand_timers_come_in_order(void **state)
{
	static const uint8_t levels[] = {1, 3, 6};
	uint64_t seed = check_seed(0x3ee2);

	(void)state;
	for (uint32_t run = 0; run < 3; run++) {
		uint32_t n, out = 0;

		start((struct wheel_cfg){987654321, 10, levels[run]}, seed);
		n = seat_guests(20000000);
		while (out < n) {
			struct wheel_timer *t;

			pair.now += prng_below(&pair.p, 50000);
			while ((t = wheel_expire(&pair.w, pair.now)) != NULL) {
				assert_true(out < n);
				assert_ptr_equal(t, &sorted[out++]->timer);
			}
			assert_true(out == n || sorted[out]->due > pair.now >> 10);
		}
		assert_true(wheel_next(&pair.w) == NSEC_NEVER);
	}
}

/* An owner that sleeps until wheel_next, and nothing else, is woken in each timer's own slot, and
 * at most once more per timer and level. */
static void sleeping_until_next_is_enough(void **state)
{
	static const uint8_t shifts[] = {0, 10}, levels[] = {1, 3, 10};
	uint64_t seed = check_seed(0x3ee3);

	(void)state;
	for (uint32_t run = 0; run < 6 * 300; run++) {
		uint32_t left = TIMERS, wakes = 0, most;

		start((struct wheel_cfg){1000000, shifts[run % 2], levels[run % 3]}, seed + run);
		most = TIMERS * (pair.w.levels + 2u);
		for (uint32_t i = 0; i < TIMERS; i++)
			arm(i, after(pair.now, wheel_width(&pair.w) + any_span()));
		while (left > 0) {
			struct wheel_timer *t;

			assert_true(wheel_next(&pair.w) > pair.now || wakes == 0);
			pair.now = wheel_next(&pair.w);
			assert_true(++wakes <= most);
			while ((t = wheel_expire(&pair.w, pair.now)) != NULL) {
				assert_true(t->deadline >> pair.w.shift << pair.w.shift ==
					    pair.now);
				left--;
			}
		}
		assert_true(wheel_next(&pair.w) == NSEC_NEVER);
	}
}

/* A slot's timers come out as they were armed, however far away they were then. */
static void ties_come_out_as_armed(void **state)
{
	static const uint32_t order[] = {0, 3, 1, 2, 4};

	(void)state;
	start((struct wheel_cfg){0, 4, 2}, 0);
	for (uint32_t i = 0; i < 3; i++)
		arm(i, 1000000 + i);
	pair.now = 990000;
	assert_false(expire_one());
	arm(3, 1000003);
	arm(1, 1000004);
	pair.now = 999990;
	assert_false(expire_one());
	arm(2, 1000000);
	arm(4, 1000000);
	pair.now = 1000000;
	for (uint32_t i = 0; i < 5; i++)
		assert_ptr_equal(wheel_expire(&pair.w, pair.now), &pair.timer[order[i]]);
	assert_null(wheel_expire(&pair.w, pair.now));
}

static void past_deadlines_are_due_at_once(void **state)
{
	(void)state;
	start((struct wheel_cfg){5000000, 10, 4}, 0);
	arm(0, 0);
	arm(1, 5000000);
	arm(2, 4999999);
	assert_true(wheel_next(&pair.w) <= 5000000);
	assert_true(expire_one() && expire_one() && expire_one());
	assert_false(expire_one());
}

static void owners_may_arm_and_cancel_while_expiring(void **state)
{
	(void)state;
	start((struct wheel_cfg){0, 10, 4}, 0);
	for (uint32_t i = 0; i < 4; i++)
		arm(i, 100000);
	arm(4, 200000);
	pair.now = 300000;
	assert_ptr_equal(wheel_expire(&pair.w, pair.now), &pair.timer[0]);
	wheel_cancel(&pair.w, &pair.timer[1]);
	wheel_cancel(&pair.w, &pair.timer[0]);
	wheel_arm(&pair.w, &pair.timer[2], 400000);
	/* Between this slot and now: in its turn; before this slot: after this slot's own. */
	wheel_arm(&pair.w, &pair.timer[5], 150000);
	wheel_arm(&pair.w, &pair.timer[0], 50000);
	assert_ptr_equal(wheel_expire(&pair.w, pair.now), &pair.timer[3]);
	assert_ptr_equal(wheel_expire(&pair.w, pair.now), &pair.timer[0]);
	assert_ptr_equal(wheel_expire(&pair.w, pair.now), &pair.timer[5]);
	assert_ptr_equal(wheel_expire(&pair.w, pair.now), &pair.timer[4]);
	assert_null(wheel_expire(&pair.w, pair.now));
	assert_true(wheel_is_armed(&pair.timer[2]));
	assert_null(wheel_expire(&pair.w, 398000));
	assert_ptr_equal(wheel_expire(&pair.w, 400000), &pair.timer[2]);
}

static void never_is_not_armed(void **state)
{
	(void)state;
	start((struct wheel_cfg){77, 0, 4}, 0);
	assert_true(wheel_next(&pair.w) == NSEC_NEVER);
	wheel_cancel(&pair.w, &pair.timer[0]);
	arm(0, NSEC_NEVER);
	assert_false(wheel_is_armed(&pair.timer[0]));
	arm(0, 1000);
	assert_true(wheel_is_armed(&pair.timer[0]));
	arm(0, NSEC_NEVER);
	assert_false(wheel_is_armed(&pair.timer[0]));
	assert_true(wheel_next(&pair.w) == NSEC_NEVER);
}

/* What is armed for later comes earlier, never the other way, and not before it may be armed. */
static void armed_by_a_time_is_armed_for_the_first(void **state)
{
	struct wheel *w = &pair.w;
	struct wheel_timer *t = &pair.timer[0];

	(void)state;
	start((struct wheel_cfg){.now = 1000, .shift = 6, .levels = 2}, 1);
	wheel_arm_by(w, 1000, t, NSEC_NEVER);
	assert_false(wheel_is_armed(t));
	wheel_arm_by(w, 1000, t, 5000);
	assert_int_equal(t->deadline, 5000);
	wheel_arm_by(w, 1000, t, 6000);
	wheel_arm_by(w, 1000, t, NSEC_NEVER);
	assert_int_equal(t->deadline, 5000);
	wheel_arm_by(w, 1000, t, 4000);
	assert_int_equal(t->deadline, 4000);
	wheel_arm_by(w, 1000, t, 900);
	assert_int_equal(t->deadline, 1000 + wheel_width(w));
	assert_null(wheel_expire(w, 1000));
	assert_ptr_equal(wheel_expire(w, 1000 + wheel_width(w)), t);
}

/* The last moment there is, from the first, on the least and on the greatest wheel. */
static void a_deadline_may_lie_at_the_end_of_time(void **state)
{
	(void)state;
	for (uint8_t levels = 1; levels <= WHEEL_LEVELS_MAX; levels++) {
		start((struct wheel_cfg){0, 0, levels}, 0);
		arm(0, LATEST);
		arm(1, (nsec)1 << 63);
		pair.now = ((nsec)1 << 63) - 1;
		assert_false(expire_one());
		pair.now = LATEST - 1;
		assert_true(expire_one());
		assert_false(expire_one());
		pair.now = LATEST;
		assert_true(expire_one());
		assert_false(expire_one());
	}
}

static void let_time_go_back(void *context)
{
	(void)context;
	wheel_expire(&pair.w, pair.now - wheel_width(&pair.w));
}

static void init_without_levels(void *context)
{
	(void)context;
	wheel_init(&pair.w, (struct wheel_cfg){0, 0, 0}, pair.slots);
}

static void init_with_too_many_levels(void *context)
{
	(void)context;
	wheel_init(&pair.w, (struct wheel_cfg){0, 0, WHEEL_LEVELS_MAX + 1}, pair.slots);
}

static void init_with_too_wide_slots(void *context)
{
	(void)context;
	wheel_init(&pair.w, (struct wheel_cfg){0, 33, 1}, pair.slots);
}

static void mistakes_abort(void **state)
{
	static void (*const mistakes[])(void *) = {
		let_time_go_back,
		init_without_levels,
		init_with_too_many_levels,
		init_with_too_wide_slots,
	};

	(void)state;
	start((struct wheel_cfg){1 << 20, 10, 2}, 0);
	for (uint32_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
		assert_true(check_aborts(mistakes[i], NULL));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(random_steps_agree_with_model),
	cmocka_unit_test(a_hundred_thousand_timers_come_in_order),
	cmocka_unit_test(sleeping_until_next_is_enough),
	cmocka_unit_test(ties_come_out_as_armed),
	cmocka_unit_test(past_deadlines_are_due_at_once),
	cmocka_unit_test(owners_may_arm_and_cancel_while_expiring),
	cmocka_unit_test(never_is_not_armed),
	cmocka_unit_test(armed_by_a_time_is_armed_for_the_first),
	cmocka_unit_test(a_deadline_may_lie_at_the_end_of_time),
	cmocka_unit_test(mistakes_abort),
};

CHECK_MAIN(cases)
