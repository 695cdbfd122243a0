#include "tools/text.h"

#include <stdarg.h>
#include <stdbool.h>

#include "base/utf8.h"

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
