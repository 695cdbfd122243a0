/* The requestor's EVs (9.3): the engine reports to struct path what happened to packets, and what
 * that says of EVs has its effect at once: on packets that are out, on turns, on queue pairs with
 * the same peer. */
#include "mrc/state.h"

#define STATUS_DOUBLINGS 10u /* of the wait for the answer to a Port Status Update */

/* Whether what happens to packets of this EV counts. */
static bool is_counted(const struct mrc_qp *q, uint32_t ev)
{
	return !(q->attr.flags & MRC_OBLIVIOUS) && ev < q->attr.evs->set.n;
}

/* What is out by these ports is lost. */
static void lose_ports(struct mrc_qp *q, uint32_t ports, struct mrc_losses *l)
{
	const struct path_ev *evs = q->attr.evs->set.evs;

	for (uint64_t n = q->req.sent.una; n < q->req.sent.next; n++) {
		uint32_t ev = engine_sent_at(&q->req.sent, n)->user;

		if (ev != MRC_NO_EV && ports >> evs[ev].port & 1)
			mrc_lose(&q->req, n, l);
	}
}

/* Some EV is assumed bad now, or no longer. */
static void tell_news(struct mrc *m, struct mrc_qp *q)
{
	uint32_t n[PATH_STATES] = {0};

	mrc_raise(m, q, ENGINE_EVENT_EV_STATE);
	if (!trace_is_on(&m->cfg.trace))
		return;
	const struct traced_qp of = mrc_traced(m, q);

	path_count(&q->req.path, n);
	traced_paths(&m->cfg.trace, &of, n[PATH_ASSUMED_BAD], q->attr.evs->set.n);
}

void mrc_evs_changed(struct mrc *m, struct mrc_qp *q)
{
	uint32_t was = q->send_ports, dead = path_dead(&q->req.path);
	uint32_t died = dead & ~(uint32_t)q->req.dead_ports;
	struct mrc_losses l = {0};

	q->req.dead_ports = (uint8_t)dead;
	mrc_recount_turns(m, q);
	if (list_is_linked(&q->starved_link) && was != q->send_ports)
		mrc_offer_chunk(m);
	if (died)
		lose_ports(q, died, &l);
	m->count.lost_port += l.pkts;
	if (mrc_report_loss(m, q, &l, CC_LOSS_GAP))
		mrc_wake_send(m, q);
	if (path_take_news(&q->req.path))
		tell_news(m, q);
	mrc_ask_plan(m, q);
}

/* Denied by whoever made the profile, or for this queue pair. */
static uint32_t denied_ports(const struct mrc_qp *q)
{
	return (uint32_t)q->attr.evs->denied_ports | q->attr.denied_ports;
}

/* Another queue pair with this peer than q, or NULL. */
static struct mrc_qp *other_with_peer(const struct mrc *m, const struct mrc_qp *q, uint32_t peer)
{
	struct mrc_qp *other = mrc_next_with_peer(m, peer, NULL);

	while (other && (other == q || other->state == MRC_ERROR))
		other = mrc_next_with_peer(m, peer, other);
	return other;
}

/* Whether two queue pairs with one peer take the same EVs to it. */
static bool are_fellows(const struct mrc_qp *a, const struct mrc_qp *b)
{
	return a != b && a->state != MRC_ERROR && b->state != MRC_ERROR &&
	       a->req.path.profile == b->req.path.profile;
}

/* An EV that q found dead is so for its fellows: none of them is to lose a packet to know it. One
 * loss alone is a suspicion, and stays with who met it. */
static void report_to_fellows(struct mrc *m, const struct mrc_qp *q, uint32_t ev)
{
	uint32_t peer = q->known_peer;
	struct mrc_qp *other = mrc_next_with_peer(m, peer, NULL);

	for (; other; other = mrc_next_with_peer(m, peer, other)) {
		if (!are_fellows(other, q) || !is_counted(other, ev))
			continue;
		path_on_dead(&other->req.path, ev, m->now);
		mrc_evs_changed(m, other);
	}
}

