/* The engine's operations. */
#include <errno.h>
#include <string.h>

#include "engine/layout.h"
#include "state.h"

#define WHEEL_SHIFT 10u /* slots of a microsecond */

struct layout {
	struct engine_layout all;
	size_t pairs, addresses, strangers, lent;
};

/* The parts of the one block; used is 0 when the configuration is bad. */
static struct layout layout_of(const struct stopwait_cfg *cfg)
{
	struct layout l = {0};

	if (!cfg->mem || cfg->max_pairs == 0 || cfg->max_pairs > ENGINE_NUMBERS_MOST ||
	    cfg->n_ports > 1)
		return l;
	engine_reserve(&l.all, sizeof(struct stopwait));
	l.pairs = engine_reserve(&l.all, engine_numbers_bytes(cfg->max_pairs));
	l.addresses = engine_reserve(&l.all, engine_numbers_bytes(STOPWAIT_ADDRESSES));
	l.strangers = engine_reserve(&l.all, cfg->max_strangers * sizeof(struct stopwait_end));
	l.lent = engine_reserve(
		&l.all, engine_ring_bytes(STOPWAIT_LENT_MOST, sizeof(struct stopwait_lent)));
	return l;
}

static size_t size(const void *cfg)
{
	return layout_of(cfg).all.used;
}

static int init(struct engine *e, const void *cfg, nsec now)
{
	struct stopwait *s = stopwait_of(e);
	const struct stopwait_cfg *of = cfg;
	struct layout l = layout_of(of);
	uint8_t *block = (uint8_t *)s;

	if (!l.all.used)
		return -EINVAL;
	*s = (struct stopwait){
		.engine.ops = &stopwait_ops,
		.cfg = *of,
		.now = now,
		.strangers = (void *)(block + l.strangers),
	};
	engine_numbers_init(&s->pairs, block + l.pairs, of->max_pairs);
	engine_numbers_init(&s->addresses, block + l.addresses, STOPWAIT_ADDRESSES);
	engine_ring_init(&s->lent, block + l.lent, STOPWAIT_LENT_MOST,
			 sizeof(struct stopwait_lent));
	memset(s->strangers, 0, of->max_strangers * sizeof *s->strangers);
	wheel_init(&s->wheel,
		   (struct wheel_cfg){
			   .now = now, .shift = WHEEL_SHIFT, .levels = STOPWAIT_WHEEL_LEVELS},
		   s->slots);
	return 0;
}

static int check_send(const void *queue, const struct op *op)
{
	const struct stopwait_pair *p = queue;

	if (!transport_takes(&stopwait, op->code) || engine_send_check(op, p->state))
		return -EINVAL;
	/* Strangers have no receives there; and all that is posted together is for one of them. */
	if (p->is_address && (op->code == ENGINE_SEND || op->peer != p->id.number))
		return -EINVAL;
	return engine_cut_check(op, stopwait_send_limits(&p->caps));
}

static int check_recv(const void *queue, const struct op *op)
{
	const struct stopwait_pair *p = queue;

	if (!engine_takes_receives(p->state))
		return -EINVAL;
	return engine_cut_check(op, stopwait_recv_limits(&p->caps));
}

static void take_work(struct stopwait *s, struct stopwait_pair *p, const struct op *op)
{
	bool is_recv = op->code == ENGINE_RECV;
	struct engine_ring *ring = is_recv ? &p->recvs : &p->sends;
	uint32_t len = is_recv ? 0 : (uint32_t)engine_cut_bytes(op);
	struct stopwait_work *w = (void *)engine_ring_post(ring, op, p, len);

	w->remote = op->remote;
	w->key = (uint32_t)op->key;
	w->n_sg = engine_cut_keep(
		op, is_recv ? stopwait_recv_limits(&p->caps) : stopwait_send_limits(&p->caps),
		w->sg);
	if (p->state == ENGINE_ERROR)
		engine_done_end(&s->done, ring, ENGINE_FLUSHED);
}

/* Whether work names its receiver. */
static bool is_addressed(const struct op *op)
{
	return op->qp == STOPWAIT_OPEN && op->code != ENGINE_RECV;
}

static struct stopwait_pair *queue_of(const struct stopwait *s, const struct op *op)
{
	return is_addressed(op) ? stopwait_find_address(s, op->peer) : stopwait_find(s, op->qp);
}

static int post(struct engine *e, nsec now, const struct op *op)
{
	struct stopwait *s = stopwait_of(e);
	struct stopwait_pair *p = queue_of(s, op);

	s->now = now;
	if (!p)
		return is_addressed(op) ? -EINVAL : -ENOENT;
	bool is_recv = op->code == ENGINE_RECV;
	int problem = engine_works_check(op, engine_ring_room(is_recv ? &p->recvs : &p->sends), p,
					 is_recv ? check_recv : check_send);

	if (problem)
		return problem;
	for (; op; op = op->next)
		take_work(s, p, op);
	stopwait_wake(s, p);
	return 0;
}

