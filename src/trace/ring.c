#include "trace/ring.h"

#include <assert.h>

uint32_t trace_slots(uint32_t wanted)
{
	uint32_t slots = TRACE_SLOTS_MIN;

	while (slots < wanted && slots < TRACE_SLOTS_MAX)
		slots *= 2;
	return slots;
}

size_t trace_bytes(uint32_t slots)
{
	return sizeof(struct trace_ring) + (size_t)slots * sizeof(struct trace_event);
}

void trace_lend(struct trace *t, void *memory, uint32_t slots)
{
	assert(!memory || (slots > 0 && (slots & (slots - 1)) == 0));
	t->ring = memory;
	t->mask = memory ? slots - 1 : 0;
}

uint32_t trace_take(const struct trace *t, uint64_t *next, struct trace_event *out, uint32_t n,
		    uint64_t *n_lost)
{
	if (!t->ring)
		return 0;
	uint64_t added = atomic_load_explicit(&t->ring->added, memory_order_relaxed);
	uint32_t slots = t->mask + 1;
	uint64_t oldest = added > slots ? added - slots : 0;
	uint32_t got = 0;

	if (*next < oldest) {
		*n_lost += oldest - *next;
		*next = oldest;
	}
	for (; got < n && *next < added; got++)
		out[got] = t->ring->slots[(*next)++ & t->mask];
	return got;
}
