/* Twins of MRC; see twins.h. Of a drop not one byte of the subject's memory may change but its
 * counters. When born, each end has three works out, of 3, 2 (with immediate data) and 4 packets:
 * the first is done, packet 4 has arrived, the others are not acknowledged. Of the peer's packets
 * it has 0, 1, 3 and, with immediate data, 5. Packets are counted from the first of each direction,
 * whose PSNs are just before the wrap. */
#ifndef WEFT_TESTS_SUPPORT_MRC_TWINS_H
#define WEFT_TESTS_SUPPORT_MRC_TWINS_H

#include "mrc/state.h"
#include "mrc_end.h"
#include "wire/net.h"

#define RECEIVES 4u
#define SELDOM   (UINT32_C(1) << 30)
#define FIRST_RQ 0xfffffeu
#define FIRST_SQ 0xffffffu
#define EV       0xc0010203u
#define UNA      3 /* of our packets, the first that is not known to have arrived, ... */
#define NEXT     9 /* ... and the first that was not sent */
#define EXPECTED 2 /* of the peer's packets, the first that has not come */
#define SLOTS    64u

/* All that an engine has in memory for one queue pair, as it was. */
struct past {
	struct mrc engine;
	uint8_t pair[65536], table[END_MEM];
	uint8_t slots[3][SLOTS][1024];
};

struct twins {
	struct end end[2];
	struct past past;
	nsec now;
};

#include "twins.h"

static inline uint32_t rq_psn(int64_t n)
{
	return (FIRST_RQ + (uint32_t)n) & 0xffffff;
}

static inline uint32_t sq_psn(int64_t n)
{
	return (FIRST_SQ + (uint32_t)n) & 0xffffff;
}

/* Any packet, whose PSN is that of packet n of the peer. */
static inline struct crafted *packet(uint8_t opcode, int64_t n, uint32_t payload)
{
	static struct crafted c;

	c = (struct crafted){
		.h = {.bth = {.opcode = opcode,
			      .pkey = MRC_PKEY_DEFAULT,
			      .dest_qp = OURS,
			      .psn = rq_psn(n)},
		      .reth = {.va = area_va(TARGET),
			       .rkey = area_key(&d.end[0], TARGET),
			       .dmalen = payload},
		      .imm = {.immdt = 0x1234}},
		.rx = {.peer = PEER, .local = LOCAL, .ev = EV, .ecn = 2, .ttl = 64},
	};
	craft(&c, payload);
	return &c;
}

/* The peer's packet n: eight bytes for the start of TARGET. */
static inline struct crafted *data(int64_t n)
{
	return packet(MRC_OP_WRITE_ONLY, n, 8);
}

/* The same, asking for an answer. */
static inline struct crafted *asking(int64_t n)
{
	struct crafted *c = data(n);

	c->h.bth.ack_req = 1;
	craft(c, 8);
	return c;
}

/* A Transport ACK for our packet n. */
static inline struct crafted *ack(int64_t n)
{
	struct crafted *c = packet(MRC_OP_ACKNOWLEDGE, 0, 0);

	c->h.bth.psn = sq_psn(n);
	c->h.aeth = (struct aeth){.type = AETH_ACK, .value = MRC_AETH_NO_CREDIT, .msn = 1};
	craft(c, 0);
	return c;
}

/* The record of our packet n, if it is out. */
static inline const struct engine_sent_pkt *sent_of(int64_t n, bool *is_retx)
{
	const struct end *s = &d.end[SUBJECT];
	const struct mrc_qp *q = s->qp[0].memory;

	*is_retx = false;
	if (n < (int64_t)q->req.sent.una || n >= (int64_t)q->req.sent.next)
		return NULL;
	*is_retx = engine_sent_is_retx(&q->req.sent, (uint64_t)n);
	return engine_sent_at(&q->req.sent, (uint64_t)n);
}

/* What an answer to it reflects; to one that is out no more: some value. */
static inline uint32_t ev_of(int64_t n)
{
	bool is_retx;
	const struct engine_sent_pkt *sent = sent_of(n, &is_retx);

	return d.end[0].evs[sent ? sent->user : 0].value;
}

