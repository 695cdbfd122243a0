#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "scenario/matrix.h"
#include "scenario/scenario.h"
#include "scenario/topo_file.h"

#define EXAMPLES GOLDEN_DIR "/../../examples/scenarios"

static char error[SCENARIO_ERROR_MAX];

static int read_topo(struct topology_cfg *cfg, const char *text)
{
	*cfg = (struct topology_cfg){.planes = 1, .nic_ports = 1};
	return topo_file_read(cfg, &(struct topo_file){"a.topo", text, strlen(text)}, error,
			      sizeof error);
}

static int read_cm(struct workload *w, const char *text, size_t len)
{
	struct matrix m = {.name = "a.cm",
			   .text = text,
			   .len = len,
			   .hosts = 16,
			   .like = {.window = 2, .repeat = 1, .start_ps = 7}};

	workload_init(w);
	return matrix_read(w, &m, error, sizeof error);
}

#define TIER0                                                           \
	"Tier 0\nDownlink_speed_Gbps 400\nRadix_Down 16\nRadix_Up 16\n" \
	"Downlink_Latency_ns 1000\nOversubscribed 1\nSwitch_Latency_ns 0\n\n"
#define TIER1                                                                       \
	"Tier 1\nDownlink_speed_Gbps 400\nRadix_Down 8\nDownlink_Latency_ns 2000\n" \
	"Switch_Latency_ns 0\n"
#define HEAD "Nodes 128\nTiers 2\nPodsize 128\n\n"

static void topo_two_tiers(void **state)
{
	struct topology_cfg cfg;

	(void)state;
	assert_int_equal(read_topo(&cfg, "# a comment\r\n" HEAD TIER0 TIER1), 0);
	assert_int_equal(cfg.kind, TOPOLOGY_LEAF_SPINE);
	assert_true(cfg.hosts == 128 && cfg.hosts_per_leaf == 16 && cfg.spines == 16);
	assert_true(cfg.uplinks == 1 && cfg.switch_delay_ps == 0);
	assert_int_equal(cfg.links[0].rate_bps, UINT64_C(400000000000));
	assert_int_equal(cfg.links[0].delay_ps, 1000000);
	assert_int_equal(cfg.links[1].delay_ps, 2000000);
	/* Small letters, bundles, queues and a delay in switches; no Podsize. */
	assert_int_equal(read_topo(&cfg, "nodes 32\ntiers 2\ntier 1\ndownlink_speed_gbps 100\n"
					 "radix_down 8\nbundle 2\ndownlink_latency_ns 5\n"
					 "queue_down 900 # bytes\nswitch_latency_ns 3\n"
					 "tier 0\ndownlink_speed_gbps 100\nradix_down 8\n"
					 "radix_up 4\nqueue_up 900\nqueue_down 800\n"
					 "downlink_latency_ns 6\noversubscribed 2\n"
					 "switch_latency_ns 3\n"),
			 0);
	assert_true(cfg.spines == 2 && cfg.uplinks == 2 && cfg.switch_delay_ps == 3000);
	assert_true(cfg.links[0].buffer_bytes == 800 && cfg.links[1].buffer_bytes == 900);
}

static void topo_three_tiers(void **state)
{
	struct topology_cfg cfg;
	struct topology t;

	(void)state;
	assert_int_equal(read_topo(&cfg,
				   "Nodes 64\nTiers 3\nPodsize 16\n"
				   "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\n"
				   "Downlink_Latency_ns 1\n"
				   "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\n"
				   "Downlink_Latency_ns 2\nOversubscribed 2\n"
				   "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\n"
				   "Downlink_Latency_ns 3\n"),
			 0);
	assert_int_equal(cfg.kind, TOPOLOGY_FAT_TREE);
	assert_true(cfg.leaves_per_pod == 4 && cfg.spines == 4 && cfg.cores == 8);
	assert_int_equal(cfg.links[2].delay_ps, 3000);
	assert_int_equal(topology_build(&t, &cfg, error, sizeof error), 0);
	topology_fini(&t);
}

struct bad {
	const char *text, *error;
};

