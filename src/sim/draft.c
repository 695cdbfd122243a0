#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sentence.h"
#include "sim/topology.h"
#include "sim/wiring.h"

/* A name is found by open addressing; at most half of the slots are in use. */
struct topology_draft {
	struct topology_node *nodes;
	char (*labels)[TOPOLOGY_NAME_MAX];
	struct wiring_link *links;
	uint32_t *slots; /* node + 1, 0: free */
	uint32_t n_nodes, max_nodes, n_hosts, n_links, max_links, mask;
	uint32_t counts[TOPOLOGY_TIERS][TOPOLOGY_PLANES]; /* switches so far */
};

struct topology_draft *topology_begin(void)
{
	return calloc(1, sizeof(struct topology_draft));
}

void topology_discard(struct topology_draft *d)
{
	if (!d)
		return;
	free(d->nodes);
	free(d->labels);
	free(d->links);
	free(d->slots);
	free(d);
}

/* FNV-1a */
static uint32_t hash_name(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return h;
}

/* The slot of that name, or the free one where it would go. There are slots. */
static uint32_t *slot_of(const struct topology_draft *d, const char *name)
{
	uint32_t at = hash_name(name) & d->mask;

	while (d->slots[at] && strcmp(d->labels[d->slots[at] - 1], name) != 0)
		at = (at + 1) & d->mask;
	return &d->slots[at];
}

/* Makes room for one more node. False: out of memory, nothing changed that shows. */
static bool grow_nodes(struct topology_draft *d)
{
	if (d->n_nodes < d->max_nodes)
		return true;
	uint32_t max = d->max_nodes ? 2 * d->max_nodes : 64;
	void *nodes = realloc(d->nodes, max * sizeof *d->nodes);

	if (nodes)
		d->nodes = nodes;
	void *labels = realloc(d->labels, max * sizeof *d->labels);

	if (labels)
		d->labels = labels;
	uint32_t *slots = calloc(2u * max, sizeof *slots);

	if (!nodes || !labels || !slots) {
		free(slots);
		return false;
	}
	free(d->slots);
	d->slots = slots;
	d->mask = 2 * max - 1;
	d->max_nodes = max;
	for (uint32_t i = 0; i < d->n_nodes; i++)
		*slot_of(d, d->labels[i]) = i + 1;
	return true;
}

static int check_name(const char *name, char *error, size_t error_len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	static const char word[] = "plane";
	size_t len = strlen(name), word_len = sizeof word - 1;

	if (len == 0 || len >= TOPOLOGY_NAME_MAX)
		return sentence(-EINVAL, error, error_len,
				"name \"%.64s\": 1 to %u characters are allowed", name,
				TOPOLOGY_NAME_MAX - 1);
	if (strspn(name, letters) != len)
		return sentence(-EINVAL, error, error_len,
				"name %s: only letters, digits, '.', '_' and '-' are allowed",
				name);
	if (strncmp(name, word, word_len) == 0 && len > word_len &&
	    strspn(name + word_len, "0123456789") == len - word_len)
		return sentence(-EINVAL, error, error_len,
				"name %s: this means every port of a plane", name);
	return 0;
}

static int add_node(struct topology_draft *d, const char *name, const struct topology_node *node,
		    char *error, size_t error_len)
{
	if (check_name(name, error, error_len) != 0)
		return -EINVAL;
	if (!grow_nodes(d))
		return sentence(-ENOMEM, error, error_len, "out of memory");
	uint32_t *slot = slot_of(d, name);

	if (*slot)
		return sentence(-EEXIST, error, error_len, "name %s is taken", name);
	d->nodes[d->n_nodes] = *node;
	memcpy(d->labels[d->n_nodes], name, strlen(name) + 1);
	*slot = ++d->n_nodes;
	return 0;
}

int topology_host(struct topology_draft *d, const char *name, char *error, size_t error_len)
{
	if (d->n_nodes > d->n_hosts)
		return sentence(-EINVAL, error, error_len,
				"host %s: hosts come before the first switch", name);
	if (d->n_hosts == TOPOLOGY_HOSTS)
		return sentence(-EINVAL, error, error_len, "host %s: more than %u hosts", name,
				TOPOLOGY_HOSTS);
	const struct topology_node node = {.is_host = 1, .index = d->n_hosts};
	int rc = add_node(d, name, &node, error, error_len);

	d->n_hosts += rc == 0;
	return rc;
}

