#include "scenario/matrix.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/lines.h"
#include "scenario/units.h"

#define TRIGGER_MAX UINT32_MAX
#define WAITS_MAX   (1u << 24)

/* What a line said about a flow beyond the flow itself. Trigger numbers are from 1, 0 is none. */
struct connection {
	uint32_t line;
	uint32_t waits;    /* for this trigger */
	uint32_t pulls[2]; /* these triggers once it is delivered */
};

/* A "trigger id K ..." line. */
struct trigger {
	uint32_t id, line;
	uint32_t count; /* how many pulls it takes */
	uint32_t pulls, waits;
	uint32_t first; /* of its waiters in waiters[] */
};

struct table {
	struct lines lines;
	const struct matrix *matrix;
	struct workload *w;
	uint32_t base; /* the first flow that is ours */
	uint64_t nodes, connections, triggers;
	uint32_t nodes_line, connections_line, triggers_line; /* 0: not seen */
	struct connection *conns;
	uint32_t n_conns;
	struct trigger *list; /* by rising id once all are read */
	uint32_t n_list;
	uint32_t *waiters; /* flows, those of one trigger in a row */
};

#define FAIL(t, place, ...) ((t)->lines.line = (place), lines_fail(&(t)->lines, __VA_ARGS__))

/* The number that a field has; a mistake names the field. */
static bool read_number(struct lines *l, const char *field, const char *text,
			struct lines_range range, uint64_t *value)
{
	const char *problem = units_read(UNITS_COUNT, text, value);

	if (problem)
		return lines_fail(l, "%s: \"%s\" %s; write a whole number", field, text, problem);
	if (*value < range.min || *value > range.max)
		return lines_fail(l, "%s: %s is out of range; %" PRIu64 " to %" PRIu64, field, text,
				  range.min, range.max);
	return true;
}

/* A header line. Room is made for what it promises, which the bytes of the file bound. */
static bool read_header(struct table *t, uint64_t *value, uint32_t *line, uint64_t max)
{
	struct lines *l = &t->lines;

	if (*line)
		return lines_fail(l, "%s: stands twice, first in line %u; keep one", l->words[0],
				  *line);
	if (l->n != 2)
		return lines_fail(l, "%s: %u words; write %s and a number", l->words[0], l->n,
				  l->words[0]);
	*line = l->line;
	return read_number(l, l->words[0], l->words[1], (struct lines_range){0, max}, value);
}

static bool read_nodes(struct table *t)
{
	if (!read_header(t, &t->nodes, &t->nodes_line, UINT32_MAX))
		return false;
	if (t->nodes == 0 || t->nodes > t->matrix->hosts)
		return lines_fail(&t->lines,
				  "nodes: %" PRIu64
				  ", but the topology has %u hosts; use a larger one",
				  t->nodes, t->matrix->hosts);
	return true;
}

static bool read_host(struct table *t, const char *field, const char *text, uint32_t *host)
{
	uint64_t number = 0;

	if (!read_number(&t->lines, field, text, (struct lines_range){0, UINT64_MAX}, &number))
		return false;
	if (number >= t->nodes)
		return lines_fail(&t->lines,
				  "%s: host %s does not exist; the matrix has hosts 0 to %" PRIu64,
				  field, text, t->nodes - 1);
	*host = (uint32_t)number;
	return true;
}

/* "3->7" into two hosts. */
static bool read_ends(struct table *t, struct workload_flow *flow)
{
	struct lines *l = &t->lines;
	char *arrow = strstr(l->words[0], "->");

	*arrow = '\0';
	if (!read_host(t, "src", l->words[0], &flow->src) ||
	    !read_host(t, "dst", arrow + 2, &flow->dst))
		return false;
	if (flow->src == flow->dst)
		return lines_fail(l, "dst: host %u sends to itself; use two hosts", flow->src);
	return true;
}

enum attribute { ID, START, SIZE, TRIGGER, SEND_DONE, RECV_DONE, ATTRIBUTES };