static void bad_topo(void **state)
{
	static const struct bad table[] = {
		{"", "a.topo:1: nodes is missing; write it with a number"},
		{"Nodes 128\n", "a.topo:1: tiers is missing; write it with a number"},
		{"Nodes\n", "a.topo:1: 1 words; a line is a key and a number"},
		{"Nodes x\n", "a.topo:1: \"x\" is not a number; write a whole number"},
		{"Nodes 1\n", "a.topo:1: 1 is out of range; 2 to 65536"},
		{"Nodes 4\nNodes 4\n", "a.topo:2: nodes: stands twice, first in line 1; keep one"},
		{"Nodes 4\nTiers 4\n", "a.topo:2: 4 is out of range; 2 to 3"},
		{"Nodes 4\nRadix_Down 4\n", "a.topo:2: radix_down: unknown key above the first "
					    "Tier; see docs/scenarios.md for "
					    "those that are supported"},
		{HEAD TIER0, "a.topo:2: tiers: 2, but there is no Tier 1; add it"},
		{HEAD TIER0 TIER1 "Tier 2\n",
		 "a.topo:18: Tier 2, but there are 2 tiers; leave it out"},
		{HEAD TIER0 "Tier 1\nDownlink_speed_Gbps 1\nDownlink_Latency_ns 1\n",
		 "a.topo:13: radix_down is missing in this tier; write it with a number"},
		{HEAD TIER0
		 "Tier 1\nDownlink_speed_Gbps 400\nDownlink_Latency_ns 1\nRadix_Down 9\n",
		 "a.topo:16: radix_down: 9, but 8 leaves with 1 links to each spine make 8; make "
		 "them "
		 "agree"},
		{HEAD TIER0
		 "Tier 1\nDownlink_speed_Gbps 200\nDownlink_Latency_ns 1\nRadix_Down 8\n",
		 "a.topo:10: oversubscribed: 1, but the ports say 6400 Gbps below and 3200 Gbps "
		 "above; "
		 "make them agree"},
		{HEAD TIER0 "Tier 1\nDownlink_speed_Gbps 400\nDownlink_Latency_ns 1\nRadix_Down 8\n"
			    "Switch_Latency_ns 5\n",
		 "a.topo:17: switch_latency_ns: 5, but 0 in Tier 0; all switches have one"},
		{"Nodes 120\nTiers 2\nPodsize 128\n" TIER0 TIER1,
		 "a.topo:3: podsize: with 2 tiers there is one pod; use 120"},
		{"Nodes 120\nTiers 2\n" TIER0 TIER1,
		 "a.topo:5: 120 nodes do not fill pods of 120 and leaves of 16; use divisors"},
		{HEAD TIER0 "Bundle 2\n" TIER1, "a.topo:13: bundle: several links between a host "
						"and its leaf are not supported; use 1 "
						"here, and nic_ports in the scenario"},
		{"Nodes 128\n\xc3\xa4 4\n", "a.topo:2: a byte that is no plain text; write ASCII"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct topology_cfg cfg;

		assert_int_equal(read_topo(&cfg, table[i].text), -EINVAL);
		if (strcmp(error, table[i].error) != 0)
			fail_msg("case %zu: \"%s\"\n   instead of \"%s\"", i, error,
				 table[i].error);
	}
}

static void matrix_flows(void **state)
{
	static const char text[] = "# traffic\nNodes 16\nCONNECTIONS 3\n\n"
				   "3->7 id 5 start 1000 size 4096\n"
				   "0->15 start 0 size 1 id 4294967295\n"
				   "7->3 start 0 size 281474976710656 # as large as can be\n";
	struct workload w;
	struct matrix m = {.name = "a.cm",
			   .text = text,
			   .len = sizeof text - 1,
			   .hosts = 16,
			   .like = {.window = 2, .repeat = 1, .message_bytes = 9, .start_ps = 7}};

	(void)state;
	workload_init(&w);
	assert_int_equal(matrix_read(&w, &m, error, sizeof error), 0);
	assert_int_equal(w.n, 3);
	const struct workload_flow *f = w.flows;

	assert_true(f[0].src == 3 && f[0].dst == 7 && f[0].id == 5 && f[0].bytes == 4096);
	assert_true(f[0].start_ps == 1007 && f[0].window == 2 && f[0].message_bytes == 9);
	assert_true(f[1].id == UINT32_MAX && f[1].start_ps == 7);
	assert_true(f[2].id == 3 && f[2].bytes == WORKLOAD_BYTES_MAX);
	assert_int_equal(w.n_after, 0);
	workload_fini(&w);
}

/* 1 and 3 pull a barrier that 0 and 4 wait for; 4 pulls what 2 waits for. */
static void matrix_triggers(void **state)
{
	static const char text[] = "Nodes 16\nConnections 5\nTriggers 2\n"
				   "0->1 id 1 trigger 9 size 1\n"
				   "1->2 id 2 start 0 size 1 send_done_trigger 9\n"
				   "2->3 id 3 trigger 4 size 1\n"
				   "3->4 id 4 start 0 size 1 recv_done_trigger 9\n"
				   "4->5 id 5 trigger 9 size 1 recv_done_trigger 4\n"
				   "trigger id 9 barrier count 2\ntrigger id 4 oneshot\n";
	static const uint32_t before[] = {2, 0, 1, 0, 2}, after[] = {0, 2, 0, 2, 1};
	struct workload w;

	(void)state;
	assert_int_equal(read_cm(&w, text, strlen(text)), 0);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(w.flows[i].n_before, before[i]);
		assert_int_equal(w.flows[i].n_after, after[i]);
	}
	assert_int_equal(w.after[w.flows[1].first_after], 0);
	assert_int_equal(w.after[w.flows[1].first_after + 1], 4);
	assert_int_equal(w.after[w.flows[4].first_after], 2);
	workload_fini(&w);
}

