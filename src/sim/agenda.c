#include "sim/agenda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAR_SHIFT  12u
#define FAR_SLOTS  (1u << FAR_SHIFT)
#define NEAR_WORDS (AGENDA_NEAR / 64)
#define FAR_WORDS  (FAR_SLOTS / 64)
#define SMALL_SORT 24u
#define TICKETS    1024u

/* A slot should hold a few events: sorting them must stay cheap. */
static uint32_t shift_for(uint32_t n_events)
{
	uint32_t shift = 8;

	for (; n_events > 2048 && shift > 6; n_events /= 2)
		shift--;
	return shift;
}

int agenda_init(struct agenda *a, uint32_t n_events)
{
	*a = (struct agenda){
		.shift = shift_for(n_events),
		.free_ticket = AGENDA_NONE,
		.beyond = AGENDA_NONE,
	};
	a->near = malloc(AGENDA_NEAR * sizeof *a->near);
	a->far = malloc(FAR_SLOTS * sizeof *a->far);
	a->near_used = calloc(NEAR_WORDS, sizeof *a->near_used);
	a->far_used = calloc(FAR_WORDS, sizeof *a->far_used);
	a->near_words = calloc(NEAR_WORDS / 64, sizeof *a->near_words);
	if (!a->near || !a->far || !a->near_used || !a->far_used || !a->near_words ||
	    !agenda_more_tickets(a)) {
		agenda_fini(a);
		return -ENOMEM;
	}
	memset(a->near, 0xff, AGENDA_NEAR * sizeof *a->near);
	memset(a->far, 0xff, FAR_SLOTS * sizeof *a->far);
	return 0;
}

void agenda_fini(struct agenda *a)
{
	free(a->events);
	free(a->tickets);
	free(a->due);
	free(a->scratch);
	free(a->near);
	free(a->far);
	free(a->near_used);
	free(a->far_used);
	free(a->near_words);
	*a = (struct agenda){0};
}

uint32_t agenda_add(struct agenda *a, uint32_t n)
{
	uint32_t first = a->n_events;

	if (n > a->event_room - first) {
		uint32_t room = a->event_room * 2 > first + n ? a->event_room * 2 : first + n;
		struct agenda_event *events = realloc(a->events, room * sizeof *events);

		if (!events)
			return AGENDA_NONE;
		a->events = events;
		a->event_room = room;
	}
	for (uint32_t i = 0; i < n; i++)
		a->events[first + i] = (struct agenda_event){PSEC_NEVER, AGENDA_NONE};
	a->n_events += n;
	return first;
}

/* Twice as many tickets; due and scratch can hold them all, and those just worked off. */
bool agenda_more_tickets(struct agenda *a)
{
	uint32_t room = a->n_tickets ? 2 * a->n_tickets : TICKETS;
	struct agenda_ticket *tickets = realloc(a->tickets, room * sizeof *tickets);

	if (!tickets)
		return false;
	a->tickets = tickets;
	struct agenda_due *due = realloc(a->due, 2 * (size_t)room * sizeof *due);

	if (!due)
		return false;
	a->due = due;
	struct agenda_due *scratch = realloc(a->scratch, room * sizeof *scratch);

	if (!scratch)
		return false;
	a->scratch = scratch;
	a->due_room = 2 * room;
	for (uint32_t t = a->n_tickets; t < room; t++)
		tickets[t].next = t + 1 < room ? t + 1 : a->free_ticket;
	a->free_ticket = a->n_tickets;
	a->n_tickets = room;
	return true;
}

static inline bool is_before(struct agenda_due a, struct agenda_due b)
{
	return a.at != b.at ? a.at < b.at : a.id < b.id;
}

/* Into the slots being worked off. */
static void due_insert(struct agenda *a, uint32_t t)
{
	struct agenda_due d = {a->tickets[t].at, a->tickets[t].id, t};

	if (a->n_due == a->due_room) {
		a->n_due -= a->at_due;
		memmove(a->due, a->due + a->at_due, a->n_due * sizeof d);
		a->at_due = 0;
	}
	uint32_t i = a->n_due++;

	for (; i > a->at_due && is_before(d, a->due[i - 1]); i--)
		a->due[i] = a->due[i - 1];
	a->due[i] = d;
}

void agenda_place(struct agenda *a, uint32_t t)
{
	uint64_t slot = a->tickets[t].at >> a->shift, stretch = slot >> AGENDA_NEAR_SHIFT;

	if (slot < a->due_end && a->at_due < a->n_due) {
		due_insert(a, t);
	} else if (slot - a->near_base < AGENDA_NEAR) {
		/* The slots before due_end are worked off: what comes into them now opens them
		 * anew. */
		agenda_push_near(a, slot - a->near_base, t);
	} else if (stretch - a->far_base < FAR_SLOTS) {
		uint32_t i = (uint32_t)stretch & (FAR_SLOTS - 1);

		a->tickets[t].next = a->far[i];
		a->far[i] = t;
		a->far_used[i / 64] |= UINT64_C(1) << i % 64;
	} else {
		a->tickets[t].next = a->beyond;
		a->beyond = t;
	}
}

/* Merges runs of due[from ...] by way of scratch. */
static void merge_sort(struct agenda *a, uint32_t from)
{
	uint32_t n = a->n_due - from;

	for (uint32_t width = 1; width < n; width *= 2) {
		struct agenda_due *in = a->due + from, *out = a->scratch;

		for (uint32_t lo = 0; lo < n; lo += 2 * width) {
			uint32_t mid = lo + width < n ? lo + width : n;
			uint32_t hi = lo + 2 * width < n ? lo + 2 * width : n;
			uint32_t i = lo, j = mid;

			for (uint32_t k = lo; k < hi; k++) {
				bool left = i < mid && (j >= hi || is_before(in[i], in[j]));

				out[k] = in[left ? i++ : j++];
			}
		}
		memcpy(in, out, n * sizeof *in);
	}
}

