/* The trail a parser leaves: which header lies where, in the order it was read, up to the one that
 * failed. Printers walk it. A parser on the fast path passes NULL and leaves none. */
#ifndef WEFT_WIRE_TRAIL_H
#define WEFT_WIRE_TRAIL_H

#include <assert.h>

#include "base/span.h"
#include "wire/drop.h"
#include "wire/header.h"

/* Room for the deepest stack of headers, two VLAN tags to immediate data, and beside it for the
 * segments and TLVs of a routing header: as many as it has with all the receivers of multicast that
 * fit, but of other parts there may be more than anybody wants to see. */
#define WIRE_TRAIL_HEADERS 16u
#define WIRE_TRAIL_MAX     128u

struct wire_layer {
	const struct wire_layout *layout;
	uint32_t at;  /* first byte, from the start of the frame */
	uint32_t len; /* the header and what belongs to it: layout->bytes, or more for a TLV */
};

struct wire_trail {
	struct wire_layer layer[WIRE_TRAIL_MAX];
	uint32_t n;
	bool full; /* layers were left out */
};

/* Adds a header to a trail that is there. No stack is deeper than the room that is kept for it. */
static inline void trail_add(struct wire_trail *t, struct wire_layer layer)
{
	assert(t->n < WIRE_TRAIL_MAX);
	t->layer[t->n++] = layer;
}

/* Adds a part of a header, if that leaves room for the headers to come. t may be NULL. */
static inline void trail_add_part(struct wire_trail *t, struct wire_layer layer)
{
	if (!t)
		return;
	if (t->n < WIRE_TRAIL_MAX - WIRE_TRAIL_HEADERS)
		t->layer[t->n++] = layer;
	else
		t->full = true;
}

/* take() for one header: its bytes, and a line in the trail; NULL when the packet is short. */
#define TAKE(cursor, trail, header) take_header(cursor, trail, header##_bytes, header##_layout)

static inline const uint8_t *take_header(struct cursor *c, struct wire_trail *t, uint32_t bytes,
					 const struct wire_layout *(*layout)(void))
{
	uint32_t at = c->at;
	const uint8_t *p = take(c, bytes);

	if (p && t)
		trail_add(t, (struct wire_layer){layout(), at, bytes});
	return p;
}

static inline struct wire_fault fault_at(enum wire_drop why, uint32_t at,
					 const struct wire_layout *in)
{
	return (struct wire_fault){why, at, in};
}

static inline struct wire_fault no_fault(void)
{
	return (struct wire_fault){WIRE_DROP_NONE, 0, NULL};
}

#endif
