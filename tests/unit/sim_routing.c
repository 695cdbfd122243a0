#include "sim/routing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"
#include "fabric.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

enum { PATHS_MAX = 96 };

/* Hosts on every tier, parallel links, a ring, a shortcut, unequal numbers of paths behind equal
 * choices, a host without a link and a host linked to another. */
static const char odd_graph[] = "h a h b h c h d h e h lone "
				"s r 2 0 s p 1 0 s q 1 0 s x 0 0 s y 0 0 s z 0 0 s w 0 0 "
				"l a x l a x l b y l c z l d r l e w l e d "
				"l x p l x q l x q l y p l y q l p r l q r l q r l z r l z w l w y "
				"l x y l z p";

static void draw_odd(struct topology *t)
{
	draw(t, odd_graph);
}

/* The model: nodes in between on shortest paths, and how many such paths by port there are. Packets
 * pass switches of one plane only. */
enum { MODEL_NODES = 64, FAR = 1000 };

static uint32_t model_dist[MODEL_NODES][MODEL_NODES];

/* dist[s][s] == 0 for switches of the plane; everything else is as far as switches are apart. */
static void model_distances(const struct topology *t, uint32_t plane)
{
	assert_in_range(t->n_nodes, 1, MODEL_NODES);
	for (uint32_t i = 0; i < t->n_nodes; i++)
		for (uint32_t j = 0; j < t->n_nodes; j++)
			model_dist[i][j] = i == j ? 0 : FAR;
	for (uint32_t p = 0; p < t->n_ports; p++)
		if (t->ports[p].node >= t->n_hosts && peer_node(t, p) >= t->n_hosts &&
		    t->ports[p].plane == plane)
			model_dist[t->ports[p].node][peer_node(t, p)] = 1;
	for (uint32_t k = t->n_hosts; k < t->n_nodes; k++)
		for (uint32_t i = t->n_hosts; i < t->n_nodes; i++)
			for (uint32_t j = t->n_hosts; j < t->n_nodes; j++)
				if (model_dist[i][k] + model_dist[k][j] < model_dist[i][j])
					model_dist[i][j] = model_dist[i][k] + model_dist[k][j];
}

/* Adds up from the leaf outwards. */
static uint32_t model_paths(const struct topology *t, uint32_t from, uint32_t leaf, uint32_t dst)
{
	uint32_t n_paths[MODEL_NODES] = {0};

	for (uint32_t far = 0; far <= model_dist[from][leaf]; far++)
		for (uint32_t p = 0; p < t->n_ports; p++) {
			uint32_t node = t->ports[p].node, next = peer_node(t, p);

			if (node < t->n_hosts || model_dist[node][leaf] != far)
				continue;
			if (node == leaf)
				n_paths[node] += next == dst;
			else if (next >= t->n_hosts && model_dist[next][leaf] + 1 == far)
				n_paths[node] += n_paths[next];
		}
	return n_paths[from];
}

/* The switch of a host in a plane, or UINT32_MAX. */
static uint32_t model_leaf(const struct topology *t, uint32_t host, uint32_t plane)
{
	const struct topology_node *n = &t->nodes[host];

	for (uint32_t p = n->first_port; p < n->first_port + n->n_ports; p++)
		if (t->ports[p].plane == plane && peer_node(t, p) >= t->n_hosts)
			return peer_node(t, p);
	return UINT32_MAX;
}

/* From src by its port to dst: hops a packet takes, 0 for never; *n_paths in number. */
static uint32_t model_hops(const struct topology *t, uint32_t src, uint32_t src_port, uint32_t dst,
			   uint32_t *n_paths)
{
	uint32_t port = t->nodes[src].first_port + src_port, plane = t->ports[port].plane;
	uint32_t first = peer_node(t, port), leaf = model_leaf(t, dst, plane);

	*n_paths = 1;
	if (first < t->n_hosts)
		return first == dst;
	if (leaf == UINT32_MAX || model_dist[first][leaf] >= FAR)
		return 0;
	*n_paths = model_paths(t, first, leaf, dst);
	return model_dist[first][leaf] + 2;
}

