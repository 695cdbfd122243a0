#include "trace/print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MEMBERS_MAX 8u

#define KIND(kind, name, number, a, b, what, why, text) \
	{name, number, a, b, text, TRACE_WORD_##what, TRACE_WORD_##why},
const struct trace_kind_words trace_kinds[TRACE_KINDS] = {TRACE_EVENTS(KIND)};
#undef KIND

/* What is said of an event: a word, or where that is NULL a number. */
struct member {
	const char *key, *word;
	uint64_t number;
};

struct members {
	struct member at[MEMBERS_MAX];
	uint32_t n;
};

static void add_number(struct members *m, const char *key, uint64_t value)
{
	if (key)
		m->at[m->n++] = (struct member){.key = key, .number = value};
}

static void add_word(struct members *m, const char *key, const char *word)
{
	m->at[m->n++] = (struct member){.key = key, .word = word};
}

/* A byte of the event by its word. */
static void add_byte(struct members *m, const char *key, enum trace_word kind, uint8_t value,
		     const struct trace_words *words)
{
	if (kind == TRACE_WORD_NONE)
		return;
	const char *word = words->word(words->of, kind, value);

	if (word)
		add_word(m, key, word);
	else
		add_number(m, key, value);
}

static const struct trace_kind_words *kind_of(const struct trace_event *e)
{
	static const struct trace_kind_words unknown = {
		.name = "?", .number = "number", .a = "a", .b = "b"};

	return e->kind < TRACE_KINDS ? &trace_kinds[e->kind] : &unknown;
}

static struct members members_of(const struct trace_event *e, const struct trace_words *words)
{
	static const char *const keys[TRACE_WORDS][2] = {
		[TRACE_WORD_PACKET] = {"packet", "packet"},
		[TRACE_WORD_VERDICT] = {"verdict", "verdict"},
		[TRACE_WORD_STATE] = {"from", "to"},
		[TRACE_WORD_STATUS] = {"status", "status"},
	};
	const struct trace_kind_words *k = kind_of(e);
	struct members m = {.n = 0};

	add_byte(&m, keys[k->what][0], k->what, e->what, words);
	add_byte(&m, keys[k->why][1], k->why, e->why, words);
	add_number(&m, k->number, e->number);
	add_number(&m, k->a, e->a);
	add_number(&m, k->b, e->b);
	if (k->what == TRACE_WORD_PACKET)
		add_number(&m, "port", e->how & TRACE_PORT);
	return m;
}

/* Packets that came tell how they fared. */
static bool has_fared(const struct trace_event *e)
{
	return kind_of(e)->why == TRACE_WORD_VERDICT;
}

void trace_json(struct json_writer *w, const struct trace_event *e, const struct trace_words *words,
		const char *node_key)
{
	const struct members m = members_of(e, words);

	json_number(w, "at_ns", e->at);
	if (node_key)
		json_number(w, node_key, e->node);
	json_text(w, "event", kind_of(e)->name);
	json_number(w, "qp", e->qp);
	for (uint32_t i = 0; i < m.n; i++)
		if (m.at[i].word)
			json_text(w, m.at[i].key, m.at[i].word);
		else
			json_number(w, m.at[i].key, m.at[i].number);
	if (has_fared(e)) {
		json_truth(w, "trimmed", e->how & TRACE_TRIMMED);
		json_truth(w, "marked", e->how & TRACE_MARKED);
	}
}

/* Appends at text[at]; where the text ends then, as far as there was room. */
static size_t add_text(const struct member *m, char *text, size_t at, size_t room)
{
	bool is_ev = strcmp(m->key, "ev") == 0, is_new = strcmp(m->key, "to") == 0;
	int n;

	if (m->word)
		n = snprintf(text + at, room - at, "%s%s", is_new ? " -> " : "  ", m->word);
	else
		n = snprintf(text + at, room - at, is_ev ? " %s %#" PRIx64 : " %s %" PRIu64, m->key,
			     m->number);
	return n >= 0 && (size_t)n < room - at ? at + (size_t)n : room - 1;
}

void trace_text(const struct trace_event *e, const struct trace_words *words, char *text,
		size_t room)
{
	const struct members m = members_of(e, words);
	int n = snprintf(text, room, "%-8s", kind_of(e)->name);
	size_t at = n >= 0 && (size_t)n < room ? (size_t)n : room - 1;

	for (uint32_t i = 0; i < m.n; i++)
		at = add_text(&m.at[i], text, at, room);
	if (has_fared(e))
		snprintf(text + at, room - at, "%s%s", e->how & TRACE_TRIMMED ? " trimmed" : "",
			 e->how & TRACE_MARKED ? " marked" : "");
}
