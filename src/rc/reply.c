#include <assert.h>
#include <string.h>

#include "rc/state.h"
#include "wire/aeth.h"

#define RNR_FOREVER 7u

/* A response, and where it belongs. */
struct reply {
	const struct rc_in *in;
	uint64_t count;    /* of the packet that it answers, una <= count < high */
	struct rc_send *w; /* the oldest read or atomic without its answer, if not after count */
};

static uint64_t end_of(const struct rc_send *w)
{
	return w->first + w->n_pkts;
}

/* All works before the one found are about to be retired: the search costs no more than that. */
static struct rc_send *find_fetch(const struct rc_qp *q, uint64_t count)
{
	for (uint64_t i = q->req.works.done; i < q->req.works.posted; i++) {
		struct rc_send *w = rc_send_at(q, i);

		if (w->first > count)
			return NULL;
		if (rc_is_fetch(w))
			return w;
	}
	return NULL;
}

/* The peer has executed everything before count, but what needs an answer has none: acknowledged is
 * what comes before that (IBTA 9.7.5.1.1). False: nothing new. */
static bool retire_before(struct rc *r, struct rc_qp *q, const struct reply *p, uint64_t count)
{
	uint64_t end = p->w && p->w->first < count ? p->w->first : count;

	if (end <= q->req.una)
		return false;
	rc_retire(r, q, end);
	return true;
}

/* Credits say how many receives the peer has beyond the messages it has completed, its MSN. Of
 * those only the ones that take a receive count, and which they are, we know: a limit in their
 * numbers is exact, where the sum of MSN and credits (IBTA 9.7.7.2.5) counts writes and reads. The
 * limit never falls: receives are not taken back, and an RNR NAK says it if they were. */
static bool take_credits(struct rc_requester *req, const struct aeth *aeth)
{
	uint32_t limit = req->ssn_done + aeth_credits(aeth->value);
	bool had = req->has_credits;

	req->has_credits = aeth->value != AETH_NO_CREDITS;
	if (!req->has_credits || (had && (int32_t)(limit - req->credit_ssn) <= 0))
		return false;
	req->credit_ssn = limit;
	return true;
}

/* What follows una was lost: go back, once for each una. The same NAK may come many times, by a
 * network that doubles it, a peer that repeats it or one who forges it, and what is retransmitted
 * may meet those that were on the way: they neither multiply what is sent nor use up the tries. If
 * una is lost once more, time tells. False: nothing was done. */
static bool go_back_once(struct rc *r, struct rc_qp *q)
{
	struct rc_requester *req = &q->req;

	if (req->has_gone_back || req->is_waiting_rnr || req->next == req->una)
		return false;
	rc_retx_all(r, q, CC_LOSS_GAP);
	return true;
}

/* A response beyond one that did not come (IBTA 9.7.5.1.1). */
static bool on_implied_nak(struct rc *r, struct rc_qp *q)
{
	bool did = q->state != ENGINE_ERROR && go_back_once(r, q);

	r->count.implied_naks += did;
	return did;
}

static enum rc_verdict on_ack(struct rc *r, struct rc_qp *q, const struct reply *p)
{
	bool did = retire_before(r, q, p, p->count + 1);

	take_credits(&q->req, &p->in->h.aeth);
	if (p->w && on_implied_nak(r, q))
		did = true;
	return did ? RC_VERDICT_rx_response : RC_VERDICT_drop_response;
}

/* The peer has no receive for the message at count: try again when it says. */
static bool on_not_ready(struct rc *r, struct rc_qp *q, uint8_t code)
{
	struct rc_requester *req = &q->req;

	/* What is about to be retransmitted for another reason waits too, but that is not one more
	 * try. */
	bool is_out = req->next > req->una;

	if (req->is_waiting_rnr)
		return false;
	if (is_out && req->rnr_tries == 0) {
		rc_fail_send_for(r, q, ENGINE_RNR_EXCEEDED, aeth_syndrome(AETH_RNR_NAK, code));
		return true;
	}
	if (is_out && q->attr.rnr_retries != RNR_FOREVER)
		req->rnr_tries--;
	rc_go_back(r, q, req->una);
	if (req->has_credits)
		req->credit_ssn = req->ssn_done;
	req->has_gone_back = false;
	req->is_waiting_rnr = true;
	req->rnr_until = r->now + aeth_rnr_ns(code);
	rc_clock_restart(r, q);
	rc_wake_at(r, q, req->rnr_until);
	return true;
}

