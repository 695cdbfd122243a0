/* Scenarios that ask something of their results: what stands beside them, what is asked, and the
 * figures that answer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mrc/mrc.h"
#include "runs.h"
#include "scenario/metric.h"
#include "sim/ideal.h"

#define N_OF(a) (sizeof(a) / sizeof(a)[0])
#define BOUND   PSEC_S
#define LEAVES  "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4}\n"
#define PERM    "workload: {kind: permutation, bytes: 200KB}\n"
#define TWO     "beside: [{name: rc, set: [transport.kind=rc]}, {name: b, set: [seed=2]}]\n"

static struct scenario_source source_of(const char *text)
{
	return (struct scenario_source){.file = "f.yaml", .text = text, .len = strlen(text)};
}

struct mistake {
	const char *text, *error;
};

static const struct mistake of_targets[] = {
	{"targets: 3\n", "targets: is a single value; it must be a list, like [one, two]"},
	{"targets: [3]\n", "targets[0]: is a single value"},
	{"targets: [{most: 1}]\n", "targets[0].what: is missing; name a metric like fct_mean"},
	{"targets: [{what: fct_men, most: 1}]\n", "targets[0].what: \"fct_men\" is unknown; one of "
						  "fct_mean, fct_p99, fct_last, goodput, "},
	{"targets: [{what: fct_mean}]\n", "targets[0]: needs one of most and least; "},
	{"targets: [{what: fct_mean, most: 1, least: 1}]\n",
	 "targets[0]: needs one of most and least; "},
	{"targets: [{what: fct_mean, most: 1us}]\n", "targets[0].most: \"1us\" is not a number"},
	{"targets: [{what: quiet_after, most: 1}]\n", "targets[0].most: \"1\" needs a unit; "},
	{"targets: [{what: goodput, least: 1}]\n", "targets[0].least: \"1\" needs a unit; "},
	{"targets: [{what: flows_failed, most: 0.5}]\n",
	 "targets[0].most: \"0.5\" is not a whole number"},
	{TWO "targets: [{what: goodput, of: b, least: 1Gbps}]\n",
	 "targets[0].least: \"1Gbps\" is not a number"},
	{TWO "targets: [{what: goodput, in: c, least: 1Gbps}]\n",
	 "targets[0].in: no run is called \"c\"; name one of beside, or main"},
	{TWO "targets: [{what: goodput, in: c*, least: 1Gbps}]\n",
	 "targets[0].in: \"c*\" is 0 runs of beside; 1 to 32"},
	{TWO "targets: [{what: goodput, of: c, least: 1}]\n",
	 "targets[0].of: no run is called \"c\"; name one of beside, or main"},
	{"targets: [{what: jain, entry: 1, least: 1}]\n",
	 "targets[0].entry: the workload has no such entry; count from 0"},
	{"targets: [{what: fct_last, entry: 0, most: 1}]\n",
	 "targets[0].entry: unknown key in a target of fct_last; "},
	{"targets: [{what: fct_mean, most: 1, mots: 1}]\n",
	 "targets[0].mots: unknown key in a target of fct_mean; did you mean \"most\"?"},
	{"targets: [{what: rate_after, least: 1}]\n", "targets[0].from: is missing; write a time"},
	{"targets: [{what: rate_after, least: 1, from: 2us, to: 3us, before: 1us}]\n",
	 "targets[0].what: needs goodput over time; set measure.tick"},
	{"measure: {tick: 2us}\n"
	 "targets: [{what: rate_after, least: 1, from: 2us, to: 3us, before: 2us}]\n",
	 "targets[0].from: from, to and before are multiples of measure.tick; "},
	{"targets: [{what: rate_after, least: 1, from: 3us, to: 3us, before: 1us}]\n",
	 "targets[0].from: is not before to; make it earlier"},
	{"targets: [{what: rate_after, least: 1, from: 3us, to: 5us, before: 1us}]\n",
	 "targets[0].before: leaves less time than from .. to has; "},
};

static const struct mistake of_variants[] = {
	{"beside: {name: b}\n", "beside: is a map; it must be a list, like [one, two]"},
	{"beside: [b]\n", "beside[0]: is a single value"},
	{"beside: [{set: [seed=2]}]\n", "beside[0].name: is missing; "},
	{"beside: [{name: b}]\n", "beside[0].set: is missing; "},
	{"beside: [{name: main, set: [seed=2]}]\n",
	 "beside[0].name: \"main\" is the name of another run; use a new one"},
	{"beside: [{name: b, set: [seed=2]}, {name: b, set: [seed=3]}]\n",
	 "beside[1].name: \"b\" is the name of another run; use a new one"},
	{"beside: [{name: 0123456789012345678901234567890123456789, set: [seed=2]}]\n",
	 "beside[0].name: is 40 bytes long; at most 39"},
	{"beside: [{name: b, set: seed=2}]\n", "beside[0].set: is a single value; "},
	{"beside: [{name: b, set: [seed]}]\n",
	 "beside[0].set[0]: \"seed\" is no change; write key=value"},
	{"beside: [{name: b, set: [seed=2, =3]}]\n",
	 "beside[0].set[1]: \"=3\" is no change; write key=value"},
	{"beside: [{name: b, set: [seed=2], long: 3}]\n", "beside[0].long: \"3\" is unknown; "},
	{"beside: [{name: b, set: [seed=2], log: true}]\n",
	 "beside[0].log: unknown key in a variant; did you mean \"long\"?"},
};

static const struct mistake of_lists[] = {
	{"workload: {kind: permutation, dsts: 3}\n", "workload.dsts: is a single value; "},
	{"workload: {kind: permutation, dsts: [1, 0]}\n",
	 "workload.dsts: has 2 hosts; name one for each host"},
	{"workload: {kind: permutation, dsts: [1, 0, 3, 2, 5, 4, 7, 8]}\n",
	 "workload.dsts[7]: there is no host \"8\"; "},
	{"workload: {kind: permutation, dsts: [1, 0, 3, 2, 5, 4, 6, 7]}\n",
	 "workload.dsts[6]: sends to itself; name another host"},
	{"workload: {kind: permutation, dsts: [1, 0, 3, 2, 5, 4, 7, 1]}\n",
	 "workload.dsts[7]: stands there twice; name each host once"},
	{"workload: {kind: incast, srcs: []}\n", "workload.srcs: has 0 hosts; name at least one"},
	{"workload: {kind: incast, dst: 2, srcs: [1, 2]}\n",
	 "workload.srcs[1]: sends to itself; name another host"},
	{"workload: {kind: incast, srcs: [h1, 1]}\n",
	 "workload.srcs[1]: stands there twice; name each host once"},
	{"workload: {kind: incast, srcs: [1], fan_in: 1}\n",
	 "workload.srcs: stands beside fan_in or victim; leave those out"},
	{"workload: {kind: single, dsts: [1]}\n", "workload.dsts: unknown key in a single flow; "},
};

/* What stands behind `file:line: `. */
static void check_mistakes(const struct mistake *table, size_t n, const char *before)
{
	char text[1024];

	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof text, "%s%s", before, table[i].text);
		assert_int_equal(runs_try(text), -EINVAL);
		const char *said = strstr(runs_error, ": ");

		if (strncmp(runs_error, "f.yaml:", 7) != 0 || !said ||
		    strncmp(said + 2, table[i].error, strlen(table[i].error)) != 0)
			fail_msg("case %zu: \"%s\"\n   instead of \"%s\"", i, runs_error,
				 table[i].error);
	}
}

