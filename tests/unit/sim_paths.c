#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
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
	uint32_t count[2][SPINES] = {{0}}, same_spine = 0;
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
		same_spine += spine[0] == spine[1];
	}
	/* The standard deviation is 30. */
	for (uint32_t s = 0; s < SPINES; s++) {
		assert_in_range(count[0][s], PACKETS / SPINES - 150, PACKETS / SPINES + 150);
		assert_in_range(count[1][s], PACKETS / SPINES - 150, PACKETS / SPINES + 150);
	}
	assert_in_range(same_spine, PACKETS / SPINES - 150, PACKETS / SPINES + 150);
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

/* Walks with the headers of a trip that has not begun. */
static uint64_t walk(const struct routing *r, const struct trip *trip, uint32_t port)
{
	struct trip copy = *trip;

	return routing_walk(r, port, copy.bytes, trip->frame.len);
}

/* A frame to a host's address, which leaves src by a port. */
static void frame_to(struct trip *trip, const struct routing *r, uint32_t port, uint32_t dst,
		     uint32_t ev)
{
	const struct routing_path native = {.n_segments = 0};
	uint8_t address[16];

	routing_address(r, dst, r->topology->ports[port].plane, address);
	make_frame(trip, &native, address, ev);
}

/* The hops are those of a packet which every switch decides about, and a packet that is only passed
 * on along it becomes the same, byte for byte. False when there is none, since it was dropped. */
static bool check_walk(const struct routing *r, uint32_t port, uint32_t dst, uint32_t ev)
{
	const struct topology *t = r->topology;
	struct trip trip, passed;

	frame_to(&trip, r, port, dst, ev);
	passed = trip;
	uint64_t hops = walk(r, &trip, port);

	if (travel(r, &trip, port) == UINT32_MAX) {
		assert_int_equal(hops, 0);
		return false;
	}
	for (uint32_t i = 1; i < trip.n; i++) {
		const struct topology_node *node = &t->nodes[peer_node(t, trip.ports[i - 1])];
		const struct fwd_switch *sw = &r->switches[node - t->nodes - t->n_hosts];

		assert_true(hops != 0);
		uint32_t number = routing_hop_take(&hops);

		assert_int_equal(node->first_port + number, trip.ports[i]);
		fwd_switch_pass(&sw->ports[number], passed.bytes);
	}
	assert_true(hops == 0);
	assert_memory_equal(passed.bytes, trip.bytes, sizeof passed.bytes);
	return true;
}

/* From every port to every host; returns how many packets arrived. */
static uint32_t check_walks(const struct topology *t, enum routing_mode mode, struct prng *p,
			    uint32_t evs)
{
	uint32_t arrived = 0;
	struct routing r;

	build_routing(&r, t, plain(mode));
	for (uint32_t port = 0; port < t->n_ports; port++) {
		if (t->ports[port].node >= t->n_hosts)
			continue;
		for (uint32_t dst = 0; dst < t->n_hosts; dst++)
			for (uint32_t i = 0; i < evs && dst != t->ports[port].node; i++) {
				uint32_t ev = routing_entropy(&r, prng_u32(p), i);

				/* In bits that are no hop's, or anywhere: then a field may name no
				 * port. */
				if (mode == ROUTING_STRUCTURED)
					ev ^= prng_u32(p) >> (i % 4 ? 22 : 0);
				arrived += check_walk(&r, port, dst, ev);
			}
	}
	routing_fini(&r);
	return arrived;
}

static void walks_agree_with_switches(void **state)
{
	enum { EVS = 20 };
	const struct topology_cfg shapes[] = {
		with_planes(leaf_spine(16, 4, 4), 2, 4, 2),
		fat_tree(16, 2, 2, 3, 6),
		with_planes(fat_tree(16, 2, 2, 2, 4), 2, 2, 2),
	};
	uint64_t seed = check_seed(0x3a1c);
	struct topology t;
	struct prng p;

	(void)state;
	prng_init(&p, seed, 0);
	for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		uint32_t all = 16 * 15 * shapes[i].nic_ports * EVS, arrived;

		build_regular(&t, shapes[i]);
		assert_int_equal(check_walks(&t, ROUTING_ECMP, &p, EVS), all);
		arrived = check_walks(&t, ROUTING_STRUCTURED, &p, EVS);
		assert_in_range(arrived, all * 3 / 4, all - 1);
		topology_fini(&t);
	}
	/* Uneven, with a host out of reach and links side by side. What a and c send on the wire
	 * between them is at its other end at once, whomever it is for. */
	draw(&t, "h a h b h c h lone s r 2 0 s p 1 0 s q 1 0 s x 0 0 s y 0 0 s z 0 0 "
		 "l a x l a x l b y l c z l a c l x p l x q l x q l y p l y q l p r l q r l z r");
	assert_int_equal(check_walks(&t, ROUTING_ECMP, &p, 200), (4 * 2 + 2 * 3) * 200);
	topology_fini(&t);
}

