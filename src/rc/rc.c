#include "rc/rc.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "rc/state.h"

#define PAD_MAX 3u

#define TABLE_MAX    (UINT32_C(1) << 20)
#define CNP_EVERY_NS 50000u
#define ACK_EVERY    32u

/* The parts of the one block of memory, as offsets from its start. */
struct layout {
	size_t used, qps, srqs;
	uint32_t qp_heads;
};

static size_t reserve(struct layout *l, size_t bytes)
{
	size_t at = l->used;

	l->used = at + rc_aligned(bytes);
	return at;
}

static struct layout layout_of(const struct rc_cfg *cfg)
{
	struct layout l = {.qp_heads = 1};

	while (l.qp_heads < cfg->max_qps)
		l.qp_heads *= 2;
	reserve(&l, sizeof(struct rc));
	l.qps = reserve(&l, l.qp_heads * sizeof(struct rc_qp *));
	l.srqs = reserve(&l, cfg->max_srqs * sizeof(struct rc_rq *));
	return l;
}

/* The configuration with its defaults filled in; false when it is bad. */
static bool complete_cfg(struct rc_cfg *cfg, const struct rc_cfg *from)
{
	*cfg = *from;
	if (cfg->n_ports == 0)
		cfg->n_ports = 1;
	if (cfg->total_window_bytes == 0)
		cfg->total_window_bytes = UINT64_MAX;
	if (cfg->cnp_every_ns == 0)
		cfg->cnp_every_ns = CNP_EVERY_NS;
	if (cfg->ack_every_pkts == 0)
		cfg->ack_every_pkts = ACK_EVERY;
	return cfg->mem && cfg->max_qps > 0 && cfg->max_qps <= TABLE_MAX &&
	       cfg->max_srqs <= TABLE_MAX && cfg->n_ports <= ENGINE_PORTS &&
	       cc_cfg_problem(&cfg->cc) == NULL;
}

static size_t rc_size(const void *cfg)
{
	struct rc_cfg full;

	return complete_cfg(&full, cfg) ? layout_of(&full).used : 0;
}

static int rc_init(struct engine *e, const void *cfg, nsec now)
{
	struct rc *r = rc_of(e);
	struct rc_cfg full;

	if (!complete_cfg(&full, cfg))
		return -EINVAL;
	struct layout l = layout_of(&full);
	uint8_t *block = (uint8_t *)r;

	*r = (struct rc){
		.engine.ops = &rc_ops,
		.cfg = full,
		.now = now,
		.qps = (void *)(block + l.qps),
		.srqs = (void *)(block + l.srqs),
		.qp_mask = l.qp_heads - 1,
	};
	memset(block + l.qps, 0, l.used - l.qps);
	wheel_init(
		&r->wheel,
		(struct wheel_cfg){.now = now, .shift = RC_WHEEL_SHIFT, .levels = RC_WHEEL_LEVELS},
		r->wheel_slots);
	return 0;
}

struct rc_qp *rc_find(const struct rc *r, uint32_t number)
{
	struct rc_qp *q = r->qps[rc_head_of(r, number)];

	while (q && q->number != number)
		q = q->hash_next;
	return q;
}

struct rc_rq *rc_find_srq(const struct rc *r, uint32_t number)
{
	return number < r->cfg.max_srqs ? r->srqs[number] : NULL;
}

bool rc_has_qp(const struct engine *e, uint32_t number)
{
	return rc_find((const struct rc *)e, number) != NULL;
}

void rc_wake_send(struct rc *r, struct rc_qp *q)
{
	if (!list_is_linked(&q->send_link))
		list_push(&r->sending[q->attr.port], &q->send_link);
	if (r->ports_down)
		rc_clock_follow(r, q);
}

void rc_wake_answer(struct rc *r, struct rc_qp *q)
{
	if (!list_is_linked(&q->answer_link))
		list_push(&r->answering[q->attr.port], &q->answer_link);
}

void rc_report(struct rc *r, struct rc_wr *wr)
{
	list_push(&r->done, &wr->link);
}

