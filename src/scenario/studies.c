#include "scenario/studies.h"

/* clang-format off */

/* What every one is compared with. */
#define PODS "topology: {kind: fat-tree, hosts: 128, hosts_per_leaf: 16, leaves_per_pod: 4}\n"
#define MANY "topology.hosts=2048, topology.hosts_per_leaf=32, topology.leaves_per_pod=8, "
#define RC "  - {name: rc, set: [transport.kind=rc, transport.cc=dcqcn]}\n"

/* 8 leaves with 16 hosts each, 16 spines; queues, ECN and NSCC follow from its round trip. */
#define LEAVES_128 \
	"topology: {kind: leaf-spine, hosts: 128, hosts_per_leaf: 16, spines: 16,\n" \
	"           rate: 400Gbps, delay: 1us}\n"
#define LEAVES_32 \
	"topology: {kind: leaf-spine, hosts: 32, hosts_per_leaf: 8, spines: 16,\n" \
	"           rate: 400Gbps, delay: 1us}\n"

/* A row for each of eight seeds: where the end of a few flows decides, one seed tells little. */
#define BY_SEED(name, set, seed) "  - {name: " name " seed " seed ", set: [" set "seed=" seed "]}\n"
#define BY_SEEDS(name, set) \
	BY_SEED(name, set, "1") BY_SEED(name, set, "2") BY_SEED(name, set, "3") \
	BY_SEED(name, set, "4") BY_SEED(name, set, "5") BY_SEED(name, set, "6") \
	BY_SEED(name, set, "7") BY_SEED(name, set, "8")

#define FAN_IN(n) BY_SEEDS(n " to 1", "workload.fan_in=" n ", ")
#define FAN_IN_TARGETS(n, last) \
	"  - {what: fct_last, in: " n " to 1 *, most: " last "}\n" \
	"  - {what: pkts_per_data, in: " n " to 1 *, most: 4.5}\n" \
	"  - {what: probes_per_data, in: " n " to 1 *, most: 0.05}\n"

#define DROP(chance) "'faults=[{kind: drop, at: \"h*>*\", chance: " chance "}]'"
#define DOWN(link, from) "  - {kind: down, at: " link ", from: " from "}\n"

/* All-reduce: a row for each pattern, size, transport and chance of loss. */
#define RING(size, transport, name, loss, faults, more) \
	"  - name: ring " size " " name " " loss "\n" \
	"    set: ['workload={kind: ring, bytes: " size "}', 'transport={" transport "}'" faults \
	"]\n" more
#define TREE(size, transport, name, loss, faults, more) \
	"  - name: tree " size " " name " " loss "\n" \
	"    set: ['workload={kind: tree, chunk: 1MiB, bytes: " size "}', 'transport={" transport \
	"}'" faults "]\n" more
#define LOSSY(pattern, size, transport, name, more) \
	pattern(size, transport, name, "0.01%", ", " DROP("0.01%"), more) \
	pattern(size, transport, name, "0.1%", ", " DROP("0.1%"), more)
#define LOSSES(pattern, size, transport, name, more) \
	pattern(size, transport, name, "0%", "", more) \
	LOSSY(pattern, size, transport, name, more)
#define BOTH(pattern, size, more) \
	LOSSES(pattern, size, "kind: mrc", "mrc", more) \
	LOSSES(pattern, size, "kind: rc, cc: dcqcn", "rc", more)
#define SIZE(size, more) BOTH(RING, size, more) BOTH(TREE, size, more)
#define LONG "    long: true\n"

