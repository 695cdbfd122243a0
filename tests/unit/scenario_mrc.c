/* MRC behind a scenario: what may be written, that it reaches the engine, that whole runs on every
 * kind of fabric and traffic hold what other transports' do, and how it recovers in a fabric, with
 * a fixed window, from the loss of just this packet or of all of them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "battery.h"
#include "check.h"
#include "mrc/mrc.h"
#include "runs.h"
#include "wire/mrc.h"
#include "wire/packet.h"

#define PERM    "workload: {kind: permutation, bytes: 100KB}\n"
#define N_OF(a) (sizeof(a) / sizeof(a)[0])

static void mistakes_are_told(void **state)
{
	static const struct {
		const char *line, *error;
	} table[] = {
		{"payload: 1000", "payload: 1000 is no path MTU of mrc; use 256, 512, 1024, 2048 "
				  "or 4096"},
		{"payload: 8192", "payload: \"8192\" is too large; at most 4KiB"},
		{"payload: 128", "payload: \"128\" is too small; at least 256B"},
		{"window: 32641", "window: \"32641\" is 32641 packets; 1 to 32640"},
		{"window: 0", "window: \"0\" is 0 packets; 1 to 32640"},
		{"entropies: 0", "entropies: \"0\" is too small; at least 1"},
		{"entropies: 4097", "entropies: \"4097\" is too large; at most 4096"},
		{"linear_retries: 8", "linear_retries: \"8\" is too large; at most 7"},
		{"exponential_retries: 26", "exponential_retries: \"26\" is too large; at most 25"},
		{"mpr: 256", "mpr: \"256\" is too large; at most 255"},
		{"mpr: 0", "mpr: \"0\" is too small; at least 1"},
		{"trim_nack: maybe", "trim_nack: \"maybe\" "},
		{"count_trims: 2", "count_trims: \"2\" "},
		{"timeout: 100", "timeout: \"100\" "},
		{"retries: 3", "retries: unknown key in an mrc transport; "},
		{"ack_every: 4", "ack_every: unknown key in an mrc transport; "},
		{"cc: dcqcn", "cc: \"dcqcn\" is unknown; one of nscc, fixed, none"},
		{"ways: oblivious", "ways: this key is called \"evs\" now"},
		{"evs: random", "evs: \"random\" is unknown; one of aware, oblivious"},
	};
	char text[512], want[256];

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++) {
		snprintf(text, sizeof text, BATTERY_LEAVES PERM "transport:\n  kind: mrc\n  %s\n",
			 table[i].line);
		snprintf(want, sizeof want, "f.yaml:5: transport.%s", table[i].error);
		runs_refused(i, text, want);
	}
	/* An EV for each port at least. */
	assert_int_equal(runs_try("topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, "
				  "planes: 4}\n" PERM "transport:\n  kind: mrc\n  entropies: 3\n"),
			 -EINVAL);
	assert_string_equal(runs_error,
			    "f.yaml:5: transport.entropies: 3 are fewer than the 4 ports of "
			    "a host; use more");
}

static void defaults_are_those_of_the_specification(void **state)
{
	(void)state;
	assert_int_equal(runs_try(BATTERY_LEAVES PERM "transport: {kind: mrc}\n"), 0);
	assert_string_equal(runs_scenario.transport.name, "mrc");
	assert_int_equal(runs_scenario.transport.payload_bytes, 4096);
	assert_int_equal(runs_scenario.transport.entropies, 256);
	assert_int_equal(runs_scenario.transport.options.retries, 7);
	assert_int_equal(runs_scenario.transport.options.slow_retries, 8);
	assert_true(runs_scenario.transport.options.answers_trims);
	assert_false(runs_scenario.transport.options.counts_trims);
	assert_false(runs_scenario.transport.options.is_oblivious);
	assert_int_equal(scenario_cc(&runs_scenario.transport), CC_NSCC);
	scenario_fini(&runs_scenario);
}

/* Powers of two times 1.024 us, and none shorter than was asked for. */
static void timeouts_are_rounded_up(void **state)
{
	static const struct {
		nsec asked, is;
	} table[] = {{1, 1024},
		     {1024, 1024},
		     {1025, 2048},
		     {1000000, 1048576},
		     {UINT64_MAX, UINT64_C(1024) << 24}};

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++)
		assert_int_equal(transport_mrc.pairs->timeout(table[i].asked), table[i].is);
}

