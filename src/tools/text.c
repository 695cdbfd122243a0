#include "tools/text.h"

#include <stdarg.h>
#include <stdio.h>

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
