/* What a host's table says of its packets against packets built by hand and carried by real
 * switches. */
#include "sim/peers.h"

#include <string.h>

#include "check.h"
#include "fabric.h"

static const struct carrier_use by_udp = {&carrier_roce, NET_ROCE_PORT, CARRIER_UDP};

/* The table has places for the hops of 4096. */
enum { KNOWN_MAX = 4096, PATHS_MAX = 64, SRC = 5 };

struct world {
	struct topology t;
	struct routing r;
	struct sim_peers *peers;
};

static void open_world(struct world *w, struct topology_cfg shape, enum routing_mode mode)
{
	build_regular(&w->t, shape);
	build_routing(&w->r, &w->t, plain(mode));
	w->peers = sim_peers_new(&by_udp);
	assert_non_null(w->peers);
}

static void close_world(struct world *w)
{
	sim_peers_free(w->peers);
	routing_fini(&w->r);
	topology_fini(&w->t);
}

static uint32_t port_of(const struct world *w, const struct sim_egress *egress)
{
	return w->t.nodes[egress->src].first_port + egress->port;
}

/* The frame of a host, by hand. */
static void hand_made(const struct world *w, const struct sim_egress *egress, struct trip *trip)
{
	const struct routing_path native = {.n_segments = 0};
	uint32_t port = port_of(w, egress), plane = w->t.ports[port].plane;
	uint8_t dst[16];

	routing_address(&w->r, egress->dst, plane, dst);
	make_frame(trip, &native, dst, egress->ev);
	memcpy(trip->bytes, w->r.macs[w->t.ports[port].peer], 6);
	memcpy(trip->bytes + 6, w->r.macs[port], 6);
	routing_address(&w->r, egress->src, plane, trip->bytes + eth_bytes + 8);
}

/* The ports it leaves by are one of the paths. */
static void check_is_path(const struct world *w, const struct sim_egress *egress,
			  const struct trip *trip)
{
	uint32_t n_paths = routing_n_paths(&w->r, egress->src, egress->port, egress->dst), path = 0;
	uint32_t hops[HOPS_MAX];

	assert_in_range(n_paths, 1, PATHS_MAX);
	for (; path < n_paths; path++) {
		uint32_t n = routing_hops(&w->r, egress->src, egress->port, egress->dst, path, hops,
					  HOPS_MAX);

		if (n == trip->n && memcmp(hops, trip->ports, n * sizeof hops[0]) == 0)
			break;
	}
	assert_in_range(path, 0, n_paths - 1);
}

/* The table's answer is what the headers lead to; returns it. */
static uint64_t check_hops(const struct world *w, const struct sim_egress *egress)
{
	uint64_t got = sim_peers_hops(w->peers, &w->r, egress), rest = got;
	struct trip trip;

	hand_made(w, egress, &trip);
	assert_true(got == routing_walk(&w->r, port_of(w, egress), trip.bytes, trip.frame.len));
	hand_made(w, egress, &trip);
	assert_int_equal(travel(&w->r, &trip, port_of(w, egress)), egress->dst);
	for (uint32_t i = 1; i < trip.n; i++) {
		uint32_t node = w->t.ports[trip.ports[i]].node;

		assert_true(rest != 0);
		assert_int_equal(w->t.nodes[node].first_port + routing_hop_take(&rest),
				 trip.ports[i]);
	}
	assert_true(rest == 0);
	check_is_path(w, egress, &trip);
	return got;
}

static void check_head(const struct world *w, const struct sim_egress *egress)
{
	const struct encap_head *head = sim_peers_head(w->peers, &w->r, egress);
	struct encap_packet packet = {.ev = egress->ev, .transport_bytes = 16};
	uint8_t bytes[ENCAP_BYTES_MAX];
	struct trip trip;

	assert_non_null(head);
	hand_made(w, egress, &trip);
	assert_int_equal(head->len, trip.frame.len - 16);
	encap_write(head, &packet, bytes);
	assert_memory_equal(bytes, trip.bytes, head->len);
}

/* Legal entropy value number i; under structured EVs also in the bits that are no hop's. */
static uint32_t entropy(const struct world *w, uint32_t i)
{
	uint32_t ev = routing_entropy(&w->r, 5, i);

	return w->r.cfg.mode == ROUTING_STRUCTURED ? ev | (i >> 4 & 0x3ff) : ev;
}

/* Egress number i: each entropy value for one destination, or for all of them one after another. */
static struct sim_egress some_egress(const struct world *w, uint32_t i)
{
	uint32_t others = w->t.n_hosts - 1, dst = i % others, group = i / others;

