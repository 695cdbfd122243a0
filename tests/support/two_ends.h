/* Two ends of a transport and a wire between them that loses, doubles, delays, reorders, marks,
 *trims and forges packets, by a seed or by a script, in virtual time. One stage, w, per test
 *program:
 *
 *	start(seed)   everything as it usually is; then a test changes w.end[].cfg, caps and attr
 *	join()        both engines made, queue pair i of one connected with that of the other
 *	post(work), run, expect_sent, expect_done, check_ends
 *
 * w.script is asked for the fate of every packet that leaves. A test that wants one end only lets
 * the other be: w.is_held[1] = true.
 *
 * A transport's own header (rc_pair.h, mrc_stage.h) includes its end, then this, and defines what
 *is only declared here. */
#ifndef WEFT_TESTS_SUPPORT_TWO_ENDS_H
#define WEFT_TESTS_SUPPORT_TWO_ENDS_H

#include "base/serial.h"
#include "wire/net.h"

#define FLIGHTS   8192u
#define SIGHTINGS 8192u
#define STEPS_MAX 2000000u

/* A packet on its way. */
struct flight {
	nsec at;
	uint64_t turn; /* among those of one moment: as sent */
	uint32_t len, cut;
	uint8_t to;
	struct rx_pkt rx;
	uint8_t bytes[PACKET_MAX];
};

/* What was seen on the wire as it was sent, before any fault. */
struct sighting {
	nsec at;
	END_HEADERS h; /* payload: only its length */
	uint32_t ev;
	uint8_t from, port, tclass;
};

/* What the wire does with a packet. A script gets it as the seed drew it, and may change it. */
struct fate {
	bool is_lost, is_doubled, is_forged;
	uint8_t trimmed; /* enum net_trim */
	bool is_marked;
	bool is_garbled; /* what is cut has no checksum: its bits may come wrong */
	nsec later;      /* on top of w.delay and the port's own delay */
};

struct stage {
	struct end end[2];
	nsec now;
	struct flight flights[FLIGHTS];
	uint32_t heap[FLIGHTS], spare[FLIGHTS]; /* places of flights: under way, and free */
	uint32_t n_flights, n_log;
	struct sighting log[SIGHTINGS];
	uint64_t turn;
	struct prng rng;
	uint32_t lose, twice, trim, mark, forge; /* of 1000 */
	uint32_t squeeze;                        /* of 1000: the ports have little room */
	nsec delay, jitter;
	nsec port_delay[ENGINE_PORTS]; /* on top, of packets that leave by this port */
	psn24 next_psn[2][END_QPS];    /* of a packet never sent before */
	uint64_t n_new[2], n_retx[2];  /* data packets seen: first time, retransmitted */
	bool is_held[2];               /* packets of this end wait in the engine */
	bool is_loose;                 /* the order of PSNs is the test's own affair */
	uint64_t seed;
	void (*script)(uint32_t from, const struct end_pkt *p, struct fate *fate);
};

static struct stage w;

/* What one end says of itself is what the other knows of it. */
static inline void agree(const struct end *a, const struct end_qp *of, struct end_qp *peer);
/* PSNs go out the first time in their order, and without a gap. */
static inline void check_psn(uint32_t from, const struct end_pkt *p);
/* Draws whether a switch cuts the packet, and what else is the transport's own. */
static inline void draw_fate(const struct end_pkt *p, struct fate *fate);

static inline void start(uint64_t seed)
{
	w.n_flights = w.n_log = 0;
	for (uint32_t i = 0; i < FLIGHTS; i++)
		w.spare[i] = i;
	w.turn = 0;
	w.now = 1000;
	w.lose = w.twice = w.trim = w.mark = w.forge = w.squeeze = 0;
	w.delay = 1000;
	w.jitter = 0;
	memset(w.port_delay, 0, sizeof w.port_delay);
	w.is_held[0] = w.is_held[1] = w.is_loose = false;
	w.n_new[0] = w.n_new[1] = w.n_retx[0] = w.n_retx[1] = 0;
	w.seed = seed;
	w.script = NULL;
	prng_init(&w.rng, seed, 0);
	end_defaults(&w.end[0], 0x1230, 0x4560);
	end_defaults(&w.end[1], 0x4560, 0x1230);
}

