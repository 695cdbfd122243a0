#include "scenario/lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scenario/units.h"

bool lines_fail(struct lines *l, const char *format, ...)
{
	char sentence[400];
	va_list args;

	if (l->failed)
		return false;
	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	snprintf(l->error, l->error_len, "%s:%u: %s", l->name, l->line > 0 ? l->line : 1, sentence);
	l->failed = true;
	return false;
}

bool lines_no_memory(struct lines *l)
{
	l->failed = l->no_memory = true;
	return false;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Adds one letter to word number l->n. */
static bool put_letter(struct lines *l, uint32_t len, char c)
{
	if (c < ' ' || c > '~')
		return lines_fail(l, "a byte that is no plain text; write ASCII");
	if (l->n == LINES_WORDS || len + 1 >= LINES_WORD_MAX)
		return lines_fail(l, "the line is too long; at most %u words of %u letters",
				  LINES_WORDS, LINES_WORD_MAX - 1);
	l->words[l->n][len] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	l->words[l->n][len + 1] = '\0';
	return true;
}

static bool split(struct lines *l, const char *text, size_t len)
{
	uint32_t word = 0;

	l->n = 0;
	for (size_t i = 0; i < len && text[i] != '#'; i++) {
		if (!is_space(text[i])) {
			if (!put_letter(l, word++, text[i]))
				return false;
			continue;
		}
		l->n += word > 0;
		word = 0;
	}
	l->n += word > 0;
	return true;
}

bool lines_next(struct lines *l)
{
	while (l->left > 0 && !l->failed) {
		const char *end = memchr(l->at, '\n', l->left), *at = l->at;
		size_t len = end ? (size_t)(end - at) : l->left;

		l->line++;
		l->at += end ? len + 1 : len;
		l->left -= end ? len + 1 : len;
		if (split(l, at, len) && l->n > 0)
			return true;
	}
	return false;
}

bool lines_number(struct lines *l, uint32_t i, struct lines_range range, uint64_t *value)
{
	if (i >= l->n)
		return lines_fail(l, "%s: no number follows; write one", l->words[l->n - 1]);
	const char *problem = units_read(UNITS_COUNT, l->words[i], value);

	if (problem)
		return lines_fail(l, "\"%s\" %s; write a whole number", l->words[i], problem);
	if (*value < range.min || *value > range.max)
		return lines_fail(l, "%s is out of range; %" PRIu64 " to %" PRIu64, l->words[i],
				  range.min, range.max);
	return true;
}
