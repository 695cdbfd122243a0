/* Scenarios whose bytes the network copies. */
#include <stdio.h>

#include "runs.h"
#include "scenario/metric.h"

#define BOUND  (50 * PSEC_MS)
#define LEAVES "topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4}\ntransport: {kind: rc}\n"
#define PODS                                                                                       \
	"topology: {kind: fat-tree, hosts: 32, hosts_per_leaf: 4, leaves_per_pod: 4, planes: 2}\n" \
	"transport: {kind: rc}\n"
#define TO_ALL "workload: {kind: broadcast, bytes: 300KB, message: 70KB, window: 3, by: end-mt}\n"
#define GATHER "workload: {kind: all-gather, bytes: 60KB, by: end-mt, members: 9, at_a_time: 3}\n"

static void run_all(const char *yaml, const char *settings)
{
	runs_read(yaml, settings);
	runs_begin(NULL, NULL);
	runs_finish(PSEC_NEVER, BOUND);
}

static uint64_t figure(uint8_t metric)
{
	struct scenario_target t = {.metric = metric, .of = SCENARIO_NONE, .entry = SCENARIO_NONE};
	struct metric m = metric_of(&runs_run, &t, 1000000000);

	assert_true(m.is_known);
	return m.value;
}

/* Each receiver has a record of each flow: all of its bytes, and when they came. */
static void check_receipts(void)
{
	const struct workload *w = &runs_scenario.workload;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct workload_flow *flow = &w->flows[i];
		const struct traffic_flow *f = &runs_run.traffic.flows[i];
		const struct workload_group *g = workload_group_of(w, flow);
		psec last = 0;

		assert_int_equal(f->state, TRAFFIC_DONE);
		assert_int_equal(f->total_bytes, workload_bytes(w, flow));
		for (uint32_t k = 0; k < g->n; k++) {
			const struct traffic_receipt *r =
				&runs_run.traffic.receipts[f->receipts + k];

			assert_int_equal(r->delivered_bytes, flow->bytes);
			assert_in_range(r->delivered_ps, f->started_ps + 1, f->completed_ps - 1);
			last = r->delivered_ps > last ? r->delivered_ps : last;
		}
		assert_int_equal(f->delivered_ps, last);
	}
	assert_true(sim_is_conserved(&runs_run.sim));
}

static void every_receiver_gets_every_byte(void **state)
{
	static const struct {
		const char *yaml, *settings;
	} runs[] = {
		{LEAVES TO_ALL, ""},
		{LEAVES TO_ALL, "groups.receivers=tlv"},
		{LEAVES TO_ALL, "groups.naks=printed fabric.routing=structured"},
		{LEAVES TO_ALL, "workload.src=7 workload.receivers=5 workload.repeat=3"},
		{LEAVES TO_ALL, "workload.receivers=1"},
		{LEAVES GATHER, ""},
		{LEAVES GATHER, "groups.receivers=tlv workload.repeat=2"},
		{PODS TO_ALL, ""},
		{PODS GATHER, "seed=7"},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
		run_all(runs[i].yaml, runs[i].settings);
		check_receipts();
		assert_int_equal(run_retransmitted(&runs_run), 0);
		runs_end();
	}
}

/* Losses on every link, both ways; switches that forget; congestion. */
static void it_does_so_whatever_the_links_do(void **state)
{
	static const char *const faults[] = {
		"faults: {kind: drop, at: '*', chance: 0.2%}\n",
		"faults: {kind: burst, at: 'leaf*>h*', chance: 0.05%, count: 8}\n",
		"faults: {kind: reorder, at: '*', chance: 1%, delay: 3us}\n",
		"faults: {kind: duplicate, at: '*', chance: 1%}\n",
		"faults: {kind: corrupt, at: '*', chance: 0.2%, crc: all}\n",
		"faults: {kind: reboot, at: leaf2, from: 10us, until: 60us}\n",
		"faults: {kind: forge, at: 'h*>*', chance: 0.2%}\n",
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		char yaml[512];

		for (uint32_t way = 0; way < 4; way++) {
			snprintf(yaml, sizeof yaml, "%s%s%s", LEAVES, way % 2 ? GATHER : TO_ALL,
				 faults[i]);
			run_all(yaml, way / 2 ? "groups.receivers=tlv" : "");
			assert_int_equal(runs_run.traffic.n_done, runs_scenario.workload.n);
			assert_true(sim_is_conserved(&runs_run.sim));
			runs_end();
		}
	}
}

/* The source sends what one receiver takes, and hears of it as from one; receivers take as fast as
 * their links. */
static void the_source_works_as_for_one(void **state)
{
	uint64_t one;

	(void)state;
	run_all(LEAVES "workload: {kind: broadcast, bytes: 4MiB, receivers: 1}\n", "");
	one = figure(SCENARIO_PKTS_TO_SOURCES);
	runs_end();
	run_all(LEAVES "workload: {kind: broadcast, bytes: 4MiB, by: end-mt}\n", "");
	assert_in_range(figure(SCENARIO_PKTS_TO_SOURCES), one, one * 11 / 10);
	assert_in_range(figure(SCENARIO_SENT_OVER_TAKEN), 990000, 1010000);
	assert_in_range(figure(SCENARIO_SPREAD_LAST), 1010000, 1030000);
	assert_in_range(figure(SCENARIO_WRAPPED_LAST), 999000, 1005000);
	runs_end();
	run_all(LEAVES "workload: {kind: broadcast, bytes: 4MiB}\n", "");
	assert_in_range(figure(SCENARIO_SENT_OVER_TAKEN), 14900000, 15100000);
	assert_in_range(figure(SCENARIO_PKTS_TO_SOURCES), 15 * one, 15 * one);
	runs_end();
}