#define CM "Nodes 16\nConnections 1\n"

static void check_bad_matrix(const struct bad *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct workload w;

		assert_int_equal(read_cm(&w, table[i].text, strlen(table[i].text)), -EINVAL);
		if (strcmp(error, table[i].error) != 0)
			fail_msg("case %zu: \"%s\"\n   instead of \"%s\"", i, error,
				 table[i].error);
		workload_fini(&w);
	}
}

static void bad_matrix_fields(void **state)
{
	static const struct bad table[] = {
		{"", "a.cm:1: Nodes is missing; write it with a number"},
		{"Nodes 17\n",
		 "a.cm:1: nodes: 17, but the topology has 16 hosts; use a larger one"},
		{"Nodes 16\n1->2 start 0 size 1\n",
		 "a.cm:2: a connection before Nodes and Connections; put these first"},
		{CM "1->16 start 0 size 1\n",
		 "a.cm:3: dst: host 16 does not exist; the matrix has hosts 0 to 15"},
		{CM "16->1 start 0 size 1\n",
		 "a.cm:3: src: host 16 does not exist; the matrix has hosts 0 to 15"},
		{CM "1->4294967297 start 0 size 1\n",
		 "a.cm:3: dst: host 4294967297 does not exist; the matrix has hosts 0 to 15"},
		{CM "1->1 start 0 size 1\n", "a.cm:3: dst: host 1 sends to itself; use two hosts"},
		{CM "1->x start 0 size 1\n",
		 "a.cm:3: dst: \"x\" is not a number; write a whole number"},
		{CM "->2 start 0 size 1\n", "a.cm:3: src: \"\" is empty; write a whole number"},
		{CM "1->2 start -1 size 1\n",
		 "a.cm:3: start: \"-1\" is negative; write a whole number"},
		{CM "1->2 start 0 size 0\n",
		 "a.cm:3: size: 0 is out of range; 1 to 281474976710656"},
		{CM "1->2 id 4294967296 start 0 size 1\n",
		 "a.cm:3: id: 4294967296 is out of range; 0 to 4294967295"},
		{CM "1->2 trigger 0 size 1\n",
		 "a.cm:3: trigger: 0 is out of range; 1 to 4294967295"},
		{"Nodes x\n", "a.cm:1: nodes: \"x\" is not a number; write a whole number"},
		{"Nodes 16\nNodes 16\n", "a.cm:2: nodes: stands twice, first in line 1; keep one"},
		{"Nodes 16 3\n", "a.cm:1: nodes: 3 words; write nodes and a number"},
		{CM "Triggers 1\ntrigger id 0 oneshot\n",
		 "a.cm:4: id: 0 is out of range; 1 to 4294967295"},
		{CM "Triggers 1\ntrigger id 1 barrier count 0\n",
		 "a.cm:4: count: 0 is out of range; 1 to 4294967295"},
		{CM "1->2 start 0\n", "a.cm:3: size: is missing; write size and the bytes"},
		{CM "1->2 size 1\n", "a.cm:3: start: is missing; write start and picoseconds"},
		{CM "1->2 start 0 size\n", "a.cm:3: size: no number follows; write one"},
		{CM "1->2 start 0 size 1 size 1\n", "a.cm:3: size: stands twice; keep one"},
		{CM "1->2 start 0 size 1 prio 3\n",
		 "a.cm:3: \"prio\" is not supported; a connection has id, start, size, trigger, "
		 "send_done_trigger and recv_done_trigger"},
	};

	(void)state;
	check_bad_matrix(table, sizeof table / sizeof table[0]);
}

