#include <string.h>

#include "ref/state.h"
#include "wire/mrc.h"
#include "wire/net.h"

/* How far behind a duplicate is still known as one: what ack_psn_offset can name. */
#define PAST_PKTS 0x7fff

/* A data packet, checked in itself. */
struct data {
	psn24 psn;
	uint64_t va;
	uint32_t imm, dmalen;
	uint32_t payload_at, payload_len; /* in the packet; without padding */
	bool ends, has_imm, ack_req;
};

/* Whether payload of len bytes fits the kind of packet and the message's length. */
static bool fits(const struct ref *r, const struct mrc_bth *bth, const struct data *d)
{
	uint32_t full = r->cfg.payload_bytes, len = d->payload_len;

	switch (bth->opcode) {
	case MRC_OP_WRITE_FIRST:
	case MRC_OP_WRITE_MIDDLE: return len == full && bth->pad == 0 && d->dmalen > full;
	case MRC_OP_WRITE_LAST:
	case MRC_OP_WRITE_LAST_IMM: return d->dmalen > full && len == (d->dmalen - 1) % full + 1;
	default: return len <= full && len == d->dmalen;
	}
}

static uint32_t packet_bytes(const struct rx_pkt *pkt)
{
	return pkt->head.len + (uint32_t)engine_body_bytes(pkt);
}

static bool get_data(const struct ref *r, const struct rx_pkt *pkt, const struct mrc_bth *bth,
		     struct data *d)
{
	const uint8_t *head = pkt->head.at;
	uint32_t at = mrc_bth_bytes + meth_bytes + (bth->ts ? tseth_bytes : 0);
	struct reth reth;
	struct immdt imm = {0};

	d->has_imm = bth->opcode == MRC_OP_WRITE_LAST_IMM || bth->opcode == MRC_OP_WRITE_ONLY_IMM;
	d->ends = bth->opcode >= MRC_OP_WRITE_LAST;
	d->ack_req = bth->ack_req;
	if (pkt->head.len < at + reth_bytes + (d->has_imm ? immdt_bytes : 0))
		return false;
	reth_get(head + at, &reth);
	at += reth_bytes;
	if (d->has_imm) {
		immdt_get(head + at, &imm);
		at += immdt_bytes;
	}
	uint32_t len = packet_bytes(pkt) - at;

	if (len % 4 != 0 || len < bth->pad)
		return false;
	d->va = reth.va;
	d->dmalen = reth.dmalen;
	d->imm = imm.immdt;
	d->payload_at = at;
	d->payload_len = len - bth->pad;
	return fits(r, bth, d);
}

/* The payload where the packet holds it: behind the headers, then the body. */
struct pieces {
	struct cspan at[1 + ENGINE_BODY];
	bool real; /* not all virtual */
};

static struct pieces pieces_of(const struct rx_pkt *pkt, const struct data *d)
{
	struct pieces p = {.at = {{pkt->head.at + d->payload_at, pkt->head.len - d->payload_at},
				  pkt->body[0],
				  pkt->body[1],
				  pkt->body[2]}};
	uint32_t left = d->payload_len;

	for (uint32_t i = 0; i <= ENGINE_BODY; i++) {
		/* What is beyond is padding. */
		p.at[i].len = p.at[i].len < left ? p.at[i].len : left;
		p.real |= p.at[i].len > 0 && p.at[i].at;
		left -= p.at[i].len;
	}
	return p;
}

static bool in_bounds(const struct ref *r, const struct data *d)
{
	return d->payload_len <= r->cfg.memory_bytes &&
	       d->va <= r->cfg.memory_bytes - d->payload_len;
}

static void store(const struct ref *r, const struct pieces *p, uint64_t to)
{
	for (uint32_t i = 0; i <= ENGINE_BODY; to += p->at[i++].len)
		if (p->at[i].len > 0 && p->at[i].at)
			memcpy(r->cfg.memory + to, p->at[i].at, p->at[i].len);
}

static void report(struct ref *r, const struct ref_qp *q, struct ref_event ev)
{
	uint32_t at = r->received_head + r->n_received;

	if (r->n_received == r->cfg.max_events) {
		r->count.events_lost++;
		return;
	}
	r->n_received++;
	r->received[at % r->cfg.max_events] = (struct ref_received){q->num, ev.imm, ev.len};
}

