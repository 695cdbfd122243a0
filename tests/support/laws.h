/* The laws of engine/engine.h, held against two ends of any transport on a wire that loses, doubles
 * and delays packets by a seed, in virtual time. Every call on an engine goes through here. */
#ifndef WEFT_TESTS_SUPPORT_LAWS_H
#define WEFT_TESTS_SUPPORT_LAWS_H

#include "base/bytes.h"
#include "check.h"
#include "room.h"
#include "row_end.h"

#define LAWS_FLIGHTS  4096u
#define LAWS_BATCH    16u
#define LAWS_BYTES    (ENGINE_HEAD_MAX + ROW_PMTU + 4)
#define LAWS_TURNS    200000u /* of anything that must come to its end */
#define LAWS_ALL      engine_may_all(0xff)
#define LAWS_CHAIN    (ROW_SENDS * ROW_PAIRS + 1)
#define LAWS_NONE     UINT32_MAX
#define LAWS_VERDICTS 64u
#define LAWS_COOKIES  64u  /* more than there are works of a queue */
#define LAWS_EVENTS   256u /* slots of a trace: more than one call makes */

/* A packet on its way. */
struct laws_flight {
	nsec at;
	uint64_t turn; /* among those of one moment: as sent */
	struct rx_pkt rx;
	uint32_t to, head_len, len;
	uint8_t bytes[LAWS_BYTES];
};

struct laws_pair {
	uint64_t posted, silent; /* sends, and those of them that ENGINE_SILENT was said of */
	uint64_t done, next;     /* sends reported; the next has at least this cookie */
	uint64_t recvs, due,
		taken; /* receives posted, that something comes for, that it came for */
	/* Of what was posted, by cookie % LAWS_COOKIES: a bit for what is taken back, and what
	 * sends are. */
	uint64_t back[2]; /* sends, receives */
	struct {
		uint8_t code;
		uint32_t len;
	} sends[LAWS_COOKIES];
	uint64_t bytes; /* that the sends will carry */
};

struct laws_world {
	struct row_end end[2];
	struct laws_pair pair[2][ROW_PAIRS];
	uint64_t lent[2], unreserved[2]; /* completions that no post reserves: lent, and reported */
	struct laws_flight flights[LAWS_FLIGHTS];
	struct laws_flight last; /* a copy of the one delivered last */
	uint32_t n_flights;
	uint64_t turn, hash;
	nsec now;
	struct prng drive, bad;
	uint32_t lose, twice; /* of 1000 */
	uint32_t flags;       /* of sends that are posted */
	void *ring[2];        /* lent for events; NULL: they are not traced */
	uint64_t n_traced[2];
	uint32_t classes[2]; /* of packets that left, a bit each */
};

/* Events are recorded from now on. */
static inline void laws_trace(struct laws_world *w)
{
	for (uint32_t i = 0; i < 2; i++) {
		w->ring[i] = calloc(1, trace_bytes(LAWS_EVENTS));
		assert_non_null(w->ring[i]);
		trace_lend(&w->end[i].trace, w->ring[i], LAWS_EVENTS);
	}
}

/* The next event of a packet that an end recorded; NULL: there is none. */
static inline const struct trace_event *laws_event(struct laws_world *w, uint32_t side)
{
	static struct trace_event e;
	uint64_t lost = 0;

	while (trace_take(&w->end[side].trace, &w->n_traced[side], &e, 1, &lost))
		if (e.kind <= TRACE_ANSWERED)
			return &e;
	assert_int_equal(lost, 0);
	return NULL;
}

static inline uint32_t laws_below(struct laws_world *w, uint32_t bound)
{
	return (uint32_t)prng_below(&w->drive, bound);
}

static inline void laws_mix(struct laws_world *w, uint64_t v)
{
	w->hash = (w->hash ^ v) * UINT64_C(0x100000001b3);
}

static inline struct laws_world *laws_begin(const struct transport *row, uint32_t n_pairs,
					    uint64_t seed, uint64_t fill)
{
	struct laws_world *w = calloc(1, sizeof *w);

	assert_non_null(w);
	prng_init(&w->drive, seed, 0);
	prng_init(&w->bad, seed, 1);
	w->now = 1000;
	for (uint32_t i = 0; i < 2; i++)
		assert_true(row_end_init(&w->end[i], row, n_pairs, fill + i));
	return w;
}

