#include "scenario/metric.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/ideal.h"

__extension__ typedef unsigned __int128 u128;

#define MILLION 1000000u

/* Flows [first, first + n) of the workload. */
struct range {
	uint32_t first, n;
};

static const struct metric unknown;

static struct range flows_of(const struct scenario *s, const struct scenario_target *t)
{
	if (t->entry == SCENARIO_NONE)
		return (struct range){0, s->workload.n};
	return (struct range){s->entries[t->entry].first, s->entries[t->entry].n};
}

static uint64_t scale(u128 a, uint64_t b, u128 c)
{
	u128 value = c ? a * b / c : 0;

	return value < UINT64_MAX ? (uint64_t)value : UINT64_MAX;
}

static struct metric known(uint64_t value)
{
	return (struct metric){value, true};
}

struct metric metric_ratio(struct metric of, struct metric over)
{
	if (!of.is_known || !over.is_known || over.value == 0)
		return unknown;
	return known(scale(of.value, MILLION, over.value));
}

bool metric_is_met(const struct scenario_target *target, struct metric figure)
{
	if (!figure.is_known)
		return false;
	return target->is_most ? figure.value <= target->bound : figure.value >= target->bound;
}

static uint32_t unfinished(const struct run *r, struct range flows)
{
	uint32_t n = 0;

	for (uint32_t i = flows.first; i < flows.first + flows.n; i++)
		n += r->traffic.flows[i].state != TRAFFIC_DONE;
	return n;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The mean, or the 99th percentile by nearest rank. */
static uint64_t typical(uint64_t *values, uint32_t n, bool is_p99)
{
	u128 sum = 0;

	if (is_p99) {
		qsort(values, n, sizeof *values, by_value);
		return values[((uint64_t)n * 99 + 99) / 100 - 1];
	}
	for (uint32_t i = 0; i < n; i++)
		sum += values[i];
	return (uint64_t)(sum / n);
}

static struct metric completion(const struct run *r, struct range flows, bool is_p99)
{
	uint64_t *fct = calloc(2 * ((size_t)flows.n + 1), sizeof *fct), *ideal = fct + flows.n;

	if (!fct || flows.n == 0 || unfinished(r, flows)) {
		free(fct);
		return unknown;
	}
	for (uint32_t i = 0; i < flows.n; i++) {
		struct run_flow flow = run_flow(r, flows.first + i);

		fct[i] = flow.fct_ps;
		ideal[i] = flow.ideal_ps;
	}
	struct metric m = metric_ratio(known(typical(fct, flows.n, is_p99)),
				       known(typical(ideal, flows.n, is_p99)));

	free(fct);
	return m;
}

/* From the first start to the last completion; 0 while a flow is not done. */
static psec time_of_all(const struct run *r)
{
	psec first = PSEC_NEVER, last = 0;

	if (unfinished(r, (struct range){0, r->scenario->workload.n}))
		return 0;
	for (uint32_t i = 0; i < r->scenario->workload.n; i++) {
		const struct traffic_flow *f = &r->traffic.flows[i];

		first = psec_sooner(first, f->started_ps);
		last = f->completed_ps > last ? f->completed_ps : last;
	}
	return last - first;
}

/* Bytes on the wire of all data packets of a flow, each with so many more. */
static uint64_t wire_bytes(const struct run *r, const struct workload_flow *f, uint32_t more)
{
	const struct sim_transport *t = r->sim.cfg.transport;
	uint64_t around =
		r->sim.encap_bytes + t->data_head_bytes + r->sim.cfg.overhead_bytes + more;
	uint64_t pkts = (f->bytes + t->payload_bytes - 1) / t->payload_bytes;

	return (f->bytes + pkts * around) * f->repeat;
}

/* The first switch of a host, by its port `port`. */
static uint32_t leaf_of(const struct topology *t, uint32_t host, uint32_t port)
{
	return t->ports[t->ports[t->nodes[host].first_port + port].peer].node;
}

/* What the leaves of a host can send up and take down together. */
static uint64_t leaf_rate(const struct topology *t, uint32_t host, bool is_down)
{
	uint64_t rate = 0;

	for (uint32_t p = 0; p < t->nodes[host].n_ports; p++) {
		const struct topology_node *leaf = &t->nodes[leaf_of(t, host, p)];

		for (uint32_t i = leaf->first_port; i < leaf->first_port + leaf->n_ports; i++)
			if (!leaf->is_host && t->ports[i].is_up)
				rate += t->ports[is_down ? t->ports[i].peer : i].rate_bps;
	}
	return rate;
}

/* Bytes out of and into each node: hosts and, of what leaves their planes' first switch, that of
 * the first plane for all. */
static void add_bytes(const struct run *r, uint64_t *out, uint64_t *in)
{
	const struct topology *t = &r->scenario->topology;

	for (uint32_t i = 0; i < r->scenario->workload.n; i++) {
		const struct workload_flow *f = &r->scenario->workload.flows[i];
		uint64_t bytes = wire_bytes(r, f, 0);
		uint32_t from = leaf_of(t, f->src, 0), to = leaf_of(t, f->dst, 0);

		out[f->src] += bytes;
		in[f->dst] += bytes;
		if (from == to || t->nodes[from].is_host || t->nodes[to].is_host)
			continue;
		out[from] += bytes;
		in[to] += bytes;
	}
}

static psec time_at(uint64_t bytes, uint64_t rate_bps)
{
	return scale(bytes, 8 * PSEC_S, rate_bps);
}

/* The longest that any node needs for its bytes. */
static psec longest(const struct run *r, bool has_leaves, const uint64_t *out, const uint64_t *in)
{
	const struct topology *t = &r->scenario->topology;
	psec most = 0;

	for (uint32_t h = 0; h < t->n_hosts; h++) {
		uint64_t rate = hosts_rate(t, h);
		uint32_t leaf = leaf_of(t, h, 0);
		psec times[4] = {time_at(out[h], rate), time_at(in[h], rate), 0, 0};

		if (has_leaves && !t->nodes[leaf].is_host) {
			times[2] = time_at(out[leaf], leaf_rate(t, h, false));
			times[3] = time_at(in[leaf], leaf_rate(t, h, true));
		}
		for (uint32_t i = 0; i < 4; i++)
			most = times[i] > most ? times[i] : most;
	}
	return most;
}

/* The time of so many bytes of a flow alone; to a group, of its farthest receiver. */
static psec ideal_of_bytes(const struct run *r, const struct workload_flow *f, uint64_t bytes)
{
	struct workload_flow part = *f;

	part.bytes = bytes;
	return run_ideal(r, &part);
}

/* What the last packet of the longest way has still before it, with its acknowledgement. */
static psec last_trip(const struct run *r)
{
	const struct scenario *s = r->scenario;
	const struct sim_transport *t = r->sim.cfg.transport;
	uint32_t payload = t->payload_bytes;
	uint32_t full = payload + r->sim.encap_bytes + t->data_head_bytes + s->overhead_bytes;
	psec behind = 0;

	for (uint32_t i = 0; i < s->workload.n; i++) {
		const struct workload_flow *f = &s->workload.flows[i];
		psec trip = ideal_of_bytes(r, f, payload) -
			    psec_of_bytes(full, hosts_line_rate(&s->topology, f->src));

		behind = trip > behind ? trip : behind;
	}
	return behind;
}

psec metric_ideal_last(const struct run *r, bool has_leaves)
{
	uint32_t n_nodes = r->scenario->topology.n_nodes;
	uint64_t *out = calloc(2 * (size_t)n_nodes, sizeof *out);

	if (!out)
		return 0;
	add_bytes(r, out, out + n_nodes);
	psec busy = longest(r, has_leaves, out, out + n_nodes);

	free(out);
	return busy + last_trip(r);
}

/* Bytes that each host takes in; of groups with what stands in front of their packets inside the
 * fabric, or without. */
static void add_taken(const struct run *r, bool is_wrapped, uint64_t *in)
{
	const struct workload *w = &r->scenario->workload;
	uint32_t wrap = w->n_groups ? groups_headroom(&r->groups) : 0;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct workload_flow *f = &w->flows[i];
		const struct workload_group *g = workload_group_of(w, f);
		uint64_t bytes = wire_bytes(r, f, g && is_wrapped ? wrap : 0);

		for (uint32_t k = 0; g && k < g->n; k++)
			in[w->receivers[g->first + k]] += bytes;
		if (!g)
			in[f->dst] += bytes;
	}
}

