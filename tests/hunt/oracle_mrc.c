/* MRC as it shows on the wire, from OCP MRC 1.0 sections 6 and 7 alone, with the resolutions M-..:
 * which packet may carry which number, what it must look like, and who was told what. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire_mrc.h"

#define BTH 12u

int oracle_mrc_new(struct hunt_oracle *o)
{
	const struct hunt_plan *s = o->plan;
	struct wire *wire = calloc(1, sizeof *wire);

	o->wire = wire;
	if (wire)
		odd_mrc_begin(o);
	for (uint32_t e = 0; e < s->n_ends && wire; e++) {
		const struct hunt_end *own = &s->ends[e];
		const struct hunt_work *last = &s->works[own->first_work + own->n_works];
		struct wire_ask *ask = &wire->ends[e].ask;
		struct wire_give *give = &wire->ends[e].give;
		uint8_t dest = wire_plan(o, e ^ 1)->mpr, most = wire_plan(o, e)->max_mpr;

		ask->n_pkts = own->n_works ? last[-1].first + last[-1].n_pkts : 0;
		ask->pkts = calloc(ask->n_pkts + 1, sizeof *ask->pkts);
		ask->range = (dest < most ? dest : most) * PLAN_MRC_RANGE;
		give->mpr = wire_plan(o, e)->mpr;
		give->range = give->mpr * PLAN_MRC_RANGE;
		give->promised = give->range;
		give->lowest = -1;
		for (uint32_t i = 0; i < s->n_recvs; i++)
			give->n_recvs += s->recvs[i].end == e;
		if (!ask->pkts)
			return -ENOMEM;
		wire->ends[e].denied_ports = wire_plan(o, e)->denied_ports;
		wire_evs_begin(o, e);
	}
	return wire ? 0 : -ENOMEM;
}

void oracle_mrc_free(struct hunt_oracle *o)
{
	for (uint32_t e = 0; e < HUNT_ENDS && o->wire; e++) {
		free(wire_at(o, e)->ask.pkts);
		free(wire_at(o, e)->give.answers);
	}
	for (uint32_t h = 0; h < HUNT_HOSTS && o->wire; h++) {
		free(wire_station(o, h)->requests);
		free(wire_station(o, h)->responses);
	}
	free(o->wire);
}

uint64_t wire_big(const uint8_t *at, uint32_t n)
{
	uint64_t value = 0;

	while (n-- > 0)
		value = value << 8 | *at++;
	return value;
}

bool wire_read(struct cspan bytes, struct wire_head *h)
{
	if (!bytes.at || bytes.len < BTH)
		return false;
	*h = (struct wire_head){
		.opcode = bytes.at[0],
		.se = bytes.at[1] >> 7,
		.pad = bytes.at[1] >> 4 & 3,
		.version = bytes.at[1] & 15,
		.pkey = (uint16_t)wire_big(bytes.at + 2, 2),
		.qp = (uint32_t)wire_big(bytes.at + 5, 3),
		.ack_req = bytes.at[8] >> 7,
		.rtx = bytes.at[8] >> 5 & 1,
		.ts = bytes.at[8] >> 4 & 1,
		.psn = (uint32_t)wire_big(bytes.at + 9, 3),
		.more = bytes.at + BTH,
		.n_more = bytes.len - BTH,
	};
	return true;
}

bool wire_is_data(uint8_t opcode)
{
	return opcode >= WRITE_FIRST && opcode <= WRITE_ONLY_IMM;
}

bool wire_stamp(const struct wire_head *h, uint16_t *stamp)
{
	uint32_t at = h->opcode == PROBE ? 12 : 4;

	*stamp = 0;
	if ((h->opcode != PROBE && !h->ts) || h->n_more < at + 4 || (h->more[at + 3] & 15) != 1)
		return false;
	*stamp = (uint16_t)wire_big(h->more + at, 2);
	return true;
}

static const char *name_of(uint8_t opcode)
{
	static const char *const writes[] = {"WRITE first",    "WRITE middle", "WRITE last",
					     "WRITE last imm", "WRITE only",   "WRITE only imm"};

	if (wire_is_data(opcode))
		return writes[opcode - WRITE_FIRST];
	switch (opcode) {
	case ACKNOWLEDGE: return "ACK";
	case SACK: return "SACK";
	case NACK: return "NACK";
	case PROBE: return "PROBE";
	case COMMON_REQUEST: return "endpoint request";
	case COMMON_RESPONSE: return "endpoint response";
	default: return "?";
	}
}

void oracle_mrc_print(struct cspan bytes, uint32_t payload, char *text, size_t text_len)
{
	struct wire_head h;
	const uint8_t *m;

	if (!wire_read(bytes, &h)) {
		snprintf(text, text_len, "%u bytes", bytes.len);
		return;
	}
	m = h.more;
	int n = snprintf(text, text_len, "%s qp %u psn %u, %u B%s%s", name_of(h.opcode), h.qp,
			 h.psn, payload, h.ack_req ? ", asks" : "", h.rtx ? ", again" : "");

	text += n;
	text_len -= (size_t)n;
	if (h.opcode == ACKNOWLEDGE && h.n_more >= 4)
		snprintf(text, text_len, ": %s %u, msn %u", m[0] >> 5 & 3 ? "NAK" : "ACK",
			 m[0] & 31u, (unsigned)wire_big(m + 1, 3));
	if (h.opcode == SACK && h.n_more >= 36)
		snprintf(text, text_len,
			 ": cack %u, %s %d, mpr %u, map %+d %016" PRIx64 ", %u early%s",
			 (unsigned)wire_big(m + 13, 3), m[1] & 2 ? "probe" : "packet",
			 (int16_t)wire_big(m + 2, 2), m[17], (int16_t)wire_big(m + 18, 2),
			 wire_big(m + 20, 8), (unsigned)wire_big(m + 30, 2),
			 m[1] & 0x60 ? ", marked" : "");
	if (h.opcode == NACK && h.n_more >= 20)
		snprintf(text, text_len, ": reason %u", m[2]);
	if (h.opcode == PROBE && h.n_more >= 16)
		snprintf(text, text_len, ": id %u", (unsigned)wire_big(m + 4, 2));
}

uint32_t oracle_mrc_end_of(const struct hunt_plan *s, uint32_t host, struct cspan bytes)
{
	struct wire_head h;

	if (!wire_read(bytes, &h))
		return HUNT_NOTHING;
	return h.qp == WIRE_COMMON ? HUNT_ALL : hunt_find_end(s, host, h.qp);
}

uint64_t wire_count(const struct hunt_oracle *o, uint32_t end, uint32_t psn, uint64_t near)
{
	uint32_t ahead = (psn - o->plan->ends[end].psn - (uint32_t)near) % WIRE_NUMBERS;

	if (ahead < WIRE_HALF)
		return near + ahead;
	return near >= WIRE_NUMBERS - ahead ? near - (WIRE_NUMBERS - ahead) : WIRE_NO_COUNT;
}

bool wire_is_dead(const struct hunt_oracle *o, uint32_t end)
{
	const struct oracle_end *e = &o->ends[end];

	return e->has_failed || e->has_fallen || e->is_gone || o->has_ended ||
	       wire_at(o, end)->give.is_closed;
}

bool oracle_mrc_is_reported(const struct hunt_oracle *o, uint32_t end, uint32_t work)
{
	const struct hunt_work *w = &o->plan->works[work];

	const struct wire_ask *ask = &wire_at(o, end)->ask;

	return ask->executed_pkts >= w->first + w->n_pkts ||
	       work - o->plan->ends[end].first_work < ask->executed;
}

uint32_t oracle_mrc_packet_of(const struct hunt_oracle *o, uint32_t end, const struct rx_pkt *rx,
			      uint32_t *i)
{
	struct wire_head h;

	if (!wire_read(rx->head, &h) || !wire_is_data(h.opcode))
		return HUNT_NOTHING;
	uint64_t count = wire_count(o, end ^ 1, h.psn, wire_at(o, end)->give.expected);
	uint32_t work = oracle_work_at(o, end ^ 1, count);

	if (work != HUNT_NOTHING)
		*i = (uint32_t)(count - o->plan->works[work].first);
	return work;
}

/* What every packet has: where it goes, by which of its end's EVs, in which class (Table 7-8). */
static void check_common(struct hunt_oracle *o, uint32_t end, const struct wire_head *h,
			 const struct tx_pkt *tx)
{
	const struct plan_mrc_end *e = wire_plan(o, end);
	bool is_answer = h->opcode == SACK || h->opcode == NACK || h->opcode == ACKNOWLEDGE;
	uint8_t tclass = is_answer                                     ? ENGINE_CONTROL
			 : wire_is_data(h->opcode) && !e->is_trimmable ? ENGINE_NO_TRIM
			 : h->rtx                                      ? ENGINE_RETX
								       : ENGINE_DATA;

	if (is_answer)
		wire_evs_answer(o, end, tx);
	else if (h->opcode == PROBE)
		wire_evs_probe(o, end, tx);
	else
		wire_evs_request(o, end, tx, h->rtx);
	/* Control packets carry what their host was given, all others their partition (M-04). */
	bool is_control = is_answer && h->opcode != ACKNOWLEDGE;
	uint16_t pkey = is_control || h->opcode == PROBE ? wire_host(o, end)->pkey : 0xffff;

	if (h->pkey != pkey || h->version != 0)
		oracle_fail(o, "end %u: wrong partition or version", end);
	if (tx->tclass != tclass || !!tx->not_ect != is_answer)
		oracle_fail(o, "end %u: %s in class %u", end, name_of(h->opcode), tx->tclass);
	if (!wire_is_data(h->opcode) && (h->se || h->pad || h->ts || h->ack_req || tx->n_body > 0))
		oracle_fail(o, "end %u: %s with flags or payload", end, name_of(h->opcode));
}

