/* One end of MRC connections for tests: an engine, its memory table, two areas of memory with
 * canaries around them (or virtual ones: is_virtual), and queue pairs. What an area should hold is
 * kept beside it, in its image. Addresses on the wire are not those of the process, so that one
 * set-up says the same bytes in every run. Engine and queue pairs lie in memory of exactly the size
 * they ask for. Each pull through here is held against the laws of engine/engine.h, and each packet
 * that comes out against what every packet of MRC must be.
 *
 * What a test program may define before it includes this: STAGE_QPS, STAGE_AREA. */
#ifndef WEFT_TESTS_SUPPORT_MRC_END_H
#define WEFT_TESTS_SUPPORT_MRC_END_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "evs.h"
#include "mrc/mrc.h"
#include "wire/mrc.h"

#ifndef STAGE_QPS
#define STAGE_QPS 4u
#endif
#ifndef STAGE_AREA
#define STAGE_AREA 98304u
#endif
#define GUARD            64u
#define CANARY           0x5a
#define END_MEM          65536u
#define END_ENTRIES      64u
#define END_BATCH        32u
#define END_EVS          8u
#define PACKET_MAX       (4096u + 64u)
#define PEER             77u
#define LOCAL            5u
#define PD               3u
#define ALL_FREE         0xffu
#define ALL_ACCESS       (MEM_LOCAL_WRITE | MEM_REMOTE_WRITE)
#define UDP_MORE         12u /* UDP header and ICRC: what udp_len counts besides our bytes */
#define TRIM_BYTES       20u /* BTH, METH and TSETH: what a trimming switch leaves at least */
#define TIMEOUT_NS(code) (UINT64_C(1024) << (code))

/* SOURCE is read by our own work only; TARGET is open to the peer. */
enum end_area { SOURCE, TARGET, AREAS };

struct end_qp {
	uint32_t number;
	struct mrc_caps caps;
	struct mrc_attr attr;
	void *memory;
};

/* A packet that was pulled, as one run of bytes (of virtual payload: the head only). */
struct end_pkt {
	struct tx_pkt tx;
	struct mrc_pkt h;  /* payload: only its length */
	uint32_t len, cut; /* whole; and as far as bytes holds it */
	uint8_t bytes[PACKET_MAX];
};

struct end {
	void *block;
	uint8_t *mem_memory;
	uint8_t area[AREAS][GUARD + STAGE_AREA + GUARD], image[AREAS][STAGE_AREA];
	uint8_t heads[END_BATCH][ENGINE_HEAD_MAX];
	struct end_pkt out[END_BATCH];
	uint32_t n_out;
	struct mrc_cfg cfg;
	struct path_ev evs[END_EVS];
	uint32_t n_evs; /* EV i leaves by port i % cfg.n_ports */
	struct evs set;
	struct mem *mem;
	struct engine *e;
	uint32_t n_qps, key_base;
	bool is_virtual;
	struct end_qp qp[STAGE_QPS];
	uint64_t hash; /* of everything that came out */
};

static const uint16_t wide[ENGINE_PORTS] = {100, 100, 100, 100, 100, 100, 100, 100};

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
	assert_true((uint64_t)at + len <= STAGE_AREA || s->is_virtual);
	return (struct sge){(void *)(uintptr_t)(area_va(a) + at), len, area_key(s, a)};
}

static inline const struct mrc_counters *counts(const struct end *s)
{
	return mrc_counters(s->e);
}

static inline void end_mix(struct end *s, uint64_t v)
{
	s->hash = (s->hash ^ v) * UINT64_C(0x100000001b3);
}

static inline void end_close(struct end *s)
{
	for (uint32_t i = 0; i < STAGE_QPS; i++) {
		free(s->qp[i].memory);
		s->qp[i].memory = NULL;
	}
	free(s->block);
	free(s->mem_memory);
	s->block = s->mem_memory = NULL;
	s->e = NULL;
}

