/* What comes of what the engine itself asked: answers, and those that did not come in time. Nothing
 * but probes brings EVs back (9.3.1). A single EV probe may measure the round trip of an idle path;
 * nothing depends on its answer. */
#include "mrc/state.h"

/* The timeout counts from here on: many probes at a time wait for each other, and none of them is
 * to fail for that. */
void mrc_ask_sent(struct mrc *m, struct mrc_request *r)
{
	r->due = m->now + (mrc_probe_timeout_ns(r->owner) << r->tries);
	if (r->own == MRC_OWN_PEER_PORT)
		mrc_peer_port_asked(m, r);
	mrc_ask_plan(m, r->owner);
}

/* By reliability probes on these very EVs (9.3.1): a peer must answer those, and may leave EV
 * probes unanswered (7.4.7). None is drawn that there is no room for: what was not asked is no
 * evidence. */
static void probe_evs(struct mrc *m, struct mrc_qp *q)
{
	struct path *p = &q->req.path;
	struct path_probe probe;

	while (mrc_endpoint_has_room(m) && path_probe_next(p, m->now, mrc_all_ports(m), &probe)) {
		struct mrc_request r = {.own = MRC_OWN_EV, .probe = probe};

		mrc_ask(m, q, &r, &p->profile->set.evs[probe.ev]);
	}
}

/* Returns the ports that the peer says are down there, and now did not answer by while it did
 * by another. */
static uint32_t give_up_late(struct mrc *m, struct mrc_qp *q)
{
	const struct list *own = &q->req.own_probes;
	struct list_link *link = list_first(own), *next;
	uint32_t silent = 0;

	for (; link; link = next) {
		struct mrc_request *r = LIST_OWNER(link, mrc_request, own_link);

		next = list_after(own, link);
		if (r->due > m->now)
			continue;
		if (r->own == MRC_OWN_PEER_PORT && r->is_sent && q->req.control_at > r->sent_at)
			silent |= UINT32_C(1) << r->what.ev.port;
		mrc_give_up(m, r);
	}
	return silent & q->req.doubted;
}

void mrc_probes_run(struct mrc *m, struct mrc_qp *q)
{
	uint32_t silent = give_up_late(m, q);

	if (silent)
		mrc_settle_doubt(m, q->attr.peer, silent, true);
	if (mrc_status_due(m, q))
		mrc_report_ports(m, q);
	if (mrc_probes_due(m, q) <= m->now) {
		q->req.probed_at = m->now;
		if (mrc_asked_ports(q) && q->req.peer_port_due <= m->now)
			mrc_probe_peer_ports(m, q);
		probe_evs(m, q);
	}
	mrc_evs_changed(m, q);
}

void mrc_ask_answered(struct mrc *m, const struct mrc_request *r, nsec rtt_ns)
{
	struct mrc_qp *q = r->owner;
	struct cc_ack ack = {.now = m->now, .rtt_ns = rtt_ns, .out_bytes = mrc_inflight(&q->req)};

	if (r->own == MRC_OWN_BASE)
		cc_on_ack(&q->req.cc, &ack);
	else
		mrc_ports_reported(m, r->what.peer, r->what.port_status);
	mrc_evs_changed(m, q);
}

/* Whatever it was asked for, it arrived at the peer: by a port that it said is down there, that is
 * not so, as far as it was sent since. By one that it never said so of, nothing is new but that
 * questions to ports are answered. */
void mrc_on_probe_ack(struct mrc *m, struct mrc_qp *q, uint16_t probe_id,
		      const struct mrc_request *r)
{
	const struct mrc_requester *req = &q->req;
	uint32_t port = r ? r->what.ev.port : req->probe_ports[probe_id % MRC_PROBES];
	bool is_since = r ? r->sent_at >= req->doubted_at
			  : (uint16_t)(req->probe_id - probe_id) < req->n_since;

	if (!(mrc_asked_ports(q) >> port & 1)) {
		if (r && r->own == MRC_OWN_PEER_PORT)
			q->req.control_at = m->now;
	} else if (is_since) {
		mrc_settle_doubt(m, q->attr.peer, UINT32_C(1) << port, false);
	}
}

void mrc_probe_answered(struct mrc *m, struct mrc_request *r, uint8_t mark)
{
	const struct mrc_request was = *r;
	struct mrc_qp *q = was.owner;
	enum path_outcome outcome = mark == MRC_MARK_SKIP          ? PATH_PROBE_MARKED
				    : mark == MRC_MARK_ALWAYS_SKIP ? PATH_PROBE_FAILED
								   : PATH_PROBE_CLEAN;

	list_remove(&q->req.own_probes, &r->own_link);
	mrc_endpoint_withdraw(m, r);
	if (was.own == MRC_OWN_EV)
		path_on_probe(&q->req.path, was.probe, outcome, m->now);
	mrc_evs_changed(m, q);
	mrc_clock_follow(m, q);
}

/* Whoever has nothing more to send needs no window. */
void mrc_measure_idle(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_requester *req = &q->req;
	struct mrc_request r = {
		.own = MRC_OWN_BASE,
		.what = {.op = MRC_ENDPOINT_EV_PROBE, .tclass = ENGINE_CONTROL},
	};

	req->is_base_known = true;
	if (!m->cfg.has_base_probe || req->sent.next == req->end || !mrc_endpoint_has_room(m))
		return;
	const struct path_ev *ev = path_next(&req->path, mrc_all_ports(m));

	if (!ev)
		return;
	mrc_ask(m, q, &r, ev);
	mrc_ask_plan(m, q);
}
