#include "base/ring.h"

#include <assert.h>
#include <string.h>

size_t ring_bytes(const struct ring_shape *shape)
{
	size_t bytes;

	if (shape->elem_bytes == 0 || shape->capacity == 0 || shape->capacity > RING_CAPACITY_MAX ||
	    (shape->capacity & (shape->capacity - 1)) != 0)
		return 0;
	if (__builtin_mul_overflow(shape->elem_bytes, shape->capacity, &bytes))
		return 0;
	return bytes;
}

void ring_init(struct ring *r, void *memory, const struct ring_shape *shape)
{
	assert(memory && ring_bytes(shape) != 0);
	r->slots = memory;
	r->elem_bytes = shape->elem_bytes;
	r->mask = shape->capacity - 1;
	atomic_init(&r->tail, shape->first);
	atomic_init(&r->head, shape->first);
	r->head_seen = shape->first;
	r->tail_seen = shape->first;
}

/* How many of n elements fit behind tail. Acquire pairs with the consumer's release: it has copied
 * out what it gave up before we copy over it. */
static uint32_t room_for(struct ring *r, uint32_t tail, uint32_t n)
{
	uint32_t capacity = r->mask + 1;

	if (capacity - (tail - r->head_seen) < n)
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
	uint32_t room = capacity - (tail - r->head_seen);

	return n < room ? n : room;
}

/* How many of n elements wait from head on. Acquire pairs with the producer's release: we read the
 * elements it wrote before it showed them. */
static uint32_t ready_for(struct ring *r, uint32_t head, uint32_t n)
{
	if (r->tail_seen - head < n)
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	uint32_t ready = r->tail_seen - head;

	return n < ready ? n : ready;
}

static uint8_t *slot_of(const struct ring *r, uint32_t index)
{
	return r->slots + (index & r->mask) * r->elem_bytes;
}

/* Of n elements from index on, how many stand before the memory's end. */
static uint32_t before_end(const struct ring *r, uint32_t index, uint32_t n)
{
	uint32_t straight = r->mask + 1 - (index & r->mask);

	return n < straight ? n : straight;
}

bool ring_push(struct ring *r, const void *elem)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (room_for(r, tail, 1) == 0)
		return false;
	memcpy(slot_of(r, tail), elem, r->elem_bytes);
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return true;
}

uint32_t ring_push_n(struct ring *r, const void *elems, uint32_t n)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	n = room_for(r, tail, n);
	if (n == 0)
		return 0;
	size_t front = before_end(r, tail, n) * r->elem_bytes;

	memcpy(slot_of(r, tail), elems, front);
	memcpy(r->slots, (const uint8_t *)elems + front, n * r->elem_bytes - front);
	atomic_store_explicit(&r->tail, tail + n, memory_order_release);
	return n;
}

bool ring_pop(struct ring *r, void *elem)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (ready_for(r, head, 1) == 0)
		return false;
	memcpy(elem, slot_of(r, head), r->elem_bytes);
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	return true;
}

uint32_t ring_pop_n(struct ring *r, void *elems, uint32_t n)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	n = ready_for(r, head, n);
	if (n == 0)
		return 0;
	size_t front = before_end(r, head, n) * r->elem_bytes;

	memcpy(elems, slot_of(r, head), front);
	memcpy((uint8_t *)elems + front, r->slots, n * r->elem_bytes - front);
	atomic_store_explicit(&r->head, head + n, memory_order_release);
	return n;
}

uint32_t ring_size(const struct ring *r)
{
	/* Either side's own index is exact; the peer's can only have moved its way since. */
	uint32_t head = atomic_load_explicit(&r->head, memory_order_acquire);

	return atomic_load_explicit(&r->tail, memory_order_acquire) - head;
}

uint32_t ring_free(const struct ring *r)
{
	return r->mask + 1 - ring_size(r);
}
