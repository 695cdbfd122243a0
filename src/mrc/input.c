/* What every packet must pass before requestor, responder or the endpoint look at it
 * (6.3.1, 7.5.3): nothing changes here but counters. */
#include "mrc/state.h"

#define VERSION 0u
#define GROUP   64u /* packets that are looked at together */

/* The counter of a verdict. */
static uint64_t *counter_of(struct mrc *m, enum mrc_verdict verdict)
{
	static const size_t offsets[] = {
#define MRC_VERDICT_OFFSET(name, text) offsetof(struct mrc_counters, name),
		MRC_ACCEPTED(MRC_VERDICT_OFFSET) MRC_DROPS(MRC_VERDICT_OFFSET)
#undef MRC_VERDICT_OFFSET
	};

	return (void *)((uint8_t *)&m->count + offsets[verdict]);
}

static bool is_accepted(enum mrc_verdict verdict)
{
	return verdict < MRC_VERDICT_drop_malformed;
}

static bool is_endpoint(uint8_t opcode)
{
	return opcode == MRC_OP_ENDPOINT_REQUEST || opcode == MRC_OP_ENDPOINT_RESPONSE;
}

static bool is_answer(uint8_t opcode)
{
	return opcode == MRC_OP_SACK || opcode == MRC_OP_NACK || opcode == MRC_OP_ACKNOWLEDGE;
}

/* Where RC has its responses (IBTA table 38, 0x0d to 0x12), and where MRC has its control packets
 * (Table 6-2, from 0xd8 on). An opcode there that is not assigned asks us for nothing that could be
 * refused. */
static bool is_control_place(uint8_t opcode)
{
	return (opcode >= 0xcd && opcode <= 0xd2) || opcode >= 0xd8;
}

/* Which states take which packets (IBTA 10.3.1, table 91): the receiving side works from MRC_RTR
 * on, the sending side from MRC_RTS on. */
static bool is_state_right(const struct mrc_qp *q, uint8_t opcode)
{
	return is_answer(opcode) ? engine_is_sending(q->state) : engine_is_receiving(q->state);
}

/* Reads all headers behind a base transport header that is good. What a switch left of a
 * trimmed packet's payload is offered to nobody (7.5.3), and only data is ever cut; any kind may be
 * marked as trimmed and be whole (M-48). The padding field of control packets is ignored (Table
 * 7-11), and nothing follows their headers. */
static bool read_packet(struct mrc_in *in, struct cursor *c)
{
	const struct rx_pkt *rx = in->rx;
	bool is_cut = rx->trimmed && !rx->is_uncut;
	enum wire_drop why = mrc_rest_get(c, is_cut, &in->h, NULL).why;

	in->is_foreign = why == WIRE_DROP_OPCODE;
	if (in->is_foreign) {
		in->h.has = 0;
		return !rx->trimmed;
	}
	if (why != WIRE_DROP_NONE)
		return false;
	if (is_cut)
		return true;
	if (in->h.has & MRC_PAYLOAD)
		return engine_cut_in(&in->payload, rx, cursor_rest(c), in->h.bth.pad);
	return cursor_left(c) == 0 && engine_body_bytes(rx) == 0;
}

static enum mrc_verdict receive_endpoint(struct mrc *m, struct mrc_in *in, struct cursor *c)
{
	if (in->h.bth.dest_qp != MRC_ENDPOINT_QP)
		return MRC_VERDICT_drop_qp;
	if (!read_packet(in, c))
		return MRC_VERDICT_drop_malformed;
	return in->h.bth.opcode == MRC_OP_ENDPOINT_REQUEST ? mrc_on_endpoint_request(m, in)
							   : mrc_on_endpoint_response(m, in);
}

/* q is the queue pair that the packet in->rx names; NULL: there is none. Reads it into *in. */
static enum mrc_verdict receive(struct mrc *m, struct mrc_in *in, struct mrc_qp *q)
{
	const struct rx_pkt *rx = in->rx;
	struct cursor c = cursor_of(rx->head);
	const uint8_t *bth = take(&c, mrc_bth_bytes);

