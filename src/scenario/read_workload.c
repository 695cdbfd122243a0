#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "scenario/matrix.h"
#include "scenario/reader.h"

__extension__ typedef unsigned __int128 u128;

#define MATRIX    (WORKLOAD_ALL_GATHER + 1)
#define SIZES_MAX 64u
#define QP_MAX    1023u

static const char *const kinds[] = {"single",     "permutation", "incast", "all-to-all",
				    "ring",       "tree",        "random", "broadcast",
				    "all-gather", "matrix",      NULL};
static const char *const whats[] = {
	"a single flow", "a permutation",  "an incast",   "an all-to-all", "a ring",
	"a tree",        "random traffic", "a broadcast", "an all-gather", "a traffic matrix"};

/* Sizes of flows in a web search cluster, as measured for DCTCP (SIGCOMM 2010). */
static const struct workload_size websearch[] = {
	{10000, 150000},   {20000, 200000},    {30000, 300000},     {50000, 400000},
	{80000, 530000},   {200000, 600000},   {1000000, 700000},   {2000000, 800000},
	{5000000, 900000}, {10000000, 970000}, {30000000, 1000000},
};

/* One entry of the workload. */
struct entry {
	struct conf_node *map;
	struct workload_cfg cfg;
	struct workload_size sizes[SIZES_MAX];
	struct conf_node *listed; /* other ends, one by one; NULL: as the pattern has them */
};

static psec time_of(struct conf *c, struct conf_node *map, const char *key, psec fallback)
{
	return conf_get_number(c, map, key, UNITS_TIME,
			       (struct conf_range){0, READER_TIME_MAX, fallback});
}

/* What every kind of flow has. */
static void read_common(struct conf *c, struct entry *e)
{
	e->cfg.message_bytes = (uint32_t)conf_get_number(
		c, e->map, "message", UNITS_BYTES, (struct conf_range){1, WORKLOAD_MESSAGE_MAX, 0});
	e->cfg.window = conf_get_u32(c, e->map, "window", (struct conf_range){1, 1u << 20, 1});
	e->cfg.start_ps = time_of(c, e->map, "start", 0);
	e->cfg.repeat = 1;
	if (e->cfg.kind == WORKLOAD_RANDOM)
		return;
	e->cfg.repeat = conf_get_u32(c, e->map, "repeat", (struct conf_range){1, 1u << 24, 1});
	e->cfg.gap_ps = time_of(c, e->map, "gap", 0);
}

/* Hosts below the first host's first switch: the same everywhere in a regular fabric. */
static uint32_t hosts_per_leaf(const struct topology *t)
{
	uint32_t leaf = t->ports[t->ports[t->nodes[0].first_port].peer].node, n = 0;

	while (n < t->n_hosts && t->nodes[n].n_ports > 0 &&
	       t->ports[t->ports[t->nodes[n].first_port].peer].node == leaf)
		n++;
	return n > 0 ? n : 1;
}

static uint64_t host_rate(const struct topology *t)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t h = 0; h < t->n_hosts; h++) {
		uint64_t sum = 0;

		for (uint32_t p = 0; p < t->nodes[h].n_ports; p++)
			sum += t->ports[t->nodes[h].first_port + p].rate_bps;
		if (sum < least)
			least = sum;
	}
	return least;
}

static void read_points(struct conf *c, struct entry *e, struct conf_node *list)
{
	if (list->n == 0 || list->n > SIZES_MAX)
		conf_fail(c, list, "%u points; 1 to %u of them", list->n, SIZES_MAX);
	for (struct conf_node *at = list->first; at && !c->status; at = at->next) {
		struct workload_size *point = &e->sizes[e->cfg.n_sizes++];

		if (!conf_is_list(c, at))
			return;
		if (at->n != 2) {
			conf_fail(c, at, "%u values; write [size, chance to be at most that]",
				  at->n);
			return;
		}
		point->bytes = conf_number(c, at->first, UNITS_BYTES,
					   (struct conf_range){1, WORKLOAD_BYTES_MAX, 0});
		point->millionths = (uint32_t)conf_number(c, at->last, UNITS_CHANCE,
							  (struct conf_range){0, 1000000, 0});
	}
}