void oracle_mrc_output(struct hunt_oracle *o, uint32_t host, nsec now, const struct tx_pkt *tx)
{
	struct wire_head h = {0};
	uint32_t peer = HUNT_NOTHING;

	wire_port_used(o, host, tx->port);
	if (wire_read((struct cspan){tx->head, tx->head_len}, &h))
		peer = hunt_find_end(o->plan, tx->peer, h.qp);
	if (h.qp == WIRE_COMMON) {
		wire_common_sent(o, host, now, &h, tx);
		return;
	}
	if (peer == HUNT_NOTHING || o->plan->ends[peer ^ 1].host != host) {
		oracle_fail(o, "h%u: a packet to nobody", host);
		return;
	}
	uint32_t end = peer ^ 1;

	if (o->ends[end].is_gone)
		oracle_fail(o, "end %u: a packet from a life before", end);
	check_common(o, end, &h, tx);
	if (o->ends[end].is_tainted)
		return;
	if (wire_is_data(h.opcode))
		wire_ask_data(o, end, now, &h, tx);
	else if (h.opcode == PROBE)
		wire_ask_probe(o, end, now, &h, tx);
	else if (h.opcode == SACK || h.opcode == NACK || h.opcode == ACKNOWLEDGE)
		wire_give_answer(o, end, now, &h, tx);
	else
		oracle_fail(o, "end %u: opcode %02x", end, h.opcode);
}

