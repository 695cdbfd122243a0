#include "sim/routing.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "sim/sentence.h"
#include "sim/tables.h"

/* One end of a link between switches, seen from the other. */
struct link_end {
	uint32_t peer; /* the switch there */
	uint16_t port; /* the port here */
};

/* What is needed only while the tables are made. */
struct build {
	struct routing *r;
	struct routing_tables *x;
	const struct topology *t;
	uint32_t n_switches;
	struct link_end *ends; /* of switch s: first_end[s] .. first_end[s + 1], by port */
	uint32_t *first_end;
	uint32_t *chains; /* by port: the last group whose first member it is, + 1 */
	uint32_t *next;   /* by group: the one before it in its chain, + 1 */
	uint8_t *rises;   /* by group: every member leads up */
	uint32_t n_groups, max_groups, n_members, max_members;
	uint32_t *hosts_at; /* per switch */
	uint32_t *dist, *order;
	uint16_t *scratch;
	struct link_end *neighbours;
	uint32_t *routes_to; /* of one plane: [switch][leaf]: group or NONE */
	uint32_t *tally;     /* by group */
	uint32_t longest;    /* links between switches on the longest path */
	char *error;
	size_t error_len;
};

static int out_of_memory(const struct build *b)
{
	sentence(-ENOMEM, b->error, b->error_len, "out of memory");
	return -ENOMEM;
}

static const struct topology_node *node_of(const struct build *b, uint32_t sw)
{
	return &b->t->nodes[b->t->n_hosts + sw];
}

static int grow_group_arrays(struct build *b, uint32_t max)
{
	struct fwd_group *groups = realloc(b->x->groups, max * sizeof *groups);

	if (!groups)
		return out_of_memory(b);
	b->x->groups = groups;
	uint32_t *next = realloc(b->next, max * sizeof *next);

	if (!next)
		return out_of_memory(b);
	b->next = next;
	uint8_t *rises = realloc(b->rises, max * sizeof *rises);

	if (!rises)
		return out_of_memory(b);
	b->rises = rises;
	b->max_groups = max;
	return 0;
}

/* Makes room for one more group of n members. */
static int grow_groups(struct build *b, uint32_t n)
{
	struct routing_tables *x = b->x;

	if (b->n_groups == b->max_groups &&
	    grow_group_arrays(b, b->max_groups ? 2 * b->max_groups : 256) != 0)
		return -ENOMEM;
	if (b->n_members + n > b->max_members) {
		uint32_t max = 2 * (b->n_members + n);
		void *members = realloc(x->members, max * sizeof *x->members);

		if (!members)
			return out_of_memory(b);
		x->members = members;
		b->max_members = max;
	}
	return 0;
}

/* The node at the other end of port number i of a node. */
static uint32_t peer_of(const struct build *b, const struct topology_node *n, uint32_t i)
{
	return b->t->ports[b->t->ports[n->first_port + i].peer].node;
}

static int allocate(struct build *b)
{
	const struct topology *t = b->t;
	struct routing_tables *x = b->x;
	size_t n = b->n_switches + 1u, ports;

	x->first_port = t->n_ports;
	if (b->n_switches > 0)
		x->first_port = node_of(b, 0)->first_port;
	ports = t->n_ports - x->first_port + 1u;
	b->r->switches = calloc(n, sizeof *b->r->switches);
	b->r->macs = calloc(t->n_ports + 1u, sizeof *b->r->macs);
	x->ports = calloc(ports, sizeof *x->ports);
	x->routes = calloc(n, sizeof *x->routes);
	x->numbers = calloc(n, sizeof *x->numbers);
	x->leaf_numbers = calloc(n, sizeof *x->leaf_numbers);
	x->places = calloc((size_t)t->n_hosts * t->n_planes, sizeof *x->places);
	b->ends = calloc(ports, sizeof *b->ends);
	b->first_end = calloc(n + 1, sizeof *b->first_end);
	b->chains = calloc(ports, sizeof *b->chains);
	b->hosts_at = calloc(n, sizeof *b->hosts_at);
	b->dist = calloc(n, sizeof *b->dist);
	b->order = calloc(n, sizeof *b->order);
	b->scratch = calloc(UINT16_MAX, sizeof *b->scratch);
	b->neighbours = calloc(UINT16_MAX, sizeof *b->neighbours);
	if (!b->r->switches || !b->r->macs || !x->ports || !x->routes || !x->numbers ||
	    !x->leaf_numbers || !x->places || !b->ends || !b->first_end || !b->chains ||
	    !b->hosts_at || !b->dist || !b->order || !b->scratch || !b->neighbours)
		return out_of_memory(b);
	return grow_groups(b, 256);
}

