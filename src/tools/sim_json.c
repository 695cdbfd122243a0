#include <inttypes.h>
#include <string.h>

#include "tools/amount.h"
#include "tools/sim_report.h"
#include "tools/text.h"

static void put_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, "\"%s\":", key);
	text_put_json(out, text);
	fputc(',', out);
}

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

/* A bound; null: there is none. */
static void put_bound(FILE *out, uint64_t bound)
{
	if (bound == UINT64_MAX)
		fputs("null", out);
	else
		fprintf(out, "%" PRIu64, bound);
}

/* A number in fixed point, as a decimal one: exact to nine digits. */
static void put_fixed(FILE *out, const char *key, uint64_t value, uint32_t bits)
{
	uint64_t part = value & ((UINT64_C(1) << bits) - 1);

	fprintf(out, ",\"%s\":%" PRIu64 ".%09" PRIu64, key, value >> bits,
		(uint64_t)(((stats_wide)part * 1000000000) >> bits));
}

/* NSCC as the first host has it, defaults filled in. */
static void put_nscc(FILE *out, const struct run *run)
{
	uint64_t rate = transport_host_rate(&run->scenario->topology, 0);
	const struct nscc_cfg n = nscc_complete(&run->transport.cfg.nscc, rate);

	fprintf(out,
		",\n \"nscc\":{\"base_rtt_ns\":%" PRIu64 ",\"target_qdelay_ns\":%" PRIu64
		",\"adjust_period_ns\":%" PRIu64 ",\"near_ns\":%" PRIu64 ",\"qa_threshold_ns\":",
		n.base_rtt_ns, n.target_qdelay_ns, n.adjust_period_ns, n.near_ns);
	put_bound(out, n.qa_threshold_ns);
	fprintf(out, ",\"sender_bps\":%" PRIu64 ",\"receiver_bps\":%" PRIu64 ",\"mtu_bytes\":%u",
		n.sender_bps, n.receiver_bps, n.mtu_bytes);
	fprintf(out,
		",\"bdp_bytes\":%u,\"max_window_bytes\":%u,\"base_bdp_bytes\":%u"
		",\"adjust_bytes\":%u,\"qa_gate\":%u",
		n.bdp_bytes, n.max_wnd_bytes, n.base_bdp_bytes, n.adjust_bytes, n.qa_gate);
	put_fixed(out, "gamma", n.gamma_q32, 32);
	put_fixed(out, "max_md_jump", n.max_md_jump_q32, 32);
	put_fixed(out, "scaling_a", n.scaling_a_q32, 32);
	put_fixed(out, "scaling_b", n.scaling_b_q32, 32);
	put_fixed(out, "alpha", n.alpha_q40, 40);
	put_fixed(out, "fi", n.fi_q24, 24);
	put_fixed(out, "fi_scale", n.fi_scale_q32, 32);
	put_fixed(out, "eta", n.eta_q24, 24);
	fprintf(out, ",\"trimming\":%s,\"quick_adapt\":%s}", truth(n.has_trimming),
		truth(!n.has_no_quick_adapt));
}

static void put_mrc(FILE *out, const struct run *run)
{
	static const char *const names[] = {"nscc", "fixed", "none"};
	const struct scenario_transport *t = &run->scenario->transport;

	fprintf(out, ",\"ways\":\"%s\",\"cc\":\"%s\"", t->is_oblivious ? "oblivious" : "aware",
		names[t->cc]);
	if (t->cc == SCENARIO_CC_NSCC)
		put_nscc(out, run);
}

