/* CRC by x86-64 instructions: folding with carry-less multiplication (PCLMULQDQ), and for CRC-32C
 * also SSE4.2's crc32, which knows that polynomial only.
 *
 * CRC-32 folds four 16-byte accumulators, 64 bytes a turn; where VPCLMULQDQ multiplies two pairs at
 * once, four of 32 bytes, 128 a turn. CRC-32C uses both kinds of instruction at once, each on half
 * of the bytes, 256 a turn:
 *
 *     line 0: crc32   line 1: PCLMULQDQ   line 2: crc32   line 3: PCLMULQDQ
 *
 * Its accumulators fold over the distance of a turn as if lines 0 and 2 were zero. What such a line
 * amounts to is a 32-bit register, which belongs, as the register of a running CRC does, to the
 * next four bytes: it is added to the first accumulator of the line that follows. */
#include "base/crc32.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define TARGET      __attribute__((target("sse4.2,pclmul")))
#define INLINE      static inline __attribute__((always_inline)) TARGET
#define WIDE        __attribute__((target("avx2,sse4.2,pclmul,vpclmulqdq")))
#define WIDE_INLINE static inline __attribute__((always_inline)) WIDE
#define TURN_FOLD   ((size_t)64)
#define TURN_WIDE   ((size_t)128)
#define TURN_BOTH   ((size_t)256)

/* To move a 16-byte accumulator d bytes on, its low half is multiplied by x^(8d + 31) and its high
 * half by x^(8d - 33): the halves lie 64 bits apart, and a reflected product of a 64-bit and a
 * 32-bit number is 33 places off. */
struct factors {
	uint64_t lo, hi;
};

static const struct factors crc32_by_128 = {0x33fff533, 0x910eeec1};
static const struct factors crc32_by_64 = {0x8f352d95, 0x1d9513d7};
static const struct factors crc32_by_32 = {0xf1da05aa, 0x81256527};
static const struct factors crc32_by_16 = {0xae689191, 0xccaa009e};
/* x^95, x^63, x^64 divided by the polynomial, and that itself: see reduce_crc32. */
static const uint64_t crc32_to_96 = 0xccaa009e, crc32_to_64 = 0xb8bc6765;
static const uint64_t crc32_quotient = 0x1f7011641, crc32_divisor = 0x1db710641;
static const struct factors crc32c_by_256 = {0xdcb17aa4, 0xb9e02b86};
static const struct factors crc32c_by_128 = {0x6992cea2, 0x0d3b6092};
static const struct factors crc32c_by_32 = {0x3da6d0cb, 0xba4fc28e};
static const struct factors crc32c_by_16 = {0xf20c0dfe, 0x493c7d27};

INLINE uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

INLINE uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

INLINE __m128i get128(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i_u *)p);
}

INLINE void put128(uint8_t *p, __m128i v)
{
	_mm_storeu_si128((__m128i_u *)p, v);
}

/* acc moved on by the distance that by stands for, plus next. */
INLINE __m128i fold(__m128i acc, const struct factors *by, __m128i next)
{
	const __m128i k = _mm_set_epi64x((int64_t)by->hi, (int64_t)by->lo);
	const __m128i lo = _mm_clmulepi64_si128(acc, k, 0x00);
	const __m128i hi = _mm_clmulepi64_si128(acc, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(lo, next), hi);
}

/* acc[4], each folded by a turn and given its 16 of the 64 bytes at src. */
INLINE void fold_line(__m128i acc[4], const struct factors *by, uint8_t *dst, const uint8_t *src,
		      bool copy)
{
	for (int i = 0; i < 4; i++) {
		const __m128i next = get128(src + 16 * i);

		if (copy)
			put128(dst + 16 * i, next);
		acc[i] = fold(acc[i], by, next);
	}
}

/* What acc[4] amount to, 64 bytes, as the last of them. */
INLINE __m128i join_crc32(const __m128i acc[4])
{
	const __m128i a2 = fold(acc[0], &crc32_by_32, acc[2]);
	const __m128i a3 = fold(acc[1], &crc32_by_32, acc[3]);

	return fold(a2, &crc32_by_16, a3);
}

