/* One plan in the simulator. Around every engine stands a witness: it is what the simulator
 * drives, hands each call on, and tells the oracle. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "oracle.h"
#include "sim/impair.h"

#define SLICE      (100 * PSEC_US)
#define RETRY      (5 * PSEC_US) /* until work that found a full queue is posted again */
#define PKTS_MOST  100000u
#define AFTERWARDS PSEC_S /* an engine without work is silent by then */
#define CANARY     0x5a

enum { STREAM_SIM = 100, STREAM_IMPAIR };

struct hunt_run;

/* What the simulator takes for an engine. */
struct witness {
	struct engine engine;
	struct hunt_run *run;
	uint32_t host;
	uint64_t n_in, n_out;
	struct engine *inner;
	size_t inner_bytes; /* behind them a guard */
	max_align_t block[];
};

struct witness_cfg {
	struct hunt_run *run;
	uint32_t host;
	const void *inner;
	bool is_retx; /* in memory that holds its old life */
};

struct hunt_run {
	struct hunt_plan *plan;
	const struct hunt_transport *transport;
	struct hunt_oracle oracle;
	struct hunt_result *result;
	struct sim sim;
	struct sim_transport seam;
	struct impair_plan *impair;
	struct trace *events;   /* of all engines */
	struct witness_cfg cfg; /* of the host asked for last */
	struct hunt_device *devices[HUNT_HOSTS];
	bool is_begun[HUNT_HOSTS];  /* its engine was made */
	bool is_waiting[HUNT_ENDS]; /* its next work was not posted, as a message was to come */
	bool is_traced;
};

static psec now_of(const void *clock)
{
	return sim_now(clock);
}

static struct witness *witness_at(const struct hunt_run *r, uint32_t host)
{
	return (void *)r->sim.hosts[host].engine;
}

__attribute__((format(printf, 2, 3))) static void trace(const struct hunt_run *r,
							const char *format, ...)
{
	va_list args;

	if (!r->is_traced)
		return;
	printf("%14.6f us  ", (double)sim_now(&r->sim) / PSEC_US);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void trace_packet(const struct hunt_run *r, uint32_t host, const char *what,
			 struct cspan head, uint32_t bytes)
{
	char text[160];

	if (!r->is_traced)
		return;
	r->transport->print(head, bytes, text, sizeof text);
	trace(r, "h%u %s %s", host, what, text);
}

static bool is_waiting(const struct hunt_run *r, uint32_t end)
{
	const struct oracle_end *e = &r->oracle.ends[end];

	return e->n_posted < r->plan->ends[end].n_works && !e->is_gone &&
	       !oracle_has_come(&r->oracle, end,
				&r->plan->works[r->plan->ends[end].first_work + e->n_posted]);
}

/* Hosts whose work waited for what came, or is known to never come, now. */
static void wake_waiting(struct hunt_run *r)
{
	for (uint32_t e = 0; e < r->plan->n_ends; e++) {
		if (r->is_waiting[e] && !is_waiting(r, e))
			sim_alarm_arm(&r->sim, r->plan->ends[e].host, sim_now(&r->sim));
	}
}

static size_t witness_size(const void *cfg)
{
	const struct witness_cfg *c = cfg;
	size_t inner = c->run->transport->row->engine->size(c->inner);

	return inner ? sizeof(struct witness) + inner + HUNT_GUARD : 0;
}

static int witness_init(struct engine *e, const void *cfg, nsec now)
{
	const struct witness_cfg *c = cfg;
	struct witness *w = (void *)e;
	const struct engine_ops *ops = e->ops, *inner = c->run->transport->row->engine;

	*w = (struct witness){
		.engine.ops = ops,
		.run = c->run,
		.host = c->host,
		.inner = (void *)w->block,
		.inner_bytes = inner->size(c->inner),
	};
	c->run->oracle.engines[c->host] = w->inner;
	/* Not cleared, as the contract says. */
	if (!c->is_retx)
		memset(w->block, CANARY, w->inner_bytes + HUNT_GUARD);
	w->inner->ops = inner;
	return inner->init(w->inner, c->inner, now);
}

static int witness_post(struct engine *e, nsec now, const struct op *op)
{
	struct witness *w = (void *)e;
	int answer = w->inner->ops->post(w->inner, now, op);

	if (answer)
		return answer;
	trace(w->run, "h%u posts %s %" PRIu64, w->host,
	      op->code == ENGINE_RECV ? "receive" : "work", op->cookie);
	if (op->code == ENGINE_RECV)
		oracle_on_post_recv(&w->run->oracle, (uint32_t)op->cookie);
	else
		oracle_on_post(&w->run->oracle, (uint32_t)op->cookie);
	return 0;
}

static void count(const struct witness *w, struct hunt_counts *n)
{
	const struct transport *row = w->run->transport->row;
	const uint64_t *counts = w->inner->ops->count(w->inner);

	n->rx += counts[row->count_rx];
	n->verdicts += transport_verdicts(row, counts);
	n->rx_bytes += counts[row->count_received];
	n->retx += counts[row->count_retx];
	w->run->transport->count(w->inner, n);
}

static void put_in(struct witness *w, nsec now, const struct rx_pkt *rx)
{
	struct hunt_counts before = {0}, after = {0};

	w->n_in++;
	w->run->oracle.host_now[w->host] = now;
	trace_packet(w->run, w->host, "<-", rx->head, rx->body[0].len + rx->body[1].len);
	oracle_before_input(&w->run->oracle, w->host, now, rx);
	count(w, &before);
	w->inner->ops->input(w->inner, now, rx, 1);
	count(w, &after);
	oracle_after_input(&w->run->oracle, w->host, rx, &before, &after);
}

static void witness_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n)
{
	struct witness *w = (void *)e;
	const struct hunt_transport *t = w->run->transport;

	for (uint32_t i = 0; i < n; i++) {
		struct rx_pkt rx = pkts[i];

		if (t->odd_input && !t->odd_input(&w->run->oracle, w->host, &rx))
			continue;
		put_in(w, now, &rx);
		if (t->odd_late && t->odd_late(&w->run->oracle, w->host, &rx))
			put_in(w, now, &rx);
	}
	wake_waiting(w->run);
}

