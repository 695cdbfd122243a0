/* A stage for multicast groups: a fabric whose hosts run RC, trees that a controller plants, a
 * source that sends messages to all receivers, and a look at every byte they got. Set up, changed
 * by the test, run to its end and taken down. Included by one test each. */
#ifndef WEFT_TESTS_SUPPORT_GROUPS_STAGE_H
#define WEFT_TESTS_SUPPORT_GROUPS_STAGE_H

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "rc/rc.h"
#include "scenario/hosts.h"
#include "sim/groups_build.h"
#include "sim/impair.h"
#include "transport/transport.h"

#define RATE        UINT64_C(400000000000) /* 20 ps per byte */
#define DELAY       PSEC_US
#define PAYLOAD     1024u
#define MEMBERS_MAX 8u /* as many regions of real memory */
#define GROUPS_MAX  4u
#define BYTES_MAX   (256u * 1024)
#define FIRST_PSN   0xfffff0u /* it wraps soon */
#define DESIGNATED  0xd001u
#define BOUND       (400 * PSEC_MS)

static const struct fwd_names names = {0, 10, 12, 18, 20, 46};

/* Member 0 is the source. */
struct stage_group {
	struct groups_member members[MEMBERS_MAX];
	uint32_t n_members;
	struct groups_one one;
	uint32_t messages, message_bytes;
	uint32_t n_sent, n_received[MEMBERS_MAX];
};

/* One run, and what it is made of. */
static struct topology topology;
static struct routing routing;
static struct routing_cfg routing_cfg;
static struct hosts_cfg hosts_cfg;
static struct hosts fleet;
static struct sim_groups groups;
static struct groups_cfg groups_cfg;
static struct sim_cfg cfg;
static struct sim sim;
static struct impair_plan *plan;
static struct stage_group trees[GROUPS_MAX];
static uint32_t n_trees;
static uint32_t host_qps[64], host_ops[64];
static uint8_t sent[BYTES_MAX], got[MEMBERS_MAX][BYTES_MAX];
static uint64_t n_lost; /* packets that faults took */
static char error[256];

/* The member that a completion of a host is about. */
static struct stage_group *tree_of(uint32_t host, uint32_t qp, uint32_t *member)
{
	for (uint32_t g = 0; g < n_trees; g++)
		for (uint32_t i = 0; i < trees[g].n_members; i++)
			if (trees[g].members[i].host == host && trees[g].members[i].qpn == qp) {
				*member = i;
				return &trees[g];
			}
	fail_msg("host %u has no queue pair %u", host, qp);
	return NULL;
}

static void on_done(void *context, struct sim *s, uint32_t host, const struct done *done)
{
	uint32_t member = 0;
	struct stage_group *tree = tree_of(host, done->qp, &member);

	(void)context;
	(void)s;
	assert_int_equal(done->status, ENGINE_OK);
	assert_int_equal(done->code, member ? ENGINE_DONE_RECEIVED : ENGINE_DONE_SENT);
	if (member == 0) {
		assert_int_equal(done->cookie, tree->n_sent++);
		/* What the source is told that all have, all have (draft 5.3.1). */
		for (uint32_t i = 1; i < tree->n_members; i++)
			assert_true(tree->n_received[i] > done->cookie);
		return;
	}
	assert_int_equal(done->cookie, tree->n_received[member]++);
	assert_int_equal(done->len, tree->message_bytes);
}

static void on_timer(void *context, struct sim *s, uint32_t timer)
{
	(void)context;
	assert_true(impair_timer(plan, s, timer));
}

static void on_lost(void *context, struct sim *s, const struct packet *p)
{
	(void)context;
	(void)s;
	(void)p;
	n_lost++;
}

