#include "ref/ref.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "base/prng.h"
#include "ref/state.h"

/* Queue pair and packet numbers have 24 bits on the wire. */
#define NUMBERS (UINT32_C(1) << 24)

/* The parts of the one block of memory, as offsets from its start. */
struct layout {
	size_t used;
	size_t qps, ops, received, controls, timers, sent, events, words, order;
};

static size_t reserve(struct layout *l, size_t n, size_t bytes)
{
	size_t at = l->used;

	l->used = at + (n * bytes + alignof(max_align_t) - 1) / alignof(max_align_t) *
			       alignof(max_align_t);
	return at;
}

/* Places of the rings of what is out: a power of 2, so that they divide the PSNs. */
static uint32_t slots_of(uint32_t window)
{
	uint32_t slots = 1;

	while (slots < window)
		slots *= 2;
	return slots;
}

static uint32_t either(uint32_t value, uint32_t fallback)
{
	return value > 0 ? value : fallback;
}

/* The configuration with its defaults filled in; false when it is bad. */
static bool complete_cfg(struct ref_cfg *cfg, const struct ref_cfg *from)
{
	*cfg = *from;
	cfg->max_events = either(cfg->max_events, 64);
	cfg->max_controls = either(cfg->max_controls, 64);
	cfg->payload_bytes = either(cfg->payload_bytes, 4096);
	cfg->window_pkts = either(cfg->window_pkts, 256);
	cfg->ack_every = either(cfg->ack_every, 4);
	cfg->n_ports = either(cfg->n_ports, 1);
	return cfg->max_qps > 0 && cfg->max_qps <= NUMBERS && cfg->max_ops > 0 &&
	       cfg->max_ops < REF_NONE / 2 && cfg->max_events < REF_NONE / 2 &&
	       cfg->max_controls < REF_NONE / 2 && cfg->payload_bytes <= REF_PAYLOAD_MAX &&
	       cfg->payload_bytes % 4 == 0 && cfg->window_pkts <= REF_WINDOW_MAX &&
	       cfg->n_ports <= ENGINE_PORTS && cfg->evs && cfg->n_evs >= cfg->n_ports &&
	       cfg->n_evs <= UINT16_MAX && cfg->retries <= REF_RETRIES_MAX && cfg->rto_ns > 0 &&
	       cfg->rto_ns <= REF_RTO_MAX && (cfg->memory || cfg->memory_bytes == 0);
}

static struct layout layout_of(const struct ref_cfg *cfg)
{
	struct layout l = {.used = 0};
	uint32_t slots = slots_of(cfg->window_pkts), words = WINDOW_WORDS(cfg->window_pkts);
	size_t qps = cfg->max_qps;

	reserve(&l, 1, sizeof(struct ref));
	l.qps = reserve(&l, qps, sizeof(struct ref_qp));
	l.ops = reserve(&l, cfg->max_ops, sizeof(struct ref_op));
	l.received = reserve(&l, cfg->max_events, sizeof(struct ref_received));
	l.controls =
		reserve(&l, (size_t)cfg->n_ports * cfg->max_controls, sizeof(struct ref_control));
	l.timers = reserve(&l, qps, sizeof(uint32_t));
	l.sent = reserve(&l, qps * slots, sizeof(struct ref_sent));
	l.events = reserve(&l, qps * slots, sizeof(struct ref_event));
	l.words = reserve(&l, qps * 4 * words, sizeof(uint64_t));
	l.order = reserve(&l, qps * cfg->n_evs, sizeof(uint16_t));
	return l;
}

static size_t ref_size(const void *cfg)
{
	struct ref_cfg full;

	return complete_cfg(&full, cfg) ? layout_of(&full).used : 0;
}

static void init_qp(struct ref *r, const struct layout *l, uint32_t i)
{
	struct ref_qp *q = &r->qps[i];
	uint8_t *block = (uint8_t *)r;
	uint32_t slots = r->slot_mask + 1, size = r->cfg.window_pkts, words = WINDOW_WORDS(size);
	uint64_t *bits = (void *)(block + l->words);
	struct ref_sent *sent = (void *)(block + l->sent);
	struct ref_event *events = (void *)(block + l->events);
	uint16_t *order = (void *)(block + l->order);

	*q = (struct ref_qp){
		.num = i,
		.timer_at = REF_NONE,
		.op_head = REF_NONE,
		.op_next = REF_NONE,
		.op_tail = REF_NONE,
		.sent = sent + (size_t)i * slots,
		.events = events + (size_t)i * slots,
		.order = order + (size_t)i * r->cfg.n_evs,
	};
	bits += (size_t)i * 4 * words;
	window_init(&q->acked, size, bits, words);
	window_init(&q->lost, size, bits + words, words);
	window_init(&q->seen, size, bits + 2 * words, words);
	window_init(&q->event, size, bits + 3 * words, words);
}