/* Packet i leaves its host as packet `to`, which it is unless an odd host withheld some: the room
 * for headers belongs to the place. False: it is withheld itself. */
static bool lets_go(struct witness *w, nsec now, struct tx_pkt *pkts, uint32_t i, uint32_t to)
{
	const struct hunt_transport *t = w->run->transport;
	uint8_t *head = pkts[to].head;

	if (t->odd_output && !t->odd_output(&w->run->oracle, w->host, &pkts[i]))
		return false;
	oracle_on_leave(&w->run->oracle, w->host, now, &pkts[i]);
	if (to != i) {
		memcpy(head, pkts[i].head, pkts[i].head_len);
		pkts[to] = pkts[i];
		pkts[to].head = head;
	}
	return true;
}

/* Laws 3 and 4 of engine/engine.h. */
static uint32_t witness_pull(struct engine *e, nsec now, const struct engine_room *room,
			     struct tx_pkt *pkts, uint32_t n)
{
	struct witness *w = (void *)e;
	struct hunt_oracle *o = &w->run->oracle;
	const struct engine_ops *ops = w->inner->ops;
	struct engine_room left = *room;
	nsec due = ops->deadline(w->inner, engine_may(room));
	struct hunt_counts before = {0}, after = {0};

	count(w, &before);
	uint32_t got = ops->pull(w->inner, now, room, pkts, n), gone = 0;

	o->host_now[w->host] = now;
	for (uint32_t i = 0; i < got; i++) {
		uint32_t bytes = 0;

		for (uint32_t k = 0; k < pkts[i].n_body; k++)
			bytes += pkts[i].body[k].len;
		w->n_out++;
		trace_packet(w->run, w->host, "->", (struct cspan){pkts[i].head, pkts[i].head_len},
			     bytes);
		if (pkts[i].port >= ENGINE_PORTS || left.pkts[pkts[i].port]-- == 0)
			oracle_fail(o, "h%u: a packet beyond a port's room", w->host);
		oracle_on_output(o, w->host, now, &pkts[i]);
		gone += lets_go(w, now, pkts, i, gone);
	}
	count(w, &after);
	if (w->run->transport->on_pulled)
		w->run->transport->on_pulled(o, w->host, &before, &after);
	if (due > now && got > 0)
		oracle_fail(o, "h%u: packets before the deadline", w->host);
	if (got < n && ops->deadline(w->inner, engine_may(&left)) <= now)
		oracle_fail(o, "h%u: a short pull, but the deadline is past", w->host);
	return gone;
}

