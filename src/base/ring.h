/* A queue of fixed-size elements from one producer to one consumer, each on a thread of its own.
 *
 * Elements are copied in and out of the caller's memory; nothing blocks and nothing is overwritten.
 * Indices run freely and wrap at 2^32, so full and empty differ without a wasted slot. Invariant:
 * tail - head, modulo 2^32, is the number of elements and at most the capacity. Each side owns a
 * cache line with its index and the last it saw of the other's: it reads the peer's line only when
 * that copy no longer promises enough. Drivers and doors use this to cross threads. */
#ifndef WEFT_BASE_RING_H
#define WEFT_BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_LINE_BYTES   64
#define RING_CAPACITY_MAX (UINT32_C(1) << 31)

struct ring_shape {
	size_t elem_bytes;
	uint32_t capacity; /* elements: a power of two */
	uint32_t first;    /* index of the first element: any value, and nobody can tell which */
};

struct ring {
	/* Neither side writes these after init. */
	_Alignas(RING_LINE_BYTES) uint8_t *slots;
	size_t elem_bytes;
	uint32_t mask;

	/* The producer's line. */
	_Alignas(RING_LINE_BYTES) _Atomic uint32_t tail;
	uint32_t head_seen;

	/* The consumer's line. */
	_Alignas(RING_LINE_BYTES) _Atomic uint32_t head;
	uint32_t tail_seen;
};

/* The bytes of memory ring_init needs; 0 for a shape no memory can hold: no byte, a capacity that
 * is no power of two or above RING_CAPACITY_MAX, or too large. */
size_t ring_bytes(const struct ring_shape *shape);

/* Makes an empty ring. The shape is one ring_bytes accepts; memory holds that many bytes, at any
 * alignment, and belongs to the ring until its last use. Before either side starts. */
void ring_init(struct ring *r, void *memory, const struct ring_shape *shape);

/* Producer only. Copies one element in; false, and nothing changed, when the ring is full. */
bool ring_push(struct ring *r, const void *elem);

/* Producer only. Copies in the first of n elements, as many as fit, in order, and shows them to the
 * consumer together; returns how many. */
uint32_t ring_push_n(struct ring *r, const void *elems, uint32_t n);

/* Consumer only. Copies the oldest element out; false, and elem untouched, when there is none. */
bool ring_pop(struct ring *r, void *elem);

/* Consumer only. Copies out the oldest elements, in order, at most n; returns how many. */
uint32_t ring_pop_n(struct ring *r, void *elems, uint32_t n);

/* The elements waiting. For the consumer: at least so many. For the producer: at most. */
uint32_t ring_size(const struct ring *r);

/* The elements that still fit. For the producer: at least so many. For the consumer: at most. */
uint32_t ring_free(const struct ring *r);

#endif
