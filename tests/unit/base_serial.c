#include "base/serial.h"

#include <string.h>

#include "base/prng.h"
#include "check.h"

/* Three numbers and a step, and all that the module can say of them. The facts are of one type, so
 * that two sets of them compare as bytes. */
struct ask {
	uint32_t a, b, c;
	int32_t step;
};

struct facts {
	int64_t next, prev, added, dist, diff;
	int64_t lt, le, gt, ge, eq, max, min, within;
};

#define FACTS(name)                                                              \
	static struct facts name##_facts(struct ask q)                           \
	{                                                                        \
		name a = name##_of(q.a), b = name##_of(q.b), c = name##_of(q.c); \
                                                                                 \
		return (struct facts){                                           \
			.next = name##_next(a).v,                                \
			.prev = name##_prev(a).v,                                \
			.added = name##_add(a, q.step).v,                        \
			.dist = name##_dist(a, b),                               \
			.diff = name##_diff(a, b),                               \
			.lt = name##_lt(a, b),                                   \
			.le = name##_le(a, b),                                   \
			.gt = name##_gt(a, b),                                   \
			.ge = name##_ge(a, b),                                   \
			.eq = name##_eq(a, b),                                   \
			.max = name##_max(a, b).v,                               \
			.min = name##_min(a, b).v,                               \
			.within = name##_within(c, a, b),                        \
		};                                                               \
	}

FACTS(psn16)
FACTS(psn24)
FACTS(psn32)

static const struct width {
	uint32_t bits;
	struct facts (*facts)(struct ask);
} widths[] = {{16, psn16_facts}, {24, psn24_facts}, {32, psn32_facts}};

static int64_t modulo(int64_t v, int64_t m)
{
	return (v % m + m) % m;
}

/* The same facts from whole numbers and remainders. */
static struct facts model(uint32_t bits, struct ask q)
{
	int64_t m = INT64_C(1) << bits, half = m / 2;
	int64_t a = modulo(q.a, m), b = modulo(q.b, m), c = modulo(q.c, m);
	int64_t ahead = modulo(b - a, m), behind = modulo(a - b, m);
	bool older = ahead > 0 && ahead<half, newer = behind> 0 && behind < half;

	return (struct facts){
		.next = modulo(a + 1, m),
		.prev = modulo(a - 1, m),
		.added = modulo(a + q.step, m),
		.dist = ahead,
		.diff = behind < half ? behind : behind - m,
		.lt = older,
		.le = older || a == b,
		.gt = newer,
		.ge = newer || a == b,
		.eq = a == b,
		.max = older ? b : a,
		.min = newer ? b : a,
		.within = modulo(c - a, m) < ahead,
	};
}

static void agree(const struct width *w, struct ask q)
{
	struct facts got = w->facts(q), want = model(w->bits, q);

	if (memcmp(&got, &want, sizeof got) != 0)
		fail_msg("%u bits: a %#x, b %#x, c %#x, step %d", w->bits, q.a, q.b, q.c, q.step);
}

static void every_16_bit_number_agrees_with_model(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0x5e21a1), 0);
	for (uint32_t a = 0; a < 0x10000; a++) {
		for (uint32_t b = 0; b < 0x10000; b += 0x4000)
			for (uint32_t near = 0; near < 3; near++)
				agree(&widths[0],
				      (struct ask){a, a + b + near - 1, a + near, -(int32_t)b});
		for (uint32_t i = 0; i < 20; i++) {
			uint64_t r = prng_u64(&p);

			agree(&widths[0], (struct ask){a, (uint32_t)r, (uint32_t)(r >> 16),
						       (int32_t)(r >> 32)});
		}
	}
}

/* Numbers near each other, near half the range apart, and near the wrap, come up often. */
static uint32_t draw(struct prng *p, uint32_t around, uint32_t bits)
{
	uint32_t little = (uint32_t)prng_below(p, 7) - 3;

	switch (prng_below(p, 5)) {
	case 0: return around + little;
	case 1: return around + (UINT32_C(1) << (bits - 1)) + little;
	case 2: return little;
	default: return prng_u32(p);
	}
}

