/* Twins of RC; see twins.h. Each end has, when born: four receives, a WRITE of three packets, a
 * READ and a FETCH_ADD of its own that are out and not acknowledged. */
#ifndef WEFT_TESTS_SUPPORT_RC_TWINS_H
#define WEFT_TESTS_SUPPORT_RC_TWINS_H

#include "base/serial.h"
#include "rc_end.h"

#define NO_EVENT ENGINE_EVENTS

struct twins {
	struct end end[2];
	nsec now;
	uint32_t rq_psn, sq_psn; /* the next to come; the first of those out */
	uint32_t msn;
};

#include "twins.h"

static inline void out_work(struct end *s)
{
	struct sge from = area_piece(s, SOURCE, 0, 3 * PMTU - 5),
		   to = area_piece(s, INBOX, 8192, 2 * PMTU), word = area_piece(s, INBOX, 16384, 8);
	struct op op = {.qp = OURS,
			.remote = area_va(TARGET),
			.key = 0x77,
			.sg = &from,
			.n_sg = 1,
			.cookie = 1,
			.code = ENGINE_WRITE};

	assert_int_equal(end_post(s, d.now, op), 0);
	op.cookie = 2;
	op.code = ENGINE_READ;
	op.sg = &to;
	assert_int_equal(end_post(s, d.now, op), 0);
	op.cookie = 3;
	op.code = ENGINE_ATOMIC;
	op.atomic_op = ENGINE_FETCH_ADD;
	op.sg = &word;
	assert_int_equal(end_post(s, d.now, op), 0);
	assert_int_equal(end_pull(s, d.now, wide, END_BATCH), 5);
}

/* Both ends anew. `receives` of 1000 bytes each are posted. */
static inline void born(uint32_t receives)
{
	d.now = 5000;
	for (uint32_t i = 0; i < 2; i++) {
		struct end *s = &d.end[i];

		end_defaults(s, OURS, THEIRS);
		s->qp[0].attr.pmtu = PMTU;
		s->qp[0].attr.rq_psn = 0xfffffe;
		s->qp[0].attr.sq_psn = 0xffffff;
		s->qp[0].attr.timeout = 14;
		end_open(s, d.now, 1);
		end_connect(s, d.now, ENGINE_RTS);
		for (uint32_t k = 0; k < receives; k++)
			assert_int_equal(end_recv(s, d.now, 0, 1024 * k, 1000, 100 + k), 0);
		out_work(s);
	}
	d.rq_psn = 0xfffffe;
	d.sq_psn = 0xffffff;
	d.msn = 0;
}

static inline uint32_t psn_plus(uint32_t psn, int32_t n)
{
	return psn24_add(psn24_of(psn), n).v;
}

/* The next request of the peer, aimed at the start of TARGET where it aims at all. */
static inline struct crafted *request(uint8_t opcode, uint32_t payload)
{
	static struct crafted c;

	c = (struct crafted){.h = {.bth = {.opcode = opcode,
					   .pkey = RC_PKEY,
					   .dest_qp = OURS,
					   .ack_req = 1,
					   .psn = d.rq_psn},
				   .reth = {.va = area_va(TARGET),
					    .rkey = area_key(&d.end[0], TARGET),
					    .dmalen = payload},
				   .atomic = {.va = area_va(TARGET) + 8,
					      .rkey = area_key(&d.end[0], TARGET),
					      .swap_add = 5,
					      .compare = 6},
				   .imm = {.immdt = 0x1234}},
			     .rx = {.peer = PEER, .local = LOCAL, .ecn = 2, .ttl = 64}};
	craft(&c, payload);
	return &c;
}

/* An acknowledgement of the peer for our packet number n of those out. */
static inline struct crafted *response(uint8_t opcode, int32_t n, uint32_t payload)
{
	struct crafted *c = request(opcode, 0);

	c->h.bth.ack_req = 0;
	c->h.bth.psn = psn_plus(d.sq_psn, n);
	c->h.aeth = (struct aeth){.type = AETH_ACK, .value = 31, .msn = 1};
	craft(c, payload);
	return c;
}

/* The life that both lead after what the subject went through: requests of all kinds, answers to
 * what is out, and a long silence. */