/* Every path of a pair, hop by hop against the model and the real switches. */
static void check_pair(const struct routing *r, uint32_t src, uint32_t src_port, uint32_t dst)
{
	const struct topology *t = r->topology;
	uint32_t port = t->nodes[src].first_port + src_port, plane = t->ports[port].plane, n_paths;
	uint32_t n_hops = model_hops(t, src, src_port, dst, &n_paths);
	static uint32_t hops[PATHS_MAX][HOPS_MAX];
	uint8_t address[16];

	assert_int_equal(routing_reaches(r, src, src_port, dst), n_hops > 0);
	assert_int_equal(routing_n_paths(r, src, src_port, dst), n_paths);
	assert_in_range(n_paths, 1, PATHS_MAX);
	routing_address(r, dst, plane, address);
	for (uint32_t path = 0; path < n_paths; path++) {
		struct routing_path headers;
		struct trip trip;
		uint32_t ev = routing_entropy(r, src, path);

		memset(hops[path], 0xff, sizeof hops[path]);
		assert_int_equal(routing_hops(r, src, src_port, dst, path, hops[path], HOPS_MAX),
				 n_hops);
		for (uint32_t i = 0; i < path; i++)
			assert_memory_not_equal(hops[i], hops[path], sizeof hops[i]);
		routing_path(r, src, src_port, dst, path, &headers);
		make_frame(&trip, &headers, address, ev);
		uint32_t got = travel(r, &trip, port);

		if (n_hops == 0) {
			assert_int_equal(headers.n_segments, 0);
			assert_int_not_equal(got, dst);
			continue;
		}
		assert_int_equal(got, dst);
		assert_int_equal(trip.n, n_hops);
		for (uint32_t i = 0; i < n_hops && headers.n_segments > 0; i++) {
			assert_int_equal(peer_node(t, trip.ports[i]), peer_node(t, hops[path][i]));
			if (r->cfg.uses_adjacency)
				assert_int_equal(trip.ports[i], hops[path][i]);
		}
		/* What arrives is for dst, or for the uSID of a host. */
		bool is_wrapped = headers.n_segments > 0 && r->cfg.decap == ROUTING_DECAP_HOST;
		const uint8_t *arrived = trip.frame.at + 14 + 24;

		assert_int_equal(routing_host_of(r, arrived), is_wrapped ? UINT32_MAX : dst);
		if (is_wrapped)
			assert_int_equal(arrived[0], 0xfc);
	}
}

static void check_all_pairs(const struct topology *t, struct routing_cfg cfg)
{
	struct routing r;

	build_routing(&r, t, cfg);
	for (uint32_t plane = 0; plane < t->n_planes; plane++) {
		model_distances(t, plane);
		for (uint32_t src = 0; src < t->n_hosts; src++)
			for (uint32_t i = 0; i < t->nodes[src].n_ports; i++)
				for (uint32_t dst = 0; dst < t->n_hosts; dst++)
					if (t->ports[t->nodes[src].first_port + i].plane == plane)
						check_pair(&r, src, i, dst);
	}
	routing_fini(&r);
	assert_null(r.memory);
}

/* Every mode and every way to use segments. */
static void check_all_modes(const struct topology *t)
{
	check_all_pairs(t, plain(ROUTING_ECMP));
	for (uint32_t i = 0; i < 32; i++) {
		struct routing_cfg cfg = plain(i & 1 ? ROUTING_USID_SRH : ROUTING_USID);

		cfg.format = i & 2 ? FWD_F1616 : FWD_F3216;
		cfg.decap = i & 4 ? ROUTING_DECAP_LEAF : ROUTING_DECAP_HOST;
		cfg.uses_adjacency = i & 8;
		cfg.psp = i & 16;
		check_all_pairs(t, cfg);
	}
}

