#include <errno.h>
#include <string.h>

#include "rc/state.h"

/* More counts out than this, and an old response could be taken for a new one (IBTA 9.7.3.1). */
#define PSN_WINDOW ((UINT64_C(1) << 23) - 1)

/* A packet that may be next. */
struct step {
	struct rc_send *w;
	uint32_t index;  /* of the packet in its message */
	uint32_t n_pkts; /* counts it takes: a read's, as many as its response has packets */
	uint32_t at;     /* its first byte in the message */
	uint32_t bytes;  /* of the message that it carries, or asks for */
	bool is_last;
	bool is_limited; /* takes a receive that the peer may not have */
};

static bool is_local(uint8_t op)
{
	return op == ENGINE_LOCAL_INV || op == ENGINE_BIND;
}

static bool takes_receive(uint8_t op)
{
	return op == ENGINE_SEND || op == ENGINE_SEND_IMM || op == ENGINE_SEND_INV ||
	       op == ENGINE_WRITE_IMM;
}

static int check_atomic(const struct op *op)
{
	if (op->n_sg != 1 || op->sg[0].len != RC_ATOMIC_BYTES || op->atomic_op > ENGINE_FETCH_ADD)
		return -EINVAL;
	return 0;
}

/* What can be said of work before its turn; keys are looked at when they are used. */
static int check(const void *queue, const struct op *op)
{
	const struct rc_qp *q = queue;

	if (op->code > ENGINE_BIND || engine_send_check(op, q->state))
		return -EINVAL;
	if (is_local(op->code))
		return op->code == ENGINE_BIND && !op->bind ? -EINVAL : 0;
	if (engine_cut_check(op, rc_send_limits(&q->caps)))
		return -EINVAL;
	if ((op->code == ENGINE_READ || op->code == ENGINE_ATOMIC) && q->attr.rd_atomic == 0)
		return -EINVAL;
	return op->code == ENGINE_ATOMIC ? check_atomic(op) : 0;
}

static void fill(struct rc_qp *q, const struct op *op, struct rc_send *w)
{
	bool is_wire = !is_local(op->code);
	/* What is flushed at once has no packets, and there may never have been a PMTU. */
	bool has_pkts = is_wire && q->state != ENGINE_ERROR;

	w->peer = q->attr.peer;
	w->n_sg = 0;
	w->atomic_op = op->atomic_op;
	w->first = q->req.end;
	w->n_pkts = has_pkts ? engine_packets(w->wr.len, q->attr.pmtu) : 0;
	w->key = (uint32_t)op->key;
	w->ssn = q->req.ssn + takes_receive(op->code);
	w->has_run = false;
	if (op->code == ENGINE_BIND) {
		w->bind = *op->bind;
		w->bind.qp = q->id.number;
		return;
	}
	w->remote = op->remote;
	memcpy(&w->operand[0], op->operand[0], sizeof w->operand[0]);
	memcpy(&w->operand[1], op->operand[1], sizeof w->operand[1]);
	if (is_wire)
		w->n_sg = engine_cut_keep(op, rc_send_limits(&q->caps), w->sg);
}

static void take_work(struct rc_qp *q, const struct op *op)
{
	uint32_t len = is_local(op->code) ? 0 : (uint32_t)engine_cut_bytes(op);
	struct rc_send *w = (void *)engine_ring_post(&q->req.works, op, q, len);

	fill(q, op, w);
	q->req.ssn = w->ssn;
	q->req.end += w->n_pkts;
}

int rc_post_send(struct rc *r, struct rc_qp *q, const struct op *op)
{
	int problem = engine_works_check(op, engine_ring_room(&q->req.works), q, check);

	if (problem)
		return problem;
	for (; op; op = op->next)
		take_work(q, op);
	if (q->state == ENGINE_ERROR)
		rc_flush_send(r, q);
	else
		rc_wake_send(r, q);
	return 0;
}

/* The oldest work of which nothing happened: it was not sent, not executed, and did not fail here.
 */
static uint64_t first_untouched(const struct rc_qp *q)
{
	uint64_t at = q->req.works.current;

	for (; at < q->req.works.posted; at++) {
		const struct rc_send *w = rc_send_at(q, at);

		if (w->first >= q->req.high && !w->has_run && w->wr.status == ENGINE_OK)
			break;
	}
	return at;
}