static uint32_t witness_poll(struct engine *e, struct done *done, uint32_t n)
{
	struct witness *w = (void *)e;

	return w->inner->ops->poll(w->inner, done, n);
}

static nsec witness_deadline(const struct engine *e, uint32_t may)
{
	const struct witness *w = (const void *)e;

	return w->inner->ops->deadline(w->inner, may);
}

static const struct engine_ops witness_ops = {
	.size = witness_size,
	.init = witness_init,
	.post = witness_post,
	.input = witness_input,
	.pull = witness_pull,
	.poll = witness_poll,
	.deadline = witness_deadline,
};

/* What an engine counted must be what it was given and gave. */
static void check_balance(struct hunt_run *r, uint32_t host)
{
	const struct witness *w = witness_at(r, host);
	const uint8_t *guard = (const uint8_t *)w->block + w->inner_bytes;
	struct hunt_counts n = {0}, *sum = &r->result->met.counts;

	count(w, &n);
	if (n.rx != n.verdicts || n.rx != w->n_in)
		oracle_fail(&r->oracle,
			    "h%u: %" PRIu64 " packets in, %" PRIu64 " counted, %" PRIu64
			    " accepted or dropped",
			    host, w->n_in, n.rx, n.verdicts);
	if (n.tx != w->n_out)
		oracle_fail(&r->oracle, "h%u: %" PRIu64 " packets out, %" PRIu64 " counted", host,
			    w->n_out, n.tx);
	for (uint32_t i = 0; i < HUNT_GUARD; i++)
		if (guard[i] != CANARY)
			oracle_fail(&r->oracle, "h%u: the engine wrote behind its block", host);
	for (size_t i = 0; i < sizeof n / sizeof(uint64_t); i++)
		((uint64_t *)sum)[i] += ((const uint64_t *)&n)[i];
}

static void free_device(struct hunt_run *r, uint32_t host)
{
	if (!r->devices[host])
		return;
	const char *problem = hunt_memory_fini((struct hunt_memory *)(void *)r->devices[host]);

	if (problem)
		oracle_fail(&r->oracle, "h%u: %s", host, problem);
	free(r->devices[host]);
	r->devices[host] = NULL;
}

/* NULL without memory. */
static struct hunt_device *new_device(const struct hunt_run *r)
{
	struct hunt_memory *m = calloc(1, r->transport->device_bytes);

	if (m && hunt_memory_init(m, r->plan)) {
		free(m);
		return NULL;
	}
	return (struct hunt_device *)(void *)m;
}

/* The engine starts, or starts again with nothing of its old life. */
static const void *host_cfg(void *context, uint32_t host, uint64_t seed)
{
	struct hunt_run *r = context;
	bool is_retx = r->is_begun[host];

	(void)seed;
	if (is_retx)
		check_balance(r, host);
	free_device(r, host);
	r->is_begun[host] = false;
	r->devices[host] = new_device(r);
	if (!r->devices[host])
		return NULL;
	r->cfg = (struct witness_cfg){
		r, host, r->transport->configure(r->devices[host], host, r->events), is_retx};
	return &r->cfg;
}

static int open_nothing(void *context, struct engine *e, const struct sim_qp *qp)
{
	(void)context;
	(void)e;
	(void)qp;
	return 0;
}

static uint64_t count_nothing(void *context, const struct engine *e)
{
	(void)context;
	(void)e;
	return 0;
}