static void release(struct build *b)
{
	free(b->ends);
	free(b->first_end);
	free(b->chains);
	free(b->next);
	free(b->rises);
	free(b->hosts_at);
	free(b->dist);
	free(b->order);
	free(b->scratch);
	free(b->neighbours);
	free(b->routes_to);
	free(b->tally);
}

/* Locally administered: 02:00 and the port's number. */
static void name_ports(struct build *b)
{
	const struct topology *t = b->t;

	for (uint32_t p = 0; p < t->n_ports; p++) {
		b->r->macs[p][0] = 2;
		put_be32(b->r->macs[p] + 2, p);
	}
	for (uint32_t p = b->x->first_port; p < t->n_ports; p++) {
		struct fwd_port *port = &b->x->ports[p - b->x->first_port];
		uint32_t peer = t->ports[p].peer;

		memcpy(port->mac, b->r->macs[p], 6);
		memcpy(port->neighbour, b->r->macs[peer], 6);
		port->is_edge = t->nodes[t->ports[peer].node].is_host;
	}
}

/* Finds the switch each host is attached to in each plane: its address names it, so it is one. */
static int place_hosts(struct build *b)
{
	const struct topology *t = b->t;

	for (size_t i = 0; i < (size_t)t->n_hosts * t->n_planes; i++)
		b->x->places[i].leaf = ROUTING_NONE;
	for (uint32_t p = 0; p < b->x->first_port; p++) {
		uint32_t host = t->ports[p].node, plane = t->ports[p].plane;
		uint32_t peer = t->ports[t->ports[p].peer].node, sw = peer - t->n_hosts;
		struct routing_place *at = &b->x->places[(size_t)host * t->n_planes + plane];

		if (peer < t->n_hosts || at->leaf == sw)
			continue;
		if (at->leaf != ROUTING_NONE)
			return sentence(-EINVAL, b->error, b->error_len,
					"%s is on two switches of plane %u: %s and %s",
					t->labels[host], plane, t->labels[t->n_hosts + at->leaf],
					t->labels[peer]);
		*at = (struct routing_place){.leaf = sw, .slot = b->hosts_at[sw]++};
	}
	return 0;
}

static int number_switches(struct build *b)
{
	uint32_t n_ends = 0;

	for (uint32_t s = 0; s < b->n_switches; s++) {
		const struct topology_node *n = node_of(b, s);
		struct routing_plane *plane = &b->x->planes[n->plane];

		b->x->numbers[s] = plane->n_switches++;
		b->x->leaf_numbers[s] = ROUTING_NONE;
		if (b->hosts_at[s] > 0)
			b->x->leaf_numbers[s] = plane->n_leaves++;
		if (plane->n_leaves > UINT16_MAX)
			return sentence(-EINVAL, b->error, b->error_len,
					"plane %u: more than %u switches with hosts", n->plane,
					UINT16_MAX);
		b->dist[s] = ROUTING_NONE;
		b->first_end[s] = n_ends;
		for (uint32_t i = 0; i < n->n_ports; i++) {
			uint32_t peer = peer_of(b, n, i);

			if (peer >= b->t->n_hosts)
				b->ends[n_ends++] =
					(struct link_end){peer - b->t->n_hosts, (uint16_t)i};
		}
		b->first_end[s + 1] = n_ends;
	}
	return 0;
}

