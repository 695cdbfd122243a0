#include <assert.h>

#include "mrc/state.h"

#define OLDEST   32768 /* how far before una a SACK or ACK may be: what its offsets reach */
#define WRAP_NS  (UINT64_C(65536) << MRC_STAMP_SHIFT)
#define SLACK_NS UINT64_C(256) /* two units of a timestamp: rounding at both ends */

/* When a packet of ours was sent, as its answer tells. */
struct timing {
	uint64_t n;       /* its count */
	nsec at;          /* when the answer came */
	uint16_t stamp;   /* what came back */
	bool is_retx;     /* it was one retransmitted (M-05) */
	bool is_absent;   /* the answer carries no stamp that we understand */
	bool is_ev_known; /* it is about the EV that the record names */
};

struct sample {
	nsec rtt_ns;  /* 0: not known */
	nsec held_ns; /* of that, at the peer */
};

/* How far a PSN is ahead of una. */
static int32_t ahead(const struct mrc_qp *q, uint32_t psn)
{
	return psn24_diff((psn24){psn}, mrc_psn(q->attr.sq_psn, q->req.sent.una));
}

/* Whether count n has a record. */
static bool is_out(const struct mrc_qp *q, uint64_t n)
{
	return n >= q->req.sent.una && n < q->req.sent.next;
}

/* The time since the stamp that came back, modulo WRAP_NS (M-30). */
static nsec since_stamp(const struct timing *t)
{
	return (nsec)(uint16_t)(mrc_stamp(t->at) - t->stamp) << MRC_STAMP_SHIFT;
}

/* The time since packet n went; 0: not known. Below a unit of the records the clock has not moved
 * since: whoever drives the engine may have it stand still for a while. */
static nsec since_sent(const struct mrc *m, const struct mrc_qp *q, uint64_t n, nsec at)
{
	nsec sent = engine_sent_time(&q->req.sent, m->now, n);

	return at >= sent + (UINT64_C(1) << ENGINE_SENT_SHIFT) ? at - sent : 0;
}

/* What the peer took of a round trip that is known: it moved the stamp by that; or, where we send
 * none, tells it in its place (7.5.5.8, M-37). */
static nsec held_of(const struct mrc_qp *q, const struct timing *t, nsec rtt)
{
	nsec back = since_stamp(t), reported = (nsec)t->stamp << MRC_STAMP_SHIFT;

	if (!(q->attr.flags & MRC_PEER_SERVICE_TIME) || t->is_absent)
		return 0;
	if (q->attr.flags & MRC_NO_TIMESTAMPS)
		return reported < rtt ? reported : 0;
	return rtt < WRAP_NS && back < rtt ? rtt - back : 0;
}

static bool has_stamp(const struct mrc_qp *q, const struct timing *t)
{
	return !(q->attr.flags & MRC_NO_TIMESTAMPS) && !t->is_absent;
}

/* By the stamp alone, while round trips are far from wrapping it. */
static struct sample time_stamped(const struct mrc_qp *q, const struct timing *t)
{
	nsec back = since_stamp(t), srtt = q->req.srtt;
	bool is_good = has_stamp(q, t) && srtt > 0 && srtt < WRAP_NS / 8 && back < WRAP_NS / 2;

	return (struct sample){.rtt_ns = is_good ? back : 0};
}

/* Whether an answer to packet n, which is out, is to the time that it was sent last. What it says
 * of the copy tells the first from others (M-58), a stamp tells those apart. */
static bool is_of_last(const struct mrc *m, const struct mrc_qp *q, const struct timing *t)
{
	bool is_retx = engine_sent_is_retx(&q->req.sent, t->n);
	nsec age = since_sent(m, q, t->n, t->at);

	if (is_retx != t->is_retx)
		return false;
	return !is_retx || !has_stamp(q, t) || age >= WRAP_NS || since_stamp(t) <= age + SLACK_NS;
}

/* Without stamps, only one that was retransmitted once is told from its first copy (8.4). */
static bool is_timed(const struct mrc *m, const struct mrc_qp *q, const struct timing *t)
{
	if (!is_of_last(m, q, t))
		return false;
	if (!t->is_retx)
		return true;
	if (!has_stamp(q, t))
		return !engine_sent_is_thrice(&q->req.sent, t->n);
	return since_sent(m, q, t->n, t->at) < WRAP_NS;
}

/* Whether the answer is to the packet that it names: it need not be where it names the last that is
 * acknowledged (M-51). Its entropy tells, or else its stamp. */
