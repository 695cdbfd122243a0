/* Endpoint operations (7.3): EV probes and port status updates, asked and answered on queue pair 2,
 * connectionless and best effort. Requests that are out and responses that wait come from pools, so
 * that a flood of either is dropped, not stored. Reliability probes of EVs wait for their port
 * among the requests. */
#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "engine/layout.h"
#include "mrc/state.h"

/* Bit n of a port status mask is port n, counted from 1 (M-29): bit 0 is nobody's. */
#define FIRST_PORT 1u
/* Answers in a second, and at once. All 256 EVs of some peers may be probed every few ms; a
 * stranger may ask by as many EVs as a profile has. */
#define PEER_RATE      1000000u
#define PEER_BURST     4096u
#define STRANGER_BURST PATH_EVS_MAX
#define SECOND         UINT64_C(1000000000)
/* Lists of queue pairs by a hash of their peers, of which there are at most so many. */
#define LISTS_LEAST 64u
#define LISTS_MOST  (UINT32_C(1) << (32 - HASH_SHIFT))
#define HASH_SHIFT  12u

/* The parts of the memory, as offsets from its start. */
struct layout {
	struct engine_layout all;
	size_t requests, responses, by_id, done, by_peer;
	struct pool_shape request_shape, response_shape;
	uint32_t n_ids, n_lists;
};

static struct layout layout_of(const struct mrc_cfg *cfg)
{
	struct layout l = {
		.request_shape = {sizeof(struct mrc_request), alignof(struct mrc_request),
				  cfg->max_probes},
		.response_shape = {sizeof(struct mrc_response), alignof(struct mrc_response),
				   cfg->max_probes},
		.n_ids = 1,
		.n_lists = LISTS_LEAST,
	};

	while (l.n_ids < cfg->max_probes)
		l.n_ids *= 2;
	while (l.n_lists < cfg->max_qps && l.n_lists < LISTS_MOST)
		l.n_lists *= 2;
	l.requests = engine_reserve(&l.all, pool_bytes(&l.request_shape));
	l.responses = engine_reserve(&l.all, pool_bytes(&l.response_shape));
	l.by_id = engine_reserve(&l.all, l.n_ids * sizeof(struct mrc_request *));
	l.done = engine_reserve(&l.all, cfg->max_probes * sizeof(struct mrc_endpoint_done));
	l.by_peer = engine_reserve(&l.all, l.n_lists * sizeof(struct mrc_qp *));
	return l;
}

size_t mrc_endpoint_bytes(const struct mrc_cfg *cfg)
{
	return layout_of(cfg).all.used;
}

static struct mrc_bucket bucket_of(uint32_t rate, uint32_t burst)
{
	if (rate == MRC_NO_STRANGERS)
		return (struct mrc_bucket){0};
	return (struct mrc_bucket){.every_ns = SECOND / rate,
				   .ahead_ns = SECOND / rate * (burst - 1)};
}

void mrc_endpoint_init(struct mrc *m, void *memory)
{
	struct mrc_endpoints *ends = &m->endpoints;
	struct layout l = layout_of(&m->cfg);
	uint8_t *at = memory;

	*ends = (struct mrc_endpoints){
		.by_id = (void *)(at + l.by_id),
		.id_mask = (uint16_t)(l.n_ids - 1),
		/* Who had the tag before may have asked the same peer a moment ago. */
		.next_id = m->cfg.has_id_tag ? (uint16_t)m->cfg.seed : 0,
		.done = (void *)(at + l.done),
		.for_peers = bucket_of(PEER_RATE, PEER_BURST),
		.for_strangers = bucket_of(m->cfg.stranger_rate, STRANGER_BURST),
		.by_peer = (void *)(at + l.by_peer),
		.peer_mask = l.n_lists - 1,
	};
	memset(ends->by_peer, 0, l.n_lists * sizeof(struct mrc_qp *));
	memset(ends->by_id, 0, l.n_ids * sizeof(struct mrc_request *));
	pool_init(&ends->requests, at + l.requests, &l.request_shape);
	pool_init(&ends->responses, at + l.responses, &l.response_shape);
}

