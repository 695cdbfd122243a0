#include "scenario/conf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#define CHUNK_BYTES 65536u

struct conf_chunk {
	struct conf_chunk *next;
	size_t used, size;
	max_align_t bytes[];
};

void *conf_alloc(struct conf *c, size_t size)
{
	size_t want = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);

	if (!c->chunks || c->chunks->size - c->chunks->used < want) {
		size_t room = want > CHUNK_BYTES ? want : CHUNK_BYTES;
		struct conf_chunk *chunk = malloc(sizeof *chunk + room);

		if (!chunk) {
			conf_fail_memory(c);
			return NULL;
		}
		*chunk = (struct conf_chunk){c->chunks, 0, room};
		c->chunks = chunk;
	}
	void *at = (char *)c->chunks->bytes + c->chunks->used;

	c->chunks->used += want;
	return memset(at, 0, size);
}

void conf_free(struct conf *c)
{
	while (c->chunks) {
		struct conf_chunk *next = c->chunks->next;

		free(c->chunks);
		c->chunks = next;
	}
	c->root = NULL;
}

static const char *copy_text(struct conf *c, const char *text, size_t len)
{
	char *copy = conf_alloc(c, len + 1);

	if (copy)
		memcpy(copy, text, len);
	return copy;
}

void conf_fail_memory(struct conf *c)
{
	if (c->status)
		return;
	c->status = -ENOMEM;
	snprintf(c->error, c->error_len, "%s: out of memory", c->file);
}