const struct scenario_builtin scenario_studies[] = {
	{"mrc-permutation", "128 hosts, each sends 8 MiB to one other; 1,024 with 2 MiB.",
	"name: mrc-permutation\n"
	LEAVES_128
	"transport: {kind: mrc}\n"
	"workload:\n"
	"  kind: permutation\n"
	"  bytes: 8MiB\n"
	"  dsts: [55, 45, 57, 65, 49, 91, 108, 72, 39, 44, 62, 54, 85, 19, 60, 89,\n"
	"         53, 110, 106, 22, 117, 51, 50, 97, 46, 92, 105, 59, 35, 67, 15, 96,\n"
	"         40, 47, 12, 11, 17, 2, 27, 78, 4, 88, 125, 33, 25, 77, 94, 3,\n"
	"         81, 122, 86, 102, 112, 34, 8, 5, 127, 43, 69, 23, 66, 84, 9, 93,\n"
	"         32, 56, 61, 73, 107, 87, 111, 115, 79, 95, 26, 76, 124, 70, 10, 109,\n"
	"         29, 41, 114, 103, 16, 18, 80, 74, 13, 68, 36, 120, 99, 64, 63, 28,\n"
	"         104, 121, 126, 58, 42, 83, 75, 71, 24, 119, 52, 7, 100, 38, 1, 98,\n"
	"         0, 116, 101, 123, 113, 30, 90, 118, 20, 31, 82, 21, 37, 14, 48, 6]\n"
	"targets:\n"
	"  - {what: fct_mean, most: 1.04}\n"
	"  - {what: fct_p99, most: 1.15}\n"
	"  - {what: fct_mean, in: 1024 hosts *, most: 1.08}\n"
	"beside:\n"
	BY_SEEDS("1024 hosts",
		 "topology.hosts=1024, topology.hosts_per_leaf=32, topology.spines=32, "
		 "'workload={kind: permutation, bytes: 2MiB}', ")
	RC},

	{"mrc-scale", "How fast the simulator is: a permutation of 128 hosts, and of 1,024.",
	"name: mrc-scale\n"
	LEAVES_128
	"transport: {kind: mrc}\n"
	"workload: {kind: permutation, bytes: 8MiB}\n"
	"targets:\n"
	"  - {what: pkts_per_second, least: 600000}\n"
	"  - {what: pkts_per_second, in: 1024 hosts, least: 300000}\n"
	"beside:\n"
	"  - name: 1024 hosts\n"
	"    set: [topology.hosts=1024, topology.hosts_per_leaf=32, topology.spines=32]\n"},

	{"mrc-incast", "32 hosts send 2 MiB each to one: with trimming, over SRv6, and without.",
	"name: mrc-incast\n"
	LEAVES_128
	"transport: {kind: mrc}\n"
	"workload:\n"
	"  kind: incast\n"
	"  dst: 0\n"
	"  bytes: 2MiB\n"
	"  srcs: [10, 91, 101, 77, 50, 17, 63, 102, 103, 127, 48, 22, 31, 86, 33, 51,\n"
	"         64, 122, 116, 19, 75, 3, 67, 80, 37, 85, 8, 2, 117, 79, 27, 98]\n"
	"targets:\n"
	"  - {what: fct_last, in: trimming *, most: 1.01}\n"
	"  - {what: fct_last, in: usid *, most: 1.015}\n"
	"  - {what: fct_last, in: no trimming, most: 1.10}\n"
	"beside:\n"
	BY_SEEDS("trimming", "")
	BY_SEEDS("usid", "fabric.routing=usid, ")
	"  - {name: no trimming, set: [fabric.trimming=false]}\n"
	RC},

	/* 1.015 of the ideal time and half a base round trip: more of it where fewer send. Where
	 * 19, 37, 42, 45 or 51 send, the last flow once ended later than that. */
	{"mrc-fan-in", "8 to 127 hosts send 1 MiB each to one; the median of 8 seeds.",
	"name: mrc-fan-in\n"
	LEAVES_128
	"transport: {kind: mrc}\n"
	"workload: {kind: incast, dst: 0, fan_in: 8, bytes: 1MiB}\n"
	"targets:\n"
	FAN_IN_TARGETS("8", "1.038") FAN_IN_TARGETS("16", "1.0268")
	FAN_IN_TARGETS("19", "1.0249") FAN_IN_TARGETS("32", "1.021")
	FAN_IN_TARGETS("37", "1.0201") FAN_IN_TARGETS("42", "1.0195")
	FAN_IN_TARGETS("45", "1.0192") FAN_IN_TARGETS("51", "1.0187")
	FAN_IN_TARGETS("64", "1.018") FAN_IN_TARGETS("100", "1.0169")
	FAN_IN_TARGETS("127", "1.0165")
	"beside:\n"
	FAN_IN("8") FAN_IN("16") FAN_IN("19") FAN_IN("32") FAN_IN("37") FAN_IN("42") FAN_IN("45")
	FAN_IN("51") FAN_IN("64") FAN_IN("100") FAN_IN("127")
	RC},

	{"mrc-loss", "One flow at 400 Gb/s, and random loss end to end.",
	"name: mrc-loss\n"
	LEAVES_32
	"transport: {kind: mrc}\n"
	"workload: {kind: single, src: h0, dst: h31, bytes: 64MiB}\n"
	"targets:\n"
	"  - {what: goodput, in: loss 0.1%, of: main, least: 0.92}\n"
	"  - {what: goodput, in: loss 1%, of: main, least: 0.33}\n"
	"beside:\n"
	"  - {name: loss 0.1%, set: [" DROP("0.1%") "]}\n"
	"  - {name: loss 1%, set: [" DROP("1%") "]}\n"
	RC
	"  - {name: rc loss 0.1%, set: [transport.kind=rc, transport.cc=dcqcn, " DROP("0.1%") "]}\n"
	"  - {name: rc loss 1%, set: [transport.kind=rc, transport.cc=dcqcn, " DROP("1%") "]}\n"},

	{"mrc-gray", "One flow at 400 Gb/s; one path of 16 drops 20 % of its packets.",
	"name: mrc-gray\n"
	LEAVES_32
	"transport: {kind: mrc}\n"
	"workload: {kind: single, src: h0, dst: h31, bytes: 64MiB}\n"
	"faults:\n"
	"  - {kind: gray, at: leaf0-spine6, chance: 20%}\n"
	"targets:\n"
	"  - {what: goodput, of: healthy, least: 0.99}\n"
	"  - {what: quiet_after, most: 100us}\n"
	"beside:\n"
	"  - {name: healthy, set: ['faults=[]']}\n"
	RC},

	{"mrc-victim", "7 hosts send to one; a victim passes the same leaves.",
	"name: mrc-victim\n"
	LEAVES_32
	"transport: {kind: mrc}\n"
	"workload:\n"
	"  - {kind: incast, dst: h0, srcs: [h8, h9, h10, h11, h12, h13, h14], bytes: 8MiB}\n"
	"  - {kind: single, src: h15, dst: h1, bytes: 32MiB}\n"
	"targets:\n"
	"  - {what: flow_rate, entry: 1, least: 0.97}\n"
	"  - {what: jain, entry: 0, least: 0.98}\n"
	"beside:\n"
	RC},

	{"mrc-plane", "One of 8 planes is lost from 1 ms to 3 ms, at the NICs or beyond them.",
	"name: mrc-plane\n"
	"end: 20ms\n"
	"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4, spines: 4, planes: 8,\n"
	"           rate: 100Gbps, delay: 1us}\n"
	"transport: {kind: mrc}\n"
	"workload: {kind: permutation, dsts: [4, 5, 6, 7, 0, 1, 2, 3], bytes: 600MB}\n"
	"faults:\n"
	"  - {kind: plane, plane: 3, from: 1ms, until: 3ms}\n"
	"measure: {tick: 100us}\n"
	"targets:\n"
	"  - {what: rate_after, before: 1ms, from: 2ms, to: 2.5ms, least: 0.83125}\n"
	"  - {what: rate_after, before: 1ms, from: 4ms, to: 4.5ms, least: 0.99}\n"
	"  - {what: quiet_after, most: 100us}\n"
	"  - {what: flows_failed, most: 0}\n"
	"  - {what: rate_after, in: beyond, before: 1ms, from: 2ms, to: 2.5ms, least: 0.83125}\n"
	"  - {what: rate_after, in: beyond, before: 1ms, from: 4ms, to: 4.5ms, least: 0.99}\n"
	"  - {what: quiet_after, in: beyond, most: 100us}\n"
	"  - {what: flows_failed, in: beyond, most: 0}\n"
	"beside:\n"
	"  - name: beyond\n"
	"    set: ['faults=[{kind: down, at: p3.leaf*-p3.spine*, from: 1ms, until: 3ms}]']\n"
	RC},

	{"mrc-links", "20 links between leaves and spines fail for good, one after another.",
	"name: mrc-links\n"
	"end: 100ms\n"
	LEAVES_32
	"transport: {kind: mrc}\n"
	"workload: {kind: permutation, bytes: 40MB}\n"
	"faults:\n"
	DOWN("leaf0-spine0", "20us") DOWN("leaf1-spine3", "60us")
	DOWN("leaf2-spine6", "100us") DOWN("leaf3-spine9", "140us")
	DOWN("leaf0-spine1", "180us") DOWN("leaf1-spine4", "220us")
	DOWN("leaf2-spine7", "260us") DOWN("leaf3-spine10", "300us")
	DOWN("leaf0-spine2", "340us") DOWN("leaf1-spine5", "380us")
	DOWN("leaf2-spine8", "420us") DOWN("leaf3-spine11", "460us")
	DOWN("leaf0-spine12", "500us") DOWN("leaf1-spine12", "540us")
	DOWN("leaf2-spine12", "580us") DOWN("leaf3-spine12", "620us")
	DOWN("leaf0-spine13", "660us") DOWN("leaf1-spine13", "700us")
	DOWN("leaf2-spine13", "740us") DOWN("leaf3-spine13", "780us")
	"targets:\n"
	"  - {what: flows_failed, most: 0}\n"
	"beside:\n"
	RC},

	{"mrc-reboot", "A spine reboots under a permutation.",
	"name: mrc-reboot\n"
	"end: 100ms\n"
	LEAVES_32
	"transport: {kind: mrc}\n"
	"workload: {kind: permutation, bytes: 40MB}\n"
	"faults:\n"
	"  - {kind: reboot, at: spine5, from: 100us, until: 600us}\n"
	"targets:\n"
	"  - {what: flows_failed, most: 0}\n"
	"beside:\n"
	RC},

	{"mrc-half-link", "One link of a leaf to a spine has half the rate of the others.",
	"name: mrc-half-link\n"
	"topology:\n"
	"  kind: leaf-spine\n"
	"  hosts: 32\n"
	"  hosts_per_leaf: 16\n"
	"  spines: 16\n"
	"  links: [{match: leaf0-spine1, rate: 200Gbps}]\n"
	"transport: {kind: mrc}\n"
	"workload:\n"
	"  kind: permutation\n"
	"  bytes: 16MiB\n"
	"  dsts: [16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,\n"
	"         0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]\n"
	"targets:\n"
	"  - {what: slowdown_of_share, most: 1.1}\n"
	"beside:\n"
	"  - {name: oblivious, set: [transport.evs=oblivious]}\n"
	RC},

	{"multicast", "16 MiB to 8, 64, 256 and 1,024 hosts, copied by the network.",
	"name: multicast\n"
	PODS
	"transport: {kind: rc}\n"
	"workload: {kind: broadcast, bytes: 16MiB, by: end-mt, receivers: 64}\n"
	"targets:\n"
	"  - {what: wrapped_last, most: 1.03}\n"
	"  - {what: wrapped_last, in: 8 hosts, most: 1.03}\n"
	"  - {what: wrapped_last, in: 256 hosts, most: 1.03}\n"
	"  - {what: wrapped_last, in: 1024 hosts, most: 1.03}\n"
	"  - {what: spread_last, in: 1024 hosts, most: 1.05}\n"
	"  - {what: sent_over_taken, in: 1024 hosts, most: 1.01}\n"
	"  - {what: pkts_to_sources, in: 1024 hosts, of: one host, most: 1.1}\n"
	"  - {what: pkts_to_sources, in: 1024 hosts lossy, of: one host, most: 2}\n"
	"  - {what: flows_failed, in: 1024 hosts lossy, most: 0}\n"
	"beside:\n"
	"  - {name: one host, set: [workload.receivers=1, workload.by=unicast]}\n"
	"  - {name: 8 hosts, set: [workload.receivers=8]}\n"
	"  - {name: 256 hosts, set: [" MANY "workload.receivers=256]}\n"
	"  - {name: 1024 hosts, set: [" MANY "workload.receivers=1024]}\n"
	"  - name: 1024 hosts lossy\n"
	"    set: [" MANY "workload.receivers=1024,\n"
	"      'faults=[{kind: drop, at: \"*\", chance: 10ppm}]']\n"
	"  - {name: 8 by TLVs, set: [workload.receivers=8, groups.receivers=tlv]}\n"
	"  - {name: 32 by TLVs, set: [workload.receivers=32, groups.receivers=tlv]}\n"
	"  - name: 88 by TLVs\n"
	"    set: [" MANY "workload.receivers=88, groups.receivers=tlv]\n"
	"  - {name: 64 in a ring, set: [workload.by=ring]}\n"
	"  - {name: 64 in a tree, set: [workload.by=tree]}\n"
	"  - {name: 64 by unicast, long: true, set: [workload.by=unicast]}\n"},

	{"multicast-gather", "An all-gather of 64 hosts, copied by the network, four at a time.",
	"name: multicast-gather\n"
	PODS
	"transport: {kind: rc}\n"
	"workload: {kind: all-gather, bytes: 1MiB, by: end-mt, members: 64, at_a_time: 4}\n"
	"targets:\n"
	"  - {what: spread_last, most: 1.1}\n"
	"beside:\n"
	"  - {name: all at once, set: [workload.at_a_time=64]}\n"
	"  - {name: in a ring, set: [workload.by=ring, workload.at_a_time=64]}\n"
	"  - {name: by unicast, set: [workload.by=unicast, workload.at_a_time=64]}\n"},

	{"mrc-all-reduce", "All-reduce of 64 hosts; main is a ring of 4 MiB, MRC, nothing lost.",
	"name: mrc-all-reduce\n"
	"end: 1s\n"
	"topology: {kind: leaf-spine, hosts: 64, hosts_per_leaf: 16, spines: 16}\n"
	"transport: {kind: mrc}\n"
	"workload: {kind: ring, bytes: 4MiB}\n"
	"beside:\n"
	LOSSY(RING, "4MiB", "kind: mrc", "mrc", "")
	LOSSES(RING, "4MiB", "kind: rc, cc: dcqcn", "rc", "") BOTH(TREE, "4MiB", "")
	SIZE("16MiB", "") SIZE("64MiB", "") SIZE("256MiB", LONG) SIZE("1GiB", LONG)},
};
/* clang-format on */

const uint32_t scenario_n_studies = sizeof scenario_studies / sizeof scenario_studies[0];