static int ref_init(struct engine *e, const void *cfg, nsec now)
{
	struct ref *r = ref_of(e);
	struct ref_cfg full;

	if (!complete_cfg(&full, cfg))
		return -EINVAL;
	struct layout l = layout_of(&full);
	uint8_t *block = (uint8_t *)r;
	struct ref_control *controls = (void *)(block + l.controls);

	*r = (struct ref){
		.engine.ops = &ref_ops,
		.cfg = full,
		.now = now,
		.slot_mask = slots_of(full.window_pkts) - 1,
		.ready_head = REF_NONE,
		.done_head = REF_NONE,
		.qps = (void *)(block + l.qps),
		.ops = (void *)(block + l.ops),
		.received = (void *)(block + l.received),
		.timers = (void *)(block + l.timers),
	};
	for (uint32_t i = 0; i < full.max_qps; i++)
		init_qp(r, &l, i);
	for (uint32_t i = 0; i < full.max_ops; i++)
		r->ops[i].next = i + 1 < full.max_ops ? i + 1 : REF_NONE;
	for (uint32_t p = 0; p < full.n_ports; p++)
		r->lanes[p].ring = controls + (size_t)p * full.max_controls;
	return 0;
}

/* The rotation of q: a shuffle of each port's evs, and where in it each port starts. */
static void shuffle(const struct ref *r, struct ref_qp *q)
{
	uint32_t n = r->cfg.n_evs, ports = r->cfg.n_ports;
	struct prng p;

	assert(ports > 0);
	prng_init(&p, r->cfg.seed, q->num);
	for (uint32_t i = 0; i < n; i++)
		q->order[i] = (uint16_t)i;
	for (uint32_t i = n; i-- > ports;) {
		uint32_t j = i % ports + ports * (uint32_t)prng_below(&p, i / ports + 1);
		uint16_t kept = q->order[i];

		q->order[i] = q->order[j];
		q->order[j] = kept;
	}
	for (uint32_t i = 0; i < ports; i++)
		q->order_at[i] =
			(uint16_t)(i + ports * prng_below(&p, (n - i + ports - 1) / ports));
	q->turn = (uint8_t)prng_below(&p, ports);
}

int ref_open(struct engine *e, const struct ref_peer *peer)
{
	struct ref *r = ref_of(e);

	if (peer->qp >= r->cfg.max_qps || r->qps[peer->qp].open || peer->remote_qp >= NUMBERS ||
	    peer->sq_psn >= NUMBERS || peer->rq_psn >= NUMBERS)
		return -EINVAL;
	struct ref_qp *q = &r->qps[peer->qp];

	q->open = true;
	q->peer = peer->peer;
	q->local = peer->local;
	q->remote_qp = peer->remote_qp;
	q->sq_psn = peer->sq_psn;
	q->expected = psn24_of(peer->rq_psn);
	q->until_ack = r->cfg.ack_every;
	shuffle(r, q);
	return 0;
}

/* The message's length, or -1 when this is nothing we can send. */
static int64_t length_of(const struct op *op)
{
	uint64_t len = 0;

	if ((op->code != ENGINE_WRITE && op->code != ENGINE_WRITE_IMM) || op->n_sg > REF_SGE ||
	    (op->n_sg > 0 && !op->sg) || op->flags & ENGINE_INLINE)
		return -1;
	for (uint32_t i = 0; i < op->n_sg; i++)
		len += op->sg[i].len;
	if (len > UINT32_MAX || (len % 4 != 0 && op->n_sg == REF_SGE))
		return -1;
	if (op->key > UINT32_MAX || op->imm > UINT32_MAX || op->remote > UINT64_MAX - len)
		return -1;
	return (int64_t)len;
}

static void fill_op(struct ref_op *w, const struct op *op, uint32_t len)
{
	*w = (struct ref_op){
		.cookie = op->cookie,
		.remote = op->remote,
		.len = len,
		.key = (uint32_t)op->key,
		.imm = (uint32_t)op->imm,
		.qp = op->qp,
		.next = REF_NONE,
		.has_imm = op->code == ENGINE_WRITE_IMM,
	};
	for (uint32_t i = 0; i < op->n_sg; i++)
		if (op->sg[i].len > 0)
			w->sg[w->n_sg++] = (struct cspan){op->sg[i].at, op->sg[i].len};
}

