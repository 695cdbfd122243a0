/* Endpoint operations (7.3): EV probes and port status updates, asked and answered on queue pair 2,
 * connectionless and best effort. What waits and what is out is in endpoint_queue.c. */
#include <assert.h>

#include "mrc/state.h"

/* Bit n of a port status mask is port n, counted from 1 (M-29): bit 0 is nobody's. */
#define FIRST_PORT 1u

/* Where a peer's port update goes: over an older one of that peer, or behind the others; NULL: too
 * many peers told of theirs. */
static struct mrc_endpoint_done *port_place(struct mrc_endpoints *ends, const struct rx_pkt *rx)
{
	uint32_t i = 0;

	while (i < ends->n_ports && ends->ports[i].peer != rx->peer)
		i++;
	return i < MRC_PORT_UPDATES ? &ends->ports[i] : NULL;
}

static void report_ports(struct mrc_endpoints *ends, struct mrc_endpoint_done *place,
			 const struct mrc_in *in)
{
	if (place == &ends->ports[ends->n_ports])
		ends->n_ports++;
	*place = (struct mrc_endpoint_done){
		.news = MRC_ENDPOINT_PORTS,
		.op = MRC_ENDPOINT_PORT_STATUS,
		.peer = in->rx->peer,
		.local = in->rx->local,
		.ev = in->rx->ev,
		.port = in->rx->port,
		.port_status = in->h.erth.port_status_mask >> FIRST_PORT,
	};
}

/* The response goes back by the port that the request came in by, with its entropy: the responder
 * chooses it (Table 7-6), and this one just worked. */
enum mrc_verdict mrc_on_endpoint_request(struct mrc *m, const struct mrc_in *in)
{
	struct mrc_endpoints *ends = &m->endpoints;
	const struct rx_pkt *rx = in->rx;
	const struct erth *erth = &in->h.erth;
	bool is_peer = mrc_next_with_peer(m, rx->peer, NULL);
	struct mrc_endpoint_done *place = NULL;

	if (erth->op > MRC_ENDPOINT_EV_PROBE)
		return MRC_VERDICT_drop_opcode;
	/* By a port that is said to be down nothing goes back. */
	if (rx->port < m->cfg.n_ports && m->ports_down >> rx->port & 1)
		return MRC_VERDICT_drop_state;
	if (erth->op == MRC_ENDPOINT_PORT_STATUS && !(place = port_place(ends, rx)))
		return MRC_VERDICT_drop_busy;
	struct mrc_response *r = pool_get(&ends->responses);

	if (!r)
		return MRC_VERDICT_drop_busy;
	if (!mrc_endpoint_may_answer(m, is_peer)) {
		pool_put(&ends->responses, r);
		return MRC_VERDICT_drop_rate;
	}
	*r = (struct mrc_response){
		.arrived = rx->at,
		.peer = rx->peer,
		.local = rx->local,
		.ev = rx->ev,
		.id = (uint16_t)in->h.bth.psn,
		.stamp = erth->tx_timestamp,
		.op = erth->op,
		.port = rx->port < m->cfg.n_ports ? rx->port : 0,
		.has_stamp = erth->ftype == MRC_FTYPE_TIMESTAMP,
		.is_stamp_ours = erth->tsr == 0,
	};
	mrc_response_queue(ends, r);
	if (place) {
		report_ports(ends, place, in);
		mrc_on_peer_ports(m, rx->peer, erth->port_status_mask >> FIRST_PORT);
	}
	return MRC_VERDICT_rx_endpoint;
}

/* What the peer says that it took of the time between sending and arrival: our timestamp comes back
 * later by that (Table 7-23). One longer than all of it is not believed. */
static nsec service_time(const struct mrc_request *r, const struct mrc_in *in, nsec whole)
{
	uint16_t later = (uint16_t)(in->h.eeth.tx_timestamp - mrc_stamp(r->sent_at));
	nsec held = r->what.has_service_time ? (nsec)later << MRC_STAMP_SHIFT : 0;

	return held <= whole ? held : 0;
}

/* Only BTH.PSN[15:0] is the identifier. */
enum mrc_verdict mrc_on_endpoint_response(struct mrc *m, const struct mrc_in *in)
{
	struct mrc_endpoints *ends = &m->endpoints;
	uint16_t id = (uint16_t)in->h.bth.psn;
	struct mrc_request *r = ends->by_id[id & ends->id_mask];

	if (!r || r->id != id || !r->is_sent || r->what.op != in->h.eeth.op ||
	    mrc_is_path_probe(r->own))
		return MRC_VERDICT_drop_unasked;
	if (r->what.peer != in->rx->peer)
		return MRC_VERDICT_drop_stranger;
	nsec whole = in->rx->at > r->sent_at ? in->rx->at - r->sent_at : 0;
	nsec held = service_time(r, in, whole), rtt_ns = whole - held;

	if (!r->own) {
		struct mrc_endpoint_done *done = mrc_endpoint_end(m, r, MRC_ENDPOINT_ANSWERED);

		done->port = in->rx->port;
		done->is_adjusted = held > 0;
		done->rtt_ns = rtt_ns;
		return MRC_VERDICT_rx_endpoint_re;
	}
	const struct mrc_request was = *r;

	list_remove(&r->owner->req.own_probes, &r->own_link);
	mrc_endpoint_withdraw(m, r);
	mrc_ask_answered(m, &was, rtt_ns);
	return MRC_VERDICT_rx_endpoint_re;
}

