/* MRC's EVs and windows (8.3, 9.3): which EV a packet may take, that EVs which are dead are left
 * and EVs which are well come back, and how much may be out. Which EV it was is read off the
 * wire; how the engine sees its EVs and its window, it is asked. */
#include <inttypes.h>

#include "wire_mrc.h"

#define ALL_PORTS    UINT32_MAX
#define DEAD_STILL   (100 * PSEC_US)  /* between losses that are not one and the same */
#define DEAD_AFTER   (300 * PSEC_US)  /* losses of an EV are known for so long: it is left */
#define BACK_AFTER   (2500 * PSEC_US) /* nothing was lost for so long: all EVs are back, ... */
#define BACK_RTTS    32u /* ... and for so many round trips: a train of probes is long */
#define LATE_MOST    1u  /* but for trials, so many */
#define FEW          64u /* EV faults or probes: too few for all EVs of a host */
#define ENDS_MOST    8u  /* the probes of more may keep each other waiting */
#define ASKED_AFTER  (1000 * PSEC_US) /* a peer that has a port down was asked, ... */
#define ASKED_RTTS   16u              /* ... and in so many round trips */
#define TURN_AFTER   (100 * PSEC_US)  /* what waited for a port has left, when others take turns */
#define PROBE_GAP_NS 500u
#define PROBES_FREE  24u            /* of an EV, without an answer, and ... */
#define PROBE_EVERY  (50 * PSEC_US) /* ... one more for each such time */
#define PROBES_LEAST 160u /* what an EV may need that failed time and again, and some more */
#define TRIES_LEAST  6u   /* that take an end over a plane's death */

static const struct plan_mrc_evs *set_of(const struct hunt_oracle *o, uint32_t end)
{
	return &wire_plan(o, end)->evs[wire_at(o, end)->turn];
}

static bool is_alike(const struct path_ev *a, const struct path_ev *b)
{
	return a->value == b->value && a->port == b->port;
}

void wire_evs_begin(struct hunt_oracle *o, uint32_t end)
{
	const struct plan_mrc_evs *w = set_of(o, end);
	struct wire_end *e = wire_at(o, end);

	/* Those of a set stand by port and entropy. */
	for (uint32_t i = 0; i < w->n; i++)
		e->evs[i] = (struct wire_ev){
			.is_denied = w->denied[i / 64] >> i % 64 & 1,
			.is_single = !(i > 0 && is_alike(&w->evs[i], &w->evs[i - 1])) &&
				     !(i + 1 < w->n && is_alike(&w->evs[i], &w->evs[i + 1])),
		};
	for (uint64_t n = 0; n < e->ask.high; n++)
		e->ask.pkts[n].ev_number = WIRE_NO_EV;
	e->last = WIRE_NO_EV;
	e->walk = (struct wire_walk){0};
}

/* Ports that an end is not to use, whatever happens to packets. */
static uint32_t shut_ports(const struct hunt_oracle *o, uint32_t end)
{
	uint32_t host = o->plan->ends[end].host, peer = o->plan->ends[end ^ 1].host;
	const struct wire_station *s = wire_station(o, host);

	/* A peer's word is to be confirmed, and only the engine knows by which probe; then it holds
	 * until there is another. */
	return set_of(o, end)->denied_ports | wire_at(o, end)->denied_ports | s->down |
	       (s->peer_down[peer] &
		(oracle_mrc_peer_ports_down(o, end) | wire_at(o, end)->peer_ports_down));
}

