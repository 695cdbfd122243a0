#include <assert.h>
#include <errno.h>
#include <string.h>

#include "mrc/state.h"

#define UDP_BYTES  8u
#define ICRC_BYTES 4u

/* A packet that may be next. */
struct step {
	struct mrc_send *w;
	uint64_t n;     /* its count */
	uint32_t index; /* in its message */
	uint32_t at;    /* its first byte in the message */
	uint32_t bytes; /* of the message that it carries */
	bool is_last;
	bool is_retx;
	bool is_ack_lost; /* arrived, and is retransmitted only for its Transport ACK */
};

/* What can be said of work before its turn; keys are looked at when they are used. */
static int check(const void *queue, const struct op *op)
{
	const struct mrc_qp *q = queue;

	if (engine_send_check(op, q->state) ||
	    (op->code != ENGINE_WRITE && op->code != ENGINE_WRITE_IMM))
		return -EINVAL;
	return engine_cut_check(op, mrc_send_limits(&q->caps));
}

static void fill(struct mrc_qp *q, const struct op *op, struct mrc_send *w)
{
	w->first = q->req.end;
	w->remote = op->remote;
	/* What is flushed at once has no packets, and there may never have been a PMTU. */
	w->n_pkts = q->state != MRC_ERROR ? engine_packets(w->wr.len, q->attr.pmtu) : 0;
	w->key = (uint32_t)op->key;
	w->msn = q->req.msn;
	w->rqmsn = q->req.rqmsn;
	w->n_sg = engine_cut_keep(op, mrc_send_limits(&q->caps), w->sg);
}

/* nominal_pktsize without payload (8.3.1): what both ends count, whatever becomes of the packet. */
static uint32_t nominal_head(const struct mrc_qp *q, bool has_imm)
{
	bool has_stamp = !(q->attr.flags & MRC_NO_TIMESTAMPS);

	return MRC_NOMINAL_HDR + UDP_BYTES + mrc_bth_bytes + meth_bytes + reth_bytes +
	       (has_stamp ? tseth_bytes : 0) + (has_imm ? immdt_bytes : 0) + ICRC_BYTES;
}

static uint32_t padded(uint32_t bytes)
{
	return bytes + engine_pad_of(bytes);
}

/* delta_backlog (8.6): all packets of new work. */
static void note_backlog(struct mrc *m, struct mrc_qp *q, const struct mrc_send *w)
{
	uint64_t heads = (uint64_t)(w->n_pkts - 1) * nominal_head(q, false) +
			 nominal_head(q, w->wr.op == ENGINE_WRITE_IMM);

	q->req.backlog_bytes += heads + padded(w->wr.len);
	cc_on_new(&q->req.cc, m->now, heads + padded(w->wr.len));
}

static void take_work(struct mrc *m, struct mrc_qp *q, const struct op *op)
{
	struct mrc_requester *req = &q->req;
	struct mrc_send *w =
		(void *)engine_ring_post(&req->works, op, q, (uint32_t)engine_cut_bytes(op));

	fill(q, op, w);
	req->end += w->n_pkts;
	/* Table 6-9: each message has a number, and each write with immediate data another. */
	req->msn++;
	req->rqmsn = (uint16_t)(req->rqmsn + (op->code == ENGINE_WRITE_IMM));
	if (q->state != MRC_ERROR)
		note_backlog(m, q, w);
}

int mrc_take_send(struct mrc *m, struct mrc_qp *q, const struct op *op)
{
	struct mrc_requester *req = &q->req;
	bool was_idle = req->executed == req->end;
	int problem = engine_works_check(op, engine_ring_room(&req->works), q, check);

	if (problem)
		return problem;
	for (; op; op = op->next)
		take_work(m, q, op);
	if (q->state == MRC_ERROR) {
		mrc_flush_send(m, q);
		return 0;
	}
	mrc_wake_send(m, q);
	mrc_clock_follow(m, q);
	/* EVs that are out of use are probed while there is something to send, whatever else is
	 * waited for: a peer need not answer endpoint requests (7.4.7). */
	if ((was_idle || req->path_due == NSEC_NEVER) && (req->path.head || mrc_asked_ports(q)))
		mrc_evs_changed(m, q);
	return 0;
}

