/* MRC requestors: what each packet must be, when it may go, and what answers tell. The oracle does
 * not know what a requestor takes for lost, only what could have made it do so. */
#include <inttypes.h>

#include "wire_mrc.h"

#define SLACK_NS   UINT64_C(256) /* timers have a width */
#define ASK_EVERY  64u
#define RETH_BYTES 16u
#define UDP_ICRC   12u /* bytes of a UDP header, and of the ICRC */

/* The opcode of packet i of a work. */
static uint8_t opcode_of(const struct hunt_work *w, uint32_t i)
{
	bool has_imm = w->code == ENGINE_WRITE_IMM;

	if (i + 1 < w->n_pkts)
		return i == 0 ? WRITE_FIRST : WRITE_MIDDLE;
	return (uint8_t)((i == 0 ? WRITE_ONLY : WRITE_LAST) + has_imm);
}

/* METH, TSETH, RETH and immediate data of packet i, which say where it goes all by itself. */
static bool is_extension(const struct hunt_oracle *o, uint32_t end, uint32_t work, uint32_t i,
			 const struct wire_head *h, nsec now)
{
	const struct hunt_work *w = &o->plan->works[work];
	struct hunt_target to = hunt_target(o->plan, end, w);
	uint32_t first = wire_host(o, end)->first_msn, n = 4;
	uint32_t index = work - o->plan->ends[end].first_work;
	bool is_imm = w->code == ENGINE_WRITE_IMM;
	uint16_t stamp;

	if (h->n_more < n || wire_big(h->more + 2, 2) != ((first + index) & 0xffff) ||
	    (is_imm && wire_big(h->more, 2) != ((first + w->message) & 0xffff)))
		return false;
	if (h->ts) {
		if (!wire_stamp(h, &stamp) || stamp != (uint16_t)(now >> WIRE_STAMP) ||
		    wire_big(h->more + 6, 2) != 1)
			return false;
		n += 4;
	}
	if (h->n_more < n + RETH_BYTES || wire_big(h->more + n, 8) != to.va + i * o->plan->pmtu ||
	    wire_big(h->more + n + 8, 4) != to.key || wire_big(h->more + n + 12, 4) != w->len)
		return false;
	n += RETH_BYTES;
	if (is_imm && i + 1 == w->n_pkts) {
		if (h->n_more < n + 4 || wire_big(h->more + n, 4) != w->imm)
			return false;
		n += 4;
	}
	return h->n_more == n;
}

/* Compares the payload of a packet, in pieces, with bytes off ... of scattered memory. */
static bool is_payload(const struct hunt_oracle *o, uint32_t end, const struct hunt_work *w,
		       uint32_t off, uint32_t len, const struct tx_pkt *tx)
{
	const uint8_t *memory = o->plan->arenas[end].bytes;

	for (uint32_t i = 0; i < tx->n_body && len > 0; i++) {
		uint32_t n = tx->body[i].len < len ? tx->body[i].len : len;

		if (n > 0 &&
		    (!tx->body[i].at || !oracle_equal(memory, w->sg, off, tx->body[i].at, n)))
			return false;
		off += n;
		len -= n;
	}
	return len == 0;
}

static uint32_t body_bytes(const struct tx_pkt *tx)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < tx->n_body; i++)
		n += tx->body[i].len;
	return n;
}

static void check_bytes(struct hunt_oracle *o, uint32_t end, uint32_t work, uint32_t i, nsec now,
			const struct wire_head *h, const struct tx_pkt *tx)
{
	const struct hunt_work *w = &o->plan->works[work];
	uint32_t pmtu = o->plan->pmtu, off = i * pmtu;
	uint32_t len = w->len - off < pmtu ? w->len - off : pmtu;
	bool is_solicited =
		w->code == ENGINE_WRITE_IMM && i + 1 == w->n_pkts && (w->flags & ENGINE_SOLICITED);

	if (h->opcode != opcode_of(w, i))
		oracle_fail(o, "end %u, work %u, packet %u: opcode %02x, not %02x", end, work, i,
			    h->opcode, opcode_of(w, i));
	else if (h->ts != wire_plan(o, end)->has_stamps || !is_extension(o, end, work, i, h, now))
		oracle_fail(o, "end %u, work %u, packet %u: its headers are wrong", end, work, i);
	else if (h->pad != (-len & 3u) || body_bytes(tx) != len + h->pad || tx->udp_len != 0)
		oracle_fail(o, "end %u, work %u, packet %u: %u bytes and padding of %u, not %u",
			    end, work, i, body_bytes(tx), h->pad, len);
	else if (!is_payload(o, end, w, off, len, tx))
		oracle_fail(o, "end %u, work %u, packet %u: not its payload", end, work, i);
	else if (h->se != is_solicited)
		oracle_fail(o, "end %u, work %u, packet %u: solicited, or not, wrongly", end, work,
			    i);
}

