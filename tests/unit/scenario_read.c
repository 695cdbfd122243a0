#include "scenario/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

#define MANY 8u

static char error[SCENARIO_ERROR_MAX];

static int read_with(struct scenario *s, const char *text, const struct scenario_override *set,
		     uint32_t n)
{
	struct scenario_source source = {.file = "f.yaml",
					 .text = text,
					 .len = strlen(text),
					 .overrides = set,
					 .n_overrides = n};

	error[0] = '\0';
	return scenario_read(s, &source, error, sizeof error);
}

/* Reads what must be right. */
static void read_good(struct scenario *s, const char *text)
{
	if (read_with(s, text, NULL, 0))
		fail_msg("%s", error);
}

struct bad {
	const char *text, *error;
};

static void check_bad(const struct bad *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct scenario s;

		assert_int_equal(read_with(&s, table[i].text, NULL, 0), -EINVAL);
		if (strcmp(error, table[i].error) != 0)
			fail_msg("case %zu: \"%s\"\n   instead of \"%s\"", i, error,
				 table[i].error);
	}
}

#define BAD(table) check_bad(table, sizeof(table) / sizeof(table)[0])
#define LS         "topology: {kind: leaf-spine, hosts: 32, hosts_per_leaf: 8}\n"
#define PERM       "workload: {kind: permutation}\n"

/* Two topology lines, so that line numbers show. */
static void defaults(void **state)
{
	struct scenario s;

	(void)state;
	read_good(&s, "topology: {kind: leaf-spine}\n" PERM);
	assert_int_equal(s.topology.n_hosts, 128);
	assert_int_equal(s.topology.n_ports, 2 * (128 + 8 * 16));
	assert_int_equal(s.topology.ports[0].rate_bps, UINT64_C(400000000000));
	assert_int_equal(s.topology.ports[0].delay_ps, PSEC_US);
	assert_int_equal(s.seed, 1);
	assert_true(s.end_ps == PSEC_NEVER);
	assert_int_equal(s.routing.mode, ROUTING_ECMP);
	assert_int_equal(s.routing.hash_fields, FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL);
	assert_int_equal(s.overhead_bytes, 24);
	assert_int_equal(s.udp_port, 4791);
	assert_int_equal(s.qos.n_classes, 3);
	assert_int_equal(s.qos.dscps[10].trim, FWD_TRIM_TRIMMABLE);
	assert_int_equal(s.qos.classes[0].min_trim_bytes, 28);
	assert_true(s.buffer.shared);
	assert_int_equal(s.buffer.total_bytes, 64 << 20);
	assert_string_equal(s.transport.name, "ref");
	assert_int_equal(s.transport.payload_bytes, 4096);
	assert_int_equal(s.transport.window_pkts, 0);
	assert_int_equal(s.workload.n, 128);
	assert_int_equal(s.workload.flows[0].bytes, 1 << 20);
	/* Four hops out with 4096 + 98 + 24 bytes, four back with 64 + 24, 1 us each. */
	assert_int_equal(s.base_rtt_ps, 4 * (4218 * 20 + 1000000) + 4 * (88 * 20 + 1000000));
	assert_int_equal(s.plane_bdp_bytes, s.base_rtt_ps / 20);
	assert_int_equal(s.qos.classes[0].threshold_bytes, s.plane_bdp_bytes);
	scenario_fini(&s);
}

/* SRv6 makes packets longer, slower links the product smaller, switches the trip longer. */
static void times(void **state)
{
	struct scenario s;

	(void)state;
	read_good(&s, "topology: {kind: leaf-spine, rate: 800Gbps, switch_delay: 100ns,\n"
		      "  host_link: {rate: 400Gbps, delay: 2us}}\n"
		      "fabric: {routing: usid+srh, overhead: 20}\n"
		      "transport: {payload: 1024}\n" PERM);
	psec out = 2 * (1206 * 20) + 2 * (1206 * 10), back = 2 * (84 * 20) + 2 * (84 * 10);

	assert_int_equal(s.base_rtt_ps, out + back + 2 * 6000000 + 2 * 3 * 100000);
	assert_int_equal(s.plane_bdp_bytes, s.base_rtt_ps / 20);
	assert_int_equal(s.qos.classes[0].min_trim_bytes, 92);
	scenario_fini(&s);
	/* One way of one host's link is slower: it bounds the product. */
	read_good(&s, LS PERM "fabric: {routing: usid}\n");
	psec rtt = s.base_rtt_ps;

	assert_int_equal(s.qos.classes[0].min_trim_bytes, 68);
	scenario_fini(&s);
	read_good(&s, "topology: {kind: leaf-spine, hosts: 32, hosts_per_leaf: 8,\n"
		      "  links: [{match: h5>leaf0, rate: 100Gbps}]}\n"
		      "fabric: {routing: usid}\n" PERM);
	assert_int_equal(s.base_rtt_ps, rtt);
	assert_int_equal(s.plane_bdp_bytes, rtt / 80);
	scenario_fini(&s);
	read_good(&s,
		  "topology: {kind: wire}\nfabric: {bdp: 100KB, ecn: {min: 0.25bdp, max: 1bdp},\n"
		  "  threshold: {data: 2bdp}}\n"
		  "transport: {window: 2bdp}\nworkload: {kind: single}\n");
	assert_int_equal(s.plane_bdp_bytes, 100000);
	assert_int_equal(s.qos.classes[0].ecn_min_bytes, 25000);
	assert_int_equal(s.qos.classes[0].ecn_max_bytes, 100000);
	assert_int_equal(s.qos.classes[0].threshold_bytes, 200000);
	assert_int_equal(s.qos.dscps[12].threshold_bytes, 300000);
	assert_int_equal(s.transport.window_pkts, (200000 + 4193) / 4194);
	scenario_fini(&s);
}