static void mistakes_are_told(void **state)
{
	(void)state;
	check_mistakes(of_targets, N_OF(of_targets), LEAVES PERM);
	check_mistakes(of_variants, N_OF(of_variants), LEAVES PERM);
	check_mistakes(of_lists, N_OF(of_lists), LEAVES);
}

static void targets_and_variants_are_read(void **state)
{
	(void)state;
	if (runs_try(
		    LEAVES PERM TWO
		    "measure: {tick: 1us}\n"
		    "targets:\n"
		    "  - {what: fct_p99, entry: 0, most: 1.04}\n"
		    "  - {what: goodput, in: rc, of: main, least: 0.5}\n"
		    "  - {what: rate_after, in: b, before: 3us, from: 5us, to: 7us, least: 0.9}\n"))
		fail_msg("%s", runs_error);
	const struct scenario *s = &runs_scenario;

	assert_int_equal(s->n_targets, 3);
	assert_int_equal(s->targets[0].metric, SCENARIO_FCT_P99);
	assert_true(s->targets[0].is_most);
	assert_int_equal(s->targets[0].bound, 1040000);
	assert_int_equal(s->targets[0].in, SCENARIO_MAIN);
	assert_int_equal(s->targets[0].of, SCENARIO_NONE);
	assert_int_equal(s->targets[0].entry, 0);
	assert_int_equal(s->targets[1].in, 1);
	assert_int_equal(s->targets[1].of, SCENARIO_MAIN);
	assert_int_equal(s->targets[1].entry, SCENARIO_NONE);
	assert_false(s->targets[1].is_most);
	assert_int_equal(s->targets[2].in, 2);
	assert_int_equal(s->targets[2].from_ps, 5 * PSEC_US);
	assert_int_equal(s->targets[2].to_ps, 7 * PSEC_US);
	assert_int_equal(s->targets[2].before_ps, 3 * PSEC_US);
	assert_int_equal(s->n_beside, 2);
	assert_string_equal(s->beside[0].name, "rc");
	assert_int_equal(s->beside[0].n, 1);
	assert_string_equal(s->beside[0].set[0].key, "transport.kind");
	assert_string_equal(s->beside[0].set[0].value, "rc");
	assert_false(s->is_watched || s->beside[1].is_long);
	scenario_fini(&runs_scenario);
}

