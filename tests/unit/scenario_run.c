/* Whole scenarios from text to the last completion: packets are conserved at every step, flows end,
 * faults heal, and the engines are treated as their contract says. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "runs.h"
#include "watched.h"
#include "wire/net.h"

#define EXAMPLES GOLDEN_DIR "/../../examples/scenarios"
#define BOUND    (100 * PSEC_MS)

#define LEAVES    "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4}\n"
#define TREE      "topology: {kind: fat-tree, hosts: 16, hosts_per_leaf: 2, leaves_per_pod: 2}\n"
#define EVERYBODY "workload: {kind: permutation, bytes: 64KiB}\n"

static void every_builtin_scenario_ends(void **state)
{
	(void)state;
	for (uint32_t i = 0; scenario_builtin_at(i); i++) {
		const struct scenario_builtin *b = scenario_builtin_at(i);

		/* Studies take their time, and say themselves what shall become of them. */
		if (scenario_builtin_is_study(b))
			continue;
		runs_read(b->yaml, "");
		runs_begin(NULL, NULL);
		assert_false(traffic_is_over(&runs_run.traffic));
		runs_finish(10 * PSEC_US, BOUND);
		runs_all_done();
		if (!runs_scenario.transport.row)
			runs_counters();
		/* At the first full microsecond after the last completion, whatever the steps; and
		 * over stays over. */
		psec last = 0;

		for (uint32_t f = 0; f < runs_scenario.workload.n; f++)
			if (runs_run.traffic.flows[f].completed_ps > last)
				last = runs_run.traffic.flows[f].completed_ps;
		assert_int_equal(sim_now(&runs_run.sim), (last + PSEC_US - 1) / PSEC_US * PSEC_US);
		uint64_t hash = runs_run.sim.trace_hash;

		assert_false(run_step(&runs_run, BOUND));
		assert_int_equal(runs_run.sim.trace_hash, hash);
		assert_true(runs_run.sim.packets.stride <= 256);
		runs_end();
	}
}

/* The faults leave a slow port while a packet that was lost still occupies it, and an earlier one
 * may be on the link: what waits goes on, and at the same times in both ways of running. */
static void ports_go_on_after_a_lost_packet(void **state)
{
	static const char yaml[] =
		"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, delay: 200ns,\n"
		"  rate: 100Gbps, links: [{match: \"leaf0>h0\", rate: 10Gbps}]}\n"
		"transport: {payload: 4096, timeout: 60us}\n"
		"workload: {kind: incast, bytes: 20KB, fan_in: 3, dst: h0}\n"
		"faults: {kind: drop, at: \"leaf0>h0\", chance: 50%, from: 1us}\n";
	char until[64];

	(void)state;
	for (uint32_t ns = 3000; ns < 9000; ns += 100) {
		uint64_t hashes[2];

		snprintf(until, sizeof until, "faults.until=%uns", ns);
		for (uint32_t is_local = 0; is_local < 2; is_local++) {
			runs_read(yaml, until);
			runs_begin(NULL, NULL);
			runs_run.sim.cfg.hooks.is_local = is_local;
			runs_finish(PSEC_NEVER, BOUND);
			runs_all_done();
			assert_int_equal(runs_run.sim.is_windowed, is_local);
			hashes[is_local] = runs_run.sim.trace_hash;
			runs_end();
		}
		assert_int_equal(hashes[0], hashes[1]);
	}
}

static bool is_never_over(void *context)
{
	(void)context;
	return false;
}

/* Nothing is left and nobody asked for a stop: the end, at the last event. */
static void a_run_may_be_drained(void **state)
{
	psec ended[2];

	(void)state;
	for (uint32_t is_local = 0; is_local < 2; is_local++) {
		struct sim *s = &runs_run.sim;

		runs_read(LEAVES EVERYBODY, "");
		runs_begin(NULL, NULL);
		s->cfg.hooks.is_local = is_local;
		s->cfg.hooks.is_over = is_never_over;
		assert_false(sim_run(s, PSEC_NEVER));
		assert_int_equal(s->is_windowed, is_local);
		assert_int_equal(sim_in_flight(s), 0);
		assert_false(s->is_stopped);
		ended[is_local] = sim_now(s);
		runs_end();
	}
	assert_int_equal(ended[0], ended[1]);
}

