/* Two ends of MRC and a wire between them that loses, doubles, delays, reorders, marks, trims and
 * forges packets, by a seed or by a script, in virtual time. One stage, w, per test program:
 *
 *	start(seed)   everything as it usually is; then a test changes w.end[].cfg, caps and attr
 *	join()        both engines made, queue pair i of one connected with queue pair i of the
 *other post(work), post_recv, run, expect_sent, expect_received, check_ends
 *
 * w.script is asked for the fate of every packet that leaves; inject hands an end a packet that
 * nobody sent. A test that wants one end only lets the other be: w.is_held[1] = true. */
#ifndef WEFT_TESTS_SUPPORT_MRC_STAGE_H
#define WEFT_TESTS_SUPPORT_MRC_STAGE_H

#include "base/serial.h"
#include "mrc_end.h"
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
	struct mrc_pkt h; /* payload: only its length */
	uint32_t ev;
	uint8_t from, port, tclass;
};

/* What the wire does with a packet. A script gets it as the seed drew it, and may change it. */
struct fate {
	bool is_lost, is_doubled, is_forged;
	uint8_t trimmed; /* enum net_trim */
	bool is_marked;
	nsec later; /* on top of w.delay and the port's own delay */
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
	psn24 next_psn[2][END_QPS];    /* of a data packet never sent before */
	uint64_t n_new[2], n_retx[2];  /* data packets seen: first time, retransmitted */
	bool is_held[2];               /* packets of this end wait in the engine */
	bool is_loose;                 /* the order of PSNs is the test's own affair */
	uint64_t seed;
	void (*script)(uint32_t from, const struct end_pkt *p, struct fate *fate);
};

static struct stage w;

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

/* What one end says of itself is what the other knows of it. */
static inline void agree(const struct end *a, const struct end_qp *of, struct end_qp *peer)
{
	peer->attr.rq_psn = of->attr.sq_psn;
	peer->attr.mpr_dest = of->attr.mpr;
	peer->attr.wimm_dest = of->caps.max_wimm;
	if (a->cfg.has_trim_nack)
		peer->attr.flags |= MRC_PEER_TRIM_NACK;
	if (a->cfg.has_service_time)
		peer->attr.flags |= MRC_PEER_SERVICE_TIME;
}