/* Changes of a variant come after those of the command line, and mistakes name it. */
static void variants_are_the_scenario_with_changes(void **state)
{
	static const char text[] = LEAVES PERM
		"seed: 5\n"
		"beside:\n"
		"  - {name: other, set: [seed=7, 'faults=[{kind: drop, at: \"*\", chance: 1%}]']}\n"
		"  - {name: bad, set: [seed=x]}\n";
	struct scenario_override set[] = {{"seed", "6"}, {"workload.bytes", "1000"}};
	struct scenario_source source = source_of(text);
	struct scenario main, other;

	(void)state;
	source.overrides = set;
	source.n_overrides = 2;
	assert_int_equal(scenario_read(&main, &source, runs_error, sizeof runs_error), 0);
	assert_int_equal(scenario_read_variant(&other, &source, &main.beside[0], runs_error,
					       sizeof runs_error),
			 0);
	assert_int_equal(main.seed, 6);
	assert_int_equal(other.seed, 7);
	assert_int_equal(main.n_faults, 0);
	assert_true(other.n_faults > 0);
	assert_int_equal(other.workload.flows[0].bytes, 1000);
	assert_int_equal(other.n_beside, 0);
	scenario_fini(&other);
	assert_int_equal(scenario_read_variant(&other, &source, &main.beside[1], runs_error,
					       sizeof runs_error),
			 -EINVAL);
	assert_string_equal(runs_error, "beside bad: --set seed: \"x\" is not a number; write a "
					"whole number");
	scenario_fini(&main);
}

static struct metric figure(uint8_t metric, uint32_t entry)
{
	struct scenario_target t = {.metric = metric, .of = SCENARIO_NONE, .entry = entry};

	return metric_of(&runs_run, &t, 1000000000);
}

static uint64_t known_figure(uint8_t metric, uint32_t entry)
{
	struct metric m = figure(metric, entry);

	assert_true(m.is_known);
	return m.value;
}

static void run_all(const char *yaml, const char *settings)
{
	runs_read(yaml, settings);
	runs_begin(NULL, NULL);
	runs_finish(PSEC_NEVER, BOUND);
}