static void settings_reach_the_engine(void **state)
{
	static const char yaml[] =
		"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, planes: 2}\n"
		"transport: {kind: mrc, cc: fixed, payload: 1024, window: 20, entropies: 6,\n"
		"            timeout: 50us, evs: oblivious,\n"
		"            linear_retries: 3, exponential_retries: 11, mpr: 9}\n" PERM;
	struct mrc_attr attr;

	(void)state;
	for (uint32_t has_nack = 0; has_nack < 2; has_nack++) {
		runs_read(yaml,
			  has_nack ? "transport.count_trims=true" : "transport.trim_nack=false");
		runs_begin(NULL, NULL);
		const struct sim_transport *t = &runs_run.hosts.sim;
		const struct mrc_cfg *cfg = t->host_cfg(&runs_run.hosts, 7, 1);

		assert_int_equal(cfg->n_ports, 2);
		assert_int_equal(cfg->cc.kind, CC_FIXED);
		assert_int_equal(cfg->cc.window_bytes, 20 * 1024);
		assert_true(runs_run.hosts.cfg.options.is_oblivious);
		assert_int_equal(cfg->has_trim_nack, has_nack);
		assert_int_equal(
			mrc_qp_query(runs_run.sim.hosts[1].engine, t->first_qp, &attr, NULL, NULL),
			0);
		assert_int_equal(attr.state, MRC_RTS);
		assert_int_equal(attr.pmtu, 1024);
		assert_int_equal(attr.timeout, 6);
		assert_int_equal(attr.linear_retries, 3);
		assert_int_equal(attr.exp_retries, 11);
		assert_int_equal(attr.mpr, 9);
		assert_int_equal(attr.mpr_dest, 9);
		assert_int_equal(attr.flags,
				 MRC_OBLIVIOUS |
					 (has_nack ? MRC_PEER_TRIM_NACK | MRC_COUNT_TRIMS : 0));
		assert_int_equal(attr.evs->set.n, 6);
		assert_int_equal(attr.evs->set.ports, 3);
		runs_end();
	}
}

/* Counters of all hosts together; each host's balance. */
static struct mrc_counters counters(void)
{
	struct mrc_counters sum;

	runs_sum(&transport_mrc, &sum, sizeof sum);
	return sum;
}

/* Nothing is left in the pools of any host. */
static void nothing_is_held(void)
{
	for (uint32_t h = 0; h < runs_run.sim.n_hosts; h++) {
		struct mrc_usage use = mrc_usage(runs_run.sim.hosts[h].engine);

		assert_int_equal(use.out_chunks, 0);
		assert_int_equal(use.early_chunks, 0);
		assert_int_equal(use.answers, 0);
	}
}

static void nothing_went_wrong(void)
{
	struct mrc_counters c = counters();

	assert_int_equal(c.failed, 0);
	assert_int_equal(c.timeouts, 0);
	assert_int_equal(c.tx_nak, 0);
	assert_int_equal(runs_drops(), 0);
	nothing_is_held();
}

static void count(void *out)
{
	struct mrc_counters c = counters();

	if (out)
		memcpy(out, &c, sizeof c);
}

static const struct battery battery = {"mrc", count, nothing_went_wrong,
				       sizeof(struct mrc_counters)};

static const char *const nacks[] = {"transport.trim_nack=false", "transport.trim_nack=true"};

static void every_fabric_and_workload_runs(void **state)
{
	(void)state;
	battery_fabrics(&battery, nacks);
}

/* A packet that h0 sent or got, as a tap saw it. */
struct sight {
	psec at;
	uint32_t psn;
	uint8_t opcode;
	bool is_out, is_retx;
};

#define SIGHTS 8192u
static struct sight sights[SIGHTS];
static uint32_t n_sights;

static void on_frame(void *context, uint32_t port, bool is_out, psec at, struct cspan frame)
{
	struct net_cfg cfg = net_cfg_default();
	struct wire_packet p;

	(void)context;
	(void)port;
	assert_int_equal(wire_packet_get(frame, NET_LINK_ETHERNET, &cfg, &p, NULL).why,
			 WIRE_DROP_NONE);
	assert_int_equal(p.family, WIRE_MRC);
	assert_true(n_sights < SIGHTS);
	sights[n_sights++] =
		(struct sight){at, p.mrc.bth.psn, p.mrc.bth.opcode, is_out, p.mrc.bth.rtx};
}