/* Something of an end's came by an EV with this entropy: any that has it may be well. */
static void came_by(struct hunt_oracle *o, uint32_t end, uint32_t ev)
{
	const struct plan_mrc_evs *w = &wire_plan(o, end)->evs[wire_at(o, end)->turn];

	for (uint32_t i = 0; i < w->n; i++)
		if (w->evs[i].value == ev)
			wire_ev_arrived(o, end, i);
}

void oracle_mrc_input(struct hunt_oracle *o, uint32_t host, nsec now, const struct rx_pkt *rx)
{
	uint32_t end = oracle_mrc_end_of(o->plan, host, rx->head);
	struct wire_coming *c;

	if (end >= HUNT_ENDS)
		return;
	c = &wire_at(o, end)->coming;
	*c = (struct wire_coming){
		.rx = rx, .now = now, .may = 1u << WIRE_DROPPED, .ev = WIRE_NO_EV};
	if (o->ends[end].is_tainted)
		wire_ports_unsure(o, end);
	if (o->ends[end].is_tainted || !wire_read(rx->head, &c->h)) {
		c->rx = NULL;
		return;
	}

	if (wire_is_data(c->h.opcode) || c->h.opcode == PROBE)
		came_by(o, end ^ 1, rx->ev);
	if (wire_is_data(c->h.opcode))
		wire_at(o, end ^ 1)->came_at = o->now(o->clock);
	/* Only data is ever cut, and its base header is left (M-49). */
	if (wire_is_dead(o, end) || c->h.version != 0 || rx->peer != o->plan->ends[end ^ 1].host ||
	    (rx->trimmed && !rx->is_uncut && !wire_is_data(c->h.opcode)))
		return;
	if (wire_is_data(c->h.opcode) || c->h.opcode == PROBE)
		wire_give_expect(o, end);
	else if (c->h.opcode == SACK || c->h.opcode == NACK || c->h.opcode == ACKNOWLEDGE)
		wire_ask_expect(o, end);
}

/* What the engine says became of it. */
static uint32_t verdict_of(const struct hunt_counts *before, const struct hunt_counts *after)
{
	for (uint32_t i = MET_DATA; i <= MET_NAK; i++)
		if (after->more[i] != before->more[i])
			return i;
	return WIRE_DROPPED;
}

