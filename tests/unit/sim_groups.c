/* Multicast groups in the fabric, with RC as it is at the hosts: every receiver gets every message,
 * byte for byte, whatever the links do; packets are accounted for; node by node is event by event.
 */
#include <errno.h>
#include <stdio.h>

#include "groups_stage.h"

#define MATCH(a) (sizeof(a) / sizeof(a)[0])

static const uint32_t figure[] = {0, 1, 2, 3, 4, 5};
/* The source's leaf, its pod, two others. */
static const uint32_t spread[] = {0, 1, 2, 5, 8, 9, 15};

static int after(void **state)
{
	(void)state;
	topology_fini(&topology);
	return 0;
}

/* Each link of the tree carries each packet once, and the source gets what one peer would say. */
static void every_receiver_of_the_figure_gets_all(void **state)
{
	(void)state;
	for (uint32_t by_tlv = 0; by_tlv < 2; by_tlv++) {
		if (by_tlv)
			topology_fini(&topology);
		build_figure();
		prepare(ROUTING_ECMP);
		add_tree(figure, MATCH(figure), 20, 5000)->one.by_tlv = by_tlv;
		plant(NULL, 0);
		finish();
		/* 20 messages of 5 packets, copied twice at N6, 2 + 1 times behind it, 5 times at
		 * the edges. */
		assert_int_equal(sim.totals.replicated, 100 * (2 + 3 + 5));
		assert_int_equal(counters_of(0)->tx_request, 100);
		assert_int_equal(counters_of(0)->tx_retx, 0);
		assert_int_equal(sim.totals.drops[SIM_DROP_GROUP], 0);
		/* Five receivers, and each node above makes one of many. */
		uint64_t acks = 0;

		for (uint32_t h = 1; h < 6; h++)
			acks += counters_of(h)->tx_ack;
		assert_in_range(counters_of(0)->rx, 1, acks / 5 + 5);
		assert_int_equal(sim.totals.absorbed, 100 * (1 + 2 + 3) + acks +
							      sim.totals.answered -
							      counters_of(0)->rx);
		end();
	}
}

/* Trees by shortest paths: the parents that the figure has, and no more nodes than needed. */
static void trees_are_those_of_the_figure(void **state)
{
	static const struct {
		const char *name;
		uint32_t n_branches;
		bool is_first;
	} want[] = {{"N6", 2, true},  {"N4", 2, false}, {"N5", 1, false},
		    {"N1", 2, false}, {"N2", 2, false}, {"N3", 1, false}};

	(void)state;
	build_figure();
	prepare(ROUTING_ECMP);
	add_tree(figure, MATCH(figure), 1, 100);
	add_tree((uint32_t[]){1, 2}, 2, 1, 100);
	plant(NULL, 0);
	for (uint32_t i = 0; i < MATCH(want); i++) {
		const struct mt_node *n = node_of(want[i].name);

		assert_int_equal(n->n_groups, i == 3 ? 2 : 1);
		const struct mt_group *g = &n->groups[n->n_groups - 1];

		assert_int_equal(g->qpn, DESIGNATED);
		assert_int_equal(g->n_branches, want[i].n_branches);
		assert_int_equal(g->is_first, want[i].is_first);
	}
	/* Source and receiver on one switch: that is all of the tree. */
	const struct mt_group *g = &node_of("N1")->groups[0];

	assert_true(g->is_first && g->wrap && g->n_branches == 1 && !g->branches[0].is_node);
	finish();
	end();
}

static void a_fat_tree_with_all_kinds_of_nodes(void **state)
{
	static const enum routing_mode modes[] = {ROUTING_ECMP, ROUTING_STRUCTURED};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		if (i)
			topology_fini(&topology);
		build_tree(1 + i / 2);
		prepare(modes[i % 2]);
		/* The second group goes from a host that receives in the first. */
		add_tree(spread, MATCH(spread), 10, 9000)->one.by_tlv = i % 2;
		add_tree((uint32_t[]){5, 0, 1, 4, 15}, 5, 7, 3000);
		plant(NULL, 0);
		finish();
		assert_int_equal(sim.totals.drops[SIM_DROP_GROUP], 0);
		assert_int_equal(counters_of(0)->tx_retx, 0);
		end();
	}
}

