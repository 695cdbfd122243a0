/* A requester of RC alone, in s: work is posted, what it sends is compared packet by packet, and
 * the peer is a script that answers with bytes made by hand. Packets are counted from 0 here; PSNs
 * begin just before they wrap. One per test program: begin sets everything to what it usually is,
 * then a test changes s.cfg, caps and attr, then connect. */
#ifndef WEFT_TESTS_SUPPORT_RC_REQUESTER_H
#define WEFT_TESTS_SUPPORT_RC_REQUESTER_H

#include "base/serial.h"
#include "rc_end.h"

#define OURS       0x1230u
#define THEIRS     0x4560u
#define PMTU       256u
#define SQ_PSN     0xfffffeu
#define RKEY       0x8899aabbu
#define REMOTE     UINT64_C(0x123456789000)
#define NO_CREDITS 31u
#define TIMEOUT    8u
#define WIDTH      64u /* of a timer's slot: what comes may be late by so much */

static struct end s;
static nsec now;
static uint64_t cookie; /* of the work posted last */

static inline void begin(void)
{
	end_defaults(&s, OURS, THEIRS);
	for (uint32_t i = 0; i < END_QPS; i++) {
		struct engine_attr *a = &s.qp[i].attr;

		a->pmtu = PMTU;
		a->sq_psn = SQ_PSN;
		a->timeout = TIMEOUT;
		a->retries = a->rnr_retries = 3;
		a->rd_atomic = 2;
	}
	now = 5000;
	cookie = 0;
}

static inline void connect(void)
{
	end_open(&s, now, 1);
	end_connect(&s, now, ENGINE_RTS);
}

static inline void begin_connected(void)
{
	begin();
	connect();
}

/* Work as this file usually posts it: one piece of SOURCE, or of INBOX for what comes back. */
struct work {
	uint32_t len, at, qp, flags, imm;
	uint8_t code, atomic_op;
	uint64_t operand[2];
};

static inline uint64_t next_cookie(void)
{
	return ++cookie;
}

static inline struct op op_of(const struct work *k, struct sge *sg)
{
	bool is_fetch = k->code == ENGINE_READ || k->code == ENGINE_ATOMIC;
	struct op op = {.cookie = next_cookie(),
			.remote = REMOTE + k->at,
			.key = RKEY,
			.imm = k->imm,
			.sg = sg,
			.n_sg = 1,
			.qp = s.qp[k->qp].number,
			.code = k->code,
			.flags = (uint8_t)k->flags,
			.atomic_op = k->atomic_op};

	*sg = area_piece(&s, is_fetch ? INBOX : SOURCE, k->at, k->len);
	memcpy(op.operand[0], &k->operand[0], 8);
	memcpy(op.operand[1], &k->operand[1], 8);
	return op;
}

static inline void post(struct work k)
{
	struct sge sg;
	struct op op = op_of(&k, &sg);

	assert_int_equal(end_post(&s, now, op), 0);
}

#define POST(...) post((struct work){__VA_ARGS__})

static inline uint32_t pull(void)
{
	return end_pull(&s, now, wide, END_BATCH);
}

static inline uint32_t psn_of(uint32_t count)
{
	return psn24_of(SQ_PSN + count).v;
}

/* The i-th packet pulled is this one. */
static inline const struct roce_pkt *expect_packet(uint32_t i, uint8_t opcode, uint32_t count,
						   bool asks)
{
	assert_true(i < s.n_out);
	const struct roce_pkt *h = &s.out[i].h;

	assert_int_equal(h->bth.opcode, opcode);
	assert_int_equal(h->bth.psn, psn_of(count));
	assert_int_equal(h->bth.ack_req, asks);
	assert_int_equal(s.out[i].tx.tclass, ENGINE_NO_TRIM);
	assert_int_equal(s.out[i].tx.not_ect, 0);
	return h;
}

/* Exactly this one is pulled. */
static inline const struct roce_pkt *expect_one(uint8_t opcode, uint32_t count, bool asks)
{
	assert_int_equal(pull(), 1);
	return expect_packet(0, opcode, count, asks);
}

/* n packets are pulled, from count on. */
static inline void expect_counts(uint32_t n, uint32_t count)
{
	assert_int_equal(pull(), n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(s.out[i].h.bth.psn, psn_of(count + i));
}

static uint32_t said_ev; /* entropy that the peer's packets come with */

/* A packet of the peer to queue pair i. The payload is of the peer's pattern, from `at` on. */
static inline void say_to(uint32_t qp, struct roce_pkt h, uint32_t at, uint32_t len)
{
	uint8_t bytes[PACKET_MAX] = {0};
	struct rx_pkt rx = {.peer = PEER, .local = LOCAL, .ttl = 64, .ev = said_ev};

	h.bth.pkey = RC_PKEY;
	h.bth.dest_qp = s.qp[qp].number;
	h.bth.pad = -len & 3;
	uint32_t head = roce_head_put(&h, (struct span){bytes, sizeof bytes});

	for (uint32_t i = 0; i < len; i++)
		bytes[head + i] = (uint8_t)((at + i) * 7 + 3);
	end_input(&s, now, rx, bytes, head + len + h.bth.pad, head + len + h.bth.pad);
}

static inline void say(struct roce_pkt h, uint32_t at, uint32_t len)
{
	say_to(0, h, at, len);
}

static inline void say_aeth(uint32_t count, enum aeth_type type, uint8_t value)
{
	say((struct roce_pkt){.bth = {.opcode = ROCE_OP_ACKNOWLEDGE, .psn = psn_of(count)},
			      .aeth = {.type = (uint8_t)type, .value = value}},
	    0, 0);
}

static inline void ack(uint32_t count)
{
	say_aeth(count, AETH_ACK, NO_CREDITS);
}

static inline void nak(uint32_t count, enum aeth_nak why)
{
	say_aeth(count, AETH_NAK, (uint8_t)why);
}

/* A packet of a read's response: len bytes of the peer's, from `at` of the read on. */
static inline void read_response(uint8_t opcode, uint32_t count, uint32_t at, uint32_t len)
{
	say((struct roce_pkt){.bth = {.opcode = opcode, .psn = psn_of(count)},
			      .aeth = {.type = AETH_ACK, .value = NO_CREDITS}},
	    at, len);
}

/* What a read response brings to `to` of INBOX. */
static inline void imagine_read(uint32_t to, uint32_t at, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		s.image[INBOX][to + i] = (uint8_t)((at + i) * 7 + 3);
}

static inline struct done expect_sent(uint64_t which, uint8_t op, enum engine_status status)
{
	struct done done;

	assert_true(end_poll(&s, &done));
	assert_int_equal(done.cookie, which);
	assert_int_equal(done.op, op);
	assert_int_equal(done.status, status);
	assert_int_equal(done.code, ENGINE_DONE_SENT);
	assert_int_equal(done.source, 0);
	return done;
}

static inline void expect_nothing(void)
{
	struct done done;

	assert_false(end_poll(&s, &done));
}

#define EXPECT_COUNT(name, value) assert_int_equal(counts(&s)->name, value)

/* Nothing goes before `at`, and the engine wants to be woken by then; moves just behind it. */
static inline void expect_quiet_until(nsec at)
{
	assert_true(rc_ops.deadline(s.e, ALL_FREE) <= at);
	now = at - 1;
	assert_int_equal(pull(), 0);
	assert_true(rc_ops.deadline(s.e, ALL_FREE) <= at + WIDTH);
	now = at + WIDTH;
}

static inline void check_end(void)
{
	check_balance(&s);
	check_memory(&s);
}

#endif