void oracle_mrc_taken(struct hunt_oracle *o, uint32_t end, const struct hunt_counts *before,
		      const struct hunt_counts *after)
{
	struct wire_coming *c = &wire_at(o, end)->coming;
	uint32_t verdict = verdict_of(before, after);
	const char *const *names = o->transport->more;

	if (!c->rx)
		return;
	if (!(c->may >> verdict & 1)) {
		oracle_fail(o, "end %u: what became of %s psn %u%s is: %s (%x)", end,
			    name_of(c->h.opcode), c->h.psn, c->rx->trimmed ? ", trimmed," : "",
			    verdict == WIRE_DROPPED ? "dropped" : names[verdict], c->may);
		return;
	}
	if (o->was_placed && verdict != MET_DATA)
		oracle_fail(o, "end %u: %s psn %u was placed, and is: %s", end,
			    name_of(c->h.opcode), c->h.psn,
			    verdict == WIRE_DROPPED ? "dropped" : names[verdict]);
	if (verdict == WIRE_DROPPED && !(c->may & ~(1u << WIRE_DROPPED)))
		return;
	if (wire_is_data(c->h.opcode) || c->h.opcode == PROBE)
		wire_give_taken(o, end, verdict);
	else if (verdict != WIRE_DROPPED)
		wire_ask_on_answer(o, end);
	/* A loss that was told of at the same time may have changed more. */
	if (after->more[MET_LOST_GAP] == before->more[MET_LOST_GAP] &&
	    after->more[MET_LOST_PROBE] == before->more[MET_LOST_PROBE])
		wire_ev_marked(o, end, c->ev);
	wire_evs_on_answer(o, end);
	c->rx = NULL;
}

void oracle_mrc_at_rest(struct hunt_oracle *o)
{
	for (uint32_t h = 0; h < o->plan->topology.n_hosts; h++)
		wire_common_rest(o, h);
	for (uint32_t e = 0; e < o->plan->n_ends; e++) {
		const struct wire_give *g = &wire_at(o, e)->give;
		bool is_open = !wire_is_dead(o, e);

		if (o->ends[e].is_tainted || o->ends[e].is_gone)
			continue;
		if (is_open && g->n > 0)
			oracle_fail(o, "end %u: %u answers were never sent", e, g->n);
		if ((is_open && g->owes_ack) || (g->is_closed && g->owes_nak))
			oracle_fail(o, "end %u: a Transport ACK or NAK was never sent", e);
		if (g->is_closed && !wire_at(o, e)->has_reported)
			oracle_fail(o, "end %u: refused a request, and no event told of it", e);
		if (is_open)
			wire_evs_rest(o, e);
	}
}

/* Whether nothing of an end is out, or half sent. */
static bool is_drained(const struct hunt_oracle *o, uint32_t end)
{
	const struct wire_ask *ask = &wire_at(o, end)->ask;
	uint32_t work = oracle_work_at(o, end, ask->high);

	return ask->executed_pkts == ask->high &&
	       (work == HUNT_NOTHING || o->plan->works[work].first == ask->high);
}

void oracle_mrc_event(struct hunt_oracle *o, uint32_t end, enum oracle_mrc_news news)
{
	static const uint8_t naks[] = {
		[ORACLE_MRC_FATAL] = 1u << NAK_OPERATION,
		[ORACLE_MRC_INVALID] = 1u << NAK_INVALID,
		[ORACLE_MRC_ACCESS] = 1u << NAK_ACCESS,
	};

	if (end == HUNT_NOTHING) {
		oracle_fail(o, "an event of no end");
		return;
	}
	struct wire_end *state = wire_at(o, end);

	if (o->ends[end].is_tainted)
		return;
	/* What it tells of is seen in the packets. */
	if (news == ORACLE_MRC_EV_STATE)
		return;
	if (news == ORACLE_MRC_DRAINED) {
		if (!state->is_draining || state->has_drained || !is_drained(o, end))
			oracle_fail(o, "end %u: drained, without reason", end);
		state->has_drained = true;
		wire_met(o, MET_DRAINED);
		return;
	}
	if (news == ORACLE_MRC_UNEXPECTED || state->has_reported || !state->give.is_closed ||
	    !(state->give.naks & naks[news]))
		oracle_fail(o, "end %u: event %u without reason", end, news);
	state->has_reported = true;
}

void oracle_mrc_changed(struct hunt_oracle *o, const struct plan_mrc_change *c)
{
	struct wire_end *state = wire_at(o, c->end);

	switch (c->what) {
	case PLAN_MRC_RESIZE: wire_give_resize(o, c->end, c->mpr); break;
	case PLAN_MRC_TURN:
		state->turn ^= 1;
		wire_evs_begin(o, c->end);
		wire_met(o, MET_TURNED);
		break;
	case PLAN_MRC_DRAIN:
		state->is_draining = true;
		state->has_drained = false;
		break;
	case PLAN_MRC_GO:
		if (state->has_drained != is_drained(o, c->end) && !o->ends[c->end].is_tainted)
			oracle_fail(o, "end %u: drained, and it did not say so", c->end);
		if (!state->has_drained)
			wire_met(o, MET_HASTE);
		state->is_draining = false;
		break;
	default: wire_evs_changed(o, c); break;
	}
}