/* What a peer said of its ports is doubted, and asked; what it did not say, nobody believes. */
static void check_doubt(struct hunt_oracle *o, uint32_t end, const struct tx_pkt *tx,
			const struct oracle_mrc_view *v)
{
	uint32_t host = o->plan->ends[end].host, peer = o->plan->ends[end ^ 1].host;
	const struct wire_station *s = wire_station(o, host);
	const struct plan_mrc_evs *w = set_of(o, end);
	psec late = s->said_at[peer] + ASKED_AFTER + ASKED_RTTS * v->srtt_ns * PSEC_NS;

	if (oracle_mrc_peer_ports_down(o, end) & ~(uint32_t)s->peer_said[peer])
		oracle_fail(o, "end %u: ports %02x are down at the peer, and it said %02x", end,
			    oracle_mrc_peer_ports_down(o, end), s->peer_said[peer]);
	if (oracle_mrc_peer_ports_down(o, end))
		wire_met(o, MET_PEER_PORT_DOWN);
	wire_at(o, end)->peer_ports_down |=
		(uint8_t)(oracle_mrc_peer_ports_down(o, end) & s->peer_down[peer]);
	/* Where nothing could leave, the question waits too, and may not be the first that leaves.
	 */
	if (late < s->opened_at[tx->port] + TURN_AFTER)
		late = s->opened_at[tx->port] + TURN_AFTER;
	if (!((s->peer_down[peer] & ~s->asked[peer]) >> tx->port & 1) || o->now(o->clock) < late ||
	    wire_host(o, end)->max_probes <= FEW)
		return;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->evs[i].port == tx->port &&
		    wire_at(o, end)->evs[i].arrived_at > s->said_at[peer])
			return;
	oracle_fail(o, "end %u: a packet by port %u, which is down at the peer: nobody asked", end,
		    tx->port);
}

void wire_port_used(struct hunt_oracle *o, uint32_t host, uint32_t port)
{
	struct wire_station *s = wire_station(o, host);

	if (port >= ENGINE_PORTS)
		return;
	if (o->now(o->clock) > s->left_at[port] + ASKED_AFTER)
		s->opened_at[port] = o->now(o->clock);
	s->left_at[port] = o->now(o->clock);
}

static bool is_usable(const struct hunt_oracle *o, uint32_t end, uint32_t ev)
{
	return oracle_mrc_ev(o, end, ev) <= PATH_SKIP;
}

/* The first of the EVs with that entropy and port, or WIRE_NO_EV. */
static uint16_t first_alike(const struct plan_mrc_evs *w, uint32_t ev, uint32_t port)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->evs[i].value == ev && w->evs[i].port == port)
			return (uint16_t)i;
	return WIRE_NO_EV;
}

uint16_t wire_ev_of(const struct hunt_oracle *o, uint32_t end, uint32_t ev, uint32_t port)
{
	uint16_t number = first_alike(set_of(o, end), ev, port);

	return number != WIRE_NO_EV && wire_at(o, end)->evs[number].is_single ? number : WIRE_NO_EV;
}

static uint32_t usable_by(const struct hunt_oracle *o, uint32_t end, uint32_t port)
{
	const struct plan_mrc_evs *w = set_of(o, end);
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n && n < 2; i++)
		n += w->evs[i].port == port && is_usable(o, end, i);
	return n;
}

/* Another EV than before, where its port has two, after as many in a row as there may be. What
 * the engine asks for itself takes turns too, and may come later. */
static void check_turn(struct hunt_oracle *o, uint32_t end, uint16_t ev, const struct tx_pkt *tx,
		       bool is_retx)
{
	struct wire_end *e = wire_at(o, end);
	uint32_t burst = wire_plan(o, end)->burst ? wire_plan(o, end)->burst : 1;
	bool is_plain = !wire_host(o, end)->has_base_probe &&
			!wire_station(o, o->plan->ends[end].host)->has_changed_ports;

	e->in_a_row = ev != WIRE_NO_EV && ev == e->last ? e->in_a_row + 1 : 1;
	e->last = ev;
	/* Where there is no other, nobody knows how many more may follow when there is; and one
	 * that is retransmitted leaves out the EV that it took. */
	if (usable_by(o, end, tx->port) < 2 || is_retx)
		e->in_a_row = 0;
	if (e->in_a_row > burst && is_plain)
		oracle_fail(o, "end %u: EV %u has %u packets in a row", end, ev, e->in_a_row);
}

