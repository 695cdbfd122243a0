/* What hosts that run MRC put on the wires of a fabric, read from the frames themselves: how soon a
 * packet leaves after it was stamped, and which UDP port it goes to. */
#include <inttypes.h>
#include <stdio.h>

#include "check.h"
#include "runs.h"
#include "wire/mrc.h"
#include "wire/packet.h"

#define BOUND   (100 * PSEC_MS)
#define UNIT_NS 128u /* of a timestamp */
#define SOON_NS 500u
#define N_OF(a) (sizeof(a) / sizeof(a)[0])
#define LEAVES  "topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4}\n"
#define MRC     "transport: {kind: mrc}\n"
#define PERM    "workload: {kind: permutation, bytes: 100KB}\n"
#define LOSSY                                                 \
	"workload: {kind: incast, fan_in: 7, bytes: 200KB}\n" \
	"faults: {kind: gray, at: leaf0-spine1, chance: 10%}\n"

/* What the taps saw, and how they read it. */
struct seen {
	struct net_cfg net;
	uint64_t frames, foreign; /* foreign: to another port than that of net */
	uint64_t data, retx, probes;
	uint64_t longest_ns; /* between the stamp of a request and its first bit */
};

/* The stamp is cut to whole units: the packet may have waited for one less. */
static void see_stamp(struct seen *seen, nsec now, uint16_t stamp)
{
	uint64_t units = (uint16_t)(now / UNIT_NS - stamp);
	uint64_t waited = units * UNIT_NS + now % UNIT_NS;

	if (waited > seen->longest_ns)
		seen->longest_ns = waited;
}

static void on_frame(void *context, uint32_t port, bool is_out, psec at, struct cspan frame)
{
	struct seen *seen = context;
	struct wire_packet p;
	enum wire_drop why = wire_packet_get(frame, NET_LINK_ETHERNET, &seen->net, &p, NULL).why;

	(void)port;
	seen->frames++;
	seen->foreign += why == WIRE_DROP_NOT_ROCE;
	if (!is_out || why == WIRE_DROP_NOT_ROCE)
		return;
	assert_int_equal(why, WIRE_DROP_NONE);
	if (p.mrc.bth.opcode == MRC_OP_PROBE_REQUEST) {
		assert_int_equal(p.mrc.peth.ftype, MRC_FTYPE_TIMESTAMP);
		see_stamp(seen, at / PSEC_NS, (uint16_t)p.mrc.peth.tx_timestamp);
		seen->probes++;
	} else if (p.mrc.bth.ts) {
		const struct fwd_names *names = &runs_scenario.names;

		/* MRC-7.5.5.1: what is retransmitted has a class of its own. */
		assert_int_equal(net_dscp(&p.net),
				 p.mrc.bth.rtx ? names->trimmable_rtx : names->trimmable);
		seen->retx += p.mrc.bth.rtx;
		see_stamp(seen, at / PSEC_NS, (uint16_t)p.mrc.tseth.tx_timestamp);
		seen->data++;
	}
}

/* Begins a run with a tap at every port of a host. */
static void begin_tapped(const char *yaml, const char *settings, struct seen *seen)
{
	static uint8_t tapped[1024];
	struct run_tap tap = {.context = seen, .frame = on_frame};

	runs_read(yaml, settings);
	const struct topology *t = &runs_scenario.topology;

	assert_in_range(t->n_ports, 1, N_OF(tapped));
	for (uint32_t i = 0; i < t->n_ports; i++)
		tapped[i] = t->nodes[t->ports[i].node].is_host;
	runs_begin(&tap, tapped);
}

