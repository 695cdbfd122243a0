/* The state of ports (7.4.8): which of ours are up is reported to a peer until it answers, by one
 * of the queue pairs that have it; and where a peer says that a port is down there, it is asked
 * whether that is so, as anybody may have said it, and then now and then whether it still is. */
#include "mrc/state.h"

/* Whether a report of which of our ports are up is on its way to the peer of q. */
static bool is_reporting(const struct mrc *m, const struct mrc_qp *q)
{
	const struct mrc_endpoints *ends = &m->endpoints;

	for (uint32_t i = 0; i <= ends->id_mask; i++) {
		const struct mrc_request *r = ends->by_id[i];

		if (r && r->own == MRC_OWN_PORTS && r->what.peer == q->attr.peer &&
		    r->what.port_status == mrc_ports_up(m))
			return true;
	}
	return false;
}

bool mrc_status_due(const struct mrc *m, const struct mrc_qp *q)
{
	return q->reported_up != mrc_ports_up(m) && q->attr.evs->set.ports & mrc_ports_up(m) &&
	       q->state != MRC_ERROR && !is_reporting(m, q);
}

/* The first EV of a port that is not denied, or NULL. */
static const struct path_ev *ev_of_port(const struct mrc_qp *q, uint32_t port)
{
	const struct path_profile *f = q->attr.evs;

	for (uint32_t ev = f->first[port]; ev < f->first[port + 1]; ev++)
		if (!path_is_denied(&q->req.path, ev))
			return &f->set.evs[ev];
	return NULL;
}

/* Ports by which q's question to a port is out, or waits to be. */
static uint32_t ports_in_question(const struct mrc_qp *q)
{
	const struct list *own = &q->req.own_probes;
	uint32_t ports = 0;

	for (struct list_link *link = list_first(own); link; link = list_after(own, link)) {
		const struct mrc_request *r = LIST_OWNER(link, mrc_request, own_link);

		ports |= r->own == MRC_OWN_PEER_PORT ? UINT32_C(1) << r->what.ev.port : 0;
	}
	return ports;
}

static void take_ev(const struct mrc_qp *q, struct mrc_request *r, const struct path_ev *ev)
{
	r->what.ev = *ev;
	r->probe.ev = (uint16_t)path_number(&q->req.path, ev);
}

void mrc_turn_question(const struct mrc_qp *q, struct mrc_request *r)
{
	const struct path_ev *ev = NULL;

	if (r->own == MRC_OWN_PEER_PORT && !r->is_sent)
		ev = ev_of_port(q, r->what.ev.port);
	if (ev)
		take_ev(q, r, ev);
}

/* Asks by one EV of each of these ports. */
static void ask_by(struct mrc *m, struct mrc_qp *q, uint32_t ports)
{
	for (; ports && mrc_endpoint_has_room(m); ports &= ports - 1) {
		struct mrc_request r = {.own = MRC_OWN_PEER_PORT};
		const struct path_ev *ev = ev_of_port(q, (uint32_t)__builtin_ctz(ports));

		if (!ev)
			continue;
		take_ev(q, &r, ev);
		mrc_evs_ask(m, q, &r, ev);
	}
}

/* A port that the peer says is up there, as a bit; 0: none is open. */
static uint32_t control_port(const struct mrc_qp *q)
{
	uint32_t others = path_ports(&q->req.path) & ~mrc_asked_ports(q);

	return others & -others;
}

/* Ports of q's that nobody shut but the peer, as a whole or EV by EV. */
static uint32_t askable(const struct mrc_qp *q)
{
	const uint8_t *blocked = q->req.path.blocked;
	uint32_t ports = q->attr.evs->set.ports &
			 ~((uint32_t)blocked[PATH_BLOCK_DENIED] | blocked[PATH_BLOCK_LINK]);

	for (uint32_t left = ports; left; left &= left - 1)
		if (!ev_of_port(q, (uint32_t)__builtin_ctz(left)))
			ports &= ~(left & -left);
	return ports;
}

/* Asks by one EV of each of these ports. No answer means something where there is one by another
 * port, which is asked first. */
static void ask_of(struct mrc *m, struct mrc_qp *q, uint32_t ports)
{
	ports &= askable(q) & ~ports_in_question(q);
	ask_by(m, q, ports & q->req.doubted ? ports | control_port(q) : ports);
}

void mrc_probe_peer_ports(struct mrc *m, struct mrc_qp *q)
{
	q->req.peer_port_due = m->now + MRC_PEER_PORT_NS;
	ask_of(m, q, mrc_asked_ports(q));
}

void mrc_ask_first(struct mrc *m, struct mrc_qp *q)
{
	if (q->req.to_ask && q->state == MRC_RTS)
		ask_of(m, q, q->req.to_ask);
}

/* It may have waited for its port so long that the other one is answered by now. */
void mrc_peer_port_asked(struct mrc *m, const struct mrc_request *r)
{
	struct mrc_qp *q = r->owner;

	q->req.to_ask &= (uint8_t) ~(1u << r->what.ev.port);
	if (q->req.doubted >> r->what.ev.port & 1 && !(ports_in_question(q) & ~mrc_asked_ports(q)))
		ask_by(m, q, control_port(q));
}

/* An EV for the report of our ports: one in use, or any that leaves by a port that is up. */
static const struct path_ev *ev_of_report(const struct mrc *m, struct mrc_qp *q)
{
	const struct path_profile *f = q->attr.evs;
	const struct path_ev *ev = path_next(&q->req.path, mrc_ports_up(m));
	uint32_t ports = f->set.ports & mrc_ports_up(m);

	return ev || !ports ? ev : &f->set.evs[f->first[__builtin_ctz(ports)]];
}