/* Whether an engine leaves an EV that is dead: there are others, by which its peer answers, and it
 * can keep a record of it. */
static bool can_leave(const struct hunt_oracle *o, uint32_t end, const struct oracle_mrc_view *v)
{
	return !wire_plan(o, end)->is_oblivious && !wire_is_dead(o, end ^ 1) &&
	       v->n_usable > set_of(o, end)->min_active && wire_host(o, end)->max_ev_faults > FEW &&
	       wire_host(o, end)->max_probes > FEW;
}

static void check_dead(struct hunt_oracle *o, uint32_t end, uint16_t ev,
		       const struct oracle_mrc_view *v)
{
	struct wire_ev *w = &wire_at(o, end)->evs[ev];
	psec now = o->now(o->clock);
	uint32_t burst = wire_plan(o, end)->burst ? wire_plan(o, end)->burst : 1;

	/* It is on trial: what was known of it is used up. So it is where it could not be left,
	 * since too few would have stayed. */
	if (w->was_left || wire_at(o, end)->fewest_at >= w->lost_at) {
		w->lost_at = 0;
		w->was_left = false;
	}
	/* Losses that are found together may have it left and brought back at once, as one EV too
	 * many. One that is dead and used loses more, later. */
	if (w->lost_twice_at < w->lost_at + DEAD_STILL)
		return;
	/* Where nothing else gets through, there or back, there is nothing that the EV is worse
	 * than. */
	if (w->lost_at == 0 || now < w->lost_at + DEAD_AFTER || !can_leave(o, end, v) ||
	    wire_at(o, end)->came_at < w->lost_at || wire_at(o, end)->answered_at < w->lost_at)
		return;
	wire_met(o, MET_EV_DEAD);
	if (w->late_uses == 0)
		w->late_at = now;
	/* What is used on trial is not known to be lost at once, however many packets take it
	 * meanwhile. After a silence most EVs are on trial together, and more wait than there are
	 * EVs. */
	if (++w->late_uses > LATE_MOST * burst && now > w->late_at + DEAD_STILL)
		oracle_fail(o,
			    "end %u: EV %u loses all packets since %.3f us, and is used %u times",
			    end, ev, (double)w->lost_at / PSEC_US, w->late_uses);
}

/* Which EVs that lose packets are left now, and whether one more could be. */
static void note_left(struct hunt_oracle *o, uint32_t end, const struct oracle_mrc_view *v)
{
	struct wire_ev *evs = wire_at(o, end)->evs;

	if (v->n_usable <= set_of(o, end)->min_active)
		wire_at(o, end)->fewest_at = o->now(o->clock);
	for (uint32_t i = 0; i < set_of(o, end)->n; i++)
		evs[i].was_left |= evs[i].lost_at > 0 && !is_usable(o, end, i);
}

/* What is usable now that all is healed. */
static void note_healed(struct hunt_oracle *o, uint32_t end)
{
	for (uint32_t i = 0; i < set_of(o, end)->n; i++)
		wire_at(o, end)->evs[i].has_come_back |= is_usable(o, end, i);
}

static void note_request(struct hunt_oracle *o, uint32_t end, const struct oracle_mrc_view *v)
{
	const struct plan_mrc_evs *w = set_of(o, end);
	uint32_t shut = shut_ports(o, end), n = 0;

	for (uint32_t i = 0; i < w->n; i++)
		n += !wire_at(o, end)->evs[i].is_denied && !(shut >> w->evs[i].port & 1);
	if (v->n_usable < n)
		wire_met(o, MET_EV_OUT);
	if (shut)
		wire_met(o, MET_PORT_SHUT);
	if (o->now(o->clock) >= o->plan->healed_at)
		note_healed(o, end);
}

