#include "sim/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "check.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const struct topology_link host_link = {UINT64_C(400000000000), 500 * PSEC_NS, 0};
static const struct topology_link leaf_link = {UINT64_C(800000000000), 600 * PSEC_NS, 1 << 20};
static const struct topology_link spine_link = {UINT64_C(1600000000000), 700 * PSEC_NS, 1 << 21};

static struct topology_cfg wire(uint32_t planes, uint32_t nic_ports)
{
	return (struct topology_cfg){
		.kind = TOPOLOGY_WIRE,
		.hosts = 2,
		.planes = planes,
		.nic_ports = nic_ports,
		.links = {host_link},
	};
}

static struct topology_cfg leaf_spine(uint32_t hosts, uint32_t hosts_per_leaf, uint32_t spines)
{
	return (struct topology_cfg){
		.kind = TOPOLOGY_LEAF_SPINE,
		.hosts = hosts,
		.hosts_per_leaf = hosts_per_leaf,
		.spines = spines,
		.planes = 1,
		.nic_ports = 1,
		.uplinks = 1,
		.links = {host_link, leaf_link},
		.switch_delay_ps = 300 * PSEC_NS,
	};
}

static struct topology_cfg with_planes(struct topology_cfg cfg, uint32_t planes, uint32_t nic_ports,
				       uint32_t uplinks)
{
	cfg.planes = planes;
	cfg.nic_ports = nic_ports;
	cfg.uplinks = uplinks;
	return cfg;
}

static struct topology_cfg fat_tree(uint32_t hosts, uint32_t hosts_per_leaf,
				    uint32_t leaves_per_pod, uint32_t spines, uint32_t cores)
{
	struct topology_cfg cfg = leaf_spine(hosts, hosts_per_leaf, spines);

	cfg.kind = TOPOLOGY_FAT_TREE;
	cfg.leaves_per_pod = leaves_per_pod;
	cfg.cores = cores;
	cfg.links[2] = spine_link;
	return cfg;
}

static void build(struct topology *t, struct topology_cfg cfg)
{
	char error[200] = "";

	if (topology_build(t, &cfg, error, sizeof error) != 0)
		fail_msg("%s", error);
}

static uint32_t peer_node(const struct topology *t, uint32_t port)
{
	return t->ports[t->ports[port].peer].node;
}

static int32_t height(const struct topology_node *n)
{
	return n->is_host ? -1 : n->tier;
}

/* What holds in every topology, however it was made. */
static void check_laws(const struct topology *t)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const struct topology_node *n = &t->nodes[i];

		assert_int_equal(n->is_host, i < t->n_hosts);
		assert_int_equal(n->first_port, next);
		next += n->n_ports;
		for (uint32_t p = n->first_port; p < next; p++)
			assert_int_equal(t->ports[p].node, i);
	}
	assert_int_equal(t->n_ports, next);
	for (uint32_t p = 0; p < t->n_ports; p++) {
		const struct topology_port *a = &t->ports[p], *b = &t->ports[a->peer];
		const struct topology_node *m = &t->nodes[a->node], *n = &t->nodes[b->node];

		assert_int_equal(b->peer, p);
		assert_int_not_equal(a->node, b->node);
		assert_int_equal(a->rate_bps, b->rate_bps);
		assert_int_equal(a->delay_ps, b->delay_ps);
		assert_int_equal(a->buffer_bytes, b->buffer_bytes);
		assert_int_equal(a->plane, b->plane);
		assert_int_equal(a->parallel, b->parallel);
		assert_int_equal(a->is_up, height(n) > height(m));
		if (!m->is_host)
			assert_int_equal(a->plane, m->plane);
	}
}

struct size {
	struct topology_cfg cfg;
	uint32_t n_nodes, n_ports, n_tiers;
};

