/* The responder: each request is executed once, in the order of PSNs, or refused (IBTA 9.7.4, and
 * table 57 of 9.9.3 for which error is answered how). */
#include "rc/state.h"

#define DMALEN_MAX (UINT32_C(1) << 31) /* IBTA 9.7.2 */

enum kind { KIND_NONE, KIND_SEND, KIND_WRITE, KIND_READ, KIND_ATOMIC };

/* What a packet is a part of, and which part. */
struct shape {
	uint8_t kind; /* enum kind */
	bool starts, ends, has_imm, has_inv;
};

#define FIRST  .starts = true
#define LAST   .ends = true
#define ONLY   .starts = true, .ends = true
#define SHAPES (ROCE_OP_SEND_ONLY_INV + 1)

static const struct shape shapes[SHAPES] = {
	[ROCE_OP_SEND_FIRST] = {KIND_SEND, FIRST},
	[ROCE_OP_SEND_MIDDLE] = {.kind = KIND_SEND},
	[ROCE_OP_SEND_LAST] = {KIND_SEND, LAST},
	[ROCE_OP_SEND_LAST_IMM] = {KIND_SEND, LAST, .has_imm = true},
	[ROCE_OP_SEND_LAST_INV] = {KIND_SEND, LAST, .has_inv = true},
	[ROCE_OP_SEND_ONLY] = {KIND_SEND, ONLY},
	[ROCE_OP_SEND_ONLY_IMM] = {KIND_SEND, ONLY, .has_imm = true},
	[ROCE_OP_SEND_ONLY_INV] = {KIND_SEND, ONLY, .has_inv = true},
	[ROCE_OP_WRITE_FIRST] = {KIND_WRITE, FIRST},
	[ROCE_OP_WRITE_MIDDLE] = {.kind = KIND_WRITE},
	[ROCE_OP_WRITE_LAST] = {KIND_WRITE, LAST},
	[ROCE_OP_WRITE_LAST_IMM] = {KIND_WRITE, LAST, .has_imm = true},
	[ROCE_OP_WRITE_ONLY] = {KIND_WRITE, ONLY},
	[ROCE_OP_WRITE_ONLY_IMM] = {KIND_WRITE, ONLY, .has_imm = true},
	[ROCE_OP_READ_REQUEST] = {KIND_READ, ONLY},
	[ROCE_OP_COMPARE_SWAP] = {KIND_ATOMIC, ONLY},
	[ROCE_OP_FETCH_ADD] = {KIND_ATOMIC, ONLY},
};

/* A request that passed all checks but those of its own operation. */
struct request {
	const struct rc_in *in;
	struct shape shape;
};

static struct shape shape_of(const struct rc_in *in)
{
	uint8_t opcode = in->h.bth.opcode;

	if (in->is_reserved || opcode >= SHAPES)
		return (struct shape){.kind = KIND_NONE};
	return shapes[opcode];
}

/* A request without sense. No work request tells of it, so an event does. */
static enum rc_verdict refuse_invalid(struct rc *r, struct rc_qp *q)
{
	rc_raise(r, q, ENGINE_EVENT_INVALID);
	rc_refuse(r, q, q->resp.expected, AETH_NAK_INVALID_REQUEST);
	return RC_VERDICT_rx_nak_sent;
}

static enum rc_verdict refuse_access(struct rc *r, struct rc_qp *q)
{
	rc_raise(r, q, ENGINE_EVENT_ACCESS);
	rc_refuse(r, q, q->resp.expected, AETH_NAK_REMOTE_ACCESS);
	return RC_VERDICT_rx_nak_sent;
}

/* Asks for the request that is expected. What is on its way behind it is of no use then and not
 * answered again, until that one comes (IBTA 9.7.5.2). */
static void ask_again(struct rc *r, struct rc_qp *q, enum aeth_type type, uint8_t value)
{
	rc_queue_ack(r, q, q->resp.expected, type, value);
	q->resp.has_nak_gap = true;
}

