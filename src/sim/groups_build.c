#include "sim/groups_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "sim/sentence.h"
#include "wire/endmt.h"
#include "wire/net.h"
#include "wire/srh_plan.h"

#define NOBODY       UINT32_MAX
#define HOP_LIMIT    64u
#define SPORT_FIRST  0xc000u
#define SILENT_AFTER 4u      /* T-19 */
#define SILENT_STEP  2u      /* for each switch below */
#define LENGTH_MAX   0xffffu /* of what follows an IPv6 header */

/* Which of a switch's addresses is what: see routing_node_address. */
enum { ADDRESS_OWN = 1, ADDRESS_SEGMENT = 0xe001 };

struct block {
	struct block *next;
	max_align_t bytes[];
};

/* A switch in the tree at hand. */
struct place {
	uint32_t parent; /* itself: the headend; NOBODY: not in the tree */
	uint32_t n_branches, n_receivers;
	uint32_t height; /* switches below it, on the longest way down */
	uint32_t group;  /* place among the node's */
};

struct groups_builder {
	struct routing *r;
	struct groups_cfg cfg;
	struct block *blocks;
	uint32_t *qpns; /* of all groups so far */
	uint32_t n_groups, headroom;
	struct place *places; /* by switch */
	uint32_t *order;      /* switches of the tree, n_order */
	uint32_t n_order;
};

/* The group that is being made. */
struct making {
	struct sim_groups *g;
	struct groups_builder *b;
	const struct groups_one *one;
	uint32_t number, plane, headend;
	uint8_t proxy[16], source[16];
	struct mt_wrap *wrap;
	char *error;
	size_t error_len;
};

static const struct topology *topology_of(const struct making *m)
{
	return m->b->r->topology;
}

static int out_of_memory(const struct making *m)
{
	return sentence(-ENOMEM, m->error, m->error_len, "out of memory");
}

static void *get(struct groups_builder *b, size_t bytes)
{
	struct block *block = calloc(1, sizeof *block + bytes);

	if (!block)
		return NULL;
	block->next = b->blocks;
	b->blocks = block;
	return block->bytes;
}

int groups_init(struct sim_groups *g, struct routing *r, const struct groups_cfg *cfg)
{
	uint32_t n_switches = r->topology->n_nodes - r->topology->n_hosts;
	struct groups_builder *b = calloc(1, sizeof *b);

	*g = (struct sim_groups){
		.window_ps = cfg->window_ps ? cfg->window_ps : GROUPS_WINDOW_PS,
		.builder = b,
	};
	if (!b)
		return -ENOMEM;
	*b = (struct groups_builder){.r = r, .cfg = *cfg};
	g->nodes = get(b, (n_switches + 1) * sizeof *g->nodes);
	g->frame = get(b, GROUPS_FRAME_MAX);
	g->copy = get(b, GROUPS_FRAME_MAX);
	b->qpns = get(b, (r->cfg.max_groups + 1) * sizeof *b->qpns);
	b->places = get(b, (n_switches + 1) * sizeof *b->places);
	b->order = get(b, (n_switches + 1) * sizeof *b->order);
	if (!g->nodes || !g->frame || !g->copy || !b->qpns || !b->places || !b->order)
		return -ENOMEM;
	for (uint32_t s = 0; s < n_switches; s++) {
		struct mt_node *n = &g->nodes[s].mt;

		b->places[s].parent = NOBODY;
		n->fib = &r->switches[s];
		n->tlv_type = ENDMT_TLV_TYPE;
		routing_node_address(s, ADDRESS_OWN, n->address);
	}
	return 0;
}

void groups_fini(struct sim_groups *g)
{
	uint32_t n_switches = 0;

	if (g->builder) {
		const struct topology *t = g->builder->r->topology;

		n_switches = t->n_nodes - t->n_hosts;
	}
	for (uint32_t s = 0; g->nodes && s < n_switches; s++) {
		free(g->nodes[s].mt.groups);
		free(g->nodes[s].windows);
	}
	for (struct block *at = g->builder ? g->builder->blocks : NULL; at;) {
		struct block *next = at->next;

		free(at);
		at = next;
	}
	free(g->builder);
	*g = (struct sim_groups){0};
}

uint32_t groups_headroom(const struct sim_groups *g)
{
	return g->builder->headroom;
}