static void fabric(void **state)
{
	struct scenario s;

	(void)state;
	read_good(&s, LS PERM
		  "fabric:\n"
		  "  routing: structured\n  hash: [src, flow_label]\n  ev_widths: [4, 5, 6]\n"
		  "  container: F1616\n  decapsulate: leaf\n  adjacency: yes\n  overhead: 0\n"
		  "  buffer: {kind: port, size: 2MiB}\n  trimming: off\n  classes: 3\n  ecn: off\n"
		  "  threshold: {control: 9KB, trimmed: 8KB, data: 7KB}\n  alpha: 0.5\n"
		  "  scheduling: wrr\n  weights: {low: 2, med: 5}\n  pfc: {xoff: 100KB}\n"
		  "  dscp: {control: 63}\n  min_trim: 100\n  udp_port: 65535\n");
	assert_int_equal(s.routing.mode, ROUTING_STRUCTURED);
	assert_int_equal(s.routing.hash_fields, FWD_HASH_SRC | FWD_HASH_FLOW_LABEL);
	assert_int_equal(s.routing.ev_layout.n, 3);
	assert_int_equal(s.routing.ev_layout.widths[2], 6);
	assert_int_equal(s.routing.format, FWD_F1616);
	assert_int_equal(s.routing.decap, ROUTING_DECAP_LEAF);
	assert_true(s.routing.uses_adjacency);
	assert_false(s.buffer.shared);
	assert_int_equal(s.buffer.total_bytes, 2 << 20);
	assert_false(s.qos.classes[0].ecn);
	assert_int_equal(s.qos.dscps[10].trim, FWD_TRIM_NEVER);
	assert_int_equal(s.qos.classes[2].threshold_bytes, 9000);
	assert_int_equal(s.qos.dscps[18].threshold_bytes, 8000);
	assert_int_equal(s.qos.classes[0].threshold_bytes, 7000);
	assert_int_equal(s.qos.classes[0].alpha_eighths, 4);
	assert_int_equal(s.qos.classes[1].level, s.qos.classes[0].level);
	assert_int_equal(s.qos.classes[0].weight, 2);
	assert_int_equal(s.qos.classes[1].weight, 5);
	assert_int_equal(s.qos.classes[2].weight, 1);
	assert_int_equal(s.qos.classes[0].pfc_xoff_bytes, 100000);
	assert_int_equal(s.qos.classes[0].pfc_xon_bytes, 80000);
	assert_int_equal(s.qos.dscps[63].tclass, 2);
	assert_int_equal(s.qos.classes[0].min_trim_bytes, 100);
	assert_int_equal(s.udp_port, 65535);
	scenario_fini(&s);
	read_good(&s, LS PERM "fabric: {pfc: on}\n");
	assert_int_equal(s.qos.classes[0].threshold_bytes, 0);
	assert_int_equal(s.qos.dscps[10].trim, FWD_TRIM_NEVER);
	assert_int_equal(s.qos.classes[0].pfc_xoff_bytes, s.plane_bdp_bytes / 4);
	scenario_fini(&s);
}

static void topologies(void **state)
{
	struct scenario s;

	(void)state;
	read_good(&s, "topology: {kind: leaf-spine, hosts: 24, hosts_per_leaf: 6, planes: 2,\n"
		      "  nic_ports: 4, oversubscription: 1.5, uplinks: 2, rate: 100Gbps,\n"
		      "  links: [{match: p0.leaf0-p0.spine1, rate: 50Gbps, buffer: 1MB}]}\n" PERM);
	/* Below a leaf of a plane: 6 hosts with 2 links; 12 / 1.5 uplinks in pairs to 4 spines. */
	assert_int_equal(s.topology.n_ports, 2 * (24 * 4 + 2 * 4 * 4 * 2));
	uint32_t slow = topology_find_port(&s.topology, "p0.spine1>p0.leaf0");

	assert_int_equal(s.topology.ports[slow].rate_bps, UINT64_C(50000000000));
	assert_int_equal(s.topology.ports[slow].buffer_bytes, 1000000);
	scenario_fini(&s);
	read_good(&s, "topology: {kind: fat-tree, hosts: 32, hosts_per_leaf: 4, leaves_per_pod: "
		      "2}\n" PERM);
	/* 4 pods of 2 leaves and 4 spines, each of which has two links down and two up. */
	assert_int_equal(s.topology.n_ports, 2 * (32 + 8 * 4 + 16 * 2));
	scenario_fini(&s);
	read_good(&s, "topology: {kind: graph, hosts: 2, switches: [s], rate: 1Gbps, delay: 0,\n"
		      "  links: [{between: [h0, s]}, {between: [h1, s], delay: 1ns}]}\n" PERM);
	assert_int_equal(s.topology.n_hosts, 2);
	assert_int_equal(s.topology.ports[1].delay_ps, 1000);
	scenario_fini(&s);
}