void mrc_requester_reset(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	wheel_cancel(&m->wheel, &req->retry.timer);
	wheel_cancel(&m->wheel, &req->wake.timer);
	mrc_offer_chunks(m, engine_sent_reset(&req->sent));
	*req = (struct mrc_requester){
		.works = req->works,
		.sent = req->sent,
		.asked = MRC_NONE,
		.pause_una = MRC_NONE,
		.try_una = MRC_NONE,
		.due = NSEC_NEVER,
		.judge_due = NSEC_NEVER,
		.probe_due = NSEC_NEVER,
		.path_due = NSEC_NEVER,
		.retry = {.owner = q, .is_retry = true},
		.wake = {.owner = q},
	};
	engine_ring_clear(&req->works);
	cc_start(&req->cc, &m->cfg.cc, m->now);
}

void mrc_requester_start(struct mrc *m, struct mrc_qp *q)
{
	uint32_t mpr = q->attr.mpr_dest < q->caps.max_mpr ? q->attr.mpr_dest : q->caps.max_mpr;

	q->req.range = mpr * MRC_MPR_UNIT;
	q->req.msn = q->req.rqmsn = m->cfg.first_msn;
}

void mrc_check_drained(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	if (!req->is_draining || req->executed < req->sent.next)
		return;
	if (req->works.current < req->works.posted &&
	    mrc_send_at(q, req->works.current)->first < req->sent.next)
		return;
	req->is_draining = false;
	mrc_raise(m, q, ENGINE_EVENT_DRAINED);
}

/* Work that cannot be done here. It fails when its turn to complete comes. */
static void refuse(struct mrc *m, struct mrc_qp *q, struct mrc_send *w)
{
	w->wr.status = ENGINE_LOCAL_PROTECTION;
	mrc_end_works(m, q);
}

/* Packet n of work w. */
static struct step step_of(const struct mrc_qp *q, struct mrc_send *w, uint64_t n)
{
	uint32_t index = (uint32_t)(n - w->first), at = index * q->attr.pmtu;
	bool is_last = index + 1 == w->n_pkts;

	return (struct step){
		.w = w,
		.n = n,
		.index = index,
		.at = at,
		.bytes = is_last ? w->wr.len - at : q->attr.pmtu,
		.is_last = is_last,
	};
}

/* Whether something is to wait until `at`. The wheel may wake early by less than its width, and so
 * early is good enough. */
static bool is_early(const struct mrc *m, nsec at)
{
	return at >= m->now + wheel_width(&m->wheel);
}

/* Whether the peer had no room lately: then only packet una goes, which needs none. If that was
 * lost, others wait until it has arrived: with a burst of them around it, it may be lost each time.
 */
static bool is_held(const struct mrc *m, const struct mrc_qp *q)
{
	const struct mrc_requester *req = &q->req;

	if (is_early(m, req->pause_until))
		return true;
	if (req->sent.una != req->pause_una || req->sent.una == req->sent.next)
		return false;
	const struct engine_sent_chunk *c = engine_sent_chunk(&req->sent, req->sent.una);

	return (c->lost | c->retx) >> engine_sent_place(req->sent.una) & 1;
}

/* Whether the peer might have no place for the immediate data of w, whose next packet is due
 * (6.3.3). What was posted later does not overtake. A peer that keeps none ahead of a gap gets one
 * such write at a time, and neither its first packet nor the one with the data before all else
 * arrived (M-61).
 */
static bool is_imm_early(const struct mrc_qp *q, const struct mrc_send *w)
{
	const struct mrc_requester *req = &q->req;
	bool is_first = req->sent.next == w->first,
	     is_last = req->sent.next == w->first + w->n_pkts - 1;

	if (q->attr.wimm_dest > 0)
		return is_first && req->n_wimm >= q->attr.wimm_dest;
	return (is_first && req->n_wimm > 0) ||
	       ((is_first || is_last) && req->sent.una < req->sent.next);
}