static int cancel(struct engine *e, nsec now, const struct op *op)
{
	struct stopwait *s = stopwait_of(e);
	struct stopwait_pair *p = queue_of(s, op);
	uint64_t at;

	s->now = now;
	if (!p)
		return -ENOENT;
	bool is_recv = op->code == ENGINE_RECV;
	struct engine_ring *ring = is_recv ? &p->recvs : &p->sends;
	bool has_begun = is_recv ? p->is_receiving : p->is_out || p->offset > 0;
	int problem = engine_ring_find(ring, ring->done + has_begun, op->cookie, &at);

	if (problem)
		return problem;
	engine_done_cancel(&s->done, ring, at);
	if (p->sends.done == p->sends.posted)
		list_leave(&s->data, &p->data_turn);
	return 0;
}

static int lend(struct engine *e, uint32_t queue, uint32_t n)
{
	static const struct op receive = {.code = ENGINE_RECV};
	struct stopwait *s = stopwait_of(e);

	if (queue != STOPWAIT_OPEN || s->cfg.max_strangers == 0)
		return -ENOENT;
	if (n > engine_ring_room(&s->lent))
		return -ENOMEM;
	for (; n > 0; n--)
		engine_ring_post(&s->lent, &receive, s, 0);
	return 0;
}

static void address(const struct stopwait_end *end, struct stopwait_head *h, struct tx_pkt *tx)
{
	h->to = end->remote;
	h->from = end->number;
	stopwait_head_put(h, tx->head);
	tx->head_len = stopwait_head_bytes;
	tx->udp_len = 0;
	tx->port = 0;
	tx->peer = end->peer;
	tx->local = end->local;
	tx->ev = end->ev;
	tx->sa = 0;
	tx->stamp = 0;
}

static void trace_sent(const struct stopwait *s, const struct stopwait_head *h,
		       const struct tx_pkt *tx, uint32_t payload)
{
	const struct traced_pkt p = {s->now, h->from, h->seq, payload, h->kind};

	if (trace_is_on(&s->cfg.trace))
		traced_sent(&s->cfg.trace, &p, tx, tx->tclass == ENGINE_RETX);
}

static void put_ack(struct stopwait *s, struct tx_pkt *tx)
{
	struct list_link *turn = list_pop(&s->acks);
	const struct stopwait_end *end = LIST_OWNER(turn, stopwait_end, ack_turn);
	struct stopwait_head h = {
		.kind = STOPWAIT_ACK, .is_last = 1, .seq = end->ack_seq, .imm = end->ack_status};

	tx->tclass = ENGINE_CONTROL;
	tx->not_ect = 1;
	tx->n_body = 0;
	address(end, &h, tx);
	trace_sent(s, &h, tx, 0);
	s->count.tx_ack++;
}

static uint8_t kind_of(uint8_t op)
{
	return op == ENGINE_SEND        ? STOPWAIT_SEND
	       : op == ENGINE_WRITE_IMM ? STOPWAIT_WRITE_IMM
					: STOPWAIT_WRITE;
}

/* The next packet of p, or the one that is lost. False: a key of ours does not cover its payload.
 */
static bool put_data(struct stopwait *s, struct stopwait_pair *p, struct tx_pkt *tx)
{
	const struct stopwait_work *w = engine_ring_at(&p->sends, p->sends.done);
	uint32_t left = w->wr.len - p->offset, len = left < p->pmtu ? left : p->pmtu;
	const struct engine_cut cut = {
		.mem = s->cfg.mem,
		.pd = p->caps.pd,
		.qp = p->id.number,
		.is_trusted = w->wr.flags & ENGINE_TRUSTED,
		.from = {w->sg, w->n_sg, p->offset, len},
	};
	struct stopwait_head h = {
		.kind = kind_of(w->wr.op),
		.pad = engine_pad_of(len),
		.is_last = len == left,
		.seq = p->seq,
		.offset = p->offset,
		.key = w->key,
		.imm = (uint32_t)w->wr.imm,
		.va = w->remote + p->offset,
	};

	if (!engine_cut_out(&cut, tx))
		return false;
	if (h.pad)
		engine_cut_pad(tx, h.pad);
	tx->tclass = p->is_out ? ENGINE_RETX : ENGINE_DATA;
	tx->not_ect = 0;
	address(&p->end, &h, tx);
	trace_sent(s, &h, tx, len);
	p->is_out ? s->count.tx_retx++ : s->count.tx_data++;
	p->is_out ? p->progress.retx_packets++ : p->progress.sent_packets++;
	p->out_bytes = len;
	p->is_out = true;
	wheel_arm(&s->wheel, &p->end.timer,
		  wheel_soonest(&s->wheel, s->now, s->now + p->timeout_ns));
	return true;
}

