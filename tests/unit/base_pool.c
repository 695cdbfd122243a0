/* base/pool.h: against a model that keeps the free slots as a plain stack, and each misuse. */
#include "base/pool.h"
#include "base/prng.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(HAS_ASAN)
#define HAS_ASAN
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

#define COUNT_MAX 256u

static const struct pool_shape shapes[] = {
	{1, 1, 1},   {1, 1, 7},     {8, 8, 64},      {24, 8, 100},        {13, 4, 33},
	{40, 32, 3}, {100, 16, 50}, {4096, 4096, 5}, {64, 64, COUNT_MAX},
};
#define N_SHAPES (sizeof shapes / sizeof shapes[0])

static void *block_for(const struct pool_shape *s)
{
	size_t align = s->align < POOL_ALIGN_MIN ? POOL_ALIGN_MIN : s->align;
	void *block = aligned_alloc(align, pool_bytes(s));

	assert_non_null(block);
	memset(block, 0xa5, pool_bytes(s));
	return block;
}

/* What the pool should be: every slot by number, the free ones that were used in a stack. */
struct model {
	uint32_t count, fresh, depth, in_use;
	uint64_t fail_in;
	uint32_t stack[COUNT_MAX];
	void *slot[COUNT_MAX]; /* NULL while free */
	uint8_t fill[COUNT_MAX];
};

static void model_get(struct model *m, struct pool *p, const struct pool_shape *s, uint8_t fill)
{
	void *slot = pool_get(p);
	bool made_to_fail = m->fail_in > 0 && --m->fail_in == 0;

	if (made_to_fail || m->in_use == m->count) {
		assert_null(slot);
		return;
	}
	uint32_t index = m->depth > 0 ? m->stack[--m->depth] : m->fresh++;

	assert_non_null(slot);
	assert_int_equal((uintptr_t)slot % s->align, 0);
	assert_int_equal(pool_index(p, slot), index);
	assert_ptr_equal(pool_at(p, index), slot);
	assert_null(m->slot[index]);
	m->slot[index] = slot;
	m->fill[index] = fill;
	m->in_use++;
	memset(slot, fill, s->slot_bytes);
}

static void model_put(struct model *m, struct pool *p, const struct pool_shape *s, uint32_t index)
{
	const uint8_t *bytes = m->slot[index];

	if (!bytes)
		return;
	for (size_t i = 0; i < s->slot_bytes; i++)
		if (bytes[i] != m->fill[index])
			fail_msg("slot %u was written by somebody else", index);
	pool_put(p, m->slot[index]);
	m->slot[index] = NULL;
	m->stack[m->depth++] = index;
	m->in_use--;
}

static void check_counts(const struct model *m, const struct pool *p, uint32_t probe)
{
	assert_int_equal(pool_in_use(p), m->in_use);
	assert_int_equal(pool_left(p), m->count - m->in_use);
	assert_int_equal(pool_high_water(p), m->fresh);
	assert_int_equal(pool_is_used(p, probe), m->slot[probe] != NULL);
}

/* Some pools begin empty and grow, and not by what they have already. */
static void grow(struct model *m, struct pool *p, const struct pool_shape *s, struct prng *rng)
{
	uint32_t limit = (uint32_t)prng_below(rng, s->count + 3);

	pool_grow(p, limit);
	if (limit > s->count)
		limit = s->count;
	if (limit > m->count)
		m->count = limit;
	assert_int_equal(pool_limit(p), m->count);
}

static void run_model(const struct pool_shape *s, struct prng *rng, uint32_t ops, bool is_growing)
{
	struct model m = {.count = is_growing ? 0 : s->count};
	struct pool p;
	void *block = block_for(s);

	if (is_growing)
		pool_init_empty(&p, block, s);
	else
		pool_init(&p, block, s);
	for (uint32_t op = 0; op < ops; op++) {
		/* The bias turns every so often, so that full and empty are both reached. */
		uint64_t gets = op / (8 * s->count) % 2 ? 3 : 7;
		uint32_t probe = (uint32_t)prng_below(rng, s->count);

		if (is_growing && prng_chance(rng, 1, 512))
			grow(&m, &p, s, rng);
		if (prng_chance(rng, 1, 64)) {
			m.fail_in = prng_below(rng, 20);
			pool_fail_at(&p, m.fail_in);
		}
		if (prng_chance(rng, gets, 10))
			model_get(&m, &p, s, (uint8_t)op);
		else
			model_put(&m, &p, s, probe);
		check_counts(&m, &p, probe);
	}
	assert_int_equal(pool_high_water(&p), s->count);
	pool_fini(&p);
	free(block);
}

