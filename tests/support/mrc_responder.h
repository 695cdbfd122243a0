/* A responder of MRC alone; see responder.h. SACKs come only when asked for, unless a test sets
 * sack_every_bytes. start begins anew. */
#ifndef WEFT_TESTS_SUPPORT_MRC_RESPONDER_H
#define WEFT_TESTS_SUPPORT_MRC_RESPONDER_H

#include <stdalign.h>
#include <string.h>

#include "check.h"
#include "evs.h"
#include "mrc/state.h"
#include "wire/net.h"

#define BLOCK    (512u * 1024u)
#define MEMORY   65536u
#define NUMBER   0x50222u
#define REMOTE   0x60111u
#define EV       0xc0010203u
#define UDP_LEN  1234u /* of every packet here, as its UDP header says */
#define SELDOM   (UINT32_C(1) << 30)
#define RECEIVES 8u
#define N_EVS    3u

enum { KEY_ALL = 0x100, KEY_READ_ONLY, KEY_FOREIGN, KEY_VIRTUAL, KEY_TOP };

struct responder {
	alignas(max_align_t) uint8_t block[BLOCK], table[MEMORY], pair[BLOCK];
	uint8_t memory[MEMORY], packet[16384];
	uint8_t head[ENGINE_HEAD_MAX], whole[ENGINE_HEAD_MAX];
	struct path_ev evs[N_EVS];
	struct evs set;
	struct mrc_cfg cfg;
	struct mrc_caps caps;
	struct mrc_attr attr;
	struct engine *e;
	struct mem *mem;
	struct mrc_qp *q;
	struct rx_pkt rx; /* how packets arrive; reset by start */
	struct tx_pkt tx;
	struct mrc_pkt got;

	nsec now;
	uint32_t rtr; /* enum mrc_set: what is set on the way there beside the usual */
	bool is_open;
};

#define RESPONDER_ROW     (&transport_mrc)
#define RESPONDER_HEADERS struct mrc_pkt
#define RESPONDER_PUT     mrc_head_put
#define RESPONDER_PUT_BTH mrc_bth_put

#include "responder.h"

static inline struct mrc *engine(void)
{
	return mrc_of(w.e);
}

static inline const struct mrc_counters *count(void)
{
	return mrc_counters(w.e);
}

static inline struct mrc_responder *responder(void)
{
	return &w.q->resp;
}

static inline uint32_t wire_psn(int64_t n)
{
	return (w.attr.rq_psn + (uint32_t)n) & 0xffffff;
}

static inline void make_memory(void)
{
	const uint8_t all = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ;
	const struct span memory = {w.memory, MEMORY};

	make_table();
	add_region(KEY_ALL, PD, memory, BASE, all);
	add_region(KEY_READ_ONLY, PD, memory, BASE, MEM_LOCAL_WRITE | MEM_REMOTE_READ);
	add_region(KEY_FOREIGN, PD_OTHER, memory, BASE, all);
	add_region(KEY_VIRTUAL, PD, (struct span){NULL, MEMORY}, BASE, all);
	add_region(KEY_TOP, PD, (struct span){w.memory, 4096}, UINT64_MAX - 4095, all);
}

/* Free slots of a pool are poisoned, and the block is used again. */
static inline void close_engine(void)
{
	struct mrc *m = engine();

	if (!w.is_open)
		return;
	pool_fini(&m->flights);
	pool_fini(&m->tracks);
	pool_fini(&m->answers);
	pool_fini(&m->ev_faults);
	pool_fini(&m->endpoints.requests);
	pool_fini(&m->endpoints.responses);
	w.is_open = false;
}

/* What a test may change before open_engine. */
static inline void defaults(void)
{
	close_engine();
	w.cfg = (struct mrc_cfg){
		.max_qps = 4,
		.n_ports = 2,
		.cc = {.kind = CC_FIXED, .window_bytes = 1 << 20},
		.max_out_pkts = 1024,
		.max_early_pkts = 16384,
		.max_answers = 64,
		.max_probes = 4,
		.sack_every_bytes = SELDOM,
		.sack_least_bytes = 1024,
	};
	w.rtr = 0;
	w.caps = (struct mrc_caps){
		.max_send = 4,
		.max_recv = RECEIVES,
		.max_send_sge = 1,
		.pd = PD,
		.max_mpr = 32,
		.max_wimm = 4,
	};
	w.attr = (struct mrc_attr){
		.access = MEM_REMOTE_WRITE,
		.pmtu = PMTU,
		.peer = PEER,
		.local = LOCAL,
		.evs = &w.set.profile,
		.remote_qp = REMOTE,
		.rq_psn = PSN,
		.sq_psn = 7,
		.timeout = 14,
		.linear_retries = 3,
		.exp_retries = 3,
		.mpr = 8,
		.mpr_dest = 8,
	};
	w.rx = (struct rx_pkt){
		.peer = PEER, .local = LOCAL, .ev = EV, .udp_len = UDP_LEN, .ecn = 2};
	for (uint32_t i = 0; i < N_EVS; i++)
		w.evs[i] = (struct path_ev){0xa0000000u + i, i % 2};
	evs_make(&w.set, w.evs, N_EVS);
}