/* A SACK: all of ours before `to`, and those of map, which begins at to - 1. */
static inline struct crafted *sack(int64_t to, uint64_t map)
{
	struct crafted *c = packet(MRC_OP_SACK, 0, 0);

	c->h.bth.psn = sq_psn(to - 1);
	c->h.seth = (struct seth){.entropy = ev_of(to - 1),
				  .spdcid = THEIRS & 0xffff,
				  .dpdcid = OURS & 0xffff,
				  .cack_psn = sq_psn(to - 1),
				  .sack_bitmap = map};
	craft(c, 0);
	return c;
}

/* Of the copy that was sent last. */
static inline struct crafted *nack(int64_t n, uint8_t reason)
{
	struct crafted *c = packet(MRC_OP_NACK, 0, 0);
	bool is_retx;

	sent_of(n, &is_retx);
	c->h.bth.psn = sq_psn(n);
	c->h.bth.rtx = is_retx;
	c->h.neth = (struct neth){.nack_reason = reason,
				  .entropy = ev_of(n),
				  .nack_psn = sq_psn(n),
				  .tx_timestamp = mrc_stamp(d.now),
				  .cc_type = MRC_CC_TYPE_TIMESTAMP};
	craft(c, 0);
	return c;
}

static inline struct crafted *probe(uint16_t id)
{
	struct crafted *c = packet(MRC_OP_PROBE_REQUEST, 0, 0);

	c->h.peth.probe_id = id;
	craft(c, 0);
	return c;
}

static inline void out_work(struct end *s, uint64_t cookie, uint8_t code, uint32_t len)
{
	struct sge from = area_piece(s, SOURCE, 0, len);
	struct op op = {.qp = OURS,
			.remote = area_va(TARGET),
			.key = 0x77,
			.sg = &from,
			.n_sg = 1,
			.cookie = cookie,
			.code = code};

	assert_int_equal(end_post(s, d.now, op), 0);
}

static inline void defaults(void)
{
	d.now = 500000;
	for (uint32_t i = 0; i < 2; i++) {
		struct end *s = &d.end[i];

		end_defaults(s, OURS, THEIRS);
		s->cfg.sack_every_bytes = SELDOM;
		s->qp[0].caps.max_wimm = 2;
		s->qp[0].attr.pmtu = PMTU;
		s->qp[0].attr.rq_psn = FIRST_RQ;
		s->qp[0].attr.sq_psn = FIRST_SQ;
		s->qp[0].attr.timeout = 14;
		s->qp[0].attr.mpr_dest = 8;
	}
}

/* Both ends anew, as the defaults were changed. */
static inline void rear(void)
{
	static const size_t nothing[] = {0};

	for (uint32_t i = 0; i < 2; i++) {
		struct end *s = &d.end[i];
		struct op op = {.qp = OURS, .code = ENGINE_RECV};

		end_open(s, d.now, 1);
		end_connect(s, d.now, MRC_RTS);
		for (uint32_t k = 0; k < RECEIVES; k++) {
			op.cookie = 100 + k;
			assert_int_equal(end_post(s, d.now, op), 0);
		}
		out_work(s, 1, ENGINE_WRITE, 3 * PMTU - 5);
		out_work(s, 2, ENGINE_WRITE_IMM, 2 * PMTU);
		out_work(s, 3, ENGINE_WRITE, 3 * PMTU + 1);
		assert_int_equal(end_pull(s, d.now, wide, END_BATCH), NEXT);
	}
	d.now += 10000;
	feed_both(data(0), nothing);
	feed_both(data(1), nothing);
	feed_both(data(3), nothing);
	feed_both(packet(MRC_OP_WRITE_ONLY_IMM, 5, 8), nothing);
	feed_both(sack(UNA, 0x5), nothing);
	feed_both(ack(UNA - 1), nothing);
	/* What a driver gave for a moment only is in no trace of either. */
	for (uint32_t i = 0; i < 2; i++)
		memset(d.end[i].heads, 0, sizeof d.end[i].heads);
}

static inline void born(void)
{
	defaults();
	rear();
}