psec metric_ideal_spread(const struct run *r, bool is_wrapped)
{
	const struct topology *t = &r->scenario->topology;
	uint64_t *in = calloc(t->n_hosts, sizeof *in);
	psec busy = 0;

	if (!in)
		return 0;
	add_taken(r, is_wrapped, in);
	for (uint32_t h = 0; h < t->n_hosts; h++) {
		psec time = time_at(in[h], hosts_rate(t, h));

		busy = time > busy ? time : busy;
	}
	free(in);
	return busy + last_trip(r);
}

/* The most that any host sent, over the most that any host took in, on the wire. */
static struct metric sent_over_taken(const struct run *r)
{
	const struct topology *t = &r->scenario->topology;
	uint64_t most_sent = 0, most_taken = 0;

	for (uint32_t h = 0; h < t->n_hosts; h++) {
		uint64_t sent = 0, taken = 0;

		for (uint32_t i = 0; i < t->nodes[h].n_ports; i++) {
			const struct sim_port *port = &r->sim.ports[t->nodes[h].first_port + i];

			sent += port->counts.sent_bytes;
			taken += r->sim.ports[port->peer].counts.sent_bytes;
		}
		most_sent = sent > most_sent ? sent : most_sent;
		most_taken = taken > most_taken ? taken : most_taken;
	}
	return metric_ratio(known(most_sent), known(most_taken));
}

