/* A responder of RC alone; see responder.h. start begins anew. */
#ifndef WEFT_TESTS_SUPPORT_RC_RESPONDER_H
#define WEFT_TESTS_SUPPORT_RC_RESPONDER_H

#include <stdalign.h>
#include <string.h>

#include "check.h"
#include "rc/rc.h"
#include "wire/roce.h"

#define BLOCK  65536u
#define MEMORY 8192u
#define NUMBER 5u
#define REMOTE 9u
#define EV     0x1234u
#define RNR    14u
#define DEPTH  4u   /* reads and atomics at once */
#define ROOM   600u /* of the receives */

enum { KEY_ALL = 0x100, KEY_READ_ONLY, KEY_FOREIGN, KEY_VIRTUAL, KEY_LOCAL, KEY_WINDOW, KEY_ODD };

struct responder {
	alignas(max_align_t) uint8_t block[BLOCK], table[BLOCK], pair[BLOCK], shared[BLOCK];
	alignas(8) uint8_t memory[MEMORY];
	uint8_t recv[MEMORY], packet[8192];
	uint8_t head[ENGINE_HEAD_MAX], whole[8192];
	struct engine *e;
	struct mem *mem;
	struct tx_pkt tx;
	struct roce_pkt got;
	nsec now;
	uint32_t n_posted, first; /* receives posted, and the first piece of each */
	struct rx_pkt rx;         /* how packets arrive; reset by start */
};

#define RESPONDER_ROW     (&transport_rc)
#define RESPONDER_HEADERS struct roce_pkt
#define RESPONDER_PUT     roce_head_put
#define RESPONDER_PUT_BTH bth_put

#include "responder.h"

static inline const struct rc_counters *count(void)
{
	return rc_counters(w.e);
}

static inline void bind_window(void)
{
	struct mem_entry entry = {.key = KEY_WINDOW, .pd = PD, .qp = NUMBER, .kind = MEM_WINDOW_2};
	struct mem_binding to = {
		.va = BASE,
		.len = 64,
		.region = KEY_ALL,
		.new_key = KEY_WINDOW,
		.qp = NUMBER,
		.access = MEM_REMOTE_WRITE,
	};

	assert_int_equal(mem_add(w.mem, &entry), 0);
	assert_int_equal(mem_bind(w.mem, KEY_WINDOW, &to), 0);
}

static inline void make_memory(void)
{
	const uint8_t all =
		MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC | MEM_BIND;
	const struct span memory = {w.memory, MEMORY};

	make_table();
	memset(w.recv, CANARY, sizeof w.recv);
	add_region(KEY_ALL, PD, memory, BASE, all);
	add_region(KEY_READ_ONLY, PD, memory, BASE, MEM_REMOTE_READ);
	add_region(KEY_FOREIGN, PD_OTHER, memory, BASE, all);
	add_region(KEY_VIRTUAL, PD, (struct span){NULL, MEMORY}, BASE, all);
	add_region(KEY_LOCAL, PD, (struct span){w.recv, MEMORY}, (uintptr_t)w.recv,
		   MEM_LOCAL_WRITE);
	add_region(KEY_ODD, PD, (struct span){w.memory + 4, MEMORY - 8}, BASE, all);
	bind_window();
}

static inline void modify(struct engine_attr attr, uint32_t set)
{
	assert_int_equal(rc_qp_modify(w.e, w.now, NUMBER, &attr, set), 0);
}

static inline void to_rtr(uint8_t depth, uint32_t psn)
{
	modify((struct engine_attr){.state = ENGINE_RTR,
				    .pmtu = PMTU,
				    .peer = PEER,
				    .local = LOCAL,
				    .ev = EV,
				    .remote_qp = REMOTE,
				    .rq_psn = psn,
				    .rnr_timer = RNR,
				    .dest_rd_atomic = depth},
	       ENGINE_SET_STATE | ENGINE_SET_PMTU | ENGINE_SET_PATH | ENGINE_SET_REMOTE_QP |
		       ENGINE_SET_RQ_PSN | ENGINE_SET_RNR_TIMER | ENGINE_SET_DEST_RD_ATOMIC);
}

static inline void to_rts(void)
{
	modify((struct engine_attr){.state = ENGINE_RTS}, ENGINE_SET_STATE | ENGINE_SET_SQ_PSN);
}

/* A fresh engine with one queue pair that can receive. */
static inline void start_with(uint32_t srq, uint8_t depth, uint8_t access, const struct cc_cfg *cc)
{
	struct rc_caps caps = {
		.max_send = 4, .max_recv = 8, .max_send_sge = 1, .max_recv_sge = 2, .pd = PD};
	struct engine_srq_caps srq_caps = {.max_recv = 8, .max_sge = 2, .pd = PD};
	struct rc_cfg cfg = {.max_qps = 4, .max_srqs = 1, .cc = *cc};

	w.now = 1000;
	w.n_posted = 0;
	w.first = 100;
	w.rx = (struct rx_pkt){.peer = PEER, .local = LOCAL};
	make_memory();
	cfg.mem = w.mem;
	caps.srq = srq;
	make_engine(&cfg);
	assert_in_range(rc_srq_size(&srq_caps), 1, BLOCK);
	assert_int_equal(rc_srq_new(w.e, 0, &srq_caps, w.shared), 0);
	assert_in_range(rc_qp_size(&caps), 1, BLOCK);
	assert_int_equal(rc_qp_new(w.e, NUMBER, &caps, w.pair), 0);
	modify((struct engine_attr){.state = ENGINE_INIT, .access = access},
	       ENGINE_SET_STATE | ENGINE_SET_ACCESS);
	to_rtr(depth, PSN);
}