	in->payload.n = in->payload.len = 0;
	if (!bth) {
		in->h.bth = (struct mrc_bth){0};
		return MRC_VERDICT_drop_malformed;
	}
	mrc_bth_get(bth, &in->h.bth);
	uint8_t opcode = in->h.bth.opcode;

	if (in->h.bth.tver != VERSION)
		return MRC_VERDICT_drop_version;
	if (!mrc_opcode_is_ours(opcode))
		return MRC_VERDICT_drop_opcode;
	if (mrc_has_partition(opcode) && !roce_is_default_partition(in->h.bth.pkey))
		return MRC_VERDICT_drop_pkey;
	if (is_endpoint(opcode))
		return receive_endpoint(m, in, &c);
	if (!q)
		return MRC_VERDICT_drop_qp;
	if (!is_state_right(q, opcode))
		return MRC_VERDICT_drop_state;
	if (rx->peer != q->attr.peer)
		return MRC_VERDICT_drop_stranger;
	if (!read_packet(in, &c))
		return mrc_on_malformed(m, q, in);
	switch (opcode) {
	case MRC_OP_SACK: return mrc_on_sack(m, q, in);
	case MRC_OP_NACK:
		/* What a reserved reason will once ask for is not known (Table 7-17). */
		return mrc_nack_name(in->h.neth.nack_reason) ? mrc_on_nack(m, q, in)
							     : MRC_VERDICT_drop_malformed;
	case MRC_OP_ACKNOWLEDGE: return mrc_on_ack(m, q, in);
	case MRC_OP_PROBE_REQUEST: return mrc_on_probe(m, q, in);
	default:
		return in->is_foreign && is_control_place(opcode) ? MRC_VERDICT_drop_opcode
								  : mrc_on_data(m, q, in);
	}
}

/* The queue pairs of packets, NULL where there is none. With many of them they are cold: fetched
 * all at once they come while others are worked on. Most packets follow one of the same. */
static void find_all(const struct mrc *m, const struct rx_pkt *pkts, uint32_t n,
		     struct mrc_qp **found)
{
	struct mrc_qp *q = NULL;
	uint32_t last = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++) {
		struct mrc_bth bth;

		found[i] = NULL;
		if (pkts[i].head.len < mrc_bth_bytes)
			continue;
		mrc_bth_get(pkts[i].head.at, &bth);
		if (bth.dest_qp != last) {
			last = bth.dest_qp;
			q = mrc_find(m, last);
			if (q && is_answer(bth.opcode))
				mrc_fetch(&q->req, sizeof q->req);
			else if (q)
				mrc_fetch(&q->resp, sizeof q->resp);
		}
		found[i] = q;
	}
}

static void trace(const struct mrc *m, const struct mrc_in *in, const struct mrc_qp *q,
		  enum mrc_verdict verdict)
{
	const struct mrc_bth *bth = &in->h.bth;
	const struct traced_pkt p = {m->now, bth->dest_qp, bth->psn, in->payload.len, bth->opcode};

	if (is_answer(bth->opcode) && q)
		traced_answered(
			&m->cfg.trace, &p, in->rx, verdict,
			(struct traced_window){cc_grant(&q->req.cc).window_bytes, q->req.srtt});
	else
		traced_received(&m->cfg.trace, &p, in->rx, verdict);
}

static void receive_group(struct mrc *m, const struct rx_pkt *pkts, uint32_t n)
{
	struct mrc_qp *found[GROUP];

	find_all(m, pkts, n, found);
	for (uint32_t i = 0; i < n; i++) {
		struct mrc_in in;

		in.rx = &pkts[i];
		enum mrc_verdict verdict = receive(m, &in, found[i]);

		m->count.rx++;
		(*counter_of(m, verdict))++;
		if (pkts[i].ecn == ENGINE_ECN_CE && is_accepted(verdict))
			m->count.rx_ecn++;
		if (trace_is_on(&m->cfg.trace))
			trace(m, &in, found[i], verdict);
	}
}

void mrc_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n)
{
	struct mrc *m = mrc_of(e);

	m->now = now;
	for (uint32_t at = 0; at < n; at += GROUP)
		receive_group(m, pkts + at, n - at < GROUP ? n - at : GROUP);
}
