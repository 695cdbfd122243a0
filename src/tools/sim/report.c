#include "tools/sim/report.h"

#include <inttypes.h>

#include "tools/amount.h"
#include "tools/text.h"

#define SPARKS 60u /* columns of goodput over time */
#define LEVELS 9u  /* heights of a column */

static const char *const tier_names[TOPOLOGY_TIERS] = {"leaves", "spines", "cores"};

static void print_fabric(FILE *out, const struct topology *t)
{
	uint32_t tiers[TOPOLOGY_TIERS] = {0};
	uint64_t slowest = UINT64_MAX, fastest = 0;

	for (uint32_t i = t->n_hosts; i < t->n_nodes; i++)
		tiers[t->nodes[i].tier]++;
	for (uint32_t i = 0; i < t->n_ports; i++) {
		uint64_t rate = t->ports[i].rate_bps;

		slowest = rate < slowest ? rate : slowest;
		fastest = rate > fastest ? rate : fastest;
	}
	fprintf(out, "  fabric     %u hosts", t->n_hosts);
	for (uint32_t i = 0; i < TOPOLOGY_TIERS; i++)
		if (tiers[i])
			fprintf(out, ", %u %s", tiers[i], tier_names[i]);
	fprintf(out, ", %u plane%s, %u link%s at %s", t->n_planes, t->n_planes == 1 ? "" : "s",
		t->n_ports / 2, t->n_ports == 2 ? "" : "s", amount_rate(slowest).at);
	if (fastest != slowest)
		fprintf(out, " to %s", amount_rate(fastest).at);
	fputc('\n', out);
}

static void print_switching(FILE *out, const struct scenario *s)
{
	bool trims = false, marks = false, pauses = false;

	for (uint32_t i = 0; i < FWD_DSCPS; i++)
		trims |= s->qos.dscps[i].trim == FWD_TRIM_TRIMMABLE;
	for (uint32_t i = 0; i < s->qos.n_classes; i++) {
		marks |= s->qos.classes[i].ecn;
		pauses |= s->qos.classes[i].pfc_xoff_bytes != 0;
	}
	fprintf(out, "  switches   %s, %s buffers", report_routing_name(s->routing.mode),
		s->buffer.shared ? "shared" : "per-port");
	if (s->buffer.total_bytes)
		fprintf(out, " of %s", amount_bytes(s->buffer.total_bytes).at);
	fprintf(out, "%s%s%s, delay %s\n", trims ? ", trimming" : "", marks ? ", ECN" : "",
		pauses ? ", PFC" : "", amount_time(s->topology.switch_delay_ps).at);
}

void report_plan(FILE *out, const struct run *run, const char *summary)
{
	const struct scenario *s = run->scenario;
	const struct hosts_cfg *t = &run->hosts.cfg;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->workload.n; i++)
		bytes += workload_bytes(&s->workload, &s->workload.flows[i]);
	text_put_safe(out, s->name[0] ? s->name : "scenario");
	if (summary[0]) {
		fputs(": ", out);
		text_put_safe(out, summary);
	}
	fprintf(out, "\n  seed       %" PRIu64 "\n", s->seed);
	print_fabric(out, &s->topology);
	print_switching(out, s);
	fprintf(out, "  transport  %s, %u B of payload, window %u packets, %u entropies",
		s->transport.name, t->payload_bytes, t->window_pkts, t->entropies);
	fprintf(out, ", timeout %s\n", amount_time(t->timeout_ns * PSEC_NS).at);
	fprintf(out, "  path       base RTT %s, BDP of a plane %s\n",
		amount_time(s->base_rtt_ps).at, amount_bytes(s->plane_bdp_bytes).at);
	fprintf(out, "  workload   %u flow%s, %s", s->workload.n, s->workload.n == 1 ? "" : "s",
		amount_bytes(bytes).at);
	if (s->end_ps != PSEC_NEVER)
		fprintf(out, ", at most %s", amount_time(s->end_ps).at);
	fprintf(out, "\n  faults     %u\n", run->n_faults);
}