/* Silences that an end may have counted since its first packet out was another (M-59). A NACK or
 * SACK may have had that one retransmitted, and its time is as at first then (M-23). */
static uint32_t silences(const struct hunt_oracle *o, uint32_t end, nsec now)
{
	const struct plan_mrc_end *e = wire_plan(o, end);
	nsec since = now - wire_at(o, end)->ask.quiet_at + SLACK_NS, sum = 0;
	uint32_t n = 0;

	for (; n < 64; n++) {
		sum += plan_mrc_silence_ns(e, wire_at(o, end)->ask.is_vague ? 0 : n);
		if (sum > since)
			break;
	}
	return n;
}

/* Whether nothing makes an end's silences longer than they are: a clock that jumps, a pacer, room
 * that others have. */
static bool is_punctual(const struct hunt_oracle *o, uint32_t end)
{
	for (uint32_t i = 0; i < o->plan->n_faults; i++)
		if (o->plan->faults[i].kind == FAULT_JUMP)
			return false;
	return !o->plan->has_dcqcn && wire_host(o, end)->max_out >= PLAN_MRC_PLENTY;
}

bool oracle_mrc_may_give_up(const struct hunt_oracle *o, uint32_t end)
{
	const struct plan_mrc_end *e = wire_plan(o, end);
	const struct wire_ask *ask = &wire_at(o, end)->ask;
	nsec now = o->host_now[o->plan->ends[end].host];
	uint32_t n = silences(o, end, now), most = (uint32_t)e->linear + e->exponential;

	/* Not one more than it has, where nothing else keeps it from counting them. With nothing
	 * out it counts from the time that its last port was shut. */
	if (n > most + 1 && ask->executed_pkts < ask->high && !ask->is_vague && is_punctual(o, end))
		return false;
	return e->exponential != PLAN_MRC_ENDLESS && n > most;
}

/* Packet p may be taken for lost from now on, or is known to have arrived. */
static void uncount(struct wire_ask *ask, struct wire_pkt *p)
{
	if (p->is_counted)
		ask->certain_bytes -= p->nominal;
	p->is_counted = false;
}

static void give_reason(struct wire_ask *ask, struct wire_pkt *p, uint8_t reason)
{
	p->reasons |= reason;
	uncount(ask, p);
}

void wire_ask_died(struct hunt_oracle *o, uint32_t end, uint32_t ports)
{
	struct wire_ask *ask = &wire_at(o, end)->ask;

	for (uint64_t n = ask->una; n < ask->high; n++)
		if (ports >> ask->pkts[n].port & 1)
			give_reason(ask, &ask->pkts[n], WAS_DEAD);
}

/* A packet is retransmitted: why? SACKs, also those that answer probes, are a reason once only
 * (MRC-7.4.5-01). */
static void check_again(struct hunt_oracle *o, uint32_t end, uint64_t count, nsec now)
{
	const struct wire_ask *ask = &wire_at(o, end)->ask;
	struct wire_pkt *p = &ask->pkts[count];

	if (count < ask->una) {
		/* All arrived, and it was not told that it was executed: the last or the first. */
		if ((count + 1 != ask->una && count != ask->executed_pkts) ||
		    ask->executed_pkts > count)
			oracle_fail(o, "end %u: packet %" PRIu64 " again, and it was acknowledged",
				    end, count);
		wire_met(o, MET_RETX_FOR_ACK);
		return;
	}
	if (p->is_known) {
		oracle_fail(o, "end %u: packet %" PRIu64 " again, and it is known to be there", end,
			    count);
		return;
	}
	if (p->reasons & (WAS_NACKED | WAS_SILENT | WAS_DEAD))
		return;
	bool is_silent = silences(o, end, now) > p->in_silence;

	/* Where it was silent as well, nobody says which of the two it was. */
	if (!p->was_reported &&
	    (p->reasons & WAS_PROBED || (p->sends == 1 && p->reasons & WAS_OVERTAKEN))) {
		p->was_reported = !is_silent;
		return;
	}
	if (!is_silent)
		oracle_fail(o, "end %u: packet %" PRIu64 " again, and there is no reason", end,
			    count);
	p->in_silence++;
}