static void workloads(void **state)
{
	struct scenario s;

	(void)state;
	read_good(&s, LS "workload:\n"
			 "  - {kind: single, src: h3, dst: 9, bytes: 5, message: 2, window: 3,\n"
			 "     repeat: 4, start: 1us, gap: 2us, qp: 7}\n"
			 "  - {kind: incast, dst: h1, fan_in: 4, victim: yes, stagger: 1ns}\n"
			 "  - {kind: ring, members: 4, bytes: 64}\n"
			 "  - {kind: tree, members: 4, bytes: 64, chunk: 32}\n"
			 "  - {kind: all-to-all, members: 3}\n");
	const struct workload_flow *f = &s.workload.flows[0];

	assert_int_equal(s.workload.n, 1 + 5 + 24 + 12 + 6);
	assert_true(f->src == 3 && f->dst == 9 && f->bytes == 5 && f->message_bytes == 2);
	assert_true(f->window == 3 && f->repeat == 4 && f->start_ps == 1000000);
	assert_int_equal(f->gap_ps, 2000000);
	assert_true(f->qp == 7 && f[1].qp == 0);
	assert_int_equal(f[1].dst, 1);
	assert_int_equal(f[2].start_ps, 1000);
	assert_int_equal(f[5].role, WORKLOAD_VICTIM);
	scenario_fini(&s);
	read_good(&s, LS "workload: {kind: random, load: 20%, duration: 50us, sizes: websearch}\n");
	assert_true(s.workload.n > 0);
	scenario_fini(&s);
	read_good(&s, LS "workload: {kind: random, bytes: 4KiB, duration: 10us}\n");
	assert_true(s.workload.n > 10 && s.workload.flows[7].bytes == 4096);
	scenario_fini(&s);
}

static void spreads(void **state)
{
	struct scenario s;

	(void)state;
	/* 4 chunks of 256 KiB, unless something else is said, but for unicast. */
	read_good(&s, LS "workload:\n"
			 "  - {kind: broadcast, src: h3, receivers: 5}\n"
			 "  - {kind: broadcast, receivers: 5, by: ring}\n"
			 "  - {kind: broadcast, receivers: 5, by: tree, chunk: 64KiB}\n"
			 "  - {kind: all-gather, members: 4, at_a_time: 2, bytes: 9}\n");
	const struct workload_flow *f = s.workload.flows;

	assert_int_equal(s.workload.n, 5 + 4 * 5 + 16 * 5 + 4 * 3);
	assert_true(f[0].src == 3 && f[0].dst == 4 && f[4].dst == 8 && f[4].src == 3);
	assert_true(f[5].src == 0 && f[5].bytes == 256u << 10 && f[6].src == 1 && f[6].dst == 2);
	assert_true(f[25].src == 0 && f[25].bytes == 64u << 10 && f[28].src == 1);
	assert_true(f[105].src == 0 && f[105].n_before == 0 && f[111].n_before == 1);
	scenario_fini(&s);
	read_good(&s, LS "workload: {kind: broadcast}\n");
	assert_int_equal(s.workload.n, s.topology.n_hosts - 1);
	scenario_fini(&s);
	read_good(&s, LS "workload: {kind: all-gather, members: 3}\n");
	for (uint32_t i = 0; i < s.workload.n; i++)
		assert_int_equal(s.workload.flows[i].n_before, 0);
	scenario_fini(&s);
}