/* Both engines and their queue pairs, connected; as many and with the PMTU that end 0 has. */
static inline void join_to(uint8_t state)
{
	w.end[1].n_qps = w.end[0].n_qps;
	for (uint32_t i = 0; i < END_QPS; i++) {
		struct end_qp *a = &w.end[0].qp[i], *b = &w.end[1].qp[i];

		b->attr.pmtu = a->attr.pmtu;
		agree(&w.end[0], a, b);
		agree(&w.end[1], b, a);
		w.next_psn[0][i] = psn24_of(a->attr.sq_psn);
		w.next_psn[1][i] = psn24_of(b->attr.sq_psn);
	}
	for (uint32_t i = 0; i < 2; i++) {
		end_open(&w.end[i], w.now, w.seed + i);
		end_connect(&w.end[i], w.now, state);
	}
}

static inline void join(void)
{
	join_to(ENGINE_RTS);
}

static inline bool chance(uint32_t of_1000)
{
	return of_1000 > 0 && prng_chance(&w.rng, of_1000, 1000);
}

static inline uint32_t below(uint32_t bound)
{
	return (uint32_t)prng_below(&w.rng, bound);
}

static inline void note(uint32_t from, const struct end_pkt *p)
{
	check_psn(from, p);
	if (w.n_log == SIGHTINGS)
		return;
	w.log[w.n_log] =
		(struct sighting){w.now, p->h, p->tx.ev, (uint8_t)from, p->tx.port, p->tx.tclass};
	w.log[w.n_log++].h.payload.at = NULL;
}

static inline bool is_before(uint32_t a, uint32_t b)
{
	const struct flight *f = &w.flights[a], *g = &w.flights[b];

	return f->at < g->at || (f->at == g->at && f->turn < g->turn);
}

/* Puts a flight's place into the heap. */
static inline void heap_add(uint32_t place)
{
	uint32_t i = w.n_flights++;

	for (; i > 0 && is_before(place, w.heap[(i - 1) / 2]); i = (i - 1) / 2)
		w.heap[i] = w.heap[(i - 1) / 2];
	w.heap[i] = place;
}

/* Takes the first flight's place out of it. */
static inline uint32_t heap_take(void)
{
	uint32_t first = w.heap[0], last = w.heap[--w.n_flights], i = 0;

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k + 1 < w.n_flights && is_before(w.heap[k + 1], w.heap[k]))
			k++;
		if (k >= w.n_flights || !is_before(w.heap[k], last))
			break;
		w.heap[i] = w.heap[k];
		i = k;
	}
	w.heap[i] = last;
	w.spare[w.n_flights] = first;
	return first;
}

/* Nothing is on its way any more. */
static inline void clear_wire(void)
{
	while (w.n_flights > 0)
		heap_take();
}

static inline struct flight *fly(uint32_t from, const struct end_pkt *p, const struct fate *fate)
{
	assert_true(w.n_flights < FLIGHTS);
	uint32_t place = w.spare[w.n_flights];
	struct flight *f = &w.flights[place];

	f->at = w.now + w.delay + w.port_delay[p->tx.port] + fate->later +
		(w.jitter ? prng_below(&w.rng, w.jitter) : 0);
	f->turn = w.turn++;
	f->len = p->len;
	f->cut = p->cut;
	f->to = (uint8_t)(1 - from);
	f->rx = (struct rx_pkt){
		.peer = PEER,
		.local = LOCAL,
		.ev = p->tx.ev,
		.port = p->tx.port,
		.ttl = 64,
		.trimmed = fate->trimmed,
		.udp_len = p->tx.udp_len ? p->tx.udp_len : (uint16_t)(p->len + UDP_MORE),
		.ecn = p->tx.not_ect     ? 0
		       : fate->is_marked ? 3
					 : 2,
	};
	memcpy(f->bytes, p->bytes, p->cut);
	if (fate->trimmed && p->len > TRIM_BYTES)
		f->len = f->cut = TRIM_BYTES;
	if (fate->is_garbled)
		f->bytes[below(f->cut)] ^= (uint8_t)(1u << below(8));
	heap_add(place);
	return f;
}

