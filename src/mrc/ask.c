/* What the engine itself asks peers, by which EV and when: questions to ports that a peer says are
 * down there, reports of which of ours are up (7.4.8), and, as probes.c has them, probes of EVs.
 * What comes of them is for evs.c, ports.c and probes.c to say. */
#include "mrc/state.h"

#define SILENT_PROBES   4u /* times in a timeout that EVs are probed when nothing is received */
#define UNSENT_TIMEOUTS 4u /* times that of an answer: for a probe whose port stays shut */

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

/* While the peer is silent, with timeout after timeout, EVs are probed a few times in each: it may
 * be gone. */
nsec mrc_probes_due(const struct mrc *m, const struct mrc_qp *q)
{
	const struct mrc_requester *req = &q->req;

	if (req->executed == req->end)
		return NSEC_NEVER;
	nsec due = path_deadline(&req->path, mrc_all_ports(m));

	if (mrc_asked_ports(q) && due > req->peer_port_due)
		due = req->peer_port_due;
	if (req->tries > 0) {
		nsec least = req->probed_at + mrc_timeout_ns(&q->attr, req->tries) / SILENT_PROBES;

		due = due > least ? due : least;
	}
	return due;
}

/* When the first request of q's own is given up. */
static nsec given_up_at(const struct mrc_qp *q)
{
	const struct list *own = &q->req.own_probes;
	nsec due = NSEC_NEVER;

	for (struct list_link *link = list_first(own); link; link = list_after(own, link)) {
		const struct mrc_request *r = LIST_OWNER(link, mrc_request, own_link);

		due = r->due < due ? r->due : due;
	}
	return due;
}

void mrc_ask_plan(struct mrc *m, struct mrc_qp *q)
{
	nsec due = mrc_status_due(m, q) ? m->now : mrc_probes_due(m, q), given_up = given_up_at(q);

	/* What is asked waits for room: answers to others make it. */
	if (!mrc_endpoint_has_room(m) && due < m->now + m->cfg.path.backoff_ns)
		due = m->now + m->cfg.path.backoff_ns;
	q->req.path_due = q->state == MRC_ERROR ? NSEC_NEVER : due < given_up ? due : given_up;
	mrc_arm(m, q);
}

void mrc_ask(struct mrc *m, struct mrc_qp *q, struct mrc_request *r, const struct path_ev *ev)
{
	r->owner = q;
	r->due = m->now + (mrc_probe_timeout_ns(q) << r->tries) * UNSENT_TIMEOUTS;
	if (r->own == MRC_OWN_PEER_PORT && q->req.to_ask >> r->what.ev.port & 1)
		r->due = NSEC_NEVER;
	r->what.peer = q->attr.peer;
	r->what.local = q->attr.local;
	r->what.ev = *ev;
	r->what.has_service_time = q->attr.flags & MRC_PEER_SERVICE_TIME;
	mrc_endpoint_ask(m, r);
}

struct mrc_request *mrc_probe_find(const struct mrc_qp *q, uint16_t probe_id)
{
	const struct list *own = &q->req.own_probes;

	for (struct list_link *link = list_first(own); link; link = list_after(own, link)) {
		struct mrc_request *r = LIST_OWNER(link, mrc_request, own_link);

		if (mrc_is_path_probe(r->own) && r->is_sent && r->probe_id == probe_id)
			return r;
	}
	return NULL;
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
		mrc_ask(m, q, &r, ev);
	}
}

/* A port that the peer says is up there, as a bit; 0: none is open. */
static uint32_t control_port(const struct mrc_qp *q)
{
	uint32_t others = path_ports(&q->req.path) & ~mrc_asked_ports(q);

	return others & -others;
}

uint32_t mrc_askable_ports(const struct mrc_qp *q)
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
	ports &= mrc_askable_ports(q) & ~ports_in_question(q);
	ask_by(m, q, ports & q->req.doubted ? ports | control_port(q) : ports);
}

void mrc_doubt(struct mrc *m, struct mrc_qp *q, uint32_t ports)
{
	q->req.doubted = (uint8_t)ports;
	q->req.doubted_at = q->req.peer_port_due = m->now;
	q->req.n_since = 0;
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
		mrc_ask(m, q, &r, ev);
}