static void faults(void **state)
{
	struct scenario s;

	(void)state;
	read_good(&s,
		  LS PERM "end: 1ms\nfaults:\n"
			  "  - {kind: gray, at: leaf0-spine1, chance: 1%, from: 1us, until: 2us}\n"
			  "  - {kind: drop, at: leaf0-spine1, chance: 0.1%, match: data}\n"
			  "  - {kind: corrupt, at: h0>leaf0, chance: 5ppm, bits: 3, crc: fcs}\n"
			  "  - {kind: flap, at: leaf1-spine0, count: 2, period: 3us}\n"
			  "  - {kind: skew, at: h4, skew: -50ppm}\n"
			  "  - {kind: jump, at: 5, by: 7us, from: 9us}\n"
			  "  - {kind: reboot, at: spine1, until: 10us}\n"
			  "  - {kind: plane, plane: 0, until: 10us}\n"
			  "  - {kind: random, count: 5, kinds: [drop, flap]}\n");
	const struct fault *f = s.faults;

	/* A gray link is one fault, drops act on each of the two ports. */
	assert_int_equal(s.n_faults, 9);
	assert_true(f[0].kind == FAULT_GRAY && f[0].ppm == 10000 && f[0].until_ps == 2000000);
	assert_true(f[1].kind == FAULT_DROP && f[2].kind == FAULT_DROP && f[1].ppm == 1000);
	assert_int_equal(s.topology.ports[f[1].port].peer, f[2].port);
	assert_int_equal(f[1].match, FAULT_DATA);
	assert_true(f[1].until_ps == PSEC_NEVER);
	assert_true(f[3].count == 3 && f[3].crc == FAULT_CRC_FCS_REPAIRED && f[3].port == 0);
	assert_true(f[4].count == 2 && f[4].amount_ps == 3000000);
	assert_true(f[5].node == 4 && f[5].ppm == 50 && f[5].sign == -1);
	assert_true(f[6].node == 5 && f[6].amount_ps == 7000000 && f[6].from_ps == 9000000);
	assert_string_equal(s.topology.labels[f[7].node], "spine1");
	assert_int_equal(s.n_random_faults, 1);
	assert_int_equal(s.random_faults[0].count, 5);
	assert_int_equal(s.random_faults[0].kinds, 1u << FAULT_DROP | 1u << FAULT_FLAP);
	assert_int_equal(s.random_faults[0].until_ps, PSEC_MS);
	scenario_fini(&s);
}

static void bad_files(void **state)
{
	static const struct bad table[] = {
		{"", "f.yaml:1: there is nothing in it"},
		{"# only this\n", "f.yaml:1: there is nothing in it"},
		{"[1]\n", "f.yaml:1: not a map; write lines like \"seed: 7\""},
		{"a: 1\nb: \xff\n",
		 "f.yaml:2: not UTF-8 text: invalid leading UTF-8 octet; save the "
		 "file as UTF-8"},
		{"\xff\xfe"
		 "a",
		 "f.yaml:1: not UTF-8 text: invalid leading UTF-8 octet; save the file as UTF-8"},
		{"a: [1\nb: 2\n",
		 "f.yaml:2: not YAML: did not find expected ',' or ']' while parsing "
		 "a flow sequence; column 2"},
		{"a: 1\n---\nb: 2\n", "f.yaml:3: a second document begins; a file has one"},
		{"a: &a [*a]\n", "f.yaml:1: a[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: deeper "
				 "than 16 levels; make it flatter"},
		{"? [a]\n: 1\n", "f.yaml:1: a key is a list or a map; keys are words"},
		{"seed: 1\nseed: 2\n", "f.yaml:2: seed: stands twice, first in line 1; keep one of "
				       "them"},
		{"seed: \"a\\0\"\n", "f.yaml:1: seed: contains a zero byte; write plain text"},
	};

	(void)state;
	BAD(table);
}

/* Stopped where it gets too deep, not after all of it was read: that would take minutes. */
static void depth_bomb(void **state)
{
	static char text[1000000];
	struct scenario_source source = {.file = "f.yaml", .text = text, .len = sizeof text};
	struct scenario s;

	(void)state;
	memset(text, '[', sizeof text);
	assert_int_equal(scenario_read(&s, &source, error, sizeof error), -EINVAL);
	assert_string_equal(error, "f.yaml:1: deeper than 16 levels; make it flatter");
}

/* Some 370,000 values by aliases: stopped by count, not by memory. */
static void alias_bomb(void **state)
{
	char text[1024] = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
	struct scenario s;

	(void)state;
	for (int i = 1; i < 6; i++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof text - len,
			 "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1,
			 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	}
	assert_int_equal(read_with(&s, text, NULL, 0), -EINVAL);
	assert_non_null(strstr(error, "more than 262144 values, aliases included"));
	read_good(&s, "topology: &t {kind: wire}\nworkload:\n  - &w {kind: single}\n  - *w\n");
	assert_int_equal(s.workload.n, 2);
	scenario_fini(&s);
}

static void bad_keys(void **state)
{
	static const struct bad table[] = {
		{"seed: 1\n", "f.yaml:1: topology: is missing; write topology: {kind: leaf-spine}"},
		{LS, "f.yaml:1: workload: is missing; write workload: {kind: permutation}"},
		{"topolgy: {kind: wire}\n", "f.yaml:1: topolgy: unknown key; did you mean "
					    "\"topology\"?"},
		{LS PERM "sead: 1\n", "f.yaml:3: sead: unknown key in a scenario; did you mean "
				      "\"seed\"?"},
		{LS "workload:\n  kind: single\n  Bytes: 1\n",
		 "f.yaml:4: workload.Bytes: unknown key in a single flow; did you mean \"bytes\"?"},
		{LS "workload:\n  - kind: single\n    fan_in: 1\n",
		 "f.yaml:4: workload[0].fan_in: unknown key in a single flow; known are kind, "
		 "message, "
		 "window, start, repeat, gap, bytes, src, dst, qp"},
		{LS "workload: {kind: single, qp: 1024}\n",
		 "f.yaml:2: workload.qp: \"1024\" is too large; at most 1023"},
		{LS PERM "faults:\n  - {kind: down, at: h0-leaf0}\n  - {kind: down, at: h0-leaf0,\n"
			 "     chanse: 1%}\n",
		 "f.yaml:6: faults[1].chanse: unknown key in a fault of kind down; known are kind, "
		 "at, "
		 "from, until"},
		{LS PERM "fabric: {ecn: {mim: 3}}\n",
		 "f.yaml:3: fabric.ecn.mim: unknown key in ecn; did you mean \"min\"?"},
	};

	(void)state;
	BAD(table);
}

