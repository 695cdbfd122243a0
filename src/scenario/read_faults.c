#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/reader.h"

#define FAULTS_MAX 65536u
#define RANDOM_MAX 10000u
#define AMOUNT_MAX READER_TIME_MAX

/* Where a fault is, and which keys say how strong it is. */
enum place { AT_PORT, AT_LINK, AT_PLANE, AT_SWITCH, AT_HOST };

enum {
	HAS_CHANCE = 1 << 0,
	HAS_MATCH = 1 << 1,
	HAS_CRC = 1 << 2,
	HAS_UNTIL = 1 << 3,
	NEEDS_UNTIL = 1 << 4,
	HAS_SKEW = 1 << 5,
};

struct rule {
	enum place place;
	uint32_t has;
	const char *count, *amount; /* names of these keys; NULL: not used */
	uint32_t count_max, count_default;
};

#define ON_SOME (HAS_CHANCE | HAS_MATCH | HAS_UNTIL)

static const struct rule rules[FAULT_KIND_COUNT] = {
	[FAULT_DROP] = {AT_PORT, ON_SOME, NULL, NULL, 0, 0},
	[FAULT_BURST] = {AT_PORT, ON_SOME, "count", NULL, 1000000, 10},
	[FAULT_DUPLICATE] = {AT_PORT, ON_SOME, NULL, NULL, 0, 0},
	[FAULT_REORDER] = {AT_PORT, ON_SOME, NULL, "delay", 0, 0},
	[FAULT_DELAY] = {AT_PORT, HAS_MATCH | HAS_UNTIL, NULL, "delay", 0, 0},
	[FAULT_CORRUPT] = {AT_PORT, ON_SOME | HAS_CRC, "bits", NULL, 64, 1},
	[FAULT_TRUNCATE] = {AT_PORT, ON_SOME, NULL, NULL, 0, 0},
	[FAULT_BLACK_HOLE] = {AT_PORT, HAS_MATCH | HAS_UNTIL, NULL, NULL, 0, 0},
	[FAULT_GRAY] = {AT_LINK, ON_SOME, NULL, NULL, 0, 0},
	[FAULT_FORGE] = {AT_PORT, ON_SOME | HAS_CRC, NULL, NULL, 0, 0},
	[FAULT_FLAP] = {AT_LINK, HAS_UNTIL, "count", "period", 1000000, 1},
	[FAULT_DOWN] = {AT_LINK, HAS_UNTIL, NULL, NULL, 0, 0},
	[FAULT_PLANE] = {AT_PLANE, HAS_UNTIL, NULL, NULL, 0, 0},
	[FAULT_PAUSE] = {AT_PORT, HAS_UNTIL, NULL, NULL, 0, 0},
	[FAULT_REBOOT] = {AT_SWITCH, HAS_UNTIL | NEEDS_UNTIL, NULL, NULL, 0, 0},
	[FAULT_RESTART] = {AT_HOST, 0, NULL, NULL, 0, 0},
	[FAULT_SKEW] = {AT_HOST, HAS_SKEW | HAS_UNTIL, NULL, NULL, 0, 0},
	[FAULT_JUMP] = {AT_HOST, 0, NULL, "by", 0, 0},
};

/* The kinds of the file: those of sim, and random ones. */
static const char *const kinds[] = {
#define NAME(id, name, acts) name,
	FAULT_KINDS(NAME)
#undef NAME
		"random",
	NULL,
};
#define RANDOM FAULT_KIND_COUNT

static psec time_of(struct conf *c, struct conf_node *map, const char *key, psec fallback)
{
	return conf_get_number(c, map, key, UNITS_TIME,
			       (struct conf_range){0, READER_TIME_MAX, fallback});
}

static void add_fault(struct reader *r, struct conf_node *map, const struct fault *f)
{
	struct scenario *s = r->s;
	const char *problem = r->conf.status ? NULL : fault_problem(f, &s->topology);

	if (r->conf.status)
		return;
	if (problem) {
		read_refused(r, map, problem);
		return;
	}
	if (s->n_faults == FAULTS_MAX) {
		conf_fail(&r->conf, map, "more than %u faults, one for each port; name fewer ports",
			  FAULTS_MAX);
		return;
	}
	/* Room doubles: it is full whenever the number is a power of two, or 0. */
	if ((s->n_faults & (s->n_faults - 1)) == 0) {
		uint32_t room = s->n_faults > 0 ? 2 * s->n_faults : 1;
		struct fault *more = realloc(s->faults, room * sizeof *more);

		if (!more) {
			conf_fail_memory(&r->conf);
			return;
		}
		s->faults = more;
	}
	s->faults[s->n_faults++] = *f;
}

