/* Time, everywhere in weft: nanoseconds since an epoch the caller chose. It never decreases
 * between two calls on one object. NSEC_NEVER is no time at all: "no deadline". */
#ifndef WEFT_BASE_NSEC_H
#define WEFT_BASE_NSEC_H

#include <stdint.h>

typedef uint64_t nsec;

#define NSEC_NEVER UINT64_MAX

#endif
