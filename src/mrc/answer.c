/* The responder sends: SACKs, NACKs, and Transport ACKs behind them. What a SACK says of the window
 * is read off when it is sent, not when something caused it: newer is better. */
#include <assert.h>

#include "mrc/state.h"

#define RX_PORT_PKTS 16u /* of each of the two parts of resp.rx_ports */
#define MAP_BITS     64u
#define ID16(number) ((number)&0xffffu) /* spdcid and dpdcid hold the low half (M-09) */
#define BYTES_SHIFT  8u                 /* rcvd_bytes counts 256 (Table 7-13), ... */
#define BYTES_MASK   UINT32_C(0xffffff) /* ... in 24 bits (M-16) */

uint16_t mrc_reflect(const struct mrc *m, const struct mrc_reflected *r)
{
	nsec waited = (m->now - r->arrived) >> MRC_STAMP_SHIFT;

	if (!m->cfg.has_service_time)
		return r->has_stamp ? r->stamp : 0;
	if (!r->has_stamp)
		return waited < UINT16_MAX ? (uint16_t)waited : UINT16_MAX;
	/* As if it had been sent later by what it waited here: the round trip comes out shorter. */
	return r->is_stamp_ours ? (uint16_t)(r->stamp + waited) : r->stamp;
}

/* The timestamp of the packet that is answered, if it has one (M-36, M-43). */
static void note_stamp(struct mrc_answer *a, const struct mrc_in *in)
{
	const struct tseth *t = &in->h.tseth;
	const struct peth *p = &in->h.peth;

	if (a->kind == MRC_ANSWER_PROBED) {
		a->has_stamp = p->ftype == MRC_FTYPE_TIMESTAMP;
		a->stamp = p->tx_timestamp;
		a->is_stamp_ours = p->tsr == 0;
		a->probe_id = p->probe_id;
	} else if (in->h.has & MRC_TSETH) {
		a->has_stamp = t->ftype == MRC_FTYPE_TIMESTAMP;
		a->stamp = t->tx_timestamp;
		a->is_stamp_ours = t->tsr == 0;
	}
}

bool mrc_answer_add(struct mrc *m, struct mrc_qp *q, const struct mrc_in *in,
		    enum mrc_answer_kind kind, uint8_t reason)
{
	struct mrc_responder *p = &q->resp;
	const struct rx_pkt *rx = in->rx;
	struct mrc_answer *a = pool_get(&m->answers);

	if (!a)
		return false;
	*a = (struct mrc_answer){
		.arrived = rx->at,
		.psn = in->h.bth.psn,
		.ev = rx->ev,
		.kind = (uint8_t)kind,
		.reason = reason,
		/* A trimmed packet was not received: a SACK must not say so (M-41). */
		.has_psn = !rx->trimmed,
		.is_retx = in->h.bth.rtx,
		.is_marked = rx->ecn == ENGINE_ECN_CE,
	};
	if (reason == MRC_NACK_TRIMMED || reason == MRC_NACK_TRIMMED_LASTHOP)
		a->udp_len = rx->udp_len;
	note_stamp(a, in);
	list_push(&p->answers, &a->link);
	mrc_wake_answer(m, q);
	return true;
}

void mrc_on_rx_port(struct mrc *m, struct mrc_qp *q, uint32_t port)
{
	struct mrc_responder *p = &q->resp;
	uint32_t live = p->rx_ports[0] | p->rx_ports[1];

	if (m->cfg.n_ports == 1 || port >= m->cfg.n_ports)
		return;
	if (++p->n_rx == RX_PORT_PKTS) {
		p->n_rx = 0;
		p->rx_ports[1] = p->rx_ports[0];
		p->rx_ports[0] = 0;
	}
	p->rx_ports[0] |= (uint8_t)(1u << port);
	p->rx_port_at = m->now;
	if (live != ((uint32_t)p->rx_ports[0] | p->rx_ports[1]))
		mrc_recount_turns(m, q);
}