static void print_stats_line(FILE *out, const char *what, const struct stats *s,
			     struct amount (*print)(uint64_t))
{
	fprintf(out, "  %-10s %12s %12s %12s %12s %12s\n", what, print(s->min).at,
		print(s->mean).at, print(s->p50).at, print(s->p99).at, print(s->max).at);
}

static void print_end(FILE *out, const struct report *r)
{
	static const char *const says[] = {
		"every flow is done",
		"nothing is left to happen",
		"the scenario's end came first",
	};
	struct amount at = amount_time(r->ended_ps);

	if (r->end == REPORT_INTERRUPTED)
		fprintf(out, "interrupted at %s: the results are partial\n", at.at);
	else
		fprintf(out, "ended at %s: %s\n", at.at, says[r->end]);
}

static void print_flows(FILE *out, const struct report *r)
{
	const struct traffic *t = &r->run->traffic;

	fprintf(out, "\nflows: %u done, %u failed, %u unfinished\n", t->n_done, t->n_failed,
		r->n_unfinished);
	if (r->fct_ps.n) {
		fprintf(out, "  %-10s %12s %12s %12s %12s %12s\n", "", "min", "mean", "p50", "p99",
			"max");
		print_stats_line(out, "completion", &r->fct_ps, amount_time);
		print_stats_line(out, "ideal", &r->ideal_ps, amount_time);
		print_stats_line(out, "slowdown", &r->slowdown, amount_ratio);
	}
	fprintf(out, "  goodput    %s: %s of %s\n", amount_rate(r->goodput_bps).at,
		amount_bytes(r->delivered_bytes).at, amount_bytes(r->bytes).at);
}

static void print_each_flow(FILE *out, const struct report *r)
{
	const struct run *run = r->run;
	const struct topology *t = &run->scenario->topology;
	const struct workload *w = &run->scenario->workload;

	if (w->n == 0 || (w->n > REPORT_FLOWS_FEW && !r->has_all_flows))
		return;
	fprintf(out, "\n  %8s  %-18s %12s %12s %12s %12s %9s  %s\n", "flow", "from > to", "bytes",
		"start", "completion", "ideal", "slowdown", "state");
	for (uint32_t i = 0; i < w->n; i++) {
		const struct workload_flow *f = &w->flows[i];
		const struct traffic_flow *done = &run->traffic.flows[i];
		struct run_flow flow = run_flow(run, i);
		char pair[2 * TOPOLOGY_NAME_MAX + 4];
		bool has_time = flow.fct_ps != 0;

		if (f->group)
			snprintf(pair, sizeof pair, "%s > %u hosts", t->labels[f->src],
				 w->groups[f->group - 1].n);
		else
			snprintf(pair, sizeof pair, "%s > %s", t->labels[f->src],
				 t->labels[f->dst]);
		fprintf(out, "  %8u  %-18s %12s %12s %12s %12s %9s  %s%s\n", f->id, pair,
			amount_bytes(f->bytes * f->repeat).at,
			done->state == TRAFFIC_WAITING ? "-" : amount_time(done->started_ps).at,
			has_time ? amount_time(flow.fct_ps).at : "-", amount_time(flow.ideal_ps).at,
			has_time ? amount_ratio(report_slowdown(&flow)).at : "-",
			report_state_name(done->state),
			f->role == WORKLOAD_VICTIM ? ", victim" : "");
	}
}

static void print_packets(FILE *out, const struct report *r)
{
	const struct sim_totals *t = &r->run->sim.totals;

	fprintf(out, "\npackets: %" PRIu64 " injected, %" PRIu64 " copied\n", t->injected,
		t->copied);
	fprintf(out, "  %12" PRIu64 "  delivered\n", t->delivered);
	for (uint32_t i = 0; i < SIM_DROP_COUNT; i++)
		if (t->drops[i])
			fprintf(out, "  %12" PRIu64 "  dropped, %s: %s\n", t->drops[i],
				sim_drop_name(i), sim_drop_text(i));
	fprintf(out, "  %12" PRIu64 "  in flight at the end\n", r->in_flight);
	fprintf(out, "  conserved: %s\n", r->is_conserved ? "yes" : "NO");
	fprintf(out,
		"  %" PRIu64 " marked, %" PRIu64 " trimmed, %" PRIu64 " retransmitted, %" PRIu64
		" pauses\n",
		t->marked, t->trimmed, r->retransmitted, t->pauses);
}

