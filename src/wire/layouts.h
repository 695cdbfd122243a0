/* Every header this library knows, by name: for printers, reference pages and tests that must not
 * miss one. */
#ifndef WEFT_WIRE_LAYOUTS_H
#define WEFT_WIRE_LAYOUTS_H

#include <stddef.h>

#include "wire/header.h"

/* Header number i, NULL past the last. */
const struct wire_layout *wire_layout_at(size_t i);

/* The header of that name, or NULL. */
const struct wire_layout *wire_layout_find(const char *name);

#endif
