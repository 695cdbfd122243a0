/* CRC by the ARMv8 CRC instructions, and by those together with polynomial multiplication (PMULL).
 *
 * The instructions take 8 bytes a cycle on one pipe, folding by PMULL another 8 on others, so the
 * wide code gives each half of the bytes. It walks memory in one stream, 256 bytes a turn:
 *
 *     line 0: CRC instructions   line 1: PMULL   line 2: CRC instructions   line 3: PMULL
 *
 * Eight 16-byte accumulators fold over the distance of a turn, as if lines 0 and 2 were zero. What
 * those lines amount to is a 32-bit register, which belongs, as the register of a running CRC does,
 * to the next four bytes: it is added to the first accumulator of the line that follows. No stream
 * has to be merged later, and a copy writes whole lines in order, as the caches like it.
 *
 * Instructions are written as asm because clang's headers hide the intrinsics unless the whole
 * file is compiled for them. Loads and stores stay in C, where sanitizers see them. */
#include "base/crc32.h"

#if defined(__AARCH64EL__)

#include <arm_neon.h>
#include <asm/hwcap.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

#define INLINE     static inline __attribute__((always_inline))
#define NEED_CRC   ".arch_extension crc\n\t"
#define NEED_PMULL ".arch_extension aes\n\t"
#define TURN       ((size_t)256)
#define LOAD       ((size_t)16) /* those that are aligned never straddle two cache lines */
#define WIDE_FROM  (3 * TURN)   /* below, gathering costs more than folding saves (Neoverse N1) */

enum poly { CRC32, CRC32C };
enum distance { BY_256, BY_128, BY_32, BY_16 };

/* To move a 16-byte accumulator d bytes on, its low half is multiplied by x^(8d + 31) and its high
 * half by x^(8d - 33): the halves lie 64 bits apart, and a reflected product of a 64-bit and a
 * 32-bit number is 33 places off. */
static const uint64_t fold_by[2][4][2] = {
	[CRC32] =
		{
			[BY_256] = {0xce3371cb, 0xe95c1271},
			[BY_128] = {0x33fff533, 0x910eeec1},
			[BY_32] = {0xf1da05aa, 0x81256527},
			[BY_16] = {0xae689191, 0xccaa009e},
		},
	[CRC32C] =
		{
			[BY_256] = {0xdcb17aa4, 0xb9e02b86},
			[BY_128] = {0x6992cea2, 0x0d3b6092},
			[BY_32] = {0x3da6d0cb, 0xba4fc28e},
			[BY_16] = {0xf20c0dfe, 0x493c7d27},
		},
};

INLINE uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

INLINE void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof v);
}

INLINE uint64x2_t get128(const uint8_t *p)
{
	return vreinterpretq_u64_u8(vld1q_u8(p));
}

INLINE void put128(uint8_t *p, uint64x2_t v)
{
	vst1q_u8(p, vreinterpretq_u8_u64(v));
}

#define CRC_STEP(op, reg, value) __asm__(NEED_CRC op " %w0, %w0, %" value : "+r"(reg) : "r"(v))

INLINE uint32_t crc_x(enum poly poly, uint32_t reg, uint64_t v)
{
	if (poly == CRC32)
		CRC_STEP("crc32x", reg, "x1");
	else
		CRC_STEP("crc32cx", reg, "x1");
	return reg;
}

INLINE uint32_t crc_w(enum poly poly, uint32_t reg, uint32_t v)
{
	if (poly == CRC32)
		CRC_STEP("crc32w", reg, "w1");
	else
		CRC_STEP("crc32cw", reg, "w1");
	return reg;
}

INLINE uint32_t crc_h(enum poly poly, uint32_t reg, uint16_t v)
{
	if (poly == CRC32)
		CRC_STEP("crc32h", reg, "w1");
	else
		CRC_STEP("crc32ch", reg, "w1");
	return reg;
}

INLINE uint32_t crc_b(enum poly poly, uint32_t reg, uint8_t v)
{
	if (poly == CRC32)
		CRC_STEP("crc32b", reg, "w1");
	else
		CRC_STEP("crc32cb", reg, "w1");
	return reg;
}

/* Eight bytes at the same place in src and dst. */
INLINE uint32_t word(enum poly poly, uint32_t reg, uint8_t *dst, const uint8_t *src, size_t at,
		     bool copy)
{
	const uint64_t v = get64(src + at);

	if (copy)
		put64(dst + at, v);
	return crc_x(poly, reg, v);
}

