#include <stddef.h>
#include <string.h>

#include "scenario/studies.h"

/* clang-format off */
static const struct scenario_builtin builtins[] = {
	{"wire", "Two hosts, one link, one flow.",
	"name: wire\n"
	"topology: {kind: wire, rate: 400Gbps, delay: 1us}\n"
	"workload: {kind: single, src: h0, dst: h1, bytes: 4MiB}\n"},

	{"single", "One flow from leaf to leaf, sprayed over all spines.",
	"name: single\n"
	"topology: {kind: leaf-spine, hosts: 32, hosts_per_leaf: 8}\n"
	"workload: {kind: single, src: h0, dst: h31, bytes: 4MiB}\n"},

	{"permutation", "128 hosts, each sends to one other.",
	"name: permutation\n"
	"seed: 1\n"
	"topology: {kind: leaf-spine, hosts: 128, hosts_per_leaf: 16, spines: 16}\n"
	"workload: {kind: permutation, bytes: 2MiB}\n"},

	{"incast", "32 hosts send to one, with trimming; a victim goes to its neighbour.",
	"name: incast\n"
	"seed: 1\n"
	"topology: {kind: leaf-spine, hosts: 64, hosts_per_leaf: 16, spines: 16}\n"
	"fabric: {trimming: true}\n"
	"workload: {kind: incast, dst: h0, fan_in: 32, victim: true, bytes: 512KiB}\n"},

	{"all-to-all", "16 hosts, each sends to every other.",
	"name: all-to-all\n"
	"topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4}\n"
	"workload: {kind: all-to-all, bytes: 256KiB, message: 64KiB}\n"},

	{"ring", "All-reduce of 16 hosts in a ring.",
	"name: ring\n"
	"topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4}\n"
	"workload: {kind: ring, bytes: 8MiB}\n"},

	{"tree", "All-reduce of 16 hosts along a binary tree, in chunks.",
	"name: tree\n"
	"topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4}\n"
	"workload: {kind: tree, bytes: 2MiB, chunk: 256KiB}\n"},

	{"random", "Random flows that load every host's link to a half.",
	"name: random\n"
	"seed: 1\n"
	"topology: {kind: leaf-spine, hosts: 32, hosts_per_leaf: 8}\n"
	"workload:\n"
	"  kind: random\n"
	"  load: 50%\n"
	"  duration: 200us\n"
	"  sizes: [[4KiB, 50%], [64KiB, 80%], [1MiB, 100%]]\n"},

	{"planes", "Eight planes with SRv6 source routing; one plane is lost for a while.",
	"name: planes\n"
	"seed: 1\n"
	"topology:\n"
	"  kind: leaf-spine\n"
	"  hosts: 32\n"
	"  hosts_per_leaf: 8\n"
	"  spines: 8\n"
	"  planes: 8\n"
	"  rate: 100Gbps\n"
	"fabric: {routing: usid}\n"
	"transport: {entropies: 256}\n"
	"workload: {kind: permutation, bytes: 2MiB}\n"
	"faults:\n"
	"  - {kind: plane, plane: 3, from: 10us, until: 60us}\n"},

	{"gray", "A link that looks up and loses one packet in fifty.",
	"name: gray\n"
	"seed: 1\n"
	"topology: {kind: leaf-spine, hosts: 32, hosts_per_leaf: 8, spines: 8}\n"
	"workload: {kind: permutation, bytes: 2MiB}\n"
	"faults:\n"
	"  - {kind: gray, at: leaf0-spine1, chance: 2%}\n"},

	{"fat-tree", "A permutation over three tiers of switches.",
	"name: fat-tree\n"
	"seed: 1\n"
	"topology: {kind: fat-tree, hosts: 64, hosts_per_leaf: 4, leaves_per_pod: 4}\n"
	"workload: {kind: permutation, bytes: 1MiB}\n"},

	{"faults", "Random faults of many kinds under a permutation.",
	"name: faults\n"
	"seed: 1\n"
	"end: 100ms\n"
	"topology: {kind: leaf-spine, hosts: 16, hosts_per_leaf: 4}\n"
	"workload: {kind: permutation, bytes: 1MiB}\n"
	"faults:\n"
	"  - kind: random\n"
	"    count: 8\n"
	"    kinds: [drop, burst, duplicate, reorder, delay, corrupt, truncate, flap, down]\n"
	"    until: 200us\n"},

	{"rc-incast", "An incast of RC with DCQCN; --set transport.cc=none is without.",
	"name: rc-incast\n"
	"seed: 1\n"
	"topology: {kind: leaf-spine, hosts: 32, hosts_per_leaf: 8, rate: 100Gbps}\n"
	"transport:\n"
	"  kind: rc\n"
	"  cc: dcqcn\n"
	"  dcqcn: {increase_every: 55us, increase_bytes: 1MiB, additive: 200Mbps, hyper: 1Gbps}\n"
	"workload: {kind: incast, dst: h0, fan_in: 16, victim: true, bytes: 4MiB}\n"},

	{"mrc-spray", "MRC sprays over 64 EVs, past a link that loses one packet in fifty.",
	"name: mrc-spray\n"
	"seed: 1\n"
	"topology: {kind: leaf-spine, hosts: 64, hosts_per_leaf: 16, spines: 16}\n"
	"transport: {kind: mrc, entropies: 64}\n"
	"workload: {kind: permutation, bytes: 2MiB}\n"
	"faults:\n"
	"  - {kind: gray, at: leaf0-spine1, chance: 2%}\n"},

	{"pfc", "An incast on a fabric that pauses instead of dropping.",
	"name: pfc\n"
	"seed: 1\n"
	"topology: {kind: leaf-spine, hosts: 32, hosts_per_leaf: 8}\n"
	"fabric:\n"
	"  pfc: {xoff: 100KB, xon: 80KB}\n"
	"workload: {kind: incast, dst: h0, fan_in: 16, victim: true, bytes: 512KiB}\n"},
};
/* clang-format on */

#define N_BUILTINS ((uint32_t)(sizeof builtins / sizeof builtins[0]))

const struct scenario_builtin *scenario_builtin_at(uint32_t i)
{
	if (i < N_BUILTINS)
		return &builtins[i];
	i -= N_BUILTINS;
	return i < scenario_n_studies ? &scenario_studies[i] : NULL;
}

const struct scenario_builtin *scenario_builtin_find(const char *name)
{
	const struct scenario_builtin *b;

	for (uint32_t i = 0; (b = scenario_builtin_at(i)); i++)
		if (strcmp(b->name, name) == 0)
			return b;
	return NULL;
}

bool scenario_builtin_is_study(const struct scenario_builtin *b)
{
	for (uint32_t i = 0; i < scenario_n_studies; i++)
		if (b == &scenario_studies[i])
			return true;
	return false;
}
