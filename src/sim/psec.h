/* Simulated time: picoseconds from the start of a run, so that a byte at any rate from 1 Gb/s up is
 * a whole number of them. Engines see nanoseconds. */
#ifndef WEFT_SIM_PSEC_H
#define WEFT_SIM_PSEC_H

#include <stdint.h>

#include "base/nsec.h"

typedef uint64_t psec;

#define PSEC_NEVER UINT64_MAX
#define PSEC_NS    UINT64_C(1000)
#define PSEC_US    UINT64_C(1000000)
#define PSEC_MS    UINT64_C(1000000000)
#define PSEC_S     UINT64_C(1000000000000)

static inline psec psec_sooner(psec a, psec b)
{
	return a < b ? a : b;
}

/* The first full microsecond that is not before `at`. */
static inline psec psec_full_us(psec at)
{
	psec rest = at % PSEC_US;

	return rest ? at + PSEC_US - rest : at;
}

/* How long bytes take at rate_bps bits per second, rounded up. bytes < 2^21, rate_bps >= 1. */
static inline psec psec_of_bytes(uint32_t bytes, uint64_t rate_bps)
{
	return (bytes * (8 * PSEC_S) + rate_bps - 1) / rate_bps;
}

#endif