static void fabrics_have_the_right_size(void **state)
{
	const struct size sizes[] = {
		{wire(1, 1), 2, 2, 0},
		{wire(4, 8), 2, 16, 0},
		{leaf_spine(1, 1, 1), 3, 4, 2},
		/* 4 leaves, 3 spines; 16 host links, 12 between switches. */
		{leaf_spine(16, 4, 3), 16 + 7, 2 * (16 + 12), 2},
		{with_planes(leaf_spine(16, 4, 3), 2, 4, 2), 16 + 14, 2 * (64 + 48), 2},
		{with_planes(leaf_spine(16, 4, 3), 8, 8, 1), 16 + 56, 2 * (128 + 96), 2},
		/* 2 pods of 2 leaves and 2 spines, 4 cores. */
		{fat_tree(8, 2, 2, 2, 4), 8 + 4 + 4 + 4, 2 * (8 + 8 + 8), 3},
		{with_planes(fat_tree(8, 2, 2, 2, 4), 2, 2, 3), 8 + 24, 2 * (16 + 48 + 16), 3},
		{fat_tree(1024, 16, 8, 8, 64), 1024 + 64 + 64 + 64, 2 * (1024 + 512 + 512), 3},
		{leaf_spine(65536, 64, 32), 65536 + 1024 + 32, 2 * (65536 + 1024 * 32), 2},
	};

	(void)state;
	for (uint32_t i = 0; i < COUNT(sizes); i++) {
		struct topology t;

		build(&t, sizes[i].cfg);
		assert_int_equal(t.n_hosts, sizes[i].cfg.hosts);
		assert_int_equal(t.n_nodes, sizes[i].n_nodes);
		assert_int_equal(t.n_ports, sizes[i].n_ports);
		assert_int_equal(t.n_tiers, sizes[i].n_tiers);
		assert_int_equal(t.n_planes, sizes[i].cfg.planes);
		assert_int_equal(t.switch_delay_ps, sizes[i].cfg.switch_delay_ps);
		check_laws(&t);
		topology_fini(&t);
		assert_null(t.nodes);
	}
}

/* How many links join two nodes, and that each has the figures of its tier. */
static uint32_t count_links(const struct topology *t, uint32_t a, uint32_t b,
			    const struct topology_link *link)
{
	const struct topology_node *n = &t->nodes[a];
	uint32_t found = 0;

	for (uint32_t p = n->first_port; p < n->first_port + n->n_ports; p++) {
		if (peer_node(t, p) != b)
			continue;
		assert_int_equal(t->ports[p].rate_bps, link->rate_bps);
		assert_int_equal(t->ports[p].delay_ps, link->delay_ps);
		assert_int_equal(t->ports[p].buffer_bytes, link->buffer_bytes);
		found++;
	}
	return found;
}

static void hosts_hang_on_their_leaves(void **state)
{
	struct topology_cfg cfg = with_planes(leaf_spine(12, 4, 5), 2, 6, 1);
	struct topology t;

	(void)state;
	build(&t, cfg);
	for (uint32_t h = 0; h < 12; h++) {
		assert_int_equal(t.nodes[h].n_ports, 6);
		for (uint32_t i = 0; i < 6; i++) {
			uint32_t p = t.nodes[h].first_port + i;
			const struct topology_node *leaf = &t.nodes[peer_node(&t, p)];

			assert_int_equal(t.ports[p].plane, i / 3);
			assert_int_equal(leaf->tier, 0);
			assert_int_equal(leaf->plane, i / 3);
			assert_int_equal(leaf->index, h / 4);
			assert_int_equal(t.ports[p].parallel, i % 3);
			/* Hosts stand first among the leaf's ports, in their order. */
			assert_int_equal(t.ports[p].peer - leaf->first_port, h % 4 * 3 + i % 3);
		}
	}
	topology_fini(&t);
}

