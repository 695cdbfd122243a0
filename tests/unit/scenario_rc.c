/* RC behind a scenario: what may be written, that it reaches the engine, and that whole runs on
 * every kind of fabric and traffic hold what other transports' do. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "battery.h"
#include "check.h"
#include "rc/rc.h"
#include "runs.h"

#define PERM    "workload: {kind: permutation, bytes: 100KB}\n"
#define N_OF(a) (sizeof(a) / sizeof(a)[0])

static void mistakes_are_told(void **state)
{
	static const struct {
		const char *text, *error;
	} table[] = {
		{BATTERY_LEAVES PERM "transport:\n  kind: rc\n  payload: 1000\n",
		 "f.yaml:5: transport.payload: 1000 is no path MTU of rc; use 256, 512, 1024, 2048 "
		 "or 4096"},
		{BATTERY_LEAVES PERM "transport:\n  kind: rc\n  payload: 8192\n",
		 "f.yaml:5: transport.payload: \"8192\" is too large; at most 4KiB"},
		{BATTERY_LEAVES PERM "transport:\n  kind: rc\n  payload: 128\n",
		 "f.yaml:5: transport.payload: \"128\" is too small; at least 256B"},
		{BATTERY_LEAVES PERM "transport:\n  kind: rc\n  entropies: 4\n",
		 "f.yaml:5: transport.entropies: unknown key in an rc transport; "},
		{BATTERY_LEAVES PERM "transport:\n  kind: rc\n  retries: 8\n",
		 "f.yaml:5: transport.retries: \"8\" is too large; at most 7"},
		{BATTERY_LEAVES PERM "transport:\n  kind: rc\n  window: 65537\n",
		 "f.yaml:5: transport.window: \"65537\" is 65537 packets; 1 to 65536"},
		{BATTERY_LEAVES PERM "transport:\n  kind: rc\n  cc: swift\n",
		 "f.yaml:5: transport.cc: \"swift\" is unknown; one of none, dcqcn"},
		{BATTERY_LEAVES PERM
		 "transport:\n  kind: rc\n  cc: dcqcn\n  dcqcn: {fast_round: 3}\n",
		 "f.yaml:6: transport.dcqcn.fast_round: unknown key in dcqcn; "},
		{BATTERY_LEAVES PERM
		 "transport:\n  kind: rc\n  cc: dcqcn\n  dcqcn: {gain_shift: 11}\n",
		 "f.yaml:6: transport.dcqcn.gain_shift: \"11\" is too large; at most 10"},
		{BATTERY_LEAVES PERM
		 "transport:\n  kind: rc\n  cc: dcqcn\n  dcqcn: {least: 200Gbps}\n",
		 "f.yaml:6: transport.dcqcn: "},
		{BATTERY_LEAVES PERM "transport: {cc: dcqcn}\n",
		 "f.yaml:3: transport.cc: unknown key in a ref transport; "},
	};

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++)
		runs_refused(i, table[i].text, table[i].error);
}

static void defaults_are_those_of_the_specification(void **state)
{
	(void)state;
	assert_int_equal(runs_try(BATTERY_LEAVES PERM "transport: {kind: rc}\n"), 0);
	assert_string_equal(runs_scenario.transport.name, "rc");
	assert_int_equal(runs_scenario.transport.payload_bytes, 4096);
	assert_int_equal(runs_scenario.transport.options.ack_every_pkts, 4);
	assert_int_equal(runs_scenario.transport.options.retries, 7);
	assert_int_equal(scenario_cc(&runs_scenario.transport), CC_FIXED);
	scenario_fini(&runs_scenario);
}

/* Powers of two times 4.096 us, and none shorter than was asked for. */
static void timeouts_are_rounded_up(void **state)
{
	static const struct {
		nsec asked, is;
	} table[] = {{1, 8192},
		     {8192, 8192},
		     {8193, 16384},
		     {1000000, 1048576},
		     {UINT64_MAX, UINT64_C(4096) << 31}};

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++)
		assert_int_equal(transport_rc.pairs->timeout(table[i].asked), table[i].is);
}

