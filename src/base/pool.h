/* A fixed number of equal slots in the caller's memory, handed out and taken back in O(1).
 *
 * An engine sizes its pools from its configuration and never allocates again; an empty pool is an
 * ordinary answer. Which slot a get returns depends only on the calls before it: the slot put last,
 * while it is still in the cache, else the lowest slot never used, so that memory nobody needed is
 * never touched. The free list stands beside the slots, not in them: sanitizer builds poison every
 * free slot whole. A pool may begin with fewer slots than its memory holds and grow into the rest:
 * no slot moves. Invariant: in_use <= high_water <= limit <= shape.count, and slots from high_water
 * on have never been handed out. One thread at a time calls this. */
#ifndef WEFT_BASE_POOL_H
#define WEFT_BASE_POOL_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_ALIGN_MIN 8u

struct pool_shape {
	size_t slot_bytes;
	size_t align; /* of every slot: a power of two, raised to POOL_ALIGN_MIN if smaller */
	uint32_t count;
};

struct pool {
	uint8_t *slots;
	uint32_t *next; /* per slot: the free slot below it in the list, or a mark */
	size_t slot_bytes, stride_bytes;
	uint64_t stride_inverse; /* of the odd part of the stride, modulo 2^64 */
	uint64_t fail_in;        /* gets until one is made to fail; 0: none will */
	uint32_t stride_shift, count, free_head, in_use, high_water;
	uint32_t limit; /* slots that may be handed out, of count that there is memory for */
};

/* The bytes pool_init needs, a multiple of the alignment, so that blocks can stand in a row; 0 for
 * a shape no memory can hold: no slot, no byte, an align that is no power of two, or too large. */
size_t pool_bytes(const struct pool_shape *shape);

/* Makes every slot free. The shape is one pool_bytes accepts; memory holds that many bytes at the
 * shape's alignment, belongs to the pool until pool_fini, and need not be cleared. */
void pool_init(struct pool *p, void *memory, const struct pool_shape *shape);

/* The same without any slot: pool_grow adds them. */
void pool_init_empty(struct pool *p, void *memory, const struct pool_shape *shape);

/* Makes it a pool of `limit` slots, or as many as its memory holds; one that has more keeps them.
 */
void pool_grow(struct pool *p, uint64_t limit);

/* Gives the memory back to the caller, unpoisoned; slots in use end with it. */
void pool_fini(struct pool *p);

/* The same for a whole block, with all pools that an engine laid into it. */
void pool_give_back(void *memory, size_t bytes);

/* A slot, its bytes undefined, the caller's until pool_put; NULL when none is free. */
void *pool_get(struct pool *p);

/* Takes back a slot that pool_get returned. A slot already free, or a pointer that is not the start
 * of one of this pool's slots, is our mistake and fails an assert. */
void pool_put(struct pool *p, void *slot);

/* The number of the slot that starts at slot, which fails an assert if none does. */
uint32_t pool_index(const struct pool *p, const void *slot);

/* True if slot number index is handed out; index may be any number. */
bool pool_is_used(const struct pool *p, uint32_t index);

/* Makes the nth get from now (1: the next one) return NULL, once, whatever is free; 0 calls that
 * off. For tests that prove every caller survives an empty pool. */
void pool_fail_at(struct pool *p, uint64_t n);

/* The slot whose number is index < count; the inverse of pool_index. */
static inline void *pool_at(const struct pool *p, uint32_t index)
{
	assert(index < p->count);
	return p->slots + index * p->stride_bytes;
}

static inline uint32_t pool_in_use(const struct pool *p)
{
	return p->in_use;
}

static inline uint32_t pool_left(const struct pool *p)
{
	return p->limit - p->in_use;
}

static inline uint32_t pool_limit(const struct pool *p)
{
	return p->limit;
}

/* The most slots that were ever in use at once. */
static inline uint32_t pool_high_water(const struct pool *p)
{
	return p->high_water;
}

#endif
