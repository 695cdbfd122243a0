/* The two 32-bit CRCs of the protocols: CRC-32 (Ethernet FCS, IBTA ICRC; polynomial 0x04C11DB7) and
 * CRC-32C (Castagnoli; 0x1EDC6F41), both bit-reflected.
 *
 * A crc value is always the finished one, as zlib defines it: 0 for no bytes, all ones going in and
 * out. So update(update(0, a), b) is the CRC of a then b, and a caller never inverts anything.
 * The fastest code this CPU can run is chosen before main(); results never depend on the choice.
 * Every room above base may call this, from any thread. */
#ifndef WEFT_BASE_CRC32_H
#define WEFT_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of the bytes behind crc followed by data[0..n). data may be unaligned, and NULL when n
 * is 0. */
uint32_t crc32_update(uint32_t crc, const void *data, size_t n);
uint32_t crc32c_update(uint32_t crc, const void *data, size_t n);

/* The same as update over src, while copying src to dst in the same pass. Any alignment; the two
 * must not overlap. Writes exactly dst[0..n). */
uint32_t crc32_copy(uint32_t crc, void *dst, const void *src, size_t n);
uint32_t crc32c_copy(uint32_t crc, void *dst, const void *src, size_t n);

/* The same as update over n bytes of zero, in O(log n). Any n. */
uint32_t crc32_zeros(uint32_t crc, size_t n);
uint32_t crc32c_zeros(uint32_t crc, size_t n);

/* The CRC of a followed by b, from the CRC of each and the length of b, in O(log len_b). */
uint32_t crc32_combine(uint32_t crc_a, uint32_t crc_b, size_t len_b);
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, size_t len_b);

/* One way to compute them; each function keeps the contract of its public namesake. */
struct crc_impl {
	const char *name;
	uint32_t (*crc32)(uint32_t crc, const void *data, size_t n);
	uint32_t (*crc32c)(uint32_t crc, const void *data, size_t n);
	uint32_t (*crc32_copy)(uint32_t crc, void *dst, const void *src, size_t n);
	uint32_t (*crc32c_copy)(uint32_t crc, void *dst, const void *src, size_t n);
};

/* The ways this CPU can run, best first: number 0 is what the functions above use. NULL past the
 * last, which is always crc_impl_table. For tests and benchmarks. */
const struct crc_impl *crc_impl_at(size_t i);

/* Portable C. */
extern const struct crc_impl crc_impl_table;

/* Between the files of this module: what the architecture's own file offers on this CPU, best
 * first, n of them. Called before main(). */
const struct crc_impl *crc_impl_cpu(size_t *n);

#endif
