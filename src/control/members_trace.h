/* Follows the trace of a process on a device (trace/ring.h), also to its last event when it has
 * ended. As members.h, it reads files of others with care, and maps none. */
#ifndef WEFT_CONTROL_MEMBERS_TRACE_H
#define WEFT_CONTROL_MEMBERS_TRACE_H

#include "control/members.h"
#include "control/tail.h"
#include "trace/event.h"

struct members_trace {
	int fd;
	struct tail at;
};

/* Begins with the last so many events of process i, all there are if that is more. 0, or a negative
 * errno as members_read, and there is nothing to be closed. */
int members_trace_open(struct members_trace *t, const struct members *m, uint32_t i, uint32_t last);
void members_trace_close(struct members_trace *t);

/* Takes at most n events that came since; how many. 0: there are no more now. */
uint32_t members_trace_take(struct members_trace *t, struct trace_event *out, uint32_t n);

#endif