static void bad_matrix_as_a_whole(void **state)
{
	static const struct bad table[] = {
		{CM "1->2 start 0 size 2000000000\n",
		 "a.cm:3: size: above the 1 GiB of one message; set message in the workload"},
		{CM "1->2 start 0 size 1\n3->4 start 0 size 1\n",
		 "a.cm:4: one connection more than the 1 of line 2; make them agree"},
		{"Nodes 16\nConnections 2\n1->2 start 0 size 1\n",
		 "a.cm:2: connections: 2, but there are 1; make them agree"},
		{"Nodes 16\nConnections 9999\n",
		 "a.cm:2: connections: 9999 are more than the lines that follow; make them agree"},
		{CM "1->2 trigger 3 size 1\n",
		 "a.cm:3: trigger: there is no trigger 3; add a line for it"},
		{CM "1->2 start 0 size 1 recv_done_trigger 3\n",
		 "a.cm:3: recv_done_trigger: there is no trigger 3; add a line for it"},
		{CM "Triggers 1\n1->2 trigger 3 size 1\ntrigger id 3 oneshot\n",
		 "a.cm:5: trigger 3 goes off after 1 of the 0 flows that pull it; only all of them "
		 "are "
		 "supported"},
		{CM "Triggers 1\n1->2 trigger 3 size 1 send_done_trigger 3\ntrigger id 3 oneshot\n",
		 "a.cm:4: the flow waits for itself; use another trigger"},
		{"Nodes 16\nConnections 2\nTriggers 2\n1->2 trigger 1 size 1 send_done_trigger 2\n"
		 "2->3 trigger 2 size 1 send_done_trigger 1\ntrigger id 1 oneshot\n"
		 "trigger id 2 oneshot\n",
		 "a.cm:4: the flow waits for flows that wait for it; break the circle"},
		{CM "Triggers 1\n1->2 start 0 size 1\ntrigger id 1 multishot\n",
		 "a.cm:5: \"multishot\" is not supported; use oneshot or barrier"},
		{"Failures 2\n",
		 "a.cm:1: \"failures\" is not supported; lines are Nodes, Connections, "
		 "Triggers, src->dst and trigger"},
	};

	(void)state;
	check_bad_matrix(table, sizeof table / sizeof table[0]);
}