static void bad_topologies(void **state)
{
	static const struct bad table[] = {
		{"topology: wire\n" PERM,
		 "f.yaml:1: topology: is a single value; it must be a map, like {key: value}"},
		{"topology: {kind: ring}\n" PERM,
		 "f.yaml:1: topology.kind: \"ring\" is unknown; one of wire, leaf-spine, fat-tree, "
		 "graph, file"},
		{"topology:\n  kind: wire\n  rate: 400\n" PERM,
		 "f.yaml:3: topology.rate: \"400\" needs a unit; write a rate like 400Gbps (bps, "
		 "kbps, "
		 "Mbps, Gbps or Tbps)"},
		{"topology:\n  kind: wire\n  rate: -1Gbps\n" PERM,
		 "f.yaml:3: topology.rate: \"-1Gbps\" is negative; write a rate like 400Gbps (bps, "
		 "kbps, Mbps, Gbps or Tbps)"},
		{"topology:\n  kind: wire\n  rate: 0Gbps\n" PERM,
		 "f.yaml:3: topology.rate: \"0Gbps\" is too small; at least 1Mbps"},
		{"topology:\n  kind: leaf-spine\n  hosts: [1]\n" PERM,
		 "f.yaml:3: topology.hosts: is a list; it must be a single value"},
		{"topology:\n  kind: leaf-spine\n  hosts: 65537\n" PERM,
		 "f.yaml:3: topology.hosts: \"65537\" is too large; at most 65536"},
		{"topology:\n  kind: leaf-spine\n  hosts: 20\n" PERM,
		 "f.yaml:3: topology.hosts: 20 hosts do not fill leaves of 16 (hosts_per_leaf); "
		 "use a "
		 "multiple"},
		{"topology:\n  kind: leaf-spine\n  planes: 3\n  nic_ports: 4\n" PERM,
		 "f.yaml:4: topology.nic_ports: 4 ports cannot be shared by 3 planes; use a "
		 "multiple"},
		{"topology:\n  kind: leaf-spine\n  oversubscription: 3\n" PERM,
		 "f.yaml:3: topology.oversubscription: no whole number of spines up to 4096 gives "
		 "that "
		 "oversubscription; say how many spines"},
		{"topology:\n  kind: leaf-spine\n  oversubscription: 2\n  spines: 4\n" PERM,
		 "f.yaml:3: topology.oversubscription: stands beside spines; give one of the two"},
		{"topology:\n  kind: fat-tree\n  leaves_per_pod: 5\n" PERM,
		 "f.yaml:3: topology.leaves_per_pod: 32 leaves do not fill pods of 5; use a "
		 "divisor"},
		{"topology:\n  kind: leaf-spine\n  links: [{match: leaf9-spine0}]\n" PERM,
		 "f.yaml:3: topology.links[0].match: \"leaf9-spine0\" names no link; write it like "
		 "leaf0-spine1, h0>leaf0 or h0>*"},
		{"topology:\n  kind: graph\n  hosts: [a, b]\n  links: [{between: [a, x]}]\n" PERM,
		 "f.yaml:4: topology.links[0].between: link a-x: there is no x"},
		{"topology:\n  kind: graph\n  hosts: [a, a]\n  links: [{between: [a, a]}]\n" PERM,
		 "f.yaml:3: topology.hosts[1]: name a is taken"},
		{"topology:\n  kind: graph\n  hosts: [a, b, c]\n  links: [{between: [a, "
		 "b]}]\n" PERM,
		 "f.yaml:4: topology.links: host c has no link; join it to a switch"},
		{"topology:\n  kind: file\n  file: x.topo\n" PERM,
		 "f.yaml:3: topology.file: \"x.topo\": no other files can be read here; name a "
		 "file "
		 "beside this one"},
	};

	(void)state;
	BAD(table);
}