/* Flows by hand: the hosts of each list are where they shall be. */
static void listed_hosts_are_the_ends(void **state)
{
	static const uint32_t dsts[] = {3, 2, 1, 0, 7, 6, 5, 4};

	(void)state;
	assert_int_equal(runs_try(LEAVES "workload:\n"
					 "  - {kind: permutation, dsts: [3, 2, 1, 0, 7, 6, 5, 4], "
					 "bytes: 7KB, stagger: 1us}\n"
					 "  - {kind: incast, dst: h2, srcs: [h7, 0]}\n"),
			 0);
	const struct workload *w = &runs_scenario.workload;

	assert_int_equal(w->n, 10);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(w->flows[i].src, i);
		assert_int_equal(w->flows[i].dst, dsts[i]);
		assert_int_equal(w->flows[i].bytes, 7000);
		assert_int_equal(w->flows[i].start_ps, i * PSEC_US);
		assert_int_equal(w->flows[i].id, i);
	}
	assert_int_equal(w->flows[8].src, 7);
	assert_int_equal(w->flows[9].src, 0);
	assert_int_equal(w->flows[9].dst, 2);
	assert_int_equal(runs_scenario.n_entries, 2);
	assert_int_equal(runs_scenario.entries[1].first, 8);
	assert_int_equal(runs_scenario.entries[1].n, 2);
	scenario_fini(&runs_scenario);
}

/* Mean and percentile against the flows themselves, of all and of one entry. */
static void completion_is_over_the_ideal(void **state)
{
	uint64_t fct = 0, ideal = 0, most_fct = 0, most_ideal = 0;

	(void)state;
	run_all(LEAVES "workload: [{kind: single, bytes: 1MB}, {kind: incast, fan_in: 5}]\n", "");
	for (uint32_t i = 0; i < 6; i++) {
		struct run_flow f = run_flow(&runs_run, i);

		fct += f.fct_ps;
		ideal += f.ideal_ps;
		most_fct = f.fct_ps > most_fct ? f.fct_ps : most_fct;
		most_ideal = f.ideal_ps > most_ideal ? f.ideal_ps : most_ideal;
	}
	assert_int_equal(known_figure(SCENARIO_FCT_MEAN, SCENARIO_NONE),
			 (uint64_t)((unsigned __int128)(fct / 6) * 1000000 / (ideal / 6)));
	assert_int_equal(known_figure(SCENARIO_FCT_P99, SCENARIO_NONE),
			 (uint64_t)((unsigned __int128)most_fct * 1000000 / most_ideal));
	struct run_flow alone = run_flow(&runs_run, 0);

	assert_int_equal(known_figure(SCENARIO_FCT_MEAN, 0),
			 alone.fct_ps * 1000000 / alone.ideal_ps);
	assert_int_equal(known_figure(SCENARIO_FLOWS_FAILED, SCENARIO_NONE), 0);
	/* 1 s of wall time: every packet, and those retransmitted. */
	uint64_t pkts = 245 + 5 * 256 + run_retransmitted(&runs_run);

	assert_int_equal(known_figure(SCENARIO_PKTS_PER_SECOND, SCENARIO_NONE), pkts);
	runs_end();
}

/* A host that sends to 7 others one by one takes 7 times as long as somebody who need not; a chain
 * of hosts takes its 6 further chunks and trips. */
