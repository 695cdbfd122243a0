/* The responder's books of packets (7.5): which of those at or after `expected` came. One in order
 * moves expected and leaves no trace; chunks are taken for those ahead of a gap alone, and given
 * back as soon as expected is past them. */
#include <assert.h>

#include "mrc/state.h"

#define WORD_BITS 64u

/* Counts that are tracked lie within max_mpr chunks from expected on, begun ones included, so no
 * two of them share a place. */
static uint32_t *place_of(const struct mrc_qp *q, uint64_t n)
{
	return &q->resp.chunks[n / MRC_TRACK & (q->resp.n_chunks - 1)];
}

static struct mrc_track *track_of(const struct mrc *m, const struct mrc_qp *q, uint64_t n)
{
	uint32_t chunk = *place_of(q, n);

	return chunk == MRC_NO_CHUNK ? NULL : pool_at(&m->tracks, chunk);
}

static void release(struct mrc *m, struct mrc_qp *q, uint64_t n)
{
	uint32_t *place = place_of(q, n);

	if (*place == MRC_NO_CHUNK)
		return;
	pool_put(&m->tracks, pool_at(&m->tracks, *place));
	*place = MRC_NO_CHUNK;
	q->resp.n_held--;
}

bool mrc_track_has(const struct mrc *m, const struct mrc_qp *q, uint64_t n)
{
	if (n >= q->resp.seen)
		return false;
	const struct mrc_track *t = track_of(m, q, n);
	uint32_t i = n % MRC_TRACK;

	return t && (t->got[i / WORD_BITS] >> i % WORD_BITS & 1);
}

bool mrc_track_reserve(struct mrc *m, struct mrc_qp *q, uint64_t n)
{
	uint32_t *place = place_of(q, n);

	if (n == q->resp.expected || *place != MRC_NO_CHUNK)
		return true;
	struct mrc_track *t = pool_get(&m->tracks);

	if (!t)
		return false;
	*t = (struct mrc_track){0};
	*place = pool_index(&m->tracks, t);
	q->resp.n_held++;
	return true;
}

void mrc_track_cancel(struct mrc *m, struct mrc_qp *q, uint64_t n)
{
	const struct mrc_track *t = n == q->resp.expected ? NULL : track_of(m, q, n);

	if (t && !(t->got[0] | t->got[1]))
		release(m, q, n);
}

static void add_next(struct mrc *m, struct mrc_qp *q, bool is_end)
{
	struct mrc_responder *p = &q->resp;

	p->expected++;
	p->msn = (p->msn + is_end) & MRC_MSN_MASK;
	if (p->seen < p->expected)
		p->seen = p->expected;
	if (p->n_held > 0 && p->expected % MRC_TRACK == 0)
		release(m, q, p->expected - 1);
}

void mrc_track_add(struct mrc *m, struct mrc_qp *q, uint64_t n, bool is_end)
{
	struct mrc_responder *p = &q->resp;

	if (n == p->expected) {
		add_next(m, q, is_end);
		return;
	}
	struct mrc_track *t = track_of(m, q, n);
	uint32_t i = n % MRC_TRACK;

	assert(t && n > p->expected);
	t->got[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
	t->ends[i / WORD_BITS] |= (uint64_t)is_end << i % WORD_BITS;
	p->n_early++;
	if (p->seen <= n)
		p->seen = n + 1;
}

/* expected moves over those that are here in its own word, `most` at most; returns how many. */
static uint32_t run_word(struct mrc_responder *p, const struct mrc_track *t, uint64_t most)
{
	uint32_t i = p->expected % MRC_TRACK;
	uint64_t missing = ~(t->got[i / WORD_BITS] >> i % WORD_BITS);
	uint64_t ends = t->ends[i / WORD_BITS] >> i % WORD_BITS;
	uint32_t n = missing == 0 ? WORD_BITS : (uint32_t)__builtin_ctzll(missing);

	if (n > most)
		n = (uint32_t)most;
	if (n == 0)
		return 0;
	ends &= UINT64_MAX >> (WORD_BITS - n);
	p->msn = (p->msn + (uint32_t)__builtin_popcountll(ends)) & MRC_MSN_MASK;
	p->expected += n;
	p->n_early -= n;
	return n;
}

void mrc_track_run(struct mrc *m, struct mrc_qp *q, uint64_t limit)
{
	struct mrc_responder *p = &q->resp;

	/* Each turn but the last passes a word, and there are two in each chunk held. */
	while (p->n_early > 0 && p->expected < limit) {
		const struct mrc_track *t = track_of(m, q, p->expected);

		if (!t || run_word(p, t, limit - p->expected) == 0)
			break;
		if (p->expected % MRC_TRACK == 0)
			release(m, q, p->expected - 1);
	}
	if (p->n_early == 0 && p->n_held > 0)
		release(m, q, p->expected);
}

/* Counts 64 * k and on, as far as they are tracked. */
static uint64_t word_of(const struct mrc *m, const struct mrc_qp *q, uint64_t k)
{
	uint64_t n = k * WORD_BITS;

	if (n >= q->resp.seen)
		return 0;
	const struct mrc_track *t = track_of(m, q, n);

	return t ? t->got[n % MRC_TRACK / WORD_BITS] : 0;
}

uint64_t mrc_track_map(const struct mrc *m, const struct mrc_qp *q, uint64_t from)
{
	/* What is acknowledged is here. */
	uint32_t lead = from + 1 == q->resp.expected;
	uint64_t at = from + lead;
	uint32_t shift = at % WORD_BITS;

	assert(at >= q->resp.expected);
	if (q->resp.n_early == 0)
		return lead;
	uint64_t map = word_of(m, q, at / WORD_BITS) >> shift;

	if (shift > 0)
		map |= word_of(m, q, at / WORD_BITS + 1) << (WORD_BITS - shift);
	return map << lead | lead;
}

void mrc_track_clear(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_responder *p = &q->resp;

	for (uint32_t i = 0; i < p->n_chunks && p->n_held > 0; i++)
		release(m, q, (uint64_t)i * MRC_TRACK);
	p->n_early = 0;
}