static int number_segments(struct build *b)
{
	bool by_host = b->r->cfg.decap == ROUTING_DECAP_HOST;
	uint32_t most_ports = 0, most_hosts = 0, last;

	if (!routing_is_srv6(b->r))
		return 0;
	for (uint32_t s = 0; s < b->n_switches; s++) {
		uint32_t ports = node_of(b, s)->n_ports, hosts = b->hosts_at[s];

		most_ports = ports > most_ports ? ports : most_ports;
		most_hosts = hosts > most_hosts ? hosts : most_hosts;
	}
	b->x->usid_decap = b->n_switches + 1;
	b->x->usid_port = b->x->usid_decap + (by_host ? 0 : b->n_switches);
	b->x->usid_host = b->x->usid_port + (b->r->cfg.uses_adjacency ? most_ports : 0);
	last = b->x->usid_host + (by_host ? most_hosts : 0) - 1;
	if (last > UINT16_MAX)
		return sentence(-EINVAL, b->error, b->error_len,
				"%u switches need %u segment identifiers, more than %u",
				b->n_switches, last, UINT16_MAX);
	return 0;
}

/* Upward, the structured EV names the port: is its field wide enough (MRC 9.1)? */
static int check_ev(struct build *b, uint32_t sw, uint32_t n)
{
	const struct fwd_ev_layout *layout = &b->r->cfg.ev_layout;
	uint32_t tier = node_of(b, sw)->tier, *choices = &b->x->ev_choices[tier];
	const char *name = b->t->labels[b->t->n_hosts + sw];

	if (tier >= layout->n)
		return sentence(-EINVAL, b->error, b->error_len,
				"ev_layout: there is no field %u, which %s needs", tier, name);
	if (n > 1u << layout->widths[tier])
		return sentence(-EINVAL, b->error, b->error_len,
				"ev_layout: field %u has %u bits, but %s has %u ports upwards",
				tier, layout->widths[tier], name, n);
	*choices = *choices == 1 || n < *choices ? n : *choices;
	return 0;
}

/* The group of switch sw with the n members in b->scratch, made where there is none yet. */
static int find_group(struct build *b, uint32_t sw, uint32_t n, uint32_t *group)
{
	struct routing_tables *x = b->x;
	uint32_t first = node_of(b, sw)->first_port;
	uint32_t *chain = &b->chains[first - x->first_port + b->scratch[0]];
	bool rises = true;

	for (uint32_t g = *chain; g > 0; g = b->next[g - 1]) {
		const struct fwd_group *old = &x->groups[g - 1];

		assert(g <= b->n_groups);
		if (old->n == n &&
		    memcmp(x->members + old->first, b->scratch, n * sizeof *b->scratch) == 0) {
			*group = g - 1;
			return 0;
		}
	}
	if (grow_groups(b, n) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		rises &= b->t->ports[first + b->scratch[i]].is_up;
	bool by_ev = rises && n > 1 && b->r->cfg.mode == ROUTING_STRUCTURED;

	if (by_ev && check_ev(b, sw, n) != 0)
		return -EINVAL;
	*group = b->n_groups++;
	x->groups[*group] = (struct fwd_group){b->n_members, (uint16_t)n, by_ev};
	memcpy(x->members + b->n_members, b->scratch, n * sizeof *b->scratch);
	b->n_members += n;
	b->rises[*group] = rises;
	b->next[*group] = *chain;
	*chain = *group + 1;
	return 0;
}

/* The ports of a leaf that lead to each of its hosts. */
static int group_edges(struct build *b)
{
	const struct topology *t = b->t;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < t->n_hosts * t->n_planes; i++) {
		const struct topology_node *host = &t->nodes[i / t->n_planes];
		struct routing_place *at = &b->x->places[i];
		uint32_t n = 0;

		if (at->leaf == ROUTING_NONE)
			continue;
		for (uint32_t p = host->first_port; p < host->first_port + host->n_ports; p++) {
			uint32_t peer = t->ports[p].peer;

			if (t->ports[peer].node == t->n_hosts + at->leaf)
				b->scratch[n++] =
					(uint16_t)(peer - node_of(b, at->leaf)->first_port);
		}
		rc = find_group(b, at->leaf, n, &at->edge);
	}
	return rc;
}

/* The ports of s that lead towards the leaf of this search, and how many paths they open.
 * Everything nearer to the leaf has its count already; what is new goes to the end of b->order. */