/* What an end is before a test changes it: queue pair i is number + i, peer is its peer's. */
static inline void end_defaults(struct end *s, uint32_t number, uint32_t peer)
{
	end_close(s);
	s->cfg = (struct mrc_cfg){
		.max_qps = STAGE_QPS,
		.n_ports = 1,
		.cc = {.kind = CC_FIXED, .window_bytes = 65536},
		.max_out_pkts = 8192,
		.max_early_pkts = 8192,
		.max_answers = 512,
		.max_probes = 16,
		.has_trim_nack = true,
	};
	s->key_base = number << 8;
	s->n_qps = 1;
	s->n_evs = END_EVS;
	s->is_virtual = false;
	for (uint32_t i = 0; i < STAGE_QPS; i++)
		s->qp[i] = (struct end_qp){
			.number = number + i,
			.caps = {.max_send = 64,
				 .max_recv = 64,
				 .max_send_sge = ENGINE_SGE,
				 .pd = PD,
				 .max_mpr = 16,
				 .max_wimm = 64},
			.attr = {.access = ALL_ACCESS,
				 .pmtu = 1024,
				 .peer = PEER,
				 .local = LOCAL,
				 .remote_qp = peer + i,
				 .rq_psn = (peer * 256 + i) % MRC_NUMBERS,
				 .sq_psn = (number * 256 + i) % MRC_NUMBERS,
				 .timeout = 8,
				 .linear_retries = 3,
				 .exp_retries = 4,
				 .mpr = 8,
				 .wimm_dest = 64},
		};
}