struct outcome {
	uint64_t hash;
	struct sim_totals totals;
	bool is_windowed;
};

/* Three sources' bytes go to most receivers: queues mark, and CNPs come. */
static void plant_crowd(bool is_local)
{
	prepare(ROUTING_ECMP);
	cfg.qos.classes[0].ecn_min_bytes = 3000;
	cfg.qos.classes[0].ecn_max_bytes = 9000;
	hosts_cfg.cc = CC_DCQCN;
	groups_cfg.window_ps = 7 * PSEC_US + 1;
	add_tree(spread, MATCH(spread), 20, 9000);
	add_tree((uint32_t[]){4, 2, 5, 8, 9, 15}, 6, 20, 9000);
	add_tree((uint32_t[]){10, 2, 5, 8, 9, 15}, 6, 20, 9000);
	cfg.hooks.is_local = is_local;
	plant(NULL, 0);
}

static struct outcome run_crowd(bool is_local)
{
	struct outcome o;

	plant_crowd(is_local);
	sim_run(&sim, PSEC_US);
	o.is_windowed = sim.is_windowed;
	finish();
	o.hash = sim.trace_hash;
	o.totals = sim.totals;
	uint64_t cnps = 0, passed_on = 0;

	for (uint32_t h = 0; h < topology.n_hosts; h++)
		cnps += counters_of(h)->tx_cnp;
	for (uint32_t h = 0; h < topology.n_hosts; h++)
		passed_on += counters_of(h)->rx_cnp;
	assert_true(cnps > passed_on && passed_on > 2);
	end();
	return o;
}

static void node_by_node_is_event_by_event(void **state)
{
	(void)state;
	build_tree(1);
	struct outcome by_event = run_crowd(false), by_node = run_crowd(true);

	assert_false(by_event.is_windowed);
	assert_true(by_node.is_windowed);
	assert_memory_equal(&by_event.totals, &by_node.totals, sizeof by_node.totals);
	assert_int_equal(by_event.hash, by_node.hash);
}

/* What a switch forgets it does not come back to. */
static void a_reboot_closes_windows(void **state)
{
	uint32_t i = 0, n_switches;

	(void)state;
	build_tree(1);
	n_switches = topology.n_nodes - topology.n_hosts;
	plant_crowd(true);
	while (i == 0 || i == n_switches) {
		assert_true(sim_run(&sim, sim_now(&sim) + PSEC_US));
		for (i = 0; i < n_switches && groups.nodes[i].n_windows == 0; i++)
			;
	}
	assert_true(groups.nodes[i].mt.groups[0].merge.cfg.has_start);
	sim_switch_clear(&sim, topology.n_hosts + i);
	assert_int_equal(groups.nodes[i].n_windows, 0);
	assert_true(agenda_at(&sim.agenda, sim.first_alarm + topology.n_hosts + i) == PSEC_NEVER);
	for (uint32_t g = 0; g < groups.nodes[i].mt.n_groups; g++) {
		const struct mt_merge *m = &groups.nodes[i].mt.groups[g].merge;

		assert_false(m->cfg.has_start || m->has_highest || m->is_window_open);
		assert_int_equal(m->n_live, m->cfg.n_branches);
		assert_int_equal(m->n_unknown, m->cfg.n_branches);
	}
	/* The windows of before do not end any more. */
	psec until = sim_now(&sim) + 3 * groups.window_ps;
	uint64_t sent_up = groups.nodes[i].mt.groups[0].merge.counts.cnps_up;

	assert_int_equal(sent_up, 0);
	while (sim_now(&sim) < until && sim_run(&sim, sim_now(&sim) + PSEC_US))
		assert_true(sim_is_conserved(&sim));
	end();
}