/* Switches stand by plane, tier and number; every pair is joined as the parameters say. */
static void check_switch_links(const struct topology_cfg *cfg)
{
	bool is_fat = cfg->kind == TOPOLOGY_FAT_TREE;
	uint32_t leaves = cfg->hosts / cfg->hosts_per_leaf;
	uint32_t per_pod = is_fat ? cfg->leaves_per_pod : leaves, pods = leaves / per_pod;
	uint32_t spines = pods * cfg->spines, cores = is_fat ? cfg->cores : 0, at = cfg->hosts;
	struct topology t;

	build(&t, *cfg);
	for (uint32_t plane = 0; plane < cfg->planes; plane++) {
		uint32_t leaf0 = at, spine0 = leaf0 + leaves, core0 = spine0 + spines;

		for (uint32_t i = 0; i < leaves + spines + cores; i++, at++) {
			uint32_t tier = (at >= spine0) + (at >= core0);

			assert_int_equal(t.nodes[at].plane, plane);
			assert_int_equal(t.nodes[at].tier, tier);
			assert_int_equal(t.nodes[at].index, at - (tier == 0   ? leaf0
								  : tier == 1 ? spine0
									      : core0));
		}
		/* A leaf's last ports lead up: parallel links stand side by side. */
		for (uint32_t i = 0; i < leaves * cfg->spines * cfg->uplinks; i++) {
			uint32_t ups = cfg->spines * cfg->uplinks, l = i / ups;
			const struct topology_node *leaf = &t.nodes[leaf0 + l];
			uint32_t port = leaf->first_port + leaf->n_ports - ups + i % ups;

			assert_int_equal(peer_node(&t, port), spine0 + l / per_pod * cfg->spines +
								      i % ups / cfg->uplinks);
		}
		for (uint32_t l = 0; l < leaves; l++)
			for (uint32_t s = 0; s < spines; s++)
				assert_int_equal(count_links(&t, leaf0 + l, spine0 + s, &leaf_link),
						 l / per_pod == s / cfg->spines ? cfg->uplinks : 0);
		for (uint32_t s = 0; s < spines; s++)
			for (uint32_t c = 0; c < cores; c++)
				assert_int_equal(
					count_links(&t, spine0 + s, core0 + c, &spine_link),
					c / (cores / cfg->spines) == s % cfg->spines);
	}
	assert_int_equal(at, t.n_nodes);
	topology_fini(&t);
}

static void switches_are_joined_tier_by_tier(void **state)
{
	const struct topology_cfg cfgs[] = {
		leaf_spine(12, 4, 5),
		with_planes(leaf_spine(12, 4, 5), 3, 3, 2),
		fat_tree(24, 2, 3, 2, 6),
		with_planes(fat_tree(24, 2, 3, 3, 3), 2, 2, 2),
	};

	(void)state;
	for (uint32_t i = 0; i < COUNT(cfgs); i++)
		check_switch_links(&cfgs[i]);
}

static void check_port_name(const struct topology *t, uint32_t port, const char *name)
{
	char text[128];

	topology_port_name(t, port, text, sizeof text);
	assert_string_equal(text, name);
	assert_int_equal(topology_find_port(t, name), port);
}

static void names_follow_the_shape(void **state)
{
	struct topology t;

	(void)state;
	build(&t, fat_tree(8, 2, 2, 2, 4));
	assert_string_equal(t.labels[3], "h3");
	assert_string_equal(t.labels[8 + 3], "leaf3");
	assert_string_equal(t.labels[8 + 4], "spine0");
	assert_string_equal(t.labels[8 + 8 + 1], "core1");
	check_port_name(&t, 3, "h3>leaf1");
	check_port_name(&t, t.ports[3].peer, "leaf1>h3");
	topology_fini(&t);

	build(&t, with_planes(leaf_spine(4, 2, 2), 2, 4, 2));
	assert_int_equal(topology_find_node(&t, "p1.leaf0"), 4 + 4);
	check_port_name(&t, 0, "h0>p0.leaf0");
	check_port_name(&t, 1, "h0>p0.leaf0#2");
	check_port_name(&t, 2, "h0>p1.leaf0");
	check_port_name(&t, t.ports[3].peer, "p1.leaf0>h0#2");
	topology_fini(&t);

	build(&t, wire(2, 4));
	check_port_name(&t, 0, "h0>h1");
	check_port_name(&t, 7, "h1>h0#4");
	assert_int_equal(t.ports[7].plane, 1);
	assert_false(t.ports[7].is_up);
	topology_fini(&t);
}

static void every_name_finds_its_own(void **state)
{
	static const char nobody[] =
		"h\0h4\0leaf0\0p2.leaf0\0h0>\0>h0\0h0>h1\0p0.leaf0>\0"
		"h0>p0.leaf0#1\0h0>p0.leaf0#02\0h0>p0.leaf0#3\0"
		"h0>p0.leaf0#\0h0-p0.leaf0\0h0>p0.leaf0 \0"
		"a-name-much-longer-than-any-label-in-any-fabric-could-be>h0\0";
	char text[128];
	struct topology t;

	(void)state;
	build(&t, with_planes(leaf_spine(4, 2, 2), 2, 4, 2));
	for (uint32_t i = 0; i < t.n_nodes; i++)
		assert_int_equal(topology_find_node(&t, t.labels[i]), i);
	for (uint32_t p = 0; p < t.n_ports; p++) {
		topology_port_name(&t, p, text, sizeof text);
		assert_int_equal(topology_find_port(&t, text), p);
	}
	for (const char *at = nobody; at < nobody + sizeof nobody; at += strlen(at) + 1)
		assert_true(topology_find_node(&t, at) == UINT32_MAX &&
			    topology_find_port(&t, at) == UINT32_MAX);
	/* A short buffer gets the beginning. */
	topology_port_name(&t, 0, text, 5);
	assert_string_equal(text, "h0>p");
	topology_fini(&t);
}

