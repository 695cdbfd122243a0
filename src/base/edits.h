/* How far apart two words are, for messages that guess what was meant. */
#ifndef WEFT_BASE_EDITS_H
#define WEFT_BASE_EDITS_H

#include <stdint.h>

#define EDITS_MOST 32u

/* Single-character insertions, removals and changes between a and b, which is at most EDITS_MOST
 * long. */
uint32_t edits(const char *a, const char *b);

#endif