/* Takes the oldest answer out, or NULL. */
static struct mrc_answer *take_answer(struct mrc_responder *p)
{
	struct list_link *link = list_pop(&p->answers);

	return link ? LIST_OWNER(link, mrc_answer, link) : NULL;
}

void mrc_answer_clear(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_answer *a;

	while ((a = take_answer(&q->resp)))
		pool_put(&m->answers, a);
}

static uint16_t stamp_of(const struct mrc *m, const struct mrc_answer *a)
{
	return mrc_reflect(m, &(struct mrc_reflected){.arrived = a->arrived,
						      .stamp = a->stamp,
						      .has_stamp = a->has_stamp,
						      .is_stamp_ours = a->is_stamp_ours});
}

/* sack_base + 1 (7.5.2.2, with the 63 of M-18); the next map begins behind this one. */
static uint64_t choose_base(struct mrc_responder *p)
{
	uint64_t base = p->unsacked;

	assert(base >= p->seen.expected);
	if (base + MAP_BITS - 1 >= p->seen.end)
		base = p->seen.end > p->seen.expected + MAP_BITS - 1 ? p->seen.end - (MAP_BITS - 1)
								     : p->seen.expected;
	p->unsacked = base + MAP_BITS;
	return base;
}

/* ack_psn as an offset from cack_psn; 0, which is cack_psn, where there is none or it is out of
 * reach (M-20, M-41). */
static uint16_t ack_offset(const struct mrc_answer *a, psn24 cack)
{
	int32_t ahead = psn24_diff(psn24_of(a->psn), cack);

	if (a->kind == MRC_ANSWER_PROBED)
		return a->probe_id;
	return a->has_psn && ahead >= INT16_MIN && ahead <= INT16_MAX ? (uint16_t)ahead : 0;
}

static struct cc_state cc_state_of(const struct mrc *m, const struct mrc_qp *q,
				   const struct mrc_answer *a)
{
	return (struct cc_state){
		.tx_timestamp = stamp_of(m, a),
		.ooo_count = (uint16_t)q->resp.seen.n_early,
		.restore_cwnd = (q->attr.flags & MRC_RESTORE_CWND) != 0,
		.rcv_cwnd_pen = q->attr.penalty,
		.rcvd_bytes =
			(uint32_t)((q->resp.rx_bytes + (1u << BYTES_SHIFT) - 1) >> BYTES_SHIFT) &
			BYTES_MASK,
	};
}

static void fill_sack(struct mrc *m, struct mrc_qp *q, const struct mrc_answer *a,
		      struct mrc_pkt *h)
{
	struct mrc_responder *p = &q->resp;
	psn24 cack = mrc_psn(q->attr.rq_psn, p->seen.expected - 1);
	uint64_t base = choose_base(p);
	bool is_probed = a->kind == MRC_ANSWER_PROBED;

	/* The PSN of an answer to a probe is reserved (7.4.6). */
	h->bth = (struct mrc_bth){
		.opcode = MRC_OP_SACK, .rtx = a->is_retx, .psn = is_probed ? 0 : cack.v};
	h->seth = (struct seth){
		.m = a->is_marked ? MRC_MARK_SKIP : MRC_MARK_NONE,
		.pr = is_probed,
		.ack_psn_offset = ack_offset(a, cack),
		.entropy = a->ev,
		.spdcid = ID16(q->id.number),
		.dpdcid = ID16(q->attr.remote_qp),
		.cack_psn = cack.v,
		.cc_type = MRC_CC_TYPE_NSCC,
		.mpr = q->attr.flags & MRC_DYNAMIC_MPR ? q->attr.mpr : 0,
		.sack_offset = (uint16_t)(base - p->seen.expected),
		.sack_bitmap = engine_seen_map(&p->seen, base - 1),
	};
	h->cc = cc_state_of(m, q, a);
	p->n_trigger = 0;
	p->is_owed = false;
	m->count.tx_sack++;
}