/* Addresses, keys and flaws of a work as the engine gets them. */
static int post_work(struct hunt_run *r, uint32_t end, uint32_t work)
{
	const struct hunt_plan *s = r->plan;
	const struct hunt_work *w = &s->works[work];
	const struct hunt_arena *a = &s->arenas[end];
	struct hunt_target to = hunt_target(s, end, w);
	struct sge sg[HUNT_SGE];
	struct op op = {
		.cookie = work,
		.qp = s->ends[end].qp,
		.peer = s->ends[end ^ 1].host,
		.code = w->code,
		.flags = w->flags,
		.imm = w->imm,
		.sg = sg,
		.n_sg = w->n_sg,
		.atomic_op = w->atomic_op,
	};

	struct mem_binding bind = {
		.va = s->arenas[w->bind.arena].iova + w->bind.range.at,
		.len = w->bind.range.len,
		.region = w->bind.region,
		.new_key = w->bind.new_key,
		.access = w->bind.access,
	};

	if (hunt_is_remote(w)) {
		op.remote = to.va;
		op.key = to.key;
	}
	if (hunt_is_local(w) || w->code == ENGINE_SEND_INV)
		op.imm = w->key;
	if (w->code == ENGINE_BIND)
		op.bind = &bind;
	memcpy(op.operand[0], &w->operand[0], sizeof w->operand[0]);
	memcpy(op.operand[1], &w->operand[1], sizeof w->operand[1]);
	for (uint32_t i = 0; i < w->n_sg; i++)
		sg[i] = (struct sge){a->bytes + w->sg[i].at, w->sg[i].len,
				     w->flaw == HUNT_NO_LOCAL ? HUNT_NO_KEY : a->local_key};
	return sim_post(&r->sim, s->ends[end].host, &op);
}

static int post_recv(struct hunt_run *r, uint32_t recv)
{
	const struct hunt_plan *s = r->plan;
	const struct hunt_recv *w = &s->recvs[recv];
	bool is_shared = w->end == HUNT_NOTHING;
	const struct hunt_arena *a = &s->arenas[is_shared ? HUNT_ENDS + w->host : w->end];
	struct sge sg[HUNT_SGE];
	struct op op = {
		.cookie = recv,
		.qp = is_shared ? w->host : s->ends[w->end].qp,
		.code = ENGINE_RECV,
		.flags = (uint8_t)(w->flags | (is_shared ? ENGINE_SHARED : 0)),
		.sg = w->n_sg ? sg : NULL,
		.n_sg = w->n_sg,
	};

	for (uint32_t i = 0; i < w->n_sg; i++)
		sg[i] = (struct sge){a->bytes + w->sg[i].at, w->sg[i].len, a->local_key};
	return sim_post(&r->sim, w->host, &op);
}

/* Posts what is due at a host; when to look again. */
static psec post_works(struct hunt_run *r, uint32_t end)
{
	const struct hunt_end *e = &r->plan->ends[end];
	const struct oracle_end *state = &r->oracle.ends[end];

	while (state->n_posted < e->n_works && !state->is_gone && !r->oracle.has_ended) {
		uint32_t work = e->first_work + state->n_posted;

		if (r->plan->works[work].at > sim_now(&r->sim))
			return r->plan->works[work].at;
		r->is_waiting[end] = is_waiting(r, end);
		if (r->is_waiting[end])
			return PSEC_NEVER;
		int answer = post_work(r, end, work);

		if (answer == -ENOMEM)
			return sim_now(&r->sim) + RETRY;
		if (answer) {
			oracle_fail(&r->oracle, "end %u, work %u: refused with %d", end, work,
				    answer);
			break;
		}
	}
	return PSEC_NEVER;
}

static psec post_recvs(struct hunt_run *r, uint32_t host)
{
	psec next = PSEC_NEVER;

	for (uint32_t i = 0; i < r->plan->n_recvs && !r->oracle.has_ended; i++) {
		const struct hunt_recv *w = &r->plan->recvs[i];

		if (w->host != host || r->oracle.recv_fates[i] != HUNT_WAITS)
			continue;
		if (w->at > sim_now(&r->sim)) {
			next = w->at < next ? w->at : next;
			continue;
		}
		int answer = post_recv(r, i);

		if (answer)
			oracle_fail(&r->oracle, "receive %u: refused with %d", i, answer);
		if (answer)
			break;
	}
	return next;
}

/* What the plan has beside work; a host without anything to send may now have it. */
static psec stir(struct hunt_run *r, uint32_t host)
{
	psec next;

	if (!r->transport->stir || r->oracle.has_ended)
		return PSEC_NEVER;
	next = r->transport->stir(r->devices[host], witness_at(r, host)->inner, &r->oracle, host,
				  sim_host_now(&r->sim, host));
	sim_host_jump(&r->sim, host, 0);
	return next;
}

