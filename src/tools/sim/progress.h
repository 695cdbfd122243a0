/* The line on standard error that says how far a simulation is, while there is somebody to read it.
 */
#ifndef WEFT_TOOLS_SIM_PROGRESS_H
#define WEFT_TOOLS_SIM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "scenario/run.h"

struct progress {
	const struct run *run; /* NULL: nothing is shown */
	const char *name;      /* of one run among several; NULL: there is one */
	uint64_t total_bytes, shown_events;
	nsec began, shown;
	bool has_line;
};

/* is_wanted: standard error is a terminal, or WEFT_PROGRESS is 1. */
bool progress_is_wanted(void);

/* Begins to show a run, which is lent until progress_end, as is its name; that may be NULL. */
void progress_begin(struct progress *p, const struct run *run, const char *name);

/* Called between slices of a run; prints about five times a second. */
void progress_show(struct progress *p);

/* Takes the line away. */
void progress_end(struct progress *p);

#endif
