/* When silence becomes a timeout, and when a queue pair is woken: what its two timers wait for.
 * What happens when they come is decided in retry.c. */
#include "rc/state.h"

#define TIMEOUT_UNIT_NS 4096u
#define TIMER_MASK      31u

nsec rc_timeout_ns(uint8_t code)
{
	return code == 0 ? NSEC_NEVER : (nsec)TIMEOUT_UNIT_NS << (code & TIMER_MASK);
}

/* Whether q has work that its port, which is down, keeps back. */
static bool is_shut_out(const struct rc *r, const struct rc_qp *q)
{
	return (r->ports_down >> q->attr.port & 1) && q->state == ENGINE_RTS &&
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

void rc_clock_follow(struct rc *r, struct rc_qp *q)
{
	const struct rc_requester *req = &q->req;

	if (req->una == req->high && is_shut_out(r, q) != (req->due != NSEC_NEVER))
		rc_clock_restart(r, q);
}

void rc_wake_at(struct rc *r, struct rc_qp *q, nsec at)
{
	wheel_arm_by(&r->wheel, r->now, &q->req.wake.timer, at);
}