/* Patterns with blanks between them, and how many ports each marks. */
struct pattern {
	uint32_t n;
	const char *texts;
};

static uint32_t count_set(const struct topology *t, const uint8_t *set)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < t->n_ports; p++)
		n += set[p];
	return n;
}

static void check_patterns(const struct topology *t, const struct pattern *patterns, uint32_t n)
{
	char texts[400], *rest;
	uint8_t set[64];

	assert_true(t->n_ports <= COUNT(set));
	for (uint32_t i = 0; i < n; i++) {
		snprintf(texts, sizeof texts, "%s", patterns[i].texts);
		for (char *at = strtok_r(texts, " ", &rest); at; at = strtok_r(NULL, " ", &rest)) {
			memset(set, 0, sizeof set);
			uint32_t hits = topology_match_ports(t, at, set);

			if (hits != patterns[i].n)
				fail_msg("%s matches %u, not %u", at, hits, patterns[i].n);
			assert_int_equal(count_set(t, set), hits);
		}
	}
}

/* 4 hosts with 2 ports in each of 2 planes, 2 leaves of 2 hosts, 2 spines, 2 parallel links: a
 * plane has 8 host links and 8 others. */
static void patterns_mark_ports(void **state)
{
	static const struct pattern patterns[] = {
		{0, "plane2 plane plane01 h9 h0> [ h[0>* h0- -h0 h0*- h0--* h0-*>* "
		    "p[0-1].leaf0 [0-9]* ?"},
		{1, "h0>p0.leaf0 h0>p0.leaf0#2"},
		{2, "h0>p1.* *>p0.spine1 h0-p0.leaf0 p0.leaf0-h0 h0-p0.leaf0#2 "
		    "h[^0]>p0.leaf1 p0.*-h0"},
		{4, "h0>* *>p0.spine1* h[]0]>* h0-p0.* *-h0 h?-p1.leaf0 p0.leaf?-p0.spine1"},
		{8, "p1.leaf?>h* h[0-3]>*#2 h0 p1.spine1 h0-* h[0-1]-p1.leaf0* p0.leaf0-p0.*"},
		{14, "**>**0"},
		{16, "p[0]*>p[!1]* p0.leaf0 p[0-1].leaf0*"},
		{24, "p1.*"},
		{32, "*#2 plane0 plane1 *-*#2"},
		{64, "* *-*"},
	};
	uint8_t set[64] = {0};
	struct topology t;

	(void)state;
	build(&t, with_planes(leaf_spine(4, 2, 2), 2, 4, 2));
	check_patterns(&t, patterns, COUNT(patterns));
	assert_int_equal(topology_match_ports(&t, "", set), 0);
	/* Marks add up, and both ends of a link are its. */
	topology_match_ports(&t, "h1-p1.leaf0", set);
	topology_match_ports(&t, "h1-p1.leaf0#2", set);
	assert_int_equal(count_set(&t, set), 4);
	assert_true(set[topology_find_port(&t, "h1>p1.leaf0")]);
	assert_true(set[topology_find_port(&t, "p1.leaf0>h1#2")]);
	topology_fini(&t);
}

/* The plainest matcher of stars and question marks: fits[i][j] when the first i of the pattern
 * match the first j of the text. */
static bool model_match(const char *pattern, const char *text)
{
	static bool fits[12][128];
	size_t n = strlen(pattern), len = strlen(text);

	assert_true(n < COUNT(fits) && len < COUNT(fits[0]));
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= len; j++) {
			char c = i > 0 ? pattern[i - 1] : '\0';

			if (i == 0)
				fits[i][j] = j == 0;
			else if (c == '*')
				fits[i][j] = fits[i - 1][j] || (j > 0 && fits[i][j - 1]);
			else
				fits[i][j] = j > 0 && fits[i - 1][j - 1] &&
					     (c == '?' || c == text[j - 1]);
		}
	return fits[n][len];
}