static bool is_named(const struct timing *t, nsec age)
{
	nsec back = since_stamp(t);

	return t->is_ev_known || (back <= age + SLACK_NS && age <= back + SLACK_NS);
}

/* The round trip of the packet that an answer is about (8.4): by its record, which is finer than a
 * stamp, if it is of that time; else by the stamp alone, as when its Transport ACK came first. */
static struct sample time_of(const struct mrc *m, const struct mrc_qp *q, const struct timing *t)
{
	if (!is_out(q, t->n) || !is_timed(m, q, t))
		return time_stamped(q, t);
	nsec age = since_sent(m, q, t->n, t->at);

	if (has_stamp(q, t) && !is_named(t, age))
		return time_stamped(q, t);
	return (struct sample){.rtt_ns = age, .held_ns = held_of(q, t, age)};
}

/* What a peer takes to answer a probe says nothing of data, and is told in each SACK (7.5.5.8). */
static struct sample time_probed(const struct mrc_qp *q, const struct timing *t)
{
	nsec rtt = t->at > q->req.probe_at ? t->at - q->req.probe_at : 0;

	return (struct sample){.rtt_ns = rtt, .held_ns = held_of(q, t, rtt)};
}

/* A SACK as counts, believed as far as decoding goes. */
struct sack {
	uint64_t to;      /* all before it arrived: cack_psn + 1 */
	uint64_t from;    /* bit 0 of the maps */
	uint64_t map;     /* which arrived, ... */
	uint64_t missing; /* ... and which did not */
	uint64_t acked;   /* the packet that caused it, or MRC_NONE */
};

/* False when it speaks of packets never sent, or of times long gone. */
static bool read_sack(const struct mrc_qp *q, const struct seth *h, struct sack *s)
{
	const struct mrc_requester *req = &q->req;
	int32_t off = ahead(q, psn24_next((psn24){h->cack_psn}).v);
	int64_t una = (int64_t)req->sent.una, to = una + off, base, caused;

	if (off < -OLDEST || to < 0 || to > (int64_t)req->sent.next)
		return false;
	base = to - 1 + (int16_t)h->sack_offset;
	caused = to - 1 + (int16_t)h->ack_psn_offset;
	s->map = h->sack_bitmap;
	s->missing = ~s->map;
	/* Before the first packet there is none to speak of. */
	if (base < 0) {
		s->map = base > -64 ? s->map >> -base : 0;
		s->missing = base > -64 ? s->missing >> -base : 0;
		base = 0;
	}
	if (s->map && base + 63 - __builtin_clzll(s->map) >= (int64_t)req->sent.next)
		return false;
	if (!h->pr && caused >= (int64_t)req->sent.next)
		return false;
	s->to = (uint64_t)to;
	s->from = (uint64_t)base;
	s->acked = h->pr || caused < 0 ? MRC_NONE : (uint64_t)caused;
	return true;
}

/* 7.5.4: the range that the peer tracks, as told by its newest SACKs only. */
static void take_range(struct mrc *m, struct mrc_qp *q, const struct seth *h, bool is_ahead)
{
	uint8_t mpr = h->mpr < q->caps.max_mpr ? h->mpr : q->caps.max_mpr;

	if (!(q->attr.flags & MRC_DYNAMIC_MPR))
		return;
	if (h->mpr == 0) {
		mrc_raise(m, q, ENGINE_EVENT_NO_RANGE);
		return;
	}
	if (!is_ahead)
		return;
	q->attr.mpr_dest = h->mpr;
	q->req.range = mpr * MRC_MPR_UNIT;
}

/* OnACK (Table 8-2). A Transport ACK is none: its SACK tells of the same packets, and how they came
 * through. */
static void report_ack(struct mrc *m, struct mrc_qp *q, uint32_t pkts, const struct sample *time,
		       const struct mrc_pkt *sack)
{
	struct mrc_requester *req = &q->req;
	bool has_state = sack->seth.cc_type == MRC_CC_TYPE_NSCC;

	if (has_state)
		mrc_take_received(req, sack->cc.rcvd_bytes);
	struct cc_ack ack = {
		.now = m->now,
		.rtt_ns = time->rtt_ns,
		.held_ns = time->held_ns,
		.bytes = mrc_newly_received(req),
		.pkts = pkts,
		.out_bytes = mrc_inflight(req),
		.is_marked = sack->seth.m == MRC_MARK_SKIP,
		.is_restored = has_state && sack->cc.restore_cwnd,
		.penalty = has_state ? sack->cc.rcv_cwnd_pen : 0,
	};

	cc_on_ack(&req->cc, &ack);
}

