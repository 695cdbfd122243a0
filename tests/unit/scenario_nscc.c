/* What bounds the packets that MRC has out in a scenario: NSCC with the parameters that file and
 * fabric give it, a fixed window, or the peer's range alone. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mrc/mrc.h"
#include "runs.h"

#define N_OF(a) (sizeof(a) / sizeof(a)[0])
#define BOUND   PSEC_S
#define LEAVES  "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4}\n"
#define PERM    "workload: {kind: permutation, bytes: 200KB}\n"

static const struct {
	const char *line, *error;
} mistakes[] = {
	{"nscc: 3", "nscc: is a single value; "},
	{"nscc: {base_rtt: 999ns}", "nscc.base_rtt: \"999ns\" is too small; at least 1us"},
	{"nscc: {base_rtt: 11ms}", "nscc.base_rtt: \"11ms\" is too large; at most 10ms"},
	{"nscc: {target_qdelay: 5}", "nscc.target_qdelay: \"5\" needs a unit; "},
	{"nscc: {qa_threshold: 2s}", "nscc.qa_threshold: \"2s\" is too large; at most 1s"},
	{"nscc: {adjust_period: 0}", "nscc.adjust_period: \"0\" is too small; "},
	{"nscc: {near: 1ps}", "nscc.near: \"1ps\" is too small; at least 1ns"},
	{"nscc: {sender_rate: 1}", "nscc.sender_rate: \"1\" needs a unit; "},
	{"nscc: {receiver_rate: 2Tbps}", "nscc.receiver_rate: \"2Tbps\" is too large; "},
	{"nscc: {bdp: 0}", "nscc.bdp: \"0\" is too small; at least 1B"},
	{"nscc: {max_window: 4GiB}", "nscc.max_window: \"4GiB\" is too large; "},
	{"nscc: {max_window: 4000}", "nscc: NSCC's largest window is below one MTU; set it, "
				     "or use cc: fixed"},
	{"nscc: {base_bdp: x}", "nscc.base_bdp: \"x\" is not a number; "},
	{"nscc: {adjust_bytes: 1.5}", "nscc.adjust_bytes: \"1.5\" is not a whole number "},
	{"nscc: {qa_gate: 32}", "nscc.qa_gate: \"32\" is too large; at most 31"},
	{"nscc: {gamma: 1.000001}", "nscc.gamma: \"1.000001\" is too large; at most 1"},
	{"nscc: {max_md_jump: 50%}", "nscc.max_md_jump: \"50%\" is not a number; "},
	{"nscc: {scaling_a: 65536}", "nscc.scaling_a: \"65536\" is too large; "},
	{"nscc: {scaling_b: 0}", "nscc.scaling_b: \"0\" is too small; "},
	{"nscc: {alpha: 0.0000001}", "nscc.alpha: \"0.0000001\" is finer than a millionth"},
	{"nscc: {fi: 8589934592}", "nscc.fi: \"8589934592\" is too large; "},
	{"nscc: {fi_scale: -1}", "nscc.fi_scale: \"-1\" is negative; "},
	{"nscc: {eta: []}", "nscc.eta: is a list; it must be a single value"},
	{"nscc: {quick_adapt: 1}", "nscc.quick_adapt: \"1\" is unknown; "},
	{"nscc: {gama: 1}", "nscc.gama: unknown key in nscc; did you mean \"gamma\"?"},
};

static void mistakes_are_told(void **state)
{
	char text[512], want[256];

	(void)state;
	for (uint32_t i = 0; i < N_OF(mistakes); i++) {
		snprintf(text, sizeof text, LEAVES PERM "transport:\n  kind: mrc\n  %s\n",
			 mistakes[i].line);
		snprintf(want, sizeof want, "f.yaml:5: transport.%s", mistakes[i].error);
		runs_refused(i, text, want);
	}
}

/* What NSCC cannot do is a mistake only where it is asked to. */
static void fabrics_beyond_its_range_are_refused(void **state)
{
	static const char fast[] = "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, "
				   "planes: 8}\n" PERM "transport:\n  kind: mrc\n  cc: %s\n";
	char text[512];

	(void)state;
	snprintf(text, sizeof text, fast, "nscc");
	assert_int_equal(runs_try(text), -EINVAL);
	assert_string_equal(runs_error,
			    "f.yaml:4: transport.nscc: the sender's speed of NSCC is not 1 Gb/s to "
			    "1.6 Tb/s; set it, or use cc: fixed");
	snprintf(text, sizeof text, fast, "fixed\n  nscc: {sender_rate: 2Gbps}");
	assert_int_equal(runs_try(text), 0);
	scenario_fini(&runs_scenario);
}

