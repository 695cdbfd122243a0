/* The requester's timers come: silence is a timeout, and what is out was lost. */
#include "rc/state.h"

void rc_retx_all(struct rc *r, struct rc_qp *q, enum cc_loss why)
{
	struct rc_requester *req = &q->req;
	struct cc_ack ack = {
		.now = r->now,
		.bytes = req->out_bytes < UINT32_MAX ? (uint32_t)req->out_bytes : UINT32_MAX,
		.pkts = (uint32_t)(req->next - req->una),
	};

	if (req->tries == 0) {
		rc_fail_send(r, q, ENGINE_RETRY_EXCEEDED);
		return;
	}
	req->tries--;
	rc_go_back(r, q, req->una);
	cc_on_loss(&req->cc, &ack, why);
	req->has_gone_back = true;
	/* A peer that was only slow still has all of it before it: a window retransmitted at each
	 * timeout would keep it busy with copies until the tries are used up. */
	req->is_sounding = why == CC_LOSS_TIMEOUT;
	rc_clock_restart(r, q);
	rc_wake_send(r, q);
}

/* How often q tried in vain before. */
static uint32_t tries_before(const struct rc_qp *q)
{
	uint32_t all = q->attr.retries, left = q->req.tries;

	return all > left ? all - left : 0;
}

static void on_silence(struct rc *r, struct rc_qp *q)
{
	struct rc_requester *req = &q->req;

	if (req->due > r->now) {
		if (req->due != NSEC_NEVER)
			wheel_arm(&r->wheel, &req->retry.timer,
				  wheel_soonest(&r->wheel, r->now, req->due));
		return;
	}
	/* Nobody was asked for an answer yet: others of this engine, or the pacer, keep q back, and
	 * the peer is not to blame. A port that stays shut is another matter, or q would wait for
	 * ever. */
	if ((list_is_linked(&q->starved_link) || req->is_paced) && !rc_is_owed(req)) {
		rc_clock_restart(r, q);
		return;
	}
	r->count.timeouts++;
	q->progress.timeouts++;
	if (trace_is_on(&r->cfg.trace)) {
		const struct traced_qp of = rc_traced(r, q);

		traced_timeout(&r->cfg.trace, &of, req->out_bytes, tries_before(q));
	}
	rc_retx_all(r, q, CC_LOSS_TIMEOUT);
}

static void on_wake(struct rc *r, struct rc_qp *q)
{
	struct rc_requester *req = &q->req;

	if (q->resp.n_answers > 0)
		rc_wake_answer(r, q);
	if (req->is_waiting_rnr && req->rnr_until > r->now) {
		rc_wake_at(r, q, req->rnr_until);
		return;
	}
	if (req->is_waiting_rnr) {
		req->is_waiting_rnr = false;
		rc_clock_restart(r, q);
	}
	rc_wake_send(r, q);
}

void rc_timers_run(struct rc *r, nsec now)
{
	struct wheel_timer *t;

	/* Each timer comes once at most: those armed on the way are due later. */
	while ((t = wheel_expire(&r->wheel, now))) {
		struct rc_timer *timer = (struct rc_timer *)t;

		if (timer->is_retry)
			on_silence(r, timer->owner);
		else
			on_wake(r, timer->owner);
	}
}
