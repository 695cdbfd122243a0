/* One end of connections for tests: an engine, its memory table, three areas of memory with
 * canaries around them (or virtual ones: is_virtual), and queue pairs. What an area should hold is
 * kept beside it, in its image. Addresses on the wire are not those of the process, so that one
 * set-up says the same bytes in every run. Engine and queue pairs lie in memory of exactly the size
 * they ask for. Each pull through here is held against the laws of engine/engine.h, and each packet
 * that comes out against what every packet of the transport must be.
 *
 * A transport's own header (rc_end.h, mrc_end.h) defines before it includes this:
 *	END_ROW       its row
 *	END_OF(name)  the name of a function or struct of its engine
 *	END_ATTR      the struct that has a queue pair's attributes
 *	END_HEADERS   the struct that has a packet's headers
 *	END_ACCESS    what a peer may do to TARGET
 *	END_PUT       the function that writes a packet's headers
 *	END_FORGET    clears of a queue pair's attributes what is each end's own
 *	end_sets      by state, what is set on the way there
 * and behind it what is only declared here. A test program may define END_QPS and AREA before. */
#ifndef WEFT_TESTS_SUPPORT_END_H
#define WEFT_TESTS_SUPPORT_END_H

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>

#include "base/prng.h"
#include "evs.h"
#include "pull.h"
#include "transport/transport.h"

#ifndef END_QPS
#define END_QPS 4u
#endif
#ifndef AREA
#define AREA 98304u
#endif
#define GUARD       64u
#define CANARY      0x5a
#define END_MEM     65536u
#define END_ENTRIES 64u
#define END_SRQ     65536u
#define END_BATCH   32u
#define END_EVS     8u
#define PACKET_MAX  (4096u + 64u)
#define PEER        77u
#define LOCAL       5u
#define PD          3u
#define UDP_MORE    12u /* UDP header and ICRC: what udp_len counts besides our bytes */

/* SOURCE is read by our own work only; TARGET is open to the peer; receives and what we read of the
 * peer arrive in INBOX. */
enum end_area { SOURCE, TARGET, INBOX, AREAS };

struct end_qp {
	uint32_t number;
	struct END_OF(caps) caps;
	END_ATTR attr;
	void *memory;
};

/* A packet that was pulled, as one run of bytes (of virtual payload: the head only). */
struct end_pkt {
	struct tx_pkt tx;
	END_HEADERS h;
	uint32_t len, cut; /* whole; and as far as bytes holds it */
	uint8_t bytes[PACKET_MAX];
};

struct end {
	void *block;
	uint8_t *mem_memory;
	alignas(max_align_t) uint8_t srq_memory[END_SRQ];
	uint8_t area[AREAS][GUARD + AREA + GUARD], image[AREAS][AREA];
	uint8_t heads[END_BATCH][ENGINE_HEAD_MAX];
	struct end_pkt out[END_BATCH];
	uint32_t n_out;
	struct END_OF(cfg) cfg;
	struct path_ev evs[END_EVS];
	uint32_t n_evs; /* EV i leaves by port i % cfg.n_ports */
	struct evs set; /* of a transport that has such */
	struct mem *mem;
	struct engine *e;
	uint32_t n_qps, key_base;
	bool is_virtual;
	struct end_qp qp[END_QPS];
	uint64_t hash; /* of everything that came out */
};

/* What every packet is; decodes it into p->h. */
static inline void check_packet(struct end *s, struct end_pkt *p);
/* Moves queue pair i to a state, and sets so much of its attributes. */
static inline int end_set(struct end *s, nsec now, uint32_t i, uint8_t state, uint32_t set);

static inline uint64_t area_va(enum end_area a)
{
	return UINT64_C(0x7f0000000000) + a * UINT64_C(0x100000000) + 0x1000;
}

static inline uint32_t area_key(const struct end *s, enum end_area a)
{
	return s->key_base + a;
}

static inline uint8_t *area_at(struct end *s, enum end_area a, uint32_t at)
{
	return s->area[a] + GUARD + at;
}

/* A piece of an area, as work names it. */
static inline struct sge area_piece(const struct end *s, enum end_area a, uint32_t at, uint32_t len)
{
	assert_true((uint64_t)at + len <= AREA || s->is_virtual);
	return (struct sge){(void *)(uintptr_t)(area_va(a) + at), len, area_key(s, a)};
}

static inline const struct END_OF(counters) * counts(const struct end *s)
{
	return END_OF(counters)(s->e);
}

static inline void end_mix(struct end *s, uint64_t v)
{
	s->hash = (s->hash ^ v) * UINT64_C(0x100000001b3);
}

static inline void end_close(struct end *s)
{
	for (uint32_t i = 0; i < END_QPS; i++) {
		free(s->qp[i].memory);
		s->qp[i].memory = NULL;
	}
	free(s->block);
	free(s->mem_memory);
	s->block = s->mem_memory = NULL;
	s->e = NULL;
}

