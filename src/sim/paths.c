#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prng.h"
#include "sim/routing.h"
#include "sim/tables.h"

/* Two containers of seven. */
#define SEGMENTS_MAX 14u

#define PROXY_PREFIX UINT64_C(0xfd00000100000000)
#define NODE_PREFIX  UINT64_C(0xfd00000200000000)

uint32_t routing_block(const struct routing *r)
{
	return r->cfg.format == FWD_F3216 ? UINT32_C(0xfcbbbb00) : 0xfcbb;
}

/* The first half of a host's address: fd00:0:PLANE:LEAF. */
static uint64_t address_prefix(const struct routing *r, uint32_t host, uint32_t plane)
{
	uint32_t leaf = routing_place(r, host, plane)->leaf, number = UINT16_MAX;

	/* Where there are switches, a host without one gets the number no leaf has. */
	if (r->topology->n_tiers == 0)
		number = 0;
	else if (leaf != ROUTING_NONE)
		number = routing_tables(r)->leaf_numbers[leaf];
	return UINT64_C(0xfd00) << 48 | (uint64_t)plane << 16 | number;
}

/* Whether a number beyond the hosts stands for a multicast group. */
static bool is_group(const struct routing *r, uint32_t number)
{
	return number >= r->topology->n_hosts && number - r->topology->n_hosts < r->cfg.max_groups;
}

void routing_address(const struct routing *r, uint32_t host, uint32_t plane, uint8_t address[16])
{
	bool is_proxy = is_group(r, host);

	put_be64(address, is_proxy ? PROXY_PREFIX : address_prefix(r, host, plane));
	put_be64(address + 8, host - (is_proxy ? r->topology->n_hosts : 0) + UINT64_C(1));
}

/* The same for what is no host's. */
static uint32_t group_of(const struct routing *r, uint64_t prefix, uint64_t number)
{
	if (prefix != PROXY_PREFIX || number >= r->cfg.max_groups)
		return UINT32_MAX;
	return r->topology->n_hosts + (uint32_t)number;
}

uint32_t routing_host_of(const struct routing *r, const uint8_t address[16])
{
	uint64_t prefix = get_be64(address), host = get_be64(address + 8) - 1;
	uint32_t plane = prefix >> 16 & 0xffff;

	if (host >= r->topology->n_hosts || plane >= r->topology->n_planes ||
	    prefix != address_prefix(r, (uint32_t)host, plane))
		return group_of(r, prefix, host);
	return (uint32_t)host;
}

void routing_node_address(uint32_t sw, uint16_t which, uint8_t address[16])
{
	put_be64(address, NODE_PREFIX | (sw + UINT64_C(1)));
	put_be64(address + 8, which);
}

int routing_add_proxy(struct routing *r, uint32_t sw, uint32_t group)
{
	struct fwd_prefix proxy = {.len = 128};

	if (group >= r->cfg.max_groups)
		return -ENOSPC;
	routing_address(r, r->topology->n_hosts + group, 0, proxy.address);
	return fwd_routes_add(&r->switches[sw].routes, &proxy, FWD_MULTICAST);
}

/* A packet on its way from src to dst; the path's number is spent choice by choice. */
struct walk {
	const struct routing *r;
	const struct routing_place *to; /* NULL: dst is at the other end of the first link */
	uint8_t address[16];
	uint32_t port;    /* it leaves by this one */
	uint32_t choices; /* which was one of so many */
	uint32_t rest;    /* of the path's number */
	uint32_t edge;    /* which of the ports between the last switch and dst */
};

/* The switch at the other end of a port, or ROUTING_NONE for a host. */
static uint32_t switch_behind(const struct topology *t, uint32_t port)
{
	uint32_t node = t->ports[t->ports[port].peer].node;

	return node < t->n_hosts ? ROUTING_NONE : node - t->n_hosts;
}

/* Shortest paths from a switch to a leaf of its plane; 0: none. */
static uint32_t paths_entry(const struct routing *r, uint32_t sw, uint32_t leaf)
{
	const struct routing_tables *x = routing_tables(r);
	const struct routing_plane *p =
		&x->planes[r->topology->nodes[r->topology->n_hosts + sw].plane];

	return p->n_paths[(size_t)x->leaf_numbers[leaf] * p->n_switches + x->numbers[sw]];
}

static uint32_t paths_of(const struct routing *r, uint32_t sw, uint32_t leaf)
{
	return paths_entry(r, sw, leaf) & ROUTING_PATHS_MAX;
}