/* Law 6: nothing outside of the blocks was written. */
static inline void laws_end(struct laws_world *w)
{
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(row_end_is_guarded(&w->end[i]));
		row_end_fini(&w->end[i]);
		free(w->ring[i]);
	}
	free(w);
}

static inline nsec laws_deadline(const struct laws_world *w, uint32_t side, uint32_t may)
{
	return w->end[side].ops->deadline(w->end[side].e, may);
}

/* What leaves, as it will arrive. */
static inline void laws_fly(struct laws_world *w, uint32_t from, const struct tx_pkt *tx)
{
	assert_in_range(w->n_flights, 0, LAWS_FLIGHTS - 1);
	struct laws_flight *f = &w->flights[w->n_flights++];

	*f = (struct laws_flight){
		.at = w->now + 1000 + laws_below(w, 20000),
		.turn = w->turn++,
		.rx = {.peer = tx->peer,
		       .local = tx->local,
		       .ev = tx->ev,
		       .port = tx->port,
		       .ttl = 64,
		       .ecn = tx->not_ect            ? 0
			      : laws_below(w, 8) > 0 ? 2
						     : ENGINE_ECN_CE},
		.to = 1 - from,
		.head_len = tx->head_len,
		.len = tx->head_len,
	};
	memcpy(f->bytes, tx->head, tx->head_len);
	for (uint32_t i = 0; i < tx->n_body; i++) {
		assert_true(f->len + tx->body[i].len <= LAWS_BYTES);
		memcpy(f->bytes + f->len, tx->body[i].at, tx->body[i].len);
		f->len += tx->body[i].len;
	}
}

/* One packet that came out: laws 2 and 4. */
static inline void laws_look(struct laws_world *w, uint32_t side, const struct tx_pkt *tx,
			     struct engine_room *left)
{
	const struct row_end *s = &w->end[side];

	assert_true(tx->port < s->n_ports && room_take(left, tx));
	assert_in_range(tx->tclass, 0, ENGINE_TCLASSES - 1);
	w->classes[side] |= 1u << tx->tclass;
	assert_in_range(tx->head_len, row_carrier(s)->head_least, ENGINE_HEAD_MAX);
	assert_true(tx->n_body <= ENGINE_PIECES);
	assert_true(row_is_lent(s, tx));
	assert_int_equal(tx->peer, ROW_PEER);
	assert_int_equal(tx->local, ROW_LOCAL);
	laws_mix(w, tx->ev), laws_mix(w, tx->port), laws_mix(w, tx->tclass);
	for (uint32_t i = 0; i < tx->head_len; i++)
		laws_mix(w, tx->head[i]);
}

/* Law 8: a packet that came out is an event. */
static inline void laws_look_traced(struct laws_world *w, uint32_t side, const struct tx_pkt *tx)
{
	if (!w->ring[side])
		return;
	const struct trace_event *e = laws_event(w, side);
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < tx->n_body; i++)
		bytes += tx->body[i].len;
	assert_non_null(e);
	assert_true(e->kind == TRACE_SENT || e->kind == TRACE_RESENT);
	assert_int_equal(e->at, w->now);
	assert_in_range(bytes - e->a, 0, CARRIER_PAD_MAX);
	assert_int_equal(e->b, tx->ev);
	assert_int_equal(e->how, tx->port);
	const struct trace_words words = row_words(&w->end[side]);

	assert_non_null(words.word(words.of, TRACE_WORD_PACKET, e->what));
}

/* The number that a packet is to, where it has one. */
static inline bool laws_names(const struct row_end *s, const struct laws_flight *f, uint32_t *qp)
{
	const struct carrier *c = row_carrier(s);

	if (f->len < c->head_least)
		return false;
	*qp = get_be32(f->bytes + c->number.at) >> c->number.shift &
	      UINT32_MAX >> (32 - c->number.width);
	return true;
}

/* The same of one that went in: it tells whose it is, and what became of it. */
static inline void laws_input_traced(struct laws_world *w, const struct laws_flight *f,
				     uint32_t side, const uint64_t *before)
{
	const struct row_end *s = &w->end[side];
	const struct trace_words words = row_words(s);
	uint32_t qp;

	if (!w->ring[side])
		return;
	const struct trace_event *e = laws_event(w, side);

	assert_non_null(e);
	assert_true(e->kind == TRACE_RECEIVED || e->kind == TRACE_ANSWERED);
	assert_int_equal(e->at, w->now);
	if (laws_names(s, f, &qp))
		assert_int_equal(e->qp, qp);
	assert_in_range(e->why, 0, row_n_verdicts(s) - 1);
	assert_int_equal(row_verdicts(s)[e->why], before[e->why] + 1);
	assert_non_null(words.word(words.of, TRACE_WORD_VERDICT, e->why));
	assert_null(laws_event(w, side));
}

