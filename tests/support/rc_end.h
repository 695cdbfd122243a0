/* One end of RC connections for tests: an engine, its memory table, three areas of real memory with
 * canaries around them, and queue pairs. What an area should hold is kept beside it, in its image.
 * Addresses on the wire are not those of the process, so that two ends of one set-up say the same
 * bytes. Each pull through here is held against the laws of engine/engine.h, and each packet that
 * comes out against what every packet of RC must be. */
#ifndef WEFT_TESTS_SUPPORT_RC_END_H
#define WEFT_TESTS_SUPPORT_RC_END_H

#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "rc/rc.h"
#include "wire/roce.h"

#define AREA             98304u
#define GUARD            64u
#define CANARY           0x5a
#define END_BLOCK        65536u
#define END_QP           131072u
#define END_QPS          4u
#define END_SRQ          65536u
#define END_MEM          65536u
#define END_ENTRIES      64u
#define END_BATCH        32u
#define PACKET_MAX       (4096u + 64u)
#define PEER             77u
#define LOCAL            5u
#define PD               3u
#define ALL_FREE         0xffu
#define ALL_ACCESS       (MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC)
#define TIMEOUT_NS(code) (UINT64_C(4096) << (code))

/* SOURCE is read by our own work only; TARGET is open to the peer; receives and what we read of the
 * peer arrive in INBOX. */
enum end_area { SOURCE, TARGET, INBOX, AREAS };

struct end_qp {
	uint32_t number;
	struct rc_caps caps;
	struct engine_attr attr;
};

/* A packet that was pulled, as one run of bytes. */
struct end_pkt {
	struct tx_pkt tx;
	struct roce_pkt h; /* payload lies in bytes */
	uint32_t len;
	uint8_t bytes[PACKET_MAX];
};

struct end {
	alignas(max_align_t) uint8_t block[END_BLOCK];
	alignas(max_align_t) uint8_t qp_memory[END_QPS][END_QP];
	alignas(max_align_t) uint8_t srq_memory[END_SRQ];
	alignas(max_align_t) uint8_t mem_memory[END_MEM];
	uint8_t area[AREAS][GUARD + AREA + GUARD], image[AREAS][AREA];
	uint8_t heads[END_BATCH][ENGINE_HEAD_MAX];
	struct end_pkt out[END_BATCH];
	uint32_t n_out;
	struct rc_cfg cfg;
	struct mem *mem;
	struct engine *e;
	uint32_t n_qps, key_base;
	struct end_qp qp[END_QPS];
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
	assert_true((uint64_t)at + len <= AREA);
	return (struct sge){(void *)(uintptr_t)(area_va(a) + at), len, area_key(s, a)};
}

static inline const struct rc_counters *counts(const struct end *s)
{
	return rc_counters(s->e);
}

static inline void end_mix(struct end *s, uint64_t v)
{
	s->hash = (s->hash ^ v) * UINT64_C(0x100000001b3);
}

