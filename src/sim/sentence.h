/* What is wrong with a user's parameters, told in a sentence. */
#ifndef WEFT_SIM_SENTENCE_H
#define WEFT_SIM_SENTENCE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Writes the sentence into error, cut where it does not fit; returns number, a negative errno. */
__attribute__((format(printf, 4, 5))) static inline int
sentence(int number, char *error, size_t error_len, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, error_len, format, args);
	va_end(args);
	return number;
}

#endif