/* sizes: a name, or points of a distribution; without it every flow has bytes. */
static void read_sizes(struct conf *c, struct entry *e)
{
	static const char *const names[] = {"websearch", NULL};
	struct conf_node *node = conf_get(c, e->map, "sizes");

	e->cfg.sizes = e->sizes;
	if (!node) {
		e->sizes[0] = (struct workload_size){e->cfg.bytes, 1000000};
		e->cfg.n_sizes = 1;
		return;
	}
	if (conf_get(c, e->map, "bytes"))
		conf_fail(c, node, "stands beside bytes; give one of the two");
	if (node->type == CONF_TEXT) {
		conf_choice(c, node, names);
		memcpy(e->sizes, websearch, sizeof websearch);
		e->cfg.n_sizes = sizeof websearch / sizeof websearch[0];
	} else if (conf_is_list(c, node)) {
		read_points(c, e, node);
	}
}

static void read_random(struct reader *r, struct entry *e)
{
	struct conf *c = &r->conf;
	uint64_t load = conf_get_number(c, e->map, "load", UNITS_CHANCE,
					(struct conf_range){10000, 1000000, 500000});

	if (load % 10000 != 0)
		conf_fail_key(c, e->map, "load", "is no whole percentage; use one like 60%%");
	e->cfg.load_percent = (uint32_t)(load / 10000);
	e->cfg.rate_bps = host_rate(&r->s->topology);
	e->cfg.duration_ps = conf_get_number(c, e->map, "duration", UNITS_TIME,
					     (struct conf_range){1, READER_TIME_MAX, PSEC_MS});
	read_sizes(c, e);
}

static uint32_t host_or(struct reader *r, struct entry *e, const char *key, uint32_t fallback)
{
	const struct conf_node *node = conf_get(&r->conf, e->map, key);

	return node ? read_host(r, node) : fallback;
}

#define CHUNK_BYTES (256u << 10) /* of what hosts pass on */

/* One to many: by whom the bytes are passed on, and in which pieces. */
static void read_spread(struct reader *r, struct entry *e)
{
	static const char *const ways[] = {"unicast", "ring", "tree", "end-mt", NULL};
	struct conf *c = &r->conf;
	struct workload_cfg *cfg = &e->cfg;
	uint32_t hosts = cfg->hosts;

	if (cfg->kind == WORKLOAD_BROADCAST) {
		cfg->src = host_or(r, e, "src", 0);
		cfg->members = 1 + conf_get_u32(c, e->map, "receivers",
						(struct conf_range){1, hosts - 1, hosts - 1});
	} else {
		cfg->members =
			conf_get_u32(c, e->map, "members", (struct conf_range){2, hosts, hosts});
		cfg->at_a_time = conf_get_u32(c, e->map, "at_a_time",
					      (struct conf_range){1, cfg->members, cfg->members});
	}
	cfg->by = (enum workload_by)conf_get_choice(c, e->map, "by", ways, WORKLOAD_BY_UNICAST);
	if (cfg->by == WORKLOAD_BY_RING || cfg->by == WORKLOAD_BY_TREE)
		cfg->chunk_bytes =
			(uint32_t)conf_get_number(c, e->map, "chunk", UNITS_BYTES,
						  (struct conf_range){1, UINT32_MAX, CHUNK_BYTES});
}

static void read_pattern(struct reader *r, struct entry *e)
{
	struct conf *c = &r->conf;
	struct workload_cfg *cfg = &e->cfg;
	uint32_t hosts = r->s->topology.n_hosts;

	cfg->hosts = hosts;
	cfg->hosts_per_leaf = hosts_per_leaf(&r->s->topology);
	cfg->bytes = conf_get_number(c, e->map, "bytes", UNITS_BYTES,
				     (struct conf_range){1, WORKLOAD_BYTES_MAX, 1u << 20});
	if (cfg->kind != WORKLOAD_SINGLE && cfg->kind != WORKLOAD_RANDOM)
		cfg->stagger_ps = time_of(c, e->map, "stagger", 0);
	switch (cfg->kind) {
	case WORKLOAD_SINGLE:
		cfg->src = host_or(r, e, "src", 0);
		cfg->dst = host_or(r, e, "dst", hosts - 1);
		cfg->qp = conf_get_u32(c, e->map, "qp", (struct conf_range){0, QP_MAX, 0});
		break;
	case WORKLOAD_INCAST:
		cfg->dst = host_or(r, e, "dst", 0);
		cfg->fan_in = conf_get_u32(
			c, e->map, "fan_in",
			(struct conf_range){1, hosts - 1, hosts > 32 ? 32 : hosts - 1});
		cfg->victims = conf_get_flag(c, e->map, "victim", false);
		e->listed = conf_get(c, e->map, "srcs");
		break;
	case WORKLOAD_ALL_TO_ALL:
	case WORKLOAD_RING:
	case WORKLOAD_TREE:
		cfg->members =
			conf_get_u32(c, e->map, "members", (struct conf_range){2, hosts, hosts});
		break;
	case WORKLOAD_PERMUTATION: e->listed = conf_get(c, e->map, "dsts"); break;
	case WORKLOAD_RANDOM: read_random(r, e); break;
	case WORKLOAD_BROADCAST:
	case WORKLOAD_ALL_GATHER: read_spread(r, e); break;
	}
	if (cfg->kind == WORKLOAD_TREE)
		cfg->chunk_bytes = (uint32_t)conf_get_number(c, e->map, "chunk", UNITS_BYTES,
							     (struct conf_range){1, UINT32_MAX, 0});
}

