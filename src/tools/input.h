/* Where the text of a scenario comes from: a file, standard input or a built-in; and the files it
 * names in turn. `weft sim` calls this, and `weft ctl` for the files that it applies. */
#ifndef WEFT_TOOLS_INPUT_H
#define WEFT_TOOLS_INPUT_H

#include <stddef.h>

#include "tools/text.h"

#define INPUT_BYTES_MAX (UINT32_C(1) << 22) /* of a scenario, and of what may be without end */
/* Of a regular file that a scenario names: a matrix of many flows is long. */
#define INPUT_OTHER_BYTES_MAX (UINT32_C(1) << 28)

struct input {
	const char *shown;   /* its name in messages */
	const char *summary; /* of a built-in; else "" */
	char *text;
	size_t len;
};

/* "; did you mean 'incast'?", where a built-in scenario has nearly that name; else empty. */
struct text input_guess(const char *name);

/* Reads a scenario: a built-in one of that name, "-", or a file. 0, or a negative errno with a
 * sentence in error. The text is freed by input_fini. */
int input_read(struct input *in, const char *name, char *error, size_t error_len);
/* The same without built-ins. */
int input_read_file(struct input *in, const char *name, char *error, size_t error_len);
void input_fini(struct input *in);

/* scenario_source.read_file: name is relative to the folder of near. */
char *input_read_near(const char *near, const char *name, size_t *len, char *error,
		      size_t error_len);

#endif
