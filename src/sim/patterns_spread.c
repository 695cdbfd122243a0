/* The same bytes from one host to many, and from each of many to all others.
 *
 * One broadcast is a tree of places: the root is place 0, place v gets the bytes from place
 * up(v) < v. Unicast, ring and tree differ in up() alone. Each edge has a flow for each chunk; it
 * waits for the same chunk at its source. An all-gather is a broadcast by each member in turn, with
 * the places moved around the circle of members. Where the network copies the bytes, a broadcast is
 * one flow to a group: there are two places, and all receivers share the second. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sim/patterns.h"

/* The broadcasts of a workload, one after another: number i is the one of member i % roots. Flows
 * are numbered by broadcast, chunk, place. */
struct spread {
	const struct workload_cfg *cfg;
	uint32_t members, places, roots;
	uint32_t n;         /* broadcasts */
	uint32_t at_a_time; /* the others wait until the one so many before is everywhere */
	uint32_t chunks;
	uint64_t chunk_bytes;
	uint32_t base;        /* the first flow */
	uint32_t first_group; /* of the roots, where there are groups */
};

static uint32_t up(const struct spread *s, uint32_t place)
{
	if (s->cfg->by == WORKLOAD_BY_RING)
		return place - 1;
	return s->cfg->by == WORKLOAD_BY_TREE ? (place - 1) / 2 : 0;
}

/* The first place that gets the bytes from this one; others of the same source follow it. */
static uint32_t first_below(const struct spread *s, uint32_t place)
{
	if (s->cfg->by == WORKLOAD_BY_RING)
		return place + 1;
	if (s->cfg->by == WORKLOAD_BY_TREE)
		return place < s->places / 2 ? 2 * place + 1 : s->places;
	return place == 0 ? 1 : s->places;
}

/* The place next to the root on the way to this one. */
static uint32_t below_root(const struct spread *s, uint32_t place)
{
	if (s->cfg->by == WORKLOAD_BY_RING)
		return 1;
	while (up(s, place) > 0)
		place = up(s, place);
	return place;
}

/* The host at a place, as if each member had its own. */
static uint32_t host_at(const struct spread *s, uint32_t broadcast, uint32_t place)
{
	if (s->cfg->kind == WORKLOAD_BROADCAST)
		return (s->cfg->src + place) % s->cfg->hosts;
	return (broadcast % s->roots + place) % s->members;
}

static uint32_t flow_at(const struct spread *s, uint32_t broadcast, uint32_t chunk, uint32_t place)
{
	return s->base + (broadcast * s->chunks + chunk) * (s->places - 1) + place - 1;
}

/* Hosts that pass bytes on need not have all of them before they begin. */
static bool has_chunks(const struct workload_cfg *cfg)
{
	return (cfg->by == WORKLOAD_BY_RING || cfg->by == WORKLOAD_BY_TREE) && cfg->chunk_bytes > 0;
}

static struct spread spread_of(const struct workload_cfg *cfg, uint32_t base)
{
	const bool is_one = cfg->kind == WORKLOAD_BROADCAST;
	const uint32_t n = pattern_members(cfg);
	uint64_t chunk =
		has_chunks(cfg) && cfg->chunk_bytes < cfg->bytes ? cfg->chunk_bytes : cfg->bytes;
	struct spread s = {
		.cfg = cfg,
		.members = n,
		.places = cfg->by == WORKLOAD_BY_GROUP ? 2 : n,
		.roots = is_one ? 1 : n,
		.chunk_bytes = chunk,
		.chunks = (uint32_t)((cfg->bytes + chunk - 1) / chunk),
		.base = base,
	};

	assert(n > 0);
	s.n = s.roots * cfg->repeat;
	s.at_a_time = cfg->at_a_time > 0 && cfg->at_a_time < s.roots ? cfg->at_a_time : s.roots;
	return s;
}

static int spread_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e)
{
	uint64_t n = pattern_members(cfg);
	uint64_t roots = cfg->kind == WORKLOAD_BROADCAST ? 1 : n;
	int error = pattern_check_members(cfg, e);

	if (error)
		return error;
	if (cfg->repeat > 1 && cfg->gap_ps > 0)
		return pattern_refuse(e, "gap: broadcast and all-gather repeat without one");
	if (has_chunks(cfg) && cfg->bytes / cfg->chunk_bytes >= WORKLOAD_FLOWS_MAX)
		return pattern_refuse(e, "chunk: more than %" PRIu32 " of them",
				      WORKLOAD_FLOWS_MAX);
	struct spread s = spread_of(cfg, 0);

	*flows = pattern_times(pattern_times(roots * (s.places - 1), cfg->repeat), s.chunks);
	return pattern_check_message(cfg, s.chunk_bytes, e);
}