/* Events, one at a time or all at once, of a run with such an end; in *shared a later moment at
 * which several happen. */
static uint64_t events_until(const char *end, uint64_t pause, psec *shared)
{
	const struct sim *s = &runs_run.sim;
	psec before = 0;
	bool goes_on = true;

	runs_read(LEAVES EVERYBODY, end);
	runs_begin(NULL, NULL);
	runs_run.sim.cfg.hooks.is_local = false;
	while (goes_on && !(shared && before > PSEC_US && sim_now(s) == before)) {
		before = sim_now(s);
		runs_run.sim.pause_at = s->agenda.n_fired + pause;
		goes_on = run_step(&runs_run, PSEC_NEVER);
	}
	if (shared)
		*shared = before;
	uint64_t n = s->agenda.n_fired;

	runs_end();
	return n;
}

/* Also if somebody looks between two of them. */
static void all_that_happens_at_the_end_does(void **state)
{
	char end[64];
	psec shared;

	(void)state;
	events_until("", 1, &shared);
	snprintf(end, sizeof end, "end=%" PRIu64 "ps", shared);
	assert_int_equal(events_until(end, 1, NULL), events_until(end, UINT32_MAX, NULL));
}

/* Native packets of the reference transport are small. */
static void packets_take_little_memory(void **state)
{
	(void)state;
	runs_read(LEAVES EVERYBODY, "");
	runs_begin(NULL, NULL);
	assert_true(runs_run.sim.packets.stride <= 192);
	runs_end();
}

/* What the user leaves open follows from the fabric. */
static void window_and_timeout_have_defaults(void **state)
{
	(void)state;
	runs_read(LEAVES EVERYBODY, "");
	runs_begin(NULL, NULL);
	const struct hosts_cfg *t = &runs_run.hosts.cfg;
	uint64_t bdp = runs_scenario.plane_bdp_bytes;

	assert_in_range((uint64_t)t->window_pkts * (4096 + 24), bdp * 3 / 2, bdp * 3 / 2 + 4119);
	assert_int_equal(t->timeout_ns, (16 * runs_scenario.base_rtt_ps + 999) / 1000);
	runs_end();
	runs_read(LEAVES EVERYBODY, "transport.window=7 transport.timeout=3us");
	runs_begin(NULL, NULL);
	assert_int_equal(t->window_pkts, 7);
	assert_int_equal(t->timeout_ns, 3000);
	runs_end();
	runs_read(LEAVES EVERYBODY, "topology.delay=1ms topology.planes=8");
	runs_begin(NULL, NULL);
	assert_int_equal(t->window_pkts, REF_WINDOW_MAX);
	runs_end();
}

/* What a file says of the fabric reaches it, and each host draws for itself. */
static void settings_reach_the_fabric(void **state)
{
	uint64_t seeds[2];

	(void)state;
	runs_read(LEAVES EVERYBODY,
		  "fabric.overhead=0 fabric.buffer.kind=port fabric.buffer.size=1MB");
	runs_begin(NULL, NULL);
	assert_int_equal(runs_run.sim.cfg.overhead_bytes, 0);
	assert_false(runs_run.sim.cfg.is_buffer_shared);
	assert_int_equal(runs_run.sim.ports[20].buffer->total_bytes, 1000000);
	for (uint32_t h = 0; h < 2; h++) {
		const struct ref_cfg *cfg = runs_run.hosts.sim.host_cfg(&runs_run.hosts, h, 1);

		seeds[h] = cfg->seed;
	}
	assert_true(seeds[0] != seeds[1]);
	runs_end();
	runs_read(LEAVES EVERYBODY, "fabric.buffer.size=3MB");
	runs_begin(NULL, NULL);
	assert_int_equal(runs_run.sim.cfg.overhead_bytes, 24);
	assert_true(runs_run.sim.cfg.is_buffer_shared);
	assert_int_equal(runs_run.sim.ports[20].buffer->total_bytes, 3000000);
	runs_end();
}