/* Moves on over the packets that are all there, and reports the messages that end in them. */
static void advance(struct ref *r, struct ref_qp *q)
{
	uint32_t run = window_first_hole(&q->seen);

	if (run == 0)
		return;
	while (q->n_events > 0) {
		uint32_t i = window_next_set(&q->event, 0);

		if (i >= run)
			break;
		window_unset(&q->event, i);
		q->n_events--;
		report(r, q, q->events[psn24_add(q->expected, (int32_t)i).v & r->slot_mask]);
	}
	q->n_seen -= run;
	window_shift(&q->seen, run);
	window_shift(&q->event, run);
	q->expected = psn24_add(q->expected, (int32_t)run);
}

/* Takes note of a packet at distance i from the one expected, which was not seen before. */
static void note(struct ref *r, struct ref_qp *q, const struct data *d, uint32_t i)
{
	/* In order with nothing ahead, the windows are all clear and need not move. */
	if (i == 0 && q->n_seen == 0) {
		q->expected = psn24_next(q->expected);
		if (d->has_imm)
			report(r, q, (struct ref_event){d->imm, d->dmalen});
		return;
	}
	window_set(&q->seen, i);
	q->n_seen++;
	if (d->has_imm) {
		window_set(&q->event, i);
		q->n_events++;
		q->events[d->psn.v & r->slot_mask] = (struct ref_event){d->imm, d->dmalen};
	}
	if (i == 0)
		advance(r, q);
}

/* Queues the answer to pkt: an acknowledgement, or a NACK of the reason given. */
static void answer(struct ref *r, const struct ref_qp *q, const struct rx_pkt *pkt, psn24 psn,
		   uint8_t nack)
{
	struct ref_lane *lane = &r->lanes[pkt->port];
	uint32_t at = lane->head + lane->count;

	if (lane->count == r->cfg.max_controls) {
		r->count.control_lost++;
		return;
	}
	lane->count++;
	r->lanes_waiting |= UINT32_C(1) << pkt->port;
	lane->ring[at < r->cfg.max_controls ? at : at - r->cfg.max_controls] = (struct ref_control){
		.qp = q->num,
		.psn = psn.v,
		.ev = pkt->ev,
		/* M-13: a NACK for a trimmed packet tells that packet's length in its own UDP
		   header. */
		.udp_len = nack ? pkt->udp_len : 0,
		.nack = nack,
		.mark = pkt->ecn == ENGINE_ECN_CE ? MRC_MARK_SKIP : MRC_MARK_NONE,
	};
}

/* Data whose payload a switch cut off: no more than its number can be trusted to be there. */
static uint64_t *on_trimmed(struct ref *r, struct ref_qp *q, const struct rx_pkt *pkt,
			    const struct mrc_bth *bth)
{
	psn24 psn = psn24_of(bth->psn);
	int32_t ahead = psn24_diff(psn, q->expected);

	if (pkt->head.len < (uint32_t)mrc_bth_bytes + meth_bytes + (bth->ts ? tseth_bytes : 0))
		return &r->count.drop_malformed;
	if (ahead < -PAST_PKTS || ahead >= (int32_t)r->cfg.window_pkts)
		return &r->count.drop_window;
	if (ahead < 0 || window_test(&q->seen, (uint32_t)ahead)) {
		answer(r, q, pkt, psn, 0);
		return &r->count.rx_duplicate;
	}
	answer(r, q, pkt, psn,
	       pkt->trimmed == NET_TRIMMED_LASTHOP ? MRC_NACK_TRIMMED_LASTHOP : MRC_NACK_TRIMMED);
	return &r->count.rx_trimmed;
}

/* Whether a packet just noted is answered. One that asks, the last of a message or of the sender's
 * window, often overtakes others when sprayed; its sender waits for those too, so the packet that
 * closes the gap before it is answered as well. */
static bool wants_answer(struct ref_qp *q, const struct data *d)
{
	bool asks = d->ends || d->ack_req, closes = false;

	if (asks && (!q->has_asked || psn24_lt(q->asked, d->psn))) {
		q->has_asked = true;
		q->asked = d->psn;
	}
	if (q->has_asked && psn24_lt(q->asked, q->expected)) {
		q->has_asked = false;
		closes = true;
	}
	return --q->until_ack == 0 || asks || closes;
}

