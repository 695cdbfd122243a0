/* A configuration file as a tree that remembers where everything stands: YAML read by libyaml, plus
 * what the command line sets on top. The readers of a scenario ask it for typed values.
 *
 * The first mistake is kept, as "file:line: dotted.key: what is wrong; what would be right" or, for
 * a value from the command line, "--set dotted.key: ...". Once there is one, every getter answers
 * its fallback or NULL and the rest is silent, so readers test conf.status only where they act on
 * values. Asking for a key makes it known; conf_finish refuses the keys of a map that nobody asked
 * for.
 *
 * Size, depth and the number of nodes, aliases followed, are bounded. */
#ifndef WEFT_SCENARIO_CONF_H
#define WEFT_SCENARIO_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/units.h"

#define CONF_TEXT_MAX  (4u << 20) /* bytes of a file */
#define CONF_NODES_MAX (1u << 18)
#define CONF_DEPTH_MAX 16u
#define CONF_KEYS_MAX  256u /* of one map */
#define CONF_PATH_MAX  200u

enum conf_type { CONF_TEXT, CONF_MAP, CONF_LIST };

struct conf_node {
	enum conf_type type;
	uint32_t line;   /* 0: from the command line */
	const char *set; /* the key as the command line has it, for the very value it names */
	struct conf_node *parent, *next;
	struct conf_node *first, *last; /* children of maps and lists */
	uint32_t n;                     /* children */
	uint32_t index;                 /* in a list */
	const char *key;                /* in a map */
	const char *text;               /* CONF_TEXT */
	bool used;
	const char **known; /* of a map: keys that were asked for */
	uint32_t n_known;
};

struct conf {
	const char *file; /* for messages */
	char *error;
	size_t error_len;
	int status; /* 0, -EINVAL or -ENOMEM */
	struct conf_node *root;
	struct conf_chunk *chunks; /* all memory of the tree */
	uint32_t n_nodes;
};

/* What a number may be, and what it is when the key is not there. */
struct conf_range {
	uint64_t min, max, fallback;
};

/* Reads text into an empty conf whose file and error buffer are set. Returns c->status. Call
 * conf_free in any case. */
int conf_load(struct conf *c, const char *text, size_t len);
void conf_free(struct conf *c);

/* Puts value at a dotted key as if the file said so ("workload.0.bytes", "workload[0].bytes"); maps
 * on the way are made. A list of one entry, or a map, may be named with or without the index 0. A
 * value that starts with [ or { is YAML. Returns c->status. */
int conf_set(struct conf *c, const char *key, const char *value);

/* Keeps a message about a value, or about a key of a map that may be missing. */
void conf_fail(struct conf *c, const struct conf_node *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void conf_fail_key(struct conf *c, const struct conf_node *map, const char *key, const char *format,
		   ...) __attribute__((format(printf, 4, 5)));

/* Keeps a whole message, or the want of memory. */
void conf_fail_text(struct conf *c, const char *message);
void conf_fail_memory(struct conf *c);

/* The value of a key, or NULL. map may be NULL: nothing is there then. */
struct conf_node *conf_get(struct conf *c, struct conf_node *map, const char *key);

/* The same, and a mistake when it is missing; hint says what would be right. */
struct conf_node *conf_need(struct conf *c, struct conf_node *map, const char *key,
			    const char *hint);

/* Refuses a key that has another name now. */
void conf_refuse_old(struct conf *c, struct conf_node *map, const char *old, const char *key);

/* True when node, which may be NULL, is a map, a list; else a mistake unless NULL. */
bool conf_is_map(struct conf *c, const struct conf_node *node);
bool conf_is_list(struct conf *c, const struct conf_node *node);

/* The text of a value; "" and a mistake when it is a map, a list or empty. */
const char *conf_text(struct conf *c, const struct conf_node *node);

/* A value as a number within min .. max; min on a mistake. */
uint64_t conf_number(struct conf *c, const struct conf_node *node, enum units_kind kind,
		     struct conf_range range);

/* A value as one of the names, a list that ends with NULL; 0 on a mistake. */
uint32_t conf_choice(struct conf *c, const struct conf_node *node, const char *const *names);

/* true, false, yes, no, on, off. */
bool conf_flag(struct conf *c, const struct conf_node *node);

/* The value of a key of a map, or the fallback. */
uint64_t conf_get_number(struct conf *c, struct conf_node *map, const char *key,
			 enum units_kind kind, struct conf_range range);
uint32_t conf_get_u32(struct conf *c, struct conf_node *map, const char *key,
		      struct conf_range range);
uint32_t conf_get_choice(struct conf *c, struct conf_node *map, const char *key,
			 const char *const *names, uint32_t fallback);
bool conf_get_flag(struct conf *c, struct conf_node *map, const char *key, bool fallback);

/* The map of a key, or NULL when there is none. */
struct conf_node *conf_get_map(struct conf *c, struct conf_node *map, const char *key);

/* Refuses every key of map that was never asked for; what names the map: "a wire topology". */
void conf_finish(struct conf *c, const struct conf_node *map, const char *what);

/* Memory that lives as long as the tree; NULL, and a mistake kept, when there is none. */
void *conf_alloc(struct conf *c, size_t size);

/* Takes up a new node below parent, a map (key) or a list (key NULL); parent NULL: a root. NULL,
 * and a mistake kept, when a bound is reached. key is copied. */
struct conf_node *conf_add(struct conf *c, struct conf_node *parent, const char *key);

/* Reads text as YAML into *into, a fresh node whose children become the document's. */
int conf_parse(struct conf *c, struct conf_node *into, const char *text, size_t len);

/* Which of n words is meant by a misspelt one; NULL when none is near. */
const char *conf_nearest(const char *word, const char *const *words, uint32_t n);

#endif
