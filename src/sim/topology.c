#include "sim/topology.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sentence.h"
#include "sim/wiring.h"

int wiring_begin(struct wiring *w, struct topology *t)
{
	uint32_t n = 0;

	*w = (struct wiring){.topology = t};
	w->next = calloc(t->n_nodes + 1u, sizeof *w->next);
	if (!w->next)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		t->nodes[i].first_port = w->next[i] = n;
		n += t->nodes[i].n_ports;
	}
	t->n_ports = n;
	t->ports = calloc(n + 1u, sizeof *t->ports);
	return t->ports ? 0 : -ENOMEM;
}

/* Hosts stand below every tier. */
static int32_t height(const struct topology_node *n)
{
	return n->is_host ? -1 : n->tier;
}

void wiring_join(struct wiring *w, const struct wiring_link *l)
{
	const uint32_t ends[2] = {l->a, l->b};
	struct topology *t = w->topology;
	uint32_t ports[2];

	for (uint32_t i = 0; i < 2; i++) {
		const struct topology_node *n = &t->nodes[ends[i]];

		ports[i] = w->next[ends[i]]++;
		assert(ports[i] < n->first_port + n->n_ports);
	}
	for (uint32_t i = 0; i < 2; i++)
		t->ports[ports[i]] = (struct topology_port){
			.node = ends[i],
			.peer = ports[1 - i],
			.rate_bps = l->link.rate_bps,
			.delay_ps = l->link.delay_ps,
			.buffer_bytes = l->link.buffer_bytes,
			.plane = l->plane,
			.is_up = height(&t->nodes[ends[1 - i]]) > height(&t->nodes[ends[i]]),
		};
}

int wiring_number(struct wiring *w)
{
	struct topology *t = w->topology;
	struct seen {
		uint32_t by, n;
	} *seen = calloc(t->n_nodes + 1u, sizeof *seen);

	if (!seen)
		return -ENOMEM;
	for (uint32_t p = 0; p < t->n_ports; p++) {
		struct topology_port *port = &t->ports[p];
		struct seen *peer = &seen[t->ports[port->peer].node];

		if (peer->by != port->node + 1)
			*peer = (struct seen){.by = port->node + 1};
		port->parallel = (uint16_t)peer->n++;
	}
	free(seen);
	return 0;
}

void wiring_end(struct wiring *w)
{
	free(w->next);
	w->next = NULL;
}

/* A regular fabric in numbers. Leaf and spine are the fat tree of one pod that has no cores. */
struct plan {
	uint64_t pods, leaves_per_pod, cores;
	uint64_t leaves, spines;               /* per plane */
	uint64_t lanes;                        /* ports of a host in one plane */
	uint64_t leaf_ports, spine_ports, ups; /* ups: links of a spine to cores */
};

struct need {
	const char *name;
	uint64_t value;
};

static int check_needs(const struct need *needs, uint32_t n, char *error, size_t error_len)
{
	for (uint32_t i = 0; i < n; i++)
		if (needs[i].value == 0)
			return sentence(-EINVAL, error, error_len, "%s must be positive",
					needs[i].name);
	return 0;
}

static int check_cfg(const struct topology_cfg *cfg, char *error, size_t error_len)
{
	const struct need needs[] = {
		{"hosts", cfg->hosts},
		{"planes", cfg->planes},
		{"nic_ports", cfg->nic_ports},
		{"rate of host links", cfg->links[0].rate_bps},
		{"hosts_per_leaf", cfg->hosts_per_leaf},
		{"spines", cfg->spines},
		{"uplinks", cfg->uplinks},
		{"rate of leaf links", cfg->links[1].rate_bps},
		{"leaves_per_pod", cfg->leaves_per_pod},
		{"cores", cfg->cores},
		{"rate of spine links", cfg->links[2].rate_bps},
	};
	static const uint32_t n_needs[] = {
		[TOPOLOGY_WIRE] = 4,
		[TOPOLOGY_LEAF_SPINE] = 8,
		[TOPOLOGY_FAT_TREE] = 11,
	};

	if ((uint32_t)cfg->kind > TOPOLOGY_FAT_TREE)
		return sentence(-EINVAL, error, error_len, "kind: %u is none of the three",
				(unsigned)cfg->kind);
	if (check_needs(needs, n_needs[cfg->kind], error, error_len) != 0)
		return -EINVAL;
	if (cfg->planes > TOPOLOGY_PLANES)
		return sentence(-EINVAL, error, error_len, "planes: %u are more than %u",
				cfg->planes, TOPOLOGY_PLANES);
	if (cfg->nic_ports % cfg->planes != 0)
		return sentence(-EINVAL, error, error_len,
				"planes: %u does not divide nic_ports: %u", cfg->planes,
				cfg->nic_ports);
	if (cfg->nic_ports > WIRING_NODE_PORTS_MAX)
		return sentence(-EINVAL, error, error_len, "nic_ports: %u are more than %u",
				cfg->nic_ports, WIRING_NODE_PORTS_MAX);
	if (cfg->hosts > TOPOLOGY_HOSTS)
		return sentence(-EINVAL, error, error_len, "hosts: %u are more than %u", cfg->hosts,
				TOPOLOGY_HOSTS);
	if (cfg->kind == TOPOLOGY_WIRE && cfg->hosts != 2)
		return sentence(-EINVAL, error, error_len, "hosts: %u, but a wire joins 2",
				cfg->hosts);
	return 0;
}

