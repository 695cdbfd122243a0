#include <assert.h>

#include "mrc/state.h"

/* Bits from ... from + n - 1 of a word, n at least 1. */
static uint64_t bits(uint32_t from, uint64_t n)
{
	return (n < MRC_FLIGHT ? (UINT64_C(1) << n) - 1 : UINT64_MAX) << from;
}

static uint32_t place_of(uint64_t n)
{
	return (uint32_t)(n % MRC_FLIGHT);
}

static uint64_t bit_of(uint64_t n)
{
	return UINT64_C(1) << place_of(n);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t *slot_of(const struct mrc_qp *q, uint64_t n)
{
	return &q->req.chunks[n / MRC_FLIGHT & (q->req.n_chunks - 1)];
}

struct mrc_flight *mrc_flight_of(const struct mrc *m, const struct mrc_qp *q, uint64_t n)
{
	return pool_at(&m->flights, *slot_of(q, n));
}

bool mrc_flight_reserve(struct mrc *m, struct mrc_qp *q)
{
	const struct mrc_requester *req = &q->req;

	if (req->next > req->una && place_of(req->next) > 0)
		return true;
	assert(req->next - req->una < (uint64_t)(req->n_chunks - 1) * MRC_FLIGHT);
	struct mrc_flight *f = pool_get(&m->flights);

	if (!f)
		return false;
	f->acked = f->lost = f->retx = f->more = f->reported = 0;
	*slot_of(q, req->next) = pool_index(&m->flights, f);
	return true;
}

static void put_chunk(struct mrc *m, const struct mrc_qp *q, uint64_t n)
{
	pool_put(&m->flights, mrc_flight_of(m, q, n));
	mrc_offer_chunk(m);
}

/* Times of packets are kept short: what is now tells the rest. */
static nsec whole_time(const struct mrc *m, uint32_t at)
{
	uint64_t now = m->now >> MRC_SENT_SHIFT;

	return (now - ((uint32_t)now - at)) << MRC_SENT_SHIFT;
}

nsec mrc_flight_time(const struct mrc *m, const struct mrc_qp *q, uint64_t n)
{
	return whole_time(m, mrc_flight_of(m, q, n)->sent[place_of(n)].at);
}

const struct mrc_sent *mrc_flight_sent_at(const struct mrc *m, const struct mrc_qp *q, uint64_t n,
					  bool *is_retx)
{
	const struct mrc_flight *f = mrc_flight_of(m, q, n);

	assert(n >= q->req.una && n < q->req.next);
	*is_retx = f->retx & bit_of(n);
	return &f->sent[place_of(n)];
}

bool mrc_flight_is_thrice(const struct mrc *m, const struct mrc_qp *q, uint64_t n)
{
	return mrc_flight_of(m, q, n)->more & bit_of(n);
}

void mrc_flight_sent(struct mrc *m, struct mrc_qp *q, uint64_t n, uint32_t way, uint32_t bytes)
{
	struct mrc_requester *req = &q->req;
	struct mrc_flight *f = mrc_flight_of(m, q, n);
	struct mrc_sent *sent = &f->sent[place_of(n)];

	assert(n >= req->una && n <= req->next && bytes <= UINT16_MAX);
	if (n == req->next) {
		sent->tries = 0;
		sent->moves = req->n_moves;
		req->next++;
		m->count.tx_data++;
	} else {
		assert(f->lost & bit_of(n));
		f->lost &= ~bit_of(n);
		f->more |= f->retx & bit_of(n);
		f->retx |= bit_of(n);
		req->n_lost--;
		req->n_retx++;
		m->count.tx_retx++;
	}
	sent->at = (uint32_t)(m->now >> MRC_SENT_SHIFT);
	sent->way = (uint16_t)way;
	sent->bytes = (uint16_t)bytes;
	req->out_bytes += bytes;
}

static void note_times(const struct mrc *m, const struct mrc_flight *f, uint64_t from,
		       uint64_t fresh, struct mrc_news *news)
{
	uint64_t once = fresh & ~f->retx, retx = fresh & f->retx;

	if (once) {
		/* The first time, packets go in their order. */
		nsec first = whole_time(m, f->sent[__builtin_ctzll(once)].at);
		uint32_t top = 63 - (uint32_t)__builtin_clzll(once);

		if (news->oldest == 0 || first < news->oldest)
			news->oldest = first;
		if (from + top >= news->newest_end) {
			news->newest = whole_time(m, f->sent[top].at);
			news->newest_end = from + top + 1;
		}
	}
	for (; retx; retx &= retx - 1) {
		nsec at = whole_time(m, f->sent[__builtin_ctzll(retx)].at);

		if (at > news->retx_at)
			news->retx_at = at;
	}
}

/* Packets that were sent once arrived: what is suspected of their ways may be wrong. */
static void note_ways(struct mrc *m, struct mrc_qp *q, const struct mrc_flight *f, uint64_t once)
{
	for (; once; once &= once - 1) {
		const struct mrc_sent *sent = &f->sent[__builtin_ctzll(once)];

		mrc_way_arrived(m, q, sent->way, whole_time(m, sent->at));
	}
	mrc_ways_changed(m, q);
}

/* The peer has the packets of these bits of the chunk of n. */
static void note(struct mrc *m, struct mrc_qp *q, uint64_t n, uint64_t which, struct mrc_news *news)
{
	struct mrc_requester *req = &q->req;
	struct mrc_flight *f = mrc_flight_of(m, q, n);
	uint64_t fresh = which & ~f->acked, lost = fresh & f->lost, once = fresh & ~f->retx;

	if (!fresh)
		return;
	note_times(m, f, n - place_of(n), fresh, news);
	f->acked |= fresh;
	if (lost) {
		uint32_t n_lost = (uint32_t)__builtin_popcountll(lost);

		/* 7.4.4: what arrived after all is not retransmitted (MRC-7.4.4-02). */
		f->lost &= ~lost;
		req->n_lost -= n_lost;
		m->count.spared += n_lost;
	}
	for (; fresh; fresh &= fresh - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(fresh), bytes = f->sent[i].bytes;

		news->pkts++;
		req->acked_bytes += bytes;
		if (!(lost >> i & 1))
			req->out_bytes -= bytes;
		req->n_early++;
	}
	if (req->path.suspect || req->doubted)
		note_ways(m, q, f, once);
}

void mrc_flight_acked(struct mrc *m, struct mrc_qp *q, uint64_t from, uint64_t map,
		      struct mrc_news *news)
{
	struct mrc_requester *req = &q->req;

	if (from < req->una) {
		map = req->una - from < 64 ? map >> (req->una - from) : 0;
		from = req->una;
	}
	if (!map)
		return;
	assert(from + 63 - (uint32_t)__builtin_clzll(map) < req->next);
	uint32_t place = place_of(from);
	uint64_t low = map << place, high = place > 0 ? map >> (MRC_FLIGHT - place) : 0;

	if (low)
		note(m, q, from, low, news);
	if (high)
		note(m, q, from + MRC_FLIGHT, high, news);
}

/* una moves over n packets of its chunk, all of which the peer has. */
static void pass(struct mrc *m, struct mrc_qp *q, uint64_t n)
{
	struct mrc_requester *req = &q->req;

	req->n_early -= (uint32_t)n;
	req->una += n;
	if (place_of(req->una) == 0 || req->una == req->next)
		put_chunk(m, q, req->una - 1);
}

void mrc_flight_advance(struct mrc *m, struct mrc_qp *q, uint64_t to, struct mrc_news *news)
{
	struct mrc_requester *req = &q->req;
	uint64_t una = req->una;

	assert(to >= req->una && to <= req->next);
	while (req->una < to) {
		uint32_t place = place_of(req->una);
		uint64_t n = least(to - req->una, MRC_FLIGHT - place);

		note(m, q, req->una, bits(place, n), news);
		pass(m, q, n);
	}
	while (req->n_early > 0) {
		uint32_t place = place_of(req->una);
		uint64_t gaps = ~mrc_flight_of(m, q, req->una)->acked >> place;
		uint64_t n = gaps ? (uint64_t)__builtin_ctzll(gaps) : MRC_FLIGHT;

		if (n == 0)
			break;
		pass(m, q, least(n, MRC_FLIGHT - place));
	}
	req->n_moves = (uint8_t)(req->n_moves + (req->una > una));
	if (req->lost_from < req->una)
		req->lost_from = req->una;
	if (req->judged < req->una)
		req->judged = req->una;
}

bool mrc_flight_lost(struct mrc *m, struct mrc_qp *q, uint64_t n)
{
	struct mrc_requester *req = &q->req;
	struct mrc_flight *f = mrc_flight_of(m, q, n);

	assert(n >= req->una && n < req->next);
	if ((f->acked | f->lost) & bit_of(n))
		return false;
	f->lost |= bit_of(n);
	req->out_bytes -= f->sent[place_of(n)].bytes;
	/* Where nothing is out any more, what the peer is ahead by is forgotten, but for the way it
	 * rounds (M-62). */
	if (req->out_bytes == 0 && req->reported_bytes > req->acked_bytes + MRC_RCVD_UNIT)
		req->reported_bytes = req->acked_bytes;
	if (req->n_lost++ == 0 || n < req->lost_from)
		req->lost_from = n;
	return true;
}

uint64_t mrc_flight_next_lost(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	if (req->n_lost == 0)
		return MRC_NONE;
	/* One of them is lost: the loop ends before next. */
	for (;;) {
		uint32_t place = place_of(req->lost_from);
		uint64_t lost;

		assert(req->lost_from < req->next);
		lost = mrc_flight_of(m, q, req->lost_from)->lost >> place;
		if (lost) {
			req->lost_from += (uint32_t)__builtin_ctzll(lost);
			return req->lost_from;
		}
		req->lost_from += MRC_FLIGHT - place;
	}
}

void mrc_flight_forget_ways(struct mrc *m, struct mrc_qp *q)
{
	for (uint64_t n = q->req.una; n < q->req.next; n++)
		mrc_flight_of(m, q, n)->sent[place_of(n)].way = MRC_NO_WAY;
}

void mrc_flight_clear(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	while (req->una < req->next) {
		uint64_t n = least(req->next - req->una, MRC_FLIGHT - place_of(req->una));

		req->una += n;
		put_chunk(m, q, req->una - 1);
	}
	req->n_early = req->n_lost = 0;
	req->out_bytes = 0;
	req->lost_from = req->judged = req->reported = req->una;
}
