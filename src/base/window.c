#include "base/window.h"

#include <string.h>

/* The n lowest bits set; n is 1 .. 64. */
static uint64_t low_bits(uint32_t n)
{
	return UINT64_MAX >> (64 - n);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Clears n indexes from `from` on, all inside the window, a word at a time. */
static void wipe(struct window *w, uint32_t from, uint32_t n)
{
	uint32_t at = window_place(w, from), ring = 64 * w->n_words;

	while (n > 0) {
		uint32_t len = smaller(64 - at % 64, n);

		w->words[at / 64] &= ~(low_bits(len) << at % 64);
		n -= len;
		at = at + len < ring ? at + len : 0;
	}
}

void window_init(struct window *w, uint32_t size, uint64_t *words, uint32_t n_words)
{
	assert(n_words > 0 && n_words <= WINDOW_WORDS(WINDOW_BITS_MAX));
	assert(size > 0 && size <= 64 * n_words);
	memset(words, 0, n_words * sizeof *words);
	*w = (struct window){.words = words, .n_words = n_words, .size = size};
}

void window_clear(struct window *w)
{
	wipe(w, 0, w->size);
}

bool window_resize(struct window *w, uint32_t size)
{
	if (size == 0 || size > 64 * w->n_words)
		return false;
	if (size < w->size)
		wipe(w, size, w->size - size);
	w->size = size;
	return true;
}

void window_shift(struct window *w, uint32_t n)
{
	n = smaller(n, w->size);
	wipe(w, 0, n);
	w->head = window_place(w, n);
}

uint64_t window_get64(const struct window *w, uint32_t from)
{
	if (from >= w->size)
		return 0;
	uint32_t at = window_place(w, from), left = w->size - from;
	uint32_t word = at / 64, next = word + 1 < w->n_words ? word + 1 : 0;

	/* Two shifts, because at % 64 may be 0 and a shift by 64 is undefined. */
	uint64_t bits = w->words[word] >> at % 64 | w->words[next] << 1 << (63 - at % 64);

	return bits & low_bits(smaller(left, 64));
}

struct window_pair window_get128(const struct window *w, uint32_t from)
{
	if (from >= w->size)
		return (struct window_pair){0, 0};
	return (struct window_pair){window_get64(w, from), window_get64(w, from + 64)};
}

uint32_t window_next_hole(const struct window *w, uint32_t from)
{
	for (; from < w->size; from += 64) {
		/* Bits beyond the window read as holes, so a full window answers size. */
		uint64_t holes = ~window_get64(w, from);

		if (holes)
			return from + (uint32_t)__builtin_ctzll(holes);
	}
	return w->size;
}

uint32_t window_next_set(const struct window *w, uint32_t from)
{
	for (; from < w->size; from += 64) {
		uint64_t bits = window_get64(w, from);

		if (bits)
			return from + (uint32_t)__builtin_ctzll(bits);
	}
	return w->size;
}

int32_t window_last(const struct window *w)
{
	for (uint32_t from = w->size; from > 0;) {
		from -= smaller(from, 64);
		uint64_t bits = window_get64(w, from);

		if (bits)
			return (int32_t)from + 63 - __builtin_clzll(bits);
	}
	return -1;
}

uint32_t window_count_range(const struct window *w, struct window_range r)
{
	uint32_t n = 0, end = smaller(r.end, w->size);

	for (uint32_t from = r.from; from < end; from += 64) {
		uint64_t bits = window_get64(w, from) & low_bits(smaller(end - from, 64));

		n += (uint32_t)__builtin_popcountll(bits);
	}
	return n;
}
