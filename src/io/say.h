/* Sentences that go with an errno. */
#ifndef WEFT_IO_SAY_H
#define WEFT_IO_SAY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Writes the sentence into error, cut where it does not fit; returns number, a negative errno. */
__attribute__((format(printf, 4, 5))) static inline int
say(int number, char *error, size_t error_len, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (error && error_len > 0)
		vsnprintf(error, error_len, format, args);
	va_end(args);
	return number;
}

#endif
