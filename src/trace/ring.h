/* A ring of events in memory that the caller lends: the last so many can be read.
 *
 * Engines of one thread may share a ring. While none has lent memory nothing is recorded, and that
 * costs a look at a pointer. The memory may be a file that other processes read while events are
 * added: event k is in place k modulo the slots, whole once k + 1 are added, and until k + slots
 * are; who reads asks trace_oldest after it has read. */
#ifndef WEFT_TRACE_RING_H
#define WEFT_TRACE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

#define TRACE_SLOTS_MIN 16u
#define TRACE_SLOTS_MAX (UINT32_C(1) << 24)

/* The memory of a ring. */
struct trace_ring {
	_Atomic uint64_t added; /* events so far */
	uint64_t unused[3];
	struct trace_event slots[];
};

struct trace {
	struct trace_ring *ring; /* NULL: off */
	uint32_t mask;           /* slots - 1 */
};

/* How an engine records: its configuration has one. */
struct tracer {
	struct trace *to; /* lent for the engine's life; NULL: never on */
	uint32_t node;
};

/* The power of two that is nearest above, in range. */
uint32_t trace_slots(uint32_t wanted);
size_t trace_bytes(uint32_t slots);

/* Events go to that memory from now on, trace_bytes(slots) of it, all zeros at first; slots is a
 * power of two. NULL: to none. The memory that it had is the caller's again. */
void trace_lend(struct trace *t, void *memory, uint32_t slots);

static inline bool trace_is_on(const struct tracer *t)
{
	return __builtin_expect(t->to && t->to->ring, 0);
}

/* Adds an event, its node apart; the tracer is on. */
static inline void trace_add(const struct tracer *t, const struct trace_event *event)
{
	struct trace_ring *ring = t->to->ring;
	uint64_t k = atomic_load_explicit(&ring->added, memory_order_relaxed);
	struct trace_event *slot = &ring->slots[k & t->to->mask];

	/* Whoever sees a part of this event sees that those before it were added. */
	atomic_thread_fence(memory_order_release);
	/* Member by member, so that the event is in registers: one that is written to memory first
	 * and copied as a whole waits there for its parts. */
	slot->at = event->at;
	slot->node = t->node;
	slot->qp = event->qp;
	slot->number = event->number;
	slot->a = event->a;
	slot->b = event->b;
	slot->kind = event->kind;
	slot->what = event->what;
	slot->why = event->why;
	slot->how = event->how;
	atomic_store_explicit(&ring->added, k + 1, memory_order_release);
}

/* The oldest event that is whole for whoever then finds that so many were added: the next one is
 * perhaps being written. */
static inline uint64_t trace_oldest(uint64_t added, uint32_t slots)
{
	return added >= slots ? added - slots + 1 : 0;
}

/* For whoever adds them: takes at most n events from *next on, which follows; those that were
 * overwritten are skipped, and *n_lost counts them. */
uint32_t trace_take(const struct trace *t, uint64_t *next, struct trace_event *out, uint32_t n,
		    uint64_t *n_lost);

#endif