static uint64_t *on_data(struct ref *r, struct ref_qp *q, const struct rx_pkt *pkt,
			 const struct mrc_bth *bth)
{
	struct data d = {.psn = psn24_of(bth->psn)};
	int32_t ahead = psn24_diff(d.psn, q->expected);

	if (!get_data(r, pkt, bth, &d))
		return &r->count.drop_malformed;
	if (ahead < -PAST_PKTS || ahead >= (int32_t)r->cfg.window_pkts)
		return &r->count.drop_window;
	struct pieces pieces = {.real = false};

	if (r->cfg.memory)
		pieces = pieces_of(pkt, &d);
	if (pieces.real && !in_bounds(r, &d))
		return &r->count.drop_bounds;
	r->count.rx_ecn += pkt->ecn == ENGINE_ECN_CE;
	if (ahead < 0 || window_test(&q->seen, (uint32_t)ahead)) {
		answer(r, q, pkt, d.psn, 0);
		return &r->count.rx_duplicate;
	}
	if (pieces.real)
		store(r, &pieces, d.va);
	if (!q->has_fresh || psn24_lt(d.psn, q->fresh_first))
		q->fresh_first = d.psn;
	q->has_fresh = true;
	note(r, q, &d, (uint32_t)ahead);
	r->count.rx_bytes += d.payload_len;
	if (wants_answer(q, &d)) {
		q->until_ack = r->cfg.ack_every;
		answer(r, q, pkt, d.psn, 0);
	}
	return &r->count.rx_data;
}

static void acknowledge(struct ref_qp *q, uint32_t i)
{
	window_set(&q->acked, i);
	q->n_acked++;
	if (window_test(&q->lost, i)) {
		window_unset(&q->lost, i);
		q->n_lost--;
	}
}

/* Forgets the n oldest packets that are out. */
static void retire(struct ref_qp *q, uint32_t n)
{
	struct window_range range = {0, n};

	q->una += n;
	if (q->n_acked > 0) {
		q->n_acked -= window_count_range(&q->acked, range);
		window_shift(&q->acked, n);
	}
	if (q->n_lost > 0) {
		q->n_lost -= window_count_range(&q->lost, range);
		window_shift(&q->lost, n);
	}
}

/* The queue pair got on: time starts anew, finished work completes, the window may have room. */
static void progress(struct ref *r, struct ref_qp *q)
{
	q->tries = 0;
	if (q->una == q->next)
		ref_timer_stop(r, q);
	else
		ref_timer_start(r, q, r->now);
	while (q->op_head != REF_NONE &&
	       r->ops[q->op_head].first + r->ops[q->op_head].n_pkts <= q->una)
		ref_complete(r, q, 0);
	ref_wake(r, q);
}

/* Where a SACK points, counted from the oldest packet that is out; negative: before it. */
struct sack {
	int32_t end, one, map; /* end of the run; the packet it answers; the map's first bit */
	uint64_t bits;
};

static bool get_sack(const struct ref_qp *q, const struct seth *seth, struct sack *s)
{
	psn24 una = ref_psn(q, q->una), cack = psn24_of(seth->cack_psn);
	int32_t out = (int32_t)(q->next - q->una);

	s->end = psn24_diff(psn24_next(cack), una);
	s->one = psn24_diff(psn24_add(cack, (int16_t)seth->ack_psn_offset), una);
	s->map = psn24_diff(psn24_add(cack, (int16_t)seth->sack_offset), una);
	s->bits = seth->sack_bitmap;
	if (s->end > out || s->one >= out)
		return false;
	if (s->bits && s->map + 63 - __builtin_clzll(s->bits) >= out)
		return false;
	if (s->map < 0) {
		s->bits = s->map > -64 ? s->bits >> -s->map : 0;
		s->map = 0;
	}
	return true;
}

static uint64_t *on_sack(struct ref *r, struct ref_qp *q, const struct rx_pkt *pkt)
{
	struct seth seth;
	struct sack s;
	uint64_t una = q->una;
	uint32_t n_acked = q->n_acked;

	if (pkt->head.len < (uint32_t)mrc_bth_bytes + seth_bytes + cc_state_bytes ||
	    packet_bytes(pkt) != (uint32_t)mrc_bth_bytes + seth_bytes + cc_state_bytes)
		return &r->count.drop_malformed;
	seth_get(pkt->head.at + mrc_bth_bytes, &seth);
	if (seth.pr || !get_sack(q, &seth, &s))
		return &r->count.drop_ack;
	uint32_t run = s.end > 0 ? (uint32_t)s.end : 0;
	uint64_t fresh = s.bits ? s.bits & ~window_get64(&q->acked, (uint32_t)s.map) : 0;

	for (; fresh; fresh &= fresh - 1)
		acknowledge(q, (uint32_t)s.map + (uint32_t)__builtin_ctzll(fresh));
	if (s.one >= (int32_t)run && !window_test(&q->acked, (uint32_t)s.one))
		acknowledge(q, (uint32_t)s.one);
	if (q->n_acked > 0)
		run = window_next_hole(&q->acked, run);
	if (run > 0)
		retire(q, run);
	if (q->una != una || q->n_acked != n_acked)
		progress(r, q);
	return &r->count.rx_ack;
}

