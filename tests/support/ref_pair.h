/* Two engines of the reference transport and a wire between them that loses, doubles, delays, trims
 * and spoils packets by a seed, in virtual time. Each pull through here is held against the laws of
 * engine/engine.h. One pair, w, per test program; start or start_with begins anew. */
#ifndef WEFT_TESTS_SUPPORT_REF_PAIR_H
#define WEFT_TESTS_SUPPORT_REF_PAIR_H

#include <stdalign.h>
#include <string.h>

#include "base/prng.h"
#include "pull.h"
#include "ref/ref.h"
#include "wire/mrc.h"

#define PAYLOAD 64u
#define N_EVS   16u
#define MEMORY  65536u
#define BLOCK   262144u
#define BATCH   32u
#define FLIGHTS 8192u
#define RTO     100000u
#define PEER    77u
#define CANARY  0x5a

/* A packet on its way: headers as sent, payload where the application has it. */
struct flight {
	nsec at;
	uint64_t turn; /* among those of one moment: as sent */
	struct tx_pkt tx;
	uint8_t head[ENGINE_HEAD_MAX];
	uint8_t to, trimmed, ecn;
};

/* Two engines, 0 and 1, and the wire between them. */
struct pair {
	alignas(max_align_t) uint8_t block[2][BLOCK];
	uint8_t memory[2][MEMORY + 64], source[MEMORY], image[MEMORY];
	uint32_t evs[N_EVS];
	struct ref_cfg cfg;
	struct engine *e[2];
	nsec now;
	struct flight flights[FLIGHTS];
	uint32_t n_flights;
	uint64_t turn, hash;
	struct prng rng;
	uint32_t lose, twice, trim, spoil, mark; /* of 1000 */
	nsec delay, jitter;
	uint32_t psn; /* first of both directions */
	uint8_t heads[BATCH][ENGINE_HEAD_MAX];
	struct tx_pkt tx[BATCH];
};

static struct pair w;

static const struct ref_counters *count(int side)
{
	return ref_counters(w.e[side]);
}

static inline struct ref_cfg plain_cfg(void)
{
	return (struct ref_cfg){
		.seed = 1,
		.max_qps = 2,
		.max_ops = 64,
		.payload_bytes = PAYLOAD,
		.window_pkts = 32,
		.ack_every = 4,
		.evs = w.evs,
		.n_evs = N_EVS,
		.n_ports = 1,
		.rto_ns = RTO,
		.retries = 3,
		.memory_bytes = MEMORY,
	};
}

static inline struct engine *engine_in(uint8_t *block)
{
	return (struct engine *)(void *)block;
}

static inline void open_pair(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct ref_peer peer = {.qp = i,
					.peer = PEER,
					.local = 5,
					.remote_qp = 1 - i,
					.sq_psn = w.psn,
					.rq_psn = w.psn};
		struct ref_cfg cfg = w.cfg;

		cfg.seed += i;
		cfg.memory = cfg.memory_bytes ? w.memory[i] : NULL;
		memset(w.block[i], CANARY, BLOCK);
		w.e[i] = engine_in(w.block[i]);
		assert_true(ref_ops.size(&cfg) > 0 && ref_ops.size(&cfg) <= BLOCK);
		assert_int_equal(ref_ops.init(w.e[i], &cfg, w.now), 0);
		assert_int_equal(ref_open(w.e[i], &peer), 0);
		memset(w.memory[i], CANARY, sizeof w.memory[i]);
	}
	memset(w.image, CANARY, sizeof w.image);
}

static inline void start_with(uint64_t seed, struct ref_cfg cfg)
{
	w.n_flights = 0;
	w.turn = w.hash = 0;
	w.now = 1000;
	w.lose = w.twice = w.trim = w.spoil = w.mark = 0;
	w.delay = 1000;
	w.jitter = 0;
	w.cfg = cfg;
	prng_init(&w.rng, seed, 0);
	prng_fill(&w.rng, w.source, sizeof w.source);
	for (uint32_t i = 0; i < N_EVS; i++)
		w.evs[i] = 0x10000u * i + 0xabc;
	for (uint32_t i = 0; i < BATCH; i++)
		w.tx[i].head = w.heads[i];
	open_pair();
}