/* MaxWnd: one and a half times what the link carries in a base round trip, where nobody set it (UE
 * Table 3-76). */
static uint64_t most_window(const struct hunt_oracle *o)
{
	const struct cc_cfg *cc = &plan_mrc(o->plan)->cc;
	const struct nscc_cfg *n = &cc->nscc;
	uint64_t most = cc->line_rate_bps / 8 * n->base_rtt_ns / 1000000000 * 3 / 2 + 2;

	if (n->max_wnd_bytes > 0)
		most = n->max_wnd_bytes;
	return most < n->mtu_bytes ? n->mtu_bytes : most;
}

/* MTU <= cwnd <= MaxWnd, and one MTU of it is kept back. */
static void check_window(struct hunt_oracle *o, uint32_t end, uint64_t window)
{
	const struct cc_cfg *cc = &plan_mrc(o->plan)->cc;
	const struct nscc_cfg *n = &cc->nscc;
	uint64_t most = most_window(o);

	if (cc->kind == CC_NSCC && (window == 0 || window > most - n->mtu_bytes + 1))
		oracle_fail(o, "end %u: a window of %" PRIu64 ", and the most is %" PRIu64, end,
			    window, most);
	if (window > cc->window_bytes)
		oracle_fail(o, "end %u: a window of %" PRIu64, end, window);
}

/* Probes that nobody answers become fewer. Where some EVs must be in use however they fare, each
 * trial has its own probes. */
static void check_rate(struct hunt_oracle *o, uint32_t end, uint16_t ev)
{
	struct wire_ev *w = &wire_at(o, end)->evs[ev];
	psec now = o->now(o->clock);

	if (w->unanswered++ == 0)
		w->probed_at = now;
	if (set_of(o, end)->min_active <= 1 &&
	    w->unanswered > PROBES_FREE + (now - w->probed_at) / PROBE_EVERY)
		oracle_fail(o, "end %u: %u probes of EV %u without an answer", end, w->unanswered,
			    ev);
}

/* One of what arrived has a turn like any packet, which is not known from those of EVs: nobody
 * knows what came last. Where the peer has it down it may be asked whether that is still so. */
void wire_evs_probe(struct hunt_oracle *o, uint32_t end, const struct tx_pkt *tx)
{
	struct wire_station *s = wire_station(o, o->plan->ends[end].host);
	struct wire_end *e = wire_at(o, end);
	uint16_t first = first_alike(set_of(o, end), tx->ev, tx->port);
	uint32_t down = s->peer_down[o->plan->ends[end ^ 1].host];

	s->asked[o->plan->ends[end ^ 1].host] |= (uint8_t)(1u << tx->port);

	if (first == WIRE_NO_EV) {
		oracle_fail(o, "end %u: a probe by none of its EVs", end);
		return;
	}
	e->last = WIRE_NO_EV;
	if (o->ends[end].is_tainted || o->ends[end].is_gone)
		return;
	if (shut_ports(o, end) >> tx->port & 1 && !(down >> tx->port & 1))
		oracle_fail(o, "end %u: a probe by port %u, which is shut", end, tx->port);
	if (!e->evs[first].is_single)
		return;
	if (e->evs[first].is_denied)
		oracle_fail(o, "end %u: a probe of EV %u, which is denied", end, first);
	if (!is_usable(o, end, first))
		wire_met(o, MET_EV_PROBED);
	check_rate(o, end, first);
}

