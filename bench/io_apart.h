/* A flow of frames whose ends have a core each, as two programs on a wire have: the sender's, which
 * bears the kernel's part on veth as well, and the receiver's. */
#ifndef WEFT_BENCH_IO_APART_H
#define WEFT_BENCH_IO_APART_H

#include <stdbool.h>

#include "io.h"

struct io_flow {
	void *of;
	uint32_t (*send)(void *of, uint32_t n); /* at most IO_BURST; how many were taken */
	void (*tend)(void *of);                 /* what the sending end has to do besides */
	uint32_t (*receive)(void *of);          /* of the other end; from a thread of its own */
};

/* Are there two cores for this process? */
bool io_can_be_apart(void);

/* Frames that arrived in a second; 0: no thread could be made. */
double io_apart(const struct io_flow *flow, double seconds);

#endif