void mrc_report_ports(struct mrc *m, struct mrc_qp *q)
{
	const struct path_ev *ev = ev_of_report(m, q);
	struct mrc_request r = {
		.own = MRC_OWN_PORTS,
		.tries = q->status_tries,
		.what = {.op = MRC_ENDPOINT_PORT_STATUS, .port_status = mrc_ports_up(m)},
	};

	if (ev && mrc_endpoint_has_room(m))
		mrc_evs_ask(m, q, &r, ev);
}

/* A peer answered what was reported to it: all queue pairs with that peer know. If things have
 * changed since, it must not be the last word: it may have come behind what was reported next. */
void mrc_ports_reported(struct mrc *m, uint32_t peer, uint32_t up)
{
	struct mrc_qp *q = mrc_next_with_peer(m, peer, NULL);

	for (; q; q = mrc_next_with_peer(m, peer, q)) {
		q->reported_up = (uint8_t)up;
		q->status_tries = 0;
		mrc_evs_plan(m, q);
	}
}

void mrc_doubt(struct mrc *m, struct mrc_qp *q, uint32_t ports)
{
	q->req.doubted = (uint8_t)ports;
	q->req.doubted_at = q->req.peer_port_due = m->now;
	q->req.n_since = 0;
}

void mrc_settle_doubt(struct mrc *m, uint32_t peer, uint32_t ports, bool is_down)
{
	struct mrc_qp *q = mrc_next_with_peer(m, peer, NULL);

	for (; q; q = mrc_next_with_peer(m, peer, q)) {
		uint32_t was = mrc_peer_ports_down(q), down = was & ~ports;

		if (is_down)
			down = was | (q->req.doubted & ports);
		q->req.doubted &= (uint8_t)~ports;
		q->req.to_ask &= q->req.doubted;
		/* One that was doubted was in use all the time. */
		if (down == was)
			continue;
		if (is_down)
			q->req.peer_port_due = m->now + MRC_PEER_PORT_NS;
		path_block(&q->req.path, PATH_BLOCK_PEER, down, m->now);
		mrc_evs_barred(m, q);
		mrc_clock_follow(m, q);
	}
}

/* Which of the queue pairs with a peer asks it best: one that may now, has something out, and knows
 * how long an answer takes. */
static uint32_t rank(const struct mrc_qp *q)
{
	if (!q || q->state != MRC_RTS || !(q->attr.evs->set.ports & q->req.doubted))
		return 0;
	return 1 + (q->req.srtt > 0) + 2 * (q->req.executed < q->req.end) +
	       4 * ((askable(q) & q->req.doubted) != 0);
}

/* Port i of a peer is in the same plane as port i of ours (9.3.2): where it is down, nothing
 * is sent to it. One that has no port up would not have said so. Whoever can send in its name can
 * say so too: a port that is used is shut only when it was asked by that port, and answered by
 * another one alone. Queue pairs that are idle wait for what others find; one asks in any case. */
void mrc_on_peer_ports(struct mrc *m, uint32_t peer, uint32_t up)
{
	uint32_t down = mrc_all_ports(m) & ~up;
	struct mrc_qp *q = mrc_next_with_peer(m, peer, NULL), *asker = NULL;

	if (down == mrc_all_ports(m))
		return;
	for (; q; q = mrc_next_with_peer(m, peer, q)) {
		uint32_t was = mrc_peer_ports_down(q), known = was & down, doubted = down & ~known;
		bool is_new = doubted & ~(uint32_t)q->req.doubted;

		q->req.doubted &= (uint8_t)doubted;
		q->req.to_ask &= (uint8_t)doubted;
		if (is_new) {
			mrc_doubt(m, q, doubted);
			asker = rank(q) > rank(asker) ? q : asker;
		}
		/* Who says the same again and again costs no more than this. */
		if (known == was && !is_new)
			continue;
		path_block(&q->req.path, PATH_BLOCK_PEER, known, m->now);
		mrc_evs_barred(m, q);
		mrc_clock_follow(m, q);
	}
	if (asker) {
		asker->req.to_ask = asker->req.doubted;
		mrc_probe_peer_ports(m, asker);
		mrc_evs_plan(m, asker);
	}
}

/* What was to be reported of our ports, and was not sent, is out of date: behind the next report it
 * would be the last word. */
static void withdraw_unsent_reports(struct mrc *m)
{
	const struct mrc_endpoints *ends = &m->endpoints;

	for (uint32_t i = 0; i <= ends->id_mask; i++) {
		struct mrc_request *r = ends->by_id[i];

		if (!r || r->own != MRC_OWN_PORTS || r->is_sent)
			continue;
		list_remove(&r->owner->req.own_probes, &r->own_link);
		mrc_endpoint_withdraw(m, r);
	}
}

void mrc_ports_down(struct engine *e, nsec now, uint32_t ports)
{
	struct mrc *m = mrc_of(e);

	m->now = now;
	ports &= mrc_all_ports(m);
	if (m->ports_down == ports)
		return;
	m->ports_down = ports;
	withdraw_unsent_reports(m);
	for (struct mrc_qp *q = mrc_next_qp(m, NULL); q; q = mrc_next_qp(m, q)) {
		if (!q->attr.evs)
			continue;
		path_block(&q->req.path, PATH_BLOCK_LINK, ports, now);
		q->status_tries = 0;
		if (mrc_status_due(m, q))
			mrc_report_ports(m, q);
		mrc_evs_barred(m, q);
		mrc_clock_follow(m, q);
	}
}
