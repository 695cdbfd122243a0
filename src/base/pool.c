#include "base/pool.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_HAS_ASAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(POOL_HAS_ASAN)
#define POOL_HAS_ASAN
#endif

#ifdef POOL_HAS_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

/* Marks in next[]; a count stays below both. */
#define POOL_LIST_END UINT32_MAX
#define POOL_USED     (UINT32_MAX - 1)

struct pool_layout {
	size_t align, stride_bytes, slots_at, total_bytes;
};

/* Sum and product that remember in *over whether any step so far did not fit. */
static size_t add_over(size_t a, size_t b, bool *over)
{
	size_t sum;

	*over |= __builtin_add_overflow(a, b, &sum);
	return sum;
}

static size_t mul_over(size_t a, size_t b, bool *over)
{
	size_t product;

	*over |= __builtin_mul_overflow(a, b, &product);
	return product;
}

static size_t round_up_over(size_t n, size_t align, bool *over)
{
	return add_over(n, align - 1, over) & ~(align - 1);
}

/* The list stands before the slots: a write past the last slot leaves the block, where a sanitizer
 * sees it, instead of corrupting the list. Strides are whole 8-byte granules because address
 * sanitizer cannot poison the front of a granule and keep its back. */
static bool lay_out(const struct pool_shape *s, struct pool_layout *out)
{
	bool over = false;

	if (s->slot_bytes == 0 || s->count == 0 || s->count >= POOL_USED || s->align == 0 ||
	    (s->align & (s->align - 1)) != 0)
		return false;
	out->align = s->align < POOL_ALIGN_MIN ? POOL_ALIGN_MIN : s->align;
	out->stride_bytes = round_up_over(s->slot_bytes, out->align, &over);
	out->slots_at =
		round_up_over(mul_over(s->count, sizeof(uint32_t), &over), out->align, &over);
	out->total_bytes =
		add_over(out->slots_at, mul_over(s->count, out->stride_bytes, &over), &over);
	return !over;
}

/* Newton's iteration: an odd number is its own inverse modulo 8, and each step doubles the bits. */
static uint64_t odd_inverse(uint64_t odd)
{
	uint64_t x = odd;

	for (int bits = 3; bits < 64; bits *= 2)
		x *= 2 - odd * x;
	return x;
}

size_t pool_bytes(const struct pool_shape *shape)
{
	struct pool_layout l;

	return lay_out(shape, &l) ? l.total_bytes : 0;
}

void pool_init_empty(struct pool *p, void *memory, const struct pool_shape *shape)
{
	struct pool_layout l;
	bool fits = lay_out(shape, &l);

	assert(fits);
	assert(memory && (uintptr_t)memory % l.align == 0);
	uint32_t shift = (uint32_t)__builtin_ctzll(l.stride_bytes);

	*p = (struct pool){
		.slots = (uint8_t *)memory + l.slots_at,
		.next = memory,
		.slot_bytes = shape->slot_bytes,
		.stride_bytes = l.stride_bytes,
		.stride_inverse = odd_inverse(l.stride_bytes >> shift),
		.stride_shift = shift,
		.count = shape->count,
		.free_head = POOL_LIST_END,
	};
}

void pool_init(struct pool *p, void *memory, const struct pool_shape *shape)
{
	pool_init_empty(p, memory, shape);
	pool_grow(p, shape->count);
}

void pool_grow(struct pool *p, uint64_t limit)
{
	if (limit > p->count)
		limit = p->count;
	if (limit <= p->limit)
		return;
	/* The slots to come are poisoned no earlier: the shadow of memory that nobody asked for
	 * would cost a sanitizer build more than what it watches. */
	ASAN_POISON_MEMORY_REGION(p->slots + p->limit * p->stride_bytes,
				  (limit - p->limit) * p->stride_bytes);
	p->limit = (uint32_t)limit;
}

void pool_fini(struct pool *p)
{
	ASAN_UNPOISON_MEMORY_REGION(p->slots, p->count * p->stride_bytes);
	*p = (struct pool){0};
}

void pool_give_back(void *memory, size_t bytes)
{
	ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
}

void *pool_get(struct pool *p)
{
	uint32_t index = p->free_head;

	if (p->fail_in != 0 && --p->fail_in == 0)
		return NULL;
	if (p->in_use == p->limit)
		return NULL;
	if (index != POOL_LIST_END)
		p->free_head = p->next[index];
	else
		index = p->high_water++;
	p->next[index] = POOL_USED;
	p->in_use++;

	/* Only the bytes asked for: the padding behind them stays poisoned. */
	ASAN_UNPOISON_MEMORY_REGION(pool_at(p, index), p->slot_bytes);
	return pool_at(p, index);
}

void pool_put(struct pool *p, void *slot)
{
	uint32_t index = pool_index(p, slot);

	assert(pool_is_used(p, index));
	p->next[index] = p->free_head;
	p->free_head = index;
	p->in_use--;
	ASAN_POISON_MEMORY_REGION(slot, p->stride_bytes);
}

/* Divides by the stride with one multiplication: offset * inverse, rotated right by the stride's
 * trailing zeros, is the quotient if the stride divides the offset, and otherwise exceeds every
 * quotient there is. So one comparison also refuses pointers between slots and outside them. */
uint32_t pool_index(const struct pool *p, const void *slot)
{
	uint64_t n = ((uintptr_t)slot - (uintptr_t)p->slots) * p->stride_inverse;
	uint64_t index = n >> p->stride_shift | n << (64 - p->stride_shift);

	assert(index < p->count);
	return (uint32_t)index;
}

bool pool_is_used(const struct pool *p, uint32_t index)
{
	/* Slots never handed out have no mark yet. */
	return index < p->high_water && p->next[index] == POOL_USED;
}

void pool_fail_at(struct pool *p, uint64_t n)
{
	p->fail_in = n;
}