/* What the test may change before plant(). Its topology is there. */
static void prepare(enum routing_mode mode)
{
	struct fwd_bdp bdp = {4000000, true, true, 28};

	routing_cfg = (struct routing_cfg){
		.mode = mode,
		.hash_fields = FWD_HASH_5TUPLE | FWD_HASH_FLOW_LABEL,
		.ev_layout = {2, {4, 4}},
		.trims = net_trims_of(names.trimmed, names.trimmed_lasthop),
		.max_groups = GROUPS_MAX,
	};
	hosts_cfg = (struct hosts_cfg){
		.transport = &transport_rc,
		.routing = &routing,
		.seed = 3,
		.payload_bytes = PAYLOAD,
		.window_pkts = 64,
		.window_bytes = 64 * PAYLOAD,
		.entropies = 1,
		.options = {.ack_every_pkts = 4, .retries = 7, .slow_retries = 7},
		.timeout_ns = 200000,
		.qps = host_qps,
		.ops = host_ops,
	};
	cfg = (struct sim_cfg){
		.seed = 1,
		.topology = &topology,
		.routing = &routing,
		.names = names,
		.overhead_bytes = 24,
		.nic_queue_pkts = 2,
		.transport = &fleet.sim,
		.groups = &groups,
		.hooks = {.done = on_done, .timer = on_timer, .lost = on_lost, .is_local = true},
	};
	groups_cfg = (struct groups_cfg){.dscp = names.control};
	fwd_qos_recommended(&cfg.qos, &names, &bdp);
	/* All receivers have all of it, or nobody moves on: nothing is trimmed (T-31). */
	for (uint32_t i = 0; i < 64; i++)
		cfg.qos.dscps[i].trim = FWD_TRIM_NEVER;
	n_trees = 0;
	n_lost = 0;
	plan = NULL;
}

/* A group from its first host to the others. Later ones have lower numbers. */
static struct stage_group *add_tree(const uint32_t *hosts, uint32_t n, uint32_t messages,
				    uint32_t bytes)
{
	struct stage_group *tree = &trees[n_trees];

	*tree = (struct stage_group){.n_members = n, .messages = messages, .message_bytes = bytes};
	assert_in_range((uint64_t)messages * bytes, 1, BYTES_MAX);
	for (uint32_t i = 0; i < n; i++)
		tree->members[i] = (struct groups_member){
			.host = hosts[i], .qpn = DESIGNATED - 0x100 * n_trees + 7 * i};
	tree->one = (struct groups_one){
		.source = tree->members[0],
		.receivers = tree->members + 1,
		.n_receivers = n - 1,
		.merge = {.has_start = true, .start = {FIRST_PSN}},
	};
	n_trees++;
	return tree;
}

/* Each member's queue pair, and the memory of group 0's: messages of others are not looked at. */
static void open_member(uint32_t g, uint32_t i)
{
	const struct stage_group *tree = &trees[g];
	const struct groups_member *m = &tree->members[i];
	struct sim_qp qp = {
		.qp = m->qpn,
		.peer = topology.n_hosts + g,
		.peer_qp = tree->one.source.qpn,
		.host = m->host,
		.sends = i ? 0 : tree->messages,
		.takes = i ? tree->messages : 0,
		.now = sim_host_now(&sim, m->host),
		.is_member = true,
		.port = (uint8_t)m->port,
		.psn = FIRST_PSN,
	};

	assert_int_equal(fleet.sim.open(&fleet, sim.hosts[m->host].engine, &qp), 0);
	for (uint32_t n = 0; n < tree->messages; n++) {
		bool is_real = g == 0;
		uint8_t *at = i ? got[i] : sent;
		struct sge sge = {is_real ? at + n * tree->message_bytes : NULL,
				  tree->message_bytes, is_real ? 100 + i : PAIRS_KEY};
		struct op op = {
			.cookie = n,
			.sg = &sge,
			.n_sg = 1,
			.qp = m->qpn,
			.code = i ? ENGINE_RECV : ENGINE_SEND,
		};

		assert_int_equal(sim_post(&sim, m->host, &op), 0);
	}
}

/* Real memory of group 0's members. */
static void add_memory(void)
{
	struct prng p;

	prng_init(&p, 5, 0);
	for (uint32_t i = 0; i < BYTES_MAX; i++)
		sent[i] = (uint8_t)prng_u32(&p);
	memset(got, 0, sizeof got);
	for (uint32_t i = 0; i < trees[0].n_members; i++) {
		struct mem_entry e = {
			.at = i ? got[i] : sent,
			.iova = (uintptr_t)(i ? got[i] : sent),
			.len = BYTES_MAX,
			.key = 100 + i,
			.qp = MEM_ANY_QP,
			.access = MEM_LOCAL_WRITE,
		};

		assert_int_equal(mem_add(fleet.pairs.mem, &e), 0);
	}
}