/* What became of the one flow of a run, from h0 on. */
struct outcome {
	psec completed; /* 0: it was not */
	psec ended;     /* the run */
	psec rtt;       /* unloaded */
	uint64_t dropped;
	struct mrc_counters c;
	int16_t status; /* enum engine_status */
};

#define PACKETS 64u
#define FLOW                                                                         \
	BATTERY_LEAVES "workload: {kind: single, src: h0, dst: h7, bytes: 256KiB}\n" \
		       "transport: {kind: mrc}\n"

/* Runs it, with all that h0 sends and gets in sights. */
static struct outcome run_flow_of(const char *yaml, const char *settings, psec bound)
{
	static uint8_t tapped[4096];
	struct run_tap tap = {.context = NULL, .frame = on_frame};
	const struct traffic_flow *flow;

	n_sights = 0;
	runs_read(yaml, settings);
	for (uint32_t i = 0; i < runs_scenario.topology.n_ports; i++)
		tapped[i] = runs_scenario.topology.ports[i].node == 0;
	runs_begin(&tap, tapped);
	runs_finish(PSEC_NEVER, bound);
	flow = &runs_run.traffic.flows[0];
	struct outcome o = {
		.completed = flow->completed_ps,
		.ended = sim_now(&runs_run.sim),
		.rtt = runs_scenario.base_rtt_ps,
		.dropped = runs_drops(),
		.c = counters(),
		.status = flow->status,
	};

	nothing_is_held();
	assert_int_equal(o.c.failed, flow->state == TRAFFIC_FAILED);
	if (flow->state == TRAFFIC_DONE)
		runs_all_done();
	runs_end();
	return o;
}

/* Loses just these packets of h0. */
static struct outcome lose(const char *yaml, const struct sight *which, uint32_t n)
{
	char text[2048];
	int len = snprintf(text, sizeof text, "%sfaults:\n", yaml);

	for (uint32_t i = 0; i < n; i++)
		len += snprintf(text + len, sizeof text - (size_t)len,
				"  - {kind: drop, at: \"h0>leaf0\", chance: 100%%, from: %" PRIu64
				"ps, until: %" PRIu64 "ps}\n",
				which[i].at, which[i].at + 1);
	assert_true((size_t)len < sizeof text);
	struct outcome o = run_flow_of(text, "", BATTERY_BOUND);

	assert_int_equal(o.status, ENGINE_OK);
	assert_int_equal(o.dropped, n);
	return o;
}

/* The packets of the flow when nothing is lost; returns how that went. */
static struct outcome send_all(const char *yaml, struct sight sent[PACKETS])
{
	struct outcome whole = run_flow_of(yaml, "", BATTERY_BOUND);
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_sights; i++)
		if (sights[i].is_out) {
			assert_true(n < PACKETS);
			sent[n++] = sights[i];
		}
	assert_int_equal(n, PACKETS);
	assert_int_equal(whole.dropped, 0);
	assert_int_equal(whole.c.tx_retx, 0);
	assert_int_equal(whole.c.tx_probe, 0);
	return whole;
}

/* What was lost was retransmitted, once, and nobody waited for a timeout. */
static void is_repaired(const struct outcome *o, uint64_t retx)
{
	assert_int_equal(o->c.tx_retx, retx);
	assert_int_equal(o->c.rx_duplicate, 0);
	assert_int_equal(o->c.timeouts, 0);
}

/* Any packet but the last: later ones tell, and the whole is late by two round trips at most. */
static void a_loss_costs_two_round_trips(void **state)
{
	struct sight sent[PACKETS] = {{0}};
	struct outcome whole = send_all(FLOW, sent);

	(void)state;
	for (uint32_t i = 0; i < PACKETS - 1; i++) {
		struct outcome o = lose(FLOW, &sent[i], 1);

		is_repaired(&o, 1);
		assert_int_equal(o.c.lost_gap, 1);
		assert_int_equal(o.c.tx_probe, 0);
		if (o.completed > whole.completed + 2 * whole.rtt)
			fail_msg("packet %u: %" PRIu64 " ps late", i,
				 o.completed - whole.completed);
	}
}

