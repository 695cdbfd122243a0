#include "scenario/conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_MAX 64u

static void fail_set(struct conf *c, const char *key, const char *sentence)
{
	char message[512];

	snprintf(message, sizeof message, "--set %.200s: %s", key, sentence);
	conf_fail_text(c, message);
}

/* Takes the next segment of a dotted key ("a.b[2].c": a, b, 2, c) off *key. False when there is
 * none that makes sense. */
static bool take_segment(const char **key, char segment[SEGMENT_MAX])
{
	size_t len = strcspn(*key, ".[]");

	if (len == 0 || len >= SEGMENT_MAX)
		return false;
	memcpy(segment, *key, len);
	segment[len] = '\0';
	*key += len;
	if (**key == ']')
		++*key;
	if (**key == '.' || **key == '[')
		return *++*key != '\0';
	return **key == '\0';
}

/* The number a segment is, or UINT32_MAX. */
static uint32_t index_of(const char *segment)
{
	uint64_t value;

	if (units_read(UNITS_COUNT, segment, &value) || value >= UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)value;
}

static struct conf_node *child_of(const struct conf_node *node, const char *key)
{
	for (struct conf_node *child = node->first; child; child = child->next)
		if (strcmp(child->key, key) == 0)
			return child;
	return NULL;
}

static void clear(struct conf_node *node, enum conf_type type)
{
	node->type = type;
	node->first = node->last = NULL;
	node->n = 0;
	node->text = "";
	node->line = 0;
}

static struct conf_node *step_list(struct conf *c, struct conf_node *list, const char *segment,
				   const char *key)
{
	uint32_t index = index_of(segment);
	struct conf_node *child = list->first;
	char sentence[160];

	if (index == list->n)
		return conf_add(c, list, NULL);
	if (index > list->n) {
		snprintf(sentence, sizeof sentence,
			 "the list has %u entries; say which one, 0 to %u", list->n, list->n);
		fail_set(c, key, sentence);
		return NULL;
	}
	while (index-- > 0)
		child = child->next;
	return child;
}

/* One step down from node, making what is not there. */
static struct conf_node *step(struct conf *c, struct conf_node *node, const char *segment,
			      const char *key)
{
	uint32_t index = index_of(segment);

	if (node->type == CONF_LIST && node->n == 1 && index == UINT32_MAX)
		node = node->first;
	if (node->type == CONF_LIST)
		return step_list(c, node, segment, key);
	if (node->type == CONF_TEXT)
		clear(node, CONF_MAP);
	struct conf_node *child = child_of(node, segment);

	if (child)
		return child;
	if (index == 0 && node->parent)
		return node;
	if (index != UINT32_MAX) {
		fail_set(c, key, "there is a single map, no list; leave the index out");
		return NULL;
	}
	if (node->n >= CONF_KEYS_MAX) {
		fail_set(c, key, "the map is full; set fewer keys");
		return NULL;
	}
	return conf_add(c, node, segment);
}

int conf_set(struct conf *c, const char *key, const char *value)
{
	struct conf_node *node = c->root;
	const char *rest = key;
	char segment[SEGMENT_MAX];
	uint32_t depth = 0;

	if (c->status)
		return c->status;
	do {
		if (!take_segment(&rest, segment) || ++depth >= CONF_DEPTH_MAX) {
			fail_set(c, key,
				 "not a key; write it like topology.hosts or workload.0.bytes");
			return c->status;
		}
		node = step(c, node, segment, key);
		if (!node)
			return c->status;
	} while (*rest);

	size_t len = strlen(value);
	char *copy = conf_alloc(c, strlen(key) + len + 2);

	if (!copy)
		return c->status;
	clear(node, CONF_TEXT);
	node->set = memcpy(copy, key, strlen(key) + 1);
	node->text = memcpy(copy + strlen(key) + 1, value, len + 1);
	if (value[0] == '[' || value[0] == '{') {
		/* Inside, lines mean nothing: what is read gets none. */
		return len > CONF_TEXT_MAX ? (fail_set(c, key, "too long; use a file"), c->status)
					   : conf_parse(c, node, value, len);
	}
	return 0;
}
