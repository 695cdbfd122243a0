#include <inttypes.h>
#include <string.h>

#include "tools/json_file.h"
#include "tools/sim/report.h"

/* A bound; null: there is none. */
static void put_bound(struct json_writer *w, const char *key, uint64_t bound)
{
	if (bound == UINT64_MAX)
		json_null(w, key);
	else
		json_number(w, key, bound);
}

/* A number in fixed point, as a decimal one: exact to nine digits. */
static void put_fixed(struct json_writer *w, const char *key, uint64_t value, uint32_t bits)
{
	json_decimal(w, key, stats_scale(value, 1000000000, (stats_wide)1 << bits), 9);
}

/* NSCC as the first host has it, defaults filled in. */
static void put_nscc(struct json_writer *w, const struct run *run)
{
	uint64_t rate = hosts_rate(&run->scenario->topology, 0);
	const struct nscc_cfg n = nscc_complete(&run->hosts.cfg.options.nscc, rate);

	json_object(w, "nscc", JSON_INLINE);
	json_number(w, "base_rtt_ns", n.base_rtt_ns);
	json_number(w, "target_qdelay_ns", n.target_qdelay_ns);
	json_number(w, "adjust_period_ns", n.adjust_period_ns);
	json_number(w, "near_ns", n.near_ns);
	put_bound(w, "qa_threshold_ns", n.qa_threshold_ns);
	json_number(w, "sender_bps", n.sender_bps);
	json_number(w, "receiver_bps", n.receiver_bps);
	json_number(w, "mtu_bytes", n.mtu_bytes);
	json_number(w, "bdp_bytes", n.bdp_bytes);
	json_number(w, "max_window_bytes", n.max_wnd_bytes);
	json_number(w, "base_bdp_bytes", n.base_bdp_bytes);
	json_number(w, "adjust_bytes", n.adjust_bytes);
	json_number(w, "qa_gate", n.qa_gate);
	put_fixed(w, "gamma", n.gamma_q32, 32);
	put_fixed(w, "max_md_jump", n.max_md_jump_q32, 32);
	put_fixed(w, "scaling_a", n.scaling_a_q32, 32);
	put_fixed(w, "scaling_b", n.scaling_b_q32, 32);
	put_fixed(w, "alpha", n.alpha_q40, 40);
	put_fixed(w, "fi", n.fi_q24, 24);
	put_fixed(w, "fi_scale", n.fi_scale_q32, 32);
	put_fixed(w, "eta", n.eta_q24, 24);
	json_truth(w, "trimming", n.has_trimming);
	json_truth(w, "quick_adapt", !n.has_no_quick_adapt);
	json_close(w);
}

static void put_row(struct json_writer *w, const struct run *run)
{
	const struct scenario_transport *t = &run->scenario->transport;

	if (transport_has(t->row, TRANSPORT_PROFILES))
		json_text(w, "evs", t->options.is_oblivious ? "oblivious" : "aware");
	json_text(w, "cc", t->row->cc_words[t->options.cc]);
	if (scenario_cc(t) == CC_NSCC)
		put_nscc(w, run);
}

static void put_transport(struct json_writer *w, const struct run *run)
{
	const struct hosts_cfg *t = &run->hosts.cfg;

	json_object(w, "transport", JSON_INLINE);
	json_text(w, "name", run->scenario->transport.name);
	json_number(w, "payload_bytes", t->payload_bytes);
	json_number(w, "window_pkts", t->window_pkts);
	json_number(w, "entropies", t->entropies);
	json_number(w, "ack_every", t->options.ack_every_pkts);
	json_number(w, "retries", t->options.retries);
	json_number(w, "timeout_ps", t->timeout_ns * PSEC_NS);
	if (t->transport)
		put_row(w, run);
	json_close(w);
}

static void put_scenario(struct json_writer *w, const struct run *run, const char *summary)
{
	const struct scenario *s = run->scenario;

	json_object(w, "scenario", JSON_LINES);
	json_text(w, "name", s->name);
	json_text(w, "summary", summary);
	json_number(w, "seed", s->seed);
	put_bound(w, "end_ps", s->end_ps == PSEC_NEVER ? UINT64_MAX : s->end_ps);
	json_number(w, "hosts", s->topology.n_hosts);
	json_number(w, "switches", s->topology.n_nodes - s->topology.n_hosts);
	json_number(w, "links", s->topology.n_ports / 2);
	json_number(w, "planes", s->topology.n_planes);
	json_number(w, "tiers", s->topology.n_tiers);
	json_text(w, "routing", report_routing_name(s->routing.mode));
	json_number(w, "flows", s->workload.n);
	json_number(w, "faults", run->n_faults);
	json_number(w, "base_rtt_ps", s->base_rtt_ps);
	json_number(w, "plane_bdp_bytes", s->plane_bdp_bytes);
	put_transport(w, run);
	json_close(w);
}