static void post_due(struct hunt_run *r, uint32_t host)
{
	psec next = post_recvs(r, host), at = stir(r, host);

	next = at < next ? at : next;
	for (uint32_t e = 0; e < r->plan->n_ends; e++) {
		if (r->plan->ends[e].host != host)
			continue;
		at = post_works(r, e);
		next = at < next ? at : next;
	}
	sim_alarm_arm(&r->sim, host, r->result->has_failed ? PSEC_NEVER : next);
}

static void on_done(void *context, struct sim *s, uint32_t host, const struct done *done)
{
	struct hunt_run *r = context;

	(void)s;
	trace(r, "h%u %s %" PRIu64 " done, status %d", host,
	      done->code == ENGINE_DONE_RECEIVED ? "receive" : "work", done->cookie, done->status);
	oracle_on_done(&r->oracle, host, done);
	post_due(r, host);
	wake_waiting(r);
}

static void on_timer(void *context, struct sim *s, uint32_t timer)
{
	const struct hunt_run *r = context;

	impair_timer(r->impair, s, timer);
}

static void on_alarm(void *context, struct sim *s, uint32_t host)
{
	(void)s;
	post_due(context, host);
}

static void on_restarted(void *context, struct sim *s, uint32_t host)
{
	struct hunt_run *r = context;

	trace(r, "h%u restarts", host);
	r->is_begun[host] = true;
	oracle_on_restart(&r->oracle, host);
	sim_alarm_arm(s, host, PSEC_NEVER);
	wake_waiting(r);
}

static int open_all(struct hunt_run *r)
{
	const struct hunt_plan *s = r->plan;
	int error = 0;

	for (uint32_t h = 0; h < s->topology.n_hosts && !error; h++) {
		r->is_begun[h] = true;
		if (s->has_srq[h])
			error = r->transport->open_shared(r->devices[h], witness_at(r, h)->inner,
							  h);
	}
	for (uint32_t e = 0; e < s->n_ends && !error; e++) {
		uint32_t host = s->ends[e].host;

		error = r->transport->open(r->devices[host], witness_at(r, host)->inner, e,
					   sim_host_now(&r->sim, host));
	}
	return error;
}

static int begin(struct hunt_run *r)
{
	const struct hunt_plan *s = r->plan;
	const struct transport *row = r->transport->row;
	struct prng sim_seed, impair_seed;

	prng_init(&sim_seed, s->seed, STREAM_SIM);
	prng_init(&impair_seed, s->seed, STREAM_IMPAIR);
	r->seam = (struct sim_transport){
		.name = row->name,
		.ops = &witness_ops,
		.carrier = row->carrier,
		.head_bytes = row->head_bytes,
		.payload_bytes = s->pmtu,
		.data_head_bytes = transport_around_bytes(row),
		.ack_bytes = transport_around_bytes(row),
		.context = r,
		.host_cfg = host_cfg,
		.open = open_nothing,
		.retransmitted = count_nothing,
	};
	struct sim_cfg cfg = {
		.seed = prng_u64(&sim_seed),
		.topology = &s->topology,
		.routing = &s->routing,
		.qos = s->qos,
		.names = {0, 10, 12, 18, 20, 46},
		.is_buffer_shared = true,
		.buffer_bytes = s->buffer_bytes,
		.overhead_bytes = 24,
		.nic_queue_pkts = s->nic_queue_pkts,
		.transport = &r->seam,
		.hooks = {.context = r,
			  .done = on_done,
			  .timer = on_timer,
			  .alarm = on_alarm,
			  .restarted = on_restarted},
	};
	int error = sim_init(&r->sim, &cfg);

	if (error)
		return error;
	error = open_all(r);
	if (!error)
		r->impair =
			impair_plan_new(&r->sim, s->faults, s->n_faults, prng_u64(&impair_seed));
	if (!error && !r->impair)
		error = -ENOMEM;
	for (uint32_t h = 0; h < s->topology.n_hosts && !error; h++)
		sim_alarm_arm(&r->sim, h, 0);
	return error;
}