static inline int modify(uint8_t state, uint32_t set)
{
	struct mrc_attr attr = w.attr;

	attr.state = state;
	return mrc_qp_modify(w.e, w.now, NUMBER, &attr, set | MRC_SET_STATE);
}

static inline void to_rts(void)
{
	assert_int_equal(modify(MRC_RTS, MRC_SET_SQ_PSN | MRC_SET_MPR_DEST | MRC_SET_TIMEOUT |
						 MRC_SET_RETRIES),
			 0);
}

/* A fresh engine with one queue pair that can receive. */
static inline void open_engine(void)
{
	w.now = 100000;
	make_memory();
	w.cfg.mem = w.mem;
	make_engine(&w.cfg);
	w.is_open = true;
	assert_in_range(mrc_qp_size(&w.caps), 1, BLOCK);
	memset(w.pair, 0x5a, sizeof w.pair);
	assert_int_equal(mrc_qp_new(w.e, NUMBER, &w.caps, w.pair), 0);
	assert_int_equal(modify(MRC_INIT, MRC_SET_ACCESS), 0);
	assert_int_equal(modify(MRC_RTR, MRC_SET_PMTU | MRC_SET_PATH | MRC_SET_REMOTE_QP |
						 MRC_SET_RQ_PSN | MRC_SET_MPR | MRC_SET_PENALTY |
						 MRC_SET_FLAGS | w.rtr),
			 0);
	w.q = mrc_find(engine(), NUMBER);
}

static inline void start(void)
{
	defaults();
	open_engine();
}

static inline void post_recv(uint64_t cookie)
{
	struct op op = {.cookie = cookie, .qp = NUMBER, .code = ENGINE_RECV};

	assert_int_equal(w.e->ops->post(w.e, w.now, &op), 0);
}

/* Packet number n, a whole message of its own for BASE if nothing else is set. */
static inline struct mrc_pkt request(enum mrc_opcode opcode, int64_t n)
{
	return (struct mrc_pkt){
		.bth = {.opcode = (uint8_t)opcode,
			.pkey = 0xffff,
			.dest_qp = NUMBER,
			.psn = wire_psn(n)},
		.reth = {.va = BASE, .rkey = KEY_ALL},
		.imm.immdt = 0xabcd0000u + (uint32_t)n,
	};
}

/* Packet number n as a message of len bytes for BASE + at. */
static inline void write_at(int64_t n, uint32_t at, uint32_t len)
{
	struct mrc_pkt h = request(MRC_OP_WRITE_ONLY, n);

	h.reth.va += at;
	h.reth.dmalen = len;
	deliver(h, len);
}

static inline void write_one(int64_t n)
{
	write_at(n, 0, 8);
}

/* The same, asking for an answer. */
static inline void ask(int64_t n)
{
	struct mrc_pkt h = request(MRC_OP_WRITE_ONLY, n);

	h.reth.dmalen = 8;
	h.bth.ack_req = 1;
	deliver(h, 8);
}

/* All packets from..to - 1, in order. */
static inline void write_many(int64_t from, int64_t to)
{
	for (int64_t n = from; n < to; n++)
		write_one(n);
}

static inline void write_imm(int64_t n)
{
	struct mrc_pkt h = request(MRC_OP_WRITE_ONLY_IMM, n);

	h.reth.dmalen = 8;
	deliver(h, 8);
}

