/* Text files of lines and words, as .topo and .cm are: blank lines and what follows a # mean
 * nothing, the case of letters neither. A mistake is told as "file:line: ...". */
#ifndef WEFT_SCENARIO_LINES_H
#define WEFT_SCENARIO_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_WORDS    24u
#define LINES_WORD_MAX 40u

/* Set name, at, left, error and error_len; zeros elsewhere. */
struct lines {
	const char *name; /* of the file */
	const char *at;
	size_t left;
	char *error;
	size_t error_len;
	uint32_t line; /* of words, from 1 */
	uint32_t n;
	bool failed, no_memory;
	char words[LINES_WORDS][LINES_WORD_MAX]; /* in small letters */
};

/* Moves on to the next line with words in it. False at the end, or after a mistake. */
bool lines_next(struct lines *l);

/* Tells a mistake in the current line; the first one stays. Returns false. */
bool lines_fail(struct lines *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same when memory is short: no sentence. */
bool lines_no_memory(struct lines *l);

/* Word number i as a whole number within min .. max; false and a mistake when it is none. */
struct lines_range {
	uint64_t min, max;
};
bool lines_number(struct lines *l, uint32_t i, struct lines_range range, uint64_t *value);

#endif
