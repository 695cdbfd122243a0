/* A window of bits that slides: which of the next `size` packets were seen, or acknowledged.
 *
 * Index 0 is the window's base; sliding drops the lowest bits and renumbers the rest. The bits lie
 * in a ring of words that the caller owns, so a slide costs the words it drops, not the window.
 * Invariant: every bit of the ring outside the window is zero, so what enters at the top, or by
 * growing, is clear. Receivers, senders and builders of SACK maps call this. */
#ifndef WEFT_BASE_WINDOW_H
#define WEFT_BASE_WINDOW_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define WINDOW_BITS_MAX 32640u

/* Words of memory that a window of so many bits needs. */
#define WINDOW_WORDS(bits) (((bits) + 63u) / 64u)

struct window {
	uint64_t *words;
	uint32_t n_words;
	uint32_t size; /* bits, 1 .. 64 * n_words */
	uint32_t head; /* where index 0 lies in the ring, < 64 * n_words */
};

/* Indexes from .. end - 1; empty unless from < end. */
struct window_range {
	uint32_t from, end;
};

/* 128 bits: index i of the request is bit i of lo, index 64 + i is bit i of hi. */
struct window_pair {
	uint64_t lo, hi;
};

/* Starts an all-clear window of size bits, 1 .. 64 * n_words, at most WINDOW_BITS_MAX. Lends words
 * to the window for its life; words beyond WINDOW_WORDS(size) leave room for window_resize. */
void window_init(struct window *w, uint32_t size, uint64_t *words, uint32_t n_words);

/* Clears every bit; the size stays. */
void window_clear(struct window *w);

/* Changes the size: a larger window gets clear bits at the top, a smaller one loses its top bits.
 * False, and nothing changed, when size is 0 or beyond the memory given to window_init. */
bool window_resize(struct window *w, uint32_t size);

/* Drops the n lowest bits: index i becomes i - n, and clear bits enter at the top. n may exceed
 * the size, which clears the window. */
void window_shift(struct window *w, uint32_t n);

/* The lowest clear index >= from, or size when there is none. */
uint32_t window_next_hole(const struct window *w, uint32_t from);

/* The lowest set index >= from, or size when there is none. */
uint32_t window_next_set(const struct window *w, uint32_t from);

/* The highest set index, or -1 when all are clear. */
int32_t window_last(const struct window *w);

/* How many bits of the range are set; the part of it beyond the window counts nothing. */
uint32_t window_count_range(const struct window *w, struct window_range r);

/* The 64, or 128, bits from index `from` on, the lowest first; bits beyond the window are 0. */
uint64_t window_get64(const struct window *w, uint32_t from);
struct window_pair window_get128(const struct window *w, uint32_t from);

/* Where index i lies in the ring. i <= 64 * n_words. */
static inline uint32_t window_place(const struct window *w, uint32_t i)
{
	uint32_t at = w->head + i, ring = 64 * w->n_words;

	return at < ring ? at : at - ring;
}

/* Sets index i < size. */
static inline void window_set(struct window *w, uint32_t i)
{
	assert(i < w->size);
	uint32_t at = window_place(w, i);

	w->words[at / 64] |= UINT64_C(1) << at % 64;
}

/* Clears index i < size. */
static inline void window_unset(struct window *w, uint32_t i)
{
	assert(i < w->size);
	uint32_t at = window_place(w, i);

	w->words[at / 64] &= ~(UINT64_C(1) << at % 64);
}

/* Whether index i < size is set. */
static inline bool window_test(const struct window *w, uint32_t i)
{
	assert(i < w->size);
	uint32_t at = window_place(w, i);

	return w->words[at / 64] >> at % 64 & 1;
}

/* The lowest clear index, or size: the length of the run of set bits at the bottom, which is how
 * far a cumulative acknowledgement may move. */
static inline uint32_t window_first_hole(const struct window *w)
{
	return window_next_hole(w, 0);
}

/* How many bits are set. */
static inline uint32_t window_count(const struct window *w)
{
	return window_count_range(w, (struct window_range){0, w->size});
}

#endif
