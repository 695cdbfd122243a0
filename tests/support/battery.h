/* What every transport must stand in a scenario: runs whose counters the transport's own test
 * checks.
 *
 * A test program gives its counters as a function that checks them and copies them out, and the
 * lines of YAML that name its transport. */
#ifndef WEFT_TESTS_SUPPORT_BATTERY_H
#define WEFT_TESTS_SUPPORT_BATTERY_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "runs.h"

#define BATTERY_BOUND  (100 * PSEC_MS)
#define BATTERY_LEAVES "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, rate: 100Gbps}\n"

struct battery {
	const char *kind;
	void (*count)(void *counters); /* of all hosts; NULL: only check them */
	void (*unharmed)(void);        /* looks at hosts of a fabric where nothing is at fault */
	size_t bytes;                  /* of the counters, at most BATTERY_BYTES */
};
#define BATTERY_BYTES 1024u

static const char *const battery_topologies[] = {
	"topology: {kind: wire}\n",
	BATTERY_LEAVES,
	"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 2, planes: 2, nic_ports: 4}\n"
	"fabric: {routing: usid}\n",
	"topology: {kind: fat-tree, hosts: 16, hosts_per_leaf: 2, leaves_per_pod: 2}\n"
	"fabric: {routing: structured}\n",
	"topology: {kind: fat-tree, hosts: 8, hosts_per_leaf: 2, leaves_per_pod: 2}\n"
	"fabric: {routing: usid+srh}\n",
	"topology: {kind: graph, hosts: 4, switches: [s0, {name: t0, tier: 1}, s1], links: [\n"
	"  {between: [h0, s0]}, {between: [h1, s0]}, {between: [s0, t0]}, {between: [s1, t0]},\n"
	"  {between: [h2, s1]}, {between: [h3, s1], rate: 50Gbps}]}\n"
	"fabric: {pfc: on}\n",
};

static const char *const battery_workloads[] = {
	"workload: {kind: single, bytes: 300KB, message: 70001, window: 3}\n",
	"workload: {kind: permutation, bytes: 50KB, repeat: 2, gap: 1us}\n",
	"workload: {kind: incast, bytes: 40KB, fan_in: 1}\n",
	"workload: {kind: all-to-all, bytes: 20KB}\n",
	"workload: {kind: ring, bytes: 60KB}\n",
	"workload: {kind: tree, bytes: 60KB, chunk: 10KB}\n",
	"workload: {kind: random, load: 30%, duration: 5us, sizes: [[100, 30%], [50KB, 100%]]}\n",
};

static inline uint64_t battery_run(const struct battery *b, const char *yaml, const char *set)
{
	runs_read(yaml, set);
	runs_begin(NULL, NULL);
	runs_finish(20 * PSEC_US, BATTERY_BOUND);
	runs_all_done();
	b->unharmed();
	uint64_t hash = runs_run.sim.trace_hash;

	runs_end();
	return hash;
}

/* Every kind of fabric and of traffic, twice alike. sets: what even and odd workloads set. */
static inline void battery_fabrics(const struct battery *b, const char *const sets[2])
{
	const uint32_t n_topologies = sizeof battery_topologies / sizeof battery_topologies[0];
	const uint32_t n_workloads = sizeof battery_workloads / sizeof battery_workloads[0];
	char yaml[1024];

	for (uint32_t t = 0; t < n_topologies; t++)
		for (uint32_t w = 0; w < n_workloads; w++) {
			int n = snprintf(yaml, sizeof yaml,
					 "%s%stransport: {kind: %s, payload: %u}\n",
					 battery_topologies[t], battery_workloads[w], b->kind,
					 256u << (t + w) % 5);

			assert_true(n > 0 && (size_t)n < sizeof yaml);
			assert_int_equal(battery_run(b, yaml, sets[w % 2]),
					 battery_run(b, yaml, sets[w % 2]));
		}
}

/* Node by node is event by event: also with an engine that has timers of its own. */
static inline void battery_windows(const struct battery *b, const char *const *yaml, uint32_t n)
{
	bool was_windowed = false;

	assert_true(b->bytes <= BATTERY_BYTES);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t counters[2][BATTERY_BYTES];
		struct sim_totals totals[2];
		uint64_t hash[2];

		for (uint32_t is_local = 0; is_local < 2; is_local++) {
			runs_read(yaml[i], "end=2ms");
			runs_begin(NULL, NULL);
			runs_run.sim.cfg.hooks.is_local &= is_local;
			while (run_step(&runs_run, BATTERY_BOUND))
				was_windowed |= runs_run.sim.is_windowed;
			was_windowed |= runs_run.sim.is_windowed;
			runs_audit(&runs_run.sim);
			b->count(counters[is_local]);
			totals[is_local] = runs_run.sim.totals;
			hash[is_local] = runs_run.sim.trace_hash;
			runs_end();
		}
		assert_int_equal(hash[0], hash[1]);
		assert_memory_equal(counters[0], counters[1], b->bytes);
		assert_memory_equal(&totals[0], &totals[1], sizeof totals[0]);
	}
	assert_true(was_windowed);
}

/* A NIC that restarts has no queue pairs; those that nobody used yet are made anew. transport: with
 * timeouts of 10 us and two tries. */
static inline void battery_restarts(const struct battery *b, const char *transport)
{
	const struct traffic *t = &runs_run.traffic;
	char yaml[1024];
	int n = snprintf(yaml, sizeof yaml,
			 BATTERY_LEAVES
			 "%s"
			 "workload:\n"
			 "  - {kind: single, src: h0, dst: h5, bytes: 10MB}\n"
			 "  - {kind: single, src: h0, dst: h6, bytes: 10KB, start: 50us}\n"
			 "  - {kind: single, src: h1, dst: h0, bytes: 10KB, start: 60us}\n"
			 "  - {kind: single, src: h2, dst: h0, bytes: 10MB, start: 1us}\n"
			 "faults: {kind: restart, at: h0, from: 20us}\n",
			 transport);

	assert_true(n > 0 && (size_t)n < sizeof yaml);
	runs_read(yaml, "");
	runs_begin(NULL, NULL);
	runs_finish(10 * PSEC_US, BATTERY_BOUND);
	b->count(NULL);
	assert_int_equal(t->flows[0].state, TRAFFIC_FAILED);
	assert_int_equal(t->flows[1].state, TRAFFIC_DONE);
	assert_int_equal(t->flows[2].state, TRAFFIC_DONE);
	assert_int_equal(t->flows[3].state, TRAFFIC_FAILED);
	runs_end();
}

/* Whatever happens to packets, links and clocks, the counters balance and everything ends. sets:
 * what even and odd seeds set. */
static inline void battery_faults(const struct battery *b, const char *transport,
				  const char *const sets[2])
{
	uint64_t first = check_seed(1), failed = 0;
	char yaml[512], set[128];
	int n = snprintf(yaml, sizeof yaml,
			 BATTERY_LEAVES
			 "%s"
			 "workload: {kind: permutation, bytes: 60KB, message: 9000, window: 3}\n"
			 "faults: {kind: random, count: 8, until: 60us}\n",
			 transport);

	assert_true(n > 0 && (size_t)n < sizeof yaml);
	for (uint64_t seed = first; seed < first + 60; seed++) {
		snprintf(set, sizeof set, "seed=%" PRIu64 " %s", seed, sets[seed % 2]);
		runs_read(yaml, set);
		runs_begin(NULL, NULL);
		runs_finish(PSEC_NEVER, BATTERY_BOUND);
		b->count(NULL);
		failed += runs_run.traffic.n_failed;
		runs_end();
	}
	assert_true(failed > 0);
}

#endif