static void settings_reach_the_engine(void **state)
{
	static const char yaml[] =
		"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, planes: 2}\n"
		"transport: {kind: rc, payload: 1024, window: 20, ack_every: 7, retries: 3,\n"
		"            timeout: 50us, cc: dcqcn, dcqcn: {fast_rounds: 3, cnp_every: "
		"9us}}\n" PERM;
	struct engine_attr attr;

	(void)state;
	runs_read(yaml, "");
	runs_begin(NULL, NULL);
	const struct rc_cfg *cfg = runs_run.hosts.sim.host_cfg(&runs_run.hosts, 0, 1);

	assert_int_equal(cfg->n_ports, 2);
	assert_int_equal(cfg->ack_every_pkts, 7);
	assert_int_equal(cfg->cnp_every_ns, 9000);
	assert_int_equal(cfg->cc.kind, CC_DCQCN);
	assert_int_equal(cfg->cc.window_bytes, 20 * 1024);
	assert_int_equal(cfg->cc.line_rate_bps, UINT64_C(400000000000));
	assert_int_equal(cfg->cc.dcqcn.fast_rounds, 3);
	assert_int_equal(rc_qp_query(runs_run.sim.hosts[1].engine, 0, &attr, NULL, NULL), 0);
	assert_int_equal(attr.state, ENGINE_RTS);
	assert_int_equal(attr.pmtu, 1024);
	assert_int_equal(attr.retries, 3);
	assert_int_equal(attr.timeout, 4);
	runs_end();
}

/* Counters of all hosts together; each host's balance. */
static struct rc_counters counters(void)
{
	struct rc_counters sum;

	runs_sum(&transport_rc, &sum, sizeof sum);
	return sum;
}

static void nothing_went_wrong(void)
{
	struct rc_counters c = counters();

	assert_int_equal(runs_run.sim.totals.trimmed, 0);
	assert_int_equal(c.failed, 0);
	assert_int_equal(c.rx_rnr, 0);
}

static void count(void *out)
{
	struct rc_counters c = counters();

	if (out)
		memcpy(out, &c, sizeof c);
}

static const struct battery battery = {"rc", count, nothing_went_wrong, sizeof(struct rc_counters)};

static const char *const ccs[] = {"transport.cc=none", "transport.cc=dcqcn"};

static void every_fabric_and_workload_runs(void **state)
{
	(void)state;
	battery_fabrics(&battery, ccs);
}

#define INCAST                                                                        \
	"topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4, rate: 100Gbps}\n" \
	"workload: {kind: incast, dst: h0, fan_in: 8, bytes: 1MiB}\n"

/* Packets of RC are marked where they queue, and are never cut. With DCQCN the marks come back as
 * notifications, and fewer packets are lost. */
static void marks_come_back_as_notifications(void **state)
{
	struct rc_counters c[2];
	uint64_t drops[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		runs_read(INCAST, i ? "transport.kind=rc fabric.trimming=true transport.cc=dcqcn"
				    : "transport.kind=rc fabric.trimming=true");
		runs_begin(NULL, NULL);
		runs_finish(PSEC_NEVER, BATTERY_BOUND);
		runs_all_done();
		c[i] = counters();
		drops[i] = runs_drops();
		assert_true(runs_run.sim.totals.marked > 0);
		assert_int_equal(runs_run.sim.totals.trimmed, 0);
		assert_true(c[i].rx_ecn > 0 && c[i].tx_cnp > 0);
		assert_true(c[i].rx_cnp > 0 && c[i].rx_cnp <= c[i].tx_cnp);
		runs_end();
	}
	assert_true(drops[0] > 0 && drops[1] < drops[0]);
	assert_true(c[1].tx_retx < c[0].tx_retx);
}

static void windows_change_nothing(void **state)
{
	static const char *const yaml[] = {
		INCAST "transport: {kind: rc, cc: dcqcn, payload: 1024}\n",
		BATTERY_LEAVES "workload: {kind: ring, bytes: 200KB}\ntransport: {kind: rc}\n",
		BATTERY_LEAVES PERM
		"transport: {kind: rc, timeout: 20us}\n"
		"faults: {kind: gray, at: leaf0-spine1, chance: 5%, until: 40us}\n",
		BATTERY_LEAVES PERM
		"transport: {kind: rc, timeout: 20us}\n"
		"faults: {kind: random, kinds: [drop, duplicate, reorder, restart, skew],\n"
		"         count: 6, until: 30us}\n",
	};

	(void)state;
	battery_windows(&battery, yaml, N_OF(yaml));
}

static void restarts_end_what_was_under_way(void **state)
{
	(void)state;
	battery_restarts(&battery, "transport: {kind: rc, timeout: 10us, retries: 2}\n");
}

static void random_faults_leave_nothing_behind(void **state)
{
	(void)state;
	battery_faults(&battery, "transport: {kind: rc, timeout: 20us, retries: 3}\n", ccs);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(mistakes_are_told),
	cmocka_unit_test(defaults_are_those_of_the_specification),
	cmocka_unit_test(timeouts_are_rounded_up),
	cmocka_unit_test(settings_reach_the_engine),
	cmocka_unit_test(every_fabric_and_workload_runs),
	cmocka_unit_test(marks_come_back_as_notifications),
	cmocka_unit_test(windows_change_nothing),
	cmocka_unit_test(restarts_end_what_was_under_way),
	cmocka_unit_test(random_faults_leave_nothing_behind),
};

CHECK_MAIN(cases)
