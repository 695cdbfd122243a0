#include "engine/sent.h"

/* Bits from ... from + n - 1 of a word, n at least 1. */
static uint64_t bits(uint32_t from, uint64_t n)
{
	return (n < ENGINE_SENT_PKTS ? (UINT64_C(1) << n) - 1 : UINT64_MAX) << from;
}

static uint64_t bit_of(uint64_t n)
{
	return UINT64_C(1) << engine_sent_place(n);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void engine_sent_init(struct engine_sent *s, struct pool *pool, uint32_t *chunks, uint32_t n_chunks)
{
	assert(n_chunks > 0 && (n_chunks & (n_chunks - 1)) == 0);
	*s = (struct engine_sent){.pool = pool, .chunks = chunks, .n_chunks = n_chunks};
}

bool engine_sent_reserve(struct engine_sent *s)
{
	if (s->next > s->una && engine_sent_place(s->next) > 0)
		return true;
	assert(s->next - s->una < (uint64_t)(s->n_chunks - 1) * ENGINE_SENT_PKTS);
	struct engine_sent_chunk *c = pool_get(s->pool);

	if (!c)
		return false;
	c->acked = c->lost = c->retx = c->more = c->marks = 0;
	s->chunks[s->next / ENGINE_SENT_PKTS & (s->n_chunks - 1)] = pool_index(s->pool, c);
	return true;
}

void engine_sent_sent(struct engine_sent *s, nsec now, uint64_t n, uint32_t user, uint32_t bytes)
{
	struct engine_sent_chunk *c = engine_sent_chunk(s, n);
	struct engine_sent_pkt *pkt = &c->pkts[engine_sent_place(n)];

	assert(n >= s->una && n <= s->next && bytes <= UINT16_MAX);
	if (n == s->next) {
		pkt->tries = 0;
		pkt->moves = s->n_moves;
		s->next++;
	} else {
		assert(c->lost & bit_of(n));
		c->lost &= ~bit_of(n);
		c->more |= c->retx & bit_of(n);
		c->retx |= bit_of(n);
		s->n_lost--;
	}
	pkt->at = (uint32_t)(now >> ENGINE_SENT_SHIFT);
	pkt->user = user;
	pkt->bytes = (uint16_t)bytes;
	s->out_bytes += bytes;
}

/* The bits of map from una on, which *from is raised to. */
static uint64_t from_una(const struct engine_sent *s, uint64_t *from, uint64_t map)
{
	if (*from < s->una) {
		map = s->una - *from < 64 ? map >> (s->una - *from) : 0;
		*from = s->una;
	}
	assert(!map || *from + 63 - (uint32_t)__builtin_clzll(map) < s->next);
	return map;
}

uint64_t engine_sent_once(const struct engine_sent *s, uint64_t from, uint64_t map)
{
	uint64_t at = from, left = from_una(s, &at, map), once = 0;

	for (; left; left &= left - 1) {
		uint64_t n = at + (uint32_t)__builtin_ctzll(left);
		const struct engine_sent_chunk *c = engine_sent_chunk(s, n);

		if (!((c->acked | c->retx) & bit_of(n)))
			once |= UINT64_C(1) << (n - from);
	}
	return once;
}

static void note_times(nsec now, const struct engine_sent_chunk *c, uint64_t from, uint64_t fresh,
		       struct engine_sent_news *news)
{
	uint64_t once = fresh & ~c->retx, retx = fresh & c->retx;

	if (once) {
		/* The first time, packets go in their order. */
		nsec first = engine_sent_whole(now, c->pkts[__builtin_ctzll(once)].at);
		uint32_t top = 63 - (uint32_t)__builtin_clzll(once);

		if (news->oldest == 0 || first < news->oldest)
			news->oldest = first;
		if (from + top >= news->newest_end) {
			news->newest = engine_sent_whole(now, c->pkts[top].at);
			news->newest_end = from + top + 1;
		}
	}
	for (; retx; retx &= retx - 1) {
		nsec at = engine_sent_whole(now, c->pkts[__builtin_ctzll(retx)].at);

		if (at > news->retx_at)
			news->retx_at = at;
	}
}

/* The peer has the packets of these bits of the chunk of n. */
static void note(struct engine_sent *s, nsec now, uint64_t n, uint64_t which,
		 struct engine_sent_news *news)
{
	struct engine_sent_chunk *c = engine_sent_chunk(s, n);
	uint64_t fresh = which & ~c->acked, lost = fresh & c->lost;

	if (!fresh)
		return;
	note_times(now, c, n - engine_sent_place(n), fresh, news);
	c->acked |= fresh;
	if (lost) {
		uint32_t n_lost = (uint32_t)__builtin_popcountll(lost);

		c->lost &= ~lost;
		s->n_lost -= n_lost;
		news->spared += n_lost;
	}
	for (; fresh; fresh &= fresh - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(fresh), bytes = c->pkts[i].bytes;

		news->pkts++;
		s->acked_bytes += bytes;
		if (!(lost >> i & 1))
			s->out_bytes -= bytes;
		s->n_early++;
	}
}

void engine_sent_acked(struct engine_sent *s, nsec now, uint64_t from, uint64_t map,
		       struct engine_sent_news *news)
{
	map = from_una(s, &from, map);
	if (!map)
		return;
	uint32_t place = engine_sent_place(from);
	uint64_t low = map << place, high = place > 0 ? map >> (ENGINE_SENT_PKTS - place) : 0;

	if (low)
		note(s, now, from, low, news);
	if (high)
		note(s, now, from + ENGINE_SENT_PKTS, high, news);
}

/* una moves over n packets of its chunk, all of which the peer has; 1: the chunk went back. */
static uint32_t pass(struct engine_sent *s, uint64_t n)
{
	s->n_early -= (uint32_t)n;
	s->una += n;
	if (engine_sent_place(s->una) > 0 && s->una < s->next)
		return 0;
	pool_put(s->pool, engine_sent_chunk(s, s->una - 1));
	return 1;
}

uint32_t engine_sent_advance(struct engine_sent *s, nsec now, uint64_t to,
			     struct engine_sent_news *news)
{
	uint64_t una = s->una;
	uint32_t n_back = 0;

	assert(to >= s->una && to <= s->next);
	while (s->una < to) {
		uint32_t place = engine_sent_place(s->una);
		uint64_t n = least(to - s->una, ENGINE_SENT_PKTS - place);

		note(s, now, s->una, bits(place, n), news);
		n_back += pass(s, n);
	}
	while (s->n_early > 0) {
		uint32_t place = engine_sent_place(s->una);
		uint64_t gaps = ~engine_sent_chunk(s, s->una)->acked >> place;
		uint64_t n = gaps ? (uint64_t)__builtin_ctzll(gaps) : ENGINE_SENT_PKTS;

		if (n == 0)
			break;
		n_back += pass(s, least(n, ENGINE_SENT_PKTS - place));
	}
	s->n_moves = (uint8_t)(s->n_moves + (s->una > una));
	if (s->lost_from < s->una)
		s->lost_from = s->una;
	return n_back;
}

bool engine_sent_lost(struct engine_sent *s, uint64_t n)
{
	struct engine_sent_chunk *c = engine_sent_chunk(s, n);

	assert(n >= s->una && n < s->next);
	if ((c->acked | c->lost) & bit_of(n))
		return false;
	c->lost |= bit_of(n);
	s->out_bytes -= c->pkts[engine_sent_place(n)].bytes;
	if (s->n_lost++ == 0 || n < s->lost_from)
		s->lost_from = n;
	return true;
}

uint64_t engine_sent_next_lost(struct engine_sent *s)
{
	if (s->n_lost == 0)
		return ENGINE_SENT_NONE;
	/* One of them is lost: the loop ends before next. */
	for (;;) {
		uint32_t place = engine_sent_place(s->lost_from);
		uint64_t lost;

		assert(s->lost_from < s->next);
		lost = engine_sent_chunk(s, s->lost_from)->lost >> place;
		if (lost) {
			s->lost_from += (uint32_t)__builtin_ctzll(lost);
			return s->lost_from;
		}
		s->lost_from += ENGINE_SENT_PKTS - place;
	}
}

uint32_t engine_sent_clear(struct engine_sent *s, uint64_t next)
{
	uint32_t n_back = 0;

	assert(next >= s->next);
	while (s->una < s->next) {
		s->una += least(s->next - s->una, ENGINE_SENT_PKTS - engine_sent_place(s->una));
		pool_put(s->pool, engine_sent_chunk(s, s->una - 1));
		n_back++;
	}
	s->n_early = s->n_lost = 0;
	s->out_bytes = 0;
	s->una = s->next = s->lost_from = next;
	return n_back;
}

uint32_t engine_sent_reset(struct engine_sent *s)
{
	uint32_t n_back = engine_sent_clear(s, s->next);

	engine_sent_init(s, s->pool, s->chunks, s->n_chunks);
	return n_back;
}

uint8_t *engine_sent_tries(struct engine_sent *s, uint64_t n)
{
	struct engine_sent_pkt *pkt = engine_sent_at(s, n);

	if (pkt->moves != s->n_moves) {
		pkt->moves = s->n_moves;
		pkt->tries = 0;
	}
	return &pkt->tries;
}
