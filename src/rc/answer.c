#include "rc/state.h"
#include "wire/aeth.h"

void rc_queue_ack(struct rc *r, struct rc_qp *q, psn24 psn, enum aeth_type type, uint8_t value)
{
	struct rc_responder *p = &q->resp;

	p->has_ack = true;
	p->ack_psn = psn;
	p->ack_type = (uint8_t)type;
	p->ack_value = value;
	rc_wake_answer(r, q);
}

void rc_add_answer(struct rc *r, struct rc_qp *q, const struct rc_answer *a)
{
	struct rc_responder *p = &q->resp;
	uint32_t i = p->n_answers++;

	for (; i > 0 && psn24_lt(a->psn, rc_answer_at(p, i - 1)->psn); i--)
		*rc_answer_at(p, i) = *rc_answer_at(p, i - 1);
	*rc_answer_at(p, i) = *a;
	rc_wake_answer(r, q);
}

void rc_refuse(struct rc *r, struct rc_qp *q, psn24 psn, enum aeth_nak why)
{
	rc_queue_ack(r, q, psn, AETH_NAK, (uint8_t)why);
	q->resp.is_closing = true;
	rc_fail(r, q);
}

/* An acknowledging AETH. Credits count from the messages completed: the receive of one that is
 * arriving is among them. */
static struct aeth positive(const struct rc_qp *q, uint32_t msn)
{
	const struct rc_responder *p = &q->resp;
	uint32_t n = p->queue->n_posted + (p->recv ? 1 : 0);
	uint8_t code = p->queue == &p->own ? aeth_credit_code(n) : AETH_NO_CREDITS;

	return (struct aeth){.type = AETH_ACK, .value = code, .msn = msn};
}

/* A peer may slow down only by what it is told, so this goes before all else (IBTA annex A17). */
void rc_put_cnp(struct rc *r, struct rc_qp *q, struct tx_pkt *tx)
{
	struct rc_out out = {.h.bth = {.opcode = ROCE_OP_CNP, .becn = 1}};

	tx->n_body = 0;
	rc_finish_packet(r, q, &out, tx);
	tx->tclass = ENGINE_CONTROL;
	tx->not_ect = 1;
	list_leave(&r->cnps[q->attr.port], &q->cnp_link);
	r->count.tx_cnp++;
}

static void put_ack(struct rc *r, struct rc_qp *q, struct tx_pkt *tx)
{
	struct rc_responder *p = &q->resp;
	struct rc_out out = {.h.bth = {.opcode = ROCE_OP_ACKNOWLEDGE, .psn = p->ack_psn.v}};

	if (p->ack_type == AETH_ACK)
		out.h.aeth = positive(q, p->msn);
	else
		out.h.aeth =
			(struct aeth){.type = p->ack_type, .value = p->ack_value, .msn = p->msn};
	tx->n_body = 0;
	rc_finish_packet(r, q, &out, tx);
	p->has_ack = false;
	if (p->ack_type == AETH_ACK)
		r->count.tx_ack++;
	else
		r->count.tx_nak++;
}

static void drop_head(struct rc_responder *p)
{
	p->answer_head = (p->answer_head + 1) % RC_ANSWERS;
	p->n_answers--;
}

static void put_atomic(struct rc *r, struct rc_qp *q, struct tx_pkt *tx)
{
	struct rc_answer *a = rc_answer_at(&q->resp, 0);
	struct rc_out out = {
		.h.bth = {.opcode = ROCE_OP_ATOMIC_ACKNOWLEDGE, .psn = a->psn.v},
		.h.aeth = positive(q, a->msn),
		.h.atomic_ack.original = a->original,
		.is_retx = a->is_retx,
	};

	tx->n_body = 0;
	rc_finish_packet(r, q, &out, tx);
	r->count.tx_response++;
	drop_head(&q->resp);
}

static uint8_t read_opcode(const struct rc_answer *a)
{
	if (a->n_pkts == 1)
		return a->is_first ? ROCE_OP_READ_RESPONSE_ONLY : ROCE_OP_READ_RESPONSE_LAST;
	return a->is_first ? ROCE_OP_READ_RESPONSE_FIRST : ROCE_OP_READ_RESPONSE_MIDDLE;
}