/* Behind the last packet there is none that could tell: a probe asks. */
static void a_lost_end_is_found_by_a_probe(void **state)
{
	struct sight sent[PACKETS] = {{0}};
	struct outcome whole = send_all(FLOW, sent);

	(void)state;
	for (uint32_t n = 1; n <= 8; n++) {
		struct outcome o = lose(FLOW, &sent[PACKETS - n], n);

		is_repaired(&o, n);
		assert_int_equal(o.c.lost_probe, n);
		assert_int_equal(o.c.tx_probe, 1);
		assert_true(o.completed <= whole.completed + 5 * whole.rtt);
	}
}

/* No SACK judges a packet twice, not even one that answers a probe (MRC-7.4.5-01): the timeout of
 * 16 round trips, rounded up to a power of two, does. */
static void a_lost_retransmission_waits_for_its_timeout(void **state)
{
	struct sight sent[PACKETS] = {{0}};
	struct outcome whole = send_all(FLOW, sent);

	(void)state;
	for (uint32_t i = 0; i < PACKETS; i++) {
		struct sight both[2] = {sent[i], {0}};

		lose(FLOW, both, 1);
		for (uint32_t k = 0; k < n_sights && both[1].at == 0; k++)
			if (sights[k].is_retx)
				both[1] = sights[k];
		assert_int_equal(both[1].psn, sent[i].psn);
		struct outcome o = lose(FLOW, both, 2);

		assert_int_equal(o.c.tx_retx, 2);
		assert_int_equal(o.c.rx_duplicate, 0);
		assert_int_equal(o.c.lost_gap + o.c.lost_probe, 1);
		assert_int_equal(o.c.lost_timeout, 1);
		assert_in_range(o.completed, whole.completed + 14 * whole.rtt,
				whole.completed + 37 * whole.rtt);
	}
}

/* Answers alone are lost: what arrived is not retransmitted for that, but for the one packet that
 * asks for a lost Transport ACK. */
static void lost_answers_cost_little(void **state)
{
	static const char *const faults[] = {
		"faults: {kind: drop, at: \"h7>*\", chance: 10%, match: control}\n",
		"faults: {kind: drop, at: \"h7>*\", chance: 30%, match: control}\n",
		"faults: {kind: black-hole, at: h7>*, match: control, from: 9us, until: 40us}\n",
	};
	uint64_t dropped = 0;
	char yaml[1024], set[32];

	(void)state;
	struct outcome whole = run_flow_of(FLOW, "", BATTERY_BOUND);

	for (uint32_t i = 0; i < N_OF(faults); i++)
		for (uint32_t seed = 1; seed <= 20; seed++) {
			snprintf(yaml, sizeof yaml, "%s%s", FLOW, faults[i]);
			snprintf(set, sizeof set, "seed=%u", seed);
			struct outcome o = run_flow_of(yaml, set, BATTERY_BOUND);

			assert_int_equal(o.status, ENGINE_OK);
			assert_int_equal(o.c.lost_gap + o.c.lost_probe, 0);
			assert_int_equal(o.c.timeouts, 0);
			assert_in_range(o.c.tx_retx, 0, 2);
			assert_true(o.completed <= whole.completed + 12 * whole.rtt);
			dropped += o.dropped;
		}
	assert_true(dropped > 100);
}

/* Law 4: a host that sends with all its might acknowledges what comes, also where its port has room
 * for a packet at a time: neither of two flows that meet there is slower than one alone. */
static void answers_are_not_starved_by_data(void **state)
{
	static const char two[] =
		BATTERY_LEAVES "transport: {kind: mrc}\n"
			       "workload:\n"
			       "  - {kind: single, src: h0, dst: h7, bytes: 1MiB}\n"
			       "  - {kind: single, src: h6, dst: h0, bytes: 1MiB}\n";
	static const char one[] =
		BATTERY_LEAVES "transport: {kind: mrc}\n"
			       "workload: {kind: single, src: h0, dst: h7, bytes: 1MiB}\n";
	struct outcome alone = run_flow_of(one, "", BATTERY_BOUND),
		       both = run_flow_of(two, "", BATTERY_BOUND);

	(void)state;
	assert_true(both.ended < alone.ended + alone.ended / 50);
}

/* Table 7-1: 1 + linear silences of the base timeout, then each twice as long as the one before. */
static psec silence_ps(uint32_t linear, uint32_t exponential)
{
	psec base = 128 * 1024 * PSEC_NS, sum = (1 + linear) * base;

	for (uint32_t k = 1; k <= exponential; k++)
		sum += base << k;
	return sum;
}

