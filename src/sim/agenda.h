/* What happens next: the event queue of a simulation.
 *
 * An event is a number the caller owns, armed for one moment at most. Events come out by time; at
 * the same picosecond the lowest number first, so that a run depends on nothing but its inputs, not
 * even on when an event was armed. Time is cut into slots of about a nanosecond, unsorted until
 * their turn comes; two levels of slots reach many milliseconds ahead, and what lies beyond waits
 * in a list. Arming an event writes a ticket into a slot; an event moved or cancelled leaves its
 * ticket behind, void. All of it takes constant time, and the common way through is inlined: a
 * simulation does little else.
 *
 * Invariants: now never decreases, and no event is armed before it. */
#ifndef WEFT_SIM_AGENDA_H
#define WEFT_SIM_AGENDA_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/psec.h"

#define AGENDA_NONE       UINT32_MAX
#define AGENDA_NEAR_SHIFT 16u
#define AGENDA_NEAR       (1u << AGENDA_NEAR_SHIFT)
#define AGENDA_LOOK_AHEAD 12u /* events known in advance, where there are so many */

/* When an event is due, and the ticket that says so; PSEC_NEVER: not armed. */
struct agenda_event {
	psec at;
	uint32_t ticket;
};

/* A moment of an event in the list of its slot. */
struct agenda_ticket {
	psec at;
	uint32_t id, next;
};

struct agenda_due {
	psec at;
	uint32_t id, ticket;
};

struct agenda {
	psec now;
	struct agenda_event *events;
	struct agenda_ticket *tickets;
	uint32_t free_ticket; /* chained by next; AGENDA_NONE: more must be made */
	uint32_t shift;       /* a slot is 2^shift ps */
	/* The slots being worked off, up to due_end, sorted; due[at_due ...] are still to come. */
	struct agenda_due *due;
	uint32_t at_due, n_due;
	uint64_t due_end;
	/* Slots of the current stretch of 2^16, and 2^12 such stretches: the last ticket of each.
	 */
	uint64_t near_base, far_base; /* first slot number, first stretch number */
	uint32_t *near, *far;
	uint64_t *near_used, *far_used; /* a bit per slot */
	uint64_t *near_words;           /* a bit per word of near_used */
	uint32_t near_at;               /* no word of near_words before this one has a bit */
	uint32_t beyond;
	struct agenda_due *scratch;
	uint32_t n_events, event_room, n_tickets, ticket_room, due_room;
	uint64_t n_armed, n_fired;
};

/* Starts at time 0 without events; about n_events will be armed at a time. 0 or -ENOMEM. */
int agenda_init(struct agenda *a, uint32_t n_events);
void agenda_fini(struct agenda *a);

/* Adds n events, none armed; returns the number of the first, or AGENDA_NONE without memory. */
uint32_t agenda_add(struct agenda *a, uint32_t n);

/* The slower ways of what follows: for this module alone. */
void agenda_place(struct agenda *a, uint32_t ticket);
bool agenda_more_tickets(struct agenda *a);
void agenda_open(struct agenda *a);
bool agenda_seek(struct agenda *a, psec until);

/* When event id is armed for; PSEC_NEVER when it is not. */
static inline psec agenda_at(const struct agenda *a, uint32_t id)
{
	return a->events[id].at;
}

static inline void agenda_cancel(struct agenda *a, uint32_t id)
{
	a->n_armed -= a->events[id].at != PSEC_NEVER;
	a->events[id] = (struct agenda_event){PSEC_NEVER, AGENDA_NONE};
}

/* Arms event id for a caller that looks for it with agenda_at: agenda_next does not return it. */
static inline void agenda_note(struct agenda *a, uint32_t id, psec at)
{
	assert(id < a->n_events && at >= a->now);
	a->n_armed += at != PSEC_NEVER;
	a->n_armed -= a->events[id].at != PSEC_NEVER;
	a->events[id] = (struct agenda_event){at, AGENDA_NONE};
}

/* Puts a ticket into slot i of the near stretch: for this module alone. */
static inline void agenda_push_near(struct agenda *a, uint64_t i, uint32_t t)
{
	a->tickets[t].next = a->near[i];
	a->near[i] = t;
	a->near_used[i / 64] |= UINT64_C(1) << i % 64;
	a->near_words[i / 4096] |= UINT64_C(1) << i / 64 % 64;
	if (i / 4096 < a->near_at)
		a->near_at = (uint32_t)(i / 4096);
}

/* Arms event id for `at`, or moves it. at >= a->now, or an assert fails: nothing is ever scheduled
 * in the past. PSEC_NEVER cancels. Without memory for a ticket, which a simulation of any size has,
 * the process ends: an event lost would be a result quietly wrong. */
static inline void agenda_arm(struct agenda *a, uint32_t id, psec at)
{
	assert(id < a->n_events && at >= a->now);
	agenda_cancel(a, id);
	if (at == PSEC_NEVER)
		return;
	uint32_t t = a->free_ticket;

	if (__builtin_expect(t == AGENDA_NONE, 0)) {
		bool has_memory = agenda_more_tickets(a);

		assert(has_memory);
		t = a->free_ticket;
	}
	struct agenda_ticket *ticket = &a->tickets[t];
	uint64_t slot = at >> a->shift, i = slot - a->near_base;

	a->free_ticket = ticket->next;
	ticket->at = at;
	ticket->id = id;
	a->events[id] = (struct agenda_event){at, t};
	a->n_armed++;
	if (__builtin_expect(slot < a->due_end || i >= AGENDA_NEAR, 0)) {
		agenda_place(a, t);
		return;
	}
	agenda_push_near(a, i, t);
}

/* Takes the next event that is due at `until` or before, disarms it and moves now to its time;
 * AGENDA_NONE, and now moved to until, when there is none; PSEC_NEVER as until leaves now where the
 * last event put it. until >= now. */
static inline uint32_t agenda_next(struct agenda *a, psec until)
{
	do {
		while (__builtin_expect(a->at_due < a->n_due && a->due[a->at_due].at <= until, 1)) {
			struct agenda_due d = a->due[a->at_due++];

			a->tickets[d.ticket].next = a->free_ticket;
			a->free_ticket = d.ticket;
			if (a->n_due - a->at_due < AGENDA_LOOK_AHEAD)
				agenda_open(a);
			if (__builtin_expect(a->events[d.id].ticket != d.ticket, 0))
				continue; /* moved or cancelled meanwhile */
			a->events[d.id] = (struct agenda_event){PSEC_NEVER, AGENDA_NONE};
			a->n_armed--;
			a->n_fired++;
			a->now = d.at;
			return d.id;
		}
	} while (agenda_seek(a, until));
	return AGENDA_NONE;
}

/* The event that comes n after the one taken last, if that is known already; else AGENDA_NONE. n
 * >= 1. Only a hint: what is armed in between may come first. */
static inline uint32_t agenda_ahead(const struct agenda *a, uint32_t n)
{
	uint32_t i = a->at_due + n - 1;

	return i < a->n_due ? a->due[i].id : AGENDA_NONE;
}

#endif