static void put_scenario(FILE *out, const struct run *run, const char *summary)
{
	const struct scenario *s = run->scenario;
	const struct transport_cfg *t = &run->transport.cfg;

	fputs("\"scenario\":{", out);
	put_text(out, "name", s->name);
	put_text(out, "summary", summary);
	fprintf(out, "\"seed\":%" PRIu64 ",\"end_ps\":", s->seed);
	if (s->end_ps == PSEC_NEVER)
		fputs("null", out);
	else
		fprintf(out, "%" PRIu64, s->end_ps);
	fprintf(out, ",\"hosts\":%u,\"switches\":%u,\"links\":%u,\"planes\":%u,\"tiers\":%u",
		s->topology.n_hosts, s->topology.n_nodes - s->topology.n_hosts,
		s->topology.n_ports / 2, s->topology.n_planes, s->topology.n_tiers);
	fprintf(out, ",\"routing\":\"%s\",\"flows\":%u,\"faults\":%u",
		report_routing_name(s->routing.mode), s->workload.n, run->n_faults);
	fprintf(out, ",\"base_rtt_ps\":%" PRIu64 ",\"plane_bdp_bytes\":%u", s->base_rtt_ps,
		s->plane_bdp_bytes);
	fprintf(out, ",\n \"transport\":{\"name\":\"%s\",\"payload_bytes\":%u,\"window_pkts\":%u",
		s->transport.name, t->payload_bytes, t->window_pkts);
	fprintf(out, ",\"entropies\":%u,\"ack_every\":%u,\"retries\":%u,\"timeout_ps\":%" PRIu64,
		t->entropies, t->ack_every, t->retries, t->timeout_ns * PSEC_NS);
	if (s->transport.kind == SCENARIO_MRC)
		put_mrc(out, run);
	fputs("}}", out);
}

static void put_stats(FILE *out, const char *key, const struct stats *s)
{
	fprintf(out,
		",\n \"%s\":{\"min\":%" PRIu64 ",\"mean\":%" PRIu64 ",\"p50\":%" PRIu64
		",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}",
		key, s->min, s->mean, s->p50, s->p99, s->max);
}

static void put_flow(FILE *out, const struct run *run, uint32_t i)
{
	const struct topology *t = &run->scenario->topology;
	const struct workload_flow *w = &run->scenario->workload.flows[i];
	const struct traffic_flow *f = &run->traffic.flows[i];
	struct run_flow flow = run_flow(run, i);

	fprintf(out, "{\"id\":%u,\"src\":\"%s\",\"dst\":\"%s\",\"bytes\":%" PRIu64 ",\"repeat\":%u",
		w->id, t->labels[w->src], t->labels[w->dst], w->bytes, w->repeat);
	fprintf(out, ",\"victim\":%s,\"state\":\"%s\",\"status\":%d,\"delivered_bytes\":%" PRIu64,
		truth(w->role == WORKLOAD_VICTIM), report_state_name(f->state), f->status,
		f->total_bytes);
	fprintf(out, ",\"started_ps\":%" PRIu64 ",\"completed_ps\":%" PRIu64 ",\"fct_ps\":%" PRIu64,
		f->started_ps, f->completed_ps, flow.fct_ps);
	fprintf(out, ",\"ideal_ps\":%" PRIu64 ",\"slowdown\":%s}", flow.ideal_ps,
		amount_ratio(report_slowdown(&flow)).at);
}

static void put_flows(FILE *out, const struct report *r)
{
	const struct traffic *t = &r->run->traffic;
	const struct stats *s = &r->slowdown;
	uint32_t n = r->run->scenario->workload.n;

	fprintf(out, "\"flows\":{\"count\":%u,\"done\":%u,\"failed\":%u,\"unfinished\":%u", n,
		t->n_done, t->n_failed, r->n_unfinished);
	fprintf(out,
		",\"bytes\":%" PRIu64 ",\"delivered_bytes\":%" PRIu64 ",\"goodput_bps\":%" PRIu64,
		r->bytes, r->delivered_bytes, r->goodput_bps);
	put_stats(out, "fct_ps", &r->fct_ps);
	put_stats(out, "ideal_ps", &r->ideal_ps);
	fprintf(out, ",\n \"slowdown\":{\"min\":%s,\"mean\":%s,\"p50\":%s,\"p99\":%s,\"max\":%s}",
		amount_ratio(s->min).at, amount_ratio(s->mean).at, amount_ratio(s->p50).at,
		amount_ratio(s->p99).at, amount_ratio(s->max).at);
	if (n <= REPORT_FLOWS_FEW || r->has_all_flows) {
		fputs(",\n \"each\":[", out);
		for (uint32_t i = 0; i < n; i++) {
			fputs(i ? ",\n  " : "\n  ", out);
			put_flow(out, r->run, i);
		}
		fputc(']', out);
	}
	fputc('}', out);
}

