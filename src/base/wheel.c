#include "base/wheel.h"

#include <assert.h>
#include <string.h>

/* Slots are counted from time 0 and read as numbers in base 64. A timer lies at the level of the
 * highest digit in which its slot differs from the current one, under that digit. So all timers of
 * one level come before all timers of the next, those due in one slot are always together, and
 * moving them down in list order keeps the order in which they were armed. */
enum { DIGIT_BITS = 6 };

/* The earliest place where something is to be done: hand out (level 0) or move down. */
struct stop {
	uint32_t slot;
	uint64_t tick;
};

static uint32_t far_slot(const struct wheel *w)
{
	return WHEEL_SLOTS(w->levels) - 1;
}

static uint64_t drop_digits(uint64_t tick, uint32_t n)
{
	return tick >> n * DIGIT_BITS << n * DIGIT_BITS;
}

static void append(struct wheel *w, struct wheel_timer *t, uint32_t slot)
{
	struct wheel_timer *first = w->slots[slot];

	t->slot = slot;
	if (!first) {
		t->next = t->prev = t;
		w->slots[slot] = t;
		return;
	}
	t->next = first;
	t->prev = first->prev;
	t->prev->next = t;
	first->prev = t;
}

/* Puts t, which is in no list, where its deadline belongs as seen from the current slot. */
static void place(struct wheel *w, struct wheel_timer *t)
{
	uint64_t tick = t->deadline >> w->shift;

	if (tick < w->tick)
		tick = w->tick;
	/* The 1 stands in for no difference at all, which is level 0 too. */
	uint32_t level = (63 - (uint32_t)__builtin_clzll((tick ^ w->tick) | 1)) / DIGIT_BITS;

	if (level >= w->levels) {
		if (tick < w->far_first)
			w->far_first = tick;
		append(w, t, far_slot(w));
		return;
	}
	uint32_t digit = tick >> level * DIGIT_BITS & 63;

	w->used[level] |= UINT64_C(1) << digit;
	append(w, t, level * 64 + digit);
}

/* Marks a slot that has no timers any more. */
static void vacate(struct wheel *w, uint32_t slot)
{
	w->slots[slot] = NULL;
	if (slot == far_slot(w))
		w->far_first = UINT64_MAX;
	else
		w->used[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

/* Takes t, which is armed, out of its slot. */
static void detach(struct wheel *w, struct wheel_timer *t)
{
	if (t->next == t) {
		vacate(w, t->slot);
	} else {
		t->prev->next = t->next;
		t->next->prev = t->prev;
		if (w->slots[t->slot] == t)
			w->slots[t->slot] = t->next;
	}
	t->next = t->prev = NULL;
}

/* Finds the earliest stop; false when no timer is armed. */
static bool find_stop(const struct wheel *w, struct stop *s)
{
	for (uint32_t level = 0; level < w->levels; level++) {
		if (!w->used[level])
			continue;
		/* Digits below the current one are past, and their slots were emptied. */
		uint32_t digit = (uint32_t)__builtin_ctzll(w->used[level]);

		s->slot = level * 64 + digit;
		s->tick = drop_digits(w->tick, level + 1) | (uint64_t)digit << level * DIGIT_BITS;
		return true;
	}
	/* The far list is sorted in as soon as its first timer is within reach of the levels:
	 * later, a timer armed for the same slot could overtake it. */
	s->slot = far_slot(w);
	s->tick = drop_digits(w->far_first, w->levels);
	return w->slots[s->slot] != NULL;
}

/* Places the timers of a slot anew, in order, now that the current slot is the first one it
 * spans. The bound is their number: none returns to this slot, save those still far. */
static void move_down(struct wheel *w, uint32_t slot)
{
	struct wheel_timer *t = w->slots[slot], *last = t->prev;

	last->next = NULL;
	vacate(w, slot);
	while (t) {
		struct wheel_timer *next = t->next;

		place(w, t);
		t = next;
	}
}

void wheel_init(struct wheel *w, struct wheel_cfg cfg, struct wheel_timer **slots)
{
	assert(cfg.levels > 0 && cfg.levels <= WHEEL_LEVELS_MAX);
	assert(cfg.shift <= 32);
	memset(slots, 0, WHEEL_SLOTS(cfg.levels) * sizeof(struct wheel_timer *));
	*w = (struct wheel){
		.slots = slots,
		.tick = cfg.now >> cfg.shift,
		.far_first = UINT64_MAX,
		.shift = cfg.shift,
		.levels = cfg.levels,
	};
}

void wheel_arm(struct wheel *w, struct wheel_timer *t, nsec deadline)
{
	wheel_cancel(w, t);
	t->deadline = deadline;
	if (deadline != NSEC_NEVER)
		place(w, t);
}

void wheel_cancel(struct wheel *w, struct wheel_timer *t)
{
	if (wheel_is_armed(t))
		detach(w, t);
}

struct wheel_timer *wheel_expire(struct wheel *w, nsec now)
{
	uint64_t tick = now >> w->shift;
	struct stop s;

	assert(tick >= w->tick);
	/* A timer moves down at most once per level, so this ends. */
	while (find_stop(w, &s) && s.tick <= tick) {
		w->tick = s.tick;
		if (s.slot < 64) {
			struct wheel_timer *t = w->slots[s.slot];

			detach(w, t);
			return t;
		}
		move_down(w, s.slot);
	}
	w->tick = tick;
	return NULL;
}

nsec wheel_next(const struct wheel *w)
{
	struct stop s;

	return find_stop(w, &s) ? s.tick << w->shift : NSEC_NEVER;
}