/* One fault for every port that the pattern names; for faults of a link, one of its two ports. */
static void add_ports(struct reader *r, struct conf_node *map, struct fault f)
{
	struct conf *c = &r->conf;
	const struct topology *t = &r->s->topology;
	const struct conf_node *at = conf_get(c, map, "at");
	const char *pattern = conf_text(c, at);
	uint8_t *set = c->status ? NULL : calloc(t->n_ports + 1u, 1);

	if (c->status)
		return;
	if (!set) {
		conf_fail_memory(c);
		return;
	}
	if (topology_match_ports(t, pattern, set) == 0)
		conf_fail(c, at,
			  "\"%.60s\" names no link; write it like leaf0-spine1, h0>leaf0 or h0>*",
			  pattern);
	for (uint32_t i = 0; i < t->n_ports && !c->status; i++) {
		if (!set[i] || (rules[f.kind].place == AT_LINK && t->ports[i].peer < i &&
				set[t->ports[i].peer]))
			continue;
		f.port = i;
		add_fault(r, map, &f);
	}
	free(set);
}

static uint32_t read_switch(struct reader *r, const struct conf_node *node)
{
	const struct topology *t = &r->s->topology;
	const char *name = conf_text(&r->conf, node);
	uint32_t found = r->conf.status ? UINT32_MAX : topology_find_node(t, name);

	if (!r->conf.status && (found == UINT32_MAX || found < t->n_hosts))
		conf_fail(&r->conf, node, "there is no switch \"%.40s\"; write it like leaf0",
			  name);
	return found;
}

/* Finds the place and adds the fault there. */
static void place_fault(struct reader *r, struct conf_node *map, struct fault *f)
{
	struct conf *c = &r->conf;
	enum place place = rules[f->kind].place;

	if (c->status)
		return;
	if (place == AT_PORT || place == AT_LINK) {
		add_ports(r, map, *f);
		return;
	}
	if (place == AT_PLANE)
		f->node = conf_get_u32(c, map, "plane",
				       (struct conf_range){0, r->s->topology.n_planes - 1u, 0});
	else if (place == AT_SWITCH)
		f->node = read_switch(r, conf_get(c, map, "at"));
	else
		f->node = read_host(r, conf_get(c, map, "at"));
	add_fault(r, map, f);
}

/* "+100ppm" or "-100ppm": a clock that is fast or slow. */
static void read_skew(struct conf *c, struct conf_node *map, struct fault *f)
{
	struct conf_node *node = conf_need(c, map, "skew", "write it like +50ppm or -50ppm");
	const char *text = conf_text(c, node);
	uint64_t ppm = 0;

	if (c->status)
		return;
	f->sign = text[0] == '-' ? -1 : 1;
	const char *problem =
		units_read(UNITS_CHANCE, text + (text[0] == '-' || text[0] == '+'), &ppm);

	if (problem || ppm < 1 || ppm > 1000)
		conf_fail(c, node, "\"%.40s\" %s; write it like +50ppm, 1ppm to 1000ppm", text,
			  problem ? problem : "is out of range");
	f->ppm = (uint32_t)ppm;
}

static void read_chance(struct conf *c, struct conf_node *map, struct fault *f)
{
	struct conf_range range = {1, 1000000, 0};

	/* Links that lose more are seen by anybody, fewer by nobody (see sim/fault.h). */
	if (f->kind == FAULT_GRAY)
		range = (struct conf_range){100, 300000, 0};
	f->ppm = (uint32_t)conf_number(c, conf_need(c, map, "chance", "write it like chance: 1%"),
				       UNITS_CHANCE, range);
}

