#include "rc/rc.h"

#include <errno.h>
#include <string.h>

#include "engine/layout.h"
#include "rc/state.h"

#define SRQS_MAX     (UINT32_C(1) << 20)
#define CNP_EVERY_NS 50000u
#define ACK_EVERY    32u

/* The parts of the one block of memory, as offsets from its start. */
struct layout {
	struct engine_layout all;
	size_t qps, srqs;
};

static struct layout layout_of(const struct rc_cfg *cfg)
{
	struct layout l = {0};

	engine_reserve(&l.all, sizeof(struct rc));
	l.qps = engine_reserve(&l.all, engine_numbers_bytes(cfg->max_qps));
	l.srqs = engine_reserve(&l.all, cfg->max_srqs * sizeof(struct rc_rq *));
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
	return cfg->mem && cfg->max_qps > 0 && cfg->max_qps <= ENGINE_NUMBERS_MOST &&
	       cfg->max_srqs <= SRQS_MAX && cfg->n_ports <= ENGINE_PORTS &&
	       cc_cfg_problem(&cfg->cc) == NULL;
}

static size_t rc_size(const void *cfg)
{
	struct rc_cfg full;

	return complete_cfg(&full, cfg) ? layout_of(&full).all.used : 0;
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
		.srqs = (void *)(block + l.srqs),
	};
	engine_numbers_init(&r->qps, block + l.qps, full.max_qps);
	memset(block + l.srqs, 0, l.all.used - l.srqs);
	wheel_init(
		&r->wheel,
		(struct wheel_cfg){.now = now, .shift = RC_WHEEL_SHIFT, .levels = RC_WHEEL_LEVELS},
		r->wheel_slots);
	return 0;
}

bool rc_has_qp(const struct engine *e, uint32_t number)
{
	return rc_find((const struct rc *)e, number) != NULL;
}

static int rc_post(struct engine *e, nsec now, const struct op *op)
{
	struct rc *r = rc_of(e);

	r->now = now;
	if (op->code == ENGINE_RECV && (op->flags & ENGINE_SHARED)) {
		struct rc_rq *queue = rc_find_srq(r, op->qp);

		return queue ? rc_post_recv(r, NULL, queue, op) : -ENOENT;
	}
	struct rc_qp *q = rc_find(r, op->qp);

	if (!q)
		return -ENOENT;
	if (op->code != ENGINE_RECV)
		return rc_post_send(r, q, op);
	if (q->state == ENGINE_RESET || q->caps.srq != RC_NO_SRQ)
		return -EINVAL;
	return rc_post_recv(r, q, &q->resp.own, op);
}

static int rc_cancel(struct engine *e, nsec now, const struct op *op)
{
	struct rc *r = rc_of(e);

	r->now = now;
	if (op->code == ENGINE_RECV && (op->flags & ENGINE_SHARED))
		return rc_find_srq(r, op->qp) ? -ENOTSUP : -ENOENT;
	struct rc_qp *q = rc_find(r, op->qp);

	if (!q)
		return -ENOENT;
	return op->code == ENGINE_RECV ? rc_cancel_recv(r, q, op->cookie)
				       : rc_cancel_send(r, q, op->cookie);
}

/* Send work that was polled: what its completion says of it alone, and its place is free. */
static void finish_send(const struct engine_work *wr, struct done *done)
{
	const struct rc_send *w = (const struct rc_send *)wr;
	struct rc_qp *q = wr->owner;

	done->atomic_op = w->atomic_op;
	done->qp = q->id.number;
	done->peer = w->peer;
	engine_ring_release(&q->req.works, wr);
}

/* The same of a receive. */
static void finish_recv(struct engine_work *wr, struct done *done)
{
	const struct rc_recv *w = (const struct rc_recv *)wr;
	struct rc_rq *queue = wr->owner;

	done->qp = w->qp;
	done->peer = w->peer;
	done->source = w->source;
	list_push_front(&queue->free, &wr->link);
}