/* Packets of all ends of a host that are out. An end that gives up in the same pull lets go of its
 * own before another sends, and we are told later. */
static uint64_t all_out(const struct hunt_oracle *o, uint32_t host)
{
	uint64_t n = 0;

	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (o->plan->ends[e].host == host && !wire_is_dead(o, e) &&
		    !oracle_mrc_may_give_up(o, e))
			n += wire_at(o, e)->ask.high - wire_at(o, e)->ask.una;
	return n;
}

/* Bytes that are surely out. What the peer received in all may be more than its maps have shown
 * (8.4). */
static uint64_t bytes_out(const struct wire_ask *ask)
{
	uint64_t ahead =
		ask->reported_bytes > ask->known_bytes ? ask->reported_bytes - ask->known_bytes : 0;

	return ask->certain_bytes > ahead ? ask->certain_bytes - ahead : 0;
}

static void check_limits(struct hunt_oracle *o, uint32_t end, uint64_t count, bool is_new, nsec now)
{
	const struct wire_ask *ask = &wire_at(o, end)->ask;
	uint32_t range = ask->range > ask->range_also ? ask->range : ask->range_also;
	uint32_t max_out = wire_host(o, end)->max_out;
	uint64_t window = wire_at(o, end)->window_bytes;
	uint32_t room = (max_out + PLAN_MRC_CHUNK - 1) / PLAN_MRC_CHUNK * PLAN_MRC_CHUNK;

	/* M-17. */
	if (count >= ask->una + range)
		oracle_fail(o, "end %u: packet %" PRIu64 ", beyond %" PRIu64 " + %u", end, count,
			    ask->una, range);
	if (count >= ask->una && silences(o, end, now) == 0 && bytes_out(ask) >= window)
		oracle_fail(o,
			    "end %u: packet %" PRIu64 " with %" PRIu64
			    " bytes out, the window is %" PRIu64,
			    end, count, bytes_out(ask), window);
	if (is_new && all_out(o, o->plan->ends[end].host) >= room)
		oracle_fail(o, "end %u: packet %" PRIu64 ", and its host has no room for it", end,
			    count);
}

/* Writes with immediate data that are out, before packet `end_of_them`, and not known to be
 * executed. */
static uint32_t immediates_out(const struct hunt_oracle *o, uint32_t end, uint32_t work)
{
	const struct hunt_plan *s = o->plan;
	uint32_t n = 0;

	for (uint32_t k = s->ends[end].first_work; k <= work; k++)
		n += s->works[k].code == ENGINE_WRITE_IMM &&
		     s->works[k].first + s->works[k].n_pkts > wire_at(o, end)->ask.executed_pkts;
	return n;
}

static void check_immediates(struct hunt_oracle *o, uint32_t end, uint32_t work)
{
	uint32_t n = immediates_out(o, end, work), limit = wire_plan(o, end)->wimm_dest;

	/* M-61: none kept is one at a time. */
	limit = limit ? limit : 1;
	if (n > limit)
		oracle_fail(o, "end %u, work %u: %u writes with immediate data out, not %u", end,
			    work, n, limit);
	if (n == limit)
		wire_met(o, MET_WIMM_FULL);
}

/* Whoever goes idle has to ask for an answer (7.5.2), and so does what is retransmitted. */
static void check_asks(struct hunt_oracle *o, uint32_t end, uint64_t count,
		       const struct wire_head *h)
{
	const struct hunt_end *e = &o->plan->ends[end];
	const struct hunt_work *last = &o->plan->works[e->first_work + o->ends[end].n_posted - 1];
	struct wire_ask *ask = &wire_at(o, end)->ask;

	ask->unasked = h->ack_req ? 0 : ask->unasked + 1;
	if (h->ack_req)
		return;
	if (h->rtx || ask->unasked >= ASK_EVERY || count + 1 == last->first + last->n_pkts)
		oracle_fail(o, "end %u: packet %" PRIu64 " does not ask for an answer", end, count);
}