/* Whether the record of packet n names an EV of this entropy: then it knows the port as well, which
 * the entropy may not tell (9.3.2). */
static bool is_ev_of(const struct mrc_qp *q, uint64_t n, uint32_t entropy)
{
	const struct path_set *set = &q->attr.evs->set;

	if (!is_out(q, n))
		return false;
	uint32_t ev = engine_sent_at(&q->req.sent, n)->user;

	return ev < set->n && path_is_reflected(set->evs[ev].value, entropy);
}

/* The EV that an answer is about is the one that it reflects: what it says of packets may name
 * another than the one that caused it (M-20, M-41, M-51). Where something between the ends, as a
 * kernel whose port was taken, made it a value of no EV, the record of a packet tells that surely
 * is the one. */
static uint32_t ev_about(const struct mrc *m, const struct mrc_qp *q, const struct timing *t,
			 uint32_t entropy)
{
	if (is_ev_of(q, t->n, entropy))
		return engine_sent_at(&q->req.sent, t->n)->user;
	uint32_t found = path_profile_reflected(q->attr.evs, entropy);

	if (found != PATH_NONE || !is_out(q, t->n) || !is_of_last(m, q, t) ||
	    !is_named(t, since_sent(m, q, t->n, t->at)))
		return found;
	return engine_sent_at(&q->req.sent, t->n)->user;
}

/* 9.3.1: what the SACK says of the path that its packet took. */
static void take_mark(struct mrc *m, struct mrc_qp *q, const struct timing *t, const struct seth *h)
{
	if (h->m == MRC_MARK_SKIP)
		mrc_ev_marked(q, ev_about(m, q, t, h->entropy));
	else if (h->m == MRC_MARK_ALWAYS_SKIP)
		mrc_ev_avoid(m, q, ev_about(m, q, t, h->entropy));
}

/* What was received may have made room. */
static void go_on(struct mrc *m, struct mrc_qp *q)
{
	mrc_check_drained(m, q);
	if (q->req.works.current < q->req.works.posted || q->req.sent.n_lost > 0)
		mrc_wake_send(m, q);
}

/* What it says is missing. Where as many arrived behind the gap as we know of, all others did not;
 * but a peer that never counted any may not do so at all. */
static struct mrc_view view_of(struct mrc_requester *req, const struct sack *s,
			       const struct mrc_pkt *h)
{
	bool has_count = h->seth.cc_type == MRC_CC_TYPE_NSCC, is_first = s->to == req->sent.una;

	req->has_ooo |= has_count && h->cc.ooo_count > 0;
	return (struct mrc_view){
		.from = s->from,
		.missing = s->missing,
		.is_first = is_first,
		.is_all = is_first && has_count && req->has_ooo &&
			  h->cc.ooo_count == req->sent.n_early,
	};
}

/* Packets that were sent once arrived: what is suspected of their EVs may be wrong. */
static void clear_evs(struct mrc *m, struct mrc_qp *q, uint64_t from, uint64_t once)
{
	const struct engine_sent *s = &q->req.sent;

	for (; once; once &= once - 1) {
		uint64_t n = from + (uint32_t)__builtin_ctzll(once);

		uint32_t ev = engine_sent_at(s, n)->user;
		nsec at = engine_sent_time(s, m->now, n);

		mrc_peer_port_arrived(m, q, ev, at);
		mrc_ev_arrived(m, q, ev, at);
	}
	mrc_evs_changed(m, q);
}

/* Whether something is suspected of EVs that the arrival of packets may disprove. */
static bool is_suspecting(const struct mrc_requester *req)
{
	return req->path.suspect || req->doubted;
}

/* The peer has the packets of this map. */
static void take_acked(struct mrc *m, struct mrc_qp *q, uint64_t from, uint64_t map,
		       struct engine_sent_news *news)
{
	struct engine_sent *s = &q->req.sent;
	bool has_suspects = is_suspecting(&q->req);
	uint64_t once = has_suspects ? engine_sent_once(s, from, map) : 0;
	uint32_t pkts = news->pkts;

	engine_sent_acked(s, m->now, from, map, news);
	if (has_suspects && news->pkts > pkts)
		clear_evs(m, q, from, once);
}