static void spreads_are_over_what_receivers_take(void **state)
{
	(void)state;
	run_all(LEAVES "workload: {kind: broadcast, bytes: 8MiB}\n", "");
	assert_in_range(known_figure(SCENARIO_SPREAD_LAST, SCENARIO_NONE), 6500000, 7100000);
	assert_in_range(known_figure(SCENARIO_FCT_LAST, SCENARIO_NONE), 999000, 1100000);
	runs_end();
	run_all(LEAVES "workload: {kind: broadcast, bytes: 8MiB, by: ring, chunk: 64KiB}\n", "");
	assert_in_range(known_figure(SCENARIO_SPREAD_LAST, SCENARIO_NONE), 1000000, 1500000);
	runs_end();
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Of 240 flows, the 238th: 99 of 100 do not exceed it. */
static void percentiles_are_of_nearest_rank(void **state)
{
	uint64_t fct[240], ideal[240];

	(void)state;
	run_all("topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4}\n"
		"workload: {kind: all-to-all, bytes: 10KB}\n",
		"");
	for (uint32_t i = 0; i < 240; i++) {
		fct[i] = run_flow(&runs_run, i).fct_ps;
		ideal[i] = run_flow(&runs_run, i).ideal_ps;
	}
	qsort(fct, 240, sizeof fct[0], by_value);
	qsort(ideal, 240, sizeof ideal[0], by_value);
	assert_true(fct[236] < fct[237] && fct[237] < fct[238]);
	assert_int_equal(known_figure(SCENARIO_FCT_P99, SCENARIO_NONE),
			 fct[237] * 1000000 / ideal[237]);
	runs_end();
}

#define INCAST LEAVES "workload: {kind: incast, dst: h0, srcs: [4, 5, 6, 7], bytes: 1MiB}\n"

/* n * t + (hops - 1) * t + 2 * hops * 1 us + hops * t_ack, n packets of all senders, 4 hops. */
static void the_ideal_of_an_incast_is_its_last_link(void **state)
{
	(void)state;
	run_all(INCAST, "");
	const struct sim *s = &runs_run.sim;
	const struct sim_transport *t = s->cfg.transport;
	uint32_t around = s->encap_bytes + 24;
	psec data = psec_of_bytes(4096 + t->data_head_bytes + around, UINT64_C(400000000000));
	psec ack = psec_of_bytes(t->ack_bytes + around, UINT64_C(400000000000));
	psec ideal = 1024 * data + 3 * data + 8 * PSEC_US + 4 * ack;

	assert_in_range(metric_ideal_last(&runs_run, false), ideal - 10, ideal + 10);
	assert_in_range(metric_ideal_last(&runs_run, true), ideal - 10, ideal + 10);
	uint64_t last = known_figure(SCENARIO_FCT_LAST, SCENARIO_NONE);

	assert_in_range(last, 1000000, 1200000);
	runs_end();
	/* It counts from the first start. */
	run_all(INCAST, "workload.start=50us");
	assert_in_range(known_figure(SCENARIO_FCT_LAST, SCENARIO_NONE), last - 5000, last + 5000);
	runs_end();
}

/* Four hosts at full rate through links of 3.5 times that: the leaf is the bound, either way. */
static void a_share_counts_degraded_links(void **state)
{
	static const char *const links[] = {"leaf0>spine1", "spine1>leaf0"};
	char text[512];

	(void)state;
	for (uint32_t i = 0; i < N_OF(links); i++) {
		snprintf(text, sizeof text,
			 "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, spines: 4,\n"
			 "           links: [{match: %s, rate: 200Gbps}]}\n"
			 "workload: {kind: permutation, dsts: [4, 5, 6, 7, 0, 1, 2, 3], bytes: "
			 "4MiB}\n",
			 links[i]);
		run_all(text, "");
		psec hosts = metric_ideal_last(&runs_run, false);
		psec share = metric_ideal_last(&runs_run, true);
		psec ev = ideal_time(&runs_run.sim, 0, 4, 4096);

		assert_in_range((share - ev) * 1000 / (hosts - ev), 1142, 1144); /* 4 / 3.5 */
		runs_end();
	}
}

/* Hosts 0 and 1 send to 4, 0 also to 5, 2 to 6: 4's link is halved, 0's other half is for 5. */
static void shares_are_max_min_fair(void **state)
{
	static const uint64_t gbps[] = {200, 200, 200, 400};
	uint64_t shares[4];

	(void)state;
	run_all(LEAVES "workload:\n"
		       "  - {kind: single, src: 0, dst: 4}\n"
		       "  - {kind: single, src: 1, dst: 4}\n"
		       "  - {kind: single, src: 0, dst: 5}\n"
		       "  - {kind: single, src: 2, dst: 6}\n",
		"");
	assert_int_equal(metric_fair_shares(&runs_run, shares), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(shares[i], gbps[i] * 1000000000);
	assert_in_range(known_figure(SCENARIO_FLOW_RATE, 3), 990000, 1000000);
	/* The first has half a link, and takes about as long as that. */
	assert_in_range(known_figure(SCENARIO_FLOW_RATE, 0), 850000, 1150000);
	runs_end();
	run_all(LEAVES "workload: [{kind: incast, dst: 0, srcs: [1, 2, 3]},\n"
		       "           {kind: single, src: 3, dst: 7}]\n",
		"");
	assert_int_equal(metric_fair_shares(&runs_run, shares), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(shares[i], UINT64_C(133333333333));
	assert_in_range(shares[3], UINT64_C(266666666666), UINT64_C(266666666668));
	runs_end();
}

static void jain_tells_equal_from_unequal(void **state)
{
	(void)state;
	/* Alone in their leaves, so that they are as fast as each other; then one in three. */
	run_all(LEAVES "workload: [{kind: single, src: 0, dst: 1}, {kind: permutation, dsts: [1, "
		       "0, 3, 2, 5, 4, 7, 6], repeat: 1}]\n",
		"workload.1.start=1ms");
	assert_int_equal(known_figure(SCENARIO_JAIN, 1), 1000000);
	assert_int_equal(known_figure(SCENARIO_JAIN, 0), 1000000);
	runs_end();
	run_all(LEAVES "workload: {kind: incast, dst: 0, srcs: [1, 2, 3], bytes: 1MB, "
		       "stagger: 10us}\n",
		"");
	struct run_flow f[3];
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < 3; i++) {
		f[i] = run_flow(&runs_run, i);
		sum += 1e6 / (double)f[i].fct_ps;
		squares += 1e12 / ((double)f[i].fct_ps * (double)f[i].fct_ps);
	}
	uint64_t want = (uint64_t)(sum * sum / (3 * squares) * 1e6);

	assert_in_range(known_figure(SCENARIO_JAIN, SCENARIO_NONE), want - 2, want + 2);
	assert_true(want < 999000);
	runs_end();
}

/* A link at rest for a while: what came in before, in between, and nothing past the end. */
static void rates_are_those_of_their_time(void **state)
{
	struct scenario_target t = {.metric = SCENARIO_RATE_AFTER,
				    .of = SCENARIO_NONE,
				    .entry = SCENARIO_NONE,
				    .from_ps = 40 * PSEC_US,
				    .to_ps = 50 * PSEC_US,
				    .before_ps = 20 * PSEC_US};

	(void)state;
	run_all("topology: {kind: wire, rate: 100Gbps}\n"
		"measure: {tick: 2us}\n"
		"workload: {kind: single, bytes: 1MB}\n"
		"faults: [{kind: pause, at: h0>h1, from: 30us, until: 45us}]\n",
		"");
	struct metric m = metric_of(&runs_run, &t, 1);

	assert_true(m.is_known);
	/* Half of the window is paused, and what was on its way came before. */
	assert_in_range(m.value, 300000, 500000);
	t.from_ps = 110 * PSEC_US;
	t.to_ps = 150 * PSEC_US;
	t.before_ps = 40 * PSEC_US;
	assert_false(metric_of(&runs_run, &t, 1).is_known);
	runs_end();
}

/* What is not done is no time, and counted. */
static void unfinished_flows_leave_times_unknown(void **state)
{
	(void)state;
	run_all(LEAVES "workload: [{kind: single, src: 0, dst: 1, bytes: 100KB}, "
		       "{kind: single, bytes: 100MB}]\nend: 100us\n",
		"");
	assert_false(figure(SCENARIO_FCT_MEAN, SCENARIO_NONE).is_known);
	assert_false(figure(SCENARIO_FCT_P99, 1).is_known);
	assert_false(figure(SCENARIO_FCT_LAST, SCENARIO_NONE).is_known);
	assert_false(figure(SCENARIO_JAIN, SCENARIO_NONE).is_known);
	assert_false(figure(SCENARIO_FLOW_RATE, 1).is_known);
	assert_true(figure(SCENARIO_FCT_MEAN, 0).is_known);
	assert_int_equal(known_figure(SCENARIO_FLOWS_FAILED, SCENARIO_NONE), 1);
	assert_int_equal(known_figure(SCENARIO_FLOWS_FAILED, 0), 0);
	/* Until now, 100 us, about 400 Gb/s went in. */
	assert_in_range(known_figure(SCENARIO_GOODPUT, SCENARIO_NONE), UINT64_C(300000000000),
			UINT64_C(800000000000));
	runs_end();
}

static void bounds_are_met_or_not(void **state)
{
	static const struct {
		bool is_most;
		uint64_t value;
		bool is_known, is_met;
	} table[] = {
		{true, 999, true, true},   {true, 1000, true, true},
		{true, 1001, true, false}, {false, 999, true, false},
		{false, 1000, true, true}, {false, 1001, true, true},
		{true, 0, false, false},   {false, UINT64_MAX, false, false},
	};
	struct metric one = {1, true}, three = {3, true}, none = {0, true}, unknown = {1, false};

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++) {
		struct scenario_target t = {.is_most = table[i].is_most, .bound = 1000};
		struct metric m = {table[i].value, table[i].is_known};

		assert_int_equal(metric_is_met(&t, m), table[i].is_met);
	}
	assert_int_equal(metric_ratio(one, three).value, 333333);
	assert_true(metric_ratio(one, three).is_known);
	assert_false(metric_ratio(one, none).is_known);
	assert_false(metric_ratio(unknown, one).is_known);
	assert_false(metric_ratio(one, unknown).is_known);
}

#define DEAD                                                                     \
	"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, spines: 4}\n" \
	"transport: {kind: mrc, cc: fixed, evs: oblivious}\n"                    \
	"workload: [{kind: single, src: 0, dst: 7, bytes: 4MB},\n"               \
	"           {kind: single, src: 7, dst: 0, bytes: 4MB}]\n"               \
	"targets: [{what: quiet_after, most: 1us}]\n"

/* Who minds no path goes on into a dead one until it is back, and cannot know of it before a round
 * trip of 8 us is over. A fault that nothing meets is never known. */
static void senders_into_dead_paths_are_seen(void **state)
{
	static const struct {
		const char *faults;
		psec least, most;
	} table[] = {
		{"", 0, 0},
		{"faults: [{kind: down, at: leaf0-spine1, from: 20us, until: 60us}]\n",
		 10 * PSEC_US, 32 * PSEC_US},
		{"faults: [{kind: black-hole, at: leaf0>spine1, from: 20us, until: 50us}]\n",
		 10 * PSEC_US, 22 * PSEC_US},
		{"faults: [{kind: down, at: leaf1-h4, from: 20us, until: 60us}]\n", 0, 0},
		/* Once it knows of the data that was lost, acknowledgements alone are. */
		{"faults:\n"
		 "  - {kind: drop, at: h7>leaf1, match: data, chance: 20%, from: 20us, until: "
		 "24us}\n"
		 "  - {kind: drop, at: h7>leaf1, match: control, chance: 30%, from: 40us, "
		 "until: 70us}\n",
		 0, 0},
	};
	char text[512];

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++) {
		snprintf(text, sizeof text, "%s%s", DEAD, table[i].faults);
		run_all(text, "");
		runs_all_done();
		psec quiet = known_figure(SCENARIO_QUIET_AFTER, SCENARIO_NONE);

		if (quiet < table[i].least || quiet > table[i].most)
			fail_msg("case %u: %llu ps", i, (unsigned long long)quiet);
		/* Nobody watches unasked, and watching changes nothing. */
		uint64_t hash = runs_run.sim.trace_hash;

		runs_end();
		run_all(text, "targets=[]");
		assert_null(runs_run.sim.cfg.hooks.lost);
		assert_null(runs_run.sim.cfg.hooks.pulled);
		assert_true(runs_run.sim.trace_hash == hash);
		runs_end();
	}
}

