/* Queue pairs by their number: a hash table in the caller's memory, whose chains run through the
 * queue pairs themselves.
 *
 * Numbers are random or count from 0, so their bits are mixed first. The order of the chains, and
 * so of engine_number_next, depends only on the calls before. Invariant: a number is there at most
 * once, and n <= most. Engines call this, engine_number_find for every packet. */
#ifndef WEFT_ENGINE_NUMBERS_H
#define WEFT_ENGINE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#define ENGINE_NUMBERS_MOST (UINT32_C(1) << 20) /* numbers in one table */

/* Embedded in what has a number. Its memory may not go, nor move, while it is in a table. */
struct engine_number {
	struct engine_number *next;
	uint32_t number;
};

struct engine_numbers {
	struct engine_number **heads;
	uint32_t mask; /* chains - 1: a power of two, not less than most */
	uint32_t n, most;
};

/* The bytes that a table of so many numbers needs, 1 .. ENGINE_NUMBERS_MOST. */
size_t engine_numbers_bytes(uint32_t most);

/* Makes an empty table; memory is the table's for its life and need not be cleared. */
void engine_numbers_init(struct engine_numbers *t, void *memory, uint32_t most);

/* Whether a number could be added: 0, -EEXIST: it is there, -ENOSPC: the table is full. */
int engine_numbers_problem(const struct engine_numbers *t, uint32_t number);

/* Adds one that engine_numbers_problem has nothing against. */
void engine_number_add(struct engine_numbers *t, struct engine_number *link, uint32_t number);

/* Takes out one that is there. */
void engine_number_remove(struct engine_numbers *t, struct engine_number *link);

/* The one behind link in an order of the table's own, the first for NULL, or NULL. */
struct engine_number *engine_number_next(const struct engine_numbers *t,
					 const struct engine_number *link);

static inline uint32_t engine_number_chain(const struct engine_numbers *t, uint32_t number)
{
	/* The upper 20 bits of the product are the well mixed ones: ENGINE_NUMBERS_MOST of them. */
	return number * UINT32_C(0x9e3779b1) >> 12 & t->mask;
}

/* The one with this number, or NULL. */
static inline struct engine_number *engine_number_find(const struct engine_numbers *t,
						       uint32_t number)
{
	struct engine_number *link = t->heads[engine_number_chain(t, number)];

	while (link && link->number != number)
		link = link->next;
	return link;
}

#endif