static void put_stats(struct json_writer *w, const char *key, const struct stats *s)
{
	json_object(w, key, JSON_INLINE);
	json_number(w, "min", s->min);
	json_number(w, "mean", s->mean);
	json_number(w, "p50", s->p50);
	json_number(w, "p99", s->p99);
	json_number(w, "max", s->max);
	json_close(w);
}

static void put_slowdown(struct json_writer *w, const struct stats *s)
{
	json_object(w, "slowdown", JSON_INLINE);
	json_decimal(w, "min", s->min, 3);
	json_decimal(w, "mean", s->mean, 3);
	json_decimal(w, "p50", s->p50, 3);
	json_decimal(w, "p99", s->p99, 3);
	json_decimal(w, "max", s->max, 3);
	json_close(w);
}

static void put_flow(struct json_writer *w, const struct run *run, uint32_t i)
{
	const struct topology *t = &run->scenario->topology;
	const struct workload_flow *work = &run->scenario->workload.flows[i];
	const struct traffic_flow *f = &run->traffic.flows[i];
	struct run_flow flow = run_flow(run, i);

	json_object(w, NULL, JSON_INLINE);
	json_number(w, "id", work->id);
	json_text(w, "src", t->labels[work->src]);
	json_text(w, "dst", t->labels[work->dst]);
	if (work->group)
		json_number(w, "receivers", run->scenario->workload.groups[work->group - 1].n);
	json_number(w, "bytes", work->bytes);
	json_number(w, "repeat", work->repeat);
	json_truth(w, "victim", work->role == WORKLOAD_VICTIM);
	json_text(w, "state", report_state_name(f->state));
	json_signed(w, "status", f->status);
	json_number(w, "delivered_bytes", f->total_bytes);
	json_number(w, "started_ps", f->started_ps);
	json_number(w, "completed_ps", f->completed_ps);
	json_number(w, "fct_ps", flow.fct_ps);
	json_number(w, "ideal_ps", flow.ideal_ps);
	json_decimal(w, "slowdown", report_slowdown(&flow), 3);
	json_close(w);
}

static void put_flows(struct json_writer *w, const struct report *r)
{
	const struct traffic *t = &r->run->traffic;
	uint32_t n = r->run->scenario->workload.n;

	json_object(w, "flows", JSON_LINES);
	json_number(w, "count", n);
	json_number(w, "done", t->n_done);
	json_number(w, "failed", t->n_failed);
	json_number(w, "unfinished", r->n_unfinished);
	json_number(w, "bytes", r->bytes);
	json_number(w, "delivered_bytes", r->delivered_bytes);
	json_number(w, "goodput_bps", r->goodput_bps);
	put_stats(w, "fct_ps", &r->fct_ps);
	put_stats(w, "ideal_ps", &r->ideal_ps);
	put_slowdown(w, &r->slowdown);
	if (n <= REPORT_FLOWS_FEW || r->has_all_flows) {
		json_array(w, "each", JSON_LINES);
		for (uint32_t i = 0; i < n; i++)
			put_flow(w, r->run, i);
		json_close(w);
	}
	json_close(w);
}

static void put_tree(struct json_writer *w, const struct report *r, uint32_t group)
{
	const struct workload_group *g = &r->run->scenario->workload.groups[group];
	struct report_trees trees;

	report_trees(r, group, &trees);
	json_object(w, NULL, JSON_INLINE);
	json_text(w, "src", r->run->scenario->topology.labels[g->src]);
	json_number(w, "receivers", g->n);
	json_number(w, "acks", trees.acks);
	json_number(w, "naks", trees.naks);
	json_number(w, "cnps", trees.cnps);
	json_number(w, "silent", trees.silent);
	json_number(w, "ejected", trees.ejected);
	json_number(w, "failed", trees.failed);
	json_close(w);
}