static void note_sent(struct hunt_oracle *o, uint32_t end, uint64_t count, nsec now,
		      const struct tx_pkt *tx)
{
	struct wire_ask *ask = &wire_at(o, end)->ask;
	struct wire_pkt *p = &ask->pkts[count];

	if (count == ask->high) {
		if (ask->executed_pkts == ask->high) {
			wire_at(o, end)->busy_from = o->now(o->clock);
			ask->quiet_at = now;
			ask->is_vague = false;
		}
		ask->is_vague |= ask->una == ask->high && ask->executed_pkts < ask->high;
		ask->high++;
		if (ask->high == ask->una + ask->range)
			wire_met(o, MET_RANGE_FULL);
		if (count > 0 && (o->plan->ends[end].psn + count) % WIRE_NUMBERS == 0)
			wire_met(o, MET_PSN_WRAP);
	}
	if (count >= ask->una)
		wire_ev_retx(o, end, p, tx);
	p->sends++;
	if (count < ask->una)
		return;
	uncount(ask, p);
	p->order = ++ask->orders;
	p->port = tx->port;
	p->reasons = 0;
	p->nominal = (uint16_t)(WIRE_NOMINAL + UDP_ICRC + tx->head_len + body_bytes(tx));
	p->is_counted = true;
	ask->certain_bytes += p->nominal;
	p->ev_number = wire_ev_of(o, end, tx->ev, tx->port);
	p->ev = tx->ev;
	p->sent_at = o->now(o->clock);
	wire_at(o, end)->sent_bytes = p->nominal;
	if (ask->certain_bytes >= wire_at(o, end)->window_bytes)
		wire_met(o, MET_WINDOW_FULL);
}

void wire_ask_data(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		   const struct tx_pkt *tx)
{
	const struct wire_ask *ask = &wire_at(o, end)->ask;
	uint64_t count = wire_count(o, end, h->psn, ask->high);
	uint32_t work = oracle_work_at(o, end, count);

	if (count > ask->high || work == HUNT_NOTHING || o->works[work].fate == HUNT_WAITS) {
		oracle_fail(o, "end %u: psn %u belongs to no work, or is not next", end, h->psn);
		return;
	}
	const struct hunt_work *w = &o->plan->works[work];
	uint32_t i = (uint32_t)(count - w->first);
	bool is_new = count == ask->high;

	wire_evs_look(o, end);
	if (o->works[work].fate != HUNT_POSTED)
		oracle_fail(o, "end %u, work %u, packet %u: sent although it is over", end, work,
			    i);
	if (wire_is_dead(o, end))
		oracle_fail(o, "end %u, work %u, packet %u: sent after an error", end, work, i);
	if (w->flaw == HUNT_NO_LOCAL)
		oracle_fail(o, "end %u, work %u: sent with a bad local key", end, work);
	if (is_new && i == 0 && wire_at(o, end)->is_draining)
		oracle_fail(o, "end %u, work %u: begins while its queue is drained", end, work);
	if (h->rtx == is_new)
		oracle_fail(o, "end %u, work %u, packet %u: sent %u times before, and rtx is %u",
			    end, work, i, ask->pkts[count].sends, h->rtx);
	check_bytes(o, end, work, i, now, h, tx);
	check_limits(o, end, count, is_new, now);
	if (!is_new) {
		check_again(o, end, count, now);
		if (count >= ask->una && !(ask->pkts[count].reasons & WAS_NACKED))
			wire_ev_lost(o, end, &ask->pkts[count]);
	}
	if (is_new && i == 0 && w->code == ENGINE_WRITE_IMM)
		check_immediates(o, end, work);
	if (is_new && i == 0 && wire_big(h->more + 2, 2) == 0 && work > 0)
		wire_met(o, MET_MSN_WRAP);
	check_asks(o, end, count, h);
	note_sent(o, end, count, now, tx);
}