/* Each packet of data counts once, all others as often as they are sent. */
static void packets_are_counted_by_kind(void **state)
{
	uint64_t probes = 0;

	(void)state;
	run_all(INCAST, "");
	assert_int_equal(known_figure(SCENARIO_PKTS_PER_DATA, SCENARIO_NONE),
			 runs_run.sim.totals.injected * 1000000 / 1024);
	assert_int_equal(known_figure(SCENARIO_PROBES_PER_DATA, SCENARIO_NONE), 0);
	runs_end();
	run_all(LEAVES PERM "faults: [{kind: drop, at: 'h*>*', chance: 1%}]\n",
		"transport.kind=mrc");
	for (uint32_t h = 0; h < runs_run.sim.n_hosts; h++) {
		const struct mrc_counters *c = mrc_counters(runs_run.sim.hosts[h].engine);

		probes += c->tx_probe + c->tx_fault_probe;
	}
	assert_true(probes > 0);
	assert_int_equal(known_figure(SCENARIO_PROBES_PER_DATA, SCENARIO_NONE),
			 probes * 1000000 / (8 * 49));
	runs_end();
}

/* One run of what mrc-fan-in asks of the median of eight, with some room for how it ends. */
static void many_senders_leave_the_link_busy(void **state)
{
	const struct scenario_builtin *b = scenario_builtin_find("mrc-fan-in");

	(void)state;
	assert_non_null(b);
	run_all(b->yaml, "workload.fan_in=127");
	runs_all_done();
	assert_true(known_figure(SCENARIO_FCT_LAST, SCENARIO_NONE) < 1025000);
	assert_true(known_figure(SCENARIO_PKTS_PER_DATA, SCENARIO_NONE) < 4500000);
	assert_true(known_figure(SCENARIO_PROBES_PER_DATA, SCENARIO_NONE) < 50000);
	runs_end();
}