/* What every answer has in common (Table 7-11, 7.5.5.1). */
static inline void check_answer(struct cspan whole)
{
	struct cursor c = cursor_of(whole);
	const struct mrc_bth *b = &w.got.bth;
	const struct path_ev *ev = NULL;

	assert_int_equal(mrc_pkt_get(&c, false, &w.got, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(b->dest_qp, w.attr.remote_qp);
	assert_int_equal(b->pkey, 0xffff);
	assert_int_equal(b->se + b->m + b->pad + b->tver + b->rsv_var + b->ack_req + b->rsv0, 0);
	assert_int_equal(b->ts + b->rsv_inv, 0);
	assert_int_equal(w.tx.n_body, 0);
	assert_int_equal(w.tx.tclass, ENGINE_CONTROL);
	assert_int_equal(w.tx.not_ect, 1);
	assert_int_equal(w.tx.sa + w.tx.stamp, 0);
	for (uint32_t i = 0; i < N_EVS; i++)
		if (w.evs[i].value == w.tx.ev)
			ev = &w.evs[i];
	assert_non_null(ev);
	if (ev)
		assert_int_equal(ev->port, w.tx.port);
}

/* A SACK: all before packet `expected` are here, the map begins at `base`. */
static inline void expect_sack(int64_t expected, int64_t base, uint64_t map)
{
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, MRC_OP_SACK);
	assert_int_equal(w.got.bth.psn, wire_psn(expected - 1));
	assert_int_equal(w.got.seth.cack_psn, wire_psn(expected - 1));
	assert_int_equal(w.got.seth.sack_offset, base - (expected - 1));
	assert_true(w.got.seth.sack_bitmap == map);
	assert_int_equal(w.got.seth.pr, 0);
	assert_int_equal(w.got.seth.spdcid, NUMBER & 0xffff);
	assert_int_equal(w.got.seth.dpdcid, w.attr.remote_qp & 0xffff);
	assert_int_equal(w.tx.udp_len, 0);
}

/* The packet that the SACK pulled last acknowledges as such. */
static inline void expect_ack_psn(int64_t n)
{
	uint32_t psn = mrc_offset_psn(w.got.seth.cack_psn, w.got.seth.ack_psn_offset);

	assert_int_equal(psn, wire_psn(n));
}

static inline void expect_nack(int64_t n, enum mrc_nack reason)
{
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, MRC_OP_NACK);
	assert_int_equal(w.got.bth.psn, wire_psn(n));
	assert_int_equal(w.got.neth.nack_psn, wire_psn(n));
	assert_int_equal(w.got.neth.nack_reason, reason);
	assert_int_equal(w.got.neth.spdcid, NUMBER & 0xffff);
	assert_int_equal(w.got.neth.dpdcid, w.attr.remote_qp & 0xffff);
	assert_int_equal(w.got.neth.cc_type, MRC_CC_TYPE_TIMESTAMP);
	assert_int_equal(w.got.neth.vendor_info, 0);
}

/* A Transport ACK: all before packet `expected`, and so many messages. */
static inline void expect_ack(int64_t expected, uint32_t msn)
{
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, MRC_OP_ACKNOWLEDGE);
	assert_int_equal(w.got.bth.psn, wire_psn(expected - 1));
	assert_int_equal(w.got.aeth.type, AETH_ACK);
	assert_int_equal(w.got.aeth.value, 0x1f); /* 6.4 */
	assert_int_equal(w.got.aeth.msn, msn);
	assert_int_equal(w.tx.udp_len, 0);
}

/* The NAK for packet n, after which the queue pair is at its end and silent. */
static inline void expect_nak(int64_t n, enum aeth_nak why, uint32_t msn)
{
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, MRC_OP_ACKNOWLEDGE);
	assert_int_equal(w.got.bth.psn, wire_psn(n));
	assert_int_equal(w.got.aeth.type, AETH_NAK);
	assert_int_equal(w.got.aeth.value, why);
	assert_int_equal(w.got.aeth.msn, msn);
	assert_int_equal(w.q->state, MRC_ERROR);
	assert_int_equal(count()->failed, 1);
	assert_int_equal(count()->tx_nak, 1);
	assert_false(responder()->is_closing);
	assert_int_equal(mrc_usage(w.e).early_chunks, 0);
	assert_int_equal(mrc_usage(w.e).answers, 0);
	expect_none();
}

/* The payload of packet n is at BASE + at. */
static inline void expect_placed(int64_t n, uint32_t at, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(w.memory[at + i], payload_byte(wire_psn(n), i));
}

/* Nothing is changed from BASE + at on. */
static inline void expect_untouched(uint32_t at)
{
	for (uint32_t i = at; i < MEMORY; i++)
		assert_int_equal(w.memory[i], original_byte(i));
}

/* A reliability probe of the peer. */
static inline void probe(uint16_t id)
{
	/* The PSN says nothing, and does not come back (MRC-7.4.6-03). */
	deliver(
		(struct mrc_pkt){
			.bth = {.opcode = MRC_OP_PROBE_REQUEST, .dest_qp = NUMBER, .psn = 0x5a5a5a},
			.peth.probe_id = id},
		0);
}

#endif
