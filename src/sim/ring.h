/* Rings of packets: queues and links. Between the files of the simulator's core. */
#ifndef WEFT_SIM_RING_H
#define WEFT_SIM_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/sim.h"

/* Twice the room; false without memory. */
bool ring_grow(struct sim_ring *r);

/* The slot that is i behind the first; i < r->n. */
static inline struct sim_slot *ring_at(const struct sim_ring *r, uint32_t i)
{
	return &r->slots[(r->head + i) & r->mask];
}

/* Puts a slot behind the others; false without memory. */
static inline bool ring_push(struct sim_ring *r, struct sim_slot slot)
{
	if ((!r->slots || r->n > r->mask) && !ring_grow(r))
		return false;
	r->slots[(r->head + r->n++) & r->mask] = slot;
	return true;
}

/* Takes the first slot; there is one. */
static inline struct sim_slot ring_pop(struct sim_ring *r)
{
	struct sim_slot slot = r->slots[r->head & r->mask];

	r->head++;
	r->n--;
	return slot;
}

#endif