/* What a node makes itself came in by no port, and pauses nobody. */
static void flow_control_counts_what_came_in(void **state)
{
	(void)state;
	build_figure();
	prepare(ROUTING_ECMP);
	for (uint32_t c = 0; c < cfg.qos.n_classes; c++) {
		cfg.qos.classes[c].pfc_xoff_bytes = 3000;
		cfg.qos.classes[c].pfc_xon_bytes = 1000;
	}
	add_tree(figure, MATCH(figure), 40, 5000);
	add_tree((uint32_t[]){1, 2, 3, 4}, 4, 40, 5000);
	plant(NULL, 0);
	finish();
	assert_true(sim.totals.pauses > 0);
	for (uint32_t i = 0; i < sim.n_ports; i++)
		for (uint32_t c = 0; c < cfg.qos.n_classes; c++)
			assert_int_equal(sim.pfcs[i].came_in[c], 0);
	end();
}

/* The switch above another in the tree of a group. */
static uint32_t parent_of(const char *name, uint32_t group)
{
	const struct mt_node *n = node_of(name);
	uint8_t address[16];

	for (uint32_t i = 0; i < topology.n_nodes - topology.n_hosts; i++) {
		routing_node_address(i, 1, address);
		if (memcmp(address, n->groups[group].up.address, 16) == 0)
			return topology.n_hosts + i;
	}
	fail();
	return 0;
}

/* a is behind p and q, b behind q and r: both go by q if a does. */
static void paths_meet_where_they_can(void **state)
{
	static const char *const links[][2] = {{"S", "t"}, {"t", "p"}, {"t", "q"}, {"t", "r"},
					       {"p", "a"}, {"q", "a"}, {"q", "b"}, {"r", "b"},
					       {"A", "a"}, {"B", "b"}};
	static const char *const names_of[] = {"S", "A", "B", "t", "p", "q", "r", "a", "b"};
	static const uint8_t tiers[] = {0, 0, 0, 2, 1, 1, 1, 0, 0};
	const struct topology_link link = {RATE, DELAY, 0};
	struct topology_draft *d = topology_begin();
	uint32_t n_met = 0, n_other = 0;

	(void)state;
	for (uint32_t i = 0; i < MATCH(names_of); i++)
		assert_int_equal(
			i < 3 ? topology_host(d, names_of[i], error, sizeof error)
			      : topology_switch(d, names_of[i], tiers[i], 0, error, sizeof error),
			0);
	for (uint32_t i = 0; i < MATCH(links); i++)
		assert_int_equal(
			topology_link(d, links[i][0], links[i][1], &link, error, sizeof error), 0);
	assert_int_equal(topology_end(d, &topology, error, sizeof error), 0);
	prepare(ROUTING_ECMP);
	for (uint32_t g = 0; g < GROUPS_MAX; g++)
		add_tree((uint32_t[]){0, 1, 2}, 3, 1, 100);
	plant(NULL, 0);
	for (uint32_t g = 0; g < GROUPS_MAX; g++) {
		if (parent_of("a", g) == topology_find_node(&topology, "q")) {
			assert_int_equal(parent_of("b", g), parent_of("a", g));
			n_met++;
		} else {
			n_other++;
		}
	}
	/* Groups are spread over the paths. */
	assert_true(n_met > 0 && n_other > 0);
	finish();
	end();
}

/* Faults on a link of the tree, either way, and on all of them. */
static void faults_end_well(void **state)
{
	static const uint8_t kinds[] = {FAULT_DROP,     FAULT_BURST, FAULT_DUPLICATE, FAULT_REORDER,
					FAULT_TRUNCATE, FAULT_FLAP,  FAULT_FORGE};
	static const char *const links[][2] = {
		{"S1", "N6"}, {"N6", "N4"}, {"N4", "N2"}, {"R3", "N2"}};

	(void)state;
	build_figure();
	for (uint32_t i = 0; i < MATCH(kinds) * MATCH(links) * 2; i++) {
		const char *const *link = links[i / 2 % MATCH(links)];
		char name[32];
		struct fault f = {
			.kind = kinds[i / 2 / MATCH(links)],
			.from_ps = 3 * PSEC_US,
			.until_ps = 400 * PSEC_US,
			.ppm = 60000,
			.count = 3,
			.amount_ps = 5 * PSEC_US,
		};

		snprintf(name, sizeof name, "%s>%s", link[i % 2], link[1 - i % 2]);
		f.port = topology_find_port(&topology, name);
		assert_in_range(f.port, 0, topology.n_ports - 1);
		if (f.kind == FAULT_FLAP)
			f.ppm = 0;
		if (f.kind != FAULT_BURST && f.kind != FAULT_FLAP)
			f.count = 0;
		if (f.kind != FAULT_REORDER && f.kind != FAULT_FLAP)
			f.amount_ps = 0;
		prepare(ROUTING_ECMP);
		add_tree(figure, MATCH(figure), 40, 5000)->one.by_tlv = i % 3 == 0;
		plant(&f, 1);
		finish();
		assert_true(impair_counts(plan)[0].touched > 0);
		end();
	}
}