/* Slots are short, or long and already in order: many hosts in step. */
static void sort_due(struct agenda *a, uint32_t from)
{
	uint32_t n = a->n_due, sorted = from + 1;

	while (sorted < n && is_before(a->due[sorted - 1], a->due[sorted]))
		sorted++;
	if (sorted >= n)
		return;
	if (n - from > SMALL_SORT) {
		merge_sort(a, from);
		return;
	}
	for (uint32_t i = sorted; i < n; i++) {
		struct agenda_due d = a->due[i];
		uint32_t j = i;

		for (; j > from && is_before(d, a->due[j - 1]); j--)
			a->due[j] = a->due[j - 1];
		a->due[j] = d;
	}
}

/* Moves the tickets of a list behind those in due, in order; void ones are given back. */
static void open_list(struct agenda *a, uint32_t list)
{
	uint32_t from = a->n_due;

	for (uint32_t t = list, next; t != AGENDA_NONE; t = next) {
		struct agenda_ticket *ticket = &a->tickets[t];

		next = ticket->next;
		if (a->events[ticket->id].ticket == t) {
			a->due[a->n_due++] = (struct agenda_due){ticket->at, ticket->id, t};
		} else {
			ticket->next = a->free_ticket;
			a->free_ticket = t;
		}
	}
	sort_due(a, from);
}

/* Opens slots of the near stretch until some events are known, so that the caller can look ahead.
 */
void agenda_open(struct agenda *a)
{
	if (a->near_at == NEAR_WORDS / 64)
		return;
	if (a->n_due > a->due_room / 2) {
		a->n_due -= a->at_due;
		memmove(a->due, a->due + a->at_due, a->n_due * sizeof a->due[0]);
		a->at_due = 0;
	}
	for (uint32_t w = a->near_at; w < NEAR_WORDS / 64; w++) {
		a->near_at = w;
		while (a->near_words[w]) {
			uint32_t word = w * 64 + (uint32_t)__builtin_ctzll(a->near_words[w]);
			uint32_t i = word * 64 + (uint32_t)__builtin_ctzll(a->near_used[word]);
			uint32_t list = a->near[i];

			a->near[i] = AGENDA_NONE;
			a->near_used[word] &= a->near_used[word] - 1;
			if (!a->near_used[word])
				a->near_words[w] &= a->near_words[w] - 1;
			a->due_end = a->near_base + i + 1;
			open_list(a, list);
			if (a->n_due - a->at_due >= AGENDA_LOOK_AHEAD)
				return;
		}
	}
	a->near_at = NEAR_WORDS / 64;
}

/* Puts the tickets of a list where they belong now. */
static void spill(struct agenda *a, uint32_t list)
{
	for (uint32_t t = list, next; t != AGENDA_NONE; t = next) {
		next = a->tickets[t].next;
		agenda_place(a, t);
	}
}

/* All that is left lies beyond: the slots move to the soonest of it. False when that is after
 * until, or nothing is left at all. */
static bool leap(struct agenda *a, psec until)
{
	uint32_t list = a->beyond;
	psec soonest = PSEC_NEVER;

	for (uint32_t t = list; t != AGENDA_NONE; t = a->tickets[t].next)
		if (a->tickets[t].at < soonest)
			soonest = a->tickets[t].at;
	if (list == AGENDA_NONE || soonest > until)
		return false;
	a->far_base = soonest >> a->shift >> AGENDA_NEAR_SHIFT;
	a->near_base = a->far_base << AGENDA_NEAR_SHIFT;
	a->near_at = 0;
	a->beyond = AGENDA_NONE;
	spill(a, list);
	return true;
}

/* The near stretch is used up: the next stretch with events becomes the near one, unless it starts
 * after until. The slots never move past the time of the call, where an event may yet be armed. */
static bool next_stretch(struct agenda *a, psec until)
{
	for (uint64_t s = (a->near_base >> AGENDA_NEAR_SHIFT) + 1; s < a->far_base + FAR_SLOTS;
	     s++) {
		uint32_t i = (uint32_t)s & (FAR_SLOTS - 1), list = a->far[i];

		if (!a->far_used[i / 64]) {
			s |= 63;
			continue;
		}
		if (!(a->far_used[i / 64] >> i % 64 & 1))
			continue;
		if (s << AGENDA_NEAR_SHIFT << a->shift > until)
			return false;
		a->far_used[i / 64] &= ~(UINT64_C(1) << i % 64);
		a->far[i] = AGENDA_NONE;
		a->near_base = s << AGENDA_NEAR_SHIFT;
		a->near_at = 0;
		spill(a, list);
		return true;
	}
	return leap(a, until);
}

/* Nothing that is known is due: finds more and answers true, or ends at until. */
bool agenda_seek(struct agenda *a, psec until)
{
	do {
		if (a->at_due == a->n_due)
			agenda_open(a);
		if (a->at_due < a->n_due && a->due[a->at_due].at <= until)
			return true;
	} while (a->at_due == a->n_due && next_stretch(a, until));
	if (until != PSEC_NEVER) {
		a->now = until;
		return false;
	}
	/* Nothing is left, and the slots went as far as void tickets led them: back to now, where
	 * the next event may be armed. */
	a->far_base = a->now >> a->shift >> AGENDA_NEAR_SHIFT;
	a->near_base = a->far_base << AGENDA_NEAR_SHIFT;
	return false;
}