/* The CRC-32 of what an accumulator amounts to, a message that was begun on a zero register. 128
 * bits become 96, with the 32 of the register behind them, then 64; of these Barrett's way finds
 * the quotient, and what the divisor times that leaves is the rest. */
INLINE uint32_t reduce_crc32(__m128i acc)
{
	const __m128i by = _mm_set_epi64x((int64_t)crc32_to_64, (int64_t)crc32_to_96);
	const __m128i divide = _mm_set_epi64x((int64_t)crc32_divisor, (int64_t)crc32_quotient);
	const __m128i low = _mm_set_epi32(0, 0, 0, -1);
	const __m128i by_96 =
		_mm_xor_si128(_mm_clmulepi64_si128(acc, by, 0x00), _mm_srli_si128(acc, 8));
	const __m128i by_64 =
		_mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(by_96, low), by, 0x10),
			      _mm_srli_si128(by_96, 4));
	const __m128i quotient =
		_mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(by_64, low), divide, 0x00), low);
	const __m128i rest = _mm_xor_si128(_mm_clmulepi64_si128(quotient, divide, 0x10), by_64);

	return ~(uint32_t)_mm_extract_epi32(rest, 1);
}

/* v moved towards the end by n bytes, 1 .. 15, with zeros before it. */
INLINE __m128i move_on(__m128i v, size_t n)
{
	static const uint8_t place[32] = {
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 0x80, 0x80, 0x80, 0x80, 0,    1,    2,    3,    4,    5,
		6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
	};

	return _mm_shuffle_epi8(v, get128(place + 16 - n));
}

/* The n bytes at src, 4 .. 15, as the last of 16, with zeros before them. */
INLINE __m128i get_few(uint8_t *dst, const uint8_t *src, size_t n, bool copy)
{
	if (n >= 8) {
		const uint64_t first = get64(src), last = get64(src + n - 8);

		if (copy) {
			memcpy(dst, &first, sizeof first);
			memcpy(dst + n - 8, &last, sizeof last);
		}
		return _mm_set_epi64x((int64_t)last, (int64_t)(first << 8 * (15 - n) << 8));
	}
	const uint32_t first = get32(src), last = get32(src + n - 4);

	if (copy) {
		memcpy(dst, &first, sizeof first);
		memcpy(dst + n - 4, &last, sizeof last);
	}
	return _mm_set_epi64x((int64_t)((uint64_t)last << 32 | (uint64_t)first << 8 * (8 - n)), 0);
}

/* The n bytes at src, of which those from at on were not folded yet. */
INLINE __m128i fold_blocks(__m128i acc, uint8_t *dst, const uint8_t *src, size_t at, size_t n,
			   bool copy)
{
	for (; n - at >= 16; at += 16) {
		const __m128i next = get128(src + at);

		if (copy)
			put128(dst + at, next);
		acc = fold(acc, &crc32_by_16, next);
	}
	return acc;
}

/* For fewer bytes than a turn: the lengths of headers, and what is left behind the last turn. What
 * does not fill 16 bytes comes first, behind zeros, which leave a register of zero as it is; the
 * one there is belongs to the next four bytes. */
INLINE uint32_t narrow_crc32(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t n, bool copy)
{
	const struct crc_impl *t = &crc_impl_table;
	const size_t odd = n % 16;

	if (odd && odd < 4) {
		crc = copy ? t->crc32_copy(crc, dst, src, odd) : t->crc32(crc, src, odd);
		src += odd;
		dst = copy ? dst + odd : NULL;
		n -= odd;
	}
	if (n == 0)
		return crc;
	const __m128i reg = _mm_cvtsi32_si128((int)~crc);
	const size_t at = odd < 4 ? 16 : odd;
	__m128i acc;

	if (n < 16) {
		acc = _mm_xor_si128(get_few(dst, src, n, copy), move_on(reg, 16 - n));
	} else {
		acc = get128(src);
		if (copy)
			put128(dst, acc);
		acc = _mm_xor_si128(acc, reg);
		if (at < 16)
			acc = move_on(acc, 16 - at);
	}
	return reduce_crc32(fold_blocks(acc, dst, src, at, n, copy));
}