/* The peer has all before `to`, una <= to <= next. */
static void advance(struct mrc *m, struct mrc_qp *q, uint64_t to, struct engine_sent_news *news)
{
	struct mrc_requester *req = &q->req;

	for (uint64_t n = req->sent.una; n < to && is_suspecting(req); n += 64)
		take_acked(m, q, n, UINT64_MAX >> (to - n < 64 ? 64 - (to - n) : 0), news);
	mrc_offer_chunks(m, engine_sent_advance(&req->sent, m->now, to, news));
	if (req->judged < req->sent.una)
		req->judged = req->sent.una;
}

/* The SACK's word on packets; whether any of it was news. is_probed: it answers the probe that asks
 * what arrived. */
static bool take_sack(struct mrc *m, struct mrc_qp *q, const struct sack *s,
		      const struct mrc_pkt *h, struct sample time, bool is_probed,
		      struct mrc_view *view)
{
	struct mrc_requester *req = &q->req;
	struct engine_sent_news news = {0};
	uint32_t lost = req->sent.n_lost;

	take_acked(m, q, s->from, s->map, &news);
	if (s->acked != MRC_NONE)
		take_acked(m, q, s->acked, 1, &news);
	advance(m, q, s->to > req->sent.una ? s->to : req->sent.una, &news);
	m->count.spared += news.spared;
	mrc_learn(m, q, time.rtt_ns - (h->seth.pr ? time.held_ns : 0), &news);
	/* A probe is short, and on each link sooner through than data: taken for a sample, it would
	 * have the controller hold the base round trip for shorter than it is ever after. */
	if (h->seth.pr)
		time = (struct sample){0};
	report_ack(m, q, news.pkts, &time, h);
	*view = view_of(req, s, h);
	/* Our records have all that arrived, whatever was counted besides; a unit of the count is
	 * how it is rounded. */
	if (view->is_all && req->reported_bytes > req->sent.acked_bytes + MRC_RCVD_UNIT)
		req->reported_bytes = req->sent.acked_bytes;
	mrc_judge(m, q, view);
	if (is_probed)
		mrc_on_probed(m, q, view);
	return news.pkts > 0 || req->sent.n_lost > lost;
}

/* A probe with this identifier went lately. One that others followed is nobody's any more, but what
 * its answer says of packets counts like that of any SACK. */
static bool was_asked(const struct mrc_requester *req, uint16_t id)
{
	return (uint16_t)(req->probe_id - id) < req->n_probes;
}

enum mrc_verdict mrc_on_sack(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in)
{
	struct mrc_requester *req = &q->req;
	const struct seth *h = &in->h.seth;
	struct sack s;

	assert(engine_is_sending(q->state));
	if (!read_sack(q, h, &s))
		return MRC_VERDICT_drop_stale;
	bool is_probed = h->pr && req->is_probing && h->ack_psn_offset == req->probe_out;
	struct mrc_request *r = h->pr && !is_probed ? mrc_probe_find(q, h->ack_psn_offset) : NULL;

	if (h->pr && !is_probed && !r && !was_asked(req, h->ack_psn_offset))
		return MRC_VERDICT_drop_unasked;
	bool is_ahead = s.to > req->sacked;
	struct timing t = {
		.n = s.acked,
		.at = in->rx->at,
		.stamp = in->h.cc.tx_timestamp,
		.is_retx = in->h.bth.rtx,
		.is_absent = h->cc_type != MRC_CC_TYPE_NSCC,
		.is_ev_known = s.acked + 1 != s.to || is_ev_of(q, s.acked, h->entropy),
	};
	struct sample time = {0};

	if (is_probed)
		time = time_probed(q, &t);
	else if (s.acked != MRC_NONE)
		time = time_of(m, q, &t);
	/* Before the record goes. */
	if (h->pr)
		mrc_on_probe_ack(m, q, h->ack_psn_offset, r);
	if (r)
		mrc_probe_answered(m, r, h->m);
	else
		take_mark(m, q, &t, h);
	uint64_t una = req->sent.una;
	struct mrc_view view;
	bool is_news = take_sack(m, q, &s, &in->h, time, is_probed, &view);

	take_range(m, q, h, is_ahead);
	if (is_ahead)
		req->sacked = s.to;
	if (req->sent.una > una)
		mrc_clock_restart(m, q, true);
	else if (is_news)
		mrc_clock_spare(m, q, true);
	if (is_probed)
		mrc_probe_on(m, q, &view);
	if (!req->is_base_known)
		mrc_measure_idle(m, q);
	go_on(m, q);
	return MRC_VERDICT_rx_sack;
}

