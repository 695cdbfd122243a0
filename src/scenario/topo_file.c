#include "scenario/topo_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "scenario/lines.h"

#define GBPS        UINT64_C(1000000000)
#define RADIX_MAX   65535u
#define LATENCY_MAX UINT64_C(1000000000000) /* ns */

/* Keys of a tier's section. NODES to PODSIZE stand above the first section. */
enum key {
	NODES,
	TIERS,
	PODSIZE,
	SPEED,
	DOWN,
	UP,
	LATENCY,
	OVERSUBSCRIBED,
	BUNDLE,
	QUEUE_DOWN,
	QUEUE_UP,
	SWITCH_LATENCY,
	KEYS,
};

static const struct {
	const char *name;
	struct lines_range range;
} keys[KEYS] = {
	[NODES] = {"nodes", {2, TOPOLOGY_HOSTS}},
	[TIERS] = {"tiers", {2, 3}},
	[PODSIZE] = {"podsize", {1, TOPOLOGY_HOSTS}},
	[SPEED] = {"downlink_speed_gbps", {1, 100000}},
	[DOWN] = {"radix_down", {1, RADIX_MAX}},
	[UP] = {"radix_up", {1, RADIX_MAX}},
	[LATENCY] = {"downlink_latency_ns", {0, LATENCY_MAX}},
	[OVERSUBSCRIBED] = {"oversubscribed", {1, RADIX_MAX}},
	[BUNDLE] = {"bundle", {1, RADIX_MAX}},
	[QUEUE_DOWN] = {"queue_down", {0, UINT32_MAX}},
	[QUEUE_UP] = {"queue_up", {0, UINT32_MAX}},
	[SWITCH_LATENCY] = {"switch_latency_ns", {0, LATENCY_MAX}},
};

struct value {
	uint64_t n;
	uint32_t line; /* 0: not in the file */
};

/* section[0] is the header, section[1 + t] tier t. */
struct topo {
	struct lines lines;
	struct value section[1 + TOPOLOGY_TIERS][KEYS];
	uint32_t tier_line[TOPOLOGY_TIERS];
};

static uint64_t number(const struct topo *t, uint32_t section, enum key key)
{
	return t->section[section][key].n;
}

/* A mistake in what a key says, at its line. */
#define FAIL(t, place, ...) ((t)->lines.line = (place), lines_fail(&(t)->lines, __VA_ARGS__))

static bool read_tier_line(struct topo *t, uint32_t *section)
{
	uint64_t tier = 0;

	if (!lines_number(&t->lines, 1, (struct lines_range){0, TOPOLOGY_TIERS - 1}, &tier))
		return false;
	if (t->tier_line[tier])
		return lines_fail(&t->lines,
				  "Tier %" PRIu64 " stands twice, first in line %u; "
				  "keep one",
				  tier, t->tier_line[tier]);
	t->tier_line[tier] = t->lines.line;
	*section = 1 + (uint32_t)tier;
	return true;
}

static bool read_line(struct topo *t, uint32_t *section)
{
	struct lines *l = &t->lines;
	uint32_t key = *section == 0 ? NODES : SPEED, end = *section == 0 ? SPEED : KEYS;

	if (l->n != 2)
		return lines_fail(l, "%u words; a line is a key and a number", l->n);
	if (strcmp(l->words[0], "tier") == 0)
		return read_tier_line(t, section);
	while (key < end && strcmp(keys[key].name, l->words[0]) != 0)
		key++;
	if (key == end)
		return lines_fail(l,
				  "%s: unknown key %s; see docs/scenarios.md for those that are "
				  "supported",
				  l->words[0],
				  *section == 0 ? "above the first Tier" : "of a tier");
	struct value *v = &t->section[*section][key];

	if (v->line)
		return lines_fail(l, "%s: stands twice, first in line %u; keep one", l->words[0],
				  v->line);
	v->line = l->line;
	return lines_number(l, 1, keys[key].range, &v->n);
}