/* Starts with src's own port; returns how many paths there are, 0 when dst cannot be reached. */
static uint32_t start(struct walk *w, const struct routing *r, uint32_t src, uint32_t src_port,
		      uint32_t dst)
{
	const struct topology *t = r->topology;

	assert(src < t->n_hosts && dst < t->n_hosts && src_port < t->nodes[src].n_ports);
	*w = (struct walk){.r = r, .port = t->nodes[src].first_port + src_port, .choices = 1};
	uint32_t plane = t->ports[w->port].plane, sw = switch_behind(t, w->port);

	if (sw == ROUTING_NONE)
		return t->ports[t->ports[w->port].peer].node == dst;
	w->to = routing_place(r, dst, plane);
	if (w->to->leaf == ROUTING_NONE)
		return 0;
	routing_address(r, dst, plane, w->address);
	uint64_t n =
		(uint64_t)paths_of(r, sw, w->to->leaf) * routing_tables(r)->groups[w->to->edge].n;

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void choose_path(struct walk *w, uint32_t path)
{
	if (!w->to)
		return;
	uint32_t n = paths_of(w->r, switch_behind(w->r->topology, w->port), w->to->leaf);

	w->rest = path % n;
	w->edge = path / n % routing_tables(w->r)->groups[w->to->edge].n;
}

/* Takes the digit of this switch from the path's number. Where every choice leads to equally many
 * paths the first switch has the lowest digit: consecutive numbers take different paths at once. */
static uint32_t take_digit(struct walk *w, const struct fwd_switch *sw, const struct fwd_group *g,
			   uint32_t number)
{
	const struct topology *t = w->r->topology;
	uint32_t first = t->nodes[t->n_hosts + number].first_port, i = 0;

	if (!(paths_entry(w->r, number, w->to->leaf) & ROUTING_PATHS_UNEVEN)) {
		i = w->rest % g->n;
		w->rest /= g->n;
		return i;
	}
	for (; i + 1u < g->n; i++) {
		uint32_t port = first + sw->members[g->first + i];
		uint32_t n = paths_of(w->r, switch_behind(t, port), w->to->leaf);

		if (w->rest < n)
			break;
		w->rest -= n;
	}
	return i;
}

/* Moves on to the port by which the next switch sends the packet; false: the next node is dst. */
static bool step(struct walk *w)
{
	const struct topology *t = w->r->topology;
	uint32_t number = switch_behind(t, w->port), member = w->edge;

	if (number == ROUTING_NONE)
		return false;
	const struct fwd_switch *sw = &w->r->switches[number];
	uint32_t group = w->to->edge;

	if (number != w->to->leaf)
		group = fwd_routes_find(&sw->routes, w->address);
	assert(group != FWD_ROUTE_NONE);
	const struct fwd_group *g = &sw->groups[group];

	if (number != w->to->leaf)
		member = take_digit(w, sw, g, number);
	w->port = t->nodes[t->n_hosts + number].first_port + sw->members[g->first + member];
	w->choices = g->n;
	return true;
}

bool routing_reaches(const struct routing *r, uint32_t src, uint32_t src_port, uint32_t dst)
{
	struct walk w;

	return start(&w, r, src, src_port, dst) > 0;
}

uint32_t routing_n_paths(const struct routing *r, uint32_t src, uint32_t src_port, uint32_t dst)
{
	struct walk w;

	if (is_group(r, dst))
		return 1;
	uint32_t n = start(&w, r, src, src_port, dst);

	return n > 0 ? n : 1;
}

uint32_t routing_hops(const struct routing *r, uint32_t src, uint32_t src_port, uint32_t dst,
		      uint32_t path, uint32_t *ports, uint32_t max)
{
	struct walk w;
	uint32_t n_paths = start(&w, r, src, src_port, dst), n = 0;

	if (n_paths == 0)
		return 0;
	choose_path(&w, path % n_paths);
	do {
		if (n == max)
			break;
		ports[n++] = w.port;
	} while (step(&w));
	return n;
}

struct hop {
	uint32_t sw, port; /* port: number at the switch */
	uint32_t choices;
};

/* One uSID for each switch, and one for the host where it decapsulates. A port's uSID means
 * something at its own switch only: the packet must come there over a link that a uSID of a port
 * named, not by a route. So once a switch has its port named, all before it have. */
static uint32_t name_hops(const struct routing *r, const struct routing_place *to,
			  const struct hop *hops, uint32_t n, uint16_t *usids)
{
	const struct routing_tables *x = routing_tables(r);
	bool by_port = false;

	for (uint32_t i = n; i-- > 0;) {
		bool decaps = i + 1 == n && r->cfg.decap == ROUTING_DECAP_LEAF;

		by_port |= r->cfg.uses_adjacency && hops[i].choices > 1;
		if (by_port)
			usids[i] = (uint16_t)(x->usid_port + hops[i].port);
		else
			usids[i] = (uint16_t)((decaps ? x->usid_decap : 1) + hops[i].sw);
	}
	if (r->cfg.decap == ROUTING_DECAP_HOST)
		usids[n++] = (uint16_t)(x->usid_host + to->slot);
	return n;
}

static void put_containers(const struct routing *r, const uint16_t *usids, uint32_t n,
			   struct routing_path *out)
{
	uint32_t half = r->cfg.mode == ROUTING_USID_SRH ? (n + 1) / 2 : n;

	out->n_segments = n > half ? 2 : 1;
	fwd_container_put(out->container[0], routing_block(r), r->cfg.format, usids, half);
	if (n > half)
		fwd_container_put(out->container[1], routing_block(r), r->cfg.format, usids + half,
				  n - half);
}

void routing_path(const struct routing *r, uint32_t src, uint32_t src_port, uint32_t dst,
		  uint32_t path, struct routing_path *out)
{
	const struct topology *t = r->topology;
	uint32_t n_paths, n = 0;
	uint16_t usids[SEGMENTS_MAX];
	struct hop hops[SEGMENTS_MAX];
	struct walk w;

	memset(out, 0, sizeof *out);
	if (!routing_is_srv6(r))
		return;
	n_paths = start(&w, r, src, src_port, dst);
	if (n_paths == 0 || !w.to)
		return;
	choose_path(&w, path % n_paths);
	while (step(&w)) {
		const struct topology_node *node = &t->nodes[t->ports[w.port].node];

		assert(n < SEGMENTS_MAX);
		hops[n++] = (struct hop){t->ports[w.port].node - t->n_hosts,
					 w.port - node->first_port, w.choices};
	}
	put_containers(r, usids, name_hops(r, w.to, hops, n, usids), out);
}

uint64_t routing_walk(const struct routing *r, uint32_t port, uint8_t *headers, uint32_t len)
{
	const struct topology *t = r->topology;
	struct fwd_frame f = {headers, len, len};
	uint64_t hops = 0;

	for (uint32_t bits = 0;; bits += ROUTING_HOP_BITS) {
		uint32_t node = t->ports[t->ports[port].peer].node;

		if (node < t->n_hosts)
			return hops;
		const struct fwd_switch *sw = &r->switches[node - t->n_hosts];
		struct fwd_view view;

		if (sw->sids.n > 0 || bits + ROUTING_HOP_BITS > 64 ||
		    sw->n_ports >= 1u << ROUTING_HOP_BITS)
			return 0;
		struct fwd_verdict verdict = fwd_switch_forward(sw, &f, &view);

		if (verdict.drop != FWD_DROP_NONE || verdict.local || verdict.multicast ||
		    view.version != 6)
			return 0;
		hops |= (uint64_t)(verdict.port + 1u) << bits;
		port = t->nodes[node].first_port + verdict.port;
	}
}

/* Every field counts up, the first the fastest: all legal values come before one comes again. */
static uint32_t structured_ev(const struct routing *r, uint64_t start_at, uint32_t i)
{
	const struct routing_tables *x = routing_tables(r);
	uint32_t values[FWD_EV_HOPS_MAX] = {0};
	uint64_t total = 1, rest;

	for (uint32_t tier = 0; tier < TOPOLOGY_TIERS; tier++)
		total *= x->ev_choices[tier];
	rest = start_at % total + i;
	for (uint32_t tier = 0; tier < TOPOLOGY_TIERS; tier++) {
		values[tier] = (uint32_t)(rest % x->ev_choices[tier]);
		rest /= x->ev_choices[tier];
	}
	return fwd_ev_make(&r->cfg.ev_layout, values);
}

uint32_t routing_entropy(const struct routing *r, uint64_t seed, uint32_t i)
{
	uint64_t state = seed, drawn = prng_splitmix64(&state);

	switch (r->cfg.mode) {
	case ROUTING_STRUCTURED: return structured_ev(r, drawn, i);
	case ROUTING_USID:
	case ROUTING_USID_SRH: return (uint32_t)(drawn >> 48) + i;
	case ROUTING_ECMP: break;
	}
	/* From a drawn number on, so that neighbouring seeds do not count through the same states.
	 */
	state = drawn + i;
	drawn = prng_splitmix64(&state);
	return UINT32_C(0xc0000000) | (uint32_t)(drawn >> 34);
}