/* What is behind it has other numbers then, of which the peer knows none yet. */
int rc_cancel_send(struct rc *r, struct rc_qp *q, uint64_t cookie)
{
	struct engine_ring *works = &q->req.works;
	uint64_t at;
	int problem = engine_ring_find(works, first_untouched(q), cookie, &at);

	if (problem)
		return problem;
	struct rc_send *w = rc_send_at(q, at);
	uint32_t n_pkts = w->n_pkts, n_recvs = takes_receive(w->wr.op);

	for (uint64_t i = at + 1; i < works->posted; i++) {
		rc_send_at(q, i)->first -= n_pkts;
		rc_send_at(q, i)->ssn -= n_recvs;
	}
	w->n_pkts = 0;
	w->ssn -= n_recvs;
	w->has_run = true;
	q->req.end -= n_pkts;
	q->req.ssn -= n_recvs;
	engine_done_cancel(&r->done, works, at);
	/* What was behind it may go now, or nothing waits for a port any more. */
	if (works->current < works->posted)
		rc_wake_send(r, q);
	rc_clock_follow(r, q);
	return 0;
}

static const struct {
	uint8_t first, middle, last, only;
} opcodes[] = {
	[ENGINE_WRITE] = {ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_LAST,
			  ROCE_OP_WRITE_ONLY},
	[ENGINE_WRITE_IMM] = {ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_LAST_IMM,
			      ROCE_OP_WRITE_ONLY_IMM},
	[ENGINE_SEND] = {ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST,
			 ROCE_OP_SEND_ONLY},
	[ENGINE_SEND_IMM] = {ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST_IMM,
			     ROCE_OP_SEND_ONLY_IMM},
	[ENGINE_SEND_INV] = {ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST_INV,
			     ROCE_OP_SEND_ONLY_INV},
};

static uint8_t opcode_of(const struct step *s)
{
	uint8_t op = s->w->wr.op;

	if (op == ENGINE_READ)
		return ROCE_OP_READ_REQUEST;
	if (op == ENGINE_ATOMIC)
		return s->w->atomic_op == ENGINE_FETCH_ADD ? ROCE_OP_FETCH_ADD
							   : ROCE_OP_COMPARE_SWAP;
	if (s->index == 0)
		return s->is_last ? opcodes[op].only : opcodes[op].first;
	return s->is_last ? opcodes[op].last : opcodes[op].middle;
}

/* The packet that takes a receive of the peer: a send's first, a write's last. Beyond the peer's
 * credits one may go alone, to be told how many there are now (IBTA 9.7.7.2.5). */
static bool is_beyond_credits(const struct rc_requester *req, const struct step *s)
{
	const struct rc_send *w = s->w;

	if (!req->has_credits || !takes_receive(w->wr.op))
		return false;
	if (w->wr.op == ENGINE_WRITE_IMM ? !s->is_last : s->index > 0)
		return false;
	return (int32_t)(w->ssn - req->credit_ssn) > 0;
}

static struct step step_of(const struct rc_qp *q, struct rc_send *w)
{
	const struct rc_requester *req = &q->req;
	uint32_t index = (uint32_t)(req->next - w->first), left = w->n_pkts - index;
	struct step s = {
		.w = w,
		.index = index,
		.n_pkts = w->wr.op == ENGINE_READ ? left : 1,
		.at = index * q->attr.pmtu,
	};

	s.is_last = s.n_pkts == left;
	s.bytes = (uint32_t)rc_bytes_between(q, w, req->next, req->next + s.n_pkts);
	s.is_limited = is_beyond_credits(req, &s);
	return s;
}

/* Work that cannot be done here. It fails when its turn to complete comes. */
static void refuse(struct rc *r, struct rc_qp *q, struct rc_send *w, enum engine_status status)
{
	w->wr.status = (uint8_t)status;
	rc_end_works(r, q);
}

/* Executes work that needs no packet. False: it failed. */
static bool run(struct rc *r, struct rc_qp *q, struct rc_send *w)
{
	uint32_t key = (uint32_t)w->wr.imm;
	const struct mem_entry *window = mem_entry(r->cfg.mem, key);

	w->has_run = true;
	if (w->wr.op == ENGINE_LOCAL_INV) {
		if (mem_invalidate(r->cfg.mem, key, q->caps.pd, q->id.number) == MEM_OK)
			return true;
		refuse(r, q, w, ENGINE_LOCAL_QP);
		return false;
	}
	if (window && window->pd == q->caps.pd && mem_bind(r->cfg.mem, key, &w->bind) == 0)
		return true;
	refuse(r, q, w, ENGINE_BIND_FAILED);
	return false;
}