/* MRC-6.2.2.3-08: within 0.5 us: a NIC takes from the engine what leaves so soon. */
static void packets_leave_soon_after_their_stamp(void **state)
{
	static const struct {
		const char *rate, *payload;
	} table[] = {{"400Gbps", "4096"}, {"200Gbps", "4096"}, {"100Gbps", "4096"}};
	static const char *const workloads[] = {
		"workload: {kind: permutation, bytes: 1MiB}\n",
		"workload: {kind: all-to-all, bytes: 100KB}\n",
		LOSSY,
	};
	uint64_t probes = 0, retx = 0;
	char yaml[512], set[96];

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++)
		for (uint32_t k = 0; k < N_OF(workloads); k++) {
			struct seen seen = {.net = net_cfg_default()};

			snprintf(yaml, sizeof yaml, LEAVES MRC "%s", workloads[k]);
			snprintf(set, sizeof set, "topology.rate=%s transport.payload=%s",
				 table[i].rate, table[i].payload);
			begin_tapped(yaml, set, &seen);
			seen.net = runs_run.sim.net;
			assert_int_not_equal(runs_scenario.names.trimmable,
					     runs_scenario.names.trimmable_rtx);
			assert_int_equal(runs_run.sim.dscp_of[ENGINE_NO_TRIM],
					 runs_scenario.names.no_trim);
			runs_finish(PSEC_NEVER, BOUND);
			runs_all_done();
			assert_true(seen.data > 300);
			assert_int_equal(seen.foreign, 0);
			if (seen.longest_ns > SOON_NS + UNIT_NS)
				fail_msg("%s: %" PRIu64 " ns", set, seen.longest_ns);
			/* A port that is busy has packets that wait: the stamps are real ones. */
			assert_true(seen.longest_ns > UNIT_NS);
			probes += seen.probes;
			retx += seen.retx;
			runs_end();
		}
	assert_true(probes > 0 && retx > 0);
}

/* MRC-7.5.5.2-01: 4791 unless the scenario says so, around every packet of either end. */
static void the_udp_port_is_set(void **state)
{
	static const struct {
		const char *set;
		uint16_t port;
	} table[] = {
		{"", 4791},
		{"fabric.udp_port=4971", 4971},
		{"fabric.udp_port=65535 fabric.routing=usid", 65535},
		{"fabric.udp_port=1 fabric.routing=usid+srh", 1},
		{"fabric.udp_port=4971 transport.kind=rc", 4971},
	};

	(void)state;
	for (uint32_t i = 0; i < N_OF(table); i++) {
		struct seen seen = {.net = net_cfg_default()};

		begin_tapped(LEAVES MRC PERM, table[i].set, &seen);
		assert_int_equal(runs_scenario.udp_port, table[i].port);
		*net_cfg_port(&seen.net) = table[i].port;
		runs_finish(PSEC_NEVER, BOUND);
		runs_all_done();
		assert_true(seen.frames > 400);
		assert_int_equal(seen.foreign, 0);
		assert_int_equal(runs_drops(), 0);
		runs_end();
	}
}

/* A host takes packets to its own port and no others. */
static void another_udp_port_is_not_received(void **state)
{
	(void)state;
	for (uint32_t is_other = 0; is_other < 2; is_other++) {
		struct seen seen = {.net = net_cfg_default()};

		begin_tapped(LEAVES MRC PERM, "fabric.udp_port=4971 end=50us", &seen);
		/* Packets keep the port that was there when the hosts were made. */
		runs_run.sim.by.port = is_other ? 4791 : 4971;
		*net_cfg_port(&runs_run.sim.net) = runs_run.sim.by.port;
		runs_finish(PSEC_NEVER, BOUND);
		const struct sim_totals *totals = &runs_run.sim.totals;

		assert_true(seen.frames > 16);
		assert_int_equal(seen.foreign, seen.frames);
		assert_int_equal(totals->delivered > 0, !is_other);
		assert_int_equal(totals->drops[SIM_DROP_HOST_FORMAT] > 0, is_other);
		runs_end();
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(packets_leave_soon_after_their_stamp),
	cmocka_unit_test(the_udp_port_is_set),
	cmocka_unit_test(another_udp_port_is_not_received),
};

CHECK_MAIN(cases)