/* Whole turns have been folded into acc: n more bytes follow, fewer than two turns. */
INLINE uint32_t end_crc32(__m128i acc, uint8_t *dst, const uint8_t *src, size_t n, bool copy)
{
	const size_t odd = n % 16, at = n - odd;
	const uint32_t crc = reduce_crc32(fold_blocks(acc, dst, src, 0, n, copy));

	return odd ? narrow_crc32(crc, copy ? dst + at : NULL, src + at, odd, copy) : crc;
}

INLINE uint32_t fold_crc32(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t n, bool copy)
{
	size_t at = TURN_FOLD;

	if (n < TURN_FOLD)
		return narrow_crc32(crc, dst, src, n, copy);
	__m128i acc[4] = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128(),
			  _mm_setzero_si128()};

	fold_line(acc, &crc32_by_64, dst, src, copy);
	acc[0] = _mm_xor_si128(acc[0], _mm_cvtsi32_si128((int)~crc));
	for (; n - at >= TURN_FOLD; at += TURN_FOLD)
		fold_line(acc, &crc32_by_64, copy ? dst + at : NULL, src + at, copy);
	return end_crc32(join_crc32(acc), copy ? dst + at : NULL, src + at, n - at, copy);
}

/* The crc32 instruction alone: right for short runs and ends. reg is the bare register. */
INLINE uint32_t narrow_crc32c(uint32_t reg, uint8_t *dst, const uint8_t *src, size_t n, bool copy)
{
	size_t at = 0;

	for (; n - at >= 8; at += 8) {
		const uint64_t v = get64(src + at);

		if (copy)
			memcpy(dst + at, &v, sizeof v);
		reg = (uint32_t)_mm_crc32_u64(reg, v);
	}
	for (; at < n; at++) {
		if (copy)
			dst[at] = src[at];
		reg = _mm_crc32_u8(reg, src[at]);
	}
	return reg;
}

/* Two lines: the first into reg, the second into acc[4] after folding, and reg on top. */
INLINE void two_lines(__m128i acc[4], uint32_t reg, uint8_t *dst, const uint8_t *src, bool copy)
{
	reg = narrow_crc32c(reg, dst, src, 64, copy);
	fold_line(acc, &crc32c_by_256, copy ? dst + 64 : NULL, src + 64, copy);
	acc[0] = _mm_xor_si128(acc[0], _mm_cvtsi32_si128((int)reg));
}

INLINE uint32_t both_crc32c(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t n, bool copy)
{
	__m128i acc[8];
	uint32_t reg = ~crc;
	size_t at = 0;

	if (n < TURN_BOTH)
		return ~narrow_crc32c(reg, dst, src, n, copy);
	for (int i = 0; i < 8; i++)
		acc[i] = _mm_setzero_si128();
	for (; n - at >= TURN_BOTH; at += TURN_BOTH) {
		two_lines(acc, reg, copy ? dst + at : NULL, src + at, copy);
		two_lines(acc + 4, 0, copy ? dst + at + 128 : NULL, src + at + 128, copy);
		reg = 0;
	}
	for (int i = 0; i < 4; i++)
		acc[i] = fold(acc[i], &crc32c_by_128, acc[i + 4]);
	acc[2] = fold(acc[0], &crc32c_by_32, acc[2]);
	acc[3] = fold(acc[1], &crc32c_by_32, acc[3]);
	acc[3] = fold(acc[2], &crc32c_by_16, acc[3]);
	reg = (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(acc[3]));
	reg = (uint32_t)_mm_crc32_u64(reg, (uint64_t)_mm_extract_epi64(acc[3], 1));
	return ~narrow_crc32c(reg, copy ? dst + at : NULL, src + at, n - at, copy);
}

