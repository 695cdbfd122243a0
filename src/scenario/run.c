#include "scenario/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "scenario/pairs.h"
#include "sim/ideal.h"

/* Streams of the seed: one for each part, so that one more draw here shifts nothing there. */
enum { STREAM_ROUTES = 1, STREAM_FAULTS, STREAM_FAULT_LIST, STREAM_TRANSPORT, STREAM_FABRIC };

#define NIC_QUEUE_PKTS 2u
#define TIMEOUT_RTTS   16u  /* three queues of five round trips may be full on the way */
#define TICKS          200u /* about so many ticks of goodput, if the scenario does not say */

static uint64_t seed_of(const struct scenario *s, uint64_t stream)
{
	struct prng p;

	prng_init(&p, s->seed, stream);
	return prng_u64(&p);
}

/* From where it happens: where a run ends must not depend on the steps its caller takes. */
static void stop_if_over(const struct run *r, struct sim *s)
{
	if (traffic_is_over(&r->traffic))
		sim_stop(s);
}

static void on_done(void *context, struct sim *s, uint32_t host, const struct done *done)
{
	struct run *r = context;

	traffic_done(&r->traffic, s, host, done);
	stop_if_over(r, s);
}

static void on_timer(void *context, struct sim *s, uint32_t timer)
{
	struct run *r = context;

	impair_timer(r->impair, s, timer);
	stop_if_over(r, s);
}

static void on_alarm(void *context, struct sim *s, uint32_t host)
{
	struct run *r = context;

	traffic_alarm(&r->traffic, s, host);
	stop_if_over(r, s);
}

static bool is_over(void *context)
{
	const struct run *r = context;

	return traffic_is_over(&r->traffic);
}

static void on_received(void *context, struct sim *s, uint32_t host, uint64_t bytes)
{
	struct run *r = context;

	(void)host;
	traffic_received(&r->traffic, s, bytes);
}

static void on_restarted(void *context, struct sim *s, uint32_t host)
{
	struct run *r = context;

	traffic_restarted(&r->traffic, s, host);
}

static void on_tap(void *context, uint32_t port, bool is_out, psec at, struct cspan frame)
{
	const struct run *r = context;

	r->tap.frame(r->tap.context, port, is_out, at, frame);
}

static void on_lost(void *context, struct sim *s, const struct packet *p)
{
	struct run *r = context;

	watch_lost(&r->watch, s, p);
}

static void on_pulled(void *context, struct sim *s, uint32_t host)
{
	struct run *r = context;

	watch_pulled(&r->watch, s, host);
}

static int draw_faults(struct run *r)
{
	const struct scenario *s = r->scenario;
	uint32_t n = s->n_faults;
	struct prng random;

	for (uint32_t i = 0; i < s->n_random_faults; i++)
		n += s->random_faults[i].count;
	r->faults = calloc(n + 1, sizeof *r->faults);
	if (!r->faults)
		return -ENOMEM;
	if (s->n_faults)
		memcpy(r->faults, s->faults, s->n_faults * sizeof *r->faults);
	r->n_faults = s->n_faults;
	prng_init(&random, s->seed, STREAM_FAULT_LIST);
	for (uint32_t i = 0; i < s->n_random_faults; i++) {
		const struct scenario_random_faults *f = &s->random_faults[i];

		for (uint32_t k = 0; k < f->count; k++)
			fault_draw(&r->faults[r->n_faults++], &random, &s->topology, f->kinds,
				   f->from_ps, f->until_ps);
	}
	return 0;
}

