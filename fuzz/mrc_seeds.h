/* The seeds of the target `mrc_engine`: what two engines with the target's own work say to each
 * other. */
#ifndef WEFT_FUZZ_MRC_SEEDS_H
#define WEFT_FUZZ_MRC_SEEDS_H

#include "base/span.h"

/* Hands each to write, with the target's name and a number. Ends the program where an engine cannot
 * be made. */
void mrc_seeds_write(void (*write)(const char *target, uint32_t number, struct cspan bytes));

#endif