	return (struct sim_egress){
		.src = SRC,
		.dst = dst < SRC ? dst : dst + 1,
		.ev = entropy(w, group % 2 ? group * others : i),
	};
}

/* More than the table holds, then all again in another order: some are known, others were
 * forgotten. */
static void check_many(struct topology_cfg shape, enum routing_mode mode)
{
	enum { N = 3 * KNOWN_MAX + 1, STRIDE = 7919 };
	uint64_t last = 0;
	uint32_t differ = 0;
	struct world w;

	open_world(&w, shape, mode);
	for (uint32_t step = 0; step < 2 * N; step++) {
		struct sim_egress egress = some_egress(&w, step < N ? step : step * STRIDE % N);

		if (step % 16 == 0)
			check_head(&w, &egress);
		uint64_t got = check_hops(&w, &egress);

		assert_true(got != 0);
		/* Straight away it is known. */
		if (step % 8 == 0)
			assert_true(sim_peers_hops(w.peers, &w.r, &egress) == got);
		differ += got != last;
		last = got;
	}
	assert_true(differ > N);
	close_world(&w);
}

static void hops_on_leaf_and_spine(void **state)
{
	(void)state;
	check_many(leaf_spine(32, 4, 8), ROUTING_ECMP);
	check_many(with_planes(leaf_spine(32, 4, 8), 1, 1, 2), ROUTING_STRUCTURED);
}

static void hops_on_a_fat_tree(void **state)
{
	(void)state;
	check_many(with_planes(fat_tree(32, 4, 2, 4, 8), 1, 1, 2), ROUTING_ECMP);
	check_many(fat_tree(32, 4, 2, 4, 16), ROUTING_STRUCTURED);
}

/* Two ports in each plane, then one: the same destination and entropy lead elsewhere from each. */
static void every_port_has_hops_of_its_own(void **state)
{
	enum { EVS = 150, PORTS = 8 };
	struct world w;

	(void)state;
	for (uint32_t planes = 4; planes <= PORTS; planes *= 2) {
		uint32_t differ = 0;

		open_world(&w, with_planes(leaf_spine(16, 4, 4), planes, PORTS, 1), ROUTING_ECMP);
		for (uint32_t i = 0; i < EVS * 15 * PORTS; i++) {
			struct sim_egress egress = some_egress(&w, i / PORTS);

			egress.port = i % PORTS;
			if (i < 15 * PORTS)
				check_head(&w, &egress);
			uint64_t got = check_hops(&w, &egress);

			egress.port = (i + PORTS / 2) % PORTS;
			differ += got != check_hops(&w, &egress);
		}
		assert_true(differ > EVS * PORTS);
		close_world(&w);
	}
}

/* Tables of switches do not change; here they do, to see which answers come from memory. */
static void hops_are_remembered(void **state)
{
	enum { N = 300, HEADS = 100 };
	uint64_t before[N];
	uint32_t differ = 0;
	struct sim_peers *fresh;
	struct world w;

	(void)state;
	open_world(&w, leaf_spine(HEADS + 8, 4, 8), ROUTING_ECMP);
	for (uint32_t i = 0; i < N; i++) {
		struct sim_egress egress = some_egress(&w, i % 7 + i / 7 * (w.t.n_hosts - 1));

		before[i] = check_hops(&w, &egress);
	}
	for (uint32_t s = 0; s < w.t.n_nodes - w.t.n_hosts; s++)
		w.r.switches[s].hash_seed ^= 0x5555;
	fresh = sim_peers_new(&by_udp);
	assert_non_null(fresh);
	/* The first destinations, and after headers for many more. */
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < N; i++) {
			struct sim_egress egress =
				some_egress(&w, i % 7 + i / 7 * (w.t.n_hosts - 1));

			assert_true(sim_peers_hops(w.peers, &w.r, &egress) == before[i]);
			differ += sim_peers_hops(fresh, &w.r, &egress) != before[i];
		}
		for (uint32_t i = 0; i < HEADS; i++) {
			struct sim_egress egress = {.src = SRC, .dst = 8 + i};

			check_head(&w, &egress);
		}
	}
	/* About half are in the same leaf, where there is one hop only. */
	assert_true(differ > N / 2);
	sim_peers_free(fresh);
	close_world(&w);
}

/* The same of structured EVs, which differ in their upper bits alone: where packets are sprayed
 * over all of them none may push out the others. */
