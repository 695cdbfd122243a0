#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "scenario/reader.h"
#include "scenario/topo_file.h"

__extension__ typedef unsigned __int128 u128;

#define SWITCH_PORTS_MAX 4096u
#define PARALLEL_MAX     64u

enum kind { WIRE, LEAF_SPINE, FAT_TREE, GRAPH, TOPO_FILE };

static const char *const kinds[] = {"wire", "leaf-spine", "fat-tree", "graph", "file", NULL};
static const char *const whats[] = {"a wire topology", "a leaf-spine topology",
				    "a fat-tree topology", "a graph topology",
				    "a topology from a file"};

static const char link_hint[] = "write {match: \"leaf0-spine1\", rate: 200Gbps}";

void read_link(struct conf *c, struct conf_node *map, struct topology_link *link)
{
	link->rate_bps = conf_get_number(
		c, map, "rate", UNITS_RATE,
		(struct conf_range){READER_RATE_MIN, READER_RATE_MAX, link->rate_bps});
	link->delay_ps = conf_get_number(c, map, "delay", UNITS_TIME,
					 (struct conf_range){0, READER_TIME_MAX, link->delay_ps});
	link->buffer_bytes =
		(uint32_t)conf_get_number(c, map, "buffer", UNITS_BYTES,
					  (struct conf_range){0, UINT32_MAX, link->buffer_bytes});
}

/* The links of one tier, where they differ from the rest. */
static void read_tier(struct conf *c, struct conf_node *map, const char *key,
		      struct topology_link *link)
{
	struct conf_node *tier = conf_get_map(c, map, key);

	read_link(c, tier, link);
	conf_finish(c, tier, "a link");
}

static struct conf_range at_most(uint64_t max, uint64_t fallback)
{
	return (struct conf_range){1, max, fallback};
}

static void read_ports(struct conf *c, struct conf_node *map, struct topology_cfg *cfg)
{
	cfg->planes = conf_get_u32(c, map, "planes", at_most(TOPOLOGY_PLANES, 1));
	cfg->nic_ports = conf_get_u32(c, map, "nic_ports", at_most(ENGINE_PORTS, cfg->planes));
	if (cfg->nic_ports % cfg->planes != 0)
		conf_fail_key(c, map, conf_get(c, map, "nic_ports") ? "nic_ports" : "planes",
			      "%u ports cannot be shared by %u planes; use a multiple",
			      cfg->nic_ports, cfg->planes);
}

/* Spines that give a leaf the uplinks which the oversubscription asks for. */
static uint32_t spines_for(struct conf *c, struct conf_node *map, const struct topology_cfg *cfg,
			   uint64_t millionths)
{
	const char *key = conf_get(c, map, "oversubscription") ? "oversubscription" : "spines";
	u128 down = (u128)cfg->hosts_per_leaf * (cfg->nic_ports / cfg->planes) *
		    cfg->links[0].rate_bps * 1000000;
	u128 up = (u128)cfg->uplinks * cfg->links[1].rate_bps * millionths;

	if (down % up == 0 && down / up >= 1 && down / up <= SWITCH_PORTS_MAX)
		return (uint32_t)(down / up);
	if (!c->status)
		conf_fail_key(c, map, key,
			      "no whole number of spines up to %u gives that oversubscription; "
			      "say how many spines",
			      SWITCH_PORTS_MAX);
	return 1;
}

static void read_spines(struct conf *c, struct conf_node *map, struct topology_cfg *cfg)
{
	const struct conf_node *over = conf_get(c, map, "oversubscription");
	const struct conf_node *spines = conf_get(c, map, "spines");
	uint64_t millionths = 1000000;

	if (over && spines)
		conf_fail(c, over, "stands beside spines; give one of the two");
	if (over)
		millionths =
			conf_number(c, over, UNITS_RATIO, (struct conf_range){1000, 1000000000, 0});
	cfg->uplinks = conf_get_u32(c, map, "uplinks", at_most(PARALLEL_MAX, 1));
	cfg->spines =
		spines ? (uint32_t)conf_number(c, spines, UNITS_COUNT, at_most(SWITCH_PORTS_MAX, 1))
		       : spines_for(c, map, cfg, millionths);
}

