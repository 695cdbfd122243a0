/* MRC's endpoint operations on the wire (7.3): EV probes and Port Status Updates that engines send
 * of their own accord, to queue pair 2 of a peer, and the answers to them. */
#include <stdlib.h>

#include "wire_mrc.h"

#define REQUEST_BYTES  16u
#define RESPONSE_BYTES 36u

enum { PORT_STATUS, EV_PROBE };

bool wire_is_reflected(const struct hunt_oracle *o, uint32_t host, const struct wire_reflected *r)
{
	bool has_time = plan_mrc(o->plan)->hosts[host].has_service_time;
	uint64_t held = has_time ? (r->now - r->at) >> WIRE_STAMP : 0;
	uint16_t want = (uint16_t)((r->has_stamp ? r->stamp : 0) + held);

	if (!r->has_stamp && held > UINT16_MAX)
		want = UINT16_MAX;
	return (uint16_t)(r->got - want + 1) <= 2;
}

/* Nobody knows what a host did before it restarted, or after something forged. */
static bool is_known(const struct hunt_oracle *o, uint32_t host)
{
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (o->plan->ends[e].host == host && o->ends[e].is_gone)
			return false;
	return wire_is_honest(o, host);
}

static void *grown(void *items, uint32_t *room, uint32_t n, size_t bytes)
{
	if (n < *room)
		return items;
	*room = 2 * n + 64;
	items = realloc(items, *room * bytes);
	if (!items)
		abort();
	return items;
}

/* Whether an end is one of a host's that speak to that peer. */
static bool is_between(const struct hunt_oracle *o, uint32_t end, uint32_t host, uint32_t peer)
{
	return o->plan->ends[end].host == host && o->plan->ends[end ^ 1].host == peer;
}

/* Calls for the EVs of a host's ends to a peer that a request took; returns how many. */
static uint32_t each_ev(struct hunt_oracle *o, uint32_t host, const struct wire_request *r,
			void (*call)(struct hunt_oracle *o, uint32_t end, uint32_t ev))
{
	uint32_t n = 0;

	for (uint32_t e = 0; e < o->plan->n_ends; e++) {
		const struct plan_mrc_evs *w = &wire_plan(o, e)->evs[wire_at(o, e)->turn];

		if (!is_between(o, e, host, r->peer))
			continue;
		for (uint32_t i = 0; i < w->n; i++)
			if (w->evs[i].value == r->ev && w->evs[i].port == r->port) {
				call(o, e, i);
				n++;
			}
	}
	return n;
}

static void sent_request(struct hunt_oracle *o, uint32_t host, nsec now, const struct wire_head *h,
			 const struct tx_pkt *tx)
{
	struct wire_station *s = wire_station(o, host);
	uint32_t ports = (1u << o->plan->shape.nic_ports) - 1;
	uint32_t mask = (uint32_t)wire_big(h->more + 4, 4);
	struct wire_request r = {
		.peer = tx->peer,
		.ev = tx->ev,
		.op = h->more[1] & 3,
		.port = tx->port,
		.is_open = true,
	};

	if (h->n_more != REQUEST_BYTES || h->more[0] || h->more[1] > EV_PROBE || h->more[2] ||
	    wire_big(h->more + 8, 4) || wire_big(h->more + 14, 2) != 1 ||
	    wire_big(h->more + 12, 2) != (uint16_t)(now >> WIRE_STAMP))
		oracle_fail(o, "h%u: the headers of an endpoint request are wrong", host);
	/* Ports are counted from 1 on the wire. */
	if (mask != (r.op == EV_PROBE ? 0 : (ports & ~s->down) << 1))
		oracle_fail(o, "h%u: ports %02x are up, it says", host, mask);
	s->requests = grown(s->requests, &s->request_room, h->psn, sizeof *s->requests);
	while (s->n_requests <= h->psn)
		s->requests[s->n_requests++] = (struct wire_request){0};
	if (s->requests[h->psn].is_open)
		oracle_fail(o, "h%u: endpoint request %u again", host, h->psn);
	s->requests[h->psn] = r;
	/* EV probes need no answer: only the round trip of an idle path is asked for by one. */
	if (r.op == EV_PROBE && !plan_mrc(o->plan)->hosts[host].has_base_probe)
		oracle_fail(o, "h%u: an EV probe that nobody wants", host);
	wire_met(o, r.op == EV_PROBE ? MET_BASE_PROBED : MET_PORTS_REPORTED);
}

