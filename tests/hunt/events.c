#include "events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/print.h"

static union {
	struct trace_ring ring;
	unsigned char bytes[sizeof(struct trace_ring) + HUNT_EVENTS * sizeof(struct trace_event)];
} memory;
static struct trace recorded;
static const struct hunt_transport *transport;

struct trace *hunt_events_begin(const struct hunt_transport *t)
{
	memset(&memory, 0, sizeof memory);
	trace_lend(&recorded, &memory, HUNT_EVENTS);
	transport = t;
	return &recorded;
}

void hunt_events_hold(void)
{
	trace_lend(&recorded, NULL, 0);
}

/* A line that cannot be written is not told. */
static void tell_line(int to, const char *line)
{
	ssize_t n = write(to, line, strlen(line));

	(void)n;
}

void hunt_events_tell(int to)
{
	const struct trace held = {.ring = &memory.ring, .mask = HUNT_EVENTS - 1};
	struct trace_event e;
	uint64_t next = 0, n_older = 0;
	char text[160], line[256];

	if (!transport)
		return;
	const struct trace_words words = transport_words(transport->row);

	tell_line(to, "what engines recorded last:\n");
	while (trace_take(&held, &next, &e, 1, &n_older)) {
		trace_text(&e, &words, text, sizeof text);
		snprintf(line, sizeof line, "  %14.3f us  h%" PRIu32 " qp %" PRIu32 "  %s\n",
			 (double)e.at / 1000, e.node, e.qp, text);
		tell_line(to, line);
	}
}