static inline void start(void)
{
	w.psn = 0;
	start_with(1, plain_cfg());
}

static inline bool chance(uint32_t of_1000)
{
	return prng_chance(&w.rng, of_1000, 1000);
}

static inline uint32_t below(uint32_t bound)
{
	return (uint32_t)prng_below(&w.rng, bound);
}

static inline struct mrc_bth bth_of(const struct tx_pkt *t)
{
	struct mrc_bth bth;

	mrc_bth_get(t->head, &bth);
	return bth;
}

static inline uint32_t body_bytes(const struct tx_pkt *t)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < t->n_body; i++)
		len += t->body[i].len;
	return len;
}

static inline struct mrc_pkt decode(const struct tx_pkt *t)
{
	static uint8_t bytes[ENGINE_HEAD_MAX + PAYLOAD + 4];
	struct cursor c = cursor_of((struct cspan){bytes, flatten(t, bytes, sizeof bytes)});
	struct mrc_pkt pkt;

	assert_int_equal(mrc_pkt_get(&c, false, &pkt, NULL).why, WIRE_DROP_NONE);
	return pkt;
}

static inline void mix(uint64_t v)
{
	w.hash = (w.hash ^ v) * UINT64_C(0x100000001b3);
}

/* Law 2: payload stays where the application put it, but for the padding. */
static inline void check_lent(const struct tx_pkt *t)
{
	assert_true(t->n_body <= REF_SGE && t->head_len <= ENGINE_HEAD_MAX);
	for (uint32_t i = 0; i < t->n_body; i++) {
		const uint8_t *at = t->body[i].at;
		bool ours = at >= w.source && at + t->body[i].len <= w.source + MEMORY;

		assert_true(!at || ours || (i + 1u == t->n_body && t->body[i].len < 4));
	}
}

/* Pulls up to n packets into w.tx, holding laws 2 to 5 against what comes out. */
static inline uint32_t pull(int side, const uint16_t room[ENGINE_PORTS], uint32_t n)
{
	const struct engine_room all = room_of(room);
	uint32_t got = lawful_pull(w.e[side], w.now, &all, w.tx, n);

	for (uint32_t i = 0; i < got; i++) {
		const struct tx_pkt *t = &w.tx[i];

		assert_true(t->port < w.cfg.n_ports);
		check_lent(t);
		assert_int_equal((t->head_len + body_bytes(t)) % 4, 0);
		assert_int_equal(t->peer, PEER);
		assert_int_equal(t->local, 5);
		mix(t->ev), mix(t->port), mix(t->tclass), mix(t->udp_len), mix(body_bytes(t));
		for (uint32_t k = 0; k < t->head_len; k++)
			mix(t->head[k]);
	}
	return got;
}

/* Hands a packet over as one piece (head holds all), or with the payload in one or two. */
static inline void deliver(int to, const struct flight *f)
{
	static uint8_t flat[ENGINE_HEAD_MAX + PAYLOAD + 4];
	uint32_t len = flatten(&f->tx, flat, sizeof flat), heads = f->tx.head_len;
	bool is_virtual = f->tx.n_body > 0 && !f->tx.body[0].at;
	struct rx_pkt rx = {
		.head = {flat, len},
		.at = w.now,
		.peer = PEER,
		.local = 5,
		.ev = f->tx.ev,
		.port = f->tx.port,
		.trimmed = f->trimmed,
		.ecn = f->ecn,
		.udp_len = (uint16_t)(len + 12),
	};
	uint32_t cut = heads + below(len - heads + 1);

	if (f->trimmed) {
		rx.head.len = heads < 32 ? heads : 32;
	} else if (is_virtual) {
		rx.head.len = heads;
		rx.body[0] = (struct cspan){NULL, len - heads};
	} else if (chance(500)) {
		uint32_t half = cut + below(len - cut + 1);

		rx.head.len = cut;
		rx.body[0] = (struct cspan){flat + cut, half - cut};
		rx.body[1] = (struct cspan){flat + half, len - half};
	}
	ref_ops.input(w.e[to], w.now, &rx, 1);
	/* Law 1 and 2: lent bytes are gone once input has returned. */
	memset(flat, 0xee, sizeof flat);
}

