/* base/span.h against a model in 64-bit arithmetic, where nothing can overflow; base/bytes.h
 * against single bytes, at every alignment. */
#include "base/bytes.h"
#include "base/prng.h"
#include "base/span.h"
#include "check.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

/* What is left: bytes first..end of base. */
struct model {
	const uint8_t *base;
	uint64_t first, end;
};

/* Lengths that fit, that just fit, that just do not, and those whose sum with anything wraps. */
static uint32_t any_length(struct prng *pick, const struct model *m)
{
	uint32_t left = (uint32_t)(m->end - m->first);

	switch (prng_below(pick, 8)) {
	case 0: return left;
	case 1: return left + 1;
	case 2: return (uint32_t)prng_range(pick, UINT32_MAX - 40, UINT32_MAX);
	case 3:
		/* The position plus this is 0, or just around it, modulo 2^32. */
		return (uint32_t)(0 - m->first + prng_below(pick, 5) - 2);
	case 4: return prng_u32(pick);
	default: return (uint32_t)prng_below(pick, (uint64_t)left / 4 + 2);
	}
}

static void check_same(const struct cursor *c, const struct model *m)
{
	struct cspan rest = cursor_rest(c);

	assert_true(cursor_left(c) == m->end - m->first);
	assert_ptr_equal(rest.at, m->base + m->first);
	assert_true(rest.len == m->end - m->first);
}

static void one_op(struct cursor *c, struct model *m, struct prng *pick)
{
	uint32_t n = any_length(pick, m);
	bool fits = n <= m->end - m->first;
	const uint8_t *want = fits ? m->base + m->first : NULL;

	switch (prng_below(pick, 4)) {
	case 0: assert_ptr_equal(peek(c, n), want); break;
	case 1:
		assert_int_equal(cursor_trim(c, n), fits);
		if (fits)
			m->end -= n;
		break;
	default:
		assert_ptr_equal(take(c, n), want);
		if (fits)
			m->first += n;
	}
	check_same(c, m);
}

static void run_model(const uint8_t *base, uint32_t len_max, uint32_t ops, struct prng *pick)
{
	struct cursor c = cursor_of((struct cspan){base, 0});
	struct model m = {base, 0, 0};

	for (uint32_t op = 0; op < ops; op++) {
		if (m.first == m.end || prng_chance(pick, 1, 16)) {
			m.first = 0;
			m.end = prng_range(pick, prng_chance(pick, 1, 4) ? len_max : 0, len_max);
			c = cursor_of((struct cspan){base, (uint32_t)m.end});
			check_same(&c, &m);
		}
		one_op(&c, &m, pick);
	}
}

static void cursor_matches_model(void **state)
{
	static const uint8_t packet[9000];
	struct prng pick;

	(void)state;
	prng_init(&pick, check_seed(6), 0);
	run_model(packet, 64, 600000, &pick);
	run_model(packet, sizeof packet, 600000, &pick);
}