static uint32_t look_around(struct build *b, uint32_t s, uint32_t *n_paths, uint32_t *n_found)
{
	uint32_t n = 0, first = 0;
	uint64_t sum = 0;
	bool uneven = false;

	for (uint32_t e = b->first_end[s]; e < b->first_end[s + 1]; e++) {
		uint32_t peer = b->ends[e].peer;

		if (b->dist[peer] == ROUTING_NONE) {
			b->dist[peer] = b->dist[s] + 1;
			b->order[(*n_found)++] = peer;
		} else if (b->dist[peer] + 1 == b->dist[s]) {
			uint32_t there = n_paths[b->x->numbers[peer]] & ROUTING_PATHS_MAX;

			first = n == 0 ? there : first;
			uneven |= there != first;
			sum += there;
			b->scratch[n++] = b->ends[e].port;
		}
	}
	if (n > 0) {
		uint32_t all = sum < ROUTING_PATHS_MAX ? (uint32_t)sum : ROUTING_PATHS_MAX;

		n_paths[b->x->numbers[s]] = all | (uneven ? ROUTING_PATHS_UNEVEN : 0);
	}
	return n;
}

/* Breadth first from one leaf: every switch of the plane learns its ports towards it. */
static int search_from(struct build *b, uint32_t leaf)
{
	struct routing_plane *p = &b->x->planes[node_of(b, leaf)->plane];
	uint32_t number = b->x->leaf_numbers[leaf], n_found = 1;
	uint32_t *n_paths = p->n_paths + (size_t)number * p->n_switches;
	int rc = 0;

	b->order[0] = leaf;
	b->dist[leaf] = 0;
	n_paths[b->x->numbers[leaf]] = 1;
	for (uint32_t i = 0; i < n_found; i++) {
		uint32_t s = b->order[i], n = look_around(b, s, n_paths, &n_found);
		uint32_t *to = &b->routes_to[(size_t)b->x->numbers[s] * p->n_leaves + number];

		if (n > 0 && rc == 0)
			rc = find_group(b, s, n, to);
		if (b->hosts_at[s] > 0 && b->dist[s] > b->longest)
			b->longest = b->dist[s];
	}
	for (uint32_t i = 0; i < n_found; i++)
		b->dist[b->order[i]] = ROUTING_NONE;
	return rc;
}

/* fd00:0:PLANE:LEAF::/64; the prefix of length 48 covers the whole plane. */
static struct fwd_prefix leaf_prefix(uint32_t plane, uint32_t leaf, uint8_t len)
{
	struct fwd_prefix p = {.address = {0xfd}, .len = len};

	put_be16(p.address + 4, (uint16_t)plane);
	put_be16(p.address + 6, (uint16_t)leaf);
	return p;
}

static struct fwd_prefix segment_prefix(const struct build *b, uint32_t usid)
{
	struct fwd_prefix p = {.len = b->r->cfg.format == FWD_F3216 ? 48 : 32};
	uint16_t value = (uint16_t)usid;

	fwd_container_put(p.address, routing_block(b->r), b->r->cfg.format, &value, 1);
	return p;
}

/* A group that leads up and to more leaves than any other such group becomes the route to the whole
 * plane, if no leaf of the plane is out of reach: never down, where a wrong address could come
 * back, and never where there is nothing. */
static uint32_t pick_default(struct build *b, const uint32_t *row, uint32_t n, uint32_t own)
{
	uint32_t best = ROUTING_NONE, most = 1;
	bool all = true;

	for (uint32_t l = 0; l < n; l++) {
		uint32_t g = row[l];

		all &= g != ROUTING_NONE || l == own;
		if (g == ROUTING_NONE || !b->rises[g])
			continue;
		if (++b->tally[g] > most) {
			best = g;
			most = b->tally[g];
		}
	}
	for (uint32_t l = 0; l < n; l++)
		if (row[l] != ROUTING_NONE)
			b->tally[row[l]] = 0;
	return all ? best : ROUTING_NONE;
}