/* Every study can be read with all that stands beside it, and its targets are about its runs. */
static void studies_are_whole(void **state)
{
	uint32_t n = 0;
	const struct scenario_builtin *b;

	(void)state;
	for (uint32_t i = 0; (b = scenario_builtin_at(i)); i++) {
		struct scenario_source source = source_of(b->yaml);
		struct scenario other;

		if (runs_try(b->yaml))
			fail_msg("%s", runs_error);
		const struct scenario *s = &runs_scenario;

		assert_int_equal(s->n_beside > 0, scenario_builtin_is_study(b));
		n += scenario_builtin_is_study(b);
		/* The large ones differ in size alone. */
		for (uint32_t k = 0; k < s->n_beside && k < 26; k++) {
			if (scenario_read_variant(&other, &source, &s->beside[k], runs_error,
						  sizeof runs_error))
				fail_msg("%s: %s", b->name, runs_error);
			for (uint32_t t = 0; t < s->n_targets; t++)
				if (s->targets[t].in == k + 1 || s->targets[t].of == k + 1)
					assert_null(
						scenario_target_problem(&other, &s->targets[t]));
			scenario_fini(&other);
		}
		scenario_fini(&runs_scenario);
	}
	assert_int_equal(n, 14);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(mistakes_are_told),
	cmocka_unit_test(targets_and_variants_are_read),
	cmocka_unit_test(variants_are_the_scenario_with_changes),
	cmocka_unit_test(listed_hosts_are_the_ends),
	cmocka_unit_test(completion_is_over_the_ideal),
	cmocka_unit_test(spreads_are_over_what_receivers_take),
	cmocka_unit_test(percentiles_are_of_nearest_rank),
	cmocka_unit_test(the_ideal_of_an_incast_is_its_last_link),
	cmocka_unit_test(a_share_counts_degraded_links),
	cmocka_unit_test(shares_are_max_min_fair),
	cmocka_unit_test(jain_tells_equal_from_unequal),
	cmocka_unit_test(rates_are_those_of_their_time),
	cmocka_unit_test(unfinished_flows_leave_times_unknown),
	cmocka_unit_test(bounds_are_met_or_not),
	cmocka_unit_test(senders_into_dead_paths_are_seen),
	cmocka_unit_test(packets_are_counted_by_kind),
	cmocka_unit_test(many_senders_leave_the_link_busy),
	cmocka_unit_test(studies_are_whole),
};

CHECK_MAIN(cases)
