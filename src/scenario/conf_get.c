#include "scenario/conf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/edits.h"

const char *conf_nearest(const char *word, const char *const *words, uint32_t n)
{
	struct edits_guess guess = edits_guess(word);

	for (uint32_t i = 0; i < n; i++)
		edits_offer(&guess, words[i]);
	return guess.nearest;
}

static void remember(struct conf *c, struct conf_node *map, const char *key)
{
	for (uint32_t i = 0; i < map->n_known; i++)
		if (strcmp(map->known[i], key) == 0)
			return;
	if (map->n_known % 16 == 0) {
		const char **more = conf_alloc(c, (map->n_known + 16) * sizeof *more);

		if (!more)
			return;
		if (map->n_known > 0)
			memcpy(more, map->known, map->n_known * sizeof *more);
		map->known = more;
	}
	map->known[map->n_known++] = key;
}

struct conf_node *conf_get(struct conf *c, struct conf_node *map, const char *key)
{
	if (!map || map->type != CONF_MAP || c->status)
		return NULL;
	remember(c, map, key);
	for (struct conf_node *child = map->first; child; child = child->next)
		if (strcmp(child->key, key) == 0) {
			child->used = true;
			return child;
		}
	return NULL;
}

void conf_refuse_old(struct conf *c, struct conf_node *map, const char *old, const char *key)
{
	if (!map || c->status)
		return;
	for (const struct conf_node *child = map->first; child; child = child->next)
		if (strcmp(child->key, old) == 0)
			conf_fail(c, child, "this key is called \"%s\" now", key);
}

struct conf_node *conf_need(struct conf *c, struct conf_node *map, const char *key,
			    const char *hint)
{
	struct conf_node *node = conf_get(c, map, key);

	if (node || !map || c->status)
		return node;
	/* A misspelt key is the likelier mistake, and the better message. */
	for (const struct conf_node *child = map->first; child; child = child->next)
		if (!child->used && conf_nearest(child->key, &key, 1))
			conf_fail(c, child, "unknown key; did you mean \"%s\"?", key);
	conf_fail_key(c, map, key, "is missing; %s", hint);
	return NULL;
}

bool conf_is_map(struct conf *c, const struct conf_node *node)
{
	if (!node || c->status)
		return false;
	if (node->type != CONF_MAP)
		conf_fail(c, node, "is %s; it must be a map, like {key: value}",
			  node->type == CONF_LIST ? "a list" : "a single value");
	return node->type == CONF_MAP;
}

bool conf_is_list(struct conf *c, const struct conf_node *node)
{
	if (!node || c->status)
		return false;
	if (node->type != CONF_LIST)
		conf_fail(c, node, "is %s; it must be a list, like [one, two]",
			  node->type == CONF_MAP ? "a map" : "a single value");
	return node->type == CONF_LIST;
}

const char *conf_text(struct conf *c, const struct conf_node *node)
{
	if (!node || c->status)
		return "";
	if (node->type != CONF_TEXT) {
		conf_fail(c, node, "is %s; it must be a single value",
			  node->type == CONF_MAP ? "a map" : "a list");
		return "";
	}
	if (!node->text[0])
		conf_fail(c, node, "is empty; write a value, or leave the key out");
	return node->text;
}

uint64_t conf_number(struct conf *c, const struct conf_node *node, enum units_kind kind,
		     struct conf_range range)
{
	char min[40], max[40];
	const char *text = conf_text(c, node);
	uint64_t value = 0;

	if (!node || c->status)
		return range.min;
	const char *problem = units_read(kind, text, &value);

	if (problem) {
		conf_fail(c, node, "\"%.40s\" %s; write %s", text, problem, units_like(kind));
		return range.min;
	}
	if (value >= range.min && value <= range.max)
		return value;
	units_write(kind, range.min, min, sizeof min);
	units_write(kind, range.max, max, sizeof max);
	if (value > range.max)
		conf_fail(c, node, "\"%.40s\" is too large; at most %s", text, max);
	else
		conf_fail(c, node, "\"%.40s\" is too small; at least %s", text, min);
	return range.min;
}

uint32_t conf_choice(struct conf *c, const struct conf_node *node, const char *const *names)
{
	const char *text = conf_text(c, node);
	char list[300];
	size_t at = 0;

	if (!node || c->status)
		return 0;
	for (uint32_t i = 0; names[i]; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	for (uint32_t i = 0; names[i] && at < sizeof list; i++)
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "",
				       names[i]);
	conf_fail(c, node, "\"%.40s\" is unknown; one of %s", text, list);
	return 0;
}

bool conf_flag(struct conf *c, const struct conf_node *node)
{
	static const char *const names[] = {"false", "true", "no", "yes", "off", "on", NULL};

	return conf_choice(c, node, names) % 2 == 1;
}

uint64_t conf_get_number(struct conf *c, struct conf_node *map, const char *key,
			 enum units_kind kind, struct conf_range range)
{
	const struct conf_node *node = conf_get(c, map, key);

	return node ? conf_number(c, node, kind, range) : range.fallback;
}

uint32_t conf_get_u32(struct conf *c, struct conf_node *map, const char *key,
		      struct conf_range range)
{
	return (uint32_t)conf_get_number(c, map, key, UNITS_COUNT, range);
}

uint32_t conf_get_choice(struct conf *c, struct conf_node *map, const char *key,
			 const char *const *names, uint32_t fallback)
{
	const struct conf_node *node = conf_get(c, map, key);

	return node ? conf_choice(c, node, names) : fallback;
}

bool conf_get_flag(struct conf *c, struct conf_node *map, const char *key, bool fallback)
{
	const struct conf_node *node = conf_get(c, map, key);

	return node ? conf_flag(c, node) : fallback;
}

struct conf_node *conf_get_map(struct conf *c, struct conf_node *map, const char *key)
{
	struct conf_node *node = conf_get(c, map, key);

	return node && conf_is_map(c, node) ? node : NULL;
}

void conf_finish(struct conf *c, const struct conf_node *map, const char *what)
{
	char list[360];
	size_t at = 0;

	if (!map || c->status)
		return;
	for (const struct conf_node *child = map->first; child; child = child->next) {
		if (child->used)
			continue;
		const char *near = conf_nearest(child->key, map->known, map->n_known);

		if (near) {
			conf_fail(c, child, "unknown key in %s; did you mean \"%s\"?", what, near);
			return;
		}
		for (uint32_t i = 0; i < map->n_known && at < sizeof list; i++)
			at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "",
					       map->known[i]);
		conf_fail(c, child, "unknown key in %s; known are %s", what, list);
		return;
	}
}
