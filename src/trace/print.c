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

/* Appends one that snprintf has written, as far as there was room for it. */
static size_t grown(size_t at, size_t room, int more)
{
	return more < 0 ? at : at + (size_t)more < room ? at + (size_t)more : room - 1;
}

void trace_text(const struct trace_event *e, const struct trace_words *words, char *text,
		size_t room)
{
	const struct members m = members_of(e, words);
	size_t at = grown(0, room, snprintf(text, room, "%-8s", kind_of(e)->name));

	for (uint32_t i = 0; i < m.n; i++) {
		const struct member *is = &m.at[i];
		int more = is->word ? snprintf(text + at, room - at, "  %s", is->word)
			   : strcmp(is->key, "ev") == 0
				   ? snprintf(text + at, room - at, " %s %#" PRIx64, is->key,
					      is->number)
				   : snprintf(text + at, room - at, " %s %" PRIu64, is->key,
					      is->number);

		at = grown(at, room, more);
	}
	if (has_fared(e))
		snprintf(text + at, room - at, "%s%s", e->how & TRACE_TRIMMED ? " trimmed" : "",
			 e->how & TRACE_MARKED ? " marked" : "");
}