/* Both engines and their queue pairs, connected; as many and with the PMTU that end 0 has. */
static inline void join_to(uint8_t state)
{
	w.end[1].n_qps = w.end[0].n_qps;
	for (uint32_t i = 0; i < w.end[0].n_qps; i++) {
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
	join_to(MRC_RTS);
}

static inline bool chance(uint32_t of_1000)
{
	return of_1000 > 0 && prng_chance(&w.rng, of_1000, 1000);
}

static inline uint32_t below(uint32_t bound)
{
	return (uint32_t)prng_below(&w.rng, bound);
}

/* PSNs go out the first time in their order, without a gap and without the mark of those
 * retransmitted, which all others have (7.4.4). */
static inline void check_psn(uint32_t from, const struct end_pkt *p)
{
	if (!is_data(p->h.bth.opcode) || w.is_loose)
		return;
	uint32_t i = (uint32_t)(qp_to(&w.end[from], p->h.bth.dest_qp) - w.end[from].qp);
	psn24 psn = psn24_of(p->h.bth.psn), *next = &w.next_psn[from][i];

	assert_true(psn24_le(psn, *next));
	assert_int_equal(p->h.bth.rtx, !psn24_eq(psn, *next));
	if (psn24_eq(psn, *next)) {
		*next = psn24_next(psn);
		w.n_new[from]++;
	} else {
		w.n_retx[from]++;
	}
}

static inline void note(uint32_t from, const struct end_pkt *p)
{
	check_psn(from, p);
	if (w.n_log == SIGHTINGS)
		return;
	w.log[w.n_log++] =
		(struct sighting){w.now, p->h, p->tx.ev, (uint8_t)from, p->tx.port, p->tx.tclass};
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
	heap_add(place);
	return f;
}

/* A copy from somebody else, with other content: nothing of it may be believed. */
static inline void forge(uint32_t from, const struct end_pkt *p)
{
	struct flight *f = fly(from, p, &(struct fate){.later = 0});

	f->rx.peer = PEER + 1;
	for (uint32_t i = mrc_bth_bytes; i < f->cut; i++)
		f->bytes[i] ^= 0xff;
}

static inline void send_one(uint32_t from, const struct end_pkt *p)
{
	struct fate fate = {
		.is_lost = chance(w.lose),
		.is_doubled = chance(w.twice),
		.is_forged = chance(w.forge) && !is_endpoint(p->h.bth.opcode),
		.is_marked = chance(w.mark),
	};

	if (is_data(p->h.bth.opcode) && chance(w.trim))
		fate.trimmed = chance(500) ? NET_TRIMMED : NET_TRIMMED_LASTHOP;
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
		nsec deadline = w.is_held[i] ? NSEC_NEVER : mrc_ops.deadline(w.end[i].e, ALL_FREE);

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

/* Hands end `to` a packet that nobody sent: headers as h->bth.opcode calls for, zeros of h->bth.pad
 * behind h->payload (at NULL: virtual). rx: see end_input; its peer and local as they stand. */
static inline void inject_as(uint32_t to, const struct mrc_pkt *h, struct rx_pkt rx)
{
	static uint8_t bytes[PACKET_MAX * 2];
	uint32_t head = mrc_head_put(h, (struct span){bytes, ENGINE_HEAD_MAX});
	uint32_t len = head + h->payload.len + h->bth.pad;

	assert_true(head > 0 && len <= sizeof bytes);
	memset(bytes + head, 0, len - head);
	if (h->payload.at)
		memcpy(bytes + head, h->payload.at, h->payload.len);
	end_input(&w.end[to], w.now, rx, bytes, len,
		  h->payload.at || h->payload.len == 0 ? len : head);
}

/* The same, from the peer, by EV number 0 and port 0. */
static inline void inject(uint32_t to, const struct mrc_pkt *h)
{
	inject_as(to, h,
		  (struct rx_pkt){.peer = PEER,
				  .local = LOCAL,
				  .ev = w.end[1 - to].evs[0].value,
				  .ttl = 64,
				  .ecn = 2});
}

/* Raw bytes from the peer, whatever they are. */
static inline void inject_bytes(uint32_t to, const uint8_t *bytes, uint32_t len)
{
	end_input(&w.end[to], w.now, (struct rx_pkt){.peer = PEER, .local = LOCAL, .ttl = 64},
		  bytes, len, len);
}

/* Work by its common names: from `at` of our SOURCE to `to` of the peer's TARGET. */
struct work {
	uint64_t cookie;
	uint32_t at, to, len;
	uint32_t imm;
	uint32_t n_sg; /* pieces; 0: one */
	uint32_t qp;   /* its place in end.qp */
	uint8_t side, code, flags;
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
	uint32_t n = cut(sg, s, SOURCE, k->at, k->len, k->n_sg ? k->n_sg : 1);
	struct op op = {.cookie = k->cookie,
			.remote = area_va(TARGET) + k->to,
			.key = area_key(&w.end[1 - k->side], TARGET),
			.imm = k->imm,
			.sg = sg,
			.n_sg = (uint16_t)n,
			.qp = s->qp[k->qp].number,
			.code = k->code,
			.flags = k->flags};

	return mrc_ops.post(s->e, w.now, &op);
}

/* What the work does to the peer's memory once it is done. */
static inline void imagine(const struct work *k)
{
	if (!w.end[1 - k->side].is_virtual)
		memcpy(w.end[1 - k->side].image[TARGET] + k->to,
		       w.end[k->side].image[SOURCE] + k->at, k->len);
}

static inline void post(struct work k)
{
	assert_int_equal(try_post(&k), 0);
	imagine(&k);
}

static inline int try_post_recv(uint32_t side, uint32_t qp, uint64_t cookie)
{
	struct op op = {.code = ENGINE_RECV, .qp = w.end[side].qp[qp].number, .cookie = cookie};

	return mrc_ops.post(w.end[side].e, w.now, &op);
}

static inline void post_recv(uint32_t side, uint32_t qp, uint64_t cookie)
{
	assert_int_equal(try_post_recv(side, qp, cookie), 0);
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
	if (want.status != ENGINE_OK)
		return got;
	assert_int_equal(got.op, want.op);
	assert_int_equal(got.peer, PEER);
	assert_int_equal(got.len, want.len);
	if (want.code == ENGINE_DONE_RECEIVED)
		assert_int_equal(got.flags, want.flags);
	if (want.flags & ENGINE_HAS_IMM)
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

/* The work's peer is told of it, in the receive with this cookie. */
static inline void expect_received(const struct work *k, uint64_t cookie)
{
	expect_done(1u - k->side, (struct done){.cookie = cookie,
						.code = ENGINE_DONE_RECEIVED,
						.qp = w.end[1 - k->side].qp[k->qp].number,
						.op = ENGINE_WRITE_IMM,
						.len = k->len,
						.imm = k->imm,
						.flags = (uint8_t)(ENGINE_HAS_IMM |
								   (k->flags & ENGINE_SOLICITED))});
}

static inline void expect_flushed_recv(uint32_t side, uint32_t qp, uint64_t cookie)
{
	expect_done(side, (struct done){.cookie = cookie,
					.code = ENGINE_DONE_RECEIVED,
					.status = ENGINE_FLUSHED,
					.qp = w.end[side].qp[qp].number});
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