static int post_recv(struct rc *r, struct rc_qp *q, struct rc_rq *queue, const struct op *op)
{
	uint64_t room = 0;

	if (op->n_sg > queue->max_sge || (op->n_sg > 0 && !op->sg))
		return -EINVAL;
	if (list_is_empty(&queue->free))
		return -ENOMEM;
	for (uint32_t i = 0; i < op->n_sg; i++)
		room += op->sg[i].len;
	struct rc_recv *w = LIST_OWNER(list_pop(&queue->free), rc_recv, wr.link);

	w->wr = (struct rc_wr){
		.queue = queue,
		.cookie = op->cookie,
		.op = ENGINE_RECV,
		.flags = op->flags & ENGINE_TRUSTED,
		.n_sg = (uint8_t)op->n_sg,
	};
	/* No message is longer than this, so what is beyond it need not be counted. */
	w->room = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
	if (op->n_sg > 0)
		memcpy(w->sg, op->sg, op->n_sg * sizeof *op->sg);
	if (q && q->state == RC_ERROR) {
		w->wr.qp = q->number;
		w->wr.peer = q->attr.peer;
		w->wr.status = ENGINE_FLUSHED;
		rc_report(r, &w->wr);
		return 0;
	}
	list_push(&queue->posted, &w->wr.link);
	queue->n_posted++;
	return 0;
}

static int rc_post(struct engine *e, nsec now, const struct op *op)
{
	struct rc *r = rc_of(e);

	r->now = now;
	if (op->code == ENGINE_RECV && (op->flags & ENGINE_SHARED)) {
		struct rc_rq *queue = rc_find_srq(r, op->qp);

		return queue ? post_recv(r, NULL, queue, op) : -ENOENT;
	}
	struct rc_qp *q = rc_find(r, op->qp);

	if (!q)
		return -ENOENT;
	if (op->code != ENGINE_RECV)
		return rc_post_send(r, q, op);
	if (q->state == RC_RESET || q->caps.srq != RC_NO_SRQ)
		return -EINVAL;
	return post_recv(r, q, &q->resp.own, op);
}

static bool is_silent(const struct rc_wr *wr)
{
	return (wr->flags & ENGINE_SILENT) && wr->status == ENGINE_OK;
}

/* The slot of work that was polled is free again, and with it those of the works around it that
 * nobody will be told of. */
static void release(struct rc_wr *wr)
{
	struct rc_qp *q = wr->owner;

	if (!q) {
		list_push_front(&wr->queue->free, &wr->link);
		return;
	}
	struct rc_requester *req = &q->req;

	while (&rc_send_at(q, req->freed)->wr != wr)
		req->freed++;
	req->freed++;
	while (req->freed < req->done && is_silent(&rc_send_at(q, req->freed)->wr))
		req->freed++;
}

static uint32_t rc_poll(struct engine *e, struct done *done, uint32_t n)
{
	struct rc *r = rc_of(e);
	uint32_t got = 0;

	for (; got < n && !list_is_empty(&r->done); got++) {
		struct rc_wr *wr = LIST_OWNER(list_pop(&r->done), rc_wr, link);

		done[got] = (struct done){
			.cookie = wr->cookie,
			.imm = wr->imm,
			.tag = wr->atomic_op,
			.qp = wr->qp,
			.peer = wr->peer,
			.len = wr->len,
			.status = wr->status,
			.code = wr->owner ? ENGINE_DONE_SENT : ENGINE_DONE_RECEIVED,
			.flags = wr->flags & (ENGINE_SOLICITED | ENGINE_HAS_IMM | ENGINE_HAS_INV),
			.op = wr->op,
		};
		release(wr);
	}
	return got;
}

void rc_finish_packet(const struct rc_qp *q, struct roce_pkt *h, uint32_t payload,
		      struct tx_pkt *tx)
{
	static const uint8_t zeros[PAD_MAX];

	h->bth.pad = rc_pad(payload);
	h->bth.pkey = RC_PKEY;
	h->bth.dest_qp = q->attr.remote_qp;
	tx->head_len = (uint16_t)roce_head_put(h, (struct span){tx->head, ENGINE_HEAD_MAX});
	assert(tx->head_len > 0);
	if (h->bth.pad > 0)
		tx->body[tx->n_body++] = (struct cspan){zeros, h->bth.pad};
	tx->udp_len = 0;
	tx->port = q->attr.port;
	tx->tclass = ENGINE_NO_TRIM;
	tx->not_ect = 0;
	tx->peer = q->attr.peer;
	tx->local = q->attr.local;
	tx->ev = q->attr.ev;
	tx->sa = 0;
	tx->stamp = 0;
}

