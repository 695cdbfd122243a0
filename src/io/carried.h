/* What drivers say of a carrier that they cannot serve. */
#ifndef WEFT_IO_CARRIED_H
#define WEFT_IO_CARRIED_H

#include <stddef.h>

#include "wire/carrier.h"

/* Whether packets by a carrier can be sealed: 0, or a negative errno and a sentence: none is named,
 * or its seal in clear is a cipher, of which nobody here has the key. */
int carried_check(const struct carrier *c, char *error, size_t error_len);

#endif