static void put_packets(FILE *out, const struct report *r)
{
	const struct sim_totals *t = &r->run->sim.totals;
	const char *comma = "";

	fprintf(out,
		"\"packets\":{\"injected\":%" PRIu64 ",\"copied\":%" PRIu64
		",\"delivered\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"in_flight\":%" PRIu64
		",\"conserved\":%s",
		t->injected, t->copied, t->delivered, r->dropped, r->in_flight,
		truth(r->is_conserved));
	fprintf(out,
		",\"marked\":%" PRIu64 ",\"trimmed\":%" PRIu64 ",\"retransmitted\":%" PRIu64
		",\"pauses\":%" PRIu64 ",\"hops\":%" PRIu64 ",\n \"drops\":{",
		t->marked, t->trimmed, r->retransmitted, t->pauses, t->hops);
	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++)
		if (t->drops[i]) {
			fprintf(out, "%s\"%s\":%" PRIu64, comma, sim_drop_name(i), t->drops[i]);
			comma = ",";
		}
	fputs("}}", out);
}

static void put_group(FILE *out, const struct report *r, uint32_t i)
{
	const struct report_group *g = &r->groups[i];
	const uint64_t *counts = r->run->sim.queue_lengths[i];
	const char *comma = "";

	fprintf(out, "\n {\"name\":\"%s\",\"ports\":%u", report_group_name(i), g->n_ports);
	fprintf(out, ",\"queue\":{\"packets\":%" PRIu64 ",\"p50_bytes\":", g->arrivals);
	put_bound(out, g->p50_bytes);
	fputs(",\"p99_bytes\":", out);
	put_bound(out, g->p99_bytes);
	fprintf(out, ",\"longest_bytes\":%" PRIu64 ",\"histogram\":[", g->most_bytes);
	for (uint32_t k = 0; k < SIM_QUEUE_BUCKET; k++)
		if (counts[k]) {
			fprintf(out, "%s[", comma);
			put_bound(out, sim_queue_bound(k));
			fprintf(out, ",%" PRIu64 "]", counts[k]);
			comma = ",";
		}
	fprintf(out,
		"]},\"sent_bytes\":{\"sum\":%" PRIu64 ",\"min\":%" PRIu64 ",\"max\":%" PRIu64
		",\"max_over_mean\":%s},\"utilisation_deciles\":[",
		g->sent_bytes, g->least_sent, g->most_sent,
		amount_ratio(report_skew(g->most_sent, g->n_ports, g->sent_bytes)).at);
	for (uint32_t k = 0; k < REPORT_DECILES; k++)
		fprintf(out, "%s%u", k ? "," : "", g->deciles[k]);
	fputs("]}", out);
}

