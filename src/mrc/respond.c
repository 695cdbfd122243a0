/* The responder takes data packets and probes (6.3, 7.5): each packet is placed where it says as
 * soon as it comes; messages complete in the order of sending. Everything is checked before
 * anything changes (tables 6-14 and 6-15 for what is answered how). */
#include <assert.h>
#include <errno.h>

#include "mrc/state.h"
#include "wire/net.h"

#define PSN_HALF   (INT32_C(1) << 23)
#define DMALEN_MAX (UINT32_C(1) << 31) /* IBTA 9.7.2 */

/* A data packet that is new: its count, and what its opcode says. */
struct request {
	const struct mrc_in *in;
	uint64_t n;
	bool is_end, has_imm;
};

static bool has_recv(const struct mrc_qp *q)
{
	return q->resp.receives.done < q->resp.receives.posted;
}

/* A Transport ACK is to be sent (6.3.1 rule 4). */
static void acknowledge(struct mrc *m, struct mrc_qp *q)
{
	q->resp.has_ack = true;
	mrc_wake_answer(m, q);
}

/* A NAK about the packet with this PSN is the last thing that q says. No work request tells of it,
 * so an event does. */
static enum mrc_verdict refuse(struct mrc *m, struct mrc_qp *q, uint32_t psn, enum aeth_nak why)
{
	struct mrc_responder *p = &q->resp;
	enum engine_event_kind kind = why == AETH_NAK_INVALID_REQUEST ? ENGINE_EVENT_INVALID
				      : why == AETH_NAK_REMOTE_ACCESS ? ENGINE_EVENT_ACCESS
								      : ENGINE_EVENT_FATAL;

	p->has_nak = true;
	p->nak = (uint8_t)why;
	p->nak_psn = psn;
	p->is_closing = true;
	mrc_raise(m, q, kind);
	mrc_fail(m, q);
	mrc_wake_answer(m, q);
	return MRC_VERDICT_rx_nak_sent;
}

static enum mrc_verdict nack(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in,
			     enum mrc_nack why)
{
	return mrc_answer_add(m, q, in, MRC_ANSWER_NACK, (uint8_t)why) ? MRC_VERDICT_rx_nacked
								       : MRC_VERDICT_drop_busy;
}

/* Tells of a packet by a SACK, or remembers that one is owed. */
static bool sack(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in)
{
	struct mrc_responder *p = &q->resp;

	p->is_owed = !mrc_answer_add(m, q, in, MRC_ANSWER_SACK, 0);
	if (!p->is_owed)
		p->n_trigger = 0;
	return !p->is_owed;
}

/* A packet that a switch cut is not received, whatever is left of it (7.5.3). */
static enum mrc_verdict on_trimmed(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in,
				   bool is_here)
{
	enum mrc_nack why = in->rx->trimmed == NET_TRIMMED_LASTHOP ? MRC_NACK_TRIMMED_LASTHOP
								   : MRC_NACK_TRIMMED;
	bool is_nack = m->cfg.has_trim_nack && !is_here;

	if (mrc_answer_add(m, q, in, is_nack ? MRC_ANSWER_NACK : MRC_ANSWER_SACK,
			   is_nack ? (uint8_t)why : 0))
		return MRC_VERDICT_rx_trimmed;
	return MRC_VERDICT_drop_busy;
}

/* Acknowledged again, both ways (6.3.1 rule 5); nothing of it is looked at. */
static enum mrc_verdict on_duplicate(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in)
{
	if (in->is_foreign)
		return MRC_VERDICT_drop_opcode;
	sack(m, q, in);
	acknowledge(m, q);
	return MRC_VERDICT_rx_duplicate;
}

/* Whether the payload is as long as this part of a message must be (6.3.5 with M-06). */
static bool is_length_right(const struct mrc_qp *q, const struct mrc_in *in)
{
	uint32_t len = in->payload.len, pmtu = q->attr.pmtu, total = in->h.reth.dmalen;

	if (total > DMALEN_MAX)
		return false;
	switch (in->h.bth.opcode) {
	case MRC_OP_WRITE_FIRST: return len == pmtu && total > pmtu;
	case MRC_OP_WRITE_MIDDLE: return len == pmtu && total > 2 * pmtu;
	case MRC_OP_WRITE_LAST:
	case MRC_OP_WRITE_LAST_IMM: return total > pmtu && len == ((total - 1) & (pmtu - 1)) + 1;
	default: return len <= pmtu && len == total;
	}
}

