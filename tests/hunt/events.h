/* What the engines of the plan that runs recorded last, told when a seed fails. One for the
 * process, since whoever fails an assertion hands nothing on. */
#ifndef WEFT_TESTS_HUNT_EVENTS_H
#define WEFT_TESTS_HUNT_EVENTS_H

#include "hunt.h"
#include "trace/ring.h"

#define HUNT_EVENTS 32u /* are told */

/* Where all engines of a plan record; nothing is there yet. */
struct trace *hunt_events_begin(const struct hunt_transport *t);

/* Something went wrong: what engines do from now on is not recorded. */
void hunt_events_hold(void);

/* Those before it, a line each, to a file descriptor: for handlers of signals, too. */
void hunt_events_tell(int to);

#endif
