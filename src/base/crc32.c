#include "base/crc32.h"

#include <stdbool.h>
#include <string.h>

/* Polynomials are held bit-reflected: bit 31 is the coefficient of x^0, so multiplying by x shifts
 * right. A CRC register holds the message so far, times x^32, modulo the polynomial. */

/* Tables for eight bytes at a time. table[k][b] is what byte b leaves in the register once k more
 * bytes have passed. That is linear in b, so a row is spelled by its eight one-bit bytes, lowest
 * bit first, and the preprocessor adds up the other entries. */
#define SUMS1(v, a)                   (v), (v) ^ (a)
#define SUMS2(v, a, b)                SUMS1(v, a), SUMS1((v) ^ (b), a)
#define SUMS3(v, a, b, c)             SUMS2(v, a, b), SUMS2((v) ^ (c), a, b)
#define SUMS4(v, a, b, c, d)          SUMS3(v, a, b, c), SUMS3((v) ^ (d), a, b, c)
#define SUMS5(v, a, b, c, d, e)       SUMS4(v, a, b, c, d), SUMS4((v) ^ (e), a, b, c, d)
#define SUMS6(v, a, b, c, d, e, f)    SUMS5(v, a, b, c, d, e), SUMS5((v) ^ (f), a, b, c, d, e)
#define SUMS7(v, a, b, c, d, e, f, g) SUMS6(v, a, b, c, d, e, f), SUMS6((v) ^ (g), a, b, c, d, e, f)
#define ROW(a, b, c, d, e, f, g, h)                                           \
	{                                                                     \
		SUMS7(0u, a, b, c, d, e, f, g), SUMS7(h, a, b, c, d, e, f, g) \
	}

static const uint32_t table_crc32[8][256] = {
	ROW(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190,
	    0xedb88320),
	ROW(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05,
	    0x3b83984b),
	ROW(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0,
	    0xe1351b80),
	ROW(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d,
	    0xed59b63b),
	ROW(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849,
	    0xb1e6b092),
	ROW(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c,
	    0x1eb014d8),
	ROW(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579,
	    0x8816eaf2),
	ROW(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed,
	    0x533b85da),
};

static const uint32_t table_crc32c[8][256] = {
	ROW(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc,
	    0x82f63b78),
	ROW(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604,
	    0xfbc3faf9),
	ROW(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9,
	    0x8b277743),
	ROW(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7,
	    0x52a0c93f),
	ROW(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae,
	    0x6ea2d55c),
	ROW(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb,
	    0x1c08b7d6),
	ROW(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a,
	    0xf56e0ef4),
	ROW(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32,
	    0x34019664),
};

/* What zero bytes multiply the register by: 2^k of them by by_zeros[k] = x^(8 * 2^k). Squaring x
 * over and over returns to x after 32 steps for CRC-32, and after 31 for CRC-32C (whose polynomial
 * has the factor x + 1), so the numbers repeat from there and any length is covered. */
struct field {
	uint32_t poly;
	unsigned period;
	uint32_t by_zeros[32];
};

static const struct field field_crc32 = {
	.poly = 0xedb88320,
	.period = 32,
	.by_zeros = {0x00800000, 0x00008000, 0xedb88320, 0xb1e6b092, 0xa06a2517, 0xed627dae,
		     0x88d14467, 0xd7bbfe6a, 0xec447f11, 0x8e7ea170, 0x6427800e, 0x4d47bae0,
		     0x09fe548f, 0x83852d0f, 0x30362f1a, 0x7b5a9cc3, 0x31fec169, 0x9fec022a,
		     0x6c8dedc4, 0x15d6874d, 0x5fde7a4e, 0xbad90e37, 0x2e4e5eef, 0x4eaba214,
		     0xa8a472c0, 0x429a969e, 0x148d302a, 0xc40ba6d0, 0xc4e22c3c, 0x40000000,
		     0x20000000, 0x08000000},
};

static const struct field field_crc32c = {
	.poly = 0x82f63b78,
	.period = 31,
	.by_zeros = {0x00800000, 0x00008000, 0x82f63b78, 0x6ea2d55c, 0x18b8ea18, 0x510ac59a,
		     0xb82be955, 0xb8fdb1e7, 0x88e56f72, 0x74c360a4, 0xe4172b16, 0x0d65762a,
		     0x35d73a62, 0x28461564, 0xbf455269, 0xe2ea32dc, 0xfe7740e6, 0xf946610b,
		     0x3c204f8f, 0x538586e3, 0x59726915, 0x734d5309, 0xbc1ac763, 0x7d0722cc,
		     0xd289cabe, 0xe94ca9bc, 0x05b74f3f, 0xa51e1f42, 0x40000000, 0x20000000,
		     0x08000000},
};