static inline void copy_slots(const struct pool *p, uint8_t slots[SLOTS][1024], bool is_check)
{
	assert_true(pool_high_water(p) <= SLOTS && p->slot_bytes <= sizeof slots[0]);
	for (uint32_t i = 0; i < pool_high_water(p); i++) {
		if (!pool_is_used(p, i))
			continue;
		if (is_check)
			assert_memory_equal(slots[i], pool_at(p, i), p->slot_bytes);
		else
			memcpy(slots[i], pool_at(p, i), p->slot_bytes);
	}
}

static inline void visit_slots(bool is_check)
{
	const struct mrc *m = mrc_of(d.end[SUBJECT].e);

	copy_slots(&m->flights, d.past.slots[0], is_check);
	copy_slots(&m->tracks, d.past.slots[1], is_check);
	copy_slots(&m->answers, d.past.slots[2], is_check);
}

/* Keeps the subject's memory as it is. */
static inline void keep_past(void)
{
	const struct end *s = &d.end[SUBJECT];
	size_t bytes = mrc_qp_size(&s->qp[0].caps);

	assert_true(bytes <= sizeof d.past.pair);
	memcpy(&d.past.engine, s->e, sizeof d.past.engine);
	memcpy(d.past.pair, s->qp[0].memory, bytes);
	memcpy(d.past.table, s->mem_memory, END_MEM);
	visit_slots(false);
}

/* The subject's memory is as it was, but that a packet was counted here. */
static inline void check_past(size_t counter)
{
	const struct end *s = &d.end[SUBJECT];
	uint64_t n = count_at(s, counter);

	d.past.engine.count.rx++;
	memcpy((uint8_t *)&d.past.engine.count + counter, &n, sizeof n);
	assert_memory_equal(&d.past.engine, s->e, sizeof d.past.engine);
	assert_memory_equal(d.past.pair, s->qp[0].memory, mrc_qp_size(&s->qp[0].caps));
	assert_memory_equal(d.past.table, s->mem_memory, END_MEM);
	visit_slots(true);
}

/* The subject counts the packet there, and that is all. */
static inline void check_dropped(const struct crafted *c, size_t counter)
{
	const size_t but[] = {counter, 0};
	uint64_t before = count_at(&d.end[SUBJECT], counter);

	keep_past();
	feed(SUBJECT, c);
	assert_int_equal(count_at(&d.end[SUBJECT], counter), before + 1);
	check_past(counter);
	check_same(but);
}

/* The life that both lead after what the subject went through: the gap is filled, immediate data
 * completes, more comes, what is out is acknowledged in part, is retransmitted after silence, and
 * is acknowledged. */
static inline void live_on(const size_t *but)
{
	feed_both(data(2), but);
	feed_both(data(4), but);
	feed_both(asking(6), but);
	assert_true(d.end[TWIN].n_out > 0);
	feed_both(packet(MRC_OP_WRITE_ONLY_IMM, 7, 0), but);
	feed_both(asking(9), but);
	feed_both(asking(8), but);
	feed_both(sack(UNA + 3, 1), but);
	feed_both(ack(UNA + 1), but);
	d.now += TIMEOUT_NS(14) + 1000;
	check_same(but);
	assert_true(d.end[TWIN].n_out > 0);
	feed_both(nack(NEXT - 1, MRC_NACK_TRIMMED), but);
	feed_both(probe(7), but);
	feed_both(ack(NEXT - 1), but);
	assert_int_equal(mrc_usage(d.end[SUBJECT].e).answers, 0);
	/* A timer that nobody needs any more may come once, for nothing. */
	for (uint32_t i = 0; i < 4; i++) {
		d.now += TIMEOUT_NS(20);
		check_same(but);
	}
	assert_int_equal(d.end[TWIN].n_out, 0);
	assert_int_equal(deadline_of(d.end[TWIN].e), NSEC_NEVER);
	check_idle(&d.end[SUBJECT]);
	assert_int_equal(end_state(&d.end[SUBJECT], 0), MRC_RTS);
}

/* Pulls what the subject has to say now: that many packets. */
static inline void answers(uint32_t n)
{
	assert_int_equal(end_pull(&d.end[SUBJECT], d.now, wide, END_BATCH), n);
}

