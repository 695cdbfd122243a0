/* The built-in scenarios that ask something of their own results; builtin.c lists them behind the
 * others. */
#ifndef WEFT_SCENARIO_STUDIES_H
#define WEFT_SCENARIO_STUDIES_H

#include "scenario/scenario.h"

extern const struct scenario_builtin scenario_studies[];
extern const uint32_t scenario_n_studies;

#endif