/* What an end is before a test changes it: queue pair i is number + i, peer is its peer's. */
static inline void end_defaults(struct end *s, uint32_t number, uint32_t peer)
{
	s->cfg = (struct rc_cfg){
		.max_qps = END_QPS,
		.max_srqs = 2,
		.n_ports = 1,
		.cc = {.kind = CC_FIXED, .window_bytes = 65536},
	};
	s->key_base = number << 12;
	s->n_qps = 1;
	for (uint32_t i = 0; i < END_QPS; i++)
		s->qp[i] = (struct end_qp){
			.number = number + i,
			.caps = {.max_send = 64,
				 .max_recv = 64,
				 .max_send_sge = ENGINE_SGE,
				 .max_recv_sge = ENGINE_SGE,
				 .pd = PD,
				 .srq = RC_NO_SRQ},
			.attr = {.access = ALL_ACCESS,
				 .pmtu = 1024,
				 .peer = PEER,
				 .local = LOCAL,
				 .ev = 0xc0de + i,
				 .remote_qp = peer + i,
				 .rq_psn = peer * 256 + i,
				 .sq_psn = number * 256 + i,
				 .rd_atomic = RC_RD_ATOMIC_MAX,
				 .dest_rd_atomic = RC_RD_ATOMIC_MAX,
				 .rnr_timer = 1,
				 .timeout = 8,
				 .retries = 7,
				 .rnr_retries = 7},
		};
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

/* Makes the engine and its regions anew, of s->cfg; no queue pair yet. */
static inline void end_open(struct end *s, nsec now, uint64_t seed)
{
	static const uint8_t access[AREAS] = {
		[TARGET] = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ |
			   MEM_REMOTE_ATOMIC | MEM_BIND,
		[INBOX] = MEM_LOCAL_WRITE,
	};

	assert_in_range(mem_bytes(END_ENTRIES), 1, END_MEM);
	memset(s->mem_memory, 0, sizeof s->mem_memory);
	s->mem = mem_init(s->mem_memory, END_ENTRIES);
	end_fill(s, seed);
	for (enum end_area a = SOURCE; a < AREAS; a++) {
		struct mem_entry entry = {.at = area_at(s, a, 0),
					  .iova = area_va(a),
					  .len = AREA,
					  .key = area_key(s, a),
					  .pd = PD,
					  .qp = MEM_ANY_QP,
					  .access = access[a]};

		assert_int_equal(mem_add(s->mem, &entry), 0);
	}
	s->cfg.mem = s->mem;
	assert_in_range(rc_ops.size(&s->cfg), 1, END_BLOCK);
	memset(s->block, CANARY, sizeof s->block);
	s->e = (struct engine *)(void *)s->block;
	s->hash = 0;
	s->n_out = 0;
	assert_int_equal(rc_ops.init(s->e, &s->cfg, now), 0);
}

static inline int end_set(struct end *s, nsec now, uint32_t i, uint8_t state, uint32_t set)
{
	struct engine_attr attr = s->qp[i].attr;

	attr.state = state;
	return rc_qp_modify(s->e, now, s->qp[i].number, &attr, set | ENGINE_SET_STATE);
}

/* Takes queue pair i from ENGINE_RESET up to a state. */
static inline void end_rise(struct end *s, nsec now, uint32_t i, uint8_t to)
{
	static const uint32_t rtr = ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP |
				    ENGINE_SET_RQ_PSN | ENGINE_SET_DEST_RD_ATOMIC |
				    ENGINE_SET_RNR_TIMER;
	static const uint32_t rts = ENGINE_SET_SQ_PSN | ENGINE_SET_RD_ATOMIC | ENGINE_SET_TIMEOUT |
				    ENGINE_SET_RETRIES | ENGINE_SET_RNR_RETRIES;

	if (to >= ENGINE_INIT)
		assert_int_equal(end_set(s, now, i, ENGINE_INIT, ENGINE_SET_ACCESS), 0);
	if (to >= ENGINE_RTR)
		assert_int_equal(end_set(s, now, i, ENGINE_RTR, rtr), 0);
	if (to >= ENGINE_RTS)
		assert_int_equal(end_set(s, now, i, ENGINE_RTS, rts), 0);
}

static inline void end_add_qp(struct end *s, uint32_t i)
{
	assert_in_range(rc_qp_size(&s->qp[i].caps), 1, END_QP);
	memset(s->qp_memory[i], CANARY, END_QP);
	assert_int_equal(rc_qp_new(s->e, s->qp[i].number, &s->qp[i].caps, s->qp_memory[i]), 0);
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
	struct engine_attr attr;

	assert_int_equal(rc_qp_query(s->e, s->qp[i].number, &attr, NULL, NULL), 0);
	return attr.state;
}

/* Law 2: payload lies where the application has it, but for the padding. */
static inline void check_lent(const struct end *s, const struct tx_pkt *t)
{
	assert_true(t->n_body <= ENGINE_PIECES && t->head_len <= RC_HEAD_BYTES);
	for (uint32_t i = 0; i < t->n_body; i++) {
		const uint8_t *at = t->body[i].at;
		bool is_ours = !at;

		for (uint32_t a = 0; a < AREAS; a++)
			is_ours |= at >= s->area[a] + GUARD &&
				   at + t->body[i].len <= s->area[a] + GUARD + AREA;
		assert_true(is_ours || (i + 1u == t->n_body && t->body[i].len < 4));
	}
}

static inline uint32_t flatten(const struct tx_pkt *t, uint8_t *to)
{
	uint32_t len = t->head_len;

	memcpy(to, t->head, len);
	for (uint32_t i = 0; i < t->n_body; i++) {
		assert_true(len + t->body[i].len <= PACKET_MAX);
		if (t->body[i].at)
			memcpy(to + len, t->body[i].at, t->body[i].len);
		else
			memset(to + len, 0, t->body[i].len);
		len += t->body[i].len;
	}
	return len;
}

static inline const struct end_qp *qp_to(const struct end *s, uint32_t remote_qp)
{
	for (uint32_t i = 0; i < s->n_qps; i++)
		if (s->qp[i].attr.remote_qp == remote_qp)
			return &s->qp[i];
	fail_msg("a packet for queue pair %#x, which is nobody's peer", remote_qp);
	return NULL;
}

static inline bool is_partial(uint8_t opcode)
{
	return opcode == ROCE_OP_SEND_FIRST || opcode == ROCE_OP_SEND_MIDDLE ||
	       opcode == ROCE_OP_WRITE_FIRST || opcode == ROCE_OP_WRITE_MIDDLE ||
	       opcode == ROCE_OP_READ_RESPONSE_FIRST || opcode == ROCE_OP_READ_RESPONSE_MIDDLE;
}

static inline bool is_answer(uint8_t opcode)
{
	return opcode >= ROCE_OP_READ_RESPONSE_FIRST && opcode <= ROCE_OP_ATOMIC_ACKNOWLEDGE;
}

/* What every packet of RC is: it decodes, in the default partition, to a peer, no longer than the
 * PMTU and exactly that where more follows, zeros as padding (IBTA 9.2, 9.7.2). */
static inline void check_packet(struct end *s, struct end_pkt *p)
{
	struct cursor c = cursor_of((struct cspan){p->bytes, p->len});

	assert_int_equal(roce_pkt_get(&c, &p->h, NULL).why, WIRE_DROP_NONE);
	const struct bth *bth = &p->h.bth;
	const struct end_qp *q = qp_to(s, bth->dest_qp);

	assert_int_equal(bth->tver, 0);
	assert_int_equal(bth->pkey, RC_PKEY);
	assert_int_equal(bth->rsv0, 0);
	assert_int_equal(bth->rsv1, 0);
	assert_int_equal(bth->fecn, 0);
	assert_int_equal(bth->becn, bth->opcode == ROCE_OP_CNP);
	if (is_partial(bth->opcode))
		assert_int_equal(p->h.payload.len, q->attr.pmtu);
	assert_true(p->h.payload.len <= q->attr.pmtu);
	assert_int_equal(p->len % 4, 0);
	for (uint32_t i = p->len - bth->pad; i < p->len; i++)
		assert_int_equal(p->bytes[i], 0);
	assert_int_equal(p->tx.peer, q->attr.peer);
	assert_int_equal(p->tx.local, q->attr.local);
	assert_int_equal(p->tx.ev, q->attr.ev);
	assert_int_equal(p->tx.port, q->attr.port);
	assert_true(p->tx.tclass < ENGINE_TCLASSES);
	assert_int_equal(p->tx.udp_len, 0);
	if (is_answer(bth->opcode) || bth->opcode == ROCE_OP_CNP)
		assert_int_equal(bth->ack_req, 0);
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
	nsec before = rc_ops.deadline(s->e, free_mask(room));

	for (uint32_t i = 0; i < END_BATCH; i++)
		tx[i].head = s->heads[i];
	s->n_out = rc_ops.pull(s->e, now, room, tx, n);
	memcpy(left, room, sizeof left);
	assert_true(s->n_out <= n);
	if (before > now)
		assert_int_equal(s->n_out, 0);
	for (uint32_t i = 0; i < s->n_out; i++) {
		struct end_pkt *p = &s->out[i];

		assert_true(tx[i].port < s->cfg.n_ports && left[tx[i].port] > 0);
		left[tx[i].port]--;
		check_lent(s, &tx[i]);
		p->tx = tx[i];
		p->len = flatten(&tx[i], p->bytes);
		check_packet(s, p);
		end_mix(s, now);
		for (uint32_t k = 0; k < p->len; k++)
			end_mix(s, p->bytes[k]);
	}
	if (s->n_out < n)
		assert_true(rc_ops.deadline(s->e, free_mask(left)) > now);
	return s->n_out;
}

/* Hands len bytes over in up to three pieces as the numbers say, then spoils what was lent. */
static inline void end_input(struct end *s, nsec now, struct rx_pkt rx, const uint8_t *bytes,
			     uint32_t len)
{
	static uint8_t lent[PACKET_MAX * 2];
	uint32_t head = len < RC_HEAD_BYTES ? len : RC_HEAD_BYTES, half = head + (len - head) / 3;
	uint64_t before = counts(s)->rx;

	assert_true(len <= sizeof lent);
	memcpy(lent, bytes, len);
	rx.at = now;
	rx.head = (struct cspan){lent, head};
	rx.body[0] = (struct cspan){lent + head, half - head};
	rx.body[1] = (struct cspan){lent + half, len - half};
	rx.udp_len = (uint16_t)(len + 12);
	rc_ops.input(s->e, now, &rx, 1);
	memset(lent, 0xee, len);
	assert_int_equal(counts(s)->rx, before + 1);
}

static inline bool end_poll(struct end *s, struct done *done)
{
	if (rc_ops.poll(s->e, done, 1) == 0)
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
	const struct rc_counters *c = counts(s);
#define ADD(name, text) +c->name
	assert_int_equal(c->rx, 0 RC_ACCEPTED(ADD) RC_DROPS(ADD));
#undef ADD
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
	return rc_ops.post(s->e, now, &op);
}

/* A receive of one piece of INBOX on queue pair i. */
static inline int end_recv(struct end *s, nsec now, uint32_t i, uint32_t at, uint32_t len,
			   uint64_t cookie)
{
	struct sge sg = area_piece(s, INBOX, at, len);

	return end_post(s, now,
			(struct op){.code = ENGINE_RECV,
				    .qp = s->qp[i].number,
				    .cookie = cookie,
				    .sg = &sg,
				    .n_sg = 1});
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