static const struct {
	const char *name;
	struct lines_range range;
} attributes[ATTRIBUTES] = {
	[ID] = {"id", {0, UINT32_MAX}},
	[START] = {"start", {0, UINT64_C(1000000000000000)}},
	[SIZE] = {"size", {1, WORKLOAD_BYTES_MAX}},
	[TRIGGER] = {"trigger", {1, TRIGGER_MAX}},
	[SEND_DONE] = {"send_done_trigger", {1, TRIGGER_MAX}},
	[RECV_DONE] = {"recv_done_trigger", {1, TRIGGER_MAX}},
};

static bool read_attributes(struct table *t, uint64_t values[ATTRIBUTES], uint32_t *seen)
{
	struct lines *l = &t->lines;

	for (uint32_t i = 1; i < l->n; i += 2) {
		uint32_t a = 0;

		while (a < ATTRIBUTES && strcmp(attributes[a].name, l->words[i]) != 0)
			a++;
		if (a == ATTRIBUTES)
			return lines_fail(
				l,
				"\"%s\" is not supported; a connection has id, start, size, "
				"trigger, send_done_trigger and recv_done_trigger",
				l->words[i]);
		if (*seen >> a & 1)
			return lines_fail(l, "%s: stands twice; keep one", l->words[i]);
		*seen |= 1u << a;
		if (i + 1 >= l->n)
			return lines_fail(l, "%s: no number follows; write one", l->words[i]);
		if (!read_number(l, l->words[i], l->words[i + 1], attributes[a].range, &values[a]))
			return false;
	}
	if (!(*seen >> SIZE & 1))
		return lines_fail(l, "size: is missing; write size and the bytes");
	if (!(*seen >> START & 1) && !(*seen >> TRIGGER & 1))
		return lines_fail(l, "start: is missing; write start and picoseconds");
	return true;
}

static bool read_connection(struct table *t)
{
	struct lines *l = &t->lines;
	struct workload_flow flow = t->matrix->like;
	uint64_t values[ATTRIBUTES] = {0};
	uint32_t seen = 0;

	if (!t->nodes_line || !t->connections_line)
		return lines_fail(l, "a connection before Nodes and Connections; put these first");
	if (t->n_conns == t->connections)
		return lines_fail(
			l, "one connection more than the %" PRIu64 " of line %u; make them agree",
			t->connections, t->connections_line);
	if (!read_ends(t, &flow) || !read_attributes(t, values, &seen))
		return false;
	flow.bytes = values[SIZE];
	flow.start_ps += values[START];
	flow.id = seen >> ID & 1 ? (uint32_t)values[ID] : t->n_conns + 1;
	if (flow.bytes > WORKLOAD_BYTES_MAX / flow.repeat)
		return lines_fail(l, "size: times repeat, it is above 256 TiB; use less");
	if (flow.message_bytes == 0 && flow.bytes > WORKLOAD_MESSAGE_MAX)
		return lines_fail(l, "size: above the 1 GiB of one message; set message in the "
				     "workload");
	t->conns[t->n_conns++] =
		(struct connection){l->line,
				    (uint32_t)values[TRIGGER],
				    {(uint32_t)values[SEND_DONE], (uint32_t)values[RECV_DONE]}};
	return workload_add(t->w, &flow) != UINT32_MAX || lines_no_memory(l);
}

/* "trigger id 3 oneshot" or "trigger id 3 barrier count 8". */
static bool read_trigger(struct table *t)
{
	struct lines *l = &t->lines;
	uint64_t id = 0, count = 1;

	if (l->n < 4 || strcmp(l->words[1], "id") != 0)
		return lines_fail(l, "write trigger id K oneshot, or trigger id K barrier count N");
	if (!read_number(l, "id", l->words[2], attributes[TRIGGER].range, &id))
		return false;
	if (strcmp(l->words[3], "barrier") == 0) {
		if (l->n != 6 || strcmp(l->words[4], "count") != 0)
			return lines_fail(l, "a barrier needs a count; write barrier count N");
		if (!read_number(l, "count", l->words[5], (struct lines_range){1, UINT32_MAX},
				 &count))
			return false;
	} else if (strcmp(l->words[3], "oneshot") != 0 || l->n != 4) {
		return lines_fail(l, "\"%s\" is not supported; use oneshot or barrier",
				  l->words[3]);
	}
	if (t->n_list == t->triggers)
		return lines_fail(
			l, "one trigger more than Triggers says, %" PRIu64 "; make them agree",
			t->triggers);
	t->list[t->n_list++] =
		(struct trigger){.id = (uint32_t)id, .line = l->line, .count = (uint32_t)count};
	return true;
}

