/* The same run everywhere: scenarios that together use every part of the simulator, each with the
 * hash of its trace as all compilers, optimizations, sanitizers and architectures must compute it.
 *
 * A constant below may be changed together with a deliberate change of behaviour (another draw,
 * other headers, another order of two events at one moment), by the commit that makes it and says
 * so. It is never changed to silence a difference between two builds, two machines or two runs:
 * that difference is the bug. A mismatch prints the line to paste. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "runs.h"

#define BOUND PSEC_S

#define LEAVES "topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4}\n"
#define PERM   "workload: {kind: permutation, bytes: 200KB}\n"

struct golden {
	const char *name, *yaml;
	uint64_t hash;
};

static const struct golden table[] = {
	{"ecmp", LEAVES PERM, UINT64_C(0x618460a65fbeb7b2)},
	{"structured",
	 "topology: {kind: fat-tree, hosts: 32, hosts_per_leaf: 4, leaves_per_pod: 2}\n"
	 "fabric: {routing: structured}\n"
	 "workload: {kind: permutation, bytes: 100KB, stagger: 333ns}\n",
	 UINT64_C(0xc4ae21036a2d9b19)},
	{"usid",
	 LEAVES "fabric: {routing: usid, decapsulate: leaf}\n"
		"workload: {kind: all-to-all, bytes: 20KB}\n",
	 UINT64_C(0x4e98788368ee846a)},
	{"usid+srh",
	 "topology: {kind: fat-tree, hosts: 16, hosts_per_leaf: 2, leaves_per_pod: 2}\n"
	 "fabric: {routing: usid+srh, psp: true, adjacency: true, container: F1616}\n" PERM,
	 UINT64_C(0xdba39cc0d25ebb63)},
	{"trimming",
	 LEAVES "fabric: {trimming: true, classes: 2, alpha: 2}\n"
		"workload: {kind: incast, fan_in: 12, victim: true, bytes: 200KB}\n",
	 UINT64_C(0xdb90f893a0c1ccc8)},
	{"pfc",
	 LEAVES
	 "fabric: {pfc: {xoff: 50KB, xon: 30KB}, scheduling: wrr, ecn: {min: 10KB, max: 90KB}}\n"
	 "workload: {kind: incast, fan_in: 12, bytes: 200KB}\n",
	 UINT64_C(0xef8d57f9cb0e06a9)},
	{"weights",
	 LEAVES "fabric: {scheduling: wrr, weights: {low: 3, med: 1}, threshold: {data: 30KiB}}\n"
		"workload: {kind: all-to-all, bytes: 64KiB}\n",
	 UINT64_C(0xfe1f8653027b9c48)},
	{"faults",
	 LEAVES "workload: {kind: permutation, bytes: 500KB, message: 30KB, window: 3, repeat: 2}\n"
		"faults: {kind: random, count: 12, until: 300us}\n",
	 UINT64_C(0xd7c575bfcd06a8de)},
	{"collectives",
	 LEAVES "workload:\n"
		"  - {kind: ring, bytes: 1MB, members: 8, repeat: 2}\n"
		"  - {kind: tree, bytes: 500KB, chunk: 70KB, start: 10us}\n"
		"faults:\n"
		"  - {kind: skew, at: h3, skew: -900ppm}\n"
		"  - {kind: gray, at: leaf1-spine2, chance: 1%}\n",
	 UINT64_C(0x6ea3d0922e427041)},
	{"random",
	 "seed: 99\n" LEAVES "fabric: {buffer: {kind: port, size: 200KB}, trimming: false}\n"
	 "workload: {kind: random, load: 70%, duration: 100us, sizes: [[1KB, 30%], [500KB, "
	 "100%]]}\n",
	 UINT64_C(0x870d54163957861e)},
	{"planes",
	 "topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4, spines: 4, planes: 8,\n"
	 "           rate: 70Gbps, switch_delay: 311ns, links: [{match: \"h0>*\", rate: 30Gbps}]}\n"
	 "fabric: {routing: usid}\n"
	 "transport: {entropies: 128, payload: 2048}\n"
	 "workload: {kind: permutation, bytes: 1MB}\n"
	 "faults: {kind: plane, plane: 3, from: 10us, until: 40us}\n",
	 UINT64_C(0x03745b423f6cf72e)},
	{"rc",
	 "topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4, planes: 2}\n"
	 "transport: {kind: rc, payload: 2048, timeout: 30us}\n"
	 "workload: {kind: all-to-all, bytes: 50KB, message: 20KB, window: 2}\n"
	 "faults: {kind: random, count: 12, until: 100us}\n",
	 UINT64_C(0x7b86ae24d8ef67ad)},
	{"rc with dcqcn",
	 LEAVES "transport: {kind: rc, cc: dcqcn}\n"
		"workload: {kind: incast, fan_in: 12, victim: true, bytes: 500KB}\n",
	 UINT64_C(0x515005bb570e50c0)},
	{"mrc",
	 "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 2, planes: 2}\n"
	 "transport: {kind: mrc, cc: fixed, payload: 2048, timeout: 10us}\n"
	 "workload: {kind: all-to-all, bytes: 10KB, message: 5KB, window: 2}\n"
	 "faults: {kind: random, count: 8, until: 30us}\n",
	 UINT64_C(0xdc8cc705489d9c7d)},
	{"mrc over usid, trimmed",
	 LEAVES "fabric: {routing: usid, udp_port: 4971, threshold: {data: 20KB}}\n"
		"transport: {kind: mrc, cc: fixed, entropies: 16, count_trims: true}\n"
		"workload: {kind: incast, fan_in: 6, bytes: 60KB}\n",
	 UINT64_C(0xa4cfb5ff83987e44)},
	{"mrc with NSCC, gray and without a plane",
	 "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 2, planes: 4}\n"
	 "transport: {kind: mrc}\n"
	 "workload: {kind: permutation, bytes: 1MB}\n"
	 "faults: [{kind: plane, plane: 1, from: 5us, until: 20us}, {kind: gray, at: 'p0.leaf0-*', "
	 "chance: 5%}]\n",
	 UINT64_C(0x00abde3f28557313)},
	{"mrc with NSCC, past a slow link",
	 "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, rate: 100Gbps,\n"
	 "           links: [{match: leaf0-spine1, rate: 25Gbps}]}\n"
	 "transport: {kind: mrc}\n"
	 "workload: {kind: permutation, bytes: 500KB, dsts: [4, 5, 6, 7, 0, 1, 2, 3]}\n",
	 UINT64_C(0xe6e46d2cb209cfe3)},
};
#define N_TABLE (sizeof table / sizeof table[0])

static uint64_t hash_of(const char *yaml, const char *settings, psec slice)
{
	runs_read(yaml, settings);
	runs_begin(NULL, NULL);
	runs_finish(slice, BOUND);
	uint64_t hash = runs_run.sim.trace_hash;

	runs_end();
	return hash;
}

static void every_build_runs_the_same(void **state)
{
	uint32_t wrong = 0;

	(void)state;
	for (uint32_t i = 0; i < N_TABLE; i++) {
		uint64_t hash = hash_of(table[i].yaml, "", PSEC_NEVER);

		if (hash == table[i].hash)
			continue;
		wrong++;
		print_error("%s: UINT64_C(0x%016" PRIx64 ")\n", table[i].name, hash);
	}
	assert_int_equal(wrong, 0);
}

/* Where and how a run ended. */
struct ended {
	uint64_t hash, events;
	psec at;
};

