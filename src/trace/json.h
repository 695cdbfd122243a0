/* An event as JSON: the members that its kind has, by their names. */
#ifndef WEFT_TRACE_JSON_H
#define WEFT_TRACE_JSON_H

#include "base/json_writer.h"
#include "trace/event.h"

/* The word for a byte of an event; NULL: there is none, and the number is written. */
struct trace_words {
	const char *(*word)(const void *of, enum trace_word kind, uint8_t value);
	const void *of;
};

/* The members of an event, into the object that is open; node_key is what its reader calls nodes,
 * NULL where there is only one. Whatever the bytes of the event are. */
void trace_json(struct json_writer *w, const struct trace_event *e, const struct trace_words *words,
		const char *node_key);

#endif