static void sent_response(struct hunt_oracle *o, uint32_t host, nsec now, const struct wire_head *h,
			  const struct tx_pkt *tx)
{
	struct wire_station *s = wire_station(o, host);
	uint8_t op = h->more[1] >> 2 & 3;
	uint32_t i = 0;

	while (i < s->n_responses &&
	       (s->responses[i].peer != tx->peer || s->responses[i].ev != tx->ev ||
		s->responses[i].id != h->psn || s->responses[i].port != tx->port ||
		s->responses[i].op != op))
		i++;
	if (i == s->n_responses || h->n_more != RESPONSE_BYTES) {
		oracle_fail(o, "h%u: endpoint response %u that nobody asked for", host, h->psn);
		return;
	}
	const struct wire_response a = s->responses[i];

	s->responses[i] = s->responses[--s->n_responses];
	if (!wire_is_reflected(o, host,
			       &(struct wire_reflected){
				       .at = a.at,
				       .now = now,
				       .has_stamp = true,
				       .stamp = a.stamp,
				       .got = (uint16_t)wire_big(h->more + 28, 2),
			       }))
		oracle_fail(o, "h%u: endpoint response %u with the wrong timestamp", host, h->psn);
}

void wire_common_sent(struct hunt_oracle *o, uint32_t host, nsec now, const struct wire_head *h,
		      const struct tx_pkt *tx)
{
	bool is_request = h->opcode == COMMON_REQUEST;

	if (!is_request && h->opcode != COMMON_RESPONSE)
		oracle_fail(o, "h%u: opcode %02x to queue pair 2", host, h->opcode);
	if (tx->tclass != ENGINE_CONTROL || !tx->not_ect || tx->n_body > 0 || tx->udp_len != 0 ||
	    h->version != 0 || h->pkey != plan_mrc(o->plan)->hosts[host].pkey || h->se || h->pad ||
	    h->ts || h->ack_req || h->rtx || h->psn > UINT16_MAX)
		oracle_fail(o, "h%u: an endpoint packet with wrong headers", host);
	if (!is_known(o, host))
		return;
	if (is_request)
		sent_request(o, host, now, h, tx);
	else
		sent_response(o, host, now, h, tx);
}

/* The request came by its EV, as far as its host still has it. */
static void came_request(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx,
			 const struct wire_head *h)
{
	const struct wire_station *from = wire_station(o, rx->peer);

	if (h->psn < from->n_requests && from->requests[h->psn].ev == rx->ev &&
	    from->requests[h->psn].peer == host)
		each_ev(o, rx->peer, &from->requests[h->psn], wire_ev_arrived);
}

static void take_request(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx,
			 const struct wire_head *h)
{
	struct wire_station *s = wire_station(o, host);

	s->responses = grown(s->responses, &s->response_room, s->n_responses, sizeof *s->responses);
	s->responses[s->n_responses++] = (struct wire_response){
		.at = rx->at,
		.peer = rx->peer,
		.ev = rx->ev,
		.id = (uint16_t)h->psn,
		.stamp = (uint16_t)wire_big(h->more + 12, 2),
		.op = h->more[1] & 3,
		.port = rx->port,
	};
}

static void take_ports(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx,
		       const struct wire_head *h)
{
	uint32_t ports = (1u << o->plan->shape.nic_ports) - 1;
	uint32_t up = ports & (uint32_t)wire_big(h->more + 4, 4) >> 1;

	/* One that has no port up would not have said so. */
	if ((h->more[1] & 3) != PORT_STATUS || up == 0)
		return;
	struct wire_station *s = wire_station(o, host);

	/* Said once more of a port that was asked, and that nobody answered by, it is no news: that
	 * port is asked again when its time has come. */
	s->asked[rx->peer] &= s->peer_down[rx->peer];
	s->peer_down[rx->peer] = s->peer_said[rx->peer] = (uint8_t)(ports & ~up);
	s->said_at[rx->peer] = o->now(o->clock);
	s->has_doubts[rx->peer] |= s->peer_said[rx->peer] != 0;
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (is_between(o, e, host, rx->peer))
			wire_at(o, e)->peer_ports_down &= s->peer_down[rx->peer];
}