static void random_numbers_agree_with_model(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0x5e21a2), 0);
	for (uint32_t i = 0; i < 3000000; i++) {
		const struct width *w = &widths[i % 3];
		struct ask q;

		q.a = draw(&p, 0, w->bits);
		q.b = draw(&p, q.a, w->bits);
		q.c = draw(&p, prng_chance(&p, 1, 2) ? q.a : q.b, w->bits);
		q.step = (int32_t)draw(&p, 0, w->bits);
		agree(w, q);
	}
}

/* Walks the whole ring step by step: the model is a counter. */
static void a_walk_round_the_ring_comes_home(void **state)
{
	static const uint32_t homes[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x1234};

	(void)state;
	for (uint32_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
		psn16 home = psn16_of(homes[i]), at = home;

		for (uint32_t steps = 0; steps < 0x10000; steps++) {
			assert_int_equal(psn16_dist(home, at), steps);
			assert_int_equal(psn16_lt(home, at), steps > 0 && steps < 0x8000);
			assert_int_equal(psn16_gt(home, at), steps > 0x8000);
			assert_true(psn16_eq(psn16_prev(psn16_next(at)), at));
			at = psn16_next(at);
		}
		assert_true(psn16_eq(at, home));
	}
}

static void half_the_range_has_no_order(void **state)
{
	psn24 a = psn24_of(5), b = psn24_of(0x800005);

	(void)state;
	assert_false(psn24_lt(a, b) || psn24_le(a, b) || psn24_gt(a, b) || psn24_ge(a, b));
	assert_false(psn24_lt(b, a) || psn24_le(b, a) || psn24_gt(b, a) || psn24_ge(b, a));
	assert_int_equal(psn24_diff(a, b), -0x800000);
	assert_int_equal(psn24_diff(b, a), -0x800000);
	assert_int_equal(psn24_max(a, b).v, a.v);
	assert_int_equal(psn24_max(b, a).v, b.v);
	assert_int_equal(psn24_min(a, b).v, a.v);
	assert_int_equal(psn24_min(b, a).v, b.v);
	assert_int_equal(psn32_diff(psn32_of(1), psn32_of(0x80000001)), INT32_MIN);
	assert_int_equal(psn16_diff(psn16_of(0x8000), psn16_of(0)), -0x8000);
}

/* A 32-bit number and a signed 16-bit offset, as an MRC acknowledgement carries them. */
static void signed_offsets_wrap(void **state)
{
	static const struct {
		uint32_t base;
		uint16_t offset;
		uint32_t sum;
	} vectors[] = {
		{0x62231120, 0x0024, 0x62231144},
		{0x62231120, 0xFFDC, 0x622310FC},
		{0xFFFFFFF3, 0x0010, 0x00000003},
		{0x00000079, 0xFEE2, 0xFFFFFF5B},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
		psn32 base = psn32_of(vectors[i].base), sum = psn32_of(vectors[i].sum);
		int16_t offset = (int16_t)vectors[i].offset;

		assert_int_equal(psn32_add(base, offset).v, sum.v);
		assert_int_equal(psn32_diff(sum, base), offset);
	}
}

static void ranges_are_half_open(void **state)
{
	psn24 from = psn24_of(0xfffffe), end = psn24_of(2);

	(void)state;
	assert_true(psn24_within(from, from, end));
	assert_true(psn24_within(psn24_of(0), from, end));
	assert_true(psn24_within(psn24_of(1), from, end));
	assert_false(psn24_within(end, from, end));
	assert_false(psn24_within(psn24_of(0xfffffd), from, end));
	assert_false(psn24_within(from, from, from));
	/* All numbers but one. */
	assert_true(psn24_within(psn24_of(0x800000), end, psn24_prev(end)));
	assert_false(psn24_within(psn24_prev(end), end, psn24_prev(end)));
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_16_bit_number_agrees_with_model),
	cmocka_unit_test(random_numbers_agree_with_model),
	cmocka_unit_test(a_walk_round_the_ring_comes_home),
	cmocka_unit_test(half_the_range_has_no_order),
	cmocka_unit_test(signed_offsets_wrap),
	cmocka_unit_test(ranges_are_half_open),
};

CHECK_MAIN(cases)
