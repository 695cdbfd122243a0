/* What every fuzz target asserts about a parser's answer. */
#ifndef WEFT_FUZZ_FUZZ_H
#define WEFT_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "wire/drop.h"
#include "wire/trail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An assert that no build type switches off. */
static inline void must(int truth)
{
	if (!truth)
		abort();
}

/* A fault has a known reason with a text, and points into the bytes or just past them. */
static inline void fuzz_check_fault(const struct wire_fault *fault, struct cspan bytes)
{
	must((unsigned)fault->why < WIRE_DROP_COUNT);
	must(wire_drop_text(fault->why) != NULL);
	must(fault->at <= bytes.len);
}

/* Every header of the trail lies inside the bytes. */
static inline void fuzz_check_trail(const struct wire_trail *trail, struct cspan bytes)
{
	must(trail->n <= WIRE_TRAIL_MAX);
	for (uint32_t i = 0; i < trail->n; i++) {
		must(trail->layer[i].len >= trail->layer[i].layout->bytes);
		must(trail->layer[i].at + trail->layer[i].len <= bytes.len);
	}
}

#endif