static void every_pair_is_connected_in_every_mode(void **state)
{
	const struct topology_cfg cfgs[] = {
		{.kind = TOPOLOGY_WIRE,
		 .hosts = 2,
		 .planes = 2,
		 .nic_ports = 4,
		 .links = {any_link}},
		leaf_spine(2, 1, 1),
		leaf_spine(3, 3, 2),
		leaf_spine(6, 2, 3),
		with_planes(leaf_spine(6, 2, 2), 2, 2, 1),
		with_planes(leaf_spine(4, 2, 2), 2, 4, 2),
		with_planes(leaf_spine(4, 2, 3), 4, 4, 1),
		fat_tree(8, 2, 2, 2, 4),
		with_planes(fat_tree(8, 1, 2, 2, 2), 2, 2, 1),
		with_planes(fat_tree(4, 1, 2, 2, 4), 1, 2, 2),
	};
	struct topology t;

	(void)state;
	for (uint32_t i = 0; i < COUNT(cfgs); i++) {
		build_regular(&t, cfgs[i]);
		check_all_modes(&t);
		check_all_pairs(&t, plain(ROUTING_STRUCTURED));
		topology_fini(&t);
	}
	draw_odd(&t);
	check_all_modes(&t);
	topology_fini(&t);
}

/* Random graphs in all modes: up to three planes, links as they fall, hosts on one switch of each.
 */
static void draw_random(struct topology *t, struct prng *p)
{
	struct topology_draft *d = topology_begin();
	uint32_t planes = (uint32_t)prng_range(p, 1, 3), hosts = (uint32_t)prng_range(p, 1, 5);
	uint32_t switches = (uint32_t)prng_range(p, 1, 6);
	char error[200], a[16], b[16];

	for (uint32_t i = 0; i < hosts; i++) {
		snprintf(a, sizeof a, "h%u", i);
		assert_int_equal(topology_host(d, a, error, sizeof error), 0);
	}
	for (uint32_t i = 0; i < switches * planes; i++) {
		snprintf(a, sizeof a, "s%u", i);
		assert_int_equal(topology_switch(d, a, (uint8_t)prng_below(p, 3),
						 (uint8_t)(i / switches), error, sizeof error),
				 0);
	}
	for (uint32_t i = 0; i < hosts * planes; i++) {
		snprintf(a, sizeof a, "h%u", i / planes);
		snprintf(b, sizeof b, "s%u",
			 (uint32_t)(i % planes * switches + prng_below(p, switches)));
		for (uint64_t n = prng_below(p, 3); n > 0; n--)
			assert_int_equal(topology_link(d, a, b, &any_link, error, sizeof error), 0);
	}
	for (uint64_t n = switches > 1 ? prng_below(p, 8 * planes) : 0; n > 0; n--) {
		uint64_t i = prng_below(p, switches), j = prng_below(p, switches - 1);
		uint64_t plane = prng_below(p, planes);

		snprintf(a, sizeof a, "s%u", (uint32_t)(plane * switches + i));
		snprintf(b, sizeof b, "s%u", (uint32_t)(plane * switches + (i + 1 + j) % switches));
		assert_int_equal(topology_link(d, a, b, &any_link, error, sizeof error), 0);
	}
	assert_int_equal(topology_end(d, t, error, sizeof error), 0);
}

static void random_graphs_agree_with_model(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0x4071), 0);
	for (uint32_t i = 0; i < 400; i++) {
		/* Six switches in a row and a host fill seven uSIDs. */
		struct routing_cfg cfg = plain((enum routing_mode[]){
			ROUTING_ECMP, ROUTING_USID, ROUTING_USID_SRH}[prng_below(&p, 3)]);
		struct topology t;

		cfg.format = cfg.mode == ROUTING_USID ? FWD_F1616 : (enum fwd_sid_format)(i % 2);
		cfg.decap = (enum routing_decap)prng_below(&p, 2);
		cfg.uses_adjacency = prng_below(&p, 2);
		cfg.psp = prng_below(&p, 2);
		draw_random(&t, &p);
		check_all_pairs(&t, cfg);
		topology_fini(&t);
	}
}

/* Nobody, or where the changed byte allows it the host whose address this is in some plane. */
static void check_owner(const struct routing *r, const uint8_t *address, bool may_be_one)
{
	uint32_t host = routing_host_of(r, address);
	uint8_t own[16];

	if (host == UINT32_MAX)
		return;
	assert_true(may_be_one);
	routing_address(r, host, address[5], own);
	assert_memory_equal(own, address, 16);
}