static const struct cc_cfg unpaced = {.kind = CC_FIXED, .window_bytes = 1 << 20};
#define ACCESS_ALL (MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC)

static inline void start(void)
{
	start_with(RC_NO_SRQ, DEPTH, ACCESS_ALL, &unpaced);
}

/* A receive of ROOM bytes in two pieces with 100 bytes between them, MEMORY / 8 bytes behind the
 * one before. */
static inline void post_recv_key(uint32_t lkey, uint8_t flags)
{
	uint8_t *at = w.recv + w.n_posted * (MEMORY / 8);
	struct sge sg[2] = {{at, w.first, KEY_LOCAL}, {at + w.first + 100, ROOM - w.first, lkey}};
	struct op op = {.cookie = w.n_posted,
			.sg = sg,
			.n_sg = 2,
			.qp = flags & ENGINE_SHARED ? 0 : NUMBER,
			.code = ENGINE_RECV,
			.flags = flags};

	assert_int_equal(w.e->ops->post(w.e, w.now, &op), 0);
	w.n_posted++;
}

static inline void post_recv(void)
{
	post_recv_key(KEY_LOCAL, 0);
}

static inline struct roce_pkt request(enum roce_opcode opcode, uint32_t psn)
{
	struct roce_pkt h = {
		.bth = {.opcode = (uint8_t)opcode,
			.pkey = 0xffff,
			.dest_qp = NUMBER,
			.psn = (PSN + psn) & 0xffffff,
			.ack_req = 1},
		.reth = {.va = BASE, .rkey = KEY_ALL},
		.imm.immdt = 0xabcd1234,
		.ieth.rkey = KEY_WINDOW,
		.atomic = {.va = BASE, .rkey = KEY_ALL},
	};

	return h;
}

static inline void check_answer(struct cspan whole)
{
	struct cursor c = cursor_of(whole);

	assert_int_equal(roce_pkt_get(&c, &w.got, NULL).why, WIRE_DROP_NONE);
	assert_int_equal(w.got.bth.dest_qp, REMOTE);
	assert_int_equal(w.got.bth.pkey, 0xffff);
	assert_int_equal(w.got.bth.ack_req + w.got.bth.se + w.got.bth.m + w.got.bth.fecn, 0);
	assert_int_equal(w.tx.ev, EV);
	assert_int_equal(w.tx.port + w.tx.udp_len + w.tx.sa + w.tx.stamp, 0);
}

static inline void expect_aeth(uint8_t opcode, uint32_t psn, uint8_t type, uint8_t value)
{
	assert_true(pull());
	assert_int_equal(w.got.bth.opcode, opcode);
	assert_int_equal(w.got.bth.psn, (PSN + psn) & 0xffffff);
	assert_int_equal(w.got.aeth.type, type);
	assert_int_equal(w.got.aeth.value, value);
	assert_int_equal(w.tx.tclass, ENGINE_NO_TRIM);
	assert_int_equal(w.tx.not_ect, 0);
}

static inline void expect_ack(uint32_t psn, uint8_t credits, uint32_t msn)
{
	expect_aeth(ROCE_OP_ACKNOWLEDGE, psn, AETH_ACK, credits);
	assert_int_equal(w.got.aeth.msn, msn);
}

static inline void expect_nak(uint32_t psn, enum aeth_nak why)
{
	expect_aeth(ROCE_OP_ACKNOWLEDGE, psn, AETH_NAK, (uint8_t)why);
}

static inline void expect_rnr(uint32_t psn)
{
	expect_aeth(ROCE_OP_ACKNOWLEDGE, psn, AETH_RNR_NAK, RNR);
}

static inline uint8_t state(void)
{
	struct engine_attr attr;

	assert_int_equal(rc_qp_query(w.e, NUMBER, &attr, NULL, NULL), 0);
	return attr.state;
}

/* The PSN that is expected next, counted from the first. */
static inline uint32_t expected(void)
{
	struct engine_attr attr;

	assert_int_equal(rc_qp_query(w.e, NUMBER, &attr, NULL, NULL), 0);
	return (attr.rq_psn - PSN) & 0xffffff;
}

/* Byte i of receive number n is where its two pieces put it. */
static inline uint8_t recv_byte(uint32_t n, uint32_t i)
{
	return w.recv[n * (MEMORY / 8) + (i < w.first ? i : i + 100)];
}

static inline void expect_untouched(void)
{
	for (uint32_t i = 0; i < MEMORY; i++) {
		assert_int_equal(w.memory[i], original_byte(i));
		assert_int_equal(w.recv[i], CANARY);
	}
}

static inline uint32_t wire_psn(uint32_t psn)
{
	return (PSN + psn) & 0xffffff;
}

#endif
