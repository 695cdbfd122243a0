/* How work completes: done in its order, failed or flushed; and with work that fails its queue
 * pair. Who sees that it must end calls this; nothing here looks at packets or at time. */
#include <assert.h>

#include "rc/state.h"

static void end_work(struct rc *r, struct rc_qp *q, enum engine_status status)
{
	struct rc_requester *req = &q->req;

	req->ssn_done = rc_send_at(q, req->works.done)->ssn;
	engine_done_end(&r->done, &req->works, status);
}

/* The wake timer is left: a last answer may wait for it. */
void rc_flush_send(struct rc *r, struct rc_qp *q)
{
	struct rc_requester *req = &q->req;

	while (req->works.done < req->works.posted)
		end_work(r, q, ENGINE_FLUSHED);
	req->works.current = req->works.posted;
	req->una = req->next = req->high = req->end;
	req->n_rd_out = 0;
	req->is_waiting_rnr = false;
	req->is_draining = false;
	req->due = NSEC_NEVER;
	wheel_cancel(&r->wheel, &req->retry.timer);
	rc_unlist_starved(r, q);
	rc_give_room(r, q, req->out_bytes);
}

/* The receive in hand and those waiting in q's own queue are flushed; nothing more is answered but
 * a last NAK. */
static void flush_recv(struct rc *r, struct rc_qp *q)
{
	struct rc_responder *p = &q->resp;
	struct list_link *link;

	if (p->recv)
		rc_complete_recv(r, q, p->recv, ENGINE_FLUSHED);
	p->recv = NULL;
	p->message = RC_NO_MESSAGE;
	while ((link = list_pop(&p->own.posted)))
		rc_complete_recv(r, q, LIST_OWNER(link, rc_recv, wr.link), ENGINE_FLUSHED);
	p->own.n_posted = 0;
	list_leave(&r->cnps[q->attr.port], &q->cnp_link);
	if (!p->is_closing) {
		p->n_answers = 0;
		p->has_ack = false;
	}
}

void rc_flush(struct rc *r, struct rc_qp *q)
{
	rc_set_state(r, q, ENGINE_ERROR);
	rc_flush_send(r, q);
	flush_recv(r, q);
	if (q->resp.queue != &q->resp.own)
		rc_raise(r, q, ENGINE_EVENT_LAST_RECEIVE);
}

void rc_fail(struct rc *r, struct rc_qp *q)
{
	if (q->state == ENGINE_ERROR)
		return;
	r->count.failed++;
	rc_flush(r, q);
}

void rc_fail_send(struct rc *r, struct rc_qp *q, enum engine_status status)
{
	assert(q->req.works.done < q->req.works.posted);
	if (trace_is_on(&r->cfg.trace)) {
		const struct traced_qp of = rc_traced(r, q);

		traced_failed(&r->cfg.trace, &of, status,
			      rc_send_at(q, q->req.works.done)->wr.peer_code);
	}
	end_work(r, q, status);
	rc_fail(r, q);
}

void rc_fail_send_for(struct rc *r, struct rc_qp *q, enum engine_status status, uint8_t syndrome)
{
	rc_send_at(q, q->req.works.done)->wr.peer_code = syndrome;
	rc_fail_send(r, q, status);
}

void rc_end_works(struct rc *r, struct rc_qp *q)
{
	struct rc_requester *req = &q->req;

	while (req->works.done < req->works.posted) {
		const struct rc_send *w = rc_send_at(q, req->works.done);

		if (w->wr.status != ENGINE_OK) {
			rc_fail_send(r, q, w->wr.status);
			return;
		}
		if (w->n_pkts > 0 ? req->una < w->first + w->n_pkts : !w->has_run)
			return;
		end_work(r, q, ENGINE_OK);
	}
}