static void bad_fabrics(void **state)
{
	static const struct bad table[] = {
		{LS PERM "fabric:\n  routing: magic\n",
		 "f.yaml:4: fabric.routing: \"magic\" is unknown; one of ecmp, structured, usid, "
		 "usid+srh"},
		{LS PERM "fabric:\n  psp: true\n",
		 "f.yaml:4: fabric.psp: there is no SRH to pop; use routing: usid+srh"},
		{LS PERM "fabric:\n  hash: []\n",
		 "f.yaml:4: fabric.hash: is empty; list fields like [src, dst, sport, dport]"},
		{LS PERM "fabric:\n  ev_widths: [16, 17]\n",
		 "f.yaml:4: fabric.ev_widths[1]: \"17\" is too large; at most 16"},
		{LS PERM "fabric:\n  ev_widths: [16, 16, 1]\n",
		 "f.yaml:4: fabric.ev_widths: the widths make no entropy value; 1 to 8 of them, at "
		 "most 32 bits together"},
		{LS PERM "fabric:\n  min_trim: 20\n",
		 "f.yaml:4: fabric.min_trim: \"20\" is too small; at least 28"},
		{LS PERM "transport: {kind: mrc}\nfabric:\n  min_trim: 19\n",
		 "f.yaml:5: fabric.min_trim: \"19\" is too small; at least 20"},
		{LS PERM "fabric:\n  udp_port: 0\n",
		 "f.yaml:4: fabric.udp_port: \"0\" is too small; at least 1"},
		{LS PERM "fabric:\n  udp_port: 65536\n",
		 "f.yaml:4: fabric.udp_port: \"65536\" is too large; at most 65535"},
		{LS PERM "fabric:\n  ecn: {min: 2KB, max: 1KB}\n",
		 "f.yaml:4: fabric.ecn.min: 2000 bytes are above max, 1000; make it smaller"},
		{LS PERM "fabric:\n  pfc: {xoff: 1KB, xon: 2KB}\n",
		 "f.yaml:4: fabric.pfc.xon: 2000 bytes are above xoff, 1000; make it smaller"},
		{LS PERM "fabric:\n  dscp: {trimmed: 10}\n",
		 "f.yaml:4: fabric.dscp.trimmed: 10 is the number of trimmable too; each needs its "
		 "own"},
		{LS PERM "fabric:\n  classes: 2\n  scheduling: wrr\n",
		 "f.yaml:5: fabric.scheduling: wrr shares between low and med; use classes: 3"},
		{LS PERM "fabric:\n  alpha: 0.3\n",
		 "f.yaml:4: fabric.alpha: is no multiple of 1/8; use one like 0.5 or 0.125"},
		{LS PERM "transport:\n  window: 1025\n",
		 "f.yaml:4: transport.window: \"1025\" is 1025 packets; 1 to 1024"},
		{LS PERM "transport:\n  payload: 1001\n",
		 "f.yaml:4: transport.payload: 1001 is no multiple of 4; use one"},
		{LS PERM "transport: {timeout: 5}\n", "f.yaml:3: transport.timeout: \"5\" needs a "
						      "unit; write a time like 1.5us (ps, ns, "
						      "us, ms or s)"},
		{LS PERM "transport: {kind: tcp}\n",
		 "f.yaml:3: transport.kind: \"tcp\" is unknown; one of ref, rc, mrc"},
	};

	(void)state;
	BAD(table);
}

static void bad_workloads(void **state)
{
	static const struct bad table[] = {
		{LS "workload: []\n", "f.yaml:2: workload: is empty; write at least one pattern"},
		{LS "workload: {kind: single, dst: h32}\n",
		 "f.yaml:2: workload.dst: there is no host \"h32\"; hosts are h0 to h31, or 0 to "
		 "31"},
		{LS "workload:\n  - {kind: single, dst: leaf0}\n",
		 "f.yaml:3: workload[0].dst: there is no host \"leaf0\"; hosts are h0 to h31, or 0 "
		 "to "
		 "31"},
		{LS "workload: {kind: single, src: 4, dst: h4}\n",
		 "f.yaml:2: workload.dst: host 4 is src itself"},
		{LS "workload: {kind: incast, fan_in: 32}\n",
		 "f.yaml:2: workload.fan_in: \"32\" is too large; at most 31"},
		{LS "workload: {kind: single, bytes: 0}\n",
		 "f.yaml:2: workload.bytes: \"0\" is too small; at least 1B"},
		{LS "workload: {kind: random, load: 1%, duration: 1ns}\n",
		 "f.yaml:2: workload: has no flow; raise load or duration"},
		{LS "workload: {kind: random, load: 2.5%}\n",
		 "f.yaml:2: workload.load: is no whole percentage; use one like 60%"},
		{LS "workload: {kind: random, sizes: [[1KiB, 50%], [2KiB]]}\n",
		 "f.yaml:2: workload.sizes[1]: 1 values; write [size, chance to be at most that]"},
		{LS "workload: {kind: random, sizes: [[1KiB, 50%]]}\n",
		 "f.yaml:2: workload.sizes: the last point must have 100 %"},
		{"topology:\n  kind: graph\n  hosts: [a, b, c, d]\n  switches: [s, u]\n  links:\n"
		 "    - {between: [a, s]}\n    - {between: [b, s]}\n    - {between: [c, u]}\n"
		 "    - {between: [d, u]}\nworkload:\n  - {kind: single, src: a, dst: b}\n"
		 "  - {kind: single, src: a, dst: c}\n",
		 "f.yaml:12: workload[1]: host c cannot be reached from a through a>s; add a link, "
		 "or "
		 "leave the flow out"},
	};

	(void)state;
	BAD(table);
}