/* A copy from somebody else, with other content: nothing of it may be believed. */
static inline void forge(uint32_t from, const struct end_pkt *p)
{
	struct flight *f = fly(from, p, &(struct fate){.later = 0});

	f->rx.peer = PEER + 1;
	for (uint32_t i = bth_bytes; i < f->cut; i++)
		f->bytes[i] ^= 0xff;
}

static inline void send_one(uint32_t from, const struct end_pkt *p)
{
	struct fate fate = {
		.is_lost = chance(w.lose),
		.is_doubled = chance(w.twice),
		.is_forged = chance(w.forge),
		.is_marked = chance(w.mark),
	};

	draw_fate(p, &fate);
	note(from, p);
	if (w.script)
		w.script(from, p, &fate);
	if (!fate.is_lost)
		fly(from, p, &fate);
	if (fate.is_doubled)
		fly(from, p, &fate);
	if (fate.is_forged)
		forge(from, p);
}

static inline uint32_t send_some(uint32_t from, const uint16_t room[ENGINE_PORTS], uint32_t n)
{
	struct end *s = &w.end[from];
	uint32_t got = end_pull(s, w.now, room, n);

	for (uint32_t i = 0; i < got; i++)
		send_one(from, &s->out[i]);
	return got;
}

static inline void deliver_first(void)
{
	struct flight *f = &w.flights[heap_take()];

	end_input(&w.end[f->to], w.now, f->rx, f->bytes, f->len, f->cut);
}

/* When the next thing happens; NSEC_NEVER: nothing ever will. */
static inline nsec next_time(void)
{
	nsec next = w.n_flights > 0 ? w.flights[w.heap[0]].at : NSEC_NEVER;

	for (uint32_t i = 0; i < 2; i++) {
		nsec deadline = w.is_held[i] ? NSEC_NEVER : deadline_of(w.end[i].e);

		if (deadline < next)
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
	while (w.n_flights > 0 && w.flights[w.heap[0]].at <= w.now)
		deliver_first();
	for (uint32_t i = 0; i < 2; i++) {
		uint16_t narrow[ENGINE_PORTS];

		for (uint32_t p = 0; p < ENGINE_PORTS; p++)
			narrow[p] = (uint16_t)(w.squeeze ? below(4) : 0);
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
	uint32_t qp;   /* its place in end.qp */
	uint64_t operand[2];
	uint8_t side, code, flags, atomic_op;
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

	if (peer->is_virtual)
		return;
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

/* The next completion of side is this one. Only fields that mean something are compared. */
static inline struct done expect_done(uint32_t side, struct done want)
{
	struct done got;

	assert_true(end_poll(&w.end[side], &got));
	assert_int_equal(got.cookie, want.cookie);
	assert_int_equal(got.code, want.code);
	assert_int_equal(got.status, want.status);
	assert_int_equal(got.qp, want.qp ? want.qp : w.end[side].qp[0].number);
	assert_int_equal(got.op, want.op);
	if (want.status != ENGINE_OK)
		return got;
	assert_int_equal(got.peer, PEER);
	assert_int_equal(got.len, want.len);
	if (want.code == ENGINE_DONE_RECEIVED)
		assert_int_equal(got.flags, want.flags);
	if (want.flags & (ENGINE_HAS_IMM | ENGINE_HAS_INV))
		assert_int_equal(got.imm, want.imm);
	return got;
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

/* Number n of these, counted from 0, which must have been sent. */
static inline const struct sighting *seen(uint32_t from, uint8_t opcode, uint32_t n)
{
	uint32_t i = 0;

	assert_true(n < n_seen(from, opcode));
	while (w.log[i].from != from || w.log[i].h.bth.opcode != opcode || n-- > 0)
		i++;
	return &w.log[i];
}

#endif