/* The CRC instructions alone: right for short runs and ends. reg is the bare register. */
INLINE uint32_t narrow(enum poly poly, uint32_t reg, uint8_t *dst, const uint8_t *src, size_t n,
		       bool copy)
{
	size_t at = 0;
	uint32_t w;
	uint16_t h;

	for (; n - at >= 32; at += 32) {
		reg = word(poly, reg, dst, src, at, copy);
		reg = word(poly, reg, dst, src, at + 8, copy);
		reg = word(poly, reg, dst, src, at + 16, copy);
		reg = word(poly, reg, dst, src, at + 24, copy);
	}
	for (; n - at >= 8; at += 8)
		reg = word(poly, reg, dst, src, at, copy);
	if (n & 4) {
		memcpy(&w, src + at, sizeof w);
		if (copy)
			memcpy(dst + at, &w, sizeof w);
		reg = crc_w(poly, reg, w);
		at += 4;
	}
	if (n & 2) {
		memcpy(&h, src + at, sizeof h);
		if (copy)
			memcpy(dst + at, &h, sizeof h);
		reg = crc_h(poly, reg, h);
		at += 2;
	}
	if (n & 1) {
		const uint8_t b = src[at];

		if (copy)
			dst[at] = b;
		reg = crc_b(poly, reg, b);
	}
	return reg;
}

/* acc moved on by the distance of k, plus next. */
INLINE uint64x2_t fold(uint64x2_t acc, uint64x2_t k, uint64x2_t next)
{
	uint64x2_t lo, hi;

	__asm__(NEED_PMULL "pmull %0.1q, %1.1d, %2.1d" : "=w"(lo) : "w"(acc), "w"(k));
	__asm__(NEED_PMULL "pmull2 %0.1q, %1.2d, %2.2d" : "=w"(hi) : "w"(acc), "w"(k));
	return veorq_u64(veorq_u64(lo, next), hi);
}

/* One fold and two CRC steps, woven together. Volatile, because left to itself gcc sorts all CRC
 * steps of a turn before all folds, more than the CPU can look ahead to undo. */
#define WEAVE(crc_op, acc, k, next, reg, v0, v1)                                                   \
	do {                                                                                       \
		uint64x2_t lo_;                                                                    \
                                                                                                   \
		__asm__ volatile(                                                                  \
			NEED_CRC NEED_PMULL                                                        \
			"pmull %[lo].1q, %[a].1d, %[by].1d\n\t" crc_op " %w[r], %w[r], %x[w0]\n\t" \
			"pmull2 %[a].1q, %[a].2d, %[by].2d\n\t" crc_op " %w[r], %w[r], %x[w1]\n\t" \
			"eor %[lo].16b, %[lo].16b, %[data].16b\n\t"                                \
			"eor %[a].16b, %[a].16b, %[lo].16b"                                        \
			: [r] "+r"(reg), [a] "+w"(acc), [lo] "=&w"(lo_)                            \
			: [by] "w"(k), [data] "w"(next), [w0] "r"(v0), [w1] "r"(v1));              \
	} while (0)

/* Two lines: the first into reg, the second into acc[4] after folding, and reg on top. */
INLINE void two_lines(enum poly poly, uint64x2_t *acc, uint32_t reg, uint64x2_t k, uint8_t *dst,
		      const uint8_t *src, bool copy)
{
	const uint64_t v0 = get64(src), v1 = get64(src + 8), v2 = get64(src + 16),
		       v3 = get64(src + 24), v4 = get64(src + 32), v5 = get64(src + 40),
		       v6 = get64(src + 48), v7 = get64(src + 56);
	const uint64x2_t d0 = get128(src + 64), d1 = get128(src + 80), d2 = get128(src + 96),
			 d3 = get128(src + 112);
	uint64x2_t carried;

	if (poly == CRC32) {
		WEAVE("crc32x", acc[0], k, d0, reg, v0, v1);
		WEAVE("crc32x", acc[1], k, d1, reg, v2, v3);
		WEAVE("crc32x", acc[2], k, d2, reg, v4, v5);
		WEAVE("crc32x", acc[3], k, d3, reg, v6, v7);
	} else {
		WEAVE("crc32cx", acc[0], k, d0, reg, v0, v1);
		WEAVE("crc32cx", acc[1], k, d1, reg, v2, v3);
		WEAVE("crc32cx", acc[2], k, d2, reg, v4, v5);
		WEAVE("crc32cx", acc[3], k, d3, reg, v6, v7);
	}
	if (copy) {
		put64(dst, v0);
		put64(dst + 8, v1);
		put64(dst + 16, v2);
		put64(dst + 24, v3);
		put64(dst + 32, v4);
		put64(dst + 40, v5);
		put64(dst + 48, v6);
		put64(dst + 56, v7);
		put128(dst + 64, d0);
		put128(dst + 80, d1);
		put128(dst + 96, d2);
		put128(dst + 112, d3);
	}
	__asm__("fmov %s0, %w1" : "=w"(carried) : "r"(reg));
	acc[0] = veorq_u64(acc[0], carried);
}

