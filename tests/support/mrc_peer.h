/* A requestor alone, end 0 of the stage, whose peer is a script: what it says is made by hand, with
 * packets named by their counts. PSNs begin just before they wrap. Each word of the peer, and each
 * pull, is followed by a look at the records. */
#ifndef WEFT_TESTS_SUPPORT_MRC_PEER_H
#define WEFT_TESTS_SUPPORT_MRC_PEER_H

#include "mrc_recount.h"

#ifndef PMTU
#define PMTU 256u
#endif
#define OURS   0x1230u
#define SQ_PSN 0xfffff0u
#define WIDTH  64u /* of a timer's slot */

#define COUNT(name) (counts(&w.end[0])->name)

static struct mrc_qp *q;
static uint64_t cookie; /* of the work posted last */

static inline uint64_t next_cookie(void)
{
	return ++cookie;
}

/* As usual; then a test changes what it likes, then connect. */
static inline void begin(void)
{
	start(1);
	w.end[0].cfg.cc.window_bytes = UINT64_C(1) << 24;
	for (uint32_t i = 0; i < END_QPS; i++) {
		w.end[0].qp[i].caps.max_mpr = 255;
		w.end[0].qp[i].attr.pmtu = PMTU;
		w.end[0].qp[i].attr.sq_psn = SQ_PSN;
	}
	w.is_held[1] = true;
	cookie = 0;
}

static inline void connect(void)
{
	join();
	q = pair_of(0, 0);
}

static inline uint32_t psn_of(int64_t count)
{
	return psn24_of(SQ_PSN + (uint32_t)count).v;
}

static inline uint32_t pull(void)
{
	uint32_t n = end_pull(&w.end[0], w.now, wide, END_BATCH);

	check_records(0);
	return n;
}

/* Everything that can go does; returns how many packets that were. */
static inline uint32_t pull_all(void)
{
	uint32_t n, total = 0;

	while ((n = pull()) > 0)
		total += n;
	return total;
}

static inline void say_to(uint32_t qp, struct mrc_pkt h)
{
	h.bth.dest_qp = w.end[0].qp[qp].number;
	h.bth.pkey = ROCE_PKEY_DEFAULT;
	inject(0, &h);
	check_records(0);
	check_balance(&w.end[0]);
}

static inline void say(struct mrc_pkt h)
{
	say_to(0, h);
}

/* A SACK: all up to cack arrived, and those of map, from `from` on; acked caused it. */
struct word {
	int64_t cack, from, acked;
	uint64_t map;
	uint32_t ooo, mpr, stamp;
	bool is_retx, is_probed, is_other; /* is_other: an unknown cc_type */
	uint16_t probe_id;
	uint32_t ev, mark; /* ev and stamp 0: those of `acked` when it went last */
};

/* The record of a packet, if it is out. */
static inline const struct engine_sent_pkt *sent_of(int64_t count, bool *is_retx)
{
	*is_retx = false;
	if (count < (int64_t)q->req.sent.una || count >= (int64_t)q->req.sent.next)
		return NULL;
	*is_retx = engine_sent_is_retx(&q->req.sent, (uint64_t)count);
	return engine_sent_at(&q->req.sent, (uint64_t)count);
}

/* The entropy value that a packet went by last; 0: nobody knows. */
static inline uint32_t ev_of(int64_t count)
{
	bool is_retx;
	const struct engine_sent_pkt *sent = sent_of(count, &is_retx);
	const struct path_set *set = &q->attr.evs->set;

	return sent && sent->user < set->n ? set->evs[sent->user].value : 0;
}

/* When a packet was sent last, as its stamp told; 0: nobody knows, or it bears none. */
static inline uint16_t stamp_of(int64_t count)
{
	bool is_retx;

	if (!sent_of(count, &is_retx) || q->attr.flags & MRC_NO_TIMESTAMPS)
		return 0;
	return mrc_stamp(engine_sent_time(&q->req.sent, engine_of(0)->now, (uint64_t)count));
}

