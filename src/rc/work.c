#include <assert.h>

#include "rc/state.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void rc_requester_reset(struct rc *r, struct rc_qp *q)
{
	struct rc_requester *req = &q->req;

	wheel_cancel(&r->wheel, &req->retry.timer);
	wheel_cancel(&r->wheel, &req->wake.timer);
	rc_unlist_starved(r, q);
	rc_give_room(r, q, req->out_bytes);
	*req = (struct rc_requester){
		.works = req->works,
		.due = NSEC_NEVER,
		.retry = {.owner = q, .is_retry = true},
		.wake = {.owner = q},
		.timed = RC_NONE,
		.asked = RC_NONE,
		.limited = RC_NONE,
		.read_from = RC_NONE,
	};
	engine_ring_clear(&req->works);
	/* Not at ENGINE_RTS: answers of ENGINE_RTR are paced too. */
	cc_start(&req->cc, &r->cfg.cc, r->now);
}

void rc_requester_start(struct rc_qp *q)
{
	q->req.tries = q->attr.retries;
	q->req.rnr_tries = q->attr.rnr_retries;
}

void rc_check_drained(struct rc *r, struct rc_qp *q)
{
	struct rc_requester *req = &q->req;

	if (!req->is_draining || req->una < req->high)
		return;
	if (req->works.current < req->works.posted &&
	    rc_send_at(q, req->works.current)->first < req->high)
		return;
	req->is_draining = false;
	if (q->attr.wants_drained)
		rc_raise(r, q, ENGINE_EVENT_DRAINED);
}

uint64_t rc_bytes_between(const struct rc_qp *q, const struct rc_send *w, uint64_t from,
			  uint64_t to)
{
	return least((to - w->first) * q->attr.pmtu, w->wr.len) -
	       least((from - w->first) * q->attr.pmtu, w->wr.len);
}

/* una moves to end. Returns the bytes that are out no more. */
static uint64_t move_una(struct rc_qp *q, uint64_t end)
{
	struct rc_requester *req = &q->req;
	uint64_t bytes = 0;

	for (uint64_t i = req->works.done; req->una < end; i++) {
		assert(i < req->works.posted);
		const struct rc_send *w = rc_send_at(q, i);
		uint64_t w_end = w->first + w->n_pkts, to = least(w_end, end);

		assert(w_end >= req->una);
		if (!rc_is_fetch(w))
			q->progress.sent_bytes += rc_bytes_between(q, w, req->una, to);
		if (req->una < req->next)
			bytes += rc_bytes_between(q, w, req->una, least(to, req->next));
		/* What it went back to is not out; a late answer may end it all the same. */
		if (rc_is_fetch(w) && to == w_end && w_end <= req->next)
			req->n_rd_out--;
		req->una = to;
	}
	return bytes;
}

/* What was acknowledged need not be retransmitted. */
static void skip_to_una(struct rc_qp *q)
{
	struct rc_requester *req = &q->req;

	if (req->next >= req->una)
		return;
	req->next = req->una;
	while (req->works.current < req->works.posted) {
		const struct rc_send *w = rc_send_at(q, req->works.current);

		if (w->n_pkts > 0 ? w->first + w->n_pkts > req->next : !w->has_run)
			return;
		req->works.current++;
	}
}

static void note_rtt(struct rc_progress *p, nsec rtt)
{
	p->srtt_ns = p->srtt_ns ? (7 * p->srtt_ns + rtt) / 8 : rtt;
}

void rc_retire(struct rc *r, struct rc_qp *q, uint64_t end)
{
	struct rc_requester *req = &q->req;
	struct cc_ack ack = {.now = r->now, .pkts = (uint32_t)(end - req->una)};

	assert(end >= req->una && end <= req->high);
	if (end == req->una)
		return;
	uint64_t bytes = move_una(q, end);

	skip_to_una(q);
	rc_give_room(r, q, bytes);
	if (req->timed != RC_NONE && req->timed < end) {
		ack.rtt_ns = r->now - req->timed_at;
		note_rtt(&q->progress, ack.rtt_ns);
		req->timed = RC_NONE;
	}
	ack.bytes = (uint32_t)least(bytes, UINT32_MAX);
	ack.out_bytes = (uint32_t)least(req->out_bytes, UINT32_MAX);
	cc_on_ack(&req->cc, &ack);
	if (req->limited != RC_NONE && req->limited < end)
		req->limited = RC_NONE;
	req->tries = q->attr.retries;
	req->rnr_tries = q->attr.rnr_retries;
	req->has_gone_back = false;
	req->is_sounding = false;
	req->is_waiting_rnr = false;
	rc_end_works(r, q);
	if (q->state == ENGINE_ERROR)
		return;
	rc_clock_restart(r, q);
	rc_check_drained(r, q);
	if (req->works.current < req->works.posted)
		rc_wake_send(r, q);
}

/* A count of a packet that is retransmitted no longer says anything. */
static void forget_from(uint64_t *count, uint64_t to)
{
	if (*count != RC_NONE && *count >= to)
		*count = RC_NONE;
}

void rc_go_back(struct rc *r, struct rc_qp *q, uint64_t to)
{
	struct rc_requester *req = &q->req;
	uint64_t bytes = 0;

	assert(to >= req->una && to <= req->next);
	while (req->next > to) {
		const struct rc_send *w = req->works.current < req->works.posted
						  ? rc_send_at(q, req->works.current)
						  : NULL;

		if (!w || w->first >= req->next) {
			assert(req->works.current > req->works.done);
			req->works.current--;
			continue;
		}
		uint64_t from = w->first > to ? w->first : to;

		bytes += rc_bytes_between(q, w, from, req->next);
		req->n_rd_out -= rc_is_fetch(w);
		req->next = from;
	}
	rc_give_room(r, q, bytes);
	forget_from(&req->timed, to); /* Karn: a retransmitted packet times nothing */
	forget_from(&req->asked, to);
	forget_from(&req->limited, to);
	req->since_ack_req = r->cfg.ack_every_pkts;
}