static void a_dropped_frame_has_no_hops(void **state)
{
	static const uint8_t nowhere[16] = {0x20, 0x01, 0x0d, 0xb8};
	const struct routing_path native = {.n_segments = 0};
	struct topology t;
	struct routing r;
	struct trip trip;
	uint8_t address[16];

	(void)state;
	build_regular(&t, fat_tree(16, 2, 2, 2, 4));
	build_routing(&r, &t, plain(ROUTING_ECMP));
	make_frame(&trip, &native, nowhere, 0xc0010002);
	assert_int_equal(walk(&r, &trip, 0), 0);
	/* A host that its leaf does not have is sent up and down again until the hop limit ends it.
	 */
	routing_address(&r, 15, 0, address);
	put_be64(address + 8, 999);
	make_frame(&trip, &native, address, 0xc0010002);
	assert_int_equal(walk(&r, &trip, 0), 0);
	assert_int_equal(fate(&r, 0, address, 0xc0010002), FWD_DROP_HOP_LIMIT);
	/* Each of the switches takes one of the hop limit, and the last must leave one. */
	for (uint32_t dst = 1; dst < 16; dst += 2) {
		uint32_t n = dst == 1 ? 1 : dst == 3 ? 3 : 5;

		for (uint8_t limit = 0; limit < 8; limit++) {
			frame_to(&trip, &r, 0, dst, 0xc0010002);
			trip.bytes[FWD_IPV6_HOP_LIMIT_AT] = limit;
			assert_int_equal(walk(&r, &trip, 0) != 0, limit > n);
		}
	}
	/* Not even the first switch can read it. */
	frame_to(&trip, &r, 0, 15, 0xc0010002);
	trip.frame.len = 40;
	assert_int_equal(walk(&r, &trip, 0), 0);
	routing_fini(&r);
	topology_fini(&t);
}

/* Switches in a row: five fit the word. */
static void at_most_five_hops_are_known(void **state)
{
	static const char *const rows[] = {
		"h a h b l a b",
		"h a h b s c 0 0 l a c l c b",
		"h a h b s c 0 0 s d 0 0 s e 0 0 s f 0 0 l a c l c d l d e l e f l f b",
		"h a h b s c 0 0 s d 0 0 s e 0 0 s f 0 0 s g 0 0 "
		"l a c l c d l d e l e f l f g l g b",
		"h a h b s c 0 0 s d 0 0 s e 0 0 s f 0 0 s g 0 0 s i 0 0 "
		"l a c l c d l d e l e f l f g l g i l i b",
		"h a h b s c 0 0 s d 0 0 s e 0 0 s f 0 0 s g 0 0 s i 0 0 s j 0 0 "
		"l a c l c d l d e l e f l f g l g i l i j l j b",
	};
	/* Each leaves by its second port. */
	static const uint64_t hops[] = {0, 2, 0x2002002002, 0x2002002002002, 0, 0};
	static const uint32_t n_ports[] = {1, 2, 5, 6, 7, 8};

	(void)state;
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct topology t;
		struct routing r;
		struct trip trip;

		draw(&t, rows[i]);
		build_routing(&r, &t, plain(ROUTING_ECMP));
		frame_to(&trip, &r, 0, 1, 0xc0010002);
		assert_true(walk(&r, &trip, 0) == hops[i]);
		assert_int_equal(travel(&r, &trip, 0), 1);
		assert_int_equal(trip.n, n_ports[i]);
		routing_fini(&r);
		topology_fini(&t);
	}
}

/* The number of a port and 1 must fit twelve bits: 4095 ports do. The last one of a leaf leads up.
 */
static void a_switch_may_have_too_many_ports(void **state)
{
	(void)state;
	for (uint32_t hosts = 4094; hosts <= 4095; hosts++) {
		struct topology t;
		struct routing r;
		struct trip trip;

		build_regular(&t, leaf_spine(2 * hosts, hosts, 1));
		build_routing(&r, &t, plain(ROUTING_ECMP));
		assert_int_equal(r.switches[0].n_ports, hosts + 1);
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t dst = i == 0 ? 1 : i * hosts - 1;

			if (hosts == 4094)
				assert_true(check_walk(&r, 0, dst, 0xc0010002));
			frame_to(&trip, &r, 0, dst, 0xc0010002);
			assert_int_equal(walk(&r, &trip, 0) != 0, hosts == 4094);
			assert_int_equal(travel(&r, &trip, 0), dst);
		}
		routing_fini(&r);
		topology_fini(&t);
	}
}

