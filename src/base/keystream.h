/* Random numbers a peer must not guess: first sequence numbers, queue numbers, keys, cookies.
 *
 * ChaCha20 (RFC 8439) run as a generator with fast key erasure: each refill's first 32 bytes
 * replace the key that made it, and bytes are wiped as they are handed out, so whoever reads the
 * state later learns nothing of earlier outputs. The output is one stream of bytes, the same for
 * the same key on every machine, however it is cut into calls. Secret if and only if the key is:
 * production takes it from the operating system (io/osrandom.h). One thread at a time. Two copies
 * of a state repeat each other: copy none, and start anew in a forked child. */
#ifndef WEFT_BASE_KEYSTREAM_H
#define WEFT_BASE_KEYSTREAM_H

#include <stddef.h>
#include <stdint.h>

#define CHACHA20_KEY_BYTES   32
#define CHACHA20_NONCE_BYTES 12
#define CHACHA20_BLOCK_BYTES 64

/* Blocks made at a time: a refill spends half a block on the next key. */
#define KEYSTREAM_BLOCKS 4

/* Invariant: used is at least the size of key, which a state of all zeros breaks; the bytes of pool
 * before used are zero, and nobody has seen the rest. */
struct keystream {
	uint8_t key[CHACHA20_KEY_BYTES];
	uint8_t pool[KEYSTREAM_BLOCKS * CHACHA20_BLOCK_BYTES];
	uint32_t used;
};

/* The ChaCha20 block function, RFC 8439 section 2.3. out does not overlap key or nonce. */
void chacha20_block(uint8_t out[CHACHA20_BLOCK_BYTES], const uint8_t key[CHACHA20_KEY_BYTES],
		    uint32_t counter, const uint8_t nonce[CHACHA20_NONCE_BYTES]);

/* Starts the stream of key, which is copied: the caller wipes its own. */
void keystream_init(struct keystream *k, const uint8_t key[CHACHA20_KEY_BYTES]);

/* Starts the stream of a key computed from seed. NOT secret: 64 bits, often a small number, that
 * logs print. For simulation and tests, which must repeat. */
void keystream_from_seed(struct keystream *k, uint64_t seed);

/* Wipes the state; drawing from it before the next init fails an assert. */
void keystream_fini(struct keystream *k);

/* The next four, or eight, bytes of the stream as a number, low byte first. */
uint32_t keystream_u32(struct keystream *k);
uint64_t keystream_u64(struct keystream *k);

/* A number in [0, bound), each exactly as likely as any other. bound > 0. */
uint32_t keystream_below(struct keystream *k, uint32_t bound);

/* The next n bytes of the stream. bytes may be NULL if n is 0. */
void keystream_fill(struct keystream *k, void *bytes, size_t n);

#endif