static void addresses_are_what_the_header_says(void **state)
{
	static const uint8_t h5_in_plane1[16] = {0xfd, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 6};
	uint8_t address[16];
	struct topology t;
	struct routing r;

	(void)state;
	build_regular(&t, with_planes(leaf_spine(6, 2, 2), 2, 2, 1));
	build_routing(&r, &t, plain(ROUTING_ECMP));
	routing_address(&r, 5, 1, address);
	assert_memory_equal(address, h5_in_plane1, 16);
	for (uint32_t h = 0; h < t.n_hosts; h++)
		for (uint32_t plane = 0; plane < 2; plane++) {
			routing_address(&r, h, plane, address);
			assert_int_equal(routing_host_of(&r, address), h);
			for (uint32_t bit = 0; bit < 128; bit++) {
				address[bit / 8] ^= (uint8_t)(1 << bit % 8);
				check_owner(&r, address, bit / 8 == 5 || bit / 8 == 15);
				address[bit / 8] ^= (uint8_t)(1 << bit % 8);
			}
		}
	for (uint32_t p = 0; p < t.n_ports; p++) {
		assert_int_equal(r.macs[p][0], 2);
		assert_int_equal(r.macs[p][1], 0);
		assert_int_equal(get_be32(r.macs[p] + 2), p);
	}
	routing_fini(&r);
	topology_fini(&t);
}

/* A leaf has its hosts and one route up; a spine a route for each leaf; and in between a spine of a
 * pod its own leaves and one route up. */
static void tables_are_small(void **state)
{
	struct topology t;
	struct routing r;

	(void)state;
	build_regular(&t, leaf_spine(32, 4, 4));
	build_routing(&r, &t, plain(ROUTING_ECMP));
	for (uint32_t s = 0; s < 8; s++)
		assert_int_equal(r.switches[s].routes.n, 4 + 1);
	for (uint32_t s = 8; s < 12; s++) {
		assert_int_equal(r.switches[s].routes.n, 8);
		assert_int_equal(r.switches[s].routes.n_lens, 1);
	}
	routing_fini(&r);
	topology_fini(&t);
	build_regular(&t, fat_tree(64, 4, 4, 2, 4));
	build_routing(&r, &t, plain(ROUTING_ECMP));
	assert_int_equal(r.switches[0].routes.n, 4 + 1);
	assert_int_equal(r.switches[16].routes.n, 4 + 1);
	assert_int_equal(r.switches[16 + 8].routes.n, 16);
	routing_fini(&r);
	topology_fini(&t);
}

static void wrong_addresses_die_at_once(void **state)
{
	uint8_t address[16];
	struct topology t;
	struct routing r;

	(void)state;
	build_regular(&t, with_planes(fat_tree(16, 2, 2, 2, 4), 2, 2, 1));
	build_routing(&r, &t, plain(ROUTING_ECMP));
	/* The other plane's address, a leaf that is not, another network. */
	routing_address(&r, 9, 1, address);
	assert_int_equal(fate(&r, 0, address, 1), FWD_DROP_NO_ROUTE);
	routing_address(&r, 9, 0, address);
	address[7] = 99;
	assert_int_equal(fate(&r, 0, address, 1), FWD_DROP_NO_ROUTE);
	address[0] = 0xfc;
	assert_int_equal(fate(&r, 0, address, 1), FWD_DROP_NO_ROUTE);
	routing_fini(&r);
	topology_fini(&t);
}