void conf_fail_text(struct conf *c, const char *message)
{
	if (c->status)
		return;
	c->status = -EINVAL;
	snprintf(c->error, c->error_len, "%s", message);
	/* A message may quote what a person typed; it stays one line of text. */
	for (char *at = c->error; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
}

/* Writes the dotted key of node, without a leading dot. */
static void write_path(const struct conf_node *node, char *path, size_t path_len)
{
	const struct conf_node *chain[CONF_DEPTH_MAX + 2];
	uint32_t n = 0;
	size_t at = 0;

	path[0] = '\0';
	for (; node && node->parent && n < CONF_DEPTH_MAX + 2; node = node->parent)
		chain[n++] = node;
	for (; n > 0 && at < path_len; n--) {
		const struct conf_node *step = chain[n - 1];
		int len = step->key ? snprintf(path + at, path_len - at, "%s%.60s", at ? "." : "",
					       step->key)
				    : snprintf(path + at, path_len - at, "[%u]", step->index);

		at += (size_t)len;
	}
}

/* "file:line: path: " or "--set path: " and the sentence. */
static void fail_at(struct conf *c, const struct conf_node *node, const char *path,
		    const char *sentence)
{
	char message[1024];
	const char *gap = path[0] ? ": " : "";

	if (node && node->line == 0)
		snprintf(message, sizeof message, "--set %s%s%s", path, gap, sentence);
	else
		snprintf(message, sizeof message, "%s:%u: %s%s%s", c->file, node ? node->line : 1,
			 path, gap, sentence);
	conf_fail_text(c, message);
}

void conf_fail(struct conf *c, const struct conf_node *node, const char *format, ...)
{
	char path[CONF_PATH_MAX], sentence[512];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	write_path(node, path, sizeof path);
	fail_at(c, node, node && node->set ? node->set : path, sentence);
}

void conf_fail_key(struct conf *c, const struct conf_node *map, const char *key, const char *format,
		   ...)
{
	char path[CONF_PATH_MAX], sentence[512];
	const struct conf_node *at = map;
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	for (const struct conf_node *child = map ? map->first : NULL; child; child = child->next)
		if (child->key && strcmp(child->key, key) == 0)
			at = child;
	write_path(at, path, sizeof path);
	if (at == map) {
		size_t len = strlen(path);

		snprintf(path + len, sizeof path - len, "%s%s", len ? "." : "", key);
	}
	fail_at(c, at, path, sentence);
}

struct conf_node *conf_add(struct conf *c, struct conf_node *parent, const char *key)
{
	if (c->n_nodes >= CONF_NODES_MAX) {
		conf_fail(c, parent, "more than %u values, aliases included; make it smaller",
			  CONF_NODES_MAX);
		return NULL;
	}
	struct conf_node *node = conf_alloc(c, sizeof *node);

	if (!node || (key && !(node->key = copy_text(c, key, strlen(key)))))
		return NULL;
	c->n_nodes++;
	node->text = "";
	node->parent = parent;
	if (parent) {
		node->index = parent->n++;
		if (parent->last)
			parent->last->next = node;
		else
			parent->first = node;
		parent->last = node;
	}
	return node;
}

static bool fill_text(struct conf *c, const yaml_node_t *from, struct conf_node *into)
{
	const char *text = (const char *)from->data.scalar.value;
	size_t len = from->data.scalar.length;

	into->type = CONF_TEXT;
	if (strlen(text) != len) {
		conf_fail(c, into, "contains a zero byte; write plain text");
		return false;
	}
	into->text = copy_text(c, text, len);
	return into->text != NULL;
}

/* The text of a key that into does not have yet; NULL and a mistake otherwise. */
static const char *check_key(struct conf *c, const yaml_node_t *from, const struct conf_node *into)
{
	uint32_t line = (uint32_t)from->start_mark.line + 1;
	struct conf_node at = {.line = into->line ? line : 0,
			       .parent = into->parent,
			       .key = into->key,
			       .index = into->index};

	if (from->type != YAML_SCALAR_NODE) {
		conf_fail(c, &at, "a key is a list or a map; keys are words");
		return NULL;
	}
	const char *key = (const char *)from->data.scalar.value;

	if (strlen(key) != from->data.scalar.length || !*key) {
		conf_fail(c, &at, "a key is empty or has a zero byte; keys are words");
		return NULL;
	}
	if (into->n >= CONF_KEYS_MAX) {
		conf_fail(c, &at, "more than %u keys; make it smaller", CONF_KEYS_MAX);
		return NULL;
	}
	for (const struct conf_node *child = into->first; child; child = child->next)
		if (strcmp(child->key, key) == 0) {
			at.parent = child->parent;
			at.key = child->key;
			conf_fail(c, &at, "stands twice, first in line %u; keep one of them",
				  child->line);
			return NULL;
		}
	return key;
}

/* A list or a map that is being copied, and how many of its entries are. */
struct level {
	const yaml_node_t *from;
	struct conf_node *into;
	uint32_t done;
};

/* Copies what a node is but not its entries. */
static bool fill_node(struct conf *c, const yaml_node_t *from, struct conf_node *into,
		      uint32_t depth)
{
	bool from_set = into->set || (into->parent && into->parent->line == 0);

	into->line = from_set ? 0 : (uint32_t)from->start_mark.line + 1;
	if (depth >= CONF_DEPTH_MAX) {
		conf_fail(c, into, "deeper than %u levels; make it flatter", CONF_DEPTH_MAX);
		return false;
	}
	switch (from->type) {
	case YAML_SCALAR_NODE: return fill_text(c, from, into);
	case YAML_SEQUENCE_NODE: into->type = CONF_LIST; return true;
	case YAML_MAPPING_NODE: into->type = CONF_MAP; return true;
	case YAML_NO_NODE: break;
	}
	conf_fail(c, into, "has no value; write one");
	return false;
}

static bool is_filled(const struct level *l)
{
	const yaml_node_t *from = l->from;

	if (l->into->type == CONF_LIST)
		return l->done == from->data.sequence.items.top - from->data.sequence.items.start;
	return l->done == from->data.mapping.pairs.top - from->data.mapping.pairs.start;
}

/* A place for the next entry, which *entry becomes; NULL after a mistake. */
static struct conf_node *add_entry(struct conf *c, yaml_document_t *doc, struct level *l,
				   const yaml_node_t **entry)
{
	uint32_t i = l->done++;

	if (l->into->type == CONF_LIST) {
		*entry = yaml_document_get_node(doc, l->from->data.sequence.items.start[i]);
		return conf_add(c, l->into, NULL);
	}
	const yaml_node_pair_t *pair = l->from->data.mapping.pairs.start + i;
	const char *key = check_key(c, yaml_document_get_node(doc, pair->key), l->into);

	*entry = yaml_document_get_node(doc, pair->value);
	return key ? conf_add(c, l->into, key) : NULL;
}

/* Copies a node of the document with all below it. An alias is the node it names, once more; the
 * bounds on depth and number stop those that contain themselves or double at each level. */
static bool fill_tree(struct conf *c, yaml_document_t *doc, const yaml_node_t *from,
		      struct conf_node *into)
{
	struct level levels[CONF_DEPTH_MAX];
	uint32_t depth = 0;

	do {
		if (!fill_node(c, from, into, depth))
			return false;
		if (into->type != CONF_TEXT)
			levels[depth++] = (struct level){from, into, 0};
		while (depth > 0 && is_filled(&levels[depth - 1]))
			depth--;
		if (depth > 0 && !(into = add_entry(c, doc, &levels[depth - 1], &from)))
			return false;
	} while (depth > 0);
	return true;
}

static uint32_t line_of_offset(const char *text, size_t len, size_t offset)
{
	uint32_t line = 1;

	for (size_t i = 0; i < len && i < offset; i++)
		line += text[i] == '\n';
	return line;
}

static void fail_parser(struct conf *c, const yaml_parser_t *parser, const struct conf_node *into,
			const char *text, size_t len)
{
	char sentence[256];
	struct conf_node at = *into;
	const char *problem = parser->problem ? parser->problem : "not YAML";

	if (parser->error == YAML_MEMORY_ERROR) {
		conf_fail_memory(c);
		return;
	}
	if (parser->error == YAML_READER_ERROR) {
		at.line = line_of_offset(text, len, parser->problem_offset);
		snprintf(sentence, sizeof sentence, "not UTF-8 text: %s; save the file as UTF-8",
			 problem);
	} else {
		at.line = (uint32_t)parser->problem_mark.line + 1;
		snprintf(sentence, sizeof sentence, "not YAML: %s%s%s; column %zu", problem,
			 parser->context ? " " : "", parser->context ? parser->context : "",
			 parser->problem_mark.column + 1);
	}
	if (into->set)
		at.line = 0;
	conf_fail(c, &at, "%s", sentence);
}

/* The first document into *into, and nothing behind it. */
static void load_document(struct conf *c, yaml_parser_t *parser, struct conf_node *into,
			  const char *text, size_t len)
{
	yaml_document_t doc;
	bool ok = yaml_parser_load(parser, &doc);

	if (!ok) {
		fail_parser(c, parser, into, text, len);
		return;
	}
	const yaml_node_t *root = yaml_document_get_root_node(&doc);

	if (!root)
		conf_fail(c, into, "there is nothing in it");
	else
		ok = fill_tree(c, &doc, root, into);
	yaml_document_delete(&doc);
	if (!root || !ok)
		return;
	if (!yaml_parser_load(parser, &doc)) {
		fail_parser(c, parser, into, text, len);
		return;
	}
	root = yaml_document_get_root_node(&doc);
	if (root) {
		struct conf_node at = {.line = into->line ? (uint32_t)root->start_mark.line + 1 : 0,
				       .set = into->set};

		conf_fail(c, &at, "a second document begins; a file has one");
	}
	yaml_document_delete(&doc);
}

static bool open_parser(struct conf *c, yaml_parser_t *parser, const char *text, size_t len)
{
	if (!yaml_parser_initialize(parser)) {
		conf_fail_memory(c);
		return false;
	}
	yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(parser, (const unsigned char *)text, len);
	return true;
}

/* How much deeper it is after an event. */
static int step_of(yaml_event_type_t type)
{
	if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
		return 1;
	return type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT ? -1 : 0;
}

/* Reads until it is too deep or at its end; what is wrong with it is not said here. The parser's
 * time grows with the square of the depth, and loading it would look at all of it first. */
static void check_depth(struct conf *c, yaml_parser_t *parser, const struct conf_node *into)
{
	bool is_over = false;
	int depth = 0;

	while (!is_over) {
		yaml_event_t event;

		if (!yaml_parser_parse(parser, &event))
			return;
		depth += step_of(event.type);
		is_over = event.type == YAML_STREAM_END_EVENT;
		if (depth > (int)CONF_DEPTH_MAX) {
			struct conf_node at = *into;

			at.line = into->set ? 0 : (uint32_t)event.start_mark.line + 1;
			conf_fail(c, &at, "deeper than %u levels; make it flatter", CONF_DEPTH_MAX);
			is_over = true;
		}
		yaml_event_delete(&event);
	}
}

int conf_parse(struct conf *c, struct conf_node *into, const char *text, size_t len)
{
	yaml_parser_t parser;

	if (!open_parser(c, &parser, text, len))
		return c->status;
	check_depth(c, &parser, into);
	yaml_parser_delete(&parser);
	if (c->status || !open_parser(c, &parser, text, len))
		return c->status;
	load_document(c, &parser, into, text, len);
	yaml_parser_delete(&parser);
	return c->status;
}

int conf_load(struct conf *c, const char *text, size_t len)
{
	struct conf_node *root = conf_add(c, NULL, NULL);

	if (!root)
		return c->status;
	root->line = 1;
	c->root = root;
	if (len > CONF_TEXT_MAX) {
		conf_fail(c, root, "%zu bytes long; at most %u", len, CONF_TEXT_MAX);
		return c->status;
	}
	if (conf_parse(c, root, text, len) == 0 && root->type != CONF_MAP)
		conf_fail(c, root, "not a map; write lines like \"seed: 7\"");
	return c->status;
}
