#include <assert.h>

#include "rc/state.h"

#define TIMEOUT_UNIT_NS 4096u
#define TIMER_MASK      31u
#define RNR_UNIT_NS     UINT64_C(10000)

nsec rc_timeout_ns(uint8_t code)
{
	return code == 0 ? NSEC_NEVER : (nsec)TIMEOUT_UNIT_NS << (code & TIMER_MASK);
}

nsec rc_rnr_ns(uint8_t code)
{
	/* In units of 10 us. */
	static const uint16_t times[TIMER_MASK + 1] = {
		0,    1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
		48,   64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
		2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	/* The first code stands for the longest time. */
	return code == 0 ? 65536 * RNR_UNIT_NS : times[code & TIMER_MASK] * RNR_UNIT_NS;
}

/* Whether q has work that its port, which is down, keeps back. */
static bool is_shut_out(const struct rc *r, const struct rc_qp *q)
{
	return (r->ports_down >> q->attr.port & 1) && q->state == RC_RTS &&
	       q->req.works.current < q->req.works.posted;
}

void rc_clock_restart(struct rc *r, struct rc_qp *q)
{
	struct rc_requester *req = &q->req;
	struct wheel_timer *t = &req->retry.timer;
	nsec timeout = rc_timeout_ns(q->attr.timeout);

	/* While the peer asked us to wait, its silence means nothing. A device would send what
	 * waits for a port without a link to nowhere, and receive no answer: time passes for it. */
	if ((req->una == req->high && !is_shut_out(r, q)) || req->is_waiting_rnr ||
	    timeout == NSEC_NEVER) {
		req->due = NSEC_NEVER;
		return;
	}
	req->due = r->now + timeout;
	/* The timer stays where it is when due moves on, and looks again when it comes: most
	 * acknowledgements cost no work in the wheel. */
	if (!wheel_is_armed(t) || t->deadline > req->due)
		wheel_arm(&r->wheel, t, req->due);
}

void rc_ports_down(struct engine *e, nsec now, uint32_t ports)
{
	struct rc *r = rc_of(e);

	r->now = now;
	r->ports_down = ports;
	for (uint32_t port = 0; port < r->cfg.n_ports; port++) {
		const struct list *waiting = &r->sending[port];
		struct list_link *at = list_first(waiting);

		for (; at; at = list_after(waiting, at))
			rc_clock_follow(r, LIST_OWNER(at, rc_qp, send_link));
	}
}

void rc_clock_follow(struct rc *r, struct rc_qp *q)
{
	const struct rc_requester *req = &q->req;

	if (req->una == req->high && is_shut_out(r, q) != (req->due != NSEC_NEVER))
		rc_clock_restart(r, q);
}

void rc_wake_at(struct rc *r, struct rc_qp *q, nsec at)
{
	struct wheel_timer *t = &q->req.wake.timer;

	at = wheel_soonest(&r->wheel, r->now, at);
	if (!wheel_is_armed(t) || t->deadline > at)
		wheel_arm(&r->wheel, t, at);
}

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