void wire_ask_probe(struct hunt_oracle *o, uint32_t end, nsec now, const struct wire_head *h,
		    const struct tx_pkt *tx)
{
	struct wire_ask *ask = &wire_at(o, end)->ask;
	uint16_t own = (uint16_t)o->plan->ends[end].qp, peer = (uint16_t)h->qp, stamp;
	bool has_stamps = wire_plan(o, end)->has_stamps;

	if (wire_is_dead(o, end))
		oracle_fail(o, "end %u: a probe after an error", end);
	if (h->n_more != 16 || tx->udp_len != 0 || wire_big(h->more + 8, 2) != own ||
	    wire_big(h->more + 10, 2) != peer || wire_stamp(h, &stamp) != has_stamps ||
	    (has_stamps && stamp != (uint16_t)(now >> WIRE_STAMP)) || h->rtx) {
		oracle_fail(o, "end %u: the headers of a probe are wrong", end);
		return;
	}
	uint16_t id = (uint16_t)wire_big(h->more + 4, 2);
	struct wire_probe *p = &ask->probes[id % WIRE_PROBES];

	/* One of an EV may have waited for its port until all was done. What a peer says of its
	 * ports is asked by one that has nothing to send, if all have. */
	if (ask->n_pkts == 0 && !wire_doubts(o, end))
		oracle_fail(o, "end %u: a probe, and nothing is ever to be sent", end);
	if (p->is_open && p->id == id)
		oracle_fail(o, "end %u: probe %u again", end, id);
	*p = (struct wire_probe){
		.sent_at = o->now(o->clock),
		.id = id,
		.port = tx->port,
		.is_sent = true,
		.is_open = true,
	};
}

/* The probe that a SACK answers; NULL: none that is known. */
static struct wire_probe *probe_of(const struct hunt_oracle *o, uint32_t end, const uint8_t *m)
{
	uint16_t id = (uint16_t)wire_big(m + 2, 2);
	struct wire_probe *p = &wire_at(o, end)->ask.probes[id % WIRE_PROBES];

	return p->is_sent && p->id == id ? p : NULL;
}

/* The packet is there. */
static void learn(struct wire_ask *ask, uint64_t count)
{
	struct wire_pkt *p = &ask->pkts[count];

	if (count >= ask->high || p->is_known)
		return;
	p->is_known = true;
	uncount(ask, p);
	ask->known_bytes += p->nominal;
	if (p->order > ask->newest)
		ask->newest = p->order;
}

static void learn_before(struct wire_ask *ask, uint64_t to)
{
	for (uint64_t n = ask->una; n < to; n++)
		learn(ask, n);
}

/* What else follows: what is missing was overtaken; and silence, if there was one, is over if the
 * first packet out has arrived, or is_moved. */
static void conclude(struct hunt_oracle *o, uint32_t end, bool is_moved, nsec now)
{
	struct wire_ask *ask = &wire_at(o, end)->ask;
	uint32_t n = silences(o, end, now);

	for (; ask->una < ask->high && ask->pkts[ask->una].is_known; ask->una++)
		is_moved = true;
	for (uint64_t k = ask->una; k < ask->high; k++) {
		struct wire_pkt *p = &ask->pkts[k];

		if (p->is_known)
			continue;
		if (p->order < ask->newest)
			give_reason(ask, p, WAS_OVERTAKEN);
		if (!is_moved)
			continue;
		if (n > p->in_silence)
			give_reason(ask, p, WAS_SILENT);
		p->in_silence = 0;
	}
	ask->is_vague = !is_moved;
	if (is_moved)
		ask->quiet_at = now;
}

/* 7.5.4: a SACK that is ahead sets the range. One that is not may be newer all the same, where
 * Transport ACKs were faster. */
static void take_range(struct hunt_oracle *o, uint32_t end, const uint8_t *seth, uint64_t to,
		       bool is_ahead)
{
	struct wire_ask *ask = &wire_at(o, end)->ask;
	const struct plan_mrc_end *e = wire_plan(o, end);
	uint32_t range = (seth[17] < e->max_mpr ? seth[17] : e->max_mpr) * PLAN_MRC_RANGE;

	if (!e->is_dynamic)
		return;
	if (is_ahead) {
		if (range != ask->range)
			wire_met(o, range > ask->range ? MET_RANGE_GROWS : MET_RANGE_SHRINKS);
		if (range < ask->range && ask->high > ask->una + range)
			wire_met(o, MET_RANGE_SHORT);
		ask->range = range;
		ask->range_also = 0;
	} else if (to > ask->cack && range > ask->range_also) {
		ask->range_also = range;
	}
	if (to > ask->cack)
		ask->cack = to;
}

