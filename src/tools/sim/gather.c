#include <errno.h>
#include <stdlib.h>

#include "tools/sim/report.h"

const char *report_group_name(uint32_t group)
{
	static const char *const names[SIM_GROUPS] = {"host up",  "leaf up",   "spine up",
						      "core up",  "core down", "spine down",
						      "leaf down"};

	return names[group];
}

const char *report_end_name(enum report_end end)
{
	static const char *const names[] = {"done", "failed", "time", "interrupted"};

	return names[end];
}

const char *report_state_name(uint8_t state)
{
	static const char *const names[] = {"waiting", "running", "done", "failed"};

	return names[state];
}

const char *report_routing_name(enum routing_mode mode)
{
	static const char *const names[] = {"ecmp", "structured", "usid", "usid+srh"};

	return names[mode];
}

uint64_t report_slowdown(const struct run_flow *f)
{
	return stats_scale(f->fct_ps, 1000, f->ideal_ps);
}

uint64_t report_utilisation(const struct report *r, uint32_t port)
{
	const struct sim *s = &r->run->sim;
	const struct sim_port *p = &s->ports[port];
	uint64_t bytes = p->counts.sent_bytes + p->counts.sent_pkts * s->cfg.overhead_bytes;
	uint64_t share =
		stats_scale(bytes, 8 * PSEC_S * 1000, (stats_wide)p->rate_bps * r->ended_ps);

	/* A frame counts when its first bit leaves; the last bit of the last one may come too late.
	 */
	return share < 1000 ? share : 1000;
}

uint64_t report_skew(uint64_t most, uint32_t n, uint64_t sum)
{
	return stats_scale(most, 1000 * (uint64_t)n, sum);
}

bool report_path(const struct report *r, uint32_t node, struct report_path *path)
{
	const struct topology *t = &r->run->scenario->topology;
	const struct topology_node *n = &t->nodes[node];

	*path = (struct report_path){0};
	if (n->is_host || n->tier != r->paths[n->plane].tier)
		return false;
	for (uint32_t i = n->first_port; i < n->first_port + n->n_ports; i++) {
		const struct sim_port_counts *c = &r->run->sim.ports[i].counts;

		if (t->ports[i].is_up)
			continue;
		path->bytes += c->sent_bytes;
		path->pkts += c->sent_pkts;
	}
	return true;
}

static psec last_completion(const struct run *run)
{
	psec last = 0;

	for (uint32_t i = 0; i < run->scenario->workload.n; i++)
		if (run->traffic.flows[i].completed_ps > last)
			last = run->traffic.flows[i].completed_ps;
	return last;
}

static void gather_end(struct report *r)
{
	const struct run *run = r->run;
	const struct traffic *t = &run->traffic;
	uint32_t n = run->scenario->workload.n;

	r->ended_ps = t->n_done == n ? last_completion(run) : sim_now(&run->sim);
	r->n_unfinished = n - t->n_done - t->n_failed;
	if (t->n_done == n) {
		r->end = REPORT_DONE;
	} else if (r->is_interrupted) {
		r->end = REPORT_INTERRUPTED;
	} else if (traffic_is_over(t) || !sim_has_more(&run->sim)) {
		r->end = REPORT_FAILED;
	} else {
		r->end = REPORT_TIME;
	}
}

static int gather_flows(struct report *r)
{
	const struct run *run = r->run;
	uint32_t n = run->scenario->workload.n, n_done = 0;
	uint64_t *fct = calloc(3 * ((size_t)n + 1), sizeof *fct);

	if (!fct)
		return -ENOMEM;
	uint64_t *ideal = fct + n, *slowdown = ideal + n;

	for (uint32_t i = 0; i < n; i++) {
		const struct workload_flow *w = &run->scenario->workload.flows[i];
		const struct traffic_flow *f = &run->traffic.flows[i];

		r->bytes += workload_bytes(&run->scenario->workload, w);
		r->delivered_bytes += f->total_bytes;
		if (f->state != TRAFFIC_DONE)
			continue;
		struct run_flow flow = run_flow(run, i);

		fct[n_done] = flow.fct_ps;
		ideal[n_done] = flow.ideal_ps;
		slowdown[n_done++] = report_slowdown(&flow);
	}
	r->fct_ps = stats_of(fct, n_done);
	r->ideal_ps = stats_of(ideal, n_done);
	r->slowdown = stats_of(slowdown, n_done);
	r->goodput_bps = stats_scale(r->delivered_bytes, 8 * PSEC_S, r->ended_ps);
	free(fct);
	return 0;
}

static void gather_ports(struct report *r)
{
	const struct sim *s = &r->run->sim;
	const struct topology *t = s->cfg.topology;

	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct sim_port *p = &s->ports[i];
		struct report_group *g = &r->groups[p->group];
		uint64_t sent = p->counts.sent_bytes;

		if (g->n_ports++ == 0 || sent < g->least_sent)
			g->least_sent = sent;
		if (sent > g->most_sent)
			g->most_sent = sent;
		if (p->counts.most_bytes > g->most_bytes)
			g->most_bytes = p->counts.most_bytes;
		g->sent_bytes += sent;
		uint64_t decile = report_utilisation(r, i) / 100;

		g->deciles[decile < REPORT_DECILES ? decile : REPORT_DECILES - 1]++;
		if (p->is_host)
			r->plane_bytes[t->ports[i].plane] += sent;
	}
	for (uint32_t i = 0; i < SIM_GROUPS; i++) {
		const uint64_t *counts = s->queue_lengths[i];
		struct report_group *g = &r->groups[i];

		for (uint32_t k = 0; k < SIM_QUEUE_BUCKET; k++)
			g->arrivals += counts[k];
		g->p50_bytes = sim_queue_bound(stats_bucket(counts, SIM_QUEUE_BUCKET, 5000));
		g->p99_bytes = sim_queue_bound(stats_bucket(counts, SIM_QUEUE_BUCKET, 9900));
	}
}

static void gather_paths(struct report *r)
{
	const struct topology *t = &r->run->scenario->topology;
	struct report_path path;

	for (uint32_t i = t->n_hosts; i < t->n_nodes; i++) {
		struct report_paths *p = &r->paths[t->nodes[i].plane];

		if (t->nodes[i].tier > p->tier)
			p->tier = t->nodes[i].tier;
	}
	for (uint32_t i = t->n_hosts; i < t->n_nodes; i++) {
		struct report_paths *p = &r->paths[t->nodes[i].plane];

		if (!report_path(r, i, &path))
			continue;
		if (p->n++ == 0 || path.bytes < p->least_bytes)
			p->least_bytes = path.bytes;
		if (path.bytes > p->most_bytes)
			p->most_bytes = path.bytes;
		p->bytes += path.bytes;
	}
}

int report_gather(struct report *r)
{
	const struct sim *s = &r->run->sim;

	gather_end(r);
	if (gather_flows(r))
		return -ENOMEM;
	gather_ports(r);
	gather_paths(r);
	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++)
		r->dropped += s->totals.drops[i];
	r->in_flight = sim_in_flight(s);
	r->is_conserved = sim_is_conserved(s);
	r->retransmitted = run_retransmitted(r->run);
	return 0;
}
