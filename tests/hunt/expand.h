/* What the files share that draw a plan: expand.c, fabric.c, windows.c. */
#ifndef WEFT_TESTS_HUNT_EXPAND_H
#define WEFT_TESTS_HUNT_EXPAND_H

#include "hunt.h"

#define HUNT_END_WORKS 40u /* of one end, ... */
#define HUNT_TAIL      40u /* ... and so many when all is healed */
#define HUNT_WORD      8u

/* Where memory of an arena is given out next. */
struct hunt_bump {
	struct prng *p;
	uint32_t local, remote;
};

/* A window that came to its end and may be bound again. */
struct hunt_spare {
	bool is_free;
	uint8_t kind;
	uint32_t window, key;
	uint32_t after; /* messages that its owner has when it is free */
};

/* Works of both ends of a connection, in an order of cause and effect: a work that waits for a
 * message is added after the one that sends it. */
struct hunt_draft {
	struct hunt_plan *s;
	const struct hunt_transport *t;
	struct prng *p;
	struct hunt_bump *bumps;
	uint32_t first; /* of its two ends; sides 0 and 1 are first and first + 1 */
	struct hunt_work works[2][HUNT_END_WORKS + HUNT_TAIL];
	uint32_t n[2], n_messages[2];
	uint64_t words[2][HUNT_WORDS]; /* as they will be, of those that each side changes */
	uint32_t spread_ns[2];
	psec at[2];
	struct hunt_spare spares[2];
};

static inline uint32_t hunt_draw(struct prng *p, uint32_t low, uint32_t high)
{
	return (uint32_t)prng_range(p, low, high);
}

/* Draws and builds the fabric; spray is for what only transports have that spray, of which it also
 * decides whether messages are long. 0, or a negative errno. */
int hunt_draw_fabric(struct hunt_plan *s, struct prng *p, struct prng *spray);

/* Adds a work of len bytes, with all that any work has; there is room. */
struct hunt_work *hunt_draft_add(struct hunt_draft *d, uint32_t side, uint8_t code, uint32_t len);

/* A place of len bytes in the remote part of a side's arena. */
uint32_t hunt_take_remote(struct hunt_bump *b, uint32_t len, uint32_t align);

/* A length of any kind: none, part of a packet, several, just beside whole ones. */
uint32_t hunt_draw_len(const struct hunt_plan *s, struct prng *p);

/* The life of one window, or part of it: bind, use, and end; or what must fail of it. Adds at most
 * HUNT_SESSION works to either side, and flaws if it may. */
#define HUNT_SESSION 6u
void hunt_draft_session(struct hunt_draft *d, bool may_flaw);

#endif