static bool need(struct topo *t, uint32_t section, enum key key)
{
	if (t->section[section][key].line)
		return true;
	uint32_t line = section > 0 ? t->tier_line[section - 1] : 1;

	return FAIL(t, line ? line : 1, "%s is missing%s; write it with a number", keys[key].name,
		    section > 0 ? " in this tier" : "");
}

static bool check_there(struct topo *t)
{
	if (!need(t, 0, NODES) || !need(t, 0, TIERS))
		return false;
	uint32_t tiers = (uint32_t)number(t, 0, TIERS);

	for (uint32_t i = 0; i < TOPOLOGY_TIERS; i++) {
		if (i < tiers && !t->tier_line[i])
			return FAIL(t, t->section[0][TIERS].line,
				    "tiers: %u, but there is no Tier %u; add it", tiers, i);
		if (i >= tiers && t->tier_line[i])
			return FAIL(t, t->tier_line[i],
				    "Tier %u, but there are %u tiers; leave it out", i, tiers);
	}
	for (uint32_t i = 1; i <= tiers; i++) {
		struct value *bundle = &t->section[i][BUNDLE];

		if (!need(t, i, SPEED) || !need(t, i, DOWN) || !need(t, i, LATENCY))
			return false;
		if (i < tiers && !need(t, i, UP))
			return false;
		if (i == tiers && t->section[i][UP].line)
			return FAIL(t, t->section[i][UP].line,
				    "radix_up: the highest tier leads nowhere; leave it out");
		if (!bundle->line)
			bundle->n = 1;
	}
	return true;
}

/* One number of links leads from each switch of a tier to each of the tier above. */
static bool check_bundles(struct topo *t, uint32_t tiers)
{
	if (number(t, 1, BUNDLE) != 1)
		return FAIL(t, t->section[1][BUNDLE].line,
			    "bundle: several links between a host and its leaf are not supported; "
			    "use 1 here, and nic_ports in the scenario");
	if (tiers == 3 && number(t, 3, BUNDLE) != 1)
		return FAIL(t, t->section[3][BUNDLE].line,
			    "bundle: several links between a spine and a core are not supported; "
			    "use 1");
	if (number(t, 1, UP) % number(t, 2, BUNDLE) != 0)
		return FAIL(t, t->section[1][UP].line,
			    "radix_up: %" PRIu64 " ports do not make bundles of %" PRIu64
			    "; use a multiple",
			    number(t, 1, UP), number(t, 2, BUNDLE));
	return true;
}

/* The ratio of what comes from below and what leads up, against what the file claims. */
static bool check_oversubscription(struct topo *t, uint32_t section)
{
	const struct value *v = &t->section[section][OVERSUBSCRIBED];
	uint64_t down = number(t, section, DOWN) * number(t, section, SPEED);
	uint64_t up = number(t, section, UP) * number(t, section + 1, SPEED);

	if (v->line && down != v->n * up)
		return FAIL(t, v->line,
			    "oversubscribed: %" PRIu64 ", but the ports say %" PRIu64
			    " Gbps below and "
			    "%" PRIu64 " Gbps above; make them agree",
			    v->n, down, up);
	return true;
}