/* The longest span there is. Address space only: no page of it is ever read. */
static void longest_span_matches_model(void **state)
{
	void *space = mmap(NULL, (size_t)UINT32_MAX + 1, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct prng pick;

	(void)state;
	assert_ptr_not_equal(space, MAP_FAILED);
	prng_init(&pick, check_seed(7), 0);
	run_model(space, UINT32_MAX, 300000, &pick);
	assert_int_equal(munmap(space, (size_t)UINT32_MAX + 1), 0);
}

static void short_take_stays_and_exact_take_ends(void **state)
{
	static const uint8_t packet[12];

	(void)state;
	for (uint32_t at = 0; at <= sizeof packet; at++) {
		struct cursor c = cursor_of((struct cspan){packet, sizeof packet});
		uint32_t left = (uint32_t)sizeof packet - at;

		assert_ptr_equal(take(&c, at), packet);
		assert_null(take(&c, left + 1));
		assert_null(take(&c, UINT32_MAX));
		/* With the position this sums to exactly 2^32. */
		assert_true(at == 0 || take(&c, UINT32_MAX - at + 1) == NULL);
		assert_null(peek(&c, left + 1));
		assert_null(peek(&c, UINT32_MAX));
		assert_false(cursor_trim(&c, left + 1));
		assert_false(cursor_trim(&c, UINT32_MAX));
		assert_int_equal(cursor_left(&c), left);
		assert_ptr_equal(peek(&c, left), packet + at);
		assert_ptr_equal(take(&c, left), packet + at);
		assert_int_equal(cursor_left(&c), 0);
		assert_ptr_equal(take(&c, 0), packet + sizeof packet);
		assert_null(take(&c, 1));
	}
}

static void trim_hides_the_tail(void **state)
{
	static const uint8_t packet[12];
	struct cursor c = cursor_of((struct cspan){packet, sizeof packet});

	(void)state;
	assert_ptr_equal(take(&c, 4), packet);
	assert_true(cursor_trim(&c, 4));
	assert_null(take(&c, 5));
	assert_ptr_equal(cursor_rest(&c).at, packet + 4);
	assert_int_equal(cursor_rest(&c).len, 4);
	assert_true(cursor_trim(&c, 4));
	assert_false(cursor_trim(&c, 1));
	assert_null(peek(&c, 1));
}

#define ALIGNS 16u

struct width {
	unsigned bytes;
	uint64_t (*get)(const uint8_t *);
	void (*put)(uint8_t *, uint64_t);
};

static uint64_t get16(const uint8_t *p)
{
	return get_be16(p);
}

static uint64_t get24(const uint8_t *p)
{
	return get_be24(p);
}

static uint64_t get32(const uint8_t *p)
{
	return get_be32(p);
}

static uint64_t get64(const uint8_t *p)
{
	return get_be64(p);
}

static void put16(uint8_t *p, uint64_t v)
{
	put_be16(p, (uint16_t)v);
}

static void put24(uint8_t *p, uint64_t v)
{
	put_be24(p, (uint32_t)v);
}

static void put32(uint8_t *p, uint64_t v)
{
	put_be32(p, (uint32_t)v);
}

static void put64(uint8_t *p, uint64_t v)
{
	put_be64(p, v);
}

static const struct width widths[] = {
	{2, get16, put16},
	{3, get24, put24},
	{4, get32, put32},
	{8, get64, put64},
};

static void check_width(const struct width *w, unsigned align, uint64_t v)
{
	_Alignas(ALIGNS) uint8_t got[ALIGNS + 16], want[ALIGNS + 16];
	uint64_t low = w->bytes == 8 ? v : v & ((UINT64_C(1) << 8 * w->bytes) - 1);

	memset(got, 0xa5, sizeof got);
	memset(want, 0xa5, sizeof want);
	for (unsigned i = 0; i < w->bytes; i++)
		want[align + i] = (uint8_t)(v >> 8 * (w->bytes - 1 - i));
	w->put(got + align, v);
	assert_memory_equal(got, want, sizeof got);
	assert_true(w->get(want + align) == low);
}

static void numbers_pass_at_every_alignment(void **state)
{
	static const uint64_t edges[] = {
		0,         1,          0x80,       0xff,       0x7fff,
		0xffff,    0x10000,    0x7fffff,   0x800000,   0xffffff,
		0x1000000, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_C(0x7fffffffffffffff),
		UINT64_MAX};
	struct prng pick;

	(void)state;
	prng_init(&pick, check_seed(8), 0);
	for (unsigned align = 0; align < ALIGNS; align++)
		for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
			for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
				check_width(&widths[w], align, edges[i]);
			for (int i = 0; i < 16000; i++)
				check_width(&widths[w], align, prng_u64(&pick));
		}
}

static void first_byte_is_the_highest(void **state)
{
	static const uint8_t b[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};

	(void)state;
	assert_int_equal(get_be16(b), 0x0123);
	assert_int_equal(get_be24(b), 0x012345);
	assert_int_equal(get_be32(b), 0x01234567);
	assert_true(get_be64(b) == UINT64_C(0x0123456789abcdef));
}

static void read_virtual_bytes(void *context)
{
	struct cursor c = cursor_of((struct cspan){NULL, 4});

	(void)context;
	take(&c, 1);
}

/* No bytes at all are an ordinary, empty packet; virtual ones cannot be read. */
static void empty_and_virtual_spans(void **state)
{
	struct cursor c = cursor_of((struct cspan){NULL, 0});

	(void)state;
	assert_non_null(take(&c, 0));
	assert_null(take(&c, 1));
	assert_null(peek(&c, 1));
	assert_int_equal(cursor_rest(&c).len, 0);
	assert_true(check_aborts(read_virtual_bytes, NULL));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(cursor_matches_model),
	cmocka_unit_test(longest_span_matches_model),
	cmocka_unit_test(short_take_stays_and_exact_take_ends),
	cmocka_unit_test(trim_hides_the_tail),
	cmocka_unit_test(empty_and_virtual_spans),
	cmocka_unit_test(numbers_pass_at_every_alignment),
	cmocka_unit_test(first_byte_is_the_highest),
};

CHECK_MAIN(cases)