/* About how many flows a pattern has, to refuse it before they take memory. */
static u128 about_flows(const struct workload_cfg *cfg)
{
	u128 n = cfg->members;
	uint64_t mean = 1;

	switch (cfg->kind) {
	case WORKLOAD_SINGLE: return 1;
	case WORKLOAD_PERMUTATION: return cfg->hosts;
	case WORKLOAD_INCAST: return cfg->fan_in + 1u;
	case WORKLOAD_ALL_TO_ALL: return n * n;
	case WORKLOAD_RING: return 2 * n * n * cfg->repeat;
	case WORKLOAD_TREE:
		n *= 2 * (u128)cfg->repeat;
		return cfg->chunk_bytes > 0 ? n * (cfg->bytes / cfg->chunk_bytes + 1) : n;
	case WORKLOAD_BROADCAST:
	case WORKLOAD_ALL_GATHER:
		n *= (cfg->kind == WORKLOAD_BROADCAST ? 1 : n) * cfg->repeat;
		if (cfg->by == WORKLOAD_BY_GROUP)
			return n / cfg->members;
		return cfg->chunk_bytes > 0 ? n * (cfg->bytes / cfg->chunk_bytes + 1) : n;
	case WORKLOAD_RANDOM: break;
	}
	for (uint32_t i = 0; i < cfg->n_sizes; i++) {
		uint64_t before = i > 0 ? cfg->sizes[i - 1].millionths : 0;

		if (cfg->sizes[i].millionths > before)
			mean += (cfg->sizes[i].millionths - before) * cfg->sizes[i].bytes / 2000000;
	}
	return (u128)cfg->rate_bps * cfg->duration_ps / (8 * PSEC_S) * cfg->load_percent / 100 /
	       mean * cfg->hosts;
}

static void build_pattern(struct reader *r, struct entry *e, uint64_t seed)
{
	char error[256];

	if (r->conf.status)
		return;
	if (r->source->max_flows > 0 && about_flows(&e->cfg) > r->source->max_flows) {
		conf_fail(&r->conf, e->map, "too many flows; at most %u here",
			  r->source->max_flows);
		return;
	}
	int rc = workload_build(&r->s->workload, &e->cfg, seed, error, sizeof error);

	if (rc == -ENOMEM)
		conf_fail_memory(&r->conf);
	else if (rc)
		read_refused(r, e->map, error);
}

/* A flow for each host of the list: of a permutation from host 0, 1, ... to it, of an incast from
 * it. No host stands there twice, nor sends to itself. */
static void build_listed(struct reader *r, const struct entry *e)
{
	struct conf *c = &r->conf;
	const struct workload_cfg *cfg = &e->cfg;
	bool is_incast = cfg->kind == WORKLOAD_INCAST;
	uint32_t n = 0;

	if (!conf_is_list(c, e->listed))
		return;
	if (is_incast && (cfg->victims || conf_get(c, e->map, "fan_in")))
		conf_fail(c, e->listed, "stands beside fan_in or victim; leave those out");
	else if (is_incast ? e->listed->n == 0 : e->listed->n != cfg->hosts)
		conf_fail(c, e->listed, "has %u hosts; %s", e->listed->n,
			  is_incast ? "name at least one" : "name one for each host");
	uint8_t *has = calloc(cfg->hosts, 1);

	if (!has) {
		conf_fail_memory(c);
		return;
	}
	for (const struct conf_node *at = e->listed->first; at && !c->status; at = at->next, n++) {
		uint32_t host = read_host(r, at), self = is_incast ? cfg->dst : n;
		struct workload_flow flow = {
			.src = is_incast ? host : n,
			.dst = is_incast ? cfg->dst : host,
			.bytes = cfg->bytes,
			.message_bytes = cfg->message_bytes,
			.window = cfg->window,
			.repeat = cfg->repeat,
			.start_ps = cfg->start_ps + n * cfg->stagger_ps,
			.gap_ps = cfg->gap_ps,
			.id = r->s->workload.n,
		};

		if (c->status)
			break;
		if (host == self || has[host]++)
			conf_fail(c, at, "%s",
				  host == self ? "sends to itself; name another host"
					       : "stands there twice; name each host once");
		else if (workload_add(&r->s->workload, &flow) == UINT32_MAX)
			conf_fail_memory(c);
	}
	free(has);
}

