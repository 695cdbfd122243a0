/* Random numbers for simulation and tests: fast, repeatable, and no secret from anybody.
 *
 * xoshiro256** (Blackman and Vigna), its state drawn from (seed, stream) by SplitMix64's mixer. One
 * seed gives as many streams as there are users: each host, link and fault draws from its own, so
 * that one more draw here shifts no number there. The same pair gives the same numbers on every
 * machine. What a peer must not guess comes from keystream.h instead. */
#ifndef WEFT_BASE_PRNG_H
#define WEFT_BASE_PRNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not all words zero, or the generator stands still; prng_init never leaves it so. */
struct prng {
	uint64_t s[4];
};

/* Starts stream number stream of seed; any values. Two streams of a seed differ in every word. */
void prng_init(struct prng *p, uint64_t seed, uint64_t stream);

/* Starts child number id of parent as it stands, without drawing from parent: children depend on
 * their own id, not on the order in which they are made. */
void prng_split(struct prng *child, const struct prng *parent, uint64_t id);

/* 64, or 32, uniform bits. Both draw one number. */
uint64_t prng_u64(struct prng *p);
uint32_t prng_u32(struct prng *p);

/* A number in [0, bound), each exactly as likely as any other. bound > 0. */
uint64_t prng_below(struct prng *p, uint64_t bound);

/* A number in [low, high], both included, each as likely as any other. low <= high. */
uint64_t prng_range(struct prng *p, uint64_t low, uint64_t high);

/* True with probability num / den exactly. num <= den, den > 0. Draws also when the answer is
 * certain, so that a probability turned to 0 or 1 shifts nothing after it. */
bool prng_chance(struct prng *p, uint64_t num, uint64_t den);

/* A multiple of 2^-53 in [0, 1), uniform. */
double prng_f64(struct prng *p);

/* Fills n bytes from the next (n + 7) / 8 numbers, each low byte first. */
void prng_fill(struct prng *p, void *bytes, size_t n);

/* SplitMix64: moves *state on and returns its next number. For keys and seeds derived from a seed;
 * the states of one sequence differ, so its first 2^64 numbers do too. */
uint64_t prng_splitmix64(uint64_t *state);

#endif