/* The work whose packet is next of those never sent, if its order and the peer's range let it go;
 * else NULL. */
static struct mrc_send *new_work(const struct mrc *m, const struct mrc_qp *q)
{
	const struct mrc_requester *req = &q->req;

	if (req->works.current == req->works.posted ||
	    req->sent.next >= req->sent.una + req->range ||
	    (req->sent.next > req->sent.una && is_held(m, q)))
		return NULL;
	struct mrc_send *w = mrc_send_at(q, req->works.current);

	if (w->wr.status != ENGINE_OK)
		return NULL;
	if (w->wr.op == ENGINE_WRITE_IMM && is_imm_early(q, w))
		return NULL;
	/* MRC_SQD: what has begun is finished, no more (IBTA 10.3.1.5). */
	return req->sent.next > w->first || q->state != MRC_SQD ? w : NULL;
}

/* A packet that must be retransmitted: the oldest first. Beyond a range that shrank, what is lost
 * waits (MRC-7.5.4-09), and so it does while the peer has no room. */
static bool repeat_of(const struct mrc *m, const struct mrc_qp *q, uint64_t n, struct step *s)
{
	const struct mrc_requester *req = &q->req;

	if (n >= req->sent.una + req->range || (n > req->sent.una && is_held(m, q)))
		return false;
	*s = step_of(q, mrc_send_at(q, mrc_work_of(q, n)), n);
	s->is_retx = true;
	s->is_ack_lost = n < req->sent.una;
	return s->w->wr.status == ENGINE_OK;
}

/* The packet that is next: all that is new lies behind what must be retransmitted. */
static bool next_step(struct mrc *m, struct mrc_qp *q, struct step *s)
{
	struct mrc_requester *req = &q->req;

	/* Where that one's work failed here, the oldest: the work of that one did not, or it would
	 * be done. */
	if (req->is_ack_lost && req->sent.una > req->executed)
		return repeat_of(m, q, req->sent.una - 1, s) || repeat_of(m, q, req->executed, s);
	uint64_t n = engine_sent_next_lost(&req->sent);

	if (n != MRC_NONE)
		return repeat_of(m, q, n, s);
	struct mrc_send *w = new_work(m, q);

	if (w)
		*s = step_of(q, w, req->sent.next);
	return w != NULL;
}

/* Whether window and pacing let a packet go now; if not, what changes that gives q a turn: packets
 * are acknowledged or lost, or the wake timer. */
static bool may_go(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;

	cc_on_timer(&req->cc, m->now);
	nsec at = cc_next_send(&req->cc);

	if (mrc_inflight(req) >= cc_grant(&req->cc).window_bytes) {
		mrc_wake_at(m, q, cc_deadline(&req->cc));
		return false;
	}
	if (is_early(m, at)) {
		req->is_paced = true;
		mrc_wake_at(m, q, at);
		return false;
	}
	return true;
}

/* NSCC.AckRequest (UE 3.6.13.5): the window is full, or so small that the peer would not answer of
 * its own; we take its ACK_Gen_Trigger to be ours. */
static bool is_ack_needed(const struct mrc *m, const struct mrc_requester *req)
{
	const struct cc_cfg *cfg = req->cc.cfg;
	uint64_t window = cc_grant(&req->cc).window_bytes;

	return mrc_inflight(req) >= window ||
	       (cfg->kind == CC_NSCC && window + cfg->nscc.mtu_bytes - 1 < m->cfg.sack_every_bytes);
}

/* Whether the packet just counted shall ask for an answer. The last one that can go now must, or
 * what it closed would not open again; one retransmitted has only this to be acknowledged by. */
static bool shall_ask(const struct mrc *m, const struct mrc_qp *q, const struct step *s)
{
	const struct mrc_requester *req = &q->req;

	return s->is_retx || req->sent.next % ENGINE_SENT_PKTS == 0 || !new_work(m, q) ||
	       is_ack_needed(m, req);
}