static int check_shape(const struct topology_cfg *cfg, char *error, size_t error_len)
{
	if (cfg->hosts % cfg->hosts_per_leaf != 0)
		return sentence(-EINVAL, error, error_len,
				"hosts: %u is not a multiple of hosts_per_leaf: %u", cfg->hosts,
				cfg->hosts_per_leaf);
	if (cfg->kind != TOPOLOGY_FAT_TREE)
		return 0;
	if (cfg->hosts / cfg->hosts_per_leaf % cfg->leaves_per_pod != 0)
		return sentence(-EINVAL, error, error_len,
				"leaves_per_pod: %u does not divide the %u leaves",
				cfg->leaves_per_pod, cfg->hosts / cfg->hosts_per_leaf);
	if (cfg->cores % cfg->spines != 0)
		return sentence(-EINVAL, error, error_len,
				"cores: %u is not a multiple of spines: %u", cfg->cores,
				cfg->spines);
	return 0;
}

static int check_size(const struct topology_cfg *cfg, const struct plan *p, char *error,
		      size_t error_len)
{
	const struct need ports[] = {
		{"hosts_per_leaf and spines: a leaf", p->leaf_ports},
		{"hosts, cores and uplinks: a spine", p->spine_ports},
		{"pods: a core", p->cores > 0 ? p->pods : 0},
	};

	for (uint32_t i = 0; i < 3; i++)
		if (ports[i].value > WIRING_NODE_PORTS_MAX)
			return sentence(-EINVAL, error, error_len,
					"%s would have %llu ports, at most %u", ports[i].name,
					(unsigned long long)ports[i].value, WIRING_NODE_PORTS_MAX);
	uint64_t links = p->leaves * cfg->spines * cfg->uplinks + p->spines * p->ups;
	uint64_t n = 2 * (links * cfg->planes + (uint64_t)cfg->hosts * cfg->nic_ports);

	if (n > WIRING_PORTS_MAX)
		return sentence(-EINVAL, error, error_len,
				"hosts, spines and planes: %llu ports are more than %llu",
				(unsigned long long)n, (unsigned long long)WIRING_PORTS_MAX);
	return 0;
}

static int make_plan(const struct topology_cfg *cfg, struct plan *p, char *error, size_t error_len)
{
	*p = (struct plan){.lanes = 0};
	if (check_cfg(cfg, error, error_len) != 0)
		return -EINVAL;
	p->lanes = cfg->nic_ports / cfg->planes;
	if (cfg->kind == TOPOLOGY_WIRE)
		return 0;
	if (check_shape(cfg, error, error_len) != 0)
		return -EINVAL;
	p->leaves = cfg->hosts / cfg->hosts_per_leaf;
	p->leaves_per_pod = p->leaves;
	p->pods = 1;
	if (cfg->kind == TOPOLOGY_FAT_TREE) {
		p->leaves_per_pod = cfg->leaves_per_pod;
		p->pods = p->leaves / p->leaves_per_pod;
		p->cores = cfg->cores;
	}
	p->spines = p->pods * cfg->spines;
	p->ups = p->cores / cfg->spines;
	p->leaf_ports = cfg->hosts_per_leaf * p->lanes + (uint64_t)cfg->spines * cfg->uplinks;
	p->spine_ports = p->leaves_per_pod * cfg->uplinks + p->ups;
	return check_size(cfg, p, error, error_len);
}

static void put_switches(struct topology *t, uint32_t n, const struct topology_node *like,
			 uint32_t *at)
{
	static const char *const names[TOPOLOGY_TIERS] = {"leaf", "spine", "core"};

	for (uint32_t i = 0; i < n; i++, ++*at) {
		t->nodes[*at] = *like;
		t->nodes[*at].index = i;
		if (t->n_planes > 1)
			snprintf(t->labels[*at], TOPOLOGY_NAME_MAX, "p%u.%s%u", like->plane,
				 names[like->tier], i);
		else
			snprintf(t->labels[*at], TOPOLOGY_NAME_MAX, "%s%u", names[like->tier], i);
	}
}