/* Lets q send, or answer, up to n packets; it keeps a turn if it stopped for lack of room. */
static uint32_t take_turn(struct rc *r, struct rc_qp *q, bool is_answer, struct tx_pkt *pkts,
			  uint32_t n)
{
	uint32_t got = 0;

	while (got < n) {
		struct tx_pkt *tx = &pkts[got];

		if (!(is_answer ? rc_answer_next(r, q, tx) : rc_request_next(r, q, tx)))
			return got;
		got++;
	}
	if (is_answer)
		rc_wake_answer(r, q);
	else
		rc_wake_send(r, q);
	return got;
}

/* Requests and answers take turns, so that neither starves the other (law 4): an acknowledgement
 * waits for one burst of requests at most, also where a driver has room for less than a burst in
 * each pull. Requests go first: an application that was just told something and answers it waits
 * for that more than for its acknowledgement. */
static uint32_t pull_port(struct rc *r, uint32_t port, struct tx_pkt *pkts, uint32_t n)
{
	struct list *answering = &r->answering[port], *sending = &r->sending[port];
	bool *is_owed = &r->is_answer_owed[port];
	uint32_t got = 0;

	while (got < n && (!list_is_empty(answering) || !list_is_empty(sending))) {
		bool is_answer = list_is_empty(sending) || (*is_owed && !list_is_empty(answering));
		struct list_link *link = list_pop(is_answer ? answering : sending);
		struct rc_qp *q = is_answer ? LIST_OWNER(link, rc_qp, answer_link)
					    : LIST_OWNER(link, rc_qp, send_link);

		got += take_turn(r, q, is_answer, pkts + got,
				 n - got < RC_BURST ? n - got : RC_BURST);
		*is_owed = !is_answer && !list_is_empty(answering);
	}
	return got;
}

static uint32_t rc_pull(struct engine *e, nsec now, const uint16_t room[ENGINE_PORTS],
			struct tx_pkt *pkts, uint32_t n)
{
	struct rc *r = rc_of(e);
	uint32_t got = 0;

	r->now = now;
	rc_timers_run(r, now);
	for (uint32_t port = 0; port < r->cfg.n_ports && got < n; port++) {
		uint32_t left = n - got;

		got += pull_port(r, port, pkts + got, left < room[port] ? left : room[port]);
	}
	return got;
}

static nsec rc_deadline(const struct engine *e, uint32_t free_ports)
{
	const struct rc *r = (const struct rc *)e;

	for (uint32_t port = 0; port < r->cfg.n_ports; port++)
		if ((free_ports >> port & 1) &&
		    (!list_is_empty(&r->answering[port]) || !list_is_empty(&r->sending[port])))
			return r->now;
	return wheel_next(&r->wheel);
}

void rc_raise(struct rc *r, struct rc_qp *q, enum rc_event_kind kind)
{
	q->events = (uint8_t)(q->events | 1u << kind);
	if (!list_is_linked(&q->event_link))
		list_push(&r->events, &q->event_link);
}

/* The lowest event of the first queue pair, which leaves the list with its last. */
static struct rc_event next_event(struct rc *r)
{
	struct rc_qp *q = LIST_OWNER(list_first(&r->events), rc_qp, event_link);
	uint8_t kind = (uint8_t)__builtin_ctz(q->events);

	q->events = (uint8_t)(q->events & (q->events - 1));
	if (q->events == 0)
		list_pop(&r->events);
	return (struct rc_event){q->number, kind};
}

uint32_t rc_events(struct engine *e, struct rc_event *events, uint32_t n)
{
	struct rc *r = rc_of(e);
	uint32_t got = 0;

	while (got < n && !list_is_empty(&r->events))
		events[got++] = next_event(r);
	for (; got < n && !list_is_empty(&r->srq_events); got++) {
		const struct rc_rq *s = LIST_OWNER(list_pop(&r->srq_events), rc_rq, event_link);

		events[got] = (struct rc_event){s->number, RC_EVENT_SRQ_LIMIT};
	}
	return got;
}

const struct rc_counters *rc_counters(const struct engine *e)
{
	return &((const struct rc *)e)->count;
}

const struct engine_ops rc_ops = {
	.size = rc_size,
	.init = rc_init,
	.post = rc_post,
	.input = rc_input,
	.pull = rc_pull,
	.poll = rc_poll,
	.deadline = rc_deadline,
};