/* What a peer says it received beyond what is known to have arrived is no more than what is out: it
 * may have counted some twice (M-62). */
static void bound_received(struct wire_ask *ask)
{
	uint64_t most = ask->known_bytes;

	for (uint64_t n = ask->una; n < ask->high; n++)
		most += ask->pkts[n].is_known ? 0 : ask->pkts[n].nominal;
	if (ask->reported_bytes > most)
		ask->reported_bytes = most;
}

/* rcvd_bytes counts 256 bytes, in 24 bits. What is behind is out of date. */
static void take_received(struct wire_ask *ask, uint32_t blocks)
{
	uint32_t ahead = (blocks - ask->reported_blocks) % WIRE_NUMBERS;

	if (ahead >= WIRE_HALF)
		return;
	ask->reported_blocks = blocks;
	ask->reported_bytes += (uint64_t)ahead << 8;
	bound_received(ask);
}

static void on_sack(struct hunt_oracle *o, uint32_t end, const struct wire_coming *c)
{
	struct wire_ask *ask = &wire_at(o, end)->ask;
	const uint8_t *m = c->h.more;
	bool is_probed = m[1] & 2;
	uint64_t to = c->count + 1, base = to - 1 + (uint64_t)(int16_t)wire_big(m + 18, 2);
	uint64_t map = wire_big(m + 20, 8);
	bool is_ahead = to > ask->una;

	for (uint32_t i = 0; i < 64; i++)
		if (map >> i & 1 && base + i != WIRE_NO_COUNT)
			learn(ask, base + i);
	if (!is_probed && to - 1 + (uint64_t)(int16_t)wire_big(m + 2, 2) != WIRE_NO_COUNT)
		learn(ask, to - 1 + (uint64_t)(int16_t)wire_big(m + 2, 2));
	learn_before(ask, to);
	conclude(o, end, false, c->now);
	/* Of another kind of congestion control nobody knows what it says. */
	if (m[16] >> 4 == 0)
		take_received(ask, (uint32_t)wire_big(m + 33, 3));
	take_range(o, end, m, to, is_ahead);
	if (!is_probed)
		return;
	struct wire_probe *p = probe_of(o, end, m);

	/* Where it answers, it receives. */
	if (p && p->is_open) {
		p->is_open = false;
		wire_peer_answered(o, end, p);
	}
	for (uint64_t n = ask->una; n < ask->high; n++)
		if (!ask->pkts[n].is_known)
			give_reason(ask, &ask->pkts[n], WAS_PROBED);
}

static void note_refused(struct hunt_oracle *o, uint32_t end)
{
	o->ends[end].was_refused = true;
	wire_at(o, end)->refused_at = o->now(o->clock);
}

/* A packet that was refused too often is the end of its work (Table 7-3). */
static void on_nack(struct hunt_oracle *o, uint32_t end, const struct wire_coming *c)
{
	struct wire_ask *ask = &wire_at(o, end)->ask;
	const struct plan_mrc_end *e = wire_plan(o, end);
	struct wire_pkt *p = &ask->pkts[c->count];
	uint32_t work = oracle_work_at(o, end, c->count);

	if (c->count < ask->una || c->count >= ask->high || p->is_known)
		return;
	/* M-58: another copy is out than the one that it is about. */
	if (c->h.rtx != (p->sends > 1))
		return;
	if (e->exponential != PLAN_MRC_ENDLESS && p->sends > (uint32_t)e->linear + e->exponential) {
		o->works[work].refusal = ENGINE_RETRY_EXCEEDED;
		note_refused(o, end);
	}
	conclude(o, end, false, c->now);
	give_reason(ask, p, WAS_NACKED);
}

/* The time since then without faults: probes that meet one are of no use. */
static psec busy_time(const struct hunt_oracle *o, psec from)
{
	const struct hunt_plan *s = o->plan;

	for (uint32_t i = 0; i < s->n_faults; i++)
		if (s->faults[i].until_ps > from)
			from = s->faults[i].until_ps;
	return o->now(o->clock) > from ? o->now(o->clock) - from : 0;
}