static int refuse_member(const struct making *m, const struct groups_member *member,
			 const char *what)
{
	return sentence(-EINVAL, m->error, m->error_len, "multicast group %u: host %u %s",
			m->number, member->host, what);
}

/* The port of a member, in the topology. */
static uint32_t port_of(const struct making *m, const struct groups_member *member)
{
	return topology_of(m)->nodes[member->host].first_port + member->port;
}

/* The switch of a member. */
static uint32_t leaf_of(const struct making *m, const struct groups_member *member)
{
	const struct topology *t = topology_of(m);

	return t->ports[t->ports[port_of(m, member)].peer].node - t->n_hosts;
}

static int check_member(const struct making *m, const struct groups_member *member)
{
	const struct topology *t = topology_of(m);

	if (member->host >= t->n_hosts)
		return refuse_member(m, member, "does not exist");
	if (member->port >= t->nodes[member->host].n_ports)
		return refuse_member(m, member, "has no such port");
	if (t->ports[t->ports[port_of(m, member)].peer].node < t->n_hosts)
		return refuse_member(m, member, "is on no switch");
	if (t->ports[port_of(m, member)].plane != m->plane)
		return refuse_member(m, member, "has its port in another plane than the source");
	return 0;
}

static int by_host(const void *a, const void *b)
{
	const struct groups_member *x = a, *y = b;

	return (x->host > y->host) - (x->host < y->host);
}

/* Each host once (T-25), and not the source. */
static int check_once(const struct making *m)
{
	uint32_t n = m->one->n_receivers;
	struct groups_member *all = malloc((n + 1) * sizeof *all);
	int rc = 0;

	if (!all)
		return out_of_memory(m);
	memcpy(all, m->one->receivers, n * sizeof *all);
	all[n] = m->one->source;
	qsort(all, n + 1, sizeof *all, by_host);
	for (uint32_t i = 1; rc == 0 && i <= n; i++)
		if (all[i].host == all[i - 1].host)
			rc = refuse_member(m, &all[i], "is a member twice");
	free(all);
	return rc;
}

static int check(struct making *m)
{
	const struct groups_one *one = m->one;
	const struct topology *t = topology_of(m);

	if (one->n_receivers == 0)
		return sentence(-EINVAL, m->error, m->error_len,
				"multicast group %u has no receivers", m->number);
	if (m->number >= m->b->r->cfg.max_groups)
		return sentence(-ENOSPC, m->error, m->error_len,
				"the fabric has room for %u multicast groups",
				m->b->r->cfg.max_groups);
	for (uint32_t i = 0; i < m->b->n_groups; i++)
		if (m->b->qpns[i] == one->source.qpn)
			return sentence(-EEXIST, m->error, m->error_len,
					"multicast groups %u and %u have one Designated QPN", i,
					m->number);
	if (one->source.host < t->n_hosts && one->source.port < t->nodes[one->source.host].n_ports)
		m->plane = t->ports[port_of(m, &one->source)].plane;
	int rc = check_member(m, &one->source);

	for (uint32_t i = 0; rc == 0 && i < one->n_receivers; i++)
		rc = check_member(m, &one->receivers[i]);
	return rc ? rc : check_once(m);
}

static void enter(struct groups_builder *b, uint32_t sw, uint32_t parent)
{
	b->places[sw] = (struct place){.parent = parent};
	b->order[b->n_order++] = sw;
}

/* A number that is the same for all switches of a tier and differs between groups: where switches
 * have the same choices they make the same, so that paths meet early. */
static uint64_t spread(const struct making *m, uint32_t tier)
{
	uint64_t state = (uint64_t)m->number << 8 | tier;

	return prng_splitmix64(&state);
}

/* The next switch on a shortest path from sw to the source: one that is in the tree already, if
 * there is. NOBODY: there is no path. */
static uint32_t step_up(const struct making *m, uint32_t sw)
{
	const struct topology *t = topology_of(m);
	const struct fwd_switch *fib = &m->b->r->switches[sw];
	const struct topology_node *node = &t->nodes[t->n_hosts + sw];
	uint32_t route = fwd_routes_find(&fib->routes, m->source);

	if (route >= FWD_MULTICAST)
		return NOBODY;
	const struct fwd_group *group = &fib->groups[route];
	uint32_t chosen = (uint32_t)(spread(m, node->tier) % group->n), next = NOBODY;

	for (uint32_t i = 0; i < group->n; i++) {
		uint32_t port = node->first_port + fib->members[group->first + i];
		uint32_t peer = t->ports[t->ports[port].peer].node - t->n_hosts;

		if (m->b->places[peer].parent != NOBODY)
			return peer;
		if (i == chosen)
			next = peer;
	}
	return next;
}