/* Packets that came to hosts which are sources of flows and take none. */
static struct metric pkts_to_sources(const struct run *r)
{
	const struct topology *t = &r->scenario->topology;
	const struct workload *w = &r->scenario->workload;
	uint64_t *in = calloc(t->n_hosts, sizeof *in), pkts = 0;

	if (!in)
		return unknown;
	add_taken(r, false, in);
	for (uint32_t i = 0; i < w->n; i++) {
		const struct topology_node *host = &t->nodes[w->flows[i].src];

		if (in[w->flows[i].src]++ > 0)
			continue;
		for (uint32_t p = 0; p < host->n_ports; p++)
			pkts += r->sim.ports[r->sim.ports[host->first_port + p].peer]
					.counts.sent_pkts;
	}
	free(in);
	return known(pkts);
}

/* Ends of flows: host h sends as h, and takes as n_hosts + h. */
struct ends {
	uint64_t left_bps;
	uint32_t n; /* flows whose share is not known yet */
};

/* The end whose flows get least; UINT32_MAX when every flow has its share. */
static uint32_t tightest(const struct ends *ends, uint32_t n)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++)
		if (ends[i].n &&
		    (least == UINT32_MAX ||
		     ends[i].left_bps / ends[i].n < ends[least].left_bps / ends[least].n))
			least = i;
	return least;
}

int metric_fair_shares(const struct run *r, uint64_t *shares)
{
	const struct workload *w = &r->scenario->workload;
	uint32_t n_hosts = r->scenario->topology.n_hosts, which;
	struct ends *ends = calloc(2 * (size_t)n_hosts, sizeof *ends);

	if (!ends)
		return -ENOMEM;
	for (uint32_t h = 0; h < 2 * n_hosts; h++)
		ends[h].left_bps = hosts_rate(&r->scenario->topology, h % n_hosts);
	for (uint32_t i = 0; i < w->n; i++) {
		shares[i] = 0;
		ends[w->flows[i].src].n++;
		ends[n_hosts + w->flows[i].dst].n++;
	}
	/* Each turn settles all flows of one end. */
	while ((which = tightest(ends, 2 * n_hosts)) != UINT32_MAX) {
		uint64_t share = ends[which].left_bps / ends[which].n;

		for (uint32_t i = 0; i < w->n; i++) {
			struct ends *src = &ends[w->flows[i].src];
			struct ends *dst = &ends[n_hosts + w->flows[i].dst];

			if (shares[i] || (src != &ends[which] && dst != &ends[which]))
				continue;
			shares[i] = share ? share : 1;
			src->left_bps -= share;
			dst->left_bps -= share;
			src->n--;
			dst->n--;
		}
	}
	free(ends);
	return 0;
}

/* The least of the flows' rates over their fair ones: the ideal at the fair rate over the time. */
static struct metric flow_rate(const struct run *r, struct range flows)
{
	const struct workload *w = &r->scenario->workload;
	uint64_t *shares = calloc((size_t)w->n + 1, sizeof *shares);
	struct metric least = unknown;

	if (!shares || unfinished(r, flows) || metric_fair_shares(r, shares)) {
		free(shares);
		return unknown;
	}
	for (uint32_t i = flows.first; i < flows.first + flows.n; i++) {
		const struct workload_flow *f = &w->flows[i];
		struct run_flow flow = run_flow(r, i);
		uint64_t rate = hosts_rate(&r->scenario->topology, f->src);
		uint64_t bytes = wire_bytes(r, f, 0) / f->repeat;
		psec fair = flow.ideal_ps + time_at(bytes, shares[i]) - time_at(bytes, rate);
		struct metric m = metric_ratio(known(fair), known(flow.fct_ps));

		if (!least.is_known || m.value < least.value)
			least = m;
	}
	free(shares);
	return least;
}

/* (sum x)^2 / (n * sum x^2), of rates in kilobits per second. */
static struct metric jain(const struct run *r, struct range flows)
{
	u128 sum = 0, squares = 0;