static enum cc_loss kind_of(uint8_t reason)
{
	switch (reason) {
	case MRC_NACK_TRIMMED: return CC_LOSS_TRIM;
	case MRC_NACK_TRIMMED_LASTHOP: return CC_LOSS_TRIM_LAST_HOP;
	default: return CC_LOSS_REFUSED;
	}
}

static void report_nack(struct mrc_qp *q, struct cc_ack *loss, uint8_t reason)
{
	loss->out_bytes = mrc_inflight(&q->req);
	cc_on_loss(&q->req.cc, loss, kind_of(reason));
}

/* Whether packet n waits for an answer, and the NACK is one to its last copy. Any other has met
 * congestion, or a peer without room, and asks for nothing (M-58). */
static bool wants_retx(const struct mrc *m, const struct mrc_qp *q, const struct timing *t)
{
	const struct engine_sent *s = &q->req.sent;

	return t->n >= s->una && !engine_sent_is_acked(s, t->n) && !engine_sent_is_lost(s, t->n) &&
	       is_of_last(m, q, t);
}

/* Table 7-3: packet n is retransmitted, unless it did too often. */
static void send_retx(struct mrc *m, struct mrc_qp *q, uint64_t n, uint8_t reason,
		      struct cc_ack *loss)
{
	bool is_refused = kind_of(reason) == CC_LOSS_REFUSED;

	loss->bytes = engine_sent_at(&q->req.sent, n)->bytes;
	loss->pkts = 1;
	mrc_retx(m, q, n, !is_refused);
	if (q->state == MRC_ERROR)
		return;
	report_nack(q, loss, reason);
	if (is_refused)
		mrc_pause(m, q, n, loss->rtt_ns);
	mrc_clock_spare(m, q, false);
}

/* A packet that was cut may have lost its timestamp: then the NACK says 0, or the time that the
 * peer took (M-49, M-56). Such a time is none that the packet could have been sent at. */
static bool is_service_time(const struct mrc *m, const struct mrc_qp *q, const struct timing *t)
{
	if (!(q->attr.flags & MRC_PEER_SERVICE_TIME) || q->attr.flags & MRC_NO_TIMESTAMPS)
		return false;
	return t->n < q->req.sent.una || since_stamp(t) > since_sent(m, q, t->n, t->at) + SLACK_NS;
}

/* What a trim tells beside the loss of its packet. Where many send to one, all of a first window
 * may be cut: without this round trip nothing would be asked for before a timeout. */
static void take_trim(struct mrc *m, struct mrc_qp *q, const struct timing *t, const struct neth *h,
		      nsec rtt)
{
	/* 9.3.1: the last hop is the same for every EV. */
	if (h->nack_reason == MRC_NACK_TRIMMED)
		mrc_ev_trimmed(q, ev_about(m, q, t, h->entropy));
	/* Of one that arrived, or whose last copy is not meant, the record is of another time. */
	if (!wants_retx(m, q, t))
		return;
	if (q->req.srtt == 0)
		mrc_learn(m, q, rtt, &(struct engine_sent_news){0});
	mrc_note_trim(&q->req, engine_sent_time(&q->req.sent, m->now, t->n));
}

enum mrc_verdict mrc_on_nack(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in)
{
	const struct mrc_requester *req = &q->req;
	const struct neth *h = &in->h.neth;

	assert(engine_is_sending(q->state));
	int32_t off = ahead(q, h->nack_psn);
	int64_t n = (int64_t)req->sent.una + off;

	if (off < -OLDEST || n < 0 || n >= (int64_t)req->sent.next)
		return MRC_VERDICT_drop_stale;
	if (h->nack_reason == MRC_NACK_UNEXP_EVENT) {
		mrc_fail_packet(m, q, n,
				(struct mrc_failure){ENGINE_REMOTE_OPERATION,
						     MRC_CODE_NACK + h->nack_reason});
		return MRC_VERDICT_rx_nack;
	}
	struct timing t = {
		.n = (uint64_t)n,
		.at = in->rx->at,
		.stamp = h->tx_timestamp,
		.is_retx = in->h.bth.rtx,
		.is_absent = h->cc_type != MRC_CC_TYPE_TIMESTAMP || h->tx_timestamp == 0,
		.is_ev_known = true,
	};

	t.is_absent |= kind_of(h->nack_reason) != CC_LOSS_REFUSED && is_service_time(m, q, &t);
	struct sample time = time_of(m, q, &t);
	/* OnNACK is told of each; of a packet that is not found, or not out, without bytes (8.5).
	 */
	struct cc_ack loss = {.now = m->now, .rtt_ns = time.rtt_ns, .held_ns = time.held_ns};