static const struct cc_cfg *cc_of_host(uint32_t host)
{
	const struct mrc_cfg *cfg = runs_run.hosts.sim.host_cfg(&runs_run.hosts, host, 1);

	return &cfg->cc;
}

static void all_parameters_reach_the_engine(void **state)
{
	static const char yaml[] = LEAVES PERM
		"transport:\n"
		"  kind: mrc\n"
		"  nscc: {base_rtt: 12us, target_qdelay: 5us, qa_threshold: 31us, adjust_period: "
		"9us,\n"
		"         near: 300ns, sender_rate: 300Gbps, receiver_rate: 200Gbps, bdp: 400KB,\n"
		"         max_window: 1MB, base_bdp: 120KB, adjust_bytes: 30KB, qa_gate: 5,\n"
		"         gamma: 0.75, max_md_jump: 0.25, scaling_a: 2.5, scaling_b: 0.125,\n"
		"         alpha: 3.5, fi: 20000.5, fi_scale: 0.3, eta: 100.25, quick_adapt: "
		"false}\n";

	(void)state;
	runs_read(yaml, "");
	runs_begin(NULL, NULL);
	const struct nscc_cfg *n = &cc_of_host(3)->nscc;

	assert_int_equal(cc_of_host(3)->kind, CC_NSCC);
	assert_int_equal(n->base_rtt_ns, 12000);
	assert_int_equal(n->target_qdelay_ns, 5000);
	assert_int_equal(n->qa_threshold_ns, 31000);
	assert_int_equal(n->adjust_period_ns, 9000);
	assert_int_equal(n->near_ns, 300);
	assert_int_equal(n->sender_bps, UINT64_C(300000000000));
	assert_int_equal(n->receiver_bps, UINT64_C(200000000000));
	assert_int_equal(n->bdp_bytes, 400000);
	assert_int_equal(n->max_wnd_bytes, 1000000);
	assert_int_equal(n->base_bdp_bytes, 120000);
	assert_int_equal(n->adjust_bytes, 30000);
	assert_int_equal(n->qa_gate, 5);
	assert_int_equal(n->gamma_q32, UINT64_C(3) << 30);
	assert_int_equal(n->max_md_jump_q32, UINT64_C(1) << 30);
	assert_int_equal(n->scaling_a_q32, UINT64_C(5) << 31);
	assert_int_equal(n->scaling_b_q32, UINT64_C(1) << 29);
	assert_int_equal(n->alpha_q40, UINT64_C(7) << 39);
	assert_int_equal(n->fi_q24, UINT64_C(40001) << 23);
	assert_int_equal(n->fi_scale_q32, 1288490189); /* 0.3 * 2^32, the nearest */
	assert_int_equal(n->eta_q24, UINT64_C(401) << 22);
	assert_true(n->has_no_quick_adapt);
	/* Room for the largest window, and twice that for the peer. */
	assert_int_equal(runs_run.hosts.cfg.window_pkts, 1000000 / n->mtu_bytes + 1);
	runs_end();
}