void wire_evs_request(struct hunt_oracle *o, uint32_t end, const struct tx_pkt *tx, bool is_retx)
{
	const struct plan_mrc_evs *w = set_of(o, end);
	struct wire_end *e = wire_at(o, end);
	uint16_t first = first_alike(w, tx->ev, tx->port), ev = first;
	struct oracle_mrc_view v;

	if (first == WIRE_NO_EV) {
		oracle_fail(o, "end %u: a packet by none of its EVs", end);
		return;
	}
	if (o->ends[end].is_tainted || o->ends[end].is_gone || !oracle_mrc_view(o, end, &v))
		return;
	e->window_bytes = v.window_bytes;
	check_window(o, end, v.window_bytes);
	if (shut_ports(o, end) >> tx->port & 1)
		oracle_fail(o, "end %u: a packet by port %u, which is shut", end, tx->port);
	check_doubt(o, end, tx, &v);
	while (ev + 1u < w->n && is_alike(&w->evs[ev], &w->evs[ev + 1]) &&
	       (e->evs[ev].is_denied || !is_usable(o, end, ev)))
		ev++;
	if (e->evs[ev].is_denied || !is_usable(o, end, ev))
		oracle_fail(o, "end %u: a packet by EV %u, which is out of use (%u)", end, ev,
			    oracle_mrc_ev(o, end, ev));
	if (!(v.open_ports >> tx->port & 1))
		oracle_fail(o, "end %u: a packet by port %u, which is not open", end, tx->port);
	ev = e->evs[first].is_single ? first : WIRE_NO_EV;
	check_turn(o, end, ev, tx, is_retx);
	if (ev != WIRE_NO_EV)
		check_dead(o, end, ev, &v);
	note_left(o, end, &v);
	note_request(o, end, &v);
}

/* The first answer may take any EV that there is; the place of its EV is not known if two are
 * alike. */
static void begin_walk(struct hunt_oracle *o, uint32_t end, const struct tx_pkt *tx)
{
	struct wire_walk *walk = &wire_at(o, end)->walk;
	uint16_t ev = first_alike(set_of(o, end), tx->ev, tx->port);

	walk->has_begun = true;
	walk->next = ev + 1u;
	walk->is_known = ev != WIRE_NO_EV && wire_at(o, end)->evs[ev].is_single;
	if (ev == WIRE_NO_EV)
		oracle_fail(o, "end %u: an answer by none of its EVs", end);
}

static bool is_denied_whole(struct hunt_oracle *o, uint32_t end, uint32_t port)
{
	const struct plan_mrc_evs *w = set_of(o, end);

	for (uint32_t i = 0; i < w->n; i++)
		if (w->evs[i].port == port && !wire_at(o, end)->evs[i].is_denied)
			return false;
	return true;
}

/* Answers take the EVs in turn; only those are left out that are denied, or out of use while
 * another is not, or whose port is not free, or has no usable EV while another one has: never
 * another one of the port that is taken. Where nothing but denied EVs is left they go anywhere. */
void wire_evs_answer(struct hunt_oracle *o, uint32_t end, const struct tx_pkt *tx)
{
	const struct plan_mrc_evs *w = set_of(o, end);
	struct wire_walk *walk = &wire_at(o, end)->walk;
	uint32_t open = o->ends[end].is_gone ? 0 : oracle_mrc_ports(o, end);

	if (!o->ends[end].is_tainted && open != 0 && !(open >> tx->port & 1))
		oracle_fail(o, "end %u: an answer by port %u, which is not open", end, tx->port);
	if (is_denied_whole(o, end, tx->port) || o->ends[end].is_gone) {
		begin_walk(o, end, tx);
		return;
	}
	if (!walk->is_known) {
		if (!walk->has_begun)
			begin_walk(o, end, tx);
		return;
	}
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t at = (walk->next + i) % w->n;
		const struct path_ev *ev = &w->evs[at];

		if (ev->port != tx->port || wire_at(o, end)->evs[at].is_denied ||
		    (open != 0 && !is_usable(o, end, (uint16_t)at)))
			continue;
		if (ev->value != tx->ev)
			break;
		walk->next = (walk->next + i + 1) % w->n;
		return;
	}
	oracle_fail(o, "end %u: an answer by port %u and entropy %08x: not its next EV", end,
		    tx->port, tx->ev);
}