/* Multicast groups, if there are any. */
static void put_trees(struct json_writer *w, const struct report *r)
{
	const struct sim_totals *t = &r->run->sim.totals;
	uint32_t n = r->run->scenario->workload.n_groups;
	struct report_trees trees;

	if (n == 0)
		return;
	report_trees(r, REPORT_ALL_TREES, &trees);
	json_object(w, "groups", JSON_LINES);
	json_number(w, "count", n);
	json_number(w, "copies", t->replicated);
	json_number(w, "used_up", t->absorbed);
	json_number(w, "answers", t->answered);
	json_number(w, "acks", trees.acks);
	json_number(w, "naks", trees.naks);
	json_number(w, "cnps", trees.cnps);
	json_object(w, "drops", JSON_INLINE);
	for (uint32_t i = MT_DROP_NONE + 1; i < MT_DROP_COUNT; i++)
		if (report_tree_drops(r, (enum mt_drop)i))
			json_number(w, mt_drop_name((enum mt_drop)i),
				    report_tree_drops(r, (enum mt_drop)i));
	json_close(w);
	json_array(w, "each", JSON_LINES);
	for (uint32_t i = 0; i < n; i++)
		put_tree(w, r, i);
	json_close(w);
	json_close(w);
}

static void put_packets(struct json_writer *w, const struct report *r)
{
	const struct sim_totals *t = &r->run->sim.totals;

	json_object(w, "packets", JSON_LINES);
	json_number(w, "injected", t->injected);
	json_number(w, "copied", t->copied);
	json_number(w, "delivered", t->delivered);
	json_number(w, "dropped", r->dropped);
	json_number(w, "in_flight", r->in_flight);
	json_truth(w, "conserved", r->is_conserved);
	json_number(w, "marked", t->marked);
	json_number(w, "trimmed", t->trimmed);
	json_number(w, "retransmitted", r->retransmitted);
	json_number(w, "pauses", t->pauses);
	json_number(w, "hops", t->hops);
	json_object(w, "drops", JSON_INLINE);
	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++)
		if (t->drops[i])
			json_number(w, sim_drop_name(i), t->drops[i]);
	json_close(w);
	json_close(w);
}

static void put_queue(struct json_writer *w, const struct report_group *g, const uint64_t *counts)
{
	json_object(w, "queue", JSON_INLINE);
	json_number(w, "packets", g->arrivals);
	put_bound(w, "p50_bytes", g->p50_bytes);
	put_bound(w, "p99_bytes", g->p99_bytes);
	json_number(w, "longest_bytes", g->most_bytes);
	json_array(w, "histogram", JSON_INLINE);
	for (uint32_t k = 0; k < SIM_QUEUE_BUCKET; k++)
		if (counts[k]) {
			json_array(w, NULL, JSON_INLINE);
			put_bound(w, NULL, sim_queue_bound(k));
			json_number(w, NULL, counts[k]);
			json_close(w);
		}
	json_close(w);
	json_close(w);
}

static void put_group(struct json_writer *w, const struct report *r, uint32_t i)
{
	const struct report_group *g = &r->groups[i];

	json_object(w, NULL, JSON_INLINE);
	json_text(w, "name", report_group_name(i));
	json_number(w, "ports", g->n_ports);
	put_queue(w, g, r->run->sim.queue_lengths[i]);
	json_object(w, "sent_bytes", JSON_INLINE);
	json_number(w, "sum", g->sent_bytes);
	json_number(w, "min", g->least_sent);
	json_number(w, "max", g->most_sent);
	json_decimal(w, "max_over_mean", report_skew(g->most_sent, g->n_ports, g->sent_bytes), 3);
	json_close(w);
	json_array(w, "utilisation_deciles", JSON_INLINE);
	for (uint32_t k = 0; k < REPORT_DECILES; k++)
		json_number(w, NULL, g->deciles[k]);
	json_close(w);
	json_close(w);
}

static void put_ports(struct json_writer *w, const struct report *r)
{
	json_array(w, "ports", JSON_LINES);
	for (uint32_t i = 0; i < SIM_GROUPS; i++)
		if (r->groups[i].n_ports)
			put_group(w, r, i);
	json_close(w);
	json_array(w, "plane_bytes", JSON_INLINE);
	for (uint32_t i = 0; i < r->run->scenario->topology.n_planes; i++)
		json_number(w, NULL, r->plane_bytes[i]);
	json_close(w);
}