/* Of multicast groups: what became of answers, and how many reached the sources. */
static void print_groups(FILE *out, const struct report *r)
{
	const struct sim_totals *t = &r->run->sim.totals;
	struct report_trees trees;

	if (r->run->scenario->workload.n_groups == 0)
		return;
	report_trees(r, REPORT_ALL_TREES, &trees);
	fprintf(out, "\nmulticast groups: %u\n", r->run->scenario->workload.n_groups);
	fprintf(out, "  %12" PRIu64 "  copies made\n", t->replicated);
	fprintf(out, "  %12" PRIu64 "  packets used up, %" PRIu64 " answers made of them\n",
		t->absorbed, t->answered);
	fprintf(out,
		"  %12" PRIu64 "  ACKs to the sources, %" PRIu64 " NAKs, %" PRIu64
		" congestion notices\n",
		trees.acks, trees.naks, trees.cnps);
	for (uint32_t i = MT_DROP_NONE + 1; i < MT_DROP_COUNT; i++) {
		uint64_t n = report_tree_drops(r, (enum mt_drop)i);

		if (n)
			fprintf(out, "  %12" PRIu64 "  not passed on, %s: %s\n", n,
				mt_drop_name((enum mt_drop)i), mt_drop_text((enum mt_drop)i));
	}
	if (trees.silent || trees.ejected || trees.failed)
		fprintf(out, "  receivers: %u silent, %u ejected, %u failed\n", trees.silent,
			trees.ejected, trees.failed);
}

static void print_queues(FILE *out, const struct report *r)
{
	fputs("\nqueues, as packets found them (at most), and the longest ever\n", out);
	fprintf(out, "  %-10s %7s %12s %10s %10s %12s\n", "ports", "n", "packets", "p50", "p99",
		"longest");
	for (uint32_t i = 0; i < SIM_GROUPS; i++) {
		const struct report_group *g = &r->groups[i];

		if (g->n_ports)
			fprintf(out, "  %-10s %7u %12" PRIu64 " %10s %10s %12s\n",
				report_group_name(i), g->n_ports, g->arrivals,
				amount_bound(g->p50_bytes).at, amount_bound(g->p99_bytes).at,
				amount_bytes(g->most_bytes).at);
	}
}

static void print_links(FILE *out, const struct report *r)
{
	fputs("\nlinks, by utilisation in percent\n", out);
	fprintf(out, "  %-10s", "ports");
	for (uint32_t i = 0; i < REPORT_DECILES; i++)
		fprintf(out, " %5u+", 10 * i);
	fputc('\n', out);
	for (uint32_t i = 0; i < SIM_GROUPS; i++) {
		const struct report_group *g = &r->groups[i];

		if (!g->n_ports)
			continue;
		fprintf(out, "  %-10s", report_group_name(i));
		for (uint32_t k = 0; k < REPORT_DECILES; k++)
			fprintf(out, " %6u", g->deciles[k]);
		fputc('\n', out);
	}
}

static void print_load(FILE *out, const struct report *r)
{
	const struct topology *t = &r->run->scenario->topology;

	fputs("\nload of the links upwards, bytes sent by each\n", out);
	fprintf(out, "  %-10s %12s %12s %12s %9s\n", "ports", "min", "mean", "max", "max/mean");
	for (uint32_t i = 0; i <= TOPOLOGY_TIERS; i++) {
		const struct report_group *g = &r->groups[i];

		if (g->n_ports)
			fprintf(out, "  %-10s %12s %12s %12s %9s\n", report_group_name(i),
				amount_bytes(g->least_sent).at,
				amount_bytes(g->sent_bytes / g->n_ports).at,
				amount_bytes(g->most_sent).at,
				amount_ratio(report_skew(g->most_sent, g->n_ports, g->sent_bytes))
					.at);
	}
	if (t->n_planes < 2)
		return;
	fputs("  planes    ", out);
	for (uint32_t i = 0; i < t->n_planes; i++)
		fprintf(out, " %u: %s%s", i, amount_bytes(r->plane_bytes[i]).at,
			i + 1u < t->n_planes ? "," : "\n");
}