static void on_ack(struct hunt_oracle *o, uint32_t end, const struct wire_coming *c)
{
	static const uint8_t statuses[] = {
		[NAK_INVALID] = ENGINE_REMOTE_INVALID,
		[NAK_ACCESS] = ENGINE_REMOTE_ACCESS,
		[NAK_OPERATION] = ENGINE_REMOTE_OPERATION,
	};
	struct wire_end *e = wire_at(o, end);
	struct wire_ask *ask = &e->ask;
	uint8_t code = c->h.more[0] & 31;

	if (c->h.more[0] >> 5 & 3) {
		/* M-52: what was executed is done, and of what is done none fails. */
		ask->executed = (uint32_t)wire_big(c->h.more + 1, 3);
		uint32_t work = oracle_work_at(o, end, c->count);
		uint32_t first = o->plan->ends[end].first_work + ask->executed;

		if (work == HUNT_NOTHING || work < first)
			work = first;
		if (work != HUNT_NOTHING && code <= NAK_OPERATION)
			o->works[work].refusal = statuses[code];
		note_refused(o, end);
		return;
	}
	if (c->count == WIRE_NO_COUNT || c->count < ask->executed_pkts)
		return;
	learn_before(ask, c->count + 1);
	conclude(o, end, true, c->now);
	bound_received(ask);
	ask->executed_pkts = c->count + 1;
	if (ask->executed_pkts == ask->high)
		e->busy += busy_time(o, e->busy_from);
}

/* The EV of a packet that met congestion, if the answer tells of it, the packet took it last, and
 * it is in use. */
static uint16_t marked_ev(const struct hunt_oracle *o, uint32_t end, const struct wire_coming *c)
{
	const struct wire_ask *ask = &wire_at(o, end)->ask;
	const uint8_t *m = c->h.more;
	bool is_sack = c->h.opcode == SACK;
	uint64_t count = c->count + (is_sack ? (uint64_t)(int16_t)wire_big(m + 2, 2) : 0);

	if (is_sack ? (m[1] >> 5 & 3) != 1 || (m[1] & 2) : m[2] != TRIMMED)
		return WIRE_NO_EV;
	if (count < ask->una || count >= ask->high || ask->pkts[count].ev != wire_big(m + 4, 4))
		return WIRE_NO_EV;
	uint16_t ev = ask->pkts[count].ev_number;

	return ev != WIRE_NO_EV && oracle_mrc_ev(o, end, ev) <= PATH_SKIP ? ev : WIRE_NO_EV;
}

void wire_ask_expect(struct hunt_oracle *o, uint32_t end)
{
	const struct wire_ask *ask = &wire_at(o, end)->ask;
	struct wire_coming *c = &wire_at(o, end)->coming;
	uint32_t least = c->h.opcode == SACK ? 36 : c->h.opcode == NACK ? 20 : 4;

	if (c->h.n_more < least)
		return;
	c->count = wire_count(o, end, c->h.psn, ask->una);
	if (c->h.opcode == SACK) {
		const uint8_t *m = c->h.more;

		c->count = wire_count(o, end, (uint32_t)wire_big(m + 13, 3), ask->una);
		c->may = 1u << MET_SACK;
		/* One that went long ago is forgotten. */
		if (m[1] & 2)
			c->may = 1u << WIRE_DROPPED | (probe_of(o, end, m) ? 1u << MET_SACK : 0);
	} else if (c->h.opcode == NACK) {
		c->may = 1u << MET_NACK;
		if (c->count == WIRE_NO_COUNT || c->count >= ask->high)
			c->may = 1u << WIRE_DROPPED;
	} else if (c->h.more[0] >> 5 & 3) {
		c->may = 1u << MET_NAK;
	} else {
		c->may = 1u << MET_ACK;
	}
	/* What comes together with the peer's last word meets an end that is gone, though it has
	 * not been asked for its completions yet. */
	if (o->ends[end].was_refused && wire_at(o, end)->refused_at == o->now(o->clock))
		c->may |= 1u << WIRE_DROPPED;
	if (c->h.opcode != ACKNOWLEDGE)
		c->ev = marked_ev(o, end, c);
}

void wire_ask_on_answer(struct hunt_oracle *o, uint32_t end)
{
	const struct wire_coming *c = &wire_at(o, end)->coming;

	wire_at(o, end)->answered_at = o->now(o->clock);
	switch (c->h.opcode) {
	case SACK: on_sack(o, end, c); break;
	case NACK: on_nack(o, end, c); break;
	default: on_ack(o, end, c); break;
	}
}