static enum rc_verdict on_rnr(struct rc *r, struct rc_qp *q, const struct reply *p)
{
	bool did = retire_before(r, q, p, p->count);

	/* A read before it has no answer yet: it goes first, and the other is put off anew. */
	if (q->state != ENGINE_ERROR && q->req.una < p->count)
		did |= on_implied_nak(r, q);
	else if (q->state != ENGINE_ERROR)
		did |= on_not_ready(r, q, p->in->h.aeth.value);
	return did ? RC_VERDICT_rx_rnr : RC_VERDICT_drop_response;
}

static enum rc_verdict on_refusal(struct rc *r, struct rc_qp *q, const struct reply *p,
				  enum engine_status status)
{
	bool did = retire_before(r, q, p, p->count);

	/* Somewhere in the work that is oldest now: that one was refused. */
	if (q->state != ENGINE_ERROR && (!p->w || p->count < end_of(p->w))) {
		rc_fail_send_for(r, q, status, aeth_syndrome(AETH_NAK, p->in->h.aeth.value));
		return RC_VERDICT_rx_nak;
	}
	did |= on_implied_nak(r, q);
	return did ? RC_VERDICT_rx_nak : RC_VERDICT_drop_response;
}

static enum rc_verdict on_sequence_nak(struct rc *r, struct rc_qp *q, const struct reply *p)
{
	bool did = retire_before(r, q, p, p->count);

	if (q->state != ENGINE_ERROR && q->req.una < p->count)
		did |= on_implied_nak(r, q);
	else if (q->state != ENGINE_ERROR)
		did |= go_back_once(r, q);
	return did ? RC_VERDICT_rx_nak : RC_VERDICT_drop_response;
}

static enum rc_verdict on_nak(struct rc *r, struct rc_qp *q, const struct reply *p)
{
	switch (p->in->h.aeth.value) {
	case AETH_NAK_SEQUENCE: return on_sequence_nak(r, q, p);
	case AETH_NAK_INVALID_REQUEST: return on_refusal(r, q, p, ENGINE_REMOTE_INVALID);
	case AETH_NAK_REMOTE_ACCESS: return on_refusal(r, q, p, ENGINE_REMOTE_ACCESS);
	case AETH_NAK_REMOTE_OPERATION: return on_refusal(r, q, p, ENGINE_REMOTE_OPERATION);
	default: return RC_VERDICT_drop_response;
	}
}

static enum rc_verdict on_acknowledge(struct rc *r, struct rc_qp *q, const struct reply *p)
{
	switch (p->in->h.aeth.type) {
	case AETH_ACK: return on_ack(r, q, p);
	case AETH_RNR_NAK: return on_rnr(r, q, p);
	case AETH_NAK: return on_nak(r, q, p);
	default: return RC_VERDICT_drop_response;
	}
}

/* Bytes that are due in a packet of a read's response. */
static uint32_t due_bytes(const struct rc_qp *q, const struct reply *p)
{
	uint32_t at = (uint32_t)(p->count - p->w->first) * q->attr.pmtu, left = p->w->wr.len - at;

	return left < q->attr.pmtu ? left : q->attr.pmtu;
}

/* Whether the opcode fits the place in the response. One that begins where the read was asked for
 * again begins anew; one to the request before does not (IBTA 9.7.5.1.3). */
static bool is_opcode_right(const struct rc_qp *q, const struct reply *p)
{
	bool is_start = p->count == p->w->first, is_end = p->count + 1 == end_of(p->w);
	bool is_restart = is_start || p->count == q->req.read_from;

	if (p->w->wr.op == ENGINE_ATOMIC)
		return p->in->h.bth.opcode == ROCE_OP_ATOMIC_ACKNOWLEDGE;
	switch (p->in->h.bth.opcode) {
	case ROCE_OP_READ_RESPONSE_FIRST: return is_restart && !is_end;
	case ROCE_OP_READ_RESPONSE_MIDDLE: return !is_start && !is_end;
	case ROCE_OP_READ_RESPONSE_LAST: return !is_start && is_end;
	case ROCE_OP_READ_RESPONSE_ONLY: return is_restart && is_end;
	default: return false;
	}
}

/* Whether the response that is next for the work makes sense. */
static bool is_sane(const struct rc_qp *q, const struct reply *p)
{
	const struct roce_pkt *h = &p->in->h;
	bool has_aeth = h->bth.opcode != ROCE_OP_READ_RESPONSE_MIDDLE;

	if (!is_opcode_right(q, p) || (has_aeth && h->aeth.type != AETH_ACK))
		return false;
	return p->w->wr.op == ENGINE_ATOMIC || p->in->payload.len == due_bytes(q, p);
}