static void queue_request(struct mrc_endpoints *ends, struct mrc_request *r)
{
	struct mrc_endpoint_queue *queue = &ends->wait[r->what.ev.port];

	r->next = NULL;
	if (queue->request_head)
		queue->request_tail->next = r;
	else
		queue->request_head = r;
	queue->request_tail = r;
	ends->waiting |= UINT32_C(1) << r->what.ev.port;
}

/* Each id has one place in the table and a request in it keeps it from being given again. There are
 * at least as many places as requests, so that a free one is found. */
static uint16_t new_id(struct mrc *m, struct mrc_request *r)
{
	struct mrc_endpoints *ends = &m->endpoints;

	while (ends->by_id[ends->next_id & ends->id_mask])
		ends->next_id++;
	ends->by_id[ends->next_id & ends->id_mask] = r;
	uint16_t id = ends->next_id++;

	if (!m->cfg.has_id_tag)
		return id;
	return (uint16_t)(m->cfg.id_tag << 8 | id % MRC_TAGGED_IDS);
}

int mrc_endpoint_post(struct engine *e, nsec now, const struct mrc_endpoint *request)
{
	struct mrc *m = mrc_of(e);
	struct mrc_endpoints *ends = &m->endpoints;

	m->now = now;
	if (request->op > MRC_ENDPOINT_EV_PROBE || request->ev.port >= m->cfg.n_ports ||
	    (request->op == MRC_ENDPOINT_EV_PROBE && !engine_is_tclass(request->tclass)))
		return -EINVAL;
	/* Those that ended and were not polled yet keep their place among the completions. */
	if (pool_in_use(&ends->requests) + ends->done_n >= m->cfg.max_probes)
		return -ENOMEM;
	struct mrc_request *r = pool_get(&ends->requests);

	if (!r)
		return -ENOMEM;
	*r = (struct mrc_request){.what = *request, .sent_at = now, .id = new_id(m, r)};
	queue_request(ends, r);
	return 0;
}

/* The engine's own may not take all the places from the caller. */
bool mrc_endpoint_has_room(const struct mrc *m)
{
	const struct mrc_endpoints *ends = &m->endpoints;

	return ends->n_own < (m->cfg.max_probes + 1) / 2 &&
	       pool_in_use(&ends->requests) + ends->done_n < m->cfg.max_probes;
}

void mrc_endpoint_ask(struct mrc *m, const struct mrc_request *request)
{
	struct mrc_endpoints *ends = &m->endpoints;
	struct mrc_request *r = pool_get(&ends->requests);

	assert(r);
	*r = *request;
	r->sent_at = m->now;
	r->id = new_id(m, r);
	ends->n_own++;
	list_push(&r->owner->req.own_probes, &r->own_link);
	queue_request(ends, r);
}

static void release(struct mrc_endpoints *ends, struct mrc_request *r)
{
	ends->n_own -= r->own != MRC_OWN_NONE;
	ends->by_id[r->id & ends->id_mask] = NULL;
	pool_put(&ends->requests, r);
}

/* The request ends: it is not waited for any more, and its id is free. More is filled in by who has
 * it. */
static struct mrc_endpoint_done *give_back(struct mrc *m, struct mrc_request *r,
					   enum mrc_endpoint_news news)
{
	struct mrc_endpoints *ends = &m->endpoints;
	uint32_t at = (ends->done_head + ends->done_n) % m->cfg.max_probes;

	assert(ends->done_n < m->cfg.max_probes);
	ends->done_n++;
	ends->done[at] = (struct mrc_endpoint_done){
		.news = (uint8_t)news,
		.op = r->what.op,
		.peer = r->what.peer,
		.local = r->what.local,
		.ev = r->what.ev.value,
		.cookie = r->what.cookie,
	};
	release(ends, r);
	return &ends->done[at];
}