static inline void fly(int from, const struct tx_pkt *t)
{
	bool is_data = bth_of(t).opcode <= MRC_OP_WRITE_ONLY_IMM;

	assert_true(w.n_flights < FLIGHTS);
	struct flight *f = &w.flights[w.n_flights++];

	*f = (struct flight){
		.at = w.now + w.delay, .turn = w.turn++, .tx = *t, .to = (uint8_t)(1 - from)};
	if (w.jitter)
		f->at += prng_below(&w.rng, w.jitter);
	memcpy(f->head, t->head, t->head_len);
	if (is_data && chance(w.mark))
		f->ecn = 3;
	if (is_data && chance(w.trim))
		f->trimmed = (uint8_t)(1 + below(2));
	/* What a switch trimmed has no checksum: its bits may come wrong. */
	if (f->trimmed && chance(w.spoil))
		f->head[below(16)] ^= (uint8_t)(1u << below(8));
}

static inline void send_all(int side, const uint16_t room[ENGINE_PORTS])
{
	uint32_t got = pull(side, room, BATCH);

	for (uint32_t i = 0; i < got; i++) {
		if (!chance(w.lose))
			fly(side, &w.tx[i]);
		if (chance(w.twice))
			fly(side, &w.tx[i]);
	}
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

/* Moves to the next thing that happens, lets it happen; false when nothing ever will. */
static inline bool step(void)
{
	struct flight *f = first_flight();
	nsec next = f ? f->at : NSEC_NEVER;

	for (int side = 0; side < 2; side++) {
		nsec deadline = deadline_of(w.e[side]);

		next = deadline < next ? deadline : next;
	}
	if (next == NSEC_NEVER)
		return false;
	w.now = next > w.now ? next : w.now;
	while (f && f->at <= w.now) {
		f->tx.head = f->head;
		deliver(f->to, f);
		*f = w.flights[--w.n_flights];
		f = first_flight();
	}
	for (int side = 0; side < 2; side++)
		send_all(side, wide);
	return true;
}

static inline void run(void)
{
	uint32_t steps = 0;

	while (step())
		assert_true(++steps < 200000);
}

/* Posts len bytes from source to the same place of the peer's memory. */
static inline int post_at(uint32_t at, uint32_t len, uint8_t code, uint64_t cookie)
{
	struct sge sg = {w.source + at, len, 0};
	struct op op = {.cookie = cookie,
			.remote = at,
			.key = 0xabcd,
			.imm = cookie & 0xffffffff,
			.sg = &sg,
			.n_sg = 1,
			.qp = 0,
			.code = code};

	assert_true(at + len <= MEMORY);
	return ref_ops.post(w.e[0], w.now, &op);
}

static inline void post(uint32_t at, uint32_t len, uint8_t code, uint64_t cookie)
{
	assert_int_equal(post_at(at, len, code, cookie), 0);
	memcpy(w.image + at, w.source + at, len);
}

static inline void check_balance(int side)
{
	const struct ref_counters *c = count(side);
#define ADD(name, text) +c->name
	assert_int_equal(c->rx, 0 REF_ACCEPTED(ADD) REF_DROPS(ADD));
#undef ADD
}

static inline void check_memory(void)
{
	assert_memory_equal(w.memory[1], w.image, MEMORY);
	for (uint32_t i = MEMORY; i < sizeof w.memory[1]; i++)
		assert_int_equal(w.memory[1][i], CANARY);
}

static inline void poll_one(int side, struct done want)
{
	struct done got;

	assert_int_equal(ref_ops.poll(w.e[side], &got, 1), 1);
	assert_int_equal(got.code, want.code);
	assert_int_equal(got.cookie, want.cookie);
	assert_int_equal(got.status, want.status);
	assert_int_equal(got.len, want.len);
	if (want.code == ENGINE_DONE_RECEIVED)
		assert_int_equal(got.imm, want.imm);
}

static inline void poll_none(int side)
{
	struct done got;

	assert_int_equal(ref_ops.poll(w.e[side], &got, 1), 0);
}

/* Delivers packet i of the last pull from side 0. */
static inline void hand(uint32_t i, uint8_t trimmed, uint8_t ecn)
{
	struct flight f = {.tx = w.tx[i], .trimmed = trimmed, .ecn = ecn};

	deliver(1, &f);
}

#endif
