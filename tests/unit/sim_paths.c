#include "check.h"
#include "fabric.h"
#include "sim/routing.h"

static void path_numbers_wrap_and_hops_are_cut(void **state)
{
	uint32_t a[HOPS_MAX], b[HOPS_MAX];
	struct routing_path first, wrapped;
	struct topology t;
	struct routing r;

	(void)state;
	build_regular(&t, fat_tree(16, 2, 2, 2, 8));
	build_routing(&r, &t, plain(ROUTING_USID));
	assert_int_equal(routing_n_paths(&r, 0, 0, 15), 2 * 4);
	assert_int_equal(routing_n_paths(&r, 0, 0, 3), 2);
	assert_int_equal(routing_n_paths(&r, 0, 0, 1), 1);
	assert_int_equal(routing_hops(&r, 0, 0, 15, 5, a, HOPS_MAX), 6);
	assert_int_equal(routing_hops(&r, 0, 0, 15, 5 + 8, b, HOPS_MAX), 6);
	assert_memory_equal(a, b, 6 * sizeof a[0]);
	assert_int_equal(routing_hops(&r, 0, 0, 15, 5, b, 3), 3);
	assert_int_equal(routing_hops(&r, 0, 0, 15, 5, b, 0), 0);
	routing_path(&r, 0, 0, 15, 5, &first);
	routing_path(&r, 0, 0, 15, 5 + 800, &wrapped);
	assert_memory_equal(&first, &wrapped, sizeof first);
	/* Consecutive numbers part at the first switch. */
	routing_hops(&r, 0, 0, 15, 0, a, HOPS_MAX);
	routing_hops(&r, 0, 0, 15, 1, b, HOPS_MAX);
	assert_int_not_equal(a[1], b[1]);
	routing_fini(&r);
	topology_fini(&t);
}

/* leaf0 spine1 core3 spine3 leaf2 and the first host there, as numbers of switches: 4 leaves, 4
 * spines, 4 cores. */
static void containers_name_every_hop(void **state)
{
	static const uint8_t host[16] = {0xfc, 0xbb, 0xbb, 0, 0, 1, 0, 6, 0, 12, 0, 8, 0, 3, 0, 13};
	static const uint8_t leaf[16] = {0xfc, 0xbb, 0, 1, 0, 6, 0, 12, 0, 8, 0, 12 + 3};
	static const uint8_t half[16] = {0xfc, 0xbb, 0, 1, 0, 6, 0, 12};
	static const uint8_t rest[16] = {0xfc, 0xbb, 0, 8, 0, 12 + 3};
	/* Names of ports: leaf0's fourth, spine1's fourth; from the core on there is no choice. */
	static const uint8_t port[16] = {0xfc, 0xbb, 0xbb, 0, 0, 13 + 3, 0, 13 + 3,
					 0,    12,   0,    8, 0, 3,      0, 13 + 4};
	struct routing_cfg cfg = plain(ROUTING_USID);
	struct routing_path path;
	struct topology t;
	struct routing r;

	(void)state;
	build_regular(&t, fat_tree(8, 2, 2, 2, 4));
	build_routing(&r, &t, cfg);
	routing_path(&r, 0, 0, 4, 3, &path);
	assert_int_equal(path.n_segments, 1);
	assert_memory_equal(path.container[0], host, 16);
	routing_fini(&r);
	cfg.uses_adjacency = true;
	build_routing(&r, &t, cfg);
	routing_path(&r, 0, 0, 4, 3, &path);
	assert_memory_equal(path.container[0], port, 16);
	routing_fini(&r);
	cfg.uses_adjacency = false;
	cfg.decap = ROUTING_DECAP_LEAF;
	cfg.format = FWD_F1616;
	build_routing(&r, &t, cfg);
	routing_path(&r, 0, 0, 4, 3, &path);
	assert_int_equal(path.n_segments, 1);
	assert_memory_equal(path.container[0], leaf, 16);
	routing_fini(&r);
	cfg.mode = ROUTING_USID_SRH;
	build_routing(&r, &t, cfg);
	routing_path(&r, 0, 0, 4, 3, &path);
	assert_int_equal(path.n_segments, 2);
	assert_memory_equal(path.container[0], half, 16);
	assert_memory_equal(path.container[1], rest, 16);
	routing_path(&r, 0, 0, 1, 0, &path);
	assert_int_equal(path.n_segments, 1);
	routing_fini(&r);
	topology_fini(&t);
}

