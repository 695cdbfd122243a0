/* Every way to compute the CRCs that this CPU can run, against published answers and against a
 * model that shifts one bit at a time. */
#include "base/crc32.h"
#include "base/prng.h"
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEN_MAX    1100u
#define ALIGNS     16u
#define BIG        ((size_t)1 << 20)
#define RANDOM_OPS 1000000u
#define GUARD      32u
#define GUARD_BYTE 0xa5

/* One polynomial: how the model divides by it, and the functions under test. */
struct poly {
	const char *name;
	uint32_t reflected;
	uint32_t (*update)(uint32_t crc, const void *data, size_t n);
	uint32_t (*copy)(uint32_t crc, void *dst, const void *src, size_t n);
	uint32_t (*zeros)(uint32_t crc, size_t n);
	uint32_t (*combine)(uint32_t crc_a, uint32_t crc_b, size_t len_b);
};

static const struct poly polys[2] = {
	{"crc32", 0xedb88320, crc32_update, crc32_copy, crc32_zeros, crc32_combine},
	{"crc32c", 0x82f63b78, crc32c_update, crc32c_copy, crc32c_zeros, crc32c_combine},
};

static uint32_t impl_update(const struct crc_impl *m, const struct poly *p, uint32_t crc,
			    const void *data, size_t n)
{
	return p == &polys[0] ? m->crc32(crc, data, n) : m->crc32c(crc, data, n);
}

static uint32_t impl_copy(const struct crc_impl *m, const struct poly *p, uint32_t crc, void *dst,
			  const void *src, size_t n)
{
	return p == &polys[0] ? m->crc32_copy(crc, dst, src, n) : m->crc32c_copy(crc, dst, src, n);
}

static uint32_t model(const struct poly *p, uint32_t crc, const uint8_t *data, size_t n)
{
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? p->reflected : 0);
	}
	return ~crc;
}

static struct prng seeded(uint64_t seed)
{
	struct prng rng;

	prng_init(&rng, check_seed(seed), 0);
	return rng;
}

static uint8_t *bytes_new(size_t n)
{
	uint8_t *at = malloc(n);

	assert_non_null(at);
	return at;
}

/* Where a comparison was made, for the message when it fails. */
struct where {
	const char *what, *impl;
	size_t len, align;
};

static void same(uint32_t got, uint32_t want, struct where w)
{
	if (got != want)
		fail_msg("%s by %s, %zu bytes, alignment %zu: 0x%08x, not 0x%08x", w.what, w.impl,
			 w.len, w.align, got, want);
}

static void guard_set(uint8_t *dst, size_t n)
{
	memset(dst - GUARD, GUARD_BYTE, n + 2 * GUARD);
}

/* dst[0..n) is src, and the guards on both sides are as guard_set left them. */
static void guard_check(const uint8_t *dst, const uint8_t *src, size_t n, struct where w)
{
	bool intact = memcmp(dst, src, n) == 0;

	for (size_t i = 0; i < GUARD; i++)
		intact &= dst[-1 - (ptrdiff_t)i] == GUARD_BYTE && dst[n + i] == GUARD_BYTE;
	if (!intact)
		fail_msg("copy of %s by %s, %zu bytes, alignment %zu: wrong bytes", w.what, w.impl,
			 w.len, w.align);
}

struct known {
	uint8_t bytes[48];
	size_t n;
	uint32_t crc32, crc32c;
};