/* Pulls up to n packets; how many came. Laws 3 and 4. */
static inline uint32_t laws_pull(struct laws_world *w, uint32_t side,
				 const struct engine_room *room, uint32_t n)
{
	static uint8_t heads[LAWS_BATCH][ENGINE_HEAD_MAX];
	const struct row_end *s = &w->end[side];
	struct tx_pkt tx[LAWS_BATCH];
	struct engine_room left = *room;
	nsec before = laws_deadline(w, side, engine_may(room));

	assert_in_range(n, 0, LAWS_BATCH);
	for (uint32_t i = 0; i < LAWS_BATCH; i++)
		tx[i].head = heads[i];
	uint32_t got = s->ops->pull(s->e, w->now, room, tx, n);

	assert_true(got <= n);
	if (before > w->now)
		assert_int_equal(got, 0);
	for (uint32_t i = 0; i < got; i++) {
		laws_look(w, side, &tx[i], &left);
		laws_look_traced(w, side, &tx[i]);
		if (laws_below(w, 1000) >= w->lose)
			laws_fly(w, side, &tx[i]);
		if (laws_below(w, 1000) < w->twice)
			laws_fly(w, side, &tx[i]);
	}
	if (w->ring[side])
		assert_null(laws_event(w, side));
	/* With no port free there is nothing left but timers, and they have run. */
	assert_true(laws_deadline(w, side, 0) > w->now);
	if (got < n)
		assert_true(laws_deadline(w, side, engine_may(&left)) > w->now);
	laws_mix(w, got);
	return got;
}

/* Of what the engine counts, those whose name begins like this. */
static inline uint64_t laws_count(const struct row_end *s, const char *name, bool is_whole)
{
	const uint64_t *counts = s->ops->count(s->e);
	uint64_t sum = 0;
	uint32_t i = 0;

	for (; s->row && i < s->row->n_counters; i++) {
		const char *is = s->row->counters[i].name;

		if (is_whole ? !strcmp(is, name) : !strncmp(is, name, strlen(name)))
			sum += counts[i];
	}
	if (s->row)
		return sum;
#define LAWS_NAME(is, text)                                                                    \
	sum += (is_whole ? !strcmp(#is, name) : !strncmp(#is, name, strlen(name))) ? counts[i] \
										   : 0,        \
		i++;
	REF_COUNTERS(LAWS_NAME)
#undef LAWS_NAME
	return sum;
}

/* Lends a packet for the call, in pieces of which the first has all headers, and spoils it: law 2.
 * It is counted, and what became of it: law 1. */
static inline void laws_input(struct laws_world *w, uint32_t side, const struct laws_flight *f,
			      uint32_t cut)
{
	const struct row_end *s = &w->end[side];
	uint32_t head = f->head_len + (f->len - f->head_len) * cut / 4;
	uint8_t *lent[2] = {malloc(head + 1), malloc(f->len - head + 1)};
	struct rx_pkt rx = f->rx;
	uint64_t before = laws_count(s, "rx", true), verdicts[LAWS_VERDICTS];

	assert_in_range(row_n_verdicts(s), 1, LAWS_VERDICTS);
	memcpy(verdicts, row_verdicts(s), row_n_verdicts(s) * sizeof verdicts[0]);
	assert_true(lent[0] && lent[1]);
	memcpy(lent[0], f->bytes, head);
	memcpy(lent[1], f->bytes + head, f->len - head);
	rx.at = w->now;
	rx.head = (struct cspan){lent[0], head};
	rx.body[0] = (struct cspan){lent[1], f->len - head};
	rx.udp_len = (uint16_t)(f->len + 12);
	s->ops->input(s->e, w->now, &rx, 1);
	assert_int_equal(laws_count(s, "rx", true), before + 1);
	if (s->row)
		assert_int_equal(transport_verdicts(s->row, s->ops->count(s->e)), before + 1);
	laws_input_traced(w, f, side, verdicts);
	memset(lent[0], 0xee, head);
	memset(lent[1], 0xee, f->len - head);
	free(lent[0]);
	free(lent[1]);
}

static inline uint32_t laws_first(const struct laws_world *w)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < w->n_flights; i++) {
		const struct laws_flight *a = &w->flights[i], *b = &w->flights[first];

		if (a->at < b->at || (a->at == b->at && a->turn < b->turn))
			first = i;
	}
	return first;
}