/* Takes a request that was sent off the list of those. */
static void unlist_sent(struct mrc_endpoints *ends, struct mrc_request *r)
{
	assert(r->is_sent);
	if (r->prev)
		r->prev->next = r->next;
	else
		ends->out_head = r->next;
	if (r->next)
		r->next->prev = r->prev;
	else
		ends->out_tail = r->prev;
}

/* Takes a request that was not sent out of its queue. */
static void unlist_waiting(struct mrc_endpoints *ends, struct mrc_request *r)
{
	struct mrc_endpoint_queue *queue = &ends->wait[r->what.ev.port];
	struct mrc_request *before = NULL;

	for (struct mrc_request *at = queue->request_head; at != r; at = at->next)
		before = at;
	if (before)
		before->next = r->next;
	else
		queue->request_head = r->next;
	if (queue->request_tail == r)
		queue->request_tail = before;
	if (!queue->request_head && !queue->response_head)
		ends->waiting &= ~(UINT32_C(1) << r->what.ev.port);
}

void mrc_endpoint_withdraw(struct mrc *m, struct mrc_request *r)
{
	if (r->is_sent)
		unlist_sent(&m->endpoints, r);
	else
		unlist_waiting(&m->endpoints, r);
	release(&m->endpoints, r);
}

/* Those of the caller that wait for a port which stays shut. */
static void expire_waiting(struct mrc *m, uint32_t port, nsec before)
{
	struct mrc_request *r = m->endpoints.wait[port].request_head, *next;

	for (; r && r->sent_at < before; r = next) {
		next = r->next;
		if (r->own)
			continue;
		unlist_waiting(&m->endpoints, r);
		give_back(m, r, MRC_ENDPOINT_UNANSWERED);
	}
}

void mrc_endpoint_expire(struct engine *e, nsec before)
{
	struct mrc *m = mrc_of(e);
	struct mrc_request *r = m->endpoints.out_head, *next;

	for (; r && r->sent_at < before; r = next) {
		next = r->next;
		if (r->own)
			continue;
		unlist_sent(&m->endpoints, r);
		give_back(m, r, MRC_ENDPOINT_UNANSWERED);
	}
	for (uint32_t port = 0; port < m->cfg.n_ports; port++)
		expire_waiting(m, port, before);
}

/* Every request that is out has its place in the table of ids. */
void mrc_endpoint_forget(struct engine *e, uint64_t cookie)
{
	struct mrc *m = mrc_of(e);

	for (uint32_t i = 0; i <= m->endpoints.id_mask; i++) {
		struct mrc_request *r = m->endpoints.by_id[i];

		if (r && !r->own && r->what.cookie == cookie)
			mrc_endpoint_withdraw(m, r);
	}
}

uint32_t mrc_endpoint_poll(struct engine *e, struct mrc_endpoint_done *done, uint32_t n)
{
	struct mrc *m = mrc_of(e);
	struct mrc_endpoints *ends = &m->endpoints;
	uint32_t got = ends->n_ports < n ? ends->n_ports : n;

	ends->n_ports -= got;
	memcpy(done, ends->ports, got * sizeof *done);
	memmove(ends->ports, ends->ports + got, ends->n_ports * sizeof *done);
	for (; got < n && ends->done_n > 0; got++) {
		done[got] = ends->done[ends->done_head];
		ends->done_head = (ends->done_head + 1) % m->cfg.max_probes;
		ends->done_n--;
	}
	return got;
}

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

static void queue_response(struct mrc_endpoints *ends, struct mrc_response *r)
{
	struct mrc_endpoint_queue *queue = &ends->wait[r->port];

	r->next = NULL;
	if (queue->response_head)
		queue->response_tail->next = r;
	else
		queue->response_head = r;
	queue->response_tail = r;
	ends->waiting |= UINT32_C(1) << r->port;
}

static struct mrc_qp **list_of(const struct mrc_endpoints *ends, uint32_t peer)
{
	return &ends->by_peer[peer * UINT32_C(0x9e3779b1) >> HASH_SHIFT & ends->peer_mask];
}

