/* Two ends of RC and a wire between them that loses, doubles, delays, reorders, marks, trims and
 * forges packets by a seed, in virtual time. One pair, w, per test program: start sets everything
 * to what it usually is, then a test changes w.end[].cfg, caps and attr, then join connects. */
#ifndef WEFT_TESTS_SUPPORT_RC_PAIR_H
#define WEFT_TESTS_SUPPORT_RC_PAIR_H

#include "base/serial.h"
#include "rc_end.h"

#define FLIGHTS   1024u
#define LOG       4096u
#define STEPS_MAX 400000u

/* A packet on its way. */
struct flight {
	nsec at;
	uint64_t turn; /* among those of one moment: as sent */
	uint32_t len, peer;
	uint8_t to, trimmed, ecn;
	uint8_t bytes[PACKET_MAX];
};

/* What was seen on the wire as it was sent, before any fault. */
struct sighting {
	nsec at;
	struct roce_pkt h; /* payload: only its length */
	uint8_t from;
};

struct pair {
	struct end end[2];
	nsec now;
	struct flight flights[FLIGHTS];
	uint32_t n_flights, n_log;
	struct sighting log[LOG];
	uint64_t turn;
	struct prng rng;
	uint32_t lose, twice, trim, mark, forge; /* of 1000 */
	uint32_t squeeze;                        /* of 1000: the port has little room */
	nsec delay, jitter;
	psn24 next_psn[2][END_QPS]; /* of a request never sent before */
	bool is_held[2];            /* packets of this end wait in the engine */
	uint64_t seed;
	void (*on_sent)(uint32_t from, const struct end_pkt *p); /* NULL, or told of every packet */
};

static struct pair w;

static inline void start(uint64_t seed)
{
	w.n_flights = w.n_log = 0;
	w.turn = 0;
	w.now = 1000;
	w.lose = w.twice = w.trim = w.mark = w.forge = w.squeeze = 0;
	w.delay = 1000;
	w.jitter = 0;
	w.is_held[0] = w.is_held[1] = false;
	w.seed = seed;
	prng_init(&w.rng, seed, 0);
	end_defaults(&w.end[0], 0x1230, 0x4560);
	end_defaults(&w.end[1], 0x4560, 0x1230);
}

/* Both engines and their queue pairs, connected, each end's first PSN and PMTU known to the other
 * as end 0 has them. */
static inline void join(void)
{
	for (uint32_t i = 0; i < END_QPS; i++) {
		struct engine_attr *a = &w.end[0].qp[i].attr, *b = &w.end[1].qp[i].attr;

		b->pmtu = a->pmtu;
		a->rq_psn = b->sq_psn;
		b->rq_psn = a->sq_psn;
		w.next_psn[0][i] = psn24_of(a->sq_psn);
		w.next_psn[1][i] = psn24_of(b->sq_psn);
	}
	w.end[1].n_qps = w.end[0].n_qps;
	for (uint32_t i = 0; i < 2; i++) {
		end_open(&w.end[i], w.now, w.seed + i);
		end_connect(&w.end[i], w.now, ENGINE_RTS);
	}
}

static inline bool chance(uint32_t of_1000)
{
	return prng_chance(&w.rng, of_1000, 1000);
}

static inline uint32_t below(uint32_t bound)
{
	return (uint32_t)prng_below(&w.rng, bound);
}

/* How many PSNs a request takes: a read as many as its response (IBTA 9.7.3.1). */
static inline uint32_t psns_of(const struct roce_pkt *h, uint32_t pmtu)
{
	if (h->bth.opcode != ROCE_OP_READ_REQUEST || h->reth.dmalen == 0)
		return 1;
	return (h->reth.dmalen + pmtu - 1) / pmtu;
}

/* PSNs go out the first time in their order and without a gap. */
static inline void check_psn(uint32_t from, const struct end_pkt *p)
{
	uint32_t i = 0;

	if (is_answer(p->h.bth.opcode) || p->h.bth.opcode == ROCE_OP_CNP)
		return;
	while (w.end[from].qp[i].attr.remote_qp != p->h.bth.dest_qp)
		i++;
	psn24 psn = psn24_of(p->h.bth.psn), *next = &w.next_psn[from][i];
	uint32_t n = psns_of(&p->h, w.end[from].qp[i].attr.pmtu);

	assert_true(psn24_le(psn, *next));
	if (psn24_gt(psn24_add(psn, (int32_t)n), *next))
		*next = psn24_add(psn, (int32_t)n);
}

static inline void note(uint32_t from, const struct end_pkt *p)
{
	check_psn(from, p);
	if (w.on_sent)
		w.on_sent(from, p);
	if (w.n_log == LOG)
		return;
	w.log[w.n_log] = (struct sighting){w.now, p->h, (uint8_t)from};
	w.log[w.n_log++].h.payload.at = NULL;
}