	if (flows.n == 0 || unfinished(r, flows))
		return unknown;
	for (uint32_t i = flows.first; i < flows.first + flows.n; i++) {
		uint64_t kbps = scale(r->scenario->workload.flows[i].bytes, 8 * PSEC_S / 1000,
				      run_flow(r, i).fct_ps);

		sum += kbps;
		squares += (u128)kbps * kbps;
	}
	return known(scale(sum * sum, MILLION, squares * flows.n));
}

/* Payload taken in within [from, to), both multiples of a tick. */
static uint64_t taken_in(const struct traffic *t, psec from, psec to)
{
	uint64_t bytes = 0;

	for (uint64_t i = from / t->tick_ps; i < to / t->tick_ps && i < t->n_ticks; i++)
		bytes += t->ticks[i];
	return bytes;
}

static struct metric rate_after(const struct run *r, const struct scenario_target *t)
{
	psec width = t->to_ps - t->from_ps;

	/* Past the last completion there is nothing to measure. */
	if (t->to_ps > sim_now(&r->sim))
		return unknown;
	return metric_ratio(known(taken_in(&r->traffic, t->from_ps, t->to_ps)),
			    known(taken_in(&r->traffic, t->before_ps - width, t->before_ps)));
}

static struct metric goodput(const struct run *r)
{
	psec all = time_of_all(r), time = all ? all : sim_now(&r->sim);
	uint64_t bytes = 0;

	/* A message counts as it comes in: those not whole at the end, too. */
	for (uint32_t i = 0; i < r->traffic.n_ticks; i++)
		bytes += r->traffic.ticks[i];
	return time ? known(scale(bytes, 8 * PSEC_S, time)) : unknown;
}

/* Data packets, each once. */
static uint64_t data_pkts(const struct run *r)
{
	uint64_t pkts = 0;

	for (uint32_t i = 0; i < r->scenario->workload.n; i++) {
		uint32_t payload = r->sim.cfg.transport->payload_bytes;

		pkts += (r->traffic.flows[i].total_bytes + payload - 1) / payload;
	}
	return pkts;
}

static struct metric pkts_per_second(const struct run *r, uint64_t wall_ns)
{
	uint64_t pkts = run_retransmitted(r) + data_pkts(r);

	return wall_ns ? known(scale(pkts, UINT64_C(1000000000), wall_ns)) : unknown;
}

static struct metric over_ideal(const struct run *r, psec (*ideal)(const struct run *r))
{
	psec time = time_of_all(r);

	return time ? metric_ratio(known(time), known(ideal(r))) : unknown;
}

static psec ideal_last(const struct run *r)
{
	return metric_ideal_last(r, false);
}

static psec ideal_spread(const struct run *r)
{
	return metric_ideal_spread(r, false);
}

static psec ideal_wrapped(const struct run *r)
{
	return metric_ideal_spread(r, true);
}

static psec ideal_of_share(const struct run *r)
{
	return metric_ideal_last(r, true);
}

struct metric metric_of(const struct run *r, const struct scenario_target *target, uint64_t wall_ns)
{
	struct range flows = flows_of(r->scenario, target);

	switch ((enum scenario_metric)target->metric) {
	case SCENARIO_FCT_MEAN: return completion(r, flows, false);
	case SCENARIO_FCT_P99: return completion(r, flows, true);
	case SCENARIO_FCT_LAST: return over_ideal(r, ideal_last);
	case SCENARIO_SLOWDOWN_OF_SHARE: return over_ideal(r, ideal_of_share);
	case SCENARIO_SPREAD_LAST: return over_ideal(r, ideal_spread);
	case SCENARIO_WRAPPED_LAST: return over_ideal(r, ideal_wrapped);
	case SCENARIO_SENT_OVER_TAKEN: return sent_over_taken(r);
	case SCENARIO_PKTS_TO_SOURCES: return pkts_to_sources(r);
	case SCENARIO_GOODPUT: return goodput(r);
	case SCENARIO_FLOW_RATE: return flow_rate(r, flows);
	case SCENARIO_JAIN: return jain(r, flows);
	case SCENARIO_RATE_AFTER: return rate_after(r, target);
	case SCENARIO_FLOWS_FAILED: return known(unfinished(r, flows));
	case SCENARIO_QUIET_AFTER: return known(watch_quiet_after(&r->watch));
	case SCENARIO_PKTS_PER_SECOND: return pkts_per_second(r, wall_ns);
	case SCENARIO_PKTS_PER_DATA:
		return metric_ratio(known(r->sim.totals.injected), known(data_pkts(r)));
	case SCENARIO_PROBES_PER_DATA:
		return metric_ratio(known(run_probes(r)), known(data_pkts(r)));
	case SCENARIO_METRICS: break;
	}
	return unknown;
}