static void bad_faults(void **state)
{
	static const struct bad table[] = {
		{LS PERM "faults:\n  - {kind: rust}\n",
		 "f.yaml:4: faults[0].kind: \"rust\" is unknown; one of drop, burst, duplicate, "
		 "reorder, "
		 "delay, corrupt, truncate, black-hole, gray, forge, flap, down, plane, pause, "
		 "reboot, "
		 "restart, skew, jump, random"},
		{LS PERM "faults:\n  - {kind: drop, chance: 1%}\n",
		 "f.yaml:4: faults[0].at: is missing; name a link or a port"},
		{LS PERM "faults:\n  - {kind: drop, at: x, chance: 1%}\n",
		 "f.yaml:4: faults[0].at: \"x\" names no link; write it like leaf0-spine1, "
		 "h0>leaf0 or "
		 "h0>*"},
		{LS PERM "faults:\n  - {kind: gray, at: h0-leaf0, chance: 40%}\n",
		 "f.yaml:4: faults[0].chance: \"40%\" is too large; at most 30%"},
		{LS PERM "faults: {kind: down, at: h0-leaf0, from: 2us, until: 1us}\n",
		 "f.yaml:3: faults.until: must be after from"},
		{LS PERM "faults: {kind: plane, plane: 1}\n",
		 "f.yaml:3: faults.plane: \"1\" is too large; at most 0"},
		{LS PERM "faults: {kind: restart, at: leaf0}\n",
		 "f.yaml:3: faults.at: there is no host \"leaf0\"; hosts are h0 to h31, or 0 to "
		 "31"},
		{LS PERM "faults: {kind: reboot, at: h0, until: 1us}\n",
		 "f.yaml:3: faults.at: there is no switch \"h0\"; write it like leaf0"},
		{LS PERM "faults: {kind: reboot, at: leaf0}\n",
		 "f.yaml:3: faults.until: is missing; say when it is over"},
		{LS PERM "faults: {kind: skew, at: h0, skew: 2000ppm}\n",
		 "f.yaml:3: faults.skew: \"2000ppm\" is out of range; write it like +50ppm, 1ppm "
		 "to "
		 "1000ppm"},
		{LS PERM "faults: {kind: random}\n",
		 "f.yaml:3: faults.until: is missing; say when the faults are over"},
	};

	(void)state;
	BAD(table);
}

static void overrides(void **state)
{
	static const struct scenario_override good[] = {
		{"topology.hosts", "64"},
		{"fabric.trimming", "off"},
		{"workload.0.bytes", "3KB"},
		{"workload[1].kind", "single"},
		{"workload.1.dst", "h5"},
		{"fabric.hash", "[src, dst]"},
		{"seed", "9"},
		{"seed", "18446744073709551615"},
		{"faults", "[{kind: gray, at: h0-leaf0, chance: 1%}]"},
	};
	struct scenario s;

	(void)state;
	assert_int_equal(read_with(&s, LS "workload: [{kind: permutation}]\n", good, 9), 0);
	assert_int_equal(s.workload.n, 64 + 1);
	assert_int_equal(s.workload.flows[0].bytes, 3000);
	assert_int_equal(s.workload.flows[64].dst, 5);
	assert_int_equal(s.topology.n_hosts, 64);
	assert_int_equal(s.seed, UINT64_MAX);
	assert_int_equal(s.qos.dscps[10].trim, FWD_TRIM_NEVER);
	assert_int_equal(s.routing.hash_fields, FWD_HASH_SRC | FWD_HASH_DST);
	assert_int_equal(s.n_faults, 1);
	scenario_fini(&s);
}