/* CRC-32C: RFC 3720 B.4, and the check value. CRC-32: the check value, and zlib. */
static const struct known knowns[] = {
	{"", 0, 0, 0},
	{"123456789", 9, 0xcbf43926, 0xe3069283},
	{{0}, 32, 0x190a55ad, 0x8a9136aa},
	{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	 32,
	 0xff6cab0b,
	 0x62a8ab43},
	{{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
	  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
	 32,
	 0x91267e8a,
	 0x46dd794e},
	{{31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
	  15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0},
	 32,
	 0x9ab0ef72,
	 0x113fdb5c},
	{{[0] = 0x01,
	  [1] = 0xc0,
	  [16] = 0x14,
	  [22] = 0x04,
	  [27] = 0x14,
	  [31] = 0x18,
	  [32] = 0x28,
	  [40] = 0x02},
	 48,
	 0x51e17412,
	 0xd9963a56},
};

static void known_answers(void **state)
{
	const struct crc_impl *m;

	(void)state;
	for (size_t i = 0; i < sizeof knowns / sizeof knowns[0]; i++) {
		const struct known *k = &knowns[i];

		for (const struct poly *p = polys; p < polys + 2; p++) {
			const uint32_t want = p == &polys[0] ? k->crc32 : k->crc32c;

			same(p->update(0, k->bytes, k->n), want,
			     (struct where){p->name, "best", k->n, 0});
			same(model(p, 0, k->bytes, k->n), want,
			     (struct where){p->name, "model", k->n, 0});
			for (size_t j = 0; (m = crc_impl_at(j)) != NULL; j++)
				same(impl_update(m, p, 0, k->bytes, k->n), want,
				     (struct where){p->name, m->name, k->n, 0});
		}
	}
}

static void empty_changes_nothing(void **state)
{
	const struct crc_impl *m;

	(void)state;
	for (const struct poly *p = polys; p < polys + 2; p++) {
		for (size_t i = 0; (m = crc_impl_at(i)) != NULL; i++) {
			assert_int_equal(impl_update(m, p, 0x12345678, NULL, 0), 0x12345678);
			assert_int_equal(impl_copy(m, p, 0x12345678, NULL, NULL, 0), 0x12345678);
		}
		assert_int_equal(p->zeros(0x12345678, 0), 0x12345678);
		assert_int_equal(p->combine(0x12345678, 0, 0), 0x12345678);
		assert_int_equal(p->combine(0, 0x12345678, 77), 0x12345678);
	}
}

static void implementations_are_listed(void **state)
{
	const struct crc_impl *m, *last = NULL;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; (m = crc_impl_at(i)) != NULL; i++) {
		printf("%s\n", m->name);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(m->name, crc_impl_at(j)->name);
		last = m;
		n = i + 1;
	}
	assert_ptr_equal(last, &crc_impl_table);
	assert_null(crc_impl_at(n));
	assert_null(crc_impl_at(SIZE_MAX));
}

/* Every length and alignment; the model runs over each alignment once and is met at each length. */
static void every_length_and_alignment(void **state)
{
	struct prng rng = seeded(0x0c4c32);
	uint8_t *src = bytes_new(LEN_MAX + ALIGNS);
	uint8_t *room = bytes_new(LEN_MAX + ALIGNS + 2 * GUARD);
	const struct crc_impl *m;

	(void)state;
	prng_fill(&rng, src, LEN_MAX + ALIGNS);
	for (const struct poly *p = polys; p < polys + 2; p++)
		for (size_t align = 0; align < ALIGNS; align++) {
			const uint32_t start = (uint32_t)prng_u64(&rng);
			uint32_t want = start;

			for (size_t n = 0; n <= LEN_MAX;
			     want = model(p, want, src + align + n, 1), n++)
				for (size_t i = 0; (m = crc_impl_at(i)) != NULL; i++) {
					const struct where w = {p->name, m->name, n, align};
					uint8_t *dst = room + GUARD + prng_below(&rng, ALIGNS);

					same(impl_update(m, p, start, src + align, n), want, w);
					guard_set(dst, n);
					same(impl_copy(m, p, start, dst, src + align, n), want, w);
					guard_check(dst, src + align, n, w);
				}
		}
	free(room);
	free(src);
}

/* Sizes to 1 MiB: random, and within a few bytes of whole turns of the wide code. */
static void large_sizes(void **state)
{
	struct prng rng = seeded(0x1a49e);
	uint8_t *src = bytes_new(BIG), *room = bytes_new(BIG + ALIGNS + 2 * GUARD);
	uint32_t *prefix = malloc((BIG + 1) * sizeof *prefix);
	const struct crc_impl *m;

	(void)state;
	assert_non_null(prefix);
	prng_fill(&rng, src, BIG);
	for (const struct poly *p = polys; p < polys + 2; p++)
		for (size_t align = 0; align < ALIGNS; align += 5) {
			prefix[0] = 0;
			for (size_t n = 0; n < BIG - align; n++)
				prefix[n + 1] = model(p, prefix[n], src + align + n, 1);
			for (int round = 0; round < 60; round++) {
				size_t n = round % 2 ? prng_below(&rng, BIG - align)
						     : (1 + prng_below(&rng, 4000)) * 256 +
							       prng_below(&rng, 7) - 3;

				for (size_t i = 0; (m = crc_impl_at(i)) != NULL; i++) {
					const struct where w = {p->name, m->name, n, align};
					uint8_t *dst = room + GUARD + prng_below(&rng, ALIGNS);

					same(impl_update(m, p, 0, src + align, n), prefix[n], w);
					guard_set(dst, n);
					same(impl_copy(m, p, 0, dst, src + align, n), prefix[n], w);
					guard_check(dst, src + align, n, w);
				}
			}
		}
	free(prefix);
	free(room);
	free(src);
}

