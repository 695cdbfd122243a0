/* Short text that is built piece by piece: a value, a note, the details of a line. It is always
 * terminated; what does not fit is left out, so that hostile input cannot make it grow. The
 * printers of the weft command use it. */
#ifndef WEFT_TOOLS_TEXT_H
#define WEFT_TOOLS_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* The longest: 32 ranges of sequence numbers, or the segments of a full routing header. */
#define TEXT_MAX 2048u

struct text {
	char at[TEXT_MAX];
	uint32_t len;
};

/* Makes t empty. */
void text_clear(struct text *t);

/* Appends, as printf would. */
__attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *format, ...);

/* Writes text of unknown origin, a file's name, to what may be a terminal: control characters and
 * what is not UTF-8 as \x1b, so that they cannot act on it. */
void text_put_safe(FILE *out, const char *text);

#endif