static inline void fly(uint32_t from, const struct end_pkt *p)
{
	assert_true(w.n_flights < FLIGHTS);
	struct flight *f = &w.flights[w.n_flights++];

	f->at = w.now + w.delay + (w.jitter ? prng_below(&w.rng, w.jitter) : 0);
	f->turn = w.turn++;
	f->len = p->len;
	f->peer = PEER;
	f->to = (uint8_t)(1 - from);
	f->trimmed = 0;
	f->ecn = p->tx.not_ect ? 0 : 2;
	if (chance(w.mark) && !p->tx.not_ect)
		f->ecn = 3;
	memcpy(f->bytes, p->bytes, p->len);
	/* What a switch trimmed has no checksum: its bits may come wrong, and say nothing. */
	if (chance(w.trim)) {
		f->trimmed = (uint8_t)(1 + below(2));
		f->len = f->len < 32 ? f->len : 32;
		f->bytes[below(f->len)] ^= (uint8_t)(1u << below(8));
	}
}

/* A copy from somebody else, with other content: nothing of it may be believed. */
static inline void forge(uint32_t from, const struct end_pkt *p)
{
	fly(from, p);
	struct flight *f = &w.flights[w.n_flights - 1];

	f->peer = PEER + 1;
	for (uint32_t i = bth_bytes; i < f->len; i++)
		f->bytes[i] ^= 0xff;
}

static inline uint32_t send_some(uint32_t from, const uint16_t room[ENGINE_PORTS], uint32_t n)
{
	struct end *s = &w.end[from];
	uint32_t got = end_pull(s, w.now, room, n);

	for (uint32_t i = 0; i < got; i++) {
		note(from, &s->out[i]);
		if (!chance(w.lose))
			fly(from, &s->out[i]);
		if (chance(w.twice))
			fly(from, &s->out[i]);
		if (chance(w.forge))
			forge(from, &s->out[i]);
	}
	return got;
}

static inline struct flight *first_flight(void)
{
	struct flight *first = NULL;

	for (uint32_t i = 0; i < w.n_flights; i++) {
		struct flight *f = &w.flights[i];

		if (!first || f->at < first->at || (f->at == first->at && f->turn < first->turn))
			first = f;
	}
	return first;
}

static inline void deliver(struct flight *f)
{
	struct rx_pkt rx = {
		.peer = f->peer, .local = LOCAL, .trimmed = f->trimmed, .ecn = f->ecn, .ttl = 64};

	end_input(&w.end[f->to], w.now, rx, f->bytes, f->len, f->len);
	*f = w.flights[--w.n_flights];
}

/* When the next thing happens; NSEC_NEVER: nothing ever will. */
static inline nsec next_time(void)
{
	const struct flight *f = first_flight();
	nsec next = f ? f->at : NSEC_NEVER;

	for (uint32_t i = 0; i < 2; i++) {
		nsec deadline = rc_ops.deadline(w.end[i].e, ALL_FREE);

		if (!w.is_held[i] && deadline < next)
			next = deadline;
	}
	return next;
}

/* Moves to the next thing that happens, not beyond `until`, and lets it happen. */
static inline bool step_until(nsec until)
{
	nsec next = next_time();

	if (next > until || next == NSEC_NEVER)
		return false;
	w.now = next > w.now ? next : w.now;
	for (struct flight *f = first_flight(); f && f->at <= w.now; f = first_flight())
		deliver(f);
	for (uint32_t i = 0; i < 2; i++) {
		const uint16_t narrow[ENGINE_PORTS] = {(uint16_t)below(4)};

		if (!w.is_held[i])
			send_some(i, chance(w.squeeze) ? narrow : wide, END_BATCH);
	}
	return true;
}

/* Until nothing is left to happen before `until`, which is the time then. */
static inline void run_until(nsec until)
{
	uint32_t steps = 0;

	while (step_until(until))
		assert_true(++steps < STEPS_MAX);
	if (until != NSEC_NEVER)
		w.now = until;
}

static inline void run(void)
{
	run_until(NSEC_NEVER);
}

static inline void check_ends(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		check_balance(&w.end[i]);
		check_memory(&w.end[i]);
	}
}

/* Work by its common names: from `at` of our SOURCE, or INBOX for what comes back, to `to` of the
 * peer's TARGET. */
struct work {
	uint64_t cookie;
	uint32_t at, to, len;
	uint32_t imm;
	uint32_t n_sg; /* pieces; 0: one */
	uint64_t operand[2];
	uint8_t side, qp, code, flags, atomic_op;
};