static const char *const black_outs[] = {
	"faults: {kind: black-hole, at: \"h0>*\", until: 5s}\n",
	"faults: {kind: black-hole, at: \"h0>*\", from: 12us, until: 5s}\n",
	"faults: {kind: black-hole, at: \"h7>*\", from: 12us, until: 5s}\n",
	"faults: {kind: down, at: h0-leaf0, from: 15us, until: 5s}\n",
};

static void a_black_out_is_survived(void **state)
{
	char yaml[1024];

	(void)state;
	assert_true(silence_ps(7, 16) > 10 * PSEC_S);
	for (uint32_t i = 0; i < N_OF(black_outs); i++)
		for (uint32_t retries = 16; retries <= 25; retries += 9) {
			char set[128];

			snprintf(yaml, sizeof yaml, "%s%s", FLOW, black_outs[i]);
			snprintf(set, sizeof set,
				 "transport.timeout=100us transport.exponential_retries=%u",
				 retries);
			struct outcome o = run_flow_of(yaml, set, 20 * PSEC_S);

			assert_int_equal(o.status, ENGINE_OK);
			assert_in_range(o.completed, 5 * PSEC_S, 10 * PSEC_S);
			assert_true(o.c.timeouts > 7);
		}
}

/* When h0 last received anything; 0: never. */
static psec last_received(void)
{
	for (uint32_t i = n_sights; i-- > 0;)
		if (!sights[i].is_out)
			return sights[i].at;
	return 0;
}

/* Too few retries: one error, and at the time that Table 7-1 says, after the last packet.
 */
static void a_long_black_out_is_one_error(void **state)
{
	static const struct {
		uint32_t linear, exponential;
	} table[] = {{0, 0}, {0, 3}, {2, 6}, {7, 0}, {7, 9}};
	char yaml[1024], set[160];

	(void)state;
	for (uint32_t i = 0; i < N_OF(black_outs) * N_OF(table); i++) {
		uint32_t linear = table[i % N_OF(table)].linear;
		uint32_t exponential = table[i % N_OF(table)].exponential;

		snprintf(yaml, sizeof yaml, "%s%s", FLOW, black_outs[i / N_OF(table)]);
		snprintf(set, sizeof set,
			 "transport.timeout=100us transport.linear_retries=%u "
			 "transport.exponential_retries=%u",
			 linear, exponential);
		struct outcome o = run_flow_of(yaml, set, PSEC_S);
		psec due = last_received() + silence_ps(linear, exponential);

		assert_int_equal(o.status, ENGINE_RETRY_EXCEEDED);
		assert_int_equal(o.c.failed, 1);
		assert_int_equal(o.c.timeouts, 1 + linear + exponential);
		/* A run ends on a full microsecond, and a timer has its width. */
		assert_in_range(o.ended, due, due + PSEC_US + 200 * PSEC_NS);
	}
}

/* Recovery depends on nothing that a peer may leave out (M-47): one EV on each of 8 planes, each
 * of which loses packets for a while; then all of them are in use again, and nobody sent an EV
 * probe. */
static void evs_come_back_without_ev_probes(void **state)
{
	static const char yaml[] =
		"topology: {kind: leaf-spine, hosts: 4, hosts_per_leaf: 2, spines: 2, planes: 8,\n"
		"           rate: 100Gbps, delay: 1us}\n"
		"end: 3ms\n"
		"workload: {kind: single, src: h0, dst: h3, bytes: 1GiB}\n"
		"transport: {kind: mrc, entropies: 8}\n"
		"faults: [{kind: drop, at: 'h*>*', chance: 0.1%, until: 1.5ms}]\n";
	uint32_t least = 8;
	struct mrc_progress p = {0};

	(void)state;
	runs_read(yaml, "");
	runs_begin(NULL, NULL);
	for (psec at = 0; run_step(&runs_run, at); at += 10 * PSEC_US) {
		assert_int_equal(mrc_qp_progress(runs_run.sim.hosts[0].engine,
						 runs_run.hosts.sim.first_qp, &p),
				 0);
		least = p.evs[PATH_GOOD] < least ? p.evs[PATH_GOOD] : least;
	}
	assert_true(runs_drops() > 20);
	assert_true(least < 8);
	assert_int_equal(p.evs[PATH_GOOD] + p.evs[PATH_SKIP], 8);
	struct mrc_counters c = counters();

	assert_true(c.tx_fault_probe > 0);
	assert_int_equal(c.tx_endpoint, 0);
	runs_end();
}

