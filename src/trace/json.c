#include "trace/json.h"

#define KIND(kind, name, number, a, b, what, why, text) \
	{name, number, a, b, text, TRACE_WORD_##what, TRACE_WORD_##why},
const struct trace_kind_words trace_kinds[TRACE_KINDS] = {TRACE_EVENTS(KIND)};
#undef KIND

static void put_number(struct json_writer *w, const char *key, uint64_t value)
{
	if (key)
		json_number(w, key, value);
}

/* A byte of the event by its word. */
static void put_word(struct json_writer *w, const char *key, enum trace_word kind, uint8_t value,
		     const struct trace_words *words)
{
	if (kind == TRACE_WORD_NONE)
		return;
	const char *word = words->word(words->of, kind, value);

	if (word)
		json_text(w, key, word);
	else
		json_number(w, key, value);
}

void trace_json(struct json_writer *w, const struct trace_event *e, const struct trace_words *words,
		const char *node_key)
{
	static const char *const keys[TRACE_WORDS][2] = {
		[TRACE_WORD_PACKET] = {"packet", "packet"},
		[TRACE_WORD_VERDICT] = {"verdict", "verdict"},
		[TRACE_WORD_STATE] = {"from", "to"},
		[TRACE_WORD_STATUS] = {"status", "status"},
	};
	static const struct trace_kind_words unknown = {
		.name = "?", .number = "number", .a = "a", .b = "b"};
	const struct trace_kind_words *k = e->kind < TRACE_KINDS ? &trace_kinds[e->kind] : &unknown;

	json_number(w, "at_ns", e->at);
	put_number(w, node_key, e->node);
	json_text(w, "event", k->name);
	json_number(w, "qp", e->qp);
	put_word(w, keys[k->what][0], k->what, e->what, words);
	put_word(w, keys[k->why][1], k->why, e->why, words);
	put_number(w, k->number, e->number);
	put_number(w, k->a, e->a);
	put_number(w, k->b, e->b);
	if (k->what != TRACE_WORD_PACKET)
		return;
	json_number(w, "port", e->how & TRACE_PORT);
	if (k->why == TRACE_WORD_VERDICT) {
		json_truth(w, "trimmed", e->how & TRACE_TRIMMED);
		json_truth(w, "marked", e->how & TRACE_MARKED);
	}
}
