/* How work completes: executed, in its order, failed or flushed; and with work that fails its queue
 * pair. Who sees that it must end calls this; nothing here looks at packets or at time. */
#include <assert.h>

#include "mrc/state.h"

/* By the next work's first packet and una: bytes of all packets before it but the last are PMTU. */
uint64_t mrc_part_bytes(const struct mrc_qp *q)
{
	const struct mrc_requester *req = &q->req;

	if (req->works.done == req->works.posted ||
	    mrc_send_at(q, req->works.done)->first >= req->sent.una)
		return 0;
	const struct mrc_send *w = mrc_send_at(q, req->works.done);
	uint64_t bytes = (req->sent.una - w->first) * q->attr.pmtu;

	return bytes < w->wr.len ? bytes : w->wr.len;
}

static void end_work(struct mrc *m, struct mrc_qp *q, enum engine_status status)
{
	struct mrc_requester *req = &q->req;
	const struct mrc_send *w = mrc_send_at(q, req->works.done);

	req->done_bytes += status == ENGINE_OK ? w->wr.len : mrc_part_bytes(q);
	if (status == ENGINE_OK && w->wr.op == ENGINE_WRITE_IMM)
		req->n_wimm--;
	engine_done_end(&m->done, &req->works, status);
}

void mrc_flush_send(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	/* By una as it is: what follows takes all that is out off the records. */
	while (req->works.done < req->works.posted)
		end_work(m, q, ENGINE_FLUSHED);
	req->unsent_pkts += req->end - req->sent.next;
	mrc_offer_chunks(m, engine_sent_clear(&req->sent, req->end));
	req->judged = req->reported = req->executed = req->end;
	req->n_wimm = 0;
	req->backlog_bytes = 0;
	req->is_ack_lost = req->has_probe = req->is_probing = req->is_draining = false;
	req->due = req->judge_due = req->probe_due = NSEC_NEVER;
	wheel_cancel(&m->wheel, &req->retry.timer);
	wheel_cancel(&m->wheel, &req->wake.timer);
}

/* Receives that wait are flushed; nothing more is answered but a last NAK. */
static void flush_recv(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_responder *p = &q->resp;

	while (p->receives.done < p->receives.posted)
		engine_done_end(&m->done, &q->resp.receives, ENGINE_FLUSHED);
	engine_seen_clear(&p->seen);
	mrc_answer_clear(m, q);
	p->n_stash = 0;
	if (!p->is_closing)
		p->has_ack = p->has_nak = false;
}

void mrc_flush(struct mrc *m, struct mrc_qp *q)
{
	uint32_t n[PATH_STATES] = {0};

	mrc_set_state(m, q, MRC_ERROR);
	mrc_unlist_starved(m, q);
	mrc_evs_quiet(m, q);
	mrc_flush_send(m, q);
	flush_recv(m, q);
	/* What it assumed of its EVs no longer counts. */
	if (q->req.path.profile)
		path_count(&q->req.path, n);
	if (n[PATH_ASSUMED_BAD])
		mrc_raise(m, q, ENGINE_EVENT_EV_STATE);
}

void mrc_fail(struct mrc *m, struct mrc_qp *q)
{
	if (q->state == MRC_ERROR)
		return;
	m->count.failed++;
	mrc_flush(m, q);
}

void mrc_fail_send(struct mrc *m, struct mrc_qp *q, enum engine_status status)
{
	assert(q->req.works.done < q->req.works.posted);
	if (trace_is_on(&m->cfg.trace)) {
		const struct traced_qp of = mrc_traced(m, q);

		traced_failed(&m->cfg.trace, &of, status,
			      mrc_send_at(q, q->req.works.done)->wr.peer_code);
	}
	end_work(m, q, status);
	mrc_fail(m, q);
}

void mrc_end_works(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	while (req->works.done < req->works.posted) {
		const struct mrc_send *w = mrc_send_at(q, req->works.done);

		if (w->wr.status != ENGINE_OK) {
			mrc_fail_send(m, q, w->wr.status);
			return;
		}
		if (req->executed < w->first + w->n_pkts)
			return;
		end_work(m, q, ENGINE_OK);
	}
}

void mrc_retire(struct mrc *m, struct mrc_qp *q, uint64_t end)
{
	assert(end > q->req.executed && end <= q->req.sent.una);
	q->req.executed = end;
	mrc_end_works(m, q);
}

void mrc_retire_works(struct mrc *m, struct mrc_qp *q, uint64_t n)
{
	struct mrc_requester *req = &q->req;

	for (; n > 0 && mrc_send_at(q, req->works.done)->wr.status == ENGINE_OK; n--)
		end_work(m, q, ENGINE_OK);
}

uint64_t mrc_work_of(const struct mrc_qp *q, uint64_t n)
{
	uint64_t low = q->req.works.done, high = q->req.works.posted;

	/* The last whose first packet is n or before it: low is one, high is none. */
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (mrc_send_at(q, middle)->first <= n)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void mrc_fail_packet(struct mrc *m, struct mrc_qp *q, int64_t n, struct mrc_failure why)
{
	struct mrc_requester *req = &q->req;

	assert(n < (int64_t)req->sent.next);
	/* No work tells of it, so an event does. */
	if (req->works.done == req->works.posted) {
		mrc_fail(m, q);
		mrc_raise(m, q, ENGINE_EVENT_FATAL);
		return;
	}
	uint64_t work = n < 0 ? req->works.done : mrc_work_of(q, (uint64_t)n);

	while (req->works.done < work)
		end_work(m, q, ENGINE_FLUSHED);
	mrc_send_at(q, work)->wr.peer_code = why.peer_code;
	mrc_fail_send(m, q, why.status);
}