/* The register that the last turn's eight accumulators stand for. */
INLINE uint32_t gather(enum poly poly, const uint64x2_t acc[8])
{
	const uint64x2_t by_128 = vld1q_u64(fold_by[poly][BY_128]);
	const uint64x2_t by_32 = vld1q_u64(fold_by[poly][BY_32]);
	const uint64x2_t by_16 = vld1q_u64(fold_by[poly][BY_16]);
	const uint64x2_t a = fold(acc[0], by_128, acc[4]), b = fold(acc[1], by_128, acc[5]);
	const uint64x2_t c = fold(acc[2], by_128, acc[6]), d = fold(acc[3], by_128, acc[7]);
	const uint64x2_t last = fold(fold(a, by_32, c), by_16, fold(b, by_32, d));

	return crc_x(poly, crc_x(poly, 0, vgetq_lane_u64(last, 0)), vgetq_lane_u64(last, 1));
}

INLINE uint32_t wide(enum poly poly, uint32_t crc, uint8_t *dst, const uint8_t *src, size_t n,
		     bool copy)
{
	const uint64x2_t by_256 = vld1q_u64(fold_by[poly][BY_256]);
	uint64x2_t acc[8] = {0};
	uint32_t reg = ~crc;
	size_t at = 0;

	if (n >= WIDE_FROM) {
		at = -(uintptr_t)src % LOAD;
		reg = narrow(poly, reg, dst, src, at, copy);
		for (; n - at >= TURN; at += TURN) {
			two_lines(poly, acc, reg, by_256, copy ? dst + at : NULL, src + at, copy);
			two_lines(poly, acc + 4, 0, by_256, copy ? dst + at + 128 : NULL,
				  src + at + 128, copy);
			reg = 0;
		}
		reg = gather(poly, acc);
	}
	return ~narrow(poly, reg, copy ? dst + at : NULL, src + at, n - at, copy);
}

static uint32_t narrow_update(uint32_t crc, const void *data, size_t n)
{
	return ~narrow(CRC32, ~crc, NULL, data, n, false);
}

static uint32_t narrow_update_c(uint32_t crc, const void *data, size_t n)
{
	return ~narrow(CRC32C, ~crc, NULL, data, n, false);
}

static uint32_t narrow_copy(uint32_t crc, void *dst, const void *src, size_t n)
{
	return ~narrow(CRC32, ~crc, dst, src, n, true);
}

static uint32_t narrow_copy_c(uint32_t crc, void *dst, const void *src, size_t n)
{
	return ~narrow(CRC32C, ~crc, dst, src, n, true);
}

static uint32_t wide_update(uint32_t crc, const void *data, size_t n)
{
	return wide(CRC32, crc, NULL, data, n, false);
}

static uint32_t wide_update_c(uint32_t crc, const void *data, size_t n)
{
	return wide(CRC32C, crc, NULL, data, n, false);
}

static uint32_t wide_copy(uint32_t crc, void *dst, const void *src, size_t n)
{
	return wide(CRC32, crc, dst, src, n, true);
}

static uint32_t wide_copy_c(uint32_t crc, void *dst, const void *src, size_t n)
{
	return wide(CRC32C, crc, dst, src, n, true);
}

static const struct crc_impl impls[2] = {
	{
		.name = "armv8-pmull",
		.crc32 = wide_update,
		.crc32c = wide_update_c,
		.crc32_copy = wide_copy,
		.crc32c_copy = wide_copy_c,
	},
	{
		.name = "armv8-crc",
		.crc32 = narrow_update,
		.crc32c = narrow_update_c,
		.crc32_copy = narrow_copy,
		.crc32c_copy = narrow_copy_c,
	},
};

const struct crc_impl *crc_impl_cpu(size_t *n)
{
	const unsigned long has = getauxval(AT_HWCAP);
	const size_t first = has & HWCAP_PMULL ? 0 : 1;

	/* Both ways end in CRC instructions. */
	*n = has & HWCAP_CRC32 ? 2 - first : 0;
	return impls + first;
}

#endif
