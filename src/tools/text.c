#include "tools/text.h"

#include <stdarg.h>
#include <stdbool.h>

void text_clear(struct text *t)
{
	t->at[0] = '\0';
	t->len = 0;
}

void text_add(struct text *t, const char *format, ...)
{
	uint32_t left = TEXT_MAX - t->len;
	va_list args;

	va_start(args, format);
	int n = vsnprintf(t->at + t->len, left, format, args);

	va_end(args);
	if (n > 0)
		t->len += (uint32_t)n < left ? (uint32_t)n : left - 1;
}

uint32_t utf8_length(const char *text)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *s = (const uint8_t *)text;
	uint32_t n = s[0] < 0x80       ? 1
		     : s[0] >> 5 == 6  ? 2
		     : s[0] >> 4 == 14 ? 3
		     : s[0] >> 3 == 30 ? 4
				       : 0;
	uint32_t code = n < 2 ? s[0] : s[0] & (0x7fu >> n);

	for (uint32_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

/* True for C0, DEL and C1; in UTF-8 the last are 0xc2 0x80 to 0xc2 0x9f. */
static bool is_control(const uint8_t *s)
{
	return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

void text_put_safe(FILE *out, const char *text)
{
	while (*text) {
		uint32_t n = utf8_length(text);
		const uint8_t *s = (const uint8_t *)text;

		if (n == 0 || is_control(s)) {
			n = n ? n : 1;
			for (uint32_t i = 0; i < n; i++)
				fprintf(out, "\\x%02x", s[i]);
		} else {
			fwrite(s, 1, n, out);
		}
		text += n;
	}
}

void text_put_json(FILE *out, const char *text)
{
	fputc('"', out);
	for (uint32_t n; *text; text += n ? n : 1) {
		n = utf8_length(text);
		if (n == 0)
			fputs("\\ufffd", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((uint8_t)*text < 0x20 || *text == 0x7f)
			fprintf(out, "\\u%04x", (unsigned)*text);
		else
			fwrite(text, 1, n, out);
	}
	fputc('"', out);
}