static void nothing_is_lost_without_reason(void **state)
{
	static const char *const tables[] = {
		LEAVES "workload: {kind: single, bytes: 1MiB, repeat: 2}\n",
		TREE "workload: {kind: single, bytes: 1MiB}\n",
		LEAVES "workload: {kind: ring, bytes: 1MiB}\n",
		LEAVES "workload: {kind: single, bytes: 3MiB, message: 10KB, window: 9}\n",
	};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		runs_read(tables[i], "");
		runs_begin(NULL, NULL);
		runs_finish(PSEC_US, BOUND);
		runs_all_done();
		assert_int_equal(runs_drops(), 0);
		assert_int_equal(run_retransmitted(&runs_run), 0);
		for (uint32_t f = 0; f < runs_scenario.workload.n; f++) {
			struct run_flow flow = run_flow(&runs_run, f);

			assert_true(flow.fct_ps >= flow.ideal_ps - flow.ideal_ps / 1000);
		}
		runs_end();
	}
}

/* What a tap saw at the ports of hosts. */
struct frames {
	uint64_t out, in, outer_out, outer_in, srh_out, srh_in;
	psec last_at;
};

static void on_frame(void *context, uint32_t port, bool is_out, psec at, struct cspan frame)
{
	struct net_cfg net_cfg = net_cfg_default();
	struct frames *f = context;
	struct net_pkt net;

	(void)port;
	assert_true(at >= f->last_at);
	f->last_at = at;
	assert_int_equal(net_get(frame, NET_LINK_ETHERNET, &net_cfg, &net, NULL).why,
			 WIRE_DROP_NONE);
	*(is_out ? &f->out : &f->in) += 1;
	*(is_out ? &f->outer_out : &f->outer_in) += net.n_ip > 1;
	*(is_out ? &f->srh_out : &f->srh_in) += net.has_srh;
}

/* Runs with taps at all hosts; all flows end without a drop. */
static struct frames run_tapped(const char *yaml, const char *settings)
{
	struct frames frames = {0};
	struct run_tap tap = {.context = &frames, .frame = on_frame};
	static uint8_t tapped[4096];

	runs_read(yaml, settings);
	for (uint32_t i = 0; i < runs_scenario.topology.n_ports; i++)
		tapped[i] = runs_scenario.topology.ports[i].node < runs_scenario.topology.n_hosts;
	runs_begin(&tap, tapped);
	runs_finish(PSEC_US, BOUND);
	runs_all_done();
	assert_int_equal(runs_drops(), 0);
	assert_true(frames.out >= runs_run.sim.totals.injected - 20);
	assert_int_equal(frames.in, runs_run.sim.totals.delivered);
	runs_end();
	return frames;
}

/* Source routing across tiers and planes: who takes which header off, and when. */
static void source_routes_lead_everywhere(void **state)
{
	static const char *const fabrics[] = {
		LEAVES,
		"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 2, planes: 4}\n",
		"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, uplinks: 2}\n",
		TREE,
	};

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t k = 0; k < 16; k++) {
			bool srh = k & 1, leaf = k & 2, psp = k & 4, adjacency = k & 8;
			char yaml[512];

			if (psp && !srh)
				continue;
			snprintf(yaml, sizeof yaml,
				 "%sfabric: {routing: %s, decapsulate: %s, adjacency: "
				 "%s%s}\n" EVERYBODY,
				 fabrics[i], srh ? "usid+srh" : "usid", leaf ? "leaf" : "host",
				 adjacency ? "true" : "false", psp ? ", psp: true" : "");
			struct frames f = run_tapped(yaml, "");

			assert_true(f.outer_out > 0);
			assert_int_equal(f.outer_in == 0, leaf);
			assert_int_equal(f.srh_out > 0, srh);
			if (leaf || psp)
				assert_int_equal(f.srh_in, 0);
		}
}