/* What every endpoint packet is, of whichever opcode and id. */
static void finish(const struct mrc *m, struct mrc_pkt *h, struct tx_pkt *tx)
{
	h->bth.dest_qp = MRC_ENDPOINT_QP;
	h->bth.pkey = m->cfg.pkey;
	tx->head_len = (uint16_t)mrc_head_put(h, (struct span){tx->head, ENGINE_HEAD_MAX});
	assert(tx->head_len > 0);
	tx->not_ect = tx->tclass == ENGINE_CONTROL;
	mrc_trace_sent(m, MRC_ENDPOINT_QP, &h->bth, 0, tx, false);
}

static void fill_request(struct mrc *m, const struct mrc_request *r, struct tx_pkt *tx)
{
	bool is_probe = r->what.op == MRC_ENDPOINT_EV_PROBE;
	struct mrc_pkt h = {
		.bth = {.opcode = MRC_OP_ENDPOINT_REQUEST, .psn = r->id},
		.erth = {.op = r->what.op,
			 .port_status_mask = is_probe ? 0 : r->what.port_status << FIRST_PORT,
			 .tx_timestamp = mrc_stamp(m->now),
			 .ftype = MRC_FTYPE_TIMESTAMP},
	};

	tx->tclass = is_probe ? r->what.tclass : ENGINE_CONTROL;
	tx->port = (uint8_t)r->what.ev.port;
	tx->ev = r->what.ev.value;
	tx->peer = r->what.peer;
	tx->local = r->what.local;
	finish(m, &h, tx);
	m->count.tx_endpoint++;
}

static void put_request(struct mrc *m, struct mrc_endpoint_queue *queue, struct tx_pkt *tx)
{
	struct mrc_request *r = mrc_request_leave(m, queue);

	if (mrc_is_path_probe(r->own)) {
		r->probe_id = mrc_put_probe(m, r->owner, &r->what.ev, tx);
		mrc_put_class(r->owner, tx);
		m->count.tx_fault_probe++;
	} else {
		fill_request(m, r, tx);
	}
	if (r->own)
		mrc_ask_sent(m, r);
}

static void put_response(struct mrc *m, struct mrc_endpoint_queue *queue, struct tx_pkt *tx)
{
	struct mrc_response *r = queue->response_head;
	struct mrc_reflected reflected = {r->arrived, r->stamp, r->has_stamp, r->is_stamp_ours};
	struct mrc_pkt h = {
		.bth = {.opcode = MRC_OP_ENDPOINT_RESPONSE, .psn = r->id},
		.eeth = {.op = r->op, .tx_timestamp = mrc_reflect(m, &reflected)},
	};

	queue->response_head = r->next;
	tx->tclass = ENGINE_CONTROL;
	tx->port = r->port;
	tx->ev = r->ev;
	tx->peer = r->peer;
	tx->local = r->local;
	finish(m, &h, tx);
	pool_put(&m->endpoints.responses, r);
	m->count.tx_endpoint_re++;
}

/* Requests of a port go in their order: the first may be a probe, which goes where data does, and
 * those behind it then wait as well. A probe with a DSCP of its own asks how data fares. */
static uint32_t ports_of_request(const struct mrc_request *r, uint32_t may)
{
	bool is_data = mrc_is_path_probe(r->own) ||
		       (r->what.op == MRC_ENDPOINT_EV_PROBE && r->what.tclass != ENGINE_CONTROL);

	return is_data ? engine_data_ports(may) : engine_ports_of(may, ENGINE_CONTROL);
}

static bool may_request(const struct mrc_endpoint_queue *queue, uint32_t port, uint32_t may)
{
	return queue->request_head && ports_of_request(queue->request_head, may) >> port & 1;
}

static bool may_respond(const struct mrc_endpoint_queue *queue, uint32_t port, uint32_t may)
{
	return queue->response_head && engine_ports_of(may, ENGINE_CONTROL) >> port & 1;
}

/* The ports by which something may go. */
static uint32_t open_ports(const struct mrc_endpoints *ends, uint32_t may)
{
	uint32_t open = 0;

	for (uint32_t left = ends->waiting; left; left &= left - 1) {
		uint32_t port = (uint32_t)__builtin_ctz(left);
		const struct mrc_endpoint_queue *queue = &ends->wait[port];

		if (may_request(queue, port, may) || may_respond(queue, port, may))
			open |= UINT32_C(1) << port;
	}
	return open;
}

bool mrc_endpoint_waits(const struct mrc *m, uint32_t may)
{
	return open_ports(&m->endpoints, may) != 0;
}

/* Ports take turns, and so do requests and responses of a port. */
bool mrc_endpoint_next(struct mrc *m, uint32_t may, struct tx_pkt *tx)
{
	struct mrc_endpoints *ends = &m->endpoints;
	uint32_t ports = open_ports(ends, may);

	if (!ports)
		return false;
	uint32_t later = ports & -(UINT32_C(1) << ends->next_port);
	uint32_t port = (uint32_t)__builtin_ctz(later ? later : ports);
	struct mrc_endpoint_queue *queue = &ends->wait[port];

	if (may_request(queue, port, may) &&
	    (ends->is_request_next || !may_respond(queue, port, may)))
		put_request(m, queue, tx);
	else
		put_response(m, queue, tx);
	ends->is_request_next = !ends->is_request_next;
	ends->next_port = (uint8_t)((port + 1) % ENGINE_PORTS);
	if (!queue->request_head && !queue->response_head)
		ends->waiting &= ~(UINT32_C(1) << port);
	return true;
}
