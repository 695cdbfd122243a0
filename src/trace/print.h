/* An event as a person or a program reads it: the members that its kind has, by their names. */
#ifndef WEFT_TRACE_PRINT_H
#define WEFT_TRACE_PRINT_H

#include <stddef.h>

#include "base/json_writer.h"
#include "trace/event.h"

/* The word for a byte of an event; NULL: there is none, and the number is written. */
struct trace_words {
	const char *(*word)(const void *of, enum trace_word kind, uint8_t value);
	const void *of;
};

/* Its time, its queue pair and all else into the object that is open; node_key is what its reader
 * calls nodes, NULL where there is only one. Whatever the bytes of the event are. */
void trace_json(struct json_writer *w, const struct trace_event *e, const struct trace_words *words,
		const char *node_key);

/* What happened, without when, where and to which queue pair: "sent  WRITE_ONLY  psn 5 bytes 64".
 * Terminated; what does not fit is left out. */
void trace_text(const struct trace_event *e, const struct trace_words *words, char *text,
		size_t room);

#endif