/* A group for each root. */
static int add_groups(struct workload *w, const struct spread *s)
{
	uint32_t *hosts = malloc(s->members * sizeof *hosts);
	int error = hosts ? 0 : -ENOMEM;

	for (uint32_t root = 0; !error && root < s->roots; root++) {
		for (uint32_t v = 1; v < s->members; v++)
			hosts[v - 1] = host_at(s, root, v);
		if (workload_add_group(w, host_at(s, root, 0), hosts, s->members - 1) == UINT32_MAX)
			error = -ENOMEM;
	}
	free(hosts);
	return error;
}

static int add_flows(struct workload *w, const struct spread *s, uint32_t broadcast)
{
	uint64_t rest = s->cfg->bytes - (s->chunks - 1) * s->chunk_bytes;
	int error = 0;

	for (uint32_t chunk = 0; !error && chunk < s->chunks; chunk++) {
		for (uint32_t v = 1; !error && v < s->places; v++) {
			struct workload_flow flow = pattern_flow(s->cfg, w, broadcast);

			flow.src = host_at(s, broadcast, up(s, v));
			flow.dst = host_at(s, broadcast, v);
			flow.bytes = chunk + 1 < s->chunks ? s->chunk_bytes : rest;
			flow.repeat = 1;
			if (s->cfg->by == WORKLOAD_BY_GROUP)
				flow.group = s->first_group + broadcast % s->roots + 1;
			error = pattern_add(w, &flow);
		}
	}
	return error;
}

/* Those that wait for a chunk at a place: whom it passes it on to; and where nobody is below and
 * the chunk is the last, all of a later broadcast that begins on the same side of its root. */
static int add_waits(struct workload *w, const struct spread *s, uint32_t broadcast, uint32_t chunk,
		     uint32_t place)
{
	uint32_t flow = flow_at(s, broadcast, chunk, place), first = first_below(s, place);
	uint32_t later = broadcast + s->at_a_time;
	int error = 0;

	for (uint32_t v = first; !error && v < s->places && up(s, v) == place; v++)
		error = workload_wait(w, flow, flow_at(s, broadcast, chunk, v));
	if (first < s->places || chunk + 1 < s->chunks || later >= s->n)
		return error;
	for (uint32_t c = 0; !error && c < s->chunks; c++)
		error = workload_wait(w, flow, flow_at(s, later, c, below_root(s, place)));
	return error;
}

static int spread_make(struct workload *w, const struct workload_cfg *cfg)
{
	struct spread s = spread_of(cfg, w->n);
	int error = 0;

	s.first_group = w->n_groups;
	if (cfg->by == WORKLOAD_BY_GROUP)
		error = add_groups(w, &s);
	for (uint32_t i = 0; !error && i < s.n; i++)
		error = add_flows(w, &s, i);
	for (uint32_t i = 0; !error && i < s.n; i++)
		for (uint32_t chunk = 0; !error && chunk < s.chunks; chunk++)
			for (uint32_t v = 1; !error && v < s.places; v++)
				error = add_waits(w, &s, i, chunk, v);
	return error;
}

int broadcast_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e)
{
	if (cfg->src >= cfg->hosts)
		return pattern_refuse(e, "src: host %" PRIu32 " of %" PRIu32 ", counted from 0",
				      cfg->src, cfg->hosts);
	return spread_check(cfg, flows, e);
}

int broadcast_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		   struct pattern_error *e)
{
	(void)seed;
	(void)e;
	return spread_make(w, cfg);
}

int all_gather_check(const struct workload_cfg *cfg, uint64_t *flows, struct pattern_error *e)
{
	return spread_check(cfg, flows, e);
}

int all_gather_make(struct workload *w, const struct workload_cfg *cfg, uint64_t seed,
		    struct pattern_error *e)
{
	(void)seed;
	(void)e;
	return spread_make(w, cfg);
}