static void random_patterns_agree_with_model(void **state)
{
	static const char letters[] = "**?>?hleaf012#spin";
	struct prng p;
	uint8_t set[64], want[64];
	char pattern[12], text[128];
	struct topology t;

	(void)state;
	prng_init(&p, check_seed(0x7090), 0);
	build(&t, with_planes(leaf_spine(4, 2, 2), 1, 4, 4));
	assert_int_equal(t.n_ports, COUNT(set));
	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t len = (uint32_t)prng_range(&p, 1, 10), n = 0;

		for (uint32_t i = 0; i < len; i++)
			pattern[i] = letters[prng_below(&p, sizeof letters - 1)];
		/* Bare names mean more than a pattern. */
		pattern[prng_below(&p, len)] = '*';
		pattern[len] = '\0';
		/* A dash stands for the arrow of either end. */
		char *dash = round % 2 ? &pattern[prng_below(&p, len)] : NULL;

		if (dash)
			*dash = '>';
		for (uint32_t i = 0; i < t.n_ports; i++) {
			topology_port_name(&t, i, text, sizeof text);
			want[i] = model_match(pattern, text);
			topology_port_name(&t, t.ports[i].peer, text, sizeof text);
			want[i] |= dash && model_match(pattern, text);
			n += want[i];
		}
		if (dash)
			*dash = '-';
		memset(set, 0, sizeof set);
		assert_int_equal(topology_match_ports(&t, pattern, set), n);
		assert_memory_equal(set, want, sizeof set);
	}
	topology_fini(&t);
}

struct refusal {
	struct topology_cfg cfg;
	const char *error;
};

static struct topology_cfg without(struct topology_cfg cfg, size_t offset, size_t len)
{
	memset((char *)&cfg + offset, 0, len);
	return cfg;
}

#define WITHOUT(cfg, field)                                  \
	without((cfg), offsetof(struct topology_cfg, field), \
		sizeof((struct topology_cfg *)NULL)->field)

static void wrong_parameters_get_a_sentence(void **state)
{
	struct topology_cfg fat = fat_tree(8, 2, 2, 2, 4), odd = fat, kind = fat;

	kind.kind = (enum topology_kind)3;
	odd.hosts = 3;
	odd.kind = TOPOLOGY_WIRE;
	const struct refusal refusals[] = {
		{kind, "kind: 3 is none of the three"},
		{WITHOUT(fat, hosts), "hosts must be positive"},
		{WITHOUT(fat, planes), "planes must be positive"},
		{WITHOUT(fat, nic_ports), "nic_ports must be positive"},
		{WITHOUT(fat, links[0]), "rate of host links must be positive"},
		{WITHOUT(fat, hosts_per_leaf), "hosts_per_leaf must be positive"},
		{WITHOUT(fat, spines), "spines must be positive"},
		{WITHOUT(fat, uplinks), "uplinks must be positive"},
		{WITHOUT(fat, links[1]), "rate of leaf links must be positive"},
		{WITHOUT(fat, leaves_per_pod), "leaves_per_pod must be positive"},
		{WITHOUT(fat, cores), "cores must be positive"},
		{WITHOUT(fat, links[2]), "rate of spine links must be positive"},
		{odd, "hosts: 3, but a wire joins 2"},
		{with_planes(fat, 9, 9, 1), "planes: 9 are more than 8"},
		{with_planes(fat, 3, 8, 1), "planes: 3 does not divide nic_ports: 8"},
		{wire(1, 65536), "nic_ports: 65536 are more than 65535"},
		{leaf_spine(65552, 16, 4), "hosts: 65552 are more than 65536"},
		{leaf_spine(100, 16, 4), "hosts: 100 is not a multiple of hosts_per_leaf: 16"},
		{leaf_spine(8, 16, 4), "hosts: 8 is not a multiple of hosts_per_leaf: 16"},
		{fat_tree(96, 16, 4, 2, 4), "leaves_per_pod: 4 does not divide the 6 leaves"},
		{fat_tree(8, 2, 2, 2, 5), "cores: 5 is not a multiple of spines: 2"},
		{leaf_spine(32, 16, 65520),
		 "hosts_per_leaf and spines: a leaf would have 65536 ports, at most 65535"},
		{leaf_spine(65536, 1, 4),
		 "hosts, cores and uplinks: a spine would have 65536 ports, at most 65535"},
		{with_planes(leaf_spine(2, 1, 1), 1, 1, UINT32_MAX),
		 "hosts_per_leaf and spines: a leaf would have 4294967296 ports, at most 65535"},
		{fat_tree(65536, 1, 1, 1, 1), "pods: a core would have 65536 ports, at most 65535"},
		{leaf_spine(32768, 1, 1024),
		 "hosts, spines and planes: 67174400 ports are more than 67108864"},
	};

	(void)state;
	for (uint32_t i = 0; i < COUNT(refusals); i++) {
		struct topology t;
		char error[200] = "";

		assert_int_equal(topology_build(&t, &refusals[i].cfg, error, sizeof error),
				 -EINVAL);
		assert_string_equal(error, refusals[i].error);
		assert_null(t.nodes);
		topology_fini(&t);
	}
	/* What another kind needs is not asked for, and a sentence is cut where it does not fit. */
	struct topology t;
	struct topology_cfg lean = WITHOUT(WITHOUT(leaf_spine(4, 2, 2), cores), leaves_per_pod);
	char error[8];

	build(&t, lean);
	topology_fini(&t);
	assert_int_equal(topology_build(&t, &odd, error, sizeof error), -EINVAL);
	assert_string_equal(error, "hosts: ");
}