/* And one that has just begun learns what they know. */
static void learn_of_fellows(struct mrc *m, struct mrc_qp *q)
{
	const struct mrc_qp *other = mrc_next_with_peer(m, q->known_peer, NULL);

	while (other && (!are_fellows(other, q) || !is_counted(other, 0)))
		other = mrc_next_with_peer(m, q->known_peer, other);
	for (uint32_t ev = 0; other && ev < q->attr.evs->set.n; ev++)
		if (is_counted(q, ev) && path_is_silent(&other->req.path, ev))
			path_on_dead(&q->req.path, ev, m->now);
}

/* If one of q's requests was to report our ports, another queue pair does it now; q may be for
 * another peer already. */
void mrc_evs_quiet(struct mrc *m, struct mrc_qp *q)
{
	bool was_reporting = false;
	uint32_t peer = 0;
	struct list_link *link;

	while ((link = list_pop(&q->req.own_probes))) {
		struct mrc_request *r = LIST_OWNER(link, mrc_request, own_link);

		if (r->own == MRC_OWN_PORTS) {
			was_reporting = true;
			peer = r->what.peer;
		}
		mrc_endpoint_withdraw(m, r);
	}
	q->req.path_due = NSEC_NEVER;
	struct mrc_qp *other = was_reporting ? other_with_peer(m, q, peer) : NULL;

	if (other) {
		other->reported_up = 0;
		mrc_ask_plan(m, other);
	}
}

void mrc_evs_stop(struct mrc *m, struct mrc_qp *q)
{
	mrc_evs_quiet(m, q);
	if (q->req.path.profile) {
		path_stop(&q->req.path);
		mrc_peer_leave(q);
	}
	q->req.path.profile = NULL;
}

/* Whatever is out went by no EV that is known. */
static void forget_evs(struct mrc_requester *req)
{
	for (uint64_t n = req->sent.una; n < req->sent.next; n++)
		engine_sent_at(&req->sent, n)->user = MRC_NO_EV;
}

/* What the peer said of its ports, and what was reported to it of ours, holds for other EVs to it.
 */
void mrc_evs_start(struct mrc *m, struct mrc_qp *q, bool is_same_peer)
{
	struct mrc_requester *req = &q->req;
	const struct mrc_qp *like =
		is_same_peer && req->path.profile ? q : other_with_peer(m, q, q->attr.peer);
	uint32_t down = like ? mrc_peer_ports_down(like) : 0,
		 reported = like ? like->reported_up : mrc_all_ports(m);
	uint8_t doubted = like ? like->req.doubted : 0;
	const struct path_sender sender = {
		.profile = q->attr.evs,
		.cfg = &m->cfg.path,
		.bits = q->ev_bits,
		/* Queue pairs take the same EVs in different orders (MRC-9.3.1-02). */
		.seed = m->cfg.seed + q->id.number * UINT64_C(0x9e3779b97f4a7c15),
		.burst = q->attr.burst,
	};

	bool had_evs = req->path.profile;

	mrc_evs_stop(m, q);
	forget_evs(req);
	path_start(&req->path, &sender);
	mrc_peer_join(m, q);
	path_block(&req->path, PATH_BLOCK_DENIED, denied_ports(q), m->now);
	path_block(&req->path, PATH_BLOCK_LINK, m->ports_down, m->now);
	path_block(&req->path, PATH_BLOCK_PEER, down, m->now);
	learn_of_fellows(m, q);
	if (like != q) {
		mrc_doubt(m, q, doubted);
		req->to_ask = 0;
	}
	mrc_ask_first(m, q);
	req->peer_port_due = req->doubted ? m->now : m->now + MRC_PEER_PORT_NS;
	req->dead_ports = 0;
	q->reported_up = (uint8_t)reported;
	path_walk_start(&req->answer_path, &q->attr.evs->set, ~q->id.number);
	if (path_take_news(&req->path) || had_evs)
		tell_news(m, q);
	mrc_ask_plan(m, q);
}

