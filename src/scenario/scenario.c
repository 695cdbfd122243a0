#include "scenario/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/reader.h"

void read_refused(struct reader *r, const struct conf_node *map, const char *sentence)
{
	char key[24];
	size_t len = strspn(sentence, "abcdefghijklmnopqrstuvwxyz_");

	if (len > 0 && len < sizeof key && strncmp(sentence + len, ": ", 2) == 0) {
		memcpy(key, sentence, len);
		key[len] = '\0';
		conf_fail_key(&r->conf, map, key, "%s", sentence + len + 2);
		return;
	}
	conf_fail(&r->conf, map, "%s", sentence);
}

char *read_other_file(struct reader *r, const struct conf_node *node, size_t *len)
{
	const char *name = conf_text(&r->conf, node);
	char sentence[256] = "cannot be read";
	char *text = NULL;

	if (r->conf.status)
		return NULL;
	if (r->source->read_file)
		text = r->source->read_file(r->source->file, name, len, sentence, sizeof sentence);
	else
		snprintf(sentence, sizeof sentence, "no other files can be read here");
	if (!text)
		conf_fail(&r->conf, node, "\"%.80s\": %s; name a file beside this one", name,
			  sentence);
	return text;
}

uint32_t read_host(struct reader *r, const struct conf_node *node)
{
	const struct topology *t = &r->s->topology;
	const char *name = conf_text(&r->conf, node);
	uint64_t number = 0;

	if (r->conf.status)
		return UINT32_MAX;
	uint32_t host = topology_find_node(t, name);

	if (host < t->n_hosts)
		return host;
	if (!units_read(UNITS_COUNT, name, &number) && number < t->n_hosts)
		return (uint32_t)number;
	conf_fail(&r->conf, node, "there is no host \"%.40s\"; hosts are %s to %s, or 0 to %u",
		  name, t->labels[0], t->labels[t->n_hosts - 1], t->n_hosts - 1);
	return UINT32_MAX;
}

static void read_text(struct conf *c, struct conf_node *map, const char *key, char *text,
		      size_t text_len)
{
	const struct conf_node *node = conf_get(c, map, key);
	const char *value = node ? conf_text(c, node) : "";

	if (strlen(value) >= text_len)
		conf_fail(c, node, "is %zu bytes long; at most %zu", strlen(value), text_len - 1);
	else
		memcpy(text, value, strlen(value) + 1);
}

/* What stands at the top of the file by itself. */
static void read_head(struct reader *r, struct conf_node *root)
{
	struct conf *c = &r->conf;
	struct conf_node *measure = conf_get_map(c, root, "measure");

	read_text(c, root, "name", r->s->name, sizeof r->s->name);
	read_text(c, root, "summary", r->s->summary, sizeof r->s->summary);
	r->s->seed = conf_get_number(c, root, "seed", UNITS_COUNT,
				     (struct conf_range){0, UINT64_MAX, 1});
	r->s->end_ps = conf_get_number(c, root, "end", UNITS_TIME,
				       (struct conf_range){1, READER_TIME_MAX, PSEC_NEVER});
	r->s->tick_ps = conf_get_number(c, measure, "tick", UNITS_TIME,
					(struct conf_range){PSEC_NS, READER_TIME_MAX, 0});
	conf_finish(c, measure, "measure");
}

static void build_routing(struct reader *r)
{
	char error[256];

	if (r->conf.status)
		return;
	int rc = routing_build(&r->routing, &r->s->topology, &r->s->routing, r->s->seed, error,
			       sizeof error);

	if (rc == -ENOMEM)
		conf_fail_memory(&r->conf);
	else if (rc)
		conf_fail_key(&r->conf, r->fabric ? r->fabric : r->conf.root,
			      r->fabric ? "routing" : "fabric", "%s", error);
	r->has_routing = rc == 0;
}

static void read_all(struct reader *r)
{
	struct conf *c = &r->conf;
	struct conf_node *root = c->root;

	read_head(r, root);
	r->fabric = conf_get_map(c, root, "fabric");
	r->transport = conf_get_map(c, root, "transport");
	struct conf_node *groups = conf_get_map(c, root, "groups");
	struct conf_node *faults = conf_get(c, root, "faults");
	struct conf_node *beside = conf_get(c, root, "beside");
	struct conf_node *targets = conf_get(c, root, "targets");
	struct conf_node *topology =
		conf_need(c, root, "topology", "write topology: {kind: leaf-spine}");
	struct conf_node *workload =
		conf_need(c, root, "workload", "write workload: {kind: permutation}");

	conf_finish(c, root, "a scenario");
	if (conf_is_map(c, topology))
		read_topology(r, topology);
	read_forwarding(r);
	read_payload(r);
	build_routing(r);
	read_times(r);
	read_queues(r);
	read_transport(r);
	read_workload(r, workload);
	read_groups(r, groups);
	read_faults(r, faults);
	read_beside(r, beside);
	read_targets(r, targets);
}

int scenario_read(struct scenario *s, const struct scenario_source *source, char *error,
		  size_t error_len)
{
	struct reader r = {
		.conf = {.file = source->file, .error = error, .error_len = error_len},
		.source = source,
		.s = s,
	};

	memset(s, 0, sizeof *s);
	workload_init(&s->workload);
	conf_load(&r.conf, source->text, source->len);
	for (uint32_t i = 0; i < source->n_overrides && !r.conf.status; i++)
		conf_set(&r.conf, source->overrides[i].key, source->overrides[i].value);
	if (!r.conf.status)
		read_all(&r);
	if (r.has_routing)
		routing_fini(&r.routing);
	if (r.conf.status)
		scenario_fini(s);
	conf_free(&r.conf);
	return r.conf.status;
}

void scenario_fini(struct scenario *s)
{
	topology_fini(&s->topology);
	workload_fini(&s->workload);
	free(s->faults);
	free(s->random_faults);
	free(s->entries);
	free(s->targets);
	for (uint32_t i = 0; i < s->n_beside; i++)
		free(s->beside[i].set);
	free(s->beside);
	memset(s, 0, sizeof *s);
}