#define INCAST                                                                        \
	"topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4, rate: 100Gbps}\n" \
	"workload: {kind: incast, dst: h0, fan_in: 8, bytes: 512KiB}\n"               \
	"transport: {kind: mrc, cc: fixed}\n"

/* Where switches trim, the head of a packet comes in place of its loss: by NACK it is retransmitted
 * at once, and nobody waits for a timeout; by SACK as if it had been lost, once. */
static void trimmed_packets_are_retransmitted(void **state)
{
	psec ideal = 8 * psec_of_bytes(512u << 10, UINT64_C(100000000000));

	(void)state;
	for (uint32_t has_nack = 0; has_nack < 2; has_nack++) {
		runs_read(INCAST, has_nack ? "" : "transport.trim_nack=false");
		runs_begin(NULL, NULL);
		runs_finish(20 * PSEC_US, BATTERY_BOUND);
		runs_all_done();
		struct mrc_counters c = counters();
		uint64_t trimmed = runs_run.sim.totals.trimmed;

		assert_int_equal(runs_drops(), 0);
		assert_true(trimmed > 0);
		assert_int_equal(c.timeouts > 0, !has_nack);
		/* Without NACKs some are retransmitted that were not lost, and may be cut as
		 * duplicates. A probe that was cut is good for nothing. */
		assert_in_range(c.rx_trimmed + c.drop_malformed, has_nack ? trimmed : trimmed / 2,
				trimmed);
		/* One that was retransmitted for a gap may be cut after the first has come after
		 * all. */
		assert_in_range(c.tx_nack, has_nack ? trimmed - c.lost_gap - c.drop_malformed : 0,
				has_nack ? trimmed : 0);
		assert_int_equal(c.rx_nack, c.tx_nack);
		assert_int_equal(c.lost_nack, c.tx_nack);
		/* Losses that nobody tells of take EVs out of use, and some wait for timeouts. */
		assert_in_range(sim_now(&runs_run.sim), ideal,
				has_nack ? ideal + ideal / 4 : 4 * ideal);
		nothing_is_held();
		runs_end();
	}
}

/* Switches that leave "BTH and TSETH" to the letter, or no more than BTH: every packet that they
 * cut is still asked for again by its NACK, and none has to be found missing by silence (M-49). */
static void cut_behind_the_base_header(void **state)
{
	static const char *const sets[] = {"fabric.min_trim=24", "fabric.min_trim=20",
					   "fabric.min_trim=60 fabric.routing=usid"};

	(void)state;
	for (uint32_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
		runs_read(INCAST, sets[i]);
		runs_begin(NULL, NULL);
		runs_finish(20 * PSEC_US, BATTERY_BOUND);
		runs_all_done();
		struct mrc_counters c = counters();

		assert_int_equal(runs_drops(), 0);
		/* So short, probes are cut as well, and say nothing then. */
		assert_in_range(c.drop_malformed, 0, c.tx_fault_probe);
		assert_int_equal(c.timeouts, 0);
		assert_true(c.rx_trimmed > 0);
		assert_int_equal(c.rx_trimmed + c.drop_malformed, runs_run.sim.totals.trimmed);
		assert_int_equal(c.lost_nack, c.tx_nack);
		nothing_is_held();
		runs_end();
	}
}

/* Table 7-3: where they are counted, a packet that is trimmed once too often ends its flow. Else
 * that others arrive is reason enough to go on. */
static void trims_are_counted_if_wanted(void **state)
{
	(void)state;
	for (uint32_t is_counted = 0; is_counted < 2; is_counted++) {
		char set[128];

		snprintf(set, sizeof set,
			 "transport.linear_retries=1 transport.exponential_retries=0 "
			 "transport.count_trims=%s",
			 is_counted ? "true" : "false");
		runs_read(INCAST, set);
		runs_begin(NULL, NULL);
		runs_finish(20 * PSEC_US, BATTERY_BOUND);
		const struct traffic *t = &runs_run.traffic;
		struct mrc_counters c = counters();

		assert_true(c.rx_trimmed > 100);
		assert_int_equal(c.timeouts, 0);
		assert_int_equal(t->n_failed > 0, is_counted);
		assert_int_equal(c.failed, t->n_failed);
		for (uint32_t i = 0; i < runs_scenario.workload.n; i++)
			assert_int_equal(t->flows[i].status, t->flows[i].state == TRAFFIC_FAILED
								     ? ENGINE_RETRY_EXCEEDED
								     : ENGINE_OK);
		/* Else receivers keep what came ahead of packets that never will. */
		if (!is_counted)
			nothing_is_held();
		runs_end();
	}
}