/* The oldest receive is consumed. */
static void complete(struct mrc *m, struct mrc_qp *q, const struct mrc_stash *s,
		     enum engine_status status)
{
	struct engine_work *wr = engine_ring_at(&q->resp.receives, q->resp.receives.done);

	wr->op = ENGINE_WRITE_IMM;
	wr->imm = s->imm;
	wr->len = s->len;
	wr->flags = status == ENGINE_OK ? ENGINE_HAS_IMM : 0;
	if (s->is_solicited)
		wr->flags |= ENGINE_SOLICITED;
	engine_done_end(&m->done, &q->resp.receives, status);
}

static struct mrc_stash *stash_at(const struct mrc_qp *q, uint32_t i)
{
	uint32_t at = q->resp.stash_at + i;

	return &q->resp.stash[at < q->caps.max_wimm ? at : at - q->caps.max_wimm];
}

/* Keeps immediate data until all before it is here; there is room. */
static void keep(struct mrc_qp *q, const struct mrc_stash *s)
{
	uint32_t i = q->resp.n_stash++;

	for (; i > 0 && stash_at(q, i - 1)->at > s->at; i--)
		*stash_at(q, i) = *stash_at(q, i - 1);
	*stash_at(q, i) = *s;
}

/* So many messages are complete. */
static void count_messages(struct mrc_responder *p, uint32_t n)
{
	p->msn = (p->msn + n) & MRC_MSN_MASK;
}

/* expected moves over what came ahead of it, and immediate data that was kept completes on the way.
 * Without a receive that is the end (6.3.3): the write it belongs to, and all behind it, are not
 * executed. */
static void catch_up(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_responder *p = &q->resp;

	/* Bounded by the immediate data that was kept. */
	while (p->n_stash > 0) {
		const struct mrc_stash *s = stash_at(q, 0);

		count_messages(p, engine_seen_run(&p->seen, s->at));
		if (p->seen.expected < s->at)
			return;
		if (!has_recv(q)) {
			refuse(m, q, mrc_psn(q->attr.rq_psn, s->at).v, AETH_NAK_REMOTE_OPERATION);
			return;
		}
		complete(m, q, s, ENGINE_OK);
		count_messages(p, engine_seen_run(&p->seen, s->at + 1));
		p->stash_at = p->stash_at + 1 < q->caps.max_wimm ? p->stash_at + 1 : 0;
		p->n_stash--;
	}
	count_messages(p, engine_seen_run(&p->seen, MRC_NONE));
}

static struct mrc_stash stash_of(const struct request *r)
{
	return (struct mrc_stash){
		.at = r->n,
		.imm = r->in->h.imm.immdt,
		.len = r->in->h.reth.dmalen,
		.is_solicited = r->in->h.bth.se,
	};
}

/* Whether a SACK is to be sent for a packet that was taken (7.5.2). */
static bool wants_sack(const struct mrc *m, const struct mrc_responder *p, const struct mrc_in *in)
{
	return in->h.bth.ack_req || in->h.bth.rtx || in->rx->ecn == ENGINE_ECN_CE ||
	       p->n_trigger > m->cfg.sack_every_bytes || p->is_owed ||
	       (p->asked > 0 && p->seen.expected >= p->asked);
}

/* What follows for SACKs from a packet that was taken when `before` was expected. */
static void plan_sacks(struct mrc *m, struct mrc_qp *q, const struct request *r, uint64_t before)
{
	struct mrc_responder *p = &q->resp;
	bool wants = wants_sack(m, p, r->in);

	if (p->seen.expected >= p->asked)
		p->asked = 0;
	/* One that asks and came early is answered again when all before it are here. */
	if (r->in->h.bth.ack_req && p->seen.expected <= r->n && p->asked <= r->n)
		p->asked = r->n + 1;
	bool has_sack = wants && sack(m, q, r->in);

	/* 7.5.2.2, whose else belongs to the outer if (M-19). */
	if (p->seen.expected != before) {
		if (p->unsacked < p->seen.expected)
			p->unsacked = p->seen.expected;
	} else if (!has_sack && r->n + 1 < p->unsacked) {
		p->unsacked = r->n + 1;
	}
}

/* A packet that makes no sense is refused when it is its turn: all that was sent before it was
 * executed and said to be by then (IBTA 9.7.4). One that overtook others is left to be
 * retransmitted (M-63), as it may be anybody's who knows about where we are: what the peer itself
 * sent by that number comes too, and is looked at for what it is. A write with immediate data that
 * met a fault of protection has a receive that tells of it (IBTA 11.6.2). */