/* As fold, two accumulators at once. */
WIDE_INLINE __m256i wide_fold(__m256i acc, const struct factors *by, __m256i next)
{
	const __m256i k = _mm256_set_epi64x((int64_t)by->hi, (int64_t)by->lo, (int64_t)by->hi,
					    (int64_t)by->lo);
	const __m256i lo = _mm256_clmulepi64_epi128(acc, k, 0x00);
	const __m256i hi = _mm256_clmulepi64_epi128(acc, k, 0x11);

	return _mm256_xor_si256(_mm256_xor_si256(lo, next), hi);
}

WIDE_INLINE void wide_line(__m256i acc[4], uint8_t *dst, const uint8_t *src, bool copy)
{
	for (int i = 0; i < 4; i++) {
		const __m256i next = _mm256_loadu_si256((const __m256i_u *)(src + 32 * i));

		if (copy)
			_mm256_storeu_si256((__m256i_u *)(dst + 32 * i), next);
		acc[i] = wide_fold(acc[i], &crc32_by_128, next);
	}
}

WIDE_INLINE uint32_t wide_crc32(uint32_t crc, uint8_t *dst, const uint8_t *src, size_t n, bool copy)
{
	size_t at = TURN_WIDE;

	if (n < TURN_WIDE)
		return fold_crc32(crc, dst, src, n, copy);
	__m256i acc[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
			  _mm256_setzero_si256()};

	wide_line(acc, dst, src, copy);
	acc[0] = _mm256_xor_si256(acc[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)~crc)));
	for (; n - at >= TURN_WIDE; at += TURN_WIDE)
		wide_line(acc, copy ? dst + at : NULL, src + at, copy);
	acc[2] = wide_fold(acc[0], &crc32_by_64, acc[2]);
	acc[3] = wide_fold(acc[1], &crc32_by_64, acc[3]);
	const __m128i last[4] = {
		_mm256_castsi256_si128(acc[2]), _mm256_extracti128_si256(acc[2], 1),
		_mm256_castsi256_si128(acc[3]), _mm256_extracti128_si256(acc[3], 1)};

	return end_crc32(join_crc32(last), copy ? dst + at : NULL, src + at, n - at, copy);
}

static TARGET uint32_t fold_update(uint32_t crc, const void *data, size_t n)
{
	return fold_crc32(crc, NULL, data, n, false);
}

static TARGET uint32_t fold_copy(uint32_t crc, void *dst, const void *src, size_t n)
{
	return fold_crc32(crc, dst, src, n, true);
}

static TARGET uint32_t both_update_c(uint32_t crc, const void *data, size_t n)
{
	return both_crc32c(crc, NULL, data, n, false);
}

static TARGET uint32_t both_copy_c(uint32_t crc, void *dst, const void *src, size_t n)
{
	return both_crc32c(crc, dst, src, n, true);
}

static WIDE uint32_t wide_update(uint32_t crc, const void *data, size_t n)
{
	return wide_crc32(crc, NULL, data, n, false);
}

static WIDE uint32_t wide_copy(uint32_t crc, void *dst, const void *src, size_t n)
{
	return wide_crc32(crc, dst, src, n, true);
}

static const struct crc_impl impls[] = {
	{
		.name = "x86-vpclmul",
		.crc32 = wide_update,
		.crc32c = both_update_c,
		.crc32_copy = wide_copy,
		.crc32c_copy = both_copy_c,
	},
	{
		.name = "x86-pclmul",
		.crc32 = fold_update,
		.crc32c = both_update_c,
		.crc32_copy = fold_copy,
		.crc32c_copy = both_copy_c,
	},
};

const struct crc_impl *crc_impl_cpu(size_t *n)
{
	__builtin_cpu_init();
	const bool narrow = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
	const bool wide =
		narrow && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");

	*n = wide ? 2 : narrow ? 1 : 0;
	return wide ? &impls[0] : &impls[1];
}

#endif