/* Bytes that end, or begin, at a page that cannot be read or written. */
static void stays_inside_its_bytes(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *map =
		mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *src = map + page, *dst = map + 3 * page;
	const struct crc_impl *m;

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	for (size_t hole = 0; hole < 5; hole += 2)
		assert_int_equal(mprotect(map + hole * page, page, PROT_NONE), 0);
	for (size_t i = 0; i < page; i++)
		src[i] = (uint8_t)(i * 7 ^ i >> 3);
	for (const struct poly *p = polys; p < polys + 2; p++)
		for (size_t n = 0; n <= LEN_MAX; n++) {
			const uint32_t head = model(p, 0, src, n);
			const uint32_t tail = model(p, 0, src + page - n, n);

			for (size_t i = 0; (m = crc_impl_at(i)) != NULL; i++) {
				const struct where w = {p->name, m->name, n, 0};

				same(impl_update(m, p, 0, src, n), head, w);
				same(impl_update(m, p, 0, src + page - n, n), tail, w);
				same(impl_copy(m, p, 0, dst, src, n), head, w);
				same(impl_copy(m, p, 0, dst + page - n, src + page - n, n), tail,
				     w);
				assert_memory_equal(dst + page - n, src + page - n, n);
			}
		}
	assert_int_equal(munmap(map, 5 * page), 0);
}

/* However a message is cut, the pieces give the whole, whichever implementations take them. */
static void chunking_does_not_matter(void **state)
{
	struct prng rng = seeded(0xc407);
	uint8_t *src = bytes_new(20000);
	const struct crc_impl *m;
	size_t n_impls = 1;

	(void)state;
	for (size_t i = 0; (m = crc_impl_at(i)) != NULL; i++)
		n_impls = i + 1;
	prng_fill(&rng, src, 20000);
	for (const struct poly *p = polys; p < polys + 2; p++)
		for (int round = 0; round < 200; round++) {
			const size_t n = prng_below(&rng, 20000);
			uint32_t crc = 0;

			for (size_t at = 0, piece; at < n; at += piece) {
				piece = 1 + prng_below(&rng, n - at);
				if (prng_u64(&rng) & 1 && piece > 700)
					piece = 700 - prng_below(&rng, 700);
				m = crc_impl_at(prng_below(&rng, n_impls));
				crc = impl_update(m, p, crc, src + at, piece);
			}
			same(crc, p->update(0, src, n), (struct where){p->name, "pieces", n, 0});
		}
	free(src);
}

static void zeros_are_zero_bytes(void **state)
{
	static const uint8_t nought[5000];
	struct prng rng = seeded(0x2e05);

	(void)state;
	for (const struct poly *p = polys; p < polys + 2; p++) {
		const uint32_t start = (uint32_t)prng_u64(&rng);
		uint32_t want = start;

		for (size_t n = 0; n < sizeof nought; n++) {
			same(p->zeros(start, n), want, (struct where){p->name, "zeros", n, 0});
			want = model(p, want, nought, 1);
		}
	}
}

/* No machine can check 2^40 bytes one at a time, but one byte can be doubled: zeros(a + b) is
 * zeros(a) then zeros(b), from a single real byte up to the largest size_t. */
static void zeros_of_any_length(void **state)
{
	static const uint8_t nought[1];
	const size_t top = (size_t)1 << (sizeof top * 8 - 1);
	struct prng rng = seeded(0x2e50);

	(void)state;
	for (const struct poly *p = polys; p < polys + 2; p++) {
		const uint32_t start = (uint32_t)prng_u64(&rng);

		assert_int_equal(p->zeros(start, 1), model(p, start, nought, 1));
		for (size_t n = 2; n; n = n == top ? 0 : n * 2)
			same(p->zeros(start, n), p->zeros(p->zeros(start, n / 2), n / 2),
			     (struct where){p->name, "doubled zeros", n, 0});
		for (int round = 0; round < 2000; round++) {
			const size_t a = prng_below(&rng, (size_t)1 << 40),
				     b = prng_below(&rng, (size_t)1 << 40);
			const uint32_t crc = (uint32_t)prng_u64(&rng), whole = p->zeros(crc, a + b);

			same(p->zeros(p->zeros(crc, a), b), whole,
			     (struct where){p->name, "split zeros", a + b, 0});
			same(p->combine(crc, p->zeros(0, a + b), a + b), whole,
			     (struct where){p->name, "combined zeros", a + b, 0});
		}
	}
}