/* Field by field: what lies between fields is nobody's. */
static bool same_node(const struct topology_node *a, const struct topology_node *b)
{
	return a->is_host == b->is_host && a->tier == b->tier && a->plane == b->plane &&
	       a->index == b->index && a->first_port == b->first_port && a->n_ports == b->n_ports;
}

static bool same_port(const struct topology_port *a, const struct topology_port *b)
{
	return a->node == b->node && a->peer == b->peer && a->rate_bps == b->rate_bps &&
	       a->delay_ps == b->delay_ps && a->buffer_bytes == b->buffer_bytes &&
	       a->plane == b->plane && a->is_up == b->is_up && a->parallel == b->parallel;
}

static bool same(const struct topology *a, const struct topology *b)
{
	bool is_same = a->n_nodes == b->n_nodes && a->n_ports == b->n_ports &&
		       a->n_hosts == b->n_hosts && a->n_planes == b->n_planes &&
		       a->n_tiers == b->n_tiers;

	for (uint32_t i = 0; is_same && i < a->n_nodes; i++)
		is_same = same_node(&a->nodes[i], &b->nodes[i]) &&
			  strcmp(a->labels[i], b->labels[i]) == 0;
	for (uint32_t p = 0; is_same && p < a->n_ports; p++)
		is_same = same_port(&a->ports[p], &b->ports[p]);
	return is_same;
}

/* Draws t again, node by node and link by link. */
static void redraw(const struct topology *t, struct topology *copy)
{
	struct topology_draft *d = topology_begin();
	char error[200] = "";

	for (uint32_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].is_host)
			assert_int_equal(topology_host(d, t->labels[i], error, sizeof error), 0);
		else
			assert_int_equal(topology_switch(d, t->labels[i], t->nodes[i].tier,
							 t->nodes[i].plane, error, sizeof error),
					 0);
	for (uint32_t p = 0; p < t->n_ports; p++) {
		const struct topology_port *port = &t->ports[p];
		const struct topology_link link = {port->rate_bps, port->delay_ps,
						   port->buffer_bytes};

		/* A node's ports downward come before those upward: the lower end comes first. */
		if (port->is_up || (port->peer > p && t->nodes[port->node].is_host))
			assert_int_equal(topology_link(d, t->labels[port->node],
						       t->labels[peer_node(t, p)], &link, error,
						       sizeof error),
					 0);
	}
	assert_int_equal(topology_end(d, copy, error, sizeof error), 0);
}

static void a_drawn_fabric_equals_a_built_one(void **state)
{
	const struct topology_cfg cfgs[] = {
		wire(1, 3),
		with_planes(leaf_spine(12, 4, 5), 3, 3, 2),
		with_planes(fat_tree(24, 2, 3, 3, 3), 2, 4, 2),
		leaf_spine(512, 8, 4),
	};

	(void)state;
	for (uint32_t i = 0; i < COUNT(cfgs); i++) {
		struct topology t, again, copy;

		build(&t, cfgs[i]);
		build(&again, cfgs[i]);
		redraw(&t, &copy);
		check_laws(&copy);
		assert_true(same(&t, &again));
		assert_true(same(&t, &copy));
		topology_fini(&t);
		topology_fini(&again);
		topology_fini(&copy);
	}
}

enum { RANDOM_NODES = 12, RANDOM_LINKS = 80 };