/* As it is before a test, or its transport, says anything of it. */
static inline void end_begin(struct end *s, uint32_t key_base)
{
	end_close(s);
	s->key_base = key_base;
	s->n_qps = 1;
	s->n_evs = END_EVS;
	s->is_virtual = false;
}

static inline void end_fill(struct end *s, uint64_t seed)
{
	struct prng rng;

	prng_init(&rng, seed, s->key_base);
	memset(s->area, CANARY, sizeof s->area);
	prng_fill(&rng, area_at(s, SOURCE, 0), AREA);
	prng_fill(&rng, area_at(s, TARGET, 0), AREA);
	for (enum end_area a = SOURCE; a < AREAS; a++)
		memcpy(s->image[a], area_at(s, a, 0), AREA);
}

/* Memory that somebody asked for, and was not cleared. */
static inline void *spoiled(size_t bytes)
{
	void *at = bytes > 0 ? malloc(bytes) : NULL;

	assert_non_null(at);
	if (at)
		memset(at, CANARY, bytes);
	return at;
}

static inline void end_add_areas(struct end *s)
{
	static const uint8_t access[AREAS] = {[TARGET] = END_ACCESS, [INBOX] = MEM_LOCAL_WRITE};

	for (enum end_area a = SOURCE; a < AREAS; a++) {
		struct mem_entry entry = {.at = s->is_virtual ? NULL : area_at(s, a, 0),
					  .iova = area_va(a),
					  .len = s->is_virtual ? UINT64_C(1) << 31 : AREA,
					  .key = area_key(s, a),
					  .pd = PD,
					  .qp = MEM_ANY_QP,
					  .access = access[a]};

		assert_int_equal(mem_add(s->mem, &entry), 0);
	}
}

/* Makes the engine and its regions anew, of s->cfg; no queue pair yet. */
static inline void end_open(struct end *s, nsec now, uint64_t seed)
{
	end_close(s);
	assert_in_range(mem_bytes(END_ENTRIES), 1, END_MEM);
	s->mem_memory = calloc(1, END_MEM);
	assert_non_null(s->mem_memory);
	s->mem = mem_init(s->mem_memory, END_ENTRIES);
	end_fill(s, seed);
	end_add_areas(s);
	s->cfg.mem = s->mem;
	s->block = spoiled(END_ROW->engine->size(&s->cfg));
	s->e = s->block;
	s->hash = 0;
	s->n_out = 0;
	assert_int_equal(END_ROW->engine->init(s->e, &s->cfg, now), 0);
	for (uint32_t i = 0; i < END_EVS; i++)
		s->evs[i] = (struct path_ev){s->key_base * 65536 + 0xc000 + i,
					     s->cfg.n_ports ? i % s->cfg.n_ports : 0};
	evs_make(&s->set, s->evs, s->n_evs);
}

/* Takes queue pair i from ENGINE_RESET up to a state. */
static inline void end_rise(struct end *s, nsec now, uint32_t i, uint8_t to)
{
	for (uint8_t state = ENGINE_INIT; state <= to && state <= ENGINE_RTS; state++)
		assert_int_equal(end_set(s, now, i, state, end_sets[state]), 0);
}

/* In memory of exactly the size it asks for. */
static inline void end_add_qp(struct end *s, uint32_t i)
{
	struct end_qp *q = &s->qp[i];

	free(q->memory);
	q->memory = spoiled(END_OF(qp_size)(&q->caps));
	assert_int_equal(END_OF(qp_new)(s->e, q->number, &q->caps, q->memory), 0);
}

/* Queue pair i gave its memory back: nobody may look there any more. */
static inline void end_spoil_qp(struct end *s, uint32_t i)
{
	memset(s->qp[i].memory, 0xee, END_OF(qp_size)(&s->qp[i].caps));
}

/* Every queue pair made and brought to a state. */
static inline void end_connect(struct end *s, nsec now, uint8_t to)
{
	for (uint32_t i = 0; i < s->n_qps; i++) {
		end_add_qp(s, i);
		end_rise(s, now, i, to);
	}
}

static inline uint8_t end_state(const struct end *s, uint32_t i)
{
	return (uint8_t)END_ROW->pairs->state(s->e, s->qp[i].number);
}

/* Law 2: payload lies where the application has it, but for the padding. */
static inline void check_lent(const struct end *s, const struct tx_pkt *t)
{
	assert_true(t->n_body <= ENGINE_PIECES && t->head_len <= END_ROW->head_bytes);
	for (uint32_t i = 0; i < t->n_body; i++) {
		const uint8_t *at = t->body[i].at;
		bool is_ours = !at;

		for (uint32_t a = 0; a < AREAS; a++)
			is_ours |= at >= s->area[a] + GUARD &&
				   at + t->body[i].len <= s->area[a] + GUARD + AREA;
		assert_true(is_ours || (i + 1u == t->n_body && t->body[i].len < 4));
	}
}