static enum rc_verdict not_ready(struct rc *r, struct rc_qp *q)
{
	ask_again(r, q, AETH_RNR_NAK, q->attr.rnr_timer);
	return RC_VERDICT_rx_rnr_sent;
}

/* The message that recv was taken for fails, and tells so in the receive's completion. */
static enum rc_verdict fail_recv(struct rc *r, struct rc_qp *q, struct rc_recv *recv,
				 enum engine_status status, enum aeth_nak why)
{
	q->resp.recv = NULL;
	rc_complete_recv(r, q, recv, status);
	rc_refuse(r, q, q->resp.expected, why);
	return RC_VERDICT_rx_nak_sent;
}

/* What a message that takes a receive says in its completion. */
static void describe(struct rc_recv *recv, const struct request *req, enum engine_op op,
		     uint32_t len)
{
	const struct roce_pkt *h = &req->in->h;

	recv->wr.op = (uint8_t)op;
	recv->wr.len = len;
	recv->wr.flags = h->bth.se ? ENGINE_SOLICITED : 0;
	if (req->shape.has_imm) {
		recv->wr.flags |= ENGINE_HAS_IMM;
		recv->wr.imm = h->imm.immdt;
	}
	if (req->shape.has_inv) {
		recv->wr.flags |= ENGINE_HAS_INV;
		recv->wr.imm = h->ieth.rkey;
	}
}

/* A packet of a send or write is executed: expected moves, and it is acknowledged if it asks. An
 * answer that is not sent yet may as well tell of this packet too; a NAK for it is void. */
static enum rc_verdict accept(struct rc *r, struct rc_qp *q, const struct request *req)
{
	struct rc_responder *p = &q->resp;
	psn24 psn = p->expected;

	p->expected = psn24_next(psn);
	p->got += req->in->payload.len;
	r->count.rx_bytes += req->in->payload.len;
	q->progress.got_bytes += req->in->payload.len;
	if (req->shape.ends) {
		p->message = RC_NO_MESSAGE;
		p->msn = (p->msn + 1) & RC_MSN_MASK;
	}
	if (req->in->h.bth.ack_req || p->has_ack)
		rc_queue_ack(r, q, psn, AETH_ACK, 0);
	return RC_VERDICT_rx_request;
}

static enum rc_verdict on_send(struct rc *r, struct rc_qp *q, const struct request *req)
{
	struct rc_responder *p = &q->resp;
	const struct rc_in *in = req->in;
	struct rc_recv *recv = req->shape.starts ? rc_take_recv(r, q) : p->recv;
	uint32_t got = req->shape.starts ? 0 : p->got;

	if (!recv)
		return not_ready(r, q);
	struct place_payload payload = engine_payload_of(&in->payload);
	struct place_list to = {recv->sg, recv->n_sg, got, payload.len};
	struct place how = {
		.mem = r->cfg.mem,
		.pd = p->queue->pd,
		.qp = q->id.number,
		.access = MEM_LOCAL_WRITE,
		.is_local = true,
		.is_trusted = recv->wr.flags & ENGINE_TRUSTED,
	};

	if (in->payload.len > recv->room - got)
		return fail_recv(r, q, recv, ENGINE_LOCAL_LENGTH, AETH_NAK_INVALID_REQUEST);
	if (place_pieces(&how, &payload, &to) != MEM_OK)
		return fail_recv(r, q, recv, ENGINE_LOCAL_PROTECTION, AETH_NAK_REMOTE_OPERATION);
	if (req->shape.has_inv &&
	    mem_invalidate(r->cfg.mem, in->h.ieth.rkey, q->caps.pd, q->id.number) != MEM_OK)
		return fail_recv(r, q, recv, ENGINE_REMOTE_INVALID, AETH_NAK_REMOTE_ACCESS);
	p->got = got;
	p->message = RC_MESSAGE_SEND;
	p->recv = recv;
	if (req->shape.ends) {
		p->recv = NULL;
		describe(recv, req, ENGINE_RECV, got + in->payload.len);
		rc_complete_recv(r, q, recv, ENGINE_OK);
	}
	return accept(r, q, req);
}

