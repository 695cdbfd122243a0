/* Text into a file descriptor, written when enough has come together. All of it may run in a
 * handler of a signal: whoever fails an assertion may be in the middle of anything. */
#ifndef WEFT_IO_LINES_H
#define WEFT_IO_LINES_H

#include <stddef.h>

#define LINES_BYTES 16384u

struct lines {
	int fd;
	int error; /* an errno, of the first text that was lost; 0: all is whole */
	size_t len;
	char bytes[LINES_BYTES];
};

/* Adds text to struct lines, as a writer of JSON wants it (base/json_writer.h). */
void lines_put(void *lines, const char *bytes, size_t n);

/* Writes what is left. */
void lines_flush(struct lines *l);

#endif