static inline void live_on(const size_t *but)
{
	static const uint8_t script[] = {
		ROCE_OP_SEND_ONLY,  ROCE_OP_WRITE_FIRST,  ROCE_OP_WRITE_MIDDLE,
		ROCE_OP_WRITE_LAST, ROCE_OP_FETCH_ADD,    ROCE_OP_SEND_FIRST,
		ROCE_OP_SEND_LAST,  ROCE_OP_READ_REQUEST, ROCE_OP_WRITE_ONLY};
	static const uint32_t payload[] = {100, PMTU, PMTU, 33, 0, PMTU, 1, 0, 9};

	for (uint32_t i = 0; i < sizeof script; i++) {
		struct crafted *c = request(script[i], payload[i]);

		if (script[i] == ROCE_OP_WRITE_FIRST)
			c->h.reth.dmalen = 2 * PMTU + 33;
		if (script[i] == ROCE_OP_READ_REQUEST)
			c->h.reth.dmalen = 3 * PMTU;
		craft(c, payload[i]);
		feed_both(c, but);
		assert_true(d.end[TWIN].n_out > 0);
		d.rq_psn = psn_plus(d.rq_psn, script[i] == ROCE_OP_READ_REQUEST ? 3 : 1);
	}
	feed_both(response(ROCE_OP_ACKNOWLEDGE, 1, 0), but);
	d.now += TIMEOUT_NS(14) * 5;
	check_same(but);
	assert_true(d.end[TWIN].n_out > 0);
	feed_both(response(ROCE_OP_ACKNOWLEDGE, 2, 0), but);
	feed_both(response(ROCE_OP_READ_RESPONSE_FIRST, 3, PMTU), but);
	feed_both(response(ROCE_OP_READ_RESPONSE_LAST, 4, PMTU), but);
	feed_both(response(ROCE_OP_ATOMIC_ACKNOWLEDGE, 5, 0), but);
	/* A timer that nobody needs any more may come once, for nothing. */
	d.now += TIMEOUT_NS(14) * 5;
	check_same(but);
	assert_int_equal(d.end[TWIN].n_out, 0);
	assert_int_equal(deadline_of(d.end[TWIN].e), NSEC_NEVER);
}

/* The subject drops the packet for that reason; nothing else can be seen of it. */
static inline void check_dropped(const struct crafted *c, size_t counter)
{
	const size_t but[] = {counter, 0};
	uint64_t before = count_at(&d.end[SUBJECT], counter);

	feed(SUBJECT, c);
	assert_int_equal(count_at(&d.end[SUBJECT], counter), before + 1);
	check_same(but);
}

/* The one packet the subject has to say now. */
static inline const struct roce_pkt *only_answer(void)
{
	struct end *s = &d.end[SUBJECT];

	assert_int_equal(end_pull(s, d.now, wide, END_BATCH), 1);
	return &s->out[0].h;
}

static inline void expect_aeth(enum aeth_type type, uint8_t value, uint32_t psn)
{
	const struct roce_pkt *h = only_answer();

	assert_int_equal(h->bth.opcode, ROCE_OP_ACKNOWLEDGE);
	assert_int_equal(h->aeth.type, type);
	assert_int_equal(h->aeth.value, value);
	assert_int_equal(h->aeth.msn, d.msn);
	assert_int_equal(h->bth.psn, psn);
}

/* Refused with a NAK and the queue pair in error; nothing is placed, and later packets find nobody.
 * The receives posted come back flushed. */
static inline void refuse_with(const struct crafted *c, enum aeth_nak why,
			       enum engine_event_kind event, uint32_t n_receives)
{
	struct end *s = &d.end[SUBJECT];

	feed(SUBJECT, c);
	assert_int_equal(counts(s)->rx_nak_sent, 1);
	expect_aeth(AETH_NAK, (uint8_t)why, d.rq_psn);
	assert_int_equal(end_state(s, 0), ENGINE_ERROR);
	assert_int_equal(counts(s)->failed, 1);
	expect_flushed(3, n_receives);
	if (event != NO_EVENT)
		expect_event(s, OURS, event);
	expect_no_event(s);
	assert_memory_equal(s->area, d.end[TWIN].area, sizeof s->area);
	assert_int_equal(deadline_of(s->e), NSEC_NEVER);
	feed(SUBJECT, request(ROCE_OP_WRITE_ONLY, 8));
	assert_int_equal(counts(s)->drop_state, 1);
	check_balance(s);
}

static inline void refuse(const struct crafted *c, enum aeth_nak why)
{
	refuse_with(c, why,
		    why == AETH_NAK_REMOTE_ACCESS ? ENGINE_EVENT_ACCESS : ENGINE_EVENT_INVALID, 4);
}

/* A legitimate request to both ends. */
static inline void accepted(struct crafted *c)
{
	static const size_t nothing[] = {0};

	feed_both(c, nothing);
	d.rq_psn = psn_plus(d.rq_psn, 1);
}

#endif