static inline void end_fill(struct end *s, uint64_t seed)
{
	struct prng rng;

	prng_init(&rng, seed, s->key_base);
	memset(s->area, CANARY, sizeof s->area);
	for (enum end_area a = SOURCE; a < AREAS; a++) {
		prng_fill(&rng, area_at(s, a, 0), STAGE_AREA);
		memcpy(s->image[a], area_at(s, a, 0), STAGE_AREA);
	}
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

/* Makes the engine and its regions anew, of s->cfg; no queue pair yet. */
static inline void end_open(struct end *s, nsec now, uint64_t seed)
{
	static const uint8_t access[AREAS] = {[TARGET] = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE};

	end_close(s);
	assert_in_range(mem_bytes(END_ENTRIES), 1, END_MEM);
	s->mem_memory = calloc(1, END_MEM);
	assert_non_null(s->mem_memory);
	s->mem = mem_init(s->mem_memory, END_ENTRIES);
	end_fill(s, seed);
	for (enum end_area a = SOURCE; a < AREAS; a++) {
		struct mem_entry entry = {.at = s->is_virtual ? NULL : area_at(s, a, 0),
					  .iova = area_va(a),
					  .len = s->is_virtual ? UINT64_C(1) << 31 : STAGE_AREA,
					  .key = area_key(s, a),
					  .pd = PD,
					  .qp = MEM_ANY_QP,
					  .access = access[a]};

		assert_int_equal(mem_add(s->mem, &entry), 0);
	}
	s->cfg.mem = s->mem;
	s->block = spoiled(mrc_ops.size(&s->cfg));
	s->e = s->block;
	s->hash = 0;
	s->n_out = 0;
	assert_int_equal(mrc_ops.init(s->e, &s->cfg, now), 0);
	for (uint32_t i = 0; i < END_EVS; i++)
		s->evs[i] = (struct path_ev){s->key_base * 65536 + 0xc000 + i,
					     s->cfg.n_ports ? i % s->cfg.n_ports : 0};
	evs_make(&s->set, s->evs, s->n_evs);
}

static inline int end_set(struct end *s, nsec now, uint32_t i, uint8_t state, uint32_t set)
{
	struct mrc_attr attr = s->qp[i].attr;

	attr.state = state;
	if (!attr.evs)
		attr.evs = &s->set.profile;
	return mrc_qp_modify(s->e, now, s->qp[i].number, &attr, set | MRC_SET_STATE);
}

/* Takes queue pair i from MRC_RESET up to a state. */
static inline void end_rise(struct end *s, nsec now, uint32_t i, uint8_t to)
{
	static const uint32_t rtr = MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP |
				    MRC_SET_RQ_PSN | MRC_SET_MPR | MRC_SET_PENALTY | MRC_SET_FLAGS;
	static const uint32_t rts = MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_WIMM_DEST |
				    MRC_SET_TIMEOUT | MRC_SET_RETRIES;

	if (to >= MRC_INIT)
		assert_int_equal(end_set(s, now, i, MRC_INIT, MRC_SET_ACCESS), 0);
	if (to >= MRC_RTR)
		assert_int_equal(end_set(s, now, i, MRC_RTR, rtr), 0);
	if (to >= MRC_RTS)
		assert_int_equal(end_set(s, now, i, MRC_RTS, rts), 0);
}

/* In memory of exactly the size it asks for. */
static inline void end_add_qp(struct end *s, uint32_t i)
{
	struct end_qp *q = &s->qp[i];

	free(q->memory);
	q->memory = spoiled(mrc_qp_size(&q->caps));
	assert_int_equal(mrc_qp_new(s->e, q->number, &q->caps, q->memory), 0);
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
	struct mrc_attr attr;

	assert_int_equal(mrc_qp_query(s->e, s->qp[i].number, &attr, NULL, NULL), 0);
	return attr.state;
}

/* Law 2: payload lies where the application has it, but for the padding. */
static inline void check_lent(const struct end *s, const struct tx_pkt *t)
{
	assert_true(t->n_body <= ENGINE_PIECES && t->head_len <= MRC_HEAD_BYTES);
	for (uint32_t i = 0; i < t->n_body; i++) {
		const uint8_t *at = t->body[i].at;
		bool is_ours = !at;

		for (uint32_t a = 0; a < AREAS; a++)
			is_ours |= at >= s->area[a] + GUARD &&
				   at + t->body[i].len <= s->area[a] + GUARD + STAGE_AREA;
		assert_true(is_ours || (i + 1u == t->n_body && t->body[i].len < 4));
	}
}

static inline void flatten(const struct end *s, const struct tx_pkt *t, struct end_pkt *p)
{
	p->len = t->head_len;
	memcpy(p->bytes, t->head, p->len);
	for (uint32_t i = 0; i < t->n_body; i++) {
		assert_true(p->len + t->body[i].len <= PACKET_MAX);
		if (t->body[i].at)
			memcpy(p->bytes + p->len, t->body[i].at, t->body[i].len);
		else if (!s->is_virtual)
			memset(p->bytes + p->len, 0, t->body[i].len);
		p->len += t->body[i].len;
	}
	p->cut = s->is_virtual ? t->head_len : p->len;
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

static inline bool is_data(uint8_t opcode)
{
	return opcode >= MRC_OP_WRITE_FIRST && opcode <= MRC_OP_WRITE_ONLY_IMM;
}

static inline bool is_endpoint(uint8_t opcode)
{
	return opcode == MRC_OP_ENDPOINT_REQUEST || opcode == MRC_OP_ENDPOINT_RESPONSE;
}

static inline bool is_ev(const struct end *s, uint32_t ev, uint32_t port)
{
	for (uint32_t i = 0; i < s->n_evs; i++)
		if (s->evs[i].value == ev && s->evs[i].port == port)
			return true;
	return false;
}

/* What every packet between queue pairs is: to a peer, on one of its EVs, no longer than the PMTU
 * and exactly that where more follows, of its class (Table 7-8). */
static inline void check_packet(const struct end *s, const struct end_pkt *p)
{
	const struct mrc_bth *bth = &p->h.bth;
	const struct end_qp *q = qp_to(s, bth->dest_qp);

	if (!q->attr.evs)
		assert_true(is_ev(s, p->tx.ev, p->tx.port));
	assert_int_equal(p->tx.peer, q->attr.peer);
	assert_int_equal(p->tx.local, q->attr.local);
	assert_true(p->h.payload.len <= q->attr.pmtu);
	if (bth->opcode == MRC_OP_WRITE_FIRST || bth->opcode == MRC_OP_WRITE_MIDDLE)
		assert_int_equal(p->h.payload.len, q->attr.pmtu);
	if (bth->opcode != MRC_OP_NACK)
		assert_int_equal(p->tx.udp_len, 0);
	if (is_data(bth->opcode) || bth->opcode == MRC_OP_PROBE_REQUEST) {
		assert_int_not_equal(p->tx.tclass, ENGINE_CONTROL);
		assert_int_equal(p->tx.not_ect, 0);
	} else {
		assert_int_equal(p->tx.tclass, ENGINE_CONTROL);
		assert_int_equal(p->tx.not_ect, 1);
	}
	if (is_data(bth->opcode))
		assert_true(p->tx.tclass >= ENGINE_DSCP ||
			    (p->tx.tclass == ENGINE_RETX) ==
				    (bth->rtx && !(q->attr.flags & MRC_NO_TRIM)));
	else
		assert_int_equal(bth->ack_req | bth->se | bth->ts, 0);
}

/* What every packet of MRC is: it decodes to its last byte, with zeros for what is reserved and as
 * padding. */
static inline void check_any_packet(struct end *s, struct end_pkt *p)
{
	struct cursor c = cursor_of((struct cspan){p->bytes, p->len});

	if (p->cut < p->len)
		memset(p->bytes + p->cut, 0, p->len - p->cut);
	assert_int_equal(mrc_pkt_get(&c, false, &p->h, NULL).why, WIRE_DROP_NONE);
	const struct mrc_bth *bth = &p->h.bth;

	/* Only control packets carry what the engine was given for them (M-04). */
	if (is_data(bth->opcode) || bth->opcode == MRC_OP_ACKNOWLEDGE || !s->cfg.pkey)
		assert_int_equal(bth->pkey, 0xffff);
	else
		assert_int_equal(bth->pkey, s->cfg.pkey);
	assert_int_equal(bth->rsv_var | bth->rsv0 | bth->rsv_inv | bth->m, 0);
	assert_int_equal(p->len % 4, 0);
	for (uint32_t i = p->len - bth->pad; i < p->len; i++)
		assert_int_equal(p->bytes[i], 0);
	assert_true(engine_is_tclass(p->tx.tclass));
	if (!is_endpoint(bth->opcode))
		check_packet(s, p);
	p->h.payload.at = NULL;
}

static inline uint32_t free_mask(const uint16_t room[ENGINE_PORTS])
{
	uint32_t mask = 0;

	for (uint32_t p = 0; p < ENGINE_PORTS; p++)
		mask |= (uint32_t)(room[p] > 0) << p;
	return mask;
}

/* Pulls up to n packets into s->out, holding laws 2 to 5 against them. */
static inline uint32_t end_pull(struct end *s, nsec now, const uint16_t room[ENGINE_PORTS],
				uint32_t n)
{
	static struct tx_pkt tx[END_BATCH];
	uint16_t left[ENGINE_PORTS];
	nsec before = mrc_ops.deadline(s->e, free_mask(room));

	for (uint32_t i = 0; i < END_BATCH; i++)
		tx[i] = (struct tx_pkt){
			.head = s->heads[i], .n_body = 9, .not_ect = 1, .udp_len = 9};
	s->n_out = mrc_ops.pull(s->e, now, room, tx, n);
	memcpy(left, room, sizeof left);
	assert_true(s->n_out <= n);
	if (before > now)
		assert_int_equal(s->n_out, 0);
	for (uint32_t i = 0; i < s->n_out; i++) {
		struct end_pkt *p = &s->out[i];

		assert_true(tx[i].port < (s->cfg.n_ports ? s->cfg.n_ports : 1));
		assert_true(left[tx[i].port] > 0);
		left[tx[i].port]--;
		check_lent(s, &tx[i]);
		p->tx = tx[i];
		flatten(s, &tx[i], p);
		check_any_packet(s, p);
		end_mix(s, now);
		end_mix(s, p->tx.ev);
		for (uint32_t k = 0; k < p->cut; k++)
			end_mix(s, p->bytes[k]);
	}
	if (s->n_out < n)
		assert_true(mrc_ops.deadline(s->e, free_mask(left)) > now);
	return s->n_out;
}

/* Hands len bytes over in up to three pieces, then spoils what was lent. Bytes from `cut` on are
 * virtual. rx says all but head, body and at; udp_len 0 there: the right one. */
static inline void end_input(struct end *s, nsec now, struct rx_pkt rx, const uint8_t *bytes,
			     uint32_t len, uint32_t cut)
{
	static uint8_t lent[PACKET_MAX * 2];
	uint32_t head = cut < MRC_HEAD_BYTES ? cut : MRC_HEAD_BYTES, half = head + (cut - head) / 3;
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
	mrc_ops.input(s->e, now, &rx, 1);
	memset(lent, 0xee, cut);
	assert_int_equal(counts(s)->rx, before + 1);
}

static inline bool end_poll(struct end *s, struct done *done)
{
	if (mrc_ops.poll(s->e, done, 1) == 0)
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
	const struct mrc_counters *c = counts(s);
#define ADD(name, text) +c->name
	assert_int_equal(c->rx, 0 MRC_ACCEPTED(ADD) MRC_DROPS(ADD));
#undef ADD
}

/* Every byte of every area is as its image says, and nothing around it was touched. */
static inline void check_memory(const struct end *s)
{
	for (uint32_t a = 0; a < AREAS; a++) {
		assert_memory_equal(s->area[a] + GUARD, s->image[a], STAGE_AREA);
		for (uint32_t i = 0; i < GUARD; i++) {
			assert_int_equal(s->area[a][i], CANARY);
			assert_int_equal(s->area[a][GUARD + STAGE_AREA + i], CANARY);
		}
	}
}

/* Nothing of any pool is in use: all that was sent is acknowledged, all that came is in order. */
static inline void check_idle(const struct end *s)
{
	struct mrc_usage use = mrc_usage(s->e);

	assert_int_equal(use.out_chunks, 0);
	assert_int_equal(use.early_chunks, 0);
	assert_int_equal(use.answers, 0);
	assert_int_equal(use.probes, 0);
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