static void entropy_leads_everywhere(void **state)
{
	struct frames f;

	(void)state;
	f = run_tapped(LEAVES "fabric: {routing: structured}\n" EVERYBODY, "");
	assert_int_equal(f.outer_out, 0);
	f = run_tapped(TREE "fabric: {routing: structured, ev_widths: [4, 4]}\n" EVERYBODY, "");
	assert_int_equal(f.outer_in, 0);
	run_tapped(LEAVES EVERYBODY, "topology.planes=2 topology.nic_ports=4");
}

/* One flow uses every way there is, in equal parts where the sender says which: 256 packets over
 * four spines, 64 entropy values. */
static void one_flow_uses_every_path(void **state)
{
	static const char *const modes[] = {"ecmp", "structured", "usid", "usid+srh"};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		const struct topology *t = &runs_scenario.topology;
		char set[64];

		snprintf(set, sizeof set, "fabric.routing=%s", modes[i]);
		runs_read(LEAVES "workload: {kind: single, bytes: 1MiB}\n", set);
		runs_begin(NULL, NULL);
		runs_finish(PSEC_US, BOUND);
		uint32_t leaf = t->ports[t->ports[t->nodes[0].first_port].peer].node;

		for (uint32_t k = 0; k < t->nodes[leaf].n_ports; k++) {
			uint32_t port = t->nodes[leaf].first_port + k;
			uint64_t sent = runs_run.sim.ports[port].counts.sent_pkts;

			if (t->ports[port].is_up)
				assert_in_range(sent, i >= 2 ? 48 : 16, i >= 2 ? 80 : 160);
		}
		runs_end();
	}
}

/* Each trimmed packet is asked for again, and nobody waits for a timeout. */
static void trimming_replaces_timeouts(void **state)
{
	static const char *const modes[] = {"ecmp", "structured", "usid", "usid+srh"};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		char set[64];

		snprintf(set, sizeof set, "fabric.routing=%s", modes[i]);
		runs_read("topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 8}\n"
			  "fabric: {trimming: true}\n"
			  "transport: {timeout: 5ms}\n"
			  "workload: {kind: incast, fan_in: 12, bytes: 512KiB}\n",
			  set);
		runs_begin(NULL, NULL);
		runs_finish(10 * PSEC_US, BOUND);
		runs_all_done();
		struct ref_counters c = runs_counters();

		assert_true(runs_run.sim.totals.trimmed > 100);
		assert_int_equal(runs_drops(), 0);
		assert_int_equal(c.timeouts, 0);
		assert_int_equal(c.tx_retx_timeout, 0);
		assert_int_equal(c.rx_trimmed, runs_run.sim.totals.trimmed);
		assert_int_equal(c.tx_nack, c.rx_trimmed);
		assert_int_equal(c.tx_retx_nack, c.rx_nack);
		assert_int_equal(run_retransmitted(&runs_run), c.tx_retx_nack);
		assert_true(runs_run.sim.totals.marked > 0 && c.rx_ecn > 0);
		runs_end();
	}
}

/* The last switch says so; one before it does not. */
static void without_trimming_packets_are_dropped(void **state)
{
	(void)state;
	runs_read("topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 8}\n"
		  "fabric: {trimming: false, threshold: {data: 1bdp}}\n"
		  "workload: {kind: incast, fan_in: 12, bytes: 512KiB}\n",
		  "");
	runs_begin(NULL, NULL);
	runs_finish(10 * PSEC_US, BOUND);
	runs_all_done();
	assert_int_equal(runs_run.sim.totals.trimmed, 0);
	assert_true(runs_run.sim.totals.drops[SIM_DROP_THRESHOLD] > 100);
	assert_int_equal(runs_drops(), runs_run.sim.totals.drops[SIM_DROP_THRESHOLD]);
	assert_true(runs_counters().tx_retx_timeout > 0);
	runs_end();
}