/* Each packet takes the next EV, also when it is retransmitted: one plane of four that is gone
 * costs time, and no flow. */
static void a_lost_plane_is_gone_round(void **state)
{
	static const char yaml[] =
		"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, planes: 4, rate: "
		"100Gbps}\n"
		"workload: {kind: permutation, bytes: 1MiB}\n"
		"transport: {kind: mrc}\n"
		"faults: {kind: plane, plane: 1, from: 10us, until: 1s}\n";
	static const char *const sets[] = {"faults.from=500ms", "", "fabric.routing=usid",
					   "faults.from=0", "faults.until=20us"};
	psec whole = 0;

	(void)state;
	for (uint32_t i = 0; i < N_OF(sets); i++) {
		runs_read(yaml, sets[i]);
		runs_begin(NULL, NULL);
		runs_finish(20 * PSEC_US, BATTERY_BOUND);
		runs_all_done();
		struct mrc_counters c = counters();

		assert_int_equal(c.timeouts, 0);
		assert_int_equal(runs_drops() > 0, i > 0);
		if (i == 0)
			whole = sim_now(&runs_run.sim);
		/* A quarter of the rate is gone, and what was lost is retransmitted. */
		assert_true(sim_now(&runs_run.sim) <= 2 * whole);
		nothing_is_held();
		runs_end();
	}
}

static void windows_change_nothing(void **state)
{
	static const char *const yaml[] = {
		INCAST,
		BATTERY_LEAVES "workload: {kind: ring, bytes: 200KB}\ntransport: {kind: mrc}\n",
		BATTERY_LEAVES PERM
		"transport: {kind: mrc, timeout: 20us}\n"
		"faults: {kind: gray, at: leaf0-spine1, chance: 5%, until: 40us}\n",
		BATTERY_LEAVES PERM
		"transport: {kind: mrc, timeout: 20us}\n"
		"faults: {kind: random, kinds: [drop, duplicate, reorder, restart, skew],\n"
		"         count: 6, until: 30us}\n",
	};

	(void)state;
	battery_windows(&battery, yaml, N_OF(yaml));
}

static void restarts_end_what_was_under_way(void **state)
{
	(void)state;
	battery_restarts(&battery, "transport: {kind: mrc, timeout: 10us, linear_retries: 2, "
				   "exponential_retries: 0}\n");
}

static void random_faults_leave_nothing_behind(void **state)
{
	(void)state;
	battery_faults(&battery,
		       "transport: {kind: mrc, timeout: 20us, linear_retries: 3, "
		       "exponential_retries: 1}\n",
		       nacks);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(mistakes_are_told),
	cmocka_unit_test(defaults_are_those_of_the_specification),
	cmocka_unit_test(timeouts_are_rounded_up),
	cmocka_unit_test(settings_reach_the_engine),
	cmocka_unit_test(every_fabric_and_workload_runs),
	cmocka_unit_test(a_loss_costs_two_round_trips),
	cmocka_unit_test(a_lost_end_is_found_by_a_probe),
	cmocka_unit_test(a_lost_retransmission_waits_for_its_timeout),
	cmocka_unit_test(lost_answers_cost_little),
	cmocka_unit_test(answers_are_not_starved_by_data),
	cmocka_unit_test(a_black_out_is_survived),
	cmocka_unit_test(a_long_black_out_is_one_error),
	cmocka_unit_test(evs_come_back_without_ev_probes),
	cmocka_unit_test(trimmed_packets_are_retransmitted),
	cmocka_unit_test(cut_behind_the_base_header),
	cmocka_unit_test(trims_are_counted_if_wanted),
	cmocka_unit_test(a_lost_plane_is_gone_round),
	cmocka_unit_test(windows_change_nothing),
	cmocka_unit_test(restarts_end_what_was_under_way),
	cmocka_unit_test(random_faults_leave_nothing_behind),
};

CHECK_MAIN(cases)
