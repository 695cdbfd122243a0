/* Endpoint requests (7.3) that wait or are out, and responses that wait: both come from pools, and
 * answers are limited in their rate, so that a flood of either is dropped, not stored. Reliability
 * probes of EVs wait for their port among the requests. endpoint.c has their packets. */
#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "engine/layout.h"
#include "mrc/state.h"

/* Answers in a second, and at once. All 256 EVs of some peers may be probed every few ms; a
 * stranger may ask by as many EVs as a profile has. */
#define PEER_RATE      1000000u
#define PEER_BURST     4096u
#define STRANGER_BURST PATH_EVS_MAX
#define SECOND         UINT64_C(1000000000)

/* The parts of the memory, as offsets from its start. */
struct layout {
	struct engine_layout all;
	size_t requests, responses, by_id, done;
	struct pool_shape request_shape, response_shape;
	uint32_t n_ids;
};

static struct layout layout_of(const struct mrc_cfg *cfg)
{
	struct layout l = {
		.request_shape = {sizeof(struct mrc_request), alignof(struct mrc_request),
				  cfg->max_probes},
		.response_shape = {sizeof(struct mrc_response), alignof(struct mrc_response),
				   cfg->max_probes},
		.n_ids = 1,
	};

	while (l.n_ids < cfg->max_probes)
		l.n_ids *= 2;
	l.requests = engine_reserve(&l.all, pool_bytes(&l.request_shape));
	l.responses = engine_reserve(&l.all, pool_bytes(&l.response_shape));
	l.by_id = engine_reserve(&l.all, l.n_ids * sizeof(struct mrc_request *));
	l.done = engine_reserve(&l.all, cfg->max_probes * sizeof(struct mrc_endpoint_done));
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
	};
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

/* Takes a request out of the list that it is in. */
static void unlist(struct mrc_endpoints *ends, struct mrc_request *r)
{
	if (r->is_sent)
		unlist_sent(ends, r);
	else
		unlist_waiting(ends, r);
}

void mrc_endpoint_withdraw(struct mrc *m, struct mrc_request *r)
{
	unlist(&m->endpoints, r);
	release(&m->endpoints, r);
}

struct mrc_endpoint_done *mrc_endpoint_end(struct mrc *m, struct mrc_request *r,
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
	unlist(ends, r);
	release(ends, r);
	return &ends->done[at];
}

/* Those of the caller that wait for a port which stays shut. */
static void expire_waiting(struct mrc *m, uint32_t port, nsec before)
{
	struct mrc_request *r = m->endpoints.wait[port].request_head, *next;

	for (; r && r->sent_at < before; r = next) {
		next = r->next;
		if (r->own)
			continue;
		mrc_endpoint_end(m, r, MRC_ENDPOINT_UNANSWERED);
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
		mrc_endpoint_end(m, r, MRC_ENDPOINT_UNANSWERED);
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

void mrc_response_queue(struct mrc_endpoints *ends, struct mrc_response *r)
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

/* Whether one more answer may go to a peer, or a stranger, now. An answer is longer than its
 * request (Tables 7-20 and 7-22 fix both), and a request says who sent it as it likes: strangers
 * get few. */
bool mrc_endpoint_may_answer(struct mrc *m, bool is_peer)
{
	struct mrc_endpoints *ends = &m->endpoints;
	struct mrc_bucket *b = is_peer ? &ends->for_peers : &ends->for_strangers;

	if (!b->every_ns || b->full_at > m->now + b->ahead_ns)
		return false;
	b->full_at = (b->full_at > m->now ? b->full_at : m->now) + b->every_ns;
	return true;
}

struct mrc_request *mrc_request_leave(struct mrc *m, struct mrc_endpoint_queue *queue)
{
	struct mrc_endpoints *ends = &m->endpoints;
	struct mrc_request *r = queue->request_head;

	queue->request_head = r->next;
	r->sent_at = m->now;
	r->is_sent = true;
	r->next = NULL;
	r->prev = ends->out_tail;
	if (ends->out_tail)
		ends->out_tail->next = r;
	else
		ends->out_head = r;
	ends->out_tail = r;
	return r;
}
