#include "base/prng.h"

#include <assert.h>
#include <string.h>

#define SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15)

__extension__ typedef unsigned __int128 u128;

static uint64_t rotl(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

/* A bijection of 64-bit numbers that maps 0, and only 0, to 0. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t prng_splitmix64(uint64_t *state)
{
	*state += SPLITMIX_STEP;
	return mix(*state);
}

/* Word i is mix(a[i] ^ stream), where a[i] are SplitMix64's numbers from seed. The a[i] differ, so
 * at most one word is zero; mix is a bijection, so two streams differ in every word. */
void prng_init(struct prng *p, uint64_t seed, uint64_t stream)
{
	for (int i = 0; i < 4; i++)
		p->s[i] = mix(prng_splitmix64(&seed) ^ stream);
}

void prng_split(struct prng *child, const struct prng *parent, uint64_t id)
{
	uint64_t seed = 0;

	for (int i = 0; i < 4; i++)
		seed = mix(seed + SPLITMIX_STEP + parent->s[i]);
	prng_init(child, seed, id);
}

uint64_t prng_u64(struct prng *p)
{
	uint64_t *s = p->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint32_t prng_u32(struct prng *p)
{
	return (uint32_t)(prng_u64(p) >> 32);
}

/* Lemire's method: the high word of a 64 by 64 bit product, redrawn while the low word lies in the
 * 2^64 mod bound values that would favour some results. That remainder, a division, is needed only
 * when the low word is below bound. The expected number of draws is below two, and the chance of
 * needing k more falls as 2^-k. */
uint64_t prng_below(struct prng *p, uint64_t bound)
{
	assert(bound > 0);
	u128 product = (u128)prng_u64(p) * bound;

	if ((uint64_t)product < bound) {
		uint64_t excess = -bound % bound;

		while ((uint64_t)product < excess)
			product = (u128)prng_u64(p) * bound;
	}
	return (uint64_t)(product >> 64);
}

uint64_t prng_range(struct prng *p, uint64_t low, uint64_t high)
{
	assert(low <= high);
	uint64_t values = high - low + 1;

	/* All 2^64 values are a count that does not fit. */
	return values == 0 ? prng_u64(p) : low + prng_below(p, values);
}

bool prng_chance(struct prng *p, uint64_t num, uint64_t den)
{
	assert(num <= den);
	return prng_below(p, den) < num;
}

double prng_f64(struct prng *p)
{
	return (double)(prng_u64(p) >> 11) * 0x1p-53;
}

static void put_le64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

void prng_fill(struct prng *p, void *bytes, size_t n)
{
	uint8_t *at = bytes;

	for (; n >= 8; n -= 8, at += 8)
		put_le64(at, prng_u64(p));
	if (n > 0) {
		uint8_t last[8];

		put_le64(last, prng_u64(p));
		memcpy(at, last, n);
	}
}