static enum mem_fault place(struct rc *r, const struct rc_qp *q, const struct reply *p)
{
	const struct rc_send *w = p->w;
	uint64_t original = p->in->h.atomic_ack.original;
	uint8_t bytes[sizeof original];
	struct place how = {
		.mem = r->cfg.mem,
		.pd = q->caps.pd,
		.qp = q->id.number,
		.access = MEM_LOCAL_WRITE,
		.is_local = true,
		.is_trusted = w->wr.flags & ENGINE_TRUSTED,
	};

	struct place_payload payload = engine_payload_of(&p->in->payload);
	struct place_list to = {w->sg, w->n_sg, (uint32_t)(p->count - w->first) * q->attr.pmtu,
				payload.len};

	if (w->wr.op == ENGINE_READ)
		return place_pieces(&how, &payload, &to);
	/* The application reads a number, in its own order (IBTA 9.4.5). */
	memcpy(bytes, &original, sizeof original);
	struct cspan number = {bytes, sizeof bytes};

	payload = (struct place_payload){&number, 1, sizeof bytes};
	to = (struct place_list){w->sg, w->n_sg, 0, sizeof bytes};
	return place_pieces(&how, &payload, &to);
}

/* Whether a response tells of the peer's receives. One that comes behind a response that did not
 * still does (IBTA 9.7.7.2.3): it is what the peer had when it executed that request. */
static bool has_credits(const struct rc_in *in)
{
	return in->h.bth.opcode != ROCE_OP_READ_RESPONSE_MIDDLE && in->h.aeth.type == AETH_ACK;
}

/* A read response or an atomic's acknowledgement. */
static enum rc_verdict on_answer(struct rc *r, struct rc_qp *q, const struct reply *p)
{
	struct rc_send *w = p->w;

	if (!w)
		return RC_VERDICT_drop_response;
	bool did = retire_before(r, q, p, w->first);

	/* Work before it that failed here has ended q, and w with it. */
	if (q->state == ENGINE_ERROR)
		return RC_VERDICT_rx_response;
	if (p->count > q->req.una) {
		if (has_credits(p->in))
			take_credits(&q->req, &p->in->h.aeth);
		did |= on_implied_nak(r, q);
		return did ? RC_VERDICT_rx_response : RC_VERDICT_drop_response;
	}
	if (!is_sane(q, p)) {
		rc_fail_send(r, q, ENGINE_BAD_RESPONSE);
		return RC_VERDICT_rx_response;
	}
	if (place(r, q, p) != MEM_OK) {
		rc_fail_send(r, q, ENGINE_LOCAL_PROTECTION);
		return RC_VERDICT_rx_response;
	}
	uint64_t got = w->wr.op == ENGINE_ATOMIC ? w->wr.len : p->in->payload.len;

	r->count.rx_bytes += got;
	q->progress.got_bytes += got;
	rc_retire(r, q, p->count + 1);
	if (has_credits(p->in))
		take_credits(&q->req, &p->in->h.aeth);
	return RC_VERDICT_rx_response;
}

/* An acknowledgement that came before may come again to tell of new receives (IBTA 9.7.7.2.3). */
static enum rc_verdict on_old(struct rc_qp *q, const struct rc_in *in, int32_t ahead)
{
	bool has_news = ahead == -1 && in->h.bth.opcode == ROCE_OP_ACKNOWLEDGE &&
			in->h.aeth.type == AETH_ACK && in->h.aeth.value != AETH_NO_CREDITS &&
			q->req.has_credits && take_credits(&q->req, &in->h.aeth);

	return has_news ? RC_VERDICT_rx_response : RC_VERDICT_drop_response;
}

enum rc_verdict rc_on_response(struct rc *r, struct rc_qp *q, const struct rc_in *in)
{
	struct rc_requester *req = &q->req;
	int32_t ahead = psn24_diff((psn24){in->h.bth.psn}, rc_psn(q, req->una));

	assert(engine_is_sending(q->state));
	if (ahead < 0)
		return on_old(q, in, ahead);
	struct reply p = {.in = in, .count = req->una + (uint32_t)ahead};

	if (p.count >= req->high)
		return RC_VERDICT_drop_response;
	p.w = find_fetch(q, p.count);
	return in->h.bth.opcode == ROCE_OP_ACKNOWLEDGE ? on_acknowledge(r, q, &p)
						       : on_answer(r, q, &p);
}
