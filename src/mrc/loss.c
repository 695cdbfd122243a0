/* What is lost, and when the peer is asked or given up.
 *
 * Sprayed packets overtake each other, but not by much. As in RACK (RFC 8985) a packet is lost when
 * another that was sent reorder_ns after it has arrived, and a SACK says that it has not; or when
 * it was overtaken and is overdue by as much. reorder_ns is learnt from packets that came late. It
 * begins at three eighths of the round trip: RACK's quarter is for one path, and of many one may
 * have a queue where others have none; with half, a loss would be repaired after two round trips.
 * Only packets sent once are judged so, and whatever a SACK, or one that answers a probe, has
 * retransmitted is not judged by another (MRC-7.4.5-01): that one has its next chance with a NACK
 * or a timeout. */
#include "mrc/state.h"

#define REORDER_MIN_NS UINT64_C(1000)
#define REORDER_DECAY  10u /* what is above the least shrinks by 2^-10 with each SACK */
#define PAUSE_MAX      16u
#define PAUSE_MIN_NS   UINT64_C(1000)

static bool is_endless(const struct mrc_qp *q)
{
	return q->attr.exp_retries == MRC_EXP_MAX;
}

static uint32_t max_tries(const struct mrc_qp *q)
{
	return q->attr.linear_retries + q->attr.exp_retries;
}