	if (kind_of(h->nack_reason) != CC_LOSS_REFUSED)
		take_trim(m, q, &t, h, time.rtt_ns);
	if (wants_retx(m, q, &t))
		send_retx(m, q, t.n, h->nack_reason, &loss);
	else
		report_nack(q, &loss, h->nack_reason);
	if (q->state != MRC_ERROR && !req->is_base_known)
		mrc_measure_idle(m, q);
	return MRC_VERDICT_rx_nack;
}

/* The peer executed all up to count n. */
static enum mrc_verdict on_positive(struct mrc *m, struct mrc_qp *q, uint64_t n, uint32_t msn,
				    nsec at)
{
	struct mrc_requester *req = &q->req;
	struct engine_sent_news news = {0};
	struct sample time = {0};

	/* One that says what was known is no news, but no mistake either: duplicates are answered
	 * so. */
	if (n < req->executed)
		return MRC_VERDICT_rx_ack;
	if (n >= req->sent.una) {
		bool is_retx = engine_sent_is_retx(&req->sent, n);
		bool is_known = engine_sent_is_acked(&req->sent, n);
		nsec age = since_sent(m, q, n, at);

		advance(m, q, n + 1, &news);
		m->count.spared += news.spared;
		mrc_bound_received(req);
		/* One that had waited for another to be retransmitted is no measure. */
		if (!is_known && !is_retx && news.retx_at == 0)
			time.rtt_ns = age;
		mrc_learn(m, q, time.rtt_ns, &news);
	}
	mrc_retire(m, q, n + 1);
	if (q->state == MRC_ERROR)
		return MRC_VERDICT_rx_ack;
	req->msn_start = msn - (uint32_t)req->works.done;
	mrc_clock_restart(m, q, true);
	go_on(m, q);
	return MRC_VERDICT_rx_ack;
}

/* How many of the works that are not done the peer has executed, by AETH.MSN. One that is not
 * wholly out was not, whatever the number says. */
static uint64_t executed(const struct mrc_qp *q, uint32_t msn)
{
	const struct mrc_requester *req = &q->req;
	uint64_t n = (msn - req->msn_start - (uint32_t)req->works.done) & MRC_MSN_MASK;

	if (n == 0 || n > req->works.posted - req->works.done)
		return 0;
	const struct mrc_send *last = mrc_send_at(q, req->works.done + n - 1);

	return last->first + last->n_pkts <= req->sent.next ? n : 0;
}

/* A NAK names the packet that was refused (M-40), or what is acknowledged, as some would have it,
 * and may overtake the answer to works that were executed. Those are done, and whatever else it
 * says, it ends the queue pair (M-52). */
static enum mrc_verdict on_negative(struct mrc *m, struct mrc_qp *q, int64_t n,
				    const struct aeth *h)
{
	static const uint8_t statuses[] = {
		[AETH_NAK_INVALID_REQUEST] = ENGINE_REMOTE_INVALID,
		[AETH_NAK_REMOTE_ACCESS] = ENGINE_REMOTE_ACCESS,
		[AETH_NAK_REMOTE_OPERATION] = ENGINE_REMOTE_OPERATION,
	};

	if (h->value >= sizeof statuses || statuses[h->value] == 0)
		return MRC_VERDICT_drop_malformed;
	mrc_retire_works(m, q, executed(q, h->msn));
	mrc_fail_packet(
		m, q, n,
		(struct mrc_failure){statuses[h->value], aeth_syndrome(AETH_NAK, h->value)});
	return MRC_VERDICT_rx_nak;
}

enum mrc_verdict mrc_on_ack(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in)
{
	const struct mrc_requester *req = &q->req;
	const struct aeth *h = &in->h.aeth;

	assert(engine_is_sending(q->state));
	int32_t off = ahead(q, in->h.bth.psn);
	int64_t n = (int64_t)req->sent.una + off;

	if (h->type != AETH_ACK && h->type != AETH_NAK)
		return MRC_VERDICT_drop_malformed;
	if (off < -OLDEST || n < -1 || n >= (int64_t)req->sent.next)
		return MRC_VERDICT_drop_stale;
	if (h->type == AETH_NAK)
		return on_negative(m, q, n, h);
	/* The packet before the first: the answer to a duplicate, or a gap at the very start. */
	return n < 0 ? MRC_VERDICT_rx_ack : on_positive(m, q, (uint64_t)n, h->msn, in->rx->at);
}
