/* What the other files of RC stand on: queue pairs and shared queues by their number, who has a
 * turn to send or to answer, who waits for room to send, and what all packets of a queue pair have
 * in common. */
#include <assert.h>

#include "rc/state.h"

struct rc_qp *rc_find(const struct rc *r, uint32_t number)
{
	struct engine_number *id = engine_number_find(&r->qps, number);

	return id ? LIST_OWNER(id, rc_qp, id) : NULL;
}

struct rc_rq *rc_find_srq(const struct rc *r, uint32_t number)
{
	return number < r->cfg.max_srqs ? r->srqs[number] : NULL;
}

void rc_wake_send(struct rc *r, struct rc_qp *q)
{
	list_join(&r->sending[q->attr.port], &q->send_link);
	if (r->ports_down)
		rc_clock_follow(r, q);
}

void rc_wake_answer(struct rc *r, struct rc_qp *q)
{
	list_join(&r->answering[q->attr.port], &q->answer_link);
}

void rc_wake_cnp(struct rc *r, struct rc_qp *q)
{
	list_join(&r->cnps[q->attr.port], &q->cnp_link);
	rc_wake_answer(r, q);
}

void rc_unlist_turns(struct rc *r, struct rc_qp *q)
{
	list_leave(&r->sending[q->attr.port], &q->send_link);
	list_leave(&r->answering[q->attr.port], &q->answer_link);
	list_leave(&r->cnps[q->attr.port], &q->cnp_link);
}

void rc_starve(struct rc *r, struct rc_qp *q)
{
	list_join(&r->starved, &q->starved_link);
}

void rc_unlist_starved(struct rc *r, struct rc_qp *q)
{
	list_leave(&r->starved, &q->starved_link);
}

/* Room in the shared window is offered to the first that waits for it on each port, since a port
 * may be shut. Whoever gets a turn offers what it leaves, so that one offer goes on until it is
 * taken, and a thousand waiting queue pairs are not all woken for one packet. */
void rc_offer_room(struct rc *r)
{
	uint32_t ports = (UINT32_C(1) << r->cfg.n_ports) - 1;
	struct list_link *link = list_first(&r->starved), *next;

	if (r->out_bytes >= r->cfg.total_window_bytes)
		return;
	for (; link && ports; link = next) {
		struct rc_qp *q = LIST_OWNER(link, rc_qp, starved_link);
		uint32_t bit = UINT32_C(1) << q->attr.port;

		next = list_after(&r->starved, link);
		if (ports & bit) {
			ports &= ~bit;
			list_remove(&r->starved, link);
			rc_wake_send(r, q);
		}
	}
}

void rc_give_room(struct rc *r, struct rc_qp *q, uint64_t bytes)
{
	assert(bytes <= q->req.out_bytes && bytes <= r->out_bytes);
	q->req.out_bytes -= bytes;
	r->out_bytes -= bytes;
	rc_offer_room(r);
}

struct traced_qp rc_traced(const struct rc *r, const struct rc_qp *q)
{
	return (struct traced_qp){r->now, q->id.number, rc_psn(q, q->req.una).v};
}

void rc_set_state(const struct rc *r, struct rc_qp *q, uint8_t state)
{
	const struct traced_qp of = rc_traced(r, q);

	traced_move(&r->cfg.trace, &of, &q->state, state);
}

void rc_finish_packet(const struct rc *r, const struct rc_qp *q, struct rc_out *out,
		      struct tx_pkt *tx)
{
	struct roce_pkt *h = &out->h;

	h->bth.pad = engine_pad_of(out->payload);
	h->bth.pkey = RC_PKEY;
	h->bth.dest_qp = q->attr.remote_qp;
	tx->head_len = (uint16_t)roce_head_put(h, (struct span){tx->head, ENGINE_HEAD_MAX});
	assert(tx->head_len > 0);
	if (h->bth.pad > 0)
		engine_cut_pad(tx, h->bth.pad);
	tx->udp_len = 0;
	tx->port = q->attr.port;
	tx->tclass = ENGINE_NO_TRIM;
	tx->not_ect = 0;
	tx->peer = q->attr.peer;
	tx->local = q->attr.local;
	tx->ev = q->attr.ev;
	tx->sa = 0;
	tx->stamp = 0;
	if (trace_is_on(&r->cfg.trace)) {
		const struct traced_pkt p = {r->now, q->id.number, h->bth.psn, out->payload,
					     h->bth.opcode};

		traced_sent(&r->cfg.trace, &p, tx, out->is_retx);
	}
}
