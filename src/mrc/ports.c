/* The state of ports (7.4.8): which of ours are up is reported to a peer until it answers, by one
 * of the queue pairs that have it; and where a peer says that a port is down there, it is asked
 * whether that is so, as anybody may have said it, and then now and then whether it still is. How
 * that is asked and reported is in ask.c. */
#include "mrc/state.h"

/* A peer answered what was reported to it: all queue pairs with that peer know. If things have
 * changed since, it must not be the last word: it may have come behind what was reported next. */
void mrc_ports_reported(struct mrc *m, uint32_t peer, uint32_t up)
{
	struct mrc_qp *q = mrc_next_with_peer(m, peer, NULL);

	for (; q; q = mrc_next_with_peer(m, peer, q)) {
		q->reported_up = (uint8_t)up;
		q->status_tries = 0;
		mrc_ask_plan(m, q);
	}
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

void mrc_peer_port_arrived(struct mrc *m, struct mrc_qp *q, uint32_t ev, nsec at)
{
	if (!q->req.doubted || ev >= q->attr.evs->set.n || at <= q->req.doubted_at)
		return;
	uint32_t port = 1u << q->attr.evs->set.evs[ev].port & q->req.doubted;

	if (port)
		mrc_settle_doubt(m, q->attr.peer, port, false);
}

/* Which of the queue pairs with a peer asks it best: one that may now, has something out, and knows
 * how long an answer takes. */
static uint32_t rank(const struct mrc_qp *q)
{
	if (!q || q->state != MRC_RTS || !(q->attr.evs->set.ports & q->req.doubted))
		return 0;
	return 1 + (q->req.srtt > 0) + 2 * (q->req.executed < q->req.end) +
	       4 * ((mrc_askable_ports(q) & q->req.doubted) != 0);
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
		mrc_ask_plan(m, asker);
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