/* Memory for what a header announces; NULL after a mistake. A line takes at least 8 bytes, so a
 * header cannot ask for more than its file has room for. */
static void *make_room(struct table *t, uint64_t n, size_t size)
{
	if (n > t->matrix->len / 8) {
		lines_fail(&t->lines,
			   "%s: %" PRIu64 " are more than the lines that follow; "
			   "make them agree",
			   t->lines.words[0], n);
		return NULL;
	}
	void *memory = calloc(n + 1, size);

	if (!memory)
		lines_no_memory(&t->lines);
	return memory;
}

static bool read_line(struct table *t)
{
	struct lines *l = &t->lines;

	if (strstr(l->words[0], "->"))
		return read_connection(t);
	if (strcmp(l->words[0], "nodes") == 0)
		return read_nodes(t);
	if (strcmp(l->words[0], "connections") == 0)
		return read_header(t, &t->connections, &t->connections_line, WORKLOAD_FLOWS_MAX) &&
		       (t->conns = make_room(t, t->connections, sizeof *t->conns));
	if (strcmp(l->words[0], "triggers") == 0)
		return read_header(t, &t->triggers, &t->triggers_line, WORKLOAD_FLOWS_MAX) &&
		       (t->list = make_room(t, t->triggers, sizeof *t->list));
	if (strcmp(l->words[0], "trigger") == 0)
		return read_trigger(t);
	if (strcmp(l->words[0], "failures") == 0 && l->n == 2 && strcmp(l->words[1], "0") == 0)
		return true;
	return lines_fail(l,
			  "\"%s\" is not supported; lines are Nodes, Connections, Triggers, "
			  "src->dst and trigger",
			  l->words[0]);
}