static enum mrc_verdict refuse_in_turn(struct mrc *m, struct mrc_qp *q, const struct request *r,
				       enum aeth_nak why)
{
	uint32_t psn = r->in->h.bth.psn;

	if (r->n != q->resp.seen.expected)
		return MRC_VERDICT_drop_early;
	if (r->has_imm && why == AETH_NAK_REMOTE_ACCESS) {
		const struct mrc_stash about = stash_of(r);

		if (!has_recv(q))
			return refuse(m, q, psn, AETH_NAK_REMOTE_OPERATION);
		complete(m, q, &about, ENGINE_LOCAL_ACCESS);
	}
	return refuse(m, q, psn, why);
}

/* A packet that was placed is in the records. */
static void accept(struct mrc *m, struct mrc_qp *q, const struct request *r)
{
	struct mrc_responder *p = &q->resp;
	uint32_t len = r->in->payload.len, least = m->cfg.sack_least_bytes, msn = p->msn;
	uint64_t before = p->seen.expected;

	if (!p->has_begun && q->state == MRC_RTR)
		mrc_raise(m, q, ENGINE_EVENT_ESTABLISHED);
	p->has_begun = true;
	m->count.rx_bytes += len;
	p->got_bytes += len;
	p->rx_bytes += (uint64_t)r->in->rx->udp_len + MRC_NOMINAL_HDR;
	p->n_trigger += len < least ? least : len;
	count_messages(p, engine_seen_add(&p->seen, r->n, r->is_end));
	if (r->has_imm) {
		struct mrc_stash s = stash_of(r);

		if (r->n == before)
			complete(m, q, &s, ENGINE_OK);
		else
			keep(q, &s);
	}
	if (r->n == before && p->seen.n_early > 0)
		catch_up(m, q);
	if (p->promised < p->seen.expected + p->range)
		p->promised = p->seen.expected + p->range;
	if (p->msn != msn || r->in->h.bth.ack_req)
		acknowledge(m, q);
	if (q->state != MRC_ERROR)
		plan_sacks(m, q, r, before);
}

/* A packet of the window that did not come before. */
static enum mrc_verdict on_new(struct mrc *m, struct mrc_qp *q, const struct request *r)
{
	const struct mrc_in *in = r->in;
	const struct mrc_responder *p = &q->resp;
	bool is_next = r->n == p->seen.expected;
	struct place how = {
		.mem = m->cfg.mem,
		.pd = q->caps.pd,
		.qp = q->id.number,
		.access = MEM_REMOTE_WRITE,
	};
	struct place_payload payload = engine_payload_of(&in->payload);

	/* A queue pair that allows no writes does not support the operation (IBTA table 57). */
	if (in->is_foreign || !(q->attr.access & MEM_REMOTE_WRITE) || !is_length_right(q, in))
		return refuse_in_turn(m, q, r, AETH_NAK_INVALID_REQUEST);
	if (!engine_seen_reserve(&q->resp.seen, r->n))
		return nack(m, q, in, MRC_NACK_NO_BITMAP);
	if (r->has_imm && !is_next && p->n_stash == q->attr.wimm)
		return refuse(m, q, in->h.bth.psn, AETH_NAK_INVALID_REQUEST);
	if (r->has_imm && is_next && !has_recv(q))
		return refuse(m, q, in->h.bth.psn, AETH_NAK_REMOTE_OPERATION);
	if (place_region(&how, &payload, in->h.reth.rkey, in->h.reth.va) != MEM_OK) {
		engine_seen_cancel(&q->resp.seen, r->n);
		return refuse_in_turn(m, q, r, AETH_NAK_REMOTE_ACCESS);
	}
	accept(m, q, r);
	return MRC_VERDICT_rx_data;
}

enum mrc_verdict mrc_on_data(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in)
{
	const struct mrc_responder *p = &q->resp;
	uint8_t opcode = in->h.bth.opcode;
	psn24 next = mrc_psn(q->attr.rq_psn, p->seen.expected);
	int32_t ahead = psn24_diff(psn24_of(in->h.bth.psn), next);
	struct request r = {
		.in = in,
		.n = p->seen.expected + (uint64_t)(int64_t)ahead,
		.is_end = opcode != MRC_OP_WRITE_FIRST && opcode != MRC_OP_WRITE_MIDDLE,
		.has_imm = opcode == MRC_OP_WRITE_LAST_IMM || opcode == MRC_OP_WRITE_ONLY_IMM,
	};