/* Neither drops nor trims, however small the thresholds, and hosts and spines pause as well. */
static void flow_control_loses_nothing(void **state)
{
	static const char *const sets[] = {
		"",
		"topology.spines=1",
		"fabric.pfc.xoff=20KB fabric.pfc.xon=1KB",
		"topology.kind=fat-tree topology.hosts_per_leaf=2",
	};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		runs_read("topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 8}\n"
			  "fabric: {pfc: {xoff: 100KB, xon: 80KB}}\n"
			  "transport: {timeout: 5ms}\n"
			  "workload:\n"
			  "  - {kind: incast, fan_in: 12, victim: true, bytes: 512KiB}\n"
			  "  - {kind: permutation, bytes: 256KiB}\n",
			  sets[i]);
		runs_begin(NULL, NULL);
		runs_finish(10 * PSEC_US, BOUND);
		runs_all_done();
		assert_true(runs_run.sim.totals.pauses > 10);
		assert_int_equal(runs_run.sim.totals.trimmed, 0);
		assert_int_equal(runs_drops(), 0);
		assert_int_equal(run_retransmitted(&runs_run), 0);
		/* Incast: the last link is never idle for long. */
		assert_true(sim_now(&runs_run.sim) < 250 * PSEC_US);
		runs_end();
	}
}

/* A seed's faults heal; then every flow is done, or failed for a reason it can name. */
static void run_random(uint64_t seed, const char *yaml, bool is_watched)
{
	char set[64];

	snprintf(set, sizeof set, "seed=%llu", (unsigned long long)seed);
	runs_read(yaml, set);
	runs_begin(NULL, NULL);
	if (is_watched) {
		watched_clear(false);
		for (uint32_t i = 0; i < runs_run.n_faults; i++)
			watched_may_jump |= runs_run.faults[i].kind == FAULT_JUMP;
		runs_run.hosts.sim.ops = &watched_ops;
		for (uint32_t h = 0; h < runs_run.sim.n_hosts; h++)
			runs_run.sim.hosts[h].engine->ops = &watched_ops;
	}
	runs_finish(20 * PSEC_US, 2 * PSEC_S);
	for (uint32_t i = 0; i < runs_scenario.workload.n; i++) {
		const struct traffic_flow *f = &runs_run.traffic.flows[i];

		assert_true(f->state == TRAFFIC_DONE || f->state == TRAFFIC_FAILED);
		assert_int_equal(f->state == TRAFFIC_DONE, f->status == 0);
		assert_true(f->status == 0 || f->status == -ETIMEDOUT || f->status == -ECONNRESET ||
			    f->status == -EINVAL);
	}
	runs_counters();
	runs_end();
}

static const char all_faults[] =
	LEAVES "workload: {kind: permutation, bytes: 256KiB, message: 50KB, window: 2}\n"
	       "faults: {kind: random, count: 6, until: 200us}\n";

static void random_faults_leave_nothing_behind(void **state)
{
	uint64_t first = check_seed(1);

	(void)state;
	for (uint64_t seed = first; seed < first + 100; seed++)
		run_random(seed, all_faults, false);
}

static void random_faults_under_source_routing(void **state)
{
	static const char yaml[] =
		"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, spines: 2, planes: 2}\n"
		"fabric: {routing: usid+srh, pfc: {xoff: 50KB, xon: 40KB}}\n"
		"workload: {kind: all-to-all, bytes: 64KiB}\n"
		"faults: {kind: random, count: 8, until: 100us}\n";
	uint64_t first = check_seed(1);

	(void)state;
	for (uint64_t seed = first; seed < first + 30; seed++)
		run_random(seed, yaml, false);
}

/* Faults that only lose, delay or repeat packets cost time and nothing else. */
static void lossy_links_deliver_everything(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 20; seed++) {
		char set[64];

		snprintf(set, sizeof set, "seed=%u", seed);
		runs_read(LEAVES EVERYBODY
			  "transport: {retries: 15}\n"
			  "faults:\n"
			  "  - {kind: random, count: 8, until: 100us,\n"
			  "     kinds: [drop, burst, duplicate, reorder, delay, truncate, gray, "
			  "flap,\n"
			  "             down, plane, pause, black-hole, reboot, skew, jump]}\n",
			  set);
		runs_begin(NULL, NULL);
		runs_finish(20 * PSEC_US, 10 * PSEC_S);
		runs_all_done();
		runs_end();
	}
}