void wire_ev_arrived(struct hunt_oracle *o, uint32_t end, uint32_t ev)
{
	struct wire_ev *w = &wire_at(o, end)->evs[ev];

	w->arrived_at = o->now(o->clock);
	w->lost_at = 0;
	w->was_left = false;
	w->late_uses = 0;
	w->unanswered = 0;
}

void wire_ev_retx(struct hunt_oracle *o, uint32_t end, const struct wire_pkt *p,
		  const struct tx_pkt *tx)
{
	uint16_t ev = wire_ev_of(o, end, tx->ev, tx->port);

	if (p->sends > 0 && ev != WIRE_NO_EV && ev == p->ev_number &&
	    usable_by(o, end, tx->port) > 1)
		oracle_fail(o, "end %u: a packet is retransmitted by EV %u, which it took", end,
			    ev);
}

void wire_fault(struct hunt_oracle *o, uint32_t end)
{
	struct wire_end *e = wire_at(o, end);

	e->fault_at = e->busy_from = o->now(o->clock);
	e->busy = 0;
}

void wire_ev_lost(struct hunt_oracle *o, uint32_t end, const struct wire_pkt *p)
{
	struct wire_ev *w = &wire_at(o, end)->evs[p->ev_number % PLAN_MRC_EVS];

	wire_fault(o, end);
	if (p->ev_number == WIRE_NO_EV || p->sends == 0 || p->has_come ||
	    p->sent_at <= w->arrived_at)
		return;
	w->lost_twice_at = o->now(o->clock);
	if (w->lost_at > 0)
		return;
	w->lost_at = w->lost_twice_at;
	w->late_uses = 0;
}

void wire_ev_marked(struct hunt_oracle *o, uint32_t end, uint32_t ev)
{
	/* A probe of the idle path may have taken a turn at once. */
	if (ev == WIRE_NO_EV || wire_plan(o, end)->is_oblivious || wire_is_dead(o, end) ||
	    wire_host(o, end)->has_base_probe)
		return;
	if (oracle_mrc_ev(o, end, ev) == PATH_GOOD)
		oracle_fail(o, "end %u: EV %u met congestion, and is not skipped", end, ev);
	wire_met(o, MET_EV_SKIPPED);
}

void wire_evs_changed(struct hunt_oracle *o, const struct plan_mrc_change *c)
{
	struct wire_end *e = wire_at(o, c->end);
	struct wire_station *s = wire_station(o, o->plan->ends[c->end].host);

	switch (c->what) {
	case PLAN_MRC_DENY:
	case PLAN_MRC_ALLOW:
		e->evs[c->ev].is_denied = c->what == PLAN_MRC_DENY;
		wire_met(o, MET_EV_DENIED);
		break;
	case PLAN_MRC_PORTS: e->denied_ports = c->ports; break;
	default:
		s->down = c->ports;
		s->has_changed_ports = true;
		break;
	}
}

void wire_evs_look(struct hunt_oracle *o, uint32_t end)
{
	struct wire_end *e = wire_at(o, end);

	if (o->ends[end].is_gone)
		return;
	uint32_t dead = oracle_mrc_dead_ports(o, end), died = dead & ~(uint32_t)e->dead_ports;
	uint64_t losses = oracle_mrc_port_losses(o, end);

	/* One may have died and come back on trial since, as too little was left: nobody says which
	 * one it was. */
	if (losses != e->port_losses && !died)
		died = ALL_PORTS;
	e->dead_ports = (uint8_t)dead;
	e->port_losses = losses;
	if (died)
		wire_ask_died(o, end, died);
}

void wire_evs_on_answer(struct hunt_oracle *o, uint32_t end)
{
	wire_evs_look(o, end);
	if (!o->ends[end].is_gone)
		wire_at(o, end)->window_before = oracle_mrc_window(o, end);
}

