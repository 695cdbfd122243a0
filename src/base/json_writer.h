/* Writes JSON, one value after the other, to wherever its caller likes: the one place that knows
 * about quotes, commas, brackets and lines.
 *
 * A member of an object has a key, an element of an array and a whole document have none (NULL).
 * What is opened is closed, and a document is ended by json_end; then another may follow. Whoever
 * breaks this meets an assert, so what comes out is always JSON. Text may be any bytes: what is not
 * UTF-8 becomes the replacement character. The commands of weft and the counters of a device are
 * written with it. */
#ifndef WEFT_BASE_JSON_WRITER_H
#define WEFT_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 32u

/* Where members stand: all on one line, or each on its own, indented. */
enum json_layout { JSON_INLINE, JSON_LINES };

struct json_level {
	bool is_array, is_lines, has_member;
};

/* Invariant: levels[0..depth) are open, the innermost last. */
struct json_writer {
	void (*put)(void *to, const char *bytes, size_t n);
	void *to;
	uint32_t depth, indent; /* indent: how many of the open ones have lines of their own */
	bool is_whole;          /* the document is complete, json_end is due */
	struct json_level levels[JSON_DEPTH_MAX];
};

/* A writer at the start of a document. It calls put(to, bytes, n), which keeps its own errors. */
struct json_writer json_writer(void (*put)(void *to, const char *bytes, size_t n), void *to);

/* Opens an object or an array, until json_close. */
void json_object(struct json_writer *w, const char *key, enum json_layout layout);
void json_array(struct json_writer *w, const char *key, enum json_layout layout);
void json_close(struct json_writer *w);

/* Ends the document, which must be complete, with a newline. */
void json_end(struct json_writer *w);

/* Text; NULL is null. */
void json_text(struct json_writer *w, const char *key, const char *text);
void json_number(struct json_writer *w, const char *key, uint64_t value);
void json_signed(struct json_writer *w, const char *key, int64_t value);
void json_truth(struct json_writer *w, const char *key, bool value);
void json_null(struct json_writer *w, const char *key);

/* A number of 64 bits as text, because many readers of JSON keep only 53 bits of a number. */
void json_number_text(struct json_writer *w, const char *key, uint64_t value);

/* value / 10^digits, all digits written: 1500 with 3 digits is 1.500. digits: 1 to 19. */
void json_decimal(struct json_writer *w, const char *key, uint64_t value, unsigned digits);

#endif