static uint64_t delivered_to(uint32_t host)
{
	const struct traffic *t = &runs_run.traffic;

	for (uint32_t i = 0; i < t->groups[0].n_receivers; i++)
		if (t->groups[0].receivers[i].host == host)
			return t->receipts[t->flows[0].receipts + i].delivered_bytes;
	return 0;
}

/* A receiver behind a dead link holds all others up, until the source gives up; or it is given up,
 * and nobody else with it. */
static void who_is_silent_may_be_ejected(void **state)
{
	static const char text[] = LEAVES
		"workload: {kind: broadcast, bytes: 3MB, message: 50KB, window: 3, by: end-mt}\n"
		"faults: {kind: black-hole, at: 'leaf2>h9', from: 12us}\n";

	(void)state;
	run_all(text, "");
	assert_int_equal(runs_run.traffic.flows[0].state, TRAFFIC_FAILED);
	runs_end();
	run_all(text, "groups.eject=true");
	assert_int_equal(runs_run.traffic.flows[0].state, TRAFFIC_DONE);
	for (uint32_t host = 1; host < 16; host++) {
		uint64_t bytes = runs_scenario.workload.flows[0].bytes;

		if (host == 9)
			assert_in_range(delivered_to(host), 0, bytes - 1);
		else
			assert_int_equal(delivered_to(host), bytes);
	}
	runs_end();
}

/* A member begins when the one so many before it is everywhere, not only when it is known. */
static void so_many_send_at_a_time(void **state)
{
	(void)state;
	run_all(LEAVES GATHER, "");
	for (uint32_t i = 3; i < 9; i++)
		assert_int_equal(runs_run.traffic.flows[i].started_ps,
				 runs_run.traffic.flows[i - 3].delivered_ps);
	runs_end();
}

/* Both ways of running a fabric are one run. */
static void node_by_node_is_event_by_event(void **state)
{
	uint64_t hash[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		runs_read(LEAVES "workload: {kind: broadcast, bytes: 2MiB, by: end-mt}\n",
			  i ? "groups.receivers=tlv" : "groups.receivers=table");
		for (uint32_t way = 0; way < 2; way++) {
			runs_begin(NULL, NULL);
			runs_run.sim.cfg.hooks.is_local = way;
			runs_run.sim.is_choice_due = true;
			runs_finish(PSEC_NEVER, BOUND);
			assert_int_equal(runs_run.sim.is_windowed, way);
			hash[way] = runs_run.sim.trace_hash;
			run_fini(&runs_run);
		}
		assert_int_equal(hash[0], hash[1]);
		scenario_fini(&runs_scenario);
	}
}

static void what_cannot_be_is_told(void **state)
{
	static const struct {
		const char *text, *want;
	} table[] = {
		{"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4}\n"
		 "transport: {kind: mrc}\n" TO_ALL,
		 "f.yaml:2: transport.kind: has no multicast groups"},
		{"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4}\n" TO_ALL,
		 "f.yaml:1: transport: has no multicast groups"},
		{LEAVES "fabric: {routing: usid}\n" TO_ALL,
		 "f.yaml:3: fabric.routing: uses segments of its own"},
		{LEAVES "workload: {kind: ring}\ngroups: {eject: true}\n",
		 "f.yaml:4: groups: there are no groups"},
		{LEAVES TO_ALL "groups: {receivers: few}\n",
		 "f.yaml:4: groups.receivers: \"few\" is unknown"},
		{LEAVES TO_ALL "groups: {silent_after: 0}\n", "f.yaml:4: groups.silent_after"},
		{LEAVES TO_ALL "groups: {cnp_window: 1ns}\n", "f.yaml:4: groups.cnp_window"},
		{LEAVES "workload: {kind: broadcast, by: end-mt, chunk: 1KiB}\n",
		 "f.yaml:3: workload.chunk: unknown key"},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++)
		runs_refused(i, table[i].text, table[i].want);
	/* 89 in one header; here 95, but the first four on the source's own edge too. */
	runs_read("topology: {kind: leaf-spine, hosts: 96, hosts_per_leaf: 32}\n"
		  "transport: {kind: rc}\n" TO_ALL,
		  "groups.receivers=tlv");
	assert_int_equal(
		run_init(&runs_run, &runs_scenario, NULL, NULL, runs_error, sizeof runs_error),
		-EMSGSIZE);
	assert_string_equal(runs_error, "multicast group 0: no header names so many receivers");
	scenario_fini(&runs_scenario);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_receiver_gets_every_byte),
	cmocka_unit_test(it_does_so_whatever_the_links_do),
	cmocka_unit_test(the_source_works_as_for_one),
	cmocka_unit_test(who_is_silent_may_be_ejected),
	cmocka_unit_test(so_many_send_at_a_time),
	cmocka_unit_test(node_by_node_is_event_by_event),
	cmocka_unit_test(what_cannot_be_is_told),
};
CHECK_MAIN(cases)