static int by_peer(const void *a, const void *b)
{
	const struct link_end *x = a, *y = b;

	if (x->peer != y->peer)
		return x->peer < y->peer ? -1 : 1;
	return (x->port > y->port) - (x->port < y->port);
}

/* To the segments of a neighbour, or its addresses as a node of multicast trees. */
static void route_neighbour(struct build *b, uint32_t s, uint32_t peer, uint32_t group)
{
	struct fwd_routes *routes = &b->r->switches[s].routes;
	struct fwd_prefix node = {.len = 64};

	if (!routing_is_srv6(b->r)) {
		routing_node_address(peer, 0, node.address);
		fwd_routes_add(routes, &node, group);
		return;
	}
	struct fwd_prefix decap = segment_prefix(b, b->x->usid_decap + peer);

	node = segment_prefix(b, peer + 1);
	fwd_routes_add(routes, &node, group);
	if (b->r->cfg.decap == ROUTING_DECAP_LEAF && b->hosts_at[peer] > 0)
		fwd_routes_add(routes, &decap, group);
}

/* Routes to each neighbour as such. Structured entropy says nothing about a neighbour: one of the
 * links to it must do. */
static int route_neighbours(struct build *b, uint32_t s)
{
	bool is_first_only = b->r->cfg.mode == ROUTING_STRUCTURED;
	uint32_t n = b->first_end[s + 1] - b->first_end[s], group;

	for (uint32_t i = 0; i < n; i++)
		b->neighbours[i] = b->ends[b->first_end[s] + i];
	qsort(b->neighbours, n, sizeof *b->neighbours, by_peer);
	for (uint32_t i = 0; i < n;) {
		uint32_t peer = b->neighbours[i].peer, links = 0;

		for (; i < n && b->neighbours[i].peer == peer; i++)
			b->scratch[links++] = b->neighbours[i].port;
		int rc = find_group(b, s, is_first_only ? 1 : links, &group);

		if (rc != 0)
			return rc;
		route_neighbour(b, s, peer, group);
	}
	return 0;
}

/* What a switch needs that may be a node of multicast trees; those of Proxies come later. */
static int route_tree(struct build *b, uint32_t s)
{
	struct fwd_prefix own = {.len = 64};

	routing_node_address(s, 0, own.address);
	fwd_routes_add(&b->r->switches[s].routes, &own, FWD_MULTICAST);
	return route_neighbours(b, s);
}

static uint32_t count_exceptions(const uint32_t *row, uint32_t n, uint32_t usual)
{
	uint32_t count = 0;

	for (uint32_t l = 0; l < n; l++)
		count += row[l] != ROUTING_NONE && row[l] != usual;
	return count;
}

/* Fills the table of one switch but for its hosts; row: the groups to each leaf of its plane. */
static int route_switch(struct build *b, uint32_t s, const uint32_t *row)
{
	uint32_t plane = node_of(b, s)->plane, n = b->x->planes[plane].n_leaves;
	uint32_t usual = pick_default(b, row, n, b->x->leaf_numbers[s]);
	uint32_t max = 1 + b->hosts_at[s] + count_exceptions(row, n, usual);
	struct fwd_routes *routes = &b->r->switches[s].routes;

	if (routing_is_srv6(b->r))
		max += b->hosts_at[s] + 2 * (b->first_end[s + 1] - b->first_end[s]);
	if (b->r->cfg.max_groups)
		max += b->r->cfg.max_groups + 1 + b->first_end[s + 1] - b->first_end[s];
	b->x->routes[s] = malloc(fwd_routes_bytes(max));
	if (!b->x->routes[s])
		return out_of_memory(b);
	fwd_routes_init(routes, b->x->routes[s], max);
	for (uint32_t l = 0; l < n; l++) {
		struct fwd_prefix p = leaf_prefix(plane, l, 64);

		if (row[l] != ROUTING_NONE && row[l] != usual)
			fwd_routes_add(routes, &p, row[l]);
	}
	if (usual != ROUTING_NONE) {
		struct fwd_prefix p = leaf_prefix(plane, 0, 48);

		fwd_routes_add(routes, &p, usual);
	}
	if (b->r->cfg.max_groups)
		return route_tree(b, s);
	return routing_is_srv6(b->r) ? route_neighbours(b, s) : 0;
}