static int check_works(const struct ref *r, const struct op *first)
{
	uint32_t room = r->free_op;

	for (const struct op *op = first; op; op = op->next) {
		if (op->qp != first->qp || length_of(op) < 0)
			return -EINVAL;
		if (room == REF_NONE)
			return -ENOMEM;
		room = r->ops[room].next;
	}
	return 0;
}

static void take_work(struct ref *r, struct ref_qp *q, const struct op *op)
{
	uint32_t index = r->free_op, payload = r->cfg.payload_bytes, len = (uint32_t)length_of(op);
	struct ref_op *w = &r->ops[index];

	r->free_op = w->next;
	fill_op(w, op, len);
	w->first = q->end;
	w->n_pkts = len > 0 ? (uint32_t)(((uint64_t)len + payload - 1) / payload) : 1;
	w->msn = q->msn++;
	w->rqmsn = q->rqmsn;
	q->rqmsn = (uint16_t)(q->rqmsn + w->has_imm);
	q->end += w->n_pkts;
	if (q->op_head == REF_NONE)
		q->op_head = index;
	else
		r->ops[q->op_tail].next = index;
	q->op_tail = index;
	if (q->op_next == REF_NONE)
		q->op_next = index;
}

static int ref_post(struct engine *e, nsec now, const struct op *op)
{
	struct ref *r = ref_of(e);

	r->now = now;
	if (op->qp >= r->cfg.max_qps || !r->qps[op->qp].open || r->qps[op->qp].failed)
		return -EINVAL;
	int problem = check_works(r, op);

	if (problem)
		return problem;
	struct ref_qp *q = &r->qps[op->qp];

	for (; op; op = op->next)
		take_work(r, q, op);
	ref_wake(r, q);
	return 0;
}

void ref_complete(struct ref *r, struct ref_qp *q, int status)
{
	uint32_t index = q->op_head;
	struct ref_op *w = &r->ops[index];

	q->op_head = w->next;
	w->next = REF_NONE;
	w->status = (int16_t)status;
	if (r->done_head == REF_NONE)
		r->done_head = index;
	else
		r->ops[r->done_tail].next = index;
	r->done_tail = index;
}

static struct done take_sent(struct ref *r)
{
	uint32_t index = r->done_head;
	struct ref_op *w = &r->ops[index];
	struct done done = {
		.cookie = w->cookie,
		.imm = w->imm,
		.qp = w->qp,
		.peer = r->qps[w->qp].peer,
		.len = w->len,
		.status = w->status,
		.code = ENGINE_DONE_SENT,
	};

	r->done_head = w->next;
	w->next = r->free_op;
	r->free_op = index;
	return done;
}

static struct done take_received(struct ref *r)
{
	const struct ref_received *got = &r->received[r->received_head];
	struct done done = {
		.imm = got->imm,
		.qp = got->qp,
		.peer = r->qps[got->qp].peer,
		.len = got->len,
		.code = ENGINE_DONE_RECEIVED,
	};

	r->received_head = (r->received_head + 1) % r->cfg.max_events;
	r->n_received--;
	return done;
}

static uint32_t ref_poll(struct engine *e, struct done *done, uint32_t n)
{
	struct ref *r = ref_of(e);
	uint32_t got = 0;

	while (got < n && r->done_head != REF_NONE)
		done[got++] = take_sent(r);
	while (got < n && r->n_received > 0)
		done[got++] = take_received(r);
	return got;
}

static nsec ref_deadline(const struct engine *e, uint32_t may)
{
	const struct ref *r = (const struct ref *)e;

	may &= engine_may_all((UINT32_C(1) << r->cfg.n_ports) - 1);
	if ((r->lanes_waiting & engine_ports_of(may, ENGINE_CONTROL)) ||
	    (engine_data_ports(may) && r->ready_head != REF_NONE))
		return r->now;
	return r->n_timers > 0 ? r->qps[r->timers[0]].wake : NSEC_NEVER;
}

const struct ref_counters *ref_counters(const struct engine *e)
{
	return &((const struct ref *)e)->count;
}

/* Nothing happens to a queue of its. */
static uint32_t ref_events(struct engine *e, struct engine_event *events, uint32_t n)
{
	(void)e;
	(void)events;
	(void)n;
	return 0;
}

static const uint64_t *ref_count(const struct engine *e)
{
	return (const uint64_t *)(const void *)ref_counters(e);
}

const struct engine_ops ref_ops = {
	.size = ref_size,
	.init = ref_init,
	.post = ref_post,
	.input = ref_input,
	.pull = ref_pull,
	.poll = ref_poll,
	.deadline = ref_deadline,
	.events = ref_events,
	.count = ref_count,
};
