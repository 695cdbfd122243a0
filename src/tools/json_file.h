/* A writer of JSON to a stream, whose errors are the caller's: it checks ferror. The commands and
 * benchmarks that have --json use it. */
#ifndef WEFT_TOOLS_JSON_FILE_H
#define WEFT_TOOLS_JSON_FILE_H

#include <stdio.h>

#include "base/json_writer.h"

static inline void json_file_put(void *to, const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, (FILE *)to);
}

/* A document at its start; out stays the caller's. */
static inline struct json_writer json_file(FILE *out)
{
	return json_writer(json_file_put, out);
}

/* What was measured, so not negative, rounded to so many digits behind the point. */
static inline void json_measured(struct json_writer *w, const char *key, double value,
				 unsigned digits)
{
	double scale = 1;

	for (unsigned i = 0; i < digits; i++)
		scale *= 10;
	json_decimal(w, key, (uint64_t)(value * scale + 0.5), digits);
}

#endif
