#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/reader.h"

#define VARIANTS_MAX 256u
#define TARGETS_MAX  256u
#define SETS_MAX     64u

/* What a metric needs beside its bound. */
enum { TAKES_ENTRY = 1, TAKES_TIMES = 2 };

static const struct metric {
	const char *name;
	enum units_kind unit;
	uint8_t takes;
} metrics[SCENARIO_METRICS] = {
	[SCENARIO_FCT_MEAN] = {"fct_mean", UNITS_RATIO, TAKES_ENTRY},
	[SCENARIO_FCT_P99] = {"fct_p99", UNITS_RATIO, TAKES_ENTRY},
	[SCENARIO_FCT_LAST] = {"fct_last", UNITS_RATIO, 0},
	[SCENARIO_GOODPUT] = {"goodput", UNITS_RATE, 0},
	[SCENARIO_FLOW_RATE] = {"flow_rate", UNITS_RATIO, TAKES_ENTRY},
	[SCENARIO_JAIN] = {"jain", UNITS_RATIO, TAKES_ENTRY},
	[SCENARIO_RATE_AFTER] = {"rate_after", UNITS_RATIO, TAKES_TIMES},
	[SCENARIO_FLOWS_FAILED] = {"flows_failed", UNITS_COUNT, TAKES_ENTRY},
	[SCENARIO_QUIET_AFTER] = {"quiet_after", UNITS_TIME, 0},
	[SCENARIO_SLOWDOWN_OF_SHARE] = {"slowdown_of_share", UNITS_RATIO, 0},
	[SCENARIO_SPREAD_LAST] = {"spread_last", UNITS_RATIO, 0},
	[SCENARIO_WRAPPED_LAST] = {"wrapped_last", UNITS_RATIO, 0},
	[SCENARIO_SENT_OVER_TAKEN] = {"sent_over_taken", UNITS_RATIO, 0},
	[SCENARIO_PKTS_TO_SOURCES] = {"pkts_to_sources", UNITS_COUNT, 0},
	[SCENARIO_PKTS_PER_SECOND] = {"pkts_per_second", UNITS_COUNT, 0},
	[SCENARIO_PKTS_PER_DATA] = {"pkts_per_data", UNITS_RATIO, 0},
	[SCENARIO_PROBES_PER_DATA] = {"probes_per_data", UNITS_RATIO, 0},
};

const char *scenario_metric_name(uint8_t metric)
{
	return metrics[metric].name;
}

enum units_kind scenario_metric_unit(uint8_t metric)
{
	return metrics[metric].unit;
}

static bool is_list(struct conf *c, const struct conf_node *list, uint32_t most)
{
	if (!conf_is_list(c, list))
		return false;
	if (list->n > most)
		conf_fail(c, list, "%u entries; at most %u", list->n, most);
	return !c->status;
}

/* The run of that name; SCENARIO_NONE when there is none. */
static uint32_t run_named(const struct scenario *s, const char *name)
{
	if (strcmp(name, "main") == 0)
		return SCENARIO_MAIN;
	for (uint32_t i = 0; i < s->n_beside; i++)
		if (strcmp(s->beside[i].name, name) == 0)
			return i + 1;
	return SCENARIO_NONE;
}

static void read_name(struct reader *r, struct conf_node *map, struct scenario_variant *v)
{
	struct conf *c = &r->conf;
	const struct conf_node *node =
		conf_need(c, map, "name", "write what its row shall be called");
	const char *name = conf_text(c, node);

	if (c->status)
		return;
	if (strlen(name) >= sizeof v->name)
		conf_fail(c, node, "is %zu bytes long; at most %zu", strlen(name),
			  sizeof v->name - 1);
	else if (run_named(r->s, name) != SCENARIO_NONE)
		conf_fail(c, node, "\"%s\" is the name of another run; use a new one", name);
	else
		memcpy(v->name, name, strlen(name) + 1);
}