static inline const struct mrc_pkt *answer(uint32_t i)
{
	assert_true(i < d.end[SUBJECT].n_out);
	return &d.end[SUBJECT].out[i].h;
}

/* Answer i is a Transport ACK of the peer's packets before `to`. */
static inline void expect_ack(uint32_t i, int64_t to, uint32_t msn)
{
	const struct mrc_pkt *h = answer(i);

	assert_int_equal(h->bth.opcode, MRC_OP_ACKNOWLEDGE);
	assert_int_equal(h->aeth.type, AETH_ACK);
	assert_int_equal(h->aeth.value, MRC_AETH_NO_CREDIT);
	assert_int_equal(h->aeth.msn, msn);
	assert_int_equal(h->bth.psn, rq_psn(to - 1));
}

/* Answer i is a SACK of what the end has when born, for packet n of the peer. */
static inline void expect_sack(uint32_t i, int64_t n)
{
	const struct mrc_pkt *h = answer(i);

	assert_int_equal(h->bth.opcode, MRC_OP_SACK);
	assert_int_equal(h->seth.cack_psn, rq_psn(EXPECTED - 1));
	assert_int_equal(h->seth.sack_offset, 0);
	assert_int_equal(h->seth.sack_bitmap, 0x15);
	assert_int_equal(mrc_offset_psn(h->seth.cack_psn, h->seth.ack_psn_offset), rq_psn(n));
	assert_int_equal(h->seth.entropy, EV);
}

static inline void expect_nack(uint32_t i, int64_t n, enum mrc_nack reason)
{
	const struct mrc_pkt *h = answer(i);

	assert_int_equal(h->bth.opcode, MRC_OP_NACK);
	assert_int_equal(h->neth.nack_psn, rq_psn(n));
	assert_int_equal(h->neth.nack_reason, reason);
	assert_int_equal(h->neth.entropy, EV);
}

/* The end of the subject: all that it had is given back, and later packets find nobody. */
static inline void expect_ended(void)
{
	struct end *s = &d.end[SUBJECT];

	assert_int_equal(end_state(s, 0), MRC_ERROR);
	assert_int_equal(counts(s)->failed, 1);
	check_idle(s);
	d.now += TIMEOUT_NS(20);
	assert_int_equal(end_pull(s, d.now, wide, END_BATCH), 0);
	assert_int_equal(deadline_of(s->e), NSEC_NEVER);
	feed(SUBJECT, asking(EXPECTED));
	feed(SUBJECT, ack(NEXT - 1));
	assert_int_equal(counts(s)->drop_state, 2);
	assert_int_equal(end_pull(s, d.now, wide, END_BATCH), 0);
	check_balance(s);
}

/* Refused with a NAK after so many messages and the queue pair in error; nothing is placed. The
 * receives that are left come back flushed. */
static inline void refuse_with(const struct crafted *c, enum aeth_nak why, uint32_t msn,
			       uint32_t n_receives)
{
	struct end *s = &d.end[SUBJECT];
	enum engine_event_kind event = why == AETH_NAK_INVALID_REQUEST ? ENGINE_EVENT_INVALID
				       : why == AETH_NAK_REMOTE_ACCESS ? ENGINE_EVENT_ACCESS
								       : ENGINE_EVENT_FATAL;

	feed(SUBJECT, c);
	assert_int_equal(counts(s)->rx_nak_sent, 1);
	answers(1);
	assert_int_equal(answer(0)->bth.opcode, MRC_OP_ACKNOWLEDGE);
	assert_int_equal(answer(0)->aeth.type, AETH_NAK);
	assert_int_equal(answer(0)->aeth.value, why);
	assert_int_equal(answer(0)->aeth.msn, msn);
	assert_int_equal(answer(0)->bth.psn, c->h.bth.psn);
	expect_flushed(2, n_receives);
	expect_event(s, OURS, event);
	expect_no_event(s);
	assert_memory_equal(s->area, d.end[TWIN].area, sizeof s->area);
	expect_ended();
}

static inline void refuse(const struct crafted *c, enum aeth_nak why)
{
	refuse_with(c, why, EXPECTED, RECEIVES);
}

#endif
