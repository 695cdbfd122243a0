/* A writer of JSON to a stream, whose errors are the caller's: it checks ferror. The commands that
 * have --json use it. */
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

#endif
