#include "base/keystream.h"

#include "base/prng.h"

#include <assert.h>
#include <string.h>

static uint32_t get_le32(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static void put_le32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t rotl(uint32_t v, unsigned by)
{
	return v << by | v >> (32 - by);
}

/* RFC 8439 section 2.1. */
static inline void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	*a += *b;
	*d = rotl(*d ^ *a, 16);
	*c += *d;
	*b = rotl(*b ^ *c, 12);
	*a += *b;
	*d = rotl(*d ^ *a, 8);
	*c += *d;
	*b = rotl(*b ^ *c, 7);
}

void chacha20_block(uint8_t out[CHACHA20_BLOCK_BYTES], const uint8_t key[CHACHA20_KEY_BYTES],
		    uint32_t counter, const uint8_t nonce[CHACHA20_NONCE_BYTES])
{
	/* "expand 32-byte k" */
	uint32_t in[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
	uint32_t x[16];

	for (int i = 0; i < 8; i++)
		in[4 + i] = get_le32(key + 4 * i);
	in[12] = counter;
	for (int i = 0; i < 3; i++)
		in[13 + i] = get_le32(nonce + 4 * i);
	memcpy(x, in, sizeof x);

	/* Ten double rounds: the columns, then the diagonals. */
	for (int round = 0; round < 20; round += 2) {
		for (int i = 0; i < 4; i++)
			quarter_round(&x[i], &x[4 + i], &x[8 + i], &x[12 + i]);
		for (int i = 0; i < 4; i++)
			quarter_round(&x[i], &x[4 + (i + 1) % 4], &x[8 + (i + 2) % 4],
				      &x[12 + (i + 3) % 4]);
	}
	for (int i = 0; i < 16; i++)
		put_le32(out + 4 * i, x[i] + in[i]);

	/* Both hold the key, or enough to find it; a plain memset here would be optimised away. */
	explicit_bzero(in, sizeof in);
	explicit_bzero(x, sizeof x);
}

static void refill(struct keystream *k)
{
	static const uint8_t nonce[CHACHA20_NONCE_BYTES];

	/* A key is used for one refill only, so counter and nonce may start over each time. */
	for (uint32_t i = 0; i < KEYSTREAM_BLOCKS; i++)
		chacha20_block(k->pool + i * CHACHA20_BLOCK_BYTES, k->key, i, nonce);
	memcpy(k->key, k->pool, sizeof k->key);
	memset(k->pool, 0, sizeof k->key);
	k->used = sizeof k->key;
}

void keystream_init(struct keystream *k, const uint8_t key[CHACHA20_KEY_BYTES])
{
	memcpy(k->key, key, sizeof k->key);
	memset(k->pool, 0, sizeof k->pool);
	k->used = sizeof k->pool;
}

void keystream_from_seed(struct keystream *k, uint64_t seed)
{
	uint8_t key[CHACHA20_KEY_BYTES];

	for (int i = 0; i < CHACHA20_KEY_BYTES; i += 8) {
		uint64_t v = prng_splitmix64(&seed);

		put_le32(key + i, (uint32_t)v);
		put_le32(key + i + 4, (uint32_t)(v >> 32));
	}
	keystream_init(k, key);
}

void keystream_fini(struct keystream *k)
{
	explicit_bzero(k, sizeof *k);
}

void keystream_fill(struct keystream *k, void *bytes, size_t n)
{
	uint8_t *at = bytes;

	/* A state that was never given a key, or was wiped, must not pass for a random one. */
	assert(k->used >= sizeof k->key && k->used <= sizeof k->pool);
	while (n > 0) {
		if (k->used == sizeof k->pool)
			refill(k);
		size_t left = sizeof k->pool - k->used;
		size_t part = n < left ? n : left;

		memcpy(at, k->pool + k->used, part);
		memset(k->pool + k->used, 0, part);
		k->used += (uint32_t)part;
		at += part;
		n -= part;
	}
}

uint32_t keystream_u32(struct keystream *k)
{
	uint8_t b[4];

	keystream_fill(k, b, sizeof b);
	return get_le32(b);
}

uint64_t keystream_u64(struct keystream *k)
{
	uint8_t b[8];

	keystream_fill(k, b, sizeof b);
	return (uint64_t)get_le32(b + 4) << 32 | get_le32(b);
}

/* Lemire's method, as in prng_below, at half the width: what needs it here, numbers on the wire,
 * has at most 32 bits, and short draws spend less of the stream. */
uint32_t keystream_below(struct keystream *k, uint32_t bound)
{
	assert(bound > 0);
	uint64_t product = (uint64_t)keystream_u32(k) * bound;

	if ((uint32_t)product < bound) {
		uint32_t excess = -bound % bound;

		while ((uint32_t)product < excess)
			product = (uint64_t)keystream_u32(k) * bound;
	}
	return (uint32_t)(product >> 32);
}