/* Two hosts on a switch with one more route, to a group or to itself. */
static uint64_t walk_with_route(struct trip *trip, const struct fwd_prefix *prefix, bool is_local)
{
	struct topology t;
	struct routing r;
	uint8_t address[16];

	draw(&t, "h a h b s x 0 0 l a x l b x");
	build_routing(&r, &t, plain(ROUTING_ECMP));
	routing_address(&r, 1, 0, address);
	uint32_t group = fwd_routes_find(&r.switches[0].routes, address);
	struct fwd_routes before = r.switches[0].routes;
	void *memory = malloc(fwd_routes_bytes(1));

	assert_non_null(memory);
	fwd_routes_init(&r.switches[0].routes, memory, 1);
	assert_int_equal(
		fwd_routes_add(&r.switches[0].routes, prefix, is_local ? FWD_LOCAL : group), 0);
	uint64_t hops = walk(&r, trip, 0);

	/* It is not for want of a route. */
	struct fwd_verdict v = fwd_switch_forward(&r.switches[0], &trip->frame, &trip->view);

	assert_int_equal(v.drop, FWD_DROP_NONE);
	assert_int_equal(v.local, is_local);
	r.switches[0].routes = before;
	free(memory);
	routing_fini(&r);
	topology_fini(&t);
	return hops;
}

static void only_ipv6_to_others_has_hops(void **state)
{
	static const uint8_t ipv4[20] = {0x45, 0, 0,  48, 0, 0, 0,  0, 64, IPPROTO_UDP_IN,
					 0,    0, 10, 0,  0, 1, 10, 0, 0,  2};
	const struct fwd_prefix mapped = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
	const struct fwd_prefix any = {{0}, 0};
	const struct routing_path native = {.n_segments = 0};
	struct trip trip;

	(void)state;
	make_frame(&trip, &native, any.address, 0xc0010002);
	assert_int_equal(walk_with_route(&trip, &any, false), 1 + 1);
	make_frame(&trip, &native, any.address, 0xc0010002);
	assert_int_equal(walk_with_route(&trip, &any, true), 0);
	make_frame(&trip, &native, any.address, 0xc0010002);
	put_be16(trip.bytes + 12, ETHERTYPE_IPV4);
	memcpy(trip.bytes + eth_bytes, ipv4, sizeof ipv4);
	put_be16(trip.bytes + eth_bytes + 10, ipv4_checksum(trip.bytes + eth_bytes));
	assert_int_equal(walk_with_route(&trip, &mapped, false), 0);
}

/* Where switches have segments of their own, what they do cannot be told from addresses. */
static void nothing_is_known_under_srv6(void **state)
{
	struct topology t;
	struct routing r;

	(void)state;
	build_regular(&t, fat_tree(16, 2, 2, 2, 4));
	for (uint32_t mode = ROUTING_USID; mode <= ROUTING_USID_SRH; mode++) {
		build_routing(&r, &t, plain((enum routing_mode)mode));
		for (uint32_t dst = 1; dst < 16; dst++) {
			struct trip trip;

			frame_to(&trip, &r, 0, dst, 0xc0010002);
			assert_int_equal(walk(&r, &trip, 0), 0);
			assert_int_equal(travel(&r, &trip, 0), dst);
		}
		routing_fini(&r);
	}
	topology_fini(&t);
}

static void steps_are_taken_from_the_lowest(void **state)
{
	static const uint32_t ports[] = {0, 4094, 1, 77, 2047};
	uint64_t hops = 0;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		hops |= (uint64_t)(ports[i] + 1) << (ROUTING_HOP_BITS * i);
	for (uint32_t i = 0; i < 5; i++) {
		assert_true(hops != 0);
		assert_int_equal(routing_hop_take(&hops), ports[i]);
	}
	assert_true(hops == 0);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(path_numbers_wrap_and_hops_are_cut),
	cmocka_unit_test(containers_name_every_hop),
	cmocka_unit_test(hashes_spread_evenly),
	cmocka_unit_test(structured_evs_name_the_ports),
	cmocka_unit_test(a_seed_is_all_there_is),
	cmocka_unit_test(walks_agree_with_switches),
	cmocka_unit_test(a_dropped_frame_has_no_hops),
	cmocka_unit_test(at_most_five_hops_are_known),
	cmocka_unit_test(a_switch_may_have_too_many_ports),
	cmocka_unit_test(only_ipv6_to_others_has_hops),
	cmocka_unit_test(nothing_is_known_under_srv6),
	cmocka_unit_test(steps_are_taken_from_the_lowest),
};

CHECK_MAIN(cases)