static void bad_overrides(void **state)
{
	static const struct {
		struct scenario_override set[2];
		const char *error;
	} table[] = {
		{{{"topology.hosts", "0"}, {"seed", "1"}},
		 "--set topology.hosts: \"0\" is too small; at least 2"},
		{{{"workload.0.byts", "1"}, {"seed", "1"}},
		 "--set workload.0.byts: unknown key in a permutation; did you mean \"bytes\"?"},
		{{{"workload.bytes", "-1"}, {"seed", "1"}},
		 "--set workload.bytes: \"-1\" is negative; write a size like 4KiB or 2MB (B, KB, "
		 "KiB, "
		 "MB, MiB, GB, GiB)"},
		{{{"faults", "[{kind: x}]"}, {"seed", "1"}},
		 "--set faults[0].kind: \"x\" is unknown; one of drop, burst, duplicate, reorder, "
		 "delay, corrupt, truncate, black-hole, gray, forge, flap, down, plane, pause, "
		 "reboot, "
		 "restart, skew, jump, random"},
		{{{"faults", "[{kind"}, {"seed", "1"}},
		 "--set faults: not YAML: did not find expected ',' or '}' while parsing a flow "
		 "mapping; column 1"},
		{{{"faults", "[]"}, {"faults.2.kind", "drop"}},
		 "--set faults.2.kind: the list has 0 entries; say which one, 0 to 0"},
		{{{"workload.1.bytes", "2"}, {"seed", "1"}},
		 "--set workload.1.bytes: there is a single map, no list; leave the index out"},
		{{{".seed", "1"}, {"seed", "1"}},
		 "--set .seed: not a key; write it like topology.hosts or workload.0.bytes"},
		{{{"seed.", "1"}, {"seed", "1"}},
		 "--set seed.: not a key; write it like topology.hosts or workload.0.bytes"},
		{{{"seed", ""}, {"end", "1"}},
		 "--set seed: is empty; write a value, or leave the key out"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct scenario s;

		assert_int_equal(read_with(&s, LS PERM, table[i].set, 2), -EINVAL);
		assert_string_equal(error, table[i].error);
	}
}

static void limits(void **state)
{
	struct scenario s;
	const char *text = "topology: {kind: leaf-spine}\nworkload: {kind: all-to-all}\n";
	struct scenario_source source = {
		.file = "f.yaml", .text = text, .len = strlen(text), .max_links = 255};

	(void)state;
	assert_int_equal(scenario_read(&s, &source, error, sizeof error), -EINVAL);
	assert_string_equal(error, "f.yaml:1: topology: 256 links; at most 255 here");
	source.max_links = 256;
	source.max_flows = 1000;
	assert_int_equal(scenario_read(&s, &source, error, sizeof error), -EINVAL);
	assert_string_equal(error, "f.yaml:2: workload: too many flows; at most 1000 here");
}

static void builtins(void **state)
{
	uint32_t n = 0;

	(void)state;
	for (const struct scenario_builtin *b; (b = scenario_builtin_at(n)); n++) {
		struct scenario s;

		read_good(&s, b->yaml);
		assert_string_equal(s.name, b->name);
		assert_true(s.workload.n > 0 && s.topology.n_hosts <= 128 && b->summary[0]);
		assert_ptr_equal(scenario_builtin_find(b->name), b);
		scenario_fini(&s);
	}
	assert_int_equal(n, 29);
	assert_null(scenario_builtin_find("no such"));
}

/* Whatever is cut, doubled or changed: an answer, with a message when it is no. */
static void damaged(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(7), 0);
	for (uint32_t round = 0; round < 3000; round++) {
		const struct scenario_builtin *b =
			scenario_builtin_at((uint32_t)prng_below(&p, 13));
		char text[1024];
		struct scenario s;
		size_t len = strlen(b->yaml);

		assert_true(len < sizeof text);
		memcpy(text, b->yaml, len + 1);
		for (uint32_t i = 0; i <= prng_below(&p, MANY); i++)
			text[prng_below(&p, len)] = (char)prng_range(&p, 1, 255);
		struct scenario_source source = {.file = "f.yaml",
						 .text = text,
						 .len = prng_range(&p, 0, len),
						 .max_links = 4096,
						 .max_flows = 4096};
		int rc = scenario_read(&s, &source, error, sizeof error);

		if (rc == 0)
			scenario_fini(&s);
		else
			assert_true(rc == -EINVAL && strncmp(error, "f.yaml:", 7) == 0);
	}
}

/* Weighted, med has three times what low has (UE 3.6.17), unless the weights say otherwise. */
static void weights(void **state)
{
	static const struct {
		const char *fabric;
		uint16_t want[3]; /* low, med, high */
	} rows[] = {
		{"", {1, 1, 1}},
		{"scheduling: strict", {1, 1, 1}},
		{"scheduling: wrr", {1, 3, 1}},
		{"scheduling: wrr, weights: {low: 2}", {2, 3, 1}},
		{"scheduling: wrr, weights: {med: 1}", {1, 1, 1}},
		{"weights: {med: 7, high: 9}", {1, 7, 9}},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct scenario s;
		char text[512];

		snprintf(text, sizeof text, LS PERM "fabric: {%s}\n", rows[i].fabric);
		read_good(&s, text);
		for (uint32_t c = 0; c < 3; c++)
			assert_int_equal(s.qos.classes[c].weight, rows[i].want[c]);
		scenario_fini(&s);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(weights),

	cmocka_unit_test(defaults),      cmocka_unit_test(times),
	cmocka_unit_test(fabric),        cmocka_unit_test(topologies),
	cmocka_unit_test(workloads),     cmocka_unit_test(spreads),
	cmocka_unit_test(faults),        cmocka_unit_test(bad_files),
	cmocka_unit_test(alias_bomb),    cmocka_unit_test(depth_bomb),
	cmocka_unit_test(bad_keys),      cmocka_unit_test(bad_topologies),
	cmocka_unit_test(bad_fabrics),   cmocka_unit_test(bad_workloads),
	cmocka_unit_test(bad_faults),    cmocka_unit_test(overrides),
	cmocka_unit_test(bad_overrides), cmocka_unit_test(limits),
	cmocka_unit_test(builtins),      cmocka_unit_test(damaged),
};

CHECK_MAIN(cases)