static void read_hosts(struct conf *c, struct conf_node *map, struct topology_cfg *cfg,
		       uint32_t per_leaf)
{
	cfg->hosts = (uint32_t)conf_get_number(c, map, "hosts", UNITS_COUNT,
					       (struct conf_range){2, TOPOLOGY_HOSTS, 128});
	if (per_leaf > cfg->hosts)
		per_leaf = cfg->hosts;
	cfg->hosts_per_leaf =
		conf_get_u32(c, map, "hosts_per_leaf", at_most(SWITCH_PORTS_MAX, per_leaf));
	if (!c->status && cfg->hosts % cfg->hosts_per_leaf != 0)
		conf_fail_key(c, map, "hosts",
			      "%u hosts do not fill leaves of %u (hosts_per_leaf); use a multiple",
			      cfg->hosts, cfg->hosts_per_leaf);
}

/* Pods, and cores that carry all that the leaves of a pod send up. */
static void read_pods(struct conf *c, struct conf_node *map, struct topology_cfg *cfg)
{
	uint32_t leaves = cfg->hosts / cfg->hosts_per_leaf;
	u128 down, up = cfg->links[2].rate_bps;

	cfg->leaves_per_pod = conf_get_u32(c, map, "leaves_per_pod",
					   at_most(SWITCH_PORTS_MAX, leaves < 4 ? leaves : 4));
	if (!c->status && leaves % cfg->leaves_per_pod != 0)
		conf_fail_key(c, map, "leaves_per_pod",
			      "%u leaves do not fill pods of %u; use a divisor", leaves,
			      cfg->leaves_per_pod);
	down = (u128)cfg->leaves_per_pod * cfg->uplinks * cfg->links[1].rate_bps;
	const struct conf_node *cores = conf_get(c, map, "cores");

	if (cores) {
		cfg->cores = (uint32_t)conf_number(c, cores, UNITS_COUNT, at_most(1u << 20, 1));
		if (!c->status && cfg->cores % cfg->spines != 0)
			conf_fail(c, cores,
				  "%u cores cannot be shared by %u spines; use a multiple",
				  cfg->cores, cfg->spines);
		return;
	}
	if (!c->status && (down % up != 0 || down / up > SWITCH_PORTS_MAX))
		conf_fail_key(c, map, "cores",
			      "no whole number of cores has the rate of the spines; say how many");
	if (!c->status)
		cfg->cores = cfg->spines * (uint32_t)(down / up);
}

static void read_regular(struct reader *r, struct conf_node *map, enum kind kind,
			 struct topology_cfg *cfg)
{
	static const enum topology_kind of[] = {TOPOLOGY_WIRE, TOPOLOGY_LEAF_SPINE,
						TOPOLOGY_FAT_TREE};
	struct conf *c = &r->conf;

	cfg->kind = of[kind];
	read_tier(c, map, "host_link", &cfg->links[0]);
	read_ports(c, map, cfg);
	if (kind == WIRE) {
		cfg->hosts = conf_get_u32(c, map, "hosts", (struct conf_range){2, 2, 2});
		return;
	}
	read_tier(c, map, "spine_link", &cfg->links[1]);
	if (kind == FAT_TREE)
		read_tier(c, map, "core_link", &cfg->links[2]);
	read_hosts(c, map, cfg, kind == FAT_TREE ? 4 : 16);
	read_spines(c, map, cfg);
	if (kind == FAT_TREE)
		read_pods(c, map, cfg);
}

static void read_topo(struct reader *r, struct conf_node *map, struct topology_cfg *cfg)
{
	const struct conf_node *node =
		conf_need(&r->conf, map, "file", "name a .topo file beside this one");
	char error[SCENARIO_ERROR_MAX];
	size_t len = 0;
	char *text = read_other_file(r, node, &len);

	if (!text)
		return;
	if (topo_file_read(cfg, &(struct topo_file){node->text, text, len}, error, sizeof error))
		conf_fail_text(&r->conf, error);
	free(text);
	read_ports(&r->conf, map, cfg);
}

static void check_links(struct reader *r, const struct conf_node *map, uint64_t links)
{
	if (r->source->max_links > 0 && links > r->source->max_links)
		conf_fail(&r->conf, map, "%" PRIu64 " links; at most %u here", links,
			  r->source->max_links);
}