static int by_id(const void *a, const void *b)
{
	const struct trigger *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static struct trigger *find(const struct table *t, uint32_t id)
{
	struct trigger key = {.id = id};
	uint32_t low = 0, high = t->n_list;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (by_id(&t->list[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->n_list && t->list[low].id == id ? &t->list[low] : NULL;
}

/* Counts who waits for each trigger and who pulls it. */
static bool count_uses(struct table *t)
{
	static const enum attribute fields[3] = {TRIGGER, SEND_DONE, RECV_DONE};

	for (uint32_t i = 0; i < t->n_conns; i++) {
		const struct connection *c = &t->conns[i];
		const uint32_t used[3] = {c->waits, c->pulls[0], c->pulls[1]};

		for (uint32_t j = 0; j < 3; j++) {
			struct trigger *trigger = used[j] ? find(t, used[j]) : NULL;

			if (!used[j])
				continue;
			if (!trigger)
				return FAIL(t, c->line,
					    "%s: there is no trigger %u; add a line for it",
					    attributes[fields[j]].name, used[j]);
			trigger->waits += j == 0;
			trigger->pulls += j > 0;
		}
	}
	return true;
}

/* A flow waits for all flows that pull its trigger, so the trigger must need all of them. */
static bool check_triggers(struct table *t)
{
	uint64_t total = 0;
	uint32_t next = 0;

	for (uint32_t i = 0; i < t->n_list; i++) {
		struct trigger *one = &t->list[i];

		if (i > 0 && one->id == t->list[i - 1].id)
			return FAIL(t, one->line, "trigger %u stands twice; keep one", one->id);
		if (one->waits > 0 && one->pulls != one->count)
			return FAIL(t, one->line,
				    "trigger %u goes off after %u of the %u flows that pull it; "
				    "only all of them are supported",
				    one->id, one->count, one->pulls);
		total += (uint64_t)one->waits * one->pulls;
		if (total > WAITS_MAX)
			return FAIL(t, one->line, "more than %u dependencies; use fewer",
				    WAITS_MAX);
		one->first = next;
		next += one->waits;
	}
	return true;
}

/* Adds the dependencies, in the order of the flows that others wait for. */
static bool add_waits(struct table *t)
{
	uint32_t *fill = calloc(t->n_list + 1u, sizeof *fill);
	int error = fill && t->waiters ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < t->n_conns && !error; i++)
		if (t->conns[i].waits) {
			const struct trigger *one = find(t, t->conns[i].waits);

			assert(one);
			t->waiters[one->first + fill[one - t->list]++] = i;
		}
	free(fill);
	for (uint32_t i = 0; i < t->n_conns && !error; i++)
		for (uint32_t j = 0; j < 2 && !error; j++) {
			const struct trigger *one =
				t->conns[i].pulls[j] ? find(t, t->conns[i].pulls[j]) : NULL;

			for (uint32_t k = 0; one && k < one->waits && !error; k++) {
				uint32_t later = t->waiters[one->first + k];

				if (later == i)
					return FAIL(
						t, t->conns[i].line,
						"the flow waits for itself; use another trigger");
				error = workload_wait(t->w, t->base + i, t->base + later);
			}
		}
	return !error || lines_no_memory(&t->lines);
}

/* Flows that wait in a circle would never start: takes away, again and again, flows that wait for
 * nobody; all must go. */
static bool check_circles(struct table *t)
{
	struct workload *w = t->w;
	uint32_t *before = calloc(t->n_conns + 1u, sizeof *before);
	uint32_t *ready = calloc(t->n_conns + 1u, sizeof *ready);
	uint32_t n = 0, done = 0;

	if (!before || !ready) {
		free(before);
		free(ready);
		return lines_no_memory(&t->lines);
	}
	for (uint32_t i = 0; i < t->n_conns; i++) {
		before[i] = w->flows[t->base + i].n_before;
		if (before[i] == 0)
			ready[n++] = i;
	}
	for (; done < n; done++) {
		const struct workload_flow *f = &w->flows[t->base + ready[done]];

		for (uint32_t k = 0; k < f->n_after; k++) {
			uint32_t later = w->after[f->first_after + k] - t->base;

			if (--before[later] == 0)
				ready[n++] = later;
		}
	}
	for (uint32_t i = 0; i < t->n_conns && done < t->n_conns; i++)
		if (before[i] > 0) {
			FAIL(t, t->conns[i].line,
			     "the flow waits for flows that wait for it; "
			     "break the circle");
			break;
		}
	free(before);
	free(ready);
	return done == t->n_conns;
}

static bool read_table(struct table *t)
{
	while (lines_next(&t->lines))
		if (!read_line(t))
			return false;
	if (t->lines.failed)
		return false;
	if (!t->nodes_line || !t->connections_line)
		return FAIL(t, t->lines.line, "%s is missing; write it with a number",
			    t->nodes_line ? "Connections" : "Nodes");
	if (t->n_conns != t->connections)
		return FAIL(t, t->connections_line,
			    "connections: %" PRIu64 ", but there are %u; make them agree",
			    t->connections, t->n_conns);
	if (t->n_list != t->triggers)
		return FAIL(t, t->triggers_line,
			    "triggers: %" PRIu64 ", but there are %u; make them agree", t->triggers,
			    t->n_list);
	if (t->n_list > 0)
		qsort(t->list, t->n_list, sizeof *t->list, by_id);
	if (!count_uses(t) || !check_triggers(t))
		return false;
	if (t->n_list == 0)
		return true;
	t->waiters = calloc(t->n_conns + 1u, sizeof *t->waiters);
	return add_waits(t) && check_circles(t);
}

int matrix_read(struct workload *w, const struct matrix *m, char *error, size_t error_len)
{
	struct table t = {.lines = {.name = m->name,
				    .at = m->text,
				    .left = m->len,
				    .error = error,
				    .error_len = error_len},
			  .matrix = m,
			  .w = w,
			  .base = w->n};
	bool ok = read_table(&t);

	free(t.conns);
	free(t.list);
	free(t.waiters);
	if (ok)
		return 0;
	return t.lines.no_memory ? -ENOMEM : -EINVAL;
}