static struct mem_want want_of(const struct rc_qp *q, const struct reth *reth, uint8_t access)
{
	return (struct mem_want){
		.va = reth->va,
		.len = reth->dmalen,
		.key = reth->rkey,
		.pd = q->caps.pd,
		.qp = q->id.number,
		.access = access,
	};
}

/* Places a packet of a write. The first one is checked for the whole message, and each for itself:
 * the region may be gone since. */
static enum mem_fault place_write(struct rc *r, struct rc_qp *q, const struct request *req)
{
	const struct rc_responder *p = &q->resp;
	const struct reth *reth = &req->in->h.reth;
	struct place_payload payload = engine_payload_of(&req->in->payload);
	struct place how = {
		.mem = r->cfg.mem,
		.pd = q->caps.pd,
		.qp = q->id.number,
		.access = MEM_REMOTE_WRITE,
	};

	if (!req->shape.starts)
		return place_region(&how, &payload, p->key, p->va);
	struct mem_want whole = want_of(q, reth, MEM_REMOTE_WRITE);
	uint8_t *at;
	enum mem_fault fault = mem_find(r->cfg.mem, &whole, &at);

	return fault != MEM_OK ? fault : place_region(&how, &payload, reth->rkey, reth->va);
}

static enum rc_verdict on_write(struct rc *r, struct rc_qp *q, const struct request *req)
{
	struct rc_responder *p = &q->resp;
	const struct reth *reth = &req->in->h.reth;
	uint32_t len = req->in->payload.len;

	if (req->shape.has_imm && list_is_empty(&p->queue->posted))
		return not_ready(r, q);
	enum mem_fault fault = place_write(r, q, req);
	struct rc_recv *recv = req->shape.has_imm ? rc_take_recv(r, q) : NULL;

	if (fault != MEM_OK) {
		if (recv) {
			recv->wr.op = ENGINE_WRITE_IMM;
			rc_complete_recv(r, q, recv, ENGINE_LOCAL_ACCESS);
		}
		return refuse_access(r, q);
	}
	if (req->shape.starts) {
		p->key = reth->rkey;
		p->va = reth->va;
		p->left = reth->dmalen;
		p->got = 0;
	}
	p->message = RC_MESSAGE_WRITE;
	p->va += len;
	p->left -= len;
	if (recv) {
		describe(recv, req, ENGINE_WRITE_IMM, p->got + len);
		rc_complete_recv(r, q, recv, ENGINE_OK);
	}
	return accept(r, q, req);
}

/* Whether this read or atomic is one more than the peer was allowed to have out (IBTA table 57).
 * Answers to duplicates do not count: the network may have made those. */
static bool is_one_too_many(struct rc_qp *q)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < q->resp.n_answers; i++)
		n += !rc_answer_at(&q->resp, i)->is_retx;
	return n >= q->attr.dest_rd_atomic;
}

/* A read or atomic is executed: its answer is queued, and it is kept for duplicates. The answer
 * acknowledges all before it. */
static enum rc_verdict accept_answered(struct rc *r, struct rc_qp *q, struct rc_past past)
{
	struct rc_responder *p = &q->resp;

	p->msn = (p->msn + 1) & RC_MSN_MASK;
	past.psn = p->expected;
	past.msn = p->msn;
	p->past[p->past_at] = past;
	p->past_at = (p->past_at + 1) % RC_RD_ATOMIC_MAX;
	p->expected = psn24_add(p->expected, (int32_t)past.n_pkts);
	p->has_ack = false;
	rc_add_answer(r, q,
		      &(struct rc_answer){
			      .psn = past.psn,
			      .n_pkts = past.n_pkts,
			      .is_atomic = past.is_atomic,
			      .is_first = true,
			      .key = past.key,
			      .left = past.len,
			      .va = past.va,
			      .original = past.original,
			      .msn = past.msn,
		      });
	return RC_VERDICT_rx_request;
}