static void put_ports(FILE *out, const struct report *r)
{
	const char *comma = "";

	fputs("\"ports\":[", out);
	for (uint32_t i = 0; i < SIM_GROUPS; i++)
		if (r->groups[i].n_ports) {
			fputs(comma, out);
			put_group(out, r, i);
			comma = ",";
		}
	fputs("],\n\"plane_bytes\":[", out);
	for (uint32_t i = 0; i < r->run->scenario->topology.n_planes; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", r->plane_bytes[i]);
	fputc(']', out);
}

static void put_paths(FILE *out, const struct report *r)
{
	const struct topology *t = &r->run->scenario->topology;
	const char *comma = "";
	struct report_path path;

	if (t->n_nodes == t->n_hosts)
		return;
	fputs(",\n\"paths\":[", out);
	for (uint32_t i = t->n_hosts; i < t->n_nodes; i++) {
		if (!report_path(r, i, &path))
			continue;
		fprintf(out,
			"%s\n {\"name\":\"%s\",\"plane\":%u,\"bytes\":%" PRIu64
			",\"packets\":%" PRIu64 "}",
			comma, t->labels[i], t->nodes[i].plane, path.bytes, path.pkts);
		comma = ",";
	}
	fputc(']', out);
}

static void put_links(FILE *out, const struct report *r)
{
	const struct sim *s = &r->run->sim;
	char name[2 * TOPOLOGY_NAME_MAX + 16];

	if (s->n_ports > REPORT_PORTS_FEW && !r->has_all_flows)
		return;
	fputs(",\n\"links\":[", out);
	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct sim_port_counts *c = &s->ports[i].counts;

		topology_port_name(s->cfg.topology, i, name, sizeof name);
		fprintf(out,
			"%s\n {\"name\":\"%s\",\"bytes\":%" PRIu64 ",\"packets\":%" PRIu64
			",\"marked\":%" PRIu64 ",\"trimmed\":%" PRIu64 ",\"dropped\":%" PRIu64
			",\"utilisation\":%s}",
			i ? "," : "", name, c->sent_bytes, c->sent_pkts, c->marked, c->trimmed,
			c->dropped, amount_ratio(report_utilisation(r, i)).at);
	}
	fputc(']', out);
}

static void put_faults(FILE *out, const struct run *run, bool has_counts)
{
	const struct impair_count *counts = impair_counts(run->impair);
	char text[REPORT_FAULT_TEXT];

	fputs("\"faults\":[", out);
	for (uint32_t i = 0; i < run->n_faults; i++) {
		fault_print(&run->faults[i], &run->scenario->topology, text, sizeof text);
		fprintf(out, "%s{\"kind\":\"%s\",\"text\":", i ? ",\n " : "\n ",
			fault_kind_name((enum fault_kind)run->faults[i].kind));
		text_put_json(out, text);
		if (has_counts)
			fprintf(out, ",\"touched\":%" PRIu64, counts[i].touched);
		fputc('}', out);
	}
	fputc(']', out);
}

static void put_goodput(FILE *out, const struct traffic *t)
{
	fprintf(out, "\"goodput\":{\"tick_ps\":%" PRIu64 ",\"bytes\":[", t->tick_ps);
	for (uint32_t i = 0; i < t->n_ticks; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", t->ticks[i]);
	fputs("]}", out);
}

void report_json_plan(FILE *out, const struct run *run, const char *summary)
{
	fputc('{', out);
	put_scenario(out, run, summary);
	fputs(",\n", out);
	put_faults(out, run, false);
	fputs("}\n", out);
}

void report_json(FILE *out, const struct report *r)
{
	const struct sim *s = &r->run->sim;
	uint64_t second = UINT64_C(1000000000);

	fputc('{', out);
	put_scenario(out, r->run, r->summary);
	fprintf(out, ",\n\"end\":{\"why\":\"%s\",\"at_ps\":%" PRIu64 "},\n",
		report_end_name(r->end), r->ended_ps);
	put_flows(out, r);
	fputs(",\n", out);
	put_packets(out, r);
	fputs(",\n", out);
	put_ports(out, r);
	put_paths(out, r);
	put_links(out, r);
	fputs(",\n", out);
	put_faults(out, r->run, true);
	fputs(",\n", out);
	put_goodput(out, &r->run->traffic);
	fprintf(out, ",\n\"events\":%" PRIu64 ",\"trace_hash\":\"%016" PRIx64 "\"",
		s->agenda.n_fired, s->trace_hash);
	fprintf(out,
		",\n\"wall\":{\"ns\":%" PRIu64 ",\"events_per_s\":%" PRIu64
		",\"hops_per_s\":%" PRIu64 "}}\n",
		r->wall_ns, stats_scale(s->agenda.n_fired, second, r->wall_ns),
		stats_scale(s->totals.hops, second, r->wall_ns));
}
