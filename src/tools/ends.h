/* SIGINT and SIGTERM as the wish that a command which goes on and on comes to its end. Both are
 * blocked except while it waits here, so that none is missed between the question whether it should
 * end and the wait. */
#ifndef WEFT_TOOLS_ENDS_H
#define WEFT_TOOLS_ENDS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"

/* From here on the signals do not end the process. */
void ends_catch(void);
/* Whether one has come since. */
bool ends_wanted(void);
/* As poll, until that time of clock_now, or NSEC_NEVER; a signal ends it as well (-1, EINTR). */
int ends_poll(struct pollfd *fds, uint32_t n, nsec until);

/* For work that is not to be left half done: from ends_hold on SIGINT, SIGTERM and SIGHUP wait, and
 * do what they do at ends_release. */
void ends_hold(void);
void ends_release(void);

/* Around a wait that knows nothing of the signals, which is to come to its own end after the first
 * one: a second one ends the process. */
void ends_expose(void);
void ends_cover(void);

#endif