/* How long a packet may take before it is overdue, if others overtook it. */
static nsec overdue_ns(const struct mrc_requester *req)
{
	return req->srtt + req->rttvar + req->reorder_ns;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void learn_rtt(struct mrc_requester *req, nsec rtt)
{
	nsec off = rtt > req->srtt ? rtt - req->srtt : req->srtt - rtt;

	/* RFC 6298. */
	if (req->srtt == 0) {
		req->srtt = rtt;
		req->rttvar = rtt / 2;
		return;
	}
	req->rttvar -= req->rttvar / 4;
	req->rttvar += off / 4;
	req->srtt -= req->srtt / 8;
	req->srtt += rtt / 8;
}

void mrc_learn(struct mrc *m, struct mrc_qp *q, nsec rtt, const struct engine_sent_news *news)
{
	struct mrc_requester *req = &q->req;

	if (rtt > 0)
		learn_rtt(req, rtt);
	if (req->srtt > 0 && news->pkts > 0) {
		nsec low = 3 * req->srtt / 8 > REORDER_MIN_NS ? 3 * req->srtt / 8 : REORDER_MIN_NS;
		/* EVs may differ by more than the mean of them all: those far from it count. */
		nsec high = req->srtt + 4 * req->rttvar, late = 0;

		/* Later than others by so much, and a quarter as a margin: another will be later
		 * still. */
		if (news->oldest > 0 && news->oldest < req->newest)
			late = req->newest - news->oldest;
		late += late / 4;
		/* Retransmitted and there at once: it was the first one that arrived. */
		if (news->retx_at > 0 && m->now - news->retx_at < req->srtt / 2 &&
		    late < 2 * req->reorder_ns)
			late = 2 * req->reorder_ns;
		if (req->reorder_ns < low)
			req->reorder_ns = low;
		req->reorder_ns -= (req->reorder_ns - low) >> REORDER_DECAY;
		/* The bound is for what is learnt now. What was learnt shrinks slowly, and not with
		 * a run of packets that all took a quick EV. */
		if (late > high)
			late = high;
		if (req->reorder_ns < late)
			req->reorder_ns = late;
	}
	if (req->newest_end < news->newest_end) {
		req->newest = news->newest;
		req->newest_end = news->newest_end;
	}
}

/* Trims of one time of congestion are less than two round trips apart. */
void mrc_note_trim(struct mrc_requester *req, nsec at)
{
	if (at > req->trim_to + 2 * req->srtt || at + 2 * req->srtt < req->trim_from)
		req->trim_from = req->trim_to = at;
	if (at < req->trim_from)
		req->trim_from = at;
	if (at > req->trim_to)
		req->trim_to = at;
}

/* Whether switches cut packets that were sent about when this one was. Then they had more than they
 * could even cut, as where many send to one: that is said of no EV, and most often of the last
 * hop, which all EVs have in common. */
static bool was_congested(const struct mrc_requester *req, nsec at)
{
	return req->trim_to > 0 && at + req->srtt >= req->trim_from &&
	       at <= req->trim_to + req->srtt;
}

/* Packet n is lost, if it is not yet. In silence: nobody reported it, and its EV is to blame, or
 * the congestion that it met. */
static bool lose(struct mrc *m, struct mrc_qp *q, uint64_t n, bool is_silent, struct mrc_losses *l)
{
	const struct engine_sent_pkt *pkt = engine_sent_at(&q->req.sent, n);

	if (!mrc_lose(&q->req, n, l))
		return false;
	nsec at = engine_sent_time(&q->req.sent, m->now, n);

	if (is_silent && was_congested(&q->req, at))
		mrc_ev_trimmed(q, pkt->user);
	else if (is_silent)
		mrc_ev_lost(m, q, pkt->user, at);
	return true;
}

/* Packet n is to be retransmitted, and not for a timeout: una's time is not a longer one then
 * (7.4.4). */
static void reset_timer(struct mrc *m, struct mrc_qp *q, uint64_t n)
{
	if (n != q->req.sent.una)
		return;
	q->req.is_timed_out = false;
	q->req.due = m->now + mrc_timeout_ns(&q->attr, 0);
}

/* Lost by the word of a SACK, if it is the first. */
static void lose_reported(struct mrc *m, struct mrc_qp *q, uint64_t n, struct mrc_losses *l)
{
	struct engine_sent_chunk *c = engine_sent_chunk(&q->req.sent, n);

	if (c->marks >> engine_sent_place(n) & 1 || !lose(m, q, n, true, l))
		return;
	c->marks |= UINT64_C(1) << engine_sent_place(n);
	reset_timer(m, q, n);
}

static void report_loss(struct mrc *m, struct mrc_qp *q, const struct mrc_losses *l,
			enum cc_loss why)
{
	if (!mrc_report_loss(m, q, l, why))
		return;
	mrc_evs_changed(m, q);
	mrc_wake_send(m, q);
}

/* Packets sent once, neither acked nor lost: a bit each of the chunk of n, those before n not. */
static uint64_t open_from(const struct mrc_requester *req, uint64_t n)
{
	const struct engine_sent_chunk *c = engine_sent_chunk(&req->sent, n);

	return ~(c->acked | c->lost | c->retx) & UINT64_MAX << engine_sent_place(n);
}

/* Those of them before `end` that were sent before limit are lost; judged moves to the first that
 * was not. The first time, packets go in their order, so that each is looked at once. */
static void judge_before(struct mrc *m, struct mrc_qp *q, uint64_t end, nsec limit,
			 struct mrc_losses *l)
{
	struct mrc_requester *req = &q->req;
	uint64_t n = req->judged;

	while (n < end) {
		uint64_t open = open_from(req, n);

		if (!open) {
			n = (n | (ENGINE_SENT_PKTS - 1)) + 1;
			continue;
		}
		n = (n & ~(uint64_t)(ENGINE_SENT_PKTS - 1)) + (uint32_t)__builtin_ctzll(open);
		if (n >= end || engine_sent_time(&req->sent, m->now, n) >= limit)
			break;
		lose_reported(m, q, n, l);
	}
	if (req->judged < end)
		req->judged = n < end ? n : end;
}

/* The next one to be overdue is the first that is open, if others overtook it. */
static void plan_judgement(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	req->judge_due = NSEC_NEVER;
	if (req->judged < req->reported && req->judged < req->newest_end)
		req->judge_due =
			engine_sent_time(&req->sent, m->now, req->judged) + overdue_ns(req);
}

/* What the view's bits say is missing, of una and those after it: bits from *from on. */
static uint64_t missing_of(const struct mrc_requester *req, const struct mrc_view *v,
			   uint64_t *from)
{
	uint64_t missing = v->missing;

	*from = v->from;
	if (*from < req->sent.una) {
		missing = req->sent.una - *from < 64 ? missing >> (req->sent.una - *from) : 0;
		*from = req->sent.una;
	}
	if (*from >= req->sent.next)
		return 0;
	if (req->sent.next - *from < 64)
		missing &= (UINT64_C(1) << (req->sent.next - *from)) - 1;
	return missing;
}

void mrc_judge(struct mrc *m, struct mrc_qp *q, const struct mrc_view *v)
{
	struct mrc_requester *req = &q->req;
	struct mrc_losses l = {0};

	if (v->is_all)
		req->reported = req->sent.next;
	else if (v->is_first)
		req->reported = req->sent.una < req->sent.next ? req->sent.una + 1 : req->sent.una;
	if (req->reported < req->judged)
		req->reported = req->judged;
	if (req->srtt == 0 || req->newest <= req->reorder_ns)
		return;
	nsec limit = req->newest - req->reorder_ns;

	judge_before(m, q, req->reported, limit, &l);
	if (!v->is_all) {
		uint64_t from, missing = missing_of(req, v, &from);

		for (; missing; missing &= missing - 1) {
			uint64_t n = from + (uint32_t)__builtin_ctzll(missing);

			if (!(open_from(req, n) >> engine_sent_place(n) & 1))
				continue;
			if (engine_sent_time(&req->sent, m->now, n) >= limit)
				break;
			lose_reported(m, q, n, &l);
		}
	}
	plan_judgement(m, q);
	m->count.lost_gap += l.pkts;
	report_loss(m, q, &l, CC_LOSS_GAP);
}

/* No SACK came that would have reported it: what others overtook is overdue. */
static void judge_overdue(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;
	struct mrc_losses l = {0};
	nsec overdue = overdue_ns(req);

	if (m->now >= overdue)
		judge_before(m, q, least(req->reported, req->newest_end), m->now - overdue + 1, &l);
	plan_judgement(m, q);
	m->count.lost_gap += l.pkts;
	report_loss(m, q, &l, CC_LOSS_GAP);
}

/* A packet that the probe did not find. */
static void judge_one_probed(struct mrc *m, struct mrc_qp *q, uint64_t n, struct mrc_losses *l)
{
	if (engine_sent_time(&q->req.sent, m->now, n) + q->req.reorder_ns < q->req.probe_at)
		lose_reported(m, q, n, l);
}

void mrc_on_probed(struct mrc *m, struct mrc_qp *q, const struct mrc_view *v)
{
	struct mrc_requester *req = &q->req;
	struct mrc_losses l = {0};

	req->is_probing = false;
	req->probe_tries = 0;
	if (v->is_all) {
		for (uint64_t n = req->sent.una; n < req->sent.next; n++)
			judge_one_probed(m, q, n, &l);
	} else {
		uint64_t from, missing = missing_of(req, v, &from);

		if (v->is_first && req->sent.una < req->sent.next)
			judge_one_probed(m, q, req->sent.una, &l);
		for (; missing; missing &= missing - 1)
			judge_one_probed(m, q, from + (uint32_t)__builtin_ctzll(missing), &l);
	}
	m->count.lost_probe += l.pkts;
	report_loss(m, q, &l, CC_LOSS_GAP);
}

void mrc_probe_on(struct mrc *m, struct mrc_qp *q, const struct mrc_view *v)
{
	struct mrc_requester *req = &q->req;

	if (v->is_all || !v->is_first || req->probe_row == 0 || req->sent.una == req->sent.next)
		return;
	req->probe_row--;
	req->has_probe = true;
	req->probe_due = NSEC_NEVER;
	mrc_wake_send(m, q);
}

/* Whether a trim costs its packet a try: one of una does, as often as timeouts would come. Where
 * many send to one, a packet may be trimmed time and again: that is congestion, and no reason to
 * give up sooner than silence would be. Table 7-3 does not make that difference: MRC_COUNT_TRIMS is
 * for who wants its letter. */
static bool is_trim_counted(struct mrc *m, struct mrc_qp *q, uint64_t n, uint8_t tries)
{
	struct mrc_requester *req = &q->req;

	if (q->attr.flags & MRC_COUNT_TRIMS)
		return true;
	if (n != req->sent.una)
		return false;
	bool is_first = req->try_una != n;

	if (!is_first && m->now < req->try_due)
		return false;
	req->try_una = n;
	req->try_due = m->now + mrc_timeout_ns(&q->attr, is_first ? 0 : tries + 1u);
	return !is_first;
}

/* Each packet has as many tries as there are retries, and all of them anew when una moves (M-59).
 */
static bool take_try(const struct mrc_qp *q, uint8_t *tries)
{
	if (!is_endless(q) && *tries >= max_tries(q))
		return false;
	if (*tries < UINT8_MAX)
		++*tries;
	return true;
}

void mrc_retx(struct mrc *m, struct mrc_qp *q, uint64_t n, bool is_trimmed)
{
	uint8_t *tries = engine_sent_tries(&q->req.sent, n);
	struct mrc_losses l = {0};

	if ((!is_trimmed || is_trim_counted(m, q, n, *tries)) && !take_try(q, tries)) {
		mrc_fail_packet(m, q, (int64_t)n, (struct mrc_failure){ENGINE_RETRY_EXCEEDED, 0});
		return;
	}
	lose(m, q, n, false, &l);
	reset_timer(m, q, n);
	m->count.lost_nack++;
	mrc_wake_send(m, q);
}

/* Room that is short comes back, if it is not asked for all the time: the wait doubles with each
 * try of a packet. Packet una needs none (it is in order), so that there is progress all the while.
 */
void mrc_pause(struct mrc *m, struct mrc_qp *q, uint64_t n, nsec rtt)
{
	struct mrc_requester *req = &q->req;
	uint32_t tries = *engine_sent_tries(&req->sent, n);
	nsec base = req->srtt > 0 ? req->srtt : rtt > 0 ? rtt : PAUSE_MIN_NS;
	nsec wait = base << (tries < PAUSE_MAX ? tries : PAUSE_MAX);
	nsec until = m->now + least(wait, mrc_timeout_ns(&q->attr, 0));

	if (req->pause_until < until)
		req->pause_until = until;
	req->pause_una = req->sent.una;
}

/* What is out for as long as the timeout is lost, and una in any case (7.4.1). */
static void lose_silent(struct mrc *m, struct mrc_qp *q, nsec timeout)
{
	struct mrc_requester *req = &q->req;
	struct mrc_losses l = {0};

	for (uint64_t n = req->sent.una; n < req->sent.next; n++)
		if (n == req->sent.una ||
		    m->now - engine_sent_time(&req->sent, m->now, n) >= timeout)
			lose(m, q, n, true, &l);
	m->count.lost_timeout += l.pkts;
	report_loss(m, q, &l, CC_LOSS_TIMEOUT);
}

/* una is to be retransmitted and could not yet, for window or pacing, while others arrive. */
static bool is_held_up(const struct mrc *m, const struct mrc_qp *q, nsec timeout)
{
	const struct mrc_requester *req = &q->req;

	return req->sent.una < req->sent.next && req->news_at + timeout > m->now &&
	       engine_sent_is_lost(&req->sent, req->sent.una);
}

/* Nobody was asked for an answer yet: others of this engine, or the pacer, keep q back, and the
 * peer is not to blame. A port that stays shut is another matter: what is out by it ends. */
static bool is_excused(const struct mrc *m, const struct mrc_qp *q, nsec timeout)
{
	const struct mrc_requester *req = &q->req;
	bool is_asked = req->asked != MRC_NONE && req->asked >= req->executed;

	return is_held_up(m, q, timeout) ||
	       ((list_is_linked(&q->starved_link) || req->is_paced) && !is_asked);
}

static void on_silence(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;
	nsec timeout = mrc_timeout_ns(&q->attr, req->tries);

	if (is_excused(m, q, timeout)) {
		req->due = m->now + timeout;
		return;
	}
	req->n_timeouts++;
	m->count.timeouts++;
	if (trace_is_on(&m->cfg.trace)) {
		const struct traced_qp of = mrc_traced(m, q);

		traced_timeout(&m->cfg.trace, &of, req->sent.out_bytes, req->tries);
	}
	if (!is_endless(q) && req->tries >= max_tries(q)) {
		mrc_fail_send(m, q, ENGINE_RETRY_EXCEEDED);
		return;
	}
	if (req->tries < UINT8_MAX)
		req->tries++;
	req->is_timed_out = true;
	/* From when it was due, so that a timer's width does not add up; unless that is over. */
	req->due += mrc_timeout_ns(&q->attr, req->tries);
	if (req->due <= m->now)
		req->due = m->now + mrc_timeout_ns(&q->attr, req->tries);
	if (req->sent.una < req->sent.next) {
		lose_silent(m, q, timeout);
		return;
	}
	if (!mrc_is_answer_due(q))
		return;
	req->is_ack_lost = true;
	mrc_wake_send(m, q);
}

/* Nothing was received for longer than a round trip should take. What arrived need not be asked
 * for: the Transport ACK alone is missing. */
static void on_quiet(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	if (req->sent.una < req->sent.next) {
		req->has_probe = true;
		req->probe_row = (uint8_t)least((req->sent.next - req->sent.una) / ENGINE_SENT_PKTS,
						UINT8_MAX);
		req->probe_due = NSEC_NEVER;
	} else {
		req->is_ack_lost = true;
		mrc_probe_later(m, req);
	}
	mrc_wake_send(m, q);
}

static void on_retry(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	if (req->judge_due <= m->now)
		judge_overdue(m, q);
	if (req->probe_due <= m->now)
		on_quiet(m, q);
	if (req->due <= m->now)
		on_silence(m, q);
	if (req->path_due <= m->now)
		mrc_probes_run(m, q);
	mrc_arm(m, q);
}

void mrc_timers_run(struct mrc *m, nsec now)
{
	struct wheel_timer *t;

	/* Each timer comes once at most: those armed on the way are due later. */
	while ((t = wheel_expire(&m->wheel, now))) {
		struct mrc_timer *timer = (struct mrc_timer *)t;

		if (timer->is_retry) {
			on_retry(m, timer->owner);
		} else {
			mrc_wake_send(m, timer->owner);
			mrc_recount_turns(m, timer->owner);
		}
	}
}