static bool check_shape(struct topo *t, struct topology_cfg *cfg)
{
	uint64_t nodes = number(t, 0, NODES), pod = nodes, tiers = number(t, 0, TIERS);
	const struct value *podsize = &t->section[0][PODSIZE];

	if (podsize->line)
		pod = podsize->n;
	else if (tiers == 3)
		return need(t, 0, PODSIZE);
	if (tiers == 2 && pod != nodes)
		return FAIL(t, podsize->line,
			    "podsize: with 2 tiers there is one pod; use %" PRIu64, nodes);
	if (nodes % pod != 0 || pod % number(t, 1, DOWN) != 0)
		return FAIL(t, nodes % pod ? podsize->line : t->section[1][DOWN].line,
			    "%" PRIu64 " nodes do not fill pods of %" PRIu64
			    " and leaves of %" PRIu64 "; use divisors",
			    nodes, pod, number(t, 1, DOWN));
	uint64_t leaves = pod / number(t, 1, DOWN), below = leaves * number(t, 2, BUNDLE);

	if (number(t, 2, DOWN) != below)
		return FAIL(t, t->section[2][DOWN].line,
			    "radix_down: %" PRIu64 ", but %" PRIu64 " leaves with %" PRIu64
			    " links to each spine make %" PRIu64 "; make them agree",
			    number(t, 2, DOWN), leaves, number(t, 2, BUNDLE), below);
	if (tiers == 3 && number(t, 3, DOWN) != nodes / pod)
		return FAIL(t, t->section[3][DOWN].line,
			    "radix_down: %" PRIu64 ", but there are %" PRIu64
			    " pods; a core has one link to each",
			    number(t, 3, DOWN), nodes / pod);
	cfg->hosts = (uint32_t)nodes;
	cfg->hosts_per_leaf = (uint32_t)number(t, 1, DOWN);
	cfg->leaves_per_pod = (uint32_t)leaves;
	cfg->uplinks = (uint32_t)number(t, 2, BUNDLE);
	cfg->spines = (uint32_t)(number(t, 1, UP) / number(t, 2, BUNDLE));
	cfg->cores = tiers == 3 ? cfg->spines * (uint32_t)number(t, 2, UP) : 0;
	return true;
}

/* Queues may be told from both ends of a link, but a link has one size here. */
static bool read_queue(struct topo *t, uint32_t section, uint32_t *bytes)
{
	const struct value *down = &t->section[section][QUEUE_DOWN];
	const struct value *up = &t->section[section - 1][QUEUE_UP];

	if (section > 1 && up->line && down->line && up->n != down->n)
		return FAIL(t, down->line,
			    "queue_down: %" PRIu64 ", but the queue_up below it is %" PRIu64
			    "; both ends of a link have one size",
			    down->n, up->n);
	*bytes = (uint32_t)(down->line ? down->n : section > 1 ? up->n : 0);
	return true;
}

static bool read_links(struct topo *t, struct topology_cfg *cfg, uint32_t tiers)
{
	for (uint32_t i = 1; i <= tiers; i++) {
		struct topology_link *link = &cfg->links[i - 1];
		const struct value *latency = &t->section[i][SWITCH_LATENCY];

		link->rate_bps = number(t, i, SPEED) * GBPS;
		link->delay_ps = number(t, i, LATENCY) * PSEC_NS;
		if (!read_queue(t, i, &link->buffer_bytes))
			return false;
		if (latency->n != number(t, 1, SWITCH_LATENCY))
			return FAIL(t, latency->line ? latency->line : t->tier_line[i - 1],
				    "switch_latency_ns: %" PRIu64 ", but %" PRIu64
				    " in Tier 0; all switches have one",
				    latency->n, number(t, 1, SWITCH_LATENCY));
		if (i < tiers && !check_oversubscription(t, i))
			return false;
	}
	cfg->switch_delay_ps = number(t, 1, SWITCH_LATENCY) * PSEC_NS;
	return true;
}

int topo_file_read(struct topology_cfg *cfg, const struct topo_file *file, char *error,
		   size_t error_len)
{
	struct topo t = {.lines = {.name = file->name,
				   .at = file->text,
				   .left = file->len,
				   .error = error,
				   .error_len = error_len}};
	uint32_t section = 0;

	while (lines_next(&t.lines))
		if (!read_line(&t, &section))
			return -EINVAL;
	if (t.lines.failed || !check_there(&t))
		return -EINVAL;
	uint32_t tiers = (uint32_t)number(&t, 0, TIERS);

	cfg->kind = tiers == 2 ? TOPOLOGY_LEAF_SPINE : TOPOLOGY_FAT_TREE;
	if (!check_bundles(&t, tiers) || !check_shape(&t, cfg) || !read_links(&t, cfg, tiers))
		return -EINVAL;
	return 0;
}
