/* The seeds of the targets that drive an engine: what two engines say to each other, as records. */
#ifndef WEFT_FUZZ_ENGINE_SEEDS_H
#define WEFT_FUZZ_ENGINE_SEEDS_H

#include <stdint.h>

#include "base/span.h"

typedef void seed_write(const char *target, uint32_t number, struct cspan bytes);

struct engine_target;

void engine_seeds_write(const struct engine_target *target, const char *name, seed_write *write);

#endif