static void islands_are_out_of_reach(void **state)
{
	struct routing_path path;
	uint8_t address[16];
	uint32_t hops[HOPS_MAX];
	struct topology t;
	struct routing r;

	(void)state;
	/* Three leaves under one spine, one leaf alone, one host without a link; a second plane for
	 * a and b. */
	draw(&t, "h a h b h c h lone h d s l0 0 0 s l1 0 0 s l3 0 0 s l2 0 0 s sp 1 0 s m 0 1 "
		 "l a l0 l b l1 l c l2 l l0 sp l l1 sp l a m l b m l d l3 l l3 sp");
	for (uint32_t mode = ROUTING_ECMP; mode <= ROUTING_USID_SRH; mode++) {
		build_routing(&r, &t, plain((enum routing_mode)mode));
		assert_true(routing_reaches(&r, 0, 0, 1));
		assert_true(routing_reaches(&r, 0, 1, 1));
		assert_true(routing_reaches(&r, 0, 0, 0));
		for (uint32_t dst = 2; dst < 4; dst++)
			for (uint32_t port = 0; port < 2; port++) {
				assert_false(routing_reaches(&r, 0, port, dst));
				assert_int_equal(routing_n_paths(&r, 0, port, dst), 1);
				assert_int_equal(routing_hops(&r, 0, port, dst, 0, hops, HOPS_MAX),
						 0);
				routing_path(&r, 0, port, dst, 0, &path);
				assert_int_equal(path.n_segments, 0);
				routing_address(&r, dst, port, address);
				assert_int_equal(fate(&r, 0, address, 5), FWD_DROP_NO_ROUTE);
				/* The leaf itself knows, it does not leave it to the spine. */
				assert_int_equal(fwd_routes_find(&r.switches[0].routes, address),
						 FWD_ROUTE_NONE);
			}
		assert_false(routing_reaches(&r, 2, 0, 0));
		routing_fini(&r);
	}
	topology_fini(&t);
}

static void check_refusal(const struct topology *t, struct routing_cfg cfg, const char *want)
{
	char error[200] = "";
	struct routing r;

	assert_int_equal(routing_build(&r, t, &cfg, 7, error, sizeof error), -EINVAL);
	assert_string_equal(error, want);
	assert_null(r.memory);
	routing_fini(&r);
}

static void what_does_not_fit_gets_a_sentence(void **state)
{
	struct routing_cfg cfg = plain(ROUTING_STRUCTURED);
	struct topology t;

	(void)state;
	build_regular(&t, with_planes(fat_tree(16, 2, 2, 3, 6), 1, 1, 3));
	cfg.ev_layout = (struct fwd_ev_layout){2, {4, 0}};
	check_refusal(&t, cfg, "ev_layout: 1 to 8 fields of 1 to 16 bits, together at most 32");
	cfg.ev_layout = (struct fwd_ev_layout){0, {0}};
	check_refusal(&t, cfg, "ev_layout: 1 to 8 fields of 1 to 16 bits, together at most 32");
	cfg.ev_layout = (struct fwd_ev_layout){2, {3, 4}};
	check_refusal(&t, cfg, "ev_layout: field 0 has 3 bits, but leaf1 has 9 ports upwards");
	cfg.ev_layout = (struct fwd_ev_layout){1, {4}};
	check_refusal(&t, cfg, "ev_layout: there is no field 1, which spine3 needs");
	cfg.ev_layout = (struct fwd_ev_layout){2, {4, 1}};
	check_all_pairs(&t, cfg);
	topology_fini(&t);

	draw(&t, "h a h b s x 0 0 s y 0 0 l a x l b y l x y l a y");
	check_refusal(&t, plain(ROUTING_ECMP), "a is on two switches of plane 0: x and y");
	topology_fini(&t);
}

/* A row of n switches with a host at each end. */
static void draw_row(struct topology *t, uint32_t n)
{
	struct topology_draft *d = topology_begin();
	char error[200], name[2][16];

	assert_int_equal(topology_host(d, "a", error, sizeof error), 0);
	assert_int_equal(topology_host(d, "b", error, sizeof error), 0);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name[i % 2], sizeof name[0], "s%u", i);
		assert_int_equal(topology_switch(d, name[i % 2], 0, 0, error, sizeof error), 0);
		assert_int_equal(topology_link(d, i ? name[1 - i % 2] : "a", name[i % 2], &any_link,
					       error, sizeof error),
				 0);
	}
	assert_int_equal(topology_link(d, name[(n - 1) % 2], "b", &any_link, error, sizeof error),
			 0);
	assert_int_equal(topology_end(d, t, error, sizeof error), 0);
}