bool wire_is_honest(const struct hunt_oracle *o, uint32_t host)
{
	for (uint32_t e = 0; e < o->plan->n_ends; e++)
		if (o->plan->ends[e].host == host && o->ends[e].is_tainted)
			return false;
	return true;
}

/* Losses that are found in a pull, by nobody's word, cut a window (UE 3.6.13.4), unless it is at
 * its least or something else bounds it; and make none larger, but for a quick adapt to what had
 * arrived, which is less than a part of MaxWnd. */
static bool check_cut(struct hunt_oracle *o, uint32_t end)
{
	const struct wire_end *e = wire_at(o, end);
	uint64_t bound = plan_mrc(o->plan)->cc.window_bytes, window = oracle_mrc_window(o, end);

	uint32_t gate = plan_mrc(o->plan)->cc.nscc.qa_gate;

	if (e->window_before > 0 && window > e->window_before &&
	    window > most_window(o) >> (gate ? gate : 3))
		oracle_fail(o, "end %u: a window grew from %" PRIu64 " to %" PRIu64 " by itself",
			    end, e->window_before, window);
	return e->window_before == 0 || window != e->window_before || window == 1 ||
	       window == bound || wire_is_dead(o, end);
}

static uint64_t n_lost(const struct hunt_counts *c)
{
	return c->more[MET_LOST_GAP] + c->more[MET_LOST_TIMEOUT];
}

void oracle_mrc_pulled(struct hunt_oracle *o, uint32_t host, const struct hunt_counts *before,
		       const struct hunt_counts *after)
{
	bool is_nscc = plan_mrc(o->plan)->cc.kind == CC_NSCC;
	bool has_lost = n_lost(after) > n_lost(before), is_cut = false;

	for (uint32_t end = 0; end < o->plan->n_ends; end++) {
		struct wire_end *e = wire_at(o, end);
		struct oracle_mrc_view v;

		if (o->plan->ends[end].host != host || o->ends[end].is_tainted ||
		    o->ends[end].is_gone)
			continue;
		if (e->sent_bytes > 0 && oracle_mrc_view(o, end, &v) &&
		    v.inflight_bytes >= v.window_bytes + e->sent_bytes)
			oracle_fail(o,
				    "end %u: %" PRIu64 " bytes in flight, the window is %" PRIu64,
				    end, v.inflight_bytes, v.window_bytes);
		e->sent_bytes = 0;
		wire_evs_look(o, end);
		if (is_nscc && has_lost) {
			is_cut |= check_cut(o, end);
			wire_evs_on_answer(o, end);
		}
	}
	if (!is_nscc || !has_lost || !wire_is_honest(o, host))
		return;
	if (!is_cut)
		oracle_fail(o, "h%u: losses, and no window is smaller", host);
	wire_met(o, MET_WINDOW_CUT);
}

/* Whether a fault lets some packets of a port through: an EV that answered now and then is on trial
 * for long, and where a port is not lost as a whole, each of its EVs is by itself. */
static bool has_gray(const struct hunt_plan *s)
{
	static const uint32_t kinds = 1u << FAULT_GRAY | 1u << FAULT_DROP | 1u << FAULT_BURST |
				      1u << FAULT_CORRUPT | 1u << FAULT_DOWN | 1u << FAULT_FLAP |
				      1u << FAULT_BLACK_HOLE;

	for (uint32_t i = 0; i < s->n_faults; i++)
		if (kinds >> s->faults[i].kind & 1)
			return true;
	return false;
}

/* Whether all EVs of an end had time to come back. They are probed while something is out, and
 * need room for that at both ends. */