/* A tick of goodput over time: what was asked for, or a fair share of the longest flow's ideal. */
static psec tick_of(const struct scenario *s)
{
	uint64_t most = 1;

	if (s->tick_ps)
		return s->tick_ps;
	for (uint32_t i = 0; i < s->workload.n; i++)
		if (s->workload.flows[i].bytes > most)
			most = s->workload.flows[i].bytes;
	psec least = PSEC_US, share = most * 8 * 1000 / 400 / TICKS;

	return share > least ? share : least;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Whether packets of a connection take several ports. */
static bool sprays(const struct scenario_transport *t)
{
	return !t->row || transport_has(t->row, TRANSPORT_PROFILES);
}

static uint32_t window_most(const struct scenario_transport *t)
{
	return t->row ? t->row->window_max_pkts : REF_WINDOW_MAX;
}

/* One and a half bandwidth-delay products of all ports that a connection uses, in packets. */
static uint32_t window_of(const struct scenario *s)
{
	uint32_t ports = 1, most = sprays(&s->transport) ? ENGINE_PORTS : 1;

	for (uint32_t h = 0; h < s->topology.n_hosts; h++)
		if (s->topology.nodes[h].n_ports > ports)
			ports = s->topology.nodes[h].n_ports;
	ports = ports < most ? ports : most;
	uint64_t bytes = (uint64_t)s->plane_bdp_bytes * ports * 3 / 2;
	uint64_t full = s->transport.payload_bytes + s->overhead_bytes;
	uint64_t pkts = (bytes + full - 1) / full;

	uint32_t limit = window_most(&s->transport);

	return pkts < limit ? (uint32_t)pkts : limit;
}

/* Room for a window behind a gap and one beyond it, in the transport's units; 0: it has none. */
static uint32_t ahead_of(const struct transport *t, uint32_t units, uint32_t window_pkts)
{
	const uint32_t unit = t->ahead_unit_pkts, most = t->pairs->most.ahead_pkts;

	if (!unit)
		return 0;
	uint32_t pkts = (units ? units : (2 * window_pkts + unit - 1) / unit) * unit;

	return pkts < most ? pkts : most;
}

/* The most packets that NSCC lets any host have out. */
static uint32_t nscc_pkts(const struct scenario *s)
{
	const struct nscc_cfg *cfg = &s->transport.options.nscc;
	uint32_t most = 1;

	for (uint32_t h = 0; h < s->topology.n_hosts; h++) {
		uint64_t rate = hosts_rate(&s->topology, h);
		uint32_t window = nscc_complete(cfg, rate).max_wnd_bytes;

		if (window / cfg->mtu_bytes + 1 > most)
			most = window / cfg->mtu_bytes + 1;
	}
	return least(most, window_most(&s->transport));
}

/* What bounds the packets that are out, and room for so many at both ends. */
static void set_window(const struct scenario *s, struct hosts_cfg *cfg)
{
	const struct scenario_transport *t = &s->transport;
	const struct transport_cc_choice *choice = &t->row->cc_choices[t->options.cc];
	bool is_bound = choice->kind != CC_NSCC || t->window_pkts;

	cfg->cc = choice->kind;
	if (!is_bound)
		cfg->window_pkts = nscc_pkts(s);
	cfg->ahead_pkts = ahead_of(t->row, t->options.ahead_units, cfg->window_pkts);
	if (choice->is_unbounded) {
		is_bound = false;
		cfg->window_pkts = cfg->ahead_pkts;
	}
	cfg->window_bytes = is_bound ? (uint64_t)cfg->window_pkts * cfg->payload_bytes : UINT64_MAX;
}

static int init_transport(struct run *r)
{
	const struct scenario_transport *t = &r->scenario->transport;
	psec timeout = t->timeout_ps ? t->timeout_ps : TIMEOUT_RTTS * r->scenario->base_rtt_ps;
	nsec timeout_ns = (timeout + PSEC_NS - 1) / PSEC_NS;
	struct hosts_cfg cfg = {
		.routing = &r->routing,
		.seed = seed_of(r->scenario, STREAM_TRANSPORT),
		.payload_bytes = t->payload_bytes,
		.window_pkts = t->window_pkts ? t->window_pkts : window_of(r->scenario),
		.entropies = t->entropies,
		.timeout_ns = timeout_ns < REF_RTO_MAX ? timeout_ns : REF_RTO_MAX,
		.transport = t->row,
		.options = t->options,
		.qps = r->traffic.qps,
		.ops = r->traffic.ops,
		.trace = r->tap.trace,
	};

	if (t->row) {
		/* The time that a queue pair really waits. */
		cfg.timeout_ns = t->row->pairs->timeout(timeout_ns);
		set_window(r->scenario, &cfg);
	}
	return hosts_init(&r->hosts, &cfg);
}

/* Packets that are forged, or as good as, may name flows of any host, and may hide the delivery
 * that a flow at another host waits for. */
static bool is_local(const struct run *r)
{
	for (uint32_t i = 0; i < r->n_faults; i++)
		if (r->faults[i].kind == FAULT_FORGE || r->faults[i].kind == FAULT_CORRUPT)
			return false;
	return traffic_is_local(&r->scenario->workload);
}

static int init_sim(struct run *r, const uint8_t *tapped)
{
	const struct scenario *s = r->scenario;
	struct sim_cfg cfg = {
		.seed = seed_of(s, STREAM_FABRIC),
		.topology = &s->topology,
		.routing = &r->routing,
		.qos = s->qos,
		.names = s->names,
		.is_buffer_shared = s->buffer.shared,
		.buffer_bytes = s->buffer.total_bytes,
		.overhead_bytes = s->overhead_bytes,
		.nic_queue_pkts = NIC_QUEUE_PKTS,
		.transport = &r->hosts.sim,
		.hooks =
			{
				.context = r,
				.done = on_done,
				.received = on_received,
				.timer = on_timer,
				.alarm = on_alarm,
				.restarted = on_restarted,
				.tap = r->tap.frame ? on_tap : NULL,
				.lost = s->is_watched ? on_lost : NULL,
				.pulled = s->is_watched ? on_pulled : NULL,
				.is_over = is_over,
				.is_local = is_local(r),
			},
	};

	if (s->workload.n_groups > 0) {
		cfg.groups = &r->groups;
		cfg.headroom = groups_headroom(&r->groups);
	}
	int error = sim_init(&r->sim, &cfg);

	if (error)
		return error;
	for (uint32_t i = 0; tapped && i < r->sim.n_ports; i++)
		r->sim.ports[i].is_tapped = tapped[i];
	r->impair = impair_plan_new(&r->sim, r->faults, r->n_faults, seed_of(s, STREAM_FAULTS));
	if (!r->impair)
		return -ENOMEM;
	r->is_ended = traffic_is_over(&r->traffic);
	return traffic_start(&r->traffic, &r->sim);
}

int run_init(struct run *r, const struct scenario *s, const struct run_tap *tap,
	     const uint8_t *tapped, char *error, size_t error_len)
{
	*r = (struct run){.scenario = s};
	if (tap)
		r->tap = *tap;
	error[0] = '\0';
	struct routing_cfg routing = s->routing;

	carriers_add(&routing.carriers, hosts_carrier(s->transport.row), s->udp_port);
	int answer = routing_build(&r->routing, &s->topology, &routing, seed_of(s, STREAM_ROUTES),
				   error, error_len);

	if (!answer)
		answer = draw_faults(r);
	if (!answer)
		answer = traffic_init(&r->traffic, &s->workload, s->topology.n_hosts, tick_of(s));
	if (!answer && s->is_watched)
		answer = watch_init(&r->watch, s->topology.n_hosts);
	if (!answer)
		answer = init_transport(r);
	if (!answer && s->workload.n_groups > 0)
		answer = run_init_groups(r, error, error_len);
	if (!answer)
		answer = init_sim(r, tapped);
	if (answer) {
		if (!error[0])
			snprintf(error, error_len, "%s", strerror(-answer));
		run_fini(r);
	}
	return answer;
}

void run_fini(struct run *r)
{
	impair_plan_free(r->impair);
	sim_fini(&r->sim);
	hosts_fini(&r->hosts);
	traffic_fini(&r->traffic);
	groups_fini(&r->groups);
	routing_fini(&r->routing);
	watch_fini(&r->watch);
	free(r->faults);
	*r = (struct run){0};
}

int run_use_memory(struct run *r, uint32_t flow, uint8_t *from, uint8_t *to)
{
	struct mem_entry entry = {
		.at = to,
		.len = r->scenario->workload.flows[flow].bytes,
		.key = PAIRS_KEY + 1 + flow,
		.qp = MEM_ANY_QP,
		.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE,
	};
	int error = r->hosts.pairs.mem ? mem_add(r->hosts.pairs.mem, &entry) : -EINVAL;

	if (error)
		return error;
	r->traffic.flows[flow].from = from;
	r->traffic.flows[flow].key = entry.key;
	return 0;
}

bool run_step(struct run *r, psec until)
{
	psec end = r->scenario->end_ps;

	if (r->is_ended)
		return false;
	bool has_more = sim_run(&r->sim, until < end ? until : end);

	/* Where it is made to pause it did not get to the end, whatever the time. */
	if (r->sim.agenda.n_fired < r->sim.pause_at)
		r->is_ended = !has_more || r->sim.is_stopped || sim_now(&r->sim) >= end;
	return !r->is_ended;
}

psec run_ideal(const struct run *r, const struct workload_flow *w)
{
	const struct workload *all = &r->scenario->workload;
	const struct workload_group *g = workload_group_of(all, w);
	psec most = 0;

	if (!g)
		return ideal_time(&r->sim, w->src, w->dst, w->bytes);
	for (uint32_t i = 0; i < g->n; i++) {
		psec ideal = ideal_time(&r->sim, w->src, all->receivers[g->first + i], w->bytes);

		most = ideal > most ? ideal : most;
	}
	return most;
}

struct run_flow run_flow(const struct run *r, uint32_t flow)
{
	const struct workload_flow *w = &r->scenario->workload.flows[flow];
	const struct traffic_flow *f = &r->traffic.flows[flow];
	uint32_t rounds = w->repeat - f->repeats_left;

	return (struct run_flow){
		.fct_ps = rounds ? f->busy_ps / rounds : 0,
		.ideal_ps = run_ideal(r, w),
	};
}

uint64_t run_retransmitted_by(const struct run *r, uint32_t host)
{
	const struct sim_transport *t = &r->hosts.sim;

	return t->retransmitted(t->context, r->sim.hosts[host].engine);
}

uint64_t run_retransmitted(const struct run *r)
{
	uint64_t n = 0;

	for (uint32_t h = 0; h < r->sim.n_hosts; h++)
		n += run_retransmitted_by(r, h);
	return n;
}

uint64_t run_probes(const struct run *r)
{
	const struct sim_transport *t = &r->hosts.sim;
	uint64_t n = 0;

	for (uint32_t h = 0; h < r->sim.n_hosts && t->probes; h++)
		n += t->probes(t->context, r->sim.hosts[h].engine);
	return n;
}