/* The queue pair whose peer has this number. */
static inline const struct end_qp *qp_to(const struct end *s, uint32_t remote_qp)
{
	uint32_t i = remote_qp - s->qp[0].attr.remote_qp;

	if (i < s->n_qps && s->qp[i].attr.remote_qp == remote_qp)
		return &s->qp[i];
	for (i = 0; i < s->n_qps && s->qp[i].attr.remote_qp != remote_qp; i++)
		continue;
	assert_true(i < s->n_qps);
	return &s->qp[i];
}

/* Pulls up to n packets into s->out, holding laws 2 to 5 against them. */
static inline uint32_t end_pull(struct end *s, nsec now, const uint16_t room[ENGINE_PORTS],
				uint32_t n)
{
	static struct tx_pkt tx[END_BATCH];

	for (uint32_t i = 0; i < END_BATCH; i++)
		tx[i].head = s->heads[i];
	const struct engine_room all = room_of(room);

	s->n_out = lawful_pull(s->e, now, &all, tx, n);
	for (uint32_t i = 0; i < s->n_out; i++) {
		struct end_pkt *p = &s->out[i];

		assert_true(tx[i].port < (s->cfg.n_ports ? s->cfg.n_ports : 1));
		check_lent(s, &tx[i]);
		p->tx = tx[i];
		p->len = flatten(&tx[i], p->bytes, PACKET_MAX);
		p->cut = s->is_virtual ? tx[i].head_len : p->len;
		check_packet(s, p);
		end_mix(s, now);
		end_mix(s, p->tx.ev);
		for (uint32_t k = 0; k < p->cut; k++)
			end_mix(s, p->bytes[k]);
	}
	return s->n_out;
}

/* Hands len bytes over in up to three pieces, then spoils what was lent. Bytes from `cut` on are
 * virtual. rx says all but head, body and at; udp_len 0 there: the right one. */
static inline void end_input(struct end *s, nsec now, struct rx_pkt rx, const uint8_t *bytes,
			     uint32_t len, uint32_t cut)
{
	static uint8_t lent[PACKET_MAX * 2];
	uint32_t most = END_ROW->head_bytes, head = cut < most ? cut : most,
		 half = head + (cut - head) / 3;
	uint64_t before = counts(s)->rx;

	assert_true(cut <= len && len <= sizeof lent);
	memcpy(lent, bytes, cut);
	rx.at = now;
	rx.head = (struct cspan){lent, head};
	rx.body[0] = (struct cspan){lent + head, half - head};
	rx.body[1] = cut < len ? (struct cspan){NULL, len - half}
			       : (struct cspan){lent + half, len - half};
	if (cut < len)
		assert_int_equal(half, cut);
	if (rx.udp_len == 0)
		rx.udp_len = (uint16_t)(len + UDP_MORE);
	s->e->ops->input(s->e, now, &rx, 1);
	memset(lent, 0xee, cut);
	assert_int_equal(counts(s)->rx, before + 1);
}

static inline bool end_poll(struct end *s, struct done *done)
{
	if (s->e->ops->poll(s->e, done, 1) == 0)
		return false;
	end_mix(s, done->cookie);
	end_mix(s, (uint64_t)done->status);
	end_mix(s, done->len);
	end_mix(s, done->imm);
	return true;
}

/* Law 1: every packet that came is in one counter. */
static inline void check_balance(const struct end *s)
{
	assert_int_equal(transport_verdicts(END_ROW, s->e->ops->count(s->e)), counts(s)->rx);
}

/* Every byte of every area is as its image says, and nothing around it was touched. */
static inline void check_memory(const struct end *s)
{
	for (uint32_t a = 0; a < AREAS; a++) {
		assert_memory_equal(s->area[a] + GUARD, s->image[a], AREA);
		for (uint32_t i = 0; i < GUARD; i++) {
			assert_int_equal(s->area[a][i], CANARY);
			assert_int_equal(s->area[a][GUARD + AREA + i], CANARY);
		}
	}
}

static inline int end_post(struct end *s, nsec now, struct op op)
{
	return s->e->ops->post(s->e, now, &op);
}

/* The next event is this one. */
static inline void expect_event(struct end *s, uint32_t number, enum engine_event_kind kind)
{
	struct engine_event event;

	assert_int_equal(s->e->ops->events(s->e, &event, 1), 1);
	assert_int_equal(event.number, number);
	assert_int_equal(event.kind, kind);
}

static inline void expect_no_event(struct end *s)
{
	struct engine_event event;

	assert_int_equal(s->e->ops->events(s->e, &event, 1), 0);
}

#endif