/* From a receiver's switch up to the tree. Each step is nearer to the source. */
static int climb(const struct making *m, const struct groups_member *member)
{
	struct groups_builder *b = m->b;
	uint32_t sw = leaf_of(m, member);

	while (b->places[sw].parent == NOBODY) {
		uint32_t parent = step_up(m, sw);

		if (parent == NOBODY)
			return refuse_member(m, member, "has no path from the source");
		enter(b, sw, parent);
		sw = parent;
	}
	return 0;
}

/* Whoever is above a switch is higher. */
static void lift_above(const struct making *m, uint32_t sw)
{
	struct place *places = m->b->places;

	for (uint32_t height = 1; sw != m->headend; height++) {
		sw = places[sw].parent;
		if (places[sw].height < height)
			places[sw].height = height;
	}
}

static int grow_tree(const struct making *m)
{
	struct groups_builder *b = m->b;
	int rc = 0;

	b->n_order = 0;
	enter(b, m->headend, m->headend);
	for (uint32_t i = 0; rc == 0 && i < m->one->n_receivers; i++) {
		rc = climb(m, &m->one->receivers[i]);
		b->places[leaf_of(m, &m->one->receivers[i])].n_receivers++;
	}
	for (uint32_t i = 0; i < b->n_order; i++) {
		struct place *p = &b->places[b->order[i]];

		p->n_branches += p->n_receivers;
		if (b->order[i] != m->headend)
			b->places[p->parent].n_branches++;
		lift_above(m, b->order[i]);
	}
	return rc;
}

static void fell_tree(struct groups_builder *b)
{
	for (uint32_t i = 0; i < b->n_order; i++)
		b->places[b->order[i]].parent = NOBODY;
	b->n_order = 0;
}

/* The receivers of an edge, as TLVs name them. */
static int list_edge(const struct making *m, uint32_t sw, struct srh_edge *edge)
{
	struct endmt_receiver *receivers = calloc(m->b->places[sw].n_receivers, sizeof *receivers);

	if (!receivers)
		return out_of_memory(m);
	*edge = (struct srh_edge){.receivers = receivers};
	routing_node_address(sw, ADDRESS_OWN, edge->address);
	for (uint32_t i = 0; i < m->one->n_receivers; i++) {
		const struct groups_member *member = &m->one->receivers[i];

		if (leaf_of(m, member) != sw)
			continue;
		routing_address(m->b->r, member->host, m->plane, receivers[edge->n].address);
		receivers[edge->n++].qpn = member->qpn;
	}
	return 0;
}

static int put_srh(const struct making *m, const struct srh_plan *plan)
{
	int bytes = srh_plan_bytes(plan);

	if (bytes < 0)
		return sentence(bytes, m->error, m->error_len,
				bytes == -EMSGSIZE
					? "multicast group %u: no header names so many receivers"
					: "multicast group %u: a receiver that no header can name",
				m->number);
	uint8_t *srh = get(m->b, (size_t)bytes);

	if (!srh)
		return out_of_memory(m);
	m->wrap->srh = (struct cspan){srh, (uint32_t)bytes};
	return srh_plan_put(plan, (struct span){srh, (uint32_t)bytes}) < 0 ? -EINVAL : 0;
}

static int make_srh(const struct making *m, struct srh_edge *edges)
{
	struct srh_segment segments[2] = {0};
	struct srh_plan plan = {
		.next_header = IPPROTO_IPV6_IN,
		.segments_left = 1,
		.segments = segments,
		.n_segments = 2,
		.endmt_type = ENDMT_TLV_TYPE,
		.edges = edges,
	};
	uint32_t last = m->b->order[m->b->n_order - 1];
	int rc = 0;

	/* The segment of an edge cannot be the last (T-08), and the destination comes from the
	 * state of whoever replicates: it matters only that there is one. */
	memcpy(segments[0].address, m->proxy, 16);
	routing_node_address(last, ADDRESS_SEGMENT, segments[1].address);
	for (uint32_t i = 0; rc == 0 && m->one->by_tlv && i < m->b->n_order; i++)
		if (m->b->places[m->b->order[i]].n_receivers)
			rc = list_edge(m, m->b->order[i], &edges[plan.n_edges++]);
	return rc ? rc : put_srh(m, &plan);
}

