#include "base/json_writer.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

/* The longest number: twenty digits, a point and a sign. */
#define NUMBER_MAX 24u

struct json_writer json_writer(void (*put)(void *to, const char *bytes, size_t n), void *to)
{
	return (struct json_writer){.put = put, .to = to};
}

static void put_plain(struct json_writer *w, const char *text)
{
	w->put(w->to, text, strlen(text));
}

static void put_line(struct json_writer *w)
{
	put_plain(w, "\n");
	for (uint32_t i = 0; i < w->indent; i++)
		put_plain(w, " ");
}

/* Writes what a string has for the n bytes at s, 0 if these are no UTF-8. */
static void put_character(struct json_writer *w, const char *s, uint32_t n)
{
	static const char hex[] = "0123456789abcdef";
	char escape[] = "\\u0000";

	if (n == 0) {
		put_plain(w, "\\ufffd");
	} else if (*s == '"' || *s == '\\') {
		put_plain(w, "\\");
		w->put(w->to, s, 1);
	} else if ((uint8_t)*s < 0x20 || *s == 0x7f) {
		escape[4] = hex[*s >> 4];
		escape[5] = hex[*s & 15];
		put_plain(w, escape);
	} else {
		w->put(w->to, s, n);
	}
}

static bool is_plain(const char *s)
{
	return (uint8_t)*s >= 0x20 && (uint8_t)*s < 0x7f && *s != '"' && *s != '\\';
}

static void put_string(struct json_writer *w, const char *text)
{
	put_plain(w, "\"");
	while (*text) {
		size_t run = 0;
		uint32_t n;

		while (is_plain(text + run))
			run++;
		if (run)
			w->put(w->to, text, run);
		text += run;
		if (!*text)
			break;
		n = utf8_length(text);
		put_character(w, text, n);
		text += n ? n : 1;
	}
	put_plain(w, "\"");
}

/* What stands before a value: a comma, a line, a key. */
static void begin_value(struct json_writer *w, const char *key)
{
	assert(!w->is_whole);
	if (w->depth == 0) {
		assert(!key);
		w->is_whole = true;
		return;
	}
	struct json_level *level = &w->levels[w->depth - 1];

	assert(level->is_array == !key);
	if (level->has_member)
		put_plain(w, ",");
	if (level->is_lines)
		put_line(w);
	level->has_member = true;
	if (key) {
		put_string(w, key);
		put_plain(w, ":");
	}
}

static void open_level(struct json_writer *w, struct json_level level)
{
	assert(w->depth < JSON_DEPTH_MAX);
	w->levels[w->depth++] = level;
	w->indent += level.is_lines;
	w->is_whole = false;
	put_plain(w, level.is_array ? "[" : "{");
}

void json_object(struct json_writer *w, const char *key, enum json_layout layout)
{
	begin_value(w, key);
	open_level(w, (struct json_level){.is_lines = layout == JSON_LINES});
}

void json_array(struct json_writer *w, const char *key, enum json_layout layout)
{
	begin_value(w, key);
	open_level(w, (struct json_level){.is_array = true, .is_lines = layout == JSON_LINES});
}

void json_close(struct json_writer *w)
{
	assert(w->depth > 0);
	struct json_level level = w->levels[--w->depth];

	w->indent -= level.is_lines;
	if (level.is_lines && level.has_member)
		put_line(w);
	put_plain(w, level.is_array ? "]" : "}");
	w->is_whole = w->depth == 0;
}

void json_end(struct json_writer *w)
{
	assert(w->is_whole);
	put_plain(w, "\n");
	w->is_whole = false;
}

void json_text(struct json_writer *w, const char *key, const char *text)
{
	begin_value(w, key);
	if (text)
		put_string(w, text);
	else
		put_plain(w, "null");
}

/* The digits of value, with a point before the last `digits` of them; 0: none. */
static void put_number(struct json_writer *w, uint64_t value, unsigned digits)
{
	char text[NUMBER_MAX];
	uint32_t at = NUMBER_MAX;

	for (unsigned i = 0; value || i <= digits; i++) {
		if (digits && i == digits)
			text[--at] = '.';
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	}
	w->put(w->to, text + at, NUMBER_MAX - at);
}

void json_number(struct json_writer *w, const char *key, uint64_t value)
{
	begin_value(w, key);
	put_number(w, value, 0);
}

void json_signed(struct json_writer *w, const char *key, int64_t value)
{
	begin_value(w, key);
	if (value < 0)
		put_plain(w, "-");
	put_number(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 0);
}

void json_truth(struct json_writer *w, const char *key, bool value)
{
	begin_value(w, key);
	put_plain(w, value ? "true" : "false");
}

void json_null(struct json_writer *w, const char *key)
{
	json_text(w, key, NULL);
}

void json_number_text(struct json_writer *w, const char *key, uint64_t value)
{
	begin_value(w, key);
	put_plain(w, "\"");
	put_number(w, value, 0);
	put_plain(w, "\"");
}

void json_decimal(struct json_writer *w, const char *key, uint64_t value, unsigned digits)
{
	assert(digits >= 1 && digits <= 19);
	begin_value(w, key);
	put_number(w, value, digits);
}