/* Whether the order of work lets w begin, or go on. */
static bool is_in_turn(const struct rc_qp *q, const struct rc_send *w)
{
	const struct rc_requester *req = &q->req;

	/* ENGINE_SQD: what has begun, and may have to be retransmitted, is finished
	 * (IBTA 10.3.1.5). */
	if (q->state == ENGINE_SQD && req->next == w->first && req->next == req->high)
		return false;
	if ((w->wr.flags & ENGINE_FENCE) && req->n_rd_out > 0)
		return false;
	return !rc_is_fetch(w) || req->n_rd_out < q->attr.rd_atomic || q->attr.rd_atomic == 0;
}

/* The work whose packet is next, if it may go; what needs no packet is executed on the way. Bounded
 * by the works posted. */
static struct rc_send *next_work(struct rc *r, struct rc_qp *q)
{
	struct rc_requester *req = &q->req;

	while (req->works.current < req->works.posted) {
		struct rc_send *w = rc_send_at(q, req->works.current);

		if (w->wr.status != ENGINE_OK && w->wr.status != ENGINE_CANCELLED)
			return NULL;
		if (w->n_pkts == 0 && w->has_run) {
			req->works.current++;
			continue;
		}
		if (!is_in_turn(q, w))
			return NULL;
		if (rc_is_fetch(w) && q->attr.rd_atomic == 0) {
			refuse(r, q, w, ENGINE_LOCAL_QP);
			return NULL;
		}
		if (w->n_pkts > 0)
			return w;
		if (!run(r, q, w))
			return NULL;
		req->works.current++;
		rc_end_works(r, q);
	}
	return NULL;
}

/* The number of the newest message that has its receive, as far as is known: it is done, or its
 * first packet was acknowledged, or credits say so. */
static uint32_t served(const struct rc_qp *q)
{
	const struct rc_requester *req = &q->req;
	const struct rc_send *w = rc_send_at(q, req->works.done);
	uint32_t ssn = req->ssn_done;

	if (req->una > w->first && w->wr.op != ENGINE_WRITE_IMM)
		ssn = w->ssn;
	return (int32_t)(req->credit_ssn - ssn) > 0 ? req->credit_ssn : ssn;
}

/* Whether windows and pacing let s go now; if not, what changes that gives q a turn: una moves,
 * the shared window opens, or the wake timer. */
static bool may_go(struct rc *r, struct rc_qp *q, const struct step *s)
{
	struct rc_requester *req = &q->req;

	if (req->is_waiting_rnr || req->limited != RC_NONE ||
	    req->next + s->n_pkts - req->una > PSN_WINDOW ||
	    (req->is_sounding && req->next > req->una))
		return false;
	/* The one beyond the credits that may go alone is the first: others wait for it, also if it
	 * went before the peer told of credits. */
	if (s->is_limited && (int32_t)(s->w->ssn - served(q)) > 1)
		return false;
	cc_on_timer(&req->cc, r->now);
	nsec at = cc_next_send(&req->cc);

	if (req->out_bytes >= cc_grant(&req->cc).window_bytes) {
		rc_wake_at(r, q, cc_deadline(&req->cc));
		return false;
	}
	/* The wheel may wake early by less than its width, and so early is good enough. */
	if (at >= r->now + wheel_width(&r->wheel)) {
		req->is_paced = true;
		rc_wake_at(r, q, at);
		return false;
	}
	if (r->out_bytes >= r->cfg.total_window_bytes &&
	    req->out_bytes >= r->cfg.own_window_bytes) {
		rc_starve(r, q);
		return false;
	}
	/* Answers wait for the same pacer, and requests had its last slot: they go first, and q has
	 * another turn behind them. */
	if (q->resp.is_paced && !q->resp.had_slot) {
		rc_wake_answer(r, q);
		rc_wake_send(r, q);
		return false;
	}
	return true;
}