/* What the headend puts in front of each request. */
static int make_wrap(struct making *m)
{
	struct srh_edge *edges = calloc(m->b->n_order, sizeof *edges);

	m->wrap = get(m->b, sizeof *m->wrap);
	if (!edges || !m->wrap) {
		free(edges);
		return out_of_memory(m);
	}
	m->wrap->hop_limit = HOP_LIMIT;
	routing_node_address(m->headend, ADDRESS_OWN, m->wrap->src);
	int rc = make_srh(m, edges);
	uint32_t headroom = ipv6_bytes + m->wrap->srh.len;

	if (m->b->headroom < headroom)
		m->b->headroom = headroom;
	for (uint32_t i = 0; i < m->b->n_order; i++)
		free((void *)(uintptr_t)edges[i].receivers);
	free(edges);
	return rc;
}

/* An empty group among those of a switch, in the order of their numbers. */
static struct mt_group *add_to_node(struct groups_node *n, uint32_t qpn, uint32_t *place)
{
	struct mt_node *mt = &n->mt;
	struct mt_group *groups = realloc(mt->groups, (mt->n_groups + 1) * sizeof *groups);

	if (!groups)
		return NULL;
	mt->groups = groups;
	struct groups_window *windows = realloc(n->windows, (mt->n_groups + 1) * sizeof *windows);

	if (!windows)
		return NULL;
	n->windows = windows;
	uint32_t at = mt->n_groups++;

	for (; at > 0 && groups[at - 1].qpn > qpn; at--)
		groups[at] = groups[at - 1];
	groups[at] = (struct mt_group){.qpn = qpn};
	*place = at;
	return &groups[at];
}

static struct mt_group *group_at(const struct making *m, uint32_t sw)
{
	return &m->g->nodes[sw].mt.groups[m->b->places[sw].group];
}

/* A port's number among its switch's. */
static uint16_t number_at(const struct topology *t, uint32_t port)
{
	return (uint16_t)(port - t->nodes[t->ports[port].node].first_port);
}

/* Who is above: the source, or the parent. */
static void look_up(const struct making *m, uint32_t sw, struct mt_group *g)
{
	const struct topology *t = topology_of(m);

	g->up.qpn = m->one->source.qpn;
	if (sw == m->headend) {
		g->is_first = true;
		g->wrap = m->wrap;
		memcpy(g->up.address, m->source, 16);
		g->up.port = number_at(t, t->ports[port_of(m, &m->one->source)].peer);
		return;
	}
	routing_node_address(m->b->places[sw].parent, ADDRESS_OWN, g->up.address);
	g->up.port = MT_ANY_PORT;
}

static int make_group(const struct making *m, uint32_t sw)
{
	struct place *p = &m->b->places[sw];
	struct mt_group *g = add_to_node(&m->g->nodes[sw], m->one->source.qpn, &p->group);

	if (!g)
		return out_of_memory(m);
	memcpy(g->proxy, m->proxy, 16);
	routing_node_address(sw, ADDRESS_SEGMENT, g->sid);
	look_up(m, sw, g);
	g->is_edge_by_tlv = m->one->by_tlv && p->n_receivers;
	g->sport = (uint16_t)(SPORT_FIRST | (m->number & ~SPORT_FIRST));
	g->dscp = m->b->cfg.dscp;
	g->most_bytes = LENGTH_MAX - m->wrap->srh.len;
	if (m->one->most_bytes && m->one->most_bytes < g->most_bytes)
		g->most_bytes = m->one->most_bytes;
	g->branches = get(m->b, p->n_branches * sizeof *g->branches);
	g->by_address = get(m->b, p->n_branches * sizeof *g->by_address);
	g->merge.branches = get(m->b, p->n_branches * sizeof *g->merge.branches);
	if (!g->branches || !g->by_address || !g->merge.branches)
		return out_of_memory(m);
	/* The Proxy Address is the source's and the receivers' way in; others never see it. */
	if (sw == m->headend || p->n_receivers)
		return routing_add_proxy(m->b->r, sw, m->number);
	return 0;
}