static void put_paths(struct json_writer *w, const struct report *r)
{
	const struct topology *t = &r->run->scenario->topology;
	struct report_path path;

	if (t->n_nodes == t->n_hosts)
		return;
	json_array(w, "paths", JSON_LINES);
	for (uint32_t i = t->n_hosts; i < t->n_nodes; i++) {
		if (!report_path(r, i, &path))
			continue;
		json_object(w, NULL, JSON_INLINE);
		json_text(w, "name", t->labels[i]);
		json_number(w, "plane", t->nodes[i].plane);
		json_number(w, "bytes", path.bytes);
		json_number(w, "packets", path.pkts);
		json_close(w);
	}
	json_close(w);
}

static void put_links(struct json_writer *w, const struct report *r)
{
	const struct sim *s = &r->run->sim;
	char name[2 * TOPOLOGY_NAME_MAX + 16];

	if (s->n_ports > REPORT_PORTS_FEW && !r->has_all_flows)
		return;
	json_array(w, "links", JSON_LINES);
	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct sim_port_counts *c = &s->ports[i].counts;

		topology_port_name(s->cfg.topology, i, name, sizeof name);
		json_object(w, NULL, JSON_INLINE);
		json_text(w, "name", name);
		json_number(w, "bytes", c->sent_bytes);
		json_number(w, "packets", c->sent_pkts);
		json_number(w, "marked", c->marked);
		json_number(w, "trimmed", c->trimmed);
		json_number(w, "dropped", c->dropped);
		json_decimal(w, "utilisation", report_utilisation(r, i), 3);
		json_close(w);
	}
	json_close(w);
}

static void put_faults(struct json_writer *w, const struct run *run, bool has_counts)
{
	const struct impair_count *counts = impair_counts(run->impair);
	char text[REPORT_FAULT_TEXT];

	json_array(w, "faults", JSON_LINES);
	for (uint32_t i = 0; i < run->n_faults; i++) {
		fault_print(&run->faults[i], &run->scenario->topology, text, sizeof text);
		json_object(w, NULL, JSON_INLINE);
		json_text(w, "kind", fault_kind_name((enum fault_kind)run->faults[i].kind));
		json_text(w, "text", text);
		if (has_counts)
			json_number(w, "touched", counts[i].touched);
		json_close(w);
	}
	json_close(w);
}

static void put_goodput(struct json_writer *w, const struct traffic *t)
{
	json_object(w, "goodput", JSON_INLINE);
	json_number(w, "tick_ps", t->tick_ps);
	json_array(w, "bytes", JSON_INLINE);
	for (uint32_t i = 0; i < t->n_ticks; i++)
		json_number(w, NULL, t->ticks[i]);
	json_close(w);
	json_close(w);
}

/* What this machine took for it. */
static void put_wall(struct json_writer *w, const struct report *r)
{
	const struct sim *s = &r->run->sim;
	uint64_t second = UINT64_C(1000000000);

	json_object(w, "wall", JSON_INLINE);
	json_number(w, "ns", r->wall_ns);
	json_number(w, "events_per_s", stats_scale(s->agenda.n_fired, second, r->wall_ns));
	json_number(w, "hops_per_s", stats_scale(s->totals.hops, second, r->wall_ns));
	json_close(w);
}

void report_json_plan(FILE *out, const struct run *run, const char *summary)
{
	struct json_writer w = json_file(out);

	json_object(&w, NULL, JSON_LINES);
	put_scenario(&w, run, summary);
	put_faults(&w, run, false);
	json_close(&w);
	json_end(&w);
}

void report_json(struct json_writer *w, const char *key, const struct report *r)
{
	char hash[24];

	snprintf(hash, sizeof hash, "%016" PRIx64, r->run->sim.trace_hash);
	json_object(w, key, JSON_LINES);
	put_scenario(w, r->run, r->summary);
	json_object(w, "end", JSON_INLINE);
	json_text(w, "why", report_end_name(r->end));
	json_number(w, "at_ps", r->ended_ps);
	json_close(w);
	put_flows(w, r);
	put_packets(w, r);
	put_trees(w, r);
	put_ports(w, r);
	put_paths(w, r);
	put_links(w, r);
	put_faults(w, r->run, true);
	put_goodput(w, &r->run->traffic);
	json_number(w, "events", r->run->sim.agenda.n_fired);
	json_text(w, "trace_hash", hash);
	put_wall(w, r);
	json_close(w);
}
