/* Arrays that are indexed by a count that only grows. */
#ifndef WEFT_BASE_PLACES_H
#define WEFT_BASE_PLACES_H

#include <stdint.h>

/* How many places an array for at least so many has, 2^31 at the most: a power of two, so that a
 * place is a mask away. The rest of a division by a number that the compiler does not know takes as
 * long as a header. */
static inline uint32_t places_for(uint32_t least)
{
	uint32_t n = 1;

	while (n < least)
		n *= 2;
	return n;
}

#endif