static int route_plane(struct build *b, uint32_t plane)
{
	struct routing_plane *p = &b->x->planes[plane];
	size_t pairs = (size_t)p->n_switches * p->n_leaves;
	int rc = 0;

	p->n_paths = calloc(pairs + 1, sizeof *p->n_paths);
	b->routes_to = malloc((pairs + 1) * sizeof *b->routes_to);
	if (!p->n_paths || !b->routes_to)
		return out_of_memory(b);
	memset(b->routes_to, 0xff, pairs * sizeof *b->routes_to);
	for (uint32_t s = 0; rc == 0 && s < b->n_switches; s++)
		if (node_of(b, s)->plane == plane && b->hosts_at[s] > 0)
			rc = search_from(b, s);
	b->tally = calloc(b->n_groups + 1u, sizeof *b->tally);
	if (rc == 0 && !b->tally)
		rc = out_of_memory(b);
	for (uint32_t s = 0; rc == 0 && s < b->n_switches; s++)
		if (node_of(b, s)->plane == plane)
			rc = route_switch(b, s,
					  b->routes_to + (size_t)b->x->numbers[s] * p->n_leaves);
	free(b->routes_to);
	free(b->tally);
	b->routes_to = b->tally = NULL;
	return rc;
}

/* The leaf's routes to its own hosts. */
static void route_hosts(struct build *b)
{
	const struct topology *t = b->t;
	bool by_segment = routing_is_srv6(b->r) && b->r->cfg.decap == ROUTING_DECAP_HOST;

	for (uint32_t h = 0; h < t->n_hosts; h++)
		for (uint32_t plane = 0; plane < t->n_planes; plane++) {
			const struct routing_place *at = routing_place(b->r, h, plane);
			struct fwd_prefix own = {.len = 128};

			if (at->leaf == ROUTING_NONE)
				continue;
			struct fwd_routes *routes = &b->r->switches[at->leaf].routes;

			routing_address(b->r, h, plane, own.address);
			fwd_routes_add(routes, &own, at->edge);
			if (by_segment) {
				own = segment_prefix(b, b->x->usid_host + at->slot);
				fwd_routes_add(routes, &own, at->edge);
			}
		}
}

static int check_segments(const struct build *b)
{
	const struct routing_cfg *cfg = &b->r->cfg;
	uint32_t n = b->longest + 1 + (cfg->decap == ROUTING_DECAP_HOST);
	uint32_t containers = cfg->mode == ROUTING_USID_SRH ? 2 : 1;
	uint32_t room = containers * fwd_sid_capacity(cfg->format);

	if (routing_is_srv6(b->r) && n > room)
		return sentence(-EINVAL, b->error, b->error_len,
				"the longest path has %u segments, but %s %u", n,
				containers == 2 ? "two containers hold" : "a container holds",
				room);
	return 0;
}

/* The SIDs of one switch at sids; returns how many. */
static uint32_t put_sids(const struct build *b, uint32_t s, struct fwd_sid *sids)
{
	const struct routing_cfg *cfg = &b->r->cfg;
	const struct topology_node *node = node_of(b, s);
	bool decaps = cfg->decap == ROUTING_DECAP_LEAF;
	uint32_t n = 0;

	sids[n++] = (struct fwd_sid){(uint16_t)(s + 1), FWD_SID_UN, cfg->psp, 0};
	if (decaps && b->hosts_at[s] > 0)
		sids[n++] =
			(struct fwd_sid){(uint16_t)(b->x->usid_decap + s), FWD_SID_DT6, false, 0};
	for (uint32_t i = 0; cfg->uses_adjacency && i < node->n_ports; i++) {
		bool unwraps = decaps && peer_of(b, node, i) < b->t->n_hosts;

		sids[n++] = (struct fwd_sid){(uint16_t)(b->x->usid_port + i),
					     unwraps ? FWD_SID_DX6 : FWD_SID_UA,
					     cfg->psp && !unwraps, (uint16_t)i};
	}
	return n;
}