static uint64_t *on_nack(struct ref *r, struct ref_qp *q, const struct rx_pkt *pkt)
{
	struct neth neth;

	if (pkt->head.len < (uint32_t)mrc_bth_bytes + neth_bytes ||
	    packet_bytes(pkt) != (uint32_t)mrc_bth_bytes + neth_bytes)
		return &r->count.drop_malformed;
	neth_get(pkt->head.at + mrc_bth_bytes, &neth);
	if (neth.nack_reason != MRC_NACK_TRIMMED && neth.nack_reason != MRC_NACK_TRIMMED_LASTHOP)
		return &r->count.drop_opcode;
	int32_t i = psn24_diff(psn24_of(neth.nack_psn), ref_psn(q, q->una));

	if (i >= (int32_t)(q->next - q->una))
		return &r->count.drop_ack;
	if (i >= 0 && !window_test(&q->acked, (uint32_t)i) && !window_test(&q->lost, (uint32_t)i)) {
		window_set(&q->lost, (uint32_t)i);
		q->n_lost++;
		q->sent[(q->una + (uint32_t)i) & r->slot_mask].timed_out = false;
		ref_wake(r, q);
	}
	return &r->count.rx_nack;
}

/* Does what the packet asks for; returns the counter of what became of it. */
static uint64_t *on_packet(struct ref *r, const struct rx_pkt *pkt)
{
	struct mrc_bth bth;

	if (pkt->head.len < mrc_bth_bytes)
		return &r->count.drop_malformed;
	mrc_bth_get(pkt->head.at, &bth);
	if (bth.tver != 0)
		return &r->count.drop_malformed;
	if (bth.dest_qp >= r->cfg.max_qps || !r->qps[bth.dest_qp].open)
		return &r->count.drop_qp;
	struct ref_qp *q = &r->qps[bth.dest_qp];

	if (pkt->peer != q->peer || pkt->port >= r->cfg.n_ports)
		return &r->count.drop_stranger;
	if (bth.opcode >= MRC_OP_WRITE_FIRST && bth.opcode <= MRC_OP_WRITE_ONLY_IMM)
		return pkt->trimmed != NET_WHOLE ? on_trimmed(r, q, pkt, &bth)
						 : on_data(r, q, pkt, &bth);
	/* Only data is trimmed; what claims to be has no checksum to vouch for it. */
	if (pkt->trimmed != NET_WHOLE)
		return &r->count.drop_malformed;
	switch (bth.opcode) {
	case MRC_OP_SACK: return on_sack(r, q, pkt);
	case MRC_OP_NACK: return on_nack(r, q, pkt);
	default: return &r->count.drop_opcode;
	}
}

static void trace(const struct ref *r, const struct rx_pkt *pkt, uint32_t verdict)
{
	uint64_t body = engine_body_bytes(pkt);
	struct mrc_bth bth = {0};

	if (pkt->head.len >= mrc_bth_bytes)
		mrc_bth_get(pkt->head.at, &bth);
	const struct traced_pkt p = {r->now, bth.dest_qp, bth.psn,
				     body > bth.pad ? (uint32_t)(body - bth.pad) : 0, bth.opcode};

	traced_received(&r->cfg.trace, &p, pkt, verdict);
}

static const char *word(const void *of, enum trace_word kind, uint8_t value)
{
#define NAME(name, text) #name,
	static const char *const verdicts[] = {REF_ACCEPTED(NAME) REF_DROPS(NAME)};
#undef NAME

	(void)of;
	if (kind == TRACE_WORD_PACKET)
		return mrc_opcode_name(value);
	return kind == TRACE_WORD_VERDICT && value < sizeof verdicts / sizeof verdicts[0]
		       ? verdicts[value]
		       : NULL;
}

struct trace_words ref_words(void)
{
	return (struct trace_words){.word = word};
}

void ref_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n)
{
	struct ref *r = ref_of(e);

	r->now = now;
	r->count.rx += n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *verdict = on_packet(r, &pkts[i]);

		++*verdict;
		if (trace_is_on(&r->cfg.trace))
			trace(r, &pkts[i], traced_place(verdict, &r->count.rx_data));
	}
}