/* The next packet of the read at the head, whose bytes are at `at`. */
static void put_read(struct rc *r, struct rc_qp *q, struct cspan bytes, struct tx_pkt *tx)
{
	struct rc_answer *a = rc_answer_at(&q->resp, 0);
	struct rc_out out = {
		.h.bth = {.opcode = read_opcode(a), .psn = a->psn.v},
		.h.aeth = positive(q, a->msn),
		.payload = bytes.len,
		.is_retx = a->is_retx,
	};

	tx->n_body = 0;
	if (bytes.len > 0)
		tx->body[tx->n_body++] = bytes;
	rc_finish_packet(r, q, &out, tx);
	cc_on_sent(&q->req.cc, r->now, tx->head_len + bytes.len + out.h.bth.pad);
	q->resp.had_slot = true;
	r->count.tx_response++;
	q->progress.sent_bytes += bytes.len;
	a->psn = psn24_next(a->psn);
	a->va += bytes.len;
	a->left -= bytes.len;
	a->is_first = false;
	if (--a->n_pkts == 0)
		drop_head(&q->resp);
}

/* Whether the pacer lets data go; if not, q gets a turn when it does. The wheel may wake early by
 * less than its width, and so early is good enough. */
static bool may_send(struct rc *r, struct rc_qp *q)
{
	struct cc *cc = &q->req.cc;

	if (cc_deadline(cc) <= r->now)
		cc_on_timer(cc, r->now);
	nsec at = cc_next_send(cc);

	/* Requests of the same queue pair are paced with it, and take turns with answers. */
	if (at < r->now + wheel_width(&r->wheel) && !(q->req.is_paced && q->resp.had_slot))
		return true;
	q->resp.is_paced = true;
	rc_wake_at(r, q, at);
	return false;
}

/* The answer at the head into tx; false when it may not go now, or is gone: its region is. */
static bool put_answer(struct rc *r, struct rc_qp *q, struct tx_pkt *tx)
{
	struct rc_answer *a = rc_answer_at(&q->resp, 0);
	uint32_t len = a->left < q->attr.pmtu ? a->left : q->attr.pmtu;
	struct mem_want want = {
		.va = a->va,
		.len = len,
		.key = a->key,
		.pd = q->caps.pd,
		.qp = q->id.number,
		.access = MEM_REMOTE_READ,
	};
	uint8_t *at = NULL;

	if (a->is_atomic) {
		put_atomic(r, q, tx);
		return true;
	}
	if (!may_send(r, q))
		return false;
	if (mem_find(r->cfg.mem, &want, &at) == MEM_OK) {
		put_read(r, q, (struct cspan){at, len}, tx);
		return true;
	}
	/* What answers a duplicate may be for nobody: the peer may have the first answer and have
	 * allowed the region to go. Else the peer waits for it, and is refused in its place. */
	if (a->is_retx) {
		drop_head(&q->resp);
	} else {
		psn24 psn = a->psn;

		/* Not even this one is completed now. */
		q->resp.msn = (a->msn - 1) & RC_MSN_MASK;
		q->resp.n_answers = 0;
		rc_raise(r, q, ENGINE_EVENT_ACCESS);
		rc_refuse(r, q, psn, AETH_NAK_REMOTE_ACCESS);
	}
	return false;
}

bool rc_answer_next(struct rc *r, struct rc_qp *q, struct tx_pkt *tx)
{
	struct rc_responder *p = &q->resp;
	bool has_put = list_is_linked(&q->cnp_link);

	p->is_paced = false;
	if (has_put)
		rc_put_cnp(r, q, tx);
	while (!has_put && p->n_answers > 0) {
		uint32_t before = p->n_answers;

		has_put = put_answer(r, q, tx);
		if (!has_put && p->n_answers == before)
			return false;
	}
	if (!has_put && p->has_ack) {
		put_ack(r, q, tx);
		has_put = true;
	}
	if (p->n_answers == 0 && !p->has_ack)
		p->is_closing = false;
	return has_put;
}

void rc_on_marked(struct rc *r, struct rc_qp *q)
{
	if (!dcqcn_np_notify(&q->resp.np, r->now, r->cfg.cnp_every_ns))
		return;
	rc_wake_cnp(r, q);
}