static void long_paths_need_room(void **state)
{
	static const struct {
		enum routing_mode mode;
		enum fwd_sid_format format;
		enum routing_decap decap;
		uint32_t longest; /* row of switches that still fits */
		const char *error;
	} limits[] = {
		{ROUTING_USID, FWD_F3216, ROUTING_DECAP_HOST, 5,
		 "the longest path has 7 segments, but a container holds 6"},
		{ROUTING_USID, FWD_F3216, ROUTING_DECAP_LEAF, 6,
		 "the longest path has 7 segments, but a container holds 6"},
		{ROUTING_USID, FWD_F1616, ROUTING_DECAP_HOST, 6,
		 "the longest path has 8 segments, but a container holds 7"},
		{ROUTING_USID, FWD_F1616, ROUTING_DECAP_LEAF, 7,
		 "the longest path has 8 segments, but a container holds 7"},
		{ROUTING_USID_SRH, FWD_F3216, ROUTING_DECAP_HOST, 11,
		 "the longest path has 13 segments, but two containers hold 12"},
		{ROUTING_USID_SRH, FWD_F1616, ROUTING_DECAP_LEAF, 14,
		 "the longest path has 15 segments, but two containers hold 14"},
	};

	(void)state;
	for (uint32_t i = 0; i < COUNT(limits); i++)
		for (uint32_t psp = 0; psp < 2; psp++) {
			struct routing_cfg cfg = plain(limits[i].mode);
			struct topology t;

			cfg.format = limits[i].format;
			cfg.decap = limits[i].decap;
			cfg.psp = psp;
			draw_row(&t, limits[i].longest);
			check_all_pairs(&t, cfg);
			topology_fini(&t);
			draw_row(&t, limits[i].longest + 1);
			check_refusal(&t, cfg, limits[i].error);
			topology_fini(&t);
		}
}

/* Beyond 16 bits there are no more uSIDs. */
static void segments_have_sixteen_bits(void **state)
{
	struct topology_draft *d = topology_begin();
	struct routing_cfg cfg = plain(ROUTING_USID);
	char error[200], name[16];
	struct topology t;
	struct routing r;

	(void)state;
	assert_int_equal(topology_host(d, "a", error, sizeof error), 0);
	for (uint32_t i = 0; i < 32768; i++) {
		snprintf(name, sizeof name, "s%u", i);
		assert_int_equal(topology_switch(d, name, 0, 0, error, sizeof error), 0);
	}
	assert_int_equal(topology_link(d, "a", "s0", &any_link, error, sizeof error), 0);
	assert_int_equal(topology_end(d, &t, error, sizeof error), 0);
	build_routing(&r, &t, cfg);
	routing_fini(&r);
	cfg.decap = ROUTING_DECAP_LEAF;
	check_refusal(&t, cfg, "32768 switches need 65536 segment identifiers, more than 65535");
	topology_fini(&t);
}

/* Random pairs of a large fabric, in one mode. */
static void check_sample(const struct topology *t, struct routing_cfg cfg, uint32_t n)
{
	struct routing r;
	struct prng p;

	prng_init(&p, check_seed(0x4072), 0);
	build_routing(&r, t, cfg);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t src = (uint32_t)prng_below(&p, t->n_hosts);
		uint32_t dst = (uint32_t)prng_below(&p, t->n_hosts);
		uint32_t src_port = (uint32_t)prng_below(&p, t->nodes[src].n_ports);
		uint32_t port = t->nodes[src].first_port + src_port, hops[HOPS_MAX];
		struct routing_path path;
		uint8_t address[16];
		struct trip trip;

		routing_path(&r, src, src_port, dst, prng_u32(&p), &path);
		routing_address(&r, dst, t->ports[port].plane, address);
		make_frame(&trip, &path, address, routing_entropy(&r, src, i));
		assert_int_equal(travel(&r, &trip, port), dst);
		assert_int_equal(trip.n, routing_hops(&r, src, src_port, dst, 0, hops, HOPS_MAX));
	}
	routing_fini(&r);
}

static void large_fabrics_work(void **state)
{
	const struct topology_cfg cfgs[] = {
		with_planes(leaf_spine(8192, 32, 32), 4, 4, 1),
		fat_tree(8192, 16, 16, 16, 256),
	};

	(void)state;
	for (uint32_t i = 0; i < COUNT(cfgs); i++) {
		struct topology t;

		build_regular(&t, cfgs[i]);
		check_sample(&t, plain(ROUTING_ECMP), 2000);
		check_sample(&t, plain(ROUTING_STRUCTURED), 2000);
		check_sample(&t, plain(ROUTING_USID), 2000);
		topology_fini(&t);
	}
}

