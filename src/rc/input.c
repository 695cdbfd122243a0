/* What every packet must pass before requester or responder look at it (IBTA 9.6): nothing changes
 * here but counters. */
#include "rc/state.h"

#define SERVICE_BITS 5u /* an opcode's upper bits name the service: 0 is RC */
#define VERSION      0u

/* The counter of each verdict, in the order of the enum. */
static uint64_t *counter_of(struct rc *r, enum rc_verdict verdict)
{
	uint64_t *const counters[] = {
#define RC_VERDICT_COUNTER(name, text) &r->count.name,
		RC_ACCEPTED(RC_VERDICT_COUNTER) RC_DROPS(RC_VERDICT_COUNTER)
#undef RC_VERDICT_COUNTER
	};

	return counters[verdict];
}

static bool is_accepted(enum rc_verdict verdict)
{
	return verdict < RC_VERDICT_drop_malformed;
}

static bool is_response(uint8_t opcode)
{
	return opcode >= ROCE_OP_READ_RESPONSE_FIRST && opcode <= ROCE_OP_ATOMIC_ACKNOWLEDGE;
}

/* Which states take which packets (IBTA 10.3.1, table 91): the receiving side works from ENGINE_RTR
 * on, the sending side from ENGINE_RTS on. */
static bool is_state_right(const struct rc_qp *q, uint8_t opcode)
{
	return is_response(opcode) || opcode == ROCE_OP_CNP ? engine_is_sending(q->state)
							    : engine_is_receiving(q->state);
}

/* Reads all headers of a packet whose base transport header is good. */
static bool read_packet(struct rc_in *in)
{
	struct cursor c = cursor_of(in->rx->head);
	uint16_t stack;

	if (!roce_opcode_stack(in->h.bth.opcode, &stack)) {
		in->is_reserved = true;
		return true;
	}
	if (roce_head_get(&c, &in->h, NULL).why != WIRE_DROP_NONE)
		return false;
	if (!engine_cut_in(&in->payload, in->rx, cursor_rest(&c), in->h.bth.pad))
		return false;
	return (stack & ROCE_PAYLOAD) || in->payload.len + in->h.bth.pad == 0;
}

#define EV_PORT_SHIFT 16u /* the UDP source port, in rx_pkt.ev */

/* Only what came in its turn is a word of the peer's for sure: who forges that knows the PSN. */
static void note_port(struct rc_qp *q, uint32_t ev, enum rc_verdict verdict)
{
	if (verdict != RC_VERDICT_rx_request && verdict != RC_VERDICT_rx_response)
		return;
	q->req.peer_port = (uint16_t)(ev >> EV_PORT_SHIFT);
	q->req.has_peer_port = true;
}

/* A CNP has no PSN that could be right or wrong, so who knows a queue pair and its peer can forge
 * one; the peer's port is what such a forger has to guess. No text obliges a peer to send CNPs by
 * the port of its other packets, as this engine does: it is for the user to say. */
static enum rc_verdict on_notice(struct rc *r, struct rc_qp *q, uint32_t ev)
{
	if (r->cfg.is_cnp_port_checked && q->req.has_peer_port &&
	    q->req.peer_port != ev >> EV_PORT_SHIFT)
		return RC_VERDICT_drop_cnp;
	cc_on_notice(&q->req.cc, r->now);
	rc_wake_at(r, q, cc_deadline(&q->req.cc));
	return RC_VERDICT_rx_cnp;
}

/* Reads the packet in->rx into *in, which is zeros else. */
static enum rc_verdict receive(struct rc *r, struct rc_in *in)
{
	const struct rx_pkt *rx = in->rx;
	struct cursor c = cursor_of(rx->head);
	const uint8_t *bth = take(&c, bth_bytes);

	if (bth)
		bth_get(bth, &in->h.bth);
	if (rx->trimmed)
		return RC_VERDICT_drop_trimmed;
	if (!bth)
		return RC_VERDICT_drop_malformed;
	uint8_t opcode = in->h.bth.opcode;

	if (in->h.bth.tver != VERSION)
		return RC_VERDICT_drop_malformed;
	if (opcode >> SERVICE_BITS != 0 && opcode != ROCE_OP_CNP)
		return RC_VERDICT_drop_opcode;
	if (!roce_is_default_partition(in->h.bth.pkey))
		return RC_VERDICT_drop_pkey;
	struct rc_qp *q = rc_find(r, in->h.bth.dest_qp);

	if (!q)
		return RC_VERDICT_drop_qp;
	if (!is_state_right(q, opcode))
		return RC_VERDICT_drop_state;
	if (rx->peer != q->attr.peer || rx->local != q->attr.local)
		return RC_VERDICT_drop_stranger;
	if (!read_packet(in))
		return RC_VERDICT_drop_malformed;
	if (opcode == ROCE_OP_CNP)
		return on_notice(r, q, rx->ev);
	enum rc_verdict verdict =
		is_response(opcode) ? rc_on_response(r, q, in) : rc_on_request(r, q, in);

	if (r->cfg.is_cnp_port_checked)
		note_port(q, rx->ev, verdict);
	if (rx->ecn == ENGINE_ECN_CE && is_accepted(verdict) && q->state != ENGINE_ERROR) {
		r->count.rx_ecn++;
		rc_on_marked(r, q);
	}
	return verdict;
}

static void trace(const struct rc *r, const struct rc_in *in, enum rc_verdict verdict)
{
	const struct bth *bth = &in->h.bth;
	const struct traced_pkt p = {r->now, bth->dest_qp, bth->psn, in->payload.len, bth->opcode};
	const struct rc_qp *q = is_response(bth->opcode) ? rc_find(r, bth->dest_qp) : NULL;

	if (q)
		traced_answered(&r->cfg.trace, &p, in->rx, verdict,
				(struct traced_window){cc_grant(&q->req.cc).window_bytes,
						       q->progress.srtt_ns});
	else
		traced_received(&r->cfg.trace, &p, in->rx, verdict);
}

void rc_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n)
{
	struct rc *r = rc_of(e);

	r->now = now;
	for (uint32_t i = 0; i < n; i++) {
		r->count.rx++;
		struct rc_in in = {.rx = &pkts[i]};
		enum rc_verdict verdict = receive(r, &in);

		(*counter_of(r, verdict))++;
		if (trace_is_on(&r->cfg.trace))
			trace(r, &in, verdict);
	}
}