static void put_nodes(struct topology *t, const struct topology_cfg *cfg, const struct plan *p)
{
	const struct {
		uint64_t nodes, ports;
	} tiers[TOPOLOGY_TIERS] = {
		{p->leaves, p->leaf_ports}, {p->spines, p->spine_ports}, {p->cores, p->pods}};
	uint32_t at = cfg->hosts;

	for (uint32_t h = 0; h < cfg->hosts; h++) {
		t->nodes[h] = (struct topology_node){
			.is_host = 1, .index = h, .n_ports = (uint16_t)cfg->nic_ports};
		snprintf(t->labels[h], TOPOLOGY_NAME_MAX, "h%u", h);
	}
	for (uint8_t plane = 0; plane < cfg->planes; plane++)
		for (uint8_t tier = 0; tier < TOPOLOGY_TIERS; tier++)
			put_switches(t, (uint32_t)tiers[tier].nodes,
				     &(struct topology_node){
					     .tier = tier,
					     .plane = plane,
					     .n_ports = (uint16_t)tiers[tier].ports,
				     },
				     &at);
}

/* Host by host and port by port, so that port p of a host is its p-th. */
static void join_hosts(struct wiring *w, const struct topology_cfg *cfg, const struct plan *p)
{
	uint32_t per_plane = (uint32_t)(p->leaves + p->spines + p->cores);

	for (uint32_t h = 0; h < cfg->hosts; h++)
		for (uint32_t i = 0; i < cfg->nic_ports; i++) {
			uint32_t plane = i / (uint32_t)p->lanes;
			uint32_t leaf = cfg->hosts + plane * per_plane + h / cfg->hosts_per_leaf;

			wiring_join(w,
				    &(struct wiring_link){h, leaf, (uint8_t)plane, cfg->links[0]});
		}
}

static void join_plane(struct wiring *w, const struct topology_cfg *cfg, const struct plan *p,
		       uint8_t plane)
{
	uint32_t per_plane = (uint32_t)(p->leaves + p->spines + p->cores);
	uint32_t leaf0 = cfg->hosts + plane * per_plane;
	uint32_t spine0 = leaf0 + (uint32_t)p->leaves, core0 = spine0 + (uint32_t)p->spines;
	uint32_t ups = (uint32_t)p->ups;

	for (uint32_t l = 0; l < p->leaves; l++) {
		uint32_t pod = l / (uint32_t)p->leaves_per_pod;

		for (uint32_t i = 0; i < cfg->spines * cfg->uplinks; i++) {
			uint32_t s = pod * cfg->spines + i / cfg->uplinks;

			wiring_join(w, &(struct wiring_link){leaf0 + l, spine0 + s, plane,
							     cfg->links[1]});
		}
	}
	for (uint32_t s = 0; s < p->spines; s++)
		for (uint32_t i = 0; i < ups; i++) {
			uint32_t c = s % cfg->spines * ups + i;

			wiring_join(w, &(struct wiring_link){spine0 + s, core0 + c, plane,
							     cfg->links[2]});
		}
}

static int join_all(struct topology *t, const struct topology_cfg *cfg, const struct plan *p)
{
	struct wiring w;
	int rc = wiring_begin(&w, t);

	if (rc != 0)
		goto out;
	if (cfg->kind == TOPOLOGY_WIRE) {
		for (uint32_t i = 0; i < cfg->nic_ports; i++)
			wiring_join(&w, &(struct wiring_link){0, 1, (uint8_t)(i / p->lanes),
							      cfg->links[0]});
	} else {
		join_hosts(&w, cfg, p);
		for (uint8_t plane = 0; plane < cfg->planes; plane++)
			join_plane(&w, cfg, p, plane);
	}
	rc = wiring_number(&w);
out:
	wiring_end(&w);
	return rc;
}

int topology_build(struct topology *t, const struct topology_cfg *cfg, char *error,
		   size_t error_len)
{
	static const uint8_t n_tiers[] = {
		[TOPOLOGY_WIRE] = 0, [TOPOLOGY_LEAF_SPINE] = 2, [TOPOLOGY_FAT_TREE] = 3};
	struct plan p;

	memset(t, 0, sizeof *t);
	if (make_plan(cfg, &p, error, error_len) != 0)
		return -EINVAL;
	t->n_hosts = cfg->hosts;
	t->n_nodes = cfg->hosts + cfg->planes * (uint32_t)(p.leaves + p.spines + p.cores);
	t->n_planes = (uint8_t)cfg->planes;
	t->n_tiers = n_tiers[cfg->kind];
	t->switch_delay_ps = cfg->switch_delay_ps;
	assert(t->n_nodes > 0);
	t->nodes = calloc(t->n_nodes, sizeof *t->nodes);
	t->labels = calloc(t->n_nodes, sizeof *t->labels);
	if (t->nodes && t->labels) {
		put_nodes(t, cfg, &p);
		if (join_all(t, cfg, &p) == 0)
			return 0;
	}
	topology_fini(t);
	return sentence(-ENOMEM, error, error_len, "out of memory");
}

void topology_fini(struct topology *t)
{
	free(t->nodes);
	free(t->ports);
	free(t->labels);
	memset(t, 0, sizeof *t);
}