/* Until all work has ended and nothing is on its way. */
static void run_to_idle(struct hunt_run *r)
{
	while (!r->result->has_failed) {
		psec now = sim_now(&r->sim);
		bool is_idle = oracle_is_idle(&r->oracle);

		if (is_idle && now >= r->plan->healed_at && sim_in_flight(&r->sim) == 0)
			return;
		if (now >= r->plan->bound || (!is_idle && !sim_has_more(&r->sim))) {
			oracle_fail(&r->oracle, "not over, and %s",
				    now >= r->plan->bound ? "the time is up"
							  : "nothing is left to happen");
			oracle_finish(&r->oracle);
			return;
		}
		sim_run(&r->sim, now + SLICE);
		if (!sim_is_conserved(&r->sim))
			oracle_fail(&r->oracle, "packets are not conserved");
		if (r->sim.packets.most > PKTS_MOST)
			oracle_fail(&r->oracle, "%" PRIu64 " packets at a time",
				    r->sim.packets.most);
	}
}

/* Ends all connections: what waits is flushed, and silence follows. */
static void end_all(struct hunt_run *r)
{
	const struct hunt_plan *s = r->plan;
	psec until = sim_now(&r->sim) + AFTERWARDS;

	r->oracle.has_ended = true;
	for (uint32_t e = 0; e < s->n_ends; e++) {
		uint32_t host = s->ends[e].host;

		if (!r->oracle.ends[e].is_gone &&
		    r->transport->row->pairs->stop(witness_at(r, host)->inner,
						   sim_host_now(&r->sim, host), s->ends[e].qp,
						   ENGINE_ERROR))
			oracle_fail(&r->oracle, "end %u: cannot be ended", e);
	}
	for (uint32_t h = 0; h < s->topology.n_hosts; h++)
		sim_host_jump(&r->sim, h, 0);
	while (!r->result->has_failed && sim_run(&r->sim, until))
		if (sim_now(&r->sim) >= until)
			oracle_fail(&r->oracle, "there is no end");
	for (uint32_t h = 0; h < s->topology.n_hosts && r->transport->left_over; h++) {
		const char *problem = r->transport->left_over(witness_at(r, h)->inner);

		if (problem)
			oracle_fail(&r->oracle, "h%u: %s", h, problem);
	}
	if (!r->result->has_failed)
		oracle_finish(&r->oracle);
}

static void add_up(struct hunt_run *r)
{
	struct hunt_met *met = &r->result->met;
	const struct impair_count *counts = r->impair ? impair_counts(r->impair) : NULL;

	for (uint32_t h = 0; h < r->plan->topology.n_hosts; h++)
		if (r->is_begun[h])
			check_balance(r, h);
	met->works += r->plan->n_works;
	for (uint32_t i = 0; i < r->plan->n_works; i++) {
		const struct hunt_work *w = &r->plan->works[i];

		met->ops[w->code]++;
		met->atomics[w->atomic_op] += w->code == ENGINE_ATOMIC;
		met->flaws[w->flaw]++;
	}
	for (uint32_t i = 0; i < r->plan->n_faults && counts; i++) {
		met->faults[r->plan->faults[i].kind]++;
		met->touched[r->plan->faults[i].kind] += counts[i].touched;
	}
	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++)
		met->dropped += r->sim.totals.drops[i];
	r->result->hash ^= r->sim.trace_hash;
}

void hunt_run(struct hunt_plan *s, const struct hunt_transport *t, struct trace *events,
	      bool is_traced, struct hunt_result *result)
{
	struct hunt_run *r = calloc(1, sizeof *r);

	*result = (struct hunt_result){.hash = 1};
	if (!r)
		abort();
	r->plan = s;
	r->transport = t;
	r->result = result;
	r->events = events;
	r->is_traced = is_traced;
	int error = oracle_init(&r->oracle, s, t, result);

	r->oracle.now = now_of;
	r->oracle.clock = &r->sim;
	if (!error)
		error = begin(r);
	if (error) {
		oracle_fail(&r->oracle, "cannot begin: %s", strerror(-error));
	} else {
		run_to_idle(r);
		for (uint32_t h = 0; h < s->topology.n_hosts; h++)
			stir(r, h);
		if (!result->has_failed && t->at_rest)
			t->at_rest(&r->oracle);
		if (!result->has_failed)
			end_all(r);
		add_up(r);
	}
	impair_plan_free(r->impair);
	for (uint32_t h = 0; h < HUNT_HOSTS; h++)
		free_device(r, h);
	sim_fini(&r->sim);
	oracle_fini(&r->oracle);
	free(r);
}