static uint32_t rc_poll(struct engine *e, struct done *done, uint32_t n)
{
	struct rc *r = rc_of(e);
	uint32_t got = 0;

	for (; got < n; got++) {
		struct engine_work *wr = engine_done_pop(&r->done, &done[got]);

		if (!wr)
			break;
		if (wr->is_recv)
			finish_recv(wr, &done[got]);
		else
			finish_send(wr, &done[got]);
	}
	return got;
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

/* A bit for each port by which these may go. All but CNPs are of one class, and acknowledgements
 * may not pass what answers reads. Where that class is stopped, CNPs go by themselves: peers shall
 * slow down even so. Where CNPs are, the answers behind them wait. */
struct ports {
	uint32_t requests, answers, cnps;
};

static struct ports ports_of(uint32_t may)
{
	uint32_t control = engine_ports_of(may, ENGINE_CONTROL);
	uint32_t others = engine_ports_of(may, ENGINE_NO_TRIM);

	return (struct ports){others, others & control, control & ~others};
}

/* Requests and answers take turns, so that neither starves the other (law 4): an acknowledgement
 * waits for one burst of requests at most, also where a driver has room for less than a burst in
 * each pull. Requests go first: an application that was just told something and answers it waits
 * for that more than for its acknowledgement. */
static uint32_t pull_port(struct rc *r, uint32_t port, bool may_answer, struct tx_pkt *pkts,
			  uint32_t n)
{
	struct list *answering = &r->answering[port], *sending = &r->sending[port];
	bool *is_owed = &r->is_answer_owed[port];
	uint32_t got = 0;

	while (got < n) {
		bool has_answers = may_answer && !list_is_empty(answering);

		if (!has_answers && list_is_empty(sending))
			break;
		bool is_answer = list_is_empty(sending) || (*is_owed && has_answers);
		struct list_link *link = list_pop(is_answer ? answering : sending);
		struct rc_qp *q = is_answer ? LIST_OWNER(link, rc_qp, answer_link)
					    : LIST_OWNER(link, rc_qp, send_link);

		got += take_turn(r, q, is_answer, pkts + got,
				 n - got < RC_BURST ? n - got : RC_BURST);
		*is_owed = !is_answer && !list_is_empty(answering);
	}
	return got;
}

static uint32_t pull_cnps(struct rc *r, uint32_t port, struct tx_pkt *pkts, uint32_t n)
{
	uint32_t got = 0;

	for (; got < n && !list_is_empty(&r->cnps[port]); got++)
		rc_put_cnp(r, LIST_OWNER(list_first(&r->cnps[port]), rc_qp, cnp_link), &pkts[got]);
	return got;
}

static uint32_t rc_pull(struct engine *e, nsec now, const struct engine_room *room,
			struct tx_pkt *pkts, uint32_t n)
{
	struct rc *r = rc_of(e);
	struct ports ports = ports_of(room->may);
	uint32_t got = 0;

	r->now = now;
	rc_timers_run(r, now);
	for (uint32_t port = 0; port < r->cfg.n_ports && got < n; port++) {
		uint32_t left = n - got, most = left < room->pkts[port] ? left : room->pkts[port];

		if (ports.requests >> port & 1)
			got += pull_port(r, port, ports.answers >> port & 1, pkts + got, most);
		else if (ports.cnps >> port & 1)
			got += pull_cnps(r, port, pkts + got, most);
	}
	return got;
}

static nsec rc_deadline(const struct engine *e, uint32_t may)
{
	const struct rc *r = (const struct rc *)e;
	struct ports ports = ports_of(may);

	for (uint32_t port = 0; port < r->cfg.n_ports; port++) {
		if (((ports.requests >> port & 1) && !list_is_empty(&r->sending[port])) ||
		    ((ports.answers >> port & 1) && !list_is_empty(&r->answering[port])) ||
		    ((ports.cnps >> port & 1) && !list_is_empty(&r->cnps[port])))
			return r->now;
	}
	return wheel_next(&r->wheel);
}

void rc_ports_down(struct engine *e, nsec now, uint32_t ports)
{
	struct rc *r = rc_of(e);

	r->now = now;
	r->ports_down = ports;
	for (uint32_t port = 0; port < r->cfg.n_ports; port++) {
		const struct list *waiting = &r->sending[port];
		struct list_link *at = list_first(waiting);

		for (; at; at = list_after(waiting, at))
			rc_clock_follow(r, LIST_OWNER(at, rc_qp, send_link));
	}
}

static uint32_t take_events(struct engine *e, struct engine_event *events, uint32_t n)
{
	struct rc *r = rc_of(e);
	struct engine_events *of;
	uint32_t got = 0;
	uint8_t kind;

	for (; got < n && (of = engine_event_take(&r->events, &kind)); got++)
		events[got] = (struct engine_event){LIST_OWNER(of, rc_qp, events)->id.number, kind};
	for (; got < n && (of = engine_event_take(&r->srq_events, &kind)); got++)
		events[got] = (struct engine_event){LIST_OWNER(of, rc_rq, events)->number, kind};
	return got;
}

const struct rc_counters *rc_counters(const struct engine *e)
{
	return &((const struct rc *)e)->count;
}

static const uint64_t *count(const struct engine *e)
{
	return (const uint64_t *)(const void *)rc_counters(e);
}

const struct engine_ops rc_ops = {
	.size = rc_size,
	.init = rc_init,
	.post = rc_post,
	.cancel = rc_cancel,
	.input = rc_input,
	.pull = rc_pull,
	.poll = rc_poll,
	.deadline = rc_deadline,
	.events = take_events,
	.count = count,
};
