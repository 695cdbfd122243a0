/* An order of numbers that looks drawn and needs no memory: a bijection of the numbers of some
 * bits, another one for each key. Counting i upwards visits every number once; numbers beyond the
 * wanted range are passed over by the caller, fewer than one for each wanted one where bits is the
 * least that holds the range. */
#ifndef WEFT_PATH_SHUFFLE_H
#define WEFT_PATH_SHUFFLE_H

#include <stdint.h>

/* The fewest bits that hold the numbers below n; n from 1 to 2^32. */
static inline uint32_t shuffle_bits(uint64_t n)
{
	return n > 1 ? 64 - (uint32_t)__builtin_clzll(n - 1) : 0;
}

/* Each step is a bijection of numbers of that many bits, at most 32: a multiplication by an odd
 * number with an addition, and the high half folded into the low one, without which the low bits
 * would go round in a short circle. */
static inline uint32_t shuffle(uint32_t i, uint32_t bits, uint32_t key)
{
	uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
	uint32_t fold = (bits + 1) / 2;
	uint32_t x = (i * (key << 1 | 1) + (key >> 4)) & mask;

	x ^= x >> fold;
	x = (x * UINT32_C(0x9e3779b1) + key) & mask;
	return x ^ x >> fold;
}

#endif