/* The port of a switch towards another, if it is the only one. */
static uint16_t port_between(const struct topology *t, uint32_t sw, uint32_t other)
{
	const struct topology_node *node = &t->nodes[t->n_hosts + sw];
	uint16_t found = MT_ANY_PORT;

	for (uint16_t i = 0; i < node->n_ports; i++) {
		if (t->ports[t->ports[node->first_port + i].peer].node != t->n_hosts + other)
			continue;
		if (found != MT_ANY_PORT)
			return MT_ANY_PORT;
		found = i;
	}
	return found;
}

static void add_child(const struct making *m, uint32_t sw)
{
	uint32_t parent = m->b->places[sw].parent;
	struct mt_group *g = group_at(m, parent);
	struct mt_branch *b = &g->branches[g->n_branches++];

	b->is_node = true;
	b->port = port_between(topology_of(m), parent, sw);
	routing_node_address(sw, ADDRESS_OWN, b->address);
	routing_node_address(sw, ADDRESS_SEGMENT, b->sid);
}

static void add_receiver(const struct making *m, const struct groups_member *member)
{
	const struct topology *t = topology_of(m);
	struct mt_group *g = group_at(m, leaf_of(m, member));
	struct mt_branch *b = &g->branches[g->n_branches++];

	b->port = number_at(t, t->ports[port_of(m, member)].peer);
	b->qpn = member->qpn;
	routing_address(m->b->r, member->host, m->plane, b->address);
}

/* All branches are there: they are members from the start. */
static int start(const struct making *m, uint32_t sw)
{
	struct mt_group *g = group_at(m, sw);
	struct mt_merge_cfg cfg = m->one->merge;
	uint32_t silent = cfg.silent_after ? cfg.silent_after : SILENT_AFTER;
	uint32_t height = m->b->places[sw].height;

	cfg.n_branches = g->n_branches;
	cfg.is_first = g->is_first;
	/* All count the same passes: an edge must give up a receiver before whoever is above gives
	 * up the edge. */
	cfg.silent_after =
		(uint8_t)(silent + SILENT_STEP * height < UINT8_MAX ? silent + SILENT_STEP * height
								    : UINT8_MAX);
	mt_group_index(g);
	mt_merge_init(&g->merge, &cfg, g->merge.branches);
	for (uint32_t i = 0; i < g->n_branches; i++)
		mt_merge_join(&g->merge, i);
	/* The node, and its groups so far, are right. */
	const char *fault = mt_group_fault(&m->g->nodes[sw].mt, g);

	if (fault)
		return sentence(-EINVAL, m->error, m->error_len, "multicast group %u: %s",
				m->number, fault);
	return 0;
}

static int plant(struct making *m)
{
	const struct groups_builder *b = m->b;
	int rc = grow_tree(m);

	if (rc == 0)
		rc = make_wrap(m);
	for (uint32_t i = 0; rc == 0 && i < b->n_order; i++)
		rc = make_group(m, b->order[i]);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < b->n_order; i++)
		if (b->order[i] != m->headend)
			add_child(m, b->order[i]);
	for (uint32_t i = 0; i < m->one->n_receivers; i++)
		add_receiver(m, &m->one->receivers[i]);
	for (uint32_t i = 0; rc == 0 && i < b->n_order; i++)
		rc = start(m, b->order[i]);
	return rc;
}

int groups_add(struct sim_groups *g, const struct groups_one *one, char *error, size_t error_len)
{
	struct making m = {
		.g = g,
		.b = g->builder,
		.one = one,
		.number = g->builder->n_groups,
		.error = error,
		.error_len = error_len,
	};
	int rc = check(&m);

	if (rc != 0)
		return rc;
	m.headend = leaf_of(&m, &one->source);
	routing_address(m.b->r, topology_of(&m)->n_hosts + m.number, m.plane, m.proxy);
	routing_address(m.b->r, one->source.host, m.plane, m.source);
	rc = plant(&m);
	fell_tree(m.b);
	if (rc != 0)
		return rc;
	m.b->qpns[m.b->n_groups++] = one->source.qpn;
	return (int)m.number;
}