void mrc_ev_marked(struct mrc_qp *q, uint32_t ev)
{
	if (is_counted(q, ev))
		path_on_marked(&q->req.path, ev);
}

void mrc_ev_trimmed(struct mrc_qp *q, uint32_t ev)
{
	if (is_counted(q, ev))
		path_on_trimmed(&q->req.path, ev);
}

void mrc_ev_avoid(struct mrc *m, struct mrc_qp *q, uint32_t ev)
{
	if (!is_counted(q, ev))
		return;
	path_on_avoid(&q->req.path, ev, m->now);
	mrc_evs_changed(m, q);
}

void mrc_ev_lost(struct mrc *m, struct mrc_qp *q, uint32_t ev, nsec at)
{
	if (is_counted(q, ev))
		path_on_lost(&q->req.path, ev, at, m->now);
}

void mrc_ev_arrived(struct mrc *m, struct mrc_qp *q, uint32_t ev, nsec at)
{
	if (is_counted(q, ev))
		path_on_arrived(&q->req.path, ev, at, m->now);
}

/* What was reported to a peer, it may or may not have received: a peer that did not learn of a
 * port's return would do without it for ever. */
void mrc_give_up(struct mrc *m, struct mrc_request *r)
{
	struct mrc_qp *q = r->owner;
	const struct mrc_request was = *r;

	list_remove(&q->req.own_probes, &r->own_link);
	mrc_endpoint_withdraw(m, r);
	if (was.own == MRC_OWN_EV) {
		bool was_silent = path_is_silent(&q->req.path, was.probe.ev);

		path_on_probe(&q->req.path, was.probe, PATH_PROBE_FAILED, m->now);
		/* One that never left says nothing to others. */
		if (was.is_sent && !was_silent && path_is_silent(&q->req.path, was.probe.ev))
			report_to_fellows(m, q, was.probe.ev);
	} else if (was.own == MRC_OWN_PORTS) {
		q->reported_up = 0;
		q->status_tries = (uint8_t)(q->status_tries + (q->status_tries < STATUS_DOUBLINGS));
	}
}

/* Whether a probe waits for a port by which, or is of an EV on which, nothing shall go any more
 * (9.3.2.1). */
static bool is_barred(const struct mrc_qp *q, const struct mrc_request *r)
{
	const struct path *p = &q->req.path;
	uint32_t shut = r->own == MRC_OWN_PEER_PORT
				? p->blocked[PATH_BLOCK_DENIED] | p->blocked[PATH_BLOCK_LINK]
				: path_shut(p);

	if (!mrc_is_path_probe(r->own) || r->is_sent)
		return false;
	return shut >> r->what.ev.port & 1 || path_is_denied(p, r->probe.ev);
}

void mrc_evs_barred(struct mrc *m, struct mrc_qp *q)
{
	const struct list *own = &q->req.own_probes;
	struct list_link *link = list_first(own), *next;

	for (; link; link = next) {
		struct mrc_request *r = LIST_OWNER(link, mrc_request, own_link);

		next = list_after(own, link);
		mrc_turn_question(q, r);
		if (is_barred(q, r))
			mrc_give_up(m, r);
	}
	mrc_ask_first(m, q);
	mrc_evs_changed(m, q);
}

void mrc_evs_deny_ports(struct mrc *m, struct mrc_qp *q)
{
	path_block(&q->req.path, PATH_BLOCK_DENIED, denied_ports(q), m->now);
	mrc_evs_barred(m, q);
}

int mrc_qp_deny(struct engine *e, nsec now, uint32_t number, uint32_t ev, bool is_denied)
{
	struct mrc *m = mrc_of(e);
	struct mrc_qp *q;
	int answer = mrc_find_with_ev(m, number, ev, &q);

	if (answer)
		return answer;
	m->now = now;
	path_deny(&q->req.path, ev, is_denied, now);
	mrc_evs_barred(m, q);
	return 0;
}