static void hashes_spread_evenly(void **state)
{
	enum { SPINES = 8, PACKETS = 8000 };
	uint32_t count[2][SPINES] = {{0}}, same_way = 0;
	const struct routing_path native = {.n_segments = 0};
	struct topology t;
	struct routing r;
	uint8_t address[16];

	(void)state;
	build_regular(&t, leaf_spine(32, 8, SPINES));
	build_routing(&r, &t, plain(ROUTING_ECMP));
	routing_address(&r, 31, 0, address);
	for (uint32_t i = 0; i < PACKETS; i++) {
		uint32_t ev = routing_entropy(&r, 5, i), spine[2];

		assert_in_range(ev >> 16, 0xc000, 0xffff);
		/* From two leaves: each switch has a seed of its own. */
		for (uint32_t leaf = 0; leaf < 2; leaf++) {
			struct trip trip;

			make_frame(&trip, &native, address, ev);
			assert_int_equal(travel(&r, &trip, t.nodes[8 * leaf].first_port), 31);
			spine[leaf] = t.nodes[peer_node(&t, trip.ports[1])].index;
			count[leaf][spine[leaf]]++;
		}
		same_way += spine[0] == spine[1];
	}
	/* The standard deviation is 30. */
	for (uint32_t s = 0; s < SPINES; s++) {
		assert_in_range(count[0][s], PACKETS / SPINES - 150, PACKETS / SPINES + 150);
		assert_in_range(count[1][s], PACKETS / SPINES - 150, PACKETS / SPINES + 150);
	}
	assert_in_range(same_way, PACKETS / SPINES - 150, PACKETS / SPINES + 150);
	routing_fini(&r);
	topology_fini(&t);
}

static void structured_evs_name_the_ports(void **state)
{
	enum { SPINES = 3, UPS = 2, UPLINKS = 2, CHOICES = SPINES * UPLINKS * UPS };
	struct routing_cfg cfg = plain(ROUTING_STRUCTURED);
	uint32_t seen[SPINES * UPLINKS][UPS] = {{0}};
	struct topology t;
	struct routing r;
	uint8_t address[16];

	(void)state;
	build_regular(&t, with_planes(fat_tree(8, 1, 2, SPINES, SPINES * UPS), 1, 1, UPLINKS));
	build_routing(&r, &t, cfg);
	routing_address(&r, 7, 0, address);
	for (uint32_t i = 0; i < 5 * CHOICES; i++) {
		uint32_t ev = routing_entropy(&r, 11, i);
		uint32_t field[2] = {fwd_ev_field(&cfg.ev_layout, ev, 0),
				     fwd_ev_field(&cfg.ev_layout, ev, 1)};
		const struct routing_path native = {.n_segments = 0};
		struct trip trip;

		assert_in_range(field[0], 0, SPINES * UPLINKS - 1);
		assert_in_range(field[1], 0, UPS - 1);
		seen[field[0]][field[1]]++;
		make_frame(&trip, &native, address, ev);
		assert_int_equal(travel(&r, &trip, 0), 7);
		/* Behind the leaf's one host, and the spine's two times two links to leaves. */
		const struct topology_node *leaf = &t.nodes[t.ports[trip.ports[1]].node];
		const struct topology_node *spine = &t.nodes[t.ports[trip.ports[2]].node];

		assert_int_equal(trip.ports[1] - leaf->first_port, 1 + field[0]);
		assert_int_equal(trip.ports[2] - spine->first_port, 2 * UPLINKS + field[1]);
	}
	for (uint32_t i = 0; i < CHOICES; i++)
		assert_int_equal(seen[i / UPS][i % UPS], 5);
	assert_int_not_equal(routing_entropy(&r, 11, 0), routing_entropy(&r, 12, 0));
	/* Field 0 is the top ten bits: a seventh port there is none. */
	assert_int_equal(fate(&r, 0, address, UINT32_C(6) << 22), FWD_DROP_EV_RANGE);
	assert_int_equal(fate(&r, 0, address, UINT32_C(2) << 14), FWD_DROP_EV_RANGE);
	routing_fini(&r);
	topology_fini(&t);
}

static void a_seed_is_all_there_is(void **state)
{
	const struct routing_cfg cfg = plain(ROUTING_ECMP);
	struct routing a, b, c;
	char error[200];
	struct topology t;

	(void)state;
	build_regular(&t, with_planes(fat_tree(8, 2, 2, 2, 4), 2, 2, 1));
	assert_int_equal(routing_build(&a, &t, &cfg, 1, error, sizeof error), 0);
	assert_int_equal(routing_build(&b, &t, &cfg, 1, error, sizeof error), 0);
	assert_int_equal(routing_build(&c, &t, &cfg, 2, error, sizeof error), 0);
	for (uint32_t s = 0; s < t.n_nodes - t.n_hosts; s++) {
		assert_int_equal(a.switches[s].hash_seed, b.switches[s].hash_seed);
		assert_int_not_equal(a.switches[s].hash_seed, c.switches[s].hash_seed);
		for (uint32_t i = 0; i < s; i++)
			assert_int_not_equal(a.switches[s].hash_seed, a.switches[i].hash_seed);
	}
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(routing_entropy(&a, 3, i), routing_entropy(&b, 3, i));
	routing_fini(&a);
	routing_fini(&b);
	routing_fini(&c);
	topology_fini(&t);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(path_numbers_wrap_and_hops_are_cut),
	cmocka_unit_test(containers_name_every_hop),
	cmocka_unit_test(hashes_spread_evenly),
	cmocka_unit_test(structured_evs_name_the_ports),
	cmocka_unit_test(a_seed_is_all_there_is),
};

CHECK_MAIN(cases)