static void check_random_draft(struct prng *p)
{
	uint32_t n_hosts = (uint32_t)prng_range(p, 1, RANDOM_NODES - 1), count[RANDOM_NODES] = {0};
	uint32_t ends[RANDOM_LINKS][2], n_links = (uint32_t)prng_below(p, RANDOM_LINKS + 1);
	struct topology_draft *d = topology_begin();
	char error[200], names[RANDOM_NODES][8];
	struct topology t;

	for (uint32_t i = 0; i < RANDOM_NODES; i++) {
		snprintf(names[i], sizeof names[i], "n%u", i);
		assert_int_equal(i < n_hosts
					 ? topology_host(d, names[i], error, sizeof error)
					 : topology_switch(d, names[i], (uint8_t)prng_below(p, 3),
							   0, error, sizeof error),
				 0);
	}
	for (uint32_t i = 0; i < n_links; i++) {
		ends[i][0] = (uint32_t)prng_below(p, RANDOM_NODES);
		ends[i][1] =
			(ends[i][0] + (uint32_t)prng_range(p, 1, RANDOM_NODES - 1)) % RANDOM_NODES;
		assert_int_equal(topology_link(d, names[ends[i][0]], names[ends[i][1]],
					       &(struct topology_link){i + 1, 0, 0}, error,
					       sizeof error),
				 0);
	}
	assert_int_equal(topology_end(d, &t, error, sizeof error), 0);
	check_laws(&t);
	assert_int_equal(t.n_ports, 2 * n_links);
	/* The i-th link of a node is its i-th port; rates tell links apart. */
	for (uint32_t i = 0; i < n_links; i++) {
		uint32_t parallel = 0;

		for (uint32_t j = 0; j < i; j++)
			parallel += (ends[j][0] == ends[i][0] && ends[j][1] == ends[i][1]) ||
				    (ends[j][0] == ends[i][1] && ends[j][1] == ends[i][0]);
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t port = t.nodes[ends[i][k]].first_port + count[ends[i][k]]++;

			assert_int_equal(t.ports[port].rate_bps, i + 1);
			assert_int_equal(peer_node(&t, port), ends[i][1 - k]);
			assert_int_equal(t.ports[port].parallel, parallel);
		}
	}
	topology_fini(&t);
}

static void random_drafts_keep_their_order(void **state)
{
	struct prng p;

	(void)state;
	prng_init(&p, check_seed(0x7091), 0);
	for (uint32_t i = 0; i < 2000; i++)
		check_random_draft(&p);
}

static char said[200];

static const char *host(struct topology_draft *d, const char *name)
{
	return topology_host(d, name, said, sizeof said) == 0 ? "" : said;
}

static const char *sw(struct topology_draft *d, const char *name, uint8_t tier, uint8_t plane)
{
	return topology_switch(d, name, tier, plane, said, sizeof said) == 0 ? "" : said;
}

static const char *join(struct topology_draft *d, const char *a, const char *b, uint64_t rate_bps)
{
	const struct topology_link link = {rate_bps, 0, 0};

	return topology_link(d, a, b, &link, said, sizeof said) == 0 ? "" : said;
}