static inline void sack(struct word s)
{
	say((struct mrc_pkt){
		.bth = {.opcode = MRC_OP_SACK, .rtx = s.is_retx, .psn = 0x123456},
		.seth = {.pr = s.is_probed,
			 .cack_psn = psn_of(s.cack),
			 .ack_psn_offset = s.is_probed ? s.probe_id : (uint16_t)(s.acked - s.cack),
			 .sack_offset = (uint16_t)(s.from - s.cack),
			 .sack_bitmap = s.map,
			 .m = (uint8_t)s.mark,
			 .entropy = s.ev ? s.ev : ev_of(s.acked),
			 .mpr = (uint8_t)s.mpr,
			 .cc_type = s.is_other ? 5 : MRC_CC_TYPE_NSCC},
		.cc = {.ooo_count = (uint16_t)s.ooo,
		       .tx_timestamp = s.stamp ? (uint16_t)s.stamp : stamp_of(s.acked)},
	});
}

#define SACK(...) sack((struct word){__VA_ARGS__})

/* All up to and including this one arrived. */
static inline void sack_all(int64_t count)
{
	SACK(.cack = count, .from = count, .acked = count);
}

static inline void aeth(int64_t count, uint8_t type, uint8_t value)
{
	say((struct mrc_pkt){.bth = {.opcode = MRC_OP_ACKNOWLEDGE, .psn = psn_of(count)},
			     .aeth = {.type = type, .value = value}});
}

/* All up to and including this one was executed. */
static inline void ack_qp(uint32_t qp, int64_t count)
{
	say_to(qp, (struct mrc_pkt){.bth = {.opcode = MRC_OP_ACKNOWLEDGE, .psn = psn_of(count)},
				    .aeth = {.type = AETH_ACK, .value = MRC_AETH_NO_CREDIT}});
}

static inline void ack(int64_t count)
{
	ack_qp(0, count);
}

/* The same, and all that ended is polled. */
static inline void ack_and_poll(int64_t count)
{
	ack(count);
	for (struct done done; end_poll(&w.end[0], &done);)
		continue;
}

/* Of a copy that was sent first, or again, at that time. */
static inline void nack_copy(int64_t count, uint8_t reason, bool is_retx, uint16_t stamp)
{
	say((struct mrc_pkt){.bth = {.opcode = MRC_OP_NACK, .rtx = is_retx, .psn = 1},
			     .neth = {.nack_reason = reason,
				      .nack_psn = psn_of(count),
				      .entropy = ev_of(count),
				      .tx_timestamp = stamp,
				      .cc_type = MRC_CC_TYPE_TIMESTAMP}});
}

/* Of the copy that was sent last. */
static inline void nack(int64_t count, uint8_t reason)
{
	bool is_retx;
	uint16_t stamp = sent_of(count, &is_retx)
				 ? mrc_stamp(engine_sent_time(&q->req.sent, engine_of(0)->now,
							      (uint64_t)count))
				 : 0;

	nack_copy(count, reason, is_retx, stamp);
}

/* A work of n packets. */
static inline void post_packets(uint32_t n)
{
	post((struct work){.cookie = next_cookie(), .len = n * PMTU, .code = ENGINE_WRITE});
}

/* The next completion; one that is right is of a write of one packet. */
static inline struct done expect_end(uint64_t which, enum engine_status status)
{
	return expect_done(0, (struct done){.cookie = which,
					    .code = ENGINE_DONE_SENT,
					    .status = (int16_t)status,
					    .op = ENGINE_WRITE,
					    .len = PMTU});
}

/* A round trip of 40 us is known, and a packet is out for each microsecond since
 * then. Packet 0 is done. */
static inline void begin_by_hand(uint32_t n)
{
	begin();
	w.end[0].qp[0].caps.max_send = 512;
	w.end[0].qp[0].caps.max_send_sge = 1;
	w.end[0].qp[0].attr.timeout = 14;
	w.end[0].qp[0].attr.flags = MRC_OBLIVIOUS;
	w.end[0].is_virtual = w.end[1].is_virtual = true;
	connect();
	post_packets(1);
	pull_all();
	w.now += 40000;
	sack_all(0);
	ack(0);
	expect_end(1, ENGINE_OK);
	for (uint32_t i = 0; i < n; i++) {
		post_packets(1);
		w.now += 1000;
		assert_true(pull_all() > 0);
	}
	w.now += 10000;
}

#endif