/* Time goes to the arrival that is next, and it arrives. */
static inline void laws_deliver(struct laws_world *w)
{
	uint32_t i = laws_first(w);

	w->last = w->flights[i];
	w->flights[i] = w->flights[--w->n_flights];
	w->now = w->last.at > w->now ? w->last.at : w->now;
	laws_input(w, w->last.to, &w->last, laws_below(w, 5));
}

/* Sends of a queue pair that ended. Law 5: each is reported, or a success that its transport
 * counts.
 */
static inline uint64_t laws_ended(const struct laws_world *w, uint32_t side, uint32_t i)
{
	const struct row_end *s = &w->end[side];
	struct transport_progress p = {0};

	if (s->row)
		assert_int_equal(s->row->pairs->progress(s->e, row_number(s, i), &p), 0);
	assert_true(p.silent <= w->pair[side][i].silent);
	return w->pair[side][i].done + p.silent;
}

static inline bool laws_needs_recv(uint8_t code)
{
	return code == ENGINE_WRITE_IMM || code == ENGINE_SEND;
}

/* Takes back work with this cookie, and what follows for what is still to come. */
static inline int laws_cancel(struct laws_world *w, uint32_t side, uint32_t i, bool is_recv,
			      uint64_t cookie)
{
	struct row_end *s = &w->end[side];
	struct laws_pair *p = &w->pair[side][i], *peer = &w->pair[1 - side][i];
	const struct op op = {.code = is_recv ? ENGINE_RECV : ENGINE_SEND,
			      .qp = row_number(s, i),
			      .cookie = cookie};
	int r = s->ops->cancel(s->e, w->now, &op);
	uint32_t place = (uint32_t)(cookie % LAWS_COOKIES);

	if (r)
		return r;
	p->back[is_recv] |= UINT64_C(1) << place;
	if (is_recv) {
		p->due++;
		return 0;
	}
	p->bytes -= p->sends[place].len;
	peer->due -= laws_needs_recv(p->sends[place].code);
	return 0;
}

/* Law 5: taken back is what was, each once. */
static inline void laws_look_taken_back(struct laws_pair *p, const struct done *done)
{
	uint64_t *back = &p->back[done->code == ENGINE_DONE_RECEIVED];
	uint64_t bit = UINT64_C(1) << done->cookie % LAWS_COOKIES;

	assert_int_equal(done->status == ENGINE_CANCELLED, (*back & bit) != 0);
	*back &= ~bit;
}

/* The next completion; works of a queue pair complete once each, in order. Law 5. */
static inline bool laws_poll(struct laws_world *w, uint32_t side, struct done *done)
{
	const struct row_end *s = &w->end[side];

	if (!s->ops->poll(s->e, done, 1))
		return false;
	if (s->row && done->qp == s->row->open_number) {
		assert_in_range(++w->unreserved[side], 1, w->lent[side]);
		return true;
	}
	uint32_t i = done->qp - row_number(s, 0);

	assert_in_range(i, 0, s->n_pairs - 1);
	struct laws_pair *p = &w->pair[side][i];

	if (done->code == ENGINE_DONE_SENT) {
		assert_in_range(done->cookie, p->next, p->done + p->silent);
		p->next = done->cookie + 1;
		p->done++;
	} else if (s->row) {
		assert_int_equal(done->cookie, p->taken++);
	} else {
		p->taken++;
	}
	assert_true(p->done <= p->posted && p->taken <= p->due);
	laws_look_taken_back(p, done);
	laws_mix(w, done->qp), laws_mix(w, done->cookie), laws_mix(w, done->code);
	laws_mix(w, (uint64_t)done->status), laws_mix(w, done->len), laws_mix(w, done->imm);
	return true;
}

/* Takes all there is. Law 5: what is then not done is waited for. */
static inline void laws_poll_all(struct laws_world *w, uint32_t side)
{
	bool is_waiting = false;
	struct done done;

	while (laws_poll(w, side, &done))
		assert_true(done.status == ENGINE_OK || done.status == ENGINE_CANCELLED);
	for (uint32_t i = 0; i < w->end[side].n_pairs; i++)
		is_waiting |= laws_ended(w, side, i) < w->pair[side][i].posted;
	if (is_waiting)
		assert_true(laws_deadline(w, side, LAWS_ALL) != NSEC_NEVER);
}