/* n pieces of an area, one after the other, of nearly equal length. */
static inline uint32_t cut(struct sge *sg, const struct end *s, enum end_area a, uint32_t at,
			   uint32_t len, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = (uint32_t)((uint64_t)len * i / n),
			 to = (uint32_t)((uint64_t)len * (i + 1) / n);

		sg[i] = area_piece(s, a, at + from, to - from);
	}
	return n;
}

static inline int try_post(const struct work *k)
{
	struct end *s = &w.end[k->side];
	struct sge sg[ENGINE_SGE];
	bool is_fetch = k->code == ENGINE_READ || k->code == ENGINE_ATOMIC;
	uint32_t n = cut(sg, s, is_fetch ? INBOX : SOURCE, k->at, k->len, k->n_sg ? k->n_sg : 1);
	struct op op = {.cookie = k->cookie,
			.remote = area_va(TARGET) + k->to,
			.key = area_key(&w.end[1 - k->side], TARGET),
			.imm = k->imm,
			.sg = sg,
			.n_sg = (uint16_t)n,
			.qp = s->qp[k->qp].number,
			.code = k->code,
			.flags = k->flags,
			.atomic_op = k->atomic_op};

	memcpy(op.operand[0], &k->operand[0], 8);
	memcpy(op.operand[1], &k->operand[1], 8);
	return end_post(s, w.now, op);
}

/* What the work does to memory once it is done, except for sends: where they arrive is the peer's
 * affair. */
static inline void imagine(const struct work *k)
{
	struct end *s = &w.end[k->side], *peer = &w.end[1 - k->side];
	uint64_t old;

	switch (k->code) {
	case ENGINE_WRITE:
	case ENGINE_WRITE_IMM:
		memcpy(peer->image[TARGET] + k->to, s->image[SOURCE] + k->at, k->len);
		break;
	case ENGINE_READ:
		memcpy(s->image[INBOX] + k->at, peer->image[TARGET] + k->to, k->len);
		break;
	case ENGINE_ATOMIC:
		memcpy(&old, peer->image[TARGET] + k->to, 8);
		memcpy(s->image[INBOX] + k->at, &old, 8);
		if (k->atomic_op == ENGINE_FETCH_ADD)
			old += k->operand[0];
		else if (old == k->operand[0])
			old = k->operand[1];
		memcpy(peer->image[TARGET] + k->to, &old, 8);
		break;
	default: break;
	}
}

static inline void post(struct work k)
{
	assert_int_equal(try_post(&k), 0);
	imagine(&k);
}

/* A receive at `at` of side's INBOX, cut in n pieces. */
static inline void post_recv(uint32_t side, uint32_t at, uint32_t len, uint32_t n, uint64_t cookie)
{
	struct sge sg[ENGINE_SGE];
	struct op op = {.code = ENGINE_RECV,
			.qp = w.end[side].qp[0].number,
			.cookie = cookie,
			.sg = sg,
			.n_sg = (uint16_t)cut(sg, &w.end[side], INBOX, at, len, n)};

	assert_int_equal(end_post(&w.end[side], w.now, op), 0);
}

/* The message of work k arrives at `at` of the peer's INBOX. */
static inline void imagine_arrival(const struct work *k, uint32_t at)
{
	memcpy(w.end[1 - k->side].image[INBOX] + at, w.end[k->side].image[SOURCE] + k->at, k->len);
}

/* The next completion of side is this one. Only fields that mean something are compared. */
static inline void expect_done(uint32_t side, struct done want)
{
	struct done got;

	assert_true(end_poll(&w.end[side], &got));
	assert_int_equal(got.cookie, want.cookie);
	assert_int_equal(got.code, want.code);
	assert_int_equal(got.status, want.status);
	assert_int_equal(got.qp, want.qp ? want.qp : w.end[side].qp[0].number);
	assert_int_equal(got.op, want.op);
	if (want.status != ENGINE_OK)
		return;
	assert_int_equal(got.len, want.len);
	if (want.code == ENGINE_DONE_RECEIVED)
		assert_int_equal(got.flags, want.flags);
	if (want.flags & (ENGINE_HAS_IMM | ENGINE_HAS_INV))
		assert_int_equal(got.imm, want.imm);
}

static inline void expect_sent(const struct work *k, enum engine_status status)
{
	expect_done(k->side, (struct done){.cookie = k->cookie,
					   .code = ENGINE_DONE_SENT,
					   .status = (int16_t)status,
					   .qp = w.end[k->side].qp[k->qp].number,
					   .op = k->code,
					   .len = k->len});
}

static inline void expect_nothing(uint32_t side)
{
	struct done got;

	assert_false(end_poll(&w.end[side], &got));
}

/* How many packets of an opcode end `from` sent. */
static inline uint32_t n_seen(uint32_t from, uint8_t opcode)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w.n_log; i++)
		n += w.log[i].from == from && w.log[i].h.bth.opcode == opcode;
	return n;
}

#endif
