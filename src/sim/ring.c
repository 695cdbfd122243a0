#include "sim/ring.h"

#include <stdlib.h>

#define SLOTS_FIRST 8u

bool ring_grow(struct sim_ring *r)
{
	uint32_t size = r->slots ? 2 * (r->mask + 1) : SLOTS_FIRST;
	struct sim_slot *slots = malloc(size * sizeof *slots);

	if (!slots)
		return false;
	for (uint32_t i = 0; i < r->n; i++)
		slots[i] = *ring_at(r, i);
	free(r->slots);
	r->slots = slots;
	r->head = 0;
	r->mask = size - 1;
	return true;
}