static bool has_healed(const struct hunt_oracle *o, uint32_t end)
{
	const struct plan_mrc_host *own = wire_host(o, end), *peer = wire_host(o, end ^ 1);
	psec lost = wire_at(o, end)->fault_at, healed = o->plan->healed_at;
	uint32_t least = (has_gray(o->plan) ? 16 : 2) * set_of(o, end)->n;
	struct oracle_mrc_view v;

	if (o->plan->n_ends > ENDS_MOST || !oracle_mrc_view(o, end, &v) ||
	    o->now(o->clock) <
		    (lost > healed ? lost : healed) + BACK_AFTER + BACK_RTTS * v.srtt_ns * PSEC_NS)
		return false;
	if (own->max_ev_faults <= FEW || own->max_probes <= FEW || peer->max_answers <= FEW ||
	    o->plan->n_tail == 0)
		return false;
	return o->plan->n_tail + wire_at(o, end)->busy / (PROBE_GAP_NS * PSEC_NS) >=
	       (least > PROBES_LEAST ? least : PROBES_LEAST);
}

/* 9.3.1: what is well again is used again. */
void wire_evs_rest(struct hunt_oracle *o, uint32_t end)
{
	const struct plan_mrc_evs *w = set_of(o, end);
	const struct wire_end *e = wire_at(o, end);

	if (oracle_mrc_is_sheltered(o, end) && o->plan->n_faults > 0)
		wire_met(o, MET_SHELTERED);
	if (!has_healed(o, end))
		return;
	wire_met(o, MET_TAILS);
	for (uint32_t i = 0; i < w->n; i++)
		if (!e->evs[i].is_denied && !(shut_ports(o, end) >> w->evs[i].port & 1) &&
		    !e->evs[i].has_come_back && !is_usable(o, end, i))
			oracle_fail(o, "end %u: EV %u is still out of use", end, i);
}

bool oracle_mrc_is_shut(const struct hunt_oracle *o, uint32_t end)
{
	(void)end;
	return plan_mrc(o->plan)->may_shut;
}

/* The planes that no fault touches, a bit each; none where a fault touches a host. */
static uint32_t safe_planes(const struct hunt_plan *s)
{
	uint32_t planes = (1u << s->shape.planes) - 1;

	for (uint32_t i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->faults[i];

		if (f->kind == FAULT_PLANE)
			planes &= ~(1u << f->node);
		else if (f->kind < FAULT_PLANE || f->kind == FAULT_PAUSE)
			planes &= ~(1u << s->topology.ports[f->port].plane);
		else if (f->kind == FAULT_REBOOT)
			planes &= ~(1u << s->topology.nodes[f->node].plane);
		else if (f->kind != FAULT_SKEW)
			planes = 0;
	}
	return planes;
}

/* Whether an end has an EV through these planes that is never shut, whichever EVs it takes. */
static bool has_open_ev(const struct hunt_plan *s, uint32_t end, uint32_t planes)
{
	const struct plan_mrc *m = plan_mrc(s);
	uint32_t each = s->shape.nic_ports / s->shape.planes;

	for (uint32_t i = 0; i < 2; i++) {
		const struct plan_mrc_evs *w = &m->ends[end].evs[i];
		uint32_t k = 0;

		/* The first by an open port is never denied. */
		while (k < w->n && !(m->open_ports >> w->evs[k].port & 1))
			k++;
		if (k == w->n || !(planes >> w->evs[k].port / each & 1))
			return false;
	}
	return true;
}

bool oracle_mrc_is_sheltered(const struct hunt_oracle *o, uint32_t end)
{
	const struct plan_mrc_end *e = wire_plan(o, end);
	uint32_t planes = safe_planes(o->plan);
	bool has_room = wire_host(o, end)->max_out >= PLAN_MRC_PLENTY &&
			wire_host(o, end ^ 1)->max_early >= PLAN_MRC_PLENTY &&
			wire_host(o, end ^ 1)->max_answers > FEW;

	return has_room && !e->is_oblivious &&
	       (uint32_t)e->linear + e->exponential >= TRIES_LEAST &&
	       has_open_ev(o->plan, end, planes) && has_open_ev(o->plan, end ^ 1, planes);
}
