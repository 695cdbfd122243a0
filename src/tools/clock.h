/* The time on a clock that only moves forward, for what is measured on this machine. */
#ifndef WEFT_TOOLS_CLOCK_H
#define WEFT_TOOLS_CLOCK_H

#include <time.h>

#include "base/nsec.h"

static inline nsec clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (nsec)t.tv_sec * 1000000000u + (nsec)t.tv_nsec;
}

#endif