/* T-13: a packet damaged above a node is damaged below it, and nobody takes it. The frame check
 * sequence is right: only the packet's own CRC tells. */
static void what_was_damaged_stays_damaged(void **state)
{
	(void)state;
	build_figure();
	for (uint32_t i = 0; i < 2; i++) {
		struct fault f = {
			.kind = FAULT_CORRUPT,
			.crc = FAULT_CRC_FCS_REPAIRED,
			.until_ps = 300 * PSEC_US,
			.ppm = 100000,
			.count = 2,
			.match = FAULT_DATA,
		};

		f.port = topology_find_port(&topology, i ? "N6>N4" : "S1>N6");
		prepare(ROUTING_ECMP);
		add_tree(figure, MATCH(figure), 40, 5000)->one.by_tlv = i;
		plant(&f, 1);
		finish();
		assert_true(impair_counts(plan)[0].touched > 10);
		/* Most flips hit the payload, which no node looks at: the receivers behind see it,
		 * all of them. */
		assert_true(sim.totals.drops[SIM_DROP_HOST_SEAL] >
			    2 * impair_counts(plan)[0].touched);
		assert_true(counters_of(0)->tx_retx > 0);
		end();
	}
}

/* The same of an answer, which no node believes. */
static void damaged_answers_are_dropped(void **state)
{
	struct fault f = {
		.kind = FAULT_CORRUPT,
		.crc = FAULT_CRC_FCS_REPAIRED,
		.until_ps = 300 * PSEC_US,
		.ppm = 300000,
		.count = 1,
	};

	(void)state;
	build_figure();
	f.port = topology_find_port(&topology, "R3>N2");
	prepare(ROUTING_ECMP);
	add_tree(figure, MATCH(figure), 40, 5000);
	plant(&f, 1);
	finish();
	assert_in_range(node_of("N2")->drops[MT_DROP_SEAL], 1, impair_counts(plan)[0].touched);
	assert_int_equal(sim.totals.drops[SIM_DROP_HOST_SEAL], 0);
	end();
}

/* Whatever the source sends is put together byte by byte, and right. */
static void write_out(void *context, struct sim *s, uint32_t host)
{
	const struct sim_port *port = &s->ports[topology.nodes[host].first_port];

	(void)context;
	for (uint32_t i = 0; host == 0 && i < port->wire.n; i++)
		assert_true(packet_make_real(
			port->wire.slots[(port->wire.head + i) & port->wire.mask].packet,
			&s->net.carriers));
}

static void what_was_right_stays_right(void **state)
{
	(void)state;
	build_figure();
	for (uint32_t by_tlv = 0; by_tlv < 2; by_tlv++) {
		prepare(ROUTING_ECMP);
		cfg.hooks.pulled = write_out;
		add_tree(figure, MATCH(figure), 20, 5000)->one.by_tlv = by_tlv;
		plant(NULL, 0);
		finish();
		assert_int_equal(sim.totals.drops[SIM_DROP_HOST_SEAL], 0);
		assert_int_equal(counters_of(0)->tx_retx, 0);
		end();
	}
}

/* A node that rebooted knows nothing of the receivers: the source asks again, and they say it
 * (T-05), though it repeats one packet at a time and they have many more. */