int topology_switch(struct topology_draft *d, const char *name, uint8_t tier, uint8_t plane,
		    char *error, size_t error_len)
{
	if (tier >= TOPOLOGY_TIERS)
		return sentence(-EINVAL, error, error_len, "switch %s: tier %u is not 0 to %u",
				name, tier, TOPOLOGY_TIERS - 1);
	if (plane >= TOPOLOGY_PLANES)
		return sentence(-EINVAL, error, error_len, "switch %s: plane %u is not 0 to %u",
				name, plane, TOPOLOGY_PLANES - 1);
	const struct topology_node node = {
		.tier = tier, .plane = plane, .index = d->counts[tier][plane]};
	int rc = add_node(d, name, &node, error, error_len);

	d->counts[tier][plane] += rc == 0;
	return rc;
}

/* The node of that name, or UINT32_MAX. */
static uint32_t node_of(const struct topology_draft *d, const char *name)
{
	return d->slots ? *slot_of(d, name) - 1 : UINT32_MAX;
}

/* Whether a and b may be joined, with room for one more link. */
static int check_link(struct topology_draft *d, uint32_t a, uint32_t b, char *error,
		      size_t error_len)
{
	const struct topology_node *m = &d->nodes[a], *n = &d->nodes[b];
	uint32_t full = m->n_ports == WIRING_NODE_PORTS_MAX ? a : b;

	if (a == b)
		return sentence(-EINVAL, error, error_len, "link %s-%s joins a node to itself",
				d->labels[a], d->labels[b]);
	if (!m->is_host && !n->is_host && m->plane != n->plane)
		return sentence(-EINVAL, error, error_len,
				"link %s-%s: the switches are in planes %u and %u", d->labels[a],
				d->labels[b], m->plane, n->plane);
	if (d->nodes[full].n_ports == WIRING_NODE_PORTS_MAX)
		return sentence(-EINVAL, error, error_len, "link %s-%s: %s has %u ports already",
				d->labels[a], d->labels[b], d->labels[full], WIRING_NODE_PORTS_MAX);
	if (d->n_links >= WIRING_PORTS_MAX / 2)
		return sentence(-EINVAL, error, error_len, "more than %llu links",
				(unsigned long long)WIRING_PORTS_MAX / 2);
	if (d->n_links == d->max_links) {
		uint32_t max = d->max_links ? 2 * d->max_links : 64;
		void *links = realloc(d->links, max * sizeof *d->links);

		if (!links)
			return sentence(-ENOMEM, error, error_len, "out of memory");
		d->links = links;
		d->max_links = max;
	}
	return 0;
}

int topology_link(struct topology_draft *d, const char *a, const char *b,
		  const struct topology_link *link, char *error, size_t error_len)
{
	struct wiring_link l = {.a = node_of(d, a), .b = node_of(d, b), .link = *link};

	if (l.a == UINT32_MAX || l.b == UINT32_MAX)
		return sentence(-ENOENT, error, error_len, "link %s-%s: there is no %s", a, b,
				l.a == UINT32_MAX ? a : b);
	if (link->rate_bps == 0)
		return sentence(-EINVAL, error, error_len, "link %s-%s: rate must be positive", a,
				b);
	int rc = check_link(d, l.a, l.b, error, error_len);

	if (rc != 0)
		return rc;
	/* Between two hosts there is no switch to name a plane. */
	l.plane = d->nodes[d->nodes[l.a].is_host ? l.b : l.a].plane;
	d->nodes[l.a].n_ports++;
	d->nodes[l.b].n_ports++;
	d->links[d->n_links++] = l;
	return 0;
}

static int join_links(const struct topology_draft *d, struct topology *t)
{
	struct wiring w;
	int rc = wiring_begin(&w, t);

	for (uint32_t i = 0; rc == 0 && i < d->n_links; i++)
		wiring_join(&w, &d->links[i]);
	if (rc == 0)
		rc = wiring_number(&w);
	wiring_end(&w);
	return rc;
}

int topology_end(struct topology_draft *d, struct topology *t, char *error, size_t error_len)
{
	int rc = 0;

	memset(t, 0, sizeof *t);
	if (d->n_hosts == 0) {
		topology_discard(d);
		return sentence(-EINVAL, error, error_len, "there is no host");
	}
	t->n_nodes = d->n_nodes;
	t->n_hosts = d->n_hosts;
	t->n_planes = 1;
	for (uint32_t i = d->n_hosts; i < d->n_nodes; i++) {
		const struct topology_node *n = &d->nodes[i];

		t->n_planes = n->plane >= t->n_planes ? (uint8_t)(n->plane + 1) : t->n_planes;
		t->n_tiers = n->tier >= t->n_tiers ? (uint8_t)(n->tier + 1) : t->n_tiers;
	}
	t->nodes = d->nodes;
	t->labels = d->labels;
	d->nodes = NULL;
	d->labels = NULL;
	rc = join_links(d, t);
	topology_discard(d);
	if (rc == 0)
		return 0;
	topology_fini(t);
	return sentence(rc, error, error_len, "out of memory");
}