static void read_matrix(struct reader *r, struct entry *e)
{
	const struct conf_node *node =
		conf_need(&r->conf, e->map, "file", "name a .cm file beside this one");
	char error[SCENARIO_ERROR_MAX];
	size_t len = 0;

	conf_finish(&r->conf, e->map, whats[MATRIX]);
	char *text = read_other_file(r, node, &len);

	if (!text)
		return;
	struct matrix m = {
		.name = node->text,
		.text = text,
		.len = len,
		.hosts = r->s->topology.n_hosts,
		.like = {.message_bytes = e->cfg.message_bytes,
			 .window = e->cfg.window,
			 .repeat = e->cfg.repeat,
			 .start_ps = e->cfg.start_ps,
			 .gap_ps = e->cfg.gap_ps},
	};
	int rc = matrix_read(&r->s->workload, &m, error, sizeof error);

	free(text);
	if (rc == -ENOMEM)
		conf_fail_memory(&r->conf);
	else if (rc)
		conf_fail_text(&r->conf, error);
}

/* Every flow must have a way out of every port of its source. Of groups those who make their trees
 * see to that. */
static void check_reach(struct reader *r, const struct conf_node *map, uint32_t first)
{
	const struct topology *t = &r->s->topology;

	for (uint32_t i = first; i < r->s->workload.n && !r->conf.status; i++) {
		const struct workload_flow *f = &r->s->workload.flows[i];

		for (uint32_t p = 0; !f->group && p < t->nodes[f->src].n_ports; p++) {
			char name[2 * TOPOLOGY_NAME_MAX + 16];

			if (routing_reaches(&r->routing, f->src, p, f->dst))
				continue;
			topology_port_name(t, t->nodes[f->src].first_port + p, name, sizeof name);
			conf_fail(&r->conf, map,
				  "host %s cannot be reached from %s through %s; add a link, or "
				  "leave the flow out",
				  t->labels[f->dst], t->labels[f->src], name);
			return;
		}
	}
}

static void read_entry(struct reader *r, struct conf_node *map, uint64_t seed)
{
	struct conf *c = &r->conf;
	struct entry e = {.map = map};
	uint32_t first = r->s->workload.n;

	if (!conf_is_map(c, map))
		return;
	const struct conf_node *kind = conf_need(
		c, map, "kind",
		"one of single, permutation, incast, all-to-all, ring, tree, random, broadcast, "
		"all-gather, matrix");
	uint32_t number = conf_choice(c, kind, kinds);

	if (c->status)
		return;
	e.cfg.kind = number == MATRIX ? WORKLOAD_SINGLE : (enum workload_kind)number;
	read_common(c, &e);
	if (number == MATRIX) {
		read_matrix(r, &e);
	} else {
		read_pattern(r, &e);
		conf_finish(c, map, whats[number]);
		if (e.listed)
			build_listed(r, &e);
		else
			build_pattern(r, &e, seed);
	}
	check_reach(r, map, first);
	if (!c->status)
		r->s->entries[r->s->n_entries++] =
			(struct scenario_entry){first, r->s->workload.n - first};
}

static void read_entries(struct reader *r, struct conf_node *node)
{
	uint64_t state = r->s->seed;

	r->s->entries = calloc(node->type == CONF_LIST ? node->n + 1 : 1, sizeof *r->s->entries);
	if (!r->s->entries) {
		conf_fail_memory(&r->conf);
		return;
	}
	if (node->type != CONF_LIST) {
		read_entry(r, node, prng_splitmix64(&state));
		return;
	}
	if (node->n == 0)
		conf_fail(&r->conf, node, "is empty; write at least one pattern");
	for (struct conf_node *at = node->first; at && !r->conf.status; at = at->next)
		read_entry(r, at, prng_splitmix64(&state));
}

void read_workload(struct reader *r, struct conf_node *node)
{
	if (!node || r->conf.status)
		return;
	read_entries(r, node);
	/* Random traffic that is slow and short may be none at all. */
	if (!r->conf.status && r->s->workload.n == 0)
		conf_fail(&r->conf, node, "has no flow; raise load or duration");
}
