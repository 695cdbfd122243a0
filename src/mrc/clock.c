/* The requestor's times: when silence is a timeout, when the peer is asked what it has, and what
 * its two timers are armed for. What happens when they come is decided in loss.c. */
#include "mrc/state.h"

#define TIMEOUT_UNIT_NS UINT64_C(1024)
#define PROBE_DOUBLINGS 16u

nsec mrc_timeout_ns(const struct mrc_attr *attr, uint32_t i)
{
	nsec base = TIMEOUT_UNIT_NS << attr->timeout, most = TIMEOUT_UNIT_NS << MRC_TIMEOUT_MAX;
	uint32_t doublings = i > attr->linear_retries ? i - attr->linear_retries : 0;

	if (doublings > MRC_TIMEOUT_MAX || base << doublings > most)
		return most;
	return base << doublings;
}

/* Twice the round trip, and then some. */
static nsec probe_timeout_ns(const struct mrc_requester *req)
{
	return 2 * req->srtt + 4 * req->rttvar + req->reorder_ns;
}

nsec mrc_probe_timeout_ns(const struct mrc_qp *q)
{
	return q->req.srtt > 0 ? probe_timeout_ns(&q->req) : mrc_timeout_ns(&q->attr, 0);
}

static nsec probe_ns(const struct mrc_requester *req)
{
	return probe_timeout_ns(req)
	       << (req->probe_tries < PROBE_DOUBLINGS ? req->probe_tries : PROBE_DOUBLINGS);
}

static nsec least(nsec a, nsec b)
{
	return a < b ? a : b;
}

/* The timer stays where it is when what it waits for moves on, and looks again when it comes: most
 * SACKs cost no work in the wheel. It never moves back: one that is due, armed anew with each
 * answer, would not come. */
void mrc_arm(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;
	nsec at = least(least(req->due, req->judge_due), least(req->probe_due, req->path_due));

	wheel_arm_by(&m->wheel, m->now, &req->retry.timer, at);
}

/* A probe goes when nothing was received for a while; or when una was retransmitted, for another
 * reason than a SACK, and is not acknowledged, though others are. */
static void plan_probe(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;
	nsec from = m->now;

	req->probe_due = NSEC_NEVER;
	if (req->srtt == 0 || req->has_probe)
		return;
	if (req->sent.una < req->sent.next) {
		const struct engine_sent_chunk *c = engine_sent_chunk(&req->sent, req->sent.una);

		if ((c->retx & ~c->lost & ~c->marks) >> engine_sent_place(req->sent.una) & 1)
			from = engine_sent_time(&req->sent, m->now, req->sent.una);
	}
	if (from < req->probe_at)
		from = req->probe_at;
	req->probe_due = from + probe_ns(req);
}

/* Whether all of a message was sent and a Transport ACK has yet to end it (6.3.1 rule 4). */
static bool is_ack_owed(const struct mrc_qp *q)
{
	const struct mrc_requester *req = &q->req;
	const struct mrc_send *w = mrc_send_at(q, req->works.done);

	return req->executed < req->sent.next && w->first + w->n_pkts <= req->sent.next;
}

bool mrc_is_answer_due(const struct mrc_qp *q)
{
	return q->req.sent.una < q->req.sent.next || is_ack_owed(q);
}

/* Whether q has packets to send, and all ports that its EVs may take are down, here or at the peer
 * by its word (7.4.8), which may be gone meanwhile. Ports that somebody denied open again. */
static bool is_shut_out(const struct mrc *m, const struct mrc_qp *q)
{
	if (q->state != MRC_RTS || q->req.sent.next == q->req.end)
		return false;
	uint32_t ports = q->attr.evs->set.ports, down = m->ports_down | mrc_peer_ports_down(q);
	uint32_t allowed = ports & ~(uint32_t)q->req.path.blocked[PATH_BLOCK_DENIED];

	return !((allowed ? allowed : ports) & ~down);
}

static void note_news(struct mrc *m, struct mrc_requester *req)
{
	req->news_at = m->now;
	req->probe_tries = 0;
	req->has_probe = req->is_ack_lost = false;
}

void mrc_clock_restart(struct mrc *m, struct mrc_qp *q, bool is_moved)
{
	struct mrc_requester *req = &q->req;

	if (is_moved || req->executed == req->sent.next) {
		req->tries = 0;
		req->is_timed_out = false;
		note_news(m, req);
	}
	/* Half a message may have arrived, and its other half waits for a turn: no answer is due.
	 * A device would send what waits for ports without a link to nowhere, and receive no
	 * answer: time passes for it. */
	if (!mrc_is_answer_due(q)) {
		req->due = req->judge_due = req->probe_due = NSEC_NEVER;
		if (!is_shut_out(m, q))
			return;
		req->due = m->now + mrc_timeout_ns(&q->attr, req->tries);
		mrc_arm(m, q);
		return;
	}
	if (req->sent.una == req->sent.next)
		req->judge_due = NSEC_NEVER;
	req->due = m->now + mrc_timeout_ns(&q->attr, req->tries);
	plan_probe(m, q);
	mrc_arm(m, q);
}

void mrc_clock_follow(struct mrc *m, struct mrc_qp *q)
{
	if (!mrc_is_answer_due(q) && is_shut_out(m, q) != (q->req.due != NSEC_NEVER))
		mrc_clock_restart(m, q, false);
}

void mrc_clock_retx(struct mrc *m, struct mrc_qp *q)
{
	if (!q->req.is_timed_out)
		q->req.due = m->now + mrc_timeout_ns(&q->attr, 0);
	plan_probe(m, q);
	mrc_arm(m, q);
}

/* Were all of the clock set back, una could wait for ever behind others that arrive, or are refused
 * time and again. */
void mrc_clock_spare(struct mrc *m, struct mrc_qp *q, bool is_news)
{
	if (is_news)
		note_news(m, &q->req);
	plan_probe(m, q);
	mrc_arm(m, q);
}

void mrc_probe_later(const struct mrc *m, struct mrc_requester *req)
{
	req->probe_tries = (uint8_t)(req->probe_tries + (req->probe_tries < UINT8_MAX));
	req->probe_due = m->now + probe_ns(req);
}

void mrc_probe_sent(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	req->has_probe = false;
	req->is_probing = true;
	req->probe_at = m->now;
	mrc_probe_later(m, req);
	mrc_arm(m, q);
}

void mrc_wake_at(struct mrc *m, struct mrc_qp *q, nsec at)
{
	wheel_arm_by(&m->wheel, m->now, &q->req.wake.timer, at);
}