static void engines_are_driven_by_the_laws(void **state)
{
	uint64_t first = check_seed(1000);

	(void)state;
	for (uint64_t seed = first; seed < first + 20; seed++)
		run_random(seed, all_faults, true);
	/* Clocks that run fast and slow, and none that jumps: deadlines are met to the nanosecond.
	 */
	for (uint64_t seed = first; seed < first + 5; seed++)
		run_random(seed,
			   LEAVES EVERYBODY
			   "faults:\n"
			   "  - {kind: random, count: 12, kinds: [skew, drop], until: 500us}\n"
			   "  - {kind: skew, at: h1, skew: -1000ppm}\n"
			   "  - {kind: skew, at: h2, skew: +1000ppm}\n"
			   "  - {kind: skew, at: h3, skew: -7ppm}\n",
			   true);
}

/* More faults than a clock can be wrong by. */
static void skews_add_up_to_a_limit(void **state)
{
#define FOUR(line) line line line line
	static const char yaml[] = LEAVES EVERYBODY
		"faults:\n" FOUR("  - {kind: skew, at: h1, skew: -1000ppm, until: 20us}\n")
			FOUR("  - {kind: skew, at: h1, skew: -1000ppm, until: 20us}\n")
				FOUR("  - {kind: skew, at: h1, skew: -1000ppm, until: 20us}\n")
					FOUR("  - {kind: skew, at: h2, skew: 1000ppm}\n") FOUR(
						"  - {kind: skew, at: h2, skew: 1000ppm}\n")
						FOUR("  - {kind: skew, at: h2, skew: 1000ppm}\n");
#undef FOUR

	(void)state;
	runs_read(yaml, "");
	runs_begin(NULL, NULL);
	run_step(&runs_run, PSEC_US);
	assert_int_equal(runs_run.sim.hosts[1].skew_ppm, -SIM_SKEW_MAX);
	assert_int_equal(runs_run.sim.hosts[2].skew_ppm, SIM_SKEW_MAX);
	runs_finish(PSEC_US, BOUND);
	runs_all_done();
	assert_true(sim_now(&runs_run.sim) < 20 * PSEC_US || runs_run.sim.hosts[1].skew_ppm == 0);
	runs_end();
}

static void the_end_is_kept(void **state)
{
	(void)state;
	runs_read(LEAVES EVERYBODY, "end=5us");
	runs_begin(NULL, NULL);
	assert_true(run_step(&runs_run, 2 * PSEC_US));
	assert_int_equal(sim_now(&runs_run.sim), 2 * PSEC_US);
	assert_false(run_step(&runs_run, PSEC_NEVER));
	assert_int_equal(sim_now(&runs_run.sim), 5 * PSEC_US);
	assert_false(traffic_is_over(&runs_run.traffic));
	assert_int_equal(runs_run.traffic.n_done, 0);
	assert_int_equal(run_flow(&runs_run, 0).fct_ps, 0);
	runs_audit(&runs_run.sim);
	runs_end();
}

/* The mean over repetitions, of those that completed. */
static void completion_times_are_means(void **state)
{
	(void)state;
	runs_read("topology: {kind: wire}\n"
		  "workload: {kind: single, bytes: 8192, repeat: 4, gap: 30us}\n",
		  "");
	runs_begin(NULL, NULL);
	assert_true(run_step(&runs_run, 50 * PSEC_US));
	psec each = run_flow(&runs_run, 0).fct_ps;

	assert_int_equal(runs_run.traffic.flows[0].repeats_left, 2);
	/* Immediate data: four bytes at 20 ps. */
	assert_int_equal(each, run_flow(&runs_run, 0).ideal_ps + 80);
	runs_finish(PSEC_NEVER, BOUND);
	assert_int_equal(run_flow(&runs_run, 0).fct_ps, each);
	runs_end();
}