void mrc_peer_join(struct mrc *m, struct mrc_qp *q)
{
	struct mrc_qp **list = list_of(&m->endpoints, q->attr.peer);

	q->known_peer = q->attr.peer;
	q->peer_next = *list;
	q->peer_link = list;
	if (*list)
		(*list)->peer_link = &q->peer_next;
	*list = q;
}

void mrc_peer_leave(struct mrc_qp *q)
{
	*q->peer_link = q->peer_next;
	if (q->peer_next)
		q->peer_next->peer_link = q->peer_link;
}

struct mrc_qp *mrc_next_with_peer(const struct mrc *m, uint32_t peer, const struct mrc_qp *q)
{
	struct mrc_qp *next = q ? q->peer_next : *list_of(&m->endpoints, peer);

	while (next && next->known_peer != peer)
		next = next->peer_next;
	return next;
}

/* Whether one more answer may go to a peer, or a stranger, now. An answer is longer than its
 * request (Tables 7-20 and 7-22 fix both), and a request says who sent it as it likes: strangers
 * get few. */
static bool take_turn(struct mrc *m, bool is_peer)
{
	struct mrc_endpoints *ends = &m->endpoints;
	struct mrc_bucket *b = is_peer ? &ends->for_peers : &ends->for_strangers;

	if (!b->every_ns || b->full_at > m->now + b->ahead_ns)
		return false;
	b->full_at = (b->full_at > m->now ? b->full_at : m->now) + b->every_ns;
	return true;
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
	if (!take_turn(m, is_peer)) {
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
	queue_response(ends, r);
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

	unlist_sent(ends, r);
	if (!r->own) {
		struct mrc_endpoint_done *done = give_back(m, r, MRC_ENDPOINT_ANSWERED);

		done->port = in->rx->port;
		done->is_adjusted = held > 0;
		done->rtt_ns = rtt_ns;
		return MRC_VERDICT_rx_endpoint_re;
	}
	const struct mrc_request was = *r;

	list_remove(&r->owner->req.own_probes, &r->own_link);
	release(ends, r);
	mrc_evs_answered(m, &was, rtt_ns);
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
	struct mrc_endpoints *ends = &m->endpoints;
	struct mrc_request *r = queue->request_head;

	queue->request_head = r->next;
	if (mrc_is_path_probe(r->own)) {
		r->probe_id = mrc_put_probe(m, r->owner, &r->what.ev, tx);
		mrc_put_class(r->owner, tx);
		m->count.tx_fault_probe++;
	} else {
		fill_request(m, r, tx);
	}
	r->sent_at = m->now;
	r->is_sent = true;
	if (r->own)
		mrc_evs_asked(m, r);
	r->next = NULL;
	r->prev = ends->out_tail;
	if (ends->out_tail)
		ends->out_tail->next = r;
	else
		ends->out_head = r;
	ends->out_tail = r;
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

bool mrc_endpoint_waits(const struct mrc *m, uint32_t free_ports)
{
	return m->endpoints.waiting & free_ports;
}

/* Ports take turns, and so do requests and responses of a port. */
bool mrc_endpoint_next(struct mrc *m, uint32_t free_ports, struct tx_pkt *tx)
{
	struct mrc_endpoints *ends = &m->endpoints;
	uint32_t ports = ends->waiting & free_ports;

	if (!ports)
		return false;
	uint32_t later = ports & -(UINT32_C(1) << ends->next_port);
	uint32_t port = (uint32_t)__builtin_ctz(later ? later : ports);
	struct mrc_endpoint_queue *queue = &ends->wait[port];

	if (queue->request_head && (ends->is_request_next || !queue->response_head))
		put_request(m, queue, tx);
	else
		put_response(m, queue, tx);
	ends->is_request_next = !ends->is_request_next;
	ends->next_port = (uint8_t)((port + 1) % ENGINE_PORTS);
	if (!queue->request_head && !queue->response_head)
		ends->waiting &= ~(UINT32_C(1) << port);
	return true;
}