static enum rc_verdict on_read(struct rc *r, struct rc_qp *q, const struct request *req)
{
	const struct reth *reth = &req->in->h.reth;
	struct mem_want want = want_of(q, reth, MEM_REMOTE_READ);
	uint8_t *at;

	if (mem_find(r->cfg.mem, &want, &at) != MEM_OK)
		return refuse_access(r, q);
	return accept_answered(r, q,
			       (struct rc_past){
				       .n_pkts = engine_packets(reth->dmalen, q->attr.pmtu),
				       .key = reth->rkey,
				       .len = reth->dmalen,
				       .va = reth->va,
			       });
}

/* Does it in one step that the application's own accesses to the word see whole or not at all, more
 * than IBTA 9.4.5 asks for. Returns what was there. */
static uint64_t execute(const struct rc_in *in, uint64_t *at)
{
	const struct atomic_eth *a = &in->h.atomic;
	uint64_t original = a->compare;

	if (in->h.bth.opcode == ROCE_OP_FETCH_ADD)
		return __atomic_fetch_add(at, a->swap_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(at, &original, a->swap_add, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return original;
}

static enum rc_verdict on_atomic(struct rc *r, struct rc_qp *q, const struct request *req)
{
	const struct atomic_eth *a = &req->in->h.atomic;
	struct reth where = {.va = a->va, .rkey = a->rkey, .dmalen = RC_ATOMIC_BYTES};
	struct mem_want want = want_of(q, &where, MEM_REMOTE_ATOMIC);
	uint8_t *at = NULL;

	if (mem_find(r->cfg.mem, &want, &at) != MEM_OK)
		return refuse_access(r, q);
	/* A region may begin at an address of ours that is less aligned than its peer's. */
	if ((uintptr_t)at % RC_ATOMIC_BYTES != 0)
		return refuse_invalid(r, q);
	uint64_t original = at ? execute(req->in, (uint64_t *)(void *)at) : 0;

	return accept_answered(r, q,
			       (struct rc_past){
				       .n_pkts = 1,
				       .is_atomic = true,
				       .key = a->rkey,
				       .va = a->va,
				       .original = original,
			       });
}

/* Whether the opcode may follow what came before it (IBTA 9.7.4.1). */
static bool is_in_turn(const struct rc_responder *p, const struct shape *s)
{
	switch (p->message) {
	case RC_NO_MESSAGE: return s->starts;
	case RC_MESSAGE_SEND: return s->kind == KIND_SEND && !s->starts;
	default: return s->kind == KIND_WRITE && !s->starts;
	}
}

/* Whether the queue pair allows such operations at all. If not, that is an operation it does not
 * support (IBTA table 57), unlike a right that a region does not give. */
static bool is_allowed(const struct rc_qp *q, const struct shape *s)
{
	switch (s->kind) {
	case KIND_WRITE: return q->attr.access & MEM_REMOTE_WRITE;
	case KIND_READ: return q->attr.access & MEM_REMOTE_READ;
	case KIND_ATOMIC: return q->attr.access & MEM_REMOTE_ATOMIC;
	default: return true;
	}
}

/* Whether the payload is as long as this part of a message must be (IBTA 9.7.4.1). */
static bool is_length_right(const struct rc_qp *q, const struct request *req)
{
	const struct shape *s = &req->shape;
	uint32_t len = req->in->payload.len, pmtu = q->attr.pmtu;
	uint64_t total = s->starts ? req->in->h.reth.dmalen : q->resp.left;

	if (s->kind == KIND_ATOMIC)
		return len == 0;
	if (s->kind == KIND_READ)
		return len == 0 && total <= DMALEN_MAX;
	if (s->kind == KIND_WRITE && total > DMALEN_MAX)
		return false;
	if (!s->ends)
		return len == pmtu && (s->kind != KIND_WRITE || total > len);
	return len <= pmtu && (s->starts || len > 0) && (s->kind != KIND_WRITE || total == len);
}

/* The request with the expected PSN. */
static enum rc_verdict on_new(struct rc *r, struct rc_qp *q, const struct request *req)
{
	struct rc_responder *p = &q->resp;
	const struct shape *s = &req->shape;

	if (!p->has_begun && q->state == ENGINE_RTR)
		rc_raise(r, q, ENGINE_EVENT_ESTABLISHED);
	p->has_begun = true;
	p->has_nak_gap = false;
	if (s->kind == KIND_NONE || !is_in_turn(p, s) || !is_allowed(q, s) ||
	    !is_length_right(q, req))
		return refuse_invalid(r, q);
	if (s->kind == KIND_SEND)
		return on_send(r, q, req);
	if (s->kind == KIND_WRITE)
		return on_write(r, q, req);
	if (s->kind == KIND_ATOMIC && req->in->h.atomic.va % RC_ATOMIC_BYTES != 0)
		return refuse_invalid(r, q);
	if (is_one_too_many(q))
		return refuse_invalid(r, q);
	/* Full of answers to duplicates: it will come again. */
	if (p->n_answers == RC_ANSWERS)
		return RC_VERDICT_drop_repeat;
	return s->kind == KIND_READ ? on_read(r, q, req) : on_atomic(r, q, req);
}

/* The read or atomic that took psn, if it is remembered: the newest, as PSNs come round again. */
static const struct rc_past *find_past(const struct rc_responder *p, psn24 psn)
{
	for (uint32_t i = 1; i <= RC_RD_ATOMIC_MAX; i++) {
		uint32_t at = (p->past_at + RC_RD_ATOMIC_MAX - i) % RC_RD_ATOMIC_MAX;

		if (psn24_dist(p->past[at].psn, psn) < p->past[at].n_pkts)
			return &p->past[at];
	}
	return NULL;
}

/* Whether the answer at psn is yet to be sent. */
static bool is_answering(struct rc_responder *p, psn24 psn)
{
	for (uint32_t i = 0; i < p->n_answers; i++) {
		const struct rc_answer *a = rc_answer_at(p, i);

		if (psn24_dist(a->psn, psn) < a->n_pkts)
			return true;
	}
	return false;
}

/* Takes out what is yet to be sent of the n packets from psn on: they are asked for anew. */
static void drop_rest(struct rc_responder *p, psn24 psn, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->n_answers; i++)
		if (psn24_dist(psn, rc_answer_at(p, i)->psn) >= n)
			*rc_answer_at(p, kept++) = *rc_answer_at(p, i);
	p->n_answers = kept;
}

/* A read again, whole or from the packet on that did not arrive (IBTA 9.7.5.1). It may be a copy
 * that the network made, of a read long done, so a fault of any kind is met with silence: a region
 * that is gone by now is no error of the peer. */
static enum rc_verdict repeat_read(struct rc *r, struct rc_qp *q, const struct rc_past *past,
				   const struct rc_in *in)
{
	const struct reth *reth = &in->h.reth;
	psn24 psn = psn24_of(in->h.bth.psn);
	uint64_t skipped = (uint64_t)psn24_dist(past->psn, psn) * q->attr.pmtu;
	uint32_t n_pkts = engine_packets(reth->dmalen, q->attr.pmtu);
	struct mem_want want = want_of(q, reth, MEM_REMOTE_READ);
	uint8_t *at;

	if (past->is_atomic || in->payload.len > 0 || reth->rkey != past->key ||
	    reth->va != past->va + skipped || reth->dmalen > past->len - skipped ||
	    mem_find(r->cfg.mem, &want, &at) != MEM_OK)
		return RC_VERDICT_drop_repeat;
	drop_rest(&q->resp, psn, n_pkts);
	if (q->resp.n_answers == RC_ANSWERS)
		return RC_VERDICT_drop_repeat;
	struct cc_ack lost = {.now = r->now, .bytes = reth->dmalen, .pkts = n_pkts};

	cc_on_loss(&q->req.cc, &lost, CC_LOSS_GAP);
	rc_add_answer(r, q,
		      &(struct rc_answer){
			      .psn = psn,
			      .n_pkts = n_pkts,
			      .is_first = true,
			      .is_retx = true,
			      .key = reth->rkey,
			      .left = reth->dmalen,
			      .va = reth->va,
			      .msn = past->msn,
		      });
	return RC_VERDICT_rx_duplicate;
}

/* An atomic is never executed again: what it found is remembered (IBTA 9.4.5). */
static enum rc_verdict repeat_atomic(struct rc *r, struct rc_qp *q, const struct rc_past *past,
				     const struct rc_in *in)
{
	const struct atomic_eth *a = &in->h.atomic;

	if (!past->is_atomic || a->va != past->va || a->rkey != past->key ||
	    q->resp.n_answers == RC_ANSWERS)
		return RC_VERDICT_drop_repeat;
	rc_add_answer(r, q,
		      &(struct rc_answer){
			      .psn = past->psn,
			      .n_pkts = 1,
			      .is_atomic = true,
			      .is_first = true,
			      .is_retx = true,
			      .original = past->original,
			      .msn = past->msn,
		      });
	return RC_VERDICT_rx_duplicate;
}

/* A request from before the expected one: answered again, never executed again (IBTA 9.7.5.1). */
static enum rc_verdict on_duplicate(struct rc *r, struct rc_qp *q, const struct request *req)
{
	struct rc_responder *p = &q->resp;
	psn24 psn = psn24_of(req->in->h.bth.psn);
	const struct rc_past *past;

	switch (req->shape.kind) {
	case KIND_SEND:
	case KIND_WRITE:
		/* A NAK that waits acknowledges what is before it as well. */
		if (!p->has_ack || p->ack_type == AETH_ACK)
			rc_queue_ack(r, q, psn24_prev(p->expected), AETH_ACK, 0);
		return RC_VERDICT_rx_duplicate;
	case KIND_READ:
	case KIND_ATOMIC:
		past = find_past(p, psn);
		if (!past || is_answering(p, psn))
			return RC_VERDICT_drop_repeat;
		return req->shape.kind == KIND_READ ? repeat_read(r, q, past, req->in)
						    : repeat_atomic(r, q, past, req->in);
	default: return RC_VERDICT_drop_repeat;
	}
}

enum rc_verdict rc_on_request(struct rc *r, struct rc_qp *q, const struct rc_in *in)
{
	struct request req = {.in = in, .shape = shape_of(in)};
	psn24 psn = psn24_of(in->h.bth.psn);

	if (psn24_eq(psn, q->resp.expected))
		return on_new(r, q, &req);
	if (!psn24_gt(psn, q->resp.expected))
		return on_duplicate(r, q, &req);
	if (q->resp.has_nak_gap)
		return RC_VERDICT_drop_ahead;
	ask_again(r, q, AETH_NAK, AETH_NAK_SEQUENCE);
	return RC_VERDICT_rx_nak_sent;
}

/* All but the receive queue, which lives on. */
void rc_responder_reset(struct rc_qp *q)
{
	q->resp = (struct rc_responder){.own = q->resp.own, .queue = q->resp.queue};
}

void rc_responder_start(struct rc_qp *q)
{
	rc_responder_reset(q);
	q->resp.expected = psn24_of(q->attr.rq_psn);
}