/* Everything but the messages; receivers post before the source. */
static void plant(const struct fault *faults, uint32_t n_faults)
{
	for (uint32_t h = 0; h < 64; h++)
		host_qps[h] = host_ops[h] = 64;
	assert_int_equal(routing_build(&routing, &topology, &routing_cfg, 7, error, sizeof error),
			 0);
	assert_int_equal(hosts_init(&fleet, &hosts_cfg), 0);
	assert_int_equal(groups_init(&groups, &routing, &groups_cfg), 0);
	for (uint32_t g = 0; g < n_trees; g++)
		if (groups_add(&groups, &trees[g].one, error, sizeof error) != (int)g)
			fail_msg("%s", error);
	cfg.headroom = groups_headroom(&groups);
	assert_int_equal(sim_init(&sim, &cfg), 0);
	if (n_faults) {
		plan = impair_plan_new(&sim, faults, n_faults, 11);
		assert_non_null(plan);
	}
	add_memory();
	for (uint32_t g = 0; g < n_trees; g++)
		for (uint32_t i = trees[g].n_members; i-- > 0;)
			open_member(g, i);
}

static bool is_over(void)
{
	bool is = true;

	for (uint32_t g = 0; g < n_trees; g++) {
		is &= trees[g].n_sent == trees[g].messages;
		for (uint32_t i = 1; i < trees[g].n_members; i++)
			is &= trees[g].n_received[i] == trees[g].messages;
	}
	return is;
}

/* Runs until all is sent, received and acknowledged, then until nothing moves any more. */
static void finish(void)
{
	while (sim_run(&sim, sim_now(&sim) + 10 * PSEC_US)) {
		assert_true(sim_is_conserved(&sim));
		if (sim_now(&sim) > BOUND)
			fail_msg("not over at %llu ps", (unsigned long long)sim_now(&sim));
	}
	assert_true(is_over());
	assert_true(sim_is_conserved(&sim));
	assert_int_equal(sim_in_flight(&sim), 0);
	assert_int_equal(sim.packets.in_use, 0);
	for (uint32_t i = 0; i < topology.n_nodes - topology.n_hosts; i++)
		assert_int_equal(groups.nodes[i].n_windows, 0);
	for (uint32_t i = 1; i < trees[0].n_members; i++)
		assert_memory_equal(got[i], sent,
				    (size_t)trees[0].messages * trees[0].message_bytes);
}

static void end(void)
{
	impair_plan_free(plan);
	sim_fini(&sim);
	groups_fini(&groups);
	hosts_fini(&fleet);
	routing_fini(&routing);
}

/* The node of a switch, by name. */
static struct mt_node *node_of(const char *name)
{
	uint32_t node = topology_find_node(&topology, name);

	assert_in_range(node, topology.n_hosts, topology.n_nodes - 1);
	return &groups.nodes[node - topology.n_hosts].mt;
}

static const struct rc_counters *counters_of(uint32_t host)
{
	return rc_counters(sim.hosts[host].engine);
}

/* Figure 1 of the draft: S1 on N6, R1 to R5 on N1, N2 and N3. */
static void build_figure(void)
{
	static const char *const hosts[] = {"S1", "R1", "R2", "R3", "R4", "R5"};
	static const struct {
		const char *name;
		uint8_t tier;
	} switches[] = {{"N1", 0}, {"N2", 0}, {"N3", 0}, {"N4", 1}, {"N5", 1}, {"N6", 2}};
	static const char *const links[][2] = {
		{"S1", "N6"}, {"N6", "N4"}, {"N6", "N5"}, {"N4", "N1"}, {"N4", "N2"}, {"N5", "N3"},
		{"R1", "N1"}, {"R2", "N1"}, {"R3", "N2"}, {"R4", "N2"}, {"R5", "N3"},
	};
	const struct topology_link link = {RATE, DELAY, 0};
	struct topology_draft *d = topology_begin();

	for (uint32_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
		assert_int_equal(topology_host(d, hosts[i], error, sizeof error), 0);
	for (uint32_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
		assert_int_equal(topology_switch(d, switches[i].name, switches[i].tier, 0, error,
						 sizeof error),
				 0);
	for (uint32_t i = 0; i < sizeof links / sizeof links[0]; i++)
		assert_int_equal(
			topology_link(d, links[i][0], links[i][1], &link, error, sizeof error), 0);
	assert_int_equal(topology_end(d, &topology, error, sizeof error), 0);
}

/* Two hosts on each of eight leaves, in four pods. */
static void build_tree(uint32_t uplinks)
{
	const struct topology_link link = {RATE, DELAY, 0};
	const struct topology_cfg t = {
		.kind = TOPOLOGY_FAT_TREE,
		.hosts = 16,
		.hosts_per_leaf = 2,
		.leaves_per_pod = 2,
		.spines = 2,
		.cores = 4,
		.planes = 1,
		.nic_ports = 1,
		.uplinks = uplinks,
		.links = {link, link, link},
	};

	assert_int_equal(topology_build(&topology, &t, error, sizeof error), 0);
}

#endif