static void structured_hops_are_remembered(void **state)
{
	enum { SPINES = 64 };
	uint64_t before[SPINES] = {0};
	uint32_t differ = 0;
	struct world w;

	(void)state;
	open_world(&w, leaf_spine(8, 4, SPINES), ROUTING_STRUCTURED);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < SPINES; i++) {
			struct sim_egress egress = {SRC, 0, 0, routing_entropy(&w.r, 5, i)};
			uint64_t got = sim_peers_hops(w.peers, &w.r, &egress);

			if (round == 0)
				before[i] = got;
			assert_true(got == before[i]);
			differ += got != before[0];
		}
		for (uint32_t s = 0; s < w.t.n_nodes - w.t.n_hosts; s++)
			w.r.switches[s].ev_layout = (struct fwd_ev_layout){3, {9, 9, 4}};
	}
	assert_int_equal(differ, 2 * (SPINES - 1));
	close_world(&w);
}

/* Segments say where packets go: nothing is known in advance, and entropy picks the path. */
static void no_hops_are_known_under_srv6(void **state)
{
	struct world w;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		open_world(&w, with_planes(fat_tree(16, 2, 2, 2, 8), 2, 2, 1),
			   i ? ROUTING_USID_SRH : ROUTING_USID);
		for (uint32_t n = 0; n < 15 * 40; n++) {
			struct sim_egress egress = some_egress(&w, n);

			egress.port = n % 2;
			uint32_t paths = routing_n_paths(&w.r, SRC, egress.port, egress.dst);
			const struct encap_head *head = sim_peers_head(w.peers, &w.r, &egress);
			struct routing_path path;

			assert_non_null(head);
			routing_path(&w.r, SRC, egress.port, egress.dst, egress.ev % paths, &path);
			assert_memory_equal(head->bytes + eth_bytes + 24, path.container[0], 16);
			if (path.n_segments == 2)
				assert_memory_equal(head->bytes + eth_bytes + 48, path.container[1],
						    16);
			sim_peers_fetch(w.peers, &egress);
			assert_int_equal(sim_peers_hops(w.peers, &w.r, &egress), 0);
		}
		close_world(&w);
	}
}

static void fetching_changes_nothing(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, leaf_spine(8, 4, 4), ROUTING_ECMP);
	struct sim_egress egress = some_egress(&w, 0), other = some_egress(&w, 1);

	sim_peers_fetch(w.peers, &egress);
	uint64_t got = check_hops(&w, &egress);

	sim_peers_fetch(w.peers, &egress);
	sim_peers_fetch(w.peers, &other);
	assert_true(sim_peers_hops(w.peers, &w.r, &egress) == got);
	check_hops(&w, &other);
	close_world(&w);
	sim_peers_free(NULL);
}

/* Out of reach, at the other end of a wire, or an EV that names no port: asked for twice, since the
 * second time it may be known that nothing is. */
static void where_no_switch_leads_there_are_no_hops(void **state)
{
	struct world w = {.peers = sim_peers_new(&by_udp)};
	struct sim_egress lost = {.src = 0, .dst = 2, .ev = 0xc0000001};
	struct sim_egress wired = {.src = 0, .port = 1, .dst = 3, .ev = 0xc0000001};
	struct sim_egress local = {.src = 0, .dst = 1, .ev = 0xc0000001};

	(void)state;
	assert_non_null(w.peers);
	draw(&w.t, "h a h b h c h d s x 0 0 s y 0 0 l a x l b x l c y l a d");
	build_routing(&w.r, &w.t, plain(ROUTING_ECMP));
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(sim_peers_hops(w.peers, &w.r, &lost), 0);
		assert_int_equal(sim_peers_hops(w.peers, &w.r, &wired), 0);
		assert_int_equal(check_hops(&w, &local), 1 + 1);
	}
	close_world(&w);
	open_world(&w, leaf_spine(32, 4, 8), ROUTING_STRUCTURED);
	for (uint32_t i = 0; i < 2 * 16; i++) {
		struct sim_egress egress = {.src = SRC, .dst = 31, .ev = i % 16 << 22};

		if (i % 16 < 8)
			check_hops(&w, &egress);
		else
			assert_int_equal(sim_peers_hops(w.peers, &w.r, &egress), 0);
	}
	close_world(&w);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(hops_on_leaf_and_spine),
	cmocka_unit_test(hops_on_a_fat_tree),
	cmocka_unit_test(every_port_has_hops_of_its_own),
	cmocka_unit_test(hops_are_remembered),
	cmocka_unit_test(structured_hops_are_remembered),
	cmocka_unit_test(no_hops_are_known_under_srv6),
	cmocka_unit_test(fetching_changes_nothing),
	cmocka_unit_test(where_no_switch_leads_there_are_no_hops),
};

CHECK_MAIN(cases)