static uint8_t opcode_of(const struct step *s)
{
	bool has_imm = s->w->wr.op == ENGINE_WRITE_IMM;

	if (!s->is_last)
		return s->index == 0 ? MRC_OP_WRITE_FIRST : MRC_OP_WRITE_MIDDLE;
	if (s->index == 0)
		return has_imm ? MRC_OP_WRITE_ONLY_IMM : MRC_OP_WRITE_ONLY;
	return has_imm ? MRC_OP_WRITE_LAST_IMM : MRC_OP_WRITE_LAST;
}

static void put_headers(const struct mrc *m, const struct mrc_qp *q, const struct step *s,
			struct mrc_pkt *h)
{
	const struct mrc_send *w = s->w;

	h->bth = (struct mrc_bth){
		.opcode = opcode_of(s),
		.se = s->is_last && w->wr.op == ENGINE_WRITE_IMM &&
		      (w->wr.flags & ENGINE_SOLICITED),
		.rtx = s->is_retx,
		.ts = !(q->attr.flags & MRC_NO_TIMESTAMPS),
		.psn = mrc_psn(q->attr.sq_psn, s->n).v,
	};
	h->meth = (struct meth){.rqmsn = w->rqmsn, .msn = w->msn};
	h->tseth = (struct tseth){.tx_timestamp = mrc_stamp(m->now), .ftype = MRC_FTYPE_TIMESTAMP};
	/* Table 6-5: where this packet goes, and the length of all. */
	h->reth = (struct reth){w->remote + s->at, w->key, w->wr.len};
	h->imm.immdt = (uint32_t)w->wr.imm;
}

/* Counts s as sent. The clock starts with the first packet that is out. */
static void count_sent(struct mrc *m, struct mrc_qp *q, const struct step *s, uint32_t ev,
		       uint32_t bytes)
{
	struct mrc_requester *req = &q->req;
	bool is_first = req->sent.una == req->sent.next;

	if (s->is_ack_lost) {
		req->is_ack_lost = false;
		req->n_retx++;
		m->count.tx_retx++;
		m->count.retx_for_ack++;
		return;
	}
	engine_sent_sent(&req->sent, m->now, s->n, ev, bytes);
	if (s->is_retx) {
		req->n_retx++;
		m->count.tx_retx++;
		if (s->n == req->sent.una)
			mrc_clock_retx(m, q);
		return;
	}
	m->count.tx_data++;
	req->works.current += s->is_last;
	/* What a packet takes may have changed since it was posted. */
	req->backlog_bytes -= bytes < req->backlog_bytes ? bytes : req->backlog_bytes;
	if (req->sent.next == req->end)
		req->backlog_bytes = 0;
	req->n_wimm += s->index == 0 && s->w->wr.op == ENGINE_WRITE_IMM;
	if (is_first)
		mrc_clock_restart(m, q, false);
}

/* A packet that is retransmitted takes another EV than before, if there is one (7.4.4). */
static const struct path_ev *ev_for(struct mrc_qp *q, const struct step *s, uint32_t free_ports)
{
	struct path *path = &q->req.path;
	const struct path_ev *ev = path_next(path, free_ports);

	assert(ev);
	if (!s->is_retx || s->is_ack_lost ||
	    engine_sent_at(&q->req.sent, s->n)->user != path_number(path, ev))
		return ev;
	path_end_burst(path);
	return path_next(path, free_ports);
}

static bool send(struct mrc *m, struct mrc_qp *q, const struct step *s, uint32_t free_ports,
		 struct tx_pkt *tx)
{
	struct mrc_requester *req = &q->req;
	const struct engine_cut cut = {
		.mem = m->cfg.mem,
		.pd = q->caps.pd,
		.qp = q->id.number,
		.is_trusted = s->w->wr.flags & ENGINE_TRUSTED,
		.from = {s->w->sg, s->w->n_sg, s->at, s->bytes},
	};
	struct mrc_pkt h;