/* Whatever bytes change, the readers answer and leave nothing behind. */
static void damaged(void **state)
{
	static const char *const texts[] = {
		HEAD TIER0 TIER1,
		"Nodes 16\nConnections 2\nTriggers 2\n1->2 trigger 1 size 1 send_done_trigger 2\n"
		"2->3 start 0 size 1 send_done_trigger 1\ntrigger id 1 oneshot\n"
		"trigger id 2 barrier count 1\n"};
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(3), 0);
	for (uint32_t round = 0; round < 20000; round++) {
		const char *from = texts[round % 2];
		char text[512];
		size_t len = strlen(from);
		struct topology_cfg cfg;
		struct workload w;

		assert_true(len < sizeof text);
		memcpy(text, from, len + 1);
		for (uint32_t i = 0; i <= prng_below(&p, 4); i++)
			text[prng_below(&p, len)] = "0123456789 \n-#tx\xff"[prng_below(&p, 17)];
		if (round % 2 == 0) {
			int rc = read_topo(&cfg, text);

			assert_true(rc == 0 || strncmp(error, "a.topo:", 7) == 0);
			continue;
		}
		int rc = read_cm(&w, text, len);

		assert_true(rc == 0 || (rc == -EINVAL && strncmp(error, "a.cm:", 5) == 0));
		workload_fini(&w);
	}
}

static char *read_file(const char *near, const char *name, size_t *len, char *sentence,
		       size_t sentence_len)
{
	char path[1024];
	char *text = calloc(1, 65536);
	const char *slash = strrchr(near, '/');

	snprintf(path, sizeof path, "%.*s/%s", slash ? (int)(slash - near) : 1, slash ? near : ".",
		 name);
	FILE *f = fopen(path, "rb");

	if (!f) {
		snprintf(sentence, sentence_len, "there is no such file");
		free(text);
		return NULL;
	}
	*len = fread(text, 1, 65535, f);
	fclose(f);
	return text;
}

/* Every example of the tree is right, and there is one of each kind. */
static void examples(void **state)
{
	DIR *folder = opendir(EXAMPLES);
	uint32_t n = 0;

	(void)state;
	assert_non_null(folder);
	for (struct dirent *e; (e = readdir(folder));) {
		const char *dot = strrchr(e->d_name, '.');
		char path[1024];
		size_t len = 0;
		struct scenario s;

		if (!dot || strcmp(dot, ".yaml") != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", EXAMPLES, e->d_name);
		char *text = read_file(path, e->d_name, &len, error, sizeof error);
		struct scenario_source source = {
			.file = path, .text = text, .len = len, .read_file = read_file};

		assert_non_null(text);
		if (scenario_read(&s, &source, error, sizeof error))
			fail_msg("%s", error);
		assert_int_equal(strlen(s.name), (size_t)(dot - e->d_name));
		assert_memory_equal(s.name, e->d_name, strlen(s.name));
		scenario_fini(&s);
		free(text);
		n++;
	}
	closedir(folder);
	assert_int_equal(n, 19);
}

/* A file that a scenario names: its mistakes carry its own name and lines. */
static void named(void **state)
{
	static const struct bad table[] = {
		{"topology: {kind: leaf-spine, hosts: 8, hosts_per_leaf: 4}\n"
		 "workload: {kind: matrix, file: small.cm}\n",
		 "small.cm:2: nodes: 16, but the topology has 8 hosts; use a larger one"},
		{"topology: {kind: file, file: small.cm}\nworkload: {kind: permutation}\n",
		 "small.cm:3: connections: unknown key above the first Tier; see docs/scenarios.md "
		 "for "
		 "those that are supported"},
		{"topology: {kind: file, file: none.topo}\nworkload: {kind: permutation}\n",
		 EXAMPLES
		 "/x.yaml:1: topology.file: \"none.topo\": there is no such file; name a file "
		 "beside this one"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct scenario s;
		struct scenario_source source = {.file = EXAMPLES "/x.yaml",
						 .text = table[i].text,
						 .len = strlen(table[i].text),
						 .read_file = read_file};

		assert_int_equal(scenario_read(&s, &source, error, sizeof error), -EINVAL);
		assert_string_equal(error, table[i].error);
	}
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(topo_two_tiers),
	cmocka_unit_test(topo_three_tiers),
	cmocka_unit_test(bad_topo),
	cmocka_unit_test(matrix_flows),
	cmocka_unit_test(matrix_triggers),
	cmocka_unit_test(bad_matrix_fields),
	cmocka_unit_test(bad_matrix_as_a_whole),
	cmocka_unit_test(damaged),
	cmocka_unit_test(examples),
	cmocka_unit_test(named),
};

CHECK_MAIN(cases)