/* The changes as pairs of texts, in one block with the pairs. */
static void read_set(struct reader *r, struct conf_node *list, struct scenario_variant *v)
{
	struct conf *c = &r->conf;
	size_t bytes = 0;

	if (!is_list(c, list, SETS_MAX))
		return;
	for (const struct conf_node *at = list->first; at && !c->status; at = at->next) {
		const char *text = conf_text(c, at), *equals = strchr(text, '=');

		if (!c->status && (!equals || equals == text))
			conf_fail(c, at, "\"%.40s\" is no change; write key=value", text);
		bytes += sizeof *v->set + strlen(text) + 1;
	}
	if (c->status)
		return;
	v->set = malloc(bytes + 1);
	if (!v->set) {
		conf_fail_memory(c);
		return;
	}
	char *room = (char *)(v->set + list->n);

	for (const struct conf_node *at = list->first; at; at = at->next) {
		size_t len = strlen(at->text) + 1;
		char *equals = memcpy(room, at->text, len);

		equals = strchr(equals, '=');
		*equals = '\0';
		v->set[v->n++] = (struct scenario_override){room, equals + 1};
		room += len;
	}
}

void read_beside(struct reader *r, struct conf_node *list)
{
	struct conf *c = &r->conf;
	struct scenario *s = r->s;

	/* The variants of a variant are those beside it. */
	if (r->source->is_variant || !is_list(c, list, VARIANTS_MAX))
		return;
	s->beside = calloc(list->n + 1, sizeof *s->beside);
	if (!s->beside) {
		conf_fail_memory(c);
		return;
	}
	for (struct conf_node *at = list->first; at && !c->status; at = at->next) {
		struct scenario_variant v = {.set = NULL};

		if (!conf_is_map(c, at))
			return;
		read_name(r, at, &v);
		read_set(r, conf_need(c, at, "set", "list changes like [transport.kind=rc]"), &v);
		v.is_long = conf_get_flag(c, at, "long", false);
		conf_finish(c, at, "a variant");
		s->beside[s->n_beside++] = v;
	}
}

static void read_run(struct reader *r, struct conf_node *map, const char *key, uint32_t *run)
{
	struct conf *c = &r->conf;
	const struct conf_node *node = conf_get(c, map, key);
	const char *name = node ? conf_text(c, node) : "";

	if (!node || c->status || r->source->is_variant)
		return;
	*run = run_named(r->s, name);
	if (*run == SCENARIO_NONE)
		conf_fail(c, node, "no run is called \"%.40s\"; name one of beside, or main", name);
}

/* A name that ends with * is that of all runs in a row whose names begin so. */
static void read_group(struct reader *r, struct conf_node *map, struct scenario_target *t)
{
	struct conf *c = &r->conf;
	const struct scenario *s = r->s;
	const struct conf_node *node = conf_get(c, map, "in");
	const char *name = node ? conf_text(c, node) : "";
	size_t len = c->status ? 0 : strlen(name);

	t->n_in = 1;
	if (len == 0 || name[len - 1] != '*' || r->source->is_variant) {
		read_run(r, map, "in", &t->in);
		return;
	}
	uint32_t first = 0, end;

	while (first < s->n_beside && strncmp(s->beside[first].name, name, len - 1) != 0)
		first++;
	for (end = first; end < s->n_beside; end++)
		if (strncmp(s->beside[end].name, name, len - 1) != 0)
			break;
	t->in = first + 1;
	t->n_in = end - first;
	if (t->n_in == 0 || t->n_in > SCENARIO_GROUP)
		conf_fail(c, node, "\"%.40s\" is %u runs of beside; 1 to %u", name, t->n_in,
			  SCENARIO_GROUP);
}

/* most or least, in the unit of the figure. */
static void read_bound(struct reader *r, struct conf_node *map, struct scenario_target *t)
{
	struct conf *c = &r->conf;
	const struct conf_node *most = conf_get(c, map, "most"), *least = conf_get(c, map, "least");
	enum units_kind unit = t->of == SCENARIO_NONE ? metrics[t->metric].unit : UNITS_RATIO;

	if (c->status)
		return;
	if (!most == !least) {
		conf_fail(c, map, "needs one of most and least; write most: 1.04");
		return;
	}
	t->is_most = most != NULL;
	t->bound = conf_number(c, most ? most : least, unit, (struct conf_range){0, UINT64_MAX, 0});
}