static void a_node_may_reboot(void **state)
{
	static const char *const names_of[] = {"N6", "N4", "N2"};

	(void)state;
	build_figure();
	for (uint32_t i = 0; i < MATCH(names_of); i++) {
		struct fault f = {
			.kind = FAULT_REBOOT,
			.node = topology_find_node(&topology, names_of[i]),
			.from_ps = 15 * PSEC_US,
			.until_ps = 30 * PSEC_US,
		};

		prepare(ROUTING_ECMP);
		add_tree(figure, MATCH(figure), 40, 5000);
		plant(&f, 1);
		finish();
		assert_true(counters_of(0)->tx_retx > 0);
		end();
	}
}

static void expect_refusal(int want, const struct groups_one *one, const char *sentence)
{
	struct sim_groups g;

	assert_int_equal(groups_init(&g, &routing, &groups_cfg), 0);
	assert_int_equal(groups_add(&g, one, error, sizeof error), want);
	assert_string_equal(error, sentence);
	groups_fini(&g);
}

static void mistakes_are_told(void **state)
{
	struct groups_member hosts[] = {{1, 0, 5}, {2, 0, 6}, {1, 0, 7}, {9, 0, 8}, {3, 4, 9}};
	struct groups_one one = {.source = {0, 0, DESIGNATED}, .receivers = hosts};

	(void)state;
	build_figure();
	prepare(ROUTING_ECMP);
	assert_int_equal(routing_build(&routing, &topology, &routing_cfg, 7, error, sizeof error),
			 0);
	expect_refusal(-EINVAL, &one, "multicast group 0 has no receivers");
	one.n_receivers = 3;
	expect_refusal(-EINVAL, &one, "multicast group 0: host 1 is a member twice");
	one.n_receivers = 4;
	expect_refusal(-EINVAL, &one, "multicast group 0: host 9 does not exist");
	one.receivers = &hosts[4];
	one.n_receivers = 1;
	expect_refusal(-EINVAL, &one, "multicast group 0: host 3 has no such port");
	one.receivers = hosts;
	one.source.host = 1;
	expect_refusal(-EINVAL, &one, "multicast group 0: host 1 is a member twice");
	one.source = (struct groups_member){0, 0, 1};
	expect_refusal(-EINVAL, &one,
		       "multicast group 0: the Designated QPN is no number of a queue pair");
	one.source.qpn = DESIGNATED;
	assert_int_equal(groups_init(&groups, &routing, &groups_cfg), 0);
	assert_int_equal(groups_add(&groups, &one, error, sizeof error), 0);
	one.source.host = 5;
	assert_int_equal(groups_add(&groups, &one, error, sizeof error), -EEXIST);
	assert_string_equal(error, "multicast groups 0 and 1 have one Designated QPN");
	groups_fini(&groups);
	routing_fini(&routing);
	routing_cfg.max_groups = 0;
	assert_int_equal(routing_build(&routing, &topology, &routing_cfg, 7, error, sizeof error),
			 0);
	expect_refusal(-ENOSPC, &one, "the fabric has room for 0 multicast groups");
	routing_fini(&routing);
	routing_cfg.max_groups = 1;
	routing_cfg.mode = ROUTING_USID;
	assert_int_equal(routing_build(&routing, &topology, &routing_cfg, 7, error, sizeof error),
			 -EINVAL);
}

#define CASE(name) cmocka_unit_test_teardown(name, after)

static const struct CMUnitTest cases[] = {
	CASE(every_receiver_of_the_figure_gets_all),
	CASE(trees_are_those_of_the_figure),
	CASE(a_fat_tree_with_all_kinds_of_nodes),
	CASE(node_by_node_is_event_by_event),
	CASE(a_reboot_closes_windows),
	CASE(flow_control_counts_what_came_in),
	CASE(paths_meet_where_they_can),
	CASE(faults_end_well),
	CASE(what_was_damaged_stays_damaged),
	CASE(damaged_answers_are_dropped),
	CASE(what_was_right_stays_right),
	CASE(a_node_may_reboot),
	CASE(mistakes_are_told),
};

CHECK_MAIN(cases)