static void a_wrong_draft_gets_a_sentence(void **state)
{
	static const char long_name[] = "a-name-of-forty-eight-characters-is-one-too-long";
	struct topology_draft *d = topology_begin();
	struct topology t;

	(void)state;
	assert_string_equal(join(d, "a", "b", 1), "link a-b: there is no a");
	assert_string_equal(host(d, ""), "name \"\": 1 to 47 characters are allowed");
	assert_int_equal(strlen(long_name), 48);
	host(d, long_name);
	assert_non_null(strstr(said, "1 to 47 characters are allowed"));
	assert_string_equal(host(d, long_name + 1), "");
	assert_string_equal(host(d, "a*"),
			    "name a*: only letters, digits, '.', '_' and '-' are allowed");
	assert_string_equal(host(d, "plane12"), "name plane12: this means every port of a plane");
	assert_string_equal(host(d, "plane"), "");
	assert_string_equal(host(d, "plane1a"), "");
	assert_string_equal(host(d, "A_b-c.9"), "");
	assert_string_equal(host(d, "plane"), "name plane is taken");
	assert_string_equal(sw(d, "plane", 0, 0), "name plane is taken");
	assert_string_equal(sw(d, "s", 3, 0), "switch s: tier 3 is not 0 to 2");
	assert_string_equal(sw(d, "s", 0, 8), "switch s: plane 8 is not 0 to 7");
	assert_string_equal(host(d, "late"), "");
	assert_string_equal(sw(d, "s", 0, 0), "");
	assert_string_equal(sw(d, "r", 2, 7), "");
	assert_string_equal(host(d, "later"), "host later: hosts come before the first switch");
	assert_string_equal(join(d, "late", "later", 1), "link late-later: there is no later");
	assert_string_equal(join(d, "late", "s", 0), "link late-s: rate must be positive");
	assert_string_equal(join(d, "s", "s", 1), "link s-s joins a node to itself");
	assert_string_equal(join(d, "s", "r", 1), "link s-r: the switches are in planes 0 and 7");
	assert_string_equal(join(d, "late", "r", 1), "");
	assert_string_equal(join(d, "r", "late", 1), "");
	assert_int_equal(topology_end(d, &t, said, sizeof said), 0);
	assert_int_equal(t.n_hosts, 5);
	assert_int_equal(t.n_nodes, 7);
	assert_int_equal(t.n_planes, 8);
	assert_int_equal(t.n_tiers, 3);
	assert_int_equal(t.n_ports, 4);
	for (uint32_t p = 0; p < 4; p++)
		assert_int_equal(t.ports[p].plane, 7);
	topology_fini(&t);

	d = topology_begin();
	assert_string_equal(sw(d, "s", 0, 0), "");
	assert_int_equal(topology_end(d, &t, said, sizeof said), -EINVAL);
	assert_string_equal(said, "there is no host");
	topology_discard(topology_begin());
	topology_discard(NULL);
}

/* A dash may be part of a name: a, a-b and b-c, all joined to d-e. */
static void dashes_in_names_and_between_them(void **state)
{
	static const char *const hosts[4] = {"a", "a-b", "b-c", "d-e"};
	static const struct pattern patterns[] = {
		{0, "b e-a"},
		{2, "a-d-e d-e-a a-b-d-e a-b a-b-* b-c ?-d-? *-b-d-e d-e>a*"},
		{3, "a-* d-*"},
		{6, "d-e *-d-e d-e-*"},
	};
	struct topology_draft *d = topology_begin();
	struct topology t;

	(void)state;
	for (uint32_t i = 0; i < COUNT(hosts); i++)
		host(d, hosts[i]);
	for (uint32_t i = 0; i < 3; i++)
		join(d, hosts[i], "d-e", 1);
	assert_int_equal(topology_end(d, &t, said, sizeof said), 0);
	check_patterns(&t, patterns, COUNT(patterns));
	topology_fini(&t);
}

static void a_draft_has_limits(void **state)
{
	struct topology_draft *d = topology_begin();
	struct topology t;
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < TOPOLOGY_HOSTS; i++) {
		snprintf(name, sizeof name, "n%u", i);
		assert_string_equal(host(d, name), "");
	}
	assert_string_equal(host(d, "more"), "host more: more than 65536 hosts");
	for (uint32_t i = 0; i < 65535; i++)
		assert_string_equal(join(d, "n0", "n9", 1), "");
	assert_string_equal(join(d, "n5", "n9", 1), "link n5-n9: n9 has 65535 ports already");
	assert_string_equal(join(d, "n0", "n5", 1), "link n0-n5: n0 has 65535 ports already");
	assert_int_equal(topology_end(d, &t, said, sizeof said), 0);
	assert_int_equal(t.ports[65534].parallel, 65534);
	check_laws(&t);
	topology_fini(&t);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(fabrics_have_the_right_size),
	cmocka_unit_test(hosts_hang_on_their_leaves),
	cmocka_unit_test(switches_are_joined_tier_by_tier),
	cmocka_unit_test(names_follow_the_shape),
	cmocka_unit_test(every_name_finds_its_own),
	cmocka_unit_test(patterns_mark_ports),
	cmocka_unit_test(random_patterns_agree_with_model),
	cmocka_unit_test(wrong_parameters_get_a_sentence),
	cmocka_unit_test(a_drawn_fabric_equals_a_built_one),
	cmocka_unit_test(random_drafts_keep_their_order),
	cmocka_unit_test(a_wrong_draft_gets_a_sentence),
	cmocka_unit_test(dashes_in_names_and_between_them),
	cmocka_unit_test(a_draft_has_limits),
};

CHECK_MAIN(cases)