bool wire_doubts(const struct hunt_oracle *o, uint32_t end)
{
	return wire_station(o, o->plan->ends[end].host)->has_doubts[o->plan->ends[end ^ 1].host];
}

/* What was sent since the peer last spoke, it received by that port. What was sent before that
 * tells of a time before: it may count against what the peer said earlier still, or not. */
void wire_ports_unsure(struct hunt_oracle *o, uint32_t end)
{
	uint32_t host = o->plan->ends[end].host, peer = o->plan->ends[end ^ 1].host;

	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (is_between(o, e, host, peer))
			wire_at(o, e)->peer_ports_down = 0;
}

void wire_peer_answered(struct hunt_oracle *o, uint32_t end, const struct wire_probe *p)
{
	uint32_t host = o->plan->ends[end].host, peer = o->plan->ends[end ^ 1].host;
	struct wire_station *s = wire_station(o, host);
	uint8_t bit = (uint8_t)(1u << p->port);

	if (!(s->peer_down[peer] & bit))
		return;
	if (p->sent_at >= s->said_at[peer])
		s->peer_down[peer] &= (uint8_t)~bit;
	/* EVs by that port come back from now on. */
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (is_between(o, e, host, peer)) {
			wire_at(o, e)->peer_ports_down &= (uint8_t)~bit;
			wire_fault(o, e);
		}
}

static void take_response(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx,
			  const struct wire_head *h)
{
	struct wire_station *s = wire_station(o, host);
	struct wire_request *r = h->psn < s->n_requests ? &s->requests[h->psn] : NULL;

	if (!r || !r->is_open || r->peer != rx->peer || r->op != (h->more[1] >> 2 & 3))
		oracle_fail(o, "h%u: took endpoint response %u, which it did not ask for", host,
			    h->psn);
	else
		r->is_open = false;
}

void oracle_mrc_common(struct hunt_oracle *o, uint32_t host, const struct rx_pkt *rx,
		       const struct hunt_counts *before, const struct hunt_counts *after)
{
	const struct wire_station *s = wire_station(o, host);
	bool is_request = after->more[MET_COMMON] != before->more[MET_COMMON];
	bool is_response = after->more[MET_COMMON_RE] != before->more[MET_COMMON_RE];
	struct wire_head h;

	if (!wire_read(rx->head, &h))
		return;
	if (h.opcode == COMMON_REQUEST && rx->peer < o->plan->topology.n_hosts)
		came_request(o, host, rx, &h);
	if (is_request && h.n_more == REQUEST_BYTES)
		take_ports(o, host, rx, &h);
	/* A window hears of a round trip, also where something forged came to another end of its
	 * host. */
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (is_response && o->plan->ends[e].host == host && !o->ends[e].is_tainted)
			wire_evs_on_answer(o, e);
	if (!is_known(o, host))
		return;
	uint32_t bytes = h.n_more + rx->body[0].len + rx->body[1].len;
	bool is_whole = h.version == 0 && !rx->trimmed &&
			((h.opcode == COMMON_REQUEST && bytes == REQUEST_BYTES) ||
			 (h.opcode == COMMON_RESPONSE && bytes == RESPONSE_BYTES));
	bool is_full = s->n_responses >= plan_mrc(o->plan)->hosts[host].max_probes;
	bool is_down = s->down >> rx->port & 1;

	if ((is_request || is_response) && !is_whole)
		oracle_fail(o, "h%u: took a damaged endpoint packet", host);
	if (is_request && is_down)
		oracle_fail(o, "h%u: took an endpoint request by a port that is down", host);
	if (!is_request && is_whole && h.opcode == COMMON_REQUEST && !is_full && !is_down)
		oracle_fail(o, "h%u: did not take endpoint request %u", host, h.psn);
	if (is_request && is_whole)
		take_request(o, host, rx, &h);
	if (is_response && is_whole)
		take_response(o, host, rx, &h);
}

void wire_common_rest(struct hunt_oracle *o, uint32_t host)
{
	if (is_known(o, host) && wire_station(o, host)->n_responses > 0)
		oracle_fail(o, "h%u: %u endpoint responses were never sent", host,
			    wire_station(o, host)->n_responses);
}
