/* A hierarchical timing wheel: many timers, constant time to arm, move and cancel one.
 *
 * Time is cut into slots of 2^shift ns. A timer is due in the slot that holds its deadline, or in
 * the current slot when that one has passed. Level 0 has 64 slots; a slot of level n spans 64
 * slots of level n - 1, and its timers move down when time enters it. Deadlines beyond the last
 * level wait in one list, sorted in when time comes near the first of them: there is no horizon,
 * but choose levels so that ordinary deadlines lie within 64^levels slots.
 *
 * Laws:
 * - never late, early by less than a slot: when wheel_expire(w, now) has returned NULL, every
 *   timer with deadline <= now was handed out, and none with deadline >= now + 2^shift;
 * - order: timers come out by the slot they are due in; within a slot, in the order they were
 *   armed (arming again counts anew). Same calls, same order.
 *
 * Engines call this: one wheel for all timers of an endpoint. */
#ifndef WEFT_BASE_WHEEL_H
#define WEFT_BASE_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"

#define WHEEL_LEVELS_MAX 10u

/* List heads that a wheel of so many levels needs; a constant for a constant number of levels. */
#define WHEEL_SLOTS(levels) (64u * (levels) + 1u)

/* Embedded in what it wakes. All zeros is a timer that is not armed. The owner may read deadline;
 * the rest is the wheel's. An armed timer may not move, nor its memory go. */
struct wheel_timer {
	struct wheel_timer *next, *prev; /* a ring of one slot's timers; NULL: not armed */
	nsec deadline;
	uint32_t slot;
};

struct wheel_cfg {
	nsec now;       /* the wheel's first moment; any epoch */
	uint8_t shift;  /* a slot is 2^shift ns, shift 0 .. 32 */
	uint8_t levels; /* 1 .. WHEEL_LEVELS_MAX */
};

struct wheel {
	struct wheel_timer **slots; /* first timer of each; the last one is the far list */
	uint64_t used[WHEEL_LEVELS_MAX];
	uint64_t tick;      /* current slot, counted from time 0 */
	uint64_t far_first; /* no timer of the far list is due before this slot */
	uint8_t shift, levels;
};

/* Starts an empty wheel. slots are WHEEL_SLOTS(cfg.levels) pointers, lent for the wheel's life. */
void wheel_init(struct wheel *w, struct wheel_cfg cfg, struct wheel_timer **slots);

/* Arms t, or moves it when it was armed. A deadline already passed is due at once; NSEC_NEVER
 * cancels. t must not be armed in another wheel. */
void wheel_arm(struct wheel *w, struct wheel_timer *t, nsec deadline);

/* Disarms t; nothing happens when it is not armed. */
void wheel_cancel(struct wheel *w, struct wheel_timer *t);

/* The next timer due at now, disarmed and its owner's again, or NULL; now never decreases. Call
 * until NULL; timers may be armed and cancelled between the calls, and one armed for a slot that
 * now has reached comes out in the same loop: re-arm a full slot or more after now.
 * Work is bound by timers moved and handed out, not by the time that passed. */
struct wheel_timer *wheel_expire(struct wheel *w, nsec now);

/* When to call wheel_expire next; NSEC_NEVER when no timer is armed. Never after the start of the
 * slot in which the first timer is due; it may be before it, where timers must move down first.
 * Once wheel_expire(w, now) has returned NULL, it is > now until a timer is armed: no busy loop. */
nsec wheel_next(const struct wheel *w);

static inline bool wheel_is_armed(const struct wheel_timer *t)
{
	return t->next != NULL;
}

/* A slot's width: how early a timer may come, and the least sensible distance to re-arm. */
static inline nsec wheel_width(const struct wheel *w)
{
	return (nsec)1 << w->shift;
}

/* `at`, or as soon after now as a timer that was just handed out may be armed again. */
static inline nsec wheel_soonest(const struct wheel *w, nsec now, nsec at)
{
	nsec later = now + wheel_width(w);

	return at > later ? at : later;
}

/* Arms t for `at`, or as soon as it may be; one that is armed for an earlier time stays so,
 * and NSEC_NEVER changes nothing. */
static inline void wheel_arm_by(struct wheel *w, nsec now, struct wheel_timer *t, nsec at)
{
	at = wheel_soonest(w, now, at);
	if (!wheel_is_armed(t) || t->deadline > at)
		wheel_arm(w, t, at);
}

#endif
