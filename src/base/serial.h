/* Serial numbers: packet and message numbers of 16, 24 and 32 bits that wrap.
 *
 * psn16, psn24 and psn32 are structs, so that `a < b` and `a + 1` do not compile and one width is
 * never taken for another. Invariant: v < 2^bits; build one with psnNN_of. Every engine calls this.
 *
 * For each width (psn24 stands for all three; M = 2^bits):
 *
 *   psn24_of(v)             v modulo M
 *   psn24_next(a)           the number after a
 *   psn24_prev(a)           the number before a
 *   psn24_add(a, d)         a moved by d, which may be negative; pass a 16-bit offset from the wire
 *                           as (int16_t), so that 0xFFDC goes back by 36
 *   psn24_dist(from, to)    steps forward from `from` to `to`: 0 .. M - 1
 *   psn24_diff(a, b)        a - b as the shorter way round: -M/2 .. M/2 - 1
 *   psn24_lt le gt ge eq    order by the shorter way round
 *   psn24_max, psn24_min    the later, the earlier
 *   psn24_within(x, from, end)  x in [from, end): up to M - 1 numbers, none when from equals end
 *
 * Two numbers exactly M/2 apart have no order: lt, le, gt and ge are all false, max and min give
 * the first argument, and diff is -M/2 both ways. So "is it newer?" answers no, and nothing moves.
 * Order is not transitive beyond half the range: windows must be shorter than M/2. */
#ifndef WEFT_BASE_SERIAL_H
#define WEFT_BASE_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

#define SERIAL_HALF(bits) (UINT32_C(1) << ((bits)-1))
#define SERIAL_MASK(bits) (UINT32_MAX >> (32 - (bits)))

/* Defines the type name, kept in an unsigned integer of type store, and its functions. */
#define SERIAL_TYPE(name, store, bits)                                                         \
	typedef struct {                                                                       \
		store v;                                                                       \
	} name;                                                                                \
	static inline name name##_of(uint32_t v)                                               \
	{                                                                                      \
		return (name){(store)(v & SERIAL_MASK(bits))};                                 \
	}                                                                                      \
	static inline name name##_add(name a, int32_t d)                                       \
	{                                                                                      \
		return name##_of(a.v + (uint32_t)d);                                           \
	}                                                                                      \
	static inline name name##_next(name a)                                                 \
	{                                                                                      \
		return name##_add(a, 1);                                                       \
	}                                                                                      \
	static inline name name##_prev(name a)                                                 \
	{                                                                                      \
		return name##_add(a, -1);                                                      \
	}                                                                                      \
	static inline uint32_t name##_dist(name from, name to)                                 \
	{                                                                                      \
		return ((uint32_t)to.v - from.v) & SERIAL_MASK(bits);                          \
	}                                                                                      \
	static inline int32_t name##_diff(name a, name b)                                      \
	{                                                                                      \
		return (int32_t)((name##_dist(b, a) ^ SERIAL_HALF(bits)) - SERIAL_HALF(bits)); \
	}                                                                                      \
	static inline bool name##_eq(name a, name b)                                           \
	{                                                                                      \
		return a.v == b.v;                                                             \
	}                                                                                      \
	static inline bool name##_le(name a, name b)                                           \
	{                                                                                      \
		return name##_dist(a, b) < SERIAL_HALF(bits);                                  \
	}                                                                                      \
	static inline bool name##_lt(name a, name b)                                           \
	{                                                                                      \
		return name##_le(a, b) && !name##_eq(a, b);                                    \
	}                                                                                      \
	static inline bool name##_ge(name a, name b)                                           \
	{                                                                                      \
		return name##_le(b, a);                                                        \
	}                                                                                      \
	static inline bool name##_gt(name a, name b)                                           \
	{                                                                                      \
		return name##_lt(b, a);                                                        \
	}                                                                                      \
	static inline name name##_max(name a, name b)                                          \
	{                                                                                      \
		return name##_gt(b, a) ? b : a;                                                \
	}                                                                                      \
	static inline name name##_min(name a, name b)                                          \
	{                                                                                      \
		return name##_lt(b, a) ? b : a;                                                \
	}                                                                                      \
	static inline bool name##_within(name x, name from, name end)                          \
	{                                                                                      \
		return name##_dist(from, x) < name##_dist(from, end);                          \
	}

SERIAL_TYPE(psn16, uint16_t, 16)
SERIAL_TYPE(psn24, uint32_t, 24)
SERIAL_TYPE(psn32, uint32_t, 32)

#endif