static int set_switches(struct build *b, uint64_t seed)
{
	const struct routing_cfg *cfg = &b->r->cfg;
	uint32_t n_sids = 0;

	if (routing_is_srv6(b->r)) {
		size_t max = b->t->n_ports - b->x->first_port + 2u * b->n_switches + 1u;

		b->x->sids = calloc(max, sizeof *b->x->sids);
		if (!b->x->sids)
			return out_of_memory(b);
	}
	b->x->carriers = cfg->carriers;
	for (uint32_t s = 0; s < b->n_switches; s++) {
		struct fwd_switch *sw = &b->r->switches[s];
		const struct topology_node *node = node_of(b, s);

		sw->ports = b->x->ports + (node->first_port - b->x->first_port);
		sw->n_ports = node->n_ports;
		sw->groups = b->x->groups;
		sw->members = b->x->members;
		sw->carriers = &b->x->carriers;
		sw->ev_layout = cfg->ev_layout;
		sw->ev_hop = node->tier;
		sw->hash_fields = cfg->hash_fields;
		sw->hash_seed = prng_splitmix64(&seed);
		sw->sids = (struct fwd_sids){
			.block = routing_block(b->r),
			.format = (uint8_t)cfg->format,
			.trims = cfg->trims,
		};
		if (routing_is_srv6(b->r)) {
			sw->sids.sids = b->x->sids + n_sids;
			sw->sids.n = put_sids(b, s, b->x->sids + n_sids);
			n_sids += sw->sids.n;
		}
	}
	return 0;
}

static int make_tables(struct build *b, uint64_t seed)
{
	int rc = allocate(b);

	for (uint32_t tier = 0; tier < TOPOLOGY_TIERS; tier++)
		b->x->ev_choices[tier] = 1;
	if (rc == 0) {
		name_ports(b);
		rc = place_hosts(b);
	}
	if (rc == 0)
		rc = number_switches(b);
	if (rc == 0)
		rc = number_segments(b);
	if (rc == 0)
		rc = group_edges(b);
	for (uint32_t plane = 0; rc == 0 && plane < b->t->n_planes; plane++)
		rc = route_plane(b, plane);
	if (rc == 0)
		rc = check_segments(b);
	if (rc != 0)
		return rc;
	route_hosts(b);
	return set_switches(b, seed);
}

int routing_build(struct routing *r, const struct topology *t, const struct routing_cfg *cfg,
		  uint64_t seed, char *error, size_t error_len)
{
	struct build b = {
		.r = r,
		.t = t,
		.n_switches = t->n_nodes - t->n_hosts,
		.error = error,
		.error_len = error_len,
	};
	int rc;

	*r = (struct routing){.topology = t, .cfg = *cfg};
	if (cfg->mode == ROUTING_STRUCTURED && !fwd_ev_layout_ok(&cfg->ev_layout, 6))
		return sentence(-EINVAL, error, error_len,
				"ev_layout: 1 to %u fields of 1 to 16 bits, together at most 32",
				FWD_EV_HOPS_MAX);
	if (cfg->max_groups && routing_is_srv6(r))
		return sentence(
			-EINVAL, error, error_len,
			"multicast groups and a fabric that is routed by segments do not go "
			"together");
	r->memory = b.x = calloc(1, sizeof *b.x);
	if (!b.x)
		return out_of_memory(&b);
	rc = make_tables(&b, seed);
	release(&b);
	if (rc != 0)
		routing_fini(r);
	return rc;
}

void routing_fini(struct routing *r)
{
	struct routing_tables *x = r->memory;

	if (x) {
		uint32_t n = r->topology->n_nodes - r->topology->n_hosts;

		for (uint32_t s = 0; x->routes && s < n; s++)
			free(x->routes[s]);
		for (uint32_t plane = 0; plane < TOPOLOGY_PLANES; plane++)
			free(x->planes[plane].n_paths);
		free(x->ports);
		free(x->groups);
		free(x->members);
		free(x->sids);
		free(x->routes);
		free(x->numbers);
		free(x->leaf_numbers);
		free(x->places);
	}
	free(r->switches);
	free(r->macs);
	free(x);
	memset(r, 0, sizeof *r);
}
