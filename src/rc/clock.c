/* When silence becomes a timeout, and when a queue pair is woken: what its two timers wait for.
 * What happens when they come is decided in retry.c. */
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