static void read_strength(struct conf *c, struct conf_node *map, struct fault *f)
{
	static const char *const matches[] = {"any", "data", "control", NULL};
	static const char *const crcs[] = {"bad", "fcs", "all", NULL};
	const struct rule *rule = &rules[f->kind];

	if (rule->has & HAS_CHANCE)
		read_chance(c, map, f);
	if (rule->has & HAS_MATCH)
		f->match = (uint8_t)conf_get_choice(c, map, "match", matches, FAULT_ANY);
	if (rule->has & HAS_CRC)
		f->crc = (uint8_t)conf_get_choice(c, map, "crc", crcs, FAULT_CRC_BAD);
	if (rule->has & HAS_SKEW)
		read_skew(c, map, f);
	if (rule->count)
		f->count =
			conf_get_u32(c, map, rule->count,
				     (struct conf_range){1, rule->count_max, rule->count_default});
	if (rule->amount)
		f->amount_ps = conf_number(c, conf_need(c, map, rule->amount, "write it like 10us"),
					   UNITS_TIME, (struct conf_range){1, AMOUNT_MAX, 0});
}

static void read_fault(struct reader *r, struct conf_node *map, uint8_t kind)
{
	struct conf *c = &r->conf;
	const struct rule *rule = &rules[kind];
	struct fault f = {.kind = kind, .until_ps = PSEC_NEVER};
	char what[40];

	if (rule->place == AT_PLANE)
		conf_need(c, map, "plane", "write the number of the plane");
	else
		conf_need(c, map, "at",
			  rule->place == AT_SWITCH ? "name a switch"
			  : rule->place == AT_HOST ? "name a host"
						   : "name a link or a port");
	read_strength(c, map, &f);
	f.from_ps = time_of(c, map, "from", 0);
	if (rule->has & NEEDS_UNTIL)
		conf_need(c, map, "until", "say when it is over");
	if (rule->has & HAS_UNTIL)
		f.until_ps = time_of(c, map, "until", PSEC_NEVER);
	snprintf(what, sizeof what, "a fault of kind %s", kinds[kind]);
	conf_finish(c, map, what);
	place_fault(r, map, &f);
}

static uint64_t read_kinds(struct reader *r, struct conf_node *list)
{
	static const char *const names[] = {
#define NAME(id, name, acts) name,
		FAULT_KINDS(NAME)
#undef NAME
			NULL,
	};
	uint64_t set = 0;

	if (!list)
		return (UINT64_C(1) << FAULT_KIND_COUNT) - 1;
	if (!conf_is_list(&r->conf, list))
		return 0;
	if (list->n == 0)
		conf_fail(&r->conf, list, "is empty; list kinds like [drop, flap]");
	for (struct conf_node *at = list->first; at && !r->conf.status; at = at->next) {
		uint32_t kind = conf_choice(&r->conf, at, names);

		if (kind == FAULT_REBOOT && r->s->topology.n_nodes == r->s->topology.n_hosts)
			conf_fail(&r->conf, at, "there is no switch to reboot; leave it out");
		set |= UINT64_C(1) << kind;
	}
	return set;
}

static void read_random(struct reader *r, struct conf_node *map)
{
	struct conf *c = &r->conf;
	struct scenario *s = r->s;
	struct scenario_random_faults f = {
		.count = conf_get_u32(c, map, "count", (struct conf_range){1, RANDOM_MAX, 1}),
		.kinds = read_kinds(r, conf_get(c, map, "kinds")),
		.from_ps = time_of(c, map, "from", 0),
	};

	if (s->end_ps == PSEC_NEVER)
		conf_need(c, map, "until", "say when the faults are over");
	f.until_ps = time_of(c, map, "until", s->end_ps);
	if (f.until_ps <= f.from_ps)
		conf_fail_key(c, map, "until", "is not after from; make it later");
	conf_finish(c, map, "random faults");
	if (c->status)
		return;
	struct scenario_random_faults *more =
		realloc(s->random_faults, (s->n_random_faults + 1u) * sizeof *more);

	if (!more) {
		conf_fail_memory(c);
		return;
	}
	s->random_faults = more;
	s->random_faults[s->n_random_faults++] = f;
}

static void read_entry(struct reader *r, struct conf_node *map)
{
	struct conf *c = &r->conf;

	if (!conf_is_map(c, map))
		return;
	uint32_t kind = conf_choice(
		c, conf_need(c, map, "kind", "name a fault, like drop, gray or down"), kinds);

	if (c->status)
		return;
	if (kind == RANDOM)
		read_random(r, map);
	else
		read_fault(r, map, (uint8_t)kind);
}

void read_faults(struct reader *r, struct conf_node *node)
{
	if (!node || r->conf.status)
		return;
	if (node->type != CONF_LIST) {
		read_entry(r, node);
		return;
	}
	for (struct conf_node *at = node->first; at && !r->conf.status; at = at->next)
		read_entry(r, at);
}
