#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/amount.h"
#include "tools/sim/report.h"

static void put_flows(FILE *out, const struct report *r)
{
	const struct run *run = r->run;
	const struct topology *t = &run->scenario->topology;

	fputs("id,src,dst,role,bytes,repeat,state,status,started_ps,delivered_ps,completed_ps,"
	      "fct_ps,ideal_ps,slowdown,delivered_bytes\n",
	      out);
	for (uint32_t i = 0; i < run->scenario->workload.n; i++) {
		const struct workload_flow *w = &run->scenario->workload.flows[i];
		const struct traffic_flow *f = &run->traffic.flows[i];
		struct run_flow flow = run_flow(run, i);

		fprintf(out, "%u,%s,%s,%s,%" PRIu64 ",%u,%s,%d,", w->id, t->labels[w->src],
			t->labels[w->dst], w->role == WORKLOAD_VICTIM ? "victim" : "flow", w->bytes,
			w->repeat, report_state_name(f->state), f->status);
		fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,",
			f->started_ps, f->delivered_ps, f->completed_ps, flow.fct_ps, flow.ideal_ps,
			amount_ratio(report_slowdown(&flow)).at);
		fprintf(out, "%" PRIu64 "\n", f->total_bytes);
	}
}

static void put_goodput(FILE *out, const struct report *r)
{
	const struct traffic *t = &r->run->traffic;

	fputs("from_ps,bytes,goodput_bps\n", out);
	for (uint32_t i = 0; i < t->n_ticks; i++)
		fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", i * t->tick_ps, t->ticks[i],
			stats_scale(t->ticks[i], 8 * PSEC_S, t->tick_ps));
}

static void put_queues(FILE *out, const struct report *r)
{
	fputs("ports,at_most_bytes,packets\n", out);
	for (uint32_t i = 0; i < SIM_GROUPS; i++)
		for (uint32_t k = 0; r->groups[i].n_ports && k < SIM_QUEUE_BUCKET; k++) {
			uint64_t bound = sim_queue_bound(k);

			fprintf(out, "%s,", report_group_name(i));
			if (bound != UINT64_MAX)
				fprintf(out, "%" PRIu64, bound);
			fprintf(out, ",%" PRIu64 "\n", r->run->sim.queue_lengths[i][k]);
		}
}

static void put_links(FILE *out, const struct report *r)
{
	const struct sim *s = &r->run->sim;
	const struct topology *t = &r->run->scenario->topology;
	char name[2 * TOPOLOGY_NAME_MAX + 16];

	fputs("port,ports,plane,rate_bps,sent_pkts,sent_bytes,utilisation,marked,trimmed,dropped,"
	      "pauses_sent,longest_queue_bytes\n",
	      out);
	for (uint32_t i = 0; i < s->n_ports; i++) {
		const struct sim_port *p = &s->ports[i];
		const struct sim_port_counts *c = &p->counts;

		topology_port_name(t, i, name, sizeof name);
		fprintf(out, "%s,%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,", name,
			report_group_name(p->group), t->ports[i].plane, p->rate_bps, c->sent_pkts,
			c->sent_bytes, amount_ratio(report_utilisation(r, i)).at);
		fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%u\n", c->marked, c->trimmed,
			c->dropped, c->pauses_sent, c->most_bytes);
	}
}

static void put_paths(FILE *out, const struct report *r)
{
	const struct topology *t = &r->run->scenario->topology;
	struct report_path path;

	fputs("switch,plane,sent_pkts,sent_bytes\n", out);
	for (uint32_t i = t->n_hosts; i < t->n_nodes; i++)
		if (report_path(r, i, &path))
			fprintf(out, "%s,%u,%" PRIu64 ",%" PRIu64 "\n", t->labels[i],
				t->nodes[i].plane, path.pkts, path.bytes);
}

static void put_drops(FILE *out, const struct report *r)
{
	/* Reason 0 is none. */
	fputs("reason,packets,text\n", out);
	for (uint32_t i = 1; i < SIM_DROP_COUNT; i++)
		fprintf(out, "%s,%" PRIu64 ",\"%s\"\n", sim_drop_name(i),
			r->run->sim.totals.drops[i], sim_drop_text(i));
}

static void put_faults(FILE *out, const struct report *r)
{
	const struct run *run = r->run;
	const struct impair_count *counts = impair_counts(run->impair);
	char text[REPORT_FAULT_TEXT];

	fputs("kind,touched,from_ps,until_ps,text\n", out);
	for (uint32_t i = 0; i < run->n_faults; i++) {
		const struct fault *f = &run->faults[i];

		fault_print(f, &run->scenario->topology, text, sizeof text);
		fprintf(out, "%s,%" PRIu64 ",%" PRIu64 ",",
			fault_kind_name((enum fault_kind)f->kind), counts[i].touched, f->from_ps);
		if (f->until_ps != PSEC_NEVER)
			fprintf(out, "%" PRIu64, f->until_ps);
		fprintf(out, ",\"%s\"\n", text);
	}
}

int report_csv_folder(const char *folder)
{
	struct stat st;

	if (mkdir(folder, 0777) == 0)
		return 0;
	if (errno != EEXIST)
		return errno;
	return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

int report_csv(const char *folder, const struct report *r, const char **file)
{
	static const struct {
		const char *name;
		void (*put)(FILE *out, const struct report *r);
	} files[] = {
		{"flows.csv", put_flows},   {"goodput.csv", put_goodput},
		{"queues.csv", put_queues}, {"links.csv", put_links},
		{"paths.csv", put_paths},   {"drops.csv", put_drops},
		{"faults.csv", put_faults},
	};
	char path[4096];

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		*file = files[i].name;
		if (snprintf(path, sizeof path, "%s/%s", folder, *file) >= (int)sizeof path)
			return ENAMETOOLONG;
		FILE *out = fopen(path, "w");

		if (!out)
			return errno;
		files[i].put(out, r);
		int error = ferror(out) ? EIO : 0;

		if (fclose(out) != 0 && !error)
			error = errno;
		if (error)
			return error;
	}
	return 0;
}
