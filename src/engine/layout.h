/* One block of memory, cut into parts: what an engine, or a queue pair, has behind its own struct.
 *
 * size and init walk over the same parts in the same order and reserve each: size for the sum, init
 * for where they are. Every part begins where any type may. Engines call this. */
#ifndef WEFT_ENGINE_LAYOUT_H
#define WEFT_ENGINE_LAYOUT_H

#include <stdalign.h>
#include <stddef.h>

/* All zeros: nothing is reserved yet. */
struct engine_layout {
	size_t used; /* bytes of all parts so far */
};

/* The bytes that a part takes, so that the next one may be of any type. */
static inline size_t engine_aligned(size_t bytes)
{
	return (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

/* One more part of so many bytes; returns where it begins, from the start of the block. */
static inline size_t engine_reserve(struct engine_layout *l, size_t bytes)
{
	size_t at = l->used;

	l->used = at + engine_aligned(bytes);
	return at;
}

#endif