static void combine_is_concatenation(void **state)
{
	struct prng rng = seeded(0xc03b);
	uint8_t *src = bytes_new(4096);

	(void)state;
	prng_fill(&rng, src, 4096);
	for (const struct poly *p = polys; p < polys + 2; p++) {
		for (int round = 0; round < 2000; round++) {
			const size_t n = prng_below(&rng, 4097), cut = prng_below(&rng, n + 1);
			const uint32_t a = p->update(0, src, cut),
				       b = p->update(0, src + cut, n - cut);

			same(p->combine(a, b, n - cut), p->update(0, src, n),
			     (struct where){p->name, "combine", n, cut});
		}
		/* Which pair is joined first does not matter, at lengths no buffer has. */
		for (int round = 0; round < 2000; round++) {
			const uint32_t a = (uint32_t)prng_u64(&rng), b = (uint32_t)prng_u64(&rng),
				       c = (uint32_t)prng_u64(&rng);
			const size_t lb = prng_below(&rng, (size_t)1 << 40),
				     lc = prng_below(&rng, (size_t)1 << 40);

			same(p->combine(p->combine(a, b, lb), c, lc),
			     p->combine(a, p->combine(b, c, lc), lb + lc),
			     (struct where){p->name, "three-way combine", lb, 0});
		}
	}
	free(src);
}

/* Mostly the lengths of headers, now and then of a packet. */
static size_t small_length(struct prng *rng)
{
	const uint64_t kind = prng_u64(rng) % 64;

	return prng_below(rng, kind == 0 ? LEN_MAX : kind < 8 ? 301 : 81);
}

/* One random operation that extends the message behind crc by n bytes at src, or n zeros. */
static uint32_t random_op(struct prng *rng, const struct poly *p, uint32_t crc, uint8_t *src,
			  uint8_t *dst, size_t n)
{
	const struct crc_impl *m = crc_impl_at(prng_below(rng, 3));
	const size_t cut = prng_below(rng, n + 1);
	struct where w = {p->name, "best", n, 0};

	switch (prng_u64(rng) % 6) {
	case 0: return p->update(crc, src, n);
	case 1: return p->update(p->update(crc, src, cut), src + cut, n - cut);
	case 2:
		return p->combine(p->combine(crc, p->update(0, src, cut), cut),
				  p->update(0, src + cut, n - cut), n - cut);
	case 3: memset(src, 0, n); return p->zeros(crc, n);
	case 4:
		guard_set(dst, n);
		crc = p->copy(crc, dst, src, n);
		guard_check(dst, src, n, w);
		return crc;
	default: return impl_update(m ? m : &crc_impl_table, p, crc, src, n);
	}
}

static void a_million_operations(void **state)
{
	struct prng rng = seeded(0x3117107);
	uint8_t *src = bytes_new(LEN_MAX + ALIGNS);
	uint8_t *room = bytes_new(LEN_MAX + ALIGNS + 2 * GUARD);
	uint32_t crc[2] = {0, 0}, want[2] = {0, 0};

	(void)state;
	prng_fill(&rng, src, LEN_MAX + ALIGNS);
	for (unsigned op = 0; op < RANDOM_OPS; op++) {
		const size_t which = prng_below(&rng, 2), n = small_length(&rng);
		uint8_t *from = src + prng_below(&rng, ALIGNS),
			*to = room + GUARD + prng_below(&rng, ALIGNS);
		const struct poly *p = &polys[which];

		/* A zeros operation blanks bytes: keep the pool lively. */
		prng_fill(&rng, src + prng_below(&rng, LEN_MAX), 8);
		crc[which] = random_op(&rng, p, crc[which], from, to, n);
		want[which] = model(p, want[which], from, n);
		if (crc[which] != want[which])
			fail_msg("operation %u: %s of %zu bytes", op, p->name, n);
	}
	free(room);
	free(src);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(known_answers),
	cmocka_unit_test(empty_changes_nothing),
	cmocka_unit_test(implementations_are_listed),
	cmocka_unit_test(every_length_and_alignment),
	cmocka_unit_test(large_sizes),
	cmocka_unit_test(stays_inside_its_bytes),
	cmocka_unit_test(chunking_does_not_matter),
	cmocka_unit_test(zeros_are_zero_bytes),
	cmocka_unit_test(zeros_of_any_length),
	cmocka_unit_test(combine_is_concatenation),
	cmocka_unit_test(a_million_operations),
};

CHECK_MAIN(cases)
