#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "scenario/reader.h"

/* A topology that is written out link by link. */
struct graph {
	struct reader *reader;
	struct topology_draft *draft;
	struct topology_link link; /* where an entry says nothing else */
};

/* Keeps what the draft says about node. */
static void refused(struct graph *g, const struct conf_node *node, int rc, const char *error)
{
	if (rc == -ENOMEM)
		conf_fail_memory(&g->reader->conf);
	else if (rc)
		conf_fail(&g->reader->conf, node, "%s", error);
}

/* hosts is a list of names, or a number: h0, h1 and so on. */
static void read_hosts(struct graph *g, struct conf_node *node)
{
	struct conf *c = &g->reader->conf;
	char name[24], error[200];

	if (!node || c->status)
		return;
	if (node->type == CONF_TEXT) {
		uint32_t n = (uint32_t)conf_number(c, node, UNITS_COUNT,
						   (struct conf_range){2, TOPOLOGY_HOSTS, 2});

		for (uint32_t i = 0; i < n && !c->status; i++) {
			snprintf(name, sizeof name, "h%u", i);
			refused(g, node, topology_host(g->draft, name, error, sizeof error), error);
		}
		return;
	}
	if (!conf_is_list(c, node))
		return;
	if (node->n < 2)
		conf_fail(c, node, "%u hosts; at least 2", node->n);
	for (struct conf_node *at = node->first; at && !c->status; at = at->next) {
		const char *text = conf_text(c, at);

		if (!c->status)
			refused(g, at, topology_host(g->draft, text, error, sizeof error), error);
	}
}

/* A switch is a name, or a map with name, tier and plane. */
static void read_switch(struct graph *g, struct conf_node *node)
{
	struct conf *c = &g->reader->conf;
	struct conf_node *name = node;
	uint8_t tier = 0, plane = 0;
	char error[200];

	if (node->type != CONF_TEXT) {
		if (!conf_is_map(c, node))
			return;
		name = conf_need(c, node, "name", "write {name: s0, tier: 0}");
		tier = (uint8_t)conf_get_u32(c, node, "tier",
					     (struct conf_range){0, TOPOLOGY_TIERS - 1, 0});
		plane = (uint8_t)conf_get_u32(c, node, "plane",
					      (struct conf_range){0, TOPOLOGY_PLANES - 1, 0});
		conf_finish(c, node, "a switch");
	}
	const char *text = conf_text(c, name);

	if (!c->status)
		refused(g, name, topology_switch(g->draft, text, tier, plane, error, sizeof error),
			error);
}

static void read_edge(struct graph *g, struct conf_node *node)
{
	static const char hint[] = "write {between: [h0, s0]}";
	struct conf *c = &g->reader->conf;
	struct topology_link link = g->link;
	char error[200];

	struct conf_node *between =
		conf_is_map(c, node) ? conf_need(c, node, "between", hint) : NULL;

	read_link(c, node, &link);
	uint32_t count = conf_get_u32(c, node, "count", (struct conf_range){1, 64, 1});

	conf_finish(c, node, "a link");
	if (!between || !conf_is_list(c, between))
		return;
	if (between->n != 2) {
		conf_fail(c, between, "%u names; a link is between two nodes", between->n);
		return;
	}
	const char *a = conf_text(c, between->first), *b = conf_text(c, between->last);

	for (uint32_t i = 0; i < count && !c->status; i++)
		refused(g, between, topology_link(g->draft, a, b, &link, error, sizeof error),
			error);
}

/* A host is one endpoint, whose ports the transports count. */
static void check_hosts(struct graph *g, const struct conf_node *map)
{
	const struct topology *t = &g->reader->s->topology;

	for (uint32_t h = 0; h < t->n_hosts && !g->reader->conf.status; h++) {
		if (t->nodes[h].n_ports == 0)
			conf_fail_key(&g->reader->conf, map, "links",
				      "host %s has no link; join it to a switch", t->labels[h]);
		if (t->nodes[h].n_ports > ENGINE_PORTS)
			conf_fail_key(&g->reader->conf, map, "links",
				      "host %s has %u links; at most %u", t->labels[h],
				      t->nodes[h].n_ports, ENGINE_PORTS);
	}
}

void read_graph(struct reader *r, struct conf_node *map, const struct topology_link *link)
{
	struct conf *c = &r->conf;
	struct graph g = {r, topology_begin(), *link};
	char error[200];

	if (!g.draft) {
		conf_fail_memory(c);
		return;
	}
	read_hosts(&g, conf_need(c, map, "hosts", "list the names of the hosts"));
	struct conf_node *switches = conf_get(c, map, "switches");

	if (conf_is_list(c, switches))
		for (struct conf_node *at = switches->first; at && !c->status; at = at->next)
			read_switch(&g, at);
	struct conf_node *links = conf_need(c, map, "links", "write [{between: [h0, h1]}]");

	if (conf_is_list(c, links))
		for (struct conf_node *at = links->first; at && !c->status; at = at->next)
			read_edge(&g, at);
	if (c->status) {
		topology_discard(g.draft);
		return;
	}
	refused(&g, map, topology_end(g.draft, &r->s->topology, error, sizeof error), error);
	if (!c->status)
		check_hosts(&g, map);
}