/* In steps of a length, each of them in pauses of so many events. */
static struct ended run_in(const char *yaml, psec slice, uint64_t events)
{
	const struct sim *s = &runs_run.sim;

	runs_read(yaml, "");
	runs_begin(NULL, NULL);
	do {
		runs_run.sim.pause_at = s->agenda.n_fired + events;
		assert_true(sim_now(s) < BOUND);
	} while (run_step(&runs_run, slice == PSEC_NEVER ? slice : sim_now(s) + slice));
	assert_true(traffic_is_over(&runs_run.traffic));
	struct ended end = {s->trace_hash, s->agenda.n_fired, sim_now(s)};

	runs_end();
	return end;
}

/* Twice in one process, and in steps of any length. */
static void steps_change_nothing(void **state)
{
	static const psec slices[] = {PSEC_NEVER, 77777, PSEC_US, 50 * PSEC_US + 1};
	static const uint64_t pauses[] = {UINT32_MAX, 13, 1000};

	(void)state;
	for (uint32_t i = 0; i < N_TABLE; i++) {
		struct ended end = run_in(table[i].yaml, PSEC_NEVER, UINT32_MAX);

		for (uint32_t k = 0; k < 12; k++) {
			struct ended same = run_in(table[i].yaml, slices[k % 4], pauses[k / 4]);

			assert_int_equal(same.hash, end.hash);
			assert_int_equal(same.events, end.events);
			assert_int_equal(same.at, end.at);
		}
	}
}

static void count_frame(void *context, uint32_t port, bool is_out, psec at, struct cspan frame)
{
	uint64_t *n = context;

	(void)port;
	(void)is_out;
	(void)at;
	*n += frame.len > 0;
}

static void watching_changes_nothing(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N_TABLE; i++)
		for (uint32_t every = 1; every <= 3; every += 2) {
			uint64_t n = 0, hash = hash_of(table[i].yaml, "", PSEC_NEVER);
			struct run_tap tap = {.context = &n, .frame = count_frame};

			runs_read(table[i].yaml, "");
			uint8_t *tapped = calloc(runs_scenario.topology.n_ports, 1);

			for (uint32_t p = 0; p < runs_scenario.topology.n_ports; p += every)
				tapped[p] = 1;
			runs_begin(&tap, tapped);
			runs_finish(PSEC_NEVER, BOUND);
			assert_int_equal(runs_run.sim.trace_hash, hash);
			assert_true(n > 1000);
			free(tapped);
			runs_end();
		}
}

static void seeds_change_everything(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N_TABLE; i++) {
		uint64_t hashes[4];

		for (uint32_t k = 0; k < 4; k++) {
			char set[32];

			snprintf(set, sizeof set, "seed=%u", 1000 + k);
			hashes[k] = hash_of(table[i].yaml, set, PSEC_NEVER);
			for (uint32_t m = 0; m < k; m++)
				assert_true(hashes[k] != hashes[m]);
		}
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_build_runs_the_same),
	cmocka_unit_test(steps_change_nothing),
	cmocka_unit_test(watching_changes_nothing),
	cmocka_unit_test(seeds_change_everything),
};

CHECK_MAIN(cases)