static uint32_t route_to(const struct routing *r, uint32_t sw, uint32_t to, uint16_t which)
{
	uint8_t address[16];

	routing_node_address(to, which, address);
	return fwd_routes_find(&r->switches[sw].routes, address);
}

/* Proxies behind the hosts, and each switch as its neighbours know it: two links lead up from each
 * leaf to each spine. */
static void groups_have_addresses(void **state)
{
	static const uint8_t proxy[16] = {0xfd, 0, 0, 1, [15] = 2};
	static const uint8_t node[16] = {0xfd, 0, 0, 2, 0, 0, 0, 6, [15] = 1};
	struct routing_cfg cfg = plain(ROUTING_ECMP);
	char error[200];
	uint8_t a[16], frame[128];
	struct topology t;
	struct routing r;

	(void)state;
	build_regular(&t, with_planes(leaf_spine(8, 2, 2), 1, 1, 2));
	cfg.max_groups = 2;
	assert_int_equal(routing_build(&r, &t, &cfg, 1, error, sizeof error), 0);
	routing_address(&r, 9, 0, a);
	assert_memory_equal(a, proxy, 16);
	assert_int_equal(routing_host_of(&r, a), 9);
	a[15] = 3;
	assert_int_equal(routing_host_of(&r, a), UINT32_MAX);
	routing_address(&r, 1, 0, a);
	assert_int_equal(routing_host_of(&r, a), 1);
	assert_int_equal(routing_n_paths(&r, 0, 0, 8), 1);

	routing_node_address(5, 1, a);
	assert_memory_equal(a, node, 16);
	for (uint32_t leaf = 0; leaf < 4; leaf++)
		for (uint32_t spine = 4; spine < 6; spine++) {
			uint32_t up = route_to(&r, leaf, spine, 1);
			uint32_t down = route_to(&r, spine, leaf, 0xe001);

			assert_int_equal(r.switches[leaf].groups[up].n, 2);
			assert_int_equal(r.switches[spine].groups[down].n, 2);
			assert_int_equal(route_to(&r, leaf, leaf, 1), FWD_MULTICAST);
			assert_int_equal(route_to(&r, spine, 9 - spine, 1), FWD_ROUTE_NONE);
		}
	assert_int_equal(fwd_routes_find(&r.switches[0].routes, proxy), FWD_ROUTE_NONE);
	assert_int_equal(routing_add_proxy(&r, 0, 1), 0);
	assert_int_equal(fwd_routes_find(&r.switches[0].routes, proxy), FWD_MULTICAST);
	assert_int_equal(routing_add_proxy(&r, 0, 2), -ENOSPC);
	/* What a tree's node does with a packet is not known in advance. */
	struct trip trip;
	struct routing_path path;

	routing_path(&r, 0, 0, 9, 0, &path);
	assert_int_equal(path.n_segments, 0);
	make_frame(&trip, &path, proxy, 1);
	memcpy(frame, trip.bytes, sizeof frame);
	assert_int_equal(routing_walk(&r, t.nodes[0].first_port, frame, trip.frame.len), 0);
	routing_fini(&r);
	cfg = plain(ROUTING_USID);
	cfg.max_groups = 1;
	assert_int_equal(routing_build(&r, &t, &cfg, 1, error, sizeof error), -EINVAL);
	topology_fini(&t);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(every_pair_is_connected_in_every_mode),
	cmocka_unit_test(random_graphs_agree_with_model),
	cmocka_unit_test(addresses_are_what_the_header_says),
	cmocka_unit_test(tables_are_small),
	cmocka_unit_test(wrong_addresses_die_at_once),
	cmocka_unit_test(islands_are_out_of_reach),
	cmocka_unit_test(what_does_not_fit_gets_a_sentence),
	cmocka_unit_test(long_paths_need_room),
	cmocka_unit_test(segments_have_sixteen_bits),
	cmocka_unit_test(large_fabrics_work),
	cmocka_unit_test(groups_have_addresses),
};

CHECK_MAIN(cases)