static void print_paths(FILE *out, const struct report *r)
{
	const struct topology *t = &r->run->scenario->topology;

	if (t->n_nodes == t->n_hosts)
		return;
	fputs("\npaths, by bytes that each switch of the highest tier sent down\n", out);
	fprintf(out, "  %-10s %8s %12s %12s %12s %9s\n", "plane", "switches", "min", "mean", "max",
		"max/mean");
	for (uint32_t i = 0; i < t->n_planes; i++) {
		const struct report_paths *p = &r->paths[i];

		if (p->n)
			fprintf(out, "  %-10u %8u %12s %12s %12s %9s\n", i, p->n,
				amount_bytes(p->least_bytes).at, amount_bytes(p->bytes / p->n).at,
				amount_bytes(p->most_bytes).at,
				amount_ratio(report_skew(p->most_bytes, p->n, p->bytes)).at);
	}
}

static void print_faults(FILE *out, const struct report *r)
{
	const struct impair_count *counts = impair_counts(r->run->impair);
	char text[REPORT_FAULT_TEXT];

	if (r->run->n_faults == 0)
		return;
	fputs("\nfaults, and how often each acted\n", out);
	for (uint32_t i = 0; i < r->run->n_faults; i++) {
		fault_print(&r->run->faults[i], &r->run->scenario->topology, text, sizeof text);
		fprintf(out, "  %12" PRIu64 "  %s\n", counts[i].touched, text);
	}
}

/* Ticks are put together until there are few enough columns. */
static void print_goodput(FILE *out, const struct report *r, bool unicode)
{
	static const char *const blocks[LEVELS] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
						   "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const plain[LEVELS] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	const struct traffic *t = &r->run->traffic;
	uint32_t each = (t->n_ticks + SPARKS - 1) / SPARKS, n = 0;
	uint64_t sums[SPARKS] = {0}, most = 0;

	if (t->n_ticks == 0)
		return;
	for (uint32_t i = 0; i < t->n_ticks; i++)
		sums[i / each] += t->ticks[i];
	n = (t->n_ticks + each - 1) / each;
	for (uint32_t i = 0; i < n; i++)
		most = sums[i] > most ? sums[i] : most;
	psec column = each * t->tick_ps;

	fprintf(out, "\ngoodput over time, %s a column, up to %s\n  [", amount_time(column).at,
		amount_rate(stats_scale(most, 8 * PSEC_S, column)).at);
	for (uint32_t i = 0; i < n; i++) {
		/* The least of something is more than nothing. */
		uint64_t level = sums[i] ? 1 + stats_scale(sums[i], LEVELS - 2, most) : 0;

		fputs((unicode ? blocks : plain)[level % LEVELS], out);
	}
	fputs("]\n", out);
}

void report_table(FILE *out, const struct report *r, bool unicode)
{
	const struct sim *s = &r->run->sim;

	report_plan(out, r->run, r->summary);
	fputc('\n', out);
	print_end(out, r);
	print_flows(out, r);
	print_each_flow(out, r);
	print_packets(out, r);
	print_groups(out, r);
	print_queues(out, r);
	print_links(out, r);
	print_load(out, r);
	print_paths(out, r);
	print_faults(out, r);
	print_goodput(out, r, unicode);
	fprintf(out, "\nsimulated %s in %" PRIu64 " events and %" PRIu64 " packet hops\n",
		amount_time(r->ended_ps).at, s->agenda.n_fired, s->totals.hops);
	fprintf(out, "trace hash %016" PRIx64 "\n", s->trace_hash);
}

void report_wall(FILE *out, const struct report *r)
{
	const struct sim *s = &r->run->sim;
	uint64_t second = UINT64_C(1000000000);

	fprintf(out, "\non this machine: %s, %s events/s, %s packet hops/s\n",
		amount_time(r->wall_ns * PSEC_NS).at,
		amount_count(stats_scale(s->agenda.n_fired, second, r->wall_ns)).at,
		amount_count(stats_scale(s->totals.hops, second, r->wall_ns)).at);
}
