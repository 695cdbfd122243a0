/* What the engines of a simulation recorded, into a file: a line of JSON for each event, those of a
 * host in the order of time. Hosts fill their ports for a while ahead, each for itself. */
#ifndef WEFT_TOOLS_SIM_EVENTS_H
#define WEFT_TOOLS_SIM_EVENTS_H

#include <stdbool.h>

#include "io/lines.h"
#include "scenario/hosts.h"
#include "scenario/scenario.h"
#include "trace/ring.h"

#define EVENTS_SLICE UINT64_C(8192) /* events of a simulation between two calls of events_write */

struct events {
	struct trace trace;
	bool is_open; /* somebody asked for a file */
	struct lines out;
	const struct scenario *scenario;
	void *memory;
	uint64_t next, n_lost, n_written;
};

/* Opens the file and begins to record; e->trace is for the run. 0 or an errno. While it is open, an
 * abort, as of an assertion, writes what was recorded before it takes its course. */
int events_open(struct events *e, const char *path, const struct scenario *s);

/* Writes what was recorded since. */
void events_write(struct events *e);

/* Writes the rest and closes, also what was never opened. 0 or an errno. */
int events_close(struct events *e);

#endif