static uint32_t get_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline __attribute__((always_inline)) uint32_t
run(const uint32_t t[8][256], uint32_t crc, uint8_t *dst, const uint8_t *src, size_t n, bool copy)
{
	size_t at = 0;

	crc = ~crc;
	for (; n - at >= 8; at += 8) {
		const uint32_t lo = crc ^ get_le32(src + at), hi = get_le32(src + at + 4);

		if (copy)
			memcpy(dst + at, src + at, 8);
		crc = t[7][lo & 0xff] ^ t[6][lo >> 8 & 0xff] ^ t[5][lo >> 16 & 0xff] ^
		      t[4][lo >> 24] ^ t[3][hi & 0xff] ^ t[2][hi >> 8 & 0xff] ^
		      t[1][hi >> 16 & 0xff] ^ t[0][hi >> 24];
	}
	for (; at < n; at++) {
		if (copy)
			dst[at] = src[at];
		crc = crc >> 8 ^ t[0][(crc ^ src[at]) & 0xff];
	}
	return ~crc;
}

static uint32_t table_update(uint32_t crc, const void *data, size_t n)
{
	return run(table_crc32, crc, NULL, data, n, false);
}

static uint32_t table_update_c(uint32_t crc, const void *data, size_t n)
{
	return run(table_crc32c, crc, NULL, data, n, false);
}

static uint32_t table_copy(uint32_t crc, void *dst, const void *src, size_t n)
{
	return run(table_crc32, crc, dst, src, n, true);
}

static uint32_t table_copy_c(uint32_t crc, void *dst, const void *src, size_t n)
{
	return run(table_crc32c, crc, dst, src, n, true);
}

const struct crc_impl crc_impl_table = {
	.name = "table",
	.crc32 = table_update,
	.crc32c = table_update_c,
	.crc32_copy = table_copy,
	.crc32c_copy = table_copy_c,
};

#if !defined(__AARCH64EL__) && !defined(__x86_64__)
const struct crc_impl *crc_impl_cpu(size_t *n)
{
	*n = 0;
	return NULL;
}
#endif

/* Right from the first instruction, if not fastest: a caller that runs before choose() gets the
 * table code and the same results. Written once, before main(). */
static const struct crc_impl *cpu, *best = &crc_impl_table;
static size_t n_cpu;

static __attribute__((constructor)) void choose(void)
{
	cpu = crc_impl_cpu(&n_cpu);
	if (n_cpu)
		best = cpu;
}

const struct crc_impl *crc_impl_at(size_t i)
{
	if (i < n_cpu)
		return &cpu[i];
	return i == n_cpu ? &crc_impl_table : NULL;
}

uint32_t crc32_update(uint32_t crc, const void *data, size_t n)
{
	return best->crc32(crc, data, n);
}

uint32_t crc32c_update(uint32_t crc, const void *data, size_t n)
{
	return best->crc32c(crc, data, n);
}

uint32_t crc32_copy(uint32_t crc, void *dst, const void *src, size_t n)
{
	return best->crc32_copy(crc, dst, src, n);
}

uint32_t crc32c_copy(uint32_t crc, void *dst, const void *src, size_t n)
{
	return best->crc32c_copy(crc, dst, src, n);
}

/* a times b modulo poly, by the coefficients of a from x^0 up. Branch-free: the bits are random. */
static uint32_t multiply(uint32_t a, uint32_t b, uint32_t poly)
{
	uint32_t sum = 0;

	for (int i = 0; i < 32; i++) {
		sum ^= b & (0u - (a >> 31));
		a <<= 1;
		b = b >> 1 ^ (poly & (0u - (b & 1)));
	}
	return sum;
}

/* The register after n zero bytes. */
static uint32_t shift(const struct field *f, uint32_t reg, size_t n)
{
	for (unsigned k = 0; n; k++, n >>= 1)
		if (n & 1)
			reg = multiply(f->by_zeros[k % f->period], reg, f->poly);
	return reg;
}

uint32_t crc32_zeros(uint32_t crc, size_t n)
{
	return ~shift(&field_crc32, ~crc, n);
}

uint32_t crc32c_zeros(uint32_t crc, size_t n)
{
	return ~shift(&field_crc32c, ~crc, n);
}

/* b was begun with all ones and finished with all ones. Shifting a without inverting it brings
 * exactly those two corrections along, so they cancel. */
uint32_t crc32_combine(uint32_t crc_a, uint32_t crc_b, size_t len_b)
{
	return shift(&field_crc32, crc_a, len_b) ^ crc_b;
}

uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, size_t len_b)
{
	return shift(&field_crc32c, crc_a, len_b) ^ crc_b;
}