	if (!engine_cut_out(&cut, tx)) {
		refuse(m, q, s->w);
		return false;
	}
	if (!s->is_retx && !engine_sent_reserve(&req->sent)) {
		mrc_starve(m, q);
		return false;
	}
	const struct path_ev *ev = ev_for(q, s, free_ports);

	put_headers(m, q, s, &h);
	bool has_imm = s->is_last && s->w->wr.op == ENGINE_WRITE_IMM;
	uint32_t bytes = nominal_head(q, has_imm) + padded(s->bytes);

	count_sent(m, q, s, path_number(&req->path, ev), bytes);
	h.bth.ack_req = shall_ask(m, q, s);
	if (h.bth.ack_req && (req->asked == MRC_NONE || req->asked < s->n))
		req->asked = s->n;
	mrc_finish_packet(m, q, ev, &h, s->bytes, tx);
	mrc_trace_sent(m, q->id.number, &h.bth, s->bytes, tx, s->is_retx);
	/* Who cannot do with trimmed packets cannot do so with those that are retransmitted (M-57).
	 */
	tx->tclass = q->attr.flags & MRC_NO_TRIM ? ENGINE_NO_TRIM
		     : s->is_retx                ? ENGINE_RETX
						 : ENGINE_DATA;
	cc_on_sent(&req->cc, m->now, bytes);
	return true;
}

uint16_t mrc_put_probe(struct mrc *m, struct mrc_qp *q, const struct path_ev *ev, struct tx_pkt *tx)
{
	struct mrc_requester *req = &q->req;
	bool has_stamp = !(q->attr.flags & MRC_NO_TIMESTAMPS);
	struct mrc_pkt h;

	h.bth = (struct mrc_bth){.opcode = MRC_OP_PROBE_REQUEST};
	h.peth = (struct peth){
		.probe_id = ++req->probe_id,
		.spdcid = (uint16_t)q->id.number,
		.dpdcid = (uint16_t)q->attr.remote_qp,
		.tx_timestamp = has_stamp ? mrc_stamp(m->now) : 0,
		.ftype = has_stamp ? MRC_FTYPE_TIMESTAMP : 0,
	};
	tx->n_body = 0;
	mrc_finish_packet(m, q, ev, &h, 0, tx);
	mrc_trace_sent(m, q->id.number, &h.bth, 0, tx, false);
	tx->tclass = ENGINE_DATA;
	req->n_probes = (uint8_t)(req->n_probes + (req->n_probes < MRC_PROBES));
	req->n_since = (uint8_t)(req->n_since + (req->n_since < MRC_PROBES));
	req->probe_ports[req->probe_id % MRC_PROBES] = (uint8_t)ev->port;
	return req->probe_id;
}

/* Asks what has arrived. It takes the next EV like any packet, so that one that is repeated takes
 * another. */
static void probe(struct mrc *m, struct mrc_qp *q, uint32_t free_ports, struct tx_pkt *tx)
{
	const struct path_ev *ev = path_next(&q->req.path, free_ports);

	assert(ev);
	q->req.probe_out = mrc_put_probe(m, q, ev, tx);
	mrc_probe_sent(m, q);
	m->count.tx_probe++;
}

bool mrc_request_next(struct mrc *m, struct mrc_qp *q, uint32_t free_ports, struct tx_pkt *tx,
		      bool *is_blocked)
{
	struct mrc_requester *req = &q->req;
	struct step s;

	*is_blocked = false;
	req->is_paced = false;
	if (!engine_is_sending(q->state))
		return false;
	if (!req->has_probe && !next_step(m, q, &s)) {
		if (is_early(m, req->pause_until))
			mrc_wake_at(m, q, req->pause_until);
		return false;
	}
	if (!req->has_probe && !may_go(m, q))
		return false;
	if (!(path_ports(&req->path) & free_ports)) {
		*is_blocked = true;
		return false;
	}
	if (!req->has_probe)
		return send(m, q, &s, free_ports, tx);
	probe(m, q, free_ports, tx);
	return true;
}
