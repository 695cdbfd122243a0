/* mem/mem.h: each fault, each refusal, and random changes beside a model that is a plain list. */
#include "mem/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/prng.h"
#include "check.h"

__extension__ typedef unsigned __int128 u128;

#define ALL_ACCESS \
	(MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC | MEM_BIND)
#define REMOTE_ACCESS (MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC)

enum { REGION = 0x100, OTHER_PD = 0x200, READ_ONLY = 0x300, VIRTUAL = 0x400, TOP = 0x500 };
enum { WINDOW1 = 0x600, WINDOW2 = 0x700, NO_BIND = 0x800, UNUSED = 0x900 };
enum { PD = 5, QP = 77 };

static uint8_t arena[16384];

static struct mem *new_table(uint32_t max)
{
	void *memory = calloc(1, mem_bytes(max));

	assert_non_null(memory);
	return mem_init(memory, max);
}

/* A table with one entry of each sort. */
static int set_up(void **state)
{
	static const struct mem_entry entries[] = {
		{arena, 0x10000, 4096, REGION, PD, 0, 0, 0, MEM_REGION, ALL_ACCESS},
		{arena, 0x10000, 4096, OTHER_PD, PD + 1, 0, 0, 0, MEM_REGION, ALL_ACCESS},
		{arena, 0x10000, 4096, READ_ONLY, PD, 0, 0, 0, MEM_REGION,
		 MEM_REMOTE_READ | MEM_BIND},
		{NULL, 0x10000, 4096, VIRTUAL, PD, 0, 0, 0, MEM_REGION, ALL_ACCESS},
		{arena, UINT64_MAX - 4095, 4096, TOP, PD, 0, 0, 0, MEM_REGION, ALL_ACCESS},
		{NULL, 0, 0, WINDOW1, PD, 0, 0, 0, MEM_WINDOW_1, 0},
		{NULL, 0, 0, WINDOW2, PD, 0, 0, 0, MEM_WINDOW_2, 0},
		{arena, 0x10000, 4096, NO_BIND, PD, 0, 0, 0, MEM_REGION, ALL_ACCESS & ~MEM_BIND},
	};
	struct mem *m = new_table(16);

	for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
		assert_int_equal(mem_add(m, &entries[i]), 0);
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* What a peer on queue pair QP of domain PD gets for a read of these bytes. */
static enum mem_fault reach(const struct mem *m, uint32_t key, uint64_t va, uint64_t len)
{
	struct mem_want want = {va, len, key, PD, QP, MEM_REMOTE_READ, false};
	uint8_t *at;

	return mem_find(m, &want, &at);
}

static int bind(struct mem *m, uint32_t window, uint32_t region, uint32_t new_key, uint8_t access)
{
	struct mem_binding to = {0x10100, 256, region, new_key, QP, access};

	return mem_bind(m, window, &to);
}

static void each_want_gets_its_answer(void **state)
{
	static const struct {
		struct mem_want want;
		enum mem_fault fault;
		const uint8_t *at;
	} rows[] = {
		{{0x10000, 4096, REGION, PD, QP, ALL_ACCESS, false}, MEM_OK, arena},
		{{0x10000, 4096, REGION, PD, QP, ALL_ACCESS, true}, MEM_OK, arena},
		{{0x10fff, 1, REGION, PD, QP, 0, false}, MEM_OK, arena + 4095},
		{{0x10001, 4095, REGION, PD, QP, 0, false}, MEM_OK, arena + 1},
		{{0x10001, 4096, REGION, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		{{0x11000, 1, REGION, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		{{0x0ffff, 1, REGION, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		{{0x0ffff, 2, REGION, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		{{0x20000, 1, REGION, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		/* Sums that wrap to somewhere inside. */
		{{0x10800, UINT64_MAX, REGION, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		{{0x10800, UINT64_MAX - 0x7ff, REGION, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		{{UINT64_MAX, 0x10801, REGION, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		{{0, UINT64_MAX, REGION, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		/* A region may end where addresses do. */
		{{UINT64_MAX, 1, TOP, PD, QP, 0, false}, MEM_OK, arena + 4095},
		{{UINT64_MAX - 4095, 4096, TOP, PD, QP, 0, false}, MEM_OK, arena},
		{{UINT64_MAX, 2, TOP, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		{{0, 1, TOP, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		{{UINT64_MAX - 4096, 1, TOP, PD, QP, 0, false}, MEM_NO_RANGE, NULL},
		/* Virtual bytes have bounds and rights, and no place. */
		{{0x10010, 8, VIRTUAL, PD, QP, MEM_REMOTE_WRITE, false}, MEM_OK, NULL},
		{{0x10ff9, 8, VIRTUAL, PD, QP, MEM_REMOTE_WRITE, false}, MEM_NO_RANGE, NULL},
		{{0x10000, 8, UNUSED, PD, QP, 0, false}, MEM_NO_KEY, NULL},
		{{0x10000, 8, 0, PD, QP, 0, false}, MEM_NO_KEY, NULL},
		{{0x10000, 8, OTHER_PD, PD, QP, 0, false}, MEM_NO_DOMAIN, NULL},
		{{0x10000, 8, REGION, PD + 1, QP, 0, false}, MEM_NO_DOMAIN, NULL},
		{{0x10000, 8, REGION, PD, QP + 1, 0, false}, MEM_OK, arena},
		{{0x10000, 8, READ_ONLY, PD, QP, MEM_REMOTE_READ, false}, MEM_OK, arena},
		{{0x10000, 8, READ_ONLY, PD, QP, MEM_REMOTE_WRITE, false}, MEM_NO_ACCESS, NULL},
		{{0x10000, 8, READ_ONLY, PD, QP, MEM_REMOTE_ATOMIC, false}, MEM_NO_ACCESS, NULL},
		{{0x10000, 8, READ_ONLY, PD, QP, MEM_LOCAL_WRITE, true}, MEM_NO_ACCESS, NULL},
		/* One right of two is not enough. */
		{{0x10000, 8, READ_ONLY, PD, QP, MEM_REMOTE_READ | MEM_REMOTE_WRITE, false},
		 MEM_NO_ACCESS,
		 NULL},
		{{0x10000, 8, WINDOW1, PD, QP, 0, false}, MEM_NO_KEY, NULL},
		{{0x10000, 8, WINDOW2, PD, QP, 0, false}, MEM_NO_KEY, NULL},
		/* No bytes: nothing is looked at. */
		{{0x10000, 0, UNUSED, PD, QP, ALL_ACCESS, false}, MEM_OK, NULL},
		{{0x99999, 0, READ_ONLY, PD + 9, QP, ALL_ACCESS, true}, MEM_OK, NULL},
		{{UINT64_MAX, 0, 0, PD, QP, 0, false}, MEM_OK, NULL},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t *at = arena + sizeof arena;

		if (mem_find(*state, &rows[i].want, &at) != rows[i].fault || at != rows[i].at)
			fail_msg("row %zu", i);
	}
}

static void bad_entries_are_refused(void **state)
{
	const struct mem_entry good = {arena, 0x1000, 64, UNUSED,     PD,
				       0,     0,      0,  MEM_REGION, ALL_ACCESS};
	struct mem *m = *state;
	struct mem_entry e = good;

	e.key = 0;
	assert_int_equal(mem_add(m, &e), -EEXIST);
	e.key = REGION;
	assert_int_equal(mem_add(m, &e), -EEXIST);
	e.key = WINDOW2;
	assert_int_equal(mem_add(m, &e), -EEXIST);
	e = good;
	e.iova = UINT64_MAX - 62;
	assert_int_equal(mem_add(m, &e), -EINVAL);
	e.iova = 2;
	e.len = UINT64_MAX;
	e.at = NULL;
	assert_int_equal(mem_add(m, &e), -EINVAL);
	/* The memory behind it must not wrap either. */
	e = good;
	e.iova = 0;
	e.len = UINT64_MAX - (uintptr_t)arena + 2;
	assert_int_equal(mem_add(m, &e), -EINVAL);
	e = good;
	e.kind = MEM_WINDOW_2 + 1;
	assert_int_equal(mem_add(m, &e), -EINVAL);
	e = good;
	e.kind = MEM_WINDOW_1;
	assert_int_equal(mem_add(m, &e), -EINVAL);
	e.len = 0;
	e.parent = REGION;
	assert_int_equal(mem_add(m, &e), -EINVAL);
	e = good;
	e.n_bound = 1;
	assert_int_equal(mem_add(m, &e), -EINVAL);
	assert_int_equal(mem_count(m), 8);
	assert_null(mem_entry(m, UNUSED));

	/* The widest ranges there are; and a region may be empty. */
	e = good;
	e.at = NULL;
	e.iova = 0;
	e.len = UINT64_MAX;
	assert_int_equal(mem_add(m, &e), 0);
	assert_int_equal(reach(m, UNUSED, 1, UINT64_MAX - 1), MEM_OK);
	assert_int_equal(reach(m, UNUSED, 1, UINT64_MAX), MEM_NO_RANGE);
	assert_int_equal(mem_remove(m, UNUSED), 0);
	e.iova = UINT64_MAX;
	e.len = 0;
	assert_int_equal(mem_add(m, &e), 0);
	assert_int_equal(reach(m, UNUSED, UINT64_MAX, 1), MEM_NO_RANGE);
}

static void a_removed_key_finds_nothing(void **state)
{
	struct mem *m = *state;

	assert_int_equal(mem_remove(m, UNUSED), -ENOENT);
	assert_int_equal(mem_remove(m, 0), -ENOENT);
	assert_int_equal(reach(m, REGION, 0x10000, 1), MEM_OK);
	assert_int_equal(mem_remove(m, REGION), 0);
	assert_int_equal(reach(m, REGION, 0x10000, 1), MEM_NO_KEY);
	assert_int_equal(mem_remove(m, REGION), -ENOENT);
	assert_null(mem_entry(m, REGION));
	assert_int_equal(mem_count(m), 7);
}

static void a_window_opens_part_of_a_region(void **state)
{
	struct mem *m = *state;
	struct mem_want want = {0x10110, 16, WINDOW1, PD, QP, MEM_REMOTE_READ, false};
	uint8_t *at;

	assert_int_equal(bind(m, WINDOW1, REGION, WINDOW1, MEM_REMOTE_READ), 0);
	assert_int_equal(mem_find(m, &want, &at), MEM_OK);
	assert_ptr_equal(at, arena + 0x110);
	assert_int_equal(reach(m, WINDOW1, 0x10100, 256), MEM_OK);
	assert_int_equal(reach(m, WINDOW1, 0x100ff, 1), MEM_NO_RANGE);
	assert_int_equal(reach(m, WINDOW1, 0x10100, 257), MEM_NO_RANGE);
	/* Type 1 is of a domain: any of its queue pairs. */
	want.qp = QP + 1;
	assert_int_equal(mem_find(m, &want, &at), MEM_OK);
	want.pd = PD + 1;
	assert_int_equal(mem_find(m, &want, &at), MEM_NO_DOMAIN);
	want.pd = PD;
	want.access = MEM_REMOTE_WRITE;
	assert_int_equal(mem_find(m, &want, &at), MEM_NO_ACCESS);
	/* Not for sge lists. */
	want.access = 0;
	want.is_local = true;
	assert_int_equal(mem_find(m, &want, &at), MEM_NO_KEY);
	/* What the region itself does not have, a window may still grant: remote writing. */
	assert_int_equal(mem_entry(m, REGION)->n_bound, 1);
	assert_int_equal(bind(m, WINDOW1, VIRTUAL, WINDOW1, REMOTE_ACCESS), 0);
	want = (struct mem_want){0x10110, 8, WINDOW1, PD, QP, REMOTE_ACCESS, false};
	assert_int_equal(mem_find(m, &want, &at), MEM_OK);
	assert_null(at);
	assert_int_equal(mem_entry(m, REGION)->n_bound, 0);
	assert_int_equal(mem_entry(m, VIRTUAL)->n_bound, 1);
}

static void a_window_of_type_2_is_of_one_queue_pair(void **state)
{
	struct mem *m = *state;
	struct mem_want want = {0x10100, 16, WINDOW2, PD, QP, 0, false};
	uint8_t *at;

	assert_int_equal(bind(m, WINDOW2, REGION, WINDOW2, REMOTE_ACCESS), 0);
	assert_int_equal(mem_find(m, &want, &at), MEM_OK);
	want.qp = QP + 1;
	assert_int_equal(mem_find(m, &want, &at), MEM_NO_DOMAIN);
	want = (struct mem_want){0x10100, 16, WINDOW2, PD + 1, QP, 0, false};
	assert_int_equal(mem_find(m, &want, &at), MEM_NO_DOMAIN);
}

static void a_new_binding_ends_the_old_one(void **state)
{
	struct mem *m = *state;

	assert_int_equal(bind(m, WINDOW2, REGION, UNUSED, MEM_REMOTE_READ), 0);
	assert_null(mem_entry(m, WINDOW2));
	assert_int_equal(reach(m, WINDOW2, 0x10100, 1), MEM_NO_KEY);
	assert_int_equal(reach(m, UNUSED, 0x10100, 1), MEM_OK);
	assert_int_equal(bind(m, WINDOW2, REGION, WINDOW2, MEM_REMOTE_READ), -ENOENT);

	struct mem_binding to = {0x10800, 8, READ_ONLY, WINDOW2, QP, MEM_REMOTE_READ};

	assert_int_equal(mem_bind(m, UNUSED, &to), 0);
	assert_int_equal(reach(m, UNUSED, 0x10800, 8), MEM_NO_KEY);
	assert_int_equal(reach(m, WINDOW2, 0x10800, 8), MEM_OK);
	assert_int_equal(reach(m, WINDOW2, 0x10100, 1), MEM_NO_RANGE);
	assert_int_equal(mem_entry(m, REGION)->n_bound, 0);
	assert_int_equal(mem_entry(m, READ_ONLY)->n_bound, 1);

	/* No bytes: unbound, with a new key, and the rest of the request not looked at. */
	to = (struct mem_binding){7, 0, 0, UNUSED, 0, 0xff};
	assert_int_equal(mem_bind(m, WINDOW2, &to), 0);
	assert_int_equal(reach(m, UNUSED, 0x10800, 8), MEM_NO_KEY);
	assert_int_equal(mem_entry(m, UNUSED)->parent, 0);
	assert_int_equal(mem_entry(m, READ_ONLY)->n_bound, 0);
	assert_int_equal(mem_count(m), 8);
}

static void bad_bindings_are_refused(void **state)
{
	static const struct {
		uint32_t window;
		struct mem_binding to;
		int error;
	} rows[] = {
		{UNUSED, {0x10000, 8, REGION, UNUSED, QP, 0}, -ENOENT},
		{0, {0x10000, 8, REGION, UNUSED, QP, 0}, -ENOENT},
		{READ_ONLY, {0x10000, 8, REGION, READ_ONLY, QP, 0}, -ENOENT},
		{WINDOW1, {0x10000, 8, UNUSED, WINDOW1, QP, 0}, -ENOENT},
		{WINDOW1, {0x10000, 8, 0, WINDOW1, QP, 0}, -ENOENT},
		{WINDOW1, {0x10000, 8, WINDOW2, WINDOW1, QP, 0}, -ENOENT},
		{WINDOW1, {0x10000, 8, REGION, WINDOW2, QP, 0}, -EEXIST},
		{WINDOW1, {0x10000, 8, REGION, REGION, QP, 0}, -EEXIST},
		{WINDOW1, {0x10000, 8, REGION, 0, QP, 0}, -EEXIST},
		{WINDOW1, {0, 0, 0, 0, QP, 0}, -EEXIST},
		{WINDOW1, {0x10000, 8, OTHER_PD, WINDOW1, QP, 0}, -EACCES},
		{WINDOW1, {0x10000, 8, NO_BIND, WINDOW1, QP, 0}, -EACCES},
		{WINDOW1, {0x10000, 8, READ_ONLY, WINDOW1, QP, MEM_REMOTE_WRITE}, -EACCES},
		{WINDOW1, {0x10000, 8, READ_ONLY, WINDOW1, QP, MEM_REMOTE_ATOMIC}, -EACCES},
		{WINDOW1, {0x10000, 8, REGION, WINDOW1, QP, MEM_LOCAL_WRITE}, -EACCES},
		{WINDOW1, {0x10000, 8, REGION, WINDOW1, QP, MEM_BIND}, -EACCES},
		{WINDOW1, {0x10ff9, 8, REGION, WINDOW1, QP, 0}, -EINVAL},
		{WINDOW1, {0xffff, 8, REGION, WINDOW1, QP, 0}, -EINVAL},
		{WINDOW1, {0x10800, UINT64_MAX, REGION, WINDOW1, QP, 0}, -EINVAL},
	};
	struct mem *m = *state;

	assert_int_equal(bind(m, WINDOW1, VIRTUAL, WINDOW1, MEM_REMOTE_READ), 0);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (mem_bind(m, rows[i].window, &rows[i].to) != rows[i].error)
			fail_msg("row %zu", i);
		/* The binding it had is untouched. */
		assert_int_equal(reach(m, WINDOW1, 0x10100, 256), MEM_OK);
		assert_int_equal(mem_entry(m, VIRTUAL)->n_bound, 1);
		assert_int_equal(mem_count(m), 8);
	}
}

static void only_windows_of_type_2_are_invalidated(void **state)
{
	struct mem *m = *state;

	assert_int_equal(bind(m, WINDOW1, REGION, WINDOW1, MEM_REMOTE_READ), 0);
	assert_int_equal(bind(m, WINDOW2, REGION, WINDOW2, MEM_REMOTE_READ), 0);
	assert_int_equal(mem_invalidate(m, UNUSED, PD, QP), MEM_NO_KEY);
	assert_int_equal(mem_invalidate(m, 0, PD, QP), MEM_NO_KEY);
	assert_int_equal(mem_invalidate(m, REGION, PD, QP), MEM_NO_ACCESS);
	assert_int_equal(mem_invalidate(m, WINDOW1, PD, QP), MEM_NO_ACCESS);
	assert_int_equal(mem_invalidate(m, WINDOW2, PD + 1, QP), MEM_NO_DOMAIN);
	assert_int_equal(mem_invalidate(m, WINDOW2, PD, QP + 1), MEM_NO_DOMAIN);
	assert_int_equal(reach(m, WINDOW2, 0x10100, 1), MEM_OK);
	assert_int_equal(mem_entry(m, REGION)->n_bound, 2);

	assert_int_equal(mem_invalidate(m, WINDOW2, PD, QP), MEM_OK);
	assert_int_equal(reach(m, WINDOW2, 0x10100, 1), MEM_NO_KEY);
	assert_int_equal(mem_invalidate(m, WINDOW2, PD, QP), MEM_NO_KEY);
	assert_int_equal(mem_entry(m, REGION)->n_bound, 1);
	/* It still exists, and can be bound again. */
	assert_int_equal(bind(m, WINDOW2, REGION, UNUSED, MEM_REMOTE_READ), 0);
	assert_int_equal(reach(m, UNUSED, 0x10100, 1), MEM_OK);
}

static void a_region_stays_while_a_window_needs_it(void **state)
{
	struct mem *m = *state;

	assert_int_equal(bind(m, WINDOW1, REGION, WINDOW1, 0), 0);
	assert_int_equal(bind(m, WINDOW2, REGION, WINDOW2, 0), 0);
	assert_int_equal(mem_remove(m, REGION), -EBUSY);
	assert_int_equal(mem_invalidate(m, WINDOW2, PD, QP), MEM_OK);
	assert_int_equal(mem_remove(m, REGION), -EBUSY);
	assert_int_equal(reach(m, REGION, 0x10000, 1), MEM_OK);
	assert_int_equal(mem_remove(m, WINDOW1), 0);
	assert_int_equal(mem_remove(m, REGION), 0);
	assert_int_equal(mem_count(m), 6);
}

/* Every size, filled to the last entry and emptied in another order, with keys close together and
 * keys that differ in the upper bits only. */
static void a_full_table_finds_every_key(void **state)
{
	struct mem_entry e = {arena, 0, 1, 0, PD, 0, 0, 0, MEM_REGION, MEM_REMOTE_READ};

	(void)state;
	for (uint32_t max = 1; max <= 130; max++) {
		for (uint32_t spread = 0; spread < 32; spread += 8) {
			struct mem *m = new_table(max);

			for (uint32_t i = 1; i <= max; i++) {
				e.key = i << spread | i >> (31 - spread) >> 1;
				assert_int_equal(mem_add(m, &e), 0);
			}
			e.key = UINT32_MAX;
			assert_int_equal(mem_add(m, &e), -ENOSPC);
			assert_int_equal(mem_count(m), max);
			/* Odd places first, then the even ones. */
			for (uint32_t n = 0; n < max; n++) {
				uint32_t half = max / 2 + max % 2;
				uint32_t i = n < half ? 1 + 2 * n : 2 + 2 * (n - half);
				uint32_t key = i << spread | i >> (31 - spread) >> 1;

				assert_int_equal(reach(m, key, 0, 1), MEM_OK);
				assert_int_equal(mem_remove(m, key), 0);
				assert_int_equal(reach(m, key, 0, 1), MEM_NO_KEY);
			}
			assert_int_equal(mem_count(m), 0);
			free(m);
		}
	}
}

static void sizes_have_bounds(void **state)
{
	(void)state;
	assert_int_equal(mem_bytes(0), 0);
	assert_int_equal(mem_bytes(UINT32_MAX), 0);
	assert_int_equal(mem_bytes((UINT32_C(1) << 24) + 1), 0);
	assert_true(mem_bytes(UINT32_C(1) << 24) > 0);
	for (uint32_t max = 1; max < 5000; max++)
		assert_true(mem_bytes(max) >= 2 * max * sizeof(struct mem_entry));
}

static void memory_not_used_is_not_touched(void **state)
{
	const uint32_t max = UINT32_C(1) << 20, used = 50;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (mem_bytes(max) + page - 1) / page;
	void *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char *is_there = malloc(pages);
	struct mem_entry e = {arena, 0, 1, 0, PD, 0, 0, 0, MEM_REGION, MEM_REMOTE_READ};
	size_t touched = 0;
	struct prng p;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_non_null(is_there);
	assert_int_equal(madvise(memory, pages * page, MADV_NOHUGEPAGE), 0);
	struct mem *m = mem_init(memory, max);

	prng_init(&p, 1, 0);
	for (uint32_t i = 0; i < used; i++) {
		e.key = prng_u32(&p) | 1;
		assert_int_equal(mem_add(m, &e), 0);
	}
	assert_int_equal(mincore(memory, pages * page, is_there), 0);
	for (size_t i = 0; i < pages; i++)
		touched += is_there[i] & 1;
	assert_true(touched > used / 2);
	assert_true(touched <= 1 + 2 * used);
	free(is_there);
	munmap(memory, pages * page);
}

static void init_no_entries(void *context)
{
	mem_init(context, 0);
}

static void init_crooked(void *context)
{
	mem_init((uint8_t *)context + 4, 1);
}

static void mistakes_abort(void **state)
{
	assert_true(check_aborts(init_no_entries, *state));
	assert_true(check_aborts(init_crooked, *state));
}

/* The model: a list of entries in no order, searched from the start. */
#define MODEL_MAX 64u

struct model {
	struct mem_entry e[MODEL_MAX];
	uint32_t n, max;
};

static struct mem_entry *model_entry(struct model *o, uint32_t key)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->e[i].key == key)
			return &o->e[i];
	return NULL;
}

static bool model_inside(const struct mem_entry *e, uint64_t va, uint64_t len)
{
	return va >= e->iova && (u128)va + len <= (u128)e->iova + e->len;
}

static int model_add(struct model *o, const struct mem_entry *e)
{
	if ((u128)e->iova + e->len > (u128)1 << 64 ||
	    (u128)(uintptr_t)e->at + e->len > (u128)1 << 64)
		return -EINVAL;
	if (e->key == 0 || model_entry(o, e->key))
		return -EEXIST;
	if (o->n == o->max)
		return -ENOSPC;
	o->e[o->n] = *e;
	o->e[o->n].qp = MEM_ANY_QP;
	o->n++;
	return 0;
}

/* Counted anew each time. */
static uint32_t model_bound(const struct model *o, uint32_t key)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->n; i++)
		n += o->e[i].parent == key;
	return n;
}

static int model_remove(struct model *o, uint32_t key)
{
	struct mem_entry *e = model_entry(o, key);

	if (!e)
		return -ENOENT;
	if (model_bound(o, key) > 0)
		return -EBUSY;
	*e = o->e[--o->n];
	return 0;
}

static void model_unbind(struct mem_entry *w)
{
	*w = (struct mem_entry){.key = w->key, .pd = w->pd, .kind = w->kind, .qp = MEM_ANY_QP};
}

static int model_bind(struct model *o, uint32_t window, const struct mem_binding *to)
{
	struct mem_entry *w = model_entry(o, window), *r = model_entry(o, to->region);

	if (!w || w->kind == MEM_REGION)
		return -ENOENT;
	if (to->new_key == 0 || (model_entry(o, to->new_key) && to->new_key != window))
		return -EEXIST;
	if (to->len > 0) {
		if (!r || r->kind != MEM_REGION)
			return -ENOENT;
		if (r->pd != w->pd || !(r->access & MEM_BIND))
			return -EACCES;
		if (to->access & (MEM_BIND | MEM_LOCAL_WRITE))
			return -EACCES;
		if (!(r->access & MEM_LOCAL_WRITE) && to->access & ~MEM_REMOTE_READ)
			return -EACCES;
		if (!model_inside(r, to->va, to->len))
			return -EINVAL;
	}
	model_unbind(w);
	w->key = to->new_key;
	if (to->len == 0)
		return 0;
	w->at = r->at ? r->at + (to->va - r->iova) : NULL;
	w->iova = to->va;
	w->len = to->len;
	w->parent = r->key;
	w->access = to->access;
	if (w->kind == MEM_WINDOW_2)
		w->qp = to->qp;
	return 0;
}

static enum mem_fault model_invalidate(struct model *o, uint32_t key, uint32_t pd, uint32_t qp)
{
	struct mem_entry *w = model_entry(o, key);

	if (!w || (w->kind == MEM_WINDOW_2 && w->parent == 0))
		return MEM_NO_KEY;
	if (w->kind != MEM_WINDOW_2)
		return MEM_NO_ACCESS;
	if (w->pd != pd || w->qp != qp)
		return MEM_NO_DOMAIN;
	model_unbind(w);
	return MEM_OK;
}

static enum mem_fault model_find(struct model *o, const struct mem_want *want, uint8_t **at)
{
	const struct mem_entry *e = model_entry(o, want->key);

	*at = NULL;
	if (want->len == 0)
		return MEM_OK;
	if (!e || (e->kind != MEM_REGION && (want->is_local || e->len == 0)))
		return MEM_NO_KEY;
	if (e->pd != want->pd || (e->kind == MEM_WINDOW_2 && e->qp != want->qp))
		return MEM_NO_DOMAIN;
	if (!model_inside(e, want->va, want->len))
		return MEM_NO_RANGE;
	if (want->access & ~e->access)
		return MEM_NO_ACCESS;
	if (e->at)
		*at = e->at + (want->va - e->iova);
	return MEM_OK;
}

/* Few keys, so that most are known, in the bits that spread says. */
struct draw {
	struct prng p;
	uint32_t keys, spread;
};

static uint32_t draw_key(struct draw *d)
{
	uint32_t i = (uint32_t)prng_below(&d->p, d->keys + 1);

	return i << d->spread;
}

/* An address and length in or about [0x1000, 0x3000), or at the end of all addresses. */
static uint64_t draw_va(struct draw *d)
{
	uint64_t va = 0x1000 + prng_below(&d->p, 0x2000);

	return prng_chance(&d->p, 1, 4) ? va - 0x3000 : va;
}

static uint64_t draw_len(struct draw *d)
{
	switch (prng_below(&d->p, 16)) {
	case 0: return 0;
	case 1: return UINT64_MAX - prng_below(&d->p, 0x4000);
	case 2 ... 6: return prng_below(&d->p, 0x2000);
	default: return prng_below(&d->p, 0x80);
	}
}

/* Each right by that chance. */
static uint8_t draw_access(struct draw *d, uint32_t eighths)
{
	uint32_t access = 0;

	for (uint32_t bit = 1; bit <= ALL_ACCESS; bit *= 2)
		access |= prng_chance(&d->p, eighths, 8) ? bit : 0;
	return (uint8_t)access;
}

static void step_add(struct mem *m, struct model *o, struct draw *d)
{
	struct mem_entry e = {.key = draw_key(d), .pd = (uint32_t)prng_below(&d->p, 2)};

	e.kind = (uint8_t)prng_below(&d->p, 3);
	if (e.kind == MEM_REGION) {
		e.at = prng_chance(&d->p, 1, 8) ? NULL : arena + prng_below(&d->p, 4096);
		e.iova = draw_va(d);
		e.len = draw_len(d);
		e.access = draw_access(d, 6);
	}
	assert_int_equal(mem_add(m, &e), model_add(o, &e));
}

/* A region's own place, rights and domain, or a window's or nobody's key. */
static void step_change(struct mem *m, struct model *o, struct draw *d)
{
	struct mem_entry to = {.at = arena + prng_below(&d->p, 4096), .iova = draw_va(d)};
	struct mem_entry *e = model_entry(o, to.key = draw_key(d));
	int want = 0;

	to.len = draw_len(d);
	to.pd = (uint32_t)prng_below(&d->p, 2);
	to.access = draw_access(d, 6);
	to.qp = MEM_ANY_QP;
	if (!e || e->kind != MEM_REGION)
		want = -ENOENT;
	else if (model_bound(o, to.key) > 0)
		want = -EBUSY;
	else if ((u128)to.iova + to.len > (u128)1 << 64 ||
		 (u128)(uintptr_t)to.at + to.len > (u128)1 << 64)
		want = -EINVAL;
	else
		*e = to;
	assert_int_equal(mem_change(m, &to), want);
}

static void step_bind(struct mem *m, struct model *o, struct draw *d)
{
	uint32_t window = draw_key(d);
	bool same = prng_chance(&d->p, 1, 3);
	struct mem_binding to = {
		.va = draw_va(d),
		.len = draw_len(d),
		.region = draw_key(d),
		.new_key = same ? window : draw_key(d),
		.qp = (uint32_t)prng_below(&d->p, 2),
		.access = draw_access(d, 1),
	};
	const struct mem_entry *r = model_entry(o, to.region);

	if (r && prng_chance(&d->p, 1, 2)) {
		to.va = r->iova;
		to.len = prng_below(&d->p, 2) ? r->len : r->len / 2;
	}
	assert_int_equal(mem_bind(m, window, &to), model_bind(o, window, &to));
}

static void step_find(const struct mem *m, struct model *o, struct draw *d)
{
	struct mem_want want = {
		.va = draw_va(d),
		.len = draw_len(d),
		.key = draw_key(d),
		.pd = (uint32_t)prng_below(&d->p, 2),
		.qp = (uint32_t)prng_below(&d->p, 2),
		.access = draw_access(d, 2),
		.is_local = prng_chance(&d->p, 1, 8),
	};
	const struct mem_entry *e = model_entry(o, want.key);
	uint8_t *at, *want_at;

	/* Half of them at the edges of an entry. */
	if (e && prng_chance(&d->p, 1, 2)) {
		want.va = e->iova + prng_below(&d->p, 3) - 1;
		want.len = e->len + prng_below(&d->p, 3) - 1;
	}
	assert_int_equal(mem_find(m, &want, &at), model_find(o, &want, &want_at));
	assert_ptr_equal(at, want_at);
}

static void check_all(const struct mem *m, struct model *o, const struct draw *d)
{
	assert_int_equal(mem_count(m), o->n);
	for (uint32_t i = 0; i <= d->keys; i++) {
		const struct mem_entry *got = mem_entry(m, i << d->spread);
		const struct mem_entry *want = model_entry(o, i << d->spread);

		assert_int_equal(!got, !want);
		if (!want || !got)
			continue;
		assert_ptr_equal(got->at, want->at);
		assert_int_equal(got->iova, want->iova);
		assert_int_equal(got->len, want->len);
		assert_int_equal(got->key, want->key);
		assert_int_equal(got->pd, want->pd);
		assert_int_equal(got->qp, want->qp);
		assert_int_equal(got->parent, want->parent);
		assert_int_equal(got->kind, want->kind);
		assert_int_equal(got->access, want->access);
		assert_int_equal(got->n_bound, model_bound(o, got->key));
	}
}

static void step(struct mem *m, struct model *o, struct draw *d)
{
	uint32_t key = draw_key(d), pd = (uint32_t)prng_below(&d->p, 2);
	uint32_t qp = (uint32_t)prng_below(&d->p, 2);

	switch (prng_below(&d->p, 16)) {
	case 0 ... 3: step_add(m, o, d); break;
	case 4 ... 5: assert_int_equal(mem_remove(m, key), model_remove(o, key)); break;
	case 6 ... 8: step_bind(m, o, d); break;
	case 9:
		assert_int_equal(mem_invalidate(m, key, pd, qp), model_invalidate(o, key, pd, qp));
		break;
	case 10: step_change(m, o, d); break;
	default: step_find(m, o, d); break;
	}
}

static void random_changes_agree_with_model(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 8, 15, 16, 33, MODEL_MAX};
	uint64_t seed = check_seed(0x3e3);

	(void)state;
	for (uint32_t n = 0; n < 4 * sizeof sizes / sizeof sizes[0]; n++) {
		uint32_t max = sizes[n / 4];
		struct draw d = {.keys = max + max / 4 + 1, .spread = 8 * (n % 4)};
		struct model o = {.max = max};
		struct mem *m = new_table(max);

		prng_init(&d.p, seed, n);
		for (uint32_t i = 0; i < 20000; i++) {
			step(m, &o, &d);
			if (i % 16 == 0)
				check_all(m, &o, &d);
		}
		free(m);
	}
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static const struct CMUnitTest cases[] = {
	WITH_TABLE(each_want_gets_its_answer),
	WITH_TABLE(bad_entries_are_refused),
	WITH_TABLE(a_removed_key_finds_nothing),
	WITH_TABLE(a_window_opens_part_of_a_region),
	WITH_TABLE(a_window_of_type_2_is_of_one_queue_pair),
	WITH_TABLE(a_new_binding_ends_the_old_one),
	WITH_TABLE(bad_bindings_are_refused),
	WITH_TABLE(only_windows_of_type_2_are_invalidated),
	WITH_TABLE(a_region_stays_while_a_window_needs_it),
	cmocka_unit_test(a_full_table_finds_every_key),
	cmocka_unit_test(sizes_have_bounds),
	cmocka_unit_test(memory_not_used_is_not_touched),
	WITH_TABLE(mistakes_abort),
	cmocka_unit_test(random_changes_agree_with_model),
};

CHECK_MAIN(cases)