static void fill_nack(struct mrc *m, const struct mrc_qp *q, const struct mrc_answer *a,
		      struct mrc_pkt *h)
{
	h->bth = (struct mrc_bth){.opcode = MRC_OP_NACK, .rtx = a->is_retx, .psn = a->psn};
	h->neth = (struct neth){
		.nack_reason = a->reason,
		.entropy = a->ev,
		.spdcid = ID16(q->id.number),
		.dpdcid = ID16(q->attr.remote_qp),
		.nack_psn = a->psn,
		.cc_type = MRC_CC_TYPE_TIMESTAMP,
		.tx_timestamp = stamp_of(m, a),
	};
	m->count.tx_nack++;
}

/* What was executed is acknowledged also before a NAK, which says nothing of it (M-40). */
static void fill_ack(struct mrc *m, struct mrc_qp *q, struct mrc_pkt *h)
{
	struct mrc_responder *p = &q->resp;
	bool is_nak = !p->has_ack;

	h->bth = (struct mrc_bth){.opcode = MRC_OP_ACKNOWLEDGE,
				  .psn = is_nak ? p->nak_psn
						: mrc_psn(q->attr.rq_psn, p->seen.expected - 1).v};
	h->aeth = (struct aeth){.type = is_nak ? AETH_NAK : AETH_ACK,
				.value = is_nak ? p->nak : MRC_AETH_NO_CREDIT,
				.msn = p->msn};
	if (is_nak) {
		p->has_nak = p->is_closing = false;
		m->count.tx_nak++;
	} else {
		p->has_ack = false;
		m->count.tx_ack++;
	}
}

/* Whether an answer should take an EV: one that our own requests may take, since what is bad for
 * those loses answers too (7.5.2.1). Where none is, one that is not denied (9.3.2.1). */
static bool is_fit(const struct path *p, const struct path_ev *ev)
{
	uint32_t number = path_number(p, ev);

	return path_ports(p) ? path_state(p, number) < PATH_ASSUMED_BAD
			     : !path_is_denied(p, number);
}

/* Where no EV is fit, any: an answer is owed. */
static const struct path_ev *next_ev(struct mrc_qp *q, uint32_t ports)
{
	struct mrc_requester *req = &q->req;
	const struct path_ev *ev = path_walk_next(&req->answer_path, ports);

	for (uint32_t i = 1; ev && i < q->attr.evs->set.n; i++) {
		if (is_fit(&req->path, ev))
			break;
		ev = path_walk_next(&req->answer_path, ports);
	}
	return ev;
}

bool mrc_answer_next(struct mrc *m, struct mrc_qp *q, uint32_t free_ports, struct tx_pkt *tx,
		     bool *is_blocked)
{
	struct mrc_responder *p = &q->resp;
	uint16_t udp_len = 0;
	struct mrc_pkt h;

	*is_blocked = false;
	if (list_is_empty(&p->answers) && !p->has_ack && !p->has_nak)
		return false;
	const struct path_ev *ev = next_ev(q, free_ports & mrc_ports_of(m, q, true));

	if (!ev) {
		*is_blocked = true;
		return false;
	}
	struct mrc_answer *a = take_answer(p);

	if (!a) {
		fill_ack(m, q, &h);
	} else {
		if (a->kind == MRC_ANSWER_NACK)
			fill_nack(m, q, a, &h);
		else
			fill_sack(m, q, a, &h);
		udp_len = a->udp_len;
		pool_put(&m->answers, a);
	}
	mrc_finish_packet(m, q, ev, &h, 0, tx);
	mrc_trace_sent(m, q->id.number, &h.bth, 0, tx, false);
	tx->tclass = ENGINE_CONTROL;
	tx->not_ect = 1;
	tx->udp_len = udp_len;
	return true;
}