/* Counts s as sent. */
static void count_sent(struct rc *r, struct rc_qp *q, const struct step *s)
{
	struct rc_requester *req = &q->req;

	if (req->next < req->high) {
		r->count.tx_retx++;
		q->progress.retx_packets++;
	} else {
		r->count.tx_request++;
		q->progress.sent_packets++;
	}
	if (s->w->wr.op == ENGINE_READ && s->index > 0)
		req->read_from = req->next;
	if (s->is_limited)
		req->limited = req->next;
	q->resp.had_slot = false;
	req->n_rd_out += rc_is_fetch(s->w);
	req->next += s->n_pkts;
	req->works.current += s->is_last;
	req->out_bytes += s->bytes;
	r->out_bytes += s->bytes;
}

/* Whether the packet just counted shall ask for an acknowledgement: without one no window that it
 * closed would open again. */
static bool shall_ask(const struct rc *r, const struct rc_qp *q, const struct step *s)
{
	const struct rc_requester *req = &q->req;

	return s->is_last || s->is_limited || req->is_sounding ||
	       req->since_ack_req + 1 >= r->cfg.ack_every_pkts ||
	       req->out_bytes >= cc_grant(&req->cc).window_bytes ||
	       r->out_bytes >= r->cfg.total_window_bytes || req->next - req->una >= PSN_WINDOW;
}

/* Silence counts from when an answer is owed: a packet that asks for none lends time to the rest
 * of those that the next acknowledgement is for. */
static void start_clocks(struct rc *r, struct rc_qp *q, uint64_t count, bool is_asking)
{
	struct rc_requester *req = &q->req;
	bool is_new = count == req->high, is_owed = rc_is_owed(req);

	if (req->high < req->next)
		req->high = req->next;
	if (!is_owed)
		rc_clock_restart(r, q);
	req->since_ack_req = is_asking ? 0 : req->since_ack_req + 1;
	if (!is_asking)
		return;
	req->asked = count;
	if (is_new && req->timed == RC_NONE) {
		req->timed = count;
		req->timed_at = r->now;
	}
}

static void put_headers(const struct rc_qp *q, const struct step *s, struct roce_pkt *h)
{
	const struct rc_send *w = s->w;
	bool is_swap = w->atomic_op == ENGINE_COMPARE_SWAP;

	h->bth.opcode = opcode_of(s);
	h->bth.psn = rc_psn(q, q->req.next).v;
	h->bth.se = s->is_last && takes_receive(w->wr.op) && (w->wr.flags & ENGINE_SOLICITED);
	h->imm.immdt = (uint32_t)w->wr.imm;
	h->ieth.rkey = (uint32_t)w->wr.imm;
	/* A read that is asked for again names what is left of it (IBTA 9.7.5.1.3). */
	h->reth = (struct reth){w->remote + s->at, w->key, w->wr.len - s->at};
	h->atomic = (struct atomic_eth){
		.va = w->remote,
		.rkey = w->key,
		.swap_add = w->operand[is_swap ? 1 : 0],
		.compare = is_swap ? w->operand[0] : 0,
	};
}

static bool send(struct rc *r, struct rc_qp *q, const struct step *s, struct tx_pkt *tx)
{
	struct rc_requester *req = &q->req;
	struct rc_send *w = s->w;
	uint64_t count = req->next;
	uint32_t payload = rc_is_fetch(w) ? 0 : s->bytes;
	const struct engine_cut cut = {
		.mem = r->cfg.mem,
		.pd = q->caps.pd,
		.qp = q->id.number,
		.is_trusted = w->wr.flags & ENGINE_TRUSTED,
		.from = {w->sg, w->n_sg, s->at, payload},
	};
	struct rc_out out = {.payload = payload, .is_retx = count < req->high};

	if (!engine_cut_out(&cut, tx)) {
		refuse(r, q, w, ENGINE_LOCAL_PROTECTION);
		return false;
	}
	put_headers(q, s, &out.h);
	count_sent(r, q, s);
	out.h.bth.ack_req = shall_ask(r, q, s);
	start_clocks(r, q, count, out.h.bth.ack_req);
	rc_finish_packet(r, q, &out, tx);
	cc_on_sent(&req->cc, r->now, tx->head_len + payload + engine_pad_of(payload));
	return true;
}

bool rc_request_next(struct rc *r, struct rc_qp *q, struct tx_pkt *tx)
{
	bool has_sent = false;

	q->req.is_paced = false;
	if (engine_is_sending(q->state)) {
		struct rc_send *w = next_work(r, q);
		struct step s;

		if (w) {
			s = step_of(q, w);
			has_sent = may_go(r, q, &s) && send(r, q, &s, tx);
		}
	}
	rc_offer_room(r);
	return has_sent;
}
