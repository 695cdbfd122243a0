#include "engine/seen.h"

#include <assert.h>

#define WORD_BITS 64u
#define NO_CHUNK  UINT32_MAX

static uint32_t *place_of(const struct engine_seen *s, uint64_t n)
{
	return &s->chunks[n / ENGINE_SEEN_PKTS & (s->n_chunks - 1)];
}

static struct engine_seen_chunk *chunk_of(const struct engine_seen *s, uint64_t n)
{
	uint32_t chunk = *place_of(s, n);

	return chunk == NO_CHUNK ? NULL : pool_at(s->pool, chunk);
}

static void release(struct engine_seen *s, uint64_t n)
{
	uint32_t *place = place_of(s, n);

	if (*place == NO_CHUNK)
		return;
	pool_put(s->pool, pool_at(s->pool, *place));
	*place = NO_CHUNK;
	s->n_held--;
}

void engine_seen_init(struct engine_seen *s, struct pool *pool, uint32_t *chunks, uint32_t n_chunks)
{
	assert(n_chunks > 0 && (n_chunks & (n_chunks - 1)) == 0);
	*s = (struct engine_seen){.pool = pool, .chunks = chunks, .n_chunks = n_chunks};
	for (uint32_t i = 0; i < n_chunks; i++)
		chunks[i] = NO_CHUNK;
}

void engine_seen_reset(struct engine_seen *s)
{
	engine_seen_clear(s);
	s->expected = s->end = 0;
}

void engine_seen_clear(struct engine_seen *s)
{
	for (uint32_t i = 0; i < s->n_chunks && s->n_held > 0; i++)
		release(s, (uint64_t)i * ENGINE_SEEN_PKTS);
	s->n_early = 0;
}

bool engine_seen_has(const struct engine_seen *s, uint64_t n)
{
	if (n >= s->end)
		return false;
	const struct engine_seen_chunk *c = chunk_of(s, n);
	uint32_t i = n % ENGINE_SEEN_PKTS;

	return c && (c->got[i / WORD_BITS] >> i % WORD_BITS & 1);
}

bool engine_seen_reserve(struct engine_seen *s, uint64_t n)
{
	uint32_t *place = place_of(s, n);

	if (n == s->expected || *place != NO_CHUNK)
		return true;
	struct engine_seen_chunk *c = pool_get(s->pool);

	if (!c)
		return false;
	*c = (struct engine_seen_chunk){0};
	*place = pool_index(s->pool, c);
	s->n_held++;
	return true;
}

void engine_seen_cancel(struct engine_seen *s, uint64_t n)
{
	const struct engine_seen_chunk *c = n == s->expected ? NULL : chunk_of(s, n);

	if (c && !(c->got[0] | c->got[1]))
		release(s, n);
}

static void add_next(struct engine_seen *s)
{
	s->expected++;
	if (s->end < s->expected)
		s->end = s->expected;
	if (s->n_held > 0 && s->expected % ENGINE_SEEN_PKTS == 0)
		release(s, s->expected - 1);
}

uint32_t engine_seen_add(struct engine_seen *s, uint64_t n, bool is_marked)
{
	if (n == s->expected) {
		add_next(s);
		return is_marked;
	}
	struct engine_seen_chunk *c = chunk_of(s, n);
	uint32_t i = n % ENGINE_SEEN_PKTS;

	assert(c && n > s->expected);
	c->got[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
	c->marks[i / WORD_BITS] |= (uint64_t)is_marked << i % WORD_BITS;
	s->n_early++;
	if (s->end <= n)
		s->end = n + 1;
	return 0;
}

/* expected moves over those that are here in its own word, `most` at most; returns how many, and
 * adds those of them that are marked to *n_marked. */
static uint32_t run_word(struct engine_seen *s, const struct engine_seen_chunk *c, uint64_t most,
			 uint32_t *n_marked)
{
	uint32_t i = s->expected % ENGINE_SEEN_PKTS;
	uint64_t missing = ~(c->got[i / WORD_BITS] >> i % WORD_BITS);
	uint64_t marks = c->marks[i / WORD_BITS] >> i % WORD_BITS;
	uint32_t n = missing == 0 ? WORD_BITS : (uint32_t)__builtin_ctzll(missing);

	if (n > most)
		n = (uint32_t)most;
	if (n == 0)
		return 0;
	marks &= UINT64_MAX >> (WORD_BITS - n);
	*n_marked += (uint32_t)__builtin_popcountll(marks);
	s->expected += n;
	s->n_early -= n;
	return n;
}

uint32_t engine_seen_run(struct engine_seen *s, uint64_t limit)
{
	uint32_t n_marked = 0;

	/* Each turn but the last passes a word, and there are two in each chunk held. */
	while (s->n_early > 0 && s->expected < limit) {
		const struct engine_seen_chunk *c = chunk_of(s, s->expected);

		if (!c || run_word(s, c, limit - s->expected, &n_marked) == 0)
			break;
		if (s->expected % ENGINE_SEEN_PKTS == 0)
			release(s, s->expected - 1);
	}
	if (s->n_early == 0 && s->n_held > 0)
		release(s, s->expected);
	return n_marked;
}

/* Counts 64 * k and on, as far as they are tracked. */
static uint64_t word_of(const struct engine_seen *s, uint64_t k)
{
	uint64_t n = k * WORD_BITS;

	if (n >= s->end)
		return 0;
	const struct engine_seen_chunk *c = chunk_of(s, n);

	return c ? c->got[n % ENGINE_SEEN_PKTS / WORD_BITS] : 0;
}

uint64_t engine_seen_map(const struct engine_seen *s, uint64_t from)
{
	/* What is acknowledged is here. */
	uint32_t lead = from + 1 == s->expected;
	uint64_t at = from + lead;
	uint32_t shift = at % WORD_BITS;

	assert(at >= s->expected);
	if (s->n_early == 0)
		return lead;
	uint64_t map = word_of(s, at / WORD_BITS) >> shift;

	if (shift > 0)
		map |= word_of(s, at / WORD_BITS + 1) << (WORD_BITS - shift);
	return map << lead | lead;
}