static void on_silence(struct stopwait *s, struct stopwait_pair *p)
{
	const struct traced_qp of = stopwait_traced(s, p);

	s->count.timeouts++;
	p->progress.timeouts++;
	if (trace_is_on(&s->cfg.trace))
		traced_timeout(&s->cfg.trace, &of, p->is_out ? p->out_bytes : 0, p->tries);
	if (p->tries++ == p->retries) {
		stopwait_fail(s, p, ENGINE_RETRY_EXCEEDED);
		return;
	}
	list_join(&s->data, &p->data_turn);
	/* Also while it waits for its port: one that stays shut must not keep it for ever. */
	wheel_arm(&s->wheel, &p->end.timer,
		  wheel_soonest(&s->wheel, s->now, s->now + p->timeout_ns));
}

static void on_unused(struct stopwait *s, struct stopwait_end *end)
{
	nsec until = end->used_at + s->cfg.hold_ns;

	if (until > s->now || list_is_linked(&end->ack_turn)) {
		wheel_arm_by(&s->wheel, s->now, &end->timer, until);
		return;
	}
	end->is_held = false;
	s->count.released++;
	engine_event_raise(&s->told, &end->events, ENGINE_EVENT_PEER_RELEASED);
}

static uint32_t pull(struct engine *e, nsec now, const struct engine_room *room,
		     struct tx_pkt *pkts, uint32_t n)
{
	bool may_ack = engine_ports_of(room->may, ENGINE_CONTROL) & 1;
	bool may_send = engine_data_ports(room->may) & 1;
	struct stopwait *s = stopwait_of(e);
	struct wheel_timer *t;
	uint32_t got = 0;

	s->now = now;
	while ((t = wheel_expire(&s->wheel, now))) {
		struct stopwait_end *end = LIST_OWNER(t, stopwait_end, timer);

		if (end->is_stranger)
			on_unused(s, end);
		else
			on_silence(s, (struct stopwait_pair *)end);
	}
	n = n < room->pkts[0] ? n : room->pkts[0];
	while (may_ack && got < n && !list_is_empty(&s->acks))
		put_ack(s, &pkts[got++]);
	while (may_send && got < n && !list_is_empty(&s->data)) {
		struct stopwait_pair *p = LIST_OWNER(list_pop(&s->data), stopwait_pair, data_turn);

		if (put_data(s, p, &pkts[got]))
			got++;
		else
			stopwait_fail(s, p, ENGINE_LOCAL_PROTECTION);
	}
	return got;
}

/* What is known of work that was polled beyond what all work has; its place is free. */
static void finish(struct stopwait *s, const struct engine_work *w, struct done *done)
{
	struct stopwait_pair *p = w->owner;

	if (w->owner == s) {
		const struct stopwait_lent *lent = (const struct stopwait_lent *)w;

		done->qp = STOPWAIT_OPEN;
		done->peer = lent->peer;
		done->source = lent->source;
		engine_ring_release(&s->lent, w);
		return;
	}
	done->qp = p->is_address ? STOPWAIT_OPEN : p->id.number;
	done->peer = p->is_address ? p->id.number : p->end.peer;
	done->source = w->is_recv ? p->end.remote : 0;
	engine_ring_release(w->is_recv ? &p->recvs : &p->sends, w);
}

static uint32_t poll(struct engine *e, struct done *done, uint32_t n)
{
	struct stopwait *s = stopwait_of(e);
	uint32_t got = 0;

	for (; got < n; got++) {
		const struct engine_work *w = engine_done_pop(&s->done, &done[got]);

		if (!w)
			break;
		finish(s, w, &done[got]);
	}
	return got;
}

static nsec deadline(const struct engine *e, uint32_t may)
{
	const struct stopwait *s = (const struct stopwait *)e;

	if (((engine_ports_of(may, ENGINE_CONTROL) & 1) && !list_is_empty(&s->acks)) ||
	    ((engine_data_ports(may) & 1) && !list_is_empty(&s->data)))
		return s->now;
	return wheel_next(&s->wheel);
}

/* Nothing happens to a queue pair but to its work; strangers come and go. */
static uint32_t events(struct engine *e, struct engine_event *events, uint32_t n)
{
	struct stopwait *s = stopwait_of(e);
	struct engine_events *of;
	uint32_t got = 0;

	while (got < n && (of = engine_event_take(&s->told, &events[got].kind)))
		events[got++].number = LIST_OWNER(of, stopwait_end, events)->peer;
	return got;
}

static const uint64_t *count(const struct engine *e)
{
	return (const uint64_t *)(const void *)&((const struct stopwait *)e)->count;
}

const struct engine_ops stopwait_ops = {
	.size = size,
	.init = init,
	.post = post,
	.cancel = cancel,
	.lend = lend,
	.input = stopwait_input,
	.pull = pull,
	.poll = poll,
	.deadline = deadline,
	.events = events,
	.count = count,
};