static inline int laws_post_recv(struct laws_world *w, uint32_t side, uint32_t i)
{
	struct row_end *s = &w->end[side];
	struct laws_pair *p = &w->pair[side][i];
	struct sge sge = row_piece(s, ROW_INBOX, i * 4096, 4096);
	struct op op = {.code = ENGINE_RECV,
			.qp = row_number(s, i),
			.cookie = p->recvs,
			.sg = &sge,
			.n_sg = row_takes(s, ENGINE_SEND)};

	/* Whoever has no row reports what nobody posted a receive for. */
	if (!s->row)
		return 0;
	int r = s->ops->post(s->e, w->now, &op);

	p->recvs += r == 0;
	return r;
}

/* Work of a kind the transport takes, in two pieces, for the same place of the peer's TARGET. */
static inline int laws_post(struct laws_world *w, uint32_t side, uint32_t i, uint8_t code,
			    uint32_t len)
{
	struct row_end *s = &w->end[side];
	struct laws_pair *p = &w->pair[side][i];
	uint32_t at = i * 4096 + (uint32_t)(p->posted % 3) * 1024, half = len / 2;
	enum row_area area = code == ENGINE_READ ? ROW_INBOX : ROW_SOURCE;
	struct sge sge[2] = {row_piece(s, area, at, half),
			     row_piece(s, area, at + half, len - half)};
	struct op op = {.code = code,
			.qp = row_number(s, i),
			.cookie = p->posted,
			.remote = row_remote(s, at),
			.key = 1 + ROW_TARGET,
			.imm = p->posted & 0xff,
			.flags = w->flags,
			.sg = sge,
			.n_sg = 2};
	int r = s->ops->post(s->e, w->now, &op);

	p->sends[p->posted % LAWS_COOKIES].code = code;
	p->sends[p->posted % LAWS_COOKIES].len = len;
	p->bytes += r == 0 ? len : 0;
	p->posted += r == 0;
	p->silent += r == 0 && (w->flags & ENGINE_SILENT);
	laws_mix(w, (uint64_t)r);
	return r;
}

/* n writes of the first queue pair, posted together; number `bad` is one that no transport takes,
 * or LAWS_NONE. */
static inline int laws_post_chain(struct laws_world *w, uint32_t n, uint32_t bad)
{
	struct row_end *s = &w->end[0];
	struct laws_pair *p = &w->pair[0][0];
	struct sge sge = row_piece(s, ROW_SOURCE, 0, 200);
	struct op ops[LAWS_CHAIN];

	assert_in_range(n, 1, LAWS_CHAIN);
	for (uint32_t i = 0; i < n; i++)
		ops[i] = (struct op){.next = i + 1 < n ? &ops[i + 1] : NULL,
				     .code = ENGINE_WRITE,
				     .qp = row_number(s, 0),
				     .cookie = p->posted + i,
				     .remote = row_remote(s, 0),
				     .key = i == bad ? UINT64_MAX : 1 + ROW_TARGET,
				     .sg = &sge,
				     .n_sg = 1};
	int r = s->ops->post(s->e, w->now, ops);

	p->posted += r == 0 ? n : 0;
	return r;
}

static inline int laws_lend(struct laws_world *w, uint32_t side, uint32_t queue, uint32_t n)
{
	const struct row_end *s = &w->end[side];
	int r = s->ops->lend(s->e, queue, n);

	w->lent[side] += r == 0 ? n : 0;
	return r;
}

/* The next thing happens, whatever it is; false: nothing ever will. */
static inline bool laws_step(struct laws_world *w)
{
	static const struct engine_room wide = {.pkts = {8, 8, 8, 8, 8, 8, 8, 8},
						.may = UINT32_MAX};
	nsec next = w->n_flights ? w->flights[laws_first(w)].at : NSEC_NEVER;

	for (uint32_t side = 0; side < 2; side++) {
		nsec at = laws_deadline(w, side, LAWS_ALL);

		next = at < next ? at : next;
	}
	if (next == NSEC_NEVER)
		return false;
	w->now = next > w->now ? next : w->now;
	while (w->n_flights && w->flights[laws_first(w)].at <= w->now)
		laws_deliver(w);
	for (uint32_t side = 0; side < 2; side++)
		laws_pull(w, side, &wide, LAWS_BATCH);
	return true;
}

#endif