static void matches_model(void **state)
{
	struct prng rng;

	(void)state;
	prng_init(&rng, check_seed(1), 0);
	for (size_t i = 0; i < N_SHAPES; i++)
		run_model(&shapes[i], &rng, 150000, i % 2);
}

static void index_and_pointer_agree_at_every_stride(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes <= 300; bytes++)
		for (size_t align = 1; align <= 64; align *= 2) {
			struct pool_shape s = {bytes, align, 5};
			struct pool p;
			void *block = block_for(&s);

			pool_init(&p, block, &s);
			for (uint32_t i = 0; i < s.count; i++) {
				assert_int_equal(pool_index(&p, pool_at(&p, i)), i);
				assert_int_equal((uintptr_t)pool_at(&p, i) % align, 0);
			}
			assert_true((uint8_t *)pool_at(&p, 4) + bytes <=
				    (uint8_t *)block + pool_bytes(&s));
			pool_fini(&p);
			free(block);
		}
}

static void size_is_exact_and_bad_shapes_have_none(void **state)
{
	static const struct {
		struct pool_shape shape;
		size_t bytes;
	} cases[] = {
		{{1, 1, 1}, 8 + 8},
		{{8, 8, 3}, 16 + 24},
		{{9, 1, 3}, 16 + 48},
		{{24, 16, 4}, 16 + 128},
		{{64, 64, 17}, 128 + 1088},
		{{0, 8, 1}, 0},
		{{8, 8, 0}, 0},
		{{8, 0, 1}, 0},
		{{8, 3, 1}, 0},
		{{8, 12, 1}, 0},
		{{1, 1, UINT32_MAX}, 0},
		{{1, 1, UINT32_MAX - 1}, 0},
		{{SIZE_MAX, 8, 1}, 0},
		{{SIZE_MAX / 4, 8, 5}, 0},
		{{SIZE_MAX / 2 + 1, 8, 2}, 0},
		{{SIZE_MAX - 15, 8, 1}, SIZE_MAX - 7},
		{{SIZE_MAX - 14, 8, 1}, 0},
		{{8, SIZE_MAX / 2 + 1, 2}, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(pool_bytes(&cases[i].shape), cases[i].bytes);
}

static void nth_get_fails_once_for_every_n(void **state)
{
	const struct pool_shape s = {16, 8, 20};
	void *block = block_for(&s);

	(void)state;
	for (uint32_t n = 1; n <= s.count + 2; n++) {
		struct pool p;
		uint32_t got = 0;

		pool_init(&p, block, &s);
		pool_fail_at(&p, n);
		for (uint32_t call = 1; call <= s.count + 3; call++) {
			void *slot = pool_get(&p);

			if (call == n || got == s.count)
				assert_null(slot);
			else
				assert_int_equal(pool_index(&p, slot), got++);
			assert_int_equal(pool_in_use(&p), got);
		}
		assert_int_equal(got, s.count);
		pool_fini(&p);
	}
	free(block);
}

static void failure_can_be_called_off(void **state)
{
	const struct pool_shape s = {16, 8, 4};
	void *block = block_for(&s);
	struct pool p;

	(void)state;
	pool_init(&p, block, &s);
	pool_fail_at(&p, 2);
	assert_non_null(pool_get(&p));
	pool_fail_at(&p, 0);
	assert_non_null(pool_get(&p));
	assert_non_null(pool_get(&p));
	pool_fini(&p);
	free(block);
}

static void memory_never_needed_is_never_touched(void **state)
{
	const struct pool_shape s = {64, 8, 32};
	const size_t list_bytes = s.count * sizeof(uint32_t);
	uint8_t *block = block_for(&s);
	struct pool p;

	(void)state;
	pool_init(&p, block, &s);
	for (int round = 0; round < 100; round++) {
		void *a = pool_get(&p), *b = pool_get(&p);

		pool_put(&p, a);
		pool_put(&p, b);
	}
	assert_int_equal(pool_high_water(&p), 2);
	pool_fini(&p);
	for (size_t i = 2 * sizeof(uint32_t); i < pool_bytes(&s); i++)
		if (i < list_bytes || i >= list_bytes + 2 * s.slot_bytes)
			assert_int_equal(block[i], 0xa5);
	free(block);
}

/* The list of an earlier pool still says that every slot is used. */
static void memory_need_not_be_cleared(void **state)
{
	const struct pool_shape s = {16, 8, 6};
	void *block = block_for(&s);
	struct pool p;

	(void)state;
	for (int round = 0; round < 2; round++) {
		pool_init(&p, block, &s);
		for (uint32_t i = 0; i < s.count; i++)
			assert_false(pool_is_used(&p, i));
		for (uint32_t i = 0; i < s.count; i++)
			assert_int_equal(pool_index(&p, pool_get(&p)), i);
		assert_true(pool_is_used(&p, s.count - 1));
		assert_false(pool_is_used(&p, s.count));
		assert_false(pool_is_used(&p, UINT32_MAX));
		pool_fini(&p);
	}
	free(block);
}

static const struct pool_shape misused = {24, 8, 8};

/* Puts what stands offset bytes from slot 0 into a pool whose slots 0 and 1 are in use, 2 was put
 * back, and the rest were never used. */
struct misuse {
	void *block;
	ptrdiff_t offset;
};

static void put_at(void *context)
{
	const struct misuse *m = context;
	struct pool p;
	void *slot[3];

	pool_init(&p, m->block, &misused);
	for (int i = 0; i < 3; i++)
		slot[i] = pool_get(&p);
	pool_put(&p, slot[2]);
	pool_put(&p, (void *)((uintptr_t)slot[0] + (uintptr_t)m->offset));
	pool_fini(&p);
}

/* True if the put aborts. */
static bool put_dies(ptrdiff_t offset)
{
	struct misuse m = {block_for(&misused), offset};
	bool dies = check_aborts(put_at, &m);

	free(m.block);
	return dies;
}

static void misuse_of_put_aborts(void **state)
{
	static const struct {
		const char *what;
		ptrdiff_t offset;
	} cases[] = {
		{"a free slot, put twice", 2 * 24},
		{"a slot never handed out", 3 * 24},
		{"the last slot, never handed out", 7 * 24},
		{"one past the last slot", 8 * 24},
		{"before the first slot", -24},
		{"before the block", -4096},
		{"inside a slot, one byte on", 1},
		{"inside a slot, eight bytes on", 8},
		{"inside a slot, sixteen bytes on", 24 + 16},
		{"far away", (ptrdiff_t)1 << 40},
		{"just before the first slot", -8},
	};

	(void)state;
	assert_false(put_dies(0));
	assert_false(put_dies(24));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (!put_dies(cases[i].offset))
			fail_msg("survived: %s", cases[i].what);
}

#ifdef HAS_ASAN
static void check_slot(const uint8_t *slot, const struct pool_shape *s, bool used)
{
	size_t stride = (s->slot_bytes + s->align - 1) / s->align * s->align;

	stride = (stride + 7) / 8 * 8;
	for (size_t i = 0; i < stride; i++)
		assert_int_equal(!!__asan_address_is_poisoned(slot + i),
				 !(used && i < s->slot_bytes));
}

static void free_slots_are_poisoned(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_SHAPES; k++) {
		const struct pool_shape *s = &shapes[k];
		struct pool p;
		uint8_t *block = block_for(s);

		pool_init(&p, block, s);
		for (uint32_t i = 0; i < s->count; i++) {
			check_slot(pool_at(&p, i), s, false);
			assert_int_equal(pool_index(&p, pool_get(&p)), i);
			check_slot(pool_at(&p, i), s, true);
		}
		for (uint32_t i = 0; i < s->count; i++) {
			pool_put(&p, pool_at(&p, i));
			check_slot(pool_at(&p, i), s, false);
		}
		pool_fini(&p);
		assert_null(__asan_region_is_poisoned(block, pool_bytes(s)));
		free(block);
	}
}
#else
static void free_slots_are_poisoned(void **state)
{
	(void)state;
	skip();
}
#endif

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(matches_model),
	cmocka_unit_test(index_and_pointer_agree_at_every_stride),
	cmocka_unit_test(size_is_exact_and_bad_shapes_have_none),
	cmocka_unit_test(nth_get_fails_once_for_every_n),
	cmocka_unit_test(failure_can_be_called_off),
	cmocka_unit_test(memory_never_needed_is_never_touched),
	cmocka_unit_test(memory_need_not_be_cleared),
	cmocka_unit_test(misuse_of_put_aborts),
	cmocka_unit_test(free_slots_are_poisoned),
};

CHECK_MAIN(cases)