static char *read_example(const char *near, const char *name, size_t *len, char *sentence,
			  size_t sentence_len)
{
	char path[512];
	char *text = calloc(1, 65536);

	(void)near;
	(void)sentence;
	(void)sentence_len;
	snprintf(path, sizeof path, EXAMPLES "/%s", name);
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	*len = fread(text, 1, 65535, f);
	fclose(f);
	return text;
}

static void files_of_others_run(void **state)
{
	static const char yaml[] = "topology: {kind: file, file: small.topo}\n"
				   "workload: {kind: matrix, file: small.cm}\n";
	struct scenario_source source = {
		.file = "x", .text = yaml, .len = sizeof yaml - 1, .read_file = read_example};

	(void)state;
	if (scenario_read(&runs_scenario, &source, runs_error, sizeof runs_error))
		fail_msg("%s", runs_error);
	runs_begin(NULL, NULL);
	runs_finish(PSEC_US, BOUND);
	runs_all_done();
	const struct traffic_flow *f = runs_run.traffic.flows;

	assert_int_equal(runs_run.traffic.n_done, 4);
	assert_int_equal(f[2].started_ps, 5000000);
	assert_int_equal(f[3].started_ps, f[0].delivered_ps > f[1].delivered_ps
						  ? f[0].delivered_ps
						  : f[1].delivered_ps);
	runs_end();
}

static void expect_refused(void)
{
	assert_int_equal(
		run_init(&runs_run, &runs_scenario, NULL, NULL, runs_error, sizeof runs_error),
		-EINVAL);
	assert_true(strlen(runs_error) > 0);
	/* Nothing is left, and nothing breaks. */
	run_fini(&runs_run);
	scenario_fini(&runs_scenario);
}

static void refused_runs_leave_nothing(void **state)
{
	(void)state;
	runs_read(LEAVES EVERYBODY, "");
	runs_scenario.transport.payload_bytes = 3;
	expect_refused();
	runs_read(LEAVES EVERYBODY, "");
	runs_scenario.transport.entropies = 0;
	expect_refused();
	runs_read(LEAVES EVERYBODY, "");
	runs_scenario.qos.classes[0].threshold_bytes = 0;
	runs_scenario.qos.n_classes = 0;
	expect_refused();
	runs_read(LEAVES EVERYBODY "faults: {kind: random, count: 3, until: 1ms}\n", "");
	runs_scenario.routing.mode = ROUTING_STRUCTURED;
	runs_scenario.routing.ev_layout = (struct fwd_ev_layout){1, {1}};
	expect_refused();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_builtin_scenario_ends),
	cmocka_unit_test(ports_go_on_after_a_lost_packet),
	cmocka_unit_test(a_run_may_be_drained),
	cmocka_unit_test(all_that_happens_at_the_end_does),
	cmocka_unit_test(packets_take_little_memory),
	cmocka_unit_test(window_and_timeout_have_defaults),
	cmocka_unit_test(settings_reach_the_fabric),
	cmocka_unit_test(nothing_is_lost_without_reason),
	cmocka_unit_test(source_routes_lead_everywhere),
	cmocka_unit_test(entropy_leads_everywhere),
	cmocka_unit_test(one_flow_uses_every_path),
	cmocka_unit_test(trimming_replaces_timeouts),
	cmocka_unit_test(without_trimming_packets_are_dropped),
	cmocka_unit_test(flow_control_loses_nothing),
	cmocka_unit_test(random_faults_leave_nothing_behind),
	cmocka_unit_test(random_faults_under_source_routing),
	cmocka_unit_test(lossy_links_deliver_everything),
	cmocka_unit_test(engines_are_driven_by_the_laws),
	cmocka_unit_test(skews_add_up_to_a_limit),
	cmocka_unit_test(the_end_is_kept),
	cmocka_unit_test(completion_times_are_means),
	cmocka_unit_test(files_of_others_run),
	cmocka_unit_test(refused_runs_leave_nothing),
};

CHECK_MAIN(cases)