	mrc_on_rx_port(m, q, in->rx->port);
	/* 6.3.1 rule 6 with M-14 and M-21. */
	if (ahead == -PSN_HALF || (ahead >= 0 && r.n >= p->promised))
		return MRC_VERDICT_drop_range;
	bool is_here = ahead < 0 || engine_seen_has(&p->seen, r.n);
	bool is_beyond = !is_here && (uint32_t)ahead >= p->range;

	/* That it was trimmed comes first, where we say so: that needs no room (M-50). */
	if (in->rx->trimmed && (m->cfg.has_trim_nack || !is_beyond))
		return on_trimmed(m, q, in, is_here);
	if (is_beyond)
		return in->is_foreign ? MRC_VERDICT_drop_opcode
				      : nack(m, q, in, MRC_NACK_PSN_OOR_WINDOW);
	return is_here ? on_duplicate(m, q, in) : on_new(m, q, &r);
}

/* Data of our peer whose lengths contradict: retransmitted it would be no better, and 7.5.3 wants
 * all such errors told (GERR, which is UNEXP_EVENT by M-12) and not only counted. That ends the
 * peer's queue pair, so not before all that was sent earlier is here: one that comes early is left
 * to be retransmitted. What has no PSN cannot be refused. */
enum mrc_verdict mrc_on_malformed(struct mrc *m, struct mrc_qp *q, struct mrc_in *in)
{
	uint16_t stack;

	if (!mrc_opcode_stack(in->h.bth.opcode, &stack) || !(stack & MRC_PAYLOAD) ||
	    in->rx->trimmed || in->h.bth.psn != mrc_psn(q->attr.rq_psn, q->resp.seen.expected).v)
		return MRC_VERDICT_drop_malformed;
	in->h.has = 0;
	return nack(m, q, in, MRC_NACK_UNEXP_EVENT);
}

enum mrc_verdict mrc_on_probe(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in)
{
	mrc_on_rx_port(m, q, in->rx->port);
	return mrc_answer_add(m, q, in, MRC_ANSWER_PROBED, 0) ? MRC_VERDICT_rx_probe
							      : MRC_VERDICT_drop_busy;
}

/* All but the receives that are posted. */
static void begin(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_responder *p = &q->resp;

	engine_seen_reset(&p->seen);
	mrc_answer_clear(m, q);
	*p = (struct mrc_responder){
		.seen = p->seen,
		.stash = p->stash,
		.receives = p->receives,
	};
}

void mrc_responder_reset(struct mrc *m, struct mrc_qp *q)
{
	begin(m, q);
	engine_ring_clear(&q->resp.receives);
}

void mrc_responder_start(struct mrc *m, struct mrc_qp *q)
{
	const struct mrc_responder *p = &q->resp;

	assert(p->seen.n_chunks > q->caps.max_mpr);
	begin(m, q);
	mrc_responder_resize(m, q);
}

void mrc_responder_resize(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_responder *p = &q->resp;

	(void)m;
	p->range = q->attr.mpr * MRC_MPR_UNIT;
	/* What a larger range allowed is still on its way when it shrinks: that is not dropped but
	 * refused with a NACK (M-14). */
	if (p->promised < p->seen.expected + p->range)
		p->promised = p->seen.expected + p->range;
}

static int check_receive(const void *queue, const struct op *op)
{
	const struct mrc_qp *q = queue;

	if (!engine_takes_receives(q->state) || q->caps.max_recv == 0)
		return -EINVAL;
	return op->n_sg > 0 || op->flags & ENGINE_SHARED ? -EINVAL : 0;
}

int mrc_take_recv(struct mrc *m, struct mrc_qp *q, const struct op *op)
{
	int problem = engine_works_check(op, engine_ring_room(&q->resp.receives), q, check_receive);

	if (problem)
		return problem;
	for (; op; op = op->next) {
		engine_ring_post(&q->resp.receives, op, q, 0);
		if (q->state == MRC_ERROR)
			engine_done_end(&m->done, &q->resp.receives, ENGINE_FLUSHED);
	}
	return 0;
}

int mrc_cancel_recv(struct mrc *m, struct mrc_qp *q, uint64_t cookie)
{
	struct engine_ring *ring = &q->resp.receives;
	uint64_t at;
	int problem = engine_ring_find(ring, ring->done, cookie, &at);

	if (problem)
		return problem;
	/* Immediate data that is kept has a receive each. */
	if (ring->posted - ring->done - ring->cancelled <= q->resp.n_stash)
		return -EBUSY;
	engine_done_cancel(&m->done, ring, at);
	return 0;
}