/* Base round trip, MTU and speed are the fabric's; trims count where there are any to learn of. */
static void the_fabric_says_the_rest(void **state)
{
	static const struct {
		const char *set;
		bool has_trimming;
	} table[] = {
		{"", true},
		{"transport.trim_nack=false", false},
		{"fabric.trimming=false", false},
		{"transport.payload=1024", true},
	};

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++) {
		runs_read("topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, planes: 2, "
			  "rate: 100Gbps}\ntransport: {kind: mrc}\n" PERM,
			  table[i].set);
		runs_begin(NULL, NULL);
		const struct cc_cfg *cc = cc_of_host(5);

		assert_int_equal(cc->line_rate_bps, UINT64_C(200000000000));
		assert_int_equal(cc->nscc.base_rtt_ns,
				 (runs_scenario.base_rtt_ps + PSEC_NS - 1) / PSEC_NS);
		/* UDP 8, BTH 12, METH 4, TSETH 4, RETH 16, ICRC 4, and 40 (MRC 8.3.1). */
		assert_int_equal(cc->nscc.mtu_bytes, runs_scenario.transport.payload_bytes + 88);
		assert_int_equal(cc->nscc.has_trimming, table[i].has_trimming);
		assert_true(cc->window_bytes == UINT64_MAX);
		runs_end();
	}
}

/* Beyond the queue from which all packets are marked, an eighth of it; the text's own default where
 * that is more, or nothing is marked. 0 is the controller's default. */
static void the_target_is_beyond_what_is_marked(void **state)
{
	static const struct {
		const char *set;
		uint32_t percent;
	} table[] = {
		{"", 90},
		{"fabric.ecn.max=0.6bdp", 0},
		{"fabric.ecn.max=0.7bdp", 79},
		{"fabric.ecn=off", 0},
		{"fabric.trimming=false", 0},
		{"transport.nscc.base_rtt=20us", 90},
	};

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++) {
		runs_read(LEAVES "transport: {kind: mrc}\n" PERM, table[i].set);
		const struct nscc_cfg *n = &runs_scenario.transport.options.nscc;

		/* 78.75 is 79. */
		assert_int_equal((n->target_qdelay_ns * 200 / n->base_rtt_ns + 1) / 2,
				 table[i].percent);
		scenario_fini(&runs_scenario);
	}
}

static void what_binds_is_as_asked(void **state)
{
	static const struct {
		const char *set;
		uint8_t kind;
		uint64_t window_bytes;
		uint32_t window_pkts, mpr;
	} table[] = {
		{"transport.cc=fixed transport.window=40", CC_FIXED, 40 * 4096, 40, 1},
		{"transport.cc=nscc transport.window=40", CC_NSCC, 40 * 4096, 40, 1},
		{"transport.cc=none transport.window=100", CC_FIXED, UINT64_MAX, 256, 2},
		{"transport.cc=none transport.mpr=7", CC_FIXED, UINT64_MAX, 7 * 128, 7},
	};

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++) {
		runs_read(LEAVES "transport: {kind: mrc}\n" PERM, table[i].set);
		runs_begin(NULL, NULL);
		const struct hosts_cfg *t = &runs_run.hosts.cfg;

		assert_int_equal(t->window_pkts, table[i].window_pkts);
		assert_int_equal(t->ahead_pkts, table[i].mpr * 128);
		runs_finish(PSEC_NEVER, BOUND);
		runs_all_done();
		/* Asking for it takes the host's queue pairs away. */
		assert_int_equal(cc_of_host(0)->kind, table[i].kind);
		assert_true(cc_of_host(0)->window_bytes == table[i].window_bytes);
		runs_end();
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(mistakes_are_told),
	cmocka_unit_test(fabrics_beyond_its_range_are_refused),
	cmocka_unit_test(all_parameters_reach_the_engine),
	cmocka_unit_test(the_fabric_says_the_rest),
	cmocka_unit_test(the_target_is_beyond_what_is_marked),
	cmocka_unit_test(what_binds_is_as_asked),
};

CHECK_MAIN(cases)