static void read_times_of(struct conf *c, struct conf_node *map, struct scenario_target *t)
{
	static const char *const keys[] = {"from", "to", "before"};
	psec *const times[] = {&t->from_ps, &t->to_ps, &t->before_ps};

	for (uint32_t i = 0; i < 3; i++)
		*times[i] = conf_number(c, conf_need(c, map, keys[i], "write a time like 2ms"),
					UNITS_TIME, (struct conf_range){1, READER_TIME_MAX, 0});
	if (!c->status && t->from_ps >= t->to_ps)
		conf_fail_key(c, map, "from", "is not before to; make it earlier");
	if (!c->status && t->before_ps < t->to_ps - t->from_ps)
		conf_fail_key(c, map, "before",
			      "leaves less time than from .. to has; make it "
			      "later, or the other shorter");
}

static void read_target(struct reader *r, struct conf_node *map, struct scenario_target *t)
{
	struct conf *c = &r->conf;
	const char *names[SCENARIO_METRICS + 1];
	char what[64];

	for (uint32_t i = 0; i < SCENARIO_METRICS; i++)
		names[i] = metrics[i].name;
	names[SCENARIO_METRICS] = NULL;
	*t = (struct scenario_target){.of = SCENARIO_NONE, .entry = SCENARIO_NONE};
	t->metric = (uint8_t)conf_choice(
		c, conf_need(c, map, "what", "name a metric like fct_mean"), names);
	read_group(r, map, t);
	if (conf_get(c, map, "of"))
		t->of = SCENARIO_MAIN;
	read_run(r, map, "of", &t->of);
	read_bound(r, map, t);
	if (metrics[t->metric].takes & TAKES_ENTRY)
		t->entry = conf_get_u32(c, map, "entry",
					(struct conf_range){0, UINT32_MAX - 1, SCENARIO_NONE});
	if (metrics[t->metric].takes & TAKES_TIMES)
		read_times_of(c, map, t);
	snprintf(what, sizeof what, "a target of %s", metrics[t->metric].name);
	conf_finish(c, map, what);
	const char *problem = c->status || r->source->is_variant ||
					      (t->in != SCENARIO_MAIN && t->of != SCENARIO_MAIN)
				      ? NULL
				      : scenario_target_problem(r->s, t);

	if (problem)
		read_refused(r, map, problem);
}

void read_targets(struct reader *r, struct conf_node *list)
{
	struct conf *c = &r->conf;
	struct scenario *s = r->s;

	if (!is_list(c, list, TARGETS_MAX))
		return;
	s->targets = calloc(list->n + 1, sizeof *s->targets);
	if (!s->targets) {
		conf_fail_memory(c);
		return;
	}
	for (struct conf_node *at = list->first; at && !c->status; at = at->next) {
		if (!conf_is_map(c, at))
			return;
		struct scenario_target *t = &s->targets[s->n_targets++];

		read_target(r, at, t);
		s->is_watched |= t->metric == SCENARIO_QUIET_AFTER;
	}
}

const char *scenario_target_problem(const struct scenario *s, const struct scenario_target *target)
{
	psec times[] = {target->from_ps, target->to_ps, target->before_ps};

	if (target->entry != SCENARIO_NONE && target->entry >= s->n_entries)
		return "entry: the workload has no such entry; count from 0";
	if (target->metric != SCENARIO_RATE_AFTER)
		return NULL;
	if (s->tick_ps == 0)
		return "what: needs goodput over time; set measure.tick";
	for (uint32_t i = 0; i < 3; i++)
		if (times[i] % s->tick_ps != 0)
			return "from: from, to and before are multiples of measure.tick; move "
			       "them, or make it finer";
	return NULL;
}

int scenario_read_variant(struct scenario *s, const struct scenario_source *source,
			  const struct scenario_variant *variant, char *error, size_t error_len)
{
	struct scenario_source with = *source;
	uint32_t n = source->n_overrides + variant->n;
	struct scenario_override *all = calloc(n + 1, sizeof *all);
	char sentence[SCENARIO_ERROR_MAX];

	if (!all) {
		snprintf(error, error_len, "out of memory");
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		all[i] = i < source->n_overrides ? source->overrides[i]
						 : variant->set[i - source->n_overrides];
	with.overrides = all;
	with.n_overrides = n;
	with.is_variant = true;
	int answer = scenario_read(s, &with, sentence, sizeof sentence);

	if (answer)
		snprintf(error, error_len, "beside %s: %s", variant->name, sentence);
	free(all);
	return answer;
}