static void build_regular(struct reader *r, struct conf_node *map, const struct topology_cfg *cfg)
{
	char error[256];
	uint64_t links = (uint64_t)cfg->hosts * cfg->nic_ports;

	if (r->conf.status)
		return;
	if (cfg->hosts_per_leaf > 0) {
		uint64_t leaves = cfg->hosts / cfg->hosts_per_leaf;

		links += leaves * cfg->spines * cfg->uplinks * cfg->planes;
		if (cfg->kind == TOPOLOGY_FAT_TREE && cfg->leaves_per_pod > 0)
			links += leaves / cfg->leaves_per_pod * cfg->cores * cfg->planes;
	}
	check_links(r, map, links);
	if (r->conf.status)
		return;
	int rc = topology_build(&r->s->topology, cfg, error, sizeof error);

	if (rc == -ENOMEM)
		conf_fail_memory(&r->conf);
	else if (rc)
		read_refused(r, map, error);
}

/* One entry of links: other rates and delays for the ports that a pattern names. */
static void read_override(struct reader *r, struct conf_node *entry, uint8_t *set)
{
	struct conf *c = &r->conf;
	struct topology *t = &r->s->topology;
	struct conf_node *match =
		conf_is_map(c, entry) ? conf_need(c, entry, "match", link_hint) : NULL;
	const char *pattern = conf_text(c, match);

	if (c->status)
		return;
	memset(set, 0, t->n_ports);
	if (topology_match_ports(t, pattern, set) == 0)
		conf_fail(c, match,
			  "\"%.60s\" names no link; write it like leaf0-spine1, h0>leaf0 or h0>*",
			  pattern);
	for (uint32_t i = 0; i < t->n_ports && !c->status; i++) {
		struct topology_port *p = &t->ports[i];
		struct topology_link link = {p->rate_bps, p->delay_ps, p->buffer_bytes};

		if (!set[i])
			continue;
		read_link(c, entry, &link);
		p->rate_bps = link.rate_bps;
		p->delay_ps = link.delay_ps;
		p->buffer_bytes = link.buffer_bytes;
	}
	conf_finish(c, entry, "a link");
}

static void read_overrides(struct reader *r, struct conf_node *list)
{
	uint8_t *set = list && !r->conf.status ? malloc(r->s->topology.n_ports + 1u) : NULL;

	if (!list || r->conf.status)
		return;
	if (!set) {
		conf_fail_memory(&r->conf);
		return;
	}
	for (struct conf_node *entry = list->first; entry && !r->conf.status; entry = entry->next)
		read_override(r, entry, set);
	free(set);
}

void read_topology(struct reader *r, struct conf_node *map)
{
	struct conf *c = &r->conf;
	struct topology_link link = {UINT64_C(400000000000), PSEC_US, 0};
	struct conf_node *node =
		conf_need(c, map, "kind", "one of wire, leaf-spine, fat-tree, graph, file");
	enum kind kind = (enum kind)conf_choice(c, node, kinds);
	struct topology_cfg cfg = {.planes = 1, .nic_ports = 1};
	psec switch_delay_ps = conf_get_number(c, map, "switch_delay", UNITS_TIME,
					       (struct conf_range){0, READER_TIME_MAX, PSEC_NEVER});

	if (kind != TOPO_FILE)
		read_link(c, map, &link);
	for (uint32_t i = 0; i < TOPOLOGY_TIERS; i++)
		cfg.links[i] = link;
	struct conf_node *list = conf_get(c, map, "links");

	if (list && !conf_is_list(c, list))
		return;
	if (kind == TOPO_FILE)
		read_topo(r, map, &cfg);
	else if (kind != GRAPH)
		read_regular(r, map, kind, &cfg);
	if (switch_delay_ps != PSEC_NEVER)
		cfg.switch_delay_ps = switch_delay_ps;
	if (kind == GRAPH) {
		read_graph(r, map, &link);
		check_links(r, map, r->s->topology.n_ports / 2);
		r->s->topology.switch_delay_ps = cfg.switch_delay_ps;
	}
	conf_finish(c, map, whats[kind]);
	if (kind == GRAPH)
		return;
	build_regular(r, map, &cfg);
	read_overrides(r, list);
}
